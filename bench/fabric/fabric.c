/* The fabric as JSON, both ways. */
#include "bench/fabric/fabric.h"

#include <arpa/inet.h>
#include <string.h>

#include "core/json.h"

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

/* ---- writing --------------------------------------------------------------------------------------------------------
 */

static void add_positive(cJSON *o, const char *key, double v)
{
    if (v > 0)
        cJSON_AddNumberToObject(o, key, v);
}

cJSON *verbs_fabric_port_json(const struct verbs_fabric *f, int port)
{
    const struct verbs_fabric_port *p = &f->ports[port];
    cJSON *o = cJSON_CreateObject(), *gids = cJSON_CreateArray();
    char text[VERBS_GID_TEXT];
    int node = port / f->rails;
    cJSON_AddNumberToObject(o, "node_index", node);
    cJSON_AddNumberToObject(o, "rail", port % f->rails);
    json_add_str(o, "node", p->node);
    json_add_str(o, "port", p->name);
    cJSON_AddStringToObject(o, "layer", p->gids.infiniband ? "infiniband" : "ethernet");
    add_positive(o, "rate_Gbps", p->rate_Gbps);
    add_positive(o, "mtu_bytes", p->mtu_bytes);
    add_positive(o, "max_mtu_bytes", p->max_mtu_bytes);
    for (int i = 0; i < p->gids.count; i++) {
        static const struct verbs_gid empty;
        const struct verbs_gid *g = &p->gids.gids[i];
        if (!memcmp(g->raw, empty.raw, sizeof g->raw))
            continue;
        cJSON *entry = json_append(gids);
        cJSON_AddNumberToObject(entry, "index", i);
        cJSON_AddStringToObject(entry, "gid", verbs_gid_print(text, g));
        if (g->roce)
            cJSON_AddNumberToObject(entry, "roce", g->roce);
        cJSON_AddBoolToObject(entry, "proven", g->proven);
    }
    cJSON_AddItemToObject(o, "gids", gids);
    return o;
}

static void add_end(cJSON *o, const char *key, struct verbs_end end)
{
    const int pair[] = {end.node, end.rail};
    cJSON_AddItemToObject(o, key, cJSON_CreateIntArray(pair, 2));
}

cJSON *verbs_fabric_try_json(const struct verbs_fabric_try *t)
{
    cJSON *o = cJSON_CreateObject();
    add_end(o, "from", t->outcome.pair.from);
    add_end(o, "to", t->outcome.pair.to);
    cJSON_AddStringToObject(o, "status", t->outcome.verdict == VERBS_FAILED ? "failed" : "ok");
    add_positive(o, "write_GBps", t->outcome.GBps);
    add_positive(o, "both_GBps", t->both_GBps);
    add_positive(o, "latency_us", t->latency_us);
    add_positive(o, "messages_per_s", t->messages_per_s);
    json_add_str(o, "gid", t->gid);
    if (t->gid_index[0] > 0 && t->gid_index[1] > 0) {
        const int index[] = {t->gid_index[0] - 1, t->gid_index[1] - 1};
        cJSON_AddItemToObject(o, "gid_index", cJSON_CreateIntArray(index, 2));
    }
    json_add_str(o, "why", t->outcome.why);
    return o;
}

cJSON *verbs_fabric_interface_json(const struct verbs_fabric_interface *i)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "node_index", i->node);
    json_add_str(o, "name", i->name);
    json_add_str(o, "address", i->address);
    cJSON_AddNumberToObject(o, "reached", i->reached);
    cJSON_AddNumberToObject(o, "tried", i->tried);
    return o;
}

cJSON *verbs_fabric_point_json(const struct verbs_fabric_point *p)
{
    cJSON *o = cJSON_CreateObject();
    add_end(o, "from", p->pair.from);
    add_end(o, "to", p->pair.to);
    cJSON_AddNumberToObject(o, "qps", p->qps);
    cJSON_AddNumberToObject(o, "bytes", (double)p->bytes);
    add_positive(o, "write_GBps", p->GBps);
    add_positive(o, "both_GBps", p->both_GBps);
    add_positive(o, "latency_us", p->latency_us);
    return o;
}

cJSON *verbs_fabric_gpu_json(const struct verbs_fabric_gpu *g)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "node_index", g->node);
    cJSON_AddNumberToObject(o, "rail", g->rail);
    cJSON_AddNumberToObject(o, "gpu", g->gpu);
    json_add_str(o, "pci", g->pci);
    json_add_str(o, "via", g->via);
    json_add_str(o, "why", g->why);
    add_positive(o, "send_GBps", g->send_GBps);
    add_positive(o, "receive_GBps", g->receive_GBps);
    return o;
}

