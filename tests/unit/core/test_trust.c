/* core/trust.c: whose a directory is, links, modes, what is not a file. As root, beside a user who is not. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.h"
#include "core/trust.h"
#include "tests/lib/trusted.h"
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
    assert_string_equal(e.text, ": cannot be opened: No such file or directory");
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
    assert_string_equal(e.text, "theirs/fifo: expected a regular file");
    assert_true(opens("/dev/null", TRUST_READ));
    int fd = trust_append("/dev/null", 0666, &e);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(file_write("/dev/fd/1", "", 0, &e), 0); /* whatever standard output is */
}

TEST_CASE(appending)
{
    need_root();
    int before = count_open();
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
    assert_int_equal(trust_append("none/f", 0666, &e), -1);
    assert_non_null(strstr(e.text, "none/f: cannot be created: No such file"));
    assert_int_equal(trust_append("open", 0666, &e), -1);
    assert_non_null(strstr(e.text, "open: cannot be opened for writing: Is a directory"));
    assert_int_equal(count_open(), before);
    int fd = trust_append("mine", 0666, &e);
    assert_true(fd >= 0 && write(fd, "a", 1) == 1);
    close(fd);
    fd = trust_append("mine", 0666, &e);
    assert_true(fd >= 0 && write(fd, "b", 1) == 1);
    assert_int_equal(lseek(fd, 0, SEEK_END), 2);
    assert_int_equal(fcntl(fd, F_GETFL) & (O_APPEND | O_NONBLOCK), O_APPEND);
    close(fd);
}

/* What a power cut would leave: files, directories. */
static int synced[2];
int fsync(int fd)
{
    struct stat st;
    synced[!fstat(fd, &st) && S_ISDIR(st.st_mode)]++;
    return 0;
}

TEST_CASE(in_a_directory)
{
    struct stat st;
    char target[16] = "";
    mkdir("d", 0755);
    int d = open("d", O_RDONLY | O_DIRECTORY);
    synced[0] = synced[1] = 0;
    assert_int_equal(trust_put(d, "f", "one", 3, 0640), 0);
    assert_int_equal(mode_of("d/f"), 0640);
    assert_true(synced[0] == 1 && synced[1] == 1);
    assert_int_equal(trust_put(d, "f", "two!", 4, 0600), 0);
    assert_int_equal(mode_of("d/f"), 0600);
    assert_int_equal(symlink("of a power cut", "d/l.new"), 0);
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
    close(inner);
    inner = trust_enter(d, "inner", 0700); /* it is there already */
    assert_true(inner >= 0);
    assert_int_equal(trust_enter(d, "f", 0700), -1);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(trust_enter(d, "none/inner", 0700), -1);
    char long_name[NAME_MAX + 1] = "";
    memset(long_name, 'x', NAME_MAX);
    assert_int_equal(trust_put(inner, long_name, "x", 1, 0600), 0);
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
    if (!mkdtemp(dir) || chmod(dir, 0755) || chdir(dir) || !is_trusted(dir))
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
    char name[NAME_MAX + 2] = "";
    memset(name, 'x', NAME_MAX);
    refuses_owned(name, ": No such file");
    name[NAME_MAX] = 'x';
    refuses_owned(name, "is not a plain path");
    refuses_owned("./a", "is not an absolute path");
    refuses_owned("/", "is not an absolute path");
    refuses_owned(".", "is not an absolute path");
    int input = fcntl(0, F_DUPFD_CLOEXEC, 10);
    close(0); /* descriptor 0 is one like others */
    int sane = opens(path, TRUST_OWNED) && opens(inner, TRUST_OWNED) && fcntl(0, F_GETFD) < 0;
    refuses_owned("a/b/c/link", "/a/b/c/link is a symbolic link");
    refuses_owned("a/way/c/f", "/a/way is a symbolic link");
    refuses_owned("a/b/none/f", "/a/b/none: No such file");
    refuses_owned("a/none/f", "/a/none: No such file");
    refuses_owned("a/p", "is not a regular file");
    sane = sane && fcntl(0, F_GETFD) < 0;
    dup2(input, 0);
    close(input);
    assert_true(sane);
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
    int before = count_open();
    snprintf(inner, sizeof inner, "%s/a/b/c/link", dir);
    assert_int_equal(trust_open(inner, TRUST_OWNED, STRANGER, O_PATH, &st, &e), -1);
    assert_non_null(strstr(e.text, "link is a symbolic link"));
    assert_int_equal(count_open(), before);
    pid_t child = fork();
    if (!child) /* a root directory that others can write */
        _exit(chown("a", 0, 0) || chmod("a", 0777) || chroot("a") || chdir("/") || opens("/b/c/f", TRUST_OWNED) ||
              strcmp(e.text, "/ can be written by others (mode 777)") != 0 || chmod("/", 0755) ||
              chown("/", STRANGER, 0));
    int status = 1;
    assert_true(waitpid(child, &status, 0) == child && !status);
    int fd = trust_open(path, TRUST_OWNED, STRANGER, O_RDONLY, &st, &e);
    assert_true(fd >= 0 && st.st_size == 2 && !(fcntl(fd, F_GETFL) & O_NONBLOCK));
    close(fd);
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
        if (!trust_find(paths[i], &p, &e))
            close(p.dir);
        int fd = trust_append(paths[i], 0644, &e);
        if (fd >= 0)
            close(fd);
        file_mkdirs(paths[i], &e);
        assert_int_equal(count_open(), before);
    }
}

