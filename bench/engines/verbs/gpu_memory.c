/* GPU memory that an RDMA device reads and writes by itself. */
#include "bench/engines/verbs/verbs.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DMA_BUF_FD 1     /* CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, hipMemRangeHandleTypeDmaBufFd */
#define PAGE       65536 /* dma-buf wants whole pages; those of GPUs are 64 KiB */

/* Not in every release of a driver, so looked up when wanted: CUDA 11.7, ROCm 6.3. */
typedef int range_handle_fn(void *handle, void *start, size_t bytes, int type, unsigned long long flags);
typedef int pci_fn(char *text, int bytes, int device);

int verbs_gpu_load(struct gpu *driver, int *hip)
{
    int n = 0;
    for (*hip = 0; *hip < 2; ++*hip)
        if (!gpu_load(driver, *hip, NULL) && !driver->count(&n) && n > 0)
            return n;
    return 0;
}

int verbs_gpu_take(struct verbs_gpu *g, struct gpu *driver, int hip, int index, char why[VERBS_FAILURE_TEXT])
{
    int device;
    *g = (struct verbs_gpu){.driver = driver, .hip = hip, .index = index};
    int error = driver->device(&device, index);
    if (!error)
        error = driver->retain(&g->context, device);
    if (!error)
        error = driver->set_current(g->context);
    if (error) {
        snprintf(why, VERBS_FAILURE_TEXT, "GPU %d cannot be used: %s", index, gpu_error(driver, error));
        return -1;
    }
    void *symbol = dlsym(RTLD_DEFAULT, hip ? "hipDeviceGetPCIBusId" : "cuDeviceGetPCIBusId");
    pci_fn *pci = (pci_fn *)symbol;
    if (!pci || pci(g->pci, sizeof g->pci, device))
        g->pci[0] = '\0';
    for (char *p = g->pci; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return 0;
}

/* By dma-buf: no kernel module of the vendor's is needed. NULL and errno. */
static struct ibv_mr *register_dma_buf(const struct verbs_gpu *g, struct ibv_pd *pd, void *start, size_t bytes,
                                       int access)
{
    int fd = -1;
    void *symbol = dlsym(RTLD_DEFAULT, g->hip ? "hipMemGetHandleForAddressRange" : "cuMemGetHandleForAddressRange");
    range_handle_fn *handle = (range_handle_fn *)symbol;
    if (!handle || handle(&fd, start, bytes, DMA_BUF_FD, 0)) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    struct ibv_mr *mr = ibv_reg_dmabuf_mr(pd, 0, bytes, (uint64_t)(uintptr_t)start, fd, access);
    int error = errno;
    close(fd);
    errno = error;
    return mr;
}

static struct ibv_mr *make_memory(void *user, struct ibv_pd *pd, size_t bytes, unsigned char **start,
                                  char words[VERBS_FAILURE_TEXT])
{
    struct verbs_gpu *g = user;
    int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
    void *memory = NULL;
    int error = g->driver->alloc(&memory, whole);
    if (error) {
        snprintf(words, VERBS_FAILURE_TEXT, "%zu bytes on GPU %d: %s", whole, g->index, gpu_error(g->driver, error));
        return NULL;
    }
    g->via = "dma-buf";
    struct ibv_mr *mr = register_dma_buf(g, pd, memory, whole, access);
    int first = errno;
    if (!mr) {
        g->via = "peer memory";
        mr = ibv_reg_mr(pd, memory, whole, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    }
    if (!mr) {
        int second = errno;
        char peer[VERBS_FAILURE_TEXT];
        verbs_say_errno(peer, VERBS_REGISTER, second);
        g->via = NULL;
        g->driver->release(memory);
        snprintf(words, VERBS_FAILURE_TEXT, "GPU %d, by dma-buf: %s; as peer memory: %.250s", g->index, strerror(first),
                 peer);
        return NULL;
    }
    *start = memory;
    return mr;
}

static void drop_memory(void *user, struct ibv_mr *mr, unsigned char *start)
{
    struct verbs_gpu *g = user;
    ibv_dereg_mr(mr);
    g->driver->release(start);
}

static int put_bytes(void *user, unsigned char *to, const void *from, size_t bytes)
{
    struct verbs_gpu *g = user;
    int rc = g->driver->to_device(to, from, bytes);
    return rc ? rc : g->driver->finish_all(); /* a copy may return before it has landed, and the HCA reads next */
}

static int get_bytes(void *user, void *to, const unsigned char *from, size_t bytes)
{
    struct verbs_gpu *g = user;
    return g->driver->to_host(to, from, bytes);
}

struct verbs_memory verbs_gpu_memory(struct verbs_gpu *g)
{
    return (struct verbs_memory){make_memory, drop_memory, put_bytes, get_bytes, g};
}
