/* Recorded machines: what a file is, its content tells. */
#include "probe/import/import.h"

#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/json.h"
#include "probe/import/import_internal.h"
#include "probe/topology/build.h"

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
    const char *name = host_name(t->arena, path);
    if (!roots)
        return ERR_FAILED;
    if (xml_is(roots, "topology"))
        return import_hwloc_xml(t, roots, name, path, e);
    for (const struct xml_node *n = roots; n; n = n->next)
        if (xml_is(n, "system"))
            return import_nccl_xml(t, roots, name, path, e);
    return err_at(
        e, path, roots->line, 0, "expected <system> (NCCL topology) or <topology> (hwloc), found <%s>%s", roots->name,
        xml_is(roots, "graphs") ? ", which is NCCL's graph dump: NCCL_TOPO_DUMP_FILE writes the topology" : "");
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
        if (first == '<')
            rc = import_xml(t, text + skip, bytes - skip, path, scratch, e);
        else if (first == '{')
            rc = import_json(t, text + skip, bytes - skip, path, e);
        else if (strstr(text, "GPU0"))
            rc = import_smi_topo(t, text + skip, host_name(t->arena, path), path, e);
        else
            rc = err_at(e, path, 1, 0,
                        "expected an NCCL topology file, an hwloc XML file, a topology.json or nvidia-smi topo -m");
    }
    arena_free(scratch);
    return rc;
}

struct topology *probe_files(const char *const *paths, int npaths, struct log *log, struct err *e)
{
    struct topology *t = topo_new();
    const char *names = "";
    for (int i = 0; i < npaths; i++) {
        if (import_file(t, paths[i], e)) {
            topo_free(t);
            return NULL;
        }
        names = arena_printf(t->arena, "%s%s%s", names, i ? ", " : "", paths[i]);
    }
    if (npaths != 1 || !t->source) {
        t->source = names;
        t->tool = NCCLTUNE_VERSION;
    }
    for (int i = 0; i < t->nhosts; i++)
        log_info(log, "%s: %d GPUs", t->hosts[i].name, t->classes[t->hosts[i].class_index].ngpus);
    return t;
}
