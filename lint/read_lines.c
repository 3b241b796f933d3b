/* Formats of lines: nccl.conf, Dockerfiles, ini files and systemd units, makefiles, the code in Markdown. */
#include <ctype.h>
#include <string.h>

#include "core/vars/parse.h"
#include "lint/lint_internal.h"

/* ---- nccl.conf by NCCL's own rules, with what people get wrong in it --------------------------------------------- */

struct conf_line {
    struct lint *l;
    const struct lint_view *v;
    size_t at, end;        /* without '\n' and '\r' */
    size_t name, name_end; /* the name as it was meant: without "export" and blanks */
};

/* The value as it was meant: without blanks in front, a comment behind, and quotes around. */
static const char *meant_value(struct lint *l, const char *s, size_t n)
{
    size_t at = lint_skip_blanks(s, 0, n);
    for (size_t i = at + 1; i < n; i++)
        if (s[i] == '#' && (s[i - 1] == ' ' || s[i - 1] == '\t'))
            n = i;
    n = lint_trim_end(s, at, n);
    lint_unquote(s, &at, &n);
    return arena_strndup(l->arena, s + at, n - at);
}

static void judge_line(const struct conf_line *c, struct lint_setting *s, const struct env_line *line)
{
    struct lint *l = c->l;
    const char *value = line->value;
    size_t n = line->value_length;
    const char *right = meant_value(l, value, n);
    struct lint_finding *f = NULL;
    s->nothing = c->name > c->at || c->name_end < c->at + line->name_length;
    if (c->name > c->at)
        f = lint_find(l, strncmp(c->v->s + c->at, "export", 6) ? NT_CONF_BLANKS : NT_CONF_EXPORT, s,
                      "NCCL takes everything before '=' as the name: this sets a variable called \"%.*s\".",
                      "Begin the line with the variable's name.", (int)line->name_length, line->name);
    else if (c->name_end < c->at + line->name_length)
        f = lint_find(l, NT_CONF_BLANKS, s, "The blank before '=' becomes part of the variable's name.",
                      "Write NAME=value without blanks.");
    else if (n > 0 && (*value == ' ' || *value == '\t'))
        f = lint_find(l, NT_CONF_BLANKS, s, "The blank after '=' becomes part of the value.",
                      "Write NAME=value without blanks.");
    else if (n >= 2 && (*value == '"' || *value == '\'') && strlen(right) < n)
        f = lint_find(l, NT_QUOTED_VALUE, s, "NCCL does not remove quotes here: they become part of the value.",
                      "Write the value without quotes.");
    else if (memmem(value, n, " #", 2) || memmem(value, n, "\t#", 2))
        f = lint_find(l, NT_CONF_COMMENT, s, "A comment after a value becomes part of the value.",
                      "Give the comment a line of its own, '#' in column 1.");
    else if (memchr(value, '$', n))
        lint_find(l, NT_CONF_EXPANSION, s, "NCCL expands nothing in this file: '$' is an ordinary character.",
                  "Write the value itself.");
    if (f && !strpbrk(right, "\"' \t")) /* the line as it should be; nothing of a setting is lost */
        lint_correct(f, LINT_FIX_LINE,
                     arena_printf(l->arena, "%.*s=%s", (int)(c->name_end - c->name), c->v->s + c->name, right));
    if (line->cut)
        lint_find(l, NT_CONF_TOO_LONG, s, "NCCL cuts a name or value after 1,023 bytes.", "Shorten the line.");
    if (!strcmp(s->name, "NCCL_CONF_FILE"))
        lint_find(l, NT_CONF_FILE_IN_CONF, s, "NCCL has chosen its files before it reads this one: no effect.",
                  "Set NCCL_CONF_FILE in the job's environment.");
}

static void read_conf_line(struct conf_line *c)
{
    const char *s = c->v->s;
    struct env_line line;
    if (!env_parse_conf_line(s + c->at, c->end - c->at, 1, &line)) {
        size_t n = lint_name_length(s + c->at, c->end - c->at);
        struct lint_setting *bare =
            n > 0 && c->at + n < c->end ? lint_setting_new(c->l, c->v, c->at, n, LINT_CONF) : NULL;
        if (bare && (bare->nothing = 1))
            lint_find(c->l, NT_CONF_BLANKS, bare, "NCCL skips a line without '='.", "Write NAME=value.");
        return;
    }
    size_t equals = (size_t)(line.value - s) - 1;
    c->name = c->at + strspn(s + c->at, " \t");
    static const char *const words[] = {"export", "set", "setenv", "env"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]), blanks = strncmp(s + c->name, words[i], n) ? 0 : strspn(s + c->name + n, " \t");
        c->name += blanks ? n + blanks : 0;
    }
    if (c->name > equals)
        return;
    c->name_end = c->name + lint_name_length(s + c->name, equals - c->name);
    if (c->name_end + strspn(s + c->name_end, " \t") != equals)
        return;
    struct lint_setting *set = lint_setting_new(c->l, c->v, c->name, c->name_end - c->name, LINT_CONF);
    if (!set)
        return;
    if (!c->v->map) {
        set->line_at = c->at;
        set->line_bytes = c->end - c->at;
    }
    if (strcspn(line.value, " \t\"'$") >= line.value_length) /* else it is judged as written */
        lint_set_value(c->l, set, c->v, NULL, equals + 1, line.value_length);
    judge_line(c, set, &line);
}

