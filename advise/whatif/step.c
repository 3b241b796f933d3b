/* A step's communication: every call by the best source there is, added up by phase. */
#include "advise/whatif/step.h"

#include <math.h>
#include <string.h>

/* Beyond the measured sizes a line is followed this far; below FLAT_BYTES the size no longer matters. */
#define REACH      2.0
#define FLAT_BYTES 4096

/* A size so near to a measured one is that one. */
#define SAME_SIZE 1.1

/* What a call counts whose time nobody knows, for its share: a latency and a bandwidth of everyday clusters. */
#define NOMINAL_US   30.0
#define NOMINAL_GBPS 25.0

const char *step_source_name(enum step_source s)
{
    static const char *const names[STEP_SOURCES] = {"measured", "measured on host memory", "predicted", "captured",
                                                    "unknown"};
    return names[s];
}

struct estimator {
    const struct step_input *in;
    struct arena *arena;
    struct env_table_rules rules;
    int gpus; /* the profile knows something of GPUs: host memory does not count */
    int predicted_unused;
};

/* ---- measured points ------------------------------------------------------------------------------------------------
 */

/* A logarithm can be taken of all of it: decisions may come from anywhere. */
static int is_time(const struct bench_interval *t)
{
    return t->n > 0 && t->median > 0 && t->low > 0 && t->high > 0;
}

/* The time of `label` at a point, the baseline when that is NULL; NULL: not measured. */
static const struct bench_interval *time_at(const struct env_point *p, const char *label)
{
    if (!label)
        return is_time(&p->untouched_us) ? &p->untouched_us : NULL;
    for (int i = 0; i < p->noptions; i++)
        if (!strcmp(p->options[i].call.label, label) && is_time(&p->options[i].time_us))
            return &p->options[i].time_us;
    return NULL;
}

struct sample {
    double bytes;
    const struct bench_interval *time;
};

/* The measured sizes next to `bytes` on either side, of which one may be missing, and the one behind each. */
struct bracket {
    struct sample below2, below, above, above2;
};

static struct bracket bracket_of(const struct env_coll *c, uint64_t bytes, const char *label)
{
    struct bracket b = {0};
    for (int r = 0; r < c->nranges; r++)
        for (int i = 0; i < c->ranges[r].npoints && !b.above2.time; i++) {
            const struct env_point *p = &c->ranges[r].points[i];
            struct sample s = {(double)p->bytes, time_at(p, label)};
            if (!s.time || !p->bytes)
                continue;
            if (p->bytes <= bytes) {
                b.below2 = b.below;
                b.below = s;
            } else if (!b.above.time) {
                b.above = s;
            } else {
                b.above2 = s;
            }
        }
    return b;
}

/* The straight line through two points, all as logarithms; level when they are one. */
static double line(struct sample x, struct sample y, double bytes, double tx, double ty)
{
    if (y.bytes <= x.bytes)
        return tx;
    return tx * pow(ty / tx, log(bytes / x.bytes) / log(y.bytes / x.bytes));
}

static struct step_time through(struct sample x, struct sample y, double bytes)
{
    return (struct step_time){line(x, y, bytes, x.time->median, y.time->median),
                              line(x, y, bytes, x.time->low, y.time->low),
                              line(x, y, bytes, x.time->high, y.time->high)};
}

/* By one size alone: a larger call takes at least as long, and at most in proportion; a smaller one the other way. */
static struct step_time around(struct sample x, double bytes)
{
    double r = bytes / x.bytes;
    struct step_time t = through(x, x, bytes);
    return (struct step_time){t.us * sqrt(r), t.low_us * fmin(r, 1), t.high_us * fmax(r, 1)};
}

/* 0, or -1 where the measured sizes do not reach. */
static int interpolate(const struct env_coll *c, uint64_t bytes, const char *label, struct step_time *t)
{
    struct bracket b = bracket_of(c, bytes, label);
    double at = bytes ? (double)bytes : 1;
    if (b.below.time && (b.above.time || b.below.bytes >= at))
        *t = through(b.below, b.above.time ? b.above : b.below, at);
    else if (b.below.time && at <= b.below.bytes * REACH)
        *t = b.below2.time ? through(b.below2, b.below, at) : around(b.below, at);
    else if (b.above.time && b.above.bytes <= FLAT_BYTES)
        *t = through(b.above, b.above, at);
    else if (b.above.time && at * REACH >= b.above.bytes)
        *t = b.above2.time ? through(b.above, b.above2, at) : around(b.above, at);
    else
        return -1;
    return 0;
}

