/* hook.map: what is read, and the hostile ones that are not. */
#include "tests/lib/unit.h"
#include "tests/unit/slurm/one_store.h"

#define MAP  "profiles/" STORE_HASH "/hook.map"
#define HEAD "nccltune-hook/1\nprofile " STORE_HASH "\n"
#define SHA  STORE_HASH

TEST_CASE(reads)
{
    struct err why = {0};
    int mixed_settings;
    struct hook_job same = {.lists = {"n[0-2]"}, .nlists = 1}, mixed = {.lists = {"n[0-3]"}, .nlists = 1},
                    unknown = {.lists = {"n[0-1],x"}, .nlists = 1};
    struct hook_file f;
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    struct hook_map *m = hook_map_read(&store.conf, STORE_HASH, &why);
    assert_non_null(m);
    assert_int_equal(m->nclasses, 3);
    assert_int_equal(m->classes[0].gpus, 2);
    assert_int_equal(m->classes[0].gpu_vendor, 0x10de);
    assert_int_equal(m->classes[1].gpus, -1);
    assert_int_equal(m->nports, 2);
    assert_true(m->ports[1].class_index == 0 && m->ports[1].port == 1 && m->ports[1].rate_Gbps == 400);
    assert_true(!strcmp(m->ports[1].hca, "mlx5_1") && !strcmp(m->classes[2].group, "y"));
    assert_int_equal(m->nmodules, 1);
    assert_int_equal(hook_map_class(m, "n2"), 1);
    assert_int_equal(hook_map_class(m, "n2.cluster.example"), 1);
    assert_int_equal(hook_map_class(m, "n"), -1);
    char longer[2 * HOOK_WORD] = "";
    memset(longer, 'n', HOOK_WORD + 10);
    strcat(longer, ".cluster");
    assert_int_equal(hook_map_class(m, longer), -1);
    assert_int_equal(hook_map_fits(m, &same, &mixed_settings, &why), 0);
    assert_int_equal(mixed_settings, 1); /* a has settings of its own, b has none */
    same.lists[0] = "n0", same.lists[1] = "n1", same.nlists = 2;
    assert_int_equal(hook_map_fits(m, &same, &mixed_settings, &why), 0);
    assert_int_equal(mixed_settings, 0);
    same.lists[1] = "n3";
    assert_int_equal(hook_map_fits(m, &same, &mixed_settings, &why), -1);
    why.text[0] = 0;
    assert_int_equal(hook_map_fits(m, &mixed, &mixed_settings, &why), -1);
    assert_non_null(strstr(why.text, "classes a and c"));
    why.text[0] = 0;
    assert_int_equal(hook_map_fits(m, &unknown, &mixed_settings, &why), -1);
    assert_non_null(strstr(why.text, "node x is not in the profile"));
    assert_int_equal(hook_map_load(m, "nccl.d/a.conf", &f, &why), 0);
    assert_string_equal(f.text, "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1\n");
    free(f.text);
    assert_int_equal(hook_map_load(m, "nccl.d/b.conf", &f, &why), 0);
    assert_null(f.text);
    store_write(&store, "profiles/" STORE_HASH "/nccl.conf", "# common\nNCCL_IB_QPS_PER_CONNECTION=5\n");
    why.text[0] = 0;
    assert_int_equal(hook_map_load(m, "nccl.conf", &f, &why), -1);
    assert_non_null(strstr(why.text, "not what was installed"));
    unlink(store_path(&store, "profiles/" STORE_HASH "/nccl.conf"));
    assert_int_equal(hook_map_load(m, "nccl.conf", &f, &why), -1);
    hook_map_free(m);
    hook_map_free(NULL);
}

