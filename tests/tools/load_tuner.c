/* Loads NCCL_TUNER_PLUGIN as NCCL does, opens a communicator of 2 nodes and 16 ranks, asks for a 1 MiB AllReduce, and
 * prints what the plugin logs and the cell that it made cheapest. Exit code 1: no plugin; 2: it refused. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/coll.h"
#include "tuner/plugin/abi.h"

__attribute__((format(printf, 5, 6))) static void print(int level, unsigned long subsystems, const char *file, int line,
                                                        const char *fmt, ...)
{
    va_list args;
    (void)level, (void)subsystems, (void)file, (void)line;
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    putchar('\n');
}

int main(void)
{
    const char *path = getenv("NCCL_TUNER_PLUGIN");
    void *plugin = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL, *context;
    const struct nccl_tuner_v5 *tuner = plugin ? dlsym(plugin, "ncclTunerPlugin_v5") : NULL;
    float cost[ALGO_COUNT][PROTO_COUNT];
    int channels = 0;
    if (!tuner) {
        printf("no plugin: %s\n", path ? dlerror() : "NCCL_TUNER_PLUGIN is not set");
        return 1;
    }
    if (tuner->init(&context, 1, 16, 2, print, NULL, NULL))
        return 2;
    for (int a = 0; a < ALGO_COUNT; a++)
        for (int p = 0; p < PROTO_COUNT; p++)
            cost[a][p] = 100;
    tuner->get_coll_info(context, COLL_ALLREDUCE, 1 << 20, 1, (float **)cost, ALGO_COUNT, PROTO_COUNT, 0, &channels);
    for (int a = 0; a < ALGO_COUNT; a++)
        for (int p = 0; p < PROTO_COUNT; p++)
            if (cost[a][p] == 0)
                printf("chosen: %s %s %d\n", algo_name(a), proto_name(p), channels);
    return tuner->finalize(context);
}
