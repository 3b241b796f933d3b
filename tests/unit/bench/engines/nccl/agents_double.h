/* Agents that only note: what they are told, and whose frames say what the test has laid ready. Defines what the pool
 * uses of bench/launch/agents.h, so that the real ones are not linked. */
#pragma once

#include <unistd.h>

#include "bench/candidates/engine.h"
#include "bench/engines/nccl/worker_pool.h"
#include "bench/launch/agents.h"
#include "core/progress.h"
#include "tests/lib/bare_env.h"
#include "tests/lib/noted.h"
#include "tests/lib/unit.h"

/* What comes from agents while somebody waits, in order; an entry of message 0 ends one waiting with `event`. */
static struct coming {
    int agent, message, rank;
    const void *body;
    size_t bytes;
    enum agents_event event;
    double sets_in_s; /* the deadline must be so far away afterwards; 0: any */
} coming[64];
static int ncoming, at_coming;

static struct agent items[3] = {{.host = "n0"}, {.host = "n1"}, {.host = "n2"}};
static const char *here;
static int fails, too_long, nagents, speechless;
static struct bench_setup setup;
static struct nccl_options own;
static struct err e;

static inline void assert_says(const char *text, const char *expected)
{
    if (strcmp(text, expected) != 0)
        fail_msg("'%s' instead of '%s'", text, expected);
}

/* In the place of libc's. */
int gethostname(char *name, size_t bytes)
{
    snprintf(name, bytes, "%s", here);
    return 0;
}

/* ---- the agents ---- */

int agents_open(struct agents *s, const struct bench_setup *x, double patience_s, volatile sig_atomic_t *stop,
                struct err *why)
{
    (void)x;
    (void)stop;
    note("open %g s", patience_s);
    *s = (struct agents){.items = items, .count = nagents};
    return fails == 1 ? err_set(why, ERR_LACKS, "nobody comes") : 0;
}

void agents_close(struct agents *s)
{
    (void)s;
    note("close");
}

static inline const char *message_name(int message)
{
    switch (message) {
    case NCCL_NAME:
        return "name";
    case NCCL_JOIN:
        return "join";
    case NCCL_PREPARE:
        return "prepare";
    case NCCL_QUIT:
        return "quit";
    default:
        return "?";
    }
}

void agents_send(struct agents *s, int i, int message, int rank, const void *body, size_t bytes)
{
    (void)s;
    if (message == NCCL_JOIN)
        note("join of %d control %d id %.4s to %d.%d", ((const struct nccl_join *)body)->nranks,
             ((const struct nccl_join *)body)->control, ((const struct nccl_join *)body)->id, i, rank);
    else
        note("%s to %d.%d", message_name(message), i, rank);
    assert_int_equal(bytes, message == NCCL_JOIN      ? sizeof(struct nccl_join)
                            : message == NCCL_PREPARE ? sizeof(struct nccl_point)
                                                      : 0);
}

enum agents_event agents_wait(struct agents *s, double *deadline_s, volatile sig_atomic_t *stop, agents_hear *hear,
                              void *user, int *lost)
{
    (void)lost;
    if (stop && *stop)
        return AGENTS_STOPPED;
    while (at_coming < ncoming) {
        const struct coming *c = &coming[at_coming++];
        const struct frame f = {{.message = (uint16_t)c->message, .rank = c->rank, .bytes = (uint32_t)c->bytes},
                                c->body};
        if (!c->message) {
            s->lost = c->event == AGENTS_LOST;
            items[c->agent].lost = s->lost;
            return c->event;
        }
        int enough = hear(user, c->agent, &f);
        double left_s = *deadline_s - progress_now_s();
        if (c->sets_in_s > 0 && !(left_s > c->sets_in_s - 1 && left_s < c->sets_in_s + 0.5))
            fail_msg("%g s are left instead of %g", left_s, c->sets_in_s);
        if (enough)
            return AGENTS_ENOUGH;
    }
    return AGENTS_LATE;
}

void agents_kill(struct agents *s, double patience_s, agents_last_words *last, void *user)
{
    (void)s;
    note("kill %g s", patience_s);
    if (speechless)
        return;
    last(user, "worker: ended");
    last(user, "worker: n1: NCCL WARN no route");
    last(user, "worker: n2: later");
}

