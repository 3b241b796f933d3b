/* The tuner that NCCL would have without this one: finding it, and asking it in its own version of the interface. What
 * NCCL's version does not pass is what NCCL itself puts there for a tuner of another one, or the plain case: no
 * registered buffers, a domain a node, constants that nobody reads.
 *
 * Rules of NCCL's, by release: up to 2.20 a tuner only where NCCL_TUNER_PLUGIN names one, and version 1 alone; 2.21
 * version 2 alone; from 2.21 on libnccl-tuner.so, and where that cannot be opened the library of the network plugin
 * that is in use; from 2.22 on the newest version that both know, down to 2. Amazon's network plugin goes first: it
 * sets NCCL_TUNER_PLUGIN to itself where that is not set. */
#include "tuner/plugin/chain.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tuner/libc/elf.h"

#define OWN_SYMBOL "nccltune_control_version"
#define NAME_MAX_  254 /* NCCL's limit */

#define CONSTANTS_BYTES 8192 /* NCCL's have 1152 */

enum { NEWEST = 7 };

/* ---- which library, and which version --------------------------------------------------------------------------- */

static const void *tuner_symbol(void *lib, int version)
{
    char symbol[32];
    snprintf(symbol, sizeof symbol, "ncclTunerPlugin_v%d", version);
    return plugin_elf_symbol(lib, symbol);
}

