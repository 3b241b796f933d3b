/* Values: what NCCL makes of numbers, words and lists, rule by rule of core/vars/parse.h. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/vars/parse.h"
#include "lint/lint_internal.h"

static struct lint_finding *fix_value(struct lint_finding *f, const char *replacement)
{
    if (replacement)
        lint_correct(f, LINT_FIX_VALUE, replacement);
    return f;
}

/* The correction says what NCCL reads already. */
static void keep_effect(struct lint_finding *f)
{
    f->severity = FINDING_NOTE;
    f->changes = 0;
}

static const char *upper_case(struct lint *l, const char *s)
{
    char *out = arena_strdup(l->arena, s);
    for (char *c = out; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return out;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static int is_one_of(const char *s, const char *words)
{
    return word_in(words, WORD_IS_ANY_CASE, s, strlen(s));
}

static void find_word_as_number(struct lint *l, const struct lint_setting *s)
{
    const int no = is_one_of(s->value, "false|no|off|disable|disabled|f|n|none"),
              yes = is_one_of(s->value, "true|yes|on|enable|enabled|t|y"),
              disables = strstr(s->name, "_DISABLE") != NULL;
    char usual[ENV_VALUE];
    const char *advice =
        no ? "Write 0, which has the same effect."
        : yes && disables
            ? "What it would switch off is on today, and stays on without the line. Write 1 to switch it off."
        : yes ? "Write 1."
        : env_default_at(s->var, l->high, usual) && strcmp(usual, "unset") != 0
            ? arena_printf(l->arena, "Write a number, or leave it unset for NCCL's default (%s).", usual)
            : "Write a number, or leave it unset for NCCL's default.";
    struct lint_finding *f = lint_find(
        l, NT_WORD_AS_NUMBER, s, "NCCL reads a number here, finds none in \"%.40s\" and uses 0.", advice, s->value);
    if (no)
        keep_effect(fix_value(f, "0"));
    else if (yes && !disables) /* else: which of both can jobs do without? */
        fix_value(f, "1");
}

static void find_trailing_text(struct lint *l, const struct lint_setting *s, int64_t value)
{
    static const char units[] = "KMG";
    const char *rest = s->value + strspn(s->value, " \t+-0123456789xX");
    const char *unit = *rest ? strchr(units, toupper((unsigned char)*rest)) : NULL;
    const char *right = NULL;
    if (unit && value > 0 && value < (1 << 20) &&
        (!rest[1] || !strcasecmp(rest + 1, "b") || !strcasecmp(rest + 1, "i") || !strcasecmp(rest + 1, "ib")))
        right = arena_printf(l->arena, "%lld", (long long)value << 10 * (unit - units + 1));
    struct lint_finding *f =
        lint_find(l, NT_TRAILING_TEXT, s, "NCCL stops reading at \"%.20s\": the value is %lld.",
                  right ? arena_printf(l->arena, "Write %s.", right) : "Write a plain number.", rest, (long long)value);
    fix_value(f, right);
}

static void check_number(struct lint *l, const struct lint_setting *s)
{
    int64_t value = 0;
    const char *digits;
    switch (env_parse_number(s->value, &value)) {
    case ENV_NUMBER_WORD:
        find_word_as_number(l, s);
        break;
    case ENV_NUMBER_TRAILING:
        find_trailing_text(l, s, value);
        break;
    case ENV_NUMBER_OCTAL:
        digits = s->value + strspn(s->value, " \t0");
        fix_value(lint_find(l, NT_LEADING_ZERO, s, "A number that begins with 0 is octal to NCCL: \"%.40s\" is %lld.",
                            "Write it without the leading 0.", s->value, (long long)value),
                  strspn(digits, "0123456789") == strlen(digits) ? digits : NULL);
        break;
    case ENV_NUMBER_RANGE:
        lint_find(l, NT_OVERFLOW, s, "The number does not fit 64 bits; NCCL warns and keeps its default.",
                  "Write a smaller number.");
        break;
    case ENV_NUMBER:
    case ENV_NUMBER_EMPTY:
        break;
    }
}

/* ---- NCCL_ALGO and NCCL_PROTO ------------------------------------------------------------------------------------ */

enum { BY_COLLECTIVE = 22403 };

/* A list without the words that NCCL does not know; NULL: none would be left, or it is a choice by collective. */
static const char *known_words(struct lint *l, const struct lint_setting *s)
{
    const char *kept = "", *p = s->value + (s->value[0] == '^');
    for (size_t n; !strpbrk(s->value, ":;") && *p; p += n + (p[n] == ',')) {
        n = strcspn(p, ",");
        const size_t blanks = strspn(p, " \t");
        size_t end = n;
        while (end > blanks && isspace((unsigned char)p[end - 1]))
            end--;
        struct env_choice c;
        struct lint_setting one = *s;
        one.value = end > blanks ? arena_strndup(l->arena, p + blanks, end - blanks) : "";
        if (*one.value && *one.value != '^' && lint_choice(l, &one, &c))
            kept = arena_printf(l->arena, "%s%s%s", kept, *kept ? "," : "", one.value);
    }
    return *kept ? arena_printf(l->arena, "%s%s", s->value[0] == '^' ? "^" : "", kept) : NULL;
}

static void find_unknown_choice(struct lint *l, const struct lint_setting *s, const struct env_choice *c)
{
    const char *is = c->unknown_is_function ? "no collective" : "unknown";
    struct lint_finding *f =
        lint_find(l, NT_UNKNOWN_ALGORITHM, s,
                  "\"%.*s\" is %s to NCCL: from 2.24.3 on communicator creation fails with invalid usage, "
                  "earlier releases skip the word.",
                  s->var->grammar == ENV_G_ALGO
                      ? "Choose from Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree and PAT, without blanks."
                      : "Choose from LL, LL128 and Simple, without blanks.",
                  (int)(c->unknown_length < 40 ? c->unknown_length : 40), c->unknown, is);
    fix_value(f, known_words(l, s));
    if (l->high < BY_COLLECTIVE) {
        f->severity = FINDING_WARNING;
        f->changes = 0;
    }
}

static void find_nothing_left(struct lint *l, const struct lint_setting *s, unsigned colls)
{
    int algo = s->var->grammar == ENV_G_ALGO;
    int only_allreduce = !(colls & 1u << COLL_ALLREDUCE) && s->value[0] != '^' && !strchr(s->value, ':');
    const char *before = !algo ? "" : lint_holds(l, 0, BY_COLLECTIVE - 1) == LINT_NONE ? "" : "; before, Ring stood in";
    struct lint_finding *f = lint_find(
        l, NT_NOTHING_LEFT, s, "From 2.24.3 on this leaves nothing for %s: such a call fails with invalid usage%s.",
        !algo ? "Leave a protocol for every collective."
        : only_allreduce
            ? arena_printf(l->arena, "Name the collective (NCCL_ALGO=allreduce:%s), or add Ring.", s->value)
            : "Leave Ring in, or name the collectives that are meant.",
        lint_collectives(l, colls), before);
    if (l->low < BY_COLLECTIVE)
        f->severity = only_allreduce && lint_is_experiment(s) ? FINDING_NOTE : FINDING_WARNING;
    if (only_allreduce && l->low >= BY_COLLECTIVE)
        fix_value(f, arena_printf(l->arena, "allreduce:%s", s->value));
}

static void check_choice(struct lint *l, const struct lint_setting *s)
{
    int algo = s->var->grammar == ENV_G_ALGO;
    struct env_choice c;
    if (!*s->value)
        return;
    if (strpbrk(s->value, ":;") && l->low < BY_COLLECTIVE) {
        struct lint_finding *f = lint_find(
            l, NT_PER_COLLECTIVE_TOO_EARLY, s,
            algo ? "Before 2.24.3 a choice by collective is one unknown word: NCCL silently falls back to Ring."
                 : "Before 2.24.3 a choice by collective is one unknown word: no protocol is left, and the first "
                   "collective fails.",
            "Use the form only with NCCL 2.24.3 and later.");
        if (l->high >= BY_COLLECTIVE)
            f->severity = l->options.nccl_low ? FINDING_WARNING : FINDING_NOTE;
        if (l->high < BY_COLLECTIVE)
            return;
    }
    if (!lint_choice(l, s, &c)) {
        find_unknown_choice(l, s, &c);
        return;
    }
    unsigned empty = 0, forced = 0;
    for (int f = 0; f < COLL_COUNT; f++) {
        unsigned left = algo ? c.allowed[f] & env_algos_of(f, l->high) : c.allowed[f];
        empty |= c.touched[f] && !left ? 1u << f : 0;
        forced |= !algo && c.touched[f] && (left & 1u << PROTO_LL128) ? 1u << f : 0;
    }
    if (empty && l->high >= BY_COLLECTIVE)
        find_nothing_left(l, s, empty);
    if (forced && !l->rccl)
        lint_find(
            l, NT_FORCED_LL128, s,
            "The list turns LL128 from \"where it is safe\" into \"always\": NCCL no longer checks that GPUs and paths "
            "keep its 128-byte writes whole.",
            "Exclude with ^LL128, or list protocols without LL128.");
}

/* ---- device lists ------------------------------------------------------------------------------------------------ */

/* A name that stands twice in a list is most likely a mistyped other one. */
static void check_repeated(struct lint *l, const struct lint_setting *s, const struct env_devices *d)
{
    for (int i = 1; i < d->count; i++)
        for (int k = 0; k < i; k++)
            if (d->list[i].length && d->list[i].length == d->list[k].length && d->list[i].port == d->list[k].port &&
                !memcmp(d->list[i].name, d->list[k].name, d->list[i].length)) {
                lint_find(l, NT_DEVICE_LIST, s, "\"%.*s\" is twice in the list; NCCL uses the device once.",
                          "Name the intended device, or remove the second one.", (int)d->list[i].length,
                          d->list[i].name)
                    ->severity = FINDING_WARNING;
                return;
            }
}

/* Names that only one of the two kinds has; kernel names like ibp12s0 are used for both. */
static void check_device_kind(struct lint *l, const struct lint_setting *s, const struct env_devices *d)
{
    static const char interfaces[] = "eth|bond|ib0|ib1|ib2|ib3|eno|ens|enp|enx|hsn|ipogif|lo|em1|docker|virbr";
    static const char verbs[] = "mlx5_|mlx4_|bnxt_re|hfi1_|rocep|roceo|rdmap|efa_";
    int hca = s->var->grammar == ENV_G_HCA;
    if (is_one_of(s->value, "all|any|auto|default|none|true|false")) {
        lint_find(l, NT_DEVICE_LIST, s, "NCCL looks for devices of this name: the word has no special meaning here.",
                  "Remove it to let NCCL use every device, or name devices.");
        return;
    }
    if (!strcmp(s->name, "NCCL_OOB_NET_IFNAME"))
        return;
    for (int i = 0; i < d->count; i++) {
        size_t n = d->list[i].length;
        if (n >= 7 && strspn(d->list[i].name, "0123456789.") >= n) {
            lint_find(l, NT_DEVICE_KIND, s, "NCCL expects the name of a device here, not an address.",
                      "Write the device's name, or for RoCE addresses NCCL_IB_ADDR_RANGE.");
            return;
        }
        if (!word_in(hca ? interfaces : verbs, WORD_BEGINS, d->list[i].name, n))
            continue;
        lint_find(l, NT_DEVICE_KIND, s,
                  hca ? "\"%.*s\" is a network interface's name; this list takes verbs devices, as printed by "
                        "ibv_devices."
                      : "\"%.*s\" is a verbs device's name; this list takes network interfaces, as printed by ip link.",
                  hca && !memcmp(d->list[i].name, "hsn", 3)
                      ? "Remove it: Slingshot has no verbs devices, a plugin such as aws-ofi-nccl serves it."
                  : hca ? "Write the verbs name, such as mlx5_0."
                        : "Write the interface's name, such as eth0.",
                  (int)d->list[i].length, d->list[i].name);
        return;
    }
}

/* mlx5_0-7, mlx5_0-mlx5_7 */
static int is_range(const struct env_device *d)
{
    const char *dash = memchr(d->name, '-', d->length);
    size_t left = dash ? d->length - (size_t)(dash - d->name) : 0;
    return left > 1 && dash > d->name && isdigit((unsigned char)dash[-1]) &&
           (isdigit((unsigned char)dash[1]) || (left > 3 && !memcmp(d->name, dash + 1, 3)));
}

/* The list with single commas for blanks and semicolons, if what is between them are names with a number, such as
 * mlx5_0:1; else NULL. */
static const char *join_names(struct lint *l, const char *value)
{
    static const char between[] = " \t\n;,";
    char *joined = arena_alloc(l->arena, strlen(value) + 1), *o = joined;
    const char *p = value + strspn(value, "^="), *first = o = mempcpy(o, value, (size_t)(p - value));
    for (p += strspn(p, between); *p; p += strspn(p, between)) {
        size_t n = strcspn(p, between);
        if (!isalpha((unsigned char)*p) || !isdigit((unsigned char)p[n - 1]))
            return NULL;
        for (size_t i = 0; i < n; i++)
            if (!isalnum((unsigned char)p[i]) && !strchr("_.:", p[i]))
                return NULL;
        if (o > first)
            *o++ = ',';
        o = mempcpy(o, p, n);
        p += n;
    }
    *o = '\0';
    return o > first ? joined : NULL;
}

static void check_devices(struct lint *l, const struct lint_setting *s)
{
    struct env_devices d;
    const char *says = NULL, *right = NULL;
    env_parse_devices(s->value, &d);
    if (s->var->grammar == ENV_G_IFNAME && strlen(s->value) == 1)
        says = "NCCL treats a value of one letter as unset.";
    else if (!strncmp(s->value, "=^", 2)) {
        says = arena_printf(l->arena, "'^' counts only before '=': this looks for a device called \"%.40s\".",
                            s->value + 1);
        right = arena_printf(l->arena, "^=%s", s->value + 2);
    } else if (strpbrk(s->value, " \t;\n")) {
        says = "The list is split only at commas: a blank or ';' becomes part of a name, which then matches nothing.";
        right = join_names(l, s->value);
    } else if (strpbrk(s->value, "*?![]()|/"))
        says =
            "NCCL knows no patterns, ranges or paths: such a character is part of a name, which then matches nothing.";
    else if (d.dropped)
        says = arena_printf(l->arena, "NCCL reads %d entries; %d more are dropped.", ENV_NAMES_MAX, d.dropped);
    for (int i = 0; i < d.count && !says; i++) {
        if (d.list[i].length && strchr("^=", d.list[i].name[0]))
            says = "'^' and '=' count only before the whole list; inside it they are part of a name.";
        else if (s->var->grammar == ENV_G_HCA && is_range(&d.list[i]))
            says = "NCCL knows no ranges: this is part of a name, which then matches nothing.";
        else if (!d.list[i].port_ok && s->var->grammar == ENV_G_IFNAME)
            says = "NCCL splits the list at commas, and ignores text after ':'.";
        else if (!d.list[i].port_ok && s->var->grammar == ENV_G_HCA)
            says = arena_printf(l->arena,
                                "The port of \"%.*s\" is not a number: it counts as port 0, which no device has.",
                                (int)d.list[i].length, d.list[i].name);
        else if (!d.list[i].rail_ok && s->var->grammar == ENV_G_HCA)
            says = arena_printf(l->arena, "Up to the next comma, text after the port of \"%.*s\" is not a device.",
                                (int)d.list[i].length, d.list[i].name);
    }
    if (says)
        fix_value(lint_find(l, NT_DEVICE_LIST, s, "%s",
                            right ? arena_printf(l->arena, "Write %s.", right)
                                  : "Write [^][=]name,name without blanks; the prefix applies to the whole list.",
                            says),
                  right);
    else {
        check_repeated(l, s, &d);
        check_device_kind(l, s, &d);
    }
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static void check_level(struct lint *l, const struct lint_setting *s)
{
    const char *level = env_parse_level(s->value, l->high);
    if (l->rccl && !strcmp(s->value, "XGMI")) /* as RCCL calls NVL: topoPathTypeStr of graph/topo.cc */
        return;
    if (level) {
        if (isdigit((unsigned char)s->value[0]))
            keep_effect(fix_value(lint_find(l, NT_UNKNOWN_LEVEL, s, "The digit is an old form: %.10s means %s.",
                                            arena_printf(l->arena, "Write %s.", level), s->value, level),
                                  level));
        else if (!env_parse_level(s->value, l->low) && l->options.nccl_low)
            lint_find(l, NT_UNKNOWN_LEVEL, s, "Some of the judged releases do not know this distance and ignore it.",
                      "Choose an older name: LOC, NVL, PIX, PXB, PHB, SYS.")
                ->severity = FINDING_WARNING;
        return;
    }
    const char *upper = upper_case(l, s->value);
    const int nvlink = !strcmp(upper, "NVLINK") && !strcmp(s->var->name, "NCCL_P2P_LEVEL");
    const char *right = nvlink ? "NVL" : env_parse_level(upper, l->high);
    fix_value(lint_find(l, NT_UNKNOWN_LEVEL, s, "NCCL knows no distance \"%.40s\" (case counts) and ignores the line.",
                        right ? arena_printf(l->arena, "Write %s.", right)
                              : "Write one of LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB, SYS.",
                        s->value),
              right);
}

static void check_merge_level(struct lint *l, const struct lint_setting *s)
{
    if (env_parse_merge_level(s->value))
        return;
    const char *right = env_parse_merge_level(upper_case(l, s->value));
    fix_value(lint_find(l, NT_UNKNOWN_MERGE_LEVEL, s,
                        "NCCL knows no level \"%.40s\" (case counts) and uses LOC: nothing is merged.",
                        right ? arena_printf(l->arena, "Write %s.", right)
                              : "Write one of LOC, PORT, PIX, PXB, P2C, PXN, PHB, SYS.",
                        s->value),
              right);
}

static void check_family(struct lint *l, const struct lint_setting *s)
{
    const char *right = upper_case(l, s->value);
    int ib = !strcmp(s->name, "NCCL_IB_ADDR_FAMILY");
    if (!strcmp(s->value, "AF_INET") || !strcmp(s->value, "AF_INET6"))
        return;
    const char *digits = strrchr(right, 'V') ? strrchr(right, 'V') + 1 : right; /* IPv4, 6, AF_INETv6 */
    right = !strcmp(digits, "6") || !strcmp(right, "AF_INET6") || !strcmp(right, "INET6") ? "AF_INET6"
            : !strcmp(digits, "4") || !strcmp(right, "AF_INET") || !strcmp(right, "INET") ? "AF_INET"
                                                                                          : NULL;
    fix_value(lint_find(l, NT_UNKNOWN_FAMILY, s,
                        ib ? "NCCL compares exactly, and anything but AF_INET6 counts as AF_INET."
                           : "NCCL compares exactly, and ignores anything but AF_INET and AF_INET6.",
                        "Write AF_INET or AF_INET6."),
              right);
}

static void check_range(struct lint *l, const struct lint_setting *s)
{
    if (!strchr(s->value, '/'))
        lint_find(l, NT_RANGE_WITHOUT_PREFIX, s, "NCCL needs a prefix length and ignores a range without '/'.",
                  "Write the subnet as address/bits.");
}

static void check_debug(struct lint *l, const struct lint_setting *s)
{
    if (!env_parse_debug(s->value))
        fix_value(lint_find(l, NT_UNKNOWN_DEBUG_LEVEL, s,
                            "NCCL has no log level \"%.40s\" and logs nothing at all, warnings included.",
                            "Write WARN, or VERSION, INFO or TRACE while debugging.", s->value),
                  strncasecmp(s->value, "warn", 4) ? NULL : "WARN");
}

static void check_subsys(struct lint *l, const struct lint_setting *s)
{
    size_t length;
    const char *word = env_parse_subsys(s->value, &length);
    if (word)
        lint_find(
            l, NT_UNKNOWN_SUBSYSTEM, s,
            "\"%.*s\" is not a subsystem: from 2.30.7 on the whole list is dropped, earlier the word.",
            "Choose from INIT, COLL, P2P, SHM, NET, GRAPH, TUNING, ENV, ALLOC, CALL, PROXY, NVLS, BOOTSTRAP, REG, "
            "PROFILE, RAS, ALL.",
            (int)(length < 40 ? length : 40), word);
}

static void check_groups(struct lint *l, const struct lint_setting *s)
{
    if (env_parse_groups(s->value))
        lint_find(l, NT_ENDLESS_MERGE_GROUP, s, "A group of only commas keeps NCCL in an endless loop.",
                  "Write dev,dev;dev,dev with at least one name in each group.");
}

static void check_cta_policy(struct lint *l, const struct lint_setting *s)
{
    if (!env_parse_cta_policy(s->value, l->high))
        lint_find(l, NT_UNKNOWN_POLICY, s, "This release does not know the policy.",
                  "Write 0, 1 or 2; from 2.29.2 on also DEFAULT, EFFICIENCY or ZERO, joined by '|'.");
    else if (!env_parse_cta_policy(s->value, l->low) && isalpha((unsigned char)s->value[0]))
        lint_find(l, NT_UNKNOWN_POLICY, s, "Names are read from 2.29.2 on; before, the word counts as 0.",
                  "Write 0, 1 or 2 for older releases.")
            ->severity = FINDING_WARNING;
}

static void check_netdevs(struct lint *l, const struct lint_setting *s)
{
    if (!env_parse_netdevs(s->value))
        lint_find(l, NT_UNKNOWN_POLICY, s, "NCCL knows no such policy and uses AUTO.", "Write AUTO, ALL or MAX:n.");
}

/* Of settings that take one of these words; the first row that a value is none of counts. */
static const struct {
    enum env_grammar grammar;
    const char *words, *says, *advice;
} policies[] = {
    {ENV_G_MERGE_POLICY, "ALL|RAIL", "NCCL knows no such policy and uses ALL.", "Write ALL or RAIL."},
    {ENV_G_LAUNCH, "PARALLEL|GROUP", "Anything but GROUP means PARALLEL, the default.", "Remove the line."},
    {ENV_G_LAUNCH, "PARALLEL", "GROUP is deprecated since 2.9.", "Remove the line; PARALLEL is the default."},
    {ENV_G_CHECK_MODE, "DEFAULT|DEBUG_LOCAL|DEBUG_GLOBAL", "NCCL knows no such mode and keeps its default.",
     "Write DEFAULT, DEBUG_LOCAL or DEBUG_GLOBAL."},
};

static void check_policy(struct lint *l, const struct lint_setting *s)
{
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (policies[i].grammar == s->var->grammar && !is_one_of(s->value, policies[i].words)) {
            struct lint_finding *f = lint_find(l, NT_UNKNOWN_POLICY, s, "%s", policies[i].advice, policies[i].says);
            f->severity = s->var->grammar == ENV_G_LAUNCH ? FINDING_WARNING : FINDING_ERROR;
            return;
        }
}

static void check_tilde(struct lint *l, const struct lint_setting *s)
{
    if (s->value[0] == '~')
        lint_find(l, NT_TILDE, s, "NCCL does not expand '~' here.",
                  "Write the whole path, or $HOME if a shell reads the line.");
}

void lint_check_values(struct lint *l, const struct lint_setting *s)
{
    static lint_check_fn *const checks[] = {
        [ENV_G_INT] = check_number,      [ENV_G_FLAG] = check_number,
        [ENV_G_HCA] = check_devices,     [ENV_G_IFNAME] = check_devices,
        [ENV_G_ALGO] = check_choice,     [ENV_G_PROTO] = check_choice,
        [ENV_G_LEVEL] = check_level,     [ENV_G_MERGE_LEVEL] = check_merge_level,
        [ENV_G_GROUPS] = check_groups,   [ENV_G_FAMILY] = check_family,
        [ENV_G_CIDR] = check_range,      [ENV_G_DEBUG] = check_debug,
        [ENV_G_SUBSYS] = check_subsys,   [ENV_G_CTA_POLICY] = check_cta_policy,
        [ENV_G_NETDEVS] = check_netdevs, [ENV_G_MERGE_POLICY] = check_policy,
        [ENV_G_LAUNCH] = check_policy,   [ENV_G_CHECK_MODE] = check_policy,
        [ENV_G_WORD_BOOL] = NULL,
    };
    if (!s->value || !s->value[0] || !s->var || s->var->last || s->not_exported)
        return;
    size_t n = strlen(s->value);
    if (n >= 2 && (s->value[0] == '"' || s->value[0] == '\'') && s->value[n - 1] == s->value[0]) {
        fix_value(lint_find(l, NT_QUOTED_VALUE, s, "The quotes are part of the value, and NCCL takes none away.",
                            "Write the value without them."),
                  arena_strndup(l->arena, s->value + 1, n - 2));
        return;
    }
    if (checks[s->var->grammar])
        checks[s->var->grammar](l, s);
    check_tilde(l, s);
}
