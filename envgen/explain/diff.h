/* What two profiles, or two releases of NCCL, make different. */
#ifndef ENVGEN_EXPLAIN_DIFF_H
#define ENVGEN_EXPLAIN_DIFF_H

#include <stdio.h>

#include "envgen/profile/profile.h"

struct env_change {
    const char *kind;           /* "releases", "setting", "launch", "call", "default" */
    const char *what;           /* "NCCL_IB_HCA", "allreduce of 64 KiB to 1 MiB, nccl on 2 nodes, 16 ranks" */
    const char *before, *after; /* "not set", "not measured" where there is nothing */
};

struct env_diff {
    struct arena *arena;
    const char *before, *after; /* what was compared */
    struct env_change *changes;
    int count;
};

/* Allocated in `a`; texts point into the profiles, which must live as long. A call is compared size by size, where both
 * profiles measured its shape of job. */
struct env_diff env_diff_profiles(const struct env_profile *x, const struct env_profile *y, struct arena *a);

/* Variables that only one of two releases reads, and defaults that changed between them. */
struct env_diff env_diff_releases(int before, int after, struct arena *a);

void env_diff_print(const struct env_diff *d, FILE *out);

/* {"format": "nccltune-diff/1", "before": ..., "after": ..., "changes": [{"kind", "what", "before", "after"}]};
 * cJSON_Delete frees. */
cJSON *env_diff_json(const struct env_diff *d);

#endif
