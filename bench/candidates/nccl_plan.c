/* Candidates of the nccl engine. */
#include "bench/candidates/candidates.h"

#include <stdlib.h>
#include <string.h>

#include "core/call/result.h"
#include "core/coll.h"
#include "core/vars/catalogue.h"

/* ---- calls ---- */

#define BIT(x) (1u << (x))

/* Which algorithm exists for which collective, over all releases since 2.19. Only Tree and Ring have LL and LL128. */
static const unsigned algos_of[COLL_COUNT] = {
    [COLL_BROADCAST] = BIT(ALGO_RING),
    [COLL_REDUCE] = BIT(ALGO_RING),
    [COLL_ALLGATHER] = BIT(ALGO_RING) | BIT(ALGO_COLLNET_DIRECT) | BIT(ALGO_NVLS) | BIT(ALGO_PAT),
    [COLL_REDUCESCATTER] = BIT(ALGO_RING) | BIT(ALGO_COLLNET_DIRECT) | BIT(ALGO_NVLS) | BIT(ALGO_PAT),
    [COLL_ALLREDUCE] = BIT(ALGO_TREE) | BIT(ALGO_RING) | BIT(ALGO_COLLNET_DIRECT) | BIT(ALGO_COLLNET_CHAIN) |
                       BIT(ALGO_NVLS) | BIT(ALGO_NVLS_TREE),
};

/* A channel moves at least this much at a time, or it only costs. NCCL's own least traffic per channel. */
#define BYTES_PER_CHANNEL ((uint64_t)16 << 10)

/* Whether NCCL cuts a number of channels to what is connected. */
static int takes_channels(int algo, int one_node)
{
    return algo == ALGO_RING || algo == ALGO_TREE || algo == ALGO_PAT || (algo == ALGO_NVLS && one_node);
}

static void add_cell(struct bench_plan *p, struct arena *a, int coll, int algo, int proto, int one_node)
{
    struct bench_setting *s = arena_alloc(a, 2 * sizeof *s);
    s[0] = (struct bench_setting){NCCL_SET_ALGO, algo_name(algo)};
    s[1] = (struct bench_setting){NCCL_SET_PROTO, proto_name(proto)};
    const char *label = arena_printf(a, "%s/%s", algo_name(algo), proto_name(proto));
    bench_plan_add_call(p, a, coll)->knobs = (struct bench_knobs){label, s, 2};
    for (const int *channels = nccl_plan_channels; *channels && takes_channels(algo, one_node); channels++) {
        struct bench_setting *with = arena_alloc(a, 3 * sizeof *with);
        memcpy(with, s, 2 * sizeof *s);
        with[2] = (struct bench_setting){NCCL_SET_CHANNELS, arena_printf(a, "%d", *channels)};
        struct bench_call *c = bench_plan_add_call(p, a, coll);
        c->min_bytes = (uint64_t)*channels * BYTES_PER_CHANNEL;
        c->knobs = (struct bench_knobs){arena_printf(a, "%s/%dch", label, *channels), with, 3};
        c->refines = label;
    }
}

void nccl_plan_calls(struct bench_plan *p, struct arena *a, int one_node)
{
    for (int coll = 0; coll < COLL_COUNT; coll++) {
        bench_plan_add_call(p, a, coll);
        for (int algo = 0; algo < ALGO_COUNT; algo++)
            for (int proto = 0; proto < PROTO_COUNT; proto++)
                if (algos_of[coll] & BIT(algo) && (proto == PROTO_SIMPLE || algo == ALGO_TREE || algo == ALGO_RING))
                    add_cell(p, a, coll, algo, proto, one_node);
    }
    for (int coll = COLL_COUNT; coll < COLL_MEASURED; coll++)
        bench_plan_add_call(p, a, coll);
}

static const uint32_t chunk_sizes[] = {16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20};

static uint64_t bytes_of(const struct bench_knobs *launch, const char *variable, uint64_t otherwise)
{
    const char *value = getenv(variable);
    for (int i = 0; i < launch->nsettings; i++)
        if (!strcmp(launch->settings[i].name, variable))
            value = launch->settings[i].value;
    return value ? strtoull(value, NULL, 10) : otherwise;
}

