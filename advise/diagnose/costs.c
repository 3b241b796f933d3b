/* What may be wrong where communication takes long, and what the model says each costs on the machine. */
#include <math.h>
#include <string.h>

#include "advise/diagnose/rules.h"
#include "advise/whatif/causes.h"
#include "model/model.h"

/* What NCCL's log rules out. */
static int is_ruled_out(const struct diag_nccl *n, const char *id)
{
    if (!strcmp(id, "no-gdr"))
        return n->ib && n->gdr == n->ib;
    if (!strcmp(id, "sockets"))
        return n->ib && !n->socket;
    return !strcmp(id, "unused-hcas") && n->nhcas > 1;
}

static struct diag_finding *finding(struct diag_result *r, const char *id)
{
    for (int i = 0; i < r->nfindings; i++)
        if (!strcmp(r->findings[i].id, id))
            return &r->findings[i];
    return NULL;
}

/* The job as NCCL is told: the machine and what the job sets. */
static void set_up(const struct diagnosis *d, struct model_setup *s)
{
    s->nccl.topology = d->expected.topology;
    s->nccl.class_index = topo_gpu_class(d->expected.topology);
    for (int i = 0; i < d->nvariables && s->nccl.class_index >= 0; i++) {
        const struct bench_setting one = {d->variables[i].name, d->variables[i].value};
        model_apply(&(struct bench_knobs){"", &one, 1}, &s->nccl, d->arena);
    }
}

/* "85.1 ms (60.0 to 110.0)" of a step, or a factor where the step is not known. */
static const char *cost_of(const struct judge *j, const struct step_causes *all, const struct step_cause *c)
{
    double times = c->waits.us / all->sound.us;
    if (!j->d->expected.workload)
        return arena_printf(j->d->arena, "makes a large AllReduce %.1f times as long", times);
    return arena_printf(j->d->arena, "makes communication %.1f ms of a step (%.1f to %.1f), %.1f times as long",
                        c->waits.us / 1e3, c->waits.low_us / 1e3, c->waits.high_us / 1e3, times);
}

/* What is at stake: the time beyond what is due; causes that come nearer to it weigh more. */
static double weight_of(const struct judge *j, const struct step_causes *all, double us, double measured_us)
{
    double nearness = measured_us > 0 ? fmin(us, measured_us) / fmax(us, measured_us) : 1;
    double takes_us = measured_us > 0 ? measured_us : us;
    return j->s ? 0.99 * nearness * j->s->communication_share * (1 - all->sound.us / takes_us) : 0;
}

static void add_cause(struct judge *j, const struct step_causes *all, const struct step_cause *c, double measured_us)
{
    const struct diag_nccl *n = &j->d->nccl;
    struct diag_finding *f = finding(j->r, c->id);
    const char *cost = cost_of(j, all, c);
    if (f && (n->nhcas == 1 || strcmp(c->id, "unused-hcas") != 0)) {
        size_t used = strlen(f->text);
        snprintf(f->text + used, sizeof f->text - used, "; by the model that %s", cost);
    }
    if (f || is_ruled_out(n, c->id) || (j->r->verdict != DIAG_IS_COMMUNICATION && measured_us <= all->sound.high_us))
        return;
    struct diag_hit h;
    const struct diag_rule rule = {c->id, NULL, DIAG_POSSIBLE, c->check, ""};
    diag_hit(&h, weight_of(j, all, c->waits.us, measured_us), "", "perhaps %s: by the model that %s%s", c->what, cost,
             measured_us > 0 && step_time_holds(&c->waits, measured_us) ? ", and it would explain what was measured"
                                                                        : "");
    diag_add_finding(j->r, &rule, &h);
}

/* What the step's communication should take, where the step is known. */
static void add_sound(struct judge *j, const struct step_causes *all, double measured_us)
{
    struct diag_hit h;
    const struct step_time *s = &all->sound;
    const struct diag_rule rule = {
        "more-than-predicted", NULL, DIAG_LIKELY,
        "one of the causes below, each with what the model says it costs; nccltune verify measures", ""};
    if (!j->s || measured_us <= s->high_us)
        return;
    diag_hit(&h, j->s->communication_share * (1 - s->us / measured_us), j->s->place,
             "communication takes %.1f ms of a step, and such a machine needs %.1f ms (%.1f to %.1f) for this job",
             measured_us / 1e3, s->us / 1e3, s->low_us / 1e3, s->high_us / 1e3);
    diag_add_finding(j->r, &rule, &h);
}

void diag_add_causes(struct judge *j)
{
    struct model_setup s = {0};
    struct step_causes all;
    struct err e = {0};
    double measured_us =
        j->s && j->s->visible && j->d->expected.workload ? 1e3 * j->s->step_ms * j->s->communication_share : 0;
    if (!j->d->expected.topology)
        return;
    set_up(j->d, &s);
    if (s.nccl.class_index < 0 || step_causes_of(&s, j->d->expected.workload, measured_us, j->d->arena, &all, &e))
        return;
    add_sound(j, &all, measured_us);
    for (int i = 0; i < all.n; i++)
        add_cause(j, &all, &all.list[i], measured_us);
}
