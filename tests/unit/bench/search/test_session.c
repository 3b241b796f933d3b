/* One session: deaths are journalled, attributed and survived. */
#include <fcntl.h>
#include <sys/stat.h>

#include "bench/search/study.h"
#include "tests/lib/unit.h"
#include "tests/unit/bench/fake_study.h"

static int run_session(struct fake_run *f)
{
    struct search_session v = {.launch = &f->study.plan.launches[0], .round = 1, .what = SEARCH_EXPLORE, .part = 1};
    return search_session_run(&f->study, &v, &f->err);
}

static void trouble(int i, const char *call, enum bench_outcome outcome, int times)
{
    fake.trouble[i] = (struct fake_trouble){.call = call, .bytes = 128, .outcome = outcome, .times = times};
}

/* Once may have been somebody else's doing. */
TEST_CASE(a_call_that_kills_has_a_second_try)
{
    static const struct {
        enum bench_outcome outcome;
        enum bench_status status;
    } ways[] = {{BENCH_DIED, BENCH_CRASHED}, {BENCH_SILENT, BENCH_HUNG}};
    for (int i = 0; i < 2; i++) {
        struct fake_run f;
        memset(&fake, 0, sizeof fake);
        trouble(0, "early", ways[i].outcome, 1000);
        fake_begin(&f, 0, NULL, 0);
        assert_int_equal(run_session(&f), 0);
        assert_int_equal(fake_count(&f, NULL, "early", 128, (int)ways[i].status), 2);
        assert_int_equal(fake_count(&f, NULL, "early", 128, -1), 2);
        assert_int_equal(fake_count(&f, NULL, BENCH_DEFAULT, 128, BENCH_OK), 1);
        assert_int_equal(fake_count(&f, NULL, BENCH_DEFAULT, 0, BENCH_OK), f.study.nsizes);
        assert_int_equal(fake.opened, 3);
        assert_int_equal(fake.closed, 3);
        assert_int_equal(fake.killed, 2);
        assert_int_equal(f.summary.troubled, 2);
        fake_end(&f);
    }
}

/* Somebody kills a rank during the default: written down, measured again, and the default stays a candidate. */
TEST_CASE(the_default_is_tried_again)
{
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    trouble(0, BENCH_DEFAULT, BENCH_DIED, 1);
    fake_begin(&f, 0, NULL, 0);
    assert_int_equal(run_session(&f), 0);
    assert_int_equal(fake_count(&f, NULL, BENCH_DEFAULT, 128, BENCH_CRASHED), 1);
    assert_int_equal(fake_count(&f, NULL, BENCH_DEFAULT, 128, BENCH_OK), 1);
    struct bench_points *p = bench_points_of(f.study.results, f.study.arena);
    for (int i = 0; i < p->count; i++)
        assert_true(p->items[i].untouched == 0 && p->items[i].candidates[0].status == BENCH_OK);
    fake_end(&f);
}

/* A node is lost under a call, and comes back: the call is innocent, nothing is written down, nothing is left out. */
TEST_CASE(a_lost_node_is_nobodys_fault)
{
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    trouble(0, "early", BENCH_LOST, 1);
    fake_begin(&f, 0, NULL, 0);
    assert_int_equal(run_session(&f), 0);
    assert_int_equal(fake_count(&f, NULL, "early", 128, BENCH_OK), 1);
    assert_int_equal(fake_count(&f, NULL, NULL, 0, BENCH_CRASHED) + fake_count(&f, NULL, NULL, 0, BENCH_HUNG), 0);
    assert_int_equal(f.summary.troubled, 0);
    assert_int_equal(fake.opened, 2);
    assert_int_equal(fake.closed, 2);
    fake_end(&f);
}

