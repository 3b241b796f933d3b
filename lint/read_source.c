/* Python, Lua module files, TOML, Terraform, JSON: settings as these languages write them. One reader, since all of
 * them have strings, brackets, and a sign between a name and its value; what differs is a row of a table.
 *
 *     os.environ["NAME"] = "value"     a key in brackets       setenv("NAME", "value")   a call that sets
 *     {"NAME": "value"}, NAME = value  an entry                "NAME=value"              an argument or a list's item
 *     {name = "NAME", value = "…"}     an object               "export NAME=value; …"    a script in a string
 *
 * What is computed, formatted or joined leaves the value unknown. */
#include <ctype.h>
#include <string.h>

#include "lint/lint_internal.h"

#define MOST_LEVELS 200

static const struct source_language languages[] = {
    {"python", "#", NULL, NULL, SOURCE_TRIPLE | SOURCE_PREFIX | SOURCE_GLOBALS},
    {"lua", "--", "--[[", "]]", SOURCE_BRACKETS | SOURCE_GLOBALS},
    {"toml", "#", NULL, NULL, SOURCE_TRIPLE | SOURCE_LITERAL},
    {"hcl", "# //", "/*", "*/", SOURCE_HEREDOC},
    {"json", "//", "/*", "*/"},
    {"c", "//", "/*", "*/", SOURCE_COMPILED},
    {"go", "//", "/*", "*/", SOURCE_COMPILED | SOURCE_BACKTICK},
    {"rust", "//", "/*", "*/", SOURCE_COMPILED},
};

struct level {
    char open;
    int group;
    size_t at;                       /* of the bracket */
    size_t callee, callee_end;       /* the word in front of the bracket */
    struct source_token name, value; /* of {name, value} */
};

struct source {
    struct lint *l;
    const struct lint_view *v;
    const struct source_language *g;
    struct level levels[MOST_LEVELS];
    int depth, beyond; /* levels deeper than that are counted only */
    int block;         /* group of the lines that are indented alike */
    size_t indentation;
    struct source_token before; /* the token in front */
};

static const char *text_at(const struct source *p, const struct source_token *t)
{
    return p->v->s + t->from;
}

static size_t token_length(const struct source_token *t)
{
    return t->to - t->from;
}

static int is_name(const struct source *p, const struct source_token *t)
{
    size_t n = token_length(t);
    return (t->type == SOURCE_STRING || t->type == SOURCE_WORD) && n > 0 && lint_name_length(text_at(p, t), n) == n &&
           env_of_interest(text_at(p, t), n);
}

static struct source_token next_token(const struct source *p, const struct source_token *t)
{
    return source_next(p->g, p->v->s, t->after, p->v->to);
}

/* The next token that is no line end. */
static struct source_token beyond_lines(const struct source *p, const struct source_token *t)
{
    struct source_token n = next_token(p, t);
    while (n.type == SOURCE_NEWLINE)
        n = next_token(p, &n);
    return n;
}

/* In these a name of the program's own means nothing: calls, maps and lists of strings set. */
static int is_compiled(const struct source *p)
{
    return p->g->flags & SOURCE_COMPILED;
}

