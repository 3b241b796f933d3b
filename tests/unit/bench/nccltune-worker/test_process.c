/* bench/nccltune-worker/process.c: what an agent starts, with real shells. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/nccltune-worker/process.h"
#include "tests/lib/unit.h"

static struct process p;
static struct process_names names;

static int begin(void **state)
{
    process_names_here(&names, "node7");
    names.rank = 12;
    names.local = 3;
    return 0;
}

/* A shell's script, which may be changed, with at most two settings. */
static int start(const char *script, const char *one, const char *two)
{
    char *words[] = {strdup("/bin/sh"), strdup("-c"), strdup(script)};
    char *settings[] = {one ? strdup(one) : NULL, two ? strdup(two) : NULL};
    int rc = process_start(&p, words, 3, settings, !!one + !!two, &names), why = errno;
    for (int i = 0; i < 3; i++)
        free(words[i]);
    free(settings[0]);
    free(settings[1]);
    errno = why;
    return rc;
}

/* All that it says, until it closes its output. */
static const char *said(void)
{
    static char text[8192];
    size_t used = 0;
    for (;;) {
        assert_int_equal(poll(&(struct pollfd){.fd = p.io.from, .events = POLLIN}, 1, 60000), 1);
        ssize_t n = read(p.io.from, text + used, sizeof text - 1 - used);
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    text[used] = 0;
    return text;
}

static const char *output_of(const char *script, const char *one, const char *two)
{
    assert_int_equal(start(script, one, two), 0);
    assert_true(p.pid > 0 && p.rank == 12 && p.err >= 0);
    const char *text = said();
    assert_int_equal(process_reap(&p), 0);
    return text;
}

TEST_CASE(names_are_filled_in)
{
    char self[4096], bin[4096], want[16384];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    strcpy(bin, self);
    *strrchr(bin, '/') = 0;
    assert_string_equal(names.self, self);
    assert_string_equal(names.bin, bin);
    snprintf(want, sizeof want, "%s|%s|node7|12|3|{x}|{|}|{rank|12{|\n", self, bin);
    assert_string_equal(output_of("printf '%s|' '{self}' '{bin}' '{host}' {rank} {local} '{x}' '{' '}' '{rank' "
                                  "'{rank}{'; echo",
                                  NULL, NULL),
                        want);
    assert_string_equal(output_of("echo $A.$B", "A={rank}x{local}", "B={host}"), "12x3.node7\n");
}

TEST_CASE(the_node_has_a_name)
{
    struct process_names n;
    char here[65] = "";
    unsetenv("SLURMD_NODENAME");
    gethostname(here, sizeof here - 1);
    process_names_here(&n, NULL);
    assert_string_equal(n.host, here);
    process_names_here(&n, "");
    assert_string_equal(n.host, here);
    setenv("SLURMD_NODENAME", "slurms", 1);
    process_names_here(&n, NULL);
    assert_string_equal(n.host, "slurms");
    process_names_here(&n, "mine");
    assert_string_equal(n.host, "mine");
    assert_true(!n.rank && !n.local);
    unsetenv("SLURMD_NODENAME");
}

/* Put in place of what it was, added, and taken out; one whose name only begins alike stays. */
TEST_CASE(settings_change_the_environment)
{
    static const char show[] = "echo \"${TEST_A-none} ${TEST_AB-none} ${TEST_-none}\"";
    setenv("TEST_A", "a", 1);
    setenv("TEST_AB", "ab", 1);
    assert_string_equal(output_of(show, NULL, NULL), "a ab none\n");
    assert_string_equal(output_of(show, "TEST_A=b", NULL), "b ab none\n");
    assert_string_equal(output_of(show, "TEST_A", NULL), "none ab none\n");
    assert_string_equal(output_of(show, "TEST_=c", "TEST_AB"), "a none c\n");
    assert_string_equal(output_of(show, "TEST_A=b", "TEST_A=c=d"), "c=d ab none\n");
    assert_string_equal(output_of(show, "TEST_A=", "TEST_N"), " ab none\n");
    assert_string_equal(output_of("env | grep -c ^TEST_A=", "TEST_A=b", "TEST_A=c"), "1\n");
    unsetenv("TEST_A");
    unsetenv("TEST_AB");
    static char *few[] = {"TEST_FIRST=1", "TEST_LAST=2", NULL};
    char **before = environ;
    environ = few;
    const char *all = output_of("env", "TEST_N", "TEST_Q=1");
    assert_true(strstr(all, "TEST_FIRST=1\n") && strstr(all, "TEST_LAST=2\n") && strstr(all, "TEST_Q=1\n"));
    assert_null(strstr(output_of("env", "TEST_FIRST", NULL), "TEST_FIRST"));
    environ = before;
}

TEST_CASE(it_has_a_group_and_signals_of_its_own)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(start("grep -E '^Sig(Blk|Ign):' /proc/self/status; read x", NULL, NULL), 0);
    sigemptyset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    assert_int_equal(getpgid(p.pid), p.pid);
    close(p.io.to);
    p.io.to = -1;
    const char *text = said();
    assert_non_null(strstr(text, "SigBlk:\t0000000000000000\n"));
    const char *ignored = strstr(text, "SigIgn:\t");
    assert_non_null(ignored);
    assert_int_equal(strtoull(ignored + 8, NULL, 16) & 1ULL << (SIGPIPE - 1), 0);
    process_reap(&p);
}

