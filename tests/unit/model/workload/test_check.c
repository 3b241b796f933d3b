/* model/workload/check.c: what cannot work is said with its fix; what works is left alone. */
#include "model/workload/job.h"
#include "tests/lib/unit.h"

struct check {
    struct arena *arena;
    struct findings found;
};

static struct check check(struct workload_job job, const char *model, const struct topology *t)
{
    struct check c = {.arena = arena_new()};
    struct err e = {0};
    job.model = *language_model_find(model);
    if (workload_job_complete(&job, &e))
        fail_msg("%s", e.text);
    c.found = workload_check(&job, t, c.arena);
    return c;
}

/* One finding holds `text`, its advice holds `fix`, and it is an error or not. */
static void expect(struct check c, int error, const char *text, const char *fix)
{
    int seen = 0;
    for (int i = 0; i < c.found.n; i++) {
        const struct finding *f = &c.found.list[i];
        seen |= f->severity == (error ? FINDING_ERROR : FINDING_WARNING) && strstr(f->text, text) && f->advice &&
                strstr(f->advice, fix);
    }
    if (!seen)
        fail_msg("'%s' with the advice '%s' is not among %d findings, the first: %s; %s", text, fix, c.found.n,
                 c.found.n ? c.found.list[0].text : "-", c.found.n ? c.found.list[0].advice : "-");
    arena_free(c.arena);
}

TEST_CASE(nothing_wrong)
{
    struct check c = check((struct workload_job){.framework = "megatron", .tp = 4, .pp = 2, .dp = 2, .grad_accum = 8},
                           "llama3-8b", NULL);
    assert_int_equal(c.found.n, 0);
    arena_free(c.arena);
    /* Who only generates has no reference model. */
    c = check((struct workload_job){.framework = "vllm-rollout", .tp = 4, .ref_tp = 2}, "llama3-8b", NULL);
    assert_int_equal(c.found.n, 0);
    arena_free(c.arena);
}

TEST_CASE(ranks)
{
    const struct workload_job m = {.framework = "megatron", .nodes = 2, .gpus_per_node = 8};
    struct workload_job j = m;
    j.tp = 3;
    expect(check(j, "llama3-8b", NULL), 1, "does not divide 16 ranks", "divisors of 16");
    j = m;
    j.tp = 2;
    j.dp = 4;
    expect(check(j, "llama3-8b", NULL), 1, "tp 2 × pp 1 × dp 4 = 8, but the job has 16 ranks", "--dp 8");
    j = m;
    j.tp = 2;
    j.ep = 3;
    expect(check(j, "qwen3-30b-a3b", NULL), 1, "ep 3 × etp 2 = 6 does not divide the 16 ranks", "divisors of 16");
    j = (struct workload_job){.framework = "fsdp2", .tp = 2};
    expect(check(j, "llama3-8b", NULL), 1, "has no tensor, context or pipeline parallelism", "--rollout-tp");
    j = (struct workload_job){.framework = "fsdp2", .rollout_tp = 3};
    expect(check(j, "llama3-8b", NULL), 1, "rollout tp 3 does not divide 8 ranks", "divisors of 8");
}

TEST_CASE(roles)
{
    struct workload_job j = {.framework = "megatron", .algorithm = WORKLOAD_GRPO, .tp = 4, .ref_tp = 2};
    expect(check(j, "llama3-8b", NULL), 1,
           "tensor model parallel size mismatch: the actor has tp 4, the reference model tp 2", "--ref-tp 4");
    j = (struct workload_job){
        .framework = "megatron", .algorithm = WORKLOAD_GRPO, .pp = 2, .ref_pp = 1, .grad_accum = 8};
    expect(check(j, "llama3-8b", NULL), 1, "pipeline model parallel size mismatch", "--ref-pp 2");
    j = (struct workload_job){
        .framework = "megatron", .algorithm = WORKLOAD_GRPO, .nodes = 3, .tp = 4, .rollout_tp = 6};
    expect(check(j, "llama3-8b", NULL), 1, "the actor has tp 4, the rollout tp 6", "--rollout-tp 4");
}

TEST_CASE(model)
{
    expect(check((struct workload_job){.framework = "megatron", .pp = 8}, "qwen2.5-7b", NULL), 1,
           "28 layers cannot be split by pp 8", "--pp among the divisors of 28");
    expect(check((struct workload_job){.framework = "megatron", .tp = 8}, "qwen2.5-7b", NULL), 1,
           "28 attention heads cannot be split by tp 8", "--tp");
    expect(check((struct workload_job){.framework = "megatron", .ep = 2}, "qwen2.5-7b", NULL), 1, "has no experts",
           "--ep");
    expect(check((struct workload_job){.framework = "megatron", .tp = 8}, "qwen3-30b-a3b", NULL), 0,
           "splits 4 key-value heads", "--tp 4");
    expect(check((struct workload_job){.framework = "megatron", .tp = 2, .no_sequence_parallel = 1}, "qwen3-30b-a3b",
                 NULL),
           1, "need sequence parallelism", "--no-sequence-parallel");
}

