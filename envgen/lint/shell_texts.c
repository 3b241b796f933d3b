/* Texts that a shell script holds: scripts in quotes, JSON, what echo writes into files, options kept in variables. */
#include <string.h>

#include "envgen/lint/shell.h"

void shell_script(struct shell *sh, int i, const char *name, int group)
{
    size_t at = sh->words[i].at, end = sh->words[i].end, before = sh->l->nsettings;
    char quote = sh->s[at];
    if (end - at < 2 || (quote != '"' && quote != '\''))
        return;
    struct lint_view v = {sh->v->t, sh->s, at + 1, end - 1, sh->v->map};
    if (quote == '"' && memmem(sh->s + at, end - at, "\\\"", 2))
        v = lint_unescape(sh->l, &v, at + 1, end - 1, LINT_ESCAPES);
    sh->l->read_inner(sh->l, &v, name, group, sh->how);
    for (size_t k = before; k < sh->l->nsettings; k++) {
        struct lint_setting *s = sh->l->settings[k];
        if (s->how == LINT_EXPORTED && s->group == group && s->commands == v.t->commands)
            s->how = LINT_SUBSHELL;
    }
}

void shell_json(struct shell *sh, int i, int group)
{
    const char *s = shell_raw(sh, i);
    const char *brace = memchr(s, '{', shell_length(sh, i));
    if (!brace || brace == s || !memchr(s, '"', shell_length(sh, i)) || !strchr("'\"", brace[-1]) ||
        !lint_names_any(s, shell_length(sh, i)))
        return;
    struct lint_view v = {sh->v->t, sh->s, (size_t)(brace - sh->s), sh->words[i].end - 1, sh->v->map};
    if (brace[-1] == '"')
        v = lint_unescape(sh->l, &v, v.from, v.to, LINT_ESCAPES);
    sh->l->read_inner(sh->l, &v, "word.json", group, LINT_DECLARED);
}

void shell_written(struct shell *sh, const struct lint_view *v, const struct lint_word *target)
{
    static const char *const variables[] = {"GITHUB_ENV", "/environment", NULL};
    struct lint_body *body = ARENA_NEW(sh->l->arena, struct lint_body);
    const struct lint_body *outer = sh->l->body;
    size_t at = target->at, end = target->end;
    while (at < end && strchr("\"'", sh->s[at]))
        at++;
    while (end > at && strchr("\"'", sh->s[end - 1]))
        end--;
    body->file = arena_strndup(sh->l->arena, sh->s + at, end - at);
    body->end = lint_at(v, v->to);
    const char *name = strstr(body->file, "nccl.conf") ? "nccl.conf" : body->file;
    for (const char *const *p = variables; *p; p++)
        name = strstr(body->file, *p) ? "x.env" : name;
    sh->l->body = body;
    sh->l->read_inner(sh->l, v, name, ++sh->l->groups, LINT_EXPORTED);
    sh->l->body = outer;
}

void shell_print(struct shell *sh, int i)
{
    int escapes = shell_is(sh, i, "printf");
    for (i++; i < sh->nwords && shell_raw(sh, i)[0] == '-'; i++)
        escapes |= shell_is(sh, i, "-e") || shell_is(sh, i, "-ne");
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

void shell_held(struct shell *sh, int k)
{
    size_t n = shell_assignment(sh, k), at = sh->words[k].at + n, end = sh->words[k].end;
    at += 1 + (n > 0 && sh->s[at] == '+');
    if (n == 0 || end < at + 6 || !strchr("\"'($", sh->s[at]) || !lint_names_any(sh->s + at, end - at) ||
        env_var_find(arena_strndup(sh->l->arena, shell_raw(sh, k), n)))
        return;
    if (n == 26 && !memcmp(shell_raw(sh, k), "OMPI_MCA_mca_base_env_list", 26)) {
        shell_list(sh, at, end, ';', LINT_EXPORTED, sh->base_group);
        return;
    }
    int runs = sh->s[at] == '$' && sh->s[at + 1] == '(';
    if (sh->s[at] == '$' && !runs)
        return;
    struct lint_view v = {sh->v->t, sh->s, at + 1 + (size_t)runs, end - 1, sh->v->map};
    if (sh->s[at] != '\'' && !runs)
        v = lint_unescape(sh->l, &v, v.from, v.to, LINT_FOLDED | (sh->s[at] == '"' ? LINT_ESCAPES : 0));
    sh->l->read_inner(sh->l, &v, sh->s[at + 1] == '{' ? "held.json" : "held.sh", ++sh->l->groups, LINT_COMMAND);
}
