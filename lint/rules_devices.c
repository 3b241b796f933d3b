/* Device lists held against the topology: names that are not there, are down, or match more than their writer meant. */
#include <ctype.h>
#include <string.h>

#include "core/hash.h"
#include "core/vars/parse.h"
#include "lint/lint_internal.h"
#include "probe/topology/topology.h"

/* ---- without a topology ------------------------------------------------------------------------------------------ */

/* "mlx5_1" and "eth1" have longer namesakes from mlx5_10 on; names made of PCI addresses (enp1s0, rocep1) do not count
 * up in that way, nothing counts on from 0, and no node has a hundred. */
static int is_counted(const struct env_device *d)
{
    size_t digits = 0;
    while (digits < d->length && isdigit((unsigned char)d->name[d->length - 1 - digits]))
        digits++;
    if (strchr("^=", d->name[0]) || memchr(d->name, '-', d->length) || digits != 1 || digits == d->length ||
        d->name[d->length - digits] == '0')
        return 0;
    return !word_in("en|ibp|ibs|roce|rdma", WORD_BEGINS, d->name, d->length) &&
           !word_in("mlx4|mlx5|hfi1", WORD_IS, d->name, d->length); /* a driver's digit counts nothing */
}

static int ends_in_digit(const struct env_device *d)
{
    return d->length > 0 && isdigit((unsigned char)d->name[d->length - 1]);
}

/* Makes the list exact, when every entry is a whole name. */
static void make_exact(struct lint *l, struct lint_finding *f, const struct lint_setting *s,
                       const struct env_devices *d)
{
    for (int i = 0; i < d->count; i++)
        if (!ends_in_digit(&d->list[i]) || strchr("^=", d->list[i].name[0]))
            return;
    lint_correct(f, LINT_FIX_VALUE, arena_printf(l->arena, "%s=%s", d->exclude ? "^" : "", s->value + d->exclude));
}

static void check_prefixes(struct lint *l, const struct lint_setting *s, const struct env_devices *d)
{
    for (int i = 0; i < d->count && !d->exact; i++) {
        const struct env_device *e = &d->list[i];
        int n = (int)e->length;
        if (!is_counted(e))
            continue;
        struct lint_finding *f = lint_find(
            l, NT_PREFIX_MATCH, s,
            "Without '=' a name is a prefix: \"%.*s\" also matches %.*s0 to %.*s9 where a node has them.",
            d->exclude ? "Begin the list with '^=' for exact names." : "Begin the list with '=' for exact names.", n,
            e->name, n, e->name, n, e->name);
        f->severity = FINDING_NOTE;
        make_exact(l, f, s, d);
        return;
    }
}

/* A port of a DGX Spark (GB10) is two HCAs on PCIe links of their own. */
static void check_half_port(struct lint *l, const struct lint_setting *s, const struct env_devices *d)
{
    static const char *const halves[][2] = {{"rocep1s0f0", "roceP2p1s0f0"}, {"rocep1s0f1", "roceP2p1s0f1"}};
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        int first = env_devices_select(d, halves[i][0], -1), second = env_devices_select(d, halves[i][1], -1);
        if (first != second)
            lint_find(l, NT_HALF_A_PORT, s,
                      "On a DGX Spark (GB10) %s and %s are one port, 100 Gb/s each: this leaves half of "
                      "it idle.",
                      "On a DGX Spark, name both.", halves[i][0], halves[i][1]);
    }
}

/* ---- against one node class -------------------------------------------------------------------------------------- */

#define PCI_INFINIBAND 0x0207 /* class and subclass */

/* HCAs and interfaces of a class look alike from here. */
struct device {
    const char *name;
    int port; /* -1 for an interface */
    int down;
};

struct devices {
    const struct device *list;
    int count, known;
    const char *class_name;
    int hca;
};

int lint_knows_hcas(const struct topo_class *c)
{
    if (c->nports > 0)
        return 1;
    for (int i = 0; i < c->nnotes; i++)
        if (c->notes[i] && strcasestr(c->notes[i], "verbs"))
            return 0;
    for (int i = 0; i < c->nobjects; i++)
        if (c->objects[i].kind == TOPO_NIC && (c->nnetdevs == 0 || c->objects[i].pci_class >> 8 == PCI_INFINIBAND))
            return 0;
    return 1;
}

