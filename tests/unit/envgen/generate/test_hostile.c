/* Whatever names a topology has, the shell files set exactly the decided variables and run nothing. */
#include "core/json.h"
#include "envgen/generate/generate.h"
#include "envgen/profile/profile.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

#define FIXTURES "tests/fixtures/envgen"
#define ROUNDS   60

/* What shells, NCCL, YAML or comments could take for their own. */
static const char *const parts[] = {"$(touch ran)",    "`touch ran`",         "'",       "\"",  "\\",   "\n",    "\r",
                                    ";touch ran;",     "\nNCCL_DEBUG=INFO\n", "#",       "=",   "^",    ",",     ":",
                                    "${IFS}",          "\xe2\x80\xa8",        "\x1b[2J", "eth", "eno",  "mlx5_", "0",
                                    "export NCCL_X=1", "fi\ntouch ran\n",     "|",       "&",   ">ran", "*",     " "};
#define PARTS (sizeof parts / sizeof *parts)

static const char *odd_name(struct arena *a, unsigned *seed)
{
    const char *name = "";
    for (int n = (int)(rand_r(seed) % 3u) + 1; n > 0; n--)
        name = arena_printf(a, "%s%s", name, parts[(size_t)rand_r(seed) % PARTS]);
    return name;
}

/* The fixture with two classes, every interface and now and then a class renamed. */
static const char *write_topology(struct scratch *s, unsigned *seed)
{
    struct err e = {0};
    cJSON *doc = json_load(FIXTURES "/two-classes.json", NULL, &e), *c, *dev;
    assert_non_null(doc);
    cJSON_ArrayForEach(c, cJSON_GetObjectItem(doc, "classes"))
    {
        if (rand_r(seed) % 8u == 0)
            cJSON_ReplaceItemInObject(c, "name", cJSON_CreateString(odd_name(s->arena, seed)));
        cJSON_ArrayForEach(dev, cJSON_GetObjectItem(c, "netdevs"))
        {
            if (rand_r(seed) % 2u)
                cJSON_ReplaceItemInObject(dev, "name", cJSON_CreateString(odd_name(s->arena, seed)));
        }
    }
    const char *path = scratch_path(s, "topology.json");
    assert_int_equal(json_save(doc, path, &e), 0);
    return path;
}

/* What a shell has of NCCL's variables after it sourced nccl.sh, in the order of the file. */
static void check_shell(struct scratch *s, const char *shell, const struct env_profile *p)
{
    const char *expected = "";
    int code;
    for (int i = 0; i < p->decisions->nsettings; i++) {
        const struct env_setting *x = &p->decisions->settings[i];
        if (x->value && !x->node_class && !strcmp(x->family, "nccl"))
            expected = arena_printf(s->arena, "%s%s=%s\n", expected, x->name, x->value);
    }
    char *found = scratch_run(
        s,
        arena_printf(s->arena,
                     "cd '%s' && env -i PATH=\"$PATH\" %s -c 'set -eu; . ./profile/nccl.sh; env' | grep ^NCCL_ || :",
                     s->dir, shell),
        &code);
    assert_string_equal(found, expected);
    assert_int_not_equal(access(scratch_path(s, "ran"), F_OK), 0);
}

TEST_CASE(odd_topologies)
{
    unsigned seed = 7;
    int finished = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct scratch s = scratch_new();
        struct err e = {0};
        struct env_generate g = {
            .topology = write_topology(&s, &seed), .margin = ENV_MARGIN, .out = scratch_path(&s, "profile")};
        if (env_generate(&g, NULL, NULL, &e)) {
            assert_true(*e.text);
            assert_null(strstr(e.text, "self-check"));
        } else {
            struct env_profile *p = env_profile_open(g.out, &e);
            assert_non_null(p);
            check_shell(&s, "dash", p);
            check_shell(&s, "bash", p);
            env_profile_free(p);
            finished++;
        }
        scratch_free(&s);
    }
    assert_true(finished > ROUNDS / 3);
}

TEST_CASES(test_hostile)
