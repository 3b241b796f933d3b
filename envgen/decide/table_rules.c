/* The rules of tuner.csv, across scale. */
#include "envgen/decide/decide.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll.h"
#include "core/units.h"
#include "core/vars/catalogue.h"
#include "tuner/table/table.h"

/* The release with version 4 of the tuner's interface, which has regBuff. */
#define REG_BUFF_SINCE 22400

struct builder {
    const struct env_decisions *d;
    struct arena *arena;
    struct env_table_rules *out;
    struct err *err;
};

/* ---- one range ---- */

static int read_setting(const struct bench_setting *s, struct env_table_rule *rule, struct err *e)
{
    size_t n = strlen(s->value);
    if (!strcmp(s->name, "algorithm"))
        rule->algorithm = algo_parse(s->value, n);
    else if (!strcmp(s->name, "protocol"))
        rule->protocol = proto_parse(s->value, n);
    else if (!strcmp(s->name, "channels"))
        return unit_parse_int(s->value, 1, TUNER_MAX_CHANNELS, &rule->channels, "channels", e) ? ERR_FAILED : 0;
    else if (!strcmp(s->name, "chunk_bytes"))
        return unit_parse_int(s->value, 1, INT32_MAX, &rule->chunk_bytes, "chunk_bytes", e) ? ERR_FAILED : 0;
    else
        return err_set(e, ERR_FAILED,
                       "an NCCL result sets '%s' per call: expected algorithm, protocol, channels or chunk_bytes",
                       s->name);
    if ((!strcmp(s->name, "algorithm") && rule->algorithm < 0) || (!strcmp(s->name, "protocol") && rule->protocol < 0))
        return err_set(e, ERR_FAILED, "an NCCL result names the unknown %s '%s'", s->name, s->value);
    return 0;
}

static int read_call(const struct bench_knobs *call, struct env_table_rule *rule, struct err *e)
{
    for (int i = 0; i < call->nsettings; i++)
        if (read_setting(&call->settings[i], rule, e))
            return ERR_FAILED;
    if (rule->chunk_bytes > 0 && rule->channels < 0)
        return err_set(e, ERR_FAILED, "an NCCL result sets chunk_bytes without channels, which a tuner cannot do");
    return 0;
}

/* ---- many of them ---- */

static struct env_table_rule *add_rule(struct builder *b, struct env_table_rules *s, struct env_table_rule rule)
{
    struct env_table_rule *copy = ARENA_NEW(b->arena, struct env_table_rule);
    *copy = rule;
    ARENA_ADD(b->arena, s->items, s->count) = copy;
    return copy;
}

/* What NCCL tells a tuner of buffers like those of `s`; -1: nothing, this release does not. */
static int reg_buff_of(const struct env_shape *s)
{
    int low, high, is_nccl = !strncmp(s->library, "NCCL ", 5) && !env_library_release(s->library, &low, &high);
    return is_nccl && high >= REG_BUFF_SINCE ? bench_buffers_are_told(s->buffers) : -1;
}

/* Of one shape: a rule for every range that does not stay with the default. */
static int rules_of_shape(struct builder *b, const struct env_shape *s, enum env_basis basis,
                          struct env_table_rules *out)
{
    *out = (struct env_table_rules){0};
    int reg_buff = basis == ENV_PREDICTED ? -1 : reg_buff_of(s);
    for (int c = 0; c < s->ncolls; c++)
        for (int i = 0; i < s->colls[c].nranges; i++) {
            const struct env_range *r = &s->colls[c].ranges[i];
            struct env_table_rule rule = {
                s->colls[c].coll, r->min_bytes, r->max_bytes, -1,       -1,    -1,       -1,     s->nodes,
                s->nodes,         s->ranks,     s->ranks,     reg_buff, basis, s->nodes, r->why, s->buffers};
            if (!r->call.nsettings)
                continue;
            if (read_call(&r->call, &rule, b->err))
                return ERR_FAILED;
            add_rule(b, out, rule);
        }
    return 0;
}

static int same_action(const struct env_table_rule *x, const struct env_table_rule *y)
{
    return x->algorithm == y->algorithm && x->protocol == y->protocol && x->channels == y->channels &&
           x->chunk_bytes == y->chunk_bytes;
}

