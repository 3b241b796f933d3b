/* NCCL's ways of reading a value, as documented in the header, one after the other. */
#include "core/vars/parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

enum { VERSION_FUNCTIONS = 22403 }; /* NCCL_ALGO and NCCL_PROTO by collective */

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* A second reading in base 10, to tell "010" from a number that looks like what it is. */
static int reads_as_octal(const char *s, int64_t value)
{
    while (isspace((unsigned char)*s))
        s++;
    if (*s == '-' || *s == '+')
        s++;
    if (s[0] != '0' || !isdigit((unsigned char)s[1]))
        return 0;
    return llabs(value) != strtoll(s, NULL, 10);
}

enum env_number env_parse_number(const char *s, int64_t *value)
{
    if (!*s)
        return ENV_NUMBER_EMPTY;
    char *end;
    errno = 0;
    long long number = strtoll(s, &end, 0);
    if (errno == ERANGE)
        return ENV_NUMBER_RANGE;
    *value = number;
    if (end == s)
        return ENV_NUMBER_WORD;
    if (reads_as_octal(s, number))
        return ENV_NUMBER_OCTAL;
    end += strspn(end, " \t");
    return *end ? ENV_NUMBER_TRAILING : ENV_NUMBER;
}

/* ---- device lists ------------------------------------------------------------------------------------------------ */

static int is_number(const char *s, size_t length)
{
    size_t i = length && *s == '-';
    if (i == length)
        return 0;
    for (; i < length; i++)
        if (!isdigit((unsigned char)s[i]))
            return 0;
    return 1;
}

/* The number in field `n` behind ':' of an entry, -1 when it is missing or empty. */
static int read_field(const char *entry, size_t length, int n, int *ok)
{
    const char *end = entry + length;
    *ok = 1;
    for (; n > 0; n--) {
        entry = memchr(entry, ':', (size_t)(end - entry));
        if (!entry)
            return -1;
        entry++;
    }
    const char *colon = memchr(entry, ':', (size_t)(end - entry));
    size_t digits = (size_t)((colon ? colon : end) - entry);
    if (digits == 0)
        return -1;
    *ok = is_number(entry, digits);
    return *ok ? (int)strtol(entry, NULL, 10) : 0;
}

void env_parse_devices(const char *s, struct env_devices *d)
{
    memset(d, 0, sizeof(*d));
    d->exclude = *s == '^';
    s += d->exclude;
    d->exact = *s == '=';
    s += d->exact;
    while (*s) {
        size_t length = strcspn(s, ",");
        if (length > 0) {
            if (d->count == ENV_NAMES_MAX) {
                d->dropped++;
            } else {
                struct env_device *e = &d->list[d->count++];
                const char *colon = memchr(s, ':', length);
                int plane_ok;
                e->name = s;
                e->length = colon ? (size_t)(colon - s) : length;
                e->port = read_field(s, length, 1, &e->port_ok);
                e->rail = read_field(s, length, 2, &e->rail_ok);
                (void)read_field(s, length, 3, &plane_ok);
                e->rail_ok &= plane_ok;
            }
        }
        s += length;
        s += *s == ',';
    }
}

int env_device_matches(const struct env_devices *d, const struct env_device *entry, const char *name, int port)
{
    if (strncmp(name, entry->name, entry->length) != 0 || (d->exact && name[entry->length]))
        return 0;
    return entry->port == -1 || port == -1 || entry->port == port;
}

int env_devices_select(const struct env_devices *d, const char *name, int port)
{
    if (d->count == 0)
        return 1;
    int found = 0;
    for (int i = 0; i < d->count && !found; i++)
        found = env_device_matches(d, &d->list[i], name, port);
    return found != d->exclude;
}

/* ---- NCCL_ALGO and NCCL_PROTO ------------------------------------------------------------------------------------ */

struct word {
    const char *name;
    int value, since;
};

