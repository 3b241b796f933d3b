/* The cluster as everything behind probe/ sees it: node classes with their devices, the hosts that belong to each, and
 * what follows from them: paths, NVLink domains, roles of ports, rails, differences.
 *
 * Devices of a class are flat arrays that refer to one another by index (-1: none), so that a class can be written,
 * hashed and compared without chasing pointers. What could not be read is unknown (0, -1, NULL or *_UNKNOWN as said at
 * the member), never guessed. Everything lives in the topology's arena. */
#pragma once

#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/hash.h"

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
    TOPO_FUNCTION, /* a PCI function of unknown kind */
    TOPO_KIND_COUNT,
};

/* Derived after reading. */
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
    const char *node_type;     /* of the device, as the kernel names it: "CA", "RNIC" (iWARP); NULL unknown */
    int sm_lid;                /* InfiniBand: LID of the subnet manager; 0 none or unknown; host-specific */
    const char *fabric; /* InfiniBand: name and GUID of a switch that stands for its fabric, from ibnetdiscover; NULL
                         * unknown; host-specific */
    enum topo_known no_gids; /* TOPO_YES: its GID table was read and is empty; else unknown */
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
    const char *port_name;  /* the kernel's phys_port_name: "p0", "pf0vf1" (a representor); NULL none or unknown */
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
    int count;       /* links of this kind between the two; 0 unknown (MetaX) */
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
    const char **signs; /* of its condition, "KIND VALUE SUBJECT": "ecc-uncorrected 2 GPU3"; no subject: the node */
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
    int nclasses;
    struct topo_host *hosts;
    int nhosts;
    struct topo_missing *missing;
    int nmissing;
    int alternatives;               /* the classes are variants of one machine, of which one applies: no cluster */
    const struct finding *findings; /* as findings_attach left them; written, and not read back */
    int nfindings;
};

struct topology *topo_new(void);
void topo_free(struct topology *t); /* NULL is fine */

/* ---- topology.json ----------------------------------------------------------------------------------------------- */

struct cJSON;

/* Write and read topology.json (NULL or "-": standard output). A file is hostile until it is loaded: every index, word
 * and number is checked, and the error names the place ("classes[0].gpus[2].object"). What is missing is unknown;
 * unknown fields are ignored. */
int topo_save(const struct topology *t, const char *path, struct err *e);
struct topology *topo_load(const char *path, struct err *e);
int topo_add_json(struct topology *t, const struct cJSON *doc, const char *file, struct err *e); /* adds its classes */
struct cJSON *topo_to_json(const struct topology *t);        /* cJSON_Delete frees */
void topo_put_missing(struct cJSON *o, const void *missing); /* name and why, for json_add_each */

/* Return a copy, as its document has it: a single node's errors of findings are then its host's. topo_free frees. */
struct topology *topo_copy(const struct topology *t, struct err *e);

/* Hash all classes, or one, with SHA-256, without what is host-specific (addresses, GUIDs, UUIDs, notes) and without
 * what changes by itself (PCIe speed: an idle GPU slows its link down; bridges and a container's veth). Identical
 * machines have the same hash. */
void topo_hash(const struct topology *t, char hex[SHA256_HEX]);
void topo_class_hash(const struct topo_class *c, char hex[SHA256_HEX]);

/* ---- hosts and classes ------------------------------------------------------------------------------------------- */

/* Return the index into ports of that port; -1: none. */
int topo_find_port(const struct topo_class *c, const char *hca, int port);

/* Return the interface of that name; NULL: none, as for NULL. */
struct topo_netdev *topo_find_netdev(const struct topo_class *c, const char *name);

/* Return whether the kernel names an interface so that stands for a virtual function's or subfunction's port inside a
 * switch in the NIC: "pf0vf1", "c1pf0sf88", "pf0hpf"; "p0" is the NIC's own port. NULL is none. */
int topo_is_representor(const char *port_name);

/* Return the name of an interface that belongs to that bond and is down; NULL: none is known to be, as for
 * NULL. */
const char *topo_slave_down(const struct topo_class *c, const char *bond);

