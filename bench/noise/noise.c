/* Signs of before against signs of after, and the default against itself. */
#include "bench/noise/noise.h"

#include <math.h>
#include <string.h>

#include "bench/noise/signs.h"
#include "core/coll.h"
#include "core/stats.h"
#include "core/units.h"

struct noise_watch {
    struct signs before;
    struct gpu_watch *gpus;
};

/* When a sign is worth telling: it was there at the start, it was there at the start or the end, it grew in between, or
 * it grew by this part of the time. */
enum when { BEFORE, EVER, GREW, TIME };

#define QUIET "wait for other jobs to end, or measure in an exclusive allocation"
#define COOL  "check fans, inlet temperature and power limits of this node (nvidia-smi -q -d PERFORMANCE,TEMPERATURE)"
#define CABLE "check cables, risers and the driver's log before trusting its times"

static const struct {
    const char *id;
    enum when when;
    double least;
    enum finding_severity severity;
    const char *text, *unit; /* the number between them; unit NULL: none */
    const char *advice;
} kinds[] = {
    {"load", BEFORE, 0.5, FINDING_WARNING, "the machine was busy before: a load of ", " for each processor", QUIET},
    {"cpu-pressure", BEFORE, 20, FINDING_WARNING, "the machine was busy before: something waited for a processor in ",
     " % of the time", QUIET},
    {"cpu-stolen", TIME, 0.01, FINDING_WARNING, "the hypervisor kept ", " % of the processors' time",
     "times of a guest on a shared host do not repeat"},
    {"cpu-throttled", GREW, 1, FINDING_WARNING, "the processors were throttled by heat ", " times",
     "check fans and inlet temperature of this node"},
    {"cpu-limited", BEFORE, 5, FINDING_NOTE, "the processors may not use ", " % of their clock",
     "cpupower frequency-info shows what limits it"},
    {"gpu-slowed", EVER, 1, FINDING_WARNING, "the hardware throttles it, for heat or power", NULL, COOL},
    {"gpu-heat", EVER, 1, FINDING_WARNING, "it is throttled by heat", NULL, COOL},
    {"gpu-clocks", EVER, 1, FINDING_NOTE, "its clocks are limited by a setting", NULL,
     "nvidia-smi -q -d CLOCK shows it, nvidia-smi -rac and -rgc undo it"},
    {"gpu-hot", EVER, -5, FINDING_WARNING, "it comes within ", " C of its throttling temperature", COOL},
    {"gpu-heat-time", TIME, 0.001, FINDING_WARNING, "it was throttled by heat in ", " % of the time", COOL},
    {"gpu-power-time", TIME, 0.05, FINDING_WARNING, "it was held at its power limit in ", " % of the time",
     "collectives alone do not draw that much: something else runs on it, or its limit is low"},
    {"gpu-processes", EVER, 1, FINDING_WARNING, "processes of others that run on it: ", "", QUIET},
    {"gpu-busy", BEFORE, 5, FINDING_WARNING, "before, it was busy in ", " % of the time", QUIET},
    {"ecc-uncorrected", GREW, 1, FINDING_ERROR, "new uncorrected memory errors: ", "",
     "drain this node: data may be wrong"},
    {"ecc-corrected", GREW, 1, FINDING_NOTE, "new corrected memory errors: ", "", "watch this GPU"},
    {"pcie-replays", GREW, 1, FINDING_WARNING, "new PCIe replays: ", "", CABLE},
    {"nvlink-errors", GREW, 1, FINDING_WARNING, "NVLink errors meanwhile: ", "", CABLE},
    {"port-errors", GREW, 1, FINDING_WARNING, "errors meanwhile: ", "", CABLE},
    {"xid", EVER, 1, FINDING_ERROR, "came meanwhile, times: ", "", "see NVIDIA's list of Xid errors for what to do"},
};
#define KINDS (int)(sizeof kinds / sizeof *kinds)

struct noise_watch *noise_begin(struct arena *a)
{
    struct noise_watch *w = ARENA_NEW(a, struct noise_watch);
    w->before.arena = a;
    w->gpus = gpu_watch_open();
    signs_read(&w->before, w->gpus);
    return w;
}

