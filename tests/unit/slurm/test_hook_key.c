/* A job's key: the same on all nodes, another for every job and user, and nobody else's to read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/slurm/one_store.h"

#define SECRET "0123456789abcdef0123456789abcdef\n"

static struct hook_report report;
static struct hook_why why;

static int set_up(void **state)
{
    static const char *const clean[] = {"NCCLTUNE", "NCCLTUNE_SET", "NCCLTUNE_KEY", "NCCLTUNE_ONLINE_KEY_FILE",
                                        "SLURM_HET_JOB_ID"};
    (void)state;
    for (size_t i = 0; i < sizeof clean / sizeof *clean; i++)
        unsetenv(clean[i]);
    setenv("SLURMD_NODENAME", "n0", 1);
    setenv("SLURM_JOB_NODELIST", "n0", 1);
    setenv("SLURM_JOB_NUM_NODES", "1", 1);
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("SLURM_JOB_UID", "0", 1);
    untrusted = store_new(&store) || getuid() != 0;
    why = (struct hook_why){""};
    store_write(&store, "secret", SECRET);
    chmod(store.path, 0400);
    if (snprintf(store.conf.key, sizeof store.conf.key, "%s", store.path) >= HOOK_ROOT)
        return -1;
    return 0;
}

static const char *key_of(const char *job)
{
    static struct hook_key keys[8];
    static int n;
    struct hook_key *k = &keys[n++ % 8];
    assert_int_equal(hook_key_make(&store.conf, job, k, &why), 0);
    assert_true(hook_is_hash(k->hex));
    return k->hex;
}

static void one_for_each_job_and_user(void **state)
{
    (void)state;
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    const char *first = key_of("7");
    assert_string_equal(first,
                        "5c19136f922584b752537e6e9c244ec4778a04c7398281a94500cce61922782e"); /* nodes of another release
                                                                                                make the same */
    setenv("SLURMD_NODENAME", "n1", 1);
    assert_string_equal(key_of("7"), first);
    assert_string_not_equal(key_of("8"), first);
    setenv("SLURM_JOB_UID", "1000", 1);
    assert_string_not_equal(key_of("7"), first);
    setenv("SLURM_JOB_UID", "0", 1);
    chmod(store_path(&store, "secret"), 0600);
    store_write(&store, "secret", "1" SECRET);
    chmod(store.path, 0400);
    assert_string_not_equal(key_of("7"), first);
}

static void refuses(const char *words)
{
    struct hook_key k;
    why = (struct hook_why){""};
    assert_int_equal(hook_key_make(&store.conf, "7", &k, &why), -1);
    assert_string_equal(k.hex, "");
    if (!strstr(why.text, words))
        fail_msg("'%s' is not in '%s'", words, why.text);
}

static void no_secret_no_key(void **state)
{
    struct hook_key k;
    (void)state;
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    chmod(store_path(&store, "secret"), 0440);
    refuses("can be read by others (mode 440)");
    chmod(store.path, 0404);
    refuses("can be read by others");
    chmod(store.path, 0400);
    assert_int_equal(chown(store.path, 12345, (gid_t)-1), 0);
    refuses("belongs to user 12345");
    store_write(&store, "secret", "too short");
    chmod(store.path, 0400);
    assert_int_equal(chown(store.path, 0, (gid_t)-1), 0);
    refuses("a secret has 32 at least");
    setenv("SLURM_JOB_UID", "root", 1);
    refuses("SLURM_JOB_UID");
    unsetenv("SLURM_JOB_UID");
    refuses("SLURM_JOB_UID");
    store.conf.key[0] = 0; /* as on most sites */
    assert_int_equal(hook_key_make(&store.conf, "7", &k, &why), 0);
    assert_string_equal(k.hex, "");
}

static struct hook_options options(void)
{
    static char conf[1024], run[1024];
    char text[2048];
    snprintf(text, sizeof text, "store=%s\nkey=%s\n", store.conf.store, store.conf.key);
    store_write(&store, "slurm.conf", text);
    snprintf(conf, sizeof conf, "%s", store.path);
    snprintf(run, sizeof run, "%s", store_path(&store, "run"));
    return (struct hook_options){.conf = conf, .sysfs = "/nowhere", .run = run, .limit_ms = 1000};
}

static void prolog(const struct hook_options *o)
{
    memset(&report, 0, sizeof report);
    hook_prolog(o, &report);
    assert_int_equal(hook_answer_write(o->run, "7", report.out, &why), 0);
    assert_int_equal(hook_key_write(o->run, "7", &report.key, &why), 0);
}

static const char *task(const struct hook_options *o)
{
    memset(&report, 0, sizeof report);
    hook_task(o, &report);
    return report.out;
}

static void the_jobs_user_alone_reads_it(void **state)
{
    struct stat st;
    (void)state;
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    const struct hook_options o = options();
    setenv("SLURM_JOB_UID", "12345", 1);
    prolog(&o);
    assert_null(strstr(report.out, report.key.hex)); /* what all may read */
    assert_int_equal(stat(store_path(&store, "run/7.key"), &st), 0);
    assert_int_equal(st.st_uid, 12345);
    assert_int_equal(st.st_mode & 0777, 0400);
    assert_null(strstr(task(&o), "NCCLTUNE_KEY")); /* a file of somebody else's is no key of this user's */
    hook_key_remove(o.run, "7");
    assert_int_equal(stat(store.path, &st), -1);
}

static void tasks_get_it(void **state)
{
    char line[128];
    (void)state;
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    const struct hook_options o = options();
    prolog(&o);
    snprintf(line, sizeof line, "export NCCLTUNE_KEY=%s\n", report.key.hex);
    assert_non_null(strstr(task(&o), line));
    setenv("NCCLTUNE", "explain", 1);
    assert_non_null(strstr(task(&o), line));
    const char *said = strstr(report.out, "print nccltune: NCCLTUNE_KEY");
    assert_null(said);
    setenv("NCCLTUNE", "off", 1);
    assert_string_equal(task(&o), "");
    unsetenv("NCCLTUNE");
    setenv("NCCLTUNE_KEY", "the user's", 1);
    assert_null(strstr(task(&o), "NCCLTUNE_KEY"));
    unsetenv("NCCLTUNE_KEY");
    setenv("NCCLTUNE_ONLINE_KEY_FILE", "/home/user/key", 1);
    assert_null(strstr(task(&o), "NCCLTUNE_KEY"));
    unsetenv("NCCLTUNE_ONLINE_KEY_FILE");
    setenv("NCCLTUNE_KEY", "of another job", 1); /* in which this one was started */
    setenv("NCCLTUNE_SET", "NCCLTUNE_KEY=of another job", 1);
    assert_non_null(strstr(task(&o), line));
    hook_key_remove(o.run, "7");
    assert_non_null(strstr(task(&o), "unset NCCLTUNE_KEY\n"));
}

static void what_is_wrong_is_logged(void **state)
{
    (void)state;
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    const struct hook_options o = options();
    chmod(store_path(&store, "secret"), 0444);
    prolog(&o);
    assert_string_equal(report.key.hex, "");
    assert_non_null(strstr(report.log, "can be read by others"));
    assert_null(strstr(task(&o), "NCCLTUNE_KEY"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_for_each_job_and_user, set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(no_secret_no_key, set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(the_jobs_user_alone_reads_it, set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(tasks_get_it, set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_logged, set_up, store_tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
