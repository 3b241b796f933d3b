/* The doctor on captures: the profiler library beside the plugin, and what a job that asks for a capture gets
 * (nccltune-profiler(7)). */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "envgen/doctor/doctor_internal.h"
#include "tuner/capture/abi.h"

#define PROFILER "libnccl-profiler-nccltune.so"

/* Return 1 if it is ours, by the name that it gives NCCL. */
static int is_profiler(void *library)
{
    const struct nccl_profiler_v1 *p = dlsym(library, "ncclProfiler_v1");
    return p && p->name && !strcmp(p->name, "nccltune");
}

void doctor_check_profiler(struct doctor *d, const char *plugin)
{
    const char *slash = strrchr(plugin, '/');
    const char *path = arena_printf(d->arena, "%.*s" PROFILER, slash ? (int)(slash + 1 - plugin) : 0, plugin);
    if (access(plugin, F_OK))
        return;
    if (access(path, F_OK)) {
        doctor_add(d, FINDING_NOTE, "profiler", "%s: %s; NCCL_PROFILER_PLUGIN=nccltune would capture nothing", path,
                   strerror(errno));
        return;
    }
    void *profiler = dlopen(path, RTLD_NOW | RTLD_LOCAL), *named = NULL;
    int usable = profiler && is_profiler(profiler);
    if (profiler)
        dlclose(profiler);
    if (usable)
        named = dlopen(PROFILER, RTLD_NOW | RTLD_LOCAL);
    if (!usable)
        doctor_add(d, FINDING_ERROR, "profiler", "%s %s", path,
                   profiler ? "is not nccltune's profiler" : "cannot be loaded");
    else if (named)
        doctor_add(d, FINDING_OK, "profiler", "%s can capture a job's calls", path);
    else
        doctor_add(d, FINDING_NOTE, "profiler",
                   "%s can capture a job's calls; the loader does not find its name: run ldconfig, or set "
                   "NCCL_PROFILER_PLUGIN to the path",
                   path);
    if (named)
        dlclose(named);
}

static void check_loads(struct doctor *d, const char *name)
{
    void *plugin = doctor_open_plugin(d, "libnccl-profiler", name);
    if (!plugin)
        doctor_add(d, FINDING_ERROR, "capture", "NCCL_PROFILER_PLUGIN=%s cannot be loaded", name);
    else if (!is_profiler(plugin))
        doctor_add(d, FINDING_ERROR, "capture",
                   "NCCL_PROFILER_PLUGIN=%s is not nccltune's profiler: it captures nothing", name);
    if (plugin)
        dlclose(plugin);
}

/* A directory that is not there yet is made by the first rank, if it may. */
static void check_directory(struct doctor *d, const char *dir)
{
    const char *slash = strrchr(dir, '/'), *tested = dir;
    if (dir[0] != '/') {
        doctor_add(d, FINDING_ERROR, "capture", "NCCLTUNE_CAPTURE=%s is not an absolute path: nothing is captured",
                   dir);
        return;
    }
    if (access(dir, F_OK) && slash > dir)
        tested = arena_strndup(d->arena, dir, (size_t)(slash - dir));
    if (access(tested, W_OK | X_OK))
        doctor_add(d, FINDING_ERROR, "capture", "%s: %s; no file can be written", dir, strerror(errno));
    else
        doctor_add(d, FINDING_OK, "capture", "this rank's file goes to %s", dir);
}

void doctor_check_capture(struct doctor *d, const char *profiler, const char *dir)
{
    if (profiler && !strcmp(profiler, "none"))
        profiler = NULL;
    if (!dir && profiler && !strcmp(profiler, "nccltune"))
        doctor_add(d, FINDING_NOTE, "capture",
                   "NCCL_PROFILER_PLUGIN=nccltune captures nothing without NCCLTUNE_CAPTURE");
    if (!dir)
        return;
    if (profiler)
        check_loads(d, profiler);
    else
        doctor_add(d, FINDING_ERROR, "capture",
                   "NCCLTUNE_CAPTURE needs NCCL_PROFILER_PLUGIN=nccltune: nothing is captured");
    check_directory(d, dir);
}

void doctor_check_observe(struct doctor *d, const char *observe, const char *dir)
{
    if (!observe || !strcmp(observe, "0"))
        return;
    if (strcmp(observe, "1") != 0)
        doctor_add(d, FINDING_ERROR, "capture", "NCCLTUNE_OBSERVE=%s: expected 1 or 0; nothing is observed", observe);
    else if (!dir)
        doctor_add(d, FINDING_ERROR, "capture", "NCCLTUNE_OBSERVE=1 needs NCCLTUNE_CAPTURE=DIR: nothing is observed");
}
