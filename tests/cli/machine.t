nccltune probe --machine: machines by name, and the formats that a topology is written in.

A machine by name

  $ nccltune probe --machine dgx-h100 --nodes 32 --format text >out
  $ head -n 3 out
  node[0001-0032], 32 nodes: NVIDIA DGX H100
    8 GPUs, NVIDIA H100 80GB HBM3  18 NVLinks, 450 GB/s
    8 compute ports  400 Gb/s
  $ grep -E '^(GPUs|RDMA ports|NCCL_IB_HCA|  mlx5_1:1 +storage)' out
  NCCL_IB_HCA==mlx5_0:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_9:1,mlx5_10:1,mlx5_11:1
  GPUs: 8
  RDMA ports: 12
    mlx5_1:1   storage *Ethernet* (glob)
  $ grep -E '^  GPU7' out | cut -c 1-50
    GPU7    0000:2d:00.0  NUMA 1  NVIDIA H100 80GB H
  $ nccltune probe --machine dgx-h100 --strict=note -o /dev/null

Every machine and GPU is still known

  $ nccltune probe --list-machines | sed -n 's/^\([^ ]\+\) .*/\1/p' | paste -sd ' ' | fold -s -w 110
  dgx-1v dgx-2 dgx-a100 dgx-a100-40 dgx-h100 dgx-h200 dgx-b200 dgx-b300 dgx-spark gb200-nvl72 gb300-nvl72
  hgx-a100-4 hgx-a100-8 hgx-h100 hgx-h200 hgx-h20 hgx-b200 azure-ndv2 azure-ndv4 azure-ndmv4 azure-ndv5
  azure-ndv5-h200 azure-ndv5-mi300x aws-p3dn aws-p4d aws-p4de aws-p5 aws-p5en aws-p6-b200 aws-p6-b300
  gcp-a2-ultra gcp-a3-high gcp-a3-mega gcp-a3-ultra gcp-a4 gcp-a4x-max oci-a100 oci-h100 mi250x mi300x mi325x
  mi350x mi355x 4xl40s-pcie 8xl40s 8xrtxpro6000 8xa100-pcie 8xh100-nvl 4x4090
  $ nccltune probe --list-gpus | sed -n 's/^\([^ ]\+\) .*/\1/p' | paste -sd ' ' | fold -s -w 110
  p100-sxm2 p100-pcie v100-sxm2 v100-sxm2-32 v100-sxm3 v100-pcie v100-pcie-32 t4 a100-sxm a100-sxm-80 a800-sxm
  a100-pcie a100-pcie-80 a10g a10 rtx3090 l40s l40 l4 rtx6000ada rtx4090 h100-sxm h800-sxm h20 h100-pcie
  h100-nvl h200-sxm h200-nvl gh200 b200 gb200 b300 gb300 rtxpro6000 gb10 rtx5090 mi50 mi100 mi250x mi300x
  mi300a mi325x mi350x mi355x
  $ nccltune probe --machine azure_ndv5
  nccltune probe: 'azure_ndv5' *did you mean azure-ndv5?* (glob)
  Try 'nccltune probe --help'.
  [2]

JSON: members, hash and paths

  $ nccltune probe --machine hgx-a100-4 --nodes 2 -o topology.json
  $ jq -c '.format, (keys), (.classes[0] | keys)' topology.json
  "nccltune-topology/1"
  ["classes","findings","format","hash","hosts","nccl_ib_hca","source","tool"]
  ["arch","cpu","gids","gpus","links","name","nccl_ib_hca","netdevs","notes","nvlink_domains","objects","paths","ports","product","rails","roles"]
  $ jq -r '.hash' topology.json
  e20b2c4d0a25d931d7465acb8258ffcaebcd2dd200c206e88d5a74f3e5e72b5a
  $ jq -c '.classes[0] | .nccl_ib_hca, (.ports[] | [.hca, .port, .state, .layer, .rate_Gbps])' topology.json
  "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1"
  ["mlx5_0",1,"active","infiniband",200]
  ["mlx5_1",1,"active","infiniband",200]
  ["mlx5_2",1,"active","infiniband",200]
  ["mlx5_3",1,"active","infiniband",200]
  $ jq -c '.classes[0].paths' topology.json
  {"between":["GPU0","GPU1","GPU2","GPU3","mlx5_0","mlx5_1","mlx5_2","mlx5_3"],"nccl_classes":[["LOC","NVL","NVL","NVL","PIX","PXN","PXN","PXN"],["NVL","LOC","NVL","NVL","PXN","PIX","PXN","PXN"],["NVL","NVL","LOC","NVL","PXN","PXN","PIX","PXN"],["NVL","NVL","NVL","LOC","PXN","PXN","PXN","PIX"],["PIX","SYS","SYS","SYS","LOC","SYS","SYS","SYS"],["SYS","PIX","SYS","SYS","SYS","LOC","SYS","SYS"],["SYS","SYS","PIX","SYS","SYS","SYS","LOC","SYS"],["SYS","SYS","SYS","PIX","SYS","SYS","SYS","LOC"]]}
  $ nccltune probe --from topology.json --json | cmp - topology.json

