/* Measurements for other programs: a CSV file, a journal. */
#include "bench/results/results.h"

#include <string.h>

#include "core/call/shape.h"
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
        f.algbw = coll_algbw_GBps((double)r->bytes, f.median_us);
        f.busbw = f.algbw * coll_busbw_factor(r->coll, r->ranks);
    }
    arena_free(a);
    return f;
}

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
    struct figures f = figures_of(r);
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
    fprintf(out, "%d,%.12g,%.12g,%.12g,%.12g,%.12g\n", r->ntimes, f.median_us, f.least_us, f.most_us, f.algbw, f.busbw);
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
}
