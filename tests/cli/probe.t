nccltune probe: recorded machines in many formats.

nvidia-smi topo -m: the same matrix is printed

  $ nccltune probe --format text --from fixtures/probe/smi_topo_a100.txt >out
  $ grep -E '^(GPUs|RDMA|  GPU[0-9]|  mlx5_[0-9]+:1 .*NUMA)' out
  GPUs: 4
    GPU0    -             NUMA 0  12 NVLinks
    GPU1    -             NUMA 0  12 NVLinks
    GPU2    -             NUMA 1  12 NVLinks
    GPU3    -             NUMA 1  12 NVLinks
  RDMA ports: 3
    mlx5_0:1  -             NUMA 0
    mlx5_1:1  -             NUMA 1
    mlx5_10:1  -             NUMA 1
    GPU0 GPU1 GPU2 GPU3
  $ expand -t 8 out | sed -n '/^        GPU0/,/^NIC2/p' | cut -c 1-64
          GPU0    GPU1    GPU2    GPU3    NIC0    NIC1    NIC2
  GPU0     X      NV4     NV4     NV4     PXB     SYS     SYS
  GPU1    NV4      X      NV4     NV4     PXB     SYS     SYS
  GPU2    NV4     NV4      X      NV4     SYS     PIX     NODE
  GPU3    NV4     NV4     NV4      X      SYS     PHB     NODE
  NIC0    PXB     PXB     SYS     SYS      X      SYS     SYS
  NIC1    SYS     SYS     PIX     PHB     SYS      X      NODE
  NIC2    SYS     SYS     NODE    NODE    SYS     NODE     X

NCCL's topology file: devices, matrix, roles of the ports, the list of HCAs

  $ nccltune probe --format text --from fixtures/probe/nccl_nvswitch.xml >out
  $ sed -n '1,/^Network/p' out
  nccl_nvswitch
    3 GPUs  12 NVLinks
    2 compute ports  200 Gb/s
    NUMA 0  GPU0 PIX mlx5_10         GPU1 PIX mlx5_2
    NUMA 1  GPU2 SYS mlx5_2 mlx5_10
    unused  storage: mlx5_3 mlx5_4
    HCAs for NCCL (== takes whole names):
  NCCL_IB_HCA==mlx5_2:1,mlx5_10:1

  CPU: GenuineIntel 6/143, x86_64, 2 NUMA nodes
  GPUs: 3
    GPU0    0000:14:00.0  NUMA 0  [10de:20b0]  sm_80  PCIe 4.0 x16  12 NVLinks
    GPU1    0000:16:00.0  NUMA 0  [10de:20b0]  sm_80  PCIe 4.0 x16  12 NVLinks
    GPU2    0000:92:00.0  NUMA 1  [10de:20b0]  sm_80  PCIe 4.0 x16  11 NVLinks
  RDMA ports: 4
    mlx5_2:1  0000:17:00.0  NUMA 0  InfiniBand  active  200 Gb/s
    mlx5_3:1  0000:98:00.0  NUMA 1  Ethernet  active  100 Gb/s
    mlx5_4:1  0000:98:00.0  NUMA 1  Ethernet  active  100 Gb/s
    mlx5_10:1  0000:15:00.0  NUMA 0  InfiniBand  active  200 Gb/s
  Network interfaces: 0
  $ expand -t 8 out | sed -n '/^        GPU0/,/^NIC3/p' | cut -c 1-72
          GPU0    GPU1    GPU2    NIC0    NIC1    NIC2    NIC3    CPU Affi
  GPU0     X      NV12    NV11    PXB     SYS     SYS     PIX     N/A
  GPU1    NV12     X      NV11    PIX     SYS     SYS     PXB     N/A
  GPU2    NV11    NV11     X      SYS     PHB     PHB     SYS     N/A
  NIC0    PXB     PIX     SYS      X      SYS     SYS     PXB
  NIC1    SYS     SYS     PHB     SYS      X      PIX     SYS
  NIC2    SYS     SYS     PHB     SYS     PIX      X      SYS
  NIC3    PIX     PXB     SYS     PXB     SYS     SYS      X
  $ sed -n -E '/^Roles/,/^$/s/^  (mlx5_[0-9]+:1) +([a-z]+) .*/\1 \2/p; /^NCCL_IB_HCA/p' out
  NCCL_IB_HCA==mlx5_2:1,mlx5_10:1
  mlx5_2:1 compute
  mlx5_3:1 storage
  mlx5_4:1 storage
  mlx5_10:1 compute

