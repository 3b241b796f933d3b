/* probe/cluster/cluster.c: nodes asked through an agent, here a small script that plays all of them. */
#include <sys/stat.h>

#include "core/hostlist.h"
#include "core/progress.h"
#include "probe/cluster/cluster.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

static char agent[] = "/tmp/nccltune-agent.XXXXXX";

/* AGENT HOST COMMAND: what each node prints. */
static int make_agent(void **state)
{
    static const char script[] =
        "#!/bin/sh\n"
        "node() { printf '%s' '{\"format\":\"nccltune-topology/1\",\"classes\":[{\"cpu\":\"'\"$1\"'\",\"objects\":[]}],"
        "\"hosts\":[{\"name\":\"x\",\"class\":0,\"addresses\":[\"eth0 10.0.0.1/24\"]}],"
        "\"findings\":[{\"id\":\"port-down\",\"severity\":\"warning\",\"text\":\"it is down\"}'\"$2\"']}'; }\n"
        "case $1 in\n"
        "dead) sleep 60 ;;\n"
        "gone) echo 'no route to host' >&2; exit 255 ;;\n"
        "mute) ;;\n"
        "odd) echo 'welcome!'; node first ;;\n"
        "broken) echo '{\"format\": 7' ;;\n"
        "flood) while :; do head -c 1000000 /dev/zero; done ;;\n"
        "other) node second ;;\n"
        "sick) node first ',{\"id\":\"memlock-low\",\"severity\":\"error\",\"text\":\"low\",\"evidence\":\"64 KiB\"}' "
        ";;\n"
        "linger) node first; exec >&-; until [ -e $0.after ]; do sleep 0.02; done; touch $0.overlapped ;;\n"
        "after) touch $0.after; node first ;;\n"
        "*) node first ;;\n"
        "esac\n";
    int fd = mkstemp(agent);
    if (fd < 0 || write(fd, script, sizeof script - 1) != sizeof script - 1)
        return -1;
    close(fd);
    return chmod(agent, 0700);
}

static int remove_agent(void **state)
{
    return unlink(agent);
}

static struct topology *gather(const char *list, double deadline_s, struct err *e)
{
    struct arena *a = arena_new();
    const char **hosts;
    struct cluster_ask ask = {
        .agent = agent, .command = "nccltune probe --json", .deadline_s = deadline_s, .parallel = 8};
    assert_int_equal(hostlist_parse(list, "--hosts", a, &hosts, &ask.nhosts, e), 0);
    ask.hosts = hosts;
    struct topology *t = cluster_gather(&ask, NULL, NULL, e);
    arena_free(a);
    return t;
}

static const char *why_missing(const struct topology *t, const char *name)
{
    for (int i = 0; i < t->nmissing; i++)
        if (!strcmp(t->missing[i].name, name))
            return t->missing[i].why;
    fail_msg("%s is not missing", name);
    return NULL;
}

/* Twenty nodes, one of another kind, several that do not answer properly: the rest goes on. */
TEST_CASE(mixed)
{
    struct err e = {0};
    double before_s = progress_now_s();
    struct topology *t = gather("node[1-20],other,dead,gone,mute,odd,broken,flood", 3, &e);
    assert_non_null(t);
    assert_true(progress_now_s() - before_s < 40);
    assert_int_equal(t->nhosts, 22);
    assert_int_equal(t->nclasses, 2);
    assert_string_equal(t->hosts[0].name, "node1");
    assert_string_equal(t->hosts[1].name, "node2");
    assert_string_equal(t->hosts[9].name, "node10");
    assert_string_equal(t->hosts[0].addresses[0], "eth0 10.0.0.1/24");
    assert_int_equal(t->nmissing, 5);
    assert_string_equal(why_missing(t, "dead"), "no answer within 3 s");
    assert_string_equal(why_missing(t, "gone"), "exited with code 255: no route to host");
    assert_string_equal(why_missing(t, "mute"), "printed no topology");
    assert_non_null(strstr(why_missing(t, "broken"), "not valid JSON"));
    assert_string_equal(why_missing(t, "flood"), "printed more than the limit of a topology");
    assert_string_equal(t->source, "22 of 27 nodes");
    topo_free(t);
}

TEST_CASE(nobody)
{
    struct err e = {0};
    assert_null(gather("gone", 3, &e));
    assert_string_equal(e.text, "none of 1 nodes answered; the first: gone: exited with code 255: no route to host");
}

TEST_CASE(no_agent)
{
    struct err e = {0};
    static const char *const hosts[] = {"a"};
    struct cluster_ask ask = {.hosts = hosts, .nhosts = 1, .agent = "/nowhere/ssh", .deadline_s = 1};
    assert_null(cluster_gather(&ask, NULL, NULL, &e));
    assert_non_null(strstr(e.text, "/nowhere/ssh: cannot be started"));
}

/* What a node's own probe found to be an error is known of that node, whichever class it joins. */
TEST_CASE(sick)
{
    struct err e = {0};
    struct topology *t = gather("a,sick", 10, &e);
    assert_non_null(t);
    assert_int_equal(t->nclasses, 1);
    assert_int_equal(t->hosts[0].nerrors, 0);
    assert_int_equal(t->hosts[1].nerrors, 1);
    assert_string_equal(t->hosts[1].errors[0], "memlock-low: low (64 KiB)");
    topo_free(t);
}

static int take_away(const char *ending)
{
    char path[sizeof agent + 16];
    snprintf(path, sizeof path, "%s.%s", agent, ending);
    return unlink(path);
}

/* An ssh that has said all takes its time to close the connection: meanwhile the next node is asked. */
TEST_CASE(nobody_waits_for_an_agent_to_leave)
{
    struct err e = {0};
    static const char *const hosts[] = {"linger", "quick", "after"};
    struct cluster_ask ask = {
        .hosts = hosts, .nhosts = 3, .agent = agent, .command = "x", .deadline_s = 20, .parallel = 2};
    struct topology *t = cluster_gather(&ask, NULL, NULL, &e);
    assert_non_null(t);
    assert_int_equal(t->nhosts, 3);
    assert_int_equal(take_away("after"), 0);
    assert_int_equal(take_away("overlapped"), 0);
    topo_free(t);
}

TEST_CASES_WITHIN(test_cluster, make_agent, remove_agent)
