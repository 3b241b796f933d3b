/* A tuner table: text to rules, metadata, and the plain first-match walk over them. The columns of a line are a table
 * of their own: name, where it goes, what may stand there. */
#include "tuner/table/table.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll.h"

/* Longer than any line that can mean something; keeps error columns and the time spent on junk small. */
#define LINE_LIMIT      4096
#define FIELDS_REQUIRED 8
#define FIELDS_MAX      12

/* A word without blanks at either end. */
struct word {
    const char *s;
    size_t len;
};

/* ---- words ----------------------------------------------------------------------------------------------------- */

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct word trim_word(const char *s, size_t len)
{
    while (len && is_blank(s[0]))
        s++, len--;
    while (len && is_blank(s[len - 1]))
        len--;
    return (struct word){s, len};
}

/* The word before the next comma of a list from `*at` on, or the rest of it; `*at` is behind that then. */
static struct word next_field(struct word list, size_t *at)
{
    const char *s = list.s + *at, *comma = memchr(s, ',', list.len - *at);
    size_t n = comma ? (size_t)(comma - s) : list.len - *at;
    *at += n + 1;
    return trim_word(s, n);
}

/* Read decimal digits alone, at most `high`: 0, or -1. */
static int parse_number(struct word w, uint64_t high, uint64_t *value)
{
    uint64_t v = 0;
    if (!w.len)
        return -1;
    for (size_t i = 0; i < w.len; i++) {
        unsigned digit = (unsigned char)w.s[i] - (unsigned)'0';
        if (digit > 9 || v > (high - digit) / 10 || digit > high)
            return -1;
        v = v * 10 + digit;
    }
    *value = v;
    return 0;
}

static int is_word(struct word w, const char *word)
{
    size_t i = 0;
    for (; i < w.len && word[i]; i++) {
        char c = w.s[i] >= 'A' && w.s[i] <= 'Z' ? (char)(w.s[i] - 'A' + 'a') : w.s[i];
        if (c != word[i])
            return 0;
    }
    return i == w.len && !word[i];
}

static int is_any(struct word w)
{
    return is_word(w, "-1");
}

/* ---- the columns: each parser returns 0, or -1 when the word is none of what `expected` says ------------------- */

struct column {
    const char *name;
    int (*parse)(const struct column *c, void *to, struct word w);
    size_t member;      /* of struct tuner_rule */
    uint64_t any, high; /* of a number: what -1 stands for, and the largest */
    const char *expected;
    int (*number_of)(const char *s, size_t len); /* of a word; below 0: it is none */
};

static int parse_coll(const struct column *c, void *to, struct word w)
{
    int coll = coll_parse(w.s, w.len);
    (void)c;
    *(int *)to = coll;
    return coll < 0 || coll >= COLL_COUNT ? -1 : 0;
}

static int parse_bytes(const struct column *c, void *to, struct word w)
{
    *(uint64_t *)to = c->any;
    return is_any(w) ? 0 : parse_number(w, UINT64_MAX, to);
}

static int parse_count(const struct column *c, void *to, struct word w)
{
    uint64_t v = c->any;
    if (!is_any(w) && parse_number(w, c->high, &v))
        return -1;
    *(int *)to = (int)v;
    return 0;
}

static int parse_word(const struct column *c, void *to, struct word w)
{
    int any = is_any(w) || is_word(w, "any"), *number = to;
    *number = any ? TUNER_ANY : c->number_of(w.s, w.len);
    return !any && *number < 0 ? -1 : 0;
}

static int parse_range(const struct column *c, void *to, struct word w)
{
    struct tuner_range *range = to;
    (void)c;
    *range = (struct tuner_range){INT_MIN, INT_MAX};
    if (is_any(w))
        return 0;
    const char *dash = memchr(w.s, '-', w.len);
    struct word low = w, high = w;
    if (dash) {
        low = trim_word(w.s, (size_t)(dash - w.s));
        high = trim_word(dash + 1, (size_t)(w.s + w.len - dash - 1));
    }
    uint64_t first, last;
    if (parse_number(low, INT_MAX, &first) || parse_number(high, INT_MAX, &last) || first < 1 || first > last)
        return -1;
    *range = (struct tuner_range){(int)first, (int)last};
    return 0;
}

