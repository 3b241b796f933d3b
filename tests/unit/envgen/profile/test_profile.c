/* A finished profile read back: whole, tampered with, and not finished at all. */
#include <sys/stat.h>

#include "envgen/generate/generate.h"
#include "envgen/profile/profile.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

#define FIXTURES "tests/fixtures/envgen"

static struct scratch s;

static int make(void **state)
{
    static const char *const results[] = {FIXTURES "/results.jsonl"};
    s = scratch_new();
    struct env_generate g = {
        .topology = FIXTURES "/topology.json", .results = results, .nresults = 1, .margin = ENV_MARGIN, .out = s.dir};
    return env_generate(&g, NULL, NULL, NULL);
}

static int drop(void **state)
{
    scratch_free(&s);
    return 0;
}

static void expect_error(const char *dir, const char *what)
{
    struct err e = {0};
    assert_null(env_profile_open(dir, &e));
    assert_int_equal(e.code, ERR_FAILED);
    assert_non_null(strstr(e.text, what));
}

TEST_CASE(opens)
{
    struct err e = {0};
    struct env_profile *p = env_profile_open(s.dir, &e);
    assert_non_null(p);
    assert_string_equal(p->dir, s.dir);
    assert_int_equal(env_profile_complete(s.dir), 1);
    env_profile_free(p);
}

TEST_CASE(every_file_is_watched)
{
    static const char *const names[] = {
        "decisions.json", "nccl.conf",  "nccl.sh",       "openmpi.rules", "openmpi-mca-params.conf",
        "results.jsonl",  "openmpi.sh", "topology.json", "tuner.csv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = scratch_path(&s, names[i]);
        char *text = scratch_read(&s, path);
        scratch_write(&s, names[i], "tampered\n", 9);
        expect_error(s.dir, path);
        assert_int_equal(unlink(path), 0);
        expect_error(s.dir, path);
        assert_int_equal(mkdir(path, 0777), 0);
        expect_error(s.dir, path);
        assert_int_equal(rmdir(path), 0);
        scratch_write(&s, names[i], text, strlen(text));
    }
    opens(state);
}

TEST_CASE(a_manifest_that_points_elsewhere)
{
    char *text = scratch_read(&s, scratch_path(&s, "manifest.json"));
    char *at = strstr(text, "nccl.conf");
    const char *evil = arena_printf(s.arena, "%.*s/etc/hosts%s", (int)(at - text), text, at + strlen("nccl.conf"));
    scratch_write(&s, "manifest.json", evil, strlen(evil));
    expect_error(s.dir, "/etc/hosts");
}

TEST_CASE(broken_manifests)
{
    static const char *const texts[] = {"", "{}", "not json", "[[[[", "{\"format\":\"nccltune-manifest/9\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        scratch_write(&s, "manifest.json", texts[i], strlen(texts[i]));
        expect_error(s.dir, "manifest.json");
    }
}

TEST_CASE(no_profile)
{
    expect_error("/nowhere/at/all", "/nowhere/at/all");
    expect_error(scratch_path(&s, "nccl.conf"), "expected a profile");
    assert_int_equal(unlink(scratch_path(&s, "manifest.json")), 0);
    expect_error(s.dir, "incomplete profile");
    assert_int_equal(unlink(scratch_path(&s, "results.jsonl")), 0);
    expect_error(s.dir, "not a profile directory");
    assert_int_equal(env_profile_complete(s.dir), 0);
}

TEST_CASES_EACH(test_profile, make, drop)
