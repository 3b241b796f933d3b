#!/usr/bin/env bash
# Predictions from end to end: profiles of machines that are not here, what-if, results that carry on, bad input.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

bin=$PWD/build/nccltune
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset NCCL_IB_HCA

status() { # status EXPECTED COMMAND...
    local expected=$1 code=0
    shift
    timeout 100 "$@" >"$scratch/out" 2>&1 || code=$?
    [ "$code" = "$expected" ] || { echo "exit code $code, expected $expected"; cat "$scratch/out"; return 1; }
}
says() { # says TEXT COMMAND...
    local text=$1 out
    shift
    out=$(timeout 100 "$@" 2>&1)
    [[ $out == *"$text"* ]] || { echo "'$text' is missing in: $out"; return 1; }
}
refuses() { # refuses STATUS TEXT COMMAND...: and leaves nothing behind
    local expected=$1 text=$2
    shift 2
    status "$expected" "$@" || return 1
    grep -qF -- "$text" "$scratch/out" || { echo "'$text' is missing in:"; cat "$scratch/out"; return 1; }
    [ ! -e "$scratch/none" ] || { echo "it has left something behind"; rm -rf "$scratch/none"; return 1; }
}

# ---- groups of ranks, alone and at once ----
groups_us() { # groups_us GROUPS: of the default at 128 MiB, so many groups of one rank a node at once
    awk -F, -v groups="$1" '$0 !~ /^engine/ && /,allreduce,134217728,2,2,/ { n = split($0, f, ","); if (f[8] == groups && /,default,default,/) print f[n - 4] }' "$scratch/groups.csv"
}
check "tune --machine speaks of groups" status 0 "$bin" tune --machine aws-p4d --nodes 2 --shapes '2x1,2x1*all' -o "$scratch/groups"
"$bin" results --format csv "$scratch/groups/results.jsonl" >"$scratch/groups.csv"
check "eight groups that share four NICs take twice as long as one" awk -v one="$(groups_us 1)" -v all="$(groups_us 8)" \
    'BEGIN { exit !(all > 1.8 * one && all < 2.2 * one) }'

# ---- a profile of a machine that is not here -------------------------------------------------------------------------
profile=$scratch/profile
check "of a node that NCCL takes for two" status 0 "$bin" tune --machine 8xa100-pcie --nodes 1 --margin 0 -o "$scratch/two"
counts() { grep -o '"nodes":[0-9]*,"ranks":[0-9]*' "$1/results.jsonl" | sort -u; }
check "... points are of two, as NCCL asks a tuner" test "$(counts "$scratch/two")" = '"nodes":2,"ranks":8'
# A B200 gained "1.59x" by LL at 16 MiB: no measurement stands behind that.
check "no rule where decisions were never held against measurements" status 0 "$bin" tune --machine dgx-b200 --nodes 1 --predicted --nccl 2.28.9 -o "$scratch/b200"
check "... and it is said" grep -q "sets nothing here" "$scratch/out"
rules() { grep -vc '^#' "$1"; }
check "... none" test "$(rules "$scratch/b200/tuner.csv")" = 0
check "tune --machine makes a profile" status 0 "$bin" tune -v --machine azure-ndv5 --nodes 32 -o "$profile"
check "its table says that it is predicted" grep -q '^PREDICTED for azure-ndv5, nothing was measured' "$scratch/out"
check "with default and best, and a band" grep -qE '^ +65536|^ +131072.*x  \[[0-9.]+, [0-9.]+\]|1\.00x' "$scratch/out"
check "and that gains within the band change nothing" grep -q 'No predicted gain is clear of 1.0x' "$scratch/out"
check "for 256 ranks on 32 nodes" grep -q '# model (NCCL .*, predicted): allreduce, 256 ranks on 32 nodes' "$scratch/out"
for file in topology.json results.jsonl nccl.conf nccl.sh tuner.csv decisions.json manifest.json; do
    check "it has $file" test -s "$profile/$file"
