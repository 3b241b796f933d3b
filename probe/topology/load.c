/* topology.json, read: nothing in the file is believed before it is checked. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "probe/topology/build.h"
#include "probe/topology/fields.h"

#define MOST    65536 /* classes, texts in a list */
#define DEEPEST 64    /* levels of the PCI tree */

struct loading {
    struct topology *t;
    struct topo_class *c;
    int base; /* classes that were there before this file */
    const char *file;
    char place[160]; /* "classes[0].objects[3]" */
    struct err *e;
};

static int wrong(const struct loading *in, const char *key, const char *expected)
{
    return err_at(in->e, in->file, 0, 0, "%s%s%s: expected %s", in->place, *in->place ? "." : "", key, expected);
}

static int get_int(const struct loading *in, const struct field *f, const cJSON *item, long low, long high, int *value)
{
    char range[80];
    double v = item->valuedouble;
    if (cJSON_IsNumber(item) && v >= (double)low && v <= (double)high && v == floor(v)) {
        *value = (int)v;
        return 0;
    }
    snprintf(range, sizeof range, "a whole number from %ld to %ld", low, high);
    return wrong(in, f->key, high < low ? "no value here" : range);
}

static int get_index(const struct loading *in, const struct field *f, const cJSON *item, int self, int *value)
{
    const struct topo_class *c = in->c;
    int limit = f->type == FIELD_PARENT ? self
                : f->type == FIELD_GPU  ? c->ngpus
                : f->type == FIELD_PORT ? c->nports
                                        : c->nobjects;
    if (get_int(in, f, item, 0, limit - 1, value))
        return ERR_FAILED;
    if (f->kinds && !(f->kinds & 1u << c->objects[*value].kind))
        return wrong(in, f->key, "the index of an object of the right kind");
    return 0;
}

static int get_hex(const struct loading *in, const struct field *f, const cJSON *item, uint32_t limit, uint32_t *value)
{
    char *end = NULL;
    const char *s = cJSON_IsString(item) ? item->valuestring : "";
    unsigned long v = strncmp(s, "0x", 2) ? 0 : strtoul(s + 2, &end, 16);
    if (!end || end == s + 2 || *end || v > limit)
        return wrong(in, f->key, limit > 0xffff ? "\"0x\" and up to 6 hex digits" : "\"0x\" and up to 4 hex digits");
    *value = (uint32_t)v;
    return 0;
}

/* Room as arena_grow counts on it, so that more can be appended: the next power of two. */
static void *alloc_list(struct arena *a, size_t n, size_t size)
{
    size_t room = 1;
    while (room < n)
        room *= 2;
    return arena_alloc(a, room * size);
}

static int get_texts(const struct loading *in, const struct field *f, const cJSON *array, void *at)
{
    int n = cJSON_GetArraySize(array);
    if (!cJSON_IsArray(array) || n > MOST)
        return wrong(in, f->key, "an array of strings");
    const char **texts = alloc_list(in->t->arena, (size_t)n, sizeof *texts);
    const cJSON *item;
    int i = 0;
    cJSON_ArrayForEach(item, array)
    {
        if (!cJSON_IsString(item))
            return wrong(in, f->key, "an array of strings");
        texts[i++] = arena_strdup(in->t->arena, item->valuestring);
    }
    *(const char ***)at = texts;
    *topo_texts_count(at) = n;
    return 0;
}

static int get_word(const struct loading *in, const struct field *f, const cJSON *item, int *value)
{
    char expected[160];
    size_t n = 0;
    for (int i = 0; f->words[i]; i++)
        if (cJSON_IsString(item) && !strcmp(item->valuestring, f->words[i])) {
            *value = i;
            return 0;
        }
    for (int i = 0; f->words[i] && n < sizeof expected; i++)
        n += (size_t)snprintf(expected + n, sizeof expected - n, "%s\"%s\"", i ? ", " : "one of ", f->words[i]);
    return wrong(in, f->key, expected);
}

