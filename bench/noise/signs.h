/* Signs of a node's condition and its GPUs', as a list and as lines of text. libc only: nccltune-worker reads them too.
 */
#ifndef BENCH_NOISE_SIGNS_H
#define BENCH_NOISE_SIGNS_H

#include <stdio.h>

#include "core/arena.h"
#include "probe/source/gpu_signs.h"

struct sign {
    const char *kind, *subject; /* bench/noise/host_signs.h, probe/source/gpu_signs.h; subject NULL: the node */
    double value;
};

struct signs {
    struct arena *arena;
    struct sign *list;
    int n;
    double at_s; /* when, on the node's own monotonic clock */
};

/* Reads those of now into an empty list; `gpus` NULL: of the node alone. */
void signs_read(struct signs *s, struct gpu_watch *gpus);

/* Lines "KIND VALUE SUBJECT" after one "at SECONDS". */
void signs_print(const struct signs *s, FILE *out);

/* Takes back up to two lists from what was printed one after the other; how many there were. Whatever is no such line
 * is left out. */
int signs_parse(const char *text, struct arena *a, struct signs lists[2]);

#endif
