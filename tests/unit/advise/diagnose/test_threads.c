/* Pastes of public threads, in a reduced form that we wrote, with the answer that is expected: the id of the failure
 * (or of the first finding, or "hang"), and a word that the answer must have. It is the maintainers' answer where that
 * could be read, else what the poster's own data say. */
#include "core/finding.h"
#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

#define FOLDER "tests/fixtures/threads/"

static const struct {
    const char *file, *id, *says;
} threads[] = {
    {"nccl-426.log", "ib-retry", "NCCL_IB_GID_INDEX is not set"},
    {"pytorch-81628.log", "ib-retry", "NCCL_IB_GID_INDEX"},
    {"nccl-1170.log", "ib-retry", "do not reach"},
    {"nccl-905.log", "ib-port-error", "flaps"},
    {"nccl-290.log", "shm-full", "--shm-size"},
    {"nccl-342.log", "shm-full", "64 MB"},
    {"nccl-525.log", "shm-full", "emptyDir"},
    {"nccl-606.log", "acs", "BIOS"},
    {"nccl-2079.log", "acs", "setpci"},
    {"nccl-1672.log", "nvls-multicast", "NCCL_NVLS_ENABLE=0"},
    {"nccl-1788.log", "nvls-multicast", "Fabric Manager"},
    {"nccl-1488.log", "nvls-multicast", "reset"},
    {"nccl-tests-276.log", "nvls-multicast", "Fabric Manager"},
    {"pytorch-177472.log", "nvls-multicast", "Fabric Manager"},
    {"nccl-1151.log", "gdr-distance", "NCCL_NET_GDR_LEVEL=SYS"},
    {"nccl-1478.txt", "ranks-differ", "NCCL_IB_HCA"},
    {"nccl-1634.log", "ranks-differ", "IBext_v8"},
    {"nccl-1357.log", "one-gpu-a-node", "one GPU a node"},
    {"nccl-tests-232.log", "one-gpu-a-node", "PCIe"},
    {"nccl-tests-185.log", "qp-unreachable", "NCCL_IB_HCA"},
    {"nccl-tests-206.log", "memlock", "ulimit -l"},
    {"open-r1-620.log", "hang", "rank 0 did not time out"},
    {"nccl-442.log", "sysfs", "WSL"},
    {"nccl-tests-14.log", "no-interface", "container"},
    {"nccl-229.log", "ofi-no-provider", "EFA"},
    {"nccl-tests-245.log", "ofi-gdr-off", "says nothing about its use"},
    {"nccl-tests-300.log", "device-ordinal", "--gpu-bind=none"},
    {"nccl-tests-338.log", "system-not-ready", "Fabric Manager"},
    {"rccl-1026.log", "slingshot-sockets", "aws-ofi-rccl"},
    {"nccl-tests-213.log", "separate-runs", "MPI=1"},
    {"aws-ofi-584.log", "ofi-reg-mr", "1.29"},
    {"aws-ofi-785.log", "topo-file", "update aws-ofi-nccl"},
    {"gpustack-2275.log", "connect-refused", "docker bridge"},
    {"sglang-3820.log", "no-route", "NCCL_SOCKET_IFNAME"},
    {"nccl-1874.log", "too-many-peers", "8 peers"},
    {"vllm-3710.log", "libcuda", "container"},
    {"megatron-661.log", "duplicate-gpu", "LOCAL_RANK"},
    {"nccl-969.log", "truncated", "NCCL variables"},
    {"nccl-tests-41.log", "ib-open", "ibverbs-providers"},
    {"deepep-137.log", "deepep-timeout", "NVSHMEM_HCA_PE_MAPPING"},
    {"deepep-150.log", "nvshmem-init", "NVSHMEM"},
    {"deepep-139.log", "nvshmem-init", "mlx5"},
    {"deepep-114.log", "deepep-assert", "get_combine_config"},
    {"deepep-202.log", "nvshmem-mlx5", "ConnectX"},
    {"aicr-1647.log", "tcpxo-advice", "nccl-env-profile.sh"},
    {"deepep-41.log", "proxy-end", "harmless"},
    {"arctic-219.log", "hang", "number 1207"},
    {"vllm-6370.log", "hang", "NCCL_P2P_DISABLE=1"},
    {"nccl-769.log", "qp-timeout", "link-local"},
    {"nccl-473.log", "torch-system-error", "--ipc=host"},
    {"nccl-380.log", "ib-create", "ulimit -l"},
    {"nccl-1637.log", "gpu-shared-memory", "Update NCCL"},
    {"nccl-952.log", "transport-connect", "NCCL_SOCKET_IFNAME"},
    {"ray-40758.log", "transport-connect", "NCCL_SOCKET_IFNAME"},
    {"nccl-tests-252.log", "ib-protection", "ACS"},
    {"aws-ofi-67.log", "ofi-no-provider", "EFA"},
    {"aws-ofi-161.log", "ofi-connect", "security group"},
    {"aws-ofi-803.log", "ofi-no-provider", "TCP"},
    {"spark-102.log", "half-a-port", "roceP2p1s0f0"},
    {"efa-278.log", "ofi-reg-mr", "FI_EFA_SET_CUDA_SYNC_MEMOPS=0"},
    {"nccl-tests-291.log", "gpu-new", "2.26"},
    {"nccl-tests-124.log", "stub-library", "LD_LIBRARY_PATH"},
    {"nccl-tests-360.log", "socket-type", "mpirun -x"},
    {"nccl-1781.log", "sockets", "one container that sees all its GPUs"},
    {"nccl-2077.log", "nvls-slots", "NCCL_NVLS_ENABLE=0"},
    {"nccl-2057.log", "peer-address", "ncclGroupStart"},
    {"nccl-1267.log", "peer-address", "2.20.5+cuda12.4 and 2.19.3"},
    {"nccl-1837.log", "peer-address", "NCCL_SOCKET_IFNAME"},
    {"nccl-2160.log", "topo-size", "Update NCCL"},
    {"nccl-2106.log", "cumem-host", "NCCL_CUMEM_HOST_ENABLE=0"},
    {"nccl-2190.log", "cumem-host", "NCCL_CUMEM_HOST_ENABLE=0"},
    {"nccl-1838.log", "cumem-host", "NCCL_CUMEM_HOST_ENABLE=0"},
    {"nccl-2237.log", "gin-doca", "Update NCCL"},
    {"nccl-2329.log", "p2p-nvlink", "NCCL_IGNORE_DISABLED_P2P=1"},
    {"rccl-1728.log", "one-way-link", "ROCm 6.3"},
    {"rccl-876.log", "no-kernel-image", "ROCm"},
    {"nccl-1328.log", "truncated", "NCCL variables"},
    {"nccl-296.log", "collectives-differ", "same counts"},
    {"nccl-667.log", "NCCL_P2P_DISABLE", "ACSCtl"},
    {"nccl-tests-92.log", "device-ordinal", "as many ranks as GPUs"},
    {"aws-dlc-2675.log", "ofi-no-provider", "security group"},
    {"ucx-9515.log", "ib-protection", "ACS"},
    {"nccl-286.log", "peer-closed", "failed first"},
    {"gid-empty.log", "qp-gid-empty", "show_gids"},
    {"marin-6940.log", "no-interface", "NCCL_SOCKET_IFNAME"},
    {"ucx-2434.log", "ib-retry", "GID"},
    {"horovod-584.log", "connect-refused", "NCCL_SOCKET_IFNAME"},
    {"nvbandwidth-39.log", "imex-channel", "nvidia-imex"},
    /* Provoked with Open MPI 4.1.4 and UCX 1.13.1: 4 KiB left in /dev/shm; devices that are not there. */
    {"ompi-shm-full.log", "shm-full", "--shm-size"},
    {"ucx-shm-full.log", "shm-full", "--shm-size"},
    {"ompi-interface.log", "mpi-transport", "btl_tcp_if_include"},
    {"ucx-device.log", "mpi-transport", "UCX_NET_DEVICES"},
    /* Provoked on Soft-RoCE with perftest 4.5 and ibverbs-utils 44: no GID entry or another family, no route, a limit
     * of 64 KiB, a link that goes down. */
    {"roce-gid.log", "qp-other", "GID index has no entry"},
    {"roce-family.log", "qp-invalid", "IPv6 on the other"},
    {"roce-route.log", "qp-other", "no route"},
    {"roce-memlock.log", "memlock", "ulimit -l"},
    {"roce-memlock-user.log", "reg-mr", "locked memory"},
    {"roce-down.log", "ib-port-error", "went down"},
};

