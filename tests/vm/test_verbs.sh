#!/usr/bin/env bash
# Verbs on real verbs devices: four HCAs in one guest. First one connection and what can go wrong with it (see
# tests/unit/bench/test_verbs_pair.c), then nccltune bench --engine verbs over all pairs, with one HCA that is slow.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh

# In the guest. All HCAs are shaped to what an emulation on a busy machine still reaches, rxe3 to a fifth of it.
if [ "${1:-}" = guest ]; then
    CMOCKA_MESSAGE_OUTPUT=TAP build/tests/unit/bench/test_verbs_pair
    for r in 0 1 2 3; do
        rate=10mbit
        [ $r != 3 ] || rate=2mbit
        tc qdisc add dev rail$r root tbf rate $rate burst 16kb limit 4mb
    done
    echo '== one slow'
    build/nccltune bench --engine verbs --quiet --budget 200s -o /tmp/fabric.json
    echo "status $?"
    cat /tmp/fabric.json
    exit
fi

why=$(tests/vm/build 2>&1) || cannot_start vm "$why"
printed=$(tests/vm/run --limit 400 tests/vm/test_verbs.sh guest 2>&1)
unit=$(printf '%s\n' "$printed" | sed '/^== /,$d')
engine=$(printf '%s\n' "$printed" | sed '1,/^== /d')
says() { printf '%s\n' "$engine" | grep -qE "$1"; }

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
[ "$tap_failed" = 0 ] || printf '%s\n' "$printed" | sed 's/^/# /'
finish
