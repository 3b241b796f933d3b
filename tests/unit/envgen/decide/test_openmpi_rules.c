/* OpenMPI's rules: what OpenMPI would look up in the file that we write, against what was decided. */
#include "envgen/decide/decide.h"
#include "envgen/write/write.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/synthetic.h"

#define DEFAULT BENCH_DEFAULT

/* ---- a double of OpenMPI's reader: coll_tuned_dynamic_file.c and coll_tuned_dynamic_rules.c of 4.1, restated
 * --------- */

/* The next number; anything else is skipped, a '#' with the rest of its line. -1 at the end. */
static long next_number(const char **at)
{
    while (**at) {
        char *end;
        long v = strtol(*at, &end, 0);
        if (end != *at) {
            *at = end;
            return v;
        }
        if (*(*at)++ == '#')
            *at += strcspn(*at, "\n");
    }
    return -1;
}

struct found {
    long algorithm, fanout, segment;
};

/* The rule for a collective; algorithm 0 when there is none. Fails the test where OpenMPI would refuse the file. */
static struct found ompi_lookup(const char *text, long id, long ranks, long size)
{
    const char **f = &text;
    struct found found = {0, 0, 0};
    long colls = next_number(f);
    assert_in_range(colls, 0, 22);
    while (colls--) {
        long this_id = next_number(f), sizes = next_number(f);
        assert_in_range(this_id, 0, 21);
        assert_true(sizes > 0);
        for (long s = 0; s < sizes; s++) {
            long comm = next_number(f), rules = next_number(f);
            assert_true(comm >= 0 && rules > 0);
            /* the first entry stands even when it is too large */
            int take = this_id == id && (s == 0 || comm <= ranks);
            for (long r = 0; r < rules; r++) {
                long least = next_number(f);
                struct found rule = {next_number(f), next_number(f), next_number(f)};
                assert_true(least >= 0 && rule.algorithm >= 0 && rule.fanout >= 0 && rule.segment >= 0);
                if (r == 0)
                    assert_int_equal(least, 0);
                if (take && (r == 0 || least <= size))
                    found = rule;
            }
        }
    }
    assert_int_equal(next_number(f), -1);
    return found;
}

/* ---- helpers --------------------------------------------------------------------------------------------------------
 */

struct written {
    struct env_decisions *d;
    struct env_rules rules;
    char *text;
    size_t bytes;
};

static struct written write_rules(struct synthetic *s)
{
    struct written w = {.d = synthetic_decide(s)};
    struct err e = {0};
    assert_non_null(w.d);
    assert_int_equal(env_rules_of(w.d, &w.rules, &e), 0);
    struct env_writing writing = {.decisions = w.d, .rules = &w.rules, .dir = "/profile", .scratch = s->arena};
    FILE *out = open_memstream(&w.text, &w.bytes);
    assert_int_equal(env_writer_of("openmpi.rules")->write(&writing, out, &e), 0);
    fclose(out);
    return w;
}

static void finish(struct synthetic *s, struct written *w)
{
    free(w->text);
    env_decisions_free(w->d);
    arena_free(s->arena);
}

static void add(struct synthetic *s, int coll, uint64_t bytes, const char *call, double us)
{
    synthetic_add(s, coll, bytes, DEFAULT, DEFAULT, 100, BENCH_OK);
    synthetic_add(s, coll, bytes, DEFAULT, call, us, BENCH_OK);
}

static long algorithm(struct written *w, long id, long ranks, long size)
{
    return ompi_lookup(w->text, id, ranks, size).algorithm;
}

/* ---- tests ----------------------------------------------------------------------------------------------------------
 */

TEST_CASE(only_measured_communicator_sizes_are_reached)
{
    struct synthetic s = synthetic_new();
    add(&s, COLL_ALLREDUCE, 8, "3", 50);
    add(&s, COLL_ALLREDUCE, 128, "4", 50);
    struct written w = write_rules(&s);
    for (long ranks = 1; ranks < 20; ranks++) {
        assert_int_equal(algorithm(&w, 2, ranks, 0), ranks == 4 ? 3 : 0);
        assert_int_equal(algorithm(&w, 2, ranks, 8), ranks == 4 ? 3 : 0);
        assert_int_equal(algorithm(&w, 2, ranks, 9), 0); /* nobody knows how either does there */
        assert_int_equal(algorithm(&w, 2, ranks, 127), 0);
        assert_int_equal(algorithm(&w, 2, ranks, 128), ranks == 4 ? 4 : 0);
        assert_int_equal(algorithm(&w, 2, ranks, 129), 0); /* larger ones were not measured */
        assert_int_equal(algorithm(&w, 7, ranks, 8), 0);
    }
    finish(&s, &w);
}

TEST_CASE(neighbouring_communicator_sizes)
{
    struct synthetic s = synthetic_new();
    s.nodes = s.ranks = 2;
    add(&s, COLL_ALLREDUCE, 8, "3", 50);
    s.nodes = s.ranks = 3;
    add(&s, COLL_ALLREDUCE, 8, "4", 50);
    s.nodes = s.ranks = 8;
    add(&s, COLL_ALLREDUCE, 8, "6", 50);
    struct written w = write_rules(&s);
    static const long expected[] = {0, 0, 3, 4, 0, 0, 0, 0, 6, 0, 0};
    for (long ranks = 1; ranks <= 10; ranks++)
        assert_int_equal(algorithm(&w, 2, ranks, 8), expected[ranks]);
    finish(&s, &w);
}

