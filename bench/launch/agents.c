/* The set of agents: guests become agents by proof, agents are written to and heard together. */
#include "bench/launch/agents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/launch/address.h"
#include "core/progress.h"

#define STOP_PERIOD_MS 100
#define GRACE_S        1.0
#define GIVE_BACK_S    3.0
#define SPARE_FDS      64  /* for everything that is not an agent */
#define SHORT_STAY_S   0.2 /* a guest that is younger is not sent away for another: honest ones need less */

/* A connection that has proven nothing yet. */
struct guest {
    int fd;
    double since_s;
    struct proof proof;
};

/* ---- beginning ---- */

static int allow_descriptors(int wanted, struct err *e)
{
    struct rlimit limit;
    rlim_t need = (rlim_t)wanted * 2 + AGENTS_GUESTS + SPARE_FDS;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
        return 0;
    if (limit.rlim_max < need)
        return err_set(
            e, ERR_LACKS,
            "%d nodes need %lu file descriptors, this process may have %lu: raise its hard limit (ulimit -Hn)", wanted,
            (unsigned long)need, (unsigned long)limit.rlim_max);
    limit.rlim_cur = need;
    return setrlimit(RLIMIT_NOFILE, &limit) ? err_errno(e, "the limit of file descriptors cannot be raised") : 0;
}

void agents_none(struct agents *s, int wanted)
{
    *s = (struct agents){.arena = arena_new(), .wanted = wanted, .listener = -1};
    s->here = (struct proc){.in = -1, .out = -1, .err = -1};
    s->items = arena_alloc(s->arena, ((size_t)wanted + 1) * sizeof *s->items);
}

/* For agents (two each), guests, the port and launchers. */
static struct pollfd *room_to_poll(struct agents *s)
{
    if (!s->fds)
        s->fds = arena_alloc(s->arena, (2 * (size_t)s->wanted + AGENTS_GUESTS + 1 + (size_t)start_room(s->start)) *
                                           sizeof *s->fds);
    return s->fds;
}

int agents_begin(struct agents *s, int wanted, struct err *e)
{
    agents_none(s, wanted);
    int rc = allow_descriptors(wanted, e);
    if (!rc && secret_make(&s->secret))
        rc = err_errno(e, "the kernel gives no random numbers, without which agents cannot be told from strangers");
    s->guests = arena_alloc(s->arena, AGENTS_GUESTS * sizeof *s->guests);
    if (rc)
        agents_close(s);
    return rc;
}

int agents_listen(struct agents *s, struct err *e)
{
    s->listener = wire_listen(&s->port);
    return s->listener < 0 ? err_errno(e, "no port can be opened for the agents of the other nodes") : 0;
}

const char *agents_places(const struct agents *s, struct arena *a)
{
    char *places = arena_alloc(a, ADDRESS_PLACES);
    address_places(s->port, places);
    return places;
}

const char *agents_secret_variable(const struct agents *s, struct arena *a)
{
    char hex[SECRET_HEX];
    secret_hex(&s->secret, hex);
    return arena_printf(a, SECRET_VARIABLE "=%s", hex);
}

/* ---- guests ---- */

static void send_away(struct agents *s, int i)
{
    close(s->guests[i].fd);
    explicit_bzero(&s->guests[i].proof, sizeof s->guests[i].proof);
    s->guests[i] = s->guests[--s->nguests];
}

static int oldest_guest(const struct agents *s)
{
    int oldest = 0;
    for (int i = 1; i < s->nguests; i++)
        if (s->guests[i].since_s < s->guests[oldest].since_s)
            oldest = i;
    return oldest;
}

static int may_accept(struct agents *s, double now)
{
    return s->nguests < AGENTS_GUESTS || now - s->guests[oldest_guest(s)].since_s > SHORT_STAY_S;
}

static void accept_guest(struct agents *s, double now)
{
    int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    if (s->nguests == AGENTS_GUESTS)
        send_away(s, oldest_guest(s));
    struct guest *g = &s->guests[s->nguests];
    g->fd = fd;
    g->since_s = now;
    if (proof_begin(&g->proof, &s->secret, 0))
        close(fd);
    else
        s->nguests++;
}

