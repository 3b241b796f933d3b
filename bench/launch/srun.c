/* srun's command line. */
#include "bench/launch/srun.h"

#include <stdlib.h>
#include <string.h>

#include "core/locate.h"

/* No error for a Slurm that does not know one. A name alone takes away what the job asked for each of its own tasks. */
static const char *const environment[] = {"SLURM_OVERLAP=1",      "SLURM_WHOLE=1",         "SLURM_CPU_BIND=none",
                                          "SLURM_GPUS_PER_TASK",  "SLURM_TRES_PER_TASK",   "SLURM_GPU_BIND",
                                          "SLURM_NTASKS_PER_GPU", "SLURM_CPUS_PER_TASK",   "SLURM_DISTRIBUTION",
                                          "SLURM_KILL_BAD_EXIT",  "SLURM_NTASKS_PER_CORE", NULL};

int srun_is_here(struct arena *a)
{
    const char *job = getenv("SLURM_JOB_ID");
    return job && *job && locate_in_path("srun", a);
}

static const char *joined(const char *const *words, int n, struct arena *a)
{
    size_t bytes = 1, used = 0;
    for (int i = 0; i < n; i++)
        bytes += strlen(words[i]) + 1;
    char *text = arena_alloc(a, bytes);
    for (int i = 0; i < n; i++) {
        size_t len = strlen(words[i]);
        memcpy(text + used, words[i], len);
        used += len;
        text[used++] = i + 1 < n ? ',' : 0;
    }
    return text;
}

void srun_begin(const struct places *where, int per_node, const char *mpi, struct arena *a, struct words *argv,
                struct words *env)
{
    words_add_all(argv, a,
                  (const char *const[]){"srun", "-N", arena_printf(a, "%d", where->nodes), "-n",
                                        arena_printf(a, "%d", where->nodes * per_node),
                                        arena_printf(a, "--ntasks-per-node=%d", per_node),
                                        arena_printf(a, "--mpi=%s", mpi), "--export=ALL", NULL});
    if (where->said) {
        words_add(argv, a, "-w");
        words_add(argv, a, joined(where->hosts, where->nodes, a));
    }
    words_add_all(env, a, environment);
}
