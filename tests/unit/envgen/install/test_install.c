/* Installing, going back, taking away: what lies where afterwards, and what is refused. */
#include <sys/stat.h>

#include "core/file.h"
#include "core/json.h"
#include "envgen/generate/generate.h"
#include "envgen/install/install.h"
#include "envgen/profile/profile.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

#define FIXTURES "tests/fixtures/envgen"
#define OWN      "# the site's own\nNCCL_DEBUG=WARN"

static struct scratch s;
static struct install_site site;
static char plugin[4096];

static const char *generate(const char *name, double margin)
{
    static const char *const results[] = {FIXTURES "/results.jsonl"};
    struct err e = {0};
    const char *out = scratch_path(&s, name);
    int code;
    /* This host is the profile's. */
    scratch_run(&s,
                arena_printf(s.arena,
                             "sed 's/\"name\":[[:space:]]*\"[^\"]*\",\\([[:space:]]*\"class\":\\)/\"name\": "
                             "\"'$(hostname)'\",\\1/' " FIXTURES "/topology.json >%s/topology.json",
                             s.dir),
                &code);
    struct env_generate g = {
        .topology = scratch_path(&s, "topology.json"), .results = results, .nresults = 1, .margin = margin, .out = out};
    if (env_generate(&g, NULL, NULL, &e))
        fail_msg("%s", e.text);
    return out;
}

/* A rule as if NCCL had been measured, and a manifest that fits. */
static const char *with_rule(const char *profile)
{
    struct env_manifest m;
    struct err e = {0};
    const char *table = arena_printf(s.arena, "%s/tuner.csv", profile);
    FILE *f = fopen(table, "a");
    assert_non_null(f);
    fputs("allreduce,0,-1,tree,ll128,7,2,16\n", f);
    long bytes = ftell(f);
    fclose(f);
    assert_int_equal(env_manifest_load(profile, s.arena, &m, &e), 0);
    for (int i = 0; i < m.nfiles; i++)
        if (!strcmp(m.files[i].name, "tuner.csv")) {
            m.files[i].bytes = (uint64_t)bytes;
            assert_int_equal(file_sha256(table, m.files[i].sha256, &e), 0);
        }
    env_manifest_hash(&m);
    cJSON *doc = env_manifest_json(&m);
    assert_int_equal(json_save(doc, arena_printf(s.arena, "%s/" ENV_MANIFEST, profile), &e), 0);
    return profile;
}

static int set_up(void **state)
{
    s = scratch_new();
    site = (struct install_site){.arena = s.arena,
                                 .store = scratch_path(&s, "store"),
                                 .nccl_conf = scratch_write(&s, "nccl.conf", OWN, strlen(OWN)),
                                 .conf = INSTALL_CONF_ALL,
                                 .plugin = realpath("build/libnccl-tuner-nccltune.so", plugin) ? plugin : ""};
    return 0;
}

static int tear_down(void **state)
{
    scratch_free(&s);
    return 0;
}

static const char *text_of(const char *name)
{
    struct err e = {0};
    char *text;
    size_t bytes;
    return file_read(scratch_path(&s, name), 1 << 20, s.arena, &text, &bytes, &e) ? "" : text;
}

static const char *install(const char *profile, const struct install_scope *scope)
{
    struct install_done done;
    struct err e = {0};
    if (install_profile(&site, profile, scope, &done, &e))
        fail_msg("%s", e.text);
    const char *hash = arena_strdup(s.arena, done.hash);
    return hash;
}

TEST_CASE(installs)
{
    struct install_scope all = {0};
    struct err e = {0};
    const char *profile = with_rule(generate("profile", ENV_MARGIN)), *hash = install(profile, &all);
    struct env_profile *there = env_profile_open(scratch_path(&s, "store/current"), &e);
    assert_non_null(there);
    assert_string_equal(there->manifest.hash, hash);
    env_profile_free(there);
    assert_string_equal(text_of("store/tuner.csv"), text_of("profile/tuner.csv"));
    assert_non_null(strstr(text_of("store/schedule"), arena_printf(s.arena, " %s all\n", hash)));
    assert_int_equal(strncmp(text_of("nccl.conf"), OWN "\n# nccltune begin", strlen(OWN) + 17), 0);
    assert_non_null(strstr(text_of("nccl.conf"), arena_printf(s.arena, "\nNCCL_TUNER_PLUGIN=%s\n", plugin)));
    char table[SHA256_HEX];
    assert_int_equal(file_sha256(scratch_path(&s, "profile/tuner.csv"), table, &e), 0);
    assert_non_null(strstr(text_of("nccl.conf"), arena_printf(s.arena, "\nNCCLTUNE_HASH=%s\n", table)));
    /* Once more changes nothing but the schedule. */
    const char *conf = text_of("nccl.conf");
    install(profile, &all);
    assert_string_equal(text_of("nccl.conf"), conf);
    assert_int_equal(install_remove(&site, 1, 0, &e), 0);
    assert_string_equal(text_of("nccl.conf"), OWN);
    assert_int_equal(access(site.store, F_OK), -1);
}

