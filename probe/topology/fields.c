/* The fields of topology.json's records. */
#include "probe/topology/fields.h"

#include <stdlib.h>
#include <string.h>

/* ---- kinds of members: numbers in hex, and indices into the lists of the class that is read ---- */

static double hex16_value(const void *at)
{
    return *(const uint16_t *)at;
}

static double hex24_value(const void *at)
{
    return *(const uint32_t *)at;
}

static void put_hex(cJSON *o, const struct json_field *f, const void *at)
{
    char text[16];
    unsigned value = (unsigned)f->kind->value(at);
    snprintf(text, sizeof text, "0x%0*x", f->kind->size == sizeof(uint16_t) ? 4 : 6, value);
    if (value)
        cJSON_AddStringToObject(o, f->key, text);
}

static int get_hex(struct json_reader *in, const struct json_field *f, const cJSON *item, void *at)
{
    const int narrow = f->kind->size == sizeof(uint16_t);
    char *end = NULL;
    const char *s = !item ? "0x0" : cJSON_IsString(item) ? item->valuestring : "";
    unsigned long v = strncmp(s, "0x", 2) != 0 ? 0 : strtoul(s + 2, &end, 16);
    if (!end || end == s + 2 || *end || v > (narrow ? 0xffff : 0xffffff))
        return json_wrong(in, f->key, narrow ? "\"0x\" and up to 4 hex digits" : "\"0x\" and up to 6 hex digits");
    if (narrow)
        *(uint16_t *)at = (uint16_t)v;
    else
        *(uint32_t *)at = (uint32_t)v;
    return 0;
}

static double index_value(const void *at)
{
    return *(const int *)at;
}

static void put_index(cJSON *o, const struct json_field *f, const void *at)
{
    json_as_int.put(o, f, at);
}

static int get_object(struct json_reader *in, const struct json_field *f, const cJSON *item, void *at)
{
    const struct topo_class *c = in->more;
    int *object = at, rc = json_get_int(in, f, item, 0, c->nobjects - 1, object);
    if (!rc && *object >= 0 && !(f->mark & 1u << c->objects[*object].kind))
        return json_wrong(in, f->key, "the index of an object of the right kind");
    return rc;
}

/* An earlier object. */
static int get_parent(struct json_reader *in, const struct json_field *f, const cJSON *item, void *at)
{
    const struct topo_class *c = in->more;
    size_t self = (size_t)((const char *)at - (const char *)c->objects) / sizeof *c->objects;
    return json_get_int(in, f, item, 0, (int)self - 1, at);
}

static int get_gpu(struct json_reader *in, const struct json_field *f, const cJSON *item, void *at)
{
    return json_get_int(in, f, item, 0, ((const struct topo_class *)in->more)->ngpus - 1, at);
}

static int get_port(struct json_reader *in, const struct json_field *f, const cJSON *item, void *at)
{
    return json_get_int(in, f, item, 0, ((const struct topo_class *)in->more)->nports - 1, at);
}

static const struct json_kind hex16 = {put_hex, get_hex, sizeof(uint16_t), hex16_value},
                              hex24 = {put_hex, get_hex, sizeof(uint32_t), hex24_value},
                              an_object = {put_index, get_object, 0, index_value},
                              a_parent = {put_index, get_parent, 0, index_value},
                              a_gpu = {put_index, get_gpu, 0, index_value},
                              a_port = {put_index, get_port, 0, index_value};

/* ---- records ---- */

#define KIND(k) (1u << TOPO_##k)

static const char *const kind_words[] = {"numa", "host_bridge", "switch", "gpu", "nic", "nvswitch", "function", NULL};
static const char *const layer_words[] = {"unknown", "infiniband", "ethernet", NULL};
static const char *const state_words[] = {"unknown", "down", "active", NULL};
static const char *const net_words[] = {"unknown", "physical", "virtual", "bridge", "bond", "loopback", NULL};
static const char *const known_words[] = {"unknown", "no", "yes", NULL};
static const char *const gid_words[] = {"unknown", "ib", "roce_v1", "roce_v2", NULL};
static const char *const link_words[] = {"nvlink", "xgmi", "c2c", "metaxlink", NULL};

