/* model/workload/parts.c, and what jobs are made of beside calls: bubbles, offload, adapters, shared sequences. */
#include "model/workload/parts.h"
#include "tests/lib/known_jobs.h"
#include "tests/lib/unit.h"

static struct workload_job complete(struct workload_job job, const char *model)
{
    struct err e = {0};
    job.model = *language_model_find(model);
    if (workload_job_complete(&job, &e))
        fail_msg("%s", e.text);
    return job;
}

static const struct workload_phase *phase_of(const struct workload *w, const char *name)
{
    for (int i = 0; i < w->nphases; i++)
        if (!strcmp(w->phases[i].name, name))
            return &w->phases[i];
    return NULL;
}

/* Bytes of one kind in one phase of the workload. */
static double bytes_of(struct workload_job job, const char *model, const char *phase, int kind)
{
    job = complete(job, model);
    struct workload *w = workload_generate(&job);
    const struct workload_phase *p = phase_of(w, phase);
    assert_non_null(p);
    double bytes = workload_bytes(w, p, kind);
    workload_free(w);
    return bytes;
}

TEST_CASE(bubbles)
{
    static const struct {
        int pp, m, vpp, zero_bubble;
        double bubble;
    } cases[] = {
        {1, 4, 1, 0, 0}, {4, 4, 1, 0, 0.75}, {4, 4, 2, 0, 0.375}, {4, 4, 1, 1, 0.25}, {8, 8, 1, 0, 0.875},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct workload_job j = complete((struct workload_job){.framework = "megatron",
                                                               .pp = cases[i].pp,
                                                               .grad_accum = cases[i].m,
                                                               .vpp = cases[i].vpp,
                                                               .zero_bubble = cases[i].zero_bubble,
                                                               .tflops = 100},
                                         "llama3-8b");
        struct workload *w = workload_generate(&j);
        assert_near(phase_of(w, "backward")->bubble, cases[i].bubble, 1e-12);
        workload_free(w);
    }
}

/* 7.6 B parameters on 8 ranks: 2 + 4 + 12 bytes of each, a shard of an eighth. */
TEST_CASE(states_of_a_shard)
{
    struct workload_job j = complete((struct workload_job){.framework = "fsdp2"}, "qwen2.5-7b");
    double shard = 7615616512.0 / 8;
    struct workload_memory m = workload_memory_of(&j);
    assert_near(m.weights, 2 * shard, 1);
    assert_near(m.gradients, 4 * shard, 1);
    assert_near(m.optimizer, 12 * shard, 1);
    assert_near(workload_memory_states(&m), 18 * shard, 1);
    j.algorithm = WORKLOAD_PPO;
    m = workload_memory_of(&j);
    assert_near(workload_memory_states(&m), 38 * shard, 1);
    j.offload = j.offload_params = 1;
    m = workload_memory_of(&j);
    assert_near(workload_memory_states(&m), 8 * shard, 1);
}

