/* The table and the JSON of points. */
#include "bench/results/points.h"
#include "core/json.h"
#include "tests/lib/unit.h"

static struct bench_results *results;
static struct bench_points *points;

static int load(void **state)
{
    struct err e;
    results = bench_results_load("tests/fixtures/bench/small.jsonl", NULL, &e);
    points = results ? bench_points_of(results, results->arena) : NULL;
    return points ? 0 : -1;
}

static int unload(void **state)
{
    bench_results_free(results);
    return 0;
}

TEST_CASE(table_in_the_conventions_of_nccl_tests)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    bench_points_print(points, NULL, NULL, out);
    fclose(out);
    assert_non_null(strstr(text, "# mpi (Open MPI 4.1.4): allreduce, 4 ranks on 4 nodes\n"));
    assert_non_null(strstr(text, "# mpi (Open MPI 4.1.4): broadcast, 4 ranks on 4 nodes\n"));
    const char *row = strstr(text, "      65536 ");
    assert_non_null(row);
    double cells[7];
    char *end = (char *)row + strlen("      65536 ");
    for (int i = 0; i < 7; i++)
        cells[i] = strtod(end, &end);
    double default_us = cells[0], default_algbw = cells[1], default_busbw = cells[2];
    double best_us = cells[3], best_busbw = cells[5], gain = cells[6];
    /* Three samples: no interval, and no verdict. */
    assert_memory_equal(end, "x? too little ", 14);
    const char *best = end + 14 + strspn(end + 14, " ");
    assert_near(default_us, 102, 0.005);
    assert_near(default_algbw, 65536 / 102e3, 0.0005);
    assert_near(default_busbw, 65536 / 102e3 * 1.5, 0.001); /* AllReduce: 2 (n-1) / n */
    assert_near(best_us, 25, 0.05);
    assert_near(best_busbw, 65536 / 25e3 * 1.5, 0.005);
    assert_near(gain, 4.08, 0.005);
    assert_memory_equal(best, "ib3\n", 4);
    assert_non_null(strstr(text, "1.00x                  default\n"));
    free(text);
}

/* A journal of five unequal rails as a table. */
static const char *example(bench_used_fn *used)
{
    static char text[4096];
    struct err e;
    struct bench_results *r = bench_results_load("tests/fixtures/bench/results/rails.jsonl", NULL, &e);
    FILE *out = fmemopen(text, sizeof text, "w");
    assert_non_null(r);
    bench_points_print(bench_points_of(r, r->arena), used, NULL, out);
    fclose(out);
    bench_results_free(r);
    return text;
}

/* The default, but the best at 64 KiB. */
static int used_at_64K(const struct bench_point *p, const void *decisions)
{
    (void)decisions;
    return p->bytes == 65536 ? p->best : p->untouched;
}

TEST_CASE(rows_are_marked)
{
    const char *text = example(NULL);
    assert_non_null(strstr(text, "1.65x  [0.87, 4.59]"));
    assert_non_null(strstr(text, "7.21x  [5.07, 8.06]")); /* times of different starts prove nothing */
    assert_non_null(strstr(text, " 30500 "));             /* three digits */
    text = example(used_at_64K);
    assert_non_null(strstr(text, "1.65x* [0.87, 4.59]"));
    assert_null(strstr(text, "7.21x"));
    assert_non_null(strstr(text, "------------- used ------------"));
    assert_non_null(strstr(text, "# * is not the default\n"));
}

TEST_CASE(json_holds_every_candidate)
{
    cJSON *doc = bench_points_json(points);
    struct err e;
    assert_int_equal(json_check_format(doc, "nccltune-points/1", "points", &e), 0);
    const cJSON *list = cJSON_GetObjectItem(doc, "points");
    assert_int_equal(cJSON_GetArraySize(list), 2);
    const cJSON *p = cJSON_GetArrayItem(list, 1), *candidates = cJSON_GetObjectItem(p, "candidates");
    assert_string_equal(json_str(p, "collective", ""), "allreduce");
    assert_int_equal(cJSON_GetArraySize(candidates), 4);
    const cJSON *best = cJSON_GetArrayItem(candidates, (int)json_int(p, "best", -1));
    assert_string_equal(json_str(best, "launch", ""), "ib3");
    assert_near(json_num(cJSON_GetObjectItem(best, "time_us"), "median", 0), 25, 0);
    assert_near(json_num(best, "algbw_GBps", 0), 65536 / 25e3, 1e-9);
    assert_near(json_num(cJSON_GetObjectItem(best, "gain"), "median", 0), 4.08, 1e-9);
    cJSON_Delete(doc);
}

TEST_CASES_WITHIN(test_points_print, load, unload)
