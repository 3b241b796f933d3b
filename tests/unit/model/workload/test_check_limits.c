/* model/workload/check.c at its limits: what is just possible, and what is just not. */
#include "model/workload/parts.h"
#include "tests/lib/unit.h"

#define DENSE "llama3-8b"     /* 32 layers and heads, 8 key-value heads */
#define MOE   "qwen3-30b-a3b" /* 48 layers, 32 heads, 4 key-value heads, 128 experts of 768 rows */

/* "id: text|advice" of each, a line each. */
static const char *all(const struct findings *f, struct arena *a)
{
    const char *text = "";
    for (int i = 0; i < f->n; i++)
        text = arena_printf(a, "%s%s%s%s: %s|%s", text, i ? "\n" : "",
                            f->list[i].severity == FINDING_ERROR ? "" : "warning ", f->list[i].id, f->list[i].text,
                            f->list[i].advice);
    return text;
}

static const char *said_of(struct workload_job j, const char *model, const struct topology *t, struct arena *a)
{
    struct err e = {0};
    j.model = *language_model_find(model);
    if (workload_job_complete(&j, &e))
        fail_msg("%s", e.text);
    struct findings f = workload_check(&j, t, a);
    return all(&f, a);
}

struct limit {
    struct workload_job job;
    const char *model, *said;
};

static void check(const struct limit *limits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct arena *a = arena_new();
        const char *said = said_of(limits[i].job, limits[i].model, NULL, a);
        if (strcmp(said, limits[i].said) != 0)
            fail_msg("case %zu: %s", i, said);
        arena_free(a);
    }
}
#define CHECK(limits) check(limits, sizeof(limits) / sizeof *(limits))

#define SHARDED(is)                                                                                  \
    "ranks: fsdp2 shards over all ranks and has no tensor, context or pipeline parallelism, but " is \
    "|remove --tp, --cp and --pp (--sp shares sequences); the inference engine's is --rollout-tp"

TEST_CASE(ranks)
{
    static const struct limit limits[] = {
        {{.framework = "fsdp2", .sp = 4}, DENSE, ""},
        {{.framework = "fsdp2", .tp = 2}, DENSE, SHARDED("tp is 2, cp 1 and pp 1")},
        {{.framework = "fsdp2", .cp = 2}, DENSE, SHARDED("tp is 1, cp 2 and pp 1")},
        {{.framework = "zero3", .sp = 3, .dp = 2, .nodes = 1, .gpus_per_node = 8},
         DENSE,
         "ranks: tp 1 × pp 1 × cp 1 × sp 3 = 3 does not divide 8 ranks (1 nodes of 8 GPUs)|choose their product among "
         "the divisors of 8"},
        {{.framework = "megatron", .nodes = 2, .gpus_per_node = 3, .cp = 4},
         DENSE,
         "ranks: tp 1 × pp 1 × cp 4 × sp 1 = 4 does not divide 6 ranks (2 nodes of 3 GPUs)|choose their product among "
         "the divisors of 6"},
        {{.framework = "megatron", .nodes = 2, .gpus_per_node = 8, .cp = 2, .dp = 9},
         DENSE,
         "ranks: tp 1 × pp 1 × dp 9 = 18, but the job has 16 ranks (2 nodes of 8 GPUs)|set --dp 8"},
        {{.framework = "megatron", .nodes = 1, .gpus_per_node = 12, .rollout_tp = 8},
         DENSE,
         "ranks: rollout tp 8 does not divide 12 ranks|choose --rollout-tp among the divisors of 12"},
        {{.framework = "megatron", .nodes = 3, .gpus_per_node = 8, .tp = 2, .pp = 2, .ep = 4, .grad_accum = 8},
         MOE,
         "ranks: ep 4 × etp 2 = 8 does not divide the 12 ranks of a pipeline stage (tp × dp)|choose ep × etp among the "
         "divisors of 12"},
        {{.framework = "megatron", .nodes = 3, .gpus_per_node = 8, .tp = 2, .pp = 2, .ep = 2, .grad_accum = 8},
         MOE,
         ""},
        {{.framework = "megatron", .nodes = 1, .gpus_per_node = 8, .cp = 2, .ep = 8}, MOE, ""},
    };
    CHECK(limits);
}

