/* advise/diagnose/smi.c: utilisation, gaps and imbalance from nvidia-smi CSV. */
#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

TEST_CASE(the_sample)
{
    struct diagnosis *d = diagnose_new();
    struct err e = {0};
    assert_int_equal(diagnose_file(d, "tests/fixtures/diagnose/gpus.csv", &e), 0);
    const struct diag_result *r = diagnose_finish(d);
    /* 120 samples a second: 40 before any work, 15 s of a gap from the 70th, three GPUs at 97 % and one at 45 %. */
    assert_int_equal(r->ngpus, 4);
    assert_string_equal(r->gpus[3].name, "GPU 3");
    assert_int_equal(r->gpus[0].samples, 120);
    assert_near(r->gpus[0].mean, 97 * 65 / 120.0, 1e-9);
    assert_near(r->gpus[3].mean, 45 * 65 / 120.0, 1e-9);
    assert_near(r->gpus[0].idle, 55 / 120.0, 1e-9);
    assert_near(r->gpus[0].longest_gap_s, 15, 1e-9);
    assert_non_null(strstr(r->gpus[0].gap_place, "gpus.csv:282"));
    assert_near(r->gpu_start_idle_s, 40, 1);
    assert_near(r->gpu_spread, 52 * 65 / 120.0, 1e-9);
    assert_non_null(finding_of(r, "gpu-imbalance"));
    assert_non_null(finding_of(r, "gpu-idle"));
    assert_non_null(finding_of(r, "start-stall"));
    assert_int_equal(r->primary, -1);
    assert_int_equal(r->verdict, DIAG_UNKNOWN);
    diagnose_free(d);
}

TEST_CASE(other_columns)
{
    struct diagnosis *d = read_text("uuid, name, utilization.gpu, temperature.gpu\n"
                                    "GPU-aaaa, NVIDIA A100, 50, 40\nGPU-bbbb, NVIDIA A100, 100, 41\n"
                                    "GPU-aaaa, NVIDIA A100, [N/A], 40\nGPU-bbbb, NVIDIA A100, 101, 41\n"
                                    "GPU-aaaa, NVIDIA A100, 70, 40\nGPU-bbbb, NVIDIA A100\n");
    const struct diag_result *r = diagnose_finish(d);
    assert_int_equal(r->ngpus, 2);
    assert_string_equal(r->gpus[0].name, "GPU-aaaa");
    assert_int_equal(r->gpus[0].samples, 2);
    assert_near(r->gpus[0].mean, 60, 0);
    assert_near(r->gpus[0].deviation, 10, 1e-9);
    assert_int_equal(r->gpus[1].samples, 1);
    diagnose_free(d);
}

TEST_CASE(more_gpus_than_there_is_room)
{
    char *text = malloc(64 << 10);
    size_t n = (size_t)sprintf(text, "index, utilization.gpu [%%]\n");
    for (int i = 0; i < 2 * DIAG_GPUS; i++)
        n += (size_t)sprintf(text + n, "%d, 50 %%\n", i);
    struct diagnosis *d = read_text(text);
    assert_int_equal(diagnose_finish(d)->ngpus, DIAG_GPUS);
    diagnose_free(d);
    free(text);
}

TEST_CASE(odd_times)
{
    struct diagnosis *d = read_text("timestamp, index, utilization.gpu [%]\n"
                                    "2024/02/28 23:59:50.000, 0, 90 %\n"
                                    "2024/02/28 23:59:59.000, 0, 0 %\n"
                                    "2024/02/29 00:00:09.500, 0, 90 %\n"
                                    "yesterday, 0, 0 %\n"
                                    "2024/99/28 23:59:50.000, 0, 90 %\n");
    assert_near(diagnose_finish(d)->gpus[0].longest_gap_s, 10.5, 1e-6);
    diagnose_free(d);
}

/* The entity of a row is two words. */
TEST_CASE(dcgm)
{
    struct diagnosis *d = read_text("#Entity   GPUTL   SMACT\nID\nGPU 0     97      0.81\nGPU 1     12      0.10\n"
                                    "#Entity   GPUTL   SMACT\nID\nGPU 0     97      0.81\nGPU 1     N/A     0.10\n");
    const struct diag_result *r = diagnose_finish(d);
    assert_int_equal(r->ngpus, 2);
    assert_string_equal(r->gpus[1].name, "GPU 1");
    assert_int_equal(r->gpus[0].samples, 2);
    assert_near(r->gpus[1].mean, 12, 0);
    assert_string_equal(r->files[0].formats, "DCGM samples");
    diagnose_free(d);
}

TEST_CASES(test_smi)
