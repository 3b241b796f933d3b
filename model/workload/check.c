/* What a job needs to know of the machine that it runs on; and whether it is possible on these ranks, and sensible on
 * this topology, before anything is measured. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "model/workload/parts.h"

#define USABLE 0.8 /* of a link: what is left for data, as in job.c */

/* The root of `i` in a forest of parent indexes. */
static int root_of(const int *up, int i)
{
    while (up[i] != i)
        i = up[i];
    return i;
}

/* Size of the largest set of GPUs of a class that links join, over an NVSwitch too; 0: it has none. */
static int domain_of(const struct topo_class *c)
{
    int n = c->ngpus + c->nobjects, largest = 0;
    struct arena *a = arena_new();
    int *up = arena_alloc(a, (size_t)n * sizeof *up), *size = arena_alloc(a, (size_t)n * sizeof *size);
    for (int i = 0; i < n; i++)
        up[i] = i;
    for (int i = 0; i < c->nlinks; i++) {
        const struct topo_link *l = &c->links[i];
        if (l->peer_gpu >= 0)
            up[root_of(up, l->gpu)] = root_of(up, l->peer_gpu);
        else if (l->peer_object >= 0 && c->objects[l->peer_object].kind == TOPO_NVSWITCH)
            up[root_of(up, l->gpu)] = root_of(up, c->ngpus + l->peer_object);
    }
    for (int i = 0; i < c->ngpus; i++) {
        int *s = &size[root_of(up, i)];
        if (++*s > largest)
            largest = *s;
    }
    arena_free(a);
    return largest;
}

static int rails_of(const struct topo_class *c)
{
    int up = 0;
    for (int k = 0; c->ngpus && k < c->nports; k++)
        up += c->ports[k].state != TOPO_STATE_DOWN;
    return up;
}

static int gpus_of(const struct topo_class *c)
{
    return c->ngpus;
}

/* Of the class that has the fewest, but any. */
static int least_of_classes(const struct topology *t, int (*of)(const struct topo_class *c))
{
    int least = 0;
    for (int i = 0; i < t->nclasses; i++) {
        int own = of(&t->classes[i]);
        if (own && (!least || own < least))
            least = own;
    }
    return least;
}

/* ---- a GPU's memory and its way to the host's ---- */

/* The lesser of both; what is not known (0) is none. */
static double lesser_rate(double x, double y)
{
    double least = fmin(x > 0 ? x : INFINITY, y > 0 ? y : INFINITY);
    return isinf(least) ? 0 : least;
}

/* GB/s of one GPU to the host when all copy at once: links further up are shared. 0: the topology does not tell. */
static double host_link(const struct topo_class *c, const struct topo_gpu *g)
{
    double least = 0;
    for (int o = g->object; o >= 0; o = c->objects[o].parent) {
        int sharing = 0;
        for (int i = 0; i < c->ngpus; i++)
            sharing += topo_is_below(c, c->gpus[i].object, o);
        least = lesser_rate(least, c->objects[o].link_GBps / sharing);
    }
    return least;
}

void workload_take_machine(struct workload_job *j, const struct topology *t)
{
    double link = 0, memory = 0;
    for (int k = 0; k < t->nclasses; k++)
        for (int i = 0; i < t->classes[k].ngpus; i++) {
            const struct topo_gpu *g = &t->classes[k].gpus[i];
            if (!g->memory_numa) /* Grace and Hopper do not copy over PCIe */
                link = lesser_rate(link, host_link(&t->classes[k], g));
            memory = lesser_rate(memory, (double)g->mem_bytes / 0x1p30);
        }
    j->host_GBps = j->host_GBps > 0 ? j->host_GBps : USABLE * link;
    j->memory_GiB = j->memory_GiB > 0 || j->gpu ? j->memory_GiB : memory;
    j->no_nvlink |= least_of_classes(t, domain_of) == 1;
}

/* ---- what is wrong with a job ---- */

struct report {
    struct findings found;
    const char *id; /* of what is checked now */
    const struct workload_job *job;
    long ranks;
    int sharded, rollout_only; /* kinds of framework */
};

