/* The prepared form of a table: no input may lead a look-up out of it. What is no prepared table is read as the text of
 * one, prepared, and has to answer as its own index does. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll.h"
#include "tuner/table/index.h"

static const struct tuner_shape shapes[] = {{1, 8, TUNER_UNKNOWN}, {4, 32, 2}, {2, 16, 1}};
#define SHAPES (sizeof shapes / sizeof *shapes)

static const float cost[ALGO_COUNT * PROTO_COUNT]; /* everything available at cost 0 */

static struct tuner_choice ask(const struct tuner_index *ix, int coll, uint64_t bytes)
{
    struct tuner_call call = {coll, bytes, 1, 0, cost, ALGO_COUNT, PROTO_COUNT};
    return tuner_index_choose(ix, &call);
}

/* Every size that begins or ends an octave, and its middle. */
static void walk(const struct tuner_index *ix, const struct tuner_index *same)
{
    for (int coll = 0; coll < COLL_COUNT; coll++)
        for (int bit = 0; bit < 64; bit++)
            for (int k = 0; k < 3; k++) {
                uint64_t bytes = (UINT64_C(1) << bit) - (k == 0) + (k == 2 ? (UINT64_C(1) << bit) / 2 : 0);
                struct tuner_choice x = ask(ix, coll, bytes), y = ask(same, coll, bytes);
                if (x.found != y.found || x.algo != y.algo || x.proto != y.proto || x.channels != y.channels ||
                    x.algo >= ALGO_COUNT || x.proto >= PROTO_COUNT ||
                    tuner_index_chunk(ix, coll, bytes, 1, 2) != tuner_index_chunk(same, coll, bytes, 1, 2))
                    abort();
            }
}

static void open_as_it_is(const uint8_t *data, size_t size)
{
    struct tuner_binary b;
    struct tuner_table t;
    void *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    if (!tuner_binary_open(&b, copy, size, &t)) {
        for (size_t i = 0; i < SHAPES; i++) {
            struct tuner_index *ix = tuner_binary_index(&b, &shapes[i]);
            walk(ix, ix);
            tuner_index_free(ix);
        }
        tuner_binary_close(&b);
    }
    free(copy);
}

static void prepare(const struct tuner_table *t)
{
    static const char hash[65];
    struct tuner_binary b;
    struct tuner_table back;
    size_t bytes = 0;
    void *data = tuner_binary_make(t, hash, &bytes);
    if (data && tuner_binary_open(&b, data, bytes, &back))
        abort();
    for (size_t i = 0; data && i < SHAPES; i++) {
        struct tuner_index *ix = tuner_binary_index(&b, &shapes[i]), *plain = tuner_index_new(t, &shapes[i]);
        walk(ix, plain);
        tuner_index_free(ix);
        tuner_index_free(plain);
    }
    if (data)
        tuner_binary_close(&b);
    free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tuner_table t;
    open_as_it_is(data, size);
    if (!tuner_table_parse(&t, (const char *)data, size, NULL, NULL))
        prepare(&t);
    tuner_table_free(&t);
    return 0;
}
