/* What ibnetdiscover prints: which switch every HCA hangs on, and which fabric that switch is part of. One run prints
 * one fabric; a file may hold the output of several.
 *
 *   Switch  40 "S-b8cef60300aa0000"   # "leaf-1" …
 *   [7]  "H-506b4b0300ca1f2e"[1](506b4b0300ca1f2f)   # "node1 mlx5_0" lid 12 4xNDR */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "probe/cluster/cluster.h"
#include "probe/topology/build.h"

/* A port of an HCA, on a port of a switch. */
struct end {
    uint64_t guid; /* node GUID of the HCA */
    int port, switch_port;
    int at; /* index into switches */
};

struct leaf {
    uint64_t guid;
    const char *name;
    int fabric; /* index of a switch that it is connected to; the smallest one stands for the fabric */
};

struct cable {
    int from; /* index into switches */
    uint64_t to;
};

struct switches {
    struct arena *a;
    struct end *ends;
    struct leaf *leaves;
    struct cable *cables;
    int n, nswitches, ncables;
};

/* What stands in quotes behind the '#', or the GUID when there is nothing. */
static const char *switch_name(struct arena *a, const char *line, uint64_t guid)
{
    const char *hash = strchr(line, '#'), *open = hash ? strchr(hash, '"') : NULL;
    const char *close = open ? strchr(open + 1, '"') : NULL;
    return close && close > open + 1 ? arena_strndup(a, open + 1, (size_t)(close - open - 1))
                                     : arena_printf(a, "0x%016" PRIx64, guid);
}

/* [7] "H-506b4b0300ca1f2e"[1]: what the cable of a switch's port leads to, 'H' for an HCA, 'S' for a switch; 0 for
 * another line. */
static char read_end(const char *line, struct end *end)
{
    char kind;
    // NOLINTNEXTLINE(cert-err34-c): the widths keep every number in its type
    int n = sscanf(line, "[%5d] \"%c-%16" SCNx64 "\"[%3d]", &end->switch_port, &kind, &end->guid, &end->port);
    return n == 4 ? kind : 0;
}

static int compare_ends(const void *x, const void *y)
{
    const struct end *a = x, *b = y;
    return a->guid != b->guid ? (a->guid > b->guid) - (a->guid < b->guid) : a->port - b->port;
}

/* Each switch on the way gets nearer to its end: chains in a hostile file stay short. */
static int fabric_of(const struct switches *f, int i)
{
    while (f->leaves[i].fabric != i)
        i = f->leaves[i].fabric = f->leaves[f->leaves[i].fabric].fabric;
    return i;
}

static int compare_leaves(const void *x, const void *y)
{
    const struct leaf *a = *(struct leaf *const *)x, *b = *(struct leaf *const *)y;
    return (a->guid > b->guid) - (a->guid < b->guid);
}

static void join(const struct switches *f, int i, int k)
{
    int a = fabric_of(f, i), b = fabric_of(f, k);
    f->leaves[a > b ? a : b].fabric = a < b ? a : b;
}

/* Joins the fabrics of switches that a cable connects, or that are one switch in two outputs. */
static void join_fabrics(struct switches *f)
{
    struct leaf **by_guid = arena_alloc(f->a, (size_t)f->nswitches * sizeof *by_guid);
    for (int i = 0; i < f->nswitches; i++)
        by_guid[i] = &f->leaves[i];
    qsort(by_guid, (size_t)f->nswitches, sizeof *by_guid, compare_leaves);
    for (int i = 1; i < f->nswitches; i++)
        if (by_guid[i]->guid == by_guid[i - 1]->guid)
            join(f, (int)(by_guid[i] - f->leaves), (int)(by_guid[i - 1] - f->leaves));
    for (int i = 0; i < f->ncables; i++) {
        struct leaf key = {.guid = f->cables[i].to}, *wanted = &key;
        struct leaf **to = bsearch(&wanted, by_guid, (size_t)f->nswitches, sizeof *by_guid, compare_leaves);
        if (to)
            join(f, f->cables[i].from, (int)(*to - f->leaves));
    }
}

