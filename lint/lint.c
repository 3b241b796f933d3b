/* Documents are read, texts inside others too, and every rule looks at every setting. A document that cannot be read
 * says so and leaves the others alone. */
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "lint/lint_internal.h"
#include "probe/topology/topology.h"

enum { CARRIAGE_RETURN };
static const struct finding_kind kinds[] = {
    [CARRIAGE_RETURN] = {"NT608", "carriage-return", FINDING_ERROR, "line ends of Windows"},
};

#define LINT_LIMIT ((size_t)8 << 20) /* bytes of a document */

static void read_inner(struct lint *l, const struct lint_view *v, const char *name, int group, enum lint_how how)
{
    const char *s = v->s + v->from;
    size_t n = v->to - v->from;
    if (l->depth >= LINT_DEPTH || !lint_names_any(s, n))
        return;
    const struct lint_format_of *f = lint_format_of(name, s, n);
    struct err ignored = {0};
    l->depth++;
    f->read(l, v, group, how, &ignored);
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
    l->texts = arena_grow(l->arena, l->texts, l->ntexts, sizeof(void *));
    l->texts[l->ntexts++] = t;
    t->name = arena_strdup(l->arena, name);
    t->data = data;
    t->bytes = bytes;
    t->first = l->nsettings;
    t->kind = "unknown";
    return t;
}

/* The sentence of an error that names the file in front; the document has it with its own place. */
static int has_failed(struct lint *l, struct lint_text *t, const struct err *why, struct err *e)
{
    size_t n = strlen(t->name);
    const char *says = strncmp(why->text, t->name, n) != 0 || why->text[n] != ':' ? why->text : why->text + n + 1;
    if (*says >= '0' && *says <= '9') {
        char *end;
        t->error_line = strtol(says, &end, 10);
        says = end + (*end == ':');
        says += strspn(says, "0123456789:");
    }
    t->error = arena_strdup(l->arena, says + strspn(says, " "));
    return err_set(e, why->code, "%s", why->text);
}

