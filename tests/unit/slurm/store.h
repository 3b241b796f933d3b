/* A store of one profile, written by hand into a directory of this test, and a trusted place for it. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slurm/hook.h"
#include "tests/lib/trusted.h"

#define STORE_HASH "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

struct store {
    char root[480];
    char path[1024]; /* of the last store_path */
    struct hook_conf conf;
};

static inline char *store_path(struct store *s, const char *name)
{
    snprintf(s->path, sizeof s->path, "%s/%s", s->root, name);
    return s->path;
}

static inline void store_write(struct store *s, const char *name, const char *text)
{
    FILE *f = fopen(store_path(s, name), "w");
    fputs(text, f);
    fclose(f);
    chmod(s->path, 0644);
}

static inline void store_file_line(struct store *s, FILE *map, const char *name, const char *text)
{
    struct sha256 sha;
    char hex[SHA256_HEX], path[256];
    sha256_init(&sha);
    sha256_update(&sha, text, strlen(text));
    sha256_hex(&sha, hex);
    snprintf(path, sizeof path, "profiles/" STORE_HASH "/%s", name);
    store_write(s, path, text);
    fprintf(map, "file %s %zu %s\n", name, strlen(text), hex);
}

static inline void store_fill(struct store *s)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *map = open_memstream(&text, &bytes);
    fputs("nccltune-hook/1\nprofile " STORE_HASH "\n", map);
    store_file_line(s, map, "tuner.csv", "allreduce,0,-1,ring,simple,4,-1,-1\n");
    store_file_line(s, map, "nccl.conf", "# common\nNCCL_IB_QPS_PER_CONNECTION=4\n");
    store_file_line(s, map, "nccl.d/a.conf", "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1\n");
    fputs("class a x 2 4318\nclass b x -1 0\nclass c y -1 0\n"
          "port a mlx5_0 1 400\nport a mlx5_1 1 400\nmodule a nvidia\n"
          "host n0 a\nhost n1 a\nhost n2 b\nhost n3 c\nend\n",
          map);
    fclose(map);
    store_write(s, "profiles/" STORE_HASH "/hook.map", text);
    free(text);
    store_write(s, "schedule", "1000 " STORE_HASH " all\n");
    store_write(s, "plugin.so", "");
}

/* A directory of our own below `base`; -1 where the hooks would not trust it. */
static inline int store_root(struct store *s, const char *base)
{
    snprintf(s->root, sizeof s->root, "%s/nccltune-test-of-a-store-that-a-site-keeps-far-down-%0100d-XXXXXX", base, 0);
    if (!mkdtemp(s->root)) {
        s->root[0] = 0;
        return -1;
    }
    chmod(s->root, 0755);
    if (is_trusted(s->root)) {
        store_write(s, "plugin.so", "");
        return 0;
    }
    rmdir(s->root);
    s->root[0] = 0;
    return -1;
}

/* Make a store in a directory that the hooks trust: in the tree, which may lie in a folder that everybody can write, at
 * home, or in /run. Return -1 if there is none; the store is then an empty directory that they do not trust. */
static inline int store_new(struct store *s)
{
    char cwd[200 + sizeof "/build"];
    const char *home = getenv("HOME");
    memset(s, 0, sizeof *s);
    umask(022);
    if ((!getcwd(cwd, 200) || store_root(s, strcat(cwd, "/build"))) && (!home || store_root(s, home)) &&
        store_root(s, "/run")) {
        strcpy(s->root, "/tmp/nccltune-store-XXXXXX");
        assert_non_null(mkdtemp(s->root));
        return -1;
    }
    mkdir(store_path(s, "profiles"), 0755);
    mkdir(store_path(s, "profiles/" STORE_HASH), 0755);
    mkdir(store_path(s, "profiles/" STORE_HASH "/nccl.d"), 0755);
    store_fill(s);
    s->conf.owner = getuid();
    s->conf.policy = HOOK_DEFAULT;
    snprintf(s->conf.store, sizeof s->conf.store, "%s", s->root);
    snprintf(s->conf.plugin, sizeof s->conf.plugin, "%s/plugin.so", s->root);
    return 0;
}

static inline void store_free(struct store *s)
{
    char command[1024];
    snprintf(command, sizeof command, "rm -rf '%s'", s->root);
    if (s->root[0] && system(command))
        fprintf(stderr, "# %s is left\n", s->root);
    s->root[0] = 0;
}
