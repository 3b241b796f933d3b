/* The checks of nccltune doctor, one function each, in the order of a table. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/locate.h"
#include "core/proc.h"
#include "core/trust.h"
#include "envgen/decide/decide.h"
#include "envgen/doctor/doctor_internal.h"
#include "envgen/profile/profile.h"
#include "probe/source/probe.h"
#include "slurm/hook.h"

#define PROGRAM_SECONDS 5
#define OUTPUT_LIMIT    ((size_t)64 << 10)

/* ---- the profile ------------------------------------------------------------------------------------------------- */

static int is_installed(const struct doctor *d, const struct doctor_options *o)
{
    return !access(arena_printf(d->arena, "%s/current", o->site.store), F_OK);
}

/* The profile that all jobs get; NULL: none, or a broken one. */
static struct env_profile *current(const struct doctor *d, const struct doctor_options *o, struct err *e)
{
    return is_installed(d, o) ? env_profile_open(arena_printf(d->arena, "%s/current", o->site.store), e) : NULL;
}

static void check_profile(struct doctor *d, const struct doctor_options *o)
{
    struct err e = {0};
    struct env_profile *p = current(d, o, &e);
    if (p)
        finding_add(&d->found, FINDING_OK, NULL, "profile",
                    "%.12s of %s, written by nccltune %s; all its files are whole", p->manifest.hash,
                    p->manifest.created, p->manifest.tool);
    else if (e.code)
        finding_add(&d->found, FINDING_ERROR, NULL, "profile", "%s", e.text);
    else
        finding_add(&d->found, FINDING_NOTE, NULL, "profile", "none is installed in %s (nccltune install-profile)",
                    o->site.store);
    if (p && strcmp(p->manifest.tool, NCCLTUNE_VERSION) != 0)
        finding_add(&d->found, FINDING_NOTE, NULL, "version", "this is nccltune %s", NCCLTUNE_VERSION);
    env_profile_free(p);
}

/* This node's name in Slurm. */
static const char *node_name(const struct doctor *d, const struct doctor_options *o)
{
    char host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof host);
    return o->node ? o->node : arena_strdup(d->arena, host);
}

static void check_machine(struct doctor *d, const struct doctor_options *o)
{
    int n;
    struct err e = {0};
    struct env_profile *p = current(d, o, &e);
    if (!p)
        return;
    struct topology *t = topo_load(arena_printf(d->arena, "%s/topology.json", p->dir), &e);
    struct topology *here = t ? probe_machine(o->log, &e) : NULL;
    if (here && here->nclasses == 1)
        doctor_compare(d, t, here);
    else
        finding_add(&d->found, FINDING_ERROR, NULL, "machine", "cannot be compared: %s", e.text);
    if (t && topo_find_host(t, node_name(d, o)) < 0) {
        const char *hosts = topo_hosts(t, -1, -1, d->arena, &n);
        finding_add(&d->found, FINDING_NOTE, NULL, "host", "%s is not among the profile's nodes: %s", node_name(d, o),
                    hosts);
    }
    topo_free(here);
    topo_free(t);
    env_profile_free(p);
}

/* ---- NCCL's file ------------------------------------------------------------------------------------------------- */

static void check_nccl_conf(struct doctor *d, const struct doctor_options *o)
{
    struct err e = {0};
    char *text;
    size_t bytes;
    const char *path = o->site.nccl_conf;
    if (!path || access(path, F_OK)) {
        if (is_installed(d, o)) /* else the profile's line says it */
            finding_add(&d->found, FINDING_NOTE, NULL, "nccl.conf", "there is no %s", path ? path : "file of NCCL's");
        return;
    }
    const char *without = file_read(path, OUTPUT_LIMIT, d->arena, &text, &bytes, &e)
                              ? NULL
                              : install_merge(text, NULL, path, d->arena, &e);
    if (!without)
        finding_add(&d->found, FINDING_ERROR, NULL, "nccl.conf", "%s", e.text);
    else
        finding_add(&d->found, strcmp(text, without) != 0 ? FINDING_OK : FINDING_NOTE, NULL, "nccl.conf",
                    "%s has %s lines of nccltune", path, strcmp(text, without) != 0 ? "the" : "no");
    doctor_check_conf(d, path);
}

/* ---- the hooks --------------------------------------------------------------------------------------------------- */

