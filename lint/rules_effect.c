/* Numbers outside of their range, of the wrong shape or equal to the default; and settings that are read as they stand
 * and do nothing, or more than their writer meant. */
#include <ctype.h>
#include <dirent.h>
#include <string.h>
#include <strings.h>

#include "core/vars/parse.h"
#include "lint/lint_internal.h"
#include "probe/topology/topology.h"

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static int is_equal(const struct lint_setting *s, const char *usual)
{
    int64_t a, b;
    if (env_parse_number(s->value, &a) == ENV_NUMBER && env_parse_number(usual, &b) == ENV_NUMBER)
        return a == b;
    return !strcasecmp(s->value, usual);
}

/* The default of every release that is judged; changes lie at the versions that the catalogue's text names. */
static int is_default(const struct lint *l, const struct lint_setting *s)
{
    char usual[ENV_VALUE];
    const struct env_var *v = s->var;
    if (!env_default_at(v, l->high, usual) || !is_equal(s, usual))
        return 0;
    if (env_default_at(v, l->low, usual) && !is_equal(s, usual))
        return 0;
    for (const char *p = v->defaults; *p; p += strspn(p, "; ")) {
        int low, high;
        char version[ENV_VERSION] = "";
        size_t n = strcspn(p, "=");
        memcpy(version, p, n < ENV_VERSION ? n : ENV_VERSION - 1);
        p += strcspn(p, ";");
        if (env_version_parse(version, &low, &high) || low <= l->low || low > l->high)
            continue;
        if (env_default_at(v, low, usual) && !is_equal(s, usual))
            return 0;
    }
    return 1;
}

/* What comes of a number outside the catalogue's range. */
static const struct consequence {
    const char *names;
    enum lint_rule rule;
    const char *says, *advice;
} consequences[] = {
    {"NCCL_IB_TIMEOUT", NT_OUT_OF_RANGE,
     "The InfiniBand field takes 0 to 31; a larger exponent is cut or refused by the driver.",
     "Write at most 31; each step doubles the wait, and 22 is 17 seconds already."},
    {"NCCL_IB_RETRY_CNT", NT_OUT_OF_RANGE,
     "The InfiniBand field takes 0 to 7; a larger count is cut or refused by the driver.",
     "Write 7, the default, and raise NCCL_IB_TIMEOUT to wait longer."},
    {"NCCL_IB_PKEY", NT_OUT_OF_RANGE, "NCCL takes an index into the port's table of keys, not a key such as 0x8001.",
     "Write the key's index in /sys/class/infiniband/*/ports/1/pkeys."},
    {"NCCL_IB_SL", NT_OUT_OF_RANGE, "InfiniBand has the service levels 0 to 15.", "Write 0 to 15."},
    {"NCCL_IB_TC|NCCL_IB_FIFO_TC|NCCL_GIN_IB_TC", NT_OUT_OF_RANGE, "A traffic class has 8 bits.", "Write 0 to 255."},
    {"NCCL_IB_GID_INDEX", NT_OUT_OF_RANGE, "A GID index has 8 bits.", "Write 0 to 255, or leave it unset."},
    {"NCCL_IB_QPS_PER_CONNECTION", NT_OUT_OF_RANGE,
     "NCCL does not check the number, and its structures have room for 128 queue pairs per connection.",
     "Write 1 to 128."},
    {"NCCL_SOCKET_NTHREADS", NT_CLAMPED, "NCCL starts at most 16 helper threads.", "Write 0 to 16."},
    {"NCCL_NTHREADS", NT_CLAMPED, "NCCL uses 64 for anything less and 512 for anything more.",
     "Write a multiple of 32 from 64 to 512, or nothing."},
    {"NCCL_LL128_NTHREADS", NT_CLAMPED, "NCCL uses 160 for anything less and 640 for anything more.",
     "Write a multiple of 32 from 160 to 640, or nothing."},
    {"NCCL_MAX_CTAS|NCCL_MIN_CTAS", NT_CLAMPED, "NCCL ignores 0 and less, and caps at 64 (32 before 2.25).",
     "Write 1 to 64."},
    {"NCCL_MAX_NCHANNELS", NT_CLAMPED, "NVIDIA's NCCL has at most 64 channels (32 before 2.25), at least 1.",
     "Write 1 to 64; 112 is a number for AMD's RCCL on MI300."},
    {"NCCL_MIN_NCHANNELS", NT_CLAMPED, "NVIDIA's NCCL has at most 64 channels (32 before 2.25).",
     "Write at most 64; 112 is a number for AMD's RCCL on MI300."},
};

