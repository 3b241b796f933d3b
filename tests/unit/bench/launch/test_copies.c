/* bench/launch/copies.c: who is who by a launcher's variables, and where they meet. Ranks of other nodes are this
 * node's processes under the name of another job. */
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/launch/launch_internal.h"
#include "tests/lib/unit.h"

#define SECRET "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char dir[64], meeting[128], job[32];
static struct arena *arena;
static struct agents set;
static struct bench_setup setup;
static struct err err;
static int code;

static int set_up(void **state)
{
    static const char *const clean[] = {"RANK",
                                        "WORLD_SIZE",
                                        "LOCAL_RANK",
                                        "LOCAL_WORLD_SIZE",
                                        "MASTER_ADDR",
                                        "MASTER_PORT",
                                        "SLURM_PROCID",
                                        "SLURM_NTASKS",
                                        "SLURM_STEP_NUM_TASKS",
                                        "SLURM_STEP_ID",
                                        "NCCLTUNE_KEY",
                                        "SLURM_LOCALID",
                                        "SLURM_NTASKS_PER_NODE",
                                        "GROUP_WORLD_SIZE",
                                        "TORCHELASTIC_USE_AGENT_STORE",
                                        "OMPI_COMM_WORLD_RANK",
                                        "PMI_RANK"};
    char worker[4096];
    for (size_t i = 0; i < sizeof clean / sizeof *clean; i++)
        unsetenv(clean[i]);
    ssize_t n = readlink("/proc/self/exe", worker, sizeof worker - 64);
    worker[n > 0 ? n : 0] = 0;
    char *tests = strstr(worker, "/tests/unit/");
    if (!tests)
        return -1;
    strcpy(tests, "/nccltune-worker");
    setenv("NCCLTUNE_WORKER", worker, 1);
    snprintf(dir, sizeof dir, "/tmp/test_copies_XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(job, sizeof job, "job %d", (int)getpid());
    snprintf(meeting, sizeof meeting, "%s/.head-torchrun-job_%d-", dir, (int)getpid());
    setenv("TORCHELASTIC_RUN_ID", job, 1);
    arena = arena_new();
    err = (struct err){0};
    return 0;
}

static int tear_down(void **state)
{
    arena_free(arena);
    unlink(meeting);
    return rmdir(dir);
}

static void be(const char *rank, const char *ranks, const char *local, const char *per_node)
{
    setenv("RANK", rank, 1);
    setenv("WORLD_SIZE", ranks, 1);
    setenv("LOCAL_RANK", local, 1);
    setenv("LOCAL_WORLD_SIZE", per_node, 1);
}

static enum agents_role begin(double patience_s)
{
    return copies_begin(&set, dir, patience_s, arena, &code, &err);
}

TEST_CASE(nobody_else)
{
    assert_true(begin(0) == AGENTS_CONDUCT && !set.copies);
    be("0", "1", "0", "1");
    assert_true(begin(0) == AGENTS_CONDUCT && !set.copies);
    agents_end(&set, &setup, 0);
    unsetenv("RANK");
    /* A batch script of four tasks is none of them; a step of four is. */
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_NTASKS", "4", 1);
    assert_true(begin(0) == AGENTS_CONDUCT && !set.copies);
    setenv("SLURM_STEP_NUM_TASKS", "1", 1);
    assert_true(begin(0) == AGENTS_CONDUCT && !set.copies);
}

static int take(void *user, int fd)
{
    (void)user;
    return fd >= 0;
}

TEST_CASE(the_head_leaves_word)
{
    char text[4096] = "", why[256], hex[SECRET_HEX], first[SECRET_HEX];
    struct stat s;
    for (int turn = 0; turn < 2; turn++) {
        be("0", "4", "0", "2");
        assert_true(begin(0) == AGENTS_CONDUCT && set.copies);
        assert_string_equal(set.copies->launcher, "torchrun");
        assert_int_equal(set.copies->nodes, 2);
        assert_string_equal(set.copies->meeting, meeting);
        assert_int_equal(lstat(meeting, &s), 0);
        assert_int_equal(s.st_mode & 0777, 0600);
        FILE *f = fopen(meeting, "r");
        text[fread(text, 1, sizeof text - 1, f)] = 0;
        fclose(f);
        assert_memory_equal(text, "nccltune-head/1\n", 16);
        secret_hex(&set.secret, hex);
        assert_memory_equal(text + 16, hex, 64);
        assert_int_equal(text[80], '\n');
        int fd = address_connect(strtok(text + 81, "\n"), 2000, take, NULL, why, sizeof why);
        assert_true(fd >= 0);
        close(fd);
        if (turn)
            assert_string_not_equal(first, hex);
        memcpy(first, hex, sizeof first);
        assert_true(set.listener >= 0 && set.port > 0 && set.copies->siblings >= 0);
        agents_end(&set, &setup, 0);
        assert_int_equal(access(meeting, F_OK), -1);
        assert_true(set.listener == -1 && !set.copies);
    }
    be("0", "5", "0", "2");
    unsetenv("GROUP_WORLD_SIZE");
    assert_int_equal(begin(0), AGENTS_FAILED);
    assert_string_equal(err.text, "torchrun started 5 ranks, 2 of them on this node: expected as many on every node");
    setenv("GROUP_WORLD_SIZE", "3", 1);
    assert_true(begin(0) == AGENTS_CONDUCT && set.copies);
    assert_int_equal(set.copies->nodes, 3);
    agents_end(&set, &setup, 0);
    unsetenv("LOCAL_WORLD_SIZE");
    unsetenv("GROUP_WORLD_SIZE");
    assert_true(begin(0) == AGENTS_CONDUCT && set.copies);
    assert_int_equal(set.copies->nodes, 5);
    agents_end(&set, &setup, 0);
}

TEST_CASE(a_key_is_enough)
{
    struct secret secret;
    char port[16];
    uint16_t free_port = 0;
    close(wire_listen(&free_port));
    snprintf(port, sizeof port, "%d", free_port);
    be("0", "2", "0", "1");
    setenv("NCCLTUNE_KEY", "a key", 1);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    setenv("MASTER_PORT", port, 1);
    assert_true(begin(0) == AGENTS_CONDUCT && set.copies);
    assert_int_equal(set.port, free_port);
    secret = set.secret;
    assert_int_equal(access(set.copies->meeting, F_OK), -1);
    agents_end(&set, &setup, 0);
    setenv("NCCLTUNE_KEY", "another", 1);
    setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1); /* torchrun has that port */
    if (begin(0) == AGENTS_CONDUCT) {
        assert_int_equal(set.port, free_port + 1);
        assert_memory_not_equal(&set.secret, &secret, sizeof secret);
        agents_end(&set, &setup, 0);
    }
    /* No head: it cannot be reached. */
    be("1", "2", "0", "1");
    assert_int_equal(begin(0), AGENTS_FAILED);
    assert_non_null(strstr(err.text, "rank 0 cannot be reached from here: "));
    unsetenv("MASTER_PORT");
    err = (struct err){0};
    assert_int_equal(begin(0), AGENTS_FAILED);
    assert_non_null(strstr(err.text, "its directory must be shared by all nodes, else set NCCLTUNE_KEY"));
    snprintf(meeting, sizeof meeting, "%s/nothing", dir);
}

