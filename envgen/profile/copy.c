/* A profile with one file changed is another profile: immutable as the first, with a hash of its own. */
#include <string.h>
#include <time.h>

#include "core/file.h"
#include "core/json.h"
#include "envgen/profile/profile.h"
#include "envgen/profile/staged_write.h"

static int stage_file(struct env_staged_write *s, const struct env_profile *p, const char *name, struct err *e)
{
    char *data;
    size_t bytes;
    int rc = file_read(arena_printf(s->arena, "%s/%s", p->dir, name), FILE_LIMIT, s->arena, &data, &bytes, e);
    return rc ? rc : env_staged_write_add(s, name, data, bytes, e);
}

static int stage_manifest(struct env_staged_write *s, const struct env_profile *p, struct err *e)
{
    struct env_manifest m = p->manifest;
    char created[32];
    time_t now = time(NULL);
    strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    m.created = created;
    m.nfiles = 0;
    m.files = arena_alloc(s->arena, (size_t)(s->count + 1) * sizeof *m.files);
    for (int i = 0; i < s->count; i++) {
        struct env_manifest_file *f = &m.files[m.nfiles++];
        *f = (struct env_manifest_file){.name = s->files[i].name, .bytes = s->files[i].bytes};
        memcpy(f->sha256, s->files[i].sha256, SHA256_HEX);
    }
    env_manifest_hash(&m);
    cJSON *doc = env_manifest_json(&m);
    char *text = cJSON_Print(doc);
    cJSON_Delete(doc);
    int rc = text ? 0 : err_set(e, ERR_FAILED, "out of memory");
    const char *line = rc ? NULL : arena_printf(s->arena, "%s\n", text);
    cJSON_free(text);
    return rc ? rc : env_staged_write_add(s, ENV_MANIFEST, line, strlen(line), e);
}

int env_profile_copy(const struct env_profile *p, const char *dir, const char *name, const char *data, size_t bytes,
                     struct err *e)
{
    struct arena *a = arena_new();
    struct env_staged_write s;
    int rc = env_profile_complete(dir) ? err_set(e, ERR_FAILED, "%s: holds a finished profile already", dir)
                                       : file_mkdirs(dir, e);
    if (rc) {
        arena_free(a);
        return rc;
    }
    env_staged_write_begin(&s, dir, a);
    for (int i = 0; i < p->manifest.nfiles && !rc; i++) {
        const char *file = p->manifest.files[i].name;
        if (!strcmp(file, "tuner.bin") && !strcmp(name, "tuner.csv"))
            continue; /* made from the other one */
        rc = strcmp(file, name) ? stage_file(&s, p, file, e) : env_staged_write_add(&s, name, data, bytes, e);
    }
    if (!rc)
        rc = stage_manifest(&s, p, e);
    if (!rc)
        rc = env_staged_write_commit(&s, ENV_MANIFEST, e);
    env_staged_write_abandon(&s);
    arena_free(a);
    return rc;
}
