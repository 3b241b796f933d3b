#!/usr/bin/env bash
# The nccl engine on four nodes: agents over mpirun or an ssh for each node and back over TCP, two ranks a node of the NCCL double over the nodes'
# network, a hang on one of them, the profile, its verification, and the loss of a node.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
prefix=nn$$
work=$(mktemp -d)
trap 'tests/rig/nodes down $prefix; rm -rf "$work"' EXIT
tests/rig/nodes up $prefix 4 none >"$work/up.log" 2>&1 ||
    cannot_start cluster "network namespaces: $(tail -n 1 "$work/up.log")"

export LD_LIBRARY_PATH=$PWD/build/tests/doubles/lib NCCL_DOUBLE_LAW=$PWD/tests/fixtures/nccl/law.txt
export DRIVER_DOUBLE_GPUS=2 NCCL_SOCKET_IFNAME="=eth0"
hosts=$prefix-n0,$prefix-n1,$prefix-n2,$prefix-n3
launch="--map-by node --mca plm rsh --mca plm_rsh_agent $PWD/tests/rig/agent"
launch+=" --mca oob_tcp_if_include eth0 -x DRIVER_DOUBLE_GPUS"
topo=$work/topology.json
on_node0() { tests/rig/nodes exec $prefix-n0 "$@"; }
by=(--mpirun-args "$launch")
nccltune() {
    on_node0 timeout -k 5 150 build/nccltune "$@" --hosts "$hosts" "${by[@]}" --collectives allreduce \
        --max-bytes 256K --step-factor 16
}
bench() { nccltune bench --engine nccl --topology "$topo" "$@"; }
# Agents and workers on any node.
left_over() {
    local ns p
    for ns in 0 1 2 3; do
        for p in $(ip netns pids "$prefix-n$ns"); do
            grep -qs nccltune-worker "/proc/$p/cmdline" && echo "$p on node $ns"
        done
    done
}
# The cores that agents and workers may use, once for each different list.
cores() {
    local ns p
    for ns in 0 1 2 3; do
        for p in $(ip netns pids "$prefix-n$ns"); do
            if grep -qs nccltune-worker "/proc/$p/cmdline"; then sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$p/status" 2>/dev/null; fi
        done
    done | sort -u
}
none_left() {
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
        [ -z "$(left_over)" ] && return 0
        sleep 0.2
    done
    left_over
    return 1
}

check "probe" on_node0 build/nccltune probe -o "$topo"
# Variables that are set are not tried: fewer launches.
export NCCL_MIN_CTAS=1 NCCL_MAX_CTAS=32 NCCL_BUFFSIZE=4194304
# Node 2 has a GPU that is too hot, an Xid and somebody else's job on it.
export NCCLTUNE_NVML=$PWD/build/tests/doubles/fake_nvml.so FAKE_NVML_SIGNS=hot,xid,neighbour FAKE_NVML_SIGNS_HOST=$prefix-n2
NCCL_DOUBLE_FAULT="hang rank=5 algo=tree proto=simple" bench --budget 80s --watchdog 2s --first-use-patience 2s -o "$work/r.jsonl" >"$work/log" 2>&1
check "a sweep over four nodes with a hang in it ends with status 1" test $? = 1
note "$work/log"
unset NCCLTUNE_NVML FAKE_NVML_SIGNS
for sign in '"gpu-hot"' '"xid"' '"gpu-processes"'; do
    check "another node's GPU disturbed it: $sign is in the journal" grep -q "{\"id\":$sign,[^}]*\"$prefix-n2, GPU 3" "$work/r.jsonl"
