/* The variables of a profile: OpenMPI's from the decisions, NCCL's from the decisions and the topology. */
#include "envgen/decide/settings.h"

#include <string.h>

#include "core/vars/text.h"
#include "envgen/decide/amd.h"
#include "envgen/decide/classes.h"
#include "envgen/decide/fabric.h"

#define MEASURED "measured on host memory"

/* Whose variables an engine's launches set, and what its times are evidence of. */
static const struct family {
    const char *engine, *name, *source;
    int predicted;
} families[] = {
    {"mpi", "openmpi", MEASURED, 0}, {"nccl", "nccl", "measured on GPUs", 0}, {ENV_MODEL, "nccl", "predicted", 1}};
#define FAMILIES (sizeof families / sizeof *families)

static void add(struct env_decisions *d, struct env_setting s)
{
    d->settings = arena_grow(d->arena, d->settings, (size_t)d->nsettings, sizeof *d->settings);
    d->settings[d->nsettings++] = s;
}

static struct env_setting *find(struct env_decisions *d, const char *name)
{
    for (int i = 0; i < d->nsettings; i++)
        if (!strcmp(d->settings[i].name, name))
            return &d->settings[i];
    return NULL;
}

static const char *for_jobs(struct env_decisions *d, const struct env_shape *s)
{
    return arena_printf(d->arena, "%s, %d nodes, %d ranks: %s", s->library, s->nodes, s->ranks, s->why);
}

/* What was only predicted is no setting unless the user asked for it. */
static struct env_setting chosen(struct env_decisions *d, const struct env_shape *s, const struct family *f,
                                 const struct bench_setting *setting)
{
    struct env_setting out = {.family = f->name, .name = setting->name, .source = f->source, .why = for_jobs(d, s)};
    if (!f->predicted || d->predicted)
        out.value = setting->value;
    else
        out.why = arena_printf(d->arena, "%s=%s is a prediction, which --predicted would set; %s", setting->name,
                               setting->value, out.why);
    return out;
}

/* The settings of the launch that was chosen. All shapes that had a choice made the same one; the first one's evidence
 * stands for them. */
static int add_chosen(struct env_decisions *d, const struct env_shape *s, const struct family *f, struct err *e)
{
    const struct bench_knobs *k = &s->launches[s->chosen].knobs;
    for (int i = 0; i < k->nsettings; i++) {
        int rc = env_check(k->settings[i].name, k->settings[i].value, e);
        if (rc)
            return rc;
        if (!find(d, k->settings[i].name))
            add(d, chosen(d, s, f, &k->settings[i]));
    }
    return 0;
}

/* What was tried and left to the library, so that explain can say so. */
static void add_considered(struct env_decisions *d, const struct env_shape *s, const struct family *f)
{
    for (int l = 0; l < s->nlaunches; l++)
        for (int i = 0; i < s->launches[l].knobs.nsettings; i++) {
            const char *name = s->launches[l].knobs.settings[i].name;
            if (env_name_ok(name) && !find(d, name))
                add(d,
                    (struct env_setting){.family = f->name, .name = name, .source = f->source, .why = for_jobs(d, s)});
        }
}

static void add_rules_file(struct env_decisions *d, const struct env_rules *rules)
{
    const char *why = rules->ncolls ? "openmpi.rules holds the algorithms that were chosen by measurement"
                                    : "no algorithm beats OpenMPI's own choice, so openmpi.rules is empty";
    const char *on = rules->ncolls ? "1" : NULL, *file = rules->ncolls ? "openmpi.rules" : NULL;
    add(d,
        (struct env_setting){
            .family = "openmpi", .name = "coll_tuned_use_dynamic_rules", .value = on, .source = MEASURED, .why = why});
    add(d, (struct env_setting){.family = "openmpi",
                                .name = "coll_tuned_dynamic_rules_filename",
                                .value = file,
                                .source = MEASURED,
                                .why = why,
                                .in_profile = 1});
}

/* What the launches of one engine's shapes lead to: choices first, so that nothing chosen counts as considered only. */
static int add_family(struct env_decisions *d, const struct family *f, int *measured, struct err *e)
{
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *s = &d->shapes[i];
        if (strcmp(s->engine, f->engine) != 0)
            continue;
        *measured = 1;
        int rc = s->chosen > 0 ? add_chosen(d, s, f, e) : 0;
        if (rc)
            return rc;
    }
    for (int i = 0; i < d->nshapes; i++)
        if (!strcmp(d->shapes[i].engine, f->engine))
            add_considered(d, &d->shapes[i], f);
    return 0;
}

int env_settings(struct env_decisions *d, const struct env_rules *rules, const struct topology *t,
                 struct verbs_fabric *fabric, struct err *e)
{
    for (size_t f = 0; f < FAMILIES; f++) {
        int measured = 0, rc = add_family(d, &families[f], &measured, e);
        if (rc)
            return rc;
        if (measured && !strcmp(families[f].engine, "mpi"))
            add_rules_file(d, rules);
    }
    if (fabric)
        env_fabric(d, t, fabric);
    env_classes(d, t);
    env_amd_advice(d, t);
    return 0;
}
