/* Names: removed, misspelt, another program's, too new, replaced. */
#include <ctype.h>
#include <string.h>

#include "lint/lint_internal.h"

/* Puts the right name in the wrong one's place, unless the document sets that already. */
static void rename_to(struct lint *l, struct lint_finding *f, const char *name, int changes)
{
    if (lint_anywhere(l, f->at, name)) {
        f->advice = arena_printf(l->arena, "%s %s is set here, too: keep one of the two.", f->advice, name);
        return;
    }
    f->fix = LINT_FIX_NAME;
    f->replacement = name;
    f->changes = changes;
}

static const char *advice_of(struct lint *l, const struct env_other *o)
{
    if (!o || !o->use)
        return "Remove it, unless your own software reads it.";
    if (!strncmp(o->use, "nothing", 7))
        return o->use[7] ? arena_printf(l->arena, "Remove it (%s).", o->use) : "Remove it.";
    return arena_printf(l->arena, "Use %s.", o->use);
}

static const char *add_note(struct lint *l, const char *sentence, const struct env_other *o)
{
    return o && o->note ? arena_printf(l->arena, "%s (%s).", sentence, o->note)
                        : arena_printf(l->arena, "%s.", sentence);
}

static void check_removed(struct lint *l, const struct lint_setting *s, const struct env_other *o)
{
    const struct env_var *v = s->var;
    char from[ENV_VERSION], to[ENV_VERSION];
    enum lint_part reads = lint_holds(l, v->flags & ENV_OLDER ? 0 : v->since, v->last);
    if (reads == LINT_ALL || (l->rccl && o && o->note && strstr(o->note, "RCCL")))
        return;
    env_version_text(from, v->since);
    env_version_text(to, v->last);
    const char *says = v->flags & ENV_OLDER
                           ? arena_printf(l->arena, "NCCL read it up to %s; later releases ignore it.", to)
                           : arena_printf(l->arena, "NCCL reads it from %s to %s; other releases ignore it.", from, to);
    if (o && o->note && !strstr(o->note, "RCCL"))
        says = arena_printf(l->arena, "%s There %s.", says, o->note);
    struct lint_finding *f = lint_find(l, NT_REMOVED_VARIABLE, s, "%s", advice_of(l, o), says);
    if (reads == LINT_SOME) {
        f->severity = FINDING_NOTE;
        return;
    }
    f->fix = LINT_FIX_LINE;
    if (o && o->use && !strcmp(o->use, "NCCL_GRAPH_FILE"))
        rename_to(l, f, o->use, 1);
}

static void check_known(struct lint *l, const struct lint_setting *s, const struct env_other *o)
{
    const struct env_var *v = s->var;
    char since[ENV_VERSION];
    if (v->flags & ENV_DEAD) {
        struct lint_finding *f = lint_find(l, NT_DEAD_VARIABLE, s, "%s", "Remove it.",
                                           add_note(l, "NCCL's source declares it and does nothing with it", o));
        f->fix = LINT_FIX_LINE;
        return;
    }
    if (l->options.nccl_low && !(v->flags & ENV_OLDER) && l->low < v->since && v->scope != ENV_PLUGIN) {
        struct lint_finding *f =
            lint_find(l, NT_TOO_NEW, s, "NCCL reads it from %s on; earlier releases ignore it.",
                      "Update NCCL if you need it, or remove the line.", env_version_text(since, v->since));
        if (l->high >= v->since)
            f->severity = FINDING_NOTE;
    }
    if (o && o->status == ENV_DEPRECATED && !(strcmp(v->name, "NCCL_CHECK_POINTERS") == 0 && l->high < 22907))
        lint_find(l, NT_DEPRECATED_VARIABLE, s, "%s", advice_of(l, o), add_note(l, "NCCL still honours it", o));
}

