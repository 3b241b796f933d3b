/* The fabric as JSON, both ways. */
#include "bench/verbs_fabric.h"

#include <arpa/inet.h>
#include <string.h>

#include "core/json.h"

/* The largest cluster and node, the largest GID table, and the room for all of them together: a short line of a hostile
 * file must not ask for much memory. */
#define MAX_NODES    4096
#define MAX_RAILS    64
#define MAX_GIDS     4096
#define MAX_ALL_GIDS (4 << 20)

struct verbs_fabric *verbs_fabric_new(int nodes, int rails)
{
    struct arena *a = arena_new();
    struct verbs_fabric *f = ARENA_NEW(a, struct verbs_fabric);
    *f = (struct verbs_fabric){.arena = a, .nodes = nodes, .rails = rails};
    f->ports = arena_alloc(a, (size_t)nodes * (size_t)rails * sizeof *f->ports);
    return f;
}

void verbs_fabric_free(struct verbs_fabric *f)
{
    if (f)
        arena_free(f->arena);
}

/* ---- writing --------------------------------------------------------------------------------------------------------
 */

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
    if (p->rate_Gbps > 0)
        cJSON_AddNumberToObject(o, "rate_Gbps", p->rate_Gbps);
    for (int i = 0; i < p->gids.count; i++) {
        static const struct verbs_gid empty;
        const struct verbs_gid *g = &p->gids.gids[i];
        if (!memcmp(g->raw, empty.raw, sizeof g->raw))
            continue;
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddNumberToObject(entry, "index", i);
        cJSON_AddStringToObject(entry, "gid", verbs_gid_print(text, g));
        if (g->roce)
            cJSON_AddNumberToObject(entry, "roce", g->roce);
        cJSON_AddBoolToObject(entry, "proven", g->proven);
        cJSON_AddItemToArray(gids, entry);
    }
    cJSON_AddItemToObject(o, "gids", gids);
    return o;
}

static void add_end(cJSON *o, const char *key, struct verbs_end end)
{
    const int pair[] = {end.node, end.rail};
    cJSON_AddItemToObject(o, key, cJSON_CreateIntArray(pair, 2));
}

static void add_positive(cJSON *o, const char *key, double v)
{
    if (v > 0)
        cJSON_AddNumberToObject(o, key, v);
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
    json_add_str(o, "why", t->outcome.why);
    return o;
}

int verbs_fabric_save(const struct verbs_fabric *f, const char *path, struct err *e)
{
    cJSON *doc = cJSON_CreateObject(), *ports = cJSON_CreateArray(), *tries = cJSON_CreateArray();
    cJSON_AddStringToObject(doc, "format", VERBS_FABRIC_FORMAT);
    cJSON_AddStringToObject(doc, "tool", NCCLTUNE_VERSION);
    cJSON_AddNumberToObject(doc, "nodes", f->nodes);
    cJSON_AddNumberToObject(doc, "rails", f->rails);
    for (int i = 0; i < f->nodes * f->rails; i++)
        if (f->ports[i].name)
            cJSON_AddItemToArray(ports, verbs_fabric_port_json(f, i));
    for (int i = 0; i < f->ntries; i++)
        cJSON_AddItemToArray(tries, verbs_fabric_try_json(&f->tries[i]));
    cJSON_AddItemToObject(doc, "ports", ports);
    cJSON_AddItemToObject(doc, "tries", tries);
    int code = json_save(doc, path, e);
    cJSON_Delete(doc);
    return code;
}

/* ---- reading --------------------------------------------------------------------------------------------------------
 */

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
    p->rate_Gbps = json_num(o, "rate_Gbps", 0);
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
    t.outcome.GBps = json_num(o, "write_GBps", 0);
    t.outcome.why = arena_strdup(f->arena, json_str(o, "why", NULL));
    t.both_GBps = json_num(o, "both_GBps", 0);
    t.latency_us = json_num(o, "latency_us", 0);
    t.messages_per_s = json_num(o, "messages_per_s", 0);
    t.gid = arena_strdup(f->arena, json_str(o, "gid", NULL));
    f->tries = arena_grow(f->arena, f->tries, (size_t)f->ntries, sizeof *f->tries);
    f->tries[f->ntries++] = t;
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

struct verbs_fabric *verbs_fabric_load(const char *path, struct err *e)
{
    cJSON *doc = json_load(path, VERBS_FABRIC_FORMAT, e);
    struct verbs_fabric *f = NULL;
    struct err inner = {0};
    const cJSON *item;
    if (!doc)
        return NULL;
    int64_t nodes = json_int(doc, "nodes", 0), rails = json_int(doc, "rails", 0);
    int code = nodes >= 1 && nodes <= MAX_NODES && rails >= 1 && rails <= MAX_RAILS
                   ? 0
                   : err_set(&inner, ERR_FAILED, "\"nodes\" must be 1 to %d, \"rails\" 1 to %d", MAX_NODES, MAX_RAILS);
    if (!code)
        f = verbs_fabric_new((int)nodes, (int)rails);
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(doc, "ports"))
    {
        code = code ? code : verbs_fabric_add_port(f, item, &inner);
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(doc, "tries"))
    {
        code = code ? code : verbs_fabric_add_try(f, item, &inner);
    }
    cJSON_Delete(doc);
    if (code) {
        err_set(e, ERR_FAILED, "%s: %s", path, inner.text);
        verbs_fabric_free(f);
        f = NULL;
    }
    return f;
}