#define TO(member) offsetof(struct tuner_rule, member)
#define ANY        ((uint64_t)TUNER_ANY)
#define NUMBER     "a count from 1, a range such as 4-16, or -1"

/* NCCL keeps chunk sizes in an int. */
static const struct column columns[FIELDS_MAX] = {
    {"collective", parse_coll, TO(coll), 0, 0, "broadcast, reduce, allgather, reducescatter or allreduce"},
    {"min_bytes", parse_bytes, TO(min_bytes), 0, 0, "a number of bytes, or -1"},
    {"max_bytes", parse_bytes, TO(max_bytes), UINT64_MAX, 0, "a number of bytes, or -1 for no bound"},
    {"algorithm", parse_word, TO(algo), 0, 0,
     "tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat, or -1 for any", algo_parse},
    {"protocol", parse_word, TO(proto), 0, 0, "ll, ll128, simple, or -1 for any", proto_parse},
    {"channels", parse_count, TO(channels), 0, TUNER_MAX_CHANNELS, "1 to 64, or -1 to keep NCCL's choice"},
    {"nNodes", parse_range, TO(nodes), 0, 0, NUMBER},
    {"nRanks", parse_range, TO(ranks), 0, 0, NUMBER},
    {"numPipeOps", parse_count, TO(pipe_ops), ANY, INT_MAX, "a count, or -1"},
    {"regBuff", parse_count, TO(reg_buff), ANY, 1, "0, 1 or -1"},
    {"chunk_bytes", parse_count, TO(chunk_bytes), 0, INT_MAX,
     "a number of bytes below 2 GiB, or -1 to keep NCCL's choice"},
    {"nvlDomains", parse_range, TO(domains), 0, 0, NUMBER},
};

/* ---- the parser ------------------------------------------------------------------------------------------------ */

struct parser {
    struct tuner_table *table;
    size_t room;      /* rules that fit into table->rules */
    const char *line; /* the current one, */
    long number;      /* from 1 */
    tuner_complain *complain;
    void *arg;
};

static int refuse(struct parser *p, const char *text)
{
    if (p->complain)
        p->complain(p->arg, 0, 0, text);
    return -1;
}

/* Leave the current line out; `at` is the place in it that cannot be used. */
static int skip_line(struct parser *p, const char *at, const char *text)
{
    p->table->broken++;
    if (p->complain)
        p->complain(p->arg, p->number, at - p->line + 1, text);
    return 0;
}

/* ---- rules ----------------------------------------------------------------------------------------------------- */

/* Names the column and shows the word, short and printable: the file may come from anywhere. */
static int skip_field(struct parser *p, const char *at, const struct column *c, struct word w)
{
    char shown[33], text[192];
    size_t n = w.len < sizeof shown - 1 ? w.len : sizeof shown - 1;
    for (size_t i = 0; i < n; i++)
        shown[i] = (unsigned char)w.s[i] < ' ' || w.s[i] == 0x7f ? '?' : w.s[i];
    shown[n] = 0;
    snprintf(text, sizeof text, "%s is \"%s%s\", expected %s", c->name, shown, n < w.len ? "..." : "", c->expected);
    return skip_line(p, at, text);
}

/* Names of columns, ours or those of NVIDIA's example. */
static int is_header(const struct word *w, int count)
{
    static const char *const first[] = {"collective", "collective_type", "colltype"};
    if (count < 2 || !(is_word(w[1], "min_bytes") || is_word(w[1], "minbytes")))
        return 0;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (is_word(w[0], first[i]))
            return 1;
    return 0;
}

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

