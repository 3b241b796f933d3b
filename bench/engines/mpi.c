/* The mpi engine: OpenMPI's algorithms as call knobs, its choice of network interfaces as a launch knob.
 *
 * A session is mpirun with build/nccltune-bench on every rank. Under an mpirun or srun of somebody else's, rank 0
 * conducts and its worker is a child that takes the rank's place; there is one session then, which cannot be had again.
 */
#include "bench/engines/engines.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/candidates/candidates.h"
#include "bench/launch/launch.h"
#include "core/locate.h"
#include "core/progress.h"

/* Between SIGTERM and SIGKILL. OpenMPI 4.1 needs 1.05 s to remove its session directory and shared memory; a ^C has to
 * be over within two seconds. */
#define GRACE_S   1.7
#define GOODBYE_S 5.0 /* for MPI_Finalize on all ranks */

struct options {
    const char *interfaces; /* "eth0,ib0": network interfaces to try instead of the topology's */
};

static const struct option_spec options[] = {
    {0, "interfaces", "LIST", "network interfaces to try (default: all usable ones of the topology)", option_text,
     offsetof(struct options, interfaces)},
    {0},
};

struct session {
    struct bench_session base;
    struct child child;
    struct session **only; /* where the only session of an attached run is kept: `close` leaves it, `finish` ends it */
};

struct context {
    const char *worker;
    struct mpirun mpirun;
    int attached;
    struct session *only; /* of an attached run, once it has been opened */
    struct arena *arena;
};

/* ---- the plan ---- */

static int plan_launches(const struct bench_setup *setup, struct arena *a, struct bench_plan *p, struct err *e)
{
    struct context *c = ARENA_NEW(a, struct context);
    const struct options *own = setup->own;
    int rank = mpirun_attached_rank(e);
    memset(p, 0, sizeof *p);
    p->context = c;
    if (rank < -1)
        return ERR_USAGE;
    c->arena = a;
    c->attached = rank >= 0;
    p->one_session = c->attached;
    c->worker = locate_program("nccltune-bench", a, e);
    if (!c->worker)
        return ERR_LACKS;
    if (c->attached && setup->jobs)
        return err_set(e, ERR_USAGE, "this needs a launch for each environment: start it without mpirun or srun");
    int rc = c->attached ? 0 : mpirun_command(setup, c->worker, a, &c->mpirun, e);
    if (!rc)
        rc = mpi_plan_calls(c->worker, p, a, e);
    if (!rc && setup->jobs)
        bench_plan_jobs(p, a, setup);
    else if (!rc)
        rc = mpi_plan_launches(setup, own ? own->interfaces : NULL, c->attached ? 1 : c->mpirun.nodes, p, a, e);
    return rc;
}

/* ---- sessions ---- */

static const char *const *launch_env(struct context *c, const struct bench_knobs *launch)
{
    struct words env = {0};
    words_add_all(&env, c->arena, c->mpirun.env);
    for (int i = 0; i < launch->nsettings; i++)
        words_add(&env, c->arena,
                  arena_printf(c->arena, "OMPI_MCA_%s=%s", launch->settings[i].name, launch->settings[i].value));
    return env.items;
}

static void end_session(struct session *s, int kill)
{
    if (!kill) {
        close(s->child.proc.in);
        s->child.proc.in = -1;
        proc_ended(&s->child.proc, GOODBYE_S);
    }
    child_end(&s->child, GRACE_S);
    if (s->only)
        *s->only = NULL;
}

static int wait_for_hello(struct session *s, double patience_s, volatile sig_atomic_t *stop, struct err *e)
{
    char *line, why[BENCH_DETAIL];
    struct protocol_answer hello;
    switch (child_next(&s->child, progress_now_s() + patience_s, stop, &line)) {
    case CHILD_LINE:
        if (protocol_answer_parse(line, strlen(line), &hello, e))
            return ERR_FAILED;
        if (hello.kind != PROTOCOL_HELLO)
            return err_set(e, ERR_FAILED, "%s", hello.text);
        s->base.nodes = hello.nodes;
        s->base.ranks = hello.ranks;
        return 0;
    case CHILD_STOPPED:
        return err_set(e, ERR_FAILED, "interrupted");
    case CHILD_LATE:
        return err_set(e, ERR_FAILED, "no process has answered within %.0f s of the start", patience_s);
    default:
        child_last_words(&s->child, why);
        return err_set(e, ERR_FAILED, "the launch %s", why);
    }
}

