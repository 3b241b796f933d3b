/* The command lines of launchers: for ranks of MPI, and the table of those that start agents. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/launch/launch_internal.h"
#include "core/file.h"
#include "core/locate.h"
#include "core/units.h"

#define ENV_LIST  "mca_base_env_list"
#define INFO_S    10.0
#define MOST_INFO ((size_t)1 << 20)

extern char **environ;

void words_add(struct words *w, struct arena *a, const char *word)
{
    if (!w->count)
        w->items = arena_grow(a, NULL, 0, sizeof *w->items);
    w->items[w->count++] = word;
    w->items = arena_grow(a, w->items, (size_t)w->count, sizeof *w->items);
    w->items[w->count] = NULL;
}

void words_add_all(struct words *w, struct arena *a, const char *const *more)
{
    for (; more && *more; more++)
        words_add(w, a, *more);
}

/* ---- srun ---- */

/* Variables for srun: no error for a Slurm that does not know one. A name alone takes away what the job asked for each
 * of its own tasks. */
static const char *const srun_environment[] = {"SLURM_OVERLAP=1",      "SLURM_WHOLE=1",         "SLURM_CPU_BIND=none",
                                               "SLURM_GPUS_PER_TASK",  "SLURM_TRES_PER_TASK",   "SLURM_GPU_BIND",
                                               "SLURM_NTASKS_PER_GPU", "SLURM_CPUS_PER_TASK",   "SLURM_DISTRIBUTION",
                                               "SLURM_KILL_BAD_EXIT",  "SLURM_NTASKS_PER_CORE", NULL};

static int srun_is_here(struct arena *a)
{
    const char *job = getenv("SLURM_JOB_ID");
    return job && *job && locate_in_path("srun", a);
}

static const char *join_words(const char *const *words, int n, struct arena *a)
{
    size_t bytes = 1;
    for (int i = 0; i < n; i++)
        bytes += strlen(words[i]) + 1;
    char *text = arena_alloc(a, bytes), *end = text;
    for (int i = 0; i < n; i++)
        end = stpcpy(stpcpy(end, i ? "," : ""), words[i]);
    return text;
}

/* Begin srun's command line and its environment for `per_node` processes on each node, with the MPI plugin `mpi`
 * ("none", "pmix"): the whole of a node and of its GPUs, whatever else runs in the allocation. */
static void begin_srun(const struct places *where, int per_node, const char *mpi, struct arena *a, struct words *argv,
                       struct words *env)
{
    words_add_all(argv, a,
                  (const char *const[]){"srun", "-N", arena_printf(a, "%d", where->nodes), "-n",
                                        arena_printf(a, "%d", where->nodes * per_node),
                                        arena_printf(a, "--ntasks-per-node=%d", per_node),
                                        arena_printf(a, "--mpi=%s", mpi), "--export=ALL", NULL});
    if (where->said)
        words_add_all(argv, a, (const char *const[]){"-w", join_words(where->hosts, where->nodes, a), NULL});
    words_add_all(env, a, srun_environment);
}

/* ---- ranks of MPI ---- */

/* Without dynamic rules OpenMPI does not look at the algorithm variables at all. With them, a variable that is 0 leaves
 * the built-in decision in place (tuned_module_enable in OpenMPI 4.0 to 5.0), so the default stays untouched. */
static const char *const as_root[] = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", NULL};
const char *const mpirun_worker_env[] = {"OMPI_MCA_coll_tuned_use_dynamic_rules=1", NULL};

static int choose_ranks_per_node(const struct bench_setup *setup, int nodes)
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
            return err_set(e, ERR_USAGE, "--hosts: '%s': mpirun accepts no names with ':' or '@'", hosts[i]);
        used += (size_t)snprintf(list + used, bytes - used, "%s%s:%d", i ? "," : "", hosts[i], m->ranks_per_node);
    }
    const char *ranks = arena_printf(a, "%d", m->nodes * m->ranks_per_node);
    words_add_all(argv, a, (const char *const[]){"-H", list, "-np", ranks, NULL});
    return 0;
}

