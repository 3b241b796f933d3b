/* The log readers, all formats at once: whatever comes in, it is a diagnosis with sane shares, or an error. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "advise/diagnose/diagnose.h"
#include "core/json.h"

static void check(const struct diag_result *r)
{
    for (int i = 0; i < r->nsources; i++) {
        const struct diag_source *s = &r->sources[i];
        if (!(s->communication_share >= 0 && s->communication_share <= 1) || !(s->step_ms > 0) || isnan(s->ratio) ||
            s->left_out > s->steps)
            __builtin_trap();
        if (!(s->communication_low >= 0 && s->communication_low <= s->communication_high && s->communication_high <= 1))
            __builtin_trap();
        for (int k = 0; k < s->nphases; k++)
            if (!(s->phases[k].share >= 0 && s->phases[k].share <= 1))
                __builtin_trap();
    }
    for (int i = 0; i < r->ngpus; i++)
        if (!(r->gpus[i].mean >= 0 && r->gpus[i].mean <= 100))
            __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    FILE *in = fmemopen((void *)(uintptr_t)data, size, "rb");
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    struct diagnosis *d = diagnose_new();
    struct err e = {0};
    if (diagnose_stream(d, in, "input", &e) && !e.code)
        __builtin_trap();
    const struct diag_result *r = diagnose_finish(d);
    check(r);
    diagnose_text(r, out);
    cJSON_Delete(diagnose_json(r));
    diagnose_free(d);
    fclose(out);
    fclose(in);
    free(text);
    return 0;
}
