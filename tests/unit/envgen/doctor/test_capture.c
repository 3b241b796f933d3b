/* envgen/doctor/capture.c: the profiler library on a node, and a capture that a job asks for. */
#include <dlfcn.h>
#include <unistd.h>

#include "envgen/doctor/doctor_internal.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

#define PLUGIN   "build/libnccl-tuner-nccltune.so"
#define PROFILER "build/libnccl-profiler-nccltune.so"

static struct scratch s;
static struct doctor d;

static int set_up(void **state)
{
    s = scratch_new();
    d = (struct doctor){.arena = s.arena, .found.arena = s.arena};
    return 0;
}

static int tear_down(void **state)
{
    scratch_free(&s);
    return 0;
}

/* The only line says this. */
static void expect(enum finding_severity severity, const char *subject, const char *text)
{
    assert_int_equal(d.found.n, 1);
    assert_string_equal(d.found.list[0].subject, subject);
    assert_int_equal(d.found.list[0].severity, severity);
    assert_non_null(strstr(d.found.list[0].text, text));
    d.found.n = 0;
}

TEST_CASE(profiler_on_a_node)
{
    const char *plugin = scratch_path(&s, "libnccl-tuner-nccltune.so"),
               *profiler = scratch_path(&s, "libnccl-profiler-nccltune.so");
    char *built = realpath(PLUGIN, NULL), *built_profiler = realpath(PROFILER, NULL);
    doctor_check_profiler(&d, plugin); /* that there is no plugin at all is said elsewhere */
    assert_int_equal(d.found.n, 0);
    assert_true(built && built_profiler);
    assert_int_equal(symlink(built, plugin), 0);
    doctor_check_profiler(&d, plugin);
    expect(FINDING_NOTE, "profiler", "No such file");
    scratch_write(&s, "libnccl-profiler-nccltune.so", "x", 1);
    doctor_check_profiler(&d, plugin);
    expect(FINDING_ERROR, "profiler", "cannot be loaded");
    assert_int_equal(unlink(profiler), 0);
    assert_int_equal(symlink("libnccl-tuner-nccltune.so", profiler), 0); /* as when the two were one library */
    doctor_check_profiler(&d, plugin);
    expect(FINDING_ERROR, "profiler", "is not nccltune's profiler");
    assert_int_equal(unlink(profiler), 0);
    assert_int_equal(symlink(built_profiler, profiler), 0);
    free(built);
    free(built_profiler);
    void *installed = dlopen("libnccl-profiler-nccltune.so", RTLD_LAZY); /* the loader may know one by name */
    doctor_check_profiler(&d, plugin);
    expect(installed ? FINDING_OK : FINDING_NOTE, "profiler", "can capture");
}

TEST_CASE(observing_needs_a_capture)
{
    doctor_check_observe(&d, NULL, NULL);
    doctor_check_observe(&d, "0", NULL);
    doctor_check_observe(&d, "1", "/tmp");
    assert_int_equal(d.found.n, 0);
    doctor_check_observe(&d, "1", NULL);
    expect(FINDING_ERROR, "capture", "NCCLTUNE_OBSERVE=1 needs NCCLTUNE_CAPTURE=DIR");
    doctor_check_observe(&d, "yes", "/tmp");
    expect(FINDING_ERROR, "capture", "NCCLTUNE_OBSERVE=yes: expected 1 or 0");
}

TEST_CASE(capture_in_a_job)
{
    const char *here = scratch_path(&s, "capture");
    char *built = realpath(PROFILER, NULL), *tuner = realpath(PLUGIN, NULL);
    assert_true(built && tuner);
    doctor_check_capture(&d, NULL, NULL);
    doctor_check_capture(&d, "somebody-elses", NULL);
    assert_int_equal(d.found.n, 0);
    doctor_check_capture(&d, "nccltune", NULL);
    expect(FINDING_NOTE, "capture", "without NCCLTUNE_CAPTURE");
    doctor_check_capture(&d, built, here);
    expect(FINDING_OK, "capture", here);
    doctor_check_capture(&d, built, "captures");
    expect(FINDING_ERROR, "capture", "not an absolute path");
    doctor_check_capture(&d, built, "/nonexistent/captures");
    expect(FINDING_ERROR, "capture", "No such file");
    doctor_check_capture(&d, "none", here);
    assert_int_equal(d.found.n, 2);
    assert_int_equal(finding_count(d.found.list, 2, FINDING_ERROR), 1);
    assert_non_null(strstr(d.found.list[0].text, "needs NCCL_PROFILER_PLUGIN=nccltune"));
    d.found.n = 0;
    doctor_check_capture(&d, "libc.so.6", here);
    assert_non_null(strstr(d.found.list[0].text, "is not nccltune's profiler"));
    d.found.n = 0;
    doctor_check_capture(&d, "nothing-of-that-name", here);
    assert_non_null(strstr(d.found.list[0].text, "cannot be loaded"));
    d.found.n = 0;
    doctor_check_capture(&d, tuner, here); /* which was the profiler, too, before it had a library of its own */
    assert_non_null(strstr(d.found.list[0].text, "is not nccltune's profiler"));
    d.found.n = 0;
    free(built);
    free(tuner);
}

TEST_CASES_EACH(test_capture, set_up, tear_down)