int agents_add(struct agents *s, int from, int to, struct err *e)
{
    struct agent *m = &s->items[s->count];
    memset(m, 0, sizeof *m);
    if (s->count == s->wanted || connection_open(&m->connection, from, to))
        return err_set(e, ERR_FAILED, "out of memory");
    s->count++;
    return 0;
}

/* A guest that has proven itself moves in. */
static void take_in(struct agents *s, int i)
{
    struct guest *g = &s->guests[i];
    int fd = dup(g->fd);
    wire_tune(g->fd);
    if (fd >= 0 && !agents_add(s, fd, fd, NULL))
        proof_seal(&g->proof, &s->items[s->count - 1].connection);
    else if (fd >= 0)
        close(fd);
    send_away(s, i);
}

static void hear_guests(struct agents *s, const struct pollfd *fds, double now)
{
    for (int i = s->nguests - 1; i >= 0; i--) {
        struct guest *g = &s->guests[i];
        int proven = fds[i].revents ? proof_go_on(&g->proof, g->fd) : 0;
        if (proven > 0)
            take_in(s, i);
        else if (proven < 0 || now - g->since_s > AGENTS_PROOF_S)
            send_away(s, i);
    }
}

/* ---- gathering ---- */

static void lose(struct agents *s, int i)
{
    struct agent *m = &s->items[i];
    s->lost += !m->lost;
    m->lost = 1;
    connection_close(&m->connection);
}

static int known(const struct agents *s)
{
    int n = 0;
    for (int i = 0; i < s->count; i++)
        n += *s->items[i].host != 0;
    return n;
}

/* 1 the agent has said its name, 0 not yet, -1 it never will. */
static int introduced(struct agent *m)
{
    struct frame f;
    struct agent_node node;
    int alive = connection_fill(&m->connection), got = connection_next(&m->connection, &f);
    if (!got)
        return alive ? 0 : -1;
    if (got < 0 || f.head.message != AGENT_NODE || frame_body(&f, &node, sizeof node) || !*node.host)
        return -1;
    snprintf(m->host, sizeof m->host, "%.*s", (int)sizeof node.host - 1, node.host);
    return 1;
}

/* One that ends before it has said its name leaves its place to another. */
static void drop_newcomer(struct agents *s, int i)
{
    connection_close(&s->items[i].connection);
    s->items[i] = s->items[--s->count];
}

static void hear_newcomers(struct agents *s, const struct pollfd *fds, int n)
{
    for (int i = n - 1; i >= 0; i--)
        if (fds[i].revents && introduced(&s->items[i]) < 0)
            drop_newcomer(s, i);
}

static int by_host(const void *a, const void *b)
{
    return strverscmp(((const struct agent *)a)->host, ((const struct agent *)b)->host);
}

static int who_is_missing(const struct agents *s, const char *why, struct err *e)
{
    char names[256] = "";
    size_t used = 0;
    for (int i = 0; i < s->count && used < sizeof names - 80; i++)
        if (*s->items[i].host)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", s->items[i].host);
    return err_set(e, ERR_FAILED, "%d of %d nodes have answered%s%s%s: %s", known(s), s->wanted, used ? " (" : "",
                   names, used ? (s->count > 3 && used >= sizeof names - 80 ? " and more)" : ")") : "", why);
}

int agents_find(const struct agents *s, const char *host)
{
    size_t n = strcspn(host, ".");
    int alike = -1;
    for (int i = 0; i < s->count; i++) {
        const char *name = s->items[i].host;
        if (!strcmp(name, host))
            return i;
        if (alike < 0 && strcspn(name, ".") == n && !strncmp(name, host, n))
            alike = i;
    }
    return alike;
}

/* How many will not come any more: their launchers have ended. */
static int given_up(const struct agents *s)
{
    char why[BENCH_DETAIL];
    int n = 0;
    for (int i = 0; s->some && i < s->wanted; i++)
        n += start_node_ended(s->start, i, why) && agents_find(s, start_node(s->start, i)) < 0;
    return n;
}

static int is_complete(const struct agents *s, double deadline_s)
{
    int n = known(s);
    return n == s->wanted || (s->some && n && (n + given_up(s) >= s->wanted || progress_now_s() > deadline_s));
}

