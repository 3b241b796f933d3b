/* The hook as a program: its command line, its exit codes, what it prints and leaves behind. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tests/unit/slurm/one_store.h"

/* What goes to the system's log. */
static char logged[2048];
static int log_socket;

static int log_connect(int s, const struct sockaddr *to, socklen_t bytes)
{
    (void)bytes;
    log_socket = s;
    return strcmp(((const struct sockaddr_un *)(const void *)to)->sun_path, "/dev/log");
}

static ssize_t log_send(int s, const void *text, size_t bytes, int flags)
{
    assert_true(s == log_socket && flags == MSG_NOSIGNAL && bytes < sizeof logged);
    snprintf(logged, sizeof logged, "%.*s", (int)bytes, (const char *)text);
    return (ssize_t)bytes;
}

#define NCCLTUNE_VERSION "0"
#define main             hook_main
#define connect          log_connect
#define send             log_send
#include "slurm/hook_main.c" /* for its signal handler */
#undef main
#undef connect
#undef send

static char program[4096], printed[8192];

/* …/nccltune-hook for …/tests/unit/slurm/test_hook_main. */
static int set_up(void **state)
{
    static const char *const clean[] = {"SLURM_JOB_ID",        "SLURMD_NODENAME",     "SLURM_JOB_NODELIST",
                                        "SLURM_JOB_NUM_NODES", "SLURM_HET_JOB_ID",    "NCCLTUNE",
                                        "NCCLTUNE_SET",        "SLURM_JOB_START_TIME"};
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 64);
    program[n > 0 ? n : 0] = 0;
    char *tests = strstr(program, "/tests/unit/");
    if (!tests)
        return -1;
    strcpy(tests, "/nccltune-hook");
    for (size_t i = 0; i < sizeof clean / sizeof *clean; i++)
        unsetenv(clean[i]);
    untrusted = store_new(&store) || getuid() != 0;
    return access(program, X_OK);
}

