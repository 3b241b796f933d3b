/* The catalogue's tables and how they are searched. The data is in *.inc beside it, one file a theme, each sorted. */
#include "core/vars/catalogue.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/edit_distance.h"
#include "core/hash.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* Name, kind, grammar, scope, whether ranks must agree, first and last release, flags, range, defaults, what an
 * automatic default comes to, ncclConfig_t's field, meaning; and what it interacts with, where it does. */
#define VAR(name, kind, grammar, scope, agree, since, last, flags, low, high, defaults, effective, field, meaning, \
            ...)                                                                                                   \
    {#name, ENV_##kind, ENV_G_##grammar, ENV_##scope, ENV_AGREE_##agree, since,      last, flags, low,             \
     high,  defaults,   effective,       field,       meaning,           __VA_ARGS__},

static const struct env_var ib[] = {
#include "core/vars/ib.inc"
};
static const struct env_var net[] = {
#include "core/vars/net.inc"
};
static const struct env_var compute[] = {
#include "core/vars/compute.inc"
};
static const struct env_var process[] = {
#include "core/vars/process.inc"
};
static const struct env_var samples[] = {
#include "core/vars/samples.inc"
};

static const struct theme {
    const struct env_var *vars;
    size_t count;
} themes[] = {
    {ib, LENGTH(ib)},           {net, LENGTH(net)},         {compute, LENGTH(compute)},
    {process, LENGTH(process)}, {samples, LENGTH(samples)},
};

/* Name, status, owner, what to use instead, note. */
#define OTHER(name, status, owner, use, note) {#name, ENV_##status, owner, use, note},

static const struct env_other others[] = {
#include "core/vars/others.inc"
};

/* Name, lowest and highest number, words, meaning. */
#define LIMIT(name, low, high, words, meaning) {#name, low, high, words, meaning},

static const struct env_limit limits[] = {
#include "core/vars/limits.inc"
};

/* Owners by the beginning of a name; a longer prefix stands before a shorter one that it contains. */
static const struct env_prefix prefixes[] = {
    {"TORCH_NCCL_", ENV_FRAMEWORK, "PyTorch"},
    {"RCCL_", ENV_RCCL, "AMD's RCCL"},
    {"OFI_NCCL_", ENV_OF_PLUGIN, "aws-ofi-nccl"},
    {"NCCL_SHARP_", ENV_OF_PLUGIN, "NVIDIA's HPC-X plugin"},
    {"NCCL_UCX_", ENV_OF_PLUGIN, "NVIDIA's HPC-X plugin"},
    {"NCCL_INSPECTOR_", ENV_OF_PLUGIN, "NVIDIA's inspector plugin"},
    {"NCCL_PROFILE_", ENV_OF_PLUGIN, "NVIDIA's example profiler"},
    {"NCCL_FASTRAK_", ENV_OF_PLUGIN, "Google's network plugin"},
    {"NCCL_GPUDIRECTTCPX_", ENV_OF_PLUGIN, "Google's network plugin"},
    {"NCCL_SHIMNET_", ENV_OF_PLUGIN, "Google's network plugin"},
    {"NCCL_TEST_", ENV_BUILD, "builds and scripts"},
    {"NCCL_TESTS_", ENV_BUILD, "builds and scripts"},
    {"MSCCLPP_", ENV_FABRIC, "MSCCL++"},
    {"MSCCL_", ENV_FABRIC, "MSCCL"},
    {"HSA_", ENV_ROCM, "AMD's ROCr runtime"},
    {"ROCR_", ENV_ROCM, "AMD's ROCr runtime"},
    {"HIP_", ENV_ROCM, "AMD's HIP runtime"},
    {"FI_", ENV_FABRIC, "libfabric"},
    {"UCX_", ENV_FABRIC, "UCX"},
    {"UCC_", ENV_FABRIC, "UCC"},
    {"SHARP_", ENV_FABRIC, "the SHARP library"},
    {"NVSHMEM_", ENV_FABRIC, "NVSHMEM"},
    {"OMPI_", ENV_FABRIC, "Open MPI"},
    {"RDMAV_", ENV_FABRIC, "rdma-core"},
    {"MLX5_", ENV_FABRIC, "rdma-core's mlx5 driver"},
    {"DOCA_GPUNETIO_", ENV_OF_PLUGIN, "the DOCA library inside NCCL"},
};

