/* What may be wrong where communication takes long, and what the model says each costs on the machine. */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "advise/diagnose/rules.h"
#include "advise/whatif/step.h"
#include "core/coll.h"
#include "core/units.h"
#include "core/vars/catalogue.h"
#include "core/vars/parse.h"
#include "model/model.h"
#include "probe/machines/machines.h"

/* ---- against what a site installed ------------------------------------------------------------------------------- */

/* What NCCL's log and the job's variables contradict: the profile that jobs should have, the machine's topology. */

/* The profile's value, where it has the same for nodes of all classes; NULL: it sets none. */
static const char *expected_value(const struct diagnosis *d, const char *name)
{
    const struct env_decisions *x = d->expected.profile ? d->expected.profile->decisions : NULL;
    const char *value = NULL;
    int n = 0;
    for (int i = 0; x && i < x->nsettings; i++)
        if (!strcmp(x->settings[i].name, name) && x->settings[i].value) {
            value = x->settings[i].value;
            n++;
        }
    return n == 1 ? value : NULL;
}

/* "=mlx5_0:1,mlx5_1:1" of the profile, else what the topology has for GPUs: names that NCCL's log has not. */
static void judge_hcas(struct judge *j)
{
    const struct diag_nccl *n = &j->d->nccl;
    const struct topology *t = j->d->expected.profile ? NULL : j->d->expected.topology;
    const struct topo_class *c = t && topo_gpu_class(t) >= 0 ? &t->classes[topo_gpu_class(t)] : NULL;
    const char *list =
        c ? roles_hca_list(c, roles_of(c, j->d->arena), j->d->arena) : expected_value(j->d, "NCCL_IB_HCA");
    const char *missing = "", *whose = c ? "that the topology has for GPUs" : "that the profile names";
    int all = 0, used = 0;
    if (!list || *list == '^' || n->nhcas == DIAG_HCAS)
        return;
    for (const char *p = list + (*list == '='); *p; p += *p == ',') {
        size_t len = strcspn(p, ":,");
        int named = diag_is_used(n, p, len);
        all++;
        used += named;
        if (!named)
            missing = arena_printf(j->d->arena, "%s%s%.*s", missing, *missing ? ", " : "", (int)len, p);
        p += strcspn(p, ",");
    }
    if (!n->nhcas && !c && !strncmp(n->network, "Socket", 6))
        diag_found(j, "unused-hcas", 0.5, n->socket_place, "the profile names HCAs (%.200s), but NCCL uses sockets",
                   list);
    else if (n->nhcas && *missing)
        diag_found(j, "unused-hcas", c ? 0.4 * (1 - (double)used / all) : 0.4, n->place,
                   "NCCL uses %d of the %d HCAs %s: not %.200s", used, all, whose, missing);
    else if (!c && n->nhcas > all)
        diag_found(j, "unused-hcas", 0.2, n->place, "NCCL uses %d HCAs, and the profile names %d", n->nhcas, all);
}

void diag_add_profile(struct judge *j)
{
    const struct diag_nccl *n = &j->d->nccl;
    const struct env_profile *p = j->d->expected.profile;
    const char *list = "", *place = "", *version = arena_strndup(j->d->arena, n->version, strcspn(n->version, "+-"));
    int low, high;
    if (p && (*n->plugin || n->own_tuner) && !strstr(n->plugin, "nccltune") &&
        !access(arena_printf(j->d->arena, "%s/tuner.csv", p->dir), F_OK))
        diag_found(j, "plugin-not-loaded", 0.3, n->tuner_place, "the profile has a tuner table, but NCCL %s%s",
                   *n->plugin ? "asks the tuner " : "found no tuner plugin and uses its own tuner", n->plugin);
    if (*n->no_table)
        diag_found(j, "table-not-used", 0.3, n->tuner_place, "the tuner plugin leaves its table out: %s", n->no_table);
    if (p && *version && p->decisions->nccl_high && !env_version_parse(version, &low, &high) &&
        (low / 100 < p->decisions->nccl_low / 100 || low / 100 > p->decisions->nccl_high / 100)) {
        char low_text[ENV_VERSION], high_text[ENV_VERSION];
        diag_found(j, "other-release", 0.2, n->place, "the job runs NCCL %s, and the profile is for %s to %s", version,
                   env_version_text(low_text, p->decisions->nccl_low),
                   env_version_text(high_text, p->decisions->nccl_high));
    }
    for (int i = 0; i < j->d->nvariables; i++) {
        const struct diag_variable *v = &j->d->variables[i];
        const char *value = expected_value(j->d, v->name);
        if (!value || !strcmp(value, v->value))
            continue;
        place = *list ? place : v->place;
        list = arena_printf(j->d->arena, "%s%s%s=%s (profile: %s)", list, *list ? ", " : "", v->name, v->value, value);
    }
    if (*list)
        diag_found(j, "other-values", 0.2, place, "the job has other values than the profile: %.400s", list);
    judge_hcas(j);
}