TEST_CASE(roles)
{
#define MISMATCH "roles: tensor model parallel size mismatch: the actor has tp "
    static const struct limit limits[] = {
        {{.framework = "megatron", .algorithm = WORKLOAD_GRPO, .nodes = 3, .tp = 4, .rollout_tp = 8}, DENSE, ""},
        {{.framework = "megatron", .algorithm = WORKLOAD_GRPO, .nodes = 3, .tp = 4, .rollout_tp = 2}, DENSE, ""},
        {{.framework = "megatron", .algorithm = WORKLOAD_GRPO, .nodes = 3, .tp = 4, .rollout_tp = 6},
         "llama3.2-3b",
         MISMATCH "4, the rollout tp 6, and neither divides the other, so weights cannot be copied shard by shard|set "
                  "--rollout-tp 4"},
        {{.framework = "megatron", .nodes = 3, .tp = 4, .rollout_tp = 6}, "llama3.2-3b", ""}, /* it only trains */
        {{.framework = "megatron", .tp = 4, .ref_tp = 2},
         DENSE,
         MISMATCH "4, the reference model tp 2, and both share their process groups|set --ref-tp 4"},
        {{.framework = "megatron", .pp = 2, .ref_pp = 1, .grad_accum = 8},
         DENSE,
         "roles: pipeline model parallel size mismatch: the actor has pp 2, the reference model pp 1, and both share "
         "their process groups|set --ref-pp 2"},
        {{.framework = "vllm-rollout", .tp = 4, .ref_tp = 2, .ref_pp = 2}, DENSE, ""},
    };
    CHECK(limits);
}

TEST_CASE(models)
{
    static const struct limit limits[] = {
        {{.framework = "megatron", .nodes = 1, .gpus_per_node = 7, .tp = 7},
         "qwen2.5-7b", /* 28 heads, 4 for keys and values */
         "warning model: tp 7 splits 4 key-value heads: each head is on several ranks|use --tp 4"},
        {{.framework = "megatron", .nodes = 1, .gpus_per_node = 5, .tp = 5},
         "qwen2.5-7b",
         "model: 28 attention heads cannot be split by tp 5|choose --tp among the divisors of 28\n"
         "warning model: tp 5 splits 4 key-value heads: each head is on several ranks|use --tp 4"},
        {{.framework = "fsdp2", .gpus_per_node = 3, .rollout_tp = 3},
         DENSE,
         "model: 32 attention heads cannot be split by rollout tp 3|choose --rollout-tp among the divisors of 32"},
        {{.framework = "megatron", .nodes = 1, .gpus_per_node = 3, .ep = 3},
         MOE,
         "model: 128 experts cannot be split by ep 3|choose --ep among the divisors of 128"},
        {{.framework = "megatron", .nodes = 1, .gpus_per_node = 5, .etp = 5},
         MOE,
         "model: 768 rows of an expert cannot be split by etp 5|choose --etp among the divisors of 768"},
        {{.framework = "fsdp2", .ep = 2}, DENSE, "model: ep 2, but the model has no experts|remove --ep"},
        {{.framework = "megatron", .tp = 2, .no_sequence_parallel = 1}, DENSE, ""},
        {{.framework = "megatron", .tp = 1, .no_sequence_parallel = 1}, MOE, ""},
        {{.framework = "megatron", .tp = 2, .no_sequence_parallel = 1},
         MOE,
         "model: experts with tensor parallelism need sequence parallelism|add --sequence-parallel to a script; drop "
         "--no-sequence-parallel here"},
    };
    CHECK(limits);
}

/* An odd number of heads is no trouble for an engine that is split as the trainer is. */
TEST_CASE(odd_heads)
{
    struct arena *a = arena_new();
    struct err e = {0};
    struct workload_job j = {.framework = "fsdp2", .model = *language_model_find(DENSE)};
    j.model.heads = 7;
    j.model.kv_heads = 1;
    assert_int_equal(workload_job_complete(&j, &e), 0);
    struct findings f = workload_check(&j, NULL, a);
    assert_string_equal(all(&f, a), "");
    j.rollout_tp = 2;
    f = workload_check(&j, NULL, a);
    assert_string_equal(all(&f, a),
                        "model: 7 attention heads cannot be split by rollout tp 2|choose --rollout-tp among "
                        "the divisors of 7");
    arena_free(a);
}

#define IDLE(what) "warning batches: " what " or more, smaller micro-batches, or an interleaved schedule (--vpp)"

