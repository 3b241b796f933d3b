/* Running a program on all nodes and bringing back what it says. */
#include <stdio.h>
#include <string.h>

#include "bench/launch/agents.h"
#include "core/progress.h"

#define MOST_OUTPUT ((size_t)16 << 20)
#define MOST_ERRORS ((size_t)4 << 10)
#define KILL_S      3.0

/* Answers while they grow, by agent and copy. */
struct running {
    struct agents *agents;
    struct arena *arena;
    struct agents_answer *all;
    size_t *space; /* of each one's output */
    char *done;
    int copies, left, beside;
    size_t most;
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

/* ---- the answers ---- */

static void finish(struct running *r, int i)
{
    r->left -= !r->done[i];
    r->done[i] = 1;
}

static void keep_output(struct running *r, int i, const char *data, size_t bytes)
{
    struct agents_answer *w = &r->all[i];
    if (w->bytes + bytes > r->most) {
        w->cut = 1;
        bytes = r->most - w->bytes;
    }
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

static int hear(void *user, int agent, const struct frame *f)
{
    struct running *r = user;
    struct agent_ended ended;
    int copy = r->beside ? f->head.rank - AGENT_BESIDE : f->head.rank - agent * r->copies;
    int i = agent * r->copies + copy;
    if (copy < 0 || copy >= r->copies || r->done[i])
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

static void give_up(struct running *r, int agent)
{
    for (int i = agent * r->copies; i < (agent + 1) * r->copies; i++) {
        r->all[i].lost |= !r->done[i];
        finish(r, i);
    }
}

static int send_order(struct running *r, const struct agents_order *o, struct err *e)
{
    char *body = arena_alloc(r->arena, FRAME_BODY);
    size_t bytes = 1;
    for (int i = 0; bytes && i < r->agents->count; i++) {
        bytes = agents_start_body(o, i * r->copies, 0, body);
        if (!bytes)
            break;
        agents_send(r->agents, i, AGENT_START, AGENT_ALL, body, bytes);
        size_t length = o->input ? strlen(o->input) : 0;
        for (size_t at = 0; at < length; at += FRAME_BODY)
            agents_send(r->agents, i, AGENT_INPUT, AGENT_ALL, o->input + at,
                        length - at < FRAME_BODY ? length - at : FRAME_BODY);
        agents_send(r->agents, i, AGENT_INPUT_END, AGENT_ALL, NULL, 0);
    }
    return bytes ? 0 : err_set(e, ERR_FAILED, "%s: its command line and settings are too long", o->argv[0]);
}

/* Until all have answered; those that have not by the deadline are killed. */
static int collect(struct running *r, double deadline_s, volatile sig_atomic_t *stop, struct err *e)
{
    enum agents_event event = AGENTS_LOST;
    int lost;
    for (int i = 0; i < r->agents->count; i++)
        if (r->agents->items[i].lost)
            give_up(r, i);
    while (r->left && event == AGENTS_LOST) {
        event = agents_wait(r->agents, &deadline_s, stop, hear, r, &lost);
        if (event == AGENTS_LOST)
            give_up(r, lost);
    }
    if (r->left)
        agents_kill(r->agents, KILL_S, NULL, NULL);
    for (int i = 0; i < r->agents->count; i++)
        give_up(r, i);
    return event == AGENTS_STOPPED ? err_set(e, ERR_FAILED, "interrupted") : 0;
}

/* The answers to an order; `o` NULL: of what runs beside, as its input ends. */
static struct agents_answer *run(struct agents *s, const struct agents_order *o, double deadline_s,
                                 volatile sig_atomic_t *stop, struct arena *a, struct err *e)
{
    const int copies = o && o->copies > 0 ? o->copies : 1, n = s->count * copies;
    struct running r = {.agents = s, .arena = a, .copies = copies, .left = n, .beside = !o};
    r.most = o && o->most_bytes ? o->most_bytes : MOST_OUTPUT;
    r.all = arena_alloc(a, ((size_t)n + 1) * sizeof *r.all);
    r.space = arena_alloc(a, ((size_t)n + 1) * sizeof *r.space);
    r.done = arena_alloc(a, (size_t)n + 1);
    for (int i = 0; i < n; i++) {
        r.all[i] = (struct agents_answer){.agent = i / copies, .copy = i % copies, .status = -1};
        r.all[i].errors = arena_alloc(a, MOST_ERRORS);
        r.all[i].output = arena_strdup(a, "");
    }
    if (!o)
        agents_send(s, -1, AGENT_INPUT_END, AGENT_BESIDE, NULL, 0);
    return (o && send_order(&r, o, e)) || collect(&r, deadline_s, stop, e) ? NULL : r.all;
}

struct agents_answer *agents_run(struct agents *s, const struct agents_order *o, double deadline_s,
                                 volatile sig_atomic_t *stop, struct arena *a, struct err *e)
{
    return run(s, o, deadline_s, stop, a, e);
}

int agents_begin_beside(struct agents *s, const char *const *argv, struct err *e)
{
    struct arena *a = arena_new();
    char *body = arena_alloc(a, FRAME_BODY);
    size_t bytes = agents_start_body(&(struct agents_order){.argv = argv}, AGENT_BESIDE, 0, body);
    if (bytes)
        agents_send(s, -1, AGENT_START, AGENT_ALL, body, bytes);
    arena_free(a);
    return bytes ? 0 : err_set(e, ERR_FAILED, "%s: its command line is too long", argv[0]);
}

struct agents_answer *agents_end_beside(struct agents *s, double deadline_s, volatile sig_atomic_t *stop,
                                        struct arena *a, struct err *e)
{
    return run(s, NULL, deadline_s, stop, a, e);
}
