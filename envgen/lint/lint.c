/* lint's spine: settings come in, every rule looks at every setting, findings go out in the order of the documents. */
#include "envgen/lint/lint.h"

#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "core/vars/parse.h"
#include "envgen/lint/lint_internal.h"
#include "probe/topology/topology.h"

struct lint *lint_new(const struct lint_options *o)
{
    struct arena *a = arena_new();
    struct lint *l = ARENA_NEW(a, struct lint);
    l->arena = a;
    l->options = *o;
    l->low = o->nccl_low ? o->nccl_low : ENV_OLDEST_IN_USE;
    l->high = o->nccl_high ? o->nccl_high : ENV_NEWEST;
    return l;
}

void lint_free(struct lint *l)
{
    if (l)
        arena_free(l->arena);
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

void lint_name(struct lint_setting *s, const char *name)
{
    s->name = name;
    s->hash = hash_text(name);
    s->var = env_var_find(name);
}

static struct lint_setting *append(struct lint *l)
{
    struct lint_setting *s = ARENA_NEW(l->arena, struct lint_setting);
    l->settings = arena_grow(l->arena, l->settings, l->nsettings, sizeof(void *));
    l->settings[l->nsettings++] = s;
    return s;
}

struct lint_setting *lint_setting_new(struct lint *l, const struct lint_text *t, size_t name_at, size_t name_bytes,
                                      enum lint_how how)
{
    struct lint_setting *s = append(l);
    s->text = t;
    lint_name(s, arena_strndup(l->arena, t->data + name_at, name_bytes));
    s->name_at = name_at;
    s->name_bytes = name_bytes;
    s->how = how;
    return s;
}

void lint_add(struct lint *l, const char *name, const char *value)
{
    struct lint_setting *s = append(l);
    lint_name(s, arena_strdup(l->arena, name));
    s->value = value && !strpbrk(value, "$`") && !lint_is_placeholder(value, strlen(value))
                   ? arena_strdup(l->arena, value)
                   : NULL;
    s->how = LINT_EXPORTED;
}

int lint_is_placeholder(const char *s, size_t length)
{
    static const char *const marks[] = {"{{", "${", "$(", "...", "%("};
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (memmem(s, length, marks[i], strlen(marks[i])))
            return 1;
    const char *open = memchr(s, '<', length);
    if (open && memchr(open, '>', length - (size_t)(open - s)))
        return 1;
    return length > 1 && s[0] == '{' && s[length - 1] == '}';
}

size_t lint_name_length(const char *s, size_t most)
{
    size_t n = 0;
    while (n < most && (s[n] == '_' || (s[n] >= 'A' && s[n] <= 'Z') || (s[n] >= 'a' && s[n] <= 'z') ||
                        (n > 0 && s[n] >= '0' && s[n] <= '9')))
        n++;
    return n;
}

void lint_place(const struct lint_text *t, size_t at, long *line, long *column)
{
    *line = *column = 0;
    if (!t->lines)
        return;
    size_t low = 0, high = t->nlines;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (t->lines[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    *line = (long)low + 1;
    *column = 1;
    for (size_t i = t->lines[low]; i < at; i++)
        *column += ((unsigned char)t->data[i] & 0xC0) != 0x80;
}

/* ---- what the rules ask ------------------------------------------------------------------------------------------ */

enum lint_part lint_holds(const struct lint *l, int since, int until)
{
    if (l->high < since || (until && l->low > until))
        return LINT_NONE;
    return l->low >= since && (!until || l->high <= until) ? LINT_ALL : LINT_SOME;
}

static int can_meet(const struct lint_branch *a, const struct lint_branch *b)
{
    for (; a; a = a->outer)
        for (const struct lint_branch *x = b; x; x = x->outer)
            if (a->block == x->block && a->arm != x->arm)
                return 0;
    return 1;
}

const struct lint_setting *lint_before(const struct lint *l, const struct lint_setting *s, const char *name)
{
    const struct lint_setting *found = NULL;
    if (!s->text)
        return NULL;
    uint64_t hash = hash_text(name);
    for (size_t i = s->text->first; i < s->text->first + s->text->count && l->settings[i] != s; i++) {
        const struct lint_setting *o = l->settings[i];
        if (o->hash == hash && (o->group == 0 || o->group == s->group) && !strcmp(o->name, name) &&
            can_meet(o->branch, s->branch))
            found = o;
    }
    return found && found->how != LINT_UNSET ? found : NULL;
}

const struct lint_setting *lint_anywhere(const struct lint *l, const struct lint_setting *s, const char *name)
{
    uint64_t hash = hash_text(name);
    for (size_t i = 0; s->text && i < s->text->count; i++)
        if (l->settings[s->text->first + i]->hash == hash && !strcmp(l->settings[s->text->first + i]->name, name))
            return l->settings[s->text->first + i];
    return NULL;
}

int lint_number(const struct lint_setting *s, int64_t *value)
{
    if (!s || !s->value)
        return 0;
    enum env_number how = env_parse_number(s->value, value);
    return how != ENV_NUMBER_EMPTY && how != ENV_NUMBER_RANGE;
}

struct lint_finding *lint_find(struct lint *l, enum lint_code code, const struct lint_setting *at, const char *says,
                               const char *advice)
{
    struct lint_finding *f = ARENA_NEW(l->arena, struct lint_finding);
    l->findings = arena_grow(l->arena, l->findings, l->nfindings, sizeof(void *));
    l->findings[l->nfindings++] = f;
    f->code = code;
    f->severity = lint_rules[code].severity;
    f->at = at;
    f->says = says;
    f->advice = advice;
    return f;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static int topology_is_amd(const struct topology *t)
{
    for (int c = 0; c < t->nclasses; c++)
        for (int g = 0; g < t->classes[c].ngpus; g++)
            if (t->classes[c].gpus[g].arch)
                return 1;
    return 0;
}

static int topology_has_gpus(const struct topology *t)
{
    for (int c = 0; c < t->nclasses; c++)
        if (t->classes[c].ngpus > 0)
            return 1;
    return 0;
}

static int names_rccl(const struct lint_setting *s)
{
    return !strncmp(s->name, "RCCL_", 5) || !strncmp(s->name, "HSA_", 4) || (s->value && strstr(s->value, "librccl"));
}

/* Which library all settings are for, as told or by the GPUs; otherwise each document is looked at for names that only
 * RCCL has. */
static void choose_library(struct lint *l)
{
    const struct topology *t = l->options.topology;
    l->rccl_sure = l->options.rccl >= 0 || (t && topology_has_gpus(t));
    if (l->rccl_sure)
        l->rccl = l->options.rccl >= 0 ? l->options.rccl : topology_is_amd(t);
    for (size_t n = 0; n < l->ntexts && !l->rccl_sure; n++)
        for (size_t i = 0; i < l->texts[n]->count; i++)
            l->texts[n]->rccl |= names_rccl(l->settings[l->texts[n]->first + i]);
}

static int library_of(const struct lint *l, const struct lint_setting *s)
{
    if (l->rccl_sure)
        return l->rccl;
    return s->text ? s->text->rccl : names_rccl(s);
}

static int by_place(const void *x, const void *y)
{
    const struct lint_finding *a = *(struct lint_finding *const *)x, *b = *(struct lint_finding *const *)y;
    const struct lint_text *ta = a->at->text, *tb = b->at->text;
    if (ta != tb)
        return !ta ? -1 : !tb ? 1 : ta->first < tb->first ? -1 : ta->first > tb->first ? 1 : strcmp(ta->name, tb->name);
    if (a->at->name_at != b->at->name_at)
        return a->at->name_at < b->at->name_at ? -1 : 1;
    return (int)a->code - (int)b->code;
}

void lint_check(struct lint *l)
{
    static void (*const rules[])(struct lint *, const struct lint_setting *) = {
        lint_rules_names,  lint_rules_values,    lint_rules_ranges,
        lint_rules_effect, lint_rules_conflicts, lint_rules_devices,
    };
    choose_library(l);
    for (size_t i = 0; i < l->nsettings; i++) {
        const struct lint_setting *s = l->settings[i];
        l->rccl = library_of(l, s);
        for (size_t r = 0; r < sizeof(rules) / sizeof(rules[0]) && s->how != LINT_UNSET; r++)
            rules[r](l, s);
    }
    if (l->nfindings > 0)
        qsort(l->findings, l->nfindings, sizeof(void *), by_place);
}

/* ---- the outside view -------------------------------------------------------------------------------------------- */

size_t lint_settings(const struct lint *l)
{
    return l->nsettings;
}

size_t lint_count(const struct lint *l, enum lint_severity severity)
{
    size_t n = 0;
    for (size_t i = 0; i < l->nfindings; i++)
        n += l->findings[i]->severity == severity;
    return n;
}

int lint_finding(const struct lint *l, size_t n, struct lint_finding_view *view)
{
    if (n >= l->nfindings)
        return 0;
    const struct lint_finding *f = l->findings[n];
    *view = (struct lint_finding_view){
        .code = lint_rules[f->code].code,
        .severity = f->severity,
        .file = f->at->text ? f->at->text->name : NULL,
        .variable = f->at->name,
        .value = f->at->value,
        .says = f->says,
        .advice = f->advice,
        .fixable = f->fix != LINT_FIX_NONE,
    };
    if (f->at->text)
        lint_place(f->at->text, f->at->name_at, &view->line, &view->column);
    return 1;
}

int lint_rule(size_t n, struct lint_rule_view *view)
{
    if (n >= LINT_CODES)
        return 0;
    *view =
        (struct lint_rule_view){lint_rules[n].code, lint_rules[n].name, lint_rules[n].severity, lint_rules[n].title};
    return 1;
}

int lint_print(const struct lint *l, enum lint_format format, FILE *out, struct err *e)
{
    static int (*const printers[])(const struct lint *, FILE *, struct err *) = {
        [LINT_TEXT] = lint_print_text,
        [LINT_JSON] = lint_print_json,
        [LINT_SARIF] = lint_print_sarif,
    };
    return printers[format](l, out, e);
}
