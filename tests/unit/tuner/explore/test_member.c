/* tuner/explore/member: ranks as threads over a carrier that is slow, loses words and dies, with everything that one
 * rank may do differently from the others: whatever happens, no two ranks run a call with different choices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tuner/explore/member.h"

#define RANKS     4
#define CALLS     4000
#define LEAD      60 /* calls that a rank is ahead of another at most, as launches are of kernels */
#define UNDER_WAY 128

enum fault { SOUND, SLOW_RANK, DIES, OTHER_TABLE, SIMULATES, CAPTURES };

struct sent {
    unsigned due; /* 0: free */
    int rank, is_up;
    struct online_message m;
};

struct job {
    enum fault fault;
    struct explore_member *members[RANKS];
    struct online_coordinator c;
    uint8_t bits[RANKS];
    struct sent under_way[UNDER_WAY];
    _Atomic unsigned now;
    unsigned patience, margin;
    uint64_t seed;
    int is_dead;
    unsigned commits, aborts;
    _Atomic unsigned done, disagreed, failed, tried;
    _Atomic unsigned at[RANKS];
    _Atomic uint32_t used[CALLS]; /* the choice and 1; 0: nobody yet */
};

static uint64_t draw(uint64_t *seed, uint64_t below)
{
    *seed ^= *seed << 13, *seed ^= *seed >> 7, *seed ^= *seed << 17;
    return *seed % below;
}

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

struct rank {
    struct job *job;
    int number;
    uint64_t seed;
};

static const struct tuner_call sizes[] = {{.coll = COLL_ALLREDUCE, .bytes = 1 << 20},
                                          {.coll = COLL_ALLGATHER, .bytes = 4096},
                                          {.coll = COLL_BROADCAST, .bytes = 4096}, /* is not counted */
                                          {.coll = COLL_REDUCESCATTER, .bytes = 77777}};

static uint32_t ask(struct rank *r, const struct tuner_call *call, int is_captured)
{
    float cost[ALGO_COUNT * PROTO_COUNT];
    struct tuner_call with = *call;
    struct explore_cell cell = explore_nothing;
    for (int i = 0; i < ALGO_COUNT * PROTO_COUNT; i++)
        cost[i] = i < EXPLORE_CELLS ? (float)(10 + i) : -1;
    if (r->job->fault == OTHER_TABLE && r->number == 2)
        cost[1] = cost[4] = -1;
    with.cost = cost, with.algos = ALGO_COUNT, with.protos = PROTO_COUNT;
    explore_called(r->job->members[r->number], is_captured);
    if (explore_ask(r->job->members[r->number], &with, &cell))
        return 0;
    if (cell.cell >= 0 && cost[cell.cell] < 0)
        return 1; /* NCCL would crash */
    return 2 + (uint32_t)(cell.cell + 1) + 16 * (uint32_t)cell.channels;
}

/* Asked for, and never called: by one rank alone, in groups of some calls. */
static void simulate(struct rank *r, unsigned call)
{
    for (unsigned i = 0, n = 1 + (unsigned)draw(&r->seed, 4); i < n; i++) {
        explore_called(r->job->members[r->number], 0);
        ask(r, &sizes[(call + i) % 2], 0);
    }
}

/* As far as launches run ahead of kernels. */
static void keep_pace(const struct rank *r, unsigned call)
{
    struct job *j = r->job;
    for (;;) {
        unsigned slowest = UINT32_MAX;
        for (int i = 0; i < RANKS; i++)
            slowest = j->at[i] < slowest ? j->at[i] : slowest;
        if (call <= slowest + LEAD && call <= 4 * j->now)
            return;
        usleep(20);
    }
}

