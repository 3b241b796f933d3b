/* Other people's plugins beside the profile: a network plugin that this NCCL cannot load, and a tuner that is not the
 * one over which the default was measured. Libraries are opened as NCCL opens them, and closed again. */
#include <dlfcn.h>
#include <string.h>
#include <strings.h>

#include "core/vars/catalogue.h"
#include "envgen/doctor/doctor_internal.h"

#define NEWEST_TUNER 7
#define NEWEST_NET   12
#define AMAZONS      "nccl_ofi_tuner" /* its network plugin sets NCCL_TUNER_PLUGIN to itself */

struct others {
    struct doctor *d;
    launcher_get *get;
    const void *arg;
    int nccl; /* 22809; 0 unknown */
};

static const char *given(const struct others *o, const char *name)
{
    const char *value = o->get(o->arg, name);
    return value && *value ? value : NULL;
}

/* What the library exports under PREFIX and a version calls itself, and which versions those are; NULL: nothing. */
static const char *find_plugin(const struct others *o, void *lib, const char *prefix, int newest, unsigned *versions)
{
    const char *name = NULL;
    *versions = 0;
    for (int v = newest; v > 0; v--) {
        const char *const *plugin = dlsym(lib, arena_printf(o->d->arena, "%s%d", prefix, v));
        if (!plugin)
            continue;
        *versions |= 1u << v;
        name = name ? name : arena_strdup(o->d->arena, *plugin ? *plugin : "without a name");
    }
    return name;
}

/* ---- the network plugin -------------------------------------------------------------------------------------------
 */

/* Which versions of the network interface a release loads, from NCCL's sources. */
static const struct {
    int from, oldest, newest; /* 21900: from 2.19 on */
} net_versions[] = {
    {20400, 2, 2}, {20600, 3, 3}, {20800, 4, 4},  {21200, 4, 5},  {21300, 4, 6},  {21900, 5, 7},
    {22000, 5, 8}, {22400, 5, 9}, {22600, 6, 10}, {22800, 6, 11}, {23000, 6, 12},
};

static unsigned net_known_to(int nccl)
{
    unsigned known = 0;
    for (size_t i = 0; i < sizeof net_versions / sizeof *net_versions && net_versions[i].from <= nccl; i++) {
        known = 0;
        for (int v = net_versions[i].oldest; v <= net_versions[i].newest; v++)
            known |= 1u << v;
    }
    return known;
}

static const char *versions_text(const struct others *o, unsigned versions)
{
    const char *text = "";
    for (int v = 1; v < 32; v++)
        if (versions >> v & 1)
            text = arena_printf(o->d->arena, "%s%s%d", text, *text ? ", " : "", v);
    return text;
}

static void judge_network(const struct others *o, void *lib, const char *asked)
{
    char version[ENV_VERSION];
    unsigned has, known = net_known_to(o->nccl);
    const char *name = find_plugin(o, lib, "ncclNetPlugin_v", NEWEST_NET, &has);
    if (!name)
        doctor_add(o->d, FINDING_WARNING, "network", "%s has no network interface of any NCCL release", asked);
    else if (o->nccl && !(has & known))
        doctor_add(o->d, FINDING_ERROR, "network",
                   "NCCL %s cannot use network plugin %s (%s): it has interface %s, and NCCL takes %s; jobs run on "
                   "NCCL's own network",
                   env_version_text(version, o->nccl), name, asked, versions_text(o, has), versions_text(o, known));
    else
        doctor_add(o->d, FINDING_OK, "network", "plugin %s (%s), interface %s", name, asked, versions_text(o, has));
}

/* The first of the list that there is; NULL: NCCL's own network. */
static void *open_network(const struct others *o, const char **asked)
{
    const char *list = given(o, "NCCL_NET_PLUGIN");
    char *rest = NULL, *names = arena_strdup(o->d->arena, list ? list : "libnccl-net.so");
    if (list && !strcasecmp(list, "none"))
        return NULL;
    for (*asked = strtok_r(names, ",", &rest); *asked; *asked = strtok_r(NULL, ",", &rest)) {
        void *lib = doctor_open_plugin(o->d, "libnccl-net", *asked);
        if (lib)
            return lib;
    }
    if (list)
        doctor_add(o->d, FINDING_WARNING, "network",
                   "NCCL_NET_PLUGIN=%s cannot be loaded (%s): jobs run on NCCL's own network", list, dlerror());
    return NULL;
}

/* ---- the tuner ----------------------------------------------------------------------------------------------------
 */

