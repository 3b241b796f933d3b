/* The table of launchers, and the command line of each. */
#include <stdlib.h>
#include <string.h>

#include "bench/launch/mpirun.h"
#include "bench/launch/srun.h"
#include "bench/launch/start_internal.h"
#include "core/locate.h"
#include "core/proc.h"

#define ENV_LIST  "mca_base_env_list"
#define INFO_S    10.0
#define MOST_INFO ((size_t)1 << 20)

extern char **environ;

static struct start_command *add_command(struct start_commands *out)
{
    out->list = arena_grow(out->arena, out->list, (size_t)out->count, sizeof *out->list);
    out->list[out->count] = (struct start_command){0};
    return &out->list[out->count++];
}

/* What agents need to find NCCL and to run it as here, where the launcher does not pass the environment on. */
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

/* ---- mpirun ------------------------------------------------------------------------------------------------------ */

static int mpirun_suits(const struct bench_setup *setup, const struct places *where, struct arena *a)
{
    (void)where;
    (void)a;
    return setup->mpirun || setup->mpirun_args || (!setup->hosts && !setup->hostfile && places_mpirun_file());
}

/* The names of what mpirun is to take along, by their values' owner: it exports next to nothing by itself, and its
 * command line can be read by anybody. Each has `before` in front. */
static const char *names_of(const struct start_agent *what, const char *before, struct arena *a)
{
    const char *text = "";
    for (const char *const *v = what->env; *v; v++)
        text = arena_printf(a, "%s%s%.*s", text, before, (int)strcspn(*v, "="), *v);
    for (char **v = environ; *v; v++)
        if (is_passed_on(*v))
            text = arena_printf(a, "%s%s%.*s", text, before, (int)strcspn(*v, "="), *v);
    return text;
}

/* The list of variables that the site has mpirun take along, from the environment or a file of parameters; NULL none.
 * Beside one OpenMPI refuses -x, and one on the command line is all that counts then. */
static const char *list_of_site(const char *mpirun, struct arena *a)
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

/* mpirun's arguments with what takes our variables along; NULL after an error. A parameter may stand there but once. */
static const char *with_exports(const struct bench_setup *setup, const struct start_agent *what, struct arena *a,
                                struct err *e)
{
    const char *args = setup->mpirun_args ? setup->mpirun_args : "", *own = strstr(args, ENV_LIST " ");
    const char *site = own ? NULL : list_of_site(setup->mpirun, a);
    if (site && strstr(args, "-x ")) {
        err_set(e, ERR_USAGE,
                "--mpirun-args: mpirun refuses -x where " ENV_LIST " is set, here to '%s': say --mca " ENV_LIST
                " 'NAME;...' instead of -x",
                site);
        return NULL;
    }
    if (own) {
        own += strlen(ENV_LIST " ");
        own += strspn(own, " \t");
        return arena_printf(a, "%.*s%s;%s", (int)(own - args), args, names_of(what, ";", a) + 1, own);
    }
    if (site && !strchr(site, '\''))
        return arena_printf(a, "%s --mca " ENV_LIST " '%s;%s'", args, names_of(what, ";", a) + 1, site);
    return arena_printf(a, "%s%s", args, names_of(what, " -x ", a));
}

/* mpirun's own daemons wait 5 minutes before they notice that the network to it is gone (OpenMPI 4). */
static const char *const daemons_notice[] = {"OMPI_MCA_oob_tcp_keepalive_time=2", "OMPI_MCA_oob_tcp_keepalive_intvl=1",
                                             "OMPI_MCA_oob_tcp_keepalive_probes=3", NULL};

/* MPI is not spoken: it is a launcher. It pins what it starts to single cores unless told otherwise, here through the
 * environment, so that --mpirun-args have the last word (OpenMPI 4, OpenMPI 5). */
