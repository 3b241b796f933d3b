/* slurm/hook_task.c: what a task prolog prints, to the byte: by what the prolog has left and the task's environment. */
#include "tests/lib/unit.h"
#include "tests/unit/slurm/one_store.h"

#define OTHER "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HEAD  "nccltune-job/1\n"
#define TUNED                                                                                                      \
    HEAD "nodes 3\nmixed 0\npolicy default\nstate profile\njob 7\nprofile " STORE_HASH "\nclass a\nplugin /p.so\n" \
         "dir /d\n"
#define LOCAL   "common A=1\ncommon B=2\nlocal B=3\nlocal C=4\n"
#define UNKNOWN HEAD "nodes 3\npolicy fail\nstate unknown\nwhy a|b\nplugin /p.so\nend\n"
#define PIN     "NCCLTUNE_JOB=7:" STORE_HASH
#define SAID    "node n0 cannot decide what job 7 gets: "
#define STOPS   "; NCCL will not start here (NCCLTUNE=off: without nccltune)\n"

static struct hook_report report;

static const char *const names[] = {"NCCLTUNE",
                                    "NCCLTUNE_SET",
                                    "NCCLTUNE_PROFILE",
                                    "NCCLTUNE_HASH",
                                    "NCCLTUNE_REFUSE",
                                    "NCCL_NET",
                                    "NCCL_TUNER_PLUGIN",
                                    "NCCL_TUNER_CONFIG_FILE",
                                    "NCCL_ENV_PLUGIN",
                                    "A",
                                    "B",
                                    "C",
                                    "SLURM_HET_JOB_ID",
                                    "SLURM_LOCALID",
                                    "SLURM_STEP_ID",
                                    "SLURMD_NODENAME",
                                    "SLURM_JOB_NUM_NODES",
                                    "NCCL_IB_TC",
                                    "NCCL_IB_SL",
                                    "NCCL_CROSS_NIC"};

static int set_up(void **state)
{
    untrusted = store_new(&store) || getuid() != 0;
    return 0;
}

/* With these variables besides those of task 0 of a step on n0. */
static void prepare(const char *const *variables)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    setenv("SLURMD_NODENAME", "n0", 1);
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("SLURM_STEP_ID", "0", 1);
    for (; *variables; variables++) {
        char text[2048];
        snprintf(text, sizeof text, "%s", *variables);
        char *value = strchr(text, '=');
        assert_non_null(value);
        *value = 0;
        setenv(text, value + 1, 1);
    }
}

static const char *task(const char *run)
{
    const struct hook_options o = {.conf = "/nowhere", .sysfs = "/nowhere", .run = run, .limit_ms = 1000};
    memset(&report, 0, sizeof report);
    hook_task(&o, &report);
    assert_true(report.done);
    return report.out;
}

struct word_case {
    const char *answer;
    const char *variables[5];
    const char *out;
};

static void run(const struct word_case *cases, size_t n)
{
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    for (size_t i = 0; i < n; i++) {
        struct err why = {0};
        prepare(cases[i].variables);
        assert_int_equal(hook_answer_write(store.root, "7", cases[i].answer, &why), 0);
        if (strcmp(task(store.root), cases[i].out) != 0)
            fail_msg("case %zu:\n%s\ninstead of\n%s", i, report.out, cases[i].out);
        assert_string_equal(report.log, "");
    }
}

