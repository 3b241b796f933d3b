/* Rounds of disjoint pairs by the circle method of round-robin tournaments: one player stays, the others move on by one
 * seat a round, and who sit opposite meet. With an odd number somebody rests in every round. */
#include "bench/fabric/ports.h"

/* The number of rounds in which each of `n` meets every other once. */
static int rounds_for(int n)
{
    return n < 2 ? 0 : n % 2 ? n : n - 1;
}

/* Who meets in round `round` at table `table` of (n+1)/2; 0 when one of them is nobody. */
static int who_meet(int n, int round, int table, int *x, int *y)
{
    int seats = n + n % 2, moving = seats - 1;
    *x = table == 0 ? moving : (round + table) % moving;
    *y = (round + moving - table) % moving;
    return *x < n && *y < n;
}

static struct verbs_round *add_round(struct arena *a, struct verbs_schedule *s, int tries)
{
    struct verbs_round *r = &ARENA_ADD(a, s->rounds, s->nrounds);
    r->tries = arena_alloc(a, (size_t)tries * sizeof *r->tries);
    return r;
}

/* All nodes meet; rail i of one meets rail i + shift of the other. */
static void add_nodes_round(struct arena *a, struct verbs_schedule *s, int nodes, int rails, int round, int shift)
{
    struct verbs_round *r = add_round(a, s, (nodes + 1) / 2 * rails);
    for (int table = 0; table < (nodes + 1) / 2; table++) {
        int x, y;
        if (!who_meet(nodes, round, table, &x, &y))
            continue;
        for (int i = 0; i < rails; i++)
            r->tries[r->ntries++] = (struct verbs_try){{x, i}, {y, (i + shift) % rails}};
    }
}

static void add_ports_round(struct arena *a, struct verbs_schedule *s, int nodes, int rails, int round, int back)
{
    int ports = nodes * rails;
    struct verbs_round *r = add_round(a, s, (ports + 1) / 2);
    for (int table = 0; table < (ports + 1) / 2; table++) {
        int x, y;
        if (!who_meet(ports, round, table, &x, &y))
            continue;
        struct verbs_end ends[2] = {{x / rails, x % rails}, {y / rails, y % rails}};
        r->tries[r->ntries++] = (struct verbs_try){ends[back], ends[!back]};
    }
}

struct verbs_schedule *verbs_schedule_make(struct arena *a, enum verbs_plan plan, int nodes, int rails)
{
    struct verbs_schedule *s = ARENA_NEW(a, struct verbs_schedule);
    int of_nodes = rounds_for(nodes), of_ports = rounds_for(nodes * rails);
    switch (plan) {
    case VERBS_PLAN_RAILS:
        for (int round = 0; round < of_nodes; round++)
            add_nodes_round(a, s, nodes, rails, round, 0);
        break;
    case VERBS_PLAN_CROSS:
        for (int round = 0; round < of_nodes && rails > 1; round++)
            add_nodes_round(a, s, nodes, rails, round, 1 + round % (rails - 1));
        break;
    case VERBS_PLAN_REACH:
        for (int round = 0; round < of_nodes; round++)
            for (int shift = 0; shift < rails; shift++)
                add_nodes_round(a, s, nodes, rails, round, shift);
        break;
    case VERBS_PLAN_MATRIX:
        for (int round = 0; round < of_ports; round++)
            for (int back = 0; back < 2; back++)
                add_ports_round(a, s, nodes, rails, round, back);
        break;
    }
    return s;
}
