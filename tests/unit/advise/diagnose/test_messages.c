/* The catalogue of messages: what it recognises, and how much of NCCL's own warnings that is.
 *
 * With NCCLTUNE_NCCL_SOURCES, the git directory of NCCL's public repository, every warning of the releases below is
 * looked up, and the share that has an entry is printed per release. Nothing of the sources is part of this one. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"
#include "tests/lib/whole.h"

static const char *id_of(const char *line, int is_warning)
{
    int i = message_of(line, is_warning);
    return i < 0 ? "" : message_at((size_t)i)->id;
}

TEST_CASE(entries_are_whole)
{
    for (size_t i = 0; i < message_count(); i++) {
        const struct message *m = message_at(i);
        const char *parts[] = {m->fragments, m->means, m->causes, m->check, m->remedy};
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            if (strlen(parts[k]) < 3)
                fail_msg("%s: a part is missing", m->id);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(message_at(k)->id, m->id))
                fail_msg("%s: twice", m->id);
        if (m->means[strlen(m->means) - 1] != '.' || m->remedy[strlen(m->remedy) - 1] != '.')
            fail_msg("%s: a sentence without its full stop", m->id);
    }
}

/* No fragment is hidden by an earlier entry, or too short for the index. */
TEST_CASE(every_fragment_is_found)
{
    for (size_t i = 0; i < message_count(); i++)
        for (const char *p = message_at(i)->fragments; *p;) {
            char line[256] = "a.cc:1 NCCL WARN ", *to = line + strlen(line);
            size_t n = strcspn(p, "|");
            for (size_t k = *p == '~'; k < n && to < line + 240; k++)
                to = p[k] == '*' ? strcpy(to, " x ") + 3 : (*to = p[k], to + 1);
            *to = 0;
            int found = message_of(line, 1);
            if (found < 0 || found > (int)i)
                fail_msg("%s: not found by '%s'", message_at(i)->id, line);
            p += n + (p[n] == '|');
        }
}

