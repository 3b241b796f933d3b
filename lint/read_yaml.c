/* YAML (Kubernetes, Compose, Helm, workflows) through libyaml: environments as maps, as lists of {name, value}, as
 * lists of "NAME=value", and what is a script or a file of its own inside a string. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "lint/lint_internal.h"

#define MOST_LEVELS 128

struct scalar {
    const char *text; /* NULL: none */
    size_t from, to;  /* where it stands, with its quotes */
    int plain, null;
};

struct level {
    int is_map, want_value, group;
    struct scalar key, name, value;
};

struct yaml {
    struct lint *l;
    const struct lint_view *v;
    size_t *lines; /* offset of each line in the view */
    size_t nlines;
    yaml_mark_t last; /* the place that was looked up last, and its offset */
    size_t last_at;
    struct level levels[MOST_LEVELS];
    int depth;
};

/* libyaml counts characters; documents are addressed by bytes. Counting goes on from where it was: a document may be
 * one long line. */
static size_t offset_of(struct yaml *y, const yaml_mark_t *m)
{
    if (m->line >= y->nlines)
        return y->v->to;
    if (m->line != y->last.line || m->column < y->last.column || !y->last_at) {
        y->last = (yaml_mark_t){.line = m->line};
        y->last_at = y->lines[m->line];
    }
    for (; y->last.column < m->column && y->last_at < y->v->to; y->last.column++)
        do
            y->last_at++;
        while (y->last_at < y->v->to && ((unsigned char)y->v->s[y->last_at] & 0xC0) == 0x80);
    return y->last_at;
}

static struct scalar take_scalar(struct yaml *y, const yaml_event_t *ev)
{
    const char *text = (const char *)ev->data.scalar.value;
    int plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    struct scalar s = {arena_strdup(y->l->arena, text), offset_of(y, &ev->start_mark), offset_of(y, &ev->end_mark),
                       plain, plain && (!*text || !strcmp(text, "null") || !strcmp(text, "~"))};
    s.from += !plain;
    if (ev->data.scalar.style == YAML_LITERAL_SCALAR_STYLE || ev->data.scalar.style == YAML_FOLDED_SCALAR_STYLE) {
        const char *newline = s.from < s.to ? memchr(y->v->s + s.from, '\n', s.to - s.from) : NULL;
        s.from = newline ? (size_t)(newline - y->v->s) + 1 : s.from; /* the first line is only "|" or ">" */
    }
    return s;
}

static struct lint_view view_of(const struct yaml *y, const struct scalar *s)
{
    return lint_aligned(y->l, y->v, s->from < s->to ? s->from : s->to, s->to, s->text);
}

static struct lint_setting *add_setting(struct yaml *y, const struct scalar *name, const struct scalar *value,
                                        int group)
{
    struct lint_view n = view_of(y, name), v = view_of(y, value);
    struct lint_setting *s = lint_setting_new(y->l, &n, 0, strlen(name->text), LINT_DECLARED);
    if (!s)
        return NULL;
    s->group = group;
    lint_set_value(y->l, s, &v, NULL, 0, v.to);
    return s;
}

/* A value in a manifest of Kubernetes that has to be a string: what YAML 1.1 reads as a number or a truth value is
 * refused. */
static void check_string(struct yaml *y, struct lint_setting *s, const struct scalar *value)
{
    if (!s || !value->plain || !memmem(y->v->s, y->v->to, "apiVersion:", 11))
        return;
    s->is_bare = 1;
    char *end;
    int refused = (strtod(value->text, &end), end != value->text && !*end) && !isalpha((unsigned char)*value->text);
    if (!refused && !word_in("true|false|on|off|yes|no", WORD_IS_ANY_CASE, value->text, strlen(value->text)))
        return;
    struct lint_finding *f =
        lint_find(y->l, NT_NOT_A_STRING, s, "Kubernetes takes only strings here and refuses the manifest.",
                  "Write the value in quotes.");
    lint_correct(f, LINT_FIX_VALUE, value->text);
}