/* Classes whose devices are alike: they are judged, and named, as one. */
struct lint_class {
    const struct topo_class *c; /* the first of them */
    uint64_t hash;
    int count;
    const struct port_verdict *verdicts;
    int has_plugin_ports; /* that a plugin drives, such as EFA's: NCCL's own list has nothing to do with them */
    struct devices hcas, interfaces;
};

static uint64_t hash_device(uint64_t hash, const char *name, int port, int state)
{
    return hash_add(hash_add(hash_add(hash, name ? hash_text(name) : 0), (uint64_t)port), (uint64_t)state);
}

static struct devices list_devices(struct lint *l, const struct topo_class *c, int hca)
{
    int n = hca ? c->nports : c->nnetdevs;
    struct device *list = arena_alloc(l->arena, (size_t)(n + 1) * sizeof(*list));
    for (int i = 0; i < n; i++)
        list[i] = hca ? (struct device){c->ports[i].hca, c->ports[i].port, c->ports[i].state == TOPO_STATE_DOWN}
                      : (struct device){c->netdevs[i].name, -1, c->netdevs[i].state == TOPO_STATE_DOWN};
    return (struct devices){list, n, hca ? lint_knows_hcas(c) : n > 0, c->name, hca};
}

static uint64_t hash_class(const struct topo_class *c, const struct port_verdict *verdicts)
{
    uint64_t hash = hash_add(HASH_START, (uint64_t)lint_knows_hcas(c));
    for (int i = 0; i < c->nports; i++) {
        hash = hash_device(hash, c->ports[i].hca, c->ports[i].port, (int)c->ports[i].state);
        hash = hash_device(hash, verdicts[i].plugin, (int)verdicts[i].role, 0);
    }
    for (int i = 0; i < c->nnetdevs; i++)
        hash = hash_device(hash, c->netdevs[i].name, -1, (int)c->netdevs[i].state);
    return hash;
}

/* Looked at once, when a first list of devices is judged. */
static int list_classes(struct lint *l)
{
    const struct topology *t = l->options.topology;
    if (!t || l->classes)
        return l->nclasses;
    l->classes = arena_alloc(l->arena, (size_t)(t->nclasses + 1) * sizeof *l->classes);
    for (int k = 0, i; k < t->nclasses; k++) {
        /* A matrix tells of no states: a port that a list names is meant to be up. */
        const struct topo_class *c = roles_assume_up(&t->classes[k], l->arena);
        const struct port_verdict *verdicts = roles_of(c, l->arena);
        const uint64_t hash = hash_class(c, verdicts);
        for (i = 0; i < l->nclasses && l->classes[i].hash != hash;)
            i++;
        struct lint_class *of = &l->classes[i];
        if (of->count++)
            continue;
        *of = (struct lint_class){c, hash, 1, verdicts, 0, list_devices(l, c, 1), list_devices(l, c, 0)};
        of->hcas.known &= !roles_only_labels(c);
        /* Interfaces' names are the site's, not the machine's. */
        of->interfaces.known &= !t->source || strncmp(t->source, "the bundled description", 23) != 0;
        for (int p = 0; p < c->nports; p++)
            of->has_plugin_ports |= verdicts[p].plugin != NULL;
        l->nclasses++;
    }
    for (int i = 0; i < l->nclasses; i++) {
        struct lint_class *of = &l->classes[i];
        const char *name = arena_printf(l->arena, "node class %s", of->c->name);
        if (of->count > 1)
            name = arena_printf(l->arena, "%s (and %d like it)", name, of->count - 1);
        of->hcas.class_name = of->interfaces.class_name = l->nclasses > 1 ? name : "these nodes";
    }
    return l->nclasses;
}

/* What an entry matches: how many, how many of them down, and the first that is not the entry's own name. */
struct matches {
    int count, down, own;
    const char *stranger;
};

static struct matches match(const struct env_devices *d, const struct env_device *e, const struct devices *all)
{
    struct matches m = {0, 0, 0, NULL};
    for (int i = 0; i < all->count; i++) {
        const struct device *x = &all->list[i];
        if (!x->name || !env_device_matches(d, e, x->name, x->port))
            continue;
        m.count++;
        m.down += x->down;
        if (strlen(x->name) == e->length)
            m.own = 1;
        else if (!m.stranger)
            m.stranger = x->name;
    }
    return m;
}

/* Entries of one kind, in one sentence. */
struct names {
    const char *text;
    int n;
};

