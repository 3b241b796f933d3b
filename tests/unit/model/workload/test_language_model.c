/* model/workload/language_model.c: named models are exact to the parameter. */
#include "model/workload/parts.h"
#include "tests/lib/unit.h"

/* As published with the weights (the total of the safetensors files, a tied head counted once). */
static const struct {
    const char *name;
    uint64_t parameters;
} published[] = {
    {"qwen2.5-0.5b", 494032768},
    {"qwen2.5-1.5b", 1543714304},
    {"qwen2.5-3b", 3085938688},
    {"qwen2.5-7b", 7615616512},
    {"qwen2.5-14b", 14770033664},
    {"qwen2.5-32b", 32763876352},
    {"qwen2.5-72b", 72706203648},
    {"qwen2-7b", 7615616512},
    {"llama3-8b", 8030261248},
    {"llama3-70b", 70553706496},
    {"llama3.2-1b", 1235814400},
    {"llama3.2-3b", 3212749824},
    {"qwen3-0.6b", 596049920},
    {"qwen3-1.7b", 1720574976},
    {"qwen3-4b", 4022468096},
    {"qwen3-8b", 8190735360},
    {"qwen3-14b", 14768307200},
    {"qwen3-32b", 32762123264},
    {"qwen3-30b-a3b", 30532122624},
    {"qwen3-235b-a22b", 235093634560},
    {"qwen2-vl-2b", 2208985600},
    {"qwen2-vl-7b", 8291375616},
    {"qwen2.5-vl-3b", 3754622976},
    {"qwen2.5-vl-7b", 8292166656},
    {"deepseek-llm-7b", 6910365696},
    {"r1-distill-1.5b", 1777088000},
    {"mistral-7b", 7241732096},
    {"mistral-nemo", 12247782400},
    {"mixtral-8x7b", 46702792704},
    /* Those of several kinds of layers, whose total is given; counted from tensors where no total is published. */
    {"deepseek-v3", 671026419200},
    {"deepseek-v2-lite", 15706484224},
    {"moonlight-16b-a3b", 15960110208},
    {"kimi-k2", 1026408232448},
    {"glm-4.5-air", 106852251264},
    {"glm-4.5", 352797829024},
    {"glm-4-9b", 9400094720},
    {"gpt-oss-20b", 20914757184},
    {"gpt-oss-120b", 116829156672},
    {"qwen3-next-80b-a3b", 79674391296},
    {"qwen3.5-0.8b", 752393024},
    {"qwen3.5-4b", 4205751296},
    {"qwen3.5-9b", 8953803264},
    {"qwen3.5-27b", 26895998464},
    {"qwen3.5-35b-a3b", 34660610688},
};

TEST_CASE(parameters)
{
    int n = 0;
    for (const struct language_model *m = language_models; m->name; m++)
        n++;
    assert_int_equal(n, sizeof published / sizeof *published);
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        const struct language_model *m = language_model_find(published[i].name);
        assert_non_null(m);
        if (language_model_parameters(m) != published[i].parameters)
            fail_msg("%s: %llu", m->name, (unsigned long long)language_model_parameters(m));
    }
    assert_null(language_model_find("qwen2.5-7"));
}

TEST_CASE(active_parameters)
{
    const struct language_model *dense = language_model_find("llama3-8b");
    assert_int_equal(language_model_active(dense), language_model_parameters(dense));
    /* 120 of 128 experts of 3 × 2048 × 768 rest in each of 48 layers. */
    const struct language_model *moe = language_model_find("qwen3-30b-a3b");
    assert_int_equal(language_model_active(moe), 30532122624 - 120ull * 3 * 2048 * 768 * 48);
    /* The first three of 61 layers have no experts: 37.6 of 671 billion. */
    moe = language_model_find("deepseek-v3");
    assert_int_equal(language_model_active(moe), 671026419200 - 248ull * 3 * 7168 * 2048 * 58);
}

TEST_CASE(tensors_add_up)
{
    for (const struct language_model *m = language_models; m->name; m++) {
        struct workload_tensor t[WORKLOAD_TENSORS];
        int n = language_model_tensors(m, t);
        uint64_t sum = 0;
        assert_true(n > 0 && n <= WORKLOAD_TENSORS);
        for (int i = 0; i < n; i++)
            sum += t[i].elements * (uint64_t)t[i].copies * (uint64_t)language_model_repeats(m, t[i].part);
        assert_int_equal(sum, language_model_parameters(m));
    }
}

/* One layer of qwen2.5-7b: q and o 3584 × 3584, k and v 3584 × 512, biases, three of 3584 × 18944, two norms. */
TEST_CASE(one_layer_by_hand)
{
    uint64_t layer = 2ull * 3584 * 3584 + 2ull * 3584 * 512 + 3584 + 2 * 512 + 3ull * 3584 * 18944 + 2 * 3584;
    assert_int_equal(language_model_part(language_model_find("qwen2.5-7b"), WORKLOAD_LAYER), layer);
}

TEST_CASE(only_a_total)
{
    const struct language_model m = {.name = "x",
                                     .layers = 30,
                                     .hidden = 1000,
                                     .heads = 10,
                                     .kv_heads = 10,
                                     .head_dim = 100,
                                     .intermediate = 1,
                                     .vocab = 500,
                                     .parameters = 7000000001};
    assert_int_equal(language_model_parameters(&m), 7000000001);
    assert_int_equal(language_model_part(&m, WORKLOAD_LAYER), (7000000001 - 2 * 500 * 1000 - 1000) / 30);
}

/* Layers are alike, and what does not divide is the root's; no tensor without elements is listed. */
TEST_CASE(totals_that_divide)
{
    struct workload_tensor t[WORKLOAD_TENSORS];
    struct language_model m = {
        .name = "x", .layers = 30, .hidden = 1000, .heads = 10, .kv_heads = 10, .head_dim = 100, .vocab = 500};
    const uint64_t root = 2 * 500 * 1000 + 1000;
    m.parameters = root + 30 * 77;
    assert_int_equal(language_model_tensors(&m, t), 4); /* embedding, head, final norm, layer */
    assert_string_equal(t[3].name, "layer");
    assert_int_equal(t[3].elements, 77);
    m.parameters += 29;
    assert_int_equal(language_model_tensors(&m, t), 5);
    assert_string_equal(t[4].name, "remainder");
    assert_int_equal(t[4].elements, 29);
    assert_int_equal(t[3].elements, 77);
    m.tied = 1;
    assert_int_equal(language_model_tensors(&m, t), 4);
    assert_int_equal(t[2].elements, (500 * 1000 + 30 * 77 + 29) / 30);
    assert_int_equal(language_model_parameters(&m), m.parameters);
    m.parameters = 1000; /* less than the tables */
    assert_int_equal(language_model_tensors(&m, t), 2);
}

TEST_CASES(test_language_model)
