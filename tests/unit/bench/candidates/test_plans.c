/* Everything that engines try, as a whole: calls by placement, launches by machine, against a text that was read. */
#include <sys/stat.h>
#include <unistd.h>

#include "bench/candidates/candidates.h"
#include "core/coll.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"
#include "tests/lib/whole.h"

#define FIXTURES "tests/fixtures/bench/plans/"

static struct arena *arena;
static FILE *out;
static char *text;
static size_t bytes;

static int begin(void **state)
{
    arena = arena_new();
    out = open_memstream(&text, &bytes);
    return out ? 0 : -1;
}

static int end(void **state)
{
    if (out)
        fclose(out);
    free(text);
    arena_free(arena);
    return 0;
}

static void compare(const char *path)
{
    fclose(out);
    out = NULL;
    assert_whole(text, path);
}

static void tell_settings(const struct bench_knobs *k)
{
    for (int i = 0; i < k->nsettings; i++)
        fprintf(out, " %s=%s", k->settings[i].name, k->settings[i].value);
    fputc('\n', out);
}

static void tell_calls(const struct bench_plan *p)
{
    for (int i = 0; i < p->ncalls; i++) {
        const struct bench_call *c = &p->calls[i];
        fprintf(out, "%s %s from %llu%s%s:", coll_name(c->coll), c->knobs.label, (unsigned long long)c->min_bytes,
                c->refines ? " refines " : "", c->refines ? c->refines : "");
        tell_settings(&c->knobs);
    }
}

TEST_CASE(calls_of_nccl)
{
    static const struct bench_knobs plain = {.label = BENCH_DEFAULT};
    for (int one_node = 0; one_node < 2; one_node++) {
        struct bench_plan p = {0};
        nccl_plan_calls(&p, arena, one_node);
        fprintf(out, "---- one node: %d\n", one_node);
        tell_calls(&p);
        for (int i = 0; i < p.ncalls && one_node; i++) {
            struct bench_knobs varied[BENCH_VARIATIONS];
            int n = p.calls[i].coll == COLL_ALLREDUCE
                        ? nccl_plan_vary(&plain, &p.calls[i].knobs, 2 << 20, arena, varied)
                        : 0;
            for (int k = 0; k < n; k++) {
                fprintf(out, "varied %s:", varied[k].label);
                tell_settings(&varied[k]);
            }
        }
    }
    compare(FIXTURES "nccl-calls.txt");
}

static void tell_launches(const struct bench_setup *s, int nodes)
{
    struct bench_plan p = {0};
    nccl_plan_launches(s, nodes, &p, arena);
    for (int i = 0; i < p.nlaunches; i++) {
        fprintf(out, "%s:", p.launches[i].label);
        tell_settings(&p.launches[i]);
    }
    for (int i = 0; i < p.nbeside; i++) {
        fprintf(out, "beside %s:", p.beside[i].label);
        tell_settings(&p.beside[i]);
    }
}

TEST_CASE(launches_of_nccl)
{
    static const char *const machines[] = {"dgx-h100", "gb200-nvl72", "mi300x", "4x4090"};
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        for (int nodes = 1; nodes <= 2; nodes++) {
            struct err e;
            struct topology *t = machine_topology(machines[i], nodes, &e);
            struct bench_setup s = {.topology = t, .nccl_version = 22809, .collectives = 1u << COLL_ALLTOALL};
            assert_non_null(t);
            fprintf(out, "---- %s, %d nodes\n", machines[i], nodes);
            tell_launches(&s, nodes);
            topo_free(t);
        }
    fputs("---- nothing is known\n", out);
    tell_launches(&(struct bench_setup){0}, 2);
    compare(FIXTURES "nccl-launches.txt");
}

TEST_CASE(calls_of_openmpi)
{
    static const char script[] =
        "#!/bin/sh\nwhile [ $# -gt 0 ]; do echo \"$1\" >&2; shift; done\necho '{\"library\":\"Open MPI 9\","
        "\"variables\":{\"coll_tuned_allreduce_algorithm\":{\"ignore\":0,\"ring\":1,\"segmented_ring\":5,\"odd\":-1,"
        "\"word\":\"3\"},\"coll_tuned_bcast_algorithm\":{\"chain\":2,\"pipeline\":3,\"tree\":4},"
        "\"coll_tuned_alltoall_algorithm\":{\"pairwise\":2},\"coll_tuned_other\":{\"x\":1}}}'\n";
    char worker[] = "/tmp/test_plans_XXXXXX";
    struct bench_plan p = {0};
    struct err e = {0};
    int fd = mkstemp(worker);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, script, sizeof script - 1), sizeof script - 1);
    assert_int_equal(fchmod(fd, 0755), 0);
    close(fd);
    int rc = mpi_plan_calls(worker, &p, arena, &e);
    unlink(worker);
    if (rc)
        fail_msg("%s", e.text);
    tell_calls(&p);
    compare(FIXTURES "openmpi-calls.txt");
}

/* In whatever order, and all of them. */
TEST_CASE(launches_that_are_the_same)
{
    static const struct bench_setting s[] = {{"A", "1"}, {"B", "2"}, {"A", "1"}, {"B", "3"}};
    const struct bench_knobs both = {"", s, 2}, back = {"", s + 1, 2}, other = {"", s + 2, 2}, one = {"", s, 1},
                             none = {0};
    assert_true(bench_plan_same(&both, &back) && bench_plan_same(&none, &none));
    assert_false(bench_plan_same(&both, &other) || bench_plan_same(&both, &one) || bench_plan_same(&none, &one));
}

TEST_CASES_EACH(test_plans, begin, end)
