/* The catalogue against itself, against the recorded facts where they are at hand, and its lookups. */
#include "core/arena.h"
#include "core/json.h"
#include "core/vars/catalogue.h"
#include "tests/lib/corpus.h"
#include "tests/lib/unit.h"

TEST_CASE(names_are_sorted_and_single)
{
    const struct env_var *v;
    size_t n;
    for (n = 0; (v = env_var_at(n)); n++)
        assert_ptr_equal(env_var_find(v->name), v); /* bsearch fails on an unsorted table, and on doubles */
    assert_true(n > 250);
    const struct env_other *o;
    for (n = 0; (o = env_other_at(n)); n++)
        assert_ptr_equal(env_other_find(o->name), o);
    assert_true(n > 200);
}

TEST_CASE(entries_are_complete)
{
    const struct env_var *v;
    for (size_t n = 0; (v = env_var_at(n)); n++) {
        assert_true(v->since >= 20402 && v->since <= ENV_NEWEST);
        assert_true(v->last == 0 || (v->last >= v->since && v->last < ENV_CATALOGUED));
        assert_true(v->low <= v->high);
        assert_true(v->meaning && *v->meaning);
        if (v->interacts) {
            char *names = strdup(v->interacts), *save = NULL;
            for (char *name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save))
                if (!env_var_find(name))
                    fail_msg("%s interacts with %s, which is not there", v->name, name);
            free(names);
        }
        if (v->last && v->scope != ENV_PLUGIN && !env_other_find(v->name))
            fail_msg("%s was removed; nothing says what to use instead", v->name);
    }
}

