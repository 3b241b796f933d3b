/* What explain says about a profile made from hand-written results. */
#include "core/coll.h"
#include "core/json.h"
#include "envgen/explain/explain_internal.h"
#include "envgen/generate/generate.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

#define FIXTURES "tests/fixtures/envgen"

static struct scratch s;
static struct env_profile *profile;

static int make(void **state)
{
    static const char *const results[] = {FIXTURES "/results.jsonl"};
    s = scratch_new();
    struct env_generate g = {
        .topology = FIXTURES "/topology.json", .results = results, .nresults = 1, .margin = ENV_MARGIN, .out = s.dir};
    if (!env_generate(&g, NULL, NULL, NULL))
        profile = env_profile_open(s.dir, NULL);
    return !profile;
}

static int drop(void **state)
{
    env_profile_free(profile);
    scratch_free(&s);
    return 0;
}

static char *ask(struct env_question q)
{
    char *text;
    size_t bytes;
    struct err e = {0};
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(env_explain(profile, &q, out, &e), 0);
    fclose(out);
    char *copy = arena_strdup(s.arena, text);
    free(text);
    return copy;
}

static void expect(const char *text, const char *const *parts)
{
    for (; *parts; parts++)
        if (!strstr(text, *parts))
            fail_msg("'%s' is missing in:\n%s", *parts, text);
}

TEST_CASE(the_whole)
{
    static const char *const said[] = {"btl_tcp_if_include = ib3",
                                       "NCCL_SOCKET_IFNAME = =eth0",
                                       "Open MPI 4.1.4 on 4 nodes, 4 ranks",
                                       "allreduce",
                                       "recursive_doubling",
                                       "above ",
                                       "altogether",
                                       BENCH_HOST_MEMORY,
                                       NULL};
    expect(ask((struct env_question){.coll = -1}), said);
}

TEST_CASE(one_variable)
{
    static const char *const set[] = {"btl_tcp_if_include = ib3", "4.00x", "4 nodes", BENCH_HOST_MEMORY, NULL};
    static const char *const unset[] = {"NCCL_ALGO is not set", "the library's default", NULL};
    static const char *const topology[] = {"=eth0", "topology:", "cni0", NULL};
    expect(ask((struct env_question){.coll = -1, .variable = "btl_tcp_if_include"}), set);
    expect(ask((struct env_question){.coll = -1, .variable = "OMPI_MCA_btl_tcp_if_include"}), set);
    expect(ask((struct env_question){.coll = -1, .variable = "NCCL_ALGO"}), unset);
    expect(ask((struct env_question){.coll = -1, .variable = "NCCL_SOCKET_IFNAME"}), topology);
    assert_null(strstr(ask((struct env_question){.coll = -1, .variable = "NCCL_SOCKET_IFNAME"}), BENCH_HOST_MEMORY));
}

TEST_CASE(a_variable_that_is_none)
{
    struct err e = {0};
    assert_int_equal(env_explain_check(profile, "NCCL_IB_HCAA", &e), ERR_USAGE);
    assert_non_null(strstr(e.text, "did you mean NCCL_IB_HCA?"));
    assert_int_equal(env_explain_check(profile, "NCCL_IB_HCA", &e), 0);
    assert_int_equal(env_explain_check(profile, "btl_tcp_if_include", &e), 0);
}

/* The fastest six, what is used and the default; failed ones last. */
TEST_CASE(candidates_by_gain)
{
    struct env_option options[12] = {0};
    for (int i = 0; i < 12; i++)
        options[i] = (struct env_option){.call.label = "c", .gain = {0.5 + 0.1 * i, 0, 0, 9, 0, NULL}};
    options[11].status = BENCH_CRASHED;
    const struct env_point p = {.options = options, .noptions = 12, .fallback = 0, .chosen = 2};
    const struct env_option *sorted[13];
    assert_int_equal(explain_told(&p, sorted), 8);
    const int order[] = {10, 9, 8, 7, 6, 5, 2, 0, 4, 3, 1, 11};
    for (int i = 0; i < 12; i++)
        assert_int_equal(sorted[i] - options, order[i]);
}

TEST_CASE(one_call)
{
    static const char *const ring[] = {"used: ring: coll_tuned_allreduce_algorithm=4",
                                       "communicators of 4 ranks, from 32768 bytes: algorithm 4",
                                       "within launch: ib3",
                                       "evidence at 8 MiB",
                                       "* ring",
                                       "results.jsonl:",
                                       "together with the launch",
                                       BENCH_HOST_MEMORY,
                                       "NCCL: not measured",
                                       NULL};
    static const char *const kept[] = {"used: default", "rule: none",
                                       "nothing is proven to be faster than the baseline", NULL};
    static const char *const never[] = {"not measured: the library's own choice", NULL};
    static const char *const beyond[] = {"used: default", "beyond the largest measured size", "rule: none", NULL};
    expect(ask((struct env_question){.coll = COLL_ALLREDUCE, .bytes = 8 << 20, .nodes = 4, .ranks = 4}), ring);
    expect(ask((struct env_question){.coll = COLL_ALLREDUCE, .bytes = 64 << 20, .nodes = 4, .ranks = 4}), beyond);
    expect(ask((struct env_question){.coll = COLL_BROADCAST, .bytes = 64}), kept);
    expect(ask((struct env_question){.coll = COLL_REDUCE, .bytes = 64}), never);
}