a short form for a terminal: GPUs beside their ports, and the line that one needs

  $ nccltune probe --machine dgx-h100 --format short
  node0001: NVIDIA DGX H100
    8 GPUs, NVIDIA H100 80GB HBM3  18 NVLinks, 450 GB/s
    8 compute ports  400 Gb/s
    NUMA 0  GPU0 PIX mlx5_0   GPU1 PIX mlx5_3   GPU2 PIX mlx5_4   GPU3 PIX mlx5_5
    NUMA 1  GPU4 PIX mlx5_6   GPU5 PIX mlx5_9   GPU6 PIX mlx5_10  GPU7 PIX mlx5_11
    unused  storage: mlx5_1 mlx5_2 mlx5_7 mlx5_8
    HCAs for NCCL (== takes whole names):
  NCCL_IB_HCA==mlx5_0:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_9:1,mlx5_10:1,mlx5_11:1

nccl-xml is read back as the same machine

  $ nccltune probe --machine hgx-a100-4 --format nccl-xml -o node.xml
  $ nccltune probe --machine hgx-a100-4 | sed -n '/^	GPU0/,/^Legend/p' >matrix
  $ nccltune probe --from node.xml | sed -n '/^	GPU0/,/^Legend/p' | diff matrix -
  $ nccltune probe --from node.xml --gpu h100-sxm -o /dev/null
  nccltune probe: node: 4 GPUs
  nccltune probe: GPU0 of class0 * h100-sxm* 10de:20b0 * a100-sxm (glob)
  Try 'nccltune probe --help'.
  [2]
  $ grep -c '<gpu ' node.xml
  4

SVG is well-formed and names the devices

  $ nccltune probe --from fixtures/probe/nccl_nvswitch.xml --format svg -o node.svg
  nccltune probe: nccl_nvswitch: 3 GPUs
  $ python3 -c 'import xml.etree.ElementTree as x; print(x.parse("node.svg").getroot().tag)'
  {http://www.w3.org/2000/svg}svg
  $ for device in GPU0 GPU1 GPU2 NVSwitch mlx5_2 mlx5_3 mlx5_4 mlx5_10; do
  >     grep -q "$device" node.svg || echo "$device is missing"
  > done

tune on a login node measures nothing there, and says what to type; a node of the cluster, or --engine mpi, insists

  $ mkdir login; printf '#!/bin/sh\nprintf "n0\\nn0\\nn1\\nn2\\n"\n' >login/sinfo; chmod 755 login/sinfo
  $ PATH=$PWD/login:$PATH nccltune tune -q -o p
  nccltune tune: this machine has no GPU and is not a node of its Slurm cluster, n[0-2]: use `salloc -N4 nccltune tune -o p` or --hosts (--engine mpi measures this machine)
  [3]
  $ test -e p
  [1]
  $ PATH=$PWD/login:$PATH nccltune tune -q --plan --engine mpi -o p | grep -c '^measured     1 node'
  1
  $ printf '#!/bin/sh\nhostname\n' >login/sinfo
  $ PATH=$PWD/login:$PATH nccltune tune -q --plan -o p | grep -c '^measured     1 node'
  1
