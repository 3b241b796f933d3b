/* YAML (Kubernetes, Compose, Helm values) through libyaml and JSON through cJSON: environments as maps, as lists of
 * {name, value}, as lists of "NAME=value", and scripts inside long strings. */
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/json.h"
#include "envgen/lint/lint_internal.h"

static int has_script(const char *s, size_t n)
{
    return memchr(s, '\n', n) && (memmem(s, n, "NCCL_", 5) || memmem(s, n, "HSA_", 4));
}

/* A setting whose name and value are at these offsets, as far as the document spells them as they are meant. */
static void add(struct lint *l, const struct lint_text *t, const char *name, size_t name_at, const char *value,
                size_t value_at, int group)
{
    size_t bytes = strlen(name), n = strlen(value);
    if (l->nsettings - t->first >= LINT_MOST_SETTINGS)
        return;
    name_at = name_at < t->bytes ? name_at : t->bytes;
    int spelt = name_at + bytes <= t->bytes && !memcmp(t->data + name_at, name, bytes);
    struct lint_setting *s = lint_setting_new(l, t, name_at, spelt ? bytes : 0, LINT_DECLARED);
    if (!spelt)
        lint_name(s, arena_strdup(l->arena, name));
    s->group = group;
    if (lint_is_placeholder(value, n) || strchr(value, '$'))
        return;
    s->value = arena_strdup(l->arena, value);
    if (value_at + n <= t->bytes && !memcmp(t->data + value_at, value, n)) {
        s->value_at = value_at;
        s->value_bytes = n;
    }
}

/* "NAME=value" in one string at `at`. */
static void add_pair(struct lint *l, const struct lint_text *t, const char *text, size_t at, int group)
{
    size_t n = lint_name_length(text, strlen(text));
    if (n > 0 && text[n] == '=' && env_of_interest(text, n))
        add(l, t, arena_strndup(l->arena, text, n), at, text + n + 1, at + n + 1, group);
}

/* ---- YAML -------------------------------------------------------------------------------------------------------- */

#define MOST_LEVELS 128

struct scalar {
    char *text; /* malloc'd */
    size_t at;  /* first byte of the text, inside its quotes */
    int null;
};

struct level {
    int is_map, want_value, group;
    struct scalar key, name, value;
};

struct yaml {
    struct lint *l;
    const struct lint_text *t;
    struct level levels[MOST_LEVELS];
    int depth;
};

/* libyaml counts characters; documents are addressed by bytes. */
static size_t offset_of(const struct lint_text *t, const yaml_mark_t *m)
{
    if (m->line >= t->nlines)
        return t->bytes;
    size_t at = t->lines[m->line];
    for (size_t c = 0; c < m->column && at < t->bytes; c++)
        do
            at++;
        while (at < t->bytes && ((unsigned char)t->data[at] & 0xC0) == 0x80);
    return at;
}

static void forget(struct scalar *s)
{
    free(s->text);
    *s = (struct scalar){NULL, 0, 0};
}

static struct scalar take(const struct yaml *y, const yaml_event_t *ev)
{
    struct scalar s = {strdup((const char *)ev->data.scalar.value), offset_of(y->t, &ev->start_mark), 0};
    const char *text = s.text ? s.text : "";
    int plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    s.at += !plain;
    s.null = plain && (!*text || !strcmp(text, "null") || !strcmp(text, "~"));
    return s;
}

static void script(struct yaml *y, const yaml_event_t *ev)
{
    size_t from = offset_of(y->t, &ev->start_mark), to = offset_of(y->t, &ev->end_mark);
    const char *newline = from < to ? memchr(y->t->data + from, '\n', to - from) : NULL;
    int block = ev->data.scalar.style == YAML_LITERAL_SCALAR_STYLE || ev->data.scalar.style == YAML_FOLDED_SCALAR_STYLE;
    if (newline && block) /* the first line is only "|" or ">" */
        lint_read_shell_in(y->l, y->t, (size_t)(newline - y->t->data) + 1, to, ++y->l->groups, LINT_EXPORTED);
}

static void on_scalar(struct yaml *y, const yaml_event_t *ev)
{
    if (y->depth == 0)
        return;
    struct level *v = &y->levels[y->depth - 1];
    struct scalar s = take(y, ev);
    if (!s.text)
        return;
    if (v->is_map && !v->want_value) {
        forget(&v->key);
        v->key = s;
        v->want_value = 1;
        return;
    }
    if (has_script(s.text, strlen(s.text))) {
        script(y, ev);
    } else if (!v->is_map) {
        add_pair(y->l, y->t, s.text, s.at, v->group);
    } else if (!v->key.text) {
        /* the key was an alias or a collection */
    } else if (env_of_interest(v->key.text, strlen(v->key.text))) {
        if (!s.null)
            add(y->l, y->t, v->key.text, v->key.at, s.text, s.at, v->group);
    } else if (!strcmp(v->key.text, "name") || !strcmp(v->key.text, "value")) {
        struct scalar *keep = v->key.text[0] == 'n' ? &v->name : &v->value;
        forget(keep);
        *keep = s;
        s.text = NULL;
    }
    v->want_value = 0;
    free(s.text);
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
    if (v->name.text && v->value.text && !v->value.null && env_of_interest(v->name.text, strlen(v->name.text)))
        add(y->l, y->t, v->name.text, v->name.at, v->value.text, v->value.at,
            y->depth > 0 ? y->levels[y->depth - 1].group : v->group);
    forget(&v->key);
    forget(&v->name);
    forget(&v->value);
    if (y->depth > 0)
        y->levels[y->depth - 1].want_value = 0;
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
        if (y->depth > 0) {
            struct level *v = &y->levels[y->depth - 1];
            v->want_value = v->is_map && !v->want_value;
            if (v->want_value)
                forget(&v->key);
        }
        return 0;
    default:
        return 0;
    }
}

