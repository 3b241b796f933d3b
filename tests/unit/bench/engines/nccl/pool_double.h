/* The nccl engine without processes: a pool that notes what it is asked, and answers what the test says. Defines all
 * functions of worker_pool.h, so that the real ones are not linked. Two nodes with two ranks each. */
#pragma once

#include "bench/engines/nccl/session.h"
#include "core/coll.h"
#include "core/progress.h"
#include "tests/lib/noted.h"
#include "tests/lib/unit.h"

#define RANKS 4

struct nccl_pool {
    int nodes, ranks;
    const char *lost;   /* whose agent; NULL nobody's */
    const char *closed; /* why it cannot be opened; NULL it can */
    struct nccl_hello hello;
    struct nccl_joined joined;
    int look_code, start_code;                 /* what these return */
    enum bench_outcome prepare, measure;       /* what becomes of these */
    int prepare_refusals, measure_refusals;    /* and how many ranks refuse */
    const char *detail;                        /* of these */
    void (*law)(const struct nccl_measure *q); /* sets the times before they are told; NULL: they are as they are */
    void (*place)(const struct nccl_point *p); /* the same before a point is prepared */
    struct nccl_prepared prepared[RANKS];
    struct nccl_times times[RANKS];
    int site; /* the last launch is as jobs have it */
};

static struct nccl_pool pool;

static inline double left_s(double deadline_s)
{
    return deadline_s - progress_now_s();
}

struct nccl_pool *nccl_pool_open(const struct bench_setup *setup, const struct nccl_options *own, double patience_s,
                                 volatile sig_atomic_t *stop, struct err *e)
{
    (void)setup;
    (void)own;
    (void)stop;
    note("open %g s", patience_s);
    if (pool.closed)
        err_set(e, ERR_LACKS, "%s", pool.closed);
    return pool.closed ? NULL : &pool;
}

int nccl_pool_broken(const struct nccl_pool *t, char detail[BENCH_DETAIL])
{
    if (t->lost && detail)
        snprintf(detail, BENCH_DETAIL, "lost the agent on %s", t->lost);
    return t->lost != NULL;
}

void nccl_pool_close(struct nccl_pool *t)
{
    if (t)
        note("close");
}

int nccl_pool_nodes(const struct nccl_pool *t)
{
    return t->nodes;
}

int nccl_pool_ranks(const struct nccl_pool *t)
{
    return t->ranks;
}

int nccl_pool_look(struct nccl_pool *t, struct nccl_hello *hello, double patience_s, volatile sig_atomic_t *stop,
                   struct err *e)
{
    (void)stop;
    note("look %g s", patience_s);
    *hello = t->hello;
    t->lost = NULL;
    return t->look_code ? err_set(e, t->look_code, "nothing to see") : 0;
}

int nccl_pool_start(struct nccl_pool *t, const struct nccl_start *s, struct nccl_joined *joined, double patience_s,
                    volatile sig_atomic_t *stop, struct err *e)
{
    const char *settings = "";
    (void)stop;
    for (int i = 0; i < s->nsettings; i++)
        settings = arena_printf(arena, "%s %s=%s", settings, s->settings[i].name, s->settings[i].value);
    note("start%s%s%s%s %.0f s", settings, s->plugin ? " with plugin" : "", s->control ? ", steered" : "",
         s->site ? " as jobs" : "", patience_s);
    t->site = s->site;
    *joined = t->joined;
    return t->start_code ? err_set(e, t->start_code, "it does not start") : 0;
}

static inline const char *point_text(const struct nccl_point *p)
{
    const struct bench_shape *g = &p->groups.shape;
    const char *text = arena_printf(arena, "%s %llu%s", coll_name(p->coll), (unsigned long long)p->bytes,
                                    p->in_place ? " in place" : "");
    text = p->type == NCCL_TYPE_BFLOAT16 ? arena_printf(arena, "%s bfloat16", text) : text;
    text = p->registered ? arena_printf(arena, "%s registered", text) : text;
    return g->nodes ? arena_printf(arena, "%s by %dx%d*%d", text, g->nodes, g->ranks, g->others) : text;
}

