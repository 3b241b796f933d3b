/* Calibration finds factors that made-up measurements were made with, and says how sure it is. */
#include "envgen/predict/predict.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"
#include "tests/lib/whole.h"

enum { MOST = 1000 };

struct bed {
    struct topology *t;
    struct model_setup s;
    struct model_observation o[MOST];
    int n;
};

static void make_up(struct bed *b)
{
    struct err e = {0};
    memset(b, 0, sizeof *b);
    b->t = machine_topology("azure-ndv4", 2, &e);
    if (!b->t)
        fail_msg("%s", e.text);
    b->s.nccl.topology = b->t;
    b->s.nccl.nodes = 2;
}

/* From -1 to 1, the same on every machine. */
static double noise(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / (1 << 23) - 1;
}

/* Measures defaults on `nodes` nodes in a world with these factors, off by up to `spread` (log). */
static void measure(struct bed *b, int nodes, const struct model_factors *truth, double spread)
{
    unsigned state = 7;
    struct arena *a = arena_new();
    struct model_setup s = b->s;
    s.nccl.nodes = nodes;
    s.factors = truth;
    struct model *m = model_new(&s, a, NULL);
    assert_non_null(m);
    for (int coll = COLL_ALLGATHER; coll <= COLL_ALLREDUCE; coll++)
        for (uint64_t bytes = 8; bytes <= 1ull << 33 && b->n < MOST; bytes *= 8) {
            struct model_call c = {coll, bytes, -1, -1, 0};
            struct model_time t;
            assert_int_equal(model_predict(m, &c, &t), 0);
            b->o[b->n++] = (struct model_observation){.coll = coll,
                                                      .nodes = nodes,
                                                      .ranks = 8 * nodes,
                                                      .bytes = bytes,
                                                      .algo = -1,
                                                      .proto = -1,
                                                      .us = t.us * exp(spread * noise(&state))};
        }
    arena_free(a);
}

static int close_to(double got, double want, double part)
{
    return fabs(log(got / want)) < part;
}

TEST_CASE(finds_the_truth)
{
    static const struct model_factors truths[] = {{.time = {1, 1, 1, 1.8, 1.6}},
                                                  {.time = {1, 1, 1, 0.7, 1.2}},
                                                  {.time = {1.5, 1.5, 1.2, 1, 2}},
                                                  {.time = {1, 1, 1, 1, 1}}};
    for (size_t i = 0; i < sizeof truths / sizeof *truths; i++) {
        struct bed b;
        struct model_fit f;
        make_up(&b);
        for (int nodes = 1; nodes <= 4; nodes *= 2)
            measure(&b, nodes, &truths[i], 0);
        assert_int_equal(model_calibrate(&b.s, b.o, b.n, &f, NULL), 0);
        assert_int_equal(f.used, b.n);
        assert_int_equal(f.bounded, 0);
        for (int k = 0; k < MODEL_PARTS; k++)
            assert_true(close_to(f.factors.time[k], truths[i].time[k] > 0 ? truths[i].time[k] : 1,
                                 k == MODEL_LAUNCH ? 0.1 : 0.05));
        assert_true(f.spread < 1.01 && f.spread <= f.before + 1e-6);
        topo_free(b.t);
    }
}

TEST_CASE(noise_widens_the_band)
{
    static const struct model_factors truth = {.time = {1, 1, 1, 1.4, 1.4}};
    double before = 0;
    for (int i = 1; i <= 3; i++) {
        struct bed b;
        struct model_fit f;
        make_up(&b);
        for (int nodes = 1; nodes <= 4; nodes *= 2)
            measure(&b, nodes, &truth, 0.1 * i);
        assert_int_equal(model_calibrate(&b.s, b.o, b.n, &f, NULL), 0);
        assert_true(close_to(f.factors.time[MODEL_NET_LINKS], truth.time[MODEL_NET_LINKS], 0.1 * i));
        assert_true(f.factors.rest > before && f.factors.rest < i);
        assert_true(f.spread < f.before);
        before = f.factors.rest;
        topo_free(b.t);
    }
}

/* What was measured on one node says nothing about the network: its factors stay. */
TEST_CASE(leaves_alone_what_it_cannot_see)
{
    static const struct model_factors truth = {.time = {1, 1, 1.4, 2, 2}};
    struct bed b;
    struct model_fit f;
    make_up(&b);
    measure(&b, 1, &truth, 0);
    assert_int_equal(model_calibrate(&b.s, b.o, b.n, &f, NULL), 0);
    assert_true(close_to(f.factors.time[MODEL_NET_LINKS], 1, 1e-6));
    assert_true(close_to(f.factors.time[MODEL_NET_HOPS], 1, 1e-6));
    assert_true(close_to(f.factors.time[MODEL_LINKS], truth.time[MODEL_LINKS], 0.05));
    topo_free(b.t);
}