/* "NAME=value" in one string. */
static int add_pair(struct yaml *y, const struct scalar *text, int group)
{
    size_t n = lint_name_length(text->text, strlen(text->text));
    if (n > 0 && !strncmp(text->text + n, " = ", 3) && env_var_find(arena_strndup(y->l->arena, text->text, n)) &&
        !strpbrk(text->text + n + 3, " \n")) {
        struct lint_view v = view_of(y, text);
        struct lint_setting *s = lint_setting_new(y->l, &v, 0, n, LINT_DECLARED);
        if (s)
            lint_find(y->l, NT_PAIR_IN_TWO, s, "The blank before '=' becomes part of the variable's name.",
                      "Write NAME=value without blanks.");
        return 1;
    }
    if (n == 0 || text->text[n] != '=' || !env_of_interest(text->text, n) || strpbrk(text->text + n, " \n"))
        return 0;
    struct lint_view v = view_of(y, text);
    struct lint_setting *s = lint_setting_new(y->l, &v, 0, n, LINT_DECLARED);
    if (!s)
        return 0;
    s->group = group;
    lint_set_value(y->l, s, &v, NULL, n + 1, v.to - n - 1);
    return 1;
}

/* A script, a file's content, or a command's words. */
static void read_string(struct yaml *y, const struct scalar *s, const char *key, int group)
{
    if (!lint_names_any(s->text, strlen(s->text)) || add_pair(y, s, group) || !strpbrk(s->text, " \n"))
        return;
    struct lint_view v = view_of(y, s);
    if (key && word_in("description|help|message|summary|title|comment|doc", WORD_IS, key, strlen(key))) {
        lint_talked_of(y->l, &v, 0, v.to);
        return;
    }
    y->l->read_inner(y->l, &v,
                     key && strchr(key, '.') ? key
                     : strchr(s->text, '\n') ? NULL
                                             : "words.sh",
                     ++y->l->groups, y->v->how == LINT_LAYER ? LINT_EXPORTED : y->v->how);
}

static void on_scalar(struct yaml *y, const yaml_event_t *ev)
{
    if (y->depth == 0)
        return;
    struct level *v = &y->levels[y->depth - 1];
    struct scalar s = take_scalar(y, ev);
    if (v->is_map && !v->want_value) {
        v->key = s;
        v->want_value = 1;
        return;
    }
    const char *key = v->is_map ? v->key.text : NULL;
    v->want_value = 0;
    if (v->is_map && !key) /* the key was an alias or a collection */
        return;
    if (key && env_of_interest(key, strlen(key))) {
        if (!s.null) {
            struct lint_setting *set = add_setting(y, &v->key, &s, v->group);
            const char *of = y->depth > 1 ? y->levels[y->depth - 2].key.text : NULL;
            if (of && (!strcmp(of, "data") || !strcmp(of, "stringData"))) /* ConfigMap, Secret */
                check_string(y, set, &s);
        }
    } else if (key && !strcmp(key, "name")) {
        v->name = s;
    } else {
        if (key && !strcmp(key, "value"))
            v->value = s;
        read_string(y, &s, key, v->group);
    }
}

static int open_level(struct yaml *y, int is_map)
{
    if (y->depth == MOST_LEVELS)
        return -1;
    y->levels[y->depth++] = (struct level){.is_map = is_map, .group = ++y->l->groups};
    return 0;
}

static void close_level(struct yaml *y)
{
    struct level *v = &y->levels[--y->depth];
    if (v->name.text && v->value.text && !v->value.null && lint_of_interest(v->name.text, strlen(v->name.text)))
        check_string(y, add_setting(y, &v->name, &v->value, y->depth > 0 ? y->levels[y->depth - 1].group : v->group),
                     &v->value);
    else if (v->name.text && lint_of_interest(v->name.text, strlen(v->name.text))) { /* valueFrom */
        struct lint_view name = view_of(y, &v->name);
        lint_understood(y->l, &name, 0);
    }
    if (y->depth > 0)
        y->levels[y->depth - 1].want_value = 0;
}

static void on_alias(struct yaml *y)
{
    if (y->depth == 0)
        return;
    struct level *v = &y->levels[y->depth - 1];
    v->want_value = v->is_map && !v->want_value;
    if (v->want_value)
        v->key.text = NULL;
}

