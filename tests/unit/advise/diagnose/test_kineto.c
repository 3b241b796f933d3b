/* advise/diagnose/kineto.c: what is taken from a trace, whole, cut off or odd. */
#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

#define KERNEL(name, pid, ts, dur)                                                                             \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" name "\", \"pid\": " #pid ", \"tid\": 7, \"ts\": " #ts \
    ", \"dur\": " #dur ", \"args\": {\"a\": [1, {\"b\": \"}]\"}]}}"

static void expect(const char *text, double share, double hidden)
{
    struct diagnosis *d = diagnose_new();
    struct err e = {0};
    if (feed(d, text, &e))
        fail_msg("%s", e.text);
    const struct diag_result *r = diagnose_finish(d);
    assert_string_equal(r->sources[r->primary].format, "PyTorch trace");
    assert_near(r->sources[r->primary].communication_share, share, 0.002);
    assert_near(r->sources[r->primary].hidden_share, hidden, 0.002);
    diagnose_free(d);
}

TEST_CASE(shapes_of_documents)
{
    /* An object with other keys around, and a bare array. */
    expect("{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0}], \"traceEvents\": [" KERNEL(
               "gemm", 0, 1000, 6000) ", " KERNEL("ncclDevKernel_AllGather", 0, 5000, 6000) "], \"traceName\": \"x\"}",
           0.4, 0.2);
    expect("[" KERNEL("gemm", 0, 0, 5000) "," KERNEL("rcclGenericKernel", 0, 5000, 5000) "]", 0.5, 0);
}

TEST_CASE(names_with_escapes)
{
    expect(
        "{\"traceEvents\": [" KERNEL("void \\\"x\\\" \\\\", 0, 0, 5000) "," KERNEL("ncclKernel_x", 0, 5000, 5000) "]}",
        0.5, 0);
}

/* Only complete events of GPU categories count: not the host's view of the same call, not metadata. */
TEST_CASE(other_events)
{
    expect(
        "{\"traceEvents\": [{\"ph\": \"M\", \"name\": \"process_name\"}, {\"ph\": \"X\", \"cat\": \"user_annotation\", "
        "\"name\": \"nccl:all_reduce\", \"ts\": 0, \"dur\": 90000, \"pid\": 1},"
        "{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"nccl:all_reduce\", \"ts\": 0, \"dur\": 90000, "
        "\"pid\": 0}," KERNEL("gemm", 0, 0, 9000) "," KERNEL("ncclDevKernel_x", 0, 9000, 1000) "]}",
        0.1, 0);
}

TEST_CASE(first_device_only)
{
    struct diagnosis *d = diagnose_new();
    struct err e = {0};
    assert_int_equal(feed(d,
                          "{\"traceEvents\": [" KERNEL("gemm", 0, 0, 9000) "," KERNEL(
                              "ncclDevKernel_x", 1, 0, 9000) "," KERNEL("ncclDevKernel_x", 0, 9000, 1000) "]}",
                          &e),
                     0);
    const struct diag_result *r = diagnose_finish(d);
    assert_near(r->sources[0].communication_share, 0.1, 0.002);
    assert_non_null(finding_of(r, "trace-devices"));
    diagnose_free(d);
}

TEST_CASE(cut_off)
{
    struct diagnosis *d = diagnose_new();
    struct err e = {0};
    assert_int_equal(feed(d,
                          "{\"traceEvents\": [" KERNEL("gemm", 0, 0, 5000) "," KERNEL(
                              "ncclDevKernel_x", 0, 5000, 5000) ", {\"ph\": \"X\", \"cat\": \"ker",
                          &e),
                     0);
    const struct diag_result *r = diagnose_finish(d);
    assert_near(r->sources[0].communication_share, 0.5, 0.002);
    assert_non_null(finding_of(r, "trace-cut"));
    diagnose_free(d);
}

TEST_CASE(broken)
{
    static const char *const wrong[] = {
        "{\"traceEvents\" 1}",      "{\"traceEvents\": [{\"ph\" \"X\"}]}",
        "{\"traceEvents\": [{3}]}", "{\"traceEvents\": [&]}",
        "{\"schemaVersion\": 1,}}", "{\"traceEvents\": {\"a\": 1}}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct diagnosis *d = diagnose_new();
        struct err e = {0};
        assert_int_equal(feed(d, wrong[i], &e), ERR_FAILED);
        assert_int_equal(strncmp(e.text, "log:", 4), 0);
        diagnose_free(d);
    }
}

TEST_CASE(steps_are_averaged)
{
    struct diagnosis *d = diagnose_new();
    struct err e = {0};
    assert_int_equal(diagnose_file(d, "tests/fixtures/diagnose/trace.json", &e), 0);
    const struct diag_result *r = diagnose_finish(d);
    /* By its making: three steps of 10 ms, 6 ms compute, 5 ms NCCL of which 2 ms are hidden, 1 ms idle but for a copy.
     */
    assert_int_equal(r->sources[0].steps, 3);
    assert_near(r->sources[0].step_ms, 10, 0.01);
    assert_near(phase_of(r, "compute")->median_ms, 6, 0.01);
    assert_near(phase_of(r, "NCCL not hidden")->median_ms, 3, 0.01);
    assert_near(phase_of(r, "idle")->median_ms, 0.99, 0.01);
    assert_near(phase_of(r, "copies not hidden")->median_ms, 0.01, 0.002);
    assert_near(r->sources[0].hidden_share, 0.2, 0.001);
    diagnose_free(d);
}

TEST_CASES(test_kineto)