/* Return "mlx5_0:1", in `a`. */
const char *topo_port_name(struct arena *a, const struct topo_port *p);

/* Return the index into ports of the first port of that NIC, an index into objects; -1. */
int topo_first_port(const struct topo_class *c, int object);

/* Return the nearest object of that kind from `object` up, itself included; -1: none, as for an object of -1. */
int topo_ancestor(const struct topo_class *c, int object, enum topo_kind kind);

/* Return how many objects of that kind there are. */
int topo_count(const struct topo_class *c, enum topo_kind kind);

/* Return the number of the NUMA node at that root, as its devices have it; -1: they have none. A root without devices
 * has its own. */
int topo_numa_number(const struct topo_class *c, int root);

/* Return the object at the top of the tree that `object` is in; -1 for -1. */
int topo_root(const struct topo_class *c, int object);

/* Return 1 if the object is `top` or below it. */
int topo_is_below(const struct topo_class *c, int object, int top);

/* Count the NVLink and XGMI links that leave a GPU; C2C leads to its own CPU and does not count. */
int topo_count_links(const struct topo_class *c, int gpu);

/* Return the number of the host of that name, else of one that is alike; -1: none. */
int topo_find_host(const struct topology *t, const char *name);

/* Return the hosts of a class (-1: of any), measured (`served` 0), only served (1) or both (-1), folded, in `a`; and
 * how many there are. */
const char *topo_hosts(const struct topology *t, int class_index, int served, struct arena *a, int *n);

/* Count the GPUs of all hosts that are measured; hosts that are only served do not count. */
int topo_measured_gpus(const struct topology *t);

/* Return the architecture of the first AMD GPU, "gfx942"; NULL: there is none. */
const char *topo_amd_arch(const struct topology *t);

/* Select hosts by their numbers, in that order, with their classes under the names that they have. The result points
 * into `t`, which has to outlive it; topo_free frees. Missing nodes are left out. */
struct topology *topo_select(const struct topology *t, const int *hosts, int nhosts);

/* Return why nodes of the two classes may not share a job, as what the other has instead of the first: "8 x NVIDIA A100
 * instead of 8 x NVIDIA H100", "active ports of 1 x 200 Gb/s instead of 2 x 200 Gb/s"; in `a`. NULL: they may. Names
 * and places of devices are no reason. */
const char *topo_apart(const struct topo_class *first, const struct topo_class *other, struct arena *a);

/* List what sets `other` apart from `first`, as sentences such as "mlx5_7 is missing", "mlx5_10:1 is down instead of
 * active"; all in `a`. Return how many there are, at most DIFFERENCES_MOST. */
#define DIFFERENCES_MOST 64
int differences_of(const struct topo_class *first, const struct topo_class *other, struct arena *a,
                   const char ***sentences);

/* The same for what machines of one class may differ in: firmware, limits, libraries, the kinds of GIDs by index. */
int differences_within(const struct topo_class *first, const struct topo_class *other, struct arena *a,
                       const char ***sentences);

/* Find the class that is most like t->classes[class_index] among those of as many hosts or more, and what sets it
 * apart; class_index -1 for the commonest one. In `a`. */
struct differences_like {
    int class_index;
    const char **sentences;
    int n;
};
struct differences_like differences_nearest(const struct topology *t, int class_index, struct arena *a);

/* ---- PCI: addresses, classes and link speeds, as NCCL's files, hwloc and sysfs write them ------------------------ */

/* Return the address in s as "0000:17:00.0", lower case, in `a`: a missing domain or function is 0, domains have 4 to 8
 * digits. NULL if s is NULL or no address. */
const char *pci_address(struct arena *a, const char *s);

/* Return whether both are addresses of functions of one card; 0 for NULL. */
int pci_same_card(const char *a, const char *b);

int pci_is_switch(uint32_t class_code);              /* 0x0604xx */
int pci_is_nic(uint32_t class_code);                 /* 0x02xxxx, and 0x0c06xx: InfiniBand before PCI 3.0 */
int topo_is_infiniband(const struct topo_object *o); /* a NIC of class 0x0207xx */
int pci_is_nvswitch(uint32_t class_code, uint16_t vendor);

