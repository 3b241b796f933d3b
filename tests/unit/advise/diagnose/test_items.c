/* What people paste, item by item: each with the sentence that it must begin with, the verdict and a cause.
 *
 * Files are in tests/fixtures/diagnose; what is one line stands here. */
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

#define NO  DIAG_NOT_COMMUNICATION
#define YES DIAG_IS_COMMUNICATION
#define ASK DIAG_UNKNOWN

struct item {
    const char *what;    /* a text, or the files of tests/fixtures/diagnose that make it, between blanks */
    const char *opening; /* how the first sentence begins */
    enum diag_verdict verdict;
    const char *finding, *not_finding; /* NULL: any */
};

static const struct item lines[] = {
    {"[Step 1] rollout: 185ms | logprob: 42ms | critic_forward: 68ms | actor_backward: 190ms | critic_backward: 85ms | "
     "sync: 190ms",
     "The largest phases are actor_backward and rollout and sync: 25 % of the step each", YES, "communication", NULL},
    {"[Step 1] rollout: 305ms | logprob: 42ms | actor_backward: 610ms | reward: 33ms",
     "The largest phase is actor_backward: 62 % of the step (610 ms of 990 ms)", ASK, "largest-phase", NULL},
    {"[Step 1] rollout: 185ms | logprob: 70ms | backward: 735ms", "The largest phase is backward: 74 % of the step",
     ASK, "no-timer", NULL},
    {"[Step 1] rollout: 900ms | actor: 50ms | magic_thing: 50ms", "The largest phase is rollout: 90 % of the step", NO,
     "rollout", "communication"},
    {"[Step 1] rollout: 40ms | wibble: 60ms", "The largest phase is wibble: 60 % of the step", ASK, "largest-phase",
     NULL},
    {"[Step 1] rollout: 300ms | reward: 390ms | actor: 250ms | sync: 60ms", "The largest phase is reward: 39 %", NO,
     "reward", "communication"},
    {"[Step 1] rollout: 250ms | old_log_prob: 440ms | actor: 250ms | sync: 60ms",
     "The largest phase is log-probabilities: 44 %", NO, "log-probabilities", NULL},
    {"[Step 1] rollout: 250ms | update_actor: 610ms | sync: 140ms", "The largest phase is actor update: 61 %", NO,
     "actor-update", NULL},
    {"[Step 1] rollout: 100ms | sync: 290ms | actor: 280ms | data: 330ms", "The largest phase is data: 33 %", NO,
     "data-loader", "communication"},
    {"[Step 1] grad_sync: 210ms | forward: 100ms | backward: 150ms", "The largest phase is gradient sync: 46 %", YES,
     "communication", NULL},
    {"[Step 1] weight_sync: 500ms | rollout: 300ms | actor: 200ms", "The largest phase is weight sync: 50 %", YES,
     "weight-sync", NULL},
    {"[Step 1] offload: 300ms | actor: 600ms | sync: 50ms", "The largest phase is actor update: 63 %", NO, "offload",
     NULL},
    {"[Step 1] save: 500ms | actor: 400ms | sync: 50ms", "The largest phase is checkpoint: 53 %", NO, "checkpoint",
     NULL},
    {"[Step 1] idle: 500ms | actor: 400ms | sync: 50ms", "The largest phase is idle: 53 %", NO, "idle", NULL},
    {"[Step 1] update_critic: 500ms | actor: 400ms | sync: 50ms", "The largest phase is critic update: 53 %", NO,
     "critic-update", NULL},
    {"[Step 1] ref: 500ms | actor: 400ms | sync: 50ms", "The largest phase is reference: 53 %", NO, "reference", NULL},
    {"[Step 1] actor: 100ms | sync: 20ms | total: 900ms", "A step takes 900 ms; this log has too few phases", NO,
     "not-timed", NULL},
    {"[步骤 3] 生成: 100ms | 梯度同步: 200ms | 训练: 150ms", "The largest phase is gradient sync: 44 %", YES,
     "communication", NULL},
    {"(WorkerDict pid=7, ip=10.0.0.2) [Step 1] rollout: 20ms | sync: 80ms", "The largest phase is sync: 80 %", YES,
     NULL, NULL},
    {"[rank0]: [Step 1] rollout: 20ms | sync: 80ms", "The largest phase is sync: 80 %", YES, NULL, NULL},
    {"0: iteration 4/ 10 | elapsed time per iteration (ms): 900.0 |", "A step takes 900 ms", ASK, "no-timer", NULL},
    {"{'loss': 0.1, 'train_speed(s/it)': 41.5, 'global_step/max_steps': '5/105'}", "A step takes 41.5 s", ASK, NULL,
     NULL},
    {"{\"step\": 3, \"time_metrics/end_to_end(s)\": 2.0, \"time_metrics/data_loading(s)\": 0.9}", "A step takes 2.00 s",
     ASK, "data-loader", NULL},
    {"utilization.gpu [%], index\n0 %, 0\n", "1 GPU is busy 0 % of the time", ASK, NULL, "hang"},
    {"[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
     "The GPU's memory is full. Where: rank 3.", ASK, "out-of-memory", NULL},
    {"  MIG 1g.10gb     Device  0: (UUID: MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f)", "These files have no steps", ASK,
     "mig", NULL},
    {"h:1:2 [1] init.cc:941 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 7000",
     "Two ranks of a node have the same GPU, or two MIG instances of one", ASK, "duplicate-gpu", "sockets"},
    {"RuntimeError: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 7000",
     "Two ranks of a node have the same GPU", ASK, "duplicate-gpu", NULL},
    {"[W] 12 pytorch allocator cache flushes since last step. this happens when there is high memory pressure",
     "These files have no steps", ASK, "cache-flushes", NULL},
    {"WARNING Sequence group 8 is preempted by PreemptionMode.RECOMPUTE mode", "These files have no steps", ASK,
     "preempted", NULL},
    {"Decode batch. #running-req: 4, #token: 900, token usage: 0.02, gen throughput (token/s): 210.5, #queue-req: 0",
     "The inference engine runs 4 requests at once", ASK, "engine-starves", NULL},
    /* as public logs have them */
    {"{'loss': 1.75, 'train_speed(iter/s)': 0.25, 'global_step/max_steps': '1/9060', 'remaining_time': '9h 30m 16s'}",
     "A step takes 4.00 s", ASK, "not-timed", NULL},
    {"Train:   4%|#9    | 344/9060 [18:55<7:58:06,  3.29s/it]", "A step takes 3.29 s", ASK, NULL, "hang"},
    {"h:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.", "NCCL.", ASK, "NCCL_IB_DISABLE", "sockets"},
    {"    NCCL version 2.20.5+cuda12.4\nh:1:2 [0] NCCL INFO Using network Socket\nh:1:2 [0] NCCL INFO comm 0x5 rank 1 "
     "nRanks 2 "
     "nNodes 1 localRanks 2",
     "NCCL 2.20.5+cuda12.4 joins 2 ranks on 1 node over network Socket", ASK, NULL, "sockets"},
    {"[1,0]<stdout>:w:21:21 [0] NCCL INFO Using network AWS Libfabric", "NCCL over network AWS Libfabric", ASK, NULL,
     "sockets"},
    {"RCCL version : 2.20.5-HEAD", "NCCL 2.20.5-HEAD", ASK, NULL, NULL},
    {"[rank6]: RuntimeError: CUDA Error: out of memory at cumem_allocator.cpp:62", "The GPU's memory is full.", ASK,
     "out-of-memory", NULL},
    {"> [Rank 0] time (ms) | fwd: 38.3 | bwd: 112.6 | bwd_inner: 105.0 | bwd_allreduce: 7.5 | step: 8.2",
     "The largest phase is backward: 66 %", NO, "largest-phase", "communication"},
    /* Older releases of PyTorch: ranks whose first line is lost. */
    {"[rank2]:[E] [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=19, OpType=ALLREDUCE, "
     "NumelIn=1, Timeout(ms)=1800000) ran for 1800093 milliseconds before timing out.\n"
     "[rank3]:[E] [PG 0 Rank 3] Timeout at NCCL work: 19, last enqueued NCCL work: 19, last completed NCCL work: 18.\n"
     "[rank1]:[E] [PG 0 Rank 1] Exception (either an error or timeout) detected by watchdog at work: 19, last "
     "enqueued NCCL work: 19",
     "A hang: 3 ranks timed out in ALLREDUCE number 19 of 1 elements after 30 min 0 s; rank 0 did not time out", ASK,
     "hang", NULL},
    {"[rank3]:[E] [PG 0 Rank 3] Timeout at NCCL work: 19, last enqueued NCCL work: 19\n"
     "[rank2]:[E] [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=19, OpType=ALLREDUCE, "
     "NumelIn=1, Timeout(ms)=1800000) ran for 1800093 milliseconds before timing out.",
     "A hang: 2 ranks timed out in ALLREDUCE number 19", ASK, "hang", NULL},
    /* A known stall is spoken of where a job stands still. */
    {"use_remove_padding=True\n[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, "
     "OpType=ALLREDUCE, NumelIn=1, Timeout(ms)=600000) ran for 600014 milliseconds",
     "A hang", ASK, "use_remove_padding", NULL},
    {"use_dynamic_bsz=True\n[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, "
     "OpType=ALLREDUCE, NumelIn=1, Timeout(ms)=600000) ran for 600014 milliseconds",
     "A hang", ASK, "use_dynamic_bsz", NULL},
    {"use_remove_padding=True\n[Step 1] rollout: 20ms | sync: 80ms", "The largest phase is sync: 80 %", YES, NULL,
     "use_remove_padding"},
    {"  offload_optimizer=True,", "These files have no steps", ASK, "offload_optimizer", NULL},
    {"--enable_activation_offload true", "These files have no steps", ASK, "enable_activation_offload", NULL},
};

