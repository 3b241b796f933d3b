/* Two settings that do not go together: a table of pairs, each judged where the second of the two is written. */
#include <string.h>
#include <strings.h>

#include "core/locate.h"
#include "core/vars/parse.h"
#include "lint/lint_internal.h"
#include "tuner/table/table.h"

/* `a` and `b` in the order of the table's row; `at` is the later one. */
struct pair {
    const struct lint_setting *a, *b, *at;
};

static int is_number(const struct lint_setting *s, int64_t wanted)
{
    int64_t value;
    return lint_number(s, &value) && value == wanted;
}

static int is_word(const struct lint_setting *s, const char *word)
{
    return s->value && !strcasecmp(s->value, word);
}

/* Names under which there is no plugin: NCCL looks for none, or for a library that nobody has. */
static int is_no_plugin(const struct lint_setting *s)
{
    return s->value && (!*s->value || is_word(s, "none") || is_word(s, "UNUSED"));
}

/* The collectives for which the list leaves one algorithm or protocol; all of them where it leaves one to each that it
 * is about. NULL: a tuner can still choose, or the list is not known. */
static const char *pinned_collectives(struct lint *l, const struct lint_setting *s)
{
    struct env_choice c;
    int protocol = !strcmp(s->name, "NCCL_PROTO"), touched = 0, pinned = 0;
    const char *names = NULL;
    if (!lint_choice(l, s, &c))
        return NULL;
    for (int i = 0; i < COLL_COUNT; i++) {
        unsigned left = c.allowed[i] & (protocol ? ~0u : env_algos_of(i, l->high));
        touched += c.touched[i];
        if (!c.touched[i] || __builtin_popcount(left) != 1)
            continue;
        pinned++;
        names = arena_printf(l->arena, "%s%s%s", names ? names : "", names ? ", " : "", coll_name(i));
    }
    /* Some collectives have one algorithm anyway: that of AllReduce says what is meant. */
    int choice = !protocol && c.touched[COLL_ALLREDUCE] &&
                 __builtin_popcount(c.allowed[COLL_ALLREDUCE] & env_algos_of(COLL_ALLREDUCE, l->high)) > 1;
    return choice || !pinned ? NULL : pinned == touched ? "every collective" : names;
}

static void check_tuner(struct lint *l, const struct pair *p)
{
    const char *pinned = !p->b->value || is_no_plugin(p->b) ? NULL : pinned_collectives(l, p->a);
    if (pinned)
        lint_find(
            l, NT_PIN_BEATS_TUNER, p->at,
            arena_printf(l->arena, "%s leaves the tuner plugin one choice for %s at every size.", p->a->name, pinned),
            "Remove the pin, and let the plugin's table decide.");
}

static void check_min_max(struct lint *l, const struct pair *p)
{
    int64_t low, high;
    if (!lint_number(p->a, &low) || !lint_number(p->b, &high) || low <= high || high < 1)
        return;
    lint_find(l, NT_MIN_ABOVE_MAX, p->at,
              strstr(p->a->name, "CTAS") ? "With the minimum above the maximum NCCL takes the maximum for both."
                                         : "The minimum is applied last and wins over the maximum.",
              arena_printf(l->arena, "Make %s at most %s.", p->a->name, p->b->name));
}

static void check_alias(struct lint *l, const struct pair *p)
{
    lint_find(l, NT_ALIAS_UNUSED, p->at,
              arena_printf(l->arena, "%s is an alias that counts only while %s is unset.", p->a->name, p->b->name),
              arena_printf(l->arena, "Remove %s.", p->a->name));
}

static void check_socket_hca(struct lint *l, const struct pair *p)
{
    if (is_word(p->a, "Socket"))
        lint_find(l, NT_NETWORK_EXCLUDED, p->at, "With NCCL_NET=Socket no RDMA device is used, despite NCCL_IB_HCA.",
                  "Remove one of the two.")
            ->severity = FINDING_WARNING;
}

static void check_no_plugin(struct lint *l, const struct pair *p)
{
    if (p->a->value && p->a->value[0] && !is_word(p->a, "IB") && !is_word(p->a, "Socket") && is_word(p->b, "none"))
        lint_find(
            l, NT_NETWORK_EXCLUDED, p->at,
            "NCCL_NET asks for a plugin's network, and NCCL_NET_PLUGIN=none loads no plugin: communicator creation "
            "fails.",
            "Remove one of the two.");
}

