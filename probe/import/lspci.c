/* What `lspci -vvv` prints (with -nn and -D or without): the bus numbers of bridges give the tree. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "probe/import/readers.h"

#define DEEPEST 32

/* A function as printed. */
struct function {
    struct topo_object o;
    int secondary, subordinate; /* buses below a bridge; 0: none */
    enum topo_known redirects;
};

struct listing {
    struct text *x;
    struct topology *t;
    struct topo_class *c;
    struct function *list;
    int n;
};

/* lspci's words for classes, where -nn does not give the number, and vendors by how they begin. */
static const struct {
    const char *word;
    uint32_t code;
} classes[] = {{"PCI bridge", 0x060400},
               {"Host bridge", 0x060000},
               {"Bridge", 0x068000},
               {"3D controller", 0x030200},
               {"VGA compatible controller", 0x030000},
               {"Display controller", 0x038000},
               {"Processing accelerators", 0x120000},
               {"Ethernet controller", 0x020000},
               {"Network controller", 0x028000},
               {"Infiniband controller", 0x020700},
               {"InfiniBand", 0x0c0600}};
static const struct {
    const char *word;
    uint16_t id;
} vendors[] = {{"NVIDIA", 0x10de},     {"Mellanox", 0x15b3}, {"Advanced Micro Devices, Inc. [AMD/ATI]", 0x1002},
               {"Amazon.com", 0x1d0f}, {"Intel", 0x8086},    {"Broadcom / LSI", 0x1000},
               {"Broadcom", 0x14e4}};

/* "0000:17:00.0 Infiniband controller [0207]: Mellanox Technologies … [15b3:1021] (rev 01)": the address, and where the
 * rest begins; NULL: no such line. */
static const char *address_of(const struct text *x, const char *line, const char **rest)
{
    size_t n = strcspn(line, " \t");
    if (n < 7 || n > 16 || !isxdigit((unsigned char)*line) || !line[n] || !memchr(line, '.', n))
        return NULL;
    *rest = line + n + 1;
    return strchr(*rest, ':') ? pci_address(x->a, arena_strndup(x->a, line, n)) : NULL;
}

static int lspci_begins(const struct text *x)
{
    const char *rest, *line = text_line(x, 0);
    if (!isxdigit((unsigned char)*line) || !address_of(x, line, &rest))
        return 0;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (!strncmp(rest, classes[i].word, strlen(classes[i].word)))
            return 1;
    return strstr(rest, "]: ") != NULL || text_line(x, 1)[0] == '\t';
}

/* "15b3", "1021" of the last "[15b3:1021]". */
static void ids_of(const char *s, uint16_t *vendor, uint16_t *device)
{
    for (const char *p = s; (p = strchr(p, '[')); p++) {
        char *end;
        unsigned long v = strtoul(p + 1, &end, 16), d = *end == ':' ? strtoul(end + 1, &end, 16) : 0;
        if (end - p == 10 && *end == ']') {
            *vendor = (uint16_t)v;
            *device = (uint16_t)d;
        }
    }
}

static void read_head(struct listing *l, struct function *f, const char *pci, const char *rest)
{
    const char *colon = strstr(rest, ": "), *number = strchr(rest, '[');
    const char *name = colon ? colon + 2 : rest;
    f->o = (struct topo_object){.pci = arena_strdup(l->t->arena, pci), .numa = -1};
    if (colon && number && number < colon)
        f->o.pci_class = (uint32_t)strtoul(number + 1, NULL, 16) << 8;
    for (size_t i = 0; i < sizeof classes / sizeof *classes && !f->o.pci_class; i++)
        if (!strncmp(rest, classes[i].word, strlen(classes[i].word)))
            f->o.pci_class = classes[i].code;
    for (size_t i = 0; i < sizeof vendors / sizeof *vendors && !f->o.vendor; i++)
        if (!strncmp(name, vendors[i].word, strlen(vendors[i].word)))
            f->o.vendor = vendors[i].id;
    ids_of(name, &f->o.vendor, &f->o.device);
    const char *end = strstr(name, " (rev ");
    f->o.model = arena_strndup(l->t->arena, name, end ? (size_t)(end - name) : strlen(name));
}

