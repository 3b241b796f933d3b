/* Shared by the files of nccltune-hook; the doctor and the installer use its readers.
 *
 * The program runs as root on every node before every job, and as the user before every task. doc/DELIVERY.md has the
 * argument why all ranks of a job get the same. libc alone, no plugins of
 * libc either (no getpwnam, no getaddrinfo: they may ask a directory server that is down). Whoever refuses something
 * says why in one sentence, and nothing is done then. Functions return 0, or -1 with the sentence (NULL: nobody asks).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"
#include "core/hash.h"

#define HOOK_ROOT   512 /* paths that the configuration names */
#define HOOK_PATH   1024
#define HOOK_WORD   64                    /* names of hosts, classes, devices, variables, with the end */
#define HOOK_VALUE  1024                  /* of a variable */
#define HOOK_OUTPUT 32768                 /* what one hook prints; Slurm takes 64 KiB */
#define HOOK_NO_NET "refused-by-nccltune" /* no network is called so: NCCL gives up at start */

/* err_set, and -1. */
#define hook_refuse(e, ...) (-err_set(e, ERR_FAILED, __VA_ARGS__))

/* ---- hook_trust.c: files that nobody but root or the owner can have written -------------------------------------- */

struct hook_file {
    char *text; /* a '\0' behind it; free() */
    size_t bytes;
};

/* Reads a file of at most `limit` bytes. It and every directory above it belong to root or `owner`, nobody else may
 * write there, and no component of the path is a symbolic link. Text alone: a NUL byte is refused. */
int hook_read(const char *path, uid_t owner, size_t limit, struct hook_file *f, struct err *e);

/* The same of `name` in a directory that hook_open_directory has opened, and without a look at what is in it. */
int hook_read_at(int dir, const char *name, const char *path, uid_t owner, size_t limit, struct hook_file *f,
                 struct err *e);

/* The same of a file that is not read. */
int hook_check(const char *path, uid_t owner, struct err *e);
int hook_open_directory(const char *path, uid_t owner, struct err *e); /* its descriptor, or -1 */

/* ---- hook_text.c: lines and words -------------------------------------------------------------------------------- */

/* The next line of a text, cut off in place, without its end; NULL behind the last one. */
char *hook_line(char **cursor);

/* Splits a line at single blanks in place; the number of words, or -1 when there are more than `most`. */
int hook_words(char *line, char **words, int most);

/* Nonzero if s is a name: letters, digits and . _ - , 1 to HOOK_WORD - 1 of them, not beginning with '.' or '-'. */
int hook_is_name(const char *s);
int hook_is_hash(const char *s); /* 64 lower-case hex digits */

/* A decimal number up to `high`, nothing behind it: 0 or -1. */
int hook_number(const char *s, long long high, long long *value);

/* Calls `each` for every host of "n[1-3,07],login": until one returns -1 or 1, which is returned. -1 also for a list
 * that is none, or names more than 65,536 hosts. */
typedef int hook_host(void *arg, const char *host, struct err *e);
int hook_nodes_each(const char *list, hook_host *each, void *arg, struct err *e);

/* ---- hook_conf.c: /etc/nccltune/slurm.conf ----------------------------------------------------------------------- */

#define HOOK_CONF_PATH "/etc/nccltune/slurm.conf"

/* Findings about a node. */
enum hook_finding { HOOK_HCA, HOOK_PORT, HOOK_RATE, HOOK_GPU, HOOK_DRIVER, HOOK_PROFILE, HOOK_FINDINGS };

/* Policies for a job with a node that cannot decide. */
enum hook_policy {
    HOOK_FAIL,    /* its communicators fail at start, with a sentence; so also when a node has no store at all ... */
    HOOK_DEFAULT, /* ... which otherwise passes for a site where nothing is installed */
    HOOK_NONE     /* nothing on all nodes: they meet in a directory */
};

struct hook_conf {
    char store[HOOK_ROOT];  /* where install-profile keeps the profiles */
    char plugin[HOOK_ROOT]; /* NCCL_TUNER_PLUGIN */
    char scontrol[HOOK_ROOT];
    char meet[HOOK_ROOT]; /* a directory that all nodes share and root may write; "" none */
    uid_t owner;          /* besides root */
    enum hook_policy policy;
    int drain;       /* policy=drain */
    unsigned drains; /* bit per finding that drains */
    int has_key;     /* a key= line of a release that gave jobs a key; it does nothing */
};

