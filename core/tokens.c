/* Tokens of shell, what its words stand for, and tokens of other languages. Nested constructs are skipped by counting,
 * so that no input makes a tokeniser recurse. */
#include "core/tokens.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int word_in(const char *list, enum word_match how, const char *s, size_t n)
{
    for (size_t k; *list; list += k + (list[k] == '|')) {
        k = strcspn(list, "|");
        if (k <= n && (how == WORD_OCCURS        ? memmem(s, n, list, k) != NULL
                       : how == WORD_BEGINS      ? !memcmp(s, list, k)
                       : how == WORD_IS_ANY_CASE ? k == n && !strncasecmp(s, list, k)
                                                 : k == n && !memcmp(s, list, k)))
            return 1;
    }
    return 0;
}

/* ---- words of a shell -------------------------------------------------------------------------------------------- */

size_t source_line_end(const char *s, size_t at, size_t to)
{
    const char *newline = memchr(s + at, '\n', to - at);
    return newline ? (size_t)(newline - s) : to;
}

size_t source_name_length(const char *s, size_t at, size_t end)
{
    size_t n = 0;
    while (at + n < end && (isalnum((unsigned char)s[at + n]) || s[at + n] == '_'))
        n++;
    return n;
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* Behind the closing quote of the one at `at`. One that is never closed ends with its line: the shell would refuse the
 * script, but the settings below deserve to be looked at. */
static size_t skip_quoted(const char *s, size_t at, size_t to)
{
    char quote = s[at];
    size_t p = at + 1;
    while (p < to && s[p] != quote)
        p += s[p] == '\\' && quote != '\'' && p + 1 < to ? 2 : 1;
    if (p < to)
        return p + 1;
    return source_line_end(s, at, to);
}

/* Behind the bracket that closes the one at `at`; quotes inside are stepped over. A brace left open ends with its line,
 * as a quote does. */
static size_t skip_nested(const char *s, size_t at, size_t to, char open, char close)
{
    int depth = 0;
    while (at < to) {
        if (s[at] == '\\' && at + 1 < to) {
            at += 2;
            continue;
        }
        if (s[at] == '\'' || s[at] == '"' || s[at] == '`') {
            at = skip_quoted(s, at, to);
            continue;
        }
        if (s[at] == '\n' && close == '}')
            return at;
        depth += s[at] == open;
        depth -= s[at] == close;
        at++;
        if (depth == 0)
            return at;
    }
    return to;
}

/* Behind one piece of a word. Inside double quotes a $( ) may hold quotes of its own, but then the word is not literal
 * anyway and where exactly it ends rarely matters. */
static size_t skip_piece(const char *s, size_t at, size_t to)
{
    if (s[at] == '\\')
        return at + 1 < to ? at + 2 : to;
    if (s[at] == '\'' || s[at] == '"' || s[at] == '`')
        return skip_quoted(s, at, to);
    if (s[at] == '$' && at + 1 < to && s[at + 1] == '(')
        return skip_nested(s, at + 1, to, '(', ')');
    if (s[at] == '$' && at + 1 < to && s[at + 1] == '{')
        return skip_nested(s, at + 1, to, '{', '}');
    return at + 1;
}

static size_t word_end(const char *s, size_t at, size_t to)
{
    size_t start = at;
    while (at < to && !is_blank(s[at]) && (!s[at] || !strchr("\n;&|<>()", s[at])))
        at = skip_piece(s, at, to);
    if (at < to && s[at] == '(' && at > start && s[at - 1] == '=')
        at = skip_nested(s, at, to, '(', ')');
    return at;
}

/* What is no word, the longer ones first. */
static const struct {
    const char *text;
    enum shell_token token;
} operators[] = {
    {"\n", SHELL_NEWLINE},  {";;", SHELL_ARM_END},  {";", SHELL_SEPARATOR},  {"&&", SHELL_SEPARATOR},
    {"&>", SHELL_REDIRECT}, {"&", SHELL_SEPARATOR}, {"||", SHELL_SEPARATOR}, {"|&", SHELL_SEPARATOR},
    {"|", SHELL_SEPARATOR}, {"(", SHELL_SEPARATOR}, {")", SHELL_SEPARATOR},  {"<<<", SHELL_REDIRECT},
    {"<<-", SHELL_HEREDOC}, {"<<", SHELL_HEREDOC},  {"<&", SHELL_REDIRECT},  {"<", SHELL_REDIRECT},
    {">>", SHELL_REDIRECT}, {">&", SHELL_REDIRECT}, {">|", SHELL_REDIRECT},  {">", SHELL_REDIRECT},
};

struct shell_word shell_next_word(const char *s, size_t at, size_t to)
{
    for (;;) {
        while (at < to && is_blank(s[at]))
            at++;
        if (at + 1 < to && s[at] == '\\' && s[at + 1] == '\n')
            at += 2;
        else if (at + 2 < to && s[at] == '\\' && s[at + 1] == '\r' && s[at + 2] == '\n')
            at += 3;
        else
            break;
    }
    if (at >= to)
        return (struct shell_word){SHELL_END, to, to};
    if (s[at] == '#')
        return (struct shell_word){SHELL_COMMENT, at, source_line_end(s, at, to)};
    if (to - at > 1 && !memcmp(s + at, "((", 2)) /* arithmetic: its '<<' is no here-document */
        return (struct shell_word){SHELL_SEPARATOR, at, skip_nested(s, at, to, '(', ')')};
    if (to - at > 1 && (s[at] == '<' || s[at] == '>') && s[at + 1] == '(') /* a command in place of a file */
        return (struct shell_word){SHELL_SEPARATOR, at, at + 1};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        size_t n = strlen(operators[i].text);
        if (n <= to - at && !memcmp(s + at, operators[i].text, n))
            return (struct shell_word){operators[i].token, at, at + n};
    }
    return (struct shell_word){SHELL_WORD, at, word_end(s, at, to)};
}

