/* The capture of a process: its communicators, and when its file is written.
 *
 * Opening and closing take a mutex, counting does not, and nobody does I/O under it. A file is made when the last
 * communicator closes, at the end of the program, and at intervals, so that a job that is killed has lost one interval;
 * a thread of its own writes it. Only the last close and the end of the program wait for that, for a limited time. A
 * child of fork inherits the memory but captures nothing. */
#include "tuner/capture/comm.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "tuner/capture/abi.h"
#include "tuner/capture/job.h"
#include "tuner/libc/elf.h"
#include "tuner/observe/conclude.h"

#define SECONDS       UINT64_C(1000000000)
#define CLOSING_NS    (5 * SECONDS) /* between two files while communicators are closed one by one */
#define PATIENCE_NS   (2 * SECONDS) /* for the file of the last close, and that of the end of the program */
#define CONCLUSION_NS (1 * SECONDS) /* of that, for the last of the other ranks */
#define PASTS         32            /* closed communicators that are kept apart where a job is observed */

_Atomic(struct profiler_comm *) profiler_comms[PROFILER_COMMS];

static struct {
    pthread_mutex_t mutex;
    int judged;
    _Atomic int wanted; /* set behind `job`, and read without the mutex */
    struct profiler_job job;
    nccl_logger log;
    unsigned live;
    uint64_t began_ns, wrote_ns;
    _Atomic int ending;  /* of the program */
    _Atomic int changed; /* since the last file that could be written: communicators were opened or closed */
} process = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* A word that counts what was asked for, a word that counts what is done, and futexes on both: the functions of pthread
 * that would wait with a limit bind newer glibc than containers have. */
static struct {
    _Atomic uint32_t asked, done; /* files; both wrap around */
    _Atomic unsigned late;
    _Atomic int hangs; /* somebody waited in vain */
} writer;

/* What the writer has to say is said by the next thread of NCCL's that comes by: NCCL may be gone for the writer. */
_Atomic int profiler_unsaid;
enum { NOTHING_UNSAID, UNSAID, BEING_SAID };
static char unsaid[PROFILER_PATH + 512];

static void warn(const char *text)
{
    if (process.log)
        process.log(NCCLTUNE_LOG_WARN, NCCLTUNE_SUBSYS_ALL, __FILE__, __LINE__, "nccltune: %s", text);
}

static int is_ours(void)
{
    return process.wanted && process.job.pid == getpid();
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void make_document(struct profiler_document *d)
{
    static struct profiler_comm *comms[PROFILER_COMMS]; /* under the mutex */
    size_t count = 0;
    for (size_t i = 0; i < PROFILER_COMMS; i++) {
        struct profiler_comm *c = atomic_load(&profiler_comms[i]);
        if (c && c->state != PROFILER_FREE && !atomic_load(&c->twin))
            comms[count++] = c;
    }
    process.wrote_ns = clock_now_ns();
    process.changed = 0;
    process.job.seconds = (process.wrote_ns - process.began_ns) / 1000000000;
    process.job.late = atomic_load(&writer.late);
    profiler_file_make(d, &process.job, comms, count);
}

/* The job's first rank, where there are others. */
static void conclude(void)
{
    const struct profiler_job *job = &process.job;
    struct observe_end end = {job->dir, job->name, job->ranks, job->pid, job->began, CONCLUSION_NS};
    if (job->observed && job->ranks > 1 && !strcmp(job->rank, "0"))
        observe_conclude(&end);
}

/* By the writer's thread alone. A failure is said once, until a file could be written again. */
static void write_file(void)
{
    static struct profiler_document document;
    static int failing;
    char why[sizeof unsaid];
    pthread_mutex_lock(&process.mutex);
    process.job.ended = atomic_load(&process.ending);
    int idle = !process.live && !process.changed && !process.job.ended;
    make_document(&document);
    pthread_mutex_unlock(&process.mutex);
    if (idle)
        return;
    int failed = profiler_file_write(&document, why, sizeof why) != 0;
    if (process.job.ended)
        conclude();
    if (failed && !failing && atomic_load(&profiler_unsaid) == NOTHING_UNSAID) {
        memcpy(unsaid, why, sizeof unsaid);
        atomic_store(&profiler_unsaid, UNSAID);
    }
    failing = failed;
    if (failed)
        process.changed = 1;
}

void profiler_say(void)
{
    int was = UNSAID, before = errno;
    if (!is_ours() || !atomic_compare_exchange_strong(&profiler_unsaid, &was, BEING_SAID))
        return;
    warn(unsaid);
    atomic_store(&profiler_unsaid, NOTHING_UNSAID);
    errno = before;
}

/* ---- the thread that writes: no thread of NCCL's ever waits for a file system ------------------------------------ */

/* While the word is `value`, until the time; UINT64_MAX: for ever. 0: the time has come. */
static int sleep_while(_Atomic uint32_t *word, uint32_t value, uint64_t until_ns)
{
    while (atomic_load(word) == value) {
        uint64_t now = clock_now_ns(), left = until_ns - now;
        struct timespec t = {.tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000)};
        if (now >= until_ns)
            return 0;
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, until_ns == UINT64_MAX ? NULL : &t, NULL, 0);
    }
    return 1;
}

