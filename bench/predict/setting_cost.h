/* What a setting costs: NCCL's default with it against without, where the difference is larger than the doubt. */
#ifndef BENCH_PREDICT_SETTING_COST_H
#define BENCH_PREDICT_SETTING_COST_H

#include "bench/predict/model.h"
#include "bench/results/result.h"

struct setting_cost {
    double factor; /* × the time without it, at the size of these where it matters most; 1: no difference is sure */
    uint64_t from_bytes, to_bytes; /* 0: from the smallest, to the largest */
};

/* Of a setting, for a collective from 1 KiB to 1 GiB, on the machine that `base` describes, whatever else is set there.
 * -1: the model is silent on it, or cannot predict the call; else 0. */
int setting_cost_of(const struct nccl_setup *base, const struct bench_setting *setting, int coll,
                    struct setting_cost *cost);

/* "costs up to 2.0x from 4 MiB up", "is up to 1.3x faster up to 64 KiB", "changes nothing beyond doubt". Returns
 * `text`.
 */
#define SETTING_COST_TEXT 80
char *setting_cost_text(const struct setting_cost *c, char text[SETTING_COST_TEXT]);

#endif
