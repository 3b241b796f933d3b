/* Getting an agent onto every node: on a pipe, or by a launcher and back over TCP. */

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

static int launch(struct agents *s, const struct bench_setup *setup, const char *worker, int each, struct arena *a,
                  struct err *e)
{
    int rc = agents_listen(s, e);
    if (rc)
        return rc;
    const char *argv[] = {worker, "agent", "--connect", agents_places(s, a), NULL};
    const char *env[] = {agents_secret_variable(s, a), NULL};
    s->start = start_open(setup, &(struct start_agent){argv, env}, each, e);
    return s->start ? 0 : e->code ? e->code : ERR_FAILED;
}

/* How agents come to be. */
struct opening {
    const struct bench_setup *setup;
    double patience_s;
    volatile sig_atomic_t *stop;
    int each; /* by a launcher for each node */
    int some; /* those that come are enough */
};

static int open_own(struct agents *s, const struct opening *o, struct err *e)
{
    struct arena *a = arena_new();
    const char *worker = locate_program("nccltune-worker", a, e);
    int nodes = worker ? start_nodes(o->setup, e) : 0;
    int rc = nodes ? agents_begin(s, nodes, e) : e->code;
    if (!rc) {
        s->some = o->some;
        rc = start_here_alone(o->setup) ? open_here(s, worker, e) : launch(s, o->setup, worker, o->each, a, e);
        rc = rc ? rc : agents_gather(s, progress_now_s() + o->patience_s, o->stop, e);
        if (rc)
            agents_close(s);
    }
    arena_free(a);
    return rc;
}

/* ---- borrowing ---- */

/* After some were lost, or all were sent home. */
static int start_anew(struct agents *lender, double patience_s, volatile sig_atomic_t *stop, struct err *e)
{
    const struct bench_setup *again = lender->again;
    agents_close(lender);
    int rc = open_own(lender, &(struct opening){again, patience_s, stop, 0, 0}, e);
    lender->again = again;
    return rc;
}

/* Those of the places that are meant, which may be called otherwise (by an address) where all are. */
static int take(struct agents *s, const struct places *where, struct err *e)
{
    const struct agents *lender = s->lender;
    int by_name = where->nodes != lender->count || agents_find(lender, where->hosts[0]) >= 0;
    for (int i = 0; i < where->nodes; i++) {
        int at = by_name ? agents_find(lender, where->hosts[i]) : i;
        if (at < 0 || lender->items[at].lost)
            return err_set(e, ERR_FAILED, at < 0 ? "no agent was started on %s" : "the node %s is gone",
                           at < 0 ? where->hosts[i] : lender->items[at].host);
        s->from[s->count] = at;
        s->items[s->count++] = lender->items[at];
    }
    return 0;
}

static int borrow(struct agents *s, const struct opening *o, struct err *e)
{
    struct agents *lender = o->setup->lent;
    struct arena *a = arena_new();
    struct places where;
    int rc = lender->again && (lender->lost || !lender->arena) ? start_anew(lender, o->patience_s, o->stop, e) : 0;
    if (!rc)
        rc = places_find(o->setup, a, &where, e);
    if (!rc) {
        agents_none(s, where.nodes);
        s->lender = lender;
        s->from = arena_alloc(s->arena, (size_t)where.nodes * sizeof *s->from);
        rc = take(s, &where, e);
        if (rc)
            agents_close(s);
    }
    arena_free(a);
    return rc;
}

/* ---- found ---- */

int agents_open_found(struct agents *s, struct found *f, double patience_s, volatile sig_atomic_t *stop, struct err *e)
{
    struct arena *a = arena_new();
    const char *worker = locate_program("nccltune-worker", a, e);
    int rc = worker ? agents_begin(s, f->nodes, e) : ERR_LACKS;
    if (!rc) {
        secret_parse(&s->secret, f->secret);
        s->listener = f->listener;
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
    struct err why = {0};
    const struct opening o = {.setup = setup, .patience_s = patience_s, .stop = stop};
    int rc = setup->lent ? borrow(s, &o, &why) : open_own(s, &o, &why);
    if (rc && e)
        *e = why;
    return rc;
}

/* ---- to lend ---- */

/* Who has not come, and why, as that is known; `again` is without them. */
static void find_absent(const struct agents *s, struct bench_setup *again, struct agents_absent **absent, int *n,
                        struct arena *a)
{
    struct places where;
    const char *hosts = "";
    *n = 0;
    if (s->count == s->wanted || places_find(again, a, &where, NULL))
        return;
    *absent = arena_alloc(a, (size_t)where.nodes * sizeof **absent);
    for (int i = 0; i < where.nodes; i++) {
        char why[BENCH_DETAIL];
        if (agents_find(s, where.hosts[i]) >= 0)
            hosts = arena_printf(a, "%s%s%s", hosts, *hosts ? "," : "", where.hosts[i]);
        else
            (*absent)[(*n)++] = (struct agents_absent){
                where.hosts[i], start_node_ended(s->start, i, why) ? arena_strdup(a, why) : "no answer in time"};
    }
    again->hosts = hosts;
    again->hostfile = NULL;
}

int agents_open_some(struct agents *s, struct bench_setup *setup, double patience_s, volatile sig_atomic_t *stop,
                     struct agents_absent **absent, int *nabsent, struct arena *a, struct err *e)
{
    int common = start_is_common(setup);
    struct opening o = {.setup = setup, .patience_s = patience_s, .stop = stop, .some = !common};
    int rc = open_own(s, &o, e);
    if (rc == ERR_FAILED && common && !*stop) {
        *e = (struct err){0};
        o.each = o.some = 1;
        rc = open_own(s, &o, e);
    }
    if (rc)
        return rc;
    find_absent(s, setup, absent, nabsent, a);
    s->again = setup;
    return 0;
}
