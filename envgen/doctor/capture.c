/* The doctor on captures: the name under which NCCL finds the plugin as a profiler, and what a job that asks for a
 * capture gets (nccltune-profiler(7)). */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "envgen/doctor/doctor_internal.h"

#define LINK "libnccl-profiler-nccltune.so"

/* Whether it is our plugin, in a release that has the interface. */
static int is_profiler(void *plugin)
{
    return dlsym(plugin, "nccltune_control_version") && dlsym(plugin, "ncclProfiler_v1");
}

void doctor_check_profiler_link(struct doctor *d, const char *plugin)
{
    const char *slash = strrchr(plugin, '/');
    const char *path = arena_printf(d->arena, "%.*s" LINK, slash ? (int)(slash + 1 - plugin) : 0, plugin);
    if (access(plugin, F_OK))
        return;
    if (access(path, F_OK)) {
        finding_add(&d->found, FINDING_NOTE, NULL, "profiler",
                    "%s: %s; NCCL_PROFILER_PLUGIN=nccltune would capture nothing", path, strerror(errno));
        return;
    }
    void *profiler = dlopen(path, RTLD_NOW | RTLD_LOCAL), *named = NULL;
    int usable = profiler && is_profiler(profiler);
    if (profiler)
        dlclose(profiler);
    if (usable)
        named = dlopen(LINK, RTLD_NOW | RTLD_LOCAL);
    if (!usable)
        finding_add(&d->found, FINDING_ERROR, NULL, "profiler", "%s %s", path,
                    profiler ? "is not this plugin, or an older one" : "cannot be loaded");
    else if (named)
        finding_add(&d->found, FINDING_OK, NULL, "profiler", "%s can capture a job's calls", path);
    else
        finding_add(&d->found, FINDING_NOTE, NULL, "profiler",
                    "%s can capture a job's calls; the loader does not find it by name: run ldconfig, or set "
                    "NCCL_PROFILER_PLUGIN to the path",
                    path);
    if (named)
        dlclose(named);
}

/* As NCCL does: the name itself, then as a part of a library's name. */
static void check_loads(struct doctor *d, const char *name)
{
    void *plugin = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!plugin && !strchr(name, '/'))
        plugin = dlopen(arena_printf(d->arena, "libnccl-profiler-%s.so", name), RTLD_NOW | RTLD_LOCAL);
    if (!plugin)
        finding_add(&d->found, FINDING_ERROR, NULL, "capture", "NCCL_PROFILER_PLUGIN=%s cannot be loaded", name);
    else if (!is_profiler(plugin))
        finding_add(&d->found, FINDING_ERROR, NULL, "capture",
                    "NCCL_PROFILER_PLUGIN=%s is another profiler: it captures nothing for us", name);
    if (plugin)
        dlclose(plugin);
}

/* A directory that is not there yet is made by the first rank, if it may. */
static void check_directory(struct doctor *d, const char *dir)
{
    const char *slash = strrchr(dir, '/'), *tested = dir;
    if (dir[0] != '/') {
        finding_add(&d->found, FINDING_ERROR, NULL, "capture",
                    "NCCLTUNE_CAPTURE=%s is no absolute path: nothing is captured", dir);
        return;
    }
    if (access(dir, F_OK) && slash > dir)
        tested = arena_strndup(d->arena, dir, (size_t)(slash - dir));
    if (access(tested, W_OK | X_OK))
        finding_add(&d->found, FINDING_ERROR, NULL, "capture", "%s: %s; no file can be written", dir, strerror(errno));
    else
        finding_add(&d->found, FINDING_OK, NULL, "capture", "this rank's file goes to %s", dir);
}

void doctor_check_capture(struct doctor *d, const char *profiler, const char *dir)
{
    if (profiler && !strcmp(profiler, "none"))
        profiler = NULL;
    if (!dir && profiler && !strcmp(profiler, "nccltune"))
        finding_add(&d->found, FINDING_NOTE, NULL, "capture",
                    "NCCL_PROFILER_PLUGIN=nccltune captures nothing without NCCLTUNE_CAPTURE");
    if (!dir)
        return;
    if (profiler)
        check_loads(d, profiler);
    else
        finding_add(&d->found, FINDING_ERROR, NULL, "capture",
                    "NCCLTUNE_CAPTURE needs NCCL_PROFILER_PLUGIN=nccltune: nothing is captured");
    check_directory(d, dir);
}

void doctor_check_online(struct doctor *d, const char *online, const char *dir, int has_key)
{
    if (!online || !strcmp(online, "off"))
        return;
    if (strcmp(online, "observe") != 0 && strcmp(online, "tune") != 0)
        finding_add(&d->found, FINDING_ERROR, NULL, "capture",
                    "NCCLTUNE_ONLINE=%s is nothing that this release can do (observe, tune, off): nothing is observed",
                    online);
    else if (!dir)
        finding_add(&d->found, FINDING_ERROR, NULL, "capture",
                    "NCCLTUNE_ONLINE=%s needs NCCLTUNE_CAPTURE=DIR: nothing is %s", online,
                    *online == 't' ? "tuned" : "observed");
    else if (*online == 't' && !has_key)
        finding_add(&d->found, FINDING_ERROR, NULL, "capture",
                    "NCCLTUNE_ONLINE=tune needs a key that the job's ranks know one another by: nothing is tuned; set "
                    "NCCLTUNE_ONLINE_KEY_FILE, or have Slurm's prolog give each job one, nccltune-hook(8)");
}
