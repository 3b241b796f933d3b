/* GPU links out of hwloc's bandwidth matrices. */
#include "probe/import/hwloc_matrix.h"

#include <stdlib.h>
#include <string.h>

#include "probe/import/import_internal.h"
#include "probe/topology/build.h"

#define MOST_ROWS 1024

void hwloc_matrix_name(struct hwloc_matrix_names *names, struct arena *a, const struct xml_node *n,
                       struct hwloc_matrix_end end)
{
    long long gp = xml_int(n, "gp_index", 0, INT64_MAX, -1);
    if (gp < 0)
        return;
    names->list = arena_grow(a, names->list, (size_t)names->n, sizeof *names->list);
    names->list[names->n].gp_index = (uint64_t)gp;
    names->list[names->n++].end = end;
}

static struct hwloc_matrix_end end_of(const struct hwloc_matrix_names *names, uint64_t gp_index)
{
    for (int i = 0; i < names->n; i++)
        if (names->list[i].gp_index == gp_index)
            return names->list[i].end;
    return (struct hwloc_matrix_end){-1, -1};
}

/* The words of all children called `element`, one after the other. */
struct words {
    const struct xml_node *next;
    const char *element, *at;
};

static const char *next_word(struct words *w)
{
    for (;;) {
        w->at += strspn(w->at, " \t\r\n");
        if (*w->at)
            break;
        while (w->next && !(xml_is(w->next, w->element) && w->next->text))
            w->next = w->next->next;
        if (!w->next)
            return NULL;
        w->at = w->next->text;
        w->next = w->next->next;
    }
    const char *word = w->at;
    w->at += strcspn(w->at, " \t\r\n");
    return word;
}

/* Links in a bandwidth of MB/s as hwloc derives it: 20,000 a link of the first NVLink generation, 25,000 after it.
 * Other values (XGMI) do not tell. */
static int count_of(uint64_t MBps, enum topo_link_kind link_kind)
{
    return link_kind == TOPO_XGMI ? 1
           : MBps % 25000 == 0    ? (int)(MBps / 25000)
           : MBps % 20000 == 0    ? (int)(MBps / 20000)
                                  : 1;
}

static void add_link(struct topology *t, struct topo_class *c, struct hwloc_matrix_end from, struct hwloc_matrix_end to,
                     uint64_t MBps, enum topo_link_kind link_kind)
{
    const uint64_t most_MBps = 10000000;
    if (from.gpu < 0 || from.gpu == to.gpu || (to.gpu < 0 && to.object < 0) || !MBps || MBps > most_MBps)
        return;
    struct topo_link l = {.link_kind = link_kind, .gpu = from.gpu, .peer_gpu = to.gpu, .peer_object = to.object};
    l.count = count_of(MBps, link_kind);
    l.GBps = (double)MBps / 1000;
    build_link(t, c, l);
}

static int read_matrix(struct topology *t, struct topo_class *c, const struct xml_node *n,
                       enum topo_link_kind link_kind, const struct hwloc_matrix_names *names, const char *file,
                       struct err *e)
{
    struct words indexes = {n->first, "indexes", ""}, values = {n->first, "u64values", ""};
    int rows = (int)xml_int(n, "nbobjs", 1, MOST_ROWS, 0);
    if (!rows)
        return err_at(e, file, n->line, 0, "nbobjs: expected a number from 1 to %d", MOST_ROWS);
    struct hwloc_matrix_end *ends = calloc((size_t)rows, sizeof *ends);
    int rc = 0;
    if (!ends)
        return err_set(e, ERR_FAILED, "%s: out of memory", file);
    for (int i = 0; i < rows && !rc; i++) {
        /* "OSDev:802" or, where all are of one type, "802". */
        const char *word = next_word(&indexes), *colon = word ? strchr(word, ':') : NULL;
        if (!word)
            rc = err_at(e, file, n->line, 0, "<indexes>: expected %d objects, found %d", rows, i);
        else
            ends[i] = end_of(names, strtoull(colon && colon < indexes.at ? colon + 1 : word, NULL, 10));
    }
    for (int i = 0; i < rows && !rc; i++)
        for (int k = 0; k < rows && !rc; k++) {
            const char *word = next_word(&values);
            if (!word)
                rc = err_at(e, file, n->line, 0, "<u64values>: expected %d × %d numbers", rows, rows);
            else if (c->nlinks >= IMPORT_MOST_PORTS)
                rc = err_at(e, file, n->line, 0, "more than %d links", IMPORT_MOST_PORTS);
            else if (i != k)
                add_link(t, c, ends[i], ends[k], strtoull(word, NULL, 10), link_kind);
        }
    free(ends);
    return rc;
}

int hwloc_matrix_links(struct topology *t, struct topo_class *c, const struct xml_node *root,
                       const struct hwloc_matrix_names *names, const char *file, struct err *e)
{
    static const struct {
        const char *name;
        enum topo_link_kind link_kind;
    } known[] = {{"NVLinkBandwidth", TOPO_NVLINK}, {"XGMIBandwidth", TOPO_XGMI}};
    for (const struct xml_node *n = root->first; n; n = n->next) {
        const char *name = strncmp(n->name, "distances2", 10) ? NULL : xml_attribute(n, "name");
        for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
            if (!strcmp(name, known[i].name) && read_matrix(t, c, n, known[i].link_kind, names, file, e))
                return ERR_FAILED;
    }
    return 0;
}
