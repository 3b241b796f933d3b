/* From nodes to parts: who is there, who goes together, which engine measures them, what it would do. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/engines/engines.h"
#include "cli/measure.h"
#include "cli/tune.h"
#include "core/json.h"
#include "core/vars/text.h"
#include "probe/findings/findings.h"
#include "probe/topology/build.h"
#include "slurm/hook.h"

int tune_predicts(const struct tune *t)
{
    int named = !t->choose && bench_evidence_of(t->bench.engine) == BENCH_PREDICTED;
    return t->machine.name || t->machine.from.count || (t->machine.topology && (t->machine.nodes.count || named));
}

/* ---- who is there ------------------------------------------------------------------------------------------------ */

/* Of a topology.json the nodes that are named on the command line or allocated, or all of it. */
static int take_file(struct tune *t, struct cli_nodes *nodes, struct err *e)
{
    int n = 0, named = t->bench.setup.hosts || t->bench.setup.hostfile || getenv("SLURM_JOB_ID");
    struct topology *file = cli_machine_open(&t->machine, &t->log, e);
    if (!file)
        return e->code;
    int *which = arena_alloc(t->arena, ((size_t)file->nhosts + (size_t)nodes->n + 1) * sizeof *which), rc = 0;
    for (int i = 0; i < file->nhosts && !(named && nodes->names); i++)
        if (!file->hosts[i].served)
            which[n++] = i;
    for (int i = 0; i < nodes->n && named && nodes->names && !rc; i++) {
        which[n] = topo_find_host(file, nodes->names[i]);
        if (which[n++] < 0)
            rc = err_set(e, ERR_USAGE, "%s: does not know the node %s", t->machine.topology, nodes->names[i]);
    }
    struct topology *some = rc ? NULL : topo_select(file, which, n);
    t->all = some ? topo_copy(some, e) : NULL; /* the selection ends with the file */
    if (some && !t->all)
        rc = e->code;
    topo_free(some);
    topo_free(file);
    nodes->here = 0;
    return rc;
}

/* The memory of a cluster's login node is not what anybody wants to measure. */
static int check_login_node(const struct tune *t, struct err *e)
{
    const char *nodes = !t->choose || t->bench.setup.launcher || getenv("SLURM_JOB_ID") || topo_measured_gpus(t->all)
                            ? NULL
                            : cli_nodes_of_cluster(t->arena);
    return !nodes ? 0
                  : err_set(e, ERR_LACKS,
                            "this machine has no GPU and is not a node of its Slurm cluster, %s: use `salloc -N4 "
                            "nccltune tune -o %s` or --hosts (--engine mpi measures this machine)",
                            nodes, env_shell_word(t->arena, t->generate.out));
}

static int find_nodes(struct tune *t, struct cli_nodes *nodes, struct err *e)
{
    int rc = cli_nodes_measured(&t->bench.setup, t->arena, nodes, e);
    if (rc || t->machine.topology)
        return rc ? rc : take_file(t, nodes, e);
    if (nodes->here)
        log_info(&t->detail, "probing this machine");
    else
        log_info(&t->log, "probing %d nodes", nodes->n);
    t->all = cli_nodes_probe(&t->agents, &t->bench.setup, nodes, &t->detail, t->stop, t->arena, e);
    return !t->all ? e->code : nodes->here && !nodes->names ? check_login_node(t, e) : 0;
}

/* ---- the parts --------------------------------------------------------------------------------------------------- */

/* The profile of the nodes that matter most is the one that was asked for; others stand beside it, by a class's name.
 */
static void name_part(struct tune *t, struct tune_part *p, const char *name)
{
    p->generate = t->generate;
    p->bench = t->bench;
    if (name)
        p->generate.out = arena_printf(t->arena, "%s-%s", t->generate.out, name);
    p->file = arena_printf(t->arena, "%s/topology.json", p->generate.out);
    p->bench.results = arena_printf(t->arena, "%s/results.jsonl", p->generate.out);
}

static const char *class_hash(const struct topology *t, int host, char hex[SHA256_HEX])
{
    topo_class_hash(&t->classes[t->hosts[host].class_index], hex);
    return hex;
}