/* A fifth of training may be idle. */
TEST_CASE(batches)
{
    static const struct limit limits[] = {
        {{.framework = "megatron", .pp = 2, .grad_accum = 4}, DENSE, ""},
        {{.framework = "megatron", .pp = 2, .grad_accum = 3},
         DENSE,
         IDLE("3 micro-batches in a pipeline of 2 stages: 25 % of training is idle|use --grad-accum 8")},
        {{.framework = "megatron", .pp = 2, .grad_accum = 2},
         DENSE,
         IDLE("2 micro-batches in a pipeline of 2 stages: 33 % of training is idle|use --grad-accum 8")},
        {{.framework = "megatron", .pp = 2, .grad_accum = 1},
         DENSE,
         IDLE("1 micro-batches in a pipeline of 2 stages do not fill it: 50 % of training is idle|use --grad-accum 8")},
        {{.framework = "megatron", .pp = 2, .grad_accum = 2, .vpp = 2}, DENSE, ""},
        {{.framework = "megatron", .pp = 2, .grad_accum = 2, .zero_bubble = 1}, DENSE, ""},
        {{.framework = "megatron", .pp = 2, .grad_accum = 1, .zero_bubble = 1},
         DENSE,
         IDLE("1 micro-batches in a pipeline of 2 stages do not fill it: 25 % of training is idle|use --grad-accum 8")},
        {{.framework = "megatron", .pp = 2, .grad_accum = 8, .vpp = 3},
         DENSE,
         "batches: 32 layers cannot be split into pp 2 × vpp 3 pieces|choose --vpp so that they can"},
        {{.framework = "megatron", .vpp = 2},
         DENSE,
         "batches: 32 layers cannot be split into pp 1 × vpp 2 pieces|choose --vpp so that they can"},
        {{.framework = "fsdp2", .micro_batch = 4, .grad_accum = 2, .mini_batch = 64}, DENSE, ""},
        {{.framework = "fsdp2", .micro_batch = 4, .grad_accum = 2, .mini_batch = 96},
         DENSE,
         "batches: micro-batch 4 × accumulation 2 × dp 8 = 64, but the mini-batch is 96|use --grad-accum 3"},
        {{.framework = "fsdp2", .micro_batch = 4, .grad_accum = 2, .mini_batch = 97},
         DENSE,
         "batches: a mini-batch of 97 is not a multiple of micro-batch 4 × dp 8 = 32|use --mini-batch 128"},
        {{.framework = "fsdp2", .micro_batch = 4, .grad_accum = 2, .mini_batch = 127},
         DENSE,
         "batches: a mini-batch of 127 is not a multiple of micro-batch 4 × dp 8 = 32|use --mini-batch 128"},
    };
    CHECK(limits);
}

/* What fills the memory to the byte fits; a warning says that nothing is left for fragments. */
TEST_CASE(memory)
{
    struct arena *a = arena_new();
    struct workload_job j = {.framework = "fsdp2", .model = *language_model_find(DENSE)};
    struct err e = {0};
    assert_int_equal(workload_job_complete(&j, &e), 0);
    struct workload_memory m = workload_memory_of(&j);
    j.memory_GiB = workload_memory_states(&m) / 0x1p30;
    struct findings f = workload_check(&j, NULL, a);
    assert_int_equal(f.n, 1);
    assert_int_equal(f.list[0].severity, FINDING_WARNING);
    assert_non_null(strstr(f.list[0].advice, "a smaller --micro-batch, --recompute, or more"));
    j.memory_GiB *= 0.999;
    f = workload_check(&j, NULL, a);
    assert_int_equal(f.n, 1);
    assert_int_equal(f.list[0].severity, FINDING_ERROR);
    j.memory_GiB = workload_memory_peak(&m) / 0x1p30 / 0.949;
    assert_int_equal(workload_check(&j, NULL, a).n, 0);
    j.memory_GiB = workload_memory_peak(&m) / 0x1p30 / 0.951;
    assert_int_equal(workload_check(&j, NULL, a).n, 1);
    j.recompute = 1;
    m = workload_memory_of(&j);
    j.memory_GiB = workload_memory_peak(&m) / 0x1p30;
    f = workload_check(&j, NULL, a);
    assert_non_null(strstr(f.list[0].advice, "a smaller --micro-batch, or more"));
    j = (struct workload_job){.framework = "vllm-rollout", .tp = 2, .model = *language_model_find(DENSE)};
    assert_int_equal(workload_job_complete(&j, &e), 0);
    j.memory_GiB = workload_memory_of(&j).engine / 0x1p30;
    assert_int_equal(workload_check(&j, NULL, a).n, 0);
    j.memory_GiB *= 0.999;
    assert_int_equal(workload_check(&j, NULL, a).n, 1);
    arena_free(a);
}

/* Classes of nodes with so many GPUs, of which the first `joined` are joined in a chain, and ports. */
struct node {
    int gpus, joined, ports;
};
struct machine {
    struct topo_class classes[3];
    struct topo_gpu gpus[16];
    struct topo_link links[3][16];
    struct topo_port ports[16];
    struct topology topology;
};
static const struct topology *machine(struct machine *m, const struct node *nodes, int n)
{
    *m = (struct machine){.topology = {.classes = m->classes, .nclasses = n}};
    for (int i = 0; i < n; i++) {
        for (int k = 1; k < nodes[i].joined; k++)
            m->links[i][k - 1] = (struct topo_link){TOPO_NVLINK, k, k - 1, -1, 4, 100};
        m->classes[i] = (struct topo_class){.gpus = m->gpus,
                                            .ngpus = nodes[i].gpus,
                                            .links = m->links[i],
                                            .nlinks = nodes[i].joined > 1 ? nodes[i].joined - 1 : 0,
                                            .ports = m->ports,
                                            .nports = nodes[i].ports};
    }
    return &m->topology;
}

