#!/usr/bin/env bash
# The nccl engine with a real GPU and a real NCCL: TAP. One GPU is enough: two and four ranks share it, each as a node of
# its own, and talk over sockets on loopback. Ranks that share a GPU take turns on it, so this proves that things work;
# its times say nothing about gains.
#   NCCL_LIBRARY  the libnccl.so.2 to use; default: the one that nccltune-worker finds
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
nvidia-smi -L >/dev/null 2>&1 || { skip "the nccl engine on a GPU" "no NVIDIA GPU answers here" && finish; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
library=()
[ -z "${NCCL_LIBRARY:-}" ] || library=(--nccl-lib "$NCCL_LIBRARY")
export NCCL_SOCKET_IFNAME="=lo"
build/nccltune probe -o "$work/topology.json" >"$work/probe.log" 2>&1 || { not_ok "probe" && finish; }

bench() { # bench RANKS RESULTS OPTION...
    local ranks=$1 results=$2
    shift 2
    timeout 300 build/nccltune bench --engine nccl --share-gpus --ranks-per-node "$ranks" --watchdog 30s "${library[@]}" \
        --topology "$work/topology.json" --collectives allreduce,allgather --max-bytes 4M --step-factor 16 "$@" -o "$results"
}
for ranks in 2 4; do
    check "$ranks ranks: every candidate is measured and its data is right" bench "$ranks" "$work/$ranks.jsonl" --budget 30s
    check "$ranks ranks: more than the default was measured" grep -q '"algorithm":"ring"' "$work/$ranks.jsonl"
    check "$ranks ranks: NCCL sees that many nodes" grep -q "\"nodes\":$ranks,\"ranks\":$ranks" "$work/$ranks.jsonl"
done
check "AllToAll, even and with a hot rank, of send and receive" bench 4 "$work/alltoall.jsonl" --collectives alltoall,alltoallv --budget 30s
check "no data of either was wrong" test -z "$(grep -E '"status":"(wrong|crashed|hung|failed)"' "$work/alltoall.jsonl")"
check "small calls captured in graphs" bench 2 "$work/graphs.jsonl" --graphs --max-bytes 64K --budget 20s
check "and journalled as such" grep -q '"buffers":"graph".*"status":"ok"' "$work/graphs.jsonl"
check "generate" build/nccltune generate --topology "$work/topology.json" --results "$work/2.jsonl" -o "$work/profile"
timeout 200 build/nccltune verify "$work/profile" --share-gpus --ranks-per-node 2 "${library[@]}" --max-bytes 4M \
    --step-factor 16 --budget 20s >"$work/verify.txt" 2>&1
rc=$?
note "$work/verify.txt"
check "verify measures default and profile (status 0 or 1: shared GPUs are noisy)" test "$rc" -le 1

# ---- an independent program: PyTorch with a table that leaves no doubt ----
if ! python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
    skip "PyTorch takes the table" "no PyTorch with CUDA"
    finish
fi
mkdir "$work/forced"
cat >"$work/forced/tuner.csv" <<'CSV'
# nccltune-tuner/1
allreduce,0,-1,tree,simple,2,-1,-1
CSV
cat >"$work/job.py" <<'PY'
import os, sys, torch, torch.distributed as dist
rank, world = int(sys.argv[1]), int(sys.argv[2])
os.environ["NCCL_HOSTID"] = f"job-{rank}"
dist.init_process_group("nccl", init_method=f"file://{sys.argv[3]}", rank=rank, world_size=world)
x = torch.ones(1 << 18, device="cuda")
dist.all_reduce(x)
torch.cuda.synchronize()
assert bool((x == world).all())
dist.destroy_process_group()
PY
job() { # job LOG: two ranks with the environment of the caller
    local pids=() r rc=0
    rm -f "$work/meet"
    for r in 0 1; do
        NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,TUNING timeout 120 python3 "$work/job.py" "$r" 2 "$work/meet" >"$1.$r" 2>&1 &
        pids+=($!)
    done
    for r in "${pids[@]}"; do wait "$r" || rc=1; done
    return "$rc"
}
plugin=$PWD/build/libnccl-tuner-nccltune.so
with_table() { NCCL_TUNER_PLUGIN=$plugin NCCLTUNE_PROFILE=$work/forced job "$work/job"; }
check "PyTorch's all_reduce with the plugin and a table" with_table
check "its NCCL loaded the plugin" grep -qi 'tuner.*nccltune' "$work/job.0"
check "and took what the table says" grep -qiE 'Bytes -> Algo (TREE|0) proto (SIMPLE|2)' "$work/job.0"
finish
