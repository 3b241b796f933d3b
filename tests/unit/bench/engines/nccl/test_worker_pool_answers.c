/* bench/engines/nccl/worker_pool.c: what the answers of all workers mean together. */
#include "tests/unit/bench/engines/nccl/agents_double.h"

static char detail[BENCH_DETAIL];

/* ---- questions ---- */

static const struct nccl_point point = {.bytes = 64};

static enum bench_outcome ask(struct nccl_pool *t, int *answers, int *refusals)
{
    static volatile sig_atomic_t stop;
    *detail = 'x';
    return nccl_pool_ask(t, NCCL_PREPARE, &point, sizeof point, NCCL_PREPARED, answers, sizeof *answers, refusals,
                         progress_now_s() + 100, &stop, detail);
}

static const int values[] = {10, 11, 12, 13};

static void answers_of_all(void **state)
{
    int answers[4] = {0}, refusals = 7;
    (void)state;
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

static void refusals_of_all_and_of_some(void **state)
{
    static const struct nccl_text no = {"rank 2: no"}, other = {"rank 1: other"};
    int answers[4], refusals;
    (void)state;
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
static void who_is_waited_for(void **state)
{
    int answers[4], refusals;
    static volatile sig_atomic_t stop;
    (void)state;
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
    assert_int_equal(nccl_pool_ask(t, NCCL_PREPARE, &point, sizeof point, NCCL_PREPARED, answers, sizeof *answers,
                                   &refusals, began_s - 100, &stop, detail),
                     BENCH_SILENT);
    nccl_pool_close(t);
}

static void the_first_of_many_silent_ones(void **state)
{
    (void)state;
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

static void a_worker_that_ends(void **state)
{
    static const struct {
        struct agent_ended ended;
        const char *why;
    } rows[] = {{{0x0300, "worker: no memory"}, "rank 3 on n1 exited with code 3: worker: no memory"},
                {{9, ""}, "rank 3 on n1 was killed by signal 9 (Killed)"},
                {{-1, "no such file"}, "rank 3 on n1 did not start: no such file"}};
    int answers[4], refusals;
    (void)state;
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
static void words_that_are_told_once(void **state)
{
    static const struct agent_ended ended = {0x0300, "worker: n1: NCCL WARN no route"};
    int answers[4], refusals;
    (void)state;
    struct nccl_pool *t = running();
    comes(1, AGENT_ENDED, 3, &ended, sizeof ended);
    assert_int_equal(ask(t, answers, &refusals), BENCH_DIED);
    assert_says(detail, "rank 3 on n1 exited with code 3: worker: n1: NCCL WARN no route");
    nccl_pool_close(t);
}

static void a_node_that_is_lost(void **state)
{
    int answers[4], refusals;
    (void)state;
    struct nccl_pool *t = running();
    assert_false(nccl_pool_broken(t, detail));
    comes_event(1, AGENTS_LOST);
    assert_int_equal(ask(t, answers, &refusals), BENCH_LOST);
    assert_says(detail, "lost the agent on n1");
    assert_true(nccl_pool_broken(t, NULL));
    assert_noted("prepare to -1.-1\nkill 3 s\n");
    nccl_pool_close(t);
    static volatile sig_atomic_t stop = 1;
    items[1].lost = 0;
    t = running();
    assert_int_equal(nccl_pool_ask(t, NCCL_PREPARE, &point, sizeof point, NCCL_PREPARED, answers, sizeof *answers,
                                   &refusals, progress_now_s() + 9, &stop, detail),
                     BENCH_STOPPED);
    nccl_pool_close(t);
}

/* ---- the end ---- */

static void a_good_end(void **state)
{
    static const struct agent_ended ended = {0, "bye"};
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_DOUBLE(answers_of_all),      OVER_DOUBLE(refusals_of_all_and_of_some),
        OVER_DOUBLE(who_is_waited_for),   OVER_DOUBLE(the_first_of_many_silent_ones),
        OVER_DOUBLE(a_worker_that_ends),  OVER_DOUBLE(words_that_are_told_once),
        OVER_DOUBLE(a_node_that_is_lost), OVER_DOUBLE(a_good_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
