/* The checks of nccltune doctor, one function each, in the order of a table. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/locate.h"
#include "core/proc.h"
#include "core/trust.h"
#include "envgen/decide/decide.h"
#include "envgen/doctor/doctor_internal.h"
#include "slurm/hook.h"

#define PROGRAM_SECONDS 5
#define OUTPUT_LIMIT    ((size_t)64 << 10)

/* ---- the profile ------------------------------------------------------------------------------------------------- */

/* What is looked at. */
struct node {
    struct doctor_options o;
    int is_installed;            /* a profile for all jobs … */
    struct env_profile *profile; /* … that one; NULL: none, or a broken one … */
    struct err broken;           /* … and why */
};

static void check_profile(struct doctor *d, const struct node *n)
{
    const struct env_profile *p = n->profile;
    if (p)
        doctor_add(d, FINDING_OK, "profile", "%.12s of %s, written by nccltune %s; all its files are whole",
                   p->manifest.hash, p->manifest.created, p->manifest.tool);
    else if (n->broken.code)
        doctor_add(d, FINDING_ERROR, "profile", "%s", n->broken.text);
    else
        doctor_add(d, FINDING_NOTE, "profile", "none is installed in %s (nccltune install-profile)", n->o.site.store);
    if (p && strcmp(p->manifest.tool, NCCLTUNE_VERSION) != 0)
        doctor_add(d, FINDING_NOTE, "version", "this is nccltune %s", NCCLTUNE_VERSION);
}

/* This node's name in Slurm. */
static const char *node_name(const struct doctor *d, const struct node *n)
{
    char host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof host);
    return n->o.node ? n->o.node : arena_strdup(d->arena, host);
}

static void check_machine(struct doctor *d, const struct node *n)
{
    int ignored;
    const char *node_class;
    struct topology *t = n->profile ? doctor_check_machine(d, n->profile, NULL, n->o.log, &node_class) : NULL;
    if (t && topo_find_host(t, node_name(d, n)) < 0)
        doctor_add(d, FINDING_NOTE, "host", "%s is not among the profile's nodes: %s", node_name(d, n),
                   topo_hosts(t, -1, -1, d->arena, &ignored));
    topo_free(t);
}

/* ---- NCCL's file ------------------------------------------------------------------------------------------------- */

static void check_nccl_conf(struct doctor *d, const struct node *n)
{
    struct err e = {0};
    char *text;
    size_t bytes;
    const char *path = n->o.site.nccl_conf;
    if (!path || access(path, F_OK)) {
        if (n->is_installed) /* else the profile's line says it */
            doctor_add(d, FINDING_NOTE, "nccl.conf", "there is no %s", path ? path : "file of NCCL's");
        return;
    }
    const char *without = file_read(path, OUTPUT_LIMIT, d->arena, &text, &bytes, &e)
                              ? NULL
                              : install_merge(text, NULL, path, d->arena, &e);
    if (!without)
        doctor_add(d, FINDING_ERROR, "nccl.conf", "%s", e.text);
    else
        doctor_add(d, strcmp(text, without) != 0 ? FINDING_OK : FINDING_NOTE, "nccl.conf",
                   "%s has %s lines of nccltune", path, strcmp(text, without) != 0 ? "the" : "no");
    doctor_check_conf(d, path);
}

/* ---- the hooks --------------------------------------------------------------------------------------------------- */

/* The first line says what a job of this node alone would get, those behind it what is wrong with the node. */
static void check_hook(struct doctor *d, const struct node *n)
{
    int status = 0;
    const char *node = node_name(d, n);
    const char *env[] = {arena_printf(d->arena, "SLURMD_NODENAME=%s", node), NULL};
    const char *check[] = {n->o.hook, "check", n->o.slurm ? "--conf" : NULL, n->o.slurm, NULL};
    if (access(n->o.hook, X_OK)) {
        doctor_add(d, FINDING_NOTE, "hook", "%s: %s", n->o.hook, strerror(errno));
        return;
    }
    const char *text = proc_output(check, env, OUTPUT_LIMIT, PROGRAM_SECONDS, d->arena, &status, NULL);
    if (!text) {
        doctor_add(d, FINDING_ERROR, "hook", "%s did not end", n->o.hook);
        return;
    }
    size_t length = strcspn(text, "\n");
    const char *more = text + length + (text[length] == '\n');
    int knows = !strncmp(text, "profile ", 8) || !strncmp(text, "nothing: ", 9);
    doctor_add(d, knows ? FINDING_OK : FINDING_ERROR, "hook", "for a job on %s: %.*s", node, (int)length, text);
    if (status && *more)
        doctor_add(d, FINDING_ERROR, "node", "%.*s", (int)strcspn(more, "\n"), more);
    else if (!status && !strncmp(text, "profile ", 8))
        doctor_add(d, FINDING_OK, "node", "has what its class says");
}

