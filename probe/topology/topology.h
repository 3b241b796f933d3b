/* The cluster as everything behind probe/ sees it: node classes with their devices, and the hosts that belong to each.
 *
 * Devices of a class are flat arrays that refer to one another by index (-1: none), so that a class can be written,
 * hashed and compared without chasing pointers. What could not be read is unknown (0, -1, NULL or *_UNKNOWN as said at
 * the member), never guessed. Everything lives in the topology's arena. */
#ifndef PROBE_TOPOLOGY_TOPOLOGY_H
#define PROBE_TOPOLOGY_TOPOLOGY_H

#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/sha256.h"

#define TOPO_FORMAT     "nccltune-topology/1"
#define TOPO_MOST_GPUS  256 /* in a class: paths are worked out for every pair */
#define TOPO_MOST_HOSTS 1000000

enum topo_kind {
    TOPO_NUMA,        /* a NUMA node with its cores; the roots of the tree */
    TOPO_HOST_BRIDGE, /* where a PCI tree leaves the CPU; only sources that show it have one */
    TOPO_SWITCH,      /* a PCI switch as a whole (upstream and downstream ports are one object) */
    TOPO_GPU,
    TOPO_NIC, /* a PCI function with network or RDMA devices, or a virtual device resolved to none */
    TOPO_NVSWITCH,
    TOPO_FUNCTION, /* a PCI function of which nobody says what it is */
    TOPO_KIND_COUNT,
};

/* What can only be said once it has been read. */
enum topo_known { TOPO_NOT_KNOWN, TOPO_NO, TOPO_YES };

/* An object of the PCI tree. */
struct topo_object {
    enum topo_kind kind;
    int parent;         /* index into objects, always a smaller one; -1 for a NUMA root or an unknown place */
    int numa;           /* operating system's NUMA index; -1 unknown */
    const char *pci;    /* "0000:17:00.0", lower case; NULL where it has no address */
    const char *name;   /* "mlx5_0", "eth0", "GPU0": for people */
    const char *model;  /* "NVIDIA H100 80GB HBM3", a PCI ID database name, NULL unknown */
    uint32_t pci_class; /* 24 bits, 0x030200; 0 unknown */
    uint16_t vendor, device, subsystem_vendor, subsystem_device; /* 0 unknown */
    double link_GBps;     /* PCIe towards the parent, one direction, as the link is now; 0 unknown */
    int link_width;       /* lanes; 0 unknown */
    double link_GTps;     /* per lane; 0 unknown */
    double link_max_GTps; /* the most that both ends of the link can do; 0 unknown */
    int link_max_width;
    const char *driver;                /* kernel driver bound to it, NULL none or unknown */
    const char *cpus;                  /* of a NUMA node: "0-31,64-95"; NULL unknown */
    const char *pf;                    /* a virtual function: PCI address of its physical one; else NULL */
    int vfs;                           /* virtual functions enabled on a physical one */
    enum topo_known acs;               /* the port above sends peer-to-peer requests up to the root (ACS redirect) */
    enum topo_known nvlink_management; /* its product data say that it manages NVLink switches */
    enum topo_known relaxed_ordering;  /* its writes to memory may pass one another; only root can read it */
    enum topo_known ats;               /* it asks the IOMMU itself (Address Translation Services); the same */
};

struct topo_gpu {
    int object;                /* two dies in one PCI function have the same */
    int index;                 /* as the vendor's tools number it */
    int sm;                    /* compute capability × 10 (90: H100), AMD: 0 */
    const char *arch;          /* "gfx942" for AMD, else NULL */
    const char *uuid;          /* NULL unknown; host-specific */
    const char *memory_numa;   /* index of the NUMA node that its memory is (Grace), "4"; NULL none or unknown */
    const char *vbios;         /* version, "96.00.74.00.01"; NULL unknown */
    uint64_t mem_bytes;        /* 0 unknown */
    int gdr;                   /* GPUDirect RDMA: 1 yes, 0 no, -1 unknown */
    enum topo_known mig;       /* cut into several instances */
    const char *clique;        /* multi-node NVLink: "CLUSTER-UUID.CLIQUE", NULL none; host-specific */
    int links_down;            /* NVLinks that it has and that are not active, 0 none or unknown */
    const char *fabric;        /* what the driver says of its registration with the fabric manager: "completed",
                                * "in progress", "not started", "failed"; NULL needs none, or unknown */
    const char **p2p_problems; /* what the driver refuses between it and a GPU of higher index: "GPU3: write: …" */
    int np2p_problems;
};

