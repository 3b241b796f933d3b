#!/usr/bin/env bash
# The nccl engine inside a Slurm allocation of four nodes: srun, without any MPI, starts the agents, then mpirun, which finds the
# nodes by itself; a hang on the way; two ranks a node of the NCCL double. The hooks' configuration has a key= line of an
# earlier release.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
[ "$(id -u)" = 0 ] || cannot_start slurm "needs root"
for program in slurmctld slurmd munged sbatch mpirun; do
    command -v $program >/dev/null || cannot_start slurm "no $program"
done
prefix=ns$$
dir=/run/nccltune-rig-$prefix
trap 'tests/rig/slurm down $prefix >/dev/null 2>&1' EXIT
mkdir -p "$dir/libexec"
install -m 755 build/nccltune-hook "$dir/libexec/"
for hook in prolog task-prolog epilog; do
    printf '#!/bin/sh\nexec %s --conf %s %s\n' "$dir/libexec/nccltune-hook" "$dir/hook.conf" $hook >"$dir/libexec/$hook"
done
chmod 755 "$dir"/libexec/*
echo "key=$dir/secret" >"$dir/hook.conf"
tests/rig/slurm up $prefix 4 "Prolog=$dir/libexec/prolog" "TaskProlog=$dir/libexec/task-prolog" "Epilog=$dir/libexec/epilog" >"$dir/up.log" 2>&1 || cannot_start slurm "$(tail -n 3 "$dir/up.log" | tr '\n' ' ')"
slurm() { tests/rig/slurm exec $prefix timeout -k 5 60 "$@"; }

cat >"$dir/job" <<JOB
#!/bin/sh
cd '$PWD' || exit 1
export LD_LIBRARY_PATH='$PWD/build/tests/doubles/lib' NCCL_DOUBLE_LAW='$PWD/tests/fixtures/nccl/law.txt'
export DRIVER_DOUBLE_GPUS=2 NCCL_SOCKET_IFNAME==eth0 NCCL_MIN_CTAS=1 NCCL_MAX_CTAS=32 NCCL_SOCKET_NTHREADS=1
export NCCL_DOUBLE_FAULT='hang rank=5 algo=tree proto=simple'
build/nccltune probe -o '$dir/topology.json'
build/nccltune bench --engine nccl --topology '$dir/topology.json' --collectives allreduce --max-bytes 256K \\
    --step-factor 32 --budget 40s --watchdog 2s --first-use-patience 2s -o '$dir/results.jsonl'
code=\$?
unset NCCL_DOUBLE_FAULT
build/nccltune bench --engine nccl --topology '$dir/topology.json' --collectives allreduce --sizes 64K --budget 4s -q \\
    -o '$dir/mpirun.jsonl' --mpirun-args '--mca oob_tcp_if_include eth0 -x DRIVER_DOUBLE_GPUS'
srun -N4 -n8 --overcommit --mpi=none build/nccltune tune --engine nccl --collectives allreduce,alltoallv --sizes 64K --budget 6s \\
    --shapes '4x2,1x2*4' -q -o '$dir/found'
echo "found with \$?"
echo "bench ended with \$code"
JOB
job=$(slurm sbatch --parsable -N4 -o "$dir/job.log" "$dir/job")
for _ in $(seq 400); do
    grep -qs 'bench ended' "$dir/job.log" && break
    sleep 0.3
done
note "$dir/job.log"
check "the job ends, with status 1 for the hang" grep -q 'bench ended with 1' "$dir/job.log"
check "eight ranks on four nodes" grep -q '"nodes":4,"ranks":8' "$dir/results.jsonl"
check "the same with agents over mpirun" grep -q '"nodes":4,"ranks":8' "$dir/mpirun.jsonl"
check "srun without PMIx has put a copy on every rank: they find one another" grep -q 'found with 0' "$dir/job.log"
check "... and measure all nodes" grep -q '"nodes":4,"ranks":8' "$dir/found/results.jsonl"
check "... and all four pairs at once, each on its node" grep -q '"allreduce".*"nodes":1,"ranks":2,"groups":4.*"status":"ok"' "$dir/found/results.jsonl"
check "... and uneven all-to-alls over both, without one that came out wrong" test "$(grep '"alltoallv"' "$dir/found/results.jsonl" |
    grep -o '"ranks":[0-9]*\|"status":"[a-z]*"' | sort -u | tr '\n' ' ')" = '"ranks":2 "ranks":8 "status":"ok" '
check "... and the profile has both shapes" test "$(grep -oP '"ranks":\s*[28]' "$dir/found/decisions.json" | tr -d '\t ' | sort -u | tr '\n' ' ')" = '"ranks":2 "ranks":8 '
check "the hang is journalled" grep -q '"tree/simple".*"status":"hung".*no answer in time' "$dir/results.jsonl"
check "the sweep went on: Tree with LL was measured" grep -q '"tree/ll".*"status":"ok"' "$dir/results.jsonl"
ended() { [ -z "$(slurm squeue -h -j "$job" 2>/dev/null)" ]; }
for _ in $(seq 50); do
    ended && break
    sleep 0.3
done
left=$(for k in 0 1 2 3; do ip netns pids $prefix-n$k; done | while read -r p; do
    grep -qs nccltune-worker "/proc/$p/cmdline" && echo "$p"
done)
check "no worker is left on any node" test -z "$left"

check "the key= line refuses no job, and the prolog says on every node that it does nothing" test "$(grep -o 'prolog, job [0-9]* on [^:]*: .*/hook.conf: key= is ignored' "$dir/log/syslog" |
    grep -o ' on [^:]*' | sort -u | wc -l)" = 4
check "no job has a key" test -z "$(find "$dir"/run.* -name '*.key')"
[ "$tap_failed" = 0 ] || sed 's/^/# /' "$dir/log/syslog"
finish