static int read_text(struct switches *f, char *text, const char *path, struct err *e)
{
    int current = -1;
    char *rest = text;
    for (long number = 1; rest; number++) {
        const char *line = strsep(&rest, "\n");
        struct end end = {.at = current};
        if (!strncmp(line, "Switch", 6)) {
            // NOLINTNEXTLINE(cert-err34-c): as above
            if (sscanf(line, "Switch %*u \"S-%16" SCNx64, &end.guid) != 1)
                return err_at(e, path, number, 0, "expected Switch PORTS \"S-GUID\"");
            current = f->nswitches;
            ARENA_ADD(f->a, f->leaves, f->nswitches) =
                (struct leaf){end.guid, switch_name(f->a, line, end.guid), current};
        } else if (!strncmp(line, "Ca", 2) || !strncmp(line, "Rt", 2)) {
            current = -1;
        } else if (current >= 0) {
            char kind = read_end(line, &end);
            if (kind == 'S')
                ARENA_ADD(f->a, f->cables, f->ncables) = (struct cable){current, end.guid};
            else if (kind == 'H')
                ARENA_ADD(f->a, f->ends, f->n) = end;
        }
    }
    if (!f->nswitches)
        return err_at(e, path, 0, 0, "expected what ibnetdiscover prints, found no line that begins with Switch");
    join_fabrics(f);
    if (f->n)
        qsort(f->ends, (size_t)f->n, sizeof *f->ends, compare_ends);
    return 0;
}

/* All ports of the HCA with that GUID; how many were found. */
static int add_leaves(struct topology *t, struct topo_host *h, const struct switches *f, const char *hca, uint64_t guid)
{
    int low = 0, high = f->n, found = 0;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (f->ends[middle].guid < guid)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < f->n && f->ends[low].guid == guid; low++, found++) {
        const struct end *end = &f->ends[low];
        const struct leaf *fabric = &f->leaves[fabric_of(f, end->at)];
        struct topo_class *c = &t->classes[h->class_index];
        int port = topo_find_port(c, hca, end->port);
        build_text(
            t, &h->leaves, &h->nleaves,
            arena_printf(t->arena, "%s:%d %s port %d", hca, end->port, f->leaves[end->at].name, end->switch_port));
        if (port >= 0)
            c->ports[port].fabric = arena_printf(t->arena, "%s (0x%016" PRIx64 ")", fabric->name, fabric->guid);
    }
    return found;
}

/* By the host's addresses, "mlx5_0 0x506b4b0300ca1f2e"; recorded machines have none beside their class, whose GUIDs are
 * those of its only host. */
static int add_leaves_of_host(struct topology *t, struct topo_host *h, const struct switches *f)
{
    const struct topo_class *c = &t->classes[h->class_index];
    int found = 0;
    for (int i = 0; i < h->naddresses; i++) {
        const char *blank = strchr(h->addresses[i], ' ');
        if (blank && !strncmp(blank, " 0x", 3))
            found += add_leaves(t, h, f, arena_strndup(t->arena, h->addresses[i], (size_t)(blank - h->addresses[i])),
                                strtoull(blank + 1, NULL, 16));
    }
    for (int i = 0; i < c->nports && !h->naddresses; i++)
        if (c->ports[i].guid && (i == 0 || strcmp(c->ports[i].hca, c->ports[i - 1].hca) != 0))
            found += add_leaves(t, h, f, c->ports[i].hca, strtoull(c->ports[i].guid, NULL, 16));
    return found;
}

/* InfiniBand ports of a class of which others are in the file, and these are not. */
static void mark_elsewhere(struct topo_class *c)
{
    int found = 0;
    for (int i = 0; i < c->nports; i++)
        found |= c->ports[i].fabric != NULL;
    for (int i = 0; i < c->nports && found; i++)
        if (!c->ports[i].fabric && c->ports[i].layer == TOPO_LINK_INFINIBAND && c->ports[i].state == TOPO_STATE_ACTIVE)
            c->ports[i].fabric = "not in the output of ibnetdiscover";
}

int ibnetdiscover_read(struct topology *t, const char *path, struct log *log, struct err *e)
{
    struct switches f = {.a = arena_new()};
    char *text;
    size_t bytes;
    int found = 0, rc = file_read_text(path, FILE_LIMIT, f.a, &text, &bytes, e);
    if (!rc)
        rc = read_text(&f, text, path, e);
    for (int i = 0; i < t->nhosts && !rc; i++)
        found += add_leaves_of_host(t, &t->hosts[i], &f);
    for (int i = 0; i < t->nclasses && found; i++)
        mark_elsewhere(&t->classes[i]);
    if (!rc) {
        log_info(log, "%s: %d switches, %d ports of HCAs, %d of them of the nodes here", path, f.nswitches, f.n, found);
        if (!found && f.n)
            log_warn(log, "%s: none of its HCAs is one of the nodes here", path);
    }
    arena_free(f.a);
    return rc;
}