enum topo_link_layer { TOPO_LINK_UNKNOWN, TOPO_LINK_INFINIBAND, TOPO_LINK_ETHERNET };
enum topo_state { TOPO_STATE_UNKNOWN, TOPO_STATE_DOWN, TOPO_STATE_ACTIVE };

/* A port of an RDMA device. */
struct topo_port {
    int object;      /* the NIC; -1 unknown */
    const char *hca; /* "mlx5_0" */
    int port;        /* from 1 */
    enum topo_state state;
    enum topo_link_layer layer;
    double rate_Gbps;          /* 0 unknown */
    int mtu_bytes;             /* active; 0 unknown */
    const char *guid;          /* "0x506b4b0300ca1f2e" as ibstat prints it: node GUID, from NCCL's files the system
                                * image's; NULL unknown; host-specific */
    int lid;                   /* InfiniBand; 0 none or unknown; host-specific */
    const char *subnet_prefix; /* InfiniBand: "0xfe80000000000000"; NULL unknown */
    const char *netdev;        /* the interface that belongs to it, NULL none or unknown */
    const char *firmware;      /* "28.43.2566", NULL unknown */
    const char *board_id;      /* "MT_0000000834", NULL unknown */
    enum topo_known opens;     /* TOPO_NO: the device could not be opened, though it is shown */
};

enum topo_gid_type { TOPO_GID_UNKNOWN, TOPO_GID_IB, TOPO_GID_ROCE_V1, TOPO_GID_ROCE_V2 };

/* An entry of a port's GID table; empty ones have none. Host-specific. */
struct topo_gid {
    int port;  /* index into ports */
    int index; /* in the port's table */
    enum topo_gid_type type;
    const char *gid;    /* as an IPv6 address: "fe80::e42:a1ff:feb5:2", "::ffff:10.0.0.1" */
    const char *netdev; /* NULL none or unknown */
};

enum topo_net_kind {
    TOPO_NET_UNKNOWN,
    TOPO_NET_PHYSICAL,
    TOPO_NET_VIRTUAL,
    TOPO_NET_BRIDGE,
    TOPO_NET_BOND,
    TOPO_NET_LOOPBACK
};

/* A network interface. A veth or virtio interface that is not attached to a bridge counts as TOPO_NET_VIRTUAL. */
struct topo_netdev {
    int object; /* the NIC; -1: none or unknown */
    const char *name;
    enum topo_net_kind kind;
    enum topo_state state; /* ACTIVE: up and running, as NCCL and OpenMPI ask for */
    double speed_Gbps;     /* 0 unknown */
    int mtu_bytes;
    const char *master;     /* bridge or bond it belongs to, NULL none */
    const char **addresses; /* "10.0.0.1/24", "fe80::1/64"; host-specific */
    int naddresses;
};

enum topo_link_kind { TOPO_NVLINK, TOPO_XGMI, TOPO_C2C, TOPO_METAXLINK };

/* NVLink, XGMI or C2C from one GPU. */
struct topo_link {
    enum topo_link_kind link_kind;
    int gpu;         /* index into gpus */
    int peer_gpu;    /* index into gpus; -1: `peer_object`, or an unknown remote end when both are -1 */
    int peer_object; /* an NVSwitch or a NUMA node */
    int count;       /* links of this kind between the two */
    double GBps;     /* all `count` together, one direction; 0 unknown */
};

