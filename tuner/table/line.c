/* One line of a tuner table. The columns are a table of their own: name, where it goes, what may stand there. */
#include "tuner/table/line.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/coll.h"

#define FIELDS_REQUIRED 8
#define FIELDS_MAX      12

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

struct tuner_word tuner_trim(const char *s, size_t len)
{
    while (len && is_blank(s[0]))
        s++, len--;
    while (len && is_blank(s[len - 1]))
        len--;
    return (struct tuner_word){s, len};
}

int tuner_parse_number(struct tuner_word w, uint64_t high, uint64_t *value)
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

static int is_word(struct tuner_word w, const char *word)
{
    size_t i = 0;
    for (; i < w.len && word[i]; i++) {
        char c = w.s[i] >= 'A' && w.s[i] <= 'Z' ? (char)(w.s[i] - 'A' + 'a') : w.s[i];
        if (c != word[i])
            return 0;
    }
    return i == w.len && !word[i];
}

static int is_any(struct tuner_word w)
{
    return is_word(w, "-1");
}

/* ---- the columns: each parser returns 0, or -1 when the word is none of what `expected` says ------------------- */

static int parse_coll(struct tuner_rule *r, struct tuner_word w)
{
    r->coll = coll_parse(w.s, w.len);
    return r->coll < 0 || r->coll >= COLL_COUNT ? -1 : 0;
}

static int parse_min(struct tuner_rule *r, struct tuner_word w)
{
    return is_any(w) ? 0 : tuner_parse_number(w, UINT64_MAX, &r->min_bytes);
}

static int parse_max(struct tuner_rule *r, struct tuner_word w)
{
    r->max_bytes = UINT64_MAX;
    return is_any(w) ? 0 : tuner_parse_number(w, UINT64_MAX, &r->max_bytes);
}

static int parse_algo(struct tuner_rule *r, struct tuner_word w)
{
    int any = is_any(w) || is_word(w, "any");
    r->algo = any ? TUNER_ANY : algo_parse(w.s, w.len);
    return !any && r->algo < 0 ? -1 : 0;
}

static int parse_proto(struct tuner_rule *r, struct tuner_word w)
{
    int any = is_any(w) || is_word(w, "any");
    r->proto = any ? TUNER_ANY : proto_parse(w.s, w.len);
    return !any && r->proto < 0 ? -1 : 0;
}

static int parse_channels(struct tuner_rule *r, struct tuner_word w)
{
    uint64_t v = 0;
    if (!is_any(w) && tuner_parse_number(w, TUNER_MAX_CHANNELS, &v))
        return -1;
    r->channels = (int)v;
    return 0;
}

static int parse_range(struct tuner_range *range, struct tuner_word w)
{
    *range = (struct tuner_range){INT_MIN, INT_MAX};
    if (is_any(w))
        return 0;
    const char *dash = memchr(w.s, '-', w.len);
    struct tuner_word low = w, high = w;
    if (dash) {
        low = tuner_trim(w.s, (size_t)(dash - w.s));
        high = tuner_trim(dash + 1, (size_t)(w.s + w.len - dash - 1));
    }
    uint64_t from, to;
    if (tuner_parse_number(low, INT_MAX, &from) || tuner_parse_number(high, INT_MAX, &to) || from < 1 || from > to)
        return -1;
    *range = (struct tuner_range){(int)from, (int)to};
    return 0;
}

static int parse_nodes(struct tuner_rule *r, struct tuner_word w)
{
    return parse_range(&r->nodes, w);
}

static int parse_ranks(struct tuner_rule *r, struct tuner_word w)
{
    return parse_range(&r->ranks, w);
}

static int parse_pipe_ops(struct tuner_rule *r, struct tuner_word w)
{
    uint64_t v = 0;
    int any = is_any(w);
    if (!any && tuner_parse_number(w, INT_MAX, &v))
        return -1;
    r->pipe_ops = any ? TUNER_ANY : (int)v;
    return 0;
}

static int parse_reg_buff(struct tuner_rule *r, struct tuner_word w)
{
    uint64_t v = 0;
    int any = is_any(w);
    if (!any && tuner_parse_number(w, 1, &v))
        return -1;
    r->reg_buff = any ? TUNER_ANY : (int)v;
    return 0;
}

static int parse_chunk(struct tuner_rule *r, struct tuner_word w)
{
    uint64_t v = 0; /* NCCL keeps chunk sizes in an int */
    if (!is_any(w) && tuner_parse_number(w, INT_MAX, &v))
        return -1;
    r->chunk_bytes = (uint32_t)v;
    return 0;
}

