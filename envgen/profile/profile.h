/* A finished profile, read back: the directory that stages hand to one another and that a site installs. */
#pragma once

#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/hash.h"
#include "envgen/profile/decisions.h"

/* ---- manifest.json: what a profile consists of, and its name: the hash over all of it. ---- */

struct cJSON;

#define ENV_MANIFEST        "manifest.json"
#define ENV_MANIFEST_FORMAT "nccltune-manifest/1"

struct env_manifest_file {
    const char *name; /* within the profile */
    char sha256[SHA256_HEX];
    uint64_t bytes;
};

struct env_manifest {
    const char *tool, *created; /* version; UTC, "2026-01-31T12:00:00Z" */
    const char *topology;       /* hash of the topology that the profile holds for */
    const char **libraries;     /* "Open MPI 4.1.4": what was measured */
    struct env_manifest_file *files;
    int nlibraries, nfiles;
    char hash[SHA256_HEX];
};

/* SHA-256 over the lines "HASH  NAME\n" of all files sorted by name: what `sha256sum FILE... | sha256sum` prints.
 * Sorts the files. */
void env_manifest_hash(struct env_manifest *m);

struct env_staged_write;

/* Name what is staged, as of now; the files are in the arena of `s`. */
void env_manifest_list(struct env_manifest *m, const struct env_staged_write *s);

/* Add the manifest itself to that. */
int env_manifest_stage(const struct env_manifest *m, struct env_staged_write *s, struct err *e);

/* As a document; cJSON_Delete frees. */
struct cJSON *env_manifest_json(const struct env_manifest *m);

/* Reads and checks the manifest of directory `dir` into `a`: format, names, hashes, that it is complete and that its
 * own hash fits. The files themselves are not looked at. */
int env_manifest_load(const char *dir, struct arena *a, struct env_manifest *m, struct err *e);

#define ENV_CLASSES "nccl.d/" /* the one directory within a profile */

/* Nonzero if a file may be part of a profile: letters, digits and . _ -, not hidden, not the manifest itself;
 * ENV_CLASSES may stand in front. */
int env_manifest_name_ok(const char *name);

/* ---- a profile ---- */

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

/* Writes a copy with another topology.json into `dir`, which is made and may hold no profile. The manifest is that of
 * the copy, so it has a hash of its own. */
int env_profile_copy(const struct env_profile *p, const char *dir, const char *topology, struct err *e);

/* Nonzero if `dir` holds a manifest, so that it may not be written into without being told to. */
int env_profile_complete(const char *dir);
