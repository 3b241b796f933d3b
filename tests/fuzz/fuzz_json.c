/* The JSON reader: whatever comes in, it is a document or an error with a position. */
#include <string.h>

#include "core/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    cJSON *doc = json_parse((const char *)data, size, "input", 1, &e);
    if (!doc && !e.code)
        __builtin_trap();
    if (doc && json_check_format(doc, "nccltune-topology/1", "input", &e) == 0 && !json_str(doc, "format", NULL))
        __builtin_trap();
    cJSON_Delete(doc);
    return 0;
}
