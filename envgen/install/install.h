/* Site installation: a store of finished profiles, the schedule that says which jobs get which, NCCL's own file.
 *
 *   STORE/profiles/HASH/    the files of a profile, and hook.map: what of it the Slurm hooks need
 *   STORE/profiles/HASH.node  the files of it that nodes copy, as one
 *   STORE/schedule          SINCE HASH SCOPE lines, see nccltune-hook(8); added to, "none" by --uninstall and for the
 *                           end of a trial
 *   STORE/current           link to the profile that all jobs get
 *   STORE/tuner.csv         link to its table: where the plugin looks by itself when STORE is /etc/nccltune
 *   /etc/nccl.conf          between two marker lines, what NCCL reads by itself */
#pragma once

#include "core/arena.h"
#include "core/err.h"
#include "core/hash.h"
#include "envgen/profile/profile.h"
#include "probe/cluster/groups.h"
#include "probe/topology/topology.h"

#define INSTALL_STORE     "/etc/nccltune"
#define INSTALL_NCCL_CONF "/etc/nccl.conf"

/* Contents for NCCL's own file. It knows no jobs, so where hooks serve the node it gets only what is true of the
 * node for every job. */
enum install_conf {
    INSTALL_CONF_NOTHING, /* lines of an earlier installation are taken out */
    INSTALL_CONF_NODE,    /* settings of this node's class */
    INSTALL_CONF_ALL      /* all settings, and the table with its hash: for sites without hooks */
};

struct install_site {
    const char *store;
    const char *nccl_conf; /* NULL: leave NCCL's file alone */
    const char *plugin;    /* libnccl-tuner-nccltune.so */
    enum install_conf conf;
    const char *cdi, *enroot, *apptainer; /* directories of CDI specs and of the configurations; NULL: leave them */
    const char *node;                     /* this host's name in the profile; NULL: its host name */
    struct arena *arena;                  /* has what struct install_done says, and what was read on the way to it */
};

/* Jobs that get it, and the start. Partition and nodes NULL: all. */
struct install_scope {
    const char *partition, *nodes;
    const char *trial; /* NULL: all of them; else its name: */
    int share, jobs;   /* so many percent of them, judged after so many jobs */
    long long since;   /* seconds since 1970; 0: now */
    int later;         /* links and NCCL's file are left to install_switch */
};

/* Result, for the caller to print. */
struct install_done {
    struct arena *arena; /* the site's */
    char hash[SHA256_HEX];
    const char *dir;        /* of the installed profile */
    const char *node_class; /* this host's; NULL: it is not in the profile */
    const char *hosts;      /* "4 hosts of class a, 1 of class b" */
    const char *nccl_conf;  /* what became of NCCL's file, as a sentence; NULL nothing */
    int by_conf;            /* NCCL's file holds it for all jobs of this host */
    int one_compatible;     /* every job may use the table: all classes of nodes go together */
    int table, rules;       /* it has a table; one that says anything */
    int settings;           /* it has some for NCCL */
    int openmpi;            /* it has settings for OpenMPI, which are not installed */
    char table_hash[SHA256_HEX];
};

/* Copies a finished profile into the store, unless it is there, and schedules it, unless `scope` is NULL. Errors: not a
 * whole profile, a table that is too large for the hooks, a plugin that cannot be loaded, no right to write. Nothing is
 * scheduled before all of it is on disk. */
int install_profile(const struct install_site *site, const char *profile, const struct install_scope *scope,
                    struct install_done *done, struct err *e);

/* The same of a profile that is in the store already. */
int install_stored(const struct install_site *site, const char *hash, const struct install_scope *scope,
                   struct install_done *done, struct err *e);

/* Schedules the profile for all jobs that was theirs before the present one. */
int install_previous(const struct install_site *site, const struct install_scope *scope, struct install_done *done,
                     struct err *e);

/* Points STORE's links at the profile and writes NCCL's file; done by the two above unless scope->later. */
int install_switch(const struct install_site *site, struct install_done *done, struct err *e);

/* Schedules that no job gets anything, and takes the links and the lines in NCCL's file away; with `purge` the profiles
 * too, and, unless `hooks` read it, the schedule. What the site has put there stays. */
int install_remove(const struct install_site *site, int purge, int hooks, struct err *e);

/* Nonzero if that is what a job gets unless something else is said: what STORE's links and NCCL's file stand for. */
static inline int install_is_for_all(const struct install_scope *scope)
{
    return !scope->partition && !scope->nodes && !scope->trial;
}

/* Schedules that no job that starts at `since` or later is part of the trial; it need not be there. */
int install_end_trial(const struct install_site *site, const char *trial, long long since, struct err *e);

/* Takes back what was scheduled for `since`, which is still to come. */
int install_unschedule(const struct install_site *site, const char *hash, long long since, struct err *e);