static int look_whether_hopeless(struct agents *s, double deadline_s, volatile sig_atomic_t *stop, struct err *e)
{
    char why[BENCH_DETAIL] = "";
    if (stop && *stop)
        return err_set(e, ERR_FAILED, "interrupted");
    if ((!s->some || given_up(s) == s->wanted) && start_ended(s->start, why))
        return s->count ? who_is_missing(s, why, e) : err_set(e, ERR_FAILED, "%s", why);
    if (s->here.group && proc_ended(&s->here, 0))
        return err_set(e, ERR_FAILED, "nccltune-worker ended before it had answered");
    if (progress_now_s() <= deadline_s)
        return 0;
    start_complaint(s->start, why);
    return who_is_missing(s, *why ? why : "the others have not in time", e);
}

static void wait_and_hear(struct agents *s, struct pollfd *fds)
{
    int n = s->count, g = s->nguests;
    double now = progress_now_s();
    for (int i = 0; i < n; i++)
        fds[i] = (struct pollfd){.fd = *s->items[i].host ? -1 : s->items[i].connection.from, .events = POLLIN};
    for (int i = 0; i < g; i++)
        fds[n + i] = (struct pollfd){.fd = s->guests[i].fd, .events = POLLIN};
    int port = n + g, open = s->listener >= 0 && may_accept(s, now);
    fds[port] = (struct pollfd){.fd = open ? s->listener : -1, .events = POLLIN};
    int launchers = start_pollfds(s->start, fds + port + 1, start_room(s->start));
    poll(fds, (nfds_t)port + 1 + (nfds_t)launchers, STOP_PERIOD_MS);
    start_listen(s->start);
    hear_newcomers(s, fds, n);
    hear_guests(s, fds + n, progress_now_s());
    for (int i = 0; i < AGENTS_GUESTS / 4 && fds[port].revents && may_accept(s, now); i++)
        accept_guest(s, progress_now_s());
}

int agents_gather(struct agents *s, double deadline_s, volatile sig_atomic_t *stop, struct err *e)
{
    int rc = 0;
    while (!rc && !is_complete(s, deadline_s)) {
        wait_and_hear(s, room_to_poll(s));
        rc = is_complete(s, deadline_s) ? 0 : look_whether_hopeless(s, deadline_s, stop, e);
    }
    for (int i = s->count - 1; i >= 0; i--)
        if (!*s->items[i].host)
            drop_newcomer(s, i);
    while (s->nguests)
        send_away(s, 0);
    if (s->listener >= 0)
        close(s->listener);
    s->listener = -1;
    qsort(s->items, (size_t)s->count, sizeof *s->items, by_host);
    return rc;
}

/* ---- orders and what is heard ---- */

void agents_send(struct agents *s, int i, int message, int rank, const void *body, size_t bytes)
{
    for (int m = i < 0 ? 0 : i; m < (i < 0 ? s->count : i + 1); m++)
        if (!s->items[m].lost && connection_send(&s->items[m].connection, message, rank, body, bytes))
            lose(s, m);
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
        lose(s, i);
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
static int wait_once(struct agents *s, struct pollfd *fds, int timeout_ms, agents_hear *hear, void *user)
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
            lose(s, i);
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
        else if (left_ms > 0 && wait_once(s, room_to_poll(s),
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
            lose(s, i);
    arena_free(a);
}

/* What runs there now was the borrower's. */
static void give_back(struct agents *s)
{
    agents_kill(s, GIVE_BACK_S, NULL, NULL);
    for (int i = 0; i < s->count; i++) {
        struct agent *home = &s->lender->items[s->from[i]];
        s->lender->lost += s->items[i].lost && !home->lost;
        *home = s->items[i];
    }
    arena_free(s->arena);
    *s = (struct agents){.listener = -1};
}

void agents_close(struct agents *s)
{
    if (!s->arena)
        return;
    if (s->lender) {
        give_back(s);
        return;
    }
    for (int i = 0; i < s->count; i++)
        connection_close(&s->items[i].connection);
    while (s->nguests)
        send_away(s, 0);
    if (s->listener >= 0)
        close(s->listener);
    start_close(s->start, GRACE_S);
    if (s->here.group)
        proc_ended(&s->here, GRACE_S);
    proc_stop(&s->here, GRACE_S);
    arena_free(s->arena);
    const struct bench_setup *again = s->again;
    explicit_bzero(s, sizeof *s);
    s->listener = -1;
    s->again = again;
}
