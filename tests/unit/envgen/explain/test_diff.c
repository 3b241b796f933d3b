/* What differs between two profiles made from hand-written results, and between two releases. */
#include "core/json.h"
#include "envgen/explain/explain.h"
#include "envgen/generate/generate.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

#define FIXTURES "tests/fixtures/envgen"

static const struct env_change *find(const struct env_diff *d, const char *kind, const char *what)
{
    for (int i = 0; i < d->count; i++)
        if (!strcmp(d->changes[i].kind, kind) && strstr(d->changes[i].what, what))
            return &d->changes[i];
    return NULL;
}

static struct env_profile *make(struct scratch *s, const char *name, int nresults, int low, double margin)
{
    static const char *const results[] = {FIXTURES "/results.jsonl", FIXTURES "/more.jsonl"};
    struct env_generate g = {.topology = FIXTURES "/topology.json",
                             .results = results,
                             .nresults = nresults,
                             .margin = margin,
                             .nccl_low = low,
                             .nccl_high = low,
                             .out = scratch_path(s, name)};
    struct err e = {0};
    assert_int_equal(env_generate(&g, NULL, NULL, &e), 0);
    return env_profile_open(g.out, &e);
}

TEST_CASE(profiles)
{
    struct scratch s = scratch_new();
    struct env_profile *x = make(&s, "x", 1, 22105, ENV_MARGIN), *y = make(&s, "y", 2, 22809, 10);
    struct env_diff d = env_diff_profiles(x, y, s.arena);
    const struct env_change *c = find(&d, "releases", "");
    assert_non_null(c);
    assert_string_equal(c->before, "NCCL 2.21.5 to 2.21.5");
    c = find(&d, "setting", "btl_tcp_if_include"); /* a margin of 1,000 % lets nothing through */
    assert_non_null(c);
    assert_string_equal(c->before, "ib3");
    assert_string_equal(c->after, "not set");
    c = find(&d, "launch", "mpi on 1 node, 2 ranks");
    assert_non_null(c);
    assert_string_equal(c->before, "not measured");
    c = find(&d, "call", "allreduce of");
    assert_non_null(c);
    assert_non_null(strstr(c->before, "coll_tuned_allreduce_algorithm="));
    assert_string_equal(c->after, "the library's own choice");
    cJSON *doc = env_diff_json(&d);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(doc, "changes")), d.count);
    cJSON_Delete(doc);
    d = env_diff_profiles(x, x, s.arena);
    assert_int_equal(d.count, 0);
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    env_diff_print(&d, out);
    fclose(out);
    assert_non_null(strstr(text, "Nothing is different."));
    free(text);
    env_profile_free(x);
    env_profile_free(y);
    scratch_free(&s);
}

TEST_CASE(releases)
{
    struct arena *a = arena_new();
    struct env_diff d = env_diff_releases(22105, 22809, a);
    const struct env_change *timeout = find(&d, "default", "NCCL_IB_TIMEOUT"), *policy;
    assert_non_null(timeout); /* 18 until 2.23, 20 from then on */
    assert_string_equal(timeout->before, "18");
    assert_string_equal(timeout->after, "20");
    policy = find(&d, "default", "NCCL_CTA_POLICY");
    assert_non_null(policy);
    assert_string_equal(policy->before, "not read");
    assert_null(find(&d, "default", "NCCL_IB_HCA"));
    d = env_diff_releases(22809, 22809, a);
    assert_int_equal(d.count, 0);
    arena_free(a);
}

TEST_CASES(test_diff)
