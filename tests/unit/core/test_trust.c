/* core/trust.c: whose a directory is, links, modes, what is not a file. As root, beside a user who is not. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/trust.h"
#include "tests/lib/unit.h"

#define STRANGER 65534

static char dir[64];
static struct err e;

static int setup(void **state)
{
    strcpy(dir, "/tmp/nccltune-test-XXXXXX");
    return mkdtemp(dir) ? chdir(dir) : -1;
}

static int teardown(void **state)
{
    char command[600];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return chdir("/") || system(command);
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    return lstat(path, &st) ? 0 : st.st_mode & 07777;
}

static int opens(const char *path, enum trust_rule rule)
{
    struct stat st;
    e = (struct err){0};
    int fd = trust_open(path, rule, geteuid(), O_RDONLY, &st, &e);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void need_root(void)
{
    if (geteuid() != 0)
        skip_because("needs root");
}

/* Links count where nobody else can make them. */
TEST_CASE(links)
{
    static const struct {
        mode_t mode;
        uid_t owner;
        int follows;
    } table[] = {{0755, 0, 1},  {0700, 0, 1},        {0775, 0, 0},       {0757, 0, 0},
                 {01777, 0, 0}, {0755, STRANGER, 0}, {0700, STRANGER, 0}};
    need_root();
    mkdir("mine", 0755);
    assert_int_equal(file_write("mine/file", "mine", 4, &e), 0);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        mkdir("d", 0700);
        assert_int_equal(symlink("../mine", "d/dir"), 0);
        assert_int_equal(symlink("../mine/file", "d/link"), 0);
        assert_int_equal(symlink("../mine/new", "d/new"), 0);
        assert_int_equal(chown("d", table[i].owner, 0), 0);
        assert_int_equal(chmod("d", table[i].mode), 0);
        assert_int_equal(opens("d/link", TRUST_READ), table[i].follows);
        assert_int_equal(opens("d/dir/file", TRUST_READ), table[i].follows);
        assert_int_equal(!file_write("d/link", "mine", 4, &e), table[i].follows);
        assert_int_equal(!file_write("d/dir/file", "mine", 4, &e), table[i].follows);
        assert_int_equal(!file_mkdirs("d/dir/made", &e), table[i].follows);
        if (!table[i].follows)
            assert_non_null(strstr(e.text, "is a symbolic link in a directory where others can write"));
        int fd = trust_append("d/new", 0666, &e);
        assert_int_equal(fd >= 0, table[i].follows);
        if (fd >= 0)
            close(fd);
        assert_int_equal(system("rm -rf d mine/made mine/new"), 0);
    }
}

/* Links to links, absolute ones, those that never end. */
TEST_CASE(chains)
{
    char absolute[600];
    mkdir("a", 0755);
    snprintf(absolute, sizeof absolute, "%s/a", dir);
    assert_int_equal(file_write("a/f", "x", 1, &e), 0);
    assert_int_equal(symlink(absolute, "absolute"), 0);
    assert_int_equal(symlink("absolute/./..//absolute", "chain"), 0);
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_int_equal(symlink("/", "top"), 0);
    assert_true(opens("chain/f", TRUST_READ));
    assert_true(opens("/proc/self/cwd/a/f", TRUST_READ));
    assert_true(opens("top/dev/null", TRUST_READ));
    assert_false(opens("loop", TRUST_READ));
    assert_non_null(strstr(e.text, "loop: cannot be opened"));
    assert_false(opens("loop/f", TRUST_READ));
    assert_false(opens("", TRUST_READ));
    assert_false(opens("a/f/g", TRUST_READ));
    assert_int_equal(file_write("chain/f", "yz", 2, &e), 0);
    struct stat st;
    assert_int_equal(stat("a/f", &st), 0);
    assert_int_equal(st.st_size, 2);
}

TEST_CASE(modes)
{
    need_root();
    umask(022);
    mkdir("shared", 0700);
    chmod("shared", 01777);
    static const char *const strangers[] = {"shared/f", "own"};
    for (int i = 0; i < 2; i++) {
        int fd = open(strangers[i], O_WRONLY | O_CREAT, 0600);
        assert_true(fd >= 0);
        assert_int_equal(fchown(fd, STRANGER, STRANGER), 0);
        assert_int_equal(fchmod(fd, 06777), 0);
        close(fd);
        assert_int_equal(file_write(strangers[i], "x", 1, &e), 0);
        assert_int_equal(mode_of(strangers[i]), 0644);
    }
    chmod("own", 04711); /* nothing but who may do what with the bytes is kept */
    assert_int_equal(file_write("own", "x", 1, &e), 0);
    assert_int_equal(mode_of("own"), 0711);
    chmod("shared/f", 0666); /* root's, and in a place where somebody else could have put it */
    assert_int_equal(file_write("shared/f", "x", 1, &e), 0);
    assert_int_equal(mode_of("shared/f"), 0644);
}