static int parse_domains(struct tuner_rule *r, struct tuner_word w)
{
    return parse_range(&r->domains, w);
}

static const struct column {
    const char *name;
    int (*parse)(struct tuner_rule *r, struct tuner_word w);
    const char *expected;
} columns[FIELDS_MAX] = {
    {"collective", parse_coll, "broadcast, reduce, allgather, reducescatter or allreduce"},
    {"min_bytes", parse_min, "a number of bytes, or -1"},
    {"max_bytes", parse_max, "a number of bytes, or -1 for no bound"},
    {"algorithm", parse_algo, "tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat, or -1 for any"},
    {"protocol", parse_proto, "ll, ll128, simple, or -1 for any"},
    {"channels", parse_channels, "1 to 64, or -1 to keep NCCL's choice"},
    {"nNodes", parse_nodes, "a count from 1, a range such as 4-16, or -1"},
    {"nRanks", parse_ranks, "a count from 1, a range such as 4-16, or -1"},
    {"numPipeOps", parse_pipe_ops, "a count, or -1"},
    {"regBuff", parse_reg_buff, "0, 1 or -1"},
    {"chunk_bytes", parse_chunk, "a number of bytes below 2 GiB, or -1 to keep NCCL's choice"},
    {"nvlDomains", parse_domains, "a count from 1, a range such as 4-16, or -1"},
};

/* ---- faults ---------------------------------------------------------------------------------------------------- */

static int broken(struct tuner_fault *f, long column, const char *text)
{
    f->column = column;
    snprintf(f->text, sizeof f->text, "%s", text);
    return TUNER_LINE_BROKEN;
}

/* Names the column and shows the word, short and printable: the file may come from anywhere. */
static int broken_field(struct tuner_fault *f, long column, const struct column *c, struct tuner_word w)
{
    char shown[33];
    size_t n = w.len < sizeof shown - 1 ? w.len : sizeof shown - 1;
    for (size_t i = 0; i < n; i++)
        shown[i] = (unsigned char)w.s[i] < ' ' || w.s[i] == 0x7f ? '?' : w.s[i];
    shown[n] = 0;
    f->column = column;
    snprintf(f->text, sizeof f->text, "%s is \"%s%s\", expected %s", c->name, shown, n < w.len ? "..." : "",
             c->expected);
    return TUNER_LINE_BROKEN;
}

static int is_header(const struct tuner_word *w, int count)
{
    static const char *const first[] = {"collective", "collective_type", "colltype"};
    if (count < 2 || !(is_word(w[1], "min_bytes") || is_word(w[1], "minbytes")))
        return 0;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (is_word(w[0], first[i]))
            return 1;
    return 0;
}

/* ---- public ---------------------------------------------------------------------------------------------------- */

int tuner_line_parse(struct tuner_rule *r, const char *s, size_t len, struct tuner_fault *f)
{
    struct tuner_word words[FIELDS_MAX];
    long starts[FIELDS_MAX];
    int count = 0;
    for (size_t at = 0; at <= len; count++) {
        const char *comma = memchr(s + at, ',', len - at);
        size_t n = comma ? (size_t)(comma - s) - at : len - at;
        if (count == FIELDS_MAX)
            return broken(f, (long)at + 1, "more than 12 columns");
        words[count] = tuner_trim(s + at, n);
        starts[count] = (words[count].len ? words[count].s - s : (long)at) + 1;
        at += n + 1;
    }
    if (is_header(words, count))
        return TUNER_LINE_HEADER;
    if (count < FIELDS_REQUIRED) {
        char text[80];
        snprintf(text, sizeof text, "%d column%s, expected 8 to 12", count, count == 1 ? "" : "s");
        return broken(f, (long)len + 1, text);
    }
    struct tuner_range any = {INT_MIN, INT_MAX};
    *r = (struct tuner_rule){.pipe_ops = TUNER_ANY, .reg_buff = TUNER_ANY, .domains = any};
    for (int i = 0; i < count; i++)
        if (columns[i].parse(r, words[i]))
            return broken_field(f, starts[i], &columns[i], words[i]);
    if (r->min_bytes > r->max_bytes)
        return broken(f, starts[1], "min_bytes is larger than max_bytes");
    if (r->chunk_bytes && !r->channels)
        return broken(f, starts[10], "chunk_bytes without channels, expected a number of channels in column 6");
    return TUNER_LINE_RULE;
}