/* A reference model is what is compared with in RL, unless it is in host memory or the weights without adapters. */
TEST_CASE(the_reference)
{
    static const struct {
        struct workload_job job;
        double bytes;
    } cases[] = {
        {{.framework = "fsdp2"}, 0},
        {{.framework = "fsdp2", .algorithm = WORKLOAD_GRPO}, 2 * 7615616512.0 / 8},
        {{.framework = "fsdp2", .algorithm = WORKLOAD_GRPO, .lora_rank = 8}, 0},
        {{.framework = "fsdp2", .algorithm = WORKLOAD_GRPO, .offload_params = 1}, 0},
        {{.framework = "vllm-rollout", .algorithm = WORKLOAD_GRPO}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct workload_job j = complete(cases[i].job, "qwen2.5-7b");
        struct workload_memory m = workload_memory_of(&j);
        assert_near(m.reference, cases[i].bytes, 1);
    }
}

static const char *first_memory_finding(struct workload_job job, const char *model, char text[512])
{
    job = complete(job, model);
    struct arena *a = arena_new();
    struct findings f = workload_check(&job, NULL, a);
    *text = 0;
    for (int i = 0; i < f.n; i++)
        if (!strcmp(f.list[i].id, "memory"))
            snprintf(text, 512, "%s", f.list[i].text);
    arena_free(a);
    return text;
}

TEST_CASE(memory_is_checked)
{
    char text[512];
    struct workload_job j = {
        .framework = "fsdp", .algorithm = WORKLOAD_PPO, .gpus_per_node = 4, .gpu = "rtx3090", .recompute = 1};
    assert_non_null(strstr(first_memory_finding(j, "llama3-70b", text), "which has 24"));
    j = (struct workload_job){.framework = "fsdp2", .gpu = "h20", .recompute = 1};
    assert_string_equal(first_memory_finding(j, "qwen2.5-7b", text), "");
    j.micro_batch = 64;
    assert_non_null(strstr(first_memory_finding(j, "qwen2.5-7b", text), "logits"));
    j.lora_rank = 16;
    j.micro_batch = 1;
    j.gpus_per_node = 1;
    assert_string_equal(first_memory_finding(j, "qwen2.5-7b", text), "");
}

/* Adapters: rank × (in + out) of seven projections; 2 × (3584 + 3584) + 2 × (3584 + 512) + 3 × (3584 + 18944). */
TEST_CASE(adapters)
{
    const struct language_model *m = language_model_find("qwen2.5-7b");
    double layer = 16.0 * (2 * 7168 + 2 * 4096 + 3 * 22528);
    assert_near((double)language_model_adapters(m, 16), layer, 0);
    double full = bytes_of((struct workload_job){.framework = "fsdp2"}, m->name, "backward", COLL_REDUCESCATTER);
    assert_near(full, 4 * 7615616512.0, 4 * 8 * 60);
    assert_near(
        bytes_of((struct workload_job){.framework = "fsdp2", .lora_rank = 16}, m->name, "backward", COLL_REDUCESCATTER),
        4 * 28 * layer, 0);
    assert_true(bytes_of((struct workload_job){.framework = "megatron", .tp = 2, .lora_rank = 16}, m->name, "optimizer",
                         COLL_REDUCESCATTER) < full / 100);
}

/* What crosses PCIe takes time: in and out at 20 GB/s unless compute hides it. */
TEST_CASE(offload_takes_time)
{
    double bytes, shard = 7615616512.0 / 8;
    struct workload_job j = complete((struct workload_job){.framework = "fsdp2", .offload = 1}, "qwen2.5-7b");
    assert_near(workload_offload_s(&j, &bytes), 24 * shard / 20e9, 1e-6);
    assert_near(bytes, 24 * shard, 1);
    struct workload *w = workload_generate(&j);
    assert_near(phase_of(w, "offload")->compute_us, 1e6 * 24 * shard / 20e9, 1);
    workload_free(w);
    j = complete((struct workload_job){.framework = "zero3-offload"}, "qwen2.5-7b");
    assert_near(workload_offload_s(&j, &bytes), 8 * shard / 20e9, 1e-6);
    j = complete((struct workload_job){.framework = "zero3-offload", .tflops = 1}, "qwen2.5-7b");
    assert_near(workload_offload_s(&j, &bytes), 4 * shard / 20e9, 1e-6); /* the optimizer's alone */
    j = complete((struct workload_job){.framework = "zero3"}, "qwen2.5-7b");
    assert_near(workload_offload_s(&j, &bytes), 0, 0);
}

TEST_CASE(sequences_are_shared)
{
    struct workload_job j = {.framework = "fsdp2", .sp = 2, .prompt = 1000, .response = 1000};
    /* 28 layers, q and output 3584 wide, keys and values 512, half of 2000 tokens, two bytes, each twice. */
    assert_near(bytes_of(j, "qwen2.5-7b", "forward", COLL_ALLTOALL), 28 * 2 * (3584 + 512) * 1000.0 * 2, 0);
    j = (struct workload_job){.framework = "megatron", .cp = 4, .prompt = 1000, .response = 1000};
    assert_near(bytes_of(j, "qwen2.5-7b", "forward", COLL_SENDRECV), 28 * 3 * 2 * 512 * 500.0 * 2, 0);
    j = complete(j, "qwen2.5-7b");
    assert_int_equal(j.dp, 2);
}

/* vLLM's own all-reduce is off beyond two GPUs without NVLink. */
TEST_CASE(engines_on_pcie)
{
    struct workload_job j = {.framework = "vllm-rollout", .gpus_per_node = 4, .rollout_tp = 4, .micro_batch = 8};
    double prefill = bytes_of(j, "qwen2.5-7b", "rollout", COLL_ALLREDUCE);
    j.no_nvlink = 1;
    /* 57 calls for each of 1,024 tokens, of 4 × 8 sequences × 3584 × 2 bytes. */
    double all = bytes_of(j, "qwen2.5-7b", "rollout", COLL_ALLREDUCE);
    assert_near(all - prefill, 1024 * 57 * 32.0 * 3584 * 2, 0);
    j.rollout_tp = 2;
    double of_two = bytes_of(j, "qwen2.5-7b", "rollout", COLL_ALLREDUCE);
    j.no_nvlink = 0;
    assert_near(bytes_of(j, "qwen2.5-7b", "rollout", COLL_ALLREDUCE), of_two, 0);
    j.gpu = "l40s";
    j.no_nvlink = 0;
    j = complete(j, "qwen2.5-7b");
    assert_true(j.no_nvlink);
}

/* Micro-batches follow what is changed of its parallelism; prompts of n responses are read once. */
TEST_CASE(micro_batches_follow)
{
    struct workload_job j = known_job("verl-grpo-megatron-7b-tp2pp2");
    struct err e = {0};
    j.tp = 4;
    assert_int_equal(workload_job_complete(&j, &e), 0);
    assert_int_equal(j.dp, 1);
    assert_int_equal(j.micro_batch * j.grad_accum * j.dp, 1280);
    struct workload_job one = {
        .framework = "vllm-rollout", .rollout_tp = 2, .micro_batch = 10, .no_custom_all_reduce = 1};
    double n1 = bytes_of(one, "qwen2.5-7b", "rollout", COLL_ALLREDUCE);
    one.rollout_n = 5;
    assert_true(bytes_of(one, "qwen2.5-7b", "rollout", COLL_ALLREDUCE) < 0.7 * n1);
}

TEST_CASES(test_memory)
