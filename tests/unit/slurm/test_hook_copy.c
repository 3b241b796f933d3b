/* The node's copy of a profile: made of one file of the store, by root alone, and only when the file is whole. */
#include <fcntl.h>

#include "core/trust.h"
#include "tests/lib/unit.h"
#include "tests/unit/slurm/one_store.h"

static char run[1100];

/* The store's file with this text behind the format, and an open store. */
static int offer(const char *text)
{
    char all[4096];
    struct err why = {0};
    snprintf(all, sizeof all, HOOK_NODE_FORMAT "%s", text);
    store_write(&store, "profiles/" STORE_HASH ".node", all);
    snprintf(run, sizeof run, "%s", store_path(&store, "run"));
    return hook_open_directory(store.conf.store, store.conf.owner, &why);
}

static int make(const char *text, struct hook_conf *copy)
{
    int dir = offer(text), rc = hook_copy(&store.conf, dir, run, STORE_HASH, copy);
    close(dir);
    return rc;
}

static int is_there(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "run/profiles/%s", name);
    return !access(store_path(&store, path), F_OK);
}

TEST_CASE(copies_once)
{
    static const char files[] = "hook.map 3\nabcnccl.d/a.conf 2\nx\ntuner.bin 0\n";
    struct hook_conf copy;
    struct hook_file f;
    struct err why = {0};
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    assert_int_equal(make(files, &copy), 0);
    assert_string_equal(copy.store, run);
    assert_int_equal(hook_read(store_path(&store, "run/profiles/" STORE_HASH "/nccl.d/a.conf"), getuid(), 9, &f, &why),
                     0);
    assert_string_equal(f.text, "x\n");
    free(f.text);
    assert_true(is_there(STORE_HASH "/tuner.bin"));
    unlink(store_path(&store, "profiles/" STORE_HASH ".node"));
    assert_int_equal(hook_copy(&store.conf, -1, run, STORE_HASH, &copy), 0);
}

TEST_CASE(refuses_what_is_not_whole)
{
    static const char *const bad[] = {"hook.map 4\nabc",
                                      "hook.map\nabc",
                                      "../hook.map 3\nabc",
                                      "nccl.d/../x 3\nabc",
                                      "/etc/x 3\nabc",
                                      "nccl.d/ 3\nabc",
                                      "hook.map 3 4\nabc",
                                      "hook.map -1\nabc",
                                      "x/y 3\nabc",
                                      "hook.map 3\nabcmore",
                                      "hook.map 99999999999999999999\nabc",
                                      "nccl.d 1\nanccl.d/x 1\na"};
    struct hook_conf copy;
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(make(bad[i], &copy), -1);
        assert_false(is_there(STORE_HASH));
    }
    assert_int_equal(rmdir(store_path(&store, "run/profiles")), 0); /* nothing is left of a try */
}

/* What others can have made is no copy, and nothing is written there. */
TEST_CASE(believes_root_alone)
{
    static const char files[] = "hook.map 3\nabc";
    struct hook_conf copy;
    char path[1200];
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    assert_int_equal(make(files, &copy), 0);
    snprintf(path, sizeof path, "%s", store_path(&store, "run/profiles"));
    chmod(path, 0777);
    assert_int_equal(make(files, &copy), -1);
    chmod(path, 0755);
    assert_int_equal(make(files, &copy), 0);
    rename(path, store_path(&store, "elsewhere"));
    assert_int_equal(symlink(store_path(&store, "elsewhere"), path), 0);
    assert_int_equal(make(files, &copy), -1);
    unlink(path);
    assert_int_equal(make(files, &copy), 0);
    chmod(run, 0777);
    assert_int_equal(make(files, &copy), -1);
    chmod(run, 0755);
}

/* A copy goes when no job on this node has it, an hour after it was last found. */
TEST_CASE(removes_what_no_job_has)
{
    static const char *const names[] = {"1", "2", "3"};
    const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    struct hook_conf copy;
    struct err why = {0};
    char path[128];
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    assert_true(make("hook.map 9\n", &copy) == -1); /* makes run/profiles */
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "run/profiles/%s", names[i]);
        assert_int_equal(mkdir(store_path(&store, path), 0755), 0);
        if (i)
            utimensat(AT_FDCWD, store.path, old, 0);
    }
    assert_int_equal(hook_answer_write(run, "7", "nccltune-job/1\nstate profile\nprofile 2\nend\n", &why), 0);
    assert_int_equal(make("hook.map 3\nabc", &copy), 0);
    assert_true(is_there("1")); /* young */
    assert_true(is_there("2")); /* job 7's */
    assert_false(is_there("3"));
    assert_true(is_there(STORE_HASH));
}

TEST_CASES_EACH(test_hook_copy, store_set_up, store_tear_down)
