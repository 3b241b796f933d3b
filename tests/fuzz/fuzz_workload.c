/* The workload reader: whatever comes in, it is a workload that merges with itself, or an error that names the place.
 */
#include <string.h>

#include "bench/workload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    struct workload *w = workload_parse((const char *)data, size, "input", &e);
    if (!w)
        return e.code && !strncmp(e.text, "input", 5) ? 0 : (__builtin_trap(), 0);
    struct workload *merged = workload_merge((struct workload *[]){w, w}, 2, &e);
    if (!merged || merged->ranks != w->ranks)
        __builtin_trap();
    for (int i = 0; i < w->nphases; i++)
        for (int k = 0; k < w->phases[i].ncalls; k++) {
            const struct workload_call *c = &w->phases[i].calls[k];
            int nodes = workload_call_nodes(w, c);
            if (nodes < 1 || c->group_size < 2 || c->group_size > w->ranks || !c->bytes || !(c->count > 0))
                __builtin_trap();
        }
    workload_free(merged);
    workload_free(w);
    return 0;
}