/* What was begun goes on with the nodes that it was begun with, if these are what they were. */
static int adopt(struct tune_part *p, struct err *e)
{
    char now[SHA256_HEX], then[SHA256_HEX];
    struct topology *begun = topo_load(p->file, e);
    int n = 0, rc = 0;
    if (!begun)
        return e->code;
    for (int i = 0; !rc && i < begun->nhosts; i++) {
        int at = topo_find_host(p->topology, begun->hosts[i].name);
        if (begun->hosts[i].served)
            continue;
        if (at < 0)
            rc = err_set(e, ERR_FAILED,
                         "%s: the incomplete run has node %s, which is left out now (--force starts again)",
                         p->generate.out, begun->hosts[i].name);
        else if (strcmp(class_hash(begun, i, then), class_hash(p->topology, at, now)) != 0)
            rc =
                err_set(e, ERR_FAILED, "%s: the incomplete run has another topology than %s now (--force starts again)",
                        p->generate.out, begun->hosts[i].name);
        begun->hosts[n++] = begun->hosts[i];
    }
    if (rc) {
        topo_free(begun);
        return rc;
    }
    begun->nhosts = n;
    begun->nmissing = 0;
    topo_free(p->topology);
    p->topology = begun;
    return 0;
}

void tune_name_hosts(struct tune *t, struct tune_part *p)
{
    int n;
    p->bench.setup.hosts = topo_hosts(p->topology, -1, 0, t->arena, &n);
    p->bench.setup.hostfile = NULL;
}

/* Unless it finds all of them by itself. */
static void set_hosts(struct tune *t, struct tune_part *p, const struct cli_nodes *nodes)
{
    int n;
    topo_hosts(p->topology, -1, 0, t->arena, &n);
    if (!nodes->here && (t->machine.topology || n != nodes->n))
        tune_name_hosts(t, p);
}

int tune_drop(struct tune *t, struct tune_part *p, const char *name, const char *why)
{
    int dropped = cli_nodes_drop(p->topology, name, why);
    if (dropped)
        tune_name_hosts(t, p);
    return dropped;
}

static int make_parts(struct tune *t, const struct cli_nodes *nodes, struct err *e)
{
    int rc = 0;
    t->groups = cluster_groups_of(t->all, t->arena);
    if (!t->groups.n)
        return err_set(e, ERR_FAILED, "there is no node to measure: %s: %s", t->groups.left.list[0].name,
                       t->groups.left.list[0].why);
    t->parts = arena_alloc(t->arena, (size_t)t->groups.n * sizeof *t->parts);
    for (int i = 0; i < t->groups.n && !rc; i++) {
        const struct cluster_group *g = &t->groups.list[i];
        struct tune_part *p = &t->parts[t->nparts++];
        name_part(t, p, i ? g->name : NULL);
        p->bench.budget_s /= t->groups.n;
        p->topology = topo_select(t->all, g->hosts, g->nhosts);
        if (t->resume && !access(p->file, F_OK))
            rc = adopt(p, e);
        if (!rc)
            set_hosts(t, p, nodes);
        for (int k = 0; k < t->groups.left.n && !rc && !i; k++)
            build_missing(p->topology, t->groups.left.list[k].name, t->groups.left.list[k].why);
    }
    return rc;
}

/* A machine that is only described is one part as it is. */
static int describe(struct tune *t, struct err *e)
{
    t->all = cli_machine_open(&t->machine, &t->log, e);
    if (!t->all)
        return e->code;
    t->parts = ARENA_NEW(t->arena, struct tune_part);
    t->nparts = 1;
    name_part(t, t->parts, NULL);
    return 0;
}

/* ---- who is served ----------------------------------------------------------------------------------------------- */

/* Every part takes those that it has a class for. */
static void join(struct tune *t, const struct topology *probed)
{
    struct cluster_served last = {0};
    for (int i = 0; i < t->nparts; i++)
        last = cluster_serve(t->parts[i].topology, probed, t->arena);
    t->unserved.arena = t->arena;
    for (int i = 0; i < last.out.n; i++) {
        int joined = 0;
        for (int k = 0; k < t->nparts; k++)
            joined |= topo_find_host(t->parts[k].topology, last.out.list[i].name) >= 0;
        if (!joined)
            cluster_leave_out(&t->unserved, arena_strdup(t->arena, last.out.list[i].name),
                              arena_strdup(t->arena, last.out.list[i].why));
    }
}

static int serve(struct tune *t, struct err *e)
{
    struct cli_nodes nodes;
    int n = 0, rc = cli_nodes_served(t->serve, t->arena, &nodes, e);
    for (int i = 0; !rc && i < nodes.n; i++)
        if (topo_find_host(t->all, nodes.names[i]) < 0)
            nodes.names[n++] = nodes.names[i];
    nodes.n = n;
    if (rc || !n)
        return rc;
    log_info(&t->log, "probing %d more nodes, to be served", n);
    struct topology *probed = cli_nodes_ask(&t->bench.setup, &nodes, t->stop, e);
    if (!probed)
        return e->code;
    join(t, probed);
    topo_free(probed);
    return 0;
}

