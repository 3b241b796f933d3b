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
    unsigned touched = 0, pinned = 0;
    if (!lint_choice(l, s, &c))
        return NULL;
    for (int i = 0; i < COLL_COUNT; i++) {
        unsigned left = c.allowed[i] & (lint_is(s, "NCCL_PROTO") ? ~0u : env_algos_of(i, l->high));
        touched |= c.touched[i] ? 1u << i : 0;
        pinned |= c.touched[i] && __builtin_popcount(left) == 1 ? 1u << i : 0;
    }
    /* Some collectives have one algorithm anyway: that of AllReduce says what is meant. */
    int choice = lint_is(s, "NCCL_ALGO") && c.touched[COLL_ALLREDUCE] &&
                 __builtin_popcount(c.allowed[COLL_ALLREDUCE] & env_algos_of(COLL_ALLREDUCE, l->high)) > 1;
    return choice || !pinned ? NULL : pinned == touched ? "every collective" : lint_collectives(l, pinned);
}

static void check_tuner(struct lint *l, const struct pair *p)
{
    const char *pinned = !p->b->value || is_no_plugin(p->b) ? NULL : pinned_collectives(l, p->a);
    if (pinned)
        lint_find(l, NT_PIN_BEATS_TUNER, p->at, "%s leaves the tuner plugin one choice for %s at every size.",
                  "Remove the pin, and let the plugin's table decide.", p->a->name, pinned);
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
    lint_find(l, NT_MERGE_DISABLED, p->at, "NCCL_IB_MERGE_NICS=0 refuses every merged NIC, so %s merges nothing.",
              "Remove one of the two.", p->b->name);
}

static void check_cta_policy(struct lint *l, const struct pair *p)
{
    if (!is_number(p->a, 1) && !is_word(p->a, "EFFICIENCY"))
        return;
    if (!strcmp(p->b->name, "NCCL_TUNER_PLUGIN") && (!p->b->value || is_no_plugin(p->b)))
        return;
    lint_find(l, NT_CTA_POLICY_UNUSED, p->at, "NCCL ignores the EFFICIENCY policy while %s is set.",
              "Remove one of the two.", p->b->name);
}

/* NCCL loads one tuner: the table of a profile is not applied under another one, which ours would ask first. */
static void find_displaced(struct lint *l, const struct pair *p)
{
    const struct lint_setting *plugin = p->b, *profile = p->a; /* NULL: it is given beside the document */
    if ((profile && (!profile->value || !*profile->value)) || !plugin->value || !*plugin->value ||
        locate_is_plugin(plugin->value))
        return;
    int none = is_word(plugin, "none");
    lint_find(l, NT_TUNER_DISPLACES_TABLE, p->at,
              none ? "NCCL_TUNER_PLUGIN=none loads no tuner, so the profile's table is not applied."
                   : "NCCL loads one tuner, and this is not nccltune's: the profile's table is not applied.",
              none ? "Remove it."
                   : arena_printf(l->arena,
                                  "Name libnccl-tuner-nccltune.so there, and this one in NCCLTUNE_NEXT_TUNER=%s: it "
                                  "is asked first.",
                                  plugin->value));
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
                  "NCCL_ALGO leaves AllReduce to %s, which %s=0 turns off.", "Remove one of the two.", name,
                  p->a->name);
    else if (is_number(p->a, 0) && (left & switched) && !strchr(p->b->value, '^'))
        lint_find(l, NT_FEATURE_OFF, p->at, "NCCL_ALGO lists %s, which %s=0 turns off.", "Remove one of the two.", name,
                  p->a->name);
    else if (is_number(p->a, 1) && !(left & switched) && !strchr(p->b->value, ':'))
        lint_find(l, NT_FEATURE_OFF, p->at, "NCCL_ALGO leaves out %s, which %s=1 turns on.", "Remove one of the two.",
                  name, p->a->name)
            ->severity = FINDING_NOTE;
}