done
check "and said" grep -q "error xid: $prefix-n2, GPU 3, Xid 79" "$work/log"
check "eight ranks on four nodes" grep -q '"nodes":4,"ranks":8' "$work/r.jsonl"
check "the hang is journalled" grep -q '"tree/simple".*"status":"hung".*no answer in time' "$work/r.jsonl"
check "the sweep went on: Tree with LL was measured" grep -q '"tree/ll".*"status":"ok"' "$work/r.jsonl"
check "nothing is left on any node" none_left
check "generate" build/nccltune generate --topology "$topo" --results "$work/r.jsonl" -o "$work/profile"
note "$work/profile/tuner.csv"
check "the table has a rule for four nodes and eight ranks" grep -q '^allreduce,[0-9]*,[0-9]*,tree,ll,[-0-9]*,4,8,' "$work/profile/tuner.csv"
check "verify confirms it on the four nodes" nccltune verify "$work/profile" -q --budget 30s
unset NCCL_MIN_CTAS NCCL_MAX_CTAS NCCL_BUFFSIZE

NCCL_DOUBLE_OTHER=$prefix-n3=22809 bench -q --budget 6s -o "$work/v.jsonl" >"$work/versions.log" 2>&1
check "nodes with different releases of NCCL are refused" test $? = 1
note "$work/versions.log"
check "in words that name both" grep -q "$prefix-n0 has NCCL 2.30.7 .*, $prefix-n3 has 2.28.9 " "$work/versions.log"

# No MPI: an ssh for each node, which passes nothing on but a command line and standard input. Each is counted.
printf '%s\n' '#!/bin/sh' "echo \$1 >>$work/starts" "exec $PWD/tests/rig/agent \"\$@\"" >"$work/ssh"
chmod 755 "$work/ssh"
by=(--ssh-command "$work/ssh")
check "agents are started by an ssh for each node" nccltune tune --engine nccl -q --budget 6s -o "$work/by-ssh"
check "one on each, once: they probe, try the fabric and run NCCL" test "$(sort "$work/starts" | paste -sd,)" = "$hosts"
note "$work/starts"
check "eight ranks on four nodes without mpirun" grep -q '"nodes":4,"ranks":8' "$work/by-ssh/results.jsonl"
on_node0 build/nccltune bench --engine nccl --topology "$topo" --hosts "$prefix-n0,nosuchhost" "${by[@]}" \
    -o "$work/x.jsonl" >"$work/nosuch.log" 2>&1
check "a node that cannot be reached is named, with ssh's own word" \
    grep -q 'nosuchhost: ssh exited with code [0-9]*: Cannot open network namespace "nosuchhost"' "$work/nosuch.log"
note "$work/nosuch.log"
by=(--mpirun-args "$launch")

# measured_a_while JOURNAL: waits until it has some lines.
measured_a_while() {
    for _ in $(seq 150); do
        [ -e "$1" ] && [ "$(wc -l <"$1")" -gt 5 ] && break
        sleep 0.2
    done
}
# Found started: a launcher has put a copy on every rank. copies PER_NODE NAME=VALUE... -- COMMAND...: exit codes in $codes.
# In values %k is the node's number, %l the copy's there, %r its rank, %m what the operator of PyTorchJobs calls the master.
copies() {
    local per=$1 k l p pids=() variables=() all
    shift
    while [ "$1" != -- ]; do variables+=("$1") && shift; done
    shift
    for ((k = 0; k < 4; k++)); do
        for ((l = 0; l < per; l++)); do
            all=("${variables[@]//%k/$k}")
            all=("${all[@]//%l/$l}")
            all=("${all[@]//%r/$((k * per + l))}")
            [ $k = 0 ] && all=("${all[@]//%m/localhost}") || all=("${all[@]//%m/nccltune-master-0}")
            env "${all[@]}" tests/rig/nodes exec "$prefix-n$k" timeout -k 5 100 "$@" >"$work/copy.$k.$l" 2>&1 &
            pids+=($!)
        done
    done
    codes=
    for p in "${pids[@]}"; do wait "$p" && codes+=0 || codes+=$?; done
}
# Names of pods, and addresses of IPv6.
for k in 0 1 2 3; do
    echo "10.77.0.1 nccltune-master-0" >>"/etc/netns/$prefix-n$k/hosts"
    ip netns exec "$prefix-n$k" sysctl -qw net.ipv6.conf.eth0.disable_ipv6=0
    ip -n "$prefix-n$k" addr add "fd77::$((k + 1))/64" dev eth0 nodad