static struct bench_session *open_session(struct bench_plan *p, const struct bench_knobs *launch, double patience_s,
                                          volatile sig_atomic_t *stop, struct err *e)
{
    struct context *c = p->context;
    if (c->only)
        return &c->only->base;
    struct session *s = ARENA_NEW(c->arena, struct session);
    const char *alone[] = {c->worker, NULL};
    int rc = c->attached ? child_start(&s->child, alone, mpirun_worker_env, e)
                         : child_start(&s->child, c->mpirun.argv, launch_env(c, launch), e);
    if (rc)
        return NULL;
    if (wait_for_hello(s, patience_s, stop, e)) {
        end_session(s, 1);
        return NULL;
    }
    if (c->attached) {
        s->only = &c->only;
        c->only = s;
    }
    return &s->base;
}

static enum bench_outcome measure_batch(struct bench_session *base, const struct bench_batch *b,
                                        volatile sig_atomic_t *stop, bench_sample_fn *report, void *user,
                                        char detail[BENCH_DETAIL])
{
    struct session *s = (struct session *)base;
    char *request = protocol_request_print(b), *line;
    int lost = !request || child_say(&s->child, request);
    free(request);
    struct protocol_answer w = {0};
    struct err e;
    /* Samples come in order; a shot that has failed is left out of later rounds, which only makes us more patient. */
    for (int next = 0; !lost; next = (w.call + 1) % b->nshots) {
        double patience_s = b->shots[next].patience_s;
        switch (child_next(&s->child, bench_wait_until(base, progress_now_s() + patience_s), stop, &line)) {
        case CHILD_LINE:
            break;
        case CHILD_LATE:
            snprintf(detail, BENCH_DETAIL, "no answer within %.1f s", patience_s);
            return BENCH_SILENT;
        case CHILD_STOPPED:
            snprintf(detail, BENCH_DETAIL, "interrupted");
            return BENCH_STOPPED;
        default:
            child_last_words(&s->child, detail);
            return BENCH_DIED;
        }
        if (protocol_answer_parse(line, strlen(line), &w, &e)) {
            snprintf(detail, BENCH_DETAIL, "%.*s", BENCH_DETAIL - 1, e.text);
            return BENCH_DIED;
        }
        if (w.kind == PROTOCOL_DONE)
            return BENCH_ANSWERED;
        if (w.kind != PROTOCOL_SAMPLE || w.call >= b->nshots) {
            snprintf(detail, BENCH_DETAIL, "%s", w.kind == PROTOCOL_ERROR ? w.text : "an unexpected answer");
            return BENCH_DIED;
        }
        report(user, w.call, w.status, w.us, w.text);
    }
    child_last_words(&s->child, detail);
    return BENCH_DIED;
}

static void close_session(struct bench_session *base, int kill)
{
    struct session *s = (struct session *)base;
    if (!s->only || kill)
        end_session(s, kill);
}

static void end_only_session(struct bench_plan *p)
{
    struct context *c = p->context;
    if (c && c->only)
        end_session(c->only, 0);
}

/* Every rank but the first of a launch that we did not make is a worker from now on. */
static int become_worker(struct err *e)
{
    int rank = mpirun_attached_rank(e);
    if (rank < -1)
        return ERR_USAGE;
    if (rank < 1)
        return 0;
    struct arena *a = arena_new();
    const char *worker = locate_program("nccltune-bench", a, e);
    int rc = worker ? 0 : ERR_LACKS;
    for (const char *const *v = mpirun_worker_env; !rc && *v; v++)
        rc = putenv((char *)*v) ? err_errno(e, "%s cannot be set", *v) : 0;
    if (!rc) {
        execl(worker, worker, (char *)NULL);
        rc = err_errno(e, "%s: cannot be started", worker);
    }
    arena_free(a);
    return rc;
}

static const struct bench_measure_ops ops = {
    .join = become_worker,
    .plan = plan_launches,
    .combine = mpi_plan_combine,
    .open = open_session,
    .measure = measure_batch,
    .close = close_session,
    .finish = end_only_session,
};

const struct bench_engine bench_engine_mpi = {
    .name = "mpi",
    .description = "collectives on host memory through OpenMPI, over its algorithms and network interfaces",
    .evidence = BENCH_ON_HOST,
    .family = BENCH_FAMILY_OPENMPI,
    .report = BENCH_HOST_MEMORY,
    .options_title = "OpenMPI (--engine mpi)",
    .options = options,
    .options_bytes = sizeof(struct options),
    .measures = &ops,
};
