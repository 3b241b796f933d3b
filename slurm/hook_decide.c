/* What a job gets: the prolog's part. Everything here is computed from the schedule, the profile and the job's nodes,
 * which are the same on all of them, so that all nodes that can compute it agree; one that cannot says so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/trust.h"
#include "slurm/hook.h"

static int add_file(const struct hook_map *m, const char *name, struct hook_settings *s, struct err *e)
{
    struct hook_file f;
    if (hook_map_load(m, name, &f, e))
        return -1;
    if (f.text)
        hook_settings_add(s, name, f.text);
    free(f.text);
    return 0;
}

/* The table and the plugin that reads it are there as they were installed. */
static int add_table(const struct hook_conf *c, const struct hook_map *m, struct hook_answer *a, struct err *e)
{
    struct hook_file f;
    const struct hook_map_file *entry = hook_map_file(m, "tuner.csv");
    if (!entry)
        return 0;
    if ((!a->plugin[0] && hook_check(c->plugin, c->owner, e)) || hook_map_load(m, "tuner.csv", &f, e))
        return -1;
    free(f.text);
    snprintf(a->table, sizeof a->table, "%s", entry->sha256);
    return 0;
}

static int load(const struct hook_conf *c, const struct hook_map *m, int node, struct hook_answer *a, struct err *e)
{
    char name[HOOK_WORD + 16];
    snprintf(a->class_name, sizeof a->class_name, "%s", m->classes[node].name);
    snprintf(a->dir, sizeof a->dir, "%s/" HOOK_COPIES "/%s", c->store, a->hash);
    snprintf(name, sizeof name, "nccl.d/%s.conf", a->class_name);
    return add_file(m, "nccl.conf", &a->common, e) || add_file(m, name, &a->local, e) || add_table(c, m, a, e) ? -1 : 0;
}

/* The schedule's word, with what Slurm has to be asked for it. */
static int choose(const char *schedule, const struct hook_conf *c, struct hook_job *job, char hash[SHA256_HEX],
                  struct err *e)
{
    struct hook_choice choice;
    char path[HOOK_PATH];
    snprintf(path, sizeof path, "%s/schedule", c->store);
    if (getenv("SLURM_HET_JOB_ID") && hook_job_ask(c, job, e))
        return -1;
    if (hook_choose(schedule, path, job, &choice, e) ||
        (choice.near && (hook_job_ask(c, job, e) || hook_choose(schedule, path, job, &choice, e))))
        return -1;
    memcpy(hash, choice.hash, sizeof choice.hash);
    return 0;
}

/* Load the profile a->hash for this node. HOOK_UNKNOWN with a sentence, or what is the same on all nodes. */
static enum hook_state load_chosen(const struct hook_conf *c, const char *run, int store, struct hook_job *job,
                                   struct hook_answer *a, struct hook_map **m, struct err *e)
{
    struct hook_conf copy;
    a->nodes = hook_job_nodes(job, e);
    if (a->nodes < 0)
        return HOOK_UNKNOWN;
    if (!a->hash[0]) {
        err_set(e, ERR_FAILED, "no profile is scheduled for this job");
        return HOOK_NOTHING;
    }
    *m = hook_map_read(run && !hook_copy(c, store, run, a->hash, &copy) ? &copy : c, a->hash, e);
    if (!*m)
        return HOOK_UNKNOWN;
    if (hook_map_fits(*m, job, &a->mixed, e))
        return HOOK_NOTHING;
    int node = hook_map_class(*m, job->node);
    if (node >= 0)
        return load(c, *m, node, a, e) ? HOOK_UNKNOWN : HOOK_TUNED;
    err_set(e, ERR_FAILED, "node %s is not in profile %.12s", job->node, a->hash);
    return HOOK_UNKNOWN;
}

void hook_decide(const struct hook_conf *c, const char *run, struct hook_job *job, struct hook_answer *a,
                 struct hook_map **m)
{
    struct err why = {0};
    struct hook_file schedule;
    int store;
    *m = NULL;
    hook_answer_clear(a);
    snprintf(a->job, sizeof a->job, "%s", job->id);
    a->policy = c->policy;
    if (!hook_check(c->plugin, c->owner, NULL))
        snprintf(a->plugin, sizeof a->plugin, "%s", c->plugin);
    a->state = HOOK_UNKNOWN;
    if (!hook_schedule_read(c, &store, &schedule, &why) && !choose(schedule.text, c, job, a->hash, &why))
        a->state = load_chosen(c, run, store, job, a, m, &why);
    free(schedule.text);
    trust_close(store);
    snprintf(a->why, sizeof a->why, "%.511s", why.text);
    if (a->nodes < 1)
        a->nodes = hook_job_nodes(job, NULL);
    if (a->nodes < 1)
        a->nodes = getenv("SLURM_HET_JOB_ID") ? 2 : 1;
}
