/* From a profile to what the models are asked about. */
#include "envgen/decide/decide.h"

#include <string.h>

#include "model/model.h"

/* One setting at a time, so that one that the model is silent on does not take the others with it. */
static void apply(const char *name, const char *value, struct nccl_setup *s, struct arena *a)
{
    const struct bench_setting setting = {name, value};
    const struct bench_knobs one = {"", &setting, 1};
    struct nccl_setup before = *s;
    if (model_apply(&one, s, a))
        *s = before;
}

static void apply_settings(const struct env_decisions *d, const char *node_class, struct nccl_setup *s, struct arena *a)
{
    for (int i = 0; i < d->nsettings; i++) {
        const struct env_setting *set = &d->settings[i];
        if (!strcmp(set->family, BENCH_FAMILY_NCCL) && set->value &&
            (!set->node_class || !strcmp(set->node_class, node_class)))
            apply(set->name, set->value, s, a);
    }
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
    if (under >= ENV_UNDER_SETTINGS)
        apply_settings(d, t->classes[index].name, s, a);
    return 0;
}