static const struct item files[] = {
    {"swift-logging.jsonl", "The largest phase is rollout: 53 % of the step (26.0 s of 49.1 s)", NO, "long-tail", NULL},
    {"trl-console.log", "A step takes 21.4 s", ASK, "not-timed", "hang"},
    {"verl-reward.log", "The largest phase is reward: 39 %", ASK, "reward", NULL},
    {"verl-logprob.log", "The largest phase is log-probabilities: 44 %", ASK, "log-probabilities", NULL},
    {"verl-actor.log", "The largest phase is actor update: 61 %", ASK, "actor-update", NULL},
    {"verl-tail.log", "The largest phase is rollout: 40 %", ASK, "long-tail", NULL},
    {"verl-imbalance.log", "The largest phase is actor update: 38 %", ASK, "sequence-imbalance", NULL},
    {"verl-rollout.log", "The largest phase is rollout: 72 %", NO, "rollout", "communication"},
    {"smi-table-even.txt", "8 GPUs are busy 32 % of the time", ASK, "gpu-low", "hang"},
    {"smi-table-loop.txt", "A hang: all GPUs have stood at 100 % for 6 min 30 s", ASK, "hang", "gpu-low"},
    {"smi-dmon.txt", "4 GPUs are busy 73 % of the time", ASK, "gpu-imbalance", "hang"},
    {"smi-pmon.txt", "4 GPUs are busy 40 % of the time", ASK, "gpu-low", "gpu-imbalance"},
    {"smi-topo.txt", "These files have no steps", ASK, "no-nvlink", NULL},
    {"hang-gpus.csv", "A hang, or the job has ended: all GPUs have stood at 0 % for 5 min 59 s", ASK, "hang",
     "gpu-idle"},
    {"hang-console.log", "A hang, or the first step still runs: none of 105", ASK, "hang", NULL},
    {"hang-console.log hang-gpus.csv", "A hang: all GPUs have stood at 0 % for 5 min 59 s", ASK, "hang", NULL},
    {"hang-watchdog.log", "A hang: 7 ranks timed out in ALLREDUCE number 1832", ASK, "hang", NULL},
    {"hang-mismatch.log", "A hang: 2 ranks timed out in different collectives", ASK, "hang", NULL},
    {"recorder-rank0.json", "A hang: by the flight recorder 1 rank waits in nccl:all_reduce number 41", ASK, "hang",
     NULL},
    {"recorder-rank0.json recorder-rank1.json",
     "A hang: by the flight recorder 2 ranks are in different collectives: rank 1 stands in nccl:all_reduce number 38, "
     "rank 0 stands in nccl:all_reduce number 41: rank 1 is 3 calls behind",
     ASK, "hang", NULL},
    {"nccl_trace_rank_0 nccl_trace_rank_1",
     "A hang: by the flight recorder 2 ranks are in different collectives: rank 1 has ended nccl:all_reduce number 6",
     ASK, "hang", NULL},
    {"inspector.jsonl", "AllReduce reaches a bus bandwidth of 412.5 GB/s at 16 GiB on 4 ranks of 2 nodes", ASK,
     "late-rank", "nccl-tests"},
    {"stacks.txt", "Of 4 stacks 3 are at a collective of torch.distributed, but 1 at a data loader", ASK, "hang", NULL},
    {"vllm.log", "The inference engine runs 42 requests at once while 130 wait, its cache is 97 % full", ASK,
     "engine-full", "engine-starves"},
    {"vllm.log", "The inference engine", ASK, "custom-all-reduce-off", NULL},
    {"vllm-metrics.txt", "The inference engine runs 3 requests at once", ASK, "engine-preempts", "engine-full"},
    {"nccl-nogdr.log", "NCCL 2.21.5+cuda12.4 joins 16 ranks on 2 nodes over network IB with 2 HCAs and 16 channels",
     ASK, "no-gdr", "sockets"},
    {"nccl-socket.log", "NCCL 2.21.5+cuda12.4 joins 16 ranks on 2 nodes over network Socket", ASK, "sockets", "no-gdr"},
    {"nccl-warning.log", "An RDMA packet was never acknowledged", ASK, "ib-retry", NULL},
    {"nsys-kern-sum.txt", "The largest phase is other kernels: 50 % of all kernels' time", ASK, NULL, "communication"},
    {"nsys-kern-sum.csv", "The largest phase is other kernels: 90 % of all kernels' time", NO, NULL, "communication"},
    {"deepspeed-zero3.json", "These files have no steps", ASK, "offload_param", "offload_optimizer"},
    {"swift-train.sh", "These files have no steps", ASK, "vllm_gpu_memory_utilization", NULL},
    {"swift-train.sh", "These files have no steps", ASK, "sleep_level", NULL},
    {"swift-train.sh", "These files have no steps", ASK, "dataloader_num_workers", NULL},
    {"swift-logging.jsonl swift-train.sh smi-table-even.txt", "The largest phase is rollout: 53 %", NO, "offload_model",
     NULL},
};

