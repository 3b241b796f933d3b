/* Disturbances of a measurement: the condition of this node and its GPUs before and after it, and how well the default
 * repeats itself. What is worth knowing becomes findings, which go to the journal with the measurements. */
#pragma once

#include "bench/results/points.h"
#include "core/finding.h"

struct noise_watch;

/* Read the signs of before. In `a`, but for the GPUs' library: noise_end is to be called. */
struct noise_watch *noise_begin(struct arena *a);

/* Read those of after, and add what is worth knowing to `found`, unless that is NULL. */
void noise_end(struct noise_watch *w, struct findings *found);

/* The same for another node, where `said` is what its "nccltune-worker signs" has printed: the subject begins with the
 * node's name. Of less than two lists nothing is added. */
void noise_of_node(const char *host, const char *said, struct findings *found);

/* Print the short block for people, of what the journal holds. Nothing where nothing is known. */
void noise_print(const struct findings *noise, FILE *out);

/* Add one finding about all points: how far the default differs from itself from one start to the next, in the median
 * and at worst. A smaller difference is no gain. Nothing where no point was measured in several starts. */
void noise_of_repeats(const struct bench_points *points, struct findings *found);

/* Add what the starts that prove calls show about this machine: a disturbance that outlasts a start, and calls that
 * keep one of several speeds for a whole start. Nothing where they show neither. */
void noise_of_starts(const struct bench_points *points, struct findings *found);

/* Say how much this machine differs from itself in gains of calls, what so many starts can decide then, and how many a
 * gain takes that is worth them. */
const char *noise_sentence(const struct bench_noise *x, int starts, double margin, struct arena *a);
