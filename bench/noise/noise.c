/* Signs of before against signs of after. */
#include "bench/noise/noise.h"

#include <math.h>
#include <string.h>

#include "bench/noise/host_signs.h"
#include "core/progress.h"
#include "probe/source/gpu_signs.h"

struct sign {
    const char *kind, *subject;
    double value;
};

struct signs {
    struct arena *arena;
    struct sign *list;
    int n;
};

struct noise_watch {
    struct signs before;
    struct gpu_watch *gpus;
    double began_s;
};

/* When a sign is worth telling: it was there at the start, it was there at the start or the end, it grew in between, or
 * it grew by this part of the time. */
enum when { BEFORE, EVER, GREW, TIME };

#define QUIET "let other jobs end, or measure in an allocation of its own"
#define COOL  "see to fans, inlet temperature and power limits of this node (nvidia-smi -q -d PERFORMANCE,TEMPERATURE)"
#define CABLE "see to cables, risers and the driver's log before its times are believed"

static const struct {
    const char *id;
    enum when when;
    double least;
    enum finding_severity severity;
    const char *text, *unit; /* the number between them; unit NULL: none */
    const char *advice;
} kinds[] = {
    {"load", BEFORE, 0.5, FINDING_WARNING, "this machine was busy before: a load of ", " for each processor", QUIET},
    {"cpu-pressure", BEFORE, 20, FINDING_WARNING, "this machine was busy before: something waited for a processor in ",
     " % of the time", QUIET},
    {"cpu-stolen", TIME, 0.01, FINDING_WARNING, "the hypervisor kept ", " % of the processors' time",
     "times of a guest whose host is shared do not repeat"},
    {"cpu-throttled", GREW, 1, FINDING_WARNING, "the processors were slowed down for heat ", " times",
     "see to fans and inlet temperature of this node"},
    {"cpu-limited", BEFORE, 5, FINDING_NOTE, "the processors may not use ", " % of their clock",
     "cpupower frequency-info tells who limits it"},
    {"gpu-slowed", EVER, 1, FINDING_WARNING, "the hardware slows it down, for heat or power", NULL, COOL},
    {"gpu-heat", EVER, 1, FINDING_WARNING, "it is slowed down for heat", NULL, COOL},
    {"gpu-clocks", EVER, 1, FINDING_NOTE, "its clocks are limited by a setting", NULL,
     "nvidia-smi -q -d CLOCK shows it, nvidia-smi -rac and -rgc take it back"},
    {"gpu-hot", EVER, -5, FINDING_WARNING, "it is as near as ", " C to the temperature at which it slows down", COOL},
    {"gpu-heat-time", TIME, 0.001, FINDING_WARNING, "it was slowed down for heat in ", " % of the time", COOL},
    {"gpu-power-time", TIME, 0.05, FINDING_WARNING, "it was held at its power limit in ", " % of the time",
     "collectives alone do not draw that much: something else computes on it, or its limit is low"},
    {"gpu-processes", EVER, 1, FINDING_WARNING, "processes of others that compute on it: ", "", QUIET},
    {"gpu-busy", BEFORE, 5, FINDING_WARNING, "before, it was busy in ", " % of the time", QUIET},
    {"ecc-uncorrected", GREW, 1, FINDING_ERROR, "uncorrected memory errors meanwhile: ", "",
     "drain this node: data may be wrong"},
    {"ecc-corrected", GREW, 1, FINDING_NOTE, "corrected memory errors meanwhile: ", "", "watch this GPU"},
    {"pcie-replays", GREW, 1, FINDING_WARNING, "PCIe packets that were sent again meanwhile: ", "", CABLE},
    {"nvlink-errors", GREW, 1, FINDING_WARNING, "NVLink errors meanwhile: ", "", CABLE},
    {"port-errors", GREW, 1, FINDING_WARNING, "errors meanwhile: ", "", CABLE},
    {"xid", GREW, 1, FINDING_ERROR, "came meanwhile, times: ", "", "see NVIDIA's list of Xid errors for what to do"},
};
#define KINDS (int)(sizeof kinds / sizeof *kinds)

static void take(void *user, const char *kind, const char *subject, double value)
{
    struct signs *s = user;
    s->list = arena_grow(s->arena, s->list, (size_t)s->n, sizeof *s->list);
    s->list[s->n++] = (struct sign){kind, subject ? arena_strdup(s->arena, subject) : NULL, value};
}

static void read_all(struct noise_watch *w, struct signs *s)
{
    host_signs_read(s->arena, take, s);
    if (w->gpus)
        gpu_watch_read(w->gpus, take, s);
}

struct noise_watch *noise_begin(struct arena *a)
{
    struct noise_watch *w = ARENA_NEW(a, struct noise_watch);
    w->before.arena = a;
    w->gpus = gpu_watch_open();
    w->began_s = progress_now_s();
    read_all(w, &w->before);
    return w;
}

static const struct sign *same(const struct signs *in, const struct sign *x)
{
    for (int i = 0; i < in->n; i++) {
        const struct sign *y = &in->list[i];
        if (!strcmp(x->kind, y->kind) &&
            (x->subject && y->subject ? !strcmp(x->subject, y->subject) : x->subject == y->subject))
            return y;
    }
    return NULL;
}

/* The number that counts for a kind, of what was before (0 where it was not told) and after. */
static double number_of(enum when when, double before, double after, double passed_s)
{
    return when == BEFORE ? before
           : when == EVER ? fmax(before, after)
           : when == GREW ? after - before
                          : (after - before) / passed_s;
}

static void judge(struct findings *found, const struct sign *x, double before, double passed_s)
{
    int k = 0;
    while (k < KINDS && strcmp(kinds[k].id, x->kind) != 0)
        k++;
    if (k == KINDS)
        return;
    double number = number_of(kinds[k].when, before, x->value, passed_s);
    if (number < kinds[k].least)
        return;
    if (kinds[k].when == TIME)
        number *= 100;
    const char *unit = kinds[k].unit;
    char text[32];
    snprintf(text, sizeof text, "%.3g", fabs(number));
    finding_add(found, kinds[k].severity, kinds[k].id, x->subject, "%s%s%s", kinds[k].text, unit ? text : "",
                unit ? unit : "")
        ->advice = kinds[k].advice;
}

void noise_end(struct noise_watch *w, struct findings *found)
{
    struct signs after = {.arena = w->before.arena};
    double passed_s = fmax(progress_now_s() - w->began_s, 1e-3);
    if (found)
        read_all(w, &after);
    for (int i = 0; i < after.n; i++) {
        const struct sign *before = same(&w->before, &after.list[i]);
        judge(found, &after.list[i], before ? before->value : 0, passed_s);
    }
    gpu_watch_close(w->gpus);
}

void noise_print(const struct findings *noise, FILE *out)
{
    if (noise->n)
        fputs("\nNoise:\n", out);
    for (int i = 0; i < noise->n; i++)
        finding_print(&noise->list[i], 2, out);
}
