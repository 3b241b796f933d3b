/* NCCL_DEBUG=INFO: which NCCL, which network, which HCAs, how ranks are connected, and what it warns of.
 *
 * Lines of all ranks are counted together; what ranks must have alike and do not is kept as a difference. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/rules.h"
#include "probe/topology/topology.h"

static void copy_word(char *to, size_t size, const char *s)
{
    snprintf(to, size, "%.*s", (int)strcspn(s, " ,;\n"), s);
}

static void version(struct diagnosis *d, const char *s)
{
    char found[sizeof d->nccl.version];
    s += strspn(s, " :");
    copy_word(found, sizeof found, s);
    diag_note_fact(d, "NCCL version", 12, found, strlen(found));
    if (!*d->nccl.version)
        memcpy(d->nccl.version, found, sizeof found);
    else if (strcmp(d->nccl.version, found) != 0 && !*d->nccl.other_version) {
        memcpy(d->nccl.other_version, found, sizeof found);
        diag_here(d, d->nccl.version_place);
    }
}

/* "[0]mlx5_0:1/RoCE [1]mlx5_1:1/IB/SHARP [RO]; OOB eth0:10.0.0.1<0>" */
static void hcas(struct diagnosis *d, const char *s)
{
    struct diag_nccl *n = &d->nccl;
    const char *oob = strstr(s, "OOB ");
    n->roce += strstr(s, "/RoCE") != NULL;
    n->infiniband += strstr(s, "/IB") != NULL;
    if (oob)
        diag_note_fact(d, "HCAs", 4, s, (size_t)(oob - s));
    for (const char *p = s; (p = strchr(p, '[')) && (!oob || p < oob);) {
        char name[sizeof n->hcas[0]];
        const char *close = strchr(p, ']');
        if (!close)
            break;
        p = close + 1;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, ":/ ;"), p);
        int i = 0;
        while (i < n->nhcas && strcmp(n->hcas[i], name) != 0)
            i++;
        if (*name && i == n->nhcas && i < DIAG_HCAS)
            memcpy(n->hcas[n->nhcas++], name, sizeof name);
    }
}

/* The node of the line being read; NULL: the log does not name it. */
static struct diag_node *find_node(struct diagnosis *d)
{
    struct diag_nccl *n = &d->nccl;
    int i = 0;
    n->of = n->of ? n->of : arena_alloc(d->arena, DIAG_NODES * sizeof *n->of);
    while (i < n->nof && strcmp(n->of[i].name, d->who.host) != 0)
        i++;
    if (!*d->who.host || i == DIAG_NODES)
        return NULL;
    if (i == n->nof)
        memcpy(n->of[n->nof++].name, d->who.host, sizeof d->who.host);
    return &n->of[i];
}

static void network(struct diagnosis *d, const char *s)
{
    struct diag_nccl *n = &d->nccl;
    snprintf(n->network, sizeof n->network, "%s", s);
    diag_note_fact(d, "network", 7, s, strcspn(s, "\n"));
    if (!strncmp(s, "Socket", 6) && !*n->socket_place)
        diag_here(d, n->socket_place);
}

/* "P2P/IPC", "SHM/direct/direct", "NET/IB/0/GDRDMA", "NET/Socket/1" behind "via ". */
static void connection(struct diagnosis *d, const char *s)
{
    struct diag_nccl *n = &d->nccl;
    n->p2p += !strncmp(s, "P2P/", 4);
    n->shm += !strncmp(s, "SHM", 3);
    if (strncmp(s, "NET/", 4) != 0)
        return;
    int gdr = strstr(s, "/GDRDMA") != NULL, socket = !strncmp(s + 4, "Socket", 6);
    n->socket += socket;
    n->ib += !socket;
    n->gdr += gdr;
    struct diag_node *node = socket ? NULL : find_node(d);
    if (node) {
        node->ib++;
        node->gdr += gdr;
    }
    if (socket && !*n->socket_place)
        diag_here(d, n->socket_place);
    if (!socket && !gdr && !*n->gdr_place)
        diag_here(d, n->gdr_place);
}

static void plugin(struct diagnosis *d, const char *s)
{
    copy_word(d->nccl.plugin, sizeof d->nccl.plugin, s);
    diag_here(d, d->nccl.tuner_place);
}

/* Our plugin's own lines. */
static void own_plugin(struct diagnosis *d, const char *s)
{
    if (*d->nccl.no_table || (!strstr(s, "NCCL's own choices stay") && strncmp(s, "off (", 5) != 0))
        return;
    snprintf(d->nccl.no_table, sizeof d->nccl.no_table, "%s", s);
    diag_here(d, d->nccl.tuner_place);
}