/* ---- what measures ----------------------------------------------------------------------------------------------- */

static const char *reason(const struct tune *t, const struct tune_part *p)
{
    int gpus = p->topology ? topo_measured_gpus(p->topology) : 0;
    if (!t->choose)
        return "as --engine says";
    return bench_evidence_of(p->bench.engine) == BENCH_ON_GPUS
               ? arena_printf(t->arena, "these nodes have %d GPUs", gpus)
               : arena_printf(t->arena, "these nodes have %s: results are not about GPUs",
                              gpus ? "one GPU in all" : "no GPU");
}

/* What the engine is, and what follows from it. */
static int resolve_defaults(struct tune *t, struct tune_part *p, struct err *e)
{
    if (t->choose)
        p->bench.engine = bench_engine_for(p->topology ? p->topology : t->all, tune_predicts(t))->name;
    int predicts = bench_evidence_of(p->bench.engine) == BENCH_PREDICTED;
    p->bench.setup.nodes = t->machine.nodes.items;
    p->bench.setup.nnodes = t->machine.nodes.count;
    if (tune_predicts(t) && !predicts)
        return err_set(e, ERR_USAGE, "--engine %s measures, but this machine is only described", p->bench.engine);
    if (t->machine.nodes.count && !predicts)
        return err_set(e, ERR_USAGE, "--nodes is for predictions; --hosts names the nodes that are measured");
    if (!predicts)
        p->because = reason(t, p);
    return cli_measure_resolve_defaults(&p->bench, &t->releases, e);
}

/* Wrong options are found while an old profile is still there. What the machine lacks is an error only where it would
 * cost measurements that cannot be had again. */
static int make_plan(const struct tune *t, struct tune_part *p, struct err *e)
{
    struct bench_options o = p->bench;
    if (t->resume && o.budget_open && (p->left_s = bench_journal_left_s(o.results)) > 0) {
        o.budget_open = 0;
        o.budget_s = p->left_s;
    }
    p->plan = bench_plan_json(&o, p->topology, NULL, e);
    if (p->plan || e->code != ERR_LACKS || (t->generate.force && !access(p->bench.results, F_OK)))
        return p->plan ? 0 : e->code;
    *e = (struct err){0};
    return 0;
}

/* Ranks of MPI that a launcher has put on all nodes measure on all of them, or not at all. */
static int check_ranks(const struct tune *t, const struct tune_part *p, struct err *e)
{
    int n;
    const char *hosts = topo_hosts(p->topology, -1, 0, t->arena, &n);
    if (!t->agents.copies || !bench_engine_has_ranks(bench_engine_find(p->bench.engine)) ||
        n == t->agents.copies->nodes)
        return 0;
    const char *why = t->nparts > 1 ? arena_printf(t->arena, "these are %d kinds that do not go together", t->nparts)
                                    : arena_printf(t->arena, "%s is left out: %s", t->groups.left.list[0].name,
                                                   t->groups.left.list[0].why);
    return err_set(e, ERR_USAGE,
                   "host memory is measured by MPI ranks, which %s has started on %d nodes, and %s: start it on %s "
                   "only, or one copy with --hosts %s",
                   t->agents.copies->launcher, t->agents.copies->nodes, why, hosts, hosts);
}

int tune_look(struct tune *t, struct err *e)
{
    struct cli_nodes nodes = {0};
    int rc = tune_predicts(t) ? describe(t, e) : find_nodes(t, &nodes, e);
    if (!rc && tune_predicts(t)) {
        t->parts->topology = t->all;
        t->all = NULL;
    } else if (!rc) {
        rc = make_parts(t, &nodes, e);
    }
    if (!rc && t->serve)
        rc = serve(t, e);
    for (int i = 0; i < t->nparts && !rc; i++) {
        findings_attach(t->parts[i].topology);
        if (t->parts[i].topology->nclasses > HOOK_CLASSES)
            return err_set(
                e, ERR_LACKS,
                "the nodes are of %d kinds, and a profile can have at most %d: measure fewer kinds at a time (--hosts)",
                t->parts[i].topology->nclasses, HOOK_CLASSES);
        rc = resolve_defaults(t, &t->parts[i], e);
        if (!rc)
            rc = check_ranks(t, &t->parts[i], e);
        if (!rc)
            rc = make_plan(t, &t->parts[i], e);
    }
    return rc;
}

void tune_forget(struct tune *t)
{
    for (int i = 0; i < t->nparts; i++) {
        cJSON_Delete(t->parts[i].plan);
        topo_free(t->parts[i].topology);
    }
    topo_free(t->all);
}
