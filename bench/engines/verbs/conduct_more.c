/* What is measured beside the tries: sizes, GPUs; what ports and network interfaces are. */

#include "bench/engines/verbs/conduct_internal.h"

/* Up to so many nodes an interface is tried against that of every other; beyond, against those 1, 2, 4, … further. */
#define NET_ALL 64

/* ---- the sweep --------------------------------------------------------------------------------------------------- */

void verbs_conduct_sweep(struct verbs_conductor *c, const struct verbs_schedule *s, uint64_t most_bytes)
{
    static const int qps[] = {1, 2, 4};
    for (int i = 0; s->nrounds && i < 3 && !c->over; i++) {
        verbs_conduct_turn(c);
        for (int k = 0; k < s->rounds[0].ntries; k++)
            verbs_conduct_pair(c, &s->rounds[0].tries[k],
                               (struct verbs_order){.what = VERBS_SWEEP, .qps = qps[i], .bytes = most_bytes});
        verbs_conduct_wait(c);
    }
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

static void say_gpu(const struct verbs_conductor *c, struct verbs_end owner, int index, struct verbs_answer *t)
{
    t->pci[sizeof t->pci - 1] = t->via[sizeof t->via - 1] = t->why[sizeof t->why - 1] = 0;
    struct verbs_fabric_gpu g = {.node = owner.node,
                                 .rail = owner.rail,
                                 .gpu = index,
                                 .pci = t->pci,
                                 .via = t->via[0] ? t->via : NULL,
                                 .why = t->why[0] ? t->why : NULL,
                                 .send_GBps = t->GBps,
                                 .receive_GBps = t->both_GBps};
    verbs_conduct_say(c, "gpu_memory", verbs_fabric_json(VERBS_PART_GPU, &g));
}

/* One GPU of the owners, who are the tries' leads or the others. A port that has had its turn only helps its partner.
 */
static void try_gpu(struct verbs_conductor *c, const struct verbs_round *r, int index, int lead_owns, const int *gpus,
                    const char *done)
{
    verbs_conduct_turn(c);
    for (int i = 0; i < r->ntries; i++)
        verbs_conduct_pair(c, &r->tries[i],
                           (struct verbs_order){.what = VERBS_TRY_GPU, .number = index, .owns = lead_owns});
    if (verbs_conduct_wait(c))
        return;
    for (int i = 0; i < r->ntries; i++) {
        struct verbs_end owner = lead_owns ? r->tries[i].from : r->tries[i].to;
        int rank = verbs_conduct_rank(c, owner);
        if (index < gpus[rank] && !done[rank])
            say_gpu(c, owner, index, &c->answers[rank]);
    }
}

/* The tries of a round with a port that has not had its turn. */
static struct verbs_round still_open(const struct verbs_conductor *c, const struct verbs_round *r, const char *done)
{
    struct verbs_round open = {.tries = arena_alloc(c->arena, (size_t)r->ntries * sizeof *open.tries)};
    for (int i = 0; i < r->ntries; i++)
        if (!done[verbs_conduct_rank(c, r->tries[i].from)] || !done[verbs_conduct_rank(c, r->tries[i].to)])
            open.tries[open.ntries++] = r->tries[i];
    return open;
}

static int count_gpus(struct verbs_conductor *c, int *gpus)
{
    int most = 0;
    verbs_conduct_turn(c);
    for (int r = 0; r < c->ranks; r++)
        verbs_conduct_order(c, r, (struct verbs_order){.what = VERBS_GPUS});
    verbs_conduct_wait(c);
    for (int r = 0; r < c->ranks; r++) {
        gpus[r] = c->answers[r].count;
        most = gpus[r] > most ? gpus[r] : most;
    }
    return most;
}

void verbs_conduct_gpus(struct verbs_conductor *c, const struct verbs_schedule *s)
{
    char *done = arena_alloc(c->arena, (size_t)c->ranks);
    int *gpus = arena_alloc(c->arena, (size_t)c->ranks * sizeof *gpus);
    int most = s->nrounds ? count_gpus(c, gpus) : 0;
    /* Where the number is odd, one rests in the first round. */
    for (int round = 0; most && round < s->nrounds; round++) {
        const struct verbs_round open = still_open(c, &s->rounds[round], done);
        for (int index = 0; open.ntries && index < most; index++)
            for (int lead_owns = 0; lead_owns < 2 && !c->over; lead_owns++)
                try_gpu(c, &open, index, lead_owns, gpus, done);
        for (int i = 0; i < open.ntries; i++)
            done[verbs_conduct_rank(c, open.tries[i].from)] = done[verbs_conduct_rank(c, open.tries[i].to)] = 1;
    }
}

/* ---- ports and interfaces ---------------------------------------------------------------------------------------- */

void verbs_conduct_ports(struct verbs_conductor *c)
{
    verbs_conduct_turn(c);
    for (int r = 0; r < c->ranks; r++)
        if (c->who[r].port[0]) /* else its node has fewer than another */
            verbs_conduct_order(c, r, (struct verbs_order){.what = VERBS_PORT});
    verbs_conduct_wait(c);
}

/* The first process of each node does it for all. */
static int all_nodes(struct verbs_conductor *c, enum verbs_what what)
{
    verbs_conduct_turn(c);
    for (int node = 0; node < c->nodes; node++)
        verbs_conduct_order(c, node * (c->rails ? c->rails : 1), (struct verbs_order){.what = what});
    return verbs_conduct_wait(c);
}

static void say_node(const struct verbs_conductor *c, int node, const struct verbs_answer *a)
{
    const struct verbs_net_list *nets = &c->nets[node];
    for (int i = 0; i < nets->n && i < VERBS_NETS; i++) {
        char address[VERBS_NET_TEXT];
        struct verbs_fabric_interface one = {.node = node,
                                             .name = nets->nets[i].name,
                                             .address = verbs_net_address(address, &nets->nets[i]),
                                             .reached = a->reached[i],
                                             .tried = a->count};
        verbs_conduct_say(c, "interface", verbs_fabric_json(VERBS_PART_INTERFACE, &one));
    }
}

void verbs_conduct_interfaces(struct verbs_conductor *c)
{
    const int per_node = c->rails ? c->rails : 1;
    if (all_nodes(c, VERBS_LISTEN))
        return;
    for (int node = 0; node < c->nodes; node++)
        for (int step = 1; step < c->nodes; step = c->nodes <= NET_ALL ? step + 1 : step * 2)
            agents_send(c->agents, node, VERBS_NET_LIST, node * per_node, &c->nets[(node + step) % c->nodes],
                        sizeof *c->nets);
    if (all_nodes(c, VERBS_TRY_NETS))
        return;
    for (int node = 0; node < c->nodes; node++)
        say_node(c, node, &c->answers[node * per_node]);
    /* Whoever listens does so until all have tried. */
    all_nodes(c, VERBS_DEAFEN);
}
