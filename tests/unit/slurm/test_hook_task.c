/* What a task gets: what the prolog has decided, less what is the user's; and what it does when nodes disagree. */
#include "tests/lib/unit.h"
#include "tests/unit/slurm/one_store.h"

#define HCA   "export NCCL_IB_HCA==mlx5_0:1,mlx5_1:1\n"
#define QPS   "export NCCL_IB_QPS_PER_CONNECTION=4\n"
#define PIN   "|NCCLTUNE_JOB=7:" STORE_HASH
#define NONE  "export NCCLTUNE_SET=NCCLTUNE_JOB=7:-\n"
#define SET_A "NCCL_IB_QPS_PER_CONNECTION=4|NCCL_IB_HCA==mlx5_0:1,mlx5_1:1"

static char *profile, *table; /* the three lines of the table; its part of NCCLTUNE_SET */
static struct hook_report report;

static int set_up(void **state)
{
    static const char *const clean[] = {"NCCLTUNE",
                                        "NCCLTUNE_SET",
                                        "NCCL_IB_HCA",
                                        "NCCL_IB_QPS_PER_CONNECTION",
                                        "NCCL_TUNER_PLUGIN",
                                        "NCCL_TUNER_CONFIG_FILE",
                                        "NCCLTUNE_PROFILE",
                                        "NCCLTUNE_HASH",
                                        "SLURM_HET_JOB_ID",
                                        "SLURM_JOB_START_TIME",
                                        "NCCL_ENV_PLUGIN",
                                        "NCCLTUNE_REFUSE",
                                        "SLURM_LOCALID",
                                        "NCCL_NET",
                                        "SLURM_STEP_NODELIST",
                                        "SLURM_STEP_NUM_NODES",
                                        "SLURM_STEP_NUM_TASKS"};
    struct sha256 sha;
    char hex[SHA256_HEX], conf[2048];
    static const char csv[] = "allreduce,0,-1,ring,simple,4,-1,-1\n";
    for (size_t i = 0; i < sizeof clean / sizeof *clean; i++)
        unsetenv(clean[i]);
    setenv("SLURMD_NODENAME", "n0", 1);
    setenv("SLURM_JOB_NODELIST", "n[0-2]", 1);
    setenv("SLURM_JOB_NUM_NODES", "3", 1);
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("SLURM_STEP_ID", "0", 1);
    setenv("SLURM_JOB_START_TIME", "9000", 1);
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
    free(profile);
    free(table);
    return store_tear_down(state);
}

static struct hook_options options(void)
{
    static char conf[1024], run[1024];
    snprintf(conf, sizeof conf, "%s/slurm.conf", store.root);
    snprintf(run, sizeof run, "%s/run", store.root);
    return (struct hook_options){.conf = conf, .sysfs = "/nowhere", .run = run, .limit_ms = 1000};
}

/* The job's prolog on this node. */
static void prolog(void)
{
    const struct hook_options o = options();
    struct err why = {0};
    char id[HOOK_WORD];
    memset(&report, 0, sizeof report);
    hook_prolog(&o, &report);
    assert_true(report.done);
    assert_int_equal(hook_job_id(id), 0);
    assert_int_equal(hook_answer_write(o.run, id, report.out, &why), 0);
}

/* A task alone. */
static const char *task(void)
{
    const struct hook_options o = options();
    memset(&report, 0, sizeof report);
    hook_task(&o, &report);
    assert_true(report.done);
    return report.out;
}

/* What is too much for Slurm is nothing, to the last byte. */
TEST_CASE(fits_or_is_nothing)
{
    const struct hook_options o = options();
    struct err why = {0};
    char *answer = malloc(2 * HOOK_OUTPUT);
    if (untrusted) {
        free(answer);
        skip();
    }
    for (int last = 0, fits = 1; fits; last++) {
        int n = sprintf(answer,
                        "nccltune-job/1\nnodes 1\nmixed 0\npolicy default\nstate profile\nprofile " STORE_HASH "\n");
        assert_true(last < 1000);
        for (int i = 0; i < 18; i++)
            n += sprintf(answer + n, "common NCCL_TEST_%d=%0*d\n", i, i ? 900 : 300 + last, 1);
        strcpy(answer + n, "end\n");
        assert_int_equal(hook_answer_write(o.run, "7", answer, &why), 0);
        fits = task()[0] != 0;
        assert_int_equal(report.reason[0], 0); /* which lies behind it */
        size_t bytes = strlen(report.out);
        assert_true(last || fits);
        if (fits)
            assert_int_equal(report.out[bytes - 1], '\n');
        else
            assert_string_equal(report.log, "nothing is set: more output than Slurm reads");
    }
    free(answer);
}

