nccltune diagnose and drift: logs and captures of jobs.

A job's console log: phases, verdict, findings

  $ nccltune diagnose fixtures/diagnose/verl-rollout.log | head -n 2
  *rollout: 72 %*(93.5 s of 131 s). (glob)
  *% of the step (limit 30 %)* (glob)
  $ nccltune diagnose fixtures/diagnose/verl-rollout.log --json >out.json
  $ jq -c '[.format, .verdict, .steps, .left_out, .step_ms]' out.json
  ["nccltune-diagnosis/1","not communication",30,1,130769]
  $ jq -r '.sources[].phases[] | select(.median_ms) | [.name, .kind, .side, .median_ms, .evidence] | @tsv' out.json
  rollout	compute	rollout	93534	fixtures/diagnose/verl-rollout.log:23
  weight sync within rollout	communication	rollout	1921	fixtures/diagnose/verl-rollout.log:34
  reward	other	neither	1098	fixtures/diagnose/verl-rollout.log:29
  log-probabilities	compute	train	6168	fixtures/diagnose/verl-rollout.log:8
  reference	compute	train	5895	fixtures/diagnose/verl-rollout.log:19
  advantages	other	neither	200	fixtures/diagnose/verl-rollout.log:14
  actor update	compute	train	21635	fixtures/diagnose/verl-rollout.log:22
  $ jq -r '.findings[] | [.id, .confidence, .evidence] | @tsv' out.json
  rollout	measured	fixtures/diagnose/verl-rollout.log:23
  long-tail	likely	fixtures/diagnose/verl-rollout.log:6
  use_dynamic_bsz	possible	fixtures/diagnose/verl-rollout.log:1
  param_offload	possible	fixtures/diagnose/verl-rollout.log:2
  gpu_memory_utilization	possible	fixtures/diagnose/verl-rollout.log:3
  first-step	measured	fixtures/diagnose/verl-rollout.log:5
  no-timer	measured	fixtures/diagnose/verl-rollout.log:13

Every format is recognized by its content; the files of a directory are one job

  $ for f in fixtures/diagnose/*; do
  >     echo "${f##*/}: $(nccltune diagnose --json $f 2>&1 | jq -r '[.files[0].formats, .verdict, (.findings | map(.id) | join(" "))] | join("; ")' 2>&1)"
  > done
  chinese.log: step lines; communication; communication
  deepspeed-zero3.json: settings; unknown; offload_param overlap_comm
  deepspeed.log: DeepSpeed timers, progress bar; communication; communication
  gpus.csv: nvidia-smi samples; unknown; gpu-idle gpu-imbalance start-stall
  hang-console.log: progress bar; unknown; hang
  hang-gpus.csv: nvidia-smi samples; unknown; hang
  hang-mismatch.log: watchdog of collectives, messages of failures; unknown; hang
  hang-watchdog.log: watchdog of collectives, messages of failures; unknown; hang
  inspector.jsonl: NCCL Inspector; unknown; late-rank
  key-averages.txt: sums of kernels; unknown; largest-phase communication-ratio
  megatron.log: Megatron-LM timers; unknown; largest-phase stragglers first-step
  mixed.log: nvidia-smi samples, step lines, settings, NCCL's variables; communication; gpu-idle communication NCCL_IB_DISABLE first-step
  nccl-nogdr.log: NCCL log; unknown; no-gdr
  nccl-socket.log: NCCL log; unknown; sockets
  nccl-warning.log: NCCL log, messages of failures; unknown; ib-retry
  nccl_trace_rank_0: PyTorch trace; unknown; hang
  nccl_trace_rank_1: PyTorch trace; unknown;
  nsys-kern-sum.csv: sums of kernels; not communication; largest-phase
  nsys-kern-sum.txt: sums of kernels; unknown; communication-ratio
  ras.json: NCCL RAS; unknown; hang
  ras.txt: NCCL RAS; unknown; hang
  recorder-rank0.json: PyTorch trace; unknown; hang
  recorder-rank1.json: PyTorch trace; unknown; hang
  smi-dmon.txt: nvidia-smi samples; unknown; gpu-imbalance
  smi-pmon.txt: nvidia-smi samples; unknown; gpu-low
  smi-table-even.txt: nvidia-smi table; unknown; gpu-low
  smi-table-loop.txt: nvidia-smi table; unknown; hang
  smi-topo.txt: nvidia-smi topo -m; unknown; no-nvlink
  stacks.txt: stacks; unknown; hang
  steps-sync.log: step lines; communication; communication first-step
  swift-logging.jsonl: records; not communication; rollout long-tail no-timer
  swift-train.sh: settings; unknown; vllm_gpu_memory_utilization offload_model offload_optimizer dataloader_num_workers sleep_level move_model_batches
  trace.json: PyTorch trace; communication; largest-phase communication
  trend.log: step lines; not communication; rollout trend
  trl-console.log: records, progress bar; unknown; not-timed no-timer
  verl-actor.log: verl console; unknown; actor-update no-timer
  verl-file.jsonl: records; communication; communication weight-sync long-tail no-timer
  verl-imbalance.log: verl console; unknown; largest-phase sequence-imbalance no-timer
  verl-logprob.log: verl console; unknown; log-probabilities no-timer
  verl-reward.log: verl console; unknown; reward no-timer
  verl-rollout.log: verl console, settings; not communication; rollout long-tail use_dynamic_bsz param_offload gpu_memory_utilization first-step no-timer
  verl-tail.log: verl console; unknown; rollout long-tail cut-off no-timer
  vllm-metrics.txt: engine metrics; unknown; engine-preempts engine-starves
  vllm.log: engine metrics, messages; unknown; engine-full custom-all-reduce-off
  $ mkdir job && cp fixtures/diagnose/{verl-rollout.log,gpus.csv,swift-train.sh} job
  $ nccltune diagnose --json job | jq -c '[.verdict, (.gpus | length), (.files[] | [.file, .formats])]'
  ["not communication",4,["job/gpus.csv","nvidia-smi samples"],["job/swift-train.sh","settings"],["job/verl-rollout.log","verl console, settings"]]

