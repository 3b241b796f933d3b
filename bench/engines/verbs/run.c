/* From a topology and hosts to a measured fabric. */
#include "bench/engines/verbs/run.h"

#include <stdlib.h>
#include <string.h>

#include "bench/engines/verbs/journal.h"
#include "bench/launch/child_io.h"
#include "bench/launch/mpirun.h"
#include "core/json.h"
#include "core/locate.h"

#define GRACE_S      1.0 /* between SIGTERM and SIGKILL */
#define MATRIX_NODES 8   /* beyond, all pairs of ports take too long to be worth it */

struct collection {
    struct verbs_fabric *fabric;
    struct verbs_journal journal;
    const char *nodes; /* the worker's first line */
    int round, rounds, done;
    double began_s;
};

/* ---- what to run ----------------------------------------------------------------------------------------------------
 */

/* The first `most` active ports of a class: "mlx5_0:1,mlx5_1:1". */
static const char *active_ports(const struct topo_class *c, int most, struct arena *a, int *n)
{
    const char *list = "";
    *n = 0;
    for (int i = 0; i < c->nports && *n < most; i++) {
        const struct topo_port *p = &c->ports[i];
        if (p->state != TOPO_STATE_ACTIVE || p->layer == TOPO_LINK_UNKNOWN)
            continue;
        list = arena_printf(a, "%s%s%s:%d", list, *n ? "," : "", p->hca, p->port);
        ++*n;
    }
    return list;
}

const char *verbs_ports_of(const struct topology *t, struct arena *a, int *rails)
{
    const char *lists = "";
    *rails = t && t->nclasses ? 64 : 0;
    for (int i = 0; t && i < t->nclasses; i++)
        active_ports(&t->classes[i], *rails, a, rails);
    for (int i = 0, n; *rails && i < t->nclasses; i++)
        lists = arena_printf(a, "%s%s%s", lists, i ? "/" : "", active_ports(&t->classes[i], *rails, a, &n));
    return *rails ? lists : "-";
}

int verbs_worth(const struct bench_setup *s)
{
    struct arena *a = arena_new();
    struct mpirun m = {0};
    int rails;
    verbs_ports_of(s->topology, a, &rails);
    int worth = !mpirun_command(s, "", a, &m, NULL) && mpirun_attached_rank(NULL) == -1 && (m.nodes > 1 || rails > 1);
    arena_free(a);
    return worth;
}

static const char *choose_schedule(const struct verbs_task *o, int nodes)
{
    if (o->schedule)
        return o->schedule;
    if (o->brief)
        return nodes > 1 ? "brief-rails" : "brief-matrix";
    return nodes > 1 ? "rails" : "matrix";
}

static int command(const struct verbs_task *o, struct arena *a, struct mpirun *m, const char **what, struct err *e)
{
    struct bench_setup setup = o->setup;
    const char *worker = locate_program("nccltune-bench", a, e), *ports = o->ports;
    int rails = 1;
    if (!worker)
        return ERR_LACKS;
    if (mpirun_attached_rank(e) != -1)
        return err_set(e, ERR_USAGE, "the verbs engine starts mpirun itself: run it outside of mpirun and srun");
    for (const char *p = ports; p && *p && *p != '/'; p++)
        rails += *p == ',';
    if (!ports)
        ports = verbs_ports_of(o->setup.topology, a, &rails);
    setup.ranks_per_node = rails ? rails : 1;
    int code = mpirun_command(&setup, worker, a, m, e);
    if (code)
        return code;
    if (!rails && m->nodes < 2)
        return err_set(e, ERR_LACKS, "no RDMA port is active here; nccltune probe shows all of them");
    const char *schedule = choose_schedule(o, m->nodes);
    if (!strcmp(schedule, "matrix") && m->nodes > MATRIX_NODES)
        return err_set(e, ERR_USAGE, "a matrix of all pairs is for %d nodes at most, here are %d: say --schedule reach",
                       MATRIX_NODES, m->nodes);
    const char *more[] = {"--verbs", ports, arena_printf(a, "%d", VERBS_NCCL_NEWEST), schedule,
                          arena_printf(a, "%llu", (unsigned long long)o->sweep_bytes)};
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
    *what = arena_printf(a, "%s %s %d nodes", ports, schedule, m->nodes);
    return 0;
}

/* ---- what comes back ------------------------------------------------------------------------------------------------
 */

/* The first line: who takes part. An earlier run of the same journal had said it, too. */
static int take_nodes(struct collection *c, const char *line, const cJSON *o, struct err *e)
{
    int64_t nodes = json_int(o, "nodes", 0), rails = json_int(o, "rails", -1);
    if (nodes < 1 || nodes > 4096 || rails < 0 || rails > 64)
        return err_set(e, ERR_FAILED, "a fabric of %lld nodes with %lld ports each cannot be measured",
                       (long long)nodes, (long long)rails);
    if (!c->fabric) {
        c->fabric = verbs_fabric_new((int)nodes, (int)rails);
        c->nodes = arena_strdup(c->fabric->arena, line);
        return verbs_fabric_add_names(c->fabric, cJSON_GetObjectItemCaseSensitive(o, "names"), e);
    }
    return c->nodes && strcmp(c->nodes, line) != 0
               ? err_set(e, ERR_FAILED, "what was begun was measured on other nodes: %.300s", c->nodes)
               : 0;
}

