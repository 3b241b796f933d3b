/* Tools that print a line for every port or GID: ibdev2netdev, show_gids, rdma link. */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/import/text.h"
#include "probe/topology/build.h"
#include "probe/topology/pci.h"

#define MOST_WORDS 40

static int full(const struct text *x, const struct topo_class *c)
{
    return c->nports + c->nnetdevs + c->ngids >= IMPORT_MOST_PORTS
               ? text_wrong(x, "more than %d ports", IMPORT_MOST_PORTS)
               : 0;
}

/* rdma-core's and the kernel's names of interfaces and devices tell the link layer. */
static enum topo_link_layer layer_of(const char *hca, const char *netdev)
{
    if (!strncmp(hca, "roce", 4) || (netdev && (!strncmp(netdev, "en", 2) || !strncmp(netdev, "eth", 3))))
        return TOPO_LINK_ETHERNET;
    return (netdev && !strncmp(netdev, "ib", 2)) || !strncmp(hca, "ibp", 3) ? TOPO_LINK_INFINIBAND : TOPO_LINK_UNKNOWN;
}

/* ---- ibdev2netdev [-v] ------------------------------------------------------------------------------------------- */

static int netdev_begins(const struct text *x)
{
    const char *arrow = strstr(text_line(x, 0), " ==> ");
    return arrow && strstr(text_line(x, 0), " port ") && (strstr(arrow, "(Up)") || strstr(arrow, "(Down)"));
}

/* "mlx5_0 port 1 ==> ib0 (Up)", with -v "0000:17:00.0 mlx5_0 (MT4129 - …) … fw 28.39.1002 port 1 (ACTIVE) ==> ib0
 * (Up)". An IPoIB interface may be down while its port is active; an Ethernet one may not. */
static int netdev_line(struct text *x, struct topology *t, struct topo_class *c)
{
    const char *words[MOST_WORDS], *firmware = NULL;
    int n = text_words(x, text_line(x, 0), words, MOST_WORDS), arrow = 0, port = 0;
    while (arrow < n && strcmp(words[arrow], "==>") != 0)
        arrow++;
    for (int i = 0; i + 1 < arrow; i++) {
        if (!strcmp(words[i], "port"))
            port = i + 1;
        if (!strcmp(words[i], "fw"))
            firmware = words[i + 1];
    }
    const char *pci = n ? pci_address(t->arena, words[0]) : NULL;
    const char *hca = pci ? words[1] : port >= 2 ? words[port - 2] : NULL;
    int number = port ? (int)strtol(words[port], NULL, 10) : 0;
    if (!hca || number < 1 || number > 255 || arrow + 2 >= n + 0)
        return 0;
    const char *netdev = words[arrow + 1], *said = words[arrow + 2];
    int up = !strcmp(said, "(Up)"), known = topo_find_port(c, hca, number) >= 0;
    struct topo_port *p = text_port(t, c, hca, number);
    p->netdev = arena_strdup(t->arena, netdev);
    p->layer = layer_of(hca, netdev);
    p->firmware = arena_strdup(t->arena, firmware);
    if (pci && !known && !c->objects[p->object].pci)
        c->objects[p->object].pci = pci;
    int verbose = port && port + 1 < arrow && words[port + 1][0] == '(';
    p->state = verbose ? !strcmp(words[port + 1], "(ACTIVE)") ? TOPO_STATE_ACTIVE : TOPO_STATE_DOWN
               : up    ? TOPO_STATE_ACTIVE
               : p->layer == TOPO_LINK_INFINIBAND ? TOPO_STATE_UNKNOWN
                                                  : TOPO_STATE_DOWN;
    build_netdev(t, c,
                 (struct topo_netdev){.object = p->object,
                                      .name = p->netdev,
                                      .kind = !strncmp(netdev, "bond", 4) ? TOPO_NET_BOND : TOPO_NET_PHYSICAL,
                                      .state = up ? TOPO_STATE_ACTIVE : TOPO_STATE_DOWN});
    return full(x, c);
}

static int netdev_read(struct text *x, struct topology *t, struct topo_class *c)
{
    for (; netdev_begins(x); x->at++)
        if (netdev_line(x, t, c))
            return ERR_FAILED;
    return 0;
}

const struct text_reader reader_ibdev2netdev = {"ibdev2netdev", netdev_begins, netdev_read, 1};

/* ---- show_gids --------------------------------------------------------------------------------------------------- */

static int gids_begin(const struct text *x)
{
    const char *words[4];
    return strstr(text_line(x, 0), "GID") && text_words(x, text_line(x, 0), words, 4) == 4 &&
           !strcmp(words[0], "DEV") && !strcmp(words[1], "PORT") && !strcmp(words[2], "INDEX") &&
           !strcmp(words[3], "GID");
}

