/* The fields of topology.json's records. */
#include "probe/topology_fields.h"

#define KIND(k) (1u << TOPO_##k)

static const char *const kind_words[] = {"numa", "host_bridge", "switch", "gpu", "nic", "nvswitch", NULL};
static const char *const layer_words[] = {"unknown", "infiniband", "ethernet", NULL};
static const char *const state_words[] = {"unknown", "down", "active", NULL};
static const char *const net_words[] = {"unknown", "physical", "virtual", "bridge", "bond", "loopback", NULL};
static const char *const fabric_words[] = {"nvlink", "xgmi", "c2c", NULL};

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
    {"mem_bytes", FIELD_BYTES, AT(mem_bytes)},
    {"gdr", FIELD_INT, AT(gdr), .unknown = -1},
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
    {"fabric", FIELD_WORD, AT(fabric), .unknown = -1, .required = 1, .words = fabric_words},
    {"gpu", FIELD_GPU, AT(gpu), .unknown = -1, .required = 1},
    {"peer_gpu", FIELD_GPU, AT(peer_gpu), .unknown = -1},
    {"peer_object", FIELD_OBJECT, AT(peer_object), .unknown = -1, .kinds = KIND(NVSWITCH) | KIND(NUMA)},
    {"count", FIELD_INT, AT(count)},
    {"GBps", FIELD_NUMBER, AT(GBps)},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_class, member)
const struct field topo_class_fields[] = {
    {"name", FIELD_TEXT, AT(name), .moves = 1},
    {"cpu", FIELD_TEXT, AT(cpu)},
    {"arch", FIELD_TEXT, AT(arch)},
    {NULL},
};
const struct field topo_note_fields[] = {{"notes", FIELD_TEXTS, AT(notes), .moves = 1}, {NULL}};

const struct field_list topo_lists[TOPO_LISTS] = {
    {"objects", object_fields, AT(objects), AT(nobjects), sizeof(struct topo_object)},
    {"gpus", topo_gpu_fields, AT(gpus), AT(ngpus), sizeof(struct topo_gpu)},
    {"ports", port_fields, AT(ports), AT(nports), sizeof(struct topo_port)},
    {"netdevs", topo_netdev_fields, AT(netdevs), AT(nnetdevs), sizeof(struct topo_netdev)},
    {"links", link_fields, AT(links), AT(nlinks), sizeof(struct topo_link)},
};
#undef AT

int *topo_texts_count(void *member)
{
    return (int *)((char *)member + sizeof(const char **));
}