static void wake_waiters(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Asked for one by one or due by the clock: what came while a file was being written is made up for by the next. */
static void *write_files(void *unused)
{
    uint64_t next = process.job.interval_ns ? clock_now_ns() + process.job.interval_ns : UINT64_MAX;
    uint32_t done = atomic_load(&writer.done);
    (void)unused;
    prctl(PR_SET_NAME, "nccltune");
    for (;;) {
        sleep_while(&writer.asked, done, next);
        uint32_t asked = atomic_load(&writer.asked);
        uint64_t began = clock_now_ns();
        if (asked - done > 1)
            atomic_fetch_add(&writer.late, asked - done - 1);
        write_file();
        atomic_store(&writer.hangs, 0);
        atomic_store(&writer.done, done = asked);
        wake_waiters(&writer.done);
        if (!process.job.interval_ns)
            continue;
        atomic_fetch_add(&writer.late, (unsigned)((clock_now_ns() - began) / process.job.interval_ns));
        next = clock_now_ns() + process.job.interval_ns;
    }
    return NULL;
}

/* Ask for one more file; never wait. What is asked for while a file is being written is one file, not many. */
static void ask_for_file(void)
{
    atomic_fetch_add(&writer.asked, 1);
    wake_waiters(&writer.asked);
}

/* Wait until the files that were asked for are written, for PATIENCE_NS at most; not at all where the last wait was in
 * vain and nothing was written since. */
static void wait_for_files(void)
{
    uint64_t until = clock_now_ns() + PATIENCE_NS;
    uint32_t asked = atomic_load(&writer.asked), done;
    if (atomic_load(&writer.hangs))
        return;
    while ((int32_t)(asked - (done = atomic_load(&writer.done))) > 0)
        if (!sleep_while(&writer.done, done, until)) {
            atomic_store(&writer.hangs, 1);
            return;
        }
}

/* Start a detached thread that blocks all signals and keeps this library loaded until the end of the process: it runs
 * our code. Return 0 or an errno. pthread_create has moved from one library of glibc's to another, so it is looked for
 * among what is loaded. */
static int start_thread(void *(*run)(void *unused))
{
    static const char here = 0;
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))plugin_elf_function("pthread_create");
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (!create || !plugin_elf_stay(&here) || pthread_attr_init(&attributes))
        return ENOSYS;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before); /* of this thread, on Linux; the new one inherits it */
    int error = create(&thread, &attributes, run, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return error;
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
    atomic_store(&c->timed, shape->api >= 4 && process.job.times);
    atomic_store(&c->launched_ns, clock_now_ns());
    atomic_store(&c->ranks, shape->ranks);
    atomic_store(&c->least_ranks, 0);
    atomic_store(&c->id, shape->id);
    atomic_store(&c->twin, 0);
    for (size_t i = 0; i < PROFILER_WORDS; i++)
        atomic_store(&c->words[i], 0);
    if (atomic_exchange(&c->entered, 0))
        for (size_t i = 0; i < PROFILER_ENTRIES; i++)
            atomic_store(&c->entries[i].number, 0);
    for (size_t i = 0; i < PROFILER_GROUPS; i++)
        if (atomic_load(&c->groups[i].ticket)) /* without touching pages that nobody used */
            atomic_store(&c->groups[i].ticket, 0);
    process.live++;
    return c;
}

/* The same for as long as the process lives: NCCL makes its count of kernels and proxies up from what was asked for
 * when each of them came, and where that changes a proxy waits for a kernel that tells nothing: the job hangs. */
