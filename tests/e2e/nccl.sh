#!/usr/bin/env bash
# The nccl engine from end to end over the doubles of NCCL and the GPU driver: search, profile, verification. What is
# found depends on times; faults and interruption are in nccl_faults.sh.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
# shellcheck source=tests/lib/nccl.sh
. tests/lib/nccl.sh

# ---- the search ----
check "bench finds its way through a launch and a call" \
    bench --budget 40s --collectives allreduce,allgather --max-bytes 256K --step-factor 8 -o "$work/r.jsonl"
check "no worker outlives it" none_left
# best COLLECTIVE BYTES: the call with the lowest median.
best() {
    build/nccltune bench --engine nccl -q --topology "$topo" --budget 1s --collectives allreduce,allgather \
        --max-bytes 256K --step-factor 8 --resume --json -o "$work/r.jsonl" |
        python3 -c '
import json, sys
for p in json.load(sys.stdin)["points"]:
    if p["collective"] == sys.argv[1] and p["bytes"] == int(sys.argv[2]):
        c = min((c for c in p["candidates"] if c["status"] == "ok"), key=lambda c: c["time_us"]["median"])
        print(c["call"])' "$1" "$2"
}
starts() { case $(best "$2" "$3") in "$1"*) ;; *) best "$2" "$3"; return 1 ;; esac; }
if command -v python3 >/dev/null; then
    check "the small AllReduce is Tree with LL, which NCCL does not choose" starts tree/ll allreduce 512
    check "the large AllReduce is NVLS, which NCCL does not choose" starts nvls/simple allreduce 262144
else
    skip "the best call by size" "no python3"
fi

# ---- a capture, beside the tuner ----
export NCCLTUNE_CAPTURE_TIMES=1 NCCL_ALLGATHERV_ENABLE=0
check "bench runs under a capture" env NCCLTUNE_CAPTURE="$work/capture" NCCL_PROFILER_PLUGIN="$PWD/build/libnccl-profiler-nccltune.so" \
    timeout 120 build/nccltune bench --engine nccl -q --topology "$topo" --budget 3s --collectives allreduce,alltoall,alltoallv \
    --max-bytes 64K --step-factor 64 -o "$work/c.jsonl"
