/* topology.json: whatever comes in, it is a topology with sound indices, or an error. */
#include "core/json.h"
#include "tests/fuzz/fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    struct topology *t = topo_new();
    cJSON *doc = json_parse((const char *)data, size, "input", 1, &e);
    if (doc && !topo_add_json(t, doc, "input", &e))
        fuzz_use(t);
    else if (!e.code)
        __builtin_trap();
    cJSON_Delete(doc);
    topo_free(t);
    return 0;
}
