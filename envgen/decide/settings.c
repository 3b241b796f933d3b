/* The variables of a profile: OpenMPI's from the decisions, NCCL's from the decisions and the topology. */
#include "envgen/decide/decide.h"

#include <string.h>

#include "core/call/result.h"
#include "core/vars/text.h"
#include "envgen/decide/steps.h"

/* Of a class of nodes, or NULL: of all. */
static struct env_setting *find(struct env_decisions *d, const char *name, const char *node_class)
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
        if (out.node_class && !find(d, out.name, NULL))
            env_add_setting(d, all);
        if (!find(d, out.name, out.node_class))
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
            if (env_name_ok(name) && !find(d, name, NULL))
                env_add_setting(d, (struct env_setting){.family = engine->family,
                                                        .name = name,
                                                        .source = bench_evidence_text(engine->evidence),
                                                        .why = for_jobs(d, s)});
        }
}

static void add_rules_file(struct env_decisions *d, const struct env_rules *rules)
{
    const char *why = rules->ncolls ? "openmpi.rules holds the algorithms that were chosen by measurement"
                                    : "no algorithm beats OpenMPI's own choice, so openmpi.rules is empty";
    const char *on = rules->ncolls ? "1" : NULL, *file = rules->ncolls ? "openmpi.rules" : NULL;
    env_add_setting(d, (struct env_setting){.family = "openmpi",
                                            .name = "coll_tuned_use_dynamic_rules",
                                            .value = on,
                                            .source = bench_evidence_text(BENCH_ON_HOST),
                                            .why = why});
    env_add_setting(d, (struct env_setting){.family = "openmpi",
                                            .name = "coll_tuned_dynamic_rules_filename",
                                            .value = file,
                                            .source = bench_evidence_text(BENCH_ON_HOST),
                                            .why = why,
                                            .in_profile = 1});
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
    env_amd_advice(d, t);
    return 0;
}