timed() {
    env NCCLTUNE_CAPTURE="$work/timed" NCCL_PROFILER_PLUGIN="$PWD/build/libnccl-profiler-nccltune.so" \
        timeout 120 build/nccltune bench --engine nccl -q --topology "$topo" --budget 1s --collectives allreduce --sizes 4K \
        -o "$work/timed.jsonl" && cat "$work"/timed/*.json | grep -q '"allreduce".*"time_us"'
}
check "where no rank sends to itself calls have times" timed
check "its workers' files are merged" build/nccltune workload --merge "$work"/capture/*.json -o "$work/captured.json"
# seen WORDS: in a line of some file, which is a call.
seen() { cat "$work"/capture/*.json | grep -q "$1"; }
check "they have what the tuner was made to choose" seen '"allreduce".*"tree", "protocol": "ll"'
check "and no times behind a rank's message to itself" seen "ranks sent to themselves"
check "and all-to-alls, which NCCL knows as sends" seen '"alltoall".*"group_size": 3'
unset NCCLTUNE_CAPTURE_TIMES NCCL_ALLGATHERV_ENABLE
check "told apart from those with a hot rank" seen '"alltoallv".*"group_size": 3'

# ---- the profile ----
check "generate takes NCCL results" \
    build/nccltune generate --topology "$topo" --results "$work/r.jsonl" -o "$work/profile"
check "tuner.csv has Tree with LL" grep -q '^allreduce,0,[0-9]*,tree,ll,' "$work/profile/tuner.csv"
check "its last range is NVLS" grep -qE '^allreduce,[0-9]*,(-1|262144),nvls,simple,' "$work/profile/tuner.csv"
check "tuner.csv names the NCCL it was measured on" grep -qx '# nccl: 2.30' "$work/profile/tuner.csv"
check "nccl.conf has the launch that was found" grep -qx 'NCCL_BUFFSIZE=8388608' "$work/profile/nccl.conf"
verify() { timeout 120 build/nccltune verify "$@" -q --max-bytes 256K --step-factor 8 --budget "${budget:-20s}"; }
as_it_was() { verify "$work/profile" --collectives allreduce >"$work/verify.txt" && ! grep "Since the profile was measured" "$work/verify.txt"; }
check "verify confirms it, on the machine as it was" as_it_was
sed 's/^cell allreduce tree ll .*/cell allreduce tree ll latency=40 GBps=5 predict=3/' "$NCCL_DOUBLE_LAW" >"$work/other-law"
# The same profile of a machine that had another NCCL.
cp -r "$work/profile" "$work/aged"
jq '.classes[0].libraries = ["NCCL 2.20.0 /old"]' "$work/profile/topology.json" >"$work/aged/topology.json"
tests/tools/manifest "$work/aged"
slow_now() { NCCL_DOUBLE_LAW=$work/other-law verify "$work/aged" --collectives allreduce >"$work/verify.txt"; }
slow_now
check "verify says so where a rule no longer holds (status 1)" test $? = 1
check "and that the library is another" grep -q 'Since the profile was measured: libraries .* instead of NCCL 2.20.0 /old' "$work/verify.txt"
check "it is the right rule" grep -q 'tree/ll.*refuted' "$work/verify.txt"

tune() {
    timeout 100 build/nccltune tune --engine nccl -q --budget 25s --collectives allreduce --max-bytes 64K --step-factor 16 \
        -o "$work/tuned" >"$work/tune.txt"
}
check "tune makes a profile with NCCL in one command" tune
check "and says what a job needs for it" grep -q "^  export NCCL_TUNER_PLUGIN=.*libnccl-tuner-nccltune.so" "$work/tune.txt"
check "and its table has a rule" grep -q '^allreduce,' "$work/tuned/tuner.csv"
check "and the finished profile was measured" grep -q '^Delivered: .* at the [0-9]* points that the profile changes, in [0-9]* pairs of starts' "$work/tune.txt"

# A topology file is tried as a launch, and delivered where it is faster. The double reads its name alone.
{ cat "$NCCL_DOUBLE_LAW"; echo 'when NCCL_TOPO_FILE=/usr/lib/os-release factor=0.5'; } >"$work/tree-law"
with_tree() {
    NCCL_DOUBLE_LAW=$work/tree-law timeout 100 build/nccltune tune --engine nccl -q --budget 15s --collectives allreduce \
        --topo-file /usr/lib/os-release --sizes 64K -o "$work/with-tree" && grep -qx 'NCCL_TOPO_FILE=/usr/lib/os-release' "$work/with-tree/nccl.conf"
}
check "tune measures --topo-file as a launch, and the profile names it" with_tree

# What wins while it is measured and loses as jobs get it.
printf '%s\n' 'channels 16' 'noise 0.01' 'cell allreduce ring simple latency=3000 GBps=100' \
    'cell allreduce tree ll latency=600 GBps=10 predict=30' >"$work/wins"
sed 's/=600/=9000/' "$work/wins" >"$work/loses"
# shellcheck disable=SC2016 # expanded by the rank
printf '%s\n' '#!/bin/sh' "[ -z \"\$NCCLTUNE_HASH\" ] || export NCCL_DOUBLE_LAW=$work/loses" 'exec "$@"' >"$work/prefix"
chmod 755 "$work/prefix"
undelivered() {
    NCCL_DOUBLE_LAW=$work/wins DRIVER_DOUBLE_GPUS=2 timeout 100 build/nccltune tune --engine nccl -q --launch-prefix "$work/prefix" \
        --collectives allreduce --sizes 8K --budget 16s -o "$work/lost" >"$work/lost.txt" 2>&1 &&
        grep -q "slower in starts of its own: allreduce of 8 KiB .* with tree/ll" "$work/lost.txt" &&
        ! grep -q '^allreduce,' "$work/lost/tuner.csv"
}
check "a rule that loses as jobs get it is left out of the profile" undelivered
# shellcheck disable=SC2016 # expanded by the rank
printf '%s\n' '#!/bin/sh' '[ -z "$NCCLTUNE_HASH" ] || exit 9' 'exec "$@"' >"$work/prefix"
unstartable() {
    ! NCCL_DOUBLE_LAW=$work/wins DRIVER_DOUBLE_GPUS=2 timeout 100 build/nccltune tune --engine nccl -q --launch-prefix "$work/prefix" \
        --collectives allreduce --sizes 8K --budget 16s -o "$work/fails" >"$work/fails.txt" 2>&1 &&
        ! test -e "$work/fails/manifest.json"
}
check "a profile with which nothing starts is not completed" unstartable
no_host_memory() { ! grep "host memory" "$work/tune.txt"; }
check "it is not passed off as host memory" no_host_memory

# ---- a cloud's network plugin that is its tuner, too ----
mkdir "$work/vendor" && ln -s "$PWD/build/tests/doubles/vendor_tuner.so" "$work/vendor/libnccl-net.so"
vendor() { LD_LIBRARY_PATH=$work/vendor:$LD_LIBRARY_PATH NCCL_BUFFSIZE=4194304 NCCL_MAX_CTAS=32 "$@"; }
vendor_bench() {
    vendor timeout 120 build/nccltune bench --engine nccl --topology "$topo" --budget 8s --collectives allreduce \
        --sizes 512,4K,32K -o "$work/v.jsonl" >"$work/v.log" 2>&1
}
check "bench runs on a site with a tuner of its own" vendor_bench
check "and says that the default is that tuner's" \
    grep -q 'measured over tuner vendor double, network vendor network' "$work/v.log"
check "so does the journal" grep -q '"active":"tuner vendor double, network vendor network"' "$work/v.jsonl"
check "nothing is told of jobs that take another time" test -z "$(grep 'jobs now take' "$work/v.log")"
check "generate takes that" build/nccltune generate --topology "$topo" --results "$work/v.jsonl" -o "$work/over"
check "what the vendor chooses already is no gain" test -z "$(grep '^allreduce,0,[0-9]*,tree,ll' "$work/over/tuner.csv")"
check "the table asks for that tuner first" grep -qx '# next-tuner: auto' "$work/over/tuner.csv"
check "and says which it was" grep -qx '# measured over: tuner vendor double, network vendor network' "$work/over/tuner.csv"
explained() { build/nccltune explain "$work/over" | grep -q 'the baseline: with tuner vendor double'; }
check "explain says so" explained
today() { grep -q '"id":"jobs-today"' "$work/v.jsonl" && build/nccltune explain "$work/over" | grep -q '^jobs as they run here today, without nccltune, take '; }
check "what jobs take today goes from the journal to explain" today
mixed() { ! build/nccltune generate --topology "$topo" --results "$work/v.jsonl" --results "$work/r.jsonl" -o "$work/mixed" 2>"$work/mixed.log" && grep -q "a profile is for one" "$work/mixed.log"; }
check "results over two tuners do not mix" mixed
vendor_verify() { budget=5s vendor verify "$work/over" --collectives allreduce >"$work/vv.txt" 2>&1; }
vendor_verify || true
check "verify says over what it measures" grep -q 'over tuner vendor double, network vendor network' "$work/vv.txt"
alone() { budget=5s NCCL_BUFFSIZE=4194304 NCCL_MAX_CTAS=32 verify "$work/over" --collectives allreduce >"$work/va.txt" 2>&1; }
alone || true
check "and where it is not what the profile was measured over" \
    grep -q 'measured over tuner vendor double, network vendor network, now over' "$work/va.txt"
doctor() { vendor env NCCL_TUNER_PLUGIN="$work/vendor/libnccl-net.so" NCCLTUNE_PROFILE="$work/over" build/nccltune doctor --job; }
check "doctor says that no table is applied under the vendor's own" grep -q "no table is applied" <(doctor)

# ---- what a job calls, and chunk sizes ----
cat >"$work/workload.json" <<'EOF'
{"format": "nccltune-workload/1", "name": "two calls", "ranks": 3, "ranks_per_node": 3, "phases": [{"name": "step",
 "collectives": [{"collective": "allreduce", "bytes": 4194304, "count": 10, "group_size": 3},
                 {"collective": "alltoall", "bytes": 65536, "count": 2, "group_size": 3},
                 {"collective": "sendrecv", "bytes": 4096, "count": 2, "group_size": 2}]}]}
EOF
cat >"$work/chunk-law" <<'EOF'
channels 16
cache 1000000 1
cell allreduce ring simple latency=30 GBps=40
cell allreduce ring ll128 latency=14 GBps=60 channel_GBps=8 channel_us=0.5 chunk_best=131072 chunk_loss=0.1
cell alltoall ring simple latency=25 GBps=60
cell sendrecv ring simple latency=9 GBps=40
EOF
job() { # job BUDGET
    rm -rf "$work/job" && NCCL_BUFFSIZE=4194304 NCCL_MAX_CTAS=32 NCCL_DOUBLE_LAW=$work/chunk-law timeout 200 build/nccltune tune --engine nccl \
        -q --budget "$1" --workload "$work/workload.json" -o "$work/job" >/dev/null
}
chunk_rule() { grep -q '^allreduce,.*,ring,ll128,8,.*,131072,' "$work/job/tuner.csv"; }
# A loaded machine needs more time for the same starts.
job_in_time() { job 45s && { chunk_rule || job 120s; }; }
check "tune takes a workload" job_in_time
sizes() { grep -o '"collective":"[a-z]*","bytes":[0-9]*' "$work/job/results.jsonl" | sort -u | tr -dc 'a-z0-9\n' | tr '\n' ' '; }
check "its calls are measured and nothing else" \
    test "$(sizes)" = "collectiveallreducebytes4194304 collectivealltoallbytes65535 collectivesendrecvbytes4096 "
check "the table names the chunk size that the law likes" chunk_rule
check "and has no rule for AllToAll" test -z "$(grep '^alltoall' "$work/job/tuner.csv")"
check "the profile keeps the workload" test -s "$work/job/workload.json"

# ---- the model made this site's ----
# A machine whose GPUs are those of the description, and a law that is not what the model expects of it.
calibrated() {
    DRIVER_DOUBLE_GPUS=4 NCCL_DOUBLE_LAW=$work/slow-law timeout 100 build/nccltune "$@"
}
printf 'channels 24\ncell allreduce ring simple latency=900 GBps=4\ncell allreduce ring ll latency=600 GBps=1\n' >"$work/slow-law"
build/nccltune probe --machine dgx-a100 -o "$work/a100.json" >/dev/null 2>&1
check "bench measures a few points" \
    bash -c "$(declare -f calibrated); work='$work' calibrated bench --engine nccl --collectives allreduce -q --topology '$work/a100.json' --sizes 8K,1M --budget 5s -o '$work/few.jsonl' >'$work/few.txt'"
whatif_says() { calibrated whatif --topology "$work/a100.json" --ranks-per-node 4 "${@:2}" 2>&1 | grep -q "$1"; }
check "whatif goes by them" whatif_says "calibrated by [0-9]* results of $work/few.jsonl" --calibration "$work/few.jsonl"
check "so do predicted journals" \
    bash -c "$(declare -f calibrated); work='$work' calibrated bench --engine model --topology '$work/a100.json' --calibration '$work/few.jsonl' -o '$work/p.jsonl' 2>&1 | grep -q 'calibrated by [0-9]* results'"
slow_machine() { calibrated bench --engine nccl -q --topology "$work/a100.json" --sizes 1M --collectives allreduce --budget 3s -o "$work/slow.jsonl" >"$work/slow.txt"; }
check "a machine that is slower than it should be" slow_machine
check "is told so" grep -qE 'allreduce 1 MiB on 1 node: [0-9.]+x slower than this machine should be' "$work/slow.txt"

# ---- listed sizes ----
listed() { NCCL_BUFFSIZE=4194304 NCCL_MAX_CTAS=32 bench --collectives allreduce --sizes "$1" "${@:2}" -o "$work/s.jsonl"; }
check "sizes can be listed" listed 8,3K,64K --budget 5s
check "those are measured and nothing else" \
    test "$(grep -o '"bytes":[0-9]*' "$work/s.jsonl" | sort -u | tr '\n' ' ')" = '"bytes":3072 "bytes":65536 "bytes":8 '
check "a list that does not ascend is refused" test "$(listed 64K,8 >"$work/s.log" 2>&1; echo $?)" = 2

# ---- graphs ----
(cat "$NCCL_DOUBLE_LAW" && echo "launch 40") >"$work/launch-law"
graphs() {
    NCCL_BUFFSIZE=4194304 NCCL_MAX_CTAS=32 NCCL_DOUBLE_LAW=$work/launch-law bench --graphs --budget 5s \
        --collectives allreduce --max-bytes 8 -o "$work/g.jsonl" >/dev/null
}
check "bench captures small calls in graphs" graphs
check "their time is without the launch" \
    grep -q '"call":{"label":"default"},"buffers":"graph".*"times_us":\[[12]\?[0-9]\.' "$work/g.jsonl"

# ---- channels ----
(cat "$NCCL_DOUBLE_LAW" && echo "cell_bytes 98304") >"$work/cells-law"
channels() {
    NCCL_BUFFSIZE=4194304 NCCL_MAX_CTAS=32 NCCL_DOUBLE_LAW=$work/cells-law bench --budget 5s --collectives allreduce --sizes 256K \
        -o "$work/channels.jsonl" >/dev/null
}
check "a call that runs fewer channels than it was asked to" channels
check "is told of, with the channels that run" grep -q '"channels":"16".*"detail":"NCCL runs 3 of the 16 channels' "$work/channels.jsonl"
finish
