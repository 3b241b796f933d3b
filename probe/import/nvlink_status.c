/* What `nvidia-smi nvlink -s` prints: the links of every GPU, and which of them are not active, but not where they
 * lead.
 */
#include <stdlib.h>
#include <string.h>

#include "probe/import/text.h"
#include "probe/topology/build.h"

/* "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-…)": the number; -1 for another line. */
static long gpu_line(const char *line)
{
    char *end;
    line += strspn(line, " \t");
    if (strncmp(line, "GPU ", 4) != 0)
        return -1;
    long n = strtol(line + 4, &end, 10);
    return end > line + 4 && *end == ':' && n >= 0 && n < 65536 ? n : -1;
}

static int link_line(const char *line)
{
    char *end;
    line += strspn(line, " \t");
    if (strncmp(line, "Link ", 5) != 0)
        return 0;
    strtol(line + 5, &end, 10);
    return end > line + 5 && *end == ':' && (strstr(end, "GB/s") || strstr(end, "inactive"));
}

static int begins(const struct text *x)
{
    return gpu_line(text_line(x, 0)) >= 0 && link_line(text_next_line(x));
}

static void describe(const struct text *x, struct topology *t, struct topo_class *c, struct topo_gpu *g)
{
    const char *model = strchr(text_line(x, 0), ':') + 1, *uuid = strstr(model, "(UUID: ");
    model += strspn(model, " ");
    size_t n = uuid ? (size_t)(uuid - model) : strlen(model);
    while (n && model[n - 1] == ' ')
        n--;
    if (n)
        c->objects[g->object].model = arena_strndup(t->arena, model, n);
    if (uuid && strchr(uuid, ')'))
        g->uuid = arena_strndup(t->arena, uuid + 7, (size_t)(strchr(uuid, ')') - uuid - 7));
}

static int read(struct text *x, struct topology *t, struct topo_class *c)
{
    while (x->at < x->n && begins(x)) {
        struct topo_gpu *g = text_gpu(t, c, (int)gpu_line(text_line(x, 0)));
        if (!g)
            return text_wrong(x, "more than %d GPUs", TOPO_MOST_GPUS);
        struct topo_link l = {.link_kind = TOPO_NVLINK, .gpu = (int)(g - c->gpus), .peer_gpu = -1, .peer_object = -1};
        describe(x, t, c, g);
        for (x->at++; link_line(text_line(x, 0)) || text_is_blank(text_line(x, 0)); x->at++) {
            const char *colon = strchr(text_line(x, 0), ':');
            double GBps = colon ? strtod(colon + 1, NULL) : 0;
            if (x->at >= x->n)
                break;
            if (GBps > 0 && GBps < 1e4) {
                l.count++;
                l.GBps += GBps;
            } else if (colon) {
                g->links_down++;
            }
        }
        if (l.count && c->nlinks < IMPORT_MOST_PORTS)
            build_link(t, c, l);
    }
    return 0;
}

const struct text_reader reader_nvlink = {"nvidia-smi nvlink -s", begins, read, 1};
