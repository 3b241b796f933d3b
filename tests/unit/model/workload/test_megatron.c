/* model/workload/megatron.c: messages of every kind of parallelism, counted by hand. */
#include "model/workload/job.h"
#include "tests/lib/unit.h"

static struct workload *generate(struct workload_job job, const char *model)
{
    struct err e = {0};
    job.framework = "megatron";
    job.model = *language_model_find(model);
    if (workload_job_complete(&job, &e))
        fail_msg("%s", e.text);
    return workload_generate(&job);
}

/* Calls and bytes of a kind in a phase over groups of `group`, `stride` apart. */
struct sum {
    double count, bytes;
    enum workload_place place;
};
static struct sum sum_of(const struct workload *w, const char *phase, int kind, int group, int stride)
{
    struct sum s = {0, 0, WORKLOAD_NODE};
    for (int i = 0; i < w->nphases; i++)
        for (int k = 0; k < w->phases[i].ncalls && !strcmp(w->phases[i].name, phase); k++) {
            const struct workload_call *c = &w->phases[i].calls[k];
            if (c->kind != kind || c->group_size != group || c->stride != stride)
                continue;
            s.count += c->count;
            s.bytes += (double)c->bytes * c->count;
            s.place = c->place;
        }
    return s;
}

/* llama3-8b, tp 8: 32 layers; s × b × h × 2 = 4096 × 4096 × 2 = 32 MiB. */
TEST_CASE(sequence_parallel)
{
    struct workload *w =
        generate((struct workload_job){.tp = 8, .nodes = 1, .gpus_per_node = 8, .prompt = 4096}, "llama3-8b");
    const double mib32 = 33554432;
    /* Forward: two pairs a layer, the head's input, the embedding's output. */
    struct sum ag = sum_of(w, "forward", COLL_ALLGATHER, 8, 1), rs = sum_of(w, "forward", COLL_REDUCESCATTER, 8, 1);
    assert_near(ag.count, 64 + 1, 0);
    assert_near(ag.bytes, 65 * mib32, 0);
    assert_near(rs.count, 64 + 1, 0);
    /* Backward: inputs are gathered again. */
    ag = sum_of(w, "backward", COLL_ALLGATHER, 8, 1);
    rs = sum_of(w, "backward", COLL_REDUCESCATTER, 8, 1);
    assert_near(ag.count, 128 + 2, 0);
    assert_near(rs.count, 64 + 1, 0);
    /* The loss: three reductions of a float a token. */
    struct sum loss = sum_of(w, "forward", COLL_ALLREDUCE, 8, 1);
    assert_near(loss.bytes, 3 * 4096 * 4, 0);
    /* Norms: 65 of 4096, in float32; and the norm of the gradients. */
    assert_near(sum_of(w, "optimizer", COLL_ALLREDUCE, 8, 1).bytes, 65 * 4096 * 4 + 4, 0);
    workload_free(w);
}

TEST_CASE(without_sequence_parallel)
{
    struct workload *w = generate(
        (struct workload_job){
            .tp = 8, .nodes = 1, .gpus_per_node = 8, .prompt = 4096, .no_sequence_parallel = 1, .grad_accum = 2},
        "llama3-8b");
    assert_near(sum_of(w, "forward", COLL_ALLREDUCE, 8, 1).count, 2 * (64 + 1 + 3), 0);
    assert_near(sum_of(w, "backward", COLL_ALLREDUCE, 8, 1).count, 2 * (64 + 1), 0);
    assert_near(sum_of(w, "backward", COLL_ALLGATHER, 8, 1).count, 0, 0);
    workload_free(w);
}

TEST_CASE(recomputation_repeats_forward)
{
    struct workload *w = generate(
        (struct workload_job){.tp = 8, .nodes = 1, .gpus_per_node = 8, .prompt = 4096, .recompute = 1}, "llama3-8b");
    assert_near(sum_of(w, "backward", COLL_ALLGATHER, 8, 1).count, 128 + 2 + 64, 0);
    workload_free(w);
}

