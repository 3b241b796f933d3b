/* The capture's cost of each event of NCCL's profiler interface (version 5), next to an empty function called through
 * the same kind of pointer with the same event. Run from the repository root. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/stats.h"
#include "tuner/capture/abi.h"

#define BATCH   64 /* events of a kind between two readings of the clock */
#define BATCHES 20000
#define SIZES   40 /* sizes that the calls go through */

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- the peer ---------------------------------------------------------------------------------------------------- */

static int empty_start(void *context, void **handle, struct nccl_profile_event_v5 *event)
{
    (void)event;
    *handle = context;
    return 0;
}

static int empty_stop(void *handle)
{
    (void)handle;
    return 0;
}

static int empty_state(void *handle, int state, union nccl_profile_state_v4 *args)
{
    (void)handle, (void)state, (void)args;
    return 0;
}

/* ---- timing ------------------------------------------------------------------------------------------------------ */

enum kind { GROUP, CALL, COLL_START, COLL_STOP, CHANNEL_START, CHANNEL_STATE, CHANNEL_STOP, KINDS };
static const char *const names[KINDS] = {
    "group, start and stop", "caller's call, both",          "collective, start",   "collective, stop",
    "kernel channel, start", "kernel channel, end and time", "kernel channel, stop"};

struct timed {
    const struct nccl_profiler_v5 *volatile profiler;
    void *context;
    double ns[KINDS][BATCHES];
};

/* One batch of every kind, as a job's launches would give them: calls of one channel each, in many sizes. */
static void run_batch(struct timed *t, double ns[KINDS])
{
    struct nccl_profile_event_v5 event = {.type = NCCL_PROFILE_GROUP};
    void *group, *tasks[BATCH], *channels[BATCH];
    double begin = now_ns(), end;
    for (int i = 0; i < BATCH; i++) {
        t->profiler->start_event(t->context, &group, &event);
        t->profiler->stop_event(group);
    }
    ns[GROUP] = (end = now_ns()) - begin;
    event.type = NCCL_PROFILE_COLL_API;
    event.coll_api = (struct nccl_profile_coll_api_v5){.func = "AllReduce", .count = 1000, .datatype = "ncclBfloat16"};
    begin = now_ns();
    for (int i = 0; i < BATCH; i++) {
        t->profiler->start_event(t->context, &group, &event);
        t->profiler->stop_event(group);
    }
    ns[CALL] = (end = now_ns()) - begin;
    event.type = NCCL_PROFILE_COLL;
    event.coll = (struct nccl_profile_coll_v4){
        .func = "AllReduce", .datatype = "ncclBfloat16", .algo = "RING", .proto = "SIMPLE", .channels = 1};
    begin = now_ns();
    for (int i = 0; i < BATCH; i++) {
        event.coll.count = 1000 + (size_t)(i % SIZES) * 4096;
        t->profiler->start_event(t->context, &tasks[i], &event);
    }
    ns[COLL_START] = (end = now_ns()) - begin;
    for (int i = 0; i < BATCH; i++)
        t->profiler->stop_event(tasks[i]);
    ns[COLL_STOP] = (begin = now_ns()) - end;
    event.type = NCCL_PROFILE_KERNEL_CHANNEL;
    begin = now_ns();
    for (int i = 0; i < BATCH; i++) {
        event.parent = tasks[i];
        event.kernel_channel = (struct nccl_profile_kernel_channel_v4){0, 1000};
        t->profiler->start_event(t->context, &channels[i], &event);
    }
    ns[CHANNEL_START] = (end = now_ns()) - begin;
    for (int i = 0; i < BATCH; i++) {
        union nccl_profile_state_v4 state = {.kernel_channel_stop_ns = 50000 + (uint64_t)i * 1000};
        t->profiler->record_state(channels[i], NCCL_PROFILE_KERNEL_CHANNEL_STOP, &state);
    }
    ns[CHANNEL_STATE] = (begin = now_ns()) - end;
    for (int i = 0; i < BATCH; i++)
        t->profiler->stop_event(channels[i]);
    ns[CHANNEL_STOP] = now_ns() - begin;
}

/* The two take turns, so that a machine that changes its speed does so for both. */
static void measure(struct timed *empty, struct timed *capture)
{
    struct timed *both[] = {empty, capture};
    for (int i = -BATCHES / 10; i < BATCHES; i++) /* negative: warming up */
        for (int k = 0; k < 2; k++) {
            double ns[KINDS];
            run_batch(both[k], ns);
            for (int kind = 0; i >= 0 && kind < KINDS; kind++)
                both[k]->ns[kind][i] = ns[kind] / BATCH;
        }
    for (int k = 0; k < 2; k++)
        for (int kind = 0; kind < KINDS; kind++)
            stats_sort(both[k]->ns[kind], BATCHES);
}