TEST_CASE(stops_at_its_bounds)
{
    static const struct model_factors truth = {.time = {1, 1, 1, 1, 50}};
    struct bed b;
    struct model_fit f;
    make_up(&b);
    measure(&b, 2, &truth, 0);
    assert_int_equal(model_calibrate(&b.s, b.o, b.n, &f, NULL), 0);
    assert_true(f.bounded >= 1);
    assert_true(close_to(f.factors.time[MODEL_NET_LINKS], 5, 1e-6));
    topo_free(b.t);
}

TEST_CASE(refuses_what_cannot_be_used)
{
    struct bed b;
    struct model_fit f;
    struct err e = {0};
    make_up(&b);
    static const struct model_observation bad[] = {
        {COLL_ALLREDUCE, 0, 8, 8, -1, -1, 0, 10},       {COLL_ALLREDUCE, 3, 8, 8, -1, -1, 0, 10},
        {COLL_ALLREDUCE, 2, 16, 8, -1, -1, 0, 0},       {COLL_ALLREDUCE, 2, 16, 8, -1, -1, 0, -3},
        {COLL_ALLREDUCE, 2, 16, 8, ALGO_PAT, 0, 0, 10}, {99, 2, 16, 8, -1, -1, 0, 10},
    };
    assert_true(model_calibrate(&b.s, bad, sizeof bad / sizeof *bad, &f, &e) != 0);
    assert_non_null(strstr(e.text, "none of 6"));
    assert_true(model_calibrate(&b.s, bad, 0, &f, &e) != 0);
    topo_free(b.t);
}

/* Groups of several shapes on as many nodes; what no machine has is left aside. */
TEST_CASE(several_shapes)
{
    static const struct model_factors truth = {.time = {1, 1, 1, 1.5, 1.2}};
    struct bed b;
    struct model_fit f, g;
    make_up(&b);
    measure(&b, 2, &truth, 0.1);
    assert_int_equal(model_calibrate(&b.s, b.o, b.n, &f, NULL), 0);
    int n = b.n;
    for (int i = 0; i < n; i += 2) { /* half as many ranks, and several groups at once: other shapes on as many nodes */
        b.o[i].ranks = 8;
        b.o[i].others = i % 4 ? 1 : 0;
    }
    b.o[b.n++] = (struct model_observation){COLL_ALLREDUCE, 2, 64, 8, -1, -1, 0, 10, 0}; /* 32 GPUs a node: twice */
    b.o[b.n++] = (struct model_observation){COLL_ALLREDUCE, 2, 64, 8, -1, -1, 0, 10, 0};
    b.o[b.n++] = (struct model_observation){99, 2, 16, 8, -1, -1, 0, 10, 0};
    assert_int_equal(model_calibrate(&b.s, b.o, b.n, &g, NULL), 0);
    assert_int_equal(g.used, n);
    b.o[2].us = 0.5;  /* however short it took */
    b.o[3].nodes = 3; /* now there are two numbers of nodes */
    b.o[3].ranks = 24;
    assert_int_equal(model_calibrate(&b.s, b.o, b.n, &g, NULL), 0);
    assert_int_equal(g.used, n);
    topo_free(b.t);
}

/* The setup's own factors change nothing. */
TEST_CASE(factors_of_the_setup)
{
    static const struct model_factors truth = {.time = {1, 1, 1, 0.5, 1}}, odd = {.time = {1, 1, 1, 3, 1}},
                                      other = {.time = {3, 3, 3, 3, 3}};
    struct bed b;
    struct model_fit f, g;
    make_up(&b);
    measure(&b, 2, &truth, 0);
    measure(&b, 4, &odd, 0);
    assert_int_equal(model_calibrate(&b.s, b.o, b.n, &f, NULL), 0);
    b.s.factors = &other;
    assert_int_equal(model_calibrate(&b.s, b.o, b.n, &g, NULL), 0);
    assert_true(g.before == f.before);
    for (int k = 0; k < MODEL_PARTS; k++)
        assert_true(g.factors.time[k] == f.factors.time[k]);
    topo_free(b.t);
}

TEST_CASE(no_further_than_its_bounds)
{
    static const struct model_factors truth = {.time = {1, 1, 1, 40, 1}};
    struct bed b;
    struct model_fit f;
    make_up(&b);
    measure(&b, 2, &truth, 0);
    assert_int_equal(model_calibrate(&b.s, b.o, b.n, &f, NULL), 0);
    assert_true(f.factors.time[MODEL_NET_HOPS] < 5 + 1e-6);
    assert_true(f.bounded >= 1);
    topo_free(b.t);
}