static void check_merge(struct lint *l, const struct pair *p)
{
    if (l->high < 22403)
        return;
    if (lint_is_on(p->a) && is_word(p->b, "LOC"))
        lint_find(l, NT_MERGE_DISABLED, p->at,
                  "NCCL_NET_MERGE_LEVEL=LOC merges no ports, so the older NCCL_IB_MERGE_NICS=1 has no effect.",
                  "Remove one of the two.");
    if (!is_number(p->a, 0) || is_word(p->b, "LOC"))
        return;
    lint_find(
        l, NT_MERGE_DISABLED, p->at,
        arena_printf(l->arena, "NCCL_IB_MERGE_NICS=0 refuses every merged NIC, so %s merges nothing.", p->b->name),
        "Remove one of the two.");
}

static void check_cta_policy(struct lint *l, const struct pair *p)
{
    if (!is_number(p->a, 1) && !is_word(p->a, "EFFICIENCY"))
        return;
    if (!strcmp(p->b->name, "NCCL_TUNER_PLUGIN") && (!p->b->value || is_no_plugin(p->b)))
        return;
    lint_find(l, NT_CTA_POLICY_UNUSED, p->at,
              arena_printf(l->arena, "NCCL ignores the EFFICIENCY policy while %s is set.", p->b->name),
              "Remove one of the two.");
}

/* NCCL loads one tuner: the table is not applied under another one, which ours would ask first. */
static void find_displaced(struct lint *l, const struct lint_setting *plugin, const struct lint_setting *at)
{
    if (!plugin->value || !*plugin->value || locate_is_plugin(plugin->value))
        return;
    int none = is_word(plugin, "none");
    lint_find(l, NT_TUNER_DISPLACES_TABLE, at,
              none ? "NCCL_TUNER_PLUGIN=none loads no tuner, so the profile's table is not applied."
                   : "NCCL loads one tuner, and this is not nccltune's: the profile's table is not applied.",
              none ? "Remove it."
                   : arena_printf(l->arena,
                                  "Name libnccl-tuner-nccltune.so there, and this one in NCCLTUNE_NEXT_TUNER=%s: it "
                                  "is asked first.",
                                  plugin->value));
}

static void check_profile_tuner(struct lint *l, const struct pair *p)
{
    if (p->a->value && *p->a->value)
        find_displaced(l, p->b, p->at);
}

#define NVLS    (1u << ALGO_NVLS | 1u << ALGO_NVLS_TREE)
#define COLLNET (1u << ALGO_COLLNET_DIRECT | 1u << ALGO_COLLNET_CHAIN)

/* NCCL_ALGO beside the switch of what it lists for AllReduce, or of what it leaves out. */
static void check_switched_algorithms(struct lint *l, const struct pair *p)
{
    int nvls = !strcmp(p->a->name, "NCCL_NVLS_ENABLE");
    unsigned switched = nvls ? NVLS : COLLNET;
    const char *name = nvls ? "NVLS" : "CollNet";
    struct env_choice c;
    if (!lint_choice(l, p->b, &c) || !c.touched[COLL_ALLREDUCE] || !c.allowed[COLL_ALLREDUCE])
        return;
    unsigned left = c.allowed[COLL_ALLREDUCE];
    if (is_number(p->a, 0) && !(left & ~switched))
        lint_find(l, nvls ? NT_NVLS_CONFLICT : NT_FEATURE_OFF, p->at,
                  arena_printf(l->arena, "NCCL_ALGO leaves AllReduce to %s, which %s=0 turns off.", name, p->a->name),
                  "Remove one of the two.");
    else if (is_number(p->a, 0) && (left & switched) && !strchr(p->b->value, '^'))
        lint_find(l, NT_FEATURE_OFF, p->at,
                  arena_printf(l->arena, "NCCL_ALGO lists %s, which %s=0 turns off.", name, p->a->name),
                  "Remove one of the two.");
    else if (is_number(p->a, 1) && !(left & switched) && !strchr(p->b->value, ':'))
        lint_find(l, NT_FEATURE_OFF, p->at,
                  arena_printf(l->arena, "NCCL_ALGO leaves out %s, which %s=1 turns on.", name, p->a->name),
                  "Remove one of the two.")
            ->severity = FINDING_NOTE;
}