static int get(const struct loading *in, const struct field *f, const cJSON *item, void *record, int self)
{
    void *at = (char *)record + f->at;
    uint32_t hex = 0;
    switch (f->type) {
    case FIELD_TEXT:
        if (!cJSON_IsString(item))
            return wrong(in, f->key, "a string");
        *(const char **)at = arena_strdup(in->t->arena, item->valuestring);
        return 0;
    case FIELD_TEXTS:
        return get_texts(in, f, item, at);
    case FIELD_INT:
        return get_int(in, f, item, -1, INT_MAX, (int *)at);
    case FIELD_NUMBER:
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= 1e12))
            return wrong(in, f->key, "a number from 0 to 1e12");
        *(double *)at = item->valuedouble;
        return 0;
    case FIELD_BYTES:
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= 0x1p53))
            return wrong(in, f->key, "a number of bytes");
        *(uint64_t *)at = (uint64_t)item->valuedouble;
        return 0;
    case FIELD_HEX16:
        if (get_hex(in, f, item, 0xffff, &hex))
            return ERR_FAILED;
        *(uint16_t *)at = (uint16_t)hex;
        return 0;
    case FIELD_HEX24:
        return get_hex(in, f, item, 0xffffff, (uint32_t *)at);
    case FIELD_WORD:
        return get_word(in, f, item, (int *)at);
    case FIELD_PARENT:
    case FIELD_OBJECT:
    case FIELD_GPU:
    case FIELD_PORT:
        return get_index(in, f, item, self, (int *)at);
    }
    return 0;
}

/* Files that we wrote have keys in the order of the fields: the one behind the last is looked at before all are. */
static const cJSON *find_item(const cJSON *o, const char *key, const cJSON **next)
{
    const cJSON *item = *next && !strcmp((*next)->string, key) ? *next : cJSON_GetObjectItemCaseSensitive(o, key);
    if (item)
        *next = item->next;
    return item;
}

static int get_all(const struct loading *in, const struct field *fields, const cJSON *o, void *record, int self)
{
    if (!cJSON_IsObject(o))
        return err_at(in->e, in->file, 0, 0, "%s: expected an object", in->place);
    const cJSON *next = o->child;
    for (const struct field *f = fields; f->key; f++) {
        const cJSON *item = find_item(o, f->key, &next);
        if (!item && f->required)
            return wrong(in, f->key, "a value");
        if (!item && f->unknown)
            *(int *)((char *)record + f->at) = f->unknown;
        else if (item && get(in, f, item, record, self))
            return ERR_FAILED;
    }
    return 0;
}

static int check_array(const struct loading *in, const char *key, const cJSON *array, int most)
{
    char expected[64];
    if (!array || (cJSON_IsArray(array) && cJSON_GetArraySize(array) <= most))
        return 0;
    snprintf(expected, sizeof expected, "an array of at most %d", most);
    return wrong(in, key, expected);
}

static int load_list(struct loading *in, int class_index, const struct field_list *l, const cJSON *array)
{
    snprintf(in->place, sizeof in->place, "classes[%d]", class_index);
    if (check_array(in, l->key, array, l->most))
        return ERR_FAILED;
    size_t n = (size_t)cJSON_GetArraySize(array);
    char *records = alloc_list(in->t->arena, n, l->record);
    /* Known before the records are read: objects point to earlier objects, links to GPUs. */
    *(char **)((char *)in->c + l->array) = records;
    *(int *)((char *)in->c + l->count) = (int)n;
    const cJSON *item;
    int i = 0;
    cJSON_ArrayForEach(item, array)
    {
        snprintf(in->place, sizeof in->place, "classes[%d].%s[%d]", class_index, l->key, i);
        if (get_all(in, l->fields, item, records + (size_t)i * l->record, i))
            return ERR_FAILED;
        i++;
    }
    return 0;
}