/* It does not come back, or comes and goes: one sentence, and a journal that holds no word against the launch. */
TEST_CASE(nodes_that_stay_lost_end_it)
{
    for (int flaps = 0; flaps < 2; flaps++) {
        struct fake_run f;
        memset(&fake, 0, sizeof fake);
        trouble(0, "early", BENCH_LOST, 1000);
        fake_begin(&f, 0, NULL, 0);
        if (!flaps) {
            fake.dead_after = 1;
            fake.dead_code = BENCH_NODES_LOST;
        }
        assert_int_equal(run_session(&f), ERR_FAILED);
        assert_int_equal(f.err.code, ERR_FAILED);
        assert_non_null(strstr(f.err.text, flaps ? "after agents were started again 3 times" : "no such interface"));
        assert_int_equal(fake_count(&f, NULL, NULL, 0, BENCH_CRASHED) + fake_count(&f, NULL, NULL, 0, BENCH_HUNG), 0);
        assert_int_equal(fake.opened, fake.closed);
        fake_end(&f);
    }
}

/* ^C while a launch starts: it is not the launch's fault, and nothing is wrong. */
TEST_CASE(an_interruption_is_no_word_against_a_launch)
{
    static const char *const launches[] = {"ill"};
    for (int stopped = 0; stopped < 2; stopped++) {
        struct fake_run f;
        memset(&fake, 0, sizeof fake);
        fake.dead_launch = "ill";
        fake.stop = stopped;
        fake_begin(&f, 0, launches, 1);
        fake_know(&f, 1, 4);
        struct search_session v = {.launch = &f.study.plan.launches[1], .round = 1, .what = SEARCH_EXPLORE, .part = 1};
        assert_int_equal(search_session_run(&f.study, &v, &f.err), stopped ? SEARCH_STOPPED : 0);
        assert_int_equal(fake_count(&f, "ill", NULL, 0, -1), stopped ? 0 : 1);
        fake_end(&f);
    }
}

TEST_CASE(too_many_deaths_end_the_visit)
{
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    trouble(0, BENCH_DEFAULT, BENCH_DIED, 1000);
    fake_begin(&f, 0, NULL, 0);
    assert_int_equal(run_session(&f), 0);
    assert_int_equal(fake_count(&f, NULL, BENCH_DEFAULT, 128, BENCH_CRASHED), 4);
    assert_true(f.summary.left_out > 0);
    assert_int_equal(fake.opened, fake.closed);
    fake_end(&f);
}

TEST_CASE(wrong_data_and_refusals)
{
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake.trouble[0] = (struct fake_trouble){
        .call = "early", .bytes = 128, .outcome = BENCH_ANSWERED, .status = BENCH_WRONG, .times = 1000, .mute = 1};
    fake.trouble[1] = (struct fake_trouble){
        .call = "late", .bytes = 8, .outcome = BENCH_ANSWERED, .status = BENCH_FAILED, .times = 1000};
    fake_begin(&f, 0, NULL, 0);
    assert_int_equal(run_session(&f), 0);
    assert_int_equal(fake_count(&f, NULL, "early", 128, BENCH_WRONG), 1);
    assert_true(fake_count(&f, NULL, "early", 512, -1) > 0);
    /* What the library refuses once it refuses everywhere; that is no trouble. */
    assert_int_equal(fake_count(&f, NULL, "late", 0, -1), 1);
    assert_int_equal(f.summary.troubled, 1);
    for (int i = 0; i < f.study.results->count; i++) /* no trouble without a reason, or a word that there is none */
        if (f.study.results->items[i].status == BENCH_WRONG)
            assert_string_equal(f.study.results->items[i].detail, "no reason known");
    assert_int_equal(fake.killed, 0);
    fake_end(&f);
}

/* The only session of a launch that is not ours: no second one is asked for. */
TEST_CASE(the_only_session)
{
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    trouble(0, "early", BENCH_DIED, 1);
    fake_begin(&f, 0, NULL, 0);
    f.study.plan.one_session = 1;
    assert_int_equal(run_session(&f), ERR_FAILED);
    assert_non_null(strstr(f.err.text, "signal 9"));
    assert_int_equal(fake.opened, 1);
    assert_int_equal(fake_count(&f, NULL, "early", 128, BENCH_CRASHED), 1);
    fake_end(&f);
}

