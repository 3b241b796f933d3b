/* A measured fabric for people: faults, heat map, settings. */
#include <stdlib.h>

#include "bench/fabric/fabric.h"
#include "core/stats.h"

/* ---- what is known of each port ---- */

/* A bandwidth that a port has seen, sending (0) or receiving (1), for sorting. */
struct seen {
    int port, side;
    double GBps;
};

static int by_port(const void *x, const void *y)
{
    const struct seen *a = x, *b = y;
    return a->port != b->port ? a->port - b->port : a->side - b->side;
}

/* Medians of both directions; the lesser one stays. */
static void add_medians(struct verbs_cell *cells, struct seen *seen, int n, double *scratch)
{
    qsort(seen, (size_t)n, sizeof *seen, by_port);
    for (int i = 0, next; i < n; i = next) {
        for (next = i; next < n && seen[next].port == seen[i].port && seen[next].side == seen[i].side; next++)
            scratch[next - i] = seen[next].GBps;
        struct verbs_cell *c = &cells[seen[i].port];
        double median = stats_median(scratch, next - i);
        c->GBps = c->GBps > 0 && c->GBps < median ? c->GBps : median;
    }
}

/* What is known of a port, sending (0) and receiving (1). */
struct count {
    int tried[2], bad[2];
    int faulty[2]; /* it is at fault for what goes badly there */
};

static void mark_suspected(const struct verbs_fabric *f, const struct verbs_decision *d, struct count *counts)
{
    for (int i = 0; i < d->nfaults; i++) {
        const struct verbs_fault *s = &d->faults[i];
        int sends = s->kind == VERBS_FAULT_SENDS || s->kind == VERBS_FAULT_PORT;
        int receives = s->kind == VERBS_FAULT_RECEIVES || s->kind == VERBS_FAULT_PORT;
        struct count *c = &counts[verbs_port_index(f, s->a)];
        c->faulty[0] |= sends;
        c->faulty[1] |= receives;
        for (int rail = 0; s->kind == VERBS_FAULT_NODE && rail < f->rails; rail++) {
            struct count *of_node = &counts[verbs_port_index(f, (struct verbs_end){s->a.node, rail})];
            of_node->faulty[0] = of_node->faulty[1] = 1;
        }
    }
}

struct verbs_cell *verbs_cells(const struct verbs_fabric *f, const struct verbs_decision *d)
{
    size_t ports = (size_t)f->nodes * (size_t)f->rails;
    struct verbs_cell *cells = arena_alloc(f->arena, (ports + 1) * sizeof *cells);
    struct verbs_cell *excused = arena_alloc(f->arena, (ports + 1) * sizeof *excused);
    struct count *counts = arena_alloc(f->arena, (ports + 1) * sizeof *counts);
    struct seen *seen = arena_alloc(f->arena, ((size_t)f->ntries * 2 + 1) * sizeof *seen);
    struct seen *others = arena_alloc(f->arena, ((size_t)f->ntries * 2 + 1) * sizeof *others);
    double *scratch = arena_alloc(f->arena, ((size_t)f->ntries * 2 + 1) * sizeof *scratch);
    int nseen = 0, nothers = 0;
    mark_suspected(f, d, counts);
    for (int i = 0; i < f->ntries; i++) {
        const struct verbs_outcome *o = &d->outcomes[i];
        const int ends[] = {verbs_port_index(f, o->pair.from), verbs_port_index(f, o->pair.to)};
        for (int side = 0; side < 2; side++) {
            struct count *mine = &counts[ends[side]];
            int bad = o->verdict != VERBS_GOOD;
            int excuse = bad && counts[ends[!side]].faulty[!side] && !mine->faulty[side];
            mine->tried[side] += !excuse;
            mine->bad[side] += bad && !excuse;
            if (o->GBps > 0)
                *(excuse ? &others[nothers++] : &seen[nseen++]) = (struct seen){ends[side], side, o->GBps};
        }
    }
    add_medians(cells, seen, nseen, scratch);
    add_medians(excused, others, nothers, scratch);
    for (size_t i = 0; i < ports; i++) {
        const struct count *c = &counts[i];
        cells[i].outlier = c->bad[0] * 2 > c->tried[0] || c->bad[1] * 2 > c->tried[1];
        /* Where the other ends are at fault for all that was tried, it is all there is to show. */
        if (cells[i].GBps <= 0)
            cells[i].GBps = excused[i].GBps;
    }
    return cells;
}