int verbs_fabric_save(const struct verbs_fabric *f, const char *path, struct err *e)
{
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "format", VERBS_FABRIC_FORMAT);
    cJSON_AddStringToObject(doc, "tool", NCCLTUNE_VERSION);
    cJSON_AddNumberToObject(doc, "nodes", f->nodes);
    cJSON_AddNumberToObject(doc, "rails", f->rails);
    cJSON_AddItemToObject(doc, "names", cJSON_CreateStringArray(f->names, f->nodes));
    cJSON_AddBoolToObject(doc, "complete", f->complete);
    cJSON *list = cJSON_AddArrayToObject(doc, "ports");
    for (int i = 0; i < f->nodes * f->rails; i++)
        if (f->ports[i].name)
            cJSON_AddItemToArray(list, verbs_fabric_port_json(f, i));
    list = cJSON_AddArrayToObject(doc, "tries");
    for (int i = 0; i < f->ntries; i++)
        cJSON_AddItemToArray(list, verbs_fabric_try_json(&f->tries[i]));
    list = cJSON_AddArrayToObject(doc, "interfaces");
    for (int i = 0; i < f->ninterfaces; i++)
        cJSON_AddItemToArray(list, verbs_fabric_interface_json(&f->interfaces[i]));
    list = cJSON_AddArrayToObject(doc, "gpu_memory");
    for (int i = 0; i < f->ngpus; i++)
        cJSON_AddItemToArray(list, verbs_fabric_gpu_json(&f->gpus[i]));
    list = cJSON_AddArrayToObject(doc, "sweep");
    for (int i = 0; i < f->npoints; i++)
        cJSON_AddItemToArray(list, verbs_fabric_point_json(&f->points[i]));
    int code = json_save(doc, path, e);
    cJSON_Delete(doc);
    return code;
}

/* ---- reading --------------------------------------------------------------------------------------------------------
 */

/* A measured figure of o: 0 where it is missing; an error where it is below 0 or beyond all measuring. */
static int get_figure(const cJSON *o, const char *key, double *into, struct err *e)
{
    *into = json_num(o, key, 0);
    if (*into >= 0 && *into <= MOST_FIGURE)
        return 0;
    return err_set(e, ERR_FAILED, "\"%s\" must be between 0 and %g", key, MOST_FIGURE);
}

static int read_gid(struct verbs_gid *g, const cJSON *o, struct err *e)
{
    const char *text = json_str(o, "gid", "");
    *g = (struct verbs_gid){.roce = (int)json_int(o, "roce", 0), .proven = json_bool(o, "proven", 0)};
    if (inet_pton(AF_INET, text, g->raw + 12) == 1)
        g->raw[10] = g->raw[11] = 0xff;
    else if (inet_pton(AF_INET6, text, g->raw) != 1)
        return err_set(e, ERR_FAILED, "\"gid\": \"%.40s\" is no address", text);
    return 0;
}

int verbs_fabric_add_port(struct verbs_fabric *f, const cJSON *o, struct err *e)
{
    int64_t node = json_int(o, "node_index", -1), rail = json_int(o, "rail", -1);
    if (node < 0 || node >= f->nodes || rail < 0 || rail >= f->rails)
        return err_set(e, ERR_FAILED, "a port's \"node_index\" or \"rail\" is missing or out of range");
    struct verbs_fabric_port *p = &f->ports[node * f->rails + rail];
    const cJSON *gids = cJSON_GetObjectItemCaseSensitive(o, "gids"), *entry;
    p->node = arena_strdup(f->arena, json_str(o, "node", "?"));
    p->name = arena_strdup(f->arena, json_str(o, "port", "?"));
    if (get_figure(o, "rate_Gbps", &p->rate_Gbps, e))
        return ERR_FAILED;
    p->mtu_bytes = (int)json_int(o, "mtu_bytes", 0);
    p->max_mtu_bytes = (int)json_int(o, "max_mtu_bytes", 0);
    p->gids = (struct verbs_gid_table){
        .node = p->node, .port = p->name, .infiniband = !strcmp(json_str(o, "layer", ""), "infiniband")};
    int most = 0, code = 0;
    cJSON_ArrayForEach(entry, gids)
    {
        int64_t index = json_int(entry, "index", -1);
        if (index < 0 || index >= MAX_GIDS)
            return err_set(e, ERR_FAILED, "a GID's \"index\" is missing or not below %d", MAX_GIDS);
        most = index >= most ? (int)index + 1 : most;
    }
    if (most > MAX_ALL_GIDS - f->ngids)
        return err_set(e, ERR_FAILED, "more than %d GIDs in all", MAX_ALL_GIDS);
    f->ngids += most;
    p->gids.count = most;
    p->gids.gids = arena_alloc(f->arena, ((size_t)most + 1) * sizeof *p->gids.gids);
    cJSON_ArrayForEach(entry, gids)
    {
        if (!code)
            code = read_gid(&p->gids.gids[json_int(entry, "index", 0)], entry, e);
    }
    return code;
}