done
# What torchrun 2.x sets.
torchrun=(RANK=%r WORLD_SIZE=8 LOCAL_RANK=%l LOCAL_WORLD_SIZE=2 GROUP_RANK=%k GROUP_WORLD_SIZE=4 ROLE_RANK=%r ROLE_WORLD_SIZE=8
    ROLE_NAME=default MASTER_ADDR="$prefix-n0" MASTER_PORT=29500 TORCHELASTIC_USE_AGENT_STORE=True TORCHELASTIC_MAX_RESTARTS=1
    TORCHELASTIC_RESTART_COUNT=0 TORCHELASTIC_RUN_ID=r1 OMP_NUM_THREADS=1)
small=(--engine nccl --collectives allreduce --sizes 64K --budget 4s)
copies 2 "${torchrun[@]}" -- build/nccltune tune --engine nccl --collectives allreduce --budget 60s -o "$work/torchrun" &
measured_a_while "$work/torchrun/results.jsonl"
for k in 0 1 2 3; do
    for p in $(ip netns pids "$prefix-n$k"); do
        if grep -qs nccltune "/proc/$p/cmdline"; then kill -KILL "$p"; fi
    done
done
wait $!
check "torchrun's ranks are killed, nobody could clean up" test -n "$(find "$work/torchrun" -name '.head*')"
copies 2 "${torchrun[@]}" TORCHELASTIC_RESTART_COUNT=1 -- build/nccltune tune "${small[@]}" --resume -o "$work/torchrun"
check "it starts them again: copies of torchrun find one another by the profile's directory" test "$codes" = 00000000
note "$work/copy.0.0"
check "... every node was probed, and its GPUs measured" bash -c \
    "grep -q '\"nodes\":4,\"ranks\":8' '$work/torchrun/results.jsonl' && [ \$(grep -c '$prefix-n.\"' '$work/torchrun/topology.json') -ge 4 ]"
check "... and left nothing there" test -z "$(find "$work/torchrun" -name '.head*')"
copies 2 "${torchrun[@]}" MASTER_ADDR=fd77::1 NCCLTUNE_KEY=0123abcd -- build/nccltune verify "$work/torchrun" --collectives allreduce --sizes 64K --budget 4s \
    --journal "$work/verified.jsonl"
check "copies of verify find one another, too, by an IPv6 address and a secret, and measure all nodes" test "$codes" = 00000000 -a \
    "$(grep -c '"nodes":4,"ranks":8' "$work/verified.jsonl")" -gt 0