/* ---- text ---- */

/* What a wide terminal holds. */
#define MOST_PAIRED 16

/* From the fastest to the slowest, by parts of the fastest; the last takes the rest. */
static const struct {
    double from;
    const char *color;
} shades[] = {{0.8, "\033[42;30m"}, {0.5, "\033[43;30m"}, {0, "\033[41;37m"}};

static const char *port_name(const struct verbs_fabric *f, struct verbs_end end)
{
    const char *name = f->ports[verbs_port_index(f, end)].name;
    return name ? name : "?";
}

static void print_cell(const struct verbs_decision *d, int try, double most, int color, FILE *out)
{
    const struct verbs_outcome *o = &d->outcomes[try];
    char text[16];
    if (o->verdict == VERBS_FAILED)
        snprintf(text, sizeof text, "failed");
    else
        snprintf(text, sizeof text, "%.3g%s", o->GBps, o->verdict == VERBS_SLOW ? "!" : "");
    size_t shade = 0;
    while (shade + 1 < sizeof shades / sizeof *shades &&
           (o->verdict == VERBS_FAILED || o->GBps < shades[shade].from * most))
        shade++;
    if (color)
        fprintf(out, " %s%8s\033[0m", shades[shade].color, text);
    else
        fprintf(out, " %8s", text);
}

/* Rows write to columns, GB/s; the latest try of a pair counts. */
static void print_map(const struct verbs_fabric *f, const struct verbs_decision *d, int color, FILE *out)
{
    int ports = f->nodes * f->rails;
    double most = 0;
    for (int i = 0; i < f->ntries; i++)
        most = f->tries[i].outcome.GBps > most ? f->tries[i].outcome.GBps : most;
    fprintf(out, "\nWrite bandwidth, GB/s (rows write to columns; ! less than half of the median)\n%16s", "");
    for (int y = 0; y < ports; y++)
        fprintf(out, " %8.8s", f->ports[y].name ? f->ports[y].name : "?");
    fputc('\n', out);
    for (int x = 0; x < ports; x++) {
        fprintf(out, "%7.7s %8.8s", f->ports[x].node ? f->ports[x].node : "?",
                f->ports[x].name ? f->ports[x].name : "?");
        for (int y = 0; y < ports; y++) {
            int found = verbs_find_try(f, x, y);
            if (found >= 0)
                print_cell(d, found, most, color, out);
            else
                fprintf(out, " %8s", x == y ? "-" : "");
        }
        fputc('\n', out);
    }
}

/* Every port, where there are too many for pairs. */
static void print_rails(const struct verbs_fabric *f, const struct verbs_decision *d, FILE *out)
{
    const struct verbs_cell *cells = verbs_cells(f, d);
    fputs(
        "\nBandwidth of every port, sent or received, whichever is less, GB/s (nodes down, rails across; ! most of it "
        "slow or failed)\n",
        out);
    for (int node = 0; node < f->nodes; node++) {
        fprintf(out, "%16.16s", f->names[node]);
        for (int rail = 0; rail < f->rails; rail++) {
            const struct verbs_cell *c = &cells[node * f->rails + rail];
            fprintf(out, " %7.3g%c", c->GBps, c->outlier ? '!' : ' ');
        }
        fputc('\n', out);
    }
}