/* ---- costs ------------------------------------------------------------------------------------------------------- */

/* What NCCL's log rules out. */
static int is_ruled_out(const struct diag_nccl *n, const char *id)
{
    if (!strcmp(id, "no-gdr"))
        return n->ib && n->gdr == n->ib;
    if (!strcmp(id, "sockets"))
        return n->ib && !n->socket;
    return !strcmp(id, "unused-hcas") && n->nhcas > 1;
}

/* "85.1 ms (60.0 to 110.0)" of a step, or a factor where the step is not known. */
static const char *cost_of(const struct judge *j, const struct step_causes *all, const struct step_cause *c)
{
    double times = c->waits.us / all->sound.us;
    if (!j->d->expected.workload && !j->d->traced.count)
        return arena_printf(j->d->arena, "makes a large AllReduce %.1f times as long", times);
    char with[3 * UNIT_TEXT];
    return arena_printf(j->d->arena, "makes %s %s, %.1f times as long",
                        j->d->expected.workload ? "communication of a step" : "it",
                        unit_band_us(with, c->waits.us, c->waits.low_us, c->waits.high_us), times);
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
    struct diag_finding *f = NULL;
    for (int i = j->r->nfindings - 1; i >= 0; i--)
        f = !strcmp(j->r->findings[i].id, c->id) ? &j->r->findings[i] : f;
    const char *cost = cost_of(j, all, c);
    if (f && (n->nhcas == 1 || strcmp(c->id, "unused-hcas") != 0)) {
        size_t used = strlen(f->text);
        snprintf(f->text + used, sizeof f->text - used, "; by the model that %s", cost);
    }
    int is_excluded = measured_us > 0 && (measured_us <= all->sound.high_us || measured_us < c->waits.low_us);
    if (f || is_ruled_out(n, c->id) || is_excluded || (!(measured_us > 0) && j->r->verdict != DIAG_IS_COMMUNICATION))
        return;
    struct diag_finding found = {c->id, DIAG_POSSIBLE, c->check, ""};
    diag_hit(&found, weight_of(j, all, c->waits.us, measured_us), "", "perhaps %s: by the model that %s%s", c->what,
             cost,
             measured_us > 0 && step_time_holds(&c->waits, measured_us) ? ", which would explain the measurement" : "");
    diag_add_finding(j->r, &found);
}

/* What the step's communication, or the trace's heaviest call, should take. */
static void add_sound(struct judge *j, const struct step_causes *all, double measured_us)
{
    const struct step_time *s = &all->sound;
    const int is_more = measured_us > s->high_us;
    struct diag_finding f = {is_more ? "more-than-predicted" : "as-predicted", DIAG_LIKELY,
                             is_more ? "one of the causes below, each with its predicted cost; nccltune verify measures"
                                     : "look at how much is sent, and what hides it, before the network",
                             ""};
    char takes[3 * UNIT_TEXT], needs[3 * UNIT_TEXT], size[UNIT_TEXT];
    const struct diag_traced *t = &j->d->traced;
    if (!j->s || !(measured_us > 0))
        return;
    const char *what = "communication of a step";
    if (!j->d->expected.workload)
        what = arena_printf(j->d->arena, "%s of %s among %d ranks, the shortest of %ld,", coll_name(t->coll),
                            unit_bytes(size, t->bytes), t->ranks, t->count);
    diag_hit(&f, is_more ? j->s->communication_share * (1 - s->us / measured_us) : 0, j->s->place,
             "%s takes %s, and such a machine needs %s: %s", what, unit_band_us(takes, measured_us, 0, 0),
             unit_band_us(needs, s->us, s->low_us, s->high_us),
             is_more                   ? "it is slow"
             : measured_us < s->low_us ? "nothing is slow, or it was not all measured"
                                       : "nothing is slow");
    diag_add_finding(j->r, &f);
}

/* ---- what the best row of nccl-tests should have shown ----------------------------------------------------------- */

#define FELT 1.15 /* times as long: a setting that costs less explains nothing */

static int predict_row(const struct model_setup *s, const struct diag_tests *t, struct arena *a, struct model_time *out)
{
    struct err e = {0};
    struct model *m = model_new(s, a, &e);
    return m && !model_predict(m, &(struct model_call){t->coll, (uint64_t)t->bytes, -1, -1, 0}, out);
}

