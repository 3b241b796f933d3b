/* Nodes that meet in a shared directory: each is a process here. Whatever happens to one of them, all others end with
 * the same answer. */
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/lib/unit.h"
#include "tests/unit/slurm/one_store.h"

#define NODES    8
#define LIMIT_MS 400
#define OTHER    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* What happens to a node. */
enum fate { FINE, UNTUNED, CANNOT_TELL, ANOTHER, ABSENT, NO_DIRECTORY, LATE };

static enum hook_state *ends; /* of each node, shared with the processes */
static enum hook_policy *policies;

static int set_up(void **state)
{
    unsetenv("SLURM_JOB_RESTART_COUNT");
    untrusted = store_new(&store);
    mkdir(store_path(&store, "meet"), 0755);
    snprintf(store.conf.meet, sizeof store.conf.meet, "%s/meet", store.root);
    store.conf.policy = HOOK_NONE;
    ends = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    policies = (enum hook_policy *)(ends + NODES);
    return 0;
}

static int tear_down(void **state)
{
    munmap(ends, 4096);
    return store_tear_down(state);
}

static void be_node(int k, enum fate fate)
{
    static struct hook_answer a;
    struct hook_job job = {.id = "7", .lists = {"n[0-3]", "n[4-7]"}, .nlists = 2};
    char name[16];
    snprintf(name, sizeof name, "n%d", k);
    job.node = name;
    a.nodes = NODES;
    a.policy = HOOK_NONE;
    a.state = fate == UNTUNED ? HOOK_NOTHING : fate == CANNOT_TELL ? HOOK_UNKNOWN : HOOK_TUNED;
    snprintf(a.hash, sizeof a.hash, "%s", fate == ANOTHER ? OTHER : STORE_HASH);
    if (fate == NO_DIRECTORY)
        snprintf(store.conf.meet, sizeof store.conf.meet, "/nowhere");
    while (fate == LATE && access(store_path(&store, "meet/7.0/verdict"), F_OK)) /* the others have waited enough */
        usleep(1000);
    hook_meet(&store.conf, &job, &a, LIMIT_MS);
    ends[k] = a.state;
    policies[k] = a.policy;
}

/* All eight at once, `fate` for number `odd`. */
static void meet(int odd, enum fate fate)
{
    for (int k = 0; k < NODES; k++) {
        ends[k] = HOOK_NOTHING;
        if (k == odd && fate == ABSENT)
            continue;
        if (fork() == 0) {
            be_node(k, k == odd ? fate : FINE);
            _exit(0);
        }
    }
    while (wait(NULL) > 0)
        ;
}

static void expect_all(enum hook_state state)
{
    for (int k = 0; k < NODES; k++)
        if (ends[k] != state)
            fail_msg("node %d: %d, expected %d", k, (int)ends[k], (int)state);
}

static void leave(void)
{
    for (int k = 0; k < NODES; k++) {
        char name[16];
        struct hook_job job = {.id = "7", .node = name};
        snprintf(name, sizeof name, "n%d", k);
        hook_meet_leave(&store.conf, &job);
    }
}

TEST_CASE(all_or_none)
{
    static const enum fate fates[] = {UNTUNED, CANNOT_TELL, ANOTHER, ABSENT, NO_DIRECTORY, LATE};
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    meet(0, FINE);
    expect_all(HOOK_TUNED);
    leave();
    assert_int_equal(rmdir(store_path(&store, "meet")), 0); /* nothing is left of it */
    mkdir(store.path, 0755);
    for (size_t i = 0; i < sizeof fates / sizeof *fates; i++) {
        meet((int)i, fates[i]);
        expect_all(HOOK_NOTHING);
        leave();
    }
}

/* What an earlier run of the job left behind by a node that died must not count. */
TEST_CASE(requeued)
{
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    meet(0, FINE);
    setenv("SLURM_JOB_RESTART_COUNT", "1", 1);
    meet(3, NO_DIRECTORY);
    expect_all(HOOK_NOTHING);
}

/* The verdict was a profile, and a node finds when it comes that it has none: others have the profile. */
TEST_CASE(too_late_to_be_told)
{
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    meet(0, FINE);
    be_node(2, CANNOT_TELL);
    assert_int_equal(ends[2], HOOK_UNKNOWN);
    assert_int_equal(policies[2], HOOK_FAIL);
}

