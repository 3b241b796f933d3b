#!/usr/bin/env bash
# workload and diagnose as a person runs them, on our own samples.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nccltune=build/nccltune

first=$work/job.json
check "a job is written" $nccltune workload --model qwen2.5-7b --framework fsdp2 --algorithm grpo -o "$first"
check "files are merged" $nccltune workload --merge "$first" "$first" -o "$work/merged.json"
check "an unknown model is refused" bash -c "! $nccltune workload --model nonsense --framework fsdp2 -o $work/x && [ ! -e $work/x ]"
# verdict FILE JQ-LIKE-PYTHON: evaluates an expression over d, the JSON that diagnose prints.
verdict() { $nccltune diagnose --json "$1" | python3 -c "import json, sys; d = json.load(sys.stdin); sys.exit(not ($2))"; }
check "sync at 45 % is communication" verdict tests/fixtures/diagnose/steps-sync.log 'abs(d["communication_share"] - 0.45) < 0.01'
check "a rollout that dominates is not" verdict tests/fixtures/diagnose/verl-rollout.log 'd["communication_share"] < 0.3'

# ---- a capture, from what NCCL would find by its name to one workload of the job ----
mkdir "$work/lib" "$work/profile"
check "the capture's driver builds" cc -std=gnu11 -D_GNU_SOURCE -I. -o "$work/drive" tests/tools/drive_profiler.c core/coll.c -ldl
ln -s "$PWD/build/libnccl-profiler-nccltune.so" "$work/lib/"
export NCCLTUNE_CAPTURE_TIMES=1 NCCL_ALLGATHERV_ENABLE=0
for rank in 0 1 2 3; do
    check "rank $rank runs" env LD_LIBRARY_PATH="$work/lib" NCCL_PROFILER_PLUGIN=nccltune NCCLTUNE_CAPTURE="$work/capture" \
        SLURM_JOB_ID=7 RANK=$rank WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 "$work/drive" 25
done
check "there is a file for every rank, and nothing else" test "$(find "$work/capture" -type f -printf '%f ' | tr ' ' '\n' | sort | xargs)" = \
    "7.rank.0.json 7.rank.1.json 7.rank.2.json 7.rank.3.json"
check "the ranks' files are merged" $nccltune workload --merge "$work"/capture/7.rank.*.json -o "$work/job.json"
# total COLLECTIVE BYTES COUNT GROUP PLACEMENT TIME_US: the one entry of that collective says so.
total() {
    python3 - "$work/job.json" "$@" <<'END'
import json, sys
path, coll, size, count, group, place, time = sys.argv[1:]
calls = [c for p in json.load(open(path))["phases"] for c in p["collectives"] if c["collective"] == coll]
print(calls)
same = [c["bytes"] == int(size) and c["count"] == int(count) and c["group_size"] == int(group) and c["placement"] == place
        and abs(c["time_us"] / float(time) - 1) < 0.07 for c in calls]
sys.exit(same != [True])
END
}
check "its AllReduces are those of one rank, at the fastest rank's time" total allreduce 4194304 25 4 cluster 700
check "its AllGathers within nodes are one entry" total allgather 262144 50 2 node 60
check "its messages are those of the busiest stage" total sendrecv 8192 25 2 cluster 20
# job NUMBER US LATE: a job that is observed; its first rank is the last to end, and what it says is kept.
job() {
    for rank in 3 2 1 0; do
        LD_LIBRARY_PATH="$work/lib" NCCL_PROFILER_PLUGIN=nccltune NCCLTUNE_CAPTURE="$work/fleet" NCCLTUNE_OBSERVE=${observe-1} SLURM_JOB_ID=$1 \
            RANK=$rank WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 DRIVE_US=$2 DRIVE_LATE=${3:--1} "$work/drive" 25 2>"$work/said" || return 1
    done
}
check "a job is observed, and nothing is said" bash -c "$(declare -f job); work=$work; job 8 4000 && job 9 4100 && ! grep . $work/said"
check "drift finds nothing" bash -c "$nccltune drift $work/fleet >$work/drift.txt && grep -q 'No rank is late' $work/drift.txt"
check "a job that is 2.1 times slower says so" bash -c "$(declare -f job); work=$work; job 10 8400 && grep -q 'job 10: allreduce of 4 MiB among 4 ranks takes 2.1 times as long as in job 8' $work/said"
check "a job that waits for rank 2 says so" bash -c "$(declare -f job); work=$work; job 11 1000 2 && grep -q 'job 11: rank 2 on .* comes last: the others waited 12.5 ms' $work/said"
check "drift names the slower job's call until a later job has it as before" bash -c "! $nccltune drift $work/fleet >$work/drift.txt && ! grep -q 'has become slower' $work/drift.txt"
check "drift names the node and the place on it" bash -c "grep -q \"node $(hostname) comes last in 1 of 4 jobs\" $work/drift.txt && grep -q 'rank 0 of a node .* 1 times on 1 nodes' $work/drift.txt"
rm "$work"/fleet/11.*
check "drift --json says how much slower" bash -c "! $nccltune drift --json $work/fleet >$work/drift.json; python3 -c \"
import json
d = json.load(open('$work/drift.json'))
(c,) = d['slower']
assert len(d['jobs']) == 3 and not d['waited_for'] and c['job'] == '10' and abs(c['times'] - 2.1) < 0.01, d\""
check "without NCCLTUNE_OBSERVE nothing is observed" bash -c "$(declare -f job); work=$work; observe= job 12 1000 2 &&
    ! grep . $work/said && [ -e $work/fleet/12.rank.0.json ] && [ ! -e $work/fleet/12.observed.json ] && [ -e $work/fleet/10.observed.json ]"
