/* model/workload/job.c: what follows from what was given, number by number, limits, and every framework's name. */
#include "model/workload/parts.h"
#include "probe/machines/hardware.h"
#include "tests/lib/unit.h"

static struct workload_job complete(struct workload_job job)
{
    struct err e = {0};
    if (!job.model.name)
        job.model = *language_model_find("qwen2.5-7b");
    if (workload_job_complete(&job, &e))
        fail_msg("%s", e.text);
    return job;
}

TEST_CASE(ranks)
{
    static const struct {
        struct workload_job given;
        int nodes, gpus, dp;
    } cases[] = {
        {{.dp = 1}, 1, 1, 1},
        {{.dp = 7}, 1, 7, 7},
        {{.dp = 8}, 1, 8, 8},
        {{.dp = 9}, 2, 8, 9},
        {{.dp = 16}, 2, 8, 16},
        {{.tp = 3, .dp = 4}, 2, 8, 4},
        {{.tp = 2, .pp = 2, .cp = 2, .sp = 2, .dp = 2}, 4, 8, 2},
        {{.tp = 2, .pp = 2, .cp = 2, .sp = 2, .nodes = 4}, 4, 8, 2},
        {{.dp = 4, .nodes = 3}, 3, 8, 4},
        {{.dp = 4, .gpus_per_node = 3}, 1, 3, 4},
        {{.tp = 16}, 2, 8, 1},
        {{.tp = 8, .pp = 4, .ep = 16, .etp = 1}, 8, 8, 2},
        {{.tp = 2, .pp = 2, .dp = 8}, 4, 8, 8},
        {{.tp = 2, .dp = 1}, 1, 2, 1},
        {{.nodes = 2, .gpus_per_node = 4, .tp = 4}, 2, 4, 2},
        {{0}, 1, 8, 8},
        {{.framework = "zero3"}, 1, 8, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct workload_job j = cases[i].given;
        j.framework = j.framework ? j.framework : "megatron";
        j = complete(j);
        if (j.nodes != cases[i].nodes || j.gpus_per_node != cases[i].gpus || j.dp != cases[i].dp)
            fail_msg("case %zu: %d nodes, %d GPUs, dp %d", i, j.nodes, j.gpus_per_node, j.dp);
    }
}

TEST_CASE(batches)
{
    static const struct {
        struct workload_job given;
        int micro, accum;
    } cases[] = {
        {{.pp = 2}, 1, 2},
        {{.micro_batch = 3, .pp = 2, .grad_accum = 5}, 3, 5},
        {{.mini_batch = 64}, 1, 8}, /* of dp 8 */
        {{.mini_batch = 64, .micro_batch = 4}, 4, 2},
        {{.mini_batch = 64, .micro_batch = 3}, 2, 4}, /* no more than divides 8 */
        {{.mini_batch = 8, .micro_batch = 9}, 1, 1},
        {{.mini_batch = 63, .micro_batch = 3}, 3, 1}, /* no multiple of dp */
        {{.mini_batch = 64, .micro_batch = 4, .grad_accum = 3}, 4, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct workload_job j = cases[i].given;
        j.framework = "megatron";
        j = complete(j);
        if (j.micro_batch != cases[i].micro || j.grad_accum != cases[i].accum)
            fail_msg("case %zu: %d x %d", i, j.micro_batch, j.grad_accum);
    }
}

TEST_CASE(everything_else)
{
    struct workload_job j = complete((struct workload_job){.framework = "megatron", .tp = 2, .pp = 2});
    assert_int_equal(j.cp, 1);
    assert_int_equal(j.sp, 1);
    assert_int_equal(j.vpp, 1);
    assert_int_equal(j.rollout_n, 1);
    assert_int_equal(j.prefetch, 1);
    assert_int_equal(j.ep, 1);
    assert_int_equal(j.etp, 2);
    assert_int_equal(j.ref_tp, 2);
    assert_int_equal(j.ref_pp, 2);
    assert_int_equal(j.rollout_tp, 2);
    assert_int_equal(j.updates, 1);
    assert_int_equal(j.epochs, 1);
    assert_int_equal(j.prompt, 1024);
    assert_int_equal(j.response, 1024);
    assert_string_equal(j.dtype, "bfloat16");
    assert_string_equal(j.reduce_dtype, "float32");
    assert_int_equal(j.offload || j.offload_params, 0);
    j = complete((struct workload_job){
        .framework = "megatron", .tp = 2, .pp = 2, .etp = 1, .ref_tp = 4, .ref_pp = 1, .rollout_tp = 8, .prompt = 5});
    assert_int_equal(j.etp, 1);
    assert_int_equal(j.ref_tp, 4);
    assert_int_equal(j.ref_pp, 1);
    assert_int_equal(j.rollout_tp, 8);
    assert_int_equal(j.prompt, 5);
    assert_int_equal(j.response, 0);
    j = complete((struct workload_job){.framework = "zero3", .response = 7, .dtype = "fp16", .sp = 2});
    assert_int_equal(j.prompt, 0);
    assert_string_equal(j.reduce_dtype, "fp16");
    assert_int_equal(j.rollout_tp, 1);
    assert_int_equal(j.offload || j.offload_params, 0);
    j = complete((struct workload_job){.framework = "vllm-rollout", .tp = 4});
    assert_int_equal(j.rollout_tp, 4);
    j = complete((struct workload_job){.framework = "zero3-offload"});
    assert_string_equal(j.reduce_dtype, "bfloat16");
    assert_int_equal(j.offload && j.offload_params, 1);
    j = complete((struct workload_job){.framework = "fsdp2"});
    assert_string_equal(j.reduce_dtype, "float32");
    assert_int_equal(j.rollout_tp, 1);
}

/* By its data sheet, unless it was given. */
TEST_CASE(of_a_gpu)
{
    struct workload_job j = complete((struct workload_job){.framework = "fsdp", .gpu = "h100-sxm"});
    assert_near(j.memory_GiB, 80, 0);
    assert_near(j.host_GBps, 32.0 * 16 / 8 * 0.8, 1e-9);
    assert_near(j.tflops, 989 * 0.5, 1e-9);
    assert_int_equal(j.no_nvlink, 0);
    j = complete((struct workload_job){
        .framework = "fsdp", .gpu = "h100-sxm", .memory_GiB = 7, .host_GBps = 8, .tflops = 9, .no_nvlink = 1});
    assert_near(j.memory_GiB, 7, 0);
    assert_near(j.host_GBps, 8, 0);
    assert_near(j.tflops, 9, 0);
    assert_int_equal(j.no_nvlink, 1);
    j = complete((struct workload_job){.framework = "fsdp", .gpu = "gb200"});
    assert_near(j.host_GBps, hw_gpu_find("gb200")->c2c_GBps * 0.8, 1e-9);
    j = complete((struct workload_job){.framework = "fsdp", .gpu = "rtx4090"});
    assert_int_equal(j.no_nvlink, 1);
    j = complete((struct workload_job){.framework = "fsdp", .gpu = "p100-sxm2"}); /* whose peak nobody tells */
    assert_near(j.tflops, 0, 0);
}

static const char *refused(struct workload_job j, char text[1024])
{
    struct err e = {0};
    if (!j.model.name)
        j.model = *language_model_find("qwen2.5-7b");
    assert_int_equal(workload_job_complete(&j, &e), ERR_USAGE);
    return strcpy(text, e.text);
}

TEST_CASE(limits)
{
    char text[1024];
    struct workload_job j = {.framework = "fsdp", .nodes = 16384, .gpus_per_node = 1024};
    complete(j);
    j.nodes++;
    assert_string_equal(refused(j, text), "more than 16777216 ranks");
    assert_string_equal(refused((struct workload_job){.framework = "fsdp9"}, text),
                        "framework: 'fsdp9' is none of fsdp2, fsdp, zero3, zero3-offload, megatron, vllm-rollout");
    assert_non_null(strstr(refused((struct workload_job){.framework = NULL}, text), "framework: ''"));
    assert_string_equal(
        refused((struct workload_job){.framework = "fsdp", .dtype = "int7", .reduce_dtype = "fp9"}, text),
        "dtype: 'int7' is none of bfloat16, float16, float32, float8");
    assert_string_equal(refused((struct workload_job){.framework = "fsdp", .reduce_dtype = "fp9"}, text),
                        "dtype: 'fp9' is none of bfloat16, float16, float32, float8");
    assert_non_null(strstr(refused((struct workload_job){.framework = "fsdp", .gpu = "h1000"}, text), "h1000"));
}

/* A total of parameters leaves something for the layers, and ends where counts are exact. */
TEST_CASE(totals)
{
    char text[1024];
    struct workload_job j = {.framework = "fsdp", .model = *language_model_find("qwen2.5-7b")};
    const uint64_t tables = 2ull * 152064 * 3584 + 3584;
    j.model.parameters = tables;
    complete(j);
    j.model.parameters = tables - 1;
    assert_string_equal(refused(j, text),
                        "params: 1089998335 leaves nothing for the layers after a vocabulary of 152064 × 3584");
    j.model.parameters = UINT64_C(1000000000000000);
    complete(j);
    j.model.parameters++;
    assert_non_null(strstr(refused(j, text), "params: 1000000000000001 leaves"));
    /* Counted: 1,000 layers of 4 × 10^6 × 10 × 10,000 + 3 × 10^6 × 199,990, and tables of 2 × 15,000 × 10^6: 10^15. */
    j.model = (struct language_model){.name = "x",
                                      .layers = 1000,
                                      .hidden = 1000000,
                                      .heads = 10,
                                      .kv_heads = 10,
                                      .head_dim = 10000,
                                      .intermediate = 199990,
                                      .vocab = 15000};
    complete(j);
    j.model.vocab++;
    assert_string_equal(refused(j, text), "the model has more than 1e15 parameters");
    j.model = *language_model_find("qwen2.5-7b");
    j.model.layers = 10000;
    j.model.hidden = 1 << 20;
    j.model.intermediate = 1 << 24;
    refused(j, text);
}

#define OF_JOB(word, member, low, high)                        \
    {                                                          \
        word, offsetof(struct workload_job, member), low, high \
    }
#define OF_MODEL(word, member, low, high)                            \
    {                                                                \
        word, offsetof(struct workload_job, model.member), low, high \
    }

/* A number is refused by its name when it is out of its range, and only then. */
TEST_CASE(ranges)
{
    static const struct {
        const char *what;
        size_t at;
        int low, high;
    } rows[] = {OF_JOB("nodes", nodes, 0, 65536),
                OF_JOB("gpus-per-node", gpus_per_node, 0, 1024),
                OF_JOB("tp", tp, 0, 1024),
                OF_JOB("pp", pp, 0, 1024),
                OF_JOB("dp", dp, 0, 65536),
                OF_JOB("cp", cp, 0, 1024),
                OF_JOB("sp", sp, 0, 1024),
                OF_JOB("vpp", vpp, 0, 1024),
                OF_JOB("rollout-n", rollout_n, 0, 65536),
                OF_JOB("prefetch", prefetch, -1, 1024),
                OF_JOB("lora-rank", lora_rank, 0, 16384),
                OF_JOB("ep", ep, 0, 4096),
                OF_JOB("etp", etp, 0, 1024),
                OF_JOB("ref-tp", ref_tp, 0, 1024),
                OF_JOB("ref-pp", ref_pp, 0, 1024),
                OF_JOB("rollout-tp", rollout_tp, 0, 1024),
                OF_JOB("micro-batch", micro_batch, 0, 1 << 20),
                OF_JOB("grad-accum", grad_accum, 0, 1 << 20),
                OF_JOB("updates", updates, 0, 1 << 20),
                OF_JOB("epochs", epochs, 0, 1024),
                OF_JOB("mini-batch", mini_batch, 0, 1 << 30),
                OF_JOB("prompt", prompt, 0, 1 << 24),
                OF_JOB("response", response, 0, 1 << 24),
                OF_MODEL("layers", layers, 1, 10000),
                OF_MODEL("hidden", hidden, 1, 1 << 20),
                OF_MODEL("heads", heads, 1, 65536),
                OF_MODEL("kv-heads", kv_heads, 1, 32 /* its heads */),
                OF_MODEL("head-dim", head_dim, 1, 65536),
                OF_MODEL("intermediate", intermediate, 1, 1 << 24),
                OF_MODEL("vocab", vocab, 1, 1 << 28),
                OF_MODEL("experts", experts, 0, 65536),
                OF_MODEL("experts-per-token", experts_per_token, 1, 128 /* its experts */),
                OF_MODEL("expert-intermediate", expert_intermediate, 1, 1 << 24)};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int values[] = {rows[i].low - 1, rows[i].low, rows[i].high, rows[i].high + 1};
        for (int k = 0; k < 4; k++) {
            struct workload_job j = {.framework = "fsdp", .model = *language_model_find("qwen3-30b-a3b")};
            struct err e = {0};
            char says[96];
            memcpy((char *)&j + rows[i].at, &values[k], sizeof values[k]);
            workload_job_complete(&j, &e);
            snprintf(says, sizeof says, "%s: %d is not from %d to %d", rows[i].what, values[k], rows[i].low,
                     rows[i].high);
            if (!strcmp(e.text, says) != (k % 3 == 0))
                fail_msg("%s = %d: %s", rows[i].what, values[k], e.text);
        }
    }
    struct workload_job j = {.framework = "fsdp", .model = *language_model_find("qwen2.5-7b")};
    struct err e = {0};
    j.model.experts_per_token = 1; /* of none */
    assert_int_equal(workload_job_complete(&j, &e), ERR_USAGE);
}

TEST_CASE(words)
{
    static const int bytes[] = {2, 2, 4, 1};
    for (int i = 0; i < 8; i++)
        assert_int_equal(workload_dtype_bytes(workload_dtype_name(i)), bytes[i % 4]);
    assert_null(workload_dtype_name(8));
    assert_int_equal(workload_dtype_bytes("int7"), 0);
    assert_null(workload_algorithm_name(-1));
    assert_string_equal(workload_algorithm_name(2), "ppo");
    assert_null(workload_algorithm_name(3));
    assert_null(workload_framework_find(NULL));
}

TEST_CASE(every_framework_generates)
{
    for (const struct workload_framework *f = workload_frameworks; f->name; f++)
        for (int a = WORKLOAD_TRAIN; a <= WORKLOAD_PPO; a++) {
            struct workload_job j = complete((struct workload_job){.framework = f->name,
                                                                   .algorithm = (enum workload_algorithm)a,
                                                                   .nodes = 1,
                                                                   .gpus_per_node = 8,
                                                                   .rollout_tp = 4,
                                                                   .tflops = 100,
                                                                   .offload = 1});
            struct workload *w = workload_generate(&j);
            assert_true(workload_bytes(w, NULL, -1) > 0);
            assert_non_null(workload_algorithm_name(a));
            for (int i = 0; i < w->nphases; i++)
                for (int k = 0; k < w->phases[i].ncalls; k++) {
                    const struct workload_call *c = &w->phases[i].calls[k];
                    assert_true(c->bytes > 0 && c->count > 0 && c->group_size >= 2 && c->group_size <= w->ranks);
                    assert_non_null(c->what);
                }
            workload_free(w);
        }
    assert_null(workload_algorithm_name(WORKLOAD_PPO + 1));
}

/* Groups that do not tile a node cross into the next one. */
TEST_CASE(placement)
{
    struct workload_job j = complete((struct workload_job){
        .framework = "megatron", .nodes = 2, .gpus_per_node = 6, .tp = 4, .model = *language_model_find("llama3-8b")});
    struct workload *w = workload_generate(&j);
    assert_int_equal(w->phases[0].calls[0].group_size, 4);
    assert_int_equal(w->phases[0].calls[0].place, WORKLOAD_CLUSTER);
    workload_free(w);
}

TEST_CASES(test_job)
