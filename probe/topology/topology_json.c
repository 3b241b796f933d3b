/* topology.json: one table for every record serves writing, reading, merging and hashing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/finding.h"
#include "core/json.h"
#include "probe/topology/topology_internal.h"

/* ---- kinds of members: numbers in hex, and indices into the lists of what is read -------------------------------- */

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

/* Of a host, while its document's classes are counted at `more`. */
static int get_class(struct json_reader *in, const struct json_field *f, const cJSON *item, void *at)
{
    return json_get_int(in, f, item, 0, *(const int *)in->more - 1, at);
}

static const struct json_kind hex16 = {put_hex, get_hex, sizeof(uint16_t), hex16_value},
                              hex24 = {put_hex, get_hex, sizeof(uint32_t), hex24_value},
                              an_object = {json_put_number, get_object, 0, json_int_value},
                              a_parent = {json_put_number, get_parent, 0, json_int_value},
                              a_class = {json_put_number, get_class, 0, json_int_value};

#define MOST    65536 /* classes, missing nodes */
#define DEEPEST 64    /* levels of the PCI tree */

/* ---- records ----------------------------------------------------------------------------------------------------- */

#define KIND(k)                    (1u << TOPO_##k)
#define RECORDS(fields, type, ...) (&(const struct json_record){fields, sizeof(struct type), __VA_ARGS__})

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
    {"node_type", &json_as_text, AT(node_type), .mark = TOPO_MOVES},
    {"sm_lid", &json_as_int, AT(sm_lid), .low = -1, .mark = TOPO_MOVES},
    {"fabric", &json_as_text, AT(fabric), .mark = TOPO_MOVES},
    {"no_gids", &json_as_word, AT(no_gids), .words = known_words},
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
    {"port_name", &json_as_text, AT(port_name), .mark = TOPO_MOVES},
    {"addresses", &json_as_texts, AT(addresses), .mark = TOPO_MOVES},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_link, member)
static const struct json_field link_fields[] = {
    {"fabric", &json_as_word, AT(link_kind), .unknown = -1, .required = 1, .words = link_words},
    {"gpu", &json_as_index, AT(gpu), .count = offsetof(struct topo_class, ngpus), .unknown = -1, .required = 1},
    {"peer_gpu", &json_as_index, AT(peer_gpu), .count = offsetof(struct topo_class, ngpus), .unknown = -1},
    {"peer_object", &an_object, AT(peer_object), .unknown = -1, .mark = KIND(NVSWITCH) | KIND(NUMA)},
    {"count", &json_as_int, AT(count), .low = -1},
    {"GBps", &json_as_number, AT(GBps), .high = 1e12},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_gid, member)
static const struct json_field gid_fields[] = {
    {"port", &json_as_index, AT(port), .count = offsetof(struct topo_class, nports), .unknown = -1, .required = 1},
    {"index", &json_as_int, AT(index), .low = -1, .unknown = -1},
    {"type", &json_as_word, AT(type), .words = gid_words},
    {"gid", &json_as_text, AT(gid), .required = 1},
    {"netdev", &json_as_text, AT(netdev)},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_host, member)
static const struct json_field host_fields[] = {
    {"name", &json_as_text, AT(name), .required = 1},
    {"class", &a_class, AT(class_index), .required = 1},
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
    /* In the order in which they refer to one another. */
    {"objects", &json_as_array, AT(objects), .record = RECORDS(topo_object_fields, topo_object, 65536)},
    {"gpus", &json_as_array, AT(gpus), .record = RECORDS(topo_gpu_fields, topo_gpu, TOPO_MOST_GPUS)},
    {"ports", &json_as_array, AT(ports), .record = RECORDS(topo_port_fields, topo_port, 4096)},
    {"netdevs", &json_as_array, AT(netdevs), .record = RECORDS(topo_netdev_fields, topo_netdev, 4096)},
    {"links", &json_as_array, AT(links), .record = RECORDS(link_fields, topo_link, 65536)},
    {"gids", &json_as_array, AT(gids), .record = RECORDS(gid_fields, topo_gid, 65536), .mark = TOPO_MOVES},
    {"notes", &json_as_texts, AT(notes), .mark = TOPO_MOVES},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct topo_missing, member)