TEST_CASE(a_full_disk_ends_it)
{
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake_begin(&f, 0, NULL, 0);
    close(f.journal.fd);
    f.journal.fd = open("/dev/full", O_WRONLY);
    f.journal.path = "/dev/full";
    assert_int_equal(run_session(&f), ERR_FAILED);
    assert_non_null(strstr(f.err.text, "/dev/full: cannot be written"));
    assert_int_equal(fake.opened, fake.closed);
    fake_end(&f);
}

/* A run that ended between the lines of one point: only the default, which comes last, is missing. */
TEST_CASE(a_half_written_point)
{
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake_begin(&f, 0, NULL, 0);
    assert_int_equal(run_session(&f), 0);
    int all = f.study.results->count;
    fake_end(&f);
    struct stat st;
    assert_int_equal(stat(fake_path, &st), 0);
    assert_int_equal(truncate(fake_path, st.st_size - 5), 0);
    fake_begin(&f, 1, NULL, 0);
    assert_int_equal(f.study.results->count, all - 1);
    assert_int_equal(run_session(&f), 0);
    assert_true(f.study.results->count >= all); /* that point again */
    assert_int_equal(fake_count(&f, NULL, BENCH_DEFAULT, 0, BENCH_OK), f.study.nsizes);
    fake_end(&f);
}

TEST_CASE(launches_must_agree_on_their_ranks)
{
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake_begin(&f, 0, NULL, 0);
    fake_know(&f, 2, 4);
    assert_int_equal(run_session(&f), ERR_FAILED);
    assert_non_null(strstr(f.err.text, "2 ranks on 2 nodes"));
    assert_int_equal(fake.opened, fake.closed);
    fake_end(&f);
}

/* What is said in a log meanwhile; the caller frees it. */
static char *said_in(struct fake_run *f, int rc)
{
    char *text = NULL;
    size_t n;
    struct log log = {.out = open_memstream(&text, &n), .program = "x"};
    f->study.log = &log;
    assert_int_equal(run_session(f), rc);
    fclose(log.out);
    return text;
}

