/* Formats of lines: ini files and systemd units, makefiles, the code in Markdown. */
#include <ctype.h>
#include <string.h>

#include "envgen/lint/lint_internal.h"

struct lines {
    struct lint *l;
    const struct lint_view *v;
    int group;
    enum lint_how how;
};

static size_t line_end(const struct lines *x, size_t at)
{
    const char *newline = memchr(x->v->s + at, '\n', x->v->to - at);
    return newline ? (size_t)(newline - x->v->s) : x->v->to;
}

/* The end of a line that '\' continues. */
static size_t logical_end(const struct lines *x, size_t at)
{
    size_t end = line_end(x, at);
    while (end < x->v->to && end > at && x->v->s[end - 1] == '\\')
        end = line_end(x, end + 1);
    return end;
}

static size_t skip_blanks(const char *s, size_t at, size_t end)
{
    while (at < end && strchr(" \t", s[at]))
        at++;
    return at;
}

static size_t trimmed(const char *s, size_t at, size_t end)
{
    while (end > at && strchr(" \t\r", s[end - 1]))
        end--;
    return end;
}

/* NAME = VALUE whose value goes to the line's end; quotes around it are a frame. */
static struct lint_setting *add_line(const struct lines *x, size_t at, size_t bytes, size_t value, size_t end,
                                     enum lint_how how, int group)
{
    const char *s = x->v->s;
    struct lint_setting *set = lint_setting_new(x->l, x->v, at, bytes, how);
    if (!set)
        return NULL;
    set->group = group;
    value = skip_blanks(s, value, end);
    end = trimmed(s, value, end);
    if (end - value >= 2 && strchr("\"'", s[value]) && s[end - 1] == s[value]) {
        value++;
        end--;
    }
    if (!memchr(s + value, '$', end - value))
        lint_set_value(x->l, set, x->v, NULL, value, end - value);
    return set;
}

/* ---- ini --------------------------------------------------------------------------------------------------------- */

static int is_key(const char *s, size_t n, const char *key)
{
    return n == strlen(key) && !strncasecmp(s, key, n);
}

/* NAME=value "NAME=value" NAME="value", between blanks or commas. */
static void read_pairs(const struct lines *x, size_t at, size_t end)
{
    const char *s = x->v->s;
    while (at < end) {
        size_t stop = at;
        char quote = '\0';
        while (stop < end && (quote || !strchr(" \t,\n\\", s[stop]))) {
            if (quote ? s[stop] == quote : s[stop] == '"' || s[stop] == '\'')
                quote = quote ? '\0' : s[stop];
            stop++;
        }
        size_t from = at, to = stop;
        if (to - from > 2 && strchr("\"'", s[from]) && s[to - 1] == s[from]) {
            from++;
            to--;
        }
        size_t n = lint_name_length(s + from, to - from);
        if (n > 0 && from + n < to && s[from + n] == '=')
            add_line(x, from, n, from + n + 1, to, LINT_DECLARED, x->group);
        at = stop + 1;
    }
}

static void read_ini_line(const struct lines *x, size_t at, size_t end, int group)
{
    const char *s = x->v->s;
    size_t n = 0, value;
    while (at + n < end && (isalnum((unsigned char)s[at + n]) || strchr("_.-", s[at + n])))
        n++;
    value = skip_blanks(s, at + n, end);
    if (n == 0 || value >= end || (s[value] != '=' && s[value] != ':'))
        return;
    value = skip_blanks(s, value + 1, end);
    struct lint_view rest = {x->v->t, s, value, end, x->v->map};
    if (lint_name_length(s + at, n) == n && env_of_interest(s + at, n)) {
        struct lint_setting *set = add_line(x, at, n, value, end, LINT_DECLARED, group);
        if (set && !x->v->map) {
            set->line_at = at;
            set->line_bytes = trimmed(s, at, end) - at;
        }
    } else if (is_key(s + at, n, "environment") || is_key(s + at, n, "env") || is_key(s + at, n, "setenv")) {
        read_pairs(x, value, end);
    } else {
        x->l->read_inner(x->l, &rest, "words.sh", ++x->l->groups, x->how);
    }
}

