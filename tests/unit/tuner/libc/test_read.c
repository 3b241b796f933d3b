/* tuner/libc/read.c: how large files may be, and what is none. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tuner/libc/read.h"

#define MOST 1000

TEST_CASE(as_large_as_it_may_be)
{
    static char written[MOST + 1];
    static const size_t sizes[] = {0, 1, MOST - 1, MOST, MOST + 1};
    memset(written, 'x', sizeof written);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char path[] = "/tmp/nccltune-read-XXXXXX", *text;
        size_t bytes;
        int fd = mkstemp(path);
        assert_int_equal(write(fd, written, sizes[i]), sizes[i]);
        close(fd);
        assert_int_equal(plugin_read_file(path, MOST, &text, &bytes), sizes[i] > MOST ? EFBIG : 0);
        assert_int_equal(bytes, sizes[i] > MOST ? 0 : sizes[i]);
        if (sizes[i] > MOST)
            assert_null(text);
        else
            assert_int_equal(strlen(text), sizes[i]);
        free(text);
        unlink(path);
    }
}

TEST_CASE(what_is_no_file)
{
    char dir[] = "/tmp/nccltune-read-XXXXXX", fifo[64], *text;
    size_t bytes;
    assert_non_null(mkdtemp(dir));
    snprintf(fifo, sizeof fifo, "%s/fifo", dir);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(plugin_read_file(dir, MOST, &text, &bytes), EISDIR);
    assert_int_equal(plugin_read_file(fifo, MOST, &text, &bytes), ESPIPE);
    unlink(fifo);
    assert_int_equal(plugin_read_file(fifo, MOST, &text, &bytes), ENOENT);
    assert_null(text);
    rmdir(dir);
}

TEST_CASES(test_read)
