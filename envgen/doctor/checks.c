/* What is looked at on a node as on a job: a plugin, a table, this machine against a topology. */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/locate.h"
#include "core/vars/catalogue.h"
#include "envgen/doctor/doctor_internal.h"
#include "probe/source/probe.h"

void doctor_add(struct doctor *d, enum finding_severity severity, const char *subject, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    finding_vadd(&d->found, severity, NULL, subject, fmt, ap);
    va_end(ap);
}

/* ---- the plugin -------------------------------------------------------------------------------------------------- */

void *doctor_open_plugin(struct doctor *d, const char *prefix, const char *name)
{
    void *plugin = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return plugin || strchr(name, '/')
               ? plugin
               : dlopen(arena_printf(d->arena, "%s-%s.so", prefix, name), RTLD_NOW | RTLD_LOCAL);
}

void doctor_judge_plugin(struct doctor *d, void *plugin, const char *name)
{
    char symbol[32];
    int oldest = 0, newest = 0;
    for (int v = 1; v < 10; v++) {
        snprintf(symbol, sizeof symbol, "ncclTunerPlugin_v%d", v);
        if (!dlsym(plugin, symbol))
            continue;
        newest = v;
        oldest = oldest ? oldest : v;
    }
    if (newest)
        doctor_add(d, FINDING_OK, "plugin", "%s loads and has tuner interfaces v%d to v%d", name, oldest, newest);
    else
        doctor_add(d, FINDING_ERROR, "plugin", "%s has no tuner interface", name);
    dlclose(plugin);
}

void doctor_check_plugin(struct doctor *d, const char *path)
{
    void *plugin = access(path, F_OK) ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin)
        doctor_judge_plugin(d, plugin, path);
    else if (access(path, F_OK))
        doctor_add(d, FINDING_ERROR, "plugin", "%s: %s", path, strerror(errno));
    else
        doctor_add(d, FINDING_ERROR, "plugin", "cannot be loaded: %s", dlerror());
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

struct complaints {
    struct doctor *d;
    const char *path;
    int told;
};

static void complain(void *arg, long line, long column, const char *text)
{
    struct complaints *c = arg;
    if (c->told++ < 3)
        doctor_add(c->d, FINDING_ERROR, "table", "%s:%ld:%ld: %s", c->path, line, column, text);
}

int doctor_nccl_version(void)
{
    int version = 0;
    void *nccl = nccl_library_open();
    int (*get)(int *) = nccl ? (int (*)(int *))dlsym(nccl, "ncclGetVersion") : NULL;
    if (get && get(&version))
        version = 0;
    if (nccl)
        dlclose(nccl);
    return version;
}

int doctor_check_table(struct doctor *d, const char *path, struct tuner_table *t)
{
    struct err e = {0};
    char *text, version[ENV_VERSION];
    size_t bytes;
    struct complaints c = {.d = d, .path = path};
    if (access(path, F_OK)) {
        doctor_add(d, FINDING_NOTE, "table", "%s: %s", path, strerror(errno));
        return -1;
    }
    if (file_read(path, TUNER_BYTES_LIMIT, d->arena, &text, &bytes, &e)) {
        doctor_add(d, FINDING_ERROR, "table", "%s", e.text);
        return -1;
    }
    int rc = tuner_table_parse(t, text, bytes, complain, &c), nccl = doctor_nccl_version();
    int fits = tuner_table_fits(t, nccl / 10000, nccl / 100 % 100);
    if (!rc)
        doctor_add(d, t->broken ? FINDING_NOTE : FINDING_OK, "table", "%s: %zu rules, %zu broken lines", path, t->count,
                   t->broken); /* each of them is an error above */
    if (!nccl)
        doctor_add(d, FINDING_NOTE, "nccl", "the loader finds no libnccl.so.2; programs may bring their own");
    else if (!rc)
        doctor_add(d, fits ? FINDING_OK : FINDING_WARNING, "nccl", "%s%s", env_version_text(version, nccl),
                   fits ? "" : ", on which the table was not measured: its rules do not apply");
    if (rc)
        tuner_table_free(t);
    return rc;
}