/* "Speed 32GT/s, Width x16" behind "LnkCap:" or "LnkSta:". */
static void link_of(const char *v, double *GTps, int *width)
{
    const char *speed = strstr(v, "Speed "), *lanes = strstr(v, "Width x");
    double s = speed ? strtod(speed + 6, NULL) : 0;
    long w = lanes ? strtol(lanes + 7, NULL, 10) : 0;
    *GTps = s > 0 && s <= 1024 ? s : 0;
    *width = w > 0 && w <= 32 ? (int)w : 0;
}

static int bus_after(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    return at ? (int)(strtoul(at + strlen(key), NULL, 16) & 0xff) : 0;
}

static void read_detail(struct listing *l, struct function *f, const char *line)
{
    const char *v;
    if ((v = text_value(l->x, line, "LnkCap:")))
        link_of(v, &f->o.link_max_GTps, &f->o.link_max_width);
    else if ((v = text_value(l->x, line, "LnkSta:"))) {
        link_of(v, &f->o.link_GTps, &f->o.link_width);
        f->o.link_GBps = pci_GBps(f->o.link_GTps, f->o.link_width);
    } else if ((v = text_value(l->x, line, "NUMA node:")))
        f->o.numa = isdigit((unsigned char)*v) && strlen(v) < 6 ? (int)strtol(v, NULL, 10) : -1;
    else if ((v = text_value(l->x, line, "Kernel driver in use:")))
        f->o.driver = arena_strdup(l->t->arena, v);
    else if ((v = text_value(l->x, line, "Subsystem:")))
        ids_of(v, &f->o.subsystem_vendor, &f->o.subsystem_device);
    else if ((v = text_value(l->x, line, "ACSCtl:")))
        f->redirects = strstr(v, "ReqRedir+") ? TOPO_YES : TOPO_NO;
    else if ((v = text_value(l->x, line, "RlxdOrd"))) /* second line of DevCtl */
        f->o.relaxed_ordering = *v == '+' ? TOPO_YES : TOPO_NO;
    else if ((v = text_value(l->x, line, "ATSCtl:")))
        f->o.ats = strstr(v, "Enable+") ? TOPO_YES : TOPO_NO;
    else if ((v = text_value(l->x, line, "Bus:"))) {
        f->secondary = bus_after(v, "secondary=");
        f->subordinate = bus_after(v, "subordinate=");
    }
}

static int read_functions(struct listing *l)
{
    struct text *x = l->x;
    for (; x->at < x->n; x->at++) {
        const char *line = text_line(x, 0), *rest = "", *pci = address_of(x, line, &rest);
        if (pci) {
            if (l->n >= IMPORT_MOST_OBJECTS)
                return text_wrong(x, "more than %d devices", IMPORT_MOST_OBJECTS);
            read_head(l, &ARENA_ADD(x->a, l->list, l->n), pci, rest);
        } else if (l->n && (*line == '\t' || *line == ' ')) {
            read_detail(l, &l->list[l->n - 1], line);
        } else if (!text_is_blank(line)) {
            break;
        }
    }
    return 0;
}

static unsigned long domain_of(const struct function *f)
{
    return strtoul(f->o.pci, NULL, 16);
}

static int bus_of(const struct function *f)
{
    return (int)strtoul(strchr(f->o.pci, ':') + 1, NULL, 16);
}

/* The bridge right above the function: the narrowest range that holds its bus; -1: a root bus. */
static int find_bridge_above(const struct listing *l, int function)
{
    const struct function *f = &l->list[function];
    int found = -1;
    for (int i = 0; i < l->n; i++) {
        const struct function *b = &l->list[i];
        if (i != function && b->secondary && b->secondary <= bus_of(f) && bus_of(f) <= b->subordinate &&
            bus_of(b) < b->secondary && domain_of(b) == domain_of(f) &&
            (found < 0 || b->secondary > l->list[found].secondary))
            found = i;
    }
    return found;
}

