#!/usr/bin/env bash
# nccltune bench with a real mpirun on this machine: a run, deaths, a full disk, interruption and resume, and a launch
# that somebody else has made.
#   NCCLTUNE  the program under test (build/nccltune), nccltune-bench beside it
# shellcheck disable=SC2016 # what stands in single quotes is expanded by the inner bash
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
nccltune=$(realpath "${NCCLTUNE:-build/nccltune}")
worker=$(dirname "$nccltune")/nccltune-bench
tmp=$(mktemp -d)
trap 'umount "$tmp/small" 2>/dev/null; rm -rf "$tmp"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

command -v mpirun >/dev/null || { skip "bench" "no mpirun on this machine" && finish; }

bench() { timeout -k 10 120 "$nccltune" bench --ranks-per-node 2 "$@"; }
quick=(--collectives "allreduce,broadcast" --max-bytes 64K --step-factor 16 --budget 6s)

# children PID: workers below that process, one pid a line.
children() {
    local p
    for p in $(pgrep -P "$1"); do
        [ "$(readlink "/proc/$p/exe")" = "$worker" ] && echo "$p"
        children "$p"
    done
}

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.1
    done
}
has_lines() { [ -e "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]; }
has_workers() { [ -n "$(children "$1")" ]; }
all_gone() {
    local p
    for p in $1; do [ ! -d "/proc/$p" ] || grep -q '^State:.Z' "/proc/$p/status" 2>/dev/null || return 1; done
}

# twice FILE: places that were measured more than once in a round.
twice() {
    sed 1d "$1" | grep -v '"times_us":\[\]' | sed -E 's/,"status".*//' | sort | uniq -d
}

# --- a run ------------------------------------------------------------------------------------------------------------
check "a quick run" bash -c '"$0" bench --ranks-per-node 2 "${@:2}" -o "$1" >"$1.table" 2>"$1.err"' \
    "$nccltune" "$tmp/run.jsonl" "${quick[@]}"
check "the table has every size of every collective" awk '
    /^# mpi .*: (allreduce|broadcast), 2 ranks on 1 node$/ { groups++ }
    /^ +[0-9]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ .*x[*? ]/ { rows++ }
    END { exit !(groups == 2 && rows >= 10) }' "$tmp/run.jsonl.table"
check "plain lines tell the progress" grep -q '% done, .* left: ' "$tmp/run.jsonl.err"
check "the default is measured at every size" bash -c '
    for bytes in 8 128 2048 32768 65536; do for coll in allreduce broadcast; do
        grep "\"collective\":\"$coll\",\"bytes\":$bytes," "$0" | grep "\"call\":{\"label\":\"default\"}" |
            grep -q "\"status\":\"ok\"" || exit 1
    done; done' "$tmp/run.jsonl"
check "more than one algorithm is tried" grep -q '"call":{"label":"recursive_doubling"' "$tmp/run.jsonl"
check "no data was wrong" bash -c '! grep -E "\"status\":\"(wrong|crashed|hung)\"" "$0"' "$tmp/run.jsonl"
check "nothing is measured twice in a round" test -z "$(twice "$tmp/run.jsonl")"

exchange() { timeout -k 10 120 "$nccltune" bench -q --ranks-per-node 3 --collectives alltoall,alltoallv --sizes 1001,60K --budget 4s --json -o "$tmp/json.jsonl"; }
check "points as JSON" bash -c "$(declare -f exchange); nccltune=$nccltune; tmp=$tmp; exchange | head -n 2 | grep -q nccltune-points/1"
check "an all-to-all with a hot rank comes out right at every size" test \
    "$(grep '"alltoallv"' "$tmp/json.jsonl" | grep '"status":"ok"' | grep -o '"bytes":[0-9]*' | sort -u | tr '\n' ' ')" = '"bytes":1000 "bytes":61440 '
check "and the data of an even one, too" bash -c '! grep -E "\"status\":\"(wrong|crashed|hung)\"" "$0"' "$tmp/json.jsonl"
"$nccltune" probe -o "$tmp/here.json" >/dev/null
bench --plan --hosts "n[1-2]" --topology "$tmp/here.json" --interfaces eth0,ib0 >"$tmp/plan" 2>"$tmp/plan.err"
check "a plan names launches and calls" bash -c 'grep -q "launches *default eth0 ib0" "$0" &&
    grep -q "allreduce.*recursive_doubling" "$0"' "$tmp/plan"

# --- refusals ---------------------------------------------------------------------------------------------------------
# expect CODE NAME ARG...: exit code and one line of error that is not empty.
expect() {
    local want=$1 name=$2 code
    shift 2
    bench "$@" >"$tmp/out" 2>"$tmp/err"
    code=$?
    if [ "$code" = "$want" ] && grep -q '^nccltune bench: \|^Try ' "$tmp/err"; then ok "$name"; else
        not_ok "$name (exit $code, wanted $want)"
        note "$tmp/err"
    fi
}
expect 2 "no output named"
expect 2 "an unknown collective" --collectives gossip -o "$tmp/x"
expect 2 "an unknown engine" --engine magic -o "$tmp/x"
expect 2 "an unknown option" --fast -o "$tmp/x"
expect 2 "a host name for a shell" --hosts 'a;reboot' -o "$tmp/x"
expect 3 "no mpirun" --mpirun /nonexistent/mpirun -o "$tmp/x"
expect 1 "an existing journal" "${quick[@]}" -o "$tmp/run.jsonl"
expect 1 "a host that does not exist" --hosts nccltune-no-such-host.invalid,nccltune-nor-this.invalid "${quick[@]}" \
    -o "$tmp/nohost.jsonl"
check "none of them left a file" test ! -e "$tmp/x"

# --- deaths -----------------------------------------------------------------------------------------------------------
bench --collectives allreduce --max-bytes 16M --step-factor 16 --budget 12s -o "$tmp/killed.jsonl" >"$tmp/killed.table" 2>"$tmp/killed.err" &
run=$!
wait_for 30 has_lines "$tmp/killed.jsonl" 4
for victim in $(children "$run" | tail -n 1); do kill -9 "$victim"; done
wait "$run"
code=$?
check "a killed rank: exit code 1" test "$code" = 1
check "a killed rank is journalled as crashed, with the last words" \
    grep -qE '"status":"crashed",.*"detail":".*signal 9' "$tmp/killed.jsonl"
check "the sweep went on to every size" bash -c '
    for bytes in 8 128 2048 32768 524288 8388608 16777216; do
        grep "\"bytes\":$bytes," "$0" | grep "\"call\":{\"label\":\"default\"}" | grep -q "\"status\":\"ok\"" || exit 1
    done' "$tmp/killed.jsonl"

bench --collectives allreduce --max-bytes 16M --step-factor 16 --budget 15s --watchdog 1s -o "$tmp/hung.jsonl" >/dev/null 2>"$tmp/hung.err" &
run=$!
wait_for 30 has_lines "$tmp/hung.jsonl" 3
frozen=$(children "$run" | tail -n 1)
kill -STOP "$frozen"
wait "$run"
code=$?
check "a frozen rank: exit code 1" test "$code" = 1
check "a frozen rank is journalled as hung" grep -q '"status":"hung",.*no answer within' "$tmp/hung.jsonl"
check "a frozen rank does not outlive its launch" wait_for 10 all_gone "$frozen"

# --- wrong data -------------------------------------------------------------------------------------------------------
double=build/tests/doubles/wrong_allreduce.so
[ -e "$double" ] || make -s "$double"
bench --collectives allreduce --min-bytes 512 --max-bytes 512 --budget 4s \
    --mpirun-args "-x LD_PRELOAD=$(realpath "$double")" -o "$tmp/wrong.jsonl" >"$tmp/out" 2>"$tmp/err"
code=$?
check "wrong data: exit code 1" test "$code" = 1
check "wrong data: rank and element are named" \
    grep -q '"status":"wrong",.*rank 1: element 7 is [0-9]*, expected [0-9]*' "$tmp/wrong.jsonl"
check "wrong data: no time of it counts" bash -c '! grep -q "\"status\":\"ok\"" "$0"' "$tmp/wrong.jsonl"

# --- a full disk ------------------------------------------------------------------------------------------------------
mkdir "$tmp/small"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=16k none "$tmp/small" 2>/dev/null; then
    bench --collectives allreduce --budget 20s -o "$tmp/small/r.jsonl" >"$tmp/out" 2>"$tmp/err"
    code=$?
    check "a full disk: exit code 1" test "$code" = 1
    check "a full disk: the error names the file" grep -q "small/r.jsonl: cannot be written: No space left" "$tmp/err"
    check "a full disk: the journal ends in a whole line" test "$(tail -c 1 "$tmp/small/r.jsonl" | od -An -c | tr -d ' ')" = '\n'
    mount -o remount,size=1m "$tmp/small"
    bench --resume --collectives allreduce --budget 4s -o "$tmp/small/r.jsonl" >"$tmp/out" 2>"$tmp/err"
    code=$?
    check "with room again it goes on" test "$code" = 0
    check "and measures nothing twice" test -z "$(twice "$tmp/small/r.jsonl")"
    umount "$tmp/small"
else
    skip "a full disk" "needs root and a mountable tmpfs"
fi

# --- interruption -----------------------------------------------------------------------------------------------------
"$nccltune" bench --ranks-per-node 2 "${quick[@]}" -o "$tmp/int.jsonl" >"$tmp/out" 2>"$tmp/err" &
run=$!
wait_for 30 has_lines "$tmp/int.jsonl" 10
wait_for 10 has_workers "$run"
workers=$(children "$run")
began=$SECONDS
kill -INT "$run"
wait "$run"
code=$?
check "^C: exit code 130" test "$code" = 130
check "^C: it says how to go on" grep -q -- '--resume' "$tmp/err"
check "^C: the workers are gone" all_gone "$workers"
check "^C: it took no more than a few seconds" test $((SECONDS - began)) -le 10
before=$(wc -l <"$tmp/int.jsonl")
cp "$tmp/int.jsonl" "$tmp/int.before"
printf '{"engine":"mpi","coll' >>"$tmp/int.jsonl"
bench "${quick[@]}" --resume -o "$tmp/int.jsonl" >"$tmp/out" 2>"$tmp/err"
code=$?
check "--resume: exit code 0" test "$code" = 0
check "--resume: what was there is there, the broken line is not" \
    bash -c 'head -n "$2" "$0" | cmp - "$1" && ! grep -q "coll$" "$0"' "$tmp/int.jsonl" "$tmp/int.before" "$before"
check "--resume: it went on" test "$(wc -l <"$tmp/int.jsonl")" -gt "$before"
check "--resume: nothing was measured twice" test -z "$(twice "$tmp/int.jsonl")"

# --- somebody else's launch -------------------------------------------------------------------------------------------
check "under an mpirun" bash -c 'timeout -k 10 120 mpirun --oversubscribe -np 2 "$0" bench -q "${@:2}" -o "$1" >"$1.table"' \
    "$nccltune" "$tmp/under.jsonl" "${quick[@]}"
check "rank 0 alone prints one table" test "$(grep -c '^# mpi .*allreduce, 2 ranks on 1 node' "$tmp/under.jsonl.table")" = 1
check "only the launch as it is was measured" bash -c '! grep -v "\"launch\":{\"label\":\"default\"}" "$0" | sed 1d | grep -v "^{.noise" | grep .' \
    "$tmp/under.jsonl"
finish