static int on_event(struct yaml *y, const yaml_event_t *ev)
{
    switch (ev->type) {
    case YAML_SCALAR_EVENT:
        on_scalar(y, ev);
        return 0;
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        return open_level(y, ev->type == YAML_MAPPING_START_EVENT);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        close_level(y);
        return 0;
    case YAML_ALIAS_EVENT:
        on_alias(y);
        return 0;
    default:
        return 0;
    }
}

/* ---- what libyaml does not take ---------------------------------------------------------------------------------- */

/* "NAME: value", "- NAME=value", "export NAME=value" in a script, "- name: NAME" with "value: …" on the next line. */
static void read_line(struct yaml *y, size_t at, size_t end, struct scalar *name)
{
    const char *s = y->v->s;
    at += strspn(s + at, " \t");
    at += at + 2 <= end && !memcmp(s + at, "- ", 2) ? 2 + strspn(s + at + 2, " ") : 0;
    at += at + 7 <= end && !memcmp(s + at, "export ", 7) ? 7 : 0;
    size_t n = at < end ? lint_name_length(s + at, end - at) : 0, value = at + n + 1;
    if (n == 0 || value > end || (s[at + n] != ':' && s[at + n] != '='))
        return;
    value = lint_skip_blanks(s, value, end);
    end = lint_trim_end(s, value, end);
    lint_unquote(s, &value, &end);
    struct scalar key = {arena_strndup(y->l->arena, s + at, n), at, at + n, 0, 0};
    struct scalar text = {arena_strndup(y->l->arena, s + value, end - value), value, end, 0, 0};
    if (!strcmp(key.text, "name"))
        *name = text;
    else if (!strcmp(key.text, "value") && name->text && env_of_interest(name->text, strlen(name->text)))
        add_setting(y, name, &text, 0);
    else if (env_of_interest(key.text, n) && end > value)
        add_setting(y, &key, &text, 0);
}

/* What is plainly set is on lines of its own; a template need be no YAML before it is rendered. */
static void read_by_lines(struct yaml *y, size_t first)
{
    struct scalar name = {0};
    for (size_t i = first; i < y->nlines; i++) {
        size_t at = y->lines[i], end = i + 1 < y->nlines ? y->lines[i + 1] - 1 : y->v->to;
        size_t item = at + strspn(y->v->s + at, " -");
        if (item >= end || y->v->s[item] != '{')
            read_line(y, at, end, &name);
        else /* { name: NAME, value: … } */
            for (size_t stop; ++item < end; item = stop) {
                stop = lint_find_mark(y->v->s, item, end, ",}");
                read_line(y, item, stop, &name);
            }
    }
}

void lint_read_yaml(struct lint *l, const struct lint_view *v)
{
    struct yaml y = {.l = l, .v = v};
    yaml_parser_t parser;
    yaml_event_t ev;
    int code = 0, done = 0;
    y.lines = lint_index_lines(l->arena, v->s, v->from, v->to, &y.nlines);
    if (!yaml_parser_initialize(&parser)) {
        err_set(v->why, ERR_FAILED, "%s: no memory for a YAML parser", v->t->doc.name);
        return;
    }
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)v->s + v->from, v->to - v->from);
    while (!done && !code) {
        if (!yaml_parser_parse(&parser, &ev)) {
            read_by_lines(&y, parser.problem_mark.line);
            if (!v->t->templated)
                code = err_at(v->why, v->t->doc.name, (long)parser.problem_mark.line + 1,
                              (long)parser.problem_mark.column + 1, "not valid YAML: %s",
                              parser.problem ? parser.problem : "unreadable");
            break;
        }
        done = ev.type == YAML_STREAM_END_EVENT;
        if (on_event(&y, &ev))
            code = err_at(v->why, v->t->doc.name, (long)ev.start_mark.line + 1, (long)ev.start_mark.column + 1,
                          "nested deeper than %d levels", MOST_LEVELS);
        yaml_event_delete(&ev);
    }
    yaml_parser_delete(&parser);
    if (!code)
        lint_check_pods(l, v);
}
