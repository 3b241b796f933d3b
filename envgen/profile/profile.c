/* A finished profile, read back and checked. */
#include "envgen/profile/profile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/trust.h"

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
            return err_set(e, ERR_FAILED,
                           "%s: is not the file that the manifest names, it was changed after the profile "
                           "was finished",
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
    if (!env_profile_complete(p->dir))
        return err_set(e, ERR_FAILED,
                       "%s: is no finished profile, it has no " ENV_MANIFEST " ('nccltune tune --resume' finishes one)",
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
