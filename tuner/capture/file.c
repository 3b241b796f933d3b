/* The file of a rank: a workload (nccltune-workload.json(5)) whose counts are those of the run so far.
 *
 * It is written beside its name, synced and renamed, so that a reader sees a whole file or none, whatever becomes of
 * the job. No number goes through a locale. */
#include "tuner/capture/comm.h"
#include "tuner/capture/job.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timex.h>

/* ---- what was captured ------------------------------------------------------------------------------------------- */

/* What is to be said of all communicators together. */
struct whole {
    int ranks, per_node;
    int oldest, newest; /* interfaces */
    int assumed_ranks;  /* some communicator's size is not known */
    uint64_t counters[PROFILER_COUNTERS];
    uint64_t ran[COLL_COUNT]; /* outside CUDA graphs, as NCCL tells it */
};

/* The numbers of one communicator: told, else gathered, else the job's. */
static int ranks_of(const struct profiler_comm *c, const struct profiler_job *job)
{
    int told = atomic_load(&c->ranks), least = atomic_load(&c->least_ranks);
    if (told)
        return told;
    return job->ranks > least ? job->ranks : least > 2 ? least : 2;
}

static struct whole survey(const struct profiler_job *job, struct profiler_comm *const *comms, size_t count)
{
    struct whole w = {.ranks = job->ranks > 1 ? job->ranks : 1, .oldest = 0};
    struct profiler_call call;
    uint64_t n;
    int largest = 0;
    for (size_t i = 0; i < count; i++) {
        int ranks = ranks_of(comms[i], job);
        w.ranks = ranks > w.ranks ? ranks : w.ranks;
        if (ranks > largest && comms[i]->nodes) {
            largest = ranks;
            w.per_node = comms[i]->nodes > 0 ? (ranks + comms[i]->nodes - 1) / comms[i]->nodes : 0;
        }
        w.oldest = !w.oldest || comms[i]->api < w.oldest ? comms[i]->api : w.oldest;
        w.newest = comms[i]->api > w.newest ? comms[i]->api : w.newest;
        w.assumed_ranks |= !atomic_load(&comms[i]->ranks);
        for (int k = 0; k < PROFILER_COUNTERS; k++)
            w.counters[k] += atomic_load(&comms[i]->table.counters[k]);
        for (int slot = 0; slot < PROFILER_SLOTS; slot++)
            if (profiler_table_call(&comms[i]->table, slot, &call, &n) && call.kind < COLL_COUNT &&
                !(call.kind == COLL_BROADCAST && call.algo < 0))
                w.ran[call.kind] += n;
    }
    for (int coll = 0; coll < COLL_COUNT; coll++)
        w.ran[coll] -= w.counters[PROFILER_REPLAYED + coll];
    if (job->per_node)
        w.per_node = job->per_node;
    if (!w.per_node || w.per_node > w.ranks)
        w.per_node = w.ranks;
    return w;
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

/* AllGather and ReduceScatter are counted by the share of one rank; a workload has the whole. */
static uint64_t whole_bytes(const struct profiler_call *call, int ranks)
{
    int shared = call->kind == COLL_ALLGATHER || call->kind == COLL_REDUCESCATTER;
    uint64_t bytes = shared ? call->bytes * (uint64_t)ranks : call->bytes;
    return bytes < UINT64_C(1) << 53 ? bytes : UINT64_C(1) << 53;
}

/* Neighbours in a group that spans its nodes evenly are that far apart. */
static int stride_of(const struct profiler_comm *c, int ranks, const struct whole *w)
{
    int64_t stride = c->nodes > 1 ? (int64_t)w->per_node * c->nodes / ranks : 1;
    return stride < 1 ? 1 : (int)stride;
}

static void put_call(struct observe_text *d, const struct profiler_comm *c, int slot, const struct profiler_job *job,
                     const struct whole *w, int *first)
{
    struct profiler_call call;
    uint64_t sum_ns, count, id = atomic_load(&c->id);
    if (!profiler_table_call(&c->table, slot, &call, &count) || !count)
        return;
    int ranks = ranks_of(c, job);
    struct observe_call o = {.kind = call.kind,
                             .bytes = whole_bytes(&call, ranks),
                             .count = count,
                             .group = id == UINT64_MAX ? 0 : id,
                             .group_size = call.kind == COLL_SENDRECV ? 2 : ranks,
                             .crosses_nodes = c->nodes ? c->nodes > 1 : ranks > w->per_node,
                             .stride = stride_of(c, ranks, w),
                             .algo = call.algo,
                             .proto = call.proto,
                             .channels = call.channels,
                             .timed = profiler_table_timed(&c->table, slot, &sum_ns)};
    const char *dtype = profiler_dtype_name(call.dtype);
    snprintf(o.dtype, sizeof o.dtype, "%s", dtype ? dtype : "");
    o.total_us = o.timed ? (double)sum_ns / 1e3 : -1;
    o.median_us = o.timed ? profiler_table_median_us(&c->table, slot) : -1;
    o.steady_us = o.timed ? profiler_table_steady_us(&c->table, slot) : -1;
    observe_put_call(d, &o, *first);
    *first = 0;
}

/* What NCCL said was called, and never said to have run. A few calls are always on their way. */
static void put_unseen(struct observe_text *d, const struct whole *w)
{
    for (int coll = 0; coll < COLL_COUNT; coll++) {
        uint64_t made = w->counters[PROFILER_MADE + coll], unseen = made > w->ran[coll] ? made - w->ran[coll] : 0;
        if (unseen <= made / 100 + w->counters[PROFILER_LOST])
            continue;
        observe_put(d, ",\n    \"NCCL reports neither algorithm nor time of %llu %s calls%s\"",
                    (unsigned long long)unseen, coll_name(coll),
                    coll == COLL_BROADCAST ? "; they are counted as they were made"
                                           : ", as of those on symmetric memory; they are missing");
    }
}

static void put_notes(struct observe_text *d, const struct profiler_job *job, const struct whole *w)
{
    const struct {
        uint64_t n;
        const char *text;
    } counted[] = {
        {w->counters[PROFILER_DOUBTED],
         "in %llu communicators ranks sent to themselves; after that NCCL reports times of other calls, "
         "which are left out"},
        {w->counters[PROFILER_IMPOSSIBLE], "%llu times were longer than what had passed, and are left out"},
        {w->counters[PROFILER_CAPTURED],
         "%llu calls were captured into CUDA graphs; without a host callback in the graph NCCL does not "
         "report replays, so they count once"},
        {w->counters[PROFILER_ROUNDED],
         "%llu calls of more sizes than a table holds are counted at a size near theirs"},
        {w->counters[PROFILER_LOST], "%llu calls found no place in the tables and are missing"},
        {job->late, "%llu intermediate files were skipped, because the directory was slow; counts are complete"},
    };
    observe_put(d, "  \"notes\": [\n    \"captured in %llu s by rank %s through NCCL's profiler interface %d\"",
                (unsigned long long)job->seconds, job->rank, w->newest);
    if (w->oldest && w->oldest < 4)
        observe_put(d, ",\n    \"interface %d reports no times, and the largest number of channels of a call\"",
                    w->oldest);
    else if (job->refused_times)
        observe_put(d, ",\n"
                       "    \"times were requested and refused: NCCL 2.29 and later report wrong ones unless "
                       "NCCL_ALLGATHERV_ENABLE is 0\"");
    else if (!job->times)
        observe_put(d, ",\n    \"no times were requested\"");
    else
        observe_put(d, ",\n"
                       "    \"times are the GPU's, from the first channel's start to the last one's end; they include "
                       "the wait for other ranks\"");
    put_unseen(d, w);
    if (w->assumed_ranks)
        observe_put(d,
                    ",\n"
                    "    \"interface %d does not report the size of groups; if unknown, all %d ranks are assumed\"",
                    w->oldest, w->ranks);
    if (w->oldest && w->oldest < 4)
        observe_put(
            d, ",\n    \"interface %d does not report nodes; groups of more than %d ranks are assumed to cross nodes\"",
            w->oldest, w->per_node);
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        if (counted[i].n) {
            observe_put(d, ",\n    \"");
            observe_put(d, counted[i].text, (unsigned long long)counted[i].n);
            observe_put(d, "\"");
        }
    if (job->missed)
        observe_put(d, ",\n    \"%u communicators beyond %d at one time are missing\"", job->missed, PROFILER_COMMS);
    if (job->twins)
        observe_put(
            d, ",\n    \"this process runs several ranks; a communicator with more than one of them counts once\"");
    observe_put(d, "\n  ]\n");
}

#define ENTERED_COMMS 4  /* the largest */
#define ENTERED_CALLS 32 /* too few tell nothing */

/* The communicator with the most ranks behind `than` in their order, by ranks and then by place. */
static const struct profiler_comm *next_largest(struct profiler_comm *const *comms, size_t count,
                                                const struct profiler_comm *than)
{
    const struct profiler_comm *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct profiler_comm *c = comms[i];
        int ranks = atomic_load(&c->ranks), most = best ? atomic_load(&best->ranks) : 0,
            limit = than ? atomic_load(&than->ranks) : INT_MAX;
        uint64_t id = atomic_load(&c->id);
        if (!id || id == UINT64_MAX || atomic_load(&c->entered) < ENTERED_CALLS || ranks <= most || ranks > limit ||
            (than && ranks == limit && c->index <= than->index))
            continue;
        best = c;
    }
    return best;
}

