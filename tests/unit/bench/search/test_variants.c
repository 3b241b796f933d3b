/* Types and places of the data: compared at a few sizes, measured everywhere where they change a choice. */
#include "bench/search/candidates.h"
#include "tests/lib/unit.h"
#include "tests/unit/bench/fake_study.h"

static struct bench_measure_ops ops;
static const struct bench_engine engine = {.name = "fake", .description = "a formula", .measures = &ops};

/* A run of an engine that can do it with all kinds of buffers; each run has its own `fake`. */
static void begin(struct fake_run *f, int resume)
{
    ops = fake_ops;
    ops.buffers = ~0u;
    fake_begin(f, resume, NULL, 0);
    f->study.engine = &engine;
}

static void run(struct fake_run *f)
{
    begin(f, 0);
    assert_int_equal(bench_conduct(&f->study, &f->err), 0);
}

/* From now on a call, or all, takes so many times as long with such buffers. */
static void data_matter(int buffers, const char *call, double factor)
{
    memset(&fake, 0, sizeof fake);
    fake.data[0].buffers = buffers;
    fake.data[0].call = call;
    fake.data[0].factor = factor;
}

static const struct finding *found(const struct fake_run *f, const char *id, const char *subject)
{
    const struct findings *all = &f->study.results->noise;
    for (int i = 0; i < all->n; i++)
        if (!strcmp(all->list[i].id, id) && !strcmp(subject, all->list[i].subject ? all->list[i].subject : ""))
            return &all->list[i];
    return NULL;
}

static void says(const struct fake_run *f, const char *subject, enum finding_severity severity, const char *text)
{
    const struct finding *x = found(f, "types-and-places", subject);
    assert_non_null(x);
    assert_int_equal(x->severity, severity);
    if (!strstr(x->text, text))
        print_error("'%s'\n", x->text);
    assert_non_null(strstr(x->text, text));
}

static int lines_with(const struct fake_run *f, int buffers)
{
    int n = 0;
    for (int i = 0; i < f->study.results->count; i++)
        n += f->study.results->items[i].buffers == buffers;
    return n;
}

static const char *best_at(const struct fake_run *f, int buffers, uint64_t bytes)
{
    const struct bench_points *p = bench_points_of(f->study.results, f->study.arena);
    for (int i = 0; i < p->count; i++)
        if (p->items[i].buffers == buffers && p->items[i].bytes == bytes)
            return p->items[i].candidates[p->items[i].best].call.label;
    return "nothing";
}

TEST_CASE(where_nothing_changes_one_sentence_says_so)
{
    struct fake_run f;
    data_matter(BENCH_BFLOAT16, NULL, 1.5); /* all alike: another time, the same choices */
    run(&f);
    says(&f, "", FINDING_OK, "do not matter here: ");
    assert_int_equal(f.study.results->noise.n, 1);
    assert_int_equal(lines_with(&f, BENCH_USUAL), f.study.results->count);
    assert_true(fake.with[BENCH_BFLOAT16] > 0 && fake.with[BENCH_OUT_OF_PLACE] > 0);
    assert_int_equal(fake.with[BENCH_IN_PLACE], 0); /* where AllReduce is anyhow */
    fake_end(&f);
}

/* What wins with float32 loses with bfloat16. */
TEST_CASE(a_type_that_changes_the_choice_is_measured_everywhere)
{
    struct fake_run f;
    data_matter(BENCH_BFLOAT16, "late", 6);
    run(&f);
    says(&f, "bfloat16", FINDING_NOTE, "allreduce of 1 MiB: another choice than for the usual data, which is late: ");
    says(&f, "", FINDING_OK, "change no other choice");
    assert_string_equal(best_at(&f, BENCH_USUAL, 1 << 20), "late");
    assert_string_equal(best_at(&f, BENCH_BFLOAT16, 1 << 20), BENCH_DEFAULT);
    for (int i = 0; i < f.study.nsizes; i++)
        assert_string_not_equal(best_at(&f, BENCH_BFLOAT16, f.study.sizes[i]), "nothing");
    assert_int_equal(lines_with(&f, BENCH_OUT_OF_PLACE), 0);
    assert_int_equal(fake_repeated(&f), 0);
    fake_end(&f);
}

/* What is behind in place wins where the result goes elsewhere. */
TEST_CASE(so_is_a_place)
{
    struct fake_run f;
    data_matter(BENCH_OUT_OF_PLACE, "middle", 0.5);
    run(&f);
    says(&f, "out of place", FINDING_NOTE, "middle is ");
    assert_string_equal(best_at(&f, BENCH_OUT_OF_PLACE, 8), "middle");
    assert_string_not_equal(best_at(&f, BENCH_USUAL, 8), "middle");
    assert_int_equal(lines_with(&f, BENCH_BFLOAT16), 0);
    fake_end(&f);
}

/* Wrong data in bfloat16 alone, and a death: results of the call that nothing which shares its rule goes without. */
TEST_CASE(what_fails_is_in_the_journal)
{
    for (int dies = 0; dies < 2; dies++) {
        struct fake_run f;
        int crashed = 0, last = -1;
        memset(&fake, 0, sizeof fake);
        fake.trouble[0] = (struct fake_trouble){.call = "late",
                                                .bytes = 1 << 20,
                                                .outcome = dies ? BENCH_DIED : BENCH_ANSWERED,
                                                .status = BENCH_WRONG,
                                                .times = 1,
                                                .buffers = BENCH_BFLOAT16};
        run(&f);
        for (int i = 0; i < f.study.results->count; i++) {
            const struct bench_result *x = &f.study.results->items[i];
            int is = x->status == (dies ? BENCH_CRASHED : BENCH_WRONG);
            crashed += is;
            last = is ? i : last;
        }
        assert_int_equal(crashed, 1);
        const struct bench_result *x = &f.study.results->items[last];
        assert_int_equal(x->buffers, BENCH_BFLOAT16);
        assert_string_equal(x->call.label, "late");
        assert_non_null(strstr(x->detail, dies ? "killed by signal 9" : "rank 1: element 5"));
        assert_true(f.study.matters[COLL_ALLREDUCE] >> BENCH_BFLOAT16 & 1);
        assert_int_equal(fake.killed, dies);
        fake_end(&f);
    }
}

TEST_CASE(a_resumed_run_knows)
{
    struct fake_run f;
    data_matter(BENCH_BFLOAT16, "late", 6);
    run(&f);
    fake_end(&f);
    memset(fake.with, 0, sizeof fake.with);
    begin(&f, 1);
    variants_resume(&f.study);
    assert_int_equal(f.study.compared, 1);
    assert_int_equal(f.study.matters[COLL_ALLREDUCE], 1 << BENCH_BFLOAT16);
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    assert_int_equal(fake.with[BENCH_OUT_OF_PLACE], 0);
    fake_end(&f);
}

TEST_CASES_WITHIN(test_variants, fake_setup, fake_teardown)
