/* Several descriptions become one: identical nodes become one class, by the hash of what does not change, and several
 * descriptions of one node become one node. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "probe/topology/topology_internal.h"

/* ---- identical nodes --------------------------------------------------------------------------------------------- */

struct class_met {
    int class_index;
    char hash[SHA256_HEX];
};

static int by_hash(const void *x, const void *y)
{
    const struct class_met *a = x, *b = y;
    return strcmp(a->hash, b->hash);
}

void classes_index_free(struct class_index *index)
{
    tdestroy(index->tree, free);
    index->tree = NULL;
}

int classes_find(struct class_index *index, const struct topo_class *c, int next)
{
    struct class_met *own = malloc(sizeof *own), *const *met = NULL;
    if (own) {
        own->class_index = next;
        topo_class_hash(c, own->hash);
        met = tsearch(own, &index->tree, by_hash);
    }
    if (!met)
        abort();
    int found = (*met)->class_index;
    if (*met != own)
        free(own);
    return found;
}

static void copy_texts(struct topology *t, const char ***to, int *nto, const char *const *from, int nfrom)
{
    for (int i = 0; i < nfrom; i++)
        build_text(t, to, nto, from[i]);
}

static int same_texts(const char *const *x, int nx, const char *const *y, int ny)
{
    int same = nx == ny;
    for (int i = 0; i < nx && same; i++)
        same = !strcmp(x[i], y[i]);
    return same;
}

static void note_differences(struct topology *t, const struct topo_class *first, const struct topo_class *own,
                             struct topo_host *h)
{
    struct arena *a = arena_new();
    const char **sentences;
    int n = differences_within(first, own, a, &sentences);
    copy_texts(t, &h->differs, &h->ndiffers, sentences, n);
    if (!h->nlibraries && !same_texts(first->libraries, first->nlibraries, own->libraries, own->nlibraries))
        copy_texts(t, &h->libraries, &h->nlibraries, own->libraries, own->nlibraries);
    arena_free(a);
}

void classes_add_host(struct topology *t, int class_index, const struct topo_class *own, const struct topo_host *from,
                      const char *name)
{
    build_host(t, name, class_index);
    struct topo_host *h = &t->hosts[t->nhosts - 1];
    copy_texts(t, &h->addresses, &h->naddresses, from->addresses, from->naddresses);
    copy_texts(t, &h->errors, &h->nerrors, from->errors, from->nerrors);
    copy_texts(t, &h->signs, &h->nsigns, from->signs, from->nsigns);
    h->clique = arena_strdup(t->arena, from->clique);
    note_differences(t, &t->classes[class_index], own, h);
}

void classes_merge(struct topology *t)
{
    struct class_index index = {0};
    struct arena *a = arena_new();
    int *where = arena_alloc(a, (size_t)t->nclasses * sizeof *where), n = 0;
    struct topo_class *all = arena_alloc(a, (size_t)t->nclasses * sizeof *all);
    if (t->nclasses)
        memcpy(all, t->classes, (size_t)t->nclasses * sizeof *all);
    for (int i = 0; i < t->nclasses; i++) {
        where[i] = classes_find(&index, &all[i], n);
        if (where[i] < n)
            continue;
        t->classes[n] = all[i];
        t->classes[n].name = arena_printf(t->arena, "class%d", n);
        n++;
    }
    for (int i = 0; i < t->nhosts; i++) {
        struct topo_host *h = &t->hosts[i];
        int before = h->class_index;
        h->class_index = where[before];
        note_differences(t, &t->classes[where[before]], &all[before], h);
    }
    t->nclasses = n;
    arena_free(a);
    classes_index_free(&index);
}

/* ---- one node out of several descriptions of it ------------------------------------------------------------------ */

/* From one class into another of the same topology. The one whose tree stands is the one that knows most (see
 * weigh_class); what the others know besides is filled in, and where they contradict it a note says so. */
struct merging {
    struct topology *t;
    struct topo_class *to;
    const struct topo_class *from;
    int *object;  /* index in `to` of every object of `from`; -1 none yet */
    int *gpu;     /* the same of GPUs */
    int has_tree; /* `to` says where a device is */
};

/* Copy what `from` knows and `to` does not, except indices, which mean something else there. */
static void fill_unknown(const struct json_field *fields, void *to, const void *from)
{
    for (const struct json_field *f = fields; f->key; f++) {
        void *at = (char *)to + f->at;
        if (f->kind->size && !json_is_known(f, at))
            memcpy(at, (const char *)from + f->at, f->kind->size);
    }
}

/* ---- matching devices -------------------------------------------------------------------------------------------- */

