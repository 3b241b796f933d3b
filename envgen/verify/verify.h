/* Measure again whether a profile's rules hold. */
#pragma once

#include "bench/results/points.h"
#include "bench/search/bench.h"
#include "envgen/decide/decide.h"
#include "envgen/profile/profile.h"
#include "tuner/table/table.h"

/* The launches that a verification measures besides the baseline: the environment of the profile alone, and
 * the same with its rules: NCCL's plugin with the table, or OpenMPI's rules file. */
#define VERIFY_ENVIRONMENT "environment"
#define VERIFY_PROFILE     "profile"

enum verify_verdict {
    VERIFY_CONFIRMED, /* as bench_gain_clears has it */
    VERIFY_REFUTED,   /* it failed, is proven not to be faster, or what it promised is proven to be gone */
    VERIFY_UNDECIDED, /* neither, or no size within it was measured */
    VERIFY_EVEN,      /* nothing claims that it is faster, and it is not proven slower */
};
const char *verify_verdict_name(enum verify_verdict v);

/* A rule, or the environment. */
struct verify_rule {
    const char *what;              /* "allreduce, 64 KiB to 1 MiB, 16 ranks: ring/ll", or the environment's settings */
    const char *coll, *call;       /* as the file names them; NULL: it is the environment */
    uint64_t min_bytes, max_bytes; /* max_bytes UINT64_MAX: no limit */
    int ranks;                     /* 0: the rule names none */
    long line;                     /* in tuner.csv; 0: it is not from there */
    const void *rule;           /* struct tuner_rule or env_rule, which says which points are its own; NULL: all are */
    struct bench_interval gain; /* geometric mean over its sizes of without / with; n: sessions */
    struct bench_interval promised; /* that gain as the profile has it; n 0: it has none */
    int points, fails;              /* that were measured; whether one of them failed */
    enum verify_verdict verdict;
};

struct verify {
    struct arena *arena;
    struct tuner_table table; /* what was measured on GPUs is judged by it, */
    double margin;            /* by which a rule has to be faster */
    const char *text;         /* of tuner.csv; NULL: by these */
    struct env_rules openmpi;
    struct verify_rule *rules;
    struct verify_rule whole;       /* all that it changes against the default, but rules that verify_is_lost */
    struct verify_rule rest;        /* and where it changes nothing */
    struct verify_rule environment; /* `what` NULL: the profile sets nothing but its rules */
    int nrules, failing;            /* failing: with the environment */
};

/* The engine that the profile was made with: NCCL's where it was measured on GPUs or on nothing, else OpenMPI's. */
const struct bench_engine *verify_engine(const struct env_profile *p);

/* The launches for bench_setup's jobs, in `a`; `plugin` is the path of the tuner plugin, which only GPUs need. Returns
 * their number, 0 where the profile changes nothing, -1 after an error. */
int verify_jobs(const struct env_profile *p, enum bench_evidence on, const char *plugin, struct arena *a,
                struct bench_knobs jobs[2], struct err *e);

/* Judges the environment and every rule by `points`, which were measured `on` GPUs or host memory: it holds where it is
 * proven faster by more than `margin`. NULL after an error. */
struct verify *verify_rules(struct env_profile *p, enum bench_evidence on, const struct bench_points *points,
                            double margin, struct err *e);
void verify_free(struct verify *v); /* NULL is fine */

/* "confirmed, gain 1.61x (1.55 to 1.66)", "refuted, gone: promised 1.67x, now 1.00x (0.97 to 1.02)" */
const char *verify_verdict_text(const struct verify_rule *rule, struct arena *a);

/* The rule that the profile has for a point's call; NULL: none. */
const void *verify_rule_at(const struct verify *v, const struct bench_point *p);

/* Nonzero if the rule, as jobs get it, was not faster than the default in the mean. A call that is slower in most of
 * its own starts may well be faster in those in which it is measured beside others. */
int verify_is_lost(const struct verify_rule *rule);

/* The candidate of a point that ran under that launch; NULL. */
const struct bench_candidate *verify_candidate(const struct bench_point *p, const char *launch);

/* ---- a measurement of a profile as jobs get it: files, variables, plugin and table. ---- */

struct verify_request {
    struct env_profile *profile;       /* on disk, with a manifest in memory */
    const struct bench_options *bench; /* engine, budget, place; `results` NULL: the journal is not kept */
    const struct topology *topology;
    int whole; /* measure all of the profile alone, not its environment besides */
    struct log *log;
    volatile sig_atomic_t *stop;
};

/* Measure the profile's jobs beside the baseline. Leave *measured alone where the profile changes nothing. Errors as of
 * bench_run, and ERR_LACKS without our plugin. */
int verify_measure(const struct verify_request *q, struct bench_summary *summary, struct bench_results **measured,
                   struct err *e);

/* Gain of a finished profile. */
struct verify_delivery {
    struct bench_interval gain; /* of `whole`; n: pairs of starts, 0: it changes nothing, or only for lost rules */
    enum verify_verdict verdict;
    int points; /* that it changes */
    int interrupted;
    const char *refuted; /* what is proven slower than the default, or fails; NULL nothing */
    const char **lost; /* rules that are: "allgather of 8 MiB on 1 node, 2 ranks: 0.40x (0.22 to 0.73) with neighbor" */
    struct bench_result *lines; /* that say so in a journal: the profile that is made from it again is without them */
    int nlost, nlines;
};

/* Measure and judge it: refuted where it, or what it leaves alone, is proven slower, or something fails. All of *d is
 * in `a`. */
int verify_deliver(const struct verify_request *q, struct arena *a, struct verify_delivery *d, struct err *e);
void verify_judge_delivery(struct env_profile *p, enum bench_evidence on, const struct bench_points *points,
                           struct arena *a, struct verify_delivery *d, struct err *e);

/* The budget of that, seconds, where the profile's own was `budget_s`. */
double verify_check_s(double budget_s);
