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

/* A variable: how its value goes into the setup, and for the general ways where, and what else they need. */
struct variable {
    const char *name;
    int (*take)(const struct variable *v, const char *value, struct nccl_setup *s);
    size_t at;
    int64_t most; /* of a number */
    int is_off;   /* a switch (0 off, 1 on, 2 by itself) of which the setup has whether it is off */
    void (*parse)(const char *s, int version, struct env_choice *c);
};

/* Whose reading of values counts where no release is named. */
#define NEWEST 23000

static int take_number(const struct variable *v, const char *value, struct nccl_setup *s)
{
    int *member = (int *)((char *)s + v->at), n = v->is_off ? !*member : *member;
    int rc = number(value, v->most, &n);
    *member = v->is_off ? !n : n;
    return rc;
}

static int take_net(const struct variable *v, const char *value, struct nccl_setup *s)
{
    (void)v;
    s->sockets |= !strcasecmp(value, "Socket");
    return !strcasecmp(value, "Socket") || !strcasecmp(value, "IB") ? 0 : -1;
}

/* Any number but 0 switches it off. */
static int take_ib_off(const struct variable *v, const char *value, struct nccl_setup *s)
{
    int64_t n = 0;
    (void)v;
    env_parse_number(value, &n);
    s->sockets |= n != 0;
    return 0;
}

static int take_cross(const struct variable *v, const char *value, struct nccl_setup *s)
{
    int cross = 2;
    int rc = number(value, v->most, &cross);
    s->cross_nic = cross ? cross : 3; /* see nccl_setup */
    return rc;
}

/* 1 wins over NCCL_P2P_LEVEL, whichever comes first; other numbers do nothing. */
static int take_p2p(const struct variable *v, const char *value, struct nccl_setup *s)
{
    int64_t n = 0;
    (void)v;
    env_parse_number(value, &n);
    s->p2p_off = n == 1;
    s->p2p_within = s->p2p_off ? PATH_LOC + 1 : s->p2p_within;
    return 0;
}

/* The farthest way, "LOC" to "SYS", and 1; NCCL ignores what it does not know. */
static int take_level(const struct variable *v, const char *value, struct nccl_setup *s)
{
    const char *name = env_parse_level(value, s->version ? s->version : NEWEST);
    int *within = (int *)((char *)s + v->at);
    for (int i = PATH_LOC; name && i < PATH_UNKNOWN; i++)
        if (!strcmp(path_class_name((enum path_class)i), name) && !(s->p2p_off && within == &s->p2p_within))
            *within = i + 1;
    return 0;
}

static int take_choice(const struct variable *v, const char *value, struct nccl_setup *s)
{
    unsigned *left = (unsigned *)((char *)s + v->at);
    struct env_choice c;
    v->parse(value, s->version ? s->version : NEWEST, &c);
    for (int i = 0; i < COLL_COUNT; i++)
        left[i] = !c.touched[i] ? 0 : c.allowed[i] ? c.allowed[i] : NCCL_NOTHING_LEFT;
    return 0;
}

#define AT(member) offsetof(struct nccl_setup, member)
static const struct variable variables[] = {
    {"NCCL_MIN_CTAS", take_number, AT(min_channels), 64},
    {"NCCL_MAX_CTAS", take_number, AT(max_channels), 64},
    {"NCCL_MIN_NCHANNELS", take_number, AT(min_channels), 64},
    {"NCCL_MAX_NCHANNELS", take_number, AT(max_channels), 64},
    {"NCCL_MIN_NRINGS", take_number, AT(min_channels), 64},
    {"NCCL_MAX_NRINGS", take_number, AT(max_channels), 64},
    {"NCCL_NVLS_ENABLE", take_number, AT(no_nvls), 2, .is_off = 1},
    {"NCCL_MNNVL_ENABLE", take_number, AT(no_mnnvl), 2, .is_off = 1},
    {"NCCL_PXN_DISABLE", take_number, AT(no_pxn), 1},
    {"NCCL_NET_DISABLE_INTRA", take_number, AT(no_net_intra), 1},
    {"NCCL_IB_DISABLE", take_ib_off},
    {"NCCL_CROSS_NIC", take_cross, .most = 2},
    {"NCCL_NET", take_net},
    {"NCCL_P2P_LEVEL", take_level, AT(p2p_within)},
    {"NCCL_P2P_DISABLE", take_p2p},
    {"NCCL_NET_GDR_LEVEL", take_level, AT(gdr_within)},
    {"NCCL_ALGO", take_choice, AT(algos), .parse = env_parse_algo},
    {"NCCL_PROTO", take_choice, AT(protos), .parse = env_parse_proto},
};

static int apply_setting(const char *name, const char *value, struct nccl_setup *s, struct arena *a)
{
    if (!strcmp(name, "NCCL_IB_HCA"))
        return take_hcas(value, s, a);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (!strcmp(variables[i].name, name))
            return variables[i].take(&variables[i], value, s);
    return -1;
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
