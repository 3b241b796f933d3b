/* OpenMPI's dynamic rules from the decisions of the `mpi` engine. */
#include "envgen/decide/decide.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll.h"
#include "core/units.h"

/* OpenMPI's chain broadcast takes its fan-out from the rule, and from coll_tuned_init_chain_fanout (4) without one. */
#define CHAIN_FANOUT 4

/* OpenMPI's collectives that bench measures, with the results' collective that each belongs to. */
static const struct {
    const char *name;
    int id, coll;
} known[] = {
    {"allgather", 0, COLL_ALLGATHER},
    {"allreduce", 2, COLL_ALLREDUCE},
    {"alltoall", 3, COLL_ALLTOALL},
    {"bcast", 7, COLL_BROADCAST},
    {"reduce", 11, COLL_REDUCE},
    {"reduce_scatter", 12, COLL_REDUCESCATTER},
    {"reduce_scatter_block", 13, COLL_REDUCESCATTER},
};
#define NKNOWN ((int)(sizeof known / sizeof *known))

/* The columns of a rule that a setting coll_tuned_NAME_SUFFIX stands for. */
static const struct {
    const char *suffix;
    size_t offset;
} columns[] = {
    {"algorithm", offsetof(struct env_rule, algorithm)},
    {"algorithm_segmentsize", offsetof(struct env_rule, segment_bytes)},
    {"algorithm_chain_fanout", offsetof(struct env_rule, fanout)},
};

/* ---- one range ---- */

/* Reads one setting into the rule when it is of collective `k`. `*taken` says whether it was. */
static int read_setting(const struct bench_setting *s, int k, struct env_rule *rule, int *taken, struct err *e)
{
    static const char prefix[] = "coll_tuned_";
    size_t n = strlen(known[k].name);
    const char *rest = s->name + sizeof prefix - 1;
    *taken = 0;
    if (strncmp(s->name, prefix, sizeof prefix - 1) != 0 || strncmp(rest, known[k].name, n) != 0 || rest[n] != '_')
        return 0;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (strcmp(rest + n + 1, columns[i].suffix) != 0)
            continue;
        *taken = 1;
        return unit_parse_int(s->value, 0, INT32_MAX, (long *)((char *)rule + columns[i].offset), s->name, e)
                   ? ERR_FAILED
                   : 0;
    }
    return 0;
}

/* Every setting of a call has to be a column of one of the collective's rules. */
static int check_settings(const struct bench_knobs *call, int coll, struct err *e)
{
    for (int i = 0; i < call->nsettings; i++) {
        int taken = 0, rc = 0;
        for (int k = 0; k < NKNOWN && !taken && !rc; k++)
            if (known[k].coll == coll)
                rc = read_setting(&call->settings[i], k, &(struct env_rule){0}, &taken, e);
        if (rc || !taken)
            return rc ? rc
                      : err_set(e, ERR_FAILED, "%s, call '%s': the setting %s cannot be expressed as a rule of OpenMPI",
                                coll_name(coll), call->label, call->settings[i].name);
    }
    return 0;
}

static struct env_rule rule_of(const struct env_range *r, int k)
{
    struct env_rule rule = {.fanout = known[k].coll == COLL_BROADCAST ? CHAIN_FANOUT : 0};
    int taken;
    for (int i = 0; i < r->call.nsettings; i++)
        read_setting(&r->call.settings[i], k, &rule, &taken, NULL);
    if (!rule.algorithm)
        rule = (struct env_rule){0};
    rule.min_bytes = r->min_bytes;
    return rule;
}

/* ---- one communicator size ---- */

static int same_rule(const struct env_rule *x, const struct env_rule *y)
{
    return x->algorithm == y->algorithm && x->fanout == y->fanout && x->segment_bytes == y->segment_bytes;
}

static void add_rule(struct arena *a, struct env_rule_set *set, struct env_rule rule)
{
    if (set->nrules && same_rule(&set->rules[set->nrules - 1], &rule))
        return;
    ARENA_ADD(a, set->rules, set->nrules) = rule;
}

static const struct env_rule *rule_at(const struct env_rule_set *set, uint64_t bytes)
{
    const struct env_rule *best = &set->rules[0];
    for (int i = 1; i < set->nrules && set->rules[i].min_bytes <= bytes; i++)
        best = &set->rules[i];
    return best;
}