A hang: flight recorders of two ranks

  $ nccltune diagnose fixtures/diagnose/recorder-rank0.json fixtures/diagnose/recorder-rank1.json --json | jq -c '.findings[] | [.id, .evidence]'
  ["hang","fixtures/diagnose/recorder-rank1.json:1"]
  $ nccltune diagnose fixtures/diagnose/recorder-rank0.json fixtures/diagnose/recorder-rank1.json | sed -n 1p
  *rank 1 stands in nccl:all_reduce number 38*number 41: rank 1 is 3 calls behind the others: look there first. (glob)

A hang in a sub-group: only "[rankN]:" is the global rank; groups are told apart; a rank that waits in another group is no suspect

  $ late() { # global rank, printed rank, number, collective, group's GUID, its name, rank in it
  >     echo "[rank$1]:[E ProcessGroupNCCL.cpp:632] [Rank $2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=$3, OpType=$4, NumelIn=64, NumelOut=64, Timeout(ms)=600000) ran for 600078 milliseconds before timing out."
  >     echo "[rank$1]:[E ProcessGroupNCCL.cpp:2271] [PG ID 9 PG GUID $5($6) Rank $7] failure detected by watchdog at work sequence id: $3 PG status: last enqueued work: $3, last completed work: $(($3 - 1))"; }
  $ for r in {0..6}; do late $((2 * r + 1)) $r 51 ALLTOALL_BASE 31 EXPERTS $r; done | sed 7,8d >experts.log
  $ nccltune diagnose experts.log | head -1
  A hang: 6 of 7 ranks of EXPERTS timed out in ALLTOALL_BASE number 51 of 64 elements after 10 min 0 s; rank 7 (rank 3 of the group) did not time out: look there first.
  $ { cat experts.log; for r in {0..6}; do late $((2 * r)) $r 51 ALLTOALL_BASE 30 EXPERTS $r; done; late 9 4 99 ALLREDUCE 5 TENSOR 0; } | nccltune diagnose - | head -1
  A hang: 6 of 7 ranks of EXPERTS * rank 7 (rank 3 of the group) did not time out: look there first; also waiting: 7 ranks in EXPERTS, rank 9 (rank 0 of the group) in TENSOR. (glob)
  $ { for r in 0 2 3; do late $r $r 48 ALLREDUCE 0 default_pg $r; done; late 1 1 47 REDUCE 0 default_pg 1; echo "terminate called after throwing an instance of 'c10::DistBackendError'"; } | nccltune diagnose - | head -1
  A hang: 4 ranks timed out in different collectives: rank 1 stands in REDUCE number 47, rank 0 stands in ALLREDUCE number 48: rank 1 is 1 call behind the others: look there first.