/* Once a document, not once a line: a file that came from Windows has thousands. */
static void check_line_ends(struct lint *l, const struct lint_text *t, const struct lint_format_of *f)
{
    if (t->count == 0 || !(f->flags & LINT_CR_COUNTS))
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

static int is_template(const struct lint_view *v)
{
    return memmem(v->s + v->from, v->to - v->from, "{{", 2) || memmem(v->s + v->from, v->to - v->from, "{%", 2);
}

static int begins_comment(const char *line)
{
    static const char *const marks[] = {"#", "//", "--", ";", "*", "/*", "\"#", "'#", "<!--"};
    line += strspn(line, " \t");
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (!strncmp(line, marks[i], strlen(marks[i])))
            return 1;
    return 0;
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
    if (!strcmp(t->kind, "markdown")) /* prose names them as it likes */
        return;
    for (size_t i = 0; i < t->bytes;) {
        size_t n = lint_name_length(s + i, t->bytes - i);
        int is_seen = comment || (t->seen && t->seen[i / 8] & 1u << i % 8);
        if (n > 0 && !is_seen && looks_set(t, i, i + n) && is_worth_reading(l, s + i, n))
            t->unread_line = t->unread++ ? t->unread_line : number;
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

static int read_data(struct lint *l, struct lint_text *t, const char *kind, struct err *e)
{
    const struct lint_format_of *f = kind ? lint_format_called(kind) : lint_format_of(t->name, t->data, t->bytes);
    struct err why = {0};
    if (!f) {
        err_set(&why, ERR_USAGE, "unknown kind of document '%s'", kind);
        return has_failed(l, t, &why, e);
    }
    t->kind = f->kind;
    t->lines = lint_index_lines(l->arena, t->data, 0, t->bytes, &t->nlines);
    struct lint_view v = {t, t->data, 0, t->bytes, NULL};
    t->templated = (f->flags & LINT_TEMPLATE) && is_template(&v);
    if (t->templated)
        v = lint_masked(l, &v);
    t->slurm = strstr(t->data, "SLURM_") || strstr(t->data, "#SBATCH");
    t->export_none = strstr(t->data, "#SBATCH --export=NONE") && !strstr(t->data, "SLURM_EXPORT_ENV");
    f->read(l, &v, 0, LINT_EXPORTED, &why);
    t->count = l->nsettings - t->first;
    check_line_ends(l, t, f);
    count_unread(l, t);
    if (!why.code && t->count >= LINT_MOST_SETTINGS)
        err_set(&why, ERR_FAILED, "%s: %d settings or more", t->name, LINT_MOST_SETTINGS);
    return why.code ? has_failed(l, t, &why, e) : 0;
}

int lint_read_text(struct lint *l, const char *name, const char *text, size_t bytes, const char *kind, struct err *e)
{
    struct err why = {0};
    if (!memchr(text, '\0', bytes))
        return read_data(l, add_text(l, name, arena_strndup(l->arena, text, bytes), bytes), kind, e);
    err_set(&why, ERR_FAILED, "%s: holds a NUL byte, expected text", name);
    return has_failed(l, add_text(l, name, "", 0), &why, e);
}

int lint_read_file(struct lint *l, const char *path, const char *kind, struct err *e)
{
    char *data;
    size_t bytes;
    struct err why = {0};
    const char *name = strcmp(path, "-") ? path : "standard input";
    if (file_read_text(path, LINT_LIMIT, l->arena, &data, &bytes, &why))
        return has_failed(l, add_text(l, name, "", 0), &why, e);
    return read_data(l, add_text(l, name, data, bytes), kind, e);
}

int lint_read_environ(struct lint *l, const char *name, const char *block, size_t bytes, struct err *e)
{
    if (bytes > LINT_LIMIT)
        return err_set(e, ERR_FAILED, "%s: an environment of %zu bytes, expected at most %zu", name, bytes, LINT_LIMIT);
    char *data = arena_alloc(l->arena, bytes + 1);
    memcpy(data, block, bytes);
    struct lint_text *t = add_text(l, name, data, bytes);
    struct lint_view v = {t, data, 0, bytes, NULL};
    t->kind = "environment";
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
    const char *path = arena_printf(l->arena, "/proc/%d/environ", pid);
    int rc = file_read(path, LINT_LIMIT, l->arena, &block, &bytes, e);
    return rc ? rc : lint_read_environ(l, arena_printf(l->arena, "process %d", pid), block, bytes, e);
}

/* ---- the run: findings come out in the order of the documents ---------------------------------------------------- */

static const struct lint_rules lint_documents = {kinds, sizeof kinds / sizeof *kinds, NULL};
static const struct lint_rules *const themes[] = {
    &lint_names, &lint_values, &lint_effects, &lint_conflicts, &lint_devices, &lint_documents,
    &lint_lines, &lint_shell,  &lint_options, &lint_commands,  &lint_reach,   &lint_costs,
};

static int by_id(const void *x, const void *y)
{
    return strcmp(((const struct finding_kind *)x)->id, ((const struct finding_kind *)y)->id);
}

const struct finding_kind *lint_kinds(struct arena *a, int *n)
{
    struct finding_kind *all = NULL;
    *n = 0;
    for (size_t t = 0; t < sizeof themes / sizeof *themes; t++)
        for (size_t k = 0; k < themes[t]->count; k++) {
            all = arena_grow(a, all, (size_t)*n, sizeof *all);
            all[(*n)++] = themes[t]->kinds[k];
        }
    if (all)
        qsort(all, (size_t)*n, sizeof *all, by_id);
    return all;
}

static int topology_has_gpus(const struct topology *t)
{
    for (int c = 0; c < t->nclasses; c++)
        if (t->classes[c].ngpus > 0)
            return 1;
    return 0;
}

static int names_rccl(const struct lint_setting *s)
{
    return !strncmp(s->name, "RCCL_", 5) || !strncmp(s->name, "HSA_", 4) || (s->value && strstr(s->value, "librccl"));
}

/* Which library all settings are for, as told or by the GPUs; otherwise each document is looked at for names that only
 * RCCL has. */
static void choose_library(struct lint *l)
{
    const struct topology *t = l->options.topology;
    l->rccl_sure = l->options.rccl >= 0 || (t && topology_has_gpus(t));
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
        return !ta ? -1 : !tb ? 1 : ta->first < tb->first ? -1 : ta->first > tb->first ? 1 : strcmp(ta->name, tb->name);
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
        for (size_t r = 0; r < sizeof themes / sizeof *themes && s->how != LINT_UNSET; r++)
            if (themes[r]->check)
                themes[r]->check(l, s);
    }
    if (l->nfindings > 0)
        qsort(l->findings, l->nfindings, sizeof(void *), by_place);
}