/* Return whether a function of that class computes: display controllers of NVIDIA, AMD and Hygon, 3D controllers and
 * accelerators of anyone, but no management console. Without a vendor (0) the class alone decides. */
int pci_is_gpu(uint32_t class_code, uint16_t vendor, uint16_t device);

/* Read "16.0 GT/s PCIe" as 16; 0 unknown. */
double pci_GTps(const char *s);

/* Return GB/s in one direction after the line code: 8b/10b up to 5 GT/s, 128b/130b to 32 GT/s, none that counts above
 * (PCI Express Base Specification 6.0, 4.2). 0 if either is unknown. */
double pci_GBps(double GTps, int width);

/* ---- paths: how far two devices of a node are from one another --------------------------------------------------- */

/* NCCL's path classes, in the order of its src/graph/topo.cc. Their numbers differ between releases: only names are
 * stored. */
enum path_class {
    PATH_LOC, /* the same device */
    PATH_NVL, /* NVLink or XGMI, direct or through NVSwitches */
    PATH_NVB, /* NVLink through a third GPU */
    PATH_C2C, /* NVLink-C2C over the CPU both are attached to */
    PATH_PIX, /* one PCI switch */
    PATH_PXB, /* several PCI switches, no CPU */
    PATH_P2C, /* GPU over C2C to its CPU, NIC on that CPU's PCI */
    PATH_PXN, /* GPU over NVLink to a GPU that is near the NIC; only topology.json's nccl_classes have it */
    PATH_PHB, /* a CPU's host bridge */
    PATH_SYS, /* between NUMA nodes */
    PATH_UNKNOWN,
};

/* The words of nvidia-smi topo -m, for people. */
enum path_word { WORD_SELF, WORD_LINKS, WORD_PIX, WORD_PXB, WORD_PHB, WORD_NODE, WORD_SYS, WORD_UNKNOWN };

struct topo_path {
    enum path_class class_;
    enum path_word word;
    enum topo_link_kind link_kind; /* WORD_LINKS: of which kind */
    int links;                     /* WORD_LINKS: how many; 0 unknown */
    double GBps; /* the narrowest link on the way, one direction; WORD_LINKS: all of them; 0 unknown */
};

/* A row and column of the matrix: the GPUs come first, then one NIC for every RDMA device, named by it, or, if the
 * class has none, one for every NIC object. */
struct path_end {
    int object;
    const char *label; /* "GPU0", "mlx5_0", "eth0", a PCI address */
};

struct path_matrix {
    struct path_end *ends;
    int ngpus, n;            /* ends[0..ngpus) are the GPUs */
    struct topo_path *paths; /* n × n, row by row; symmetric */
};

/* Work out the paths between all GPUs and NICs of a class; all of it in `a`. */
struct path_matrix *path_matrix(const struct topo_class *c, struct arena *a);
const struct topo_path *path_between(const struct path_matrix *m, int row, int column);

/* Return the end of that RDMA device; -1 if the matrix has none. */
int path_end_of(const struct path_matrix *m, const char *hca);

const char *path_class_name(enum path_class class_); /* "NVL"; "?" for PATH_UNKNOWN */

/* Write "X", "NV18", "XGMI4", "PIX", …, "?". Returns `text`. */
#define PATH_WORD 16
char *path_word(char text[PATH_WORD], const struct topo_path *p);

/* ---- NVLink domains: GPUs that reach one another over NVLink or XGMI --------------------------------------------- */

struct nvlink_domain {
    enum topo_link_kind link_kind;
    const char *clique; /* multi-node NVLink: "CLUSTER-UUID.CLIQUE", and the domain goes on in other nodes; NULL none */
    int *gpus;          /* indices into the class's gpus, ascending */
    int ngpus;
};

/* Nodes whose GPUs reach one another over NVLink. */
struct nvlink_rack {
    const char *clique;
    const char **hosts; /* in their order */
    int nhosts, ngpus;
};

/* List the cliques of the hosts, by name, in `a`. Returns how many there are. */
int nvlink_racks(const struct topology *t, struct arena *a, struct nvlink_rack **racks);

