nccltune workload: the collectives of a job, from its model, its launch script or its captures.

The list has models and frameworks

  $ nccltune workload --list | grep -c ':$\|^  llama3-8b \|^  fsdp2 '
  4
  $ nccltune workload --list --json | jq -c '.[] | select(.model == "llama3-8b"), (select(.framework == "fsdp2") | keys)'
  {"model":"llama3-8b","parameters":8030261248}
  ["description","framework"]

A model and a framework: sizes, counts and groups of FSDP's collectives

  $ nccltune workload --model llama3-8b --framework fsdp2 --nodes 2 -o job.json
  $ jq -c '[.format, .source, .model, .parameters, .framework, .ranks, .ranks_per_node, .counts_per]' job.json
  ["nccltune-workload/1","generated","llama3-8b",8030261248,"fsdp2",16,8,"step"]
  $ jq -r '.phases[] | .name as $phase | .collectives[] |
  >     [$phase, .collective, .bytes, .count, .group_size, .placement, .dtype] | @tsv' job.json
  forward	allgather	436224000	32	16	cluster	bfloat16
  forward	allgather	2101354496	1	16	cluster	bfloat16
  backward	allgather	436224000	32	16	cluster	bfloat16
  backward	reducescatter	872448000	32	16	cluster	float32
  backward	reducescatter	4202708992	1	16	cluster	float32
  optimizer	allreduce	4	1	16	cluster	float32
  $ nccltune workload --model llama3-8b --framework fsdp2 --nodes 2 | head -n 3
  fsdp2: 16 ranks, 8 a node, llama3-8b (8030261248 parameters)
    forward: 15.0 GiB a step
      allgather       416.0 MiB x 32         =   13.0 GiB    16 ranks, across nodes  one unit: parameters of a layer × dtype

A launch script of Megatron-LM: notes name the line of each option

  $ nccltune workload --from-launch fixtures/workload/launch/megatron-pretrain.sh --json >job.json
  nccltune workload: note launch-unused: not used, *: recompute_method=uniform (line 16) (glob)
  $ jq -c '[.parameters, .ranks, .ranks_per_node], (.phases[] | [.name, (.collectives | length)])' job.json
  [8030261248,32,8]
  ["forward",5]
  ["backward",7]
  ["optimizer",4]
  $ jq -r '.notes[]' job.json | grep -E 'parallel_size|num_layers=|global_batch'
  read fixtures/workload/launch/megatron-pretrain.sh:14: tensor_model_parallel_size=4
  read fixtures/workload/launch/megatron-pretrain.sh:14: pipeline_model_parallel_size=2
  read fixtures/workload/launch/megatron-pretrain.sh:13: global_batch_size=256
  read fixtures/workload/launch/megatron-pretrain.sh:4: num_layers=32

Files of other frameworks

  $ cd fixtures/workload/launch
  $ for f in deepspeed-zero3.json swift-grpo.sh titan.toml trl-sft.sh verl-fsdp.yaml verl-grpo.sh; do
  >     echo "$f: $(nccltune workload --from-launch $f --model qwen2.5-7b --json 2>/dev/null | jq -c '[.framework, .ranks, ([.phases[].name] | join(" "))]')"
  > done
  deepspeed-zero3.json: ["zero3",8,"forward backward optimizer offload"]
  swift-grpo.sh: ["zero3",4,"rollout logprob reference actor forward actor backward actor optimizer weight sync offload"]
  titan.toml: ["megatron",8,"forward backward optimizer"]
  trl-sft.sh: ["fsdp2",16,"forward backward optimizer"]
  verl-fsdp.yaml: ["fsdp2",8,"rollout logprob reference values critic forward critic backward critic optimizer actor forward actor backward actor optimizer weight sync offload"]
  verl-grpo.sh: ["megatron",16,"rollout logprob reference actor forward actor backward actor optimizer weight sync"]
  $ cd ../../..

What `accelerate config` writes is read; --micro-batch-size alone makes no script Megatron-LM's without a word

  $ printf '%s\n' 'distributed_type: FSDP' 'fsdp_config:' '  fsdp_version: 2' '  fsdp_activation_checkpointing: true' \
  >     'mixed_precision: bf16' 'num_machines: 4' 'num_processes: 32' >accelerate.yaml
  $ nccltune workload --from-launch accelerate.yaml --model llama3-8b --json | jq -c '[.framework, .ranks]'
  ["fsdp2",32]
  $ echo 'torchrun --nnodes=4 --nproc-per-node=8 train.py --model meta-llama/Llama-3.1-8B --micro-batch-size 2' >own.sh
  $ nccltune workload --from-launch own.sh --json | jq -r .framework
  nccltune workload: warning launch: own.sh:1: read as Megatron-LM because of micro_batch_size alone; --framework* (glob)
  megatron
  $ nccltune workload --from-launch own.sh --framework fsdp2 --json | jq -r .framework
  fsdp2
  $ sed 's/$/ --fsdp full_shard --seq-len 8192/' own.sh >shard.sh
  $ nccltune workload --from-launch shard.sh --json | jq -r '.framework, .notes[0]'
  fsdp
  4 × 8 GPUs, *, micro-batch 2 × 1 × 1 updates, 8192 + 0 tokens (glob)

--merge joins captures of a job's ranks

  $ nccltune workload --merge fixtures/workload/rank0.json fixtures/workload/rank1.json --json |
  >     jq -c '[.source, .ranks], (.phases[].collectives[] | [.collective, .bytes, .count, .algorithm, .protocol, .channels])'
  ["merged",2]
  ["allreduce",1048576,120,"ring","simple",8]
  ["allreduce",1048576,10,"tree","ll",4]
  ["sendrecv",4096,7,null,null,null]
  ["sendrecv",8192,7,null,null,null]

Errors: a job that cannot run, an unknown model

  $ nccltune probe --machine hgx-a100-4 --nodes 1 -o topology.json
  $ nccltune workload --model llama3-70b --framework fsdp2 --nodes 1 --gpus-per-node 4 --topology topology.json -o job.json
  nccltune workload: error memory: *295.7 GiB* (glob)
      more GPUs, --offload, --offload-params, --lora-rank, or --rollout-tp for the engine
  nccltune workload: 1 * (glob)
  Try 'nccltune workload --help'.
  [2]
  $ nccltune workload --model llama3-70b --framework megatron --tp 3 -o job.json
  nccltune workload: error ranks: *3* (glob)
      * (glob)
  nccltune workload: error ranks: *3* (glob)
      * (glob)
  nccltune workload: error model: *64*3* (glob)
      * (glob)
  nccltune workload: warning model: *3*8* (glob)
      * (glob)
  nccltune workload: 3 * (glob)
  Try 'nccltune workload --help'.
  [2]
  $ nccltune workload --model gpt-9 --framework fsdp2 -o job.json
  nccltune workload: *'gpt-9'*--layers, --hidden and --vocab* (glob)
  Try 'nccltune workload --help'.
  [2]