/* Interfaces that do not lead to every node; how many do is said in any case. */
static void print_interfaces(const struct verbs_fabric *f, FILE *out)
{
    int full = 0;
    for (int i = 0; i < f->ninterfaces; i++)
        full += f->interfaces[i].reached == f->interfaces[i].tried;
    if (f->ninterfaces)
        fprintf(out, "\nNetwork interfaces: %d of %d reach every node that was tried\n", full, f->ninterfaces);
    for (int i = 0; i < f->ninterfaces; i++) {
        const struct verbs_fabric_interface *n = &f->interfaces[i];
        if (n->reached < n->tried)
            fprintf(out, "  %s %s (%s): %d of %d nodes answer\n", f->names[n->node], n->name, n->address, n->reached,
                    n->tried);
    }
}

/* What each port does with each GPU of the first node that has any. */
static void print_gpus(const struct verbs_fabric *f, FILE *out)
{
    int node = f->gpus[0].node, most = 0;
    const char *via = NULL, *why = NULL;
    fprintf(out, "\nGPU memory of %s, GB/s sent and received (the document has the other nodes)\n%16s", f->names[node],
            "");
    for (int rail = 0; rail < f->rails; rail++)
        fprintf(out, " %15s", port_name(f, (struct verbs_end){node, rail}));
    fputc('\n', out);
    for (int i = 0; i < f->ngpus; i++)
        most = f->gpus[i].node == node && f->gpus[i].gpu > most ? f->gpus[i].gpu : most;
    for (int gpu = 0; gpu <= most; gpu++) {
        fprintf(out, "%12s %3d", "GPU", gpu);
        for (int rail = 0; rail < f->rails; rail++)
            for (int i = 0; i < f->ngpus; i++) {
                const struct verbs_fabric_gpu *g = &f->gpus[i];
                if (g->node != node || g->gpu != gpu || g->rail != rail)
                    continue;
                fprintf(out, " %7.3g %7.3g", g->send_GBps, g->receive_GBps);
                via = via ? via : g->via;
                why = why ? why : g->why;
            }
        fputc('\n', out);
    }
    if (via)
        fprintf(out, "  registered by %s\n", via);
    if (why)
        fprintf(out, "  failed: %s\n", why);
}

static void print_faults(const struct verbs_fabric *f, const struct verbs_decision *d, FILE *out)
{
    int untried = 0;
    const char *list = verbs_untried(f, &untried);
    if (d->nfaults)
        fputs("Faults:\n", out);
    else if (f->rails && f->ntries)
        fprintf(out, "No faults: all %d tries worked.\n", f->ntries);
    else
        fputs(f->rails ? "No pair of ports was tried.\n" : "There is no RDMA port.\n", out);
    for (int i = 0; i < d->nfaults; i++)
        fprintf(out, "  %s\n", verbs_fault_text(f, &d->faults[i]));
    if (untried && f->ntries)
        fprintf(out, "Not tried: %s\n", list);
    for (int i = 0; i < f->nodes && d->nnodes_out; i++)
        if (d->nodes_out[i])
            fprintf(out, "Leave out %s: %s\n", f->names[i], d->nodes_out[i]);
}

void verbs_print(const struct verbs_fabric *f, const struct verbs_decision *d, int color, FILE *out)
{
    print_faults(f, d, out);
    if (f->rails && f->nodes * f->rails <= MOST_PAIRED)
        print_map(f, d, color, out);
    else if (f->rails)
        print_rails(f, d, out);
    fputs(d->found.n ? "\nFindings:\n" : "", out);
    for (int i = 0; i < d->found.n; i++)
        finding_print(&d->found.list[i], 2, out);
    if (f->ngpus)
        print_gpus(f, out);
    print_interfaces(f, out);
    if (f->rails)
        fprintf(out, "\nGIDs: %s\n", d->gid);
    if (!d->nsettings)
        fputs(f->rails ? "Settings: none; NCCL's defaults are right.\n" : "\nSettings: none; NCCL uses sockets.\n",
              out);
    for (int i = 0; i < d->nsettings; i++)
        fprintf(out, "%s%s=%s\n    %s\n", i ? "" : "Settings:\n", d->settings[i].name, d->settings[i].value,
                d->settings[i].why);
}
