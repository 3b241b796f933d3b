/* Settings from a measured fabric. Each is written only where NCCL's default is wrong. */
#include "bench/fabric/decide.h"

#include <string.h>

#include "bench/fabric/fabric_internal.h"
#include "bench/fabric/findings.h"

/* ---- settings
 * --------------------------------------------------------------------------------------------------------- */

static void add(struct verbs_fabric *f, struct verbs_decision *d, const char *name, const char *value, const char *why)
{
    d->settings = arena_grow(f->arena, d->settings, (size_t)d->nsettings, sizeof *d->settings);
    d->settings[d->nsettings++] = (struct verbs_setting){name, value, why};
}

const char *verbs_hca_list(const struct verbs_fabric *f, const struct verbs_decision *d, int node)
{
    const char *list = "";
    for (int rail = 0; rail < f->rails; rail++) {
        const struct verbs_fabric_port *p = &f->ports[node * f->rails + rail];
        if (!d->left_out[rail] && p->name)
            list = arena_printf(f->arena, "%s%s%s", list, *list ? "," : "=", p->name);
    }
    return list;
}

static void decide_hcas(struct verbs_fabric *f, struct verbs_decision *d)
{
    const char *why = NULL;
    int first = 0;
    verbs_weigh(f, d);
    for (int rail = 0; rail < f->rails; rail++)
        if (d->left_out[rail])
            why = arena_printf(f->arena, "%s%s%s", why ? why : "", why ? "; " : "", d->left_out[rail]);
    while (first < f->nodes - 1 && d->nodes_out[first])
        first++;
    if (why)
        add(f, d, "NCCL_IB_HCA", verbs_hca_list(f, d, first), why);
}

static void decide_cross(struct verbs_fabric *f, struct verbs_decision *d)
{
    for (int i = 0; i < d->nfaults; i++)
        if (d->faults[i].kind == VERBS_FAULT_CROSS && d->faults[i].verdict == VERBS_FAILED)
            add(f, d, "NCCL_CROSS_NIC", "0", verbs_fault_text(f, &d->faults[i]));
}

/* The parts of "NAME=value NAME=value". */
static void add_environment(struct verbs_fabric *f, struct verbs_decision *d, const char *environment)
{
    char *list = arena_strdup(f->arena, environment), *rest = NULL;
    for (char *word = strtok_r(list, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        if (value) {
            *value = '\0';
            add(f, d, word, value + 1, d->gid);
        }
    }
}

/* GIDs of ports that are left out do not count. */
static void decide_gids(struct verbs_fabric *f, struct verbs_decision *d, int nccl)
{
    struct verbs_gid_advice advice;
    struct verbs_gid_table *tables = arena_alloc(f->arena, ((size_t)f->nodes * (size_t)f->rails + 1) * sizeof *tables);
    int n = 0;
    for (int i = 0; i < f->nodes * f->rails; i++)
        if (f->ports[i].name && !d->left_out[i % f->rails] && !d->nodes_out[i / f->rails])
            tables[n++] = f->ports[i].gids;
    verbs_gid_advise(tables, n, nccl, &advice);
    d->gid = arena_strdup(f->arena, advice.why);
    add_environment(f, d, advice.environment);
}

struct verbs_decision verbs_decide(struct verbs_fabric *f, int nccl)
{
    struct verbs_decision d = {.outcomes = arena_alloc(f->arena, ((size_t)f->ntries + 1) * sizeof *d.outcomes)};
    int good = 0;
    d.left_out = arena_alloc(f->arena, ((size_t)f->rails + 1) * sizeof *d.left_out);
    d.nodes_out = arena_alloc(f->arena, ((size_t)f->nodes + 1) * sizeof *d.nodes_out);
    for (int i = 0; i < f->ntries; i++) {
        d.outcomes[i] = f->tries[i].outcome;
        good += d.outcomes[i].verdict == VERBS_GOOD;
    }
    verbs_mark_slow(d.outcomes, f->ntries, VERBS_SLOW_RATIO);
    d.nfaults = verbs_localise(d.outcomes, f->ntries, f->arena, &d.faults);
    for (int i = 0; i < d.nfaults; i++)
        d.nbroken += d.faults[i].kind != VERBS_FAULT_CROSS;
    d.found = verbs_find(f);
    if (f->ntries && !good) {
        d.gid = "no pair of ports connects";
        add(f, &d, "NCCL_IB_DISABLE", "1",
            arena_printf(f->arena, "none of %d pairs of ports connects: RDMA is of no use here until that is repaired",
                         f->ntries));
        return d;
    }
    decide_hcas(f, &d);
    decide_cross(f, &d);
    decide_gids(f, &d, nccl);
    return d;
}
