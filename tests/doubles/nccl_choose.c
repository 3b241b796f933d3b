/* What a call of the NCCL double runs with: the cost table, the tuner, the chunk. */
#include <stdlib.h>
#include <strings.h>

#include "tests/doubles/nccl_comm.h"
#include "tests/doubles/nccl_fault.h"

static void offer(const struct ncclComm *c, int coll, uint64_t bytes, int registered,
                  float cost[ALGO_COUNT][PROTO_COUNT])
{
    const char *pinned = getenv("NCCL_ALGO"); /* one name */
    double unused = 1;
    for (int a = 0; a < ALGO_COUNT; a++)
        for (int p = 0; p < PROTO_COUNT; p++) {
            struct fault_call f = {
                .rank = c->world_rank, .coll = coll, .algo = a, .proto = p, .bytes = bytes, .number = c->calls};
            int withheld =
                fault_of(&f, &unused) == FAULT_WITHHOLD || (pinned && *pinned && strcasecmp(pinned, algo_name(a)) != 0);
            cost[a][p] = withheld ? -1 : (float)law_predict_us(&c->law, coll, a, p, bytes, registered);
        }
}

/* For CollNet and, over nodes, NVLS NCCL takes what the tuner says as it is. */
static void check_channels(const struct ncclComm *c, const struct header *h)
{
    int unchecked = h->algo == ALGO_COLLNET_DIRECT || h->algo == ALGO_COLLNET_CHAIN || h->algo == ALGO_NVLS_TREE ||
                    (h->algo == ALGO_NVLS && c->nnodes > 1);
    if (unchecked && c->law.connected[h->algo] && h->channels > c->law.connected[h->algo]) {
        WARN("%d channels of %s are asked for and %d connected", h->channels, algo_name(h->algo),
             c->law.connected[h->algo]);
        abort();
    }
}

static uint64_t variable(const char *name, uint64_t otherwise)
{
    const char *value = getenv(name);
    return value ? strtoull(value, NULL, 10) : otherwise;
}

/* As NCCL: eight steps share a buffer, Ring with Simple takes four at a time, flags are not data. */
static uint64_t longest_chunk(const struct header *h)
{
    if (h->proto == PROTO_LL)
        return variable("NCCL_LL_BUFFSIZE", 524288) / 16;
    if (h->proto == PROTO_LL128)
        return variable("NCCL_LL128_BUFFSIZE", 4915200) / 128 * 15;
    return variable("NCCL_BUFFSIZE", 4194304) / (h->algo == ALGO_RING ? 2 : 8);
}

int comm_choose(struct comm_call *x, uint64_t bytes)
{
    static const char *const names[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                        "AllReduce", "AlltoAll", "SendRecv"};
    struct ncclComm *c = x->comm;
    struct header *h = &x->header;
    if (h->coll < COLL_COUNT) {
        float cost[ALGO_COUNT][PROTO_COUNT];
        offer(c, h->coll, bytes, x->registered, cost);
        int rc = tuner_ask(&c->tuner, h->coll, bytes, x->registered, cost, &h->algo, &h->proto, &h->channels);
        if (rc) {
            WARN("No algorithm/protocol available for function %s", names[h->coll]);
            return rc;
        }
    }
    check_channels(c, h);
    h->channels = h->channels <= 0 ? law_channels(&c->law, bytes) : h->channels;
    h->channels = h->channels > c->law.channels ? c->law.channels : h->channels;
    INFO("%s: %zu Bytes -> Algo %s proto %s channel{Lo..Hi}={0..%d}", names[h->coll], (size_t)bytes, algo_name(h->algo),
         proto_name(h->proto), h->channels - 1);
    return SUCCESS;
}

/* How 2.30 cuts a call (2.30.7, src/enqueue.cc, scheduleCollTasksToPlan): slices of the first channel, the last one and
 * those between, all but the last of whole cells; `cell` 1: of as many bytes each. Returns how many channels that
 * takes. */
static int cut_into_slices(uint64_t bytes, int channels, uint64_t cell, uint64_t slices[3])
{
    uint64_t cells = (bytes + cell - 1) / cell, each = (cells + (uint64_t)channels - 1) / (uint64_t)channels;
    uint64_t between = (cells - each) / each, last = (cells - each) % each;
    if (!last && between) {
        last = each;
        between--;
    }
    slices[0] = each * cell - (last ? 0 : cells * cell - bytes);
    slices[1] = last ? last * cell - (cells * cell - bytes) : 0;
    slices[2] = between ? each * cell : 0;
    return 1 + (last > 0) + (int)between;
}

int comm_choose_chunk(struct comm_call *x)
{
    struct header *h = &x->header;
    uint64_t longest = longest_chunk(h), slices[3],
             cell = x->comm->law.cell_bytes > 0 ? (uint64_t)x->comm->law.cell_bytes : 1;
    size_t asked = h->chunk < longest ? h->chunk : longest, chunk = asked;
    int rc = SUCCESS;
    h->channels = cut_into_slices(x->bytes, h->channels, cell, slices);
    for (int i = 0; i < 3 && !rc; i++)
        if (slices[i]) {
            chunk = asked;
            rc = tuner_ask_chunk(&x->comm->tuner, h->coll, slices[i], h->algo, h->proto, &chunk);
        }
    h->chunk = chunk < longest ? chunk : longest;
    return rc;
}
