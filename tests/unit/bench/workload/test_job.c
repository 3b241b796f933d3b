/* bench/workload/job.c: defaults, refusals, and every framework's name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bench/workload/generate.h"
#include "bench/workload/job.h"
#include "tests/lib/near.h"

static struct workload_job complete(struct workload_job job)
{
    struct err e = {0};
    if (!job.model.name)
        job.model = *language_model_find("qwen2.5-7b");
    if (workload_job_complete(&job, &e))
        fail_msg("%s", e.text);
    return job;
}

static void ranks_follow_from_what_is_given(void **state)
{
    (void)state;
    struct workload_job j = complete((struct workload_job){.framework = "megatron", .tp = 2, .pp = 2, .dp = 8});
    assert_int_equal(j.nodes, 4);
    assert_int_equal(j.gpus_per_node, 8);
    j = complete((struct workload_job){.framework = "megatron", .tp = 2, .dp = 1});
    assert_int_equal(j.nodes * j.gpus_per_node, 2);
    j = complete((struct workload_job){.framework = "zero3"});
    assert_int_equal(j.nodes, 1);
    assert_int_equal(j.dp, 8);
    j = complete((struct workload_job){.framework = "megatron", .nodes = 2, .gpus_per_node = 4, .tp = 4});
    assert_int_equal(j.dp, 2);
    assert_int_equal(j.etp, 4);
    assert_int_equal(j.rollout_tp, 4);
}

static void defaults(void **state)
{
    (void)state;
    struct workload_job j = complete((struct workload_job){.framework = "fsdp2"});
    assert_string_equal(j.reduce_dtype, "float32");
    assert_int_equal(j.rollout_tp, 1);
    assert_int_equal(j.prompt + j.response, 2048);
    j = complete((struct workload_job){.framework = "zero3-offload"});
    assert_string_equal(j.reduce_dtype, "bfloat16");
    assert_true(j.offload);
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        struct workload_job job;
        const char *says;
    } wrong[] = {
        {{.framework = "fsdp3"}, "framework: 'fsdp3'"},
        {{.framework = NULL}, "framework: ''"},
        {{.framework = "fsdp", .tp = -1}, "tp: -1"},
        {{.framework = "fsdp", .micro_batch = 1 << 30}, "micro-batch"},
        {{.framework = "fsdp", .dtype = "int7"}, "dtype: 'int7'"},
        {{.framework = "fsdp", .reduce_dtype = "fp7"}, "dtype: 'fp7'"},
        {{.framework = "fsdp", .nodes = 65536, .gpus_per_node = 1024}, "ranks"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct err e = {0};
        struct workload_job j = wrong[i].job;
        j.model = *language_model_find("qwen2.5-7b");
        assert_int_equal(workload_job_complete(&j, &e), ERR_USAGE);
        if (!strstr(e.text, wrong[i].says))
            fail_msg("%s", e.text);
    }
    struct err e = {0};
    struct workload_job j = {.framework = "fsdp", .model = *language_model_find("qwen2.5-7b")};
    j.model.parameters = 1000;
    assert_int_equal(workload_job_complete(&j, &e), ERR_USAGE);
    j.model.parameters = 0;
    j.model.layers = 10000;
    j.model.hidden = 1 << 20;
    j.model.intermediate = 1 << 24;
    assert_int_equal(workload_job_complete(&j, &e), ERR_USAGE);
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
static void ranges(void **state)
{
    (void)state;
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

static void words(void **state)
{
    (void)state;
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

static void every_framework_generates(void **state)
{
    (void)state;
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
            assert_int_equal(workload_algorithm_parse(workload_algorithm_name(j.algorithm)), a);
            for (int i = 0; i < w->nphases; i++)
                for (int k = 0; k < w->phases[i].ncalls; k++) {
                    const struct workload_call *c = &w->phases[i].calls[k];
                    assert_true(c->bytes > 0 && c->count > 0 && c->group_size >= 2 && c->group_size <= w->ranks);
                    assert_non_null(c->what);
                }
            workload_free(w);
        }
    assert_int_equal(workload_algorithm_parse("dpo"), -1);
}

/* Groups that do not tile a node cross into the next one. */
static void placement(void **state)
{
    (void)state;
    struct workload_job j = complete((struct workload_job){
        .framework = "megatron", .nodes = 2, .gpus_per_node = 6, .tp = 4, .model = *language_model_find("llama3-8b")});
    struct workload *w = workload_generate(&j);
    assert_int_equal(w->phases[0].calls[0].group_size, 4);
    assert_int_equal(w->phases[0].calls[0].place, WORKLOAD_CLUSTER);
    workload_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_follow_from_what_is_given),
        cmocka_unit_test(defaults),
        cmocka_unit_test(refusals),
        cmocka_unit_test(ranges),
        cmocka_unit_test(words),
        cmocka_unit_test(every_framework_generates),
        cmocka_unit_test(placement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
