/* nccl.conf by NCCL's own rules, with what people get wrong in it, and Dockerfiles. */
#include <string.h>
#include <strings.h>

#include "core/vars/parse.h"
#include "envgen/lint/lint_internal.h"
#include "envgen/lint/shell_words.h"

/* ---- nccl.conf --------------------------------------------------------------------------------------------------- */

struct conf_line {
    struct lint *l;
    const struct lint_text *t;
    size_t at, end;               /* without '\n' and '\r' */
    size_t name, name_end, value; /* the name as it was meant: without "export" and blanks */
};

static int has_blank(const char *s, size_t n)
{
    return memchr(s, ' ', n) || memchr(s, '\t', n);
}

/* The line as it should be; nothing of a setting is lost. */
static void fix_line(struct lint_finding *f, struct lint *l, const struct conf_line *c, const char *value)
{
    f->fix = LINT_FIX_LINE;
    f->replacement = arena_printf(l->arena, "%.*s=%s", (int)(c->name_end - c->name), c->t->data + c->name, value);
}

/* The value as it was meant: without blanks in front, a comment behind, and quotes around. */
static const char *meant(struct lint *l, const char *s, size_t n)
{
    while (n > 0 && (*s == ' ' || *s == '\t')) {
        s++;
        n--;
    }
    for (size_t i = 1; i < n; i++)
        if (s[i] == '#' && (s[i - 1] == ' ' || s[i - 1] == '\t'))
            n = i;
    while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\t'))
        n--;
    if (n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n - 1] == s[0])
        return arena_strndup(l->arena, s + 1, n - 2);
    return arena_strndup(l->arena, s, n);
}

static void judge_line(const struct conf_line *c, struct lint_setting *s, const struct env_line *line)
{
    struct lint *l = c->l;
    const char *value = line->value;
    size_t n = line->value_length;
    const char *right = meant(l, value, n);
    struct lint_finding *f = NULL;
    if (c->name > c->at)
        f = lint_find(l, strncmp(c->t->data + c->at, "export", 6) ? LINT_CONF_BLANKS : LINT_CONF_EXPORT, s,
                      arena_printf(l->arena,
                                   "NCCL takes all in front of '=' as the name: this sets a variable called \"%.*s\".",
                                   (int)line->name_length, line->name),
                      "Begin the line with the variable's name.");
    else if (c->name_end < c->at + line->name_length)
        f = lint_find(l, LINT_CONF_BLANKS, s, "The blank in front of '=' becomes a part of the variable's name.",
                      "Write NAME=value without blanks.");
    else if (n > 0 && (*value == ' ' || *value == '\t'))
        f = lint_find(l, LINT_CONF_BLANKS, s, "The blank behind '=' becomes a part of the value.",
                      "Write NAME=value without blanks.");
    else if (n >= 2 && (*value == '"' || *value == '\'') && strlen(right) < n)
        f = lint_find(l, LINT_QUOTED_VALUE, s, "NCCL takes no quotes away here: they become a part of the value.",
                      "Write the value without quotes.");
    else if (memmem(value, n, " #", 2) || memmem(value, n, "\t#", 2))
        f = lint_find(l, LINT_CONF_COMMENT, s, "A comment behind a value becomes a part of the value.",
                      "Give the comment a line of its own, '#' in column 1.");
    else if (memchr(value, '$', n))
        lint_find(l, LINT_CONF_EXPANSION, s, "NCCL expands nothing in this file: '$' is taken as it stands.",
                  "Write the value itself.");
    if (f && !strpbrk(right, "\"' \t"))
        fix_line(f, l, c, right);
    if (line->cut)
        lint_find(l, LINT_CONF_CUT, s, "NCCL cuts a name or value after 1,023 bytes.", "Shorten the line.");
    if (!strcmp(s->name, "NCCL_CONF_FILE"))
        lint_find(l, LINT_CONF_ITSELF, s, "NCCL chooses its files before it reads this one: no effect.",
                  "Set NCCL_CONF_FILE in the job's environment.");
}

static void read_conf_line(struct conf_line *c)
{
    const char *s = c->t->data;
    struct env_line line;
    if (!env_parse_conf_line(s + c->at, c->end - c->at, 1, &line))
        return;
    size_t equals = (size_t)(line.value - s) - 1;
    c->name = c->at + strspn(s + c->at, " \t");
    if (!strncmp(s + c->name, "export ", 7) || !strncmp(s + c->name, "export\t", 7))
        c->name += 7 + strspn(s + c->name + 7, " \t");
    if (c->name > equals)
        return;
    c->name_end = c->name + lint_name_length(s + c->name, equals - c->name);
    if (c->name_end + strspn(s + c->name_end, " \t") != equals ||
        !env_of_interest(s + c->name, c->name_end - c->name) || c->l->nsettings - c->t->first >= LINT_MOST_SETTINGS)
        return;
    struct lint_setting *set = lint_setting_new(c->l, c->t, c->name, c->name_end - c->name, LINT_CONF);
    set->line_at = c->at;
    set->line_bytes = c->end - c->at;
    set->value = arena_strndup(c->l->arena, line.value, line.value_length);
    set->value_at = equals + 1;
    set->value_bytes = line.value_length;
    if (lint_is_placeholder(set->value, line.value_length) || has_blank(set->value, line.value_length) ||
        strpbrk(set->value, "\"'$")) /* judged as written, not as a value */
        set->value = NULL;
    judge_line(c, set, &line);
}

