/* model/workload/generate.c: which calls are worth a row, where their groups lie, the quantities behind sizes; prefill
 * and decode of a tensor-parallel inference engine. */
#include "model/workload/parts.h"
#include "tests/lib/unit.h"

/* A call of that shape in a job of `ranks`; NULL: nothing to say. */
static const struct workload_call *put(struct workload *w, double bytes, double count, int group, int stride,
                                       int per_node, int ranks)
{
    struct workload_job j = {.gpus_per_node = per_node};
    struct workload_phase *p = workload_add_phase(w, "x");
    struct workload_build b = {.job = &j, .out = w, .phase = p, .ranks = ranks};
    workload_put(&b, (struct workload_spec){COLL_REDUCE, bytes, count, group, stride, "float8", "why", 7});
    return p->ncalls ? p->calls : NULL;
}

TEST_CASE(what_is_nothing)
{
    struct workload *w = workload_new();
    assert_null(put(w, 0.5, 1, 2, 1, 8, 8));
    assert_null(put(w, NAN, 1, 2, 1, 8, 8));
    assert_null(put(w, 1, 0, 2, 1, 8, 8));
    assert_null(put(w, 1, 1, 1, 1, 8, 8));
    const struct workload_call *c = put(w, 1, 0.5, 2, 3, 8, 8);
    assert_non_null(c);
    assert_int_equal(c->kind, COLL_REDUCE);
    assert_int_equal(c->bytes, 1);
    assert_near(c->count, 0.5, 0);
    assert_int_equal(c->group_size, 2);
    assert_int_equal(c->stride, 3);
    assert_string_equal(c->dtype, "float8");
    assert_string_equal(c->what, "why");
    assert_near(c->overlap_us, 7, 0);
    assert_near(c->time_us, -1, 0);
    assert_int_equal(c->algo, -1);
    assert_int_equal(c->proto, -1);
    assert_int_equal(c->channels, 0);
    assert_int_equal(put(w, 1.2, 1, 2, 1, 8, 8)->bytes, 2);
    workload_free(w);
}

/* Groups tile a node, or the node is all there is. */
TEST_CASE(places)
{
    static const struct {
        int group, stride, per_node, ranks;
        enum workload_place place;
    } cases[] = {
        {8, 1, 8, 16, WORKLOAD_NODE},    {9, 1, 8, 18, WORKLOAD_CLUSTER}, {4, 2, 8, 16, WORKLOAD_NODE},
        {2, 8, 8, 16, WORKLOAD_CLUSTER}, {2, 7, 8, 16, WORKLOAD_CLUSTER}, {2, 7, 8, 8, WORKLOAD_NODE},
        {2, 7, 8, 9, WORKLOAD_CLUSTER},  {4, 1, 6, 12, WORKLOAD_CLUSTER}, {4, 1, 6, 6, WORKLOAD_NODE},
        {3, 2, 6, 12, WORKLOAD_NODE},
    };
    struct workload *w = workload_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct workload_call *c =
            put(w, 8, 1, cases[i].group, cases[i].stride, cases[i].per_node, cases[i].ranks);
        if (!c || c->place != cases[i].place)
            fail_msg("case %zu", i);
    }
    workload_free(w);
}

TEST_CASE(quantities)
{
    struct workload_job j = {.micro_batch = 3, .prompt = 10, .response = 5, .cp = 2, .sp = 5, .dtype = "bfloat16"};
    assert_near(workload_tokens(&j), 4.5, 0);
    assert_near(workload_pass_us(&j, 2), -1, 0);
    j.tflops = 4;
    assert_near(workload_backward_flops(&j), 4, 0);
    j.recompute = 1;
    assert_near(workload_backward_flops(&j), 6, 0);
    j.lora_rank = 8;
    assert_near(workload_backward_flops(&j), 4, 0);
    assert_near(workload_pieces(0, 5), 1, 0);
    assert_near(workload_pieces(5, 5), 1, 0);
    assert_near(workload_pieces(5.5, 5), 2, 0);
    assert_near(workload_pieces(11, 5), 3, 0);
}

static struct workload *generate(struct workload_job job)
{
    struct err e = {0};
    job.framework = "vllm-rollout";
    job.model = *language_model_find("qwen2.5-7b");
    if (workload_job_complete(&job, &e))
        fail_msg("%s", e.text);
    return workload_generate(&job);
}

/* 8 ranks, tp 2: 4 engines; dp 4 × 64 sequences: 64 an engine. 28 layers: 57 reductions a pass. */
TEST_CASE(one_round)
{
    struct workload *w = generate((struct workload_job){.tp = 2,
                                                        .nodes = 1,
                                                        .gpus_per_node = 8,
                                                        .micro_batch = 64,
                                                        .prompt = 512,
                                                        .response = 1000,
                                                        .no_custom_all_reduce = 1});
    assert_int_equal(w->nphases, 1);
    const struct workload_phase *p = w->phases;
    assert_int_equal(p->ncalls, 3);
    /* 64 × 512 tokens in 4 passes of 8192. */
    assert_near(p->calls[0].count, 4 * 57, 0);
    assert_int_equal(p->calls[0].bytes, 8192 * 3584 * 2);
    assert_near(p->calls[1].count, 1000 * 57, 0);
    assert_int_equal(p->calls[1].bytes, 64 * 3584 * 2);
    assert_int_equal(p->calls[2].kind, COLL_ALLGATHER);
    assert_near(p->calls[2].count, 1000, 0);
    assert_int_equal(p->calls[2].bytes, 64 * 152064 * 2);
    assert_int_equal(p->calls[2].group_size, 2);
    workload_free(w);
}

