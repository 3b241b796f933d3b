#!/usr/bin/env bash
# The nccl engine from end to end over the doubles of NCCL and the GPU driver: search, faults, ^C, resume, profile,
# verification; and that the doubles and the worker fit the real interfaces as far as this machine has them.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp tests/fixtures/nccl/law.txt "$work/law"
export LD_LIBRARY_PATH=$PWD/build/tests/doubles/lib NCCL_DOUBLE_LAW=$work/law
export DRIVER_DOUBLE_GPUS=3 NCCL_SOCKET_IFNAME=lo
# Variables that are set are not tried: fewer launches, so that a busy machine can do it in time.
export NCCL_MIN_CTAS=1 NCCL_NVLS_ENABLE=2
topo=$work/topology.json
build/nccltune probe -o "$topo" >/dev/null 2>&1 || { not_ok "probe"; finish; }
bench() { timeout 120 build/nccltune bench --engine nccl -q --topology "$topo" "$@"; }

# Workers of ours that are still there, by the law in their environment.
left_over() {
    local p
    for p in /proc/[0-9]*; do
        grep -qs nccltune-worker "$p/cmdline" && grep -qsz "NCCL_DOUBLE_LAW=$NCCL_DOUBLE_LAW" "$p/environ" && echo "$p"
    done
}
none_left() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        [ -z "$(left_over)" ] && return 0
        sleep 0.2
    done
    left_over
    return 1
}

