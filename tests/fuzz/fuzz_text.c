/* What tools print, alone or among prose: whatever comes in, it is a topology that can be printed, or an error. */
#include "probe/import/readers.h"
#include "tests/fuzz/fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    struct topology *t = topo_new();
    struct err e = {0};
    char *text = arena_alloc(a, size + 1);
    if (size)
        memcpy(text, data, size);
    int rc = import_text(t, text, "host", "input", &e);
    if (!rc)
        fuzz_use(t);
    else if (rc > 0 && !e.code)
        __builtin_trap();
    topo_free(t);
    arena_free(a);
    return 0;
}
