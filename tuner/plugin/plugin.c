/* The entry points of libnccl-tuner-nccltune.so, one structure per version of NCCL's tuner interface.
 *
 * Every call answers success, whatever it is given: NCCL fails the collective otherwise. Exceptions are init with a
 * table that NCCLTUNE_HASH does not allow, and what another tuner answers that is asked first (NCCLTUNE_NEXT_TUNER).
 * Only the chosen cell of the cost table is written, and nChannels only by a rule that has channels. */
#include <stdatomic.h>
#include <string.h>

#include "tuner/plugin/abi.h"
#include "tuner/plugin/context.h"
#include "tuner/plugin/control.h"
#include "tuner/plugin/load.h"

#define NAME "nccltune"

/* ---- what all versions share ----------------------------------------------------------------------------------- */

static int open_context(const struct plugin_opening *o, void **context)
{
    struct plugin_context *c;
    int rc = plugin_open(o, &c);
    if (context)
        *context = c;
    return rc;
}

static int close_context(void *context)
{
    if (context)
        plugin_close(context);
    return NCCLTUNE_SUCCESS;
}

static inline int armed(void)
{
    return __builtin_expect(atomic_load_explicit(&plugin_armed, memory_order_relaxed), 0);
}

static struct tuner_choice choose_cell(const struct plugin_context *c, const struct tuner_call *call,
                                       const float *given)
{
    return armed() ? plugin_control_choose(c, call, given) : plugin_table_choose(c, call, given);
}

/* ---- versions 3 to 7: the plugin edits a cost table ------------------------------------------------------------ */

/* The next tuner has answered into `cost`, and `i` is the table's choice: nothing else may be as cheap. Releases differ
 * on which of equals wins and on what a negative cost means, so what was available and is not dearer becomes the
 * dearest, and what was not available is that again. */
static void make_cheapest(size_t chosen, float *cost, const float *given, size_t cells)
{
    for (size_t i = 0; i < cells; i++)
        if (!tuner_is_available(given[i]))
            cost[i] = given[i];
        else if (!(cost[i] > 0))
            cost[i] = FLT_MAX;
    cost[chosen] = 0.0F;
}

/* The next tuner first, then the table over what that has left available. What it returns is the outcome: without this
 * plugin it would be, too. */
static int edit_answer(const struct plugin_context *c, struct tuner_call call, float *cost, int *channels)
{
    float given[NCCLTUNE_CONTROL_CELLS], offered[NCCLTUNE_CONTROL_CELLS];
    int known = cost && call.algos > 0 && call.protos > 0 && call.algos <= NCCLTUNE_CONTROL_CELLS / call.protos;
    size_t cells = known ? (size_t)call.algos * (size_t)call.protos : 0;
    if (cells)
        memcpy(given, cost, cells * sizeof *cost);
    int rc = plugin_chain_costs(c->chain, &call, cost, channels);
    for (size_t i = 0; i < cells; i++)
        offered[i] = tuner_is_available(given[i]) ? cost[i] : given[i];
    call.cost = cells ? offered : NULL;
    struct tuner_choice choice = choose_cell(c, &call, given);
    if (cells && choice.algo >= 0)
        make_cheapest((size_t)choice.algo * (size_t)call.protos + (size_t)choice.proto, cost, given, cells);
    if (choice.channels > 0 && channels)
        *channels = choice.channels;
    return rc;
}

static __attribute__((noinline)) int edit_costs(const struct plugin_context *c, const struct tuner_call *call,
                                                float *cost, int *channels)
{
    if (c && c->chain)
        return edit_answer(c, *call, cost, channels);
    struct tuner_choice choice = choose_cell(c, call, call->cost);
    if (choice.algo >= 0)
        cost[(size_t)choice.algo * (size_t)call->protos + (size_t)choice.proto] = 0.0F;
    if (choice.channels > 0 && channels)
        *channels = choice.channels;
    return NCCLTUNE_SUCCESS;
}

static int get_coll_info_v3(void *context, int coll, size_t bytes, int pipe_ops, float **cost, int algos, int protos,
                            int *channels)
{
    struct tuner_call call = {coll, bytes, pipe_ops, TUNER_UNKNOWN, (float *)cost, algos, protos};
    return edit_costs(context, &call, (float *)cost, channels);
}

/* Settles the common case without calling anything, and with nothing on the stack. */
static int get_coll_info_v4(void *context, int coll, size_t bytes, int pipe_ops, float **cost, int algos, int protos,
                            int reg_buff, int *channels)
{
    const struct plugin_context *c = context;
    float *cells = (float *)cost;
    const struct tuner_node *answer =
        !armed() && c && c->alone
            ? tuner_plain_answer(c->alone, coll, bytes, tuner_plain_cost(cells, algos, protos), reg_buff, c->dear_bits)
            : NULL;
    if (answer && channels) {
        cells[tuner_node_cell(answer)] = 0.0F;
        if (answer->channels)
            *channels = answer->channels;
        return NCCLTUNE_SUCCESS;
    }
    struct tuner_call call = {coll, bytes, pipe_ops, reg_buff, cells, algos, protos};
    return edit_costs(c, &call, cells, channels);
}

/* The openings of versions 2 to 4, and those of 5 to 7, differ in the version alone. */
#define INIT_BY_SIZE(version)                                                                                          \
    static int init_v##version(size_t ranks, size_t nodes, nccl_logger log, void **context)                            \
    {                                                                                                                  \
        struct plugin_opening o = {ranks, nodes, .api = (version), .log = log, .caller = __builtin_return_address(0)}; \
        return open_context(&o, context);                                                                              \
    }