/* Whether mpirun can read the file as we do: it knows no brackets. */
static int has_brackets(const char *path, struct arena *a)
{
    char *text;
    size_t bytes;
    return !file_read_text(path, FILE_LIMIT, a, &text, &bytes, NULL) && strpbrk(text, "[,");
}

/* Add the part of mpirun's command line that says where. */
static int add_places(struct words *argv, const struct bench_setup *setup, const struct places *where, struct arena *a,
                      struct mpirun *m, struct err *e)
{
    if (setup->hosts || (setup->hostfile && has_brackets(setup->hostfile, a)))
        return add_hosts(argv, where->hosts, a, m, e);
    if (setup->hostfile)
        words_add_all(argv, a, (const char *const[]){"--hostfile", setup->hostfile, NULL});
    const int named = where->said || where->given;
    const char *ranks = arena_printf(a, named ? "ppr:%d:node" : "%d", m->ranks_per_node);
    words_add_all(argv, a, (const char *const[]){named ? "--map-by" : "-np", ranks, NULL});
    return 0;
}

/* Return whether srun is asked for, or all there is. */
static int wants_srun(const struct bench_setup *setup, struct arena *a)
{
    if (setup->launcher && strcmp(setup->launcher, "auto") != 0)
        return !strcmp(setup->launcher, "srun");
    return !setup->mpirun && !setup->mpirun_args && !locate_in_path("mpirun", a) && srun_is_here(a);
}

int mpirun_command(const struct bench_setup *setup, const char *worker, struct arena *a, struct mpirun *m,
                   struct err *e)
{
    const char *command = setup->mpirun ? setup->mpirun : "mpirun";
    int by_srun = wants_srun(setup, a), nwords;
    struct words argv = {0}, env = {0};
    struct places where;
    if (!by_srun && !locate_in_path(command, a))
        return err_set(e, ERR_LACKS,
                       "%s: no such program; the mpi engine needs OpenMPI (packages openmpi-bin, libopenmpi-dev)",
                       command);
    int rc = places_find(setup, a, &where, e);
    if (rc)
        return rc;
    *m = (struct mpirun){.nodes = where.nodes, .ranks_per_node = choose_ranks_per_node(setup, where.nodes)};
    if (by_srun) {
        begin_srun(&where, m->ranks_per_node, "pmix", a, &argv, &env);
    } else {
        const char **more = proc_split(setup->mpirun_args ? setup->mpirun_args : "", a, &nwords, e);
        words_add(&argv, a, command);
        if (!more || add_places(&argv, setup, &where, a, m, e))
            return ERR_USAGE;
        words_add(&argv, a, "--oversubscribe"); /* only an allowance: it changes nothing where there are cores enough */
        words_add_all(&argv, a, more);
    }
    words_add(&argv, a, worker);
    words_add_all(&env, a, mpirun_worker_env);
    if (geteuid() == 0)
        words_add_all(&env, a, as_root);
    if (m->ranks_per_node > sysconf(_SC_NPROCESSORS_ONLN))
        words_add(&env, a, "OMPI_MCA_mpi_yield_when_idle=1");
    m->argv = argv.items;
    m->env = env.items;
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
        err_set(e, ERR_USAGE, "srun started %ld copies without PMIx: use srun --mpi=pmix, or start one copy", tasks);
        return -2;
    }
    return -1;
}

/* ---- agents by mpirun ---- */

/* Return whether agents need a variable to find NCCL and to run it as here, where the launcher does not pass the
 * environment on. */
static int is_passed_on(const char *variable)
{
    static const char *const prefixes[] = {"NCCL_", "RCCL_", "LD_LIBRARY_PATH=", "VIRTUAL_ENV=", "CONDA_PREFIX="};
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    if (variable[strspn(variable, letters)] != '=')
        return 0;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(variable, prefixes[i], strlen(prefixes[i])))
            return 1;
    return 0;
}

static int mpirun_suits(const struct bench_setup *setup, const struct places *where, struct arena *a)
{
    (void)where;
    (void)a;
    return setup->mpirun || setup->mpirun_args || (!setup->hosts && !setup->hostfile && places_mpirun_file());
}