/* The rules on which two shapes agree, for the nodes between them. Both are sorted by collective and size. */
static struct env_table_rules agreement(struct builder *b, const struct env_table_rules *x,
                                        const struct env_table_rules *y)
{
    struct env_table_rules out = {0};
    for (int i = 0, k = 0; i < x->count && k < y->count;) {
        const struct env_table_rule *p = x->items[i], *q = y->items[k];
        if (p->coll == q->coll && p->min_bytes <= q->max_bytes && q->min_bytes <= p->max_bytes && same_action(p, q)) {
            struct env_table_rule rule = *p, *last = out.count ? out.items[out.count - 1] : NULL;
            rule.min_bytes = p->min_bytes > q->min_bytes ? p->min_bytes : q->min_bytes;
            rule.max_bytes = p->max_bytes < q->max_bytes ? p->max_bytes : q->max_bytes;
            if (last && last->coll == rule.coll && same_action(last, &rule) && last->max_bytes + 1 == rule.min_bytes)
                last->max_bytes = rule.max_bytes;
            else
                add_rule(b, &out, rule);
        }
        int first_ends = p->coll != q->coll ? p->coll < q->coll : p->max_bytes <= q->max_bytes;
        i += first_ends;
        k += !first_ends;
    }
    return out;
}

/* ---- boxes ---- */

/* Whether no measured shape with another number of ranks a node lies within. */
static int is_free(const struct env_decisions *d, int per_node, int low, int high)
{
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *s = &d->shapes[i];
        if (bench_evidence_of(s->engine) == BENCH_ON_GPUS && s->nodes >= low && s->nodes <= high &&
            s->ranks >= low * per_node && s->ranks <= high * per_node && s->ranks != s->nodes * per_node)
            return 0;
    }
    return 1;
}

static void emit(struct builder *b, const struct env_table_rules *s)
{
    for (int i = 0; i < s->count; i++)
        ARENA_ADD(b->arena, b->out->items, b->out->count) = s->items[i];
}

/* Rules on which both neighbours agree, for the nodes from `low` to `high`, in boxes below a factor of two. */
static void fill(struct builder *b, int per_node, const struct env_table_rules *rules, int low, int high)
{
    for (int64_t from = low, to; from <= high; from = to + 1) {
        struct env_table_rules box = {0};
        to = 2 * from - 1 < high ? 2 * from - 1 : high;
        for (int i = 0; i < rules->count && is_free(b->d, per_node, (int)from, (int)to); i++) {
            struct env_table_rule *rule = add_rule(b, &box, *rules->items[i]);
            rule->nodes_low = (int)from;
            rule->nodes_high = (int)to;
            rule->ranks_low = (int)from * per_node;
            rule->ranks_high = (int)to * per_node;
            rule->basis = ENV_AGREED;
        }
        emit(b, &box);
    }
}

/* ---- shapes ---- */

static int count_points(const struct env_shape *s)
{
    int n = 0;
    for (int c = 0; c < s->ncolls; c++)
        for (int r = 0; r < s->colls[c].nranges; r++)
            n += s->colls[c].ranges[r].npoints;
    return n;
}

/* Of shapes that a tuner cannot tell apart, which have agreed on their calls, the one with most sizes speaks for all.
 */
static int speaks(const struct env_decisions *d, const struct env_shape *s)
{
    int own = count_points(s);
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *o = &d->shapes[i];
        int points = count_points(o);
        if (o != s && env_shapes_alike(o, s) && (points > own || (points == own && o < s)))
            return 0;
    }
    return 1;
}

static int is_measured(const struct env_decisions *d, const struct env_shape *s)
{
    return bench_evidence_of(s->engine) == BENCH_ON_GPUS && speaks(d, s);
}

/* The index of the next smaller measured shape with as many ranks a node, if it has more than one; else -1. Shapes are
 * in the order of their nodes. */
static int smaller_than(const struct env_decisions *d, int i)
{
    const struct env_shape *s = &d->shapes[i];
    int per_node = s->ranks / s->nodes, k = i - 1;
    while (k >= 0 && (!is_measured(d, &d->shapes[k]) || d->shapes[k].buffers != s->buffers ||
                      d->shapes[k].ranks != d->shapes[k].nodes * per_node))
        k--;
    return s->ranks % s->nodes == 0 && k >= 0 && d->shapes[k].nodes > 1 ? k : -1;
}