static void check(const struct item *item, struct diagnosis *d)
{
    const struct diag_result *r = diagnose_finish(d);
    if (strncmp(r->opening[0], item->opening, strlen(item->opening)) != 0)
        fail_msg("%s: %s", item->what, r->opening[0]);
    if (r->verdict != item->verdict)
        fail_msg("%s: %s", item->what, diag_verdict_names[r->verdict]);
    if (item->finding && !finding_of(r, item->finding))
        fail_msg("%s: %s is not found", item->what, item->finding);
    /* What is advised can be pasted: no prompt, no blank to fill in. */
    for (int i = 0; i < r->nfindings; i++)
        for (const char *const *word = (const char *const[]){"...", "PID", "PROFILE", "ENGINE", "$ ", NULL}; *word;
             word++)
            if (strstr(r->findings[i].command, *word))
                fail_msg("%s: '%s' cannot be pasted", item->what, r->findings[i].command);
    if (item->not_finding && finding_of(r, item->not_finding))
        fail_msg("%s: %s is found", item->what, item->not_finding);
    for (int i = 1; i < 3; i++)
        assert_non_null(strchr(r->opening[i], '.'));
    diagnose_free(d);
}

TEST_CASE(what_is_one_line)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        check(&lines[i], read_text(lines[i].what));
}

