/* Documents: the table of their kinds, how a kind is recognised, and what readers share. */
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "envgen/lint/lint_internal.h"

enum { CARRIAGE_RETURN };
static const struct finding_kind kinds[] = {
    [CARRIAGE_RETURN] = {"NT608", "carriage-return", FINDING_ERROR, "line ends of Windows"},
};

#define LINT_LIMIT ((size_t)8 << 20) /* bytes of a document */

/* Names: ".sh" is an ending, "Dockerfile" a beginning of the last part of the path. */
static const char *const shell_names[] = {".sh", ".bash", ".sbatch", ".slurm", ".sub", ".pbs", ".lsf", ".zsh", NULL};
static const char *const env_names[] = {".env", NULL};
static const char *const conf_names[] = {"nccl.conf", ".nccl.conf", "rccl.conf", ".conf", NULL};
static const char *const docker_names[] = {"Dockerfile", "Containerfile", ".dockerfile", NULL};
static const char *const yaml_names[] = {".yaml", ".yml", NULL};
static const char *const json_names[] = {".json", NULL};

static const struct lint_reader readers[] = {
    {"shell", shell_names, lint_read_shell}, {"env", env_names, lint_read_env},
    {"conf", conf_names, lint_read_conf},    {"docker", docker_names, lint_read_docker},
    {"yaml", yaml_names, lint_read_yaml},    {"json", json_names, lint_read_json},
};
enum { SHELL, ENV_FILE, CONF, DOCKER, YAML, JSON, KINDS };

const char *lint_kind(size_t n)
{
    return n < KINDS ? readers[n].kind : NULL;
}

static const struct lint_reader *by_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    for (size_t k = 0; k < KINDS; k++)
        for (const char *const *n = readers[k].names; *n; n++)
            if ((*n)[0] == '.' ? file_ends_with(file, *n) : !strncmp(file, *n, strlen(*n)))
                return &readers[k];
    return NULL;
}

/* What the lines look like: counts of lines that only one kind has. */
static const struct lint_reader *by_content(const char *data, size_t bytes)
{
    const char *end = data + bytes, *first = data + strspn(data, " \t\r\n");
    int lines = 0, plain = 0, exports = 0, yaml = 0, from = 0;
    if (!strncmp(data, "#!", 2))
        return &readers[SHELL];
    if (*first == '{')
        return &readers[JSON];
    for (const char *p = data; p < end && lines < 1000;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t length = (size_t)((newline ? newline : end) - p);
        const char *text = p + strspn(p, " \t");
        size_t name = lint_name_length(text, length);
        if (length > 0 && text < p + length && *text != '#' && *text != '\r') {
            from |= lines == 0 && (!strncasecmp(text, "FROM ", 5) || !strncasecmp(text, "ARG ", 4));
            lines++;
            plain += name > 0 && text[name] == '=' && !memchr(text, ';', length - (size_t)(text - p));
            exports += !strncmp(text, "export ", 7);
            yaml += (name > 0 && text[name] == ':') || !strncmp(text, "- ", 2) || !strncmp(text, "---", 3);
        }
        p += length + 1;
    }
    if (from)
        return &readers[DOCKER];
    if (lines > 0 && yaml * 2 > lines && exports == 0)
        return &readers[YAML];
    return &readers[lines > 0 && plain == lines ? ENV_FILE : SHELL];
}

static const struct lint_reader *by_kind(const char *kind)
{
    for (size_t k = 0; k < KINDS; k++)
        if (!strcmp(readers[k].kind, kind))
            return &readers[k];
    return NULL;
}

static void index_lines(struct arena *a, struct lint_text *t)
{
    for (size_t at = 0; at <= t->bytes;) {
        t->lines = arena_grow(a, t->lines, t->nlines, sizeof(*t->lines));
        t->lines[t->nlines++] = at;
        const char *newline = memchr(t->data + at, '\n', t->bytes - at);
        at = newline ? (size_t)(newline - t->data) + 1 : t->bytes + 1;
    }
}

