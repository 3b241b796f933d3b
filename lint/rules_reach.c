/* Settings that never reach the ranks: set behind the launch, not passed on by the launcher, set in a shell that ends,
 * on one node alone, again before anything reads them, in a file that nothing runs. */
#include <string.h>

#include "lint/lint_internal.h"

#define MOST_LAUNCHES 200 /* of one document */
#define MOST_LOST     500 /* names of one launch: NCCL reads fewer */
#define MOST_NAMED    6   /* of them */

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static int is_named(const struct lint_launch *c, const char *name)
{
    for (size_t i = 0; i < c->nnames; i++)
        if (!strcmp(c->names[i], name))
            return 1;
    return c->remote && strstr(c->remote, name);
}

/* Whether ssh's command starts ranks with nothing that could bring the settings along. */
static int runs_bare(const char *remote)
{
    const size_t n = strlen(remote);
    return word_in("python|torchrun|deepspeed|mpirun|_perf|accelerate", WORD_OCCURS, remote, n) &&
           !word_in("source |. /|. ~|env|ENV|EXPORT|export|VARS|module |docker|.sh", WORD_OCCURS, remote, n);
}

static int is_lost(const struct lint_setting *s, const struct lint_launch *c)
{
    if (c->keeps || s->body || s->number >= c->before || is_named(c, s->name) || !lint_can_meet(s->branch, c->branch))
        return 0;
    if (c->launcher == LINT_SSH && (!c->remote || !runs_bare(c->remote)))
        return 0;
    return (s->how == LINT_EXPORTED && s->group == 0) ||
           (s->how == LINT_COMMAND && s->group == c->group && c->launcher == LINT_MPIRUN);
}

static const struct {
    enum lint_rule rule;
    const char *says, *advice, *mark, *who; /* who: NULL it is not sure, as Open MPI's first host has everything */
} losses[] = {
    [LINT_MPIRUN] = {NT_MPIRUN_LEAVES_IT,
                     "Open MPI starts the ranks of other hosts through ssh and passes only what -x names",
                     "Add -x %s, or write /etc/nccl.conf on every node.", " -x "},
    [LINT_SRUN] = {NT_SRUN_LEAVES_IT, "srun passes only what --export names",
                   "Use --export=ALL, or add %s to the list.", ",", "srun"},
    [LINT_SSH] = {NT_SSH_LEAVES_IT, "ssh runs its command in a new environment",
                  "Set %s in the command itself, or write /etc/nccl.conf on every node.", ", ", "ssh"},
    [LINT_SUDO] = {NT_SUDO_DROPS_IT, "sudo removes variables unless it is configured to keep them",
                   "Use sudo -E, or --preserve-env=%s.", ",", "sudo"},
    [LINT_CLEAN] = {NT_SUDO_DROPS_IT, "env -i and --cleanenv start a command without the variables of this shell",
                    "Set %s in the command itself, or drop the option.", ", ", "the clean environment"},
    [LINT_DOCKER] = {NT_CONTAINER_LEAVES_IT, "A container starts without the variables of this shell",
                     "Add -e %s, or set it in the container.", " -e ", "docker"},
    [LINT_TORCHRUN] = {0},
};

/* One finding a launch, at the first setting that it loses; the advice names some. */
static void judge_launch(struct lint *l, const struct lint_text *t, const struct lint_launch *c)
{
    const struct lint_setting *lost[MOST_LOST], *first;
    size_t n = 0;
    for (size_t i = t->first; i < t->first + t->count && n < MOST_LOST; i++) {
        const struct lint_setting *s = l->settings[i];
        size_t k = 0;
        while (k < n && (lost[k]->hash != s->hash || strcmp(lost[k]->name, s->name) != 0))
            k++;
        if (k == n && lint_has_reader(s) && is_lost(s, c))
            lost[n++] = s;
    }
    if (!n)
        return;
    const char *names = (first = lost[0])->name;
    for (size_t k = 1; k < n && k < MOST_NAMED; k++)
        names = arena_printf(l->arena, "%s%s%s", names, losses[c->launcher].mark, lost[k]->name);
    if (n > MOST_NAMED)
        names = arena_printf(l->arena, "%s and %zu more", names, n - MOST_NAMED);
    long line, column;
    lint_place(t, c->at, &line, &column);
    lint_find(l, losses[c->launcher].rule, first, "%s: the launch in line %ld%s%s leaves %s.",
              arena_printf(l->arena, losses[c->launcher].advice, names), losses[c->launcher].says, line,
              first->text != t ? " of " : "", first->text != t ? t->doc.name : "",
              n > 1 ? arena_printf(l->arena, "out this and %zu more", n - 1) : "it out");
}

