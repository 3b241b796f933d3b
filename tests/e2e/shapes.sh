#!/usr/bin/env bash
# Groups of ranks over the doubles, from a job's capture to the table that its communicators find.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH=$PWD/build/tests/doubles/lib NCCL_DOUBLE_LAW=$work/law DRIVER_DOUBLE_GPUS=4 NCCL_SOCKET_IFNAME=lo
# Variables that are set are not tried: no launch but the default.
export NCCL_MIN_CTAS=1 NCCL_MAX_CTAS=32 NCCL_NVLS_ENABLE=2 NCCL_BUFFSIZE=4194304
# NCCL would take ring everywhere. Tree is better for all four, LL for a pair alone, and LL128 for two pairs at once.
cat >"$NCCL_DOUBLE_LAW" <<'EOF'
channels 8
cache 1000000 1
cell allreduce ring simple latency=30 GBps=100
cell allreduce tree simple latency=15 GBps=100 predict=3
cell allreduce tree ll latency=90 GBps=10
cell allreduce nvls simple latency=90 GBps=10
cell sendrecv ring simple latency=9 GBps=40
cell sendrecv ring simple latency=7 GBps=80 nodes=1 ranks=2
cell allreduce tree ll latency=10 GBps=100 predict=9 nodes=1 ranks=2
cell allreduce nvls simple latency=13 GBps=100 predict=9 nodes=1 ranks=2
cell alltoall ring simple latency=20 GBps=10
beside tree 1
EOF
cc -std=gnu11 -D_GNU_SOURCE -I. -o "$work/perf" tests/tools/all_reduce_perf.c -Lbuild/tests/doubles/lib -l:libnccl.so.2 \
    -l:libcuda.so.1 || { not_ok "a job builds"; finish; }