/* Nothing that root makes can be written by the group that a directory hands on. */
TEST_CASE(groups)
{
    need_root();
    mkdir("theirs", 0700);
    assert_int_equal(chown("theirs", STRANGER, STRANGER), 0);
    chmod("theirs", 02775);
    umask(0);
    assert_int_equal(file_write("theirs/f", "x", 1, &e), 0);
    assert_int_equal(file_mkdirs("theirs/a/b", &e), 0);
    assert_int_equal(file_write("theirs/a/b/f", "x", 1, &e), 0);
    close(trust_append("theirs/a/j", 0666, &e));
    int d = open("theirs/a", O_RDONLY | O_DIRECTORY);
    close(trust_enter(d, "c", 0777));
    close(d);
    umask(022);
    static const char *const made[] = {"theirs/f", "theirs/a/b/f", "theirs/a/j"};
    for (int i = 0; i < 3; i++)
        assert_int_equal(mode_of(made[i]), 0644);
    assert_int_equal(mode_of("theirs/a") & 0777, 0755);
    assert_int_equal(mode_of("theirs/a/b") & 0777, 0755);
    assert_int_equal(mode_of("theirs/a/c") & 0777, 0755);
}

TEST_CASE(removing)
{
    need_root();
    mkdir("d", 0755);
    mkdir("theirs", 0755);
    assert_true(!file_write("d/f", "x", 1, &e) && !symlink("../d", "theirs/way") && !symlink("d", "way"));
    assert_int_equal(chown("theirs", STRANGER, 0), 0);
    assert_int_equal(trust_unlink("theirs/way/f", &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "is a symbolic link"));
    assert_int_equal(trust_unlink("d", &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "d: cannot be removed: Directory not empty"));
    assert_int_equal(access("d/f", F_OK), 0);
    assert_int_equal(trust_unlink("way/f", &e), 0);
    assert_int_equal(trust_unlink("way/f", &e), 0);
    assert_int_equal(trust_unlink("none/f", &e), 0);
    assert_int_equal(trust_unlink("d", &e), 0);
    assert_int_equal(access("d", F_OK), -1);
}

/* Paths that are opened more than once: nobody else can exchange a part of them. */
TEST_CASE(kept)
{
    static const struct {
        mode_t mode;
        uid_t owner;
        int holds, holds_new; /* for what is there, and for what is not there yet */
    } table[] = {{0755, 0, 1, 1},  {0700, 0, 1, 1},        {0775, 0, 0, 0},        {0757, 0, 0, 0},
                 {01777, 0, 1, 1}, {0755, STRANGER, 0, 0}, {01777, STRANGER, 0, 0}};
    need_root();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        mkdir("d", 0700);
        assert_int_equal(file_mkdirs("d/store/profiles", &e), 0);
        assert_int_equal(chown("d", table[i].owner, 0), 0);
        chmod("d", table[i].mode);
        assert_int_equal(!trust_check_kept("d/store/profiles", 0, &e), table[i].holds);
        assert_int_equal(!trust_check_kept("d/new/profiles", 0, &e), table[i].holds_new);
        assert_int_equal(!trust_check_kept("d/store", STRANGER, &e),
                         table[i].holds || table[i].mode == 0755 || table[i].mode == 01777);
        if (!table[i].holds)
            assert_int_equal(trust_check_kept("d/store", 0, &e), ERR_FAILED);
        assert_int_equal(!trust_check_kept("d", 0, &e), table[i].holds && table[i].mode != 01777);
        chmod("d", 0755);
        assert_int_equal(chown("d", 0, 0) | chown("d/store/profiles", STRANGER, 0), 0);
        assert_int_equal(trust_check_kept("d/store/profiles", 0, &e), ERR_FAILED);
        assert_non_null(strstr(e.text, "others can write there"));
        assert_int_equal(trust_check_kept("d/store/profiles", STRANGER, &e), 0);
        assert_int_equal(chown("d/store", STRANGER, 0), 0);
        chmod("d", 01777); /* in a sticky directory names stay with the owner of the file */
        assert_int_equal(trust_check_kept("d/store/profiles", 0, &e), ERR_FAILED);
        assert_non_null(strstr(e.text, "others can write where 'store' is"));
        assert_int_equal(system("rm -rf d"), 0);
    }
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_int_equal(trust_check_kept("loop/x", 0, &e), ERR_FAILED);
}