#define RCCL_CHANNELS 128 /* RCCL 2.21.5 */

static int counts_channels(const char *name)
{
    return strstr(name, "NCHANNELS") || strstr(name, "NRINGS") || strstr(name, "_CTAS");
}

static void check_range(struct lint *l, const struct lint_setting *s, int64_t value)
{
    const struct env_var *v = s->var;
    int64_t high = l->rccl && counts_channels(s->name) && v->high != ENV_ANY_HIGH ? RCCL_CHANNELS : v->high;
    if ((value >= v->low && value <= high) || is_default(l, s)) /* some defaults stand for "automatic" */
        return;
    for (size_t i = 0; i < sizeof(consequences) / sizeof(consequences[0]); i++)
        if (lint_is(s, consequences[i].names)) {
            const char *says =
                l->rccl && counts_channels(s->name) ? "RCCL has at most 128 channels." : consequences[i].says;
            struct lint_finding *f = lint_find(l, consequences[i].rule, s, "%s", consequences[i].advice, says);
            if (!strcmp(s->name, "NCCL_IB_RETRY_CNT") && value > high) /* who writes more means as many as there are */
                lint_correct(f, LINT_FIX_VALUE, arena_printf(l->arena, "%lld", (long long)high));
            return;
        }
    if (lint_is(s, "NCCL_P2P_DISABLE|NCCL_IB_DISABLE")) /* rules of their own */
        return;
    lint_find(l, NT_OUT_OF_RANGE, s, "NCCL knows the numbers %lld to %lld here and does not check others.",
              arena_printf(l->arena, "Write %lld to %lld.", (long long)v->low, (long long)high), (long long)v->low,
              (long long)high)
        ->severity = FINDING_WARNING;
}

static void check_shape(struct lint *l, const struct lint_setting *s, int64_t value)
{
    if (lint_is(s, "NCCL_NTHREADS|NCCL_LL128_NTHREADS") && value >= s->var->low && value <= s->var->high && value % 32)
        lint_find(l, NT_NOT_A_MULTIPLE, s, "NCCL needs a multiple of 32 and uses %lld instead.",
                  "Write a multiple of 32, or nothing.", (long long)s->var->high);
    if ((strstr(s->name, "BUFFSIZE") || strstr(s->name, "CHUNKSIZE")) && value <= 0 &&
        value != -2) /* -2: its default */
        lint_find(l, NT_OUT_OF_RANGE, s, "NCCL does not check this number of bytes, and it is not positive.",
                  "Write a number of bytes, or remove it.");
    /* LL128 keeps 120 bytes of data in a line of 128, and every buffer is cut into 8 steps: issues 698 and 1739 of NCCL
     * have wrong results and hangs with other sizes. */
    int ll128 = !strcmp(s->name, "NCCL_LL128_BUFFSIZE");
    if (strstr(s->name, "BUFFSIZE") && value > 0 && value % (ll128 ? 960 : 4096))
        lint_find(l, NT_OUT_OF_RANGE, s,
                  "NCCL does not check this number of bytes; results can be wrong or a collective can hang.",
                  ll128 ? "Write 120 times a power of two from 8 on, or remove it."
                        : "Write a power of two, or remove it.")
            ->severity = FINDING_WARNING;
    if (!strcmp(s->name, "NCCL_WORK_FIFO_BYTES") && value > 0 && ((value & (value - 1)) || value > 1 << 30))
        lint_find(l, NT_NOT_A_MULTIPLE, s,
                  "NCCL needs a power of two up to 1 GiB and uses its default, 1 MiB, instead.",
                  "Write a power of two, or nothing.");
}