/* Short lines that we wrote in the form of each program, with the entry that they are. */
TEST_CASE(lines_have_their_entry)
{
    static const struct {
        const char *line, *id;
        int is_warning;
    } lines[] = {
        {"init.cc:1 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 7000", "duplicate-gpu", 1},
        {"net_ib.cc:1 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<1> with status=12 opcode=0 len=0", "ib-retry",
         1},
        {"NCCL WARN NET/IB : Got completion from peer 10.0.0.2<1> with error 12, opcode 0, len 0, vendor err 129",
         "ib-retry", 1},
        {"NCCL WARN NET/IB: Got completion from peer a<1> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=X(0)", "ib-retry",
         1},
        {"NCCL WARN NET/IB : Got completion from peer a<1> with status=5 opcode=0 len=0 vendor err 249", "ib-flush", 1},
        {"NCCL WARN NET/IB : Got completion from peer a<1> with error 4, opcode 0, len 0, vendor err 81",
         "ib-protection", 1},
        {"NCCL WARN NET/IB : Got completion from peer a<1> with status=10 opcode=0", "ib-remote-access", 1},
        {"NCCL WARN NET/IB : Got completion from peer a<1> with status=99 opcode=0", "ib-completion", 1},
        {"misc/ibvwrap.cc:1 NCCL WARN Call to ibv_modify_qp failed with error Network is unreachable", "qp-unreachable",
         1},
        {"NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1", "qp-timeout", 1},
        {"NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", "memlock", 1},
        {"include/shm.h:1 NCCL WARN Call to posix_fallocate failed : No space left on device", "shm-full", 1},
        {"transport/nvls.cc:1 NCCL WARN Cuda failure 1 'invalid argument'", "nvls-multicast", 1},
        {"misc/socket.cc:1 NCCL WARN socketProgress: Connection closed by remote peer a<1>", "peer-closed", 1},
        {"NCCL WARN socketStartConnect: Connect to 10.0.0.2<1> failed : Software caused connection abort",
         "connect-refused", 1},
        {"NCCL WARN socketPollConnect: Connect to 10.0.0.4<1> returned 113(No route to host) errno 115", "no-route", 1},
        {"NCCL WARN Cuda failure 800 'operation not permitted'", "imex-channel", 1},
        {"NCCL WARN Cuda failure 900 'operation not permitted when stream is capturing'", "cuda-failure", 1},
        {"NCCL WARN Cuda failure 3 'initialization error'", "cuda-fork", 1},
        {"NCCL WARN Call to ibv_reg_dmabuf_mr failed with error Cannot allocate memory", "gpu-mapping", 1},
        {"net_ib.cc:1 NCCL WARN NET/IB : Got async event : client reregistration", "ib-event", 1},
        {"net_ib.cc:1 NCCL WARN NET/IB : mlx5_0:1 Got non-fatal async event: SM change(11)", "ib-event", 1},
        {"net_ib.cc:1 NCCL WARN NET/IB : Got async event : local catastrophic error", "ib-fatal-event", 1},
        {"net_ib.cc:1 NCCL WARN NET/IB : Got async event : port error", "ib-port-error", 1},
        {"transport.cu:1 NCCL WARN transport.cu:1 ->2 [Proxy thread error]", "abort", 1},
        {"p2p.cc:1 NCCL WARN hipIpcGetMemHandle failed : invalid argument", "hip-ipc", 1},
        {"NCCL WARN Invalid rank requested : 2/2", "rank-range", 1},
        {"init.cc:1 NCCL WARN Attempt to use communicator before the previous operation returned", "comm-not-ready", 1},
        {"NCCL WARN NET/OFI Request 0x1 completed with error. RC: 5. Error: Invalid receiver queue pair number (QPN)",
         "ofi-peer-gone", 1},
        {"NCCL WARN something that no release prints", "", 1},
        {"x.so: undefined symbol: ncclCommRegister", "version-mismatch", 0},
        {"x.so: undefined symbol: cudaGetDevice", "", 0},
        {"ImportError: libnccl.so.2: cannot open shared object file", "nccl-missing", 0},
        {"NCCL INFO NET/Plugin: libnccl-net.so: cannot open shared object file", "", 0},
        {"[c10d] The client socket has failed to connect to [n1]:29500 (errno: 110 - Connection timed out).",
         "store-timeout", 0},
        /* It tries IPv6 first, and again until the first node listens. */
        {"[c10d] The client socket has failed to connect to [::]:29500 (errno: 97 - Address family not supported).", "",
         0},
        {"[c10d] The client socket has failed to connect to [n1]:29500 (errno: 111 - Connection refused).", "", 0},
        {"[c10d] recvVector failed on SocketImpl(fd=6): failed to recv, got 0 bytes", "peer-closed", 0},
        {"[4] is setting up NCCL communicator and retrieving ncclUniqueId from [0], but store->get('0') got error",
         "rank-absent", 0},
        {"[Rank 0]: Ranks 1 failed to pass monitoredBarrier in 30000 ms", "rank-absent", 0},
        {"WARN: device nic_rail1 is not enumerated as an mlx5 device. Skipping...", "nvshmem-mlx5", 0},
        {"Error in mlx5dv_devx_obj_modify for INIT2RTR_QP with syndrome 1", "nvshmem-connect", 0},
        {"UCX  ERROR mm_iface failed to allocate receive FIFO", "shm-full", 0},
        {"[ERROR] Failed, NCCL error a.cpp:1 'internal error'", "torch-nccl-error", 0},
        {"UCX  ERROR process_vm_readv(pid=1) returned -1: Operation not permitted", "cma", 0},
        {"DMAR: [DMA Write] Request device [3b:00.0] fault addr 0xf", "iommu-fault", 0},
        {"slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***", "job-ended",
         0},
        {"[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)", "watchdog", 0},
        {"NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.", "xid-79", 0},
        {"NVRM: Xid (PCI:0000:3b:00): 999, pid=1", "xid", 0},
        {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "out-of-memory", 0},
        {"./a: error while loading shared libraries: libmpi.so.40: cannot open shared object file", "library-missing",
         0},
        {"NCCL operation ncclGetUniqueId(&id) failed: Unable to load NCCL library.", "nccl-missing", 0},
        {"Unable to determine the device handle for GPU0000:03:00.0: Unknown Error", "xid-79", 0},
        {"NVRM: Xid (PCI:0000:dc:00): 45, pid=1, name=python3, Ch 00000001 caused by previous Xid 149", "xid-nvlink",
         0},
        {"NVRM: Xid (PCI:0000:dc:00): 45, pid=1, name=python3, Ch 00000001", "xid-app", 0},
        {"pcieport 0000:00:03.0: AER: Corrected error received: 0000:00:03.0", "pcie-corrected", 0},
        {"pcieport 0000:00:03.0: AER: Multiple Correctable error message received from 0000:00:03.0", "pcie-corrected",
         0},
        {"Failed to initialize NVML: Unknown Error", "gpu-cgroup", 0},
        {"rdma.cpp:1] DMA BUF supported required for GPU RDMA without nvidia-peermem", "reg-mr", 0},
        {"WARN: device mlx5_3 cannot allocate buffer on the specified memory type. Skipping...", "nvshmem-memory", 0},
        {"ibgda.cpp:1: NULL value cannot allocate mlx5dv_devx_uar", "nvshmem-memory", 0},
        {"ib_device.c:1  UCX  ERROR Invalid gid[0] on mlx5_6:1", "ucx-other", 0},
        {"NCCL/NET (shim) mismatch enforced: NCCL_X=1 (expected 2)", "tcpxo-env", 0},
        {"NCCL/NET (shim) mismatch recommended: NCCL_X=1 (expected unset)", "tcpxo-advice", 0},
        {"[1] is setting up NCCL communicator and retreiving ncclUniqueId from [0] via c10d", "rank-absent", 0},
        {"RuntimeError: NCCL error in: a.cpp:1, unhandled cuda error", "torch-cuda-error", 0},
        {"torch.distributed.elastic.multiprocessing.errors.ChildFailedError:", "child-failed", 0},
        {"torch.distributed.elastic.multiprocessing.api: Received Signals.SIGHUP death signal", "sighup", 0},
        {"(raylet) Worker exit type: SYSTEM_ERROR Worker exit detail: some causes: (1) the process was killed by the "
         "OOM "
         "killer, killed by SIGKILL",
         "ray-worker", 0},
        {"NCCL error in: a.cpp:957, invalid usage, NCCL version 2.7.8", "torch-invalid-usage", 0},
        {"transport/p2p.cc:298 NCCL WARN Cuda failure 'invalid argument'", "p2p-access", 1},
        {"transport/p2p.cc:298 NCCL WARN Cuda failure 'out of memory'", "out-of-memory", 1},
        {"[btl_tcp_endpoint.c:796:mca_btl_tcp_endpoint_complete_connect] connect() to 172.17.0.1 failed: Connection "
         "refused (111)",
         "mpi-transport", 0},
        {"mpirun noticed that process rank 1 on node a exited on signal 4 (Illegal instruction).", "worker-died", 0},
        {"mpirun noticed that process rank 1 on node a exited on signal 9 (Killed).", "killed", 0},
        {"mpirun noticed that process rank 1 on node a exited on signal 15 (Terminated).", "", 0},
        {"docker: nvidia-container-cli: initialization error: nvml error: driver not loaded", "libcuda", 0},
        {"[c10d] The IPv4 network addresses of (n1, 29500) cannot be retrieved (gaierror: -2 - Name or service not "
         "known).",
         "bootstrap-address", 0},
        {"libibverbs: Warning: couldn't load driver 'libmlx5-rdmav34.so': cannot open shared object file", "ib-open",
         0},
        {"malloc(): corrupted top size", "worker-died", 0},
        {"free(): invalid pointer", "worker-died", 0},
        /* What goes on without: IPv6 before IPv4, providers of NICs that are not there. */
        {"[c10d] The IPv6 network addresses of (n1, 29500) cannot be retrieved (gaierror: -2 - Name or service not "
         "known).",
         "", 0},
        {"libibverbs: Warning: couldn't load driver 'librxe-rdmav34.so': cannot open shared object file", "", 0},
        {"nvidia-container-cli version 1.14.3", "", 0},
        {"nvshmem_malloc(): 1024 MiB", "", 0},
        {"rdma.cpp:1] DMA-BUF is used, it works without nvidia-peermem", "", 0},
        {"Guest Config Checker: all variables are as expected", "", 0},
        /* Words of NCCL's entries in lines of others. */
        {"step 12 | loss 1.2 | norm of the gradient | information on the format", "", 0},
        {"could not connect to redis: Connection refused", "", 0},
        {"# Workaround for a SIGSEGV in ncclCuMemHostEnable()", "", 0},
        {"CUDA_ERROR_NOT_PERMITTED in cudaMallocHost, called from a host callback", "", 0},
        {"h:1:2 [0] NCCL INFO NET/OFI Selected provider is efa", "", 0},
        {"h:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB", "", 0},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (strcmp(id_of(lines[i].line, lines[i].is_warning), lines[i].id) != 0)
            fail_msg("%s: '%s', not '%s'", lines[i].line, id_of(lines[i].line, lines[i].is_warning), lines[i].id);
}

/* doc/messages.md is what the program prints: make it anew with NCCLTUNE_WRITE_FIXTURES=1. */
TEST_CASE(the_page_is_that_of_the_table)
{
    char *page = NULL;
    size_t bytes;
    FILE *f = open_memstream(&page, &bytes);
    diagnose_messages(f, 0);
    fclose(f);
    assert_whole(page, "doc/messages.md");
    free(page);
}

/* ---- coverage, by the public sources ---- */

/* The text of WARN("..." PRIx64 "...", ...) behind its parenthesis; 0 where there is none. */
static int read_text(const char *s, char *text, size_t size)
{
    size_t n = 0;
    int depth = 0, seen = 0;
    for (; *s && !(depth == 0 && ((*s == ',' && seen) || *s == ')')); s++) {
        depth += (*s == '(') - (*s == ')');
        if (*s != '"')
            continue;
        for (s++; *s && *s != '"'; s++) {
            if (*s == '\\' && s[1])
                s++;
            if (n < size - 1)
                text[n++] = (char)(isspace((unsigned char)*s) ? ' ' : *s);
        }
        seen = 1;
        if (!*s)
            break;
    }
    text[n] = 0;
    return seen;
}

struct coverage {
    long texts, known;
};

static void read_source(const char *repository, const char *tag, const char *path, struct coverage *c)
{
    char command[1024], text[1024], line[1400];
    size_t room = 1 << 20;
    char *source = malloc(room);
    snprintf(command, sizeof command, "git -C '%s' show '%s:%s' 2>/dev/null", repository, tag, path);
    FILE *f = popen(command, "r");
    size_t n = f && source ? fread(source, 1, room - 1, f) : 0;
    if (f)
        pclose(f);
    if (source)
        source[n] = 0;
    for (const char *p = source; p && (p = strstr(p, "WARN("));) {
        int word = p > source && (isalnum((unsigned char)p[-1]) || p[-1] == '_');
        p += 5;
        if (word || !read_text(p, text, sizeof text))
            continue;
        snprintf(line, sizeof line, "%s:1 NCCL WARN %s", path + (strncmp(path, "src/", 4) ? 0 : 4), text);
        int known = message_of(line, 1) >= 0;
        c->texts++;
        c->known += known;
        if (!known && getenv("NCCLTUNE_MISSING"))
            printf("# %s %s\n", tag, line);
    }
    free(source);
}

TEST_CASE(most_warnings_of_each_release_have_an_entry)
{
    static const char *const tags[] = {"v2.18.1-1", "v2.19.3-1", "v2.20.5-1", "v2.21.5-1", "v2.22.3-1",
                                       "v2.23.4-1", "v2.24.3-1", "v2.25.1-1", "v2.26.2-1", "v2.27.3-1",
                                       "v2.28.9-1", "v2.29.7-1", "v2.30.7-1"};
    const char *repository = getenv("NCCLTUNE_NCCL_SOURCES");
    if (!repository) {
        printf("# skipped: NCCLTUNE_NCCL_SOURCES is not set (the git directory of NCCL's public repository)\n");
        skip();
    }
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        char command[1024], path[512];
        struct coverage c = {0};
        snprintf(command, sizeof command, "git -C '%s' ls-tree -r --name-only '%s' src", repository, tags[i]);
        FILE *f = popen(command, "r");
        while (f && fgets(path, sizeof path, f)) {
            path[strcspn(path, "\n")] = 0;
            const char *dot = strrchr(path, '.');
            if (dot && (!strcmp(dot, ".cc") || !strcmp(dot, ".h") || !strcmp(dot, ".cu") || !strcmp(dot, ".c")))
                read_source(repository, tags[i], path, &c);
        }
        if (f)
            pclose(f);
        printf("# %s: %ld of %ld warnings have an entry (%.0f %%)\n", tags[i], c.known, c.texts,
               c.texts ? 100.0 * (double)c.known / (double)c.texts : 0);
        assert_true(c.texts > 200);
        assert_true((double)c.known >= 0.7 * (double)c.texts);
    }
}

