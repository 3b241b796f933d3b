/* Measured times against the band; causes are variations whose predictions explain what was measured. */
#include "advise/whatif/whatif.h"

#include <math.h>

#include "core/coll.h"
#include "core/units.h"
#include "envgen/predict/predict.h"
#include "model/model.h"

#define CAUSES 3 /* that are named */

/* What is left of the squared errors by a variation that is worth naming, and by one that explains as much as the best
 * does. */
#define EXPLAINS 0.25
#define AS_WELL  2.0

/* Of what waits more than it carries the model knows too little for a verdict. */
#define SMALLEST ((uint64_t)1 << 20)

/* Observations on as many nodes and ranks as one of them. */
struct group {
    const struct model_observation *o, *like;
    int n, version;
};

static int is_alike(const struct model_observation *x, const struct model_observation *y)
{
    return x->nodes == y->nodes && x->ranks == y->ranks && x->others == y->others;
}

/* Sum of squared log errors of a variation; below 0: it cannot be predicted. `at` (NULL fine) is the observation that
 * is furthest above its band, -1 none, and `expected` its prediction. */
static double off(const struct group *g, const struct model *m, int *at, struct model_time *expected)
{
    double sum = 0, most = 0;
    int used = 0;
    for (int i = 0; i < g->n; i++) {
        struct model_time t;
        const struct model_call call = {g->o[i].coll, g->o[i].bytes, -1, -1, 0};
        if (!is_alike(g->like, &g->o[i]) || g->o[i].algo >= 0 || g->o[i].proto >= 0 || call.bytes < SMALLEST ||
            model_predict(m, &call, &t))
            continue;
        double error = log(g->o[i].us / t.us);
        sum += error * error;
        used++;
        if (at && g->o[i].us > t.high_us && g->o[i].us / t.us > most) {
            most = g->o[i].us / t.us;
            *expected = t;
            *at = i;
        }
    }
    return used ? sum : -1;
}

/* What goes wrong with machines: the usual variations, and settings that people leave behind. */
static struct whatif *variations_of(const struct topology *t, const struct group *g)
{
    static const char *const settings[] = {"NCCL_P2P_DISABLE=1", "NCCL_NET_GDR_LEVEL=LOC", "NCCL_NVLS_ENABLE=0"};
    struct err e = {0};
    const struct model_setup base = {.nccl = {.topology = t,
                                              .nodes = g->like->nodes,
                                              .ranks_per_node = g->like->ranks / g->like->nodes,
                                              .version = g->version},
                                     .others = g->like->others,
                                     .launcher = MODEL_LAUNCH_PROCESS}; /* as bench's workers are */
    struct whatif *w = whatif_new("this machine", COLL_ALLREDUCE, &base, &e);
    if (!w)
        return NULL;
    whatif_add_usual(w, &e);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        whatif_add_settings(w, settings[i], &e);
    for (int i = 0; i < w->ncases; i++)
        if (!w->cases[i].model)
            w->cases[i].model = model_new(&w->cases[i].setup, w->arena, NULL);
    return w;
}

/* A cause in words: what a variation is, or the setting that would do it. */
static const char *cause(const struct whatif_case *c, struct arena *a)
{
    return c->nsettings ? arena_printf(a, "as with %s=%s", c->settings[0].name, c->settings[0].value)
                        : arena_printf(a, "%s (%s)", c->label, c->what);
}

/* The variations that come nearest, each better than the next; "" none does. */
static const char *causes_of(const struct whatif *w, const struct group *g, double base, struct arena *a)
{
    double last = -1, best = 0;
    const char *text = "";
    for (int n = 0; n < CAUSES; n++) {
        int found = 0;
        double least = INFINITY;
        for (int i = 1; i < w->ncases; i++) {
            const struct whatif_case *c = &w->cases[i];
            double sum = c->model && c->setup.nccl.nodes == g->like->nodes ? off(g, c->model, NULL, NULL) : -1;
            if (sum > last && sum < least && sum < EXPLAINS * base) {
                least = sum;
                found = i;
            }
        }
        if (!found || (n && least > AS_WELL * best + base * 0.02))
            break;
        best = n ? best : least;
        last = least;
        text = arena_printf(a, "%s%s%s", text, n ? "; " : "", cause(&w->cases[found], a));
    }
    return text;
}

static void judge_group(const struct topology *t, const struct group *g, struct findings *found)
{
    struct model_time expected;
    struct arena *a = found->arena;
    char size[UNIT_TEXT];
    struct whatif *w = variations_of(t, g);
    int at = -1;
    double base = w && w->cases[0].model ? off(g, w->cases[0].model, &at, &expected) : -1;
    if (at >= 0) {
        const struct model_observation *o = &g->o[at];
        const char *causes = causes_of(w, g, base, a);
        struct finding *f = finding_add(
            found, FINDING_WARNING, "slower-than-machine",
            arena_printf(a, "%s %s on %d node%s", coll_name(o->coll), unit_bytes(size, o->bytes), o->nodes,
                         o->nodes == 1 ? "" : "s"),
            "%.1fx slower than this machine should be: %.4g us measured, %.4g us predicted, 90 %% within %.4g to "
            "%.4g us",
            o->us / expected.us, o->us, expected.us, expected.low_us, expected.high_us);
        f->advice = *causes ? arena_printf(a, "The likeliest causes: %s.", causes)
                            : "Nothing that the model knows of explains it: other jobs, congestion, slow GPUs or "
                              "clocks, or a topology that is not this machine's.";
    }
    whatif_free(w);
}

void sanity_check(const struct bench_points *p, const struct topology *t, struct findings *found)
{
    struct arena *a = arena_new();
    struct group g = {0};
    int class_index = t ? topo_gpu_class(t) : -1;
    g.o = calibration_observe(p, a, &g.n, &g.version);
    for (int i = 0; i < g.n && class_index >= 0; i++) {
        int seen = 0;
        for (int k = 0; k < i; k++)
            seen |= is_alike(&g.o[k], &g.o[i]);
        g.like = &g.o[i];
        if (!seen && g.like->ranks % g.like->nodes == 0)
            judge_group(t, &g, found);
    }
    arena_free(a);
}

void sanity_print(const struct findings *found, FILE *out)
{
    if (found->n)
        fputs("\nAgainst the model:\n", out);
    for (int i = 0; i < found->n; i++)
        finding_print(&found->list[i], 2, out);
}
