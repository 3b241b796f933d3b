/* What ibstat, ibstat -p and ibv_devinfo print of RDMA devices. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/import/text.h"
#include "probe/topology/build.h"

static long number(const char *s, long most)
{
    long v = strtol(s, NULL, 0);
    return v > 0 && v <= most ? v : 0;
}

static enum topo_link_layer layer_of(const char *s)
{
    return !strcmp(s, "InfiniBand") ? TOPO_LINK_INFINIBAND
           : !strcmp(s, "Ethernet") ? TOPO_LINK_ETHERNET
                                    : TOPO_LINK_UNKNOWN;
}

static int indent(const char *line)
{
    return (int)strspn(line, " \t");
}

/* ---- ibstat ------------------------------------------------------------------------------------------------------ */

static int ibstat_begins(const struct text *x)
{
    const char *line = text_line(x, 0);
    line += strspn(line, " \t");
    return !strncmp(line, "CA '", 4) && strchr(line + 4, '\'');
}

/* What ibstat says of a device, before its ports and of all of them. */
struct ca {
    const char *name, *firmware, *guid;
};

/* A line "Key: value" of a device or of one of its ports; 0: something else. */
static int ibstat_line(const struct text *x, struct topology *t, struct topo_class *c, struct ca *ca, int *port)
{
    const char *line = text_line(x, 0), *v;
    struct topo_port *p = *port ? text_port(t, c, ca->name, *port) : NULL;
    if ((v = text_value(x, line, "Firmware version:")))
        ca->firmware = arena_strdup(t->arena, v);
    else if ((v = text_value(x, line, "Node GUID:")))
        ca->guid = arena_strdup(t->arena, v);
    else if ((v = text_value(x, line, "Port ")) && isdigit((unsigned char)*v) && strchr(v, ':')) {
        *port = (int)number(v, 255);
        if (*port) {
            p = text_port(t, c, ca->name, *port);
            p->firmware = ca->firmware;
            p->guid = ca->guid;
        }
    } else if (p && (v = text_value(x, line, "State:")))
        p->state = !strcmp(v, "Active") ? TOPO_STATE_ACTIVE : TOPO_STATE_DOWN;
    else if (p && (v = text_value(x, line, "Rate:")))
        p->rate_Gbps = (double)number(v, 100000);
    else if (p && (v = text_value(x, line, "Base lid:")))
        p->lid = (int)number(v, 0xfffe);
    else if (p && (v = text_value(x, line, "Link layer:")))
        p->layer = layer_of(v);
    else
        return 0;
    return 1;
}

static int ibstat_read(struct text *x, struct topology *t, struct topo_class *c)
{
    struct ca ca = {0};
    int port = 0, base = indent(text_line(x, 0));
    for (; x->at < x->n; x->at++) {
        const char *line = text_line(x, 0);
        if (ibstat_begins(x)) {
            const char *name = strchr(line, '\'') + 1;
            ca = (struct ca){.name = arena_strndup(t->arena, name, strcspn(name, "'"))};
            port = 0;
        } else if (!text_is_blank(line) && !ibstat_line(x, t, c, &ca, &port) && indent(line) <= base) {
            break;
        }
        if (c->nports >= IMPORT_MOST_PORTS)
            return text_wrong(x, "more than %d ports", IMPORT_MOST_PORTS);
    }
    return 0;
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

static int devinfo_begins(const struct text *x)
{
    const char *line = text_line(x, 0);
    return !strncmp(line + strspn(line, " \t"), "hca_id:", 7);
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

/* "0x506b4b0300ca1f2e" of "506b:4b03:00ca:1f2e". */
static const char *guid_text(struct arena *a, const char *v)
{
    const char *guid = "0x";
    for (; *v; v += strcspn(v, ":"), v += *v == ':')
        guid = arena_printf(a, "%s%.*s", guid, (int)strcspn(v, ":"), v);
    return strlen(guid) == 18 ? guid : NULL;
}

struct device {
    const char *name, *firmware, *guid, *board;
};

/* "4X (2)" and "100.0 Gbps (128)" of -v: lanes times speed. */
static void devinfo_rate(struct topo_port *p, double lanes, double lane_Gbps)
{
    if (lanes > 0 && lane_Gbps > 0 && lanes <= 16 && lane_Gbps <= 1000)
        p->rate_Gbps = lanes * lane_Gbps;
}

static int devinfo_line(struct text *x, struct topology *t, struct topo_class *c, struct device *d, int *port,
                        double *lanes)
{
    const char *line = text_line(x, 0), *v;
    struct topo_port *p = *port ? text_port(t, c, d->name, *port) : NULL;
    if ((v = text_value(x, line, "fw_ver:")))
        d->firmware = arena_strdup(t->arena, v);
    else if ((v = text_value(x, line, "node_guid:")))
        d->guid = guid_text(t->arena, v);
    else if ((v = text_value(x, line, "board_id:")))
        d->board = arena_strdup(t->arena, v);
    else if ((v = text_value(x, line, "port:")) && (*port = (int)number(v, 255))) {
        p = text_port(t, c, d->name, *port);
        p->firmware = d->firmware;
        p->guid = d->guid;
        p->board_id = d->board;
        *lanes = 0;
    } else if (p && (v = text_value(x, line, "state:")))
        p->state = strstr(v, "PORT_ACTIVE") ? TOPO_STATE_ACTIVE : TOPO_STATE_DOWN;
    else if (p && (v = text_value(x, line, "active_mtu:")))
        p->mtu_bytes = (int)number(v, 65536);
    else if (p && (v = text_value(x, line, "port_lid:")))
        p->lid = (int)number(v, 0xfffe);
    else if (p && (v = text_value(x, line, "link_layer:")))
        p->layer = layer_of(v);
    else if (p && (v = text_value(x, line, "active_width:")))
        *lanes = strtod(v, NULL);
    else if (p && (v = text_value(x, line, "active_speed:")))
        devinfo_rate(p, *lanes, strtod(v, NULL));
    else if (p && text_value(x, line, "GID["))
        devinfo_gid(x, t, c, p);
    else
        return 0;
    return 1;
}

static int devinfo_read(struct text *x, struct topology *t, struct topo_class *c)
{
    struct device d = {0};
    double lanes = 0;
    int port = 0, base = indent(text_line(x, 0));
    for (; x->at < x->n; x->at++) {
        const char *line = text_line(x, 0);
        if (devinfo_begins(x)) {
            d = (struct device){.name = arena_strdup(t->arena, text_value(x, line, "hca_id:"))};
            port = 0;
        } else if (!text_is_blank(line) && !devinfo_line(x, t, c, &d, &port, &lanes) && indent(line) <= base) {
            break; /* -v also tells flags, a line each */
        }
        if (c->nports >= IMPORT_MOST_PORTS)
            return text_wrong(x, "more than %d ports", IMPORT_MOST_PORTS);
    }
    return 0;
}

const struct text_reader reader_ibv_devinfo = {"ibv_devinfo", devinfo_begins, devinfo_read, 1};
