/* The fabric as JSON, both ways, and as rows for other programs. */
#include "bench/fabric/fabric.h"

#include <arpa/inet.h>
#include <string.h>

#include "core/json.h"
#include "core/json_fields.h"

/* The largest cluster and node, the largest GID table, and the room for all of them together: a short line of a hostile
 * file must not ask for much memory. */
#define MAX_NODES    4096
#define MAX_RAILS    64
#define MAX_GIDS     4096
#define MAX_ALL_GIDS (4 << 20)
#define MOST_FIGURE  1e12 /* of any unit; what measures more is a damaged file */

struct verbs_fabric *verbs_fabric_new(int nodes, int rails)
{
    struct arena *a = arena_new();
    struct verbs_fabric *f = ARENA_NEW(a, struct verbs_fabric);
    *f = (struct verbs_fabric){.arena = a, .nodes = nodes, .rails = rails};
    f->ports = arena_alloc(a, ((size_t)nodes * (size_t)rails + 1) * sizeof *f->ports);
    f->names = arena_alloc(a, (size_t)nodes * sizeof *f->names);
    for (int i = 0; i < nodes; i++)
        f->names[i] = "?";
    return f;
}

void verbs_fabric_free(struct verbs_fabric *f)
{
    if (f)
        arena_free(f->arena);
}

int verbs_find_try(const struct verbs_fabric *f, int from, int to)
{
    for (int i = f->ntries - 1; i >= 0; i--) {
        const struct verbs_try *t = &f->tries[i].outcome.pair;
        if (verbs_port_index(f, t->from) == from && verbs_port_index(f, t->to) == to)
            return i;
    }
    return -1;
}

/* ---- kinds of members ---- */

#define NODES offsetof(struct verbs_fabric, nodes)
#define RAILS offsetof(struct verbs_fabric, rails)

static void put_end(cJSON *o, const struct json_field *f, const void *at)
{
    const struct verbs_end *end = at;
    const int pair[] = {end->node, end->rail};
    cJSON_AddItemToObject(o, f->key, cJSON_CreateIntArray(pair, 2));
}

static int get_end(struct json_reader *in, const struct json_field *f, const cJSON *pair, void *at)
{
    struct verbs_end *end = at;
    const struct json_field node = {f->key, .count = NODES, .required = 1},
                            rail = {f->key, .count = RAILS, .required = 1};
    int rc = json_as_index.get(in, &node, cJSON_GetArrayItem(pair, 0), &end->node);
    return rc ? rc : json_as_index.get(in, &rail, cJSON_GetArrayItem(pair, 1), &end->rail);
}

/* The indices on both sides, by one more; 0 unknown. */
static void put_indices(cJSON *o, const struct json_field *f, const void *at)
{
    const int *both = at, index[] = {both[0] - 1, both[1] - 1};
    if (both[0] > 0 && both[1] > 0)
        cJSON_AddItemToObject(o, f->key, cJSON_CreateIntArray(index, 2));
}

static int get_indices(struct json_reader *in, const struct json_field *f, const cJSON *index, void *at)
{
    (void)in, (void)f;
    for (int side = 0; side < 2; side++) {
        const cJSON *one = cJSON_GetArrayItem(index, side);
        ((int *)at)[side] =
            cJSON_IsNumber(one) && one->valueint >= 0 && one->valueint < MAX_GIDS ? one->valueint + 1 : 0;
    }
    return 0;
}

static void put_gids(cJSON *o, const struct json_field *f, const void *at)
{
    static const struct verbs_gid empty;
    const struct verbs_gid *gids = *(const struct verbs_gid *const *)at;
    cJSON *array = cJSON_AddArrayToObject(o, f->key);
    char text[VERBS_GID_TEXT];
    for (int i = 0; i < *json_count((void *)at); i++) {
        const struct verbs_gid *g = &gids[i];
        if (!memcmp(g->raw, empty.raw, sizeof g->raw))
            continue;
        cJSON *entry = json_append(array);
        cJSON_AddNumberToObject(entry, "index", i);
        cJSON_AddStringToObject(entry, "gid", verbs_gid_print(text, g));
        if (g->roce)
            cJSON_AddNumberToObject(entry, "roce", g->roce);
        cJSON_AddBoolToObject(entry, "proven", g->proven);
    }
}

