/* What a task gets: the profile's settings, less what is the user's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/slurm/store.h"

#define HCA   "export NCCL_IB_HCA==mlx5_0:1,mlx5_1:1\n"
#define QPS   "export NCCL_IB_QPS_PER_CONNECTION=4\n"
#define SET_A "NCCL_IB_QPS_PER_CONNECTION=4|NCCL_IB_HCA==mlx5_0:1,mlx5_1:1"

static struct store store;
static int untrusted;
static char *profile, *table; /* the three lines of the table; its part of NCCLTUNE_SET */
static struct hook_report report;

static int set_up(void **state)
{
    static const char *const clean[] = {
        "NCCLTUNE",          "NCCLTUNE_SET",           "NCCL_IB_HCA",      "NCCL_IB_QPS_PER_CONNECTION",
        "NCCL_TUNER_PLUGIN", "NCCL_TUNER_CONFIG_FILE", "NCCLTUNE_PROFILE", "NCCLTUNE_HASH",
        "SLURM_HET_SIZE",    "SLURM_JOB_START_TIME"};
    struct sha256 sha;
    char hex[SHA256_HEX], conf[2048];
    static const char csv[] = "allreduce,0,-1,ring,simple,4,-1,-1\n";
    (void)state;
    for (size_t i = 0; i < sizeof clean / sizeof *clean; i++)
        unsetenv(clean[i]);
    setenv("SLURMD_NODENAME", "n0", 1);
    setenv("SLURM_JOB_NODELIST", "n[0-2]", 1);
    untrusted = store_new(&store) || getuid() != 0;
    snprintf(conf, sizeof conf, "store=%s\nplugin=%s\n", store.conf.store, store.conf.plugin);
    store_write(&store, "slurm.conf", conf);
    sha256_init(&sha);
    sha256_update(&sha, csv, sizeof csv - 1);
    sha256_hex(&sha, hex);
    if (asprintf(&profile,
                 "export NCCL_TUNER_PLUGIN=%s\nexport NCCLTUNE_PROFILE=%s/profiles/" STORE_HASH
                 "\nexport NCCLTUNE_HASH=%s\n",
                 store.conf.plugin, store.conf.store, hex) < 0 ||
        asprintf(&table, "|NCCL_TUNER_PLUGIN=%s|NCCLTUNE_PROFILE=%s/profiles/" STORE_HASH "|NCCLTUNE_HASH=%s",
                 store.conf.plugin, store.conf.store, hex) < 0)
        return -1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(profile);
    free(table);
    store_free(&store);
    return 0;
}

static const char *output(void)
{
    struct hook_options o = {.conf = store_path(&store, "slurm.conf"), .sysfs = "/sys"};
    memset(&report, 0, sizeof report);
    hook_task(&o, &report);
    assert_true(report.done);
    return report.out;
}

static void expect(const char *fmt, ...)
{
    char *want;
    va_list args;
    va_start(args, fmt);
    assert_true(vasprintf(&want, fmt, args) >= 0);
    va_end(args);
    assert_string_equal(output(), want);
    free(want);
}

static void need_trust(void)
{
    if (untrusted)
        skip();
}

static void all_of_it(void **state)
{
    (void)state;
    need_trust();
    expect(QPS HCA "%sexport NCCLTUNE_SET=" SET_A "%s\n", profile, table);
    assert_string_equal(report.log, "");
    setenv("SLURMD_NODENAME", "n2", 1); /* class b has no file of its own */
    expect(QPS "%sexport NCCLTUNE_SET=NCCL_IB_QPS_PER_CONNECTION=4%s\n", profile, table);
}

static void the_user_wins(void **state)
{
    (void)state;
    need_trust();
    setenv("NCCL_IB_HCA", "mine", 1);
    expect(QPS "%sexport NCCLTUNE_SET=NCCL_IB_QPS_PER_CONNECTION=4%s\n", profile, table);
    setenv("NCCL_IB_HCA", "", 1); /* empty is a choice, too */
    expect(QPS "%sexport NCCLTUNE_SET=NCCL_IB_QPS_PER_CONNECTION=4%s\n", profile, table);
}

static void a_users_table(void **state)
{
    static const char *const names[] = {"NCCL_TUNER_PLUGIN", "NCCL_TUNER_CONFIG_FILE", "NCCLTUNE_PROFILE",
                                        "NCCLTUNE_HASH"};
    (void)state;
    need_trust();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        setenv(names[i], "/mine", 1);
        expect(QPS HCA "export NCCLTUNE_SET=" SET_A "\n");
        unsetenv(names[i]);
    }
}

