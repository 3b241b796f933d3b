#!/usr/bin/env bash
# nccltune probe as a user calls it: recorded machines, several of them, a cluster through an agent, formats,
# findings, wrong calls.
#   NCCLTUNE  the program under test (build/nccltune)
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
nccltune=$(realpath "${NCCLTUNE:-build/nccltune}")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
F=tests/fixtures/probe

probe() { timeout -k 5 60 "$nccltune" probe "$@"; }
# exits STATUS COMMAND...: whether it ends with that status.
exits() {
    local want=$1 got
    shift
    "$@"
    got=$?
    [ "$got" = "$want" ] || { echo "ended with $got instead of $want"; return 1; }
}
# prints PATTERN COMMAND...: whether a line of what it prints matches.
prints() {
    local pattern=$1 out
    shift
    out=$("$@" 2>&1)
    printf '%s\n' "$out" | grep -qE -- "$pattern" || { printf '%s\n' "$out"; return 1; }
}

check "this machine" prints 'NUMA node' probe
check "a recorded machine" prints '^NCCL_IB_HCA==mlx5_0:1$' probe --from $F/small.json
check "identical machines are one class" prints '^nccl_nvswitch,nccl_nvswitch, 2 nodes$' \
    probe --from $F/nccl_nvswitch.xml --from $F/nccl_nvswitch.xml
check "what differs is said" prints '^Differences between classes' probe --from $F/nccl_nvswitch.xml --from $F/nccl_c2c.xml
printf 'GPU0 GPU1 mlx5_0\nGPU0 X NV18 PIX\nGPU1 NV18 X SYS\nmlx5_0 PIX SYS X\n' >"$tmp/smi.txt"
check "two descriptions of one node" prints '^NIC0	PIX	SYS' probe --merge --from $F/small.json --from "$tmp/smi.txt"
check "in any order" prints '^NIC0	PIX	SYS' probe --merge --from "$tmp/smi.txt" --from $F/small.json
printf 'mlx5_0 port 1 ==> ib0 (Up)\n' >"$tmp/netdev.txt"
check "a matrix and ibdev2netdev make a list" prints '^NCCL_IB_HCA==mlx5_0:1$' \
    probe --merge --from "$tmp/smi.txt" --from "$tmp/netdev.txt"
check "a pasted issue tells of two hosts" prints '^gpu-b$' probe --from $F/text_issue.txt
check "standard input, too" prints '^gpu-a$' bash -c "'$nccltune' probe --from - <$F/text_issue.txt"
check "why a port is not on the list" prints '^  distance +against +beside no GPU' \
    probe --from $F/text_issue.txt --why mlx5_bond_0
check "a port that is not there" prints 'there is no RDMA port mlx5_9: did you mean mlx5_0' \
    probe --from $F/text_issue.txt --why mlx5_9
printf 'what a nice day\n' >"$tmp/prose.txt"
check "unknown text is one sentence" prints 'no known tool output: expected one of' \
    probe --from "$tmp/prose.txt"
check "the fabric" prints 'mlx5_0:2 0xb8cef60300bb0001 port 9' \
    probe --from $F/roce_leaf.json --ibnetdiscover $F/ibnetdiscover.txt

# A cluster: the agent runs the command here; node2 has no memory lock, node3 is dead.
cat >"$tmp/agent" <<'END'
#!/bin/sh
host=$1
shift
case $host in
node2) ulimit -l 64 ;;
node3) exec sleep 60 ;;
esac
exec sh -c "$*"
END
chmod +x "$tmp/agent"
gather() { probe --hosts 'node[1-3]' --ssh "$tmp/agent" --deadline 4 "$@"; }
check "a cluster is gathered" exits 0 gather -o "$tmp/cluster.json"
check "identical nodes are one class" prints '^node\[1-2\], 2 nodes$' probe --from "$tmp/cluster.json"
check "the dead node is listed" prints 'node-missing: .*node3 \(no answer within 4 s\)' probe --from "$tmp/cluster.json"
if [ "$(ulimit -l)" != 64 ]; then
    check "the node with other limits is named" prints 'node-differs: node2: .*memlock 64 KiB instead of' \
        probe --from "$tmp/cluster.json"
fi
check "nobody answers" exits 1 probe --hosts node3 --ssh "$tmp/agent" --deadline 1

