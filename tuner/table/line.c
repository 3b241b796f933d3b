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

struct column {
    const char *name;
    int (*parse)(const struct column *c, void *to, struct tuner_word w);
    size_t member;      /* of struct tuner_rule */
    uint64_t any, high; /* of a number: what -1 stands for, and the largest */
    const char *expected;
};

static int parse_coll(const struct column *c, void *to, struct tuner_word w)
{
    int coll = coll_parse(w.s, w.len);
    (void)c;
    *(int *)to = coll;
    return coll < 0 || coll >= COLL_COUNT ? -1 : 0;
}

static int parse_bytes(const struct column *c, void *to, struct tuner_word w)
{
    *(uint64_t *)to = c->any;
    return is_any(w) ? 0 : tuner_parse_number(w, UINT64_MAX, to);
}

static int parse_count(const struct column *c, void *to, struct tuner_word w)
{
    uint64_t v = c->any;
    if (!is_any(w) && tuner_parse_number(w, c->high, &v))
        return -1;
    *(int *)to = (int)v;
    return 0;
}

static int parse_word(int *to, struct tuner_word w, int (*parse)(const char *s, size_t len))
{
    int any = is_any(w) || is_word(w, "any");
    *to = any ? TUNER_ANY : parse(w.s, w.len);
    return !any && *to < 0 ? -1 : 0;
}

static int parse_algo(const struct column *c, void *to, struct tuner_word w)
{
    (void)c;
    return parse_word(to, w, algo_parse);
}

static int parse_proto(const struct column *c, void *to, struct tuner_word w)
{
    (void)c;
    return parse_word(to, w, proto_parse);
}

static int parse_range(const struct column *c, void *to, struct tuner_word w)
{
    struct tuner_range *range = to;
    (void)c;
    *range = (struct tuner_range){INT_MIN, INT_MAX};
    if (is_any(w))
        return 0;
    const char *dash = memchr(w.s, '-', w.len);
    struct tuner_word low = w, high = w;
    if (dash) {
        low = tuner_trim(w.s, (size_t)(dash - w.s));
        high = tuner_trim(dash + 1, (size_t)(w.s + w.len - dash - 1));
    }
    uint64_t first, last;
    if (tuner_parse_number(low, INT_MAX, &first) || tuner_parse_number(high, INT_MAX, &last) || first < 1 ||
        first > last)
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
    {"algorithm", parse_algo, TO(algo), 0, 0,
     "tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat, or -1 for any"},
    {"protocol", parse_proto, TO(proto), 0, 0, "ll, ll128, simple, or -1 for any"},
    {"channels", parse_count, TO(channels), 0, TUNER_MAX_CHANNELS, "1 to 64, or -1 to keep NCCL's choice"},
    {"nNodes", parse_range, TO(nodes), 0, 0, NUMBER},
    {"nRanks", parse_range, TO(ranks), 0, 0, NUMBER},
    {"numPipeOps", parse_count, TO(pipe_ops), ANY, INT_MAX, "a count, or -1"},
    {"regBuff", parse_count, TO(reg_buff), ANY, 1, "0, 1 or -1"},
    {"chunk_bytes", parse_count, TO(chunk_bytes), 0, INT_MAX,
     "a number of bytes below 2 GiB, or -1 to keep NCCL's choice"},
    {"nvlDomains", parse_range, TO(domains), 0, 0, NUMBER},
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
        if (columns[i].parse(&columns[i], (char *)r + columns[i].member, words[i]))
            return broken_field(f, starts[i], &columns[i], words[i]);
    if (r->min_bytes > r->max_bytes)
        return broken(f, starts[1], "min_bytes is larger than max_bytes");
    if (r->chunk_bytes && !r->channels)
        return broken(f, starts[10], "chunk_bytes without channels, expected a number of channels in column 6");
    return TUNER_LINE_RULE;
}
