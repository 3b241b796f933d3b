/* Recorded machines: what a file is, its content tells. XML documents are told by their root, texts by their lines:
 * whole issues with prose around matrices, several hosts behind one another. */
#include "probe/import/import.h"

#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/json.h"
#include "probe/import/readers.h"

/* A format that is XML, told by its root element. */
static const struct xml_format {
    const char *name, *root;
    int (*read)(struct topology *t, const struct xml_node *roots, const char *name, const char *file, struct err *e);
} xml_formats[] = {
    {"NCCL topology", "system", import_nccl_xml},
    {"hwloc XML", "topology", import_hwloc_xml},
    {"nvidia-smi -q -x", "nvidia_smi_log", import_smi_xml},
    {NULL, NULL, NULL},
};

/* ---- XML in the midst of a text is read like a tool's ------------------------------------------------------------ */

/* The format whose root element opens in the line; NULL. */
static const struct xml_format *find_opening(const char *line)
{
    line += strspn(line, " \t");
    for (const struct xml_format *f = xml_formats; f->name && *line == '<'; f++) {
        size_t n = strlen(f->root);
        if (!strncmp(line + 1, f->root, n) && strchr(" >", line[1 + n]))
            return f;
    }
    return NULL;
}

static int xml_begins(const struct text *x)
{
    return find_opening(text_line(x, 0)) != NULL;
}

/* The element from its line on, up to its closing tag, behind as many empty lines as stand before it, so that errors
 * name the right one. free() frees; NULL: no memory. */
static char *join_element(struct text *x, const char *root, size_t *bytes)
{
    const char *closing = arena_printf(x->a, "</%s>", root);
    char *all = NULL;
    FILE *to = open_memstream(&all, bytes);
    for (int i = 0; i < x->at && to; i++)
        fputc('\n', to);
    for (int ended = 0; x->at < x->n && to && !ended; x->at++) {
        ended = strstr(text_line(x, 0), closing) != NULL;
        fprintf(to, "%s\n", text_line(x, 0));
    }
    return to && !fclose(to) ? all : NULL;
}

static int read_inner_xml(struct text *x, struct topology *t, struct topo_class *c)
{
    const struct xml_format *f = find_opening(text_line(x, 0));
    size_t bytes;
    char *text = join_element(x, f->root, &bytes);
    struct topology one = {.arena = t->arena};
    if (!text)
        return err_set(x->e, ERR_FAILED, "%s: out of memory", x->file);
    struct xml_node *root = xml_parse(text, bytes, x->file, x->a, x->e);
    free(text);
    if (!root || f->read(&one, root, "xml", x->file, x->e))
        return ERR_FAILED;
    const char *name = c->name;
    *c = one.classes[0];
    c->name = name;
    return 0;
}

static const struct text_reader reader_xml = {"XML", xml_begins, read_inner_xml, 1};

/* The first that recognises a line reads it. */
static const struct text_reader *const text_readers[] = {
    &reader_xml,       &reader_smi_topo,
    &reader_p2p,       &reader_rocm_smi,
    &reader_amd_smi,   &reader_nvlink,
    &reader_ibstat,    &reader_ibv_devinfo,
    &reader_show_gids, &reader_ibdev2netdev,
    &reader_rdma_link, &reader_lspci,
    &reader_guids,     NULL,
};

/* ---- texts of any length ----------------------------------------------------------------------------------------- */

/* A host is recognised by the prompt of a shell before what it prints, or by a second text of a kind of which one host
 * has only one. */

#define MOST_HOSTS 4096

/* A host as far as it has been read: a topology of its own in the same memory. */
struct text_host {
    const char *name; /* by its prompt; NULL: not told */
    struct topology t;
    const struct text_reader *last[32]; /* who has read of it */
    int nlast;
    const char *read; /* "nvidia-smi topo -m (line 3), ibstat (line 40)" */
};