void lint_read_conf(struct lint *l, const struct lint_view *v)
{
    for (size_t at = v->from; at < v->to;) {
        size_t end = source_line_end(v->s, at, v->to);
        struct conf_line c = {.l = l, .v = v, .at = at, .end = end - (end > at && v->s[end - 1] == '\r')};
        read_conf_line(&c);
        at = end + 1;
    }
}

/* ---- Dockerfiles ------------------------------------------------------------------------------------------------- */

struct docker {
    struct lint *l;
    const struct lint_view *v;
    int unclosed; /* a here-document that no line ends: further ones are not looked for */
};

/* The end of an instruction: '\' continues a line, and comment lines in between belong to nothing. */
static size_t instruction_end(const char *s, size_t at, size_t to)
{
    for (;;) {
        size_t end = source_line_end(s, at, to), last = lint_trim_end(s, at, end), text = lint_skip_blanks(s, at, end);
        int comment = text < end && s[text] == '#';
        if (end == to || (!comment && (last == at || s[last - 1] != '\\')))
            return end;
        at = end + 1;
    }
}

/* RUN <<EOF: the instruction goes on to the mark. */
static size_t heredoc_end(struct docker *d, size_t at, size_t end)
{
    const char *s = d->v->s;
    size_t to = d->v->to;
    const char *mark = memmem(s + at, end - at, "<<", 2);
    if (!mark || d->unclosed)
        return end;
    mark += 2 + (mark[2] == '-');
    mark += *mark == '"' || *mark == '\'';
    size_t n = lint_name_length(mark, (size_t)(s + end - mark));
    size_t after;
    if (end < to && source_heredoc_end(s, end + 1, to, mark, n, &after) < to)
        return after;
    d->unclosed = n > 0;
    return end;
}

static struct lint_setting *add_env(const struct docker *d, size_t at, size_t name, size_t value, size_t end)
{
    struct lint_setting *s = lint_setting_new(d->l, d->v, at, name, LINT_DECLARED);
    if (s)
        lint_set_word(d->l, s, d->v, value, end);
    return s;
}

/* ENV A=1 B="2", or the old ENV A 1. */
static void read_env(const struct docker *d, size_t at, size_t end)
{
    const char *s = d->v->s;
    struct shell_word w = shell_next_word(s, at, end);
    size_t n = w.token == SHELL_WORD ? lint_name_length(s + w.at, w.end - w.at) : 0;
    if (n > 0 && w.at + n == w.end) {
        struct shell_word value = shell_next_word(s, w.end, end);
        struct lint_setting *old = value.token == SHELL_WORD ? add_env(d, w.at, n, value.at, value.end) : NULL;
        if (old && shell_next_word(s, value.end, end).token == SHELL_WORD)
            lint_find(d->l, NT_ENV_WITHOUT_EQUALS, old,
                      "Without '=' its value is the rest of the line, blanks included.",
                      "Write NAME=value for each of them.");
        return;
    }
    while (w.token != SHELL_END) {
        n = w.token == SHELL_WORD ? lint_name_length(s + w.at, w.end - w.at) : 0;
        struct lint_setting *bare = n > 0 && w.at + n == w.end ? add_env(d, w.at, n, w.end, w.end) : NULL;
        if (n > 0 && w.at + n < w.end && s[w.at + n] == '=')
            add_env(d, w.at, n, w.at + n + 1, w.end);
        else if (bare)
            lint_find(d->l, NT_ENV_WITHOUT_EQUALS, bare, "A name without '=' after pairs ends the build.",
                      "Write NAME=value for each of them.");
        w = shell_next_word(s, w.end, end);
    }
}

/* Whether the rest of the RUN uses the variable: by its name, or in a program that NCCL runs in. */
static int is_used_in_run(struct lint *l, const struct lint_setting *s, size_t end)
{
    const char *uses = arena_printf(l->arena, "$%s|${%s|python|torchrun|mpirun|_perf|pytest", s->name, s->name);
    return word_in(uses, WORD_OCCURS, s->text->data + s->name_at, end - s->name_at);
}

