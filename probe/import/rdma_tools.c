/* What tools print of RDMA devices: ibstat, ibstat -p and ibv_devinfo a block for each, ibdev2netdev, show_gids and
 * rdma link a line for every port or GID. */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "probe/import/readers.h"

static long read_number(const char *s, long most)
{
    long v = strtol(s, NULL, 0);
    return v > 0 && v <= most ? v : 0;
}

static enum topo_link_layer read_layer(const char *s)
{
    return !strcmp(s, "InfiniBand") ? TOPO_LINK_INFINIBAND
           : !strcmp(s, "Ethernet") ? TOPO_LINK_ETHERNET
                                    : TOPO_LINK_UNKNOWN;
}

static int indent_of(const char *line)
{
    return (int)strspn(line, " \t");
}

/* ---- blocks, as ibstat and ibv_devinfo print them ---------------------------------------------------------------- */

/* A device as read so far. */
struct block {
    struct topo_port all; /* what is said before its ports is said of all of them */
    struct topo_port *p;  /* the port that is read, or `all` */
    double lanes;
};

static void begin_port(struct topology *t, struct topo_class *c, struct block *b, const char *number)
{
    b->all.port = (int)read_number(number, 255);
    b->p = b->all.port ? text_port(t, c, b->all.hca, b->all.port) : &b->all;
    b->all.object = b->p->object;
    *b->p = b->all;
    b->lanes = 0;
}

/* Blocks of which `name` returns the device at their first lines, NULL at others; `read` returns 0 for what is no line
 * "Key: value" of a device or of one of its ports. */
static int read_blocks(struct text *x, struct topology *t, struct topo_class *c,
                       const char *(*name)(const struct text *),
                       int (*read)(const struct text *, struct topology *, struct topo_class *, struct block *))
{
    struct block b = {0};
    int base = indent_of(text_line(x, 0));
    for (; x->at < x->n; x->at++) {
        const char *line = text_line(x, 0), *device = name(x);
        if (device)
            b = (struct block){.all = {.hca = arena_strdup(t->arena, device)}, .p = &b.all};
        else if (!text_is_blank(line) && !read(x, t, c, &b) && indent_of(line) <= base)
            break; /* ibv_devinfo -v also tells flags, a line each */
        if (c->nports >= IMPORT_MOST_PORTS)
            return text_wrong(x, "more than %d ports", IMPORT_MOST_PORTS);
    }
    return 0;
}

/* ---- ibstat ------------------------------------------------------------------------------------------------------ */

static const char *ibstat_name(const struct text *x)
{
    const char *name = text_value(x, text_line(x, 0), "CA '");
    return name && strchr(name, '\'') ? arena_strndup(x->a, name, strcspn(name, "'")) : NULL;
}

static int ibstat_begins(const struct text *x)
{
    return ibstat_name(x) != NULL;
}

static int ibstat_line(const struct text *x, struct topology *t, struct topo_class *c, struct block *b)
{
    const char *line = text_line(x, 0), *v;
    struct topo_port *p = b->p;
    if ((v = text_value(x, line, "Firmware version:")))
        p->firmware = arena_strdup(t->arena, v);
    else if ((v = text_value(x, line, "Node GUID:")))
        p->guid = arena_strdup(t->arena, v);
    else if ((v = text_value(x, line, "Port ")) && isdigit((unsigned char)*v) && strchr(v, ':'))
        begin_port(t, c, b, v);
    else if ((v = text_value(x, line, "State:")))
        p->state = !strcmp(v, "Active") ? TOPO_STATE_ACTIVE : TOPO_STATE_DOWN;
    else if ((v = text_value(x, line, "Rate:")))
        p->rate_Gbps = (double)read_number(v, 100000);
    else if ((v = text_value(x, line, "Base lid:")))
        p->lid = (int)read_number(v, 0xfffe);
    else if ((v = text_value(x, line, "Link layer:")))
        p->layer = read_layer(v);
    else
        return 0;
    return 1;
}

static int ibstat_read(struct text *x, struct topology *t, struct topo_class *c)
{
    return read_blocks(x, t, c, ibstat_name, ibstat_line);
}

const struct text_reader reader_ibstat = {"ibstat", ibstat_begins, ibstat_read, 1};

/* ---- ibstat -p: GUIDs of ports, and nothing of whose they are ---------------------------------------------------- */