/* A file that anybody could have written, or that another program left, leads nowhere. */
TEST_CASE(only_a_head_of_ours_is_believed)
{
    static const struct {
        const char *text;
        mode_t mode;
    } cases[] = {{"", 0600},
                 {"nccltune-head/2\n" SECRET "\n127.0.0.1:9\n", 0600},
                 {"nccltune-head/1\n" SECRET "0\n127.0.0.1:9\n", 0600},
                 {"nccltune-head/1\n" SECRET "\n", 0600},
                 {"nccltune-head/1\n", 0600},
                 {"nccltune-head/1\n" SECRET "\n127.0.0.1:9\n", 0640},
                 {"nccltune-head/1\n" SECRET "\n127.0.0.1:9\n", 0604}};
    be("1", "2", "0", "1");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *f = fopen(meeting, "w");
        fputs(cases[i].text, f);
        fclose(f);
        chmod(meeting, cases[i].mode);
        err = (struct err){0};
        assert_int_equal(begin(0), AGENTS_FAILED);
        if (!strstr(err.text, "rank 0 has left no "))
            fail_msg("case %zu: %s", i, err.text);
    }
}

/* An agent's exit code is its process's, and that of all its siblings: here a script's that looks at what it is told.
 */
TEST_CASE(serves)
{
    static const struct {
        const char *word;
        int code;
        enum agents_role role;
    } cases[] = {{"0", 0, AGENTS_SERVED}, {"7", 7, AGENTS_SERVED}, {"99", COPIES_BECOME_RANK, AGENTS_RANK}};
    uint16_t port = 0;
    int listener = wire_listen(&port), status;
    char stack[WIRE_STACK], worker[128];
    wire_stack(stack);
    FILE *f = fopen(meeting, "w");
    fprintf(f, "nccltune-head/1\n" SECRET "\n%s/127.0.0.1:%d\n", stack, port);
    fclose(f);
    chmod(meeting, 0600);
    snprintf(worker, sizeof worker, "%s/worker", dir);
    setenv("NCCLTUNE_WORKER", worker, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        f = fopen(worker, "w");
        fprintf(f,
                "#!/bin/sh\n[ \"$NCCLTUNE_SECRET\" = " SECRET " ] && [ \"$1 $2\" = 'agent --connect' ] && "
                "[ \"$3\" = '%s/127.0.0.1:%d' ] && exit %s\nexit 200\n",
                stack, port, cases[i].word);
        fclose(f);
        chmod(worker, 0700);
        pid_t sibling = fork();
        if (!sibling) {
            be("2", "4", "1", "2");
            enum agents_role role = begin(20);
            _exit(role == cases[i].role ? code : 201);
        }
        be("1", "4", "0", "2");
        enum agents_role role = begin(20);
        assert_int_equal(waitpid(sibling, &status, 0), sibling);
        if (role != cases[i].role || code != cases[i].code)
            fail_msg("%s: role %d, code %d: %s", cases[i].word, role, code, err.text);
        assert_int_equal(WEXITSTATUS(status), cases[i].code);
    }
    unlink(worker);
    close(listener);
}

