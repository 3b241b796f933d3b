/* What the page is made of, in the order of its tabs. */
#include "envgen/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/call/shape.h"
#include "core/coll.h"
#include "core/file.h"
#include "core/json.h"
#include "core/page.h"
#include "core/vars/catalogue.h"
#include "envgen/report/report_internal.h"
#include "probe/findings/findings.h"

/* ---- the data of the page, for programs: figures in columns, because a large cluster has very many --------------- */

/* Five digits: more than any measurement is good for. */
static void add_figure(cJSON *row, double v, int known)
{
    char text[32];
    snprintf(text, sizeof text, "%.5g", v);
    cJSON_AddItemToArray(row, known && isfinite(v) ? cJSON_CreateNumber(strtod(text, NULL)) : cJSON_CreateNull());
}

static void add_interval(cJSON *row, const struct bench_interval *v)
{
    add_figure(row, v->median, v->n > 0);
    add_figure(row, v->low, v->n > 0);
    add_figure(row, v->high, v->n > 0);
    cJSON_AddItemToArray(row, cJSON_CreateNumber(v->n));
}

static void add_gain(cJSON *o, const struct bench_interval *v)
{
    cJSON *row = cJSON_CreateArray();
    add_interval(row, v);
    cJSON_AddItemToObject(o, "gain", row);
}

static void add_candidates(cJSON *o, const struct env_coll *c)
{
    static const char *const columns[] = {"bytes",   "call", "status",   "median_us", "low_us",       "high_us",
                                          "samples", "gain", "gain_low", "gain_high", "gain_samples", "used"};
    cJSON_AddItemToObject(o, "columns", cJSON_CreateStringArray(columns, sizeof columns / sizeof *columns));
    cJSON *rows = cJSON_AddArrayToObject(o, "candidates");
    for (int i = 0; i < c->nranges; i++)
        for (int k = 0; k < c->ranges[i].npoints; k++)
            for (int n = 0; n < c->ranges[i].points[k].noptions; n++) {
                const struct env_point *p = &c->ranges[i].points[k];
                const struct env_option *option = &p->options[n];
                cJSON *row = cJSON_CreateArray();
                cJSON_AddItemToArray(rows, row);
                cJSON_AddItemToArray(row, cJSON_CreateNumber((double)p->bytes));
                json_append_str(row, option->call.label);
                json_append_str(row, bench_status_name(option->status));
                add_interval(row, &option->time_us);
                add_interval(row, &option->gain);
                cJSON_AddItemToArray(row, cJSON_CreateBool(n == p->chosen));
            }
}

static void add_ranges(cJSON *o, const struct env_coll *c)
{
    cJSON *ranges = cJSON_AddArrayToObject(o, "ranges");
    for (int i = 0; i < c->nranges; i++) {
        cJSON *range = json_append(ranges);
        cJSON_AddNumberToObject(range, "min_bytes", (double)c->ranges[i].min_bytes);
        if (c->ranges[i].max_bytes != ENV_OPEN)
            cJSON_AddNumberToObject(range, "max_bytes", (double)c->ranges[i].max_bytes);
        json_add_str(range, "call", c->ranges[i].call.label);
        json_add_str(range, "why", c->ranges[i].why);
        add_gain(range, &c->ranges[i].gain);
    }
}

static void add_shape(cJSON *array, const struct env_shape *s)
{
    cJSON *o = json_append(array);
    json_add_str(o, "engine", s->engine);
    json_add_str(o, "library", s->library);
    json_add_str(o, "evidence", bench_evidence_text(bench_evidence_of(s->engine)));
    json_add_str(o, "buffers", bench_buffers_name(s->buffers));
    cJSON_AddNumberToObject(o, "nodes", s->nodes);
    cJSON_AddNumberToObject(o, "ranks", s->ranks);
    cJSON_AddNumberToObject(o, "groups", s->others + 1);
    json_add_str(o, "load", bench_load_name(s->load));
    json_add_str(o, "launch", s->chosen < 0 ? NULL : s->launches[s->chosen].knobs.label);
    json_add_str(o, "why", s->why);
    add_gain(o, &s->total_gain);
    cJSON *launches = cJSON_AddArrayToObject(o, "launches"), *colls = cJSON_AddArrayToObject(o, "collectives");
    for (int i = 0; i < s->nlaunches; i++) {
        cJSON *l = json_append(launches);
        json_add_str(l, "label", s->launches[i].knobs.label);
        json_add_str(l, "why", s->launches[i].why);
        add_gain(l, &s->launches[i].gain);
    }
    for (int i = 0; i < s->ncolls; i++) {
        cJSON *c = json_append(colls);
        json_add_str(c, "collective", coll_name(s->colls[i].coll));
        add_ranges(c, &s->colls[i]);
        add_candidates(c, &s->colls[i]);
    }
}

