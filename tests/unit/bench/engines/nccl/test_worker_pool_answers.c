/* bench/engines/nccl/worker_pool.c: what the answers of all workers mean together. */
#include "tests/unit/bench/engines/nccl/agents_double.h"

static char detail[BENCH_DETAIL];

/* ---- questions ---- */

static const struct nccl_point point = {.bytes = 64};

static volatile sig_atomic_t stop;

static enum bench_outcome ask_until(double deadline_s, struct nccl_pool *t, int *answers, int *refusals)
{
    struct nccl_question q = {.message = NCCL_PREPARE,
                              .body = &point,
                              .body_bytes = sizeof point,
                              .wanted = NCCL_PREPARED,
                              .answers = answers,
                              .bytes = sizeof *answers,
                              .deadline_s = deadline_s};
    enum bench_outcome outcome = nccl_pool_ask(t, &q, &stop, detail);
    *refusals = q.refusals;
    return outcome;
}

static enum bench_outcome ask(struct nccl_pool *t, int *answers, int *refusals)
{
    *detail = 'x';
    return ask_until(progress_now_s() + 100, t, answers, refusals);
}

static const int values[] = {10, 11, 12, 13};

TEST_CASE(answers_of_all)
{
    int answers[4] = {0}, refusals = 7;
    struct nccl_pool *t = running();
    for (int r = 3; r >= 0; r--) {
        comes(r / 2, NCCL_PREPARED, r, &values[r], sizeof values[r]);
        comes(r / 2, NCCL_PREPARED, r, &values[0], sizeof values[r]);     /* twice */
        comes(r / 2, NCCL_PREPARED, r + 4, &values[r], sizeof values[r]); /* of nobody */
        comes(r / 2, NCCL_PREPARED, -1, &values[r], sizeof values[r]);
        if (r) {
            comes(r / 2, NCCL_TIMES, 0, &values[r], sizeof values[r]); /* of something else */
            comes(r / 2, NCCL_PREPARED, 0, &values[r], 3);
            comes(r / 2, NCCL_ERROR, 0, &values[r], 4);
        }
    }
    assert_int_equal(ask(t, answers, &refusals), BENCH_ANSWERED);
    assert_noted("prepare to -1.-1\n");
    assert_memory_equal(answers, values, sizeof values);
    assert_int_equal(refusals, 0);
    assert_says(detail, "");
    nccl_pool_close(t);
}

TEST_CASE(refusals_of_all_and_of_some)
{
    static const struct nccl_text no = {"rank 2: no"}, other = {"rank 1: other"};
    int answers[4], refusals;
    struct nccl_pool *t = running();
    for (int r = 0; r < 4; r++)
        comes(r / 2, NCCL_ERROR, 3 - r, r ? &other : &no, sizeof no);
    coming[ncoming - 4].sets_in_s = 2; /* for the others to say so, too */
    assert_int_equal(ask(t, answers, &refusals), BENCH_ANSWERED);
    assert_int_equal(refusals, 4);
    assert_says(detail, "rank 2: no");
    notes = "";
    comes(1, NCCL_ERROR, 2, &no, sizeof no);
    for (int r = 0; r < 4; r++)
        if (r != 2)
            comes(r / 2, NCCL_PREPARED, r, &values[r], sizeof values[r]);
    assert_int_equal(ask(t, answers, &refusals), BENCH_DIED);
    assert_int_equal(refusals, 1);
    assert_says(detail, "rank 2: no: worker: n1: NCCL WARN no route");
    assert_noted("prepare to -1.-1\nkill 3 s\n");
    assert_int_equal(ask(t, answers, &refusals), BENCH_DIED); /* and stays so */
    assert_says(detail, "rank 2: no: worker: n1: NCCL WARN no route");
    assert_noted("");
    speechless = 1; /* what the last launch has said is not this one's */
    struct nccl_joined joined;
    come_joined();
    assert_int_equal(nccl_pool_start(t, &(struct nccl_start){0}, &joined, 10, NULL, &e), 0);
    comes(1, NCCL_ERROR, 2, &no, sizeof no);
    for (int r = 0; r < 4; r++)
        if (r != 2)
            comes(r / 2, NCCL_PREPARED, r, &values[r], sizeof values[r]);
    assert_int_equal(ask(t, answers, &refusals), BENCH_DIED);
    assert_says(detail, "rank 2: no");
    nccl_pool_close(t);
}