static int read_gid(const struct json_reader *in, struct verbs_gid *g, const cJSON *o)
{
    const char *text = json_str(o, "gid", "");
    *g = (struct verbs_gid){.roce = (int)json_int(o, "roce", 0), .proven = json_bool(o, "proven", 0)};
    if (inet_pton(AF_INET, text, g->raw + 12) == 1)
        g->raw[10] = g->raw[11] = 0xff;
    else if (inet_pton(AF_INET6, text, g->raw) != 1)
        return json_wrong(in, "gids", "addresses in \"gid\"");
    return 0;
}

static int get_gids(struct json_reader *in, const struct json_field *f, const cJSON *array, void *at)
{
    struct verbs_fabric *fabric = in->more;
    const struct json_field index = {"gids.index", .required = 1};
    const cJSON *entry;
    int most = 0, i, code = 0;
    cJSON_ArrayForEach(entry, array)
    {
        if (json_get_int(in, &index, cJSON_GetObjectItemCaseSensitive(entry, "index"), 0, MAX_GIDS - 1, &i))
            return ERR_FAILED;
        most = i >= most ? i + 1 : most;
    }
    if (most > MAX_ALL_GIDS - fabric->ngids)
        return json_wrong(in, f->key, "fewer of them in all ports together");
    fabric->ngids += most;
    struct verbs_gid *gids = arena_alloc(in->arena, ((size_t)most + 1) * sizeof *gids);
    cJSON_ArrayForEach(entry, array)
    {
        code = code ? code : read_gid(in, &gids[json_int(entry, "index", 0)], entry);
    }
    *(struct verbs_gid **)at = gids;
    *json_count(at) = most;
    return code;
}

static const struct json_kind end = {put_end, get_end}, indices = {put_indices, get_indices},
                              gid_table = {put_gids, get_gids};

/* ---- records ---- */

static const char *const verdicts[] = {"ok", "failed", NULL}; /* who is slow is judged later */
static const char *const layers[] = {"ethernet", "infiniband", NULL};
#define FIGURE(key, at)                               \
    {                                                 \
        key, &json_as_number, at, .high = MOST_FIGURE \
    }
#define PAIR(at)                                             \
    {"from", &end, (at) + offsetof(struct verbs_try, from)}, \
    {                                                        \
        "to", &end, (at) + offsetof(struct verbs_try, to)    \
    }

#define AT(member) offsetof(struct verbs_fabric_port, member)
static const struct json_field port_fields[] = {
    {"node_index", &json_as_index, AT(end.node), .count = NODES, .required = 1},
    {"rail", &json_as_index, AT(end.rail), .count = RAILS, .required = 1},
    {"node", &json_as_text, AT(node), .text = "?"},
    {"port", &json_as_text, AT(name), .text = "?"},
    {"layer", &json_as_word, AT(gids.infiniband), .always = 1, .words = layers},
    FIGURE("rate_Gbps", AT(rate_Gbps)),
    {"mtu_bytes", &json_as_int, AT(mtu_bytes)},
    {"max_mtu_bytes", &json_as_int, AT(max_mtu_bytes)},
    {"NCCL_IB_GID_INDEX", &json_as_text, AT(gids.asked)},
    {"gids", &gid_table, AT(gids.gids)},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct verbs_fabric_try, member)
static const struct json_field try_fields[] = {
    PAIR(AT(outcome.pair)),
    {"status", &json_as_word, AT(outcome.verdict), .required = 1, .words = verdicts},
    FIGURE("write_GBps", AT(outcome.GBps)),
    FIGURE("both_GBps", AT(both_GBps)),
    FIGURE("latency_us", AT(latency_us)),
    FIGURE("messages_per_s", AT(messages_per_s)),
    FIGURE("write_spread", AT(spread)),
    {"gid", &json_as_text, AT(gid)},
    {"gid_index", &indices, AT(gid_index)},
    {"why", &json_as_text, AT(outcome.why)},
    {NULL},
};
#undef AT

