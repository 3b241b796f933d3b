/* A document of any length, of which readers take what they know: whole issues with prose around matrices, several
 * hosts behind one another. A host is told by the prompt of a shell before what it prints, or by a second text of a
 * kind of which one host has only one. */
#include <string.h>

#include "probe/import/import.h"
#include "probe/import/text.h"
#include "probe/topology/build.h"

#define MOST_HOSTS 4096

/* A host as far as it has been read: a topology of its own in the same memory. */
struct heard {
    const char *name; /* by its prompt; NULL: not told */
    struct topology t;
    const struct text_reader *last[32]; /* who has read of it */
    int nlast;
    const char *read; /* "nvidia-smi topo -m (line 3), ibstat (line 40)" */
};

struct hearing {
    struct text x;
    struct topology *t;
    struct heard *hosts;
    int n;
    const char *prompt; /* the host of the last prompt; NULL none yet */
};

/* "root@node1:~# ibstat", "[me@node1 ~]$ ibstat": node1; NULL: no prompt. */
static const char *prompt_host(const struct text *x, const char *line)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    line += strspn(line, " \t[(");
    size_t user = strspn(line, name);
    if (!user || line[user] != '@')
        return NULL;
    const char *host = line + user + 1, *end = host + strspn(host, name);
    if (end == host || (*end != ':' && *end != ' ' && *end != ']') || !strpbrk(end, "#$%>"))
        return NULL;
    return arena_strndup(x->a, host, (size_t)(end - host));
}

static int has_read(const struct heard *h, const struct text_reader *r)
{
    for (int i = 0; i < h->nlast; i++)
        if (h->last[i] == r)
            return 1;
    return 0;
}

/* The host that the next piece, which `r` reads, is of. */
static struct heard *host_for(struct hearing *g, const struct text_reader *r)
{
    for (int i = 0; i < g->n && g->prompt; i++)
        if (g->hosts[i].name && !strcmp(g->hosts[i].name, g->prompt))
            return &g->hosts[i];
    struct heard *last = g->n ? &g->hosts[g->n - 1] : NULL;
    if (last && !(r->whole && has_read(last, r)) && (!g->prompt || !last->name)) {
        last->name = last->name ? last->name : g->prompt;
        return last;
    }
    g->hosts = arena_grow(g->x.a, g->hosts, (size_t)g->n, sizeof *g->hosts);
    g->hosts[g->n] = (struct heard){.name = g->prompt, .t = {.arena = g->t->arena}};
    return &g->hosts[g->n++];
}

static int take(struct hearing *g, const struct text_reader *r)
{
    struct heard *h = host_for(g, r);
    int before = g->x.at;
    if (g->n > MOST_HOSTS)
        return text_wrong(&g->x, "more than %d hosts", MOST_HOSTS);
    struct topo_class *c = build_class(&h->t, NULL);
    if (r->read(&g->x, &h->t, c))
        return ERR_FAILED;
    if (!has_read(h, r))
        h->read = arena_printf(g->t->arena, "%s%s%s (line %d)", h->read ? h->read : "", h->read ? ", " : "", r->name,
                               before + 1);
    if (h->nlast < 32 && !has_read(h, r))
        h->last[h->nlast++] = r;
    g->x.at += g->x.at == before;
    return 0;
}

static int listen(struct hearing *g)
{
    while (g->x.at < g->x.n) {
        const char *host = prompt_host(&g->x, text_line(&g->x, 0));
        int i = 0;
        g->prompt = host ? host : g->prompt;
        while (text_readers[i] && !text_readers[i]->begins(&g->x))
            i++;
        if (!text_readers[i])
            g->x.at++;
        else if (take(g, text_readers[i]))
            return ERR_FAILED;
    }
    return 0;
}

/* What an HCA list still needs. */
static void note_needs(struct topology *t, struct topo_class *c)
{
    int states = 0;
    for (int i = 0; i < c->nports; i++)
        states += c->ports[i].state != TOPO_STATE_UNKNOWN;
    if (!c->ngpus)
        build_note(t, c,
                   "for distances to GPUs add nvidia-smi topo -m, an NCCL topology or an hwloc XML file (--merge)");
    if (!c->nports)
        build_note(t, c, "for RDMA ports add ibstat, ibv_devinfo or ibdev2netdev (--merge)");
    else if (!states)
        build_note(t, c, "for the states of ports add ibstat, ibv_devinfo or ibdev2netdev (--merge)");
}

static void add_hosts(struct hearing *g, const char *name)
{
    for (int i = 0; i < g->n; i++) {
        struct heard *h = &g->hosts[i];
        struct topology *t = g->t;
        merge_nodes(&h->t);
        struct topo_class *c = build_class(t, NULL);
        const char *own = c->name;
        *c = h->t.classes[0];
        c->name = own;
        build_note(t, c, "read of this host: %s", h->read);
        note_needs(t, c);
        build_order_gpus(t, c);
        build_order_ports(c);
        build_host(t, h->name ? h->name : i ? arena_printf(t->arena, "%s-%d", name, i + 1) : name, t->nclasses - 1);
    }
}

int import_text(struct topology *t, char *text, const char *name, const char *file, struct err *e)
{
    struct hearing g = {.t = t, .x = {.file = file, .e = e, .a = arena_new()}};
    int rc = text_cut(&g.x, text);
    if (!rc)
        text_sort_hosts(&g.x);
    rc = rc || listen(&g) ? ERR_FAILED : 0;
    if (!rc)
        add_hosts(&g, name);
    arena_free(g.x.a);
    return rc ? rc : g.n ? 0 : -1;
}