static int is_guid(const char *line)
{
    return !strncmp(line, "0x", 2) && strspn(line + 2, "0123456789abcdefABCDEF") == 16 && !line[18];
}

static int guids_begin(const struct text *x)
{
    const char *line = text_line(x, 0);
    return is_guid(line + strspn(line, " \t"));
}

static int guids_read(struct text *x, struct topology *t, struct topo_class *c)
{
    const char *all = NULL;
    int n = 0, most = 8;
    for (; guids_begin(x); x->at++) {
        const char *guid = text_line(x, 0);
        guid += strspn(guid, " \t");
        if (n++ < most)
            all = all ? arena_printf(x->a, "%s, %s", all, guid) : guid;
    }
    build_note(t, c, "ibstat -p tells GUIDs of %d port%s without their names (%s%s): ibstat tells both", n,
               n == 1 ? "" : "s", all ? all : "", n > most ? ", ..." : "");
    return 0;
}

const struct text_reader reader_guids = {"ibstat -p", guids_begin, guids_read, 1};

/* ---- ibv_devinfo ------------------------------------------------------------------------------------------------- */

static const char *devinfo_name(const struct text *x)
{
    return text_value(x, text_line(x, 0), "hca_id:");
}

static int devinfo_begins(const struct text *x)
{
    return devinfo_name(x) != NULL;
}

/* "GID[  3]:	::ffff:10.0.0.1, RoCE v2": -v prints them behind the port. */
static void devinfo_gid(const struct text *x, struct topology *t, struct topo_class *c, const struct topo_port *p)
{
    const char *open = strchr(text_line(x, 0), '['), *v = open ? strstr(open, "]:") : NULL;
    if (!v || c->ngids >= IMPORT_MOST_PORTS)
        return;
    v += 2;
    v += strspn(v, " \t");
    struct topo_gid g = {.port = (int)(p - c->ports), .index = (int)strtol(open + 1, NULL, 10)};
    const char *type = strchr(v, ',');
    g.type = !type                        ? TOPO_GID_UNKNOWN
             : strstr(type, "RoCE v2")    ? TOPO_GID_ROCE_V2
             : strstr(type, "RoCE v1")    ? TOPO_GID_ROCE_V1
             : strstr(type, "InfiniBand") ? TOPO_GID_IB
                                          : TOPO_GID_UNKNOWN;
    g.gid = arena_strndup(t->arena, v, type ? (size_t)(type - v) : strlen(v));
    if (*g.gid && g.index >= 0)
        build_gid(t, c, g);
}

/* "4X (2)" and "100.0 Gbps (128)" of -v: lanes times speed. */
static void devinfo_rate(struct topo_port *p, double lanes, double lane_Gbps)
{
    if (lanes > 0 && lane_Gbps > 0 && lanes <= 16 && lane_Gbps <= 1000)
        p->rate_Gbps = lanes * lane_Gbps;
}

static int devinfo_line(const struct text *x, struct topology *t, struct topo_class *c, struct block *b)
{
    const char *line = text_line(x, 0), *v;
    struct topo_port *p = b->p;
    if ((v = text_value(x, line, "transport:")))
        p->node_type = strstr(v, "iWARP") ? "RNIC" : strstr(v, "InfiniBand") ? "CA" : NULL;
    else if ((v = text_value(x, line, "fw_ver:")))
        p->firmware = arena_strdup(t->arena, v);
    else if ((v = text_value(x, line, "node_guid:")))
        p->guid = build_guid(t->arena, v);
    else if ((v = text_value(x, line, "board_id:")))
        p->board_id = arena_strdup(t->arena, v);
    else if ((v = text_value(x, line, "port:")))
        begin_port(t, c, b, v);
    else if ((v = text_value(x, line, "state:")))
        p->state = strstr(v, "PORT_ACTIVE") ? TOPO_STATE_ACTIVE : TOPO_STATE_DOWN;
    else if ((v = text_value(x, line, "active_mtu:")))
        p->mtu_bytes = (int)read_number(v, 65536);
    else if ((v = text_value(x, line, "port_lid:")))
        p->lid = (int)read_number(v, 0xfffe);
    else if ((v = text_value(x, line, "sm_lid:")))
        p->sm_lid = (int)read_number(v, 0xfffe);
    else if ((v = text_value(x, line, "link_layer:")))
        p->layer = read_layer(v);
    else if ((v = text_value(x, line, "active_width:")))
        b->lanes = strtod(v, NULL);
    else if ((v = text_value(x, line, "active_speed:")))
        devinfo_rate(p, b->lanes, strtod(v, NULL));
    else if (b->all.port && text_value(x, line, "GID["))
        devinfo_gid(x, t, c, p);
    else
        return 0;
    return 1;
}

