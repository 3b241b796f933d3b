/* bench/engines/verbs/run.c: any bytes as the journal of a fabric. What is kept of them is read the same way again.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/engines/verbs/run.c"

#define WHAT "mlx5_0:1,mlx5_1:1 rails 2 nodes" /* as in the seed */

static int read_back(const char *path, struct arena *a, int *lines)
{
    struct journal j;
    struct err e = {0};
    int code = open_journal(&j, path, WHAT, 1, a, &e);
    *lines = j.nlines;
    close_journal(&j, 0);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[32];
    if (fd < 0) {
        fd = memfd_create("journal", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
        return 0;
    struct arena *a = arena_new();
    int first, second;
    if (!read_back(path, a, &first) && (read_back(path, a, &second) || first != second))
        abort();
    arena_free(a);
    return 0;
}