/* ---- what a word stands for -------------------------------------------------------------------------------------- */

#define DEEPEST 32 /* brackets of a sum, or texts of ${NAME:-text}, inside one another */

struct expansion {
    const struct shell_variables *variables; /* NULL: none is put in */
    const char *s;
    char *out;
    size_t n, room;
    int depth;
    int open; /* a part of the text is left that only a shell can tell */
};

static void put_char(struct expansion *x, char c)
{
    if (x->n < x->room)
        x->out[x->n++] = c;
}

static const char *value_of(const struct shell_variables *v, const char *name, size_t n)
{
    return n ? v->value(v->arg, name, n) : NULL;
}

/* Return where the text of "${NAME:-text}", "${NAME-text}" or one with '=' begins; `at` is behind the name. 0: none. */
static size_t fallback_at(const char *s, size_t at, size_t end)
{
    at += at < end && s[at] == ':';
    return at < end && (s[at] == '-' || s[at] == '=') ? at + 1 : 0;
}

/* Return the place of the brace that closes the one in front of `at`. */
static size_t closing_brace(const char *s, size_t at, size_t end)
{
    for (int depth = 1; at < end; at++) {
        depth += s[at] == '{';
        depth -= s[at] == '}';
        if (!depth)
            break;
    }
    return at;
}

/* $((1024 * 2)), $(expr 16 / 2): whole numbers, variables, + - * / % and brackets. */
struct sum {
    const struct shell_variables *variables;
    const char *p, *end;
    int depth, bad;
};

static long read_sum(struct sum *s);

static void skip_sum_blanks(struct sum *s)
{
    while (s->p < s->end && strchr(" \t${}\\", *s->p))
        s->p++;
}

static long read_operand(struct sum *s)
{
    skip_sum_blanks(s);
    if (s->p < s->end && *s->p == '(' && s->depth < DEEPEST) {
        s->p++;
        s->depth++;
        long value = read_sum(s);
        s->depth--;
        s->bad |= s->p == s->end || *s->p != ')';
        s->p += s->p < s->end;
        skip_sum_blanks(s);
        return value;
    }
    char digits[32], *end;
    size_t n = source_name_length(s->p, 0, (size_t)(s->end - s->p));
    const char *value = value_of(s->variables, s->p, n), *text = value ? value : digits;
    snprintf(digits, sizeof digits, "%.*s", n < sizeof digits ? (int)n : 0, s->p);
    s->p += n;
    skip_sum_blanks(s);
    long number = strtol(text, &end, 10);
    s->bad |= end == text || *end || number > 1 << 30 || number < -(1 << 30);
    return s->bad ? 0 : number;
}

static long read_product(struct sum *s)
{
    long value = read_operand(s);
    while (!s->bad && s->p < s->end && *s->p && strchr("*/%", *s->p)) {
        char sign = *s->p++;
        long by = read_operand(s);
        s->bad |= (sign != '*' && !by) || labs(value) > 1L << 31 || labs(by) > 1L << 31;
        if (!s->bad)
            value = sign == '*' ? value * by : sign == '/' ? value / by : value % by;
    }
    return value;
}

