/* envgen/doctor/capture.c: the plugin's other name on a node, and a capture that a job asks for. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "envgen/doctor/doctor_internal.h"
#include "tests/unit/envgen/scratch.h"

#define PLUGIN "build/libnccl-tuner-nccltune.so"

static struct scratch s;
static struct doctor d;

static int set_up(void **state)
{
    (void)state;
    s = scratch_new();
    d = (struct doctor){.arena = s.arena, .found.arena = s.arena};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
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

static void link_on_a_node(void **state)
{
    (void)state;
    const char *plugin = scratch_path(&s, "libnccl-tuner-nccltune.so"),
               *link = scratch_path(&s, "libnccl-profiler-nccltune.so");
    char *built = realpath(PLUGIN, NULL);
    doctor_check_profiler_link(&d, plugin); /* that there is no plugin at all is said elsewhere */
    assert_int_equal(d.found.n, 0);
    assert_non_null(built);
    assert_int_equal(symlink(built, plugin), 0);
    free(built);
    doctor_check_profiler_link(&d, plugin);
    expect(FINDING_NOTE, "profiler", "No such file");
    scratch_write(&s, "libnccl-profiler-nccltune.so", "x", 1);
    doctor_check_profiler_link(&d, plugin);
    expect(FINDING_ERROR, "profiler", "cannot be loaded");
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink("libnccl-tuner-nccltune.so", link), 0);
    void *installed = dlopen("libnccl-profiler-nccltune.so", RTLD_LAZY); /* the loader may know one by name */
    doctor_check_profiler_link(&d, plugin);
    expect(installed ? FINDING_OK : FINDING_NOTE, "profiler", "can capture");
}

static void observing_needs_a_capture(void **state)
{
    (void)state;
    doctor_check_online(&d, NULL, NULL, 0);
    doctor_check_online(&d, "off", NULL, 0);
    doctor_check_online(&d, "observe", "/tmp", 0);
    doctor_check_online(&d, "tune", "/tmp", 1);
    assert_int_equal(d.found.n, 0);
    doctor_check_online(&d, "observe", NULL, 0);
    expect(FINDING_ERROR, "capture", "needs NCCLTUNE_CAPTURE");
    doctor_check_online(&d, "tune", NULL, 0);
    expect(FINDING_ERROR, "capture", "nothing is tuned");
    doctor_check_online(&d, "guess", "/tmp", 0);
    expect(FINDING_ERROR, "capture", "NCCLTUNE_ONLINE=guess");
    doctor_check_online(&d, "tune", "/tmp", 0);
    expect(FINDING_ERROR, "capture", "needs a key");
}

static void capture_in_a_job(void **state)
{
    (void)state;
    const char *here = scratch_path(&s, "capture");
    char *built = realpath(PLUGIN, NULL);
    assert_non_null(built);
    doctor_check_capture(&d, NULL, NULL);
    doctor_check_capture(&d, "somebody-elses", NULL);
    assert_int_equal(d.found.n, 0);
    doctor_check_capture(&d, "nccltune", NULL);
    expect(FINDING_NOTE, "capture", "without NCCLTUNE_CAPTURE");
    doctor_check_capture(&d, built, here);
    expect(FINDING_OK, "capture", here);
    doctor_check_capture(&d, built, "captures");
    expect(FINDING_ERROR, "capture", "no absolute path");
    doctor_check_capture(&d, built, "/nonexistent/captures");
    expect(FINDING_ERROR, "capture", "No such file");
    doctor_check_capture(&d, "none", here);
    assert_int_equal(d.found.n, 2);
    assert_int_equal(finding_count(d.found.list, 2, FINDING_ERROR), 1);
    assert_non_null(strstr(d.found.list[0].text, "needs NCCL_PROFILER_PLUGIN=nccltune"));
    d.found.n = 0;
    doctor_check_capture(&d, "libc.so.6", here);
    assert_non_null(strstr(d.found.list[0].text, "another profiler"));
    d.found.n = 0;
    doctor_check_capture(&d, "nothing-of-that-name", here);
    assert_non_null(strstr(d.found.list[0].text, "cannot be loaded"));
    free(built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(link_on_a_node, set_up, tear_down),
        cmocka_unit_test_setup_teardown(observing_needs_a_capture, set_up, tear_down),
        cmocka_unit_test_setup_teardown(capture_in_a_job, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
