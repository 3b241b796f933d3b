/* The reader of tuner tables, and the index over whatever it accepts: no input may crash it, and the index has to agree
 * with the plain walk over the rules. */
#include <stdint.h>
#include <stdlib.h>

#include "core/coll.h"
#include "tuner/table/index.h"

/* Big enough to reach every bound, small enough that a run stays fast. */
#define RULES_ASKED 200

static void same(const struct tuner_table *t, const struct tuner_index *ix, const struct tuner_shape *s, int coll,
                 uint64_t bytes)
{
    static float cost[ALGO_COUNT * PROTO_COUNT]; /* everything available at cost 0 */
    struct tuner_call call = {coll, bytes, 1, 0, cost, ALGO_COUNT, PROTO_COUNT};
    struct tuner_choice choice = tuner_index_choose(ix, &call);
    const struct tuner_rule *r = tuner_table_match(t, NULL, s, coll, bytes, 1, 0);
    if (choice.found != (r != NULL) ||
        (r && (choice.channels != r->channels || (r->algo >= 0 && choice.algo != r->algo) ||
               (r->proto >= 0 && choice.proto != r->proto))))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tuner_shape shapes[] = {{1, 8, TUNER_UNKNOWN}, {4, 32, 2}};
    struct tuner_table t;
    if (!tuner_table_parse(&t, (const char *)data, size, NULL, NULL))
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            struct tuner_index *ix = tuner_index_new(&t, &shapes[i]);
            for (size_t j = 0; ix && j < t.count && j < RULES_ASKED; j++) {
                const struct tuner_rule *r = &t.rules[j];
                same(&t, ix, &shapes[i], r->coll, r->min_bytes);
                same(&t, ix, &shapes[i], r->coll, r->max_bytes);
                same(&t, ix, &shapes[i], r->coll, r->max_bytes + 1);
                tuner_index_chunk(ix, r->coll, r->max_bytes, r->algo, r->proto);
            }
            tuner_index_free(ix);
        }
    tuner_table_free(&t);
    return 0;
}
