/* The capture as NCCL drives it: every version of the interface, and the file that comes of it, read back by the reader
 * of workloads. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "bench/workload/workload.h"
#include "tests/lib/profiler_double.h"
#include "tests/unit/tuner/loader_double.h"

#define MIB (1 << 20)

static char dir[64], file[128];

static int remove_dir(void **state)
{
    (void)state;
    char path[512];
    DIR *d = dir[0] ? opendir(dir) : NULL;
    for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        unlink(path); /* not "." and ".." */
    }
    if (d)
        closedir(d);
    rmdir(dir);
    dir[0] = 0;
    return 0;
}

/* Captures into the test's directory, as rank 3 of 8 on two nodes of job 42. */
static void use_capture(void)
{
    static const char *const others[] = {"NCCLTUNE", "NCCLTUNE_CAPTURE_TIMES", "NCCLTUNE_CAPTURE_MINUTES"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        unsetenv(others[i]);
    snprintf(file, sizeof file, "%s/42.rank.3.json", dir);
    setenv("NCCLTUNE_CAPTURE", dir, 1);
    setenv("SLURM_JOB_ID", "42", 1);
    setenv("RANK", "3", 1);
    setenv("WORLD_SIZE", "8", 1);
    setenv("LOCAL_WORLD_SIZE", "4", 1);
}

static int entries(void)
{
    DIR *d = opendir(dir);
    int n = 0;
    CHECK(d);
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        n += e->d_name[0] != '.' || (e->d_name[1] != '.' && e->d_name[1] != 0);
    closedir(d);
    return n;
}

static struct workload *captured(void)
{
    struct err e = {0};
    struct workload *w = workload_load(file, &e);
    if (!w)
        fprintf(stderr, "%s\n", e.text);
    CHECK(w && w->nphases == 1 && w->per_run);
    return w;
}

static const struct workload_call *find(const struct workload *w, int kind, uint64_t bytes)
{
    for (int i = 0; i < w->phases[0].ncalls; i++)
        if (w->phases[0].calls[i].kind == kind && (!bytes || w->phases[0].calls[i].bytes == bytes))
            return &w->phases[0].calls[i];
    return NULL;
}

static double calls_in(const struct workload *w)
{
    double n = 0;
    for (int i = 0; i < w->phases[0].ncalls; i++)
        n += w->phases[0].calls[i].count;
    return n;
}

static int says(const struct workload *w, const char *words)
{
    for (int i = 0; i < w->nnotes; i++)
        if (strstr(w->notes[i], words))
            return 1;
    return 0;
}

static int is_about(double value, double expected)
{
    return fabs(value - expected) <= 0.07 * expected;
}

static struct profiled_comm world(uint64_t id)
{
    return (struct profiled_comm){.id = id, .nodes = 2, .ranks = 8, .rank = 3};
}

static void launch(struct profiled_comm *c, struct profiled_task task, int times)
{
    for (int i = 0; i < times; i++)
        profiled_launch(c, &task, 1);
}

static const struct profiled_task one_mib = {"AllReduce", MIB / 2, 9, ALGO_RING, PROTO_LL128, 8, 0, 500000};

/* ---- what is recorded -------------------------------------------------------------------------------------------- */

static void records_every_call(int api)
{
    use_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(77);
    CHECK(!profiled_open(&l, &c, remember) && c.context && (l.mask & NCCL_PROFILE_COLL));
    CHECK(!!(l.mask & NCCL_PROFILE_KERNEL_CHANNEL) == (api >= 4));
    struct profiled_task mixed[] = {
        {"AllGather", 1000, 7, ALGO_NVLS_TREE, PROTO_SIMPLE, 16, 0, 90000},
        {"ReduceScatter", 3000, 6, ALGO_PAT, PROTO_SIMPLE, 4, 0, 70000},
        {"Broadcast", 500, 8, ALGO_RING, PROTO_LL, 2, 0, 20000},
        {"Reduce", 77, 1, ALGO_TREE, PROTO_LL, 1, 0, 10000},
    };
    launch(&c, one_mib, 10);
    for (int i = 0; i < 3; i++)
        profiled_launch(&c, mixed, 4);
    launch(&c, (struct profiled_task){"AllReduce", 0, 9, ALGO_RING, PROTO_LL, 1, 0, 1000}, 5);
    CHECK(!profiled_close(&c) && logged.warnings == 0);

    struct workload *w = captured();
    CHECK(entries() == 1 && !strcmp(w->name, "42") && !strcmp(w->source, "captured"));
    CHECK(w->ranks == 8 && w->ranks_per_node == 4 && w->phases[0].ncalls == 5);
    const struct workload_call *ar = find(w, COLL_ALLREDUCE, MIB), *ag = find(w, COLL_ALLGATHER, 8 * 4000),
                               *rs = find(w, COLL_REDUCESCATTER, 8 * 6000), *bc = find(w, COLL_BROADCAST, 4000),
                               *red = find(w, COLL_REDUCE, 77);
    CHECK(ar && ag && rs && bc && red);
    CHECK(ar->count == 10 && ag->count == 3 && rs->count == 3 && bc->count == 3 && red->count == 3);
    CHECK(!strcmp(ar->dtype, "bfloat16") && !strcmp(rs->dtype, "float16") && !ag->dtype && !bc->dtype);
    CHECK(ar->algo == ALGO_RING && ar->proto == PROTO_LL128 && ar->channels == 8);
    CHECK(ag->algo == ALGO_NVLS_TREE && ag->proto == PROTO_SIMPLE && ag->channels == 16 && rs->algo == ALGO_PAT);
    CHECK(ar->group_size == 8 && ar->stride == 1 && workload_call_nodes(w, ar) == 2);
    CHECK(ar->place == WORKLOAD_CLUSTER);
    if (api >= 4)
        CHECK(is_about(ar->time_us, 500) && is_about(ag->time_us, 90) && is_about(red->time_us, 10));
    else
        CHECK(ar->time_us < 0 && ag->time_us < 0 && says(w, "tells no times"));
    workload_free(w);
}

/* A pipeline's messages one by one; what is sent to all ranks at once is an all-to-all, of whatever shares. */
static void tells_messages_from_alltoalls(int api)
{
    use_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(78);
    struct profiled_task tasks[16];
    CHECK(!profiled_open(&l, &c, NULL));
    struct profiled_task forward[] = {{"Send", 1000, 9, 0, 0, 2, 4, 30000}, {"Recv", 1000, 9, 0, 0, 2, 2, 30000}};
    for (int i = 0; i < 7; i++)
        profiled_launch(&c, forward, 2);
    for (int i = 0; i < 8; i++) {
        tasks[2 * i] = (struct profiled_task){"Send", 1000 + (size_t)i, 9, 0, 0, 2, i, 40000};
        tasks[2 * i + 1] = (struct profiled_task){"Recv", 1000, 9, 0, 0, 2, i, 40000};
    }
    /* Versions 1 and 2 learn the ranks from the first AllGather, version 3 never does. */
    launch(&c, (struct profiled_task){"AllGather", 10, 0, ALGO_RING, PROTO_LL, 1, 0, 1000}, 1);
    for (int i = 0; i < 5; i++)
        profiled_launch(&c, tasks, 16);
    CHECK(!profiled_close(&c));

    struct workload *w = captured();
    const struct workload_call *message = find(w, WORKLOAD_SENDRECV, 2000), *all = find(w, WORKLOAD_ALLTOALL, 0);
    CHECK(message && message->count == (api == 3 ? 12 : 7) && message->group_size == 2);
    if (api != 3)
        CHECK(all && all->count == 5 && all->bytes == 2 * 8028);
    if (api >= 4)
        CHECK(is_about(message->time_us, 30) && is_about(all->time_us, 40) && all->channels == 2);
    workload_free(w);
}

/* An all-to-all without the own share is counted with it; what is sent to all and not received is a scatter. */
static void tells_scatters_from_alltoalls(int api)
{
    use_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(78);
    struct profiled_task tasks[14];
    CHECK(!profiled_open(&l, &c, NULL));
    for (int i = 0; i < 7; i++) {
        int peer = i < 3 ? i : i + 1; /* all but rank 3 */
        tasks[2 * i] = (struct profiled_task){"Send", 1000, 9, 0, 0, 2, peer, 40000};
        tasks[2 * i + 1] = (struct profiled_task){"Recv", 1000, 9, 0, 0, 2, peer, 40000};
    }
    for (int i = 0; i < 3; i++)
        profiled_launch(&c, tasks, 14);
    for (int i = 0; i < 8; i++)
        tasks[i] = (struct profiled_task){"Send", 500, 9, 0, 0, 2, i, 40000};
    for (int i = 0; i < 5; i++)
        profiled_launch(&c, tasks, 8);
    CHECK(!profiled_close(&c));
    struct workload *w = captured();
    const struct workload_call *message = find(w, WORKLOAD_SENDRECV, 0), *all = find(w, WORKLOAD_ALLTOALL, 0);
    CHECK(all && all->count == 3 && all->bytes == 8 * 2000 && is_about(all->time_us, 40));
    CHECK(message && message->count == 40 && message->bytes == 1000 && message->time_us < 0);
    workload_free(w);
}

/* Copy engines, version 6 on: one event, and no time of which anything could be known. */
static void records_copy_engines(int api)
{
    use_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(79);
    CHECK(!profiled_open(&l, &c, NULL) && (l.mask & NCCL_PROFILE_CE_COLL));
    union profiled_event e = profiled_event(&c, NCCL_PROFILE_CE_COLL, NULL);
    e.v5.ce_coll = (struct nccl_profile_ce_coll_v6){.func = "AlltoAll", .count = 100, .datatype = "ncclFloat32"};
    profiled_stop(&c, profiled_start(&c, &e));
    e.v5.ce_coll = (struct nccl_profile_ce_coll_v6){.func = "Gather", .count = 100, .datatype = "ncclFloat32"};
    profiled_stop(&c, profiled_start(&c, &e)); /* no kind that a workload has */
    CHECK(!profiled_close(&c));
    struct workload *w = captured();
    const struct workload_call *all = find(w, WORKLOAD_ALLTOALL, 3200);
    CHECK(all && all->count == 1 && all->time_us < 0 && w->phases[0].ncalls == 1);
    workload_free(w);
}

static void without_times(int api)
{
    use_capture();
    setenv("NCCLTUNE_CAPTURE_TIMES", "0", 1);
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(80);
    CHECK(!profiled_open(&l, &c, NULL) && !(l.mask & NCCL_PROFILE_KERNEL_CHANNEL));
    launch(&c, one_mib, 2000);
    CHECK(!profiled_close(&c));
    struct workload *w = captured();
    CHECK(find(w, COLL_ALLREDUCE, MIB)->count == 2000 && find(w, COLL_ALLREDUCE, MIB)->time_us < 0);
    workload_free(w);
}

/* ---- whose they are ---------------------------------------------------------------------------------------------- */

static void says_nothing_unasked(int api)
{
    use_capture();
    unsetenv("NCCLTUNE_CAPTURE");
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(81);
    l.mask = 0xff;
    CHECK(!profiled_open(&l, &c, remember) && !c.context && l.mask == 0);
    l.mask = 0xff; /* as if another communicator had set it */
    launch(&c, one_mib, 10);
    CHECK(!profiled_close(&c) && entries() == 0 && !logged.text[0]);
}

static void refuses_a_relative_path(int api)
{
    use_capture();
    setenv("NCCLTUNE_CAPTURE", "here", 1);
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(82);
    CHECK(!profiled_open(&l, &c, remember) && !c.context && l.mask == 0);
    CHECK(logged.warnings == 1 && strstr(logged.text, "absolute"));
}

/* Without a launcher, and with one whose numbers cannot be this communicator's, host and process name the file. */
static void doubts_a_launcher(int with_launcher)
{
    char host[65] = "";
    use_capture();
    unsetenv("RANK");
    if (with_launcher) {
        setenv("SLURM_PROCID", "3", 1);
        setenv("SLURM_NTASKS", "4", 1);
    }
    struct profiler_loader l = profiler_load(5);
    struct profiled_comm c = world(83);
    CHECK(!profiled_open(&l, &c, NULL));
    launch(&c, one_mib, 1);
    CHECK(!profiled_close(&c) && !gethostname(host, sizeof host - 1));
    snprintf(file, sizeof file, "%s/42.rank.%.40s-%d.json", dir, host, getpid());
    struct workload *w = captured();
    CHECK(w->ranks == 8 && w->ranks_per_node == 4);
    workload_free(w);
}

/* Groups of many sizes and places, some closed before the file is written. */
static void adds_up_communicators(int api)
{
    use_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm data = {.id = 1, .nodes = 2, .ranks = 2, .rank = 0},
                         single = {.id = 2, .nodes = 1, .ranks = 1};
    CHECK(!profiled_open(&l, &single, NULL) && !single.context && !profiled_open(&l, &data, NULL));
    for (uint64_t i = 0; i < 3000; i++) {
        struct profiled_comm tensor = {.id = 100 + i, .nodes = 1, .ranks = 4, .rank = 3};
        CHECK(!profiled_open(&l, &tensor, NULL) && tensor.context);
        launch(&tensor, one_mib, 2);
        CHECK(!profiled_close(&tensor));
    }
    launch(&data, one_mib, 1);
    CHECK(!profiled_close(&data));
    struct workload *w = captured();
    CHECK(w->phases[0].ncalls == 2);
    for (int i = 0; i < 2; i++) {
        const struct workload_call *call = &w->phases[0].calls[i];
        int tensor = call->group_size == 4;
        CHECK(call->count == (tensor ? 6000 : 1) && call->place == (tensor ? WORKLOAD_NODE : WORKLOAD_CLUSTER));
        CHECK(call->stride == (tensor ? 1 : 4) && workload_call_nodes(w, call) == (tensor ? 1 : 2));
    }
    workload_free(w);
}

/* Where nobody tells the ranks, the highest that was named is the least that there are: of each group by itself. */
static void guesses_each_group(int api)
{
    char host[65] = "";
    use_capture();
    unsetenv("RANK");
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm small = {.id = 1, .nodes = 1, .ranks = 4, .rank = 3},
                         large = {.id = 2, .nodes = 1, .ranks = 8, .rank = 7};
    CHECK(!profiled_open(&l, &small, NULL) && !profiled_open(&l, &large, NULL));
    launch(&small, one_mib, 2);
    launch(&large, one_mib, 3);
    CHECK(!profiled_close(&small) && !profiled_close(&large) && !gethostname(host, sizeof host - 1));
    snprintf(file, sizeof file, "%s/42.rank.%.40s-%d.json", dir, host, getpid());
    struct workload *w = captured();
    CHECK(w->phases[0].ncalls == 2);
    for (int i = 0; i < 2; i++)
        CHECK(w->phases[0].calls[i].count == (w->phases[0].calls[i].group_size == 4 ? 2 : 3));
    workload_free(w);
}

static void counts_ranks_of_one_process_once(int api)
{
    use_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm ranks[4];
    for (int i = 0; i < 4; i++) {
        ranks[i] = (struct profiled_comm){.id = 9, .nodes = 1, .ranks = 4, .rank = i};
        CHECK(!profiled_open(&l, &ranks[i], NULL));
    }
    for (int i = 0; i < 4; i++)
        launch(&ranks[i], one_mib, 25);
    for (int i = 0; i < 4; i++)
        CHECK(!profiled_close(&ranks[i]));
    struct workload *w = captured();
    CHECK(calls_in(w) == 25 && says(w, "several ranks"));
    workload_free(w);
}

static void a_thousand_communicators(int api)
{
    static struct profiled_comm comms[1100];
    use_capture();
    struct profiler_loader l = profiler_load(api);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < 1100; i++) {
            comms[i] = world(1000 + i);
            CHECK(!profiled_open(&l, &comms[i], NULL) && !comms[i].context == (i >= 1024 - (size_t)round));
        }
        for (size_t i = 0; i < 1100; i++)
            launch(&comms[i], one_mib, 3);
        for (size_t i = 0; i < 1100; i++)
            CHECK(!profiled_close(&comms[i]));
    }
    struct workload *w = captured();
    CHECK(calls_in(w) == 3 * (1024 + 1023) && says(w, "153 communicators"));
    workload_free(w);
}

