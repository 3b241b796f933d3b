/* The worker of the verbs engine: start and end. Every rank owns one port and runs the same schedule; the out-of-band
 * way between two ports is MPI. */
#include "bench/nccltune-bench/verbs.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/nccltune-bench/verbs_internal.h"
#include "core/json.h"
#include "core/units.h"

/* Who is where: ranks of one node in the order of its ports. */
static int find_places(struct worker *w, struct who *mine, int nports, struct err *e)
{
    MPI_Comm node;
    int leader = w->rank, smallest, local, on_node;
    MPI_Comm_split_type(w->comm, MPI_COMM_TYPE_SHARED, w->rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local);
    MPI_Comm_size(node, &on_node);
    MPI_Allreduce(&leader, &smallest, 1, MPI_INT, MPI_MIN, node);
    MPI_Comm_free(&node);
    int *leaders = arena_alloc(w->arena, (size_t)w->ranks * sizeof *leaders);
    MPI_Allgather(&smallest, 1, MPI_INT, leaders, 1, MPI_INT, w->comm);
    mine->rail = local;
    for (int i = 0; i < w->ranks; i++) {
        w->nodes += leaders[i] == i;
        mine->node_index += i < smallest && leaders[i] == i;
    }
    w->rails = nports;
    int wrong = on_node != (nports ? nports : 1), any;
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, w->comm);
    return any ? err_set(e, ERR_USAGE, "there must be one rank for each of a node's %d ports on every node", nports)
               : 0;
}

/* Opens "mlx5_0:1" as this rank's port. That it cannot be opened is no error: every try with it fails for this reason.
 */
static int open_port(struct worker *w, struct who *mine, const char *name, struct err *e)
{
    char hca[80];
    long port;
    struct err why = {0};
    const char *colon = strrchr(name, ':');
    if (!colon || (size_t)(colon - name) >= sizeof hca)
        return err_set(e, ERR_USAGE, "'%s' is no port such as mlx5_0:1", name);
    snprintf(hca, sizeof hca, "%.*s", (int)(colon - name), name);
    if (unit_parse_int(colon + 1, 1, 255, &port, "a port's number", e))
        return ERR_USAGE;
    w->port = verbs_port_open(w->arena, mine->node, hca, (int)port, &why);
    snprintf(mine->port, sizeof mine->port, "%s", name);
    if (!w->port)
        snprintf(mine->failure, sizeof mine->failure, "%s: %.*s", mine->node, (int)sizeof mine->failure - 70, why.text);
    else
        mine->rate_Gbps = verbs_port_rate_Gbps(w->port);
    return 0;
}

/* Whether all ranks are well; the first unlucky one's sentence on all of them otherwise. */
static int all_well(struct worker *w, int code, struct err *e)
{
    int mine = code ? w->rank : w->ranks, first;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, w->comm);
    if (first == w->ranks)
        return 0;
    MPI_Bcast(e, sizeof *e, MPI_BYTE, first, w->comm);
    return e->code ? e->code : ERR_FAILED;
}

/* The ports of this node: the first of the lists "mlx5_0:1,mlx5_1:1/bnxt_re0:1,bnxt_re1:1" whose devices are all here,
 * else the first. Classes of nodes differ in the names. "-": no ports. Returns their number. */
static int pick_ports(struct worker *w, const char *lists, const char *ports[64])
{
    char *copy = arena_strdup(w->arena, lists), *rest = NULL, *picked = NULL, *first = NULL;
    int n = 0;
    for (char *list = strtok_r(copy, "/", &rest); list; list = strtok_r(NULL, "/", &rest)) {
        first = first ? first : list;
        picked = picked ? picked : verbs_port_all_here(list) ? list : NULL;
    }
    picked = picked ? picked : first;
    if (!picked || !strcmp(picked, "-"))
        return 0;
    for (char *p = strtok_r(picked, ",", &rest); p && n < 64; p = strtok_r(NULL, ",", &rest))
        ports[n++] = p;
    return n;
}