note "$work/copy.0.0"
began=$(date +%s)
copies 2 "${torchrun[@]}" -- build/nccltune tune "${small[@]}" -o "$work/torchrun"
check "when the head refuses, all end" test "$codes" = 11111111 -a $(($(date +%s) - began)) -lt 30
check "... with one sentence" test "$(cat "$work"/copy.*)" = "$(cat "$work/copy.0.0")" -a "$(wc -l <"$work/copy.0.0")" = 1
# command_of NAME PROFILE: what the pods of an example run that tune, with this build, little time and that profile.
command_of() {
    python3 -c 'import sys, yaml
def containers(node):
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else []:
        yield from containers(value)
    yield from node.get("containers", []) if isinstance(node, dict) else []
job = yaml.safe_load(open("examples/kubernetes/" + sys.argv[1] + ".yaml"))
tunes = [c for c in containers(job) if "tune" in c.get("command", [])][0]
names = {v["name"] for v in tunes.get("env", [])}
assert names in ({"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "NCCLTUNE_KEY"}, set()), names
for word in tunes["command"]:
    print({"nccltune": "build/nccltune", "30m": "4s", "/shared/profile": sys.argv[2]}.get(word, word))' "$@"
}
# As the operator would start the example's pods, which share a secret only: the master is told another address of itself.
readarray -t pod < <(command_of jobset "$work/pods")
copies 1 RANK=%k WORLD_SIZE=4 MASTER_ADDR=%m MASTER_PORT=23456 NCCLTUNE_KEY=0123abcd -- "${pod[@]}" --collectives allreduce --sizes 64K
check "a JobSet's pods find one another by the first one and a secret" test "$codes" = 0000
check "... and are measured" grep -q '"nodes":4,"ranks":8' "$work/pods/results.jsonl"
# The launcher of an MPIJob is no worker; the operator gives mpirun its list of them and what reaches them.
for k in 1 2 3; do echo "$prefix-n$k slots=2"; done >"$work/hostfile"
readarray -t pod < <(command_of mpijob "$work/mpijob")
# A list of variables of the site's, beside which mpirun refuses -x.
check "the launcher of an MPIJob starts an agent on each of its workers" env OMPI_MCA_orte_default_hostfile="$work/hostfile" \
    OMPI_MCA_mca_base_env_list="DRIVER_DOUBLE_GPUS;SITE=1" \
    OMPI_MCA_plm_rsh_agent="$PWD/tests/rig/agent" OMPI_MCA_oob_tcp_if_include=eth0 OMPI_MCA_orte_keep_fqdn_hostnames=true \
    tests/rig/nodes exec "$prefix-n0" timeout -k 5 100 "${pod[@]}" -q --collectives allreduce --sizes 64K
check "... and measures them" grep -q '"nodes":3,"ranks":6' "$work/mpijob/results.jsonl"
if command -v pdsh >/dev/null; then
    check "plain pdsh" env NCCLTUNE_PROGRAM="$PWD/build/nccltune" PDSH_RSH="$PWD/tests/rig/agent" \
        timeout 100 examples/pdsh.sh "$prefix-n[0-3]" 4 "$work/pdsh" "${small[@]}"
    check "... measures all nodes" grep -q '"nodes":4,"ranks":8' "$work/pdsh/results.jsonl"
else
    skip "plain pdsh" "no pdsh"
fi
check "nothing of all that is left on any node" none_left

bench -q --budget 15s -o "$work/l.jsonl" >"$work/lost.log" 2>&1 &
measured_a_while "$work/l.jsonl"
check "nobody is pinned to one core" test "$(cores)" = "$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)"
for p in $(ip netns pids "$prefix-n2"); do
    if grep -qs nccltune-worker "/proc/$p/cmdline"; then kill -KILL "$p"; fi
done
wait $!
rc=$?
note "$work/lost.log"
check "an agent that is killed is started anew, and the run ends well" test $rc = 0
check "in words that name the node" grep -q "lost the agent on $prefix-n2; starting all agents again" "$work/lost.log"
check "nothing is held against what was measured then" test "$(grep -cE '"status":"(crashed|hung)"' "$work/l.jsonl")" = 0
check "the journal can be used" build/nccltune generate --topology "$topo" --results "$work/l.jsonl" -o "$work/of-lost"

bench -q --budget 60s -o "$work/c.jsonl" >"$work/cut.log" 2>&1 &
measured_a_while "$work/c.jsonl"
ip -n "$prefix-n2" link set eth0 down
wait $!
rc=$?
note "$work/cut.log"
check "a node that stays away ends the run" test $rc = 1
check "its name is said, and how to go on" grep -qz "lost the agent on .*$prefix-n2.*--resume.* goes on" "$work/cut.log"
check "nothing is held against what was measured then" test "$(grep -cE '"status":"(crashed|hung)"' "$work/c.jsonl")" = 0
check "nothing is left on any node, the lost one included" none_left
finish
