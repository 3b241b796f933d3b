/* Ports: open, read their GIDs, close. */
#include "bench/engines/verbs/port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/fabric/failure_text.h"

static struct ibv_context *open_device(const char *hca, struct err *e)
{
    char words[VERBS_FAILURE_TEXT];
    int n = 0;
    struct ibv_context *context = NULL;
    struct ibv_device **devices = ibv_get_device_list(&n);
    int found = -1;
    for (int i = 0; devices && i < n; i++)
        if (!strcmp(ibv_get_device_name(devices[i]), hca))
            found = i;
    if (found < 0)
        err_set(e, ERR_LACKS, "%s: no such RDMA device here (%d found)", hca, devices ? n : 0);
    else if (!(context = ibv_open_device(devices[found])))
        err_set(e, ERR_LACKS, "%s: %s", hca, verbs_say_errno(words, VERBS_OPEN, errno));
    if (devices)
        ibv_free_device_list(devices);
    return context;
}

/* The whole table, with its empty entries: NCCL walks over them, too. */
static int read_gids(struct verbs_port *p, struct arena *a, struct err *e)
{
    static const int roce[] = {[IBV_GID_TYPE_IB] = 0, [IBV_GID_TYPE_ROCE_V1] = 1, [IBV_GID_TYPE_ROCE_V2] = 2};
    p->gids.count = p->attr.gid_tbl_len;
    p->gids.gids = arena_alloc(a, (size_t)p->gids.count * sizeof *p->gids.gids);
    for (int i = 0; i < p->gids.count; i++) {
        struct ibv_gid_entry entry;
        int error = ibv_query_gid_ex(p->context, (uint32_t)p->port, (uint32_t)i, &entry, 0);
        if (error == ENODATA)
            continue;
        if (error)
            return err_set(e, ERR_LACKS, "%s: reading GID %d: %s", p->name, i, strerror(error));
        memcpy(p->gids.gids[i].raw, entry.gid.raw, sizeof entry.gid.raw);
        p->gids.gids[i].roce = entry.gid_type <= IBV_GID_TYPE_ROCE_V2 ? roce[entry.gid_type] : 0;
    }
    return 0;
}

struct verbs_port *verbs_port_open(struct arena *a, const char *node, const char *hca, int port, struct err *e)
{
    struct ibv_context *context = open_device(hca, e);
    if (!context)
        return NULL;
    struct verbs_port *p = ARENA_NEW(a, struct verbs_port);
    p->context = context;
    p->port = port;
    p->name = arena_printf(a, "%s:%d", hca, port);
    int error = port < 1 || port > UINT8_MAX ? EINVAL : ibv_query_port(context, (uint8_t)port, &p->attr);
    if (error) {
        err_set(e, ERR_LACKS, "%s has no port %d: %s", hca, port, strerror(error));
        goto fail;
    }
    p->gids.node = arena_strdup(a, node);
    p->gids.port = p->name;
    p->gids.infiniband = p->attr.link_layer == IBV_LINK_LAYER_INFINIBAND;
    if (read_gids(p, a, e))
        goto fail;
    return p;
fail:
    ibv_close_device(context);
    return NULL;
}

void verbs_port_close(struct verbs_port *p)
{
    if (p)
        ibv_close_device(p->context);
}

int verbs_port_all_here(const char *list)
{
    int n = 0, all = 1;
    struct ibv_device **devices = ibv_get_device_list(&n);
    for (const char *p = list; all && *p; p += strcspn(p, ","), p += *p == ',') {
        size_t length = strcspn(p, ":,");
        int found = 0;
        for (int i = 0; devices && i < n && !found; i++) {
            const char *name = ibv_get_device_name(devices[i]);
            found = strlen(name) == length && !strncmp(name, p, length);
        }
        all = found;
    }
    if (devices)
        ibv_free_device_list(devices);
    return all;
}

/* enum ibv_mtu: 256 bytes are 1, 512 are 2, and so on. */
static int mtu_bytes(enum ibv_mtu mtu)
{
    return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128 << mtu : 0;
}

int verbs_port_mtu_bytes(const struct verbs_port *p)
{
    return mtu_bytes(p->attr.active_mtu);
}

int verbs_port_max_mtu_bytes(const struct verbs_port *p)
{
    return mtu_bytes(p->attr.max_mtu);
}

/* From the codes of the port's attributes, where the kernel has no file: lanes and Gb/s a lane (InfiniBand Architecture
 * Specification, PortInfo). */
static double rate_of_codes(const struct ibv_port_attr *attr)
{
    static const struct {
        int code;
        double value;
    } widths[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}},
      speeds[] = {{1, 2.5}, {2, 5}, {4, 10}, {8, 10}, {16, 14}, {32, 25}, {64, 50}, {128, 100}};
    double lanes = 0, per_lane = 0;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        lanes = widths[i].code == attr->active_width ? widths[i].value : lanes;
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++)
        per_lane = speeds[i].code == attr->active_speed ? speeds[i].value : per_lane;
    return lanes * per_lane;
}

double verbs_port_rate_Gbps(const struct verbs_port *p)
{
    char path[320], line[64] = "";
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/%d/rate", ibv_get_device_name(p->context->device),
             p->port);
    FILE *file = fopen(path, "re");
    if (!file)
        return rate_of_codes(&p->attr);
    /* "400 Gb/sec (4X NDR)" */
    double rate = fgets(line, sizeof line, file) ? strtod(line, NULL) : 0;
    fclose(file);
    return rate;
}
