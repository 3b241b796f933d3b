/* nccltune-worker's command line, what an agent takes from its surroundings, and which plugins it finds loaded. */
#include <dlfcn.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/nccltune-worker/nccl.h"
#include "bench/nccltune-worker/worker.h"
#include "core/arena.h"
#include "core/err.h"
#include "tests/lib/unit.h"

static char build[4096];
static struct arena *arena;

static int find_build(void **state)
{
    ssize_t n = readlink("/proc/self/exe", build, sizeof build - 1);
    build[n > 0 ? n : 0] = 0;
    char *tests = strstr(build, "/tests/unit/");
    if (!tests)
        return -1;
    *tests = 0;
    arena = arena_new();
    return 0;
}

static int drop_arena(void **state)
{
    arena_free(arena);
    return 0;
}

/* ---- the command line ---- */

static const char *said(const char *arguments, int *code)
{
    static char text[4096];
    FILE *p = popen(arena_printf(arena, "'%s/nccltune-worker' %s 2>&1", build, arguments), "r");
    assert_non_null(p);
    text[fread(text, 1, sizeof text - 1, p)] = 0;
    int status = pclose(p);
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return text;
}

TEST_CASE(what_it_is_called_with)
{
    static const char usage[] = "Usage: nccltune-worker agent [--connect ADDRESS:PORT[,...] [--as NAME] [--stdin]]\n";
    static const char *const wrong[] = {"",           "rank",       "rank 1",          "rank x 0",
                                        "rank 0 x",   "rank 0 0 0", "agent agent",     "signs 1",
                                        "worker 0 0", "rank '' 0",  "rank 16777217 0", "rank 0 16777217"};
    int code;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *text = said(wrong[i], &code);
        if (code != ERR_USAGE || strncmp(text, usage, sizeof usage - 1) != 0)
            fail_msg("%s: %d, %s", wrong[i], code, text);
    }
    assert_non_null(strstr(said("--nonsense", &code), "--nonsense"));
    assert_int_equal(code, ERR_USAGE);
    const char *help = said("--help", &code);
    assert_int_equal(code, 0);
    assert_memory_equal(help, usage, sizeof usage - 1);
    assert_non_null(strstr(help, "\n       nccltune-worker rank RANK LOCAL [--nccl-lib PATH]\n"));
    assert_memory_equal(said("--version", &code), "nccltune-worker ", 16);
    assert_int_equal(code, 0);
    assert_string_equal(said("agent --stdin </dev/null", &code),
                        "nccltune-worker: standard input ended before the environment that --stdin expects\n");
    assert_int_equal(code, ERR_USAGE);
    said("agent --as n1 </dev/null >/dev/null", &code);
    assert_int_equal(code, 0);
}

/* ---- surroundings ---- */

/* What surroundings_read makes of this input, and what it leaves of it. */
static int read_from(const char *text, size_t bytes, char rest[16])
{
    FILE *f = tmpfile();
    int before = dup(STDIN_FILENO);
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, bytes, f), bytes);
    fflush(f);
    lseek(fileno(f), 0, SEEK_SET);
    dup2(fileno(f), STDIN_FILENO);
    int rc = surroundings_read();
    ssize_t n = read(STDIN_FILENO, rest, 15);
    rest[n > 0 ? n : 0] = 0;
    dup2(before, STDIN_FILENO);
    close(before);
    fclose(f);
    return rc;
}

TEST_CASE(lines_go_into_the_environment)
{
    static const char text[] =
        "TEST_ONE=1\nTEST_TWO=a=b c\nnothing\n=nobody\nTEST_NONE=\nTEST_WAS=new\n\nTEST_REST=1\n";
    char rest[16];
    setenv("TEST_WAS", "old", 1);
    assert_int_equal(read_from(text, sizeof text - 1, rest), 0);
    assert_string_equal(getenv("TEST_ONE"), "1");
    assert_string_equal(getenv("TEST_TWO"), "a=b c");
    assert_string_equal(getenv("TEST_NONE"), "");
    assert_string_equal(getenv("TEST_WAS"), "new");
    assert_null(getenv("TEST_REST"));
    assert_null(getenv("nothing"));
    assert_string_equal(rest, "TEST_REST=1\n");
    assert_int_equal(read_from("", 0, rest), -1);
    assert_int_equal(read_from("A=1\n", 4, rest), -1);
    assert_int_equal(read_from("A=1", 3, rest), -1);
    assert_int_equal(read_from("\n", 1, rest), 0);
}

TEST_CASE(a_line_has_a_limit)
{
    static char text[65536 + 3];
    char rest[16];
    memset(text, 'x', sizeof text);
    strcpy(text, "TEST_LONG=");
    text[10] = 'x';
    text[65535] = text[65536] = '\n';
    assert_int_equal(read_from(text, 65537, rest), 0);
    assert_int_equal(strlen(getenv("TEST_LONG")), 65525);
    text[65535] = 'x';
    text[65537] = '\n';
    assert_int_equal(read_from(text, 65538, rest), -1);
}

TEST_CASE(pinning_is_undone)
{
    cpu_set_t all, one, now;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    surroundings_unpin();
    assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
    assert_true(CPU_COUNT(&now) >= CPU_COUNT(&all));
}

/* ---- plugins ---- */

TEST_CASE(plugins_that_are_loaded)
{
    char text[160], small[8];
    const char *vendor = arena_printf(arena, "%s/tests/doubles/vendor_tuner.so", build);
    const char *ours = arena_printf(arena, "%s/libnccl-tuner-nccltune.so", build);
    unsetenv("NCCL_TUNER_PLUGIN");
    active_plugins(text, sizeof text);
    assert_string_equal(text, "");
    void *own = dlopen(ours, RTLD_NOW);
    assert_non_null(own);
    active_plugins(text, sizeof text);
    assert_string_equal(text, "");
    void *lib = dlopen(vendor, RTLD_NOW);
    assert_non_null(lib);
    active_plugins(text, sizeof text);
    assert_string_equal(text, "tuner vendor double, network vendor network");
    active_plugins(small, sizeof small);
    assert_string_equal(small, "tuner v");
    /* It is loaded for its network alone; ours is asked, and has asked nobody. */
    setenv("NCCL_TUNER_PLUGIN", "NONE", 1);
    active_plugins(text, sizeof text);
    assert_string_equal(text, "network vendor network");
    setenv("NCCL_TUNER_PLUGIN", ours, 1);
    active_plugins(text, sizeof text);
    assert_string_equal(text, "network vendor network");
    setenv("NCCL_TUNER_PLUGIN", vendor, 1);
    active_plugins(text, sizeof text);
    assert_string_equal(text, "tuner vendor double, network vendor network");
    dlclose(lib);
    active_plugins(text, sizeof text);
    assert_string_equal(text, "");
    unsetenv("NCCL_TUNER_PLUGIN");
    lib = dlopen(arena_printf(arena, "%s/tests/doubles/vendor_tuner_v1.so", build), RTLD_NOW);
    assert_non_null(lib);
    active_plugins(text, sizeof text);
    assert_string_equal(text, "tuner vendor double, network vendor network");
    dlclose(lib);
    dlclose(own);
}

TEST_CASES_WITHIN(test_main, find_build, drop_arena)
