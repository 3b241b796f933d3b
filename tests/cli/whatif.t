nccltune whatif: predicted cost of variations of a machine.

Two of eight HCAs cost a factor near four for large messages

  $ nccltune whatif --machine dgx-a100 --nodes 4 --hcas mlx5_0,mlx5_1 | grep -E '^  (as it is|only mlx5_0,mlx5_1) +[0-9]'
    as it is                   2.15    2.15  1.00    44.04   50.90  1.00   176.85  177.66  1.00  [129, 239]      NIC mlx5_0:1
    only mlx5_0,mlx5_1         1.96    1.96  0.91    15.87   20.67* 0.36    46.63   46.63  0.26  [36, 59.7]      NIC mlx5_0:1
  $ nccltune whatif --machine dgx-a100 --nodes 4 --hcas mlx5_0,mlx5_1 --json >out.json
  $ jq -c '.format, .predicted, .machine, (.variations[] | [.label, .nodes, .ranks, (.points | length)])' out.json
  "nccltune-whatif/1"
  true
  "dgx-a100"
  ["as it is",4,32,25]
  ["only mlx5_0,mlx5_1",4,32,25]
  $ jq '[.variations[].points[-1].default.time_us] | .[1] / .[0] | . > 3.5 and . < 4.1' out.json
  true
  $ jq -c '.variations[0].points[-1] | keys, (.default | [.low_us < .time_us, .time_us < .high_us, .algorithm, .protocol, .limit])' out.json
  ["bytes","default","tuned"]
  [true,true,"ring","simple","NIC mlx5_0:1"]

Without a variation, a single node: more nodes

  $ nccltune whatif --machine azure-ndv5 --json | jq -c '.variations[].nodes'
  1
  4
  16

Without a variation, several nodes: all that make sense

  $ nccltune whatif --machine azure-ndv4 --nodes 8 --json | jq -r '.variations[].label'
  as it is
  only mlx5_ib0
  4 of 8 HCAs
  without mlx5_ib4
  mlx5_ib0 at half width
  sockets
  mixed rails
  2:1 oversubscribed
  32 nodes
  128 nodes

Faults: a dead rail, half a link, sockets, wrong cabling

  $ nccltune whatif --machine dgx-a100 --nodes 16 --dead-rail mlx5_3 --half-width mlx5_0 --sockets --mixed-rails \
  >     --oversubscription 2 --json >out.json
  $ jq -r '.variations | .[0].points[-1].default.time_us as $base | .[] |
  >     [.label, (.points[-1].default.time_us / $base * 100 | round / 100), .points[-1].default.limit] | @tsv' out.json
  as it is	1	NIC mlx5_0:1
  without mlx5_3	1.14	NIC mlx5_0:1
  mlx5_0 at half width	1.76	PCIe of mlx5_0
  sockets	109.75	TCP of the host
  mixed rails	1	NIC mlx5_0:1
  2:1 oversubscribed	1	NIC mlx5_0:1

--script: the cost of a job's settings

  $ printf '#!/bin/bash\n#SBATCH -N 2\nexport NCCL_IB_HCA=mlx5_ib0,mlx5_ib1\nexport NCCL_DEBUG=$LEVEL\nsrun ./train\n' >job.sbatch
  $ nccltune whatif --machine azure-ndv4 --nodes 2 --script job.sbatch --json |
  >     jq -c '.variations[1] | .label, (.settings[] | [.name, .value, (.times_as_long * 10 | round / 10)])'
  nccltune whatif: warning: job.sbatch: *NCCL_DEBUG* (glob)
  "job.sbatch"
  ["NCCL_IB_HCA","mlx5_ib0,mlx5_ib1",3.9]
  $ nccltune whatif --machine azure-ndv4 --nodes 2 --script nowhere.sh
  nccltune whatif: nowhere.sh: cannot be opened: No such file or directory
  [1]

A rack's NVLink joins its trays: no HCA counts, and NCCL reduces in the switches of all

  $ at() { jq -c "[.variations[] | [.label, (.points[] | select(.bytes == $1).default | .algorithm, .limit)]]" out.json; }
  $ nccltune whatif --machine gb200-nvl72 --nodes 18 --hcas mlx5_0 --set NCCL_MNNVL_ENABLE=0 --json >out.json
  $ at 1073741824
  [["as it is","nvls","NVLink of GPU0"],["only mlx5_0","nvls","NVLink of GPU0"],["variables 1","nvls_tree","NIC mlx5_0:1"]]
  $ jq -c '[.variations[].points[-1].default.time_us] | [.[1] == .[0], .[2] > 1.5 * .[0]]' out.json
  [true,true]
  $ nccltune whatif --machine gb300-nvl72 --nodes 18 --dead-rail mlx5_0
  nccltune whatif: *does not use mlx5_0* (glob)
  Try 'nccltune whatif --help'.
  [2]