/* Threads times sockets, said where the second of the two stands. */
static void check_sockets(struct lint *l, const struct lint_setting *s, int64_t value)
{
    static const char threads_name[] = "NCCL_SOCKET_NTHREADS", sockets_name[] = "NCCL_NSOCKS_PERTHREAD";
    int is_threads = !strcmp(s->name, threads_name);
    int64_t threads, sockets;
    if (!is_threads && strcmp(s->name, sockets_name) != 0)
        return;
    if (!lint_number(lint_before(l, s, is_threads ? sockets_name : threads_name), is_threads ? &sockets : &threads))
        return;
    *(is_threads ? &threads : &sockets) = value;
    if (threads < 1 || sockets < 1 || threads > 16 || sockets > 64 || threads * sockets <= 64)
        return;
    lint_find(l, NT_TOO_MANY_SOCKETS, s,
              "%lld threads with %lld sockets each are more than 64: NCCL takes %lld a thread and warns.",
              "Keep the product at 64 or below.", (long long)threads, (long long)sockets, (long long)(64 / threads));
}

/* ---- defaults ---------------------------------------------------------------------------------------------------- */

/* Where RCCL 2.21.5 differs from the NCCL that it is built on. */
static const struct {
    const char *name, *value;
} rccl_defaults[] = {
    {"NCCL_DMABUF_ENABLE", "0"},  {"NCCL_GRAPH_MIXING_SUPPORT", "0"}, {"NCCL_NET_DISABLE_INTRA", "1"},
    {"NCCL_NVB_PRECONNECT", "0"}, {"NCCL_PXN_DISABLE", "1"},
};

static void check_default(struct lint *l, const struct lint_setting *s)
{
    if (!s->value[0])
        return;
    if (!l->rccl) {
        if (is_default(l, s))
            lint_find(l, NT_DEFAULT_VALUE, s, "This is the default in every judged release.",
                      "Remove it, unless it undoes something set elsewhere.");
        return;
    }
    for (size_t i = 0; i < sizeof(rccl_defaults) / sizeof(rccl_defaults[0]); i++)
        if (!strcmp(rccl_defaults[i].name, s->name) && is_equal(s, rccl_defaults[i].value))
            lint_find(l, NT_DEFAULT_VALUE, s, "This is RCCL's own default, unlike NCCL's.",
                      "Remove it, unless it undoes something set elsewhere.");
}

static void check_numbers(struct lint *l, const struct lint_setting *s)
{
    int64_t value;
    if (!s->var || !s->value || s->var->last || s->var->scope == ENV_PLUGIN || (s->var->flags & ENV_DEAD))
        return;
    int numeric = s->var->grammar == ENV_G_INT || s->var->grammar == ENV_G_FLAG;
    if (numeric && env_parse_number(s->value, &value) == ENV_NUMBER) {
        check_range(l, s, value);
        check_shape(l, s, value);
        check_sockets(l, s, value);
        check_default(l, s);
    } else if (s->var->grammar == ENV_G_LAUNCH || s->var->grammar == ENV_G_NETDEVS) {
        check_default(l, s);
    }
}

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

static void check_sockets_alone(struct lint *l, const struct lint_setting *s)
{
    if (!lint_anywhere(l, s, "NCCL_SOCKET_NTHREADS"))
        lint_find(l, NT_SOCKETS_WITHOUT_THREADS, s,
                  "NCCL opens threads x this many sockets, and the automatic thread count is 0 except on AWS ENA and "
                  "Google gVNIC: nothing changes.",
                  "Set NCCL_SOCKET_NTHREADS too, or remove it.");
}

static void check_tcp_only(struct lint *l, const struct lint_setting *s)
{
    struct fabric f = fabric_of(l->options.topology);
    int64_t off = 0;
    if (lint_number(lint_before(l, s, "NCCL_IB_DISABLE"), &off) && off)
        return;
    if (f.known && f.active == 0)
        return;
    lint_find(l, NT_TCP_ONLY_SETTING, s,
              f.known ? "NCCL uses it only for data over TCP, and this topology has active RDMA ports."
                      : "NCCL uses it only for data over TCP, not on InfiniBand or RoCE; a plugin for TCP, such as "
                        "Google's GPUDirect-TCPX, may read it too.",
              f.known ? "Remove it." : "Remove it where RDMA carries the data.");
}