done
only_model() { [ "$(grep -c '"engine"' "$profile/results.jsonl")" = "$(grep -c '"engine":"model".*"low_us".*"high_us"' "$profile/results.jsonl")" ]; }
check "every line of its journal is a prediction with a band" only_model
# What the cloud's vendor documents for its machines is no prediction.
nothing_set() { ! grep -vE '^(#|$|NCCL_TOPO_FILE=/opt/microsoft/|NCCL_IGNORE_CPU_AFFINITY=1$)' "$profile/nccl.conf" && ! grep -vE '^#' "$profile/tuner.csv"; }
check "nothing is set by prediction alone" nothing_set
check "explain reads it" status 0 "$bin" explain "$profile"
check "and tells one call" says "predicted" "$bin" explain "$profile" --collectives allreduce --bytes 64M --nodes 32 --ranks 256
check "--json is JSON" bash -c "'$bin' tune -q --machine dgx-a100 --nodes 4 --json -o '$scratch/json' | python3 -m json.tool"
check "a complete one is not replaced" refuses 1 "complete profile" "$bin" tune --machine azure-ndv5 --nodes 32 -o "$profile"
check "but with --force" status 0 "$bin" tune --machine azure-ndv5 --nodes 2,8 --force --nccl 2.27.5 --predicted -o "$profile"
check "then for another release" grep -q '"library":"NCCL 2.27.5, predicted"' "$profile/results.jsonl"
check "of both numbers of nodes" grep -q '"nodes":8,"ranks":64' "$profile/results.jsonl"

# ---- the engine ------------------------------------------------------------------------------------------------------
topo=$scratch/topology.json
"$bin" probe --machine dgx-h100 --nodes 4 -o "$topo" >/dev/null 2>&1
check "bench --engine model takes a topology" \
    status 0 "$bin" bench --engine model --topology "$topo" --nodes 64 -o "$scratch/r.jsonl"
check "and bundled machines without it" \
    status 0 "$bin" bench --machine dgx-h100 --nodes 2,4 --collectives allreduce --json -o "$scratch/m.jsonl"
before=$(wc -l <"$scratch/r.jsonl")
check "--resume finds nothing left to do" \
    status 0 "$bin" bench --engine model --topology "$topo" --nodes 64 --resume -o "$scratch/r.jsonl"
check "and writes nothing twice" test "$(wc -l <"$scratch/r.jsonl")" = "$before"
check "--plan says that nothing is measured" says "nothing is measured" "$bin" bench --engine model --topology "$topo" --plan
"$bin" probe --machine dgx-h100 --format nccl-xml -o "$scratch/node.xml" >/dev/null 2>&1
check "a recorded node with its GPUs named" \
    status 0 "$bin" tune --from "$scratch/node.xml" --gpu h100-sxm --nodes 2 -o "$scratch/recorded"

# ---- predictions are comments, unless asked for ----------------------------------------------------------------------
head='"engine":"model","bytes":1048576,"nodes":4,"ranks":32,"library":"NCCL 2.28.9, predicted","round":1,"status":"ok","collective":"allreduce"'
{
    echo '{"format":"nccltune-results/1"}'
    echo "{$head,\"launch\":{\"label\":\"default\"},\"call\":{\"label\":\"tree/ll\",\"settings\":{\"algorithm\":\"tree\",\"protocol\":\"ll\"}},\"times_us\":[20],\"low_us\":14,\"high_us\":28}"
    echo "{$head,\"launch\":{\"label\":\"default\"},\"call\":{\"label\":\"default\"},\"times_us\":[100],\"low_us\":70,\"high_us\":140}"
} >"$scratch/clear.jsonl"
check "a clear prediction" status 0 "$bin" generate -t "$topo" --results "$scratch/clear.jsonl" -o "$scratch/clear"
check "is a comment in tuner.csv" grep -q '^# allreduce,1048576,1048576,tree,ll,-1,4,32,' "$scratch/clear/tuner.csv"
check "with --predicted" status 0 "$bin" generate --predicted -t "$topo" --results "$scratch/clear.jsonl" -o "$scratch/asked"
check "it is none either: of such machines no decision was held against measurements" test "$(rules "$scratch/asked/tuner.csv")" = 0
check "and stays a comment" grep -q '^# allreduce,1048576,1048576,tree,ll,-1,4,32,' "$scratch/asked/tuner.csv"
"$bin" probe --machine 4xl40s-pcie -o "$scratch/l40s.json" >/dev/null 2>&1
l40s() { # RELEASE PROFILE
    sed 's/"nodes":4,"ranks":32/"nodes":1,"ranks":4/; s/2.28.9/'"$1"'/; s/"bytes":1048576/"bytes":16777216/; s/tree\/ll/ring\/simple/; s/"tree"/"ring"/; s/"ll"/"simple"/' "$scratch/clear.jsonl" >"$scratch/l40s.jsonl"
    "$bin" generate --force --predicted -t "$scratch/l40s.json" --results "$scratch/l40s.jsonl" -o "$scratch/$2"
}
check "on four L40S they were" l40s 2.28.9 asked
check "it is a rule" grep -q '^allreduce,16777216,16777216,ring,simple,-1,1,4,' "$scratch/asked/tuner.csv"
check "a release that asks no tuner" l40s 2.18.6 old
check "has none" test "$(rules "$scratch/old/tuner.csv")" = 0
check "for the release that was predicted" grep -qx '# nccl: 2.28' "$scratch/asked/tuner.csv"

