/* The capture of a process: its communicators, and when its file is written.
 *
 * Opening and closing take a mutex; counting does not. A file is written when the last communicator closes, at the end
 * of the program, and at intervals by whichever launching thread comes past the time, so that a job that is killed has
 * lost one interval. A child of fork inherits the memory but captures nothing. */
#include "tuner/capture/process.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tuner/capture/abi.h"
#include "tuner/capture/file.h"
#include "tuner/plugin/elf.h"

#define CLOSING_NS (UINT64_C(5) * 1000000000) /* between two files while communicators are closed one by one */

_Atomic(struct profiler_comm *) profiler_comms[PROFILER_COMMS];

static struct {
    pthread_mutex_t mutex;
    _Atomic int held; /* the mutex is; pthread_mutex_trylock would bind glibc 2.34 */
    int judged;
    _Atomic int wanted; /* set behind `job`, and read without the mutex */
    struct profiler_job job;
    nccl_logger log;
    unsigned live;
    uint64_t began_ns, wrote_ns;
    int failing; /* the last file could not be written, and this was said */
    int changed; /* since the last file: communicators were opened or closed */
    _Atomic uint64_t next_ns;
} process = {.mutex = PTHREAD_MUTEX_INITIALIZER, .next_ns = UINT64_MAX};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void say(int level, const char *text)
{
    if (process.log)
        process.log(level, level == NCCLTUNE_LOG_WARN ? NCCLTUNE_SUBSYS_ALL : NCCLTUNE_SUBSYS_INIT, __FILE__, __LINE__,
                    "nccltune: %s", text);
}

static void lock(void)
{
    pthread_mutex_lock(&process.mutex);
    atomic_store(&process.held, 1);
}

static void unlock(void)
{
    atomic_store(&process.held, 0);
    pthread_mutex_unlock(&process.mutex);
}