/* Its exit code; standard output in `printed`, with standard error behind when `words` ends in 2>&1. */
static int hook(const char *fmt, ...)
{
    char arguments[2048], command[sizeof program + sizeof arguments + 8];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(arguments, sizeof arguments, fmt, ap);
    va_end(ap);
    snprintf(command, sizeof command, "'%s' %s", program, arguments);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    size_t n = fread(printed, 1, sizeof printed - 1, p);
    printed[n] = 0;
    int status = pclose(p);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST_CASE(tells_what_it_can)
{
    assert_int_equal(hook("--help"), 0);
    assert_string_equal(printed, help_text);
    assert_int_equal(hook("--version"), 0);
    assert_memory_equal(printed, "nccltune-hook 0.", 16);
    assert_int_equal(hook("--help >/dev/full"), 0 /* what stdio still holds fails at exit */);
}

/* A wrong line in slurm.conf must not drain a cluster: nothing on standard output, a help text beside it, and 0. */
TEST_CASE(survives_wrong_lines)
{
    static const char *const lines[] = {"",
                                        "nothing",
                                        "check epilog",
                                        "--unknown check",
                                        "--conf",
                                        "--limit 0",
                                        "--limit 60001 check",
                                        "--limit 1x check",
                                        "--limit -1 check"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(hook("%s 2>/dev/null", lines[i]), 0);
        assert_string_equal(printed, "");
        assert_int_equal(hook("%s 2>&1", lines[i]), 0);
        const char *usage_of = strstr(printed, "Usage: nccltune-hook"); /* behind what getopt says */
        assert_non_null(usage_of);
        assert_string_equal(usage_of, help_text);
    }
    assert_int_equal(hook("--limit 60000 --run /nowhere task-prolog 2>&1"), 0);
    assert_string_equal(printed, "");
}

TEST_CASE(prints_what_a_task_gets)
{
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("NCCLTUNE", "explain", 1);
    assert_int_equal(hook("--run '%s' task-prolog", store.root), 0);
    assert_non_null(strstr(printed, "print nccltune: nothing is set: no job prolog of nccltune has left an answer in"));
    assert_non_null(strstr(printed, store.root));
}

/* Without anything to read it still leaves an answer, which the epilog takes away. */
TEST_CASE(leaves_an_answer)
{
    char answer[1024];
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("SLURMD_NODENAME", "n0", 1);
    setenv("SLURM_JOB_NODELIST", "n0", 1);
    snprintf(answer, sizeof answer, "%s/7", store.root);
    assert_int_equal(hook("--conf /nowhere/conf --run '%s' prolog", store.root), 0);
    assert_int_equal(access(answer, F_OK), 0);
    assert_int_equal(hook("--conf /nowhere/conf --run '%s' epilog", store.root), 0);
    assert_int_equal(access(answer, F_OK), -1);
}

#define IGNORED "/key.conf: key= is ignored since jobs have no key; remove the line"

/* A line that earlier releases knew: jobs and `check` are as without it, but for a warning. */
TEST_CASE(ignores_a_key)
{
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("SLURMD_NODENAME", "n0", 1);
    setenv("SLURM_JOB_NODELIST", "n0", 1);
    store_write(&store, "key.conf", "key=/etc/nccltune/secret\nscontrol=/nowhere/scontrol\n");
    assert_int_equal(hook("--conf '%s/key.conf' --run '%s' prolog", store.root, store.root), 0);
    assert_int_equal(access(store_path(&store, "7"), F_OK), 0);
    assert_int_equal(access(store_path(&store, "7.key"), F_OK), -1);
    assert_int_equal(hook("--run '%s' task-prolog", store.root), 0);
    assert_null(strstr(printed, "NCCLTUNE_KEY"));
    assert_int_equal(hook("--conf '%s/key.conf' --run '%s' check", store.root, store.root), 0);
    assert_non_null(strstr(printed, "nothing: "));
    assert_non_null(strstr(printed, "\nwarning: "));
    assert_non_null(strstr(printed, IGNORED "\n"));
    const struct hook_options o = {
        .conf = store_path(&store, "key.conf"), .sysfs = "/nowhere", .run = store.root, .limit_ms = 10000};
    *logged = 0;
    hook_name = "prolog";
    assert_int_equal(prolog(&o), 0);
    alarm(0);
    assert_non_null(strstr(logged, "prolog, job 7 on n0: "));
    assert_non_null(strstr(logged, IGNORED));
    assert_int_equal(hook("--conf '%s/key.conf' --run '%s' epilog", store.root, store.root), 0);
    assert_int_equal(access(store_path(&store, "7"), F_OK), -1);
}

/* In the prologue of another scheduler: on each node what the prolog and the task prolog would give a step there. */
TEST_CASE(prints_the_environment_for_other_schedulers)
{
    char steps[sizeof printed];
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    char text[1200];
    snprintf(text, sizeof text, "store=%s\nplugin=%s/plugin.so\n", store.root, store.root);
    store_write(&store, "slurm.conf", text);
    for (int n = 0; n < 3; n++) {
        assert_int_equal(hook("--conf '%s/slurm.conf' env --job 7.pbs --hosts 'n[0-2]' --node n%d", store.root, n), 0);
        assert_non_null(strstr(printed, "export NCCL_IB_QPS_PER_CONNECTION='4'\n"));
        assert_int_equal(!strstr(printed, "export NCCL_IB_HCA='=mlx5_0:1,mlx5_1:1'\n"), n == 2); /* of another class */
        memcpy(steps, printed, sizeof steps);
        snprintf(text, sizeof text, "n%d", n);
        setenv("SLURM_JOB_ID", "7", 1);
        setenv("SLURMD_NODENAME", text, 1);
        setenv("SLURM_JOB_NODELIST", "n[0-2]", 1);
        setenv("SLURM_STEP_ID", "0", 1);
        assert_int_equal(hook("--conf '%s/slurm.conf' --run '%s' prolog", store.root, store.root), 0);
        assert_int_equal(hook("--run '%s' task-prolog | sed \"s/=/='/; s/$/'/\"", store.root), 0);
        assert_string_equal(printed, steps);
        assert_int_equal(hook("--run '%s' epilog", store.root), 0);
    }
    unsetenv("SLURM_STEP_ID");
    assert_int_equal(hook("--conf '%s/slurm.conf' env --job 7 --hosts n0,stranger --node n0", store.root), 0);
    assert_string_equal(printed, "");
    assert_int_equal(hook("env --job 7 2>/dev/null"), 1);
    assert_int_equal(hook("env --job x --hosts n0 2>/dev/null"), 1);
}

/* A task of a part of a heterogeneous job looks for the whole job's answer, an epilog for its part's. */
TEST_CASE(leaves_an_answer_for_each_part)
{
    char whole[1024], part[1024];
    setenv("SLURM_JOB_ID", "8", 1);
    setenv("SLURM_HET_JOB_ID", "7", 1);
    setenv("SLURMD_NODENAME", "n0", 1);
    setenv("SLURM_JOB_NODELIST", "n0", 1);
    snprintf(whole, sizeof whole, "%s/7", store.root);
    snprintf(part, sizeof part, "%s/8", store.root);
    assert_int_equal(hook("--conf /nowhere/conf --run '%s' prolog", store.root), 0);
    assert_int_equal(access(whole, F_OK), 0);
    assert_int_equal(access(part, F_OK), 0);
    assert_int_equal(hook("--conf /nowhere/conf --run '%s' epilog", store.root), 0);
    assert_int_equal(access(whole, F_OK), -1);
    assert_int_equal(access(part, F_OK), -1);
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_HET_JOB_ID"); /* of no job: nothing is left, and nothing taken away */
    store_write(&store, "7", "");
    struct hook_options o = {.run = store.root};
    leave_answer(&o, NULL, "no memory");
    assert_int_equal(hook("--conf /nowhere/conf --run '%s' prolog", store.root), 0);
    assert_int_equal(hook("--conf /nowhere/conf --run '%s' epilog", store.root), 0);
    assert_int_equal(access(whole, F_OK), 0);
    assert_int_equal(unlink(whole), 0);
    assert_int_equal(access(store_path(&store, "?"), F_OK), -1);
}

/* Its own time or the wall's, to the millisecond; what ends it then. */
TEST_CASE(ends_in_time)
{
    static const struct {
        int timer, signal;
        long ms;
    } cases[] = {{ITIMER_REAL, SIGALRM, 59999}, {ITIMER_PROF, SIGPROF, 60250}, {ITIMER_REAL, SIGALRM, 61000}};
    const struct itimerval never = {{0, 0}, {0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct itimerval t;
        struct sigaction sa;
        end_within(cases[i].timer, cases[i].signal, cases[i].ms);
        getitimer(cases[i].timer, &t);
        setitimer(cases[i].timer, &never, NULL);
        sigaction(cases[i].signal, NULL, &sa);
        signal(cases[i].signal, SIG_DFL);
        long left = t.it_value.tv_sec * 1000 + t.it_value.tv_usec / 1000;
        assert_true(left <= cases[i].ms + 4 && left > cases[i].ms - 5000 && !t.it_interval.tv_sec);
        assert_ptr_equal(sa.sa_handler, end_open);
    }
}

/* Ends a child as `signal` would; what it prints. */
static const char *ended_by(int signal)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        dup2(ends[1], 1);
        end_open(signal);
        _exit(3);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], printed, sizeof printed - 1);
    printed[n > 0 ? n : 0] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return printed;
}

