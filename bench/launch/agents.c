/* Orders to agents and what comes back: frames, and programs that are run on all nodes. */

#include <string.h>

#include "bench/launch/launch_internal.h"
#include "core/hostlist.h"
#include "core/progress.h"

#define STOP_PERIOD_MS 100
#define MOST_OUTPUT    ((size_t)16 << 20)
#define MOST_ERRORS    ((size_t)4 << 10)
#define KILL_S         3.0
#define LAST_WORDS_S   0.3 /* from an agent's end to that of its launcher */

int agents_find(const struct agents *s, const char *host)
{
    int alike = -1;
    for (int i = 0; i < s->count; i++) {
        const char *name = s->items[i].host;
        if (!strcmp(name, host))
            return i;
        if (alike < 0 && hostlist_alike(name, host))
            alike = i;
    }
    return alike;
}

struct pollfd *agents_poll_room(struct agents *s)
{
    if (!s->fds)
        s->fds = arena_alloc(s->arena, (2 * (size_t)s->wanted + AGENTS_GUESTS + 1 + (size_t)start_room(s->start)) *
                                           sizeof *s->fds);
    return s->fds;
}

/* Close the connection of agent `i`, which counts as lost. */
static void lose_agent(struct agents *s, int i)
{
    struct agent *m = &s->items[i];
    s->lost += !m->lost;
    m->lost = 1;
    connection_close(&m->connection);
}

/* ---- orders and what is heard ---- */

void agents_send(struct agents *s, int i, int message, int rank, const void *body, size_t bytes)
{
    for (int m = i < 0 ? 0 : i; m < (i < 0 ? s->count : i + 1); m++)
        if (!s->items[m].lost && connection_send(&s->items[m].connection, message, rank, body, bytes))
            lose_agent(s, m);
}

/* Everything that has come from agent `i`. 1: `hear` has had enough, and the rest is for who waits next. */
static int hear_agent(struct agents *s, int i, int alive, agents_hear *hear, void *user)
{
    struct connection *c = &s->items[i].connection;
    struct frame f;
    int got, enough = 0;
    while (!enough && (got = connection_next(c, &f)) > 0)
        enough = hear(user, i, &f);
    if (!enough && (!alive || got < 0))
        lose_agent(s, i);
    return enough;
}

static void poll_all(struct agents *s, struct pollfd *fds, int timeout_ms)
{
    int n = 0;
    for (int i = 0; i < s->count; i++) {
        const struct connection *c = &s->items[i].connection;
        fds[n++] = (struct pollfd){.fd = c->from, .events = POLLIN};
        fds[n++] = (struct pollfd){.fd = c->queued ? c->to : -1, .events = POLLOUT};
    }
    int launchers = start_pollfds(s->start, fds + n, start_room(s->start));
    poll(fds, (nfds_t)n + (nfds_t)launchers, timeout_ms);
    start_listen(s->start);
}

/* The first agent that is lost and has not been reported yet; -1 none. */
static int next_lost(struct agents *s)
{
    for (int i = 0; i < s->count && s->lost > s->reported; i++)
        if (s->items[i].lost == 1) {
            s->items[i].lost = 2;
            s->reported++;
            return i;
        }
    return -1;
}

/* One turn: 1 enough was heard. */
static int wait_and_hear(struct agents *s, struct pollfd *fds, int timeout_ms, agents_hear *hear, void *user)
{
    struct agent *m = s->items;
    int enough = 0;
    for (int i = 0; i < s->count && !enough; i++)
        enough = hear_agent(s, i, 1, hear, user);
    if (enough)
        return 1;
    poll_all(s, fds, timeout_ms);
    for (int i = 0; i < s->count && !enough; i++) {
        if (fds[2 * i + 1].revents && connection_flush(&m[i].connection))
            lose_agent(s, i);
        if (fds[2 * i].revents && !m[i].lost)
            enough = hear_agent(s, i, connection_fill(&m[i].connection), hear, user);
    }
    return enough;
}

enum agents_event agents_wait(struct agents *s, double *deadline_s, volatile sig_atomic_t *stop, agents_hear *hear,
                              void *user, int *lost)
{
    enum agents_event result = AGENTS_LATE;
    for (;;) {
        double left_ms = (*deadline_s - progress_now_s()) * 1e3;
        if (stop && *stop)
            result = AGENTS_STOPPED;
        else if ((*lost = next_lost(s)) >= 0)
            result = AGENTS_LOST;
        else if (left_ms > 0 && wait_and_hear(s, agents_poll_room(s),
                                              left_ms < STOP_PERIOD_MS ? (int)left_ms + 1 : STOP_PERIOD_MS, hear, user))
            result = AGENTS_ENOUGH;
        else if (left_ms > 0)
            continue;
        return result;
    }
}

