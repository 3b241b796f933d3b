/* What disturbs a measurement: the condition of this node and its GPUs before and after it, and how well the default
 * repeats itself. What is worth knowing becomes findings, which go to the journal with the measurements. */
#ifndef BENCH_NOISE_NOISE_H
#define BENCH_NOISE_NOISE_H

#include "core/finding.h"

struct noise_watch;

/* Reads the signs of before. In `a`, but for the GPUs' library: noise_end is to be called. */
struct noise_watch *noise_begin(struct arena *a);

/* Reads those of after, and adds what is worth knowing to `found`. `found` NULL: nobody asks. */
void noise_end(struct noise_watch *w, struct findings *found);

/* The same for another node, where `said` is what its "nccltune-worker signs" has printed: the subject begins with the
 * node's name. Of less than two lists nothing is added. */
void noise_of_node(const char *host, const char *said, struct findings *found);

/* The short block for people, of what the journal holds. Nothing where nothing is known. */
void noise_print(const struct findings *noise, FILE *out);

#endif