/* ---- too much ---------------------------------------------------------------------------------------------------- */

static void says_what_it_rounded(int api)
{
    use_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(84);
    double bytes = 0;
    CHECK(!profiled_open(&l, &c, NULL));
    for (size_t i = 1; i <= 5000; i++) {
        launch(&c, (struct profiled_task){"AllReduce", 1000 * i, 0, ALGO_RING, PROTO_LL, 4, 0, 5000}, 1);
        bytes += 1000.0 * (double)i;
    }
    CHECK(!profiled_close(&c));
    struct workload *w = captured();
    CHECK(calls_in(w) == 5000 && w->phases[0].ncalls <= 256 && says(w, "calls of more sizes"));
    CHECK(fabs(workload_bytes(w, NULL, -1) / bytes - 1) < 0.05);
    workload_free(w);
}

struct worker {
    struct profiled_comm *comm;
    int launches;
};

static void *work(void *arg)
{
    struct worker *job = arg;
    for (int i = 0; i < job->launches; i++) {
        struct profiled_task tasks[] = {
            one_mib, {"Send", 10, 9, 0, 0, 2, 4, 30000}, {"Recv", 10, 9, 0, 0, 2, 2, 30000}};
        tasks[0].count = 1000 * (size_t)(1 + i % 100);
        profiled_launch(job->comm, tasks, 3);
    }
    return NULL;
}

