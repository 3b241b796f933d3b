/* Numbers: outside of their range, of the wrong shape, or equal to the default. */
#include <string.h>
#include <strings.h>

#include "core/vars/parse.h"
#include "envgen/lint/lint_internal.h"

enum { OUT_OF_RANGE, CLAMPED, SOCKETS, MULTIPLE, DEFAULT };
static const struct finding_kind kinds[] = {
    [OUT_OF_RANGE] = {"NT301", "out-of-range", FINDING_ERROR, "a number outside of what the hardware or NCCL takes"},
    [CLAMPED] = {"NT302", "clamped", FINDING_WARNING, "a number that NCCL replaces by its limit"},
    [SOCKETS] = {"NT303", "too-many-sockets", FINDING_WARNING, "more than 64 TCP connections to a peer"},
    [MULTIPLE] = {"NT304", "not-a-multiple", FINDING_WARNING, "a number of the wrong shape is replaced"},
    [DEFAULT] = {"NT305", "default-value", FINDING_NOTE, "this is NCCL's default already"},
};

static int equals(const struct lint_setting *s, const char *usual)
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
    if (!env_default_at(v, l->high, usual) || !equals(s, usual))
        return 0;
    if (env_default_at(v, l->low, usual) && !equals(s, usual))
        return 0;
    for (const char *p = v->defaults; *p; p += strspn(p, "; ")) {
        int low, high;
        char version[ENV_VERSION] = "";
        size_t n = strcspn(p, "=");
        memcpy(version, p, n < ENV_VERSION ? n : ENV_VERSION - 1);
        p += strcspn(p, ";");
        if (env_version_parse(version, &low, &high) || low <= l->low || low > l->high)
            continue;
        if (env_default_at(v, low, usual) && !equals(s, usual))
            return 0;
    }
    return 1;
}

/* What comes of a number outside the catalogue's range. */
static const struct consequence {
    const char *name;
    const struct finding_kind *kind;
    const char *says, *advice;
} consequences[] = {
    {"NCCL_IB_TIMEOUT", &kinds[OUT_OF_RANGE],
     "The InfiniBand field holds 0 to 31; a larger exponent is cut or refused by the driver.",
     "Write at most 31; each step doubles the wait, and 22 is 17 seconds already."},
    {"NCCL_IB_RETRY_CNT", &kinds[OUT_OF_RANGE],
     "The InfiniBand field holds 0 to 7; a larger count is cut or refused by the driver.",
     "Write 7, the default, and raise NCCL_IB_TIMEOUT to wait longer."},
    {"NCCL_IB_SL", &kinds[OUT_OF_RANGE], "InfiniBand has the service levels 0 to 15.", "Write 0 to 15."},
    {"NCCL_IB_TC", &kinds[OUT_OF_RANGE], "A traffic class has 8 bits.", "Write 0 to 255."},
    {"NCCL_IB_FIFO_TC", &kinds[OUT_OF_RANGE], "A traffic class has 8 bits.", "Write 0 to 255."},
    {"NCCL_GIN_IB_TC", &kinds[OUT_OF_RANGE], "A traffic class has 8 bits.", "Write 0 to 255."},
    {"NCCL_IB_GID_INDEX", &kinds[OUT_OF_RANGE], "A GID index has 8 bits.", "Write 0 to 255, or leave it unset."},
    {"NCCL_IB_QPS_PER_CONNECTION", &kinds[OUT_OF_RANGE],
     "NCCL does not check the number, and its structures hold 128 queue pairs a connection.", "Write 1 to 128."},
    {"NCCL_SOCKET_NTHREADS", &kinds[CLAMPED], "NCCL starts at most 16 helper threads.", "Write 0 to 16."},
    {"NCCL_NTHREADS", &kinds[CLAMPED], "NCCL takes 64 for anything less and 512 for anything more.",
     "Write a multiple of 32 from 64 to 512, or nothing."},
    {"NCCL_LL128_NTHREADS", &kinds[CLAMPED], "NCCL takes 160 for anything less and 640 for anything more.",
     "Write a multiple of 32 from 160 to 640, or nothing."},
    {"NCCL_MAX_CTAS", &kinds[CLAMPED], "NCCL ignores 0 and less, and caps at 64 (32 before 2.25).", "Write 1 to 64."},
    {"NCCL_MIN_CTAS", &kinds[CLAMPED], "NCCL ignores 0 and less, and caps at 64 (32 before 2.25).", "Write 1 to 64."},
    {"NCCL_MAX_NCHANNELS", &kinds[CLAMPED], "NVIDIA's NCCL has at most 64 channels (32 before 2.25), at least 1.",
     "Write 1 to 64; 112 is a number for AMD's RCCL on MI300."},
    {"NCCL_MIN_NCHANNELS", &kinds[CLAMPED], "NVIDIA's NCCL has at most 64 channels (32 before 2.25).",
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
        if (!strcmp(consequences[i].name, s->name)) {
            lint_find(l, consequences[i].kind, s,
                      l->rccl && counts_channels(s->name) ? "RCCL has at most 128 channels." : consequences[i].says,
                      consequences[i].advice);
            return;
        }
    if (!strcmp(s->name, "NCCL_P2P_DISABLE")) /* a rule of its own */
        return;
    lint_find(l, &kinds[OUT_OF_RANGE], s,
              arena_printf(l->arena, "NCCL knows the numbers %lld to %lld here and does not check for others.",
                           (long long)v->low, (long long)high),
              arena_printf(l->arena, "Write %lld to %lld.", (long long)v->low, (long long)high))
        ->severity = FINDING_WARNING;
}

static void check_shape(struct lint *l, const struct lint_setting *s, int64_t value)
{
    int threads = !strcmp(s->name, "NCCL_NTHREADS") || !strcmp(s->name, "NCCL_LL128_NTHREADS");
    if (threads && value >= s->var->low && value <= s->var->high && value % 32)
        lint_find(
            l, &kinds[MULTIPLE], s,
            arena_printf(l->arena, "NCCL wants a multiple of 32 and takes %lld instead.", (long long)s->var->high),
            "Write a multiple of 32, or nothing.");
    if (!strcmp(s->name, "NCCL_WORK_FIFO_BYTES") && value > 0 && ((value & (value - 1)) || value > 1 << 30))
        lint_find(l, &kinds[MULTIPLE], s,
                  "NCCL wants a power of two up to 1 GiB and takes its default, 1 MiB, instead.",
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
    lint_find(l, &kinds[SOCKETS], s,
              arena_printf(l->arena,
                           "%lld threads with %lld sockets each are more than 64: NCCL takes %lld a thread and warns.",
                           (long long)threads, (long long)sockets, (long long)(64 / threads)),
              "Keep the product at 64 or below.");
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
            lint_find(l, &kinds[DEFAULT], s, "This is what NCCL does without the line, in every release judged.",
                      "Remove it, unless it has to undo something set elsewhere.");
        return;
    }
    for (size_t i = 0; i < sizeof(rccl_defaults) / sizeof(rccl_defaults[0]); i++)
        if (!strcmp(rccl_defaults[i].name, s->name) && equals(s, rccl_defaults[i].value))
            lint_find(l, &kinds[DEFAULT], s, "This is RCCL's own default, unlike NCCL's.",
                      "Remove it, unless it has to undo something set elsewhere.");
}

static void check(struct lint *l, const struct lint_setting *s)
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

const struct lint_rules lint_ranges = {kinds, sizeof kinds / sizeof *kinds, check};
