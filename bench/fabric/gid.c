/* Kinds of GID, NCCL's choice among them, and the least setting under which every port takes one that works. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "bench/fabric/ports.h"
#include "core/units.h"

/* Versions of NCCL at which the rules changed. */
#define NCCL_CHOOSES_GID        22105 /* by itself; before: index 0 */
#define NCCL_IB_IGNORES_INDEX   22203 /* NCCL_IB_GID_INDEX on InfiniBand */
#define NCCL_ROUTABLE_GID_INDEX 1     /* default of NCCL_IB_ROUTABLE_FLID_GID_INDEX */

static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
static const unsigned char mapped_multicast[12] = {[0] = 0xff, [1] = 0x0e, [10] = 0xff, [11] = 0xff};
static const unsigned char link_local[8] = {0xfe, 0x80};
static const unsigned char zero[16];

static int is_empty(const struct verbs_gid *g)
{
    return !memcmp(g->raw, zero, 16);
}

static int is_link_local(const struct verbs_gid *g)
{
    return !memcmp(g->raw, link_local, 8);
}

static int family_of(const struct verbs_gid *g)
{
    return !memcmp(g->raw, mapped, 12) || !memcmp(g->raw, mapped_multicast, 12) ? AF_INET : AF_INET6;
}

/* What NCCL counts as an address. */
static int is_address(const struct verbs_gid *g)
{
    return !is_empty(g) && !is_link_local(g);
}

enum verbs_gid_kind verbs_gid_kind(const struct verbs_gid *g)
{
    if (is_empty(g) || (g->roce != 1 && g->roce != 2))
        return VERBS_GID_NO_KIND;
    if (is_link_local(g))
        return g->roce == 2 ? VERBS_GID_V2_LINK_LOCAL : VERBS_GID_V1_LINK_LOCAL;
    if (family_of(g) == AF_INET)
        return g->roce == 2 ? VERBS_GID_V2_IPV4 : VERBS_GID_V1_IPV4;
    return g->roce == 2 ? VERBS_GID_V2_IPV6 : VERBS_GID_V1_IPV6;
}

const char *verbs_gid_kind_name(enum verbs_gid_kind k)
{
    static const char *const names[] = {
        [VERBS_GID_V2_IPV4] = "RoCE v2 over IPv4",
        [VERBS_GID_V2_IPV6] = "RoCE v2 over IPv6",
        [VERBS_GID_V1_IPV4] = "RoCE v1 with an IPv4 GID",
        [VERBS_GID_V1_IPV6] = "RoCE v1 with an IPv6 GID",
        [VERBS_GID_V2_LINK_LOCAL] = "RoCE v2, link-local",
        [VERBS_GID_V1_LINK_LOCAL] = "RoCE v1, link-local",
        [VERBS_GID_NO_KIND] = "no usable GID",
    };
    return k >= 0 && k <= VERBS_GID_NO_KIND ? names[k] : "unknown";
}

char *verbs_gid_print(char text[VERBS_GID_TEXT], const struct verbs_gid *g)
{
    int v4 = family_of(g) == AF_INET;
    if (!inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? g->raw + 12 : g->raw, text, VERBS_GID_TEXT))
        text[0] = '\0';
    return text;
}

/* How many bits from the one numbered `from` on are the same. */
static int common_bits(const unsigned char *x, const unsigned char *y, int from)
{
    int bit = from;
    while (bit < 128 && !((x[bit / 8] ^ y[bit / 8]) & (0x80 >> bit % 8)))
        bit++;
    return bit - from;
}

int verbs_gid_match(const struct verbs_gid_table *x, const struct verbs_gid_table *y, enum verbs_gid_kind k, int *ix,
                    int *iy)
{
    int longest = -1;
    for (int i = 0; i < x->count; i++)
        for (int j = 0; verbs_gid_kind(&x->gids[i]) == k && j < y->count; j++) {
            int bits = verbs_gid_kind(&y->gids[j]) == k ? common_bits(x->gids[i].raw, y->gids[j].raw, 0) : -1;
            if (bits > longest) {
                longest = bits;
                *ix = i;
                *iy = j;
            }
        }
    return longest >= 0;
}

/* ---- NCCL's choice ---- */

static int in_range(const struct verbs_gid *g, int family, const struct verbs_gid_setting *s)
{
    const int from = family == AF_INET ? 96 : 0, same = common_bits(g->raw, s->range.raw, from);
    return same >= s->prefix || from + same == 128;
}

/* Whether NCCL leaves `current` for `next`: for the wanted family, else for the wanted RoCE version. The first of
 * equals stays. */
