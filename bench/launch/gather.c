/* How agents come to be: started, proven, known by name, lent and borrowed; and their end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/launch/launch_internal.h"
#include "core/locate.h"
#include "core/progress.h"
#include "core/trust.h"

#define STOP_PERIOD_MS 100
#define GRACE_S        1.0
#define GIVE_BACK_S    3.0
#define SPARE_FDS      64   /* for everything that is not an agent */
#define COMMON_S       20.0 /* for one launcher for all; then each node has its own */
#define COMMON_NODE_S  0.1  /* more for each node */
#define SHORT_STAY_S   0.2  /* a guest that is younger is not sent away for another: honest ones need less */

/* A connection that has proven nothing yet. */
struct guest {
    int fd;
    double since_s;
    struct proof proof;
};

/* ---- beginning ---- */

/* `guests`: places for those who have proven nothing yet, which only a listener needs. */
static int allow_descriptors(int wanted, int guests, struct err *e)
{
    struct rlimit limit;
    rlim_t need = (rlim_t)wanted * 2 + (rlim_t)guests + SPARE_FDS;
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

/* Forget all but what a lender keeps when its agents end. */
static void forget_agents(struct agents *s)
{
    const struct agents kept = {.listener = -1,
                                .keep = s->keep,
                                .again = s->again,
                                .absent = s->keep ? s->absent : NULL,
                                .nabsent = s->keep ? s->nabsent : 0,
                                .copies = s->copies};
    explicit_bzero(s, sizeof *s);
    *s = kept;
}

void agents_none(struct agents *s, int wanted)
{
    forget_agents(s);
    s->arena = arena_new();
    s->wanted = wanted;
    s->here = (struct proc){.in = -1, .out = -1, .err = -1};
    s->items = arena_alloc(s->arena, ((size_t)wanted + 1) * sizeof *s->items);
}

int agents_begin(struct agents *s, int wanted, struct err *e)
{
    agents_none(s, wanted);
    int rc = allow_descriptors(wanted, 0, e);
    if (!rc && secret_make(&s->secret))
        rc = err_errno(e, "the kernel provides no random numbers, which agents need to prove themselves");
    s->guests = arena_alloc(s->arena, AGENTS_GUESTS * sizeof *s->guests);
    if (rc)
        agents_close(s);
    return rc;
}

int agents_listen(struct agents *s, struct err *e)
{
    int rc = allow_descriptors(s->wanted, AGENTS_GUESTS, e);
    if (rc)
        return rc;
    s->listener = wire_listen(&s->port);
    if (s->listener >= 0)
        return 0;
    return s->port ? err_errno(e, "port %u cannot be opened for the agents of the other nodes", s->port)
                   : err_errno(e, "no port can be opened for the agents of the other nodes");
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

static void drop_guest(struct agents *s, int i)
{
    close(s->guests[i].fd);
    explicit_bzero(&s->guests[i].proof, sizeof s->guests[i].proof);
    s->guests[i] = s->guests[--s->nguests];
}

static int find_oldest_guest(const struct agents *s)
{
    int oldest = 0;
    for (int i = 1; i < s->nguests; i++)
        if (s->guests[i].since_s < s->guests[oldest].since_s)
            oldest = i;
    return oldest;
}

static int may_accept(struct agents *s, double now)
{
    return s->nguests < AGENTS_GUESTS || now - s->guests[find_oldest_guest(s)].since_s > SHORT_STAY_S;
}

static void accept_guest(struct agents *s, double now)
{
    int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    if (s->nguests == AGENTS_GUESTS)
        drop_guest(s, find_oldest_guest(s));
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

/* A guest that has proven itself becomes an agent. */
static void admit_guest(struct agents *s, int i)
{
    struct guest *g = &s->guests[i];
    int fd = dup(g->fd);
    wire_tune(g->fd);
    if (fd >= 0 && !agents_add(s, fd, fd, NULL))
        proof_seal(&g->proof, &s->items[s->count - 1].connection);
    else
        trust_close(fd);
    drop_guest(s, i);
}

static void hear_guests(struct agents *s, const struct pollfd *fds, double now)
{
    for (int i = s->nguests - 1; i >= 0; i--) {
        struct guest *g = &s->guests[i];
        int proven = fds[i].revents ? proof_go_on(&g->proof, g->fd) : 0;
        if (proven > 0)
            admit_guest(s, i);
        else if (proven < 0 || now - g->since_s > AGENTS_PROOF_S)
            drop_guest(s, i);
    }
}

/* ---- gathering ---- */

/* Count those that have said their names. */
static int count_introduced(const struct agents *s)
{
    int n = 0;
    for (int i = 0; i < s->count; i++)
        n += *s->items[i].host != 0;
    return n;
}

void agents_add_absent(struct agents *s, const char *host, const char *why)
{
    struct arena *a = s->keep ? s->keep : s->arena;
    ARENA_ADD(a, s->absent, s->nabsent) = (struct agents_absent){arena_strdup(a, host), arena_strdup(a, why)};
}

static int find_absent(const struct agents *s, const char *host)
{
    for (int i = 0; i < s->nabsent; i++)
        if (!strcmp(s->absent[i].host, host))
            return i;
    return -1;
}

/* Return 1 once the agent has said its name, 0 if not yet, -1 if it never will, or is of another release. */
static int read_introduction(struct agents *s, struct agent *m)
{
    struct frame f;
    struct agent_node node = {0};
    char why[BENCH_DETAIL];
    int alive = connection_fill(&m->connection), got = connection_next(&m->connection, &f);
    if (!got)
        return alive ? 0 : -1;
    if (got < 0 || f.head.message != AGENT_NODE || f.head.bytes < sizeof node.host)
        return -1;
    memcpy(&node, f.body, f.head.bytes < sizeof node ? f.head.bytes : sizeof node);
    node.host[sizeof node.host - 1] = node.release[sizeof node.release - 1] = 0;
    if (!*node.host)
        return -1;
    if (strcmp(node.release, wire_release) != 0) {
        snprintf(why, sizeof why, "its nccltune-worker is of %s%s, this is %s: install the same on all nodes",
                 *node.release ? "release " : "an older release", node.release, wire_release);
        if (find_absent(s, node.host) < 0)
            agents_add_absent(s, node.host, why);
        s->refused++;
        return -1;
    }
    snprintf(m->host, sizeof m->host, "%s", node.host);
    m->rank = node.rank;
    return 1;
}

/* One that ends before it has said its name leaves its place to another. */
static void drop_newcomer(struct agents *s, int i)
{
    connection_close(&s->items[i].connection);
    s->items[i] = s->items[--s->count];
}

static int compare_hosts(const void *a, const void *b)
{
    return strverscmp(((const struct agent *)a)->host, ((const struct agent *)b)->host);
}

static int set_missing_error(const struct agents *s, const char *why, struct err *e)
{
    char names[256] = "";
    size_t used = 0;
    for (int i = 0; i < s->count && used < sizeof names - 80; i++)
        if (*s->items[i].host)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", s->items[i].host);
    return err_set(e, ERR_FAILED, "%d of %d nodes have answered%s%s%s: %s", count_introduced(s), s->wanted,
                   used ? " (" : "", names,
                   used ? (s->count > 3 && used >= sizeof names - 80 ? " and more)" : ")") : "", why);
}

/* Count those that will not come any more: they were refused, or their launchers have ended. */
static int count_given_up(const struct agents *s, const struct places *where)
{
    char why[BENCH_DETAIL];
    int n = s->refused;
    for (int i = 0; i < where->nodes && where->hosts; i++)
        n += find_absent(s, where->hosts[i]) < 0 && agents_find(s, where->hosts[i]) < 0 &&
             start_node_ended(s->start, where->hosts[i], 0, why);
    return n;
}

static int is_complete(const struct agents *s, double deadline_s)
{
    int n = count_introduced(s);
    return n == s->wanted ||
           (s->some && n && (n + count_given_up(s, s->some) >= s->wanted || progress_now_s() > deadline_s));
}

static int find_failure(struct agents *s, double deadline_s, volatile sig_atomic_t *stop, struct err *e)
{
    char why[BENCH_DETAIL] = "";
    if (stop && *stop)
        return err_set(e, ERR_FAILED, "interrupted");
    if (s->refused && (!s->some || s->refused == s->wanted))
        return err_set(e, ERR_FAILED, "%s: %s", s->absent[s->nabsent - 1].host, s->absent[s->nabsent - 1].why);
    if ((!s->some || count_given_up(s, s->some) >= s->wanted) && start_ended(s->start, why))
        return s->count ? set_missing_error(s, why, e) : err_set(e, ERR_FAILED, "%s", why);
    if (s->here.group && proc_ended(&s->here, 0))
        return err_set(e, ERR_FAILED, "nccltune-worker ended before it had answered");
    if (progress_now_s() <= deadline_s)
        return 0;
    start_complaint(s->start, why);
    return set_missing_error(s, *why ? why : "the others did not in time", e);
}

static void poll_newcomers(struct agents *s, struct pollfd *fds)
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
    for (int i = n - 1; i >= 0; i--)
        if (fds[i].revents && read_introduction(s, &s->items[i]) < 0)
            drop_newcomer(s, i);
    hear_guests(s, fds + n, progress_now_s());
    for (int i = 0; i < AGENTS_GUESTS / 4 && fds[port].revents && may_accept(s, now); i++)
        accept_guest(s, progress_now_s());
}

int agents_gather(struct agents *s, double deadline_s, volatile sig_atomic_t *stop, struct err *e)
{
    int rc = 0;
    while (!rc && !is_complete(s, deadline_s)) {
        poll_newcomers(s, agents_poll_room(s));
        rc = is_complete(s, deadline_s) ? 0 : find_failure(s, deadline_s, stop, e);
    }
    for (int i = s->count - 1; i >= 0; i--)
        if (!*s->items[i].host)
            drop_newcomer(s, i);
    while (s->nguests)
        drop_guest(s, 0);
    trust_close(s->listener);
    s->listener = -1;
    qsort(s->items, (size_t)s->count, sizeof *s->items, compare_hosts);
    return rc;
}

/* ---- starting ---- */

int agents_start_here(struct agents *s, struct err *e)
{
    const char *worker = locate_program("nccltune-worker", s->arena, e), *argv[] = {worker, "agent", NULL};
    int rc = worker ? proc_spawn(&s->here, argv, NULL, e) : ERR_LACKS;
    if (rc)
        return rc;
    int from = s->here.out, to = s->here.in;
    s->here.in = s->here.out = -1;
    return agents_add(s, from, to, e);
}

/* How a command starts agents of its own. */
struct opening {
    struct bench_setup *setup; /* narrowed to the nodes that have come */
    double patience_s;
    volatile sig_atomic_t *stop;
    int each; /* by a launcher for each node */
    int some; /* those that come are enough */
};

static int start_on_nodes(struct agents *s, const struct opening *o, struct err *e)
{
    const char *worker = locate_program("nccltune-worker", s->arena, e);
    int rc = worker ? agents_listen(s, e) : ERR_LACKS;
    if (rc)
        return rc;
    const char *argv[] = {worker, "agent", "--connect", agents_places(s, s->arena), NULL};
    const char *env[] = {agents_secret_variable(s, s->arena), NULL};
    s->start = start_open(o->setup, &(struct start_agent){argv, env}, o->each, e);
    return s->start ? 0 : e->code ? e->code : ERR_FAILED;
}

/* Name the hosts of `setup` that have agents; where agents have other names (of addresses), the agents'. */
static const char *join_present(const struct agents *s, const struct places *where, struct arena *a)
{
    const char *hosts = "";
    for (int i = 0; where->hosts && i < where->nodes; i++)
        if (agents_find(s, where->hosts[i]) >= 0)
            hosts = arena_printf(a, "%s%s%s", hosts, *hosts ? "," : "", where->hosts[i]);
    for (int i = 0; i < s->count && !*hosts; i++)
        hosts = arena_printf(a, "%s%s%s", hosts, i ? "," : "", s->items[i].host);
    return hosts;
}

/* Note who has not come, and why, and take them out of `setup`. */
static void narrow_setup(struct agents *s, struct bench_setup *setup, const struct places *where)
{
    struct arena *a = s->keep;
    char why[BENCH_DETAIL];
    for (int i = 0; where->hosts && i < where->nodes; i++)
        if (agents_find(s, where->hosts[i]) < 0 && find_absent(s, where->hosts[i]) < 0)
            agents_add_absent(s, where->hosts[i],
                              start_node_ended(s->start, where->hosts[i], 0, why) ? why : "no answer in time");
    setup->hosts = join_present(s, where, a);
    setup->hostfile = NULL;
}

static int open_own(struct agents *s, const struct opening *o, struct err *e)
{
    struct places where;
    int nodes = places_count(o->setup, e), rc = nodes ? agents_begin(s, nodes, e) : e->code;
    if (rc)
        return rc;
    rc = places_find(o->setup, s->arena, &where, e);
    s->some = o->some && where.hosts ? &where : NULL;
    if (!rc)
        rc = places_need_no_launcher(o->setup) ? agents_start_here(s, e) : start_on_nodes(s, o, e);
    rc = rc ? rc : agents_gather(s, progress_now_s() + o->patience_s, o->stop, e);
    if (!rc && s->some && s->count < s->wanted)
        narrow_setup(s, o->setup, &where);
    s->some = NULL;
    if (rc)
        agents_close(s);
    return rc;
}

/* ---- lending ---- */

/* Open agents that are lent, by one launcher for all, else by one for each node: they can be started anew. */
static int open_to_lend(struct agents *s, struct opening o, struct err *e)
{
    const double all_s = o.patience_s, common_s = COMMON_S + places_count(o.setup, NULL) * COMMON_NODE_S;
    const int common = start_is_common(o.setup);
    o.some = !common;
    o.patience_s = common && common_s < all_s ? common_s : all_s;
    int rc = open_own(s, &o, e);
    if (rc == ERR_FAILED && common && !(o.stop && *o.stop)) {
        *e = (struct err){0};
        o.each = o.some = 1;
        o.patience_s = all_s;
        rc = open_own(s, &o, e);
    }
    s->again = o.setup;
    return rc;
}

int agents_lend(struct agents *s, struct bench_setup *setup, double patience_s, volatile sig_atomic_t *stop,
                struct arena *a, struct err *e)
{
    if (setup->lent)
        return 0;
    struct bench_setup *again = ARENA_NEW(a, struct bench_setup);
    *again = *setup;
    *s = (struct agents){.listener = -1, .keep = a, .copies = s->copies};
    int rc = open_to_lend(s, (struct opening){.setup = again, .patience_s = patience_s, .stop = stop}, e);
    if (rc)
        return rc;
    setup->hosts = again->hosts;
    setup->hostfile = again->hostfile;
    setup->lent = s;
    return 0;
}

void agents_leave_out(struct agents *s, struct bench_setup *setup, const char *host, const char *why)
{
    struct places where;
    int i = agents_find(s, host);
    if (find_absent(s, host) < 0)
        agents_add_absent(s, host, why);
    if (i >= 0) {
        s->lost -= s->items[i].lost != 0;
        s->reported -= s->items[i].lost == 2;
        connection_close(&s->items[i].connection);
        memmove(&s->items[i], &s->items[i + 1], (size_t)(--s->count - i) * sizeof *s->items);
    }
    if (!s->again || places_find(s->again, s->keep, &where, NULL) || !where.hosts)
        return;
    setup->hosts = s->again->hosts = join_present(s, &where, s->keep);
    setup->hostfile = s->again->hostfile = NULL;
}

const char *agents_gone(const struct agents *s, const char *host)
{
    int i = agents_find(s, host), gone = find_absent(s, host);
    if (gone >= 0)
        return s->absent[gone].why;
    return i < 0 || !s->items[i].lost ? NULL : s->again ? "its agent is lost at every start" : "its agent is lost";
}

/* ---- borrowing ---- */

/* Borrow those of the places that are meant, which may have other names (addresses) where all are. */
static int borrow_places(struct agents *s, const struct places *where, struct err *e)
{
    const struct agents *lender = s->lender;
    int by_name = where->nodes != lender->count;
    for (int i = 0; i < where->nodes && !by_name; i++)
        by_name = agents_find(lender, where->hosts[i]) >= 0;
    for (int i = 0; i < where->nodes; i++) {
        int at = by_name ? agents_find(lender, where->hosts[i]) : i;
        int gone = at < 0 ? find_absent(lender, where->hosts[i]) : -1;
        if (gone >= 0)
            return err_set(e, ERR_FAILED, "%s: %s", where->hosts[i], lender->absent[gone].why);
        if (at < 0 || lender->items[at].lost)
            return err_set(e, ERR_FAILED, at < 0 ? "no agent was started on %s" : "the node %s is gone",
                           at < 0 ? where->hosts[i] : lender->items[at].host);
        for (int k = 0; k < s->count; k++)
            if (s->from[k] == at)
                return err_set(e, ERR_USAGE, "%s and %s are one node", where->hosts[k], where->hosts[i]);
        s->from[s->count] = at;
        s->items[s->count++] = lender->items[at];
    }
    return 0;
}

/* After some were lost, or all were sent home, all are started anew. */
static int borrow_agents(struct agents *s, const struct bench_setup *setup, double patience_s,
                         volatile sig_atomic_t *stop, struct err *e)
{
    struct agents *lender = setup->lent;
    struct arena *a = arena_new();
    struct places where = {0};
    int rc = 0;
    if (lender->again && (lender->lost || !lender->arena)) {
        agents_close(lender);
        rc = open_to_lend(lender, (struct opening){.setup = lender->again, .patience_s = patience_s, .stop = stop}, e);
    }
    if (!rc)
        rc = places_find(setup, a, &where, e);
    if (!rc) {
        agents_none(s, where.nodes);
        s->lender = lender;
        s->from = arena_alloc(s->arena, (size_t)where.nodes * sizeof *s->from);
        rc = borrow_places(s, &where, e);
        if (rc)
            agents_close(s);
    }
    arena_free(a);
    return rc;
}

int agents_open(struct agents *s, const struct bench_setup *setup, double patience_s, volatile sig_atomic_t *stop,
                struct err *e)
{
    struct err why = {0};
    struct bench_setup own = *setup;
    const struct opening o = {.setup = &own, .patience_s = patience_s, .stop = stop};
    *s = (struct agents){.listener = -1};
    int rc = setup->lent ? borrow_agents(s, setup, patience_s, stop, &why) : open_own(s, &o, &why);
    if (rc && e)
        *e = why;
    return rc;
}

/* ---- the end ---- */

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
        drop_guest(s, 0);
    trust_close(s->listener);
    start_close(s->start, GRACE_S);
    if (s->here.group)
        proc_ended(&s->here, GRACE_S);
    proc_stop(&s->here, GRACE_S);
    arena_free(s->arena);
    forget_agents(s);
}
