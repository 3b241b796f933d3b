#!/usr/bin/env bash
# Profiles end to end: what generate writes, read by the real OpenMPI and the real shells; the whole pipeline of tune,
# interrupted, resumed, without a launcher, on a full disk.
#
# Which calls a rule reaches is seen by giving it an algorithm number that OpenMPI does not have (99): exactly those
# calls fail.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh

bin=$PWD/build/nccltune
fixtures=$PWD/tests/fixtures/envgen
scratch=$(mktemp -d)
trap 'mountpoint -q "$scratch/disk" && umount "$scratch/disk"; rm -rf "$scratch"' EXIT
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

if ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null; then
    skip "profiles end to end" "no OpenMPI"
    finish
fi

# journal COLLECTIVE VARIABLE ALGORITHM: two candidates at 1 KiB on 4 ranks, of which the named one is twice as fast in each
# of five starts.
journal() {
    local round head
    for round in {1..5}; do
        head='"engine": "mpi", "bytes": 1024, "nodes": 1, "ranks": 4, "library": "Open MPI 4.1.4", "status": "ok"'
        head="{$head, \"round\": $round, \"collective\": \"$1\", \"launch\": {\"label\": \"default\", \"settings\": {}}"
        echo "$head, \"call\": {\"label\": \"default\", \"settings\": {}}, \"times_us\": [100, 101, 99.$round]}"
        echo "$head, \"call\": {\"label\": \"x\", \"settings\": {\"coll_tuned_$2_algorithm\": \"$3\"}}, \"times_us\": [50, 51, 49]}"
    done
}

# nccl.conf from the topology alone, but for the line with nccltune's version.
same_conf() {
    "$bin" generate --topology "$fixtures/topology.json" -o "$scratch/of-topology" >/dev/null &&
        diff <(grep -v '^# Written by' "$scratch/of-topology/nccl.conf") <(grep -v '^# Written by' examples/nccl.conf)
}

# profile NAME ALGORITHM: one with a rule from 1 KiB on for every collective.
profile() {
    {
        echo '{"format": "nccltune-results/1", "topology": ""}'
        journal allreduce allreduce "$2"
        journal broadcast bcast "$2"
        journal allgather allgather "$2"
        journal reducescatter reduce_scatter "$2"
    } >"$scratch/$1.jsonl"
    "$bin" generate --topology "$fixtures/topology.json" --results "$scratch/$1.jsonl" -o "$scratch/$1"
}

# calls RANKS COLLECTIVE BYTES...: what came of each, on one line.
calls() {
    local ranks=$1
    shift
    timeout 60 mpirun "${mpirun_args[@]}" --oversubscribe --mca btl self,vader -np "$ranks" "$scratch/coll_calls" "$@" |
        tr '\n' ' '
}
# expect TEXT RANKS COLLECTIVE BYTES...
expect() {
    local text=$1 found
    shift
    found=$(calls "$@")
    [ "$found" = "$text " ] || { echo "expected '$text', found '$found'"; return 1; }
}
mpirun_args=()

check "the calling program builds" mpicc -o "$scratch/coll_calls" tests/tools/coll_calls.c
check "generate writes a profile" profile rules 99
rules=$scratch/rules

# ---- OpenMPI reads the rules -----------------------------------------------------------------------------------------
mpirun_args=(--tune "$rules/openmpi-mca-params.conf")
check "rules reach the measured ranks, at the measured size" expect "0 ok 1020 ok 1024 error 1028 ok" 4 allreduce 0 1020 1024 1028
for ranks in 2 3 5; do
    check "rules do not reach $ranks ranks" expect "1020 ok 1024 ok 1048576 ok" $ranks allreduce 1020 1024 1048576
done
for coll in bcast allgather reduce_scatter; do
    check "$coll has its rule, by the size of the whole" expect "1020 ok 1024 error" 4 $coll 1020 1024
done
mpirun_args=()
check "without the profile nothing fails" expect "1024 ok" 4 allreduce 1024
check "OMPI_MCA_mca_base_param_files reads the parameters" \
    env OMPI_MCA_mca_base_param_files="$rules/openmpi-mca-params.conf" bash -c "$(declare -f calls expect); mpirun_args=(); scratch='$scratch'; expect '1024 error' 4 allreduce 1024"
