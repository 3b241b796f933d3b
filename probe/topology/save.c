/* topology.json, written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void put_hex(cJSON *o, const char *key, uint32_t value, int digits)
{
    char text[16];
    snprintf(text, sizeof text, "0x%0*x", digits, value);
    if (value)
        cJSON_AddStringToObject(o, key, text);
}

static void put_texts(cJSON *o, const char *key, const char *const *texts, int n)
{
    if (n)
        json_add_strs(o, key, texts, n);
}

static void put(cJSON *o, const struct field *f, const void *record)
{
    const void *at = (const char *)record + f->at;
    switch (f->type) {
    case FIELD_TEXT:
        json_add_str(o, f->key, *(const char *const *)at);
        break;
    case FIELD_TEXTS:
        put_texts(o, f->key, *(const char *const *const *)at, *topo_texts_count((char *)record + f->at));
        break;
    case FIELD_INT:
    case FIELD_PARENT:
    case FIELD_OBJECT:
    case FIELD_GPU:
    case FIELD_PORT:
        if (*(const int *)at != f->unknown)
            cJSON_AddNumberToObject(o, f->key, *(const int *)at);
        break;
    case FIELD_NUMBER:
        if (*(const double *)at != 0)
            cJSON_AddNumberToObject(o, f->key, *(const double *)at);
        break;
    case FIELD_BYTES:
        if (*(const uint64_t *)at)
            cJSON_AddNumberToObject(o, f->key, (double)*(const uint64_t *)at);
        break;
    case FIELD_HEX16:
        put_hex(o, f->key, *(const uint16_t *)at, 4);
        break;
    case FIELD_HEX24:
        put_hex(o, f->key, *(const uint32_t *)at, 6);
        break;
    case FIELD_WORD:
        if (*(const int *)at != f->unknown)
            cJSON_AddStringToObject(o, f->key, f->words[*(const int *)at]);
        break;
    }
}

static void put_all(cJSON *o, const struct field *fields, const void *record)
{
    for (const struct field *f = fields; f->key; f++)
        put(o, f, record);
}

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
        put_texts(item, "differs", like.sentences, like.n);
    }
    arena_free(a);
}

static cJSON *class_json(const struct topo_class *c)
{
    cJSON *o = cJSON_CreateObject();
    put_all(o, topo_class_fields, c);
    for (size_t i = 0; i < TOPO_LISTS; i++) {
        const struct field_list *l = &topo_lists[i];
        const char *record = *(const char *const *)((const char *)c + l->array);
        int n = *(const int *)((const char *)c + l->count);
        cJSON *array = cJSON_AddArrayToObject(o, l->key);
        for (int k = 0; k < n; k++, record += l->record) {
            cJSON *item = json_append(array);
            put_all(item, l->fields, record);
        }
    }
    put_all(o, topo_note_fields, c);
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
        put_all(host, topo_host_fields, &t->hosts[i]);
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
    cJSON *doc = topo_to_json(t);
    int rc = json_save(doc, path, e);
    cJSON_Delete(doc);
    return rc;
}
