/* Getting an agent onto every node: on a pipe, or by mpirun and back over TCP. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/engines/nccl/nccl_internal.h"
#include "core/locate.h"
#include "core/progress.h"

#define STOP_PERIOD_MS 100
#define MAX_NODES      4096
#define GRACE_S        1.0

/* ---- one node ---- */

static int open_here(struct nccl_agents *c, const char *library, const char *worker, struct err *e)
{
    const char *argv[] = {worker, "agent", library ? "--nccl-lib" : NULL, library, NULL};
    int rc = proc_spawn(&c->launcher, argv, NULL, e);
    if (rc)
        return rc;
    c->members[0].from = c->launcher.out;
    c->members[0].to = c->launcher.in;
    c->count = 1;
    return 0;
}

/* ---- several nodes ---- */

static int listen_anywhere(uint16_t *port, struct err *e)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    socklen_t len = sizeof any;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof any) || listen(fd, 512) ||
        getsockname(fd, (struct sockaddr *)&any, &len)) {
        err_errno(e, "no port can be opened for the agents of the other nodes");
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *port = ntohs(any.sin_port);
    return fd;
}

/* "10.0.0.1:4711,127.0.0.1:4711": all of this machine's, loopback last, because one of them is reachable. */
static char *own_places(uint16_t port, struct arena *a)
{
    struct ifaddrs *list = NULL;
    char *places = arena_strdup(a, ""), text[INET_ADDRSTRLEN];
    if (getifaddrs(&list))
        list = NULL;
    for (struct ifaddrs *i = list; i; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & IFF_RUNNING) &&
            !(i->ifa_flags & IFF_LOOPBACK) &&
            inet_ntop(AF_INET, &((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr, text, sizeof text))
            places = arena_printf(a, "%s%s:%u,", places, text, port);
    freeifaddrs(list);
    return arena_printf(a, "%s127.0.0.1:%u", places, port);
}

/* A token that only our agents know: anybody can reach the port. */
static void make_token(char hex[33])
{
    unsigned char bytes[16] = {0};
    ssize_t n = getrandom(bytes, sizeof bytes, 0);
    for (int i = 0; i < 16; i++)
        snprintf(hex + 2 * i, 3, "%02x",
                 n == (ssize_t)sizeof bytes ? bytes[i] : (unsigned)(getpid() >> (i % 4)) & 0xff);
}

static int launch_agents(struct nccl_agents *c, const struct bench_setup *setup, const char *library,
                         const char *worker, const char *places, const char *token, struct arena *a, struct err *e)
{
    const char *argv[] = {worker, "agent", "--connect", places, library ? "--nccl-lib" : NULL, library, NULL};
    const char *env[] = {arena_printf(a, "NCCLTUNE_TOKEN=%s", token), NULL};
    c->start = start_open(setup, &(struct start_agent){argv, env}, e);
    return c->start ? 0 : e && e->code ? e->code : ERR_FAILED;
}

static void forget(struct nccl_member *m)
{
    if (m->from >= 0)
        close(m->from);
    nccl_inbox_close(&m->inbox);
    m->from = m->to = -1;
}

static void take_in(struct nccl_agents *c, int listener, int wanted)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), on = 1;
    if (fd < 0)
        return;
    struct nccl_member *m = &c->members[c->count];
    if (c->count == wanted || nccl_inbox_open(&m->inbox)) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){10}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &(int){5}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &(int){3}, sizeof(int));
    m->from = m->to = fd;
    c->count++;
}

/* ---- the first message ---- */

/* 1 the agent has introduced itself, 0 not yet, -1 it is none of ours. */
static int introduced(struct nccl_member *m, const char *token)
{
    struct nccl_frame f;
    struct nccl_node node;
    int alive = nccl_inbox_fill(&m->inbox, m->from), got = nccl_inbox_next(&m->inbox, &f);
    if (!got)
        return alive ? 0 : -1;
    if (got < 0 || f.head.message != NCCL_NODE || nccl_body(&f, &node, sizeof node))
        return -1;
    node.host[sizeof node.host - 1] = node.token[sizeof node.token - 1] = 0;
    if (strcmp(node.token, token) != 0)
        return -1;
    memcpy(m->host, node.host, sizeof m->host);
    return 1;
}

