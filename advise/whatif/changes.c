/* The changes that save most, network or not. */
#include "advise/whatif/step.h"

#include <math.h>
#include <string.h>

#include "core/json.h"
#include "core/units.h"
#include "core/vars/text.h"

#define MOST 3
#define BULK (UINT64_C(1) << 20) /* bytes, from which a call moves data rather than waits */
#define SAME 1e-6                /* of a saving: another name of the same change */
#define TINY 0.01                /* of a step: not worth a line */

void step_changes_add(struct step_changes *c, const char *what, struct step_time saves)
{
    int at = 0;
    if (!(saves.us > 0))
        return;
    for (int i = 0; i < c->n; i++) {
        if (fabs(c->list[i].saves.us - saves.us) <= SAME * saves.us)
            return;
        at += c->list[i].saves.us > saves.us;
    }
    c->list = arena_grow(c->arena, c->list, (size_t)c->n, sizeof *c->list);
    memmove(c->list + at + 1, c->list + at, (size_t)(c->n++ - at) * sizeof *c->list);
    c->list[at] = (struct step_change){what, saves};
}

/* A copy whose calls of 32 bits have 16: of a job without a launch script. NULL: it has none. */
static const struct workload *in_16_bits(const struct workload *w, struct arena *a)
{
    struct workload *copy = ARENA_NEW(a, struct workload);
    int changed = 0;
    *copy = *w;
    copy->phases = arena_alloc(a, ((size_t)w->nphases + 1) * sizeof *copy->phases);
    for (int i = 0; i < w->nphases; i++) {
        struct workload_phase *p = &copy->phases[i];
        *p = w->phases[i];
        p->calls = arena_alloc(a, ((size_t)p->ncalls + 1) * sizeof *p->calls);
        for (int k = 0; k < p->ncalls; k++) {
            struct workload_call *c = &p->calls[k];
            *c = w->phases[i].calls[k];
            if (c->bytes < BULK || !c->dtype || strcmp(c->dtype, "float32") != 0)
                continue;
            c->bytes /= 2;
            changed = 1;
        }
    }
    return changed ? copy : NULL;
}

static struct step_time saved(const struct step_estimate *now, const struct step_estimate *then)
{
    struct step_time waits = step_time_less(&now->now.waits, &then->now.waits);
    double compute_us = now->compute_us - then->compute_us;
    return (struct step_time){compute_us + waits.us, compute_us + waits.low_us, compute_us + waits.high_us};
}

int step_changes_of_job(struct step_changes *c, const struct step_estimate *now, step_estimator f, void *arg,
                        struct err *e)
{
    const struct workload *w = now->workload, *less = w->nchanges ? NULL : in_16_bits(w, c->arena);
    struct step_estimate then;
    c->step_us = env_step_whole(now).us;
    int rc = less ? f(arg, less, &then, e) : 0;
    if (less && !rc)
        step_changes_add(c, "all that is sent in 32 bits, in 16", saved(now, &then));
    for (int i = 0; i < w->nchanges && !rc; i++)
        if (!(rc = f(arg, w->changes[i].workload, &then, e)))
            step_changes_add(c, w->changes[i].what, saved(now, &then));
    return rc;
}

/* ---- showing them ---- */

void step_changes_print(const struct step_changes *c, FILE *out)
{
    int n = 0;
    while (n < c->n && c->list[n].saves.us >= TINY * c->step_us)
        n++;
    if (n)
        fprintf(out, "\nWhat would save most of a step%s%s:\n", c->of ? " with " : "", c->of ? c->of : "");
    else
        fprintf(out, "\nNothing that was tried saves %s.\n", c->n ? "1 % of a step" : "time");
    for (int i = 0; i < n && i < MOST; i++) {
        const struct step_time *s = &c->list[i].saves;
        char saves[3 * UNIT_TEXT];
        fprintf(out, "  %d. %s: %s\n", i + 1, env_comment(c->arena, c->list[i].what),
                unit_band_us(saves, s->us, s->low_us, s->high_us));
    }
    if (n && n < MOST && n < c->n)
        fprintf(out, "  The other changes that were tried save less than 1 %% of a step.\n");
}

void step_changes_json(const struct step_changes *c, cJSON *doc)
{
    cJSON *changes = cJSON_AddArrayToObject(doc, "changes");
    for (int i = 0; i < c->n; i++) {
        cJSON *o = json_append(changes);
        json_add_str(o, "change", c->list[i].what);
        step_time_json(o, "saves", &c->list[i].saves);
    }
}