# ---- what if ---------------------------------------------------------------------------------------------------------
check "whatif without variations shows those that make sense" status 0 "$bin" whatif --machine azure-ndv4 --nodes 8
for word in "as it is" "4 of 8 HCAs" "without mlx5" "half width" sockets "mixed rails" "2:1 oversubscribed" "32 nodes"; do
    check "$word" grep -qF "$word" "$scratch/out"
done
check "--json is JSON" bash -c "'$bin' whatif --machine dgx-a100 --nodes 4 --sockets --collectives alltoall --json | python3 -m json.tool"
check "100,000 nodes" status 0 "$bin" whatif --machine dgx-h100 --nodes 100000

# ---- what a job's settings cost ----------------------------------------------------------------------------------------
# shellcheck disable=SC2016
printf '#!/bin/bash\n#SBATCH -N 2\nexport NCCL_IB_HCA=mlx5_ib0,mlx5_ib1\nexport NCCL_DEBUG=$LEVEL\nsrun ./train\n' >"$scratch/job.sbatch"
printf 'NCCL_P2P_DISABLE=1\nNCCL_IB_TIMEOUT=22\n' >"$scratch/nccl.conf"
whatif=("$bin" whatif --machine azure-ndv4 --nodes 2)
# shellcheck disable=SC2016
check "whatif --script, --pid and --profile" env NCCL_ALGO=Ring bash -c \
    'exec "$@" --pid $$' - timeout 100 "${whatif[@]}" --script "$scratch/job.sbatch" --script "$scratch/nccl.conf" --profile "$profile"
check "a script's HCAs" says "NCCL_IB_HCA=mlx5_ib0,mlx5_ib1 costs up to 3.9x from 1 MiB up" "${whatif[@]}" --script "$scratch/job.sbatch"
check "what only a shell knows" says "NCCL_DEBUG is only known at run time" "${whatif[@]}" --script "$scratch/job.sbatch"
check "a file's peer-to-peer" says "the model is silent on NCCL_IB_TIMEOUT" "${whatif[@]}" --script "$scratch/nccl.conf"
# shellcheck disable=SC2016
check "a process's algorithm" says "jobs have NCCL_ALGO=Ring" env NCCL_ALGO=Ring bash -c 'exec "$0" "$@" --pid $$' "${whatif[@]}"
check "as JSON" bash -c "'$bin' whatif --machine azure-ndv4 --nodes 2 --script '$scratch/job.sbatch' --json | jq -e '.variations[1].settings[0].times_as_long > 3.5'"
check "a script that is not there" refuses 1 "nosuch.sh" "${whatif[@]}" --script "$scratch/nosuch.sh"
check "a process that is not there" refuses 1 "/proc/2147483647/environ" "${whatif[@]}" --pid 2147483647
check "a profile that is none" refuses 1 "$scratch" "${whatif[@]}" --profile "$scratch"

# ---- for a job -------------------------------------------------------------------------------------------------------
job=$scratch/job
"$bin" workload --model qwen2.5-7b --framework megatron --algorithm grpo --no-custom-all-reduce --nodes 2 --tp 4 --pp 4 --tflops 400 \
    --micro-batch 4 --updates 4 --mini-batch 1280 --rollout-n 5 --prompt 1024 --response 1024 --recompute -o "$job.json" >/dev/null