#define AT(member) offsetof(struct verbs_fabric_interface, member)
static const struct json_field interface_fields[] = {
    {"node_index", &json_as_index, AT(node), .count = NODES, .required = 1},
    {"name", &json_as_text, AT(name), .required = 1},
    {"address", &json_as_text, AT(address), .text = ""},
    {"reached", &json_as_int, AT(reached), .required = 1},
    {"tried", &json_as_int, AT(tried), .high = MAX_NODES, .required = 1},
    {NULL},
};
#undef AT

static int check_interface(struct json_reader *in, void *record)
{
    const struct verbs_fabric_interface *i = record;
    return i->reached > i->tried ? json_wrong(in, "reached", "no more than \"tried\"") : 0;
}

#define AT(member) offsetof(struct verbs_fabric_gpu, member)
static const struct json_field gpu_fields[] = {
    {"node_index", &json_as_index, AT(node), .count = NODES, .required = 1},
    {"rail", &json_as_index, AT(rail), .count = RAILS, .required = 1},
    {"gpu", &json_as_int, AT(gpu), .high = 1024, .required = 1},
    {"pci", &json_as_text, AT(pci), .text = ""},
    {"via", &json_as_text, AT(via)},
    {"why", &json_as_text, AT(why)},
    FIGURE("send_GBps", AT(send_GBps)),
    FIGURE("receive_GBps", AT(receive_GBps)),
    {NULL},
};
#undef AT

/* Their names in lines and in the document; the array that they are in. Of ports that is one with a place for each. */
static const struct {
    const char *line, *list;
    struct json_record record;
    size_t at;
} parts[VERBS_PARTS] = {
    [VERBS_PART_PORT] = {"port", "ports", {port_fields}},
    [VERBS_PART_TRY] = {"try",
                        "tries",
                        {try_fields, sizeof(struct verbs_fabric_try)},
                        offsetof(struct verbs_fabric, tries)},
    [VERBS_PART_INTERFACE] = {"interface",
                              "interfaces",
                              {interface_fields, sizeof(struct verbs_fabric_interface), .check = check_interface},
                              offsetof(struct verbs_fabric, interfaces)},
    [VERBS_PART_GPU] = {"gpu_memory",
                        "gpu_memory",
                        {gpu_fields, sizeof(struct verbs_fabric_gpu)},
                        offsetof(struct verbs_fabric, gpus)},
};

cJSON *verbs_fabric_json(enum verbs_part part, const void *record)
{
    cJSON *o = cJSON_CreateObject();
    json_put_fields(o, parts[part].record.fields, record);
    return o;
}

/* ---- the document ---- */

int verbs_fabric_save(const struct verbs_fabric *f, const char *path, struct err *e)
{
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "format", VERBS_FABRIC_FORMAT);
    cJSON_AddStringToObject(doc, "tool", NCCLTUNE_VERSION);
    cJSON_AddNumberToObject(doc, "nodes", f->nodes);
    cJSON_AddNumberToObject(doc, "rails", f->rails);
    json_add_strs(doc, "names", f->names, f->nodes);
    cJSON_AddBoolToObject(doc, "complete", f->complete);
    cJSON *ports = cJSON_AddArrayToObject(doc, "ports");
    for (int i = 0; i < f->nodes * f->rails; i++) {
        struct verbs_fabric_port port = f->ports[i];
        port.end = (struct verbs_end){i / f->rails, i % f->rails};
        if (port.name)
            cJSON_AddItemToArray(ports, verbs_fabric_json(VERBS_PART_PORT, &port));
    }
    for (int p = VERBS_PART_TRY; p < VERBS_PARTS; p++) {
        const struct json_field list = {parts[p].list, &json_as_array, .record = &parts[p].record};
        json_as_array.put(doc, &list, (const char *)f + parts[p].at);
    }
    return json_save(doc, path, e);
}

static int add_port(struct verbs_fabric *f, struct json_reader *in, const cJSON *o)
{
    struct verbs_fabric_port port = {.name = NULL};
    int code = json_get_fields(in, &parts[VERBS_PART_PORT].record, o, &port);
    port.gids.node = port.node;
    port.gids.port = port.name;
    if (!code)
        f->ports[verbs_port_index(f, port.end)] = port;
    return code;
}

