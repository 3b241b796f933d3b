/* manifest.json: the hash that sha256sum would give, and what is refused. */
#include "core/json.h"
#include "envgen/profile/profile.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

#define HASH_A "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" /* of "a" */
#define HASH_B "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d" /* of "b" */

static struct env_manifest example(struct arena *a)
{
    struct env_manifest m = {.tool = "0.1.0", .created = "2026-01-31T12:00:00Z", .topology = "abc", .nfiles = 2};
    m.files = arena_alloc(a, 2 * sizeof *m.files);
    m.files[0] = (struct env_manifest_file){.name = "tuner.csv", .sha256 = HASH_B, .bytes = 1};
    m.files[1] = (struct env_manifest_file){.name = "nccl.conf", .sha256 = HASH_A, .bytes = 1};
    m.libraries = arena_alloc(a, sizeof *m.libraries);
    m.libraries[0] = "Open MPI 4.1.4";
    m.nlibraries = 1;
    env_manifest_hash(&m);
    return m;
}

TEST_CASE(hash_is_that_of_sha256sum)
{
    struct scratch dir = scratch_new();
    struct env_manifest m = example(dir.arena);
    int code;
    scratch_write(&dir, "nccl.conf", "a", 1);
    scratch_write(&dir, "tuner.csv", "b", 1);
    char *sum = scratch_run(
        &dir, arena_printf(dir.arena, "cd '%s' && sha256sum nccl.conf tuner.csv | sha256sum", dir.dir), &code);
    assert_int_equal(code, 0);
    assert_memory_equal(m.hash, sum, 64);
    assert_string_equal(m.files[0].name, "nccl.conf");
    scratch_free(&dir);
}

static char *text_of(struct scratch *dir)
{
    struct env_manifest m = example(dir->arena);
    cJSON *doc = env_manifest_json(&m);
    char *text = cJSON_PrintUnformatted(doc), *copy = arena_strdup(dir->arena, text);
    cJSON_free(text);
    cJSON_Delete(doc);
    return copy;
}

TEST_CASE(there_and_back)
{
    struct scratch dir = scratch_new();
    struct env_manifest m;
    struct err e = {0};
    char *text = text_of(&dir);
    scratch_write(&dir, "manifest.json", text, strlen(text));
    assert_int_equal(env_manifest_load(dir.dir, dir.arena, &m, &e), 0);
    assert_int_equal(m.nfiles, 2);
    assert_string_equal(m.files[1].name, "tuner.csv");
    assert_string_equal(m.files[1].sha256, HASH_B);
    assert_string_equal(m.libraries[0], "Open MPI 4.1.4");
    assert_string_equal(m.hash, example(dir.arena).hash);
    scratch_free(&dir);
}

TEST_CASE(what_was_changed_is_refused)
{
    static const char *const changes[][2] = {
        {"nccltune-manifest/1", "nccltune-manifest/2"},
        {"\"complete\":true", "\"complete\":false"},
        {"\"complete\":true", "\"complete\":1"},
        {"\"files\":[", "\"files\":[],\"x\":["},
        {"\"files\":[", "\"files\":3,\"x\":["},
        {"nccl.conf", "other.conf"},
        {"nccl.conf", "../nccl.conf"},
        {"nccl.conf", ".nccl.conf"},
        {"nccl.conf", "a/b"},
        {"nccl.conf", "manifest.json"},
        {"nccl.conf", "nccl conf"},
        {"nccl.conf", "tuner.csv"},
        {HASH_A, HASH_B},
        {HASH_A, "CA978112"},
        {HASH_A, ""},
        {"\"bytes\":1", "\"bytes\":-1"},
        {"\"hash\":\"", "\"hash\":\"0"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct scratch dir = scratch_new();
        struct env_manifest m;
        struct err e = {0};
        char *text = text_of(&dir), *at = strstr(text, changes[i][0]);
        assert_non_null(at);
        const char *changed =
            arena_printf(dir.arena, "%.*s%s%s", (int)(at - text), text, changes[i][1], at + strlen(changes[i][0]));
        scratch_write(&dir, "manifest.json", changed, strlen(changed));
        assert_int_equal(env_manifest_load(dir.dir, dir.arena, &m, &e), ERR_FAILED);
        assert_non_null(strstr(e.text, "manifest.json"));
        scratch_free(&dir);
    }
}

TEST_CASE(names)
{
    static const char *const good[] = {"nccl.conf", "nccl.d/class0.conf", "a", "x-1_2.csv"};
    static const char *const bad[] = {"",         "nccl.d/", "nccl.d/../x",   "nccl.d/a/b",           "nccl.d/.x",
                                      "other/x",  "/etc/x",  "manifest.json", "nccl.d/manifest.json", "a b",
                                      "nccl.d//x"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(env_manifest_name_ok(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(env_manifest_name_ok(bad[i]));
}

TEST_CASES(test_manifest)