for shell in bash dash; do
    # shellcheck disable=SC2016
    check "openmpi.sh sourced by $shell under set -eu reaches OpenMPI" \
        "$shell" -c 'set -eu; . "$1/openmpi.sh"; test "$(timeout 60 mpirun --oversubscribe --mca btl self,vader -np 4 "$2" allreduce 1020 1024 | tr "\n" " ")" = "1020 ok 1024 error "' \
        x "$rules" "$scratch/coll_calls"
    # shellcheck disable=SC2016
    check "NCCLTUNE=off leaves OpenMPI alone ($shell)" \
        "$shell" -c 'set -eu; NCCLTUNE=off; . "$1/openmpi.sh"; test "$(timeout 60 mpirun --oversubscribe --mca btl self,vader -np 4 "$2" allreduce 1024)" = "1024 ok"' \
        x "$rules" "$scratch/coll_calls"
done
mv "$rules" "$scratch/moved"
# shellcheck disable=SC2016
check "a profile that was moved finds its rules (bash)" \
    bash -c 'set -eu; . "$1/openmpi.sh"; test "$(timeout 60 mpirun --oversubscribe --mca btl self,vader -np 4 "$2" allreduce 1024)" = "1024 error"' \
    x "$scratch/moved" "$scratch/coll_calls"
# shellcheck disable=SC2016
check "a profile that was moved breaks nothing (dash)" \
    dash -c 'set -eu; . "$1/openmpi.sh"; test "$(timeout 60 mpirun --oversubscribe --mca btl self,vader -np 4 "$2" allreduce 1024)" = "1024 ok"' \
    x "$scratch/moved" "$scratch/coll_calls"
mkdir -p "$scratch/it's a \$HOME"
check "a profile under a strange path" profile "it's a \$HOME/p" 99
# shellcheck disable=SC2016
check "its openmpi.sh works in dash" \
    dash -c 'set -eu; . "$1/openmpi.sh"; test "$(timeout 60 mpirun --oversubscribe --mca btl self,vader -np 4 "$2" allreduce 1024)" = "1024 error"' \
    x "$scratch/it's a \$HOME/p" "$scratch/coll_calls"

# ---- the profile as a whole ------------------------------------------------------------------------------------------
status() { # status EXPECTED COMMAND...
    local expected=$1 code=0
    shift
    "$@" || code=$?
    [ "$code" = "$expected" ] || { echo "exit code $code, expected $expected"; return 1; }
}
says() { # says TEXT COMMAND...
    local text=$1 out
    shift
    out=$("$@" 2>&1)
    [[ $out == *"$text"* ]] || { echo "'$text' is missing in: $out"; return 1; }
}
hash_fits() {
    local files
    files=$(cd "$1" && find . -type f ! -name manifest.json -printf '%P\n' | LC_ALL=C sort)
    # shellcheck disable=SC2086
    grep -q "$(cd "$1" && sha256sum $files | sha256sum | cut -d' ' -f1)" "$1/manifest.json"
}
moved=$scratch/moved
check "the profile's name is what sha256sum says" hash_fits "$moved"
check "a complete profile is not overwritten" status 1 "$bin" generate -t "$fixtures/topology.json" -o "$moved"
check "explain names the rule of a call" says "algorithm 99" "$bin" explain "$moved" --collectives allreduce --bytes 1K --nodes 1 --ranks 4
check "explain says that it is no NCCL result" says "not an NCCL result" "$bin" explain "$moved" --collectives allreduce --bytes 1K
check "explain --json is JSON" bash -c "'$bin' explain '$moved' --json | python3 -m json.tool"
echo >>"$moved/tuner.csv"
check "a file that was changed is named" says "$moved/tuner.csv" "$bin" explain "$moved"
check "and is an error" status 1 "$bin" explain "$moved"
check "--force makes the profile anew" status 0 "$bin" generate -t "$fixtures/topology.json" --force -o "$moved"
azure() { "$bin" probe --machine azure-ndv5 -o "$scratch/azure.json" && NCCL_IGNORE_CPU_AFFINITY=0 \
    "$bin" generate -t "$scratch/azure.json" -o "$scratch/azure" >/dev/null; }
