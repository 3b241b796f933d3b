#!/usr/bin/env bash
# slurm/nccltune.sbatch under a real Slurm: the job is requeued in the middle, finishes from its journal, and what it made
# is installed and reaches the next job.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
[ "$(id -u)" = 0 ] || cannot_start slurm "needs root"
for program in slurmctld slurmd munged srun mpirun python3; do
    command -v $program >/dev/null || cannot_start slurm "no $program"
done
prefix=nu$$
dir=/run/nccltune-rig-$prefix
log=$dir/tune.log profile=$dir/profile
made=()
for d in /etc/nccltune /shared; do [ -d $d ] || { mkdir $d && made+=("$d"); }; done
trap 'tests/rig/slurm down $prefix >/dev/null 2>&1; rmdir -- "${made[@]}"' EXIT

mkdir -p "$dir/libexec" "$dir/lib" "$dir/site" "$dir/shared" "$dir/bin"
install -m 755 build/nccltune-hook slurm/task_prolog slurm/prolog slurm/epilog "$dir/libexec/"
install -m 755 build/libnccl-tuner-nccltune.so "$dir/lib/"
printf '%s\n' "store=$dir/store" "plugin=$dir/lib/libnccl-tuner-nccltune.so" >"$dir/site/slurm.conf"
# As at a site that has a TaskProlog of its own.
printf '%s\n' '#!/bin/sh' "$dir/libexec/task_prolog" 'echo export SITE=ours' >"$dir/libexec/site"
chmod 755 "$dir/libexec/site"
# shellcheck disable=SC2016 # expanded on the node
export NODE_SETUP='mount --bind "$dir/site" /etc/nccltune && mount --bind "$dir/shared" /shared'
tests/rig/slurm up $prefix 4 "TaskProlog=$dir/libexec/site" "Prolog=$dir/libexec/prolog" "Epilog=$dir/libexec/epilog" >"$dir/up.log" 2>&1 ||
    cannot_start slurm "$(tail -n 3 "$dir/up.log" | tr '\n' ' ')"

slurm() { tests/rig/slurm exec $prefix timeout -k 5 60 "$@"; }
lines() { if [ -e "$profile/results.jsonl" ]; then wc -l <"$profile/results.jsonl"; else echo 0; fi; }
ended() { [[ $(slurm squeue -h -j "$job" -o %T 2>/dev/null) != [PRC]* ]]; }

export NCCLTUNE_PROGRAM=$PWD/build/nccltune NCCLTUNE_MPIRUN_ARGS="--mca oob_tcp_if_include eth0 --mca mpi_yield_when_idle 1"
job=$(slurm sbatch --parsable -N2 --gpus-per-node=2 -o "$log" slurm/nccltune.sbatch "$profile" \
    --collectives allreduce --max-bytes 64K --ranks-per-node 1 --budget 15s)
for _ in $(seq 300); do
    [ "$(lines)" -ge 10 ] && break
    sleep 0.2
done
before=$(lines)
check "the job measures" test "$before" -ge 10
check "it is requeued in the middle" slurm scontrol requeue "$job"
# A requeued job waits for its old nodes to be clean, and then up to two minutes unless its begin time is reset, which is
# refused while the nodes are not clean.
for _ in $(seq 400); do
    if [ -e "$profile/manifest.json" ] && ended; then break; fi
    [[ $(slurm squeue -h -j "$job" -o %T) != PENDING ]] || slurm scontrol update JobId="$job" StartTime=now >/dev/null 2>&1
    sleep 0.3
done
check "it ran twice" grep -q "start 1:" "$log"
check "and finished" test -e "$profile/manifest.json"
check "from its journal: nothing is lost" test "$(lines)" -gt "$before"
check "one journal, one heading" test "$(grep -c '"format"' "$profile/results.jsonl")" = 1
check "the profile is whole" build/nccltune explain "$profile"
note "$log"

# The same job with NCCL, in the place of which the double stands, two ranks a node.
nccl=$dir/nccl-profile
job=$(LD_LIBRARY_PATH=$PWD/build/tests/doubles/lib NCCL_DOUBLE_LAW=$PWD/tests/fixtures/nccl/law.txt DRIVER_DOUBLE_GPUS=2 \
    NCCL_SOCKET_IFNAME="=eth0" NCCL_MIN_CTAS=1 NCCL_MAX_CTAS=32 NCCL_SOCKET_NTHREADS=1 \
    NCCLTUNE_MPIRUN_ARGS="$NCCLTUNE_MPIRUN_ARGS -x DRIVER_DOUBLE_GPUS" \
    slurm sbatch --parsable -N2 --gpus-per-node=2 -o "$dir/nccl.log" slurm/nccltune.sbatch "$nccl" \
    --engine nccl --collectives allreduce --max-bytes 256K --step-factor 32 --budget 40s)
for _ in $(seq 300); do
    if ended; then break; fi
    sleep 0.3
done
note "$dir/nccl.log"
check "with the nccl engine it is one job too" test -e "$nccl/manifest.json"
check "four ranks on two nodes" grep -q '"engine":"nccl".*"nodes":2,"ranks":4' "$nccl/results.jsonl"
check "and a table comes of it" grep -q '^allreduce,' "$nccl/tuner.csv"