static long read_sum(struct sum *s)
{
    long value = read_product(s);
    while (!s->bad && s->p < s->end && (*s->p == '+' || *s->p == '-')) {
        char sign = *s->p++;
        long by = read_product(s);
        s->bad |= labs(value) > 1L << 61 || labs(by) > 1L << 61;
        value += s->bad ? 0 : sign == '+' ? by : -by;
    }
    return value;
}

/* Put in what "$((…))" or "$(expr …)" at s[at] comes to. Return where to go on; 0: it is none, or not known. */
static size_t put_sum(struct expansion *x, size_t at, size_t end)
{
    const int is_expr = end - at > 7 && !memcmp(x->s + at, "$(expr ", 7);
    const size_t close = is_expr ? 1 : 2;
    struct sum s = {.variables = x->variables, .p = x->s + at + (is_expr ? 7 : 3), .end = x->s + end};
    if (!is_expr && (end - at < 6 || memcmp(x->s + at, "$((", 3) != 0))
        return 0;
    long value = read_sum(&s);
    if (s.bad || (size_t)(s.end - s.p) < close || memcmp(s.p, "))", close) != 0)
        return 0;
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%ld", value);
    if ((size_t)n >= x->room - x->n)
        return 0;
    memcpy(x->out + x->n, digits, (size_t)n);
    x->n += (size_t)n;
    return (size_t)(s.p - x->s) + close;
}

static void put_text(struct expansion *x, size_t at, size_t end);

/* Put in what begins with the '$' at s[at]: a sum, a variable, or the text that "${NAME:-text}" has in its place. An
 * unknown one stays as it is. Return where to go on. */
static size_t put_dollar(struct expansion *x, size_t at, size_t end)
{
    const char *s = x->s, *value = NULL;
    size_t behind = x->variables ? put_sum(x, at, end) : 0;
    if (behind)
        return behind;
    if (x->variables) {
        size_t brace = at + 1 < end && s[at + 1] == '{', name = at + 1 + brace, n = source_name_length(s, name, end);
        value = value_of(x->variables, s + name, n);
        behind = name + n;
        if (brace) {
            size_t stop = closing_brace(s, behind, end);
            size_t fallback = n && !value && x->depth < DEEPEST ? fallback_at(s, behind, stop) : 0;
            behind = stop + (stop < end);
            if (fallback && fallback < stop) {
                x->depth++;
                put_text(x, fallback, stop);
                x->depth--;
                return behind;
            }
        }
    }
    size_t length = value ? strlen(value) : 0;
    if (!value || length >= x->room - x->n) {
        x->open = 1;
        put_char(x, '$');
        return at + 1;
    }
    memcpy(x->out + x->n, value, length);
    x->n += length;
    return behind;
}

static void put_text(struct expansion *x, size_t at, size_t end)
{
    const char *s = x->s;
    char quote = '\0';
    for (size_t i = at; i < end;) {
        if (s[i] == '\\' && i + 1 < end && quote != '\'') {
            x->open |= quote == '"';
            if (s[i + 1] != '\n')
                put_char(x, s[i + 1]);
            i += 2;
        } else if (quote ? s[i] == quote : s[i] == '\'' || s[i] == '"') {
            quote = quote ? '\0' : s[i];
            i++;
        } else if (s[i] == '$' && quote != '\'') {
            i = put_dollar(x, i, end);
        } else {
            x->open |= (s[i] == '`' && quote != '\'') || (!quote && (s[i] == '(' || (s[i] == '~' && i == at)));
            put_char(x, s[i++]);
        }
    }
    x->open |= quote != '\0';
}

size_t shell_word_text(const struct shell_variables *v, const char *s, size_t at, size_t end, char *out, size_t room)
{
    struct expansion x = {.variables = v, .s = s, .out = out, .room = room};
    put_text(&x, at, end);
    out[x.n] = '\0';
    return x.n;
}

/* ${NAME:-text} or ${NAME-text} as a whole: find where the text lies. */
static int find_fallback(const char *s, size_t *at, size_t *end)
{
    if (*end - *at < 5 || s[*at] != '$' || s[*at + 1] != '{' || s[*end - 1] != '}')
        return 0;
    size_t from = fallback_at(s, *at + 2 + source_name_length(s, *at + 2, *end), *end);
    if (!from || memchr(s + from, '{', *end - from))
        return 0;
    *at = from;
    *end -= 1;
    return 1;
}