static int get_end(const struct verbs_fabric *f, const cJSON *o, const char *key, struct verbs_end *end)
{
    const cJSON *pair = cJSON_GetObjectItemCaseSensitive(o, key);
    const cJSON *node = cJSON_GetArrayItem(pair, 0), *rail = cJSON_GetArrayItem(pair, 1);
    if (!cJSON_IsNumber(node) || !cJSON_IsNumber(rail))
        return -1;
    *end = (struct verbs_end){node->valueint, rail->valueint};
    return end->node >= 0 && end->node < f->nodes && end->rail >= 0 && end->rail < f->rails ? 0 : -1;
}

int verbs_fabric_add_try(struct verbs_fabric *f, const cJSON *o, struct err *e)
{
    struct verbs_fabric_try t = {0};
    const char *status = json_str(o, "status", "");
    if (get_end(f, o, "from", &t.outcome.pair.from) || get_end(f, o, "to", &t.outcome.pair.to))
        return err_set(e, ERR_FAILED, "a try's \"from\" or \"to\" is missing or out of range");
    if (strcmp(status, "ok") != 0 && strcmp(status, "failed") != 0)
        return err_set(e, ERR_FAILED, "a try's \"status\" is neither \"ok\" nor \"failed\"");
    t.outcome.verdict = !strcmp(status, "ok") ? VERBS_GOOD : VERBS_FAILED;
    if (get_figure(o, "write_GBps", &t.outcome.GBps, e) || get_figure(o, "both_GBps", &t.both_GBps, e) ||
        get_figure(o, "latency_us", &t.latency_us, e) || get_figure(o, "messages_per_s", &t.messages_per_s, e))
        return ERR_FAILED;
    t.outcome.why = arena_strdup(f->arena, json_str(o, "why", NULL));
    t.gid = arena_strdup(f->arena, json_str(o, "gid", NULL));
    const cJSON *index = cJSON_GetObjectItemCaseSensitive(o, "gid_index");
    for (int side = 0; side < 2; side++) {
        const cJSON *one = cJSON_GetArrayItem(index, side);
        t.gid_index[side] =
            cJSON_IsNumber(one) && one->valueint >= 0 && one->valueint < MAX_GIDS ? one->valueint + 1 : 0;
    }
    f->tries = arena_grow(f->arena, f->tries, (size_t)f->ntries, sizeof *f->tries);
    f->tries[f->ntries++] = t;
    return 0;
}

int verbs_fabric_add_names(struct verbs_fabric *f, const cJSON *o, struct err *e)
{
    if (!cJSON_IsArray(o) || cJSON_GetArraySize(o) != f->nodes)
        return err_set(e, ERR_FAILED, "\"names\" must have %d of them, one for each node", f->nodes);
    for (int i = 0; i < f->nodes; i++) {
        const cJSON *name = cJSON_GetArrayItem(o, i);
        f->names[i] = cJSON_IsString(name) ? arena_strdup(f->arena, name->valuestring) : "?";
    }
    return 0;
}

int verbs_fabric_add_interface(struct verbs_fabric *f, const cJSON *o, struct err *e)
{
    int64_t node = json_int(o, "node_index", -1), reached = json_int(o, "reached", -1),
            tried = json_int(o, "tried", -1);
    const char *name = json_str(o, "name", NULL);
    if (!name || node < 0 || node >= f->nodes || reached < 0 || reached > tried || tried > MAX_NODES)
        return err_set(e, ERR_FAILED,
                       "an interface's \"name\", \"node_index\", \"reached\" or \"tried\" is missing or "
                       "out of range");
    f->interfaces = arena_grow(f->arena, f->interfaces, (size_t)f->ninterfaces, sizeof *f->interfaces);
    f->interfaces[f->ninterfaces++] =
        (struct verbs_fabric_interface){.node = (int)node,
                                        .name = arena_strdup(f->arena, name),
                                        .address = arena_strdup(f->arena, json_str(o, "address", "")),
                                        .reached = (int)reached,
                                        .tried = (int)tried};
    return 0;
}