static const struct word algorithms[] = {
    {"Tree", ALGO_TREE},
    {"Ring", ALGO_RING},
    {"CollNetDirect", ALGO_COLLNET_DIRECT, 21403},
    {"CollNetChain", ALGO_COLLNET_CHAIN, 21403},
    {"NVLS", ALGO_NVLS, 21701},
    {"NVLSTree", ALGO_NVLS_TREE, 21801},
    {"PAT", ALGO_PAT, 22304},
};
static const struct word protocols[] = {{"LL", PROTO_LL}, {"LL128", PROTO_LL128}, {"Simple", PROTO_SIMPLE}};
static const struct word functions[] = {
    {"Broadcast", COLL_BROADCAST},         {"Reduce", COLL_REDUCE},       {"AllGather", COLL_ALLGATHER},
    {"ReduceScatter", COLL_REDUCESCATTER}, {"AllReduce", COLL_ALLREDUCE},
};

struct words {
    const struct word *list;
    size_t count;
    unsigned all; /* bits of what exists in the release */
};

static int find_word(const struct word *list, size_t count, const char *s, size_t length, int version)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i].name) == length && !strncasecmp(list[i].name, s, length) && version >= list[i].since)
            return list[i].value;
    return -1;
}

static struct words words_of(const struct word *list, size_t count, int version)
{
    struct words w = {list, count, 0};
    for (size_t i = 0; i < count; i++)
        if (version >= list[i].since)
            w.all |= 1u << list[i].value;
    return w;
}

static void note_unknown(struct env_choice *c, const char *s, size_t length, int is_function)
{
    if (!c->unknown) {
        c->unknown = s;
        c->unknown_length = length;
        c->unknown_is_function = is_function;
    }
}

/* The bits of "a,b". Empty words between commas are no words, but no functions either. */
static unsigned read_words(const char *s, const char *end, const struct words *w, int version, struct env_choice *c)
{
    const int are_functions = w->list == functions;
    unsigned bits = 0;
    while (s < end) {
        const char *comma = memchr(s, ',', (size_t)(end - s));
        size_t n = (size_t)((comma ? comma : end) - s);
        int value = find_word(w->list, w->count, s, n, version);
        if (value >= 0)
            bits |= 1u << value;
        else if (n > 0 || are_functions)
            note_unknown(c, s, n, are_functions);
        s += n + (comma != NULL);
    }
    return bits;
}

/* The bits that "[^]a,b" leaves. */
static unsigned read_list(const char *s, size_t length, const struct words *w, int version, struct env_choice *c)
{
    int invert = length && *s == '^';
    unsigned bits = read_words(s + invert, s + length, w, version, c);
    return invert ? w->all & ~bits : bits;
}

static void parse_choice(const char *s, int version, const struct words *w, struct env_choice *c)
{
    memset(c, 0, sizeof(*c));
    for (int f = 0; f < COLL_COUNT; f++)
        c->allowed[f] = w->all;
    for (int first = 1; *s; first = 0) {
        size_t length = version >= VERSION_FUNCTIONS ? strcspn(s, ";") : strlen(s);
        const char *colon = version >= VERSION_FUNCTIONS ? memchr(s, ':', length) : NULL;
        const char *list = colon ? colon + 1 : s;
        unsigned colls = (1u << COLL_COUNT) - 1;
        if (colon)
            colls = read_words(s, colon, &(struct words){functions, LENGTH(functions), 0}, version, c);
        else if (!first && length > 0)
            note_unknown(c, s, length, 1);
        unsigned bits = read_list(list, length - (size_t)(list - s), w, version, c);
        for (int f = 0; f < COLL_COUNT && length > 0; f++) {
            if (!(colls & 1u << f))
                continue;
            c->allowed[f] = bits;
            c->touched[f] = 1;
        }
        s += length;
        s += *s == ';';
    }
}

void env_parse_algo(const char *s, int version, struct env_choice *c)
{
    struct words w = words_of(algorithms, LENGTH(algorithms), version);
    parse_choice(s, version, &w, c);
}

void env_parse_proto(const char *s, int version, struct env_choice *c)
{
    struct words w = words_of(protocols, LENGTH(protocols), version);
    parse_choice(s, version, &w, c);
}

