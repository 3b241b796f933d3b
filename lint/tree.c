/* A directory and all below it, without what git would ignore. Git itself is not asked: the configuration of a
 * repository that comes from anywhere may make it run programs. */
#include <dirent.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "lint/lint_internal.h"

#define MOST_DEPTH   64
#define MOST_BYTES   ((size_t)8 << 20)
#define IGNORE_BYTES ((size_t)1 << 20)

/* ---- what git ignores -------------------------------------------------------------------------------------------- */

struct pattern {
    const char *text;
    int keeps, directories, anchored;
};

/* The patterns of one directory; those further in count more. */
struct ignores {
    const struct ignores *outer;
    const char *base; /* absolute */
    struct pattern *list;
    size_t n;
};

static void add_pattern(struct arena *a, struct ignores *g, const char *line, size_t n)
{
    struct pattern p = {0};
    while (n > 0 && strchr(" \t\r", line[n - 1]))
        n--;
    if (n == 0 || *line == '#')
        return;
    p.keeps = *line == '!';
    line += p.keeps;
    n -= (size_t)p.keeps;
    p.directories = n > 0 && line[n - 1] == '/';
    n -= (size_t)p.directories;
    p.anchored = memchr(line, '/', n) != NULL;
    if (n > 0 && *line == '/') {
        line++;
        n--;
    }
    p.text = arena_strndup(a, line, n);
    g->list = arena_grow(a, g->list, g->n, sizeof p);
    g->list[g->n++] = p;
}

static void read_patterns(struct arena *a, struct ignores *g, const char *path)
{
    char *text;
    size_t bytes;
    if (access(path, R_OK) || file_read_text(path, IGNORE_BYTES, a, &text, &bytes, NULL))
        return;
    for (const char *line = text; *line; line += strspn(line, "\n")) {
        size_t n = strcspn(line, "\n");
        add_pattern(a, g, line, n);
        line += n;
    }
}

static struct ignores *ignores_of(struct arena *a, const struct ignores *outer, const char *directory)
{
    struct ignores *g = ARENA_NEW(a, struct ignores);
    *g = (struct ignores){outer, arena_strdup(a, directory), NULL, 0};
    read_patterns(a, g, arena_printf(a, "%s/.git/info/exclude", directory));
    read_patterns(a, g, arena_printf(a, "%s/.gitignore", directory));
    return g;
}

/* A double star crosses directories, and may stand for none at all. */
static int fits_path(struct arena *a, const char *pattern, const char *path)
{
    const char *stars = strstr(pattern, "**/");
    if (!strstr(pattern, "**"))
        return !fnmatch(pattern, path, FNM_PATHNAME);
    if (!fnmatch(pattern, path, 0))
        return 1;
    return stars && !fnmatch(arena_printf(a, "%.*s%s", (int)(stars - pattern), pattern, stars + 3), path, 0);
}

static int is_ignored(struct arena *a, const struct ignores *g, const char *path, int is_directory)
{
    for (; g; g = g->outer) {
        const char *below = path + strlen(g->base) + 1, *slash = strrchr(below, '/');
        for (size_t i = g->n; i-- > 0;) {
            const struct pattern *p = &g->list[i];
            if (p->directories && !is_directory)
                continue;
            if (p->anchored ? fits_path(a, p->text, below) : !fnmatch(p->text, slash ? slash + 1 : below, 0))
                return !p->keeps;
        }
    }
    return 0;
}

/* Those of the directories above, from the repository's own down. */
static const struct ignores *ignores_above(struct arena *a, const char *directory)
{
    char *up = arena_strdup(a, directory), *slash;
    if (!access(arena_printf(a, "%s/.git", up), F_OK) || !(slash = strrchr(up, '/')) || slash == up)
        return NULL;
    *slash = '\0';
    for (const char *p = up; *p;) {
        if (!access(arena_printf(a, "%s/.git", p), F_OK))
            return ignores_of(a, ignores_above(a, up), up);
        char *last = strrchr(p, '/');
        if (!last || last == p)
            return NULL;
        p = arena_strndup(a, p, (size_t)(last - p));
    }
    return NULL;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

struct walk {
    struct lint *l;
    struct arena *a;
    size_t looked;
};

static int is_candidate(const char *name, const char *text, size_t bytes)
{
    return lint_format_named(name) || (bytes > 2 && !memcmp(text, "#!", 2)) ||
           (bytes > 8 && !memcmp(text, "#%Module", 8));
}

static void read_one(struct walk *w, const char *path, const char *shown, const char *name)
{
    char *text;
    size_t bytes;
    struct arena *a = arena_new();
    if (!file_read(path, MOST_BYTES, a, &text, &bytes, NULL) && !memchr(text, '\0', bytes)) {
        w->looked++;
        if (is_candidate(name, text, bytes) && lint_names_any(text, bytes))
            lint_read_text(w->l, shown, text, bytes, NULL, NULL);
    }
    arena_free(a);
}

static int is_passed_by(const char *name)
{
    static const char *const known[] = {".github", ".gitlab", ".circleci", ".devcontainer", ".buildkite"};
    if (name[0] != '.')
        return 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(name, known[i]))
            return 0;
    return 1;
}

static int walk_directory(struct walk *w, const char *path, const char *shown, const struct ignores *outer, int depth)
{
    struct dirent **list;
    int n = scandir(path, &list, NULL, alphasort);
    const struct ignores *g = n < 0 ? NULL : ignores_of(w->a, outer, path);
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        char *full = arena_printf(w->a, "%s/%s", path, name);
        char *as = *shown ? arena_printf(w->a, "%s/%s", shown, name) : arena_strdup(w->a, name);
        struct stat st;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !lstat(full, &st) &&
            !is_ignored(w->a, g, full, S_ISDIR(st.st_mode))) {
            if (S_ISDIR(st.st_mode) && !is_passed_by(name) && depth < MOST_DEPTH)
                walk_directory(w, full, as, g, depth + 1);
            else if (S_ISREG(st.st_mode))
                read_one(w, full, as, name);
        }
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    return n < 0 ? -1 : 0;
}

int lint_read_tree(struct lint *l, const char *directory, size_t *looked, struct err *e)
{
    struct walk w = {l, arena_new(), 0};
    char *path = realpath(directory, NULL);
    size_t n = strlen(directory);
    while (n > 1 && directory[n - 1] == '/')
        n--;
    const char *shown = !strcmp(directory, ".") || !strcmp(directory, "./") ? "" : arena_strndup(w.a, directory, n);
    int rc = path ? walk_directory(&w, path, shown, ignores_above(w.a, path), 0) : -1;
    int code = rc ? err_errno(e, "%s", directory) : 0;
    *looked += w.looked;
    free(path);
    arena_free(w.a);
    return code;
}