/* Those of a RUN that ends at `end` of the document and whose settings begin at `first`. */
static void find_lost_exports(struct lint *l, size_t first, size_t end)
{
    for (size_t i = first; i < l->nsettings; i++)
        if (l->settings[i]->how == LINT_LAYER && l->settings[i]->name_at < end && lint_has_reader(l->settings[i]) &&
            !is_used_in_run(l, l->settings[i], end))
            lint_find(l, NT_LOST_EXPORT, l->settings[i],
                      "An export in a RUN ends with that build step: containers of this image do not have it.",
                      "Use an ENV instruction, or write it to /etc/nccl.conf.");
}

/* ARG NAME=value that no ENV hands on. */
static void read_arg(const struct docker *d, size_t at, size_t end)
{
    size_t n = at < end ? lint_name_length(d->v->s + at, end - at) : 0;
    const char *name = arena_strndup(d->l->arena, d->v->s + at, n);
    lint_understood(d->l, d->v, at);
    if (n == 0 || at + n >= end || d->v->s[at + n] != '=' || !env_var_find(name) ||
        lint_speaks_of(d->v->t, arena_printf(d->l->arena, "$%s|${%s", name, name)))
        return;
    struct lint_setting *s = lint_setting_new(d->l, d->v, at, n, LINT_LAYER);
    if (s)
        lint_find(d->l, NT_LOST_EXPORT, s, "An ARG ends with the build: containers of this image do not have it.",
                  "Use an ENV instruction.");
}

/* One instruction at [at, end). */
static void read_instruction(const struct docker *d, size_t at, size_t end)
{
    const char *s = d->v->s;
    size_t n = strcspn(s + at, " \t\r\n"), rest = at + n + strspn(s + at + n, " \t");
    struct lint_view v = *d->v;
    v.from = rest < end ? rest : end;
    v.to = end;
    if (word_in("ENV", WORD_IS_ANY_CASE, s + at, n))
        read_env(d, v.from, end);
    else if (word_in("RUN", WORD_IS_ANY_CASE, s + at, n)) {
        size_t first = d->l->nsettings;
        v.group = ++d->l->groups;
        v.how = LINT_LAYER;
        lint_read_shell(d->l, &v);
        find_lost_exports(d->l, first, lint_at(&v, v.to));
    } else if (word_in("ARG", WORD_IS_ANY_CASE, s + at, n))
        read_arg(d, v.from, end);
    else if (word_in("CMD|ENTRYPOINT", WORD_IS_ANY_CASE, s + at, n))
        d->l->read_inner(d->l, &v, s[v.from] == '[' ? "words.json" : "words.sh", ++d->l->groups, LINT_EXPORTED);
}

void lint_read_docker(struct lint *l, const struct lint_view *v)
{
    struct docker d = {l, v, 0};
    for (size_t at = v->from; at < v->to;) {
        size_t text = at + strspn(v->s + at, " \t");
        if (v->s[text] == '#') { /* a remark continues nothing */
            at = source_line_end(v->s, at, v->to) + 1;
            continue;
        }
        size_t end = heredoc_end(&d, at, instruction_end(v->s, at, v->to));
        if (text < end)
            read_instruction(&d, text, end);
        at = end + 1;
    }
}

/* The end of a line that '\' continues. */
static size_t logical_end(const struct lint_view *v, size_t at)
{
    size_t end = source_line_end(v->s, at, v->to);
    while (end < v->to && end > at && v->s[end - 1] == '\\')
        end = source_line_end(v->s, end + 1, v->to);
    return end;
}

/* NAME = VALUE whose value goes to the line's end; quotes around it are a frame. */
static struct lint_setting *add_line(struct lint *l, const struct lint_view *v, size_t at, size_t bytes, size_t value,
                                     size_t end, enum lint_how how)
{
    struct lint_setting *set = lint_setting_new(l, v, at, bytes, how);
    value = lint_skip_blanks(v->s, value, end);
    end = lint_trim_end(v->s, value, end);
    lint_unquote(v->s, &value, &end);
    if (set)
        lint_set_value(l, set, v, NULL, value, end - value);
    return set;
}

/* ---- ini --------------------------------------------------------------------------------------------------------- */

/* NAME=value "NAME=value" NAME="value", between blanks or commas. Only systemd takes no blanks around '='. */
static void read_pairs(struct lint *l, const struct lint_view *v, size_t at, size_t end, int is_systemd)
{
    const char *s = v->s;
    while (at < end) {
        size_t stop = lint_find_mark(s, at, end, " \t,\n\\"), from = at, to = stop;
        lint_unquote(s, &from, &to);
        size_t n = lint_name_length(s + from, to - from);
        const int is_pair = n > 0 && from + n < to && s[from + n] == '=',
                  in_two = is_systemd && n > 0 && to + 1 < end && s[to] == ' ' && s[to + 1] == '=';
        struct lint_setting *bare = !is_pair && in_two ? lint_setting_new(l, v, from, n, LINT_DECLARED) : NULL;
        if (is_pair)
            add_line(l, v, from, n, from + n + 1, to, LINT_DECLARED);
        else if (bare)
            lint_find(l, NT_PAIR_IN_TWO, bare, "A pair is one word here: the value after the blank is lost.",
                      "Write NAME=value without blanks.");
        at = stop + 1;
    }
}