struct shell_literal shell_word_literal(struct arena *a, const char *s, size_t at, size_t end)
{
    struct shell_literal l = {NULL, 0, 0};
    size_t length = end - at;
    /* One pair of quotes around all of it is only a frame. */
    if (length >= 2 && (s[at] == '"' || s[at] == '\'') && skip_quoted(s, at, end) == end && s[end - 1] == s[at]) {
        int double_quoted = s[at] == '"';
        at++;
        end--;
        if (double_quoted)
            find_fallback(s, &at, &end);
        /* A '$' in single quotes may still meet a shell later (bash -c '...'). */
        if (!memchr(s + at, '$', end - at) && !memchr(s + at, '`', end - at) &&
            !(double_quoted && memchr(s + at, '\\', end - at))) {
            l.text = arena_strndup(a, s + at, end - at);
            l.at = at;
            l.bytes = end - at;
        }
        return l;
    }
    if (find_fallback(s, &at, &end) && end - at >= 2 && (s[at] == '"' || s[at] == '\''))
        return shell_word_literal(a, s, at, end);
    struct expansion x = {.s = s, .out = arena_alloc(a, end - at + 1), .room = end - at};
    put_text(&x, at, end);
    if (x.open)
        return l;
    l.text = x.out;
    if (x.n == end - at) {
        l.at = at;
        l.bytes = end - at;
    }
    return l;
}

const char *shell_sourced_path(struct arena *a, const char *script, const char *word)
{
    const char *slash = strrchr(script, '/'), *path = word;
    for (const char *p = word; *word == '$' && *p; p++)
        path = strchr(")}", *p) && p[1] == '/' ? p + 2 : path;
    path += strncmp(path, "./", 2) ? 0 : 2;
    return *path == '/' || *path == '~' || strstr(path, "..") || strpbrk(path, "$`")
               ? NULL
               : arena_printf(a, "%.*s%s", slash ? (int)(slash + 1 - script) : 0, script, path);
}

/* ---- tokens of other languages ----------------------------------------------------------------------------------- */

/* Whether `mark` stands at s[at]. */
static size_t mark_at(const char *s, size_t at, size_t to, const char *mark)
{
    size_t n = mark ? strlen(mark) : 0;
    return n && to - at >= n && !memcmp(s + at, mark, n) ? n : 0;
}

static int begins_comment(const struct source_language *g, const char *s, size_t at, size_t to)
{
    for (const char *p = g->comments; *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        if (to - at >= n && !memcmp(s + at, p, n))
            return 1;
        p += n;
    }
    return 0;
}

static size_t skip_blanks(const struct source_language *g, const char *s, size_t at, size_t to)
{
    while (at < to) {
        size_t n = mark_at(s, at, to, g->open);
        if (n) {
            const char *close = memmem(s + at + n, to - at - n, g->close, strlen(g->close));
            at = close ? (size_t)(close - s) + strlen(g->close) : to;
        } else if (begins_comment(g, s, at, to)) {
            at = source_line_end(s, at, to);
        } else if (strchr(" \t\r\f", s[at]) || (s[at] == '\\' && at + 1 < to && s[at + 1] == '\n')) {
            at += s[at] == '\\' ? 2 : 1;
        } else {
            break;
        }
    }
    return at;
}

/* A string that ends with its line unless it is one that may go over lines: what is never closed hides no other line.
 */
static struct source_token read_quoted(const struct source_language *g, const char *s, size_t at, size_t to, int raw)
{
    char q = s[at];
    int triple = (g->flags & SOURCE_TRIPLE) && at + 2 < to && s[at + 1] == q && s[at + 2] == q;
    int escapes = !raw && !((g->flags & SOURCE_LITERAL) && q == '\'');
    size_t n = triple ? 3 : 1, p = at + n;
    for (; p < to; p++) {
        if (s[p] == '\\' && p + 1 < to && (escapes || s[p + 1] == q))
            p++;
        else if (s[p] == q && (!triple || (p + 2 < to && s[p + 1] == q && s[p + 2] == q)))
            return (struct source_token){SOURCE_STRING, at + n, p, p + n, 0, !escapes, q == '`'};
        else if (s[p] == '\n' && !triple && q != '`')
            break;
    }
    return (struct source_token){SOURCE_STRING, at + n, p < to ? p : to, p < to ? p : to, 0, !escapes, 1};
}