/* The GPU of `to` that is GPU `g` of `from`: by address, else by number where one of the two has no address. */
static int match_gpu(const struct merging *m, int g)
{
    const struct topo_object *o = &m->from->objects[m->from->gpus[g].object];
    int at = build_find_pci(m->to, o->pci);
    for (int i = 0; i < m->to->ngpus; i++) {
        const struct topo_gpu *own = &m->to->gpus[i];
        int sharing = 0; /* GPUs on one device */
        for (int k = 0; k < m->to->ngpus; k++)
            sharing += m->to->gpus[k].object == own->object;
        if (topo_same_text(own->uuid, m->from->gpus[g].uuid))
            return i;
        if (at >= 0 ? own->object == at && (own->index == m->from->gpus[g].index || sharing == 1)
                    : own->index == m->from->gpus[g].index && (!o->pci || !m->to->objects[own->object].pci))
            return i;
    }
    return -1;
}

/* The NIC of `to` that has one of the ports or interfaces of the NIC `object` of `from`. */
static int match_nic(const struct merging *m, int object)
{
    for (int i = 0; i < m->from->nports; i++) {
        int at = m->from->ports[i].object == object
                     ? topo_find_port(m->to, m->from->ports[i].hca, m->from->ports[i].port)
                     : -1;
        if (at >= 0 && m->to->ports[at].object >= 0)
            return m->to->ports[at].object;
    }
    for (int i = 0; i < m->from->nnetdevs; i++) {
        const struct topo_netdev *from = &m->from->netdevs[i], *to = topo_find_netdev(m->to, from->name);
        if (from->object == object && to && to->object >= 0)
            return to->object;
    }
    return -1;
}

static int match_object(const struct merging *m, int object)
{
    const struct topo_object *o = &m->from->objects[object];
    int at = build_find_pci(m->to, o->pci);
    if (at >= 0) {
        enum topo_kind own = m->to->objects[at].kind;
        return own == o->kind || own == TOPO_FUNCTION || o->kind == TOPO_FUNCTION ? at : -1;
    }
    if (o->kind == TOPO_NIC)
        return match_nic(m, object);
    for (int i = 0; i < m->to->nobjects; i++) {
        const struct topo_object *own = &m->to->objects[i];
        if (own->kind != o->kind || own->pci)
            continue;
        if ((o->kind == TOPO_NUMA && own->numa == o->numa) ||
            (o->kind == TOPO_HOST_BRIDGE && topo_same_text(own->name, o->name)) ||
            (o->kind == TOPO_NVSWITCH && !o->pci))
            return i;
    }
    return -1;
}

/* ---- taking over ------------------------------------------------------------------------------------------------- */

static int is_device(const struct topo_object *o)
{
    return o->kind == TOPO_GPU || o->kind == TOPO_NIC || o->kind == TOPO_NVSWITCH || o->kind == TOPO_FUNCTION;
}

/* A switch without an address was made up from distances: what hangs below it is placed beside a device below it that
 * has a counterpart, or below what is above it. -2: nothing there has one. */
static int beside_known(const struct merging *m, int parent)
{
    for (; parent >= 0; parent = m->from->objects[parent].parent) {
        if (m->object[parent] >= 0)
            return m->object[parent];
        if (m->from->objects[parent].pci)
            return -2;
        for (int i = parent + 1; i < m->from->nobjects; i++)
            if (m->from->objects[i].parent == parent && is_device(&m->from->objects[i]) && m->object[i] >= 0)
                return m->to->objects[m->object[i]].parent;
    }
    return -2;
}

/* The object's counterpart, added with everything above it where there is none. */
static int ensure_object(struct merging *m, int object)
{
    if (object < 0 || m->object[object] >= 0)
        return object < 0 ? -1 : m->object[object];
    struct topo_object o = m->from->objects[object];
    int known = m->has_tree ? beside_known(m, o.parent) : -2;
    o.parent = known == -2 ? ensure_object(m, o.parent) : known;
    return m->object[object] = build_object(m->t, m->to, o);
}

