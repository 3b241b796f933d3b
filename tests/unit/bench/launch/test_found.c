/* bench/launch/found.c: who is who by a launcher's variables, and where they meet. Ranks of other nodes are this node's
 * processes under the name of another job. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/launch/address.h"
#include "bench/launch/found.h"
#include "bench/launch/siblings.h"

#define SECRET "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char dir[64], meeting[128], job[32];
static struct arena *arena;
static struct found found;
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
    (void)state;
    for (size_t i = 0; i < sizeof clean / sizeof *clean; i++)
        unsetenv(clean[i]);
    ssize_t n = readlink("/proc/self/exe", worker, sizeof worker - 64);
    worker[n > 0 ? n : 0] = 0;
    char *tests = strstr(worker, "/tests/unit/");
    if (!tests)
        return -1;
    strcpy(tests, "/nccltune-worker");
    setenv("NCCLTUNE_WORKER", worker, 1);
    snprintf(dir, sizeof dir, "/tmp/test_found_XXXXXX");
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
    (void)state;
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

static enum found_role begin(double patience_s)
{
    return found_begin(&found, dir, patience_s, arena, &code, &err);
}

static void nobody_else(void **state)
{
    (void)state;
    assert_int_equal(begin(0), FOUND_ALONE);
    be("0", "1", "0", "1");
    assert_int_equal(begin(0), FOUND_ALONE);
    found_end(&found, 0);
    unsetenv("RANK");
    /* A batch script of four tasks is none of them; a step of four is. */
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_NTASKS", "4", 1);
    assert_int_equal(begin(0), FOUND_ALONE);
    setenv("SLURM_STEP_NUM_TASKS", "1", 1);
    assert_int_equal(begin(0), FOUND_ALONE);
}

static int take(void *user, int fd)
{
    (void)user;
    return fd >= 0;
}

static void the_head_leaves_word(void **state)
{
    char text[4096] = "", why[256], first[SHA256_HEX];
    struct stat s;
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        be("0", "4", "0", "2");
        assert_int_equal(begin(0), FOUND_HEAD);
        assert_string_equal(found.launcher, "torchrun");
        assert_true(found.ranks == 4 && found.nodes == 2 && found.local == 0);
        assert_string_equal(found.meeting, meeting);
        assert_int_equal(lstat(meeting, &s), 0);
        assert_int_equal(s.st_mode & 0777, 0600);
        FILE *f = fopen(meeting, "r");
        text[fread(text, 1, sizeof text - 1, f)] = 0;
        fclose(f);
        assert_memory_equal(text, "nccltune-head/1\n", 16);
        assert_int_equal(strspn(found.secret, "0123456789abcdef"), 64);
        assert_memory_equal(text + 16, found.secret, 64);
        assert_int_equal(text[80], '\n');
        int fd = address_connect(strtok(text + 81, "\n"), 2000, take, NULL, why, sizeof why);
        assert_true(fd >= 0);
        close(fd);
        if (turn)
            assert_string_not_equal(first, found.secret);
        memcpy(first, found.secret, sizeof first);
        assert_true(found.listener >= 0 && found.port > 0 && found.siblings >= 0);
        found_end(&found, 0);
        assert_int_equal(access(meeting, F_OK), -1);
        assert_true(found.listener == -1 && found.siblings == -1 && !found.job);
    }
    be("0", "5", "0", "2");
    unsetenv("GROUP_WORLD_SIZE");
    assert_int_equal(begin(0), FOUND_FAILED);
    assert_string_equal(err.text, "torchrun started 5 ranks, 2 of them on this node: expected as many on every node");
    setenv("GROUP_WORLD_SIZE", "3", 1);
    assert_int_equal(begin(0), FOUND_HEAD);
    assert_int_equal(found.nodes, 3);
    found_end(&found, 0);
    unsetenv("LOCAL_WORLD_SIZE");
    unsetenv("GROUP_WORLD_SIZE");
    assert_int_equal(begin(0), FOUND_HEAD);
    assert_int_equal(found.nodes, 5);
    found_end(&found, 0);
}