/* Names of a family that NCCL does not read. */
static void check_foreign(struct lint *l, const struct lint_setting *s, enum env_status status, const char *owner,
                          const struct env_other *o)
{
    int amd = status == ENV_RCCL || status == ENV_ROCM;
    const char *note = o ? o->note : NULL;
    if (amd && !l->rccl) {
        struct lint_finding *f = lint_find(l, NT_OTHER_VENDOR, s, "Only %s reads it; NVIDIA's NCCL ignores it.",
                                           o && o->use ? advice_of(l, o) : "Remove it for NVIDIA GPUs.", owner);
        if (!l->rccl_sure)
            f->severity = FINDING_NOTE;
    } else if (note || (!amd && !strncmp(s->name, "NCCL_", 5))) {
        for (size_t i = l->nfindings; i-- > 0 && l->findings[i]->at->text == s->text;) /* said once */
            if (!strcmp(l->findings[i]->kind->id, "NT105") && !strcmp(l->findings[i]->at->name, s->name))
                return;
        lint_find(l, NT_FOREIGN_VARIABLE, s, "%s",
                  amd ? "Measure with and without it on your GPUs." : "Keep it only where that program runs.",
                  note ? arena_printf(l->arena, "%c%s reads it%s: %s.", owner[0] == 't' ? 'T' : owner[0], owner + 1,
                                      amd ? "" : ", not NCCL", note)
                       : arena_printf(l->arena, "NCCL does not read it: it is a setting of %s.", owner));
    }
}

static void find_misspelt(struct lint *l, const struct lint_setting *s, const char *use, int sure)
{
    struct lint_finding *f = lint_find(l, NT_MISSPELT_VARIABLE, s, "No release of NCCL from 2.4 on reads this name.",
                                       arena_printf(l->arena, sure ? "Use %s." : "Probably %s is meant.", use));
    const struct env_var *v = env_var_find(use);
    /* A list that the right name does not understand would end the job. */
    if (v && v->grammar != ENV_G_ALGO && v->grammar != ENV_G_PROTO)
        rename_to(l, f, use, 1);
}

static void check_other(struct lint *l, const struct lint_setting *s, const struct env_other *o)
{
    struct lint_finding *f;
    switch (o->status) {
    case ENV_REMOVED:
        f = lint_find(l, NT_REMOVED_VARIABLE, s, "%s", advice_of(l, o), add_note(l, "NCCL no longer reads it", o));
        f->fix = LINT_FIX_LINE;
        break;
    case ENV_NEVER:
        lint_find(l, NT_MISSPELT_VARIABLE, s, "No release of NCCL from 2.4 on reads this name.", advice_of(l, o));
        break;
    case ENV_MISSPELT:
        find_misspelt(l, s, o->use, 1);
        break;
    case ENV_OLD_SPELLING:
        f = lint_find(l, NT_FORMER_NAME, s, "NCCL never read it: it is %s's, which documents it as %s since 2.2%s%s.",
                      advice_of(l, o), o->owner, o->use, o->note ? "; " : "", o->note ? o->note : "");
        rename_to(l, f, o->use, 0);
        break;
    case ENV_DECLARED:
    case ENV_DEPRECATED:
    case ENV_BUILD:
        break;
    default:
        check_foreign(l, s, o->status, o->owner, o);
        break;
    }
}

/* PyTorch's names with the TORCH_ in front forgotten. */
static int is_torch_name(struct lint *l, const struct lint_setting *s)
{
    const struct env_other *o = env_other_find(arena_printf(l->arena, "TORCH_%s", s->name));
    if (!o)
        return 0;
    struct lint_finding *f = lint_find(l, NT_FORMER_NAME, s, "NCCL never read it; %s reads %s.",
                                       arena_printf(l->arena, "Use %s.", o->name), o->owner, o->name);
    rename_to(l, f, o->name, 1);
    return 1;
}

/* Whether the document itself does something with $NAME or "NAME": then it is a variable of its author's. */
static int is_read_here(struct lint *l, const struct lint_setting *s)
{
    const char *n = s->name;
    return lint_speaks_of(s->text, arena_printf(l->arena, "$%s|${%s|get(\"%s|getenv(\"%s", n, n, n, n));
}

