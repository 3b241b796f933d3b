/* What `nvidia-smi topo -m` prints, and `mx-smi topo -m`, which is like it: only distances, from which a tree is built
 * that has them.
 *
 * PIX is one switch, PXB an upper one, PHB a host bridge, NODE a NUMA node; whatever is not joined by these is apart
 * (SYS). NV# hides the way over PCI between two GPUs; their NICs tell it. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "probe/import/readers.h"

#define MOST_ENDS     512
#define MOST_NVLINKS  18 /* of a GPU: more together than that go through NVSwitches */
#define MOST_BROKEN   8  /* lines that a heading may be broken into */
#define UNKNOWN_LEVEL 6
#define MOST_CELL     5   /* bytes: "MX123" */
#define MOST_LEGEND   100 /* lines below the matrix that may have it */
#define IF_WRAPPED    "; if lines were wrapped or joined on the way, save it with nvidia-smi topo -m >FILE"
#define UNTOLD_LINKS  255 /* "MX": there are some */

/* How near, nearest first; NV# is none of them. */
enum level { LEVEL_SELF, LEVEL_PIX, LEVEL_PXB, LEVEL_PHB, LEVEL_NODE, LEVEL_SYS };

struct matrix {
    struct arena *a;
    struct text *x;
    const char *labels[MOST_ENDS];
    const char *hcas[MOST_ENDS]; /* names of NICs, out of the legend */
    int affinity[MOST_ENDS];     /* NUMA node that is printed behind a GPU; -1 none */
    const char *cpus[MOST_ENDS]; /* the CPUs that are printed there; NULL none */
    int n, rows;
    unsigned char *level;          /* n × n; UNKNOWN_LEVEL: NV#, or not told */
    unsigned char *links;          /* n × n: # of NV# */
    int node_first;                /* the NUMA node stands before the CPUs, as MetaX' tool has it */
    int has_numa;                  /* there is a column for it */
    int columns;                   /* of affinities */
    unsigned char read[MOST_ENDS]; /* rows that were read */
    enum topo_link_kind link_kind;
    int *group[LEVEL_SYS]; /* of every device, at each level */
};

static size_t cell(const struct matrix *m, int row, int column)
{
    return (size_t)row * (size_t)m->n + (size_t)column;
}

static int is_gpu(const char *label)
{
    return !strncmp(label, "GPU", 3) && isdigit((unsigned char)label[3]);
}

/* What stands behind the matrix: "0-63,128-191", "0", "N/A". */
static int is_affinity(const char *word)
{
    return !word[strspn(word, "0123456789,-")] || !strcmp(word, "N/A");
}

/* "0-31,64-95", upwards: glued ranges go down again, or on to CPUs that no node has. */
static int is_cpu_list(const char *list)
{
    enum { MOST_CPUS = 2048 };
    long last = -1;
    for (char *end; isdigit((unsigned char)*list); list = end + 1) {
        long cpu = strtol(list, &end, 10);
        if (cpu <= last || cpu >= MOST_CPUS)
            return 0;
        last = cpu;
        if (!*end)
            return 1;
        if (*end != ',' && *end != '-')
            return 0;
    }
    return 0;
}

/* The words of a line, also of one in a table of Markdown: without its bars, and of "|---|" none. */
static int read_words(const struct text *x, const char *line, const char **words, int most)
{
    char *copy = arena_strdup(x->a, line);
    for (char *p = copy; *p; p++)
        if (*p == '|')
            *p = ' ';
    return copy[strspn(copy, " \t-:")] ? text_words(x, copy, words, most) : 0;
}

/* The unread row of that label; -1. */
static int find_row(const struct matrix *m, const char *label)
{
    for (int i = 0; i < m->n; i++)
        if (!m->read[i] && !strcmp(label, m->labels[i]))
            return i;
    return -1;
}

/* Adds the words of the lines below as long as a terminal or a mail has broken this one in two: until there are `need`,
 * or a line begins with the label of a row. */
static int gather_words(const struct matrix *m, const char **words, int n, int need)
{
    struct text *x = m->x;
    for (int taken = n; taken; n += taken) {
        taken = read_words(x, text_line(x, 1), words + n, TEXT_MOST_WORDS - n);
        if (!taken || (m->level ? find_row(m, words[n]) >= 0 : !strcmp(words[n], "GPU0")))
            break;
        int behind = n >= need;
        for (int i = 0; i < taken && behind; i++)
            behind = is_affinity(words[n + i]);
        if (n >= need && !behind)
            break;
        x->at++;
    }
    return n;
}

