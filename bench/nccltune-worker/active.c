/* Plugins are told by what they export for NCCL; their names are the first member of that. A network plugin that finds
 * none of its devices is unloaded by NCCL, so that what is there is in use. */
#include "bench/nccltune-worker/active.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tuner/plugin/control.h"

#define OBJECTS 512
#define NAME    60

struct objects {
    char *names[OBJECTS];
    int count;
};

static int note(struct dl_phdr_info *o, size_t size, void *arg)
{
    (void)size;
    struct objects *all = arg;
    if (o->dlpi_name && *o->dlpi_name == '/' && all->count < OBJECTS)
        all->names[all->count++] = strdup(o->dlpi_name);
    return 0;
}

/* What `path` itself exports under PREFIX and a version, and not a library that it needs. */
static const char *name_in(const char *path, void *lib, const char *prefix, int newest)
{
    for (int v = newest; v > 0; v--) {
        char symbol[64];
        Dl_info info;
        snprintf(symbol, sizeof symbol, "%s%d", prefix, v);
        const char *const *plugin = dlsym(lib, symbol);
        if (plugin && dladdr(plugin, &info) && !strcmp(info.dli_fname, path) && *plugin)
            return *plugin;
    }
    return NULL;
}

static void look(const char *path, char tuner[NAME], char network[NAME])
{
    void *lib = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!lib)
        return;
    const char *name = name_in(path, lib, "ncclTunerPlugin_v", 9);
    if (name && !dlsym(lib, "nccltune_control_version"))
        snprintf(tuner, NAME, "%s", name);
    name = name_in(path, lib, "ncclNetPlugin_v", 15);
    if (name)
        snprintf(network, NAME, "%s", name);
    dlclose(lib);
}

/* Our plugin knows which tuner it asks; a library that is loaded for its network may have one that is not in use. */
static void ask_ours(char tuner[NAME])
{
    const char *path = getenv("NCCL_TUNER_PLUGIN");
    void *lib = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void (*next)(struct nccltune_next *) = NULL;
    struct nccltune_next n;
    if (path && !strcasecmp(path, "none"))
        *tuner = 0;
    if (!lib)
        return;
    *(void **)&next = dlsym(lib, "nccltune_control_next");
    if (next) {
        next(&n);
        snprintf(tuner, NAME, "%.59s", n.name);
    }
    dlclose(lib);
}

void active_plugins(char *text, size_t size)
{
    struct objects all = {.count = 0};
    char tuner[NAME] = "", network[NAME] = "";
    dl_iterate_phdr(note, &all);
    for (int i = 0; i < all.count; i++) {
        if (all.names[i])
            look(all.names[i], tuner, network);
        free(all.names[i]);
    }
    ask_ours(tuner);
    snprintf(text, size, "%s%s%s%s%s", *tuner ? "tuner " : "", tuner, *tuner && *network ? ", " : "",
             *network ? "network " : "", network);
    for (char *c = text; *c; c++) /* a name is somebody else's text */
        *c = (char)(*c < ' ' || *c > '~' ? '?' : *c);
}