int agents_begin_beside(struct agents *s, const char *const *argv, struct err *why)
{
    (void)s;
    note("beside %s %s", argv[0], argv[1]);
    assert_null(argv[2]);
    return fails == 2 ? err_set(why, ERR_FAILED, "too long") : 0;
}

struct agents_answer *agents_end_beside(struct agents *s, double deadline_s, struct arena *a, struct err *why)
{
    static char hot[] = "at 1\ngpu-heat 1 GPU 0\nat 2\ngpu-heat 1 GPU 0\n";
    struct agents_answer *all = arena_alloc(a, 3 * sizeof *all);
    (void)why;
    note("end beside %.0f s", deadline_s - progress_now_s());
    for (int m = 0; m < s->count; m++)
        all[m].output = hot;
    return all;
}

int agents_start(struct agents *s, int i, const struct agents_order *o, int first_rank)
{
    const char *words = "", *settings = "";
    (void)s;
    for (int k = 0; o->argv[k]; k++)
        words = arena_printf(arena, "%s %s", words, o->argv[k]);
    for (int k = 0; o->settings[k]; k++)
        if (strchr(o->settings[k], '=')) /* the rest is what is taken away: test_inherit */
            settings = arena_printf(arena, "%s %s", settings, o->settings[k]);
    note("order%s x%d from %d:%s", words, o->copies, first_rank, settings);
    assert_int_equal(o->frames, 1);
    if (!too_long)
        note("start to %d.%d", i, AGENT_ALL);
    return -too_long;
}

/* ---- the pool ---- */

static inline int begin(void **state)
{
    bare_env();
    arena = arena_new();
    notes = "";
    here = "n0";
    fails = too_long = speechless = ncoming = at_coming = 0;
    nagents = 2;
    setup = (struct bench_setup){0};
    own = (struct nccl_options){0};
    e = (struct err){0};
    for (int m = 0; m < 3; m++)
        items[m].lost = 0;
    return 0;
}

static inline int end(void **state)
{
    arena_free(arena);
    return 0;
}

static inline void comes(int agent, int message, int rank, const void *body, size_t bytes)
{
    coming[ncoming++] = (struct coming){agent, message, rank, body, bytes, AGENTS_ENOUGH, 0};
}

static inline void comes_event(int agent, enum agents_event event)
{
    coming[ncoming++] = (struct coming){.agent = agent, .event = event};
}

static inline const struct nccl_hello *hello(int version, int gpus, int rccl, const char *path)
{
    struct nccl_hello *h = ARENA_NEW(arena, struct nccl_hello);
    *h = (struct nccl_hello){.version = version, .gpus = gpus, .rccl = rccl};
    strcpy(h->path, path);
    return h;
}

static inline void come_hellos(int n)
{
    for (int r = 0; r < n; r++)
        comes(n == nagents ? r : r / 2, NCCL_HELLO, r, hello(22809, 2, 0, "/lib"), sizeof(struct nccl_hello));
}

static inline struct nccl_pool *must_open(void)
{
    struct nccl_pool *t = nccl_pool_open(&setup, &own, 7, NULL, &e);
    if (!t)
        fail_msg("%s", e.text);
    return t;
}

/* One that has looked: two nodes with two ranks each. */
static inline struct nccl_pool *looked(void)
{
    struct nccl_pool *t = must_open();
    struct nccl_hello h;
    come_hellos(nagents);
    if (nccl_pool_look(t, &h, 10, NULL, &e))
        fail_msg("%s", e.text);
    notes = "";
    return t;
}

/* And one that runs: their names and what they say of having joined. */
static inline void come_joined(void)
{
    static const char id[128] = "uniq";
    come_hellos(4);
    comes(0, NCCL_NAMED, 0, id, sizeof id);
    for (int r = 0; r < 4; r++) {
        struct nccl_joined *j = ARENA_NEW(arena, struct nccl_joined);
        *j = (struct nccl_joined){.nodes = 2, .api = r, .free = (uint64_t)(r == 1 ? 50 : 70)};
        comes(r / 2, NCCL_JOINED, r, j, sizeof *j);
    }
}

static inline struct nccl_pool *running(void)
{
    struct nccl_pool *t = looked();
    struct nccl_joined joined;
    come_joined();
    if (nccl_pool_start(t, &(struct nccl_start){0}, &joined, 10, NULL, &e))
        fail_msg("%s", e.text);
    notes = "";
    return t;
}
