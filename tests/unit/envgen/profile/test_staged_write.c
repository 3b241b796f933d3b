/* Several files replaced together, or not at all. */
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "envgen/profile/staged_write.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

TEST_CASE(files_in_a_directory)
{
    struct scratch dir = scratch_new();
    struct env_staged_write s;
    struct err e = {0};
    env_staged_write_begin(&s, dir.dir, dir.arena);
    assert_int_equal(env_staged_write_add(&s, "nccl.d/a.conf", "x", 1, &e), 0);
    env_staged_write_abandon(&s);
    assert_int_not_equal(access(scratch_path(&dir, "nccl.d"), F_OK), 0); /* nothing is left over */
    env_staged_write_begin(&s, dir.dir, dir.arena);
    assert_int_equal(env_staged_write_add(&s, "nccl.d/a.conf", "x", 1, &e), 0);
    assert_int_equal(env_staged_write_add(&s, "nccl.d/b.conf", "y", 1, &e), 0);
    assert_int_equal(env_staged_write_commit(&s, "last", &e), 0);
    assert_string_equal(scratch_read(&dir, scratch_path(&dir, "nccl.d/b.conf")), "y");
    scratch_write(&dir, "file", "", 0);
    assert_int_equal(env_staged_write_add(&s, "file/a.conf", "x", 1, &e), ERR_FAILED);
    env_staged_write_abandon(&s);
    scratch_free(&dir);
}

/* A signal that ends the program takes the temporary files along. */
TEST_CASE(ended_underway)
{
    struct scratch dir = scratch_new();
    struct env_staged_write s;
    struct err e = {0};
    for (int commits = 0; commits < 2; commits++) {
        pid_t child = fork();
        if (!child) {
            env_staged_write_begin(&s, dir.dir, dir.arena);
            env_staged_write_add(&s, "a", "x", 1, &e);
            raise(SIGTERM);
            env_staged_write_add(&s, "nccl.d/b", "x", 1, &e);
            if (commits)
                env_staged_write_commit(&s, "last", &e);
            env_staged_write_abandon(&s);
            _exit(0);
        }
        int status = 0;
        assert_true(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
        char command[600];
        snprintf(command, sizeof command, "test \"$(cd %s && find . -type f | sort | tr '\\n' ' ')\" = '%s'", dir.dir,
                 commits ? "./a ./nccl.d/b " : "");
        assert_int_equal(system(command), 0);
    }
    scratch_free(&dir);
}

TEST_CASE(all_files_arrive_together)
{
    struct scratch dir = scratch_new();
    struct env_staged_write s;
    struct err e = {0};
    scratch_write(&dir, "a", "old", 3);
    scratch_write(&dir, "kept", "kept\n", 5);
    scratch_write(&dir, "last", "old", 3);
    env_staged_write_begin(&s, dir.dir, dir.arena);
    assert_int_equal(env_staged_write_add(&s, "a", "new", 3, &e), 0);
    assert_int_equal(env_staged_write_keep(&s, "kept", &e), 0);
    assert_int_equal(env_staged_write_add(&s, "last", "new last", 8, &e), 0);
    assert_string_equal(scratch_read(&dir, scratch_path(&dir, "a")), "old");
    assert_string_equal(scratch_read(&dir, scratch_path(&dir, "last")), "old");
    assert_int_equal(env_staged_write_commit(&s, "last", &e), 0);
    env_staged_write_abandon(&s);
    assert_string_equal(scratch_read(&dir, scratch_path(&dir, "a")), "new");
    assert_string_equal(scratch_read(&dir, scratch_path(&dir, "last")), "new last");
    int code;
    assert_string_equal(scratch_run(&dir, arena_printf(dir.arena, "cd '%s' && ls", dir.dir), &code), "a\nkept\nlast\n");
    /* sha256sum's own figure for "kept\n" */
    char *sum = scratch_run(&dir, arena_printf(dir.arena, "sha256sum < '%s/kept'", dir.dir), &code);
    assert_memory_equal(s.files[1].sha256, sum, 64);
    assert_int_equal(s.files[1].bytes, 5);
    scratch_free(&dir);
}

TEST_CASE(abandoned_leaves_everything_as_it_was)
{
    struct scratch dir = scratch_new();
    struct env_staged_write s;
    struct err e = {0};
    scratch_write(&dir, "a", "old", 3);
    env_staged_write_begin(&s, dir.dir, dir.arena);
    assert_int_equal(env_staged_write_add(&s, "a", "new", 3, &e), 0);
    assert_int_equal(env_staged_write_keep(&s, "missing", &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "missing"));
    env_staged_write_abandon(&s);
    int code;
    assert_string_equal(scratch_run(&dir, arena_printf(dir.arena, "cd '%s' && ls && cat a", dir.dir), &code), "a\nold");
    scratch_free(&dir);
}

TEST_CASE(a_directory_that_cannot_be_written)
{
    struct scratch dir = scratch_new();
    struct env_staged_write s;
    struct err e = {0};
    env_staged_write_begin(&s, scratch_path(&dir, "nowhere"), dir.arena);
    assert_int_equal(env_staged_write_add(&s, "a", "new", 3, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "/nowhere: "));
    env_staged_write_abandon(&s);
    scratch_free(&dir);
}

/* On a disk of 64 KiB the second file does not fit: the first one stays old. */
TEST_CASE(a_full_disk)
{
    struct scratch dir = scratch_new();
    struct env_staged_write s;
    struct err e = {0};
    if (geteuid() || mount("none", dir.dir, "tmpfs", 0, "size=64k")) {
        scratch_free(&dir);
        skip_because("needs root, to mount a small file system");
    }
    char *large = arena_alloc(dir.arena, 200000);
    scratch_write(&dir, "a", "old", 3);
    env_staged_write_begin(&s, dir.dir, dir.arena);
    int first = env_staged_write_add(&s, "a", "new", 3, &e), second = env_staged_write_add(&s, "b", large, 200000, &e);
    env_staged_write_abandon(&s);
    int code;
    char *left = scratch_run(&dir, arena_printf(dir.arena, "cd '%s' && ls && cat a", dir.dir), &code);
    umount(dir.dir);
    assert_int_equal(first, 0);
    assert_int_equal(second, ERR_FAILED);
    assert_non_null(strstr(e.text, "No space left"));
    assert_string_equal(left, "a\nold");
    scratch_free(&dir);
}

TEST_CASES(test_staged_write)