static int answers(const struct diag_result *r, const char *word)
{
    const struct diag_failure *f = &r->failure;
    for (int i = 0; i < 3; i++)
        if (strstr(r->opening[i], word))
            return 1;
    return f->id &&
           (strstr(f->what, word) || strstr(f->why, word) || strstr(f->remedy, word) || strstr(f->check, word));
}

TEST_CASE(threads_get_their_maintainers_answer)
{
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        char path[256];
        struct err e = {0};
        struct diagnosis *d = diagnose_new();
        snprintf(path, sizeof path, FOLDER "%s", threads[i].file);
        if (diagnose_file(d, path, &e))
            fail_msg("%s", e.text);
        const struct diag_result *r = diagnose_finish(d);
        const char *id = r->failure.id ? r->failure.id : r->nfindings ? r->findings[0].id : "";
        if (strcmp(id, threads[i].id) != 0)
            fail_msg("%s: '%s', not '%s'", threads[i].file, id, threads[i].id);
        if (!answers(r, threads[i].says))
            fail_msg("%s: nothing of '%s'", threads[i].file, threads[i].says);
        /* One node alone needs no RDMA. */
        if (strstr(threads[i].file, "nccl-tests-14") && answers(r, "install or load the RDMA"))
            fail_msg("%s: sent to install RDMA", threads[i].file);
        diagnose_free(d);
    }
}