/* Has each node of `probed` join the class of the profile that it equals (see probe/cluster/groups.h), and writes what
 * comes of it into the directory `dir`, unless nothing does: a profile of another hash, because its topology knows
 * other hosts, with the same table and settings. `profile` NULL: the one of `store` that all jobs get. Strings of
 * `*served` are in `a`, names those of `probed`. Errors: not a whole profile, none is installed, no right to write. */
int install_extend(const char *store, const char *profile, const struct topology *probed, const char *dir,
                   struct cluster_served *served, struct arena *a, struct err *e);

void install_remove_directory(const char *path); /* with all that is in it */

/* ---- what is there ----------------------------------------------------------------------------------------------- */

/* Loads the plugin for a try. Errors: none there, not a file, not this plugin. */
int install_try_plugin(const char *path, struct err *e);

/* The plugin that the lines of an earlier installation in NCCL's file name, in `a`; NULL: none. */
const char *install_plugin_before(const char *nccl_conf, struct arena *a);

/* nccltune in Slurm's configuration. */
struct install_hooks {
    const char *task_prolog, *prolog, *epilog, *flags; /* as configured; "(null)" not */
    int serve;                                         /* both prologs are nccltune's, or call them */
    const char *missing;                               /* why not, a sentence; NULL when they serve */
    const char *open;                                  /* what lets a node without the store differ; NULL: nothing */
};
void install_find_hooks(struct arena *a, struct install_hooks *hooks);

/* Running jobs that have a profile of this store, as their numbers and commas in `a`, "" for none. Errors: Slurm is
 * there and does not tell. */
int install_running_jobs(const struct install_site *site, struct arena *a, const char **jobs, struct err *e);

/* When the oldest job started that can still ask the schedule: by squeue, else three months ago. */
long long install_oldest_job(struct arena *a);

/* ---- many nodes without a shared file system --------------------------------------------------------------------- */

struct install_hosts {
    const char *const *hosts;
    int nhosts;
    const char *agent;   /* like ssh: AGENT HOST COMMAND, split at blanks */
    const char *program; /* nccltune on the nodes */
    double patience_s;   /* for each step on each node */
    int parallel;
};

/* One node's answer, or the reason for none. */
struct install_answer {
    const char *host, *text;
    int failed;
};

/* Runs `program install-profile WORDS` on every host, `bundle` (a path; NULL: nothing) as its standard input. The
 * number of hosts that failed. */
int install_on_hosts(const struct install_hosts *h, const char *const *words, const char *bundle, struct arena *a,
                     struct install_answer *answers);

/* A profile as one file, and back into a directory of its own below `dir`, whose path is in `a`. Signals that end a
 * program are blocked from then on, so that the caller can remove the directory. */
int install_pack(const char *profile, const char *path, struct err *e);
int install_unpack(const char *path, const char *dir, struct arena *a, const char **profile, struct err *e);

/* STORE/profiles/HASH.node of the profile that `done` describes, whose hook.map is `map`; slurm/hook_copy.c reads it.
 */
int install_pack_for_nodes(int profiles, const struct install_done *done, const char *map, struct err *e);

/* Check that all files of a profile are such as nccltune writes, and all their settings such as may be delivered.
 * Errors: the first line that is not. */
int install_accept(const struct env_profile *p, struct err *e);

/* ---- parts ------------------------------------------------------------------------------------------------------- */

/* The text of hook.map, in `a`; *one_compatible as above. Errors: names that the hooks would not take. */
char *install_map_text(const struct topology *t, const struct env_manifest *m, struct arena *a, int *one_compatible,
                       struct err *e);

/* Nonzero if two classes may share a job: as many GPUs of one kind, as many active ports of the same rates. */
int install_compatible(const struct topo_class *a, const struct topo_class *b);

/* `old` (NULL: there is no such file) with `lines` between the markers instead of what stood there; `lines` NULL takes
 * the markers away. NULL after an error: a marker without its partner; `path` is for that. */
char *install_merge(const char *old, const char *lines, const char *path, struct arena *a, struct err *e);

/* The same for a file, which may be missing; it is removed where nothing is left of it. */
int install_merge_file(const char *path, const char *lines, struct arena *a, struct err *e);

/* Write or, where `lines` is NULL, remove the files for containers in site->cdi, ->enroot and ->apptainer. `lines`:
 * what NCCL's own file would get, INSTALL_CONF_ALL. */
int install_containers(const struct install_site *site, const struct install_done *done, const char *lines,
                       struct arena *a, struct err *e);

/* The last hash of the schedule for all jobs, "" when that is none, and the last other one before it. */
void install_schedule_last(const char *text, char last[SHA256_HEX], char before[SHA256_HEX]);
