/* A tuner table: text to rules, metadata, and the plain first-match walk over them. */
#include "tuner/table/table.h"

#include <stdlib.h>
#include <string.h>

#include "tuner/table/line.h"

/* Longer than any line that can mean something; keeps error columns and the time spent on junk small. */
#define LINE_LIMIT 4096

struct parser {
    struct tuner_table *table;
    size_t room; /* rules that fit into table->rules */
    tuner_complain *complain;
    void *arg;
};

static void complain(struct parser *p, long line, long column, const char *text)
{
    if (p->complain)
        p->complain(p->arg, line, column, text);
}

static int refuse(struct parser *p, const char *text)
{
    complain(p, 0, 0, text);
    return -1;
}

static void skip_line(struct parser *p, long line, long column, const char *text)
{
    p->table->broken++;
    complain(p, line, column, text);
}

static int starts_with(struct tuner_word w, const char *prefix)
{
    size_t n = strlen(prefix);
    return w.len >= n && !memcmp(w.s, prefix, n);
}

/* ---- metadata -------------------------------------------------------------------------------------------------- */

/* "# nccl: 2.27,2.28": the table may be used with these and no others. An entry that cannot be read fits no NCCL: a
 * table that was meant to be limited must not become one for all. */
static void parse_versions(struct parser *p, struct tuner_word w, long line, long column)
{
    struct tuner_table *t = p->table;
    t->nccl_given = 1;
    for (size_t at = 0; at <= w.len;) {
        const char *comma = memchr(w.s + at, ',', w.len - at);
        size_t n = comma ? (size_t)(comma - w.s) - at : w.len - at;
        struct tuner_word v = tuner_trim(w.s + at, n);
        const char *dot = v.len ? memchr(v.s, '.', v.len) : NULL;
        uint64_t major = 0, minor = 0;
        if (!dot || tuner_parse_number((struct tuner_word){v.s, (size_t)(dot - v.s)}, 999, &major) ||
            tuner_parse_number((struct tuner_word){dot + 1, (size_t)(v.s + v.len - dot - 1)}, 999, &minor))
            skip_line(p, line, column + (long)at, "expected NCCL versions such as 2.27,2.28");
        else if (t->nccl_count == TUNER_MAX_VERSIONS)
            skip_line(p, line, column + (long)at, "more than 32 NCCL versions");
        else
            t->nccl[t->nccl_count++] = (struct tuner_version){(int)major, (int)minor};
        at += n + 1;
    }
}

/* `w` is what follows the '#'. -1 when the whole file is of a kind that this program does not know. */
static int parse_comment(struct parser *p, struct tuner_word w, const char *line_start, long line)
{
    static const char name[] = "nccltune-tuner/", versions[] = "nccl:", next[] = "next-tuner:";
    if (starts_with(w, name)) {
        struct tuner_word major = {w.s + sizeof name - 1, w.len - (sizeof name - 1)};
        if (major.len == 1 && major.s[0] == '1')
            return 0;
        return refuse(p, "the format is not " TUNER_FORMAT ", the only one that is understood");
    }
    if (starts_with(w, versions)) {
        struct tuner_word list = tuner_trim(w.s + sizeof versions - 1, w.len - (sizeof versions - 1));
        parse_versions(p, list, line, list.s - line_start + 1);
    } else if (starts_with(w, next)) {
        struct tuner_word value = tuner_trim(w.s + sizeof next - 1, w.len - (sizeof next - 1));
        p->table->next_auto = value.len == 4 && !memcmp(value.s, "auto", 4);
        if (!p->table->next_auto && (value.len != 4 || memcmp(value.s, "none", 4) != 0))
            skip_line(p, line, value.s - line_start + 1, "expected auto or none");
    }
    return 0;
}

/* ---- lines ----------------------------------------------------------------------------------------------------- */