/* Where hooks serve the node NCCL's file gets no more than what is the node's own, and by default nothing: what an
 * earlier release wrote there by default goes. */
TEST_CASE(hooks_and_file)
{
    struct install_scope all = {0};
    struct err e = {0};
    const char *profile = with_rule(generate("profile", ENV_MARGIN));
    install(profile, &all);
    assert_non_null(strstr(text_of("nccl.conf"), "NCCL_TUNER_PLUGIN"));
    site.conf = INSTALL_CONF_NODE;
    install(profile, &all);
    assert_null(strstr(text_of("nccl.conf"), "NCCL_TUNER_PLUGIN"));
    site.conf = INSTALL_CONF_ALL;
    install(profile, &all);
    site.conf = INSTALL_CONF_NOTHING;
    install(profile, &all);
    assert_string_equal(text_of("nccl.conf"), OWN);
    assert_int_equal(install_remove(&site, 1, 1, &e), 0); /* hooks would miss the schedule */
    assert_non_null(strstr(text_of("store/schedule"), " none all\n"));
    assert_int_equal(access(scratch_path(&s, "store/profiles"), F_OK), -1);
}

/* As where OpenMPI alone was measured. */
TEST_CASE(a_table_without_rules)
{
    struct install_scope all = {0};
    struct install_done done;
    struct err e = {0};
    if (install_profile(&site, generate("profile", 1e9), &all, &done, &e))
        fail_msg("%s", e.text);
    assert_int_equal(done.rules, 0);
    assert_null(strstr(done.nccl_conf, "and its table"));
    assert_null(strstr(text_of("nccl.conf"), "NCCL_TUNER_PLUGIN"));
}

/* A host that the profile does not know gets nothing in its file; nothing is there before the moment. */
TEST_CASE(strangers_and_later)
{
    struct install_scope later = {.since = 4000000000, .later = 1};
    struct install_done done;
    struct err e = {0};
    const char *profile = generate("profile", ENV_MARGIN);
    assert_int_equal(install_profile(&site, profile, &later, &done, &e), 0);
    assert_string_equal(text_of("nccl.conf"), OWN);
    assert_int_equal(access(scratch_path(&s, "store/current"), F_OK), -1);
    assert_non_null(strstr(text_of("store/schedule"), "4000000000 "));
    done.node_class = NULL;
    assert_int_equal(install_switch(&site, &done, &e), 0);
    assert_string_equal(text_of("nccl.conf"), OWN);
    assert_non_null(strstr(done.nccl_conf, "not in the profile"));
    assert_int_equal(install_unschedule(&site, done.hash, 4000000000, &e), 0);
    assert_null(strstr(text_of("store/schedule"), "4000000000 "));
}

/* A plugin that jobs would do without is refused before anything is changed. */
TEST_CASE(plugins)
{
    struct install_scope all = {0};
    struct install_done done;
    struct err e = {0};
    const char *profile = generate("profile", ENV_MARGIN);
    const char *const bad[] = {"/nosuch/lib.so", s.dir, scratch_write(&s, "text.so", "x", 1),
                               "/lib/x86_64-linux-gnu/libc.so.6"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        site.plugin = bad[i];
        e = (struct err){0};
        assert_int_not_equal(install_profile(&site, profile, &all, &done, &e), 0);
        assert_non_null(strstr(e.text, bad[i]));
    }
    assert_int_equal(access(scratch_path(&s, "store/schedule"), F_OK), -1);
    scratch_write(&s, "nccl.conf",
                  "NCCL_TUNER_PLUGIN=own\n# nccltune begin\nNCCL_TUNER_PLUGIN=/p/x.so\n# nccltune end\n", 81);
    assert_string_equal(install_plugin_before(scratch_path(&s, "nccl.conf"), s.arena), "/p/x.so");
}