TEST_CASE(where_there_is_a_profile)
{
    static const struct word_case cases[] = {
        /* the local one of two, and no pin in a job of one node without anything */
        {TUNED LOCAL "end\n", {NULL}, "export A=1\nexport B=3\nexport C=4\nexport NCCLTUNE_SET=A=1|B=3|C=4|" PIN "\n"},
        {TUNED "end\n", {NULL}, "export NCCLTUNE_SET=" PIN "\n"},
        {HEAD "nodes 1\nstate profile\nprofile " STORE_HASH "\nclass a\nend\n", {NULL}, ""},
        {HEAD "nodes 1\nstate profile\nprofile " STORE_HASH "\ncommon A=1\nend\n",
         {NULL},
         "export A=1\nexport NCCLTUNE_SET=A=1|" PIN "\n"},
        {TUNED "table t\nend\n",
         {NULL},
         "export NCCL_TUNER_PLUGIN=/p.so\nexport NCCLTUNE_PROFILE=/d\nexport NCCLTUNE_HASH=t\n"
         "export NCCLTUNE_SET=NCCL_TUNER_PLUGIN=/p.so|NCCLTUNE_PROFILE=/d|NCCLTUNE_HASH=t|" PIN "\n"},
        {TUNED "table t\ncommon A=1\ncommon B=2\nend\n",
         {"NCCLTUNE=explain", "NCCL_TUNER_CONFIG_FILE=/mine", "B=", NULL},
         "print nccltune: no table, you set NCCL_TUNER_CONFIG_FILE\nexport A=1\nprint nccltune: A=1\n"
         "print nccltune: B stays as you set it (the profile has 2)\n"
         "print nccltune: profile aaaaaaaaaaaa, this node is of class a\nexport NCCLTUNE_SET=A=1|" PIN "\n"},
        /* what hooks have set gives way, and what they set and do not any more is taken back */
        {TUNED "common NCCL_IB_TC=1\nend\n",
         {"NCCLTUNE_SET=NCCL_IB_TC=5|NCCL_IB_SL=6|NCCL_CROSS_NIC=7|NCCL_NET=x", "NCCL_IB_TC=5", "NCCL_IB_SL=6",
          "NCCL_CROSS_NIC=8", NULL},
         "export NCCL_IB_TC=1\nunset NCCL_IB_SL\nexport NCCLTUNE_SET=NCCL_IB_TC=1|" PIN "\n"},
        {TUNED LOCAL "end\n",
         {"NCCLTUNE=off", "NCCLTUNE_SET=NCCL_IB_TC=1", "NCCL_IB_TC=1", NULL},
         "unset NCCL_IB_TC\nunset NCCLTUNE_SET\n"},
        {TUNED LOCAL "end\n", {"NCCLTUNE=off", NULL}, ""}};
    run(cases, sizeof cases / sizeof *cases);
}

#define MIXED \
    HEAD "nodes 3\nmixed 1\nstate profile\njob 7\nprofile " STORE_HASH "\nclass a\nplugin /p.so\ndir /d\n" LOCAL

/* Where nodes differ a script's own settings stay with it; what it starts gets its own from the plugin. */
TEST_CASE(where_nodes_differ)
{
    static const struct word_case cases[] = {
        {MIXED "end\n", {NULL}, "export A=1\nexport B=3\nexport C=4\nexport NCCLTUNE_SET=A=1|B=3|C=4|" PIN "\n"},
        {MIXED "end\n",
         {"SLURM_STEP_ID=4294967291", NULL},
         "export A=1\nexport NCCLTUNE_PROFILE=/d\nexport NCCL_ENV_PLUGIN=/p.so\n"
         "export NCCLTUNE_SET=A=1|NCCLTUNE_PROFILE=/d|NCCL_ENV_PLUGIN=/p.so|" PIN "\n"},
        {MIXED "table t\nend\n",
         {"SLURM_STEP_ID=4294967291", NULL},
         "export A=1\nexport NCCL_TUNER_PLUGIN=/p.so\nexport NCCLTUNE_PROFILE=/d\nexport NCCLTUNE_HASH=t\n"
         "export NCCL_ENV_PLUGIN=/p.so\nexport NCCLTUNE_SET=A=1|NCCL_TUNER_PLUGIN=/p.so|NCCLTUNE_PROFILE=/d|"
         "NCCLTUNE_HASH=t|NCCL_ENV_PLUGIN=/p.so|" PIN "\n"},
        {MIXED "table t\nend\n",
         {"SLURM_STEP_ID=4294967291", "NCCLTUNE_HASH=mine", NULL},
         "export A=1\nexport NCCLTUNE_SET=A=1|" PIN "\n"},
        {HEAD "nodes 3\nmixed 1\nstate profile\nprofile " STORE_HASH "\ndir /d\n" LOCAL "end\n",
         {"SLURM_STEP_ID=4294967291", NULL},
         "export A=1\nexport NCCLTUNE_SET=A=1|" PIN "\n"},
        {TUNED LOCAL "end\n",
         {"SLURM_STEP_ID=4294967291", NULL},
         "export A=1\nexport B=3\nexport C=4\nexport NCCLTUNE_SET=A=1|B=3|C=4|" PIN "\n"}};
    run(cases, sizeof cases / sizeof *cases);
}

