/* A cluster: every node probes itself through an agent like ssh, many at the same time; what they print is gathered. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/locate.h"
#include "core/proc.h"
#include "core/progress.h"
#include "probe/cluster/cluster.h"
#include "probe/topology/classes.h"

#define PARALLEL   64
#define MOST_BYTES ((size_t)16 << 20) /* that a node may print: fifty times what a large one does */
#define MOST_WORDS 256                /* of complaint that are kept, in characters */
#define GRACE_S    0.5
#define LINGER_S   3.0 /* of an agent that has said all */

/* What a node said, kept until all nodes before it are done: the result does not depend on who is faster. */
struct answer {
    int done;
    char *text; /* NULL: it is missing */
    size_t used;
    char *why;                  /* NULL: nothing to complain about so far */
    double asked_s, answered_s; /* as cluster_judge_clock takes them */
};

/* A node being asked. */
struct slot {
    int host; /* index into the list; -1: free */
    struct proc p;
    double until_s, asked_s;
    int ended; /* its output has; p.out tells when it has ended itself */
    char *text;
    size_t used, room;
    char complaint[MOST_WORDS];
    size_t complained;
};

struct gathering {
    const struct cluster_ask *ask;
    const char **agent;
    int nagent;
    const char *command;
    struct topology *t;
    struct class_index index;
    struct log *log;
    struct slot *slots;
    int nslots, next;
    struct answer *answers;
    int taken; /* answers[0..taken) are in the topology, or among the missing */
};

static char *must_copy(const char *s)
{
    char *copy = strdup(s);
    if (!copy)
        abort();
    return copy;
}

static void miss(struct gathering *g, int host, const char *why)
{
    free(g->answers[host].why);
    g->answers[host] = (struct answer){.done = 1, .why = must_copy(why)};
}

static void clear(struct slot *s)
{
    proc_stop(&s->p, GRACE_S);
    free(s->text);
    *s = (struct slot){.host = -1, .p = {.in = -1, .out = -1, .err = -1}};
}

static void start(struct gathering *g, struct slot *s)
{
    struct err e = {0};
    struct arena *a = arena_new();
    const char **argv = arena_alloc(a, (size_t)(g->nagent + 5) * sizeof *argv);
    int host = g->next++, n = g->nagent;
    for (int i = 0; i < g->nagent; i++)
        argv[i] = g->agent[i];
    argv[n++] = g->ask->hosts[host];
    if (g->ask->without_shell) {
        argv[n++] = "/bin/sh";
        argv[n++] = "-c";
    }
    argv[n++] = g->command;
    s->asked_s = cluster_clock_s();
    if (proc_spawn(&s->p, argv, NULL, &e)) {
        miss(g, host, e.text);
        clear(s);
    } else {
        close(s->p.in);
        s->p.in = -1;
        s->host = host;
        s->until_s = progress_now_s() + g->ask->deadline_s;
        fcntl(s->p.out, F_SETFL, O_NONBLOCK);
        fcntl(s->p.err, F_SETFL, O_NONBLOCK);
    }
    arena_free(a);
}

/* Reads what is there; -1 when it is too much, 1 at the end. */
static int read_answer(struct slot *s)
{
    for (;;) {
        if (s->room - s->used < 65536) {
            size_t room = s->room ? s->room * 2 : 65536 * 2;
            char *bigger = room <= 2 * MOST_BYTES ? realloc(s->text, room) : NULL;
            if (!bigger)
                return -1;
            s->text = bigger;
            s->room = room;
        }
        ssize_t n = read(s->p.out, s->text + s->used, s->room - s->used - 1);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : 1;
        if (n == 0)
            return 1;
        s->used += (size_t)n;
        if (s->used > MOST_BYTES)
            return -1;
    }
}

