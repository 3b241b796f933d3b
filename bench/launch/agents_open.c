/* Getting an agent onto every node: on a pipe, or by a launcher and back over TCP. */
#include "bench/launch/agents.h"
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

int agents_open(struct agents *s, const struct bench_setup *setup, double patience_s, volatile sig_atomic_t *stop,
                struct err *e)
{
    struct arena *a = arena_new();
    struct err why = {0};
    const char *worker = locate_program("nccltune-worker", a, &why);
    int nodes = worker ? start_nodes(setup, &why) : 0, rc = nodes ? agents_begin(s, nodes, &why) : why.code;
    if (!rc) {
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
