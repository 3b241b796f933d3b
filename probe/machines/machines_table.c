/* The bundled machines, in our own words and from public specifications only. Where a document leaves the arrangement
 * open (which slot a NIC is in), it is that of the machines of the kind that are known to us: "assumed:" says so of
 * machines that no public document shows. */
#include "probe/machines/machines_internal.h"

#define INFINIBAND TOPO_LINK_INFINIBAND
#define ETHERNET   TOPO_LINK_ETHERNET

/* clang-format off */
/* NICs by the names that their drivers give them, at so many Gb/s a port. */
#define IB(card, Gbps)       {card, Gbps, "mlx5_%d", "ib%d", INFINIBAND}
#define ROCE(card, Gbps)     {card, Gbps, "mlx5_%d", "rdma%d", ETHERNET}
#define AZURE_IB(card, Gbps) {card, Gbps, "mlx5_ib%d", "ib%d", INFINIBAND}
#define STORAGE(card, Gbps)  {card, Gbps, "mlx5_%d", "eth%d", ETHERNET}
#define EFA(card, Gbps)      {card, Gbps, "efa_%d", NULL, TOPO_LINK_UNKNOWN}
#define SOCKETS(card, Gbps)  {card, Gbps, NULL, "eth%d", ETHERNET}

#define XEON_E5      "GenuineIntel 6/79, Intel(R) Xeon(R) CPU E5-2698 v4"
#define XEON_8168    "GenuineIntel 6/85, Intel(R) Xeon(R) Platinum 8168"
#define XEON_8175M   "GenuineIntel 6/85, Intel(R) Xeon(R) Platinum 8175M"
#define XEON_8275CL  "GenuineIntel 6/85, Intel(R) Xeon(R) Platinum 8275CL"
#define XEON_CASCADE "GenuineIntel 6/85, Intel(R) Xeon(R) CPU @ 2.20GHz"
#define XEON_8480C   "GenuineIntel 6/143, Intel(R) Xeon(R) Platinum 8480C"
#define XEON_8480    "GenuineIntel 6/143, Intel(R) Xeon(R) Platinum 8480+"
#define XEON_8481C   "GenuineIntel 6/143, Intel(R) Xeon(R) Platinum 8481C"
#define XEON_8488C   "GenuineIntel 6/143, Intel(R) Xeon(R) Platinum 8488C"
#define XEON_8570    "GenuineIntel 6/207, Intel(R) Xeon(R) Platinum 8570"
#define XEON_8581C   "GenuineIntel 6/207, Intel(R) Xeon(R) Platinum 8581C"
#define XEON_6776P   "GenuineIntel 6/173, Intel(R) Xeon(R) 6776P"
#define EPYC_7402    "AuthenticAMD 23/49, AMD EPYC 7402 24-Core Processor"
#define EPYC_7742    "AuthenticAMD 23/49, AMD EPYC 7742 64-Core Processor"
#define EPYC_7V12    "AuthenticAMD 23/49, AMD EPYC 7V12 64-Core Processor"
#define EPYC_7763    "AuthenticAMD 25/1, AMD EPYC 7763 64-Core Processor"
#define EPYC_7J13    "AuthenticAMD 25/1, AMD EPYC 7J13 64-Core Processor"
#define EPYC_7R13    "AuthenticAMD 25/1, AMD EPYC 7R13 Processor"
#define EPYC_7A53    "AuthenticAMD 25/48, AMD EPYC 7A53 64-Core Processor"
#define EPYC_9575F   "AuthenticAMD 26/2, AMD EPYC 9575F 64-Core Processor"
#define RYZEN_5975WX "AuthenticAMD 25/8, AMD Ryzen Threadripper PRO 5975WX 32-Cores"
#define GRACE        "NVIDIA Grace, Neoverse-V2"

