/* The environment decides alone where it says something; else the build tree comes first, then the installation that
 * this program is part of, wherever that was moved to. */
#include "core/locate.h"

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
    const char *const places[] = {
        arena_printf(a, "%s/%s", dir ? dir : ".", name),
        arena_printf(a, "%s/../libexec/nccltune/%s", dir ? dir : ".", name),
        arena_printf(a, NCCLTUNE_LIBEXECDIR "/%s", name),
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (proc_find(places[i], a))
            return places[i];
    err_set(e, ERR_LACKS, "%s is neither in %s nor in " NCCLTUNE_LIBEXECDIR, name, dir ? dir : ".");
    return NULL;
}
