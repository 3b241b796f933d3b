/* The capture as NCCL drives it: what is recorded of every version of the interface. */
#include <pthread.h>

#include "tests/unit/tuner/capture/captured.h"

/* ---- what is recorded -------------------------------------------------------------------------------------------- */

static void records_every_call(int api)
{
    use_timed_capture();
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
    CHECK(bc->algo == ALGO_RING && bc->proto == PROTO_LL && bc->channels == 2);
    CHECK(red->algo == ALGO_TREE && red->proto == PROTO_LL);
    CHECK(ar->group_size == 8 && ar->stride == 1 && workload_call_nodes(w, ar) == 2);
    CHECK(ar->place == WORKLOAD_CLUSTER);
    if (api >= 4)
        CHECK(is_about(ar->time_us, 500) && is_about(ag->time_us, 90) && is_about(red->time_us, 10));
    else
        CHECK(ar->time_us < 0 && ag->time_us < 0 && says(w, "reports no times"));
    workload_free(w);
}

/* A pipeline's messages one by one; what is sent to all ranks at once is an all-to-all, uneven if one gets more. */
static void tells_messages_from_alltoalls(int api)
{
    use_timed_capture();
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
    /* Versions 1 and 2 learn the ranks from the first AllGather and from nothing else, version 3 from who is named. */
    launch(&c, (struct profiled_task){"AllReduce", 10, 7, ALGO_RING, PROTO_LL, 1, 0, 1000}, 1);
    launch(&c, (struct profiled_task){"AllGather", 0, 0, ALGO_RING, PROTO_LL, 1, 0, 1000}, 1);
    launch(&c, (struct profiled_task){"AllGather", 10, 0, ALGO_RING, PROTO_LL, 1, 0, 1000}, 1);
    for (int i = 0; i < 5; i++)
        profiled_launch(&c, tasks, 16);
    tasks[6].count = 3000; /* to rank 3 */
    profiled_launch(&c, tasks, 16);
    CHECK(!profiled_close(&c));

    struct workload *w = captured();
    const struct workload_call *message = find(w, COLL_SENDRECV, 2000), *all = find(w, COLL_ALLTOALL, 0);
    const struct workload_call *uneven = find(w, COLL_ALLTOALLV, 0);
    CHECK(uneven && uneven->count == 1 && uneven->bytes == 2 * (8028 - 1003 + 3000) && uneven->group_size == 8);
    CHECK(message && message->count == 7 && message->group_size == 2);
    CHECK(all && all->count == 5 && all->bytes == 2 * 8028 && all->group_size == 8);
    if (api >= 4)
        CHECK(is_about(message->time_us, 30) && all->time_us < 0 && all->channels == 2);
    workload_free(w);
}

/* An all-to-all without the own share is counted with it; what is sent to all and not received is a scatter. */
static void tells_scatters_from_alltoalls(int api)
{
    use_timed_capture();
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
    const struct workload_call *message = find(w, COLL_SENDRECV, 0), *all = find(w, COLL_ALLTOALL, 0);
    CHECK(all && all->count == 3 && all->bytes == 8 * 2000 && is_about(all->time_us, 40));
    CHECK(message && message->count == 40 && message->bytes == 1000 && message->time_us < 0);
    workload_free(w);
}

/* More sends in one launch than are told apart: counted one by one, and none is lost. */
static void counts_a_launch_of_many_sends(int api)
{
    use_timed_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = {.id = 78, .nodes = 40, .ranks = 320, .rank = 3};
    struct profiled_task tasks[300];
    CHECK(!profiled_open(&l, &c, NULL));
    for (int i = 0; i < 300; i++)
        tasks[i] = (struct profiled_task){"Send", 500, 9, 0, 0, 2, (i + 4) % 300, 40000}; /* the own one at the end */
    profiled_launch(&c, tasks, 300);
    CHECK(!profiled_close(&c));
    setenv("RANK", "3", 1);
    char host[65] = "";
    CHECK(!gethostname(host, sizeof host - 1)); /* 320 ranks are more than the launcher said */
    snprintf(file, sizeof file, "%s/42.rank.%.40s-%d.json", dir, host, getpid());
    struct workload *w = captured();
    CHECK(find(w, COLL_SENDRECV, 1000)->count == 300 && says(w, "in 1 communicators ranks sent to themselves"));
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
    const struct workload_call *all = find(w, COLL_ALLTOALL, 3200);
    CHECK(all && all->count == 1 && all->time_us < 0 && w->phases[0].ncalls == 1);
    workload_free(w);
}

