/* Rules of diagnose: the source of the verdict, and rules of {condition, finding, remedy}. Private to
 * its directory. */
#pragma once

#include "advise/diagnose/diagnose_internal.h"

struct diag_rule;
struct judge {
    struct diagnosis *d;
    struct diag_result *r;
    const struct diag_rule *rule; /* that is asked */
    const struct diag_source *s;  /* the primary source; NULL: no steps */
    int hangs;                    /* what looks idle or even may be a hang */
};

struct diag_hit {
    double weight; /* part of the step that is at stake */
    const char *place;
    const char *command; /* in place of the rule's; NULL: the rule's */
    char text[512];
};

/* Fills `h` and returns 1. */
int diag_hit(struct diag_hit *h, double weight, const char *place, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds to a sentence, which is cut where it is full. */
void diag_say(char to[DIAG_SENTENCE], const char *fmt, ...) __attribute__((format(printf, 2, 3)));

struct diag_rule {
    const char *id;
    int (*holds)(const struct judge *j, struct diag_hit *h); /* 1: h is filled */
    enum diag_confidence confidence;
    const char *advice, *command; /* command "" without */
    double limit;                 /* what holds() compares with, as j->rule->limit */
    const char *phase;            /* the phase, or the start of the sentence */
    enum diag_kind kind;
};

/* A phase of that name, NULL; the largest phase, NULL. */
const struct diag_phase *diag_phase_named(const struct diag_source *s, const char *name);
/* Its median; 0: there is none. */
double diag_metric(const struct diag_source *s, const char *name);
const struct diag_phase *diag_largest(const struct diag_source *s);

/* Add a sentence on GPUs that are busy with little power: they wait in kernels of collectives. Returns the part of the
 * samples; 0: there are too few. */
double diag_say_spins(const struct diag_result *r, char to[DIAG_SENTENCE]);

/* Add a sentence on steps that are slower from one on. */
void diag_say_shift(const struct diag_source *s, char to[DIAG_SENTENCE]);

void diag_apply_rules(struct judge *j); /* fills and sorts the findings */

/* On what NCCL's log and nvidia-smi topo -m say. */
extern const struct diag_rule diag_nccl_rules[];

/* Find contradictions of NCCL's log and the job's variables to the profile or the topology. */
extern const struct diag_rule diag_profile_rules[];

/* Why communication may take so long, with what the model says each cause costs on the topology: on findings that are
 * there, and as findings that are possible. Needs a topology with GPUs. */
void diag_add_causes(struct judge *j);

/* Fill in what the model expects of the best row of a run, where the machine is known. */
void diag_expect_tests(struct diagnosis *d, struct diag_tests *t);

/* Nonzero if NCCL's log names that HCA. */
int diag_is_used(const struct diag_nccl *n, const char *hca, size_t len);

/* Adds a finding where there is room. */
void diag_add_finding(struct diag_result *r, const struct diag_rule *rule, const struct diag_hit *h);

/* Judge a paste of the machine's tools: its findings, and alone the HCAs for NCCL. */
void diag_add_machine(struct judge *j);
int diag_say_machine(const struct judge *j);

/* Run lint on the variables that logs and scripts set. */
void diag_add_lint(struct judge *j);

/* The failure that messages tell of, and messages as findings (failure.c). */
void diag_judge_failure(struct judge *j);
void diag_add_messages(struct judge *j);

/* On tables of nccl-tests. */
extern const struct diag_rule diag_tests_rules[];

/* On what an inference engine says of itself. */
extern const struct diag_rule diag_engine_rules[];

/* The job stands still: watchdogs, GPUs at 0 or 100 % to the end, no progress (hang.c). */
int diag_hangs(const struct judge *j, struct diag_hit *h);
int diag_hangs_by_ras(const struct judge *j, struct diag_hit *h);
extern const char diag_hang_advice[];