/* ---- first cause, echoes, differences, who ---- */

static const struct diag_failure *failure_of(const char *text, struct diagnosis **d)
{
    *d = read_text(text);
    return &diagnose_finish(*d)->failure;
}

TEST_CASE(an_echo_gives_way_to_its_cause)
{
    struct diagnosis *d;
    const struct diag_failure *f =
        failure_of("b:1:2 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer a<1>\n"
                   "[rank0]: torch.distributed.DistBackendError: NCCL error in: x, remote process exited\n"
                   "a:7:8 [3] NCCL INFO ncclCommInitRank comm 0x5 rank 3 nranks 8 cudaDev 3 busId 5d000 - Init START\n"
                   "a:7:9 [3] include/alloc.h:1 NCCL WARN Cuda failure 2 'out of memory'\n",
                   &d);
    assert_string_equal(f->id, "out-of-memory");
    assert_non_null(strstr(f->where, "rank 3, node a, GPU 3"));
    assert_int_equal(f->echoes, 2);
    diagnose_free(d);
}

/* Of two causes the earlier in time, whichever file is read first. */
TEST_CASE(the_first_in_time_wins)
{
    static const char *const days[] = {"2026-01-02 ", "2026/01/02 ", "26/01/02 ", "26-01-02 ", "01-02 ", ""};
    for (size_t i = 0; i < sizeof days / sizeof *days; i++) {
        struct diagnosis *d = diagnose_new();
        struct err e = {0};
        char log[256];
        snprintf(log, sizeof log,
                 "[%s10:00:09] b:1:2 [0] x.cc:1 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate "
                 "memory\n",
                 days[i]);
        feed(d, log, &e);
        snprintf(log, sizeof log,
                 "[%s10:00:05] a:1:2 [0] x.cc:1 NCCL WARN Error: failed to extend /dev/shm/nccl-x to 9 bytes, error: "
                 "No space left on device (28)\n",
                 days[i]);
        feed(d, log, &e);
        assert_string_equal(diagnose_finish(d)->failure.id, "shm-full");
        diagnose_free(d);
    }
}