static const struct sign *find_same(const struct signs *in, const struct sign *x)
{
    for (int i = 0; i < in->n; i++) {
        const struct sign *y = &in->list[i];
        if (!strcmp(x->kind, y->kind) && arena_same_text(x->subject, y->subject))
            return y;
    }
    return NULL;
}

/* The number that counts for a kind, of what was before (NAN where it was not told) and after. */
static double number_of(enum when when, double before, double after, double passed_s)
{
    return when == BEFORE ? before
           : when == EVER ? fmax(before, after)
           : when == GREW ? after - before
                          : (after - before) / passed_s;
}

/* Add the finding of a sign that is worth telling. `host`: whose sign it is; NULL this node's. */
static void add_noise(struct findings *found, const char *host, const struct sign *x, double before, double passed_s)
{
    int k = 0;
    while (k < KINDS && strcmp(kinds[k].id, x->kind) != 0)
        k++;
    if (k == KINDS)
        return;
    double number = number_of(kinds[k].when, before, x->value, passed_s);
    if (!(number >= kinds[k].least))
        return;
    if (kinds[k].when == TIME)
        number *= 100;
    const char *unit = kinds[k].unit, *subject = x->subject ? x->subject : host;
    char text[32];
    snprintf(text, sizeof text, "%.3g", fabs(number));
    if (host && x->subject)
        subject = arena_printf(found->arena, "%s, %s", host, x->subject);
    finding_add(found, kinds[k].severity, kinds[k].id, subject, "%s%s%s", kinds[k].text, unit ? text : "",
                unit ? unit : "")
        ->advice = kinds[k].advice;
}

static void compare_signs(const struct signs *before, const struct signs *after, const char *host,
                          struct findings *found)
{
    double passed_s = fmax(after->at_s - before->at_s, 1e-3);
    for (int i = 0; i < after->n; i++) {
        const struct sign *was = find_same(before, &after->list[i]);
        add_noise(found, host, &after->list[i], was ? was->value : NAN, passed_s);
    }
}

void noise_end(struct noise_watch *w, struct findings *found)
{
    struct signs after = {.arena = w->before.arena};
    if (found) {
        signs_read(&after, w->gpus);
        compare_signs(&w->before, &after, NULL, found);
    }
    gpu_watch_close(w->gpus);
}

void noise_of_node(const char *host, const char *said, struct findings *found)
{
    struct signs lists[2];
    if (signs_parse(said, found->arena, lists) == 2)
        compare_signs(&lists[0], &lists[1], host, found);
}

void noise_print(const struct findings *noise, FILE *out)
{
    if (noise->n)
        fputs("\nNoise:\n", out);
    for (int i = 0; i < noise->n; i++)
        finding_print(&noise->list[i], 2, out);
}

/* ---- how well the default repeats itself ---- */

/* Samples of one start before its median is believed. */
#define TRUSTED_SAMPLES 3

/* "4.2 %"; above 100 % "a factor of 2.1", or of 3110. */
static const char *difference_text(double share, struct arena *a)
{
    if (share > 1)
        return arena_printf(a, share < 100 ? "a factor of %.3g" : "a factor of %.0f", 1 + share);
    return arena_printf(a, "%.1f %%", 100 * share);
}

