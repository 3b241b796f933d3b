/* The search against logs of real jobs: channels, order of the rings and NICs used. The machines are bundled
 * descriptions of the same kind; each record says how far they agree, and where not, why. */
#include "model/nccl/model.h"
#include "probe/machines/machines.h"
#include "tests/lib/corpus.h"
#include "tests/lib/unit.h"

#define MOST_CHANNELS 64
#define MOST_RANKS    64
#define NOT_COMPARED  (-1)

struct record {
    const char *file, *machine;
    int nodes, version;
    int channels;              /* the log's */
    int predicted;             /* ours */
    int rings;                 /* of the log's channels, those whose order on the first node is ours too */
    int nics;                  /* used on the first node, both in the log and by us */
    int sockets, min_channels; /* as the log's environment has it */
};

static const struct record records[] = {
    {"azure_ndv4_1n_bert.log", "azure-ndv4", 1, 21210, 24, 24, 24, 0},
    /* CollNet was enabled, which adds half as many channels to the 16 */
    {"azure_ndv4_2n_ssd.log", "azure-ndv4", 2, 21210, 24, 16, 24, 8},
    {"dell_xe9680_8h200_2n.log", "dgx-h200", 2, 21805, 16, 16, 16, 8},
    {"dell_xe9685_8b200_1n.log.gz", "hgx-b200", 1, 22501, 32, 32, 32, 0},
    /* over TCP it is in none of RCCL's tables; our search finds other rings */
    {"mango_mi300x_2n.log.gz", "mi300x", 2, 22203, 32, 32, NOT_COMPARED, NOT_COMPARED, 1, 32},
};

/* What a log shows of its first communicator. */
struct log {
    int nchannels, nranks;
    int ring[MOST_CHANNELS][MOST_RANKS];
    unsigned nics; /* bits */
};

/* The number at `*s`, which moves behind it; 0 when there is none. */
static int number(const char **s, int *n)
{
    char *end;
    *n = (int)strtol(*s, &end, 10);
    int found = end > *s;
    *s = end;
    return found;
}

/* "… Channel 03/24 :    0   7   6" */
static void read_ring(struct log *l, const char *line)
{
    int channel, of, n = 0, rank;
    const char *s = strstr(line, "Channel ");
    if (!s)
        return;
    s += strlen("Channel ");
    if (!number(&s, &channel) || *s++ != '/' || !number(&s, &of) || strncmp(s, " :", 2) != 0)
        return;
    if (channel < 0 || channel >= MOST_CHANNELS || (l->nchannels && of != l->nchannels))
        return;
    for (s += 2; n < MOST_RANKS && number(&s, &rank);)
        l->ring[channel][n++] = rank;
    l->nchannels = of;
    l->nranks = n;
}

/* "… 11[400000] -> 2[300000] [receive] via NET/IBext/4/GDRDMA" of the first node's ranks. */
static void read_nic(struct log *l, const char *line, int ranks_per_node)
{
    const char *to = strstr(line, "-> "), *net = strstr(line, "[receive] via NET/");
    int rank, nic;
    if (!to || !net)
        return;
    to += strlen("-> ");
    net = strchr(net + strlen("[receive] via NET/"), '/');
    if (!number(&to, &rank) || rank >= ranks_per_node || !net)
        return;
    net++;
    if (number(&net, &nic) && nic >= 0 && nic < 32)
        l->nics |= 1u << nic;
}

static int read_log(const struct record *r, int ranks_per_node, struct log *l, struct arena *a)
{
    char line[4096];
    const char *path = corpus_file(a, arena_printf(a, "nccl-logs/%s", r->file));
    if (!path)
        return 0;
    size_t n = strlen(path);
    FILE *f = popen(arena_printf(a, "%s '%s'", !strcmp(path + n - 3, ".gz") ? "gzip -dc" : "cat", path), "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        read_ring(l, line);
        read_nic(l, line, ranks_per_node);
    }
    pclose(f);
    return l->nchannels > 0;
}

/* The first node's part of a ring, from where it comes in; on one node from rank 0. */
static void part(const struct log *l, int channel, int per_node, int *out)
{
    int n = l->nranks, start = 0;
    for (int i = 0; i < n; i++) {
        int before = l->ring[channel][(i + n - 1) % n], now = l->ring[channel][i];
        if (now < per_node && (n > per_node ? before >= per_node : now == 0))
            start = i;
    }
    for (int i = 0; i < per_node; i++)
        out[i] = l->ring[channel][(start + i) % n];
}

static int same_ring(const struct log *l, const struct nccl_model *m, int channel)
{
    const struct topo_class *c = &m->setup.topology->classes[0];
    int order[MOST_RANKS], per_node = m->ranks_per_node;
    if (m->ring.nchannels < 1 || l->nranks < per_node)
        return 0;
    int ours = channel % m->ring.nchannels;
    part(l, channel, per_node, order);
    for (int i = 0; i < per_node; i++)
        if (order[i] != c->gpus[m->ring.gpus[ours * per_node + i]].index)
            return 0;
    return 1;
}

static int nics_used(const struct nccl_model *m)
{
    unsigned nics = 0;
    for (int c = 0; m->ring.nets && c < m->ring.nchannels; c++)
        nics |= 1u << m->ring.nets[2 * c];
    return __builtin_popcount(nics);
}

/* Whether the log was there. */
static int agrees(const struct record *r)
{
    struct err e = {0};
    struct arena *a = arena_new();
    struct topology *t = machine_topology(r->machine, r->nodes, &e);
    assert_non_null(t);
    struct nccl_setup s = {.topology = t,
                           .nodes = r->nodes,
                           .version = r->version,
                           .sockets = r->sockets,
                           .min_channels = r->min_channels};
    const struct nccl_model *m = nccl_model_new(&s, a, &e);
    assert_non_null(m);
    struct log *l = ARENA_NEW(a, struct log);
    int found = read_log(r, m->ranks_per_node, l, a);
    if (found) {
        int rings = 0;
        for (int c = 0; c < l->nchannels; c++)
            rings += same_ring(l, m, c);
        print_message("%s: %d channels, %d predicted, %d rings the same, NICs %d and %d\n", r->file, l->nchannels,
                      m->nchannels, rings, __builtin_popcount(l->nics), nics_used(m));
        assert_int_equal(l->nchannels, r->channels);
        if (r->predicted != NOT_COMPARED)
            assert_int_equal(m->nchannels, r->predicted);
        if (r->rings != NOT_COMPARED)
            assert_int_equal(rings, r->rings);
        if (r->nics != NOT_COMPARED) {
            assert_int_equal(__builtin_popcount(l->nics), r->nics);
            assert_int_equal(nics_used(m), r->nics);
        }
    }
    topo_free(t);
    arena_free(a);
    return found;
}

TEST_CASE(logs)
{
    int found = 0;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        found += agrees(&records[i]);
    if (!found)
        skip_because(NEEDS_CORPUS);
}

TEST_CASES(test_model_logs)