check "tune for a job" bash -c "'$bin' tune -v --machine dgx-h100 --nodes 2 --workload '$job.json' -o '$job' >'$job.out'"
check "predicts for each of its groups" test "$(grep -o '"nodes":[0-9]*,"ranks":[0-9]*' "$job/results.jsonl" | sort -u | tr '\n' ' ')" = \
    '"nodes":1,"ranks":2 "nodes":1,"ranks":4 "nodes":2,"ranks":16 "nodes":2,"ranks":4 '
check "and ends with what its step takes" bash -c "tail -n 1 '$job.out' | grep -qE '^communication [0-9.]+ ms of a [0-9.]+ ms step( \([0-9.]+ to [0-9.]+\))? (->|→) [0-9.]+ ms \(predicted\)$'"
check "as JSON too" bash -c "'$bin' tune --machine dgx-h100 --nodes 2 --workload '$job.json' --json --force -o '$job' | jq -e '.step.now.waited_for.time_us > 0'"
check "the table says no more than it needs" test "$(grep -c 'hca=' "$job.out")" -le 8

# ---- bad input -------------------------------------------------------------------------------------------------------
none=$scratch/none
check "an unknown machine" refuses 2 "did you mean dgx-h100?" "$bin" tune --machine dgx-h10 -o "$none"
check "no nodes" refuses 2 "--nodes: '0'" "$bin" tune --machine dgx-h100 --nodes 0 -o "$none"
check "1e9 nodes" refuses 2 "--nodes: '1000000000'" "$bin" tune --machine dgx-h100 --nodes 1000000000 -o "$none"
check "a list that is none" refuses 2 "--nodes: ''" "$bin" bench --machine dgx-h100 --nodes 2,,4 -o "$none"
check "an unknown GPU" refuses 2 "h900" "$bin" tune --from "$scratch/node.xml" --gpu h900 -o "$none"
check "a GPU that contradicts the file" refuses 2 "is not a100-sxm" "$bin" tune --from "$scratch/node.xml" --gpu a100-sxm -o "$none"
bare=tests/fixtures/envgen/topology.json
check "a topology without GPUs" refuses 1 "no node has a GPU" "$bin" bench --engine model --topology "$bare" -o "$none"
check "whatif of one" refuses 1 "no node has a GPU" "$bin" whatif --topology "$bare"
check "a machine and a file" refuses 2 "mutually exclusive" "$bin" tune --machine dgx-h100 --topology "$topo" -o "$none"
check "measuring what is only described" refuses 2 "only described" "$bin" tune --engine mpi --machine dgx-h100 -o "$none"
check "bench as well" refuses 2 "--engine model" "$bin" bench --engine nccl --machine dgx-h100 -o "$none"
check "hosts of what is only described" refuses 2 "--hosts" "$bin" tune --machine dgx-h100 --hosts a,b -o "$none"
check "bench of them" refuses 2 "--hosts" "$bin" bench --machine dgx-h100 --hosts a,b -o "$none"
check "a check of its ports" refuses 2 "--engine verbs" "$bin" bench --machine dgx-h100 --check "$profile"
check "a profile without a name" refuses 2 "PROFILE" "$bin" tune --machine dgx-h100 -o ""
check "--nodes without a prediction" refuses 2 "--nodes" "$bin" bench --nodes 4 -o "$none"
check "a release where one is measured" refuses 2 "--nccl-lib" "$bin" bench --nccl 2.28.9 -o "$none"
check "an unknown HCA" refuses 2 "no RDMA port 'mlx9'" "$bin" whatif --machine dgx-h100 --nodes 4 --dead-rail mlx9
check "no oversubscription" refuses 2 "--oversubscription" "$bin" whatif --machine dgx-h100 --nodes 4 --oversubscription 0
check "an unknown collective" refuses 2 "--collectives" "$bin" whatif --machine dgx-h100 --collectives gather
check "a file that is no topology" refuses 1 "$scratch/r.jsonl" "$bin" whatif --topology "$scratch/r.jsonl"
finish