/* "\tGPU0\tGPU1\tNIC0\tCPU Affinity\t…". Anything may stand before GPU0. */
static int read_heading(struct matrix *m, const char *line)
{
    const char *words[TEXT_MOST_WORDS];
    const char *first = strstr(line, "GPU0"), *nic = strstr(line, "NIC0");
    int n = read_words(m->x, nic && nic < first ? nic : first, words, TEXT_MOST_WORDS), cpu = -1;
    n = gather_words(m, words, n, TEXT_MOST_WORDS);
    for (int i = n - 1; i >= 0; i--) {
        int numa = !strcmp(words[i], "Node") || !strcmp(words[i], "NUMA");
        m->has_numa |= numa;
        m->columns += *words[i] == 'A' || *words[i] == 'I'; /* Affinity, ID; the line may end inside of them */
        m->node_first |= numa && cpu > i;
        cpu = strcmp(words[i], "CPU") ? cpu : i;
    }
    for (int i = 0; i < n; i++) {
        if (!strcmp(words[i], "CPU") || !strcmp(words[i], "NUMA") || !strcmp(words[i], "Node"))
            break;
        if (m->n == MOST_ENDS)
            return text_wrong(m->x, "more than %d devices", MOST_ENDS);
        m->affinity[m->n] = -1;
        m->hcas[m->n] = words[i];
        m->labels[m->n++] = words[i];
    }
    m->level = arena_alloc(m->a, (size_t)m->n * (size_t)m->n);
    m->links = arena_alloc(m->a, (size_t)m->n * (size_t)m->n);
    memset(m->level, UNKNOWN_LEVEL, (size_t)m->n * (size_t)m->n);
    return 0;
}

/* # of "NV#", of "MX#" or 1 of "MX", as MetaX' tool prints them; 0: another word. */
static long links_in(struct matrix *m, const char *word)
{
    char *end;
    int metax = !strncmp(word, "MX", 2);
    if (!metax && strncmp(word, "NV", 2) != 0)
        return 0;
    long links = metax && !word[2] ? UNTOLD_LINKS : strtol(word + 2, &end, 10);
    if (links < 1 || links > UNTOLD_LINKS || (word[2] && *end))
        return 0;
    m->link_kind = metax ? TOPO_METAXLINK : TOPO_NVLINK;
    return links;
}

static const struct {
    const char *word;
    enum level level;
} level_words[] = {{"X", LEVEL_SELF},    {"PIX", LEVEL_PIX},     {"PXB", LEVEL_PXB},    {"PHB", LEVEL_PHB},
                   {"NODE", LEVEL_NODE}, {"SYS", LEVEL_SYS},     {"SOC", LEVEL_SYS}, /* drivers before 396 */
                   {"PSB", LEVEL_PIX},   {"ETH", UNKNOWN_LEVEL}, {"N/A", UNKNOWN_LEVEL}};
enum { LEVEL_WORDS = sizeof level_words / sizeof *level_words };

static int read_word(struct matrix *m, int row, int column, const char *word)
{
    for (size_t i = 0; i < LEVEL_WORDS; i++)
        if (!strcmp(word, level_words[i].word)) {
            m->level[cell(m, row, column)] = (unsigned char)level_words[i].level;
            return 0;
        }
    long links = links_in(m, word);
    if (!links)
        return text_wrong(m->x, "%s, %s: expected X, NV#, PIX, PXB, PHB, NODE or SYS, found '%s'" IF_WRAPPED,
                          m->labels[row], m->labels[column], word);
    m->links[cell(m, row, column)] = (unsigned char)links;
    return 0;
}

static int is_number(const char *s)
{
    return isdigit((unsigned char)*s) && strlen(s) < 6;
}

/* Length of the cell that `s` begins with: a word of the matrix, NV#, CPUs or a node's number; above all of its
 * length where it is none of them. */
static size_t cell_length(const char *s)
{
    size_t n = strspn(s, "0123456789,-");
    for (size_t i = 0; i < LEVEL_WORDS; i++)
        if (!strncmp(s, level_words[i].word, strlen(level_words[i].word)))
            return strlen(level_words[i].word);
    if (!strncmp(s, "NV", 2) && isdigit((unsigned char)s[2]))
        return isdigit((unsigned char)s[3]) ? 4 : 3;
    if (!strncmp(s, "MX", 2))
        return 2 + strspn(s + 2, "0123456789");
    return n ? n : strlen(s) + MOST_CELL;
}