/* Where the process that was to decide left no word, that is the answer. */
TEST_CASE(answers_for_a_process_that_could_not)
{
    static struct hook_report r;
    struct hook_options o = {.run = store.root};
    setenv("SLURM_JOB_ID", "7", 1);
    static const struct {
        const char *out, *why, *wanted;
    } cases[] = {{NULL, "no memory", "nodes 2\nmixed 0\npolicy fail\nstate unknown\njob 7\nwhy no memory\nend\n"},
                 {"", "", "why more settings than a job can have\n"},
                 {"as it is", "no memory", "as it is"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(r.out, sizeof r.out, "%s", cases[i].out ? cases[i].out : "");
        leave_answer(&o, cases[i].out ? &r : NULL, cases[i].why);
        FILE *f = fopen(store_path(&store, "7"), "r");
        assert_non_null(f);
        printed[fread(printed, 1, sizeof printed - 1, f)] = 0;
        fclose(f);
        if (!strstr(printed, cases[i].wanted))
            fail_msg("case %zu: %s", i, printed);
    }
}

/* A line a message, cut where it is longer than syslog takes; names that could be anything are not in it. */
TEST_CASE(tells_the_log)
{
    static char text[3000];
    char expected[128];
    setenv("SLURM_JOB_ID", "7\n", 1);
    setenv("SLURMD_NODENAME", "n0", 1);
    hook_name = "epilog";
    log_line("port 1 is DOWN");
    snprintf(expected, sizeof expected, "<28>nccltune-hook[%ld]: epilog, job ? on n0: port 1 is DOWN", (long)getpid());
    assert_string_equal(logged, expected);
    assert_int_equal(fcntl(log_socket, F_GETFD), -1);
    memset(text, 'x', sizeof text - 1);
    log_line(text);
    assert_int_equal(strlen(logged), 1399);
    *logged = 0;
    assert_int_equal(hook("--run '%s' task-prolog", store.root), 0);
    struct hook_options o = {.run = "/dev/null", .limit_ms = 1000};
    setenv("SLURM_JOB_ID", "7", 1);
    leave_answer(&o, NULL, "no memory");
    assert_non_null(strstr(logged, "job 7 on n0: /dev/null"));
}

/* A task prolog that takes too long must not let a rank go on alone with nothing. */
TEST_CASE(refuses_when_out_of_time)
{
    static const char refusal[] = "export NCCL_NET=" HOOK_NO_NET "\nprint nccltune: the task prolog did not end";
    hook_name = "task-prolog";
    assert_memory_equal(ended_by(SIGPROF), refusal, sizeof refusal - 1);
    assert_int_equal(printed[strlen(printed) - 1], '\n');
    setenv("SLURM_JOB_NUM_NODES", "2", 1);
    setenv("NCCLTUNE", "explain", 1);
    assert_memory_equal(ended_by(SIGPROF), refusal, sizeof refusal - 1);
    assert_string_equal(ended_by(SIGALRM), "");
    setenv("NCCLTUNE", "off", 1);
    assert_string_equal(ended_by(SIGPROF), "");
    unsetenv("NCCLTUNE");
    setenv("SLURM_JOB_NUM_NODES", "1", 1);
    assert_string_equal(ended_by(SIGPROF), "");
}

/* ---- with a store that is trusted ---------------------------------------------------------------------------------
 */

static void put(const char *dir, const char *name, const char *text)
{
    char command[2048], path[256];
    snprintf(command, sizeof command, "mkdir -p '%s/%s'", store.root, dir);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    store_write(&store, path, text);
}

static void make_node(void)
{
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("SLURM_JOB_START_TIME", "9000", 1);
    setenv("SLURMD_NODENAME", "n0", 1);
    setenv("SLURM_JOB_NODELIST", "n0", 1);
    for (int i = 0; i < 2; i++) {
        char dir[128];
        snprintf(dir, sizeof dir, "sys/class/infiniband/mlx5_%d/ports/1", i);
        put(dir, "state", "4: ACTIVE\n");
        put(dir, "rate", "400 Gb/sec (4X NDR)\n");
        snprintf(dir, sizeof dir, "sys/bus/pci/devices/0000:1%d:00.0", i);
        put(dir, "vendor", "0x10de\n");
        put(dir, "class", "0x030200\n");
    }
    put("sys/module/nvidia", "version", "1\n");
    char text[2048];
    snprintf(text, sizeof text, "store=%s\nplugin=%s\nscontrol=%s/scontrol\npolicy=drain\ndrain=driver\n",
             store.conf.store, store.conf.plugin, store.root);
    store_write(&store, "slurm.conf", text);
    snprintf(text, sizeof text, "#!/bin/sh\nprintf '%%s|' \"$@\" \"$SLURM_CONF\" >%s/drained\n", store.root);
    store_write(&store, "scontrol", text);
    chmod(store_path(&store, "scontrol"), 0755);
}

static int hook_here(const char *what)
{
    return hook("--conf '%s/slurm.conf' --sysfs '%s/sys' --run '%s' %s", store.root, store.root, store.root, what);
}

TEST_CASE(checks_this_node)
{
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    make_node();
    assert_int_equal(hook_here("check"), 0);
    assert_string_equal(printed, "profile aaaaaaaaaaaa, this node is of class a\n");
    char command[1024];
    snprintf(command, sizeof command, "rm -r '%s/sys/module'", store.root);
    assert_int_equal(system(command), 0);
    assert_int_equal(hook_here("check"), 1);
    assert_string_equal(printed, "profile aaaaaaaaaaaa, this node is of class a\ndriver nvidia is not loaded\n");
    setenv("SLURMD_NODENAME", "stranger", 1);
    assert_int_equal(hook_here("check"), 0);
    assert_string_equal(printed, "nothing: node stranger is not in the profile\n");
    store_write(&store, "schedule", "nonsense\n");
    assert_int_equal(hook_here("check"), 1);
    assert_memory_equal(printed, "not known: ", 11);
    const char *again = strchr(printed, '\n');
    assert_non_null(again);
    assert_memory_equal(printed + 11, again + 1, (size_t)(again - printed) - 10); /* as a finding, too */
}

/* What scontrol was called with; "" where it was not. */
static const char *drained(void)
{
    static char text[1024];
    FILE *f = fopen(store_path(&store, "drained"), "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = 0;
    if (f)
        fclose(f);
    return text;
}

/* A FIFO where a file should be does not answer: it is passed over, and a job's answer is there. */
TEST_CASE(a_file_that_hangs)
{
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    make_node();
    unlink(store_path(&store, "sys/class/infiniband/mlx5_1/ports/1/state"));
    assert_int_equal(mkfifo(store.path, 0644), 0);
    assert_int_equal(hook_here("--limit 150 check"), 1);
    assert_non_null(strstr(printed, "port mlx5_1/1 is missing\n"));
    assert_int_equal(hook_here("--limit 150 prolog"), 0);
    assert_string_equal(drained(), "");
    FILE *f = fopen(store_path(&store, "7"), "r");
    assert_non_null(f);
    printed[fread(printed, 1, sizeof printed - 1, f)] = 0;
    fclose(f);
    assert_non_null(strstr(printed, "\nstate profile\n")); /* which was known by then */
}

TEST_CASE(drains_a_node)
{
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    make_node();
    assert_int_equal(hook_here("prolog"), 0);
    assert_string_equal(drained(), "");
    char command[1024];
    snprintf(command, sizeof command, "rm -r '%s/sys/module'", store.root);
    assert_int_equal(system(command), 0);
    setenv("SLURM_CONF", "/site/slurm.conf", 1);
    assert_int_equal(hook_here("prolog"), 1);
    assert_string_equal(drained(), "update|NodeName=n0|State=DRAIN|Reason=nccltune: driver nvidia is not loaded|"
                                   "/site/slurm.conf|");
    unsetenv("SLURM_CONF");
    assert_int_equal(hook_here("prolog"), 1);
    assert_non_null(strstr(drained(), "not loaded||"));
    store_write(&store, "scontrol", "#!/bin/sh\nexec sleep 60\n"); /* one that hangs holds nobody */
    assert_int_equal(hook_here("prolog"), 1);
}

TEST_CASES_EACH(main, set_up, store_tear_down)