/* All but Ring and Tree exist with Simple alone. */
static void check_algorithm_and_protocol(struct lint *l, const struct pair *p)
{
    const unsigned any_protocol = 1u << ALGO_RING | 1u << ALGO_TREE;
    struct env_choice algos, protos;
    const char *names = NULL;
    if (l->high < 22403 || !lint_choice(l, p->a, &algos) || !lint_choice(l, p->b, &protos))
        return;
    for (int i = 0; i < COLL_COUNT; i++) {
        unsigned left = algos.allowed[i] & env_algos_of(i, l->high);
        if (algos.touched[i] && protos.touched[i] && left && !(left & any_protocol) && protos.allowed[i] &&
            !(protos.allowed[i] & 1u << PROTO_SIMPLE))
            names = arena_printf(l->arena, "%s%s%s", names ? names : "", names ? ", " : "", coll_name(i));
    }
    if (names)
        lint_find(l, NT_NOTHING_LEFT, p->at,
                  arena_printf(l->arena,
                               "NCCL_ALGO leaves %s algorithms that exist only with Simple, which NCCL_PROTO excludes: "
                               "from 2.24.3 on such a call fails with invalid usage.",
                               names),
                  "Add Simple to NCCL_PROTO, or Ring to NCCL_ALGO.");
}

static void check_level_c2c(struct lint *l, const struct pair *p)
{
    const char *level = p->b->value ? env_parse_level(p->b->value, l->high) : NULL;
    if (lint_is_on(p->a) && level && (!strcmp(level, "PIX") || !strcmp(level, "PXB")) && l->high >= 22902)
        lint_find(
            l, NT_LEVEL_LIMITS_C2C, p->at,
            "From 2.29.2 on a written level replaces the default that allows C2C paths: GPUDirect over C2C is off.",
            "Remove NCCL_NET_GDR_LEVEL, or write P2C.");
}

static void check_filter(struct lint *l, const struct pair *p)
{
    const char *level = p->b->value ? env_parse_debug(p->b->value) : NULL;
    if (level && strcmp(level, "INFO") != 0 && strcmp(level, "TRACE") != 0)
        lint_find(l, NT_DEBUG_FILTER_UNUSED, p->at,
                  arena_printf(l->arena, "The filter counts for INFO and TRACE lines; at %s there are none.", level),
                  "Remove NCCL_DEBUG_SUBSYS, or set NCCL_DEBUG=INFO while debugging.");
}

static void check_efa(struct lint *l, const struct pair *p)
{
    if (is_word(p->b, "efa"))
        lint_find(l, NT_IB_SETTING_BESIDE_EFA, p->at,
                  arena_printf(l->arena, "EFA is reached through the plugin aws-ofi-nccl, which does not read %s.",
                               p->a->name),
                  arena_printf(l->arena, "Remove %s.", p->a->name));
}

/* A fixed GID index tells RoCE. */
static void check_routing(struct lint *l, const struct pair *p)
{
    int64_t index;
    if (lint_is_on(p->a) && lint_number(p->b, &index) && index >= 0)
        lint_find(l, NT_ADAPTIVE_ROUTING_ON_ROCE, p->at,
                  "A GID index is for RoCE, where NCCL expects packets in order by default: with 1 every large message "
                  "takes one more write, which pays only on switches that route adaptively.",
                  "Remove NCCL_IB_ADAPTIVE_ROUTING, unless the Ethernet fabric routes adaptively.");
}

/* Said at the hint, which is the line without effect. */
static void check_gid_hint(struct lint *l, const struct pair *p)
{
    int64_t index;
    if (lint_number(p->b, &index) && index >= 0)
        lint_find(l, NT_GID_HINT_UNUSED, p->a, "It guides the automatic GID choice, which NCCL_IB_GID_INDEX turns off.",
                  "Remove NCCL_IB_GID_INDEX, or this.");
}

static void check_family_of_range(struct lint *l, const struct pair *p)
{
    if (is_word(p->a, "AF_INET6") && p->b->value && strchr(p->b->value, '/') && !strchr(p->b->value, ':'))
        lint_find(l, NT_FEATURE_OFF, p->at,
                  "With NCCL_IB_ADDR_FAMILY=AF_INET6 NCCL silently drops a range of IPv4 addresses.",
                  "Write a range of IPv6 addresses, or AF_INET.");
}

static void check_switch(struct lint *l, const struct pair *p)
{
    if (!is_number(p->b, 0) || is_number(p->a, 0))
        return;
    lint_find(l, NT_FEATURE_OFF, p->at,
              arena_printf(l->arena, "%s=0 disables the feature of %s.", p->b->name, p->a->name),
              "Remove one of the two.");
}

