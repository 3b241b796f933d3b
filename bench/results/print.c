/* Measurements for people, as a table in the conventions of nccl-tests, and for programs: JSON, a CSV file, a journal.
 */
#include <string.h>

#include "bench/results/points.h"
#include "core/call/shape.h"
#include "core/coll.h"
#include "core/json.h"
#include "core/stats.h"
#include "core/units.h"

int bench_few(const struct bench_interval *v)
{
    return v->n < BENCH_FEWEST && !v->predicted;
}

const char *bench_gain_text(struct arena *a, struct bench_interval gain)
{
    return bench_few(&gain) ? arena_printf(a, "%.2fx (inconclusive)", gain.median)
                            : arena_printf(a, "%.2fx (%.2f to %.2f)", gain.median, gain.low, gain.high);
}

#define HEADING_ROWS                                                                                             \
    "#              ------------ default -----------   ------------- %s ------------\n"                          \
    "#        size        time    algbw    busbw          time    algbw    busbw    gain   interval        %s\n" \
    "#         (B)        (us)   (GB/s)   (GB/s)          (us)   (GB/s)   (GB/s)\n"

/* What a table is printed with, and which marks it has used. */
struct table {
    FILE *out;
    bench_used_fn *used;
    const void *decisions;
    int sure, few;
};

static void print_time(const struct bench_point *p, int candidate, FILE *out)
{
    char us[UNIT_TEXT] = "-", algbw[UNIT_TEXT] = "-", busbw[UNIT_TEXT] = "-";
    if (candidate >= 0) {
        const struct bench_candidate *c = &p->candidates[candidate];
        double GBps = coll_algbw_GBps((double)p->bytes, c->time_us.median);
        unit_three_digits(us, c->time_us.median);
        unit_three_digits(algbw, GBps);
        unit_three_digits(busbw, GBps * coll_busbw_factor(p->coll, p->ranks));
    }
    fprintf(out, " %11s %8s %8s", us, algbw, busbw);
}

static void print_choice(const struct bench_candidate *c, FILE *out)
{
    int launch = c->launch.nsettings > 0, call = c->call.nsettings > 0;
    if (!launch && !call)
        fputs("default", out);
    else
        fprintf(out, "%s%s%s", launch ? c->launch.label : "", launch && call ? " + " : "", call ? c->call.label : "");
}

static void print_gain(struct table *t, const struct bench_interval *g)
{
    char interval[32], mark = ' ';
    snprintf(interval, sizeof interval, "[%.2f, %.2f]", g->low, g->high);
    if (bench_few(g)) {
        mark = '?';
        snprintf(interval, sizeof interval, "too little");
    } else if (t->used || bench_gain_clears(*g, BENCH_MARGIN))
        mark = '*';
    t->sure |= mark == '*';
    t->few |= mark == '?';
    fprintf(t->out, "  %5.2fx%c %-15s ", g->median, mark, interval);
}

static void print_point(struct table *t, const struct bench_point *p)
{
    FILE *out = t->out;
    int shown = t->used ? t->used(p, t->decisions) : p->best;
    fprintf(out, "  %11llu", (unsigned long long)p->bytes);
    print_time(p, p->untouched, out);
    fputs("  ", out);
    print_time(p, shown, out);
    if (shown >= 0 && p->untouched >= 0 && shown != p->untouched)
        print_gain(t, &p->candidates[shown].gain);
    else
        fprintf(out, "  %6s  %-15s ", shown >= 0 && shown == p->untouched ? "1.00x" : "-", "");
    if (shown >= 0)
        print_choice(&p->candidates[shown], out);
    else
        fputs(t->used ? "default" : "no valid result", out);
    fputc('\n', out);
}

static void print_heading(const struct bench_point *p, FILE *out)
{
    fprintf(out, "# %s (%s): %s, %d rank%s on %d node%s", p->engine, p->library, coll_name(p->coll), p->ranks,
            p->ranks == 1 ? "" : "s", p->nodes, p->nodes == 1 ? "" : "s");
    if (p->others)
        fprintf(out, ", %d such groups at once", p->others + 1);
    fprintf(out, "%s%s\n", p->buffers ? ", buffers: " : "", p->buffers ? bench_buffers_name(p->buffers) : "");
}

void bench_points_print(const struct bench_points *points, bench_used_fn *used, const void *decisions, FILE *out)
{
    struct table t = {out, used, decisions, 0, 0};
    const char *shown = used ? "used" : "best";
    for (int i = 0; i < points->count; i++) {
        const struct bench_point *p = &points->items[i];
        if (!i || p->coll != p[-1].coll || strcmp(p->library, p[-1].library) != 0 || !bench_points_alike(p, p - 1)) {
            fputs(i ? "\n" : "", out);
            print_heading(p, out);
            fprintf(out, HEADING_ROWS, shown, shown);
        }
        print_point(&t, p);
    }
    if (t.sure || t.few)
        fprintf(out, "# %s%s%s\n",
                !t.sure ? ""
                : used  ? "* is not the default"
                        : "* is faster, interval above 1.00x",
                t.sure && t.few ? ", " : "", t.few ? "? inconclusive" : "");
}

/* ---- JSON ---- */