INIT_BY_SIZE(2)
INIT_BY_SIZE(3)
INIT_BY_SIZE(4)

#define INIT_BY_ID(version)                                                                                            \
    static int init_v##version(void **context, uint64_t id, size_t ranks, size_t nodes, nccl_logger log,               \
                               struct nccl_nvl_domains *domains, struct nccl_constants *constants)                     \
    {                                                                                                                  \
        struct plugin_opening o = {ranks, nodes, id, domains, constants, (version), log, __builtin_return_address(0)}; \
        return open_context(&o, context);                                                                              \
    }
INIT_BY_ID(5)
INIT_BY_ID(6)
INIT_BY_ID(7)

static int get_chunk_size_v6(void *context, int coll, size_t bytes, int algo, int proto, int channels,
                             size_t *chunk_bytes)
{
    const struct plugin_context *c = context;
    if (!chunk_bytes)
        return NCCLTUNE_SUCCESS;
    struct plugin_slice slice = {coll, bytes, algo, proto, channels};
    int rc = c && c->chain ? plugin_chain_chunk(c->chain, &slice, chunk_bytes) : NCCLTUNE_SUCCESS;
    uint32_t chunk = armed() ? plugin_control_chunk(context, &slice) : plugin_table_chunk(context, &slice);
    if (chunk)
        *chunk_bytes = chunk;
    return rc;
}

/* ---- versions 1 and 2: the plugin names algorithm and protocol ------------------------------------------------- */

static int name_choice(const struct plugin_context *c, struct tuner_call call, int collnet, int nvls, int nodes,
                       const struct plugin_names *names)
{
    float cost[ALGO_COUNT * PROTO_COUNT];
    plugin_legacy_costs(cost, call.coll, collnet, nvls, nodes);
    call.cost = cost;
    call.algos = ALGO_COUNT;
    call.protos = PROTO_COUNT;
    int rc = c && c->chain && names->algo && names->proto && names->channels
                 ? plugin_chain_names(c->chain, &call, collnet, nvls, cost, names)
                 : NCCLTUNE_SUCCESS;
    struct tuner_choice choice = choose_cell(c, &call, cost);
    if (choice.algo >= 0 && names->algo && names->proto) {
        *names->algo = choice.algo;
        *names->proto = choice.proto;
    }
    if (choice.channels > 0 && names->channels)
        *names->channels = choice.channels;
    return rc;
}

static int get_coll_info_v2(void *context, int coll, size_t bytes, int collnet, int nvls, int pipe_ops, int *algo,
                            int *proto, int *channels)
{
    const struct plugin_context *c = context;
    struct tuner_call call = {.coll = coll, .bytes = bytes, .pipe_ops = pipe_ops, .reg_buff = TUNER_UNKNOWN};
    return name_choice(c, call, collnet, nvls, c ? c->shape.nodes : 0, &(struct plugin_names){algo, proto, channels});
}

/* Version 1 does not say which communicator a call is for. The first of the process stands for all of them: it is
 * nearly always the one over all ranks, so that ranks agree, while any later one is not known to the ranks outside it.
 * How many nodes a call spans is not known at all. */
static struct plugin_context *_Atomic first_context;

static int init_v1(size_t ranks, size_t nodes, nccl_logger log)
{
    struct plugin_opening o = {ranks, nodes, .api = 1, .log = log, .caller = __builtin_return_address(0)};
    struct plugin_context *none = NULL;
    void *context = NULL;
    int rc = open_context(&o, &context);
    atomic_compare_exchange_strong(&first_context, &none, context);
    return rc;
}

static int get_coll_info_v1(int coll, size_t bytes, int collnet, int nvls, int pipe_ops, int *algo, int *proto,
                            int *channels)
{
    struct tuner_call call = {.coll = coll, .bytes = bytes, .pipe_ops = pipe_ops, .reg_buff = TUNER_UNKNOWN};
    return name_choice(atomic_load(&first_context), call, collnet, nvls, 0,
                       &(struct plugin_names){algo, proto, channels});
}

static int destroy_v1(void)
{
    plugin_close(NULL);
    return NCCLTUNE_SUCCESS;
}

/* ---- what NCCL looks for --------------------------------------------------------------------------------------- */

PLUGIN_EXPORT const struct nccl_tuner_v1 ncclTunerPlugin_v1 = {NAME, init_v1, get_coll_info_v1, destroy_v1};
PLUGIN_EXPORT const struct nccl_tuner_v2 ncclTunerPlugin_v2 = {NAME, init_v2, get_coll_info_v2, close_context};
PLUGIN_EXPORT const struct nccl_tuner_v3 ncclTunerPlugin_v3 = {NAME, init_v3, get_coll_info_v3, close_context};
PLUGIN_EXPORT const struct nccl_tuner_v4 ncclTunerPlugin_v4 = {NAME, init_v4, get_coll_info_v4, close_context};
PLUGIN_EXPORT const struct nccl_tuner_v5 ncclTunerPlugin_v5 = {NAME, init_v5, get_coll_info_v4, close_context};
PLUGIN_EXPORT const struct nccl_tuner_v6 ncclTunerPlugin_v6 = {NAME, init_v6, get_coll_info_v4, close_context,
                                                               get_chunk_size_v6};
PLUGIN_EXPORT const struct nccl_tuner_v6 ncclTunerPlugin_v7 = {NAME, init_v7, get_coll_info_v4, close_context,
                                                               get_chunk_size_v6};
