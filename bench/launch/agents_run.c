/* Running a program on all nodes and bringing back what it says. */
#include <string.h>

#include "bench/launch/agents.h"

#define MOST_OUTPUT ((size_t)16 << 20)
#define MOST_ERRORS ((size_t)4 << 10)
#define KILL_S      3.0

/* Answers while they grow, by agent. */
struct running {
    struct agents *agents;
    struct arena *arena;
    struct agents_answer *all;
    size_t *space; /* of each one's output */
    char *done;
    int left, rank; /* who answers: AGENT_BESIDE, else 0: by the agent's number */
};

/* ---- the order ---- */

static int put_string(char *body, size_t *used, const char *text)
{
    size_t bytes = strlen(text) + 1;
    if (*used + bytes > FRAME_BODY)
        return -1;
    memcpy(body + *used, text, bytes);
    *used += bytes;
    return 0;
}

size_t agents_start_body(const struct agents_order *o, int first_rank, int frames, char *body)
{
    struct agent_start head = {.first_rank = first_rank, .count = o->copies > 0 ? o->copies : 1, .frames = frames};
    size_t used = sizeof head;
    int rc = 0;
    for (const char *const *w = o->argv; *w && !rc; w++, head.words++)
        rc = put_string(body, &used, *w);
    for (const char *const *w = o->settings; w && *w && !rc; w++, head.settings++)
        rc = put_string(body, &used, *w);
    memcpy(body, &head, sizeof head);
    return rc || head.words + head.settings > AGENT_MOST_STRINGS ? 0 : used;
}

/* To agent `i`, or to all with i < 0. */
static int send_start(struct agents *s, int i, const char *const *argv, int rank, struct err *e)
{
    struct arena *a = arena_new();
    char *body = arena_alloc(a, FRAME_BODY);
    size_t bytes = agents_start_body(&(struct agents_order){.argv = argv}, rank, 0, body);
    if (bytes)
        agents_send(s, i, AGENT_START, AGENT_ALL, body, bytes);
    arena_free(a);
    return bytes ? 0 : err_set(e, ERR_FAILED, "%s: its command line is too long", argv[0]);
}

/* ---- the answers ---- */

static void finish(struct running *r, int i)
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

static int hear(void *user, int i, const struct frame *f)
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
        finish(r, i);
    }
    return r->left == 0;
}

static void give_up(struct running *r, int i)
{
    r->all[i].lost |= !r->done[i];
    finish(r, i);
}

/* Until all have answered; those that have not by the deadline are killed. */
static struct agents_answer *collect(struct agents *s, int rank, double deadline_s, volatile sig_atomic_t *stop,
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
            give_up(&r, i);
    }
    while (r.left && event == AGENTS_LOST) {
        event = agents_wait(s, &deadline_s, stop, hear, &r, &lost);
        if (event == AGENTS_LOST)
            give_up(&r, lost);
    }
    if (r.left)
        agents_kill(s, KILL_S, NULL, NULL);
    for (int i = 0; i < s->count; i++)
        give_up(&r, i);
    if (event != AGENTS_STOPPED)
        return r.all;
    err_set(e, ERR_FAILED, "interrupted");
    return NULL;
}

struct agents_answer *agents_run(struct agents *s, const char *const *argv, double deadline_s,
                                 volatile sig_atomic_t *stop, struct arena *a, struct err *e)
{
    for (int i = 0; i < s->count; i++) {
        if (send_start(s, i, argv, i, e))
            return NULL;
        agents_send(s, i, AGENT_INPUT_END, AGENT_ALL, NULL, 0);
    }
    return collect(s, 0, deadline_s, stop, a, e);
}

int agents_begin_beside(struct agents *s, const char *const *argv, struct err *e)
{
    return send_start(s, -1, argv, AGENT_BESIDE, e);
}

struct agents_answer *agents_end_beside(struct agents *s, double deadline_s, struct arena *a, struct err *e)
{
    agents_send(s, -1, AGENT_INPUT_END, AGENT_BESIDE, NULL, 0);
    return collect(s, AGENT_BESIDE, deadline_s, NULL, a, e);
}