Two racks: the chain of a tree passes all 72 GPUs of each

  $ nccltune whatif --machine gb200-nvl72 --nodes 36 --set 'NCCL_ALGO=Tree NCCL_PROTO=Simple' --json >out.json
  $ jq -c '[.variations[].points[] | select(.bytes == 4194304).default.time_us] | [.[1] > 500, .[1] > 4 * .[0]]' out.json
  [true,true]

A partition of the rack is a domain of its own, as the hosts tell

  $ nccltune probe --machine gb200-nvl72 --nodes 8 --json | jq '.hosts |= [to_entries[] | .value + {clique: "rack.\(.key / 4 | floor)"}]' >two.json
  $ nccltune whatif --topology two.json --nodes 4 --more-nodes 8 --json >out.json
  $ at 1073741824
  [["as it is","nvls","NVLink of GPU0"],["8 nodes","nvls_tree","NVLink of GPU0"]]

The last domain may be smaller than the others

  $ nccltune probe --machine gb200-nvl72 --nodes 3 --json | jq '.hosts |= [to_entries[] | .value + {clique: "rack.\(.key / 2 | floor)"}]' >three.json
  $ nccltune whatif --topology three.json --nodes 3 --json >out.json
  $ at 1073741824
  [["as it is","nvls_tree","NIC mlx5_0:1"],["only mlx5_0","tree","NIC mlx5_0:1"],["2 of 4 HCAs","tree","NIC mlx5_0:1"],["without mlx5_3","nvls_tree","NIC mlx5_0:1"],["mlx5_0 at half width","nvls_tree","PCIe of mlx5_0"],["sockets","nvls_tree","TCP of the host"],["mixed rails","nvls_tree","NIC mlx5_0:1"],["2:1 oversubscribed","nvls_tree","leaf uplinks"],["12 nodes","nvls_tree","NIC mlx5_0:1"],["48 nodes","nvls_tree","NIC mlx5_0:1"]]
  $ nccltune bench --engine model --topology three.json --nodes 3 --collectives allreduce --sizes 1G -q -o three.jsonl >/dev/null; echo $?
  nccltune bench: warning: assumed: for NCCL's choice: 2 NVLink domains of 2 nodes, though the last is smaller
  0

--workload: a job's step

  $ nccltune workload --model qwen2-7b --framework fsdp --algorithm ppo --no-custom-all-reduce --nodes 2 --tflops 125 \
  >     --micro-batch 16 --updates 4 --mini-batch 256 --prompt 1024 --response 512 --recompute -o job.json
  $ nccltune whatif --machine dgx-a100 --nodes 2 --workload job.json --set NCCL_IB_HCA=mlx5_0,mlx5_1 --against NCCL_IB_HCA=mlx5 --json >step.json
  $ jq -c 'keys, (.cases[] | [.label, (.communication.time_us / 1000 | round)])' step.json
  ["before","cases","causes","changes","compute_us","format","machine","step","workload"]
  ["as it is",453]
  ["variables 1",1693]
  ["with NCCL_IB_HCA=mlx5",453]
  $ nccltune whatif --machine dgx-a100 --nodes 2 --workload job.json --set NCCL_IB_HCA=mlx5_0 --dead-rail mlx5_3 --json | jq -c '[.changes[].change]' # a fault is no saving
  ["without NCCL_IB_HCA=mlx5_0","all that is sent in 32 bits, in 16"]

