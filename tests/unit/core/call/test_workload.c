/* core/call/workload.c: reading what is right, naming the place of what is wrong. */
#include "core/call/workload.h"
#include "tests/lib/unit.h"

#define HEAD "{\"format\": \"nccltune-workload/1\", \"ranks\": 16, \"ranks_per_node\": 8, \"phases\": ["

static struct workload *parse(const char *text, struct err *e)
{
    return workload_parse(text, strlen(text), "w.json", e);
}

TEST_CASE(hand_written_file)
{
    struct err e = {0};
    struct workload *w = workload_load("tests/fixtures/workload/hand.json", &e);
    assert_non_null(w);
    assert_string_equal(w->name, "by hand");
    assert_int_equal(w->ranks, 16);
    assert_int_equal(w->ranks_per_node, 8);
    assert_false(w->per_run);
    assert_int_equal(w->nphases, 2);
    assert_near(w->phases[0].compute_us, 180000, 0);
    assert_near(w->phases[1].compute_us, -1, 0);
    const struct workload_call *c = w->phases[0].calls;
    assert_int_equal(w->phases[0].ncalls, 2);
    assert_int_equal(c[0].kind, COLL_ALLREDUCE);
    assert_int_equal(c[0].bytes, 26214400);
    assert_near(c[0].count, 12.5, 0);
    assert_int_equal(c[0].group_size, 16);
    assert_int_equal(c[0].place, WORKLOAD_CLUSTER);
    assert_near(c[0].overlap_us, 900, 0);
    assert_int_equal(c[1].kind, COLL_ALLTOALL);
    assert_int_equal(c[1].place, WORKLOAD_NODE);
    assert_int_equal(c[1].stride, 2);
    assert_null(c[1].dtype);
    assert_near(c[1].overlap_us, -1, 0);
    c = w->phases[1].calls;
    assert_int_equal(c[0].kind, COLL_BROADCAST);
    assert_int_equal(c[0].algo, ALGO_RING);
    assert_int_equal(c[0].proto, PROTO_LL128);
    assert_int_equal(c[0].channels, 16);
    assert_near(c[0].time_us, 812.5, 0);
    assert_near(workload_bytes(w, NULL, -1), 12.5 * 26214400 + 4.0 * 1048576 + 67108864, 0);
    assert_near(workload_bytes(w, &w->phases[0], COLL_ALLTOALL), 4.0 * 1048576, 0);
    workload_free(w);
}