static const char *output(void)
{
    prolog();
    return task();
}

/* As if the last output had become this process's environment. */
static void apply(void)
{
    char *cursor = report.out, *line;
    while ((line = hook_line(&cursor))) {
        char *value = strchr(line, '=');
        if (!strncmp(line, "unset ", 6)) {
            unsetenv(line + 6);
        } else if (!strncmp(line, "export ", 7) && value) {
            *value = 0;
            setenv(line + 7, value + 1, 1);
        }
    }
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
        skip_because(NEEDS_OWN_STORE);
}

TEST_CASE(all_of_it)
{
    need_trust();
    expect(QPS HCA "%sexport NCCLTUNE_SET=" SET_A "%s" PIN "\n", profile, table);
    assert_string_equal(report.log, "");
    setenv("SLURMD_NODENAME", "n2", 1); /* class b has no file of its own */
    expect(QPS "%sexport NCCLTUNE_SET=NCCL_IB_QPS_PER_CONNECTION=4%s" PIN "\n", profile, table);
}

TEST_CASE(the_user_wins)
{
    need_trust();
    setenv("NCCL_IB_HCA", "mine", 1);
    expect(QPS "%sexport NCCLTUNE_SET=NCCL_IB_QPS_PER_CONNECTION=4%s" PIN "\n", profile, table);
    setenv("NCCL_IB_HCA", "", 1); /* empty is a choice, too */
    expect(QPS "%sexport NCCLTUNE_SET=NCCL_IB_QPS_PER_CONNECTION=4%s" PIN "\n", profile, table);
}

TEST_CASE(a_users_table)
{
    static const char *const names[] = {"NCCL_TUNER_PLUGIN", "NCCL_TUNER_CONFIG_FILE", "NCCLTUNE_PROFILE",
                                        "NCCLTUNE_HASH"};
    need_trust();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        setenv(names[i], "/mine", 1);
        expect(QPS HCA "export NCCLTUNE_SET=" SET_A PIN "\n");
        unsetenv(names[i]);
    }
}

TEST_CASE(what_a_hook_set)
{
    char *set;
    need_trust();
    /* The batch script ran on n2, and its user changed one value since. */
    assert_true(asprintf(&set, "NCCL_IB_QPS_PER_CONNECTION=2|NCCL_CROSS_NIC=1|NCCL_IB_TC=3%s", table) >= 0);
    setenv("NCCLTUNE_SET", set, 1);
    free(set);
    setenv("NCCL_IB_QPS_PER_CONNECTION", "2", 1);
    setenv("NCCL_CROSS_NIC", "1", 1);
    setenv("NCCL_IB_TC", "4", 1);
    expect(QPS HCA "%sunset NCCL_CROSS_NIC\nexport NCCLTUNE_SET=" SET_A "%s" PIN "\n", profile, table);
    setenv("NCCL_IB_QPS_PER_CONNECTION", "8", 1);
    expect(HCA "%sunset NCCL_CROSS_NIC\nexport NCCLTUNE_SET=NCCL_IB_HCA==mlx5_0:1,mlx5_1:1%s" PIN "\n", profile, table);
    setenv("NCCLTUNE", "off", 1);
    expect("unset NCCL_CROSS_NIC\nunset NCCLTUNE_SET\n");
}

/* The schedule is read by the prolog alone: what changes afterwards is for the next job. */
TEST_CASE(decided_once)
{
    need_trust();
    prolog();
    store_write(&store, "schedule", "1 none all\n");
    assert_non_null(strstr(task(), QPS HCA));
    store_write(&store, "profiles/" STORE_HASH "/tuner.csv", "half");
    assert_non_null(strstr(task(), QPS HCA));
}