static int check_depth(const struct loading *in, int class_index)
{
    const struct topo_class *c = in->c;
    int rc = 0, *depth = arena_alloc(in->t->arena, (size_t)c->nobjects * sizeof *depth);
    for (int i = 0; i < c->nobjects && !rc; i++) {
        depth[i] = c->objects[i].parent < 0 ? 0 : depth[c->objects[i].parent] + 1;
        if (depth[i] > DEEPEST)
            rc = err_at(in->e, in->file, 0, 0, "classes[%d].objects[%d]: expected a tree of at most %d levels",
                        class_index, i, DEEPEST);
    }
    return rc;
}

static int load_class(struct loading *in, int class_index, const cJSON *o)
{
    in->c = &in->t->classes[in->base + class_index];
    snprintf(in->place, sizeof in->place, "classes[%d]", class_index);
    if (get_all(in, topo_class_fields, o, in->c, 0) || get_all(in, topo_note_fields, o, in->c, 0))
        return ERR_FAILED;
    for (size_t i = 0; i < TOPO_LISTS; i++)
        if (load_list(in, class_index, &topo_lists[i], cJSON_GetObjectItemCaseSensitive(o, topo_lists[i].key)))
            return ERR_FAILED;
    return check_depth(in, class_index);
}

static int load_hosts(struct loading *in, const cJSON *array)
{
    struct topology *t = in->t;
    const struct field class_field = {"class", FIELD_INT, 0};
    const cJSON *item;
    int i = 0;
    *in->place = 0;
    if (check_array(in, "hosts", array, TOPO_MOST_HOSTS))
        return ERR_FAILED;
    cJSON_ArrayForEach(item, array)
    {
        int class_index = 0;
        snprintf(in->place, sizeof in->place, "hosts[%d]", i++);
        const cJSON *class_item = cJSON_GetObjectItemCaseSensitive(item, "class");
        const char *name = json_str(item, "name", NULL);
        if (!name || !class_item)
            return wrong(in, name ? "class" : "name", name ? "the index of a class" : "a string");
        if (get_int(in, &class_field, class_item, 0, t->nclasses - in->base - 1, &class_index))
            return ERR_FAILED;
        build_host(t, name, in->base + class_index);
        if (get_all(in, topo_host_fields, item, &t->hosts[t->nhosts - 1], 0))
            return ERR_FAILED;
    }
    if (i == 1)
        build_clique(t, &t->hosts[t->nhosts - 1]); /* files before hosts had one */
    return 0;
}

/* What the probe of one node found to be wrong there is that node's, whatever class it joins. */
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

static int load_missing(struct loading *in, const cJSON *array)
{
    const cJSON *item;
    *in->place = 0;
    if (check_array(in, "missing", array, MOST))
        return ERR_FAILED;
    cJSON_ArrayForEach(item, array)
    {
        const char *name = json_str(item, "name", NULL);
        if (!name)
            return wrong(in, "missing", "objects with a name");
        build_missing(in->t, name, json_str(item, "why", ""));
    }
    return 0;
}

int topo_add_json(struct topology *t, const cJSON *doc, const char *file, struct err *e)
{
    struct loading in = {.t = t, .file = file, .e = e, .base = t->nclasses};
    t->alternatives = !t->nclasses && cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(doc, "alternatives"));
    const cJSON *classes = cJSON_GetObjectItemCaseSensitive(doc, "classes"), *item;
    int n = 0;
    if (!classes)
        return wrong(&in, "classes", "an array");
    if (check_array(&in, "classes", classes, MOST))
        return ERR_FAILED;
    cJSON_ArrayForEach(item, classes)
    {
        build_class(t, NULL);
        if (load_class(&in, n++, item))
            return ERR_FAILED;
    }
    int before = t->nhosts;
    if (load_hosts(&in, cJSON_GetObjectItemCaseSensitive(doc, "hosts")))
        return ERR_FAILED;
    if (t->nhosts == before + 1 && !t->hosts[before].nerrors)
        load_errors(t, cJSON_GetObjectItemCaseSensitive(doc, "findings"));
    return load_missing(&in, cJSON_GetObjectItemCaseSensitive(doc, "missing"));
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