#define AT(member) offsetof(struct topo_object, member)
const struct json_field topo_object_fields[] = {
    {"kind", &json_as_word, AT(kind), .unknown = -1, .required = 1, .words = kind_words},
    {"parent", &a_parent, AT(parent), .unknown = -1},
    {"numa", &json_as_int, AT(numa), .low = -1, .unknown = -1},
    {"pci", &json_as_text, AT(pci)},
    {"name", &json_as_text, AT(name)},
    {"model", &json_as_text, AT(model)},
    {"pci_class", &hex24, AT(pci_class)},
    {"vendor", &hex16, AT(vendor)},
    {"device", &hex16, AT(device)},
    {"subsystem_vendor", &hex16, AT(subsystem_vendor)},
    {"subsystem_device", &hex16, AT(subsystem_device)},
    {"link_GBps", &json_as_number, AT(link_GBps), .high = 1e12, .mark = TOPO_MOVES},
    {"link_width", &json_as_int, AT(link_width), .low = -1},
    {"link_GTps", &json_as_number, AT(link_GTps), .high = 1e12, .mark = TOPO_MOVES},
    {"link_max_GTps", &json_as_number, AT(link_max_GTps), .high = 1e12},
    {"link_max_width", &json_as_int, AT(link_max_width), .low = -1},
    {"driver", &json_as_text, AT(driver)},
    {"cpus", &json_as_text, AT(cpus), .mark = TOPO_MOVES},
    {"pf", &json_as_text, AT(pf)},
    {"vfs", &json_as_int, AT(vfs), .low = -1},
    {"acs", &json_as_word, AT(acs), .words = known_words, .mark = TOPO_MOVES},
    {"nvlink_management", &json_as_word, AT(nvlink_management), .words = known_words},
    {"relaxed_ordering", &json_as_word, AT(relaxed_ordering), .words = known_words, .mark = TOPO_MOVES},
    {"ats", &json_as_word, AT(ats), .words = known_words, .mark = TOPO_MOVES},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_gpu, member)
const struct json_field topo_gpu_fields[] = {
    {"object", &an_object, AT(object), .unknown = -1, .required = 1, .mark = KIND(GPU)},
    {"index", &json_as_int, AT(index), .low = -1, .unknown = -1},
    {"sm", &json_as_int, AT(sm), .low = -1},
    {"arch", &json_as_text, AT(arch)},
    {"uuid", &json_as_text, AT(uuid), .mark = TOPO_MOVES},
    {"memory_numa", &json_as_text, AT(memory_numa), .mark = TOPO_MOVES},
    {"vbios", &json_as_text, AT(vbios), .mark = TOPO_MOVES},
    {"mem_bytes", &json_as_bytes, AT(mem_bytes)},
    {"gdr", &json_as_int, AT(gdr), .low = -1, .unknown = -1},
    {"mig", &json_as_word, AT(mig), .words = known_words},
    {"clique", &json_as_text, AT(clique), .mark = TOPO_MOVES},
    {"links_down", &json_as_int, AT(links_down), .low = -1, .mark = TOPO_MOVES},
    {"fabric", &json_as_text, AT(fabric), .mark = TOPO_MOVES},
    {"p2p_problems", &json_as_texts, AT(p2p_problems)},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_port, member)
const struct json_field topo_port_fields[] = {
    {"object", &an_object, AT(object), .unknown = -1, .mark = KIND(NIC)},
    {"hca", &json_as_text, AT(hca), .required = 1},
    {"port", &json_as_int, AT(port), .low = -1},
    {"state", &json_as_word, AT(state), .words = state_words},
    {"layer", &json_as_word, AT(layer), .words = layer_words},
    {"rate_Gbps", &json_as_number, AT(rate_Gbps), .high = 1e12},
    {"mtu_bytes", &json_as_int, AT(mtu_bytes), .low = -1},
    {"guid", &json_as_text, AT(guid), .mark = TOPO_MOVES},
    {"lid", &json_as_int, AT(lid), .low = -1, .mark = TOPO_MOVES},
    {"subnet_prefix", &json_as_text, AT(subnet_prefix)},
    {"netdev", &json_as_text, AT(netdev)},
    {"firmware", &json_as_text, AT(firmware), .mark = TOPO_MOVES},
    {"board_id", &json_as_text, AT(board_id)},
    {"opens", &json_as_word, AT(opens), .words = known_words},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_netdev, member)
