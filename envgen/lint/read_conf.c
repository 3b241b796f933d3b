/* nccl.conf by NCCL's own rules, with what people get wrong in it. */
#include <string.h>

#include "core/vars/parse.h"
#include "envgen/lint/lint_internal.h"

enum { CONF_EXPORT, CONF_BLANKS, CONF_COMMENT, CONF_CUT, CONF_EXPANSION, CONF_ITSELF };
static const struct finding_kind kinds[] = {
    [CONF_EXPORT] = {"NT601", "conf-export", FINDING_ERROR, "\"export\" in nccl.conf is a part of the name"},
    [CONF_BLANKS] = {"NT602", "conf-blanks", FINDING_ERROR, "blanks in nccl.conf are a part of name or value"},
    [CONF_COMMENT] = {"NT603", "conf-comment", FINDING_ERROR, "a comment behind a value is a part of it"},
    [CONF_CUT] = {"NT605", "conf-too-long", FINDING_ERROR, "a name or value above 1,023 bytes is cut"},
    [CONF_EXPANSION] = {"NT606", "conf-expansion", FINDING_ERROR, "nccl.conf expands no variables"},
    [CONF_ITSELF] = {"NT607", "conf-file-in-conf", FINDING_WARNING, "NCCL_CONF_FILE inside a configuration file"},
};

static const struct finding_kind quoted_value = LINT_QUOTED_VALUE;

struct conf_line {
    struct lint *l;
    const struct lint_view *v;
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
    f->changes = 1;
    f->replacement = arena_printf(l->arena, "%.*s=%s", (int)(c->name_end - c->name), c->v->s + c->name, value);
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
        f = lint_find(l, strncmp(c->v->s + c->at, "export", 6) ? &kinds[CONF_BLANKS] : &kinds[CONF_EXPORT], s,
                      arena_printf(l->arena,
                                   "NCCL takes all in front of '=' as the name: this sets a variable called \"%.*s\".",
                                   (int)line->name_length, line->name),
                      "Begin the line with the variable's name.");
    else if (c->name_end < c->at + line->name_length)
        f = lint_find(l, &kinds[CONF_BLANKS], s, "The blank in front of '=' becomes a part of the variable's name.",
                      "Write NAME=value without blanks.");
    else if (n > 0 && (*value == ' ' || *value == '\t'))
        f = lint_find(l, &kinds[CONF_BLANKS], s, "The blank behind '=' becomes a part of the value.",
                      "Write NAME=value without blanks.");
    else if (n >= 2 && (*value == '"' || *value == '\'') && strlen(right) < n)
        f = lint_find(l, &quoted_value, s, "NCCL takes no quotes away here: they become a part of the value.",
                      "Write the value without quotes.");
    else if (memmem(value, n, " #", 2) || memmem(value, n, "\t#", 2))
        f = lint_find(l, &kinds[CONF_COMMENT], s, "A comment behind a value becomes a part of the value.",
                      "Give the comment a line of its own, '#' in column 1.");
    else if (memchr(value, '$', n))
        lint_find(l, &kinds[CONF_EXPANSION], s, "NCCL expands nothing in this file: '$' is taken as it stands.",
                  "Write the value itself.");
    if (f && !strpbrk(right, "\"' \t"))
        fix_line(f, l, c, right);
    if (line->cut)
        lint_find(l, &kinds[CONF_CUT], s, "NCCL cuts a name or value after 1,023 bytes.", "Shorten the line.");
    if (!strcmp(s->name, "NCCL_CONF_FILE"))
        lint_find(l, &kinds[CONF_ITSELF], s, "NCCL chooses its files before it reads this one: no effect.",
                  "Set NCCL_CONF_FILE in the job's environment.");
}

static void read_conf_line(struct conf_line *c, int group)
{
    const char *s = c->v->s;
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
    if (c->name_end + strspn(s + c->name_end, " \t") != equals)
        return;
    struct lint_setting *set = lint_setting_new(c->l, c->v, c->name, c->name_end - c->name, LINT_CONF);
    if (!set)
        return;
    set->group = group;
    if (!c->v->map) {
        set->line_at = c->at;
        set->line_bytes = c->end - c->at;
    }
    const char *value = arena_strndup(c->l->arena, line.value, line.value_length);
    if (!has_blank(value, line.value_length) && !strpbrk(value, "\"'$")) /* else it is judged as written */
        lint_set_value(c->l, set, c->v, value, equals + 1, line.value_length);
    judge_line(c, set, &line);
}

int lint_read_conf(struct lint *l, const struct lint_view *v, int group, enum lint_how how, struct err *e)
{
    (void)how;
    (void)e;
    for (size_t at = v->from; at < v->to;) {
        const char *newline = memchr(v->s + at, '\n', v->to - at);
        size_t end = newline ? (size_t)(newline - v->s) : v->to;
        struct conf_line c = {.l = l, .v = v, .at = at, .end = end - (end > at && v->s[end - 1] == '\r')};
        read_conf_line(&c, group);
        at = end + 1;
    }
    return 0;
}

const struct lint_rules lint_conf = {kinds, sizeof kinds / sizeof *kinds, NULL};