static int prefers(const struct verbs_gid *current, const struct verbs_gid *next, const struct verbs_gid_setting *s)
{
    int family = s->family ? s->family : AF_INET, roce = s->roce ? s->roce : 2;
    if (family_of(next) != family || !in_range(next, family, s))
        return 0;
    if (family_of(current) != family)
        return 1;
    return is_address(next) && next->roce == roce && (current->roce != roce || !is_address(current));
}

struct verbs_gid_setting verbs_gid_asked(const struct verbs_gid_table *t)
{
    struct verbs_gid_setting s = VERBS_GID_UNSET;
    long index;
    if (t->asked && !unit_parse_int(t->asked, 0, 255, &index, "", NULL))
        s.index = (int)index;
    return s;
}

int verbs_gid_nccl_choice(const struct verbs_gid_table *t, int nccl, const struct verbs_gid_setting *s)
{
    if (t->infiniband && nccl >= NCCL_IB_IGNORES_INDEX) {
        /* A GID that carries a fabric-wide LID is routable, and taken. */
        const unsigned char *raw = t->count > NCCL_ROUTABLE_GID_INDEX ? t->gids[NCCL_ROUTABLE_GID_INDEX].raw : zero;
        return raw[4] || raw[5] ? NCCL_ROUTABLE_GID_INDEX : 0;
    }
    if (s->index >= 0)
        return s->index;
    int chosen = 0;
    for (int i = 1; i < t->count && nccl >= NCCL_CHOOSES_GID && !t->infiniband; i++)
        if (prefers(&t->gids[chosen], &t->gids[i], s))
            chosen = i;
    return chosen;
}

/* ---- advice ---- */

/* What may be said, least first. `ranged` adds NCCL_IB_ADDR_RANGE, the shortest prefix that does it. */
static const struct {
    int roce, family, ranged;
} settings_in_order[] = {
    {.roce = 1},
    {.family = AF_INET6},
    {.ranged = 1},
    {.family = AF_INET6, .ranged = 1},
    {.roce = 1, .family = AF_INET6},
    {.roce = 1, .ranged = 1},
    {.roce = 1, .family = AF_INET6, .ranged = 1},
};

struct cluster {
    const struct verbs_gid_table *tables;
    int ntables, nccl;
};

/* The first table on which NCCL's choice under `s` does not work; -1 when it works on all. */
static int first_failing(const struct cluster *c, const struct verbs_gid_setting *s, enum verbs_gid_kind *kind)
{
    *kind = VERBS_GID_NO_KIND;
    for (int i = 0; i < c->ntables; i++) {
        const struct verbs_gid_table *t = &c->tables[i];
        if (t->infiniband)
            continue;
        int chosen = verbs_gid_nccl_choice(t, c->nccl, s);
        if (chosen >= t->count || !t->gids[chosen].proven)
            return i;
        enum verbs_gid_kind k = verbs_gid_kind(&t->gids[chosen]);
        if (*kind != VERBS_GID_NO_KIND && k != *kind)
            return i;
        *kind = k;
    }
    return -1;
}

static int works_everywhere(const struct cluster *c, const struct verbs_gid_setting *s)
{
    enum verbs_gid_kind kind;
    return first_failing(c, s, &kind) < 0;
}

/* Bits that the proven GIDs of that family and version share: of all of them, or of each table's first. -1: none. */
static int shared_prefix(const struct cluster *c, int v6, int roce, int first_only, struct verbs_gid *range)
{
    static const enum verbs_gid_kind kinds[2][2] = {{VERBS_GID_V1_IPV4, VERBS_GID_V2_IPV4},
                                                    {VERBS_GID_V1_IPV6, VERBS_GID_V2_IPV6}};
    int from = v6 ? 0 : 96, bits = -1;
    for (int i = 0; i < c->ntables; i++)
        for (int g = 0; g < c->tables[i].count; g++) {
            const struct verbs_gid *gid = &c->tables[i].gids[g];
            if (!gid->proven || verbs_gid_kind(gid) != kinds[v6][roce == 2])
                continue;
            if (bits < 0)
                *range = *gid;
            const int same = common_bits(gid->raw, range->raw, from);
            bits = bits < 0 || same < bits ? same : bits;
            if (first_only)
                break;
        }
    return bits;
}

