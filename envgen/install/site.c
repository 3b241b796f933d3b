/* What is there already: a plugin that can be loaded, hooks that Slurm runs, jobs that have a profile. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/delivered.h"
#include "core/file.h"
#include "core/locate.h"
#include "core/proc.h"
#include "core/trust.h"
#include "envgen/install/install.h"
#include "slurm/hook.h"

#define SLURM_SECONDS 10
#define HOUR_S        3600
#define OUTPUT_LIMIT  ((size_t)4 << 20)
#define SCRIPT_LIMIT  ((size_t)1 << 20)

/* ---- the plugin -------------------------------------------------------------------------------------------------- */

int install_try_plugin(const char *path, struct err *e)
{
    struct stat st;
    if (stat(path, &st))
        return err_errno(e, "%s: there is no such plugin", path);
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_FAILED, "%s: expected nccltune's plugin, a file", path);
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin)
        return err_set(e, ERR_FAILED, "%s: cannot be loaded: %s", path, dlerror());
    int ours = dlsym(plugin, "nccltune_control_version") && dlsym(plugin, "ncclTunerPlugin_v2");
    dlclose(plugin);
    return ours ? 0 : err_set(e, ERR_FAILED, "%s: is not nccltune's plugin", path);
}

const char *install_plugin_before(const char *nccl_conf, struct arena *a)
{
    static const char name[] = "\nNCCL_TUNER_PLUGIN=";
    char *text;
    size_t bytes;
    if (!nccl_conf || access(nccl_conf, F_OK) || trust_check_kept(nccl_conf, 0, NULL) ||
        file_read(nccl_conf, SCRIPT_LIMIT, a, &text, &bytes, NULL))
        return NULL;
    const char *ours = strstr(text, DELIVERED_BEGIN), *at = ours ? strstr(ours, name) : NULL;
    return at ? arena_strndup(a, at + sizeof name - 1, strcspn(at + sizeof name - 1, "\n")) : NULL;
}

/* ---- Slurm ------------------------------------------------------------------------------------------------------- */

/* Standard output of a program that ends with 0 in time; NULL otherwise. */
static const char *output_of(const char *const *argv, const char *const *env, struct arena *a)
{
    int status;
    const char *text = proc_output(argv, env, OUTPUT_LIMIT, SLURM_SECONDS, a, &status, NULL);
    return text && !status ? text : NULL;
}

/* The value behind "NAME = " in what scontrol prints. */
static const char *configured(const char *text, const char *name, struct arena *a)
{
    size_t k = strlen(name);
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        if (n > k && !strncmp(line, name, k) && line[k] == ' ') {
            const char *value = line + k + strspn(line + k, " =");
            return arena_strndup(a, value, strcspn(value, "\n"));
        }
        line += n + (line[n] == '\n');
    }
    return "(null)";
}

/* Whether a hook is one of our scripts, which have nccltune-hook beside them, or a site's own that calls one. */
static int leads_to_us(const char *path, struct arena *a)
{
    char *text;
    size_t bytes;
    return *path == '/' && !file_read(path, SCRIPT_LIMIT, a, &text, &bytes, NULL) && strstr(text, "nccltune");
}

static const char *what_is_missing(const struct install_hooks *h, struct arena *a)
{
    if (!leads_to_us(h->task_prolog, a))
        return arena_printf(a, "TaskProlog is %s, which does not call nccltune's", h->task_prolog);
    if (!leads_to_us(h->prolog, a))
        return arena_printf(a, "Prolog is %s, which does not call nccltune's", h->prolog);
    if (!strstr(h->flags, "Alloc"))
        return arena_printf(a, "PrologFlags is %s: without Alloc a node's prolog runs with its first step, too late",
                            h->flags);
    return NULL;
}

/* Every node has a configuration of its own; this host's stands for them. */
static const char *what_is_open(struct arena *a)
{
    struct hook_conf c;
    struct err why = {0};
    if (hook_conf_read(HOOK_CONF_PATH, &c, &why))
        return arena_strdup(a, why.text);
    return c.policy == HOOK_DEFAULT ? HOOK_CONF_PATH
               " has no policy=: a node without its store would start untuned ranks beside tuned ones, and they hang; "
               "set policy=fail on all nodes, see nccltune-hook(8)"
                                    : NULL;
}