static int is_such(const struct lint_setting *s, const char *when)
{
    return !when                 ? 1
           : *when == '='        ? is_number(s, when[1] - '0')
           : !strcmp(when, "!0") ? lint_is_on(s)
                                 : is_word(s, when);
}

/* A pair is judged by a function, or has one thing to say where both values are such: "=1" is a number, "!0" any but 0,
 * else a word; NULL: any value. */
static const struct {
    const char *a, *b;
    void (*judge)(struct lint *, const struct pair *);
    const char *when_a, *when_b;
    enum lint_rule rule;
    const char *says, *advice;
} pairs[] = {
    {"NCCL_IB_HCA", "FI_PROVIDER", check_efa},
    {"NCCL_IB_GID_INDEX", "FI_PROVIDER", check_efa},
    {"NCCL_IB_TIMEOUT", "FI_PROVIDER", check_efa},
    {"NCCL_IB_ADAPTIVE_ROUTING", "NCCL_IB_GID_INDEX", check_routing},
    {"NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", check_family_of_range},
    {"NCCL_IB_ADDR_FAMILY", "NCCL_IB_GID_INDEX", check_gid_hint},
    {"NCCL_IB_ADDR_RANGE", "NCCL_IB_GID_INDEX", check_gid_hint},
    {"NCCL_IB_ROCE_VERSION_NUM", "NCCL_IB_GID_INDEX", check_gid_hint},
    {"NCCL_GIN_TYPE", "NCCL_GIN_ENABLE", check_switch},
    {"NCCL_GIN_PLUGIN", "NCCL_GIN_ENABLE", check_switch},
    {"NCCL_GIN_NCONNECTIONS", "NCCL_GIN_ENABLE", check_switch},
    {"NCCL_GIN_NCONTEXTS", "NCCL_GIN_ENABLE", check_switch},
    {"NCCL_SYM_GIN_KERNELS_ENABLE", "NCCL_GIN_ENABLE", check_switch},
    {"NCCL_SYM_KERNEL", "NCCL_WIN_ENABLE", check_switch},
    {"NCCL_SYM_CTAS", "NCCL_WIN_ENABLE", check_switch},
    {"NCCL_SYM_CE_THRESHOLD", "NCCL_WIN_ENABLE", check_switch},
    {"NCCL_SYM_GIN_KERNELS_ENABLE", "NCCL_WIN_ENABLE", check_switch},
    {"NCCL_WIN_ENABLE", "NCCL_CUMEM_ENABLE", check_switch},
    {"NCCL_ALGO", "NCCL_TUNER_PLUGIN", check_tuner},
    {"NCCL_PROTO", "NCCL_TUNER_PLUGIN", check_tuner},
    {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", NULL, "1", NULL, NT_P2P_LEVEL_UNUSED,
     "NCCL_P2P_DISABLE=1 wins; NCCL_P2P_LEVEL is ignored.", "Remove one of the two."},
    {"NCCL_MIN_CTAS", "NCCL_MAX_CTAS", check_min_max},
    {"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", check_min_max},
    {"NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS", check_min_max},
    {"NCCL_MIN_NRINGS", "NCCL_MIN_NCHANNELS", check_alias},
    {"NCCL_MAX_NRINGS", "NCCL_MAX_NCHANNELS", check_alias},
    {"NCCL_NET", "NCCL_IB_DISABLE", NULL, "IB", "!0", NT_NETWORK_EXCLUDED,
     "NCCL_NET=IB requires the transport that NCCL_IB_DISABLE removes: communicator creation fails.",
     "Remove one of the two."},
    {"NCCL_NET", "NCCL_IB_HCA", check_socket_hca},
    {"NCCL_NET", "NCCL_NET_PLUGIN", check_no_plugin},
    {"NCCL_MNNVL_ENABLE", "NCCL_CUMEM_ENABLE", NULL, "=1", "=0", NT_MNNVL_WITHOUT_CUMEM,
     "NVLink between nodes needs the cuMem calls that NCCL_CUMEM_ENABLE=0 disables.", "Remove NCCL_CUMEM_ENABLE."},
    {"NCCL_IB_MERGE_NICS", "NCCL_NET_MERGE_LEVEL", check_merge},
    {"NCCL_IB_MERGE_NICS", "NCCL_NET_FORCE_MERGE", check_merge},
    {"NCCL_CTA_POLICY", "NCCL_ALGO", check_cta_policy},
    {"NCCL_CTA_POLICY", "NCCL_PROTO", check_cta_policy},
    {"NCCL_CTA_POLICY", "NCCL_TUNER_PLUGIN", check_cta_policy},
    {"NCCLTUNE_PROFILE", "NCCL_TUNER_PLUGIN", check_profile_tuner},
    {"NCCL_IB_AR_THRESHOLD", "NCCL_IB_OOO_RQ", NULL, NULL, "!0", NT_AR_THRESHOLD_UNUSED,
     "NCCL_IB_OOO_RQ=1 does not use the adaptive routing threshold.", "Remove NCCL_IB_AR_THRESHOLD."},
    {"NCCL_NVLS_ENABLE", "NCCL_CUMEM_ENABLE", NULL, "=1", "=0", NT_NVLS_CONFLICT,
     "NVLS needs the cuMem calls that NCCL_CUMEM_ENABLE=0 disables, and 1 skips the check for them.",
     "Leave NCCL_NVLS_ENABLE at 2, or remove NCCL_CUMEM_ENABLE."},
    {"NCCL_NVLS_ENABLE", "NCCL_MULTI_RANK_GPU_ENABLE", NULL, "=1", "!0", NT_NVLS_CONFLICT,
     "Several ranks on one GPU disable NVLS, and with NCCL_NVLS_ENABLE=1 communicator creation fails.",
     "Leave NCCL_NVLS_ENABLE at 2."},
    {"NCCL_NVLS_ENABLE", "NCCL_ALGO", check_switched_algorithms},
    {"NCCL_COLLNET_ENABLE", "NCCL_ALGO", check_switched_algorithms},
    {"NCCL_ALGO", "NCCL_PROTO", check_algorithm_and_protocol},
    {"NCCL_NET_GDR_C2C", "NCCL_NET_GDR_LEVEL", check_level_c2c},
    {"NCCL_DEBUG_SUBSYS", "NCCL_DEBUG", check_filter},
};