int lint_read_conf(struct lint *l, const struct lint_text *t, size_t from, size_t to, struct err *e)
{
    (void)e;
    for (size_t at = from; at < to;) {
        const char *newline = memchr(t->data + at, '\n', to - at);
        size_t end = newline ? (size_t)(newline - t->data) : to;
        struct conf_line c = {.l = l, .t = t, .at = at, .end = end - (end > at && t->data[end - 1] == '\r')};
        read_conf_line(&c);
        at = end + 1;
    }
    return 0;
}

/* ---- Dockerfiles ------------------------------------------------------------------------------------------------- */

/* The end of an instruction: '\' continues a line, and comment lines in between belong to nothing. */
static size_t instruction_end(const char *s, size_t at, size_t to)
{
    for (;;) {
        const char *newline = memchr(s + at, '\n', to - at);
        size_t end = newline ? (size_t)(newline - s) : to;
        size_t last = end;
        while (last > at && (s[last - 1] == ' ' || s[last - 1] == '\t' || s[last - 1] == '\r'))
            last--;
        size_t text = at + strspn(s + at, " \t");
        int comment = text < end && s[text] == '#';
        if (!newline || (!comment && (last == at || s[last - 1] != '\\')))
            return end;
        at = end + 1;
    }
}

static void add_env(struct lint *l, const struct lint_text *t, size_t at, size_t name, size_t value, size_t end)
{
    if (!env_of_interest(t->data + at, name) || l->nsettings - t->first >= LINT_MOST_SETTINGS)
        return;
    struct lint_setting *s = lint_setting_new(l, t, at, name, LINT_DECLARED);
    struct lint_literal v = lint_word_literal(l->arena, t->data, value, end);
    if (v.text && !lint_is_placeholder(v.text, strlen(v.text))) {
        s->value = v.text;
        s->value_at = v.at;
        s->value_bytes = v.bytes;
    }
}

/* ENV A=1 B="2", or the old ENV A 1. */
static void read_env_instruction(struct lint *l, const struct lint_text *t, size_t at, size_t end)
{
    const char *s = t->data;
    struct lint_word w = lint_next_word(s, at, end);
    size_t n = w.token == LINT_WORD ? lint_name_length(s + w.at, w.end - w.at) : 0;
    if (n > 0 && w.at + n == w.end) {
        struct lint_word value = lint_next_word(s, w.end, end);
        if (value.token == LINT_WORD)
            add_env(l, t, w.at, n, value.at, value.end);
        return;
    }
    while (w.token != LINT_END) {
        n = w.token == LINT_WORD ? lint_name_length(s + w.at, w.end - w.at) : 0;
        if (n > 0 && w.at + n < w.end && s[w.at + n] == '=')
            add_env(l, t, w.at, n, w.at + n + 1, w.end);
        w = lint_next_word(s, w.end, end);
    }
}

static void find_lost_exports(struct lint *l, size_t first)
{
    for (size_t i = first; i < l->nsettings; i++)
        if (l->settings[i]->how == LINT_LAYER)
            lint_find(l, LINT_RUN_LAYER, l->settings[i],
                      "An export in a RUN ends with that build step: containers of this image do not have it.",
                      "Use an ENV instruction, or write it to /etc/nccl.conf.");
}

int lint_read_docker(struct lint *l, const struct lint_text *t, size_t from, size_t to, struct err *e)
{
    (void)e;
    const char *s = t->data;
    size_t first = l->nsettings;
    for (size_t at = from; at < to;) {
        size_t text = at + strspn(s + at, " \t");
        size_t end = instruction_end(s, at, to);
        size_t word = strcspn(s + text, " \t\r\n");
        if (word == 3 && !strncasecmp(s + text, "ENV", 3))
            read_env_instruction(l, t, text + 3, end);
        else if (word == 3 && !strncasecmp(s + text, "RUN", 3))
            lint_read_shell_in(l, t, text + 3, end, ++l->groups, LINT_LAYER);
        at = end + 1;
    }
    find_lost_exports(l, first);
    return 0;
}
