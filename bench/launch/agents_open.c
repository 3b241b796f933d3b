/* Getting an agent onto every node: on a pipe, or by a launcher and back over TCP. */
#include <stdlib.h>
#include <string.h>

#include "bench/launch/agents.h"
#include "bench/launch/found.h"
#include "bench/launch/places.h"
#include "core/locate.h"
#include "core/progress.h"

/* The only node is this one. */
static int open_here(struct agents *s, const char *worker, struct err *e)
{
    const char *argv[] = {worker, "agent", NULL};
    int rc = proc_spawn(&s->here, argv, NULL, e);
    if (rc)
        return rc;
    int from = s->here.out, to = s->here.in;
    s->here.in = s->here.out = -1;
    return agents_add(s, from, to, e);
}

static int launch(struct agents *s, const struct bench_setup *setup, const char *worker, struct arena *a, struct err *e)
{
    int rc = agents_listen(s, e);
    if (rc)
        return rc;
    const char *argv[] = {worker, "agent", "--connect", agents_places(s, a), NULL};
    const char *env[] = {agents_secret_variable(s, a), NULL};
    s->start = start_open(setup, &(struct start_agent){argv, env}, e);
    return s->start ? 0 : e && e->code ? e->code : ERR_FAILED;
}

/* ---- borrowing ---- */

/* The number of a node among the lender's, under its whole name or what comes before the first dot; -1 none. */
static int find(const struct agents *lender, const char *host)
{
    for (int i = 0; i < lender->count; i++) {
        const char *name = lender->items[i].host;
        size_t n = strcspn(host, "."), m = strcspn(name, ".");
        if (!strcmp(name, host) || (n == m && !strncmp(name, host, n)))
            return i;
    }
    return -1;
}

static int borrow(struct agents *s, const struct bench_setup *setup, struct arena *a, struct err *e)
{
    struct agents *lender = setup->lent;
    struct places where;
    int rc = places_find(setup, a, &where, e);
    if (rc)
        return rc;
    *s = (struct agents){.lender = lender, .wanted = where.nodes, .listener = -1};
    s->here = (struct proc){.in = -1, .out = -1, .err = -1};
    s->items = calloc((size_t)where.nodes + 1, sizeof *s->items);
    s->from = calloc((size_t)where.nodes + 1, sizeof *s->from);
    if (!s->items || !s->from) {
        free(s->items);
        free(s->from);
        *s = (struct agents){.listener = -1};
        return err_set(e, ERR_FAILED, "out of memory");
    }
    for (int i = 0; i < where.nodes && !rc; i++) {
        int at = find(lender, where.hosts[i]);
        if (at < 0 || lender->items[at].lost) {
            rc = err_set(e, ERR_FAILED, at < 0 ? "no agent was started on %s" : "the node %s is gone", where.hosts[i]);
            break;
        }
        s->from[s->count] = at;
        s->items[s->count++] = lender->items[at];
    }
    if (rc)
        agents_close(s);
    return rc;
}

/* ---- found ---- */

int agents_open_found(struct agents *s, struct found *f, double patience_s, volatile sig_atomic_t *stop, struct err *e)
{
    struct arena *a = arena_new();
    struct secret secret;
    const char *worker = locate_program("nccltune-worker", a, e);
    int rc = worker ? agents_begin(s, f->nodes, e) : ERR_LACKS;
    if (!rc) {
        secret_parse(&secret, f->secret);
        agents_adopt(s, f->listener, &secret);
        s->port = f->port;
        f->listener = -1;
        rc = open_here(s, worker, e);
        rc = rc ? rc : agents_gather(s, progress_now_s() + patience_s, stop, e);
        if (rc)
            agents_close(s);
    }
    arena_free(a);
    return rc;
}

int agents_open(struct agents *s, const struct bench_setup *setup, double patience_s, volatile sig_atomic_t *stop,
                struct err *e)
{
    struct arena *a = arena_new();
    struct err why = {0};
    const char *worker = locate_program("nccltune-worker", a, &why);
    int nodes = worker && !setup->lent ? start_nodes(setup, &why) : 0;
    int rc = setup->lent ? borrow(s, setup, a, &why) : nodes ? agents_begin(s, nodes, &why) : why.code;
    if (!rc && !setup->lent) {
        rc = start_here_alone(setup) ? open_here(s, worker, &why) : launch(s, setup, worker, a, &why);
        rc = rc ? rc : agents_gather(s, progress_now_s() + patience_s, stop, &why);
        if (rc)
            agents_close(s);
    }
    if (rc && e)
        *e = why;
    arena_free(a);
    return rc;
}