static int is_ours(void)
{
    return process.wanted && process.job.pid == getpid();
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void write_file(void)
{
    static struct profiler_comm *comms[PROFILER_COMMS]; /* under the mutex */
    char why[PROFILER_PATH + 512];
    size_t count = 0;
    for (size_t i = 0; i < PROFILER_COMMS; i++) {
        struct profiler_comm *c = atomic_load(&profiler_comms[i]);
        if (c && c->state != PROFILER_FREE && !atomic_load(&c->twin))
            comms[count++] = c;
    }
    process.wrote_ns = now_ns();
    process.job.seconds = (process.wrote_ns - process.began_ns) / 1000000000;
    atomic_store(&process.next_ns, process.job.interval_ns ? process.wrote_ns + process.job.interval_ns : UINT64_MAX);
    if (!profiler_file_write(&process.job, comms, count, why, sizeof why)) {
        process.failing = process.changed = 0;
    } else if (!process.failing) {
        process.failing = 1;
        say(NCCLTUNE_LOG_WARN, why);
    }
}

void profiler_tick(void)
{
    uint64_t next = atomic_load_explicit(&process.next_ns, memory_order_relaxed);
    if (__builtin_expect(now_ns() < next, 1))
        return;
    /* One thread gets the task; write_file sets the next time. */
    if (!is_ours() || !atomic_compare_exchange_strong(&process.next_ns, &next, UINT64_MAX))
        return;
    int before = errno;
    lock();
    write_file();
    unlock();
    errno = before;
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

static int same_id(const struct profiler_comm *c, uint64_t id)
{
    return c && c->state == PROFILER_LIVE && atomic_load(&c->id) == id;
}

/* Whether another rank of this process has opened the communicator before. */
static int has_twin(const struct profiler_comm *than, uint64_t id)
{
    for (size_t i = 0; i < PROFILER_COMMS; i++) {
        const struct profiler_comm *c = atomic_load(&profiler_comms[i]);
        if (c != than && same_id(c, id))
            return 1;
    }
    return 0;
}

/* A free one, or a new one in an empty place; NULL: none. */
static struct profiler_comm *take_comm(void)
{
    for (unsigned i = 0; i < PROFILER_COMMS; i++) {
        struct profiler_comm *c = atomic_load(&profiler_comms[i]);
        if (c && c->state == PROFILER_FREE)
            return c;
        if (c)
            continue;
        c = calloc(1, sizeof *c);
        if (c)
            c->index = i;
        atomic_store(&profiler_comms[i], c);
        return c;
    }
    return NULL;
}

static struct profiler_comm *open_comm(const struct profiler_shape *shape)
{
    if (shape->ranks == 1)
        return NULL; /* it has nobody to talk to */
    if (shape->id && has_twin(NULL, shape->id)) {
        process.job.twins++;
        return NULL;
    }
    struct profiler_comm *c = take_comm();
    if (!c) {
        process.job.missed++;
        return NULL;
    }
    c->state = PROFILER_LIVE;
    c->api = shape->api;
    c->nodes = shape->nodes;
    c->rank = shape->rank;
    c->timed = shape->api >= 4 && process.job.with_times;
    atomic_store(&c->ranks, shape->ranks);
    atomic_store(&c->least_ranks, 0);
    atomic_store(&c->id, shape->id);
    atomic_store(&c->twin, 0);
    for (size_t i = 0; i < PROFILER_WORDS; i++)
        atomic_store(&c->words[i], 0);
    for (size_t i = 0; i < PROFILER_GROUPS; i++)
        if (atomic_load(&c->groups[i].ticket)) /* without touching pages that nobody used */
            atomic_store(&c->groups[i].ticket, 0);
    process.live++;
    return c;
}

static int wanted_events(int api)
{
    int mask = NCCL_PROFILE_GROUP | NCCL_PROFILE_COLL | NCCL_PROFILE_P2P;
    if (api >= 4 && process.job.with_times)
        mask |= NCCL_PROFILE_KERNEL_CHANNEL;
    return api >= 6 ? mask | NCCL_PROFILE_CE_COLL : mask;
}

/* NCCL has one mask for all communicators, and other threads may be reading it. */
static void set_mask(int *mask, int events)
{
    __atomic_store_n(mask, events, __ATOMIC_RELAXED);
}

static void judge(nccl_logger log)
{
    char why[512];
    process.judged = 1;
    process.log = log;
    process.wanted = profiler_job_read(&process.job, why, sizeof why);
    if (why[0])
        say(NCCLTUNE_LOG_WARN, why);
    process.began_ns = process.wrote_ns = now_ns();
    if (!process.wanted)
        return;
    if (process.job.interval_ns)
        atomic_store(&process.next_ns, process.began_ns + process.job.interval_ns);
    plugin_elf_stay(&process); /* NCCL unloads it with the last communicator, but the counts are of the process */
}

struct profiler_comm *profiler_open(const struct profiler_shape *shape, nccl_logger log, int *mask)
{
    struct profiler_comm *c = NULL;
    if (process.wanted && !is_ours()) {
        set_mask(mask, 0);
        return NULL;
    }
    lock();
    if (!process.judged)
        judge(log);
    set_mask(mask, process.wanted ? wanted_events(shape->api) : 0);
    if (process.wanted) {
        profiler_job_doubt(&process.job, shape->ranks);
        c = open_comm(shape);
        process.changed |= c != NULL;
    }
    unlock();
    return c;
}

void profiler_introduce(struct profiler_comm *c, uint64_t id)
{
    if (!is_ours())
        return;
    lock();
    if (!atomic_load(&c->id) && has_twin(c, id)) {
        atomic_store(&c->twin, 1);
        process.job.twins++;
    }
    atomic_store(&c->id, id);
    unlock();
}

/* Whether what is known of their ranks and nodes is the same. */
static int same_shape(const struct profiler_comm *x, const struct profiler_comm *y)
{
    int ranks = atomic_load(&x->ranks);
    return x->api == y->api && x->nodes == y->nodes && ranks == atomic_load(&y->ranks) &&
           (ranks || atomic_load(&x->least_ranks) == atomic_load(&y->least_ranks));
}

/* A closed communicator of the same shape that can take the counts over. */
static struct profiler_comm *past_of(const struct profiler_comm *than)
{
    for (size_t i = 0; i < PROFILER_COMMS; i++) {
        struct profiler_comm *c = atomic_load(&profiler_comms[i]);
        if (c && c->state == PROFILER_PAST && same_shape(c, than))
            return c;
    }
    return NULL;
}

static void close_comm(struct profiler_comm *c)
{
    struct profiler_comm *past = past_of(c);
    uint64_t id = atomic_load(&c->id);
    for (size_t i = 0; i < PROFILER_COMMS; i++) { /* those that found their twin late keep quiet after it, too */
        struct profiler_comm *other = atomic_load(&profiler_comms[i]);
        if (id && other != c && same_id(other, id))
            atomic_store(&other->twin, 1);
    }
    c->state = PROFILER_FREE;
    if (atomic_load(&c->twin))
        profiler_table_drain(NULL, &c->table);
    else if (past)
        profiler_table_drain(&past->table, &c->table);
    else
        c->state = PROFILER_PAST;
    process.live--;
    process.changed = 1;
}

void profiler_close(struct profiler_comm *c)
{
    int before = errno;
    if (!is_ours())
        return;
    lock();
    if (c->state == PROFILER_LIVE) {
        close_comm(c);
        if (!process.live || now_ns() - process.wrote_ns > CLOSING_NS)
            write_file();
    }
    unlock();
    errno = before;
}

/* The end of the program. Nothing waits here for a thread that may never come back. */
__attribute__((destructor)) static void unload(void)
{
    if (!is_ours() || atomic_load(&process.held))
        return;
    lock();
    process.log = NULL; /* NCCL may be gone already */
    if (process.live || process.changed)
        write_file();
    for (size_t i = 0; i < PROFILER_COMMS && !process.live; i++)
        free(atomic_exchange(&profiler_comms[i], NULL));
    unlock();
}
