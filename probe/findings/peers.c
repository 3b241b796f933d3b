/* What sets one device, node or class apart from others that should be like it. */
#include <stdlib.h>
#include <string.h>

#include "probe/findings/findings_internal.h"

/* A device, what it should be like, and what it has. */
struct item {
    const char *group, *name, *value; /* value NULL: not known, and not judged */
};

/* What more than half of the group has; NULL. */
static const char *usual_value(const struct item *items, int n, const char *group)
{
    for (int i = 0; i < n; i++) {
        int all = 0, same = 0;
        for (int k = 0; k < n && items[i].value && !strcmp(items[i].group, group); k++)
            if (items[k].value && !strcmp(items[k].group, group)) {
                all++;
                same += !strcmp(items[k].value, items[i].value);
            }
        if (same * 2 > all)
            return items[i].value;
    }
    return NULL;
}

/* "GPU3: 96.00.61 instead of 96.00.74" of those that are not as most. */
static void name_odd_ones(struct search *s, const struct item *items, int nitems)
{
    for (int i = 0; i < nitems; i++) {
        const char *usual = items[i].value ? usual_value(items, nitems, items[i].group) : NULL;
        if (usual && strcmp(usual, items[i].value) != 0)
            named(s, "%s: %s instead of %s", items[i].name, items[i].value, usual);
    }
}

/* GPUs with what `value` says of them, grouped by model. */
static struct item *gpu_items(struct search *s, const struct topo_class *c,
                              const char *(*value)(const struct topo_class *c, int gpu, struct arena *a))
{
    struct item *items = arena_alloc(s->a, (size_t)c->ngpus * sizeof *items);
    for (int i = 0; i < c->ngpus; i++) {
        const char *model = c->objects[c->gpus[i].object].model;
        items[i] = (struct item){model ? model : "", found_gpu(s->a, c, i), value(c, i, s->a)};
    }
    return items;
}

static const char *model_of(const struct topo_class *c, int gpu, struct arena *a)
{
    (void)a;
    return c->objects[c->gpus[gpu].object].model;
}

static const char *vbios_of(const struct topo_class *c, int gpu, struct arena *a)
{
    (void)a;
    return c->gpus[gpu].vbios;
}

static const char *slot_of(const struct topo_class *c, int gpu, struct arena *a)
{
    const struct topo_object *o = &c->objects[c->gpus[gpu].object];
    int said = o->link_max_GTps > 2.5 && o->link_max_width > 1;
    return said ? arena_printf(a, "%g GT/s x%d", o->link_max_GTps, o->link_max_width) : NULL;
}

static void find_different_models(struct search *s, const struct topo_class *c)
{
    const char *first = NULL;
    for (int i = 0; i < c->ngpus; i++) {
        const char *own = model_of(c, i, s->a);
        if (own && first && strcmp(own, first) != 0) {
            found(s, arena_printf(s->a, "%s and %s", first, own), "the GPUs of a node are of different models");
            return;
        }
        first = first ? first : own;
    }
}

static void find_odd_vbioses(struct search *s, const struct topo_class *c)
{
    name_odd_ones(s, gpu_items(s, c, vbios_of), c->ngpus);
    found_named(s, "%d GPU%s another VBIOS than most of that model", s->n, s->n == 1 ? " has" : "s have");
}

static void find_odd_slots(struct search *s, const struct topo_class *c)
{
    name_odd_ones(s, gpu_items(s, c, slot_of), c->ngpus);
    found_named(s, "%d GPU%s another PCIe maximum than most of that model", s->n, s->n == 1 ? " has" : "s have");
}

static void find_odd_firmwares(struct search *s, const struct topo_class *c)
{
    struct item *items = arena_alloc(s->a, (size_t)c->nports * sizeof *items);
    for (int i = 0; i < c->nports; i++)
        items[i] = (struct item){c->ports[i].board_id ? c->ports[i].board_id : "", topo_port_name(s->a, &c->ports[i]),
                                 c->ports[i].board_id ? c->ports[i].firmware : NULL};
    name_odd_ones(s, items, c->nports);
    found_named(s, "%d port%s another firmware than most of that board", s->n, s->n == 1 ? " has" : "s have");
}

/* ---- GPUs that are missing --------------------------------------------------------------------------------------- */

/* Baseboards with NVSwitches carry 4, 8 or 16 GPUs, and machines give away 1, 2, 4 or 8 of them. Elsewhere the ports
 * that were made for GPUs tell. */
static void find_missing_gpus(struct search *s, const struct topo_class *c)
{
    int contained = c->container && strcmp(c->container, "none") != 0;
    if (contained || !c->ngpus)
        return;
    for (int i = 0; i < c->nports; i++)
        if (s->roles[i].gpu_missing)
            named(s, "%s is beside no GPU", topo_port_name(s->a, &c->ports[i]));
    if (topo_count(c, TOPO_NVSWITCH) && (c->ngpus & (c->ngpus - 1)) != 0)
        named(s, "%d GPUs behind NVSwitches", c->ngpus);
    found_named(s, "a GPU seems to be missing: there are %d", c->ngpus);
}