/* ---- this machine against the profile ---------------------------------------------------------------------------- */

/* The hash of one class alone, whatever it is called. */
static void class_hash(const struct topo_class *c, char hex[SHA256_HEX])
{
    struct topo_class copy = *c;
    struct topology one = {.classes = &copy, .nclasses = 1};
    copy.name = "class";
    topo_hash(&one, hex);
}

/* A class of the profile that this machine is of or goes with; `sentences`: what is otherwise here. */
struct likeness {
    const struct topo_class *of; /* NULL none */
    int equal, n;
    const char **sentences;
};

static struct likeness find_likeness(const struct topology *t, const struct topo_class *now, struct arena *a)
{
    char mine[SHA256_HEX], theirs[SHA256_HEX];
    struct likeness best = {.of = NULL};
    class_hash(now, mine);
    for (int i = 0; i < t->nclasses && !best.equal; i++) {
        struct likeness l = {.of = &t->classes[i]};
        class_hash(l.of, theirs);
        l.equal = !strcmp(mine, theirs);
        if (!l.equal && !install_compatible(now, l.of))
            continue;
        if (!l.equal)
            l.n = differences_of(l.of, now, a, &l.sentences);
        if (!best.of || l.equal || l.n < best.n)
            best = l;
    }
    return best;
}

const char *doctor_changes(const struct topology *t, const struct topology *here, struct arena *a)
{
    const int most = 4; /* that are told */
    const char **within, *text = NULL;
    const struct likeness l = find_likeness(t, &here->classes[0], a);
    int n = l.of ? differences_within(l.of, &here->classes[0], a, &within) : 0, told = 0, all = 0;
    for (int i = 0; i < l.n + n; i++) {
        const char *s = i < l.n ? l.sentences[i] : within[i - l.n];
        if (!strncmp(s, "memlock", 7)) /* jobs have another limit than a shell */
            continue;
        if (all++ < most && ++told)
            text = text ? arena_printf(a, "%s; %s", text, s) : s;
    }
    return all > told ? arena_printf(a, "%s; and %d more", text, all - told) : text;
}

/* The name of the class of the profile's topology that this machine equals or resembles; NULL: none. */
static const char *compare_machine(struct doctor *d, const struct topology *t, const struct topology *here)
{
    const struct likeness l = find_likeness(t, &here->classes[0], d->arena);
    const char *changes = doctor_changes(t, here, d->arena);
    if (!l.of)
        doctor_add(d, FINDING_ERROR, "machine", "is not of a class of the profile");
    else if (l.equal)
        doctor_add(d, FINDING_OK, "machine", "is what the profile calls %s", l.of->name);
    else
        doctor_add(d, FINDING_NOTE, "machine",
                   "differs from every class of the profile, but has the GPUs and rails of %s", l.of->name);
    if (changes)
        doctor_add(d, FINDING_WARNING, "changed",
                   "since the profile was measured: %s; verify it again (nccltune verify)", changes);
    return l.of ? l.of->name : NULL;
}

struct topology *doctor_check_machine(struct doctor *d, const struct env_profile *p, const struct topology *here,
                                      struct log *log, const char **node_class)
{
    struct err e = {0};
    struct topology *t = topo_load(arena_printf(d->arena, "%s/topology.json", p->dir), &e);
    struct topology *probed = t && !here ? probe_machine(log, &e) : NULL;
    here = here ? here : probed;
    *node_class = NULL;
    if (t && here && here->nclasses == 1)
        *node_class = arena_strdup(d->arena, compare_machine(d, t, here));
    else
        doctor_add(d, FINDING_ERROR, "machine", "cannot be compared: %s", e.text);
    topo_free(probed);
    return t;
}