/* Adds a finding whose advice is the text behind '|'. */
__attribute__((format(printf, 3, 4))) static void report_finding(struct report *r, enum finding_severity severity,
                                                                 const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct finding *f = finding_vadd(&r->found, severity, r->id, NULL, fmt, ap);
    va_end(ap);
    char *bar = strchr(f->text, '|');
    if (bar)
        *bar++ = 0;
    f->advice = bar;
}

/* ---- against the number of ranks ---- */

static void check_ranks(struct report *r)
{
    const struct workload_job *j = r->job;
    long split = (long)j->tp * j->pp * j->cp * j->sp, want = split * j->dp;
    if (r->sharded && (j->tp > 1 || j->pp > 1 || j->cp > 1))
        report_finding(
            r, FINDING_ERROR,
            "%s shards over all ranks and has no tensor, context or pipeline parallelism, but tp is %d, cp %d and pp "
            "%d|remove --tp, --cp and --pp (--sp shares sequences); the inference engine's is --rollout-tp",
            j->framework, j->tp, j->cp, j->pp);
    else if (r->ranks % split)
        report_finding(r, FINDING_ERROR,
                       "tp %d × pp %d × cp %d × sp %d = %ld does not divide %ld ranks (%d nodes of %d GPUs)|"
                       "choose their product among the divisors of %ld",
                       j->tp, j->pp, j->cp, j->sp, split, r->ranks, j->nodes, j->gpus_per_node, r->ranks);
    else if (want != r->ranks)
        report_finding(r, FINDING_ERROR,
                       "tp %d × pp %d × dp %d = %ld, but the job has %ld ranks (%d nodes of %d GPUs)|set --dp %ld",
                       j->tp, j->pp, j->dp, want, r->ranks, j->nodes, j->gpus_per_node, r->ranks / split);
    long of_a_stage = (long)j->tp * j->cp * j->dp, expert_ranks = (long)j->ep * j->etp;
    if (j->model.experts && !r->sharded && of_a_stage % expert_ranks)
        report_finding(r, FINDING_ERROR,
                       "ep %d × etp %d = %ld does not divide the %ld ranks of a pipeline stage (tp × dp)|"
                       "choose ep × etp among the divisors of %ld",
                       j->ep, j->etp, expert_ranks, of_a_stage, of_a_stage);
    if (r->ranks % j->rollout_tp)
        report_finding(r, FINDING_ERROR,
                       "rollout tp %d does not divide %ld ranks|choose --rollout-tp among the divisors of %ld",
                       j->rollout_tp, r->ranks, r->ranks);
}

/* ---- actor, reference, rollout ---- */

static void check_roles(struct report *r)
{
    const struct workload_job *j = r->job;
    if (j->ref_tp != j->tp)
        report_finding(
            r, FINDING_ERROR,
            "tensor model parallel size mismatch: the actor has tp %d, the reference model tp %d, and both share "
            "their process groups|set --ref-tp %d",
            j->tp, j->ref_tp, j->tp);
    if (j->ref_pp != j->pp)
        report_finding(
            r, FINDING_ERROR,
            "pipeline model parallel size mismatch: the actor has pp %d, the reference model pp %d, and both "
            "share their process groups|set --ref-pp %d",
            j->pp, j->ref_pp, j->pp);
    if (j->algorithm != WORKLOAD_TRAIN && !r->sharded && j->rollout_tp % j->tp && j->tp % j->rollout_tp)
        report_finding(r, FINDING_ERROR,
                       "tensor model parallel size mismatch: the actor has tp %d, the rollout tp %d, and neither "
                       "divides the other, so weights cannot be copied shard by shard|set --rollout-tp %d",
                       j->tp, j->rollout_tp, j->tp);
}

/* ---- against the model ---- */

struct division {
    int of, by;
    const char *what, *who, *option;
};

