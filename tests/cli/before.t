Every release reads the files that nccltune 0.1.0 wrote in November 2026 (fixtures/cli/0.1.0-2026-11).

explain reads the profile

  $ old=fixtures/cli/0.1.0-2026-11
  $ nccltune explain $old/profile --json | jq -c '.format, .topology, (.settings[] | [.name, .value, .source]),
  >     (.shapes[] | [.engine, .library, .nodes, .ranks, .why, (.collectives[].ranges[] | [.min_bytes, .max_bytes, .call.label])])'
  "nccltune-decisions/1"
  "e20b2c4d0a25d931d7465acb8258ffcaebcd2dd200c206e88d5a74f3e5e72b5a"
  ["coll_tuned_use_dynamic_rules","1","measured on host memory"]
  ["coll_tuned_dynamic_rules_filename","openmpi.rules","measured on host memory"]
  ["NCCL_IB_QPS_PER_CONNECTION","4","measured on GPUs"]
  ["NCCL_SOCKET_IFNAME",null,"topology"]
  ["mpi","Open MPI 4.1.4",2,8,"no other launch was tried",[65536,65536,"ring"],[65537,-1,"default"]]
  ["nccl","NCCL 2.28.9",2,8,"qps=4 is 1.11x (1.11 to 1.11) over the library as it comes, over 5 pairs of sessions",[65536,1048575,"default"],[1048576,16777216,"ring/ll128"],[16777217,-1,"default"]]
  $ nccltune explain $old/profile -c allreduce -b 4M -n 2 --ranks 8 | grep -E '^  (\*|used)'
    used: default (above 64 KiB)
    used: ring/ll128: algorithm=ring protocol=ll128 (1 MiB to 16 MiB)
    * ring/ll128               ok            75.8      75.7      75.9   30  2.00x (1.99 to 2.00)  results.jsonl:9,23,37,51,65
  $ nccltune explain $old/profile NCCL_IB_QPS_PER_CONNECTION | sed -n 1p
    NCCL_IB_QPS_PER_CONNECTION = 4

explain --workload reads the workload

  $ nccltune explain $old/profile --workload $old/workload.json --json | jq -c '(.from_us | keys), (.phases | length)'
  ["predicted"]
  3

report reads the profile

  $ nccltune report $old/profile -o report.html
  report.html
  $ grep -q 'id="decisions"' report.html

verify reads the profile

  $ nccltune verify $old/profile -q --nccl-lib $PWD/libnowhere.so
  nccltune verify: $PWD/fixtures/cli/0.1.0-2026-11/profile was made on node[0001-0002]; this is *: run it there, or name nodes with --hosts (glob)
  [3]

The topology describes the same machine and has the same hash

  $ nccltune probe --from $old/profile/topology.json --json | jq -r '.hash'
  e20b2c4d0a25d931d7465acb8258ffcaebcd2dd200c206e88d5a74f3e5e72b5a
  $ nccltune probe --from $old/profile/topology.json | head -n 3
  node[0001-0002], 2 nodes: HGX A100 4-GPU server
    4 GPUs, NVIDIA A100-SXM4-40GB  12 NVLinks, 300 GB/s
    4 compute ports  200 Gb/s
  $ nccltune lint --profile $old/profile --json - <<<'export NCCL_ALGO=Ring NCCL_IB_HCA=mlx5_9' | jq -r '.findings[].id'
  NT311
  NT413
  NT502
  NT504
  [1]

The results lead to the same files

  $ nccltune generate -q -t $old/profile/topology.json --results $old/profile/results.jsonl -o profile
  $ for f in nccl.conf nccl.sh openmpi-mca-params.conf openmpi.rules openmpi.sh tuner.csv; do
  >     sed "s|/srv/nccltune/|$PWD/|" $old/profile/$f | diff -I 'nccltune [0-9]' -I '^# measured with' -I NCCLTUNE_SOURCED -I 'over 5 pairs' -I ' MiB alone' - profile/$f
  > done
  $ nccltune results $old/profile
  # mpi (Open MPI 4.1.4): allreduce, 8 ranks on 2 nodes
  #              ------------ default -----------   ------------- best ------------
  #        size        time    algbw    busbw          time    algbw    busbw    gain   interval        best
  #         (B)        (us)   (GB/s)   (GB/s)          (us)   (GB/s)   (GB/s)
          65536         301    0.218    0.381           181    0.363    0.635   1.67x* [1.66, 1.67]    ring

  # nccl (NCCL 2.28.9): allreduce, 8 ranks on 2 nodes
  #              ------------ default -----------   ------------- best ------------
  #        size        time    algbw    busbw          time    algbw    busbw    gain   interval        best
  #         (B)        (us)   (GB/s)   (GB/s)          (us)   (GB/s)   (GB/s)
          65536        48.1     1.36     2.38          43.3     1.51     2.65   1.11x  [1.11, 1.11]    qps=4
        1048576         168     6.22     10.9          75.8     13.8     24.2   2.22x  [2.22, 2.23]    qps=4 + ring/ll128
       16777216        2090     8.01     14.0           942     17.8     31.2   2.22x  [2.22, 2.23]    qps=4 + ring/ll128
  # * is faster, interval above 1.00x

bench --resume continues a journal of predictions

  $ cp $old/predicted.jsonl . && wc -l <predicted.jsonl
  30
  $ nccltune results predicted.jsonl
  # model (NCCL 2.30.7, predicted): allreduce, 4 ranks on 1 node
  #              ------------ default -----------   ------------- best ------------
  #        size        time    algbw    busbw          time    algbw    busbw    gain   interval        best
  #         (B)        (us)   (GB/s)   (GB/s)          (us)   (GB/s)   (GB/s)
        1048576        25.0     41.9     62.8          25.0     41.9     62.8   1.00x                  default
  $ nccltune bench --machine hgx-a100-4 --collectives allreduce --sizes 1M -q --resume -o predicted.jsonl | tail -n 1
        1048576        25.0     41.9     62.8          25.0     41.9     62.8   1.00x                  default
  $ cmp $old/predicted.jsonl predicted.jsonl

whatif and workload --merge read the workload

  $ nccltune whatif --topology $old/profile/topology.json --workload $old/workload.json --sockets --json |
  >     jq -c '.workload, (.cases[] | .label)'
  "fsdp2"
  "as it is"
  "sockets"
  $ nccltune workload --merge $old/workload.json --json | jq -c '[.ranks, (.phases[].collectives | length)]'
  [8,2,3,1]