/* Four stages of eight layers; a middle stage receives and sends in each direction. */
TEST_CASE(pipeline)
{
    struct workload *w = generate(
        (struct workload_job){.tp = 2, .pp = 4, .nodes = 2, .gpus_per_node = 8, .prompt = 4096, .grad_accum = 16},
        "llama3-8b");
    /* dp 2: stages are 4 ranks apart. */
    struct sum s = sum_of(w, "forward", COLL_SENDRECV, 2, 4);
    assert_near(s.count, 2 * 16, 0);
    assert_near(s.bytes, 32 * 33554432.0 / 2, 0);
    assert_near(sum_of(w, "backward", COLL_SENDRECV, 2, 4).count, 32, 0);
    /* 8 layers a stage, two gathers each, and the head's. */
    assert_near(sum_of(w, "forward", COLL_ALLGATHER, 2, 1).count, 16 * (16 + 1), 0);
    workload_free(w);
    w = generate((struct workload_job){.tp = 2, .pp = 2, .nodes = 1, .gpus_per_node = 8, .prompt = 4096}, "llama3-8b");
    assert_near(sum_of(w, "forward", COLL_SENDRECV, 2, 4).count, 2, 0);
    workload_free(w);
}

/* Distributed optimizer of a whole small model: 13 buckets of at most 40 M, float32 in, bfloat16 out. */
TEST_CASE(data_parallel)
{
    struct workload *w = generate((struct workload_job){.nodes = 2, .gpus_per_node = 8, .updates = 3}, "qwen2.5-0.5b");
    struct sum rs = sum_of(w, "optimizer", COLL_REDUCESCATTER, 16, 1),
               ag = sum_of(w, "optimizer", COLL_ALLGATHER, 16, 1);
    assert_near(rs.count, 3 * 13, 0);
    assert_near(rs.bytes, 3 * 4 * 494032768.0, 3 * 13 * 8);
    assert_near(ag.bytes, 3 * 2 * 494032768.0, 3 * 13 * 8);
    assert_int_equal(rs.place, WORKLOAD_CLUSTER);
    workload_free(w);
}

/* 8 of 128 experts a token, ep 4, etp 2: two all-to-all a layer and direction over groups 2 apart. */
TEST_CASE(experts)
{
    struct workload *w =
        generate((struct workload_job){.tp = 2, .ep = 4, .etp = 2, .nodes = 2, .gpus_per_node = 8, .prompt = 4096},
                 "qwen3-30b-a3b");
    const double tokens = 4096.0 / 2 * 8 * 2048 * 2;
    struct sum a2a = sum_of(w, "forward", COLL_ALLTOALLV, 4, 2);
    assert_near(a2a.count, 2 * 48, 0);
    assert_near(a2a.bytes, 96 * tokens, 0);
    assert_int_equal(a2a.place, WORKLOAD_NODE);
    /* Over the pair of ranks: one gather for attention and one for the experts in each layer, and the head's. */
    struct sum ag = sum_of(w, "forward", COLL_ALLGATHER, 2, 1);
    assert_near(ag.count, 48 + 48 + 1, 0);
    assert_near(ag.bytes, 49 * 4096.0 * 2048 * 2 + 48 * 2 * tokens, 0);
    /* Gradients of experts go over 16 / (4 × 2) ranks, 8 apart: everything else over 8 ranks, 2 apart. */
    double expert_elements = 48.0 * 128 * 3 * 2048 * 768 / 8;
    assert_near(sum_of(w, "optimizer", COLL_REDUCESCATTER, 2, 8).bytes, 4 * expert_elements, 4 * 200);
    assert_int_equal(sum_of(w, "optimizer", COLL_REDUCESCATTER, 2, 8).place, WORKLOAD_CLUSTER);
    assert_true(sum_of(w, "optimizer", COLL_REDUCESCATTER, 8, 2).count > 0);
    workload_free(w);
}

/* Every tensor reaches the inference engine once. */
TEST_CASE(weight_sync)
{
    struct workload *w =
        generate((struct workload_job){.algorithm = WORKLOAD_GRPO, .tp = 2, .pp = 2, .nodes = 1, .gpus_per_node = 8},
                 "qwen2.5-7b");
    assert_near(sum_of(w, "weight sync", COLL_BROADCAST, 2, 4).bytes, 2 * 7615616512.0, 0);
    workload_free(w);
}

TEST_CASES(test_megatron)
