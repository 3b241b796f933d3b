/* Reading a file whole. fstat and stat would bind a newer glibc than containers have, so lseek tells what can be read
 * like a file. A pipe, which could block, would do so in open without O_NONBLOCK. */
#include "tuner/libc/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static int read_all(int fd, size_t most, char **text, size_t *bytes)
{
    off_t end = lseek(fd, 0, SEEK_END);
    if (read(fd, text, 0) < 0 && errno == EISDIR) /* whose end lies anywhere */
        return EISDIR;
    if (end < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return ESPIPE;
    if ((uint64_t)end > most)
        return EFBIG;
    *text = malloc((size_t)end + 1);
    if (!*text)
        return ENOMEM;
    while (*bytes < (size_t)end) {
        ssize_t n = read(fd, *text + *bytes, (size_t)end - *bytes);
        if (n < 0 && errno != EINTR)
            return errno;
        if (n == 0)
            break;
        *bytes += n > 0 ? (size_t)n : 0;
    }
    (*text)[*bytes] = 0;
    return 0;
}

int plugin_read_file(const char *path, size_t most, char **text, size_t *bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    *text = NULL;
    *bytes = 0;
    if (fd < 0)
        return errno;
    int error = read_all(fd, most, text, bytes);
    close(fd);
    if (error) {
        free(*text);
        *text = NULL;
    }
    return error;
}