unsigned env_algos_of(int coll, int version)
{
    unsigned ring = 1u << ALGO_RING;
    unsigned gather = ring | 1u << ALGO_PAT | 1u << ALGO_NVLS | 1u << ALGO_COLLNET_DIRECT;
    static const unsigned not_allreduce = 1u << ALGO_PAT;
    unsigned exist = words_of(algorithms, LENGTH(algorithms), version).all;
    switch (coll) {
    case COLL_BROADCAST:
    case COLL_REDUCE:
        return ring;
    case COLL_ALLGATHER:
    case COLL_REDUCESCATTER:
        return exist & gather;
    default:
        return exist & ~not_allreduce;
    }
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

const char *env_parse_level(const char *s, int version)
{
    static const struct word levels[] = {
        {"LOC"}, {"NVL"}, {"NVB"}, {"C2C", .since = 22602}, {"PIX"}, {"PXB"}, {"P2C", .since = 22703},
        {"PXN"}, {"PHB"}, {"SYS"},
    };
    static const char *const digits[] = {"LOC", "PIX", "PXB", "PHB", "SYS"};
    for (size_t i = 0; i < LENGTH(levels); i++)
        if (!strcmp(s, levels[i].name) && version >= levels[i].since)
            return levels[i].name;
    if (!is_number(s, strlen(s)) || *s == '-')
        return NULL;
    long digit = strtol(s, NULL, 10);
    return digits[digit < 4 ? digit : 4];
}

const char *env_parse_merge_level(const char *s)
{
    static const char *const levels[] = {"LOC", "PORT", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"};
    for (size_t i = 0; i < LENGTH(levels); i++)
        if (!strncmp(s, levels[i], strlen(levels[i])))
            return levels[i];
    return NULL;
}

int env_parse_groups(const char *s)
{
    while (*s) {
        size_t length = strcspn(s, ";");
        if (length > 0 && strspn(s, ",") >= length)
            return -1;
        s += length;
        s += *s == ';';
    }
    return 0;
}

const char *env_parse_debug(const char *s)
{
    static const char *const levels[] = {"NONE", "VERSION", "WARN", "INFO", "ABORT", "TRACE"};
    for (size_t i = 0; i < LENGTH(levels); i++)
        if (!strcasecmp(s, levels[i]))
            return levels[i];
    return NULL;
}

const char *env_parse_subsys(const char *s, size_t *length)
{
    static const struct word parts[] = {
        {"INIT"},    {"COLL"},  {"P2P"},  {"SHM"},        {"NET"},     {"GRAPH"},     {"TUNING"},
        {"ENV"},     {"ALLOC"}, {"CALL"}, {"PROXY"},      {"NVLS"},    {"BOOTSTRAP"}, {"REG"},
        {"PROFILE"}, {"RAS"},   {"ALL"},  {"ALLOC_HOST"}, {"DESTROY"},
    };
    s += *s == '^';
    while (*s) {
        *length = strcspn(s, ",");
        if (*length > 0 && find_word(parts, LENGTH(parts), s, *length, 0) < 0)
            return s;
        s += *length;
        s += *s == ',';
    }
    return NULL;
}

int env_parse_cta_policy(const char *s, int version)
{
    static const struct word policies[] = {{"DEFAULT"}, {"EFFICIENCY"}, {"ZERO"}};
    if (s[0] >= '0' && s[0] <= '2' && !s[1])
        return 1;
    if (version < 22902)
        return 0;
    while (*s) {
        size_t n = strcspn(s, "|");
        if (find_word(policies, LENGTH(policies), s, n, 0) < 0)
            return 0;
        s += n;
        s += *s == '|';
    }
    return 1;
}

int env_parse_netdevs(const char *s)
{
    if (!strcasecmp(s, "AUTO") || !strcasecmp(s, "ALL"))
        return 1;
    return !strncasecmp(s, "MAX:", 4) && is_number(s + 4, strlen(s + 4)) && strtol(s + 4, NULL, 10) > 0;
}

/* ---- configuration files ----------------------------------------------------------------------------------------- */

int env_parse_conf_line(const char *line, size_t length, int keep_cr, struct env_line *out)
{
    if (length > 0 && !keep_cr && line[length - 1] == '\r')
        length--;
    const char *equals = memchr(line, '=', length);
    if (length == 0 || line[0] == '#' || !equals)
        return 0;
    out->name = line;
    out->name_length = (size_t)(equals - line);
    out->value = equals + 1;
    out->value_length = length - out->name_length - 1;
    out->cut = out->name_length > ENV_CONF_MAX || out->value_length > ENV_CONF_MAX;
    if (out->name_length > ENV_CONF_MAX)
        out->name_length = ENV_CONF_MAX;
    if (out->value_length > ENV_CONF_MAX)
        out->value_length = ENV_CONF_MAX;
    return 1;
}