static void what_a_hook_set(void **state)
{
    char *set;
    (void)state;
    need_trust();
    /* The batch script ran on n2, and its user changed one value since. */
    assert_true(asprintf(&set, "NCCL_IB_QPS_PER_CONNECTION=2|NCCL_CROSS_NIC=1|NCCL_IB_TC=3%s", table) >= 0);
    setenv("NCCLTUNE_SET", set, 1);
    free(set);
    setenv("NCCL_IB_QPS_PER_CONNECTION", "2", 1);
    setenv("NCCL_CROSS_NIC", "1", 1);
    setenv("NCCL_IB_TC", "4", 1);
    expect(QPS HCA "%sunset NCCL_CROSS_NIC\nexport NCCLTUNE_SET=" SET_A "%s\n", profile, table);
    setenv("NCCL_IB_QPS_PER_CONNECTION", "8", 1);
    expect(HCA "%sunset NCCL_CROSS_NIC\nexport NCCLTUNE_SET=NCCL_IB_HCA==mlx5_0:1,mlx5_1:1%s\n", profile, table);
    setenv("NCCLTUNE", "off", 1);
    expect("unset NCCL_CROSS_NIC\nunset NCCLTUNE_SET\n");
}

static void a_pinned_profile_stays(void **state)
{
    char pinned[1024];
    (void)state;
    need_trust();
    snprintf(pinned, sizeof pinned, "NCCLTUNE_PROFILE=%s/profiles/" STORE_HASH, store.conf.store);
    setenv("NCCLTUNE_SET", pinned, 1);
    setenv("NCCLTUNE_PROFILE", strchr(pinned, '=') + 1, 1);
    store_write(&store, "schedule", "1 none all\n");
    expect(QPS HCA "%sexport NCCLTUNE_SET=" SET_A "%s\n", profile, table);
    /* Without the list it is the user's own. */
    unsetenv("NCCLTUNE_SET");
    expect("");
}

static void nothing_at_all(void **state)
{
    static const struct {
        const char *file, *text, *why;
    } table_of[] = {
        {"schedule", "broken\n", "schedule:1: expected"},
        {"slurm.conf", "nonsense\n", "slurm.conf:1: expected"},
        {"profiles/" STORE_HASH "/hook.map", "", "expected 'nccltune-hook/1'"},
        {"profiles/" STORE_HASH "/tuner.csv", "allreduce,0,-1,tree,ll,4,-1,-1\n", "not what was installed"},
        {"profiles/" STORE_HASH "/nccl.conf", "", "not what was installed"},
    };
    (void)state;
    need_trust();
    for (size_t i = 0; i < sizeof table_of / sizeof *table_of; i++) {
        tear_down(state);
        set_up(state);
        store_write(&store, table_of[i].file, table_of[i].text);
        expect("");
        if (!strstr(report.log, table_of[i].why))
            fail_msg("%s: %s", table_of[i].file, report.log);
    }
    tear_down(state);
    set_up(state);
    setenv("SLURM_JOB_NODELIST", "n[0-3]", 1);
    expect("");
    assert_non_null(strstr(report.log, "do not go together"));
    setenv("SLURM_JOB_NODELIST", "n[0-2],elsewhere", 1);
    setenv("NCCLTUNE", "explain", 1);
    expect("print nccltune: nothing is set: node elsewhere is not in the profile\n");
    setenv("NCCLTUNE", "off", 1);
    expect("");
    assert_string_equal(report.log, "");
}

static void explains(void **state)
{
    (void)state;
    need_trust();
    setenv("NCCLTUNE", "explain", 1);
    setenv("NCCL_IB_HCA", "mine", 1);
    const char *out = output();
    assert_non_null(strstr(out, "print nccltune: profile aaaaaaaaaaaa, this node is of class a\n"));
    assert_non_null(
        strstr(out, "print nccltune: NCCL_IB_HCA stays as you set it (the profile has =mlx5_0:1,mlx5_1:1)\n"));
    assert_non_null(strstr(out, QPS "print nccltune: NCCL_IB_QPS_PER_CONNECTION=4\n"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {TEST(all_of_it),       TEST(the_user_wins),          TEST(a_users_table),
                                       TEST(what_a_hook_set), TEST(a_pinned_profile_stays), TEST(nothing_at_all),
                                       TEST(explains)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