check "a directory without captures is an error" bash -c "! $nccltune drift $work/lib 2>$work/err && grep -q 'has no capture' $work/err"
check "without NCCLTUNE_CAPTURE nothing is written" bash -c "cd $work/profile && LD_LIBRARY_PATH=$work/lib NCCL_PROFILER_PLUGIN=nccltune RANK=0 $work/drive 5 && [ -z \"\$(ls -A)\" ]"

# ---- from a launch script to one number ----
check "a launch script becomes a workload" $nccltune workload --from-launch tests/fixtures/workload/launch/verl-grpo.sh --gpu h20 \
    -o "$work/grpo.json"
echo 'export NCCL_IB_HCA=mlx5_0,mlx5_1' >"$work/job.sh"
$nccltune whatif --machine dgx-a100 --nodes 2 --workload "$first" --script "$work/job.sh" --against NCCL_IB_HCA=mlx5 \
    --json >"$work/whatif.json"
check "all HCAs save what two of them cost" python3 -c "
import json, sys
d = json.load(open(sys.argv[1]))
before, after = (d['cases'][i]['communication']['time_us'] for i in (d['before'], -1))
sys.exit(not (after < 0.9 * before and d['changes'][0]['saves']['time_us'] > 0 and
              any('NCCL_IB_HCA' in c['change'] for c in d['changes']) and d['causes']))" "$work/whatif.json"
# 2 × 8 A100, settings for 4 of the 8 HCAs: 210 ms where 85 are due.
cat >"$work/allreduce.json" <<'END'
{"format": "nccltune-workload/1", "name": "gradients", "ranks": 16, "ranks_per_node": 8, "phases": [{"name": "gradient sync",
 "collectives": [{"collective": "allreduce", "bytes": 268435456, "count": 15, "group_size": 16, "placement": "cluster"}]}]}
END
printf 'export NCCL_IB_HCA=mlx5_0,mlx5_1,mlx5_2,mlx5_3 NCCL_IB_GID_INDEX=3\nexport NCCL_SOCKET_NTHREADS=4 NCCL_MIN_NRINGS=8\n' >"$work/four.sh"
$nccltune whatif --machine dgx-a100 --nodes 2 --workload "$work/allreduce.json" --script "$work/four.sh" --against NCCL_IB_HCA=mlx5 \
    --measured 210ms >"$work/headline"
said() { grep -qF "$1" "$work/headline"; }
check "210 ms is more than four HCAs account for" said "Measured 210.0 ms is more than the "
check "a measured time needs its job" bash -c "$nccltune whatif --machine dgx-a100 --nodes 2 --measured 210ms 2>&1 | grep -q -e '--bytes 4G or --usual 85ms'"
check "all HCAs would save some of it" said "1. with NCCL_IB_HCA=mlx5:"
for fault in "no GPUDirect RDMA: " "one slow NIC, such as " "the wrong NIC, one for all GPUs, such as " \
    "sockets for all or some of the ranks: "; do
    check "a candidate: $fault" said "$fault"