/* Where NCCL is told to run broadcasts as before, they come with a task and count once. */
static void counts_broadcasts_once(int api)
{
    struct profiled_task hidden = {"Broadcast", 500, 8, ALGO_RING, PROTO_LL, 2, 0, 20000};
    use_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(79);
    CHECK(!profiled_open(&l, &c, NULL));
    launch(&c, hidden, 3);
    setenv("NCCL_ALLGATHERV_ENABLE", "0", 1);
    launch(&c, hidden, 4);
    for (size_t i = 1; i <= 110; i++) /* each takes two places for a while, which are not that many */
        launch(&c, (struct profiled_task){"Broadcast", 1000 * i, 0, ALGO_RING, PROTO_LL, 4, 0, 5000}, 1);
    CHECK(!profiled_close(&c));
    struct workload *w = captured();
    double untold = 0;
    CHECK(calls_in(w) == 117 && !says(w, "missing"));
    for (int i = 0; i < w->phases[0].ncalls; i++)
        untold += w->phases[0].calls[i].algo < 0 ? w->phases[0].calls[i].count : 0;
    CHECK(api < 6 || (untold == 3 && says(w, "algorithm nor time of 3 broadcast calls")));
    workload_free(w);
}

static void says_what_it_cannot_see(int api)
{
    struct profiled_task hidden = one_mib, graph = one_mib;
    hidden.symmetric = graph.in_graph = 1;
    use_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(81);
    CHECK(!profiled_open(&l, &c, NULL));
    launch(&c, one_mib, 20);
    launch(&c, hidden, 10);
    launch(&c, graph, 5);
    CHECK(!profiled_close(&c));
    struct workload *w = captured();
    CHECK(find(w, COLL_ALLREDUCE, MIB)->count == 25);
    CHECK(says(w, "of 10 allreduce calls, as of those on symmetric memory; they are missing"));
    CHECK(says(w, "5 calls were captured into CUDA graphs"));
    workload_free(w);
}

/* NCCL numbers a communicator's kernels twice, on the GPU and in its proxy, and leaves messages to oneself out of one.
 * All that is asked for then has times of other calls, and what is asked for now and then waits for ever. */
static void believes_no_times_behind_messages_to_oneself(int api)
{
    use_timed_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(82);
    struct profiled_task tasks[16], slow = one_mib;
    slow.ns *= 10;
    CHECK(!profiled_open(&l, &c, NULL));
    launch(&c, one_mib, 600);
    for (int i = 0; i < 16; i++)
        tasks[i] = (struct profiled_task){i % 2 ? "Recv" : "Send", 1000, 9, 0, 0, 2, i / 2, 40000};
    profiled_launch(&c, tasks, 16);
    launch(&c, slow, 70);
    CHECK(!profiled_close(&c));
    struct workload *w = captured();
    const struct workload_call *all = find(w, COLL_ALLTOALL, 0), *reduced = find(w, COLL_ALLREDUCE, MIB);
    CHECK(all->count == 1 && all->time_us < 0 && reduced->count == 670 && is_about(reduced->time_us, 500));
    CHECK(says(w, "in 1 communicators ranks sent to themselves"));
    workload_free(w);
}

/* A third of the group broadcasts from each root, as frameworks gather uneven shares; then some other call. */
static void gather_unevenly(struct profiled_comm *c, int times)
{
    struct profiled_task shares[3];
    for (int i = 0; i < 3; i++)
        shares[i] = (struct profiled_task){"Broadcast", 1000, 7, ALGO_RING, PROTO_LL, 4, 0, 20000, .root = i};
    for (int i = 0; i < times; i++) {
        profiled_launch(c, shares, 3);
        launch(c, one_mib, 1);
    }
}

