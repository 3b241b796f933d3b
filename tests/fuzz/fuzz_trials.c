/* What trials reads: a schedule, Slurm's accounting, a site's figures. No input may crash it, and what is made of any
 * of them are numbers. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "advise/trials/trials.h"
#include "core/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct arena *a = arena_new();
    struct err e = {0};
    struct trials t;
    struct trials_jobs jobs;
    size_t unknown;
    char *text = arena_alloc(a, bytes + 1);
    memcpy(text, data, bytes);
    trials_read_sacct(text, a, &jobs);
    trials_read_figures(text, "figures", 0, &jobs, &unknown, &e);
    if (!trials_list(text, "schedule", a, &t, &e)) {
        trials_judge(text, &jobs, a, &t);
        for (size_t i = 0; i < t.count; i++)
            if (isnan(t.list[i].comparison.ratio) || t.list[i].comparison.low > t.list[i].comparison.high)
                abort();
        cJSON_Delete(trials_json(&t));
    }
    arena_free(a);
    return 0;
}