/* The line of the last launch, if it is exported behind that and nothing starts after it; 0: something may read it. */
static long line_behind_launch(const struct lint_setting *s)
{
    const struct lint_text *t = s->text;
    long line = 0, column;
    if (!t || s->how != LINT_EXPORTED || s->group != 0 || s->body || s->commands < t->commands || !lint_has_reader(s))
        return 0;
    for (size_t i = 0; i < t->nlaunches; i++)
        if (t->launches[i]->group && t->launches[i]->before <= s->number &&
            lint_can_meet(s->branch, t->launches[i]->branch))
            lint_place(t, t->launches[i]->at, &line, &column);
    return line;
}

/* Open MPI's ranks on the first host have what it does not pass. */
const char *lint_loss(const struct lint *l, const struct lint_setting *s)
{
    const struct lint_text *t = s->text;
    const struct lint_launch *by = NULL;
    long line = line_behind_launch(s), column;
    if (s->how == LINT_ASSIGNED)
        return t && lint_has_reader(s) ? "the shell does not export" : NULL;
    if (line)
        return arena_printf(l->arena, "the last launch, in line %ld, comes before", line);
    for (size_t i = 0; t && i < t->nlaunches && i < MOST_LAUNCHES; i++) {
        const struct lint_launch *c = t->launches[i];
        if (c->before <= s->number || !lint_can_meet(s->branch, c->branch) || (by && by->group == c->group))
            continue; /* of the same command: what srun starts has what srun passes */
        if (!losses[c->launcher].who || !is_lost(s, c))
            return NULL;
        by = c;
    }
    if (!by)
        return NULL;
    lint_place(t, by->at, &line, &column);
    return arena_printf(l->arena, "%s in line %ld does not pass", losses[by->launcher].who, line);
}

static int sets(const struct lint_setting *s)
{
    return lint_reaches(s) && !s->nothing;
}

/* The last one counts; of nccl.conf the first, where nothing else sets the variable. */
static int is_outdone(const struct lint *l, size_t i)
{
    const struct lint_setting *s = l->settings[i];
    for (size_t k = 0; k < l->nsettings; k++) {
        const struct lint_setting *x = l->settings[k];
        int wins = s->how == LINT_CONF && k < i ? x->how != LINT_UNSET : k > i && x->how != LINT_CONF;
        if (wins && x->hash == s->hash && sets(x) && !strcmp(x->name, s->name) && !line_behind_launch(x))
            return 1;
    }
    return 0;
}

struct lint_value *lint_in_force(const struct lint *l, struct arena *a, size_t *n)
{
    struct lint_value *values = arena_alloc(a, (l->nsettings + 1) * sizeof *values);
    *n = 0;
    for (size_t i = 0; i < l->nsettings; i++) {
        const struct lint_setting *s = l->settings[i];
        const int stays = s->how == LINT_ASSIGNED && !s->nothing;
        if ((!stays && (!sets(s) || s->how == LINT_UNSET)) || is_outdone(l, i))
            continue;
        const char *lost = lint_loss(l, s);
        if (lost || !stays)
            values[(*n)++] = (struct lint_value){s->name, s->value, s->branch != NULL, lost};
    }
    return values;
}

static void check_after_launch(struct lint *l, const struct lint_setting *s)
{
    const long line = line_behind_launch(s);
    if (line)
        lint_find(l, NT_SET_AFTER_LAUNCH, s, "The launch is in line %ld, and nothing starts after this line.",
                  "Move it before the launch.", line);
}

/* ---- lost on the way --------------------------------------------------------------------------------------------- */

static void check_one_node(struct lint *l, const struct lint_setting *s)
{
    const struct lint_branch *b = s->branch;
    while (b && !(b->one_node && b->arm == 0))
        b = b->outer;
    if (!b || !s->var || (s->var->agree != ENV_AGREE_YES && s->var->agree != ENV_AGREE_ADVISED) ||
        s->how != LINT_EXPORTED)
        return;
    for (size_t i = s->text->first; i < s->text->first + s->text->count; i++) {
        const struct lint_setting *o = l->settings[i];
        if (o != s && o->hash == s->hash && !strcmp(o->name, s->name) && o->branch != s->branch)
            return;
    }
    lint_find(l, NT_ONE_NODE_ONLY, s, "Only one rank or node sets it, and all ranks of a job should have the same.",
              "Set it before the condition.");
}