/* Who is late has as long again as the others took. */
TEST_CASE(who_is_waited_for)
{
    int answers[4], refusals;
    struct nccl_pool *t = running();
    double began_s = progress_now_s();
    comes(0, NCCL_PREPARED, 0, &values[0], sizeof values[0]);
    coming[ncoming - 1].sets_in_s = 100;
    comes_event(0, AGENTS_LATE);
    assert_int_equal(ask(t, answers, &refusals), BENCH_SILENT);
    assert_says(detail, "no answer in time from rank 1, 2, 3: worker: n1: NCCL WARN no route");
    nccl_pool_close(t);
    t = running();
    comes(0, NCCL_PREPARED, 0, &values[0], sizeof values[0]);
    coming[ncoming - 1].sets_in_s = 0.001;
    comes_event(0, AGENTS_LATE);
    assert_int_equal(ask_until(began_s - 100, t, answers, &refusals), BENCH_SILENT);
    nccl_pool_close(t);
}

TEST_CASE(the_first_of_many_silent_ones)
{
    setup.ranks_per_node = 12;
    own.share_gpus = 1;
    struct nccl_pool *t = looked();
    struct nccl_joined joined;
    comes_event(0, AGENTS_LATE);
    assert_int_equal(nccl_pool_start(t, &(struct nccl_start){0}, &joined, 10, NULL, &e), ERR_FAILED);
    assert_says(e.text,
                "no answer in time from rank 0, 1, 2, 3, 4, 5, 6, 7 and 16 more: worker: n1: NCCL WARN no route");
    nccl_pool_close(t);
}

TEST_CASE(a_worker_that_ends)
{
    static const struct {
        struct agent_ended ended;
        const char *why;
    } rows[] = {{{0x0300, "worker: no memory"}, "rank 3 on n1 exited with code 3: worker: no memory"},
                {{9, ""}, "rank 3 on n1 was killed by signal 9 (Killed)"},
                {{-1, "no such file"}, "rank 3 on n1 did not start: no such file"}};
    int answers[4], refusals;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nccl_pool *t = running();
        comes(1, AGENT_ENDED, AGENT_BESIDE, &rows[i].ended, sizeof rows[i].ended); /* that one is not asked */
        comes(1, AGENT_ENDED, 3, &rows[i].ended, 7);
        comes(1, AGENT_ENDED, 3, &rows[i].ended, sizeof rows[i].ended);
        assert_int_equal(ask(t, answers, &refusals), BENCH_DIED);
        assert_says(detail, arena_printf(arena, "%s: worker: n1: NCCL WARN no route", rows[i].why));
        nccl_pool_close(t);
    }
}

/* Of words that stand there already none are added. */
TEST_CASE(words_that_are_told_once)
{
    static const struct agent_ended ended = {0x0300, "worker: n1: NCCL WARN no route"};
    int answers[4], refusals;
    struct nccl_pool *t = running();
    comes(1, AGENT_ENDED, 3, &ended, sizeof ended);
    assert_int_equal(ask(t, answers, &refusals), BENCH_DIED);
    assert_says(detail, "rank 3 on n1 exited with code 3: worker: n1: NCCL WARN no route");
    nccl_pool_close(t);
}

TEST_CASE(a_node_that_is_lost)
{
    int answers[4], refusals;
    struct nccl_pool *t = running();
    assert_false(nccl_pool_broken(t, detail));
    comes_event(1, AGENTS_LOST);
    assert_int_equal(ask(t, answers, &refusals), BENCH_LOST);
    assert_says(detail, "lost the agent on n1");
    assert_true(nccl_pool_broken(t, NULL));
    assert_noted("prepare to -1.-1\nkill 3 s\n");
    nccl_pool_close(t);
    stop = 1;
    items[1].lost = 0;
    t = running();
    assert_int_equal(ask_until(progress_now_s() + 9, t, answers, &refusals), BENCH_STOPPED);
    stop = 0;
    nccl_pool_close(t);
}

/* ---- the end ---- */

TEST_CASE(a_good_end)
{
    static const struct agent_ended ended = {0, "bye"};
    struct nccl_pool *t = running();
    for (int r = 0; r < 5; r++)
        comes(r / 2, r == 1 ? NCCL_TIMES : AGENT_ENDED, r == 2 ? AGENT_BESIDE : r, &ended, sizeof ended);
    comes(0, AGENT_ENDED, 1, &ended, 7);
    comes(0, AGENT_ENDED, 1, &ended, sizeof ended);
    comes(0, AGENT_ENDED, 2, &ended, sizeof ended);
    nccl_pool_stop(t, 0);
    assert_noted("quit to -1.-1\nkill 3 s\n");
    assert_int_equal(ncoming - at_coming, 1);
    nccl_pool_stop(t, 0); /* nothing runs */
    nccl_pool_stop(t, 1);
    nccl_pool_close(t);
    assert_noted("close\n");
}

TEST_CASES_EACH(main, begin, end)
