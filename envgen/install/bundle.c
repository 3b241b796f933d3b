/* A profile as one file, for nodes that share no file system, and what of it a node keeps: for each file a line
 * "NAME BYTES", and its bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/trust.h"
#include "envgen/install/install.h"
#include "slurm/hook.h"

static int pack_file(const char *dir, const char *name, FILE *out, struct arena *a, struct err *e)
{
    char *data;
    size_t bytes;
    int rc = file_read(arena_printf(a, "%s/%s", dir, name), FILE_LIMIT, a, &data, &bytes, e);
    if (!rc && (fprintf(out, "%s %zu\n", name, bytes) < 0 || fwrite(data, 1, bytes, out) != bytes))
        rc = err_errno(e, "%s: cannot be packed", name);
    return rc;
}

int install_pack(const char *profile, const char *path, struct err *e)
{
    struct file_out o;
    struct env_profile *p = env_profile_open(profile, e);
    int rc = 0;
    if (!p)
        return ERR_FAILED;
    file_out_begin(&o);
    fputs(HOOK_NODE_FORMAT, o.stream);
    for (int i = 0; i < p->manifest.nfiles && !rc; i++)
        rc = pack_file(p->dir, p->manifest.files[i].name, o.stream, p->arena, e);
    if (!rc)
        rc = pack_file(p->dir, ENV_MANIFEST, o.stream, p->arena, e);
    rc = file_out_end(&o, path, rc, e);
    env_profile_free(p);
    return rc;
}

int install_pack_for_nodes(int profiles, const struct install_done *done, const char *map, struct err *e)
{
    char *text = NULL;
    size_t bytes = 0;
    struct arena *a = done->arena;
    FILE *out = open_memstream(&text, &bytes);
    if (out)
        fputs(HOOK_NODE_FORMAT, out);
    int rc = out ? pack_file(done->dir, "hook.map", out, a, e) : err_errno(e, "no memory");
    if (!rc && !access(arena_printf(a, "%s/tuner.bin", done->dir), F_OK))
        rc = pack_file(done->dir, "tuner.bin", out, a, e);
    for (const char *line = map; !rc && *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *name = line + strlen("file ");
        if (!strncmp(line, "file ", strlen("file ")))
            rc = pack_file(done->dir, arena_strndup(a, name, strcspn(name, " ")), out, a, e);
    }
    if (out && fclose(out) && !rc)
        rc = err_errno(e, "no memory");
    const char *name = arena_printf(a, "%s.node", done->hash);
    if (!rc && bytes > HOOK_NODE_BYTES)
        unlinkat(profiles, name, 0); /* nodes read the files themselves */
    else if (!rc && trust_put(profiles, name, text, bytes, 0644))
        rc = err_errno(e, "%s.node: cannot be written", done->dir);
    free(text);
    return rc;
}

static int unpack_file(const char *dir, char **at, const char *end, struct arena *a, struct err *e)
{
    long long bytes;
    char *name, *data = hook_bundle_next(at, end, &name, &bytes);
    if (!data)
        return err_set(e, ERR_FAILED, "not a complete bundle");
    if (!env_manifest_name_ok(name) && strcmp(name, ENV_MANIFEST) != 0)
        return err_set(e, ERR_FAILED, "the bundle has a file '%.60s', which is not a valid name in a profile", name);
    const char *slash = strrchr(name, '/');
    int rc = slash ? file_mkdirs(arena_printf(a, "%s/%.*s", dir, (int)(slash - name), name), e) : 0;
    return rc ? rc : file_write(arena_printf(a, "%s/%s", dir, name), data, (size_t)bytes, e);
}

int install_unpack(const char *path, const char *dir, struct arena *a, const char **profile, struct err *e)
{
    char *data, *made = arena_printf(a, "%s/nccltune-bundle-XXXXXX", dir);
    size_t bytes, head = sizeof HOOK_NODE_FORMAT - 1;
    int rc = file_read(path, FILE_LIMIT, a, &data, &bytes, e);
    if (rc)
        return rc;
    if (bytes < head || memcmp(data, HOOK_NODE_FORMAT, head) != 0)
        return err_set(e, ERR_FAILED, "%s: expected a bundle of nccltune", strcmp(path, "-") ? path : "standard input");
    trust_delay_end(NULL);
    if (!mkdtemp(made))
        return err_errno(e, "%s: no directory can be made there", dir);
    *profile = made;
    for (char *at = data + head, *end = data + bytes; at < end && !rc;)
        rc = unpack_file(made, &at, end, a, e);
    return rc;
}