/* The host's times, in microseconds since the job began: "number:time number:time". */
static void put_entered(struct observe_text *d, const struct profiler_comm *c, const struct profiler_job *job,
                        const char *comma)
{
    const char *blank = "";
    observe_put(d, "%s\n    {\"group\": \"%016llx\", \"calls\": %llu, \"entered\": \"", comma,
                (unsigned long long)atomic_load(&c->id), (unsigned long long)atomic_load(&c->entered));
    for (size_t i = 0; i < PROFILER_ENTRIES; i++) {
        uint64_t number = atomic_load(&c->entries[i].number), at_us = atomic_load(&c->entries[i].at_ns) / 1000;
        if (!number || number != atomic_load(&c->entries[i].number) || at_us < job->began * 1000000)
            continue;
        observe_put(d, "%s%llu:%llu", blank, (unsigned long long)number,
                    (unsigned long long)(at_us - job->began * 1000000));
        blank = " ";
    }
    observe_put(d, "\"}");
}

/* What the kernel says of its clock's error; -1: nobody sets the clock. */
static long clock_error_us(void)
{
    struct timex t = {.modes = 0};
    int state = adjtimex(&t);
    return state < 0 || state == TIME_ERROR || t.status & STA_UNSYNC ? -1 : t.esterror;
}