static const struct json_field missing_fields[] = {
    {"name", &json_as_text, AT(name), .required = 1},
    {"why", &json_as_text, AT(why), .text = ""},
    {NULL},
};
#undef AT

static int has_any(const void *at)
{
    return *json_count((void *)at);
}

/* What a document has beside its classes. */
#define AT(member) offsetof(struct topology, member)
static const struct json_field node_fields[] = {
    {"hosts", &json_as_array, AT(hosts), .record = RECORDS(host_fields, topo_host, TOPO_MOST_HOSTS)},
    {"missing", &json_as_array, AT(missing), .record = RECORDS(missing_fields, topo_missing, MOST, .known = has_any)},
    {NULL},
};
#undef AT

/* ---- the hash over what identical machines share: every field that does not change, in the order of the tables --- */

static void hash_string(struct sha256 *s, const char *text)
{
    sha256_update(s, text, strlen(text) + 1); /* the '\0' as well: it separates */
}

/* As "%.17g", which takes several times as long to write a whole number. */
static void hash_number(struct sha256 *s, double value)
{
    char text[32];
    if (fabs(value) < 1e15 && value == (double)(long long)value)
        snprintf(text, sizeof text, "%lld", (long long)value);
    else
        snprintf(text, sizeof text, "%.17g", value);
    hash_string(s, text);
}

/* Bridges and what is attached to them without being a device come and go with containers. */
static int is_transient(const struct json_field *fields, const void *record)
{
    const struct topo_netdev *d = record;
    return fields == topo_netdev_fields && d->object < 0 &&
           (d->kind == TOPO_NET_BRIDGE || (d->kind == TOPO_NET_VIRTUAL && d->master));
}

static void hash_record(struct sha256 *s, const struct json_field *fields, const void *record);

static void hash_list(struct sha256 *s, const struct json_field *f, const void *at)
{
    const char *record = *(const char *const *)at;
    int n = f->mark & TOPO_MOVES ? 0 : *json_count((void *)at);
    hash_string(s, f->key);
    for (int i = 0; i < n; i++, record += f->record->size)
        if (!is_transient(f->record->fields, record)) {
            hash_string(s, "");
            hash_record(s, f->record->fields, record);
        }
}

/* Unknown fields are left out: a field that a later version adds changes no hash of a machine without it. */
static void hash_record(struct sha256 *s, const struct json_field *fields, const void *record)
{
    for (const struct json_field *f = fields; f->key; f++) {
        const void *at = (const char *)record + f->at;
        if (f->kind == &json_as_array)
            hash_list(s, f, at);
        if (f->kind == &json_as_array || f->mark & TOPO_MOVES || !json_is_known(f, at))
            continue;
        hash_string(s, f->key);
        if (f->kind == &json_as_text) {
            hash_string(s, *(const char *const *)at);
        } else if (f->kind == &json_as_texts) {
            for (int i = 0; i < *json_count((void *)at); i++)
                hash_string(s, (*(const char *const *const *)at)[i]);
        } else {
            hash_number(s, f->kind->value(at));
        }
    }
}

void topo_class_hash(const struct topo_class *c, char hex[SHA256_HEX])
{
    struct sha256 s;
    sha256_init(&s);
    hash_record(&s, topo_class_fields, c);
    sha256_hex(&s, hex);
}

void topo_hash(const struct topology *t, char hex[SHA256_HEX])
{
    struct sha256 s;
    sha256_init(&s);
    for (int i = 0; i < t->nclasses; i++) {
        topo_class_hash(&t->classes[i], hex);
        sha256_update(&s, hex, SHA256_HEX - 1);
    }
    sha256_hex(&s, hex);
}

/* ---- reading: nothing in the file is believed before it is checked ----------------------------------------------- */

static int check_depth(struct json_reader *in, void *class_)
{
    const struct topo_class *c = class_;
    int rc = 0, *depth = arena_alloc(in->arena, (size_t)c->nobjects * sizeof *depth);
    char object[32], expected[64];
    for (int i = 0; i < c->nobjects && !rc; i++) {
        depth[i] = c->objects[i].parent < 0 ? 0 : depth[c->objects[i].parent] + 1;
        snprintf(object, sizeof object, "objects[%d]", i);
        snprintf(expected, sizeof expected, "a tree of at most %d levels", DEEPEST);
        rc = depth[i] > DEEPEST ? json_wrong(in, object, expected) : 0;
    }
    return rc;
}