/* Keeps the beginning of what the node complains about. */
static void read_complaint(struct slot *s)
{
    char text[4096];
    ssize_t n = read(s->p.err, text, sizeof text);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        close(s->p.err);
        s->p.err = -1;
    }
    for (ssize_t i = 0; i < n && s->complained + 1 < sizeof s->complaint; i++)
        s->complaint[s->complained++] = text[i] == '\n' ? ' ' : text[i];
    s->complaint[s->complained] = 0;
}

/* Takes over the answers whose turn it is. What a node complained about matters when its answer is no good. */
static void take_all(struct gathering *g)
{
    for (; g->taken < g->ask->nhosts && g->answers[g->taken].done; g->taken++) {
        struct answer *answer = &g->answers[g->taken];
        int hosts = g->t->nhosts;
        cluster_add(g->t, &g->index, g->ask->hosts[g->taken], answer->text, answer->used, answer->why, g->log);
        if (g->t->nhosts > hosts)
            cluster_judge_clock(g->t, &g->t->hosts[hosts], answer->asked_s, answer->answered_s);
        free(answer->text);
        free(answer->why);
        *answer = (struct answer){.done = 1};
    }
}

/* The node's output has ended; the agent itself may take a moment longer, for which nobody waits. */
static int lingers(struct slot *s)
{
    if (s->ended || proc_ended(&s->p, 0))
        return 0;
    close(s->p.out);
    s->p.out = proc_watch(&s->p);
    s->ended = s->p.out >= 0;
    s->until_s = progress_now_s() + LINGER_S;
    return s->ended;
}

static void finish(struct gathering *g, struct slot *s)
{
    char status[PROC_STATUS_TEXT], why[PROC_STATUS_TEXT + MOST_WORDS + 32];
    struct answer *answer = &g->answers[s->host];
    while (s->complained && s->complaint[s->complained - 1] == ' ')
        s->complaint[--s->complained] = 0;
    if (proc_ended(&s->p, s->ended ? 0 : LINGER_S) && s->p.status != 0) {
        snprintf(why, sizeof why, "%s%s%s", proc_status_text(s->p.status, status), s->complained ? ": " : "",
                 s->complaint);
        answer->why = must_copy(why);
    }
    answer->done = 1;
    answer->asked_s = s->asked_s;
    answer->answered_s = cluster_clock_s();
    answer->text = s->text;
    answer->used = s->used;
    s->text = NULL;
    clear(s);
}

static void wait_for_output(struct gathering *g)
{
    struct pollfd *fds = calloc((size_t)g->nslots * 2, sizeof *fds);
    if (!fds)
        abort();
    for (int i = 0; i < g->nslots; i++) {
        fds[2 * i] = (struct pollfd){g->slots[i].host >= 0 ? g->slots[i].p.out : -1, POLLIN, 0};
        fds[2 * i + 1] = (struct pollfd){g->slots[i].host >= 0 ? g->slots[i].p.err : -1, POLLIN, 0};
    }
    if (poll(fds, (nfds_t)g->nslots * 2, 100) < 0)
        memset(fds, 0, (size_t)g->nslots * 2 * sizeof *fds);
    for (int i = 0; i < g->nslots; i++) {
        struct slot *s = &g->slots[i];
        if (s->host < 0)
            continue;
        if (fds[2 * i + 1].revents)
            read_complaint(s);
        int end = s->ended             ? fds[2 * i].revents || progress_now_s() > s->until_s
                  : fds[2 * i].revents ? read_answer(s)
                                       : 0;
        if (end > 0) {
            if (!lingers(s))
                finish(g, s);
        } else if (end < 0 || progress_now_s() > s->until_s) {
            char why[64];
            snprintf(why, sizeof why, "no answer within %g s", g->ask->deadline_s);
            miss(g, s->host, end < 0 ? "printed more than a topology can be" : why);
            clear(s);
        }
    }
    free(fds);
}

