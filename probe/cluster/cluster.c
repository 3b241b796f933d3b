/* A cluster: every node probes itself, and what they print becomes one topology. Nodes are asked through an agent like
 * ssh, many at the same time. */
#include "probe/cluster/cluster.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/json.h"
#include "core/locate.h"
#include "core/proc.h"
#include "core/progress.h"
#include "probe/topology/build.h"

#define PARALLEL   64
#define MOST_BYTES ((size_t)16 << 20) /* that a node may print: fifty times what a large one does */
#define MOST_WORDS 256                /* of complaint that are kept, in characters */
#define GRACE_S    0.5
#define LINGER_S   3.0 /* of an agent that has said all */

/* A node being asked. */
struct slot {
    int host; /* index into the list; -1: free */
    struct proc p;
    double until_s;
    int ended; /* its output has; p.out tells when it has ended itself */
    char *text;
    size_t used, room;
    char complaint[MOST_WORDS];
    size_t complained;
};

struct gathering {
    struct arena *arena;
    const struct cluster_ask *ask;
    const char **agent;
    int nagent;
    const char *command;
    cluster_take_fn *take;
    void *user;
    struct slot *slots;
    struct pollfd *fds; /* two a slot */
    int nslots, next;
    struct cluster_answer *answers; /* in the order of the hosts, whoever is faster; without a host: not there yet */
    int taken;                      /* answers[0..taken) have been */
};

/* ---- what nodes say of themselves -------------------------------------------------------------------------------- */

/* Add a host from what its node printed. A class that is new is read a second time, into the cluster's memory. */
static int add_host(struct topology *t, struct class_index *index, const cJSON *doc, const struct topology *one,
                    const char *host, struct err *e)
{
    if (one->nhosts != 1 || one->nclasses != 1)
        return err_set(e, ERR_FAILED, "printed a topology of %d hosts, expected 1", one->nhosts);
    int at = classes_find(index, &one->classes[0], t->nclasses);
    if (at < t->nclasses) {
        classes_add_host(t, at, &one->classes[0], &one->hosts[0], host);
        return 0;
    }
    int rc = topo_add_json(t, doc, host, e);
    if (!rc) {
        t->classes[at].name = arena_printf(t->arena, "class%d", at);
        t->hosts[t->nhosts - 1].name = arena_strdup(t->arena, host);
    }
    return rc;
}

/* Add one node's answer: a topology.json with perhaps a greeting before it; its class joins the one that it is
 * identical to. Hosts are named as they were asked for. */
static int add_answer(struct topology *t, struct class_index *index, const char *host, const char *text, size_t bytes,
                      struct err *e)
{
    const char *begin = bytes ? memchr(text, '{', bytes) : NULL;
    if (!begin)
        return err_set(e, ERR_FAILED, "printed no topology");
    cJSON *doc = json_parse(begin, bytes - (size_t)(begin - text), host, 1, e);
    struct topology *one = topo_new();
    int rc = !doc || json_check_format(doc, TOPO_FORMAT, host, e) || topo_add_json(one, doc, host, e) ||
             add_host(t, index, doc, one, host, e);
    topo_free(one);
    cJSON_Delete(doc);
    return rc;
}

static int compare_hosts(const void *x, const void *y)
{
    const struct topo_host *a = x, *b = y;
    return strverscmp(a->name, b->name);
}

/* Add a node, or a missing one if its answer is invalid: only then its complaints matter. */
static void add_node(struct topology *t, struct class_index *index, const struct cluster_answer *answer,
                     struct log *log)
{
    struct err e = {0};
    if (answer->text && !add_answer(t, index, answer->host, answer->text, answer->bytes, &e))
        return;
    const char *why = answer->why ? answer->why : *e.text ? e.text : "no answer";
    build_missing(t, answer->host, why);
    log_warn(log, "%s: %s", answer->host, why);
}

/* The topology of those of `asked` nodes that answered, in the order of their names; NULL: nobody did. */
static struct topology *finish_topology(struct topology *t, struct class_index *index, int asked, struct err *e)
{
    classes_index_free(index);
    if (!t->nhosts) {
        if (t->nmissing && !e->code)
            err_set(e, ERR_FAILED, "none of %d nodes answered; the first: %s: %s", asked, t->missing[0].name,
                    t->missing[0].why);
        topo_free(t);
        return NULL;
    }
    qsort(t->hosts, (size_t)t->nhosts, sizeof *t->hosts, compare_hosts);
    t->source = arena_printf(t->arena, "%d of %d nodes", t->nhosts, asked);
    return t;
}

struct topology *cluster_merge(const struct cluster_answer *answers, int n, struct log *log, struct err *e)
{
    struct topology *t = topo_new();
    struct class_index index = {0};
    for (int i = 0; i < n; i++)
        add_node(t, &index, &answers[i], log);
    return finish_topology(t, &index, n, e);
}

/* ---- asking nodes ------------------------------------------------------------------------------------------------ */

static void miss_host(struct gathering *g, int host, const char *why)
{
    g->answers[host] = (struct cluster_answer){.host = g->ask->hosts[host], .why = arena_strdup(g->arena, why)};
}

static void clear_slot(struct slot *s)
{
    proc_stop(&s->p, GRACE_S);
    free(s->text);
    *s = (struct slot){.host = -1, .p = {.in = -1, .out = -1, .err = -1}};
}