/* What NCCL cuts a chunk to: the protocol's buffer has eight steps, of which Ring with Simple takes four at a time, and
 * in LL every second byte is data, in LL128 15 of 16 (2.30's enqueue.cc; buffers without a variable as its init.cc has
 * them). */
static uint64_t longest_chunk(const struct bench_knobs *launch, int algo, int proto)
{
    if (proto == PROTO_LL)
        return bytes_of(launch, "NCCL_LL_BUFFSIZE", 524288) / 16;
    if (proto == PROTO_LL128)
        return bytes_of(launch, "NCCL_LL128_BUFFSIZE", 4915200) / 128 * 15;
    return bytes_of(launch, "NCCL_BUFFSIZE", 4194304) / (algo == ALGO_RING ? 2 : 8);
}

int nccl_plan_vary(const struct bench_knobs *launch, const struct bench_knobs *call, uint64_t bytes, struct arena *a,
                   struct bench_knobs out[BENCH_VARIATIONS])
{
    struct nccl_requested w = nccl_requested_of(call);
    uint64_t longest = longest_chunk(launch, w.algo, w.proto);
    int n = 0;
    if (w.channels < 1 || w.chunk_bytes)
        return 0;
    for (size_t i = 0; i < sizeof chunk_sizes / sizeof *chunk_sizes; i++) {
        if ((uint64_t)w.channels * 2 * chunk_sizes[i] > bytes || (i && chunk_sizes[i - 1] >= longest))
            break;
        struct bench_setting *with = arena_alloc(a, (size_t)(call->nsettings + 1) * sizeof *with);
        memcpy(with, call->settings, (size_t)call->nsettings * sizeof *with);
        with[call->nsettings] = (struct bench_setting){NCCL_SET_CHUNK, arena_printf(a, "%u", (unsigned)chunk_sizes[i])};
        out[n++] = (struct bench_knobs){arena_printf(a, "%s/%uK", call->label, (unsigned)chunk_sizes[i] >> 10), with,
                                        call->nsettings + 1};
    }
    return n;
}

/* ---- launches ---- */

/* Unless there is one with these settings. */
static void add_settings(struct bench_plan *p, struct arena *a, const char *label, const struct bench_setting *s, int n)
{
    const struct bench_knobs launch = {label, s, n};
    for (int i = 0; i < p->nlaunches; i++)
        if (bench_plan_same(&p->launches[i], &launch))
            return;
    bench_plan_add_launch(p, a, launch);
}

static void add_launch(struct bench_plan *p, struct arena *a, const char *label, const char *name, const char *value)
{
    add_settings(p, a, label, bench_plan_knob(a, label, name, value).settings, 1);
}

#define QPS   "NCCL_IB_QPS_PER_CONNECTION"
#define SPLIT "NCCL_IB_SPLIT_DATA_ON_QPS"

/* Queue pairs per connection, and whether each message goes over all of them or over one. With one there is nothing to
 * split; what suits depends on the HCAs, so these are tried beside the best launch too. */
static void add_queue_pairs(struct bench_plan *p, struct arena *a)
{
    static const char *const counts[] = {"2", "4", "8"};
    int splits = getenv(SPLIT) ? 1 : 2;
    for (int split = 0; split < splits && !getenv(QPS); split++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            struct bench_setting *s = arena_alloc(a, 2 * sizeof *s);
            s[0] = (struct bench_setting){QPS, counts[i]};
            s[1] = (struct bench_setting){SPLIT, "1"};
            struct bench_knobs k = {arena_printf(a, "qps=%s%s", counts[i], split ? ",split=1" : ""), s, 1 + split};
            bench_plan_add_launch(p, a, k);
            ARENA_ADD(a, p->beside, p->nbeside) = k;
        }
    if (getenv(QPS) && !getenv(SPLIT))
        add_launch(p, a, "split=1", SPLIT, "1");
}

