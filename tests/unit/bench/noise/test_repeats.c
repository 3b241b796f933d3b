/* The default against itself. */
#include "bench/noise/noise.h"
#include "core/coll.h"
#include "tests/lib/unit.h"

/* Five samples around `us`, 1 % apart. */
static struct bench_result line(struct arena *a, uint64_t bytes, const char *launch, double us)
{
    double *times = arena_alloc(a, 5 * sizeof *times);
    for (int i = 0; i < 5; i++)
        times[i] = us * (1 + 0.0025 * (i - 2));
    return (struct bench_result){.engine = "nccl",
                                 .library = "NCCL 2.30.7",
                                 .coll = COLL_ALLREDUCE,
                                 .bytes = bytes,
                                 .nodes = 1,
                                 .ranks = 8,
                                 .launch = {.label = launch},
                                 .call = {.label = BENCH_DEFAULT},
                                 .times_us = times,
                                 .ntimes = 5};
}

static struct bench_results *results(struct arena *a, const struct bench_result *lines, int n)
{
    struct bench_results *r = ARENA_NEW(a, struct bench_results);
    r->arena = a;
    r->items = arena_alloc(a, (size_t)n * sizeof *r->items);
    memcpy(r->items, lines, (size_t)n * sizeof *lines);
    r->count = n;
    return r;
}

/* What is said of the lines; NULL nothing. */
static const struct finding *said(struct bench_results *r)
{
    struct findings *all = ARENA_NEW(r->arena, struct findings);
    all->arena = r->arena;
    noise_of_repeats(bench_points_of(r, r->arena), all);
    assert_true(all->n < 2);
    return all->n ? &all->list[0] : NULL;
}

TEST_CASE(compares_starts_of_the_default_alone)
{
    struct arena *a = arena_new();
    struct bench_result lines[] = {line(a, 65536, BENCH_DEFAULT, 100), line(a, 65536, "other", 150),
                                   line(a, 65536, BENCH_DEFAULT, 102), line(a, 1024, BENCH_DEFAULT, 300),
                                   line(a, 65536, BENCH_DEFAULT, 500)};
    lines[4].ntimes = 2; /* too few to be believed */
    struct bench_results *r = results(a, lines, 5);
    assert_non_null(strstr(said(r)->text, "at worst by 2.0 %: allreduce of 64 KiB"));
    assert_int_equal(said(r)->severity, FINDING_OK); /* less than is worth a setting */
    r->items[4].ntimes = 3;
    assert_non_null(strstr(said(r)->text, "at worst by a factor of 4.99: allreduce"));
    r->items[4] = line(a, 65536, BENCH_DEFAULT, 311200);
    assert_non_null(strstr(said(r)->text, "at worst by a factor of 3112: allreduce"));
    r->count = 1;
    assert_null(said(r));
    arena_free(a);
}

/* One point of several that is apart by more than a gain has to be, with intervals apart: those that touch have
 * something in common. */
TEST_CASE(suspects_what_is_apart_beyond_doubt)
{
    struct arena *a = arena_new();
    struct bench_result lines[] = {line(a, 1024, BENCH_DEFAULT, 100),  line(a, 1024, BENCH_DEFAULT, 101),
                                   line(a, 4096, BENCH_DEFAULT, 100),  line(a, 4096, BENCH_DEFAULT, 101),
                                   line(a, 65536, BENCH_DEFAULT, 100), line(a, 65536, BENCH_DEFAULT, 104)};
    struct bench_results *r = results(a, lines, 6);
    assert_int_equal(said(r)->severity, FINDING_WARNING);
    double wide[] = {90, 95, 104, 115, 120};
    r->items[5].times_us = wide;
    assert_int_equal(said(r)->severity, FINDING_OK);
    double fast[] = {98, 99, 100, 101, 102}, slow[] = {102, 109, 110, 111, 112};
    r->items[4].times_us = slow;
    r->items[5].times_us = fast;
    assert_int_equal(said(r)->severity, FINDING_OK);
    slow[0] = 102.5;
    assert_int_equal(said(r)->severity, FINDING_WARNING);
    r->count = 0;
    assert_null(said(r));
    arena_free(a);
}

TEST_CASE(says_how_far_and_where)
{
    struct arena *a = arena_new();
    struct findings all = {.arena = a};
    struct bench_result lines[] = {
        line(a, 1024, BENCH_DEFAULT, 100),  line(a, 1024, BENCH_DEFAULT, 101),   line(a, 4096, BENCH_DEFAULT, 100),
        line(a, 4096, BENCH_DEFAULT, 101),  line(a, 65536, BENCH_DEFAULT, 100),  line(a, 65536, BENCH_DEFAULT, 120),
        line(a, 65536, BENCH_DEFAULT, 110), line(a, 262144, BENCH_DEFAULT, 500),
    };
    struct bench_results *r = results(a, lines, 8);
    noise_of_repeats(bench_points_of(r, r->arena), &all);
    assert_int_equal(all.n, 1);
    assert_int_equal(all.list[0].severity, FINDING_WARNING);
    assert_non_null(strstr(all.list[0].text, "by 1.0 % from one start to the next (median of 3 points), at worst by"));
    assert_non_null(strstr(all.list[0].text, "20.0 %: allreduce of 64 KiB"));
    assert_non_null(all.list[0].advice);
    r->count = 4; /* the quiet ones */
    all.n = 0;
    noise_of_repeats(bench_points_of(r, r->arena), &all);
    assert_int_equal(all.list[0].severity, FINDING_OK);
    assert_null(all.list[0].advice);
    r->count = 1;
    all.n = 0;
    noise_of_repeats(bench_points_of(r, r->arena), &all);
    assert_int_equal(all.n, 0);
    arena_free(a);
}