Output of two hosts in one text: two classes, a list for each and one for both

  $ nccltune probe --format text --from fixtures/probe/text_issue.txt >out
  $ grep -E '^(gpu-|GPUs|  GPU0 |NCCL_IB_HCA|  (warning|error|note) )' out
  gpu-a
  NCCL_IB_HCA==mlx5_0:1,mlx5_1:1
  GPUs: 4
    GPU0    -             NUMA 0  NVIDIA H100 80GB HBM3  18 NVLinks
    GPU0 GPU1 GPU2 GPU3
  gpu-b
  NCCL_IB_HCA==mlx5_1:1
  GPUs: 0
  NCCL_IB_HCA for all classes: =mlx5_1:1
    warning common-hcas-partial: cluster: *1 of 2* (glob)
    warning port-down: class1: *1 of 2* (glob)
    warning nvlink-inactive: class0: *GPU1: 1 of 19* (glob)
  $ nccltune probe --format text --from - <fixtures/probe/text_issue.txt | cmp - out

lspci -vvv and ibdev2netdev: devices, and findings about their slots

  $ nccltune probe --from fixtures/probe/text_lspci.txt --json >out
  $ jq -r '.classes[0] | (.objects[] | select(.kind == "gpu" or .kind == "nic") | [.kind, .pci, .link_width]), (.ports[] | [.hca, .netdev, .state]) | @tsv' out
  gpu	0000:18:00.0	16
  nic	0000:19:00.0	8
  gpu	0000:81:00.0
  mlx5_0	ib0	active
  $ jq -r '.findings[] | [.severity, .id, .subject] | @tsv' out
  warning	gpu-without-nic	class0
  warning	pcie-below-maximum	class0
  warning	acs-on	class0
  warning	relaxed-ordering-off	class0
  warning	gpu-models-differ	class0

--merge: descriptions of one node in any order

  $ nccltune probe --merge --from fixtures/probe/smi_topo_a100.txt --from fixtures/probe/text_verbs.txt --format text >out
  $ sed -n -E '/^Roles/,/^$/s/^  (mlx5_[0-9]+:1) +([a-z]+) .*/\1 \2/p; /^NCCL_IB_HCA/p' out
  NCCL_IB_HCA==mlx5_0:1,mlx5_4:1
  mlx5_0:1 compute
  mlx5_1:1 down
  mlx5_2:1 storage
  mlx5_3:1 storage
  mlx5_4:1 compute
  mlx5_10:1 unknown
  $ nccltune probe --merge --from fixtures/probe/text_verbs.txt --from fixtures/probe/smi_topo_a100.txt | grep ^NCCL_IB_HCA
  NCCL_IB_HCA==mlx5_0:1,mlx5_4:1

A matrix that was wrapped at 80 columns is joined again, its legend too; of one that was joined or cut in words the error says so

  $ nccltune probe --machine dgx-h100 --format text | sed -n '/^.GPU0/,/^NIC11/p' >matrix.txt
  $ { printf 'Legend:\n\n  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)\n\n'
  >     for i in 0 1 2 3 4 5 6 7 8 9 10 11; do echo "  NIC$i: mlx5_$i"; done; } >legend.txt
  $ nccltune probe --from - <matrix.txt | grep NCCL_IB_HCA
    NCCL_IB_HCA: names of NICs are in the NIC Legend below the matrix, which is missing
  $ cat matrix.txt legend.txt | expand | fold -s -w 80 | nccltune probe --from - --format short | tail -n 1
  NCCL_IB_HCA==mlx5_0:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_9:1,mlx5_10:1,mlx5_11:1
  $ cat matrix.txt legend.txt | fold -w 80 | nccltune probe --from - --format short | grep -c '==mlx5_0:1'
  1
  $ cat matrix.txt legend.txt | expand | fmt -w 80 | nccltune probe --from -
  nccltune probe: -: *; if lines were wrapped or joined on the way, save it with nvidia-smi topo -m >FILE (glob)
  [1]
  $ tr '\t' ' ' <matrix.txt | fold -w 79 | nccltune probe --from - 2>&1 | grep -c 'lines were wrapped'
  1
  [1]