void install_find_hooks(struct arena *a, struct install_hooks *h)
{
    static const char *const show[] = {"scontrol", "show", "config", NULL};
    *h = (struct install_hooks){.missing = "there is no scontrol here"};
    if (!locate_in_path("scontrol", a))
        return;
    const char *text = output_of(show, NULL, a);
    h->missing = "Slurm did not answer (scontrol show config failed)";
    if (!text)
        return;
    h->task_prolog = configured(text, "TaskProlog", a);
    h->prolog = configured(text, "Prolog", a);
    h->epilog = configured(text, "Epilog", a);
    h->flags = configured(text, "PrologFlags", a);
    h->missing = what_is_missing(h, a);
    h->serve = !h->missing;
    h->open = h->serve ? what_is_open(a) : NULL;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

/* Whether the schedule gives this job ("ID PARTITION START NODES") a profile; a job that cannot be judged may have one.
 */
static int has_profile(const char *schedule, char *line)
{
    char *words[4];
    struct hook_job job = {.nlists = 1, .start_known = 1};
    struct hook_choice choice;
    if (hook_words(line, words, 4) != 4 || hook_number(words[2], 1LL << 40, &job.start))
        return 1;
    snprintf(job.id, sizeof job.id, "%s", words[0]);
    job.partition = words[1];
    job.lists[0] = words[3];
    return hook_choose(schedule, "", &job, &choice, NULL) || choice.hash[0];
}

/* Jobs that run, a line each: ID PARTITION START NODES. NULL: squeue does not tell. */
static const char *running_jobs(struct arena *a)
{
    static const char *const list[] = {"squeue", "-h", "-tR,S,CG,CF", "-o%A %P %S %N", NULL};
    static const char *const seconds[] = {"SLURM_TIME_FORMAT=%s", NULL};
    return output_of(list, seconds, a);
}

long long install_oldest_job(struct arena *a)
{
    const long long now = (long long)time(NULL);
    const char *text = locate_in_path("squeue", a) ? running_jobs(a) : NULL;
    long long oldest = now - HOUR_S, start; /* clocks differ, and a prolog may be under way */
    if (!text)
        return now - 90 * 24 * HOUR_S;
    char *cursor = arena_strdup(a, text), *line, *words[4];
    while ((line = hook_line(&cursor)))
        if (hook_words(line, words, 4) != 4 || hook_number(words[2], 1LL << 40, &start))
            return now - 90 * 24 * HOUR_S;
        else if (start - HOUR_S < oldest)
            oldest = start - HOUR_S;
    return oldest;
}

/* Return whether Slurm's commands are here and no configuration that they could find: no job runs. */
static int has_no_cluster(struct arena *a)
{
    static const char *const ask[] = {"sh", "-c", "squeue 2>&1", NULL};
    int status;
    const char *text = proc_output(ask, NULL, OUTPUT_LIMIT, SLURM_SECONDS, a, &status, NULL);
    return text && status && strstr(text, "resolve_ctls_from_dns_srv") && strstr(text, "Unknown host");
}

int install_running_jobs(const struct install_site *site, struct arena *a, const char **jobs, struct err *e)
{
    struct hook_conf c = {.owner = geteuid(), .policy = HOOK_DEFAULT};
    *jobs = "";
    if (!locate_in_path("squeue", a))
        return 0;
    const char *text = running_jobs(a);
    if (!text && has_no_cluster(a))
        return 0;
    if (!text)
        return err_set(e, ERR_FAILED,
                       "squeue failed, so running jobs are unknown: use --uninstall without --purge; --no-hooks where "
                       "Slurm has no hooks of nccltune; or --force to remove the profiles anyway");
    if (strlen(site->store) >= sizeof c.store)
        return err_set(e, ERR_USAGE, "%s: longer than a store's path can be", site->store);
    snprintf(c.store, sizeof c.store, "%s", site->store);
    struct hook_file schedule;
    int store, is_unread = hook_schedule_read(&c, &store, &schedule, NULL);
    char *cursor = arena_strdup(a, text), *line;
    while ((line = hook_line(&cursor))) {
        const char *id = arena_strndup(a, line, strcspn(line, " "));
        if (is_unread || has_profile(schedule.text, line))
            *jobs = arena_printf(a, "%s%s%s", *jobs, **jobs ? ", " : "", id);
    }
    free(schedule.text);
    trust_close(store);
    return 0;
}