/* All of it for programs and for the page's script, {"format": "nccltune-report/1", ...}; cJSON_Delete frees. */
static cJSON *report_data(struct report *r)
{
    cJSON *doc = cJSON_CreateObject();
    json_add_str(doc, "format", "nccltune-report/1");
    json_add_str(doc, "profile", r->p->manifest.hash);
    json_add_str(doc, "tool", r->p->manifest.tool);
    json_add_str(doc, "created", r->p->manifest.created);
    json_add_str(doc, "topology", r->d->topology);
    json_add_str(doc, "today", r->d->today);
    cJSON_AddNumberToObject(doc, "margin", r->d->margin);
    cJSON_AddNumberToObject(doc, "confidence", r->d->confidence);
    cJSON *settings = cJSON_AddArrayToObject(doc, "settings"), *shapes = cJSON_AddArrayToObject(doc, "shapes");
    for (int i = 0; i < r->d->nsettings; i++) {
        const struct env_setting *s = &r->d->settings[i];
        cJSON *o = json_append(settings);
        json_add_str(o, "name", s->name);
        json_add_str(o, "value", s->value);
        json_add_str(o, "class", s->node_class);
        json_add_str(o, "source", s->source);
        json_add_str(o, "why", s->why);
    }
    for (int i = 0; i < r->d->nshapes; i++)
        add_shape(shapes, &r->d->shapes[i]);
    if (r->t)
        findings_add_json(doc, "findings", r->t->findings, r->t->nfindings);
    if (r->measured)
        findings_add_json(doc, "noise", r->measured->noise.list, r->measured->noise.n);
    return doc;
}

static const struct report_part *const parts[] = {
    &report_summary, &report_calls,  &report_decisions, &report_tried,       &report_settings,
    &report_machine, &report_fabric, &report_predicted, &report_environment, &report_install,
};

static const char *file_of(const struct report *r, const char *name)
{
    const char *path = arena_printf(r->a, "%s/%s", r->p->dir, name);
    return access(path, F_OK) ? NULL : path;
}

static int read_files(struct report *r, struct err *e)
{
    const char *topology = file_of(r, "topology.json"), *journal = file_of(r, "results.jsonl"),
               *fabric = file_of(r, "fabric.json");
    if (topology && !(r->t = topo_load(topology, e)))
        return e->code;
    if (r->t)
        findings_attach(r->t);
    if (journal && !(r->measured = bench_results_load(journal, NULL, e)))
        return e->code;
    if (fabric && !(r->fabric = verbs_fabric_load(fabric, e)))
        return e->code;
    if (r->fabric)
        r->verdict = verbs_decide(r->fabric, r->d->nccl_high ? r->d->nccl_high : VERBS_NCCL_NEWEST);
    return 0;
}

static const char *title_of(const struct report *r)
{
    int n = r->t ? r->t->nhosts : 0;
    const char *whose = !r->t ? r->p->dir : n == 1 ? r->t->hosts[0].name : r->t->source ? r->t->source : r->p->dir;
    return n > 1 ? arena_printf(r->a, "nccltune: %s, %d nodes", whose, n) : arena_printf(r->a, "nccltune: %s", whose);
}

static void draw_page(struct report *r, FILE *out)
{
    page_begin(out, title_of(r));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!parts[i]->has || parts[i]->has(r)) {
            page_part(out, parts[i]->id, parts[i]->name);
            parts[i]->draw(r, out);
        }
    cJSON *data = report_data(r);
    page_island(out, "nccltune-data", data);
    cJSON_Delete(data);
    page_end(out);
}

int env_report_write(const struct env_profile *p, FILE *out, struct err *e)
{
    struct report r = {.p = p, .d = p->decisions, .a = arena_new()};
    int rc = read_files(&r, e);
    if (!rc) {
        r.model = explain_model_new(p, 0);
        draw_page(&r, out);
        rc = ferror(out) ? err_set(e, ERR_FAILED, "the report cannot be written") : 0;
    }
    explain_model_free(r.model);
    verbs_fabric_free(r.fabric);
    bench_results_free(r.measured);
    topo_free(r.t);
    arena_free(r.a);
    return rc;
}

int env_report_save(const struct env_profile *p, const char *path, struct err *e)
{
    struct arena *a = arena_new();
    struct file_out out;
    int rc = file_out_begin(&out, e);
    if (!rc)
        rc = file_out_end(&out, path ? path : arena_printf(a, "%s/" ENV_REPORT, p->dir),
                          env_report_write(p, out.stream, e), e);
    arena_free(a);
    return rc;
}