GPUs that spin: at full utilisation, with little power; the one that does not is waited for

  $ { echo 'timestamp, index, utilization.gpu [%], power.draw [W]'; for t in {10..49}; do for g in 0 1 2; do
  >     echo "2026/11/27 21:03:$t.000, $g, 100 %, $((t % 10 < 6 || g == 1 ? 600 : 160)).00 W"; done; done; } | nccltune diagnose - | head -1
  *But at full utilisation GPUs draw less than half of the highest power in 40 % of the samples* GPU 1 only in 0 %: the others wait for it. (glob)

Findings name the node, the HCA and the variable

  $ nic() { echo "$1:7:7 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE$2 [RO]; OOB eth0:10.0.0.1<0>"; for c in 0 1; do echo "$1:7:7 [0] NCCL INFO Channel 0$c/0 : 1[0] -> 9[0] [send] via NET/IB/0$3"; done; }
  $ { nic n1 ' [1]mlx5_1:1/RoCE' /GDRDMA; nic n2 '' ''; } | nccltune diagnose - | grep '^  [0-9]'
    1. 2 of 4 RDMA connections go through host memory: no GPUDirect RDMA; n2: 2 of 2 (measured)
    2. ranks differ in HCAs: n1 has 2, n2 1; n2 lacks mlx5_1:1 (measured)
  $ printf 'n1:7:7 [0] NCCL INFO %s\n' 'NET/IB : No device found.' 'NCCL_IB_HCA set to mlx5_bond_0' 'Using network Socket' | nccltune diagnose - | grep '^  1'
    1. NCCL uses TCP sockets between nodes: * NCCL_IB_HCA=mlx5_bond_0 (measured) (glob)
  $ printf 'n1:7:7 [0] NCCL INFO %s\n' 'Failed to open libibverbs.so[.1]' 'Using network Socket' | nccltune diagnose - | grep '^  1'
    1. NCCL uses TCP sockets between nodes: it could not open libibverbs (measured)
  $ for e in error active error active; do echo "n7:9:9 [2] transport/net_ib.cc:1122 NCCL WARN NET/IB : mlx5_3:1 Got async event : port $e"; done | nccltune diagnose - | grep -e '^Wh' -e '^  1'
  What:  A port of an HCA went down or changed while the job ran.
  Where: node n7, GPU 2, HCA mlx5_3:1
  Why: * It went down 2 times, and came back: it flaps. (glob)
  $ echo 'n1:7:9 [3] misc/ibvwrap.cc:301 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_3:1, curr state INIT, next state RTR, local GID index 0, local GID fe80::ba59:9fff:fe12:ab10, remote GID fe80::ba59:9fff:fe12:c2d8' | nccltune diagnose - | grep '^Why'
  Why:   likeliest first: the GID is link-local (fe80::)* (glob)

A job that becomes slower in mid-run, and Megatron-LM's timers that come every fifth iteration

  $ for s in {1..8}; do echo "step:$s - timing_s/gen:80 - timing_s/update_actor:$((s < 5 ? 100 : 400)) - timing_s/step:$((s < 5 ? 181 : 482))"; done | nccltune diagnose - | head -1
  From step 5 on a step takes 482 s instead of 181 s: actor update 4.0 times. The largest phase is actor update: 75 % of all steps' time.
  $ for s in {1..20}; do echo " iteration $s/ 500 | elapsed time per iteration (ms): 1000.0 | lm loss: 2.0 |"; [ $((s % 5)) = 0 ] && printf '%s\n' 'max time across ranks (ms):' '    forward-compute ....: 300.00' '    backward-compute ...: 500.00' '    all-grads-sync .....: 150.00'; done | nccltune diagnose - | head -1
  The largest phase is backward: * (glob)