done
mkdir "$work/job"
cp tests/fixtures/diagnose/{verl-rollout.log,gpus.csv,swift-train.sh} "$work/job"
check "a job's directory is one diagnosis" verdict "$work/job" \
    'len(d["files"]) == 3 and d["gpus"] and d["opening"][0].startswith("The largest phase is rollout")'
check "one unreadable file does not silence the other" bash -c \
    "$nccltune diagnose $work/none tests/fixtures/diagnose/trend.log 2>/dev/null | grep -q 'The largest phase is rollout'"
check "a missing file is an error" bash -c "! $nccltune diagnose $work/none 2>$work/err && grep -q $work/none $work/err"

# ---- a job of four processes ends as it does without the plugins: data, status, and in time ----
unset NCCLTUNE_CAPTURE_TIMES NCCL_ALLGATHERV_ENABLE
doubles=$PWD/build/tests/doubles/lib
check "the job builds" cc -std=gnu11 -D_GNU_SOURCE -I. -o "$work/coll_job" tests/tools/coll_job.c -L"$doubles" -l:libnccl.so.2 -l:libcuda.so.1 -lpthread
# ranks VARIABLE=VALUE...: what the four ranks print, and how many failed.
ranks() {
    local rank failed=0 pids=()
    rm -f "$work/id"
    for rank in 0 1 2 3; do
        env LD_LIBRARY_PATH="$doubles" NCCL_DOUBLE_LAW="$PWD/tests/fixtures/nccl/law.txt" DRIVER_DOUBLE_GPUS=4 NCCL_SOCKET_IFNAME=lo RANK=$rank \
            WORLD_SIZE=4 LOCAL_WORLD_SIZE=4 SLURM_JOB_ID=5 "$@" "$work/coll_job" "$rank" 4 "$work/id" >"$work/rank.$rank" 2>&1 &
        pids+=($!)
    done
    for rank in 0 1 2 3; do
        wait "${pids[$rank]}" || failed=$((failed + 1))
    done
    cat "$work"/rank.[0-3] | grep -v "^nccltune: job 5: rank .* comes late" # a busy machine makes ranks late
    echo "$failed failed"
}
printf '%s\n' allreduce,0,65536,tree,ll,2,-1,-1 allreduce,65537,-1,ring,simple,4,-1,-1 broadcast,0,-1,ring,simple,4,-1,-1 \
    reducescatter,0,-1,ring,ll,-1,-1,-1 >"$work/table.csv"
table=(NCCL_TUNER_PLUGIN="$PWD/build/libnccl-tuner-nccltune.so" NCCL_TUNER_CONFIG_FILE="$work/table.csv")
captured=(NCCL_PROFILER_PLUGIN="$PWD/build/libnccl-profiler-nccltune.so" NCCLTUNE_CAPTURE="$work/loops" NCCLTUNE_OBSERVE=1)
ranks >"$work/alone"
check "the job runs: four ranks, none fails" test "$(grep -c '^rank' "$work/alone") $(tail -n 1 "$work/alone")" = "4 0 failed"
unchanged() { ranks "$@" >"$work/with"; diff "$work/alone" "$work/with"; }
for nccl in 22809 23007 23100; do
    check "NCCL $nccl: with a table" unchanged "${table[@]}" NCCL_DOUBLE_VERSION=$nccl
    check "NCCL $nccl: captured and observed" unchanged "${captured[@]}" NCCL_DOUBLE_VERSION=$nccl
    check "NCCL $nccl: with both, and times asked for" unchanged "${table[@]}" "${captured[@]}" NCCLTUNE_CAPTURE_TIMES=1 NCCL_DOUBLE_VERSION=$nccl
done
check "with times that are right" unchanged "${table[@]}" "${captured[@]}" NCCLTUNE_CAPTURE_TIMES=1 NCCL_ALLGATHERV_ENABLE=0
check "the capture is of the job" grep -q '"broadcast", "bytes": 4008, "count": 30' "$work/loops/5.rank.3.json"
finish
