/* Which job this is, by Slurm's variables and by a squeue of this test's own. */
#include <time.h>

#include "tests/lib/unit.h"
#include "tests/unit/slurm/one_store.h"

static int set_up(void **state)
{
    unsetenv("SLURM_HET_JOB_ID");
    unsetenv("SLURM_NODELIST");
    setenv("SLURM_JOB_ID", "12", 1);
    setenv("SLURM_JOB_PARTITION", "main", 1);
    setenv("SLURM_JOB_NODELIST", "n[1-2]", 1);
    setenv("SLURMD_NODENAME", "n1", 1);
    setenv("SLURM_JOB_START_TIME", "1234", 1);
    untrusted = store_new(&store);
    snprintf(store.conf.scontrol, sizeof store.conf.scontrol, "%s/scontrol", store.root);
    return 0;
}

TEST_CASE(variables)
{
    struct err why = {0};
    struct hook_job job;
    assert_int_equal(hook_job_from_environment(&job, &why), 0);
    assert_string_equal(job.id, "12");
    assert_int_equal(job.start, 1234);
    assert_int_equal(job.start_known, 1);
    assert_int_equal(hook_job_nodes(&job, &why), 2);
    setenv("SLURM_HET_JOB_ID", "11", 1);
    assert_int_equal(hook_job_from_environment(&job, &why), 0);
    assert_string_equal(job.id, "11");
    assert_string_equal(job.part, "12");
    unsetenv("SLURM_JOB_START_TIME");
    unsetenv("SLURM_JOB_NODELIST");
    setenv("SLURM_NODELIST", "n3", 1); /* Slurm 22.05 */
    assert_int_equal(hook_job_from_environment(&job, &why), 0);
    assert_int_equal(job.start_known, 0);
    assert_string_equal(job.lists[0], "n3");
}

TEST_CASE(refuses)
{
    static const char *const wrong[][2] = {{"SLURM_JOB_START_TIME", "soon"},
                                           {"SLURM_JOB_ID", "../12"},
                                           {"SLURM_JOB_ID", ""},
                                           {"SLURMD_NODENAME", "a/b"},
                                           {"SLURM_JOB_NODELIST", ""}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct err why = {0};
        struct hook_job job;
        setenv(wrong[i][0], wrong[i][1], 1);
        if (hook_job_from_environment(&job, &why) != -1 || !why.text[0])
            fail_msg("%s=%s was taken", wrong[i][0], wrong[i][1]);
        store_tear_down(state);
        set_up(state);
    }
}

/* ask ANSWER: as if squeue printed it. */
static int ask(const char *answer, struct hook_job *job, struct err *w)
{
    char script[1024];
    snprintf(script, sizeof script,
             "#!/bin/sh\n[ \"$SLURM_TIME_FORMAT\" = %%s ] && [ -z \"$HOME\" ] && "
             "[ \"$SLURM_CONF\" = '%s' ] && printf '%%b' '%s'\n",
             getenv("SLURM_CONF") ? getenv("SLURM_CONF") : "", answer);
    store_write(&store, "squeue", script);
    chmod(store_path(&store, "squeue"), 0755);
    w->text[0] = 0;
    assert_int_equal(hook_job_from_environment(job, w), 0);
    return hook_job_ask(&store.conf, job, w);
}

TEST_CASE(asks)
{
    struct err why;
    struct hook_job job;
    unsetenv("SLURM_JOB_START_TIME");
    /* The other jobs of an array are not this one, and some have no nodes yet. */
    assert_int_equal(ask("9 main N/A \\n12 canary 5678 n[1-2]\\n13 main 99 n7\\n", &job, &why), 0);
    assert_int_equal(job.start, 5678);
    assert_int_equal(job.start_known, 1);
    assert_string_equal(job.partition, "canary");
    assert_int_equal(job.nlists, 1);
    assert_string_equal(job.lists[0], "n[1-2]");
    hook_job_free(&job);
    setenv("SLURM_CONF", "/etc/slurm/other.conf", 1);
    setenv("SLURM_HET_JOB_ID", "11", 1);
    assert_int_equal(ask("11 main 100 m[1-3]\\n12 other 101 n1\\n", &job, &why), 0);
    assert_int_equal(job.start, 100);
    assert_string_equal(job.partition, "main");
    assert_int_equal(hook_job_nodes(&job, &why), 4);
    hook_job_free(&job);
    unsetenv("SLURM_CONF");
    /* Nor does a part without nodes count for nothing. */
    static const char *const bad[] = {"", "nonsense\\n", "11 main soon m1\\n", "11 main 100 m1\\n12 main N/A \\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (ask(bad[i], &job, &why) != -1 || !why.text[0])
            fail_msg("'%s' was taken", bad[i]);
        hook_job_free(&job);
    }
    store_write(&store, "squeue", "#!/bin/sh\nexit 1\n");
    why.text[0] = 0;
    assert_int_equal(hook_job_ask(&store.conf, &job, &why), -1);
    assert_string_equal(why.text, "squeue failed for job 11");
    hook_job_free(&job);
}

/* Near a change of profiles squeue's word on the job's start decides; a part of a job may be its only node. */
TEST_CASE(decides_by_what_it_is_told)
{
    static struct hook_answer a;
    struct err why;
    struct hook_job job;
    struct hook_map *m;
    char schedule[256];
    if (untrusted)
        skip();
    unsetenv("SLURM_JOB_START_TIME");
    snprintf(schedule, sizeof schedule, "1000 none all\n%lld " STORE_HASH " all\n", (long long)time(NULL) - 60);
    store_write(&store, "schedule", schedule);
    assert_int_equal(ask("12 main 5678 n[1-2]\\n", &job, &why), 0);
    job.start_known = 0;
    job.start = time(NULL);
    hook_decide(&store.conf, NULL, &job, &a, &m);
    assert_int_equal(a.state, HOOK_NOTHING);
    assert_string_equal(a.why, "no profile is scheduled for this job");
    assert_int_equal(a.nodes, 2);
    hook_job_free(&job);
    snprintf(schedule, sizeof schedule, "12 main %lld n1\\n", (long long)time(NULL));
    setenv("SLURM_HET_JOB_ID", "12", 1);
    assert_int_equal(ask(schedule, &job, &why), 0);
    hook_decide(&store.conf, NULL, &job, &a, &m);
    assert_int_equal(a.state, HOOK_TUNED);
    assert_string_equal(a.hash, STORE_HASH);
    assert_int_equal(a.nodes, 1);
    hook_map_free(m);
    hook_job_free(&job);
}

TEST_CASES_EACH(test_hook_job, set_up, store_tear_down)
