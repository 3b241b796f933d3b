/* Settings that are read as they stand and do nothing, or more than their writer meant. */
#include <dirent.h>
#include <string.h>
#include <strings.h>

#include "core/vars/parse.h"
#include "envgen/lint/lint_internal.h"
#include "probe/topology/topology.h"

enum { SOCKETS_ALONE, GID_INDEX, GID_HINTS, P2P_SWITCH, IB_OFF, PIN, DEBUG_ON, UNSAFE, LOOPBACK, TCP_ONLY, LINK_LAYER };
static const struct finding_kind kinds[] = {
    [SOCKETS_ALONE] = {"NT306", "sockets-without-threads", FINDING_WARNING,
                       "NCCL_NSOCKS_PERTHREAD does nothing without threads"},
    [GID_INDEX] = {"NT307", "fixed-gid-index", FINDING_WARNING, "a fixed GID index"},
    [GID_HINTS] = {"NT308", "gid-hint-unused", FINDING_WARNING,
                   "hints for the automatic GID choice beside a fixed index"},
    [P2P_SWITCH] = {"NT309", "p2p-disable-value", FINDING_WARNING, "only the value 1 disables P2P"},
    [IB_OFF] = {"NT310", "rdma-off", FINDING_WARNING, "RDMA is switched off"},
    [PIN] = {"NT311", "pinned-choice", FINDING_NOTE, "pins algorithm or protocol for every size"},
    [DEBUG_ON] = {"NT312", "debug-left-on", FINDING_NOTE, "logging or checks that cost time are on"},
    [UNSAFE] = {"NT313", "unsafe-flush", FINDING_WARNING, "trades correctness of GPUDirect receives for time"},
    [LOOPBACK] = {"NT314", "local-interface", FINDING_WARNING, "an interface that no other node can reach"},
    [TCP_ONLY] = {"NT315", "tcp-only-setting", FINDING_NOTE, "counts only where NCCL talks TCP"},
    [LINK_LAYER] = {"NT507", "wrong-link-layer", FINDING_NOTE, "without effect on this link layer"},
};

/* ---- what the topology offers ------------------------------------------------------------------------------------ */

struct fabric {
    int known, active, infiniband, ethernet; /* ports, over all classes */
};

