/* Variables that people set for AMD's RCCL. Sources: RCCL 2.21.5, its usage tips, ROCr's list of variables. */
#include "envgen/decide/steps.h"

#include <string.h>

#include "probe/topology/topology.h"

#define GENERATIONS 2

/* `arch`: beginnings of the GPUs' names that a line is for; all NULL: any. The first line of a name that fits counts.
 */
static const struct {
    const char *name, *arch[GENERATIONS], *why;
} known[] = {
    {"HSA_NO_SCRATCH_RECLAIM",
     {"gfx90a"},
     "AMD advises 1 with ROCm 7.13 and later, where calls below 16 MB are slow without it on these GPUs; it keeps "
     "scratch memory allocated: measure with it and without"},
    {"HSA_NO_SCRATCH_RECLAIM",
     {"gfx94", "gfx95"},
     "advice for these GPUs differs between releases of ROCm; it keeps scratch memory allocated: measure with 1 and "
     "without"},
    {"HSA_NO_SCRATCH_RECLAIM", {NULL}, "AMD advises it for other GPUs than these"},
    {"RCCL_MSCCL_ENABLE",
     {NULL},
     "1 is the default of the RCCL releases that have MSCCL, and later ones no longer have it: only a measurement "
     "speaks for 0"},
    {"NCCL_MIN_NCHANNELS",
     {"gfx94", "gfx95"},
     "112 is often pasted for MI300; RCCL chooses by itself, and only a measurement speaks for more"},
    {"NCCL_PXN_DISABLE", {NULL}, "RCCL leaves PXN off by itself (its default is 1, unlike NCCL's)"},
};

static int fits(const char *const beginnings[GENERATIONS], const char *arch)
{
    for (int i = 0; i < GENERATIONS && beginnings[i]; i++)
        if (!strncmp(arch, beginnings[i], strlen(beginnings[i])))
            return 1;
    return !beginnings[0];
}

void env_amd_advice(struct env_decisions *d, const struct topology *t)
{
    const char *arch = topo_amd_arch(t);
    for (size_t i = 0; i < sizeof known / sizeof *known && arch; i++)
        if (!env_find_setting(d, known[i].name) && fits(known[i].arch, arch))
            env_add_setting(
                d, (struct env_setting){
                       .family = "nccl", .name = known[i].name, .source = "known about RCCL", .why = known[i].why});
}
