/* tuner/capture/process.c: places for communicators, what is asked of NCCL for them, what becomes of them when they
 * close. */
#include <errno.h>

#include "tests/unit/tuner/capture/captured.h"
#include "tuner/capture/comm.h"

/* ---- communicators ----------------------------------------------------------------------------------------------- */

static int mask;

static struct profiler_comm *open_comm(int api, uint64_t id, int ranks)
{
    const struct profiler_shape shape = {id, 2, ranks, 1, api};
    return profiler_open(&shape, remember, &mask);
}

static void count(struct profiler_comm *c, uint64_t bytes)
{
    CHECK(profiler_table_count(&c->table, &(struct profiler_call){bytes, 0, 0, 0, 0, 1}) >= 0);
}

static uint64_t counted(const struct profiler_comm *c)
{
    struct profiler_call call;
    uint64_t n, all = 0;
    for (int slot = 0; slot < PROFILER_SLOTS; slot++)
        all += profiler_table_call(&c->table, slot, &call, &n) ? n : 0;
    return all;
}

static void what_is_asked_for(int api)
{
    const int calls = NCCL_PROFILE_GROUP | NCCL_PROFILE_COLL | NCCL_PROFILE_P2P,
              wanted = calls | (api >= 4 ? NCCL_PROFILE_KERNEL_CHANNEL : 0) | (api >= 6 ? NCCL_PROFILE_CE_COLL : 0);
    use_timed_capture();
    const struct profiler_comm *c = open_comm(api, 7, 8);
    CHECK(c && mask == wanted && c->state == PROFILER_LIVE && c->api == api && c->nodes == 2 && c->rank == 1);
    CHECK(c->ranks == 8 && c->id == 7 && c->timed == (api >= 4) && !c->twin && !c->least_ranks && !c->index);
    CHECK(!open_comm(api, 8, 1)); /* nobody to talk to */
    CHECK(!open_comm(api, 7, 8)); /* another rank of it */
    CHECK(open_comm(api, 8, 8)->index == 1);
}

static void without_times(int api)
{
    use_capture();
    const struct profiler_comm *c = open_comm(api, 7, 8);
    CHECK(c && !c->timed);
    CHECK(!(mask & NCCL_PROFILE_KERNEL_CHANNEL));
}

/* Closed ones of the same shape are one, and their places are used again. */
static void what_becomes_of_the_closed(int api)
{
    use_capture();
    struct profiler_comm *stays = open_comm(api, 1, 8), *first = open_comm(api, 7, 8), *other = open_comm(api, 9, 4);
    count(first, 64);
    count(other, 64);
    errno = 99;
    profiler_close(first);
    CHECK(errno == 99 && first->state == PROFILER_PAST && first->id == 7 && counted(first) == 1);
    profiler_close(first); /* once */
    struct profiler_comm *second = open_comm(api, 7, 8);
    CHECK(second && second != first && second->index == 3);
    count(second, 64);
    count(second, 128);
    profiler_close(second);
    CHECK(second->state == PROFILER_FREE && counted(second) == 0 && counted(first) == 3 && first->id == 0);
    profiler_close(other); /* of another size */
    CHECK(other->state == PROFILER_PAST && counted(other) == 1);
    CHECK(open_comm(api, 7, 8) == second && stays->state == PROFILER_LIVE && counted(second) == 0);
}

/* Ranks of observed jobs are compared within a communicator: as many are kept apart. */
static void observed_ones_are_kept_apart(int api)
{
    use_capture();
    setenv("NCCLTUNE_OBSERVE", "1", 1);
    struct profiler_comm *stays = open_comm(api, 1, 8), *c = NULL;
    for (uint64_t i = 0; i < 32; i++) {
        c = open_comm(api, 100 + i, 8);
        count(c, 64);
        profiler_close(c);
        CHECK(c->state == PROFILER_PAST && c->index == 1 + i);
    }
    c = open_comm(api, 200, 8);
    count(c, 64);
    profiler_close(c);
    CHECK(c->state == PROFILER_FREE && counted(profiler_comms[1]) == 2 && counted(profiler_comms[2]) == 1);
    CHECK(stays->state == PROFILER_LIVE);
}

/* Who is who comes with the events of early versions: the second that tells the same stands back, also when the first
 * is gone. */
static void twins_that_are_found_late(int api)
{
    use_capture();
    struct profiler_comm *stays = open_comm(api, 1, 8), *a = open_comm(api, 0, 0), *b = open_comm(api, 0, 0),
                         *c = open_comm(api, 0, 0);
    profiler_introduce(a, 5);
    profiler_introduce(b, 6);
    profiler_introduce(c, 5);
    CHECK(!a->twin && !b->twin && c->twin && a->id == 5 && b->id == 6 && c->id == 5);
    profiler_introduce(c, 5);
    count(a, 64), count(c, 64);
    profiler_close(a);
    CHECK(a->state == PROFILER_PAST && counted(a) == 1 && c->twin && !b->twin);
    profiler_close(c);
    CHECK(c->state == PROFILER_FREE && counted(c) == 0 && counted(a) == 1);
    count(b, 64);
    profiler_close(b);
    CHECK(b->state == PROFILER_FREE && counted(a) == 2 && stays->state == PROFILER_LIVE);
}

TEST(what_is_asked_for, 1, 6)
TEST(without_times, 4, 6)
TEST(what_becomes_of_the_closed, 4, 6)
TEST(observed_ones_are_kept_apart, 5, 6)
TEST(twins_that_are_found_late, 1, 3)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CAPTURE_TEST(what_is_asked_for),          CAPTURE_TEST(without_times),
        CAPTURE_TEST(what_becomes_of_the_closed), CAPTURE_TEST(observed_ones_are_kept_apart),
        CAPTURE_TEST(twins_that_are_found_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