static void a_key_is_enough(void **state)
{
    char secret[SHA256_HEX], port[16];
    uint16_t free_port = 0;
    (void)state;
    close(wire_listen(&free_port));
    snprintf(port, sizeof port, "%d", free_port);
    be("0", "2", "0", "1");
    setenv("NCCLTUNE_KEY", "a key", 1);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    setenv("MASTER_PORT", port, 1);
    assert_int_equal(begin(0), FOUND_HEAD);
    assert_int_equal(found.port, free_port);
    memcpy(secret, found.secret, sizeof secret);
    assert_int_equal(access(found.meeting, F_OK), -1);
    found_end(&found, 0);
    setenv("NCCLTUNE_KEY", "another", 1);
    setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1); /* torchrun has that port */
    if (begin(0) == FOUND_HEAD) {
        assert_int_equal(found.port, free_port + 1);
        assert_string_not_equal(found.secret, secret);
        found_end(&found, 0);
    }
    /* No head: it cannot be reached. */
    be("1", "2", "0", "1");
    assert_int_equal(begin(0), FOUND_FAILED);
    assert_non_null(strstr(err.text, "rank 0 cannot be reached from here: "));
    unsetenv("MASTER_PORT");
    err = (struct err){0};
    assert_int_equal(begin(0), FOUND_FAILED);
    assert_non_null(strstr(err.text, "its directory must be shared by all nodes, else set NCCLTUNE_KEY"));
    snprintf(meeting, sizeof meeting, "%s/nothing", dir);
}

/* A file that anybody could have written, or that another program left, leads nowhere. */
static void only_a_head_of_ours_is_believed(void **state)
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
    (void)state;
    be("1", "2", "0", "1");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *f = fopen(meeting, "w");
        fputs(cases[i].text, f);
        fclose(f);
        chmod(meeting, cases[i].mode);
        err = (struct err){0};
        assert_int_equal(begin(0), FOUND_FAILED);
        if (!strstr(err.text, "rank 0 has left no "))
            fail_msg("case %zu: %s", i, err.text);
    }
}

/* An agent's exit code is its process's, and that of all its siblings: here a script's that looks at what it is told.
 */
static void serves(void **state)
{
    static const struct {
        const char *word;
        int code;
        enum found_role role;
    } cases[] = {{"0", 0, FOUND_SERVED}, {"7", 7, FOUND_SERVED}, {"99", FOUND_BECOME_RANK, FOUND_RANK}};
    uint16_t port = 0;
    int listener = wire_listen(&port), status;
    char stack[WIRE_STACK], worker[128];
    (void)state;
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
            enum found_role role = begin(20);
            _exit(role == cases[i].role ? code : 201);
        }
        be("1", "4", "0", "2");
        enum found_role role = begin(20);
        assert_int_equal(waitpid(sibling, &status, 0), sibling);
        if (role != cases[i].role || code != cases[i].code)
            fail_msg("%s: role %d, code %d: %s", cases[i].word, role, code, err.text);
        assert_int_equal(WEXITSTATUS(status), cases[i].code);
    }
    unlink(worker);
    close(listener);
}

static void waits_for_the_first_of_its_node(void **state)
{
    (void)state;
    char name[64];
    int status;
    be("1", "2", "1", "2");
    assert_int_equal(begin(0), FOUND_FAILED);
    assert_string_equal(err.text, "the first rank of this node has not come up within 0 s");
    snprintf(name, sizeof name, "torchrun-job_%d-", (int)getpid());
    static const int words[] = {0, 7, FOUND_BECOME_RANK};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        int fd = siblings_open(name, &err);
        assert_true(fd >= 0);
        pid_t child = fork();
        if (!child) {
            close(fd); /* or it would meet itself when it comes late */
            enum found_role role = begin(20);
            _exit(role == FOUND_RANK ? 100 : role == FOUND_SERVED ? code : 200);
        }
        assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 20000), 1);
        siblings_tell(fd, words[i]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(WEXITSTATUS(status), words[i] == FOUND_BECOME_RANK ? 100 : words[i]);
    }
}