static void put_entries(struct observe_text *d, const struct profiler_job *job, struct profiler_comm *const *comms,
                        size_t count)
{
    const char *comma = "";
    const struct profiler_comm *c = NULL;
    long error_us = clock_error_us();
    if (error_us >= 0)
        observe_put(d, "  \"clock_error_us\": %ld,\n", error_us);
    observe_put(d, "  \"entries\": [");
    for (int i = 0; i < ENTERED_COMMS && (c = next_largest(comms, count, c)); i++, comma = ",")
        put_entered(d, c, job, comma);
    observe_put(d, "],\n");
}

static void put_document(struct observe_text *d, const struct profiler_job *job, struct profiler_comm *const *comms,
                         size_t count)
{
    struct whole w = survey(job, comms, count);
    int first = 1;
    observe_put(d, "{\n  \"format\": \"nccltune-workload/1\",\n  \"name\": \"%s\",\n  \"source\": \"captured\",\n",
                job->name);
    observe_put(d, "  \"tool\": \"%s\",\n  \"rank\": \"%s\",\n  \"seconds\": %llu,\n", NCCLTUNE_VERSION, job->rank,
                (unsigned long long)job->seconds);
    observe_put(d, "  \"host\": \"%s\",\n  \"began\": %llu,\n  \"ended\": %s,\n", job->host,
                (unsigned long long)job->began, job->ended ? "true" : "false");
    observe_put(d, "  \"ranks\": %d,\n  \"ranks_per_node\": %d,\n  \"counts_per\": \"run\",\n", w.ranks, w.per_node);
    observe_put(d, "  \"phases\": [\n    {\n      \"name\": \"run\",\n      \"collectives\": [");
    for (size_t i = 0; i < count; i++)
        for (int slot = 0; slot < PROFILER_SLOTS; slot++)
            put_call(d, comms[i], slot, job, &w, &first);
    observe_put(d, "%s]\n    }\n  ],\n", first ? "" : "\n      ");
    put_entries(d, job, comms, count);
    put_notes(d, job, &w);
    observe_put(d, "}\n");
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

void profiler_file_make(struct profiler_document *d, const struct profiler_job *job, struct profiler_comm *const *comms,
                        size_t count)
{
    d->text.used = 0;
    d->text.error = 0;
    snprintf(d->dir, sizeof d->dir, "%s", job->dir);
    snprintf(d->path, sizeof d->path, "%s/%s.rank.%s.json", job->dir, job->name, job->rank);
    snprintf(d->beside, sizeof d->beside, "%s/.%s.rank.%s.%d", job->dir, job->name, job->rank, job->pid);
    put_document(&d->text, job, comms, count);
}

int profiler_file_write(struct profiler_document *d, char *why, size_t size)
{
    mkdir(d->dir, 0777); /* when it is there, or cannot be, opening a file in it will tell */
    int error = observe_write(&d->text, d->beside, d->path);
    if (error)
        snprintf(why, size, "cannot write %s: %s; the capture goes on", d->path, strerror(error));
    return error ? -1 : 0;
}
