/* The tuner that NCCL would have without this one.
 *
 * Rules of NCCL's, by release: up to 2.20 a tuner only where NCCL_TUNER_PLUGIN names one, and version 1 alone; 2.21
 * version 2 alone; from 2.21 on libnccl-tuner.so, and where that cannot be opened the library of the network plugin
 * that is in use; from 2.22 on the newest version that both know, down to 2. Amazon's network plugin goes first: it
 * sets NCCL_TUNER_PLUGIN to itself where that is not set. */
#include "tuner/plugin/next.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tuner/libc/elf.h"
#include "tuner/plugin/abi.h"

#define OWN_SYMBOL "nccltune_control_version"
#define NAME_MAX_  254 /* NCCL's limit */

enum { NEWEST = 7 };

static const void *tuner_symbol(void *lib, int version)
{
    char symbol[32];
    snprintf(symbol, sizeof symbol, "ncclTunerPlugin_v%d", version);
    return plugin_elf_symbol(lib, symbol);
}

/* The version that NCCL takes; 0: none. `translated`: any, the nearest first, older before newer. */
static int version_of(void *lib, int api, int translated)
{
    int oldest = api >= 2 && !translated ? 2 : 1;
    for (int v = api; v >= (api > 2 || translated ? oldest : api); v--)
        if (tuner_symbol(lib, v))
            return v;
    for (int v = api + 1; translated && v <= NEWEST; v++)
        if (tuner_symbol(lib, v))
            return v;
    return 0;
}

static int is_ours(void *lib)
{
    return plugin_elf_symbol(lib, OWN_SYMBOL) != NULL;
}

/* 1: the library has a tuner, which is now the next. */
static int take(struct plugin_next *n, void *lib, int api, int translated)
{
    int version = lib ? version_of(lib, api, translated) : 0;
    const void *tuner = version ? tuner_symbol(lib, version) : NULL;
    if (!tuner)
        return 0;
    n->tuner = tuner;
    n->version = version;
    n->name = *(const char *const *)tuner; /* the first member in all versions */
    n->name = n->name ? n->name : "without a name";
    plugin_elf_path(tuner, n->path, sizeof n->path);
    return 1;
}

/* A name as NCCL opens it: literally, then as PREFIX-NAME.so unless it is a path or a library's file name. */
static void *open_named(const char *prefix, const char *name, int flags)
{
    char file[NAME_MAX_ + 16];
    size_t n = strlen(name);
    void *lib = plugin_elf_open(name, RTLD_NOW | RTLD_LOCAL | flags);
    if (lib || strchr(name, '/') || (!strncmp(name, "lib", 3) && n > 3 && !strcmp(name + n - 3, ".so")))
        return lib;
    snprintf(file, sizeof file, "%s-%s.so", prefix, name);
    return plugin_elf_open(file, RTLD_NOW | RTLD_LOCAL | flags);
}

/* The network plugin's library, which NCCL has loaded by now if it uses one; NULL: NCCL's own network. */
static void *network_library(void)
{
    const char *value = getenv("NCCL_NET_PLUGIN");
    char list[NAME_MAX_ + 1], *rest = NULL;
    snprintf(list, sizeof list, "%s", value && *value ? value : "libnccl-net.so");
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        void *lib = open_named("libnccl-net", name, RTLD_NOLOAD);
        if (lib)
            return lib;
    }
    return NULL;
}

static void find_by_rules(struct plugin_next *n, int api)
{
    void *network = network_library();
    if (network && is_ours(network))
        network = NULL;
    if (take(n, network, api, 0) && !strcmp(n->name, "nccl_ofi_tuner"))
        return;
    *n = (struct plugin_next){0};
    if (api < 2)
        return;
    void *standard = plugin_elf_open("libnccl-tuner.so", RTLD_NOW | RTLD_LOCAL);
    if (standard && is_ours(standard)) {
        plugin_elf_close(standard);
        standard = NULL;
    }
    take(n, standard ? standard : network, api, 0);
}

static int find_named(struct plugin_next *n, const char *value, int api, char *why, size_t size)
{
    if (value[0] != '/' && strchr(value, '/'))
        return snprintf(why, size, "is not an absolute path; ranks may run in different directories"), -1;
    if (strlen(value) > NAME_MAX_)
        return snprintf(why, size, "is longer than the %d characters that NCCL takes", NAME_MAX_), -1;
    void *lib = open_named("libnccl-tuner", value, 0);
    if (!lib)
        return snprintf(why, size, "%.400s", plugin_elf_error()), -1;
    int ours = is_ours(lib);
    if (!ours && take(n, lib, api, 1))
        return 0;
    plugin_elf_close(lib);
    return snprintf(why, size, ours ? "is nccltune itself" : "has no tuner of an interface from 1 to %d", NEWEST), -1;
}

int plugin_next_load(struct plugin_next *n, const char *named, int api, char *why, size_t size)
{
    *n = (struct plugin_next){0};
    if (!strcasecmp(named, "none"))
        return 0;
    if (strcasecmp(named, "auto") != 0)
        return find_named(n, named, api, why, size);
    find_by_rules(n, api);
    return 0;
}
