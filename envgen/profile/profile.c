/* A finished profile, read back and checked. */
#include "envgen/profile/profile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/file.h"
#include "core/json.h"
#include "core/trust.h"
#include "envgen/profile/staged_write.h"

/* ---- manifest.json, both ways ------------------------------------------------------------------------------------ */

#define FILES_MAX 1000

int env_manifest_name_ok(const char *name)
{
    if (!strncmp(name, ENV_CLASSES, sizeof ENV_CLASSES - 1))
        name += sizeof ENV_CLASSES - 1;
    size_t n = strlen(name);
    return n > 0 && n <= 100 && *name != '.' && strcmp(name, ENV_MANIFEST) != 0 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == n;
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
    if (strlen(sha256) != SHA256_HEX - 1 || strspn(sha256, "0123456789abcdef") != SHA256_HEX - 1 || bytes < 0)
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
        ARENA_ADD(a, m->libraries, m->nlibraries) = arena_strdup(a, json_str(item, "name", ""));
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
        return err_at(e, path, 0, 0, "\"hash\" does not match the listed files: the manifest was changed");
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

void env_manifest_list(struct env_manifest *m, const struct env_staged_write *s)
{
    char created[32];
    time_t now = time(NULL);
    strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    m->created = arena_strdup(s->arena, created);
    m->nfiles = s->count;
    m->files = arena_alloc(s->arena, (size_t)(s->count + 1) * sizeof *m->files);
    for (int i = 0; i < s->count; i++) {
        m->files[i] = (struct env_manifest_file){.name = s->files[i].name, .bytes = s->files[i].bytes};
        memcpy(m->files[i].sha256, s->files[i].sha256, SHA256_HEX);
    }
    env_manifest_hash(m);
}

int env_manifest_stage(const struct env_manifest *m, struct env_staged_write *s, struct err *e)
{
    const char *text = json_text(env_manifest_json(m), s->arena);
    return env_staged_write_add(s, ENV_MANIFEST, text, strlen(text), e);
}

/* ---- a profile with one file changed is another profile, with a hash of its own ---------------------------------- */

static int stage_file(struct env_staged_write *s, const struct env_profile *p, const char *name, struct err *e)
{
    char *data;
    size_t bytes;
    int rc = file_read(arena_printf(s->arena, "%s/%s", p->dir, name), FILE_LIMIT, s->arena, &data, &bytes, e);
    return rc ? rc : env_staged_write_add(s, name, data, bytes, e);
}

int env_profile_copy(const struct env_profile *p, const char *dir, const char *topology, struct err *e)
{
    struct env_staged_write s;
    int rc =
        env_profile_complete(dir) ? err_set(e, ERR_FAILED, "%s: already a complete profile", dir) : file_mkdirs(dir, e);
    if (rc)
        return rc;
    env_staged_write_begin(&s, dir, p->arena);
    for (int i = 0; i < p->manifest.nfiles && !rc; i++) {
        const char *file = p->manifest.files[i].name;
        rc = strcmp(file, "topology.json") ? stage_file(&s, p, file, e)
                                           : env_staged_write_add(&s, file, topology, strlen(topology), e);
    }
    struct env_manifest m = p->manifest;
    if (!rc) {
        env_manifest_list(&m, &s);
        rc = env_manifest_stage(&m, &s, e);
    }
    if (!rc)
        rc = env_staged_write_commit(&s, ENV_MANIFEST, e);
    env_staged_write_abandon(&s);
    return rc;
}

int env_profile_complete(const char *dir)
{
    struct arena *a = arena_new();
    struct stat st;
    int there = !stat(arena_printf(a, "%s/" ENV_MANIFEST, dir), &st);
    arena_free(a);
    return there;
}

static int check_files(const struct env_profile *p, struct err *e)
{
    for (int i = 0; i < p->manifest.nfiles; i++) {
        const struct env_manifest_file *f = &p->manifest.files[i];
        const char *path = arena_printf(p->arena, "%s/%s", p->dir, f->name);
        char hex[SHA256_HEX];
        int rc = file_sha256(path, hex, e);
        if (rc)
            return rc;
        if (strcmp(hex, f->sha256) != 0)
            return err_set(e, ERR_FAILED, "%s: differs from the manifest: changed after the profile was finished",
                           path);
    }
    return 0;
}

static int read_profile(struct env_profile *p, const char *dir, struct err *e)
{
    struct stat st;
    int fd = trust_open(dir, TRUST_READ, 0, O_PATH, &st, e);
    if (fd < 0)
        return ERR_FAILED;
    char *real = realpath(arena_printf(p->arena, "/proc/self/fd/%d", fd), NULL);
    p->dir = arena_strdup(p->arena, real ? real : dir);
    free(real);
    close(fd);
    if (!S_ISDIR(st.st_mode))
        return err_set(e, ERR_FAILED, "%s: expected a profile, which is a directory", dir);
    if (!env_profile_complete(p->dir) && !access(arena_printf(p->arena, "%s/results.jsonl", p->dir), F_OK))
        return err_set(e, ERR_FAILED,
                       "%s: incomplete profile, missing " ENV_MANIFEST " ('nccltune tune --resume' completes it)", dir);
    if (!env_profile_complete(p->dir))
        return err_set(e, ERR_FAILED,
                       "%s: not a profile directory, it has no " ENV_MANIFEST
                       "; 'nccltune tune -o PROFILE' makes one, 'nccltune generate' from logs",
                       dir);
    int rc = env_manifest_load(p->dir, p->arena, &p->manifest, e);
    if (!rc)
        rc = check_files(p, e);
    if (rc)
        return rc;
    p->decisions = env_decisions_load(arena_printf(p->arena, "%s/decisions.json", p->dir), e);
    return p->decisions ? 0 : ERR_FAILED;
}

struct env_profile *env_profile_open(const char *dir, struct err *e)
{
    struct arena *a = arena_new();
    struct env_profile *p = ARENA_NEW(a, struct env_profile);
    p->arena = a;
    if (!read_profile(p, dir, e))
        return p;
    env_profile_free(p);
    return NULL;
}

void env_profile_free(struct env_profile *p)
{
    if (!p)
        return;
    env_decisions_free(p->decisions);
    arena_free(p->arena);
}