/* Its launcher, its job and what else tells it from the next, in letters that a file's name may have. */
static void what_a_run_is_called(void **state)
{
    static const struct {
        const char *run, *port, *job;
    } rows[] = {{"a b/c", "29500", "torchrun-a_b_c-29500"},
                {"Az09._-", NULL, "torchrun-Az09._--"},
                {"1234567890123456789012345678901234567890123456789012345678901", "x y",
                 "torchrun-123456789012345678901234567890123456789012345678901234567890-x_y"}};
    (void)state;
    be("0", "2", "0", "1");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setenv("TORCHELASTIC_RUN_ID", rows[i].run, 1);
        unsetenv("MASTER_PORT");
        if (rows[i].port)
            setenv("MASTER_PORT", rows[i].port, 1);
        assert_int_equal(begin(0), FOUND_HEAD);
        assert_string_equal(found.job, rows[i].job);
        found_end(&found, 0);
    }
}

/* Without a key, an address or a port that is one they meet at the file. */
static void half_a_key_is_none(void **state)
{
    static const char *const rows[][3] = {{"", "127.0.0.1", "4711"},     {NULL, "127.0.0.1", "4711"},
                                          {"key", NULL, "4711"},         {"key", "127.0.0.1", NULL},
                                          {"key", "127.0.0.1", "65535"}, {"key", "127.0.0.1", "0"},
                                          {"key", "127.0.0.1", "x"}};
    static const char *const names[] = {"NCCLTUNE_KEY", "MASTER_ADDR", "MASTER_PORT"};
    (void)state;
    be("0", "2", "0", "1");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int k = 0; k < 3; k++)
            if (rows[i][k])
                setenv(names[k], rows[i][k], 1);
            else
                unsetenv(names[k]);
        assert_int_equal(begin(0), FOUND_HEAD);
        assert_int_equal(access(found.meeting, F_OK), 0);
        found_end(&found, 0);
    }
}

static void what_keeps_a_head_from_it(void **state)
{
    char want[256], beside[256];
    struct err unused;
    (void)state;
    be("0", "2", "0", "1");
    assert_int_equal(mkdir(meeting, 0700), 0); /* in the way */
    assert_int_equal(begin(0), FOUND_FAILED);
    snprintf(want, sizeof want, "%s: cannot be written for the other ranks: Is a directory", meeting);
    assert_string_equal(err.text, want);
    snprintf(beside, sizeof beside, "%s.%d", meeting, (int)getpid());
    assert_int_equal(access(beside, F_OK), -1);
    rmdir(meeting);
    assert_true(found.listener == -1 && !found.job);
    snprintf(want, sizeof want, "torchrun-job_%d-", (int)getpid());
    int fd = siblings_open(want, &unused);
    assert_true(fd >= 0); /* given back, and now somebody else's */
    assert_int_equal(begin(0), FOUND_FAILED);
    assert_non_null(strstr(err.text, "another nccltune of the job "));
    close(fd);
}

/* Whoever worked for its node is gone without a word. */
static void the_first_of_its_node_is_lost(void **state)
{
    char name[64];
    int status;
    (void)state;
    snprintf(name, sizeof name, "torchrun-job_%d-", (int)getpid());
    int fd = siblings_open(name, &err);
    be("1", "2", "1", "2");
    pid_t child = fork();
    if (!child) {
        close(fd);
        enum found_role role = begin(20);
        _exit(role == FOUND_SERVED && code == ERR_FAILED ? 0 : 1);
    }
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 20000), 1);
    close(fd);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {TEST(nobody_else),
                                       TEST(the_head_leaves_word),
                                       TEST(a_key_is_enough),
                                       TEST(only_a_head_of_ours_is_believed),
                                       TEST(serves),
                                       TEST(waits_for_the_first_of_its_node),
                                       TEST(what_a_run_is_called),
                                       TEST(half_a_key_is_none),
                                       TEST(what_keeps_a_head_from_it),
                                       TEST(the_first_of_its_node_is_lost)};
    alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