/* What the first node has decided for this very job stands. */
TEST_CASE(what_the_first_node_has)
{
    static const struct word_case cases[] = {
        {TUNED "end\n", {"NCCLTUNE_SET=" PIN, NULL}, "export NCCLTUNE_SET=" PIN "\n"},
        {TUNED "common A=1\nend\n",
         {"NCCLTUNE=explain", "NCCLTUNE_SET=NCCLTUNE_JOB=7:-", NULL},
         "print nccltune: nothing is set: the job's first node had none\nexport NCCLTUNE_SET=NCCLTUNE_JOB=7:-\n"},
        {HEAD "nodes 3\nstate nothing\nwhy none is scheduled\nend\n",
         {"NCCLTUNE=explain", "NCCLTUNE_SET=NCCLTUNE_JOB=7:-", NULL},
         "print nccltune: nothing is set: none is scheduled\nexport NCCLTUNE_SET=NCCLTUNE_JOB=7:-\n"},
        {TUNED "end\n",
         {"NCCLTUNE_SET=NCCLTUNE_JOB=7:" OTHER, NULL},
         "print nccltune: " SAID "its first node has profile bbbbbbbbbbbb, this one aaaaaaaaaaaa" STOPS
         "export NCCL_TUNER_PLUGIN=/p.so\nexport NCCLTUNE_REFUSE=" SAID
         "its first node has profile bbbbbbbbbbbb, this one aaaaaaaaaaaa\nexport NCCLTUNE_SET=NCCL_TUNER_PLUGIN=/p.so|"
         "NCCLTUNE_REFUSE=" SAID "its first node has profile bbbbbbbbbbbb, this one aaaaaaaaaaaa|NCCLTUNE_JOB=7:-\n"},
        {HEAD "nodes 3\nstate nothing\nwhy none is scheduled\nend\n",
         {"NCCLTUNE_SET=" PIN, "SLURM_LOCALID=1", NULL},
         "export NCCL_NET=refused-by-nccltune\nexport NCCLTUNE_SET=NCCL_NET=refused-by-nccltune|NCCLTUNE_JOB=7:-\n"},
        {HEAD "nodes 3\nstate nothing\nend\n",
         {"NCCLTUNE_SET=" PIN, "NCCL_TUNER_PLUGIN=mine", NULL},
         "print nccltune: " SAID "its first node has profile aaaaaaaaaaaa, this one none" STOPS "unset NCCLTUNE_SET\n"},
        {HEAD "nodes 3\nstate nothing\nwhy w\nend\n",
         {"NCCLTUNE_SET=" PIN, "NCCL_TUNER_PLUGIN=mine", NULL},
         "print nccltune: " SAID "its first node has profile aaaaaaaaaaaa, this one none: w" STOPS
         "unset NCCLTUNE_SET\n"},
        /* of another job, or no decision */
        {TUNED "end\n", {"NCCLTUNE_SET=NCCLTUNE_JOB=77:-", NULL}, "export NCCLTUNE_SET=" PIN "\n"},
        {TUNED "end\n", {"NCCLTUNE_SET=NCCLTUNE_JOB=7-", NULL}, "export NCCLTUNE_SET=" PIN "\n"},
        {TUNED "end\n", {"NCCLTUNE_SET=NCCLTUNE_JOB=7:abc", NULL}, "export NCCLTUNE_SET=" PIN "\n"}};
    run(cases, sizeof cases / sizeof *cases);
}

