/* core/file.c: atomic writes that lose nothing, reads that are bounded. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.h"
#include "core/trust.h"
#include "tests/lib/unit.h"

static char dir[64];

/* What core/file.c reads with: as much as a network's file system gives at a time, and files that others write to or
 * cut off meanwhile. */
static size_t most_at_once = SIZE_MAX;
static enum { AS_IT_IS, ENDLESS, CUT_OFF } others;
ssize_t read(int fd, void *to, size_t bytes)
{
    bytes = bytes < most_at_once ? bytes : most_at_once;
    if (others == AS_IT_IS)
        return syscall(SYS_read, fd, to, bytes);
    memset(to, 'x', bytes);
    return others == ENDLESS ? (ssize_t)bytes : 0;
}

static int setup(void **state)
{
    strcpy(dir, "/tmp/nccltune-test-XXXXXX");
    return mkdtemp(dir) ? chdir(dir) : -1;
}

static int teardown(void **state)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return chdir("/") || system(command);
}

static void expect_content(const char *path, const char *want)
{
    struct arena *a = arena_new();
    struct err e = {0};
    char *data;
    size_t bytes;
    assert_int_equal(file_read(path, FILE_LIMIT, a, &data, &bytes, &e), 0);
    assert_string_equal(data, want);
    assert_int_equal(bytes, strlen(want));
    arena_free(a);
}

static int only_file_here(const char *name)
{
    char command[128];
    snprintf(command, sizeof command, "test \"$(ls -A)\" = '%s'", name);
    return system(command) == 0;
}