/* Cells that a copy has glued together: "NODENODE", "0N/A", "SYSSYS". Words that hold something else stay whole. */
static int split_cells(const struct matrix *m, const char **words, int n)
{
    const char *all[TEXT_MOST_WORDS] = {NULL};
    int count = 0;
    for (int i = 0; i < n && count < TEXT_MOST_WORDS; i++) {
        size_t at = 0, length = strlen(words[i]);
        while (at < length)
            at += cell_length(words[i] + at);
        if (at > length || !i) {
            all[count++] = words[i];
            continue;
        }
        for (const char *p = words[i]; *p && count < TEXT_MOST_WORDS; p += cell_length(p))
            all[count++] = arena_strndup(m->a, p, cell_length(p));
    }
    memcpy(words, all, (size_t)count * sizeof *all);
    return count;
}

/* "0-2231", CPUs 0-223 and node 1: cuts the last digit off where a column for the node is announced and empty. */
static const char *split_node(struct matrix *m, const char **cpus)
{
    size_t length = *cpus ? strlen(*cpus) : 0;
    const char *dash = *cpus ? strrchr(*cpus, '-') : NULL;
    if (!m->has_numa || !dash || strlen(dash) < 3)
        return NULL;
    const char *node = arena_strdup(m->a, *cpus + length - 1);
    *cpus = arena_strndup(m->a, *cpus, length - 1);
    return node;
}

/* "GPU0\t X \tNV12\tPXB\t0-63,128-191\t0\t\tN/A": a row of the matrix, in any order. */
static int read_row(struct matrix *m, const char *line)
{
    const char *words[TEXT_MOST_WORDS];
    int n = read_words(m->x, line, words, TEXT_MOST_WORDS), row = n ? find_row(m, words[0]) : -1;
    if (row < 0)
        return 0;
    m->read[row] = 1;
    n = split_cells(m, words, n);
    n = gather_words(m, words, n, m->n + 1);
    n = split_cells(m, words, n);
    m->rows++;
    for (int i = 0; i < m->n; i++) {
        if (i + 1 >= n)
            return text_wrong(m->x, "%s: expected %d words, found %d" IF_WRAPPED, words[0], m->n, i);
        if (read_word(m, row, i, words[i + 1]))
            return ERR_FAILED;
    }
    if (n - m->n - 1 > m->columns && m->columns && n > m->n + 2) { /* CPUs that a broken line has cut */
        int cut = m->n + 1 + m->node_first;
        words[cut] = arena_printf(m->a, "%s%s", words[cut], cut + 1 < n ? words[cut + 1] : "");
        memmove(words + cut + 1, words + cut + 2, (size_t)(n > cut + 2 ? n - cut - 2 : 0) * sizeof *words);
        n -= cut + 1 < n;
    }
    const char *first = m->n + 1 < n ? words[m->n + 1] : NULL, *second = m->n + 2 < n ? words[m->n + 2] : NULL;
    const char *cpus = m->node_first ? second : first, *numa = m->node_first ? first : second;
    if (cpus && n - m->n - 1 < m->columns && (!numa || !is_number(numa)) && is_gpu(words[0])) {
        const char *glued = split_node(m, &cpus);
        numa = glued ? glued : numa;
    }
    m->cpus[row] = is_gpu(words[0]) ? cpus : NULL;
    if (numa && is_number(numa))
        m->affinity[row] = (int)strtol(numa, NULL, 10);
    return 0;
}

/* "  NIC0: mlx5_0", one or several in a line, anywhere below the matrix and above that of another host: legends
 * explain words before, in lines that may be wrapped. */
static void read_legend(struct matrix *m)
{
    const char *words[TEXT_MOST_WORDS];
    for (int ahead = 0; ahead < MOST_LEGEND && !strstr(text_line(m->x, ahead), "GPU0"); ahead++) {
        int n = read_words(m->x, text_line(m->x, ahead), words, TEXT_MOST_WORDS);
        for (int w = 0; w + 1 < n; w++)
            for (int i = 0; i < m->n; i++) {
                size_t length = strlen(m->labels[i]);
                if (!is_gpu(m->labels[i]) && !strncmp(m->labels[i], words[w], length) &&
                    !strcmp(words[w] + length, ":"))
                    m->hcas[i] = words[w + 1];
            }
    }
}