A matrix with rows of GPUs alone: what they say of NICs is taken, the rest is not known

  $ { sed -n '/^.GPU0/p; /^GPU/p' matrix.txt; cat legend.txt; } | nccltune probe --format text --from - >out
  $ grep -e '^NCCL_IB_HCA' -e ' rows of NICs' -e '  GPU7 PIX' out
    NUMA 1  GPU4 PIX mlx5_6   GPU5 PIX mlx5_9   GPU6 PIX mlx5_10  GPU7 PIX mlx5_11
  NCCL_IB_HCA==mlx5_0:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_9:1,mlx5_10:1,mlx5_11:1
    - the matrix has no rows of NICs: distances between two NICs are not known

ibdev2netdev (Down) is of the interface; the bond beside no GPU does not step in for the port of unknown state

  $ nccltune probe --from fixtures/probe/smi_topo_a100.txt | grep ^NCCL_IB_HCA
  NCCL_IB_HCA==mlx5_0:1,mlx5_1:1,mlx5_10:1
  $ printf '\tGPU0\tGPU1\tNIC0\tNIC1\tNIC2\nGPU0\t X \tNV4\tPIX\tNODE\tNODE\nGPU1\tNV4\t X \tNODE\tPIX\tNODE\n' >matrix.txt
  $ printf '%s\tPIX\tNODE\t X \tNODE\tNODE\n' NIC0 >>matrix.txt
  $ printf '%s\tNODE\tPIX\tNODE\t X \tNODE\n' NIC1 >>matrix.txt
  $ printf '%s\tNODE\tNODE\tNODE\tNODE\t X \n' NIC2 >>matrix.txt
  $ printf '%s\n' 'NIC0: mlx5_0' 'NIC1: mlx5_1' 'NIC2: mlx5_bond_0' >>matrix.txt
  $ printf '%s port 1 ==> %s (%s)\n' mlx5_0 ib0 Up mlx5_1 ib1 Down mlx5_bond_0 bond0 Up >netdev.txt
  $ nccltune probe --from matrix.txt --from netdev.txt --merge | sed -n '/^Roles/,/^$/p; /^NCCL_IB_HCA/p'
  NCCL_IB_HCA==mlx5_0:1
  Roles:
    mlx5_0:1       compute            InfiniBand, beside GPU0 (PIX)
    mlx5_1:1       unknown            its interface ib1 is down; the port's own state is not known
    mlx5_bond_0:1  storage            beside no GPU (nearest: GPU0 and GPU1, NODE, for NCCL PHB); 1 other port is beside one

A matrix keeps its NUMA numbers where SYS parts one node, and has none where none is printed

  $ printf '\tGPU0\tGPU1\tNIC0\tNIC1\tNIC2\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV4\tPIX\tSYS\tSYS\t0-63\t0\n' >apart.txt
  $ printf 'GPU1\tNV4\t X \tSYS\tPIX\tSYS\t0-63\t0\nNIC0\tPIX\tSYS\t X \tSYS\tSYS\nNIC1\tSYS\tPIX\tSYS\t X \tSYS\n' >>apart.txt
  $ printf 'NIC2\tSYS\tSYS\tSYS\tSYS\t X \n' >>apart.txt
  $ nccltune probe --from apart.txt | grep -E 'NUMA|^GPU|group'
    NUMA 0  GPU0 PIX NIC0  GPU1 PIX NIC1
  CPU: unknown, 1 NUMA node
  GPUs: 2
    GPU0    -             NUMA 0  4 NVLinks
    GPU1    -             NUMA 0  4 NVLinks
    NIC0:1  -             NUMA 0
    NIC1:1  -             NUMA 0
    NIC2:1  -             NUMA ?
  	GPU0	GPU1	NIC0	NIC1	NIC2	CPU Affinity	NUMA Affinity	GPU NUMA ID
  GPU0	 X 	NV4	PIX	SYS	SYS	0-63	0	N/A
  GPU1	NV4	 X 	SYS	PIX	SYS	0-63	0	N/A
    SYS   PCIe and the interconnect between NUMA nodes
    - SYS separates 2 groups of devices for which no NUMA node of their own is printed
  $ nccltune probe --from apart.txt --format short
  apart
    2 GPUs  4 NVLinks
    2 ports, state not known
    NUMA 0  GPU0 PIX NIC0  GPU1 PIX NIC1
    unused  storage: NIC2
    NCCL_IB_HCA: names of NICs are in the NIC Legend below the matrix, which is missing