TEST_CASE(waits_for_the_first_of_its_node)
{
    char name[64];
    int status;
    be("1", "2", "1", "2");
    assert_int_equal(begin(0), AGENTS_FAILED);
    assert_string_equal(err.text, "the first rank of this node has not come up within 0 s");
    snprintf(name, sizeof name, "torchrun-job_%d-", (int)getpid());
    static const int words[] = {0, 7, COPIES_BECOME_RANK};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        int fd = siblings_open(name, &err);
        assert_true(fd >= 0);
        pid_t child = fork();
        if (!child) {
            close(fd); /* or it would meet itself when it comes late */
            enum agents_role role = begin(20);
            _exit(role == AGENTS_RANK ? 100 : role == AGENTS_SERVED ? code : 200);
        }
        assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 20000), 1);
        siblings_tell(fd, words[i]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(WEXITSTATUS(status), words[i] == COPIES_BECOME_RANK ? 100 : words[i]);
    }
}

/* Its launcher, its job and what else tells it from the next, in letters that a file's name may have. */
TEST_CASE(what_a_run_is_called)
{
    static const struct {
        const char *run, *port, *job;
    } rows[] = {{"a b/c", "29500", "torchrun-a_b_c-29500"},
                {"Az09._-", NULL, "torchrun-Az09._--"},
                {"1234567890123456789012345678901234567890123456789012345678901", "x y",
                 "torchrun-123456789012345678901234567890123456789012345678901234567890-x_y"}};
    be("0", "2", "0", "1");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setenv("TORCHELASTIC_RUN_ID", rows[i].run, 1);
        unsetenv("MASTER_PORT");
        if (rows[i].port)
            setenv("MASTER_PORT", rows[i].port, 1);
        assert_true(begin(0) == AGENTS_CONDUCT && set.copies);
        assert_string_equal(set.copies->job, rows[i].job);
        agents_end(&set, &setup, 0);
    }
}

