#!/usr/bin/env bash
# nccltune bench --engine verbs between two guests over MPI: a rail that goes dark, and what tune makes of it. With
# FABRIC_ALL=1 (make check-long) two rails that are separate networks before that; then a rail that went dark since the
# profile, GID tables that differ, and no IPv4 address at all.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh

# In the guest: one measurement a mark.
if [ "${1:-}" = guest ]; then
    rsh="--mca plm_rsh_agent $PWD/tests/vm/on --mca oob_tcp_if_include mgmt --mca btl_tcp_if_include mgmt --mca pml ob1 --mca btl tcp,self"
    measure() {
        echo "== $1"
        build/nccltune bench --engine verbs --quiet --budget 100s --hosts node0,node1 --mpirun-args "$rsh" -o /tmp/fabric.json
        echo "status $?"
    }
    both() { eval "$1" && tests/vm/on node1 "$1"; }
    [ "$2" = 0 ] || measure healthy
    tests/vm/on node1 tc qdisc add dev rail1 root netem loss 100%
    measure dark
    # The whole pipeline in that state: tune finds the devices by itself.
    echo "== tune"
    build/nccltune tune --quiet --budget 45s --collectives allreduce --max-bytes 8 --hosts node0,node1 --mpirun-args "$rsh" \
        -o /tmp/profile
    echo "status $?"
    cat /tmp/profile/nccl.conf
    build/nccltune explain /tmp/profile NCCL_IB_HCA
    [ "$2" = 1 ] || exit
    tests/vm/on node1 tc qdisc del dev rail1 root
    # The profile is also a baseline: the rail that was dark then may be better now, but not the other one.
    tests/vm/on node1 tc qdisc add dev rail0 root netem loss 100%
    echo "== check"
    build/nccltune bench --check /tmp/profile --quiet --budget 30s --hosts node0,node1 --mpirun-args "$rsh"
    echo "status $?"
    tests/vm/on node1 tc qdisc del dev rail0 root
    # The addresses of one guest come in another order: the same GID has another index there.
    # shellcheck disable=SC2016 # expanded there
    tests/vm/on node1 'for r in 0 1; do ip addr flush dev rail$r scope global; ip addr add fd00:$r::2/64 dev rail$r nodad; ip addr add 10.78.$r.2/24 dev rail$r; done'
    measure indices
    # IPv6 only, and no route that a link-local GID could take.
    # shellcheck disable=SC2016 # expanded by eval, here and there
    both 'for r in 0 1; do ip addr flush dev rail$r scope global; ip addr add fd00:$r::$((NCCLTUNE_VM_NODE + 1))/64 dev rail$r nodad; ip -6 route flush fe80::/64 dev rail$r; done'
    measure ipv6
    exit
fi

why=$(tests/vm/build 2>&1) || cannot_start vm "$why"
all=${FABRIC_ALL:-0}
printed=$(tests/vm/run --nodes 2 --limit 560 tests/vm/test_fabric.sh guest "$all" 2>&1)

# part NAME: what was printed by that measurement.
part() { printf '%s\n' "$printed" | awk -v want="== $1" '/^== / { on = $0 == want; next } on'; }
# says NAME PATTERN: whether a line of that measurement is PATTERN.
says() { part "$1" | grep -qE "$2"; }

check "a dark rail is a fault" says dark '^status 1$'
check "... is left out of the HCA list" says dark '^NCCL_IB_HCA==rxe0:1$'
check "... with the reason" says dark 'without rxe1:1: between node[01] rxe1:1 and node[01] rxe1:1: .* tries failed; the first: node'
check "tune measures the fabric by itself" says tune '^NCCL_IB_HCA==rxe0:1$'
check "... and explain says why" says tune 'measured on the fabric: without rxe1:1: between node[01] rxe1:1 and node[01] rxe1:1: '
if [ "$all" = 1 ]; then
    check "separate rails are no fault" says healthy '^status 0$'
    check "... but NCCL must not cross them" says healthy '^NCCL_CROSS_NIC=0$'
    check "... and all HCAs stay" bash -c '! grep -q NCCL_IB_HCA' < <(part healthy)
    check "NCCL's own GIDs work" says healthy "^GIDs: NCCL's own choice works on every port: RoCE v2 over IPv4"
    check "a health check names what has become dark since" says check '^  between node[01] rxe0:1 and node[01] rxe0:1: 1 of 1 tries failed'
    check "... and fails" says check '^status 1$'
    check "GIDs at different indices need no setting" says indices "^GIDs: NCCL's own choice works on every port"
    check "... and never an index" bash -c '! grep -q NCCL_IB_GID_INDEX' < <(part indices)
    check "without IPv4 NCCL is told to take IPv6" says ipv6 '^NCCL_IB_ADDR_FAMILY=AF_INET6$'
fi
[ "$tap_failed" = 0 ] || printf '%s\n' "$printed" | sed 's/^/# /'
finish
