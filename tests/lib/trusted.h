/* Where a test may expect that hooks believe a file: asked of the file system, not of the code that is tested. */
#pragma once

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Return 1 if `path` and every directory on the way belong to root or to this user and nobody else can write there. */
static inline int is_trusted(const char *path)
{
    char part[1024];
    struct stat st;
    for (size_t n = 0; path[n]; n++) {
        if (path[n] != '/' && path[n + 1] && path[n + 1] != '/')
            continue;
        snprintf(part, sizeof part, "%.*s", (int)n + 1, path);
        if (lstat(part, &st) || S_ISLNK(st.st_mode) || (st.st_uid != 0 && st.st_uid != geteuid()) || st.st_mode & 022)
            return 0;
    }
    return 1;
}
