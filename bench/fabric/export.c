/* Tries between ports, and interfaces that were tried, as rows. */
#include "bench/fabric/export.h"

#include <math.h>

/* What a row says of; all rows have the same columns. */
struct row {
    const char *from, *from_port, *to, *to_port, *gid, *why;
    double good, GBps, both_GBps, latency_us, messages_per_s, reached, tried;
};

static void add(struct records *r, const struct row *w)
{
    const struct record_cell cells[] = {
        {.name = "from", .text = w->from},
        {.name = "from_port", .text = w->from_port},
        {.name = "to", .text = w->to},
        {.name = "to_port", .text = w->to_port},
        {.name = "gid", .text = w->gid},
        {.name = "why", .text = w->why},
        {"port_pair_good", NULL, w->good, "Whether one port reaches the other with right data."},
        {"port_pair_GBps", NULL, w->GBps, "Bandwidth of writes one way, in GB/s."},
        {"port_pair_both_GBps", NULL, w->both_GBps, "Bandwidth of writes both ways at once, in GB/s."},
        {"port_pair_latency_us", NULL, w->latency_us, "Half of there and back, in microseconds."},
        {"port_pair_messages_per_s", NULL, w->messages_per_s, "Messages of 8 bytes a second."},
        {"interface_reached", NULL, w->reached, "Other nodes whose interface of that name answers."},
        {"interface_tried", NULL, w->tried, "Other nodes that have an interface of that name."},
    };
    records_add(r, cells, sizeof cells / sizeof *cells);
}

static double known(double figure)
{
    return figure > 0 ? figure : NAN;
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

void verbs_fabric_records(const struct verbs_fabric *f, struct records *r)
{
    for (int i = 0; i < f->ntries; i++) {
        const struct verbs_fabric_try *t = &f->tries[i];
        const struct verbs_end from = t->outcome.pair.from, to = t->outcome.pair.to;
        add(r, &(struct row){f->names[from.node], or_empty(f->ports[from.node * f->rails + from.rail].name),
                             f->names[to.node], or_empty(f->ports[to.node * f->rails + to.rail].name), or_empty(t->gid),
                             or_empty(t->outcome.why), t->outcome.verdict == VERBS_GOOD, known(t->outcome.GBps),
                             known(t->both_GBps), known(t->latency_us), known(t->messages_per_s), NAN, NAN});
    }
    for (int i = 0; i < f->ninterfaces; i++) {
        const struct verbs_fabric_interface *n = &f->interfaces[i];
        add(r,
            &(struct row){f->names[n->node], n->name, "", "", "", "", NAN, NAN, NAN, NAN, NAN, n->reached, n->tried});
    }
}
