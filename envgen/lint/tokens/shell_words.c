/* The shell's quoting and word rules, as far as they are needed to find settings; nested constructs are skipped by
 * counting, so no input makes this recurse. */
#include "envgen/lint/tokens/shell_words.h"

#include <ctype.h>
#include <string.h>

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
    const char *newline = memchr(s + at, '\n', to - at);
    return newline ? (size_t)(newline - s) : to;
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
    while (at < to && !is_blank(s[at]) && !strchr("\n;&|<>()", s[at]))
        at = skip_piece(s, at, to);
    if (at < to && s[at] == '(' && at > start && s[at - 1] == '=')
        at = skip_nested(s, at, to, '(', ')');
    return at;
}

static struct lint_word token(enum lint_token t, size_t at, size_t end)
{
    return (struct lint_word){t, at, end};
}

struct lint_word lint_next_word(const char *s, size_t at, size_t to)
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
        return token(LINT_END, to, to);
    char c = s[at], next = at + 1 < to ? s[at + 1] : '\0';
    switch (c) {
    case '\n':
        return token(LINT_NEWLINE, at, at + 1);
    case '#': {
        const char *newline = memchr(s + at, '\n', to - at);
        return token(LINT_COMMENT, at, newline ? (size_t)(newline - s) : to);
    }
    case ';':
        return next == ';' ? token(LINT_ARM_END, at, at + 2) : token(LINT_SEPARATOR, at, at + 1);
    case '&':
        if (next == '>')
            return token(LINT_REDIRECT, at, at + 2);
        return token(LINT_SEPARATOR, at, at + 1 + (next == '&'));
    case '|':
        return token(LINT_SEPARATOR, at, at + 1 + (next == '|' || next == '&'));
    case '(':
        if (next == '(') /* arithmetic: its '<<' is no here-document */
            return token(LINT_SEPARATOR, at, skip_nested(s, at, to, '(', ')'));
        return token(LINT_SEPARATOR, at, at + 1);
    case ')':
        return token(LINT_SEPARATOR, at, at + 1);
    case '<':
        if (next == '<' && at + 2 < to && s[at + 2] == '<')
            return token(LINT_REDIRECT, at, at + 3);
        if (next == '<')
            return token(LINT_HEREDOC, at, at + 2 + (at + 2 < to && s[at + 2] == '-'));
        return token(next == '(' ? LINT_SEPARATOR : LINT_REDIRECT, at, at + 1 + (next == '&'));
    case '>':
        return token(next == '(' ? LINT_SEPARATOR : LINT_REDIRECT, at,
                     at + 1 + (next == '>' || next == '&' || next == '|'));
    default:
        return token(LINT_WORD, at, word_end(s, at, to));
    }
}

/* ${NAME:-text} or ${NAME-text} as a whole: where the text lies. */
static int fallback(const char *s, size_t *at, size_t *end)
{
    size_t i = *at + 2;
    if (*end - *at < 5 || s[*at] != '$' || s[*at + 1] != '{' || s[*end - 1] != '}')
        return 0;
    while (i < *end && (isalnum((unsigned char)s[i]) || s[i] == '_'))
        i++;
    i += i < *end && s[i] == ':';
    if (i >= *end || (s[i] != '-' && s[i] != '=') || memchr(s + i, '{', *end - i))
        return 0;
    *at = i + 1;
    *end -= 1;
    return 1;
}

struct lint_literal lint_word_literal(struct arena *a, const char *s, size_t at, size_t end)
{
    struct lint_literal l = {NULL, 0, 0};
    size_t length = end - at;
    /* One pair of quotes around all of it is only a frame. */
    if (length >= 2 && (s[at] == '"' || s[at] == '\'') && skip_quoted(s, at, end) == end && s[end - 1] == s[at]) {
        int double_quoted = s[at] == '"';
        at++;
        end--;
        if (double_quoted)
            fallback(s, &at, &end);
        /* A '$' in single quotes may still meet a shell later (bash -c '...'). */
        if (!memchr(s + at, '$', end - at) && !memchr(s + at, '`', end - at) &&
            !(double_quoted && memchr(s + at, '\\', end - at))) {
            l.text = arena_strndup(a, s + at, end - at);
            l.at = at;
            l.bytes = end - at;
        }
        return l;
    }
    if (fallback(s, &at, &end) && end - at >= 2 && (s[at] == '"' || s[at] == '\''))
        return lint_word_literal(a, s, at, end);
    char *out = arena_alloc(a, end - at + 1);
    size_t n = 0;
    int plain = 1;
    for (size_t i = at; i < end;) {
        char c = s[i];
        if (c == '$' || c == '`' || c == '(' || (c == '~' && i == at))
            return l;
        if (c == '\'' || c == '"') {
            size_t after = skip_quoted(s, i, end);
            if (after - i < 2 || s[after - 1] != c) /* never closed */
                return l;
            for (size_t j = i + 1; j + 1 < after; j++) {
                if (c == '"' && strchr("$`\\", s[j]))
                    return l;
                out[n++] = s[j];
            }
            i = after;
            plain = 0;
        } else if (c == '\\') {
            if (i + 1 < end && s[i + 1] != '\n')
                out[n++] = s[i + 1];
            i += 2;
            plain = 0;
        } else {
            out[n++] = c;
            i++;
        }
    }
    l.text = out;
    if (plain) {
        l.at = at;
        l.bytes = end - at;
    }
    return l;
}
