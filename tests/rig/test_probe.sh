#!/usr/bin/env bash
# nccltune probe over four nodes of network namespaces: one has an interface less, one is gone. The rest is gathered, and
# what differs is said.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
prefix=np$$
work=$(mktemp -d)
trap 'tests/rig/nodes down $prefix; rm -rf "$work"' EXIT
tests/rig/nodes up $prefix 4 none none >"$work/up.log" 2>&1 ||
    cannot_start cluster "network namespaces: $(tail -n 1 "$work/up.log")"
nccltune=$(realpath "${NCCLTUNE:-build/nccltune}")
# Node 2 has lost a rail, node 3 its network: entering it works, but it never ends.
ip -n $prefix-n2 link del ib0
cat >"$work/agent" <<END
#!/bin/sh
[ "\$1" = $prefix-n3 ] && exec sleep 60
exec '$PWD/tests/rig/agent' "\$@"
END
chmod +x "$work/agent"

gather() {
    tests/rig/nodes exec "$prefix-n0" timeout -k 5 60 "$nccltune" probe --hosts "$prefix-n[0-3]" --ssh "$work/agent" \
        --remote "'$nccltune' probe --json" --deadline 10 "$@"
}
check "four nodes are asked" gather -o "$work/cluster.json"
"$nccltune" probe --from "$work/cluster.json" >"$work/text" 2>&1
check "two are alike" grep -qx "$prefix-n\[0-1\], 2 nodes" "$work/text"
check "the one with an interface less is another class" grep -qx "$prefix-n2" "$work/text"
check "the dead one is named" grep -q "node-missing.*$prefix-n3 (no answer within 10 s)" "$work/text"
check "addresses of every node are kept" grep -q "eth0 10.77.0.2/24" "$work/cluster.json"
[ "$tap_failed" = 0 ] || note "$work/text"
finish