/* What counts is the default, measured well and often enough, of this very point. */
TEST_CASE(what_is_no_start_of_the_default)
{
    enum { LAUNCH, CALL, STATUS, SAMPLES, PREDICTED, BYTES, COLL, NOTHING };
    for (int what = LAUNCH; what <= NOTHING; what++) {
        struct arena *a = arena_new();
        struct bench_result lines[] = {line(a, 65536, BENCH_DEFAULT, 100), line(a, 65536, BENCH_DEFAULT, 150)},
                            *x = &lines[1];
        x->launch.label = what == LAUNCH ? "other" : x->launch.label;
        x->call.label = what == CALL ? "ring/ll" : x->call.label;
        x->status = what == STATUS ? BENCH_DROPPED : x->status;
        x->ntimes = what == SAMPLES ? 2 : 3;
        x->high_us = what == PREDICTED ? 1 : 0;
        x->bytes += what == BYTES;
        x->coll = what == COLL ? COLL_REDUCE : x->coll;
        struct bench_results *r = results(a, lines, 2);
        if ((said(r) != NULL) != (what == NOTHING))
            fail_msg("case %d", what);
        arena_free(a);
    }
}

TEST_CASE(times_below_a_microsecond_count_like_others)
{
    struct arena *a = arena_new();
    struct bench_result lines[] = {line(a, 65536, BENCH_DEFAULT, 0.5), line(a, 65536, BENCH_DEFAULT, 0.25)};
    assert_non_null(strstr(said(results(a, lines, 2))->text, "at worst by 100.0 %"));
    arena_free(a);
}

/* The sentence as a whole: of points that are equally bad the first; beyond what a gain is worth it is a warning, even
 * where no two starts have intervals apart. */
TEST_CASE(says_it_in_one_sentence)
{
    struct arena *a = arena_new();
    struct findings all = {.arena = a};
    struct bench_result lines[] = {line(a, 1024, BENCH_DEFAULT, 100), line(a, 1024, BENCH_DEFAULT, 102),
                                   line(a, 4096, BENCH_DEFAULT, 100), line(a, 4096, BENCH_DEFAULT, 102)};
    struct bench_results *r = results(a, lines, 4);
    noise_of_repeats(bench_points_of(r, r->arena), &all);
    assert_int_equal(all.list[0].severity, FINDING_OK);
    assert_string_equal(all.list[0].text, "the baseline's times differ by 2.0 % from one start to the next "
                                          "(median of 2 points), at worst by 2.0 %: allreduce of 1 KiB");
    double wide[] = {90, 95, 140, 145, 150};
    r->items[1].times_us = wide;
    r->count = 2;
    noise_of_repeats(bench_points_of(r, r->arena), &all);
    assert_int_equal(all.list[1].severity, FINDING_WARNING);
    assert_string_equal(all.list[1].text, "the baseline's times differ by 40.0 % from one start to the next "
                                          "(median of 1 point), at worst by 40.0 %: allreduce of 1 KiB");
    assert_string_equal(all.list[1].advice, "launches that differ by less are noise; calls are compared within starts");
    arena_free(a);
}

/* Gains of eight calls in ten starts, of which each shares its disturbance with `lasts` others. */
static struct findings said_of_starts(struct arena *a, int lasts, int loses)
{
    struct bench_result lines[80];
    struct findings all = {.arena = a};
    unsigned drawn = 5;
    for (int c = 0; c < 8; c++) {
        double off = 0;
        for (int i = 0; i < 10; i++) {
            drawn = drawn * 1103515245 + 12345;
            off = (i + c) % lasts && i ? off : (drawn >> 16 & 0xff) / 2560.0;
            struct bench_result *x = &lines[10 * c + i];
            *x = line(a, 1024 << c, BENCH_DEFAULT, 100);
            double *beside = arena_alloc(a, 8 * sizeof *beside), *own = arena_alloc(a, 8 * sizeof *own);
            for (int k = 0; k < 8; k++) {
                own[k] = 100 + k;
                beside[k] = own[k] * (c == 3 && loses && i < 2 ? 0.8 : 1.3 + off);
            }
            x->library = "NCCL 2.30.7";
            x->call.label = "ring";
            x->round = i + 1;
            x->times_us = own;
            x->beside_us = beside;
            x->ntimes = x->nbeside = 8;
        }
    }
    noise_of_starts(bench_points_of(results(a, lines, 80), a), &all);
    return all;
}

TEST_CASE(what_outlasts_a_start_is_said)
{
    struct arena *a = arena_new();
    struct findings f = said_of_starts(a, 1, 0);
    assert_int_equal(f.n, 1);
    assert_string_equal(f.list[0].id, "smallest-gain");
    assert_non_null(strstr(f.list[0].text, "gains, which are measured within a start, differ by "));
    f = said_of_starts(a, 4, 0);
    assert_int_equal(f.n, 2);
    assert_string_equal(f.list[1].id, "starts-alike");
    assert_non_null(strstr(f.list[1].text, "10 starts count as "));
    f = said_of_starts(a, 1, 1);
    assert_int_equal(f.n, 2);
    assert_string_equal(f.list[1].id, "modes");
    assert_non_null(strstr(f.list[1].text, "1 call is faster in most starts"));
    assert_non_null(strstr(f.list[1].text, "such as ring at allreduce of 8 KiB"));
    arena_free(a);
}

TEST_CASES(test_repeats)
