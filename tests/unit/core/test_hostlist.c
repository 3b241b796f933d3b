/* core/hostlist.c */
#include <unistd.h>

#include "core/hostlist.h"
#include "tests/lib/unit.h"

static const char *parsed(struct arena *a, const char *text)
{
    struct err e = {0};
    const char **hosts;
    const char *all = "";
    int n;
    if (hostlist_parse(text, "--hosts", a, &hosts, &n, &e))
        return arena_strdup(a, e.text);
    for (int i = 0; i < n; i++)
        all = arena_printf(a, "%s%s%s", all, i ? " " : "", hosts[i]);
    return all;
}

TEST_CASE(lists)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"node1", "node1"},
        {"a,b, c", "a b c"},
        {"b,a,b,n[1-2],a,n2", "b a n1 n2"},
        {"node[01-03,7],gpu1", "node01 node02 node03 node7 gpu1"},
        {"r[1-2]n[08-10]-ib", "r1n08-ib r1n09-ib r1n10-ib r2n08-ib r2n09-ib r2n10-ib"},
        {"user@10.0.0.1", "user@10.0.0.1"},
        {" a\nb ,c[1-2]\n", "a b c1 c2"},
        {",", "--hosts: expected the name of a host on both sides of a comma, found ','"},
        {"a,,b", "--hosts: expected the name of a host on both sides of a comma, found 'a,,b'"},
        {"a,", "--hosts: expected the name of a host on both sides of a comma, found 'a,'"},
        {"n[1-2]]", "--hosts: 'n1]' is not the name of a host"},
        {"n[1[2]]", "--hosts: expected numbers such as \"1-16\" between the brackets, found '1[2'"},
        {"n[1, 2]", "--hosts: expected numbers such as \"1-16\" between the brackets, found ' 2'"},
        {"", "--hosts: expected the names of hosts"},
        {"-oProxyCommand=reboot", "--hosts: '-oProxyCommand=reboot' is not the name of a host"},
        {"a;b", "--hosts: 'a;b' is not the name of a host"},
        {"$(reboot)", "--hosts: '$(reboot)' is not the name of a host"},
        {"n[1-2", "--hosts: 'n[1-2' has no closing bracket"},
        {"n[2-1]", "--hosts: expected numbers such as \"1-16\" between the brackets, found '2-1'"},
        {"n[a]", "--hosts: expected numbers such as \"1-16\" between the brackets, found 'a'"},
        {"n[]", "--hosts: expected numbers such as \"1-16\" between the brackets, found ''"},
        {"n[0-99999999]", "--hosts: expected numbers such as \"1-16\" between the brackets, found '0-99999999'"},
        {"n[0-999][0-999]", "--hosts: more than 65536 hosts"},
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(parsed(a, cases[i].text), cases[i].expected);
    arena_free(a);
}

TEST_CASE(hostfile)
{
    char path[] = "/tmp/nccltune-hosts.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    static const char text[] = "# rack 1\nnode1 slots=8\r\n\n  node[2-3]  # two\n";
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    struct arena *a = arena_new();
    struct err e = {0};
    const char **hosts;
    int n;
    assert_int_equal(hostlist_read(path, a, &hosts, &n, &e), 0);
    assert_int_equal(n, 3);
    assert_string_equal(hosts[0], "node1");
    assert_string_equal(hosts[2], "node3");
    unlink(path);
    assert_int_equal(hostlist_read(path, a, &hosts, &n, &e), ERR_FAILED);
    arena_free(a);
}

TEST_CASE(folded)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"n0", "n0"},
        {"n0,n1,n2,n4,login", "n[0-2],n4,login"},
        {"n08,n09,n10,n9,n11", "n[08-10],n9,n11"},
        {"a,b,r1n1,r1n2,r2n3", "a,b,r1n[1-2],r2n3"},
        {"n99999999999,n100000000000", "n99999999999,n100000000000"},
        {"7,8", "[7-8]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        const char **hosts;
        int n;
        assert_int_equal(hostlist_parse(cases[i].text, "", a, &hosts, &n, NULL), 0);
        assert_string_equal(hostlist_fold(hosts, n, a), cases[i].expected);
        arena_free(a);
    }
}

TEST_CASE(alike)
{
    assert_true(hostlist_alike("n1", "n1.site"));
    assert_true(hostlist_alike("n1.a.b", "n1"));
    assert_true(hostlist_alike("n1.a", "n1.a"));
    assert_false(hostlist_alike("n1.a", "n1.b"));
    assert_false(hostlist_alike("n1", "n10.site"));
    assert_false(hostlist_alike("n10", "n1.site"));
    assert_false(hostlist_alike("n1", "n10"));
    assert_false(hostlist_alike("10.0.0.1", "10.0.0.2"));
    assert_false(hostlist_alike("fd00::1", "fd00::10"));
}

TEST_CASES(test_hostlist)
