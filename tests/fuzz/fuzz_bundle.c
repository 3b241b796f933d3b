/* What a node takes of a bundle: names inside a profile, bytes inside the bundle. */
#include "envgen/install/bundle.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct arena *a = arena_new();
    struct err e = {0};
    /* A '\0' behind it, as file_read leaves one. */
    const char *at = arena_strndup(a, (const char *)data, bytes), *end = at + bytes, *name;
    size_t n;
    if (memchr(data, 0, bytes))
        end = at + strlen(at);
    while (at < end && (name = next_file(&at, end, &n, a, &e)))
        if (at > end || *name == '.' || *name == '/' || strstr(name, "/.") || strchr(name, '/') != strrchr(name, '/'))
            abort();
    arena_free(a);
    return 0;
}
