nccltune bench and results: journals of nccltune and output of other programs.

bench --machine: the same journal each time, every line a prediction with its interval

  $ nccltune bench -q --machine dgx-h100 --nodes 2,4 --collectives allreduce --sizes 64K,16M -o a.jsonl >table
  $ nccltune bench -q --machine dgx-h100 --nodes 2,4 --collectives allreduce --sizes 64K,16M -o b.jsonl | diff table -
  $ cmp a.jsonl b.jsonl
  $ sed 1d a.jsonl | jq -r '[.engine, .collective, .bytes, .nodes, .ranks, .status, .low_us <= .times_us[0] and .times_us[0] <= .high_us] | @tsv' | sort | uniq -c | sed 's/^ *[0-9]*//'
   model	allreduce	16777216	2	16	ok	true
   model	allreduce	16777216	4	32	ok	true
   model	allreduce	65536	2	16	ok	true
   model	allreduce	65536	4	32	ok	true
  $ head -n 1 a.jsonl | jq -c 'keys'
  ["asked","format","tool","topology"]
  $ cat table
  # model (NCCL 2.30.7, predicted): allreduce, 16 ranks on 2 nodes
  #              ------------ default -----------   ------------- best ------------
  #        size        time    algbw    busbw          time    algbw    busbw    gain   interval        best
  #         (B)        (us)   (GB/s)   (GB/s)          (us)   (GB/s)   (GB/s)
          65536        39.1     1.68     3.15          39.1     1.68     3.15   1.00x                  default
       16777216         203     82.8      155           193     87.1      163   1.05x  [0.64, 1.72]    ring/ll128

  # model (NCCL 2.30.7, predicted): allreduce, 32 ranks on 4 nodes
  #              ------------ default -----------   ------------- best ------------
  #        size        time    algbw    busbw          time    algbw    busbw    gain   interval        best
  #         (B)        (us)   (GB/s)   (GB/s)          (us)   (GB/s)   (GB/s)
          65536        57.7     1.14     2.20          57.7     1.14     2.20   1.00x                  default
       16777216         265     63.3      123           234     71.6      139   1.13x  [0.72, 1.77]    tree/ll128

bench --json prints the points

  $ nccltune bench -q --machine dgx-h100 --nodes 2 --collectives allreduce,alltoall --sizes 16M --json -o c.jsonl |
  >     jq -c '.format, (.points[] | [.collective, .bytes, .nodes, .ranks, .candidates[0].call, .candidates[0].time_us.predicted])'
  "nccltune-points/1"
  ["allreduce",16777216,2,16,"default",true]
  ["alltoall",16777216,2,16,"default",true]

bench --resume adds what is missing, --plan runs nothing, a journal is never overwritten

  $ head -n 20 a.jsonl >part.jsonl
  $ nccltune bench -q --machine dgx-h100 --nodes 2,4 --collectives allreduce --sizes 64K,16M --resume -o part.jsonl | diff table -
  $ [ "$(wc -l <part.jsonl)" = "$(wc -l <a.jsonl)" ]
  $ nccltune bench -q --machine dgx-h100 --nodes 2,4 --collectives allreduce --sizes 64K,16M -o part.jsonl
  nccltune bench: part.jsonl: *--resume* (glob)
  [1]
  $ nccltune bench --machine dgx-h100 --nodes 2 --collectives allreduce --sizes 64K --plan 2>/dev/null | cut -d ' ' -f 1
  engine
  launches
  allreduce
  sizes

tune --machine makes a profile that sets nothing by prediction alone

  $ nccltune tune -q --machine dgx-a100 --nodes 2 --collectives allreduce --sizes 1M,64M --json -o tuned >tuned.json
  $ ls tuned
  decisions.json
  manifest.json
  nccl.conf
  nccl.sh
  openmpi-mca-params.conf
  openmpi.rules
  openmpi.sh
  report.html
  results.jsonl
  topology.json
  tuner.bin
  tuner.csv
  $ grep -hv '^#' tuned/nccl.conf tuned/tuner.csv
  $ nccltune tune -q --machine dgx-a100 --nodes 2 --collectives allreduce --sizes 1M,64M -o tuned
  nccltune tune: tuned: *--force* (glob)
  [1]
  $ nccltune tune -q --machine dgx-a100 --nodes 2 --collectives allreduce --sizes 1M,64M -o tuned --plan | grep sizes # the same
  nccltune tune: tuned: *--force* (glob)
  sizes        1 MiB, 64 MiB
  [1]
  $ nccltune tune -q --machine dgx-a100 --nodes 2 --collectives allreduce --sizes 1M,64M -o tuned --plan --force >/dev/null
  $ rm tuned/manifest.json; nccltune tune --machine dgx-a100 --nodes 2 --resume -o tuned 2>&1 >/dev/null | grep begun
  nccltune tune: measures what this run was begun with: --collectives=allreduce --sizes=1M,64M
  $ jq -r 'select(.bytes) | "\(.collective) \(.bytes)"' tuned/results.jsonl | sort -u
  allreduce 1048576
  allreduce 67108864
  $ nccltune explain tuned allreduce 0
  nccltune explain: a call of 0 bytes does nothing: expected a size above 0, such as 8 or 64M
  Try 'nccltune explain --help'.
  [2]

