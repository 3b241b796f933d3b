/* nccltune whatif --workload: the step of a job before and after, by phase, and the changes that save most. */
#include "cli/whatif_step.h"

#include <string.h>

#include "advise/whatif/causes.h"
#include "advise/whatif/step_profile.h"
#include "core/call/workload.h"
#include "core/json.h"
#include "core/vars/text.h"

#define FORMAT "nccltune-whatif-step/1"

struct comparison {
    struct whatif *w;
    const struct workload *job;
    int before, shown;           /* cases that were asked for; what is tried beyond them only counts as a change */
    struct step_estimate *steps; /* of every case, those that are tried too */
    struct step_changes changes;
    struct step_causes causes; /* why it may take longer */
    double measured_us;        /* what its communication takes; 0: not said */
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

static int under_before(void *arg, const struct workload *w, struct step_estimate *out, struct err *e)
{
    const struct comparison *c = arg;
    const struct model_setup *s = &c->w->cases[c->before].setup;
    return env_step_between(s, s, w, c->w->arena, out, e);
}

/* The case that a measured time is of: the one before, without --against the last one that has settings. */
static int measured_case(const struct comparison *c)
{
    int i = c->before ? c->before : c->shown - 1;
    while (i && !c->before && !c->w->cases[i].nsettings)
        i--;
    return i;
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
            step_changes_add(&c->changes, c->w->cases[i].label, less(&c->steps[i].now.waits, &c->steps[i].tuned.waits));
    rc = step_changes_of_job(&c->changes, &c->steps[c->before], under_before, c, e);
    return rc ? rc
              : step_causes_of(&c->w->cases[measured_case(c)].setup, c->job, c->measured_us, c->w->arena, &c->causes,
                               e);
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

static void print_rest(const struct comparison *c)
{
    step_changes_print(&c->changes, stdout);
    step_causes_print(&c->causes, c->measured_us, stdout);
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

static int save(const struct comparison *c, struct err *e)
{
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "format", FORMAT);
    json_add_str(doc, "machine", c->w->machine);
    json_add_str(doc, "workload", c->job->name);
    cJSON_AddNumberToObject(doc, "compute_us", c->steps[c->before].compute_us);
    cJSON_AddNumberToObject(doc, "before", c->before);
    cJSON *cases = cJSON_AddArrayToObject(doc, "cases");
    for (int i = 0; i < c->shown; i++) {
        cJSON *o = json_append(cases), *phases = NULL;
        json_add_str(o, "label", c->w->cases[i].label);
        step_time_json(o, "communication", &c->steps[i].tuned.waits);
        phases = cJSON_AddArrayToObject(o, "phases");
        for (int k = 0; k < c->job->nphases; k++) {
            cJSON *p = json_append(phases);
            json_add_str(p, "name", c->job->phases[k].name);
            step_time_json(p, "communication", &c->steps[i].phases[k].tuned.waits);
        }
    }
    step_changes_json(&c->changes, doc);
    step_causes_json(&c->causes, c->measured_us, doc);
    return json_save(doc, NULL, e);
}

int cli_whatif_step(struct whatif *w, int before, const struct cli_whatif_job *asked, int json, struct err *e)
{
    struct workload *job = workload_load(asked->workload, e);
    if (!job)
        return e->code;
    struct comparison c = {.w = w,
                           .job = job,
                           .before = before,
                           .shown = w->ncases,
                           .changes = {.arena = w->arena},
                           .measured_us = 1e6 * asked->measured_s};
    size_t most = (size_t)w->ncases + (size_t)w->cases[before].nsettings;
    c.steps = arena_alloc(w->arena, most * sizeof *c.steps);
    int rc = compare(&c, e);
    if (!rc && json) {
        rc = save(&c, e);
    } else if (!rc) {
        print_cases(&c);
        print_phases(&c);
        print_rest(&c);
    }
    workload_free(job);
    return rc;
}