/* A script's exports reach the next node's task; there the same, nothing, another profile and no answer wait. */
TEST_CASE(what_the_first_node_decided)
{
    const struct hook_options o = options();
    char path[2048];
    need_trust();
    output();
    apply();
    setenv("SLURMD_NODENAME", "n1", 1);
    expect(QPS HCA "%sexport NCCLTUNE_SET=" SET_A "%s" PIN "\n", profile, table);
    store_write(&store, "schedule", "1 none all\n");
    assert_non_null(strstr(output(), "export NCCLTUNE_REFUSE=node n1 cannot decide what job 7 gets: its first node has "
                                     "profile aaaaaaaaaaaa, this one none: no profile is scheduled"));
    snprintf(path, sizeof path, "%s/7", o.run);
    unlink(path);
    assert_non_null(strstr(task(), "export NCCL_NET=refused-by-nccltune\n")); /* nor is it known where the plugin is */
    assert_non_null(strstr(report.out, "unset NCCLTUNE_HASH\n"));
    setenv("SLURM_LOCALID", "0", 1);
    assert_non_null(strstr(task(), "print nccltune: node n1 cannot decide"));
    setenv("SLURM_LOCALID", "1", 1); /* one sentence a node */
    assert_null(strstr(task(), "print"));
    /* The first node had nothing, this one would have the profile. */
    setenv("NCCLTUNE_SET", "NCCLTUNE_JOB=7:-", 1);
    store_write(&store, "schedule", "1000 " STORE_HASH " all\n");
    assert_null(strstr(output(), "NCCL_IB_HCA"));
    setenv("NCCLTUNE", "off", 1);
    expect("unset NCCLTUNE_SET\n");
}

/* A job that was submitted from a job has its environment, but not its profile. */
TEST_CASE(jobs_from_jobs)
{
    need_trust();
    output();
    apply();
    setenv("SLURM_JOB_ID", "8", 1);
    store_write(&store, "schedule", "1 none all\n");
    const char *out = output();
    assert_non_null(strstr(out, "unset NCCL_IB_HCA\n"));
    assert_non_null(strstr(out, "unset NCCLTUNE_HASH\n"));
    assert_non_null(strstr(out, "unset NCCLTUNE_SET\n"));
    assert_null(strstr(out, "export"));
    unsetenv("SLURM_STEP_ID"); /* its batch script says to its steps that there is nothing */
    assert_non_null(strstr(output(), "export NCCLTUNE_SET=NCCLTUNE_JOB=8:-\n"));
}

/* Nodes of classes a and b: what a script on a exports must not be a's HCAs. */
TEST_CASE(local_settings_stay)
{
    need_trust();
    unsetenv("SLURM_STEP_ID");
    const char *out = output();
    assert_non_null(strstr(out, QPS));
    assert_null(strstr(out, "NCCL_IB_HCA"));
    assert_non_null(strstr(out, "export NCCL_ENV_PLUGIN="));
    apply();
    setenv("SLURM_STEP_ID", "0", 1);
    assert_non_null(strstr(output(), HCA));
    assert_non_null(strstr(report.out, "unset NCCL_ENV_PLUGIN\n"));
    /* Of its mpirun's daemons, which are on the other nodes, neither; a step with more tasks or on n0 is a step. */
    static const struct {
        const char *nodes, *count, *tasks;
        int has;
    } steps[] = {{"n[1-2]", "2", "2", 0}, {"n[1-2]", "2", "16", 1}, {"n[0-2]", "3", "3", 1}};
    for (size_t i = 0; i < 3; i++) {
        setenv("SLURM_STEP_NODELIST", steps[i].nodes, 1);
        setenv("SLURM_STEP_NUM_NODES", steps[i].count, 1);
        setenv("SLURM_STEP_NUM_TASKS", steps[i].tasks, 1);
        assert_int_equal(strstr(output(), HCA) != NULL, steps[i].has);
        assert_int_equal(strstr(report.out, "NCCL_ENV_PLUGIN=") != NULL, !steps[i].has);
    }
    setenv("SLURM_JOB_NODELIST", "n[0-1]", 1); /* where all are of class a they may */
    unsetenv("SLURM_STEP_ID");
    assert_non_null(strstr(output(), HCA));
}