A log that shows InfiniBand gets no advice for RoCE

  $ ib() { printf '%s\n' "n3:21:21 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/$1 [RO]; OOB ib0:10.0.0.3<0>" \
  >     'n3:21:60 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.4<4321> with status=12 opcode=0 len=0 vendor err 129 (Recv) hca mlx5_0'; }
  $ ib IB | nccltune diagnose - | grep -E '^(Why|Do|Check)'
  Why:   likeliest first: a link that is down or flaps, a bad cable, HCAs of separate InfiniBand fabrics, a peer that died.
  Do:    InfiniBand: find the port that is down or counts errors, and replace its cable. Until then, and for HCAs of other fabrics, leave it out with NCCL_IB_HCA. NCCL_IB_GID_INDEX is for RoCE.
  Check: ibstat on both nodes; ibqueryerrors; ib_write_bw between the two HCAs named; the peer's log
  $ ib RoCE | nccltune diagnose - | grep '^Do'
  Do:    RoCE: set NCCL_IB_GID_INDEX to the RoCE v2 entry* (glob)

A message is read to its end, whatever of it is shown
  $ echo 'n3:21:60 [0] transport/net_ib.cc:2030 NCCL WARN NET/IB: Got completion from peer 10.0.0.7<51322> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RDMA_WRITE(1) reqSize=0 vendor_err=129 req_type=Send localGid ::ffff:10.1.0.3 remoteGids::ffff:10.1.0.7 hca mlx5_1' | nccltune diagnose - | grep '^Where'
  Where: node n3, GPU 0, HCA mlx5_1, peer 10.0.0.7, GID ::ffff:10.1.0.3

A table of nccl-tests leads to the commands that go on with it
  $ rows() { printf '  1073741824     268435456     float     sum      -1  22701.4   47.30   88.68      0  22690.1   47.32   88.73      0\n'; }
  $ { echo '$ ./build/all_reduce_perf -g 1'; for r in {0..15}; do echo "#  Rank $r Group 0 Pid 9 on n$((r / 8)) device $((r % 8)) [0x1b] NVIDIA H100 80GB HBM3"; done; rows; } >table.log
  $ nccltune diagnose table.log | grep 'nccltune whatif'
       nccltune whatif --machine dgx-h100 --nodes 2 -c allreduce --bytes 1024M --measured 22.7ms; nccltune results table.log
  $ { echo 'mpirun -np 16 -x NCCL_IB_HCA=mlx5_0 ./build/all_reduce_perf -g 1'; tail -n +2 table.log; } >one-hca.log
  $ nccltune diagnose one-hca.log | head -2
  all_reduce_perf reaches a bus bandwidth of 88.7 GB/s at 1 GiB on 16 ranks of 2 nodes: ?.?x below the ??? GB/s predicted for dgx-h100 nodes (* to *). (glob)
  NCCL_IB_HCA=mlx5_0 explains this: with it * GB/s (* to *) are predicted, without it ???. Do: unset it* (glob)
  $ sed 's/mlx5_0/mlx5/' one-hca.log | nccltune diagnose - | sed -n 2p # all of them
  No variable in this log explains 88.7 GB/s* (glob)
  $ { cat table.log; echo 'DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2006, invalid usage'; } | nccltune diagnose - | grep Why # it had worked
  Why:   likeliest first: a communicator was used after its end or an abort; *It came after sizes that were measured* (glob)
  $ rows >rows.log; nccltune diagnose rows.log | grep 'nccltune results'
       nccltune results rows.log --nodes N
  $ rows | sed 's/88.68/0.00/; s/88.73/0.00/' >alone.log; nccltune diagnose alone.log | grep 'nccltune results' # one GPU has no bus bandwidth
       nccltune results alone.log --nodes N --ranks N --collective allreduce
  $ nccltune results rows.log --nodes 2 | tail -1
     1073741824       22700     47.3     88.7         22700     47.3     88.7   1.00x                  default