/* Machines of one product and one model of GPU, of which some have fewer. */
static void find_fewer_gpus(struct search *s)
{
    const struct topology *t = s->t;
    for (int i = 0; i < t->nclasses; i++) {
        const struct topo_class *c = &t->classes[i];
        int most = 0;
        for (int k = 0; k < t->nclasses && c->product; k++) {
            const struct topo_class *d = &t->classes[k];
            const char *x = c->ngpus ? model_of(c, 0, s->a) : NULL, *y = d->ngpus ? model_of(d, 0, s->a) : NULL;
            int alike = d->product && !strcmp(d->product, c->product) && (!x || (y && !strcmp(x, y)));
            most = alike && d->ngpus > most ? d->ngpus : most;
        }
        if (c->ngpus < most)
            named(s, "%s: %d of %d", c->name, c->ngpus, most);
    }
    found_named(s, "nodes have fewer GPUs than others of the same product");
}

/* ---- addresses --------------------------------------------------------------------------------------------------- */

struct address {
    const char *text; /* what must be there only once: "10.0.0.1", "0x506b4b0300ca1f2e" */
    int host;
};

/* Whether an address must be unique: GUIDs, and addresses of devices and bonds but for those of the link alone. */
static int is_unique(const struct topo_class *c, const char *address, struct arena *a, const char **text)
{
    const char *blank = strchr(address, ' ');
    if (!blank)
        return 0;
    *text = arena_strndup(a, blank + 1, strcspn(blank + 1, "/"));
    if (!strncmp(*text, "0x", 2))
        return 1;
    if (!strncmp(*text, "169.254.", 8) || !strncmp(*text, "fe80:", 5) || !strncmp(*text, "127.", 4))
        return 0;
    for (int i = 0; i < c->nnetdevs; i++)
        if (strlen(c->netdevs[i].name) == (size_t)(blank - address) &&
            !strncmp(c->netdevs[i].name, address, (size_t)(blank - address)))
            return c->netdevs[i].object >= 0 || c->netdevs[i].kind == TOPO_NET_BOND ||
                   c->netdevs[i].kind == TOPO_NET_PHYSICAL;
    return 0;
}

static int compare_addresses(const void *x, const void *y)
{
    const struct address *a = x, *b = y;
    int order = strcmp(a->text, b->text);
    return order ? order : a->host - b->host;
}

/* The same machine, told twice: nothing about it is another's. */
static int is_same_machine(const struct topo_host *a, const struct topo_host *b)
{
    for (int i = 0; i < a->naddresses && a->naddresses == b->naddresses; i++)
        if (strcmp(a->addresses[i], b->addresses[i]) != 0)
            return 0;
    return a->naddresses == b->naddresses;
}

static void find_shared_addresses(struct search *s)
{
    const struct topology *t = s->t;
    const int most = 64;
    struct address *all = NULL;
    int nall = 0;
    for (int i = 0; i < t->nhosts; i++)
        for (int k = 0; k < t->hosts[i].naddresses; k++) {
            const char *text;
            if (!is_unique(&t->classes[t->hosts[i].class_index], t->hosts[i].addresses[k], s->a, &text))
                continue;
            ARENA_ADD(s->a, all, nall) = (struct address){text, i};
        }
    if (nall)
        qsort(all, (size_t)nall, sizeof *all, compare_addresses);
    for (int i = 1; i < nall; i++)
        if (!strcmp(all[i].text, all[i - 1].text) && all[i].host != all[i - 1].host &&
            !is_same_machine(&t->hosts[all[i].host], &t->hosts[all[i - 1].host]) && s->n < most)
            named(s, "%s on %s and %s", all[i].text, t->hosts[all[i - 1].host].name, t->hosts[all[i].host].name);
    found_named(s, "%d address%s used by two nodes", s->n, s->n == 1 ? " is" : "es are");
}

const struct finding_rule findings_of_peers[] = {
    {{"address-twice", NULL, FINDING_ERROR,
      "Two nodes have the same IP address or the same GUID of an HCA. Packets go to the wrong one. Confirm with ip -br "
      "address or ibstat on both. Give one of them another address; a GUID that is there twice needs the card's "
      "firmware tools (flint)."},
     .in_cluster = find_shared_addresses},
    {{"gpu-missing", NULL, FINDING_ERROR,
      "A machine with NVSwitches shows a number of GPUs that no such board has, such as 7, a compute port is beside no "
      "GPU where each other has one, or nodes have fewer GPUs than others of the same product. Confirm with nvidia-smi "
      "-L and lspci -d 10de:. Look for Xid 79 in the kernel's "
      "log, reboot the node, and have the board replaced if it stays."},
     find_missing_gpus,
     find_fewer_gpus},
    {{"gpu-models-differ", NULL, FINDING_WARNING,
      "The GPUs of a node are of different models; collectives run at the speed of the slowest. Confirm with "
      "nvidia-smi -L. Give jobs GPUs of one model (CUDA_VISIBLE_DEVICES, gres of Slurm)."},
     find_different_models},
    {{"vbios-differs", NULL, FINDING_WARNING,
      "A GPU has another VBIOS than most of its model in the node. Confirm with nvidia-smi -q (VBIOS Version). Bring "
      "the firmware of all GPUs to one release. Between nodes of a class see node-differs."},
     find_odd_vbioses},
    {{"firmware-differs", NULL, FINDING_WARNING,
      "A NIC has another firmware than most of its board in the node. Confirm with ibstat or mlxfwmanager. Bring all "
      "to one release. Between nodes of a class see node-differs."},
     find_odd_firmwares},
    {{"pcie-unlike-others", NULL, FINDING_WARNING,
      "The slot of a GPU can do another width or generation at most than those of most GPUs of its model. Maximums are "
      "compared, which idle GPUs report correctly. Confirm with lspci -vvv (LnkCap of the GPU and of the port above). "
      "Check riser, bifurcation and the slot's generation in the BIOS."},
     find_odd_slots},
    {{NULL}},
};
