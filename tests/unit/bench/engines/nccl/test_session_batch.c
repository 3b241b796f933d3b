/* bench/engines/nccl/batch.c, bench/engines/nccl/beside.c: which requests a batch of samples is made of. */
#include "tests/unit/bench/engines/nccl/pool_double.h"

#include "bench/candidates/candidates.h"

#define MB ((uint64_t)1 << 20)

static volatile sig_atomic_t stop;
static char detail[BENCH_DETAIL];
static const struct bench_setting ring_ll[] = {{NCCL_SET_ALGO, "ring"}, {NCCL_SET_PROTO, "ll"}},
                                  more[] = {{NCCL_SET_ALGO, "ring"},
                                            {NCCL_SET_PROTO, "ll"},
                                            {NCCL_SET_CHANNELS, "4"},
                                            {NCCL_SET_CHUNK, "4096"}};
static const struct bench_knobs usual = {BENCH_DEFAULT, NULL, 0}, ring = {"ring/ll", ring_ll, 2},
                                chunks = {"ring/ll/4ch/4K", more, 4};
static const char *told;

static void tell(void *user, int shot, enum bench_status status, double us, const char *text)
{
    assert_ptr_equal(user, &pool);
    told = arena_printf(arena, "%s%d %s %g %s\n", told, shot, bench_status_name(status), us, text);
}

static void assert_told(const char *expected)
{
    if (strcmp(told, expected) != 0)
        fail_msg("told was\n%sinstead of\n%s", told, expected);
    told = "";
}

static enum bench_outcome measure(struct bench_batch b, const struct bench_shot *shots, int n)
{
    b.shots = shots;
    b.nshots = n;
    b.bytes = b.bytes ? b.bytes : 64;
    b.coll = b.coll ? b.coll : COLL_ALLREDUCE;
    told = "";
    return nccl_session_measure(&s.base, &b, &stop, tell, &pool, detail);
}