Several runs of nccl-tests in one log: ranks and rows of each are kept together; the one that lies furthest below what is predicted is judged

  $ run() { # program, ranks, time, busbw
  >     echo "# Collective test starting: $1"; for ((r = 0; r < $2; r++)); do echo "#  Rank $r Group 0 Pid 9 on n$((r / 8)) device $((r % 8)) [0x1b] NVIDIA H100 80GB HBM3"; done
  >     echo "  1073741824  268435456  float  $([ $1 = all_reduce_perf ] && echo sum || echo none)  -1  $3 $(jq -n "(1073741824 / $3 / 10 | round) / 100") $4 0"; echo "# Collective test concluded: $1"; }
  $ { run all_reduce_perf 16 5784 348.0; run all_reduce_perf 32 23452 88.7; run all_gather_perf 16 2830 355.7; } >runs.log
  $ nccltune diagnose runs.log | head -1
  all_reduce_perf reaches a bus bandwidth of 88.7 GB/s at 1 GiB on 32 ranks of 4 nodes: ?.?x below the ??? GB/s predicted for dgx-h100 nodes (* to *); beside it all_reduce_perf 348.0 GB/s on 16 ranks (* to * predicted), all_gather_perf 355.7 GB/s on 16 ranks (* to * predicted). (glob)
  $ nccltune diagnose runs.log | grep 'nccltune whatif'
       nccltune whatif --machine dgx-h100 --nodes 4 -c allreduce --bytes 1024M --measured 23.5ms; nccltune results runs.log
  $ { echo 'mpirun -x NCCL_IB_HCA=mlx5_0 ./all_reduce_perf'; run all_reduce_perf 16 22700 88.7; echo './all_reduce_perf'; run all_reduce_perf 16 22701 88.6; } >vars.log
  $ nccltune diagnose vars.log | sed -n 2p # of the second run nothing is known
  No variable in this log explains 88.6 GB/s* (glob)

