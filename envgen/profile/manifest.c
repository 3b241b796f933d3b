/* manifest.json, both ways. */
#include "envgen/profile/profile.h"

#include "core/json.h"

#include <stdlib.h>
#include <string.h>

#define FILES_MAX 1000

int env_manifest_name_ok(const char *name)
{
    if (!strncmp(name, ENV_CLASSES, sizeof ENV_CLASSES - 1))
        name += sizeof ENV_CLASSES - 1;
    size_t n = strlen(name);
    return n > 0 && n <= 100 && *name != '.' && strcmp(name, ENV_MANIFEST) != 0 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == n;
}

static int hash_ok(const char *hex)
{
    return strlen(hex) == SHA256_HEX - 1 && strspn(hex, "0123456789abcdef") == SHA256_HEX - 1;
}

static int by_name(const void *a, const void *b)
{
    const struct env_manifest_file *x = a, *y = b;
    return strcmp(x->name, y->name);
}

void env_manifest_hash(struct env_manifest *m)
{
    struct sha256 s;
    sha256_init(&s);
    if (m->nfiles > 1)
        qsort(m->files, (size_t)m->nfiles, sizeof *m->files, by_name);
    for (int i = 0; i < m->nfiles; i++) {
        sha256_update(&s, m->files[i].sha256, SHA256_HEX - 1);
        sha256_update(&s, "  ", 2);
        sha256_update(&s, m->files[i].name, strlen(m->files[i].name));
        sha256_update(&s, "\n", 1);
    }
    sha256_hex(&s, m->hash);
}

cJSON *env_manifest_json(const struct env_manifest *m)
{
    cJSON *doc = cJSON_CreateObject();
    json_add_str(doc, "format", ENV_MANIFEST_FORMAT);
    json_add_str(doc, "tool", m->tool);
    json_add_str(doc, "created", m->created);
    json_add_str(doc, "topology", m->topology);
    json_add_str(doc, "hash", m->hash);
    cJSON_AddBoolToObject(doc, "complete", 1);
    cJSON *libraries = cJSON_AddArrayToObject(doc, "libraries");
    for (int i = 0; i < m->nlibraries; i++) {
        cJSON *o = json_append(libraries);
        json_add_str(o, "name", m->libraries[i]);
    }
    cJSON *files = cJSON_AddArrayToObject(doc, "files");
    for (int i = 0; i < m->nfiles; i++) {
        cJSON *o = json_append(files);
        json_add_str(o, "name", m->files[i].name);
        json_add_str(o, "sha256", m->files[i].sha256);
        cJSON_AddNumberToObject(o, "bytes", (double)m->files[i].bytes);
    }
    return doc;
}

static int read_file(const cJSON *o, const char *path, struct arena *a, struct env_manifest_file *f, struct err *e)
{
    const char *name = json_str(o, "name", ""), *sha256 = json_str(o, "sha256", "");
    int64_t bytes = json_int(o, "bytes", -1);
    if (!env_manifest_name_ok(name))
        return err_at(e, path, 0, 0, "'%s' cannot be the name of a profile's file", name);
    if (!hash_ok(sha256) || bytes < 0)
        return err_at(e, path, 0, 0, "file %s: expected \"sha256\" of 64 hex digits and \"bytes\"", name);
    f->name = arena_strdup(a, name);
    memcpy(f->sha256, sha256, SHA256_HEX);
    f->bytes = (uint64_t)bytes;
    return 0;
}

static int read_files(const cJSON *files, const char *path, struct arena *a, struct env_manifest *m, struct err *e)
{
    const cJSON *item;
    int n = cJSON_GetArraySize(files);
    if (!cJSON_IsArray(files) || n < 1 || n > FILES_MAX)
        return err_at(e, path, 0, 0, "expected \"files\" as an array of 1 to %d", FILES_MAX);
    m->files = arena_alloc(a, (size_t)n * sizeof *m->files);
    cJSON_ArrayForEach(item, files)
    {
        int rc = read_file(item, path, a, &m->files[m->nfiles++], e);
        if (rc)
            return rc;
    }
    return 0;
}

static int read_all(const cJSON *doc, const char *path, struct arena *a, struct env_manifest *m, struct err *e)
{
    const cJSON *libraries = cJSON_GetObjectItemCaseSensitive(doc, "libraries"), *item;
    *m = (struct env_manifest){
        .tool = arena_strdup(a, json_str(doc, "tool", "")),
        .created = arena_strdup(a, json_str(doc, "created", "")),
        .topology = arena_strdup(a, json_str(doc, "topology", "")),
    };
    cJSON_ArrayForEach(item, libraries)
    {
        m->libraries = arena_grow(a, m->libraries, (size_t)m->nlibraries, sizeof *m->libraries);
        m->libraries[m->nlibraries++] = arena_strdup(a, json_str(item, "name", ""));
    }
    if (!json_bool(doc, "complete", 0))
        return err_at(e, path, 0, 0, "expected \"complete\": true");
    int rc = read_files(cJSON_GetObjectItemCaseSensitive(doc, "files"), path, a, m, e);
    if (rc)
        return rc;
    env_manifest_hash(m);
    for (int i = 1; i < m->nfiles; i++)
        if (!strcmp(m->files[i].name, m->files[i - 1].name))
            return err_at(e, path, 0, 0, "file %s is listed twice", m->files[i].name);
    if (strcmp(m->hash, json_str(doc, "hash", "")) != 0)
        return err_at(e, path, 0, 0, "\"hash\" does not fit the files that are listed: the manifest was changed");
    return 0;
}

int env_manifest_load(const char *dir, struct arena *a, struct env_manifest *m, struct err *e)
{
    const char *path = arena_printf(a, "%s/" ENV_MANIFEST, dir);
    cJSON *doc = json_load(path, ENV_MANIFEST_FORMAT, e);
    if (!doc)
        return ERR_FAILED;
    int rc = read_all(doc, path, a, m, e);
    cJSON_Delete(doc);
    return rc;
}