static void *make_calls(void *arg)
{
    struct rank *r = arg;
    struct job *j = r->job;
    unsigned odd = 500 + (unsigned)draw(&r->seed, 1000);
    for (unsigned call = 0; call < CALLS; call++) {
        uint64_t which = call * UINT64_C(0x9e3779b97f4a7c15) >> 62;
        keep_pace(r, call);
        if (j->fault == SIMULATES && r->number == 1 && call >= odd && call % 3 == 0)
            simulate(r, call);
        if (!draw(&r->seed, r->number == 1 && j->fault == SLOW_RANK ? 4 : 200))
            usleep((unsigned)draw(&r->seed, 60));
        uint32_t choice = ask(r, &sizes[which], j->fault == CAPTURES && call / 100 == 9), none = 0;
        if (!choice)
            break;
        uint32_t tag = explore_launched(j->members[r->number], sizes[which].coll, sizes[which].bytes);
        if (tag && tag % 4 == 0)
            j->tried++;
        if (!atomic_compare_exchange_strong(&j->used[call], &none, choice) && none != choice)
            j->disagreed++;
        j->disagreed += choice == 1;
        j->at[r->number] = call;
    }
    j->failed += j->at[r->number] != CALLS - 1;
    j->at[r->number] = UINT32_MAX - LEAD;
    j->done++;
    return NULL;
}

/* ---- the carrier ------------------------------------------------------------------------------------------------- */

static void send_word(struct job *j, int rank, int is_up, const struct online_message *m)
{
    if (!m->word || !draw(&j->seed, 50))
        return; /* one in fifty is lost */
    for (int i = 0; i < UNDER_WAY; i++)
        if (!j->under_way[i].due) {
            j->under_way[i] = (struct sent){j->now + 1 + (unsigned)draw(&j->seed, 6), rank, is_up, *m};
            return;
        }
}

static void tell_all(struct job *j)
{
    for (int i = 0; i < RANKS; i++)
        if (!(j->bits[i] & ONLINE_KNOWS))
            send_word(j, i, 0, &j->c.said);
}

static void arrive(struct job *j, struct sent *s)
{
    struct sent here = *s;
    s->due = 0;
    if (here.is_up && !j->is_dead && online_hear(&j->c, (uint32_t)here.rank, &here.m)) {
        j->commits += j->c.said.word == ONLINE_COMMIT;
        j->aborts += j->c.said.word == ONLINE_ABORT;
        tell_all(j);
    }
    if (here.is_up)
        return;
    struct online_message answer = explore_hear(j->members[here.rank], &here.m);
    send_word(j, here.rank, 1, &answer);
}

static uint32_t any_plan(struct job *j)
{
    const struct tuner_call *size = &sizes[draw(&j->seed, 4)];
    struct explore_plan p = {.kind = explore_kind(size->coll, size->bytes),
                             .cell = {.cell = (int8_t)((int)draw(&j->seed, EXPLORE_CELLS + 1) - 1)},
                             .is_trial = draw(&j->seed, 3) > 0};
    if (p.kind < 0)
        return (uint32_t)draw(&j->seed, UINT32_MAX); /* nonsense */
    if (p.is_trial)
        p.windows = (unsigned)draw(&j->seed, 4), p.gap = 1 + (unsigned)draw(&j->seed, 2),
        p.block = (unsigned)draw(&j->seed, 3);
    p.cell.channels = p.cell.cell >= 0 ? (uint8_t)draw(&j->seed, 5) : 0;
    return explore_pack(&p);
}

static void begin_round(struct job *j)
{
    uint64_t furthest = j->c.furthest;
    for (int i = 0; i < RANKS; i++)
        furthest = j->members[i]->next > furthest ? j->members[i]->next : furthest;
    online_propose(&j->c, furthest + 1 + draw(&j->seed, j->margin), any_plan(j));
    tell_all(j);
    j->patience = j->now + 30;
}

