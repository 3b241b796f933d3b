/* Predictions for whatever topology comes in: an error, or times that are above 0, finite and within their band. */
#include <math.h>

#include "core/json.h"
#include "model/model.h"
#include "tests/fuzz/fuzz_import.h"

static void check(const struct model *m, int coll, uint64_t bytes, int algo, int proto)
{
    struct model_call c = {coll, bytes, algo, proto, 0};
    struct model_time t;
    if (model_predict(m, &c, &t))
        return;
    if (!isfinite(t.us) || !(t.us > 0) || t.low_us > t.us || !(t.high_us >= t.us) || !t.limit[0])
        __builtin_trap();
}

static void predict(const struct topology *t, int class_index, int nodes)
{
    struct err e = {0};
    struct arena *a = arena_new();
    struct model_setup s = {.nccl = {.topology = t, .class_index = class_index, .nodes = nodes}};
    const struct model *m = model_new(&s, a, &e);
    if (!m && !e.code)
        __builtin_trap();
    for (int coll = 0; m && coll < COLL_MEASURED; coll++)
        for (uint64_t bytes = 1; bytes <= 1ull << 40; bytes <<= 20) {
            check(m, coll, bytes, -1, -1);
            for (int algo = 0; algo < ALGO_COUNT; algo++)
                check(m, coll, bytes, algo, PROTO_SIMPLE);
        }
    arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    struct topology *t = topo_new();
    cJSON *doc = json_parse((const char *)data, size, "input", 1, &e);
    if (doc && !topo_add_json(t, doc, "input", &e))
        for (int i = 0; i < t->nclasses && i < 2; i++) {
            predict(t, i, 1);
            predict(t, i, 3);
        }
    cJSON_Delete(doc);
    topo_free(t);
    return 0;
}
