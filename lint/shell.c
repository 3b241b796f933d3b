/* What the readers of a shell script need of a command: its words, how they become settings, and the texts that it
 * holds. */
#include <string.h>

#include "lint/shell.h"

/* ---- words ------------------------------------------------------------------------------------------------------- */

const char *shell_raw(const struct shell *sh, int i)
{
    return sh->s + sh->words[i].at;
}

size_t shell_length(const struct shell *sh, int i)
{
    return sh->words[i].end - sh->words[i].at;
}

int shell_is(const struct shell *sh, int i, const char *list)
{
    return i < sh->nwords && word_in(list, WORD_IS, shell_raw(sh, i), shell_length(sh, i));
}

size_t shell_assignment(const struct shell *sh, int i)
{
    size_t n = i < sh->nwords ? lint_name_length(shell_raw(sh, i), shell_length(sh, i)) : 0;
    if (n == 0 || n >= shell_length(sh, i))
        return 0;
    const char *s = shell_raw(sh, i);
    return s[n] == '=' || (s[n] == '+' && n + 1 < shell_length(sh, i) && s[n + 1] == '=') ? n : 0;
}

int shell_runs(const struct shell *sh, int i, const char *list)
{
    if (i >= sh->nwords)
        return 0;
    const char *s = shell_raw(sh, i);
    size_t n = shell_length(sh, i);
    const char *slash = memrchr(s, '/', n);
    const char *name = slash ? slash + 1 : s;
    return word_in(list, WORD_IS, name, n - (size_t)(name - s));
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

struct lint_setting *shell_add(struct shell *sh, size_t name, size_t bytes, size_t value, size_t end, enum lint_how how,
                               int group)
{
    /* Container runtimes take this away in front of a name before they set it. */
    if (word_in("SINGULARITYENV_|APPTAINERENV_", WORD_BEGINS, sh->s + name, bytes)) {
        const size_t prefix = strcspn(sh->s + name, "_") + 1;
        name += prefix;
        bytes -= prefix;
    }
    struct lint_setting *s = lint_setting_new(sh->l, sh->v, name, bytes, how);
    if (!s)
        return NULL;
    s->group = group;
    lint_set_word(sh->l, s, sh->v, value, end);
    return s;
}

struct lint_setting *shell_pair(struct shell *sh, size_t at, size_t end, enum lint_how how, int group)
{
    size_t n = lint_name_length(sh->s + at, end - at);
    if (n == 0 || at + n >= end || sh->s[at + n] != '=')
        return NULL;
    return shell_add(sh, at, n, at + n + 1, end, how, group);
}

void shell_export_name(struct shell *sh, size_t at, size_t bytes)
{
    if (!lint_of_interest(sh->s + at, bytes))
        return;
    lint_understood(sh->l, sh->v, at);
    for (size_t k = sh->v->t->first; k < sh->l->nsettings; k++) {
        struct lint_setting *s = sh->l->settings[k];
        if (s->how == LINT_ASSIGNED && strlen(s->name) == bytes && !memcmp(s->name, sh->s + at, bytes))
            s->how = sh->v->how;
        if (strlen(s->name) == bytes && !memcmp(s->name, sh->s + at, bytes))
            return;
    }
    /* A name that nothing here sets: it comes from outside, unless it is no name at all. */
    const char *name = arena_strndup(sh->l->arena, sh->s + at, bytes);
    const struct env_other *other = env_other_find(name);
    if (other ? other->status == ENV_MISSPELT || other->status == ENV_REMOVED
              : !env_var_find(name) && !strncmp(name, "NCCL_", 5) && env_nearest(name))
        lint_setting_new(sh->l, sh->v, at, bytes, LINT_COMMAND);
}

/* ---- texts that a script holds: scripts in quotes, JSON, files that echo writes, options in variables ------------ */

void shell_script(struct shell *sh, int i, const char *name, int group)
{
    size_t at = sh->words[i].at, end = sh->words[i].end, before = sh->l->nsettings;
    char quote = sh->s[at];
    if (end - at < 2 || (quote != '"' && quote != '\''))
        return;
    struct lint_view v = {sh->v->t, sh->s, at + 1, end - 1, sh->v->map};
    if (quote == '"' && memmem(sh->s + at, end - at, "\\\"", 2))
        v = lint_unescape(sh->l, &v, at + 1, end - 1, LINT_ESCAPES);
    sh->l->read_inner(sh->l, &v, name, group, sh->v->how);
    lint_end_shell(sh->l, v.t, before, group);
}

void shell_json(struct shell *sh, int i, int group)
{
    const char *s = shell_raw(sh, i);
    const char *brace = memchr(s, '{', shell_length(sh, i));
    int bare = brace == s;
    if (!brace || !memchr(s, '"', shell_length(sh, i)) || (!bare && !strchr("'\"", brace[-1])) ||
        !lint_names_any(s, shell_length(sh, i)))
        return;
    struct lint_view v = {sh->v->t, sh->s, (size_t)(brace - sh->s), sh->words[i].end - !bare, sh->v->map};
    if (!bare && brace[-1] == '"')
        v = lint_unescape(sh->l, &v, v.from, v.to, LINT_ESCAPES);
    sh->l->read_inner(sh->l, &v, "word.json", group, LINT_DECLARED);
}

void shell_written(struct shell *sh, const struct lint_view *v, const struct shell_word *target)
{
    struct lint_body *body = ARENA_NEW(sh->l->arena, struct lint_body);
    const struct lint_body *outer = sh->l->body;
    body->file = lint_file_word(sh->l, sh->s, target->at, target->end);
    body->end = lint_at(v, v->to);
    const char *name = strstr(body->file, "GITHUB_ENV") || strstr(body->file, "/environment") ? "x.env"
                       : strstr(body->file, "nccl.conf")                                      ? "nccl.conf"
                                                                                              : body->file;
    sh->l->body = body;
    sh->l->read_inner(sh->l, v, name, ++sh->l->groups, LINT_EXPORTED);
    sh->l->body = outer;
}

void shell_print(struct shell *sh, int i)
{
    int escapes = shell_is(sh, i, "printf");
    for (i++; i < sh->nwords && shell_raw(sh, i)[0] == '-'; i++)
        escapes |= shell_is(sh, i, "-e|-ne");
    if (i >= sh->nwords)
        return;
    size_t from = sh->words[i].at, to = sh->words[sh->nwords - 1].end;
    if (strchr("\"'", sh->s[from])) {
        to = sh->words[i].end - (sh->words[i].end - from > 1);
        from++;
    }
    sh->piped = from;
    sh->piped_end = to > from ? to : from;
    lint_talked_of(sh->l, sh->v, sh->words[i].at, sh->words[sh->nwords - 1].end);
    if (!sh->target.end)
        return;
    struct lint_view v = {sh->v->t, sh->s, from, sh->piped_end, sh->v->map};
    if (escapes)
        v = lint_unescape(sh->l, &v, v.from, v.to, LINT_ESCAPES);
    shell_written(sh, &v, &sh->target);
}

void shell_tee(struct shell *sh, int i, size_t from, size_t to)
{
    while (++i < sh->nwords && shell_raw(sh, i)[0] == '-')
        ;
    if (i >= sh->nwords)
        return;
    sh->target = sh->words[i];
    struct lint_view v = {sh->v->t, sh->s, from, to, sh->v->map};
    if (to > from)
        shell_written(sh, &v, &sh->words[i]);
}
