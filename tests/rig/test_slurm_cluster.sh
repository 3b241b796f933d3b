#!/usr/bin/env bash
# One tune from a login node without GPUs, in an allocation of five nodes with doubles of GPUs, HCAs and NCCL: n0 and n1
# are of one class, n2 and n3 have other HCAs, n4 has no port that is up, and behind a port of n1 it is dark, which only
# trying shows. n5 is taken in without measuring. Then a job on each node, and on all of them. The commands are those of
# README's section on clusters, as they stand there. With CLUSTER_AGAIN they run once more a year later, on the site that
# they have left; CLUSTER_POLICY is the site's policy= from the beginning, CLUSTER_SECONDS the time of those measurements.
# shellcheck disable=SC2086 # $n holds no blanks
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
[ "$(id -u)" = 0 ] || cannot_start slurm "needs root"
for program in slurmctld slurmd munged srun mpirun python3 jq; do
    command -v $program >/dev/null || cannot_start slurm "no $program"
done
prefix=nc$$
n=$prefix-n
dir=/run/nccltune-rig-$prefix
store=/shared/nccltune plugin=$dir/lib/libnccl-tuner-nccltune.so
made=()
for d in /etc/nccltune /shared; do [ -d $d ] || { mkdir $d && made+=("$d"); }; done
trap 'tests/rig/slurm down $prefix >/dev/null 2>&1; rmdir -- "${made[@]}"' EXIT

mkdir -p "$dir/libexec" "$dir/lib" "$dir/site" "$dir/shared" "$dir/bin"
install -m 755 build/nccltune-hook slurm/task_prolog slurm/prolog "$dir/libexec/"
install -m 755 build/libnccl-tuner-nccltune.so "$plugin"
printf '%s\n' "store=$store" "plugin=$plugin" ${CLUSTER_POLICY:+policy=$CLUSTER_POLICY} >"$dir/site/slurm.conf"

# hcas NODE STATE HCA...: what the node shows in /sys/class/infiniband, and the law of its NCCL: two HCAs are slower than
# the first alone, which is worth finding on every class.
hcas() {
    local node=$1 state=$2 root=$dir/hca/$1/infiniband hca
    shift 2
    for hca in "$@"; do
        mkdir -p "$root/$hca/ports/1"
        echo "$state" >"$root/$hca/ports/1/state"
        echo "400 Gb/sec (4X NDR)" >"$root/$hca/ports/1/rate"
        echo InfiniBand >"$root/$hca/ports/1/link_layer"
    done
    mkdir -p "$dir/laws"
    {
        grep -v -e ^hcas -e ^when tests/fixtures/nccl/law.txt
        echo "hcas $1,$2"
        echo "when hcas=$1 factor=0.6"
        echo "when hcas=none factor=10"
    } >"$dir/laws/$node"
}
hcas ${n}0 "4: ACTIVE" mlx5_0 mlx5_1
hcas ${n}1 "4: ACTIVE" mlx5_0 mlx5_1
hcas ${n}2 "4: ACTIVE" mlx5_2 mlx5_3
hcas ${n}3 "4: ACTIVE" mlx5_2 mlx5_3
hcas ${n}4 "1: DOWN" mlx5_0 mlx5_1
hcas ${n}5 "4: ACTIVE" mlx5_2 mlx5_3
mkdir -p "$dir/hca/${n}6"
# Only compute nodes have the driver's library; the login node is the controller's.
# shellcheck disable=SC2016 # expanded on the node
export NODE_SETUP='mount --bind "$dir/site" /etc/nccltune && mount --bind "$dir/shared" /shared &&
    mount -t overlay overlay -o "lowerdir=$dir/hca/$node:/sys/class" /sys/class &&
    if [ -e "$dir/laws/$node" ]; then
        cp build/tests/doubles/fake_nvml.so "$dir/node/nvml.so" && cp "$dir/laws/$node" "$dir/node/law"
    fi'
tests/rig/slurm up $prefix 6 "TaskProlog=$dir/libexec/task_prolog" "Prolog=$dir/libexec/prolog" \
    "PartitionName=gpu Nodes=ALL MaxTime=INFINITE State=UP" >"$dir/up.log" 2>&1 ||
    cannot_start slurm "$(tail -n 3 "$dir/up.log" | tr '\n' ' ')"

