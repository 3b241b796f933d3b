/* The entry points of libnccl-tuner-nccltune.so, one structure per version of NCCL's tuner interface.
 *
 * Every call answers success, whatever it is given: NCCL fails the collective otherwise. The one exception is init with
 * a table that NCCLTUNE_HASH does not allow. Only the chosen cell of the cost table is written, and nChannels only by a
 * rule that has channels. */
#include <limits.h>
#include <stdatomic.h>

#include "tuner/plugin/abi.h"
#include "tuner/plugin/control_internal.h"
#include "tuner/plugin/legacy.h"
#include "tuner/plugin/load.h"

#define NAME "nccltune"

/* ---- what all versions share ----------------------------------------------------------------------------------- */

static int count_of(size_t n)
{
    return n < INT_MAX ? (int)n : INT_MAX;
}

static int open_context(size_t ranks, size_t nodes, int domains, int api, nccl_logger log, const void *caller,
                        void **context)
{
    struct tuner_shape shape = {count_of(nodes), count_of(ranks), domains};
    struct plugin_context *c;
    int rc = plugin_open(&shape, api, log, caller, &c);
    if (context)
        *context = c;
    return rc;
}

static int close_context(void *context)
{
    if (context)
        plugin_close();
    return NCCLTUNE_SUCCESS;
}

static inline int armed(void)
{
    return __builtin_expect(atomic_load_explicit(&plugin_armed, memory_order_relaxed), 0);
}

static struct tuner_choice choose(const struct plugin_context *c, const struct tuner_call *call)
{
    return armed() ? plugin_control_choose(c, call) : plugin_table_choose(c, call);
}

/* ---- versions 3 to 6: the plugin edits a cost table ------------------------------------------------------------ */

static __attribute__((noinline)) int edit_costs(const struct plugin_context *c, const struct tuner_call *call,
                                                float *cost, int *channels)
{
    struct tuner_choice choice = choose(c, call);
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
        !armed() && c && c->index ? tuner_plain_answer(c->index, coll, bytes, cells, algos, protos) : NULL;
    if (answer && channels) {
        cells[answer->cell] = 0.0F;
        if (answer->channels)
            *channels = answer->channels;
        return NCCLTUNE_SUCCESS;
    }
    struct tuner_call call = {coll, bytes, pipe_ops, reg_buff, cells, algos, protos};
    return edit_costs(c, &call, cells, channels);
}

static int init_v3(size_t ranks, size_t nodes, nccl_logger log, void **context)
{
    return open_context(ranks, nodes, TUNER_UNKNOWN, 3, log, __builtin_return_address(0), context);
}

static int init_v4(size_t ranks, size_t nodes, nccl_logger log, void **context)
{
    return open_context(ranks, nodes, TUNER_UNKNOWN, 4, log, __builtin_return_address(0), context);
}

static int domains_of(const struct nccl_nvl_domains *d)
{
    return d && d->domains >= 0 ? d->domains : TUNER_UNKNOWN;
}

static int init_v5(void **context, uint64_t comm_id, size_t ranks, size_t nodes, nccl_logger log,
                   struct nccl_nvl_domains *domains, struct nccl_constants *constants)
{
    (void)comm_id;
    (void)constants;
    return open_context(ranks, nodes, domains_of(domains), 5, log, __builtin_return_address(0), context);
}

static int init_v6(void **context, uint64_t comm_id, size_t ranks, size_t nodes, nccl_logger log,
                   struct nccl_nvl_domains *domains, struct nccl_constants *constants)
{
    (void)comm_id;
    (void)constants;
    return open_context(ranks, nodes, domains_of(domains), 6, log, __builtin_return_address(0), context);
}

static int get_chunk_size_v6(void *context, int coll, size_t bytes, int algo, int proto, int channels,
                             size_t *chunk_bytes)
{
    if (!chunk_bytes)
        return NCCLTUNE_SUCCESS;
    struct plugin_slice slice = {coll, bytes, algo, proto, channels, *chunk_bytes};
    uint32_t chunk = armed() ? plugin_control_chunk(context, &slice) : plugin_table_chunk(context, &slice);
    if (chunk)
        *chunk_bytes = chunk;
    return NCCLTUNE_SUCCESS;
}

/* ---- versions 1 and 2: the plugin names algorithm and protocol ------------------------------------------------- */

static int name_choice(const struct plugin_context *c, struct tuner_call call, int collnet, int nvls, int nodes,
                       int *algo, int *proto, int *channels)
{
    float cost[PLUGIN_LEGACY_ALGOS * PLUGIN_LEGACY_PROTOS];
    plugin_legacy_costs(cost, call.coll, collnet, nvls, nodes);
    call.cost = cost;
    call.algos = PLUGIN_LEGACY_ALGOS;
    call.protos = PLUGIN_LEGACY_PROTOS;
    struct tuner_choice choice = choose(c, &call);
    if (choice.algo >= 0 && algo && proto) {
        *algo = choice.algo;
        *proto = choice.proto;
    }
    if (choice.channels > 0 && channels)
        *channels = choice.channels;
    return NCCLTUNE_SUCCESS;
}

static int init_v2(size_t ranks, size_t nodes, nccl_logger log, void **context)
{
    return open_context(ranks, nodes, TUNER_UNKNOWN, 2, log, __builtin_return_address(0), context);
}

static int get_coll_info_v2(void *context, int coll, size_t bytes, int collnet, int nvls, int pipe_ops, int *algo,
                            int *proto, int *channels)
{
    const struct plugin_context *c = context;
    struct tuner_call call = {.coll = coll, .bytes = bytes, .pipe_ops = pipe_ops, .reg_buff = TUNER_UNKNOWN};
    return name_choice(c, call, collnet, nvls, c ? c->shape.nodes : 0, algo, proto, channels);
}

/* Version 1 does not say which communicator a call is for. The first of the process stands for all of them: it is
 * nearly always the one over all ranks, so that ranks agree, while any later one is not known to the ranks outside it.
 * How many nodes a call spans is not known at all. */
static struct plugin_context *_Atomic first_context;

static int init_v1(size_t ranks, size_t nodes, nccl_logger log)
{
    struct plugin_context *none = NULL;
    void *context = NULL;
    int rc = open_context(ranks, nodes, TUNER_UNKNOWN, 1, log, __builtin_return_address(0), &context);
    atomic_compare_exchange_strong(&first_context, &none, context);
    return rc;
}

static int get_coll_info_v1(int coll, size_t bytes, int collnet, int nvls, int pipe_ops, int *algo, int *proto,
                            int *channels)
{
    struct tuner_call call = {.coll = coll, .bytes = bytes, .pipe_ops = pipe_ops, .reg_buff = TUNER_UNKNOWN};
    return name_choice(atomic_load(&first_context), call, collnet, nvls, 0, algo, proto, channels);
}

static int destroy_v1(void)
{
    plugin_close();
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
