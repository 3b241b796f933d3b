/* What the job's prolog decided on this node against what this rank has: a rank that should have the profile and has
 * not is an error, with the reason. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "envgen/doctor/doctor_internal.h"
#include "slurm/hook.h"

/* Whether the hooks' store has a profile for anybody. */
static int is_scheduled(struct arena *a)
{
    struct hook_conf c;
    char last[SHA256_HEX], before[SHA256_HEX], *text;
    size_t bytes;
    if (hook_conf_read(HOOK_CONF_PATH, &c, NULL) ||
        file_read(arena_printf(a, "%s/schedule", c.store), FILE_LIMIT, a, &text, &bytes, NULL))
        return 0;
    install_schedule_last(text, last, before);
    return last[0] != 0;
}

static void no_answer(struct doctor *d, const char *run)
{
    if (access(run, F_OK) && !is_scheduled(d->arena))
        finding_add(&d->found, FINDING_NOTE, NULL, "prolog", "no job prolog of nccltune runs on this node");
    else
        finding_add(&d->found, FINDING_ERROR, NULL, "prolog",
                    "no job prolog of nccltune has decided on this node: expected Prolog= in slurm.conf, with "
                    "PrologFlags=Alloc");
}

/* Why a rank of a job that has a profile is without its table. */
static const char *why_without(launcher_get *get, const void *arg)
{
    static const char *const own[] = {"NCCL_TUNER_PLUGIN", "NCCL_TUNER_CONFIG_FILE", "NCCLTUNE_PROFILE"};
    const char *set = get(arg, HOOK_SET);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (get(arg, own[i]))
            return "you set a table of your own";
    if (!set)
        return "no task prolog of nccltune ran for it (TaskProlog= in slurm.conf), or its environment was replaced";
    return strstr(set, ":-") ? "the job's first node had none" : "its environment was changed";
}

void doctor_check_answer(struct doctor *d, const char *run, launcher_get *get, const void *arg)
{
    static struct hook_answer a;
    struct err why = {0};
    const char *het = get(arg, "SLURM_HET_JOB_ID"), *job = het ? het : get(arg, "SLURM_JOB_ID"),
               *refusal = get(arg, "NCCLTUNE_REFUSE"), *hash = get(arg, "NCCLTUNE_HASH");
    if (!job || strspn(job, "0123456789") != strlen(job))
        return;
    int rc = hook_answer_read(run, job, &a, &why);
    if (refusal)
        finding_add(&d->found, FINDING_ERROR, NULL, "refused", "NCCL will not start: %s", refusal);
    if (rc > 0)
        no_answer(d, run);
    else if (rc < 0)
        finding_add(&d->found, FINDING_ERROR, NULL, "prolog", "%s", why.text);
    else if (a.state == HOOK_UNKNOWN)
        finding_add(&d->found, FINDING_ERROR, NULL, "prolog", "this node cannot decide what the job gets: %s", a.why);
    else if (a.state == HOOK_NOTHING)
        finding_add(&d->found, FINDING_NOTE, NULL, "prolog", "the job gets nothing: %s", a.why);
    else if (!a.table[0] || (hash && !strcmp(hash, a.table)))
        finding_add(&d->found, FINDING_OK, NULL, "prolog", "the job has profile %.12s, this node is of class %s",
                    a.hash, a.class_name);
    else
        finding_add(&d->found, FINDING_ERROR, NULL, "prolog", "the job has profile %.12s, and this rank is without: %s",
                    a.hash, why_without(get, arg));
}
