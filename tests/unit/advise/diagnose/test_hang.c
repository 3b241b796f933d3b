/* Which rank is at fault in a hang, by RAS, the flight recorder of several ranks, and stacks. */
#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

static void expect_start(struct diagnosis *d, const char *start)
{
    const struct diag_result *r = diagnose_finish(d);
    if (strncmp(r->opening[0], start, strlen(start)) != 0)
        fail_msg("%s", r->opening[0]);
    diagnose_free(d);
}

static void feed_as(struct diagnosis *d, const char *name, const char *text)
{
    struct err e = {0};
    FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "rb");
    if (diagnose_stream(d, f, name, &e))
        fail_msg("%s", e.text);
    fclose(f);
}

/* ---- RAS ---- */

#define HEAD                                                                                      \
    "Job summary\n===========\n\n  Nodes  Processes         GPUs\n      2          8            " \
    "1\n\nErrors\n======\n\n"

TEST_CASE(ras_text_names_the_rank)
{
    expect_start(read_text(HEAD "#0-0 (00000000abcd) INCOMPLETE\n  Missing communicator data from 1 rank\n"
                                "  Rank 5 -- GPU 1 managed by process 77 on node n2\n"),
                 "A hang: by NCCL's RAS 1 rank or process is missing, first: rank 5, node n2, GPU 1: look there first");
    expect_start(read_text(HEAD "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
                                "  Process 77 on node n2 managing GPU 3\n"
                                "#0-0 (00000000abcd) INCOMPLETE\n  Missing communicator data from 1 rank\n"
                                "  Rank 5 -- GPU 3 managed by process 77 on node n2\n"),
                 "A hang: by NCCL's RAS 1 rank or process is dead, first: node n2, GPU 3");
    expect_start(
        read_text(HEAD "#0-0 (00000000abcd) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
                       "  Rank 5 has launched up to operation 8 -- GPU 1 managed by process 77 on node n2\n"
                       "  7 ranks have launched up to operation 12\n"),
        "A hang, if a second report repeats it: by NCCL's RAS 1 rank or process is behind, first: rank 5, node n2, GPU "
        "1, AllReduce operation 8, others 12: look there first");
    expect_start(
        read_text(HEAD "#0-0 (00000000abcd) ERROR\n  Asynchronous error on 1 rank\n"
                       "  Rank 2 reported unhandled system error -- GPU 2 managed by process 7 on node n1\n"),
        "A hang: by NCCL's RAS 1 rank or process is in error, first: rank 2, node n1, GPU 2, unhandled system error");
}

/* A rank that is ahead is not behind. */
TEST_CASE(ras_text_of_ranks_that_are_ahead)
{
    struct diagnosis *d =
        read_text(HEAD "#0-0 (00000000abcd) MISMATCH\n"
                       "  Communicator ranks have different AllReduce operation counts\n"
                       "  7 ranks have launched up to operation 12\n"
                       "  Rank 0 has launched up to operation 13 -- GPU 0 managed by process 7 on node n1\n");
    assert_null(finding_of(diagnose_finish(d), "hang"));
    diagnose_free(d);
}

#define RANK(r, n)                                           \
    "{\"rank\": " #r ", \"host\": \"n1\", \"cuda_dev\": " #r \
    ", \"status\": {\"async_error\": 0}, \"collective_counts\": {\"AllReduce\": " #n "}}"
#define JSON(ranks, missing)                                                                                          \
    "{\"nccl_version\": \"2.30.7\", \"communicators_count\": 1, \"communicators\": [{\"size\": 3, \"ranks\": [" ranks \
    "], \"missing_ranks\": [" missing "]}]}"

TEST_CASE(ras_json_names_the_rank)
{
    expect_start(read_text(JSON(RANK(0, 7) "," RANK(1, 5) "," RANK(2, 7), "")),
                 "A hang, if a second report repeats it: by NCCL's RAS 1 rank or process is behind, first: rank 1, "
                 "node n1, GPU 1, AllReduce operation 5, others 7");
    expect_start(
        read_text(JSON(RANK(0, 7) "," RANK(1, 5),
                       "{\"rank\": 2, \"host\": \"n9\", \"cuda_dev\": 0, \"status\": {\"considered_dead\": true}}")),
        "A hang: by NCCL's RAS 1 rank or process is dead, first: rank 2, node n9, GPU 0");
}