TEST_CASE(what_is_a_file_or_several)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct diagnosis *d = diagnose_new();
        for (const char *p = files[i].what; *p; p += strspn(p, " ")) {
            struct err e = {0};
            char path[128];
            snprintf(path, sizeof path, "tests/fixtures/diagnose/%.*s", (int)strcspn(p, " "), p);
            if (diagnose_file(d, path, &e))
                fail_msg("%s", e.text);
            p += strcspn(p, " ");
        }
        check(&files[i], d);
    }
}

/* Timers within timers are taken out: the parts add up to the whole. */
TEST_CASE(a_step_of_49_seconds)
{
    struct diagnosis *d = diagnose_new();
    struct err e = {0};
    assert_int_equal(diagnose_file(d, "tests/fixtures/diagnose/swift-logging.jsonl", &e), 0);
    const struct diag_result *r = diagnose_finish(d);
    double sum = 0;
    for (int i = 0; i < r->sources[0].nphases; i++)
        sum += r->sources[0].phases[i].kind != DIAG_METRIC ? r->sources[0].phases[i].median_ms : 0;
    assert_near(r->sources[0].step_ms, 49065, 1);
    assert_near(sum, r->sources[0].step_ms, 1);
    diagnose_free(d);
}

/* Sides: what is guessed is on none. */
TEST_CASE(sides)
{
    struct diagnosis *d =
        read_text("[Step 1] rollout: 20ms | critic_forward: 30ms | actor_backward: 40ms | my_act: 10ms");
    const struct diag_result *r = diagnose_finish(d);
    assert_int_equal(phase_of(r, "critic_forward")->side, DIAG_TRAIN);
    assert_int_equal(phase_of(r, "actor_backward")->side, DIAG_TRAIN);
    assert_int_equal(phase_of(r, "my_act")->side, DIAG_NEITHER);
    assert_true(phase_of(r, "my_act")->guessed);
    assert_near(r->sources[0].may_hold, 0.8, 1e-9);
    diagnose_free(d);
}

/* NCCL names one of the machine's HCAs for GPUs, and a port that is down is not missed. */
TEST_CASE(hcas_that_nccl_leaves_out)
{
    struct err e = {0};
    struct topology *t = machine_topology("hgx-a100-4", 1, &e);
    assert_non_null(t);
    t->classes[0].ports[3].state = TOPO_STATE_DOWN;
    struct diagnosis *d =
        read_text("h:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0\n");
    diagnose_expect(d, &(struct diag_expected){.topology = t});
    const struct diag_finding *f = finding_of(diagnose_finish(d), "unused-hcas");
    assert_non_null(f);
    assert_non_null(strstr(f->text, "2 of the 3 HCAs that the topology has for GPUs: not mlx5_2"));
    topo_free(t);
    diagnose_free(d);
}

TEST_CASES(test_items)