TEST_CASE(where_the_node_cannot_tell)
{
    static const struct {
        const char *file, *text, *why;
    } broken[] = {
        {"schedule", "broken\n", "schedule:1: expected"},
        {"slurm.conf", "nonsense\n", "slurm.conf:1: expected"},
        {"profiles/" STORE_HASH "/hook.map", "", "expected 'nccltune-hook/1'"},
        {"profiles/" STORE_HASH "/tuner.csv", "allreduce,0,-1,tree,ll,4,-1,-1\n", "not what was installed"},
        {"profiles/" STORE_HASH "/nccl.conf", "", "not what was installed"},
    };
    need_trust();
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        tear_down(state);
        set_up(state);
        store_write(&store, broken[i].file, broken[i].text);
        prolog();
        if (!strstr(report.log, broken[i].why))
            fail_msg("%s: %s", broken[i].file, report.log);
        /* A job of several nodes is stopped, a script and a job of one node are not. */
        if (!strstr(task(), i == 1 ? "export NCCL_NET=refused-by-nccltune\n" : "export NCCLTUNE_REFUSE=node n0") ||
            !strstr(report.out, broken[i].why))
            fail_msg("%s: %s", broken[i].file, report.out);
        unsetenv("SLURM_STEP_ID");
        assert_string_equal(task(), NONE);
        setenv("SLURM_STEP_ID", "0", 1);
        setenv("SLURM_JOB_NODELIST", "n0", 1);
        expect("");
    }
}

/* All nodes know these alike. */
TEST_CASE(nothing_for_all)
{
    need_trust();
    setenv("SLURM_JOB_NODELIST", "n[0-3]", 1);
    expect("");
    setenv("NCCLTUNE", "explain", 1);
    expect("print nccltune: nothing is set: the job spans classes a and c, which do not go together\n");
    setenv("SLURM_JOB_NODELIST", "n[0-2],elsewhere", 1);
    expect("print nccltune: nothing is set: node elsewhere is not in the profile\n");
    setenv("NCCLTUNE", "off", 1);
    expect("");
    assert_string_equal(report.log, "");
}

/* Without a schedule nothing is installed, unless the site says that every node has a store. */
TEST_CASE(no_store)
{
    char conf[2048];
    need_trust();
    unlink(store_path(&store, "schedule"));
    expect("");
    snprintf(conf, sizeof conf, "store=%s\nplugin=%s\npolicy=fail\n", store.conf.store, store.conf.plugin);
    store_write(&store, "slurm.conf", conf);
    assert_non_null(strstr(output(), "schedule: No such file"));
    assert_non_null(strstr(report.out, "export NCCLTUNE_REFUSE="));
    setenv("NCCL_TUNER_PLUGIN", "mine", 1); /* no rank of this user's has our table */
    assert_null(strstr(output(), "NCCLTUNE_REFUSE"));
}

TEST_CASE(no_prolog)
{
    const struct hook_options o = options();
    need_trust();
    assert_string_equal(task(), ""); /* of no job */
    mkdir(o.run, 0755);
    assert_non_null(strstr(task(), "no job prolog of nccltune has left an answer")); /* of this one */
    store_write(&store, "run/7", "nccltune-job/1\nstate profile\n");
    assert_non_null(strstr(task(), "run/7 has no end"));
    chmod(store_path(&store, "run/7"), 0666);
    assert_non_null(strstr(task(), "can be written by others"));
}

TEST_CASE(explains)
{
    need_trust();
    setenv("NCCLTUNE", "explain", 1);
    setenv("NCCL_IB_HCA", "mine", 1);
    const char *out = output();
    assert_non_null(strstr(out, "print nccltune: profile aaaaaaaaaaaa, this node is of class a\n"));
    assert_non_null(
        strstr(out, "print nccltune: NCCL_IB_HCA stays as you set it (the profile has =mlx5_0:1,mlx5_1:1)\n"));
    assert_non_null(strstr(out, QPS "print nccltune: NCCL_IB_QPS_PER_CONNECTION=4\n"));
}

TEST_CASES_EACH(test_hook_task, set_up, tear_down)
