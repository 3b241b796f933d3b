/* The trials of a schedule, and the jobs that they had. */
#include "advise/trials/trials.h"

#include <stdlib.h>
#include <string.h>

#include "slurm/hook.h"

/* ---- the schedule ------------------------------------------------------------------------------------------------ */

static struct trial *find_trial(struct trials *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (!strcmp(t->list[i].name, name))
            return &t->list[i];
    return NULL;
}

/* A later line of a name begins the trial anew; one without a scope ends it, and so does one that has all jobs. */
static int take_line(char *line, struct arena *a, struct trials *t, struct err *e)
{
    char *words[3];
    long long since;
    struct hook_trial parsed;
    if (*line == '#' || hook_words(line, words, 3) != 3 || hook_number(words[0], 1LL << 40, &since))
        return 0;
    for (size_t i = 0; i < t->count; i++)
        if (!strcmp(words[2], "all") && !t->list[i].until)
            t->list[i].until = since;
    int rc = hook_trial_parse(words[2], &parsed, e);
    if (rc <= 0)
        return rc;
    struct trial *one = find_trial(t, parsed.name);
    if (!parsed.scope) {
        if (one && !one->until)
            one->until = since;
        return 0;
    }
    if (!one)
        one = &ARENA_ADD(a, t->list, t->count);
    *one = (struct trial){.name = arena_strdup(a, parsed.name),
                          .scope = err_mask_controls(arena_strdup(a, parsed.scope)),
                          .share = parsed.share,
                          .planned = (size_t)parsed.jobs,
                          .since = since};
    if (hook_is_hash(words[1]))
        memcpy(one->hash, words[1], sizeof one->hash);
    return 0;
}

int trials_list(const char *schedule, const char *path, struct arena *a, struct trials *t, struct err *e)
{
    char *cursor = arena_strdup(a, schedule), *line;
    struct err why = {0};
    *t = (struct trials){.figure = "elapsed time"};
    for (long number = 1; (line = hook_line(&cursor)); number++)
        if (take_line(line, a, t, &why) < 0)
            return err_at(e, path, number, 0, "%s", why.text);
    return 0;
}

/* ---- which group a job is in ------------------------------------------------------------------------------------- */

/* Whether the job is part of the trial, and then of which group. */
static int is_placed(const char *schedule, const struct trial *t, const struct trials_job *job, int *is_tried)
{
    struct hook_job asked = {.lists = {job->nodes},
                             .nlists = 1,
                             .partition = job->partition,
                             .node = "",
                             .start = job->start,
                             .start_known = 1};
    struct hook_choice choice;
    snprintf(asked.id, sizeof asked.id, "%s", job->id);
    if (hook_choose(schedule, "", &asked, &choice, NULL) || strcmp(choice.trial, t->name) != 0)
        return 0;
    *is_tried = choice.is_tried;
    return 1;
}

/* ---- judging ----------------------------------------------------------------------------------------------------- */

static int is_state(const struct trials_job *job, const char *const *states)
{
    for (; *states; states++)
        if (!strncmp(job->state, *states, strlen(*states)))
            return 1;
    return 0;
}

static const char *const completed[] = {"COMPLETED", NULL};
static const char *const failed[] = {"FAILED", "TIMEOUT", "OUT_OF_MEMORY", NULL};
static const char *const unfinished[] = {"RUNNING", "PENDING", "SUSPENDED", "REQUEUED", "COMPLETING", NULL};

static int by_start(const void *x, const void *y)
{
    const struct trials_job *const *a = x, *const *b = y;
    if ((*a)->start != (*b)->start)
        return (*a)->start < (*b)->start ? -1 : 1;
    return strcmp((*a)->id, (*b)->id);
}

/* Jobs that do the same: of one name, user and number of nodes. */
static int is_same_kind(const struct trials_job *a, const struct trials_job *b)
{
    return a->node_count == b->node_count && !strcmp(a->name, b->name) && !strcmp(a->user, b->user);
}

/* The kind's number among those seen so far; `first`: a job of each. */
static int kind_of(const struct trials_job *job, const struct trials_job **first, size_t *nkinds)
{
    size_t i = 0;
    while (i < *nkinds && !is_same_kind(first[i], job))
        i++;
    if (i == *nkinds)
        first[(*nkinds)++] = job;
    return (int)i;
}

static void count_end(struct trial *t, const struct trials_job *job, int is_tried)
{
    int fails = is_state(job, failed);
    t->running += (size_t)is_state(job, unfinished);
    if (!fails && !is_state(job, completed))
        return;
    *(is_tried ? &t->ended_tried : &t->ended_others) += 1;
    *(is_tried ? &t->failed_tried : &t->failed_others) += (size_t)fails;
}

static void judge_trial(struct trial *t, const char *schedule, struct trials_job *const *jobs, size_t count,
                        int has_figures, struct arena *a)
{
    struct trials_unit *units = arena_alloc(a, (count + 1) * sizeof *units);
    struct trials_placed *placed = arena_alloc(a, (count + 1) * sizeof *placed);
    const struct trials_job **first = arena_alloc(a, (count + 1) * sizeof *first);
    size_t nunits = 0, nplaced = 0;
    for (size_t i = 0; i < count; i++) {
        const struct trials_job *job = jobs[i];
        int is_tried, is_over = !is_state(job, unfinished);
        if (job->start < t->since || (t->until && job->start >= t->until) || !is_placed(schedule, t, job, &is_tried))
            continue;
        double figure = has_figures ? job->figure : is_state(job, completed) ? job->elapsed_s : 0;
        count_end(t, job, is_tried);
        if (figure > 0)
            units[nunits++] = (struct trials_unit){figure, kind_of(job, first, &t->kinds), is_tried};
        if (job->captured)
            placed[nplaced++] = (struct trials_placed){job, is_tried};
        t->without += is_over && !(figure > 0);
    }
    trials_compare(units, nunits, t->planned, &t->comparison, a);
    t->calls = trials_compare_calls(placed, nplaced, t->planned, a, &t->ncalls);
    t->breaks = t->failed_tried && trials_failing_by_chance(t->failed_tried, t->ended_tried, t->failed_others,
                                                            t->ended_others) < TRIALS_FAILING;
}

void trials_judge(const char *schedule, const struct trials_jobs *jobs, struct arena *a, struct trials *t)
{
    struct trials_job **sorted = arena_alloc(a, (jobs->count + 1) * sizeof *sorted);
    int has_figures = strcmp(t->figure, "elapsed time") != 0;
    for (size_t i = 0; i < jobs->count; i++) {
        sorted[i] = &jobs->list[i];
        has_figures |= jobs->list[i].figure > 0;
    }
    qsort(sorted, jobs->count, sizeof *sorted, by_start);
    t->odd = jobs->odd;
    for (size_t i = 0; i < t->count; i++)
        judge_trial(&t->list[i], schedule, sorted, jobs->count, has_figures, a);
}
