/* mpirun's command line, or srun's in its place. */
#include "bench/launch/mpirun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/launch/places.h"
#include "bench/launch/srun.h"
#include "bench/launch/words.h"
#include "core/file.h"
#include "core/locate.h"
#include "core/proc.h"
#include "core/units.h"

/* Without dynamic rules OpenMPI does not look at the algorithm variables at all. With them, a variable that is 0 leaves
 * the built-in decision in place (tuned_module_enable in OpenMPI 4.0 to 5.0), so the default stays untouched. */
const char *const mpirun_worker_env[] = {"OMPI_MCA_coll_tuned_use_dynamic_rules=1", NULL};

static int ranks_of(const struct bench_setup *setup, int nodes)
{
    const struct topology *t = setup->topology;
    if (setup->ranks_per_node)
        return setup->ranks_per_node;
    if (t && t->nclasses && t->classes[0].ngpus > 0)
        return t->classes[0].ngpus;
    if (nodes > 1)
        return 1;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 2 ? 2 : cores > 8 ? 8 : (int)cores;
}

/* "a,b" to "a:4,b:4". */
static int add_hosts(struct words *argv, const char *const *hosts, struct arena *a, struct mpirun *m, struct err *e)
{
    size_t bytes = 1, used = 0;
    for (int i = 0; i < m->nodes; i++)
        bytes += strlen(hosts[i]) + sizeof ":2147483647";
    char *list = arena_alloc(a, bytes);
    for (int i = 0; i < m->nodes; i++) {
        if (strpbrk(hosts[i], ":@"))
            return err_set(e, ERR_USAGE, "--hosts: '%s' is no name that mpirun takes: expected one without ':' and '@'",
                           hosts[i]);
        used += (size_t)snprintf(list + used, bytes - used, "%s%s:%d", i ? "," : "", hosts[i], m->ranks_per_node);
    }
    words_add(argv, a, "-H");
    words_add(argv, a, list);
    words_add(argv, a, "-np");
    words_add(argv, a, arena_printf(a, "%d", m->nodes * m->ranks_per_node));
    return 0;
}

/* Whether mpirun can read the file as we do: it knows no brackets. */
static int has_brackets(const char *path, struct arena *a)
{
    char *text;
    size_t bytes;
    return !file_read_text(path, FILE_LIMIT, a, &text, &bytes, NULL) && strpbrk(text, "[,");
}

/* Where ranks go, and how many. */
static int find_places(const struct bench_setup *setup, struct arena *a, struct places *where, struct mpirun *m,
                       struct err *e)
{
    int rc = places_find(setup, a, where, e);
    if (rc)
        return rc;
    m->nodes = where->nodes;
    m->ranks_per_node = ranks_of(setup, where->nodes);
    return 0;
}

/* The part of the command line that says where. */
static int add_places(struct words *argv, const struct bench_setup *setup, struct arena *a, struct mpirun *m,
                      struct err *e)
{
    struct places where;
    int rc = find_places(setup, a, &where, m, e);
    if (rc)
        return rc;
    if (setup->hosts || (setup->hostfile && has_brackets(setup->hostfile, a)))
        return add_hosts(argv, where.hosts, a, m, e);
    if (setup->hostfile) {
        words_add(argv, a, "--hostfile");
        words_add(argv, a, setup->hostfile);
    }
    if (where.said || where.given) {
        words_add(argv, a, "--map-by");
        words_add(argv, a, arena_printf(a, "ppr:%d:node", m->ranks_per_node));
    } else {
        words_add(argv, a, "-np");
        words_add(argv, a, arena_printf(a, "%d", m->ranks_per_node));
    }
    return 0;
}

static int by_mpirun(const struct bench_setup *setup, struct words *argv, struct arena *a, struct mpirun *m,
                     struct err *e)
{
    const char *command = setup->mpirun ? setup->mpirun : "mpirun";
    int nwords = 0;
    if (!locate_in_path(command, a))
        return err_set(e, ERR_LACKS,
                       "%s: no such program; the mpi engine needs OpenMPI (packages openmpi-bin, libopenmpi-dev)",
                       command);
    words_add(argv, a, command);
    int rc = add_places(argv, setup, a, m, e);
    if (rc)
        return rc;
    /* Only an allowance: it changes nothing where there are cores enough. */
    words_add(argv, a, "--oversubscribe");
    const char **words = proc_split(setup->mpirun_args ? setup->mpirun_args : "", a, &nwords, e);
    words_add_all(argv, a, words);
    return words ? 0 : ERR_USAGE;
}

/* Asked for, or all there is. */
static int wants_srun(const struct bench_setup *setup, struct arena *a)
{
    if (setup->launcher && strcmp(setup->launcher, "auto") != 0)
        return !strcmp(setup->launcher, "srun");
    return !setup->mpirun && !setup->mpirun_args && !locate_in_path("mpirun", a) && srun_is_here(a);
}

static int by_srun(const struct bench_setup *setup, struct words *argv, struct words *env, struct arena *a,
                   struct mpirun *m, struct err *e)
{
    struct places where;
    int rc = find_places(setup, a, &where, m, e);
    if (rc)
        return rc;
    srun_begin(&where, m->ranks_per_node, "pmix", a, argv, env);
    return 0;
}

int mpirun_command(const struct bench_setup *setup, const char *worker, struct arena *a, struct mpirun *m,
                   struct err *e)
{
    struct words argv = {0}, env = {0};
    memset(m, 0, sizeof *m);
    int rc = wants_srun(setup, a) ? by_srun(setup, &argv, &env, a, m, e) : by_mpirun(setup, &argv, a, m, e);
    if (rc)
        return rc;
    words_add(&argv, a, worker);
    words_add(&argv, a, NULL);
    words_add_all(&env, a, mpirun_worker_env);
    if (geteuid() == 0) {
        words_add(&env, a, "OMPI_ALLOW_RUN_AS_ROOT=1");
        words_add(&env, a, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
    }
    if (m->ranks_per_node > sysconf(_SC_NPROCESSORS_ONLN))
        words_add(&env, a, "OMPI_MCA_mpi_yield_when_idle=1");
    m->argv = argv.items;
    m->env = env.items;
    m->nenv = env.count;
    return 0;
}

int mpirun_attached_rank(struct err *e)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    long rank;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        if (text && !unit_parse_int(text, 0, 1 << 30, &rank, "", NULL))
            return (int)rank;
    }
    const char *text = getenv("SLURM_STEP_NUM_TASKS");
    long tasks;
    if (text && !unit_parse_int(text, 2, 1 << 30, &tasks, "", NULL)) {
        err_set(e, ERR_USAGE,
                "srun started %ld copies that do not know of one another: say srun --mpi=pmix, or start one copy",
                tasks);
        return -2;
    }
    return -1;
}
