/* What ibnetdiscover prints, through a file in memory: whatever comes in, it is read or refused. */
#include <sys/mman.h>
#include <unistd.h>

#include "probe/cluster/cluster.h"
#include "probe/topology/build.h"
#include "tests/fuzz/fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct topology *t = topo_new();
    struct err e = {0};
    char path[64];
    int fd = memfd_create("fabric", MFD_CLOEXEC);
    struct topo_class *c = build_class(t, NULL);
    for (int i = 0; i < 4; i++)
        build_port(t, c,
                   (struct topo_port){.object = -1,
                                      .hca = i < 2 ? "mlx5_0" : "mlx5_1",
                                      .port = 1 + i % 2,
                                      .state = TOPO_STATE_ACTIVE,
                                      .layer = TOPO_LINK_INFINIBAND});
    build_host(t, "host", 0);
    build_text(t, &t->hosts[0].addresses, &t->hosts[0].naddresses, "mlx5_0 0x506b4b0300ca1f2e");
    build_text(t, &t->hosts[0].addresses, &t->hosts[0].naddresses, "mlx5_1 0x506b4b0300ca1f3e");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        __builtin_trap();
    if (!ibnetdiscover_read(t, path, NULL, &e))
        fuzz_use(t);
    else if (!e.code)
        __builtin_trap();
    close(fd);
    topo_free(t);
    return 0;
}