TEST_CASE(defaults_follow_the_release)
{
    static const struct {
        const char *name;
        int version;
        const char *expected; /* NULL: not read */
    } rows[] = {
        {"NCCL_IB_TIMEOUT", 20402, "14"},
        {"NCCL_IB_TIMEOUT", 21403, "18"},
        {"NCCL_IB_TIMEOUT", 22203, "18"},
        {"NCCL_IB_TIMEOUT", 22304, "20"},
        {"NCCL_IB_GID_INDEX", 22005, "0"},
        {"NCCL_IB_GID_INDEX", 22105, "-1"},
        {"NCCL_IB_TIMEOUT", 20001, "14"},
        {"NCCL_CTA_POLICY", 22602, NULL},
        {"NCCL_CTA_POLICY", 22703, "unset"},
        {"NCCL_TREE_THRESHOLD", 20500, NULL},
        {"NCCL_PXN_C2C", 22809, "1"},
        {"NCCL_PXN_C2C", 22707, "0"},
        {"NCCL_DEBUG_SUBSYS", 22800, "INIT,BOOTSTRAP,ENV"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[ENV_VALUE];
        const struct env_var *v = env_var_find(rows[i].name);
        assert_non_null(v);
        assert_int_equal(env_default_at(v, rows[i].version, text), rows[i].expected != NULL);
        if (rows[i].expected)
            assert_string_equal(text, rows[i].expected);
    }
}

TEST_CASE(nearest_name_is_the_meant_one)
{
    static const struct {
        const char *wrong, *right;
    } rows[] = {
        {"NCCL_SOCKET_IFNAM", "NCCL_SOCKET_IFNAME"},
        {"NCCL_SOCKET_IFNMAE", "NCCL_SOCKET_IFNAME"},
        {"NCCL_DEBGU", "NCCL_DEBUG"},
        {"NCCL_P2P_NCHANNELS_MAX", "NCCL_MAX_P2P_NCHANNELS"},
        {"NCCL_GDR_NET_LEVEL", "NCCL_NET_GDR_LEVEL"},
        {"NCCL_VER", NULL},
        {"NCCL_TEST", NULL},
        {"NCCL_WORLD_SIZE_OF_MY_JOB", NULL},
        {"SOCKET_IFNAME", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct env_var *v = env_nearest(rows[i].wrong);
        if (rows[i].right)
            assert_string_equal(v ? v->name : "nothing", rows[i].right);
        else
            assert_null(v);
    }
}

TEST_CASE(versions_are_read)
{
    static const struct {
        const char *text;
        int low, high; /* 0: refused */
    } rows[] = {
        {"2.28.9", 22809, 22809},
        {"2.28", 22800, 22899},
        {"2.19-2.28", 21900, 22899},
        {"2.19.3-2.28.9", 21903, 22809},
        {"2", 0, 0},
        {"2.28.", 0, 0},
        {"2.28-2.19", 0, 0},
        {"v2.28", 0, 0},
        {"1.3", 0, 0},
        {"2.28.9-1+cuda12", 0, 0},
        {"", 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int low = 0, high = 0;
        int code = env_version_parse(rows[i].text, &low, &high);
        if ((code == 0) != (rows[i].low != 0) || low != rows[i].low || high != rows[i].high)
            fail_msg("'%s': %d, %d to %d", rows[i].text, code, low, high);
    }
    char text[ENV_VERSION];
    assert_string_equal(env_version_text(text, 22809), "2.28.9");
}

TEST_CASE(libraries_say_their_release)
{
    int low = 0, high = 0;
    assert_int_equal(env_library_release("RCCL 2.21.5 /opt/rocm", &low, &high), 0);
    assert_true(low == 22105 && high == 22105);
    assert_int_equal(env_library_release("NCCL 2.27", &low, &high), 0);
    assert_true(low == 22700 && high == 22799);
    assert_int_equal(env_library_release("Open MPI 4.1.4", &low, &high), -1);
    assert_int_equal(env_library_release("NCCL ", &low, &high), -1);
}

TEST_CASE(interest_is_limited)
{
    static const char *const yes[] = {"NCCL_X", "RCCL_MSCCL_ENABLE", "HSA_NO_SCRATCH_RECLAIM", "TORCH_NCCL_X",
                                      "CUDA_DEVICE_MAX_CONNECTIONS"};
    static const char *const no[] = {"HOME", "PATH", "NCCL_", "SLURM_JOB_ID", "CUDA_VISIBLE_DEVICES", ""};
    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
        assert_true(env_of_interest(yes[i], strlen(yes[i])));
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
        assert_false(env_of_interest(no[i], strlen(no[i])));
}

/* ---- the recorded facts ---------------------------------------------------------------------------------------------
 */

static cJSON *facts(const char *name)
{
    struct arena *a = arena_new();
    const char *path = corpus_file(a, arena_printf(a, "../facts/%s", name));
    cJSON *doc = path ? json_load(path, NULL, NULL) : NULL;
    arena_free(a);
    return doc;
}

static int version_of(const char *tag)
{
    char text[ENV_VERSION] = "";
    int low = 0, high;
    size_t n = tag ? strcspn(tag, "-") : 0;
    if (n > 1 && n <= ENV_VERSION)
        memcpy(text, tag + 1, n - 1);
    return env_version_parse(text, &low, &high) ? 0 : low;
}

TEST_CASE(every_variable_of_the_facts_is_here)
{
    cJSON *doc = facts("nccl_env.json");
    if (!doc)
        skip_because(NEEDS_CORPUS);
    const cJSON *f;
    int n = 0;
    cJSON_ArrayForEach(f, cJSON_GetObjectItem(doc, "variables"))
    {
        const char *name = json_str(f, "name", "");
        const struct env_var *v = env_var_find(name);
        if (!v) {
            fail_msg("%s is not in the catalogue", name);
            continue;
        }
        assert_int_equal(v->since, version_of(json_str(f, "first_tag", NULL)));
        assert_int_equal(v->last, version_of(json_str(f, "last_tag", NULL)));
        assert_int_equal(!!(v->flags & ENV_DEAD), json_bool(f, "dead_at_head", 0));
        assert_int_equal(!!(v->flags & ENV_DOCUMENTED), json_bool(f, "documented", 0));
        assert_true(!v->field == !cJSON_IsObject(cJSON_GetObjectItem(f, "config_field")));
        n++;
    }
    cJSON_Delete(doc);
    assert_true(n > 0);
}

TEST_CASE(every_other_name_of_the_facts_is_here)
{
    cJSON *doc = facts("deprecated_or_foreign.json");
    if (!doc)
        skip_because(NEEDS_CORPUS);
    const cJSON *f;
    int n = 0;
    cJSON_ArrayForEach(f, cJSON_GetObjectItem(doc, "entries"))
    {
        const char *name = json_str(f, "name", "");
        if (!env_other_find(name) && !env_var_find(name))
            fail_msg("%s is not in the catalogue", name);
        n++;
    }
    cJSON_Delete(doc);
    assert_true(n > 0);
}

TEST_CASES(test_catalogue)
