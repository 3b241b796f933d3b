/* What the probe room offers to those above it: a topology from this machine or from files, and its pictures. */
#ifndef PROBE_SOURCE_PROBE_H
#define PROBE_SOURCE_PROBE_H

#include <signal.h>
#include <stdio.h>

#include "core/log.h"
#include "probe/topology/topology.h"

/* This machine, from every source that answers; a source that does not is a note in the class. */
struct topology *probe_machine(struct log *log, struct err *e);

/* The same, and how long every source took: `timings` has room for PROBE_SOURCES, in the order of the table. */
#define PROBE_SOURCES 8
struct probe_timing {
    const char *source; /* "hwloc", "pci", "verbs", "netdev", "kfd", "nvml", "machine", "software" */
    double ms;
};
struct topology *probe_machine_timed(struct log *log, struct probe_timing *timings, struct err *e);

/* The machine whose /sys and /proc were copied below `dir`, from the sources that need nothing but files; `timings` may
 * be NULL. */
struct topology *probe_sysroot(const char *dir, struct log *log, struct probe_timing *timings, struct err *e);

/* Recorded machines: each file's kind (NCCL topology XML, hwloc XML, topology.json) is told by its content. Several
 * files become one topology with one host each, named by the file. */
struct topology *probe_files(const char *const *paths, int npaths, struct log *log, struct err *e);

/* Makes one class of those that are identical; names become "class0", "class1", … in the order of the first hosts. What
 * identical machines may differ in (firmware, limits, libraries, GIDs) stays with the host, in words. */
void classes_merge(struct topology *t);

/* Makes one node of several, from files that describe the same one: devices are matched by PCI address, GPUs also by
 * number, ports and interfaces by name. What the first file says stands; later ones fill what is unknown. */
void merge_nodes(struct topology *t);

/* Every node of a cluster probes itself, all at once, through an agent like ssh: "AGENT HOST COMMAND". */
struct cluster_ask {
    const char *const *hosts;
    int nhosts;
    const char *agent;   /* split at blanks, no shell here; NULL: ssh */
    const char *command; /* run on the node: prints a topology.json; NULL: this program's "probe --json" */
    double deadline_s;   /* for each node */
    int parallel;        /* nodes asked at the same time; 0: 64 */
};

/* A node that does not answer in time, or with something else, is in `missing` of the result; the rest goes on.
 * `stop` (may be NULL) ends it when it becomes non-zero. Errors: no node answered, a host name that is none. */
struct topology *cluster_gather(const struct cluster_ask *ask, struct log *log, const volatile sig_atomic_t *stop,
                                struct err *e);

/* The same inside a job that a launcher (mpirun, srun) started with a process or more on every node: each calls this
 * with its own node's topology, which goes through files in `dir` on a shared file system. Returns the whole cluster on
 * rank 0 and a topology without hosts on the others; takes `own` over. Errors: no launcher, `dir` not writable. */
struct topology *ranks_gather(struct topology *own, const char *dir, double deadline_s, struct log *log, struct err *e);

/* Whether this process is the first of its node in such a job, or there is no job. */
int ranks_first_on_node(void);

/* Adds to every host which switch its ports hang on ("mlx5_0:1 leaf-3 port 7"), out of a file that ibnetdiscover wrote.
 */
int fabric_read(struct topology *t, const char *path, struct log *log, struct err *e);

/* Whether one of the findings is an error. */
int findings_have_error(const struct topology *t);

/* Exporters, one file each behind one table. */
struct probe_format {
    const char *name, *description;
    int (*write)(const struct topology *t, FILE *out, struct err *e);
};
extern const struct probe_format *const probe_formats[];        /* NULL-terminated; "text" and "json" first */
const struct probe_format *probe_format_find(const char *name); /* NULL: unknown */

#endif
