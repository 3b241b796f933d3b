/* What containers of this node get: a spec of the Container Device Interface, and the files that enroot reads. Both
 * hold what NCCL's own file would: the node's settings, the common ones, and the table with the plugin, the profile and
 * its hash. Settings have passed install_accept. */
#include <mntent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/json.h"
#include "core/trust.h"
#include "envgen/install/install.h"

#define CDI_FILE     "nccltune.json"
#define ENROOT_ENV   "environ.d/50-nccltune.env"
#define ENROOT_MOUNT "mounts.d/50-nccltune.fstab"

/* Return the next line of "NAME=VALUE\n" lines whose name no line before it has; NULL behind the last one. NCCL keeps
 * the first of two settings, a container the last. */
static const char *next_setting(const char *lines, const char **cursor, struct arena *a)
{
    while (**cursor) {
        const char *line = *cursor, *before = lines;
        size_t n = strcspn(line, "\n"), name = strcspn(line, "=") + 1;
        *cursor = line + n + (line[n] == '\n');
        while (before < line && strncmp(before, line, name) != 0)
            before += strcspn(before, "\n") + 1;
        if (before == line)
            return arena_strndup(a, line, n);
    }
    return NULL;
}

/* Return true for a setting whose value is a file of this node. A mount of a file that is missing would keep every
 * container from starting. */
static int names_file(const char *line)
{
    static const char *const names[] = {"NCCL_TUNER_PLUGIN=", "NCCL_TOPO_FILE="};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(line, names[i], strlen(names[i])))
            return !access(line + strlen(names[i]), R_OK);
    return 0;
}

static void add_mount(cJSON *mounts, const char *path)
{
    static const char *const options[] = {"ro", "nosuid", "nodev", "bind"};
    cJSON *mount = cJSON_CreateObject(), *array;
    json_add_str(mount, "hostPath", path);
    json_add_str(mount, "containerPath", path);
    array = cJSON_AddArrayToObject(mount, "options");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        json_append_str(array, options[i]);
    cJSON_AddItemToArray(mounts, mount);
}

/* The specification's version 0.5.0, which podman 4.3 reads (cncf-tags/container-device-interface, SPEC.md): one
 * device, nccltune.org/profile=node. */
static int write_cdi(const struct install_site *site, const struct install_done *done, const char *lines,
                     struct arena *a, struct err *e)
{
    const char *path = arena_printf(a, "%s/" CDI_FILE, site->cdi), *cursor = lines, *line;
    cJSON *doc = cJSON_CreateObject();
    json_add_str(doc, "cdiVersion", "0.5.0");
    json_add_str(doc, "kind", "nccltune.org/profile");
    cJSON *devices = cJSON_AddArrayToObject(doc, "devices"), *device = cJSON_CreateObject();
    cJSON_AddItemToArray(devices, device);
    json_add_str(device, "name", "node");
    cJSON *edits = cJSON_AddObjectToObject(device, "containerEdits"), *env = cJSON_AddArrayToObject(edits, "env");
    cJSON *mounts = cJSON_AddArrayToObject(edits, "mounts");
    add_mount(mounts, done->dir);
    while ((line = next_setting(lines, &cursor, a))) {
        json_append_str(env, line);
        if (names_file(line))
            add_mount(mounts, strchr(line, '=') + 1);
    }
    return json_save(doc, path, e);
}

/* A path may hold blanks, which addmntent escapes. */
static void add_fstab(FILE *mounts, const char *path, const char *options)
{
    addmntent(mounts, &(struct mntent){(char *)path, (char *)path, (char *)"none", (char *)options, 0, 0});
}

/* environ.d has NAME=VALUE lines, mounts.d lines of fstab, which getmntent reads (NVIDIA/enroot, bin/enroot-mount.c).
 */
static int write_enroot(const struct install_site *site, const struct install_done *done, const char *lines,
                        struct arena *a, struct err *e)
{
    struct file_out mounts;
    const char *env = "", *cursor = lines, *line;
    int rc = file_mkdirs(arena_printf(a, "%s/environ.d", site->enroot), e);
    if (!rc)
        rc = file_mkdirs(arena_printf(a, "%s/mounts.d", site->enroot), e);
    if (rc || (rc = file_out_begin(&mounts, e)))
        return rc;
    add_fstab(mounts.stream, done->dir, "x-create=dir,bind,ro,nosuid,nodev");
    while ((line = next_setting(lines, &cursor, a))) {
        env = arena_printf(a, "%s%s\n", env, line);
        if (names_file(line))
            add_fstab(mounts.stream, strchr(line, '=') + 1, "x-create=file,bind,ro,nosuid,nodev");
    }
    rc = file_write(arena_printf(a, "%s/" ENROOT_ENV, site->enroot), env, strlen(env), e);
    return file_out_end(&mounts, arena_printf(a, "%s/" ENROOT_MOUNT, site->enroot), rc, e);
}

static int remove_file(const char *path, struct err *e)
{
    return access(path, F_OK) ? 0 : trust_unlink(path, e);
}

int install_containers(const struct install_site *site, const struct install_done *done, const char *lines,
                       struct arena *a, struct err *e)
{
    const mode_t before = umask(022);
    int rc = 0;
    if (site->cdi && lines)
        rc = file_mkdirs(site->cdi, e) ? e->code : write_cdi(site, done, lines, a, e);
    else if (site->cdi)
        rc = remove_file(arena_printf(a, "%s/" CDI_FILE, site->cdi), e);
    if (!rc && site->enroot && lines)
        rc = write_enroot(site, done, lines, a, e);
    else if (!rc && site->enroot && !(rc = remove_file(arena_printf(a, "%s/" ENROOT_ENV, site->enroot), e)))
        rc = remove_file(arena_printf(a, "%s/" ENROOT_MOUNT, site->enroot), e);
    umask(before);
    return rc;
}
