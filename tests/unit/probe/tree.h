/* A copied /sys in a temporary folder, made file by file. */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "probe/topology/sysfs.h"

struct tree {
    char root[64];
    struct arena *a;
};

static inline void tree_begin(struct tree *t)
{
    strcpy(t->root, "/tmp/nccltune-tree.XXXXXX");
    assert_non_null(mkdtemp(t->root));
    t->a = arena_new();
    sysfs_set_root(t->root);
}

static inline int tree_remove(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

static inline void tree_end(struct tree *t)
{
    sysfs_set_root(NULL);
    nftw(t->root, tree_remove, 16, FTW_DEPTH | FTW_PHYS);
    arena_free(t->a);
}

/* The folder above `path` below the root. */
static inline char *tree_place(struct tree *t, const char *path)
{
    struct err e = {0};
    char *full = arena_printf(t->a, "%s%s", t->root, path), *slash = strrchr(full, '/');
    *slash = 0;
    if (access(full, F_OK)) /* file_mkdirs opens every folder above: most are there */
        assert_int_equal(file_mkdirs(full, &e), 0);
    *slash = '/';
    return full;
}

static inline void tree_bytes(struct tree *t, const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(tree_place(t, path), "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static inline void tree_file(struct tree *t, const char *path, const char *text)
{
    tree_bytes(t, path, text, strlen(text));
}

static inline void tree_link(struct tree *t, const char *path, const char *target)
{
    assert_int_equal(symlink(target, tree_place(t, path)), 0);
}