Ports of unknown state stand beside their GPUs; of Ethernet of unknown rate no rate is said

  $ printf 'NIC%d port 1 ==> %s (%s)\n' 0 ib0 Down 1 ib1 Down 2 ens1 Down >states.txt
  $ nccltune probe --from apart.txt --from states.txt --merge --format short
  apart
    2 GPUs  4 NVLinks
    2 ports, state not known
    NUMA 0  GPU0 PIX NIC0  GPU1 PIX NIC1
    unused  down: NIC2
    HCAs for NCCL if all ports are up (ibstat tells; == takes whole names):
  NCCL_IB_HCA==NIC0:1,NIC1:1

  Findings:
    warning port-down: 1 of 3 RDMA ports is down: NIC2:1
      Confirm with ibstat (State, Physical state). Check cable and switch port; unused ports can stay down.
    note port-state-unknown: 2 of 3 RDMA ports have a state that is not known: NIC0:1 and NIC1:1
      Confirm with ibstat (State): ibdev2netdev's (Down) on InfiniBand is the IPoIB interface, which NCCL does not need, not the port. Add ibstat's output with --from and --merge.
  $ printf 'NIC%d port 1 ==> %s (%s)\n' 0 ib0 Up 1 ib1 Up 2 ens1 Up >states.txt
  $ nccltune probe --from apart.txt --from states.txt --merge | grep storage
    unused  storage: NIC2
    NIC2:1  storage            Ethernet at an unknown rate, while most of the bandwidth is InfiniBand

What is still missing is noted after the merge; ports of one reason in a row are one line

  $ nccltune probe --from matrix.txt --from netdev.txt --merge | grep -F -e --merge
      Confirm with ibstat (State): ibdev2netdev's (Down) on InfiniBand is the IPoIB interface, which NCCL does not need, not the port. Add ibstat's output with --from and --merge.
  $ printf '%s port 1 ==> %s (Down)\n' mlx5_0 ib0 mlx5_1 ib1 >netdev.txt
  $ nccltune probe --from matrix.txt --from netdev.txt --merge | grep -F -e --merge
    - for the states of ports add ibstat or ibv_devinfo (--merge)
  $ nccltune probe --from matrix.txt | sed -n '/^Roles/,/^$/p' && nccltune probe --from matrix.txt | grep -F -e --merge
  Roles, if all ports are up:
    mlx5_0:1       compute            unknown link layer, beside GPU0 (PIX)
    mlx5_1:1       compute            unknown link layer, beside GPU1 (PIX)
    mlx5_bond_0:1  storage            beside no GPU (nearest: GPU0 and GPU1, NODE, for NCCL PHB); 2 other ports are beside one

    - for the states of ports add ibstat, ibv_devinfo or ibdev2netdev (--merge)

A machine with neither GPUs nor RDMA ports: where others are shown

  $ mkdir -p empty/sys empty/proc && nccltune probe --sysroot empty 2>/dev/null | grep -F -e --machine
    no GPU and no RDMA port: --machine dgx-h100 shows a known machine
  $ nccltune probe --machine dgx-h100 | grep -F -e --from
  [1]

A matrix that does not fit into 100 columns is left to --format text; --why shows what is known, rule by rule

  $ nccltune probe --machine dgx-h100 | tail -n 1
  Devices, the matrix, the reason of each role and notes: --format text
  $ nccltune probe --machine dgx-h100 -o q.svg && head -c 4 q.svg && echo
  <svg
  $ nccltune probe --machine dgx-h100 -o q.html 2>&1 | sed -n 1p
  nccltune probe: q.html: there is no such format; a browser shows the picture of -o FILE.svg
  [2]
  $ nccltune probe --machine dgx-h100 --why mlx5_1
  mlx5_1:1: storage, not on the list for NCCL_IB_HCA
    state                     active
    link layer        against Ethernet at 200 Gb/s, while most of the bandwidth is InfiniBand
    rate                      200 Gb/s
    distance          against beside no GPU (nearest: GPU0 to GPU3, NODE, for NCCL PHB); 8 other ports are beside one
    so                        Ethernet at 200 Gb/s, while most of the bandwidth is InfiniBand

