/* openmpi-mca-params.conf by OpenMPI's rules for such files, openmpi.sh by the shells' own. */
#include "envgen/write/write.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

static struct env_setting settings[] = {
    {"openmpi", "btl_tcp_if_include", "ib3", "measured on host memory", "ib3 is 4.00x\nrm -rf /", 0},
    {"openmpi", "coll_tuned_use_dynamic_rules", "1", "measured on host memory", "rules", 0},
    {"openmpi", "coll_tuned_dynamic_rules_filename", "openmpi.rules", "measured on host memory", "rules", 1},
    {"openmpi", "btl_tcp_links", NULL, "measured on host memory", "left\nalone", 0},
    {"nccl", "NCCL_SOCKET_IFNAME", "=eth0", "topology", "not for OpenMPI", 0},
};
#define NSETTINGS 5

TEST_CASE(conf_has_name_equals_value_lines)
{
    struct scratch s = scratch_new();
    struct err e = {0};
    char *text =
        scratch_print(&s, env_writer_of("openmpi-mca-params.conf")->write, "/opt/profile", settings, NSETTINGS, &e);
    assert_non_null(text);
    assert_non_null(strstr(text, "\nbtl_tcp_if_include = ib3\n"));
    assert_non_null(strstr(text, "\ncoll_tuned_use_dynamic_rules = 1\n"));
    assert_non_null(strstr(text, "\ncoll_tuned_dynamic_rules_filename = /opt/profile/openmpi.rules\n"));
    assert_non_null(strstr(text, "not an NCCL result"));
    assert_null(strstr(text, "NCCL_SOCKET_IFNAME"));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(*line == '#' || strstr(line, " = "));
    scratch_free(&s);
}

/* OpenMPI's file knows no quoting: such a path is left to openmpi.sh. */
TEST_CASE(conf_leaves_a_path_out_that_it_cannot_hold)
{
    struct scratch s = scratch_new();
    struct err e = {0};
    char *text =
        scratch_print(&s, env_writer_of("openmpi-mca-params.conf")->write, "/opt/my profile", settings, NSETTINGS, &e);
    assert_non_null(text);
    assert_null(strstr(text, "\ncoll_tuned_dynamic_rules_filename = "));
    assert_null(strstr(text, "my profile"));
    scratch_free(&s);
}

TEST_CASE(bad_names_and_values_are_refused)
{
    struct env_setting bad[] = {
        {"openmpi", "btl_tcp_if_include", "ib3\nrm", "", "", 0},
        {"openmpi", "btl_tcp_if_include", "$(id)", "", "", 0},
        {"openmpi", "btl_tcp_if_include", "a'b", "", "", 0},
        {"openmpi", "btl tcp", "x", "", "", 0},
        {"openmpi", "x;y", "x", "", "", 0},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct scratch s = scratch_new();
        struct err e = {0};
        assert_null(scratch_print(&s, env_writer_of("openmpi-mca-params.conf")->write, "/opt/profile", &bad[i], 1, &e));
        assert_true(*e.text);
        assert_null(scratch_print(&s, env_writer_of("openmpi.sh")->write, "/opt/profile", &bad[i], 1, &e));
        scratch_free(&s);
    }
}

/* Runs openmpi.sh in a shell under `set -eu` after `before`, and prints what OpenMPI's environment is then. */
static char *source(struct scratch *s, const char *shell, const char *dir, const char *before)
{
    struct err e = {0};
    char *text = scratch_print(s, env_writer_of("openmpi.sh")->write, dir, settings, NSETTINGS, &e);
    assert_non_null(text);
    scratch_write(s, "openmpi.sh", text, strlen(text));
    scratch_write(s, "openmpi.rules", "0\n", 2);
    int code;
    char *out = scratch_run(s,
                            arena_printf(s->arena,
                                         "cd / && env -i PATH=\"$PATH\" %s -c 'set -eu; %s; . \"%s/openmpi.sh\"; "
                                         "env | grep ^OMPI | sort; echo end=${nccltune_dir-gone}'",
                                         shell, before, s->dir),
                            &code);
    assert_int_equal(code, 0);
    return out;
}

#define ALL(dir)                                                                                     \
    "OMPI_MCA_btl_tcp_if_include=ib3\nOMPI_MCA_coll_tuned_dynamic_rules_filename=%s/openmpi.rules\n" \
    "OMPI_MCA_coll_tuned_use_dynamic_rules=1\nend=gone\n",                                           \
        (dir)

TEST_CASE(shells_export_the_settings)
{
    static const char *const shells[] = {"sh", "dash", "bash", "bash --posix"};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        struct scratch s = scratch_new();
        assert_string_equal(source(&s, shells[i], s.dir, ":"), arena_printf(s.arena, ALL(s.dir)));
        scratch_free(&s);
    }
}

/* bash finds the rules beside the script even when the directory has moved; dash then leaves them out. */
TEST_CASE(a_profile_that_has_moved)
{
    struct scratch s = scratch_new();
    assert_string_equal(source(&s, "bash", "/nowhere/it's $HOME", ":"), arena_printf(s.arena, ALL(s.dir)));
    char *out = source(&s, "dash", "/nowhere/it's $HOME", ":");
    assert_null(strstr(out, "filename"));
    assert_non_null(strstr(out, "OMPI_MCA_btl_tcp_if_include=ib3"));
    scratch_free(&s);
}

TEST_CASE(what_the_user_has_set_stays)
{
    struct scratch s = scratch_new();
    char *out = source(&s, "dash", s.dir, "export OMPI_MCA_btl_tcp_if_include=mine");
    assert_non_null(strstr(out, "OMPI_MCA_btl_tcp_if_include=mine\n"));
    out = source(&s, "dash", s.dir, "export OMPI_MCA_btl_tcp_if_include=");
    assert_non_null(strstr(out, "OMPI_MCA_btl_tcp_if_include=\n"));
    /* OpenMPI refuses to have both */
    out = source(&s, "dash", s.dir, "export OMPI_MCA_btl_tcp_if_exclude=lo");
    assert_null(strstr(out, "if_include"));
    out = source(&s, "dash", s.dir, "NCCLTUNE=off");
    assert_string_equal(out, "end=gone\n");
    scratch_free(&s);
}

TEST_CASE(a_path_with_control_characters_is_refused)
{
    struct scratch s = scratch_new();
    struct err e = {0};
    assert_null(scratch_print(&s, env_writer_of("openmpi.sh")->write, "/a\nb", settings, NSETTINGS, &e));
    assert_non_null(strstr(e.text, "control characters"));
    scratch_free(&s);
}

TEST_CASES(test_openmpi)
