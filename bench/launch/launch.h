/* Launching what measures: what a user may say about it, a request to a running launch, the command line of MPI's
 * launchers, and the conversation with nccltune-bench. */
#pragma once

#include <signal.h>

#include "bench/results/results.h"
#include "core/call/shape.h"
#include "core/log.h"
#include "core/proc.h"
#include "probe/topology/topology.h"

struct agents;
struct predictor;

/* A sentence on why something failed. */
#define BENCH_DETAIL 400

/* ---- where and how to run ---- */

/* Options of every engine. Strings may be NULL. */
struct bench_setup {
    const char *hosts;       /* "a,b,c" */
    const char *hostfile;    /* one host a line */
    struct agents *lent;     /* agents that run already, for agents_open to borrow; NULL none */
    const char *launcher;    /* what starts agents, a name of start_launcher_name; NULL: what suits */
    const char *ssh;         /* called as COMMAND HOST PROGRAM...; NULL: $NCCLTUNE_SSH, or ssh */
    const char *mpirun;      /* the command */
    const char *mpirun_args; /* further arguments for it, split without a shell */
    int ranks_per_node;      /* 0: the engine chooses */
    const int *nodes;        /* where all is computed: how many nodes; one prediction each */
    int nnodes;              /* 0: as many as the topology has */
    const char *topo_file;   /* an NCCL_TOPO_FILE on all nodes, to try as a launch; NULL none */
    int nccl_version;        /* and whose choices are predicted, 22809 is 2.28.9; 0: the newest known */
    unsigned collectives;    /* a bit for each (enum coll) that is to be measured; 0 unknown */
    const struct bench_knobs
        *jobs;       /* try nothing, compare these launches with the default as jobs run them; NULL: try */
    int njobs;       /* 0: the default alone */
    const void *own; /* the engine's own options, see struct bench_engine; NULL: none were said */
    const struct topology *topology;   /* NULL unknown */
    const struct predictor *predictor; /* orders launches before any is measured; NULL: as listed */
    struct log *log;
};

/* The names that --launcher takes, in the order in which they are looked for; NULL behind the last. Number 0 is "auto".
 */
const char *start_launcher_name(int i);

/* ---- which nodes are meant ---- */

/* Those of --hosts or --hostfile, of a file that a job was given (a Kubernetes MPIJob, PBS), of a Slurm allocation, or
 * this machine alone; where agents are lent, theirs. */
struct places {
    const char **hosts; /* `nodes` names in the arena; NULL: the allocation does not tell them, or this machine */
    int nodes;          /* 1 for this machine */
    int said;           /* the user has named them */
    int given;          /* the surroundings have: an allocation, a job */
    int here;           /* they are this machine and no other */
};

/* Find them. Errors: a malformed list or file of the user's. What the surroundings say and cannot be read counts as not
 * said. */
int places_find(const struct bench_setup *setup, struct arena *a, struct places *p, struct err *e);

/* Return how many nodes `setup` means; 0 after an error. */
int places_count(const struct bench_setup *setup, struct err *e);

/* Return whether it means this machine alone, which needs no launcher. */
int places_need_no_launcher(const struct bench_setup *setup);

/* ---- one request to a running launch ---- */

/* Candidates to be measured in turn, `samples` times around. */
struct bench_shot {
    const struct bench_knobs *knobs;
    int iterations;    /* calls in one sample; 0: the engine finds out with bench_sample_calls */
    double patience_s; /* how long a sample may take before it counts as hung */
};
struct bench_batch {
    int coll;
    uint64_t bytes;
    int samples;
    int check; /* check the data of one call of each first; it also serves as warm-up */
    const struct bench_shot *shots;
    int nshots;
    struct bench_shape shape; /* of the groups that do this; nodes 0: everybody together */
    int buffers;              /* enum bench_buffers; BENCH_USUAL: those of the plan */
};

/* A sample: calls that fill least_us together, and at least `calls` of them unless these take more than most_us. All
 * zero stands for 200 us and one call: the barrier before it and the wake-up of a core are then below a few per cent.
 * Where each call is timed by itself the clock adds to it, to the default's as well. */
struct bench_sampling {
    double least_us, most_us;
    int calls;
};

/* Return how many calls of `us` make a sample. */
int bench_sample_calls(const struct bench_sampling *s, double us);

/* Return what such a sample takes. */
double bench_sample_us(const struct bench_sampling *s, double us);

enum bench_outcome {
    BENCH_ANSWERED,
    BENCH_STOPPED, /* *stop was set */
    BENCH_DIED,    /* the launch is of no further use: crashed */
    BENCH_SILENT,  /* the same: no answer in time */
    BENCH_LOST,    /* the same: a node or its agent is gone, which says nothing about the launch */
};

/* ---- command lines ---- */

/* A command line that is being put together. */
struct words {
    const char **items; /* in the arena */
    int count;
};

/* Add a word; a NULL, which is not counted, stays behind the last. */
void words_add(struct words *w, struct arena *a, const char *word);
void words_add_all(struct words *w, struct arena *a, const char *const *more);