void hook_conf_defaults(struct hook_conf *c);

/* Defaults when there is no such file. */
int hook_conf_read(const char *path, struct hook_conf *c, struct err *e);

/* ---- hook_job.c: which job this is ------------------------------------------------------------------------------- */

#define HOOK_LISTS 128 /* parts of a heterogeneous job; Slurm's own limit */

struct hook_job {
    char id[HOOK_WORD], part[HOOK_WORD]; /* of the job; of this part of a heterogeneous one, else the same */
    const char *lists[HOOK_LISTS];       /* all nodes of the job: one list for each part */
    int nlists;
    const char *partition; /* NULL unknown */
    const char *node;      /* this one */
    long long start;       /* of the job, seconds since 1970 */
    int start_known;       /* Slurm told; otherwise it is the present moment */
    char *text;            /* what Slurm answered: the words above point into it */
};

/* The job's number by Slurm's variables: the first part's where there are several. -1: none. */
int hook_job_id(char id[HOOK_WORD]);

/* From Slurm's variables in the prolog. hook_job_free frees. */
int hook_job_from_environment(struct hook_job *job, struct err *e);

/* Ask squeue for what the variables lack: the start, and the nodes of all parts. */
int hook_job_ask(const struct hook_conf *c, struct hook_job *job, struct err *e);
void hook_job_free(struct hook_job *job);

/* Number of nodes; -1: not a list. */
int hook_job_nodes(const struct hook_job *job, struct err *e);

/* ---- hook_store.c: which profile a job gets ---------------------------------------------------------------------- */

#define HOOK_SCHEDULE_BYTES \
    ((size_t)256 << 10) /* of a schedule; install-profile keeps to it, the doctor warns at half */

struct hook_choice {
    char hash[SHA256_HEX];  /* of the profile that the job gets; "" none */
    char trial[HOOK_WORD];  /* that the job is part of; "" none */
    char tried[SHA256_HEX]; /* the profile of that trial */
    int is_tried;           /* the job gets that one; otherwise it is one of those that are compared with it */
    int near;               /* the job's start decides, and it is not known */
};

/* Opens the store and reads its schedule: f->text NULL where nothing is installed. *store is a descriptor, or -1. */
int hook_schedule_read(const struct hook_conf *conf, int *store, struct hook_file *f, struct err *e);

/* Find the schedule's line for this job; NULL: none. Depends on the schedule and on what every node of the job sees
 * alike, on nothing else. `path` is for errors. */
int hook_choose(const char *schedule, const char *path, const struct hook_job *job, struct hook_choice *c,
                struct err *e);

/* A trial as the third word of its line names it. */
#define HOOK_TRIAL_JOBS 100000
struct hook_trial {
    const char *name;
    int share;         /* percent of the jobs; 0: the trial ends */
    int jobs;          /* of both groups, after which it is judged for good */
    const char *scope; /* NULL: the trial ends */
};

/* 1; 0: it is another kind of scope; -1. Cuts the word in place. */
int hook_trial_parse(char *scope, struct hook_trial *t, struct err *e);

/* ---- hook_map.c: what of a profile concerns the hook ------------------------------------------------------------- */

#define HOOK_CLASSES 64
#define HOOK_FILES   (HOOK_CLASSES + 2)
#define HOOK_PORTS   1024
#define HOOK_MODULES 256

struct hook_map_file {
    const char *name, *sha256;
    long long bytes;
};

struct hook_class {
    const char *name;
    const char *group;   /* classes of one group are compatible: they may share a job */
    int gpus;            /* -1: not known */
    unsigned gpu_vendor; /* PCI vendor; 0: not known */
};

struct hook_port {
    int class_index, port;
    const char *hca;
    int rate_Gbps; /* 0: not known */
};

struct hook_module {
    int class_index;
    const char *name;
};

struct hook_host_class {
    const char *name;
    int class_index;
};