/* Slurm says why it ends a job behind what torchrun then says of its processes. */
TEST_CASE(the_end_of_the_job_explains_its_processes)
{
    struct diagnosis *d;
    const struct diag_failure *f = failure_of(
        "W0101 torch/distributed/elastic/multiprocessing/api.py:9] Sending process 1 closing signal SIGTERM\n"
        "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***\n",
        &d);
    assert_string_equal(f->id, "job-ended");
    diagnose_free(d);
}

/* JAX prints NCCL's last warning behind its own words. */
TEST_CASE(a_warning_within_a_line)
{
    struct diagnosis *d;
    const struct diag_failure *f =
        failure_of("INTERNAL: NCCL operation ncclGroupEnd() failed: unhandled system error. Last NCCL warning(error) "
                   "log entry (may be unrelated) 'Error: failed to extend /dev/shm/nccl-x to 1 bytes'\n",
                   &d);
    assert_string_equal(f->id, "shm-other");
    diagnose_free(d);
}

/* A change in the fabric is no failure; a skipped HCA is one only for NVSHMEM. */
TEST_CASE(a_note_is_no_cause)
{
    struct diagnosis *d;
    static const char event[] = "a:1:2 [0] net_ib.cc:1 NCCL WARN NET/IB : Got async event : client reregistration\n";
    assert_null(failure_of(event, &d)->id);
    diagnose_free(d);
    assert_string_equal(failure_of("WARN: device efa_0 is not enumerated as an mlx5 device. Skipping...\n"
                                   "transport.cpp:1: init failed for transport: IBGDA\n",
                                   &d)
                            ->id,
                        "nvshmem-mlx5");
    diagnose_free(d);
    assert_string_equal(failure_of("WARN: device efa_0 is not enumerated as an mlx5 device. Skipping...\n"
                                   "[Rank 1] ncclSystemError: x\n"
                                   "a:1:2 [0] x.cc:1 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate "
                                   "memory\n",
                                   &d)
                            ->id,
                        "memlock");
    diagnose_free(d);
}

TEST_CASE(a_warning_without_an_entry_is_internal)
{
    struct diagnosis *d;
    const struct diag_failure *f = failure_of("a:1:2 [0] misc/new.cc:7 NCCL WARN something that nobody knows\n", &d);
    assert_string_equal(f->id, "internal");
    assert_non_null(strstr(f->what, "misc/new.cc"));
    diagnose_free(d);
}

TEST_CASE(ranks_that_differ_are_named)
{
    struct diagnosis *d;
    const struct diag_failure *f =
        failure_of("a:1:2 [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.\n"
                   "b:1:2 [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to 0.\n"
                   "a:1:3 [0] x.cc:1 NCCL WARN NET/IB: Got completion from peer b<1> with status=12 opcode=0 len=0\n",
                   &d);
    assert_string_equal(f->id, "ib-retry");
    assert_non_null(strstr(f->why, "different NCCL_IB_GID_INDEX: 3 and 0"));
    diagnose_free(d);
}

/* What one process sets anew for another communicator is no difference between ranks. */
TEST_CASE(a_value_that_changes_within_a_process)
{
    struct diagnosis *d = read_text("a:1:2 [0] NCCL INFO NCCL_COLLNET_ENABLE set by environment to 1.\n"
                                    "a:1:2 [0] NCCL INFO NCCL_COLLNET_ENABLE set by environment to 0.\n"
                                    "a:7:8 [1] NCCL INFO NCCL_COLLNET_ENABLE set by environment to 0.\n");
    assert_null(finding_of(diagnose_finish(d), "ranks-differ"));
    diagnose_free(d);
}

/* That NCCL's RAS has no port fails no job. */
TEST_CASE(a_port_of_ras_is_no_failure)
{
    struct diagnosis *d;
    const struct diag_failure *f =
        failure_of("a:1:2 [0] ras/client_support.cc:160 NCCL WARN Call to bind failed: Address already in use\n", &d);
    assert_null(f->id);
    assert_non_null(finding_of(diagnose_finish(d), "ras-port"));
    diagnose_free(d);
}