static int is_expanded(const struct lint_setting *s)
{
    const char *from = s->text->data + s->name_at;
    return memchr(from, '$', strcspn(from, "\n")) != NULL;
}

/* Whether a branch is another one or inside it; NULL is the whole script. */
static int is_within(const struct lint_branch *b, const struct lint_branch *of)
{
    while (b && b != of)
        b = b->outer;
    return b == of;
}

static int may_be_set_again(const struct lint_setting *s)
{
    return s->value &&
           !word_in("python|lua|markdown|conf|hcl|make", WORD_IS, s->text->doc.kind, strlen(s->text->doc.kind)) &&
           (s->how == LINT_EXPORTED || s->how == LINT_DECLARED || s->how == LINT_COMMAND);
}

const struct lint_setting *lint_set_again(const struct lint *l, const struct lint_setting *s)
{
    const size_t end = s->text ? s->text->first + s->text->count : 0; /* settings of a log have no text */
    for (size_t i = s->text && may_be_set_again(s) ? s->number + 1 : end; i < end; i++) {
        const struct lint_setting *o = l->settings[i];
        if (o->hash != s->hash || strcmp(o->name, s->name) != 0)
            continue;
        int counts = o->group != s->group || !is_within(s->branch, o->branch) || o->body != s->body ||
                     o->commands != s->commands || o->function != s->function ||
                     (o->how != LINT_UNSET && (!o->value || !strcmp(o->value, s->value) || is_expanded(o)));
        return counts ? NULL : o;
    }
    return NULL;
}

static void check_set_again(struct lint *l, const struct lint_setting *s)
{
    const struct lint_setting *o = lint_set_again(l, s);
    long line, column;
    if (!o)
        return;
    lint_place(o->text, o->name_at, &line, &column);
    struct lint_finding *f = lint_find(
        l, NT_SET_AGAIN, s, "Line %ld%s%s %s before any program could read it: this value never counts.",
        "Remove one of the two.", line, o->text != s->text ? " of " : "", o->text != s->text ? o->text->doc.name : "",
        o->how == LINT_UNSET ? "takes it away" : "sets it again");
    f->fix = s->line_bytes ? LINT_FIX_LINE : LINT_FIX_NONE;
    f->changes = 1; /* which of the two is meant? */
}

/* A script that the document writes, and then neither runs nor hands on. */
static void check_file_unused(struct lint *l, const struct lint_setting *s)
{
    const char *file = s->body ? s->body->file : NULL;
    size_t i = s->text->first;
    if (!file || s->text->nlaunches == 0 || strlen(file) < 4 || strcmp(file + strlen(file) - 3, ".sh") != 0 ||
        strstr(file, "profile") || strchr(file, '$') || !lint_has_reader(s))
        return;
    while (l->settings[i]->body != s->body)
        i++;
    const char *slash = strrchr(file, '/');
    if (l->settings[i] != s || strstr(s->text->data + s->body->end, slash ? slash + 1 : file))
        return;
    lint_find(l, NT_FILE_NEVER_RUN, s, "It is written to %s, which nothing below runs or sources.",
              "Let the launcher run that script, or set it here.", file);
}

void lint_check_reach(struct lint *l, const struct lint_setting *s)
{
    const struct lint_text *t = s->text;
    if (!t || !t->lines)
        return;
    size_t first = t->first; /* its own: those of files that it sources may stand before */
    while (l->settings[first]->text != t)
        first++;
    for (size_t i = 0; s == l->settings[first] && i < t->nlaunches && i < MOST_LAUNCHES; i++)
        judge_launch(l, t, t->launches[i]);
    if (lint_is_uncalled(s))
        lint_find(l, NT_NEVER_CALLED, s, "No other line names the function %s, which sets it.",
                  "Call the function before the launch, or remove it.", s->function->name);
    if (s->how == LINT_SUBSHELL)
        lint_find(l, NT_SHELL_ENDS, s, "The shell that exports it ends at once, and the variable with it.",
                  "Export it in the script itself, or start the program in the same -c text.");
    check_after_launch(l, s);
    check_one_node(l, s);
    check_set_again(l, s);
    check_file_unused(l, s);
}