static int by_name(const void *key, const void *element)
{
    return strcmp(key, *(const char *const *)element); /* both structures begin with the name */
}

const struct env_var *env_var_find(const char *name)
{
    const struct env_var *found = NULL;
    for (size_t i = 0; i < LENGTH(themes) && !found; i++)
        found = bsearch(name, themes[i].vars, themes[i].count, sizeof(struct env_var), by_name);
    return found;
}

const struct env_other *env_other_find(const char *name)
{
    return bsearch(name, others, LENGTH(others), sizeof(others[0]), by_name);
}

const struct env_prefix *env_prefix_find(const char *name)
{
    for (size_t i = 0; i < LENGTH(prefixes); i++)
        if (!strncmp(name, prefixes[i].prefix, strlen(prefixes[i].prefix)))
            return &prefixes[i];
    return NULL;
}

const struct env_var *env_var_at(size_t n)
{
    for (size_t i = 0; i < LENGTH(themes); i++) {
        if (n < themes[i].count)
            return &themes[i].vars[n];
        n -= themes[i].count;
    }
    return NULL;
}

const struct env_other *env_other_at(size_t n)
{
    return n < LENGTH(others) ? &others[n] : NULL;
}

const struct env_limit *env_limit_find(const char *name)
{
    return bsearch(name, limits, LENGTH(limits), sizeof(limits[0]), by_name);
}

const char *env_limit_broken(const struct env_limit *limit, const char *value, char text[ENV_LIMIT_TEXT])
{
    char *end;
    size_t n = strlen(value);
    long long number = strtoll(value, &end, 0);
    if (end > value && !*end && number >= limit->low && number <= limit->high)
        return NULL;
    for (const char *w = limit->words; w && *w; w += strspn(w, " ")) {
        size_t length = strcspn(w, " ");
        if (length == n && !strncasecmp(w, value, n))
            return NULL;
        w += length;
    }
    return env_limit_text(limit, text);
}

const char *env_limit_text(const struct env_limit *limit, char text[ENV_LIMIT_TEXT])
{
    if (limit->low > limit->high)
        snprintf(text, ENV_LIMIT_TEXT, "%s", limit->words);
    else if (limit->high == INT64_MAX)
        snprintf(text, ENV_LIMIT_TEXT, "numbers from %lld up", (long long)limit->low);
    else
        snprintf(text, ENV_LIMIT_TEXT, "%lld to %lld%s%s", (long long)limit->low, (long long)limit->high,
                 limit->words ? ", " : "", limit->words ? limit->words : "");
    return text;
}

int env_of_interest(const char *name, size_t length)
{
    static const char *const families[] = {"NCCL_", "RCCL_", "TORCH_NCCL_", "OFI_NCCL_", "HSA_"};
    char text[128];
    if (length == 0 || length >= sizeof(text))
        return 0;
    for (size_t i = 0; i < LENGTH(families); i++)
        if (length > strlen(families[i]) && !memcmp(name, families[i], strlen(families[i])))
            return 1;
    memcpy(text, name, length);
    text[length] = '\0';
    const struct env_other *o = env_other_find(text);
    return o && o->status != ENV_BUILD;
}

/* ---- the nearest name -------------------------------------------------------------------------------------------- */

/* Sum over the words between '_', whose order it does not see. */
static uint64_t words_hash(const char *s)
{
    uint64_t sum = 0, word = HASH_START;
    for (;; s++) {
        if (*s && *s != '_') {
            word = hash_add(word, (unsigned char)*s);
            continue;
        }
        sum += word;
        word = HASH_START;
        if (!*s)
            return sum;
    }
}

/* Whether two names differ in one word of at most three letters, by more than one of them: GDR is not GIN. */
static int is_other_word(const char *a, const char *b)
{
    size_t i = 0;
    while (a[i] && a[i] == b[i])
        i++;
    while (i > 0 && a[i - 1] != '_')
        i--;
    size_t na = strcspn(a + i, "_"), nb = strcspn(b + i, "_");
    return (na <= 3 || nb <= 3) && !strcmp(a + i + na, b + i + nb);
}

