/* Documents that people read: Markdown with its dialects, reStructuredText, plain text, diffs. Prose sets nothing; each
 * block of code is read in its own language, and what no reader takes is counted as not understood. */
#include <string.h>

#include "lint/lint_internal.h"

struct document {
    struct lint *l;
    const struct lint_view *v;
    size_t prose; /* where the text between blocks begins */
};

static int is_blank_line(const char *s, size_t at, size_t end)
{
    return lint_trim_end(s, at, end) == at;
}

/* ---- languages of blocks ----------------------------------------------------------------------------------------- */

/* The name of a file that a block's language stands for: "" to guess by content; NULL: what a program prints. */
static const char *file_of_language(const char *s, size_t n)
{
    static const char *const words[][2] = {
        {"bash|sh|shell|console|zsh|shell-session|sh-session|bash-session|slurm", "x.sh"},
        {"python|py|python3", "x.py"},
        {"yaml|yml", "x.yaml"},
        {"json|jsonc", "x.json"},
        {"toml", "x.toml"},
        {"dockerfile|docker", "Dockerfile"},
        {"ini", "x.ini"},
        {"hcl|terraform", "x.tf"},
        {"lua", "x.lua"},
        {"makefile|make", "Makefile"},
        {"env|dotenv", "x.env"},
        {"csh|tcsh", "x.csh"},
        {"c|cpp|c++|cuda", "x.c"},
        {"go|golang", "x.go"},
        {"rust", "x.rs"},
        {"diff|patch", "x.diff"},
        {"txt|none", ""},
        {"text|output|log", NULL},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (word_in(words[i][0], WORD_IS_ANY_CASE, s, n))
            return words[i][1];
    return n ? "x.other" : "";
}

/* The language in "bash title=x", "{bash}", "{.bash .numberLines}", "{code-block} bash" or "{r, echo=FALSE}". */
static const char *file_of_info(const char *s, size_t at, size_t end)
{
    at = lint_skip_blanks(s, at, end);
    int braced = at < end && s[at] == '{';
    at += (size_t)braced;
    at += braced && at < end && s[at] == '.';
    size_t n = strcspn(s + at, " \t\r\n,}{=");
    if (braced && at + n < end && (!strncmp(s + at, "code", n) || !strncmp(s + at, "code-block", n)) &&
        s[at + n] == '}')
        return file_of_info(s, at + n + 1, end);
    return file_of_language(s + at, at + n > end ? end - at : n);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* The text up to a block is prose. */
static void end_prose(struct document *d, size_t at, size_t next)
{
    if (at > d->prose)
        lint_talked_of(d->l, d->v, d->prose, at);
    d->prose = next;
}

/* A block without a language is read where its content is plainly of one; a list of settings that nobody reads, and
 * code of a language that nobody reads, are counted. */
static void read_block(struct document *d, size_t from, size_t to, const char *name)
{
    struct lint_view code = {d->v->t, d->v->s, from, to, d->v->map};
    end_prose(d, from, to);
    if (from >= to)
        return;
    if (!name)
        lint_talked_of(d->l, d->v, from, to);
    else {
        const struct lint_format_of *told = d->l->format_told(d->v->s + from, to - from);
        int settings = told && !strcmp(told->kind, "env"); /* also where they are called C for their colours */
        if (*name || told)
            d->l->read_inner(d->l, &code, settings || !*name ? NULL : name, ++d->l->groups, d->v->how);
    }
}

static size_t fence_length(const char *s, size_t at, size_t end, char c)
{
    size_t n = 0;
    while (at + n < end && s[at + n] == c)
        n++;
    return n;
}

/* ``` or ~~~ at `first`: reads the block and returns what comes behind it. */
static size_t read_fence(struct document *d, size_t first, size_t end)
{
    const char *s = d->v->s;
    char c = s[first];
    size_t n = fence_length(s, first, end, c), open = end + 1, to = d->v->to;
    const char *name = file_of_info(s, first + n, end);
    for (size_t at = open; at < to;) {
        size_t stop = source_line_end(s, at, to), text = lint_skip_blanks(s, at, stop);
        size_t own = fence_length(s, text, stop, c);
        if (own >= n && is_blank_line(s, text + own, stop)) {
            read_block(d, open, at, name);
            d->prose = stop < to ? stop + 1 : to;
            return d->prose;
        }
        at = stop + 1;
    }
    read_block(d, open < to ? open : to, to, name); /* one that is never closed ends with the document */
    return to;
}

/* The lines below `at` that are blank or indented deeper than `indent`. */
static size_t indented_end(const char *s, size_t at, size_t to, size_t indent)
{
    size_t last = at;
    while (at < to) {
        size_t stop = source_line_end(s, at, to), text = lint_skip_blanks(s, at, stop);
        if (!is_blank_line(s, at, stop)) {
            if (text - at <= indent)
                break;
            last = stop < to ? stop + 1 : to;
        }
        at = stop + 1;
    }
    return last;
}

/* ".. code-block:: bash" and a paragraph that ends in "::" have an indented block below. 0: the line has none. */
static size_t read_directive(struct document *d, size_t at, size_t first, size_t end)
{
    static const char *const directives[] = {
        ".. code-block::", ".. code::", ".. sourcecode::", ".. parsed-literal::", ".. prompt::"};
    const char *s = d->v->s, *name = NULL;
    size_t last = lint_trim_end(s, first, end), to = d->v->to;
    int found = 0;
    for (size_t i = 0; i < sizeof directives / sizeof *directives && !found; i++) {
        size_t n = strlen(directives[i]);
        found = last - first >= n && !memcmp(s + first, directives[i], n);
        if (found)
            name = file_of_info(s, first + n, last);
    }
    if (!found && (last - first < 2 || memcmp(s + last - 2, "::", 2) != 0 || !strncmp(s + first, ".. ", 3)))
        return 0;
    size_t from = end < to ? end + 1 : to, block_end = indented_end(s, from, to, first - at);
    while (found && from < block_end) { /* ":linenos:" and other options */
        size_t stop = source_line_end(s, from, block_end), text = lint_skip_blanks(s, from, stop);
        if (text == stop || s[text] != ':')
            break;
        from = stop + 1;
    }
    from = from < block_end ? from : block_end;
    read_block(d, from, block_end, found ? name : "");
    return block_end > end ? block_end : 0;
}

/* Plain text: lines in a row that a shell or an env file would have. */
static size_t read_commands(struct document *d, size_t at)
{
    const char *s = d->v->s;
    size_t stop = at, to = d->v->to;
    int goes_on = 0;
    while (stop < to) {
        size_t end = source_line_end(s, stop, to), text = lint_skip_blanks(s, stop, end);
        size_t name = lint_name_length(s + text, end - text);
        int sets = name > 4 && text + name < end && s[text + name] == '=' && memchr(s + text, '_', name);
        if (!goes_on && !sets && s[text] != '#' && strncmp(s + text, "$ ", 2) != 0 &&
            !d->l->format_told(s + text, end - text))
            break;
        goes_on = end > stop && s[end - 1] == '\\';
        stop = end < to ? end + 1 : to;
    }
    if (stop > at)
        read_block(d, at, stop, "x.sh");
    return stop;
}

/* Markdown: lines below a blank one that are indented by four or more. 0: there are none, or no code. */
static size_t read_indented(struct document *d, size_t at)
{
    size_t end = indented_end(d->v->s, at, d->v->to, 3);
    if (end == at || memmem(d->v->s + at, end - at, "```", 3) || !d->l->format_told(d->v->s + at, end - at))
        return 0;
    read_block(d, at, end, "");
    d->prose = end;
    return end;
}

void lint_read_prose(struct lint *l, const struct lint_view *v)
{
    struct document d = {l, v, v->from};
    const unsigned has = v->format->flags;
    int blank = 1;
    for (size_t at = v->from; at < v->to;) {
        size_t end = source_line_end(v->s, at, v->to), first = lint_skip_blanks(v->s, at, end), next = 0;
        int fence = first < end && (v->s[first] == '`' || v->s[first] == '~') &&
                    fence_length(v->s, first, end, v->s[first]) >= 3;
        if (fence && has & LINT_FENCES)
            next = read_fence(&d, first, end);
        else if (has & LINT_DIRECTIVES && first < end)
            next = read_directive(&d, at, first, end);
        if (!next && has & LINT_INDENTED && blank && first - at > 3)
            next = read_indented(&d, at);
        if (!next && has & LINT_COMMANDS)
            next = read_commands(&d, at);
        blank = is_blank_line(v->s, at, end);
        at = next > at ? next : end + 1;
    }
    end_prose(&d, v->to, v->to);
}

/* ---- diffs ------------------------------------------------------------------------------------------------------- */

/* What a file of the diff is after it: removed lines and marks become blanks, so that every byte keeps its place. */
void lint_read_diff(struct lint *l, const struct lint_view *v)
{
    /* A page may have thousands of blocks: each copies itself alone. */
    const size_t base = v->from, to = v->to - base;
    char *s = arena_alloc(l->arena, to + 1);
    size_t *map = arena_alloc(l->arena, (to + 1) * sizeof *map);
    memcpy(s, v->s + base, to);
    s[to] = 0;
    for (size_t i = 0; i <= to; i++)
        map[i] = lint_at(v, base + i);
    const char *name = NULL;
    size_t from = 0;
    for (size_t at = 0; at <= to; at = source_line_end(s, at, to) + 1) {
        size_t end = source_line_end(s, at, to);
        int header = !strncmp(s + at, "+++ ", 4) || !strncmp(s + at, "diff ", 5);
        if (header || at == to) {
            struct lint_view file = {v->t, s, from, at, map};
            if (at > from && (name || l->format_told(s + from, at - from)))
                l->read_inner(l, &file, name, ++l->groups, v->how);
            from = end < to ? end + 1 : to;
            name = NULL;
        }
        if (!strncmp(s + at, "+++ ", 4)) {
            size_t n = strcspn(s + at + 4, " \t\r\n");
            name = arena_strndup(l->arena, s + at + 4, n);
        }
        if (at == to)
            break;
        if (s[at] == '-' || s[at] == '@' || s[at] == '\\' || header) {
            lint_talked_of(l, v, base + at, base + end);
            memset(s + at, ' ', end - at);
        } else if (s[at] == '+') {
            s[at] = ' ';
        }
    }
}