/* Rows of NICs are told by the columns of GPUs where all of them are missing. */
static int complete_rows(struct matrix *m)
{
    int missing = 0;
    for (int i = 0; i < m->n; i++)
        missing += !m->read[i] && !is_gpu(m->labels[i]);
    for (int i = 0; i < m->n; i++) {
        if (!m->read[i] && (is_gpu(m->labels[i]) || m->rows + missing < m->n))
            return err_at(m->x->e, m->x->file, 0, 0, "expected a row for %s of the heading" IF_WRAPPED, m->labels[i]);
        for (int k = 0; k < m->n && !m->read[i]; k++)
            m->level[cell(m, i, k)] = m->level[cell(m, k, i)];
    }
    return 0;
}

static int read_lines(struct matrix *m)
{
    struct text *x = m->x;
    if (read_heading(m, text_line(x, 0)))
        return ERR_FAILED;
    int end = x->at + 1;
    for (x->at++; x->at < x->n && m->rows < m->n; x->at++) {
        int rows = m->rows;
        if (read_row(m, text_line(x, 0)))
            return ERR_FAILED;
        end = m->rows > rows ? x->at + 1 : end;
    }
    x->at = end;
    if (complete_rows(m))
        return ERR_FAILED;
    read_legend(m);
    return 0;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* Which groups of NUMA nodes are told to be apart: n × n. */
static unsigned char *find_apart(const struct matrix *m, const int *group)
{
    unsigned char *apart = arena_alloc(m->a, (size_t)m->n * (size_t)m->n);
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < m->n; k++)
            if (m->level[cell(m, i, k)] == LEVEL_SYS)
                apart[cell(m, group[i], group[k])] = 1;
    return apart;
}

/* Whether the same NUMA node, or at least the same CPUs, are printed behind the two. */
static int same_cpus(const struct matrix *m, int i, int k)
{
    if (m->affinity[i] >= 0 || m->affinity[k] >= 0)
        return m->affinity[i] == m->affinity[k];
    return m->cpus[i] && m->cpus[k] && !strcmp(m->cpus[i], m->cpus[k]);
}

/* Joins two groups, and what they are apart from. */
static void join_nodes(const struct matrix *m, int *group, unsigned char *apart, int a, int b)
{
    build_join_groups(group, m->n, a, b);
    int all = group[a], other = all == a ? b : a;
    for (int i = 0; i < m->n; i++) {
        apart[cell(m, all, i)] |= apart[cell(m, other, i)];
        apart[cell(m, i, all)] |= apart[cell(m, i, other)];
    }
}

static void find_groups(struct matrix *m)
{
    for (int level = LEVEL_PIX; level < LEVEL_SYS; level++) {
        m->group[level] = build_groups(m->n, m->a);
        for (int i = 0; i < m->n; i++)
            for (int k = 0; k < i; k++)
                if (m->level[cell(m, i, k)] <= level)
                    build_join_groups(m->group[level], m->n, i, k);
    }
    /* GPUs that only NVLink joins share the node that is printed behind them, unless their NICs say otherwise. */
    int *numa = m->group[LEVEL_NODE];
    unsigned char *apart = find_apart(m, numa);
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < i; k++)
            if (same_cpus(m, i, k) && numa[i] != numa[k] && !apart[cell(m, numa[i], numa[k])])
                join_nodes(m, numa, apart, numa[i], numa[k]);
}

static int count_members(const struct matrix *m, enum level level, int first)
{
    int n = 0;
    for (int i = 0; i < m->n; i++)
        n += m->group[level][i] == first;
    return n;
}

/* ---- tree -------------------------------------------------------------------------------------------------------- */

struct tree {
    struct topology *t;
    struct topo_class *c;
    const struct matrix *m;
    int object[LEVEL_SYS][MOST_ENDS]; /* of every group, by its first; -1 none yet */
    int gpu[MOST_ENDS];               /* of every end: index into gpus; -1 a NIC */
    int next_numa;
    int spare; /* roots whose number is not that of a NUMA node */
};

static int numa_taken(const struct topo_class *c, int numa)
{
    for (int i = 0; i < c->nobjects; i++)
        if (c->objects[i].kind == TOPO_NUMA && c->objects[i].numa == numa)
            return 1;
    return 0;
}

/* The NUMA node that is printed behind the GPUs of the end's group; -1: none, or several. */
static int printed_numa(const struct matrix *m, int end)
{
    const int *group = m->group[LEVEL_NODE];
    int numa = -1;
    for (int i = 0; i < m->n; i++)
        if (group[i] == group[end] && m->affinity[i] >= 0) {
            if (numa >= 0 && numa != m->affinity[i])
                return -1;
            numa = m->affinity[i];
        }
    return numa;
}

