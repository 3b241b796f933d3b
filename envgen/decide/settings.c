/* The variables of a profile: OpenMPI's from the decisions, NCCL's from the decisions and the topology, and what makers
 * of machines publish; and what the models are asked about. */
#include "envgen/decide/decide.h"

#include <string.h>

#include "core/call/result.h"
#include "core/vars/catalogue.h"
#include "core/vars/text.h"
#include "envgen/decide/steps.h"
#include "model/model.h"

/* The setting of a class of nodes, or NULL: of all; NULL: there is none. */
static struct env_setting *find_setting(struct env_decisions *d, const char *name, const char *node_class)
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
        if (out.node_class && !find_setting(d, out.name, NULL))
            env_add_setting(d, all);
        if (!find_setting(d, out.name, out.node_class))
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
            if (env_name_ok(name) && !find_setting(d, name, NULL))
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

/* ---- what makers of machines publish for them ---- */

/* A virtual machine's firmware names the cloud and not the instance type, so the GPUs and the fabric tell which machine
 * it is. */
enum how { ADVISE, SET };
enum fabric { ANY_FABRIC, INFINIBAND, ROCE, EFA, SLINGSHOT, NINE_NICS, IBP_NAMES, OTHER_FABRIC };

struct machine {
    const char *id, *maker, *other_maker; /* words in the product's name; NULL: any */
    const char *gpu; /* a word in the GPUs' names, or the beginning of AMD's architecture; NULL: any */
    int gpus;        /* at least */
    enum fabric fabric;
    const char *people;
};

struct fact {
    const char *name, *value;
    enum how how;
    int from, to; /* NCCL releases, 0: any */
    const char *purpose, *source;
};

/* Machines and facts in one list: a row with an id begins a machine. */
static const struct row {
    struct machine machine;
    struct fact fact;
} table[] = {
#define MACHINE(id, maker, other, gpu, gpus, fabric, people) {.machine = {id, maker, other, gpu, gpus, fabric, people}},
#define FACT(name, value, how, from, to, purpose, source)    {.fact = {name, value, how, from, to, purpose, source}},
#include "envgen/decide/site_facts.inc"
};
#define ROWS ((int)(sizeof table / sizeof *table))

static int starts(const char *name, const char *prefix)
{
    return name && !strncmp(name, prefix, strlen(prefix));
}

static int count_ports(const struct topo_class *c, const char *prefix, enum topo_link_layer layer)
{
    int n = 0;
    for (int i = 0; i < c->nports; i++)
        n += starts(c->ports[i].hca, prefix) && (layer == TOPO_LINK_UNKNOWN || c->ports[i].layer == layer);
    return n;
}

static int count_netdevs(const struct topo_class *c, const char *prefix)
{
    int n = 0;
    for (int i = 0; i < c->nnetdevs; i++)
        n += c->netdevs[i].kind == TOPO_NET_PHYSICAL && starts(c->netdevs[i].name, prefix);
    return n;
}

static int has_fabric(const struct topo_class *c, enum fabric f)
{
    const int only_netdevs = c->nports ? -1 : count_netdevs(c, "");
    const int has[] = {
        [ANY_FABRIC] = 1,
        [INFINIBAND] = count_ports(c, "", TOPO_LINK_INFINIBAND) > 0,
        [ROCE] = count_ports(c, "", TOPO_LINK_ETHERNET) > 0,
        [EFA] = count_ports(c, "efa", TOPO_LINK_UNKNOWN) + count_ports(c, "rdmap", TOPO_LINK_UNKNOWN) > 0,
        [SLINGSHOT] = count_netdevs(c, "hsn") > 0,
        [NINE_NICS] = only_netdevs >= 9,
        [IBP_NAMES] = count_ports(c, "ibp0", TOPO_LINK_INFINIBAND) > 0,
        [OTHER_FABRIC] = only_netdevs >= 0 && only_netdevs < 9,
    };
    return has[f];
}

static int gpus_called(const struct topo_class *c, const char *word)
{
    int n = 0;
    for (int i = 0; i < c->ngpus; i++) {
        const char *model = c->objects[c->gpus[i].object].model;
        n += !word || starts(c->gpus[i].arch, word) || (model && strstr(model, word));
    }
    return n;
}

static int is_machine(const struct topo_class *c, const struct machine *m)
{
    const char *product = c->product ? c->product : "";
    int made = !m->maker || strstr(product, m->maker) || (m->other_maker && strstr(product, m->other_maker));
    return made && gpus_called(c, m->gpu) >= m->gpus && has_fabric(c, m->fabric);
}

static void add_fact(struct env_decisions *d, const char *people, const struct fact *f, const char *node_class,
                     const char *own)
{
    struct env_setting *all = find_setting(d, f->name, NULL), *there = all ? all : find_setting(d, f->name, node_class);
    int other = own && strcmp(own, f->value) != 0, set;
    char from[ENV_VERSION], to[ENV_VERSION];
    const char *about = f->to     ? arena_printf(d->arena, ", NCCL up to %s", env_version_text(to, f->to))
                        : f->from ? arena_printf(d->arena, ", NCCL %s and later", env_version_text(from, f->from))
                                  : "";
    about = arena_printf(d->arena, "%s%s; %s", people, about, f->source);
    struct env_setting s = {.family = "nccl", .name = f->name, .source = ENV_SOURCE_SITE, .node_class = node_class};
    if ((f->to && d->nccl_low > f->to) || (f->from && d->nccl_high < f->from)) /* for none of the releases */
        return;
    /* All releases that are written for must read it so: else it is said and not set. */
    set = f->how == SET && !other && (!f->from || d->nccl_low >= f->from) && (!f->to || d->nccl_high <= f->to);
    if (set) {
        s.value = f->value;
        s.why = arena_printf(d->arena, "%s (%s)", f->purpose, about);
    } else if (other) {
        s.why = arena_printf(d->arena, "this site sets %s, which stays; %s is published: %s (%s)", own, f->value,
                             f->purpose, about);
    } else {
        s.why = arena_printf(d->arena, "%s is published, and left to a measurement or to you: %s (%s)", f->value,
                             f->purpose, about);
    }
    if (there && (there->value || strcmp(there->source, "topology") != 0 || !set)) /* measured, or said already */
        return;
    if (there)
        *there = s;
    else
        env_add_setting(d, s);
}

void env_site_facts(struct env_decisions *d, const struct topology *t, env_site_value *site, const void *arg)
{
    for (int c = 0; c < t->nclasses; c++) {
        const struct machine *m = &table[0].machine;
        for (int i = 0; i < ROWS; i++) {
            int classes = 0;
            m = table[i].machine.id ? &table[i].machine : m;
            if (table[i].machine.id || !is_machine(&t->classes[c], m))
                continue;
            for (int k = 0; k < t->nclasses; k++)
                classes += is_machine(&t->classes[k], m);
            if (classes < t->nclasses || c == 0)
                add_fact(d, m->people, &table[i].fact, classes < t->nclasses ? t->classes[c].name : NULL,
                         site ? site(arg, table[i].fact.name) : NULL);
        }
    }
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