static inline const char *call_text(const struct nccl_measure *q)
{
    const char *text = arena_printf(arena, "x%d", q->iterations);
    text = q->algo < 0 ? text : arena_printf(arena, "%s %s/%s", text, algo_name(q->algo), proto_name(q->proto));
    text = q->channels ? arena_printf(arena, "%s on %d", text, q->channels) : text;
    text = q->chunk_bytes ? arena_printf(arena, "%s by %u", text, q->chunk_bytes) : text;
    text = q->graph ? arena_printf(arena, "%s captured", text) : text;
    return q->check ? arena_printf(arena, "%s checked", text) : text;
}

enum bench_outcome nccl_pool_ask(struct nccl_pool *t, struct nccl_question *q, volatile sig_atomic_t *stop,
                                 char detail[BENCH_DETAIL])
{
    int prepares = q->message == NCCL_PREPARE;
    (void)stop;
    assert_int_equal(q->body_bytes, prepares ? sizeof(struct nccl_point) : sizeof(struct nccl_measure));
    assert_int_equal(q->wanted, prepares ? NCCL_PREPARED : NCCL_TIMES);
    assert_int_equal(q->bytes, prepares ? sizeof *t->prepared : sizeof *t->times);
    assert_int_equal(q->first_alone, 0);
    *detail = 0;
    if (prepares) {
        if (t->place)
            t->place(q->body);
        note("prepare %s: %.0f s", point_text(q->body), left_s(q->deadline_s));
    } else {
        if (t->law)
            t->law(q->body);
        note("measure %s: %.0f s", call_text(q->body), left_s(q->deadline_s));
    }
    if (t->detail)
        snprintf(detail, BENCH_DETAIL, "%s", t->detail);
    memcpy(q->answers, prepares ? (void *)t->prepared : (void *)t->times, (size_t)t->ranks * q->bytes);
    q->refusals = prepares ? t->prepare_refusals : t->measure_refusals;
    return prepares ? t->prepare : t->measure;
}

void nccl_pool_noise(struct nccl_pool *t, struct findings *found)
{
    (void)t;
    (void)found;
    note("noise");
}

void nccl_pool_stop(struct nccl_pool *t, int kill)
{
    (void)t;
    note(kill ? "kill" : "stop");
}

/* ---- a session over it ---- */

static struct nccl_context context;
static struct nccl_session s;
static struct bench_knobs launch;
static char *logged;
static size_t logged_bytes, looked_at;
static struct log said;

static inline int begin(void **state)
{
    arena = arena_new();
    notes = "";
    looked_at = 0;
    said = (struct log){.out = open_memstream(&logged, &logged_bytes), .program = "test"};
    pool = (struct nccl_pool){.nodes = 2, .ranks = RANKS, .hello = {.version = 22809, .path = "/lib", .gpu = "H100"}};
    for (int r = 0; r < RANKS; r++) {
        pool.prepared[r] = (struct nccl_prepared){.type = "float32"};
        pool.times[r] = (struct nccl_times){.us = 100, .host_least_us = 100, .host_most_us = 100};
    }
    launch = (struct bench_knobs){.label = BENCH_DEFAULT};
    context = (struct nccl_context){.pool = &pool, .arena = arena, .setup = {.log = &said}};
    s = (struct nccl_session){.base = {.nodes = 2, .ranks = RANKS},
                              .context = &context,
                              .arena = arena,
                              .launch = &launch,
                              .times = arena_alloc(arena, 400 * sizeof *s.times),
                              .prepared = arena_alloc(arena, 400 * sizeof *s.prepared)};
    return 0;
}

static inline int end(void **state)
{
    fclose(said.out);
    free(logged);
    arena_free(arena);
    return 0;
}

/* What the log has got since the last look. */
static inline void assert_logged(const char *expected)
{
    fflush(said.out);
    assert_string_equal(logged + looked_at, expected);
    looked_at = logged_bytes;
}
