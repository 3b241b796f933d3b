/* A worker: one rank on one GPU. Its protocol has the descriptors of standard input and output to itself; whatever NCCL
 * prints goes to standard error. */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench/nccltune-worker/measure.h"
#include "bench/nccltune-worker/worker.h"
#include "core/delivered.h"
#include "core/err.h"

#define RETRY_MS 200

struct worker {
    const struct worker_options *options;
    struct measurer m;
    int gpus;
    struct connection agent;
    int quits; /* it was told to */
};

/* Nobody listens any more: this process must not sit in NCCL for ever. PDEATHSIG does the same where there is no
 * container between us and the agent. */
static void *watch_input(void *unused)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = 0};
    while (poll(&in, 1, -1) < 0 || !(in.revents & (POLLHUP | POLLERR)))
        ;
    _exit(ERR_FAILED);
    return unused;
}

static int send_answer(struct worker *w, enum nccl_message message, const void *body, size_t bytes)
{
    return connection_send(&w->agent, message, w->options->rank, body, bytes);
}

static int send_error(struct worker *w, const struct err *e)
{
    struct nccl_text t = {0};
    snprintf(t.text, sizeof t.text, "%.*s", (int)sizeof t.text - 1, e->text);
    return send_answer(w, NCCL_ERROR, &t, sizeof t);
}

/* Loads everything and says what is there. A GPU that cannot be had is no reason to die without a word. */
static int load_and_greet(struct worker *w)
{
    struct nccl_hello hello = {0};
    struct err why = {0};
    struct measurer *m = &w->m;
    if (nccl_load(&m->nccl, w->options->nccl, &why) || gpu_load(&m->gpu, m->nccl.rccl, &why))
        return send_error(w, &why), -1;
    int device = 0;
    m->gpu.count(&w->gpus);
    if (w->gpus > 0 && !m->gpu.device(&device, w->options->local % w->gpus))
        m->gpu.name(hello.gpu, sizeof hello.gpu, device);
    hello.gpus = w->gpus;
    hello.rccl = m->nccl.rccl;
    m->nccl.get_version(&hello.version);
    snprintf(hello.path, sizeof hello.path, "%s", m->nccl.path);
    return send_answer(w, NCCL_HELLO, &hello, sizeof hello);
}

/* The control functions of the plugin, if NCCL has loaded it. */
static int find_steering(struct worker *w, struct err *e)
{
    struct steering *s = &w->m.steer;
    const char *path = getenv("NCCL_TUNER_PLUGIN");
    void *lib = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    if (lib) {
        *(void **)&s->version = dlsym(lib, "nccltune_control_version");
        *(void **)&s->arm = dlsym(lib, "nccltune_control_arm");
        *(void **)&s->force = dlsym(lib, "nccltune_control_force");
        *(void **)&s->last = dlsym(lib, "nccltune_control_last");
    }
    if (s->version && s->arm && s->force && s->last && s->version() == NCCLTUNE_CONTROL_VERSION)
        return 0;
    int version = 0;
    w->m.nccl.get_version(&version);
    return err_set(e, ERR_FAILED,
                   "NCCL %d.%d.%d (%s) did not load the tuner plugin %s; NCCL loads one from 2.19 on, this worker "
                   "steers version %d of its control interface",
                   version / 10000, version / 100 % 100, version % 100, w->m.nccl.path, path ? path : "(none given)",
                   NCCLTUNE_CONTROL_VERSION);
}

/* A GPU that runs one process at a time is not free as soon as the one before it has been killed: what that had is
 * taken back first. */
static int retain_context(const struct gpu *g, void **context, int device)
{
    int rc = g->retain(context, device);
    for (int tries = 0; gpu_is_taken(rc) && tries < NCCL_GPU_HELD_S * 1000 / RETRY_MS; tries++) {
        usleep(RETRY_MS * 1000);
        rc = g->retain(context, device);
    }
    return rc;
}

static int take_device(struct worker *w, struct err *e)
{
    struct measurer *m = &w->m;
    void *context = NULL;
    int rc = w->gpus < 1 ? -1 : m->gpu.device(&m->device, w->options->local % w->gpus);
    rc = rc ? rc : retain_context(&m->gpu, &context, m->device);
    rc = rc ? rc : m->gpu.set_current(context);
    return !rc ? 0
               : err_set(e, ERR_FAILED, "rank %d: %s", w->options->rank,
                         w->gpus < 1 ? "no GPU is visible" : gpu_error(&m->gpu, rc));
}

