/* core/locate.c, in trees that are copies of what is built and installed: this program is copied to where nccltune
 * would lie and says there what it finds. */
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"

static const char *configured(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

/* What a build was configured for is a matter of the environment here. */
#undef NCCLTUNE_PREFIX
#undef NCCLTUNE_BINDIR
#undef NCCLTUNE_LIBEXECDIR
#undef NCCLTUNE_LIBDIR
#define NCCLTUNE_PREFIX     configured("TEST_PREFIX")
#define NCCLTUNE_BINDIR     configured("TEST_BINDIR")
#define NCCLTUNE_LIBEXECDIR configured("TEST_LIBEXECDIR")
#define NCCLTUNE_LIBDIR     configured("TEST_LIBDIR")
#include "core/locate.c"

#include "core/file.h"

static struct arena *a;
static char root[] = "/tmp/nccltune-locate.XXXXXX";

static const char *in_root(const char *path)
{
    return arena_printf(a, "%s/%s", root, path);
}

static void put(const char *path, mode_t mode)
{
    const char *whole = in_root(path);
    struct err e = {0};
    assert_int_equal(file_mkdirs(arena_strndup(a, whole, (size_t)(strrchr(whole, '/') - whole)), &e), 0);
    assert_int_equal(file_write(whole, "x", 1, &e), 0);
    assert_int_equal(chmod(whole, mode), 0);
}

/* This program as `path`, which says where it finds `name`. */
static const char *ask(const char *path, const char *name)
{
    char self[4096] = "", answer[4096] = "";
    put(path, 0755);
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    assert_int_equal(system(arena_printf(a, "cp '%s' '%s'", self, in_root(path))), 0);
    FILE *out = popen(arena_printf(a, "'%s' %s", in_root(path), name), "r");
    assert_non_null(out);
    assert_non_null(fgets(answer, sizeof answer, out));
    pclose(out);
    answer[strcspn(answer, "\n")] = 0;
    size_t n = strlen(root);
    return arena_strdup(a, !strncmp(answer, root, n) && answer[n] == '/' ? answer + n + 1 : answer);
}

static void configure(const char *prefix, const char *libdir)
{
    setenv("TEST_PREFIX", prefix, 1);
    setenv("TEST_BINDIR", arena_printf(a, "%s/bin", prefix), 1);
    setenv("TEST_LIBEXECDIR", arena_printf(a, "%s/libexec/nccltune", prefix), 1);
    setenv("TEST_LIBDIR", arena_printf(a, "%s/%s", prefix, libdir), 1);
}

static int begin(void **state)
{
    a = arena_new();
    snprintf(root, sizeof root, "/tmp/nccltune-locate.XXXXXX");
    unsetenv("NCCLTUNE_PLUGIN_SO");
    unsetenv("NCCLTUNE_BENCH");
    return !mkdtemp(root);
}

static int end(void **state)
{
    int rc = system(arena_printf(a, "rm -rf '%s'", root));
    arena_free(a);
    return rc;
}

static void a_build_before_an_older_installation(void **state)
{
    configure(in_root("usr"), "lib");
    put("usr/lib/" LOCATE_PLUGIN, 0644);
    put("usr/libexec/nccltune/nccltune-bench", 0755);
    assert_string_equal(ask("build/nccltune", LOCATE_PLUGIN), "usr/lib/" LOCATE_PLUGIN);
    put("build/" LOCATE_PLUGIN, 0644);
    put("build/nccltune-bench", 0755);
    assert_string_equal(ask("build/nccltune", LOCATE_PLUGIN), "build/" LOCATE_PLUGIN);
    assert_string_equal(ask("build/nccltune", "nccltune-bench"), "build/nccltune-bench");
}

static void an_installation_that_was_moved(void **state)
{
    configure(in_root("usr"), "lib/x86_64-linux-gnu");
    put("usr/lib/x86_64-linux-gnu/" LOCATE_PLUGIN, 0644); /* another release */
    put("usr/bin/nccltune", 0755);
    put("moved/lib/x86_64-linux-gnu/" LOCATE_PLUGIN, 0644);
    put("moved/libexec/nccltune/nccltune-worker", 0755);
    assert_string_equal(ask("moved/bin/nccltune", LOCATE_PLUGIN), "moved/lib/x86_64-linux-gnu/" LOCATE_PLUGIN);
    assert_string_equal(ask("moved/bin/nccltune", "nccltune-worker"), "moved/libexec/nccltune/nccltune-worker");
    assert_string_equal(ask("moved/libexec/nccltune/nccltune-hook", LOCATE_PLUGIN),
                        "moved/lib/x86_64-linux-gnu/" LOCATE_PLUGIN);
    assert_string_equal(ask("moved/libexec/nccltune/nccltune-hook", "nccltune"), "moved/bin/nccltune");
}

/* The tarball is built for the prefix "". */
static void a_tarball_unpacked_anywhere(void **state)
{
    configure("", "lib");
    put("nccltune-1/lib/" LOCATE_PLUGIN, 0644);
    put("nccltune-1/libexec/nccltune/nccltune-hook", 0755);
    assert_string_equal(ask("nccltune-1/bin/nccltune", LOCATE_PLUGIN), "nccltune-1/lib/" LOCATE_PLUGIN);
    assert_string_equal(ask("nccltune-1/bin/nccltune", "nccltune-hook"), "nccltune-1/libexec/nccltune/nccltune-hook");
    assert_string_equal(ask("else/nccltune", LOCATE_PLUGIN), "/lib/" LOCATE_PLUGIN);
}

static void the_environment_decides_alone(void **state)
{
    struct err e = {0};
    configure(in_root("usr"), "lib");
    put("usr/lib/" LOCATE_PLUGIN, 0644);
    put("usr/libexec/nccltune/nccltune-bench", 0755);
    put("mine.so", 0644);
    put("mine", 0755);
    setenv("NCCLTUNE_PLUGIN_SO", in_root("mine.so"), 1);
    setenv("NCCLTUNE_BENCH", in_root("mine"), 1);
    assert_string_equal(locate_program(LOCATE_PLUGIN, a, &e), in_root("mine.so"));
    assert_string_equal(locate_program("nccltune-bench", a, &e), in_root("mine"));
    assert_string_equal(locate_expected(LOCATE_PLUGIN, a), in_root("mine.so"));
    assert_string_equal(locate_installed(LOCATE_PLUGIN, a), in_root("usr/lib/" LOCATE_PLUGIN));
    setenv("NCCLTUNE_PLUGIN_SO", "/nonexistent.so", 1);
    setenv("NCCLTUNE_BENCH", in_root("mine.so"), 1); /* which cannot be started */
    assert_null(locate_program(LOCATE_PLUGIN, a, &e));
    assert_string_equal(e.text, "NCCLTUNE_PLUGIN_SO=/nonexistent.so: no such file");
    assert_null(locate_program("nccltune-bench", a, &e));
    assert_int_equal(e.code, ERR_LACKS);
    assert_string_equal(locate_expected(LOCATE_PLUGIN, a), "/nonexistent.so");
}

static void what_is_nowhere(void **state)
{
    struct err e = {0};
    configure("/nonexistent", "lib");
    assert_null(locate_program(LOCATE_PLUGIN, a, &e));
    assert_int_equal(e.code, ERR_LACKS);
    assert_non_null(strstr(e.text, LOCATE_PLUGIN " is neither in "));
    assert_non_null(strstr(e.text, "/tests/unit/core nor in /nonexistent/lib"));
    assert_string_equal(locate_expected(LOCATE_PLUGIN, a), "/nonexistent/lib/" LOCATE_PLUGIN);
    assert_string_equal(locate_expected("nccltune-hook", a), "/nonexistent/libexec/nccltune/nccltune-hook");
}

static void programs_in_path(void **state)
{
    char *sh = locate_in_path("sh", a);
    assert_non_null(sh);
    assert_non_null(strstr(sh, "/sh"));
    assert_string_equal(locate_in_path("/bin/sh", a), "/bin/sh");
    assert_null(locate_in_path("no-such-program-anywhere", a));
    assert_null(locate_in_path("/etc/passwd", a));
    assert_non_null(strstr(locate_self_dir(a), "tests/unit/core"));
}

/* An image that has put a virtual environment into PATH without activating it: its python3 is a link to the system's.
 */
static void python_in_path(void **state)
{
    char dir[] = "/tmp/nccltune-python-XXXXXX";
    const char *was = getenv("PATH");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(mkdir(arena_printf(a, "%s/bin", dir), 0700), 0);
    assert_int_equal(symlink("/bin/sh", arena_printf(a, "%s/bin/python3", dir)), 0);
    was = arena_strdup(a, was ? was : "");
    setenv("PATH", arena_printf(a, "%s/bin:%s", dir, was), 1);
    assert_string_equal(locate_python(a), dir);
    setenv("PATH", "/nonexistent/bin", 1);
    assert_null(locate_python(a));
    setenv("PATH", was, 1);
    unlink(arena_printf(a, "%s/bin/python3", dir));
    rmdir(arena_printf(a, "%s/bin", dir));
    rmdir(dir);
}

#define PLUGIN "build/libnccl-tuner-nccltune.so"

static void a_plugin_is_ours_by_what_it_exports(void **state)
{
    assert_true(locate_is_plugin("nccltune"));
    assert_true(locate_is_plugin(LOCATE_PLUGIN));
    assert_true(locate_is_plugin("/opt/lib/" LOCATE_PLUGIN));
    assert_false(locate_is_plugin("/home/me/nccltune/libnccl-tuner-vendor.so"));
    assert_false(locate_is_plugin("nccltune/vendor.so"));
    assert_false(locate_is_plugin("ofi"));
    assert_true(locate_is_plugin(PLUGIN));
    assert_int_equal(system(arena_printf(a, "cp -L " PLUGIN " %s/libvendor.so", root)), 0);
    assert_int_equal(system(arena_printf(a, "cp -L /proc/self/exe %s/" LOCATE_PLUGIN, root)), 0);
    assert_true(locate_is_plugin(arena_printf(a, "%s/libvendor.so", root)));
    assert_false(locate_is_plugin(arena_printf(a, "%s/" LOCATE_PLUGIN, root)));
    setenv("LD_LIBRARY_PATH", root, 1);
    assert_true(locate_is_plugin("libvendor.so"));
    assert_false(locate_is_plugin("nccltune")); /* NCCL would load the file of that name, which is not ours */
    unsetenv("LD_LIBRARY_PATH");
    assert_false(locate_is_plugin(""));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_build_before_an_older_installation, begin, end),
        cmocka_unit_test_setup_teardown(an_installation_that_was_moved, begin, end),
        cmocka_unit_test_setup_teardown(a_tarball_unpacked_anywhere, begin, end),
        cmocka_unit_test_setup_teardown(the_environment_decides_alone, begin, end),
        cmocka_unit_test_setup_teardown(what_is_nowhere, begin, end),
        cmocka_unit_test_setup_teardown(programs_in_path, begin, end),
        cmocka_unit_test_setup_teardown(python_in_path, begin, end),
        cmocka_unit_test_setup_teardown(a_plugin_is_ours_by_what_it_exports, begin, end),
    };
    if (argc == 2) {
        struct arena *answer = arena_new();
        int rc = puts(locate_expected(argv[1], answer)) < 0;
        arena_free(answer);
        return rc;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
