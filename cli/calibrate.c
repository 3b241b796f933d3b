/* Measure, fit, say what came of it. */
#include "cli/calibrate.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/coll.h"
#include "core/file.h"
#include "core/json.h"
#include "core/progress.h"
#include "core/trust.h"
#include "core/units.h"
#include "envgen/predict/predict.h"
#include "model/model.h"

#define SECONDS 10

/* One call that waits, two that do both, one that carries. */
static const struct bench_size_list sizes = {4, {8 << 10, 1 << 20, 32 << 20, 256 << 20}};

/* A point before and after. */
struct row {
    const struct bench_point *point;
    double measured_us;
    struct model_time before, after;
};

static struct row *rows_of(const struct bench_points *p, const struct topology *t, int class_index,
                           const struct calibration *c, struct arena *a, int *n)
{
    struct row *rows = arena_alloc(a, ((size_t)p->count + 1) * sizeof *rows);
    *n = 0;
    for (int i = 0; i < p->count; i++) {
        const struct bench_point *point = &p->items[i];
        struct model_setup *s = ARENA_NEW(a, struct model_setup);
        s->nccl = (struct nccl_setup){.topology = t, .class_index = class_index, .version = c->version};
        s->nccl.nodes = point->nodes;
        s->nccl.ranks_per_node = point->ranks / point->nodes;
        struct model *m = point->untouched >= 0 ? model_new(s, a, NULL) : NULL;
        const struct model_call call = {point->coll, point->bytes, -1, -1, 0};
        struct row *r = &rows[*n];
        if (!m || model_predict(m, &call, &r->before))
            continue;
        model_set_factors(m, &c->fit.factors);
        model_predict(m, &call, &r->after);
        r->point = point;
        r->measured_us = point->candidates[point->untouched].time_us.median;
        (*n)++;
    }
    return rows;
}

static void print(const struct calibration *c, const struct row *rows, int n)
{
    char size[UNIT_TEXT];
    printf("# %s\n#\n# %-14s %9s %12s   %-32s  %s\n", rows[0].point->library, "collective", "size", "measured us",
           "predicted before, nine of ten", "and now");
    for (int i = 0; i < n; i++)
        printf("  %-14s %9s %12.1f   %10.1f [%.1f, %.1f]  %10.1f [%.1f, %.1f]\n", coll_name(rows[i].point->coll),
               unit_bytes(size, rows[i].point->bytes), rows[i].measured_us, rows[i].before.us, rows[i].before.low_us,
               rows[i].before.high_us, rows[i].after.us, rows[i].after.low_us, rows[i].after.high_us);
    printf("\nkept as %s\n", c->path);
    if (c->fit.bounded)
        puts("The topology does not explain these times: factors ended at a bound of the fit.");
}

static int print_json(const struct calibration *c, const struct row *rows, int n, struct err *e)
{
    cJSON *doc = cJSON_CreateObject(), *list;
    cJSON_AddStringToObject(doc, "format", "nccltune-calibration/1");
    json_add_str(doc, "path", c->path);
    json_add_str(doc, "library", rows[0].point->library);
    cJSON_AddNumberToObject(doc, "factor_before", c->fit.before);
    cJSON_AddNumberToObject(doc, "factor", c->fit.spread);
    list = cJSON_AddObjectToObject(doc, "times");
    for (int i = 0; i < MODEL_PARTS; i++)
        cJSON_AddNumberToObject(list, model_part_names[i], c->fit.factors.time[i]);
    list = cJSON_AddArrayToObject(doc, "points");
    for (int i = 0; i < n; i++) {
        cJSON *o = json_append(list);
        json_add_str(o, "collective", coll_name(rows[i].point->coll));
        cJSON_AddNumberToObject(o, "bytes", (double)rows[i].point->bytes);
        cJSON_AddNumberToObject(o, "measured_us", rows[i].measured_us);
        cJSON_AddNumberToObject(o, "before_us", rows[i].before.us);
        cJSON_AddNumberToObject(o, "before_low_us", rows[i].before.low_us);
        cJSON_AddNumberToObject(o, "before_high_us", rows[i].before.high_us);
        cJSON_AddNumberToObject(o, "time_us", rows[i].after.us);
        cJSON_AddNumberToObject(o, "low_us", rows[i].after.low_us);
        cJSON_AddNumberToObject(o, "high_us", rows[i].after.high_us);
    }
    return json_save(doc, NULL, e);
}

static int conclude(const struct bench_results *r, const struct topology *t, int class_index, struct calibration *c,
                    int json, struct err *e)
{
    struct bench_points *points = bench_points_of(r, r->arena);
    int n, rc = calibration_fit(points, t, class_index, c, e);
    const struct row *rows = rc ? NULL : rows_of(points, t, class_index, c, r->arena, &n);
    if (rc || !n)
        return rc ? rc : err_set(e, ERR_FAILED, "nothing was measured that the model can predict");
    if (json)
        return print_json(c, rows, n, e);
    print(c, rows, n);
    return 0;
}

/* The journal is written beside the one that there may be, which it replaces when all is done. */
static int measure_calls(const struct bench_options *o, const struct topology *t, int class_index,
                         struct calibration *c, int json, struct log *log, struct err *e)
{
    struct bench_summary summary = {0};
    struct bench_results *measured = NULL;
    unlink(o->results);
    int rc = bench_run(o, t, log, cli_catch_interrupt(), &summary, &measured, e);
    progress_clear(log->progress);
    if (!rc)
        rc = summary.interrupted ? CLI_INTERRUPTED : conclude(measured, t, class_index, c, json, e);
    if (!rc)
        rc = trust_rename(o->results, c->path, e);
    if (rc)
        unlink(o->results);
    bench_results_free(measured);
    return rc;
}

int cli_calibrate(const struct bench_options *asked, const struct topology *t, int json, struct log *log, struct err *e)
{
    static const struct bench_knobs none;
    struct bench_options o = *asked, usual;
    int class_index = topo_gpu_class(t);
    if (class_index < 0)
        return err_set(e, ERR_LACKS, "no node has a GPU, so that there is no model to calibrate");
    struct arena *a = arena_new();
    struct calibration c = {.path = o.results ? o.results : calibration_path(&t->classes[class_index], a)};
    const char *slash = c.path ? strrchr(c.path, '/') : NULL;
    int rc = 0;
    if (!c.path)
        rc = err_set(e, ERR_LACKS, "neither XDG_STATE_HOME nor HOME is set: say where the calibration goes, -o FILE");
    else if (slash)
        rc = file_mkdirs(arena_strndup(a, c.path, (size_t)(slash - c.path) + 1), e);
    bench_options_default(&usual);
    o.budget_s = o.budget_open ? SECONDS : o.budget_s;
    o.budget_open = 0;
    o.collectives = 1u << COLL_ALLREDUCE;
    o.sizes = o.sizes.count ? o.sizes : sizes;
    o.setup.jobs = &none;
    o.results = arena_printf(a, "%s.%d", c.path ? c.path : "", (int)getpid());
    if (!rc)
        rc = measure_calls(&o, t, class_index, &c, json, log, e);
    arena_free(a);
    return rc;
}
