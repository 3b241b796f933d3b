/* nccltune whatif --workload: the step of a job before and after, by phase, and the changes that save most. */
#include "cli/whatif_step.h"

#include <stdlib.h>
#include <string.h>

#include "bench/workload/workload.h"
#include "core/json.h"
#include "core/vars/text.h"
#include "envgen/step/profile.h"

#define FORMAT       "nccltune-whatif-step/1"
#define MOST_CHANGES 3

struct change {
    const char *what;
    struct step_time saves; /* microseconds of a step */
};

struct comparison {
    struct whatif *w;
    const struct workload *job;
    int before, shown;           /* cases that were asked for; what is tried beyond them only counts as a change */
    struct step_estimate *steps; /* of every case, those that are tried too */
    struct change *changes;
    int nchanges;
};

static double ms(double us)
{
    return us / 1e3;
}

/* Step `i` under its case, beside the one before. */
static int estimate(struct comparison *c, int i, struct err *e)
{
    struct arena *a = c->w->arena;
    struct whatif_case *cases = arena_alloc(a, 2 * sizeof *cases); /* those of `w` move */
    cases[0] = c->w->cases[c->before];
    cases[1] = c->w->cases[i];
    return env_step_between(&cases[0].setup, &cases[1].setup, c->job, a, &c->steps[i], e);
}

static void add_change(struct comparison *c, const char *what, struct step_time saves)
{
    if (!(saves.us > 0))
        return;
    c->changes = arena_grow(c->w->arena, c->changes, (size_t)c->nchanges, sizeof *c->changes);
    c->changes[c->nchanges++] = (struct change){what, saves};
}

static struct step_time less(const struct step_time *x, const struct step_time *y)
{
    return (struct step_time){x->us - y->us, x->low_us - y->low_us, x->high_us - y->high_us};
}

/* Every setting of the job left away, one at a time. */
static int try_without(struct comparison *c, struct err *e)
{
    const struct whatif_case base = c->w->cases[c->before];
    int rc = 0;
    for (int skip = 0; skip < base.nsettings && skip < 32 && !rc; skip++) {
        struct bench_setting *rest = arena_alloc(c->w->arena, (size_t)base.nsettings * sizeof *rest);
        int n = 0;
        for (int i = 0; i < base.nsettings; i++)
            if (i != skip)
                rest[n++] = base.settings[i];
        rc = whatif_add_job(
            c->w, arena_printf(c->w->arena, "without %s=%s", base.settings[skip].name, base.settings[skip].value), rest,
            n, base.table);
        if (!rc)
            rc = estimate(c, c->w->ncases - 1, e);
    }
    return rc;
}

/* What the job itself could do otherwise: its bubble halved by two pieces a stage, its copies to the host left away. */
static void try_job(struct comparison *c)
{
    const struct step_estimate *s = &c->steps[c->before];
    struct step_time bubble = {0};
    for (int i = 0; i < c->job->nphases; i++) {
        const struct workload_phase *p = &c->job->phases[i];
        const struct step_time *waits = &s->phases[i].now.waits;
        double part = p->bubble / (1 + p->bubble), compute = p->compute_us > 0 ? p->compute_us * p->bubble : 0;
        bubble.us += (compute + waits->us * part) / 2;
        bubble.low_us += (compute + waits->low_us * part) / 2;
        bubble.high_us += (compute + waits->high_us * part) / 2;
        if (!strcmp(p->name, "offload") && p->compute_us > 0)
            add_change(c, "no offload, if the memory suffices (not the network)",
                       (struct step_time){p->compute_us, p->compute_us, p->compute_us});
    }
    add_change(c, "two pieces of the model a pipeline stage: half the bubble (not the network)", bubble);
}

static int by_saving(const void *x, const void *y)
{
    double a = ((const struct change *)x)->saves.us, b = ((const struct change *)y)->saves.us;
    return (a < b) - (a > b);
}

static int compare(struct comparison *c, struct err *e)
{
    int rc = 0;
    for (int i = 0; i < c->shown && !rc; i++)
        rc = estimate(c, i, e);
    if (!rc)
        rc = try_without(c, e);
    if (rc)
        return rc;
    for (int i = 0; i < c->w->ncases; i++)
        if (i != c->before && i) /* the bare machine is no change that a job can make */
            add_change(c, c->w->cases[i].label, less(&c->steps[i].now.waits, &c->steps[i].tuned.waits));
    try_job(c);
    if (c->nchanges)
        qsort(c->changes, (size_t)c->nchanges, sizeof *c->changes, by_saving);
    return 0;
}

/* ---- for people ---- */

static void print_cases(const struct comparison *c)
{
    const struct step_estimate *first = &c->steps[c->before];
    int width = 20;
    for (int i = 0; i < c->shown; i++)
        width = (int)strlen(c->w->cases[i].label) > width ? (int)strlen(c->w->cases[i].label) : width;
    width = width < 100 ? width : 100;
    printf("%s on %s: %d ranks, %d a node; PREDICTED milliseconds of one step\n\n",
           c->job->name ? env_comment(c->w->arena, c->job->name) : "workload", c->w->machine, c->job->ranks,
           c->job->ranks_per_node);
    printf("%-*s %13s %-24s %11s %9s\n", width, "", "communication", "(low to high)", "step", "saves");
    for (int i = 0; i < c->shown; i++) {
        const struct step_time *t = &c->steps[i].tuned.waits;
        char band[48];
        snprintf(band, sizeof band, "(%.1f to %.1f)", ms(t->low_us), ms(t->high_us));
        printf("%-*s %13.1f %-24s %11.1f", width, env_comment(c->w->arena, c->w->cases[i].label), ms(t->us), band,
               ms(t->us + first->compute_us));
        if (i == c->before)
            puts("    before");
        else
            printf(" %9.1f\n", ms(first->now.waits.us - t->us));
    }
}