static void add_name(struct lint *l, struct names *all, const struct env_device *e)
{
    all->text =
        arena_printf(l->arena, "%s%s\"%.*s\"", all->n ? all->text : "", all->n ? ", " : "", (int)e->length, e->name);
    all->n++;
}

/* Judge each entry, and return how many match nothing: an excluded name that is not there does no harm. `left` is how
 * many devices the whole list leaves. */
static int check_entries(struct lint *l, const struct lint_setting *s, const struct env_devices *d,
                         const struct devices *all, int left)
{
    struct names absent = {"", 0}, down = {"", 0};
    const char *what = all->hca ? "RDMA port" : "interface";
    int wider = 0;
    for (int i = 0; i < d->count; i++) {
        const struct env_device *e = &d->list[i];
        struct matches m = match(d, e, all);
        if (m.count == 0 && !d->exclude)
            add_name(l, &absent, e);
        else if (m.count > 0 && m.down == m.count && !d->exclude)
            add_name(l, &down, e);
        else if (m.own && m.stranger && !wider++)
            make_exact(l,
                       lint_find(l, NT_PREFIX_MATCH, s,
                                 "Without '=' the name is a prefix: on %s \"%.*s\" also "
                                 "matches %s.",
                                 d->exclude ? "Begin the list with '^=' for exact names."
                                            : "Begin the list with '=' for exact names.",
                                 all->class_name, (int)e->length, e->name, m.stranger),
                       s, d);
    }
    if (absent.n) {
        struct lint_finding *f =
            lint_find(l, all->hca ? NT_NO_SUCH_HCA : NT_NO_SUCH_INTERFACE, s, "On %s no %s matches %s%s.",
                      "Name devices that all nodes have.", all->class_name, what, absent.text,
                      left || all->hca ? "" : ", and the list leaves no running one: NCCL's start fails");
        if (!all->hca && left)
            f->severity = FINDING_WARNING; /* the others are taken */
    }
    if (down.n)
        lint_find(l, all->hca ? NT_HCA_DOWN : NT_INTERFACE_DOWN, s, "On %s %s %s down, and NCCL skips %s.",
                  "Bring the link up, or remove the name.", all->class_name, down.text, down.n == 1 ? "is" : "are",
                  down.n == 1 ? "it" : "them");
    return absent.n;
}

static void check_class(struct lint *l, const struct lint_setting *s, const struct env_devices *d,
                        const struct devices *all, int has_plugin_ports)
{
    int left = 0;
    for (int i = 0; i < all->count; i++)
        left += all->list[i].name && !all->list[i].down && env_devices_select(d, all->list[i].name, all->list[i].port);
    int absent = check_entries(l, s, d, all, left);
    if (left > 0 || all->count == 0 || d->count == 0 || (all->hca && has_plugin_ports))
        return;
    if (all->hca)
        lint_find(l, NT_NO_HCA_LEFT, s, "On %s the list leaves no active RDMA port, and NCCL falls back to TCP.",
                  "Name devices that these nodes have.", all->class_name);
    else if (!absent)
        lint_find(l, NT_NO_SUCH_INTERFACE, s, "On %s the list leaves no running interface: NCCL's start fails.",
                  "Name interfaces that these nodes have.", all->class_name);
}

/* The list of all compute ports as a correction, where all nodes have the same. Behind a value that ends at a blank
 * stands the rest of a list, which would become a word of its own. */
static void write_compute_list(struct lint *l, struct lint_finding *f, const char *compute, enum lint_fix_kind fix)
{
    const char *value = f->at->value;
    int cut = value && value[0] && value[strlen(value) - 1] == ',';
    if (!compute || cut || l->nclasses != 1 || strcmp(f->at->name, "NCCL_IB_HCA") != 0)
        return;
    lint_correct(f, fix, compute);
}

/* NCCL_IB_HCA: ports for storage or management that the list gives to NCCL, and compute ports that it keeps from it. A
 * list that leaves nothing at all has its own finding. */