static int add_part(struct verbs_fabric *f, enum verbs_part part, struct json_reader *in, const cJSON *o)
{
    if (part == VERBS_PART_PORT)
        return add_port(f, in, o);
    void *array = (char *)f + parts[part].at;
    int *n = json_count(array);
    size_t size = parts[part].record.size;
    char *records = arena_grow(f->arena, *(void **)array, (size_t)*n, size);
    *(char **)array = records;
    memset(records + (size_t)*n * size, 0, size);
    int code = json_get_fields(in, &parts[part].record, o, records + (size_t)*n * size);
    *n += !code;
    return code;
}

int verbs_fabric_add_names(struct verbs_fabric *f, const cJSON *o, const char *file, struct err *e)
{
    if (!cJSON_IsArray(o) || cJSON_GetArraySize(o) != f->nodes)
        return err_at(e, file, 0, 0, "\"names\" must have %d of them, one for each node", f->nodes);
    for (int i = 0; i < f->nodes; i++) {
        const cJSON *name = cJSON_GetArrayItem(o, i);
        f->names[i] = cJSON_IsString(name) ? arena_strdup(f->arena, name->valuestring) : "?";
    }
    return 0;
}

/* The last try takes the place of an earlier one of the same two ports in the same direction, if there is one. */
static void repeated(struct verbs_fabric *f)
{
    const struct verbs_fabric_try last = f->tries[f->ntries - 1];
    for (int i = 0; i < f->ntries - 1; i++) {
        if (memcmp(&f->tries[i].outcome.pair, &last.outcome.pair, sizeof(struct verbs_try)) != 0)
            continue;
        f->tries[i] = last;
        f->ntries--;
        return;
    }
}

int verbs_fabric_add(struct verbs_fabric *f, const cJSON *line, struct err *e)
{
    const cJSON *again = cJSON_GetObjectItemCaseSensitive(line, "again");
    int code = 0;
    for (int p = 0; p < VERBS_PARTS && !code; p++) {
        const cJSON *o = p == VERBS_PART_TRY && again ? again : cJSON_GetObjectItemCaseSensitive(line, parts[p].line);
        struct json_reader in = {.arena = f->arena, .file = "the fabric", .more = f, .err = e};
        snprintf(in.place, sizeof in.place, "%s", parts[p].line);
        code = o ? add_part(f, (enum verbs_part)p, &in, o) : 0;
    }
    if (again && !code)
        repeated(f);
    return code;
}

static int read_lists(struct verbs_fabric *f, const cJSON *doc, const char *path, struct err *e)
{
    struct json_reader in = {.arena = f->arena, .file = path, .more = f, .err = e};
    const cJSON *item;
    int code = 0;
    for (int p = 0; p < VERBS_PARTS; p++) {
        int i = 0;
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(doc, parts[p].list))
        {
            snprintf(in.place, sizeof in.place, "%s[%d]", parts[p].list, i++);
            code = code ? code : add_part(f, (enum verbs_part)p, &in, item);
        }
    }
    return code;
}

struct verbs_fabric *verbs_fabric_load(const char *path, struct err *e)
{
    cJSON *doc = json_load(path, VERBS_FABRIC_FORMAT, e);
    struct verbs_fabric *f = NULL;
    if (!doc)
        return NULL;
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(doc, "names");
    int64_t nodes = json_int(doc, "nodes", 0), rails = json_int(doc, "rails", -1);
    if (nodes < 1 || nodes > MAX_NODES || rails < 0 || rails > MAX_RAILS) {
        err_at(e, path, 0, 0, "\"nodes\" must be 1 to %d, \"rails\" 0 to %d", MAX_NODES, MAX_RAILS);
    } else {
        f = verbs_fabric_new((int)nodes, (int)rails);
        f->complete = json_bool(doc, "complete", 1);
        if ((names && verbs_fabric_add_names(f, names, path, e)) || read_lists(f, doc, path, e)) {
            verbs_fabric_free(f);
            f = NULL;
        }
    }
    cJSON_Delete(doc);
    return f;
}