static void print(const struct timed *empty, const struct timed *capture)
{
    int p50 = BATCHES / 2, p99 = BATCHES - 1 - BATCHES / 100;
    printf("%-30s|    empty      |        capture\n%-30s|    p50    p99 |    p50    p99   +p50\n", "event (v5), ns",
           "");
    for (int i = 0; i < KINDS; i++)
        printf("%-30s| %6.1f %6.1f | %6.1f %6.1f %+6.1f\n", names[i], empty->ns[i][p50], empty->ns[i][p99],
               capture->ns[i][p50], capture->ns[i][p99], capture->ns[i][p50] - empty->ns[i][p50]);
}

/* A file system that takes its time, as a busy server of NFS does. */
int fsync(int fd)
{
    (void)fd;
    return usleep(50000);
}

/* What a step of training feels of a file that is written every 30 ms to such a file system. */
static void print_stalls(const char *name, const struct nccl_profiler_v5 *profiler, void *context)
{
    struct nccl_profile_event_v5 event = {.type = NCCL_PROFILE_GROUP};
    double begin = now_ns(), last = begin, longest = 0;
    int stalls = 0, launches = 0;
    void *group;
    for (; last - begin < 1e9; launches++) {
        profiler->start_event(context, &group, &event);
        profiler->stop_event(group);
        double now = now_ns();
        longest = now - last > longest ? now - last : longest;
        stalls += now - last > 30e6;
        last = now;
    }
    printf("%-30s| %9d %10.1f %18d\n", name, launches, longest / 1e6, stalls);
}

static void measure_stalls(const struct nccl_profiler_v5 *nothing, const struct nccl_profiler_v5 *profiler)
{
    struct {
        int mask;
        void *context;
    } c = {0};
    setenv("NCCLTUNE_CAPTURE_MINUTES", "0.0005", 1);
    setenv("RANK", "1", 1);
    if (profiler->init(&c.context, 1, &c.mask, NULL, 1, 8, 0, NULL) || !c.context)
        return;
    printf("in 1 s, files in a slow place   |  launches longest ms stalls over 30 ms\n");
    print_stalls("empty", nothing, &c);
    print_stalls("capture", profiler, c.context);
    printf("\n");
    profiler->finalize(c.context);
}

int main(void)
{
    static const struct nccl_profiler_v5 nothing = {
        .start_event = empty_start, .stop_event = empty_stop, .record_state = empty_state};
    static struct timed empty = {.profiler = &nothing, .context = &empty}, capture;
    const char *plugin = getenv("NCCLTUNE_PROFILER_SO");
    char dir[] = "/tmp/nccltune-perf-XXXXXX", file[128];
    plugin = plugin ? plugin : "build/libnccl-profiler-nccltune.so";
    void *lib = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    const struct nccl_profiler_v5 *profiler = lib ? dlsym(lib, "ncclProfiler_v5") : NULL;
    if (!profiler || !mkdtemp(dir)) {
        fprintf(stderr, "%s: %s\n", plugin, profiler ? "no directory for its file" : dlerror());
        return 1;
    }
    int mask = 0;
    setenv("NCCLTUNE_CAPTURE", dir, 1);
    setenv("SLURM_JOB_ID", "perf", 1);
    setenv("WORLD_SIZE", "8", 1);
    pid_t child = fork(); /* a process has one capture */
    if (child > 0)
        waitpid(child, NULL, 0);
    if (!child) {
        measure_stalls(&nothing, profiler);
        fflush(stdout);
        _exit(0);
    }
    setenv("RANK", "0", 1);
    capture.profiler = profiler;
    if (profiler->init(&capture.context, 1, &mask, NULL, 1, 8, 0, NULL) || !capture.context)
        return 1;
    printf("medians and 99th percentiles of %d batches of %d events, the clock's own cost spread over the batch\n\n",
           BATCHES, BATCH);
    measure(&empty, &capture);
    print(&empty, &capture);
    double begin = now_ns();
    profiler->finalize(capture.context);
    printf("\nthe file, at the end: %.2f ms\n", (now_ns() - begin) / 1e6);
    for (int rank = 0; rank < 2; rank++) {
        snprintf(file, sizeof file, "%s/perf.rank.%d.json", dir, rank);
        unlink(file);
    }
    rmdir(dir);
    return 0;
}