static struct level *top_level(struct source *p)
{
    return p->depth > 0 ? &p->levels[p->depth - 1] : NULL;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Whether the value ends with this token: nothing is added to it, formatted or chosen. */
static int ends_here(const struct source *p, const struct source_token *t)
{
    struct source_token n = next_token(p, t);
    if (n.type == SOURCE_NEWLINE && p->depth > 0 && (p->g->flags & SOURCE_PREFIX)) {
        n = beyond_lines(p, &n); /* inside brackets a line end ends nothing: strings in a row are joined */
        return n.type == SOURCE_PUNCT && strchr(",)]}", n.punct);
    }
    return n.type == SOURCE_END || n.type == SOURCE_NEWLINE || (n.type == SOURCE_PUNCT && strchr(",;)]}", n.punct));
}

static int is_number(const char *s, size_t n)
{
    size_t i = n > 0 && *s == '-';
    for (size_t k = i; k < n; k++)
        if (!isxdigit((unsigned char)s[k]) && s[k] != 'x')
            return 0;
    return n > i && isdigit((unsigned char)s[i]);
}

/* The text that a value token stands for, in `v`; 0: unknown. */
static int value_of(const struct source *p, const struct source_token *t, struct lint_view *v)
{
    const char *s = text_at(p, t);
    size_t n = token_length(t);
    if (!ends_here(p, t))
        return 0;
    if (t->type == SOURCE_STRING) {
        *v = lint_unescape(p->l, p->v, t->from, t->to, t->raw ? 0 : LINT_ESCAPES);
        return !t->format && !word_in("%s|%d|{|\n", WORD_OCCURS, s, n);
    }
    *v = (struct lint_view){p->v->t, p->v->s, t->from, t->to, p->v->map};
    return t->type == SOURCE_WORD && (is_number(s, n) || word_in("true|false|True|False", WORD_IS, s, n));
}

static int group_of(const struct source *p)
{
    return p->depth > 0 ? p->levels[p->depth - 1].group : p->block;
}

/* A sentence where a number or a word belongs: a table that explains variables. */
static int is_prose(const struct lint_setting *s, const struct lint_view *v)
{
    const char *text = v->s + v->from;
    size_t n = v->to - v->from, blanks = 0;
    for (size_t i = 0; i < n; i++)
        blanks += text[i] == ' ';
    return blanks > 2 || (blanks > 0 && s->var && s->var->kind != ENV_LIST && isalpha((unsigned char)*text));
}

/* os.environ["NAME"] = 1, os.environ.setdefault("NAME", 1) */
static void check_string(struct source *p, const struct lint_setting *s, const struct source_token *name,
                         const struct source_token *value)
{
    static const char *const forms[] = {"environ[", "environ.setdefault("};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t n = strlen(forms[i]);
        if (p->g->flags & SOURCE_PREFIX && value->type == SOURCE_WORD && name->from > n &&
            !memcmp(text_at(p, name) - 1 - n, forms[i], n)) {
            struct lint_finding *f =
                lint_find(p->l, NT_NOT_A_STRING, s, "os.environ takes only strings: this line raises TypeError.",
                          "Write the value in quotes.");
            if (s->value && s->value_bytes)
                lint_correct(f, LINT_FIX_VALUE, arena_printf(p->l->arena, "\"%s\"", s->value));
        }
    }
}

static void add_setting(struct source *p, const struct source_token *name, const struct source_token *value, int group)
{
    struct lint_view v;
    int known = value_of(p, value, &v);
    if (word_in("null|None", WORD_IS, text_at(p, value), token_length(value)) ||
        (value->type == SOURCE_PUNCT && strchr("{[", value->punct))) { /* an object about a variable */
        lint_understood(p->l, p->v, name->from);
        return;
    }
    struct lint_setting *s = lint_setting_new(p->l, p->v, name->from, token_length(name), LINT_DECLARED);
    if (!s)
        return;
    s->group = group;
    if (known && !is_prose(s, &v))
        lint_set_value(p->l, s, &v, NULL, v.from, v.to - v.from);
    if (known)
        check_string(p, s, name, value);
}

/* ---- names with a value beside them ------------------------------------------------------------------------------ */

/* The last part of the called word: "setdefault" of os.environ.setdefault. */
static int calls_one_of(const struct source *p, const struct level *v, const char *names)
{
    size_t from = v->callee_end;
    while (from > v->callee && p->v->s[from - 1] != '.')
        from--;
    return word_in(names, WORD_IS, p->v->s + from, v->callee_end - from);
}

static const char setters[] = "setdefault|setenv|putenv|set_env|pushenv|set_var|Setenv|add_env|setEnv|env_set|"
                              "prepend_env|set_environment_variable";
static const char holders[] = "putenv|_putenv|append|push_back|emplace_back";
static const char shells[] = "system|run|call|check_call|check_output|Popen";
static const char talkers[] = "print|info|warning|warn|debug|error|log|exception|write|ValueError|RuntimeError|"
                              "add_argument|echo|fail|skip|startswith|get|getenv|pop|RuntimeWarning|help|whatis|"
                              "LmodMessage|Field|group|match|compile|search|append_text|describe";

/* NAME = value on the outermost level is the program's own variable, unless the line stands for itself in a file of
 * settings; in a call it is an argument, in braces an entry. */
static int is_own_variable(const struct source *p, const struct source_token *name, char sign)
{
    return name->type == SOURCE_WORD && p->depth == 0 && (p->g->flags & SOURCE_GLOBALS) && strchr("=:", sign);
}

