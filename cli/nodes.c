/* Meeting copies, lists of nodes, and the way to each. */
#include "cli/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "bench/engines/engines.h"
#include "cli/cli.h"
#include "core/hostlist.h"
#include "core/locate.h"
#include "core/proc.h"
#include "core/progress.h"
#include "probe/cluster/cluster.h"
#include "probe/findings/findings.h"
#include "probe/source/probe.h"
#include "probe/topology/build.h"

#define DEADLINE_S  60.0 /* of one node; srun may have to wait for it */
#define SINFO_S     10.0
#define MOST_OUTPUT ((size_t)4 << 20)

int cli_nodes_meet(struct agents *agents, struct bench_setup *setup, const char *dir, const char *name,
                   volatile sig_atomic_t *stop, struct arena *a)
{
    struct err e = {0};
    int code = ERR_FAILED;
    switch (agents_meet(agents, setup, dir, stop, a, &code, &e)) {
    case AGENTS_CONDUCT:
        return -1;
    case AGENTS_SERVED:
        return code;
    case AGENTS_RANK: /* comes back only when it fails */
        bench_engine_mpi.measures->join(&e);
        return cli_fail(name, &e);
    default:
        return cli_fail(name, &e);
    }
}

/* ---- lists ---- */

int cli_nodes_measured(const struct bench_setup *setup, struct arena *a, struct cli_nodes *nodes, struct err *e)
{
    struct places p;
    int rc = places_find(setup, a, &p, e);
    if (rc)
        return rc;
    *nodes = (struct cli_nodes){.names = p.hosts, .n = p.nodes, .here = p.here};
    if (!p.hosts && !nodes->here)
        return err_set(e, ERR_USAGE, "this allocation of %d nodes does not name them: use --hosts", p.nodes);
    return 0;
}

/* Ask sinfo for nodes: of a partition, or all with NULL. Errors: no sinfo, or it fails. */
static int ask_sinfo(const char *partition, struct arena *a, struct cli_nodes *nodes, struct err *e)
{
    const char *argv[] = {"sinfo", "-h", "-N", "-o", "%N", partition ? "-p" : NULL, partition, NULL};
    char why[PROC_STATUS_TEXT];
    int status;
    const char *list = proc_output(argv, NULL, MOST_OUTPUT, SINFO_S, a, &status, e);
    if (!list)
        return e->code;
    if (status)
        return err_set(e, ERR_FAILED, "%s %s", argv[0], proc_status_text(status, why));
    if (list[strspn(list, " \t\r\n")])
        return hostlist_parse(list, "sinfo", a, &nodes->names, &nodes->n, e);
    return err_set(e, ERR_USAGE, "--serve: Slurm knows no partition '%s', or it has no nodes", partition);
}

int cli_nodes_served(const char *text, struct arena *a, struct cli_nodes *nodes, struct err *e)
{
    static const char partition[] = "partition=";
    *nodes = (struct cli_nodes){0};
    if (strncmp(text, partition, sizeof partition - 1) != 0)
        return hostlist_parse(text, "--serve", a, &nodes->names, &nodes->n, e);
    nodes->partition = text + sizeof partition - 1;
    return ask_sinfo(nodes->partition, a, nodes, e);
}

const char *cli_nodes_of_cluster(struct arena *a)
{
    struct cli_nodes all = {0};
    struct err none = {0};
    if (!locate_in_path("sinfo", a) || ask_sinfo(NULL, a, &all, &none))
        return NULL;
    for (int i = 0; i < all.n; i++) {
        struct cli_nodes here;
        if (!cli_nodes_measured(&(struct bench_setup){.hosts = all.names[i]}, a, &here, &none) && here.here)
            return NULL;
    }
    return hostlist_fold(all.names, all.n, a);
}

/* ---- the way ---- */

/* A small job of its own, wherever this runs. A node that is busy does not answer in time. */
#define JOB                                                                                              \
    "env -u SLURM_JOB_ID -u SLURM_JOBID -u SLURM_JOB_NODELIST -u SLURM_NODELIST -u SLURM_JOB_NUM_NODES " \
    "-u SLURM_NNODES -u SLURM_NTASKS -u SLURM_NPROCS -u SLURM_NTASKS_PER_NODE -u SLURM_TASKS_PER_NODE "  \
    "-u SLURM_STEP_ID -u SLURM_STEPID -u SLURM_GPUS -u SLURM_GPUS_PER_NODE "                             \
    "srun -Q -N1 -n1 --mpi=none --export=ALL --immediate=30"

/* Return what is called as COMMAND HOST ...; `*bare`: it starts programs, not lines for a shell. */
static const char *choose_command(const struct bench_setup *s, const struct cli_nodes *nodes, struct arena *a,
                                  int *bare)
{
    const char *job = getenv("SLURM_JOB_ID"), *ssh = s->ssh ? s->ssh : getenv("NCCLTUNE_SSH");
    const char *launcher = s->launcher ? s->launcher : "auto";
    int any = !strcmp(launcher, "auto");
    int mpirun = !strcmp(launcher, "mpirun") || (any && (s->mpirun || s->mpirun_args));
    int srun = !strcmp(launcher, "srun") || (any && !mpirun && job && *job);
    *bare = 1;
    if (nodes->partition)
        return arena_printf(a, JOB " -p %s -w", nodes->partition);
    if (mpirun)
        return arena_printf(a, "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 %s %s -np 1 -H",
                            s->mpirun ? s->mpirun : "mpirun", s->mpirun_args ? s->mpirun_args : "");
    if (srun && locate_in_path("srun", a))
        return JOB " -w";
    *bare = 0;
    return ssh && *ssh ? ssh : NULL;
}

