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
trap 'tests/rig/slurm down $prefix >/dev/null 2>&1; rm -rf "$work"; [ -z "$made_etc" ] || rmdir /etc/nccltune' EXIT

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
        printf 'host %s\n' "${n}0 a" "${n}1 a" "${n}2 b" "${n}3 c"
        echo end
    } >"$p/hook.map"
}
# schedule SCOPE: the profile holds for it from now on.
schedule() { echo "$(($(date +%s) - 1)) $profile $1" >>"$store/schedule"; }
only() { : >"$store/schedule" && schedule "$1"; }

slurm() { tests/rig/slurm exec $prefix timeout -k 5 60 "$@"; }
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
# logged_by_task TEXT LINES: exactly one line since then from the hook of a task, which holds TEXT.
logged_by_task() {
    local lines
    lines=$(log_since "$2" | grep 'task prolog')
    if [ "$(printf '%s\n' "$lines" | grep -c .)" != 1 ] || [[ $lines != *"$1"* ]]; then
        echo "wanted '$1' once: $lines"
        return 1
    fi
}
# shellcheck disable=SC2016 # expanded on the node
export NODE_SETUP='mount --bind "$dir/site" /etc/nccltune && mkdir -p "$dir/hca/$node/infiniband" &&
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
check "a job over classes that do not go together has none" same "${n}0|${n}3" tasks -w ${n}0,${n}3
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
    slurm setpriv --reuid "$user" --regid "$user" --clear-groups sbatch -Q -W -D / -w "${n}1,${n}2" -o "$out" "$@" "$work/batch.sh" >/dev/null
    cat "$dir/${n}1/$(basename "$out")"
}
check "sbatch: the script and its steps have it" same "batch ${n}1 $a|${n}1 $a|${n}2 $b" batch 0
check "and so have those of a user who is not root" same "batch ${n}1 $a|${n}1 $a|${n}2 $b" batch 65534

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
# doctor NODES COMMAND: every rank of a step runs the doctor behind a shell command; one process compares them.
doctor() {
    slurm srun -Q -l -w "$1" sh -c "$2 exec $PWD/build/nccltune doctor --job --json" | build/nccltune doctor --compare -
}
check "the doctor finds the ranks of a step alike" grep -q "alike on all 3" <(doctor ${n}0,${n}1,${n}2 "")
# shellcheck disable=SC2016 # expanded by the task
check "and names the rank that is not" grep -q "NCCL_ALGO is not set on ranks 0, 2, is 'Ring' on rank 1" \
    <(doctor ${n}0,${n}1,${n}2 '[ "$SLURM_PROCID" != 1 ] || export NCCL_ALGO=Ring;')

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
replace() { # switches between the two while jobs start; every job must see one of them
    local i out
    for i in $(seq 12); do
        slurm srun -Q -w "${n}[0-2]" sh -c "$hash_of" >"$work/ranks.$i" &
        printf '%s %s all\n' 1 "$old" >>"$store/schedule"
        sleep 0.0$((i % 10))
        printf '%s %s all\n' 1 "$new" >>"$store/schedule"
        wait $!
        [ "$(wc -l <"$work/ranks.$i")" = 3 ] || { echo "job $i: $(wc -l <"$work/ranks.$i") ranks"; return 1; }
    done
    out=$(for i in $(seq 12); do sort -u "$work/ranks.$i" | wc -l; done | grep -c '^1$')
    echo "# $out of 12 jobs that started in the moment of a change agree without a batch script" >&3
}
check "jobs start while the profile is being replaced" replace 3>&1

# ---- broken profiles: the job runs untouched, one line in syslog -----------------------------------------------------------
only all
attack() { # attack NAME EXPECTED-IN-LOG SHELL-LINE: on a fresh profile
    local since
    rm -rf "$p"
    profile "allreduce,0,-1,tree,ll,4,-1,-1"
    eval "$3"
    since=$(log_lines)
    check "$1: the job runs untouched" same "${n}0" tasks -w ${n}0
    check "$1: one line from the task's hook" logged_by_task "$2" "$since"
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
rm -rf "$p" "$p.real"
profile "allreduce,0,-1,tree,ll,4,-1,-1"

# ---- the prolog --------------------------------------------------------------------------------------------------------
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
        SLURMD_NODENAME=$node SLURM_JOB_NODELIST=$node timeout 20 "$dir/libexec/nccltune-hook" "$hook" --conf "$dir/hung.conf" 9<&- |
            cat >"$work/hung.out"
        code=${PIPESTATUS[0]}
        echo $((($(date +%s%N) - began) / 1000000)) >"$work/hung.ms"
        exit "$code"' hung "$dir" ${n}0 "$1" "$work"
}
for hook in prolog task-prolog; do
    since=$(log_lines) code=0
    hung $hook >"$work/hung.log" 2>&1 || code=$?
    if [ $code = 77 ]; then
        skip "$hook on a hung file system" "no FUSE: $(tail -n 1 "$work/hung.log")"
        continue
    fi
    check "$hook on a hung file system: exit code 0" test $code = 0
    check "$hook: back after its limit, $(cat "$work/hung.ms") ms" test "$(cat "$work/hung.ms")" -lt 3000
    check "$hook: prints nothing" test ! -s "$work/hung.out"
    check "$hook: and says so" grep -q "not done after 250 ms" <(log_since "$since")
done

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
each_us() { # each_us HOOK LIST NODE: microseconds a call, mean of 20
    local began i
    began=$(date +%s%N)
    for i in $(seq 20); do
        SLURMD_NODENAME=$3 SLURM_JOB_NODELIST=$2 "$libexec/nccltune-hook" "$1" --conf "$dir/site/slurm.conf" --sysfs "$dir/sys" >/dev/null
    done
    echo "$((($(date +%s%N) - began) / 20000))"
}
mkdir -p "$dir/sys" && ln -s "$dir/hca/${n}0" "$dir/sys/class"
only all
echo "# us a call: task-prolog $(each_us task-prolog ${n}0 ${n}0), prolog $(each_us prolog ${n}0 ${n}0)"
big
echo "# with 4,096 hosts and a table of 1 MiB: task-prolog $(each_us task-prolog "${n}0,big[1-4092]" ${n}0), prolog $(each_us prolog "${n}0,big[1-4092]" ${n}0)"
finish
