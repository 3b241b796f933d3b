/* Kinds of GID, and NCCL's choice among them. */
#include "bench/fabric/gid.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

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

static int common_bits(const unsigned char *x, const unsigned char *y)
{
    int bits = 0;
    while (bits < 128 && !((x[bits / 8] ^ y[bits / 8]) & (0x80 >> bits % 8)))
        bits++;
    return bits;
}

int verbs_gid_match(const struct verbs_gid_table *x, const struct verbs_gid_table *y, enum verbs_gid_kind k, int *ix,
                    int *iy)
{
    int longest = -1;
    for (int i = 0; i < x->count; i++)
        for (int j = 0; verbs_gid_kind(&x->gids[i]) == k && j < y->count; j++) {
            int bits = verbs_gid_kind(&y->gids[j]) == k ? common_bits(x->gids[i].raw, y->gids[j].raw) : -1;
            if (bits > longest) {
                longest = bits;
                *ix = i;
                *iy = j;
            }
        }
    return longest >= 0;
}

/* ---- NCCL's choice
 * --------------------------------------------------------------------------------------------------*/

static int in_range(const struct verbs_gid *g, int family, const struct verbs_gid_setting *s)
{
    int skipped = family == AF_INET ? 96 : 0;
    for (int bit = skipped; bit < skipped + s->prefix && bit < 128; bit++)
        if ((g->raw[bit / 8] ^ s->range.raw[bit / 8]) & (0x80 >> bit % 8))
            return 0;
    return 1;
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
