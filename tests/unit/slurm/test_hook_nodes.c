/* Slurm's lists of nodes. */
#include "slurm/hook.h"
#include "tests/lib/unit.h"

struct found {
    char text[512];
    long count;
};

static int collect(void *arg, const char *host, struct err *w)
{
    struct found *f = arg;
    size_t used = strlen(f->text);
    (void)w;
    f->count++;
    if (used + strlen(host) + 2 < sizeof f->text)
        snprintf(f->text + used, sizeof f->text - used, "%s ", host);
    return 0;
}

TEST_CASE(lists)
{
    static const struct {
        const char *list, *hosts;
    } good[] = {
        {"n1", "n1 "},
        {"n1,login", "n1 login "},
        {"n[1-3]", "n1 n2 n3 "},
        {"n[08-11,7]", "n08 n09 n10 n11 n7 "},
        {"n[1-2],m[3]", "n1 n2 m3 "},
        {"r[1-2]n[0-1]", "r1n0 r1n1 r2n0 r2n1 "},
        {"n[1-2]-ib", "n1-ib n2-ib "},
        {"[1-2]", "1 2 "},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct found f = {0};
        struct err why = {0};
        assert_int_equal(hook_nodes_each(good[i].list, collect, &f, &why), 0);
        assert_string_equal(f.text, good[i].hosts);
    }
}

TEST_CASE(no_lists)
{
    static const char *const bad[] = {
        "",
        ",",
        "n1,",
        "n[",
        "n[1",
        "n[1-",
        "n[]",
        "n[3-1]",
        "n[1-2",
        "n[a-b]",
        "n[1-2]]",
        "n[1,,2]",
        "n[-1]",
        "n[1-2],",
        "n;reboot",
        "n 1",
        "../n",
        ".n",
        "-n",
        "n[1-99999999999]",
        "n[1-99999]",
        "n[1[2]]",
        "n\n",
        "n[1-300]x[1-300]",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct found f = {0};
        struct err why = {0};
        if (hook_nodes_each(bad[i], collect, &f, &why) != -1 || !why.text[0])
            fail_msg("'%s' was taken for a list", bad[i]);
    }
}

static int stop_at_second(void *arg, const char *host, struct err *w)
{
    (void)host;
    (void)w;
    return ++*(int *)arg == 2 ? 7 : 0;
}

TEST_CASE(stops)
{
    struct err why = {0};
    int seen = 0;
    assert_int_equal(hook_nodes_each("n[1-9]", stop_at_second, &seen, &why), 7);
    assert_int_equal(seen, 2);
}

TEST_CASES(test_hook_nodes)
