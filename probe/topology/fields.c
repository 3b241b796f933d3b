/* The fields of topology.json's records. */
#include "probe/topology/fields.h"

#define KIND(k) (1u << TOPO_##k)

static const char *const kind_words[] = {"numa", "host_bridge", "switch", "gpu", "nic", "nvswitch", "function", NULL};
static const char *const layer_words[] = {"unknown", "infiniband", "ethernet", NULL};
static const char *const state_words[] = {"unknown", "down", "active", NULL};
static const char *const net_words[] = {"unknown", "physical", "virtual", "bridge", "bond", "loopback", NULL};
static const char *const known_words[] = {"unknown", "no", "yes", NULL};
static const char *const gid_words[] = {"unknown", "ib", "roce_v1", "roce_v2", NULL};
static const char *const link_words[] = {"nvlink", "xgmi", "c2c", "metaxlink", NULL};

#define AT(member) offsetof(struct topo_object, member)
static const struct field object_fields[] = {
    {"kind", FIELD_WORD, AT(kind), .unknown = -1, .required = 1, .words = kind_words},
    {"parent", FIELD_PARENT, AT(parent), .unknown = -1},
    {"numa", FIELD_INT, AT(numa), .unknown = -1},
    {"pci", FIELD_TEXT, AT(pci)},
    {"name", FIELD_TEXT, AT(name)},
    {"model", FIELD_TEXT, AT(model)},
    {"pci_class", FIELD_HEX24, AT(pci_class)},
    {"vendor", FIELD_HEX16, AT(vendor)},
    {"device", FIELD_HEX16, AT(device)},
    {"subsystem_vendor", FIELD_HEX16, AT(subsystem_vendor)},
    {"subsystem_device", FIELD_HEX16, AT(subsystem_device)},
    {"link_GBps", FIELD_NUMBER, AT(link_GBps), .moves = 1},
    {"link_width", FIELD_INT, AT(link_width)},
    {"link_GTps", FIELD_NUMBER, AT(link_GTps), .moves = 1},
    {"link_max_GTps", FIELD_NUMBER, AT(link_max_GTps)},
    {"link_max_width", FIELD_INT, AT(link_max_width)},
    {"driver", FIELD_TEXT, AT(driver)},
    {"cpus", FIELD_TEXT, AT(cpus), .moves = 1},
    {"pf", FIELD_TEXT, AT(pf)},
    {"vfs", FIELD_INT, AT(vfs)},
    {"acs", FIELD_WORD, AT(acs), .words = known_words, .moves = 1},
    {"nvlink_management", FIELD_WORD, AT(nvlink_management), .words = known_words},
    {"relaxed_ordering", FIELD_WORD, AT(relaxed_ordering), .words = known_words, .moves = 1},
    {"ats", FIELD_WORD, AT(ats), .words = known_words, .moves = 1},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_gpu, member)
const struct field topo_gpu_fields[] = {
    {"object", FIELD_OBJECT, AT(object), .unknown = -1, .required = 1, .kinds = KIND(GPU)},
    {"index", FIELD_INT, AT(index), .unknown = -1},
    {"sm", FIELD_INT, AT(sm)},
    {"arch", FIELD_TEXT, AT(arch)},
    {"uuid", FIELD_TEXT, AT(uuid), .moves = 1},
    {"memory_numa", FIELD_TEXT, AT(memory_numa), .moves = 1},
    {"vbios", FIELD_TEXT, AT(vbios), .moves = 1},
    {"mem_bytes", FIELD_BYTES, AT(mem_bytes)},
    {"gdr", FIELD_INT, AT(gdr), .unknown = -1},
    {"mig", FIELD_WORD, AT(mig), .words = known_words},
    {"clique", FIELD_TEXT, AT(clique), .moves = 1},
    {"links_down", FIELD_INT, AT(links_down), .moves = 1},
    {"fabric", FIELD_TEXT, AT(fabric), .moves = 1},
    {"p2p_problems", FIELD_TEXTS, AT(p2p_problems)},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_port, member)
static const struct field port_fields[] = {
    {"object", FIELD_OBJECT, AT(object), .unknown = -1, .kinds = KIND(NIC)},
    {"hca", FIELD_TEXT, AT(hca), .required = 1},
    {"port", FIELD_INT, AT(port)},
    {"state", FIELD_WORD, AT(state), .words = state_words},
    {"layer", FIELD_WORD, AT(layer), .words = layer_words},
    {"rate_Gbps", FIELD_NUMBER, AT(rate_Gbps)},
    {"mtu_bytes", FIELD_INT, AT(mtu_bytes)},
    {"guid", FIELD_TEXT, AT(guid), .moves = 1},
    {"lid", FIELD_INT, AT(lid), .moves = 1},
    {"subnet_prefix", FIELD_TEXT, AT(subnet_prefix)},
    {"netdev", FIELD_TEXT, AT(netdev)},
    {"firmware", FIELD_TEXT, AT(firmware), .moves = 1},
    {"board_id", FIELD_TEXT, AT(board_id)},
    {"opens", FIELD_WORD, AT(opens), .words = known_words},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_netdev, member)
