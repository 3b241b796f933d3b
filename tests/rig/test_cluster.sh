#!/usr/bin/env bash
# Four nodes with five unequal rails: tune must find that the fast rail alone beats OpenMPI's default of all of them, and
# the settings that it writes, applied to plain mpirun and an independent timing program, must give the same gain.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
prefix=nt$$
work=$(mktemp -d)
trap 'tests/rig/nodes down $prefix; rm -rf "$work"' EXIT
tests/rig/nodes up $prefix 4 100mbit 200mbit 400mbit 800mbit none >"$work/up.log" 2>&1 ||
    cannot_start cluster "network namespaces: $(tail -n 1 "$work/up.log")"

hosts=$prefix-n0,$prefix-n1,$prefix-n2,$prefix-n3
launch="--map-by node --bind-to none --mca plm rsh --mca plm_rsh_agent $PWD/tests/rig/agent"
launch+=" --mca oob_tcp_if_include eth0 --mca mpi_yield_when_idle 1"
profile=$work/profile

on_node0() { tests/rig/nodes exec $prefix-n0 "$@"; }
tune() {
    on_node0 timeout -k 5 300 build/nccltune tune -o "$profile" --hosts "$hosts" --ranks-per-node 1 --budget 110s \
        --collectives allreduce --sizes 64K,1M,4M --mpirun-args "$launch" "$@"
}
check "tune runs on four nodes" tune
note "$profile/openmpi-mca-params.conf"
chosen=$(sed -n 's/^btl_tcp_if_include *= *//p' "$profile/openmpi-mca-params.conf")
check "the fast rail alone is chosen, not all five" test "$chosen" = ib3

# plain_mpirun MPIRUN-ARGUMENT...: the independent program's median time of a 4 MiB AllReduce, in microseconds.
plain_mpirun() {
    # shellcheck disable=SC2086 # $launch is a list of words
    on_node0 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout -k 5 60 \
        mpirun $launch "$@" -np 4 -H "$hosts" build/tests/coll-times allreduce 20 4194304 2>>"$work/mpirun.log" | sed -n "s/^allreduce 4194304 //p"
}
# Interleaved, so that a busy machine is busy for both.
for round in 1 2 3; do
    plain_mpirun >>"$work/default"
    plain_mpirun --tune "$profile/openmpi-mca-params.conf" >>"$work/tuned"
    echo "# 4 MiB AllReduce, round $round: default $(tail -n 1 "$work/default") us, tuned $(tail -n 1 "$work/tuned") us"
done
# The middle one of three times; fails unless there are three.
middle() { [ "$(grep -cE '^[0-9.]+$' "$1")" = 3 ] && sort -n "$1" | sed -n 2p; }
faster() {
    local default tuned
    default=$(middle "$work/default") && tuned=$(middle "$work/tuned") &&
        echo "default $default us, tuned $tuned us" && awk "BEGIN { exit !($default > 1.3 * $tuned) }"
}
check "plain mpirun with the written settings is at least 1.3 times as fast" faster
explain() { build/nccltune explain "$profile" --collectives allreduce --bytes 4M --nodes 4 --ranks 4 | tee "$work/explain" | grep -q ib3; }
check "explain names the rail and its evidence" explain
note "$work/explain"

# Groups for real: all nodes, and two pairs at once over the rail that is fast.
groups() {
    OMPI_MCA_btl_tcp_if_include=ib3 on_node0 timeout -k 5 90 build/nccltune bench --engine mpi -q --hosts "$hosts" --ranks-per-node 1 --budget 12s --interfaces ib3 \
        --collectives allreduce --sizes 64K,512K --shapes '4x1,2x1*2' --mpirun-args "$launch" -o "$work/groups.jsonl" >"$work/groups"
}
check "groups of nodes are measured, alone and side by side" groups
note "$work/groups"
check "each in lines of its own" bash -c "grep -q '\"nodes\":2,\"ranks\":2,\"groups\":2' $work/groups.jsonl"
finish