struct topo_class {
    const char *name; /* "class0" */
    const char *cpu;  /* "GenuineIntel 6/143", model name, NULL unknown */
    const char *arch; /* "x86_64" */
    struct topo_object *objects;
    int nobjects;
    struct topo_gpu *gpus;
    int ngpus;
    struct topo_port *ports;
    int nports;
    struct topo_netdev *netdevs;
    int nnetdevs;
    struct topo_link *links;
    int nlinks;
    const char **notes; /* what could not be read and why: "NVML: libnvidia-ml.so.1 not found" */
    int nnotes;
    struct topo_gid *gids;
    int ngids;
    const char *product;    /* vendor and model of the machine out of DMI, NULL unknown */
    const char *hypervisor; /* "KVM"; "none"; NULL unknown */
    const char *container;  /* "docker"; "none"; NULL unknown */
    const char *iommu;      /* "off", "passthrough", "translated"; NULL unknown */
    const char *driver;     /* version of the GPU driver, NULL unknown */
    const char *cuda;       /* newest CUDA version that the driver knows, "12.4", NULL unknown */
    const char *gdr_route;  /* how NICs reach GPU memory: "nvidia_peermem", "dma-buf", "none"; NULL unknown */
    const char **libraries; /* "NCCL 2.21.5 /usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5" */
    int nlibraries;
    uint64_t memlock_bytes; /* limit of locked memory; 0 unknown, TOPO_UNLIMITED none */
    uint64_t nofile;        /* the same of open files */
    uint64_t shm_bytes;     /* size of /dev/shm; 0 unknown */
};

#define TOPO_UNLIMITED (1ull << 53)

struct topo_host {
    const char *name;
    int class_index;
    const char **addresses; /* "mlx5_0 0x506b4b0300ca1f2e", "eth0 10.0.0.1/24": who it is in the network */
    int naddresses;
    const char **differs; /* sentences: where it is not quite like its class ("mlx5_1: firmware 28.41 instead of …") */
    int ndiffers;
    const char **leaves; /* "mlx5_0:1 leaf-3 port 7": switches that its ports hang on */
    int nleaves;
    const char **libraries; /* as of the class, where its own are others */
    int nlibraries;
    const char **errors; /* what its own probe found to be an error: "memlock-low: the limit of …" */
    int nerrors;
    const char **signs; /* of its condition, "KIND VALUE SUBJECT" each, as topo_sign reads them */
    int nsigns;
    int served;         /* nothing was measured on it: it equals a class on which something was */
    const char *clique; /* of its GPUs, where one is told: hosts of one clique are one NVLink domain */
};

/* A node that was asked and did not answer. */
struct topo_missing {
    const char *name, *why;
};

struct finding;

struct topology {
    struct arena *arena;
    const char *source; /* "this machine", or the files it was read from */
    const char *tool;   /* version that wrote it */
    struct topo_class *classes;
    struct topo_host *hosts;
    int nclasses, nhosts;
    struct topo_missing *missing;
    int nmissing;
    int alternatives;               /* the classes are variants of one machine, of which one applies: no cluster */
    const struct finding *findings; /* as findings_attach left them; written, and not read back */
    int nfindings;
};

/* The index into ports of that port; -1. */
int topo_find_port(const struct topo_class *c, const char *hca, int port);

/* The kind of sign with the seconds since 1970 by the node's own clock. */
#define TOPO_CLOCK "clock"

/* Whether a sign of a host ("ecc-uncorrected 2 GPU3") is of that kind; then its value, and its subject ("": the node).
 */
int topo_sign(const char *sign, const char *kind, double *value, const char **subject);

struct cJSON;

struct topology *topo_new(void);
void topo_free(struct topology *t); /* NULL is fine */

/* topology.json, both ways (NULL or "-": standard output). A file is hostile until it is loaded: every index, word and
 * number is checked, and the error names the place ("classes[0].gpus[2].object"). What is missing is unknown; unknown
 * fields are ignored.
 *
 * The hash is SHA-256 over the classes without what is host-specific (addresses, GUIDs, UUIDs, notes) and without what
 * moves by itself (PCIe speed: an idle GPU slows its link down; bridges and a container's veth): two identical machines
 * have the same. */
int topo_save(const struct topology *t, const char *path, struct err *e);
struct topology *topo_load(const char *path, struct err *e);
int topo_add_json(struct topology *t, const struct cJSON *doc, const char *file, struct err *e); /* adds its classes */
struct cJSON *topo_to_json(const struct topology *t); /* cJSON_Delete frees */
void topo_hash(const struct topology *t, char hex[SHA256_HEX]);
void topo_class_hash(const struct topo_class *c, char hex[SHA256_HEX]); /* of one class */

#endif
