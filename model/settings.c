/* From NCCL's variables to the model's setup. */
#include "model/model.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "core/vars/parse.h"

/* As NCCL reads it: names, prefixes, exclusions. A list that leaves no port of the class is one that NCCL ignores RDMA
 * for: sockets. Nothing can be said where ports are not known, or may be those of a plugin, which reads no such list.
 */
static int take_hcas(const char *value, struct nccl_setup *s, struct arena *a)
{
    const struct topo_class *c = &s->topology->classes[s->class_index];
    struct env_devices list;
    const char **hcas = arena_alloc(a, (size_t)c->nports * sizeof *hcas);
    int foreign = !c->nports;
    env_parse_devices(value, &list);
    s->nhcas = 0;
    for (int i = 0; i < c->nports; i++) {
        foreign |= c->ports[i].layer == TOPO_LINK_UNKNOWN;
        if (env_devices_select(&list, c->ports[i].hca, c->ports[i].port))
            hcas[s->nhcas++] = arena_printf(a, "%s:%d", c->ports[i].hca, c->ports[i].port);
    }
    if (!s->nhcas && foreign)
        return -1;
    s->hcas = hcas;
    s->sockets |= !s->nhcas;
    return 0;
}

/* As NCCL reads it: a word is 0, text behind a number ends it, and what is no number keeps the default. */
static int number(const char *value, int64_t high, int *out)
{
    int64_t n = 0;
    const enum env_number is = env_parse_number(value, &n);
    if (is == ENV_NUMBER_EMPTY || is == ENV_NUMBER_RANGE)
        return 0;
    if (n < 0 || n > high)
        return -1;
    *out = (int)n;
    return 0;
}

/* Whose reading of values counts where no release is named. */
#define NEWEST 23000

static int release_of(const struct nccl_setup *s)
{
    return s->version ? s->version : NEWEST;
}

static int take_net(const char *value, struct nccl_setup *s)
{
    s->sockets |= !strcasecmp(value, "Socket");
    return !strcasecmp(value, "Socket") || !strcasecmp(value, "IB") ? 0 : -1;
}

/* Any number but 0 switches it off. */
static int take_ib_off(const char *value, struct nccl_setup *s)
{
    int64_t n = 0;
    env_parse_number(value, &n);
    s->sockets |= n != 0;
    return 0;
}

static int take_cross(const char *value, struct nccl_setup *s)
{
    int cross = 2;
    int rc = number(value, 2, &cross);
    s->cross_nic = cross ? cross : 3; /* see nccl_setup */
    return rc;
}

/* The farthest way, "LOC" to "SYS", and 1; NCCL ignores what it does not know. */
static int level(const char *value, const struct nccl_setup *s, int *within)
{
    const char *name = env_parse_level(value, release_of(s));
    for (int i = PATH_LOC; name && i < PATH_UNKNOWN; i++)
        if (!strcmp(path_class_name((enum path_class)i), name))
            *within = i + 1;
    return 0;
}

static int take_p2p_level(const char *value, struct nccl_setup *s)
{
    return s->p2p_off ? 0 : level(value, s, &s->p2p_within);
}

/* 1 wins over NCCL_P2P_LEVEL, whichever comes first; other numbers do nothing. */
static int take_p2p(const char *value, struct nccl_setup *s)
{
    int64_t n = 0;
    env_parse_number(value, &n);
    s->p2p_off = n == 1;
    s->p2p_within = s->p2p_off ? PATH_LOC + 1 : s->p2p_within;
    return 0;
}

static int take_gdr_level(const char *value, struct nccl_setup *s)
{
    return level(value, s, &s->gdr_within);
}

static int take_choice(const char *value, const struct nccl_setup *s,
                       void (*parse)(const char *s, int version, struct env_choice *c), unsigned left[COLL_COUNT])
{
    struct env_choice c;
    parse(value, release_of(s), &c);
    for (int i = 0; i < COLL_COUNT; i++)
        left[i] = !c.touched[i] ? 0 : c.allowed[i] ? c.allowed[i] : NCCL_NOTHING_LEFT;
    return 0;
}

static int take_algo(const char *value, struct nccl_setup *s)
{
    return take_choice(value, s, env_parse_algo, s->algos);
}

static int take_proto(const char *value, struct nccl_setup *s)
{
    return take_choice(value, s, env_parse_proto, s->protos);
}

/* Some are numbers of the setup, up to `most`, or switches (0 off, 1 on, 2 by itself) of which it has whether they are
 * off. */
static const struct {
    const char *name;
    int (*take)(const char *value, struct nccl_setup *s);
    size_t at;
    int64_t most;
    int is_off;
} variables[] = {
    {"NCCL_MIN_CTAS", .at = offsetof(struct nccl_setup, min_channels), .most = 64},
    {"NCCL_MAX_CTAS", .at = offsetof(struct nccl_setup, max_channels), .most = 64},
    {"NCCL_MIN_NCHANNELS", .at = offsetof(struct nccl_setup, min_channels), .most = 64},
    {"NCCL_MAX_NCHANNELS", .at = offsetof(struct nccl_setup, max_channels), .most = 64},
    {"NCCL_NVLS_ENABLE", .at = offsetof(struct nccl_setup, no_nvls), .most = 2, .is_off = 1},
    {"NCCL_MNNVL_ENABLE", .at = offsetof(struct nccl_setup, no_mnnvl), .most = 2, .is_off = 1},
    {"NCCL_PXN_DISABLE", .at = offsetof(struct nccl_setup, no_pxn), .most = 1},
    {"NCCL_IB_DISABLE", .take = take_ib_off},
    {"NCCL_CROSS_NIC", .take = take_cross},
    {"NCCL_NET", .take = take_net},
    {"NCCL_NET_DISABLE_INTRA", .at = offsetof(struct nccl_setup, no_net_intra), .most = 1},
    {"NCCL_MIN_NRINGS", .at = offsetof(struct nccl_setup, min_channels), .most = 64},
    {"NCCL_MAX_NRINGS", .at = offsetof(struct nccl_setup, max_channels), .most = 64},
    {"NCCL_P2P_LEVEL", .take = take_p2p_level},
    {"NCCL_P2P_DISABLE", .take = take_p2p},
    {"NCCL_NET_GDR_LEVEL", .take = take_gdr_level},
    {"NCCL_ALGO", .take = take_algo},
    {"NCCL_PROTO", .take = take_proto},
};
#define VARIABLES (sizeof variables / sizeof *variables)

static int apply_setting(const char *name, const char *value, struct nccl_setup *s, struct arena *a)
{
    size_t i = 0;
    while (i < VARIABLES && strcmp(variables[i].name, name) != 0)
        i++;
    if (i == VARIABLES)
        return strcmp(name, "NCCL_IB_HCA") ? -1 : take_hcas(value, s, a);
    if (variables[i].take)
        return variables[i].take(value, s);
    int *member = (int *)((char *)s + variables[i].at), n = variables[i].is_off ? !*member : *member;
    int rc = number(value, variables[i].most, &n);
    *member = variables[i].is_off ? !n : n;
    return rc;
}

int model_apply(const struct bench_knobs *launch, struct nccl_setup *s, struct arena *a)
{
    const char *node_class = s->topology ? s->topology->classes[s->class_index].name : NULL;
    for (int i = 0; i < launch->nsettings; i++) {
        const char *name = launch->settings[i].name;
        if (bench_is_for(name, node_class) && apply_setting(bench_plain_name(name, a), launch->settings[i].value, s, a))
            return -1;
    }
    return 0;
}
