/* model/workload/sharded.c: FSDP and ZeRO-3 against hand-computed totals. */
#include "model/workload/job.h"
#include "tests/lib/unit.h"

/* qwen2.5-7b: 28 layers, and embedding, head and final norm as the root. Both divide by 8. */
#define TOTAL 7615616512.0
#define LAYER 233057792.0
#define ROOT  1089998336.0

static struct workload *generate(struct workload_job job, const char *model)
{
    struct err e = {0};
    job.model = *language_model_find(model);
    if (workload_job_complete(&job, &e))
        fail_msg("%s", e.text);
    return workload_generate(&job);
}

static const struct workload_phase *phase(const struct workload *w, const char *name)
{
    for (int i = 0; i < w->nphases; i++)
        if (!strcmp(w->phases[i].name, name))
            return &w->phases[i];
    fail_msg("no phase %s", name);
    return NULL;
}

static double calls(const struct workload_phase *p, int kind)
{
    double n = 0;
    for (int i = 0; i < p->ncalls; i++)
        n += p->calls[i].kind == kind ? p->calls[i].count : 0;
    return n;
}

TEST_CASE(fsdp2)
{
    struct workload *w = generate(
        (struct workload_job){.framework = "fsdp2", .nodes = 1, .gpus_per_node = 8, .grad_accum = 3}, "qwen2.5-7b");
    assert_int_equal(w->nphases, 3);
    const struct workload_phase *f = phase(w, "forward"), *b = phase(w, "backward"), *o = phase(w, "optimizer");
    assert_near(workload_bytes(w, f, COLL_ALLGATHER), 3 * 2 * TOTAL, 0);
    assert_near(calls(f, COLL_ALLGATHER), 3 * 29, 0);
    assert_int_equal(f->calls[0].bytes, 2 * LAYER);
    assert_int_equal(f->calls[1].bytes, 2 * ROOT);
    /* The root stays gathered; gradients are float32 and reduced every micro-batch. */
    assert_near(workload_bytes(w, b, COLL_ALLGATHER), 3 * 2 * 28 * LAYER, 0);
    assert_near(workload_bytes(w, b, COLL_REDUCESCATTER), 3 * 4 * TOTAL, 0);
    assert_near(workload_bytes(w, o, COLL_ALLREDUCE), 4, 0);
    assert_int_equal(f->calls[0].group_size, 8);
    assert_int_equal(f->calls[0].place, WORKLOAD_NODE);
    assert_near(f->compute_us, -1, 0);
    assert_near(f->calls[0].overlap_us, -1, 0);
    workload_free(w);
}

/* ZeRO, section 7.2.2: 3 Ψ a micro-batch, in 16 bits. */
TEST_CASE(zero3_is_three_psi)
{
    struct workload *w =
        generate((struct workload_job){.framework = "zero3", .nodes = 2, .gpus_per_node = 8}, "qwen2.5-7b");
    double gathered = workload_bytes(w, NULL, COLL_ALLGATHER), scattered = workload_bytes(w, NULL, COLL_REDUCESCATTER);
    assert_near(gathered, 2 * 2 * TOTAL, 1e-6 * TOTAL);
    assert_near(scattered, 2 * TOTAL, 1e-6 * TOTAL);
    const struct workload_phase *b = phase(w, "backward");
    assert_near(calls(b, COLL_REDUCESCATTER), 16, 0);      /* buckets of at most 5e8 elements */
    assert_near(calls(b, COLL_ALLGATHER), 28 * 5 + 22, 0); /* of at most 5e7 */
    assert_int_equal(b->calls[0].place, WORKLOAD_CLUSTER);
    workload_free(w);
}

TEST_CASE(shards_are_padded)
{
    struct workload *w =
        generate((struct workload_job){.framework = "fsdp", .nodes = 1, .gpus_per_node = 7}, "qwen2.5-0.5b");
    const struct workload_phase *f = phase(w, "forward");
    for (int i = 0; i < f->ncalls; i++)
        assert_int_equal(f->calls[i].bytes % (7 * 2), 0);
    assert_true(workload_bytes(w, f, COLL_ALLGATHER) > 2 * 494032768.0);
    assert_true(workload_bytes(w, f, COLL_ALLGATHER) < 2 * 494032768.0 + 25 * 14);
    workload_free(w);
}

/* The vision tower: 32 blocks are units of their own. */
TEST_CASE(vision_blocks)
{
    struct workload *w =
        generate((struct workload_job){.framework = "fsdp2", .nodes = 1, .gpus_per_node = 2}, "qwen2.5-vl-3b");
    assert_near(calls(phase(w, "forward"), COLL_ALLGATHER), 32 + 36 + 1, 0);
    assert_near(workload_bytes(w, phase(w, "forward"), -1), 2 * 3754622976.0, 16);
    workload_free(w);
}

TEST_CASE(rl_step)
{
    struct workload *w = generate((struct workload_job){.framework = "fsdp",
                                                        .algorithm = WORKLOAD_PPO,
                                                        .nodes = 1,
                                                        .gpus_per_node = 8,
                                                        .rollout_tp = 2,
                                                        .grad_accum = 2,
                                                        .updates = 5,
                                                        .tflops = 400},
                                  "qwen2.5-7b");
    static const char *const names[] = {"rollout",        "logprob",         "reference",        "values",
                                        "critic forward", "critic backward", "critic optimizer", "actor forward",
                                        "actor backward", "actor optimizer", "weight sync"};
    assert_int_equal(w->nphases, sizeof names / sizeof *names);
    for (int i = 0; i < w->nphases; i++)
        assert_string_equal(w->phases[i].name, names[i]);
    assert_near(workload_bytes(w, phase(w, "logprob"), -1), 10 * 2 * TOTAL, 0);
    /* Master weights are gathered in float32, every tensor once. */
    assert_near(workload_bytes(w, phase(w, "weight sync"), COLL_ALLGATHER), 4 * TOTAL, 0);
    /* 2 FLOPs a parameter and token without the embedding, causal attention of 28 layers, 10 passes of 2048 tokens at
     * 400 TFLOP/s; a layer has its share of a pass. */
    double pass_us = 2 * (TOTAL - 152064.0 * 3584 + 28.0 * 2048 * 3584) * 2048 / 400e6;
    assert_near(phase(w, "logprob")->compute_us, 10 * pass_us, 1);
    /* In front of the first layer of a pass nothing is computed, nor in front of the root. */
    const struct workload_call *calls = phase(w, "actor forward")->calls;
    assert_near(calls[0].overlap_us, 0, 0);
    assert_near(calls[1].overlap_us, pass_us * LAYER / TOTAL, 1e-6);
    assert_near(calls[1].count, 27 * calls[0].count, 0);
    assert_near(calls[2].overlap_us, 0, 0);
    workload_free(w);
}

TEST_CASE(one_rank_is_silent)
{
    struct workload *w =
        generate((struct workload_job){.framework = "fsdp2", .nodes = 1, .gpus_per_node = 1}, "qwen2.5-0.5b");
    assert_near(workload_bytes(w, NULL, -1), 0, 0);
    workload_free(w);
}

TEST_CASES(test_sharded)