TEST_CASE(a_shape_that_was_not_measured)
{
    static const char *const said[] = {"was not measured", "4 nodes, 4 ranks", NULL};
    char *text = ask((struct env_question){.coll = COLL_ALLREDUCE, .bytes = 1 << 20, .nodes = 2, .ranks = 16});
    expect(text, said);
    assert_null(strstr(text, "used:"));
}

TEST_CASE(as_json)
{
    struct err e = {0};
    struct env_question call = {.coll = COLL_ALLREDUCE, .bytes = 8 << 20, .nodes = 4, .ranks = 4};
    cJSON *doc = env_explain_json(profile, &call, &e);
    const cJSON *shapes = cJSON_GetObjectItem(doc, "shapes"), *rules = cJSON_GetObjectItem(doc, "rules");
    assert_int_equal(cJSON_GetArraySize(shapes), 1);
    const cJSON *colls = cJSON_GetObjectItem(cJSON_GetArrayItem(shapes, 0), "collectives");
    assert_int_equal(cJSON_GetArraySize(colls), 1);
    const cJSON *ranges = cJSON_GetObjectItem(cJSON_GetArrayItem(colls, 0), "ranges");
    assert_int_equal(cJSON_GetArraySize(ranges), 1);
    assert_int_equal(json_int(cJSON_GetArrayItem(ranges, 0), "min_bytes", -1), 32768);
    assert_int_equal(cJSON_GetArraySize(rules), 1);
    assert_int_equal(json_int(cJSON_GetArrayItem(rules, 0), "algorithm", -1), 4);
    assert_string_equal(json_str(doc, "hash", ""), profile->manifest.hash);
    cJSON_Delete(doc);

    struct env_question variable = {.coll = -1, .variable = "btl_tcp_if_include"};
    doc = env_explain_json(profile, &variable, &e);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(doc, "settings")), 1);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(doc, "shapes")), 0);
    assert_null(cJSON_GetObjectItem(doc, "catalogue"));
    cJSON_Delete(doc);

    struct env_question all = {.coll = -1};
    doc = env_explain_json(profile, &all, &e);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(doc, "shapes")), 1);
    assert_non_null(cJSON_GetObjectItem(doc, "host_memory"));
    cJSON_Delete(doc);
}

/* The document that answers for a variable of NCCL's. */
static cJSON *catalogued(const char *name, const cJSON **entry)
{
    struct err e = {0};
    struct env_question q = {.coll = -1, .variable = name};
    cJSON *doc = env_explain_json(profile, &q, &e);
    *entry = cJSON_GetObjectItem(doc, "catalogue");
    assert_non_null(*entry);
    return doc;
}

TEST_CASE(a_variable_has_its_catalogue_entry)
{
    const cJSON *o;
    cJSON *doc = catalogued("NCCL_IB_TIMEOUT", &o);
    const cJSON *defaults = cJSON_GetObjectItem(o, "defaults"), *in = cJSON_GetObjectItem(o, "in_releases");
    assert_string_equal(json_str(o, "name", ""), "NCCL_IB_TIMEOUT");
    assert_string_equal(json_str(o, "kind", ""), "int");
    assert_string_equal(json_str(o, "scope", ""), "process");
    assert_int_equal(cJSON_GetArraySize(defaults), 3);
    assert_string_equal(json_str(cJSON_GetArrayItem(defaults, 2), "since", ""), "2.23.4");
    assert_string_equal(json_str(cJSON_GetArrayItem(defaults, 2), "value", ""), "20");
    assert_int_equal(cJSON_GetArraySize(in), 2);
    assert_string_equal(json_str(cJSON_GetArrayItem(in, 0), "nccl", ""), "2.19.0");
    assert_string_equal(json_str(cJSON_GetArrayItem(in, 0), "default", ""), "18");
    assert_string_equal(json_str(cJSON_GetArrayItem(in, 1), "default", ""), "20");
    cJSON_Delete(doc);

    static const char *const earlier[] = {"without it, NCCL 2.20.5 takes: 18", NULL};
    expect(ask((struct env_question){.coll = -1, .variable = "NCCL_IB_TIMEOUT", .nccl = 22005}), earlier);

    assert_null(strstr(ask((struct env_question){.coll = -1, .variable = "NCCL_IB_TIMEOUT", .nccl = 22005}), "known"));
    static const char *const later[] = {"(the newest known release is 2.", NULL};
    expect(ask((struct env_question){.coll = -1, .variable = "NCCL_IB_TIMEOUT", .nccl = 90000}), later);

    doc = catalogued("NCCL_TREE_THRESHOLD", &o);
    in = cJSON_GetObjectItem(o, "in_releases");
    assert_false(json_bool(cJSON_GetArrayItem(in, 0), "read", 1));
    assert_null(cJSON_GetObjectItem(cJSON_GetArrayItem(in, 0), "default"));
    assert_string_not_equal(json_str(o, "last", ""), "");
    cJSON_Delete(doc);

    doc = catalogued("NCCL_ASYNC_ERROR_HANDLING", &o);
    assert_string_equal(json_str(o, "belongs_to", ""), "PyTorch");
    assert_null(cJSON_GetObjectItem(o, "defaults"));
    cJSON_Delete(doc);
}

TEST_CASES_WITHIN(test_explain, make, drop)