static void check_gid_index(struct lint *l, const struct lint_setting *s)
{
    static const char on_ib[] = "From 2.22.3 on NCCL ignores it on InfiniBand";
    static const char on_roce[] =
        "on RoCE it uses this entry on every port unchecked; from 2.21.5 on it would find a RoCE v2 entry itself";
    int64_t index;
    struct fabric f = fabric_of(l->options.topology);
    if (!lint_number(s, &index) || index < 0)
        return;
    if (f.known && f.infiniband + f.ethernet > 0 && f.ethernet == 0) {
        if (l->high >= 22203)
            lint_find(l, NT_FIXED_GID_INDEX, s, "%s, all that this topology has.", "Remove it.", on_ib);
        return;
    }
    if (l->high < 22105) /* no automatic choice yet: it has to be set on RoCE */
        return;
    struct lint_finding *found =
        lint_find(l, NT_FIXED_GID_INDEX, s, "%s",
                  l->low >= 22105 ? "Remove it, unless a connection test shows that the automatic choice is wrong."
                                  : "Remove it where NCCL is 2.21.5 or later; older releases need it on RoCE.",
                  f.ethernet && !f.infiniband ? arena_printf(l->arena, "O%s.", on_roce + 1)
                                              : arena_printf(l->arena, "%s; %s.", on_ib, on_roce));
    if (!f.known || index == 3) /* what vendors publish for RoCE v2 over IPv4 */
        found->severity = FINDING_NOTE;
}

static void check_roce_only(struct lint *l, const struct lint_setting *s)
{
    struct fabric f = fabric_of(l->options.topology);
    int is_class = strstr(s->name, "_TC") != NULL;
    if (f.infiniband && !f.ethernet)
        lint_find(l, NT_WRONG_LINK_LAYER, s, "%s RoCE; this topology has only InfiniBand.",
                  is_class ? "Use NCCL_IB_SL to choose a service level, or remove it." : "Remove it.",
                  is_class ? "A traffic class applies to" : "It affects the GID choice on");
}

