/* Measurements for other programs: one row of figures, printed five ways. */
#include "bench/results/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/results/points.h"
#include "core/call/shape.h"
#include "core/coll.h"
#include "core/json.h"
#include "core/records.h"
#include "core/stats.h"

struct figures {
    double median_us, least_us, most_us, algbw, busbw; /* 0 without samples */
};

static struct figures figures_of(const struct bench_result *r)
{
    struct figures f = {0};
    struct arena *a = arena_new();
    double *sorted = arena_alloc(a, (size_t)(r->ntimes + 1) * sizeof *sorted);
    if (r->ntimes) {
        memcpy(sorted, r->times_us, (size_t)r->ntimes * sizeof *sorted);
        f.median_us = stats_median(sorted, r->ntimes);
        f.least_us = sorted[0];
        f.most_us = sorted[r->ntimes - 1];
        f.algbw = coll_algbw_GBps((double)r->bytes, r->slowdown > 0 ? r->call_us : f.median_us);
        f.busbw = f.algbw * coll_busbw_factor(r->coll, r->ranks);
    }
    arena_free(a);
    return f;
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

/* ---- CSV ---- */

void bench_export_csv(const struct bench_results *all, FILE *out)
{
    struct records rows = {.arena = arena_new()};
    for (int i = 0; i < all->count; i++) {
        const struct bench_result *r = &all->items[i];
        struct figures f = figures_of(r);
        const struct record_cell cells[] = {
            {"engine", r->engine, 0, NULL},
            {"library", r->library, 0, NULL},
            {"collective", coll_name(r->coll), 0, NULL},
            {"bytes", NULL, (double)r->bytes, NULL},
            {"nodes", NULL, r->nodes, NULL},
            {"ranks", NULL, r->ranks, NULL},
            {"groups", NULL, r->others + 1, NULL},
            {"launch", r->launch.label, 0, NULL},
            {"call", r->call.label, 0, NULL},
            {"buffers", or_empty(bench_buffers_name(r->buffers)), 0, NULL},
            {"data", or_empty(r->data), 0, NULL},
            {"round", NULL, r->round, NULL},
            {"status", bench_status_name(r->status), 0, NULL},
            {"samples", NULL, r->ntimes, NULL},
            {"median_us", NULL, f.median_us, NULL},
            {"min_us", NULL, f.least_us, NULL},
            {"max_us", NULL, f.most_us, NULL},
            {"algbw_GBps", NULL, f.algbw, NULL},
            {"busbw_GBps", NULL, f.busbw, NULL},
            {"load", bench_load_name(r->load), NAN, NULL},
            {"slowdown", NULL, r->slowdown, NULL},
        };
        records_add(&rows, cells, sizeof cells / sizeof *cells);
    }
    records_csv(&rows, out);
    arena_free(rows.arena);
}

/* ---- JSON ---- */

static void print_json(const cJSON *doc, const char *end, FILE *out)
{
    char *text = cJSON_PrintUnformatted(doc);
    fprintf(out, "%s%s", text ? text : "{}", end);
    free(text);
}

void bench_export_json(const struct bench_results *all, FILE *out)
{
    fputs("[\n", out);
    for (int i = 0; i < all->count; i++) {
        struct figures f = figures_of(&all->items[i]);
        cJSON *doc = bench_result_json(&all->items[i]);
        cJSON_AddNumberToObject(doc, "median_us", f.median_us);
        cJSON_AddNumberToObject(doc, "min_us", f.least_us);
        cJSON_AddNumberToObject(doc, "max_us", f.most_us);
        cJSON_AddNumberToObject(doc, "algbw_GBps", f.algbw);
        cJSON_AddNumberToObject(doc, "busbw_GBps", f.busbw);
        print_json(doc, i + 1 < all->count ? ",\n" : "\n", out);
        cJSON_Delete(doc);
    }
    fputs("]\n", out);
}

void bench_export_journal(const struct bench_results *all, FILE *out)
{
    cJSON *head = cJSON_CreateObject();
    json_add_str(head, "format", BENCH_FORMAT);
    json_add_str(head, "topology", *all->topology ? all->topology : NULL);
    print_json(head, "\n", out);
    cJSON_Delete(head);
    for (int i = 0; i < all->count; i++) {
        cJSON *doc = bench_result_json(&all->items[i]);
        print_json(doc, "\n", out);
        cJSON_Delete(doc);
    }
}

/* ---- by candidate: OpenMetrics, nccl-tests ---- */

static double busbw_of(const struct bench_point *p, const struct bench_candidate *c)
{
    return coll_algbw_GBps((double)p->bytes, bench_candidate_call_us(c)) * coll_busbw_factor(p->coll, p->ranks);
}

void bench_export_openmetrics(const struct bench_results *all, FILE *out)
{
    struct records rows = {.arena = arena_new()};
    const struct bench_points *points = bench_points_of(all, rows.arena);
    for (int i = 0; i < points->count; i++)
        for (int k = 0; k < points->items[i].ncandidates; k++) {
            const struct bench_point *p = &points->items[i];
            const struct bench_candidate *c = &p->candidates[k];
            const struct record_cell cells[] = {
                {"collective", coll_name(p->coll), 0, NULL},
                {"bytes", NULL, (double)p->bytes, NULL},
                {"nodes", NULL, p->nodes, NULL},
                {"ranks", NULL, p->ranks, NULL},
                {"groups", NULL, p->others + 1, NULL},
                {"load", bench_load_name(p->load), NAN, NULL},
                {"engine", p->engine, 0, NULL},
                {"launch", c->launch.label, 0, NULL},
                {"call", c->call.label, 0, NULL},
                {"buffers", or_empty(bench_buffers_name(p->buffers)), 0, NULL},
                {"call_seconds", NULL, bench_candidate_call_us(c) * 1e-6,
                 "Median time of one call on the slowest rank."},
                {"bus_bandwidth_bytes_per_second", NULL, busbw_of(p, c) * 1e9,
                 "Bandwidth of the busiest link, as nccl-tests count it."},
            };
            if (c->status == BENCH_OK && c->time_us.n)
                records_add(&rows, cells, sizeof cells / sizeof *cells);
        }
    records_openmetrics(&rows, out);
    arena_free(rows.arena);
}

static int same_table(const struct bench_point *x, const struct bench_point *y)
{
    return x->coll == y->coll && bench_points_alike(x, y);
}

static const struct bench_candidate *candidate_like(const struct bench_point *p, const struct bench_candidate *c)
{
    for (int i = 0; i < p->ncandidates; i++)
        if (!strcmp(p->candidates[i].launch.label, c->launch.label) &&
            !strcmp(p->candidates[i].call.label, c->call.label))
            return &p->candidates[i];
    return NULL;
}

static int is_reduction(int coll)
{
    return coll == COLL_ALLREDUCE || coll == COLL_REDUCE || coll == COLL_REDUCESCATTER;
}

/* The points p[0..n) of one table, those that have this candidate. */
static void print_table(const struct bench_point *p, int n, const struct bench_candidate *c, FILE *out)
{
    int bf16 = p->buffers == BENCH_BFLOAT16;
    fprintf(out, "# nccltune: %s on %d nodes, %d ranks; launch %s, call %s%s%s\n", coll_name(p->coll), p->nodes,
            p->ranks, c->launch.label, c->call.label, p->buffers ? "; buffers " : "",
            p->buffers ? bench_buffers_name(p->buffers) : "");
    fprintf(out, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s\n", "size", "count", "type", "redop", "root", "time",
            "algbw", "busbw", "#wrong");
    for (int i = 0; i < n; i++) {
        const struct bench_candidate *here = candidate_like(&p[i], c);
        if (!here || !here->time_us.n || here->status != BENCH_OK)
            continue;
        fprintf(out, "%12llu  %12llu  %8s  %6s  %6d  %7.2f  %6.2f  %6.2f  %6s\n", (unsigned long long)p[i].bytes,
                (unsigned long long)(p[i].bytes / (bf16 ? 2 : 4)), bf16 ? "bfloat16" : "float",
                is_reduction(p->coll) ? "sum" : "none", -1, here->time_us.median,
                coll_algbw_GBps((double)p[i].bytes, here->time_us.median), busbw_of(&p[i], here), "N/A");
    }
}

/* Whether an earlier point of the table has it, whose turn it was. */
static int had_its_turn(const struct bench_point *p, int i, const struct bench_candidate *c)
{
    for (int k = 0; k < i; k++)
        if (candidate_like(&p[k], c))
            return 1;
    return 0;
}

void bench_export_nccl_tests(const struct bench_results *all, FILE *out)
{
    struct arena *a = arena_new();
    const struct bench_points *points = bench_points_of(all, a);
    for (int first = 0, n; first < points->count; first += n) {
        const struct bench_point *p = &points->items[first];
        for (n = 1; first + n < points->count && same_table(p, &p[n]);)
            n++;
        for (int i = 0; i < n; i++)
            for (int k = 0; k < p[i].ncandidates; k++)
                if (!had_its_turn(p, i, &p[i].candidates[k]))
                    print_table(p, n, &p[i].candidates[k], out);
    }
    arena_free(a);
}