/* {"NAME", "value"}, an element of a C++ map, and Rust's .env("NAME", "value") of a command. */
static int is_pair_of_map(struct source *p, const struct level *v, const struct source_token *name,
                          const struct source_token *value)
{
    static const char own[] = "env|envs|SetEnv|_putenv_s|qputenv|emplace";
    struct source_token n = next_token(p, value);
    if (!is_compiled(p) || name->type != SOURCE_STRING || value->type != SOURCE_STRING)
        return 0;
    return (v->open == '(' && calls_one_of(p, v, own)) ||
           (v->open == '{' && p->before.type == SOURCE_PUNCT && p->before.punct == '{' && n.type == SOURCE_PUNCT &&
            n.punct == '}');
}

/* `name` is one of NCCL's: finds what is done with it. */
static void on_name(struct source *p, const struct source_token *name)
{
    struct source_token n = next_token(p, name), value;
    struct level *v = top_level(p);
    int closed = 0, depth = p->depth;
    while (n.type == SOURCE_PUNCT && strchr("])", n.punct) && name->type == SOURCE_STRING && closed++ < 2)
        n = next_token(p, &n);
    if (n.type != SOURCE_PUNCT) {
        lint_understood(p->l, p->v, name->from);
        return;
    }
    value = beyond_lines(p, &n);
    if (n.punct == ',' && !closed && v && (calls_one_of(p, v, setters) || is_pair_of_map(p, v, name, &value))) {
        add_setting(p, name, &value, is_compiled(p) ? group_of(p) : p->block);
    } else if (!(is_compiled(p) && (name->type == SOURCE_WORD || (n.punct == '=' && closed != 1))) &&
               (n.punct == '=' || (n.punct == ':' && !closed && p->depth > 0))) {
        p->depth -= closed < p->depth ? closed : p->depth; /* the value stands outside of the key's brackets */
        if (is_own_variable(p, name, n.punct) && !closed)
            lint_understood(p->l, p->v, name->from);
        else
            add_setting(p, name, &value, closed ? p->block : group_of(p));
        p->depth = depth;
    } else {
        lint_understood(p->l, p->v, name->from);
    }
}

/* {name = "NAME", value = "…"}: both on the same level, in any order. */
static void on_field(struct source *p, const struct source_token *key)
{
    struct level *v = top_level(p);
    struct source_token sign = next_token(p, key);
    if (!v || sign.type != SOURCE_PUNCT || !strchr("=:", sign.punct))
        return;
    struct source_token value = beyond_lines(p, &sign);
    if (!word_in("value|Value", WORD_IS, text_at(p, key), token_length(key)))
        v->name = value;
    else
        v->value = value;
    if (v->name.type == SOURCE_STRING && v->value.type != SOURCE_END && is_name(p, &v->name)) {
        add_setting(p, &v->name, &v->value, p->depth > 1 ? p->levels[p->depth - 2].group : p->v->group);
        v->name = v->value = (struct source_token){0};
    }
}

/* ---- strings that hold more -------------------------------------------------------------------------------------- */

/* Where the value at [from, to) ends: at a comma with another NAME= behind it. */
static size_t pair_end(const char *s, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        size_t n = s[i] == ',' ? lint_name_length(s + i + 1, to - i - 1) : 0;
        if (n > 0 && i + 1 + n < to && s[i + 1 + n] == '=')
            return i;
    }
    return to;
}

/* "NAME=value" alone, or "NAME=value,NAME=value". */
static int on_pair(struct source *p, const struct source_token *t)
{
    const char *s = p->v->s;
    size_t name = lint_name_length(s + t->from, token_length(t));
    int group = p->depth > 0 ? group_of(p) : ++p->l->groups, found = 0;
    if (name == 0 || name + 1 > token_length(t) || s[t->from + name] != '=' || s[t->from + name + 1] == '=' ||
        memchr(s + t->from, ' ', token_length(t)) || memchr(s + t->from, '\n', token_length(t)))
        return 0;
    for (size_t at = t->from; at < t->to;) {
        size_t n = lint_name_length(s + at, t->to - at), end = pair_end(s, at, t->to);
        struct source_token value = {SOURCE_STRING, at + n + 1, end, t->after, 0, t->raw, t->format};
        struct lint_view v;
        struct lint_setting *set =
            n > 0 && env_of_interest(s + at, n) ? lint_setting_new(p->l, p->v, at, n, LINT_DECLARED) : NULL;
        int known = set && end > at + n && value_of(p, &value, &v);
        if (set)
            set->group = group;
        if (known)
            lint_set_value(p->l, set, &v, NULL, v.from, v.to - v.from);
        found |= set != NULL;
        at = end + 1;
    }
    return found;
}

/* A string that stands alone where a statement begins is documentation. */
static int is_documentation(const struct source *p)
{
    return p->depth == 0 && (p->g->flags & SOURCE_PREFIX) &&
           (p->before.type == SOURCE_NEWLINE || p->before.type == SOURCE_END);
}

