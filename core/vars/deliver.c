/* What a profile may set: the catalogue's names and little else of it, for programs that run in every job. */
#include <string.h>

#include "core/vars/catalogue.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* Names one behind another, without pointers, which the loader would have to write in every process of a job. */
#define VAR(name, ...) #name "\0"
static const char own_names[] =
#include "core/vars/compute.inc"
#include "core/vars/ib.inc"
#include "core/vars/net.inc"
#include "core/vars/process.inc"
#include "core/vars/samples.inc"
    ;
#undef VAR
#define VAR(name, kind, grammar, ...) ENV_G_##grammar,
static const unsigned char own_grammars[] = {
#include "core/vars/compute.inc"
#include "core/vars/ib.inc"
#include "core/vars/net.inc"
#include "core/vars/process.inc"
#include "core/vars/samples.inc"
};

/* Of other names those of network plugins, what they are built on, and RCCL. */
#define OTHER(name, status, ...) OTHER_##status(#name "\0")
#define OTHER_FABRIC(text)       text
#define OTHER_OF_PLUGIN(text)    text
#define OTHER_RCCL(text)         text
#define OTHER_BUILD(text)
#define OTHER_DECLARED(text)
#define OTHER_DEPRECATED(text)
#define OTHER_FRAMEWORK(text)
#define OTHER_MISSPELT(text)
#define OTHER_NEVER(text)
#define OTHER_OLD_SPELLING(text)
#define OTHER_REMOVED(text)
#define OTHER_ROCM(text)
static const char other_names[] =
#include "core/vars/others.inc"
    ;

#define VALUE_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:;=^/+-"

/* Its number among the names; -1: it is none of them. */
static int find_name(const char *names, const char *name)
{
    for (int i = 0; *names; i++, names += strlen(names) + 1)
        if (!strcmp(names, name))
            return i;
    return -1;
}

/* What network plugins, RCCL and ROCr read. None of these loads code; what names a file has no other value. And
 * OpenMPI's parameters of interfaces and collectives; its others name programs and directories of plugins. */
static int is_of_others(const char *name)
{
    static const char prefix[] = "OMPI_MCA_", collectives[] = "coll_tuned_";
    const char *parameter = name + (strncmp(name, prefix, sizeof prefix - 1) ? 0 : sizeof prefix - 1);
    int is_theirs = !strncmp(name, "FI_", 3) || !strncmp(name, "OFI_NCCL_", 9) ||
                    (!strncmp(name, "RCCL_", 5) && !strstr(name, "_FILE") && !strstr(name, "_PATH"));
    return (is_theirs && find_name(other_names, name) >= 0) || !strcmp(name, "HSA_NO_SCRATCH_RECLAIM") ||
           !strncmp(parameter, collectives, sizeof collectives - 1) || !strcmp(parameter, "btl_tcp_if_include") ||
           !strcmp(parameter, "btl_tcp_if_exclude");
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
    int own = strncmp(name, "NCCL_", 5) != 0 ? -1 : find_name(own_names, name);
    int grammar = own < 0 ? -1 : own_grammars[own];
    if (own < 0 && !is_of_others(name))
        return "is not a variable that a profile may set";
    if (grammar == ENV_G_PLUGIN)
        return "loads code";
    if (grammar == ENV_G_PATH && (strcmp(name, "NCCL_TOPO_FILE") != 0 || !is_of_system(value)))
        return "names a file";
    if (!strcmp(name, "NCCL_COMM_ID"))
        return "decides what a job connects to";
    if (!strcmp(name, "NCCL_RAS_ADDR"))
        return "decides where a job listens";
    if (!*value || value[strspn(value, VALUE_CHARACTERS)] || (own < 0 && strchr(value, '/')))
        return "has a value with unusual characters";
    return NULL;
}