/* Three calls of a machine like those that the constants came from: the band shrinks for what they tell about, and not
 * for what they do not. */
TEST_CASE(three_points_shrink_the_band)
{
    static const struct model_factors truth = {.time = {1, 1, 1, 1.5, 1.1}};
    struct bed b;
    struct model_fit f;
    struct err e = {0};
    make_up(&b);
    measure(&b, 2, &truth, 0);
    struct model_observation three[] = {b.o[1], b.o[6], b.o[9]};
    assert_int_equal(model_calibrate(&b.s, three, 3, &f, &e), 0);
    struct arena *a = arena_new();
    struct model *m = model_new(&b.s, a, &e);
    double shrunk = 0;
    int n = 0;
    for (int i = 0; i < b.n; i += 3) {
        struct model_call c = {b.o[i].coll, b.o[i].bytes, -1, -1, 0};
        struct model_time before, after;
        model_set_factors(m, &(struct model_factors){0});
        assert_int_equal(model_predict(m, &c, &before), 0);
        model_set_factors(m, &f.factors);
        assert_int_equal(model_predict(m, &c, &after), 0);
        assert_true(after.low_us < b.o[i].us && b.o[i].us < after.high_us);
        shrunk += log(after.high_us / after.us) / log(before.high_us / before.us);
        n++;
    }
    assert_true(shrunk < 0.9 * n);
    arena_free(a);
    topo_free(b.t);
}

static void print_fit(FILE *out, const char *title, const struct model_fit *f)
{
    fprintf(out, "%s: %d used, %d at a bound, off by %.3g before, %.3g now, rest %.3g, sockets %d\n", title, f->used,
            f->bounded, f->before, f->spread, f->factors.rest, f->factors.sockets);
    for (int i = 0; i < MODEL_PARTS; i++) {
        fprintf(out, "  %-9s x %.3g, root", model_part_names[i], f->factors.time[i]);
        for (int k = 0; k < MODEL_PARTS; k++)
            fprintf(out, " %.3f", fabs(f->factors.root[i][k]) < 0.0005 ? 0 : f->factors.root[i][k]);
        fputc('\n', out);
    }
}

/* All that comes of fits, to three digits: scattered measurements, one number of nodes, far from the constants, one
 * measurement that is wild, some of forced calls. */
TEST_CASE(whole_fits)
{
    static const struct {
        const char *title;
        struct model_factors truth;
        double spread;
        int nodes[3];
        double wild;
        int sockets, forced;
    } worlds[] = {
        {"as the constants are", {.rest = 0}, 0.1, {1, 2, 4}, 1, 0, 0},
        {"all parts are off", {.time = {1.5, 0.6, 1.3, 2, 1.2}}, 0.2, {2, 4}, 1, 0, 0},
        {"one node", {.time = {1.2, 1.5, 0.9, 1, 1}}, 0.05, {1}, 1, 0, 0},
        {"far away", {.time = {1, 1, 1, 30, 0.1}}, 0.05, {2}, 1, 0, 0},
        {"one that is wild", {.time = {1, 1, 1, 1.3, 1.1}}, 0.1, {1, 2}, 50, 0, 0},
        {"sockets", {.time = {1, 1, 1, 1.5, 0.7}}, 0.3, {2, 3}, 1, 1, 0},
        {"forced calls", {.time = {1, 1.2, 1, 1, 1}}, 0.1, {1, 3}, 1, 0, 1},
    };
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        struct bed b;
        struct model_fit f;
        make_up(&b);
        b.s.nccl.sockets = worlds[i].sockets;
        for (int k = 0; k < 3 && worlds[i].nodes[k]; k++)
            measure(&b, worlds[i].nodes[k], &worlds[i].truth, worlds[i].spread);
        b.o[5].us *= worlds[i].wild;
        for (int k = 0; k < b.n && worlds[i].forced; k += 3) {
            b.o[k].algo = ALGO_RING;
            b.o[k].proto = k % 2 ? PROTO_LL : PROTO_SIMPLE;
            b.o[k].channels = 1 + k % 5;
        }
        assert_int_equal(model_calibrate(&b.s, b.o, b.n, &f, NULL), 0);
        print_fit(out, worlds[i].title, &f);
        topo_free(b.t);
    }
    fclose(out);
    assert_whole(text, "tests/fixtures/bench/fits.txt");
    free(text);
}

TEST_CASES(test_fit)