static int devinfo_read(struct text *x, struct topology *t, struct topo_class *c)
{
    return read_blocks(x, t, c, devinfo_name, devinfo_line);
}

const struct text_reader reader_ibv_devinfo = {"ibv_devinfo", devinfo_begins, devinfo_read, 1};

#define MOST_WORDS 40

static int check_room(const struct text *x, const struct topo_class *c)
{
    return c->nports + c->nnetdevs + c->ngids >= IMPORT_MOST_PORTS
               ? text_wrong(x, "more than %d ports", IMPORT_MOST_PORTS)
               : 0;
}

/* rdma-core's and the kernel's names of interfaces and devices tell the link layer. */
static enum topo_link_layer guess_layer(const char *hca, const char *netdev)
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
    if (!hca || number < 1 || number > 255 || arrow + 2 >= n)
        return 0;
    const char *netdev = words[arrow + 1], *said = words[arrow + 2];
    int up = !strcmp(said, "(Up)"), known = topo_find_port(c, hca, number) >= 0;
    struct topo_port *p = text_port(t, c, hca, number);
    p->netdev = arena_strdup(t->arena, netdev);
    p->layer = guess_layer(hca, netdev);
    p->firmware = arena_strdup(t->arena, firmware);
    if (pci && !known && !c->objects[p->object].pci)
        c->objects[p->object].pci = pci;
    int verbose = port && port + 1 < arrow && words[port + 1][0] == '(';
    p->state = verbose ? !strcmp(words[port + 1], "(ACTIVE)") ? TOPO_STATE_ACTIVE : TOPO_STATE_DOWN
               : up    ? TOPO_STATE_ACTIVE
               : p->layer == TOPO_LINK_INFINIBAND ? TOPO_STATE_UNKNOWN
                                                  : TOPO_STATE_DOWN;
    struct topo_netdev d = {.object = p->object, .name = p->netdev};
    d.kind = !strncmp(netdev, "bond", 4) ? TOPO_NET_BOND : TOPO_NET_PHYSICAL;
    d.state = up ? TOPO_STATE_ACTIVE : TOPO_STATE_DOWN;
    build_netdev(t, c, d);
    return check_room(x, c);
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

static int show_gids_begin(const struct text *x)
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

static int show_gids_read(struct text *x, struct topology *t, struct topo_class *c)
{
    for (x->at++; x->at < x->n && gid_line(x, t, c); x->at++)
        if (check_room(x, c))
            return ERR_FAILED;
    return 0;
}

const struct text_reader reader_show_gids = {"show_gids", show_gids_begin, show_gids_read, 1};

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

static const char *word_after(const char *const *words, int n, const char *key)
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
        const char *slash = strchr(words[at], '/'), *state = word_after(words, n, "state");
        const char *netdev = word_after(words, n, "netdev"), *prefix = word_after(words, n, "subnet_prefix");
        const char *lid = word_after(words, n, "lid");
        long port = strtol(slash + 1, NULL, 10);
        if (port < 1 || port > 255)
            continue;
        struct topo_port *p = text_port(t, c, arena_strndup(x->a, words[at], (size_t)(slash - words[at])), (int)port);
        p->state = state && !strcmp(state, "ACTIVE") ? TOPO_STATE_ACTIVE : TOPO_STATE_DOWN;
        p->layer = prefix ? TOPO_LINK_INFINIBAND : netdev ? TOPO_LINK_ETHERNET : guess_layer(p->hca, NULL);
        p->subnet_prefix = prefix_of(t->arena, prefix);
        p->netdev = arena_strdup(t->arena, netdev);
        p->lid = lid ? (int)(strtol(lid, NULL, 10) & 0xffff) : 0;
        if (check_room(x, c))
            return ERR_FAILED;
    }
    return 0;
}

const struct text_reader reader_rdma_link = {"rdma link", link_begins, link_read, 1};