/* 1024 sequences an engine run 256 at a time. */
TEST_CASE(several_rounds)
{
    struct workload *w = generate((struct workload_job){.tp = 8,
                                                        .nodes = 1,
                                                        .gpus_per_node = 8,
                                                        .micro_batch = 1024,
                                                        .prompt = 8,
                                                        .response = 10,
                                                        .no_custom_all_reduce = 1});
    assert_near(w->phases[0].calls[1].count, 4 * 10 * 57, 0);
    assert_int_equal(w->phases[0].calls[1].bytes, 256 * 3584 * 2);
    workload_free(w);
}

/* 458752 bytes of a decode pass are vLLM's own, 56 MiB of a prefill are NCCL's; engines across nodes have NCCL alone.
 */
TEST_CASE(not_nccls)
{
    struct workload_job job = {
        .tp = 2, .nodes = 1, .gpus_per_node = 8, .micro_batch = 64, .prompt = 512, .response = 1000};
    struct workload *w = generate(job);
    const struct workload_phase *p = w->phases;
    assert_int_equal(p->ncalls, 2);
    assert_int_equal(p->calls[0].bytes, 8192 * 3584 * 2);
    assert_int_equal(p->calls[1].kind, COLL_ALLGATHER);
    assert_non_null(strstr(w->notes[0], "57000 AllReduces of 448"));
    workload_free(w);
    job.gpus_per_node = 1;
    job.nodes = 8;
    w = generate(job);
    assert_int_equal(w->phases[0].ncalls, 3);
    workload_free(w);
}

TEST_CASE(one_gpu_an_engine)
{
    struct workload *w = generate((struct workload_job){.tp = 1, .nodes = 1, .gpus_per_node = 8});
    assert_int_equal(w->phases[0].ncalls, 0);
    workload_free(w);
}

/* Which AllReduces of prompts are left to NCCL: those of 8 MiB and more, and of engines that vLLM's kernel is not for.
 */
TEST_CASE(who_reduces)
{
    static const struct {
        int tp, nodes, gpus, no_nvlink, prompt, by_nccl;
    } cases[] = {
        {2, 1, 2, 0, 1023, 0},   {2, 1, 2, 0, 1024, 1}, /* × 4096 × 2 bytes: 8 MiB */
        {2, 1, 2, 1, 1023, 0},   {4, 1, 4, 0, 1023, 0}, {4, 1, 4, 1, 1023, 1}, {8, 1, 8, 0, 1023, 0},
        {16, 1, 16, 0, 1023, 1}, {3, 1, 3, 0, 1023, 1}, {4, 2, 6, 0, 100, 1},  {2, 4, 1, 0, 100, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        struct workload_job j = {.framework = "vllm-rollout",
                                 .model = *language_model_find("llama3-8b"),
                                 .tp = cases[i].tp,
                                 .dp = 1,
                                 .nodes = cases[i].nodes,
                                 .gpus_per_node = cases[i].gpus,
                                 .no_nvlink = cases[i].no_nvlink,
                                 .prompt = cases[i].prompt,
                                 .response = 1};
        assert_int_equal(workload_job_complete(&j, &e), 0);
        struct workload *w = workload_generate(&j);
        const struct workload_phase *p = w->phases;
        int by_nccl = p->ncalls && p->calls[0].kind == COLL_ALLREDUCE &&
                      p->calls[0].bytes == (uint64_t)cases[i].prompt * 4096 * 2;
        if (by_nccl != cases[i].by_nccl)
            fail_msg("case %zu", i);
        workload_free(w);
    }
}

/* Engines share sequences as evenly as they divide; ranks that are left over serve none. */
TEST_CASE(shares)
{
    struct workload *w = generate((struct workload_job){.rollout_tp = 3,
                                                        .nodes = 1,
                                                        .gpus_per_node = 8,
                                                        .micro_batch = 5,
                                                        .grad_accum = 3,
                                                        .updates = 2,
                                                        .rollout_n = 4,
                                                        .prompt = 300,
                                                        .response = 7,
                                                        .no_custom_all_reduce = 1});
    /* 5 × 3 × 2 × 8 sequences on 2 engines: 120, of 30 prompts, 9,000 tokens in two passes. */
    const struct workload_phase *p = w->phases;
    assert_near(p->calls[0].count, 2 * 57, 0);
    assert_int_equal(p->calls[0].bytes, 4500 * 3584 * 2);
    assert_near(p->calls[1].count, 7 * 57, 0);
    assert_int_equal(p->calls[1].bytes, 120 * 3584 * 2);
    assert_near(p->calls[2].count, 7, 0);
    assert_int_equal(p->calls[2].group_size, 3);
    workload_free(w);
    w = generate((struct workload_job){.rollout_tp = 16, .nodes = 1, .gpus_per_node = 8, .prompt = 10}); /* one, then */
    assert_int_equal(w->phases[0].calls[0].bytes, 10 * 8 * 3584 * 2);
    workload_free(w);
}

TEST_CASES(test_generate)
