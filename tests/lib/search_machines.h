/* Machines for tests/lib/search_world.h that are no formula: published tables of nccl-tests, forced algorithms among
 * them, from the corpus (none without it), and the bundled machines as the model sees them. */
#pragma once

#include <stdint.h>

struct search_machine;

/* How many there are: read when first asked for, and kept. */
int search_machines_count(void);
const struct search_machine *search_machine(int i);
const char *search_machine_name(const struct search_machine *m);

/* Collectives that it has times of, a bit for each. */
unsigned search_machine_collectives(const struct search_machine *m);

/* The truth, and what NCCL predicts, which is how it chooses; microseconds, below 0: not offered. channels 0: NCCL's.
 */
double search_machine_us(const struct search_machine *m, int coll, int algo, int proto, int channels, uint64_t bytes);
double search_machine_predict_us(const struct search_machine *m, int coll, int algo, int proto, uint64_t bytes);