static void check_model(struct report *r)
{
    const struct workload_job *j = r->job;
    const struct language_model *m = &j->model;
    const struct division list[] = {
        {m->layers, j->uneven_stages ? 1 : j->pp, "layers", "pp", "--pp"},
        {m->heads, j->tp, "attention heads", "tp", "--tp"},
        {m->heads, j->rollout_tp == j->tp ? 1 : j->rollout_tp, "attention heads", "rollout tp", "--rollout-tp"},
        {m->experts, j->ep, "experts", "ep", "--ep"},
        {m->expert_intermediate, j->etp, "rows of an expert", "etp", "--etp"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].of % list[i].by)
            report_finding(r, FINDING_ERROR, "%d %s cannot be split by %s %d|choose %s among the divisors of %d",
                           list[i].of, list[i].what, list[i].who, list[i].by, list[i].option, list[i].of);
    if (!m->experts && j->ep > 1)
        report_finding(r, FINDING_ERROR, "ep %d, but the model has no experts|remove --ep", j->ep);
    if (m->experts && !r->sharded && j->tp > 1 && j->no_sequence_parallel)
        report_finding(r, FINDING_ERROR,
                       "experts with tensor parallelism need sequence parallelism|add --sequence-parallel to a script; "
                       "drop --no-sequence-parallel here");
    if (m->kv_heads % j->tp && !r->sharded)
        report_finding(r, FINDING_WARNING, "tp %d splits %d key-value heads: each head is on several ranks|use --tp %d",
                       j->tp, m->kv_heads, m->kv_heads);
}

/* ---- against batches ---- */

static void check_batches(struct report *r)
{
    const struct workload_job *j = r->job;
    long long rows = (long long)j->micro_batch * j->dp, step = rows * j->grad_accum;
    if (j->mini_batch && step != j->mini_batch) {
        if (j->mini_batch % rows)
            report_finding(
                r, FINDING_ERROR,
                "a mini-batch of %d is not a multiple of micro-batch %d × dp %d = %lld|use --mini-batch %lld",
                j->mini_batch, j->micro_batch, j->dp, rows, (j->mini_batch + rows - 1) / rows * rows);
        else
            report_finding(
                r, FINDING_ERROR,
                "micro-batch %d × accumulation %d × dp %d = %lld, but the mini-batch is %d|use --grad-accum %lld",
                j->micro_batch, j->grad_accum, j->dp, step, j->mini_batch, j->mini_batch / rows);
    }
    /* Idle part of training: bubble over bubble and work (Narayanan et al. 2021). */
    int work = j->grad_accum * j->vpp * (j->zero_bubble ? 3 : 1), idle = 100 * (j->pp - 1) / (work + j->pp - 1);
    if (idle > 20)
        report_finding(r, FINDING_WARNING,
                       "%d micro-batches in a pipeline of %d stages%s: %d %% of training is idle|"
                       "use --grad-accum %d or more, smaller micro-batches, or an interleaved schedule (--vpp)",
                       j->grad_accum, j->pp, j->grad_accum < j->pp ? " do not fill it" : "", idle, 4 * j->pp);
    if (j->vpp > 1 && (j->pp == 1 || (!j->uneven_stages && j->model.layers % (j->pp * j->vpp))))
        report_finding(r, FINDING_ERROR,
                       "%d layers cannot be split into pp %d × vpp %d pieces|choose --vpp so that they can",
                       j->model.layers, j->pp, j->vpp);
}

/* ---- against the memory of a GPU ---- */