const struct env_var *env_nearest(const char *name)
{
    if (strncmp(name, "NCCL_", 5) != 0 || strlen(name) < 8)
        return NULL;
    const struct env_var *best = NULL;
    /* A third of a short word is another word: one letter for up to nine, two above. */
    int most = strlen(name + 5) < 10 ? 1 : 2;
    int nearest = most + 1;
    uint64_t words = words_hash(name + 5);
    const struct env_var *v;
    for (size_t n = 0; (v = env_var_at(n)); n++) {
        if (strncmp(v->name, "NCCL_", 5) != 0 || v->last || (v->flags & ENV_DEAD) || v->scope == ENV_PLUGIN)
            continue;
        int d = words_hash(v->name + 5) == words ? 0 : edit_distance(name + 5, v->name + 5, most);
        if (d < nearest && !(d > 1 && is_other_word(name + 5, v->name + 5))) {
            nearest = d;
            best = v;
        }
    }
    return best;
}

#define LIST "NAME,... or, from NCCL 2.24.3 on, COLLECTIVE:NAME,...;...; ^ in front of a list: all but these"

const char *env_syntax(const struct env_var *v)
{
    static const char hca[] =
        "NAME[:PORT],... by the beginning of names; in front of the list: = exact names, ^ all but these, ^= both";
    static const char level[] =
        "LOC never, NVL over NVLink, NVB over the NVLinks of a GPU between, C2C over a link of CPU and GPU (from NCCL "
        "2.26.2 on), PIX over one PCIe switch, PXB over several, P2C over PCIe and C2C (from 2.27.3 on), PXN through a "
        "GPU that is nearer to the NIC, PHB through the CPU, SYS also between CPUs; each allows those before it; in "
        "capitals";
    static const char *const texts[] = {
        [ENV_G_FLAG] = "0 no, 1 yes",
        [ENV_G_LEVEL] = level,
        [ENV_G_FAMILY] = "AF_INET for IPv4, AF_INET6 for IPv6",
        [ENV_G_DEBUG] = "NONE, VERSION one line at the start, WARN errors, INFO also topology and choices, TRACE "
                        "everything in a build that has it",
        [ENV_G_CTA_POLICY] =
            "0 DEFAULT, 1 EFFICIENCY fewer SMs for registered buffers, 2 ZERO copy engines; the names, and "
            "names joined with |, from NCCL 2.29.2 on",
        [ENV_G_NETDEVS] = "AUTO, ALL, MAX:N at most N",
        [ENV_G_MERGE_LEVEL] =
            "LOC none, PORT ports of one NIC, PIX on one PCIe switch, PXB on several, PHB at one CPU, "
            "SYS all of a node",
        [ENV_G_MERGE_POLICY] = "ALL any, RAIL only those of the same rail",
        [ENV_G_LAUNCH] = "PARALLEL, GROUP all at once (deprecated)",
        [ENV_G_CHECK_MODE] = "DEFAULT, DEBUG_LOCAL, DEBUG_GLOBAL also across ranks",
        [ENV_G_HCA] = hca,
        [ENV_G_IFNAME] =
            "NAME,... by the beginning of names; in front of the list: = exact names, ^ all but these, ^= both",
        [ENV_G_ALGO] = "Ring for bandwidth, Tree for few bytes on many nodes, NVLS reduction in NVSwitch, NVLSTree the "
                       "same with trees between nodes, CollNetDirect reduction in the network, CollNetChain the same "
                       "along a chain of GPUs, PAT AllGather and ReduceScatter with one rank a node; written " LIST,
        [ENV_G_PROTO] = "LL lowest latency and half the bandwidth or less, LL128 low latency and nearly all of it, "
                        "Simple full bandwidth; written " LIST,
        [ENV_G_GROUPS] = "NAME[:PORT],NAME[:PORT];...: exact names, a semicolon between groups",
        [ENV_G_SUBSYS] =
            "INIT, COLL, P2P, SHM, NET, GRAPH, TUNING, ENV, ALLOC, CALL, PROXY, NVLS, BOOTSTRAP, REG, PROFILE, "
            "RAS, ALL, with commas between; ^ in front of the list: all but these",
    };
    static const char *const named[][2] = {
        {"NCCL_NET", "IB, Socket, or the name that a plugin logs"},
        {"NCCL_NET_PLUGIN", "none, a library's path or file name, or NAME for libnccl-net-NAME.so; a list: the first"},
        {"NCCL_PROFILER_PLUGIN", "none, a library's path or file name, or NAME for libnccl-profiler-NAME.so"},
        {"NCCL_TUNER_PLUGIN", "none, a library's path or file name, or NAME for libnccl-tuner-NAME.so"},
    };
    for (size_t i = 0; i < LENGTH(named); i++)
        if (!strcmp(v->name, named[i][0]))
            return named[i][1];
    return (size_t)v->grammar < LENGTH(texts) ? texts[v->grammar] : NULL;
}