/* `line` is neither blank nor a comment. */
static int parse_rule(struct parser *p, struct word line)
{
    static const struct tuner_range any = {INT_MIN, INT_MAX};
    struct tuner_rule r = {.pipe_ops = TUNER_ANY, .reg_buff = TUNER_ANY, .domains = any, .line = p->number};
    struct word words[FIELDS_MAX];
    const char *starts[FIELDS_MAX];
    int count = 0;
    for (size_t at = 0; at <= line.len; count++) {
        const char *start = line.s + at;
        if (count == FIELDS_MAX)
            return skip_line(p, start, "more than 12 columns");
        words[count] = next_field(line, &at);
        starts[count] = words[count].len ? words[count].s : start;
    }
    if (is_header(words, count))
        return 0;
    if (count < FIELDS_REQUIRED) {
        char text[80];
        snprintf(text, sizeof text, "%d column%s, expected 8 to 12", count, count == 1 ? "" : "s");
        return skip_line(p, line.s + line.len, text);
    }
    for (int i = 0; i < count; i++)
        if (columns[i].parse(&columns[i], (char *)&r + columns[i].member, words[i]))
            return skip_field(p, starts[i], &columns[i], words[i]);
    if (r.min_bytes > r.max_bytes)
        return skip_line(p, starts[1], "min_bytes is larger than max_bytes");
    if (r.chunk_bytes && !r.channels)
        return skip_line(p, starts[10], "chunk_bytes without channels, expected a number of channels in column 6");
    return add_rule(p, &r);
}

/* ---- metadata -------------------------------------------------------------------------------------------------- */

/* "# nccl: 2.27,2.28": the table may be used with these and no others. An entry that cannot be read fits no NCCL: a
 * table that was meant to be limited must not become one for all. */
static void parse_versions(struct parser *p, struct word list)
{
    struct tuner_table *t = p->table;
    t->nccl_given = 1;
    for (size_t at = 0; at <= list.len;) {
        const char *start = list.s + at;
        struct word v = next_field(list, &at);
        const char *dot = v.len ? memchr(v.s, '.', v.len) : NULL;
        uint64_t major = 0, minor = 0;
        if (!dot || parse_number((struct word){v.s, (size_t)(dot - v.s)}, 999, &major) ||
            parse_number((struct word){dot + 1, (size_t)(v.s + v.len - dot - 1)}, 999, &minor))
            skip_line(p, start, "expected NCCL versions such as 2.27,2.28");
        else if (t->nccl_count == TUNER_MAX_VERSIONS)
            skip_line(p, start, "more than 32 NCCL versions");
        else
            t->nccl[t->nccl_count++] = (struct tuner_version){(int)major, (int)minor};
    }
}

/* Whether the word begins so; then `*rest` is what follows. */
static int has_prefix(struct word w, const char *prefix, struct word *rest)
{
    size_t n = strlen(prefix);
    if (w.len < n || memcmp(w.s, prefix, n) != 0)
        return 0;
    *rest = trim_word(w.s + n, w.len - n);
    return 1;
}

/* `w` is what follows the '#'. -1 when the whole file is of a kind that this program does not know. */
static int parse_comment(struct parser *p, struct word w)
{
    struct word value;
    if (has_prefix(w, "nccltune-tuner/", &value)) {
        if (w.len != strlen(TUNER_FORMAT) || memcmp(w.s, TUNER_FORMAT, w.len) != 0)
            return refuse(p, "the format is not " TUNER_FORMAT ", the only known one");
    } else if (has_prefix(w, "nccl:", &value)) {
        parse_versions(p, value);
    } else if (has_prefix(w, "next-tuner:", &value)) {
        p->table->next_auto = value.len == 4 && !memcmp(value.s, "auto", 4);
        if (!p->table->next_auto && (value.len != 4 || memcmp(value.s, "none", 4) != 0))
            skip_line(p, value.s, "expected auto or none");
    }
    return 0;
}

/* ---- lines ----------------------------------------------------------------------------------------------------- */

static int parse_line(struct parser *p, size_t len)
{
    struct word w = trim_word(p->line, len);
    if (!w.len)
        return 0;
    if (w.s[0] == '#')
        return parse_comment(p, trim_word(w.s + 1, w.len - 1));
    if (w.len > LINE_LIMIT)
        return skip_line(p, p->line + LINE_LIMIT, "line longer than 4096 bytes");
    return parse_rule(p, w);
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
    for (p->number = 1; at < bytes; p->number++) {
        const char *end = memchr(text + at, '\n', bytes - at);
        size_t n = end ? (size_t)(end - text) - at : bytes - at;
        p->line = text + at;
        if (parse_line(p, n))
            return -1;
        at += n + 1;
    }
    if (!p->table->count && p->table->broken)
        return refuse(p, "no valid line");
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
