/* Reading a file whole. fstat and stat would bind a newer glibc than containers have, so lseek tells what can be read
 * like a file. A pipe, which could block, would do so in open without O_NONBLOCK. */
#include "tuner/libc/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int plugin_read_file(const char *path, size_t most, char **text, size_t *bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error = 0;
    *text = NULL;
    *bytes = 0;
    if (fd < 0)
        return errno;
    off_t end = lseek(fd, 0, SEEK_END);
    if (read(fd, text, 0) < 0 && errno == EISDIR) /* whose end lies anywhere */
        error = EISDIR;
    else if (end < 0 || lseek(fd, 0, SEEK_SET) < 0)
        error = ESPIPE;
    else if ((uint64_t)end > most)
        error = EFBIG;
    else if (!(*text = calloc((size_t)end + 1, 1)))
        error = ENOMEM;
    while (!error && *bytes < (size_t)end) {
        ssize_t n = read(fd, *text + *bytes, (size_t)end - *bytes);
        if (n == 0)
            break;
        if (n > 0)
            *bytes += (size_t)n;
        else if (errno != EINTR)
            error = errno;
    }
    close(fd);
    if (error) {
        free(*text);
        *text = NULL;
    }
    return error;
}
