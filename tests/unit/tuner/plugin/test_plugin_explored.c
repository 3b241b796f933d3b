/* tuner/plugin/plugin.c: what becomes of a question where ranks explore: their choice over the table's, and calls that
 * fail. What they have agreed on is this file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define online_refusal told_refusal
#define explore_ask    told_ask
#define explore_chunk  told_chunk
#include "tuner/plugin/plugin.c"

static const char *refused;
static struct explore_cell agreed, ruled;
static int asked, fails;
static uint32_t chunk;
static uint64_t own_bytes;
static char logged[512];

const char *online_refusal(void)
{
    return refused;
}

int explore_ask(struct explore_member *m, const struct tuner_call *call, struct explore_cell *cell)
{
    assert_non_null(m);
    assert_int_equal(call->bytes, 4096);
    asked++;
    ruled = *cell;
    *cell = agreed;
    return fails ? -1 : 0;
}

uint32_t explore_chunk(struct explore_member *m, int coll, int algo, int proto, uint64_t own, uint32_t rule)
{
    assert_true(m && coll == COLL_ALLREDUCE && algo == ALGO_RING && proto == PROTO_LL && rule == 0);
    own_bytes = own;
    return chunk;
}

/* ---- what this is not about -------------------------------------------------------------------------------------- */

_Atomic int plugin_armed;

int plugin_open(const struct plugin_opening *o, struct plugin_context **context)
{
    (void)o;
    *context = NULL;
    return NCCLTUNE_SUCCESS;
}

void plugin_close(void *context)
{
    (void)context;
}

void plugin_legacy_costs(float to[PLUGIN_LEGACY_ALGOS * PLUGIN_LEGACY_PROTOS], int coll, int collnet, int nvls,
                         int nodes)
{
    (void)to, (void)coll, (void)collnet, (void)nvls, (void)nodes;
}

int plugin_chain_costs(const struct plugin_chain *c, const struct tuner_call *call, float *to, int *count)
{
    (void)c, (void)call, (void)to, (void)count;
    return NCCLTUNE_SUCCESS;
}

int plugin_chain_names(const struct plugin_chain *c, const struct tuner_call *call, int collnet, int nvls, float *costs,
                       int *algo, int *proto, int *count)
{
    (void)c, (void)call, (void)collnet, (void)nvls, (void)costs, (void)algo, (void)proto, (void)count;
    return NCCLTUNE_SUCCESS;
}

int plugin_chain_chunk(const struct plugin_chain *c, const struct plugin_slice *slice, size_t *to)
{
    (void)c, (void)slice, (void)to;
    return NCCLTUNE_SUCCESS;
}

static struct tuner_choice controlled;

struct tuner_choice plugin_control_choose(const struct plugin_context *c, const struct tuner_call *call,
                                          const float *given)
{
    (void)c, (void)call, (void)given;
    return controlled;
}

uint32_t plugin_control_chunk(const struct plugin_context *c, const struct plugin_slice *slice)
{
    (void)c, (void)slice;
    return 0;
}

/* ---- what is asked ----------------------------------------------------------------------------------------------- */

static void keep(int level, unsigned long subsystems, const char *file, int line, const char *fmt, ...)
{
    va_list args;
    (void)file, (void)line;
    assert_true(level == NCCLTUNE_LOG_WARN && subsystems == NCCLTUNE_SUBSYS_ALL);
    va_start(args, fmt);
    vsnprintf(logged, sizeof logged, fmt, args);
    va_end(args);
}

static float cost[ALGO_COUNT * PROTO_COUNT];
static int channels;

static int ask(struct plugin_context *c)
{
    for (int i = 0; i < ALGO_COUNT * PROTO_COUNT; i++)
        cost[i] = i == 1 ? 0 : i == 2 ? -1 : i < 6 ? (float)i + 1 : -2;
    channels = 7;
    *logged = 0;
    asked = 0;
    return get_coll_info_v4(c, COLL_ALLREDUCE, 4096, 1, (float **)(void *)cost, ALGO_COUNT, PROTO_COUNT, 0, &channels);
}

/* All but the chosen one as they were; none of them is as cheap. */
static int is_chosen(int cell)
{
    for (int i = 0; i < ALGO_COUNT * PROTO_COUNT; i++) {
        float before = i == 1 ? 0 : i == 2 ? -1 : i < 6 ? (float)i + 1 : -2;
        float now = i == cell ? 0.0F : i == 1 && cell >= 0 ? FLT_MAX : before;
        if (!(cost[i] >= now && cost[i] <= now))
            return 0;
    }
    return 1;
}

