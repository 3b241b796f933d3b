/* Makes the doubles, the worker and the plugin of the running program's build variant the ones that the nccl engine
 * finds. For test programs in build/[VARIANT/]tests/unit and build/[VARIANT/]perf. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/locate.h"

static char doubles_law[64]; /* the file */

/* Environment variables for `gpus` GPUs under the law of that text; -1 when something is missing. */
static inline int doubles_begin(const char *law, const char *gpus)
{
    struct arena *a = arena_new();
    const char *self = locate_self_dir(a), *at = self ? strstr(self, "/tests/unit/") : NULL;
    if (self && !at)
        at = strstr(self, "/perf");
    char *build = at ? arena_strndup(a, self, (size_t)(at - self)) : NULL;
    snprintf(doubles_law, sizeof doubles_law, "/tmp/nccltune-doubles-%d.law", getpid());
    FILE *out = fopen(doubles_law, "w");
    int rc = !build || !out || fputs(law, out) < 0 || fclose(out) ? -1 : 0;
    if (!rc) {
        setenv("NCCLTUNE_WORKER", arena_printf(a, "%s/nccltune-worker", build), 1);
        setenv("NCCLTUNE_PLUGIN_SO", arena_printf(a, "%s/libnccl-tuner-nccltune.so", build), 1);
        setenv("LD_LIBRARY_PATH", arena_printf(a, "%s/tests/doubles/lib", build), 1);
        setenv("NCCL_DOUBLE_LAW", doubles_law, 1);
        setenv("NCCL_SOCKET_IFNAME", "lo", 1);
        setenv("DRIVER_DOUBLE_GPUS", gpus, 1);
        unsetenv("NCCL_DEBUG");
    }
    arena_free(a);
    return rc;
}

/* The path of a double of this build variant. */
static inline const char *doubles_file(const char *name, struct arena *a)
{
    return arena_printf(a, "%s/../%s", getenv("LD_LIBRARY_PATH"), name);
}

static inline void doubles_end(void)
{
    char name[sizeof doubles_law + 16];
    for (int gpu = 0; gpu < 16; gpu++) {
        snprintf(name, sizeof name, "%s.comm%d", doubles_law, gpu);
        unlink(name);
    }
    unlink(doubles_law);
}