/* NCCL has read its files by now. What came by one, or with a container's image, would be part of every measurement. */
static int find_delivered(const struct worker *w, const struct nccl_join *j, struct err *e)
{
    const char *name = delivered_beyond(j->control ? DELIVERED_PLUGIN : j->table ? DELIVERED_TABLE : DELIVERED_NOTHING);
    return !name ? 0
                 : err_set(e, ERR_FAILED,
                           "rank %d: %s=%.200s of an installed profile reached NCCL, which falsifies the baseline: "
                           "remove it from nccl.conf or the container's environment",
                           w->options->rank, name, getenv(name));
}

static int join_ranks(struct worker *w, const struct nccl_join *j, struct err *e)
{
    struct measurer *m = &w->m;
    struct nccl_id id;
    memcpy(id.bytes, j->id, sizeof id.bytes);
    void *comm = NULL;
    int rank = w->options->rank, rc = m->nccl.comm_init_rank(&comm, j->nranks, id, rank);
    rc = nccl_settled(&m->nccl, comm, rc);
    m->all = m->group = (struct group){.comm = comm, .rank = rank, .nranks = j->nranks};
    if (find_delivered(w, j, e))
        return ERR_FAILED;
    if (rc)
        return err_set(e, ERR_FAILED, "rank %d: %s", rank, nccl_error(&m->nccl, NULL, rc));
    if (j->control && j->nranks > 1) {
        if (find_steering(w, e))
            return ERR_FAILED;
        m->steer.arm();
        m->steer.force(&(struct nccltune_force){NCCLTUNE_CONTROL_ALL, -1, -1, 0, 0});
    }
    if (measure_open(m, e) || measure_barrier(m, e))
        return ERR_FAILED;
    struct nccl_joined joined = {0};
    struct nccltune_record r;
    if (m->steer.last && !m->steer.last(&r))
        joined = (struct nccl_joined){.nodes = r.nodes, .api = r.api};
    size_t left, all;
    if (!m->gpu.memory(&left, &all))
        joined.free = left;
    active_plugins(joined.active, sizeof joined.active);
    return send_answer(w, NCCL_JOINED, &joined, sizeof joined);
}

static int make_id(struct worker *w, struct err *e)
{
    struct nccl_id id;
    int rc = w->m.nccl.get_unique_id(&id);
    return rc ? err_set(e, ERR_FAILED, "no unique id: %s", nccl_error(&w->m.nccl, NULL, rc))
              : send_answer(w, NCCL_NAMED, &id, sizeof id);
}

/* Answers one frame. Error: the request could not be done. */
static int answer_request(struct worker *w, const struct frame *f, struct err *e)
{
    struct nccl_join j;
    struct nccl_point p;
    struct nccl_measure q;
    struct nccl_times t;
    struct nccl_prepared done;
    switch (f->head.message) {
    case NCCL_NAME:
        return take_device(w, e) ? ERR_FAILED : make_id(w, e);
    case NCCL_JOIN:
        return frame_body(f, &j, sizeof j) || take_device(w, e) ? ERR_FAILED : join_ranks(w, &j, e);
    case NCCL_PREPARE:
        if (frame_body(f, &p, sizeof p) || !w->m.all.comm || measure_prepare(&w->m, &p, &done, e))
            return ERR_FAILED;
        return send_answer(w, NCCL_PREPARED, &done, sizeof done);
    case NCCL_MEASURE:
        if (frame_body(f, &q, sizeof q) || !w->m.all.comm || measure_run(&w->m, &q, &t, e))
            return ERR_FAILED;
        return send_answer(w, NCCL_TIMES, &t, sizeof t);
    case NCCL_QUIT:
        group_leave(&w->m.group, &w->m.nccl, &w->m.all);
        if (w->m.all.comm)
            w->m.nccl.comm_destroy(w->m.all.comm);
        w->quits = 1;
        return 0;
    default:
        return err_set(e, ERR_FAILED, "rank %d: unknown request %d", w->options->rank, f->head.message);
    }
}

int rank_serve(const struct worker_options *o)
{
    struct worker w = {.options = o};
    struct frame f;
    pthread_t watcher;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    if (in < 0 || out < 0 || connection_open(&w.agent, in, out) || pthread_create(&watcher, NULL, watch_input, NULL) ||
        load_and_greet(&w))
        return ERR_LACKS;
    for (int rc = 0; !rc && !w.quits;) {
        int got = connection_next(&w.agent, &f);
        if (got < 0 || (!got && !connection_wait(&w.agent, -1)))
            break;
        struct err why = {0};
        if (got && answer_request(&w, &f, &why))
            rc = send_error(&w, &why);
    }
    connection_close(&w.agent);
    return w.quits ? 0 : ERR_FAILED;
}