int lint_read_yaml(struct lint *l, const struct lint_text *t, size_t from, size_t to, struct err *e)
{
    struct yaml y = {.l = l, .t = t};
    yaml_parser_t parser;
    yaml_event_t ev;
    int code = 0, done = 0;
    if (!yaml_parser_initialize(&parser))
        return err_set(e, ERR_FAILED, "%s: no memory for a YAML parser", t->name);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)t->data + from, to - from);
    while (!done && !code) {
        if (!yaml_parser_parse(&parser, &ev)) {
            code = err_at(e, t->name, (long)parser.problem_mark.line + 1, (long)parser.problem_mark.column + 1,
                          "not valid YAML: %s", parser.problem ? parser.problem : "unreadable");
            break;
        }
        done = ev.type == YAML_STREAM_END_EVENT;
        if (on_event(&y, &ev))
            code = err_at(e, t->name, (long)ev.start_mark.line + 1, (long)ev.start_mark.column + 1,
                          "nested deeper than %d levels", MOST_LEVELS);
        yaml_event_delete(&ev);
    }
    while (y.depth > 0) {
        forget(&y.levels[y.depth - 1].key);
        forget(&y.levels[y.depth - 1].name);
        forget(&y.levels[--y.depth].value);
    }
    yaml_parser_delete(&parser);
    return code;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

struct json {
    struct lint *l;
    const struct lint_text *t;
    size_t at; /* the document is walked in its own order, so what comes next is behind */
};

/* The next string that reads exactly like this in the document; its first byte, or the document's end. */
static size_t find_string(struct json *j, const char *text)
{
    size_t n = strlen(text);
    const char *s = j->t->data;
    if (j->l->nsettings - j->t->first >= LINT_MOST_SETTINGS)
        return j->t->bytes;
    for (size_t at = j->at; at + n + 2 <= j->t->bytes; at++) {
        const char *quote = memchr(s + at, '"', j->t->bytes - at);
        if (!quote)
            break;
        at = (size_t)(quote - s);
        if (at + n + 2 <= j->t->bytes && !memcmp(quote + 1, text, n) && quote[n + 1] == '"') {
            j->at = at + n + 2;
            return at + 1;
        }
    }
    return j->t->bytes;
}

static const char *scalar_text(struct json *j, const cJSON *v)
{
    if (cJSON_IsString(v))
        return v->valuestring;
    if (cJSON_IsBool(v))
        return cJSON_IsTrue(v) ? "true" : "false";
    return cJSON_IsNumber(v) ? arena_printf(j->l->arena, "%.17g", v->valuedouble) : NULL;
}

static void add_found(struct json *j, const char *name, const cJSON *v, int group)
{
    const char *text = scalar_text(j, v);
    size_t at = find_string(j, name);
    if (!text)
        return;
    size_t value_at = at == j->t->bytes ? at : j->at + strspn(j->t->data + j->at, " \t\r\n:");
    add(j->l, j->t, name, at, text, value_at + (j->t->data[value_at] == '"'), group);
}

static void walk(struct json *j, const cJSON *node, int group)
{
    const cJSON *name = cJSON_IsObject(node) ? cJSON_GetObjectItemCaseSensitive(node, "name") : NULL;
    const cJSON *value = cJSON_IsObject(node) ? cJSON_GetObjectItemCaseSensitive(node, "value") : NULL;
    if (name && cJSON_IsString(name) && value && env_of_interest(name->valuestring, strlen(name->valuestring))) {
        const char *text = scalar_text(j, value);
        size_t at = find_string(j, name->valuestring);
        if (text)
            add(j->l, j->t, name->valuestring, at, text, j->t->bytes, group);
        return;
    }
    int own = ++j->l->groups;
    for (const cJSON *c = node->child; c; c = c->next) {
        if (cJSON_IsObject(c) || cJSON_IsArray(c))
            walk(j, c, own);
        else if (c->string && env_of_interest(c->string, strlen(c->string)))
            add_found(j, c->string, c, own);
        else if (!c->string && cJSON_IsString(c) && env_of_interest(c->valuestring, strcspn(c->valuestring, "=")))
            add_pair(j->l, j->t, c->valuestring, find_string(j, c->valuestring), own);
    }
}

int lint_read_json(struct lint *l, const struct lint_text *t, size_t from, size_t to, struct err *e)
{
    struct json j = {l, t, from};
    cJSON *doc = json_parse(t->data + from, to - from, t->name, 1, e);
    if (!doc)
        return ERR_FAILED;
    walk(&j, doc, 0);
    cJSON_Delete(doc);
    return 0;
}