TEST_CASE(directories)
{
    mkdir("d", 0755);
    assert_int_equal(file_write("d/g", "x", 1, &e), 0);
    assert_int_equal(file_mkdirs("d/g", &e), ERR_FAILED);
    assert_int_equal(file_mkdirs("n/e/w/", &e), 0);
    assert_int_equal(file_mkdirs("n/e/w", &e), 0);
    assert_int_equal(access("n/e/w", W_OK), 0);
}

/* ---- as a user --------------------------------------------------------------------------------------------------- */

static int writes(const char *path)
{
    return !file_write(path, "mine", 4, &e);
}

static int appends(const char *path)
{
    int fd = trust_append(path, 0666, &e);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static int makes(const char *path)
{
    int fd = trust_make_directory(path, &e);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* The line of the first expectation that does not hold. */
#define EXPECT(that) \
    if (!(that))     \
    return __LINE__

static int check_as_user(void)
{
    umask(0);
    EXPECT(writes("own/link") && writes("own/dir/made") && makes("own/dir/d") && appends("own/dir/j"));
    EXPECT(mode_of("own/target/made") == 0666 && mode_of("own/target/d") == 0777 && mode_of("own/target/j") == 0666);
    EXPECT(writes("group/link") && writes("roots/link"));
    EXPECT(!writes("open/link") && !writes("strangers/link") && !writes("open/dir/made"));
    EXPECT(strstr(e.text, "is a symbolic link in a directory where others can write"));
    EXPECT(opens("open/link", TRUST_READ) && opens("strangers/link", TRUST_READ) && opens("open/dir/made", TRUST_READ));
    EXPECT(opens("group/fifo", TRUST_READ) && !opens("open/fifo", TRUST_READ) && !writes("open/fifo"));
    EXPECT(appends("open/theirs") && appends("open/theirs"));
    EXPECT(!trust_check_kept("open/theirs", 0, &e));
    EXPECT(!writes("none/f") && strstr(e.text, "none/f: cannot be created: No such file"));
    EXPECT(!writes("roots/f") && strstr(e.text, "roots/f: cannot be written: Permission denied"));
    EXPECT(!opens("none/f", TRUST_READ) && strstr(e.text, "none/f: cannot be opened: No such file"));
    EXPECT(!makes("roots/d") && strstr(e.text, "roots/d: cannot be created: Permission denied"));
    EXPECT(!makes("own/link/d") && strstr(e.text, "own/link/d: cannot be created: Not a directory"));
    EXPECT(makes("own/shut") && !chmod("own/shut", 0300) && !makes("own/shut"));
    EXPECT(strstr(e.text, "own/shut: cannot be opened: Permission denied"));
    EXPECT(trust_unlink("own/link", &e) == 0 && trust_unlink("own/target/d", &e) == 0);
    EXPECT(trust_unlink("roots/fifo", &e) == ERR_FAILED);
    int d = open("own", O_RDONLY | O_DIRECTORY);
    int lock = trust_lock(d, "lock");
    EXPECT(lock >= 0 && mode_of("own/lock") == 0600);
    return 0;
}

/* Who is not root has the group for a friend, may read through all links, and keeps the umask. */
TEST_CASE(as_a_user)
{
    need_root();
    umask(0);
    static const struct {
        const char *name;
        mode_t mode;
        uid_t owner;
    } dirs[] = {{"own", 0755, STRANGER}, {"group", 0775, STRANGER}, {"roots", 0755, 0},
                {"open", 0777, 0},       {"strangers", 0755, 1234}, {"own/target", 0777, STRANGER}};
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        char link[64];
        assert_int_equal(mkdir(dirs[i].name, 0777) | chmod(dirs[i].name, dirs[i].mode), 0);
        assert_int_equal(chown(dirs[i].name, dirs[i].owner, STRANGER), 0);
        snprintf(link, sizeof link, "%s/link", dirs[i].name);
        assert_int_equal(symlink("../own/target/f", link), 0);
        snprintf(link, sizeof link, "%s/dir", dirs[i].name);
        assert_int_equal(symlink("../own/target", link), 0);
        snprintf(link, sizeof link, "%s/fifo", dirs[i].name);
        assert_int_equal(mkfifo(link, 0666), 0);
    }
    int fd = open("open/theirs", O_WRONLY | O_CREAT, 0666);
    assert_true(fd >= 0 && !close(fd) && !chmod(dir, 0755));
    pid_t child = fork();
    if (!child) {
        int line = setregid(STRANGER, STRANGER) || setreuid(STRANGER, STRANGER) ? __LINE__ : check_as_user();
        if (line)
            fprintf(stderr, "# line %d: %s\n", line, e.text);
        _exit(line != 0);
    }
    int status = 1;
    assert_true(waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
}

/* ---- limits and odd descriptors ---------------------------------------------------------------------------------- */

/* "./././f", so many characters. */
static const char *long_path(size_t length, const char *end)
{
    static char path[PATH_MAX + 16];
    size_t n = 0;
    while (n + strlen(end) + 2 <= length)
        n += (size_t)sprintf(path + n, "./");
    while (n + strlen(end) < length)
        path[n++] = '/';
    strcpy(path + n, end);
    return path;
}

TEST_CASE(lengths)
{
    char name[NAME_MAX + 8], target[PATH_MAX];
    struct stat st;
    assert_true(writes("f") && opens(long_path(PATH_MAX - 1, "f"), TRUST_READ));
    assert_false(opens(long_path(PATH_MAX, "f"), TRUST_READ));
    memset(name, 'x', sizeof name);
    strcpy(name + NAME_MAX, "/f");
    assert_true(makes(long_path(NAME_MAX, "")) && !mkdir("d", 0755));
    name[NAME_MAX] = 0;
    assert_true(makes(name) && opens(name, TRUST_READ));
    strcpy(name + NAME_MAX, "x");
    assert_false(opens(name, TRUST_READ));
    assert_non_null(strstr(e.text, "cannot be opened: File name too long"));
    /* What a link says and what is behind it in the path. */
    snprintf(target, sizeof target, "%s", long_path(PATH_MAX - 3, "d"));
    assert_true(!symlink(target, "way") && writes("d/f") && opens("way/f", TRUST_READ));
    assert_false(opens("way//f", TRUST_READ));
    assert_non_null(strstr(e.text, "Too many levels of symbolic links"));
    snprintf(target, sizeof target, "%s", long_path(PATH_MAX - 1, "d"));
    target[strlen(target) - 1] = 'f';
    assert_int_equal(symlink(target, "whole"), 0);
    int whole = trust_open("whole", TRUST_READ, 0, O_RDONLY, &st, &e);
    assert_true(whole >= 0 && S_ISREG(st.st_mode));
    close(whole);
    /* As many links as the kernel follows. */
    assert_int_equal(symlink("f", "l1"), 0);
    for (int i = 2; i <= 41; i++) {
        char to[16], from[16];
        snprintf(to, sizeof to, "l%d", i - 1);
        snprintf(from, sizeof from, "l%d", i);
        assert_int_equal(symlink(to, from), 0);
    }
    assert_true(opens("l40", TRUST_READ));
    assert_false(opens("l41", TRUST_READ));
}

/* A link of /proc leads where no text can. */
TEST_CASE(magic_links)
{
    char path[64];
    int fd = open("gone", O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0 && write(fd, "x", 1) == 1 && !unlink("gone"));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_true(opens(path, TRUST_READ) && writes(path) && appends(path));
    assert_int_equal(lseek(fd, 0, SEEK_END), 5 - 1);
    close(fd);
    char text[5] = "";
    struct stat st;
    int ends[2];
    assert_true(!pipe(ends) && write(ends[1], "text", 4) == 4);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    fd = trust_open(path, TRUST_READ, 0, O_RDONLY, &st, &e);
    assert_true(fd >= 0 && read(fd, text, 4) == 4 && !strcmp(text, "text"));
    close(fd);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    fd = trust_append(path, 0600, &e);
    assert_true(fd >= 0 && write(fd, "more", 4) == 4 && read(ends[0], text, 4) == 4 && !strcmp(text, "more"));
    close(fd);
    close(ends[0]);
    close(ends[1]);
    mkdir("d", 0755);
    fd = open("d", O_RDONLY | O_DIRECTORY);
    snprintf(path, sizeof path, "/proc/self/fd/%d/f", fd);
    assert_true(writes(path) && opens("d/f", TRUST_READ));
    close(fd);
}

static int check_without_input(void)
{
    static const char *const good[] = {"f", "d/f", "d/e/f", "way/f", "way/e/f"};
    static const char *const bad[] = {"none/f", "d/none/f", "loop", "loop/f", "f/g", "d/f/g"};
    struct stat st;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        EXPECT(writes(good[i]) && opens(good[i], TRUST_READ) && appends(good[i]));
        EXPECT(!trust_check_kept(good[i], 0, &e) && !trust_unlink(good[i], &e) && writes(good[i]));
        EXPECT(fcntl(0, F_GETFD) < 0);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EXPECT(!opens(bad[i], TRUST_READ) && !writes(bad[i]) && !appends(bad[i]));
        EXPECT(fcntl(0, F_GETFD) < 0);
    }
    EXPECT(!makes("f/g") && !makes("d/f/g") && !makes("loop/x") && fcntl(0, F_GETFD) < 0);
    EXPECT(makes("n/e/w") && makes("n/e/w/er") && makes("way/e/w"));
    EXPECT(!mkdir("open", 0777) && !chmod("open", 0777) && appends("open/new") && fcntl(0, F_GETFD) < 0);
    int d = open(".", O_RDONLY | O_DIRECTORY); /* and as the directory that a name is in */
    EXPECT(d == 0 && !trust_put(d, "put", "x", 1, 0644) && !trust_link(d, "link", "put"));
    close(d);
    d = fcntl(open(".", O_RDONLY | O_DIRECTORY), F_DUPFD, 20);
    close(0);
    EXPECT(!trust_put(d, "put", "x", 1, 0644) && trust_put(d, "none/put", "x", 1, 0644) && fcntl(0, F_GETFD) < 0);
    int fd = trust_open_at(d, "f", &st);
    EXPECT(fd == 0 && !close(fd) && trust_open_at(d, "d", &st) < 0 && errno == EINVAL && fcntl(0, F_GETFD) < 0);
    fd = trust_lock(d, "lock");
    EXPECT(fd == 0 && !close(fd));
    trust_sync(d);
    trust_remove(d, "n");
    EXPECT(access("n", F_OK) && fcntl(0, F_GETFD) < 0);
    close(d);
    return 0;
}

/* Descriptor 0 is one like others where standard input is closed. */
TEST_CASE(without_standard_input)
{
    mkdir("d", 0755);
    assert_true(!mkdir("d/e", 0755) && !symlink("d", "way") && !symlink("loop", "loop"));
    int input = fcntl(0, F_DUPFD_CLOEXEC, 10);
    close(0);
    int line = check_without_input();
    close(0);
    if (input >= 0)
        dup2(input, 0);
    close(input);
    if (line)
        fail_msg("line %d: %s", line, e.text);
}

static void ignore_alarm(int signal)
{
}

/* A pipe that takes a part, a signal, and then the rest. */
TEST_CASE(in_parts)
{
    static unsigned data[1 << 18], got[1 << 18];
    const struct itimerval soon = {{0, 0}, {0, 20000}};
    struct sigaction before, interrupts = {.sa_handler = ignore_alarm};
    int ends[2], status = 1;
    for (unsigned i = 0; i < 1 << 18; i++)
        data[i] = i;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (!child) {
        char *at = (char *)got;
        close(ends[1]);
        usleep(60000);
        for (ssize_t n; (n = read(ends[0], at, (size_t)((char *)got + sizeof got - at))) > 0; at += n)
            ;
        _exit(memcmp(data, got, sizeof got) != 0);
    }
    sigaction(SIGALRM, &interrupts, &before);
    setitimer(ITIMER_REAL, &soon, NULL);
    int rc = trust_write(ends[1], data, sizeof data);
    sigaction(SIGALRM, &before, NULL);
    close(ends[0]);
    close(ends[1]);
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(!rc && !status);
    assert_int_equal(trust_write(-1, data, 1), -1);
}

/* A signal that comes while a file is written ends the program when nothing is left of it but whole files. */
TEST_CASE(ended_underway)
{
    static char data[1 << 20];
    mkdir("d", 0755);
    for (int i = 0; i < 12; i++) {
        pid_t child = fork();
        if (!child) {
            int d = open("d", O_RDONLY | O_DIRECTORY);
            while (!trust_put(d, "f", data, sizeof data, 0644))
                ;
            _exit(1);
        }
        int status = 0;
        usleep(3000 + 500 * (useconds_t)i);
        kill(child, (const int[]){SIGTERM, SIGHUP, SIGINT}[i % 3]);
        assert_true(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    }
    assert_int_equal(system("test \"$(ls d)\" = f || test -z \"$(ls d)\""), 0);
}

/* Who waits for the lock has it when the other closes it, and never that of a file that is gone. */
TEST_CASE(locking)
{
    mkdir("d", 0755);
    int d = open("d", O_RDONLY | O_DIRECTORY), lock = trust_lock(d, "lock"), ends[2];
    char byte = 0;
    assert_true(lock >= 0 && fcntl(lock, F_GETFD) & FD_CLOEXEC && !pipe(ends));
    assert_int_equal(mode_of("d/lock"), 0600);
    pid_t child = fork();
    if (!child) {
        close(lock);
        const int open_before = count_open(), own = trust_lock(d, "lock");
        struct stat st, there;
        _exit(own < 0 || count_open() != open_before + 1 || fstat(own, &st) || stat("d/lock", &there) ||
              st.st_ino != there.st_ino || write(ends[1], "l", 1) != 1);
    }
    usleep(50000);
    assert_true(!fcntl(ends[0], F_SETFL, O_NONBLOCK) && read(ends[0], &byte, 1) < 0 && errno == EAGAIN);
    assert_int_equal(unlink("d/lock"), 0);
    close(lock);
    int status = 1;
    assert_true(waitpid(child, &status, 0) == child && !status && read(ends[0], &byte, 1) == 1);
    assert_int_equal(symlink("x", "d/link"), 0);
    assert_int_equal(trust_lock(d, "link"), -1);
    assert_int_equal(access("d/x", F_OK), -1);
    if (geteuid() == 0) { /* the store's owner can use what root has made */
        struct stat st;
        assert_int_equal(chown("d", STRANGER, 0), 0);
        lock = trust_lock(d, "owners");
        assert_true(lock >= 0 && !fstat(lock, &st) && st.st_uid == STRANGER && st.st_gid == 0);
        close(lock);
    }
    close(d);
    close(ends[0]);
    close(ends[1]);
}

TEST_CASES_EACH(test_trust, setup, teardown)