/* A node that cannot tell the job's nodes meets nobody. */
TEST_CASE(alone_without_a_profile)
{
    static struct hook_answer a;
    struct hook_job job = {.id = "8", .node = "n0"};
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    a.nodes = 2;
    hook_meet(&store.conf, &job, &a, LIMIT_MS);
    assert_true(a.state == HOOK_NOTHING && !a.why[0]); /* and says why itself */
    hook_meet_leave(&store.conf, &job);
    hook_meet_leave(&store.conf, &job);
    a.state = HOOK_NOTHING;
    hook_meet(&store.conf, &job, &a, LIMIT_MS);
    assert_string_equal(a.why, "no node has a profile");
    a.nodes = 1; /* nobody to meet */
    a.state = HOOK_TUNED;
    hook_meet(&store.conf, &job, &a, LIMIT_MS);
    assert_int_equal(a.state, HOOK_TUNED);
}

/* Where others can write, root does not; what they have put there is no answer. */
TEST_CASE(strangers)
{
    if (untrusted || getuid() != 0)
        skip_because(NEEDS_OWN_STORE);
    chmod(store_path(&store, "meet"), 0777);
    meet(0, FINE);
    expect_all(HOOK_NOTHING);
    chmod(store_path(&store, "meet"), 0755);
    assert_int_equal(symlink("/tmp", store_path(&store, "meet/7.0")), 0);
    meet(0, FINE);
    expect_all(HOOK_NOTHING);
    assert_int_equal(access("/tmp/verdict", F_OK), -1);
    unlink(store.path);
    mkdir(store.path, 0755);
    store_write(&store, "meet/7.0/n5.node", STORE_HASH "\n");
    assert_int_equal(chown(store.path, 65534, 65534), 0);
    meet(5, ABSENT);
    ends[5] = HOOK_NOTHING;
    expect_all(HOOK_NOTHING);
}

static void put(const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "meet/7.0/%s", name);
    store_write(&store, path, text);
}

static const char *get(const char *name)
{
    static char text[256];
    char path[64];
    snprintf(path, sizeof path, "meet/7.0/%s", name);
    FILE *f = fopen(store_path(&store, path), "r");
    text[f ? fread(text, 1, sizeof text - 1, f) : 0] = 0;
    if (f)
        fclose(f);
    return text;
}

/* Node n0 of two, which has a profile; what it says of the other, and what it leaves there. */
TEST_CASE(word_by_word)
{
    static const struct {
        const char *list, *other, *verdict; /* NULL: not there */
        enum hook_state state;
        const char *why, *left;
    } cases[] = {
        {"n[0-1]", STORE_HASH "\n", NULL, HOOK_TUNED, "", STORE_HASH "\n"},
        {"n[0-1]", OTHER "\n", NULL, HOOK_NOTHING, "node n1 has no profile, or another",
         "-node n1 has no profile, or another\n"},
        {"n[0-1]", "-\n", NULL, HOOK_NOTHING, "node n1 has no profile, or another",
         "-node n1 has no profile, or another\n"},
        {"n[0-1]", NULL, NULL, HOOK_NOTHING, "1 of its nodes did not answer in time",
         "-1 of its nodes did not answer in time\n"},
        {"n[0-3]", STORE_HASH "\n", NULL, HOOK_NOTHING, "2 of its nodes did not answer in time",
         "-2 of its nodes did not answer in time\n"},
        {"n[0-1]", NULL, "-as it was said\nand more", HOOK_NOTHING, "as it was said", "-as it was said\nand more"},
        {"n[0-1]", NULL, STORE_HASH "\n", HOOK_TUNED, "", STORE_HASH "\n"},
        {"n[0-1]", NULL, OTHER "\n", HOOK_UNKNOWN,
         "/meet/7.0: the verdict is bbbbbbbbbbbb, which this node does not have", OTHER "\n"},
        {"n[0-", NULL, NULL, HOOK_NOTHING, "the job's nodes are unknown", "-the job's nodes are unknown\n"}};
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct hook_answer a;
        struct hook_job job = {.id = "7", .lists = {cases[i].list}, .nlists = 1, .node = "n0"};
        hook_answer_clear(&a);
        a.nodes = 2, a.policy = HOOK_NONE, a.state = HOOK_TUNED;
        strcpy(a.hash, STORE_HASH);
        mkdir(store_path(&store, "meet/7.0"), 0755);
        if (cases[i].other)
            put("n1.node", cases[i].other);
        if (cases[i].verdict)
            put("verdict", cases[i].verdict);
        hook_meet(&store.conf, &job, &a, 60);
        size_t root = cases[i].state == HOOK_UNKNOWN ? strlen(store.root) : 0; /* a place, with its directory */
        assert_string_equal(a.why + root, cases[i].why);
        assert_int_equal(a.state, cases[i].state);
        assert_int_equal(a.policy, a.state == HOOK_UNKNOWN ? HOOK_FAIL : HOOK_NONE);
        assert_string_equal(get("n0.node"), STORE_HASH "\n");
        assert_string_equal(get("verdict"), cases[i].left);
        assert_int_equal(access(store_path(&store, "meet/7.0/n0.proposal"), F_OK), -1);
        assert_int_equal(access(store_path(&store, "meet/7.0/n0.new"), F_OK), -1);
        hook_meet_leave(&store.conf, &job);
        assert_int_equal(access(store_path(&store, "meet/7.0"), F_OK), cases[i].other ? 0 : -1);
        unlink(store_path(&store, "meet/7.0/n1.node"));
        rmdir(store_path(&store, "meet/7.0"));
    }
}