TEST_CASE(special_files)
{
    need_root();
    mkdir("theirs", 0755);
    assert_int_equal(mkfifo("theirs/fifo", 0666), 0);
    assert_int_equal(chown("theirs", STRANGER, 0), 0);
    assert_false(opens("theirs/fifo", TRUST_READ));
    assert_non_null(strstr(e.text, "is a FIFO or a device"));
    assert_int_equal(file_write("theirs/fifo", "x", 1, &e), ERR_FAILED);
    assert_int_equal(trust_append("theirs/fifo", 0666, &e), -1);
    assert_true(opens("/dev/null", TRUST_READ));
    int fd = trust_append("/dev/null", 0666, &e);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(file_write("/dev/fd/1", "", 0, &e), 0); /* whatever standard output is */
}

TEST_CASE(appending)
{
    need_root();
    mkdir("open", 0777);
    chmod("open", 01777);
    assert_int_equal(file_write("theirs.jsonl", "", 0, &e), 0);
    assert_int_equal(chown("theirs.jsonl", STRANGER, 0), 0);
    assert_int_equal(trust_append("theirs.jsonl", 0666, &e), -1);
    assert_non_null(strstr(e.text, "belongs to user 65534"));
    assert_int_equal(file_write("mine", "", 0, &e), 0);
    assert_int_equal(link("mine", "open/mine"), 0);
    assert_int_equal(trust_append("open/mine", 0666, &e), -1);
    assert_non_null(strstr(e.text, "hard link"));
    static const struct {
        mode_t mode;
        uid_t owner;
        int appends;
    } table[] = {{0755, 0, 1}, {01777, 0, 1}, {0777, 0, 0}, {0755, STRANGER, 0}, {01755, STRANGER, 0}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_int_equal(unlink("open/mine") && errno != ENOENT, 0);
        assert_int_equal(chown("open", table[i].owner, 0), 0);
        chmod("open", table[i].mode);
        for (int again = 0; again < 2; again++) { /* what is there already may be another file of root's by now */
            int made = trust_append("open/mine", 0666, &e);
            assert_int_equal(made >= 0, !again || table[i].appends);
            if (made >= 0)
                close(made);
            else
                assert_non_null(strstr(e.text, "is there already"));
        }
    }
    int fd = trust_append("mine", 0666, &e);
    assert_true(fd >= 0 && write(fd, "a", 1) == 1);
    close(fd);
    fd = trust_append("mine", 0666, &e);
    assert_true(fd >= 0 && write(fd, "b", 1) == 1);
    assert_int_equal(lseek(fd, 0, SEEK_END), 2);
    assert_int_equal(fcntl(fd, F_GETFL) & (O_APPEND | O_NONBLOCK), O_APPEND);
    close(fd);
}