static int mpirun_commands(const struct bench_setup *setup, const struct places *where, const struct start_agent *what,
                           struct start_commands *out, struct err *e)
{
    struct bench_setup one = *setup;
    struct arena *a = out->arena;
    struct words argv = {0}, env = {0};
    struct mpirun m;
    (void)where;
    one.ranks_per_node = 1;
    one.mpirun_args = with_exports(setup, what, a, e);
    if (!one.mpirun_args)
        return ERR_USAGE;
    int rc = mpirun_command(&one, what->argv[0], a, &m, e);
    if (rc)
        return rc;
    words_add_all(&argv, a, m.argv);
    words_add_all(&argv, a, what->argv + 1);
    for (int i = 0; i < m.nenv; i++)
        words_add(&env, a, m.env[i]);
    words_add_all(&env, a, what->env);
    words_add(&env, a, "OMPI_MCA_hwloc_base_binding_policy=none");
    words_add(&env, a, "PRTE_MCA_hwloc_default_binding_policy=none");
    words_add_all(&env, a, daemons_notice);
    words_add(&argv, a, NULL);
    words_add(&env, a, NULL);
    *add_command(out) = (struct start_command){.argv = argv.items, .env = env.items};
    return 0;
}

/* ---- srun -------------------------------------------------------------------------------------------------------- */

static int srun_suits(const struct bench_setup *setup, const struct places *where, struct arena *a)
{
    (void)setup;
    (void)where;
    return srun_is_here(a);
}

static int srun_commands(const struct bench_setup *setup, const struct places *where, const struct start_agent *what,
                         struct start_commands *out, struct err *e)
{
    struct arena *a = out->arena;
    struct words argv = {0}, env = {0};
    (void)setup;
    (void)e;
    srun_begin(where, 1, "none", a, &argv, &env);
    words_add(&argv, a, "--no-kill"); /* where a node fails, the others go on */
    words_add_all(&argv, a, what->argv);
    words_add_all(&env, a, what->env);
    words_add(&argv, a, NULL);
    words_add(&env, a, NULL);
    *add_command(out) = (struct start_command){.argv = argv.items, .env = env.items};
    return 0;
}

/* ---- ssh --------------------------------------------------------------------------------------------------------- */

static const char *ssh_command(const struct bench_setup *setup)
{
    const char *own = setup->ssh ? setup->ssh : getenv("NCCLTUNE_SSH");
    return own && *own ? own : "ssh -o BatchMode=yes -o ConnectTimeout=10";
}

static int ssh_suits(const struct bench_setup *setup, const struct places *where, struct arena *a)
{
    int n;
    const char **words = proc_split(ssh_command(setup), a, &n, NULL);
    return where->hosts && (setup->ssh || !words || (n && locate_in_path(words[0], a)));
}

/* For any shell on the other side, those without POSIX's escapes included. NULL: a word holds a quote itself. */
static const char *quoted(const char *const *words, struct arena *a, struct err *e)
{
    const char *text = "";
    for (; *words; words++) {
        if (strchr(*words, '\'')) {
            err_set(e, ERR_USAGE, "%s: a path with a quote in it cannot be passed on by ssh", *words);
            return NULL;
        }
        text = arena_printf(a, "%s%s'%s'", text, *text ? " " : "", *words);
    }
    return text;
}

/* Lines "NAME=value" and an empty one, which --stdin makes the agent read. */
static const char *input_of(const struct start_agent *what, struct arena *a)
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

static int ssh_commands(const struct bench_setup *setup, const struct places *where, const struct start_agent *what,
                        struct start_commands *out, struct err *e)
{
    struct arena *a = out->arena;
    struct words agent = {0}, argv = {0};
    int n;
    const char **words = proc_split(ssh_command(setup), a, &n, e);
    if (!words || !n)
        return words ? err_set(e, ERR_USAGE, "--ssh-command is empty") : ERR_USAGE;
    words_add_all(&agent, a, what->argv);
    words_add(&agent, a, "--stdin");
    words_add(&agent, a, NULL);
    const char *remote = quoted(agent.items, a, e);
    if (!remote)
        return ERR_USAGE;
    words_add_all(&argv, a, words);
    words_add(&argv, a, where->hosts[0]);
    words_add(&argv, a, remote);
    words_add(&argv, a, NULL);
    *add_command(out) = (struct start_command){.argv = argv.items, .input = input_of(what, a)};
    return 0;
}

const struct start_launcher start_launchers[] = {{"mpirun", 0, mpirun_suits, mpirun_commands},
                                                 {"srun", 0, srun_suits, srun_commands},
                                                 {"ssh", 1, ssh_suits, ssh_commands},
                                                 {0}};