results reads nccl-tests: runs with other settings become candidates

  $ nccltune results fixtures/import/three_runs.log
  # nccl (NCCL 2.28.7): allgather, 2 ranks on 2 nodes, buffers: graph
  #              ------------ default -----------   ------------- best ------------
  #        size        time    algbw    busbw          time    algbw    busbw    gain   interval        best
  #         (B)        (us)   (GB/s)   (GB/s)          (us)   (GB/s)   (GB/s)
        1048576           -        -        -          59.0     17.8     8.89       -                  NCCL_IB_QPS_PER_CONNECTION=4

  # nccl (NCCL 2.28.7): allreduce, 4 ranks on 2 nodes
  #              ------------ default -----------   ------------- best ------------
  #        size        time    algbw    busbw          time    algbw    busbw    gain   interval        best
  #         (B)        (us)   (GB/s)   (GB/s)          (us)   (GB/s)   (GB/s)
        1048576         100     10.4     15.7          90.5     11.6     17.4   1.11x? too little      ring/ll128
        2097152         150     14.0     21.0           140     15.0     22.6   1.07x? too little      ring/ll128
        4194304         250     16.8     25.2             -        -        -       - * (glob)
  # ? inconclusive
  $ nccltune results --format journal fixtures/import/three_runs.log | sed 1d |
  >     jq -c 'select(.bytes) | [.collective, .bytes, .nodes, .ranks, .library, .launch.label, .call.label, .status]' | sort -u
  ["allgather",1048576,2,2,"NCCL 2.28.7","NCCL_IB_QPS_PER_CONNECTION=4","default","ok"]
  ["allreduce",1048576,2,4,"NCCL 2.28.7","default","default","ok"]
  ["allreduce",1048576,2,4,"NCCL 2.28.7","default","ring/ll128","ok"]
  ["allreduce",2097152,2,4,"NCCL 2.28.7","default","default","ok"]
  ["allreduce",2097152,2,4,"NCCL 2.28.7","default","ring/ll128","ok"]
  ["allreduce",4194304,2,4,"NCCL 2.28.7","default","default","ok"]
  ["allreduce",4194304,2,4,"NCCL 2.28.7","default","default","wrong"]

results reads rccl-tests

  $ nccltune results --format journal fixtures/import/rccl.csv | jq -c 'select(.bytes) | [.collective, .bytes, .data, .status, .times_us]'
  ["allreduce",1048576,"float","ok",[88.4]]
  ["allreduce",1048576,"float, in place","ok",[87.1]]
  ["allreduce",2097152,"float","wrong",[131]]

