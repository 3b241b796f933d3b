/* tuner/explore: what is proposed for communicators at which call, step by step, and the journal of what was learned.
 * The carrier is this file; what calls take is known, and so is their noise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/whole.h"
#include "tuner/explore/explore.h"
#include "tuner/explore/prior.h"
#include "tuner/online/carrier.h"

#define MIB (1 << 20)

static struct online_member *joined; /* the last */
static char why[256];
static uint32_t rounds;

int online_join(struct online_member *m, char *to, size_t size)
{
    (void)size;
    to[0] = 0;
    joined = m;
    return 0;
}

void online_leave(struct online_member *m)
{
    assert_ptr_equal(m, joined);
}

/* ---- a job ------------------------------------------------------------------------------------------------------- */

static uint64_t now_ns; /* of the host */

static uint64_t told_clock(void)
{
    return now_ns;
}

/* Ring with LL by default, of 8 channels; what it takes by cell, in microseconds. */
struct kind {
    struct tuner_call call;
    struct explore_cell rule; /* of the job's table */
    double us[EXPLORE_CELLS];
    uint32_t chunk; /* NCCL's own, which it asks about; a quarter of it is best */
};

static float costs[ALGO_COUNT * PROTO_COUNT];
static unsigned noise; /* 0: none */

static int ran_with(const struct kind *k, struct explore_cell c)
{
    c = c.cell < 0 ? k->rule : c;
    return explore_is_cell(c) ? c.cell : 3;
}

/* Two percent, and one time in twenty thrice as long. */
static double noisy(double us)
{
    if (!noise)
        return us;
    noise = noise * 1664525 + 1013904223;
    return us * (1 + ((noise >> 8) % 41 - 20.0) / 1000) * ((noise >> 16) % 20 ? 1 : 3);
}

static double us_of(const struct kind *k, struct explore_cell c, uint32_t chunk)
{
    double us = k->us[ran_with(k, c)] * (c.channels == 4 ? 0.9 : c.channels == 2 ? 1.5 : 1);
    return noisy(us * (!chunk ? 1 : chunk == k->chunk / 4 ? 0.85 : chunk == k->chunk / 2 ? 0.93 : 1));
}

static void call(struct explore_member *m, const struct kind *k)
{
    static unsigned connected;
    struct tuner_call with = k->call;
    struct explore_cell c = k->rule;
    with.cost = costs, with.algos = ALGO_COUNT, with.protos = PROTO_COUNT;
    explore_called(m, 0);
    assert_int_equal(explore_ask(m, &with, &c), 0);
    int cell = ran_with(k, c), algo = cell / PROTO_COUNT, proto = cell % PROTO_COUNT;
    uint32_t chunk = k->chunk ? explore_chunk(m, with.coll, algo, proto, k->chunk, 0) : 0;
    now_ns += noise ? connected >> algo & 1 ? 2000 : 1500000 : 0;
    connected |= 1U << algo;
    uint32_t tag = explore_launched(m, with.coll, with.bytes);
    if (!noise || noise >> 20 & 7) /* one time in eight does not come */
        explore_timed(m, tag, algo, proto, c.channels ? c.channels : 8, (uint64_t)(1000 * us_of(k, c, chunk)));
    else
        us_of(k, c, chunk);
}