struct text_hosts {
    struct text x;
    struct topology *t;
    struct text_host *hosts;
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

static int has_read(const struct text_host *h, const struct text_reader *r)
{
    for (int i = 0; i < h->nlast; i++)
        if (h->last[i] == r)
            return 1;
    return 0;
}

/* The host that the next piece, which `r` reads, is of. */
static struct text_host *host_for(struct text_hosts *g, const struct text_reader *r)
{
    for (int i = 0; i < g->n && g->prompt; i++)
        if (g->hosts[i].name && !strcmp(g->hosts[i].name, g->prompt))
            return &g->hosts[i];
    struct text_host *last = g->n ? &g->hosts[g->n - 1] : NULL;
    if (last && !(r->whole && has_read(last, r)) && (!g->prompt || !last->name)) {
        last->name = last->name ? last->name : g->prompt;
        return last;
    }
    struct text_host *next = &ARENA_ADD(g->x.a, g->hosts, g->n);
    *next = (struct text_host){.name = g->prompt, .t = {.arena = g->t->arena}};
    return next;
}

static int read_piece(struct text_hosts *g, const struct text_reader *r)
{
    struct text_host *h = host_for(g, r);
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

static int read_pieces(struct text_hosts *g)
{
    while (g->x.at < g->x.n) {
        const char *host = prompt_host(&g->x, text_line(&g->x, 0));
        int i = 0;
        g->prompt = host ? host : g->prompt;
        while (text_readers[i] && !text_readers[i]->begins(&g->x))
            i++;
        if (!text_readers[i])
            g->x.at++;
        else if (read_piece(g, text_readers[i]))
            return ERR_FAILED;
    }
    return 0;
}

/* What an HCA list still needs. */
static void note_needs(struct topology *t, struct topo_class *c)
{
    int states = 0, interfaces = 0; /* ibdev2netdev tells these, and of one that is up the port's state, too */
    for (int i = 0; i < c->nports; i++) {
        states += c->ports[i].state != TOPO_STATE_UNKNOWN;
        interfaces += c->ports[i].netdev != NULL;
    }
    if (!c->ngpus)
        build_note(t, c,
                   "for distances to GPUs add nvidia-smi topo -m, an NCCL topology or an hwloc XML file (--merge)");
    if (!c->nports)
        build_note(t, c, "for RDMA ports add ibstat, ibv_devinfo or ibdev2netdev (--merge)");
    else if (!states)
        build_note(t, c, "for the states of ports add %s (--merge)",
                   interfaces ? "ibstat or ibv_devinfo" : "ibstat, ibv_devinfo or ibdev2netdev");
}

void import_renew_needs(struct topology *t)
{
    for (int i = 0; i < t->nclasses; i++) {
        struct topo_class *c = &t->classes[i];
        int kept = 0, before = c->nnotes;
        for (int k = 0; k < before; k++)
            if (!file_ends_with(c->notes[k], " (--merge)"))
                c->notes[kept++] = c->notes[k];
        c->nnotes = kept;
        if (kept < before)
            note_needs(t, c);
    }
}

static void add_hosts(struct text_hosts *g, const char *name)
{
    for (int i = 0; i < g->n; i++) {
        struct text_host *h = &g->hosts[i];
        struct topology *t = g->t;
        merge_nodes(&h->t);
        struct topo_class *c = build_class(t, NULL);
        const char *own = c->name;
        *c = h->t.classes[0];
        c->name = own;
        build_note(t, c, "read of this host: %s", h->read);
        note_needs(t, c);
        build_order_devices(t, c);
        build_host(t, h->name ? h->name : i ? arena_printf(t->arena, "%s-%d", name, i + 1) : name, t->nclasses - 1);
    }
}

int import_text(struct topology *t, char *text, const char *name, const char *file, struct err *e)
{
    struct text_hosts g = {.t = t, .x = {.file = file, .e = e, .a = arena_new()}};
    int rc = text_cut(&g.x, text);
    if (!rc)
        text_sort_hosts(&g.x);
    rc = rc || read_pieces(&g) ? ERR_FAILED : 0;
    if (!rc)
        add_hosts(&g, name);
    arena_free(g.x.a);
    return rc ? rc : g.n ? 0 : -1;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* "/data/azure_ndv4.xml": "azure_ndv4". */
static const char *host_name(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash && slash[1] ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    return !strcmp(path, "-") ? "stdin"
                              : arena_strndup(a, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
}

static int import_json(struct topology *t, const char *text, size_t bytes, const char *path, struct err *e)
{
    cJSON *doc = json_parse(text, bytes, path, 1, e);
    int rc = !doc || json_check_format(doc, TOPO_FORMAT, path, e) ? ERR_FAILED : topo_add_json(t, doc, path, e);
    if (!rc) {
        t->tool = arena_strdup(t->arena, json_str(doc, "tool", NULL));
        t->source = arena_strdup(t->arena, json_str(doc, "source", path));
    }
    cJSON_Delete(doc);
    return rc;
}

static int import_xml(struct topology *t, char *text, size_t bytes, const char *path, struct arena *scratch,
                      struct err *e)
{
    struct xml_node *roots = xml_parse(text, bytes, path, scratch, e);
    const char *name = host_name(t->arena, path), *expected = "";
    if (!roots)
        return ERR_FAILED;
    for (const struct xml_format *f = xml_formats; f->name; f++) {
        for (const struct xml_node *n = roots; n; n = n->next)
            if (xml_is(n, f->root))
                return f->read(t, roots, name, path, e);
        expected = arena_printf(scratch, "%s%s<%s> (%s)", expected, *expected ? " or " : "", f->root, f->name);
    }
    return err_at(e, path, roots->line, 0, "expected %s, found <%s>%s", expected, roots->name,
                  xml_is(roots, "graphs") ? ", which is NCCL's graph dump: NCCL_TOPO_DUMP_FILE writes the topology"
                                          : "");
}

static int refuse_unknown(const char *path, struct arena *scratch, struct err *e)
{
    const char *all = "topology.json";
    for (const struct xml_format *f = xml_formats; f->name; f++)
        all = arena_printf(scratch, "%s, %s", all, f->name);
    for (int i = 0; text_readers[i]; i++)
        if (text_readers[i]->name[0] != 'X')
            all = arena_printf(scratch, "%s, %s", all, text_readers[i]->name);
    return err_at(e, path, 1, 0,
                  "no known tool output: expected one of %s; a list of HCAs needs distances (topo -m or an XML) and "
                  "the states of ports (ibstat, ibv_devinfo, ibdev2netdev)",
                  all);
}

/* Whether it is an XML document as a whole, which no text before its root says. */
static int is_xml(const char *text, struct arena *scratch)
{
    for (const struct xml_format *f = xml_formats; f->name; f++)
        if (strstr(text, arena_printf(scratch, "<%s", f->root)))
            return 1;
    return strstr(text, "<graphs") != NULL;
}

static int import_file(struct topology *t, const char *path, struct err *e)
{
    struct arena *scratch = arena_new();
    char *text;
    size_t bytes;
    int rc = file_read_text(path, FILE_LIMIT, scratch, &text, &bytes, e);
    if (!rc) {
        size_t skip = strncmp(text, "\xef\xbb\xbf", 3) ? 0 : 3;
        char first = text[skip + strspn(text + skip, " \t\r\n")];
        text += skip;
        bytes -= skip;
        if (first == '{')
            rc = import_json(t, text, bytes, path, e);
        else if (first == '<' && is_xml(text, scratch))
            rc = import_xml(t, text, bytes, path, scratch, e);
        else
            rc = import_text(t, text, host_name(t->arena, path), path, e);
        if (rc < 0)
            rc = refuse_unknown(path, scratch, e);
    }
    arena_free(scratch);
    return rc;
}

/* As import_file, but a host of a class that is there already is added to it, and nothing of its own class stays. */
static int fold_file(struct topology *t, struct class_index *index, const char *path, struct err *e)
{
    struct topology *one = topo_new();
    int rc = import_file(one, path, e), at = -1;
    const struct topo_host *h = one->hosts;
    /* What only a document of ours tells of a host is kept by reading it as it is. */
    if (!rc && one->nclasses == 1 && one->nhosts == 1 && !one->nmissing && !h->ndiffers && !h->nleaves &&
        !h->nlibraries)
        at = classes_find(index, &one->classes[0], t->nclasses);
    int known = at >= 0 && at < t->nclasses;
    if (known)
        classes_add_host(t, at, &one->classes[0], h, h->name);
    topo_free(one);
    return rc || known ? rc : import_file(t, path, e);
}

static struct topology *read_files(const char *const *paths, int npaths, int fold, struct log *log, struct err *e)
{
    struct topology *t = topo_new();
    struct class_index index = {0};
    const char *names = "";
    int rc = 0;
    for (int i = 0; i < npaths && !rc; i++) {
        int once = !fold || npaths == 1 || !strcmp(paths[i], "-"); /* cannot be read again */
        rc = once ? import_file(t, paths[i], e) : fold_file(t, &index, paths[i], e);
    }
    classes_index_free(&index);
    if (rc) {
        topo_free(t);
        return NULL;
    }
    const int most = 16; /* names of files in `source` */
    for (int i = 0; i < npaths && i < most; i++)
        names = arena_printf(t->arena, "%s%s%s", names, i ? ", " : "", paths[i]);
    if (npaths != 1 || !t->source) {
        t->source = npaths > most ? arena_printf(t->arena, "%s and %d more", names, npaths - most) : names;
        t->tool = NCCLTUNE_VERSION;
    }
    for (int i = 0; i < t->nhosts; i++)
        log_info(log, "%s: %d GPUs", t->hosts[i].name, t->classes[t->hosts[i].class_index].ngpus);
    return t;
}

struct topology *probe_files(const char *const *paths, int npaths, struct log *log, struct err *e)
{
    return read_files(paths, npaths, 0, log, e);
}

struct topology *probe_text(char *text, const char *name, struct err *e)
{
    struct topology *t = topo_new();
    if (!import_text(t, text, arena_strdup(t->arena, name), name, e) && t->nhosts)
        return t;
    topo_free(t);
    return NULL;
}

struct topology *probe_hosts(const char *const *paths, int npaths, struct log *log, struct err *e)
{
    struct topology *t = read_files(paths, npaths, 1, log, e);
    if (t)
        classes_merge(t);
    return t;
}