results --format: every format

  $ nccltune results fixtures/bench/small.jsonl
  # mpi (Open MPI 4.1.4): broadcast, 4 ranks on 4 nodes
  #              ------------ default -----------   ------------- best ------------
  #        size        time    algbw    busbw          time    algbw    busbw    gain   interval        best
  #         (B)        (us)   (GB/s)   (GB/s)          (us)   (GB/s)   (GB/s)
              8        3.50    0.002    0.002          3.50    0.002    0.002   1.00x                  default

  # mpi (Open MPI 4.1.4): allreduce, 4 ranks on 4 nodes
  #              ------------ default -----------   ------------- best ------------
  #        size        time    algbw    busbw          time    algbw    busbw    gain   interval        best
  #         (B)        (us)   (GB/s)   (GB/s)          (us)   (GB/s)   (GB/s)
          65536         102    0.643    0.964          25.0     2.62     3.93   4.08x? too little      ib3
  # ? inconclusive
  $ nccltune results --json fixtures/bench/small.jsonl | jq -c '[.format, (.points[] | .bytes, [.candidates[] | .launch, .time_us.median])]'
  ["nccltune-points/1",8,["default",3.5],65536,["default",102,"default",null,"default",51.5,"ib3",25]]
  $ nccltune results --format json fixtures/bench/small.jsonl | jq -r .format
  nccltune-points/1
  $ nccltune results --json --format csv fixtures/bench/small.jsonl
  nccltune results: --json and --format are mutually exclusive
  Try 'nccltune results --help'.
  [2]
  $ for f in csv journal; do
  >     echo "$f: $(nccltune results --format $f fixtures/bench/small.jsonl | sed -n 2p | cut -c 1-90)"
  > done
  csv: mpi,Open MPI 4.1.4,allreduce,65536,4,4,1,default,ring,,,1,ok,3,51,50,52,1.28501960784,1.92
  journal: {"engine":"mpi","collective":"allreduce","bytes":65536,"nodes":4,"ranks":4,"library":"Open

Broken lines of a journal are skipped, each with its number and member

  $ nccltune results fixtures/bench/broken-lines.jsonl
  nccltune results: warning: fixtures/bench/broken-lines.jsonl:2:1: * (glob)
  nccltune results: warning: fixtures/bench/broken-lines.jsonl:4: collective: * (glob)
  nccltune results: warning: fixtures/bench/broken-lines.jsonl:5: bytes: * (glob)
  nccltune results: warning: fixtures/bench/broken-lines.jsonl:6: ranks: * (glob)
  nccltune results: warning: fixtures/bench/broken-lines.jsonl:7: status: * (glob)
  nccltune results: warning: fixtures/bench/broken-lines.jsonl:8: times_us: * (glob)
  nccltune results: warning: fixtures/bench/broken-lines.jsonl:9: times_us: * (glob)
  nccltune results: warning: fixtures/bench/broken-lines.jsonl:10: launch.label: * (glob)
  nccltune results: warning: fixtures/bench/broken-lines.jsonl:11: launch.settings: * (glob)
  nccltune results: warning: fixtures/bench/broken-lines.jsonl:12: engine: * (glob)
  nccltune results: warning: fixtures/bench/broken-lines.jsonl:13: * (glob)
  # mpi (Open MPI 4.1.4): allreduce, 2 ranks on 1 node
  #              ------------ default -----------   ------------- best ------------
  #        size        time    algbw    busbw          time    algbw    busbw    gain   interval        best
  #         (B)        (us)   (GB/s)   (GB/s)          (us)   (GB/s)   (GB/s)
              8        1.50    0.005    0.005          1.50    0.005    0.005   1.00x                  default

results, diagnose: the collective of an older nccl-tests, by its columns, its bandwidths, a program's name anywhere, the file's name; both say the same

  $ old() { # REDOP ROOT FACTOR: eight ranks
  >     printf '# Using devices\n'
  >     for r in {0..7}; do echo "#   Rank $r Pid 4242 on node1 device $r [0x15] Tesla V100-SXM2-32GB"; done
  >     echo '# size count type redop root time algbw busbw error time algbw busbw error'
  >     echo "67108864 16777216 float $1 $2 700.9 95.75 $3 0e+00 693.9 96.71 $4 N/A"
  > }
  > both() {
  >     nccltune results $1 2>&1 | grep -oE "# nccl.*|the [cf][oi].*|unknown.*"
  >     nccltune diagnose $1 | grep -oE ' on 8 ranks.*|nccltune results.*'
  > }
  $ old none -1 83.78 84.62 >ag.log; both ag.log
  the collective is allgather or alltoall (nccltune results --collective allgather); its rows are left out
   on 8 ranks of 1 node, as of allgather or alltoall.
  nccltune results ag.log --collective allgather
  $ cp ag.log V100-all_gather-2.log; both V100-all_gather-2.log
  the file's name tells allgather from alltoall
  # nccl (NCCL): allgather, 8 ranks on 1 node
   on 8 ranks of 1 node, as of allgather.
  nccltune results V100-all_gather-2.log
  $ { cat ag.log; echo '# ran ./build/alltoall_perf -g 8'; } >named.log; both named.log
  # nccl (NCCL): alltoall, 8 ranks on 1 node
   on 8 ranks of 1 node.
  nccltune results named.log
  $ for row in 'sum -1 83.78 84.62' 'none 0 95.75 96.71' 'sum 0 95.75 96.71' 'sum -1 95.75 96.71' 'sum -1 167.56 169.24'; do
  >     old $row >x.log; both x.log; done | grep -v results
  # nccl (NCCL): reducescatter, 8 ranks on 1 node
   on 8 ranks of 1 node, as of reducescatter.
  # nccl (NCCL): broadcast, 8 ranks on 1 node
   on 8 ranks of 1 node, as of broadcast.
  # nccl (NCCL): reduce, 8 ranks on 1 node
   on 8 ranks of 1 node, as of reduce.
  # nccl (NCCL): sendrecv, 8 ranks on 1 node
   on 8 ranks of 1 node, as of sendrecv.
  # nccl (NCCL): allreduce, 8 ranks on 1 node
   on 8 ranks of 1 node, as of allreduce.
  $ old sum -1 83.78 84.62 | grep -v Rank >bare.log; both bare.log
  unknown number of nodes, for 8 ranks by busbw over algbw (see nccltune results --nodes); its rows are left out
   on 8 ranks (busbw over algbw is 0.87), as of reducescatter.
  nccltune results bare.log --nodes N

results, diagnose: what kubectl, syslog, clocks and launchers put in front of lines is read through

  $ for p in '2024-05-01T12:00:00.123456789Z ' '[2024-05-01 12:00:00] ' '2024-05-01 12:00:00,123 ' 'May  1 12:00:00 node1 slurmstepd[42]: ' '2024-05-01T12:00:00+0200 node1 srun[42]: ' \
  >     '[pod/worker-0/mpi] ' '[pod/worker-0/mpi] 2024-05-01T12:00:00.123Z [1,0]<stdout>: ' 'worker-0: ' 'gpu-a: ' ' 3: '; do
  >     awk -v p="$p" '{ print p $0 }' named.log >prefixed.log; both prefixed.log; done | sort | uniq -c
       10  on 8 ranks of 1 node.
       10 # nccl (NCCL): alltoall, 8 ranks on 1 node
       10 nccltune results prefixed.log
  $ nccltune diagnose - <fixtures/diagnose/nccl-socket.log >plain.txt
  $ for p in '2024-05-01T12:00:00.123456789Z ' '[2024-05-01 12:00:00] ' 'May  1 12:00:00 node1 slurmstepd[42]: ' '[pod/worker-0/mpi] ' 'worker-0: '; do
  >     awk -v p="$p" '{ print p $0 }' fixtures/diagnose/nccl-socket.log | nccltune diagnose - | diff plain.txt -; done

results, generate: nccl-tests of an older release, whose program nobody named: busbw over algbw tells an AllReduce

  $ cat >old.log <<'END'
  > #   Rank  0 Pid  12345 on   node1 device  0 [0x07] NVIDIA A100-SXM4-40GB
  > #   Rank  1 Pid  12345 on   node1 device  1 [0x0f] NVIDIA A100-SXM4-40GB
  > #   Rank  2 Pid  12345 on   node1 device  2 [0x47] NVIDIA A100-SXM4-40GB
  > #   Rank  3 Pid  12345 on   node1 device  3 [0x4e] NVIDIA A100-SXM4-40GB
  > #                                                     out-of-place                       in-place
  > #       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
  > #        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
  >            8             2   float     sum    12.30    0.00    0.00  1e-07    12.20    0.00    0.00  1e-07
  >     33554432       8388608   float     sum   342.10   98.08  147.12  1e-06   341.00   98.40  147.60  1e-06
  > END
  $ nccltune results old.log --format journal | jq -c 'select(.bytes) | [.collective, .bytes, .ranks]' | sort -u
  ["allreduce",33554432,4]
  ["allreduce",8,4]
  $ nccltune probe --machine dgx-a100 -o topology.json
  $ nccltune generate --results old.log -t topology.json -o profile
  nccltune generate: missing: --nccl VERSION, the measured release, which no log names. Complete, where that is 2.28.9:
    nccltune generate --results old.log -t topology.json -o profile --nccl 2.28.9
  Try 'nccltune generate --help'.
  [2]
  $ nccltune generate --results old.log old.log
  nccltune generate: missing: --topology FILE; --nccl VERSION, the measured release, which no log names; -o PROFILE. Complete, where that is 2.28.9:
    nccltune probe -o topology.json    # on a node that ran the tests; elsewhere with --machine NAME
    nccltune generate --results old.log old.log -t topology.json --nccl 2.28.9 -o profile
  Try 'nccltune generate --help'.
  [2]
  $ nccltune generate --results - -t topology.json --nccl 2.20.5 -o profile <old.log
  nccltune generate: --results takes files, not standard input: they are read more than once
  Try 'nccltune generate --help'.
  [2]
  $ nccltune generate --results old.log --nccl 2.20.5 -t topology.json -o profile --json | jq -r .format
  nccltune-decisions/1
  $ nccltune diagnose old.log | grep -c 'wrong values'
  0
  [1]

generate: settings that only some of the runs have make candidates, also across files; report and explain read the profile

  $ for run in 1 2 3 4 5 6; do
  >     cp old.log default-$run.log
  >     { echo 'NCCL_MAX_CTAS=8 mpirun -np 4 ./all_reduce_perf -b 8 -e 32M'; sed 's/342.10/242.10/; s/341.00/241.00/' old.log; } >ctas-$run.log
  > done
  $ nccltune generate -q --nccl 2.20.5 -t topology.json -o both --results default-*.log ctas-*.log
  $ jq -r '.shapes[0].launches[].label' both/decisions.json
  default
  NCCL_MAX_CTAS=8
  $ for run in 1 2 3 4 5; do # a variable that all have
  >     { echo 'NCCL_IB_HCA=ib0 mpirun -np 4 ./all_reduce_perf -b 8 -e 32M'; cat old.log; } >hca-default-$run.log
  >     sed 's/^NCCL_MAX/NCCL_IB_HCA=ib0 &/' ctas-$run.log >hca-ctas-$run.log
  > done
  $ nccltune generate -q --nccl 2.20.5 -t topology.json -o hca --results hca-*.log
  nccltune generate: warning: all measured runs had NCCL_IB_HCA=ib0: "ib0" is a network interface's name* (glob)
  nccltune generate: warning: all measured runs had NCCL_IB_HCA=ib0: *no RDMA port matches "ib0". (glob)
  nccltune generate: warning: all measured runs had NCCL_IB_HCA=ib0: *NCCL falls back to TCP* (glob)
  $ grep -A1 NCCL_IB_HCA hca/nccl.conf
  # NCCL_IB_HCA is not set: all measured runs had ib0, and gains hold with it.
  $ nccltune generate --nccl 2.20.5 -t topology.json -o few --results default-[12].log ctas-[12].log | grep -o 'not proven.*'
  not proven: 2 runs beside the baseline, at least 5 are needed: run both 3 more times, in turn
  $ nccltune generate --nccl 2.20.5 -t topology.json -o alone --results default-*.log | grep -A1 '^Nothing'
  Nothing to compare: only the baseline was measured. Run the test 5 times with settings in front,
  such as NCCL_ALGO=Ring NCCL_PROTO=LL, and 5 times without, in turn. Give all logs to --results.
  $ nccltune report both -o - | grep -c '</html>'
  1
  $ head -n 1 both/results.jsonl
  {"format":"nccltune-results/1"}
  $ nccltune explain both --collectives allreduce --bytes 32M | grep 'default  *ok'
    * default                  ok             242       241       242   12  1.00x (1.00 to 1.00)  results.jsonl:28,29,32,33,36,37,40,41,44,45,48,49

Logs of other GPUs than the topology's are refused; another release than --nccl is said

  $ nccltune probe --machine dgx-a100 -o a100.json
  $ for i in 1 2 3 4 5 6; do
  >     echo '# nccl-tests version 2.17.6 nccl-headers=22705 nccl-library=22705'
  >     echo '# Collective test starting: all_reduce_perf'
  >     printf '#  Rank %2d Group  0 Pid  1 on  gpu01 device %2d [0x1b] NVIDIA H100 80GB HBM3\n' 0 0 1 1
  >     echo '1048576 262144 float sum -1 132.1 7.94 7.94 0 131.9 7.95 7.95 0'
  > done >h100.log
  $ nccltune generate -t a100.json --results h100.log -o p 2>&1 | grep -o 'was measured on.*'
  was measured on NVIDIA H100 80GB HBM3, and the GPUs of a100.json are NVIDIA A100-SXM4-80GB
  [1]
  $ sed 's/ H100 80GB HBM3/ A100-PCIE-40GB/' h100.log >pcie.log; sed 's/H100 80GB HBM3/H200/' h100.log >h200.log
  $ nccltune generate -t a100.json --results pcie.log -o p 2>&1 | grep -o 'was measured on.*'
  was measured on NVIDIA A100-PCIE-40GB, and the GPUs of a100.json are NVIDIA A100-SXM4-80GB
  [1]
  $ nccltune probe --machine dgx-h100 -o h100.json
  $ nccltune generate -t h100.json --results h100.log --nccl 2.28.9 -o p 2>&1 | grep -o 'measured with.*'
  measured with NCCL 2.27.5, which --nccl leaves out: other releases may choose otherwise, and only 2.27 applies the table's rules
  $ nccltune generate -t h100.json --results h100.log --results h200.log -o q
  nccltune generate: some runs were measured on NVIDIA H100 80GB HBM3, others on NVIDIA H200: their times cannot be compared
  [1]
