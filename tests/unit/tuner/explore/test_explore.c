/* tuner/explore/explore.c: which communicators meet, what is proposed for them at which call, and the journal of what
 * was learned. The carrier is this file; calls take what they are told to, so that every step is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/whole.h"
#include "tuner/explore/explore.h"
#include "tuner/online/carrier.h"

#define MIB (1 << 20)

static struct online_member *joined; /* the last */
static int joins, leaves;
static char why[256];
static uint32_t rounds;

int online_join(struct online_member *m, char *to, size_t size)
{
    (void)size;
    to[0] = 0;
    joined = m;
    joins++;
    return 0;
}

void online_leave(struct online_member *m)
{
    assert_ptr_equal(m, joined);
    leaves++;
}

static struct explore_member *open_tuner(uint64_t comm, int ranks)
{
    const struct explore_shape shape = {.comm = comm, .ranks = ranks, .nodes = 2, .nccl = 22809};
    return explore_open(&shape, why, sizeof why);
}

static struct explore_member *introduce(uint64_t comm, int rank, int ranks)
{
    return explore_introduce(comm, rank, ranks, why, sizeof why);
}

static int begin(void **state)
{
    rounds = 0;
    (void)state;
    setenv("NCCLTUNE_ONLINE", "tune", 1);
    unsetenv("NCCLTUNE");
    unsetenv("NCCLTUNE_ONLINE_REGRET");
    joined = NULL;
    joins = leaves = 0;
    return 0;
}

/* ---- who meets whom ---------------------------------------------------------------------------------------------- */

static void both_sides_make_one(void **state)
{
    (void)state;
    struct explore_member *m = open_tuner(11, 4);
    assert_true(m && !why[0] && !joins);
    assert_null(open_tuner(11, 4)); /* which is which cannot be told */
    assert_string_equal(why,
                        "several ranks of a communicator are in one process; NCCLTUNE_ONLINE=tune leaves it alone");
    assert_ptr_not_equal(open_tuner(12, 4), m);
    assert_ptr_equal(introduce(11, 2, 4), m);
    assert_true(joins == 1 && joined->comm == 11 && joined->rank == 2 && joined->ranks == 4 && joined->arg);
    assert_true(joined->hear && joined->lose && !joined->propose && !joined->decided);
    assert_null(introduce(11, 3, 4));
    explore_close(m);
    assert_int_equal(leaves, 1);
    assert_null(introduce(11, 2, 4)); /* as long as a side of the last is open */
    explore_close(m);
    assert_int_equal(leaves, 1);
    m = introduce(12, 0, 4);
    assert_true(m && joins == 2 && joined->propose && joined->decided && joined->rank == 0);
    explore_close(NULL);
    explore_close(m), explore_close(m);
    m = introduce(11, 0, 4); /* in any order */
    assert_true(m && open_tuner(11, 4) == m && joins == 3);
    explore_close(m), explore_close(m);
    assert_ptr_equal(open_tuner(13, 2), introduce(13, 1, 2)); /* in any place that is free */
    explore_close((struct explore_member *)joined->arg), explore_close((struct explore_member *)joined->arg);
    assert_int_equal(leaves, 4);
}

static void not_for_everybody(void **state)
{
    (void)state;
    assert_null(open_tuner(0, 4));
    assert_null(open_tuner(14, 1));
    assert_null(introduce(14, 0, 1));
    assert_null(introduce(14, -1, 4));
    setenv("NCCLTUNE", "off", 1);
    assert_false(explore_is_wanted());
    assert_null(open_tuner(14, 4));
    setenv("NCCLTUNE", "on", 1);
    assert_true(explore_is_wanted());
    setenv("NCCLTUNE_ONLINE", "observe", 1);
    assert_false(explore_is_wanted());
    assert_null(introduce(14, 0, 4));
}

static void as_many_as_there_is_room_for(void **state)
{
    (void)state;
    static struct explore_member *all[300];
    int n = 0;
    while (n < 300 && (all[n] = open_tuner(1000 + (uint64_t)n, 2)))
        n++;
    assert_int_equal(n, 256);
    assert_string_equal(why, "");
    for (int i = 0; i < n; i++)
        explore_close(all[i]);
    assert_non_null(all[0] = open_tuner(2000, 2));
    explore_close(all[0]);
}