static void check_schedule(struct doctor *d, const struct node *n)
{
    struct stat st;
    const char *path = arena_printf(d->arena, "%s/schedule", n->o.site.store);
    int fd = trust_open(path, TRUST_READ, 0, O_PATH, &st, NULL);
    if (fd < 0)
        return;
    close(fd);
    if ((size_t)st.st_size > HOOK_SCHEDULE_BYTES / 2)
        doctor_add(d, FINDING_WARNING, "schedule",
                   "%s has %lld of the %zu bytes that hooks read: install for all jobs, or for a --partition, instead "
                   "of long lists of nodes",
                   path, (long long)st.st_size, HOOK_SCHEDULE_BYTES);
}

/* Whether it has a rule or a setting for NCCL: OpenMPI's are brought to jobs by the jobs themselves. */
static int is_for_nccl(const struct doctor *d, const struct env_profile *p)
{
    struct env_table_rules rules = {0};
    for (int i = 0; i < p->decisions->nsettings; i++)
        if (p->decisions->settings[i].value && !strcmp(p->decisions->settings[i].family, BENCH_FAMILY_NCCL))
            return 1;
    return !env_table_rules_of(p->decisions, d->arena, &rules, NULL) && rules.count;
}

/* Whether anything brings the installed profile to jobs. */
static void check_delivery(struct doctor *d, const struct node *n)
{
    struct install_hooks h;
    const struct env_profile *p = n->profile;
    install_find_hooks(d->arena, &h);
    const char *by_file = install_plugin_before(n->o.site.nccl_conf, d->arena);
    if (h.serve)
        doctor_add(d, FINDING_OK, "slurm", "TaskProlog is %s, Prolog is %s", h.task_prolog, h.prolog);
    else if (p && !is_for_nccl(d, p))
        doctor_add(d, FINDING_NOTE, "slurm",
                   "no hook is needed: the profile has neither rules nor settings for NCCL, jobs keep its defaults");
    else if (n->is_installed && !by_file)
        doctor_add(d, FINDING_ERROR, "slurm", "no job gets the profile: %s", h.missing);
    else
        doctor_add(d, FINDING_NOTE, "slurm", "%s", h.missing);
    if (h.serve && by_file)
        doctor_add(d, FINDING_ERROR, "nccl.conf",
                   "%s has a table of nccltune's, which the hooks cannot take back: run install-profile again",
                   n->o.site.nccl_conf);
    if (h.serve && !strcmp(h.epilog, "(null)"))
        doctor_add(d, FINDING_NOTE, "slurm", "Epilog is not set: answers of ended jobs stay in %s", HOOK_RUN);
    if (h.open)
        doctor_add(d, FINDING_WARNING, "slurm", "%s", h.open);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void check_plugin(struct doctor *d, const struct node *n)
{
    doctor_check_plugin(d, n->o.site.plugin);
    doctor_check_profiler(d, n->o.site.plugin);
}

static void check_table(struct doctor *d, const struct node *n)
{
    struct tuner_table rules = {0};
    const char *table = arena_printf(d->arena, "%s/tuner.csv", n->o.site.store);
    if (n->is_installed || !access(table, F_OK))
        doctor_check_table(d, table, &rules);
    doctor_check_others(d, launcher_environment, NULL, doctor_measured_over(n->profile), rules.next_auto);
    tuner_table_free(&rules);
}

static void (*const checks[])(struct doctor *d, const struct node *n) = {check_plugin,   check_profile,   check_table,
                                                                         check_machine,  check_nccl_conf, check_hook,
                                                                         check_schedule, check_delivery};

struct doctor *doctor_run(const struct doctor_options *options)
{
    struct arena *a = arena_new();
    struct doctor *d = ARENA_NEW(a, struct doctor);
    struct node n = {.o = *options};
    d->arena = d->found.arena = a;
    if (!n.o.site.plugin)
        n.o.site.plugin = locate_expected(LOCATE_PLUGIN, a);
    if (!n.o.hook)
        n.o.hook = locate_expected("nccltune-hook", a);
    const char *current = arena_printf(a, "%s/current", n.o.site.store);
    n.is_installed = !access(current, F_OK);
    if (n.is_installed)
        n.profile = env_profile_open(current, &n.broken);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        checks[i](d, &n);
    env_profile_free(n.profile);
    return d;
}

void doctor_free(struct doctor *d)
{
    if (d)
        arena_free(d->arena);
}
