#!/usr/bin/env bash
# What a profile is said to do, and what a job gets of it: NCCL's own choice, a training step, pins that a
# table makes obsolete, the ranks of a job started by the real mpirun.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
bin=$PWD/build/nccltune
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# says TEXT COMMAND...: what the command prints holds this; silent: it does not. status N COMMAND...: its exit code.
says() { local text=$1; shift; "$@" >"$work/out" 2>&1; grep -qF -- "$text" "$work/out" || { cat "$work/out"; return 1; }; }
silent() { local text=$1; shift; "$@" >"$work/out" 2>&1; ! grep -qF -- "$text" "$work/out" || { cat "$work/out"; return 1; }; }
status() { local code=$1; shift; "$@" >"$work/out" 2>&1; [ $? = "$code" ] || { cat "$work/out"; return 1; }; }

# ---- what NCCL would choose by itself --------------------------------------------------------------------------------
# A table measured on two nodes of 8 GPUs: ring/simple is twice as fast as what NCCL takes at 1 MiB and above.
"$bin" probe --machine dgx-h100 --nodes 2 --json -o "$work/topology.json"
hash=$("$bin" generate -q --topology "$work/topology.json" -o "$work/bare" && jq -r .topology "$work/bare/decisions.json")
journal() {
    local bytes us round head
    echo "{\"format\": \"nccltune-results/1\", \"topology\": \"$hash\"}"
    for bytes in 65536 1048576 16777216; do
        for round in {1..5}; do
            us=$((bytes / 8192 + 40))
            head='"engine": "nccl", "library": "NCCL 2.28.9", "collective": "allreduce", "nodes": 2, "ranks": 16, "status": "ok"'
            head="{$head, \"round\": $round, \"bytes\": $bytes, \"launch\": {\"label\": \"default\", \"settings\": {}}"
            echo "$head, \"call\": {\"label\": \"default\", \"settings\": {}}, \"times_us\": [$us, $us]}"
            [ $bytes = 65536 ] || us=$((us / 2))
            echo "$head, \"call\": {\"label\": \"ring/simple\", \"settings\": {\"algorithm\": \"ring\", \"protocol\": \"simple\"}}, \"times_us\": [$us, $us]}"
        done
    done
}
journal >"$work/results.jsonl"
check "a profile is made" "$bin" generate -q --topology "$work/topology.json" --results "$work/results.jsonl" -o "$work/profile"
profile=$work/profile
call() { "$bin" explain "$profile" --collectives allreduce --bytes "$@"; }
check "explain says what NCCL would choose for a call" says "model: NCCL 2.28.9 by itself would choose" call 4M --nodes 2 --ranks 16
check "for a shape that was not measured, too" says "model: NCCL 2.28.9 by itself would choose" call 4M --nodes 64 --ranks 512
check "where nodes and ranks are left open, too" bash -c "'$bin' explain '$work/bare' --collectives allreduce --bytes 4M | grep -q 'own choice on 2 nodes, 16 ranks'"
check "in another release" says "model: NCCL 2.21.5 by itself" call 4M --nodes 2 --ranks 16 --nccl 2.21.5
check "or why it cannot" says "as many ranks on every node" call 4M --nodes 2 --ranks 15
check "in JSON" bash -c "'$bin' explain '$profile' --collectives allreduce --bytes 4M --nodes 2 --ranks 16 --json | jq -e '.model[0].algorithm and .model[0].estimate_us > 0'"
check "the whole profile has it where the table says otherwise" says "NCCL would: " "$bin" explain "$profile"
check "so does its JSON" bash -c "'$bin' explain '$profile' --json | jq -e '.model[0].profile == \"ring/simple\"'"
check "a variable has its default by release in JSON" bash -c "'$bin' explain '$profile' NCCL_IB_TIMEOUT --json | jq -e '.catalogue.defaults[-1].value == \"20\"'"
check "a release that is none is wrong usage" status 2 call 4M --nccl newest