/* Rules stand where both sets have the same one, algorithm 0 elsewhere. */
static struct env_rule_set intersect(struct arena *a, const struct env_rule_set *x, const struct env_rule_set *y)
{
    struct env_rule_set out = {.ranks = x->ranks};
    for (int i = 0, k = 0; i < x->nrules || k < y->nrules;) {
        uint64_t at_x = i < x->nrules ? x->rules[i].min_bytes : UINT64_MAX;
        uint64_t at_y = k < y->nrules ? y->rules[k].min_bytes : UINT64_MAX;
        uint64_t at = at_x < at_y ? at_x : at_y;
        i += at_x == at;
        k += at_y == at;
        struct env_rule rule = *rule_at(x, at);
        if (!same_rule(&rule, rule_at(y, at)))
            rule = (struct env_rule){0};
        rule.min_bytes = at;
        add_rule(a, &out, rule);
    }
    return out;
}

/* ---- one collective ---- */

/* The rules for `ranks` of OpenMPI's collective `k`. */
static void add_set(struct arena *a, struct env_rule_coll *out, const struct env_coll *c, int ranks, int k)
{
    struct env_rule_set set = {.ranks = ranks};
    if (!c->nranges || c->ranges[0].min_bytes > 0)
        add_rule(a, &set, (struct env_rule){0});
    for (int i = 0; i < c->nranges; i++)
        add_rule(a, &set, rule_of(&c->ranges[i], k));
    for (int i = 0; i < out->nsets; i++)
        if (out->sets[i].ranks == set.ranks) {
            out->sets[i] = intersect(a, &out->sets[i], &set);
            return;
        }
    ARENA_ADD(a, out->sets, out->nsets) = set;
}

static int by_ranks(const void *a, const void *b)
{
    const struct env_rule_set *x = a, *y = b;
    return (x->ranks > y->ranks) - (x->ranks < y->ranks);
}

static int is_openmpi(const struct env_shape *s)
{
    return !strcmp(bench_family_of(s->engine), BENCH_FAMILY_OPENMPI);
}

int env_rules_of(struct env_decisions *d, struct env_rules *rules, struct err *e)
{
    *rules = (struct env_rules){.colls = arena_alloc(d->arena, NKNOWN * sizeof *rules->colls)};
    for (int s = 0; s < d->nshapes; s++)
        for (int c = 0; c < d->shapes[s].ncolls && is_openmpi(&d->shapes[s]); c++)
            for (int r = 0; r < d->shapes[s].colls[c].nranges; r++) {
                int rc = check_settings(&d->shapes[s].colls[c].ranges[r].call, d->shapes[s].colls[c].coll, e);
                if (rc)
                    return rc;
            }
    for (int k = 0; k < NKNOWN; k++) {
        struct env_rule_coll out = {.name = known[k].name, .id = known[k].id};
        for (int s = 0; s < d->nshapes; s++)
            for (int c = 0; c < d->shapes[s].ncolls && is_openmpi(&d->shapes[s]); c++)
                if (d->shapes[s].colls[c].coll == known[k].coll)
                    add_set(d->arena, &out, &d->shapes[s].colls[c], d->shapes[s].ranks, k);
        int sets = out.nsets;
        out.nsets = 0;
        for (int i = 0; i < sets; i++)
            if (out.sets[i].nrules > 1 || (out.sets[i].nrules && out.sets[i].rules[0].algorithm))
                out.sets[out.nsets++] = out.sets[i];
        if (!out.nsets)
            continue;
        qsort(out.sets, (size_t)out.nsets, sizeof *out.sets, by_ranks);
        rules->colls[rules->ncolls++] = out;
    }
    return 0;
}

const struct env_rule *env_rules_find(const struct env_rules *rules, int coll, int ranks, uint64_t bytes,
                                      const char **name)
{
    for (int k = 0; k < NKNOWN; k++) {
        if (known[k].coll != coll)
            continue;
        for (int c = 0; c < rules->ncolls; c++)
            for (int s = 0; s < rules->colls[c].nsets && rules->colls[c].id == known[k].id; s++)
                if (rules->colls[c].sets[s].ranks == ranks) {
                    *name = known[k].name;
                    return rule_at(&rules->colls[c].sets[s], bytes);
                }
    }
    return NULL;
}