const struct env_other *env_nearest_other(const char *name)
{
    static const char *const families[] = {"OFI_NCCL_", "TORCH_NCCL_", "RCCL_"};
    const struct env_other *best = NULL;
    size_t family = 0;
    while (family < LENGTH(families) && strncmp(name, families[family], strlen(families[family])) != 0)
        family++;
    if (family == LENGTH(families))
        return NULL;
    size_t n = strlen(families[family]);
    int nearest = 3;
    uint64_t words = words_hash(name + n);
    for (size_t i = 0; i < LENGTH(others); i++) {
        if (strncmp(others[i].name, families[family], n) != 0)
            continue;
        size_t length = strlen(name);
        int is_cut = !strncmp(others[i].name, name, length) && others[i].name[length] == '_';
        int d = is_cut || words_hash(others[i].name + n) == words ? 1 : edit_distance(name + n, others[i].name + n, 2);
        if (d < nearest) {
            nearest = d;
            best = &others[i];
        }
    }
    return strlen(name + n) > 5 ? best : NULL;
}

/* ---- versions ---------------------------------------------------------------------------------------------------- */

/* Reads up to three numbers; returns how many, and the text behind them. */
static int read_numbers(const char *s, int part[3], const char **end)
{
    int n = 0;
    *end = s;
    while (n < 3 && isdigit((unsigned char)*s)) {
        char *after;
        long value = strtol(s, &after, 10);
        if (value > 99)
            return 0;
        part[n++] = (int)value;
        s = after;
        if (*s != '.' || n == 3 || !isdigit((unsigned char)s[1]))
            break;
        s++;
    }
    *end = s;
    return n;
}

static int one_version(const char *s, int *low, int *high, const char **end)
{
    int part[3] = {0, 0, 0};
    int n = read_numbers(s, part, end);
    if (n < 2 || part[0] < 2)
        return -1;
    *low = part[0] * 10000 + part[1] * 100 + part[2];
    *high = n == 3 ? *low : *low + 99;
    return 0;
}

int env_version_parse(const char *s, int *low, int *high)
{
    const char *end;
    int from, to, unused;
    if (one_version(s, &from, &to, &end))
        return -1;
    if (*end == '-' && one_version(end + 1, &unused, &to, &end))
        return -1;
    if (*end || to < from)
        return -1;
    *low = from;
    *high = to;
    return 0;
}

int env_library_release(const char *library, int *low, int *high)
{
    char version[ENV_VERSION] = "";
    if (strncmp(library, "NCCL ", 5) != 0 && strncmp(library, "RCCL ", 5) != 0)
        return -1;
    size_t n = strspn(library + 5, "0123456789.");
    memcpy(version, library + 5, n < sizeof version ? n : 0);
    return env_version_parse(version, low, high);
}

char *env_version_text(char text[ENV_VERSION], int version)
{
    snprintf(text, ENV_VERSION, "%u.%u.%u", (unsigned)version / 10000 % 100, (unsigned)version / 100 % 100,
             (unsigned)version % 100);
    return text;
}

int env_default_change(const struct env_var *v, size_t n, int *since, char text[ENV_VALUE])
{
    for (const char *p = v->defaults; *p; n--) {
        int part[3] = {0, 0, 0};
        const char *value;
        read_numbers(p, part, &value);
        value += *value == '=';
        size_t length = strcspn(value, ";");
        if (n == 0) {
            *since = part[0] * 10000 + part[1] * 100 + part[2];
            snprintf(text, ENV_VALUE, "%.*s", (int)(length < ENV_VALUE ? length : ENV_VALUE - 1), value);
            return 1;
        }
        p = value + length;
        p += strspn(p, "; ");
    }
    return 0;
}

int env_default_at(const struct env_var *v, int version, char text[ENV_VALUE])
{
    char change[ENV_VALUE];
    int since;
    if (!(v->flags & ENV_OLDER) && version < v->since)
        return 0;
    if (v->last && version > v->last)
        return 0;
    snprintf(text, ENV_VALUE, "unset");
    for (size_t n = 0; env_default_change(v, n, &since, change); n++)
        if (n == 0 || version >= since)
            memcpy(text, change, ENV_VALUE);
    return 1;
}