static void add_interval(cJSON *o, const char *key, const struct bench_interval *v)
{
    if (!v->n)
        return;
    cJSON *i = cJSON_AddObjectToObject(o, key);
    cJSON_AddNumberToObject(i, "median", v->median);
    cJSON_AddNumberToObject(i, "low", v->low);
    cJSON_AddNumberToObject(i, "high", v->high);
    cJSON_AddNumberToObject(i, "samples", v->n);
    cJSON_AddBoolToObject(i, "too_few", bench_few(v));
    if (v->predicted)
        cJSON_AddBoolToObject(i, "predicted", 1);
}

static void add_candidate(cJSON *list, const struct bench_point *p, const struct bench_candidate *c)
{
    cJSON *o = json_append(list);
    json_add_str(o, "launch", c->launch.label);
    json_add_str(o, "call", c->call.label);
    json_add_str(o, "status", bench_status_name(c->status));
    json_add_str(o, "detail", c->detail);
    add_interval(o, "time_us", &c->time_us);
    if (c->time_us.n) {
        double algbw = coll_algbw_GBps((double)p->bytes, c->time_us.median);
        cJSON_AddNumberToObject(o, "algbw_GBps", algbw);
        cJSON_AddNumberToObject(o, "busbw_GBps", algbw * coll_busbw_factor(p->coll, p->ranks));
    }
    add_interval(o, "gain", &c->gain);
}

cJSON *bench_points_json(const struct bench_points *points)
{
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "format", "nccltune-points/1");
    cJSON *list = cJSON_AddArrayToObject(doc, "points");
    for (int i = 0; i < points->count; i++) {
        const struct bench_point *p = &points->items[i];
        cJSON *o = json_append(list);
        json_add_str(o, "engine", p->engine);
        json_add_str(o, "library", p->library);
        json_add_str(o, "active", p->active);
        json_add_str(o, "buffers", bench_buffers_name(p->buffers));
        json_add_str(o, "collective", coll_name(p->coll));
        cJSON_AddNumberToObject(o, "bytes", (double)p->bytes);
        cJSON_AddNumberToObject(o, "nodes", p->nodes);
        cJSON_AddNumberToObject(o, "ranks", p->ranks);
        if (p->others)
            cJSON_AddNumberToObject(o, "groups", p->others + 1);
        cJSON *candidates = cJSON_AddArrayToObject(o, "candidates");
        for (int k = 0; k < p->ncandidates; k++)
            add_candidate(candidates, p, &p->candidates[k]);
        if (p->untouched >= 0)
            cJSON_AddNumberToObject(o, "untouched", p->untouched);
        if (p->best >= 0)
            cJSON_AddNumberToObject(o, "best", p->best);
    }
    return doc;
}

/* ---- results ---- */

/* A field quoted as RFC 4180 has it, with a comma behind it. */
static void put_text(const char *s, FILE *out)
{
    int quoted = s && strpbrk(s, ",\"\r\n");
    fputs(quoted ? "\"" : "", out);
    for (; s && *s; s++) {
        fputs(*s == '"' ? "\"" : "", out);
        putc(*s, out);
    }
    fputs(quoted ? "\"," : ",", out);
}

static void put_row(const struct bench_result *r, FILE *out)
{
    struct arena *a = arena_new();
    int n = r->ntimes;
    double *sorted = arena_alloc(a, (size_t)(n + 1) * sizeof *sorted), median_us = 0, algbw = 0;
    if (n) {
        memcpy(sorted, r->times_us, (size_t)n * sizeof *sorted);
        median_us = stats_median(sorted, n); /* which sorts */
        algbw = coll_algbw_GBps((double)r->bytes, median_us);
    }
    put_text(r->engine, out);
    put_text(r->library, out);
    put_text(coll_name(r->coll), out);
    fprintf(out, "%llu,%d,%d,%d,", (unsigned long long)r->bytes, r->nodes, r->ranks, r->others + 1);
    put_text(r->launch.label, out);
    put_text(r->call.label, out);
    put_text(bench_buffers_name(r->buffers), out);
    put_text(r->data, out);
    fprintf(out, "%d,", r->round);
    put_text(bench_status_name(r->status), out);
    fprintf(out, "%d,%.12g,%.12g,%.12g,%.12g,%.12g\n", n, median_us, sorted[0], n ? sorted[n - 1] : 0, algbw,
            algbw * coll_busbw_factor(r->coll, r->ranks));
    arena_free(a);
}

void bench_export_csv(const struct bench_results *all, FILE *out)
{
    fputs("engine,library,collective,bytes,nodes,ranks,groups,launch,call,buffers,data,round,status,samples,median_us,"
          "min_us,max_us,algbw_GBps,busbw_GBps\n",
          out);
    for (int i = 0; i < all->count; i++)
        put_row(&all->items[i], out);
}

void bench_export_journal(const struct bench_results *all, FILE *out)
{
    cJSON *head = cJSON_CreateObject();
    json_add_str(head, "format", BENCH_FORMAT);
    json_add_str(head, "topology", *all->topology ? all->topology : NULL);
    json_print_line(head, out);
    cJSON_Delete(head);
    for (int i = 0; i < all->count; i++) {
        cJSON *doc = bench_result_json(&all->items[i]);
        json_print_line(doc, out);
        cJSON_Delete(doc);
    }
    if (all->noise.n) {
        cJSON *doc = cJSON_CreateObject();
        findings_add_json(doc, "noise", all->noise.list, all->noise.n);
        json_print_line(doc, out);
        cJSON_Delete(doc);
    }
}