static int wanted_events(int api)
{
    int mask = NCCL_PROFILE_GROUP | NCCL_PROFILE_COLL | NCCL_PROFILE_P2P;
    if (api >= 4 && process.job.times)
        mask |= NCCL_PROFILE_KERNEL_CHANNEL;
    return api >= 6 ? mask | NCCL_PROFILE_CE_COLL : mask;
}

/* NCCL has one mask for all communicators, and other threads may be reading it. */
static void set_mask(int *mask, int events)
{
    __atomic_store_n(mask, events, __ATOMIC_RELAXED);
}

static void judge_job(int api, nccl_logger log)
{
    char why[512];
    process.judged = 1;
    process.log = log;
    process.wanted = profiler_job_read(&process.job, why, sizeof why);
    if (why[0])
        warn(why);
    process.began_ns = process.wrote_ns = clock_now_ns();
    if (!process.wanted)
        return;
    if (profiler_job_refuse_times(&process.job, api, why, sizeof why))
        warn(why);
    /* NCCL unloads us with the last communicator, but the counts are of the process: the thread keeps us. */
    int error = start_thread(write_files);
    if (!error)
        return;
    process.wanted = 0;
    snprintf(why, sizeof why, "no thread for the capture's file: %s; nothing is captured", strerror(error));
    warn(why);
}

struct profiler_comm *profiler_open(const struct profiler_shape *shape, nccl_logger log, int *mask)
{
    struct profiler_comm *c = NULL;
    if (process.wanted && !is_ours()) {
        set_mask(mask, 0);
        return NULL;
    }
    pthread_mutex_lock(&process.mutex);
    if (!process.judged)
        judge_job(shape->api, log);
    set_mask(mask, process.wanted ? wanted_events(shape->api) : 0);
    if (process.wanted) {
        profiler_job_doubt(&process.job, shape->ranks);
        c = open_comm(shape);
        process.changed |= c != NULL;
    }
    pthread_mutex_unlock(&process.mutex);
    profiler_say();
    return c;
}

void profiler_introduce(struct profiler_comm *c, uint64_t id)
{
    if (!is_ours())
        return;
    pthread_mutex_lock(&process.mutex);
    if (!atomic_load(&c->id) && has_twin(c, id)) {
        atomic_store(&c->twin, 1);
        process.job.twins++;
    }
    atomic_store(&c->id, id);
    pthread_mutex_unlock(&process.mutex);
}

/* Whether what is known of their ranks and nodes is the same. */
static int same_shape(const struct profiler_comm *x, const struct profiler_comm *y)
{
    int ranks = atomic_load(&x->ranks);
    return x->api == y->api && x->nodes == y->nodes && ranks == atomic_load(&y->ranks) &&
           (ranks || atomic_load(&x->least_ranks) == atomic_load(&y->least_ranks));
}

/* A closed communicator of the same shape that can take the counts over. Where a job is observed ranks are compared
 * within a communicator, so that those are kept apart while they are few. */
static struct profiler_comm *past_of(const struct profiler_comm *than)
{
    struct profiler_comm *past = NULL;
    unsigned pasts = 0;
    for (size_t i = 0; i < PROFILER_COMMS; i++) {
        struct profiler_comm *c = atomic_load(&profiler_comms[i]);
        if (!c || c->state != PROFILER_PAST)
            continue;
        pasts++;
        past = !past && same_shape(c, than) ? c : past;
    }
    return process.job.observed && pasts < PASTS ? NULL : past;
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
    else if (past) {
        profiler_table_drain(&past->table, &c->table);
        atomic_store(&past->id, 0); /* of several now */
    } else
        c->state = PROFILER_PAST;
    process.live--;
    process.changed = 1;
}

void profiler_close(struct profiler_comm *c)
{
    int before = errno, last;
    if (!is_ours())
        return;
    pthread_mutex_lock(&process.mutex);
    int closes = c->state == PROFILER_LIVE;
    if (closes)
        close_comm(c);
    last = closes && !process.live;
    closes = closes && (last || clock_now_ns() - process.wrote_ns > CLOSING_NS);
    pthread_mutex_unlock(&process.mutex);
    if (closes)
        ask_for_file();
    if (last)
        wait_for_files();
    profiler_say();
    errno = before;
}

/* The end of the program: it waits for the writer as long as for the last close, and for no mutex, which a thread may
 * hold that never comes back. */
__attribute__((destructor)) static void unload(void)
{
    if (!is_ours())
        return;
    process.ending = 1;
    if (process.live || process.changed || process.job.observed)
        ask_for_file();
    wait_for_files();
}