/* Whether the baseline was measured at exactly this size. */
static int is_measured(const struct env_coll *c, uint64_t bytes)
{
    struct bracket b = bracket_of(c, bytes, NULL);
    double at = bytes ? (double)bytes : 1;
    return (b.below.time && b.below.bytes * SAME_SIZE >= at) || (b.above.time && b.above.bytes <= at * SAME_SIZE);
}

/* ---- what was measured or predicted before --------------------------------------------------------------------------
 */

static const struct {
    enum bench_evidence evidence;
    enum step_source source;
} known[] = {{BENCH_ON_GPUS, STEP_MEASURED}, {BENCH_PREDICTED, STEP_PREDICTED}, {BENCH_ON_HOST, STEP_HOST}};
#define KNOWN (sizeof known / sizeof *known)

/* A step's calls come from plain buffers, or from those of `buffers`, a type. */
static const struct env_coll *find_coll(const struct env_decisions *d, enum bench_evidence evidence, int buffers,
                                        const struct step_call *c, const struct env_shape **shape)
{
    const struct env_coll *best = NULL;
    double most = -1;
    *shape = NULL;
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *s = &d->shapes[i];
        if (bench_evidence_of(s->engine) != evidence || s->buffers != buffers || s->nodes != c->nodes ||
            s->ranks != c->call->group_size)
            continue;
        for (int k = 0; k < s->ncolls; k++) {
            /* By the sizes that were measured, then by groups at once, as jobs have them. */
            double rank = s->others;
            for (int r = 0; r < s->colls[k].nranges; r++)
                rank += s->colls[k].ranges[r].npoints * 1e7;
            if (s->colls[k].coll != c->call->kind || rank <= most)
                continue;
            most = rank;
            *shape = s;
            best = &s->colls[k];
        }
    }
    return best;
}

/* The measured sizes that stand for a call: those of its own type, where both the baseline and what is used
 * were measured so, for `usual`. */
static const struct env_coll *of_type(const struct env_decisions *d, enum bench_evidence evidence,
                                      const struct step_call *c, const struct env_coll *usual, const char *label)
{
    struct step_time t;
    const struct env_shape *shape;
    int type = bench_buffers_parse(c->call->dtype);
    const struct env_coll *own = type == BENCH_BFLOAT16 ? find_coll(d, evidence, type, c, &shape) : NULL;
    return own && !interpolate(own, c->call->bytes, NULL, &t) && !interpolate(own, c->call->bytes, label, &t) ? own
                                                                                                              : usual;
}

static int from_decisions(struct estimator *m, struct step_call *c)
{
    const struct env_decisions *d = m->in->decisions;
    const struct env_shape *shape;
    for (size_t i = 0; i < KNOWN; i++) {
        const struct env_coll *coll = find_coll(d, known[i].evidence, BENCH_USUAL, c, &shape);
        const struct env_range *range = coll ? env_range_of(coll, c->call->bytes) : NULL;
        const char *label = range ? range->call.label : BENCH_DEFAULT;
        coll = coll ? of_type(d, known[i].evidence, c, coll, label) : NULL;
        if (!coll || (m->gpus && known[i].source == STEP_HOST) || interpolate(coll, c->call->bytes, NULL, &c->now))
            continue;
        int untouched = shape->chosen <= 0 && !strcmp(label, BENCH_DEFAULT);
        c->source = known[i].source;
        if (c->source != STEP_PREDICTED)
            c->cover = is_measured(coll, c->call->bytes) ? STEP_COVERED : STEP_INTERPOLATED;
        c->tuned = c->now;
        if (!untouched && !interpolate(coll, c->call->bytes, label, &c->tuned)) {
            c->choice = label;
            m->predicted_unused |= c->source == STEP_PREDICTED && !d->predicted;
        }
        return 0;
    }
    return -1;
}

