/* What is installed on this node, and whether it would work. */
#ifndef ENVGEN_DOCTOR_H
#define ENVGEN_DOCTOR_H

#include "core/arena.h"
#include "core/err.h"
#include "core/log.h"
#include "envgen/install.h"

enum doctor_verdict { DOCTOR_OK, DOCTOR_NOTE, DOCTOR_WRONG }; /* a note: missing, but nothing is broken by it */

struct doctor_line {
    enum doctor_verdict verdict;
    const char *subject, *text; /* "plugin", "..." */
};

struct doctor {
    struct arena *arena;
    struct doctor_line *lines;
    int count, wrong;
};

struct doctor_options {
    struct install_site site;
    const char *hook;  /* the program nccltune-hook */
    const char *slurm; /* the hooks' configuration, NULL: its default */
    const char *node;  /* this node's name in Slurm; NULL: its host name */
    struct log *log;
};

/* Looks at plugin, table, store, profile, this machine against the profile's topology, NCCL's file, the hooks and
 * Slurm's configuration. Starts only nccltune-hook and scontrol. doctor_free frees. */
struct doctor *doctor_run(const struct doctor_options *o);
void doctor_free(struct doctor *d); /* NULL is fine */

/* "ok", "note", "wrong". */
const char *doctor_verdict_name(enum doctor_verdict v);

#endif