/* Whole bytes of an IPv4 address and 16 bits of an IPv6 address at a time: nodes to come should match, too. */
static int with_range(const struct cluster *c, struct verbs_gid_setting *s)
{
    int v6 = s->family == AF_INET6, step = v6 ? 16 : 8;
    for (int first_only = 0; first_only < 2; first_only++) {
        struct verbs_gid shared = {{0}};
        int most = shared_prefix(c, v6, s->roce ? s->roce : 2, first_only, &shared);
        for (int bits = step; most > 0 && bits < most + step; bits += step) {
            s->prefix = bits < most ? bits : most;
            s->range = shared;
            for (int b = (v6 ? 0 : 96) + s->prefix; b < 128; b++)
                s->range.raw[b / 8] &= (unsigned char)~(0x80 >> b % 8);
            if (works_everywhere(c, s))
                return 1;
        }
    }
    return 0;
}

static int find_setting(const struct cluster *c, struct verbs_gid_setting *s)
{
    for (size_t i = 0; i < sizeof settings_in_order / sizeof *settings_in_order; i++) {
        *s = VERBS_GID_UNSET;
        s->roce = settings_in_order[i].roce;
        s->family = settings_in_order[i].family;
        if (settings_in_order[i].ranged ? with_range(c, s) : works_everywhere(c, s))
            return 1;
    }
    int indices = 0;
    for (int i = 0; i < c->ntables; i++)
        if (c->tables[i].count > indices)
            indices = c->tables[i].count;
    for (int i = 0; i < indices; i++) {
        *s = VERBS_GID_UNSET;
        s->index = i;
        if (works_everywhere(c, s))
            return 1;
    }
    return 0;
}

static void print_setting(const struct verbs_gid_setting *s, char *text, size_t size)
{
    char part[4][128] = {"", "", "", ""}, address[VERBS_GID_TEXT] = "";
    if (s->index >= 0)
        snprintf(part[0], sizeof part[0], "NCCL_IB_GID_INDEX=%d", s->index);
    if (s->family)
        snprintf(part[1], sizeof part[1], "NCCL_IB_ADDR_FAMILY=%s", s->family == AF_INET6 ? "AF_INET6" : "AF_INET");
    if (s->prefix) {
        int v6 = s->family == AF_INET6;
        inet_ntop(v6 ? AF_INET6 : AF_INET, v6 ? s->range.raw : s->range.raw + 12, address, sizeof address);
        snprintf(part[2], sizeof part[2], "NCCL_IB_ADDR_RANGE=%s/%d", address, s->prefix);
    }
    if (s->roce)
        snprintf(part[3], sizeof part[3], "NCCL_IB_ROCE_VERSION_NUM=%d", s->roce);
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < 4; i++)
        if (part[i][0] && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " " : "", part[i]);
}

/* "takes index 0 (fe80::1, RoCE v2, link-local) on node1 mlx5_0:1" */
static void print_choice(const struct cluster *c, const struct verbs_gid_table *t, char *text, size_t size)
{
    static const struct verbs_gid empty;
    int chosen = verbs_gid_nccl_choice(t, c->nccl, &VERBS_GID_UNSET);
    const struct verbs_gid *g = chosen < t->count ? &t->gids[chosen] : &empty;
    char address[VERBS_GID_TEXT];
    snprintf(text, size, "index %d (%s, %s) on %s %s", chosen, verbs_gid_print(address, g),
             verbs_gid_kind_name(verbs_gid_kind(g)), t->node, t->port);
}

void verbs_gid_advise(const struct verbs_gid_table *tables, int ntables, int nccl, struct verbs_gid_advice *advice)
{
    struct cluster c = {tables, ntables, nccl};
    enum verbs_gid_kind kind;
    char choice[256];
    *advice = (struct verbs_gid_advice){.verdict = VERBS_GID_LEAVE, .setting = VERBS_GID_UNSET};
    int failing = first_failing(&c, &advice->setting, &kind);
    if (failing < 0) {
        snprintf(advice->why, sizeof advice->why, "NCCL's own choice works on every port: %s",
                 kind == VERBS_GID_NO_KIND ? "there is no RoCE port" : verbs_gid_kind_name(kind));
        return;
    }
    print_choice(&c, &tables[failing], choice, sizeof choice);
    if (find_setting(&c, &advice->setting)) {
        advice->verdict = VERBS_GID_SET;
        print_setting(&advice->setting, advice->environment, sizeof advice->environment);
        snprintf(advice->why, sizeof advice->why,
                 "by default NCCL takes %s, which does not connect to the others; with %s it takes a working one on "
                 "every port",
                 choice, advice->environment);
        return;
    }
    advice->verdict = VERBS_GID_NONE;
    advice->setting = VERBS_GID_UNSET;
    snprintf(advice->why, sizeof advice->why,
             "by default NCCL takes %s, which does not connect to the others, and no common setting helps: give every "
             "port an address of one family in one subnet a rail",
             choice);
}