/* What follows a mark of a line, and what it means. */
static const struct {
    const char *mark;
    void (*take)(struct diagnosis *d, const char *behind);
} marks[] = {
    {"NCCL version ", version},      {"RCCL version ", version},  {"NET/IB : Using ", hcas},
    {"NET/IBext : Using ", hcas},    {"Using network ", network}, {" via ", connection},
    {"Using tuner plugin ", plugin}, {" nccltune: ", own_plugin},
};

#define COUNT(member, place) offsetof(struct diag_nccl, member), offsetof(struct diag_nccl, place)
/* Lines that are counted; the first one's place is kept. */
static const struct {
    const char *mark;
    size_t count, place;
} counted[] = {
    {"NET/IB : No device found", COUNT(no_device, socket_place)},
    {"Failed to open libibverbs", COUNT(no_verbs, socket_place)},
    {"GPU Direct RDMA Disabled", COUNT(gdr_off, gdr_place)},
    {"GPU Direct RDMA (nvidia-peermem) disabled", COUNT(gdr_off, gdr_place)},
    {"sing internal tuner", COUNT(own_tuner, tuner_place)},
};

/* Numbers behind a mark, of which the largest counts. */
static const struct {
    const char *mark;
    size_t number;
} numbers[] = {
    {" nRanks ", offsetof(struct diag_nccl, ranks)},
    {" nranks ", offsetof(struct diag_nccl, ranks)},
    {" nNodes ", offsetof(struct diag_nccl, nodes)},
};

static void take_counts(struct diagnosis *d, const char *line)
{
    char *n = (char *)&d->nccl;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        if (strstr(line, counted[i].mark) && !(*(int *)(void *)(n + counted[i].count))++)
            diag_here(d, n + counted[i].place);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *at = strstr(line, numbers[i].mark);
        long value = at ? strtol(at + strlen(numbers[i].mark), NULL, 10) : 0;
        int *most = (int *)(void *)(n + numbers[i].number);
        *most = value > *most && value < 1 << 20 ? (int)value : *most;
    }
}

static void channels(struct diagnosis *d, const char *line)
{
    const char *at = strstr(line, " coll channels");
    const char *p = at;
    while (p && p > line && p[-1] >= '0' && p[-1] <= '9')
        p--;
    long n = p && p < at ? strtol(p, NULL, 10) : 0;
    d->nccl.channels = n > d->nccl.channels && n < 1024 ? (int)n : d->nccl.channels;
}

int diag_read_nccl(struct diagnosis *d, const char *line)
{
    const char *info = strstr(line, "CCL INFO "), *warning = strstr(line, "CCL WARN ");
    const char *start = line + strspn(line, " ");
    if (!info && !warning && strncmp(start, "NCCL version ", 13) != 0 && strncmp(start, "RCCL version ", 13) != 0)
        return 0;
    if (!d->nccl.lines++)
        diag_here(d, d->nccl.place);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *at = strstr(line, marks[i].mark);
        if (at)
            marks[i].take(d, at + strlen(marks[i].mark));
    }
    take_counts(d, line);
    channels(d, line);
    /* Settings in it are of interest to others too. */
    return strstr(line, "set by environment") == NULL;
}

void diag_say_nccl(const struct diag_nccl *n, char to[DIAG_SENTENCE])
{
    diag_say(to, "NCCL%s%s", *n->version ? " " : "", n->version);
    if (n->ranks)
        diag_say(to, " joins %d ranks", n->ranks);
    if (n->nodes)
        diag_say(to, " on %d node%s", n->nodes, n->nodes == 1 ? "" : "s");
    if (*n->network)
        diag_say(to, " over network %s", n->network);
    if (n->nhcas)
        diag_say(to, " with %d HCA%s", n->nhcas, n->nhcas == 1 ? "" : "s");
    if (n->channels)
        diag_say(to, " and %d channels", n->channels);
    if (*n->plugin)
        diag_say(to, ", tuned by plugin %s", n->plugin);
    diag_say(to, ".");
}

/* ---- findings ---------------------------------------------------------------------------------------------------- */

