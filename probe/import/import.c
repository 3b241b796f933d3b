/* Recorded machines: what a file is, its content tells. */
#include "probe/import/import.h"

#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/json.h"
#include "probe/import/text.h"
#include "probe/topology/classes.h"

/* "/data/azure_ndv4.xml": "azure_ndv4". */
static const char *host_name(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash && slash[1] ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    return !strcmp(path, "-") ? "stdin"
                              : arena_strndup(a, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
}

static int import_json(struct topology *t, const char *text, size_t bytes, const char *path, struct err *e)
{
    cJSON *doc = json_parse(text, bytes, path, 1, e);
    int rc = !doc || json_check_format(doc, TOPO_FORMAT, path, e) ? ERR_FAILED : topo_add_json(t, doc, path, e);
    if (!rc) {
        t->tool = arena_strdup(t->arena, json_str(doc, "tool", NULL));
        t->source = arena_strdup(t->arena, json_str(doc, "source", path));
    }
    cJSON_Delete(doc);
    return rc;
}

static int import_xml(struct topology *t, char *text, size_t bytes, const char *path, struct arena *scratch,
                      struct err *e)
{
    struct xml_node *roots = xml_parse(text, bytes, path, scratch, e);
    const char *name = host_name(t->arena, path), *expected = "";
    if (!roots)
        return ERR_FAILED;
    for (const struct xml_format *f = xml_formats; f->name; f++) {
        for (const struct xml_node *n = roots; n; n = n->next)
            if (xml_is(n, f->root))
                return f->read(t, roots, name, path, e);
        expected = arena_printf(scratch, "%s%s<%s> (%s)", expected, *expected ? " or " : "", f->root, f->name);
    }
    return err_at(e, path, roots->line, 0, "expected %s, found <%s>%s", expected, roots->name,
                  xml_is(roots, "graphs") ? ", which is NCCL's graph dump: NCCL_TOPO_DUMP_FILE writes the topology"
                                          : "");
}

static int nothing_known(const char *path, struct arena *scratch, struct err *e)
{
    const char *all = "topology.json";
    for (const struct xml_format *f = xml_formats; f->name; f++)
        all = arena_printf(scratch, "%s, %s", all, f->name);
    for (int i = 0; text_readers[i]; i++)
        if (text_readers[i]->name[0] != 'X')
            all = arena_printf(scratch, "%s, %s", all, text_readers[i]->name);
    return err_at(
        e, path, 1, 0,
        "nothing here is output that is known: expected one of %s; a list of HCAs needs distances (topo -m or an "
        "XML) and the states of ports (ibstat, ibv_devinfo, ibdev2netdev)",
        all);
}

/* Whether it is an XML document as a whole, which no text before its root says. */
static int is_xml(const char *text, struct arena *scratch)
{
    for (const struct xml_format *f = xml_formats; f->name; f++)
        if (strstr(text, arena_printf(scratch, "<%s", f->root)))
            return 1;
    return strstr(text, "<graphs") != NULL;
}

static int import_file(struct topology *t, const char *path, struct err *e)
{
    struct arena *scratch = arena_new();
    char *text;
    size_t bytes;
    int rc = file_read_text(path, FILE_LIMIT, scratch, &text, &bytes, e);
    if (!rc) {
        size_t skip = strncmp(text, "\xef\xbb\xbf", 3) ? 0 : 3;
        char first = text[skip + strspn(text + skip, " \t\r\n")];
        text += skip;
        bytes -= skip;
        if (first == '{')
            rc = import_json(t, text, bytes, path, e);
        else if (first == '<' && is_xml(text, scratch))
            rc = import_xml(t, text, bytes, path, scratch, e);
        else
            rc = import_text(t, text, host_name(t->arena, path), path, e);
        if (rc < 0)
            rc = nothing_known(path, scratch, e);
    }
    arena_free(scratch);
    return rc;
}

/* As import_file, but a host of a class that is there already is added to it, and nothing of its own class stays. */
static int fold_file(struct topology *t, struct class_index *index, const char *path, struct err *e)
{
    struct topology *one = topo_new();
    int rc = import_file(one, path, e), at = -1;
    const struct topo_host *h = one->hosts;
    /* What only a document of ours tells of a host is kept by reading it as it is. */
    if (!rc && one->nclasses == 1 && one->nhosts == 1 && !one->nmissing && !h->ndiffers && !h->nleaves &&
        !h->nlibraries)
        at = classes_find(index, &one->classes[0], t->nclasses);
    int known = at >= 0 && at < t->nclasses;
    if (known)
        classes_add_host(t, at, &one->classes[0], h, h->name);
    topo_free(one);
    return rc || known ? rc : import_file(t, path, e);
}

static struct topology *read_files(const char *const *paths, int npaths, int fold, struct log *log, struct err *e)
{
    struct topology *t = topo_new();
    struct class_index index = {0};
    const char *names = "";
    int rc = 0;
    for (int i = 0; i < npaths && !rc; i++) {
        int once = !fold || npaths == 1 || !strcmp(paths[i], "-"); /* cannot be read again */
        rc = once ? import_file(t, paths[i], e) : fold_file(t, &index, paths[i], e);
    }
    classes_index_free(&index);
    if (rc) {
        topo_free(t);
        return NULL;
    }
    const int most = 16; /* names of files in `source` */
    for (int i = 0; i < npaths && i < most; i++)
        names = arena_printf(t->arena, "%s%s%s", names, i ? ", " : "", paths[i]);
    if (npaths != 1 || !t->source) {
        t->source = npaths > most ? arena_printf(t->arena, "%s and %d more", names, npaths - most) : names;
        t->tool = NCCLTUNE_VERSION;
    }
    for (int i = 0; i < t->nhosts; i++)
        log_info(log, "%s: %d GPUs", t->hosts[i].name, t->classes[t->hosts[i].class_index].ngpus);
    return t;
}

struct topology *probe_files(const char *const *paths, int npaths, struct log *log, struct err *e)
{
    return read_files(paths, npaths, 0, log, e);
}

struct topology *probe_hosts(const char *const *paths, int npaths, struct log *log, struct err *e)
{
    struct topology *t = read_files(paths, npaths, 1, log, e);
    if (t)
        classes_merge(t);
    return t;
}