/* The root of the end's group. Groups that are SYS apart need roots of their own, even if one NUMA node or none is
 * printed behind both: such a root has a spare number, and its devices what is printed. */
static int numa_object(struct tree *tree, int end)
{
    int first = tree->m->group[LEVEL_NODE][end], *at = &tree->object[LEVEL_NODE][first];
    if (*at >= 0)
        return *at;
    int numa = printed_numa(tree->m, end);
    if (numa < 0 || numa_taken(tree->c, numa)) {
        numa = tree->next_numa++;
        tree->spare++;
    }
    *at = build_numa(tree->t, tree->c, numa);
    for (int i = 0; i < tree->m->n; i++) {
        const char *cpus = tree->m->group[LEVEL_NODE][i] == first ? tree->m->cpus[i] : NULL;
        if (cpus && is_cpu_list(cpus))
            tree->c->objects[*at].cpus = arena_strdup(tree->t->arena, cpus);
    }
    return *at;
}

/* The object of the end's group at `level`, below that of the next level. */
static int group_object(struct tree *tree, enum level level, enum topo_kind kind, int end, int parent)
{
    int *at = &tree->object[level][tree->m->group[level][end]];
    if (*at < 0)
        *at = build_object(tree->t, tree->c,
                           (struct topo_object){.kind = kind, .parent = parent, .numa = printed_numa(tree->m, end)});
    return *at;
}

static int place_of(struct tree *tree, int end)
{
    const struct matrix *m = tree->m;
    int outer = m->group[LEVEL_PXB][end], inner = m->group[LEVEL_PIX][end];
    int at = group_object(tree, LEVEL_PHB, TOPO_HOST_BRIDGE, end, numa_object(tree, end));
    int in_outer = count_members(m, LEVEL_PXB, outer), in_inner = count_members(m, LEVEL_PIX, inner);
    if (in_outer > in_inner)
        at = group_object(tree, LEVEL_PXB, TOPO_SWITCH, end, at);
    return in_outer > 1 ? group_object(tree, LEVEL_PIX, TOPO_SWITCH, end, at) : at;
}

static void add_ends(struct tree *tree)
{
    const struct matrix *m = tree->m;
    for (int i = 0; i < m->n; i++) {
        int parent = place_of(tree, i);
        struct topo_object o = {.parent = parent, .numa = m->affinity[i], .name = m->hcas[i]};
        o.kind = is_gpu(m->labels[i]) ? TOPO_GPU : TOPO_NIC;
        if (o.numa < 0)
            o.numa = printed_numa(m, i);
        int object = build_object(tree->t, tree->c, o);
        tree->gpu[i] = -1;
        if (o.kind == TOPO_GPU)
            tree->gpu[i] =
                build_gpu(tree->t, tree->c, (struct topo_gpu){.object = object, .index = tree->c->ngpus, .gdr = -1});
        else
            build_port(tree->t, tree->c, (struct topo_port){.object = object, .hca = m->hcas[i], .port = 1});
    }
}

static void add_links(struct tree *tree)
{
    const struct matrix *m = tree->m;
    for (int i = 0; i < m->n; i++) {
        struct topo_link l = {.link_kind = m->link_kind, .gpu = tree->gpu[i], .peer_gpu = -1, .peer_object = -1};
        int sum = 0, most = 0;
        for (int k = 0; k < m->n; k++) {
            int links = m->links[cell(m, i, k)] == UNTOLD_LINKS ? 1 : m->links[cell(m, i, k)];
            sum += links;
            most = links > most ? links : most;
        }
        if (l.gpu >= 0 && sum > MOST_NVLINKS) {
            l.peer_object = build_nvswitch(tree->t, tree->c, NULL);
            l.count = most;
            build_link(tree->t, tree->c, l);
        }
        for (int k = 0; k < m->n && l.gpu >= 0 && sum <= MOST_NVLINKS; k++) {
            int links = m->links[cell(m, i, k)];
            l.peer_gpu = tree->gpu[k];
            l.count = links == UNTOLD_LINKS ? 0 : links;
            if (links && l.peer_gpu >= 0)
                build_link(tree->t, tree->c, l);
        }
    }
}

