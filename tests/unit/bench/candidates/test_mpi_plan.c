/* Candidates from a library's word and from a topology. */
#include <sys/stat.h>
#include <unistd.h>

#include "bench/candidates/candidates.h"
#include "core/coll.h"
#include "tests/lib/unit.h"

static char worker[] = "/tmp/test_mpi_plan_XXXXXX";

/* A worker that only knows one sentence. */
static void write_worker(const char *script)
{
    FILE *f = fopen(worker, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", script);
    fclose(f);
    assert_int_equal(chmod(worker, 0755), 0);
}

static int make_worker(void **state)
{
    int fd = mkstemp(worker);
    return fd < 0 ? -1 : close(fd);
}

static int remove_worker(void **state)
{
    return unlink(worker);
}

static const struct bench_call *find(const struct bench_plan *p, int coll, const char *label)
{
    for (int i = 0; i < p->ncalls; i++)
        if (p->calls[i].coll == coll && !strcmp(p->calls[i].knobs.label, label))
            return &p->calls[i];
    return NULL;
}

TEST_CASE(calls_as_the_library_lists_them)
{
    write_worker(
        "echo '{\"library\":\"Open MPI 9\",\"variables\":{\"coll_tuned_allreduce_algorithm\":{\"ignore\":0,"
        "\"ring\":4,\"segmented_ring\":5,\"brand_new\":17},\"coll_tuned_bcast_algorithm\":{\"pipeline\":3}}}'");
    struct arena *a = arena_new();
    struct bench_plan p = {0};
    struct err e;
    assert_int_equal(mpi_plan_calls(worker, &p, a, &e), 0);
    assert_string_equal(p.library, "Open MPI 9");
    static const int colls[] = {COLL_ALLREDUCE, COLL_ALLGATHER, COLL_REDUCESCATTER, COLL_BROADCAST};
    for (size_t i = 0; i < sizeof colls / sizeof *colls; i++) {
        const struct bench_call *c = find(&p, colls[i], BENCH_DEFAULT);
        assert_non_null(c);
        assert_int_equal(c->knobs.nsettings, 0);
    }
    const struct bench_call *ring = find(&p, COLL_ALLREDUCE, "ring");
    assert_non_null(ring);
    assert_int_equal(ring->knobs.nsettings, 1);
    assert_string_equal(ring->knobs.settings[0].name, "coll_tuned_allreduce_algorithm");
    assert_string_equal(ring->knobs.settings[0].value, "4");
    assert_non_null(find(&p, COLL_ALLREDUCE, "brand_new"));
    assert_null(find(&p, COLL_ALLREDUCE, "ignore"));
    assert_null(find(&p, COLL_ALLREDUCE, "segmented_ring"));
    const struct bench_call *segmented = find(&p, COLL_ALLREDUCE, "segmented_ring/1M");
    assert_non_null(segmented);
    assert_string_equal(segmented->knobs.settings[1].name, "coll_tuned_allreduce_algorithm_segmentsize");
    assert_string_equal(segmented->knobs.settings[1].value, "1048576");
    assert_int_equal(segmented->min_bytes, 4 << 20);
    assert_non_null(find(&p, COLL_ALLREDUCE, "segmented_ring/16K"));
    assert_non_null(find(&p, COLL_BROADCAST, "pipeline"));
    assert_non_null(find(&p, COLL_BROADCAST, "pipeline/16K"));
    arena_free(a);
}

TEST_CASE(a_worker_that_does_not_answer)
{
    static const char *const scripts[] = {"echo libmpi.so.40: cannot open >&2; exit 127", "echo '{\"library\":'",
                                          "echo '{\"variables\":{}}'"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct arena *a = arena_new();
        struct bench_plan p = {0};
        struct err e = {0};
        write_worker(scripts[i]);
        assert_int_equal(mpi_plan_calls(worker, &p, a, &e), ERR_FAILED);
        assert_non_null(strstr(e.text, worker));
        if (!i)
            assert_non_null(strstr(e.text, "libmpi.so.40: cannot open"));
        arena_free(a);
    }
}

static const char *ipv4[] = {"10.0.0.1/24"}, *ipv6[] = {"fe80::1/64"};
static struct topo_netdev devices[] = {
    {.name = "lo", .kind = TOPO_NET_LOOPBACK, .state = TOPO_STATE_ACTIVE, .addresses = ipv4, .naddresses = 1},
    {.name = "eth0",
     .kind = TOPO_NET_PHYSICAL,
     .state = TOPO_STATE_ACTIVE,
     .speed_Gbps = 1,
     .addresses = ipv4,
     .naddresses = 1},
    {.name = "ib0",
     .kind = TOPO_NET_PHYSICAL,
     .state = TOPO_STATE_ACTIVE,
     .speed_Gbps = 100,
     .addresses = ipv4,
     .naddresses = 1},
    {.name = "ib1",
     .kind = TOPO_NET_PHYSICAL,
     .state = TOPO_STATE_DOWN,
     .speed_Gbps = 100,
     .addresses = ipv4,
     .naddresses = 1},
    {.name = "ib2", .kind = TOPO_NET_PHYSICAL, .state = TOPO_STATE_ACTIVE, .addresses = ipv6, .naddresses = 1},
    {.name = "docker0", .kind = TOPO_NET_VIRTUAL, .state = TOPO_STATE_ACTIVE, .addresses = ipv4, .naddresses = 1},
    {.name = "br0", .kind = TOPO_NET_BRIDGE, .state = TOPO_STATE_ACTIVE, .addresses = ipv4, .naddresses = 1},
    {.name = "slave",
     .kind = TOPO_NET_PHYSICAL,
     .state = TOPO_STATE_ACTIVE,
     .master = "bond0",
     .addresses = ipv4,
     .naddresses = 1},
    {.name = "bond0",
     .kind = TOPO_NET_BOND,
     .state = TOPO_STATE_ACTIVE,
     .speed_Gbps = 50,
     .addresses = ipv4,
     .naddresses = 1},
};

/* Labels joined by blanks. */
static char *launches(struct arena *a, struct bench_setup s, const char *interfaces, int nodes)
{
    struct bench_plan p = {0};
    struct err e;
    assert_int_equal(mpi_plan_launches(&s, interfaces, nodes, &p, a, &e), 0);
    assert_int_equal(p.launches[0].nsettings, 0);
    char *text = arena_strdup(a, p.launches[0].label);
    for (int i = 1; i < p.nlaunches; i++) {
        assert_int_equal(p.launches[i].nsettings, 1);
        assert_string_equal(p.launches[i].settings[0].name, "btl_tcp_if_include");
        assert_string_equal(p.launches[i].settings[0].value, p.launches[i].label);
        text = arena_printf(a, "%s %s", text, p.launches[i].label);
    }
    return text;
}

TEST_CASE(interfaces_that_can_be_used)
{
    struct arena *a = arena_new();
    struct topo_class classes[2] = {{.netdevs = devices, .nnetdevs = sizeof devices / sizeof *devices},
                                    {.netdevs = devices, .nnetdevs = 3}};
    struct topology t = {.classes = classes, .nclasses = 1};
    struct bench_setup s = {.topology = &t};
    assert_string_equal(launches(a, s, NULL, 2), "default ib0 bond0 eth0");
    assert_string_equal(launches(a, s, NULL, 1), "default");
    /* Another class has no bond0. */
    t.nclasses = 2;
    assert_string_equal(launches(a, s, NULL, 2), "default ib0 eth0");
    /* One interface is no choice. */
    classes[1].nnetdevs = 2;
    assert_string_equal(launches(a, s, NULL, 2), "default");
    assert_string_equal(launches(a, s, "ib7,eth9", 2), "default ib7 eth9");
    classes[1] = (struct topo_class){.netdevs = devices + 1, .nnetdevs = 2}; /* it begins with one of them */
    assert_string_equal(launches(a, s, NULL, 2), "default ib0 eth0");
    s.mpirun_args = "--mca btl_tcp_if_exclude lo";
    assert_string_equal(launches(a, s, "ib7,eth9", 2), "default");
    arena_free(a);
}

TEST_CASE(interface_lists_that_are_none)
{
    static const char *const lists[] = {"", ",", "a,", "a b", "a/b", "averylonginterfacename"};
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct bench_setup s = {0};
        struct bench_plan p = {0};
        struct err e = {0};
        assert_int_equal(mpi_plan_launches(&s, lists[i], 2, &p, a, &e), ERR_USAGE);
        assert_non_null(strstr(e.text, "--interfaces"));
    }
    arena_free(a);
}