/* The first line says what a job of this node alone would get, those behind it what is wrong with the node. */
static void check_hook(struct doctor *d, const struct doctor_options *o)
{
    int status = 0;
    const char *node = node_name(d, o);
    const char *env[] = {arena_printf(d->arena, "SLURMD_NODENAME=%s", node), NULL};
    const char *check[] = {o->hook, "check", o->slurm ? "--conf" : NULL, o->slurm, NULL};
    if (access(o->hook, X_OK)) {
        finding_add(&d->found, FINDING_NOTE, NULL, "hook", "%s: %s", o->hook, strerror(errno));
        return;
    }
    const char *text = proc_output(check, env, OUTPUT_LIMIT, PROGRAM_SECONDS, d->arena, &status, NULL);
    if (!text) {
        finding_add(&d->found, FINDING_ERROR, NULL, "hook", "%s did not end", o->hook);
        return;
    }
    size_t n = strcspn(text, "\n");
    const char *more = text + n + (text[n] == '\n');
    int knows = !strncmp(text, "profile ", 8) || !strncmp(text, "nothing: ", 9);
    finding_add(&d->found, knows ? FINDING_OK : FINDING_ERROR, NULL, "hook", "for a job on %s: %.*s", node, (int)n,
                text);
    if (status && *more)
        finding_add(&d->found, FINDING_ERROR, NULL, "node", "%.*s", (int)strcspn(more, "\n"), more);
    else if (!status && !strncmp(text, "profile ", 8))
        finding_add(&d->found, FINDING_OK, NULL, "node", "has what its class says");
}

static void check_schedule(struct doctor *d, const struct doctor_options *o)
{
    struct stat st;
    const char *path = arena_printf(d->arena, "%s/schedule", o->site.store);
    int fd = trust_open(path, TRUST_READ, 0, O_PATH, &st, NULL);
    if (fd < 0)
        return;
    close(fd);
    if ((size_t)st.st_size > HOOK_SCHEDULE_BYTES / 2)
        finding_add(&d->found, FINDING_WARNING, NULL, "schedule",
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
static void check_delivery(struct doctor *d, const struct doctor_options *o)
{
    struct install_hooks h;
    struct err broken = {0};
    struct env_profile *p = current(d, o, &broken);
    install_find_hooks(d->arena, &h);
    const char *by_file = install_plugin_before(o->site.nccl_conf, d->arena);
    if (h.serve)
        finding_add(&d->found, FINDING_OK, NULL, "slurm", "TaskProlog is %s, Prolog is %s", h.task_prolog, h.prolog);
    else if (p && !is_for_nccl(d, p))
        finding_add(&d->found, FINDING_NOTE, NULL, "slurm",
                    "no hook is needed: the profile has neither rules nor settings for NCCL, jobs keep its defaults");
    else if (is_installed(d, o) && !by_file)
        finding_add(&d->found, FINDING_ERROR, NULL, "slurm", "no job gets the profile: %s", h.missing);
    else
        finding_add(&d->found, FINDING_NOTE, NULL, "slurm", "%s", h.missing);
    if (h.serve && by_file)
        finding_add(&d->found, FINDING_ERROR, NULL, "nccl.conf",
                    "%s has a table of nccltune's, which the hooks cannot take back: run install-profile again",
                    o->site.nccl_conf);
    if (h.serve && !strcmp(h.epilog, "(null)"))
        finding_add(&d->found, FINDING_NOTE, NULL, "slurm", "Epilog is not set: answers of ended jobs stay in %s",
                    HOOK_RUN);
    if (h.open)
        finding_add(&d->found, FINDING_WARNING, NULL, "slurm", "%s", h.open);
    env_profile_free(p);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void check_plugin(struct doctor *d, const struct doctor_options *o)
{
    doctor_check_plugin(d, o->site.plugin);
    doctor_check_profiler(d, o->site.plugin);
}

static void check_table(struct doctor *d, const struct doctor_options *o)
{
    struct err e = {0};
    struct env_profile *p = current(d, o, &e);
    const char *table = arena_printf(d->arena, "%s/tuner.csv", o->site.store);
    int chained = (is_installed(d, o) || !access(table, F_OK)) && doctor_check_table(d, table);
    doctor_check_others(d, launcher_environment, NULL, doctor_measured_over(p), chained);
    env_profile_free(p);
}

static void (*const checks[])(struct doctor *d, const struct doctor_options *o) = {
    check_plugin,    check_profile, check_table,    check_machine,
    check_nccl_conf, check_hook,    check_schedule, check_delivery};

struct doctor *doctor_run(const struct doctor_options *options)
{
    struct arena *a = arena_new();
    struct doctor *d = ARENA_NEW(a, struct doctor);
    struct doctor_options o = *options;
    d->arena = d->found.arena = a;
    if (!o.site.plugin)
        o.site.plugin = locate_expected(LOCATE_PLUGIN, a);
    if (!o.hook)
        o.hook = locate_expected("nccltune-hook", a);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        checks[i](d, &o);
    return d;
}

void doctor_free(struct doctor *d)
{
    if (d)
        arena_free(d->arena);
}
