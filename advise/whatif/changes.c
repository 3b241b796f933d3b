/* The changes that save most, network or not. */
#include "advise/whatif/changes.h"

#include <math.h>
#include <string.h>

#include "core/json.h"
#include "core/vars/text.h"

#define MOST  3
#define BULK  (UINT64_C(1) << 20) /* bytes, from which a call moves data rather than waits */
#define SAME  1e-6                /* of a saving: another name of the same change */
#define COUNT (sizeof variations / sizeof *variations)

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

/* ---- variations of a job: each changes the copy of a workload and says whether anything was there to change ---- */

static int halve_bubble(struct workload *w)
{
    int changed = 0;
    for (int i = 0; i < w->nphases; i++) {
        changed |= w->phases[i].bubble > 0;
        w->phases[i].bubble /= 2;
    }
    return changed;
}

static int no_offload(struct workload *w)
{
    int changed = 0;
    for (int i = 0; i < w->nphases; i++)
        if (!strcmp(w->phases[i].name, "offload") && w->phases[i].compute_us > 0) {
            w->phases[i].compute_us = 0;
            changed = 1;
        }
    return changed;
}

static int is_bulk(const struct workload_call *c)
{
    return c->bytes >= BULK;
}

static int in_16_bits(struct workload *w)
{
    int changed = 0;
    for (int i = 0; i < w->nphases; i++)
        for (int k = 0; k < w->phases[i].ncalls; k++) {
            struct workload_call *c = &w->phases[i].calls[k];
            if (!is_bulk(c) || !c->dtype || strcmp(c->dtype, "float32") != 0)
                continue;
            c->bytes /= 2;
            changed = 1;
        }
    return changed;
}

static int ends_in(const char *name, const char *word)
{
    size_t n = strlen(name), m = strlen(word);
    return n >= m && !strcmp(name + n - m, word);
}

/* What an optimizer's phase moves, behind the compute of the forward and backward phases before it. */
static int behind_compute(struct workload *w)
{
    double compute_us = 0, count = 0;
    int changed = 0;
    for (int i = 0; i < w->nphases; i++) {
        struct workload_phase *p = &w->phases[i];
        if (ends_in(p->name, "forward") || ends_in(p->name, "backward"))
            compute_us += fmax(0, p->compute_us);
        if (!ends_in(p->name, "optimizer"))
            continue;
        for (int k = 0; k < p->ncalls; k++)
            count += is_bulk(&p->calls[k]) ? p->calls[k].count : 0;
        for (int k = 0; k < p->ncalls && compute_us > 0; k++)
            if (is_bulk(&p->calls[k])) {
                p->calls[k].overlap_us = fmax(p->calls[k].overlap_us, compute_us / count);
                changed = 1;
            }
        compute_us = count = 0;
    }
    return changed;
}

static const struct {
    const char *what;
    int (*change)(struct workload *w);
} variations[] = {
    {"gradients and weights behind compute (Megatron-LM: --overlap-grad-reduce --overlap-param-gather)",
     behind_compute},
    {"gradients and weights in 16 bits on the wire, where they are in 32", in_16_bits},
    {"two pieces of the model a pipeline stage: half the bubble (not the network)", halve_bubble},
    {"no offload, if the memory suffices (not the network)", no_offload},
};

static struct workload *copy_of(const struct workload *w, struct arena *a)
{
    struct workload *copy = ARENA_NEW(a, struct workload);
    *copy = *w;
    copy->phases = arena_alloc(a, ((size_t)w->nphases + 1) * sizeof *copy->phases);
    for (int i = 0; i < w->nphases; i++) {
        const struct workload_phase *p = &w->phases[i];
        copy->phases[i] = *p;
        copy->phases[i].calls = arena_alloc(a, ((size_t)p->ncalls + 1) * sizeof *p->calls);
        for (int k = 0; k < p->ncalls; k++)
            copy->phases[i].calls[k] = p->calls[k];
    }
    return copy;
}

static struct step_time saved(const struct step_estimate *now, const struct step_estimate *then)
{
    const struct step_time *x = &now->now.waits, *y = &then->now.waits;
    double compute_us = now->compute_us - then->compute_us;
    return (struct step_time){compute_us + x->us - y->us, compute_us + x->low_us - y->low_us,
                              compute_us + x->high_us - y->high_us};
}

int step_changes_of_job(struct step_changes *c, const struct step_estimate *now, step_estimator f, void *arg,
                        struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < COUNT && !rc; i++) {
        struct workload *w = copy_of(now->workload, c->arena);
        struct step_estimate then;
        if (!variations[i].change(w) || (rc = f(arg, w, &then, e)))
            continue;
        step_changes_add(c, variations[i].what, saved(now, &then));
    }
    return rc;
}

/* ---- showing them ---- */

void step_changes_print(const struct step_changes *c, FILE *out)
{
    if (c->n)
        fprintf(out, "\nWhat would save most of a step%s%s:\n", c->of ? " with " : "", c->of ? c->of : "");
    else
        fputs("\nNothing that was tried saves time.\n", out);
    for (int i = 0; i < c->n && i < MOST; i++) {
        const struct step_time *s = &c->list[i].saves;
        fprintf(out, "  %d. %s: %.1f ms (%.1f to %.1f)\n", i + 1, env_comment(c->arena, c->list[i].what), s->us / 1e3,
                s->low_us / 1e3, s->high_us / 1e3);
    }
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
