/* tuner/plugin/env.c: files and lines of a profile, read in this process: what is taken. */
#include <sys/stat.h>

#include "tests/lib/unit.h"
#include "tuner/plugin/env.c"
#include "tuner/plugin/source.c"

static char profile[] = "/tmp/nccltune-env-files-XXXXXX";
static char path[256];

static void forget_texts(void)
{
    for (int i = 0; i < 2; i++)
        free(env.text[i]);
    memset(env.text, 0, sizeof env.text);
}

static int set_up(void **state)
{
    memset(profile + strlen(profile) - 6, 'X', 6);
    assert_non_null(mkdtemp(profile));
    snprintf(path, sizeof path, "%s/nccl.d", profile);
    return mkdir(path, 0755);
}

static int tear_down(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", profile);
    forget_texts();
    env.count = env.of_class = env.judged = 0;
    env.class_name[0] = 0;
    return system(command);
}

static void put(const char *name, const char *text, size_t bytes)
{
    snprintf(path, sizeof path, "%s/%s", profile, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, bytes, f), bytes);
    fclose(f);
}

static void read_again(void)
{
    forget_texts();
    read_settings();
}

TEST_CASE(what_is_taken)
{
    char text[] =
        "NCCL_IB_TC=1\n#NCCL_IB_SL=2\nNCCL_PROTO\n\nNCCL_IB_HCA==x=y\nNCCL_ALGO=\nLD_PRELOAD=x\nFI_CXI_RDZV_PROTO=alt\n"
        "NCCL_NET_PLUGIN=x\nNCCL_A=1\nNCCL_IB_SL=6";
    take_lines(text);
    assert_int_equal(env.count, 3);
    static const char *const settings[][2] = {{"NCCL_IB_TC", "1"}, {"NCCL_IB_HCA", "=x=y"}, {"NCCL_IB_SL", "6"}};
    for (int i = 0; i < 3; i++) {
        assert_string_equal(env.settings[i].name, settings[i][0]);
        assert_string_equal(env.settings[i].value, settings[i][1]);
    }
    static char many[SETTINGS_MAX * 16];
    for (int i = 0; i < SETTINGS_MAX; i++)
        sprintf(many + strlen(many), "NCCL_IB_TC=%d\n", i);
    take_lines(many);
    assert_int_equal(env.count, SETTINGS_MAX);
}

TEST_CASE(the_class_of_a_host)
{
    static const char map[] =
        "nccltune-hook/1\nhost n1 a\nhost n10 b.c\nhost n2.site d\nhosts n3 e\n host n4 f\nhost n5";
    static const struct {
        const char *host, *name;
    } cases[] = {{"n1", "a"},  {"n10", "b.c"}, {"n2.site", "d"}, {"n2", NULL}, {"n3", NULL},
                 {"n4", NULL}, {"n5", NULL},   {"n", NULL},      {"", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(find_host(map, cases[i].host, strlen(cases[i].host)), cases[i].name != NULL);
        if (cases[i].name)
            assert_string_equal(env.class_name, cases[i].name);
    }
    assert_int_equal(find_host(map, "n1.elsewhere", 2), 1); /* what stands before the dot */
}

/* A class's name is one of a file, and the profile's directory has room for it. */
TEST_CASE(names_that_are_files)
{
    static const struct {
        char name[220];
        int count;
    } classes[] = {{"a", 2}, {"b", 1}, {".a", 1}, {"", 1}, {"a/", 1}, {"../nccl.d/a", 1}};
    put("nccl.conf", "NCCL_ALGO=1\n", 12);
    put("nccl.d/a.conf", "NCCL_PROTO=2\n", 13);
    put("nccl.d/.a.conf", "NCCL_PROTO=2\n", 13);
    setenv("NCCLTUNE_PROFILE", profile, 1);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        env.count = 0;
        setenv("NCCLTUNE_CLASS", classes[i].name, 1);
        read_again();
        assert_string_equal(env.class_name, classes[i].name);
        assert_int_equal(env.count, classes[i].count);
        assert_int_equal(env.of_class, classes[i].count - 1);
        assert_string_equal(get_env("NCCL_ALGO"), "1");
    }
    unsetenv("NCCLTUNE_CLASS");
    char name[201];
    for (int length = 199; length <= 200; length++) {
        char file[256];
        memset(name, 'k', sizeof name);
        name[length] = 0;
        snprintf(file, sizeof file, "nccl.d/%s.conf", name);
        put(file, "NCCL_PROTO=2\n", 13);
        setenv("NCCLTUNE_CLASS", name, 1);
        env.count = 0;
        read_again();
        assert_int_equal(env.count, length < 200 ? 2 : 1);
    }
    unsetenv("NCCLTUNE_CLASS");
    env.count = 0;
    setenv("NCCLTUNE", "off", 1);
    read_again();
    assert_int_equal(env.count, 0);
    setenv("NCCLTUNE", "on", 1);
    read_again();
    assert_int_equal(env.count, 1);
    unsetenv("NCCLTUNE");
    unsetenv("NCCLTUNE_PROFILE");
}

TEST_CASE(what_hooks_have_set)
{
    static const struct {
        const char *set;
        int is_hooks;
    } cases[] = {{"A=1", 1},         {"A=12", 0},    {"AB=1", 0}, {"B=2|A=1", 1}, {"A=1|B=2", 1},
                 {"B=2|A=1|C=3", 1}, {"B=2|A=2", 0}, {"", 0},     {"A:1", 0},     {"A1=", 0},
                 {"|A=1", 1},        {"A=2|A=1", 1}, {"A", 0},    {"A=", 0},      {"B=A=1", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("NCCLTUNE_SET", cases[i].set, 1);
        if (set_by_hook("A", "1") != cases[i].is_hooks)
            fail_msg("%s", cases[i].set);
    }
    unsetenv("NCCLTUNE_SET");
    assert_int_equal(set_by_hook("A", "1"), 0);
    assert_null(get_env(NULL));
}

static int logged;

static void count_settings(int level, unsigned long subsystems, const char *file, int line, const char *fmt, ...)
{
    va_list args;
    (void)subsystems, (void)file, (void)line;
    va_start(args, fmt);
    logged = va_arg(args, int);
    va_end(args);
    assert_int_equal(level, NCCLTUNE_LOG_INFO);
    assert_string_equal(fmt, "nccltune: %d settings from the profile");
}

/* The first alone reads. */
TEST_CASE(is_read_once)
{
    put("nccl.conf", "NCCL_ALGO=1\n", 12);
    setenv("NCCLTUNE_PROFILE", profile, 1);
    assert_int_equal(init_v2(2, 30, 7, "", count_settings), NCCLTUNE_SUCCESS);
    assert_int_equal(logged, 1);
    put("nccl.conf", "NCCL_ALGO=1\nNCCL_PROTO=2\n", 25);
    logged = 0;
    assert_int_equal(init_v2(2, 30, 7, "", count_settings), NCCLTUNE_SUCCESS);
    assert_int_equal(logged, 1);
    assert_int_equal(finalize(), NCCLTUNE_SUCCESS);
    unsetenv("NCCLTUNE_PROFILE");
}

static int prepare_group(void **state)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return 0;
}

TEST_GROUP(main, set_up, tear_down, prepare_group, NULL)
