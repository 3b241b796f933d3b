#!/usr/bin/env bash
# Calls beside compute and beside a second communicator, over the doubles: what is best alone is worst there.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH=$PWD/build/tests/doubles/lib NCCL_DOUBLE_LAW=$work/law DRIVER_DOUBLE_GPUS=4 NCCL_SOCKET_IFNAME=lo
# Variables that are set are not tried: no launch but the default.
export NCCL_MIN_CTAS=1 NCCL_MAX_CTAS=32 NCCL_NVLS_ENABLE=2 NCCL_BUFFSIZE=4194304
# NVLS is fastest alone and takes five times as long beside compute; every channel takes a multiprocessor from that.
cat >"$NCCL_DOUBLE_LAW" <<'EOF'
channels 16
cache 1000000 1
compute 100 64
cell allreduce ring simple latency=30 GBps=3.125
cell allreduce tree simple latency=30 GBps=3.90625 predict=2
cell allreduce nvls simple latency=30 GBps=6.25 predict=2
loaded nvls 4
loaded tree 0.1
loaded ring 0.1
shared 1
EOF
command -v jq >/dev/null || { skip "calls beside a load" "no jq"; finish; }

bench() { timeout 60 build/nccltune bench --engine nccl -q --collectives allreduce --sizes 512K "$@" >"$work/out" 2>&1; }
# The journal's medians over all samples of a call: bench_call NAME FIELD FILE
of() { jq -s --arg call "$1" "map(select(.call.label == \$call and .load and (.times_us | length > 0)) | $2) | add / length" "$3"; }
near() { awk -v x="$1" -v y="$2" 'BEGIN { exit !(x > y * 0.98 && x < y * 1.02) }'; }

# ---- compute beside calls, by every way to have it ----
check "calls are measured beside compute" bench --shapes 1x4@compute --budget 6s -o "$work/own.jsonl"
# 16 channels of 64 multiprocessors: what runs beside takes 64 / 48 times as long; 198 us and a tenth.
check "what it is slowed by is in the journal" near "$(of default .slowdown "$work/own.jsonl")" 1.3333
check "and what the call takes" near "$(of default .call_us "$work/own.jsonl")" 217.5
check "a matrix multiplication does as well" env BLAS_DOUBLE=1 bash -c "$(declare -f bench); work=$work; bench --shapes 1x4@compute --budget 4s -o $work/blas.jsonl"
check "with the same result" near "$(of default .slowdown "$work/blas.jsonl")" 1.3333
check "on AMD's GPUs a kernel is compiled" bench --nccl-lib librccl.so.1 --shapes 1x4@compute --budget 4s -o "$work/hip.jsonl"
check "with the same result" near "$(of default .slowdown "$work/hip.jsonl")" 1.3333
check "a second communicator contends" bench --shapes '1x2*2@calls,1x2@calls' --budget 3s -o "$work/calls.jsonl"
check "each takes twice as long" near "$(of default .slowdown "$work/calls.jsonl")" 2

# ---- objectives ----
tune() { # NAME OBJECTIVE
    timeout 60 build/nccltune tune --engine nccl -q --collectives allreduce --sizes 128K,512K --shapes 1x4 --budget 20s \
        --objective "$2" -o "$work/$1" >"$work/$1.out" 2>&1
}
rule() { grep -o '^allreduce,[^#]*' "$work/$1/tuner.csv" | cut -d, -f4 | sort -u | paste -sd' '; }
check "tune for time" tune time time
check "takes what is best alone" test "$(rule time)" = nvls
check "tune for overlap" tune overlap overlap
check "leaves that: it would be the worst in a step" test "$(rule overlap)" = tree
lost() { jq -s --arg call "$1" 'map(select(.call.label == $call and .bytes == 524288) | .times_us[]) | sort | .[length / 2 | floor]' \
    "$work/overlap/results.jsonl"; }
check "by what a step loses" awk -v unfair="$(lost nvls/simple)" -v fair="$(lost tree/simple)" \
    'BEGIN { exit !(unfair > 1.5 * fair) }'
awk -v unfair="$(lost nvls/simple)" -v fair="$(lost tree/simple)" 'BEGIN { printf "# what is best alone costs a step %.2f times the best\n", unfair / fair }'
check "tune for both" tune balanced balanced
check "decisions have both figures" grep -q 'one alone would take nvls/simple.* one beside compute would take tree/simple' "$work/balanced/decisions.json"
check "an objective is one of three" bash -c "! build/nccltune bench --objective speed -o $work/x 2>$work/err && grep -q overlap $work/err"

# ---- a step ----
cat >"$work/workload.json" <<'EOF'
{"format": "nccltune-workload/1", "name": "two gradients", "ranks": 4, "ranks_per_node": 4, "phases": [{"name": "backward", "collectives": [
 {"collective": "allreduce", "bytes": 524288, "count": 10, "group_size": 4, "stride": 1, "overlap_us": 1000},
 {"collective": "allreduce", "bytes": 131072, "count": 1, "group_size": 4, "stride": 1, "overlap_us": 0}]}]}
EOF
job() { timeout 60 build/nccltune tune --engine nccl -q --workload "$work/workload.json" --budget 20s -o "$work/job" >"$work/job.out" 2>&1; }
check "a workload says which of its calls are hidden" job
check "those alone are measured beside compute" test "$(jq -r 'select(.load) | .bytes' "$work/job/results.jsonl" | sort -u)" = 524288
explain() { build/nccltune explain "$work/job" --workload "$work/workload.json" "$@"; }
explain --json >"$work/step.json"
# Ten calls of 217.5 us behind compute that is slowed by a third lose a quarter of themselves; one of 72 us is waited for.
check "a step adds up with what was measured" near "$(jq '.now.waited_for.time_us' "$work/step.json")" 616
check "and has a shorter one" jq -e '.tuned.waited_for.time_us < 0.8 * .now.waited_for.time_us' "$work/step.json"
check "nothing is assumed" jq -e '.overlap_assumed == 0' "$work/step.json"
explain_time() { build/nccltune explain "$work/time" --workload "$work/workload.json"; }
check "what was not measured is said" bash -c "$(declare -f explain_time); work=$work; explain_time | grep -q 'taken to slow nothing'"
finish
