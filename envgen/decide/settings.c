/* The variables of a profile: OpenMPI's from the decisions, NCCL's from the decisions and the topology; and what the
 * models are asked about. */
#include "envgen/decide/decide.h"

#include <string.h>

#include "core/call/result.h"
#include "core/vars/text.h"
#include "envgen/decide/steps.h"
#include "model/model.h"

struct env_setting *decide_find_setting(struct env_decisions *d, const char *name, const char *node_class)
{
    for (int i = 0; i < d->nsettings; i++) {
        const char *of = d->settings[i].node_class;
        if (!strcmp(d->settings[i].name, name) && (of && node_class ? !strcmp(of, node_class) : of == node_class))
            return &d->settings[i];
    }
    return NULL;
}

static const char *for_jobs(struct env_decisions *d, const struct env_shape *s)
{
    return arena_printf(d->arena, "%s, %s: %s", s->library, env_shape_text(d->arena, s), s->why);
}

/* What was only predicted is no setting unless the user asked for it. */
static struct env_setting chosen(struct env_decisions *d, const struct env_shape *s, const struct bench_engine *engine,
                                 const struct bench_setting *setting)
{
    struct env_setting out = {.family = engine->family,
                              .name = bench_plain_name(setting->name, d->arena),
                              .node_class = bench_node_class(setting->name),
                              .source = bench_evidence_text(engine->evidence),
                              .why = for_jobs(d, s)};
    if (engine->evidence != BENCH_PREDICTED || d->predicted)
        out.value = setting->value;
    else
        out.why = arena_printf(d->arena, "%s=%s is a prediction, which --predicted would set; %s", setting->name,
                               setting->value, out.why);
    return out;
}

/* The settings of the launch that was chosen. All shapes that had a choice made the same one; the first one's evidence
 * stands for them. */
static int add_chosen(struct env_decisions *d, const struct env_shape *s, const struct bench_engine *engine,
                      struct err *e)
{
    const struct bench_knobs *k = &s->launches[s->chosen].knobs;
    for (int i = 0; i < k->nsettings; i++) {
        struct env_setting out = chosen(d, s, engine, &k->settings[i]), all = out;
        int rc = env_check(out.name, k->settings[i].value, e);
        if (rc)
            return rc;
        all.node_class = all.value = NULL;
        all.why = arena_printf(d->arena, "classes of nodes have values of their own, see nccl.d/; %s", out.why);
        if (out.node_class && !decide_find_setting(d, out.name, NULL))
            env_add_setting(d, all);
        if (!decide_find_setting(d, out.name, out.node_class))
            env_add_setting(d, out);
    }
    return 0;
}

/* What was tried and left to the library, so that explain can say so. */
static void add_considered(struct env_decisions *d, const struct env_shape *s, const struct bench_engine *engine)
{
    for (int l = 0; l < s->nlaunches; l++)
        for (int i = 0; i < s->launches[l].knobs.nsettings; i++) {
            const char *name = bench_plain_name(s->launches[l].knobs.settings[i].name, d->arena);
            if (env_name_ok(name) && !decide_find_setting(d, name, NULL))
                env_add_setting(d, (struct env_setting){.family = engine->family,
                                                        .name = name,
                                                        .source = bench_evidence_text(engine->evidence),
                                                        .why = for_jobs(d, s)});
        }
}

static void add_rules_file(struct env_decisions *d, const struct env_rules *rules)
{
    struct env_setting s = {.family = "openmpi",
                            .name = "coll_tuned_use_dynamic_rules",
                            .value = rules->ncolls ? "1" : NULL,
                            .source = bench_evidence_text(BENCH_ON_HOST),
                            .why = rules->ncolls
                                       ? "openmpi.rules holds the algorithms that were chosen by measurement"
                                       : "no algorithm beats OpenMPI's own choice, so openmpi.rules is empty"};
    env_add_setting(d, s);
    s.name = "coll_tuned_dynamic_rules_filename";
    s.value = rules->ncolls ? "openmpi.rules" : NULL;
    s.in_profile = 1;
    env_add_setting(d, s);
}

/* What the launches of one engine's shapes lead to: choices first, so that nothing chosen counts as considered only. */
static int add_engine(struct env_decisions *d, const struct bench_engine *engine, int *measured, struct err *e)
{
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *s = &d->shapes[i];
        if (bench_engine_find(s->engine) != engine)
            continue;
        *measured = 1;
        int rc = s->chosen > 0 ? add_chosen(d, s, engine, e) : 0;
        if (rc)
            return rc;
    }
    for (int i = 0; i < d->nshapes; i++)
        if (bench_engine_find(d->shapes[i].engine) == engine)
            add_considered(d, &d->shapes[i], engine);
    return 0;
}

int env_settings(struct env_decisions *d, const struct env_rules *rules, const struct topology *t,
                 struct verbs_fabric *fabric, struct err *e)
{
    for (const struct bench_engine *const *engine = bench_engines; *engine; engine++) {
        int measured = 0, rc = add_engine(d, *engine, &measured, e);
        if (rc)
            return rc;
        if (measured && !strcmp((*engine)->family, BENCH_FAMILY_OPENMPI))
            add_rules_file(d, rules);
    }
    if (fabric)
        env_fabric(d, t, fabric);
    env_classes(d, t);
    return 0;
}

/* ---- what the models are asked about ---- */

/* One setting at a time, so that one that the model is silent on does not take the others with it. */
static void apply(const char *name, const char *value, struct nccl_setup *s, struct arena *a)
{
    const struct bench_setting setting = {name, value};
    const struct bench_knobs one = {"", &setting, 1};
    struct nccl_setup before = *s;
    if (model_apply(&one, s, a))
        *s = before;
}

static void apply_predicted(const struct env_decisions *d, struct nccl_setup *s, struct arena *a)
{
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *shape = &d->shapes[i];
        if (bench_evidence_of(shape->engine) != BENCH_PREDICTED || shape->chosen < 1)
            continue;
        const struct bench_knobs *k = &shape->launches[shape->chosen].knobs;
        for (int n = 0; n < k->nsettings; n++)
            apply(k->settings[n].name, k->settings[n].value, s, a);
        return;
    }
}

int env_model_setup(const struct env_decisions *d, const struct topology *t, int nccl, enum env_under under,
                    struct arena *a, struct nccl_setup *s)
{
    int index = topo_gpu_class(t);
    *s = (struct nccl_setup){.topology = t, .class_index = index, .version = nccl ? nccl : d->nccl_high};
    if (index < 0)
        return -1;
    if (under >= ENV_UNDER_CHOICES)
        apply_predicted(d, s, a);
    for (int i = 0; i < d->nsettings && under >= ENV_UNDER_SETTINGS; i++) {
        const struct env_setting *set = &d->settings[i];
        if (!strcmp(set->family, BENCH_FAMILY_NCCL) && set->value &&
            (!set->node_class || !strcmp(set->node_class, t->classes[index].name)))
            apply(set->name, set->value, s, a);
    }
    return 0;
}