static struct lint_text *add_text(struct lint *l, const char *name, const char *data, size_t bytes)
{
    struct lint_text *t = ARENA_NEW(l->arena, struct lint_text);
    l->texts = arena_grow(l->arena, l->texts, l->ntexts, sizeof(void *));
    l->texts[l->ntexts++] = t;
    t->name = arena_strdup(l->arena, name);
    t->data = data;
    t->bytes = bytes;
    t->first = l->nsettings;
    return t;
}

/* Once a document, not once a line: a file that came from Windows has thousands. */
static void check_line_ends(struct lint *l, const struct lint_text *t)
{
    if (t->count == 0 || !strcmp(t->kind, "yaml") || !strcmp(t->kind, "json") || !strcmp(t->kind, "docker"))
        return;
    const struct lint_setting *s = l->settings[t->first];
    const char *newline = memchr(t->data + s->name_at, '\n', t->bytes - s->name_at);
    if (!newline || newline == t->data || newline[-1] != '\r')
        return;
    int conf = !strcmp(t->kind, "conf");
    if (conf && lint_holds(l, 0, 22999) == LINT_NONE)
        return;
    lint_find(l, &kinds[CARRIAGE_RETURN], s,
              conf ? "Lines end in CR LF, and NCCL before 2.30 keeps the CR as a part of the value."
                   : "Lines end in CR LF, and a shell keeps the CR as a part of the value.",
              "Write the file with plain LF line ends (dos2unix).");
}

static int read_data(struct lint *l, const char *name, const char *data, size_t bytes, const char *kind, struct err *e)
{
    const struct lint_reader *r = kind ? by_kind(kind) : by_name(name);
    if (kind && !r)
        return err_set(e, ERR_USAGE, "unknown kind of document '%s'", kind);
    if (!r)
        r = by_content(data, bytes);
    struct lint_text *t = add_text(l, name, data, bytes);
    t->kind = r->kind;
    index_lines(l->arena, t);
    int code = r->read(l, t, 0, bytes, e);
    t->count = l->nsettings - t->first;
    if (code)
        return code;
    check_line_ends(l, t);
    return t->count < LINT_MOST_SETTINGS ? 0
                                         : err_set(e, ERR_FAILED, "%s: %d settings or more", name, LINT_MOST_SETTINGS);
}

int lint_read_text(struct lint *l, const char *name, const char *text, size_t bytes, const char *kind, struct err *e)
{
    if (memchr(text, '\0', bytes))
        return err_set(e, ERR_FAILED, "%s: holds a NUL byte, expected text", name);
    return read_data(l, name, arena_strndup(l->arena, text, bytes), bytes, kind, e);
}

int lint_read_file(struct lint *l, const char *path, const char *kind, struct err *e)
{
    char *data;
    size_t bytes;
    int code = file_read_text(path, LINT_LIMIT, l->arena, &data, &bytes, e);
    if (code)
        return code;
    return read_data(l, strcmp(path, "-") ? path : "standard input", data, bytes, kind, e);
}

int lint_read_environ(struct lint *l, const char *name, const char *block, size_t bytes, struct err *e)
{
    if (bytes > LINT_LIMIT)
        return err_set(e, ERR_FAILED, "%s: an environment of %zu bytes, expected at most %zu", name, bytes, LINT_LIMIT);
    struct lint_text *t = add_text(l, name, NULL, 0);
    char *data = arena_alloc(l->arena, bytes + 1);
    memcpy(data, block, bytes);
    t->data = data;
    t->bytes = bytes;
    t->kind = "environment";
    for (size_t at = 0; at < bytes;) {
        size_t length = strlen(data + at);
        const char *equals = memchr(data + at, '=', length);
        size_t n = equals ? (size_t)(equals - data) - at : 0;
        if (env_of_interest(data + at, n)) {
            struct lint_setting *s = lint_setting_new(l, t, at, n, LINT_RUNNING);
            s->value = equals + 1;
        }
        at += length + 1;
    }
    t->count = l->nsettings - t->first;
    return 0;
}

const struct lint_rules lint_documents = {kinds, sizeof kinds / sizeof *kinds, NULL};
