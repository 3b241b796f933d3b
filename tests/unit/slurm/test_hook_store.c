/* Which profile a job gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/slurm/store.h"

#define A STORE_HASH
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct store store;
static int untrusted;

static int set_up(void **state)
{
    (void)state;
    untrusted = store_new(&store);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store_free(&store);
    return 0;
}

static struct hook_job job_of(const char *list, const char *partition, long long start)
{
    return (struct hook_job){.lists = {list}, .nlists = 1, .partition = partition, .node = "n1", .start = start};
}

static void expect(const char *schedule, struct hook_job job, const char *hash)
{
    struct hook_why why = {""};
    char found[SHA256_HEX];
    store_write(&store, "schedule", schedule);
    int rc = hook_choose(&store.conf, &job, found, &why);
    if (hash && (rc || strcmp(found, hash) != 0))
        fail_msg("'%s': found '%s' (%s)", schedule, found, why.text);
    if (!hash && (rc != -1 || !why.text[0]))
        fail_msg("'%s' was taken", schedule);
}

static void chooses(void **state)
{
    (void)state;
    if (untrusted)
        skip();
    expect("", job_of("n1", "main", 500), "");
    expect("# a comment\n\n100 " A " all\n", job_of("n1", "main", 500), A);
    expect("100 " A " all\n500 " B " all\n", job_of("n1", "main", 499), A);
    expect("100 " A " all\n500 " B " all\n", job_of("n1", "main", 500), B);
    expect("100 " A " all\n200 none all\n", job_of("n1", "main", 500), "");
    expect("100 " A " all\n200 " B " partition=canary\n", job_of("n1", "main", 500), A);
    expect("100 " A " all\n200 " B " partition=canary\n", job_of("n1", "canary", 500), B);
    expect("100 " A " all\n200 " B " partition=canary\n", job_of("n1", NULL, 500), A);
    expect("100 " A " all\n200 " B " nodes=n[1-4]\n", job_of("n[2-4]", "main", 500), B);
    expect("100 " A " all\n200 " B " nodes=n[1-4]\n", job_of("n[2-5]", "main", 500), A);
    expect("200 " B " nodes=n1,n2\n300 " A " all\n", job_of("n1", "main", 500), A);
}

static void refuses(void **state)
{
    static const char *const bad[] = {
        "100 " A " all",
        "100 " A "\n",
        "100 " A " all more\n",
        "x " A " all\n",
        "-1 " A " all\n",
        "100 abc all\n",
        "100 " A " everything\n",
        "100  " A " all\n",
        "100 " A " nodes=n[1\n",
        "100 " A " nodes=\n",
        "99999999999999999999 " A " all\n",
        "100 ../../../etc all\n",
    };
    (void)state;
    if (untrusted)
        skip();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect(bad[i], job_of("n1", "main", 500), NULL);
}

static void nothing_installed(void **state)
{
    struct hook_why why = {""};
    struct hook_job job = job_of("n1", "main", 500);
    char found[SHA256_HEX];
    (void)state;
    unlink(store_path(&store, "schedule"));
    assert_int_equal(hook_choose(&store.conf, &job, found, &why), 0);
    assert_string_equal(found, "");
}

static void job_variables(void **state)
{
    struct hook_why why = {""};
    struct hook_job job;
    (void)state;
    setenv("SLURMD_NODENAME", "n1", 1);
    unsetenv("SLURM_JOB_NODELIST");
    unsetenv("SLURM_NODELIST");
    assert_int_equal(hook_job_from_environment(&job, &why), -1);
    setenv("SLURM_JOB_NODELIST", "n[1-2]", 1);
    setenv("SLURM_JOB_START_TIME", "1234", 1);
    why.text[0] = 0;
    assert_int_equal(hook_job_from_environment(&job, &why), 0);
    assert_int_equal(job.start, 1234);
    assert_int_equal(job.nlists, 1);
    setenv("SLURM_HET_SIZE", "2", 1);
    setenv("SLURM_JOB_NODELIST_HET_GROUP_0", "n1", 1);
    assert_int_equal(hook_job_from_environment(&job, &why), -1);
    why.text[0] = 0;
    setenv("SLURM_JOB_NODELIST_HET_GROUP_1", "m1", 1);
    assert_int_equal(hook_job_from_environment(&job, &why), 0);
    assert_int_equal(job.nlists, 2);
    assert_string_equal(job.lists[1], "m1");
    setenv("SLURM_JOB_START_TIME", "soon", 1);
    assert_int_equal(hook_job_from_environment(&job, &why), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(chooses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_installed, set_up, tear_down),
        cmocka_unit_test(job_variables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
