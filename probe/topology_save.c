/* topology.json, written, and the hash over what identical machines share. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "probe/paths.h"
#include "probe/topology_fields.h"

static void put_hex(cJSON *o, const char *key, uint32_t value, int digits)
{
    char text[16];
    snprintf(text, sizeof text, "0x%0*x", digits, value);
    if (value)
        cJSON_AddStringToObject(o, key, text);
}

/* json_add_str makes bytes that are no UTF-8 harmless; there is no such thing for arrays. */
static void add_text(cJSON *array, const char *text)
{
    cJSON *box = cJSON_CreateObject();
    json_add_str(box, "text", text);
    cJSON_AddItemToArray(array, cJSON_DetachItemFromObject(box, "text"));
    cJSON_Delete(box);
}

static void put_texts(cJSON *o, const char *key, const char *const *texts, int n)
{
    cJSON *array = n ? cJSON_AddArrayToObject(o, key) : NULL;
    for (int i = 0; i < n; i++)
        add_text(array, texts[i]);
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

static void put_all(cJSON *o, const struct field *fields, const void *record, int hashing)
{
    for (const struct field *f = fields; f->key; f++)
        if (!hashing || !f->moves)
            put(o, f, record);
}

/* Bridges and what is attached to them without being a device: there today, gone tomorrow with a container. */
static int comes_and_goes(const struct field_list *l, const void *record)
{
    const struct topo_netdev *d = record;
    return l->fields == topo_netdev_fields && d->object < 0 &&
           (d->kind == TOPO_NET_BRIDGE || (d->kind == TOPO_NET_VIRTUAL && d->master));
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
            cJSON_AddItemToArray(row, cJSON_CreateString(path_class_name(path_between(m, i, k)->class_)));
        cJSON_AddItemToArray(rows, row);
        add_text(between, m->ends[i].label);
    }
    arena_free(a);
}

static cJSON *class_json(const struct topo_class *c, int hashing)
{
    cJSON *o = cJSON_CreateObject();
    put_all(o, topo_class_fields, c, hashing);
    for (size_t i = 0; i < TOPO_LISTS; i++) {
        const struct field_list *l = &topo_lists[i];
        const char *record = *(const char *const *)((const char *)c + l->array);
        int n = *(const int *)((const char *)c + l->count);
        cJSON *array = cJSON_AddArrayToObject(o, l->key);
        for (int k = 0; k < n; k++, record += l->record) {
            if (hashing && comes_and_goes(l, record))
                continue;
            cJSON *item = cJSON_CreateObject();
            put_all(item, l->fields, record, hashing);
            cJSON_AddItemToArray(array, item);
        }
    }
    put_all(o, topo_note_fields, c, hashing);
    if (!hashing)
        put_paths(o, c);
    return o;
}

cJSON *topo_to_json(const struct topology *t)
{
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "format", TOPO_FORMAT);
    json_add_str(doc, "tool", t->tool);
    json_add_str(doc, "source", t->source);
    char hash[SHA256_HEX];
    topo_hash(t, hash);
    cJSON_AddStringToObject(doc, "hash", hash);
    cJSON *classes = cJSON_AddArrayToObject(doc, "classes");
    for (int i = 0; i < t->nclasses; i++)
        cJSON_AddItemToArray(classes, class_json(&t->classes[i], 0));
    cJSON *hosts = cJSON_AddArrayToObject(doc, "hosts");
    for (int i = 0; i < t->nhosts; i++) {
        cJSON *host = cJSON_CreateObject();
        json_add_str(host, "name", t->hosts[i].name);
        cJSON_AddNumberToObject(host, "class", t->hosts[i].class_index);
        cJSON_AddItemToArray(hosts, host);
    }
    return doc;
}

int topo_save(const struct topology *t, const char *path, struct err *e)
{
    cJSON *doc = topo_to_json(t);
    int rc = json_save(doc, path, e);
    cJSON_Delete(doc);
    return rc;
}

void topo_hash(const struct topology *t, char hex[SHA256_HEX])
{
    struct sha256 s;
    sha256_init(&s);
    for (int i = 0; i < t->nclasses; i++) {
        cJSON *o = class_json(&t->classes[i], 1);
        char *text = cJSON_PrintUnformatted(o);
        if (!text)
            abort();
        sha256_update(&s, text, strlen(text));
        cJSON_free(text);
        cJSON_Delete(o);
    }
    sha256_hex(&s, hex);
}