static struct fabric fabric_of(const struct topology *t)
{
    struct fabric f = {t != NULL, 0, 0, 0};
    for (int c = 0; t && c < t->nclasses; c++)
        f.known &= lint_knows_hcas(&t->classes[c]);
    for (int c = 0; f.known && c < t->nclasses; c++)
        for (int p = 0; p < t->classes[c].nports; p++) {
            const struct topo_port *port = &t->classes[c].ports[p];
            f.active += port->state != TOPO_STATE_DOWN;
            f.infiniband += port->layer == TOPO_LINK_INFINIBAND;
            f.ethernet += port->layer == TOPO_LINK_ETHERNET;
        }
    return f;
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static void sockets_alone(struct lint *l, const struct lint_setting *s)
{
    if (!lint_anywhere(l, s, "NCCL_SOCKET_NTHREADS"))
        lint_find(l, &kinds[SOCKETS_ALONE], s,
                  "NCCL opens threads x this many sockets, and the automatic thread count is 0 except on AWS ENA and "
                  "Google gVNIC: nothing changes.",
                  "Set NCCL_SOCKET_NTHREADS too, or remove it.");
}

static void tcp_only(struct lint *l, const struct lint_setting *s)
{
    struct fabric f = fabric_of(l->options.topology);
    int64_t off = 0;
    if (lint_number(lint_before(l, s, "NCCL_IB_DISABLE"), &off) && off)
        return;
    if (f.known && f.active == 0)
        return;
    lint_find(l, &kinds[TCP_ONLY], s,
              f.known ? "NCCL uses it for data over TCP alone, and this topology has active RDMA ports."
                      : "NCCL uses it for data over TCP alone, not on InfiniBand or RoCE; a plugin for TCP, such as "
                        "Google's GPUDirect-TCPX, may read it too.",
              f.known ? "Remove it." : "Remove it where RDMA carries the data.");
}

static void gid_index(struct lint *l, const struct lint_setting *s)
{
    static const char on_ib[] = "From 2.22.3 on NCCL ignores it on InfiniBand";
    static const char on_roce[] = "on RoCE it takes this entry on every port unchecked, where from 2.21.5 on it would "
                                  "find a RoCE v2 entry by itself";
    int64_t index;
    struct fabric f = fabric_of(l->options.topology);
    if (!lint_number(s, &index) || index < 0)
        return;
    if (f.known && f.infiniband + f.ethernet > 0 && f.ethernet == 0) {
        if (l->high >= 22203)
            lint_find(l, &kinds[GID_INDEX], s, arena_printf(l->arena, "%s, all that this topology has.", on_ib),
                      "Remove it.");
        return;
    }
    if (l->high < 22105) /* no automatic choice yet: it has to be set on RoCE */
        return;
    struct lint_finding *found =
        lint_find(l, &kinds[GID_INDEX], s,
                  f.ethernet && !f.infiniband ? arena_printf(l->arena, "O%s.", on_roce + 1)
                                              : arena_printf(l->arena, "%s; %s.", on_ib, on_roce),
                  l->low >= 22105 ? "Remove it, unless a connection test shows that the automatic choice is wrong."
                                  : "Remove it where NCCL is 2.21.5 or later; older releases need it on RoCE.");
    if (!f.known || index == 3) /* what vendors publish for RoCE v2 over IPv4 */
        found->severity = FINDING_NOTE;
}

static void gid_hint(struct lint *l, const struct lint_setting *s)
{
    int64_t index;
    struct fabric f = fabric_of(l->options.topology);
    const struct lint_setting *fixed = lint_before(l, s, "NCCL_IB_GID_INDEX");
    if (lint_number(fixed, &index) && index >= 0)
        lint_find(l, &kinds[GID_HINTS], s, "It guides the automatic GID choice, which NCCL_IB_GID_INDEX turns off.",
                  "Remove NCCL_IB_GID_INDEX, or this.");
    else if (f.infiniband && !f.ethernet)
        lint_find(l, &kinds[LINK_LAYER], s, "It guides the GID choice on RoCE; this topology has InfiniBand alone.",
                  "Remove it.");
}

/* A fixed index behind its hints: said at the hint, which is the line without effect. */
static void gid_hints_before(struct lint *l, const struct lint_setting *s)
{
    static const char *const hints[] = {"NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ROCE_VERSION_NUM"};
    int64_t index;
    if (!lint_number(s, &index) || index < 0)
        return;
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        const struct lint_setting *hint = lint_before(l, s, hints[i]);
        if (hint)
            lint_find(l, &kinds[GID_HINTS], hint,
                      "It guides the automatic GID choice, which NCCL_IB_GID_INDEX turns off.",
                      "Remove NCCL_IB_GID_INDEX, or this.");
    }
}

static void traffic_class(struct lint *l, const struct lint_setting *s)
{
    struct fabric f = fabric_of(l->options.topology);
    if (f.infiniband && !f.ethernet)
        lint_find(l, &kinds[LINK_LAYER], s, "A traffic class is applied on RoCE; this topology has InfiniBand alone.",
                  "Use NCCL_IB_SL to choose a service level, or remove it.");
}

static void p2p_switch(struct lint *l, const struct lint_setting *s)
{
    if (s->value && s->value[0] && strcmp(s->value, "1") != 0 && strcmp(s->value, "0") != 0)
        lint_find(l, &kinds[P2P_SWITCH], s, "Since 2.6.4 only the value 1 disables P2P; any other changes nothing.",
                  "Write 1, or remove it.");
}

