/* bench/fabric/fabric.c and what is concluded from it: any bytes as a fabric document. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/engines/verbs/run.h"
#include "bench/fabric/fabric.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[32];
    if (fd < 0) {
        fd = memfd_create("fabric", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
        return 0;
    struct err e = {0};
    struct verbs_fabric *f = verbs_fabric_load(path, &e);
    FILE *out = f ? fopen("/dev/null", "we") : NULL;
    if (out) {
        struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
        struct verbs_check c;
        verbs_print(f, &d, 1, out);
        verbs_check(f, f, VERBS_CHECK_RATIO, &c, &e);
        fclose(out);
    }
    verbs_fabric_free(f);
    return 0;
}