/* All but Ring and Tree exist with Simple alone. */
static void check_algorithm_and_protocol(struct lint *l, const struct pair *p)
{
    const unsigned any_protocol = 1u << ALGO_RING | 1u << ALGO_TREE;
    struct env_choice algos, protos;
    unsigned without = 0;
    if (l->high < 22403 || !lint_choice(l, p->a, &algos) || !lint_choice(l, p->b, &protos))
        return;
    for (int i = 0; i < COLL_COUNT; i++) {
        unsigned left = algos.allowed[i] & env_algos_of(i, l->high);
        if (algos.touched[i] && protos.touched[i] && left && !(left & any_protocol) && protos.allowed[i] &&
            !(protos.allowed[i] & 1u << PROTO_SIMPLE))
            without |= 1u << i;
    }
    if (without)
        lint_find(l, NT_NOTHING_LEFT, p->at,
                  "NCCL_ALGO leaves %s algorithms that exist only with Simple, which NCCL_PROTO excludes: "
                  "from 2.24.3 on such a call fails with invalid usage.",
                  "Add Simple to NCCL_PROTO, or Ring to NCCL_ALGO.", lint_collectives(l, without));
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
        lint_find(l, NT_DEBUG_FILTER_UNUSED, p->at, "The filter counts for INFO and TRACE lines; at %s there are none.",
                  "Remove NCCL_DEBUG_SUBSYS, or set NCCL_DEBUG=INFO while debugging.", level);
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

static int is_such(const struct lint_setting *s, const char *when)
{
    return !when                       ? 1
           : !strncmp(when, "not ", 4) ? !is_such(s, when + 4)
           : *when == '='              ? is_number(s, when[1] - '0')
           : !strcmp(when, "!0")       ? lint_is_on(s)
                                       : is_word(s, when);
}

static const char alias[] = "%1$s is an alias that counts only while %2$s is unset.";
static const char switched_off[] = "%2$s=0 disables the feature of %1$s.";

/* Each setting of `a` with each of `b`, names with '|' between, is judged by a function, or has one thing to say where
 * both values are such: "=1" is a number, "!0" any but 0, else a word; "not" in front of it turns it round; NULL: any
 * value. In `says` and `advice` %1$s is the name of the first, %2$s that of the second. */
static const struct row {
    const char *a, *b;
    void (*judge)(struct lint *, const struct pair *);
    const char *when_a, *when_b;
    enum lint_rule rule;
    const char *says, *advice;
} rows[] = {
    {"NCCL_IB_HCA|NCCL_IB_GID_INDEX|NCCL_IB_TIMEOUT", "FI_PROVIDER", NULL, NULL, "efa", NT_IB_SETTING_BESIDE_EFA,
     "EFA is reached through the plugin aws-ofi-nccl, which does not read %1$s.", "Remove %1$s."},
    {"NCCL_IB_ADAPTIVE_ROUTING", "NCCL_IB_GID_INDEX", check_routing},
    {"NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", check_family_of_range},
    {"NCCL_IB_ADDR_FAMILY|NCCL_IB_ADDR_RANGE|NCCL_IB_ROCE_VERSION_NUM", "NCCL_IB_GID_INDEX", check_gid_hint},
    {"NCCL_GIN_TYPE|NCCL_GIN_PLUGIN|NCCL_GIN_NCONNECTIONS|NCCL_GIN_NCONTEXTS|NCCL_SYM_GIN_KERNELS_ENABLE",
     "NCCL_GIN_ENABLE", NULL, "not =0", "=0", NT_FEATURE_OFF, switched_off, "Remove one of the two."},
    {"NCCL_SYM_KERNEL|NCCL_SYM_CTAS|NCCL_SYM_CE_THRESHOLD|NCCL_SYM_GIN_KERNELS_ENABLE", "NCCL_WIN_ENABLE", NULL,
     "not =0", "=0", NT_FEATURE_OFF, switched_off, "Remove one of the two."},
    {"NCCL_WIN_ENABLE", "NCCL_CUMEM_ENABLE", NULL, "not =0", "=0", NT_FEATURE_OFF, switched_off,
     "Remove one of the two."},
    {"NCCL_ALGO|NCCL_PROTO", "NCCL_TUNER_PLUGIN", check_tuner},
    {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", NULL, "1", NULL, NT_P2P_LEVEL_UNUSED,
     "NCCL_P2P_DISABLE=1 wins; NCCL_P2P_LEVEL is ignored.", "Remove one of the two."},
    {"NCCL_MIN_CTAS", "NCCL_MAX_CTAS", check_min_max},
    {"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", check_min_max},
    {"NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS", check_min_max},
    {"NCCL_MIN_NRINGS", "NCCL_MIN_NCHANNELS", NULL, NULL, NULL, NT_ALIAS_UNUSED, alias, "Remove %1$s."},
    {"NCCL_MAX_NRINGS", "NCCL_MAX_NCHANNELS", NULL, NULL, NULL, NT_ALIAS_UNUSED, alias, "Remove %1$s."},
    {"NCCL_NET", "NCCL_IB_DISABLE", NULL, "IB", "!0", NT_NETWORK_EXCLUDED,
     "NCCL_NET=IB requires the transport that NCCL_IB_DISABLE removes: communicator creation fails.",
     "Remove one of the two."},
    {"NCCL_NET", "NCCL_IB_HCA", check_socket_hca},
    {"NCCL_NET", "NCCL_NET_PLUGIN", check_no_plugin},
    {"NCCL_MNNVL_ENABLE", "NCCL_CUMEM_ENABLE", NULL, "=1", "=0", NT_MNNVL_WITHOUT_CUMEM,
     "NVLink between nodes needs the cuMem calls that NCCL_CUMEM_ENABLE=0 disables.", "Remove NCCL_CUMEM_ENABLE."},
    {"NCCL_IB_MERGE_NICS", "NCCL_NET_MERGE_LEVEL|NCCL_NET_FORCE_MERGE", check_merge},
    {"NCCL_CTA_POLICY", "NCCL_ALGO|NCCL_PROTO|NCCL_TUNER_PLUGIN", check_cta_policy},
    {"NCCLTUNE_PROFILE", "NCCL_TUNER_PLUGIN", find_displaced},
    {"NCCL_IB_AR_THRESHOLD", "NCCL_IB_OOO_RQ", NULL, NULL, "!0", NT_AR_THRESHOLD_UNUSED,
     "NCCL_IB_OOO_RQ=1 does not use the adaptive routing threshold.", "Remove NCCL_IB_AR_THRESHOLD."},
    {"NCCL_NVLS_ENABLE", "NCCL_CUMEM_ENABLE", NULL, "=1", "=0", NT_NVLS_CONFLICT,
     "NVLS needs the cuMem calls that NCCL_CUMEM_ENABLE=0 disables, and 1 skips the check for them.",
     "Leave NCCL_NVLS_ENABLE at 2, or remove NCCL_CUMEM_ENABLE."},
    {"NCCL_NVLS_ENABLE", "NCCL_MULTI_RANK_GPU_ENABLE", NULL, "=1", "!0", NT_NVLS_CONFLICT,
     "Several ranks on one GPU disable NVLS, and with NCCL_NVLS_ENABLE=1 communicator creation fails.",
     "Leave NCCL_NVLS_ENABLE at 2."},
    {"NCCL_NVLS_ENABLE|NCCL_COLLNET_ENABLE", "NCCL_ALGO", check_switched_algorithms},
    {"NCCL_ALGO", "NCCL_PROTO", check_algorithm_and_protocol},
    {"NCCL_NET_GDR_C2C", "NCCL_NET_GDR_LEVEL", check_level_c2c},
    {"NCCL_DEBUG_SUBSYS", "NCCL_DEBUG", check_filter},
};

/* Judges a setting by a row with each of `others` that is in force; is_left: they are the row's first. */
static void judge_with(struct lint *l, const struct row *row, const struct lint_setting *s, const char *others,
                       int is_left)
{
    for (size_t n; *others; others += n + (others[n] == '|')) {
        n = strcspn(others, "|");
        const struct lint_setting *o = lint_before(l, s, arena_strndup(l->arena, others, n));
        struct pair p = is_left ? (struct pair){o, s, s} : (struct pair){s, o, s};
        if (o && row->judge)
            row->judge(l, &p);
        else if (o && is_such(p.a, row->when_a) && is_such(p.b, row->when_b))
            lint_find(l, row->rule, s, "%s", arena_printf(l->arena, row->advice, p.a->name, p.b->name),
                      arena_printf(l->arena, row->says, p.a->name, p.b->name));
    }
}

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
        lint_find(l, NT_IB_SETTING_UNUSED, s, "%s", "Remove one of the two, unless a network plugin reads it.",
                  is_switch ? "It disables NCCL's own RDMA transport, which would use NCCL_IB_HCA above."
                            : arena_printf(l->arena, "%s disables NCCL's own RDMA transport, which would use this.",
                                           socket ? "NCCL_NET=Socket" : "NCCL_IB_DISABLE"));
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

/* The plugin is not in the document: the profile's hooks set it for the job. */
static void check_table(struct lint *l, const struct lint_setting *s)
{
    int protocol = !strcmp(s->name, "NCCL_PROTO");
    struct env_choice pin = {0};
    unsigned both = 0; /* collectives for which both the table and the pin choose */
    if (!lint_is(s, "NCCL_ALGO|NCCL_PROTO") || !table_applies(l) || !lint_choice(l, s, &pin) ||
        lint_anywhere(l, s, "NCCL_TUNER_PLUGIN"))
        return;
    for (size_t i = 0; i < l->options.table->count; i++) {
        const struct tuner_rule *r = &l->options.table->rules[i];
        const int chooses = (protocol ? r->proto : r->algo) != TUNER_ANY; /* else it works under the pin */
        both |= chooses && r->coll < COLL_COUNT && pin.touched[r->coll] ? 1u << r->coll : 0;
    }
    if (both)
        lint_find(l, NT_PIN_BEATS_TABLE, s,
                  "The profile's table chooses by size for %s, and cannot choose what this excludes.",
                  "Remove the pin: jobs with this profile get the table's choice.", lint_collectives(l, both));
}

/* A profile was given beside the document, or is the job's. */
static void check_tuner_beside_table(struct lint *l, const struct lint_setting *s)
{
    if (!strcmp(s->name, "NCCL_TUNER_PLUGIN") && !is_word(s, "none") && table_applies(l) && l->options.table->count &&
        !lint_anywhere(l, s, "NCCLTUNE_PROFILE"))
        find_displaced(l, &(struct pair){NULL, s, s});
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
            lint_find(l, NT_FEATURE_OFF, s, "It counts only with %s=1, which is not set here and off by default.",
                      arena_printf(l->arena, "Set %s=1 too, or remove it.", needs[i].needs), needs[i].needs)
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
        lint_find(l, NT_CONF_REPEATED, s, "Line %ld sets it first and counts: this one is ignored.",
                  "Remove one of the two.", line);
    }
}

void lint_check_conflicts(struct lint *l, const struct lint_setting *s)
{
    for (const struct row *r = rows; r < rows + sizeof rows / sizeof *rows; r++)
        if (lint_is(s, r->a))
            judge_with(l, r, s, r->b, 0);
        else if (lint_is(s, r->b))
            judge_with(l, r, s, r->a, 1);
    check_needed(l, s);
    check_ib_off(l, s);
    check_table(l, s);
    check_tuner_beside_table(l, s);
    check_repeated(l, s);
}