/* Without a key, an address or a port that is one they meet at the file. */
TEST_CASE(half_a_key_is_none)
{
    static const char *const rows[][3] = {{"", "127.0.0.1", "4711"},     {NULL, "127.0.0.1", "4711"},
                                          {"key", NULL, "4711"},         {"key", "127.0.0.1", NULL},
                                          {"key", "127.0.0.1", "65535"}, {"key", "127.0.0.1", "0"},
                                          {"key", "127.0.0.1", "x"}};
    static const char *const names[] = {"NCCLTUNE_KEY", "MASTER_ADDR", "MASTER_PORT"};
    be("0", "2", "0", "1");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int k = 0; k < 3; k++)
            if (rows[i][k])
                setenv(names[k], rows[i][k], 1);
            else
                unsetenv(names[k]);
        assert_true(begin(0) == AGENTS_CONDUCT && set.copies);
        assert_int_equal(access(set.copies->meeting, F_OK), 0);
        agents_end(&set, &setup, 0);
    }
}

TEST_CASE(what_keeps_a_head_from_it)
{
    char want[256], beside[256];
    struct err unused;
    be("0", "2", "0", "1");
    assert_int_equal(mkdir(meeting, 0700), 0); /* in the way */
    assert_int_equal(begin(0), AGENTS_FAILED);
    snprintf(want, sizeof want, "%s: cannot be written for the other ranks: Is a directory", meeting);
    assert_string_equal(err.text, want);
    snprintf(beside, sizeof beside, "%s.%d", meeting, (int)getpid());
    assert_int_equal(access(beside, F_OK), -1);
    rmdir(meeting);
    assert_true(set.listener == -1 && !set.copies);
    snprintf(want, sizeof want, "torchrun-job_%d-", (int)getpid());
    int fd = siblings_open(want, &unused);
    assert_true(fd >= 0); /* given back, and now somebody else's */
    assert_int_equal(begin(0), AGENTS_FAILED);
    assert_non_null(strstr(err.text, "another nccltune of the job "));
    close(fd);
}

/* Whoever worked for its node is gone without a word. */
TEST_CASE(the_first_of_its_node_is_lost)
{
    char name[64];
    int status;
    snprintf(name, sizeof name, "torchrun-job_%d-", (int)getpid());
    int fd = siblings_open(name, &err);
    be("1", "2", "1", "2");
    pid_t child = fork();
    if (!child) {
        close(fd);
        enum agents_role role = begin(20);
        _exit(role == AGENTS_SERVED && code == ERR_FAILED ? 0 : 1);
    }
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 20000), 1);
    close(fd);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* The head waits for the agents of all nodes, its own included, and lends them; `*code` is what they end with. */
TEST_CASE(the_head_gathers_all_nodes)
{
    volatile sig_atomic_t stop = 0;
    int status;
    be("0", "2", "0", "1");
    pid_t other = fork(); /* another node: it finds the file and serves */
    if (!other)
        execl("/bin/sh", "sh", "-c",
              "until [ -e \"$0\" ]; do sleep 0.05; done; { read x; read NCCLTUNE_SECRET; read places; } <\"$0\"\n"
              "export NCCLTUNE_SECRET; exec \"$NCCLTUNE_WORKER\" agent --connect \"$places\" --as other",
              meeting, (char *)NULL);
    enum agents_role role = agents_meet(&set, &setup, dir, &stop, arena, &code, &err);
    if (role != AGENTS_CONDUCT || setup.lent != &set)
        fail_msg("role %d: %s", role, err.text);
    assert_true(set.count == 2 && set.here.group > 0 && agents_find(&set, "other") >= 0);
    assert_int_equal(set.listener, -1); /* nobody else is waited for */
    agents_end(&set, &setup, 7);
    assert_true(!set.arena && !set.copies && !setup.lent);
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(WEXITSTATUS(status), 7);
    stop = 1;
    assert_int_equal(agents_meet(&set, &setup, dir, &stop, arena, &code, &err), AGENTS_FAILED);
    assert_string_equal(err.text, "interrupted");
    assert_true(!set.arena && !set.copies && access(meeting, F_OK));
    setenv("NCCLTUNE_WORKER", "/no/such/worker", 1);
    assert_int_equal(agents_meet(&set, &setup, dir, &stop, arena, &code, &err), AGENTS_FAILED);
    assert_int_equal(err.code, ERR_LACKS);
    struct bench_setup named = {.hosts = "n1,n2"};
    assert_int_equal(agents_meet(&set, &named, dir, &stop, arena, &code, &err), AGENTS_CONDUCT);
    assert_true(!set.copies && !named.lent);
}