--why takes an interface too, and says what a name that is no port may be

  $ nccltune probe --machine dgx-h100 --why ib0 | head -n 1
  mlx5_0:1: compute, on the list for NCCL_IB_HCA
  $ nccltune probe --machine dgx-h100 --why eth2
  nccltune probe: eth2 is an interface without an RDMA port: NCCL uses it through sockets alone (NCCL_SOCKET_IFNAME)
  [3]
  $ nccltune probe --machine dgx-h100 --why mlx5_12
  nccltune probe: there is no RDMA port mlx5_12: did you mean mlx5_1; there are mlx5_0, mlx5_1, * (glob)
  [3]

Lists as JSON

  $ nccltune probe --list-machines --json | jq -c '.[] | select(.name == "dgx-h100") | del(.source)'
  {"name":"dgx-h100","gpus":8,"gpu":"h100-sxm","ports":8,"rate_Gbps":400,"network":"InfiniBand"}
  $ nccltune probe --list-gpus --json | jq -c '.[] | select(.name == "h100-sxm") | del(.source, .arch)'
  {"name":"h100-sxm","mem_bytes":85899345920,"mem_GBps":3350,"links":18,"link":"NVLink","link_GBps":25}
  $ nccltune probe --list-findings --json | jq -c '.[0] | keys'
  ["id","severity","title"]
  $ for list in machines gpus findings; do
  >     [ "$(nccltune probe --list-$list --json | jq length)" = "$(nccltune probe --list-$list | grep -c '^[^ ]')" ] || echo $list
  > done
  $ nccltune probe --list-gpus --format svg
  nccltune probe: lists are text or JSON
  Try 'nccltune probe --help'.
  [2]

A dark port of another fabric beside a GPU is not the GPU's own: the nearest port of the fabric stays

  $ printf '\tGPU0\tGPU1\tNIC0\tNIC1\tNIC2\nGPU0\t X \tNV4\tPIX\tNODE\tNODE\nGPU1\tNV4\t X \tNODE\tNODE\tPIX\n' >matrix.txt
  $ printf '%s\tPIX\tNODE\t X \tNODE\tNODE\n' NIC0 >>matrix.txt
  $ printf '%s\tNODE\tNODE\tNODE\t X \tNODE\n' NIC1 >>matrix.txt
  $ printf '%s\tNODE\tPIX\tNODE\tNODE\t X \n' NIC2 >>matrix.txt
  $ printf '%s\n' 'NIC0: mlx5_0' 'NIC1: mlx5_1' 'NIC2: mlx5_2' >>matrix.txt
  $ ibstat() { printf "CA '%s'\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: %s\n\t\tPhysical state: LinkUp\n\t\tRate: %s\n\t\tLink layer: %s\n" "$@"; }
  $ ibstat mlx5_0 Active 400 InfiniBand mlx5_1 Active 400 InfiniBand mlx5_2 Down 10 Ethernet >ibstat.txt
  $ nccltune probe --from matrix.txt --from ibstat.txt --merge --why mlx5_2
  mlx5_2:1: down, not on the list for NCCL_IB_HCA
    state             against the port is down
    link layer        against Ethernet at 10 Gb/s, while most of the bandwidth is InfiniBand
    distance                  beside GPU1 (PIX)
    so                        the port is down
  $ nccltune probe --from matrix.txt --from ibstat.txt --merge | sed -n '/^Roles/,/^$/p; /^NCCL_IB_HCA/p'
  NCCL_IB_HCA==mlx5_0:1,mlx5_1:1
  Roles:
    mlx5_0:1  compute            400 Gb/s InfiniBand, beside GPU0 (PIX)
    mlx5_1:1  compute            400 Gb/s InfiniBand, nearest to GPU0 and GPU1 (NODE, for NCCL PHB)
    mlx5_2:1  down               the port is down