JSON of nccl-tests is no trace: the command that reads it is named

  $ nccltune diagnose fixtures/import/report.json
  nccltune diagnose: fixtures/import/report.json: no GPU kernel in the trace (of nccl-tests' -J: nccltune results); * (glob)
  [1]

PyTorch's own comparison of the ranks' calls says what differs

  $ echo "[rank1]: RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=101, OpType=ALLGATHER), but Rank 7 is running collective: CollectiveFingerPrint(SequenceNumber=0OpType=REDUCE).Collectives differ in the following aspects: 	 Sequence number: 101vs 0  Op type: ALLGATHERvs REDUCE" | nccltune diagnose - | grep -E '^W'
  What:  Ranks called different collectives * (glob)
  Where: rank 1
  Why: * By PyTorch this rank and rank 7 differ in Sequence number: 101vs 0  Op type: ALLGATHERvs REDUCE. (glob)

A paste of any mixture: the failure first, what follows from it counted, the machine's tools read
  $ nccltune - < fixtures/threads/nccl-tests-206.log | head -2
  What:  Memory cannot be locked for RDMA* (glob)
  Where: node n, GPU 1* (glob)
  $ nccltune diagnose --json fixtures/threads/nccl-tests-206.log | jq -c '.failure | [.id, .confidence, .echoes, .evidence[0].place]'
  ["memlock","likely",2,"fixtures/threads/nccl-tests-206.log:1"]
  $ head -20 fixtures/threads/nccl-1357.log | nccltune diagnose - | head -1
  If all ports are up and on one network: NCCL_IB_HCA==mlx5_0:1,mlx5_1:1,mlx5_4:1,mlx5_5:1.
  $ nccltune diagnose --json fixtures/threads/nccl-1357.log | jq -r '.findings[0].id'
  one-gpu-a-node
  $ nccltune diagnose --list-messages markdown | grep -c '^### '
  1?? (glob)

An unreadable file does not stop the diagnosis of the others

  $ echo 'nothing of use' >prose.txt
  $ nccltune diagnose nowhere.log prose.txt fixtures/diagnose/trend.log --json >out.json
  nccltune diagnose: nowhere.log: *No such file or directory (glob)
  nccltune diagnose: prose.txt: * (glob)
  [1]
  $ jq -c '[.verdict, .steps]' out.json
  ["not communication",60]

drift: captures of four jobs of eight ranks; rank 5 is late in the second and third, the last one is slower

  $ job() {
  >     for rank in 0 1 2 3 4 5 6 7; do
  >         us=$(($3 * (1 + (rank != $2 && $2 >= 0))))
  >         cat >"capture/$1.rank.$rank.json" <<END
  > {
  >   "format": "nccltune-workload/1",
  >   "name": "$1",
  >   "rank": "$rank",
  >   "host": "n$((rank / 4))",
  >   "began": $((1790000000 + $1 * 86400)),
  >   "ended": true,
  >   "ranks": 8,
  >   "ranks_per_node": 4,
  >   "phases": [
  > {"collective": "allreduce", "bytes": 4096, "count": 100, "group_size": 8, "placement": "cluster", "stride": 1, "algorithm": "ring", "protocol": "ll", "time_us": $us, "timed": 50, "total_us": $((us * 50)), "group": "00000000000000ff"},
  > END
  >     done
  > }
  $ mkdir capture && job 1 -1 100 && nccltune drift capture
  job               began (UTC)        ranks read  calls   late  slower
  1                 2026-09-22 14:13       8 of 8      1      0       0

  * (glob)
  $ job 2 5 100 && job 3 5 100 && job 4 -1 210
  $ nccltune drift capture >out.txt
  [1]
  $ sed -n 1,5p out.txt
  job               began (UTC)        ranks read  calls   late  slower
  1                 2026-09-22 14:13       8 of 8      1      0       0
  2                 2026-09-23 14:13       8 of 8      1      1       0
  3                 2026-09-24 14:13       8 of 8      1      1       0
  4                 2026-09-25 14:13       8 of 8      1      0       1
  $ nccltune drift --json capture | jq -c '(.jobs | length), (.waited_for[] | del(.evidence)), (.slower[] | [.job, .times])'
  4
  {"host":"n1","jobs":4,"late":2,"waited_us":20000}
  {"rank_of_node":1,"nodes":["n1"],"jobs":4,"late":2,"waited_us":20000}
  ["4",2.1]
  [1]
  $ nccltune drift fixtures/probe
  nccltune drift: fixtures/probe * (glob)
  [1]

The kernel's log of a healthy node is read, and has nothing to say of NCCL

  $ cat >dmesg.txt <<END
  > [    0.000000] Linux version 6.1.0-28-amd64 (debian-kernel@lists.debian.org)
  > [    0.501234] pci 0000:17:00.0: [10de:2330] type 00 class 0x030200
  > [   12.345678] mlx5_core 0000:18:00.0: firmware version: 28.39.1002
  > END
  $ nccltune diagnose dmesg.txt | head -n 1
  3 kernel lines were read, and none has a known message that concerns NCCL.
  $ sed 's/^\[[^]]*\]/[Thu Nov 26 22:54:15 2026]/' dmesg.txt | nccltune diagnose - | head -n 1
  3 kernel lines were read, and none has a known message that concerns NCCL.
  $ echo '[   99.000001] NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.' >>dmesg.txt
  $ nccltune diagnose dmesg.txt | head -n 1
  What:  The GPU has fallen off the PCIe bus (Xid 79).

A trace that tells sizes: its heaviest call is held against the machine, and what the measurement excludes is no cause

  $ nccltune probe --machine dgx-h100 --nodes 4 -o four.json
  $ event='"ph": "X", "cat": "kernel", "pid": 0, "ts"'
  $ call='"Collective name": "_reduce_scatter_base", "In msg nelems": 975175680, "Out msg nelems": 30474240'
  $ world='"Group size": 32, "dtype": "BFloat16", "Process Group Description": "default_pg"'
  $ echo "{\"traceEvents\": [{$event: 0, \"dur\": 9100, \"name\": \"ncclDevKernel_ReduceScatter\", \"args\": {$call, $world}}," >t.json
  $ echo "{$event: 9100, \"dur\": 9000, \"name\": \"gemm\"}]}" >>t.json
  $ nccltune diagnose --topology four.json t.json | grep -E 'machine needs|perhaps' | cut -c 1-100
  *reducescatter of 1.8 GiB among 32 ranks, the shortest of 1, takes 9.1 ms, and such a machi* (glob)
  *perhaps * (glob)
  *perhaps * (glob)
  *perhaps * (glob)
  $ sed 's/9100, "name/5300, "name/' t.json >sound.json; nccltune diagnose --topology four.json sound.json | grep -E 'machine needs|perhaps'
  *: nothing is slow (likely) (glob)

diagnose: a summary of Nsight Systems whose rows were cut says so

  $ nccltune diagnose - < <(sed /sm80_xmma/d fixtures/diagnose/nsys-kern-sum.txt) | head -n 2
  *kernels not printed: 50 % of all kernels' time* (glob)
  *it is 0 % to 100 % of all kernels' time* (glob)
