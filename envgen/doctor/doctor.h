/* Check what is installed on this node. */
#pragma once

#include <stdio.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/finding.h"
#include "core/log.h"
#include "envgen/install/install.h"

struct topology;

struct doctor {
    struct arena *arena;
    struct findings found; /* `subject` says what of it: "plugin", "profile"; an error is what would not work */
};

struct doctor_options {
    struct install_site site; /* plugin NULL: that of this installation */
    const char *hook;         /* the program nccltune-hook; NULL likewise */
    const char *slurm;        /* the hooks' configuration, NULL: its default */
    const char *node;         /* this node's name in Slurm; NULL: its host name */
    struct log *log;
};

/* Looks at plugin, table, store, profile, this machine against the profile's topology, NCCL's file, the hooks and
 * Slurm's configuration. Starts only nccltune-hook and scontrol. doctor_free frees. */
struct doctor *doctor_run(const struct doctor_options *options);
void doctor_free(struct doctor *d); /* NULL is fine */

/* Return what is otherwise on this machine than on the class of the profile that it goes with, such as "GPU driver
 * 560.28 instead of 550.54; libraries ...", from `a`; NULL: nothing, or it goes with none. */
const char *doctor_changes(const struct topology *t, const struct topology *here, struct arena *a);

/* ---- inside a job ------------------------------------------------------------------------------------------------ */

struct doctor_job_options {
    const char *const *environment; /* of this process: "NAME=value", NULL at its end */
    const char *system_conf;        /* INSTALL_NCCL_CONF */
    const char *system_table;       /* what the plugin falls back to */
    const char *run;                /* where the job prolog leaves its answers; NULL: its default */
    const struct topology *machine; /* this node; NULL: looked at when it is needed */
    struct log *log;
};

/* Check what one rank of a job step gets: what the job prolog decided, the profile that was pinned, plugin, table, this
 * node against the profile, what the user overrides, what lint says of the environment. NCCL's configuration files
 * count as NCCL reads them. */
struct doctor *doctor_job(const struct doctor_job_options *o);