static void check_p2p_switch(struct lint *l, const struct lint_setting *s)
{
    if (s->value && s->value[0] && strcmp(s->value, "1") != 0 && strcmp(s->value, "0") != 0)
        lint_find(l, NT_P2P_DISABLE_VALUE, s, "Since 2.6.4 only the value 1 disables P2P; any other changes nothing.",
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

static void check_ib_off(struct lint *l, const struct lint_setting *s)
{
    struct fabric f = fabric_of(l->options.topology);
    int64_t off;
    if (!lint_number(s, &off) || !off)
        return;
    if (f.known && f.active == 0) {
        lint_find(l, NT_RDMA_OFF, s, "This topology has no active RDMA port: nothing changes.", "Remove it.")
            ->severity = FINDING_NOTE;
        return;
    }
    int here = l->options.root && !l->options.elsewhere && has_hcas(l);
    const char *what = f.known ? arena_printf(l->arena, "%d active RDMA ports go unused", f.active)
                       : here  ? "This machine has RDMA ports, and they go unused"
                               : "NCCL's InfiniBand and RoCE transport is off";
    struct lint_finding *found = lint_find(
        l, NT_RDMA_OFF, s, "%s%s: data takes TCP, unless a network plugin brings its own transport.",
        "Remove it where the nodes have working RDMA.", off == 1 ? "" : "NCCL reads any number but 0 as 1. ", what);
    if (!f.known && !here)
        found->severity = FINDING_NOTE;
}

static void check_pin(struct lint *l, const struct lint_setting *s)
{
    if (!s->value || !s->value[0])
        return;
    lint_find(l, NT_PINNED_CHOICE, s,
              "It applies to every message size of %s, and a tuner cannot choose what it excludes.",
              "Keep it for experiments; put measured choices into a tuner table.",
              strchr(s->value, ':') ? "these collectives" : "all collectives");
}

static void check_debug_on(struct lint *l, const struct lint_setting *s)
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
        lint_find(l, NT_DEBUG_LEFT_ON, s, "%s",
                  s->var->grammar == ENV_G_DEBUG ? "Write WARN for production." : "Remove it for production.", says);
}

static void check_unsafe_flush(struct lint *l, const struct lint_setting *s)
{
    int64_t value;
    if (!l->rccl && lint_number(s, &value) && value)
        lint_find(l, NT_UNSAFE_FLUSH, s,
                  "NCCL skips the read that orders GPUDirect writes: a kernel may see old data if the hardware does "
                  "not order them.",
                  "Remove it; NCCL skips the flush where that is safe.");
}

/* Whether a document starts several nodes: it names their number or list, and nowhere says that it is one. */
static int has_many_nodes(struct lint_text *t)
{
    static const char one[] = "nnodes=1|nnodes 1|NNODES=1|NNODES:-1|nodes=1\n|-N 1\n|standalone|select=1:";
    static const char many[] =
        "nnodes|NNODES|--nodes|#SBATCH -N|hostfile|node_rank|node-rank|NODE_RANK|select=|hostnames";
    return lint_speaks_of(t, many) && !lint_speaks_of(t, one);
}

static void check_local_interface(struct lint *l, const struct lint_setting *s)
{
    struct env_devices d;
    if (!s->value)
        return;
    env_parse_devices(s->value, &d);
    for (int i = 0; i < d.count && !d.exclude; i++)
        if (word_in("lo|docker0|virbr0", WORD_IS, d.list[i].name, d.list[i].length)) {
            lint_find(l, NT_LOCAL_INTERFACE, s,
                      "\"%.*s\" reaches only this node; bootstrap between nodes fails over it.",
                      "Name the interface that joins the nodes, or remove it.", (int)d.list[i].length, d.list[i].name)
                ->severity = has_many_nodes(s->text) ? FINDING_WARNING : FINDING_NOTE;
            return;
        }
}

/* host:port or [address]:port. Of "host" NCCL 2.28.9 makes port 65535, of "host:" and "host:x" port 0. */
static void check_comm_id(struct lint *l, const struct lint_setting *s)
{
    const char *colon = s->value ? strrchr(s->value, ':') : NULL;
    if (s->value && *s->value && (!colon || !isdigit((unsigned char)colon[1])))
        lint_find(l, NT_ADDRESS_WITHOUT_PORT, s,
                  colon ? "There is no number after ':'; NCCL uses port 0 or 65535."
                        : "Without a port NCCL uses 65535, free or not.",
                  "Write host:port, or remove it: frameworks pass the address themselves.");
}

/* Words for its own networks that NCCL does not know. */
static void check_network_name(struct lint *l, const struct lint_setting *s)
{
    static const char words[] = "infiniband|ibverbs|verbs|rdma|roce|tcp|sockets|ethernet|eth0|ib0|mlx5|true|auto|"
                                "nccl_ib|0|1|ofi|efa";
    const size_t n = s->value ? strlen(s->value) : 0;
    const int libfabric = n && word_in("ofi|efa", WORD_IS_ANY_CASE, s->value, n);
    if (s->value && strchr(s->value, ','))
        lint_find(l, NT_NETWORK_EXCLUDED, s,
                  "NCCL takes the whole value for the name of one network, and none is called so: communicator "
                  "creation fails.",
                  "Write one name, such as IB, or remove it.");
    if (n && word_in(words, WORD_IS_ANY_CASE, s->value, n))
        lint_find(l, NT_NETWORK_EXCLUDED, s,
                  "NCCL's own networks are called IB and Socket. Without a plugin of this name communicator "
                  "creation fails.",
                  libfabric ? "Write the name that the plugin logs, such as \"AWS Libfabric\", or remove it."
                            : "Write IB or Socket, or remove it.")
            ->severity = libfabric ? FINDING_WARNING : FINDING_ERROR;
}

static const struct {
    const char *names;
    lint_check_fn *check;
} effects[] = {
    {"NCCL_NET", check_network_name},
    {"NCCL_COMM_ID", check_comm_id},
    {"NCCL_NSOCKS_PERTHREAD", check_sockets_alone},
    {"NCCL_NSOCKS_PERTHREAD|NCCL_SOCKET_NTHREADS", check_tcp_only},
    {"NCCL_IB_GID_INDEX", check_gid_index},
    {"NCCL_IB_ADDR_FAMILY|NCCL_IB_ADDR_RANGE|NCCL_IB_ROCE_VERSION_NUM|NCCL_IB_TC|NCCL_IB_FIFO_TC", check_roce_only},
    {"NCCL_P2P_DISABLE", check_p2p_switch},
    {"NCCL_IB_DISABLE", check_ib_off},
    {"NCCL_ALGO|NCCL_PROTO", check_pin},
    {"NCCL_DEBUG|NCCL_CHECK_POINTERS|NCCL_CHECK_MODE", check_debug_on},
    {"NCCL_GDR_FLUSH_DISABLE", check_unsafe_flush},
    {"NCCL_SOCKET_IFNAME", check_local_interface},
};

void lint_check_effects(struct lint *l, const struct lint_setting *s)
{
    if (!s->var)
        return;
    check_numbers(l, s);
    for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++)
        if (lint_is(s, effects[i].names))
            effects[i].check(l, s);
}