int lint_read_ini(struct lint *l, const struct lint_view *v, int group, enum lint_how how, struct err *e)
{
    struct lines x = {l, v, group, how};
    int section = group;
    (void)e;
    for (size_t at = v->from; at < v->to;) {
        size_t end = logical_end(&x, at), first = skip_blanks(v->s, at, end);
        if (first < end && v->s[first] == '[')
            section = ++l->groups;
        else if (first < end && !strchr("#;\r", v->s[first]))
            read_ini_line(&x, first, end, section);
        at = end + 1;
    }
    return 0;
}

/* ---- make -------------------------------------------------------------------------------------------------------- */

/* Behind "export ", and behind "target: " of a target's own variable. */
static size_t skip_target(const char *s, size_t at, size_t end, int *exported)
{
    const char *colon = memchr(s + at, ':', end - at);
    if (colon && colon + 1 < s + end && colon[1] == ' ' && !memchr(s + at, '=', (size_t)(colon - s) - at))
        at = skip_blanks(s, (size_t)(colon - s) + 1, end);
    *exported = end - at > 7 && (!memcmp(s + at, "export ", 7) || !memcmp(s + at, "export\t", 7));
    return *exported ? skip_blanks(s, at + 7, end) : at;
}

static void read_make_line(const struct lines *x, size_t at, size_t end)
{
    static const char *const signs[] = {"=", ":=", "::=", "?=", "+="};
    const char *s = x->v->s;
    int exported;
    at = skip_target(s, at, end, &exported);
    size_t n = lint_name_length(s + at, end - at), sign = skip_blanks(s, at + n, end);
    if (n == 0)
        return;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t length = strlen(signs[i]);
        if (end - sign < length || memcmp(s + sign, signs[i], length) != 0)
            continue;
        const char *comment = memmem(s + sign, end - sign, " #", 2);
        add_line(x, at, n, sign + length, comment ? (size_t)(comment - s) : end,
                 exported ? LINT_EXPORTED : LINT_ASSIGNED, x->group);
        return;
    }
}

int lint_read_make(struct lint *l, const struct lint_view *v, int group, enum lint_how how, struct err *e)
{
    struct lines x = {l, v, group, how};
    (void)e;
    for (size_t at = v->from; at < v->to;) {
        size_t end = logical_end(&x, at), first = at;
        if (v->s[at] == '\t') {
            while (first < end && strchr("\t @+-", v->s[first]))
                first++;
            struct lint_view recipe = lint_unescape(l, v, first, end, LINT_DOLLARS);
            l->read_inner(l, &recipe, "recipe.sh", ++l->groups, how);
        } else if (v->s[at] != '#') {
            read_make_line(&x, skip_blanks(v->s, at, end), end);
        }
        at = end + 1;
    }
    return 0;
}

/* ---- Markdown ---------------------------------------------------------------------------------------------------- */

/* ```yaml: the name of a file that a fence's word stands for. */
static const char *fenced(const char *s, size_t n)
{
    static const char *const words[][2] = {
        {"bash", "x.sh"},         {"sh", "x.sh"},     {"shell", "x.sh"},        {"console", "x.sh"},
        {"zsh", "x.sh"},          {"python", "x.py"}, {"py", "x.py"},           {"yaml", "x.yaml"},
        {"yml", "x.yaml"},        {"json", "x.json"}, {"toml", "x.toml"},       {"dockerfile", "Dockerfile"},
        {"docker", "Dockerfile"}, {"ini", "x.ini"},   {"hcl", "x.tf"},          {"terraform", "x.tf"},
        {"fish", "x.fish"},       {"lua", "x.lua"},   {"makefile", "Makefile"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (n == strlen(words[i][0]) && !strncasecmp(s, words[i][0], n))
            return words[i][1];
    return NULL;
}

int lint_read_markdown(struct lint *l, const struct lint_view *v, int group, enum lint_how how, struct err *e)
{
    struct lines x = {l, v, group, how};
    size_t open = 0;
    const char *name = NULL;
    (void)e;
    for (size_t at = v->from; at < v->to;) {
        size_t end = line_end(&x, at), first = skip_blanks(v->s, at, end);
        if (end - first >= 3 && !memcmp(v->s + first, "```", 3)) {
            if (open && name) {
                struct lint_view code = {v->t, v->s, open, at, v->map};
                l->read_inner(l, &code, name, ++l->groups, how);
            }
            name = open ? NULL : fenced(v->s + first + 3, strcspn(v->s + first + 3, " \t\r\n{"));
            open = open ? 0 : end + 1;
        }
        at = end + 1;
    }
    return 0;
}
