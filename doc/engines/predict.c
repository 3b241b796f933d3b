/* Skeleton of an engine that predicts: calls take a latency and a bandwidth, on any number of nodes.
 *
 * It starts nothing. What it predicts goes into a journal like measurements, marked as predicted; decisions turn it
 * into comments unless a user asks for more. envgen/predict/engine.c is the real one: it lies above bench/, because it
 * asks the model, and cli/main.c registers it. tests/unit/bench/engines/test_skeletons.c compiles and runs this file.
 */
#include <stdio.h>

#include "bench/candidates/candidates.h"
#include "bench/candidates/engine.h"
#include "core/coll.h"

/* List launches and calls as an engine that measures does, and the numbers of nodes. All of it is in `a`: nothing is
 * called when the plan is dropped. Errors: there is nothing to predict for. */
static int plan_predictions(const struct bench_setup *setup, struct arena *a, struct bench_plan *p, struct err *e)
{
    static const int one = 1;
    if (!setup->ranks_per_node)
        return err_set(e, ERR_USAGE, "say --ranks-per-node: there is no topology to count GPUs in");
    *p = (struct bench_plan){.library = "skeleton, predicted",
                             .nodes = setup->nnodes ? setup->nodes : &one,
                             .nnodes = setup->nnodes ? setup->nnodes : 1,
                             .ranks_per_node = setup->ranks_per_node};
    bench_plan_add_launch(p, a, (struct bench_knobs){.label = BENCH_DEFAULT});
    bench_plan_add_call(p, a, COLL_ALLREDUCE);
    bench_plan_add_call(p, a, COLL_ALLREDUCE)->knobs = bench_plan_knob(a, "half", "SKELETON_ALGO", "half");
    return 0;
}

/* Predict one call at a point: its time, and its 90 % interval. Return -1 where it is not offered. */
static int predict_call(struct bench_plan *p, const struct known_place *at, const struct bench_knobs *launch,
                        const struct bench_knobs *call, struct bench_prediction *g)
{
    (void)p, (void)launch;
    double us = 10 * at->nodes + 1e-3 * (double)at->bytes;
    g->us = call->nsettings ? us / 2 : us;
    g->low_us = 0.8 * g->us;
    g->high_us = 1.25 * g->us;
    snprintf(g->detail, sizeof g->detail, "bound by %s", at->bytes > 10000 ? "bandwidth" : "latency");
    return 0;
}

static const struct bench_predict_ops predict_ops = {plan_predictions, predict_call};

const struct bench_engine bench_engine_skeleton_predict = {
    .name = "skeleton-predict",
    .description = "a latency and a bandwidth",
    .evidence = BENCH_PREDICTED,
    .family = BENCH_FAMILY_NCCL,
    .predicts = &predict_ops,
};