static struct explore_member *member = (struct explore_member *)&member;

static void what_was_agreed_on_is_run(void **state)
{
    (void)state;
    struct plugin_context c = {.explored = member, .log = keep};
    agreed = explore_nothing;
    assert_int_equal(ask(&c), NCCLTUNE_SUCCESS);
    assert_true(asked == 1 && is_chosen(-1) && channels == 7);
    assert_true(ruled.cell == -1 && ruled.channels == 0 && ruled.chunk == 0);
    agreed = (struct explore_cell){.cell = 5, .channels = 4};
    assert_int_equal(ask(&c), NCCLTUNE_SUCCESS);
    assert_true(is_chosen(5) && channels == 4);
    agreed = (struct explore_cell){.cell = 0};
    assert_int_equal(ask(&c), NCCLTUNE_SUCCESS);
    assert_true(is_chosen(0) && channels == 7);
    agreed = (struct explore_cell){.cell = EXPLORE_LIBRARY};
    assert_int_equal(ask(&c), NCCLTUNE_SUCCESS);
    assert_true(is_chosen(-1) && channels == 7);
    assert_string_equal(logged, "");
    /* what the job would run, the first algorithm like others */
    plugin_armed = 1;
    for (int algo = 0; algo < 2; algo++) {
        controlled = (struct tuner_choice){.algo = algo, .proto = 1, .channels = 3};
        assert_int_equal(ask(&c), NCCLTUNE_SUCCESS);
        assert_true(ruled.cell == algo * PROTO_COUNT + 1 && ruled.channels == 3);
    }
    plugin_armed = 0;
    c.explored = NULL;
    ask(&c);
    assert_int_equal(asked, 0);
}

static void what_cannot_be_told_fails(void **state)
{
    (void)state;
    struct plugin_context c = {.explored = member, .log = keep};
    agreed = (struct explore_cell){.cell = 5, .channels = 4};
    fails = 1;
    assert_int_equal(ask(&c), NCCLTUNE_INVALID_USAGE);
    assert_string_equal(logged, "nccltune: NCCLTUNE_ONLINE=tune: other ranks may run this call with a choice that this "
                                "one was not told of in time or cannot run; it fails, because any other choice could "
                                "hang the job");
    assert_true(is_chosen(-1) && channels == 7);
    fails = 0;
    refused = "the nodes differ";
    assert_int_equal(ask(&c), NCCLTUNE_INVALID_USAGE);
    assert_string_equal(logged, "nccltune: the nodes differ");
    assert_int_equal(asked, 0);
    c.log = NULL;
    assert_int_equal(ask(&c), NCCLTUNE_INVALID_USAGE);
    refused = NULL;
    assert_int_equal(ask(&c), NCCLTUNE_SUCCESS);
}

static void chunks_are_those_that_were_agreed_on(void **state)
{
    (void)state;
    struct plugin_context c = {.explored = member};
    size_t bytes = 1000;
    assert_int_equal(get_chunk_size_v6(&c, COLL_ALLREDUCE, 99, ALGO_RING, PROTO_LL, 2, &bytes), NCCLTUNE_SUCCESS);
    assert_true(bytes == 1000 && own_bytes == 1000);
    chunk = 2048;
    assert_int_equal(get_chunk_size_v6(&c, COLL_ALLREDUCE, 99, ALGO_RING, PROTO_LL, 2, &bytes), NCCLTUNE_SUCCESS);
    assert_true(bytes == 2048 && own_bytes == 1000);
    assert_int_equal(get_chunk_size_v6(&c, COLL_ALLREDUCE, 99, ALGO_RING, PROTO_LL, 2, NULL), NCCLTUNE_SUCCESS);
    assert_int_equal(get_chunk_size_v6(NULL, COLL_ALLREDUCE, 99, ALGO_RING, PROTO_LL, 2, &bytes), NCCLTUNE_SUCCESS);
    assert_int_equal(bytes, 2048);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_agreed_on_is_run),
        cmocka_unit_test(what_cannot_be_told_fails),
        cmocka_unit_test(chunks_are_those_that_were_agreed_on),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