static void judge_sockets(struct judge *j)
{
    const struct diag_nccl *n = &j->d->nccl;
    struct diag_finding *f = NULL;
    /* Within one node the network does not matter; old releases do not say how many there are, and a log of one node
     * that connects to none other is taken as all there is. */
    int alone = n->nodes == 1 || (!n->nodes && (n->p2p + n->shm > 0 || diag_host_count(j->d) == 1));
    /* A job that names its HCAs, or whose container has no libibverbs, is not meant to use sockets. */
    const struct diag_variable *hca = n->no_device ? diag_find_variable(j->d, "NCCL_IB_HCA") : NULL;
    int is_meant = alone && n->nodes != 1 && (hca || n->no_verbs);
    if (n->socket && n->ib)
        f = diag_found(j, "sockets", 0.5, n->socket_place,
                       "some connections between nodes use TCP sockets (%ld), others RDMA (%ld)", n->socket, n->ib);
    else if (n->socket || (!strncmp(n->network, "Socket", 6) && (!alone || is_meant)))
        f = diag_found(j, "sockets", 0.5, n->socket_place, "NCCL uses TCP sockets between nodes%s%.100s",
                       n->no_verbs    ? ": it could not open libibverbs"
                       : hca          ? ": it found no RDMA device that its filter allows, NCCL_IB_HCA="
                       : n->no_device ? ": it found no RDMA device"
                                      : "",
                       hca && !n->no_verbs ? hca->value : "");
    if (f && n->nodes > 1 && n->ranks == n->nodes)
        f->advice =
            "load the RDMA stack and name the HCAs (NCCL_IB_HCA) and the GID; if these are containers of one "
            "machine, run its ranks in one container that sees all its GPUs: NCCL takes each container for a node "
            "of its own, and NVLink needs both GPUs visible in both";
}

/* How NICs reach the GPUs' memory by the topology; "" where that is unknown or not at all. */
static const char *gdr_route(const struct topology *t)
{
    for (int i = 0; t && i < t->nclasses; i++)
        if (t->classes[i].ngpus && t->classes[i].gdr_route && strcmp(t->classes[i].gdr_route, "none") != 0)
            return t->classes[i].gdr_route;
    return "";
}

/* "; node04: 16 of 16", the first four of the nodes, where others have it. */
static const char *nodes_without_gdr(const struct judge *j)
{
    const struct diag_nccl *n = &j->d->nccl;
    const char *list = "";
    int without = 0;
    for (int i = 0; i < n->nof; i++)
        if (n->of[i].gdr < n->of[i].ib && ++without <= 4)
            list = arena_printf(j->d->arena, "%s; %s: %ld of %ld", list, n->of[i].name, n->of[i].ib - n->of[i].gdr,
                                n->of[i].ib);
    return without == n->nof ? ""
           : without > 4     ? arena_printf(j->d->arena, "%s; and %d more nodes", list, without - 4)
                             : list;
}

static void judge_gdr(struct judge *j)
{
    const struct diag_nccl *n = &j->d->nccl;
    const char *route = gdr_route(j->d->expected.topology), *but = *route ? ", though the topology has it by " : "";
    struct diag_finding *f = NULL;
    if (j->r->failure.id && !strcmp(j->r->failure.id, "gdr-distance"))
        return; /* NCCL has said why */
    if (n->ib && n->gdr < n->ib)
        f = diag_found(j, "no-gdr", 0.3, n->gdr_place,
                       "%ld of %ld RDMA connections go through host memory: no GPUDirect RDMA%s%s%s", n->ib - n->gdr,
                       n->ib, but, route, nodes_without_gdr(j));
    else if (!n->ib && n->gdr_off)
        f = diag_found(j, "no-gdr", 0.3, n->gdr_place, "GPUDirect RDMA is off for %d HCAs%s%s", n->gdr_off, but, route);
    if (f && n->peermem)
        f->advice =
            "nvidia-peermem is loaded: check that GPU and HCA share a PCIe switch (NCCL_NET_GDR_LEVEL, nvidia-smi "
            "topo -m), that the container sees it, and NCCL's log line of the distance";
}

int diag_is_used(const struct diag_nccl *n, const char *hca, size_t len)
{
    for (int i = 0; i < n->nhcas; i++)
        if (strlen(n->hcas[i]) == len && !strncmp(n->hcas[i], hca, len))
            return 1;
    return 0;
}

void diag_add_nccl(struct judge *j)
{
    const struct diag_nccl *n = &j->d->nccl;
    const struct topology *t = j->d->machine;
    const struct topo_class *c = t && topo_gpu_class(t) >= 0 ? &t->classes[topo_gpu_class(t)] : NULL;
    judge_sockets(j);
    judge_gdr(j);
    if (n->shm > n->p2p)
        diag_found(j, "no-peer-access", 0.2, n->place,
                   "GPUs of a node reach one another through host memory (%ld connections, %ld direct)", n->shm,
                   n->p2p);
    if (n->channels && n->channels <= 2 && n->p2p > 0)
        diag_found(j, "few-channels", 0.1, n->place, "NCCL runs on %d channels", n->channels);
    if (*n->other_version)
        diag_found(j, "nccl-versions", 0.2, n->version_place, "two NCCL versions in one log: %s and %s", n->version,
                   n->other_version);
    if (c && *j->d->topo_place && c->ngpus > 2 && !c->nlinks)
        diag_found(
            j, "no-nvlink", 0, j->d->topo_place,
            "no two of the %d GPUs are joined by NVLink: the inference engine's own all-reduce is off beyond two "
            "GPUs, and its calls go through NCCL",
            c->ngpus);
}
