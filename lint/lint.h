/* lint: reads NCCL settings out of the files that people keep them in and says what NCCL makes of each.
 *
 *     struct lint *l = lint_new(&options);
 *     lint_read_file(l, "job.sh", NULL, &e);   readers turn documents into settings
 *     lint_check(l);                           rules turn settings into findings
 *     lint_print(l, 0, stdout);
 *     lint_free(l);
 *
 * Nothing is ever evaluated: a value that a shell would have to expand is unknown and is not judged. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/finding.h"

struct topology;
struct tuner_table;
struct predictor;
struct lint;

struct lint_options {
    int nccl_low, nccl_high;           /* releases to judge by; 0: every one in use */
    int rccl;                          /* 1 AMD's RCCL, 0 NVIDIA's NCCL, -1: by the topology's GPUs or what is set */
    const struct topology *topology;   /* NULL unknown; must outlive the lint */
    int measured;                      /* the settings were measured on it: predictions of them are worth less */
    const struct predictor *predictor; /* predicts what a setting costs; NULL none */
    const struct tuner_table *table;   /* what a tuner plugin will apply; NULL none; the same */
    const char *root; /* paths in settings are looked for below it: "" this machine, "/proc/7/root"; NULL: not at all */
    int elsewhere;    /* the documents need not be for the machine of `root`: what it lacks is a note */
};

struct lint *lint_new(const struct lint_options *o);
void lint_free(struct lint *l); /* NULL is fine */

/* The kinds of document ("shell", "conf", …), in the order of a table; NULL past its end. */
const char *lint_kind(size_t n);

/* Reads a document; "-" is standard input. `kind` NULL: by its name, else by its content. Errors: unreadable, no text,
 * an unknown kind (ERR_USAGE), or no valid YAML or JSON where that is the kind: lint_problem has them, too, and what
 * was read before the place of the error stays. */
int lint_read_file(struct lint *l, const char *path, const char *kind, struct err *e);
int lint_read_text(struct lint *l, const char *name, const char *text, size_t bytes, const char *kind, struct err *e);

/* The environment of a process: NAME=VALUE blocks that each end with '\0', as in /proc/PID/environ. `name` is what
 * findings show as their file. */
int lint_read_environ(struct lint *l, const char *name, const char *block, size_t bytes, struct err *e);

/* The same of a process that runs, "process 4711"; 0: of this one, "environment". */
int lint_read_process(struct lint *l, int pid, struct err *e);

/* One setting without a document, as the environment has it. */
void lint_add(struct lint *l, const char *name, const char *value);

/* Every document below a directory that names one of the variables and is of a known format by its name or its first
 * line: what git would ignore (.gitignore, .git/info/exclude), hidden directories but .github, and links are passed by.
 * `*looked` counts the files that were opened. */
int lint_read_tree(struct lint *l, const char *directory, size_t *looked, struct err *e);

/* Runs every rule over all settings read so far. Call once. */
void lint_check(struct lint *l);

size_t lint_settings(const struct lint *l);

/* Final environment of a job, into `a`: every variable that is not set again or removed behind it; later documents come
 * after earlier ones, and every branch counts. */
struct lint_value {
    const char *name, *value; /* value NULL: unknown; both live as long as `l` */
    int branch;               /* it stands in a branch: if, case */
    const char *lost;         /* what keeps it from the ranks: "srun in line 3 does not pass"; NULL: nothing */
};
struct lint_value *lint_in_force(const struct lint *l, struct arena *a, size_t *n);

/* The n-th document: what was made of it. 0 past the last. */
struct lint_document {
    const char *name, *kind;
    size_t settings;
    int is_sourced;      /* by one before it */
    const char *missing; /* a file that it sources and that was not read, as it stands there; NULL: none … */
    long missing_line;   /* … and where */
    size_t unread;       /* names of variables in forms that lint does not understand … */
    long unread_line;    /* … and where the first of them stands */
    const char *error;   /* why it was not read, or not to its end; NULL: it was */
    long error_line;
};
int lint_document(const struct lint *l, size_t n, struct lint_document *d);

size_t lint_count(const struct lint *l, enum finding_severity severity);

/* Findings by file, line, column: `id` is the rule's code, `subject` the variable, `value` NULL where it is unknown.
 * Strings live as long as `l`. 0 past the end. */
int lint_finding(const struct lint *l, size_t n, struct finding *found);

/* As text or as JSON. */
void lint_print(const struct lint *l, int json, FILE *out);

/* Every rule, by its code. */
const struct finding_kind *lint_kinds(int *n);

/* A document with its fixable findings corrected. */
struct lint_fixed {
    const char *path; /* the name that it was read by */
    char *text;       /* for the caller to free */
    size_t bytes;
    int fixed, left;  /* corrections, and those that `all` would make beside them */
    const char *open; /* a line for each error, warning and name with a successor that has no certain correction,
                         "\n  line 3: NCCL_ALGO (NT707)"; "" none. Of the struct lint */
};

/* Correct the n-th document. `all` 0: only where the next run does the same as before. Error: the corrected
 * text could not be read again, or n is past the last; `text` is NULL then. */
int lint_fix(const struct lint *l, size_t n, int all, struct lint_fixed *out, struct err *e);
