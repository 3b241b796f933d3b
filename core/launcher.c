/* One table of variables. */
#include "core/launcher.h"

#include <stdlib.h>

#define MOST_RANKS (1 << 24)

/* torchrun first, which srun often starts once a node; PMI before Slurm, which may have started mpirun's own daemons.
 */
static const struct {
    const char *name, *rank, *ranks, *local, *per_node, *nodes, *job;
} launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", "", "PMIX_NAMESPACE"},
    {"mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "", "HYDI_CONTROL_FD"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE", "SLURM_STEP_NUM_NODES",
     "SLURM_JOB_ID"},
};

const char *launcher_environment(const void *arg, const char *name)
{
    (void)arg;
    return getenv(name);
}

int launcher_number(const char *text)
{
    int value = 0;
    for (const char *c = text; c && *c; c++) {
        if (*c < '0' || *c > '9')
            return -1;
        value = value * 10 + (*c - '0');
        if (value > MOST_RANKS)
            return -1;
    }
    return text && *text ? value : -1;
}

int launcher_find(launcher_get *get, const void *arg, struct launcher_rank *found)
{
    int any = 0;
    get = get ? get : launcher_environment;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        int rank = launcher_number(get(arg, launchers[i].rank)), ranks = launcher_number(get(arg, launchers[i].ranks));
        if (rank < 0 || ranks <= rank)
            continue;
        if (!any++)
            *found = (struct launcher_rank){.launcher = launchers[i].name, .rank = rank, .ranks = ranks, .local = -1};
        if (rank != found->rank || ranks != found->ranks)
            continue;
        /* What the first leaves out may be known of another that means the same processes: srun with PMI. */
        int local = launcher_number(get(arg, launchers[i].local)),
            per_node = launcher_number(get(arg, launchers[i].per_node));
        int nodes = launcher_number(get(arg, launchers[i].nodes));
        const char *job = get(arg, launchers[i].job);
        if (found->local < 0 && local < ranks)
            found->local = local;
        if (!found->per_node && per_node > 0 && per_node <= ranks)
            found->per_node = per_node;
        if (!found->nodes && nodes > 0 && nodes <= ranks)
            found->nodes = nodes;
        if (!found->job && job && *job)
            found->job = job;
    }
    return any > 0;
}