/* All promise, and one round later it is committed, or not. */
static void decide(uint64_t from, uint32_t plan, enum online_word outcome)
{
    struct online_message m = {ONLINE_PREPARE, ++rounds, plan, from};
    assert_int_equal(joined->hear(joined->arg, &m).word, ONLINE_PROMISE);
    m.word = outcome;
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
    m->clock = told_clock;
    assert_ptr_equal(explore_introduce(comm, 0, 4, why, sizeof why), m);
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

static void say_plan(unsigned calls, uint64_t from, uint32_t plan)
{
    struct explore_plan p;
    assert_int_equal(explore_unpack(plan, &p), 0);
    say("%u: kind %d %s cell %d", calls, p.kind, p.is_trial ? "tries" : "holds", p.cell.cell);
    if (p.cell.channels)
        say(" with %u channels", p.cell.channels);
    if (p.cell.chunk)
        say(" of %u bytes", EXPLORE_CHUNK(p.cell.chunk));
    if (p.is_trial)
        say(", %u of %u calls", explore_tried(&p), explore_span(&p));
    if (noise)
        say(", from %u on", (unsigned)from - calls);
    say("\n");
}

/* With noise the fifth round of seven is aborted. */
static void run(struct explore_member *m, struct kind *kinds, unsigned n, unsigned calls, unsigned turns)
{
    for (unsigned i = 0, asked = 0; i < calls; i++) {
        uint64_t from;
        uint32_t plan;
        if (i == turns)
            kinds[0].us[5] = 3 * kinds[0].us[3];
        if (i % 10 == 0 && joined->propose(joined->arg, 0, &from, &plan)) {
            enum online_word outcome = noise && ++asked % 7 == 5 ? ONLINE_ABORT : ONLINE_COMMIT;
            say_plan(i, from, plan);
            if (outcome == ONLINE_ABORT)
                say("    aborted\n");
            decide(from, plan, outcome);
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

/* Under noise, with times that are missing, rounds that are aborted and algorithms that connect, and with the journal
 * of an earlier job like it: all that is proposed, and what three kinds end with. */
static void every_step_under_noise_is_known(void **state)
{
    (void)state;
    struct kind kinds[] = {{{.coll = COLL_ALLREDUCE, .bytes = MIB}, {-1, 0}, {900, 700, 430, 500, 450, 480}, 1 << 19},
                           {{.coll = COLL_ALLGATHER, .bytes = 3000}, {-1, 0}, {95, 90, 120, 50, 48, 49}, 0},
                           {{.coll = COLL_REDUCESCATTER, .bytes = 77777}, {5, 0}, {95, 60, 120, 50, 70, 100}, 1 << 17}};
    const float predicted[EXPLORE_CELLS] = {20, 18, 30, 10, 12, 15};
    predict(-1, -1, -1);
    memcpy(costs, predicted, sizeof predicted);
    used = 0;
    noise = 1;
    setenv("NCCLTUNE_ONLINE_REGRET", "3", 1);
    struct explore_member *m = start(701, 3);
    run(m, kinds, 3, 60000, 45000);
    for (int i = 0; i < 3; i++) {
        const struct explore_key *k = &m->keys[explore_kind(kinds[i].call.coll, kinds[i].call.bytes)];
        say("in the end: cell %d, %u channels, chunk %u\n", k->hold.cell, k->hold.channels, k->hold.chunk);
    }
    end(m);
    struct observe_text t = {0};
    size_t lines = explore_put_learned(&t, "7");
    say("%zu lines in the journal", lines);
    static const char called[] = "\"call\": {\"label\": \"";
    const char *at = t.text, *behind = t.text + t.used;
    while ((at = memmem(at, (size_t)(behind - at), called, sizeof called - 1))) {
        at += sizeof called - 1;
        say(" %.*s", (int)strcspn(at, "\""), at);
    }
    say("\n");
    free(t.text);
    noise = 0;
    assert_whole(text, "tests/fixtures/tuner/explore_noisy_steps.txt");
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

/* ---- an earlier job ---------------------------------------------------------------------------------------------- */

#define POINT                                                                                                          \
    "{\"engine\": \"nccl\", \"collective\": \"allreduce\", \"bytes\": 1048576, \"nodes\": 3, \"ranks\": 4, \"call\": " \
    "{\"label\": \"x\", \"settings\": {"

static char dir[] = "/tmp/nccltune-steps-XXXXXX";

/* Its journal, which is read once in a process: by the first communicator, before any other asks for it. */
static int remember(void **state)
{
    char path[64];
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/6.learned.0.jsonl", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("{\"format\": \"nccltune-results/1\"}\n", f);
    fputs(POINT "\"algorithm\": \"ring\", \"protocol\": \"simple\"}}, \"times_us\": [95, 96]}\n", f);
    fputs(POINT "\"algorithm\": \"tree\", \"protocol\": \"simple\"}}, \"times_us\": [80, 81]}\n", f);
    fputs(POINT "\"algorithm\": \"ring\", \"protocol\": \"ll128\"}}, \"times_us\": [99, 98]}\n", f);
    fputs(POINT "}}, \"times_us\": [100, 100]}\n", f);
    fclose(f);
    setenv("NCCLTUNE_ONLINE", "tune", 1);
    setenv("NCCLTUNE_CAPTURE", dir, 1);
    end(start(9, 2));
    struct explore_decider *d = explore_decider_new(1);
    for (int i = 0; i < 60000 && !explore_remind(d, 3, 4); i++)
        usleep(1000);
    assert_int_equal(explore_remind(d, 3, 4), 1);
    explore_decider_free(d);
    unlink(path);
    rmdir(dir);
    return 0;
}

static int begin(void **state)
{
    (void)state;
    rounds = 0;
    now_ns = 1;
    unsetenv("NCCLTUNE_ONLINE_REGRET");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_bound_is_in_percent, begin),
        cmocka_unit_test_setup(every_step_is_known, begin),
        cmocka_unit_test_setup(every_step_under_noise_is_known, begin),
        cmocka_unit_test_setup(gives_up, begin),
    };
    return cmocka_run_group_tests(tests, remember, NULL);
}
