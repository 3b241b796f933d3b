/* Signs of a node's condition and its GPUs', as a list and as lines of text. libc only: nccltune-worker reads them too.
 */
#pragma once

#include <stdio.h>

#include "core/arena.h"
#include "probe/source/condition.h"

/* Of the node, where the kernel tells them; those of GPUs are in probe/source/condition.h:
 *
 *   load            average of the last minute, for each processor
 *   cpu-pressure    percent of the last ten seconds in which something waited for a processor (PSI)
 *   cpu-stolen      seconds a processor that the hypervisor kept; it grows
 *   cpu-throttled   times that the processors were slowed down for heat; it grows
 *   cpu-limited     percent of its clock that a processor may not use
 *   port-errors     of an RDMA port, one counter each: "mlx5_0:1, symbol_error"; they grow */
struct sign {
    const char *kind, *subject; /* subject NULL: the node */
    double value;
};

struct signs {
    struct arena *arena;
    struct sign *list;
    int n;
    double at_s; /* when, on the node's own monotonic clock */
};

/* Read those of now into an empty list; `gpus` NULL: of the node alone. */
void signs_read(struct signs *s, struct gpu_watch *gpus);

/* Print lines "KIND VALUE SUBJECT" after one "at SECONDS". */
void signs_print(const struct signs *s, FILE *out);

/* Read up to two lists from what was printed one after the other; how many there were. Other lines are skipped. */
int signs_parse(const char *text, struct arena *a, struct signs lists[2]);
