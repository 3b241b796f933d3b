/* Documents are read, texts inside others too, and every rule looks at every setting. A document that cannot be read
 * says so and leaves the others alone. */
#include <dirent.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "lint/lint_internal.h"
#include "probe/topology/topology.h"

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

static void read_patterns(struct arena *a, struct ignores *g, const char *path)
{
    char *text, *rest = NULL;
    size_t bytes;
    if (access(path, R_OK) || file_read_text(path, IGNORE_BYTES, a, &text, &bytes, NULL))
        return;
    for (const char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        size_t n = lint_trim_end(line, 0, strlen(line));
        if (n == 0 || *line == '#')
            continue;
        struct pattern p = {.keeps = *line == '!'};
        line += p.keeps;
        n -= (size_t)p.keeps;
        p.directories = n > 0 && line[n - 1] == '/';
        n -= (size_t)p.directories;
        p.anchored = memchr(line, '/', n) != NULL;
        const size_t slash = n > 0 && *line == '/';
        p.text = arena_strndup(a, line + slash, n - slash);
        ARENA_ADD(a, g->list, g->n) = p;
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
        if (is_candidate(name, text, bytes) && (lint_names_any(text, bytes) || strstr(text, ".com/gpu:")))
            lint_read_text(w->l, shown, text, bytes, NULL, NULL);
    }
    arena_free(a);
}