/* With kernel channels in the mask ncclCommDestroy would wait here for ever. */
static void ends_behind_uneven_gathers(int api)
{
    use_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(80);
    CHECK(!profiled_open(&l, &c, NULL));
    gather_unevenly(&c, 200);
    CHECK(!profiled_close(&c));
    struct workload *w = captured();
    CHECK(find(w, COLL_ALLREDUCE, MIB)->count == 200 && find(w, COLL_BROADCAST, 4000)->count == 600);
    workload_free(w);
}

static void asks_for_no_times_unasked(int api)
{
    use_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(80);
    CHECK(!profiled_open(&l, &c, remember) && !(l.mask & NCCL_PROFILE_KERNEL_CHANNEL) && !logged.warnings);
    launch(&c, one_mib, 200);
    CHECK(!profiled_close(&c));
    struct workload *w = captured();
    CHECK(find(w, COLL_ALLREDUCE, MIB)->count == 200 && find(w, COLL_ALLREDUCE, MIB)->time_us < 0);
    CHECK(says(w, "no times were requested"));
    workload_free(w);
}

/* Where NCCL's own account is wrong there are none, however much they are wanted. */
static void refuses_times_that_would_be_wrong(int api)
{
    use_capture();
    setenv("NCCLTUNE_CAPTURE_TIMES", "1", 1);
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(80);
    int is_right = api < 6;
    CHECK(!profiled_open(&l, &c, remember) && !!(l.mask & NCCL_PROFILE_KERNEL_CHANNEL) == is_right);
    CHECK(logged.warnings == !is_right && (is_right || strstr(logged.text, "NCCL_ALLGATHERV_ENABLE=0")));
    gather_unevenly(&c, 200);
    CHECK(!profiled_close(&c));
    struct workload *w = captured();
    CHECK((find(w, COLL_ALLREDUCE, MIB)->time_us > 0) == is_right && says(w, "refused") != is_right);
    workload_free(w);
}

#define LATE_CALLS 40

struct late {
    struct profiled_comm *comm;
    void *calls[LATE_CALLS];
};

/* CUDA's callback thread, when a replay that was in flight is over. */
static void *tell_late(void *arg)
{
    struct late *l = arg;
    for (int i = 0; i < LATE_CALLS; i++) {
        l->comm->said = l->calls[i];
        l->comm->is_said = 1;
        l->comm->said_mask = l->comm->nccl->mask;
        profiled_launch(l->comm, &one_mib, 1);
    }
    return NULL;
}

/* Once anything was captured, NCCL tells of eager calls when a callback of the host comes round: behind calls that were
 * made later, and from another thread (2.30.7, enqueue.cc:1700). */
static void counts_what_is_told_late(int api)
{
    struct profiled_task graph = one_mib;
    pthread_t thread;
    use_timed_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(83);
    struct late late = {.comm = &c};
    CHECK(!profiled_open(&l, &c, NULL));
    graph.in_graph = 1;
    launch(&c, graph, 5);
    for (int i = 0; i < LATE_CALLS; i++)
        late.calls[i] = profiled_call(&c, &one_mib);
    CHECK(!pthread_create(&thread, NULL, tell_late, &late) && !pthread_join(thread, NULL));
    CHECK(!profiled_close(&c));
    struct workload *w = captured();
    const struct workload_call *reduced = find(w, COLL_ALLREDUCE, MIB);
    CHECK(reduced->count == LATE_CALLS + 5 && is_about(reduced->time_us, 500) && !says(w, "missing"));
    workload_free(w);
}

static void believes_no_impossible_time(int api)
{
    struct profiled_task hour = one_mib;
    hour.ns = UINT64_C(3600000000000);
    use_timed_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(80);
    CHECK(!profiled_open(&l, &c, NULL));
    launch(&c, one_mib, 20);
    launch(&c, hour, 30);
    CHECK(!profiled_close(&c));
    struct workload *w = captured();
    const struct workload_call *reduced = find(w, COLL_ALLREDUCE, MIB);
    CHECK(reduced->count == 50 && is_about(reduced->time_us, 500));
    CHECK(says(w, "30 times were longer than what had passed"));
    workload_free(w);
}

/* ---- too much ---------------------------------------------------------------------------------------------------- */