struct hook_map {
    struct hook_file file; /* everything below points into it */
    char dir[HOOK_PATH];   /* of the profile */
    int fd;                /* of that directory, or -1 */
    uid_t owner;           /* whose files are believed besides root's */
    struct hook_map_file files[HOOK_FILES];
    struct hook_class classes[HOOK_CLASSES];
    struct hook_port ports[HOOK_PORTS];
    struct hook_module modules[HOOK_MODULES];
    struct hook_host_class *hosts; /* sorted by name */
    int nfiles, nclasses, nports, nmodules, nhosts;
};

/* The map of profile `hash` in the store. NULL after an error; hook_map_free frees. */
struct hook_map *hook_map_read(const struct hook_conf *c, const char *hash, struct err *e);
void hook_map_free(struct hook_map *m); /* NULL is fine */

/* Check that the hooks would take this text for the map of the profile: 0 or -1. */
int hook_map_check(const char *text, const char *hash, struct err *e);

/* The class of a host, by its name or by what stands before the first dot; -1: not in the profile. */
int hook_map_class(const struct hook_map *m, const char *host);

/* Check that every node of the job is in the profile and all their classes are compatible. *mixed: not all of them have
 * the same settings of their own. */
int hook_map_fits(const struct hook_map *m, const struct hook_job *job, int *mixed, struct err *e);

/* A file of the profile, checked against its size and hash in the map; f->text NULL when the map does not have it. */
int hook_map_load(const struct hook_map *m, const char *name, struct hook_file *f, struct err *e);
const struct hook_map_file *hook_map_file(const struct hook_map *m, const char *name); /* NULL: none */

/* Nonzero if it is the name of a file of a profile that the hooks read: a name, or one in nccl.d/. */
int hook_map_is_file(const char *name);

/* ---- hook_copy.c: the node's copy of a profile ------------------------------------------------------------------- */

#define HOOK_NODE_BYTES  (16u << 20) /* of STORE/profiles/HASH.node: the files of a profile that nodes need, as one */
#define HOOK_NODE_FORMAT "nccltune-bundle/1\n"
#define HOOK_COPIES      "profiles" /* in RUN and in the store */

/* Takes one file of such a bundle at *at, which moves behind it: its bytes, after the line "NAME BYTES", which is cut
 * in place; NULL: it is none. */
char *hook_bundle_next(char **at, const char *end, char **name, long long *bytes);

/* Finds RUN/profiles/HASH, or, with the descriptor of a store, makes it; -1 otherwise: then the profile is read where
 * it is. *copy: as `c`, of that place. */
int hook_copy(const struct hook_conf *c, int store, const char *run, const char *hash, struct hook_conf *copy);

/* ---- hook_settings.c: NAME=value, and whose it is ---------------------------------------------------------------- */

#define HOOK_SETTINGS 128
#define HOOK_SET      "NCCLTUNE_SET" /* what hooks have set: NAME=value|NAME=value */

struct hook_setting {
    char name[HOOK_WORD], value[HOOK_VALUE];
};

struct hook_settings {
    struct hook_setting items[HOOK_SETTINGS];
    int count;
    int dropped;      /* lines that were refused */
    struct err first; /* why the first of them was */
};

/* Adds the lines of a file in the syntax of /etc/nccl.conf; a later one replaces an earlier one of that name. What the
 * catalogue does not know, what loads code or writes files, and values with any unusual character are dropped. */
void hook_settings_add(struct hook_settings *s, const char *file, char *text);
const struct hook_setting *hook_settings_find(const struct hook_settings *s, const char *name);

/* Without any check: our own variables. 0 or -1: full or too long. */
int hook_settings_put(struct hook_settings *s, const char *name, const char *value);

/* Reads NCCLTUNE_SET: what stands there was set by a hook, as far as it looks like it. */
void hook_settings_ours(struct hook_settings *s, const char *listed);

/* ---- hook_answer.c: what was decided for a job, in a file of this node's -------------------------------------------
 */

#define HOOK_RUN "/run/nccltune" /* RUN/JOB: written by the prolog, read by the task prolog, removed by the epilog */

enum hook_state {
    HOOK_UNKNOWN, /* this node cannot tell */
    HOOK_NOTHING,
    HOOK_TUNED
};

