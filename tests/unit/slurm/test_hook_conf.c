/* /etc/nccltune/slurm.conf. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/slurm/one_store.h"

static int set_up(void **state)
{
    (void)state;
    untrusted = store_new(&store) || getuid() != 0; /* the configuration itself belongs to root */
    return 0;
}

static int conf_of(const char *text, struct hook_conf *c, struct hook_why *w)
{
    store_write(&store, "slurm.conf", text);
    return hook_conf_read(store_path(&store, "slurm.conf"), c, w);
}

static void defaults(void **state)
{
    struct hook_why why = {""};
    struct hook_conf c;
    (void)state;
    assert_int_equal(hook_conf_read("/nowhere/slurm.conf", &c, &why), 0);
    assert_string_equal(c.store, "/etc/nccltune");
    assert_int_equal(c.drain, 0);
    assert_int_equal(c.owner, 0);
}

static void keys(void **state)
{
    struct hook_why why = {""};
    struct hook_conf c;
    (void)state;
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    assert_int_equal(
        conf_of("# site\n\nstore=/shared/nccltune\nowner=1000\npolicy=drain\ndrain=hca,driver\n", &c, &why), 0);
    assert_string_equal(c.store, "/shared/nccltune");
    assert_int_equal(c.owner, 1000);
    assert_int_equal(c.drain, 1);
    assert_int_equal(c.drains, 1u << HOOK_HCA | 1u << HOOK_DRIVER);
    assert_int_equal(conf_of("owner=4294967294\n", &c, &why), 0);
    assert_int_equal(c.owner, 4294967294u);
    assert_int_equal(conf_of("owner=root\n", &c, &why), 0);
    assert_int_equal(c.owner, 0);
}

/* Each to its own place, as long as there is room. */
static void paths(void **state)
{
    static const char *const names[] = {"store", "plugin", "scontrol", "key", "policy=nothing\nmeet"};
    struct hook_why why = {""};
    struct hook_conf c;
    char text[2 * HOOK_ROOT], path[HOOK_ROOT + 1];
    (void)state;
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *const places[] = {c.store, c.plugin, c.scontrol, c.key, c.meet};
        snprintf(path, sizeof path, "/%0*d", HOOK_ROOT - 2, 7);
        snprintf(text, sizeof text, "%s=%s\n", names[i], path);
        assert_int_equal(conf_of(text, &c, &why), 0);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            assert_int_equal(!strcmp(places[k], path), k == i);
        snprintf(text, sizeof text, "%s=%s7\n", names[i], path);
        assert_int_equal(conf_of(text, &c, &why), -1);
    }
}

static void policies(void **state)
{
    struct hook_why why = {""};
    struct hook_conf c;
    (void)state;
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    assert_int_equal(conf_of("policy=log\n", &c, &why), 0);
    assert_int_equal(c.policy, HOOK_DEFAULT);
    assert_int_equal(conf_of("policy=drain,fail\n", &c, &why), 0);
    assert_int_equal(c.drain, 1);
    assert_int_equal(c.policy, HOOK_FAIL);
    assert_int_equal(conf_of("policy=nothing\nmeet=/shared/nccltune/meet\n", &c, &why), 0);
    assert_int_equal(c.policy, HOOK_NONE);
    assert_string_equal(c.meet, "/shared/nccltune/meet");
    assert_int_equal(conf_of("policy=nothing\n", &c, &why), -1);
    assert_non_null(strstr(why.text, "policy=nothing and meet=DIR go together"));
    why.text[0] = 0;
    assert_int_equal(conf_of("meet=/x\n", &c, &why), -1);
}

static void refuses(void **state)
{
    static const char *const bad[] = {
        "store",          "store=",        "store=relative",    "store=/x/",
        "store=/",        "owner=nobody",  "owner=-1",          "owner=4294967295",
        "owner=rooted",   "policy=reboot", "policy=",           "policy=log,",
        "policy=drained", "drain=",        "drain=hca,",        "drain=everything",
        "policy = drain", "unknown=1",     "scontrol=scontrol",
    };
    (void)state;
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hook_why why = {""};
        struct hook_conf c;
        if (conf_of(bad[i], &c, &why) != -1 || !strstr(why.text, ":1: "))
            fail_msg("'%s' was taken (%s)", bad[i], why.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test_setup_teardown(keys, set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(paths, set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(policies, set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(refuses, set_up, store_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