/* Takes connections until `wanted` agents have spoken. `listener` -1: the one on the pipe. */
static int gather(struct nccl_agents *c, int listener, int wanted, const char *token, double deadline_s,
                  volatile sig_atomic_t *stop, struct err *e)
{
    int room = start_room(c->start), known = 0, rc = 0;
    struct pollfd *fds = calloc((size_t)wanted + (size_t)room + 1, sizeof *fds);
    char why[BENCH_DETAIL];
    while (fds && !rc && known < wanted) {
        for (int i = 0; i < c->count; i++)
            fds[i] = (struct pollfd){.fd = *c->members[i].host ? -1 : c->members[i].from, .events = POLLIN};
        int n = c->count;
        fds[n] = (struct pollfd){.fd = listener, .events = POLLIN};
        int more = start_pollfds(c->start, fds + n + 1, room);
        poll(fds, (nfds_t)(n + 1 + more), STOP_PERIOD_MS);
        start_listen(c->start);
        for (int i = n - 1; i >= 0; i--) {
            int heard = fds[i].revents ? introduced(&c->members[i], token) : 0;
            known += heard > 0;
            if (heard < 0 && listener >= 0) { /* a stranger on the port */
                forget(&c->members[i]);
                c->members[i] = c->members[--c->count];
            }
        }
        if (listener >= 0 && fds[n].revents)
            take_in(c, listener, wanted);
        if (stop && *stop)
            rc = err_set(e, ERR_FAILED, "interrupted");
        else if (start_ended(c->start, why))
            rc = err_set(e, ERR_FAILED, "%s", why);
        else if (listener < 0 && proc_ended(&c->launcher, 0))
            rc = err_set(e, ERR_FAILED, "nccltune-worker ended before it had answered");
        else if (progress_now_s() > deadline_s)
            rc = err_set(e, ERR_FAILED, "%d of %d nodes have answered in time%s%s", known, wanted,
                         *start_complaint(c->start, why) ? "; last heard: " : "", why);
    }
    free(fds);
    return rc;
}

static int by_host(const void *a, const void *b)
{
    return strverscmp(((const struct nccl_member *)a)->host, ((const struct nccl_member *)b)->host);
}

int nccl_agents_open(struct nccl_agents *c, const struct bench_setup *setup, const char *library, double patience_s,
                     volatile sig_atomic_t *stop, struct err *e)
{
    struct arena *a = arena_new();
    const char *worker = locate_program("nccltune-worker", a, e);
    int nodes = start_nodes(setup, e), listener = -1, rc = worker && nodes ? 0 : e && e->code ? e->code : ERR_FAILED;
    int here = start_here_alone(setup);
    uint16_t port = 0;
    char token[33] = "";
    memset(c, 0, sizeof *c);
    c->launcher.in = c->launcher.out = c->launcher.err = -1;
    c->members = calloc((size_t)(nodes > 0 ? nodes : 1), sizeof *c->members);
    if (!rc && !here) {
        make_token(token);
        listener = listen_anywhere(&port, e);
        rc = listener < 0 ? ERR_FAILED : launch_agents(c, setup, library, worker, own_places(port, a), token, a, e);
    } else if (!rc) {
        rc = nccl_inbox_open(&c->members[0].inbox) ? err_set(e, ERR_FAILED, "out of memory")
                                                   : open_here(c, library, worker, e);
    }
    if (!rc)
        rc = gather(c, listener, nodes, token, progress_now_s() + patience_s, stop, e);
    if (listener >= 0)
        close(listener);
    if (rc)
        nccl_agents_close(c);
    else
        qsort(c->members, (size_t)c->count, sizeof *c->members, by_host);
    arena_free(a);
    return rc;
}

/* An agent ends when its connection does. */
void nccl_agents_close(struct nccl_agents *c)
{
    for (int i = 0; i < c->count; i++) {
        if (c->members[i].from == c->launcher.out)
            c->launcher.out = -1;
        if (c->members[i].to == c->launcher.in) {
            close(c->launcher.in);
            c->launcher.in = -1;
        }
        forget(&c->members[i]);
    }
    start_close(c->start, GRACE_S);
    proc_ended(&c->launcher, GRACE_S);
    proc_stop(&c->launcher, GRACE_S);
    free(c->members);
    memset(c, 0, sizeof *c);
}
