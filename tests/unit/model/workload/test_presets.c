/* model/workload/presets.c: every preset is a job that could start, and its file reads back. */
#include <unistd.h>

#include "model/workload/job.h"
#include "tests/lib/unit.h"

TEST_CASE(presets_pass_the_check)
{
    struct arena *a = arena_new();
    int n = 0;
    for (const struct workload_preset *p = workload_presets; p->name; p++, n++) {
        struct workload_job j;
        struct err e = {0};
        assert_int_equal(workload_preset_job(p->name, &j, &e), 0);
        assert_int_equal(workload_job_complete(&j, &e), 0);
        struct findings f = workload_check(&j, NULL, a);
        if (f.n)
            fail_msg("%s: %s", p->name, f.list[0].text);
        assert_true(j.mini_batch > 0);
        assert_true(j.tflops > 0);
    }
    assert_true(n >= 12);
    arena_free(a);
}

TEST_CASE(files_read_back)
{
    char path[] = "/tmp/nccltune-preset-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    for (const struct workload_preset *p = workload_presets; p->name; p++) {
        struct workload_job j;
        struct err e = {0};
        assert_int_equal(workload_preset_job(p->name, &j, &e), 0);
        assert_int_equal(workload_job_complete(&j, &e), 0);
        struct workload *w = workload_generate(&j);
        assert_int_equal(workload_save(w, path, &e), 0);
        struct workload *again = workload_load(path, &e);
        assert_non_null(again);
        assert_string_equal(again->name, p->name);
        assert_int_equal(again->nphases, w->nphases);
        assert_true(workload_bytes(again, NULL, -1) == workload_bytes(w, NULL, -1));
        workload_free(again);
        workload_free(w);
    }
    unlink(path);
}

/* As the scripts have it that model/workload/presets.c names. */
TEST_CASE(as_published)
{
    static const struct {
        const char *name;
        int prompt, response, micro_batch, updates, mini_batch, n;
    } published[] = {
        {"verl-grpo-fsdp2-7b", 512, 1024, 16, 4, 1280, 5},
        {"verl-grpo-megatron-7b-tp2pp2", 1024, 1024, 4, 4, 1280, 5},
        {"verl-grpo-megatron-30b-ep4etp2", 1024, 2048, 4, 1, 320, 5},
        {"verl-ppo-fsdp-7b", 1024, 512, 16, 4, 256, 0},
        {"swift-grpo-vl3b-zero3", 768, 1024, 8, 1, 32, 8},
        {"small-sft-zero3-3b-4pcie", 1024, 0, 2, 1, 64, 0},
    };
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        struct workload_job j;
        struct err e = {0};
        assert_int_equal(workload_preset_job(published[i].name, &j, &e), 0);
        assert_int_equal(j.prompt, published[i].prompt);
        assert_int_equal(j.response, published[i].response);
        assert_int_equal(j.micro_batch, published[i].micro_batch);
        assert_int_equal(j.updates, published[i].updates);
        assert_int_equal(j.mini_batch, published[i].mini_batch);
        assert_int_equal(j.rollout_n, published[i].n);
        assert_int_equal(j.recompute, 1);
    }
}

/* verl leaves decoding to NCCL, so its presets count those calls. */
TEST_CASE(verl_decodes_with_nccl)
{
    struct workload_job j;
    struct err e = {0};
    assert_int_equal(workload_preset_job("verl-grpo-fsdp2-7b", &j, &e), 0);
    assert_int_equal(workload_job_complete(&j, &e), 0);
    struct workload *w = workload_generate(&j);
    assert_string_equal(w->phases[0].name, "rollout");
    assert_int_equal(w->phases[0].ncalls, 3);
    workload_free(w);
}

TEST_CASE(unknown_name)
{
    struct workload_job j;
    struct err e = {0};
    assert_int_equal(workload_preset_job("verl", &j, &e), ERR_USAGE);
    assert_non_null(strstr(e.text, "--list"));
}

TEST_CASES(test_presets)