TEST_CASE(where_nobody_can_tell)
{
    static const struct word_case cases[] = {
        {UNKNOWN,
         {NULL},
         "print nccltune: " SAID "a/b" STOPS "export NCCL_TUNER_PLUGIN=/p.so\nexport NCCLTUNE_REFUSE=" SAID
         "a/b\nexport NCCLTUNE_SET=NCCL_TUNER_PLUGIN=/p.so|NCCLTUNE_REFUSE=" SAID "a/b|NCCLTUNE_JOB=7:-\n"},
        {UNKNOWN, {"SLURM_STEP_ID=x", NULL}, "export NCCLTUNE_SET=NCCLTUNE_JOB=7:-\n"}, /* a script */
        {UNKNOWN, {"SLURM_STEP_ID=1073741825", NULL}, "export NCCLTUNE_SET=NCCLTUNE_JOB=7:-\n"},
        {UNKNOWN,
         {"SLURM_STEP_ID=1073741824", "SLURM_LOCALID=1", NULL},
         "export NCCL_TUNER_PLUGIN=/p.so\nexport NCCLTUNE_REFUSE=" SAID
         "a/b\nexport NCCLTUNE_SET=NCCL_TUNER_PLUGIN=/p.so|NCCLTUNE_REFUSE=" SAID "a/b|NCCLTUNE_JOB=7:-\n"},
        {HEAD "nodes 2\npolicy nothing\nstate unknown\nwhy w\nend\n", {NULL}, ""},
        {HEAD "nodes 1\npolicy fail\nstate unknown\nwhy w\nend\n", {NULL}, ""},
        {HEAD "nodes 2\npolicy default\nstate unknown\nwhy w\nend\n",
         {"SLURM_LOCALID=1", NULL},
         "export NCCL_NET=refused-by-nccltune\nexport NCCLTUNE_SET=NCCL_NET=refused-by-nccltune|NCCLTUNE_JOB=7:-\n"},
        {HEAD "nodes 2\nstate nothing\nwhy w\nend\n",
         {"NCCLTUNE=explain", NULL},
         "print nccltune: nothing is set: w\n"},
        {HEAD "nodes 1\nstate nothing\nwhy w\nend\n", {"SLURM_STEP_ID=x", NULL}, ""}};
    run(cases, sizeof cases / sizeof *cases);
}

/* Without a directory for answers no prolog is configured; with one it has left none, and other nodes may have one. */
TEST_CASE(without_an_answer)
{
    static const struct {
        const char *nodes;
        int is_refused;
    } cases[] = {{"1", 0}, {"2", 1}, {"x", 1}, {NULL, 0}};
    char said[1024];
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        prepare((const char *const[]){"SLURM_LOCALID=1", NULL});
        if (cases[i].nodes)
            setenv("SLURM_JOB_NUM_NODES", cases[i].nodes, 1);
        assert_string_equal(task("/nowhere/run"), "");
        assert_string_equal(task(store.root), cases[i].is_refused
                                                  ? "export NCCL_NET=refused-by-nccltune\nexport NCCLTUNE_SET=NCCL_NET="
                                                    "refused-by-nccltune|NCCLTUNE_JOB=7:-\n"
                                                  : "");
    }
    prepare((const char *const[]){"NCCLTUNE=explain", NULL});
    task(store.root);
    snprintf(said, sizeof said, "print nccltune: nothing is set: no job prolog of nccltune has left an answer in %s\n",
             store.root);
    assert_string_equal(report.out, said);
    unsetenv("SLURM_JOB_ID"); /* of no job */
    assert_string_equal(task(store.root), "");
}

TEST_CASES_EACH(test_hook_task_words, set_up, store_tear_down)