/* Eight threads, each with a communicator of its own and then all in one. */
static void eight_threads(int api)
{
    use_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm comms[9];
    pthread_t threads[16];
    struct worker jobs[16];
    for (size_t i = 0; i < 9; i++) {
        comms[i] = world(500 + i);
        CHECK(!profiled_open(&l, &comms[i], NULL));
    }
    for (size_t i = 0; i < 16; i++) {
        jobs[i] = (struct worker){&comms[i < 8 ? i : 8], 20000};
        if (i < 8)
            CHECK(!pthread_create(&threads[i], NULL, work, &jobs[i]));
    }
    for (size_t i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    struct profiled_comm shared[8]; /* the double's own clock is not for many threads, its context is */
    for (size_t i = 0; i < 8; i++) {
        shared[i] = comms[8];
        jobs[8 + i].comm = &shared[i];
        CHECK(!pthread_create(&threads[8 + i], NULL, work, &jobs[8 + i]));
    }
    for (size_t i = 8; i < 16; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < 9; i++)
        CHECK(!profiled_close(&comms[i]));
    struct workload *w = captured();
    CHECK(find(w, WORKLOAD_SENDRECV, 20) && calls_in(w) == 2 * 16 * 20000);
    workload_free(w);
}

/* Handles and parents that are nobody's, stale, or another kind's. */
static void survives_nonsense(int api)
{
    use_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(85);
    const struct nccl_profiler_v5 *p = l.plugin;
    union nccl_profile_state_v4 state = {.kernel_channel_stop_ns = 5};
    CHECK(!profiled_open(&l, &c, NULL));
    uint64_t seed = 88172645463325252;
    for (int i = 0; i < 200000; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        void *handle = (void *)(uintptr_t)(i % 2 ? seed : seed >> 45); // NOLINT(performance-no-int-to-ptr)
        union profiled_event e = profiled_event(&c, UINT64_C(1) << (seed % 16), handle);
        if (api >= 2)
            e.v5.coll.group = handle;
        if (seed % 16 == 6)
            profiled_start(&c, &e);
        p->stop_event(handle);
        p->record_state(handle, (int)(seed % 40), i % 3 ? &state : NULL);
    }
    launch(&c, one_mib, 10);
    CHECK(!profiled_close(&c) && !profiled_close(&c));
    launch(&c, one_mib, 1);
    struct workload *w = captured();
    CHECK(find(w, COLL_ALLREDUCE, MIB)->count == 10);
    workload_free(w);
}

/* ---- the file, whatever becomes of the job ----------------------------------------------------------------------- */

static void written_at_the_end_without_a_close(int api)
{
    use_capture();
    pid_t child = fork();
    if (!child) {
        struct profiler_loader l = profiler_load(api);
        struct profiled_comm c = world(86);
        CHECK(!profiled_open(&l, &c, NULL));
        launch(&c, one_mib, 4);
        exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    struct workload *w = captured();
    CHECK(calls_in(w) == 4);
    workload_free(w);
}

/* NCCL unloads the plugin with the last communicator and loads it again with the next; here also as a tuner, under its
 * other name. */
static void goes_on_after_an_unload(int api)
{
    char path[PATH_MAX], link[128];
    const char *plugin = getenv("NCCLTUNE_PLUGIN_SO");
    use_capture();
    snprintf(link, sizeof link, "%s/libnccl-profiler-nccltune.so", dir);
    CHECK(realpath(plugin ? plugin : "build/libnccl-tuner-nccltune.so", path) && !symlink(path, link));
    setenv("NCCLTUNE_PLUGIN_SO", link, 1);
    for (int i = 0; i < 3; i++) {
        void *tuner = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        struct profiler_loader l = profiler_load(api);
        struct profiled_comm c = world(870 + (uint64_t)i);
        CHECK(tuner && tuner == l.library && !profiled_open(&l, &c, NULL));
        launch(&c, one_mib, 4);
        CHECK(!profiled_close(&c) && !dlclose(l.library) && !dlclose(tuner));
    }
    struct workload *w = captured();
    CHECK(calls_in(w) == 12 && w->phases[0].ncalls == 1);
    workload_free(w);
}

/* A child of fork has the memory of a capture, and no business with it. */
static void left_alone_by_a_fork(int api)
{
    use_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(87), other = world(88);
    CHECK(!profiled_open(&l, &c, NULL));
    launch(&c, one_mib, 4);
    pid_t child = fork();
    if (!child) {
        launch(&c, one_mib, 100);
        CHECK(!profiled_open(&l, &other, NULL) && !other.context);
        CHECK(!profiled_close(&c) && entries() == 0);
        exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0 && entries() == 0);
    CHECK(!profiled_close(&c));
    struct workload *w = captured();
    CHECK(calls_in(w) == 4);
    workload_free(w);
}

static void written_at_intervals(int api)
{
    use_capture();
    setenv("NCCLTUNE_CAPTURE_MINUTES", "0.0005", 1); /* 30 ms */
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(89);
    CHECK(!profiled_open(&l, &c, NULL));
    for (int i = 0; i < 2000 && entries() == 0; i++) {
        launch(&c, one_mib, 1);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    struct workload *w = captured();
    CHECK(calls_in(w) > 0);
    workload_free(w);
}

/* No place to write to, and a limit that would kill: one warning, and the job goes on. */
static void cannot_write(int limited)
{
    char path[128];
    use_capture();
    setenv("NCCLTUNE_CAPTURE_MINUTES", "0.0005", 1);
    if (limited) {
        struct rlimit none = {0, 0};
        CHECK(!setrlimit(RLIMIT_FSIZE, &none));
    } else {
        snprintf(path, sizeof path, "%s/file", dir);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        CHECK(fd >= 0 && !close(fd));
        setenv("NCCLTUNE_CAPTURE", path, 1);
    }
    struct profiler_loader l = profiler_load(5);
    struct profiled_comm c = world(90);
    CHECK(!profiled_open(&l, &c, remember));
    for (int i = 0; i < 200; i++) {
        launch(&c, one_mib, 1);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    CHECK(!profiled_close(&c) && logged.warnings == 1 && strstr(logged.text, "cannot write"));
    CHECK(entries() == (limited ? 0 : 1));
}

static void *churn(void *arg)
{
    struct worker job = {arg, 1 << 30};
    return work(&job);
}

/* Killed again and again while four threads count and the file is written every few milliseconds: what is there under
 * its name is always whole. */
static void whole_after_an_abort(int api)
{
    int seen = 0;
    use_capture();
    setenv("NCCLTUNE_CAPTURE_MINUTES", "0.00001", 1);
    for (int round = 0; round < 25; round++) {
        pid_t child = fork();
        if (!child) {
            struct profiler_loader l = profiler_load(api);
            struct profiled_comm comms[4];
            pthread_t thread;
            setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
            for (size_t i = 0; i < 4; i++) {
                comms[i] = world(600 + i);
                CHECK(!profiled_open(&l, &comms[i], NULL) && !pthread_create(&thread, NULL, churn, &comms[i]));
            }
            nanosleep(&(struct timespec){.tv_nsec = 20000000 + 1370000 * round}, NULL);
            if (round % 2)
                raise(SIGKILL);
            abort();
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
        if (!access(file, F_OK)) {
            struct workload *w = captured();
            CHECK(calls_in(w) > 0);
            workload_free(w);
            seen++;
        }
    }
    CHECK(seen > 0);
}

/* ---- all versions ------------------------------------------------------------------------------------------------ */

/* The test in a child of its own for every argument from `first` to `last`. */
static void each(void (*test)(int), int first, int last)
{
    for (int i = first; i <= last; i++) {
        snprintf(dir, sizeof dir, "/tmp/nccltune-test-XXXXXX");
        assert_non_null(mkdtemp(dir));
        in_child(test, i);
        remove_dir(NULL);
    }
}

#define TEST(name, first, last)           \
    static void test_##name(void **state) \
    {                                     \
        (void)state;                      \
        each(name, first, last);          \
    }
TEST(records_every_call, 1, 6)
TEST(tells_messages_from_alltoalls, 1, 6)
TEST(tells_scatters_from_alltoalls, 4, 6)
TEST(records_copy_engines, 6, 6)
TEST(without_times, 4, 6)
TEST(says_nothing_unasked, 1, 6)
TEST(refuses_a_relative_path, 4, 6)
TEST(doubts_a_launcher, 0, 1)
TEST(adds_up_communicators, 4, 6)
TEST(guesses_each_group, 1, 3)
TEST(counts_ranks_of_one_process_once, 1, 6)
TEST(a_thousand_communicators, 6, 6)
TEST(says_what_it_rounded, 1, 6)
TEST(eight_threads, 1, 6)
TEST(survives_nonsense, 1, 6)
TEST(written_at_the_end_without_a_close, 1, 6)
TEST(goes_on_after_an_unload, 4, 6)
TEST(left_alone_by_a_fork, 1, 6)
TEST(written_at_intervals, 1, 6)
TEST(cannot_write, 0, 1)
TEST(whole_after_an_abort, 6, 6)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_records_every_call, remove_dir),
        cmocka_unit_test_teardown(test_tells_messages_from_alltoalls, remove_dir),
        cmocka_unit_test_teardown(test_tells_scatters_from_alltoalls, remove_dir),
        cmocka_unit_test_teardown(test_records_copy_engines, remove_dir),
        cmocka_unit_test_teardown(test_without_times, remove_dir),
        cmocka_unit_test_teardown(test_says_nothing_unasked, remove_dir),
        cmocka_unit_test_teardown(test_refuses_a_relative_path, remove_dir),
        cmocka_unit_test_teardown(test_doubts_a_launcher, remove_dir),
        cmocka_unit_test_teardown(test_adds_up_communicators, remove_dir),
        cmocka_unit_test_teardown(test_guesses_each_group, remove_dir),
        cmocka_unit_test_teardown(test_counts_ranks_of_one_process_once, remove_dir),
        cmocka_unit_test_teardown(test_a_thousand_communicators, remove_dir),
        cmocka_unit_test_teardown(test_says_what_it_rounded, remove_dir),
        cmocka_unit_test_teardown(test_eight_threads, remove_dir),
        cmocka_unit_test_teardown(test_survives_nonsense, remove_dir),
        cmocka_unit_test_teardown(test_written_at_the_end_without_a_close, remove_dir),
        cmocka_unit_test_teardown(test_goes_on_after_an_unload, remove_dir),
        cmocka_unit_test_teardown(test_left_alone_by_a_fork, remove_dir),
        cmocka_unit_test_teardown(test_written_at_intervals, remove_dir),
        cmocka_unit_test_teardown(test_cannot_write, remove_dir),
        cmocka_unit_test_teardown(test_whole_after_an_abort, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