/* Whether the machine that is looked at has RDMA devices. */
static int has_hcas(const struct lint *l)
{
    DIR *d = opendir(arena_printf(l->arena, "%s/sys/class/infiniband", l->options.root));
    int n = 0;
    for (const struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n > 0;
}

static void ib_off(struct lint *l, const struct lint_setting *s)
{
    struct fabric f = fabric_of(l->options.topology);
    int64_t off;
    if (!lint_number(s, &off) || !off)
        return;
    if (f.known && f.active == 0) {
        lint_find(l, &kinds[IB_OFF], s, "This topology has no active RDMA port: nothing changes.", "Remove it.")
            ->severity = FINDING_NOTE;
        return;
    }
    int here = l->options.root && has_hcas(l);
    struct lint_finding *found = lint_find(
        l, &kinds[IB_OFF], s,
        here && !f.known ? "This machine has RDMA ports, and they go unused: data takes TCP, unless a network plugin "
                           "brings its own transport."
        : f.known
            ? arena_printf(l->arena,
                           "%d active RDMA ports go unused: data takes TCP, unless a network plugin brings its own "
                           "transport.",
                           f.active)
            : "NCCL's InfiniBand and RoCE transport is off: data takes TCP, unless a network plugin brings its own "
              "transport.",
        "Remove it where the nodes have working RDMA.");
    if (!f.known && !here)
        found->severity = FINDING_NOTE;
}

static void pin(struct lint *l, const struct lint_setting *s)
{
    if (!s->value || !s->value[0])
        return;
    lint_find(l, &kinds[PIN], s,
              arena_printf(l->arena,
                           "It holds for every message size of %s, and a tuner cannot choose what it rules out.",
                           strchr(s->value, ':') ? "these collectives" : "all collectives"),
              "Keep it for experiments; put what you measured into a tuner table.");
}

static void debug_on(struct lint *l, const struct lint_setting *s)
{
    int64_t value = 0;
    const char *level = s->value ? env_parse_debug(s->value) : NULL;
    const char *says = NULL;
    if (s->var->grammar == ENV_G_DEBUG && level && !strcmp(level, "INFO"))
        says = "Every rank logs its set-up, which drowns warnings on a large job.";
    else if (s->var->grammar == ENV_G_DEBUG && level && !strcmp(level, "TRACE"))
        says = "Every rank logs its set-up; trace lines need a library built with TRACE=1.";
    else if (s->var->grammar == ENV_G_CHECK_MODE && s->value && !strncasecmp(s->value, "DEBUG_", 6))
        says = "Each call's arguments are checked, which costs time on every call.";
    else if (!strcmp(s->name, "NCCL_CHECK_POINTERS") && lint_number(s, &value) && value)
        says = "Each call's pointers are checked, which costs time on every call.";
    if (says)
        lint_find(l, &kinds[DEBUG_ON], s, says,
                  s->var->grammar == ENV_G_DEBUG ? "Write WARN for production." : "Remove it for production.");
}

static void unsafe_flush(struct lint *l, const struct lint_setting *s)
{
    int64_t value;
    if (!l->rccl && lint_number(s, &value) && value)
        lint_find(l, &kinds[UNSAFE], s,
                  "NCCL leaves out the read that orders GPUDirect writes: a kernel may see old data where the hardware "
                  "does not order them itself.",
                  "Remove it; NCCL leaves the flush out by itself where that is safe.");
}

static void local_interface(struct lint *l, const struct lint_setting *s)
{
    static const char *const local[] = {"lo", "docker0", "virbr0"};
    struct env_devices d;
    if (!s->value)
        return;
    env_parse_devices(s->value, &d);
    for (int i = 0; i < d.count && !d.exclude; i++)
        for (size_t k = 0; k < sizeof(local) / sizeof(local[0]); k++)
            if (d.list[i].length == strlen(local[k]) && !strncmp(d.list[i].name, local[k], d.list[i].length)) {
                lint_find(l, &kinds[LOOPBACK], s,
                          arena_printf(l->arena,
                                       "\"%s\" reaches this node alone; bootstrap between nodes fails over it.",
                                       local[k]),
                          "Name the interface that joins the nodes, or remove it.");
                return;
            }
}

static const struct {
    const char *name;
    void (*check)(struct lint *, const struct lint_setting *);
} effects[] = {
    {"NCCL_NSOCKS_PERTHREAD", sockets_alone},
    {"NCCL_NSOCKS_PERTHREAD", tcp_only},
    {"NCCL_SOCKET_NTHREADS", tcp_only},
    {"NCCL_IB_GID_INDEX", gid_index},
    {"NCCL_IB_GID_INDEX", gid_hints_before},
    {"NCCL_IB_ADDR_FAMILY", gid_hint},
    {"NCCL_IB_ADDR_RANGE", gid_hint},
    {"NCCL_IB_ROCE_VERSION_NUM", gid_hint},
    {"NCCL_IB_TC", traffic_class},
    {"NCCL_IB_FIFO_TC", traffic_class},
    {"NCCL_P2P_DISABLE", p2p_switch},
    {"NCCL_IB_DISABLE", ib_off},
    {"NCCL_ALGO", pin},
    {"NCCL_PROTO", pin},
    {"NCCL_DEBUG", debug_on},
    {"NCCL_CHECK_POINTERS", debug_on},
    {"NCCL_CHECK_MODE", debug_on},
    {"NCCL_GDR_FLUSH_DISABLE", unsafe_flush},
    {"NCCL_SOCKET_IFNAME", local_interface},
};

static void check(struct lint *l, const struct lint_setting *s)
{
    if (!s->var)
        return;
    for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++)
        if (!strcmp(effects[i].name, s->name))
            effects[i].check(l, s);
}

const struct lint_rules lint_effects = {kinds, sizeof kinds / sizeof *kinds, check};