const struct field topo_netdev_fields[] = {
    {"object", FIELD_OBJECT, AT(object), .unknown = -1, .kinds = KIND(NIC)},
    {"name", FIELD_TEXT, AT(name), .required = 1},
    {"kind", FIELD_WORD, AT(kind), .words = net_words},
    {"state", FIELD_WORD, AT(state), .words = state_words},
    {"speed_Gbps", FIELD_NUMBER, AT(speed_Gbps)},
    {"mtu_bytes", FIELD_INT, AT(mtu_bytes)},
    {"master", FIELD_TEXT, AT(master)},
    {"addresses", FIELD_TEXTS, AT(addresses), .moves = 1},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_link, member)
static const struct field link_fields[] = {
    {"fabric", FIELD_WORD, AT(link_kind), .unknown = -1, .required = 1, .words = link_words},
    {"gpu", FIELD_GPU, AT(gpu), .unknown = -1, .required = 1},
    {"peer_gpu", FIELD_GPU, AT(peer_gpu), .unknown = -1},
    {"peer_object", FIELD_OBJECT, AT(peer_object), .unknown = -1, .kinds = KIND(NVSWITCH) | KIND(NUMA)},
    {"count", FIELD_INT, AT(count)},
    {"GBps", FIELD_NUMBER, AT(GBps)},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_gid, member)
static const struct field gid_fields[] = {
    {"port", FIELD_PORT, AT(port), .unknown = -1, .required = 1},
    {"index", FIELD_INT, AT(index), .unknown = -1},
    {"type", FIELD_WORD, AT(type), .words = gid_words},
    {"gid", FIELD_TEXT, AT(gid), .required = 1},
    {"netdev", FIELD_TEXT, AT(netdev)},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_host, member)
const struct field topo_host_fields[] = {
    {"addresses", FIELD_TEXTS, AT(addresses)},
    {"differs", FIELD_TEXTS, AT(differs)},
    {"leaves", FIELD_TEXTS, AT(leaves)},
    {"libraries", FIELD_TEXTS, AT(libraries)},
    {"errors", FIELD_TEXTS, AT(errors)},
    {"signs", FIELD_TEXTS, AT(signs)},
    {"served", FIELD_INT, AT(served)},
    {"clique", FIELD_TEXT, AT(clique)},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_class, member)
const struct field topo_class_fields[] = {
    {"name", FIELD_TEXT, AT(name), .moves = 1},
    {"cpu", FIELD_TEXT, AT(cpu)},
    {"arch", FIELD_TEXT, AT(arch)},
    {"product", FIELD_TEXT, AT(product)},
    {"hypervisor", FIELD_TEXT, AT(hypervisor)},
    {"container", FIELD_TEXT, AT(container), .moves = 1},
    {"iommu", FIELD_TEXT, AT(iommu)},
    {"driver", FIELD_TEXT, AT(driver)},
    {"cuda", FIELD_TEXT, AT(cuda)},
    {"gdr_route", FIELD_TEXT, AT(gdr_route), .moves = 1},
    {"libraries", FIELD_TEXTS, AT(libraries), .moves = 1},
    {"memlock_bytes", FIELD_BYTES, AT(memlock_bytes), .moves = 1},
    {"nofile", FIELD_BYTES, AT(nofile), .moves = 1},
    {"shm_bytes", FIELD_BYTES, AT(shm_bytes), .moves = 1},
    {NULL},
};
const struct field topo_note_fields[] = {{"notes", FIELD_TEXTS, AT(notes), .moves = 1}, {NULL}};

const struct field_list topo_lists[TOPO_LISTS] = {
    {"objects", object_fields, AT(objects), AT(nobjects), sizeof(struct topo_object), 65536},
    {"gpus", topo_gpu_fields, AT(gpus), AT(ngpus), sizeof(struct topo_gpu), TOPO_MOST_GPUS},
    {"ports", port_fields, AT(ports), AT(nports), sizeof(struct topo_port), 4096},
    {"netdevs", topo_netdev_fields, AT(netdevs), AT(nnetdevs), sizeof(struct topo_netdev), 4096},
    {"links", link_fields, AT(links), AT(nlinks), sizeof(struct topo_link), 65536},
    {"gids", gid_fields, AT(gids), AT(ngids), sizeof(struct topo_gid), 65536, .moves = 1},
};
#undef AT

int *topo_texts_count(void *member)
{
    return (int *)((char *)member + sizeof(const char **));
}
