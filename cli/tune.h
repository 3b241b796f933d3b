/* Shared by the files of `tune`: a run and its parts, one per group of nodes that go together. */
#pragma once

#include "bench/search/bench.h"
#include "cli/arguments.h"
#include "cli/machine.h"
#include "cli/nodes.h"
#include "core/progress.h"
#include "envgen/generate/generate.h"
#include "envgen/verify/verify.h"
#include "probe/cluster/groups.h"

#define TUNE_COMMAND "nccltune tune"

/* Part of a run that becomes one profile. */
struct tune_part {
    struct env_generate generate; /* `out` is the profile */
    struct bench_options bench;   /* with the hosts, the engine and the part of the budget that are its own */
    struct topology *topology;    /* its nodes, those that are only served, too */
    const char *file;             /* topology.json in the profile */
    double left_s;                /* of the budget of an interrupted run, as its journal has it; 0: not known */
    int is_begun;                 /* the journal holds the budget, and no results */
    const char *because;          /* of the engine, in words; NULL nothing is measured */
    struct cJSON *plan;           /* as bench_plan_json makes it; NULL: this machine lacks what it takes */
};

struct tune {
    struct env_generate generate; /* what is the same for all parts, and the first one's `out` */
    int resume, json, verbose, quiet, plan;
    const char *way_on;   /* the command line that resumes this run */
    const char *taken_up; /* options that are those of the run that is resumed; NULL: none */
    const char *serve;    /* nodes that are not measured: a list, or partition=NAME */
    struct bench_options bench;
    struct cli_machine machine; /* a described one, or a topology.json of the nodes */
    struct cli_releases releases;
    struct log log;
    struct log detail; /* the same, quiet without --verbose */
    struct progress progress;
    struct agents agents; /* of all nodes, unless this is the only one */
    volatile sig_atomic_t *stop;
    struct arena *arena;
    int choose;                       /* which engine is ours to choose: --engine was not given */
    int lacks;                        /* nothing could be measured */
    struct tune_part *checked;        /* the part whose profile is being checked, */
    struct verify_delivery delivered; /* and what that has found */
    int refuted;                      /* rules that are to be left out are in the journal */
    struct findings noise;            /* what disturbed the measurement of a part; lives as long as its results */

    struct topology *all;         /* every node that was asked, and answered */
    struct cluster_groups groups; /* of these; those left out in `left` */
    struct cluster_left_out unserved;
    struct tune_part *parts;
    int nparts;
};

/* Nonzero if all is predicted: a machine is only described. A topology.json is, where numbers of nodes are asked for,
 * or the engine is one that computes; else it names the nodes that are measured. */
int tune_predicts(const struct tune *t);

/* Looks at all nodes and makes the parts of them, planned, with their options checked; nothing is written. */
int tune_look(struct tune *t, struct err *e);
void tune_forget(struct tune *t); /* what that has allocated */

/* Tells the part's launcher its hosts: those of the topology that are measured. */
void tune_name_hosts(struct tune *t, struct tune_part *p);

/* Takes a node out of the part, with the reason; 0: it is not in it. */
int tune_drop(struct tune *t, struct tune_part *p, const char *name, const char *why);

/* Print the plan, as text and JSON. */
void tune_plan_print(const struct tune *t, FILE *out);
int tune_plan_json(const struct tune *t, struct err *e); /* on standard output */

/* Both into the log before a run: what is left out and who is not served, as warnings. */
void tune_plan_log(struct tune *t);

/* Writes the profile's page, and says what was measured or predicted, what was decided, and the lines for a job script.
 * `points` NULL: nothing was measured. */
int tune_report(struct tune *t, const struct env_profile *profile, const struct bench_points *points, struct err *e);

/* Return whether a launch or a call was chosen that is not the library's own. */
int tune_report_changes(const struct env_decisions *d);
