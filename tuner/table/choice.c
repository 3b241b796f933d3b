/* Choosing a cell of NCCL's cost table. */
#include "tuner/table/choice.h"

#include "core/coll.h"

struct tuner_choice tuner_choose_cell(int algo, int proto, const struct tuner_call *call)
{
    struct tuner_choice choice = tuner_no_choice;
    int any = algo == TUNER_ANY && proto == TUNER_ANY;
    float best = 0;
    for (int a = 0; a < ALGO_COUNT; a++)
        for (int p = 0; p < PROTO_COUNT; p++) {
            if ((algo != TUNER_ANY && algo != a) || (proto != TUNER_ANY && proto != p) || !tuner_has_cell(call, a, p))
                continue;
            float cost = call->cost[(size_t)a * (size_t)call->protos + (size_t)p];
            if (choice.found && cost >= best)
                continue;
            best = cost;
            choice.found = 1;
            choice.algo = any ? TUNER_ANY : a;
            choice.proto = any ? TUNER_ANY : p;
        }
    return choice;
}
