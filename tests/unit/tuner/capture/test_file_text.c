/* tuner/capture/file.c: the documents of made-up jobs, to the byte. */
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tests/lib/whole.h"
#include "tuner/capture/comm.h"
#include "tuner/capture/job.h"

#define MOST 4

static struct profiler_comm *comms[MOST];
static size_t count;
static struct profiler_document document;
static char text[1 << 16];
static size_t used;

static struct profiler_comm *add(int api, int nodes, int ranks, uint64_t id)
{
    struct profiler_comm *c = comms[count++] = calloc(1, sizeof *c);
    assert_non_null(c);
    c->api = api;
    c->nodes = nodes;
    c->ranks = ranks;
    c->id = id;
    return c;
}

/* So many calls, of which the GPU's time of the first `timed` is known. */
static void calls(struct profiler_comm *c, struct profiler_call call, int n, int timed, uint64_t ns)
{
    for (int i = 0; i < n; i++) {
        int slot = profiler_table_count(&c->table, &call);
        if (i < timed)
            profiler_table_time(&c->table, slot, ns);
    }
}

/* Appends what becomes of them, without the version. */
static void say(const char *what, const struct profiler_job *job)
{
    static const char tool[] = "\"tool\": \"";
    profiler_file_make(&document, job, comms, count);
    const struct observe_text *t = &document.text;
    assert_int_equal(t->error, 0);
    char *at = memmem(t->text, t->used, tool, sizeof tool - 1);
    assert_non_null(at);
    at += sizeof tool - 1;
    const char *rest = memchr(at, '"', t->used);
    assert_non_null(rest);
    int n = snprintf(text + used, sizeof text - used, "---- %s: %s\n%.*s%.*s", what, document.path, (int)(at - t->text),
                     t->text, (int)(t->text + t->used - rest), rest);
    assert_true(n > 0 && (size_t)n < sizeof text - used);
    used += (size_t)n;
    while (count)
        free(comms[--count]);
}

