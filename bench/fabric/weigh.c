/* What is left out so that the rest works: a node, or a rail on all nodes, whichever costs less of the cluster; of two
 * that cost the same the node, whose fault it is.
 *
 * Every fault is explained away by one of a few: that of a port by its node or its rail. The cheapest choice for all of
 * them together is made greedily: first what explains most for its cost. */
#include <string.h>

#include "bench/fabric/fabric_internal.h"

/* What would explain a fault away; -1 not. */
struct remedy {
    int nodes[2], rail;
};

static struct remedy remedy_of(const struct verbs_fault *s)
{
    struct remedy r = {{-1, -1}, -1};
    switch (s->kind) {
    case VERBS_FAULT_PORT:
    case VERBS_FAULT_SENDS:
    case VERBS_FAULT_RECEIVES:
        r = (struct remedy){{s->a.node, -1}, s->a.rail};
        break;
    case VERBS_FAULT_PAIR: /* between two nodes nobody can tell its ends */
        if (s->a.node != s->b.node && s->a.rail == s->b.rail)
            r = (struct remedy){{s->a.node, s->b.node}, s->a.rail};
        break;
    case VERBS_FAULT_RAIL:
        r.rail = s->a.rail;
        break;
    case VERBS_FAULT_NODE:
        r.nodes[0] = s->a.node;
        break;
    default:
        break;
    }
    return r;
}

/* How many of the open faults leaving out a node (or, below, a rail) explains away. */
static int explained_by_node(const struct verbs_decision *d, const char *open, int node)
{
    int n = 0;
    for (int i = 0; i < d->nfaults; i++) {
        struct remedy r = remedy_of(&d->faults[i]);
        n += open[i] && (r.nodes[0] == node || r.nodes[1] == node);
    }
    return n;
}

static int explained_by_rail(const struct verbs_decision *d, const char *open, int rail)
{
    int n = 0;
    for (int i = 0; i < d->nfaults; i++)
        n += open[i] && remedy_of(&d->faults[i]).rail == rail;
    return n;
}

/* The first open fault that it explains away, as a sentence; all of them are closed. */
static const char *close_faults(struct verbs_fabric *f, const struct verbs_decision *d, char *open, int node, int rail)
{
    const char *first = NULL;
    for (int i = 0; i < d->nfaults; i++) {
        struct remedy r = remedy_of(&d->faults[i]);
        int by_node = node >= 0 && (r.nodes[0] == node || r.nodes[1] == node);
        if (!open[i] || !(by_node || (rail >= 0 && r.rail == rail)))
            continue;
        first = first ? first : verbs_fault_text(f, &d->faults[i]);
        open[i] = 0;
    }
    return first ? first : "";
}

static double percent(int of)
{
    return 100.0 / of;
}

static void leave_node_out(struct verbs_fabric *f, struct verbs_decision *d, char *open, int node)
{
    const char *fault = close_faults(f, d, open, node, -1);
    d->nodes_out[node] =
        arena_printf(f->arena,
                     "%s; leaving the node out costs 1 of %d nodes (%.3g %%), leaving its rail out on all "
                     "would cost every node 1 of %d ports (%.3g %%)",
                     fault, f->nodes, percent(f->nodes), f->rails, percent(f->rails));
    d->nnodes_out++;
}

static void leave_rail_out(struct verbs_fabric *f, struct verbs_decision *d, char *open, int rail)
{
    const char *name = f->ports[rail].name ? f->ports[rail].name : "?", *fault = close_faults(f, d, open, -1, rail);
    d->left_out[rail] = arena_printf(f->arena, "without %s: %s; that costs every node 1 of %d ports (%.3g %%)", name,
                                     fault, f->rails, percent(f->rails));
}

void verbs_weigh(struct verbs_fabric *f, struct verbs_decision *d)
{
    char *open = arena_alloc(f->arena, (size_t)d->nfaults + 1);
    int rails_left = f->rails;
    memset(open, 1, (size_t)d->nfaults);
    for (;;) {
        int best_node = -1, best_rail = -1;
        double best = 0;
        /* Two nodes at least, and one rail, must stay. */
        for (int n = 0; n < f->nodes && f->nodes - d->nnodes_out > 2; n++) {
            double worth = (double)explained_by_node(d, open, n) * f->nodes;
            if (!d->nodes_out[n] && worth > best) {
                best = worth;
                best_node = n;
            }
        }
        for (int r = 0; r < f->rails && rails_left > 1; r++) {
            double worth = (double)explained_by_rail(d, open, r) * f->rails;
            if (!d->left_out[r] && worth > best) {
                best = worth;
                best_rail = r;
            }
        }
        if (best_rail >= 0) {
            leave_rail_out(f, d, open, best_rail);
            rails_left--;
        } else if (best_node >= 0) {
            leave_node_out(f, d, open, best_node);
        } else {
            return;
        }
    }
}