# A fabric of 256 HCAs below 16 leaves and 4 spines, played by ibsim, read by the real ibnetdiscover.
make_net() {
    local leaf spine n
    for leaf in {0..15}; do
        printf 'Switch 40 "leaf%d"\n' "$leaf"
        for n in {1..16}; do printf '[%d] "node%d"[1]\n' "$n" $((leaf * 16 + n - 1)); done
        for spine in {0..3}; do printf '[%d] "spine%d"[%d]\n' $((17 + spine)) "$spine" $((leaf + 1)); done
        echo
    done
    for spine in {0..3}; do
        printf 'Switch 40 "spine%d"\n' "$spine"
        for leaf in {0..15}; do printf '[%d] "leaf%d"[%d]\n' $((leaf + 1)) "$leaf" $((17 + spine)); done
        echo
    done
    for n in {0..255}; do printf 'Hca 1 "node%d"\n[1] "leaf%d"[%d]\n\n' "$n" $((n / 16)) $((n % 16 + 1)); done
}
# The 256 nodes as a topology: who they are, from the records of the HCAs.
make_nodes() {
    echo '{"format": "nccltune-topology/1", "classes": [{"name": "class0"}], "hosts": ['
    sed -nE 's/^Ca.*"H-([0-9a-f]+)".*"(node[0-9]+)".*/{"name": "\2", "class": 0, "addresses": ["mlx5_0 0x\1"]},/p' "$1" |
        sed '$ s/,$//'
    echo ']}'
}
# Every node on the leaf and port where make_net has put it.
right_leaves() {
    local n
    for n in {0..255}; do echo "node$n mlx5_0:1 leaf$((n / 16)) port $((n % 16 + 1))"; done | sort >"$tmp/expected"
    probe --from "$tmp/nodes.json" --ibnetdiscover "$tmp/discovered" --json |
        awk -F'"' '/"name":/ { host = $4 } /mlx5_0:1 leaf/ { print host " " $4 }' | sort >"$tmp/found"
    diff "$tmp/expected" "$tmp/found" && [ "$(wc -l <"$tmp/found")" = 256 ]
}
if command -v ibsim >/dev/null && command -v ibnetdiscover >/dev/null; then
    make_net >"$tmp/net"
    mkfifo "$tmp/hold"
    ibsim -s "$tmp/net" <"$tmp/hold" >"$tmp/ibsim.log" 2>&1 &
    ibsim=$!
    exec 9>"$tmp/hold"
    for _ in {1..50}; do
        timeout 20 ibsim-run ibnetdiscover >"$tmp/discovered" 2>/dev/null && grep -q '^Ca' "$tmp/discovered" && break
        sleep 0.2
    done
    exec 9>&-
    kill "$ibsim" 2>/dev/null
    make_nodes "$tmp/discovered" >"$tmp/nodes.json"
    check "256 HCAs of a simulated fabric, each on its leaf" right_leaves
else
    skip "a simulated fabric" "no ibsim or no ibnetdiscover"
fi

check "--strict finds an error" exits 1 probe --strict --from $F/roce_leaf.json -o /dev/null
check "and nothing where there is none" exits 0 probe --strict --from $F/small.json -o /dev/null
check "--strict=warning finds less" exits 1 probe --strict=warning --from $F/hwloc2_dgx1v.xml -o /dev/null
check "a kind of its own" exits 1 probe --strict=acs-on,tree-hidden --from $F/small.json -o /dev/null
check "other kinds are not it" exits 0 probe --strict=acs-on,port-flaps --from $F/small.json -o /dev/null
check "a word that is neither" exits 2 probe --strict=port-flips --from $F/small.json
check "thresholds are listed" prints "^port-flaps .*Threshold: 10 times" probe --list-findings
check "without it a finding is no failure" exits 0 probe --from $F/roce_leaf.json -o /dev/null
check "a picture, with nothing else installed" prints '<svg' env PATH=/nowhere "$nccltune" probe --from $F/nccl_nvswitch.xml --format svg
check "NCCL's file" exits 0 probe --from $F/nccl_nvswitch.xml --format nccl-xml -o "$tmp/node.xml"
probe --format text --from "$tmp/node.xml" >"$tmp/a" 2>&1
check "is read back" grep -q 'NV[0-9]' "$tmp/a"

# Machines that need not be had.
check "bundled machines are listed, with the source of each" prints 'ND H100 v5 series' probe --list-machines
check "GPUs too" prints '^h100-sxm .*18 NVLink' probe --list-gpus
check "and kinds of findings" prints "^memlock-low +error " probe --list-findings
check "a bundled machine is reported like any other" prints '^NCCL_IB_HCA==mlx5_ib0:1,mlx5_ib1:1,' probe --machine azure-ndv5
check "and says what it is" prints 'described, not probed' probe --machine azure-ndv5 --format text
check "many nodes of it" exits 0 probe --machine dgx-h100 --nodes 100000 -o "$tmp/many.json"
check "are read back" prints '^node\[0001-9999\],node\[10000-99999\],node100000, 100000 nodes:' probe --from "$tmp/many.json"
machines() { "$nccltune" probe --list-machines | sed -n 's/^\([^ ]\+\) .*/\1/p'; }
each_machine() { # FORMAT
    local m
    for m in $(machines); do probe --machine "$m" --format "$1" --strict -o "$tmp/machine" || return 1; done
}
check "every machine as text" each_machine text
check "every machine as a file for NCCL" each_machine nccl-xml
check "a file without NVLink is completed" prints '^GPU0	 X 	NV18	' probe --format text --from $F/nccl_cloud.xml --gpu h100-sxm
check "a contradiction is refused, with both sides" prints 'GPU0 of class0 is not h100-sxm: its PCI device 10de:20b0 says a100-sxm' \
    probe --from $F/nccl_nvswitch.xml --gpu h100-sxm
check "with status 2" exits 2 probe --from $F/nccl_nvswitch.xml --gpu h100-sxm
check "an unknown machine: the nearest" prints 'did you mean azure-ndv5' probe --machine azure_ndv_5
check "a family of GPUs: its members" prints 'can be any of h100-sxm, h100-pcie, h100-nvl' probe --from $F/nccl_cloud.xml --gpu h100
for n in 0 -1 1000000000 1.5 many ""; do
    check "'$n' nodes" exits 2 probe --machine dgx-h100 --nodes "$n"
done
check "nodes of what?" exits 2 probe --nodes 4
check "a described machine's GPUs are known" exits 2 probe --machine dgx-h100 --gpu a100-sxm
check "this machine's GPUs are looked at" exits 2 probe --gpu a100-sxm
check "a list and a machine" exits 2 probe --list-machines --machine dgx-h100
check "a list is no picture" exits 2 probe --list-gpus --format svg

check "a host is no option" exits 2 probe --hosts=-oProxyCommand=x
check "--merge needs files" exits 2 probe --merge
check "no copied tree" exits 1 probe --sysroot /nowhere
finish