faults=
for k in 0 1 4; do faults+="$k/mlx5_2=absent $k/mlx5_3=absent "; done
faults+="4/mlx5_0=down 4/mlx5_1=down 1/mlx5_1=dark "
for k in 2 3 5; do faults+="$k/mlx5_0=absent $k/mlx5_1=absent "; done
# nodes SECONDS COMMAND...: on the login node, where /shared and this site's nccltune are.
# shellcheck disable=SC2016 # expanded there
nodes() {
    NCCLTUNE_NVML=$dir/node/nvml.so FAKE_NVML=pair DRIVER_DOUBLE_GPUS=2 NCCL_DOUBLE_LAW=$dir/node/law \
        LD_LIBRARY_PATH=$PWD/build/tests/doubles/lib NCCL_SOCKET_IFNAME="=eth0" OMPI_MCA_oob_tcp_if_include=eth0 \
        NCCL_MIN_CTAS=1 NCCL_MAX_CTAS=32 NCCL_SOCKET_NTHREADS=1 NCCL_BUFFSIZE=4194304 \
        FAKE_VERBS="mlx5_0:1:ib:1:0 mlx5_1:1:ib:1:0 mlx5_2:1:ib:1:0 mlx5_3:1:ib:1:0" FAKE_VERBS_FAULTS=$faults \
        NCCLTUNE_SSH="$PWD/tests/rig/slurm ssh" tests/rig/slurm exec $prefix timeout -k 5 "$1" sh -c '
            mount --bind "$0/shared" /shared && PATH=$0/bin:$PATH && export PATH && exec "$@"' "$dir" "${@:2}"
}
# The nccltune of this site: it has doubles, little time and an uninstalled plugin.
cat >"$dir/bin/nccltune" <<END
#!/bin/sh
export LD_PRELOAD=$PWD/build/tests/doubles/fake_verbs.so
case \$1 in
tune) set -- "\$@" --collectives allreduce \${SIZES---max-bytes 256K --step-factor 32 --budget ${CLUSTER_SECONDS:-60}s} ;;
install-profile) set -- "\$@" --no-nccl-conf --plugin $plugin ;;
esac
exec $PWD/build/nccltune "\$@"
END
chmod 755 "$dir/bin/nccltune"
today=2026-01-02
date() { if [ "$*" = +%F ]; then echo "$today"; else command date "$@"; fi; }
# written WORD...: the one line of README's commands that has all of them.
written() {
    local line word
    line=$(sed -n '/^<!-- tests.rig.test_slurm_cluster.sh runs/,/^[^ <]/s/^    //p' README.md)
    for word in "$@"; do line=$(grep -F -e "$word" <<<"$line"); done
    line=${line%%  #*}
    echo "${line//node17/${n}4}"
}
# place: where README's first line puts the profile, on the nodes.
# shellcheck disable=SC2154 # README sets it
place() (eval "$(written 'profile=')" && echo "$profile")
# as_written WORD...: that line, run on the login node.
as_written() {
    local line profile
    line=$(written "$@")
    profile=$(place)
    echo "# README: $line"
    eval "nodes $((90 + 3 * ${CLUSTER_SECONDS:-60})) $line"
}
profile=$dir$(place)

# ---- the plan --------------------------------------------------------------------------------------------------------
nodes 150 salloc -Q -w "${n}[0-4]" -N5 nccltune tune --serve partition=gpu -o /shared/profile --plan --json \
    >"$dir/plan.json" 2>"$dir/plan.log"
check "a plan from the login node" jq -e . "$dir/plan.json"
ask() { [ "$(jq -c "$1" "$dir/plan.json")" = "$2" ]; }
check "it would measure the nodes' GPUs, though here is none" ask '.profiles[0].plan.engine' '"nccl"'
check "on four nodes of two classes" ask '[.profiles[0].measured[] | .class]' '["class0","class0","class1","class1"]'
check "the node without a port is left out, with the reason" jq -e '.left_out[] | select(.name == "'${n}4'" and (.why | test("port|ports")))' "$dir/plan.json"
check "the sixth is served by what it equals" ask '[.profiles[0].served[] | .name, .class]' "[\"${n}5\",\"class1\"]"
check "nothing was written" test ! -e "$profile"
as_written --plan >"$dir/plan.text" 2>&1
check "README's plan says who, by what, for how long" grep -q "^measured     4 nodes: class0 ${n}\[0-1\], class1 ${n}\[2-3\]" "$dir/plan.text"
nodes 60 salloc -Q -w "${n}0,${n}2" -N2 nccltune bench --engine nccl --plan >"$dir/bench.plan" 2>&1
check "bench knows both classes' HCAs, too" grep -q 'hca=rail0' "$dir/bench.plan"
[ "$tap_failed" = 0 ] || { note "$dir/plan.log" && note "$dir/plan.json" && note "$dir/plan.text" && note "$dir/bench.plan"; }

# ---- measured, with HCAs of every class ------------------------------------------------------------------------------
as_written salloc "tune --serve" >"$dir/tune.log" 2>&1
check "it is measured" test -e "$profile/manifest.json"
check "it says before what, and for how long" grep -q "measuring ${n}\[0-3\] (4 nodes) for at most [0-9a-z ]* with the nccl engine" "$dir/tune.log"
check "and who is not served" grep -q "warning: ${n}4 is not served: " "$dir/tune.log"
check "the dark port costs its node, in numbers" grep -q "warning: ${n}1 is left out: .*costs 1 of 4 nodes (25 %).* 1 of 2 ports (50 %)" "$dir/tune.log"
check "six ranks on the three others" grep -q '"nodes":3,"ranks":6' "$profile/results.jsonl"
check "every class has the HCA that is better for it" bash -c "grep -hv '^#' $profile/nccl.d/class0.conf $profile/nccl.d/class1.conf |
    grep NCCL_IB_HCA | paste -sd' ' | grep -x 'NCCL_IB_HCA==mlx5_0:1 NCCL_IB_HCA==mlx5_2:1'"
check "and none stands for all" bash -c "! grep -q '^NCCL_IB_HCA' $profile/nccl.conf"
check "a table comes of it" grep -q '^allreduce,' "$profile/tuner.csv"
[ "$tap_failed" = 0 ] || note "$dir/tune.log"

# ---- jobs ------------------------------------------------------------------------------------------------------------
slurm() { tests/rig/slurm exec $prefix timeout -k 5 60 "$@"; }
# shellcheck disable=SC2016 # as README has it
check "it is installed" as_written 'install-profile $profile'
table=$(sha256sum <"$profile/tuner.csv" | cut -d' ' -f1)
# gets HCA SRUN-ARGUMENT...: every task of such a job has the table, and these HCAs.
# shellcheck disable=SC2016 # expanded by the task
gets() {
    local want=$1 got
    shift
    got=$(slurm srun -Q "$@" sh -c 'echo "$NCCLTUNE_HASH ${NCCL_IB_HCA-}"' | sort -u | paste -sd'|')
    [ "$got" = "$want" ] || { echo "expected '$want', found '$got'"; return 1; }
}
check "a job on n0 gets it" gets "$table =mlx5_0:1" -w ${n}0
for k in 2 3 5; do check "a job on n$k gets it" gets "$table =mlx5_2:1" -w ${n}$k; done
check "a job on all of them, the served one too" gets "$table =mlx5_0:1|$table =mlx5_2:1" -N4 -w "${n}0,${n}[2-3],${n}5"
for k in 1 4; do check "a job on n$k, which was left out, gets nothing" gets " " -w ${n}$k; done

# ---- both are repaired and join ---------------------------------------------------------------------------------------
faults=${faults/4\/mlx5_0=down 4\/mlx5_1=down 1\/mlx5_1=dark /}
echo "4: ACTIVE" | tee "$dir/hca/${n}4/infiniband/"*/ports/1/state >/dev/null
check "a node that was replaced joins what is installed, asked by ssh" as_written install-profile node17
check "a job on n4 gets it now" gets "$table =mlx5_0:1" -w ${n}4
check "so do all others that are asked, as jobs of the partition" nodes 60 nccltune install-profile --store "$store" --serve partition=gpu
check "the table is the same, a job on all six gets it" gets "$table =mlx5_0:1|$table =mlx5_2:1" -N6

# ---- the same lines a year later, while hooks deliver what they made ---------------------------------------------------
if [ -n "${CLUSTER_AGAIN-}" ]; then
    sed -i "s/^[0-9]* /$(($(date +%s) - 31536000)) /" "$dir/shared/nccltune/schedule"
    check "hooks deliver last year's profile" gets "$table =mlx5_0:1|$table =mlx5_2:1" -N6
    today=2027-01-02 profile=$dir$(place)
    as_written --plan >"$dir/plan.again" 2>&1
    check "README's plan a year later" grep -q "^measured     4 nodes: class0 ${n}\[0-1\], class1 ${n}\[2-3\]" "$dir/plan.again"
    as_written salloc "tune --serve" >"$dir/tune.again" 2>&1
    check "it is measured again, on all four now" grep -q '"nodes":4,"ranks":8' "$profile/results.jsonl"
    check "the baseline has nothing of last year's: every class's HCA is found anew" bash -c "grep -hv '^#' $profile/nccl.d/class0.conf $profile/nccl.d/class1.conf |
        grep NCCL_IB_HCA | paste -sd' ' | grep -x 'NCCL_IB_HCA==mlx5_0:1 NCCL_IB_HCA==mlx5_2:1'"
    # shellcheck disable=SC2016 # as README has it
    check "and installed" as_written 'install-profile $profile'
    table=$(sha256sum <"$profile/tuner.csv" | cut -d' ' -f1)
    check "a job on all six gets it" gets "$table =mlx5_0:1|$table =mlx5_2:1" -N6
    check "nothing was refused" test "$(cat "$dir"/*.log "$dir"/*.again | grep -c 'NCCL will not start')" = 0
    [ "$tap_failed" = 0 ] || { note "$dir/plan.again" && note "$dir/tune.again"; }
fi

# ---- two classes that may not share a job ----------------------------------------------------------------------------
# The other class's ports run at half the rate now, and one of its nodes has died: a profile for each class, both measured.
for k in 2 3; do echo "200 Gb/sec (4X HDR)" | tee "$dir/hca/${n}$k/infiniband/"*/ports/1/rate >/dev/null; done
check "what was installed goes: the site is untouched again" nodes 60 nccltune install-profile --uninstall --store "$store"
SIZES="--sizes 64K --budget 8s" nodes 100 salloc -Q -w "${n}[0-3]" -N4 nccltune tune -o "$dir/apart" >"$dir/apart.log" 2>&1
check "classes that may not share a job are measured one after the other" test $? = 0
measured_on() { grep -q '"engine":"nccl".*"nodes":2,"ranks":4' "$1/results.jsonl" && grep -qE "\"name\":[[:space:]]*\"$2\"" "$1/topology.json"; }
check "the first class has the profile that was asked for" measured_on "$dir/apart" ${n}0
check "the other one has its own beside it" measured_on "$dir/apart-class1" ${n}3
check "which says nothing of the first's HCAs" bash -c "! grep -v '^#' '$dir/apart-class1/nccl.conf' | grep -q mlx5_[01]"
[ "$tap_failed" = 0 ] || note "$dir/apart.log"
# How to install each is what it says.
install_as_said() {
    sed -n 's/.*: \(nccltune install-profile .* --jobs-on .*\)/\1/p' "$dir/apart.log" >"$dir/install" && [ "$(wc -l <"$dir/install")" = 2 ] || return 1
    while read -r _ command; do
        eval "nodes 60 nccltune $command --store '$store'" </dev/null || return 1
    done <"$dir/install"
}
check "both are installed by the commands that it says" install_as_said
for k in 0 2; do
    part=$dir/apart$([ $k = 0 ] || echo -class1)
    # In so little time a busy machine does not always tell HCAs apart.
    want="$(sha256sum <"$part/tuner.csv" | cut -d' ' -f1) $(sed -n 's/^NCCL_IB_HCA=//p' "$part/nccl.conf")"
    check "a job on n$k and n$((k + 1)) gets its class's" gets "$want" -N2 -w "${n}[$k-$((k + 1))]"
done
check "a job on nodes of both gets neither" gets " " -N2 -w "${n}[1-2]"

# ---- nodes that a file describes -----------------------------------------------------------------------------------------
# What it calls its classes shows that nobody was asked again.
jq '(.. | strings | select(. == "class0")) |= "ours"' "$dir/apart/topology.json" >"$dir/file.json"
SIZES="--sizes 64K --budget 5s" nodes 60 salloc -Q -w "${n}[0-1]" -N2 nccltune tune --topology "$dir/file.json" \
    -o "$dir/file" >"$dir/file.log" 2>&1
check "tune --topology measures the nodes of a file" measured_on "$dir/file" ${n}1
check "as the file has them" grep -q '"ours"' "$dir/file/topology.json"
[ "$tap_failed" = 0 ] || note "$dir/file.log"
[ "$tap_failed" = 0 ] || note "$dir/tune.log"
finish
