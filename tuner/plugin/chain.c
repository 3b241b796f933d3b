/* Asking the next tuner, in its own version of the interface. What NCCL's version does not pass is what NCCL itself
 * puts there for a tuner of another one, or the plain case: no registered buffers, a domain a node, constants that
 * nobody reads. */
#include "tuner/plugin/chain.h"

#include <stdio.h>
#include <string.h>

#include "tuner/plugin/guard.h"
#include "tuner/plugin/legacy.h"

#define CONSTANTS_BYTES 8192 /* NCCL's have 1152 */

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

struct init_call {
    struct plugin_chain *chain;
    const struct plugin_opening *opening;
};

/* As NCCL itself hands its constants to a tuner of another version, and takes them back. */
static void copy_constants(double *to, int rows_to, const double *from, int rows_from)
{
    const size_t row = NCCL_BANDWIDTH_ROW, rows = (size_t)(rows_to < rows_from ? rows_to : rows_from);
    memcpy(to, from, NCCL_LATENCIES * sizeof *to);
    for (size_t i = 0; i < NCCL_BANDWIDTHS; i++)
        memcpy(to + NCCL_LATENCIES + i * row * (size_t)rows_to, from + NCCL_LATENCIES + i * row * (size_t)rows_from,
               rows * row * sizeof *to);
}

static int rows_of(int version)
{
    return version >= 7 ? NCCL_ROWS_V7 : NCCL_ROWS_V5;
}

static int init_new(struct plugin_chain *c, const struct plugin_opening *o)
{
    static double unread[CONSTANTS_BYTES / sizeof(double)];
    const struct nccl_tuner_v5 *t = c->next->tuner;
    size_t nodes = o->nodes ? o->nodes : 1;
    struct nccl_nvl_domains plain = {(int)nodes, (int)(o->ranks / nodes), (int)((o->ranks + nodes - 1) / nodes)};
    struct nccl_constants *constants = o->constants;
    if (!constants) {
        memset(unread, 0, sizeof unread);
        constants = (struct nccl_constants *)unread;
    }
    double translated[NCCL_CONSTANTS_V7] = {0};
    int ours = rows_of(o->api), theirs = rows_of(c->next->version), differ = o->constants && ours != theirs;
    if (differ)
        copy_constants(translated, theirs, (const double *)constants, ours);
    int rc = t->init(&c->context, o->comm_id, o->ranks, o->nodes, o->log, o->domains ? o->domains : &plain,
                     differ ? (struct nccl_constants *)translated : constants);
    if (differ && rc == NCCLTUNE_SUCCESS)
        copy_constants((double *)constants, ours, translated, theirs);
    return rc;
}

static int init_any(void *arg)
{
    const struct init_call *i = arg;
    const struct plugin_opening *o = i->opening;
    const struct nccl_tuner_v1 *v1 = i->chain->next->tuner;
    const struct nccl_tuner_v2 *v2 = i->chain->next->tuner; /* init is the same up to version 4 */
    int version = i->chain->next->version;
    if (version >= 5)
        return init_new(i->chain, o);
    return version == 1 ? v1->init(o->ranks, o->nodes, o->log)
                        : v2->init(o->ranks, o->nodes, o->log, &i->chain->context);
}

int plugin_chain_init(struct plugin_chain *c, const struct plugin_opening *o, char *why, size_t size)
{
    struct init_call call = {c, o};
    int rc = NCCLTUNE_SUCCESS;
    c->context = NULL;
    int crash = plugin_guard(init_any, &call, &rc);
    if (crash)
        snprintf(why, size, "its init crashed (signal %d)", crash);
    else if (rc != NCCLTUNE_SUCCESS)
        snprintf(why, size, "its init failed (result %d)", rc);
    return crash || rc ? -1 : 0;
}