const struct json_field topo_netdev_fields[] = {
    {"object", &an_object, AT(object), .unknown = -1, .mark = KIND(NIC)},
    {"name", &json_as_text, AT(name), .required = 1},
    {"kind", &json_as_word, AT(kind), .words = net_words},
    {"state", &json_as_word, AT(state), .words = state_words},
    {"speed_Gbps", &json_as_number, AT(speed_Gbps), .high = 1e12},
    {"mtu_bytes", &json_as_int, AT(mtu_bytes), .low = -1},
    {"master", &json_as_text, AT(master)},
    {"addresses", &json_as_texts, AT(addresses), .mark = TOPO_MOVES},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_link, member)
static const struct json_field link_fields[] = {
    {"fabric", &json_as_word, AT(link_kind), .unknown = -1, .required = 1, .words = link_words},
    {"gpu", &a_gpu, AT(gpu), .unknown = -1, .required = 1},
    {"peer_gpu", &a_gpu, AT(peer_gpu), .unknown = -1},
    {"peer_object", &an_object, AT(peer_object), .unknown = -1, .mark = KIND(NVSWITCH) | KIND(NUMA)},
    {"count", &json_as_int, AT(count), .low = -1},
    {"GBps", &json_as_number, AT(GBps), .high = 1e12},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_gid, member)
static const struct json_field gid_fields[] = {
    {"port", &a_port, AT(port), .unknown = -1, .required = 1},
    {"index", &json_as_int, AT(index), .low = -1, .unknown = -1},
    {"type", &json_as_word, AT(type), .words = gid_words},
    {"gid", &json_as_text, AT(gid), .required = 1},
    {"netdev", &json_as_text, AT(netdev)},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_host, member)
const struct json_field topo_host_fields[] = {
    {"addresses", &json_as_texts, AT(addresses)},
    {"differs", &json_as_texts, AT(differs)},
    {"leaves", &json_as_texts, AT(leaves)},
    {"libraries", &json_as_texts, AT(libraries)},
    {"errors", &json_as_texts, AT(errors)},
    {"signs", &json_as_texts, AT(signs)},
    {"served", &json_as_int, AT(served), .low = -1},
    {"clique", &json_as_text, AT(clique)},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_class, member)
const struct json_field topo_class_fields[] = {
    {"name", &json_as_text, AT(name), .mark = TOPO_MOVES},
    {"cpu", &json_as_text, AT(cpu)},
    {"arch", &json_as_text, AT(arch)},
    {"product", &json_as_text, AT(product)},
    {"hypervisor", &json_as_text, AT(hypervisor)},
    {"container", &json_as_text, AT(container), .mark = TOPO_MOVES},
    {"iommu", &json_as_text, AT(iommu)},
    {"driver", &json_as_text, AT(driver)},
    {"cuda", &json_as_text, AT(cuda)},
    {"gdr_route", &json_as_text, AT(gdr_route), .mark = TOPO_MOVES},
    {"libraries", &json_as_texts, AT(libraries), .mark = TOPO_MOVES},
    {"memlock_bytes", &json_as_bytes, AT(memlock_bytes), .mark = TOPO_MOVES},
    {"nofile", &json_as_bytes, AT(nofile), .mark = TOPO_MOVES},
    {"shm_bytes", &json_as_bytes, AT(shm_bytes), .mark = TOPO_MOVES},
    {NULL},
};
const struct json_field topo_note_fields[] = {{"notes", &json_as_texts, AT(notes), .mark = TOPO_MOVES}, {NULL}};

#define LIST(name, fields_of, type, most)                                        \
    {                                                                            \
        name, &json_as_array, AT(type##s), .record = &(const struct json_record) \
        {                                                                        \
            fields_of, sizeof(struct topo_##type), most                          \
        }                                                                        \
    }
const struct json_field topo_list_fields[] = {
    LIST("objects", topo_object_fields, object, 65536),
    LIST("gpus", topo_gpu_fields, gpu, TOPO_MOST_GPUS),
    LIST("ports", topo_port_fields, port, 4096),
    LIST("netdevs", topo_netdev_fields, netdev, 4096),
    LIST("links", link_fields, link, 65536),
    {"gids", &json_as_array, AT(gids), .mark = TOPO_MOVES,
     .record = &(const struct json_record){gid_fields, sizeof(struct topo_gid), 65536}},
    {NULL},
};
#undef AT