TEST_CASE(ras_json_that_is_broken_is_an_error)
{
    struct diagnosis *d = diagnose_new();
    struct err e = {0};
    assert_int_not_equal(feed(d, "{\"communicators_count\": 1, \"communicators\": [{", &e), 0);
    assert_non_null(strstr(e.text, "log:1"));
    diagnose_free(d);
}

/* ---- flight recorder ---- */

#define ENTRY(pg, seq, op, state)                                                                              \
    "{\"process_group\": [\"" pg "\", \"x\"], \"collective_seq_id\": " #seq ", \"profiling_name\": \"nccl:" op \
    "\", \"state\": \"" state "\"}"
#define DUMP(entries) "{\"version\": \"2.4\", \"entries\": [" entries "]}"
#define DONE(seq)     ENTRY("0", seq, "all_reduce", "completed")
#define WAITS(seq)    ENTRY("0", seq, "all_reduce", "started")

TEST_CASE(a_rank_that_never_came)
{
    struct diagnosis *d = diagnose_new();
    feed_as(d, "dumps/nccl_trace_rank_0", DUMP(DONE(6) "," WAITS(7)));
    feed_as(d, "dumps/nccl_trace_rank_1", DUMP(DONE(6)));
    feed_as(d, "dumps/nccl_trace_rank_3", DUMP(DONE(6) "," WAITS(7)));
    expect_start(
        d,
        "A hang: by the flight recorder 3 ranks are in different collectives: rank 1 has ended nccl:all_reduce number "
        "6, rank 0 stands in nccl:all_reduce number 7: rank 1 is 1 call behind the others: look there first; there is "
        "no dump of rank 2");
}

TEST_CASE(a_rank_that_calls_something_else)
{
    struct diagnosis *d = diagnose_new();
    feed_as(d, "rank0.json", DUMP(DONE(6) "," ENTRY("0", 7, "all_gather", "started")));
    feed_as(d, "rank1.json", DUMP(DONE(6) "," WAITS(7)));
    feed_as(d, "rank2.json", DUMP(DONE(6) "," WAITS(7)));
    expect_start(
        d,
        "A hang: by the flight recorder 3 ranks are in different collectives: rank 0 stands in nccl:all_gather number "
        "7, rank 1 stands in nccl:all_reduce number 7: look at rank 0 first");
}

/* What names a function is no dump; nothing is executed. */
TEST_CASE(a_pickle_of_something_else_is_refused)
{
    struct diagnosis *d = diagnose_new();
    struct err e = {0};
    static const char text[] = "\x80\x02}X\x07\0\0\0entriescos\nsystem\nX\x04\0\0\0true\x85Rs.";
    assert_int_not_equal(feed_bytes(d, text, sizeof text - 1, &e), 0);
    assert_non_null(strstr(e.text, "complete pickle of PyTorch's flight recorder"));
    diagnose_free(d);
}

/* Groups count by themselves: what one is behind in says nothing of another. */
TEST_CASE(groups_are_apart)
{
    struct diagnosis *d = diagnose_new();
    feed_as(d, "rank0.json", DUMP(WAITS(7) "," ENTRY("1", 900, "all_gather", "completed")));
    feed_as(d, "rank1.json", DUMP(WAITS(7) "," ENTRY("1", 901, "all_gather", "completed")));
    expect_start(d, "A hang: by the flight recorder 2 ranks wait in nccl:all_reduce number 7");
}

/* ---- stacks ---- */

#define STACK(pid, frame)                                                                     \
    "Process " #pid ": python train.py\nThread " #pid " (active): \"MainThread\"\n    " frame \
    "\n    <module> (train.py:99)\n"
#define WAIT_FRAME "all_reduce (torch/distributed/distributed_c10d.py:2501)"

TEST_CASE(the_odd_stack_is_the_news)
{
    expect_start(
        read_text(STACK(1, WAIT_FRAME) STACK(2, "tokenize (data.py:33)") STACK(3, WAIT_FRAME)),
        "Of 3 stacks 2 are at a collective of torch.distributed, but 1 at tokenize (data.py:33) (process 2): look "
        "there first");
    struct diagnosis *d = diagnose_new();
    feed_as(d, "stack-rank0.txt", STACK(11, WAIT_FRAME));
    feed_as(d, "stack-rank1.txt", STACK(12, "tokenize (data.py:33)"));
    expect_start(d, "Of 2 stacks 1 are at a collective of torch.distributed, but 1 at tokenize (data.py:33) (rank 1)");
}

TEST_CASES(test_hang)
