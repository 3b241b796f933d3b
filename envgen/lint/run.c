/* lint's run: every rule looks at every setting, findings come out in the order of the documents. */
#include <stdlib.h>
#include <string.h>

#include "envgen/lint/lint_internal.h"
#include "probe/topology/select.h"

static const struct lint_rules *const themes[] = {
    &lint_names, &lint_values, &lint_ranges, &lint_effects,  &lint_conflicts, &lint_devices, &lint_documents,
    &lint_conf,  &lint_docker, &lint_shell,  &lint_commands, &lint_options,   &lint_reach,   &lint_costs,
};

static int by_id(const void *x, const void *y)
{
    return strcmp(((const struct finding_kind *)x)->id, ((const struct finding_kind *)y)->id);
}

const struct finding_kind *lint_kinds(struct arena *a, int *n)
{
    struct finding_kind *all = NULL;
    *n = 0;
    for (size_t t = 0; t < sizeof themes / sizeof *themes; t++)
        for (size_t k = 0; k < themes[t]->count; k++) {
            all = arena_grow(a, all, (size_t)*n, sizeof *all);
            all[(*n)++] = themes[t]->kinds[k];
        }
    if (all)
        qsort(all, (size_t)*n, sizeof *all, by_id);
    return all;
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
        l->rccl = l->options.rccl >= 0 ? l->options.rccl : topo_amd_arch(t) != NULL;
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
    return strcmp(a->kind->id, b->kind->id);
}

void lint_check(struct lint *l)
{
    choose_library(l);
    for (size_t i = 0; i < l->nsettings; i++) {
        const struct lint_setting *s = l->settings[i];
        l->rccl = library_of(l, s);
        for (size_t r = 0; r < sizeof themes / sizeof *themes && s->how != LINT_UNSET; r++)
            if (themes[r]->check)
                themes[r]->check(l, s);
    }
    if (l->nfindings > 0)
        qsort(l->findings, l->nfindings, sizeof(void *), by_place);
}