/* Settings, timings and the routine of start-up are not failures; neither are digits of an address an errno. */
TEST_CASE(ordinary_lines_are_no_failures)
{
    static const char *const lines[] = {
        "export NVSHMEM_IB_ENABLE_IBGDA=1",
        "nvshmem/src/host/init/init.cu: INFO nvshmem setup done",
        "[layer 3] DeepEP dispatch 142 us, DeepEP combine 190 us",
        "gloo/transport/tcp device: using eth0",
        "Unable to shutdown process 3 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL",
        "# if the job dies with SIGKILL see slurm",
        "Using TCPStore; if it fails, see the documentation",
        "[W socket.cpp:663] [c10d] The client socket has failed to connect to [node1]:29500 (errno: 111).",
        "epoch 1 mean error 220.5 val error 802.1",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (message_of(lines[i], 0) >= 0)
            fail_msg("%s: %s", lines[i], message_at((size_t)message_of(lines[i], 0))->id);
    static const struct {
        const char *line, *id;
    } told[] = {
        {"NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, local GID ::ffff:10.0.101.5",
         "qp-timeout"},
        {"NCCL WARN Call to ibv_modify_qp failed with 22 Invalid argument, local GID ::ffff:10.110.0.5", "qp-invalid"},
        {"NCCL WARN NUMA auto balancing enabled which can lead to variability in the RCCL performance!", "rocm-iommu"},
        {"slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.",
         "killed"},
    };
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        assert_string_equal(message_at((size_t)message_of(told[i].line, 1))->id, told[i].id);
}

TEST_CASES(test_messages)
