#!/usr/bin/env bash
# The nccl engine over the doubles of NCCL and the GPU driver: faults, ^C, resume, what the machine lacks; and that the
# doubles and the worker fit the real interfaces as far as this machine has them.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
# shellcheck source=tests/lib/nccl.sh
. tests/lib/nccl.sh

# ---- faults ----
# fault NAME STATUS FAULT WORDS: the sweep goes on, ends with status 1, and the journal has STATUS with WORDS. One launch
# alone: in each the fault costs seconds anew.
fault() {
    local name=$1 status=$2 rc=0
    rm -f "$work/f.jsonl"
    NCCL_BUFFSIZE=4194304 NCCL_MAX_CTAS=32 NCCL_DOUBLE_FAULT=$3 bench --budget 6s --watchdog 1s --first-use-patience 1s --collectives allreduce --max-bytes 64K --step-factor 64 \
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
    NCCL_DOUBLE_FAULT=$1 bench --budget 15s --shapes 1x3 --collectives "$2" --sizes 64K -o "$work/h.jsonl" >"$work/h.log" 2>&1
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
check "--resume goes on" bench --budget 4s --collectives allreduce --max-bytes 1M --resume -o "$work/i.jsonl"
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
