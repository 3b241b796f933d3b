/* topology.json, read: nothing in the file is believed before it is checked. */
#include <string.h>

#include "probe/topology/build.h"
#include "probe/topology/fields.h"

#define MOST    65536 /* classes, texts in a list */
#define DEEPEST 64    /* levels of the PCI tree */

struct loading {
    struct topology *t;
    int base; /* classes that were there before this file */
    struct json_reader reader;
};

static int check_array(const struct json_reader *in, const char *key, const cJSON *array, int most)
{
    char expected[64];
    if (!array || (cJSON_IsArray(array) && cJSON_GetArraySize(array) <= most))
        return 0;
    snprintf(expected, sizeof expected, "an array of at most %d", most);
    return json_wrong(in, key, expected);
}

static int check_depth(const struct json_reader *in, const struct topo_class *c)
{
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

static int load_class(struct loading *in, int class_index, const cJSON *o)
{
    static const struct json_record parts[] = {{topo_class_fields}, {topo_note_fields}, {topo_list_fields}};
    struct topo_class *c = &in->t->classes[in->base + class_index];
    in->reader.more = c;
    snprintf(in->reader.place, sizeof in->reader.place, "classes[%d]", class_index);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (json_get_fields(&in->reader, &parts[i], o, c))
            return ERR_FAILED;
    return check_depth(&in->reader, c);
}

static int load_hosts(struct loading *in, const cJSON *array)
{
    struct topology *t = in->t;
    struct json_reader *r = &in->reader;
    const struct json_field class_field = {"class", .required = 1};
    const struct json_record host = {topo_host_fields};
    const cJSON *item;
    int i = 0;
    *r->place = 0;
    if (check_array(r, "hosts", array, TOPO_MOST_HOSTS))
        return ERR_FAILED;
    cJSON_ArrayForEach(item, array)
    {
        int class_index = 0;
        snprintf(r->place, sizeof r->place, "hosts[%d]", i++);
        const char *name = json_str(item, "name", NULL);
        if (!name)
            return json_wrong(r, "name", "a string");
        if (json_get_int(r, &class_field, cJSON_GetObjectItemCaseSensitive(item, "class"), 0,
                         t->nclasses - in->base - 1, &class_index))
            return ERR_FAILED;
        build_host(t, name, in->base + class_index);
        if (json_get_fields(r, &host, item, &t->hosts[t->nhosts - 1]))
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
    *in->reader.place = 0;
    if (check_array(&in->reader, "missing", array, MOST))
        return ERR_FAILED;
    cJSON_ArrayForEach(item, array)
    {
        const char *name = json_str(item, "name", NULL);
        if (!name)
            return json_wrong(&in->reader, "missing", "objects with a name");
        build_missing(in->t, name, json_str(item, "why", ""));
    }
    return 0;
}

int topo_add_json(struct topology *t, const cJSON *doc, const char *file, struct err *e)
{
    struct loading in = {t, t->nclasses, {.arena = t->arena, .file = file, .err = e}};
    t->alternatives = !t->nclasses && cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(doc, "alternatives"));
    const cJSON *classes = cJSON_GetObjectItemCaseSensitive(doc, "classes"), *item;
    int n = 0;
    if (!classes)
        return json_wrong(&in.reader, "classes", "an array");
    if (check_array(&in.reader, "classes", classes, MOST))
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