/* As long as the engine's sampling wants it; what is long enough by itself is not measured twice. */
TEST_CASE(one_shot)
{
    static const struct {
        double us;
        int iterations, check;
        const char *asked;
    } rows[] = {{100, 0, 0, "x1: 13 s\nmeasure x20: 3 s\nmeasure x20: 3 s\n"},
                {100, 0, 1, "x1 checked: 13 s\nmeasure x20: 3 s\nmeasure x20: 3 s\n"},
                {100, 7, 0, "x7: 13 s\nmeasure x7: 3 s\n"},
                {100, 7, 1, "x1 checked: 13 s\nmeasure x7: 3 s\nmeasure x7: 3 s\n"},
                {3000, 0, 0, "x1: 13 s\nmeasure x1: 3 s\n"},
                {3000, 0, 1, "x1 checked: 13 s\nmeasure x1: 3 s\n"},
                {3000, 1, 1, "x1 checked: 13 s\nmeasure x1: 3 s\n"},
                {1500, 0, 0, "x1: 13 s\nmeasure x3: 3 s\nmeasure x3: 3 s\n"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct bench_shot shot = {&usual, rows[i].iterations, 3};
        for (int r = 0; r < RANKS; r++)
            pool.times[r] =
                (struct nccl_times){.us = rows[i].us, .host_least_us = rows[i].us, .host_most_us = rows[i].us};
        s.nused = 0;
        memset(&s.point, 0, sizeof s.point);
        assert_int_equal(measure((struct bench_batch){.samples = 2, .check = rows[i].check}, &shot, 1), BENCH_ANSWERED);
        assert_noted(arena_printf(arena, "prepare allreduce 64 in place: 3 s\nmeasure %s", rows[i].asked));
        assert_told(arena_printf(arena, "0 ok %g \n0 ok %g \n", rows[i].us, rows[i].us));
    }
}

/* Tree with LL is refused, the rest goes on; each has its own patience. */
static void refuse_ring(const struct nccl_measure *q)
{
    for (int r = 0; r < RANKS; r++)
        pool.times[r].status = q->algo == ALGO_RING ? NCCL_REFUSED : NCCL_DONE;
    snprintf(pool.times[3].detail, NCCL_TEXT, "rank 3: no");
}

TEST_CASE(shots_in_turn)
{
    const struct bench_shot shots[] = {{&ring, 7, 4}, {&usual, 9, 8}};
    assert_int_equal(measure((struct bench_batch){.samples = 2}, shots, 2), BENCH_ANSWERED);
    assert_noted("prepare allreduce 64 in place: 4 s\nmeasure x7 ring/ll: 14 s\nmeasure x9: 18 s\n"
                 "measure x7 ring/ll: 4 s\nmeasure x9: 8 s\n");
    assert_told("0 ok 100 \n1 ok 100 \n0 ok 100 \n1 ok 100 \n");
    pool.law = refuse_ring;
    snprintf(s.remark, sizeof s.remark, "memory is full");
    assert_int_equal(measure((struct bench_batch){.samples = 2, .check = 1}, shots, 2), BENCH_ANSWERED);
    assert_noted("measure x1 ring/ll checked: 4 s\nmeasure x1 checked: 8 s\nmeasure x9: 8 s\nmeasure x9: 8 s\n");
    assert_told("0 failed 100 rank 3: no\n1 ok 100 memory is full\n1 ok 100 memory is full\n");
}

TEST_CASE(all_of_a_call_is_asked_for)
{
    const struct bench_shot shot = {&chunks, 3, 4};
    measure((struct bench_batch){.samples = 1, .buffers = BENCH_GRAPH, .shape = {1, 2, 1, BENCH_ALONE}}, &shot, 1);
    assert_noted("prepare allreduce 64 in place by 1x2*1@0: 14 s\nmeasure x3 ring/ll on 4 by 4096 captured: 14 s\n");
}

/* Each sample is taken alone first, which says how much of the load outlasts it. */
TEST_CASE(beside_a_load)
{
    static const struct {
        double unit_us;
        int iterations, units;
    } rows[] = {{50, 0, 81}, {50, 10, 41}, {0, 0, 0}, {0.2, 10, 10001}, {0.09, 10, 20000}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct bench_shot shot = {&usual, rows[i].iterations, 3};
        const char *first = rows[i].iterations ? "x10" : "x1", *then = rows[i].iterations ? "x10" : "x20";
        const char *units = rows[i].units ? arena_printf(arena, " beside %d", rows[i].units) : "";
        for (int r = 0; r < RANKS; r++)
            pool.prepared[r].unit_us = rows[i].unit_us;
        s.nused = 0;
        memset(&s.point, 0, sizeof s.point);
        memset(&s.groups, 0, sizeof s.groups);
        measure((struct bench_batch){.samples = 2, .check = 1, .shape = {1, 2, 1, BENCH_COMPUTE}}, &shot, 1);
        assert_noted(arena_printf(arena,
                                  "prepare allreduce 64 in place by 1x2*1@1: 13 s\nmeasure %s checked: 13 s\n"
                                  "measure %s%s: 3 s\nmeasure %s: 3 s\nmeasure %s%s: 3 s\n",
                                  first, then, units, then, then, units));
    }
    assert_int_equal(s.ndefaults, 0); /* nothing that jobs could be compared with */
}

/* Samples of NCCL's own choice, of the plan's buffers. */
TEST_CASE(the_default_is_remembered)
{
    static const struct bench_setting tree_ll[] = {{NCCL_SET_ALGO, "tree"}, {NCCL_SET_PROTO, "ll"}};
    static const struct bench_knobs tree = {"tree/ll", tree_ll, 2};
    const struct bench_shot shots[] = {{&usual, 3, 4}, {&ring, 3, 4}}, other = {&tree, 3, 4};
    measure((struct bench_batch){.samples = 1, .bytes = 512}, &other, 1);
    assert_int_equal(s.ndefaults, 0);
    measure((struct bench_batch){.samples = 3}, shots, 2);
    measure((struct bench_batch){.samples = 2, .bytes = 128}, shots, 1);
    measure((struct bench_batch){.samples = 40}, shots, 1);
    measure((struct bench_batch){.samples = 1, .buffers = BENCH_BFLOAT16}, shots, 1);
    assert_int_equal(s.ndefaults, 2);
    assert_int_equal(s.defaults[0].n, DEFAULT_SAMPLES);
    assert_int_equal(s.defaults[0].point.bytes, 64);
    assert_int_equal(s.defaults[1].n, 2);
    assert_true(s.defaults[1].us[0] == 100 && s.defaults[1].us[1] == 100);
    context.buffers = BENCH_BFLOAT16;
    measure((struct bench_batch){.samples = 1, .buffers = BENCH_BFLOAT16}, shots, 1);
    assert_int_equal(s.ndefaults, 3);
    pool.times[0].status = NCCL_REFUSED;
    measure((struct bench_batch){.samples = 1, .bytes = 256}, shots, 1);
    assert_int_equal(s.ndefaults, 3);
}

TEST_CASE(what_cannot_be_prepared)
{
    const struct bench_shot shots[] = {{&usual, 3, 4}, {&ring, 3, 4}};
    pool.prepare_refusals = 1;
    pool.detail = "rank 1: too small";
    assert_int_equal(measure((struct bench_batch){.samples = 3}, shots, 2), BENCH_ANSWERED);
    assert_told("0 failed 0 rank 1: too small\n1 failed 0 rank 1: too small\n");
    pool.prepare = BENCH_LOST;
    pool.prepare_refusals = 0;
    assert_int_equal(measure((struct bench_batch){.samples = 3}, shots, 2), BENCH_LOST);
    assert_told("");
    pool.prepare = BENCH_ANSWERED;
    pool.measure = BENCH_DIED;
    assert_int_equal(measure((struct bench_batch){.samples = 3}, shots, 2), BENCH_DIED);
    assert_told("");
    assert_noted("prepare allreduce 64 in place: 4 s\nprepare allreduce 64 in place: 4 s\n"
                 "prepare allreduce 64 in place: 4 s\nmeasure x3: 14 s\n");
}

/* ---- other types and places ---- */

static const uint64_t large = 65536;

TEST_CASE(what_is_looked_at_once_more)
{
    const struct bench_shot one = {&ring, 3, 4}, two[] = {{&ring, 3, 4}, {&usual, 3, 4}}, none = {&usual, 3, 4},
                            cut = {&chunks, 3, 4};
    struct bench_batch b = {.samples = 2, .check = 1, .bytes = large};
    measure(b, &one, 1);
    assert_noted("prepare allreduce 65536 in place: 4 s\nmeasure x1 ring/ll checked: 14 s\nmeasure x3 ring/ll: 4 s\n"
                 "prepare allreduce 65536 in place bfloat16: 4 s\nmeasure x1 ring/ll checked: 4 s\n"
                 "prepare allreduce 65536: 4 s\nmeasure x1 ring/ll checked: 4 s\n"
                 "prepare allreduce 65536 in place: 4 s\nmeasure x3 ring/ll: 4 s\n");
    assert_told("0 ok 100 \n0 ok 100 \n");
    measure(b, &one, 1); /* not again */
    assert_noted("measure x1 ring/ll checked: 4 s\nmeasure x3 ring/ll: 4 s\nmeasure x3 ring/ll: 4 s\n");
    b.coll = COLL_REDUCESCATTER;
    b.samples = 1;
    measure(b, &one, 1);
    assert_noted("prepare reducescatter 65536: 4 s\nmeasure x1 ring/ll checked: 14 s\nmeasure x3 ring/ll: 4 s\n"
                 "prepare reducescatter 65536 bfloat16: 4 s\nmeasure x1 ring/ll checked: 4 s\n"
                 "prepare reducescatter 65536 in place: 4 s\nmeasure x1 ring/ll checked: 4 s\n"
                 "prepare reducescatter 65536: 4 s\n");
    const struct {
        struct bench_batch b;
        const struct bench_shot *shots;
        int n, more;
    } rows[] = {{{.coll = COLL_REDUCE, .bytes = large, .check = 1}, &one, 1, 1},
                {{.coll = COLL_ALLGATHER, .bytes = large, .check = 1}, &one, 1, 0},
                {{.bytes = large, .check = 0}, &one, 1, 0},
                {{.bytes = large - 1, .check = 1}, &one, 1, 0},
                {{.bytes = large, .check = 1}, two, 2, 0},
                {{.bytes = large, .check = 1}, &none, 1, 0},
                {{.bytes = large, .check = 1}, &cut, 1, 0},
                {{.bytes = large, .check = 1, .shape = {1, 2, 1, BENCH_COMPUTE}}, &one, 1, 0},
                {{.bytes = large, .check = 1, .shape = {1, 2, 1, BENCH_ALONE}}, &one, 1, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bench_batch x = rows[i].b;
        x.samples = 1;
        memset(context.beside, 0, sizeof context.beside);
        measure(x, rows[i].shots, rows[i].n);
        if ((strstr(notes, "bfloat16") != NULL) != rows[i].more)
            fail_msg("case %d: %s", (int)i, notes);
        notes = "";
    }
}

/* Whether the prepared point is one of these, and what is wrong there. */
static int wrong_type, wrong_place, no_type;

static void spoil(const struct nccl_measure *q)
{
    int wrong = (wrong_type && q->point.type == NCCL_TYPE_BFLOAT16) || (wrong_place && !q->point.in_place);
    for (int r = 0; r < RANKS; r++)
        pool.times[r].status = wrong ? NCCL_WRONG : NCCL_DONE;
    snprintf(pool.times[RANKS - 1].detail, NCCL_TEXT, "rank 3: element 7");
}

static void refuse_type(const struct nccl_point *p)
{
    pool.prepare_refusals = no_type && p->type == NCCL_TYPE_BFLOAT16 ? RANKS : 0;
}

TEST_CASE(what_is_wrong_there_is_said)
{
    const struct bench_shot one = {&ring, 3, 4};
    const struct bench_batch b = {.samples = 2, .check = 1, .bytes = large};
    pool.law = spoil;
    pool.place = refuse_type;
    wrong_type = wrong_place = 1;
    measure(b, &one, 1);
    assert_told("0 wrong 100 bfloat16: rank 3: element 7\n"); /* and no further samples */
    assert_noted("prepare allreduce 65536 in place: 4 s\nmeasure x1 ring/ll checked: 14 s\nmeasure x3 ring/ll: 4 s\n"
                 "prepare allreduce 65536 in place bfloat16: 4 s\nmeasure x1 ring/ll checked: 4 s\n"
                 "prepare allreduce 65536 in place: 4 s\n");
    memset(context.beside, 0, sizeof context.beside);
    wrong_type = 0;
    measure(b, &one, 1);
    assert_told("0 wrong 100 out of place: rank 3: element 7\n");
    memset(context.beside, 0, sizeof context.beside);
    wrong_place = 0;
    no_type = 1; /* what cannot be had is not wrong */
    notes = "";
    measure(b, &one, 1);
    assert_told("0 ok 100 \n0 ok 100 \n");
    assert_noted("measure x1 ring/ll checked: 4 s\nmeasure x3 ring/ll: 4 s\n"
                 "prepare allreduce 65536 in place bfloat16: 4 s\n"
                 "prepare allreduce 65536: 4 s\nmeasure x1 ring/ll checked: 4 s\n"
                 "prepare allreduce 65536 in place: 4 s\nmeasure x3 ring/ll: 4 s\n");
}

static void die_of_a_type(const struct nccl_point *p)
{
    pool.prepare = p->type == NCCL_TYPE_BFLOAT16 ? BENCH_DIED : BENCH_ANSWERED;
}

TEST_CASE(who_dies_of_it_is_gone)
{
    const struct bench_shot one = {&ring, 3, 4};
    pool.place = die_of_a_type;
    assert_int_equal(measure((struct bench_batch){.samples = 2, .check = 1, .bytes = large}, &one, 1), BENCH_DIED);
    assert_told("");
    assert_noted("prepare allreduce 65536 in place: 4 s\nmeasure x1 ring/ll checked: 14 s\nmeasure x3 ring/ll: 4 s\n"
                 "prepare allreduce 65536 in place bfloat16: 4 s\n");
}

TEST_CASES_EACH(main, begin, end)
