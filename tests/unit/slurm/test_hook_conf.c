/* /etc/nccltune/slurm.conf. */
#include "tests/lib/unit.h"
#include "tests/unit/slurm/one_store.h"

static int set_up(void **state)
{
    untrusted = store_new(&store) || getuid() != 0; /* the configuration itself belongs to root */
    return 0;
}

static int conf_of(const char *text, struct hook_conf *c, struct err *w)
{
    store_write(&store, "slurm.conf", text);
    return hook_conf_read(store_path(&store, "slurm.conf"), c, w);
}

TEST_CASE(defaults)
{
    struct err why = {0};
    struct hook_conf c;
    assert_int_equal(hook_conf_read("/nowhere/slurm.conf", &c, &why), 0);
    assert_string_equal(c.store, "/etc/nccltune");
    assert_int_equal(c.drain, 0);
    assert_int_equal(c.owner, 0);
}

TEST_CASE(keys)
{
    struct err why = {0};
    struct hook_conf c;
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
TEST_CASE(paths)
{
    static const char *const names[] = {"store", "plugin", "scontrol", "policy=nothing\nmeet"};
    struct err why = {0};
    struct hook_conf c;
    char text[2 * HOOK_ROOT], path[HOOK_ROOT + 1];
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *const places[] = {c.store, c.plugin, c.scontrol, c.meet};
        snprintf(path, sizeof path, "/%0*d", HOOK_ROOT - 2, 7);
        snprintf(text, sizeof text, "%s=%s\n", names[i], path);
        assert_int_equal(conf_of(text, &c, &why), 0);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            assert_int_equal(!strcmp(places[k], path), k == i);
        snprintf(text, sizeof text, "%s=%s7\n", names[i], path);
        assert_int_equal(conf_of(text, &c, &why), -1);
    }
}

/* Of a release that gave jobs a key: known, whatever it names. */
TEST_CASE(a_key_does_nothing)
{
    static const char *const lines[] = {"key=/etc/nccltune/secret\n", "key=secret\n", "key=\n"};
    struct err why = {0};
    struct hook_conf c;
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(conf_of(lines[i], &c, &why), 0);
        assert_int_equal(c.has_key, 1);
    }
    assert_int_equal(conf_of("#key=/etc/nccltune/secret\n", &c, &why), 0);
    assert_int_equal(c.has_key, 0);
}

TEST_CASE(policies)
{
    struct err why = {0};
    struct hook_conf c;
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

TEST_CASE(refuses)
{
    static const char *const bad[] = {
        "store",          "store=",        "store=relative",    "store=/x/",
        "store=/",        "owner=nobody",  "owner=-1",          "owner=4294967295",
        "owner=rooted",   "policy=reboot", "policy=",           "policy=log,",
        "policy=drained", "drain=",        "drain=hca,",        "drain=everything",
        "policy = drain", "unknown=1",     "scontrol=scontrol",
    };
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err why = {0};
        struct hook_conf c;
        if (conf_of(bad[i], &c, &why) != -1 || !strstr(why.text, ":1: "))
            fail_msg("'%s' was taken (%s)", bad[i], why.text);
    }
}

TEST_CASES_EACH(test_hook_conf, set_up, store_tear_down)
