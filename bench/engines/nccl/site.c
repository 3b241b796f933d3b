/* The default that candidates are compared with runs under our plugin at rest. Jobs run without: under a tuner that the
 * site or its network's vendor has set, or none, which some of NCCL's own choices ask for. Where that is not the same,
 * gains over our default are not what jobs would gain. */
#include <math.h>
#include <string.h>

#include "bench/engines/nccl/session.h"
#include "bench/results/points.h"
#include "core/progress.h"
#include "core/units.h"

#define SAMPLES    7
#define WORTH      0.05
#define PATIENCE_S 20.0
/* Times a point that differs is looked at, all points in turn: what was slow at the first look alone was a start or a
 * burst (on an H100 calls of 8 B took 80 us falling to 50 for a tenth of a second after one start in five, else 26). */
#define VISITS 4
/* The part of the time that is left that this may take. */
#define PART 0.1

/* Nonzero: no time came of it. */
static int take_default(const struct nccl_request *r, const struct nccl_measure *q, double *us)
{
    enum bench_status status = BENCH_OK;
    return nccl_session_ask(r, q, &status, us) != BENCH_ANSWERED || status != BENCH_OK;
}

/* The first sample starts what is to be started. */
static int measure_default(struct nccl_session *s, const struct nccl_point *p, double us[SAMPLES])
{
    char detail[BENCH_DETAIL];
    struct nccl_request r = {s, s->stop, PATIENCE_S, detail};
    struct nccl_measure q = {
        .point = *p, .algo = -1, .proto = -1, .iterations = 1, .graph = s->context->buffers == BENCH_GRAPH};
    int refusals;
    if (nccl_session_prepare(&r, p, &refusals) != BENCH_ANSWERED || refusals || take_default(&r, &q, us))
        return -1;
    q.iterations = bench_sample_calls(&NCCL_SAMPLING, *us);
    for (int n = 0; n < SAMPLES; n++)
        if (take_default(&r, &q, &us[n]))
            return -1;
    return 0;
}

/* One point: what the default takes under our plugin, and without it in the visit that was nearest to that. */
struct comparison {
    const struct default_point *of;
    struct bench_interval ours, site; /* site.n 0: not measured */
};

static int is_apart(const struct comparison *c)
{
    double ratio = c->site.median / c->ours.median;
    return c->site.n && (ratio >= 1 + WORTH || ratio <= 1 - WORTH) &&
           (c->site.low > c->ours.high || c->ours.low > c->site.high);
}

static void visit_point(struct nccl_session *s, struct comparison *c)
{
    double us[SAMPLES], scratch[DEFAULT_SAMPLES];
    if (c->of->n < 2 || measure_default(s, &c->of->point, us))
        return;
    c->ours = bench_interval_of(c->of->us, c->of->n, scratch);
    struct bench_interval now = bench_interval_of(us, SAMPLES, scratch);
    if (!c->site.n || fabs(log(now.median / c->ours.median)) < fabs(log(c->site.median / c->ours.median)))
        c->site = now;
}

static void tell_difference(const struct nccl_session *s, const struct comparison *c)
{
    char size[UNIT_TEXT];
    if (c->site.n)
        s->context->today[s->context->ntoday++] = bench_gain(c->site, c->ours);
    if (is_apart(c))
        log_warn(s->context->setup.log,
                 "%s of %s: jobs now take %.4g us, and %.4g us with nccltune's plugin inert: a tuner of the site or "
                 "NCCL's CTA policy is active, so gains are not over what jobs get",
                 coll_name(c->of->point.coll), unit_bytes(size, c->of->point.bytes), c->site.median, c->ours.median);
}

void nccl_session_compare_with_site(struct nccl_session *s)
{
    struct nccl_context *c = s->context;
    struct nccl_start start = {s->launch->settings, s->launch->nsettings, NULL, 0, 1};
    struct nccl_joined joined;
    struct err e = {0};
    if (!s->ndefaults || c->compared || strcmp(s->launch->label, BENCH_DEFAULT) != 0 || (s->stop && *s->stop))
        return;
    c->compared = 1;
    nccl_pool_stop(c->pool, 0);
    if (nccl_pool_start(c->pool, &start, &joined, PATIENCE_S + 10 * c->start_s, s->stop, &e)) {
        log_info(c->setup.log, "a launch without nccltune's plugin: %s", e.text);
        return;
    }
    memset(&s->point, 0, sizeof s->point);
    struct comparison all[NCCL_SITE_POINTS] = {{0}};
    const int places[NCCL_SITE_POINTS] = {0, s->ndefaults / 2, s->ndefaults - 1};
    double now_s = progress_now_s(),
           end_s = now_s + (s->base.until_s > 0 ? PART * (s->base.until_s - now_s) : INFINITY);
    int n = 0;
    for (int i = 0; i < NCCL_SITE_POINTS; i++)
        if (!i || places[i] != places[i - 1])
            all[n++].of = &s->defaults[places[i]];
    for (int turn = 0; turn < VISITS; turn++)
        for (int i = 0; i < n; i++)
            if (progress_now_s() < end_s && (!turn || is_apart(&all[i])))
                visit_point(s, &all[i]);
    for (int i = 0; i < n; i++)
        tell_difference(s, &all[i]);
}

void nccl_session_judge_site(const struct nccl_context *c, struct findings *found)
{
    double ratio = 1, low = INFINITY, high = 0;
    int apart = 0;
    const char *pins = inherit_pins(found->arena);
    for (int i = 0; i < c->ntoday; i++) {
        ratio *= pow(c->today[i].median, 1.0 / c->ntoday);
        low = fmin(low, c->today[i].low);
        high = fmax(high, c->today[i].high);
        apart |= c->today[i].low > 1 + WORTH || c->today[i].high < 1 - WORTH;
    }
    if (!c->ntoday)
        return;
    struct finding *f = finding_add(
        found, apart ? FINDING_WARNING : FINDING_OK, BENCH_TODAY, NULL,
        "jobs as they run here today, %s%s, take %.2f times the baseline's time (%.2f to %.2f, %d size%s)",
        pins ? "with " : "without nccltune", pins ? pins : "", ratio, low, high, c->ntoday, c->ntoday == 1 ? "" : "s");
    if (pins)
        f->advice = "remove that from the jobs' environment: it overrides the table";
}