/* Nothing where this node alone can do nothing; where the others may have decided, that is not known. */
TEST_CASE(where_it_cannot_meet)
{
    static struct hook_answer a;
    struct hook_job job = {.id = "7", .lists = {"n[0-1]"}, .nlists = 1, .node = "n0"};
    char said[1024];
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    for (int what = 0; what < 4; what++) {
        hook_answer_clear(&a);
        a.nodes = 2, a.policy = HOOK_NONE, a.state = HOOK_TUNED;
        strcpy(a.hash, STORE_HASH);
        mkdir(store_path(&store, "meet/7.0"), 0755);
        if (what == 0) { /* somebody else could write there */
            chmod(store_path(&store, "meet/7.0"), 0777);
            char place[1024], open[1100];
            snprintf(place, sizeof place, "%s/meet/7.0", store.root);
            snprintf(open, sizeof open, "%s can be written by others (mode 777)", place);
            snprintf(said, sizeof said, "%.200s cannot be used: %.260s", place, open);
        } else if (what == 1) { /* its answer cannot be put in its place */
            mkdir(store_path(&store, "meet/7.0/n0.node"), 0755);
            snprintf(said, sizeof said, "%s/meet/7.0 cannot be written: Is a directory", store.root);
        } else if (what == 2) {
            mkdir(store_path(&store, "meet/7.0/verdict"), 0755);
            snprintf(said, sizeof said, "%s/meet/7.0: the verdict cannot be read", store.root);
        } else {
            store_write(&store, "file", "");
            snprintf(store.conf.meet, sizeof store.conf.meet, "%s/file", store.root);
            char place[1024], broken[1024];
            snprintf(place, sizeof place, "%s/7.0", store.conf.meet);
            snprintf(broken, sizeof broken, "%s: Not a directory", store.conf.meet);
            snprintf(said, sizeof said, "%.200s cannot be used: %.260s", place, broken);
        }
        hook_meet(&store.conf, &job, &a, 40);
        assert_string_equal(a.why, said);
        assert_int_equal(a.state, what == 2 ? HOOK_UNKNOWN : HOOK_NOTHING);
        assert_int_equal(a.policy, what == 2 ? HOOK_FAIL : HOOK_NONE);
        char command[1024];
        snprintf(command, sizeof command, "rm -rf '%s/meet/7.0'", store.root);
        assert_int_equal(system(command), 0);
    }
}

/* Each run of a job has a place of its own. */
TEST_CASE(a_place_for_each_run)
{
    static const char *const counts[][2] = {{"3", "meet/7.3"}, {"x", "meet/7.0"}, {"1073741825", "meet/7.0"}};
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        static struct hook_answer a;
        struct hook_job job = {.id = "7", .lists = {"n0"}, .nlists = 1, .node = "n0"};
        setenv("SLURM_JOB_RESTART_COUNT", counts[i][0], 1);
        a.nodes = 2, a.state = HOOK_TUNED;
        strcpy(a.hash, STORE_HASH);
        hook_meet(&store.conf, &job, &a, 1000);
        assert_int_equal(a.state, HOOK_TUNED);
        assert_int_equal(access(store_path(&store, counts[i][1]), F_OK), 0);
        hook_meet_leave(&store.conf, &job);
        assert_int_equal(access(store_path(&store, counts[i][1]), F_OK), -1);
    }
}

TEST_CASES_EACH(test_hook_meet, set_up, tear_down)