void noise_of_repeats(const struct bench_points *points, struct findings *found)
{
    struct arena *a = found->arena;
    const struct bench_point *worst = NULL;
    double *spreads = arena_alloc(a, ((size_t)points->count + 1) * sizeof *spreads), most = -1;
    int n = 0, suspicious = 0;
    char size[UNIT_TEXT];
    for (int i = 0; i < points->count; i++) {
        const struct bench_point *p = &points->items[i];
        const struct bench_candidate *c = p->untouched < 0 ? NULL : &p->candidates[p->untouched];
        struct bench_interval fastest = {0}, slowest = {0};
        int starts = 0;
        for (int k = 0; c && k < c->nresults; k++) {
            const struct bench_result *x = c->results[k];
            if (x->status != BENCH_OK || x->ntimes < TRUSTED_SAMPLES || x->high_us > 0)
                continue;
            const struct bench_interval v =
                bench_interval_of(x->times_us, x->ntimes, arena_alloc(a, (size_t)x->ntimes * sizeof(double)));
            fastest = !starts || v.median < fastest.median ? v : fastest;
            slowest = !starts++ || v.median > slowest.median ? v : slowest;
        }
        if (starts < 2)
            continue;
        double spread = slowest.median / fastest.median - 1;
        suspicious |= spread > BENCH_MARGIN && slowest.low > fastest.high; /* intervals with nothing in common */
        worst = spread > most ? p : worst;
        most = fmax(spread, most);
        spreads[n++] = spread;
    }
    if (n) {
        double median = stats_median(spreads, n);
        int noisy = suspicious || median > BENCH_MARGIN;
        struct finding *f = finding_add(found, noisy ? FINDING_WARNING : FINDING_OK, "default-repeats", NULL,
                                        "the baseline's times differ by %s from one start to the next (median of "
                                        "%d point%s), at worst by %s: %s of %s",
                                        difference_text(median, a), n, n == 1 ? "" : "s", difference_text(most, a),
                                        coll_name(worst->coll), unit_bytes(size, worst->bytes));
        if (noisy)
            f->advice = "launches that differ by less are noise; calls are compared within starts";
    }
}

/* Starts that are less alike than this count as nearly as many. */
#define ALIKE 0.2

const char *noise_sentence(const struct bench_noise *x, int starts, double margin, struct arena *a)
{
    double wanted = 1 + BENCH_WANTED * margin, smallest = bench_smallest_gain(x, starts, margin);
    int need = bench_starts_for(x, wanted, margin);
    const char *more = smallest <= wanted ? ""
                                          : arena_printf(a, "; a gain of %.1f %% takes %s%d starts", 100 * (wanted - 1),
                                                         need < BENCH_MANY_STARTS ? "" : "more than ", need);
    return arena_printf(a,
                        "gains, which are measured within a start, differ by %s from one start to the next: "
                        "none below %s can be decided in %d starts%s",
                        difference_text(x->spread, a), difference_text(smallest - 1, a), starts, more);
}

void noise_of_starts(const struct bench_points *points, struct findings *found)
{
    int modes = 0, proven = 0, most = 0;
    double worth = 0;
    char size[UNIT_TEXT];
    const struct bench_point *where = NULL;
    const char *call = "";
    for (int i = 0; i < points->count; i++)
        for (int k = 0; k < points->items[i].ncandidates; k++) {
            const struct bench_candidate *c = &points->items[i].candidates[k];
            int keeps = c->proof.n >= BENCH_FEWEST && c->proof.lost && c->proof.median >= 1 + BENCH_MARGIN;
            proven += c->proof.n >= BENCH_FEWEST;
            if (c->proof.n > most) {
                most = c->proof.n;
                worth = c->proof.worth;
            }
            if (keeps && !modes++) {
                where = &points->items[i];
                call = c->call.label;
            }
        }
    const struct bench_noise x = bench_noise_of(points);
    if (x.calls) {
        int noisy = bench_smallest_gain(&x, most, BENCH_MARGIN) > 1 + BENCH_WANTED * BENCH_MARGIN;
        struct finding *f = finding_add(found, noisy ? FINDING_WARNING : FINDING_OK, "smallest-gain", NULL, "%s",
                                        noise_sentence(&x, most, BENCH_MARGIN, found->arena));
        if (noisy)
            f->advice = "use a quiet machine or a larger --budget";
    }
    if (proven && points->alike > ALIKE) {
        struct finding *f = finding_add(
            found, FINDING_WARNING, "starts-alike", NULL,
            "disturbances last longer than a start: successive starts correlate by %.2f, and %d starts count as %.1f",
            points->alike, most, worth);
        f->advice = "a larger --budget spreads starts over more time";
    }
    if (modes) {
        struct finding *f = finding_add(found, FINDING_NOTE, "modes", NULL,
                                        "%d call%s faster in most starts and slower in whole others, such as %s at %s "
                                        "of %s: no rule is written for them",
                                        modes, modes == 1 ? " is" : "s are", call, coll_name(where->coll),
                                        unit_bytes(size, where->bytes));
        f->advice = "placement of processes, clocks or rings may differ from start to start: fix those first";
    }
}