/* Nodes lost while it starts: their agents are started anew, once a session and three times in a run. */
TEST_CASE(nodes_lost_at_the_start)
{
    static const struct {
        int times, losses, rc, opened;
    } cases[] = {{1, 0, 0, 1}, {1, 2, 0, 1}, {1, 3, ERR_FAILED, 0}, {2, 0, ERR_FAILED, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake_run f;
        memset(&fake, 0, sizeof fake);
        fake.dead_launch = BENCH_DEFAULT;
        fake.dead_times = cases[i].times;
        fake.dead_code = BENCH_NODES_LOST;
        fake_begin(&f, 0, NULL, 0);
        f.study.losses = cases[i].losses;
        char *text = said_in(&f, cases[i].rc);
        const char *again =
            strstr(text, "x: warning: the launch exited with code 1: no such interface; trying once more\n");
        assert_int_equal(again != NULL, cases[i].losses < 3);
        assert_int_equal(fake.opened, cases[i].opened);
        if (cases[i].rc) {
            assert_int_equal(f.err.code, ERR_FAILED);
            assert_string_equal(f.err.text, "the launch exited with code 1: no such interface");
        }
        free(text);
        fake_end(&f);
    }
}

/* It dies, and does not start again: what is left of this session is left out. */
TEST_CASE(a_launch_that_does_not_start_again)
{
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    trouble(0, "early", BENCH_DIED, 1);
    fake.dead_after = 1;
    fake_begin(&f, 0, NULL, 0);
    char *text = said_in(&f, 0);
    assert_non_null(strstr(text, "x: warning: launch default does not start again: the launch exited with code 1"));
    free(text);
    assert_int_equal(fake_count(&f, NULL, "early", 128, BENCH_CRASHED), 1);
    assert_int_equal(fake_count(&f, NULL, BENCH_DEFAULT, 0, BENCH_OK), 1);
    assert_int_equal(f.summary.left_out, f.study.nsizes - 2); /* one was measured, one begun */
    assert_int_equal(fake.opened, 1);
    assert_int_equal(fake.closed, 1);
    assert_int_equal(fake.killed, 1);
    fake_end(&f);
}

/* Who does not start, and when, says whether that is the end. */
TEST_CASE(what_a_launch_that_never_starts_means)
{
    static const char *const launches[] = {"ill"};
    static const struct {
        int launch, known, code, rc, lines;
    } cases[] = {{0, 0, ERR_LACKS, ERR_LACKS, 0},
                 {0, 1, ERR_LACKS, ERR_LACKS, 0},
                 {1, 0, ERR_LACKS, ERR_LACKS, 0},
                 {1, 1, ERR_LACKS, 0, 1},
                 {1, 1, BENCH_NODES_LOST, ERR_FAILED, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake_run f;
        memset(&fake, 0, sizeof fake);
        fake.dead_launch = cases[i].launch ? "ill" : BENCH_DEFAULT;
        fake.dead_code = cases[i].code;
        fake_begin(&f, 0, launches, 1);
        if (cases[i].known)
            fake_know(&f, 2, 2);
        struct search_session v = {
            .launch = &f.study.plan.launches[cases[i].launch], .round = 1, .what = SEARCH_EXPLORE, .part = 1};
        assert_int_equal(search_session_run(&f.study, &v, &f.err), cases[i].rc);
        assert_int_equal(f.study.results->count, cases[i].lines);
        if (cases[i].lines) {
            const struct bench_result *x = &f.study.results->items[0];
            assert_int_equal(x->status, BENCH_CRASHED);
            assert_string_equal(x->launch.label, "ill");
            assert_string_equal(x->call.label, BENCH_DEFAULT);
            assert_string_equal(x->detail, "the launch exited with code 1: no such interface");
            assert_int_equal(x->bytes, f.study.sizes[0]);
        }
        fake_end(&f);
    }
}

/* A launch that an earlier run has seen lose is not started, nor one that has nothing to do or no time. */
TEST_CASE(sessions_that_need_not_start)
{
    static const char *const launches[] = {"slow"};
    static const double factors[] = {3.3, 2.7};
    for (int i = 0; i < 2; i++) {
        struct fake_run f;
        memset(&fake, 0, sizeof fake);
        fake_begin(&f, 0, launches, 1);
        fake.slow_launches = factors[i];
        struct search_session v = {.launch = &f.study.plan.launches[0], .round = 0, .what = SEARCH_SCREEN, .part = 1};
        assert_int_equal(search_session_run(&f.study, &v, &f.err), 0);
        v.launch++;
        assert_int_equal(search_session_run(&f.study, &v, &f.err), 0);
        int opened = fake.opened;
        v.round = 2;
        assert_int_equal(search_session_run(&f.study, &v, &f.err), 0);
        assert_int_equal(fake.opened, opened + i);
        opened = fake.opened;
        v.launch = &f.study.plan.launches[0];
        v.round = 0;
        assert_int_equal(search_session_run(&f.study, &v, &f.err), 0); /* all is done */
        assert_int_equal(fake.opened, opened);
        f.study.time.deadline_s = f.study.time.started_s;
        v = (struct search_session){.launch = v.launch, .round = 9, .what = SEARCH_EXPLORE, .part = 1};
        int left_out = f.summary.left_out;
        assert_int_equal(search_session_run(&f.study, &v, &f.err), 0);
        assert_int_equal(fake.opened, opened);
        assert_int_equal(f.summary.left_out, left_out); /* of the first rounds alone */
        fake_end(&f);
    }
}

/* A line of an earlier run, in which a default call took `us` at a screening point. */
static void write_time(struct fake_run *f, int point, const char *label, double us, int samples)
{
    const double times[] = {us, us, us};
    struct bench_result r = {.launch = {.label = label},
                             .call = {.label = BENCH_DEFAULT},
                             .status = BENCH_OK,
                             .times_us = times,
                             .ntimes = samples};
    struct known_place at = f->study.screening[point].at;
    at.launch = label;
    assert_int_equal(bench_write(&f->study, &at, &r, 1, &f->err), 0);
}

/* What an earlier run has seen counts as what is seen: two points in a row, or one where calls are long. */
TEST_CASE(what_loses_a_launch)
{
    static const char *const launches[] = {"slow"};
    static const struct {
        double us[3];
        int samples, lost;
    } cases[] = {{{31, 20, 31}, 3, 0}, /* the others take 10 */
                 {{20, 31, 31}, 3, 1},    {{30, 30, 30}, 3, 0}, {{31, 31, 31}, 1, 0},
                 {{20, 20, 20001}, 1, 1}, {{0}, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake_run f;
        memset(&fake, 0, sizeof fake);
        fake_begin(&f, 0, launches, 1);
        fake_know(&f, 2, 2);
        for (int k = 0; k < 3; k++) {
            write_time(&f, k, BENCH_DEFAULT, cases[i].us[k] > 1000 ? 6600 : 10, 3);
            if (cases[i].samples)
                write_time(&f, k, "slow", cases[i].us[k], cases[i].samples);
        }
        struct search_session v = {.launch = &f.study.plan.launches[1], .round = 2, .what = SEARCH_SCREEN, .part = 1};
        assert_int_equal(search_session_run(&f.study, &v, &f.err), 0);
        assert_int_equal(fake.opened, !cases[i].lost);
        fake_end(&f);
    }
}

/* Twice as slow as the untouched one is not lost, though a call that was forced there takes a quarter of that. */
TEST_CASE(launches_differ_by_their_default_calls)
{
    static const char *const launches[] = {"slow"};
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake_begin(&f, 0, launches, 1);
    fake.slow_launches = 2;
    assert_int_equal(run_session(&f), 0);
    struct search_session v = {.launch = &f.study.plan.launches[1], .round = 0, .what = SEARCH_SCREEN, .part = 1};
    for (; v.round < 3; v.round++) {
        assert_int_equal(search_session_run(&f.study, &v, &f.err), 0);
        assert_int_equal(fake_count(&f, "slow", BENCH_DEFAULT, 0, BENCH_OK), 4 * (v.round + 1));
    }
    fake_end(&f);
}

/* Calls that are proven may slow the default behind them: launches are compared by what it takes without them. */
TEST_CASE(times_beside_a_proof_are_not_those_of_a_launch)
{
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake_begin(&f, 0, NULL, 0);
    assert_int_equal(run_session(&f), 0);
    struct search_session v = {
        .launch = &f.study.plan.launches[0], .round = BENCH_PAIRS_ROUND, .what = SEARCH_VISIT, .part = 1};
    f.study.time.want_visit_s = 1;
    assert_int_equal(search_session_run(&f.study, &v, &f.err), 0);
    int proofs = 0, beside = 0;
    for (int i = 0; i + 1 < f.study.results->count; i++) {
        const struct bench_result *x = &f.study.results->items[i], *next = x + 1;
        int is_proof = x->round == BENCH_PAIRS_ROUND && x->nbeside > 0;
        proofs += is_proof;
        beside += is_proof && next->bytes == x->bytes && !strcmp(next->call.label, BENCH_DEFAULT);
    }
    assert_true(proofs > 4);
    assert_true(beside <= 1); /* where the last proof meets the first point of the next pass */
    fake_end(&f);
}

TEST_CASES_WITHIN(test_session, fake_setup, fake_teardown)