const struct machine machines[] = {
    /* ---- NVIDIA's own ------------------------------------------------------------------------------------------------ */
    {"dgx-1v", "NVIDIA DGX-1 with V100-32", XEON_E5, NULL, NULL, "v100-sxm2-32",
     "0: (2[GGN] M) 1: (2[GGN])", 8,
     .compute = IB("connectx-4", 100),
     .source = "NVIDIA DGX-1 With Tesla V100 System Architecture, WP-08437"},
    {"dgx-2", "NVIDIA DGX-2", XEON_8168, NULL, NULL, "v100-sxm3",
     "0: 2([2[GGN]]) (Ss) (M) 1: 2([2[GGN]])", 8,
     .compute = IB("connectx-5", 100), .storage = STORAGE("connectx-5", 100),
     .source = "NVIDIA DGX-2 User Guide"},
    {"dgx-a100", "NVIDIA DGX A100 80GB", EPYC_7742, NULL, NULL, "a100-sxm-80",
     "3: ([GGNN]) 1: ([GGNN]) 0: (M) 2: 4: (Ss) 6: 7: ([GGNN]) 5: ([GGNN])", 16,
     .compute = IB("connectx-6", 200), .storage = STORAGE("connectx-6", 100),
     .source = "NVIDIA DGX A100 User Guide; DGX A100 System Architecture whitepaper"},
    {"dgx-a100-40", "NVIDIA DGX A100", EPYC_7742, NULL, NULL, "a100-sxm",
     "3: ([GGNN]) 1: ([GGNN]) 0: (M) 2: 4: (Ss) 6: 7: ([GGNN]) 5: ([GGNN])", 16,
     .compute = IB("connectx-6", 200), .storage = STORAGE("connectx-6", 100),
     .source = "NVIDIA DGX A100 User Guide; DGX A100 System Architecture whitepaper"},
    {"dgx-h100", "NVIDIA DGX H100", XEON_8480C, NULL, NULL, "h100-sxm",
     "0: ([GN]) (Ss) 3([GN]) (M) 1: ([GN]) (Ss) 3([GN])", 32,
     .compute = IB("connectx-7", 400), .storage = STORAGE("connectx-7", 200),
     .source = "NVIDIA DGX H100/H200 User Guide"},
    {"dgx-h200", "NVIDIA DGX H200", XEON_8480C, NULL, NULL, "h200-sxm",
     "0: ([GN]) (Ss) 3([GN]) (M) 1: ([GN]) (Ss) 3([GN])", 32,
     .compute = IB("connectx-7", 400), .storage = STORAGE("connectx-7", 200),
     .source = "NVIDIA DGX H100/H200 User Guide"},
    {"dgx-b200", "NVIDIA DGX B200", XEON_8570, NULL, NULL, "b200",
     "0: ([GN]) (Ss) 3([GN]) (M) 1: ([GN]) (Ss) 3([GN])", 32,
     .compute = IB("connectx-7", 400), .storage = STORAGE("bluefield-3", 200),
     .source = "NVIDIA DGX B200 User Guide"},
    {"dgx-b300", "NVIDIA DGX B300", XEON_6776P, NULL, NULL, "b300",
     "0: 4([GN]) (Ss) (M) 1: 4([GN]) (Ss)", 64,
     .compute = IB("connectx-8", 800), .storage = STORAGE("bluefield-3", 200),
     .source = "NVIDIA DGX B300 data sheet"},
    {/* With a cable in one port of 200 Gb/s: a function on each of the card's two PCIe links has half. */
     "dgx-spark", "NVIDIA DGX Spark", "ARM, Cortex-X925", "aarch64", NULL, "gb10",
     "0: (G) (N) (N)", 32,
     .compute = {"connectx-7", 100, "mlx5_%d", "rdma%d", ETHERNET, .lanes = 4},
     .source = "https://www.servethehome.com/the-nvidia-gb10-connectx-7-200gbe-networking-is-really-different: two links "
               "of four lanes of PCIe 5; https://github.com/mark-ramsey-ri/vllm-dgx-spark/issues/1: NCCL uses both, "
               "without GPUDirect RDMA"},
    {/* A compute tray; 18 of them share the rack's NVLink switches. Their GPUs are reached over NVLink-C2C. */
     "gb200-nvl72", "NVIDIA GB200 NVL72 compute tray", GRACE, "aarch64", NULL, "gb200",
     "0: 2(G) 2(N) (S) (M) 1: 2(G) 2(N) (S)", 32,
     .compute = IB("connectx-7", 400), .storage = STORAGE("bluefield-3", 200),
     .source = "NVIDIA GB200 NVL72 data sheet; NVIDIA GB200 NVL Multi-Node Tuning Guide"},
    {"gb300-nvl72", "NVIDIA GB300 NVL72 compute tray", GRACE, "aarch64", NULL, "gb300",
     "0: 2(G) 2(N) (S) (M) 1: 2(G) 2(N) (S)", 64,
     .compute = IB("connectx-8", 800), .storage = STORAGE("bluefield-3", 200),
     .source = "https://docs.nvidia.com/enterprise-reference-architectures/nvl72-ai-factory/latest/components.html: four "
               "ConnectX-8 on two boards; assumed: NUMA nodes and BlueField-3 as in a GB200 tray"},
    /* ---- baseboards in servers of others ----------------------------------------------------------------------------- */
    {"hgx-a100-4", "HGX A100 4-GPU server", EPYC_7402, NULL, NULL, "a100-sxm",
     "3: ([GN]) 1: ([GN]) 0: (M) 2: 4: 6: 7: ([GN]) 5: ([GN])", 16,
     .compute = IB("connectx-6", 200),
     .source = "NVIDIA HGX A100 data sheet; JUWELS Booster user documentation for the arrangement"},
    {"hgx-a100-8", "HGX A100 8-GPU server", EPYC_7763, NULL, NULL, "a100-sxm-80",
     "0: 2([GGNN]) (M) 1: 2([GGNN])", 16,
     .compute = IB("connectx-6", 200),
     .source = "NVIDIA HGX A100 data sheet"},
    {"hgx-h100", "HGX H100 8-GPU server", XEON_8480C, NULL, NULL, "h100-sxm",
     "0: 2([GGNN]) (M) 1: 2([GGNN])", 32,
     .compute = IB("connectx-7", 400),
     .source = "NVIDIA HGX H100 data sheet; NVIDIA-Certified Systems Configuration Guide"},
    {"hgx-h200", "HGX H200 8-GPU server", XEON_8480C, NULL, NULL, "h200-sxm",
     "0: 2([GGNN]) (M) 1: 2([GGNN])", 32,
     .compute = IB("connectx-7", 400),
     .source = "NVIDIA HGX H200 data sheet; NVIDIA-Certified Systems Configuration Guide"},
    {"hgx-h20", "HGX H20 8-GPU server", XEON_8480C, NULL, NULL, "h20",
     "0: 2(([GN]) (G)) (M) 1: 2(([GN]) (G))", 32,
     .compute = IB("connectx-7", 400),
     .source = "https://github.com/deepseek-ai/DeepEP/issues/303: nvidia-smi topo -m, four NICs beside every second "
               "GPU; assumed: InfiniBand at 400 Gb/s, the CPU"},
    {"hgx-b200", "HGX B200 8-GPU server", XEON_8570, NULL, NULL, "b200",
     "0: 2([GGNN]) (M) 1: 2([GGNN])", 32,
     .compute = IB("connectx-7", 400),
     .source = "NVIDIA HGX B200 data sheet; NVIDIA-Certified Systems Configuration Guide"},
    /* ---- clouds, as their guests and NCCL topology files show them --------------------------------------------------- */
    {"azure-ndv2", "Microsoft Azure Standard_ND40rs_v2", XEON_8168, NULL, "Hyper-V", "v100-sxm2-32",
     "0: GGGGN M 1: GGGG", 8,
     .compute = AZURE_IB("connectx-5", 100), .management = SOCKETS("mlx5-vf", 24),
     .source = "Microsoft Azure documentation, NDv2 series"},
    {"azure-ndv4", "Microsoft Azure Standard_ND96asr_v4", EPYC_7V12, NULL, "Hyper-V", "a100-sxm",
     "1: [GGNN] 0: [GGNN] M 3: [GGNN] 2: [GGNN]", 16,
     .compute = AZURE_IB("connectx-6", 200), .management = SOCKETS("mlx5-vf", 24),
     .source = "Microsoft Azure documentation, ND A100 v4 series"},
    {"azure-ndmv4", "Microsoft Azure Standard_ND96amsr_A100_v4", EPYC_7V12, NULL, "Hyper-V", "a100-sxm-80",
     "1: [GGNN] 0: [GGNN] M 3: [GGNN] 2: [GGNN]", 16,
     .compute = AZURE_IB("connectx-6", 200), .management = SOCKETS("mlx5-vf", 24),
     .source = "Microsoft Azure documentation, NDm A100 v4 series"},
    {"azure-ndv5", "Microsoft Azure Standard_ND96isr_H100_v5", XEON_8480C, NULL, "Hyper-V", "h100-sxm",
     "0: 4[GN] M 1: 4[GN]", 32,
     .compute = AZURE_IB("connectx-7", 400), .management = SOCKETS("mlx5-vf", 80),
     .source = "Microsoft Azure documentation, ND H100 v5 series"},
    {"azure-ndv5-h200", "Microsoft Azure Standard_ND96isr_H200_v5", XEON_8480C, NULL, "Hyper-V", "h200-sxm",
     "0: 4[GN] M 1: 4[GN]", 32,
     .compute = AZURE_IB("connectx-7", 400), .management = SOCKETS("mlx5-vf", 80),
     .source = "Microsoft Azure documentation, ND H200 v5 series"},
    {"azure-ndv5-mi300x", "Microsoft Azure Standard_ND96isr_MI300X_v5", XEON_8480C, NULL, "Hyper-V", "mi300x",
     "0: GGGGNNNN M 1: GGGGNNNN", 32,
     .compute = AZURE_IB("connectx-7", 400), .management = SOCKETS("mlx5-vf", 80),
     .source = "Microsoft Azure documentation, ND MI300X v5 series"},
    {/* The guest sees one flat bus. */
     "aws-p3dn", "Amazon EC2 p3dn.24xlarge", XEON_8175M, NULL, "Nitro", "v100-sxm2-32",
     "0: (MNGGGGGGGG) 1:", 8,
     .compute = EFA("efa1", 100), .management = SOCKETS("ena", 100),
     .source = "Amazon EC2 P3 instance page"},
    {"aws-p4d", "Amazon EC2 p4d.24xlarge", XEON_8275CL, NULL, "Nitro", "a100-sxm",
     "0: (M) 2([GGN]) 1: 2([GGN])", 8,
     .compute = EFA("efa1", 100), .management = SOCKETS("ena", 100),
     .source = "Amazon EC2 P4 instance page; Amazon EC2 user guide, accelerated computing instances"},
    {"aws-p4de", "Amazon EC2 p4de.24xlarge", XEON_8275CL, NULL, "Nitro", "a100-sxm-80",
     "0: (M) 2([GGN]) 1: 2([GGN])", 8,
     .compute = EFA("efa1", 100), .management = SOCKETS("ena", 100),
     .source = "Amazon EC2 P4 instance page; Amazon EC2 user guide, accelerated computing instances"},
    {"aws-p5", "Amazon EC2 p5.48xlarge", EPYC_7R13, NULL, "Nitro", "h100-sxm",
     "0: (M) 4([GNNNN]) 1: 4([GNNNN])", 16, .switch_GTps = 32,
     .compute = EFA("efa2", 100), .management = SOCKETS("ena", 100),
     .source = "Amazon EC2 P5 instance page; Amazon EC2 user guide, accelerated computing instances"},
    {"aws-p5en", "Amazon EC2 p5en.48xlarge", XEON_8488C, NULL, "Nitro", "h200-sxm",
     "0: (M) 4([GNN]) 1: 4([GNN])", 32,
     .compute = EFA("efa3", 200), .management = SOCKETS("ena", 100),
     .source = "Amazon EC2 P5 instance page; Amazon EC2 user guide, accelerated computing instances"},
    {"aws-p6-b200", "Amazon EC2 p6-b200.48xlarge", XEON_8570, NULL, "Nitro", "b200",
     "0: (M) 4([GN]) 1: 4([GN])", 32,
     .compute = EFA("efa4", 400), .management = SOCKETS("ena", 100),
     .source = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html: eight network cards; "
               "assumed: one beside each GPU, as in P5 and P5en"},
    {"aws-p6-b300", "Amazon EC2 p6-b300.48xlarge", XEON_8570, NULL, "Nitro", "b300",
     "0: (M) 4([GNN]) 1: 4([GNN])", 32, .switch_GTps = 64,
     .compute = EFA("efa4", 400), .management = SOCKETS("ena", 300),
     .source = "https://aws.amazon.com/blogs/aws/accelerate-large-scale-ai-applications-with-the-new-amazon-ec2-p6-b300-"
               "instances: 6.4 Tb/s of EFA, 300 Gb/s of ENA; assumed: two adapters of 400 Gb/s beside each GPU, the CPU"},
    {"gcp-a2-ultra", "Google Compute Engine a2-ultragpu-8g", XEON_CASCADE, NULL, "KVM", "a100-sxm-80",
     "0: 2[GG] N 1: 2[GG]", 16,
     .compute = SOCKETS("gvnic", 100),
     .source = "Google Cloud documentation, accelerator-optimized machine family, A2"},
    {"gcp-a3-high", "Google Compute Engine a3-highgpu-8g", XEON_8481C, NULL, "KVM", "h100-sxm",
     "0: M 2[GGN] 1: 2[GGN]", 32,
     .compute = SOCKETS("gvnic", 200), .management = SOCKETS("gvnic", 200),
     .source = "Google Cloud documentation, accelerator-optimized machine family, A3 High"},
    {"gcp-a3-mega", "Google Compute Engine a3-megagpu-8g", XEON_8481C, NULL, "KVM", "h100-sxm",
     "0: M 2[GGNN] 1: 2[GGNN]", 32,
     .compute = SOCKETS("gvnic", 200), .management = SOCKETS("gvnic", 200),
     .source = "Google Cloud documentation, accelerator-optimized machine family, A3 Mega"},
    {"gcp-a3-ultra", "Google Compute Engine a3-ultragpu-8g", XEON_8581C, NULL, "KVM", "h200-sxm",
     "0: M 2[GGNN] 1: M 2[GGNN]", 32,
     .compute = {"connectx-7", 400, "mlx5_%d", "gpu%drdma0", ETHERNET},
     .management = SOCKETS("gvnic", 200),
     .source = "Google Cloud documentation, accelerator-optimized machine family, A3 Ultra"},
    {"gcp-a4", "Google Compute Engine a4-highgpu-8g", XEON_8581C, NULL, "KVM", "b200",
     "0: M 2[GGNN] 1: M 2[GGNN]", 32,
     .compute = {"connectx-7", 400, "mlx5_%d", "gpu%drdma0", ETHERNET},
     .management = SOCKETS("gvnic", 200),
     .source = "https://cloud.google.com/compute/docs/accelerator-optimized-machines#a4-vms: B200, ConnectX-7, two "
               "gVNICs, Emerald Rapids; assumed: PCI tree as in A3 Ultra"},
    {"gcp-a4x-max", "Google Compute Engine a4x-maxgpu-4g-metal", GRACE, "aarch64", NULL, "gb300",
     "0: 2(G) 2(Nn) 1: 2(G) 2(Nn)", 64,
     .compute = ROCE("connectx-8", 400),
     .source = "https://cloud.google.com/compute/docs/accelerator-optimized-machines: A4X Max, bare metal, four GB300, "
               "six NICs, 3,600 Gb/s; assumed: four are ConnectX-8 with two ports of 400 Gb/s; the other two are left "
               "out; NUMA nodes as in gb300-nvl72"},
    {"oci-a100", "Oracle Cloud BM.GPU.A100-v2.8", EPYC_7J13, NULL, NULL, "a100-sxm-80",
     "3: ([GGNnNn]) 1: ([GGNnNn]) (M) 0: 2: 4: 6: 7: ([GGNnNn]) 5: ([GGNnNn])", 16,
     .compute = ROCE("connectx-5-ex", 100), .management = SOCKETS("connectx-5-ex", 50),
     .source = "Oracle Cloud Infrastructure documentation, compute shapes, BM.GPU.A100-v2.8"},
    {/* Each of the NICs for management is an RDMA device too, which takes a number. */
     "oci-h100", "Oracle Cloud BM.GPU.H100.8", XEON_8480, NULL, NULL, "h100-sxm",
     "0: ([GNn]) (M) 3([GNn]) 1: ([GNn]) (M) 3([GNn])", 32,
     .compute = ROCE("connectx-7", 200), .management = STORAGE("connectx-6-dx", 50),
     .source = "Oracle Cloud Infrastructure documentation, compute shapes, BM.GPU.H100.8"},
    /* ---- AMD --------------------------------------------------------------------------------------------------------- */
    {/* The dies are the GPUs; every second one has the NIC of its module. */
     "mi250x", "HPE Cray EX235a", EPYC_7A53, NULL, NULL, "mi250x",
     "3: (G) ([GN]) 1: (G) ([GN]) 0: (G) ([GN]) (M) 2: (G) ([GN])", 16,
     .compute = {"cassini", 200, "cxi%d", "hsn%d", ETHERNET}, .management = SOCKETS("x550", 1),
     .source = "Frontier User Guide; LUMI documentation, LUMI-G hardware"},
    {"mi300x", "AMD Instinct MI300X platform", XEON_8480C, NULL, NULL, "mi300x",
     "0: 4([[[G]]N]) (M) 1: 4([[[G]]N])", 32,
     .compute = IB("connectx-7", 400),
     .source = "AMD Instinct MI300X Platform data sheet; AMD ROCm documentation, multi-node network configuration"},
    {"mi325x", "AMD Instinct MI325X platform", EPYC_9575F, NULL, NULL, "mi325x",
     "0: 4([[[G]]N]) (M) 1: 4([[[G]]N])", 32,
     .compute = {"thor2", 400, "bnxt_re%d", "rdma%d", ETHERNET},
     .source = "AMD Instinct MI325X Platform data sheet"},
    {"mi350x", "AMD Instinct MI350X platform", EPYC_9575F, NULL, NULL, "mi350x",
     "0: 4([[[G]]N]) (M) 1: 4([[[G]]N])", 32,
     .compute = {"thor2", 400, "bnxt_re%d", "rdma%d", ETHERNET},
     .source = "AMD Instinct MI350X Platform data sheet"},
    {"mi355x", "AMD Instinct MI355X platform", EPYC_9575F, NULL, NULL, "mi355x",
     "0: 4([[[G]]N]) (M) 1: 4([[[G]]N])", 32,
     .compute = {"thor2", 400, "bnxt_re%d", "rdma%d", ETHERNET},
     .source = "AMD Instinct MI355X Platform data sheet"},
    /* ---- boxes with PCIe cards; the arrangement is a common one, of our choice --------------------------------------- */
    {"4xl40s-pcie", "4 x L40S in a 2U server", XEON_8570, NULL, NULL, "l40s",
     "0: 2(G) (N) (M) 1: 2(G)", 32,
     .compute = ROCE("connectx-7", 200),
     .source = "NVIDIA L40S data sheet; NVIDIA-Certified Systems Configuration Guide, 2-4-1"},
    {"8xl40s", "8 x L40S in a 4U server", XEON_8570, NULL, NULL, "l40s",
     "0: ([GGGGN]) (M) 1: ([GGGGN])", 32,
     .compute = ROCE("connectx-7", 200),
     .source = "NVIDIA L40S data sheet; NVIDIA-Certified Systems Configuration Guide"},
    {"8xrtxpro6000", "8 x RTX PRO 6000 Server Edition with four ConnectX-8", XEON_6776P, NULL, NULL, "rtxpro6000",
     "0: 2([GGNn]) (M) 1: 2([GGNn])", 32,
     .compute = ROCE("connectx-8", 400),
     .source = "https://developer.nvidia.com/blog/nvidia-connectx-8-supernics-advance-ai-platform-architecture-with-pcie-"
               "gen6-connectivity: two GPUs behind the switch of each ConnectX-8; assumed: the CPU, two ports each"},
    {"8xa100-pcie", "8 x A100 80GB PCIe in a 4U server", EPYC_7763, NULL, NULL, "a100-pcie-80",
     "0: ([GGGGN]) (M) 1: ([GGGGN])", 16,
     .compute = IB("connectx-6", 200),
     .source = "NVIDIA A100 data sheet; NVIDIA-Certified Systems Configuration Guide"},
    {"8xh100-nvl", "8 x H100 NVL in a 5U server", XEON_8570, NULL, NULL, "h100-nvl",
     "0: ([GGGGNN]) (M) 1: ([GGGGNN])", 32,
     .compute = ROCE("connectx-7", 400),
     .source = "NVIDIA H100 NVL product brief; NVIDIA-Certified Systems Configuration Guide"},
    {"4x4090", "4 x GeForce RTX 4090 in a workstation", RYZEN_5975WX, NULL, NULL, "rtx4090",
     "0: 4(G) (N)", 16,
     .compute = SOCKETS("x550", 10),
     .source = "NVIDIA Ada GPU architecture whitepaper"},
    {.name = NULL},
};
/* clang-format on */