struct killing {
    struct agents *agents;
    char *answered; /* by agent */
    agents_last_words *last;
    void *user;
};

static int all_have_killed(const struct killing *k)
{
    int left = 0;
    for (int i = 0; i < k->agents->count; i++)
        left += !k->agents->items[i].lost && !k->answered[i];
    return !left;
}

static int hear_killed(void *user, int i, const struct frame *f)
{
    struct killing *k = user;
    struct agent_ended ended;
    if ((f->head.message != AGENT_KILLED && f->head.message != AGENT_ENDED) || frame_body(f, &ended, sizeof ended))
        return 0;
    ended.last[sizeof ended.last - 1] = 0;
    if (k->last && *ended.last)
        k->last(k->user, ended.last);
    k->answered[i] |= f->head.message == AGENT_KILLED;
    return all_have_killed(k);
}

void agents_kill(struct agents *s, double patience_s, agents_last_words *last, void *user)
{
    double deadline_s = progress_now_s() + patience_s;
    struct arena *a = arena_new();
    struct killing k = {s, arena_alloc(a, (size_t)s->count + 1), last, user};
    enum agents_event event = AGENTS_LOST;
    int i;
    agents_send(s, -1, AGENT_KILL, AGENT_ALL, NULL, 0);
    while (event == AGENTS_LOST && !all_have_killed(&k))
        event = agents_wait(s, &deadline_s, NULL, hear_killed, &k, &i);
    for (i = 0; i < s->count && event == AGENTS_LATE; i++)
        if (!k.answered[i] && !s->items[i].lost)
            lose_agent(s, i);
    arena_free(a);
}

/* ---- orders to start programs ---- */

static int put_string(char *body, size_t *used, const char *text)
{
    size_t bytes = strlen(text) + 1;
    if (*used + bytes > FRAME_BODY)
        return -1;
    memcpy(body + *used, text, bytes);
    *used += bytes;
    return 0;
}

size_t agents_start_body(const struct agents_order *o, int first_rank, char body[FRAME_BODY])
{
    struct agent_start head = {.first_rank = first_rank, .count = o->copies > 0 ? o->copies : 1, .frames = o->frames};
    size_t used = sizeof head;
    int rc = 0;
    for (const char *const *w = o->argv; *w && !rc; w++, head.words++)
        rc = put_string(body, &used, *w);
    for (const char *const *w = o->settings; w && *w && !rc; w++, head.settings++)
        rc = put_string(body, &used, *w);
    memcpy(body, &head, sizeof head);
    return rc || head.words + head.settings > AGENT_MOST_STRINGS ? 0 : used;
}

int agents_start(struct agents *s, int i, const struct agents_order *o, int first_rank)
{
    char body[FRAME_BODY];
    size_t bytes = agents_start_body(o, first_rank, body);
    if (bytes)
        agents_send(s, i, AGENT_START, AGENT_ALL, body, bytes);
    return bytes ? 0 : -1;
}

/* The same of a program without settings, with a sentence. */
static int start_program(struct agents *s, int i, const char *const *argv, int rank, struct err *e)
{
    return agents_start(s, i, &(struct agents_order){.argv = argv}, rank)
               ? err_set(e, ERR_FAILED, "%s: its command line is too long", argv[0])
               : 0;
}

/* ---- answers ---- */

/* Answers while they grow, by agent. */
struct running {
    struct agents *agents;
    struct arena *arena;
    struct agents_answer *all;
    size_t *space; /* of each one's output */
    char *done;
    int left, rank; /* who answers: AGENT_BESIDE, else 0: by the agent's number */
};

static void finish_answer(struct running *r, int i)
{
    r->left -= !r->done[i];
    r->done[i] = 1;
}

static void keep_output(struct running *r, int i, const char *data, size_t bytes)
{
    struct agents_answer *w = &r->all[i];
    if (bytes > MOST_OUTPUT - w->bytes)
        bytes = MOST_OUTPUT - w->bytes;
    if (w->bytes + bytes + 1 > r->space[i]) {
        r->space[i] = 2 * (w->bytes + bytes + 1);
        char *more = arena_alloc(r->arena, r->space[i]);
        memcpy(more, w->output, w->bytes);
        w->output = more;
    }
    memcpy(w->output + w->bytes, data, bytes);
    w->bytes += bytes; /* zero behind them: so is what an arena gives */
}