Rates that differ are all told; two files of one host name are told, too

  $ ibstat mlx5_0 Active 40 InfiniBand mlx5_1 Active 100 InfiniBand mlx5_2 Active 100 InfiniBand >mixed.txt
  $ nccltune probe --from matrix.txt --from mixed.txt --merge | grep '^  . compute port'
    2 compute ports  40 and 100 Gb/s
  $ { echo 'root@n7:~# nvidia-smi topo -m'; cat matrix.txt; } >first.txt
  $ { echo 'root@n7:~# nvidia-smi topo -m'; sed 's/PIX/PXB/g' matrix.txt; } >second.txt
  $ nccltune probe --from first.txt --from second.txt 2>&1 >out | grep warning
  nccltune probe: warning: n7 stands for two nodes: --merge reads the files as one

Formats of other vendors and programs

  $ for f in text_rocm.txt text_amd_smi.txt text_metax.txt nccl_rccl_xgmi.xml hwloc2_dgx1v.xml smi_query.xml; do
  >     echo "$f: $(nccltune probe --format text --from fixtures/probe/$f | grep -E '^(GPUs|RDMA ports)|^GPU1	' | cut -f 1-5 | tr '\t\n' ' ;')"
  > done
  text_rocm.txt: GPUs: 4;RDMA ports: 0;GPU1 XGMI1  X  SYS SYS;
  text_amd_smi.txt: GPUs: 3;RDMA ports: 0;GPU1 XGMI1  X  XGMI1 N/A;
  text_metax.txt: GPUs: 4;RDMA ports: 0;GPU1 MX  X  SYS SYS;
  nccl_rccl_xgmi.xml: GPUs: 3;RDMA ports: 1;GPU1 XGMI1  X  XGMI1 PHB;
  hwloc2_dgx1v.xml: GPUs: 8;RDMA ports: 4;GPU1 NV1  X  NV2 NV1;
  smi_query.xml: GPUs: 2;RDMA ports: 0;GPU1 ?  X  N/A N/A;

--sysroot reads a copy of /sys

  $ mkdir -p sys/class/infiniband/mlx5_0/ports/1 sys/class/net
  $ echo '4: ACTIVE' >sys/class/infiniband/mlx5_0/ports/1/state
  $ echo '400 Gb/sec (4X NDR)' >sys/class/infiniband/mlx5_0/ports/1/rate
  $ echo InfiniBand >sys/class/infiniband/mlx5_0/ports/1/link_layer
  $ nccltune probe --sysroot . 2>/dev/null | grep mlx5_0:1
  NCCL_IB_HCA==mlx5_0:1
    mlx5_0:1  -             NUMA ?  InfiniBand  active  400 Gb/s
    mlx5_0:1  compute            400 Gb/s InfiniBand; there is no GPU here

--ibnetdiscover adds the leaf switch of every port

  $ nccltune probe --from fixtures/probe/roce_leaf.json --ibnetdiscover fixtures/probe/ibnetdiscover.txt --json |
  >     jq -c '.hosts'
  [{"name":"node1","class":0,"addresses":["mlx5_0 0x506b4b0300ca1f2e"],"differs":["memlock 64 KiB instead of unlimited"],"leaves":["mlx5_0:1 leaf-1 port 3","mlx5_0:2 0xb8cef60300bb0001 port 9"]}]

--why prints the rule that keeps a port off the list

  $ nccltune probe --from fixtures/probe/text_issue.txt --why mlx5_bond_0
  gpu-a: mlx5_bond_0:1: storage, not on the list for NCCL_IB_HCA
    state                     active
    bond                     *bond0 (glob)
    distance          against beside no GPU (nearest: GPU2 and GPU3, NODE, for NCCL PHB); 2 other ports are beside one
    so                        * (glob)
  $ nccltune probe --from fixtures/probe/text_issue.txt --why mlx5_0:1 | grep '^gpu-\| against '
  gpu-a: mlx5_0:1: compute, on the list for NCCL_IB_HCA
  gpu-b: mlx5_0:1: down, not on the list for NCCL_IB_HCA
    state             against the port is down
  $ nccltune probe --from fixtures/probe/text_issue.txt --why mlx5_9
  nccltune probe: *mlx5_9* (glob)
  [3]

