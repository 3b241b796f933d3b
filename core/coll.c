/* Name tables and the arithmetic of nccl-tests. */
#include "core/coll.h"

static const char *const colls[COLL_MEASURED] = {"broadcast", "reduce",   "allgather", "reducescatter",
                                                 "allreduce", "alltoall", "sendrecv",  "alltoallv"};
static const char *const algos[ALGO_COUNT] = {"tree",      "ring", "collnet_direct", "collnet_chain", "nvls",
                                              "nvls_tree", "pat"};
static const char *const protos[PROTO_COUNT] = {"ll", "ll128", "simple"};

static const char *name(const char *const *table, int count, int i)
{
    return i >= 0 && i < count ? table[i] : NULL;
}

/* Own folding instead of tolower(): no locale, and no symbol beyond this file. */
static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int is_joiner(char c)
{
    return c == '_' || c == '-';
}

static int same_word(const char *word, const char *s, size_t len)
{
    size_t i = 0;
    for (; *word; word++) {
        if (is_joiner(*word))
            continue;
        while (i > 0 && i < len && is_joiner(s[i]))
            i++;
        if (i >= len || fold(s[i]) != *word)
            return 0;
        i++;
    }
    return i == len;
}

static int parse_name(const char *const *table, int count, const char *s, size_t len)
{
    for (int i = 0; i < count; i++)
        if (same_word(table[i], s, len))
            return i;
    return -1;
}

const char *coll_name(int coll)
{
    return name(colls, COLL_MEASURED, coll);
}

const char *algo_name(int algo)
{
    return name(algos, ALGO_COUNT, algo);
}

const char *proto_name(int proto)
{
    return name(protos, PROTO_COUNT, proto);
}

int coll_parse(const char *s, size_t len)
{
    return parse_name(colls, COLL_MEASURED, s, len);
}

int algo_parse(const char *s, size_t len)
{
    return parse_name(algos, ALGO_COUNT, s, len);
}

int proto_parse(const char *s, size_t len)
{
    return parse_name(protos, PROTO_COUNT, s, len);
}

int coll_blocks(int coll, int nranks)
{
    switch (coll) {
    case COLL_ALLTOALLV:
        return nranks ? nranks + COLL_HOT - 1 : 0;
    case COLL_ALLGATHER:
    case COLL_REDUCESCATTER:
    case COLL_ALLTOALL:
        return nranks;
    default:
        return 1;
    }
}

double coll_algbw_GBps(double bytes, double time_us)
{
    return time_us > 0 ? bytes / time_us / 1e3 : 0;
}

double coll_busbw_factor(int coll, int nranks)
{
    double n = nranks > 0 ? nranks : 1;
    switch (coll) {
    case COLL_ALLREDUCE:
        return 2 * (n - 1) / n;
    case COLL_ALLGATHER:
    case COLL_REDUCESCATTER:
    case COLL_ALLTOALL:
    case COLL_ALLTOALLV:
        return (n - 1) / n;
    default:
        return 1;
    }
}
