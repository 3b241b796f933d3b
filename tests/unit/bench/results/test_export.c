/* What other programs are given of a journal that has a bit of everything, word for word. */
#include "bench/results/points.h"
#include "bench/results/results.h"
#include "core/json.h"
#include "tests/lib/in_use.h"
#include "tests/lib/unit.h"
#include "tests/lib/whole.h"

#define FIXTURES "tests/fixtures/bench/results/"

static struct bench_results *results;

static int load(void **state)
{
    struct err e;
    results = bench_results_load(FIXTURES "variety.jsonl", NULL, &e);
    return results ? 0 : -1;
}

static int unload(void **state)
{
    bench_results_free(results);
    return 0;
}

TEST_CASE(in_every_format)
{
    static void (*const formats[])(const struct bench_results *, FILE *) = {bench_export_csv, bench_export_journal};
    const struct bench_results nothing = {.items = NULL};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        formats[i](results, out);
        fputs("---- and of nothing\n", out);
        formats[i](&nothing, out);
        fputs("----\n", out);
    }
    fclose(out);
    assert_whole(text, FIXTURES "export.txt");
    free(text);
}

/* Where it is larger than 16 MiB the ring, under the first launch that has it; elsewhere what is untouched. */
static int used_there(const struct bench_point *p, const void *decisions)
{
    assert_string_equal(decisions, "decisions");
    return p->bytes == 16777216 ? 1 : p->bytes == 65536 ? p->best : p->untouched;
}

TEST_CASE(for_people)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    const struct bench_points *p = bench_points_of(results, results->arena), nothing = {.items = NULL};
    bench_points_print(p, NULL, NULL, out);
    fputs("----\n", out);
    bench_points_print(p, used_there, "decisions", out);
    fputs("----\n", out);
    bench_points_print(&nothing, NULL, NULL, out);
    cJSON *doc = bench_points_json(p);
    char *json = cJSON_Print(doc);
    fprintf(out, "----\n%s\n", json);
    free(json);
    cJSON_Delete(doc);
    fclose(out);
    assert_whole(text, FIXTURES "points.txt");
    free(text);
}

/* Beyond doubt from the margin on. */
TEST_CASE(sure_by_the_margin)
{
    static const double low[] = {1 + BENCH_MARGIN, 1.0299};
    for (int i = 0; i < 2; i++) {
        struct bench_candidate c[2] = {
            {.launch = {.label = "default"}, .call = {.label = "default"}, .time_us = {2, 2, 2, 8}},
            {.launch = {.label = "default"},
             .call = {.label = "x", .nsettings = 1},
             .time_us = {1, 1, 1, 8},
             .gain = {.median = 2, .low = low[i], .high = 3, .n = 8, .sure = 1.01}}};
        struct bench_point at = {.engine = "e",
                                 .library = "l",
                                 .ranks = 2,
                                 .nodes = 2,
                                 .bytes = 8,
                                 .candidates = c,
                                 .ncandidates = 2,
                                 .best = 1};
        const struct bench_points p = {&at, 1, 0.95};
        char *text = NULL;
        size_t bytes = 0;
        FILE *out = open_memstream(&text, &bytes);
        bench_points_print(&p, NULL, NULL, out);
        fclose(out);
        assert_int_equal(strstr(text, "2.00x* [1.03, 3.00]") != NULL, i == 0);
        assert_int_equal(strstr(text, "2.00x  [1.03, 3.00]") != NULL, i == 1);
        assert_int_equal(strstr(text, "# * is faster, interval above 1.00x\n") != NULL, i == 0);
        free(text);
    }
}

TEST_CASE(a_gain_in_words)
{
    static const struct {
        struct bench_interval gain;
        const char *text;
    } cases[] = {
        {{1.314, 1.224, 1.4, 5}, "1.31x (1.22 to 1.40)"},
        {{1.3, 1, 2, 4}, "1.30x (inconclusive)"},
        {{1.3, 1, 2, 1, 1}, "1.30x (1.00 to 2.00)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(bench_gain_text(results->arena, cases[i].gain), cases[i].text);
}

static void everything_once(void)
{
    char *text = NULL;
    size_t bytes = 0;
    struct err e;
    FILE *out = open_memstream(&text, &bytes);
    struct bench_results *r = bench_results_load(FIXTURES "variety.jsonl", NULL, &e);
    bench_export_csv(r, out);
    bench_export_journal(r, out);
    cJSON *doc = bench_points_json(bench_points_of(r, r->arena));
    cJSON_Delete(doc);
    fclose(out);
    free(text);
    bench_results_free(r);
    assert_null(bench_results_load("tests/fixtures/bench/frames.bin", NULL, &e));
    assert_null(bench_results_load("/nonexistent/x.jsonl", NULL, &e));
}

TEST_CASE(nothing_is_kept)
{
    assert_keeps_nothing(everything_once());
}

TEST_CASES_WITHIN(test_export, load, unload)