TEST_CASE(errors_name_the_place)
{
    static const struct {
        const char *text, *expected;
    } wrong[] = {
        {"", "w.json:1:1"},
        {"{\"format\": \"nccltune-workload/2\"}", "nccltune-workload/1"},
        {"{\"format\": \"nccltune-workload/1\", \"phases\": []}", "w.json: ranks: expected a whole number"},
        {"{\"format\": \"nccltune-workload/1\", \"ranks\": 2}", "phases: expected an array"},
        {"{\"format\": \"nccltune-workload/1\", \"ranks\": 2, \"counts_per\": \"day\", \"phases\": []}",
         "counts_per: expected one of \"step\", \"run\""},
        {"{\"format\": \"nccltune-workload/1\", \"ranks\": 2, \"name\": 7, \"phases\": []}",
         "w.json: name: expected text"},
        {"{\"format\": \"nccltune-workload/1\", \"ranks\": 2, \"source\": 7, \"phases\": []}", "source: expected text"},
        {"{\"format\": \"nccltune-workload/1\", \"ranks\": 2, \"model\": [], \"phases\": []}", "model: expected text"},
        {"{\"format\": \"nccltune-workload/1\", \"ranks\": 2, \"framework\": 1, \"phases\": []}",
         "framework: expected text"},
        {HEAD "{\"name\": \"a\"}]}", "phases[0].collectives: expected an array"},
        {HEAD "{\"name\": 7, \"collectives\": []}]}", "phases[0].name: expected text"},
        {HEAD "{\"name\": \"a\", \"collectives\": []}, 3]}", "phases[1]: expected an object"},
        {HEAD "{\"name\": \"a\", \"collectives\": [{\"collective\": \"allreduces\"}]}]}",
         "phases[0].collectives[0].collective: expected one of \"broadcast\", "},
        {HEAD "{\"name\": \"a\", \"collectives\": [{\"collective\": \"allreduce\", \"count\": 0, \"bytes\": 8, "
              "\"group_size\": 4}]}]}",
         "phases[0].collectives[0].count: expected a number above 0"},
        {HEAD "{\"name\": \"a\", \"collectives\": [{\"collective\": \"reduce\", \"count\": 1, \"bytes\": 1.5}]}]}",
         "phases[0].collectives[0].bytes: expected a whole number"},
        {HEAD "{\"name\": \"a\", \"collectives\": [{\"collective\": \"reduce\", \"count\": 1, \"bytes\": -4}]}]}",
         "phases[0].collectives[0].bytes"},
        {HEAD "{\"name\": \"a\", \"collectives\": [{\"collective\": \"reduce\", \"count\": 1, \"bytes\": 8, "
              "\"group_size\": 17}]}]}",
         "group_size: expected a whole number from 2 to 16"},
        {HEAD "{\"name\": \"a\", \"collectives\": [{\"collective\": \"reduce\", \"count\": 1, \"bytes\": 8, "
              "\"group_size\": 4, \"placement\": \"rack\"}]}]}",
         "placement: expected one of \"node\", \"cluster\""},
        {HEAD "{\"name\": \"a\", \"collectives\": [{\"collective\": \"reduce\", \"count\": 1, \"bytes\": 8, "
              "\"group_size\": 4, \"overlap_us\": -1}]}]}",
         "overlap_us: expected a number from 0"},
        {HEAD "{\"name\": \"a\", \"collectives\": [{\"collective\": \"reduce\", \"count\": 1, \"bytes\": 8, "
              "\"group_size\": 4, \"algorithm\": \"rings\"}]}]}",
         "algorithm: expected one of \"tree\""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct err e = {0};
        assert_null(parse(wrong[i].text, &e));
        assert_int_equal(e.code, ERR_FAILED);
        if (!strstr(e.text, wrong[i].expected))
            fail_msg("case %zu says '%s', expected '%s'", i, e.text, wrong[i].expected);
    }
    struct err e = {0};
    assert_null(workload_load("tests/fixtures/workload", &e));
    assert_int_equal(e.code, ERR_FAILED);
    assert_null(workload_load("tests/fixtures/workload/none.json", &e));
}

TEST_CASE(empty)
{
    struct workload *w = workload_new();
    assert_int_equal(w->ranks, 1);
    assert_int_equal(w->ranks_per_node, 1);
    assert_near(workload_add_phase(w, "x")->compute_us, -1, 0);
    assert_near(workload_bytes(w, NULL, -1), 0, 0);
    workload_free(w);
    workload_free(NULL);
}

TEST_CASE(unknown_fields_are_ignored)
{
    struct err e = {0};
    struct workload *w = parse("{\"format\": \"nccltune-workload/1.7\", \"ranks\": 2, \"mood\": {}, \"phases\": "
                               "[{\"name\": \"x\", \"weather\": 1, \"collectives\": []}]}",
                               &e);
    assert_non_null(w);
    assert_int_equal(w->ranks_per_node, 2);
    workload_free(w);
}

TEST_CASE(nodes_of_a_group)
{
    struct workload w = {.ranks = 64, .ranks_per_node = 8};
    struct workload_call c = {.group_size = 8, .stride = 1, .place = WORKLOAD_NODE};
    assert_int_equal(workload_call_nodes(&w, &c), 1);
    c.place = WORKLOAD_CLUSTER;
    c.group_size = 64;
    assert_int_equal(workload_call_nodes(&w, &c), 8);
    c.group_size = 8;
    c.stride = 8;
    assert_int_equal(workload_call_nodes(&w, &c), 8);
    c.stride = 4;
    assert_int_equal(workload_call_nodes(&w, &c), 4);
    c.group_size = 5;
    c.stride = 4;
    assert_int_equal(workload_call_nodes(&w, &c), 3);
    c.group_size = 8;
    c.stride = 1; /* across a node's end */
    assert_int_equal(workload_call_nodes(&w, &c), 2);
    w.ranks_per_node = 0; /* not said: one */
    assert_int_equal(workload_call_nodes(&w, &c), 8);
    w.ranks_per_node = 8;
    c.group_size = 2;
    c.stride = 32;
    assert_int_equal(workload_call_nodes(&w, &c), 2);
}

TEST_CASES(test_workload)
