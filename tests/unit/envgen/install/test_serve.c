/* envgen/install/serve.c: more nodes for a profile: another profile by its hash, with the same table. */
#include <sys/stat.h>

#include "envgen/generate/generate.h"
#include "envgen/install/install.h"
#include "envgen/profile/profile.h"
#include "probe/topology/build.h"
#include "probe/topology/topology.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

#define FIXTURES "tests/fixtures/envgen"

static struct scratch s;
static const char *store;

static int set_up(void **state)
{
    static const char *const results[] = {FIXTURES "/results.jsonl"};
    struct err e = {0};
    s = scratch_new();
    store = scratch_path(&s, "store");
    struct env_generate g = {.topology = FIXTURES "/topology.json",
                             .results = results,
                             .nresults = 1,
                             .margin = ENV_MARGIN,
                             .out = scratch_path(&s, "profile")};
    if (env_generate(&g, NULL, NULL, &e))
        fail_msg("%s", e.text);
    return mkdir(store, 0755) || symlink(g.out, scratch_path(&s, "store/current"));
}

static int tear_down(void **state)
{
    scratch_free(&s);
    return 0;
}

/* The first node of the profile once more, under another name, and one that has nothing. */
static struct topology *probed(const char *name)
{
    struct err e = {0};
    struct topology *t = topo_load(FIXTURES "/topology.json", &e);
    assert_non_null(t);
    t->nhosts = 1;
    t->hosts[0].name = name;
    build_class(t, "bare");
    build_host(t, "bare0", t->nclasses - 1);
    return t;
}

static const char *hash_of(const struct env_profile *p, const char *name)
{
    for (int i = 0; i < p->manifest.nfiles; i++)
        if (!strcmp(p->manifest.files[i].name, name))
            return p->manifest.files[i].sha256;
    return "";
}

TEST_CASE(joins)
{
    struct err e = {0};
    struct cluster_served served;
    struct topology *t = probed("late7");
    const char *dir = scratch_path(&s, "more");
    assert_int_equal(install_extend(store, NULL, t, dir, &served, s.arena, &e), 0);
    assert_int_equal(served.joined, 1);
    assert_int_equal(served.out.n, 1);
    assert_string_equal(served.out.list[0].name, "bare0");
    struct env_profile *before = env_profile_open(scratch_path(&s, "profile"), &e);
    struct env_profile *now = env_profile_open(dir, &e);
    assert_non_null(now);
    assert_string_not_equal(now->manifest.hash, before->manifest.hash);
    assert_string_equal(now->manifest.topology, before->manifest.topology);
    assert_string_equal(hash_of(now, "tuner.csv"), hash_of(before, "tuner.csv"));
    assert_string_equal(hash_of(now, "nccl.conf"), hash_of(before, "nccl.conf"));
    topo_free(t);
    /* Once more, with what has come of it: nobody is lost. */
    t = probed("late8");
    assert_int_equal(install_extend(store, dir, t, scratch_path(&s, "most"), &served, s.arena, &e), 0);
    topo_free(t);
    t = topo_load(scratch_path(&s, "most/topology.json"), &e);
    assert_int_equal(t->nhosts, 3);
    assert_true(topo_find_host(t, "late7") > 0 && topo_find_host(t, "late8") > 0);
    assert_int_equal(t->hosts[topo_find_host(t, "late7")].served, 1);
    env_profile_free(before);
    env_profile_free(now);
    topo_free(t);
}

TEST_CASE(nobody_joins)
{
    struct err e = {0};
    struct cluster_served served;
    struct topology *t = probed("late7");
    const int bare = 1;
    struct topology *some = topo_select(t, &bare, 1);
    const char *dir = scratch_path(&s, "more");
    assert_int_equal(install_extend(store, scratch_path(&s, "profile"), some, dir, &served, s.arena, &e), 0);
    assert_int_equal(served.joined, 0);
    assert_int_equal(access(dir, F_OK), -1);
    topo_free(some);
    topo_free(t);
}

TEST_CASE(nothing_is_installed)
{
    struct err e = {0};
    struct cluster_served served;
    struct topology *t = probed("late7");
    assert_int_equal(install_extend("/nowhere", NULL, t, scratch_path(&s, "more"), &served, s.arena, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "no profile is installed"));
    topo_free(t);
}

TEST_CASES_EACH(test_serve, set_up, tear_down)