/* Of ranks that timed out in different collectives those at both ends are named. */
TEST_CASE(ranks_in_different_collectives_are_named)
{
    struct diagnosis *d = read_text(
        "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLGATHER) timing out\n"
        "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=13, OpType=ALLREDUCE, x)\n");
    assert_non_null(strstr(diagnose_finish(d)->opening[0],
                           "rank 1 stands in ALLGATHER number 12, rank 0 stands in ALLREDUCE number 13"));
    diagnose_free(d);
}

/* A terminal of 100 columns cut the line in two. */
TEST_CASE(wrapped_lines_are_joined)
{
    struct diagnosis *d = read_text(
        "[rank1]: [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, OpType=BROADCAST, Nu\n"
        "melIn=112, NumelOut=112, Timeout(ms)=1800000) ran for 1800010 milliseconds before timing out.\n");
    const struct diag_result *r = diagnose_finish(d);
    assert_non_null(strstr(r->opening[0], "BROADCAST number 4 of 112 elements after 30 min"));
    diagnose_free(d);
}

/* What the watchdog of older releases does not print is left out. */
TEST_CASE(numbers_that_are_missing_are_not_printed)
{
    struct diagnosis *d =
        read_text("[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, x)\n");
    const struct diag_result *r = diagnose_finish(d);
    assert_string_equal(r->opening[0], "A hang: 1 rank timed out in ALLREDUCE.");
    diagnose_free(d);
}

/* A log of one node: sockets are all right there. */
TEST_CASE(one_node_is_not_sent_to_install_rdma)
{
    struct diagnosis *d =
        read_text("a:1:2 [0] NCCL INFO NET/IB : No device found.\na:1:2 [0] NCCL INFO Using network Socket\n");
    assert_null(finding_of(diagnose_finish(d), "sockets"));
    diagnose_free(d);
}

/* What probe finds on the machine makes a cause certain. */
TEST_CASE(what_probe_finds_bears_on_it)
{
    static const struct finding found = {
        .id = "memlock-low", .severity = FINDING_ERROR, .text = "64 KiB may be locked"};
    const struct topology machine = {.findings = &found, .nfindings = 1};
    struct diagnosis *d = diagnose_new();
    struct err e = {0};
    diagnose_expect(d, &(struct diag_expected){.topology = &machine});
    feed(d, "a:1:2 [0] x.cc:1 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n", &e);
    const struct diag_failure *f = &diagnose_finish(d)->failure;
    assert_non_null(strstr(f->why, "Probe finds memlock-low: 64 KiB may be locked."));
    assert_int_equal(f->confidence, DIAG_MEASURED);
    diagnose_free(d);
}

/* A module that lsmod lists is not to be loaded. */
TEST_CASE(peermem_that_is_loaded_is_not_asked_for)
{
    static const char log[] = "a:1:2 [0] NCCL INFO comm 0x5 rank 0 nRanks 16 nNodes 2 localRanks 8\n"
                              "a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0\n";
    char text[512];
    for (int loaded = 0; loaded < 2; loaded++) {
        snprintf(text, sizeof text, "%s%s", log, loaded ? "nvidia_peermem         16384  0\n" : "");
        struct diagnosis *d = read_text(text);
        const struct diag_finding *f = finding_of(diagnose_finish(d), "no-gdr");
        assert_non_null(f);
        assert_int_equal(strncmp(f->advice, "load nvidia-peermem", 19) == 0, !loaded);
        diagnose_free(d);
    }
}

TEST_CASE(nor_is_it_for_a_buffer_that_is_refused)
{
    struct diagnosis *d;
    assert_non_null(strstr(failure_of("Couldn't allocate MR\n", &d)->remedy, "Load nvidia-peermem"));
    diagnose_free(d);
    assert_non_null(
        strstr(failure_of("nvidia_peermem  16384  0\nCouldn't allocate MR\n", &d)->remedy, "peermem is loaded"));
    diagnose_free(d);
}

TEST_CASES(test_threads)