check "a cloud's machine gets what its maker publishes" azure
check "as a setting where NCCL cannot know" grep -qx NCCL_TOPO_FILE=/opt/microsoft/ndv5/topo.xml "$scratch/azure/nccl.conf"
check "and what the site sets stays" test -z "$(grep ^NCCL_IGNORE_CPU_AFFINITY "$scratch/azure/nccl.conf")"
check "explain has the source" grep -q azhpc-images <("$bin" explain "$scratch/azure" NCCL_TOPO_FILE)
check "no input is a usage error" status 2 "$bin" generate -o "$moved"
check "an unknown collective is a usage error" status 2 "$bin" explain "$moved" --collectives allreduces --bytes 8
check "a margin that is none is a usage error" status 2 "$bin" generate -t x -m tiny -o "$moved"
check "explain of no profile is an error" status 1 "$bin" explain "$scratch"

# ---- the pipeline ----------------------------------------------------------------------------------------------------
tuned=$scratch/tuned
check "tune makes a profile of this machine" status 0 timeout 120 "$bin" tune --budget 5s --max-bytes 4K -o "$tuned"
check "which explain accepts" status 0 "$bin" explain "$tuned"
check "which is not tuned over" status 1 "$bin" tune --budget 5s -o "$tuned"
check "tune --resume of a complete profile shows it" says "Profile: $tuned" "$bin" tune --resume -o "$tuned"
no_plugin() { ! "$bin" tune --resume -o "$1" 2>&1 | grep -E "NCCL_TUNER_PLUGIN|NCCLTUNE_PROFILE"; }
check "a job needs no plugin for a profile without rules of NCCL" no_plugin "$tuned"
before=$(sha256sum <"$tuned/manifest.json")
check "tune --force with a wrong option" status 2 "$bin" tune --force --min-bytes 64 --max-bytes 8 -o "$tuned"
after=$(sha256sum <"$tuned/manifest.json")
check "leaves the old profile as it was" test "$before" = "$after"
check "and so does one without a launcher" status 3 "$bin" tune --force --mpirun /nowhere/mpirun -o "$tuned"
check "which still has what was measured" says "allreduce" "$bin" explain "$tuned"
check "generate reports a full standard output" status 1 bash -c '"$@" >/dev/full' - \
    "$bin" generate -t "$fixtures/topology.json" -o "$scratch/unseen"

# A journal that praises a rule which is bad for certain, so that it shows whether OpenMPI had it: verify must see through it.
praise() {
    local us head
    echo "{\"format\": \"nccltune-results/1\", \"topology\": \"$("$bin" explain "$tuned" --json | jq -r .topology)\"}"
    head='"engine": "mpi", "library": "Open MPI 4.1.4", "collective": "broadcast", "bytes": 1048576, "nodes": 1, "ranks": 2, "status": "ok", "launch": {"label": "default", "settings": {}}'
    for us in 100 101 99 102 98; do
        echo "{$head, \"round\": $us, \"call\": {\"label\": \"default\", \"settings\": {}}, \"times_us\": [$us, $us, $us, $us, $us, $us]}"
        echo "{$head, \"round\": $us, \"call\": {\"label\": \"pipeline\", \"settings\": {\"coll_tuned_bcast_algorithm\": \"3\", \"coll_tuned_bcast_algorithm_segmentsize\": \"16\"}}, \"times_us\": [20, 20, 20, 20, 20, 20]}"
    done
}
praise >"$scratch/praise.jsonl"
check "a rule of OpenMPI from a journal" "$bin" generate -q --topology "$tuned/topology.json" --results "$scratch/praise.jsonl" -o "$scratch/praised"
check "a job is told of its rules" says "source $scratch/praised/openmpi.sh" "$bin" tune --resume -o "$scratch/praised"
check "but of no plugin" no_plugin "$scratch/praised"

