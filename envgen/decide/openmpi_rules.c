/* OpenMPI's dynamic rules from the decisions of the `mpi` engine. */
#include "envgen/decide/decide.h"

#include <stddef.h>
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

/* The member of `rule` that a setting of collective `k` stands for; NULL: it is not of that one. */
static long *column_of(struct env_rule *rule, int k, const char *name)
{
    static const char prefix[] = "coll_tuned_";
    size_t n = strlen(known[k].name);
    const char *rest = name + sizeof prefix - 1;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0 || strncmp(rest, known[k].name, n) != 0 || rest[n] != '_')
        return NULL;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (!strcmp(rest + n + 1, columns[i].suffix))
            return (long *)((char *)rule + columns[i].offset);
    return NULL;
}

/* Every setting of a call has to be a column of one of the collective's rules. */
static int check_settings(const struct bench_knobs *call, int coll, struct err *e)
{
    for (int i = 0; i < call->nsettings; i++) {
        const struct bench_setting *s = &call->settings[i];
        struct env_rule unused;
        long *at = NULL;
        for (int k = 0; k < NKNOWN && !at; k++)
            at = known[k].coll == coll ? column_of(&unused, k, s->name) : NULL;
        if (!at)
            return err_set(e, ERR_FAILED, "%s, call '%s': the setting %s cannot be expressed as a rule of OpenMPI",
                           coll_name(coll), call->label, s->name);
        if (unit_parse_int(s->value, 0, INT32_MAX, at, s->name, e))
            return ERR_FAILED;
    }
    return 0;
}

static struct env_rule rule_of(const struct bench_knobs *call, int k)
{
    struct env_rule rule = {.fanout = known[k].coll == COLL_BROADCAST ? CHAIN_FANOUT : 0};
    for (int i = 0; i < call->nsettings; i++) {
        long *at = column_of(&rule, k, call->settings[i].name);
        if (at)
            unit_parse_int(call->settings[i].value, 0, INT32_MAX, at, "", NULL);
    }
    return rule.algorithm ? rule : (struct env_rule){0};
}

static int same_rule(const struct env_rule *x, const struct env_rule *y)
{
    return x->algorithm == y->algorithm && x->fanout == y->fanout && x->segment_bytes == y->segment_bytes;
}

static int is_openmpi(const struct env_shape *s)
{
    return !strcmp(bench_family_of(s->engine), BENCH_FAMILY_OPENMPI);
}

/* What was measured of OpenMPI's collective `k` in a shape; NULL: nothing. */
static const struct env_coll *coll_of(const struct env_shape *s, int k)
{
    for (int c = 0; c < s->ncolls && is_openmpi(s); c++)
        if (s->colls[c].coll == known[k].coll)
            return &s->colls[c];
    return NULL;
}

/* The next larger number of ranks that `k` was measured on; 0: there is none. */
static int next_ranks(const struct env_decisions *d, int k, int ranks)
{
    int next = 0;
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *s = &d->shapes[i];
        if (s->ranks > ranks && (!next || s->ranks < next) && coll_of(s, k))
            next = s->ranks;
    }
    return next;
}

/* What all shapes of so many ranks have chosen at a size; *next gets the size from which it may be something else, 0:
 * none. */
static struct env_rule rule_at(const struct env_decisions *d, int k, int ranks, uint64_t bytes, uint64_t *next)
{
    struct env_rule rule = {0};
    int known_shapes = 0;
    *next = 0;
    for (int n = 0; n < d->nshapes; n++) {
        const struct env_coll *c = d->shapes[n].ranks == ranks ? coll_of(&d->shapes[n], k) : NULL;
        if (!c)
            continue;
        const struct env_range *r = env_range_of(c, bytes);
        struct env_rule own = r ? rule_of(&r->call, k) : (struct env_rule){0};
        rule = !known_shapes++ || same_rule(&rule, &own) ? own : (struct env_rule){0};
        for (int i = 0; i < c->nranges; i++)
            if (c->ranges[i].min_bytes > bytes && (!*next || c->ranges[i].min_bytes < *next))
                *next = c->ranges[i].min_bytes;
    }
    rule.min_bytes = bytes;
    return rule;
}

static struct env_rule_set set_of(const struct env_decisions *d, int k, int ranks)
{
    struct env_rule_set set = {.ranks = ranks};
    for (uint64_t bytes = 0, next = 1; next; bytes = next) {
        struct env_rule rule = rule_at(d, k, ranks, bytes, &next);
        if (!set.nrules || !same_rule(&set.rules[set.nrules - 1], &rule))
            ARENA_ADD(d->arena, set.rules, set.nrules) = rule;
    }
    return set;
}

int env_rules_of(struct env_decisions *d, struct env_rules *rules, struct err *e)
{
    *rules = (struct env_rules){0};
    for (int n = 0; n < d->nshapes; n++)
        for (int i = 0; i < d->shapes[n].ncolls && is_openmpi(&d->shapes[n]); i++) {
            const struct env_coll *c = &d->shapes[n].colls[i];
            for (int r = 0; r < c->nranges; r++)
                if (check_settings(&c->ranges[r].call, c->coll, e))
                    return ERR_FAILED;
        }
    for (int k = 0; k < NKNOWN; k++) {
        struct env_rule_coll out = {.name = known[k].name, .id = known[k].id, .coll = known[k].coll};
        for (int ranks = 0; (ranks = next_ranks(d, k, ranks));) {
            struct env_rule_set set = set_of(d, k, ranks);
            if (set.nrules > 1 || set.rules->algorithm)
                ARENA_ADD(d->arena, out.sets, out.nsets) = set;
        }
        if (out.nsets)
            ARENA_ADD(d->arena, rules->colls, rules->ncolls) = out;
    }
    return 0;
}

const struct env_rule *env_rules_find(const struct env_rules *rules, int coll, int ranks, uint64_t bytes,
                                      const char **name)
{
    for (int k = 0; k < rules->ncolls; k++)
        for (int i = 0; i < rules->colls[k].nsets && rules->colls[k].coll == coll; i++) {
            const struct env_rule_set *set = &rules->colls[k].sets[i];
            if (set->ranks != ranks)
                continue;
            int last = set->nrules - 1; /* the first is from 0 bytes */
            while (set->rules[last].min_bytes > bytes)
                last--;
            *name = rules->colls[k].name;
            return &set->rules[last];
        }
    return NULL;
}
