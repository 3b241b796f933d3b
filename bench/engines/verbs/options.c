/* The verbs engine's options. */
#include "bench/engines/verbs/options.h"

#define SWEEP      ((uint64_t)8 << 20)
#define SWEEP_MOST ((uint64_t)1 << 30)

static const char *schedule_word(int i)
{
    static const char *const known[] = {"rails", "reach", "matrix", NULL};
    return known[i];
}

static int take_sweep(const struct option_value *v, void *out, struct err *e)
{
    *(uint64_t *)out = SWEEP;
    return v->text ? option_bytes(v, out, e) : 0;
}

const struct option_spec verbs_options[] = {
    {0, "ports", "LIST", "mlx5_0:1,mlx5_1:1; default: the active ones of the topology", option_text,
     offsetof(struct verbs_options, ports)},
    {0, "schedule", "S",
     "rails (the default on several nodes): ports of the same rail, and some that cross rails; reach: every two ports "
     "of different nodes; matrix (the default on one node): every ordered pair",
     option_word, offsetof(struct verbs_options, schedule), .word = schedule_word},
    {0, "sweep", "[=BYTES]", "also all sizes from 2 bytes to BYTES (8M) on 1, 2 and 4 queue pairs, on a few pairs",
     take_sweep, offsetof(struct verbs_options, sweep_bytes), .low = 2, .high = SWEEP_MOST},
    {0, "svg", "FILE", "draw the map of bandwidths", option_text, offsetof(struct verbs_options, svg)},
    {0, "check", "PROFILE", "measure briefly and say what has become worse than in PROFILE; exit status 1 then",
     option_text, offsetof(struct verbs_options, check)},
    {0},
};
