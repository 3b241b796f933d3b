/* Site installation: a store of finished profiles, the schedule that says which jobs get which, NCCL's own file.
 *
 *   STORE/profiles/HASH/    the files of a profile, and hook.map: what of it the Slurm hooks need
 *   STORE/schedule          SINCE HASH SCOPE lines, see nccltune-hook(8); only ever added to
 *   STORE/current           link to the profile that all jobs get
 *   STORE/tuner.csv         link to its table: where the plugin looks by itself when STORE is /etc/nccltune
 *   /etc/nccl.conf          between two marker lines, what NCCL reads by itself */
#ifndef ENVGEN_INSTALL_INSTALL_H
#define ENVGEN_INSTALL_INSTALL_H

#include "core/arena.h"
#include "core/err.h"
#include "core/sha256.h"
#include "envgen/profile/manifest.h"
#include "probe/topology/topology.h"

#define INSTALL_STORE     "/etc/nccltune"
#define INSTALL_NCCL_CONF "/etc/nccl.conf"

struct install_site {
    const char *store;
    const char *nccl_conf; /* NULL: leave NCCL's file alone */
    const char *plugin;    /* libnccl-tuner-nccltune.so */
};

/* Which jobs get it, and from when on. Both NULL: all. */
struct install_scope {
    const char *partition, *nodes;
    long delay_s; /* from now */
};

/* What was done, for the caller to tell. */
struct install_done {
    struct arena *arena;
    char hash[SHA256_HEX];
    const char *dir;        /* of the installed profile */
    const char *node_class; /* this host's; NULL: it is not in the profile */
    const char *nccl_conf;  /* what became of NCCL's file, as a sentence; NULL nothing */
    int one_compatible;     /* every job may use the table: all classes of nodes go together */
};

/* Copies a finished profile into the store, unless it is there, and schedules it. Errors: not a whole profile, a table
 * that is too large for the hooks, no right to write. Nothing is scheduled before all of it is on disk. */
int install_profile(const struct install_site *site, const char *profile, const struct install_scope *scope,
                    struct install_done *done, struct err *e);

/* Schedules the profile for all jobs that was theirs before the present one. */
int install_previous(const struct install_site *site, struct install_done *done, struct err *e);

/* Takes away the schedule, the links and the lines in NCCL's file, and with `purge` the profiles: jobs that are running
 * may still start steps with theirs. What the site has put there stays. */
int install_remove(const struct install_site *site, int purge, struct err *e);

void install_done_free(struct install_done *done);

/* ---- parts ------------------------------------------------------------------------------------------------------- */

/* The text of hook.map, in `a`; *one_compatible as above. Errors: names that the hooks would not take. */
char *install_map_text(const struct topology *t, const struct env_manifest *m, struct arena *a, int *one_compatible,
                       struct err *e);

/* Whether two classes may share a job: as many GPUs of one kind, as many active ports of the same rates. */
int install_compatible(const struct topo_class *a, const struct topo_class *b);

/* `old` (NULL: there is no such file) with `lines` between the markers instead of what stood there; `lines` NULL takes
 * the markers away. NULL after an error: a marker without its partner; `path` is for that. */
char *install_merge(const char *old, const char *lines, const char *path, struct arena *a, struct err *e);

/* The last hash of the schedule for all jobs, and the last other one before it; "" where there is none. */
void install_schedule_last(const char *text, char last[SHA256_HEX], char before[SHA256_HEX]);

#endif
