#include "envgen/lint/tokens/source_tokens.h"

#include <ctype.h>
#include <string.h>

/* Whether `mark` stands at s[at]. */
static size_t stands(const char *s, size_t at, size_t to, const char *mark)
{
    size_t n = mark ? strlen(mark) : 0;
    return n && to - at >= n && !memcmp(s + at, mark, n) ? n : 0;
}

static size_t line_end(const char *s, size_t at, size_t to)
{
    const char *newline = memchr(s + at, '\n', to - at);
    return newline ? (size_t)(newline - s) : to;
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
        size_t n = stands(s, at, to, g->open);
        if (n) {
            const char *close = memmem(s + at + n, to - at - n, g->close, strlen(g->close));
            at = close ? (size_t)(close - s) + strlen(g->close) : to;
        } else if (begins_comment(g, s, at, to)) {
            at = line_end(s, at, to);
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
static struct source_token quoted(const struct source_language *g, const char *s, size_t at, size_t to, int raw)
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
static size_t bracket_string(const char *s, size_t at, size_t to, struct source_token *t)
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

/* <<EOT, <<-EOT, <<~EOT: the text is on the lines below. */
static size_t heredoc(const char *s, size_t at, size_t to, struct source_token *t)
{
    size_t name = at + 2 + (at + 2 < to && strchr("-~", s[at + 2]) != NULL), n = 0;
    while (name + n < to && (isalnum((unsigned char)s[name + n]) || s[name + n] == '_'))
        n++;
    size_t from = line_end(s, at, to) + 1;
    for (size_t line = from; n > 0 && line < to;) {
        size_t stop = line_end(s, line, to), text = line + strspn(s + line, " \t");
        if (text + n <= stop && !memcmp(s + text, s + name, n) && strspn(s + text + n, " \t\r") == stop - text - n) {
            *t = (struct source_token){SOURCE_STRING, from, line, stop, 0, 1, 0};
            return 1;
        }
        line = stop + 1;
    }
    *t = (struct source_token){SOURCE_STRING, from < to ? from : to, to, to, 0, 1, 1}; /* never closed */
    return n > 0;
}

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || (unsigned char)c >= 0x80;
}

static struct source_token word(const struct source_language *g, const char *s, size_t at, size_t to)
{
    size_t p = at + (s[at] == '-');
    while (p < to && is_word(s[p]))
        p++;
    if ((g->flags & SOURCE_PREFIX) && p < to && p - at <= 2 && (s[p] == '"' || s[p] == '\'')) {
        struct source_token t = quoted(g, s, p, to, memchr(s + at, 'r', p - at) || memchr(s + at, 'R', p - at));
        t.format |= memchr(s + at, 'f', p - at) || memchr(s + at, 'F', p - at);
        return t;
    }
    return (struct source_token){SOURCE_WORD, at, p, p, 0, 0, 0};
}

static struct source_token punct(const char *s, size_t at, size_t to)
{
    char c = s[at], next = at + 1 < to ? s[at + 1] : '\0';
    int two = (next == '=' && strchr("=!<>+-*/|&^%~.", c)) || (c == ':' && next == ':');
    if (c == ':' && next == '=')
        return (struct source_token){SOURCE_PUNCT, at, at + 2, at + 2, '=', 0, 0};
    if (c == '=' && next == '>')
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
        return quoted(g, s, at, to, 0);
    if (s[at] == '[' && (g->flags & SOURCE_BRACKETS) && bracket_string(s, at, to, &t))
        return t;
    if (s[at] == '<' && (g->flags & SOURCE_HEREDOC) && stands(s, at, to, "<<") && heredoc(s, at, to, &t))
        return t;
    if (is_word(s[at]) || (s[at] == '-' && at + 1 < to && isdigit((unsigned char)s[at + 1])))
        return word(g, s, at, to);
    return punct(s, at, to);
}