static void read_ini_line(struct lint *l, const struct lint_view *v, size_t at, size_t end)
{
    const char *s = v->s;
    size_t n = 0, value;
    while (at + n < end && (isalnum((unsigned char)s[at + n]) || strchr("_.-", s[at + n])))
        n++;
    value = lint_skip_blanks(s, at + n, end);
    if (n == 0 || value >= end || (s[value] != '=' && s[value] != ':'))
        return;
    value = lint_skip_blanks(s, value + 1, end);
    struct lint_view rest = {v->t, s, value, end, v->map};
    if (lint_name_length(s + at, n) == n && env_of_interest(s + at, n)) {
        struct lint_setting *set = add_line(l, v, at, n, value, end, LINT_DECLARED);
        if (set && !v->map) {
            set->line_at = at;
            set->line_bytes = lint_trim_end(s, at, end) - at;
        }
    } else if (word_in("environment|env|setenv", WORD_IS_ANY_CASE, s + at, n)) {
        read_pairs(l, v, value, end, s[at] == 'E');
    } else {
        l->read_inner(l, &rest, "words.sh", ++l->groups, v->how);
    }
}

void lint_read_ini(struct lint *l, const struct lint_view *v)
{
    struct lint_view section = *v;
    for (size_t at = v->from; at < v->to;) {
        size_t end = logical_end(v, at), first = lint_skip_blanks(v->s, at, end);
        if (first < end && v->s[first] == '[')
            section.group = ++l->groups;
        else if (first < end && !strchr("#;\r", v->s[first]))
            read_ini_line(l, &section, first, end);
        at = end + 1;
    }
}

/* ---- make -------------------------------------------------------------------------------------------------------- */

/* Behind "export ", and behind "target: " of a target's own variable. */
static size_t skip_target(const char *s, size_t at, size_t end, int *exported)
{
    const char *colon = memchr(s + at, ':', end - at);
    if (colon && colon + 1 < s + end && colon[1] == ' ' && !memchr(s + at, '=', (size_t)(colon - s) - at))
        at = lint_skip_blanks(s, (size_t)(colon - s) + 1, end);
    *exported = end - at > 7 && (!memcmp(s + at, "export ", 7) || !memcmp(s + at, "export\t", 7));
    return *exported ? lint_skip_blanks(s, at + 7, end) : at;
}

static void read_make_line(struct lint *l, const struct lint_view *v, size_t at, size_t end)
{
    static const char *const signs[] = {"=", ":=", "::=", "?=", "+="};
    const char *s = v->s;
    int exported;
    at = skip_target(s, at, end, &exported);
    size_t n = lint_name_length(s + at, end - at), sign = lint_skip_blanks(s, at + n, end);
    if (n == 0)
        return;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t length = strlen(signs[i]);
        if (end - sign < length || memcmp(s + sign, signs[i], length) != 0)
            continue;
        const char *comment = memmem(s + sign, end - sign, " #", 2);
        add_line(l, v, at, n, sign + length, comment ? (size_t)(comment - s) : end,
                 exported ? LINT_EXPORTED : LINT_ASSIGNED);
        return;
    }
}

/* "export" by itself: all variables are. */
static int exports_all(const char *s, size_t at, size_t end)
{
    size_t next = at + 6 <= end && !memcmp(s + at, "export", 6) ? lint_skip_blanks(s, at + 6, end) : 0;
    return next && (next == end || s[next] == '#' || s[next] == '\r');
}

void lint_read_make(struct lint *l, const struct lint_view *v)
{
    size_t before = l->nsettings;
    int all = lint_speaks_of(v->t, ".EXPORT_ALL_VARIABLES");
    for (size_t at = v->from; at < v->to;) {
        size_t end = logical_end(v, at), first = at;
        if (v->s[at] == '\t') {
            while (first < end && strchr("\t @+-", v->s[first]))
                first++;
            struct lint_view recipe = lint_unescape(l, v, first, end, LINT_DOLLARS);
            size_t own = l->nsettings;
            int line = ++l->groups;
            l->read_inner(l, &recipe, "recipe.sh", line, v->how);
            if (!lint_speaks_of(v->t, ".ONESHELL"))
                lint_end_shell(l, v->t, own, line);
        } else if (v->s[at] != '#') {
            all |= exports_all(v->s, at, end);
            read_make_line(l, v, lint_skip_blanks(v->s, at, end), end);
        }
        at = end + 1;
    }
    if (!all)
        lint_find_not_exported(l, v, before);
}