/* The number in its note. */
static long rounded_calls(const struct workload *w)
{
    for (int i = 0; i < w->nnotes; i++)
        if (strstr(w->notes[i], "calls of more sizes"))
            return strtol(w->notes[i], NULL, 10);
    return 0;
}

/* A second communicator's counts join those of the first, with what was rounded. */
static void adds_up_what_it_rounded(int api)
{
    long rounded[2];
    use_capture();
    struct profiler_loader l = profiler_load(api);
    for (uint64_t k = 0; k < 2; k++) {
        struct profiled_comm c = world(840 + k);
        CHECK(!profiled_open(&l, &c, NULL));
        for (size_t i = 1; i <= 1000; i++)
            launch(&c, (struct profiled_task){"AllReduce", 1000 * i, 0, ALGO_RING, PROTO_LL, 4, 0, 5000}, 1);
        CHECK(!profiled_close(&c));
        struct workload *w = captured();
        CHECK(calls_in(w) == (double)(1000 * (k + 1)));
        rounded[k] = rounded_calls(w);
        workload_free(w);
    }
    CHECK(rounded[0] > 700 && rounded[1] > 1400);
}

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
    CHECK(rounded_calls(w) > 4000);
    CHECK(fabs(workload_bytes(w, NULL, -1) / bytes - 1) < 0.05);
    workload_free(w);
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
    struct profiled_comm shared[8]; /* the double's clock and channels are not for many threads, its context is */
    for (size_t i = 0; i < 8; i++) {
        shared[i] = comms[8];
        shared[i].channels = NULL;
        jobs[8 + i].comm = &shared[i];
        CHECK(!pthread_create(&threads[8 + i], NULL, work, &jobs[8 + i]));
    }
    for (size_t i = 8; i < 16; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < 9; i++)
        CHECK(!profiled_close(&comms[i]));
    struct workload *w = captured();
    CHECK(find(w, COLL_SENDRECV, 20) && calls_in(w) == 2 * 16 * 20000);
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

/* ---- all versions ------------------------------------------------------------------------------------------------ */

TEST(records_every_call, 1, 6)
TEST(tells_messages_from_alltoalls, 1, 6)
TEST(tells_scatters_from_alltoalls, 4, 6)
TEST(records_copy_engines, 6, 6)
TEST(ends_behind_uneven_gathers, 5, 6)
TEST(asks_for_no_times_unasked, 4, 6)
TEST(refuses_times_that_would_be_wrong, 4, 6)
TEST(counts_what_is_told_late, 5, 6)
TEST(believes_no_impossible_time, 4, 6)
TEST(counts_broadcasts_once, 5, 6)
TEST(says_what_it_cannot_see, 5, 6)
TEST(believes_no_times_behind_messages_to_oneself, 4, 6)
TEST(says_what_it_rounded, 1, 6)
TEST(adds_up_what_it_rounded, 4, 6)
TEST(counts_a_launch_of_many_sends, 4, 6)
TEST(eight_threads, 1, 6)
TEST(survives_nonsense, 1, 6)

int test_profiler(void)
{
    const struct CMUnitTest tests[] = {
        CAPTURE_TEST(records_every_call),
        CAPTURE_TEST(tells_messages_from_alltoalls),
        CAPTURE_TEST(tells_scatters_from_alltoalls),
        CAPTURE_TEST(records_copy_engines),
        CAPTURE_TEST(ends_behind_uneven_gathers),
        CAPTURE_TEST(asks_for_no_times_unasked),
        CAPTURE_TEST(refuses_times_that_would_be_wrong),
        CAPTURE_TEST(counts_what_is_told_late),
        CAPTURE_TEST(believes_no_impossible_time),
        CAPTURE_TEST(counts_broadcasts_once),
        CAPTURE_TEST(says_what_it_cannot_see),
        CAPTURE_TEST(believes_no_times_behind_messages_to_oneself),
        CAPTURE_TEST(says_what_it_rounded),
        CAPTURE_TEST(adds_up_what_it_rounded),
        CAPTURE_TEST(counts_a_launch_of_many_sends),
        CAPTURE_TEST(eight_threads),
        CAPTURE_TEST(survives_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