int verbs_fabric_add_point(struct verbs_fabric *f, const cJSON *o, struct err *e)
{
    int64_t qps = json_int(o, "qps", 0), bytes = json_int(o, "bytes", 0);
    struct verbs_fabric_point p = {.qps = (int)qps, .bytes = (uint64_t)bytes};
    if (get_figure(o, "write_GBps", &p.GBps, e) || get_figure(o, "both_GBps", &p.both_GBps, e) ||
        get_figure(o, "latency_us", &p.latency_us, e))
        return ERR_FAILED;
    if (get_end(f, o, "from", &p.pair.from) || get_end(f, o, "to", &p.pair.to) || qps < 1 || qps > 1024 || bytes < 1)
        return err_set(e, ERR_FAILED, "a point's \"from\", \"to\", \"qps\" or \"bytes\" is missing or out of range");
    f->points = arena_grow(f->arena, f->points, (size_t)f->npoints, sizeof *f->points);
    f->points[f->npoints++] = p;
    return 0;
}

int verbs_fabric_add_gpu(struct verbs_fabric *f, const cJSON *o, struct err *e)
{
    int64_t node = json_int(o, "node_index", -1), rail = json_int(o, "rail", -1), gpu = json_int(o, "gpu", -1);
    if (node < 0 || node >= f->nodes || rail < 0 || rail >= f->rails || gpu < 0 || gpu > 1024)
        return err_set(e, ERR_FAILED, "a GPU's \"node_index\", \"rail\" or \"gpu\" is missing or out of range");
    double send, receive;
    if (get_figure(o, "send_GBps", &send, e) || get_figure(o, "receive_GBps", &receive, e))
        return ERR_FAILED;
    f->gpus = arena_grow(f->arena, f->gpus, (size_t)f->ngpus, sizeof *f->gpus);
    f->gpus[f->ngpus++] = (struct verbs_fabric_gpu){.node = (int)node,
                                                    .rail = (int)rail,
                                                    .gpu = (int)gpu,
                                                    .pci = arena_strdup(f->arena, json_str(o, "pci", "")),
                                                    .via = arena_strdup(f->arena, json_str(o, "via", NULL)),
                                                    .why = arena_strdup(f->arena, json_str(o, "why", NULL)),
                                                    .send_GBps = send,
                                                    .receive_GBps = receive};
    return 0;
}

void verbs_fabric_repeated(struct verbs_fabric *f)
{
    const struct verbs_fabric_try last = f->tries[f->ntries - 1];
    const struct verbs_try *p = &last.outcome.pair;
    for (int i = 0; i < f->ntries - 1; i++) {
        const struct verbs_try *q = &f->tries[i].outcome.pair;
        if (p->from.node != q->from.node || p->from.rail != q->from.rail || p->to.node != q->to.node ||
            p->to.rail != q->to.rail)
            continue;
        f->tries[i] = last;
        f->ntries--;
        return;
    }
}

/* The lists of the document. */
static const struct {
    const char *key;
    int (*add)(struct verbs_fabric *f, const cJSON *o, struct err *e);
} lists[] = {{"ports", verbs_fabric_add_port},
             {"tries", verbs_fabric_add_try},
             {"interfaces", verbs_fabric_add_interface},
             {"gpu_memory", verbs_fabric_add_gpu},
             {"sweep", verbs_fabric_add_point}};

static int read_lists(struct verbs_fabric *f, const cJSON *doc, struct err *e)
{
    const cJSON *item;
    int code = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(doc, lists[i].key))
        {
            code = code ? code : lists[i].add(f, item, e);
        }
    return code;
}

struct verbs_fabric *verbs_fabric_load(const char *path, struct err *e)
{
    cJSON *doc = json_load(path, VERBS_FABRIC_FORMAT, e);
    struct verbs_fabric *f = NULL;
    struct err inner = {0};
    if (!doc)
        return NULL;
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(doc, "names");
    int64_t nodes = json_int(doc, "nodes", 0), rails = json_int(doc, "rails", -1);
    int code = nodes >= 1 && nodes <= MAX_NODES && rails >= 0 && rails <= MAX_RAILS
                   ? 0
                   : err_set(&inner, ERR_FAILED, "\"nodes\" must be 1 to %d, \"rails\" 0 to %d", MAX_NODES, MAX_RAILS);
    if (!code) {
        f = verbs_fabric_new((int)nodes, (int)rails);
        f->complete = json_bool(doc, "complete", 1);
        code = names ? verbs_fabric_add_names(f, names, &inner) : 0;
    }
    if (!code)
        code = read_lists(f, doc, &inner);
    cJSON_Delete(doc);
    if (code) {
        err_set(e, ERR_FAILED, "%s: %s", path, inner.text);
        verbs_fabric_free(f);
        f = NULL;
    }
    return f;
}