/* The version that NCCL takes; 0: none. `translated`: any, the nearest first, older before newer. */
static int version_of(void *lib, int api, int translated)
{
    int oldest = api > 1 && !translated ? 2 : 1;
    for (int v = api; v >= oldest; v--)
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
static int take_tuner(struct plugin_next *n, void *lib, int api, int translated)
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
    if (take_tuner(n, network, api, 0) && !strcmp(n->name, "nccl_ofi_tuner"))
        return;
    *n = (struct plugin_next){0};
    if (api < 2)
        return;
    void *standard = plugin_elf_open("libnccl-tuner.so", RTLD_NOW | RTLD_LOCAL);
    if (standard && is_ours(standard)) {
        plugin_elf_close(standard);
        standard = NULL;
    }
    take_tuner(n, standard ? standard : network, api, 0);
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
    if (!ours && take_tuner(n, lib, api, 1))
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

/* ---- a call that may crash -------------------------------------------------------------------------------------- */

/* The signals of a crash lead back out of the call. Handlers are the process's own, so a crash of another thread
 * meanwhile goes where it would have gone. */
static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define CRASHES (sizeof crashes / sizeof *crashes)

static struct {
    pthread_t thread;
    sigjmp_buf back;
    struct sigaction before[CRASHES];
} guard;

/* Not ours: as if this handler had never been there. One that returns meets the signal again. */
static void hand_signal_on(int number, siginfo_t *info, void *machine)
{
    size_t i = 0;
    while (i < CRASHES && crashes[i] != number)
        i++;
    const struct sigaction *before = &guard.before[i];
    if (before->sa_flags & SA_SIGINFO)
        before->sa_sigaction(number, info, machine);
    else if (before->sa_handler == SIG_DFL)
        sigaction(number, before, NULL);
    else if (before->sa_handler != SIG_IGN)
        before->sa_handler(number);
}

static void catch_signal(int number, siginfo_t *info, void *machine)
{
    if (pthread_equal(pthread_self(), guard.thread))
        siglongjmp(guard.back, number);
    hand_signal_on(number, info, machine);
}

/* Call f(arg) and hand back its result in *rc. 0; the signal's number when f crashed or aborted: then it was left in
 * the middle, and nothing of its library may be called again. One caller at a time. */
static int call_guarded(int (*f)(void *arg), void *arg, int *rc)
{
    struct sigaction ours = {.sa_sigaction = catch_signal, .sa_flags = SA_SIGINFO};
    volatile size_t set = 0;
    guard.thread = pthread_self();
    int crash = sigsetjmp(guard.back, 1);
    if (!crash) {
        for (; set < CRASHES; set++)
            sigaction(crashes[set], &ours, &guard.before[set]);
        *rc = f(arg);
    }
    for (size_t i = 0; i < set; i++)
        sigaction(crashes[i], &guard.before[i], NULL);
    return crash;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

struct init_call {
    struct plugin_chain *chain;
    const struct plugin_opening *opening;
};

/* As NCCL itself hands its constants to a tuner of another version, and takes them back. */
static void copy_constants(double *to, int rows_to, const double *from, int rows_from)
{
    const size_t row = NCCL_BANDWIDTH_ROW, rows = (size_t)(rows_to < rows_from ? rows_to : rows_from);
    memcpy(to, from, NCCL_LATENCIES * sizeof *to);
    for (size_t i = 0; i < NCCL_BANDWIDTHS; i++)
        memcpy(to + NCCL_LATENCIES + i * row * (size_t)rows_to, from + NCCL_LATENCIES + i * row * (size_t)rows_from,
               rows * row * sizeof *to);
}

static int rows_of(int version)
{
    return version >= 7 ? NCCL_ROWS_V7 : NCCL_ROWS_V5;
}

static int init_new(struct plugin_chain *c, const struct plugin_opening *o)
{
    static double unread[CONSTANTS_BYTES / sizeof(double)];
    const struct nccl_tuner_v5 *t = c->next->tuner;
    size_t nodes = o->nodes ? o->nodes : 1;
    struct nccl_nvl_domains plain = {(int)nodes, (int)(o->ranks / nodes), (int)((o->ranks + nodes - 1) / nodes)};
    struct nccl_constants *constants = o->constants;
    if (!constants) {
        memset(unread, 0, sizeof unread);
        constants = (struct nccl_constants *)unread;
    }
    double translated[NCCL_CONSTANTS_V7] = {0};
    int ours = rows_of(o->api), theirs = rows_of(c->next->version), differ = o->constants && ours != theirs;
    if (differ)
        copy_constants(translated, theirs, (const double *)constants, ours);
    int rc = t->init(&c->context, o->comm_id, o->ranks, o->nodes, o->log, o->domains ? o->domains : &plain,
                     differ ? (struct nccl_constants *)translated : constants);
    if (differ && rc == NCCLTUNE_SUCCESS)
        copy_constants((double *)constants, ours, translated, theirs);
    return rc;
}

static int init_any(void *arg)
{
    const struct init_call *i = arg;
    const struct plugin_opening *o = i->opening;
    const struct nccl_tuner_v1 *v1 = i->chain->next->tuner;
    const struct nccl_tuner_v2 *v2 = i->chain->next->tuner; /* init is the same up to version 4 */
    int version = i->chain->next->version;
    if (version >= 5)
        return init_new(i->chain, o);
    return version == 1 ? v1->init(o->ranks, o->nodes, o->log)
                        : v2->init(o->ranks, o->nodes, o->log, &i->chain->context);
}

int plugin_chain_init(struct plugin_chain *c, const struct plugin_opening *o, char *why, size_t size)
{
    struct init_call call = {c, o};
    int rc = NCCLTUNE_SUCCESS;
    c->context = NULL;
    int crash = call_guarded(init_any, &call, &rc);
    if (crash)
        snprintf(why, size, "its init crashed (signal %d)", crash);
    else if (rc != NCCLTUNE_SUCCESS)
        snprintf(why, size, "its init failed (result %d)", rc);
    return crash || rc ? -1 : 0;
}

void plugin_chain_destroy(const struct plugin_chain *c)
{
    const struct nccl_tuner_v1 *v1 = c->next->tuner;
    const struct nccl_tuner_v2 *v2 = c->next->tuner; /* the fourth member from version 2 on */
    if (c->next->version == 1)
        v1->destroy();
    else
        v2->destroy(c->context);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static int ask_costs(const struct plugin_chain *c, const struct tuner_call *call, float *cost, int *channels)
{
    const struct nccl_tuner_v3 *v3 = c->next->tuner;
    const struct nccl_tuner_v4 *v4 = c->next->tuner; /* the same call in versions 5 to 7 */
    float **table = (float **)cost;
    return c->next->version == 3
               ? v3->get_coll_info(c->context, call->coll, call->bytes, call->pipe_ops, table, call->algos,
                                   call->protos, channels)
               : v4->get_coll_info(c->context, call->coll, call->bytes, call->pipe_ops, table, call->algos,
                                   call->protos, call->reg_buff == TUNER_UNKNOWN ? 0 : call->reg_buff, channels);
}

static int ask_names(const struct plugin_chain *c, const struct tuner_call *call, int collnet, int nvls, int *algo,
                     int *proto, int *channels)
{
    const struct nccl_tuner_v1 *v1 = c->next->tuner;
    const struct nccl_tuner_v2 *v2 = c->next->tuner;
    return c->next->version == 1
               ? v1->get_coll_info(call->coll, call->bytes, collnet, nvls, call->pipe_ops, algo, proto, channels)
               : v2->get_coll_info(c->context, call->coll, call->bytes, collnet, nvls, call->pipe_ops, algo, proto,
                                   channels);
}

/* As NCCL 2.22 and later asks a tuner of version 2: what is supported is read from the table, and a cell that is named
 * and available becomes the cheapest. */
int plugin_chain_costs(const struct plugin_chain *c, const struct tuner_call *call, float *cost, int *channels)
{
    if (c->next->version >= 3)
        return ask_costs(c, call, cost, channels);
    int algo = TUNER_ANY, proto = TUNER_ANY;
    int collnet = tuner_has_cell(call, ALGO_COLLNET_CHAIN, PROTO_SIMPLE);
    int nvls = tuner_has_cell(call, ALGO_NVLS, PROTO_SIMPLE) || tuner_has_cell(call, ALGO_NVLS_TREE, PROTO_SIMPLE);
    int rc = ask_names(c, call, collnet, nvls, &algo, &proto, channels);
    if (rc == NCCLTUNE_SUCCESS && algo >= 0 && proto >= 0 && tuner_has_cell(call, algo, proto))
        cost[(size_t)algo * (size_t)call->protos + (size_t)proto] = 0.0F;
    return rc;
}

int plugin_chain_names(const struct plugin_chain *c, const struct tuner_call *call, int collnet, int nvls, float *cost,
                       const struct plugin_names *names)
{
    float before[ALGO_COUNT * PROTO_COUNT];
    if (c->next->version <= 2)
        return ask_names(c, call, collnet, nvls, names->algo, names->proto, names->channels);
    memcpy(before, cost, sizeof before);
    int rc = ask_costs(c, call, cost, names->channels), best = -1;
    for (int i = 0; i < ALGO_COUNT * PROTO_COUNT; i++) {
        if (!tuner_is_available(before[i]))
            cost[i] = before[i];
        else if (tuner_is_available(cost[i]) && (best < 0 || cost[i] < cost[best]))
            best = i;
    }
    if (rc == NCCLTUNE_SUCCESS && best >= 0 && cost[best] < before[best]) {
        *names->algo = best / PROTO_COUNT;
        *names->proto = best % PROTO_COUNT;
    }
    return rc;
}

int plugin_chain_chunk(const struct plugin_chain *c, const struct plugin_slice *s, size_t *chunk_bytes)
{
    const struct nccl_tuner_v6 *v6 = c->next->tuner;
    return c->next->version >= 6 && v6->get_chunk_size
               ? v6->get_chunk_size(c->context, s->coll, s->bytes, s->algo, s->proto, s->channels, chunk_bytes)
               : NCCLTUNE_SUCCESS;
}