static int topo_read(struct text *x, struct topology *t, struct topo_class *c)
{
    struct arena *scratch = x->a;
    struct matrix *m = ARENA_NEW(scratch, struct matrix);
    struct tree *tree = ARENA_NEW(scratch, struct tree);
    m->a = scratch;
    m->x = x;
    int ngpus = 0;
    if (read_lines(m))
        return ERR_FAILED;
    for (int i = 0; i < m->n; i++) {
        ngpus += is_gpu(m->labels[i]);
        m->hcas[i] = arena_strdup(t->arena, m->hcas[i]);
    }
    if (ngpus > TOPO_MOST_GPUS)
        return text_wrong(x, "more than %d GPUs", TOPO_MOST_GPUS);
    find_groups(m);
    *tree = (struct tree){.t = t, .c = c, .m = m};
    memset(tree->object, -1, sizeof tree->object);
    for (int i = 0; i < m->n; i++)
        tree->next_numa = m->affinity[i] >= tree->next_numa ? m->affinity[i] + 1 : tree->next_numa;
    add_ends(tree);
    add_links(tree);
    if (m->rows < m->n)
        build_note(t, c, "the matrix has no rows of NICs: distances between two NICs are not known");
    build_note(t, c, "nvidia-smi topo -m has distances only: no addresses, states, rates or speeds");
    if (tree->spare)
        build_note(t, c, "SYS separates %d group%s of devices for which no NUMA node of %s own is printed", tree->spare,
                   tree->spare == 1 ? "" : "s", tree->spare == 1 ? "its" : "their");
    return 0;
}

/* The cells of a row of a table in Markdown: how many. */
static int read_cells(const struct text *x, const char *line, const char **cells)
{
    char *rest = arena_strdup(x->a, line + strspn(line, " \t"));
    int n = 0;
    rest += *rest == '|';
    for (char *cell; n < TEXT_MOST_WORDS && (cell = strsep(&rest, "|"));) {
        cell += strspn(cell, " \t*`");
        size_t length = strlen(cell);
        while (length && strchr(" \t*`", cell[length - 1]))
            cell[--length] = 0;
        cells[n++] = cell;
    }
    return n;
}

/* Rewrites a table in Markdown whose affinities stand in front of devices: devices first, then CPUs and nodes. */
static void straighten_table(const struct text *x)
{
    static const char *const kinds[] = {"", "CPU", "NUMA"};
    const char *titles[TEXT_MOST_WORDS], *cells[TEXT_MOST_WORDS];
    int n = read_cells(x, text_line(x, 0), titles);
    for (int ahead = 0; x->at + ahead < x->n && strchr(text_line(x, ahead), '|'); ahead++) {
        int found = read_cells(x, text_line(x, ahead), cells);
        const char *line = found && !strchr(":-", *cells[0]) ? cells[0] : "";
        for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds && (*line || !ahead); kind++)
            for (int i = 1; i < n && i < found; i++)
                if (kind ? !strncmp(titles[i], kinds[kind], strlen(kinds[kind])) && *cells[i]
                         : *titles[i] && !strchr(titles[i], ' '))
                    line = arena_printf(x->a, "%s\t%s", line, *cells[i] ? cells[i] : "N/A");
        x->lines[x->at + ahead] = arena_strdup(x->a, line);
    }
}

/* A heading with GPU0, and below it a row of GPU0 that begins with X and goes on in words of this matrix. */
static int topo_begins(const struct text *x)
{
    static const char *const others[] = {"OK", "CNS", "GNS", "TNS", "NS", "DR", "U", NULL};
    const char *words[4];
    const char *heading = text_line(x, 0);
    if (strstr(heading, "GPU0") && strchr(heading, '|') && strstr(heading, "Affinity") &&
        !strncmp(text_next_line(x), "|", 1))
        straighten_table(x);
    if (!strstr(text_line(x, 0), "GPU0") || strstr(text_line(x, 0), "==>"))
        return 0;
    int n = 0;
    for (int ahead = 1; ahead <= MOST_BROKEN && (n < 2 || strcmp(words[0], "GPU0") != 0); ahead++)
        n = read_words(x, ahead == 1 ? text_next_line(x) : text_line(x, ahead), words, 4);
    if (n < 2 || strcmp(words[0], "GPU0") != 0 || isdigit((unsigned char)*words[1]) ||
        cell_length(words[1]) > MOST_CELL)
        return 0;
    for (int i = 0; others[i] && n > 2; i++)
        if (!strcmp(words[2], others[i]))
            return 0;
    return 1;
}

const struct text_reader reader_smi_topo = {"nvidia-smi topo -m", topo_begins, topo_read, 1};
