/* Dockerfiles. */
#include <string.h>
#include <strings.h>

#include "envgen/lint/lint_internal.h"
#include "envgen/lint/tokens/shell_words.h"

enum { RUN_LAYER, OLD_FORM };
static const struct finding_kind kinds[] = {
    [RUN_LAYER] = {"NT610", "lost-export", FINDING_WARNING, "an export that ends with its RUN"},
    [OLD_FORM] = {"NT614", "env-without-equals", FINDING_ERROR, "ENV without '=' takes the whole line as one value"},
};

struct docker {
    struct lint *l;
    const struct lint_view *v;
    int group;
    int unclosed; /* a here-document that no line ends: further ones are not looked for */
};

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
    for (size_t line = end + 1; n > 0 && line < to;) {
        const char *newline = memchr(s + line, '\n', to - line);
        size_t stop = newline ? (size_t)(newline - s) : to, text = line + strspn(s + line, "\t ");
        if (text + n <= stop && !memcmp(s + text, mark, n) && strspn(s + text + n, " \t\r") == stop - text - n)
            return stop;
        line = stop + 1;
    }
    d->unclosed = n > 0;
    return end;
}

static struct lint_setting *add_env(const struct docker *d, size_t at, size_t name, size_t value, size_t end)
{
    struct lint_setting *s = lint_setting_new(d->l, d->v, at, name, LINT_DECLARED);
    if (!s)
        return NULL;
    s->group = d->group;
    struct lint_literal text = lint_word_literal(d->l->arena, d->v->s, value, end);
    if (text.text)
        lint_set_value(d->l, s, d->v, text.text, text.bytes ? text.at : value, text.bytes ? text.bytes : end - value);
    return s;
}

/* ENV A=1 B="2", or the old ENV A 1. */
static void read_env(const struct docker *d, size_t at, size_t end)
{
    const char *s = d->v->s;
    struct lint_word w = lint_next_word(s, at, end);
    size_t n = w.token == LINT_WORD ? lint_name_length(s + w.at, w.end - w.at) : 0;
    if (n > 0 && w.at + n == w.end) {
        struct lint_word value = lint_next_word(s, w.end, end);
        struct lint_setting *old = value.token == LINT_WORD ? add_env(d, w.at, n, value.at, value.end) : NULL;
        if (old && lint_next_word(s, value.end, end).token == LINT_WORD)
            lint_find(d->l, &kinds[OLD_FORM], old,
                      "Without '=' its value is all the rest of the line, blanks included.",
                      "Write NAME=value for each of them.");
        return;
    }
    while (w.token != LINT_END) {
        n = w.token == LINT_WORD ? lint_name_length(s + w.at, w.end - w.at) : 0;
        if (n > 0 && w.at + n < w.end && s[w.at + n] == '=')
            add_env(d, w.at, n, w.at + n + 1, w.end);
        w = lint_next_word(s, w.end, end);
    }
}

static void find_lost_exports(struct lint *l, size_t first)
{
    for (size_t i = first; i < l->nsettings; i++)
        if (l->settings[i]->how == LINT_LAYER)
            lint_find(l, &kinds[RUN_LAYER], l->settings[i],
                      "An export in a RUN ends with that build step: containers of this image do not have it.",
                      "Use an ENV instruction, or write it to /etc/nccl.conf.");
}

static int is(const char *s, size_t n, const char *word)
{
    return n == strlen(word) && !strncasecmp(s, word, n);
}

/* One instruction at [at, end). */
static void read_instruction(const struct docker *d, size_t at, size_t end)
{
    const char *s = d->v->s;
    size_t n = strcspn(s + at, " \t\r\n"), rest = at + n + strspn(s + at + n, " \t");
    struct lint_view v = {d->v->t, s, rest < end ? rest : end, end, d->v->map};
    if (is(s + at, n, "ENV"))
        read_env(d, v.from, end);
    else if (is(s + at, n, "RUN"))
        lint_read_shell(d->l, &v, ++d->l->groups, LINT_LAYER, NULL);
    else if (is(s + at, n, "ARG")) /* a build's own, not in the container */
        lint_understood(d->l, d->v, rest);
    else if (is(s + at, n, "CMD") || is(s + at, n, "ENTRYPOINT"))
        d->l->read_inner(d->l, &v, s[v.from] == '[' ? "words.json" : "words.sh", ++d->l->groups, LINT_EXPORTED);
}

int lint_read_docker(struct lint *l, const struct lint_view *v, int group, enum lint_how how, struct err *e)
{
    struct docker d = {l, v, group, 0};
    size_t first = l->nsettings;
    (void)how;
    (void)e;
    for (size_t at = v->from; at < v->to;) {
        size_t text = at + strspn(v->s + at, " \t");
        const char *newline = memchr(v->s + at, '\n', v->to - at);
        if (v->s[text] == '#') { /* a remark continues nothing */
            at = newline ? (size_t)(newline - v->s) + 1 : v->to;
            continue;
        }
        size_t end = heredoc_end(&d, at, instruction_end(v->s, at, v->to));
        if (text < end)
            read_instruction(&d, text, end);
        at = end + 1;
    }
    find_lost_exports(l, first);
    return 0;
}

const struct lint_rules lint_docker = {kinds, sizeof kinds / sizeof *kinds, NULL};