static int add_measured(struct builder *b)
{
    const struct env_shape *shapes = b->d->shapes;
    struct env_table_rules *own = arena_alloc(b->arena, (size_t)(b->d->nshapes + 1) * sizeof *own);
    for (int i = 0; i < b->d->nshapes; i++) {
        int rc = is_measured(b->d, &shapes[i]) ? rules_of_shape(b, &shapes[i], ENV_MEASURED, &own[i]) : 0;
        if (rc)
            return rc;
        emit(b, &own[i]);
        int smaller = own[i].count ? smaller_than(b->d, i) : -1;
        if (smaller < 0)
            continue;
        struct env_table_rules between = agreement(b, &own[smaller], &own[i]);
        fill(b, shapes[i].ranks / shapes[i].nodes, &between, shapes[smaller].nodes + 1, shapes[i].nodes - 1);
    }
    return 0;
}

/* Of shapes that were not measured. */
static int add_predicted(struct builder *b)
{
    for (int i = 0; i < b->d->nshapes; i++) {
        const struct env_shape *s = &b->d->shapes[i];
        int skip = bench_evidence_of(s->engine) != BENCH_PREDICTED;
        for (int k = 0; k < b->d->nshapes; k++)
            skip |= bench_evidence_of(b->d->shapes[k].engine) == BENCH_ON_GPUS && b->d->shapes[k].nodes == s->nodes &&
                    b->d->shapes[k].ranks == s->ranks;
        struct env_table_rules own = {0};
        int rc = skip ? 0 : rules_of_shape(b, s, ENV_PREDICTED, &own);
        if (rc)
            return rc;
        emit(b, &own);
    }
    return 0;
}

static int by_basis(const void *a, const void *b)
{
    const struct env_table_rule *x = *(struct env_table_rule *const *)a, *y = *(struct env_table_rule *const *)b;
    const int of_x[] = {(int)x->basis, x->buffers, x->nodes_low, x->ranks_low, x->coll};
    const int of_y[] = {(int)y->basis, y->buffers, y->nodes_low, y->ranks_low, y->coll};
    int c = 0;
    for (size_t i = 0; i < sizeof of_x / sizeof *of_x && !c; i++)
        c = (of_x[i] > of_y[i]) - (of_x[i] < of_y[i]);
    return c ? c : (x->min_bytes > y->min_bytes) - (x->min_bytes < y->min_bytes);
}

/* A rule for plain buffers and the same for registered ones are one for both, in the place of the latter: what comes
 * before that goes on coming first. */
static void join_buffers(struct env_table_rules *rules)
{
    struct env_table_rule **all = rules->items;
    for (int i = 0; i < rules->count; i++)
        for (int k = 0; k < i && all[i] && all[i]->reg_buff >= 0; k++) {
            const struct env_table_rule *x = all[k], *y = all[i];
            if (!x || x->coll != y->coll || x->min_bytes != y->min_bytes || x->max_bytes != y->max_bytes ||
                !same_action(x, y) || x->nodes_low != y->nodes_low || x->nodes_high != y->nodes_high ||
                x->ranks_low != y->ranks_low || x->ranks_high != y->ranks_high || x->basis != y->basis)
                continue;
            if (all[k]->reg_buff == !all[i]->reg_buff) {
                all[i]->reg_buff = -1;
                all[k] = NULL;
            } else { /* a rule for both, or captured and registered calls alike */
                all[i] = NULL;
            }
        }
    int kept = 0;
    for (int i = 0; i < rules->count; i++)
        if (all[i])
            all[kept++] = all[i];
    rules->count = kept;
}

int env_table_rules_of(const struct env_decisions *d, struct arena *a, struct env_table_rules *rules, struct err *e)
{
    *rules = (struct env_table_rules){0};
    struct builder b = {d, a, rules, e};
    int rc = add_measured(&b);
    if (!rc)
        rc = add_predicted(&b);
    if (!rc && rules->count)
        qsort(rules->items, (size_t)rules->count, sizeof *rules->items, by_basis);
    join_buffers(rules);
    return rc;
}

const char *env_table_rule_basis(const struct env_table_rule *r, struct arena *a)
{
    const char *nodes = r->nodes_low == r->nodes_high
                            ? arena_printf(a, "%d node%s", r->nodes_low, r->nodes_low == 1 ? "" : "s")
                            : arena_printf(a, "%d to %d nodes", r->nodes_low, r->nodes_high);
    switch (r->basis) {
    case ENV_MEASURED:
        return arena_printf(a, "measured on %s", nodes);
    case ENV_AGREED:
        return arena_printf(a, "for %s, what was measured below and above agrees; on %d", nodes, r->base);
    default:
        return arena_printf(a, "PREDICTED for %d node%s", r->base, r->base == 1 ? "" : "s");
    }
}