mkdir -p "$dir/broken"
printf '%s\n' '#!/bin/sh' 'exit 1' >"$dir/broken/mpirun"
chmod 755 "$dir/broken/mpirun"
# Without mpirun, and nothing said: agents by srun, without any MPI. As README has it; this site's nccltune has little time,
# and its nodes two GPUs.
printf '%s\n' '#!/bin/sh' "exec $PWD/build/nccltune \"\$@\" --engine nccl --collectives allreduce --sizes 64K --budget 5s" >"$dir/bin/nccltune"
chmod 755 "$dir/bin/nccltune"
ln -s "$PWD/slurm" "$dir/slurm"
plain=$dir/shared/profile
# shellcheck disable=SC2016,SC2086 # README's backquotes; words
job=$(doubles=$PWD/build/tests/doubles/lib law=$PWD/tests/fixtures/nccl/law.txt rig=$PWD/tests/rig/slurm
    readme=$(sed -n 's/^`\(sbatch [^`]*\)`.*/\1/p' README.md) readme=${readme/'$profile'//shared/profile}
    cd "$dir" && LD_LIBRARY_PATH=$doubles NCCL_DOUBLE_LAW=$law DRIVER_DOUBLE_GPUS=2 NCCL_SOCKET_IFNAME="=eth0" \
        NCCLTUNE_MPIRUN_ARGS='' NCCLTUNE_PROGRAM='' PATH=$dir/bin:$dir/broken:$PATH SBATCH_GPUS_PER_NODE=2 \
        "$rig" exec $prefix timeout -k 5 60 $readme | sed 's/^Submitted batch job //')
for _ in $(seq 300); do
    if ended; then break; fi
    sleep 0.3
done
note "$dir/slurm-$job.out"
check "without mpirun the agents are started by srun" grep -q 'start 0: nccltune tune .* --launcher srun' "$dir/slurm-$job.out"
check "eight ranks on four nodes" grep -q '"engine":"nccl".*"nodes":4,"ranks":8' "$plain/results.jsonl"

srun_profile=$dir/srun-profile
job=$(NCCLTUNE_MPIRUN_ARGS='' PATH=$dir/broken:$PATH slurm sbatch --parsable -N2 --gpus-per-node=2 -o "$dir/srun.log" \
    slurm/nccltune.sbatch "$srun_profile" --collectives allreduce --max-bytes 4K --ranks-per-node 1 --budget 5s)
for _ in $(seq 200); do
    if ended; then break; fi
    sleep 0.3
done
note "$dir/srun.log"
check "for host memory srun --mpi=pmix starts the ranks" grep -q '"nodes":2,"ranks":2' "$srun_profile/results.jsonl"

# Two of the nodes have an HCA, and too little memory that may be locked: they are left out, or no job's nodes with the others.
# Ranks of MPI measure on all or on none.
port=$dir/hca/infiniband/mlx5_0/ports/1
mkdir -p "$port"
echo "4: ACTIVE" >"$port/state"
echo "400 Gb/sec (4X NDR)" >"$port/rate"
echo InfiniBand >"$port/link_layer"
# shellcheck disable=SC2016 # expanded by the task
apart() {
    slurm srun -N4 -n4 --mpi=pmix unshare -m sh -c 'case $SLURMD_NODENAME in
        *[23]) mount -t overlay overlay -o "lowerdir=$0/hca:/sys/class" /sys/class || exit
            export LD_PRELOAD=$PWD/build/tests/doubles/fake_verbs.so FAKE_VERBS=mlx5_0:1:ib:1:0 ;; esac
        exec build/nccltune tune --collectives allreduce --sizes 4K --budget 4s -o "$0/apart"' "$dir" >"$dir/apart.log" 2>&1
    [ $? = 2 ] && [ ! -e "$dir/apart/results.jsonl" ]
}
check "ranks that srun has put on nodes that do not go together are refused" apart
note "$dir/apart.log"
check "... in words that name the way out" grep -qE "on 4 nodes, and ($prefix-n2 is left out: |these are 2 kinds ).* --hosts $prefix-n\[[02]-[13]\]" "$dir/apart.log"

# A job on each of the nodes has it, and one on both.
check "it is installed" slurm build/nccltune install-profile "$profile" --store "$dir/store" --no-nccl-conf --plugin "$dir/lib/libnccl-tuner-nccltune.so"
hash=$(sed -n 's/.*"hash":[[:space:]]*"\([0-9a-f]*\)".*/\1/p' "$profile/manifest.json" | head -n 1)
# shellcheck disable=SC2016 # expanded by the task
pinned() { [ "$(slurm srun -Q "$@" sh -c 'echo $SITE $NCCLTUNE_PROFILE' | sort -u)" = "ours $dir/store/profiles/$hash" ]; }
for k in 0 1; do
    check "the next job on $prefix-n$k has it, beside what the site sets" pinned -w $prefix-n$k
done
check "and one on both nodes" pinned -N2
finish
