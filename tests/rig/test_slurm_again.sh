#!/usr/bin/env bash
# tune on a site whose Slurm hooks deliver a profile already: ranks see what they saw before it was installed, and the
# baseline takes what it took then, within 5 %.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
[ "$(id -u)" = 0 ] || cannot_start slurm "needs root"
for program in slurmctld slurmd munged srun mpirun python3; do
    command -v $program >/dev/null || cannot_start slurm "no $program"
done
prefix=ng$$
dir=/run/nccltune-rig-$prefix
made_etc=
[ -d /etc/nccltune ] || { mkdir /etc/nccltune && made_etc=1; } # a place to mount over
trap 'tests/rig/slurm down $prefix >/dev/null 2>&1; [ -z "$made_etc" ] || rmdir /etc/nccltune' EXIT
mkdir -p "$dir/libexec" "$dir/lib" "$dir/site"
install -m 755 build/nccltune-hook slurm/task_prolog slurm/prolog slurm/epilog "$dir/libexec/"
install -m 755 build/libnccl-tuner-nccltune.so "$dir/lib/"
printf '%s\n' "store=$dir/store" "plugin=$dir/lib/libnccl-tuner-nccltune.so" >"$dir/site/slurm.conf"
# The site sets a variable of its own before the hook does.
printf '%s\n' '#!/bin/sh' 'echo export NCCL_IB_SL=3' "exec $dir/libexec/task_prolog" >"$dir/libexec/site"
# A rank that notes what it sees of the environment.
# shellcheck disable=SC2016 # expanded by the rank
printf '%s\n' '#!/bin/sh' 'env | grep -E "^(NCCL|OMPI_MCA)" | grep -vE "^(NCCL_(DOUBLE|DEBUG)|NCCLTUNE_CORPUS)" >"$NOTES/$SLURMD_NODENAME.$$"' \
    'exec "$@"' >"$dir/libexec/note"
chmod 755 "$dir/libexec/"*
# shellcheck disable=SC2016 # expanded on the node
export NODE_SETUP='mount --bind "$dir/site" /etc/nccltune'
tests/rig/slurm up $prefix 2 "TaskProlog=$dir/libexec/site" "Prolog=$dir/libexec/prolog" "Epilog=$dir/libexec/epilog" >"$dir/up.log" 2>&1 ||
    cannot_start slurm "$(tail -n 3 "$dir/up.log" | tr '\n' ' ')"
# shellcheck disable=SC2086 # no blanks
slurm() { tests/rig/slurm exec $prefix timeout -k 5 120 "$@"; }

# What the profile sets is worth much here, and no candidate has it.
{
    cat tests/fixtures/nccl/law.txt
    echo "when NCCL_BUFFSIZE=12345678 factor=0.6"
} >"$dir/law"
deliver() {
    local p file hash
    hash=$(printf again | sha256sum | cut -d' ' -f1)
    p=$dir/store/profiles/$hash
    mkdir -p "$p/nccl.d"
    echo 'allreduce,0,-1,ring,ll,1,-1,-1,-1,-1,-1,-1' >"$p/tuner.csv"
    echo 'NCCL_BUFFSIZE=12345678' >"$p/nccl.conf"
    echo 'NCCL_IB_TC=77' >"$p/nccl.d/a.conf"
    {
        printf 'nccltune-hook/1\nprofile %s\n' "$hash"
        for file in nccl.conf nccl.d/a.conf tuner.csv; do
            echo "file $file $(stat -c %s "$p/$file") $(sha256sum <"$p/$file" | cut -d' ' -f1)"
        done
        printf '%s\n' "class a x 0 0" "host $prefix-n0 a" "host $prefix-n1 a" end
    } >"$p/hook.map"
    echo "$(($(date +%s) - 1)) $hash all" >"$dir/store/schedule"
}

export LD_LIBRARY_PATH=$PWD/build/tests/doubles/lib NCCL_DOUBLE_LAW=$dir/law DRIVER_DOUBLE_GPUS=2 NCCL_SOCKET_IFNAME="=eth0"
export NCCL_MIN_CTAS=1 NCCL_MAX_CTAS=32
# tuned NAME [WORD...]: tunes in a job's batch script, after WORDs.
tuned() {
    local name=$1 job
    shift
    mkdir "$dir/$name.notes"
    printf '%s\n' '#!/bin/sh' "cd '$PWD'" "env >'$dir/$name.env'" "export NOTES='$dir/$name.notes'" \
        "$* build/nccltune tune --engine nccl --collectives allreduce --sizes 64K --budget 8s --launch-prefix '$dir/libexec/note' -o '$dir/$name'" \
        "echo tuned with \$?" >"$dir/$name.job"
    job=$(slurm sbatch --parsable -N2 -o "$dir/$name.log" "$dir/$name.job")
    for _ in $(seq 300); do
        [ -n "$(slurm squeue -h -j "$job" 2>/dev/null)" ] || break
        sleep 0.3
    done
    note "$dir/$name.log"
    grep -q 'tuned with 0' "$dir/$name.log"
}
# Of all ranks but those of the delivery check, which have the new profile as jobs will: they see nothing but candidates'
# settings.
# shellcheck disable=SC2046,SC2002 # names without blanks, several of them
seen() { cat $(grep -L "^NCCLTUNE_PROFILE=$dir/$1\$" "$dir/$1.notes"/*) | grep -vE '^NCCL_TUNER_PLUGIN=.*/build/' | sort -u; }
clean() {
    [ -n "$(ls "$dir/$1.notes")" ] || return 1
    ! seen "$1" | grep -E '=77$|12345678|NCCLTUNE' || return 1
    ! grep -L '^NCCL_IB_SL=3$' "$dir/$1.notes"/* | grep . || return 1
}
# Of the baseline's samples the lower decile: what other work on this machine has not disturbed.
baseline() {
    python3 - "$dir/$1/results.jsonl" <<'END'
import json, statistics, sys
label = lambda x: x if isinstance(x, str) else x["label"]
lines = [json.loads(line) for line in open(sys.argv[1])]
print("%.2f" % statistics.quantiles([t for p in lines if p.get("times_us") and label(p["launch"]) == label(p["call"]) == "default" for t in p["times_us"]], n=10)[0])
END
}
within_5_percent() { awk -v x="$1" -v y="$2" 'BEGIN { exit !(x > 0 && y > 0.95 * x && y < 1.05 * x) }'; }

check "tune before anything is installed" tuned first
check "its ranks have what the site sets" clean first
deliver
check "tune where hooks deliver a profile" tuned second
check "they did deliver it to the job" grep -q '^NCCLTUNE_SET=.*NCCL_BUFFSIZE=12345678' "$dir/second.env"
check "no rank has anything of it" clean second
check "what was left out is said once" test "$(grep -c 'removed from the baseline.*NCCL_BUFFSIZE' "$dir/second.log")" = 1
check "the same where srun has put a copy on every node" tuned third srun -N2 -n2 --mpi=none
check "no rank has anything of it there" clean third
check "it is said once there, too" test "$(grep -c 'removed from the baseline.*NCCL_BUFFSIZE' "$dir/third.log")" = 1
check "the baseline takes what it took before" within_5_percent "$(baseline first)" "$(baseline second)"
check "and there, too" within_5_percent "$(baseline first)" "$(baseline third)"
echo "# baseline of allreduce at 64 KiB: $(baseline first) us, with the profile installed $(baseline second) and $(baseline third) us"
finish