/* How many devices a list of full names has; 0: it excludes or has prefixes. */
static int count_names(const char *list)
{
    struct env_devices d;
    env_parse_devices(list, &d);
    for (int i = 0; i < d.count; i++) {
        const struct env_device *x = &d.list[i];
        if (d.exclude || !x->length || !isdigit((unsigned char)x->name[x->length - 1]) ||
            !strncmp(x->name, "mlx5", x->length))
            return 0;
    }
    return d.count;
}

/* Names differ from site to site: on a machine that is known by its GPUs alone a list counts by its length. */
static const char *by_length(const struct diagnosis *d, const struct model_setup *s, const char *list)
{
    const struct topo_class *c = &s->nccl.topology->classes[s->nccl.class_index];
    const char *all = roles_hca_list(c, roles_of(c, d->arena), d->arena);
    int n = count_names(list);
    if (!all || !n || n >= count_names(all))
        return NULL;
    size_t end = 0;
    for (int i = 0; i < n; i++)
        end += (i > 0) + strcspn(all + end + (i > 0), ",");
    return arena_strndup(d->arena, all, end);
}

void diag_expect_tests(struct diagnosis *d, struct diag_tests *t)
{
    const struct topology *known = d->expected.topology ? d->expected.topology : d->machine;
    const int is_known = known && topo_gpu_class(known) >= 0;
    struct err none = {0};
    if (t->coll < 0 || !t->nhosts || t->ranks % t->nhosts || t->ranks < 2 || !(t->bytes >= 1 && t->bytes < 1e15) ||
        t->busbw_GBps <= 0 || (!is_known && !t->machine))
        return;
    if (!is_known) {
        topo_free(d->assumed);
        d->assumed = machine_topology(t->machine, t->nhosts, &none);
    }
    struct model_setup s = {.nccl = {.topology = is_known ? known : d->assumed,
                                     .nodes = t->nhosts,
                                     .ranks_per_node = t->ranks / t->nhosts}};
    struct model_time sound, with;
    s.nccl.class_index = s.nccl.topology ? topo_gpu_class(s.nccl.topology) : -1;
    if (s.nccl.class_index < 0 || !predict_row(&s, t, d->arena, &sound))
        return;
    const double busbw = t->busbw_GBps * t->time_us; /* times microseconds */
    t->expected = (struct diag_range){busbw / sound.us, busbw / sound.high_us, busbw / sound.low_us};
    double most = FELT * sound.us;
    for (int i = 0; i < d->nvariables; i++) {
        struct bench_setting one = {d->variables[i].name, d->variables[i].value};
        struct model_setup changed = s;
        const int run = (int)(t - d->runs), from = d->variables[i].run;
        if (from > run || (from < run && d->variables[i].of_command))
            continue; /* another run's */
        if (!is_known && !strcmp(one.name, "NCCL_IB_HCA"))
            one.value = by_length(d, &s, one.value);
        if (!one.value || model_apply(&(struct bench_knobs){"", &one, 1}, &changed.nccl, d->arena) ||
            !predict_row(&changed, t, d->arena, &with) || with.us <= most)
            continue;
        most = with.us;
        t->slow_variable = &d->variables[i];
        t->with_it = (struct diag_range){busbw / with.us, busbw / with.high_us, busbw / with.low_us};
    }
}

void diag_add_causes(struct judge *j)
{
    struct model_setup s = {.nccl.topology = j->d->expected.topology};
    struct step_causes all;
    struct err e = {0};
    const struct diag_traced *t = &j->d->traced;
    const struct workload *w = j->d->expected.workload;
    struct workload *one = NULL;
    double measured_us = j->s && j->s->visible && w ? 1e3 * j->s->step_ms * j->s->communication_share : 0;
    s.nccl.class_index = s.nccl.topology ? topo_gpu_class(s.nccl.topology) : -1;
    if (s.nccl.class_index < 0)
        return;
    for (int i = 0; i < j->d->nvariables; i++) {
        const struct bench_setting set = {j->d->variables[i].name, j->d->variables[i].value};
        model_apply(&(struct bench_knobs){"", &set, 1}, &s.nccl, j->d->arena);
    }
    if (!w && t->count && !(t->ranks % j->d->expected.topology->classes[s.nccl.class_index].ngpus)) {
        w = one =
            workload_of_call(t->coll, t->bytes, t->ranks, j->d->expected.topology->classes[s.nccl.class_index].ngpus);
        measured_us = t->shortest_us;
    }
    int rc = step_causes_of(&s, w, measured_us, j->d->arena, &all, &e);
    workload_free(one);
    if (rc)
        return;
    add_sound(j, &all, measured_us);
    for (int i = 0; i < all.n; i++)
        add_cause(j, &all, &all.list[i], measured_us);
}
