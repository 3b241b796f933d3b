/* From a topology and hosts to a measured fabric. */
#include "bench/verbs_run.h"

#include <stdlib.h>
#include <string.h>

#include "bench/mpirun.h"
#include "bench/program.h"
#include "bench/talk.h"
#include "core/json.h"

#define GRACE_S 1.0 /* between SIGTERM and SIGKILL */

struct collection {
    struct verbs_fabric *fabric;
    int round, rounds, done;
    double began_s;
};

/* The active ports of the first class: "mlx5_0:1,mlx5_1:1". */
static const char *active_ports(const struct topology *t, struct arena *a, int *n)
{
    const char *list = NULL;
    for (int i = 0; t && t->nclasses && i < t->classes[0].nports; i++) {
        const struct topo_port *p = &t->classes[0].ports[i];
        if (p->state != TOPO_STATE_ACTIVE || p->layer == TOPO_LINK_UNKNOWN)
            continue;
        list = arena_printf(a, "%s%s%s:%d", list ? list : "", list ? "," : "", p->hca, p->port);
        ++*n;
    }
    return list;
}

static int command(const struct verbs_options *o, struct arena *a, struct mpirun *m, struct err *e)
{
    struct bench_setup setup = o->setup;
    const char *worker = bench_program("nccltune-bench", "NCCLTUNE_BENCH", a, e), *ports = o->ports;
    int nports = 1, n = 0;
    if (!worker)
        return ERR_LACKS;
    if (mpirun_attached_rank(e) != -1)
        return err_set(e, ERR_USAGE, "the verbs engine starts mpirun itself: run it outside of mpirun and srun");
    for (const char *p = ports; p && *p; p++)
        nports += *p == ',';
    if (!ports)
        ports = active_ports(o->setup.topology, a, &n);
    if (!ports)
        return err_set(e, ERR_LACKS, "no RDMA port is active here; nccltune probe shows all of them");
    setup.ranks_per_node = n ? n : nports;
    int code = mpirun_command(&setup, worker, a, m, e);
    if (code)
        return code;
    const char *schedule = o->schedule ? o->schedule : m->nodes > 1 ? "rails" : "matrix";
    const char *more[] = {"--verbs", ports, arena_printf(a, "%d", o->nccl), schedule};
    int argc = 0;
    while (m->argv[argc])
        argc++;
    const char **argv = arena_alloc(a, ((size_t)argc + sizeof more / sizeof *more + 1) * sizeof *argv);
    memcpy(argv, m->argv, (size_t)argc * sizeof *argv);
    memcpy(argv + argc, more, sizeof more);
    m->argv = argv;
    const char **env = arena_alloc(a, ((size_t)m->nenv + 1) * sizeof *env);
    memcpy(env, m->env, (size_t)m->nenv * sizeof *env);
    m->env = env;
    return 0;
}

/* One line of the worker's. */
static int take(struct collection *c, const char *line, struct err *e)
{
    cJSON *o = json_parse(line, strlen(line), "the worker", 0, e);
    const cJSON *try = cJSON_GetObjectItemCaseSensitive(o, "try"), *port = cJSON_GetObjectItemCaseSensitive(o, "port");
    const cJSON *again = cJSON_GetObjectItemCaseSensitive(o, "again");
    int64_t nodes = json_int(o, "nodes", 0), rails = json_int(o, "rails", 0);
    const char *error = json_str(o, "error", NULL);
    int code = o ? 0 : ERR_FAILED;
    if (error)
        code = err_set(e, ERR_FAILED, "%s", error);
    else if (nodes > 0 && rails > 0 && nodes <= 4096 && rails <= 64 && !c->fabric)
        c->fabric = verbs_fabric_new((int)nodes, (int)rails);
    else if ((try || again) && c->fabric)
        code = verbs_fabric_add_try(c->fabric, try ? try : again, e);
    else if (port && c->fabric)
        code = verbs_fabric_add_port(c->fabric, port, e);
    if (!code && again && c->fabric)
        verbs_fabric_repeated(c->fabric);
    c->round = (int)json_int(o, "round", c->round);
    c->rounds = (int)json_int(o, "of", c->rounds);
    c->done = c->done || json_bool(o, "done", 0);
    cJSON_Delete(o);
    return code;
}

static void show(const struct collection *c, struct progress *progress)
{
    if (!progress || c->rounds < 1 || c->round < 1)
        return;
    double fraction = (double)(c->round - 1) / c->rounds, took_s = progress_now_s() - c->began_s;
    char what[64];
    snprintf(what, sizeof what, "round %d of %d", c->round, c->rounds);
    progress_update(progress, fraction, fraction > 0 ? took_s / fraction - took_s : -1, what);
}

/* Until the worker is done, fails, or time is over: that is no error once something has been measured. */
static int collect(struct collection *c, struct talk *t, const struct verbs_options *o, struct progress *progress,
                   volatile sig_atomic_t *stop, struct err *e)
{
    char *line, why[BENCH_DETAIL];
    c->began_s = progress_now_s();
    while (!c->done) {
        enum talk_event event = talk_next(t, c->began_s + o->budget_s, stop, &line);
        if (event == TALK_LINE) {
            int code = take(c, line, e);
            if (code)
                return code;
            show(c, progress);
            continue;
        }
        if (event == TALK_ENDED) {
            talk_last_words(t, why);
            return err_set(e, ERR_FAILED, "the measurement %s", why);
        }
        if (c->fabric && c->fabric->ntries)
            return 0;
        return err_set(e, ERR_FAILED, event == TALK_STOPPED ? "interrupted" : "nothing was measured within the budget");
    }
    return 0;
}

struct verbs_fabric *verbs_run(const struct verbs_options *o, struct progress *progress, volatile sig_atomic_t *stop,
                               int *complete, struct err *e)
{
    struct arena *a = arena_new();
    struct collection c = {.fabric = NULL};
    struct mpirun m = {0};
    struct talk talk = {0};
    int code = command(o, a, &m, e);
    if (!code)
        code = talk_start(&talk, m.argv, m.env, e);
    if (!code) {
        code = collect(&c, &talk, o, progress, stop, e);
        if (c.done)
            proc_ended(&talk.proc, GRACE_S);
        talk_end(&talk, GRACE_S);
    }
    arena_free(a);
    if (code) {
        verbs_fabric_free(c.fabric);
        return NULL;
    }
    *complete = c.done;
    return c.fabric;
}