static void check_idle(struct lint *l, const struct lint_setting *s, const struct env_devices *d,
                       const struct lint_class *of)
{
    const struct topo_class *c = of->c;
    const struct port_verdict *verdicts = of->verdicts;
    int kept = 0, usable = 0, active = 0, active_kept = 0, others = 0;
    const char *list = "";
    for (int i = 0; i < c->nports; i++) {
        int up = c->ports[i].hca && c->ports[i].state == TOPO_STATE_ACTIVE;
        int takes = up && env_devices_select(d, c->ports[i].hca, c->ports[i].port);
        active += up;
        active_kept += takes;
        if (takes && !verdicts[i].open && (verdicts[i].role == ROLE_STORAGE || verdicts[i].role == ROLE_MANAGEMENT))
            list = arena_printf(l->arena, "%s%s%s (%s)", list, others++ ? ", " : "", c->ports[i].hca,
                                role_name(verdicts[i].role));
    }
    const char *compute = roles_hca_list(c, verdicts, l->arena);
    if (others && compute)
        write_compute_list(l,
                           lint_find(l, NT_OTHER_PORTS, s, "On %s the list gives NCCL ports of other traffic: %s.",
                                     arena_printf(l->arena, "Name the ports for compute traffic alone (%s).", compute),
                                     of->hcas.class_name, list),
                           compute, LINT_FIX_VALUE);
    if (active_kept == 0 || active_kept == active)
        return;
    for (int i = 0; i < c->nports; i++) {
        const struct topo_port *p = &c->ports[i];
        if (!p->hca || p->state != TOPO_STATE_ACTIVE || verdicts[i].role != ROLE_COMPUTE || verdicts[i].plugin)
            continue;
        usable++;
        kept += env_devices_select(d, p->hca, p->port);
    }
    if (kept >= (usable < ROLES_MOST_HCAS ? usable : ROLES_MOST_HCAS))
        return;
    struct lint_finding *f = lint_find(
        l, NT_IDLE_PORTS, s,
        "On %s the list leaves %d of the %d RDMA ports for compute traffic to NCCL; the "
        "others stay idle.",
        arena_printf(l->arena, "Name all of them (%s), or measure with nccltune whether fewer do as well.", compute),
        of->hcas.class_name, kept, usable);
    write_compute_list(l, f, compute, LINT_FIX_NONE); /* it is a correction once it is predicted to cost */
}

/* NCCL_NET_FORCE_MERGE: every name must be one device. */
static void check_groups(struct lint *l, const struct lint_setting *s, const struct devices *all)
{
    for (const char *p = s->value; *p;) {
        size_t n = strcspn(p, ":,;"), rest = strcspn(p, ",;");
        int found = n == 0;
        for (int i = 0; i < all->count; i++)
            found |= all->list[i].name && strlen(all->list[i].name) == n && !memcmp(all->list[i].name, p, n);
        if (!found) {
            lint_find(l, NT_NO_SUCH_HCA, s, "On %s there is no device \"%.*s\": communicator creation fails.",
                      "Write each device's exact name.", all->class_name, (int)(n < 60 ? n : 60), p);
            return;
        }
        p += rest;
        p += *p != '\0';
    }
}

void lint_check_devices(struct lint *l, const struct lint_setting *s)
{
    struct env_devices d;
    if (!s->var || !s->value || !s->value[0] || !strcmp(s->name, "NCCL_OOB_NET_IFNAME"))
        return;
    int hca = s->var->grammar == ENV_G_HCA;
    if (s->var->grammar == ENV_G_GROUPS) {
        for (int c = 0; c < list_classes(l); c++)
            if (l->classes[c].hcas.known)
                check_groups(l, s, &l->classes[c].hcas);
        return;
    }
    if ((!hca && s->var->grammar != ENV_G_IFNAME) || strpbrk(s->value, " \t;") || strlen(s->value) == 1)
        return;
    env_parse_devices(s->value, &d);
    int known = 0;
    for (int c = 0; c < list_classes(l); c++) {
        const struct lint_class *of = &l->classes[c];
        const struct devices *all = hca ? &of->hcas : &of->interfaces;
        known |= all->known;
        size_t before = l->nfindings;
        if (all->known)
            check_class(l, s, &d, all, of->has_plugin_ports);
        for (; hca && !of->has_plugin_ports && before < l->nfindings; before++)
            if (l->findings[before]->severity == FINDING_ERROR)
                write_compute_list(l, l->findings[before], roles_hca_list(of->c, of->verdicts, l->arena),
                                   LINT_FIX_VALUE);
        if (all->known && !strcmp(s->name, "NCCL_IB_HCA") && !lint_set_again(l, s))
            check_idle(l, s, &d, of);
    }
    if (!known)
        check_prefixes(l, s, &d);
    if (!known && hca)
        check_half_port(l, s, &d);
}
