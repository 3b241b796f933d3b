#!/usr/bin/env bash
# Verbs on real verbs devices: four HCAs in one guest. First one connection and what can go wrong with it (see
# tests/unit/bench/engines/verbs/test_pair.c), then nccltune bench --engine verbs over all pairs, with one HCA that is slow.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh

# In the guest. All HCAs are shaped to what an emulation on a busy machine still reaches, rxe3 to a fifth of it.
if [ "${1:-}" = guest ]; then
    CMOCKA_MESSAGE_OUTPUT=TAP build/tests/unit/bench/engines/verbs/test_pair
    for r in 0 1 2 3; do
        rate=10mbit
        [ $r != 3 ] || rate=2mbit
        tc qdisc add dev rail$r root tbf rate $rate burst 16kb limit 4mb
    done
    echo '== one slow'
    build/nccltune bench --engine verbs --quiet --budget 200s -o /tmp/fabric.json
    echo "status $?"
    cat /tmp/fabric.json
    # A link that goes down when the first pairs are done.
    echo '== link down'
    tc qdisc replace dev rail3 root tbf rate 10mbit burst 16kb limit 4mb
    build/nccltune bench --engine verbs --quiet --budget 200s -o /tmp/down.json &
    for ((i = 0; i < 600; i++)); do
        ! grep -q '"try"' /tmp/down.json.journal 2>/dev/null || break
        sleep 0.2
    done
    ip link set rail2 down
    wait $!
    echo "status $?"
    exit
fi

why=$(tests/vm/build 2>&1) || cannot_start vm "$why"
printed=$(tests/vm/run --limit 400 tests/vm/test_verbs.sh guest 2>&1)
unit=$(printf '%s\n' "$printed" | sed '/^== /,$d')
# part NAME: what was printed by that measurement.
part() { printf '%s\n' "$printed" | awk -v want="== $1" '/^== / { on = $0 == want; next } on'; }
engine=$(part 'one slow') down=$(part 'link down')
says() { printf '%s\n' "$engine" | grep -qE "$1"; }
says_down() { printf '%s\n' "$down" | grep -qE "$1"; }

passed=$(printf '%s\n' "$unit" | grep -c '^ok ')
if [ "$passed" -ge 5 ] && ! printf '%s\n' "$unit" | grep -qE '^not ok |# SKIP'; then
    ok "all $passed cases of test_verbs_pair"
else
    not_ok "all cases of test_verbs_pair"
fi
check "all twelve ordered pairs are measured" test "$(printf '%s\n' "$engine" | grep -c '"status":.*"ok"')" = 12
check "one slow HCA is a fault" says '^status 1$'
check "... named as what sends slowly, with the numbers" \
    says '^  node0 rxe3:1, what it sends: 3 of 3 tries slow, median [0-9.e-]+ GB/s, others [0-9.e-]+ GB/s$'
check "... and left out of the HCA list" says '^NCCL_IB_HCA==rxe0:1,rxe1:1,rxe2:1$'
check "a sound connection comes by NCCL's own GID" says "^GIDs: NCCL's own choice works on every port: RoCE v2 over IPv4"
check "a link that goes down in mid-run is a fault" says_down '^status 1$'
check "... of one port" says_down '^  node0 rxe2:1, or its cable: 5 of 6 tries failed; the first: node0 rxe[0-9]:1: '
check "... which is left out" says_down '^NCCL_IB_HCA==rxe0:1,rxe1:1,rxe3:1$'
[ "$tap_failed" = 0 ] || printf '%s\n' "$printed" | sed 's/^/# /'
finish