static int prepare(struct worker *w, int argc, char **argv, struct err *e)
{
    struct who mine = {.node_index = 0};
    const char *ports[64];
    long nccl = 0, sweep = 0;
    if (argc != 4 || unit_parse_int(argv[1], 0, 1000000, &nccl, "NCCL's version", e) ||
        unit_parse_int(argv[3], 0, 1 << 30, &sweep, "the sweep's end", e))
        return err_set(e, ERR_USAGE, "nccltune-bench --verbs PORTS NCCL SCHEDULE SWEEP is started by nccltune bench");
    w->nccl = (int)nccl;
    w->sweep_bytes = (uint64_t)sweep;
    gethostname(mine.node, sizeof mine.node - 1);
    int nports = pick_ports(w, argv[0], ports), code = find_places(w, &mine, nports, e);
    if (code)
        return code;
    code = all_well(w, nports ? open_port(w, &mine, ports[mine.rail], e) : 0, e);
    if (code)
        return code;
    w->all = arena_alloc(w->arena, (size_t)w->ranks * sizeof *w->all);
    w->round = arena_alloc(w->arena, (size_t)w->ranks * sizeof *w->round);
    w->rank_of = arena_alloc(w->arena, (size_t)w->ranks * sizeof *w->rank_of);
    w->records = arena_alloc(w->arena, (size_t)w->ranks * sizeof *w->records);
    worker_gather(w, &mine, w->all, sizeof mine);
    int alive = !nports;
    for (int i = 0; i < w->ranks; i++) {
        w->rank_of[nports ? w->all[i].node_index * w->rails + w->all[i].rail : i] = i;
        alive += !w->all[i].failure[0];
    }
    return alive ? 0 : err_set(e, ERR_LACKS, "%s", w->all[0].failure);
}

/* The first line: who takes part. An earlier run can be gone on with where it is the same. */
static void report_nodes(const struct worker *w)
{
    cJSON *o = cJSON_CreateObject(), *names = cJSON_CreateArray();
    cJSON_AddNumberToObject(o, "nodes", w->nodes);
    cJSON_AddNumberToObject(o, "rails", w->rails);
    for (int i = 0; i < w->ranks; i++)
        if (!w->all[i].rail)
            cJSON_AddItemToArray(names, cJSON_CreateString(w->all[i].node));
    cJSON_AddItemToObject(o, "names", names);
    worker_say(w, o);
}

static const struct plan {
    const char *name;
    enum verbs_plan plan, then; /* `then` briefly, unless it is the same */
    int brief;                  /* the first, too */
    int skip_dead;              /* in the first: not where a port can reach few others only */
} plans[] = {{"rails", VERBS_PLAN_RAILS, VERBS_PLAN_CROSS, 0, 1},
             {"reach", VERBS_PLAN_RAILS, VERBS_PLAN_REACH, 0, 1},
             {"matrix", VERBS_PLAN_MATRIX, VERBS_PLAN_MATRIX, 0, 0},
             {"brief-rails", VERBS_PLAN_RAILS, VERBS_PLAN_RAILS, 1, 1},
             {"brief-matrix", VERBS_PLAN_MATRIX, VERBS_PLAN_MATRIX, 1, 1}};

static void run_plan(struct worker *w, const struct plan *p)
{
    const struct verbs_schedule *first = verbs_schedule_make(w->arena, p->plan, w->nodes, w->rails);
    const struct verbs_schedule *then = verbs_schedule_make(w->arena, p->then, w->nodes, w->rails);
    int rest = p->then == p->plan ? 0 : then->nrounds;
    worker_schedule(w, first, p->brief, p->skip_dead, 0, first->nrounds + rest);
    if (rest)
        worker_schedule(w, then, 1, 1, first->nrounds, first->nrounds + rest);
    worker_repeat_slow(w);
    worker_resolve(w, p->brief);
    if (!p->brief)
        worker_gpus(w, first);
    if (w->sweep_bytes)
        worker_sweep(w, first, w->sweep_bytes);
    verbs_report_ports(w);
}

static int run_all(struct worker *w, const char *name, struct err *e)
{
    const struct plan *p = NULL;
    for (size_t i = 0; i < sizeof plans / sizeof *plans && !p; i++)
        p = strcmp(plans[i].name, name) ? NULL : &plans[i];
    if (!p)
        return err_set(e, ERR_USAGE, "'%s' is no schedule: rails, reach, matrix", name);
    int code = worker_recall(w, e);
    if (code)
        return code;
    if (w->nodes > 1)
        verbs_report_interfaces(w);
    if (w->rails)
        run_plan(w, p);
    return 0;
}

int worker_verbs(int argc, char **argv)
{
    struct worker w = {.arena = arena_new()};
    struct err e = {0};
    MPI_Init(NULL, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &w.comm);
    MPI_Comm_rank(w.comm, &w.rank);
    MPI_Comm_size(w.comm, &w.ranks);
    int code = prepare(&w, argc, argv, &e);
    if (!code) {
        report_nodes(&w);
        code = run_all(&w, argv[2], &e);
    }
    worker_say_inside(&w, code ? "error" : "done", code ? cJSON_CreateString(e.text) : cJSON_CreateTrue());
    verbs_port_close(w.port);
    MPI_Comm_free(&w.comm);
    MPI_Finalize();
    arena_free(w.arena);
    return code;
}