/* What just fits, and where what does not is. */
TEST_CASE(goes_to_its_limits)
{
    struct err why = {0};
    char name[HOOK_WORD] = "", host[HOOK_WORD + 16];
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    memset(name, 'n', HOOK_WORD - 1);
    FILE *f = fopen(store_path(&store, MAP), "w");
    fprintf(f,
            HEAD "file x 2097152 " SHA
                 "\nclass a x 1024 65535\nclass %s x 0 0\nport a m 255 100000\nhost %s a\nhost q a\n",
            name, name);
    for (int i = 2; i < HOOK_CLASSES; i++)
        fprintf(f, "class c%d x 0 0\nhost c%d.y c%d\n", i, i, i);
    for (int i = 1; i < HOOK_FILES; i++)
        fprintf(f, "file f%d 0 " SHA "\n", i);
    for (int i = 1; i < HOOK_PORTS; i++)
        fprintf(f, "port c2 m%d 1 0\n", i);
    for (int i = 0; i < HOOK_MODULES; i++)
        fprintf(f, "module c3 m%d\n", i);
    fputs("end\n", f);
    fclose(f);
    struct hook_map *m = hook_map_read(&store.conf, STORE_HASH, &why);
    assert_string_equal(why.text, "");
    assert_non_null(m);
    assert_true(m->files[0].bytes == 2097152 && m->classes[0].gpus == 1024 && m->classes[0].gpu_vendor == 65535);
    assert_true(m->ports[0].port == 255 && m->ports[0].rate_Gbps == 100000 && m->nhosts == HOOK_CLASSES);
    assert_true(m->nmodules == HOOK_MODULES && !strcmp(m->modules[255].name, "m255"));
    snprintf(host, sizeof host, "%s.example", name);
    assert_int_equal(hook_map_class(m, host), 0);
    for (int i = 2; i < HOOK_CLASSES; i++) {
        snprintf(host, sizeof host, "c%d.y", i);
        assert_int_equal(hook_map_class(m, host), i);
    }
    assert_int_equal(hook_map_class(m, "c2"), -1);
    snprintf(host, sizeof host, "%s.example", name);
    assert_int_equal(hook_map_class(m, host), 0);
    assert_int_equal(hook_map_class(m, "q.example"), 0); /* behind a longer one */
    hook_map_free(m);
    static const char *const too_much[] = {("file x 2097153 " SHA), "class b x 1025 0", "class b x 0 65536",
                                           "port a m 256 0", "port a m 1 100001"};
    for (size_t i = 0; i < sizeof too_much / sizeof *too_much; i++) {
        char text[512];
        snprintf(text, sizeof text, HEAD "class a x 0 0\n%s\nend\n", too_much[i]);
        store_write(&store, MAP, text);
        why.text[0] = 0;
        assert_null(hook_map_read(&store.conf, STORE_HASH, &why));
        assert_non_null(strstr(why.text, "/hook.map:4: not a statement"));
    }
}

TEST_CASE(refuses)
{
    static const char *const bad[] = {
        "",
        "nccltune-hook/2\nprofile " STORE_HASH "\nend\n",
        "nccltune-hook/1\nprofile " STORE_HASH,
        "nccltune-hook/1\nprofile bbbb\nend\n",
        HEAD,
        HEAD "end\nclass a x 0 0\n",
        HEAD "class a x 0\nend\n",
        HEAD "class a x 0 0 0\nend\n",
        HEAD "class a x 0 0\nclass a x 0 0\nend\n",
        HEAD "class ../a x 0 0\nend\n",
        HEAD "class a x -2 0\nend\n",
        HEAD "class a x 0 70000\nend\n",
        HEAD "host n a\nend\n",
        HEAD "class a x 0 0\nhost n a\nhost n a\nend\n",
        HEAD "class a x 0 0\nport b m 1 1\nend\n",
        HEAD "class a x 0 0\nport a ../m 1 1\nend\n",
        HEAD "class a x 0 0\nport a m 256 1\nend\n",
        HEAD "class a x 0 0\nmodule a /etc\nend\n",
        HEAD "file /etc/shadow 1 " SHA "\nend\n",
        HEAD "file nccl.d/../x 1 " SHA "\nend\n",
        HEAD "file nccl.d/a/b 1 " SHA "\nend\n",
        HEAD "file x 99999999 " SHA "\nend\n",
        HEAD "file x 1 abc\nend\n",
        HEAD "run reboot\nend\n",
        HEAD "class  a x 0 0\nend\n",
    };
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err why = {0};
        store_write(&store, MAP, bad[i]);
        struct hook_map *m = hook_map_read(&store.conf, STORE_HASH, &why);
        if (m || !why.text[0])
            fail_msg("map %zu was taken: %s", i, bad[i]);
    }
}

TEST_CASE(too_many)
{
    static const char *const lines[] = {"class c%d x 0 0\n", "port a m%d 1 1\n", "module a m%d\n",
                                        "file f%d 1 " SHA "\n"};
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct err why = {0};
        FILE *f = fopen(store_path(&store, MAP), "w");
        fputs(HEAD "class a x 0 0\n", f);
        for (int n = 0; n < 2000; n++) {
            char line[128];
            snprintf(line, sizeof line, "%s", lines[i]);
            char *d = strstr(line, "%d");
            fprintf(f, "%.*s%d%s", (int)(d - line), line, n, d + 2);
        }
        fputs("end\n", f);
        fclose(f);
        assert_null(hook_map_read(&store.conf, STORE_HASH, &why));
        assert_non_null(strstr(why.text, "not a statement"));
    }
}

TEST_CASES_EACH(test_hook_map, store_set_up, store_tear_down)
