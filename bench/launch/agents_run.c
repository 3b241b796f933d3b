/* Running a program on all nodes and bringing back what it says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/launch/agents.h"
#include "core/progress.h"

#define MOST_OUTPUT ((size_t)16 << 20)
#define MOST_ERRORS ((size_t)4 << 10)
#define KILL_S      3.0

/* One copy's answer while it grows. */
struct answering {
    struct agents_answer answer;
    size_t space;
    int done;
};

struct running {
    struct agents *agents;
    struct answering *all; /* by agent and copy */
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

static void finish(struct running *r, struct answering *x)
{
    r->left -= !x->done;
    x->done = 1;
}

static void keep_output(const struct running *r, struct answering *x, const char *data, size_t bytes)
{
    struct agents_answer *w = &x->answer;
    if (w->bytes + bytes > r->most) {
        w->cut = 1;
        bytes = r->most - w->bytes;
    }
    if (w->bytes + bytes + 1 > x->space) {
        size_t space = 2 * (w->bytes + bytes + 1);
        char *more = realloc(w->output, space);
        if (!more) {
            w->cut = 1;
            return;
        }
        w->output = more;
        x->space = space;
    }
    memcpy(w->output + w->bytes, data, bytes);
    w->bytes += bytes;
}

/* The end of what there is: older bytes make room. */
static void keep_errors(struct answering *x, const char *data, size_t bytes)
{
    char *errors = x->answer.errors;
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
    if (copy < 0 || copy >= r->copies)
        return 0;
    struct answering *x = &r->all[agent * r->copies + copy];
    if (x->done) {
        return 0;
    } else if (f->head.message == AGENT_OUTPUT) {
        keep_output(r, x, f->body, f->head.bytes);
    } else if (f->head.message == AGENT_ERRORS) {
        keep_errors(x, f->body, f->head.bytes);
    } else if (f->head.message == AGENT_ENDED && !frame_body(f, &ended, sizeof ended)) {
        x->answer.status = ended.status;
        if (ended.status == -1)
            keep_errors(x, ended.last, strnlen(ended.last, sizeof ended.last));
        finish(r, x);
    }
    return r->left == 0;
}

static void give_up(struct running *r, int agent)
{
    for (int k = 0; k < r->copies; k++) {
        struct answering *x = &r->all[agent * r->copies + k];
        x->answer.lost |= !x->done;
        finish(r, x);
    }
}

static int send_order(struct running *r, const struct agents_order *o, struct err *e)
{
    char *body = malloc(FRAME_BODY);
    size_t bytes = 1;
    for (int i = 0; body && bytes && i < r->agents->count; i++) {
        bytes = agents_start_body(o, i * r->copies, 0, body);
        if (!bytes || r->agents->items[i].lost)
            continue;
        agents_send(r->agents, i, AGENT_START, AGENT_ALL, body, bytes);
        size_t length = o->input ? strlen(o->input) : 0;
        for (size_t at = 0; at < length; at += FRAME_BODY)
            agents_send(r->agents, i, AGENT_INPUT, AGENT_ALL, o->input + at,
                        length - at < FRAME_BODY ? length - at : FRAME_BODY);
        agents_send(r->agents, i, AGENT_INPUT_END, AGENT_ALL, NULL, 0);
    }
    free(body);
    if (!body)
        return err_set(e, ERR_FAILED, "out of memory");
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

/* Into the caller's arena. */
static struct agents_answer *hand_over(struct running *r, struct arena *a)
{
    int n = r->agents->count * r->copies;
    struct agents_answer *out = arena_alloc(a, (size_t)(n + 1) * sizeof *out);
    for (int i = 0; i < n; i++) {
        out[i] = r->all[i].answer;
        out[i].output = arena_alloc(a, out[i].bytes + 1);
        if (out[i].bytes)
            memcpy(out[i].output, r->all[i].answer.output, out[i].bytes);
        out[i].output[out[i].bytes] = 0;
        out[i].errors = arena_strdup(a, out[i].errors);
    }
    return out;
}

/* The answers to an order; `o` NULL: of what runs beside, as its input ends. */
static struct agents_answer *run(struct agents *s, const struct agents_order *o, double deadline_s,
                                 volatile sig_atomic_t *stop, struct arena *a, struct err *e)
{
    struct running r = {.agents = s, .copies = o && o->copies > 0 ? o->copies : 1, .beside = !o};
    int n = s->count * r.copies, rc = 0;
    r.most = o && o->most_bytes ? o->most_bytes : MOST_OUTPUT;
    r.left = n;
    r.all = calloc((size_t)n + 1, sizeof *r.all);
    if (!r.all) {
        err_set(e, ERR_FAILED, "out of memory");
        return NULL;
    }
    for (int i = 0; i < n && !rc; i++) {
        r.all[i].answer = (struct agents_answer){.agent = i / r.copies, .copy = i % r.copies, .status = -1};
        r.all[i].answer.errors = calloc(1, MOST_ERRORS);
        rc = r.all[i].answer.errors ? 0 : -1;
    }
    rc = rc ? err_set(e, ERR_FAILED, "out of memory") : o ? send_order(&r, o, e) : 0;
    if (!o)
        agents_send(s, -1, AGENT_INPUT_END, AGENT_BESIDE, NULL, 0);
    rc = rc ? rc : collect(&r, deadline_s, stop, e);
    struct agents_answer *out = rc ? NULL : hand_over(&r, a);
    for (int i = 0; i < n; i++) {
        free(r.all[i].answer.output);
        free(r.all[i].answer.errors);
    }
    free(r.all);
    return out;
}

struct agents_answer *agents_run(struct agents *s, const struct agents_order *o, double deadline_s,
                                 volatile sig_atomic_t *stop, struct arena *a, struct err *e)
{
    return run(s, o, deadline_s, stop, a, e);
}

int agents_begin_beside(struct agents *s, const char *const *argv, struct err *e)
{
    char *body = malloc(FRAME_BODY);
    size_t bytes = body ? agents_start_body(&(struct agents_order){.argv = argv}, AGENT_BESIDE, 0, body) : 0;
    if (bytes)
        agents_send(s, -1, AGENT_START, AGENT_ALL, body, bytes);
    free(body);
    return bytes ? 0 : err_set(e, ERR_FAILED, "%s: out of memory, or its command line is too long", argv[0]);
}

struct agents_answer *agents_end_beside(struct agents *s, double deadline_s, volatile sig_atomic_t *stop,
                                        struct arena *a, struct err *e)
{
    return run(s, NULL, deadline_s, stop, a, e);
}
