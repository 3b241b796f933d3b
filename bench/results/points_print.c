/* Points for people, as a table in the conventions of nccl-tests, and for programs, as JSON. */
#include <string.h>

#include "bench/results/points.h"
#include "bench/results/shape.h"
#include "core/coll.h"
#include "core/json.h"

int bench_few(const struct bench_interval *v)
{
    return v->n < BENCH_FEWEST && !v->predicted;
}

const char *bench_few_text(struct arena *a, int n)
{
    return n == BENCH_FEWEST - 1 ? "too few samples" : arena_printf(a, "%d sample%s", n, n == 1 ? "" : "s");
}

const char *bench_gain_text(struct arena *a, struct bench_interval gain)
{
    return bench_few(&gain) ? arena_printf(a, "%.2fx (%s)", gain.median, bench_few_text(a, gain.n))
                            : arena_printf(a, "%.2fx (%.2f to %.2f)", gain.median, gain.low, gain.high);
}

#define HEADING_ROWS                                                                                               \
    "#              ------------ default -----------   ------------- best ------------\n"                          \
    "#        size        time    algbw    busbw          time    algbw    busbw    gain   interval        best\n" \
    "#         (B)        (us)   (GB/s)   (GB/s)          (us)   (GB/s)   (GB/s)\n"

static int same_group(const struct bench_point *a, const struct bench_point *b)
{
    return a->coll == b->coll && a->nodes == b->nodes && a->ranks == b->ranks && a->others == b->others &&
           a->load == b->load && !strcmp(a->engine, b->engine) && !strcmp(a->library, b->library) &&
           !strcmp(a->buffers ? a->buffers : "", b->buffers ? b->buffers : "");
}

static void print_time(const struct bench_point *p, int candidate, FILE *out)
{
    if (candidate < 0) {
        fprintf(out, " %11s %8s %8s", "-", "-", "-");
        return;
    }
    const struct bench_candidate *c = &p->candidates[candidate];
    double us = c->time_us.median, algbw = coll_algbw_GBps((double)p->bytes, bench_candidate_call_us(c));
    fprintf(out, us < 1e4 ? " %11.2f" : " %11.0f", us);
    fprintf(out, " %8.3f %8.3f", algbw, algbw * coll_busbw_factor(p->coll, p->ranks));
}

static void print_choice(const struct bench_candidate *c, FILE *out)
{
    int launch = c->launch.nsettings > 0, call = c->call.nsettings > 0;
    if (!launch && !call)
        fputs("default", out);
    else
        fprintf(out, "%s%s%s", launch ? c->launch.label : "", launch && call ? " + " : "", call ? c->call.label : "");
}

static void print_point(const struct bench_point *p, FILE *out)
{
    fprintf(out, "  %11llu", (unsigned long long)p->bytes);
    print_time(p, p->untouched, out);
    fputs("  ", out);
    print_time(p, p->best, out);
    if (p->best >= 0 && p->best == p->untouched)
        fprintf(out, "  %6s  %-15s ", "1.00x", "");
    else if (p->best >= 0 && p->untouched >= 0) {
        char interval[32];
        const struct bench_interval *g = &p->candidates[p->best].gain;
        snprintf(interval, sizeof interval, "[%.2f, %.2f]", g->low, g->high);
        fprintf(out, "  %5.2fx  %-15s ", g->median, interval);
    } else
        fprintf(out, "  %6s  %-15s ", "-", "");
    if (p->best >= 0)
        print_choice(&p->candidates[p->best], out);
    else
        fputs("nothing worked", out);
    fputc('\n', out);
}

static void print_heading(const struct bench_point *p, FILE *out)
{
    fprintf(out, "# %s (%s): %s, %d rank%s on %d node%s", p->engine, p->library, coll_name(p->coll), p->ranks,
            p->ranks == 1 ? "" : "s", p->nodes, p->nodes == 1 ? "" : "s");
    if (p->others)
        fprintf(out, ", %d such groups at once", p->others + 1);
    if (p->load)
        fprintf(out, ", beside %s: what a step loses", bench_load_name(p->load));
    fprintf(out, "%s%s\n", p->buffers ? ", buffers: " : "", p->buffers ? p->buffers : "");
}

void bench_points_print(const struct bench_points *points, FILE *out)
{
    for (int i = 0; i < points->count; i++) {
        const struct bench_point *p = &points->items[i];
        if (!i || !same_group(p, p - 1)) {
            fputs(i ? "\n" : "", out);
            print_heading(p, out);
            fputs(HEADING_ROWS, out);
        }
        print_point(p, out);
    }
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
}

static void add_candidate(cJSON *list, const struct bench_point *p, const struct bench_candidate *c)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToArray(list, o);
    json_add_str(o, "launch", c->launch.label);
    json_add_str(o, "call", c->call.label);
    json_add_str(o, "status", bench_status_name(c->status));
    json_add_str(o, "detail", c->detail);
    add_interval(o, "time_us", &c->time_us);
    if (c->time_us.slowdown > 0) {
        cJSON_AddNumberToObject(o, "call_us", bench_candidate_call_us(c));
        cJSON_AddNumberToObject(o, "slowdown", c->time_us.slowdown);
    }
    if (c->time_us.n) {
        double algbw = coll_algbw_GBps((double)p->bytes, bench_candidate_call_us(c));
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
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToArray(list, o);
        json_add_str(o, "engine", p->engine);
        json_add_str(o, "library", p->library);
        json_add_str(o, "active", p->active);
        json_add_str(o, "buffers", p->buffers);
        json_add_str(o, "collective", coll_name(p->coll));
        cJSON_AddNumberToObject(o, "bytes", (double)p->bytes);
        cJSON_AddNumberToObject(o, "nodes", p->nodes);
        cJSON_AddNumberToObject(o, "ranks", p->ranks);
        if (p->others)
            cJSON_AddNumberToObject(o, "groups", p->others + 1);
        json_add_str(o, "load", bench_load_name(p->load));
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
