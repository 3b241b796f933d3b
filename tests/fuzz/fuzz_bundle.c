/* What a node takes of a bundle: names inside a profile, bytes inside the bundle. */
#include <stdlib.h>
#include <string.h>

#include "core/file.h"

/* In place of the file system: nothing is written outside of the profile "in", and all bytes are the bundle's. */
static const char *first, *behind;

static int take_file(const char *path, const char *data, size_t bytes)
{
    const char *name = path + 3;
    if (strncmp(path, "in/", 3) != 0 || *name == '.' || *name == '/' || strstr(name, "/.") ||
        strchr(name, '/') != strrchr(name, '/') || data < first || data > behind || bytes > (size_t)(behind - data))
        abort();
    return 0;
}

#define file_write(path, data, bytes, e) take_file(path, data, bytes)
#define file_mkdirs(path, e)             0
#include "envgen/install/bundle.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct arena *a = arena_new();
    struct err e = {0};
    /* A '\0' behind it, as file_read leaves one. */
    char *at = arena_alloc(a, bytes + 1), *end = at + bytes;
    memcpy(at, data, bytes);
    *end = '\0';
    first = at, behind = end;
    while (at < end && !unpack_file("in", &at, end, a, &e))
        ;
    arena_free(a);
    return 0;
}
