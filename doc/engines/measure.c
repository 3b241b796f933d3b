/* Skeleton of an engine that measures: a library that is not there, whose calls take a made-up time.
 *
 * Copy it to bench/engines/NAME.c, or start a directory when one file is not enough, and add the engine to the table of
 * bench/engines/engines.c. Statistics, rounds, the journal, deadlines, resuming and progress are done above:
 * bench/candidates/engine.h says what each function must keep to. tests/unit/bench/engines/test_skeletons.c compiles
 * and runs this file. */
#include <stdlib.h>

#include "bench/candidates/candidates.h"
#include "bench/candidates/engine.h"
#include "core/coll.h"

/* What a user may say about this engine alone. `bench` and `tune` list it in their help, parse it and put it into
 * setup->own; NULL there: nothing was said. */
struct skeleton_options {
    double latency_us;
};

static const struct option_spec skeleton_options[] = {
    {0, "skeleton-latency", "US", "what a call takes at least; 10", option_number,
     offsetof(struct skeleton_options, latency_us), .low = 1, .high = 1e6},
    {0},
};

/* What lives as long as the plan: plan->context. */
struct skeleton_context {
    double latency_us;
};

/* A running launch: struct bench_session first, then what the engine needs. */
struct skeleton_session {
    struct bench_session base;
    const struct skeleton_context *context;
};

/* List what can be tried, in `a`. A call knob is what the library decides per call, a launch knob what it reads when it
 * starts. The baseline comes first, in the launches and in the calls of each collective. Say here what the
 * machine lacks (ERR_LACKS). */
static int plan_launches(const struct bench_setup *setup, struct arena *a, struct bench_plan *p, struct err *e)
{
    const struct skeleton_options *own = setup->own;
    struct skeleton_context *c = ARENA_NEW(a, struct skeleton_context);
    (void)e;
    *c = (struct skeleton_context){own && own->latency_us > 0 ? own->latency_us : 10};
    *p = (struct bench_plan){.library = "skeleton 1.0", .context = c};
    bench_plan_add_launch(p, a, (struct bench_knobs){.label = BENCH_DEFAULT});
    bench_plan_add_call(p, a, COLL_ALLREDUCE);
    bench_plan_add_call(p, a, COLL_ALLREDUCE)->knobs = bench_plan_knob(a, "half", "SKELETON_ALGO", "half");
    return 0;
}

/* Start the processes of a launch, with its settings in their environment, and wait for them, `patience_s` at most. */
static struct bench_session *open_session(struct bench_plan *p, const struct bench_knobs *launch, double patience_s,
                                          volatile sig_atomic_t *stop, struct err *e)
{
    struct skeleton_session *s = calloc(1, sizeof *s);
    (void)launch, (void)patience_s, (void)stop;
    if (!s)
        return err_null(e, ERR_FAILED, "out of memory");
    s->base.nodes = 1;
    s->base.ranks = 2;
    s->context = p->context;
    return &s->base;
}

/* Take samples: `b->samples` times around, one of each shot in turn. A sample is `iterations` calls, timed together;
 * its time is that of one call on the slowest rank. Report each as it comes; with a failure the shot is over. Return
 * what became of the launch: BENCH_DIED and BENCH_SILENT end it. */
static enum bench_outcome measure_batch(struct bench_session *base, const struct bench_batch *b,
                                        volatile sig_atomic_t *stop, bench_sample_fn *report, void *user,
                                        char detail[BENCH_DETAIL])
{
    const struct skeleton_session *s = (const struct skeleton_session *)base;
    for (int k = 0; k < b->samples; k++)
        for (int i = 0; i < b->nshots; i++) {
            const struct bench_knobs *call = b->shots[i].knobs;
            double us = s->context->latency_us + 1e-3 * (double)b->bytes;
            if (*stop) {
                snprintf(detail, BENCH_DETAIL, "interrupted");
                return BENCH_STOPPED;
            }
            report(user, i, BENCH_OK, call->nsettings ? us / 2 : us, NULL);
        }
    return BENCH_ANSWERED;
}

/* End the processes, at once when `kill`, and free the session. */
static void close_session(struct bench_session *base, int kill)
{
    (void)kill;
    free(base);
}

/* Functions that are NULL say: no other launch can be combined with another, nothing is predicted, nothing varies. */
static const struct bench_measure_ops measure_ops = {
    .plan = plan_launches,
    .open = open_session,
    .measure = measure_batch,
    .close = close_session,
};

const struct bench_engine bench_engine_skeleton_measure = {
    .name = "skeleton-measure",
    .description = "made-up times of a library that is not there",
    .evidence = BENCH_ON_HOST,
    .family = BENCH_FAMILY_OPENMPI, /* which of the known families of settings the candidates consist of */
    .options = skeleton_options,
    .options_title = "Skeleton (--engine skeleton-measure)",
    .options_bytes = sizeof(struct skeleton_options),
    .measures = &measure_ops,
};
