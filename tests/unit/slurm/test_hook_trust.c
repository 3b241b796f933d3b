/* Which files the hooks read, and which they refuse. */
#include "tests/lib/unit.h"
#include "tests/unit/slurm/store.h"

#define LIMIT 4096

static struct store store;

static int set_up(void **state)
{
    return store_new(&store) ? (store_free(&store), 0) : 0;
}

static int tear_down(void **state)
{
    store_free(&store);
    return 0;
}

/* Reads FILE; `why` must be in the refusal, NULL: there must be none. */
static void expect(const char *name, const char *text)
{
    struct err why = {0};
    struct hook_file f;
    int rc = hook_read(store_path(&store, name), getuid(), LIMIT, &f, &why);
    if (text && (rc != -1 || f.text || !strstr(why.text, text)))
        fail_msg("%s: wanted a refusal with '%s', found '%s'", name, text, why.text);
    if (!text && rc)
        fail_msg("%s: refused: %s", name, why.text);
    free(f.text);
}

static void need_trust(void)
{
    if (!is_trusted(store.root))
        skip_because("needs a directory that is root's or this user's, all the way");
}

TEST_CASE(reads)
{
    struct err why = {0};
    struct hook_file f;
    need_trust();
    store_write(&store, "f", "two\nlines\n");
    assert_int_equal(hook_read(store_path(&store, "f"), getuid(), LIMIT, &f, &why), 0);
    assert_int_equal(f.bytes, 10);
    assert_string_equal(f.text, "two\nlines\n");
    free(f.text);
    store_write(&store, "empty", "");
    expect("empty", NULL);
}

TEST_CASE(modes)
{
    static const struct {
        mode_t mode;
        int good;
    } table[] = {{0644, 1}, {0600, 1}, {0444, 1}, {0755, 1}, {0664, 0}, {0646, 0}, {0666, 0}, {0620, 0}, {01777, 0}};
    need_trust();
    mkdir(store_path(&store, "d"), 0755);
    store_write(&store, "d/f", "x");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        chmod(store_path(&store, "d/f"), table[i].mode);
        expect("d/f", table[i].good ? NULL : "can be written by others");
        chmod(store_path(&store, "d/f"), 0644);
        chmod(store_path(&store, "d"), table[i].mode | 0700);
        expect("d/f", table[i].good ? NULL : "can be written by others");
        chmod(store_path(&store, "d"), 0755);
    }
}

TEST_CASE(kinds)
{
    char target[1024];
    need_trust();
    store_write(&store, "real", "x");
    snprintf(target, sizeof target, "%s", store_path(&store, "real"));
    assert_int_equal(symlink(target, store_path(&store, "link")), 0);
    expect("link", "is a symbolic link");
    mkdir(store_path(&store, "dir"), 0755);
    store_write(&store, "dir/f", "x");
    snprintf(target, sizeof target, "%s", store_path(&store, "dir"));
    assert_int_equal(symlink(target, store_path(&store, "dirlink")), 0);
    expect("dirlink/f", "is a symbolic link");
    expect("dir", "is not a regular file");
    expect("real/f", "Not a directory");
    expect("missing", "No such file");
    assert_int_equal(mkfifo(store_path(&store, "fifo"), 0644), 0);
    expect("fifo", "is not a regular file");
    expect("dir/../real", "is not a plain path");
    expect("./real", "is not a plain path");
    expect("dir//f", "is not a plain path");
    expect("dir/", "is not a plain path");
}

TEST_CASE(contents)
{
    FILE *f;
    need_trust();
    f = fopen(store_path(&store, "binary"), "w");
    assert_int_equal(fwrite("a\0b", 1, 3, f), 3);
    fclose(f);
    expect("binary", "is not text");
    store_write(&store, "large", "");
    assert_int_equal(truncate(store_path(&store, "large"), LIMIT), 0);
    expect("large", "is not text");
    assert_int_equal(truncate(store_path(&store, "large"), LIMIT + 1), 0);
    expect("large", "is larger than");
}