/* Asks everyone; returns when all have answered or run out of time. */
static void ask_all(struct gathering *g, const volatile sig_atomic_t *stop)
{
    for (;;) {
        int busy = 0;
        for (int i = 0; i < g->nslots; i++) {
            if (g->slots[i].host < 0 && g->next < g->ask->nhosts && !(stop && *stop))
                start(g, &g->slots[i]);
            busy += g->slots[i].host >= 0;
        }
        take_all(g);
        if (stop && *stop)
            return;
        if (busy)
            wait_for_output(g);
        else if (g->next >= g->ask->nhosts)
            return;
    }
}

/* The topology of those that answered; NULL: nobody did. */
static struct topology *conclude(struct gathering *g, struct err *e)
{
    struct topology *t = g->t;
    for (int i = g->taken; i < g->ask->nhosts; i++) {
        free(g->answers[i].text);
        free(g->answers[i].why);
    }
    classes_index_free(&g->index);
    if (!t->nhosts) {
        if (t->nmissing && !e->code)
            err_set(e, ERR_FAILED, "none of %d nodes answered; the first: %s: %s", g->ask->nhosts, t->missing[0].name,
                    t->missing[0].why);
        topo_free(t);
        return NULL;
    }
    cluster_order(t);
    t->source = arena_printf(t->arena, "%d of %d nodes", t->nhosts, g->ask->nhosts);
    return t;
}

struct topology *cluster_merge(const struct cluster_answer *answers, int n, struct log *log, struct err *e)
{
    struct arena *a = arena_new();
    struct cluster_ask ask = {.nhosts = n};
    struct gathering g = {.ask = &ask, .t = topo_new(), .log = log};
    const char **hosts = arena_alloc(a, ((size_t)n + 1) * sizeof *hosts);
    g.answers = arena_alloc(a, ((size_t)n + 1) * sizeof *g.answers);
    for (int i = 0; i < n; i++) {
        hosts[i] = answers[i].host;
        g.answers[i] = (struct answer){.done = 1,
                                       .text = answers[i].text ? must_copy(answers[i].text) : NULL,
                                       .used = answers[i].text ? answers[i].bytes : 0,
                                       .why = answers[i].why ? must_copy(answers[i].why) : NULL,
                                       .asked_s = answers[i].asked_s,
                                       .answered_s = answers[i].answered_s};
    }
    ask.hosts = hosts;
    take_all(&g);
    struct topology *t = conclude(&g, e);
    arena_free(a);
    return t;
}

static const char *own_command(struct arena *a)
{
    const char *program = locate_program("nccltune", a, NULL);
    /* The agent hands this to a shell on the node. */
    return !program || strchr(program, '\'') ? "nccltune probe --json" : arena_printf(a, "'%s' probe --json", program);
}

struct topology *cluster_gather(const struct cluster_ask *ask, struct log *log, const volatile sig_atomic_t *stop,
                                struct err *e)
{
    struct gathering g = {.ask = ask, .t = topo_new(), .log = log};
    struct arena *a = arena_new();
    g.agent = proc_split(ask->agent ? ask->agent : "ssh -o BatchMode=yes -o ConnectTimeout=10", a, &g.nagent, e);
    g.command = ask->command ? ask->command : own_command(a);
    g.nslots = ask->parallel > 0 ? ask->parallel : PARALLEL;
    g.nslots = g.nslots < ask->nhosts ? g.nslots : ask->nhosts;
    g.slots = arena_alloc(a, (size_t)g.nslots * sizeof *g.slots);
    for (int i = 0; i < g.nslots; i++)
        g.slots[i] = (struct slot){.host = -1, .p = {.in = -1, .out = -1, .err = -1}};
    g.answers = arena_alloc(a, (size_t)ask->nhosts * sizeof *g.answers);
    if (g.agent && g.nagent)
        ask_all(&g, stop);
    for (int i = 0; i < g.nslots; i++)
        clear(&g.slots[i]);
    if (stop && *stop) {
        err_set(e, ERR_FAILED, "interrupted");
        g.t->nhosts = 0;
    }
    struct topology *t = conclude(&g, e);
    arena_free(a);
    return t;
}