/* List the names of the variables that mpirun must export, each with `before` in front: it exports next to nothing by
 * itself, and its command line, which anybody can read, must not hold their values. */
static const char *list_exports(const struct start_agent *what, const char *before, struct arena *a)
{
    const char *text = "";
    for (const char *const *v = what->env; *v; v++)
        text = arena_printf(a, "%s%s%.*s", text, before, (int)strcspn(*v, "="), *v);
    for (char **v = environ; *v; v++)
        if (is_passed_on(*v))
            text = arena_printf(a, "%s%s%.*s", text, before, (int)strcspn(*v, "="), *v);
    return text;
}

/* Ask ompi_info for the list of variables that the site has mpirun export, from the environment or a file of
 * parameters; NULL none. Beside such a list OpenMPI refuses -x, and a list on the command line replaces it. */
static const char *read_site_list(const char *mpirun, struct arena *a)
{
    const char *slash = mpirun ? strrchr(mpirun, '/') : NULL;
    const char *info = slash ? arena_printf(a, "%.*s/ompi_info", (int)(slash - mpirun), mpirun) : "ompi_info";
    const char *const argv[] = {info, "--parsable", "--level", "9", "--param", "mca", "base", NULL};
    int status;
    const char *text = proc_output(argv, NULL, MOST_INFO, INFO_S, a, &status, NULL);
    const char *at = text ? strstr(text, ":" ENV_LIST ":value:") : NULL;
    if (!at)
        return NULL;
    at += strlen(":" ENV_LIST ":value:");
    size_t n = strcspn(at, "\n");
    return n ? arena_strndup(a, at, n) : NULL;
}

/* Return mpirun's arguments with what exports our variables; NULL after an error. A parameter may stand there once. */
static const char *add_exports(const struct bench_setup *setup, const struct start_agent *what, struct arena *a,
                               struct err *e)
{
    const char *args = setup->mpirun_args ? setup->mpirun_args : "", *own = strstr(args, ENV_LIST " ");
    const char *site = own ? NULL : read_site_list(setup->mpirun, a);
    if (site && strstr(args, "-x "))
        return err_null(e, ERR_USAGE,
                        "--mpirun-args: mpirun refuses -x where " ENV_LIST " is set, here to '%s': say --mca " ENV_LIST
                        " 'NAME;...' instead of -x",
                        site);
    if (own) {
        own += strlen(ENV_LIST " ");
        own += strspn(own, " \t");
        return arena_printf(a, "%.*s%s;%s", (int)(own - args), args, list_exports(what, ";", a) + 1, own);
    }
    if (site && !strchr(site, '\''))
        return arena_printf(a, "%s --mca " ENV_LIST " '%s;%s'", args, list_exports(what, ";", a) + 1, site);
    return arena_printf(a, "%s%s", args, list_exports(what, " -x ", a));
}

/* mpirun pins what it starts to single cores unless told otherwise, here through the environment, so that --mpirun-args
 * have the last word (OpenMPI 4, OpenMPI 5). Its own daemons wait 5 minutes before they notice that the network to it
 * is gone (OpenMPI 4). */
static const char *const agent_environment[] = {
    "OMPI_MCA_hwloc_base_binding_policy=none", "PRTE_MCA_hwloc_default_binding_policy=none",
    "OMPI_MCA_oob_tcp_keepalive_time=2",       "OMPI_MCA_oob_tcp_keepalive_intvl=1",
    "OMPI_MCA_oob_tcp_keepalive_probes=3",     NULL};

/* No MPI is spoken: mpirun is only a launcher. */
static int make_mpirun_command(const struct bench_setup *setup, const struct places *where,
                               const struct start_agent *what, struct arena *a, struct start_command *c, struct err *e)
{
    struct bench_setup one = *setup;
    struct words argv = {0}, env = {0};
    struct mpirun m;
    (void)where;
    one.ranks_per_node = 1;
    one.mpirun_args = add_exports(setup, what, a, e);
    if (!one.mpirun_args)
        return ERR_USAGE;
    int rc = mpirun_command(&one, what->argv[0], a, &m, e);
    if (rc)
        return rc;
    words_add_all(&argv, a, m.argv);
    words_add_all(&argv, a, what->argv + 1);
    words_add_all(&env, a, m.env);
    words_add_all(&env, a, what->env);
    words_add_all(&env, a, agent_environment);
    *c = (struct start_command){.argv = argv.items, .env = env.items};
    return 0;
}