TEST_CASE(jobs_of_all_kinds)
{
    struct profiler_job job = {.dir = "/d", .name = "7", .rank = "h-5", .host = "h", .began = 99, .times = 1, .pid = 5};
    const struct profiler_call reduce = {4096, COLL_ALLREDUCE, 9, ALGO_RING, PROTO_LL128, 8};
    say("nothing", &job);

    job = (struct profiler_job){.dir = "/d/e",
                                .name = "job",
                                .rank = "3",
                                .host = "n0",
                                .began = 1790000000,
                                .ranks = 8,
                                .per_node = 4,
                                .seconds = 61,
                                .times = 1,
                                .ended = 1,
                                .pid = 77};
    struct profiler_comm *all = add(6, 2, 8, 0xabcdef);
    calls(all, reduce, 3, 2, 5000123);
    calls(all, (struct profiler_call){100, COLL_ALLGATHER, PROFILER_NO_DTYPE, ALGO_TREE, PROTO_LL, 0}, 1, 0, 0);
    calls(all, (struct profiler_call){(UINT64_C(1) << 44) - 2, COLL_REDUCESCATTER, 0, -1, PROTO_SIMPLE, 1}, 2, 2,
          12000);
    calls(all, (struct profiler_call){64, COLL_SENDRECV, 7, -1, -1, 2}, 1, 1, 1);
    calls(all, (struct profiler_call){64, COLL_BROADCAST, PROFILER_NO_DTYPE, -1, -1, 0}, 2, 0, 0);
    calls(add(5, 1, 4, UINT64_MAX), reduce, 1, 0, 0);
    calls(add(5, 2, 2, 0), reduce, 1, 0, 0);
    struct profiler_comm *odd = add(6, 4, 6, 1); /* of several nodes, unevenly */
    int slot = profiler_table_count(&odd->table, &reduce);
    odd->table.counts[slot] = 0; /* all taken back */
    say("two nodes", &job);

    all = add(6, 1, 2, 9);
    calls(all, reduce, 99, 0, 0);
    all->table.counters[PROFILER_MADE + COLL_ALLREDUCE] = 100; /* one on its way is no news */
    all->table.counters[PROFILER_MADE + COLL_BROADCAST] = 3;
    all->table.counters[PROFILER_ROUNDED] = 1;
    all->table.counters[PROFILER_LOST] = 2;
    all->table.counters[PROFILER_CAPTURED] = 4;
    all->table.counters[PROFILER_DOUBTED] = 5;
    calls(all, (struct profiler_call){8, COLL_BROADCAST, 0, ALGO_RING, PROTO_LL, 1}, 1, 0, 0);
    job.times = job.ended = job.per_node = job.ranks = 0;
    job.missed = 6, job.late = 7, job.twins = 8;
    say("much to be told", &job);

    all = add(5, 1, 2, 9);
    calls(all, reduce, 98, 0, 0);
    all->table.counters[PROFILER_MADE + COLL_ALLREDUCE] = 100;
    all->table.counters[PROFILER_MADE + COLL_BROADCAST] = 3;
    calls(all, (struct profiler_call){8, COLL_BROADCAST, 0, -1, PROTO_LL, 1}, 1, 0, 0);
    all->table.counters[PROFILER_MADE + COLL_REDUCE] = 1;
    all->table.counters[PROFILER_REPLAYED + COLL_REDUCE] = 1;
    calls(all, (struct profiler_call){8, COLL_REDUCE, 0, 0, 0, 1}, 2, 0, 0);
    job.missed = job.late = job.twins = 0;
    say("calls that nobody saw", &job);

    all = add(5, 1, 2, 9);
    calls(all, reduce, 95, 0, 0);
    all->table.counters[PROFILER_MADE + COLL_ALLREDUCE] = 100;
    all->table.counters[PROFILER_LOST] = 3; /* and one on its way: one more is missing */
    say("calls that were lost", &job);

    job.ranks = 16, job.per_node = 4, job.times = 1;
    calls(add(3, 0, 0, 1), reduce, 1, 0, 0);
    calls(add(2, 0, 4, 2), reduce, 1, 0, 0);
    calls(add(3, 0, 5, 3), reduce, 1, 0, 0);
    say("an early release", &job);

    job.ranks = 0, job.per_node = 9;
    add(1, 0, 0, 1)->least_ranks = 5;
    add(4, 0, 0, 1)->least_ranks = 1;
    for (size_t i = 0; i < count; i++)
        calls(comms[i], reduce, 1, 0, 0);
    say("nobody tells how many", &job);

    job.per_node = 0;
    calls(add(6, 3, 8, 1), reduce, 1, 0, 0);
    calls(add(6, 2, 6, 2), reduce, 1, 0, 0);
    say("by the largest communicator", &job);

    calls(add(6, 1024, 8192, 1),
          (struct profiler_call){(UINT64_C(1) << 44) - 2, COLL_ALLGATHER, PROFILER_NO_DTYPE, -1, -1, 0}, 1, 0, 0);
    say("more than numbers of JSON hold", &job);
    assert_whole(text, "tests/fixtures/tuner/captured_files.txt");
}

TEST_CASE(where_a_file_goes)
{
    char why[256];
    const struct profiler_job job = {.dir = "/nowhere/d", .name = "7", .rank = "0"};
    profiler_file_make(&document, &job, NULL, 0);
    assert_string_equal(document.path, "/nowhere/d/7.rank.0.json");
    assert_int_equal(profiler_file_write(&document, why, sizeof why), -1);
    assert_string_equal(why, "cannot write /nowhere/d/7.rank.0.json: No such file or directory; the capture goes on");
    char dir[] = "/tmp/nccltune-file-text-XXXXXX";
    assert_non_null(mkdtemp(dir));
    snprintf(document.dir, sizeof document.dir, "%s/d", dir); /* which it makes */
    snprintf(document.path, sizeof document.path, "%s/d/file", dir);
    snprintf(document.beside, sizeof document.beside, "%s/d/.x", dir);
    document.text.error = 0;
    assert_int_equal(profiler_file_write(&document, why, sizeof why), 0);
    assert_int_equal(unlink(document.path), 0);
    rmdir(document.dir), rmdir(dir);
    free(document.text.text);
}

TEST_CASES(test_file_text)
