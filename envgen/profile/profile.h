/* A finished profile, read back: the directory that stages hand to one another and that a site installs. */
#ifndef ENVGEN_PROFILE_PROFILE_H
#define ENVGEN_PROFILE_PROFILE_H

#include "envgen/profile/decisions.h"
#include "envgen/profile/manifest.h"

struct env_profile {
    struct arena *arena;
    const char *dir; /* absolute */
    struct env_manifest manifest;
    struct env_decisions *decisions;
};

/* Opens a profile and checks every file against the manifest. NULL after an error, which names the file: no manifest
 * (the profile is not complete), a file that is missing or was changed, contents that make no sense. */
struct env_profile *env_profile_open(const char *dir, struct err *e);
void env_profile_free(struct env_profile *p); /* NULL is fine */

/* Writes a copy with other contents of its file `name` into `dir`, which is made and may hold no profile. The manifest
 * is that of the copy, so it has a hash of its own. */
int env_profile_copy(const struct env_profile *p, const char *dir, const char *name, const char *data, size_t bytes,
                     struct err *e);

/* Whether `dir` holds a manifest, so that it may not be written into without being told to. */
int env_profile_complete(const char *dir);

#endif