static const char *tuner_of(const struct others *o, void *lib)
{
    unsigned has;
    return lib && !dlsym(lib, "nccltune_control_version") ? find_plugin(o, lib, "ncclTunerPlugin_v", NEWEST_TUNER, &has)
                                                          : NULL;
}

/* What NCCL would load with NCCL_TUNER_PLUGIN unset; NULL: nothing. */
static const char *tuner_by_rules(const struct others *o, void *network)
{
    const char *networks = tuner_of(o, network);
    if ((networks && !strcmp(networks, AMAZONS)) || (o->nccl && o->nccl < 22100))
        return networks && !strcmp(networks, AMAZONS) ? networks : NULL;
    void *standard = dlopen("libnccl-tuner.so", RTLD_NOW | RTLD_LOCAL);
    int ours = standard && dlsym(standard, "nccltune_control_version");
    const char *name = standard && !ours ? tuner_of(o, standard) : networks;
    if (standard)
        dlclose(standard);
    return name;
}

/* Under which tuner, beside ours, jobs run; NULL: NCCL's own. `*displaces`: it is loaded in place of ours. */
static const char *tuner_of_jobs(const struct others *o, void *network, int chained, int *displaces)
{
    const char *plugin = given(o, "NCCL_TUNER_PLUGIN"), *next = given(o, "NCCLTUNE_NEXT_TUNER"), *name = NULL;
    void *lib = plugin ? doctor_open_plugin(o->d, "libnccl-tuner", plugin) : NULL;
    *displaces = lib && !dlsym(lib, "nccltune_control_version");
    if (*displaces) {
        name = tuner_of(o, lib);
    } else if (next ? !strcasecmp(next, "auto") : chained || !lib) {
        name = tuner_by_rules(o, network);
    } else if (next && strcasecmp(next, "none") != 0) {
        void *named = doctor_open_plugin(o->d, "libnccl-tuner", next);
        name = tuner_of(o, named);
        if (!named)
            doctor_add(o->d, FINDING_ERROR, "tuner", "NCCLTUNE_NEXT_TUNER=%s cannot be loaded: %s", next, dlerror());
        else
            dlclose(named);
    }
    if (lib)
        dlclose(lib);
    return name;
}

/* "tuner NAME, network NAME" has the tuner first. */
static const char *tuner_in(const struct others *o, const char *active)
{
    static const char word[] = "tuner ";
    const char *name = active + sizeof word - 1;
    const char *end = strstr(active, ", network ");
    if (strncmp(active, word, sizeof word - 1) != 0)
        return NULL;
    return arena_strndup(o->d->arena, name, end ? (size_t)(end - name) : strlen(name));
}

static void judge_tuner(const struct others *o, void *network, const char *measured_over, int chained)
{
    int displaces;
    const char *now = tuner_of_jobs(o, network, chained, &displaces);
    const char *then = measured_over ? tuner_in(o, measured_over) : NULL;
    if (displaces)
        doctor_add(o->d, FINDING_WARNING, "tuner",
                   "NCCL_TUNER_PLUGIN=%s is tuner '%s' and not nccltune's: no table is applied; name it in "
                   "NCCLTUNE_NEXT_TUNER instead, to ask it first",
                   given(o, "NCCL_TUNER_PLUGIN"), now ? now : "without a name");
    if (measured_over && (!now != !then || (now && strcmp(now, then) != 0)))
        doctor_add(o->d, FINDING_WARNING, "tuner",
                   "the profile's baseline was measured over %s%s%s, and jobs run here over %s%s%s: measured gains do "
                   "not apply",
                   then ? "tuner '" : "NCCL's own choices", then ? then : "", then ? "'" : "",
                   now ? "tuner '" : "NCCL's own choices", now ? now : "", now ? "'" : "");
    else if (now && !displaces)
        doctor_add(o->d, FINDING_OK, "tuner", "'%s' is asked before the table", now);
}

void doctor_check_others(struct doctor *d, launcher_get *get, const void *arg, const char *measured_over, int chained)
{
    struct others o = {d, get, arg, doctor_nccl_version()};
    const char *asked = NULL;
    void *network = open_network(&o, &asked);
    if (network)
        judge_network(&o, network, asked);
    judge_tuner(&o, network, measured_over, chained);
    if (network)
        dlclose(network);
}

const char *doctor_measured_over(const struct env_profile *p)
{
    const struct env_shape *s = p ? env_shape_with(p->decisions, BENCH_ON_GPUS) : NULL;
    return s ? s->active : NULL;
}