TEST_CASE(sizes_below_the_smallest_measured_one)
{
    struct synthetic s = synthetic_new();
    add(&s, COLL_ALLREDUCE, 4096, "3", 50);
    struct written w = write_rules(&s);
    assert_int_equal(algorithm(&w, 2, 4, 4095), 0);
    assert_int_equal(algorithm(&w, 2, 4, 4096), 3);
    finish(&s, &w);
}

/* Four ranks on one node and on four: a rule stands where both chose the same. */
TEST_CASE(placements_must_agree)
{
    struct synthetic s = synthetic_new();
    s.nodes = 1;
    add(&s, COLL_ALLREDUCE, 8, "3", 50);
    add(&s, COLL_ALLREDUCE, 128, "3", 50);
    s.nodes = 4;
    add(&s, COLL_ALLREDUCE, 8, "3", 50);
    add(&s, COLL_ALLREDUCE, 128, "4", 50);
    struct written w = write_rules(&s);
    assert_int_equal(algorithm(&w, 2, 4, 8), 3);
    assert_int_equal(algorithm(&w, 2, 4, 128), 0);
    finish(&s, &w);
}

TEST_CASE(every_collective_by_its_number)
{
    static const struct {
        int coll;
        long id;
    } table[] = {{COLL_BROADCAST, 7}, {COLL_ALLGATHER, 0}, {COLL_REDUCESCATTER, 12}, {COLL_ALLREDUCE, 2}};
    struct synthetic s = synthetic_new();
    for (size_t i = 0; i < 4; i++)
        add(&s, table[i].coll, 8, "2", 50);
    struct written w = write_rules(&s);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(algorithm(&w, table[i].id, 4, 8), 2);
    /* the chain broadcast takes its fan-out from the rule */
    assert_int_equal(ompi_lookup(w.text, 7, 4, 8).fanout, 4);
    assert_int_equal(ompi_lookup(w.text, 2, 4, 8).fanout, 0);
    finish(&s, &w);
}

TEST_CASE(nothing_decided_is_an_empty_table)
{
    struct synthetic s = synthetic_new();
    add(&s, COLL_ALLREDUCE, 8, "3", 150);
    struct written w = write_rules(&s);
    assert_int_equal(w.rules.ncolls, 0);
    assert_int_equal(algorithm(&w, 2, 4, 8), 0);
    finish(&s, &w);
}

TEST_CASE(segments_are_written)
{
    struct synthetic s = synthetic_new();
    add(&s, COLL_ALLREDUCE, 8, "5", 50);
    struct bench_setting both[] = {{"coll_tuned_allreduce_algorithm", "5"},
                                   {"coll_tuned_allreduce_algorithm_segmentsize", "65536"}};
    s.points.items[0].candidates[1].call = (struct bench_knobs){"segmented_ring/64K", both, 2};
    struct written w = write_rules(&s);
    struct found found = ompi_lookup(w.text, 2, 4, 8);
    assert_int_equal(found.algorithm, 5);
    assert_int_equal(found.segment, 65536);
    finish(&s, &w);
}

TEST_CASE(settings_without_a_place_in_the_file_are_refused)
{
    static const struct bench_setting hostile[] = {
        {"coll_tuned_allreduce_algorithm", "3 0 0\n99"},
        {"coll_tuned_allreduce_algorithm", "-3"},
        {"coll_tuned_allreduce_algorithm", "99999999999999"},
        {"coll_tuned_allreduce_algorithm", ""},
        {"coll_tuned_bcast_algorithm", "3"},
        {"coll_tuned_allreduce_algorithm_knomial_radix", "4"},
        {"btl_tcp_if_include", "eth0"},
        {"coll", "3"},
    };
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        struct synthetic s = synthetic_new();
        struct env_rules rules;
        struct err e = {0};
        add(&s, COLL_ALLREDUCE, 8, "3", 50);
        s.points.items[0].candidates[1].call = (struct bench_knobs){"x", &hostile[i], 1};
        struct env_decisions *d = synthetic_decide(&s);
        assert_int_equal(env_rules_of(d, &rules, &e), ERR_FAILED);
        assert_non_null(strstr(e.text, hostile[i].name));
        env_decisions_free(d);
        arena_free(s.arena);
    }
}

TEST_CASE(find_says_what_the_file_says)
{
    struct synthetic s = synthetic_new();
    add(&s, COLL_ALLREDUCE, 8, "3", 50);
    add(&s, COLL_ALLREDUCE, 128, "4", 50);
    struct written w = write_rules(&s);
    const char *name = NULL;
    for (uint64_t bytes = 0; bytes < 300; bytes++) {
        const struct env_rule *rule = env_rules_find(&w.rules, COLL_ALLREDUCE, 4, bytes, &name);
        assert_non_null(rule);
        assert_int_equal(rule->algorithm, algorithm(&w, 2, 4, (long)bytes));
    }
    assert_string_equal(name, "allreduce");
    assert_null(env_rules_find(&w.rules, COLL_ALLREDUCE, 5, 8, &name));
    assert_null(env_rules_find(&w.rules, COLL_BROADCAST, 4, 8, &name));
    finish(&s, &w);
}

TEST_CASES(test_openmpi_rules)