/* Everything of the IB transport beside its switch. */
static void check_ib_off(struct lint *l, const struct lint_setting *s)
{
    int is_switch = !strcmp(s->name, "NCCL_IB_DISABLE");
    const struct lint_setting *off = is_switch ? s : lint_before(l, s, "NCCL_IB_DISABLE");
    const struct lint_setting *net = is_switch ? NULL : lint_before(l, s, "NCCL_NET");
    int socket = net && net->value && !strcasecmp(net->value, "Socket") && strcmp(s->name, "NCCL_IB_HCA") != 0;
    const struct lint_setting *hca = is_switch ? lint_before(l, s, "NCCL_IB_HCA") : NULL;
    int gdr = !strncmp(s->name, "NCCL_NET_GDR_", 13);
    if ((strncmp(s->name, "NCCL_IB_", 8) != 0 && !gdr) || (s->value && !*s->value) ||
        (!socket && (!off || !lint_is_on(off))) || (is_switch && !hca))
        return;
    struct lint_finding *f =
        lint_find(l, NT_IB_SETTING_UNUSED, s,
                  is_switch ? "It disables NCCL's own RDMA transport, which would use NCCL_IB_HCA above."
                            : arena_printf(l->arena, "%s disables NCCL's own RDMA transport, which would use this.",
                                           socket ? "NCCL_NET=Socket" : "NCCL_IB_DISABLE"),
                  "Remove one of the two, unless a network plugin reads it.");
    if (gdr) /* plugins ask NCCL, which asks this variable */
        f->severity = FINDING_NOTE;
}

/* ---- a pin and the table that a profile brings ------------------------------------------------------------------- */

/* Whether the table may be applied in one of the judged releases. */
static int table_applies(const struct lint *l)
{
    const struct tuner_table *t = l->options.table;
    for (int minor = l->low / 100; t && minor <= l->high / 100; minor++)
        if (tuner_table_fits(t, minor / 100, minor % 100))
            return 1;
    return 0;
}

/* Whether a rule chooses what the pin decides: one for channels alone, or for the other half, works under it. */
static int is_beaten(const struct tuner_rule *r, int coll, int protocol)
{
    return r->coll == coll && (protocol ? r->proto : r->algo) != TUNER_ANY;
}

/* The collectives for which both the table and the pin choose. */
static const char *disputed_collectives(struct lint *l, const struct env_choice *pin, int protocol)
{
    const struct tuner_table *t = l->options.table;
    const char *names = NULL;
    for (int coll = 0; coll < COLL_COUNT; coll++)
        for (size_t i = 0; i < t->count && pin->touched[coll]; i++)
            if (is_beaten(&t->rules[i], coll, protocol)) {
                names = arena_printf(l->arena, "%s%s%s", names ? names : "", names ? ", " : "", coll_name(coll));
                break;
            }
    return names;
}