static void ask_host(struct gathering *g, struct slot *s)
{
    struct err e = {0};
    struct arena *a = arena_new();
    const char **argv = arena_alloc(a, (size_t)(g->nagent + 5) * sizeof *argv);
    int host = g->next++, n = g->nagent;
    for (int i = 0; g->agent && i < g->nagent; i++)
        argv[i] = g->agent[i];
    argv[n++] = g->ask->hosts[host];
    if (g->ask->without_shell) {
        argv[n++] = "/bin/sh";
        argv[n++] = "-c";
    }
    argv[n++] = g->command;
    if (proc_spawn(&s->p, argv, NULL, &e)) {
        miss_host(g, host, e.text);
        clear_slot(s);
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

/* Hand on the answers whose turn it is. */
static void take_answers(struct gathering *g)
{
    for (; g->taken < g->ask->nhosts && g->answers[g->taken].host; g->taken++) {
        struct cluster_answer *own = &g->answers[g->taken];
        g->take(g->user, g->taken, own);
        free((char *)own->text);
    }
}

/* The node's output has ended; the agent itself may take a moment longer, for which nobody waits. */
static int let_agent_linger(struct slot *s)
{
    if (s->ended || proc_ended(&s->p, 0))
        return 0;
    close(s->p.out);
    s->p.out = proc_watch(&s->p);
    s->ended = s->p.out >= 0;
    s->until_s = progress_now_s() + LINGER_S;
    return s->ended;
}

static void keep_answer(struct gathering *g, struct slot *s)
{
    char status[PROC_STATUS_TEXT];
    struct cluster_answer *answer = &g->answers[s->host];
    while (s->complained && s->complaint[s->complained - 1] == ' ')
        s->complaint[--s->complained] = 0;
    *answer = (struct cluster_answer){.host = g->ask->hosts[s->host], .text = s->text, .bytes = s->used};
    s->text = NULL;
    answer->exited = proc_ended(&s->p, s->ended ? 0 : LINGER_S);
    if (answer->exited && s->p.status != 0)
        answer->why = arena_printf(g->arena, "%s%s%s", proc_status_text(s->p.status, status), s->complained ? ": " : "",
                                   s->complaint);
    clear_slot(s);
}

static void wait_for_output(struct gathering *g)
{
    struct pollfd *fds = g->fds;
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
            if (!let_agent_linger(s))
                keep_answer(g, s);
        } else if (end < 0 || progress_now_s() > s->until_s) {
            char why[64];
            snprintf(why, sizeof why, "no answer within %g s", g->ask->deadline_s);
            miss_host(g, s->host, end < 0 ? "printed more than the limit of a topology" : why);
            clear_slot(s);
        }
    }
}

/* Asks everyone; returns when all have answered or run out of time. */
static void ask_all(struct gathering *g, const volatile sig_atomic_t *stop)
{
    for (;;) {
        int busy = 0;
        for (int i = 0; i < g->nslots; i++) {
            if (g->slots[i].host < 0 && g->next < g->ask->nhosts && !(stop && *stop))
                ask_host(g, &g->slots[i]);
            busy += g->slots[i].host >= 0;
        }
        take_answers(g);
        if (stop && *stop)
            return;
        if (busy)
            wait_for_output(g);
        else if (g->next >= g->ask->nhosts)
            return;
    }
}

static const char *own_command(struct arena *a)
{
    const char *program = locate_program("nccltune", a, NULL);
    /* The agent hands this to a shell on the node. */
    return !program || strchr(program, '\'') ? "nccltune probe --json" : arena_printf(a, "'%s' probe --json", program);
}

int cluster_ask_each(const struct cluster_ask *ask, const volatile sig_atomic_t *stop, cluster_take_fn *take,
                     void *user, struct err *e)
{
    struct arena *a = arena_new();
    struct gathering g = {.arena = a, .ask = ask, .take = take, .user = user};
    g.agent = proc_split(ask->agent ? ask->agent : "ssh -o BatchMode=yes -o ConnectTimeout=10", a, &g.nagent, e);
    g.command = ask->command ? ask->command : own_command(a);
    g.nslots = ask->parallel > 0 ? ask->parallel : PARALLEL;
    g.nslots = g.nslots < ask->nhosts ? g.nslots : ask->nhosts;
    g.slots = arena_alloc(a, (size_t)g.nslots * sizeof *g.slots);
    g.fds = arena_alloc(a, (size_t)g.nslots * 2 * sizeof *g.fds);
    for (int i = 0; i < g.nslots; i++)
        g.slots[i] = (struct slot){.host = -1, .p = {.in = -1, .out = -1, .err = -1}};
    g.answers = arena_alloc(a, (size_t)ask->nhosts * sizeof *g.answers);
    int rc = !g.agent ? e->code : g.nagent ? 0 : err_set(e, ERR_USAGE, "'%s' is not a command", ask->agent);
    if (!rc)
        ask_all(&g, stop);
    for (int i = 0; i < g.nslots; i++)
        clear_slot(&g.slots[i]);
    for (int i = g.taken; i < ask->nhosts; i++)
        free((char *)g.answers[i].text);
    arena_free(a);
    return rc ? rc : stop && *stop ? err_set(e, ERR_FAILED, "interrupted") : 0;
}

struct merging {
    struct topology *t;
    struct class_index index;
    struct log *log;
};

static void merge_answer(void *user, int host, const struct cluster_answer *answer)
{
    struct merging *m = user;
    (void)host;
    add_node(m->t, &m->index, answer, m->log);
}

struct topology *cluster_gather(const struct cluster_ask *ask, struct log *log, const volatile sig_atomic_t *stop,
                                struct err *e)
{
    struct merging m = {.t = topo_new(), .log = log};
    if (cluster_ask_each(ask, stop, merge_answer, &m, e))
        m.t->nhosts = 0;
    return finish_topology(m.t, &m.index, ask->nhosts, e);
}