# What make run shows, with a small budget: it ends with commands that run as they stand there.
# shellcheck disable=SC2016 # the wrapper's own
printf '#!/bin/sh\n[ "$1" != tune ] || set -- "$@" --budget 5s --max-bytes 4K\nexec "%s" "$@"\n' "$bin" >"$scratch/nccltune"
chmod +x "$scratch/nccltune"
run() { tools/run "$scratch/nccltune" "$scratch/run" >"$scratch/run.txt" 2>&1; }
check "make run" run
check "finds something true: two of eight HCAs" grep -q 'costs up to 2.6x' "$scratch/run.txt"
check "says what the machine is" grep -q "^Machine: .* (1 node): 0 GPUs" "$scratch/run.txt"
check "all of it but progress fits a screen" test "$(grep -vc "^nccltune tune: \|% done" "$scratch/run.txt")" -le 30
check "says what was measured" grep -q '^Measured: .* with Open MPI .* on 1 node' "$scratch/run.txt"
check "names three commands" test "$(sed '1,/^Next:/d' "$scratch/run.txt" | wc -l)" = 3
next=$(sed -nE 's/^ +([^ ]*nccltune explain [^ ]*)  +.*/\1/p' "$scratch/run.txt")
check "the first command explains it" says "  written" bash -c "$next"
check "another is for a cluster" grep -q "nccltune tune --hosts 'node\[1-4\]' -o /shared/profile  " "$scratch/run.txt"

open_end() { # without a budget: one time, and that it may be longer; ^C says how to go on
    "$bin" tune -o "$scratch/open" 2>"$scratch/open.txt" &
    local pid=$!
    timeout 60 sh -c "until grep -q measuring '$scratch/open.txt'; do sleep 0.1; done"
    kill -INT "$pid"
    wait "$pid"
    [ $? = 130 ] && grep -q "measuring .* for 60 s, or longer where a start is slow (at most 1 h), with" "$scratch/open.txt" &&
        grep -q "interrupted; .*tune --resume -o $scratch/open. goes on$" "$scratch/open.txt"
}
check "tune names one time, ^C the way on" open_end

verify() { timeout 60 "$bin" verify "$scratch/praised" -q --budget 16s --json >"$scratch/verify.json"; }
check "verify measures it with OpenMPI (status 1: it does not hold)" status 1 verify
check "where nothing can be measured" status 3 "$bin" verify "$scratch/praised" -q --mpirun /nowhere
check "the example of a health check" env PATH="$(dirname "$bin"):$PATH" NCCLTUNE_HEALTH_PROFILE="$scratch/praised" \
    examples/health-check.sh
check "and says by how much" jq -e '.rules[0] | .collective == "bcast" and .ranks == 2 and .verdict == "refuted" and .gain < 0.8 and .gain_high < 1' "$scratch/verify.json"
check "at the size that it was made for" jq -e '[.points[].bytes] == [1048576]' "$scratch/verify.json"
check "not with an engine that no job uses" status 2 "$bin" verify "$scratch/praised" --engine model

site=(--no-hooks --store "$scratch/store" --nccl-conf "$scratch/site.conf")
check "it is installed; status 1: without NCCL settings no job gets it" status 1 "$bin" install-profile "$scratch/praised" "${site[@]}"
check "and taken back, with a word" says "get nothing from $scratch/store; its profiles stay" \
    "$bin" install-profile --uninstall --store "$scratch/store" --nccl-conf "$scratch/site.conf"

begun=$scratch/begun
mkdir "$scratch/temporary"
# A shell makes background jobs ignore SIGINT; python gives it back.
TMPDIR=$scratch/temporary python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' \
    "$bin" tune --budget 14s --collectives allreduce --max-bytes 16M -o "$begun" >"$scratch/begun.log" 2>&1 &
pid=$!
for _ in $(seq 300); do
    [ "$(wc -l 2>/dev/null <"$begun/results.jsonl" || echo 0)" -gt 10 ] && break
    sleep 0.1