/* The plugin is not in the document: the profile's hooks set it for the job. */
static void check_table(struct lint *l, const struct lint_setting *s)
{
    int protocol = !strcmp(s->name, "NCCL_PROTO");
    struct env_choice pin = {0};
    if ((!protocol && strcmp(s->name, "NCCL_ALGO") != 0) || !table_applies(l) || !lint_choice(l, s, &pin) ||
        lint_anywhere(l, s, "NCCL_TUNER_PLUGIN"))
        return;
    const char *names = disputed_collectives(l, &pin, protocol);
    if (names)
        lint_find(l, NT_PIN_BEATS_TABLE, s,
                  arena_printf(l->arena,
                               "The profile's table chooses by size for %s, and cannot choose what this excludes.",
                               names),
                  "Remove the pin: jobs with this profile get the table's choice.");
}

/* A profile was given beside the document, or is the job's. */
static void check_tuner_beside_table(struct lint *l, const struct lint_setting *s)
{
    if (!strcmp(s->name, "NCCL_TUNER_PLUGIN") && !is_word(s, "none") && table_applies(l) && l->options.table->count &&
        !lint_anywhere(l, s, "NCCLTUNE_PROFILE"))
        find_displaced(l, s, s);
}

/* What counts only while another variable, off by default, is 1. A default changes nothing anyway. */
static void check_needed(struct lint *l, const struct lint_setting *s)
{
    static const struct {
        const char *name, *needs;
    } needs[] = {
        {"NCCL_GDRCOPY_FLUSH_ENABLE", "NCCL_GDRCOPY_ENABLE"},
        {"NCCL_GDRCOPY_SYNC_ENABLE", "NCCL_GDRCOPY_ENABLE"},
        {"NCCL_GDRCOPY_FIFO_ENABLE", "NCCL_GDRCOPY_ENABLE"},
        {"NCCL_COLLNET_NODE_THRESHOLD", "NCCL_COLLNET_ENABLE"},
    };
    char usual[ENV_VALUE];
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (!strcmp(needs[i].name, s->name) && !is_number(s, 0) && !lint_anywhere(l, s, needs[i].needs) &&
            !(s->value && env_default_at(s->var, l->high, usual) && !strcmp(usual, s->value)))
            lint_find(l, NT_FEATURE_OFF, s,
                      arena_printf(l->arena, "It counts only with %s=1, which is not set here and off by default.",
                                   needs[i].needs),
                      arena_printf(l->arena, "Set %s=1 too, or remove it.", needs[i].needs))
                ->severity =
                strstr(s->name, "COLLNET") ? FINDING_NOTE : FINDING_WARNING; /* job managers turn SHARP on */
}

/* NCCL inserts lines without overwriting: what comes first stays. */
static void check_repeated(struct lint *l, const struct lint_setting *s)
{
    const struct lint_setting *first = s->how == LINT_CONF ? lint_before(l, s, s->name) : NULL;
    if (first && first->value && s->value && strcmp(first->value, s->value) != 0) {
        long line, column;
        lint_place(first->text, first->name_at, &line, &column);
        lint_find(l, NT_CONF_REPEATED, s,
                  arena_printf(l->arena, "Line %ld sets it first and counts: this one is ignored.", line),
                  "Remove one of the two.");
    }
}

void lint_check_conflicts(struct lint *l, const struct lint_setting *s)
{
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct pair p = {NULL, NULL, s};
        if (!strcmp(pairs[i].a, s->name)) {
            p.a = s;
            p.b = lint_before(l, s, pairs[i].b);
        } else if (!strcmp(pairs[i].b, s->name)) {
            p.a = lint_before(l, s, pairs[i].a);
            p.b = s;
        }
        if (p.a && p.b && pairs[i].judge)
            pairs[i].judge(l, &p);
        else if (p.a && p.b && is_such(p.a, pairs[i].when_a) && is_such(p.b, pairs[i].when_b))
            lint_find(l, pairs[i].rule, s, pairs[i].says, pairs[i].advice);
    }
    check_needed(l, s);
    check_ib_off(l, s);
    check_table(l, s);
    check_tuner_beside_table(l, s);
    check_repeated(l, s);
}
