/* Which nodes are meant: by the user, by agents that are lent, by a job's file, by Flux, by Slurm. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/launch/launch_internal.h"
#include "core/hostlist.h"
#include "core/proc.h"
#include "core/units.h"

#define FLUX_S    10.0
#define FLUX_MOST ((size_t)1 << 20)

static const char *first_variable(const char *const *names)
{
    for (; *names; names++) {
        const char *text = getenv(*names);
        if (text && *text)
            return text;
    }
    return NULL;
}

const char *places_mpirun_file(void)
{
    /* Set in the launcher of an MPIJob by Kubeflow's operator, for OpenMPI 4 and 5. */
    static const char *const names[] = {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile",
                                        "PBS_NODEFILE", NULL};
    return first_variable(names);
}

static int count_slurm_nodes(void)
{
    static const char *const names[] = {"SLURM_JOB_NUM_NODES", "SLURM_NNODES", NULL};
    const char *text = first_variable(names);
    long n;
    return text && !unit_parse_int(text, 1, 1 << 20, &n, "", NULL) ? (int)n : 0;
}

/* Ask Flux for the nodes of the instance that this process runs in; NULL: none. */
static const char *ask_flux(struct arena *a)
{
    static const char *const ask[] = {"flux", "getattr", "hostlist", NULL};
    const char *uri = getenv("FLUX_URI");
    int status = 0;
    const char *list = uri && *uri ? proc_output(ask, NULL, FLUX_MOST, FLUX_S, a, &status, NULL) : NULL;
    return status ? NULL : list;
}

static int find_hosts(const struct bench_setup *setup, struct arena *a, struct places *p, struct err *e)
{
    static const char *const lists[] = {"SLURM_JOB_NODELIST", "SLURM_NODELIST", NULL};
    static const char *const lsf[] = {"LSB_DJOB_HOSTFILE", NULL};
    const char *nodelist = first_variable(lists), *file = places_mpirun_file(), *flux;
    int nodes = count_slurm_nodes();
    file = file ? file : first_variable(lsf);
    *p = (struct places){.said = setup->hosts || setup->hostfile};
    if (setup->hosts)
        return hostlist_parse(setup->hosts, "--hosts", a, &p->hosts, &p->nodes, e);
    if (setup->hostfile)
        return hostlist_read(setup->hostfile, a, &p->hosts, &p->nodes, e);
    if (setup->lent) {
        p->hosts = arena_alloc(a, ((size_t)setup->lent->count + 1) * sizeof *p->hosts);
        for (; p->nodes < setup->lent->count; p->nodes++)
            p->hosts[p->nodes] = arena_strdup(a, setup->lent->items[p->nodes].host);
        p->given = 1;
        return 0;
    }
    if (!nodes && file && !hostlist_read(file, a, &p->hosts, &p->nodes, NULL)) {
        p->given = 1;
        return 0;
    }
    if (!nodes && (flux = ask_flux(a)) && !hostlist_parse(flux, "", a, &p->hosts, &p->nodes, NULL)) {
        p->given = 1;
        return 0;
    }
    if (!nodelist || hostlist_parse(nodelist, "", a, &p->hosts, &p->nodes, NULL) || p->nodes != nodes)
        p->hosts = NULL;
    p->nodes = nodes ? nodes : 1;
    p->given = nodes > 0;
    return 0;
}

/* Return whether `host` is this machine. */
static int is_here(const char *host)
{
    char name[HOST_NAME_MAX + 1] = "";
    const char *slurm = getenv("SLURMD_NODENAME");
    gethostname(name, sizeof name - 1);
    size_t to_dot = strcspn(name, ".");
    return !strcmp(host, name) || !strcmp(host, "localhost") || (slurm && !strcmp(host, slurm)) ||
           (strlen(host) == to_dot && !strncmp(host, name, to_dot));
}

int places_find(const struct bench_setup *setup, struct arena *a, struct places *p, struct err *e)
{
    int rc = find_hosts(setup, a, p, e);
    p->here = !rc && p->nodes == 1 && (!p->hosts || is_here(p->hosts[0]));
    return rc;
}

int places_count(const struct bench_setup *setup, struct err *e)
{
    struct arena *a = arena_new();
    struct places where;
    int rc = places_find(setup, a, &where, e);
    arena_free(a);
    return rc ? 0 : where.nodes;
}

int places_need_no_launcher(const struct bench_setup *setup)
{
    struct arena *a = arena_new();
    struct places where;
    int here = !setup->launcher && !places_find(setup, a, &where, NULL) && where.here;
    arena_free(a);
    return here;
}