# ---- the search ----
check "bench finds its way through a launch and a call" \
    bench --budget 25s --collectives allreduce,allgather --max-bytes 256K --step-factor 8 -o "$work/r.jsonl"
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
verify() { timeout 120 build/nccltune verify "$@" -q --max-bytes 256K --step-factor 8 --budget 20s; }
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
    NCCL_DOUBLE_LAW=$work/tree-law timeout 100 build/nccltune tune --engine nccl -q --budget 25s --collectives allreduce \
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
        --collectives allreduce --sizes 8K --budget 30s -o "$work/lost" >"$work/lost.txt" 2>&1 &&
        grep -A 1 "slower in starts of their own" "$work/lost.txt" | grep -q "allreduce of 8 KiB .* with tree/ll" &&
        ! grep -q '^allreduce,' "$work/lost/tuner.csv"
}
check "a rule that loses as jobs get it is left out of the profile" undelivered
# shellcheck disable=SC2016 # expanded by the rank
printf '%s\n' '#!/bin/sh' '[ -z "$NCCLTUNE_HASH" ] || exit 9' 'exec "$@"' >"$work/prefix"
unstartable() {
    ! NCCL_DOUBLE_LAW=$work/wins DRIVER_DOUBLE_GPUS=2 timeout 100 build/nccltune tune --engine nccl -q --launch-prefix "$work/prefix" \
        --collectives allreduce --sizes 8K --budget 30s -o "$work/fails" >"$work/fails.txt" 2>&1 &&
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
vendor_verify() { vendor verify "$work/over" --collectives allreduce >"$work/vv.txt" 2>&1; }
vendor_verify || true
check "verify says over what it measures" grep -q 'over tuner vendor double, network vendor network' "$work/vv.txt"
alone() { NCCL_BUFFSIZE=4194304 NCCL_MAX_CTAS=32 verify "$work/over" --collectives allreduce >"$work/va.txt" 2>&1; }
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
job() {
    NCCL_BUFFSIZE=4194304 NCCL_MAX_CTAS=32 NCCL_DOUBLE_LAW=$work/chunk-law timeout 100 build/nccltune tune --engine nccl \
        -q --budget 45s --workload "$work/workload.json" -o "$work/job" >/dev/null
}
check "tune takes a workload" job
sizes() { grep -o '"collective":"[a-z]*","bytes":[0-9]*' "$work/job/results.jsonl" | sort -u | tr -dc 'a-z0-9\n' | tr '\n' ' '; }
check "its calls are measured and nothing else" \
    test "$(sizes)" = "collectiveallreducebytes4194304 collectivealltoallbytes65535 collectivesendrecvbytes4096 "
check "the table names the chunk size that the law likes" grep -q '^allreduce,.*,ring,ll128,8,.*,131072,' "$work/job/tuner.csv"
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

# ---- faults ----
# fault NAME STATUS FAULT WORDS: the sweep goes on, ends with status 1, and the journal has STATUS with WORDS. One launch
# alone: in each the fault costs seconds anew.
fault() {
    local name=$1 status=$2 rc=0
    rm -f "$work/f.jsonl"
    NCCL_BUFFSIZE=4194304 NCCL_MAX_CTAS=32 NCCL_DOUBLE_FAULT=$3 bench --budget 8s --watchdog 1s --first-use-patience 1s --collectives allreduce --max-bytes 64K --step-factor 64 \
        -o "$work/f.jsonl" >"$work/f.log" 2>&1 || rc=$?
    check "$name: ends with status 1" test "$rc" = 1
    check "$name: is journalled as $status with the reason" grep -q "tree/ll.*\"status\":\"$status\".*$4" "$work/f.jsonl"
    check "$name: the others were measured" grep -q '"ring/ll".*"status":"ok"' "$work/f.jsonl"
    check "$name: nobody is left" none_left
}
fault "a hang" hung "hang rank=1 algo=tree proto=ll" "no answer in time from rank"
fault "a crash" crashed "crash rank=2 algo=tree proto=ll" "rank 2 on .* signal 6"
fault "wrong data" wrong "wrong rank=1 algo=tree proto=ll" "rank 1: element"
fault "a system error" crashed "error rank=0 algo=tree proto=ll" "completion with error 12"

# ill FAULT COLLECTIVE: launches and their calls, with a fault in one of them.
ill() {
    rm -f "$work/h.jsonl"
    NCCL_DOUBLE_FAULT=$1 bench --budget 20s --shapes 1x3 --collectives "$2" --sizes 64K -o "$work/h.jsonl" >"$work/h.log" 2>&1
}
# Of three launches one dies at its start: it is tried once more, the others know nothing of it.
ill "error-init rank=1 env=NCCL_BUFFSIZE=8388608" allreduce
check "launches that die: status 1" test $? = 1
# lines LAUNCH CALL STATUS: how many there are in the journal.
lines() { grep -c "\"launch\":{\"label\":\"$1\".*\"call\":{\"label\":\"$2\".*\"status\":\"$3\"" "$work/h.jsonl"; }
check "the one that dies at its start is tried twice and no more" test "$(lines 'buffer=8M' '.*' '.*')" = 2
check "with NCCL's word on it" test "$(grep -c '"buffer=8M".*"status":"crashed".*no device found for the HCAs' "$work/h.jsonl")" = 2
check "the default's calls are measured, and nothing dies there" test "$(lines default tree/ll '\(ok\|dropped\)')" -gt 0 -a "$(lines default '.*' crashed)" = 0
check "both times are said" test "$(grep -c 'warning: allreduce, 64 KiB, launch buffer=8M, call .*: crashed: rank' "$work/h.log")" = 2
# A call dies where it comes first in the best launch, after others went well there: the launch is no worse for it.
ill "crash rank=1 algo=pat env=NCCL_BUFFSIZE=8388608" allgather
check "calls that die in a later launch: status 1" test $? = 1
check "one of them is tried twice and no more" test "$(lines 'buffer=8M' 'pat.*' '.*')" = 2 -a "$(lines 'buffer=8M' pat/simple crashed)" = 2
check "it did not die in the default's launch" test "$(lines default pat/simple crashed)" = 0 -a "$(lines default 'pat.*' '.*')" -gt 0
check "calls of the same launch are measured after it" grep -q '"buffer=8M".*"status":"ok"' <(sed '1,/"status":"crashed"/d' "$work/h.jsonl")
check "and nobody is left" none_left

# ---- interruption ----
rm -f "$work/i.jsonl"
build/nccltune bench --engine nccl -q --topology "$topo" --budget 60s --collectives allreduce --max-bytes 1M \
    -o "$work/i.jsonl" >"$work/i.log" 2>&1 &
for _ in $(seq 100); do
    [ -e "$work/i.jsonl" ] && [ "$(wc -l <"$work/i.jsonl")" -gt 8 ] && break
    sleep 0.1
done
began=$(date +%s%N)
kill -INT $!
wait $!
rc=$?
check "^C ends it with status 130" test "$rc" = 130
check "within three seconds" test $((($(date +%s%N) - began) / 1000000)) -lt 3000
check "and takes the workers along" none_left
lines=$(wc -l <"$work/i.jsonl")
check "--resume goes on" bench --budget 6s --collectives allreduce --max-bytes 1M --resume -o "$work/i.jsonl"
check "with more lines in the same journal" test "$(wc -l <"$work/i.jsonl")" -gt "$lines"
build/nccltune bench --engine nccl -q --topology "$topo" --budget 60s -o "$work/k.jsonl" >/dev/null 2>&1 &
sleep 2
kill -KILL $!
wait $! 2>/dev/null
check "kill -9 of the conductor leaves no worker either" none_left

# ---- what the machine lacks ----
lacks() { # lacks WORDS COMMAND...
    local words=$1 out rc
    shift
    out=$("$@" 2>&1)
    rc=$?
    if [ "$rc" != 3 ] || ! grep -q "$words" <<<"$out"; then
        echo "status $rc: $out"
        return 1
    fi
}
check "no NCCL anywhere" lacks "libnccl.so.2" env LD_LIBRARY_PATH= build/nccltune bench --engine nccl --nccl-lib /none/libnccl.so.2 -o "$work/n.jsonl"
check "no GPU" lacks "no CUDA-capable device" env DRIVER_DOUBLE_GPUS=0 build/nccltune bench --engine nccl -o "$work/n.jsonl"
check "fewer GPUs than ranks" lacks "3 GPUs for 4 ranks" build/nccltune bench --engine nccl --ranks-per-node 4 -o "$work/n.jsonl"

newer() {
    NCCL_DOUBLE_VERSION=24001 bench --budget 2s --collectives allreduce --max-bytes 8 -o "$work/new.jsonl" 2>&1 |
        grep -q "NCCL 2.40.1 is newer than the known releases"
}
check "an NCCL that is newer than known: goes on and says so" newer
real=/usr/local/cuda/lib64/libnccl.so.2
if [ -e $real ] && ! nvidia-smi -L >/dev/null 2>&1; then
    check "a real NCCL over the driver double is loaded, and its refusal passed on" lacks "NCCL 2.*from $real" \
        build/nccltune bench --engine nccl --nccl-lib $real --topology "$topo" -o "$work/n.jsonl"
else
    skip "a real NCCL over the driver double" "no $real, or a GPU that would not refuse"
fi

# ---- what it is built from ----
newest() { objdump -T "$1" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1; }
at_most() { [ "$(printf '%s\n%s\n' "$(newest "$1")" "$2" | sort -V | tail -n 1)" = "$2" ] || { newest "$1"; return 1; }; }
only_libc() { ! readelf -d "$1" | grep NEEDED | grep -vE 'libc\.so\.6|libm\.so\.6|ld-linux'; }
check "the worker needs nothing newer than glibc 2.34" at_most build/nccltune-worker GLIBC_2.34
check "and no other library" only_libc build/nccltune-worker
include=/usr/local/cuda/include
fits() { gcc -std=gnu11 -D_GNU_SOURCE -DREAL_HEADER -I. -I"$include" -w -fsyntax-only "$1"; }
if [ -e $include/nccl.h ] && [ -e $include/cuda_runtime.h ]; then
    check "the NCCL double declares what the installed <nccl.h> declares" fits tests/doubles/nccl_double.c
    check "the driver double declares what the installed <cuda.h> declares" fits tests/doubles/nccl_driver.c
else
    skip "the doubles against the real headers" "no <nccl.h> and <cuda.h>"
fi
finish
