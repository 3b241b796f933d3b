/* The environment decides alone where it says something; else the build tree comes before the installation. */
#include "bench/program.h"

#include <stdlib.h>

#include "core/proc.h"

const char *bench_program(const char *name, const char *variable, struct arena *a, struct err *e)
{
    const char *named = getenv(variable), *dir = proc_self_dir(a);
    if (named) {
        const char *found = proc_find(named, a);
        if (!found)
            err_set(e, ERR_LACKS, "%s=%s: no such program", variable, named);
        return found;
    }
    const char *beside = arena_printf(a, "%s/%s", dir ? dir : ".", name);
    if (proc_find(beside, a))
        return beside;
    const char *installed = arena_printf(a, NCCLTUNE_LIBEXECDIR "/%s", name);
    if (proc_find(installed, a))
        return installed;
    err_set(e, ERR_LACKS, "%s is neither in %s nor in " NCCLTUNE_LIBEXECDIR, name, dir ? dir : ".");
    return NULL;
}