static int is_passed_by(const char *name)
{
    return *name == '.' && !word_in(".github|.gitlab|.circleci|.devcontainer|.buildkite", WORD_IS, name, strlen(name));
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

#define LINT_LIMIT ((size_t)8 << 20) /* bytes of a document */

static void read_inner(struct lint *l, const struct lint_view *v, const char *name, int group, enum lint_how how)
{
    const char *s = v->s + v->from;
    size_t n = v->to - v->from;
    if (l->depth >= LINT_DEPTH || !lint_names_any(s, n))
        return;
    struct lint_view inner = *v;
    inner.format = lint_format_of(name, s, n);
    inner.group = group;
    inner.how = how;
    inner.why = NULL;
    l->depth++;
    if (inner.format->read)
        inner.format->read(l, &inner);
    l->depth--;
}

struct lint *lint_new(const struct lint_options *o)
{
    struct arena *a = arena_new();
    struct lint *l = ARENA_NEW(a, struct lint);
    l->arena = a;
    l->options = *o;
    l->low = o->nccl_low ? o->nccl_low : ENV_OLDEST_IN_USE;
    l->high = o->nccl_high ? o->nccl_high : ENV_NEWEST;
    l->read_inner = read_inner;
    l->format_told = lint_format_told;
    l->channels_asked = -1;
    return l;
}

void lint_free(struct lint *l)
{
    if (l)
        arena_free(l->arena);
}

static struct lint_text *add_text(struct lint *l, const char *name, const char *data, size_t bytes)
{
    struct lint_text *t = ARENA_NEW(l->arena, struct lint_text);
    ARENA_ADD(l->arena, l->texts, l->ntexts) = t;
    t->doc.name = arena_strdup(l->arena, name);
    t->data = data;
    t->bytes = bytes;
    t->first = l->nsettings;
    t->doc.kind = "unknown";
    t->nodes = -1;
    return t;
}

/* The sentence of an error that names the file in front; the document has it with its own place. */
static int has_failed(struct lint *l, struct lint_text *t, const struct err *why, struct err *e)
{
    size_t n = strlen(t->doc.name);
    const char *says = strncmp(why->text, t->doc.name, n) != 0 || why->text[n] != ':' ? why->text : why->text + n + 1;
    if (*says >= '0' && *says <= '9') {
        char *end;
        t->doc.error_line = strtol(says, &end, 10);
        says = end + (*end == ':');
        says += strspn(says, "0123456789:");
    }
    t->doc.error = arena_strdup(l->arena, says + strspn(says, " "));
    return err_set(e, why->code, "%s", why->text);
}

/* Once a document, not once a line: a file that came from Windows has thousands. */
static void check_line_ends(struct lint *l, const struct lint_text *t, const struct lint_format_of *f)
{
    if (t->count == 0 || !(f->flags & LINT_CR_COUNTS))
        return;
    const struct lint_setting *s = l->settings[t->first];
    if (s->text != t)
        return;
    const char *newline = memchr(t->data + s->name_at, '\n', t->bytes - s->name_at);
    if (!newline || newline == t->data || newline[-1] != '\r')
        return;
    int conf = !strcmp(t->doc.kind, "conf");
    if (conf && lint_holds(l, 0, 22999) == LINT_NONE)
        return;
    lint_find(l, NT_CARRIAGE_RETURN, s,
              conf ? "Lines end in CR LF, and NCCL before 2.30 keeps the CR as a part of the value."
                   : "Lines end in CR LF, and a shell keeps the CR as a part of the value.",
              "Write the file with plain LF line ends (dos2unix).");
}

static int begins_comment(const char *line)
{
    line += strspn(line, " \t");
    return word_in("#|//|--|;|*|/*|\"#|'#|<!--", WORD_BEGINS, line, strnlen(line, 4));
}

/* A name that something is plainly done with: NAME=, "NAME": , env["NAME"] = . */
static int looks_set(const struct lint_text *t, size_t name, size_t end)
{
    const char *s = t->data + end;
    int quoted = *s == '"' || *s == '\'';
    s += strspn(s, "\"'");
    s += strspn(s, "])");
    s += strspn(s, " \t");
    if (name > 0 && strchr("$%{<", t->data[name - 1]))
        return 0;
    if (*s == '=')
        return s[1] != '=';
    return quoted && *s == ':' && s[1] != ':';
}

/* A name that builds use for themselves is nothing to read. */
static int is_worth_reading(struct lint *l, const char *s, size_t n)
{
    if (n <= 5 || !memmem(s, n, "CCL_", 4) || !env_of_interest(s, n))
        return 0;
    const char *name = arena_strndup(l->arena, s, n);
    const struct env_other *o = env_other_find(name);
    const struct env_prefix *p = env_prefix_find(name);
    return !(o && o->status == ENV_BUILD) && !(p && p->status == ENV_BUILD);
}

static void count_unread(struct lint *l, struct lint_text *t)
{
    const char *s = t->data;
    long number = 1;
    int comment = begins_comment(s);
    for (size_t i = 0; i < t->bytes;) {
        size_t n = lint_name_length(s + i, t->bytes - i);
        int is_seen = comment || (t->seen && t->seen[i / 8] & 1u << i % 8);
        if (n > 0 && !is_seen && looks_set(t, i, i + n) && is_worth_reading(l, s + i, n))
            t->doc.unread_line = t->doc.unread++ ? t->doc.unread_line : number;
        if (s[i] == '\n') {
            comment = begins_comment(s + i + 1);
            number++;
        } else if (s[i] == ' ' && (s[i + 1] == '#' || !strncmp(s + i + 1, "//", 2))) {
            comment = 1;
        }
        i += n ? n : 1;
        while (n && i < t->bytes && s[i] >= '0' && s[i] <= '9')
            i++;
    }
}

/* A file of nccltune's own, whose first member is its format: what it tried or found is no setting of a job. */
static int is_our_json(const struct lint_text *t)
{
    int n = 0;
    sscanf(t->data, " { \"format\" : \"nccltune-%n", &n);
    return n > 0;
}

/* ---- files that a script sources --------------------------------------------------------------------------------- */

static void read_sourced(struct lint *l, const struct lint_view *v, size_t at, size_t end, int exported)
{
    struct lint_text *from = v->t;
    const char *word = lint_file_word(l, v->s, at, end), *slash = strchr(word, '/');
    const char *path = shell_sourced_path(l->arena, from->doc.name, word);
    if (!path && *word == '$' && slash) /* $DIR/FILE: taken for the script's own directory */
        path = shell_sourced_path(l->arena, from->doc.name, slash + 1);
    struct stat st;
    char *data = NULL;
    size_t bytes;
    long column;
    for (size_t i = 0; path && i < l->ntexts; i++)
        if (!strcmp(l->texts[i]->doc.name, path)) /* it has been read, or is being read */
            return;
    if (!path || stat(path, &st) || !S_ISREG(st.st_mode) || l->nsourced == LINT_SOURCED ||
        file_read_text(path, LINT_LIMIT, l->arena, &data, &bytes, NULL)) {
        /* Scripts of systems and environments set nothing of NCCL that a person would look for. */
        if (!from->doc.missing && *word != '$' && !strstr(word, "/etc/") &&
            (file_ends_with(word, ".sh") || file_ends_with(word, ".env"))) {
            from->doc.missing = word;
            lint_place(from, lint_at(v, at), &from->doc.missing_line, &column);
        }
        return;
    }
    struct lint_text *t = add_text(l, path, data, bytes);
    l->nsourced++;
    t->doc.kind = "shell";
    t->sourced_by = from;
    t->commands = from->commands;
    t->lines = lint_index_lines(l->arena, data, 0, bytes, &t->nlines);
    lint_read_shell(l,
                    &(struct lint_view){t, data, 0, bytes, .format = lint_format_called(exported ? "env" : "shell")});
    t->count = l->nsettings - t->first;
    from->inner += t->count;
    from->commands = t->commands;
    count_unread(l, t);
}

static int read_data(struct lint *l, struct lint_text *t, const char *kind, struct err *e)
{
    const struct lint_format_of *f = kind ? lint_format_called(kind) : lint_format_of(t->doc.name, t->data, t->bytes);
    struct err why = {0};
    if (!f) {
        err_set(&why, ERR_USAGE, "unknown kind of document '%s'", kind);
        return has_failed(l, t, &why, e);
    }
    t->doc.kind = f->kind;
    t->lines = lint_index_lines(l->arena, t->data, 0, t->bytes, &t->nlines);
    struct lint_view v = {t, t->data, 0, t->bytes, .format = f, .why = &why};
    if (is_our_json(t))
        return 0;
    t->templated = (f->flags & LINT_TEMPLATE) && word_in("{{|{%", WORD_OCCURS, t->data, t->bytes);
    if (t->templated)
        v = lint_masked(l, &v);
    t->slurm = strstr(t->data, "SLURM_") || strstr(t->data, "#SBATCH");
    t->export_none = strstr(t->data, "#SBATCH --export=NONE") && !strstr(t->data, "SLURM_EXPORT_ENV");
    if (f->read)
        f->read(l, &v);
    t->count = l->nsettings - t->first;
    check_line_ends(l, t, f);
    count_unread(l, t);
    if (!why.code && t->count >= LINT_MOST_SETTINGS)
        err_set(&why, ERR_FAILED, "%s: %d settings or more", t->doc.name, LINT_MOST_SETTINGS);
    return why.code ? has_failed(l, t, &why, e) : 0;
}

int lint_read_text(struct lint *l, const char *name, const char *text, size_t bytes, const char *kind, struct err *e)
{
    struct err why = {0};
    if (!memchr(text, '\0', bytes))
        return read_data(l, add_text(l, name, arena_strndup(l->arena, text, bytes), bytes), kind, e);
    err_set(&why, ERR_FAILED, "%s: contains a NUL byte, expected text", name);
    return has_failed(l, add_text(l, name, "", 0), &why, e);
}

int lint_read_file(struct lint *l, const char *path, const char *kind, struct err *e)
{
    char *data = NULL;
    size_t bytes;
    struct err why = {0};
    const char *name = strcmp(path, "-") ? path : "standard input";
    for (size_t i = 0; i < l->ntexts; i++)
        if (l->texts[i]->sourced_by && !strcmp(l->texts[i]->doc.name, path))
            return 0;
    if (file_read_text(path, LINT_LIMIT, l->arena, &data, &bytes, &why) &&
        (!data || bytes || name != path)) /* an empty file sets nothing; an empty pipe is a command that failed */
        return has_failed(l, add_text(l, name, "", 0), &why, e);
    l->read_sourced = l->follow = read_sourced;
    int rc = read_data(l, add_text(l, name, data, bytes), kind, e);
    l->read_sourced = NULL;
    return rc;
}

int lint_read_environ(struct lint *l, const char *name, const char *block, size_t bytes, struct err *e)
{
    if (bytes > LINT_LIMIT)
        return err_set(e, ERR_FAILED, "%s: an environment of %zu bytes, expected at most %zu", name, bytes, LINT_LIMIT);
    char *data = arena_alloc(l->arena, bytes + 1);
    memcpy(data, block, bytes);
    struct lint_text *t = add_text(l, name, data, bytes);
    struct lint_view v = {t, data, 0, bytes, NULL};
    t->doc.kind = "environment";
    for (size_t at = 0; at < bytes;) {
        size_t length = strlen(data + at);
        const char *equals = memchr(data + at, '=', length);
        struct lint_setting *s =
            equals ? lint_setting_new(l, &v, at, (size_t)(equals - data) - at, LINT_RUNNING) : NULL;
        if (s)
            s->value = equals + 1;
        at += length + 1;
    }
    t->count = l->nsettings - t->first;
    return 0;
}

int lint_read_process(struct lint *l, int pid, struct err *e)
{
    char *block;
    size_t bytes;
    const char *path = pid ? arena_printf(l->arena, "/proc/%d/environ", pid) : "/proc/self/environ";
    const char *name = pid ? arena_printf(l->arena, "process %d", pid) : "environment";
    int rc = file_read(path, LINT_LIMIT, l->arena, &block, &bytes, e);
    return rc ? rc : lint_read_environ(l, name, block, bytes, e);
}

/* ---- the run: findings come out in the order of the documents ---------------------------------------------------- */
static lint_check_fn *const themes[] = {
    lint_check_names,   lint_check_values, lint_check_effects, lint_check_conflicts,
    lint_check_devices, lint_check_reach,  lint_check_costs,
};

static int names_rccl(const struct lint_setting *s)
{
    return !strncmp(s->name, "RCCL_", 5) || !strncmp(s->name, "HSA_", 4) ||
           (s->value && (strstr(s->value, "librccl") || !strcmp(s->value, "XGMI")));
}

/* Which library all settings are for, as told or by the GPUs; otherwise each document is looked at for names that only
 * RCCL has. */
static void choose_library(struct lint *l)
{
    const struct topology *t = l->options.topology;
    l->rccl_sure = l->options.rccl >= 0 || (t && topo_gpu_class(t) >= 0);
    if (l->rccl_sure)
        l->rccl = l->options.rccl >= 0 ? l->options.rccl : topo_amd_arch(t) != NULL;
    for (size_t n = 0; n < l->ntexts && !l->rccl_sure; n++)
        for (size_t i = 0; i < l->texts[n]->count; i++)
            l->texts[n]->rccl |= names_rccl(l->settings[l->texts[n]->first + i]);
}

static int library_of(const struct lint *l, const struct lint_setting *s)
{
    if (l->rccl_sure)
        return l->rccl;
    return s->text ? s->text->rccl : names_rccl(s);
}

static int by_place(const void *x, const void *y)
{
    const struct lint_finding *a = *(struct lint_finding *const *)x, *b = *(struct lint_finding *const *)y;
    const struct lint_text *ta = a->at->text, *tb = b->at->text;
    if (ta != tb)
        return !ta                     ? -1
               : !tb                   ? 1
               : ta->first < tb->first ? -1
               : ta->first > tb->first ? 1
                                       : strcmp(ta->doc.name, tb->doc.name);
    if (a->at->name_at != b->at->name_at)
        return a->at->name_at < b->at->name_at ? -1 : 1;
    return strcmp(a->kind->id, b->kind->id);
}

void lint_check(struct lint *l)
{
    choose_library(l);
    for (size_t i = 0; i < l->nsettings; i++) {
        const struct lint_setting *s = l->settings[i];
        l->rccl = library_of(l, s);
        int dead = lint_set_again(l, s) || lint_is_uncalled(s); /* then nothing else about it matters */
        for (size_t r = 0; r < sizeof themes / sizeof *themes && s->how != LINT_UNSET; r++)
            if (!dead || themes[r] == lint_check_reach)
                themes[r](l, s);
    }
    if (l->nfindings > 0)
        qsort(l->findings, l->nfindings, sizeof(void *), by_place);
}