static int is_usable(const struct topo_port *p, double best_Gbps)
{
    /* What is much slower than the fastest port is a management or storage network. */
    return p->state == TOPO_STATE_ACTIVE && p->rate_Gbps * 2 >= best_Gbps;
}

static int beside_a_gpu(const struct topo_class *c, const struct topo_port *p)
{
    int own = topo_ancestor(c, p->object, TOPO_SWITCH);
    for (int g = 0; g < c->ngpus && own >= 0; g++)
        if (topo_ancestor(c, c->gpus[g].object, TOPO_SWITCH) == own)
            return 1;
    return 0;
}

/* The sets of a class's ports that are worth comparing: all that carry data, those behind the GPUs' own switches, one a
 * NUMA node; from ALONE on each of the first set alone. */
enum { COMPUTE, NEAR_GPUS, ONE_A_NUMA, ALONE };

/* A set as NCCL_IB_HCA takes it, exact names: "=mlx5_0:1,mlx5_3:1"; `*count` of them. */
static const char *list_hcas(const struct topo_class *c, int set, struct arena *a, int *count)
{
    const char *list = "=";
    double best = 0;
    int seen_numa[64] = {0}, usable = 0;
    for (int i = 0; i < c->nports; i++)
        if (c->ports[i].state == TOPO_STATE_ACTIVE && c->ports[i].rate_Gbps > best)
            best = c->ports[i].rate_Gbps;
    *count = 0;
    for (int i = 0; i < c->nports; i++) {
        const struct topo_port *p = &c->ports[i];
        const int numa = p->object >= 0 ? c->objects[p->object].numa : -1;
        if (!is_usable(p, best))
            continue;
        if (set == COMPUTE || set == ALONE + usable || (set == NEAR_GPUS && beside_a_gpu(c, p)) ||
            (set == ONE_A_NUMA && numa >= 0 && numa < 64 && !seen_numa[numa]++))
            list = arena_printf(a, "%s%s%s:%d", list, (*count)++ ? "," : "", p->hca, p->port);
        usable++;
    }
    return list;
}

/* "hca=compute"; of one port its device, where that is called the same in all classes. */
static const char *label_set(int set, const char *const *values, int nclasses, struct arena *a)
{
    static const char *const labels[ALONE] = {"hca=compute", "hca=near-gpus", "hca=one-a-numa"};
    const int length = (int)strcspn(values[0], ":");
    int alike = 1;
    for (int c = 0; c < nclasses; c++)
        alike = alike && !strncmp(values[c], values[0], (size_t)length + 1);
    return set < ALONE ? labels[set]
           : alike     ? arena_printf(a, "hca%.*s", length, values[0])
                       : arena_printf(a, "hca=rail%d", set - ALONE);
}

/* One list for all nodes where the classes agree, else each class has its own. `values` by class. */
static void add_hca_launch(struct bench_plan *p, struct arena *a, const char *label, const struct topology *t,
                           const char *const *values)
{
    struct bench_setting *s = arena_alloc(a, (size_t)t->nclasses * sizeof *s);
    int alike = 1;
    for (int c = 0; c < t->nclasses; c++) {
        alike = alike && !strcmp(values[c], values[0]);
        s[c] = (struct bench_setting){bench_local_name("NCCL_IB_HCA", t->classes[c].name, a), values[c]};
    }
    if (alike)
        add_launch(p, a, label, "NCCL_IB_HCA", values[0]);
    else
        add_settings(p, a, label, s, t->nclasses);
}