/* The end of what there is: older bytes make room. */
static void keep_errors(char errors[MOST_ERRORS], const char *data, size_t bytes)
{
    size_t used = strlen(errors), room = MOST_ERRORS - 1;
    if (bytes > room) {
        data += bytes - room;
        bytes = room;
    }
    if (used + bytes > room) {
        size_t gone = used + bytes - room;
        memmove(errors, errors + gone, used - gone);
        used -= gone;
    }
    memcpy(errors + used, data, bytes);
    errors[used + bytes] = 0;
}

static int hear_answer(void *user, int i, const struct frame *f)
{
    struct running *r = user;
    struct agent_ended ended;
    if (f->head.rank != (r->rank ? r->rank : i) || r->done[i])
        return 0;
    if (f->head.message == AGENT_OUTPUT) {
        keep_output(r, i, f->body, f->head.bytes);
    } else if (f->head.message == AGENT_ERRORS) {
        keep_errors(r->all[i].errors, f->body, f->head.bytes);
    } else if (f->head.message == AGENT_ENDED && !frame_body(f, &ended, sizeof ended)) {
        r->all[i].status = ended.status;
        if (ended.status == -1)
            keep_errors(r->all[i].errors, ended.last, strnlen(ended.last, sizeof ended.last));
        finish_answer(r, i);
    }
    return r->left == 0;
}

/* `why` counts where the program itself has said nothing. */
static void give_up_answer(struct running *r, int i, const char *why)
{
    if (r->done[i])
        return;
    if (!*r->all[i].errors)
        keep_errors(r->all[i].errors, why, strlen(why));
    r->all[i].lost = 1;
    finish_answer(r, i);
}

/* The same of an agent that has gone, by what its launcher says. */
static void give_up_lost(struct running *r, int i)
{
    const struct agents *s = r->agents->lender ? r->agents->lender : r->agents;
    char words[BENCH_DETAIL], why[BENCH_DETAIL + 32] = "its agent has ended";
    if (start_node_ended(s->start, r->agents->items[i].host, LAST_WORDS_S, words))
        snprintf(why, sizeof why, "its agent has ended: %s", words);
    give_up_answer(r, i, why);
}

/* Until all have answered; those that have not by the deadline are killed. */
static struct agents_answer *collect_answers(struct agents *s, int rank, double deadline_s, volatile sig_atomic_t *stop,
                                             struct arena *a, struct err *e)
{
    const size_t n = (size_t)s->count + 1;
    struct running r = {
        s,        a,   arena_alloc(a, n * sizeof *r.all), arena_alloc(a, n * sizeof *r.space), arena_alloc(a, n),
        s->count, rank};
    enum agents_event event = AGENTS_LOST;
    int lost;
    for (int i = 0; i < s->count; i++) {
        r.all[i] =
            (struct agents_answer){.status = -1, .errors = arena_alloc(a, MOST_ERRORS), .output = arena_strdup(a, "")};
        if (s->items[i].lost)
            give_up_lost(&r, i);
    }
    while (r.left && event == AGENTS_LOST) {
        event = agents_wait(s, &deadline_s, stop, hear_answer, &r, &lost);
        if (event == AGENTS_LOST)
            give_up_lost(&r, lost);
    }
    if (r.left)
        agents_kill(s, KILL_S, NULL, NULL);
    for (int i = 0; i < s->count; i++)
        give_up_answer(&r, i, "no answer in time");
    if (event != AGENTS_STOPPED)
        return r.all;
    return err_null(e, ERR_FAILED, "interrupted");
}

struct agents_answer *agents_run(struct agents *s, const char *const *argv, double deadline_s,
                                 volatile sig_atomic_t *stop, struct arena *a, struct err *e)
{
    for (int i = 0; i < s->count; i++) {
        if (start_program(s, i, argv, i, e))
            return NULL;
        agents_send(s, i, AGENT_INPUT_END, AGENT_ALL, NULL, 0);
    }
    return collect_answers(s, 0, deadline_s, stop, a, e);
}

int agents_begin_beside(struct agents *s, const char *const *argv, struct err *e)
{
    return start_program(s, -1, argv, AGENT_BESIDE, e);
}

struct agents_answer *agents_end_beside(struct agents *s, double deadline_s, struct arena *a, struct err *e)
{
    agents_send(s, -1, AGENT_INPUT_END, AGENT_BESIDE, NULL, 0);
    return collect_answers(s, AGENT_BESIDE, deadline_s, NULL, a, e);
}