/* nccl_debug: only where it goes into an environment under that name. */
static int is_lower(struct lint *l, const struct lint_setting *s)
{
    char *upper = arena_strdup(l->arena, s->name);
    for (char *c = upper; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    if (!strcmp(upper, s->name) || !env_var_find(upper))
        return 0;
    if (s->how != LINT_ASSIGNED)
        rename_to(l,
                  lint_find(l, NT_LOWER_CASE, s, "Names of variables are in upper case; NCCL does not read this one.",
                            arena_printf(l->arena, "Use %s.", upper)),
                  upper, 1);
    return 1;
}

/* RCCL_SOCKET_IFNAME, CCL_DEBUG */
static int is_prefix_misspelt(struct lint *l, const struct lint_setting *s)
{
    char meant[64];
    if (s->how == LINT_ASSIGNED || !lint_meant_name(s->name, strlen(s->name), meant, sizeof meant))
        return 0;
    const char *name = arena_strdup(l->arena, meant);
    rename_to(l,
              lint_find(l, NT_MISSPELT_VARIABLE, s,
                        *s->name == 'R' ? "RCCL reads NCCL's variables under their own names, not this one."
                                        : "NCCL's variables begin with NCCL_: nothing reads this name.",
                        arena_printf(l->arena, "Use %s.", name)),
              name, 1);
    return 1;
}

/* OFI_NCCL_*, TORCH_NCCL_*, RCCL_*: names of others, written wrong. */
static int is_misspelt_other(struct lint *l, const struct lint_setting *s)
{
    const struct env_other *near = s->how == LINT_ASSIGNED ? NULL : env_nearest_other(s->name);
    if (!near)
        return 0;
    lint_find(l, NT_MISSPELT_VARIABLE, s, "%c%s does not read this name.",
              arena_printf(l->arena, "Probably %s is meant.", near->name), near->owner[0], near->owner + 1);
    return 1;
}

/* NCCL_P2P_ENABLE where NCCL has NCCL_P2P_DISABLE, and the other way round. */
static int is_opposite(struct lint *l, const struct lint_setting *s)
{
    static const char *const pairs[][2] = {
        {"_ENABLE", "_DISABLE"}, {"_ENABLED", "_DISABLE"}, {"_DISABLE", "_ENABLE"}, {"_DISABLED", "_ENABLE"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        size_t n = strlen(s->name), end = strlen(pairs[i][0]);
        if (n <= end || strcmp(s->name + n - end, pairs[i][0]) != 0)
            continue;
        const char *name = arena_printf(l->arena, "%.*s%s", (int)(n - end), s->name, pairs[i][1]);
        const struct env_var *v = env_var_find(name);
        if (v && !v->last) {
            find_misspelt(l, s, arena_printf(l->arena, "%s, with the opposite value", name), 1);
            return 1;
        }
    }
    return 0;
}

void lint_check_names(struct lint *l, const struct lint_setting *s)
{
    const struct env_other *o = env_other_find(s->name);
    if (s->var) {
        if (s->var->last)
            check_removed(l, s, o);
        else
            check_known(l, s, o);
        return;
    }
    if (s->text && lint_speaks_of(s->text, "MUSA_")) /* Moore Threads' library has names of its own */
        return;
    if (o) {
        if (s->how != LINT_ASSIGNED || (o->status != ENV_NEVER && o->status != ENV_MISSPELT))
            check_other(l, s, o);
        return;
    }
    if (is_lower(l, s) || is_prefix_misspelt(l, s) || is_misspelt_other(l, s))
        return;
    const struct env_prefix *p = env_prefix_find(s->name);
    if (p && p->status != ENV_BUILD) {
        check_foreign(l, s, p->status, p->owner, NULL);
        return;
    }
    /* A script's own variables may be called as it likes. */
    if (p || s->how == LINT_ASSIGNED || strncmp(s->name, "NCCL_", 5) != 0 || is_torch_name(l, s))
        return;
    if (is_read_here(l, s) || is_opposite(l, s))
        return;
    const struct env_var *near = env_nearest(s->name);
    if (near)
        find_misspelt(l, s, near->name, 0);
    else
        lint_find(l, NT_UNKNOWN_VARIABLE, s, "No release of NCCL from 2.4 on reads this name.",
                  "Remove it, unless a plugin or a script of yours reads it.");
}
