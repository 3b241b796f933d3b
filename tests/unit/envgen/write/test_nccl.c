/* nccl.conf by NCCL's rules for such files, nccl.sh by the shells' own. */
#include "envgen/write/write.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

static struct env_setting settings[] = {
    {"nccl", "NCCL_SOCKET_IFNAME", "=eth0", "topology", "NCCL would also use cni0\nX=1", 0},
    {"nccl", "NCCL_IB_HCA", NULL, "topology", "NCCL's own choice is right", 0},
    {"openmpi", "btl_tcp_if_include", "ib3", "measured on host memory", "not for NCCL", 0},
};

/* NCCL's reader: a line whose first character is '#' or that has no '=' is skipped, the first '=' splits, nothing is
 * trimmed. */
TEST_CASE(conf_by_nccls_rules)
{
    struct scratch s = scratch_new();
    struct err e = {0};
    char *text = scratch_print(&s, env_writer_of("nccl.conf")->write, s.dir, settings, 3, &e);
    int variables = 0;
    assert_non_null(text);
    assert_null(strchr(text, '\r'));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *equals = strchr(line, '=');
        assert_true(strlen(line) < 1023);
        if (*line == '#' || !equals)
            continue;
        *equals = 0;
        assert_string_equal(line, "NCCL_SOCKET_IFNAME");
        assert_string_equal(equals + 1, "=eth0");
        variables++;
    }
    assert_int_equal(variables, 1);
    scratch_free(&s);
}

/* A class's file has that class's settings and no others, and the common one none of them. */
TEST_CASE(settings_of_a_class)
{
    struct scratch s = scratch_new();
    struct err e = {0};
    struct env_setting list[] = {
        {"nccl", "NCCL_CROSS_NIC", "1", "measured on GPUs", "faster", 0},
        {"nccl", "NCCL_SOCKET_IFNAME", "=eth0", "topology", "cni0", 0, "thin"},
        {"nccl", "NCCL_SOCKET_IFNAME", "=eno1", "topology", "cni0", 0, "fat"},
    };
    struct env_decisions d = {.arena = s.arena, .tool = "0.1.0", .topology = "", .settings = list, .nsettings = 3};
    static const char *const classes[] = {NULL, "thin", "fat"};
    for (int c = 0; c < 3; c++) {
        struct env_writing w = {.decisions = &d, .dir = s.dir, .scratch = s.arena, .node_class = classes[c]};
        char *text;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);
        assert_int_equal(env_writer_of("nccl.conf")->write(&w, out, &e), 0);
        fclose(out);
        for (int i = 0; i < 3; i++) {
            const char *line = arena_printf(s.arena, "\n%s=%s\n", list[i].name, list[i].value);
            assert_true((strstr(text, line) != NULL) == (i == c));
        }
        free(text);
    }
    scratch_free(&s);
}

static char *source(struct scratch *s, const char *shell, const char *before)
{
    struct err e = {0};
    char *text = scratch_print(s, env_writer_of("nccl.sh")->write, s->dir, settings, 3, &e);
    int code;
    assert_non_null(text);
    scratch_write(s, "nccl.sh", text, strlen(text));
    char *out = scratch_run(
        s,
        arena_printf(s->arena, "env -i PATH=\"$PATH\" %s -c 'set -eu; %s; . \"%s/nccl.sh\"; env | grep ^NCCL_ || :'",
                     shell, before, s->dir),
        &code);
    assert_int_equal(code, 0);
    return out;
}

TEST_CASE(shells_export_the_settings)
{
    static const char *const shells[] = {"sh", "dash", "bash"};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        struct scratch s = scratch_new();
        assert_string_equal(source(&s, shells[i], ":"), "NCCL_SOCKET_IFNAME==eth0\n");
        assert_string_equal(source(&s, shells[i], "export NCCL_SOCKET_IFNAME=mine"), "NCCL_SOCKET_IFNAME=mine\n");
        assert_string_equal(source(&s, shells[i], "export NCCL_SOCKET_IFNAME=mine NCCLTUNE=force"),
                            "NCCL_SOCKET_IFNAME==eth0\n");
        assert_string_equal(source(&s, shells[i], "NCCLTUNE=off"), "");
        scratch_free(&s);
    }
}

TEST_CASE(bad_values_are_refused)
{
    static const char *const values[] = {"=eth0; reboot", "=eth0\nNCCL_DEBUG=INFO", "'", "", "$(id)"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct scratch s = scratch_new();
        struct err e = {0};
        struct env_setting bad = {"nccl", "NCCL_SOCKET_IFNAME", values[i], "topology", "", 0};
        assert_null(scratch_print(&s, env_writer_of("nccl.conf")->write, s.dir, &bad, 1, &e));
        assert_null(scratch_print(&s, env_writer_of("nccl.sh")->write, s.dir, &bad, 1, &e));
        assert_non_null(strstr(e.text, "NCCL_SOCKET_IFNAME"));
        scratch_free(&s);
    }
}

TEST_CASES(test_nccl)