/* [[ … ]], [=[ … ]=] */
static size_t read_bracket_string(const char *s, size_t at, size_t to, struct source_token *t)
{
    size_t level = 0;
    while (at + 1 + level < to && s[at + 1 + level] == '=')
        level++;
    if (at + 1 + level >= to || s[at + 1 + level] != '[')
        return 0;
    size_t from = at + 2 + level;
    for (size_t p = from; p + level + 1 < to; p++)
        if (s[p] == ']' && s[p + 1 + level] == ']' && strspn(s + p + 1, "=") >= level) {
            *t = (struct source_token){SOURCE_STRING, from, p, p + level + 2, 0, 1, 0};
            return 1;
        }
    *t = (struct source_token){SOURCE_STRING, from, to, to, 0, 1, 1}; /* never closed */
    return 1;
}

size_t source_heredoc_end(const char *s, size_t at, size_t to, const char *mark, size_t bytes, size_t *after)
{
    for (size_t line = at; bytes > 0 && line < to; line = *after + 1) {
        size_t text = line + strspn(s + line, " \t");
        *after = source_line_end(s, line, to);
        if (text + bytes <= *after && !memcmp(s + text, mark, bytes) &&
            strspn(s + text + bytes, " \t\r") == *after - text - bytes)
            return line;
    }
    return to;
}

/* <<EOT, <<-EOT, <<~EOT: the text is on the lines below. */
static size_t read_heredoc(const char *s, size_t at, size_t to, struct source_token *t)
{
    size_t name = at + 2 + (at + 2 < to && strchr("-~", s[at + 2]) != NULL), n = source_name_length(s, name, to);
    size_t from = source_line_end(s, at, to) + 1, after;
    size_t end = from < to ? source_heredoc_end(s, from, to, s + name, n, &after) : to;
    if (end < to) {
        *t = (struct source_token){SOURCE_STRING, from, end, after, 0, 1, 0};
        return 1;
    }
    *t = (struct source_token){SOURCE_STRING, from < to ? from : to, to, to, 0, 1, 1}; /* never closed */
    return n > 0;
}

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || (unsigned char)c >= 0x80;
}

static struct source_token read_word(const struct source_language *g, const char *s, size_t at, size_t to)
{
    size_t p = at + (s[at] == '-');
    while (p < to && is_word(s[p]))
        p++;
    if ((g->flags & SOURCE_PREFIX) && p < to && p - at <= 2 && (s[p] == '"' || s[p] == '\'')) {
        struct source_token t = read_quoted(g, s, p, to, memchr(s + at, 'r', p - at) || memchr(s + at, 'R', p - at));
        t.format |= memchr(s + at, 'f', p - at) || memchr(s + at, 'F', p - at);
        return t;
    }
    return (struct source_token){SOURCE_WORD, at, p, p, 0, 0, 0};
}

static struct source_token read_punct(const char *s, size_t at, size_t to)
{
    char c = s[at], next = at + 1 < to ? s[at + 1] : '\0';
    int two = (next == '=' && strchr("=!<>+-*/|&^%~.", c)) || (c == ':' && next == ':');
    if ((c == ':' && next == '=') || (c == '=' && next == '>'))
        return (struct source_token){SOURCE_PUNCT, at, at + 2, at + 2, '=', 0, 0};
    return (struct source_token){SOURCE_PUNCT, at, at + 1 + (size_t)two, at + 1 + (size_t)two, two ? 'E' : c, 0, 0};
}

struct source_token source_next(const struct source_language *g, const char *s, size_t at, size_t to)
{
    struct source_token t = {0};
    at = skip_blanks(g, s, at, to);
    if (at >= to)
        return (struct source_token){SOURCE_END, to, to, to, 0, 0, 0};
    if (s[at] == '\n')
        return (struct source_token){SOURCE_NEWLINE, at, at + 1, at + 1, 0, 0, 0};
    if (s[at] == '"' || s[at] == '\'' || (s[at] == '`' && (g->flags & SOURCE_BACKTICK)))
        return read_quoted(g, s, at, to, 0);
    if (s[at] == '[' && (g->flags & SOURCE_BRACKETS) && read_bracket_string(s, at, to, &t))
        return t;
    if (s[at] == '<' && (g->flags & SOURCE_HEREDOC) && mark_at(s, at, to, "<<") && read_heredoc(s, at, to, &t))
        return t;
    if (is_word(s[at]) || (s[at] == '-' && at + 1 < to && isdigit((unsigned char)s[at + 1])))
        return read_word(g, s, at, to);
    return read_punct(s, at, to);
}