/* Probe this machine by way of its document, as every node: its findings stay with the host. */
static struct topology *probe_here(struct log *log, struct err *e)
{
    struct topology *t = probe_machine(log, e), *copy = NULL;
    if (t) {
        findings_attach(t);
        copy = topo_copy(t, e);
    }
    topo_free(t);
    return copy;
}

/* Name the agents' hosts. What was asked for by a name is called that. */
static const char **name_hosts(const struct cli_nodes *nodes, const struct agents *agents, struct arena *a)
{
    const char **names = arena_alloc(a, ((size_t)agents->count + 1) * sizeof *names);
    for (int i = 0; i < agents->count; i++)
        names[i] = agents->items[i].host;
    for (int k = 0; nodes->names && k < nodes->n; k++) {
        int i = agents_find(agents, nodes->names[k]);
        if (i >= 0)
            names[i] = nodes->names[k];
    }
    return names;
}

/* Have each node probe itself. A node that cannot gets no work afterwards. */
static struct topology *probe_by_agents(struct bench_setup *setup, const struct cli_nodes *nodes, struct log *log,
                                        volatile sig_atomic_t *stop, struct arena *a, struct err *e)
{
    struct agents *lent = setup->lent;
    struct agents agents;
    const char *argv[] = {"{bin}/nccltune", "probe", "--json", NULL};
    struct topology *t = NULL;
    if (agents_open(&agents, setup, DEADLINE_S, stop, e))
        return NULL;
    struct agents_answer *said = agents_run(&agents, argv, progress_now_s() + DEADLINE_S, stop, a, e);
    struct cluster_answer *answers =
        arena_alloc(a, ((size_t)agents.count + (size_t)lent->nabsent + 1) * sizeof *answers);
    const char **names = name_hosts(nodes, &agents, a);
    for (int i = 0; said && i < agents.count; i++) {
        answers[i] = (struct cluster_answer){.host = names[i], .text = said[i].output, .bytes = said[i].bytes};
        if (said[i].lost || said[i].status)
            answers[i].why = arena_strdup(a, said[i].errors);
    }
    int asked = agents.count;
    for (int i = 0; i < lent->nabsent; i++)
        answers[agents.count + i] = (struct cluster_answer){.host = lent->absent[i].host, .why = lent->absent[i].why};
    if (said)
        t = cluster_merge(answers, agents.count + lent->nabsent, log, e);
    for (int i = 0; i < asked; i++)
        names[i] = arena_strdup(a, names[i]);
    agents_close(&agents);
    for (int i = 0; t && i < asked; i++)
        if (answers[i].why)
            agents_leave_out(lent, setup, names[i], answers[i].why);
    return t;
}

struct topology *cli_nodes_probe(struct agents *agents, struct bench_setup *setup, const struct cli_nodes *nodes,
                                 struct log *log, volatile sig_atomic_t *stop, struct arena *a, struct err *e)
{
    if (!nodes->here || setup->lent)
        return agents_lend(agents, setup, DEADLINE_S, stop, a, e) ? NULL
                                                                  : probe_by_agents(setup, nodes, log, stop, a, e);
    struct topology *t = probe_here(log, e);
    if (t && nodes->names) /* as the user or Slurm calls it */
        t->hosts[0].name = arena_strdup(t->arena, nodes->names[0]);
    return t;
}

int cli_nodes_drop(struct topology *t, const char *name, const char *why)
{
    int at = topo_find_host(t, name), last = t->nhosts - 1;
    if (at < 0)
        return 0;
    build_missing(t, t->hosts[at].name, why);
    memmove(&t->hosts[at], &t->hosts[at + 1], (size_t)(last - at) * sizeof *t->hosts);
    t->nhosts = last;
    return 1;
}

int cli_nodes_drop_lost(struct agents *agents, struct bench_setup *setup, struct topology *t, struct log *log,
                        struct arena *a)
{
    int before = t->nhosts, n = 0;
    for (int i = 0; i < before; i++)
        n += !t->hosts[i].served;
    for (int i = before - 1; i >= 0; i--) {
        const char *name = t->hosts[i].name, *why = agents_gone(agents, name);
        if (t->hosts[i].served || !why || --n < 1)
            continue;
        name = arena_strdup(a, name);
        why = arena_strdup(a, why);
        agents_leave_out(agents, setup, name, why);
        cli_nodes_drop(t, name, why);
        log_warn(log, "%s is left out: %s", name, why);
    }
    return before - t->nhosts;
}

struct topology *cli_nodes_ask(const struct bench_setup *setup, const struct cli_nodes *nodes,
                               const volatile sig_atomic_t *stop, struct err *e)
{
    struct arena *a = arena_new();
    struct cluster_ask ask = {.hosts = nodes->names, .nhosts = nodes->n, .deadline_s = DEADLINE_S, .parallel = 128};
    ask.agent = choose_command(setup, nodes, a, &ask.without_shell);
    struct topology *t = cluster_gather(&ask, NULL, stop, e);
    arena_free(a);
    return t;
}