/* Of several kinds of nodes the one with the least counts, and nodes without GPUs do not. */
TEST_CASE(the_least_node_counts)
{
    static const struct node orders[2][3] = {{{0, 0, 9}, {8, 6, 4}, {4, 3, 1}}, {{4, 3, 1}, {8, 6, 4}, {0, 0, 9}}};
    const struct workload_job j = {.framework = "megatron", .nodes = 4, .gpus_per_node = 8, .tp = 4, .ep = 8, .etp = 4};
    struct machine m;
    struct arena *a = arena_new();
    for (int i = 0; i < 2; i++) {
        const char *said = said_of(j, MOE, machine(&m, orders[i], 3), a);
        assert_non_null(strstr(said, "the topology's nodes have 4"));
        assert_non_null(strstr(said, "larger than the NVLink domain of 3 GPUs"));
        assert_non_null(strstr(said, "crosses nodes that have one rail"));
    }
    const char *said = said_of(j, MOE, machine(&m, orders[0], 1), a);
    assert_null(strstr(said, "the topology has"));
    assert_null(strstr(said, "NVLink"));
    assert_non_null(strstr(said, "over unknown rails"));
    const struct node bare = {8, 0, 0};
    said = said_of(j, MOE, machine(&m, &bare, 1), a);
    assert_non_null(strstr(said, "the topology shows no NVLink"));
    assert_non_null(strstr(said, "over unknown rails"));
    arena_free(a);
}

TEST_CASE(against_the_machine)
{
#define EXPERTS "warning machine: expert parallelism of "
#define SHARE   " crosses nodes that have one rail: all GPUs of a node share it for every all-to-all|keep ep × etp "
    static const struct {
        struct workload_job job;
        struct node node;
        const char *model, *said;
    } cases[] = {
        {{.framework = "megatron", .tp = 4, .rollout_tp = 8},
         {8, 4, 8},
         DENSE,
         "warning machine: tensor parallelism of 8 is larger than the NVLink domain of 4 GPUs: every layer goes over "
         "PCIe|use tensor parallelism of 4"},
        {{.framework = "megatron", .tp = 4, .rollout_tp = 1}, {8, 4, 8}, DENSE, ""},
        {{.framework = "megatron", .tp = 1}, {8, 1, 8}, DENSE, ""},
        {{.framework = "megatron", .tp = 2},
         {8, 1, 8},
         DENSE,
         "warning machine: tensor parallelism of 2, and the topology shows no NVLink: without it every layer goes over "
         "PCIe|use pipeline or data parallelism instead, or probe the machine itself if it has NVLink"},
        {{.framework = "megatron", .nodes = 1, .gpus_per_node = 8},
         {7, 7, 8},
         DENSE,
         "machine: the job needs 8 GPUs per node, the topology's nodes have 7|use --gpus-per-node 7"},
        {{.framework = "megatron", .tp = 8}, {0, 0, 0}, DENSE, ""},
        {{.framework = "megatron", .nodes = 2, .tp = 2, .ep = 4}, {8, 8, 1}, MOE, ""},
        {{.framework = "megatron", .nodes = 2, .tp = 8, .ep = 1, .etp = 16, .rollout_tp = 8, .no_nvlink = 1},
         {8, 8, 1},
         MOE,
         "warning model: tp 8 splits 4 key-value heads: each head is on several ranks|use --tp 4"},
        {{.framework = "megatron", .nodes = 2, .tp = 4, .ep = 2, .etp = 8},
         {8, 8, 1},
         MOE,
         EXPERTS "2 × 8" SHARE "within 8 GPUs, or add rails"},
        {{.framework = "megatron", .nodes = 2, .tp = 4, .ep = 2, .etp = 8}, {8, 8, 2}, MOE, ""},
        {{.framework = "megatron", .nodes = 2, .tp = 4, .ep = 2, .etp = 8},
         {8, 8, 0},
         MOE,
         EXPERTS
         "2 × 8 crosses nodes of 8 GPUs, over unknown rails|probe the machine itself, or keep ep × etp within a node"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct machine m;
        const char *said = said_of(cases[i].job, cases[i].model, machine(&m, &cases[i].node, 1), a);
        if (strcmp(said, cases[i].said) != 0)
            fail_msg("case %zu: %s", i, said);
        arena_free(a);
    }
}

TEST_CASES(test_check_limits)