# ---- a job is captured: all four, and pairs ----
export NCCLTUNE_CAPTURE_TIMES=1 NCCL_ALLGATHERV_ENABLE=0
capture() {
    NCCLTUNE_CAPTURE=$work/capture NCCL_PROFILER_PLUGIN=$PWD/build/libnccl-profiler-nccltune.so LOCAL_WORLD_SIZE=4 \
        "$work/perf" -b 65536 -e 65536 -t 4 -s 2 >"$work/job.out"
}
check "a job with groups is captured" capture
merge() { build/nccltune workload --merge "$work"/capture/* -o "$work/workload.json"; }
check "and its workload has the groups" merge
check "of two ranks" grep -q -P '"group_size":\s*2' "$work/workload.json"

# ---- its shapes are measured ----
tune() {
    timeout 100 build/nccltune tune --engine nccl -q --budget 25s "$@" -o "$work/profile" >"$work/tune.out"
}
check "tune measures them" tune --workload "$work/workload.json" --shapes '1x4,1x2*2,1x2'
check "each in lines of its own" grep -q '"nodes":1,"ranks":2,"groups":2' "$work/profile/results.jsonl"
check "all four have their rule" grep -q '^allreduce,.*,tree,simple,-1,1,4,' "$work/profile/tuner.csv"
check "pairs have theirs, which loses least alone or at once" grep -q '^allreduce,.*,nvls,simple,-1,1,2,' "$work/profile/tuner.csv"
check "decisions have both figures" grep -q 'one alone would take tree/ll .* 2 at once would take nvls/simple' "$work/profile/decisions.json"
explain() { build/nccltune explain "$work/profile" --coll allreduce --bytes 64K --nodes 1 --ranks 2; }
check "explain knows the shape" bash -c "$(declare -f explain); work=$work; explain | grep -q '2 ranks, 2 such groups at once'"

# ---- which cover the job ----
generate() { build/nccltune generate --topology "$work/profile/topology.json" --results "$work/profile/results.jsonl" --workload "$1" -o "$work/again"; }
covered() { grep -o '^coverage: .*' "$work/covered"; }
check "generate holds the capture against them" bash -c "$(declare -f generate); work=$work; generate $work/workload.json >$work/covered"
check "and says that all of it was measured" test "$(covered)" = "coverage: 100 % of the communication as it was measured, 0 % between measured sizes, 0 % not at all"
# A gradient of twice the only size that was measured, and a group that was not; what their calls took is in the file.
python3 - "$work/workload.json" "$work/more.json" <<'EOF'
import json, sys
w = json.load(open(sys.argv[1]))
calls = w["phases"][0]["collectives"]
(pair,) = calls
calls += [dict(pair, bytes=2 * pair["bytes"]), dict(pair, group_size=3)]
json.dump(w, open(sys.argv[2], "w"))
EOF
rm -rf "$work/again"
check "generate holds more than that against them" bash -c "$(declare -f generate); work=$work; generate $work/more.json >$work/covered"
check "one size beyond is no measurement, another group is nothing" bash -c \
    "grep -q 'coverage: [1-9][0-9]* % .*, [1-9][0-9]* % between measured sizes, [1-9][0-9]* % not at all' $work/covered"
check "which is named" grep -q 'not measured: allreduce of 64 KiB, 3 ranks' "$work/covered"

# ---- the job finds them ----
found() {
    NCCL_DEBUG=INFO NCCL_TUNER_PLUGIN=$PWD/build/libnccl-tuner-nccltune.so NCCLTUNE_PROFILE=$work/profile \
        "$work/perf" -b 65536 -e 65536 -t 4 "$@" >"$work/job.log" && grep 'AllReduce: 65536 Bytes' "$work/job.log" >"$work/calls"
}
counted() { # ALGORITHM: every call of the job has it, and all four ranks call
    local all
    all=$(wc -l <"$work/calls")
    if [ "$all" != 200 ] || [ "$(grep -c "Algo $1 " "$work/calls")" != "$all" ]; then head -3 "$work/calls"; fi
}
check "the job runs under the table" found
check "every rank of all four finds the row" test -z "$(counted tree)"
check "the job runs in pairs" found -s 2
check "every rank of both pairs finds the row" test -z "$(counted nvls)"

# ---- and that one keeps the others waiting is seen ----
late() { # DIR RANK US EVERY [VARIABLE=VALUE]...: the basis, and how many come last
    local dir=$1
    (cat "$NCCL_DOUBLE_LAW" && echo "late $2 $3 $4") >"$work/late.law"
    shift 4
    NCCLTUNE_CAPTURE=$work/$dir NCCL_PROFILER_PLUGIN=$PWD/build/libnccl-profiler-nccltune.so LOCAL_WORLD_SIZE=4 \
        env NCCL_DOUBLE_LAW="$work/late.law" "$@" "$work/perf" -b 65536 -e 65536 -t 4 -n 400 >"$work/job.out"
    build/nccltune drift --json "$work/$dir" | jq -c '[.jobs[0].basis, (.jobs[0].late | length)]'
}
if command -v jq >/dev/null; then
    check "by a tenth at every call" test "$(late tenth 2 3 1)" = '["gpus",1]'
    check "by ten calls at every 20th" test "$(late twentieth 1 300 20)" = '["gpus",1]'
    check "nobody is where nobody is late" test "$(late quiet 1 0 1)" = '["gpus",0]'
    check "a GPU is not by the hosts' times" test "$(late hosts 2 300 1 NCCLTUNE_CAPTURE_TIMES=0)" = '["hosts",0]'
else
    skip "one that keeps the others waiting" "no jq"
fi

# ---- stages of a pipeline hand on ----
shift_us() { # SHAPE: the default's time of a sendrecv of 64 KiB
    timeout 30 build/nccltune bench --engine nccl -q --collectives sendrecv --sizes 64K --shapes "$1" --budget 3s --json \
        -o "$work/shift-$1.jsonl" | jq '.points[0].candidates[0].time_us.median | floor'
}
if command -v jq >/dev/null; then
    check "a shift around all four takes what the law says" test "$(shift_us 1x4)" = 10
    check "and within pairs" test "$(shift_us '1x2*2')" = 7
else
    skip "shifts around a ring" "no jq"
fi

# ---- and experts have a hot one among them ----
experts() { # six blocks of which rank 0 gets three from each: twice the even bytes, 26.6 us and 33.1 us
    timeout 40 build/nccltune tune --engine nccl -q --collectives alltoall,alltoallv --sizes 64K --shapes 1x4 --budget 4s -o "$work/experts" >"$work/experts.out" &&
        build/nccltune explain "$work/experts" --coll alltoallv --bytes 64K >"$work/skew"
}
check "an even and an uneven all-to-all are measured" experts
check "explain says what the skew costs" grep -q 'an even alltoall takes 26.6 us here: the hot rank makes it 1.25 times as long' "$work/skew"
check "no rule comes of it" test -z "$(grep '^alltoall' "$work/experts/tuner.csv")"

# ---- and it is verified ----
verify() { timeout 60 build/nccltune verify "$work/profile" -q --budget 10s --workload "$work/workload.json" >"$work/verify.out"; }
check "verify measures the profile's shapes" verify
check "and says what of the capture they cover" grep -q '^coverage: 100 % of the communication as it was measured' "$work/verify.out"
check "all three" test "$(grep -c '65536' "$work/verify.out")" = 3
# ---- types and places that change what is best, which a tuner is not told ----
cat >"$NCCL_DOUBLE_LAW" <<'EOT'
channels 8
cache 1000000 1
cell allreduce ring simple latency=60 GBps=100
cell allreduce tree simple latency=15 GBps=100 predict=9
cell allreduce nvls simple latency=10 GBps=100 predict=9 bfloat16=4
cell allgather ring simple latency=60 GBps=100
cell allgather ring ll latency=15 GBps=100 predict=9
cell allgather nvls simple latency=10 GBps=100 predict=9 in_place=4
EOT
kinds() {
    timeout 100 build/nccltune tune --engine nccl -qv --budget 25s --sizes 64K --shapes 1x4 \
        --collectives allreduce,allgather -o "$work/kinds" >"$work/kinds.out"
}
check "tune compares types and places" kinds
check "bfloat16 is measured for itself where it changes the choice" \
    grep -q '"collective":"allreduce".*"buffers":"bfloat16"' "$work/kinds/results.jsonl"
check "so is a place" grep -q '"collective":"allgather".*"buffers":"in place"' "$work/kinds/results.jsonl"
check "and nothing else" test "$(grep -c '"buffers":"out of place"' "$work/kinds/results.jsonl")" = 0
check "the rule loses least in either type" grep -q '^allreduce,.*,tree,simple,' "$work/kinds/tuner.csv"
check "and in either place" grep -q '^allgather,.*,ring,ll,' "$work/kinds/tuner.csv"
check "both figures are in the decisions" grep -q \
    'one alone would take nvls/simple .* one alone, bfloat16, would take tree/simple' "$work/kinds/decisions.json"
check "it is said" grep -q 'note types-and-places: bfloat16: allreduce of 64 KiB: another choice' "$work/kinds.out"
check "explain knows the type" bash -c \
    "build/nccltune explain '$work/kinds' --coll allreduce --bytes 64K --nodes 1 --ranks 4 | grep -q 'buffers: bfloat16'"
finish
