#!/usr/bin/env bash
# The hooks under a real Slurm of four nodes: n0, n1 of class a; n2 of class b, which has other HCAs but goes with a; n3 of
# class c, which goes with none. What jobs get, what users keep, what broken profiles do (nothing), what the prolog finds.
# shellcheck disable=SC2086 # $n holds no blanks
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
[ "$(id -u)" = 0 ] || cannot_start slurm "needs root"
for program in slurmctld slurmd munged srun python3; do
    command -v $program >/dev/null || cannot_start slurm "no $program"
done

prefix=ns$$
dir=/run/nccltune-rig-$prefix
work=$(mktemp -d)
made_etc=
[ -d /etc/nccltune ] || { mkdir /etc/nccltune && made_etc=1; } # a place to mount over
load=() # busy loops
end() {
    [ ${#load[@]} = 0 ] || kill "${load[@]}" 2>/dev/null
    tests/rig/slurm down $prefix >/dev/null 2>&1
    rm -rf "$work"
    [ -z "$made_etc" ] || rmdir /etc/nccltune
}
trap end EXIT

libexec=$dir/libexec store=$dir/store plugin=$dir/lib/libnccl-tuner-nccltune.so
n=$prefix-n

# ---- the installation ------------------------------------------------------------------------------------------------
install_hooks() {
    mkdir -p "$libexec" "$dir/lib" "$dir/site" "$store/profiles"
    install -m 755 build/nccltune-hook slurm/task_prolog slurm/prolog slurm/epilog "$libexec/"
    install -m 755 build/libnccl-tuner-nccltune.so "$plugin"
    conf
}
# conf [LINE...]: the hooks' configuration.
conf() { printf '%s\n' "store=$store" "plugin=$plugin" "scontrol=$(command -v scontrol)" "$@" >"$dir/site/slurm.conf"; }

# hcas NODE HCA...: what the node shows in /sys/class/infiniband.
hcas() {
    local root=$dir/hca/$1/infiniband hca
    shift
    rm -rf "$root"
    for hca in "$@"; do
        mkdir -p "$root/$hca/ports/1"
        echo "4: ACTIVE" >"$root/$hca/ports/1/state"
        echo "400 Gb/sec (4X NDR)" >"$root/$hca/ports/1/rate"
    done
}

# What n3 is: c goes with none, a with all.
last_class=c
# profile RULE: writes one with this rule into the store; its hash in $profile, its directory in $p. The name is a hash of
# the rule alone: the hooks take the installer's word for it.
profile() {
    local file
    profile=$(printf %s "$1" | sha256sum | cut -d' ' -f1)
    p=$store/profiles/$profile
    mkdir -p "$p/nccl.d"
    printf '# nccltune tuner table\n%s\n' "$1" >"$p/tuner.csv"
    printf '# for all nodes\nNCCL_IB_QPS_PER_CONNECTION=4\n' >"$p/nccl.conf"
    printf 'NCCL_IB_HCA==mlx5_0:1,mlx5_1:1\n' >"$p/nccl.d/a.conf"
    printf 'NCCL_IB_HCA==mlx5_2:1,mlx5_3:1\nNCCL_SOCKET_IFNAME==eth0\n' >"$p/nccl.d/b.conf"
    {
        printf 'nccltune-hook/1\nprofile %s\n' "$profile"
        for file in nccl.conf nccl.d/a.conf nccl.d/b.conf tuner.csv; do
            echo "file $file $(stat -c %s "$p/$file") $(sha256sum <"$p/$file" | cut -d' ' -f1)"
        done
        printf 'class %s\n' "a x 0 0" "b x 0 0" "c y 0 0"
        printf 'port %s\n' "a mlx5_0 1 400" "a mlx5_1 1 400" "b mlx5_2 1 400" "b mlx5_3 1 400"
        printf 'host %s\n' "${n}0 a" "${n}1 a" "${n}2 b" "${n}3 $last_class"
        echo end
    } >"$p/hook.map"
}
# schedule SCOPE: the profile holds for it from now on.
schedule() { echo "$(($(date +%s) - 1)) $profile $1" >>"$store/schedule"; }
only() { : >"$store/schedule" && schedule "$1"; }

slurm() { tests/rig/slurm exec $prefix timeout -k 5 60 "$@"; }
# submit COMMAND...: until there are no jobs left. sbatch -W looks after its own every 2 and then 8 seconds only.
submit() { slurm sh -c '"$@" >/dev/null && while squeue -h | grep -q .; do sleep 0.1; done' submit "$@"; }
drained() { slurm sinfo -h -N -n "$1" -o '%T %E' | head -n 1; }
wait_for() { # wait_for WORD COMMAND...: until the output begins with it
    local word=$1 out i
    shift
    for i in $(seq 100); do
        out=$("$@")
        [[ $out == "$word"* ]] && return 0
        sleep 0.1
    done
    echo "waited for '$word', found '$out'"
    return 1
}
# Variables of interest of every task, one line each: NODE NAME=value ...
# shellcheck disable=SC2016 # expanded by the task
show='echo $SLURMD_NODENAME ${NCCL_IB_HCA-} ${NCCL_SOCKET_IFNAME-} ${NCCL_IB_QPS_PER_CONNECTION-} ${NCCLTUNE_HASH:+pinned} ${NCCL_TUNER_PLUGIN:+plugin}'
tasks() { slurm srun -Q "$@" /bin/sh -c "$show" 2>&1 | sort; }
# same WANT GOT...: with lines joined by '|'.
same() {
    local want=$1 got
    shift
    got=$("$@" | paste -sd'|')
    [ "$got" = "$want" ] || { echo "expected '$want', found '$got'"; return 1; }
}
log_lines() { wc -l <"$dir/log/syslog"; }
# log_since LINES: what came after so many.
log_since() { sleep 0.2 && tail -n +$(($1 + 1)) "$dir/log/syslog"; }
# logged_once TEXT LINES: exactly one line since then, from the job's prolog, which holds TEXT.
logged_once() {
    local lines
    lines=$(log_since "$2")
    if [ "$(printf '%s\n' "$lines" | grep -c .)" != 1 ] || [[ $lines != *" prolog, job "*"$1"* ]]; then
        echo "wanted '$1' once, from the prolog: $lines"
        return 1
    fi
}
# shellcheck disable=SC2016 # expanded on the node
export NODE_SETUP='mount --bind "$dir/site" /etc/nccltune && mkdir -p "$dir/hca/$node/infiniband" &&
    { [ ! -e "$dir/lost.$node" ] || mount -t tmpfs -o mode=755 lost "$dir/store"; } &&
    mount -t overlay overlay -o "lowerdir=$dir/hca/$node:/sys/class" /sys/class'
mkdir -p "$dir"
install_hooks
hcas ${n}0 mlx5_0 mlx5_1
hcas ${n}1 mlx5_0 mlx5_1
hcas ${n}2 mlx5_2 mlx5_3
hcas ${n}3
tests/rig/slurm up $prefix 4 "TaskProlog=$libexec/task_prolog" "Prolog=$libexec/prolog" "Epilog=$libexec/epilog" >"$work/up.log" 2>&1 ||
    cannot_start slurm "$(tail -n 3 "$work/up.log" | tr '\n' ' ')"

# ---- what jobs get ---------------------------------------------------------------------------------------------------
check "without a profile nothing is set" same "${n}0" tasks -w ${n}0
profile "allreduce,0,-1,ring,simple,4,-1,-1"
old=$profile
only all
a="=mlx5_0:1,mlx5_1:1 4 pinned plugin" b="=mlx5_2:1,mlx5_3:1 =eth0 4 pinned plugin"
check "srun: each class has its own HCAs" same "${n}0 $a|${n}1 $a|${n}2 $b" tasks -N3 -w ${n}0,${n}1,${n}2
since=$(log_lines)
check "a job over classes that do not go together has none" same "${n}0|${n}3" tasks -w ${n}0,${n}3
check "which is no news for syslog" test -z "$(log_since "$since")"
check "a step on some of a job's nodes is decided by the job's nodes" same "${n}0" \
    slurm salloc -Q -w ${n}0,${n}3 srun -Q -N1 -w ${n}0 sh -c "$show"

cat >"$work/batch.sh" <<END
#!/bin/sh
echo batch \$($show)
srun -Q -N2 sh -c '$show' | sort
END
chmod -R 755 "$work"
batch() { # batch AS-USER SBATCH-OPTION...: the script's output
    local user=$1 out
    shift
    out=$(mktemp -u "$dir/node/out.XXXXXX")
    # The output file is on the first node's own directory.
    submit setpriv --reuid "$user" --regid "$user" --clear-groups sbatch -Q -D / -w "${n}1,${n}2" -o "$out" "$@" "$work/batch.sh"
    cat "$dir/${n}1/$(basename "$out")"
}
# Nodes of two classes: the script itself has no node's own settings, for they would travel; NCCL asks the plugin.
check "sbatch: the script and its steps have it" same "batch ${n}1 4 pinned plugin|${n}1 $a|${n}2 $b" batch 0
check "and so have those of a user who is not root" same "batch ${n}1 4 pinned plugin|${n}1 $a|${n}2 $b" batch 65534

# ---- what users keep -------------------------------------------------------------------------------------------------
check "the user's own value stays" same "${n}0 mine 4 pinned plugin" tasks -w ${n}0 --export=ALL,NCCL_IB_HCA=mine
check "a user's own table keeps ours away" same "${n}0 =mlx5_0:1,mlx5_1:1 4" tasks -w ${n}0 --export=ALL,NCCL_TUNER_CONFIG_FILE=/x
check "NCCLTUNE=off disables all" same "${n}0" tasks -w ${n}0 --export=ALL,NCCLTUNE=off
check "NCCLTUNE=explain says so in the job's output" grep -q "nccltune: NCCL_IB_HCA==mlx5_0:1,mlx5_1:1" <(tasks -w ${n}0 --export=ALL,NCCLTUNE=explain)
cat >"$work/batch.sh" <<END
#!/bin/sh
export NCCL_IB_HCA=changed
srun -Q -N2 sh -c '$show' | sort
unset NCCL_IB_HCA
NCCLTUNE=off srun -Q -N2 sh -c '$show' | sort
END
check "a value that the script changed stays; off takes the others back" \
    same "${n}1 changed 4 pinned plugin|${n}2 changed =eth0 4 pinned plugin|${n}1|${n}2" batch 65534

# ---- what the doctor says of a job -----------------------------------------------------------------------------------
# doctor NODES COMMAND TEXT: on how many ranks of a step the doctor prints TEXT behind a shell command.
doctor() {
    slurm srun -Q -l -w "$1" sh -c "$2 exec $PWD/build/nccltune doctor --job" | grep -c "$3"
}
check "the doctor finds the table on every rank of a step" same 3 doctor ${n}0,${n}1,${n}2 "" "ok: hash"
# shellcheck disable=SC2016 # expanded by the task
check "and names the rank that has another" same 1 doctor ${n}0,${n}1,${n}2 '[ "$SLURM_PROCID" != 1 ] || export NCCLTUNE_HASH=0123456789abcdef;' \
    "NCCL will refuse to start"

# ---- which profile ---------------------------------------------------------------------------------------------------
# shellcheck disable=SC2016 # expanded by the task
hash_of='echo $(basename $NCCLTUNE_PROFILE) $NCCLTUNE_HASH'
hashes() { slurm srun -Q "$@" sh -c "$hash_of" | cut -d' ' -f1 | sort -u; }
profile "allreduce,0,-1,tree,ll,4,-1,-1"
new=$profile
schedule partition=canary
check "a canary partition has the new profile" same "$new" hashes -p canary -w ${n}0,${n}1
check "and all others the old one" same "$old" hashes -p main -w ${n}0,${n}1
schedule "nodes=${n}[0-1]"
check "a list of nodes has it for jobs that are inside" same "$new" hashes -w ${n}[0-1]
check "and not for jobs that are not" same "$old" hashes -w ${n}[0-2]
echo "$(($(date +%s) + 3600)) none all" >>"$store/schedule"
check "what is dated ahead does not count yet" same "$new" hashes -w ${n}[0-1]

only all
cat >"$work/batch.sh" <<END
#!/bin/sh
echo 1 none all >>$store/schedule
for i in 1 2 3 4 5; do srun -Q -N2 sh -c '$hash_of'; done
END
distinct() { batch 0 | sort | uniq -c | sed 's/^ *//'; }
check "a profile that is replaced while a job runs: all of its ranks agree" \
    same "10 $new $(sha256sum <"$p/tuner.csv" | cut -d' ' -f1)" distinct
only all
# The schedule is dated a second ahead, as install-profile does; every job asks Slurm when it began.
replace() { # switches between the two while jobs start; every job must see one of them on all ranks
    local i next=$old
    for i in $(seq 6); do
        slurm srun -Q -w "${n}[0-2]" -n12 sh -c "$hash_of" >"$work/ranks.$i" &
        echo "$(($(date +%s) + 1)) $next all" >>"$store/schedule"
        [ $next = $old ] && next=$new || next=$old
        sleep 0.$((i * 3 % 10))
        wait $!
        [ "$(wc -l <"$work/ranks.$i")" = 12 ] || { echo "job $i: $(wc -l <"$work/ranks.$i") ranks"; return 1; }
        [ "$(sort -u "$work/ranks.$i" | wc -l)" = 1 ] || { echo "job $i: $(sort "$work/ranks.$i" | uniq -c)"; return 1; }
    done
}
check "jobs start while the profile is being replaced: each has one on all ranks" replace

# ---- case by case: doc/DELIVERY.md ---------------------------------------------------------------------------------------
profile "allreduce,0,-1,ring,simple,4,-1,-1"
only all
check "srun: a heterogeneous job has it on all parts" same "${n}0 $a|${n}2 $b" tasks -w ${n}0 sh -c "$show" : -w ${n}2
check "and none where its parts do not go together" same "${n}0|${n}3" tasks -w ${n}0 sh -c "$show" : -w ${n}3
cat >"$work/batch.sh" <<END
#!/bin/sh
#SBATCH -w ${n}1
#SBATCH hetjob
#SBATCH -w ${n}2
srun -Q --het-group=0,1 sh -c '$show' | sort
srun -Q --het-group=1 sh -c '$show'
END
het_batch() {
    local out
    out=$(mktemp -u "$dir/node/out.XXXXXX")
    submit sbatch -Q -D / -o "$out" "$work/batch.sh"
    cat "$dir/${n}1/$(basename "$out")"
}
check "sbatch: so has a heterogeneous batch job, and a step on its second part" same "${n}1 $a|${n}2 $b|${n}2 $b" het_batch
check "salloc: each class has its own" same "${n}0 $a|${n}2 $b" sh -c "tests/rig/slurm exec $prefix salloc -Q -w ${n}0,${n}2 srun -Q sh -c '$show' | sort"
cat >"$work/batch.sh" <<END
#!/bin/sh
srun -Q --export=NONE /bin/sh -c '$show' | sort
END
check "--export=NONE: nodes decide by what their prologs left" same "${n}1 $a|${n}2 $b" batch 65534
check "an array's jobs are jobs" same "${n}1 $a|${n}2 $b" batch 0 --array=1
if command -v mpirun >/dev/null; then
    cat >"$work/batch.sh" <<END
#!/bin/sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun --mca oob_tcp_if_include eth0 --map-by ppr:1:node -x NCCL_IB_HCA sh -c 'echo \$(hostname) \${NCCL_IB_HCA-} \${NCCLTUNE_HASH:+pinned} \${NCCL_ENV_PLUGIN:+by plugin}' 2>/dev/null | sort
END
    check "mpirun: no rank has HCAs in its environment, all get their class's from the plugin" same "${n}1 pinned by plugin|${n}2 pinned by plugin" batch 0
else
    skip "mpirun -x" "no mpirun"
fi

# One that is requeued gets what the schedule says when it begins anew. Slurm lets two minutes pass before, in which slurmd
# forgets that it has run the job's prolog.
if [ "${SLURM_RUNS:-2}" -ge 10 ]; then
    cat >"$work/batch.sh" <<END
#!/bin/sh
srun -Q -N2 sh -c '$hash_of' | sort -u | cut -d' ' -f1 >>$dir/requeued
[ "\${SLURM_RESTART_COUNT:-0}" != 0 ] || sleep 600
END
    lines_of() { grep -c '' "$1" 2>/dev/null; }
    requeued() {
        local job i
        job=$(slurm sbatch --parsable -D / -w ${n}1,${n}2 -o /dev/null "$work/batch.sh")
        wait_for 1 lines_of "$dir/requeued" || return 1
        slurm scontrol requeue "$job" && echo "$(date +%s) $old all" >>"$store/schedule"
        for i in $(seq 300); do
            [ "$(lines_of "$dir/requeued")" = 1 ] || break
            sleep 1
        done
        cat "$dir/requeued"
    }
    profile "allreduce,0,-1,tree,ll,4,-1,-1"
    only all
    check "a job that is requeued" same "$profile|$old" requeued
fi

# A job of the canary partition submits one to another.
profile "allreduce,0,-1,tree,ll,4,-1,-1"
schedule partition=canary
cat >"$work/child.sh" <<END
#!/bin/sh
srun -Q sh -c '$hash_of' | sort -u
END
cat >"$work/batch.sh" <<END
#!/bin/sh
srun -Q sh -c '$hash_of' | sort -u
srun -Q -N1 -n1 sbatch -Q -D / -p main -w ${n}0 -o $dir/child.out $work/child.sh
END
chmod 755 "$work"/*.sh
canary_and_child() { batch 0 -p canary -O && cat "$dir/child.out"; }
old_line="$old $(sha256sum <"$store/profiles/$old/tuner.csv" | cut -d' ' -f1)"
check "a job from a canary's job has what its own partition has" \
    same "$new $(sha256sum <"$p/tuner.csv" | cut -d' ' -f1)|$old_line" canary_and_child
only all

# ---- a trial ---------------------------------------------------------------------------------------------------------
# Jobs of two nodes under a trial; what they took is made up from the profile that they had.
trial_jobs=${TRIAL_JOBS:-12}
base=$old tried=$new
run_trial_jobs() { # run_trial_jobs COUNT: a line "JOB PROFILE" each; more than one where the nodes of a job differ
    local i
    rm -f "$work"/trial.*
    # shellcheck disable=SC2016 # expanded by the task
    for i in $(seq "$1"); do
        slurm srun -Q -w ${n}0,${n}1 sh -c 'echo $SLURM_JOB_ID $(basename $NCCLTUNE_PROFILE)' >"$work/trial.$i" &
        [ $((i % 4)) != 0 ] || wait
    done
    wait
    sort -u "$work"/trial.*
}
profiles_of() { run_trial_jobs "$1" | cut -d' ' -f2 | sort -u; }
# As sacct would print them.
accounting() {
    SLURM_TIME_FORMAT=%s slurm squeue -h -t all -o '%A|%i|%u|%P|%S|100|%T|%D|%N|%j'
}
# figures SPREAD FACTOR SEED: under the trial jobs take FACTOR times as long, each within its SPREAD.
figures() {
    awk -v spread="$1" -v factor="$2" -v seed="$3" -v tried="$tried" 'BEGIN { srand(seed) }
        { print $1, 100 * exp(spread * sqrt(-2 * log(1 - rand())) * cos(6.283185 * rand())) * ($2 == tried ? factor : 1) }' "$work/trial" >"$work/figures"
}
trials() { build/nccltune trials --store "$store" --sacct "$work/sacct" --figures "$work/figures" "$@"; }
verdict() { # verdict SPREAD FACTOR SEED
    figures "$@"
    trials --json | sed -n 's/.*"verdict":[[:space:]]*"\([a-z]*\)".*/\1/p' | head -n 1
}
verdicts_of_equal() { # at most 4 of 20 are wrong, where 1 is expected
    local i wrong=0
    for i in $(seq 20); do
        [[ $(verdict 0.05 1 "$i") != [sf]* ]] || wrong=$((wrong + 1))
    done
    echo "$wrong of 20 wrong"
    [ $wrong -le 4 ]
}
{
    echo "$(($(date +%s) - 1)) $base all"
    echo "$(($(date +%s) - 1)) $tried trial=tree,50,$trial_jobs,nodes=${n}[0-1]"
} >"$store/schedule"
run_trial_jobs "$trial_jobs" >"$work/trial"
accounting >"$work/sacct"
shares() { cut -d' ' -f2 "$work/trial" | sort | uniq -c | sed "s/^ *//; s/$base/base/; s/$tried/tried/" | paste -sd' '; }
echo "# $trial_jobs jobs: $(shares)"
check "a trial: one profile for all nodes of a job" test "$(cut -d' ' -f1 "$work/trial" | sort -u | wc -l) $(wc -l <"$work/trial")" = "$trial_jobs $trial_jobs"
check "and some jobs with each" test "$(cut -d' ' -f2 "$work/trial" | sort -u | wc -l)" = 2
for spread in 0.02 0.05 0.10; do
    for factor in 0.909 1.1; do
        echo "# spread $spread, factor $factor: $(verdict $spread $factor 1)"
    done
done
check "a profile that is 10 % faster" same faster verdict 0.02 0.909 2
check "and one that is 10 % slower" same slower verdict 0.02 1.1 3
check "and one that is as fast" verdicts_of_equal
figures 0.02 0.909 4
check "--stop-if-slower leaves a faster one" same "" trials --stop-if-slower
figures 0.02 1.1 4
check "and ends a slower one" same "trial tree ends, because it is slower: jobs that start from now on get what the others get" trials --stop-if-slower
sleep 2.1
check "so that jobs from then on have what the others had" same "$base" profiles_of 4

# ---- one node without the store, and a busy cluster -----------------------------------------------------------------------
# uniform COUNT WANT: runs of 200 tasks on four nodes, 10 ms an open in the prolog, all cores busy. WANT: what all ranks
# but those of the lost node have ("tuned" or "nothing"), and what those have.
last_class=a
runs=${SLURM_RUNS:-2}
crowd() {
    # shellcheck disable=SC2016 # expanded by the task
    tests/rig/slurm exec $prefix timeout -k 5 120 srun -Q -O -N4 -n200 "$@" /bin/sh -c \
        'echo $SLURMD_NODENAME ${NCCLTUNE_HASH:+tuned}${NCCLTUNE_REFUSE:+refused}' 2>&1 | grep -v '^nccltune: ' | sort | uniq -c | sed 's/^ *//' | paste -sd'|'
}
uniform() { # uniform EXPECTED SRUN-OPTION...
    local want=$1 out i
    shift
    for i in $(seq "$runs"); do
        out=$(crowd "$@")
        [ "$out" = "$want" ] || { echo "run $i: $out"; return 1; }
    done
}
hcas ${n}3 mlx5_0 mlx5_1
printf '%s\n' '#!/bin/sh' "LD_PRELOAD=$PWD/build/tests/doubles/slow_open.so SLOW_OPEN_MS=10 exec $libexec/nccltune-hook prolog" >"$libexec/prolog"
for _ in 1 2 3 4; do
    while :; do :; done &
    load+=($!)
done
profile "allreduce,0,-1,tree,ll,4,-1,-1"
only all
check "200 tasks on a busy cluster: all have it, in $runs of $runs jobs" \
    uniform "50 ${n}0 tuned|50 ${n}1 tuned|50 ${n}2 tuned|50 ${n}3 tuned"
touch "$dir/lost.${n}3"
tests/rig/slurm restart ${n}3
wait_for idle drained ${n}3
conf policy=fail
check "one node has lost the store, policy=fail: its ranks refuse" \
    uniform "50 ${n}0 tuned|50 ${n}1 tuned|50 ${n}2 tuned|50 ${n}3 refused"
cc -std=gnu11 -D_GNU_SOURCE -I. -o "$dir/load_tuner" tests/tools/load_tuner.c core/coll.c -ldl
check "so NCCL does not start there, and says why" grep -q "node ${n}3 cannot decide what job .* gets: .*/schedule: No such file" \
    <(slurm srun -Q -w ${n}0,${n}3 sh -c "exec $dir/load_tuner" 2>&1 | grep -v 'NCCL will not start')
check "the doctor of the job says which ranks have none, and why" \
    same 1 doctor ${n}0,${n}3 "" '^1: .*this node cannot decide what the job gets: .*/schedule: No such file'
batch_lost() { # batch_lost FIRST: a batch job whose script runs there
    cat >"$work/batch.sh" <<END
#!/bin/sh
srun -Q /bin/sh -c 'echo \$SLURMD_NODENAME \${NCCLTUNE_HASH:+tuned}\${NCCLTUNE_REFUSE:+refused}' | grep -v '^nccltune: ' | sort
END
    printf '%s\n' "$@" >"$work/hosts"
    submit sbatch -Q -D / -w "$1,$2" -o "$dir/lost.out" "$work/batch.sh"
    cat "$dir/lost.out"
}
check "sbatch from a node that has it" same "${n}0 tuned|${n}3 refused" batch_lost ${n}0 ${n}3
touch "$dir/lost.${n}0" && rm "$dir/lost.${n}3"
tests/rig/slurm restart ${n}0
tests/rig/slurm restart ${n}3
wait_for idle drained ${n}0
wait_for idle drained ${n}3
check "sbatch from the node that has not: nothing on all" same "${n}0|${n}3" batch_lost ${n}0 ${n}3
mkdir -p "$dir/meet"
conf policy=nothing "meet=$dir/meet"
check "policy=nothing, where nodes meet: nothing on all ranks" \
    uniform "50 ${n}0|50 ${n}1|50 ${n}2|50 ${n}3"
rm "$dir/lost.${n}0"
tests/rig/slurm restart ${n}0
wait_for idle drained ${n}0
check "and all have it again when the store is back" \
    uniform "50 ${n}0 tuned|50 ${n}1 tuned|50 ${n}2 tuned|50 ${n}3 tuned"
empty_soon() { # empty_soon COMMAND...: it prints nothing once the epilog of the last job, for which srun does not wait, has run
    for _ in {1..100}; do
        [ -n "$("$@")" ] || return 0
        sleep 0.1
    done
    "$@"
    return 1
}
check "no meeting is left" empty_soon ls "$dir/meet"
check "no answer is left on any node" empty_soon find "$dir"/run.* -type f
kill "${load[@]}"
load=()
install -m 755 slurm/prolog "$libexec/"
conf
last_class=c
hcas ${n}3
profile "allreduce,0,-1,tree,ll,4,-1,-1"
only all

# ---- broken profiles: a job of one node runs untouched, one of several does not start NCCL ---------------------------------
only all
attack() { # attack NAME EXPECTED-IN-LOG SHELL-LINE: on a fresh profile
    local since
    rm -rf "$p"
    profile "allreduce,0,-1,tree,ll,4,-1,-1"
    eval "$3"
    since=$(log_lines)
    check "$1: the job runs untouched" same "${n}0" tasks -w ${n}0
    check "$1: one line a job, from the prolog" logged_once "$2" "$since"
}
# shellcheck disable=SC2016 # evaluated by attack
{
    attack "broken map" "not a statement" 'echo nonsense >"$p/hook.map.new"; sed "3i nonsense" "$p/hook.map" >"$p/m" && mv "$p/m" "$p/hook.map"'
    attack "empty map" "expected 'nccltune-hook/1'" ': >"$p/hook.map"'
    attack "half-written map" "has no end" 'head -c -5 "$p/hook.map" >"$p/m" && mv "$p/m" "$p/hook.map"'
    attack "oversized map" "is larger than" 'truncate -s 8M "$p/hook.map"'
    attack "half-written table" "not what was installed" 'truncate -s -3 "$p/tuner.csv"'
    attack "table of another profile" "not what was installed" 'cp "$store/profiles/$old/tuner.csv" "$p/"; echo "#" >>"$p/tuner.csv"'
    attack "world-writable table" "can be written by others" 'chmod 666 "$p/tuner.csv"'
    attack "world-writable directory" "can be written by others" 'chmod 777 "$p"'
    attack "somebody else's map" "belongs to user 65534" 'chown 65534 "$p/hook.map"'
    attack "symbolic link" "is a symbolic link" 'mv "$p/nccl.conf" "$p/real"; ln -s real "$p/nccl.conf"'
    attack "symbolic link as directory" "is a symbolic link" 'mv "$p" "$p.real"; ln -s "$p.real" "$p"'
    attack "FIFO" "is not a regular file" 'rm "$p/nccl.conf"; mkfifo "$p/nccl.conf"'
    attack "missing profile" "No such file" 'rm -rf "$p"'
}
refused() { # refused COUNT SRUN-OPTION...: so many tasks are told not to start NCCL, and none goes on with nothing or all
    local want=$1 out
    shift
    # shellcheck disable=SC2016 # expanded by the task
    out=$(slurm srun -Q "$@" sh -c 'echo "${NCCLTUNE_REFUSE:+refused}${NCCLTUNE_HASH:+tuned}"' 2>&1 | grep -v '^nccltune: ' | sort | uniq -c)
    [[ $out =~ ^\ *"$want refused"$ ]] || { echo "expected $want refused, found: $out"; return 1; }
}
check "a job of two nodes that cannot tell: both refuse" refused 8 -w ${n}0,${n}1 -n8
check "with one sentence a node" test "$(slurm srun -Q -w ${n}0,${n}1 -n8 true | grep -c 'cannot decide what job .* gets: .*NCCL will not start here')" = 2
rm -rf "$p" "$p.real"
profile "allreduce,0,-1,tree,ll,4,-1,-1"

# ---- the installer on this Slurm -----------------------------------------------------------------------------------------
# inst OPTION...: as on the controller; reach HOST COMMAND: what ssh would do.
inst() { tests/rig/slurm exec $prefix timeout -k 5 100 "$PWD/build/nccltune" install-profile --store "$dir/own/store" --plugin "$plugin" --nccl-conf "$dir/own/nccl.conf" "$@" 2>&1; }
cat >"$dir/reach" <<END
#!/bin/bash
cd '$PWD' || exit 1
host=\$1
shift
[ "\$host" != "\${DEAD-}" ] || [[ "\$*" != *"\${DEAD_FROM-}"* ]] || exit 255
exec tests/rig/nodes exec "\$host" /bin/sh -c "mount --bind '$dir/own.'\$host '$dir/own' && \$*"
END
chmod 755 "$dir/reach"
mkdir "$dir/own" "$dir"/own.${n}{0,1,2,3}
made_profile() { # as tests/rig/test_container.sh has it: a rule written by hand
    local host
    host=${n}0
    sed 's/"name":[[:space:]]*"[^"]*",\([[:space:]]*"class":\)/"name": "'"$host"'",\1/' tests/fixtures/envgen/topology.json >"$work/topology.json"
    build/nccltune generate -q --topology "$work/topology.json" --results tests/fixtures/envgen/results.jsonl -o "$work/$1" >/dev/null
}
check "a profile is made" made_profile made
check "install-profile finds the hooks" grep -q "that start at .* or later get it through the Slurm hooks" <(inst "$work/made")
check "and leaves NCCL's file to them" test ! -s "$dir/own/nccl.conf"
check "it counts the hosts that get it" grep -q "^it is for 1 host of class" <(inst "$work/made")
check "it warns of nodes without a store, which differ by default" grep -q "^warning: .* has no policy=" <(inst "$work/made")
conf "store=$dir/own/store"
slurm sbatch -Q -w ${n}0 -o /dev/null --wrap "sleep 30" >/dev/null
wait_for 1 sh -c "tests/rig/slurm exec $prefix squeue -h -tR | wc -l"
check "--purge refuses while a job runs with the profile" grep -q "^nccltune install-profile: jobs [0-9]* run with a profile of this store" <(inst --uninstall --purge)
check "the profile is still there" test -e "$dir/own/store/current/manifest.json"
check "--force does not ask" inst --uninstall --purge --force
check "hooks find that nothing is installed" grep -q " none all" "$dir/own/store/schedule"
slurm scancel -u root
conf
many_hosts() { inst "$work/made" --hosts "${n}[0-3]" --delay 10s --ssh "$dir/reach" --program "$PWD/build/nccltune" >"$work/many_hosts"; }
many_say() { many_hosts; grep -q "$1" "$work/many_hosts"; }
same_schedules() { [ "$(cat "$dir"/own.*/store/schedule 2>/dev/null | grep -v '^#' | sort | uniq -c | awk '{ print $1 }' | paste -sd,)" = "$1" ]; }
export DEAD=${n}2 DEAD_FROM=
check "--hosts with one that is down: it is named, and nothing changes" many_say "${n}2: "
check "indeed nothing" same_schedules ""
DEAD_FROM=--schedule
check "one that goes down behind the first step: it is named" many_say "${n}2: "
check "and no job gets anything, on any" same_schedules ""
DEAD_FROM=--finish
check "behind the second: all have it, and what is left to do is said" many_say "all hosts have it; 1 of 4 could not set links"
check "from one moment on" same_schedules 4
DEAD=
check "--hosts: all have it" many_say "^4 hosts have "
check "with their links" test "$(readlink "$dir"/own.*/store/current | sort -u | wc -l)" = 1
without() { # a profile nobody brings to jobs: NCCL's file on request alone, with the hash
    rm -rf "$dir/own/store" "$dir/own/nccl.conf"
    env PATH=/usr/bin:/bin build/nccltune install-profile "$work/made" --store "$dir/own/store" --plugin "$plugin" \
        --nccl-conf "$dir/own/nccl.conf" --no-hooks --delay 4s >"$work/without" 2>&1 &
    local pid=$!
    sleep 1.5
    [ ! -e "$dir/own/nccl.conf" ] || { echo "written before the moment"; return 1; }
    wait $pid || grep -q "^no job of this host gets it" "$work/without"
}
check "--no-hooks --delay: NCCL's file is written at that moment" without

# ---- the prolog --------------------------------------------------------------------------------------------------------
only all
since=$(log_lines)
check "a sound node: no line in syslog" same "${n}1 $a" tasks -w ${n}1
check "indeed none" test "$(log_lines)" = "$since"
hcas ${n}1 mlx5_0
tests/rig/slurm restart ${n}1
check "the node is back" wait_for idle drained ${n}1
since=$(log_lines)
check "a lost HCA, policy log: the job runs" same "${n}1 $a" tasks -w ${n}1
check "and prolog and epilog say so" grep -q "prolog, job .* on ${n}1: HCA mlx5_1 is missing" <(log_since "$since")
check "the node is not drained" wait_for idle drained ${n}1
conf policy=drain drain=hca,port
slurm sbatch -Q -w ${n}1 -o /dev/null --wrap true >/dev/null
check "policy drain: the node drains with the reason" wait_for "drained nccltune: HCA mlx5_1 is missing" drained ${n}1
slurm scancel -u root
hcas ${n}1 mlx5_0 mlx5_1
echo "1: DOWN" >"$dir/hca/${n}1/infiniband/mlx5_0/ports/1/state"
tests/rig/slurm restart ${n}1
slurm scontrol update NodeName=${n}1 State=RESUME
check "the node is resumed" wait_for idle drained ${n}1
slurm sbatch -Q -w ${n}1 -o /dev/null --wrap true >/dev/null
check "a port that is down drains too" wait_for "drained nccltune: port mlx5_0/1 is DOWN" drained ${n}1
slurm scancel -u root
hcas ${n}1 mlx5_0 mlx5_1
echo "100 Gb/sec (4X EDR)" >"$dir/hca/${n}1/infiniband/mlx5_0/ports/1/rate"
tests/rig/slurm restart ${n}1
slurm scontrol update NodeName=${n}1 State=RESUME
check "the node is resumed once more" wait_for idle drained ${n}1
since=$(log_lines)
check "a finding that is not to drain is logged alone" same "${n}1 $a" tasks -w ${n}1
check "with the rates" grep -q "port mlx5_0/1 runs at 100 of 400 Gb/s" <(log_since "$since")

# ---- a file system that hangs ------------------------------------------------------------------------------------------
# hung HOOK: its exit code, with the store on a file system that never answers; what it prints and its time in ms go to
# files.
hung() {
    # shellcheck disable=SC2016 # expanded on the node
    tests/rig/nodes exec ${n}0 bash -c '
        dir=$1 node=$2 hook=$3 work=$4
        [ -e /dev/fuse ] || mknod /dev/fuse c 10 229
        mkdir -p "$dir/hung"
        exec 9<>/dev/fuse
        mount -i -t fuse -o fd=9,rootmode=40755,user_id=0,group_id=0 hung "$dir/hung" || exit 77
        mount --bind "$dir/devlog" /dev/log
        echo "store=$dir/hung" >"$dir/hung.conf"
        began=$(date +%s%N)
        SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURMD_NODENAME=$node SLURM_JOB_NODELIST=$node,other timeout 20 "$dir/libexec/nccltune-hook" "$hook" \
            --limit 500 --conf "$dir/hung.conf" --run "$dir/hung.run" 9<&- | cat >"$work/hung.out"
        code=${PIPESTATUS[0]}
        echo $((($(date +%s%N) - began) / 1000000)) >"$work/hung.ms"
        exit "$code"' hung "$dir" ${n}0 "$1" "$work"
}
since=$(log_lines) code=0
hung prolog >"$work/hung.log" 2>&1 || code=$?
if [ $code = 77 ]; then
    skip "a hung file system" "no FUSE: $(tail -n 1 "$work/hung.log")"
else
    check "prolog on a hung file system: exit code 0" test $code = 0
    check "back after its limit, $(cat "$work/hung.ms") ms" test "$(cat "$work/hung.ms")" -lt 5000
    check "and says so" grep -q "not done after 500 ms" <(log_since "$since")
    # slow VARIABLE...: a task's prolog where every open takes so long.
    slow() {
        env "$@" "LD_PRELOAD=$PWD/build/tests/doubles/slow_open.so" SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_JOB_NUM_NODES=2 \
            "$libexec/nccltune-hook" task-prolog --run "$dir/hung.run"
    }
    check "a task prolog that takes a second, none of it its own, has its answer" grep -q "the job prolog was not done" <(slow SLOW_OPEN_MS=300)
    check "one whose own time is up refuses" grep -qx "export NCCL_NET=refused-by-nccltune" <(slow SLOW_OPEN_SPIN=1)
    hung task-prolog
    check "a task does not touch it: it knows that its node cannot tell" \
        grep -q "cannot decide what job 7 gets: the job prolog was not done in time" "$work/hung.out"
fi

# ---- many jobs, and time -----------------------------------------------------------------------------------------------
conf
hcas ${n}1 mlx5_0 mlx5_1
tests/rig/slurm restart ${n}1
check "the node is whole again" wait_for idle drained ${n}1
some() { # some NODE COUNT: so many jobs there, one after another; how many had what they should
    tests/rig/slurm exec $prefix timeout -k 5 240 sh -c "for i in \$(seq $2); do srun -Q -w $1 sh -c '[ \"\$NCCLTUNE_PROFILE\" = $p ] && echo good'; done" | grep -c good
}
many() {
    some ${n}0 67 >"$work/many.0" &
    local first=$!
    some ${n}1 67 >"$work/many.1" &
    local second=$!
    some ${n}2 66 >"$work/many.2"
    wait $first $second
    cat "$work"/many.?
    [ "$(cat "$work"/many.? | awk '{ n += $1 } END { print n }')" = 200 ]
}
check "200 jobs without a failure" many

# a table of 1 MiB and a map of 4,096 hosts
big() {
    profile "allreduce,0,-1,ring,simple,4,-1,-1"
    head -c 1048576 /dev/zero | tr '\0' '#' >>"$p/tuner.csv"
    sed -i -e "s/^file tuner.csv .*/file tuner.csv $(stat -c %s "$p/tuner.csv") $(sha256sum <"$p/tuner.csv" | cut -d' ' -f1)/" -e '$d' "$p/hook.map"
    { seq -f 'host big%g a' 4092; echo end; } >>"$p/hook.map"
    only all
}
# cpu HOOK LIST: microseconds of CPU time and of wall clock a call, means of 100.
cpu() {
    python3 - "$libexec/nccltune-hook" "$1" --conf "$dir/site/slurm.conf" --sysfs "$dir/sys" --run "$dir/cpu.run" <<END
import os, resource, subprocess, sys, time
env = dict(SLURM_JOB_ID="7", SLURM_STEP_ID="0", SLURMD_NODENAME="${n}0", SLURM_JOB_NODELIST="$2",
           SLURM_JOB_START_TIME=str(int(time.time())))
began = time.time()
for _ in range(100):
    subprocess.run(sys.argv[1:], env=env, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{(used.ru_utime + used.ru_stime) * 1e4:.0f} us CPU, {(time.time() - began) * 1e4:.0f} us")
END
}
mkdir -p "$dir/sys" && ln -s "$dir/hca/${n}0" "$dir/sys/class"
only all
echo "# a call: prolog $(cpu prolog "${n}[0-2]"), task prolog $(cpu task-prolog "${n}[0-2]")"
big
echo "# with 4,096 hosts and a table of 1 MiB: prolog $(cpu prolog "${n}0,big[1-4092]"), task prolog $(cpu task-prolog "${n}0,big[1-4092]")"
finish