/* ---- a job ------------------------------------------------------------------------------------------------------- */

static uint64_t stopped_clock(void)
{
    return 1;
}

/* Ring with LL by default, of 8 channels; what it takes by cell, in microseconds. */
struct kind {
    struct tuner_call call;
    struct explore_cell rule; /* of the job's table */
    double us[EXPLORE_CELLS];
};

static float costs[ALGO_COUNT * PROTO_COUNT];

static int ran_with(const struct kind *k, struct explore_cell c)
{
    c = c.cell < 0 ? k->rule : c;
    return explore_is_cell(c) ? c.cell : 3;
}

static double us_of(const struct kind *k, struct explore_cell c)
{
    return k->us[ran_with(k, c)] * (c.channels == 4 ? 0.9 : c.channels == 2 ? 1.5 : 1);
}

static void call(struct explore_member *m, const struct kind *k)
{
    struct tuner_call with = k->call;
    struct explore_cell c = k->rule;
    with.cost = costs, with.algos = ALGO_COUNT, with.protos = PROTO_COUNT;
    explore_called(m, 0);
    assert_int_equal(explore_ask(m, &with, &c), 0);
    int cell = ran_with(k, c);
    uint32_t tag = explore_launched(m, with.coll, with.bytes);
    explore_timed(m, tag, cell / PROTO_COUNT, cell % PROTO_COUNT, c.channels ? c.channels : 8,
                  (uint64_t)(1000 * us_of(k, c)));
}

/* All promise, and one round later it is committed. */
static void agree(uint64_t from, uint32_t plan)
{
    struct online_message m = {ONLINE_PREPARE, ++rounds, plan, from};
    assert_int_equal(joined->hear(joined->arg, &m).word, ONLINE_PROMISE);
    m.word = ONLINE_COMMIT;
    assert_int_equal(joined->hear(joined->arg, &m).word, ONLINE_KNOW);
    joined->decided(joined->arg, &m);
}

static void predict(float tree, float ring, float simple)
{
    for (int i = 0; i < ALGO_COUNT * PROTO_COUNT; i++)
        costs[i] = -1;
    costs[1] = tree;
    costs[3] = ring;
    costs[5] = simple;
}

static struct explore_member *start(uint64_t comm, int nodes)
{
    const struct explore_shape shape = {comm, 4, nodes, 22809};
    struct explore_member *m = explore_open(&shape, why, sizeof why);
    assert_non_null(m);
    m->clock = stopped_clock;
    assert_ptr_equal(introduce(comm, 0, 4), m);
    return m;
}

static void end(struct explore_member *m)
{
    explore_close(m);
    explore_close(m);
}

/* ---- the bound --------------------------------------------------------------------------------------------------- */

/* A candidate that may be twice as slow is tried on two calls once two calls are the share of all: percent by text. */
static void the_bound_is_in_percent(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned calls; /* before the first trial; 0: none */
    } bounds[] = {{NULL, 200},   {"", 200},  {"1", 200},    {"0.5", 400}, {"5", 40},      {"10", 20},   {".25", 800},
                  {"12.5", 16},  {"100", 8}, {"101", 200},  {"0", 0},     {"1.5.2", 200}, {"2 %", 200}, {"-5", 200},
                  {"0.50", 400}, {"20", 10}, {"1000", 200}, {"2,5", 200}, {"100.5", 200}, {"09", 23}};
    const struct kind k = {{.coll = COLL_ALLREDUCE, .bytes = MIB}, {-1, 0}, {0, 0, 0, 100, 0, 100}};
    predict(-1, 10, 10);
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        uint64_t from;
        uint32_t plan = 0;
        unsigned calls = 0;
        if (bounds[i].text)
            setenv("NCCLTUNE_ONLINE_REGRET", bounds[i].text, 1);
        struct explore_member *m = start(100 + i, 2);
        for (; calls < 1000 && !joined->propose(joined->arg, 5, &from, &plan); calls++)
            call(m, &k);
        if (calls != (bounds[i].calls ? bounds[i].calls : 1000))
            fail_msg("%s: after %u calls", bounds[i].text, calls);
        assert_true(!plan || from == calls + 8);
        assert_int_equal(joined->propose(joined->arg, 5000, &from, &plan), plan != 0);
        assert_int_equal(from, 5008);
        end(m);
    }
}

