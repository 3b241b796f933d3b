#!/usr/bin/env bash
# Jobs that tune themselves, as torchrun would start them, over the doubles of NCCL: what they leave becomes a table, jobs
# under that table find something better, and what they agree on is installed.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH=$PWD/build/tests/doubles/lib NCCL_DOUBLE_LAW=$work/law DRIVER_DOUBLE_GPUS=2 NCCL_SOCKET_IFNAME=lo
plugin=$PWD/build/libnccl-tuner-nccltune.so
cc -std=gnu11 -D_GNU_SOURCE -I. -o "$work/job" tests/tools/online_job.c core/launcher.c -Lbuild/tests/doubles/lib \
    -l:libnccl.so.2 -l:libcuda.so.1 || { not_ok "a job builds"; finish; }
# law TREE LL: NCCL takes Ring with Simple, 1 ms. What it believes to be more than eight times as slow is not tried.
law() {
    cat >"$NCCL_DOUBLE_LAW" <<EOF
channels 8
cache 1000000 1
cell allreduce ring simple latency=1000 GBps=1000000
cell allreduce tree simple latency=$1 GBps=1000000 predict=3
cell allreduce ring ll latency=$2 GBps=1000000 predict=5
EOF
}
# job NUMBER UNTIL_US [VARIABLE=VALUE]...: four ranks on two nodes; $work/NUMBER.out has what they say. Those of the second
# node have the variables of $other, too. As with torchrun, one that fails ends all.
job() {
    local number=$1 until_us=$2 rank pids=() more pid
    shift 2
    mkdir "$work/$number"
    for rank in 0 1 2 3; do
        more=()
        [ "$rank" -lt 2 ] || more=("${other[@]}")
        (
            env RANK="$rank" WORLD_SIZE=4 LOCAL_RANK=$((rank % 2)) LOCAL_WORLD_SIZE=2 GROUP_WORLD_SIZE=2 NCCL_HOSTID=node$((rank / 2)) \
                MASTER_ADDR=127.0.0.1 MASTER_PORT=$$ SLURM_JOB_ID="$number" NCCLTUNE_CAPTURE="$work/learned" NCCLTUNE_ONLINE=tune \
                NCCLTUNE_ONLINE_REGRET=20 NCCLTUNE_KEY="a key of this job's" NCCL_TUNER_PLUGIN="$plugin" NCCL_PROFILER_PLUGIN="$plugin" "$@" "${more[@]}" \
                timeout 60 "$work/job" "$work/$number" "$until_us" "${SECONDS_MOST:-40}" >>"$work/$number.out" 2>&1 &
            child=$!
            trap 'kill "$child"' TERM
            wait "$child" || : >"$work/$number/failed"
        ) &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        while kill -0 "$pid" 2>/dev/null; do
            [ ! -e "$work/$number/failed" ] || kill "${pids[@]}" 2>/dev/null
            sleep 0.05
        done
    done
    [ ! -e "$work/$number/failed" ]
}
other=()
law 600 2000
check "a job changes to Tree, which NCCL does not choose, on all ranks" job 101 700
check "so does another" job 102 700
check "each leaves a journal" grep -q '"tree/simple".*"beside_us".*"measured inside job 102 on 2 nodes"' "$work/learned/102.learned.0.jsonl"

# ---- the next job starts with it ----
build/nccltune probe -o "$work/topology.json" >/dev/null 2>&1
generate() { build/nccltune generate --topology "$work/topology.json" --results "$work/learned/101.learned.0.jsonl" -o "$work/profile"; }
check "generate reads it like any other" generate
check "the table has a row" grep -q '^allreduce,.*,tree,simple,' "$work/profile/tuner.csv"
explained() { build/nccltune explain "$work/profile" --collectives allreduce --bytes 1M --nodes 2 --ranks 4; }
check "explain says where it was measured" grep -q 'results.jsonl:[0-9]* (measured inside job 101 on 2 nodes)' <(explained)

# ---- jobs under the table, where something else has become best ----
rm -r "$work/learned"
law 600 300
for number in 103 104; do
    check "job $number leaves its table's row for what is better" job $number 400 NCCLTUNE_PROFILE="$work/profile"
done
check "it has tried NCCL's own choice, too" grep -q '"default"' "$work/learned/103.learned.0.jsonl"
install() { build/nccltune install-profile "$work/profile" --learned "$work/learned" --store "$work/store" --plugin "$plugin" --no-nccl-conf "$@" >"$work/install" 2>&1; }
one_job() { mkdir "$work/one" && cp "$work"/learned/103.* "$work/one" && build/nccltune install-profile "$work/profile" --learned "$work/one" --store "$work/store" --no-nccl-conf; }
check "what one job alone has found changes nothing" grep -q 'nothing of it changes' <(one_job)
check "what two agree on is said before it is installed" install
check "... by name" grep -q 'ring/ll' "$work/install"
check "... and not done" test ! -e "$work/store" -a "$(grep -c 'nothing is installed: --yes does' "$work/install")" = 1
check "with --yes it is" install --yes
check "the next job has it from its first call" job 105 400 NCCLTUNE_ONLINE=off NCCLTUNE_PROFILE="$work/store/current"

# ---- one node with another table, one without any of this ------------------------------------------------------------------
echo "allreduce,0,-1,ring,ll,-1,-1,-1" >"$work/other.csv"
other=(NCCLTUNE_PROFILE= "NCCL_TUNER_CONFIG_FILE=$work/other.csv")
wrong() { ! job 106 400 NCCLTUNE_PROFILE="$work/profile" && grep -q 'rank [23] on .* has .*, rank 0 on .* has' "$work/106.out" && grep -q '^ncclAllReduce.*: 5' "$work/106.out"; }
check "a node with another table is named at once, and the job ends" wrong
other=(NCCLTUNE=off)
law 600 2000
untouched() { ! SECONDS_MOST=2 job 107 700 && grep -q 'the last 1000 us' "$work/107.out"; }
check "NCCLTUNE=off on one node is enough for all to be as they are without" untouched
[ "$tap_failed" = 0 ] || { note "$work/install"; cat "$work"/10*.out; }
finish