/* ---- siblings ---- */

#define WAITERS 5

static char siblings[64];

static int name_siblings(void **state)
{
    snprintf(siblings, sizeof siblings, "test-%d", (int)getpid());
    return 0;
}

static void start_siblings(pid_t pids[WAITERS])
{
    for (int i = 0; i < WAITERS; i++) {
        pids[i] = fork();
        if (!pids[i]) {
            int word = siblings_wait(siblings, 20);
            _exit(word >= 0 ? word : 200 - word);
        }
    }
}

static void assert_all_end_with(const pid_t pids[WAITERS], int expected)
{
    for (int i = 0; i < WAITERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), expected);
    }
}

TEST_CASE(all_end_alike)
{
    struct err e = {0};
    pid_t pids[WAITERS];
    start_siblings(pids); /* before there is anybody to wait for */
    usleep(100000);
    int fd = siblings_open(siblings, &e);
    assert_true(fd >= 0);
    assert_int_equal(siblings_open(siblings, &e), -1);
    char want[128];
    snprintf(want, sizeof want, "another nccltune of the job '%s' runs on this node", siblings);
    assert_string_equal(e.text, want);
    usleep(100000);
    siblings_tell(fd, 77);
    assert_all_end_with(pids, 77);
}

TEST_CASE(killed)
{
    struct err e = {0};
    pid_t pids[WAITERS];
    int status;
    pid_t first = fork();
    if (!first) {
        siblings_open(siblings, &e);
        usleep(400000);
        raise(9);
    }
    start_siblings(pids);
    assert_all_end_with(pids, 200 - SIBLINGS_LOST);
    waitpid(first, &status, 0);
}

TEST_CASE(nobody)
{
    assert_int_equal(siblings_wait("no such job", 0.2), SIBLINGS_NONE);
}

static int word_of(const char *name, int word)
{
    struct err e = {0};
    int status, fd = siblings_open(name, &e);
    assert_true(fd >= 0);
    pid_t pid = fork();
    if (!pid) {
        close(fd); /* or it would meet itself when it comes late */
        _exit(siblings_wait(name, 60) == word ? 0 : 1);
    }
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 60000), 1);
    siblings_tell(fd, word);
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
}

/* Any byte, under a name of any length: of long ones the beginning counts. */
TEST_CASE(every_word_and_name)
{
    char name[200];
    struct err e = {0};
    assert_int_equal(word_of(siblings, 0), 0);
    assert_int_equal(word_of(siblings, 255), 0);
    /* Others may be at this test on this machine. */
    snprintf(name, sizeof name, "%s-%0*d", siblings, (int)(sizeof name - 2 - strlen(siblings)), 0);
    assert_int_equal(word_of(name, 7), 0);
    int fd = siblings_open(name, &e);
    name[sizeof name - 2] = 'y';
    assert_int_equal(siblings_open(name, &e), -1);
    name[0] = 'y'; /* of "test-..." */
    int other = siblings_open(name, &e);
    assert_true(fd >= 0 && other >= 0);
    siblings_tell(fd, 0);
    siblings_tell(other, 0);
    siblings_tell(-1, 0);
    fd = siblings_open(name, &e); /* closed, so free again */
    assert_true(fd >= 0);
    close(fd);
}

TEST_GROUP(test_copies, set_up, tear_down, name_siblings, NULL)