A promised saving is what that change of the launch script brings, and a flag that is set is no advice

  $ { echo 'export NCCL_IB_HCA=mlx5_0,mlx5_3'; echo 'torchrun --nproc_per_node 8 --nnodes 16 pretrain_gpt.py \'
  >   echo '--tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 --sequence-parallel --micro-batch-size 1 \'
  >   echo '--num-layers 80 --hidden-size 8192 --num-attention-heads 64 --num-query-groups 8 --ffn-hidden-size 28672 \'
  >   echo '--seq-length 4096 --global-batch-size 64 --vocab-size 32000 --optimizer-cpu-offload \'; } >now.sh
  $ predict() { nccltune whatif --machine dgx-h100 --workload $1 --json 2>/dev/null; }
  $ step_us() { predict $1 | jq '.compute_us + .cases[-1].communication.time_us'; }
  $ promised() { predict now.sh | jq '.changes[] | select(.change | contains("'"$1"'")).saves.time_us'; }
  $ for flags in '--overlap-grad-reduce --overlap-param-gather' --grad-reduce-in-bf16 '--num-layers-per-virtual-pipeline-stage 10'; do
  >   { cat now.sh; echo "$flags"; } >then.sh; predict then.sh | jq -c '[.changes[].change | contains("'"$flags"'")] | any'
  >   jq -n "$(promised "$flags") as \$x | $(step_us now.sh) - $(step_us then.sh) | \$x > 0 and (. / \$x | . > 0.999 and . < 1.001)"
  > done
  false
  true
  false
  true
  false
  true
  $ sed 's/--optimizer-cpu-offload//' now.sh >then.sh
  $ jq -n "$(promised 'no offload') as \$x | ($(step_us now.sh) - $(step_us then.sh)) / \$x | . > 0.999 and . < 1.001"
  true
  $ sed 's/^export.*//' now.sh >then.sh
  $ jq -n "$(promised 'without NCCL_IB_HCA') as \$x | ($(step_us now.sh) - $(step_us then.sh)) / \$x | . > 0.999 and . < 1.001"
  true
  $ echo 'deepspeed --num_gpus 8 train.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 1' >ddp.sh # no Megatron-LM
  $ predict ddp.sh | jq -r '.changes[].change'
  all that is sent in 32 bits, in 16

The number of nodes is the job's

  $ nccltune whatif --machine dgx-h100 --workload now.sh --nodes 4
  nccltune whatif: --nodes 4: the job has 16 nodes (now.sh:2: nnodes=16)
  Try 'nccltune whatif --help'.
  [2]
  $ sed 's/--nnodes 16//' now.sh >any.sh; nccltune whatif --machine dgx-h100 --workload any.sh --nodes 8 | head -1
  any.sh on dgx-h100: 64 ranks, 8 per node; PREDICTED time of one step in milliseconds
  $ nccltune whatif --machine dgx-h100 --workload now.sh --more-nodes 4
  nccltune whatif: --more-nodes: the number of nodes is the job's; change it in now.sh
  Try 'nccltune whatif --help'.
  [2]

Errors: no such port, no GPU

  $ nccltune whatif --machine dgx-h100 --nodes 4 --dead-rail mlx9
  nccltune whatif: *'mlx9'* (glob)
  Try 'nccltune whatif --help'.
  [2]
  $ nccltune whatif --topology fixtures/envgen/topology.json
  nccltune whatif: *no node has a GPU* (glob)
  [1]

One collective that takes longer than usual: which faults that could be, and the line that names all HCAs

  $ nccltune whatif --machine dgx-a100 --nodes 2 --measured 210ms --usual 85ms | grep -A1 '  1\.'
    1. 3 to 4 of the 8 HCAs in use: * (glob)
       see: *NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_6,mlx5_7,mlx5_8,mlx5_9 (glob)
  $ nccltune whatif --machine dgx-a100 --nodes 2 --measured 20ms --bytes 4G | grep Measured
  Measured 20.0 ms is less than the * (glob)
  $ nccltune whatif --machine dgx-a100 --nodes 2 --measured 20ms
  nccltune whatif: --measured needs --bytes 4G or --usual 85ms of one collective, or --workload FILE
  Try 'nccltune whatif --help'.
  [2]

One size: what a collective of it takes

  $ nccltune whatif --machine dgx-a100 --nodes 2 --bytes 4G --set NCCL_IB_HCA=mlx5_0 | grep takes
    as it is                one allreduce of 4 GiB takes 42.78 ms (34.1 to 53.7)
    variables 1             one allreduce of 4 GiB takes 339.5 ms (273 to 421)
  $ nccltune whatif --machine dgx-a100 --nodes 2 --bytes 3M --json | jq -c '[.variations[0].points[].bytes]'
  [3145728]

A long name has a line of its own in front of its columns

  $ nccltune whatif --machine dgx-h100 --nodes 2 --bytes 1G --hcas mlx5_0,mlx5_3,mlx5_4,mlx5_5 | grep -A1 '  only' | cut -c 1-33
    only mlx5_0,mlx5_3,mlx5_4,mlx5_
                             324.13
  --
    only mlx5_0,mlx5_3,mlx5_4,mlx5_
                            one all
    only mlx5_0,mlx5_3,mlx5_4,mlx5_
                            NCCL_IB

Behind the table lines are at most 100 columns wide

  $ echo 'export NCCL_IB_HCA=mlx5_0 NCCL_IB_SL=1 NCCL_DEBUG=WARN NCCL_SOCKET_IFNAME==eth0 NCCL_IB_TIMEOUT=20' >long.sh
  $ echo 'export NCCL_IB_TC=106 NCCL_IB_RETRY_CNT=7' >>long.sh
  $ nccltune whatif --machine dgx-h100 --nodes 2 --script long.sh >wide; awk '/^$/ { below = 1 } below && length > 100' wide
  $ grep -A1 'silent on' wide
    long.sh                 jobs have NCCL_IB_HCA=mlx5_0; the model is silent on NCCL_IB_SL,
                            NCCL_DEBUG, NCCL_SOCKET_IFNAME, NCCL_IB_TIMEOUT, NCCL_IB_TC,

What leaving out one line gains, the most first; a pair that gains more than each alone

  $ echo 'export NCCL_ALGO=Ring,tree NCCL_IB_HCA=mlx5_0 NCCL_P2P_DISABLE=1 NCCL_NET=Socket' >parts.sh
  $ nccltune whatif --machine dgx-a100 --nodes 2 --script parts.sh | grep -A1 -E '^  parts.sh +NCCL'
    parts.sh                NCCL_NET=Socket: 7.87x faster without it; its part costs up to 16.6x at
                            all sizes
    parts.sh                NCCL_P2P_DISABLE=1: 1.87x faster without it; its part costs up to 3.3x up
                            to 256 KiB and costs up to 3.0x from 32 MiB up, most at 64 KiB; 2.9x at 2
  --
    parts.sh                NCCL_IB_HCA=mlx5_0 and NCCL_NET=Socket: 13.9x faster without both, more
                            than each alone
    parts.sh                NCCL_ALGO=Ring,tree makes no clear difference

  $ nccltune whatif --machine dgx-a100 --nodes 2 --set 'NCCL_NET=Socket NCCL_IB_DISABLE=5' | grep -E 'faster|together'
    variables 1             all together cost 57.5x at 1 GiB; what leaving one out gains there:
    variables 1             NCCL_NET=Socket: no faster there without it; its part costs up to 7.6x
    variables 1             NCCL_IB_DISABLE=5: no faster there without it; its part costs up to 7.6x
    variables 1             NCCL_NET=Socket and NCCL_IB_DISABLE=5: 57.5x faster without both, more
  $ nccltune whatif --machine dgx-a100 --nodes 2 --set 'NCCL_NET=Socket NCCL_IB_DISABLE=5' --json |
  >     jq -c '.variations[1] | [.settings[].faster_without], .pair.settings, (.pair.faster_without > 50)'
  [1,1]
  ["NCCL_NET","NCCL_IB_DISABLE"]
  true
  $ nccltune whatif --machine dgx-a100 --nodes 2 --bytes 1G --set 'NCCL_PROTO=LL NCCL_NET_GDR_LEVEL=LOC NCCL_MAX_NCHANNELS=2' --json |
  >     jq -c '.variations[1].pair.settings' # the most by both, not the most beyond each alone
  ["NCCL_PROTO","NCCL_MAX_NCHANNELS"]

A variable that NCCL does not read is wrong usage

  $ nccltune whatif --machine dgx-a100 --nodes 2 --set 'NCCL_ALGO=Ring NCCL_IB_HCAZ=mlx5_0'
  nccltune whatif: 'NCCL_IB_HCAZ' is not a known variable of NCCL; did you mean NCCL_IB_HCA?
  Try 'nccltune whatif --help'.
  [2]
  $ nccltune whatif --machine dgx-a100 --nodes 2 --set 'NCCL_ALGO=Ring NCCL_IB_HCAS=mlx5_0'
  nccltune whatif: 'NCCL_IB_HCAS' is not a known variable of NCCL; did you mean NCCL_IB_HCA?
  Try 'nccltune whatif --help'.
  [2]

--workload takes a launch script with its settings: what bounds its step, and what they cost

  $ (echo 'export NCCL_IB_HCA=mlx5_0'; cat fixtures/workload/launch/megatron-pretrain.sh) >train.sh
  $ nccltune whatif --machine dgx-h100 --nodes 4 --workload train.sh >step 2>/dev/null
  $ sed -n -e 1,6p -e '/^What would/,/  1/p' step
  train.sh on dgx-h100: 32 ranks, 8 per node; PREDICTED time of one step in milliseconds
  communication: what compute does not hide; nccltune explain --workload tells all of it

                       communication (low to high)                   step     change  bound by
  as it is                    2741.0 (1903.2 to 4234.5)           12119.1             NVLink of GPU0
  train.sh                    8910.0 (6804.5 to 12892.2)          18288.1    +6169.0  host memory
  What would save most of a step with train.sh:
    1. without NCCL_IB_HCA=mlx5_0: 6169.0 ms (4901.3 to 8657.7)
  $ nccltune whatif --machine dgx-a100 --nodes 2 --workload long.sh
  nccltune whatif: long.sh:1:1: not valid JSON; of a launch script, 'nccltune workload --from-launch long.sh -o FILE' makes a workload
  [1]

A variation is bound by what makes its calls longer, not by what bounds them without it

  $ nccltune whatif --machine dgx-h100 --nodes 4 --workload train.sh --dead-rail mlx5_3 2>/dev/null | grep '^without'
  without mlx5_3              * +* host memory (glob)

A script that trains twice: the command that is answered is named, with its own settings alone

  $ { echo 'torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 80 --micro-batch-size 4 --fp8-format hybrid'
  >   sed 's/--nnodes 16/--nnodes 4/' now.sh; } >both.sh
  $ nccltune whatif --machine dgx-h100 --workload both.sh 2>&1 | grep -e trains -e ' ranks, '
  nccltune whatif: warning: both.sh trains more than once (lines 1 and 3): the last value of each variable is predicted
  nccltune whatif: warning launch: both.sh trains more than once: this is the step of line 3, not of line 1
  both.sh on dgx-h100: 32 ranks, 8 per node; PREDICTED time of one step in milliseconds

  $ { echo 'NCCL_ALGO=Ring srun torchrun --nproc_per_node 8 a.py'; echo 'NCCL_ALGO=Tree srun torchrun --nproc_per_node 8 b.py'; } >inline.sh
  $ nccltune whatif --machine dgx-h100 --nodes 2 --script inline.sh 2>&1 | grep -e trains -e 'jobs have'
  nccltune whatif: warning: inline.sh trains more than once (lines 1 and 2): the last value of each variable is predicted
    inline.sh               jobs have NCCL_ALGO=Tree

What the model does not know has no figure, not +0.0; long times are not in milliseconds

  $ nccltune whatif --machine dgx-h100 --nodes 4 --workload train.sh --set NCCL_IB_GID_INDEX=0 2>/dev/null >step
  $ grep -E '^variables' step
  variables 1                 2741.0 (1903.2 to 4234.5)           12119.1          ?  NVLink of GPU0
  variables 1: the model is silent on NCCL_IB_GID_INDEX: no figure has its effect
  $ nccltune whatif --machine dgx-h100 --nodes 4 --workload train.sh --set CUDA_DEVICE_MAX_CONNECTIONS=1 2>/dev/null | grep -E '^variables 1 ' # no variable of NCCL's
  variables 1                 2741.0 (1903.2 to 4234.5)           12119.1       +0.0  NVLink of GPU0
  $ grep sockets step
    1. sockets for all or some of the ranks: 94.2 s (63.6 to 149.8), 34.4 times

A messy script: every fault is told, and predicted as NCCL reads it; only what ends the job has no figure

  $ printf 'export %s\n' NCCL_IB_HCA=mlx5_0 NCCL_BUFFSIZE=8M NCCL_P2P_LEVEL=NVLINK NCCL_IB_TIMEOUT=40 \
  >     NCCL_NVLS_ENABLE=true 'NCCL_SOCKET_IFNAME="eth0 "' >messy.sh
  $ nccltune whatif --machine dgx-h100 --nodes 4 --script messy.sh | grep -E '^  (messy.sh +[0-9]|messy.sh +NCCL)'
  nccltune whatif: warning: messy.sh: what is wrong, and what NCCL makes of it ('nccltune lint --fix=all messy.sh' corrects what it can):
      error NT202: NCCL_BUFFSIZE=8M: NCCL stops reading at "M": the value is 8.
      error NT205: NCCL_P2P_LEVEL=NVLINK: NCCL knows no distance "NVLINK" (case counts) and ignores the line.
      error NT301: NCCL_IB_TIMEOUT=40: The InfiniBand field takes 0 to 31; a larger exponent is cut or refused by the driver.
      error NT201: NCCL_NVLS_ENABLE=true: NCCL reads a number here, finds none in "true" and uses 0.
      error NT214: NCCL_SOCKET_IFNAME=eth0 : The list is split only at commas: a blank or ';' becomes part of a name, which then matches nothing.
    messy.sh                   1.97    1.97  0.89    19.65   22.81* 0.31    47.06   47.06  0.13  [36.7, 59.7]    NIC mlx5_0:1
    messy.sh                NCCL_IB_HCA=mlx5_0: 7.52x faster without it; its part costs up to 7.5x
    messy.sh                NCCL_P2P_LEVEL=NVLINK, NCCL_NVLS_ENABLE=true make no clear difference
  $ echo 'export NCCL_ALGO=Rnig' >>messy.sh
  $ nccltune whatif --machine dgx-h100 --nodes 4 --script messy.sh
  nccltune whatif: warning: messy.sh: what is wrong, and what NCCL makes of it ('nccltune lint --fix=all messy.sh' corrects what it can):
      error NT202: NCCL_BUFFSIZE=8M: NCCL stops reading at "M": the value is 8.
      error NT205: NCCL_P2P_LEVEL=NVLINK: NCCL knows no distance "NVLINK" (case counts) and ignores the line.
      error NT301: NCCL_IB_TIMEOUT=40: The InfiniBand field takes 0 to 31; a larger exponent is cut or refused by the driver.
      error NT201: NCCL_NVLS_ENABLE=true: NCCL reads a number here, finds none in "true" and uses 0.
      error NT214: NCCL_SOCKET_IFNAME=eth0 : The list is split only at commas: a blank or ';' becomes part of a name, which then matches nothing.
      error NT207: NCCL_ALGO=Rnig: "Rnig" is unknown to NCCL: from 2.24.3 on communicator creation fails with invalid usage, earlier releases skip the word.
  nccltune whatif: messy.sh: no job can start with NCCL_ALGO=Rnig (NT207). Choose from Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree and PAT, without blanks.
  [1]
  $ echo 'export NCCL_ALGO=Ring' >>messy.sh
  $ nccltune whatif --machine dgx-h100 --nodes 4 --script messy.sh 2>/dev/null | grep '^  messy.sh *[0-9]'
    messy.sh                   1.04    1.06* 0.47    18.82   18.82* 0.29    47.03   47.03  0.13  [36.6, 59.7]    NIC mlx5_0:1
  $ nccltune whatif --machine dgx-a100 --nodes 2 --workload job.json --set NCCL_PROTO=Simpel
  nccltune whatif: warning: variables 1: what is wrong, and what NCCL makes of it:
      error NT207: NCCL_PROTO=Simpel: "Simpel" is unknown to NCCL: from 2.24.3 on communicator creation fails with invalid usage, earlier releases skip the word.
  nccltune whatif: variables 1: no job can start with NCCL_PROTO=Simpel (NT207). Choose from LL, LL128 and Simple, without blanks.
  [1]

What sets nothing is predicted as nothing; of nccl.conf the first line counts; line ends of Windows are told

  $ printf 'NCCL_ALGO=Tree\nNCCL_ALGO=Ring\nexport NCCL_PROTO=LL\nNCCL_IB_HCA =mlx5_0\n' >nccl.conf
  $ nccltune whatif --machine dgx-h100 --nodes 4 --script nccl.conf 2>/dev/null | grep 'jobs have'
    nccl.conf               jobs have NCCL_ALGO=Tree
  $ printf 'export NCCL_ALGO=Ring\r\n' >dos.sh
  $ nccltune whatif --machine dgx-h100 --nodes 4 --script dos.sh | grep 'jobs have'
  nccltune whatif: warning: dos.sh: lines end in CR LF (NT608): predicted as if they ended in LF
    dos.sh                  jobs have NCCL_ALGO=Ring

A setting that leaves a call nothing: no figure of the step. Before 2.24.3 Ring stands in

  $ nccltune whatif --machine dgx-h100 --nodes 4 --set NCCL_ALGO=Tree --workload train.sh | sed -n 5,6p
  nccltune whatif: note launch-unused: not used, although it affects the step: recompute_method=uniform (line 17)
  as it is                    2741.0 (1903.2 to 4234.5)           12119.1             NVLink of GPU0
  variables 1          cannot be predicted: allgather: NCCL does not offer it here
  $ nccltune whatif --machine dgx-h100 --nodes 4 --nccl 2.21.5 -c broadcast --set NCCL_ALGO=Tree | grep 'variables 1  *[0-9]'
    variables 1                1.12    1.22  1.00    39.41   53.43  1.00   352.36  352.36  1.00  [256, 478]      NIC mlx5_0:1
  $ nccltune whatif --machine dgx-h100 --nodes 4 --nccl 2.21.5 --set NCCL_ALGO=allreduce:tree 2>&1 | grep -E 'NT208|variables 1 +[0-9]'
      error NT208: NCCL_ALGO=allreduce:tree: Before 2.24.3 a choice by collective is one unknown word: NCCL silently falls back to Ring.
    variables 1                1.02    1.10* 0.46    36.12   49.66* 0.65   351.52  351.52  0.99  [255, 478]      NIC mlx5_0:1
  $ nccltune whatif --machine dgx-h100 --nodes 4 --nccl 2.21.5 --set NCCL_PROTO=allreduce:ll 2>&1 | grep 'cannot be'
    variables 1             cannot be predicted: these settings leave NCCL no algorithm for allreduce, and such a call fails

A script's number of nodes is its #SBATCH line's; what stands behind the last launch is in no prediction, and overrides nothing

  $ printf '#!/bin/bash\n#SBATCH -N 4\nexport NCCL_PROTO=Simple\nsrun ./train\nexport NCCL_PROTO=LL NCCL_ALGO=Tree\n' >late.sh
  $ nccltune whatif --machine dgx-h100 --script late.sh | grep -E 'ranks on|jobs have'
  nccltune whatif: warning: late.sh: the last launch, in line 4, comes before NCCL_PROTO, NCCL_ALGO: left out
  # PREDICTED, nothing was measured: busbw in GB/s of allreduce, 32 ranks on 4 nodes of dgx-h100, NCCL 2.30.7
    late.sh                 jobs have NCCL_PROTO=Simple
  $ printf '#!/bin/bash\n#SBATCH --nodes=2\nexport NCCL_ALGO=Ring\nsrun ./train\n' >two.sh
  $ nccltune whatif --machine dgx-h100 --script two.sh | grep -o 'on 2 nodes'
  on 2 nodes
  $ nccltune whatif --machine dgx-h100 --script two.sh --nodes 8 | grep -o 'on 8 nodes'
  on 8 nodes

What does not reach the ranks is in no prediction, and one line says what keeps it

  $ { echo '#!/bin/bash'; printf 'export %s\n' NCCL_P2P_DISABLE=1 NCCL_PROTO=Simpel NCCL_TIMEOUT=9; echo NCCL_IB_TC=106; } >lost.sh
  $ { cat lost.sh; echo 'srun --export=PATH python t.py'; } >listed.sh
  $ nccltune whatif --machine dgx-h100 --nodes 2 --script listed.sh | grep -E '^  listed.sh +jobs'
  nccltune whatif: warning: listed.sh: srun in line 6 does not pass NCCL_P2P_DISABLE, NCCL_PROTO, NCCL_TIMEOUT: left out
  nccltune whatif: warning: listed.sh: the shell does not export NCCL_IB_TC: left out
    listed.sh               jobs have nothing that the model knows of
  $ { cat lost.sh; echo 'export NCCL_ALGO=Rnig'; echo '# module load nccl/2.18.3'; echo 'module load aws-ofi-nccl/2.1 nccl/2.21.5'; echo 'srun python t.py'; } >all.sh
  $ nccltune whatif --machine dgx-h100 --nodes 2 --script all.sh 2>&1 | grep -vE '^    error|what is wrong'
  nccltune whatif: warning: all.sh: the shell does not export NCCL_IB_TC: left out
  nccltune whatif: warning: all.sh loads NCCL 2.21.5: --nccl 2.21.5 predicts that release instead of the newest
  nccltune whatif: all.sh: no job can start with NCCL_PROTO=Simpel (NT207) or NCCL_ALGO=Rnig (NT207). Choose from LL, LL128 and Simple, without blanks. Choose from Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree and PAT, without blanks.
  [1]

A word where NCCL reads a number is 0; a list that leaves nothing for the collective says so

  $ nccltune whatif --machine dgx-a100 --nodes 2 --set NCCL_IB_DISABLE=true 2>/dev/null | grep -E '^  variables 1 +[0-9]'
    variables 1                3.04    3.04  1.00    54.86   57.44  1.00   183.22  238.03  1.00  [141, 238]      NIC mlx5_0:1
  $ nccltune whatif --machine dgx-h100 --nodes 2 --set 'NCCL_ALGO=NVLS NCCL_PROTO=LL' | grep 'cannot be'
    variables 1             cannot be predicted: these settings leave NCCL no algorithm for allreduce, and such a call fails

NCCL_PROTO with LL128 forces it, also where P2P is off

  $ nccltune whatif --machine dgx-h100 --nodes 4 --set 'NCCL_P2P_DISABLE=1 NCCL_PROTO=LL128' | grep -E '^  variables 1 +(NCCL|[0-9])'
    variables 1                0.87    0.87* 0.39     4.31    6.94* 0.07     6.66    8.35* 0.02  [2.77, 15.7]    host memory
    variables 1             NCCL_P2P_DISABLE=1: 50.3x faster without it; its part costs up to 9.9x
    variables 1             NCCL_PROTO=LL128: 27.2x faster without it; its part costs up to 5.4x from

A list that leaves nothing for another collective has a figure

  $ nccltune whatif --machine dgx-a100 --nodes 2 --set NCCL_ALGO=Rnig --nccl 2.20.5 | grep -c '^  variables 1'
  3
  $ nccltune whatif --machine dgx-a100 --nodes 2 --set NCCL_ALGO=Tree | grep -c '^  variables 1'
  3

--link-rate: what a pasted matrix does not say

  $ nccltune whatif --from fixtures/probe/smi_topo_a100.txt --nodes 2 --hcas mlx5_0 | grep 'the rate of mlx5_0'
  nccltune whatif: smi_topo_a100: 4 GPUs
    assumed: the rate of mlx5_0:1 and 2 more is unknown: 100 Gb/s was assumed (--link-rate sets it)
  $ nccltune whatif --from fixtures/probe/smi_topo_a100.txt --nodes 2 --hcas mlx5_0 --link-rate 200 | grep 'the rate of'
  nccltune whatif: smi_topo_a100: 4 GPUs
  [1]
  $ for rate in 200 200G 200Gb/s '200 Gbps'; do nccltune whatif --from fixtures/probe/smi_topo_a100.txt --nodes 2 --link-rate "$rate" 2>&1 | md5sum; done | uniq | wc -l
  1
  $ nccltune whatif --from fixtures/probe/smi_topo_a100.txt --link-rate 25GB/s
  nccltune whatif: --link-rate: '25GB/s' is not a rate from 1 to 10000 Gb/s, such as 400 or 400G
  Try 'nccltune whatif --help'.
  [2]

A pasted matrix: a line for each thing assumed, and what would tell it; the bond is no port for compute traffic

  $ printf '\tGPU0\tGPU1\tNIC0\tNIC1\tNIC2\nGPU0\t X \tNV4\tPIX\tNODE\tNODE\nGPU1\tNV4\t X \tNODE\tPIX\tNODE\n' >matrix.txt
  $ printf '%s\tPIX\tNODE\t X \tNODE\tNODE\n' NIC0 >>matrix.txt
  $ printf '%s\tNODE\tPIX\tNODE\t X \tNODE\n' NIC1 >>matrix.txt
  $ printf '%s\tNODE\tNODE\tNODE\tNODE\t X \n' NIC2 >>matrix.txt
  $ printf '%s\n' 'NIC0: mlx5_0' 'NIC1: mlx5_1' 'NIC2: mlx5_bond_0' >>matrix.txt
  $ nccltune whatif --from matrix.txt --nodes 2 2>/dev/null | grep -E '^  (assumed|[a-z]+ mlx5)'
    only mlx5_0                1.50    2.34  1.12     9.95   11.47  0.58    17.77   17.77  0.50  [4.75, 66.5]    NIC mlx5_0:1
    without mlx5_1             1.50    2.34  1.12     9.95   11.47  0.58    17.77   17.77  0.50  [4.75, 66.5]    NIC mlx5_0:1
    only mlx5_0             NCCL_IB_HCA==mlx5_0
    without mlx5_1          that HCA is missing on every node: a dead rail
    assumed: the generation of its GPUs is unknown: Ampere was assumed (--gpu sets it)
    assumed: the bandwidth of NVLink is unknown: 25 GB/s per link was assumed
    assumed: the kind of network of mlx5_0:1 and 2 more is unknown: InfiniBand was assumed (ibstat with --merge tells it)
    assumed: the rate of mlx5_0:1 and 2 more is unknown: 100 Gb/s was assumed (--link-rate sets it)
  $ printf '%s port 1 ==> %s (Up)\n' mlx5_0 ib0 mlx5_1 ib1 mlx5_bond_0 bond0 >netdev.txt
  $ nccltune whatif --from matrix.txt --from netdev.txt --merge --gpu h100-sxm --nodes 2 2>/dev/null | grep -E '^  assumed'
    assumed: the kind of network of mlx5_bond_0:1 is unknown: InfiniBand was assumed (ibstat with --merge tells it)
    assumed: the rate of mlx5_0:1 and 2 more is unknown: 100 Gb/s was assumed (--link-rate sets it)
  $ sed 's/NV4/NV18/g' matrix.txt >hopper.txt
  $ nccltune whatif --from hopper.txt --nodes 2 2>/dev/null | grep -E 'generation|capability'
    assumed: the generation of its GPUs is unknown: Hopper was assumed, as they have more than 12 NVLinks (--gpu sets it)
  $ for said in '' '--gpu h100-sxm'; do
  >     nccltune whatif --from hopper.txt $said --link-rate 400 --nodes 2 --json 2>/dev/null |
  >         jq -c '[.variations[0].points[].default | .algorithm, .protocol]' >choice; cksum <choice
  > done | uniq | wc -l
  1
  $ nccltune whatif --from matrix.txt --gpu a100 2>&1 | grep -v GPUs
  nccltune whatif: 'a100' can be any of a100-sxm, a100-sxm-80, a100-pcie, a100-pcie-80
  Try 'nccltune whatif --help'.
  [2]
  $ nccltune whatif --from matrix.txt --gpu a800 --nodes 2 2>/dev/null | grep -c generation
  0
  [1]
  $ nccltune whatif --machine dgx-a100 --merge
  nccltune whatif: --merge needs --from
  Try 'nccltune whatif --help'.
  [2]

Who launches means the same to every command that predicts; unknown is between one process and a graph, and one thread

  $ for who in process node unknown; do
  >     nccltune whatif --machine dgx-a100 --nodes 1 --launch $who --json |
  >         jq '.variations[0].points[] | select(.bytes == 1024).default.time_us' >whatif.$who
  >     nccltune bench -q --machine dgx-a100 --nodes 1 --launch $who --sizes 1K --collectives allreduce -o $who.jsonl >/dev/null
  >     jq 'select(.launch.label == "default" and .call.label == "default").times_us[0]' $who.jsonl >bench.$who
  >     paste whatif.$who bench.$who | awk '{ print ($1 - $2) ^ 2 < 0.01 ? "the same" : $0 }'
  > done
  the same
  the same
  the same
  $ paste bench.process bench.unknown bench.node | awk '{ print ($1 < $2 && $2 < $3 ? "in order" : $0) }'
  in order
  $ nccltune tune --machine dgx-a100 --nodes 1 --launch gpu -o profile
  nccltune tune: --launch: 'gpu' is none of unknown, process, node, graph
  Try 'nccltune tune --help'.
  [2]

Settings in branches of a script are said to be taken as if each ran

  $ printf 'export NCCL_IB_HCA=mlx5_0\nif [ $X ]; then\nexport NCCL_ALGO=Ring\nfi\nsrun ./a\n' >branch.sh
  $ nccltune whatif --machine dgx-h100 --nodes 2 --script branch.sh 2>&1 >/dev/null
  nccltune whatif: warning: branch.sh: NCCL_ALGO set in a branch (if, case, &&, while): taken as if every branch ran

On one node the call is that of --bytes alone, and where no fault that is known explains a time, that is said

  $ for ms in 4.0 40; do nccltune whatif --machine dgx-a100 --nodes 1 -c allreduce --bytes 512M --measured ${ms}ms; done | grep Measured
  Measured 4.0 ms is what such a machine takes: 4.1 ms (3.1 to 5.4).
  Measured 40.0 ms is more than the 4.1 ms (3.1 to 5.4) that such a machine takes under these settings. No fault that whatif knows would explain it: look at NVLink and P2P (nccltune doctor; nvidia-smi nvlink -s)