TEST_CASE(batches)
{
    struct workload_job j = {.framework = "fsdp2", .micro_batch = 4, .grad_accum = 2, .mini_batch = 128};
    expect(check(j, "llama3-8b", NULL), 1, "micro-batch 4 × accumulation 2 × dp 8 = 64, but the mini-batch is 128",
           "--grad-accum 4");
    j.mini_batch = 100;
    expect(check(j, "llama3-8b", NULL), 1, "not a multiple of micro-batch 4 × dp 8 = 32", "--mini-batch 128");
    j = (struct workload_job){.framework = "megatron", .pp = 4, .grad_accum = 2};
    expect(check(j, "llama3-8b", NULL), 0, "2 micro-batches in a pipeline of 4 stages do not fill it: 60 %",
           "--grad-accum 16");
}

/* A machine of our own making: nodes of `gpus`, of which each `domain` are joined by NVLink, with `ports` ports. */
struct machine {
    struct topo_class class;
    struct topo_gpu gpus[16];
    struct topo_link links[64];
    struct topo_port ports[16];
    struct topo_object objects[16];
    struct topology topology;
};
static const struct topology *machine(struct machine *m, int gpus, int domain, int ports)
{
    memset(m, 0, sizeof *m);
    m->class = (struct topo_class){.name = "class0",
                                   .objects = m->objects,
                                   .gpus = m->gpus,
                                   .ports = m->ports,
                                   .links = m->links,
                                   .ngpus = gpus,
                                   .nports = ports,
                                   .nobjects = 16};
    for (int i = 0; i < gpus; i++)
        if (i % domain)
            m->links[m->class.nlinks++] = (struct topo_link){TOPO_NVLINK, i, i - 1, -1, 4, 100};
    for (int i = 0; i < ports; i++)
        m->ports[i].state = TOPO_STATE_ACTIVE;
    m->topology = (struct topology){.classes = &m->class, .nclasses = 1};
    return &m->topology;
}

TEST_CASE(against_the_machine)
{
    struct machine m;
    struct workload_job j = {.framework = "megatron", .nodes = 2, .gpus_per_node = 8, .tp = 8};
    expect(check(j, "llama3-8b", machine(&m, 8, 4, 8)), 0, "larger than the NVLink domain of 4 GPUs",
           "tensor parallelism of 4");
    expect(check(j, "llama3-8b", machine(&m, 8, 1, 8)), 0, "the topology shows no NVLink", "pipeline or data");
    expect(check(j, "llama3-8b", machine(&m, 4, 4, 8)), 1, "the topology's nodes have 4", "--gpus-per-node 4");
    struct check c = check(j, "llama3-8b", machine(&m, 8, 8, 8));
    assert_int_equal(c.found.n, 0);
    arena_free(c.arena);
    j.tp = 16;
    expect(check(j, "llama3-8b", NULL), 0, "spans nodes of 8 GPUs", "--tp 8");
    j = (struct workload_job){.framework = "megatron", .nodes = 2, .gpus_per_node = 8, .tp = 2, .ep = 8, .etp = 2};
    expect(check(j, "qwen3-30b-a3b", machine(&m, 8, 8, 1)), 0, "crosses nodes that have one rail", "add rails");
    c = check(j, "qwen3-30b-a3b", machine(&m, 8, 8, 4));
    assert_int_equal(c.found.n, 0);
    arena_free(c.arena);
    expect(check(j, "qwen3-30b-a3b", machine(&m, 8, 8, 0)), 0, "unknown rails", "probe the machine");
    expect(check(j, "qwen3-30b-a3b", NULL), 0, "crosses nodes of 8 GPUs", "--topology");
}

TEST_CASE(domain_over_a_switch)
{
    struct machine m;
    struct workload_job j = {.framework = "megatron", .nodes = 2, .gpus_per_node = 8, .tp = 8};
    machine(&m, 8, 1, 2);
    m.objects[3].kind = TOPO_NVSWITCH;
    for (int i = 0; i < 6; i++)
        m.links[m.class.nlinks++] = (struct topo_link){TOPO_NVLINK, i, -1, 3, 4, 100};
    expect(check(j, "llama3-8b", &m.topology), 0, "larger than the NVLink domain of 6 GPUs", "tensor parallelism of 6");
    j = (struct workload_job){.framework = "megatron", .nodes = 2, .gpus_per_node = 8, .tp = 2, .ep = 8, .etp = 2};
    m.ports[1].state = TOPO_STATE_DOWN;
    expect(check(j, "qwen3-30b-a3b", &m.topology), 0, "crosses nodes that have one rail", "add rails");
    m.class.ngpus = 0;
    struct check c = check(j, "qwen3-30b-a3b", &m.topology);
    assert_int_equal(c.found.n, 1);
    expect(c, 0, "unknown rails", "probe the machine");
}

TEST_CASES(test_check)