/* Errors that the probe of one node found are that node's, whatever class it joins. */
static void load_errors(struct topology *t, const cJSON *findings)
{
    const int most = 16; /* kinds of errors are fewer */
    struct topo_host *h = &t->hosts[t->nhosts - 1];
    const cJSON *item;
    cJSON_ArrayForEach(item, findings)
    {
        const char *severity = json_str(item, "severity", ""), *evidence = json_str(item, "evidence", NULL);
        if (!strcmp(severity, "error") && h->nerrors < most)
            build_text(t, &h->errors, &h->nerrors,
                       arena_printf(t->arena, "%s: %s%s%s%s", json_str(item, "id", "?"), json_str(item, "text", "?"),
                                    evidence ? " (" : "", evidence ? evidence : "", evidence ? ")" : ""));
    }
}

static int load_classes(struct json_reader *in, struct topology *t, const cJSON *classes)
{
    static const struct json_record class_ = {topo_class_fields, .check = check_depth};
    const cJSON *item;
    int n = 0;
    if (!cJSON_IsArray(classes) || cJSON_GetArraySize(classes) > MOST)
        return json_wrong(in, "classes", "an array of at most 65536");
    cJSON_ArrayForEach(item, classes)
    {
        in->more = build_class(t, NULL);
        snprintf(in->place, sizeof in->place, "classes[%d]", n++);
        if (json_get_fields(in, &class_, item, in->more))
            return ERR_FAILED;
    }
    *in->place = 0;
    return 0;
}

int topo_add_json(struct topology *t, const cJSON *doc, const char *file, struct err *e)
{
    const struct json_record nodes = {node_fields};
    struct json_reader in = {.arena = t->arena, .file = file, .err = e};
    struct topology own = {0};
    int before = t->nclasses;
    t->alternatives = !t->nclasses && cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(doc, "alternatives"));
    if (load_classes(&in, t, cJSON_GetObjectItemCaseSensitive(doc, "classes")))
        return ERR_FAILED;
    int nclasses = t->nclasses - before;
    in.more = &nclasses;
    if (json_get_fields(&in, &nodes, doc, &own))
        return ERR_FAILED;
    for (int i = 0; i < own.nhosts; i++) {
        own.hosts[i].class_index += before;
        ARENA_ADD(t->arena, t->hosts, t->nhosts) = own.hosts[i];
    }
    for (int i = 0; i < own.nmissing; i++)
        ARENA_ADD(t->arena, t->missing, t->nmissing) = own.missing[i];
    if (own.nhosts == 1) {
        build_clique(t, &t->hosts[t->nhosts - 1]); /* files before hosts had one */
        if (!own.hosts[0].nerrors)
            load_errors(t, cJSON_GetObjectItemCaseSensitive(doc, "findings"));
    }
    return 0;
}

