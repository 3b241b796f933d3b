/* Findings of diagnose: conditions, and what to do about them. Private to its directory. */
#pragma once

#include "advise/diagnose/diagnose_internal.h"

struct judge {
    struct diagnosis *d;
    struct diag_result *r;
    const struct diag_source *s;     /* the primary source; NULL: no steps */
    struct diag_finding hang, spare; /* hang: weight 0 without; spare: for findings that have no room */
    int hangs;                       /* what looks idle or even may be a hang */
};

/* Fills in what was found and where, and returns 1. */
int diag_hit(struct diag_finding *f, double weight, const char *place, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds to a sentence, which is cut where it is full. */
void diag_say(char to[DIAG_SENTENCE], const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A phase of that name; NULL. */
const struct diag_phase *diag_phase_named(const struct diag_source *s, const char *name);
/* Its median; 0: there is none. */
double diag_metric(const struct diag_source *s, const char *name);
/* The largest phase of these kinds, as bits; NULL. */
#define DIAG_TIMES ((1u << DIAG_METRIC) - 1) /* all kinds of a step's time */
const struct diag_phase *diag_largest(const struct diag_source *s, unsigned kinds);

/* Add a sentence on GPUs that are busy with little power: they wait in kernels of collectives. Returns the part of the
 * samples; 0: there are too few. */
double diag_say_spins(const struct diag_result *r, char to[DIAG_SENTENCE]);

/* Add a sentence on steps that are slower from one on. */
void diag_say_shift(const struct diag_source *s, char to[DIAG_SENTENCE]);

void diag_add_findings(struct judge *j); /* all of them, sorted: */

/* Phases, and kinds of phases, that take more than their limit. */
void diag_add_phases(struct judge *j);

/* On what NCCL's log and nvidia-smi topo -m say. */
void diag_add_nccl(struct judge *j);

/* Find contradictions of NCCL's log and the job's variables to the profile or the topology. */
void diag_add_profile(struct judge *j);

/* Why communication may take so long, with what the model says each cause costs on the topology: on findings that are
 * there, and as findings that are possible. Needs a topology with GPUs. */
void diag_add_causes(struct judge *j);

/* Fill in what the model expects of the best row of a run, where the machine is known. */
void diag_expect_tests(struct diagnosis *d, struct diag_tests *t);

/* Nonzero if NCCL's log names that HCA. */
int diag_is_used(const struct diag_nccl *n, const char *hca, size_t len);

/* Adds the finding of that id (findings.c) and returns it; its advice and command are the caller's to change. */
struct diag_finding *diag_found(struct judge *j, const char *id, double weight, const char *place, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* Adds a copy of a finding where there is room. */
void diag_add_finding(struct diag_result *r, const struct diag_finding *f);

/* Judge a paste of the machine's tools: its findings, and alone the HCAs for NCCL. */
void diag_add_machine(struct judge *j);
int diag_say_machine(const struct judge *j);

/* Run lint on the variables that logs and scripts set. */
void diag_add_lint(struct judge *j);

/* The failure that messages tell of, and messages as findings (failure.c). */
void diag_judge_failure(struct judge *j);
void diag_add_messages(struct judge *j);

/* On tables of nccl-tests. */
void diag_add_tests(struct judge *j);

/* On what an inference engine says of itself. */
void diag_add_engine(struct judge *j);

/* The job stands still: watchdogs, GPUs at 0 or 100 % to the end, no progress (hang.c). */
int diag_hangs(const struct judge *j, struct diag_finding *f);
int diag_hangs_by_ras(const struct judge *j, struct diag_finding *f);