TEST_CASE(owners)
{
    struct err why = {0};
    struct hook_file f;
    need_trust();
    if (getuid() != 0)
        skip_because("needs root");
    store_write(&store, "f", "x");
    assert_int_equal(chown(store_path(&store, "f"), 12345, 0), 0);
    expect("f", "belongs to user 12345");
    assert_int_equal(hook_read(store_path(&store, "f"), 12345, LIMIT, &f, &why), 0);
    free(f.text);
}

TEST_CASE(relative)
{
    struct err why = {0};
    struct hook_file f;
    assert_int_equal(hook_read("Makefile", 0, LIMIT, &f, &why), -1);
    assert_non_null(strstr(why.text, "not an absolute path"));
    char path[HOOK_PATH + 1] = "";
    for (size_t i = 0; i < HOOK_PATH; i++)
        path[i] = i % 2 ? 'x' : '/';
    why.text[0] = 0;
    assert_int_equal(hook_read(path, 0, LIMIT, &f, &why), -1);
    assert_non_null(strstr(why.text, "not an absolute path"));
    path[HOOK_PATH - 1] = why.text[0] = 0;
    assert_int_equal(hook_read(path, 0, LIMIT, &f, &why), -1);
    assert_string_equal(why.text, "/x: No such file or directory");
}

/* Whatever it finds, nothing stays open behind it, and descriptor 0 is one like others: on the way down they alternate.
 */
TEST_CASE(descriptors)
{
    static const struct {
        const char *name;
        int reads, holds, enters;
    } table[] = {{"good", 0, 0, -1}, {"d/good", 0, 0, -1}, {"binary", -1, 0, -1}, {"missing", -1, -1, -1},
                 {"d", -1, -1, 0},   {"d/d", -1, -1, 0},   {"fifo", -1, -1, -1},  {"open", -1, -1, -1}};
    need_trust();
    mkdir(store_path(&store, "d"), 0755);
    mkdir(store_path(&store, "d/d"), 0755);
    store_write(&store, "good", "x");
    store_write(&store, "d/good", "x");
    store_write(&store, "open", "x");
    chmod(store_path(&store, "open"), 0666);
    store_write(&store, "binary", "");
    assert_int_equal(truncate(store_path(&store, "binary"), 9), 0);
    mkfifo(store_path(&store, "fifo"), 0644);
    struct err why = {0};
    int input = dup(0), from = hook_open_directory(store.root, getuid(), &why), before = count_open(), wrong = 0,
        left = 0;
    for (size_t i = 0; i < 2 * (sizeof table / sizeof *table); i++) {
        const size_t k = i / 2;
        struct hook_file f;
        const char *path = store_path(&store, table[k].name);
        if (i % 2)
            close(0);
        wrong += hook_read(path, getuid(), LIMIT, &f, &why) != table[k].reads;
        free(f.text);
        wrong += (hook_read_at(from, table[k].name, path, getuid(), LIMIT, &f, &why) != 0) != (table[k].holds != 0);
        free(f.text);
        wrong += hook_check(path, getuid(), &why) != table[k].holds;
        int dir = hook_open_directory(path, getuid(), &why);
        wrong += (dir < 0 ? -1 : 0) != table[k].enters;
        if (dir >= 0)
            close(dir);
        if (i % 2)
            dup2(input, 0);
        left += count_open() != before;
    }
    close(input);
    close(from);
    assert_int_equal(wrong, 0);
    assert_int_equal(left, 0);
}

/* A file of /proc, whose size says nothing. */
TEST_CASE(sizes)
{
    struct err why = {0};
    struct hook_file f;
    assert_int_equal(hook_read("/proc/version", 0, LIMIT, &f, &why), -1);
    assert_string_equal(why.text, "/proc/version cannot be read whole");
}

TEST_CASES_WITHIN(test_hook_trust, set_up, tear_down)
