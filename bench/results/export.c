/* Measurements for other programs: one row of figures, printed five ways. */
#include "bench/results/export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/results/points.h"
#include "bench/results/shape.h"
#include "core/coll.h"
#include "core/json.h"
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

static void print_field(const char *s, FILE *out)
{
    int quoted = strpbrk(s, ",\"\r\n") != NULL;
    if (quoted)
        putc('"', out);
    for (; *s; s++) {
        if (*s == '"')
            putc('"', out);
        putc(*s, out);
    }
    fputs(quoted ? "\"," : ",", out);
}

void bench_export_csv(const struct bench_results *all, FILE *out)
{
    fputs("engine,library,collective,bytes,nodes,ranks,groups,launch,call,buffers,data,round,status,samples,"
          "median_us,"
          "min_us,max_us,algbw_GBps,busbw_GBps,load,slowdown\n",
          out);
    for (int i = 0; i < all->count; i++) {
        const struct bench_result *r = &all->items[i];
        struct figures f = figures_of(r);
        print_field(r->engine, out);
        print_field(r->library, out);
        fprintf(out, "%s,%llu,%d,%d,%d,", coll_name(r->coll), (unsigned long long)r->bytes, r->nodes, r->ranks,
                r->others + 1);
        print_field(r->launch.label, out);
        print_field(r->call.label, out);
        print_field(or_empty(r->buffers), out);
        print_field(or_empty(r->data), out);
        fprintf(out, "%d,%s,%d,%.10g,%.10g,%.10g,%.6g,%.6g,%s,%.6g\n", r->round, bench_status_name(r->status),
                r->ntimes, f.median_us, f.least_us, f.most_us, f.algbw, f.busbw, or_empty(bench_load_name(r->load)),
                r->slowdown);
    }
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

static void print_label(const char *name, const char *value, FILE *out)
{
    fprintf(out, ",%s=\"", name);
    for (const char *p = value; *p; p++) {
        if (*p == '\n')
            fputs("\\n", out);
        else
            fprintf(out, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
    }
    putc('"', out);
}

static void print_labels(const struct bench_point *p, const struct bench_candidate *c, FILE *out)
{
    fprintf(out, "{collective=\"%s\",bytes=\"%llu\",nodes=\"%d\",ranks=\"%d\",groups=\"%d\"", coll_name(p->coll),
            (unsigned long long)p->bytes, p->nodes, p->ranks, p->others + 1);
    if (p->load)
        print_label("load", bench_load_name(p->load), out);
    print_label("engine", p->engine, out);
    print_label("launch", c->launch.label, out);
    print_label("call", c->call.label, out);
    print_label("buffers", or_empty(p->buffers), out);
    fputs("} ", out);
}

static double busbw_of(const struct bench_point *p, const struct bench_candidate *c)
{
    return coll_algbw_GBps((double)p->bytes, bench_candidate_call_us(c)) * coll_busbw_factor(p->coll, p->ranks);
}

/* One family: seconds, or GB/s of the bus. */
static void print_family(const struct bench_points *all, int is_time, FILE *out)
{
    const char *name = is_time ? "nccltune_call_seconds" : "nccltune_bus_bandwidth_bytes_per_second";
    fprintf(out, "# TYPE %s gauge\n# UNIT %s %s\n# HELP %s %s\n", name, name, is_time ? "seconds" : "bytes_per_second",
            name,
            is_time ? "Median time of one call on the slowest rank."
                    : "Bandwidth of the busiest link, as nccl-tests count it.");
    for (int i = 0; i < all->count; i++)
        for (int k = 0; k < all->items[i].ncandidates; k++) {
            const struct bench_point *p = &all->items[i];
            const struct bench_candidate *c = &p->candidates[k];
            if (c->status != BENCH_OK || !c->time_us.n)
                continue;
            fputs(name, out);
            print_labels(p, c, out);
            fprintf(out, "%.10g\n", is_time ? bench_candidate_call_us(c) * 1e-6 : busbw_of(p, c) * 1e9);
        }
}

void bench_export_openmetrics(const struct bench_results *all, FILE *out)
{
    struct arena *a = arena_new();
    const struct bench_points *p = bench_points_of(all, a);
    print_family(p, 1, out);
    print_family(p, 0, out);
    fputs("# EOF\n", out);
    arena_free(a);
}

static int same_table(const struct bench_point *x, const struct bench_point *y)
{
    return !strcmp(x->engine, y->engine) && x->nodes == y->nodes && x->ranks == y->ranks && x->others == y->others &&
           x->load == y->load && x->coll == y->coll && !strcmp(or_empty(x->buffers), or_empty(y->buffers));
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
    fprintf(out, "# nccltune: %s on %d nodes, %d ranks; launch %s, call %s\n", coll_name(p->coll), p->nodes, p->ranks,
            c->launch.label, c->call.label);
    fprintf(out, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s\n", "size", "count", "type", "redop", "root", "time",
            "algbw", "busbw", "#wrong");
    for (int i = 0; i < n; i++) {
        const struct bench_candidate *here = candidate_like(&p[i], c);
        if (!here || !here->time_us.n || here->status != BENCH_OK)
            continue;
        fprintf(out, "%12llu  %12llu  %8s  %6s  %6d  %7.2f  %6.2f  %6.2f  %6s\n", (unsigned long long)p[i].bytes,
                (unsigned long long)(p[i].bytes / 4), "float", is_reduction(p->coll) ? "sum" : "none", -1,
                here->time_us.median, coll_algbw_GBps((double)p[i].bytes, here->time_us.median), busbw_of(&p[i], here),
                "N/A");
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
