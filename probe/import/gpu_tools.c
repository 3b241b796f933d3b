/* What tools print of GPUs beside nvidia-smi topo -m: square tables (nvidia-smi topo -p2p, rocm-smi --showtopo, amd-smi
 * topology), and the links of every GPU (nvidia-smi nvlink -s). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "probe/import/readers.h"

enum { VENDOR_AMD = 0x1002 };

/* The names of a heading, which the rows repeat; how many. */
struct square {
    const char *names[TOPO_MOST_GPUS];
    int n;
};

static int is_gpu(const char *word)
{
    return !strncmp(word, "GPU", 3) && isdigit((unsigned char)word[3]) && strlen(word) < 8;
}

static int read_heading(struct text *x, struct square *q)
{
    const char *words[TOPO_MOST_GPUS + 1];
    int n = text_words(x, text_line(x, 0), words, TOPO_MOST_GPUS + 1);
    if (n > TOPO_MOST_GPUS)
        return text_wrong(x, "more than %d GPUs", TOPO_MOST_GPUS);
    q->n = 0;
    while (q->n < n && (is_gpu(words[q->n]) || pci_address(x->a, words[q->n]))) {
        q->names[q->n] = words[q->n];
        q->n++;
    }
    x->at++;
    return 0;
}

/* The words of the next row, which begins with `name`; NULL: something else comes. */
static const char **read_row(struct text *x, const struct square *q, int at)
{
    const char **words = arena_alloc(x->a, (size_t)(q->n + 1) * sizeof *words);
    int n = text_words(x, text_line(x, 0), words, q->n + 1);
    if (n != q->n + 1 || strcmp(words[0], q->names[at]) != 0)
        return NULL;
    x->at++;
    return words + 1;
}

/* ---- nvidia-smi topo -p2p ---------------------------------------------------------------------------------------- */

static const struct {
    const char *word, *reason;
} p2p_words[] = {{"CNS", "not supported by the chipset"},
                 {"GNS", "not supported by the GPU"},
                 {"TNS", "not supported between these I/O hubs"},
                 {"NS", "not supported"},
                 {"DR", "disabled by a setting of the driver"}};
#define P2P_WORDS (sizeof p2p_words / sizeof *p2p_words)

static int p2p_word(const char *word)
{
    for (size_t i = 0; i < P2P_WORDS; i++)
        if (!strcmp(word, p2p_words[i].word))
            return (int)i;
    return !strcmp(word, "OK") || !strcmp(word, "U") ? (int)P2P_WORDS : -1;
}

static int p2p_begins(const struct text *x)
{
    const char *words[3], *line = text_line(x, 0);
    line += strspn(line, " \t");
    if (strncmp(line, "GPU0", 4) != 0)
        return 0;
    return text_words(x, text_next_line(x), words, 3) == 3 && !strcmp(words[0], "GPU0") && !strcmp(words[1], "X") &&
           p2p_word(words[2]) >= 0;
}

static int p2p_read(struct text *x, struct topology *t, struct topo_class *c)
{
    struct square *q = ARENA_NEW(x->a, struct square);
    const char **words;
    if (read_heading(x, q))
        return ERR_FAILED;
    for (int i = 0; i < q->n && (words = read_row(x, q, i)); i++) {
        struct topo_gpu *g = text_gpu(t, c, (int)strtol(q->names[i] + 3, NULL, 10));
        for (int k = i + 1; k < q->n && g; k++) {
            int word = p2p_word(words[k]);
            if (word >= 0 && word < (int)P2P_WORDS)
                build_text(t, &g->p2p_problems, &g->np2p_problems,
                           arena_printf(x->a, "%s: P2P: %s", q->names[k], p2p_words[word].reason));
        }
    }
    return 0;
}

const struct text_reader reader_p2p = {"nvidia-smi topo -p2p", p2p_begins, p2p_read, 0};

/* ---- links of AMD's GPUs ----------------------------------------------------------------------------------------- */

