/* What a run of the usual budget covers of known jobs' communication, on two nodes of eight GPUs in no time. */
#include <unistd.h>

#include "advise/whatif/step.h"
#include "bench/candidates/candidates.h"
#include "bench/search/study.h"
#include "bench/search/workload_profile.h"
#include "envgen/decide/decide.h"
#include "model/workload/job.h"
#include "tests/lib/known_jobs.h"
#include "tests/lib/search_world.h"
#include "tests/lib/unit.h"

#define NODES 2
#define RANKS 16

/* What things take: a start of 16 ranks, a split, a message to all workers, a byte that is filled or compared. */
#define START_S    6.0
#define SPLIT_S    1.0
#define OVERHEAD_S 250e-6
#define BYTE_S     1e-10

/* ---- an engine of straight lines ---- */

static struct bench_session running;
static struct bench_shape groups;

static struct bench_session *open_session(struct bench_plan *p, const struct bench_knobs *launch, double patience_s,
                                          volatile sig_atomic_t *stop, struct err *e)
{
    (void)p, (void)launch, (void)patience_s, (void)stop, (void)e;
    world_pass(START_S);
    running = (struct bench_session){.nodes = NODES, .ranks = RANKS, .room_bytes = (uint64_t)20 << 30};
    groups = (struct bench_shape){0};
    return &running;
}

static enum bench_outcome measure(struct bench_session *s, const struct bench_batch *b, volatile sig_atomic_t *stop,
                                  bench_sample_fn *tell, void *user, char detail[BENCH_DETAIL])
{
    static const struct bench_sampling sampling = {2000, 5000, 5};
    (void)stop, (void)detail;
    if (!bench_shape_same(&groups, &b->shape))
        world_pass(SPLIT_S);
    groups = b->shape;
    world_pass((double)b->bytes * BYTE_S);
    for (int k = 0; k < b->samples; k++)
        for (int i = 0; i < b->nshots; i++) {
            struct nccl_requested w = nccl_requested_of(b->shots[i].knobs);
            double us = 15.0 * b->shape.nodes + (double)b->bytes / (b->shape.nodes > 1 ? 40e3 : 200e3);
            us *= w.algo < 0 ? 1 : 1 + 0.3 * w.algo - (w.channels == 8 ? 0.1 : 0);
            world_pass(OVERHEAD_S + 1e-6 * us * bench_sample_calls(&sampling, us));
            tell(user, i, BENCH_OK, us * (1 + 0.001 * (k % 3)), "");
        }
    return BENCH_ANSWERED;
}

static void close_session(struct bench_session *s, int kill)
{
    (void)s, (void)kill;
}

static const struct bench_measure_ops ops = {
    .sampling = {2000, 5000, 5}, .open = open_session, .measure = measure, .close = close_session};
static const struct bench_engine engine = {.name = "nccl", .measures = &ops};

/* ---- a run ---- */

static struct workload *workload_of(const char *name)
{
    struct err e = {0};
    int inference = !strcmp(name, "vllm"); /* its groups alone, of 8 and of 16 */
    struct workload_job job = known_job(inference ? "verl-grpo-megatron-7b-tp4pp4" : name);
    if (inference) {
        job.framework = "vllm-rollout";
        job.tp = job.rollout_tp = RANKS / NODES;
        job.pp = job.ref_pp = 1;
    }
    job.nodes = NODES;
    job.gpus_per_node = RANKS / NODES;
    job.dp = 0;
    job.grad_accum = 0;
    if (workload_job_complete(&job, &e))
        fail_msg("%s: %s", name, e.text);
    return workload_generate(&job);
}

/* The shares of the communication's time by cover. */
static void run(struct workload *w, double share[STEP_COVERS], int *left_out)
{
    static volatile sig_atomic_t stop;
    static const struct bench_knobs untouched = {.label = BENCH_DEFAULT};
    char path[] = "/dev/shm/jobs_XXXXXX"; /* in memory: a journal syncs each point to disk */
    struct bench_options o;
    struct bench_journal journal;
    struct bench_summary summary = {0};
    struct err e = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0 && !close(fd));
    assert_int_equal(bench_journal_open(&journal, path, "", 0, 0, NULL, &e), 0);
    bench_options_default(&o);
    o.collectives = workload_profile_collectives(w);
    o.max_bytes = (uint64_t)4 << 30;
    struct bench_study s = {.options = &o,
                            .engine = &engine,
                            .journal = &journal,
                            .stop = &stop,
                            .summary = &summary,
                            .workload = w,
                            .results = journal.results,
                            .arena = journal.results->arena};
    nccl_plan_calls(&s.plan, s.arena, 0);
    s.plan.library = "NCCL 2.30.7";
    s.plan.launches = arena_alloc(s.arena, sizeof *s.plan.launches);
    s.plan.launches[s.plan.nlaunches++] = untouched;
    s.sizes = workload_profile_sizes(w, o.collectives, o.min_bytes, o.max_bytes, s.arena, &s.nsizes);
    s.time.started_s = world_now_s();
    s.time.deadline_s = s.time.started_s + o.budget_s;
    if (bench_conduct(&s, &e))
        fail_msg("%s", e.text);
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    d->workload = w;
    assert_int_equal(env_decide(d, bench_points_of(s.results, s.arena), &e), 0);
    struct step_estimate step;
    assert_int_equal(env_step_of(&(struct step_input){.workload = w, .decisions = d}, d->arena, &step, &e), 0);
    double sum = 0;
    for (int i = 0; i < STEP_COVERS; i++)
        sum += step.cover_us[i];
    for (int i = 0; i < STEP_COVERS; i++)
        share[i] = step.cover_us[i] / sum;
    if (getenv("JOBS_VERBOSE"))
        env_step_print_cover(&step, stdout);
    *left_out = summary.left_out;
    env_decisions_free(d);
    bench_journal_close(&journal);
    unlink(path);
}

TEST_CASE(jobs_are_covered)
{
    static const char *const names[] = {"verl-grpo-fsdp2-7b",
                                        "verl-ppo-fsdp-7b",
                                        "verl-grpo-megatron-7b-tp2pp2",
                                        "verl-grpo-megatron-7b-tp4pp4",
                                        "verl-grpo-megatron-30b-ep4etp2",
                                        "swift-grpo-vl3b-zero3",
                                        "vllm"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        double share[STEP_COVERS];
        int left_out;
        double began_s = world_now_s();
        struct workload *w = workload_of(names[i]);
        run(w, share, &left_out);
        print_message("# %-32s measured %5.1f %%, interpolated %5.1f %%, %d points left out, %.0f s\n", names[i],
                      100 * share[STEP_COVERED], 100 * share[STEP_INTERPOLATED], left_out, world_now_s() - began_s);
        workload_free(w);
        assert_true(share[STEP_COVERED] + share[STEP_INTERPOLATED] >= 0.95);
    }
}

TEST_CASES(main)