/* What goes to a node on its standard input comes out as the same profile. */
TEST_CASE(bundles)
{
    struct err e = {0};
    const char *out = NULL;
    const char *profile = generate("profile", ENV_MARGIN), *path = scratch_path(&s, "bundle");
    if (install_pack(profile, path, &e) || install_unpack(path, s.dir, s.arena, &out, &e))
        fail_msg("%s", e.text);
    struct env_profile *p = env_profile_open(out, &e);
    assert_non_null(p);
    env_profile_free(p);
    const char *whole = text_of("bundle");
    size_t n = strlen(whole);
    static const char *const bad[] = {"", "nccltune-bundle/1\n../x 1\ny", "nccltune-bundle/1\n/etc/x 1\ny",
                                      "nccltune-bundle/1\na 99\ny", "nccltune-bundle/1\na b\ny"};
    for (size_t i = 0; i <= sizeof bad / sizeof *bad; i++) {
        const char *text = i < sizeof bad / sizeof *bad ? bad[i] : arena_strndup(s.arena, whole, n / 2);
        scratch_write(&s, "bundle", text, strlen(text));
        e = (struct err){0};
        if (!install_unpack(path, s.dir, s.arena, &out, &e))
            fail_msg("bundle %zu was taken", i);
    }
}

TEST_CASE(a_canary_changes_nothing_else)
{
    struct install_scope canary = {.partition = "debug"}, nodes = {.nodes = "n[1-4],m1"};
    const char *profile = generate("profile", ENV_MARGIN), *hash = install(profile, &canary);
    assert_string_equal(text_of("nccl.conf"), OWN);
    assert_int_equal(access(scratch_path(&s, "store/current"), F_OK), -1);
    assert_non_null(strstr(text_of("store/schedule"), arena_printf(s.arena, " %s partition=debug\n", hash)));
    install(profile, &nodes);
    assert_non_null(strstr(text_of("store/schedule"), arena_printf(s.arena, " %s nodes=n[1-4],m1\n", hash)));
}

TEST_CASE(bad_scopes)
{
    static const char *const bad[] = {"", "n[1", "n]1[", "n[]", "n 1", "n\n", "n;1", "[[1]]"};
    const char *profile = generate("profile", ENV_MARGIN);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct install_scope scope = {.nodes = bad[i]};
        struct install_done done;
        struct err e = {0};
        assert_int_equal(install_profile(&site, profile, &scope, &done, &e), ERR_USAGE);
    }
    assert_string_equal(text_of("store/schedule"), "");
}

TEST_CASE(back_and_forth)
{
    struct install_scope all = {0};
    struct install_done done;
    struct err e = {0};
    const char *first = install(with_rule(generate("first", ENV_MARGIN)), &all);
    assert_int_equal(install_previous(&site, &all, &done, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "no previous profile"));
    const char *second = install(with_rule(generate("second", 0.5)), &all);
    assert_string_not_equal(first, second);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(install_previous(&site, &all, &done, &e), 0);
        assert_string_equal(done.hash, i ? second : first);
        assert_non_null(strstr(text_of("nccl.conf"), done.dir));
    }
    assert_int_equal(install_remove(&site, 0, 0, &e), 0); /* the one before nothing is the one that there was */
    assert_int_equal(install_previous(&site, &all, &done, &e), 0);
    assert_string_equal(done.hash, second);
}

TEST_CASE(a_damaged_copy_is_made_anew)
{
    struct install_scope all = {0};
    struct err e = {0};
    const char *profile = generate("profile", ENV_MARGIN), *hash = install(profile, &all);
    const char *dir = arena_printf(s.arena, "store/profiles/%s", hash);
    scratch_write(&s, arena_printf(s.arena, "%s/tuner.csv", dir), "x", 1);
    install(profile, &all);
    struct env_profile *p = env_profile_open(scratch_path(&s, dir), &e);
    assert_non_null(p);
    env_profile_free(p);
}

TEST_CASE(refuses)
{
    struct install_scope all = {0};
    struct install_done done;
    struct err e = {0};
    assert_int_equal(install_profile(&site, s.dir, &all, &done, &e), ERR_FAILED);
    const char *profile = generate("profile", ENV_MARGIN);
    scratch_write(&s, "profile/tuner.csv", "changed", 7);
    assert_int_equal(install_profile(&site, profile, &all, &done, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "tuner.csv"));
    assert_int_equal(access(scratch_path(&s, "store/schedule"), F_OK), -1);
    /* What is no link of ours is not replaced by one. */
    profile = generate("other", ENV_MARGIN);
    install(profile, &all);
    unlink(scratch_path(&s, "store/tuner.csv"));
    scratch_write(&s, "store/tuner.csv", "mine", 4);
    assert_int_equal(install_profile(&site, profile, &all, &done, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "expected a symbolic link"));
    assert_int_equal(install_remove(&site, 1, 0, &e), 0);
    assert_string_equal(text_of("store/tuner.csv"), "mine");
}

TEST_CASES_EACH(test_install, set_up, tear_down)