static int add_again(struct verbs_fabric *f, const cJSON *o, struct err *e)
{
    int code = verbs_fabric_add_try(f, o, e);
    if (!code)
        verbs_fabric_repeated(f);
    return code;
}

/* What a line may report of the fabric, by its one member. */
static const struct {
    const char *key;
    int (*add)(struct verbs_fabric *f, const cJSON *o, struct err *e);
} reported[] = {{"try", verbs_fabric_add_try},        {"again", add_again},
                {"port", verbs_fabric_add_port},      {"interface", verbs_fabric_add_interface},
                {"gpu_memory", verbs_fabric_add_gpu}, {"point", verbs_fabric_add_point}};

/* One line of the worker's. */
static int take(struct collection *c, const char *line, struct err *e)
{
    cJSON *o = json_parse(line, strlen(line), "the worker", 0, e);
    const char *error = json_str(o, "error", NULL);
    int code = o ? 0 : ERR_FAILED;
    if (error)
        code = err_set(e, ERR_FAILED, "%s", error);
    else if (cJSON_HasObjectItem(o, "nodes"))
        code = take_nodes(c, line, o, e);
    for (size_t i = 0; !code && c->fabric && i < sizeof reported / sizeof *reported; i++) {
        const cJSON *member = cJSON_GetObjectItemCaseSensitive(o, reported[i].key);
        code = member ? reported[i].add(c->fabric, member, e) : 0;
    }
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

/* What an earlier run has learnt. Its words on interfaces are said anew. */
static int recall(struct collection *c, struct err *e)
{
    int code = 0;
    for (int i = 0; i < c->journal.nlines && !code; i++)
        code = take(c, c->journal.lines[i], e);
    if (c->fabric)
        c->fabric->ninterfaces = 0;
    return code;
}

/* … and reports it to the worker. */
static int remind(const struct collection *c, struct child *t, struct err *e)
{
    int gone = 0;
    for (int i = 0; c->fabric && i < c->fabric->ntries && !gone; i++) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToObject(o, "try", verbs_fabric_try_json(&c->fabric->tries[i]));
        char *line = cJSON_PrintUnformatted(o);
        gone = !line || child_say(t, line) || child_say(t, "\n");
        free(line);
        cJSON_Delete(o);
    }
    if (!gone && !child_say(t, "{\"go\": true}\n"))
        return 0;
    char why[BENCH_DETAIL];
    child_last_words(t, why);
    return err_set(e, ERR_FAILED, "the measurement %s", why);
}

/* What an interrupted run cannot do without. */
static int is_kept(const char *line)
{
    return !strncmp(line, "{\"try\"", 6) || !strncmp(line, "{\"again\"", 8) || !strncmp(line, "{\"nodes\"", 8);
}

/* Until the worker is done, fails, or time is over: that is no error once something has been measured. */
static int collect(struct collection *c, struct child *t, const struct verbs_task *o, struct progress *progress,
                   volatile sig_atomic_t *stop, struct err *e)
{
    char *line, why[BENCH_DETAIL];
    while (!c->done) {
        enum child_event event = child_next(t, c->began_s + o->budget_s, stop, &line);
        if (event == CHILD_LINE) {
            int known = c->nodes != NULL && !strncmp(line, "{\"nodes\"", 8), code = take(c, line, e);
            if (!code && is_kept(line) && !known)
                code = verbs_journal_add(&c->journal, line, e);
            if (code)
                return code;
            show(c, progress);
            continue;
        }
        if (event == CHILD_ENDED) {
            child_last_words(t, why);
            return err_set(e, ERR_FAILED, "the measurement %s", why);
        }
        if (c->fabric && c->fabric->ntries)
            return 0;
        return err_set(e, ERR_FAILED,
                       event == CHILD_STOPPED ? "interrupted" : "nothing was measured within the budget");
    }
    return 0;
}

struct verbs_fabric *verbs_run(const struct verbs_task *o, struct progress *progress, volatile sig_atomic_t *stop,
                               struct err *e)
{
    struct arena *a = arena_new();
    struct collection c = {.journal = {.fd = -1}, .began_s = progress_now_s()};
    struct mpirun m = {0};
    struct child child = {0};
    const char *what = "";
    int code = command(o, a, &m, &what, e);
    if (!code && o->journal)
        code = verbs_journal_open(&c.journal, o->journal, what, o->resume, a, e);
    if (!code)
        code = recall(&c, e);
    if (!code)
        code = child_start(&child, m.argv, m.env, e);
    if (!code) {
        code = remind(&c, &child, e);
        if (!code)
            code = collect(&c, &child, o, progress, stop, e);
        if (c.done)
            proc_ended(&child.proc, GRACE_S);
        child_end(&child, GRACE_S);
    }
    progress_clear(progress);
    verbs_journal_close(&c.journal, !code && c.done);
    arena_free(a);
    if (code) {
        verbs_fabric_free(c.fabric);
        return NULL;
    }
    c.fabric->complete = c.done;
    return c.fabric;
}