static void print_phases(const struct comparison *c)
{
    const struct step_estimate *s = &c->steps[c->shown - 1];
    if (c->shown - 1 == c->before)
        return;
    printf("\n%-26s %11s %11s %-24s %11s %-24s\n", "phase", "compute", "before", "(low to high)", "after",
           "(low to high)");
    for (int i = 0; i < c->job->nphases; i++) {
        const struct step_phase *p = &s->phases[i];
        char compute[24] = "?", before[48], after[48];
        if (p->phase->compute_us >= 0)
            snprintf(compute, sizeof compute, "%.1f", ms(p->phase->compute_us * (1 + p->phase->bubble)));
        snprintf(before, sizeof before, "(%.1f to %.1f)", ms(p->now.waits.low_us), ms(p->now.waits.high_us));
        snprintf(after, sizeof after, "(%.1f to %.1f)", ms(p->tuned.waits.low_us), ms(p->tuned.waits.high_us));
        printf("%-26s %11s %11.1f %-24s %11.1f %-24s\n", env_comment(c->w->arena, p->phase->name), compute,
               ms(p->now.waits.us), before, ms(p->tuned.waits.us), after);
    }
}

static void print_changes(const struct comparison *c)
{
    puts(c->nchanges ? "\nWhat would save most:" : "\nNothing that was tried saves time.");
    for (int i = 0; i < c->nchanges && i < MOST_CHANGES; i++)
        printf("  %d. %s: %.1f ms (%.1f to %.1f)\n", i + 1, env_comment(c->w->arena, c->changes[i].what),
               ms(c->changes[i].saves.us), ms(c->changes[i].saves.low_us), ms(c->changes[i].saves.high_us));
    const struct step_estimate *s = &c->steps[c->before];
    if (s->unknown)
        printf("%d call%s of the job cannot be predicted and are in no sum.\n", s->unknown, s->unknown == 1 ? "" : "s");
    if (s->compute_unknown)
        printf("The step lacks the compute of %d phase%s, which the workload does not tell.\n", s->compute_unknown,
               s->compute_unknown == 1 ? "" : "s");
    for (int i = 0; i < s->nassumptions; i++)
        printf("Assumed: %s\n", env_comment(c->w->arena, s->assumptions[i]));
}

/* ---- for programs ---- */

static void add_time(cJSON *o, const char *key, const struct step_time *t)
{
    cJSON *time = cJSON_AddObjectToObject(o, key);
    cJSON_AddNumberToObject(time, "time_us", t->us);
    cJSON_AddNumberToObject(time, "low_us", t->low_us);
    cJSON_AddNumberToObject(time, "high_us", t->high_us);
}

static int save(const struct comparison *c, struct err *e)
{
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "format", FORMAT);
    json_add_str(doc, "machine", c->w->machine);
    json_add_str(doc, "workload", c->job->name);
    cJSON_AddNumberToObject(doc, "compute_us", c->steps[c->before].compute_us);
    cJSON_AddNumberToObject(doc, "before", c->before);
    cJSON *cases = cJSON_AddArrayToObject(doc, "cases"), *changes = cJSON_AddArrayToObject(doc, "changes");
    for (int i = 0; i < c->shown; i++) {
        cJSON *o = cJSON_CreateObject(), *phases = NULL;
        json_add_str(o, "label", c->w->cases[i].label);
        add_time(o, "communication", &c->steps[i].tuned.waits);
        phases = cJSON_AddArrayToObject(o, "phases");
        for (int k = 0; k < c->job->nphases; k++) {
            cJSON *p = cJSON_CreateObject();
            json_add_str(p, "name", c->job->phases[k].name);
            add_time(p, "communication", &c->steps[i].phases[k].tuned.waits);
            cJSON_AddItemToArray(phases, p);
        }
        cJSON_AddItemToArray(cases, o);
    }
    for (int i = 0; i < c->nchanges; i++) {
        cJSON *o = cJSON_CreateObject();
        json_add_str(o, "change", c->changes[i].what);
        add_time(o, "saves", &c->changes[i].saves);
        cJSON_AddItemToArray(changes, o);
    }
    int rc = json_save(doc, NULL, e);
    cJSON_Delete(doc);
    return rc;
}

int cli_whatif_step(struct whatif *w, int before, const char *workload, int json, struct err *e)
{
    struct workload *job = workload_load(workload, e);
    if (!job)
        return e->code;
    struct comparison c = {.w = w, .job = job, .before = before, .shown = w->ncases};
    size_t most = (size_t)w->ncases + (size_t)w->cases[before].nsettings;
    c.steps = arena_alloc(w->arena, most * sizeof *c.steps);
    int rc = compare(&c, e);
    if (!rc && json) {
        rc = save(&c, e);
    } else if (!rc) {
        print_cases(&c);
        print_phases(&c);
        print_changes(&c);
    }
    workload_free(job);
    return rc;
}