Findings: severity, kind, subject; --strict turns them into the exit status

  $ nccltune probe --from fixtures/probe/roce_leaf.json --json | jq -r '.findings[] | [.severity, .id, .subject] | @tsv'
  error	no-gpudirect	class0
  error	memlock-low	class0
  warning	node-missing	cluster
  warning	node-differs	node1
  warning	no-roce-v2-ipv4	class0
  warning	pcie-below-maximum	class0
  warning	acs-on	class0
  warning	mig-on	class0
  $ nccltune probe --from fixtures/probe/roce_leaf.json >/dev/null
  $ nccltune probe --strict --from fixtures/probe/roce_leaf.json >/dev/null
  [1]
  $ nccltune probe --strict --from fixtures/probe/small.json >/dev/null
  $ nccltune probe --strict=note --from fixtures/probe/small.json >/dev/null
  [1]
  $ nccltune probe --strict=tree-hidden --from fixtures/probe/small.json >/dev/null
  [1]
  $ nccltune probe --strict=mig-on --from fixtures/probe/small.json >/dev/null

Every kind of finding is still known

  $ nccltune probe --list-findings | awk '{ print $1 ":" $2 }' | sort | paste -sd ' ' | fold -s -w 110
  acs-on:warning address-twice:error ats-off:note bond-slave-down:warning common-hcas-partial:warning
  cpu-differs:warning cpu-governor:note driver-differs:warning ecc-uncorrected:error fabric-not-ready:error
  firmware-differs:warning gdr-on-some:warning gid-index-differs:warning gpu-lost:error gpu-missing:error
  gpu-models-differ:warning gpu-slowed:warning gpu-without-nic:warning hca-list-open:warning
  imex-no-channel:warning iommu-translated:warning library-differs:warning memlock-low:error mig-on:warning
  mtu-differs:warning mtu-small:note nccl-xml-too-large:note network-plugin:note nic-wrong-numa:warning
  no-common-hcas:error no-compute-port:error no-gpudirect:error no-roce-v2-ipv4:warning node-differs:warning
  node-missing:warning nofile-low:warning numa-balancing:warning numa-unknown:warning nvlink-errors:warning
  nvlink-inactive:warning nvlink-missing:error nvlink-one-way:error only-management-ports:error
  p2p-refused:warning pcie-below-maximum:warning pcie-replays:warning pcie-slow-busy:warning
  pcie-unlike-others:warning port-discards:warning port-down:warning port-errors:warning port-flaps:warning
  port-marked:note port-resent:warning port-state-unknown:note port-timeouts:warning rail-differs:warning
  rate-differs:warning relaxed-ordering-off:warning rows-failed:error rows-pending:warning shm-small:warning
  switch-uplink-narrow:warning tree-hidden:note vbios-differs:warning wrong-driver:error xid-hardware:warning
  xid-program:note

A tree that a guest hides is completed, with every assumption in the file

  $ nccltune probe --machine azure-ndv2 --tree azure-ndv2 --format nccl-xml 2>tree.txt | grep -c assumed
  2
  $ cat tree.txt
  nccltune probe: warning: class0: assumed: all GPUs are where the bundled description of azure-ndv2 has their PCI addresses
  nccltune probe: warning: class0: assumed: all NICs are where the bundled description of azure-ndv2 has their PCI addresses
  nccltune probe: class0: on two nodes NCCL would make, without this tree: 2 channels, 1 x 10 GB/s to the network over PHB, without GPUDirect RDMA
  nccltune probe: class0: with it: 2 channels, 1 x 10 GB/s to the network over PHB, without GPUDirect RDMA
  $ printf 'GPU0 mlx5_ib0 12.1\nGPU7 mlx5_ib0 7.5\n' >near.txt
  $ nccltune probe --machine azure-ndv2 --tree near.txt --format short 2>&1 | grep 'one switch'
  nccltune probe: warning: class0: assumed: GPU0, mlx5_ib0 are behind one switch, by near.txt
  $ nccltune probe --from fixtures/probe/hidden_vm.txt --tree azure-ndv5 --format short 2>&1 | grep -c 'by their numbers'
  16
  $ nccltune probe --machine azure-ndv2 --tree dgx-2 --format nccl-xml
  nccltune probe: the bundled description of dgx-2 has 16 GPUs, class0 has 8
  Try 'nccltune probe --help'.
  [2]