/* Bridges from the root down to the function; how many. */
static int chain_of(const struct listing *l, int function, int chain[DEEPEST])
{
    int n = 0;
    for (int i = find_bridge_above(l, function); i >= 0 && n < DEEPEST; i = find_bridge_above(l, i))
        chain[n++] = i;
    for (int i = 0; i < n / 2; i++) {
        int swapped = chain[i];
        chain[i] = chain[n - 1 - i];
        chain[n - 1 - i] = swapped;
    }
    return n;
}

static int find_host_bridge(const struct topo_class *c, const char *name)
{
    for (int i = 0; i < c->nobjects; i++)
        if (c->objects[i].kind == TOPO_HOST_BRIDGE && !strcmp(c->objects[i].name, name))
            return i;
    return -1;
}

/* Where the function hangs: below the switches of its chain, which are added where they are new. Of two bridges in a
 * row below the root port the upper one stands for the switch. */
static struct pci_place place_of(struct listing *l, int function, const int *chain, int n)
{
    const struct function *f = &l->list[function];
    int root_bus = n ? bus_of(&l->list[chain[0]]) : bus_of(f), numa = f->o.numa;
    for (int i = 0; i < n && numa < 0; i++)
        numa = l->list[chain[i]].o.numa;
    const char *name = arena_printf(l->t->arena, "pci%04lx:%02x", domain_of(f), (unsigned)root_bus);
    int bridge = find_host_bridge(l->c, name);
    struct pci_place at = {bridge, numa, 0};
    if (bridge < 0)
        at = pci_tree_host_bridge(l->t, l->c, numa, name);
    for (int i = 0; i < n; i++) {
        struct topo_object o = l->list[chain[i]].o;
        int known = build_find_pci(l->c, o.pci);
        if (known >= 0) {
            at.bridges++;
            at.parent = known;
            continue;
        }
        o.relaxed_ordering = o.ats = TOPO_NOT_KNOWN; /* of devices alone */
        at = pci_tree_bridge(l->t, l->c, at, o);
    }
    return at;
}

/* A guest's or a short listing's functions have no bridges above them: their place is not told. */
static int has_tree(const struct listing *l)
{
    for (int i = 0; i < l->n; i++)
        if (l->list[i].secondary || l->list[i].o.numa >= 0)
            return 1;
    return 0;
}

static void add_function(struct listing *l, int function)
{
    const struct function *f = &l->list[function];
    int chain[DEEPEST], n = chain_of(l, function, chain);
    if (build_find_pci(l->c, f->o.pci) >= 0)
        return;
    struct topo_object o = f->o;
    if (n) {
        const struct function *port = &l->list[chain[n - 1]];
        o.acs = port->redirects;
        if (port->o.link_max_GTps > 0 && port->o.link_max_GTps < o.link_max_GTps)
            o.link_max_GTps = port->o.link_max_GTps;
        if (port->o.link_max_width && port->o.link_max_width < o.link_max_width)
            o.link_max_width = port->o.link_max_width;
    }
    struct pci_place at = has_tree(l) ? place_of(l, function, chain, n) : (struct pci_place){-1, -1, 0};
    pci_tree_device(l->t, l->c, at, o, TOPO_KIND_COUNT);
}

static int lspci_read(struct text *x, struct topology *t, struct topo_class *c)
{
    struct listing l = {.x = x, .t = t, .c = c};
    if (read_functions(&l))
        return ERR_FAILED;
    for (int i = 0; i < l.n && c->ngpus < TOPO_MOST_GPUS; i++)
        if (l.list[i].o.pci_class >> 8 != 0x0604 && l.list[i].o.pci_class >> 8 != 0x0600)
            add_function(&l, i);
    pci_tree_prune(c);
    return 0;
}

const struct text_reader reader_lspci = {"lspci -vvv", lspci_begins, lspci_read, 1};
