/* What makers of machines publish for them. A virtual machine's firmware names the cloud and not the instance type, so
 * the GPUs and the fabric tell which machine it is. */
#include "envgen/decide/decide.h"

#include <string.h>

#include "core/vars/catalogue.h"
#include "envgen/decide/steps.h"

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

/* ---- which machine ---- */

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
    switch (f) {
    case ANY_FABRIC:
        return 1;
    case INFINIBAND:
        return count_ports(c, "", TOPO_LINK_INFINIBAND) > 0;
    case ROCE:
        return count_ports(c, "", TOPO_LINK_ETHERNET) > 0;
    case EFA:
        return count_ports(c, "efa", TOPO_LINK_UNKNOWN) + count_ports(c, "rdmap", TOPO_LINK_UNKNOWN) > 0;
    case SLINGSHOT:
        return count_netdevs(c, "hsn") > 0;
    case NINE_NICS:
        return !c->nports && count_netdevs(c, "") >= 9;
    case IBP_NAMES:
        return count_ports(c, "ibp0", TOPO_LINK_INFINIBAND) > 0;
    case OTHER_FABRIC:
        return !c->nports && count_netdevs(c, "") < 9;
    }
    return 0;
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

/* ---- settings ---- */

static void add_fact(struct env_decisions *d, const char *people, const struct fact *f, const char *node_class,
                     const char *own)
{
    struct env_setting *all = decide_find_setting(d, f->name, NULL),
                       *there = all ? all : decide_find_setting(d, f->name, node_class);
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
    if (there) {
        *there = s;
        return;
    }
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