/* "mlx5_0	1	3	0000:0000:…:ffff:0a00:0001	10.0.0.1  	v2	eth0": the interface is missing
 * on InfiniBand. */
static int gid_line(struct text *x, struct topology *t, struct topo_class *c)
{
    const char *words[8];
    unsigned char raw[16];
    char text[INET6_ADDRSTRLEN];
    int n = text_words(x, text_line(x, 0), words, 8), version = 4;
    if (n >= 1 && (words[0][0] == '-' || words[0][0] == '='))
        return 1;
    if (n < 4 || inet_pton(AF_INET6, words[3], raw) != 1 || !inet_ntop(AF_INET6, raw, text, sizeof text))
        return 0;
    while (version < n && !(words[version][0] == 'v' && isdigit((unsigned char)words[version][1])))
        version++;
    int port = (int)strtol(words[1], NULL, 10), index = (int)strtol(words[2], NULL, 10);
    if (port < 1 || port > 255 || index < 0)
        return 0;
    struct topo_port *p = text_port(t, c, words[0], port);
    struct topo_gid g = {.port = (int)(p - c->ports), .index = index, .gid = arena_strdup(t->arena, text)};
    const char *netdev = version + 1 < n ? arena_strdup(t->arena, words[version + 1]) : NULL;
    g.type = version >= n                    ? TOPO_GID_UNKNOWN
             : !strcmp(words[version], "v2") ? TOPO_GID_ROCE_V2
             : netdev                        ? TOPO_GID_ROCE_V1
                                             : TOPO_GID_IB;
    g.netdev = netdev;
    p->netdev = p->netdev ? p->netdev : netdev;
    if (netdev && p->layer == TOPO_LINK_UNKNOWN)
        p->layer = TOPO_LINK_ETHERNET;
    build_gid(t, c, g);
    return 1;
}

static int gids_read(struct text *x, struct topology *t, struct topo_class *c)
{
    for (x->at++; x->at < x->n && gid_line(x, t, c); x->at++)
        if (full(x, c))
            return ERR_FAILED;
    return 0;
}

const struct text_reader reader_show_gids = {"show_gids", gids_begin, gids_read, 1};

/* ---- rdma link --------------------------------------------------------------------------------------------------- */

/* The index of the word "mlx5_0/1"; -1: no such line. */
static int link_words(const struct text *x, const char **words, int *n)
{
    const char *line = text_line(x, 0);
    if (!strstr(line, " state ") || !strchr(line, '/'))
        return -1;
    *n = text_words(x, line, words, MOST_WORDS);
    int at = *n > 1 && (!strcmp(words[0], "link") || isdigit((unsigned char)words[0][0])) ? 1 : -1;
    return at == 1 && strchr(words[1], '/') ? 1 : -1;
}

static int link_begins(const struct text *x)
{
    const char *words[MOST_WORDS];
    int n;
    return link_words(x, words, &n) >= 0;
}

static const char *behind(const char *const *words, int n, const char *key)
{
    for (int i = 0; i + 1 < n; i++)
        if (!strcmp(words[i], key))
            return words[i + 1];
    return NULL;
}

/* "fe80:0000:0000:0000" as "0xfe80000000000000". */
static const char *prefix_of(struct arena *a, const char *s)
{
    char digits[17] = "";
    size_t n = 0;
    for (; s && *s && n < 16; s++)
        if (isxdigit((unsigned char)*s))
            digits[n++] = *s;
    return n == 16 ? arena_printf(a, "0x%s", digits) : NULL;
}

static int link_read(struct text *x, struct topology *t, struct topo_class *c)
{
    const char *words[MOST_WORDS];
    for (int n, at; (at = link_words(x, words, &n)) >= 0; x->at++) {
        const char *slash = strchr(words[at], '/'), *state = behind(words, n, "state");
        const char *netdev = behind(words, n, "netdev"), *prefix = behind(words, n, "subnet_prefix");
        const char *lid = behind(words, n, "lid");
        long port = strtol(slash + 1, NULL, 10);
        if (port < 1 || port > 255)
            continue;
        struct topo_port *p = text_port(t, c, arena_strndup(x->a, words[at], (size_t)(slash - words[at])), (int)port);
        p->state = state && !strcmp(state, "ACTIVE") ? TOPO_STATE_ACTIVE : TOPO_STATE_DOWN;
        p->layer = prefix ? TOPO_LINK_INFINIBAND : netdev ? TOPO_LINK_ETHERNET : layer_of(p->hca, NULL);
        p->subnet_prefix = prefix_of(t->arena, prefix);
        p->netdev = arena_strdup(t->arena, netdev);
        p->lid = lid ? (int)(strtol(lid, NULL, 10) & 0xffff) : 0;
        if (full(x, c))
            return ERR_FAILED;
    }
    return 0;
}

const struct text_reader reader_rdma_link = {"rdma link", link_begins, link_read, 1};