# ---- pins ------------------------------------------------------------------------------------------------------------
echo 'export NCCL_ALGO=Ring' >"$work/pin.sh"
check "lint finds the pin that the table makes obsolete" says NT413 "$bin" lint --profile "$profile" "$work/pin.sh"
check "not under a profile without a table for it" silent NT413 "$bin" lint --profile "$work/bare" "$work/pin.sh"
check "nor without a profile" silent NT413 "$bin" lint "$work/pin.sh"

# ---- a step ----------------------------------------------------------------------------------------------------------
# Ten calls of 4 MiB: between 1 MiB (168 us) and 16 MiB (2088 us) the line gives 592.3 us, and half of it tuned.
cat >"$work/workload.json" <<'EOF'
{"format": "nccltune-workload/1", "name": "hand", "ranks": 16, "ranks_per_node": 8, "phases": [
 {"name": "backward", "compute_us": 100000, "collectives": [
  {"collective": "allreduce", "bytes": 4194304, "count": 10, "group_size": 16, "placement": "cluster", "overlap_us": 0}]}]}
EOF
step() { "$bin" explain "$profile" --workload "$work/$1" "${@:2}"; }
check "a measured step" says "communication 5.92 ms of a 105.9 ms step -> 2.96 ms" env LC_ALL=C "$bin" explain "$profile" --workload "$work/workload.json"
check "with an arrow where the locale has one" says "step → 2.96 ms" \
    env LC_ALL=C.UTF-8 "$bin" explain "$profile" --workload "$work/workload.json"
check "and what saves most of it" says "1. this profile: 3.0 ms" step workload.json
check "is said to be measured" bash -c "'$bin' explain '$profile' --workload '$work/workload.json' --json | jq -e '.from_us | keys == [\"measured\"]'"
sed 's/"ranks": 16/"ranks": 32/; s/"group_size": 16/"group_size": 32/' "$work/workload.json" >"$work/larger.json"
check "on more nodes it is predicted" says "predicted" step larger.json
check "and says so" says "PREDICTED times come from a model" step larger.json
check "a workload that is none is an error" status 1 step pin.sh
check "a workload and a call are wrong usage" status 2 step workload.json --collectives allreduce --bytes 1M
check "a full standard output is an error" bash -c "! '$bin' explain '$profile' --workload '$work/workload.json' >/dev/full"
check "for help, too" bash -c "! '$bin' --help >/dev/full && ! '$bin' explain --help >/dev/full"

# ---- a profile that earlier releases made of what jobs had measured while they ran ----------------------------------------
learned=tests/fixtures/envgen/learned
at=(--collectives allreduce --bytes 1M --nodes 2 --ranks 4)
inside="results-2.jsonl:3 (measured inside job 103 on 2 nodes),6 (measured inside job 104 on 2 nodes)"
check "what jobs measured while they ran is explained as before" says "$inside" "$bin" explain "$learned" "${at[@]}"
check "the profile is whole and can be installed" says "$work/store/profiles/" "$bin" install-profile "$learned" --store "$work/store" --no-nccl-conf
check "its journals, of which each job is one start, make a profile again" "$bin" generate -q --topology "$learned/topology.json" --results "$learned/results.jsonl" \
    --results "$learned/results-2.jsonl" -o "$work/again"
check "and the same evidence" says "results-2.jsonl:3,6" "$bin" explain "$work/again" "${at[@]}"

table=$(sha256sum "$profile/tuner.csv" | cut -c1-64)
pinned() { env NCCLTUNE_PROFILE="$profile" NCCL_TUNER_PLUGIN="$PWD/build/libnccl-tuner-nccltune.so" "$@" "$bin" doctor --job; }
check "a pinned table is the right one" says "the one that NCCLTUNE_HASH pins" pinned NCCLTUNE_HASH="$table"
check "or NCCL will refuse to start" says "NCCL will refuse to start" pinned NCCLTUNE_HASH=0123456789abcdef
check "NCCLTUNE=off is told" says "NCCLTUNE=off" pinned NCCLTUNE=off
finish
