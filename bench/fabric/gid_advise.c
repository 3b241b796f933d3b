/* The least NCCL setting under which every port takes a GID that works. */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>

#include "bench/fabric/gid.h"

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

static int works(const struct cluster *c, const struct verbs_gid_setting *s)
{
    enum verbs_gid_kind kind;
    return first_failing(c, s, &kind) < 0;
}

static int is_of(const struct verbs_gid *g, int v6, int roce)
{
    enum verbs_gid_kind k = verbs_gid_kind(g);
    return g->proven && g->roce == roce &&
           (v6 ? k == VERBS_GID_V2_IPV6 || k == VERBS_GID_V1_IPV6 : k == VERBS_GID_V2_IPV4 || k == VERBS_GID_V1_IPV4);
}

/* Bits that the proven GIDs of that family and version share: of all of them, or of each table's first. -1: none. */
static int shared_prefix(const struct cluster *c, int v6, int roce, int first_only, struct verbs_gid *range)
{
    int from = v6 ? 0 : 96, bits = -1;
    for (int i = 0; i < c->ntables; i++)
        for (int g = 0; g < c->tables[i].count; g++) {
            const struct verbs_gid *gid = &c->tables[i].gids[g];
            if (!is_of(gid, v6, roce))
                continue;
            if (bits < 0) {
                *range = *gid;
                bits = 128 - from;
            }
            for (int b = 0; b < bits; b++)
                if ((gid->raw[(from + b) / 8] ^ range->raw[(from + b) / 8]) & (0x80 >> (from + b) % 8))
                    bits = b;
            if (first_only)
                break;
        }
    return bits;
}

static void clear_below(struct verbs_gid *range, int bits)
{
    for (int b = bits; b < 128; b++)
        range->raw[b / 8] &= (unsigned char)~(0x80 >> b % 8);
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
            clear_below(&s->range, (v6 ? 0 : 96) + s->prefix);
            if (works(c, s))
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
        if (settings_in_order[i].ranged ? with_range(c, s) : works(c, s))
            return 1;
    }
    int indices = 0;
    for (int i = 0; i < c->ntables; i++)
        if (c->tables[i].count > indices)
            indices = c->tables[i].count;
    for (int i = 0; i < indices; i++) {
        *s = VERBS_GID_UNSET;
        s->index = i;
        if (works(c, s))
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
                 "left alone NCCL takes %s, which does not connect to the others; with %s it takes one that does on "
                 "every port",
                 choice, advice->environment);
        return;
    }
    advice->verdict = VERBS_GID_NONE;
    advice->setting = VERBS_GID_UNSET;
    snprintf(
        advice->why, sizeof advice->why,
        "left alone NCCL takes %s, which does not connect to the others, and no setting that is the same on every node "
        "helps: give every port an address of one family in one subnet a rail",
        choice);
}