struct topology *topo_load(const char *path, struct err *e)
{
    cJSON *doc = json_load(path, TOPO_FORMAT, e);
    struct topology *t = doc ? topo_new() : NULL;
    if (t) {
        t->tool = arena_strdup(t->arena, json_str(doc, "tool", NULL));
        t->source = arena_strdup(t->arena, json_str(doc, "source", NULL));
        if (topo_add_json(t, doc, path, e)) {
            topo_free(t);
            t = NULL;
        }
    }
    cJSON_Delete(doc);
    return t;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Classes that are compared with the one most like them. */
#define MOST_DIFFERENCES 64

/* Paths follow from the rest; they are written for readers without code for them, and not read back. */
static void put_paths(cJSON *o, const struct topo_class *c)
{
    struct arena *a = arena_new();
    const struct path_matrix *m = path_matrix(c, a);
    cJSON *paths = m->n ? cJSON_AddObjectToObject(o, "paths") : NULL;
    cJSON *between = paths ? cJSON_AddArrayToObject(paths, "between") : NULL;
    cJSON *rows = paths ? cJSON_AddArrayToObject(paths, "nccl_classes") : NULL;
    for (int i = 0; i < m->n; i++) {
        cJSON *row = cJSON_CreateArray();
        for (int k = 0; k < m->n; k++)
            json_append_str(row, path_class_name(path_class_nccl(m, i, k)));
        cJSON_AddItemToArray(rows, row);
        json_append_str(between, m->ends[i].label);
    }
    struct nvlink_domain *domains;
    int n = nvlink_domains(c, m, a, &domains);
    cJSON *array = n ? cJSON_AddArrayToObject(o, "nvlink_domains") : NULL;
    for (int i = 0; i < n; i++) {
        cJSON *item = json_append(array);
        cJSON_AddStringToObject(item, "fabric", domains[i].link_kind == TOPO_XGMI ? "xgmi" : "nvlink");
        json_add_str(item, "clique", domains[i].clique);
        cJSON_AddItemToObject(item, "gpus", cJSON_CreateIntArray(domains[i].gpus, domains[i].ngpus));
    }
    arena_free(a);
}

/* The same for roles, rails, and for the list of HCAs that NCCL should use. */
static void put_roles(cJSON *o, const struct topo_class *c)
{
    struct arena *a = arena_new();
    const struct port_verdict *v = roles_of(c, a);
    cJSON *array = c->nports ? cJSON_AddArrayToObject(o, "roles") : NULL;
    for (int i = 0; i < c->nports; i++) {
        cJSON *item = json_append(array);
        json_add_str(item, "hca", c->ports[i].hca);
        cJSON_AddNumberToObject(item, "port", c->ports[i].port);
        json_add_str(item, "role", role_name(v[i].role));
        json_add_str(item, "reason", v[i].reason);
    }
    json_add_str(o, "nccl_ib_hca", roles_hca_list(c, v, a));
    struct rail *rails;
    int n = topo_rails(c, v, a, &rails);
    array = n ? cJSON_AddArrayToObject(o, "rails") : NULL;
    for (int i = 0; i < n; i++) {
        cJSON *item = json_append(array);
        json_add_str(item, "network", rails[i].network);
        cJSON_AddItemToObject(item, "ports", cJSON_CreateIntArray(rails[i].ports, rails[i].nports));
    }
    arena_free(a);
}

/* The same for the list of HCAs that all classes can use, and for what differs between them. */
static void put_differences(cJSON *doc, const struct topology *t)
{
    struct arena *a = arena_new();
    const char *why;
    json_add_str(doc, "nccl_ib_hca", roles_hca_common(t, a, &why));
    cJSON *array = t->nclasses > 1 ? cJSON_AddArrayToObject(doc, "differences") : NULL;
    for (int i = 0; i < t->nclasses && i <= MOST_DIFFERENCES && array; i++) {
        struct differences_like like = differences_nearest(t, i, a);
        if (like.class_index < 0)
            continue;
        cJSON *item = json_append(array);
        json_add_str(item, "class", t->classes[i].name);
        json_add_str(item, "like", t->classes[like.class_index].name);
        if (like.n)
            json_add_strs(item, "differs", like.sentences, like.n);
    }
    arena_free(a);
}

void topo_put_missing(cJSON *o, const void *missing)
{
    json_put_fields(o, missing_fields, missing);
}

cJSON *topo_to_json(const struct topology *t)
{
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "format", TOPO_FORMAT);
    json_add_str(doc, "tool", t->tool);
    json_add_str(doc, "source", t->source);
    if (t->alternatives)
        cJSON_AddTrueToObject(doc, "alternatives");
    char hash[SHA256_HEX];
    topo_hash(t, hash);
    cJSON_AddStringToObject(doc, "hash", hash);
    cJSON *classes = cJSON_AddArrayToObject(doc, "classes");
    for (int i = 0; i < t->nclasses; i++) {
        cJSON *o = json_append(classes);
        json_put_fields(o, topo_class_fields, &t->classes[i]);
        put_paths(o, &t->classes[i]);
        put_roles(o, &t->classes[i]);
    }
    json_put_fields(doc, node_fields, t);
    put_differences(doc, t);
    findings_add_json(doc, "findings", t->findings, t->nfindings);
    return doc;
}

struct topology *topo_copy(const struct topology *t, struct err *e)
{
    struct topology *copy = topo_new();
    cJSON *doc = topo_to_json(t);
    int rc = topo_add_json(copy, doc, "topology", e);
    cJSON_Delete(doc);
    if (!rc) {
        copy->source = arena_strdup(copy->arena, t->source);
        return copy;
    }
    topo_free(copy);
    return NULL;
}

int topo_save(const struct topology *t, const char *path, struct err *e)
{
    return json_save(topo_to_json(t), path, e);
}