done
kill -INT $pid
code=0
wait $pid || code=$?
cp "$begun/results.jsonl" "$scratch/before.jsonl"
if [ $code = 130 ]; then ok "^C ends tune with 130"; else not_ok "^C ends tune with 130, not $code" && note "$scratch/begun.log"; fi
check "OpenMPI has removed its session's directory" test -z "$(find "$scratch/temporary" -name 'pid.*')"
check "the profile is not complete then" status 1 "$bin" explain "$begun"
check "tune does not start over by itself" status 1 "$bin" tune --budget 5s -o "$begun"
# shellcheck disable=SC2016 # what is printed
check "and tells how to go on, with what is left of its budget" grep -Eq 'interrupted; `.*` goes on; [0-9.]+ s are left of its budget' "$scratch/begun.log"
# shellcheck disable=SC2016 # what is printed
again=$(sed -n 's/.*interrupted; `\(.*\)` goes on.*/\1/p' "$scratch/begun.log")
resume() { timeout 120 sh -c "$again $*" >"$scratch/resumed.log" 2>&1; }
planned() { sh -c "$again --plan --json" | jq -e '.profiles[0].plan.time[0].time_s < 14'; }
check "so does its plan" planned
check "the line that was printed finishes it" status 0 resume
check "at the points that were asked for" test "$(jq -r '.collective // empty' "$begun/results.jsonl" | sort -u)" = allreduce
check "in what is left of its budget" grep -Eq "for at most ([0-9]|1[0-3])(\.[0-9]+)? s with" "$scratch/resumed.log"
check "and of no other time is spoken" test -z "$(grep 'for at least' "$scratch/resumed.log")"
check "what was measured before is kept" cmp -n "$(stat -c %s "$scratch/before.jsonl")" "$scratch/before.jsonl" "$begun/results.jsonl"
check "and the profile is whole" status 0 "$bin" explain "$begun"

check "without a launcher: exit code 3" status 3 "$bin" tune --mpirun /nowhere/mpirun -o "$scratch/bare"
check "and a profile of the topology alone" says "No collective was measured" "$bin" explain "$scratch/bare"

mkdir "$scratch/disk"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=16k none "$scratch/disk" 2>/dev/null; then
    check "a full disk is an error" status 1 timeout 120 "$bin" tune --budget 5s --max-bytes 4K -o "$scratch/disk/p"
    check "and leaves no manifest behind" test ! -e "$scratch/disk/p/manifest.json"
else
    skip "a full disk" "no tmpfs"
fi

# ---- what examples/ shows --------------------------------------------------------------------------------------------
check "the sample profile is whole" says "NCCL_BUFFSIZE = 8388608" "$bin" explain examples/profile
sample() {
    "$bin" generate -q -t examples/profile/topology.json --results examples/profile/results.jsonl \
        --fabric examples/profile/fabric.json -o "$scratch/sample" || return 1
    for file in nccl.conf tuner.csv; do diff -I '^# Written by' -I '^# tool:' -I 'pairs of sessions' -I 'MiB alone' "examples/profile/$file" "$scratch/sample/$file" || return 1; done
}
check "its journal leads to the same settings and rules today" sample
check "its journal is read by ten lines of Python" says "buffer=8M  tree/ll" examples/read_journal.py examples/profile/results.jsonl
check "nccl.conf of the examples is what generate writes" same_conf
check "lint has nothing to say of the examples" status 0 "$bin" lint --strict examples/nccl.conf examples/*.sbatch examples/kubernetes/*.yaml examples/*.sh
# ---- what nccl-tests have printed ------------------------------------------------------------------------------------------
# log RUNS: so many runs of the default and of tree/ll, which is twice as fast, in turn, on two nodes.
log() {
    local i c rank
    for i in $(seq "$1"); do
        for c in "100.$i" "50.$i NCCL_ALGO=Tree NCCL_PROTO=LL"; do
            echo "+ ${c#* } mpirun -np 4 ./all_reduce_perf -b 1M"
            echo "# nccl-tests version 2.17.6 nccl-library=22809"
            for rank in 0 1 2 3; do echo "#  Rank $rank Group 0 Pid 1$rank on n$((rank / 2)) device $((rank % 2)) [0x1b] GPU"; done
            echo "# size count type redop root time algbw busbw #wrong"
            echo " 1048576 262144 float sum -1 ${c%% *} 1 1 0"
        done
    done >"$scratch/runs-$1.log"
    "$bin" generate --topology "$fixtures/topology.json" --results "$scratch/runs-$1.log" -o "$scratch/of-log-$1" 2>&1
}
check "generate takes nccl-tests' log: six runs in turn make a rule" grep -q "tree/ll .*1.99x" <(log 6)
check "which is in the table" grep -q "^allreduce,.*,tree,ll,-1,2,4," "$scratch/of-log-6/tuner.csv"
check "one run proves nothing, and is told how many do" \
    grep -q "allreduce .* default .*not proven: 1 run of tree/ll at 1 MiB, at least 5 are needed: run it and the baseline 4 more times, in turn" <(log 1)

finish