TEST_CASE(in_a_directory)
{
    struct stat st;
    char target[16] = "";
    mkdir("d", 0755);
    int d = open("d", O_RDONLY | O_DIRECTORY);
    assert_int_equal(trust_put(d, "f", "one", 3, 0640), 0);
    assert_int_equal(mode_of("d/f"), 0640);
    assert_int_equal(trust_put(d, "f", "two!", 4, 0600), 0);
    assert_int_equal(mode_of("d/f"), 0600);
    assert_int_equal(trust_link(d, "l", "f"), 0);
    assert_int_equal(trust_link(d, "l", "g"), 0);
    assert_int_equal(readlink("d/l", target, sizeof target), 1);
    assert_string_equal(target, "g");
    assert_int_equal(trust_link(d, "f", "g"), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(trust_open_at(d, "l", &st), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(mkfifo("d/p", 0600), 0);
    assert_int_equal(trust_open_at(d, "p", &st), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(trust_put(d, "no/f", "x", 1, 0600), -1);
    assert_int_equal(symlink("..", "d/up"), 0);
    assert_int_equal(trust_enter(d, "up", 0755), -1);
    int inner = trust_enter(d, "inner", 0700);
    assert_true(inner >= 0);
    assert_int_equal(trust_put(inner, "f", "x", 1, 0600), 0);
    close(inner);
    trust_remove(d, "inner");
    trust_remove(d, "up"); /* the link, not what it leads to */
    assert_int_equal(system("test \"$(ls d | tr '\\n' ' ')\" = 'f l p '"), 0);
    int fd = trust_open_at(d, "f", &st);
    char text[8] = "";
    assert_int_equal(trust_read(fd, text, 4), 0);
    assert_string_equal(text, "two!");
    lseek(fd, 0, SEEK_SET);
    assert_int_equal(trust_read(fd, text, 3), -1);
    lseek(fd, 0, SEEK_SET);
    assert_int_equal(trust_read(fd, text, 5), -1);
    close(fd);
    close(d);
}

static void refuses_owned(const char *path, const char *why)
{
    char full[600];
    snprintf(full, sizeof full, "%s%s%s", *path == '/' || *path == '.' ? "" : dir,
             *path == '/' || *path == '.' ? "" : "/", path);
    assert_false(opens(full, TRUST_OWNED));
    if (!strstr(e.text, why))
        fail_msg("%s: expected '%s', found '%s'", path, why, e.text);
}

/* What hooks believe: every directory on the way is root's or the owner's. */
TEST_CASE(owned)
{
    char path[600];
    need_root();
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(dir), 0);
    strcpy(dir, "/run/nccltune-test-XXXXXX");
    if (!mkdtemp(dir) || chmod(dir, 0755) || chdir(dir) || !opens(dir, TRUST_OWNED))
        skip_because("needs a /run that is root's");
    assert_int_equal(system("mkdir -p a/b/c && echo x >a/b/c/f && ln -s f a/b/c/link && ln -s b a/way && mkfifo a/p"),
                     0);
    snprintf(path, sizeof path, "%s/a/b/c/f", dir);
    assert_true(opens(path, TRUST_OWNED));
    char inner[600];
    snprintf(inner, sizeof inner, "%s/a/b/c", dir);
    assert_true(opens(inner, TRUST_OWNED));
    refuses_owned("a/b/c/link", "/a/b/c/link is a symbolic link");
    refuses_owned("a/way/c/f", "/a/way is a symbolic link");
    refuses_owned("a/b/none/f", "/a/b/none: No such file");
    refuses_owned("a/b/none", "/a/b/none: No such file");
    refuses_owned("a/b/c/f/g", "/a/b/c/f: Not a directory");
    refuses_owned("a/p", "is not a regular file");
    refuses_owned("a//b", "is not a plain path");
    refuses_owned("a/../a/p", "is not a plain path");
    refuses_owned("a/", "is not a plain path");
    refuses_owned("./a", "is not an absolute path");
    refuses_owned("/", "is not an absolute path");
    chmod("a/b", 0775);
    assert_false(opens(path, TRUST_OWNED));
    assert_non_null(strstr(e.text, "/a/b can be written by others (mode 775)"));
    chmod("a/b", 0755);
    chmod("a/b/c/f", 0646);
    assert_false(opens(path, TRUST_OWNED));
    assert_non_null(strstr(e.text, "/a/b/c/f can be written by others (mode 646)"));
    chmod("a/b/c/f", 0644);
    assert_int_equal(chown("a", STRANGER, 0), 0);
    assert_false(opens(path, TRUST_OWNED));
    assert_non_null(strstr(e.text, "/a belongs to user 65534"));
    struct stat st;
    int fd = trust_open(path, TRUST_OWNED, STRANGER, O_RDONLY, &st, &e);
    assert_true(fd >= 0 && st.st_size == 2 && !(fcntl(fd, F_GETFL) & O_NONBLOCK));
    close(fd);
}

static int count_open(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Nothing stays open, whatever comes of it. */
TEST_CASE(descriptors)
{
    static const char *const paths[] = {"f", "none", "none/f", "f/g", "d", "loop", "loop/f", "way/f", ""};
    mkdir("d", 0755);
    assert_true(!file_write("f", "x", 1, &e) && !symlink("loop", "loop") && !symlink("d", "way"));
    int before = count_open();
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct trust_place p;
        opens(paths[i], TRUST_READ);
        opens(paths[i], TRUST_OWNED);
        file_write(paths[i], "x", 1, &e);
        if (!trust_find(paths[i], TRUST_WRITE, 0, &p, &e))
            close(p.dir);
        int fd = trust_append(paths[i], 0644, &e);
        if (fd >= 0)
            close(fd);
        file_mkdirs(paths[i], &e);
        trust_rename(paths[i], "none/x", &e);
        trust_rename(paths[i], "d", &e);
        assert_int_equal(count_open(), before);
    }
}

TEST_CASE(renaming)
{
    mkdir("d", 0755);
    assert_int_equal(file_write("f", "x", 1, &e), 0);
    assert_int_equal(symlink("d", "way"), 0);
    assert_int_equal(trust_rename("f", "way/g", &e), 0);
    assert_true(opens("d/g", TRUST_READ) && access("f", F_OK));
    assert_int_equal(trust_rename("f", "d/h", &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "d/h: cannot be replaced"));
    assert_int_equal(file_mkdirs("d/g", &e), ERR_FAILED);
    assert_int_equal(file_mkdirs("n/e/w/", &e), 0);
    assert_int_equal(file_mkdirs("n/e/w", &e), 0);
    assert_int_equal(access("n/e/w", W_OK), 0);
}

TEST_CASES_EACH(test_trust, setup, teardown)