static int open_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

TEST_CASE(nothing_stays_open)
{
    char none[] = "/nosuchdirectory/nosuchprogram", *words[] = {none};
    int before = open_descriptors();
    assert_int_equal(process_start(&p, words, 1, NULL, 0, &names), -1);
    assert_int_equal(errno, ENOENT);
    assert_true(!p.pid && p.err == -1);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(start("exit 7", NULL, NULL), 0);
    assert_int_equal(open_descriptors(), before + 3);
    said();
    assert_int_equal(WEXITSTATUS(process_reap(&p)), 7);
    assert_true(!p.pid && p.err == -1 && p.io.from == -1 && p.io.to == -1);
    assert_int_equal(open_descriptors(), before);
}

/* Or dead, with nobody to ask for it. */
static int is_gone(pid_t pid)
{
    char path[64], stat[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return 1;
    stat[fread(stat, 1, sizeof stat - 1, f)] = 0;
    fclose(f);
    const char *name = strrchr(stat, ')');
    return name && name[1] && name[2] == 'Z';
}

/* What it has started goes with it, and one that only closes its output is killed before long. */
TEST_CASE(its_end)
{
    char *end;
    assert_int_equal(start("sleep 60 >/dev/null 2>&1 & echo $!", NULL, NULL), 0);
    pid_t other = (pid_t)strtol(said(), &end, 10);
    assert_int_equal(process_reap(&p), 0);
    for (int i = 0; i < 1000 && !is_gone(other); i++)
        usleep(10000);
    assert_true(is_gone(other));
    assert_int_equal(start("exec >&-; exec sleep 60", NULL, NULL), 0);
    assert_string_equal(said(), "");
    int status = process_reap(&p);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    process_kill(&p); /* nobody any more */
}

TEST_CASE(its_last_words)
{
    static const struct {
        const char *said, *kept;
    } rows[] = {{"one\ntwo\n", "two"},
                {"", "two"},
                {"\n\n", "two"},
                {"half", "half"},
                {"n1:7 NCCL WARN first\nafter\n", "NCCL WARN first"},
                {"later\n", "NCCL WARN first"},
                {"x NCCL WARN second\nNCCL WARN third\nmore\n", "NCCL WARN third"}};
    char text[256];
    p = (struct process){.err = -1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        strcpy(text, rows[i].said);
        process_keep_words(&p, text);
        assert_string_equal(p.last, rows[i].kept);
    }
    assert_int_equal(start("echo early >&2; echo late >&2", NULL, NULL), 0);
    assert_string_equal(p.last, "");
    said();
    for (int i = 0; i < 1000 && poll(&(struct pollfd){.fd = p.err, .events = POLLIN}, 1, 10) < 1; i++)
        ;
    process_reap(&p);
    assert_string_equal(p.last, "late");
    assert_int_equal(p.rank, 12);
}

/* Once. */
TEST_CASE(its_input_ends)
{
    assert_int_equal(start("cat", NULL, NULL), 0);
    assert_true(p.io.to >= 0);
    process_end_input(&p);
    assert_int_equal(p.io.to, -1);
    process_end_input(&p);
    assert_string_equal(said(), "");
    assert_int_equal(process_reap(&p), 0);
    process_close_errors(&p);
    assert_int_equal(p.err, -1);
}

TEST_CASES_EACH(test_process, begin, NULL)