static void merge_objects(struct merging *m)
{
    for (int i = 0; i < m->from->nobjects; i++)
        m->object[i] = match_object(m, i);
    for (int i = 0; i < m->from->ngpus; i++) {
        m->gpu[i] = match_gpu(m, i);
        if (m->gpu[i] >= 0)
            m->object[m->from->gpus[i].object] = m->to->gpus[m->gpu[i]].object;
    }
    for (int i = 0; i < m->from->nobjects; i++) {
        const struct topo_object *o = &m->from->objects[i];
        int at = m->object[i];
        if (at >= 0 && m->to->objects[at].kind == TOPO_FUNCTION)
            m->to->objects[at].kind = o->kind;
        if (at >= 0)
            fill_unknown(topo_object_fields, &m->to->objects[at], o);
        else if (is_device(o))
            at = ensure_object(m, i);
        /* A device whose place was not known gets one, unless that would hang it below itself. */
        if (at >= 0 && is_device(o) && m->to->objects[at].parent < 0 && o->parent >= 0) {
            int known = m->has_tree ? beside_known(m, o->parent) : -2,
                parent = known == -2 ? ensure_object(m, o->parent) : known;
            if (!topo_is_below(m->to, parent, at))
                m->to->objects[at].parent = parent;
        }
    }
}

static void merge_devices(struct merging *m)
{
    for (int i = 0; i < m->from->ngpus; i++) {
        struct topo_gpu g = m->from->gpus[i];
        g.object = ensure_object(m, g.object);
        if (m->gpu[i] >= 0)
            fill_unknown(topo_gpu_fields, &m->to->gpus[m->gpu[i]], &g);
        else
            m->gpu[i] = build_gpu(m->t, m->to, g);
    }
    for (int i = 0; i < m->from->nports; i++) {
        struct topo_port p = m->from->ports[i];
        int at = topo_find_port(m->to, p.hca, p.port), has_gids = 0;
        p.object = ensure_object(m, p.object);
        if (at < 0)
            at = build_port(m->t, m->to, p);
        fill_unknown(topo_port_fields, &m->to->ports[at], &p);
        if (m->to->ports[at].object < 0)
            m->to->ports[at].object = p.object;
        for (int k = 0; k < m->to->ngids; k++)
            has_gids |= m->to->gids[k].port == at;
        for (int k = 0; k < m->from->ngids && !has_gids; k++)
            if (m->from->gids[k].port == i) {
                struct topo_gid g = m->from->gids[k];
                g.port = at;
                build_gid(m->t, m->to, g);
            }
    }
    for (int i = 0; i < m->from->nnetdevs; i++) {
        struct topo_netdev d = m->from->netdevs[i];
        struct topo_netdev *known = topo_find_netdev(m->to, d.name);
        d.object = ensure_object(m, d.object);
        if (known)
            fill_unknown(topo_netdev_fields, known, &d);
        else
            build_netdev(m->t, m->to, d);
    }
}

/* Links of a GPU for which there are none of that kind yet. */
static void merge_links(struct merging *m)
{
    int before = m->to->nlinks;
    for (int i = 0; i < m->from->nlinks; i++) {
        struct topo_link l = m->from->links[i];
        int known = 0;
        l.gpu = m->gpu[l.gpu];
        l.peer_gpu = l.peer_gpu < 0 ? -1 : m->gpu[l.peer_gpu];
        l.peer_object = ensure_object(m, l.peer_object);
        for (int k = 0; k < before; k++)
            known |= m->to->links[k].gpu == l.gpu && m->to->links[k].link_kind == l.link_kind;
        if (!known)
            build_link(m->t, m->to, l);
    }
}

/* Parents first again. */
static void sort_objects(struct topo_class *c)
{
    if (!c->nobjects)
        return;
    struct arena *a = arena_new();
    int n = c->nobjects, placed = 0, *where = arena_alloc(a, (size_t)n * sizeof *where);
    struct topo_object *sorted = arena_alloc(a, (size_t)n * sizeof *sorted);
    memset(where, -1, (size_t)n * sizeof *where);
    for (int before = -1; placed > before;) {
        before = placed;
        for (int i = 0; i < n; i++) {
            int parent = c->objects[i].parent;
            if (where[i] >= 0 || (parent >= 0 && where[parent] < 0))
                continue;
            sorted[placed] = c->objects[i];
            sorted[placed].parent = parent < 0 ? -1 : where[parent];
            where[i] = placed++;
        }
    }
    memcpy(c->objects, sorted, (size_t)n * sizeof *sorted);
    build_renumber(c, where);
    arena_free(a);
}

/* As far as all tools agree on words: below one switch, on one NUMA node, apart; -1 not known or linked. */
static int nearness(const struct topo_path *p)
{
    return p->word == WORD_PIX || p->word == WORD_PXB    ? 0
           : p->word == WORD_PHB || p->word == WORD_NODE ? 1
           : p->word == WORD_SYS                         ? 2
                                                         : -1;
}

