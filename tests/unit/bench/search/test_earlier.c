/* What lost by far in an earlier journal is not tried again; what was close, refined, failed or new is. */
#include <unistd.h>

#include "bench/search/earlier.h"
#include "core/coll.h"
#include "tests/lib/unit.h"

static char path[] = "/tmp/nccltune-earlier-XXXXXX";

static void line(FILE *out, const char *engine, int bytes, const char *launch, const char *call, const char *status,
                 double us)
{
    fprintf(out,
            "{\"engine\": \"%s\", \"collective\": \"allreduce\", \"bytes\": %d, \"nodes\": 2, \"ranks\": 16, "
            "\"library\": \"NCCL 2.27.3\", \"launch\": {\"label\": \"%s\", \"settings\": {}}, \"call\": {\"label\": "
            "\"%s\", \"settings\": {}}, \"round\": 1, \"status\": \"%s\", \"times_us\": [%g, %g, %g, %g, %g]}\n",
            engine, bytes, launch, call, status, us, us, us, us, us);
}

static int write_journal(void **state)
{
    int fd = mkstemp(path);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!out)
        return -1;
    fputs("{\"format\": \"nccltune-results/1\", \"topology\": \"\"}\n", out);
    for (int bytes = 8; bytes <= 1024; bytes *= 128) {
        line(out, "nccl", bytes, "default", "default", "ok", 100);
        line(out, "nccl", bytes, "default", "ring", "ok", bytes == 8 ? 400 : 120); /* close at one size */
        line(out, "nccl", bytes, "default", "tree", "ok", 160);
        line(out, "nccl", bytes, "default", "nvls", "ok", 160);
        line(out, "nccl", bytes, "default", "nvls/4ch", "ok", 90); /* refines it */
        line(out, "nccl", bytes, "slow", "default", "ok", 300);
        line(out, "nccl", bytes, "slow", "collnet", "ok", 301); /* close to the best of its launch */
        line(out, "nccl", bytes, "fair", "default", "ok", 110);
        line(out, "mpi", bytes, "default", "fresh", "ok", 1e6); /* another engine's */
    }
    return fclose(out);
}

static int remove_journal(void **state)
{
    return unlink(path);
}

TEST_CASE(losers_go)
{
    struct bench_call calls[] = {
        {.coll = COLL_ALLREDUCE, .knobs = {.label = "default"}},
        {.coll = COLL_ALLREDUCE, .knobs = {.label = "ring"}},
        {.coll = COLL_ALLREDUCE, .knobs = {.label = "tree"}},
        {.coll = COLL_BROADCAST, .knobs = {.label = "tree"}},
        {.coll = COLL_ALLREDUCE, .knobs = {.label = "nvls"}},
        {.coll = COLL_ALLREDUCE, .knobs = {.label = "nvls/4ch"}, .refines = "nvls"},
        {.coll = COLL_ALLREDUCE, .knobs = {.label = "collnet"}},
        {.coll = COLL_ALLREDUCE, .knobs = {.label = "fresh"}},
    };
    struct bench_knobs launches[] = {{.label = "default"}, {.label = "slow"}, {.label = "fair"}, {.label = "new"}};
    struct bench_plan p = {.calls = calls, .ncalls = 8, .launches = launches, .nlaunches = 4};
    struct err e = {0};
    assert_int_equal(search_leave_out_losers(&p, "nccl", path, NULL, &e), 0);
    static const char *const kept[] = {"default", "ring", "tree", "nvls", "nvls/4ch", "collnet", "fresh"};
    assert_int_equal(p.ncalls, 7);
    for (int i = 0; i < 7; i++)
        assert_string_equal(p.calls[i].knobs.label, kept[i]);
    assert_int_equal(p.calls[2].coll, COLL_BROADCAST); /* of which nothing is known */
    assert_int_equal(p.nlaunches, 3);
    assert_string_equal(p.launches[1].label, "fair");
    assert_string_equal(p.launches[2].label, "new");
}

TEST_CASE(no_journal)
{
    struct bench_plan p = {0};
    struct err e = {0};
    assert_int_equal(search_leave_out_losers(&p, "nccl", "/nowhere/results.jsonl", NULL, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "/nowhere/results.jsonl"));
}

TEST_CASES_WITHIN(test_earlier, write_journal, remove_journal)
