/* What containers of this node get: a spec of the Container Device Interface, the files that enroot reads, and those of
 * Apptainer. All hold what NCCL's own file would: the node's settings, the common ones, and the table with the plugin,
 * the profile and its hash. Settings have passed install_accept. */
#include <mntent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/json.h"
#include "core/trust.h"
#include "envgen/install/install.h"

#define CDI_FILE       "nccltune.json"
#define ENROOT_ENV     "environ.d/50-nccltune.env"
#define ENROOT_MOUNT   "mounts.d/50-nccltune.fstab"
#define APPTAINER_CONF "apptainer.conf"
#define APPTAINER_ENV  "nccltune.env"

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

/* The settings as NAME=VALUE lines; and the files that they name, which are mounted as the profile's directory is. */
struct contents {
    const char *env, *files[2];
    int nfiles;
};

static void list_contents(const char *lines, struct contents *c, struct arena *a)
{
    const char *cursor = lines, *line;
    *c = (struct contents){.env = ""};
    while ((line = next_setting(lines, &cursor, a))) {
        c->env = arena_printf(a, "%s%s\n", c->env, line);
        if (names_file(line))
            c->files[c->nfiles++] = strchr(line, '=') + 1;
    }
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
static int write_cdi(const struct install_site *site, const struct install_done *done, const struct contents *c,
                     struct arena *a, struct err *e)
{
    cJSON *doc = cJSON_CreateObject();
    json_add_str(doc, "cdiVersion", "0.5.0");
    json_add_str(doc, "kind", "nccltune.org/profile");
    cJSON *devices = cJSON_AddArrayToObject(doc, "devices"), *device = cJSON_CreateObject();
    cJSON_AddItemToArray(devices, device);
    json_add_str(device, "name", "node");
    cJSON *edits = cJSON_AddObjectToObject(device, "containerEdits"), *env = cJSON_AddArrayToObject(edits, "env");
    cJSON *mounts = cJSON_AddArrayToObject(edits, "mounts");
    for (const char *line = c->env; *line; line += strcspn(line, "\n") + 1)
        json_append_str(env, arena_strndup(a, line, strcspn(line, "\n")));
    add_mount(mounts, done->dir);
    for (int i = 0; i < c->nfiles; i++)
        add_mount(mounts, c->files[i]);
    int rc = file_mkdirs(site->cdi, e);
    return rc ? rc : json_save(doc, arena_printf(a, "%s/" CDI_FILE, site->cdi), e);
}

static int write_below(const char *dir, const char *name, const char *text, struct arena *a, struct err *e)
{
    const char *path = arena_printf(a, "%s/%s", dir, name);
    int rc = file_mkdirs(arena_strndup(a, path, (size_t)(strrchr(path, '/') - path)), e);
    return rc ? rc : file_write(path, text, strlen(text), e);
}

/* A path may hold blanks, which addmntent escapes. */
static void add_fstab(FILE *mounts, const char *path, const char *options)
{
    addmntent(mounts, &(struct mntent){(char *)path, (char *)path, (char *)"none", (char *)options, 0, 0});
}

/* environ.d has NAME=VALUE lines, mounts.d lines of fstab, which getmntent reads (NVIDIA/enroot, bin/enroot-mount.c).
 */
static int write_enroot(const struct install_site *site, const struct install_done *done, const struct contents *c,
                        struct arena *a, struct err *e)
{
    struct file_out mounts;
    int rc = write_below(site->enroot, ENROOT_ENV, c->env, a, e);
    if (!rc)
        rc = file_mkdirs(arena_printf(a, "%s/mounts.d", site->enroot), e);
    if (rc)
        return rc;
    file_out_begin(&mounts);
    add_fstab(mounts.stream, done->dir, "x-create=dir,bind,ro,nosuid,nodev");
    for (int i = 0; i < c->nfiles; i++)
        add_fstab(mounts.stream, c->files[i], "x-create=file,bind,ro,nosuid,nodev");
    return file_out_end(&mounts, arena_printf(a, "%s/" ENROOT_MOUNT, site->enroot), 0, e);
}

/* apptainer.conf has "bind path = PATH" lines, and a shell evaluates the file of --env-file, where ';' of NCCL_ALGO
 * would end a command without quotes (Apptainer's admin guide, "Configuration Files"; cmd/internal/cli). All profiles
 * are bound: jobs bring the environment of the Slurm hooks along, which may name another one. A file with our lines
 * alone would take Apptainer's default bind paths away. */
static int write_apptainer(const struct install_site *site, const struct install_done *done, const struct contents *c,
                           struct arena *a, struct err *e)
{
    const char *conf = arena_printf(a, "%s/" APPTAINER_CONF, site->apptainer);
    const char *binds = arena_printf(a, "bind path = %.*s\n", (int)(strrchr(done->dir, '/') - done->dir), done->dir);
    if (access(conf, F_OK))
        return err_errno(e, "%s: expected Apptainer's configuration", conf);
    for (int i = 0; i < c->nfiles; i++)
        binds = arena_printf(a, "%sbind path = %s\n", binds, c->files[i]);
    const char *env = "";
    for (const char *line = c->env; *line; line += strcspn(line, "\n") + 1) {
        int name = (int)strcspn(line, "="), n = (int)strcspn(line, "\n");
        env = arena_printf(a, "%s%.*s='%.*s'\n", env, name, line, n - name - 1, line + name + 1);
    }
    int rc = install_merge_file(conf, binds, a, e);
    return rc ? rc : write_below(site->apptainer, APPTAINER_ENV, env, a, e);
}

static int remove_below(const char *dir, const char *name, struct arena *a, struct err *e)
{
    const char *path = arena_printf(a, "%s/%s", dir, name);
    return access(path, F_OK) ? 0 : trust_unlink(path, e);
}

static int remove_all(const struct install_site *site, struct arena *a, struct err *e)
{
    int rc = site->cdi ? remove_below(site->cdi, CDI_FILE, a, e) : 0;
    if (!rc && site->enroot && !(rc = remove_below(site->enroot, ENROOT_ENV, a, e)))
        rc = remove_below(site->enroot, ENROOT_MOUNT, a, e);
    if (!rc && site->apptainer && !(rc = remove_below(site->apptainer, APPTAINER_ENV, a, e)))
        rc = install_merge_file(arena_printf(a, "%s/" APPTAINER_CONF, site->apptainer), NULL, a, e);
    return rc;
}

int install_containers(const struct install_site *site, const struct install_done *done, const char *lines,
                       struct arena *a, struct err *e)
{
    if (!lines)
        return remove_all(site, a, e);
    const mode_t before = umask(022);
    struct contents c;
    list_contents(lines, &c, a);
    int rc = site->cdi ? write_cdi(site, done, &c, a, e) : 0;
    if (!rc && site->enroot)
        rc = write_enroot(site, done, &c, a, e);
    if (!rc && site->apptainer)
        rc = write_apptainer(site, done, &c, a, e);
    umask(before);
    return rc;
}
