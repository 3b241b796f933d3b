/* What a profile may set: the catalogue's names and little else of it, for programs that run in every job. */
#include <stdlib.h>
#include <string.h>

#include "core/vars/catalogue.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* What is known of a name: the grammar of NCCL's own, the status of others. */
struct known {
    const char *name;
    int what;
};

#define VAR(name, kind, grammar, ...) {#name, ENV_G_##grammar},
static const struct known ib[] = {
#include "core/vars/ib.inc"
};
static const struct known net[] = {
#include "core/vars/net.inc"
};
static const struct known compute[] = {
#include "core/vars/compute.inc"
};
static const struct known process[] = {
#include "core/vars/process.inc"
};
static const struct known samples[] = {
#include "core/vars/samples.inc"
};

#define OTHER(name, status, ...) {#name, ENV_##status},
static const struct known others[] = {
#include "core/vars/others.inc"
};

static const struct {
    const struct known *names;
    size_t count;
} themes[] = {
    {ib, LENGTH(ib)},           {net, LENGTH(net)},         {compute, LENGTH(compute)},
    {process, LENGTH(process)}, {samples, LENGTH(samples)},
};

#define VALUE_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:;=^/+-"

static int by_name(const void *key, const void *element)
{
    return strcmp(key, ((const struct known *)element)->name);
}

static const struct known *find_own(const char *name)
{
    const struct known *found = NULL;
    for (size_t i = 0; i < LENGTH(themes) && !found && !strncmp(name, "NCCL_", 5); i++)
        found = bsearch(name, themes[i].names, themes[i].count, sizeof *found, by_name);
    return found;
}

/* OpenMPI's parameters: interfaces and collectives. Others name programs and directories of plugins. */
static int is_of_openmpi(const char *name)
{
    static const char prefix[] = "OMPI_MCA_", collectives[] = "coll_tuned_";
    const char *parameter = name + (strncmp(name, prefix, sizeof prefix - 1) ? 0 : sizeof prefix - 1);
    return !strncmp(parameter, collectives, sizeof collectives - 1) || !strcmp(parameter, "btl_tcp_if_include") ||
           !strcmp(parameter, "btl_tcp_if_exclude");
}

/* What network plugins, RCCL and ROCr read. None of these loads code; what names a file has no other value. */
static int is_of_others(const char *name)
{
    const struct known *o = bsearch(name, others, LENGTH(others), sizeof *o, by_name);
    return (o && ((o->what == ENV_FABRIC && !strncmp(name, "FI_", 3)) ||
                  (o->what == ENV_OF_PLUGIN && !strncmp(name, "OFI_NCCL_", 9)) ||
                  (o->what == ENV_RCCL && !strncmp(name, "RCCL_", 5) && !strstr(name, "_FILE")))) ||
           !strcmp(name, "HSA_NO_SCRATCH_RECLAIM") || is_of_openmpi(name);
}

/* A file that images and drivers bring, in a directory of root's. */
static int is_of_system(const char *path)
{
    static const char *const places[] = {"/etc/", "/opt/", "/usr/", "/var/run/nvidia-topologyd/"};
    for (size_t i = 0; i < LENGTH(places); i++)
        if (!strncmp(path, places[i], strlen(places[i])))
            return !strstr(path, "..");
    return 0;
}

const char *env_undeliverable(const char *name, const char *value)
{
    const struct known *v = find_own(name);
    if (!v && !is_of_others(name))
        return "is no variable that a profile may set";
    if (v && v->what == ENV_G_PLUGIN)
        return "loads code";
    if (v && v->what == ENV_G_PATH && (strcmp(name, "NCCL_TOPO_FILE") != 0 || !is_of_system(value)))
        return "names a file";
    if (!strcmp(name, "NCCL_COMM_ID"))
        return "says whom a job connects to";
    if (!strcmp(name, "NCCL_RAS_ADDR"))
        return "says where a job listens";
    if (!*value || value[strspn(value, VALUE_CHARACTERS)] || (!v && strchr(value, '/')))
        return "has a value with characters that no setting needs";
    return NULL;
}
