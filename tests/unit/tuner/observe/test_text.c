/* tuner/observe/line.c: texts of any length, and files that appear whole. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tuner/observe/record.h"

TEST_CASE(grows)
{
    struct observe_text t = {0};
    char line[1100];
    for (int i = 0; i < 40000; i++)
        observe_put(&t, "%06d\n", i);
    assert_true(!t.error && t.used == 280000 && t.size >= t.used);
    for (int i = 0; i < 40000; i += 999) {
        snprintf(line, sizeof line, "%06d\n", i);
        assert_memory_equal(t.text + (size_t)7 * (size_t)i, line, 7);
    }
    t.used = 0;
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = 0;
    observe_put(&t, "%s", line); /* no line of ours is so long: cut */
    assert_int_equal(t.used, 1023);
    t.used = 0;
    observe_put_us(&t, "time_us", 1234.5678);
    observe_put_us(&t, "total_us", 0.0625);
    assert_int_equal(t.used, strlen(", \"time_us\": 1234.567, \"total_us\": 0.062"));
    assert_memory_equal(t.text, ", \"time_us\": 1234.567, \"total_us\": 0.062", t.used);
    struct observe_text exact = {0};
    for (int i = 0; i < 65536 / 16; i++)
        observe_put(&exact, "%016d", i);
    assert_true(exact.used == 65536 && exact.size == 65536); /* to the last byte */
    observe_put(&exact, "x");
    assert_true(exact.used == 65537 && exact.size == 131072 && exact.text[65536] == 'x');
    free(exact.text);
    t.used = t.size = (size_t)64 << 20; /* as much as there may be */
    observe_put(&t, "x");
    assert_int_equal(t.error, ENOMEM);
    assert_int_equal(observe_write(&t, "/nowhere/x", "/nowhere/y"), ENOMEM);
    free(t.text);
}

TEST_CASE(appears_whole)
{
    char dir[] = "/tmp/nccltune-text-XXXXXX", beside[64], path[64], read[16];
    struct observe_text t = {0};
    assert_non_null(mkdtemp(dir));
    snprintf(beside, sizeof beside, "%s/.beside", dir);
    snprintf(path, sizeof path, "%s/file", dir);
    assert_int_equal(symlink("/nowhere", beside), 0); /* of somebody else: not followed */
    observe_put(&t, "text");
    assert_int_equal(observe_write(&t, beside, path), 0);
    assert_int_equal(access(beside, F_OK), -1);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fread(read, 1, sizeof read, f), 4);
    assert_memory_equal(read, "text", 4);
    fclose(f);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(observe_write(&t, beside, path), EISDIR); /* and nothing is left beside */
    assert_int_equal(access(beside, F_OK), -1);
    t.error = 0;
    assert_int_equal(observe_write(&t, "/nowhere/x", path), ENOENT);
    rmdir(path), rmdir(dir);
    free(t.text);
}

TEST_CASES(test_text)