struct mpirun {
    const char **argv; /* NULL-terminated, the worker last */
    const char **env;  /* "NAME=value", NULL-terminated */
    int nodes, ranks_per_node;
};

/* Make the command line that starts `worker` on all nodes that `setup` means (see struct places). Ranks per
 * node, unless said: the GPUs of a node; without any, 1 on several nodes and the cores (2 to 8) of a single one. By
 * srun
 * --mpi=pmix where --launcher asks for it, or where an allocation has nothing else. Errors: a host name with odd
 * characters, an unreadable hostfile, ERR_LACKS without mpirun. */
int mpirun_command(const struct bench_setup *setup, const char *worker, struct arena *a, struct mpirun *m,
                   struct err *e);

/* Environment that every process of a launch needs: NULL-terminated "NAME=value". */
extern const char *const mpirun_worker_env[];

/* Return this process's rank where mpirun or srun has started it as one of several, else -1. Error (-2): srun started
 * several copies that do not know of one another. */
int mpirun_attached_rank(struct err *e);

/* ---- a child that answers in lines ---- */

/* Find the one or two lines of standard error that explain the failure of a launcher or its programs.
 * The first line is mostly the cause ("ssh: Could not resolve hostname"), the last its consequence. OpenMPI puts
 * general advice between two rules of dashes: that counts only where nothing else was said. Zeroed before the first
 * use. */
#define COMPLAINT_LINE 256
struct complaint {
    char first[COMPLAINT_LINE], last[COMPLAINT_LINE], framed[COMPLAINT_LINE];
    char line[COMPLAINT_LINE]; /* the beginning of the next one */
    size_t used;
    int in_frame;
    int begun; /* its first line has been */
};

struct child {
    struct proc proc;
    char *line;         /* PROTOCOL_LINE bytes: received and not handed out yet */
    size_t used, given; /* of it; `given` bytes were handed out last time */
    struct complaint complaint;
};

enum child_event { CHILD_LINE, CHILD_LATE, CHILD_STOPPED, CHILD_ENDED };

/* Start the child (see proc_spawn). */
int child_start(struct child *t, const char *const *argv, const char *const *env, struct err *e);

/* Wait for the next line that begins with '{' until `deadline_s` of progress_now_s(). `*line` is '\0'-terminated,
 * without newline and valid until the next call. CHILD_ENDED: the child closed its output, or sent a line longer than
 * PROTOCOL_LINE. `stop` may be NULL. */
enum child_event child_next(struct child *t, double deadline_s, volatile sig_atomic_t *stop, char **line);

/* Send a line; -1 when the child is gone. */
int child_say(struct child *t, const char *line);

/* Write how the child ended and its last words as one sentence. Waits shortly for its end. */
void child_last_words(struct child *t, char detail[BENCH_DETAIL]);

/* End it (see proc_stop) and free. */
void child_end(struct child *t, double grace_s);

/* ---- what the conductor and nccltune-bench say to one another: one JSON object a line ----
 *
 *   worker:     {"hello": {"library": "Open MPI 4.1.4", "nodes": 2, "ranks": 4}}
 *   conductor:  {"collective": "allreduce", "bytes": 65536, "samples": 3, "check": true,
 *                "calls": [{"settings": {"coll_tuned_allreduce_algorithm": "4"}, "iterations": 10}, ...]}
 *                "group": {"nodes": 1, "ranks": 2, "others": 1}: by groups of that shape; missing: all ranks
 *   worker:     {"call": 0, "us": 231.4}                            one sample
 *               {"call": 1, "status": "wrong", "detail": "..."}     no more of this call
 *               {"done": true}                                      the request is answered
 *               {"error": "..."}                                    the worker gives up
 *
 * The end of its input ends a worker. */

#define PROTOCOL_LINE ((size_t)1 << 16) /* the longest line, with its newline */

/* Return a request with its newline, for free(); NULL when memory is short or the line would be too long. */
char *protocol_request_print(const struct bench_batch *batch);

/* The other way; everything in `a`. */
int protocol_request_parse(const char *text, size_t bytes, struct arena *a, struct bench_batch *batch, struct err *e);

enum protocol_kind { PROTOCOL_HELLO, PROTOCOL_SAMPLE, PROTOCOL_DONE, PROTOCOL_ERROR };

struct protocol_answer {
    enum protocol_kind kind;
    int nodes, ranks;         /* PROTOCOL_HELLO */
    int call;                 /* PROTOCOL_SAMPLE */
    enum bench_status status; /* PROTOCOL_SAMPLE */
    double us;                /* PROTOCOL_SAMPLE with BENCH_OK */
    char text[BENCH_DETAIL];  /* library, detail or error */
};

char *protocol_answer_print(const struct protocol_answer *w); /* as protocol_request_print */
int protocol_answer_parse(const char *text, size_t bytes, struct protocol_answer *w, struct err *e);
