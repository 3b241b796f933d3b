/* Ports and faults in words. */
#include "bench/fabric/decide.h"

static const char *port_text(const struct verbs_fabric *f, struct verbs_end p)
{
    const struct verbs_fabric_port *port = &f->ports[p.node * f->rails + p.rail];
    return arena_printf(f->arena, "%s %s", port->node ? port->node : "?", port->name ? port->name : "?");
}

static const char *rail_name(const struct verbs_fabric *f, int rail)
{
    return f->ports[rail].name ? f->ports[rail].name : "?";
}

const char *verbs_fault_name(const struct verbs_fabric *f, const struct verbs_fault *s)
{
    switch (s->kind) {
    case VERBS_FAULT_ALL:
        return "everything:";
    case VERBS_FAULT_NODE:
        return arena_printf(f->arena, "node %s, all its ports:", f->ports[s->a.node * f->rails].node);
    case VERBS_FAULT_SENDS:
        return arena_printf(f->arena, "%s, what it sends:", port_text(f, s->a));
    case VERBS_FAULT_RECEIVES:
        return arena_printf(f->arena, "%s, what it receives:", port_text(f, s->a));
    case VERBS_FAULT_PORT:
        return arena_printf(f->arena, "%s, or its cable:", port_text(f, s->a));
    case VERBS_FAULT_CROSS:
        return "between different rails:";
    case VERBS_FAULT_RAIL:
        return arena_printf(f->arena, "rail %d (%s), between nodes:", s->a.rail, rail_name(f, s->a.rail));
    default:
        return arena_printf(f->arena, "between %s and %s:", port_text(f, s->a), port_text(f, s->b));
    }
}

const char *verbs_fault_text(const struct verbs_fabric *f, const struct verbs_fault *s)
{
    if (s->verdict == VERBS_SLOW)
        return arena_printf(f->arena, "%s %d of %d tries slow, median %.3g GB/s, others %.3g GB/s",
                            verbs_fault_name(f, s), s->bad, s->tried, s->GBps, s->others_GBps);
    return arena_printf(f->arena, "%s %d of %d tries failed; the first: %s", verbs_fault_name(f, s), s->bad, s->tried,
                        s->why ? s->why : "for no known reason");
}

const char *verbs_untried(const struct verbs_fabric *f, int *count)
{
    const int most = 16;
    char *tried = arena_alloc(f->arena, (size_t)f->nodes * (size_t)f->rails + 1);
    const char *list = "";
    for (int i = 0; i < f->ntries; i++) {
        const struct verbs_try *t = &f->tries[i].outcome.pair;
        tried[t->from.node * f->rails + t->from.rail] = tried[t->to.node * f->rails + t->to.rail] = 1;
    }
    *count = 0;
    for (int i = 0; i < f->nodes * f->rails; i++)
        if (f->ports[i].name && !tried[i] && (*count)++ < most)
            list = arena_printf(f->arena, "%s%s%s", list, *list ? ", " : "",
                                port_text(f, (struct verbs_end){i / f->rails, i % f->rails}));
    return *count > most ? arena_printf(f->arena, "%s and %d more", list, *count - most) : list;
}
