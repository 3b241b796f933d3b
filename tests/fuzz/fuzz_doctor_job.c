/* What the ranks of a job print, held against one another: whatever is read can be told. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "envgen/doctor/doctor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("ranks", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        __builtin_trap();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct err e = {0};
    struct doctor *d = doctor_job_compare(path, &e);
    if (!d && !e.code)
        __builtin_trap();
    for (int i = 0; d && i < d->found.n; i++)
        if (strpbrk(d->found.list[i].text, "\n\r\x1b") || strpbrk(d->found.list[i].subject, "\n\r\x1b"))
            __builtin_trap();
    doctor_free(d);
    close(fd);
    return 0;
}