/* ---- agents by srun ---- */

static int srun_suits(const struct bench_setup *setup, const struct places *where, struct arena *a)
{
    (void)setup;
    (void)where;
    return srun_is_here(a);
}

static int make_srun_command(const struct bench_setup *setup, const struct places *where,
                             const struct start_agent *what, struct arena *a, struct start_command *c, struct err *e)
{
    struct words argv = {0}, env = {0};
    (void)setup;
    (void)e;
    begin_srun(where, 1, "none", a, &argv, &env);
    words_add(&argv, a, "--no-kill"); /* where a node fails, the others go on */
    words_add_all(&argv, a, what->argv);
    words_add_all(&env, a, what->env);
    *c = (struct start_command){.argv = argv.items, .env = env.items};
    return 0;
}

/* ---- agents by ssh ---- */

static const char *choose_ssh(const struct bench_setup *setup)
{
    const char *own = setup->ssh ? setup->ssh : getenv("NCCLTUNE_SSH");
    return own && *own ? own : "ssh -o BatchMode=yes -o ConnectTimeout=10";
}

static int ssh_suits(const struct bench_setup *setup, const struct places *where, struct arena *a)
{
    int n;
    const char **words = proc_split(choose_ssh(setup), a, &n, NULL);
    return where->hosts && (setup->ssh || !words || (n && locate_in_path(words[0], a)));
}

/* Quote words for any shell on the other side, those without POSIX's escapes included. NULL: a word holds a quote. */
static const char *quote_words(const char *const *words, struct arena *a, struct err *e)
{
    const char *text = "";
    for (; *words; words++) {
        if (strchr(*words, '\''))
            return err_null(e, ERR_USAGE, "%s: a path with a quote in it cannot be passed on by ssh", *words);
        text = arena_printf(a, "%s%s'%s'", text, *text ? " " : "", *words);
    }
    return text;
}

/* Lines "NAME=value" and an empty one, which --stdin makes the agent read. */
static const char *make_ssh_input(const struct start_agent *what, struct arena *a)
{
    struct words lines = {0};
    for (char **v = environ; *v; v++)
        if (is_passed_on(*v))
            words_add(&lines, a, *v);
    words_add_all(&lines, a, what->env);
    const char *text = "";
    for (int i = 0; i < lines.count; i++)
        if (!strchr(lines.items[i], '\n'))
            text = arena_printf(a, "%s%s\n", text, lines.items[i]);
    return arena_printf(a, "%s\n", text);
}

static int make_ssh_command(const struct bench_setup *setup, const struct places *where, const struct start_agent *what,
                            struct arena *a, struct start_command *c, struct err *e)
{
    struct words agent = {0}, argv = {0};
    int n;
    const char **words = proc_split(choose_ssh(setup), a, &n, e);
    if (!words || !n)
        return words ? err_set(e, ERR_USAGE, "--ssh-command is empty") : ERR_USAGE;
    words_add_all(&agent, a, what->argv);
    words_add(&agent, a, "--stdin");
    const char *remote = quote_words(agent.items, a, e);
    if (!remote)
        return ERR_USAGE;
    words_add_all(&argv, a, words);
    words_add_all(&argv, a, (const char *const[]){where->hosts[0], remote, NULL});
    *c = (struct start_command){.argv = argv.items, .input = make_ssh_input(what, a)};
    return 0;
}

const struct start_launcher start_launchers[] = {{"mpirun", 0, mpirun_suits, make_mpirun_command},
                                                 {"srun", 0, srun_suits, make_srun_command},
                                                 {"ssh", 1, ssh_suits, make_ssh_command},
                                                 {0}};
