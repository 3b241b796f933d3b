/* The control interface: forced choices and the record of the last call. Slow on purpose, one mutex around everything:
 * it is active while a benchmark steers the plugin, never in a job. */
#include "tuner/plugin/control.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/coll.h"
#include "tuner/plugin/abi.h"
#include "tuner/plugin/context.h"
#include "tuner/plugin/load.h"

#define SLICES 3

_Atomic int plugin_armed;

static struct {
    pthread_mutex_t mutex;
    int forced[COLL_COUNT];
    struct nccltune_force force[COLL_COUNT];
    struct nccltune_record record;
    uint64_t slices[SLICES]; /* that NCCL asked chunk sizes for since: of the first channel, the last, those between */
    int nslices;             /* more than SLICES: of several calls */
} control = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static const struct nccltune_force *forced_for(int coll)
{
    return coll >= 0 && coll < COLL_COUNT && control.forced[coll] ? &control.force[coll] : NULL;
}

static void record_call(const struct plugin_context *c, const struct tuner_call *call, const float *given)
{
    struct nccltune_record *r = &control.record;
    r->sequence++;
    r->channels_run = control.nslices = 0;
    r->bytes = call->bytes;
    r->allowed = 0;
    r->api = c ? c->api : 0;
    r->coll = call->coll;
    r->nodes = c ? c->shape.nodes : 0;
    r->ranks = c ? c->shape.ranks : 0;
    r->pipe_ops = call->pipe_ops;
    r->reg_buff = call->reg_buff;
    r->algos = call->algos;
    r->protos = call->protos;
    size_t cells = call->cost && call->algos > 0 && call->protos > 0 ? (size_t)call->algos * (size_t)call->protos : 0;
    for (size_t i = 0; i < NCCLTUNE_CONTROL_CELLS; i++) {
        r->cost[i] = i < cells ? given[i] : -1;
        r->allowed |= (uint64_t)(i < cells && tuner_is_available(call->cost[i])) << i;
    }
}

/* NCCL 2.31 asks for tasks on symmetric memory with a table in which every cell is ignored, and where it falls back for
 * the same call again (dev, src/tuning/tuning.cc): the first is no question. */
static int offers_nothing(const struct tuner_call *call, const float *given)
{
    size_t cells = call->cost && call->algos > 0 && call->protos > 0 ? (size_t)call->algos * (size_t)call->protos : 0;
    for (size_t i = 0; i < cells; i++)
        if (tuner_is_available(given[i]))
            return 0;
    return cells > 0;
}

struct tuner_choice plugin_control_choose(const struct plugin_context *c, const struct tuner_call *call,
                                          const float *given)
{
    struct tuner_choice choice;
    if (offers_nothing(call, given))
        return tuner_no_choice;
    pthread_mutex_lock(&control.mutex);
    struct nccltune_record *r = &control.record;
    const struct nccltune_force *f = forced_for(call->coll);
    record_call(c, call, given);
    if (f) {
        choice = tuner_choose_cell(f->algo, f->proto, call);
        choice.channels = choice.found ? f->channels : 0;
        r->source = choice.found ? NCCLTUNE_SOURCE_FORCED : NCCLTUNE_SOURCE_REFUSED;
    } else {
        choice = plugin_table_choose(c, call, given);
        r->source = choice.found ? NCCLTUNE_SOURCE_TABLE : NCCLTUNE_SOURCE_NONE;
    }
    r->algo = choice.algo;
    r->proto = choice.proto;
    r->channels = choice.channels;
    pthread_mutex_unlock(&control.mutex);
    return choice;
}

/* NCCL cuts a call into cells of a size that a channel is worth having for, so that it may need fewer channels than it
 * was asked to take (2.30.7, src/enqueue.cc, scheduleCollTasksToPlan). */
static void note_slice(const struct plugin_slice *s)
{
    struct nccltune_record *r = &control.record;
    if (s->coll != r->coll || control.nslices > SLICES)
        return;
    if (control.nslices < SLICES)
        control.slices[control.nslices] = s->bytes;
    int n = ++control.nslices;
    uint64_t rest = r->bytes - control.slices[0] - control.slices[1], between = control.slices[2];
    if (s->channels > 1)
        r->channels_run = n == 1 ? s->channels : 0;
    else if (n < SLICES)
        r->channels_run = n;
    else
        r->channels_run = n == SLICES && between && rest % between == 0 && rest / between <= TUNER_MAX_CHANNELS
                              ? 2 + (int)(rest / between)
                              : 0;
}

uint32_t plugin_control_chunk(const struct plugin_context *c, const struct plugin_slice *s)
{
    pthread_mutex_lock(&control.mutex);
    note_slice(s);
    const struct nccltune_force *f = forced_for(s->coll);
    int concerns = f && (f->algo < 0 || f->algo == s->algo) && (f->proto < 0 || f->proto == s->proto);
    uint32_t chunk = !f ? plugin_table_chunk(c, s) : concerns ? f->chunk_bytes : 0;
    pthread_mutex_unlock(&control.mutex);
    return chunk;
}

/* ---- exported -------------------------------------------------------------------------------------------------- */

PLUGIN_EXPORT int nccltune_control_version(void)
{
    return NCCLTUNE_CONTROL_VERSION;
}

PLUGIN_EXPORT void nccltune_control_arm(void)
{
    pthread_mutex_lock(&control.mutex);
    memset(control.forced, 0, sizeof control.forced);
    memset(&control.record, 0, sizeof control.record);
    atomic_store(&plugin_armed, 1);
    pthread_mutex_unlock(&control.mutex);
}

static int is_within(int value, int low, int high)
{
    return value >= low && value < high;
}

PLUGIN_EXPORT int nccltune_control_force(const struct nccltune_force *f)
{
    if (!f || !atomic_load(&plugin_armed) || !is_within(f->coll, NCCLTUNE_CONTROL_ALL, COLL_COUNT) ||
        !is_within(f->algo, -1, ALGO_COUNT) || !is_within(f->proto, -1, PROTO_COUNT) ||
        !is_within(f->channels, 0, TUNER_MAX_CHANNELS + 1))
        return -1;
    pthread_mutex_lock(&control.mutex);
    for (int coll = 0; coll < COLL_COUNT; coll++)
        if (f->coll == NCCLTUNE_CONTROL_ALL || f->coll == coll) {
            control.force[coll] = *f;
            control.forced[coll] = 1;
        }
    pthread_mutex_unlock(&control.mutex);
    return 0;
}

PLUGIN_EXPORT void nccltune_control_next(struct nccltune_next *n)
{
    const struct plugin_next *next = plugin_next_active();
    memset(n, 0, sizeof *n);
    if (!next)
        return;
    n->version = next->version;
    snprintf(n->name, sizeof n->name, "%.63s", next->name);
    snprintf(n->path, sizeof n->path, "%.255s", next->path);
}

PLUGIN_EXPORT int nccltune_control_last(struct nccltune_record *r)
{
    pthread_mutex_lock(&control.mutex);
    int none = !control.record.sequence;
    if (r && !none)
        *r = control.record;
    pthread_mutex_unlock(&control.mutex);
    return r && !none ? 0 : -1;
}