/* A set that some class has no HCA for, or that leaves out none anywhere, is not worth a launch. */
static void add_hca_sets(struct bench_plan *p, struct arena *a, const struct topology *t)
{
    const char **all = arena_alloc(a, 2 * (size_t)t->nclasses * sizeof *all), **values = all + t->nclasses;
    int nalone = TOPO_MOST_GPUS, n;
    for (int c = 0; c < t->nclasses; c++) {
        all[c] = list_hcas(&t->classes[c], COMPUTE, a, &n);
        nalone = n < nalone ? n : nalone;
    }
    for (int set = 0; set < ALONE + (nalone > 1 ? nalone : 0); set++) {
        int worth = 1, smaller = set == COMPUTE;
        for (int c = 0; c < t->nclasses; c++) {
            values[c] = list_hcas(&t->classes[c], set, a, &n);
            worth &= n >= (set == ONE_A_NUMA ? 2 : 1);
            smaller |= strcmp(values[c], all[c]) != 0;
        }
        if (worth && smaller)
            add_hca_launch(p, a, label_set(set, values, t->nclasses, a), t, values);
    }
}

/* ---- variables that are worth a launch ---- */

enum { ONE_NODE = 1, RDMA = 2, SOCKETS = 4, ANYWHERE = ONE_NODE | RDMA | SOCKETS };
enum {
    ANY,
    INFINIBAND,
    ROCE,
    EFA,
    VIRTUAL,
    ORACLE,
    GOOGLE,
    C2C,
    RACK,
    NVSWITCH,
    NO_NVLINK,
    NVIDIA,
    AMD,
    AMD_MI300,
    PAIRS,
};

static const struct knob {
    const char *label, *name, *value;
    int where, condition;
} knobs[] = {
#define KNOB(label, name, value, where, condition) {label, name, value, where, condition},
#include "bench/candidates/nccl_knobs.inc"
};

static int has_port(const struct topo_class *c, enum topo_link_layer layer, const char *prefix)
{
    for (int i = 0; i < c->nports; i++)
        if (c->ports[i].state == TOPO_STATE_ACTIVE && (layer == TOPO_LINK_UNKNOWN || c->ports[i].layer == layer) &&
            (!prefix || !strncmp(c->ports[i].hca, prefix, strlen(prefix))))
            return 1;
    return 0;
}

static int has_link(const struct topo_class *c, enum topo_link_kind kind)
{
    for (int i = 0; i < c->nlinks; i++)
        if (c->links[i].link_kind == kind)
            return 1;
    return 0;
}

static int is_product(const struct topo_class *c, const char *word)
{
    return c->product && strstr(c->product, word) != NULL;
}

static const char *arch_of(const struct topo_class *c)
{
    return c->ngpus && c->gpus[0].arch ? c->gpus[0].arch : "";
}

static int in_racks(const struct topology *t)
{
    for (int i = 0; i < t->nhosts; i++)
        if (t->hosts[i].clique)
            return 1;
    return 0;
}

static int class_is(const struct bench_setup *s, const struct topo_class *c, int condition)
{
    const int infiniband = has_port(c, TOPO_LINK_INFINIBAND, NULL), ethernet = has_port(c, TOPO_LINK_ETHERNET, NULL);
    const char *arch = arch_of(c);
    const int is[] = {
        [INFINIBAND] = infiniband,
        [ROCE] = ethernet && !infiniband, /* beside InfiniBand, Ethernet is for storage */
        [EFA] = has_port(c, TOPO_LINK_UNKNOWN, "efa") || has_port(c, TOPO_LINK_UNKNOWN, "rdmap"),
        [VIRTUAL] = c->hypervisor && strcmp(c->hypervisor, "none") != 0,
        [ORACLE] = ethernet && is_product(c, "Oracle"),
        [GOOGLE] = ethernet && is_product(c, "Google"),
        [C2C] = has_link(c, TOPO_C2C),
        [RACK] = in_racks(s->topology),
        [NVSWITCH] = topo_count(c, TOPO_NVSWITCH) > 0,
        [NO_NVLINK] = c->ngpus > 1 && !*arch && !has_link(c, TOPO_NVLINK),
        [NVIDIA] = !*arch,
        [AMD] = *arch != 0,
        [AMD_MI300] = !strncmp(arch, "gfx94", 5) || !strncmp(arch, "gfx95", 5),
    };
    return is[condition];
}