static void check_memory(struct report *r)
{
    const struct workload_job *j = r->job;
    struct workload_memory m = workload_memory_of(j);
    double states = workload_memory_states(&m), peak = workload_memory_peak(&m), has = j->memory_GiB * 0x1p30;
    if (has <= 0)
        return;
    if (states > has || m.engine > has)
        report_finding(
            r, FINDING_ERROR,
            "weights %.1f + gradients %.1f + optimizer %.1f + reference %.1f = %.1f GiB a GPU (inference engine: "
            "%.1f), "
            "which has %.0f|more GPUs, --offload, --offload-params, --lora-rank, or --rollout-tp for the engine",
            m.weights / 0x1p30, m.gradients / 0x1p30, m.optimizer / 0x1p30, m.reference / 0x1p30, states / 0x1p30,
            m.engine / 0x1p30, j->memory_GiB);
    else if (peak > 0.95 * has)
        report_finding(
            r, FINDING_WARNING,
            "states %.1f + gathered layers %.1f + activations %.1f + logits %.1f = %.1f GiB a GPU, which has %.0f|"
            "a smaller --micro-batch%s, or more ranks to share a sequence (--cp, --sp)",
            states / 0x1p30, m.gathered / 0x1p30, m.activations / 0x1p30, m.logits / 0x1p30, peak / 0x1p30,
            j->memory_GiB, j->recompute ? "" : ", --recompute");
}

/* ---- against the machine ---- */

static void check_machine(struct report *r, const struct topology *t)
{
    const struct workload_job *j = r->job;
    int gpus = t ? least_of_classes(t, gpus_of) : 0, rails = t ? least_of_classes(t, rails_of) : 0;
    /* 1: the topology shows no NVLink or XGMI, which a topology file of NCCL's may just leave out */
    int domain = gpus ? least_of_classes(t, domain_of) : 0;
    int widest = j->tp > j->rollout_tp ? j->tp : j->rollout_tp;
    if (gpus && j->gpus_per_node > gpus)
        report_finding(r, FINDING_ERROR,
                       "the job needs %d GPUs per node, the topology's nodes have %d|use --gpus-per-node %d",
                       j->gpus_per_node, gpus, gpus);
    if (widest > j->gpus_per_node)
        report_finding(
            r, FINDING_WARNING,
            "tensor parallelism of %d spans nodes of %d GPUs: every layer waits for the network|use --tp %d and "
            "more pipeline or data parallelism",
            widest, j->gpus_per_node, j->gpus_per_node);
    else if (domain == 1 && widest > 1)
        report_finding(
            r, FINDING_WARNING,
            "tensor parallelism of %d, and the topology shows no NVLink: without it every layer goes over PCIe|"
            "use pipeline or data parallelism instead, or probe the machine itself if it has NVLink",
            widest);
    else if (domain && widest > domain)
        report_finding(
            r, FINDING_WARNING,
            "tensor parallelism of %d is larger than the NVLink domain of %d GPUs: every layer goes over PCIe|"
            "use tensor parallelism of %d",
            widest, domain, domain);
    if (j->ep < 2 || j->ep * (long)j->etp <= j->gpus_per_node)
        return;
    if (rails == 1)
        report_finding(
            r, FINDING_WARNING,
            "expert parallelism of %d × %d crosses nodes that have one rail: all GPUs of a node share it for every "
            "all-to-all|keep ep × etp within %d GPUs, or add rails",
            j->ep, j->etp, j->gpus_per_node);
    else if (!rails)
        report_finding(r, FINDING_WARNING,
                       "expert parallelism of %d × %d crosses nodes of %d GPUs, over unknown rails|%s, or keep ep × "
                       "etp within a node",
                       j->ep, j->etp, j->gpus_per_node, t ? "probe the machine itself" : "check them with --topology");
}

struct findings workload_check(const struct workload_job *j, const struct topology *t, struct arena *a)
{
    struct report r = {.found = {.arena = a}, .job = j, .ranks = (long)j->nodes * j->gpus_per_node};
    enum workload_family family = workload_framework_find(j->framework)->family;
    r.rollout_only = family == WORKLOAD_INFERENCE;
    r.sharded = family == WORKLOAD_FSDP || family == WORKLOAD_ZERO3;
    r.id = "ranks";
    check_ranks(&r);
    r.id = "roles";
    if (!r.rollout_only)
        check_roles(&r);
    r.id = "model";
    check_model(&r);
    r.id = "batches";
    if (!r.rollout_only)
        check_batches(&r);
    r.id = "memory";
    check_memory(&r);
    r.id = "machine";
    check_machine(&r, t);
    return r.found;
}