/* ---- step by step ------------------------------------------------------------------------------------------------ */

static char text[1 << 16];
static size_t used;

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text + used, sizeof text - used, fmt, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < sizeof text - used);
    used += (size_t)n;
}

static void say_plan(unsigned calls, uint32_t plan)
{
    struct explore_plan p;
    assert_int_equal(explore_unpack(plan, &p), 0);
    say("%u: kind %d %s cell %d", calls, p.kind, p.is_trial ? "tries" : "holds", p.cell.cell);
    if (p.cell.channels)
        say(" with %u channels", p.cell.channels);
    if (p.is_trial)
        say(", %u of %u calls", explore_tried(&p), explore_span(&p));
    say("\n");
}

static void run(struct explore_member *m, struct kind *kinds, unsigned n, unsigned calls, unsigned turns)
{
    for (unsigned i = 0; i < calls; i++) {
        uint64_t from;
        uint32_t plan;
        if (i == turns)
            kinds[0].us[5] = 3 * kinds[0].us[3];
        if (i % 10 == 0 && joined->propose(joined->arg, 0, &from, &plan)) {
            say_plan(i, plan);
            agree(from, plan);
        }
        call(m, &kinds[i % n]);
    }
}

static void say_learned(void)
{
    struct observe_text t = {0};
    size_t lines = explore_put_learned(&t, "7");
    const char *head = "{\"format\": \"nccltune-results/1\", \"tool\": \"", *rest = memchr(t.text, '\n', t.used);
    assert_memory_equal(t.text, head, strlen(head));
    assert_non_null(rest);
    say("%zu lines:%.*s\n", lines, (int)(t.text + t.used - rest), rest);
    free(t.text);
}

/* Two kinds, of which one turns bad in the middle of it. */
static void every_step_is_known(void **state)
{
    (void)state;
    struct kind kinds[] = {{{.coll = COLL_ALLREDUCE, .bytes = MIB}, {-1, 0}, {0, 180, 0, 100, 0, 60}},
                           {{.coll = COLL_ALLGATHER, .bytes = 3000}, {-1, 0}, {0, 95, 0, 50, 0, 49}}};
    predict(20, 10, 40);
    setenv("NCCLTUNE_ONLINE_REGRET", "2", 1);
    say_learned();
    struct explore_member *m = start(501, 2);
    run(m, kinds, 2, 40000, 25000);
    end(m);
    m = start(502, 1);
    kinds[0].us[5] = 60;
    kinds[0].rule.cell = 1;
    kinds[0].call.coll = COLL_REDUCESCATTER;
    run(m, kinds, 1, 20000, 30000);
    end(m);
    say_learned();
    assert_whole(text, "tests/fixtures/tuner/explore_steps.txt");
}

/* Sixteen rounds in a row come to nothing: some rank cannot, and nobody is asked again. */
static void gives_up(void **state)
{
    (void)state;
    const struct kind k = {{.coll = COLL_ALLREDUCE, .bytes = MIB}, {-1, 0}, {0, 0, 0, 100, 0, 100}};
    struct online_message no = {.word = ONLINE_ABORT};
    uint64_t from, last = 0;
    predict(-1, 10, 10);
    struct explore_member *m = start(601, 2);
    for (int i = 0; i < 1000; i++)
        call(m, &k);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(joined->propose(joined->arg, 0, &from, &no.plan), 1);
        assert_true(from > last); /* with more and more of a margin */
        last = from;
        joined->decided(joined->arg, &no);
    }
    assert_int_equal(joined->propose(joined->arg, 0, &from, &no.plan), 0);
    end(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(both_sides_make_one, begin),
        cmocka_unit_test_setup(not_for_everybody, begin),
        cmocka_unit_test_setup(as_many_as_there_is_room_for, begin),
        cmocka_unit_test_setup(the_bound_is_in_percent, begin),
        cmocka_unit_test_setup(every_step_is_known, begin),
        cmocka_unit_test_setup(gives_up, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