/* ---- predicted now --------------------------------------------------------------------------------------------------
 */

static const struct env_table_rule *find_rule(const struct estimator *m, const struct step_call *c)
{
    for (int i = 0; i < m->rules.count; i++) {
        const struct env_table_rule *r = m->rules.items[i];
        if (r->coll == c->call->kind && c->call->bytes >= r->min_bytes && c->call->bytes <= r->max_bytes &&
            c->nodes >= r->nodes_low && c->nodes <= r->nodes_high && c->call->group_size >= r->ranks_low &&
            c->call->group_size <= r->ranks_high && r->reg_buff != 1)
            return r;
    }
    return NULL;
}

static const char *rule_text(const struct env_table_rule *r, struct arena *a)
{
    const char *algo = algo_name(r->algorithm), *proto = proto_name(r->protocol);
    const char *cell = arena_printf(a, "%s/%s", algo ? algo : "any", proto ? proto : "any");
    return r->channels > 0 ? arena_printf(a, "%s/%ldch", cell, r->channels) : cell;
}

static int from_predictor(struct estimator *m, struct step_call *c)
{
    const struct step_predictor *p = m->in->predictor;
    const struct env_table_rule *rule = find_rule(m, c);
    struct step_question q = {
        .kind = c->call->kind, .bytes = c->call->bytes, .nodes = c->nodes, .ranks = c->call->group_size};
    if (!p || p->predict(p->arg, &q, &c->now, &c->why))
        return -1;
    c->source = STEP_PREDICTED;
    q.tuned = 1;
    q.rule = rule;
    const char *limit = c->why;
    if (p->predict(p->arg, &q, &c->tuned, &c->why)) {
        c->tuned = c->now;
        c->fails = rule ? NULL : c->why; /* a rule that cannot be followed NCCL passes by */
        c->why = limit;
    } else if (rule) {
        c->choice = rule_text(rule, m->arena);
        m->predicted_unused |= rule->basis == ENV_PREDICTED && !m->in->decisions->predicted;
    }
    return 0;
}

/* ---- one call -------------------------------------------------------------------------------------------------------
 */

static struct step_call estimate(struct estimator *m, const struct workload_call *call)
{
    struct step_call c = {.call = call,
                          .nodes = workload_call_nodes(m->in->workload, call),
                          .source = STEP_UNKNOWN,
                          .cover = STEP_UNCOVERED,
                          .choice = BENCH_DEFAULT,
                          .why = "not measured on as many nodes and ranks at about this size, and nothing predicts it"};
    if (!from_decisions(m, &c)) {
        c.why = NULL;
        return c;
    }
    if (!from_predictor(m, &c))
        return c;
    if (call->time_us > 0) {
        c.source = STEP_CAPTURED;
        c.now = c.tuned = (struct step_time){call->time_us, call->time_us, call->time_us};
    }
    return c;
}

/* ---- sums -----------------------------------------------------------------------------------------------------------
 */

static void add_time(struct step_time *sum, struct step_time t, double times)
{
    sum->us += t.us * times;
    sum->low_us += t.low_us * times;
    sum->high_us += t.high_us * times;
}

static void add_sum(struct step_sum *to, struct step_sum from, double times)
{
    add_time(&to->all, from.all, times);
    add_time(&to->waits, from.waits, times);
}

static struct step_time less(struct step_time t, double hidden_us)
{
    return (struct step_time){fmax(0, t.us - hidden_us), fmax(0, t.low_us - hidden_us), fmax(0, t.high_us - hidden_us)};
}

static void add_call(struct step_sum *sum, struct step_time t, const struct workload_call *call)
{
    add_time(&sum->all, t, call->count);
    add_time(&sum->waits, less(t, fmax(0, call->overlap_us)), call->count);
}

/* Calls may each hide behind the same compute; together they cannot hide more than the phase has. */
static void cap_hidden(struct step_sum *sum, double compute_us)
{
    if (compute_us < 0)
        return;
    struct step_time least = less(sum->all, compute_us);
    sum->waits.us = fmax(sum->waits.us, least.us);
    sum->waits.low_us = fmax(sum->waits.low_us, least.low_us);
    sum->waits.high_us = fmax(sum->waits.high_us, least.high_us);
}