TEST_CASE(replaces_and_keeps_mode)
{
    struct err e = {0};
    assert_int_equal(file_write("f", "one", 3, &e), 0);
    expect_content("f", "one");
    chmod("f", 0640);
    assert_int_equal(file_write("f", "two!", 4, &e), 0);
    expect_content("f", "two!");
    struct stat st;
    assert_int_equal(stat("f", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_true(only_file_here("f"));
    unlink("f");
}

TEST_CASE(through_a_symbolic_link)
{
    struct err e = {0};
    assert_int_equal(file_write("real", "1", 1, &e), 0);
    assert_int_equal(symlink("real", "link"), 0);
    assert_int_equal(file_write("link", "2", 1, &e), 0);
    expect_content("real", "2");
    struct stat st;
    assert_int_equal(lstat("link", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    unlink("link");
    unlink("real");
}

TEST_CASE(special_targets)
{
    struct err e = {0};
    assert_int_equal(file_write("/dev/null", "x", 1, &e), 0);
    struct stat st;
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_equal(file_write("/dev/full", "x", 1, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "No space left"));
    assert_int_equal(file_write(".", "x", 1, &e), ERR_FAILED);
    assert_int_equal(file_write("no/such/dir/f", "x", 1, &e), ERR_FAILED);
}

/* In a mount namespace of its own: a tmpfs of 64 KiB. */
TEST_CASE(full_disk_loses_nothing)
{
    if (geteuid() != 0)
        skip_because("needs root");
    pid_t child = fork();
    if (child == 0) {
        struct err e = {0};
        mkdir("small", 0755);
        if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
            mount("none", "small", "tmpfs", 0, "size=64k") || chdir("small"))
            _exit(77);
        static char big[256 << 10];
        memset(big, 'x', sizeof big);
        if (file_write("f", "kept", 4, &e))
            _exit(1);
        if (file_write("f", big, sizeof big, &e) != ERR_FAILED || !strstr(e.text, "f: cannot be written: No space"))
            _exit(2);
        struct arena *a = arena_new();
        char *data;
        size_t bytes;
        if (file_read("f", FILE_LIMIT, a, &data, &bytes, &e) || bytes != 4 || strcmp(data, "kept") != 0)
            _exit(3);
        _exit(only_file_here("f") ? 0 : 4);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WEXITSTATUS(status) == 77)
        skip_because("needs a namespace of its own");
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST_CASE(bounded_reads)
{
    struct arena *a = arena_new();
    struct err e = {0};
    char *data;
    size_t bytes;
    assert_int_equal(file_read("missing", 100, a, &data, &bytes, &e), ERR_FAILED);
    assert_string_equal(e.text, "missing: cannot be opened: No such file or directory");
    assert_int_equal(file_read(".", 100, a, &data, &bytes, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "is a directory"));

    int fd = open("huge", O_CREAT | O_WRONLY, 0644);
    assert_int_equal(ftruncate(fd, (off_t)1 << 30), 0);
    close(fd);
    assert_int_equal(file_read("huge", FILE_LIMIT, a, &data, &bytes, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "larger than"));
    unlink("huge");

    assert_int_equal(file_write("empty", "", 0, &e), 0);
    assert_int_equal(file_read_text("empty", 100, a, &data, &bytes, &e), ERR_FAILED);
    assert_string_equal(e.text, "empty: is empty");
    assert_int_equal(file_write("binary", "a\nb\0c", 5, &e), 0);
    assert_int_equal(file_read_text("binary", 100, a, &data, &bytes, &e), ERR_FAILED);
    assert_int_equal(strncmp(e.text, "binary:2: ", 10), 0);
    unlink("empty");
    unlink("binary");
    arena_free(a);
}

TEST_CASE(as_much_as_there_is)
{
    struct arena *a = arena_new();
    struct err e = {0};
    char *data, hex[SHA256_HEX];
    size_t bytes;
    assert_int_equal(file_write("f", "abcdefgh", 8, &e), 0);
    assert_int_equal(file_read("f", 7, a, &data, &bytes, &e), ERR_FAILED);
    assert_int_equal(file_read("f", 8, a, &data, &bytes, &e), 0);
    for (most_at_once = 1; most_at_once < 5; most_at_once += 2) {
        expect_content("f", "abcdefgh");
        assert_int_equal(file_read("/proc/self/comm", 100, a, &data, &bytes, &e), 0);
        assert_int_equal(bytes, strlen(data));
        assert_int_equal(data[bytes - 1], '\n');
        char checked[9] = "";
        int fd = open("f", O_RDONLY);
        assert_int_equal(trust_read(fd, checked, 8), 0);
        assert_string_equal(checked, "abcdefgh");
        close(fd);
        assert_int_equal(file_sha256("f", hex, &e), 0);
        assert_string_equal(hex, "9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab");
    }
    most_at_once = 3;
    others = ENDLESS;
    assert_int_equal(file_read("f", 100, a, &data, &bytes, &e), 0);
    most_at_once = SIZE_MAX;
    assert_int_equal(bytes, 8);
    assert_string_equal(data, "xxxxxxxx");
    assert_int_equal(file_read("/dev/null", 3 << 20, a, &data, &bytes, &e), ERR_FAILED);
    assert_string_equal(e.text, "/dev/null: larger than the 3 MiB that are read of such a file");
    others = CUT_OFF;
    assert_int_equal(file_read("f", 100, a, &data, &bytes, &e), 0);
    assert_int_equal(bytes, 0);
    others = AS_IT_IS;
    unlink("f");
    arena_free(a);
}

/* Standard input stays what it is; standard output that cannot be written is told once. */
TEST_CASE(standard_streams)
{
    struct arena *a = arena_new();
    struct err e = {0};
    char *data;
    size_t bytes;
    int status, input = fcntl(0, F_DUPFD_CLOEXEC, 10);
    assert_int_equal(file_write("in", "abc", 3, &e), 0);
    int fd = open("in", O_RDONLY);
    dup2(fd, 0);
    close(fd);
    int rc = file_read("-", 100, a, &data, &bytes, &e), again = file_read("-", 100, a, &data, &bytes, &e);
    dup2(input, 0);
    close(input);
    assert_int_equal(rc, 0);
    assert_int_equal(again, 0); /* it is at its end */
    assert_int_equal(bytes, 0);
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        struct file_out o;
        dup2(open("/dev/full", O_WRONLY), 1);
        file_out_begin(&o);
        fputs("lost", o.stream);
        if (file_out_commit(&o, NULL, &e) != ERR_FAILED ||
            strcmp(e.text, "standard output cannot be written: No space left on device") != 0)
            _exit(1);
        _exit(fflush(stdout) || ferror(stdout) ? 2 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    unlink("in");
    arena_free(a);
}

TEST_CASE(printed_output)
{
    struct file_out o;
    struct err e = {0};
    file_out_begin(&o);
    fprintf(o.stream, "%d lines\n", 2);
    assert_int_equal(file_out_commit(&o, "printed", &e), 0);
    expect_content("printed", "2 lines\n");
    file_out_begin(&o);
    fputs("lost", o.stream);
    file_out_abandon(&o);

    file_out_begin(&o);
    fputs("never", o.stream);
    assert_int_equal(file_out_end(&o, "printed", ERR_LACKS, &e), ERR_LACKS);
    file_out_begin(&o);
    fputs("again", o.stream);
    assert_int_equal(file_out_end(&o, "again", 0, &e), 0);
    expect_content("again", "again");
    unlink("again");
    expect_content("printed", "2 lines\n");
    unlink("printed");
}

TEST_CASE(directories_and_hashes)
{
    struct err e = {0};
    char hex[SHA256_HEX];
    assert_int_equal(file_mkdirs("a/b//c/", &e), 0);
    assert_int_equal(file_mkdirs("a/b/c", &e), 0);
    assert_int_equal(file_write("a/b/c/f", "abc", 3, &e), 0);
    assert_int_equal(file_mkdirs("a/b/c/f/g", &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "cannot be created: Not a directory"));
    assert_int_equal(file_sha256("a/b/c/f", hex, &e), 0);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(file_sha256("a", hex, &e), ERR_FAILED);
    assert_int_equal(system("rm -r a"), 0);
}

/* A pipe that has more than a first guess of its size, to its limit, and beyond. */
TEST_CASE(streams)
{
    static char text[200001];
    struct err e = {0};
    struct arena *a = arena_new();
    char path[64], *data;
    size_t bytes;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + i % 23);
    for (size_t limit = sizeof text - 1; limit <= sizeof text; limit++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (!child)
            _exit(close(ends[0]) || write(ends[1], text, sizeof text) != sizeof text);
        close(ends[1]);
        snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
        int before = count_open(), rc = file_read(path, limit, a, &data, &bytes, &e);
        assert_int_equal(count_open(), before);
        close(ends[0]);
        waitpid(child, NULL, 0);
        assert_int_equal(rc, limit < sizeof text ? ERR_FAILED : 0);
    }
    assert_int_equal(bytes, sizeof text);
    assert_memory_equal(data, text, sizeof text);
    assert_int_equal(data[bytes], 0);
    char hex[SHA256_HEX];
    assert_int_equal(file_read("/proc/self/mem", FILE_LIMIT, a, &data, &bytes, &e), ERR_FAILED);
    assert_string_equal(e.text, "/proc/self/mem: cannot be read: Input/output error");
    assert_int_equal(file_sha256("/proc/self/mem", hex, &e), ERR_FAILED);
    assert_string_equal(e.text, "/proc/self/mem: cannot be read: Input/output error");
    arena_free(a);
}

/* Nothing stays open, and descriptor 0 is one like others: on the way down they alternate. */
TEST_CASE(descriptors)
{
    static const char *const paths[] = {"f", "d/f", "none", "d", "d/e", "/dev/null"};
    struct err e = {0};
    struct arena *a = arena_new();
    char hex[SHA256_HEX], *data;
    size_t bytes;
    assert_int_equal(file_mkdirs("d/e", &e), 0);
    assert_true(!file_write("f", "x", 1, &e) && !file_write("d/f", "x", 1, &e));
    int input = fcntl(0, F_DUPFD_CLOEXEC, 10), wrong = 0;
    for (size_t i = 0; i < 2 * (sizeof paths / sizeof *paths); i++) {
        const char *path = paths[i / 2];
        if (i % 2)
            close(0);
        int before = count_open(), good = i / 2 < 2 || i / 2 == 5;
        wrong += (!file_read(path, FILE_LIMIT, a, &data, &bytes, &e)) != good;
        wrong += i / 2 == 3 && !strstr(e.text, "is a directory");
        wrong += (!file_sha256(path, hex, &e)) != good;
        wrong += (!file_write(path, "x", 1, &e)) != (good || i / 2 == 2);
        e = (struct err){0};
        int is_directory = i / 2 == 3 || i / 2 == 4;
        wrong += (!file_mkdirs(path, &e)) != is_directory || (!*e.text) != is_directory;
        wrong += count_open() != before;
        unlink("none");
        dup2(input, 0);
    }
    close(input);
    assert_int_equal(wrong, 0);
    assert_int_equal(system("rm -r f d"), 0);
    arena_free(a);
}

/* Lines of all lengths around a block's; the last one may lack its end. */
TEST_CASE(line_by_line)
{
    struct err e;
    struct file_lines l;
    char *text = malloc(400000), *line;
    size_t n = 0, bytes, longest = 70000;
    for (size_t i = 65530; i < 65540; i++)
        n += (size_t)sprintf(text + n, "%0*zu%s", (int)(i % 2 ? i : i % 7), i, i < 65534 ? "\n" : "");
    memset(text + n, 'x', longest);
    assert_int_equal(file_write("lines", text, n + longest, &e), 0);
    assert_int_equal(file_lines_open(&l, "lines", (size_t)1 << 20, &e), 0);
    size_t at = 0;
    int more;
    for (int i = 1; (more = file_lines_next(&l, &line, &bytes, &e)) > 0; i++) {
        if (i == 2) { /* is given twice */
            file_lines_back(&l);
            assert_int_equal(file_lines_next(&l, &line, &bytes, &e), 1);
        }
        assert_int_equal(l.line, i);
        assert_memory_equal(line, text + at, bytes);
        at += bytes + 1;
    }
    assert_int_equal(more, 0);
    assert_int_equal(at, n + longest + 1);
    file_lines_close(&l);
    assert_int_equal(file_lines_open(&l, "lines", 2048, &e), 0);
    while ((more = file_lines_next(&l, &line, &bytes, &e)) > 0)
        ;
    assert_int_equal(more, -1); /* the last line is longer than a block, and than what is allowed */
    assert_string_equal(e.text, "lines: larger than the 2 KiB that are read of such a line");
    file_lines_close(&l);
    file_lines_of(&l, "memory", "a\nb\0c\nd", 7);
    assert_int_equal(file_lines_next(&l, &line, &bytes, &e), 1);
    assert_int_equal(file_lines_next(&l, &line, &bytes, &e), -1);
    assert_string_equal(e.text, "memory:2: contains a NUL byte: expected text, this is a binary file");
    file_lines_close(&l);
    file_lines_of(&l, "memory", "a\nb", 3);
    assert_int_equal(file_lines_next(&l, &line, &bytes, &e), 1);
    assert_int_equal(file_lines_next(&l, &line, &bytes, &e), 1);
    assert_string_equal(line, "b");
    assert_int_equal(file_lines_next(&l, &line, &bytes, &e), 0);
    file_lines_close(&l);
    unlink("lines");
    free(text);
}

/* In the smallest parts; what is left behind a line; a file that cannot be read. */
TEST_CASE(line_and_rest)
{
    struct err e = {0};
    struct file_lines l;
    char *line, *rest;
    size_t bytes;
    assert_int_equal(file_write("lines", "one\ntwo\nthree", 13, &e), 0);
    most_at_once = 1;
    assert_int_equal(file_lines_open(&l, "lines", 100, &e), 0);
    assert_int_equal(file_lines_next(&l, &line, &bytes, &e), 1);
    assert_string_equal(line, "one");
    assert_int_equal(file_lines_rest(&l, &rest, &bytes, &e), 0);
    assert_int_equal(bytes, 9);
    assert_string_equal(rest, "two\nthree");
    assert_int_equal(file_lines_next(&l, &line, &bytes, &e), 0);
    file_lines_close(&l);
    most_at_once = SIZE_MAX;
    unlink("lines");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(file_lines_open(&l, "/proc/self/mem", 100, &e), 0);
        assert_int_equal(i ? file_lines_next(&l, &line, &bytes, &e) : file_lines_rest(&l, &line, &bytes, &e),
                         i ? -1 : ERR_FAILED);
        assert_string_equal(e.text, "/proc/self/mem: cannot be read: Input/output error");
        e = (struct err){0};
        file_lines_close(&l);
    }
}

TEST_CASE(endings)
{
    assert_true(file_ends_with("a.json", ".json"));
    assert_true(file_ends_with("A.JSON", ".json"));
    assert_true(file_ends_with(".sh", ".sh"));
    assert_false(file_ends_with("sh", ".sh"));
    assert_false(file_ends_with("a.json~", ".json"));
}

TEST_CASES_WITHIN(test_file, setup, teardown)