TEST_CASE(pairs)
{
    struct arena *a = arena_new();
    struct bench_setting x = {"btl_tcp_if_include", "ib0"}, y = {"btl_tcp_if_include", "ib1"};
    struct bench_knobs one = {.label = "ib0", .settings = &x, .nsettings = 1};
    struct bench_knobs two = {.label = "ib1", .settings = &y, .nsettings = 1}, none = {.label = BENCH_DEFAULT}, both,
                       more;
    assert_true(mpi_plan_combine(&one, &two, a, &both));
    assert_string_equal(both.label, "ib0,ib1");
    assert_string_equal(both.settings[0].value, "ib0,ib1");
    assert_false(mpi_plan_combine(&one, &none, a, &more));
    assert_false(mpi_plan_combine(&both, &one, a, &more));
    arena_free(a);
}

TEST_CASE(launches_of_jobs)
{
    struct arena *a = arena_new();
    struct bench_plan p = {0};
    struct err e = {0};
    struct bench_setting x = {"btl_tcp_if_include", "ib0"};
    struct bench_knobs jobs[] = {{"environment", &x, 1}, {"profile", &x, 1}};
    struct bench_setup s = {.jobs = jobs, .njobs = 2};
    write_worker("echo '{\"library\":\"Open MPI 9\",\"variables\":{\"coll_tuned_allreduce_algorithm\":{\"ring\":4}}}'");
    assert_int_equal(mpi_plan_calls(worker, &p, a, &e), 0);
    assert_non_null(find(&p, COLL_ALLREDUCE, "ring"));
    bench_plan_add_launch(&p, a, jobs[0]); /* which is no job's */
    bench_plan_jobs(&p, a, &s);
    assert_int_equal(p.nlaunches, 3);
    assert_string_equal(p.launches[0].label, BENCH_DEFAULT);
    assert_int_equal(p.launches[0].nsettings, 0);
    assert_string_equal(p.launches[2].label, "profile");
    assert_true(p.keep_all);
    assert_true(p.ncalls > 0);
    for (int i = 0; i < p.ncalls; i++)
        assert_string_equal(p.calls[i].knobs.label, BENCH_DEFAULT);
    arena_free(a);
}

TEST_CASES_WITHIN(test_mpi_plan, make_worker, remove_worker)
