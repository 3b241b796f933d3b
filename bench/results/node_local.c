/* Settings that differ from class of nodes to class. */
#include "bench/results/node_local.h"

#include <string.h>

const char *bench_node_class(const char *name)
{
    const char *at = strchr(name, '@');
    return at ? at + 1 : NULL;
}

const char *bench_plain_name(const char *name, struct arena *a)
{
    return strchr(name, '@') ? arena_strndup(a, name, strcspn(name, "@")) : name;
}

const char *bench_local_name(const char *name, const char *node_class, struct arena *a)
{
    return arena_printf(a, "%s@%s", name, node_class);
}

int bench_is_for(const char *name, const char *node_class)
{
    const char *only = bench_node_class(name);
    return !only || (node_class && !strcmp(only, node_class));
}
