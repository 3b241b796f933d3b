/* A profile as jobs get it, measured beside the baseline in starts of its own. */
#include "envgen/verify/verify.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/engines/engines.h"
#include "bench/search/bench.h"
#include "core/locate.h"

int verify_measure(const struct verify_request *q, struct bench_summary *summary, struct bench_results **measured,
                   struct err *e)
{
    const enum bench_evidence on = bench_evidence_of(q->bench->engine);
    struct arena *a = q->profile->arena;
    struct bench_options how = *q->bench;
    struct bench_knobs jobs[2];
    int fd = -1;
    const char *plugin = on == BENCH_ON_HOST ? "" : locate_plugin(a, e);
    if (!plugin)
        return ERR_LACKS;
    int njobs = verify_jobs(q->profile, on, plugin, a, jobs, e);
    if (njobs <= 0)
        return njobs ? ERR_FAILED : 0;
    how.setup.jobs = jobs + (q->whole ? njobs - 1 : 0);
    how.setup.njobs = q->whole ? 1 : njobs;
    verify_measure_like(&how, q->profile);
    if (!how.results) {
        fd = memfd_create("verify", MFD_CLOEXEC); /* a journal that nobody keeps */
        if (fd < 0)
            return err_errno(e, "no journal can be made");
        how.results = arena_printf(a, "/proc/%d/fd/%d", (int)getpid(), fd);
    }
    int rc = bench_run(&how, q->topology, q->log, q->stop, summary, measured, e);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* The part of a run's budget that its check has, and seconds that it has at least. */
#define CHECK_PART    0.5
#define CHECK_LEAST_S 30.0

double verify_check_s(double budget_s)
{
    return fmax(CHECK_LEAST_S, CHECK_PART * budget_s);
}

int verify_deliver(const struct verify_request *q, struct verify_delivery *d, struct err *e)
{
    struct bench_summary summary = {0};
    struct bench_results *measured = NULL;
    *d = (struct verify_delivery){0};
    int rc = verify_measure(q, &summary, &measured, e);
    if (rc || !measured) {
        bench_results_free(measured);
        return rc;
    }
    const struct bench_points *points = bench_points_of(measured, measured->arena);
    struct verify *v = verify_rules(q->profile, bench_evidence_of(q->bench->engine), points, 0, e);
    if (v) {
        const char *worst = NULL;
        *d = (struct verify_delivery){.gain = v->whole.gain,
                                      .verdict = v->whole.verdict,
                                      .points = points->count,
                                      .interrupted = summary.interrupted};
        /* To set nothing, a loss need not be proven as a gain has to be. */
        if (d->gain.n > 2 && d->gain.high < 1)
            d->verdict = VERIFY_REFUTED;
        for (int i = 0; i < v->nrules; i++)
            if (v->rules[i].verdict == VERIFY_REFUTED) {
                worst = arena_printf(q->profile->arena, "%s: %s", v->rules[i].what,
                                     bench_gain_text(v->arena, v->rules[i].gain));
                d->verdict = VERIFY_REFUTED;
            }
        d->refuted = worst;
    }
    rc = v ? 0 : ERR_FAILED;
    verify_free(v);
    bench_results_free(measured);
    return rc;
}