static void carry(struct job *j)
{
    while (j->done < RANKS) {
        j->now++;
        for (int i = 0; i < UNDER_WAY; i++)
            if (j->under_way[i].due && j->under_way[i].due <= j->now)
                arrive(j, &j->under_way[i]);
        usleep(20);
        if (j->is_dead)
            continue;
        if (online_may_propose(&j->c))
            begin_round(j);
        if (j->fault == DIES && j->commits > 10 && !draw(&j->seed, 20)) {
            j->is_dead = 1;
            for (int i = 0; i < RANKS; i++)
                explore_lose(j->members[i]);
        }
        if (j->now < j->patience)
            continue;
        online_impatient(&j->c);
        tell_all(j);
        j->patience = j->now + 30;
    }
}

static struct job *run(enum fault fault, uint64_t seed, unsigned margin)
{
    struct job *j = calloc(1, sizeof *j);
    struct rank ranks[RANKS];
    pthread_t threads[RANKS];
    assert_non_null(j);
    *j = (struct job){.fault = fault, .seed = seed * 7919 + 1, .margin = margin, .c = {.size = RANKS}};
    j->c.ranks = j->bits;
    for (int i = 0; i < RANKS; i++) {
        j->members[i] = calloc(1, sizeof *j->members[i]);
        assert_non_null(j->members[i]);
        explore_member_init(j->members[i]);
        ranks[i] = (struct rank){j, i, seed * 31 + (uint64_t)i + 1};
    }
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_calls, &ranks[i]), 0);
    carry(j);
    for (int i = 0; i < RANKS; i++)
        pthread_join(threads[i], NULL);
    printf("# fault %d, margin %u: %u committed, %u aborted, %u calls tried something, %u ranks failed\n", fault,
           margin, j->commits, j->aborts, j->tried, j->failed);
    assert_int_equal(j->disagreed, 0);
    return j;
}

static void end(struct job *j)
{
    for (int i = 0; i < RANKS; i++)
        free(j->members[i]);
    free(j);
}

/* ---- what is asked ----------------------------------------------------------------------------------------------- */

static void all_ranks_choose_alike(void **state)
{
    (void)state;
    for (unsigned margin = 1; margin <= 256; margin *= 16) {
        struct job *sound = run(SOUND, margin, margin), *slow = run(SLOW_RANK, margin + 1, margin);
        assert_true(margin < 256 || sound->commits + slow->commits > 0); /* a busy machine leaves few */
        assert_int_equal(sound->failed + slow->failed, 0);
        end(sound);
        end(slow);
    }
}

static void death_ends_in_one_choice_or_in_an_error(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++)
        end(run(DIES, seed, 50));
}

/* Cells that one rank does not have are refused, others are taken. */
static void different_tables_are_refused(void **state)
{
    (void)state;
    struct job *j = run(OTHER_TABLE, 5, 50);
    assert_int_equal(j->failed, 0);
    assert_true(j->commits > 5 && j->aborts > 0);
    end(j);
}

/* What one rank alone asks and does not call changes no number of a call. */
static void what_is_not_called_is_not_counted(void **state)
{
    (void)state;
    unsigned commits = 0;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct job *j = run(SIMULATES, seed, 50);
        assert_int_equal(j->members[1]->ended, EXPLORE_SIMULATED);
        assert_int_equal(j->members[0]->next, j->members[1]->next);
        assert_int_equal(j->failed, 0);
        commits += j->commits;
        end(j);
    }
    assert_true(commits > 0); /* of a single one a busy machine may leave none */
}

static void graphs_end_it(void **state)
{
    (void)state;
    struct job *j = run(CAPTURES, 3, 50);
    assert_int_equal(j->members[0]->ended, EXPLORE_CAPTURED);
    assert_int_equal(j->failed, 0);
    end(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_choose_alike),
        cmocka_unit_test(death_ends_in_one_choice_or_in_an_error),
        cmocka_unit_test(different_tables_are_refused),
        cmocka_unit_test(what_is_not_called_is_not_counted),
        cmocka_unit_test(graphs_end_it),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