/* The index into gpus of the GPU that the word names, by number or by address. */
static int find_named_gpu(struct topology *t, struct topo_class *c, const char *word)
{
    const char *pci = is_gpu(word) ? NULL : pci_address(t->arena, word);
    if (!pci) {
        struct topo_gpu *g = text_gpu(t, c, (int)strtol(word + 3, NULL, 10));
        return g ? (int)(g - c->gpus) : -1;
    }
    int known = build_find_gpu(c, build_find_pci(c, pci));
    if (known >= 0 || c->ngpus >= TOPO_MOST_GPUS)
        return known;
    struct topo_object o = {.kind = TOPO_GPU, .parent = -1, .numa = -1, .pci = pci, .vendor = VENDOR_AMD};
    int object = build_object(t, c, o);
    return build_gpu(t, c, (struct topo_gpu){.object = object, .index = c->ngpus, .gdr = -1});
}

/* A table with its heading; of link types where `links`, else only passed over. */
static int read_table(struct text *x, struct topology *t, struct topo_class *c, int links)
{
    struct square *q = ARENA_NEW(x->a, struct square);
    const char **words;
    while (x->at < x->n && text_is_blank(text_line(x, 0)))
        x->at++;
    if (read_heading(x, q))
        return ERR_FAILED;
    int *gpus = arena_alloc(x->a, (size_t)q->n * sizeof *gpus);
    for (int i = 0; i < q->n; i++)
        gpus[i] = find_named_gpu(t, c, q->names[i]);
    for (int i = 0; i < q->n && (words = read_row(x, q, i)); i++)
        for (int k = 0; k < q->n && links && gpus[i] >= 0 && c->nlinks < IMPORT_MOST_PORTS; k++) {
            struct topo_link l = {TOPO_XGMI, .gpu = gpus[i], .peer_gpu = gpus[k], .peer_object = -1, .count = 1};
            if (k != i && gpus[k] >= 0 && !strcmp(words[k], "XGMI"))
                build_link(t, c, l);
        }
    return 0;
}

/* ---- rocm-smi --showtopo ----------------------------------------------------------------------------------------- */

static int rocm_begins(const struct text *x)
{
    return strstr(text_line(x, 0), " between two GPUs ") != NULL;
}

/* "GPU[0]		: (Topology) Numa Node: 0" */
static int rocm_numa_line(struct text *x, struct topology *t, struct topo_class *c)
{
    const char *line = text_line(x, 0), *numa = strstr(line, "(Topology) Numa Node: ");
    line += strspn(line, " \t");
    if (strncmp(line, "GPU[", 4) != 0 || !strstr(line, "(Topology)"))
        return 0;
    struct topo_gpu *g = numa ? text_gpu(t, c, (int)strtol(line + 4, NULL, 10)) : NULL;
    int node = numa ? (int)strtol(strchr(numa, ':') + 1, NULL, 10) : -1;
    if (g && node >= 0 && node < 65536) {
        int object = g->object, root = build_numa(t, c, node);
        c->objects[object].numa = node;
        /* The root may come behind its GPU; merging puts parents first. */
        c->objects[object].parent = root;
    }
    x->at++;
    return 1;
}

static int rocm_read(struct text *x, struct topology *t, struct topo_class *c)
{
    while (x->at < x->n) {
        const char *line = text_line(x, 0);
        int links = strstr(line, "Link Type between two GPUs") != NULL;
        if (rocm_begins(x)) {
            x->at++;
            if (read_table(x, t, c, links))
                return ERR_FAILED;
        } else if (!rocm_numa_line(x, t, c)) {
            if (!text_is_blank(line) && !strstr(line, "===="))
                break;
            x->at++;
        }
    }
    for (int i = 0; i < c->ngpus; i++)
        c->objects[c->gpus[i].object].vendor = VENDOR_AMD;
    return 0;
}

const struct text_reader reader_rocm_smi = {"rocm-smi --showtopo", rocm_begins, rocm_read, 1};