void plugin_chain_destroy(const struct plugin_chain *c)
{
    const struct nccl_tuner_v1 *v1 = c->next->tuner;
    const struct nccl_tuner_v2 *v2 = c->next->tuner; /* the fourth member from version 2 on */
    if (c->next->version == 1)
        v1->destroy();
    else
        v2->destroy(c->context);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static int reg_buff_of(const struct tuner_call *call)
{
    return call->reg_buff == TUNER_UNKNOWN ? 0 : call->reg_buff;
}

static int ask_costs(const struct plugin_chain *c, const struct tuner_call *call, float *cost, int *channels)
{
    const struct nccl_tuner_v3 *v3 = c->next->tuner;
    const struct nccl_tuner_v4 *v4 = c->next->tuner; /* the same call in versions 5 to 7 */
    float **table = (float **)cost;
    return c->next->version == 3 ? v3->get_coll_info(c->context, call->coll, call->bytes, call->pipe_ops, table,
                                                     call->algos, call->protos, channels)
                                 : v4->get_coll_info(c->context, call->coll, call->bytes, call->pipe_ops, table,
                                                     call->algos, call->protos, reg_buff_of(call), channels);
}

static int ask_names(const struct plugin_chain *c, const struct tuner_call *call, int collnet, int nvls, int *algo,
                     int *proto, int *channels)
{
    const struct nccl_tuner_v1 *v1 = c->next->tuner;
    const struct nccl_tuner_v2 *v2 = c->next->tuner;
    return c->next->version == 1
               ? v1->get_coll_info(call->coll, call->bytes, collnet, nvls, call->pipe_ops, algo, proto, channels)
               : v2->get_coll_info(c->context, call->coll, call->bytes, collnet, nvls, call->pipe_ops, algo, proto,
                                   channels);
}

/* As NCCL 2.22 and later asks a tuner of version 2: what is supported is read from the table, and a cell that is named
 * and available becomes the cheapest. */
int plugin_chain_costs(const struct plugin_chain *c, const struct tuner_call *call, float *cost, int *channels)
{
    if (c->next->version >= 3)
        return ask_costs(c, call, cost, channels);
    int algo = TUNER_ANY, proto = TUNER_ANY;
    int collnet = tuner_has_cell(call, ALGO_COLLNET_CHAIN, PROTO_SIMPLE);
    int nvls = tuner_has_cell(call, ALGO_NVLS, PROTO_SIMPLE) || tuner_has_cell(call, ALGO_NVLS_TREE, PROTO_SIMPLE);
    int rc = ask_names(c, call, collnet, nvls, &algo, &proto, channels);
    if (rc == NCCLTUNE_SUCCESS && algo >= 0 && proto >= 0 && tuner_has_cell(call, algo, proto))
        cost[(size_t)algo * (size_t)call->protos + (size_t)proto] = 0.0F;
    return rc;
}

int plugin_chain_names(const struct plugin_chain *c, const struct tuner_call *call, int collnet, int nvls, float *cost,
                       const struct plugin_names *names)
{
    float before[PLUGIN_LEGACY_ALGOS * PLUGIN_LEGACY_PROTOS];
    if (c->next->version <= 2)
        return ask_names(c, call, collnet, nvls, names->algo, names->proto, names->channels);
    memcpy(before, cost, sizeof before);
    int rc = ask_costs(c, call, cost, names->channels), best = -1;
    for (int i = 0; i < PLUGIN_LEGACY_ALGOS * PLUGIN_LEGACY_PROTOS; i++) {
        if (!tuner_is_available(before[i]))
            cost[i] = before[i];
        else if (tuner_is_available(cost[i]) && (best < 0 || cost[i] < cost[best]))
            best = i;
    }
    if (rc == NCCLTUNE_SUCCESS && best >= 0 && cost[best] < before[best]) {
        *names->algo = best / PLUGIN_LEGACY_PROTOS;
        *names->proto = best % PLUGIN_LEGACY_PROTOS;
    }
    return rc;
}

int plugin_chain_chunk(const struct plugin_chain *c, const struct plugin_slice *s, size_t *chunk_bytes)
{
    const struct nccl_tuner_v6 *v6 = c->next->tuner;
    return c->next->version >= 6 && v6->get_chunk_size
               ? v6->get_chunk_size(c->context, s->coll, s->bytes, s->algo, s->proto, s->channels, chunk_bytes)
               : NCCLTUNE_SUCCESS;
}