static int suits_machine(const struct bench_setup *s, const struct knob *k)
{
    const struct topo_class *c = s->topology && s->topology->nclasses ? &s->topology->classes[0] : NULL;
    if (k->condition == PAIRS)
        return s->collectives >> COLL_COUNT != 0;
    if (k->condition == ANY || !c)
        return k->condition == ANY || k->condition == NVIDIA;
    return class_is(s, c, k->condition);
}

/* Of what is measured; 0 unknown. RCCL's defaults are not in the catalogue. */
static int release_of(const struct bench_setup *s)
{
    int low, high;
    const struct topo_class *c = s->topology && s->topology->nclasses ? &s->topology->classes[0] : NULL;
    if (c && *arch_of(c))
        return 0;
    if (s->nccl_version)
        return s->nccl_version;
    return c && c->nlibraries == 1 && !env_library_release(c->libraries[0], &low, &high) ? high : 0;
}

static int is_change(const struct bench_setup *s, const struct knob *k)
{
    char value[ENV_VALUE];
    int release = release_of(s);
    const struct env_var *v = release ? env_var_find(k->name) : NULL;
    return !v || (env_default_at(v, release, value) && strcmp(value, k->value) != 0);
}

/* The launch of each knob that is worth trying on these nodes. `rdma`: an RDMA port is up. A variable that is set in
 * the environment is left as it is. */
static void add_knobs(struct bench_plan *p, struct arena *a, const struct bench_setup *s, int nodes, int rdma)
{
    int here = nodes == 1 ? ONE_NODE : rdma ? RDMA : SOCKETS;
    for (const struct knob *k = knobs; k < knobs + sizeof knobs / sizeof *knobs; k++)
        if (k->where & here && !getenv(k->name) && suits_machine(s, k) && is_change(s, k))
            add_launch(p, a, k->label, k->name, k->value);
}

void nccl_plan_launches(const struct bench_setup *s, int nodes, struct bench_plan *p, struct arena *a)
{
    const struct topo_class *c = s->topology && s->topology->nclasses ? &s->topology->classes[0] : NULL;
    int rdma = 0;
    for (int i = 0; c && i < c->nports; i++)
        rdma |= c->ports[i].state == TOPO_STATE_ACTIVE;
    add_settings(p, a, BENCH_DEFAULT, NULL, 0);
    if (s->topo_file && !getenv("NCCL_TOPO_FILE"))
        add_launch(p, a, "topo-file", "NCCL_TOPO_FILE", s->topo_file);
    if (nodes != 1 && rdma && !getenv("NCCL_IB_HCA"))
        add_hca_sets(p, a, s->topology);
    if (nodes != 1 && rdma)
        add_queue_pairs(p, a);
    add_knobs(p, a, s, nodes, rdma);
}

/* The same variable, or another limit of the same number: the least above the most is nothing that NCCL can do. */
static int exclude_each_other(const char *x, const char *y)
{
    static const char limits[] = " NCCL_MIN_CTAS NCCL_MAX_CTAS NCCL_MIN_NCHANNELS NCCL_MAX_NCHANNELS ";
    char first[64], second[64];
    snprintf(first, sizeof first, " %s ", x);
    snprintf(second, sizeof second, " %s ", y);
    return !strcmp(x, y) || (strstr(limits, first) && strstr(limits, second));
}

int nccl_plan_combine(const struct bench_knobs *x, const struct bench_knobs *y, struct arena *a,
                      struct bench_knobs *both)
{
    for (int i = 0; i < x->nsettings; i++)
        for (int k = 0; k < y->nsettings; k++)
            if (exclude_each_other(x->settings[i].name, y->settings[k].name))
                return 0;
    struct bench_setting *s = arena_alloc(a, (size_t)(x->nsettings + y->nsettings + 1) * sizeof *s);
    memcpy(s, x->settings, (size_t)x->nsettings * sizeof *s);
    memcpy(s + x->nsettings, y->settings, (size_t)y->nsettings * sizeof *s);
    *both = (struct bench_knobs){arena_printf(a, "%s,%s", x->label, y->label), s, x->nsettings + y->nsettings};
    return x->nsettings && y->nsettings;
}