static void on_string(struct source *p, const struct source_token *t)
{
    const struct level *v = top_level(p);
    const char *s = text_at(p, t);
    if (!lint_names_any(s, token_length(t)))
        return;
    if (is_compiled(p)) {
        int holds = v && (v->open == '{' || calls_one_of(p, v, holders)); /* others are messages */
        if (!holds || !on_pair(p, t))
            lint_talked_of(p->l, p->v, t->from, t->to);
        return;
    }
    if (is_documentation(p) || (v && v->open == '(' && calls_one_of(p, v, talkers))) {
        lint_talked_of(p->l, p->v, t->from, t->to);
        return;
    }
    if (on_pair(p, t) ||
        !(memchr(s, ' ', token_length(t)) || memchr(s, '\n', token_length(t)) || memmem(s, token_length(t), "\\n", 2)))
        return;
    struct lint_view inner = lint_unescape(p->l, p->v, t->from, t->to, t->raw ? 0 : LINT_ESCAPES);
    int lines = memchr(inner.s + inner.from, '\n', inner.to - inner.from) != NULL, group = ++p->l->groups;
    size_t before = p->l->nsettings;
    p->l->read_inner(p->l, &inner, lines ? NULL : "words.sh", group, LINT_EXPORTED);
    size_t end = inner.to;
    while (end > inner.from && isspace((unsigned char)inner.s[end - 1]))
        end--;
    int goes_on = end > inner.from && strchr(";&|", inner.s[end - 1]) != NULL; /* "export A=b; " + command */
    if (v && v->open == '(' && calls_one_of(p, v, shells) && !goes_on)
        lint_end_shell(p->l, p->v->t, before, group);
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static void open_level(struct source *p, char c, size_t at)
{
    if (p->depth == MOST_LEVELS) {
        p->beyond++;
        return;
    }
    int call = p->before.type == SOURCE_WORD && c == '(';
    p->levels[p->depth++] = (struct level){.open = c,
                                           .at = at,
                                           .group = c == '(' ? group_of(p) : ++p->l->groups,
                                           .callee = call ? p->before.from : 0,
                                           .callee_end = call ? p->before.to : 0};
}

static void close_level(struct source *p)
{
    if (p->beyond > 0)
        p->beyond--;
    else if (p->depth > 0)
        p->depth--;
}

/* Lines that are indented alike, in a row, may meet; a function's or an arm's do not meet another's. */
static void on_line(struct source *p, size_t after)
{
    size_t n = strspn(p->v->s + after, " \t");
    if (p->depth > 0 || !(p->g->flags & SOURCE_PREFIX) || after + n >= p->v->to || strchr("\r\n#", p->v->s[after + n]))
        return;
    if (n == 0)
        p->block = p->v->group;
    else if (n != p->indentation)
        p->block = ++p->l->groups;
    p->indentation = n;
}

static void on_token(struct source *p, const struct source_token *t)
{
    if (t->type == SOURCE_PUNCT && strchr("([{", t->punct)) {
        open_level(p, t->punct, t->from);
    } else if (t->type == SOURCE_PUNCT && strchr(")]}", t->punct)) {
        close_level(p);
    } else if (t->type == SOURCE_NEWLINE) {
        on_line(p, t->after);
    } else if (is_name(p, t)) {
        on_name(p, t);
    } else if (t->type == SOURCE_STRING || t->type == SOURCE_WORD) {
        if (word_in("name|value|Name|Value|key", WORD_IS, text_at(p, t), token_length(t)))
            on_field(p, t);
        if (t->type == SOURCE_STRING)
            on_string(p, t);
    }
}

void lint_read_source(struct lint *l, const struct lint_view *v)
{
    struct source p = {.l = l, .v = v, .g = languages, .block = v->group};
    long line, column;
    while (strcmp(p.g->kind, v->format->kind) != 0)
        p.g++;
    struct source_token t = {.after = v->from};
    on_line(&p, v->from);
    while ((t = next_token(&p, &t)).type != SOURCE_END) {
        on_token(&p, &t);
        p.before = t;
    }
    if (p.depth && !strcmp(p.g->kind, "json")) {
        lint_place(v->t, lint_at(v, p.levels[p.depth - 1].at), &line, &column);
        err_at(v->why, v->t->doc.name, line, column, "not valid JSON: '%c' is never closed",
               p.levels[p.depth - 1].open);
    }
}