static void note_contradictions(struct merging *m)
{
    struct arena *a = arena_new();
    const struct path_matrix *to = path_matrix(m->to, a), *from = path_matrix(m->from, a);
    char here[PATH_WORD], there[PATH_WORD];
    const char *first = NULL;
    int n = 0;
    for (int g = 0; g < from->ngpus && m->from->nports && m->to->nports; g++)
        for (int k = from->ngpus; k < from->n; k++) {
            int end = path_end_of(to, from->ends[k].label);
            const struct topo_path *p = path_between(from, g, k), *q = end < 0 ? p : path_between(to, m->gpu[g], end);
            if (nearness(p) < 0 || nearness(q) < 0 || nearness(p) == nearness(q))
                continue;
            if (!n++)
                first = arena_printf(a, "%s and %s: %s, or %s", to->ends[m->gpu[g]].label, from->ends[k].label,
                                     path_word(here, q), path_word(there, p));
        }
    if (n)
        build_note(m->t, m->to,
                   "the descriptions contradict one another about %d way%s between GPUs and NICs (%s); the first one "
                   "is used: are all of the same node?",
                   n, n == 1 ? "" : "s", first);
    arena_free(a);
}

/* Into the first. */
static void merge_class(struct topology *t, int class_index)
{
    struct merging m = {.t = t, .to = &t->classes[0], .from = &t->classes[class_index]};
    for (int i = 0; i < m.to->nobjects; i++)
        m.has_tree |= is_device(&m.to->objects[i]) && m.to->objects[i].parent >= 0;
    m.object = arena_alloc(t->arena, (size_t)m.from->nobjects * sizeof *m.object);
    m.gpu = arena_alloc(t->arena, (size_t)m.from->ngpus * sizeof *m.gpu);
    merge_objects(&m);
    merge_devices(&m);
    merge_links(&m);
    fill_unknown(topo_class_fields, m.to, m.from);
    for (int i = 0; i < m.from->nnotes; i++)
        build_note(t, m.to, "%s", m.from->notes[i]);
    sort_objects(m.to);
    note_contradictions(&m);
}

/* ---- the best description ---------------------------------------------------------------------------------------- */

/* What a description is worth: ways between GPUs and ports, devices with addresses, devices. */
struct weight {
    struct topo_class c;
    int index;
    int pairs, addresses, objects;
    char hash[SHA256_HEX];
};

static struct weight weigh_class(const struct topo_class *c, int index)
{
    struct arena *a = arena_new();
    struct weight w = {.c = *c, .index = index, .objects = c->nobjects};
    const struct path_matrix *m = path_matrix(c, a);
    for (int g = 0; g < m->ngpus && c->nports; g++)
        for (int k = m->ngpus; k < m->n; k++)
            w.pairs += path_between(m, g, k)->class_ != PATH_UNKNOWN;
    for (int i = 0; i < c->nobjects; i++)
        w.addresses += c->objects[i].pci != NULL && c->objects[i].parent >= 0;
    topo_class_hash(c, w.hash);
    arena_free(a);
    return w;
}

static int compare_weights(const void *x, const void *y)
{
    const struct weight *a = x, *b = y;
    if (a->pairs != b->pairs)
        return b->pairs - a->pairs;
    if (a->addresses != b->addresses)
        return b->addresses - a->addresses;
    if (a->objects != b->objects)
        return b->objects - a->objects;
    int order = strcmp(a->hash, b->hash);
    return order ? order : a->index - b->index;
}

/* The best first: the order of the files does not matter. */
static void order_classes(struct topology *t)
{
    struct arena *a = arena_new();
    struct weight *w = arena_alloc(a, (size_t)t->nclasses * sizeof *w);
    for (int i = 0; i < t->nclasses; i++)
        w[i] = weigh_class(&t->classes[i], i);
    qsort(w, (size_t)t->nclasses, sizeof *w, compare_weights);
    int named = 0; /* what has addresses has the machine's own name, rather than a file's */
    for (int i = 0; i < t->nclasses; i++) {
        t->classes[i] = w[i].c;
        named = w[i].addresses > w[named].addresses ? i : named;
    }
    for (int i = 0; i < t->nhosts; i++)
        if (t->hosts[i].class_index == w[named].index) {
            t->hosts[0] = t->hosts[i];
            break;
        }
    if (t->nhosts)
        t->hosts[0].class_index = 0;
    t->classes[0].name = "class0";
    arena_free(a);
}

void merge_nodes(struct topology *t)
{
    if (t->nclasses == 1)
        sort_objects(&t->classes[0]);
    if (t->nclasses < 2)
        return;
    order_classes(t);
    for (int i = 1; i < t->nclasses; i++)
        merge_class(t, i);
    t->nclasses = 1;
    t->nhosts = t->nhosts ? 1 : 0;
    pci_tree_prune(&t->classes[0]);
    build_order_devices(t, &t->classes[0]);
}
