/* topology.json, written. */
#include "core/finding.h"
#include "core/json.h"
#include "probe/topology/differences.h"
#include "probe/topology/domains.h"
#include "probe/topology/fields.h"
#include "probe/topology/paths.h"
#include "probe/topology/rails.h"
#include "probe/topology/roles.h"

/* Classes that are compared with the first one; a cluster of more kinds than that has no kinds. */
#define MOST_DIFFERENCES 64

/* Follows from the rest; written for readers that have no code for it, and not read back. */
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
    int n = rails_of(c, v, a, &rails);
    array = n ? cJSON_AddArrayToObject(o, "rails") : NULL;
    for (int i = 0; i < n; i++) {
        cJSON *item = json_append(array);
        json_add_str(item, "network", rails[i].network);
        cJSON_AddItemToObject(item, "ports", cJSON_CreateIntArray(rails[i].ports, rails[i].nports));
    }
    arena_free(a);
}

/* And for the list of HCAs that all classes can use, and for what differs between them. */
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

static cJSON *class_json(const struct topo_class *c)
{
    cJSON *o = cJSON_CreateObject();
    json_put_fields(o, topo_class_fields, c);
    json_put_fields(o, topo_list_fields, c);
    json_put_fields(o, topo_note_fields, c);
    put_paths(o, c);
    put_roles(o, c);
    return o;
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
    for (int i = 0; i < t->nclasses; i++)
        cJSON_AddItemToArray(classes, class_json(&t->classes[i]));
    cJSON *hosts = cJSON_AddArrayToObject(doc, "hosts");
    for (int i = 0; i < t->nhosts; i++) {
        cJSON *host = json_append(hosts);
        json_add_str(host, "name", t->hosts[i].name);
        cJSON_AddNumberToObject(host, "class", t->hosts[i].class_index);
        json_put_fields(host, topo_host_fields, &t->hosts[i]);
    }
    cJSON *missing = t->nmissing ? cJSON_AddArrayToObject(doc, "missing") : NULL;
    for (int i = 0; i < t->nmissing; i++) {
        cJSON *node = json_append(missing);
        json_add_str(node, "name", t->missing[i].name);
        json_add_str(node, "why", t->missing[i].why);
    }
    put_differences(doc, t);
    cJSON_AddItemToObject(doc, "findings", findings_json(t->findings, t->nfindings));
    return doc;
}

int topo_save(const struct topology *t, const char *path, struct err *e)
{
    return json_save(topo_to_json(t), path, e);
}
