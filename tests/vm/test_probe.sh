#!/usr/bin/env bash
# nccltune probe in a guest whose devices are known: four HCAs on two NUMA nodes, each behind a PCIe switch together with
# a display device of AMD's, which counts as a GPU (see tests/vm/run).
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh

why=$(tests/vm/build 2>&1) || cannot_start vm "$why"
printed=$(tests/vm/run --limit 150 build/nccltune probe --format text 2>&1) || cannot_start vm "$printed"

# has PATTERN...: whether a line is made of these words, whatever the blanks between them.
has() { printf '%s\n' "$printed" | tr -s ' \t' ' ' | sed 's/^ //; s/ $//' | grep -qxE "$*"; }

check "two NUMA nodes" has 'CPU: .*, 2 NUMA nodes'
hca=0
for pci in 0000:13:00.0 0000:18:00.0 0000:63:00.0 0000:68:00.0; do
    numa=$((hca / 2)) rate=$((hca < 2 ? 100 : 40))
    check "rxe$hca: place, rate, state, MTU" has "rxe$hca:1 $pci NUMA $numa Ethernet active $rate Gb/s MTU 4096"
    check "rail$hca: the interface under it, with its address" \
        has "rail$hca $pci NUMA $numa .* up $rate Gb/s MTU 4200 10.78.0.$((hca + 1))/24 .*"
    hca=$((hca + 1))
done
check "four stand-ins for GPUs" has 'GPUs: 4'
# Same switch: PIX. Same host bridge, two switches: PHB. Other NUMA node: SYS.
check "distances of GPU0" has 'GPU0 X PHB SYS SYS PIX PHB SYS SYS [0-9,-]+ 0 N/A'
check "distances of GPU1" has 'GPU1 PHB X SYS SYS PHB PIX SYS SYS [0-9,-]+ 0 N/A'
check "distances of GPU2" has 'GPU2 SYS SYS X PHB SYS SYS PIX PHB [0-9,-]+ 1 N/A'
check "distances of GPU3" has 'GPU3 SYS SYS PHB X SYS SYS PHB PIX [0-9,-]+ 1 N/A'
check "NIC3 is rxe3" has 'NIC3: rxe3'
[ "$tap_failed" = 0 ] || printf '%s\n' "$printed" | sed 's/^/# /'
finish
