/* Measured bandwidths between GPUs and NICs, through a file in memory: whatever comes in, it is read or refused. */
#include <sys/mman.h>
#include <unistd.h>

#include "probe/machines/machines.h"
#include "tests/fuzz/fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct topology *t = machine_topology("azure-ndv2", 1, NULL);
    struct err e = {0};
    char path[64];
    int fd = memfd_create("bandwidths", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        __builtin_trap();
    struct topology *like = machine_from_bandwidths(t, path, &e);
    if (like && !machine_complete_tree(t, like, &e))
        fuzz_use(t);
    else if (!e.code)
        __builtin_trap();
    close(fd);
    topo_free(like);
    topo_free(t);
    return 0;
}