struct hook_answer {
    enum hook_state state;
    char job[HOOK_WORD];
    int nodes;                                    /* of the job */
    int mixed;                                    /* nodes of the job differ in settings of their own */
    enum hook_policy policy;                      /* for HOOK_UNKNOWN */
    char why[512];                                /* nothing, or not known */
    char hash[SHA256_HEX], class_name[HOOK_WORD]; /* of the profile; of this node */
    char plugin[HOOK_ROOT];                       /* "": there is none that can be trusted */
    char dir[HOOK_PATH], table[SHA256_HEX];       /* of the profile; hash of its table, "" without one */
    struct hook_settings common, local;           /* the same on all nodes; of this node's class */
};

/* All but the space for settings, which is large. */
void hook_answer_clear(struct hook_answer *a);

/* As text; 0, or -1 when it does not fit. */
int hook_answer_print(const struct hook_answer *a, char *text, size_t size);
int hook_answer_parse(struct hook_answer *a, char *text, const char *path, struct err *e);

/* Opens RUN, which is root's alone, after making it; -1. */
int hook_run_open(const char *run, struct err *e);

/* Replaces RUN/JOB, which all may read, in one step. */
int hook_answer_write(const char *run, const char *job, const char *text, struct err *e);

/* Reads RUN/JOB. 1: there is none. */
int hook_answer_read(const char *run, const char *job, struct hook_answer *a, struct err *e);

/* ---- hook_meet.c: nodes that share a directory --------------------------------------------------------------------
 */

/* Makes of every node's own answer the job's: a profile when all nodes have it, else nothing; HOOK_UNKNOWN when this
 * node said yes and cannot learn what came of it. */
void hook_meet(const struct hook_conf *c, const struct hook_job *job, struct hook_answer *a, long limit_ms);

/* This node's answer there. */
void hook_meet_leave(const struct hook_conf *c, const struct hook_job *job);

/* ---- the hooks --------------------------------------------------------------------------------------------------- */

/* Result of a hook; written by a child, read by its parent. */
struct hook_report {
    volatile int done;
    char log[1024];           /* one line for syslog, "" none */
    char warning[1024];       /* prolog: another line, about the configuration; "" none */
    char out[HOOK_OUTPUT];    /* task prolog: for standard output; prolog: the answer, for RUN/JOB */
    char reason[256];         /* why the node is to be drained, "" not */
    char scontrol[HOOK_ROOT]; /* what drains it */
};

struct hook_options {
    const char *conf, *sysfs, *run; /* HOOK_CONF_PATH, "/sys", HOOK_RUN */
    long limit_ms;
    int keep;     /* hook_prolog: the node keeps a copy of the profile in RUN */
    char *answer; /* for hook_task in place of RUN/JOB, cut in place; NULL: that file */
};

/* hook_decide.c: the prolog's part, which gives every task of the job its settings. The node keeps a copy of the
 * profile in `run`, unless that is NULL. *m: the profile's map, to be freed, or NULL. */
void hook_decide(const struct hook_conf *c, const char *run, struct hook_job *job, struct hook_answer *a,
                 struct hook_map **m);

void hook_task(const struct hook_options *o, struct hook_report *r);   /* hook_task.c: reads RUN/JOB alone */
void hook_prolog(const struct hook_options *o, struct hook_report *r); /* hook_node.c, all three */
void hook_epilog(const struct hook_options *o, struct hook_report *r);
void hook_check_node(const struct hook_options *o, struct hook_report *r);

/* ---- hook_box.c: whatever happens, it ends in time --------------------------------------------------------------- */

/* Runs `hook` in a child. Leaves a sentence when it has not finished within o->limit_ms, crashed or could not be
 * started; what it has written by then is in the report all the same. NULL: no memory. A child that cannot be killed is
 * left behind. */
typedef void hook_function(const struct hook_options *o, struct hook_report *r);
struct hook_report *hook_boxed(hook_function *hook, const struct hook_options *o, struct err *e);

/* Runs argv[0] (a path), a program of Slurm's, which gets nothing of the environment but SLURM_CONF, and tells times in
 * seconds; 0 when it ended with status 0 in time. Its output, cut off at `size`, goes to `out`; NULL: nowhere. */
int hook_run(char *const *argv, long limit_ms, char *out, size_t size);
