/* Shell scripts, batch scripts and env files as lines: commands, here-documents, #SBATCH. */
#include <string.h>

#include "envgen/lint/shell.h"

enum { NOT_EXPORTED };
static const struct finding_kind kinds[] = {
    [NOT_EXPORTED] = {"NT609", "not-exported", FINDING_WARNING, "a shell variable that NCCL does not see"},
};

#define MOST_SEARCHED 100 /* names whose use is looked for in the whole text */

/* The end of a here-document's body that starts at `at`; `*after` is behind its end mark. */
static size_t body_end(const struct shell *sh, size_t at, const struct shell_body *b, size_t *after)
{
    const char *s = sh->t->data;
    const char *mark = s + b->at;
    size_t n = b->end - b->at;
    if (n >= 2 && (mark[0] == '"' || mark[0] == '\'')) {
        mark++;
        n -= 2;
    }
    n -= n > 0 && mark[0] == '\\';
    mark += s[b->at] == '\\';
    for (size_t line = at; line < sh->to;) {
        const char *newline = memchr(s + line, '\n', sh->to - line);
        size_t stop = newline ? (size_t)(newline - s) : sh->to;
        size_t text = line + strspn(s + line, "\t ");
        size_t length = stop > text ? stop - text : 0;
        length -= length > 0 && s[text + length - 1] == '\r';
        if (length == n && !memcmp(s + text, mark, n)) {
            *after = stop;
            return line;
        }
        line = stop + 1;
    }
    *after = sh->to;
    return sh->to;
}

static size_t read_bodies(struct shell *sh, size_t at)
{
    for (int i = 0; i < sh->nbodies; i++) {
        size_t after, end = body_end(sh, at, &sh->bodies[i], &after);
        if (sh->bodies[i].conf)
            lint_read_conf(sh->l, sh->t, at, end, NULL);
        else if (sh->depth < SHELL_DEPTH)
            sh->script(sh, at, end, ++sh->l->groups);
        at = after < sh->to ? after + 1 : sh->to;
    }
    sh->nbodies = 0;
    return at;
}

/* #SBATCH --export=ALL,A=1 */
static void do_comment(struct shell *sh, size_t at, size_t end)
{
    const char *s = sh->t->data;
    static const char option[] = "--export=";
    if (end - at < 8 || memcmp(s + at, "#SBATCH", 7) != 0)
        return;
    const char *found = memmem(s + at, end - at, option, sizeof(option) - 1);
    if (!found)
        return;
    size_t from = (size_t)(found - s) + sizeof(option) - 1;
    shell_list(sh, from, lint_next_word(s, from, end).end, LINT_EXPORTED, sh->base_group);
}

static int words_name_conf(const struct shell *sh, const struct lint_word *file)
{
    static const char name[] = "nccl.conf";
    return file->token == LINT_WORD && memmem(sh->t->data + file->at, file->end - file->at, name, sizeof(name) - 1);
}

static void read_lines(struct shell *sh, size_t at)
{
    int conf = 0; /* the command writes to nccl.conf */
    for (;;) {
        struct lint_word w = lint_next_word(sh->t->data, at, sh->to);
        at = w.end;
        switch (w.token) {
        case LINT_WORD:
            conf |= words_name_conf(sh, &w);
            if (sh->nwords < SHELL_WORDS)
                sh->words[sh->nwords++] = w;
            break;
        case LINT_COMMENT:
            do_comment(sh, w.at, w.end);
            break;
        case LINT_REDIRECT:
            w = lint_next_word(sh->t->data, at, sh->to);
            if (w.token == LINT_WORD) {
                conf |= words_name_conf(sh, &w);
                at = w.end;
            }
            break;
        case LINT_HEREDOC:
            w = lint_next_word(sh->t->data, at, sh->to);
            if (w.token == LINT_WORD && sh->nbodies < SHELL_BODIES)
                sh->bodies[sh->nbodies++] = (struct shell_body){w.at, w.end, 0};
            at = w.token == LINT_WORD ? w.end : at;
            break;
        default:
            for (int i = 0; i < sh->nbodies; i++)
                sh->bodies[i].conf |= conf;
            shell_command(sh);
            if (w.token == LINT_ARM_END)
                shell_next_arm(sh);
            if (w.token == LINT_NEWLINE) {
                at = read_bodies(sh, at);
                conf = 0;
            }
            if (w.token == LINT_END)
                return;
        }
    }
}

static void read_inner(const struct shell *sh, size_t from, size_t to, int group);

static int read_range(struct lint *l, const struct lint_text *t, size_t from, size_t to, int depth, int group,
                      int all_exported, enum lint_how how)
{
    struct shell sh = {.l = l,
                       .t = t,
                       .to = to,
                       .depth = depth,
                       .script = read_inner,
                       .base_group = group,
                       .all_exported = all_exported,
                       .how = how};
    read_lines(&sh, from);
    return 0;
}

static void read_inner(const struct shell *sh, size_t from, size_t to, int group)
{
    read_range(sh->l, sh->t, from, to, sh->depth + 1, group, 0, sh->how);
}

/* Whether a name shows up anywhere but in front of '='. */
static int is_used(const struct lint_text *t, const struct lint_setting *s)
{
    for (const char *p = t->data; (p = strstr(p, s->name)); p += s->name_bytes)
        if (p[s->name_bytes] != '=' || (p > t->data && (p[-1] == '$' || p[-1] == '{')))
            return 1;
    return 0;
}

/* An assignment is a shell's own matter, unless something else is done with its name. */
static void find_not_exported(struct lint *l, const struct lint_text *t)
{
    const struct lint_setting *seen[MOST_SEARCHED];
    int unused[MOST_SEARCHED], n = 0;
    for (size_t i = t->first; i < l->nsettings; i++) {
        const struct lint_setting *s = l->settings[i];
        int k = 0;
        if (s->how != LINT_ASSIGNED || !s->var || s->var->last || s->var->scope == ENV_PLUGIN)
            continue;
        while (k < n && seen[k]->var != s->var)
            k++;
        if (k == MOST_SEARCHED)
            continue;
        if (k == n) {
            seen[n] = s;
            unused[n++] = !is_used(t, s);
        }
        if (unused[k])
            lint_find(l, &kinds[NOT_EXPORTED], s,
                      "Without export this stays inside the shell, unless the name came exported from outside.",
                      "Write export in front of it, or hand it to the launcher.");
    }
}

int lint_read_shell(struct lint *l, const struct lint_text *t, size_t from, size_t to, struct err *e)
{
    (void)e;
    size_t before = l->nsettings;
    read_range(l, t, from, to, 0, 0, 0, LINT_EXPORTED);
    if (from == 0 && to == t->bytes && l->nsettings > before)
        find_not_exported(l, t);
    return 0;
}

int lint_read_env(struct lint *l, const struct lint_text *t, size_t from, size_t to, struct err *e)
{
    (void)e;
    return read_range(l, t, from, to, 0, 0, 1, LINT_EXPORTED);
}

int lint_read_shell_in(struct lint *l, const struct lint_text *t, size_t from, size_t to, int group, enum lint_how how)
{
    return read_range(l, t, from, to, 1, group, 0, how);
}

const struct lint_rules lint_shell = {kinds, sizeof kinds / sizeof *kinds, NULL};
