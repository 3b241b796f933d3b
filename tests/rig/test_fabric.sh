#!/usr/bin/env bash
# Which interfaces and RDMA ports reach which, between three nodes (tests/rig/nodes): first without RDMA, where one
# interface of one node leads nowhere; then over a double of libibverbs (tests/doubles/fake_verbs.c) with three rails that
# are InfiniBand subnets of their own and one dark port.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
prefix=nf$$
tmp=$(mktemp -d)
trap 'tests/rig/nodes down $prefix; rm -rf "$tmp"' EXIT
tests/rig/nodes up $prefix 3 none none >"$tmp/up.log" 2>&1 ||
    cannot_start fabric "network namespaces: $(tail -n 1 "$tmp/up.log")"

hosts=$prefix-n0,$prefix-n1,$prefix-n2
by=(--ssh-command "$PWD/tests/rig/agent") # no MPI anywhere
launch="--mca plm rsh --mca plm_rsh_agent $PWD/tests/rig/agent --mca oob_tcp_if_include eth0"
on_node0() { tests/rig/nodes exec $prefix-n0 "$@"; }
bench() {
    on_node0 timeout -k 5 120 build/nccltune bench --engine verbs --quiet --hosts "$hosts" "${by[@]}" "$@" >"$tmp/out" 2>&1
    status=$?
    return $status
}
says() { grep -qE -- "$1" "$tmp/out" || { cat "$tmp/out"; return 1; }; }
line() { grep -qxE -- "$1" "$2" || { cat "$2"; return 1; }; }

# ib0, which NCCL would prefer, has no carrier on the third node.
ip -n "$prefix-fab" link set p2.1 down
on_node0 build/nccltune probe -o "$tmp/topology.json" >"$tmp/out" 2>&1
check "without RDMA the interfaces are tried" bench -o "$tmp/sockets.json"
check "... which is said" says '^There is no RDMA port\.$'
check "... one does not lead to every node" says "^  $prefix-n0 ib0 \(10\.77\.1\.1\): 1 of 2 nodes answer$"
check "generate turns that into a setting" \
    build/nccltune generate -q -t "$tmp/topology.json" --fabric "$tmp/sockets.json" -o "$tmp/sockets"
check "... the interface that reaches all" line 'NCCL_SOCKET_IFNAME==eth0' "$tmp/sockets/nccl.conf"
build/nccltune explain "$tmp/sockets" NCCL_SOCKET_IFNAME >"$tmp/out"
check "... with the reason" says 'eth0 reaches every node; NCCL by itself would also use ib0 \(1 of 2 answer'
ip -n "$prefix-fab" link set p2.1 up

# Rails of 50 MB/s, slow enough for a busy machine.
export FAKE_VERBS="mlx5_0:1:ib:0.05:0 mlx5_1:1:ib:0.05:1 mlx5_2:1:ib:0.05:2" FAKE_VERBS_FAULTS=""
export LD_PRELOAD=$PWD/build/tests/doubles/fake_verbs.so
ports=mlx5_0:1,mlx5_1:1,mlx5_2:1
check "three separate rails are no fault" bench --ports $ports -o "$tmp/fabric.json"
check "... but must not be crossed" says '^NCCL_CROSS_NIC=0$'
check "... and stay in use" bash -c "! grep -q ^NCCL_IB_HCA '$tmp/out'"
check "every node's interfaces reach all others" says '^Network interfaces: 6 of 6 reach every node'
by=(--mpirun-args "$launch -x LD_PRELOAD -x FAKE_VERBS -x FAKE_VERBS_FAULTS")
check "a health check of three nodes, agents over mpirun" bench --check "$tmp/fabric.json"
by=(--ssh-command "$PWD/tests/rig/agent")
FAKE_VERBS_FAULTS="1/mlx5_2=slow" bench --check "$tmp/fabric.json"
# Of three nodes each leads one pair of a rail: only further tries tell whose end it is.
check "... names the port that became slow" \
    says "^  $prefix-n1 mlx5_2:1, what it sends: 2 of 2 tries slower, at [0-9]+ % of the profile's"
FAKE_VERBS_FAULTS="1/mlx5_2=dark 2/mlx5_0=mtu" bench --ports $ports -o "$tmp/dark.json"
check "a dark port is one fault" says "^  $prefix-n1 mlx5_2:1, or its cable: 3 of 3 tries failed"
check "... its node is left out, which is no larger a part than its rail" says "^Leave out $prefix-n1: "
check "a smaller MTU is a finding" says "^  warning mtu-below: $prefix-n2 mlx5_0:1: an RDMA MTU of 1024 bytes, 8 others have 4096$"
finish