/* ---- amd-smi topology -------------------------------------------------------------------------------------------- */

static int is_table_title(const char *line)
{
    line += strspn(line, " \t");
    size_t n = strlen(line);
    return n > 7 && !strcmp(line + n - 6, "TABLE:") && strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ- ") == n - 1;
}

static int amd_begins(const struct text *x)
{
    const char *word;
    return is_table_title(text_line(x, 0)) && text_words(x, text_next_line(x), &word, 1) &&
           (pci_address(x->a, word) || is_gpu(word));
}

static int amd_read(struct text *x, struct topology *t, struct topo_class *c)
{
    while (x->at < x->n) {
        const char *line = text_line(x, 0);
        int links = strstr(line, "LINK TYPE TABLE:") != NULL;
        if (!text_is_blank(line) && !amd_begins(x))
            break;
        x->at++;
        if (!text_is_blank(line) && read_table(x, t, c, links))
            return ERR_FAILED;
    }
    return 0;
}

const struct text_reader reader_amd_smi = {"amd-smi topology", amd_begins, amd_read, 1};

/* ---- nvidia-smi nvlink -s: the links of every GPU, and which of them are not active, but not where they lead ----- */

/* "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-…)": the number; -1 for another line. */
static long gpu_line(const char *line)
{
    char *end;
    line += strspn(line, " \t");
    if (strncmp(line, "GPU ", 4) != 0)
        return -1;
    long n = strtol(line + 4, &end, 10);
    return end > line + 4 && *end == ':' && n >= 0 && n < 65536 ? n : -1;
}

static int link_line(const char *line)
{
    char *end;
    line += strspn(line, " \t");
    if (strncmp(line, "Link ", 5) != 0)
        return 0;
    strtol(line + 5, &end, 10);
    return end > line + 5 && *end == ':' && (strstr(end, "GB/s") || strstr(end, "inactive"));
}

static int nvlink_begins(const struct text *x)
{
    return gpu_line(text_line(x, 0)) >= 0 && link_line(text_next_line(x));
}

static void nvlink_describe_gpu(const struct text *x, struct topology *t, struct topo_class *c, struct topo_gpu *g)
{
    const char *model = strchr(text_line(x, 0), ':') + 1, *uuid = strstr(model, "(UUID: ");
    model += strspn(model, " ");
    size_t n = uuid ? (size_t)(uuid - model) : strlen(model);
    while (n && model[n - 1] == ' ')
        n--;
    if (n)
        c->objects[g->object].model = arena_strndup(t->arena, model, n);
    if (uuid && strchr(uuid, ')'))
        g->uuid = arena_strndup(t->arena, uuid + 7, (size_t)(strchr(uuid, ')') - uuid - 7));
}

static int nvlink_read(struct text *x, struct topology *t, struct topo_class *c)
{
    while (x->at < x->n && nvlink_begins(x)) {
        struct topo_gpu *g = text_gpu(t, c, (int)gpu_line(text_line(x, 0)));
        if (!g)
            return text_wrong(x, "more than %d GPUs", TOPO_MOST_GPUS);
        struct topo_link l = {.link_kind = TOPO_NVLINK, .gpu = (int)(g - c->gpus), .peer_gpu = -1, .peer_object = -1};
        nvlink_describe_gpu(x, t, c, g);
        for (x->at++; link_line(text_line(x, 0)) || text_is_blank(text_line(x, 0)); x->at++) {
            const char *colon = strchr(text_line(x, 0), ':');
            double GBps = colon ? strtod(colon + 1, NULL) : 0;
            if (x->at >= x->n)
                break;
            if (GBps > 0 && GBps < 1e4) {
                l.count++;
                l.GBps += GBps;
            } else if (colon) {
                g->links_down++;
            }
        }
        if (l.count && c->nlinks < IMPORT_MOST_PORTS)
            build_link(t, c, l);
    }
    return 0;
}

const struct text_reader reader_nvlink = {"nvidia-smi nvlink -s", nvlink_begins, nvlink_read, 1};