/* The other stages of a pipeline communicate as this one does, and it waits for them. */
static void stretch(struct step_phase *p)
{
    add_sum(&p->now, p->now, p->phase->bubble);
    add_sum(&p->tuned, p->tuned, p->phase->bubble);
    for (int i = 0; i < STEP_SOURCES; i++)
        p->from_us[i] *= 1 + p->phase->bubble;
}

static struct step_phase phase_of(struct estimator *m, const struct workload_phase *phase)
{
    struct step_phase p = {.phase = phase};
    p.calls = arena_alloc(m->arena, ((size_t)phase->ncalls + 1) * sizeof *p.calls);
    for (int i = 0; i < phase->ncalls; i++) {
        const struct step_call *c = &p.calls[i];
        p.calls[i] = estimate(m, &phase->calls[i]);
        if (c->source == STEP_UNKNOWN) {
            p.unknown++;
            continue;
        }
        p.overlap_unknown += c->call->overlap_us < 0;
        p.from_us[c->source] += c->now.us * c->call->count;
        add_call(&p.now, c->now, c->call);
        add_call(&p.tuned, c->tuned, c->call);
    }
    cap_hidden(&p.now, phase->compute_us);
    cap_hidden(&p.tuned, phase->compute_us);
    stretch(&p);
    return p;
}

static double weight_us(const struct step_call *c)
{
    double us = c->source != STEP_UNKNOWN ? c->now.us
                : c->call->time_us > 0    ? c->call->time_us
                                          : NOMINAL_US + (double)c->call->bytes / (NOMINAL_GBPS * 1e3);
    return us * c->call->count;
}

static void add_phase(struct step_estimate *s, const struct step_phase *p)
{
    for (int i = 0; i < p->phase->ncalls; i++)
        s->cover_us[p->calls[i].cover] += weight_us(&p->calls[i]);
    add_sum(&s->now, p->now, 1);
    add_sum(&s->tuned, p->tuned, 1);
    for (int i = 0; i < STEP_SOURCES; i++)
        s->from_us[i] += p->from_us[i];
    s->unknown += p->unknown;
    s->overlap_unknown += p->overlap_unknown;
    if (p->phase->compute_us < 0)
        s->compute_unknown++;
    else {
        double us = p->phase->compute_us * (1 + p->phase->bubble), factor = fmax(1, p->phase->compute_factor);
        s->compute_us += us;
        s->compute_low_us += us / factor;
        s->compute_high_us += us * factor;
    }
}

struct step_time env_step_whole(const struct step_estimate *s)
{
    const struct step_time *waits = &s->now.waits;
    return (struct step_time){s->compute_us + waits->us, s->compute_low_us + waits->low_us,
                              s->compute_high_us + waits->high_us};
}

struct step_time step_time_less(const struct step_time *x, const struct step_time *y)
{
    return (struct step_time){x->us - y->us, x->low_us - y->low_us, x->high_us - y->high_us};
}

int env_step_of(const struct step_input *in, struct arena *a, struct step_estimate *out, struct err *e)
{
    const struct workload *w = in->workload;
    struct estimator m = {.in = in, .arena = a};
    *out = (struct step_estimate){.arena = a, .workload = w};
    for (int i = 0; i < in->decisions->nshapes; i++)
        m.gpus |= bench_evidence_of(in->decisions->shapes[i].engine) != BENCH_ON_HOST;
    m.gpus |= in->predictor != NULL;
    int rc = env_table_rules_of(in->decisions, a, &m.rules, e);
    if (rc)
        return rc;
    out->phases = arena_alloc(a, ((size_t)w->nphases + 1) * sizeof *out->phases);
    for (int i = 0; i < w->nphases; i++) {
        out->phases[i] = phase_of(&m, &w->phases[i]);
        add_phase(out, &out->phases[i]);
    }
    out->predicted_unused = m.predicted_unused;
    if (in->predictor) {
        out->assumptions = in->predictor->assumptions;
        out->nassumptions = in->predictor->nassumptions;
        out->unvalidated = in->predictor->unvalidated;
    }
    return 0;
}