/* List the domains of a class in the order of their first GPU; all of it in `a`. Returns how many there are. GPUs
 * belong together if links join them, directly or through others, or if the driver put them into one clique; a GPU with
 * neither is in no domain. `m` is the class's matrix. */
int nvlink_domains(const struct topo_class *c, const struct path_matrix *m, struct arena *a,
                   struct nvlink_domain **domains);

/* ---- roles: what every RDMA port is for, the HCAs that NCCL should use, and their rails -------------------------- */

enum port_role {
    ROLE_UNKNOWN,
    ROLE_COMPUTE,
    ROLE_STORAGE,
    ROLE_MANAGEMENT,
    ROLE_NVLINK_MANAGEMENT,
    ROLE_BOND,
    ROLE_VF,
    ROLE_DOWN,
};

struct port_verdict {
    enum port_role role;
    const char *reason; /* "400 Gb/s InfiniBand, beside GPU0 (PIX)" */
    const char *plugin; /* NCCL reaches the port through this network plugin, not through verbs; NULL: verbs */
    int nearest_gpu;    /* index into gpus; -1 none or unknown */
    enum path_class nearest_class; /* towards it */
    int gpu_missing;               /* it is like the ports beside GPUs, and the GPU beside it seems to be missing */
    int open;                      /* whether jobs should use it cannot be told from here: `reason` says why */
};

/* Facts of a port for rules on roles. */
struct role_evidence {
    const char *rule;    /* "rate" */
    const char *seen;    /* "100 Gb/s, while the fastest have 400"; NULL: nothing is known */
    enum port_role role; /* what that makes of the port; ROLE_COMPUTE: nothing speaks against it */
    int open;            /* that could be otherwise, and nothing here tells */
};

const char *role_name(enum port_role role); /* "compute", "nvlink-management" */

/* Return a verdict for every port of the class, in `a`. */
struct port_verdict *roles_of(const struct topo_class *c, struct arena *a);

/* List what every rule sees of ports[port], in the order of the rules: the first that speaks against the port decides.
 * Returns how many there are; in `a`. */
int roles_evidence(const struct topo_class *c, int port, struct arena *a, struct role_evidence **rows);

/* Return NCCL_IB_HCA for the compute ports that need no plugin, exact names with port numbers: "=mlx5_0:1,mlx5_1:1";
 * NULL if there is none. Without '=', "mlx5_1" would match "mlx5_10" as well. NCCL reads at most ROLES_MOST_HCAS
 * entries. */
#define ROLES_MOST_HCAS 32
const char *roles_hca_list(const struct topo_class *c, const struct port_verdict *verdicts, struct arena *a);
/* Return a copy of the class in which the ports of unknown state are active, or the class where the state of all is
 * known. */
const struct topo_class *roles_assume_up(const struct topo_class *c, struct arena *a);

/* Return that copy where it has a list of HCAs and the class has none, else the class. */
const struct topo_class *roles_shown(const struct topo_class *c, struct arena *a);

/* Return true if ports are called "NIC0" as in a matrix without its legend: no name that NCCL knows. */
int roles_only_labels(const struct topo_class *c);

/* The same for the ports that are compute ports in every class that has RDMA ports or GPUs. NULL if there is none; then
 * `*why` is a sentence with the reason. */
const char *roles_hca_common(const struct topology *t, struct arena *a, const char **why);

/* Compute ports of a class that are on one network. */
struct rail {
    const char *network; /* "10.0.1.0/24", "0xfe80000000000000" (InfiniBand subnet prefix) */
    int *ports;          /* indices into ports */
    int nports;
};

/* List the rails of the class in the order of their first port, in `a`. Returns how many there are. Ports whose network
 * is unknown are on none. Ports of one network reach one another on all nodes; routes between networks are unknown. */
int topo_rails(const struct topo_class *c, const struct port_verdict *verdicts, struct arena *a, struct rail **rails);

/* Return the class with GPUs that most hosts belong to, of several the first; -1: none has a GPU. */
int topo_gpu_class(const struct topology *t);

/* Return how many hosts the class has; 1 if the topology names none. */
int topo_class_hosts(const struct topology *t, int class_index);