static int add_rule(struct parser *p, const struct tuner_rule *r)
{
    struct tuner_table *t = p->table;
    if (t->count == TUNER_RULES_LIMIT)
        return refuse(p, "more than 1000000 rules");
    if (t->count == p->room) {
        size_t room = p->room ? p->room * 2 : 64;
        struct tuner_rule *rules = realloc(t->rules, room * sizeof *rules);
        if (!rules)
            return refuse(p, "no memory for its rules");
        t->rules = rules;
        p->room = room;
    }
    t->rules[t->count++] = *r;
    return 0;
}

static int parse_line(struct parser *p, const char *s, size_t len, long line)
{
    struct tuner_word w = tuner_trim(s, len);
    if (!w.len)
        return 0;
    if (w.s[0] == '#')
        return parse_comment(p, tuner_trim(w.s + 1, w.len - 1), s, line);
    if (w.len > LINE_LIMIT) {
        skip_line(p, line, LINE_LIMIT + 1, "line longer than 4096 bytes");
        return 0;
    }
    struct tuner_rule rule;
    struct tuner_fault fault;
    switch (tuner_line_parse(&rule, w.s, w.len, &fault)) {
    case TUNER_LINE_RULE:
        rule.line = line;
        return add_rule(p, &rule);
    case TUNER_LINE_BROKEN:
        skip_line(p, line, fault.column + (w.s - s), fault.text);
        return 0;
    default:
        return 0;
    }
}

static int parse_text(struct parser *p, const char *text, size_t bytes)
{
    if (bytes > TUNER_BYTES_LIMIT)
        return refuse(p, "larger than 64 MiB");
    if (!bytes)
        return refuse(p, "is empty");
    if (memchr(text, 0, bytes))
        return refuse(p, "is not text: it has a NUL byte");
    size_t at = bytes >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0; /* a byte order mark, as spreadsheets write */
    for (long line = 1; at < bytes; line++) {
        const char *end = memchr(text + at, '\n', bytes - at);
        size_t n = end ? (size_t)(end - text) - at : bytes - at;
        if (parse_line(p, text + at, n, line))
            return -1;
        at += n + 1;
    }
    if (!p->table->count && p->table->broken)
        return refuse(p, "not one line of it can be used");
    return 0;
}

/* ---- public ---------------------------------------------------------------------------------------------------- */

int tuner_table_parse(struct tuner_table *t, const char *text, size_t bytes, tuner_complain *complain_fn, void *arg)
{
    memset(t, 0, sizeof *t);
    struct parser p = {.table = t, .complain = complain_fn, .arg = arg};
    return parse_text(&p, text, bytes);
}

void tuner_table_free(struct tuner_table *t)
{
    free(t->rules);
    memset(t, 0, sizeof *t);
}

int tuner_table_fits(const struct tuner_table *t, int major, int minor)
{
    if (!t->nccl_given)
        return 1;
    for (size_t i = 0; i < t->nccl_count; i++)
        if (t->nccl[i].major == major && t->nccl[i].minor == minor)
            return 1;
    return 0;
}

static int in_range(struct tuner_range range, int value)
{
    int any = range.low < 0;
    return any || (value >= range.low && value <= range.high);
}

int tuner_rule_fits_shape(const struct tuner_rule *r, const struct tuner_shape *s)
{
    return in_range(r->nodes, s->nodes) && in_range(r->ranks, s->ranks) && in_range(r->domains, s->domains);
}

const struct tuner_rule *tuner_table_match(const struct tuner_table *t, const struct tuner_rule *from,
                                           const struct tuner_shape *s, int coll, uint64_t bytes, int pipe_ops,
                                           int reg_buff)
{
    for (const struct tuner_rule *r = from ? from : t->rules; r && r < t->rules + t->count; r++)
        if (r->coll == coll && bytes >= r->min_bytes && bytes <= r->max_bytes && tuner_rule_fits_shape(r, s) &&
            (r->pipe_ops == TUNER_ANY || r->pipe_ops == pipe_ops) &&
            (r->reg_buff == TUNER_ANY || r->reg_buff == reg_buff))
            return r;
    return NULL;
}
