/* A directory of its own for a test, files in it, and commands run on them. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/arena.h"
#include "envgen/write/write.h"

struct scratch {
    struct arena *arena;
    const char *dir;
};

static inline struct scratch scratch_new(void)
{
    struct scratch s = {.arena = arena_new()};
    const char *base = getenv("TMPDIR");
    char *dir = arena_printf(s.arena, "%s/nccltune-envgen-XXXXXX", base ? base : "/tmp");
    s.dir = mkdtemp(dir);
    if (!s.dir)
        abort();
    return s;
}

static inline const char *scratch_path(struct scratch *s, const char *name)
{
    return arena_printf(s->arena, "%s/%s", s->dir, name);
}

static inline const char *scratch_write(struct scratch *s, const char *name, const char *text, size_t bytes)
{
    const char *path = scratch_path(s, name);
    FILE *f = fopen(path, "w");
    if (!f || fwrite(text, 1, bytes, f) != bytes || fclose(f))
        abort();
    return path;
}

/* What a command prints on standard output and standard error; `*code` gets its exit code. */
static inline char *scratch_run(struct scratch *s, const char *command, int *code)
{
    char buffer[4096];
    const char *out = "";
    FILE *f = popen(arena_printf(s->arena, "(%s) 2>&1", command), "r");
    if (!f)
        abort();
    for (size_t n; (n = fread(buffer, 1, sizeof buffer - 1, f)) > 0;) {
        buffer[n] = 0;
        out = arena_printf(s->arena, "%s%s", out, buffer);
    }
    int status = pclose(f);
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return arena_strdup(s->arena, out);
}

static inline void scratch_free(struct scratch *s)
{
    int code;
    scratch_run(s, arena_printf(s->arena, "rm -rf '%s'", s->dir), &code);
    arena_free(s->arena);
}

/* What a writer prints for these settings, of a profile in `dir`; NULL when it refuses. */
static inline char *scratch_print(struct scratch *s, int (*write)(const struct env_writing *, FILE *, struct err *),
                                  const char *dir, struct env_setting *list, int n, struct err *e)
{
    struct env_decisions d = {.arena = s->arena, .tool = "0.1.0", .topology = "", .settings = list, .nsettings = n};
    struct env_writing w = {.decisions = &d, .dir = dir, .scratch = s->arena};
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    int rc = write(&w, out, e);
    fclose(out);
    char *copy = rc ? NULL : arena_strdup(s->arena, text);
    free(text);
    return copy;
}

/* All of a file, NULL when it cannot be read. */
static inline char *scratch_read(struct scratch *s, const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return NULL;
    char *text = arena_alloc(s->arena, 1 << 20);
    text[fread(text, 1, (1 << 20) - 1, f)] = 0;
    fclose(f);
    return text;
}
