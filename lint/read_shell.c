/* Shell scripts, batch scripts and env files as lines: commands, here-documents, the lines of batch systems. */
#include <string.h>

#include "lint/shell.h"

#define MOST_SEARCHED 100 /* names whose use is looked for in the whole text */

static size_t read_bodies(struct shell *sh, size_t at)
{
    for (int i = 0; i < sh->nbodies; i++) {
        const struct shell_body *b = &sh->bodies[i];
        size_t mark = b->at, bytes = b->end - b->at, after = sh->v->to;
        int quotes = bytes >= 2 && strchr("\"'", sh->s[mark]), escaped = sh->s[mark] == '\\';
        mark += (size_t)(quotes || escaped);
        bytes -= (size_t)(2 * quotes + escaped);
        size_t end = source_heredoc_end(sh->s, at, sh->v->to, sh->s + mark, bytes, &after);
        struct lint_view v = {sh->v->t, sh->s, at, end, sh->v->map};
        if (sh->bodies[i].target.end)
            shell_written(sh, &v, &sh->bodies[i].target);
        else
            sh->l->read_inner(sh->l, &v, NULL, ++sh->l->groups, LINT_EXPORTED);
        at = after < sh->v->to ? after + 1 : sh->v->to;
    }
    sh->nbodies = 0;
    return at;
}

/* #SBATCH --export=ALL,A=1 and its like. */
static void do_comment(struct shell *sh, size_t at, size_t end)
{
    static const struct {
        const char *mark, *option;
    } lines[] = {
        {"#SBATCH", "--export="}, {"#SBATCH", "--export "}, {"#PBS", "-v "}, {"#BSUB", "-env "}, {"#$", "-v "},
        {"#PJM", "-x "},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        size_t n = strlen(lines[i].mark), option = strlen(lines[i].option);
        if (end - at <= n || memcmp(sh->s + at, lines[i].mark, n) != 0)
            continue;
        const char *found = memmem(sh->s + at + n, end - at - n, lines[i].option, option);
        if (!found)
            continue;
        size_t from = (size_t)(found - sh->s) + option;
        struct shell_word w = shell_next_word(sh->s, from, end);
        if (w.token == SHELL_WORD)
            shell_list(sh, w.at, w.end, ",", LINT_EXPORTED, sh->v->group);
    }
}

/* NAME=value # comment in a file of settings. */
static void find_comment_behind(struct shell *sh, size_t at)
{
    size_t n = sh->nwords > 0 && shell_assignment(sh, 0) ? lint_name_length(sh->s + sh->words[0].at, at) : 0;
    if (n == 0 || sh->nwords > 1 || strcmp(sh->v->t->doc.kind, "env") != 0 ||
        !lint_of_interest(sh->s + sh->words[0].at, n))
        return;
    shell_command(sh);
    if (sh->l->nsettings > sh->v->t->first)
        lint_find(sh->l, NT_CONF_COMMENT, sh->l->settings[sh->l->nsettings - 1],
                  "docker run --env-file takes the comment into the value; Compose and shells do not.",
                  "Give the comment a line of its own.")
            ->severity = FINDING_NOTE;
}

static size_t do_redirect(struct shell *sh, const struct shell_word *mark)
{
    struct shell_word w = shell_next_word(sh->s, mark->end, sh->v->to);
    if (w.token != SHELL_WORD)
        return mark->end;
    if (sh->s[mark->at] == '>' && sh->s[mark->end - 1] != '&')
        sh->target = w;
    return w.end;
}

static size_t do_heredoc(struct shell *sh, size_t at)
{
    struct shell_word w = shell_next_word(sh->s, at, sh->v->to);
    if (w.token == SHELL_WORD && sh->nbodies < MOST_BODIES)
        sh->bodies[sh->nbodies++] = (struct shell_body){w.at, w.end, {0}};
    return w.token == SHELL_WORD ? w.end : at;
}

/* NCCL_ALGO=allreduce:tree;allgather:ring without quotes. */
static void find_cut_value(struct shell *sh, const struct shell_word *w)
{
    const struct lint *l = sh->l;
    const struct lint_setting *s = l->nsettings > sh->v->t->first ? l->settings[l->nsettings - 1] : NULL;
    int grammar = s && s->var && s->value ? (int)s->var->grammar : -1;
    int lists = grammar == ENV_G_ALGO || grammar == ENV_G_PROTO || grammar == ENV_G_GROUPS;
    int devices = (grammar == ENV_G_HCA || grammar == ENV_G_IFNAME) && s->text == sh->v->t && w->end + 2 < sh->v->to &&
                  !strncmp(s->value, sh->s + w->end, 2); /* mlx5_0;mlx5_1 */
    if ((lists || devices) && sh->s[w->at] == ';' && w->end < sh->v->to && !strchr(" \t\r\n", sh->s[w->end]) &&
        s->value_at + s->value_bytes == lint_at(sh->v, w->at))
        lint_find(sh->l, NT_VALUE_CUT, s, "A shell ends the value at ';': NCCL gets \"%.40s\".",
                  "Put the value into quotes.", s->value);
}

/* ( … ): a shell of its own. */
static void do_bracket(struct shell *sh, const struct shell_word *w)
{
    struct lint *l = sh->l;
    char c = w->end == w->at + 1 ? sh->s[w->at] : '\0'; /* not of (( … )) */
    if (c == '(' && sh->nsubshells < MOST_SUBSHELLS)
        sh->subshells[sh->nsubshells++] = (struct subshell){l->nsettings, l->branch};
    if (c != ')' || !sh->nsubshells || sh->subshells[sh->nsubshells - 1].branch != l->branch)
        return;
    lint_end_shell(l, sh->v->t, sh->subshells[--sh->nsubshells].first, sh->v->group);
}

/* Conditions that end here: with the line, ';' or what closes the brackets around them. */
static void end_guards(struct shell *sh)
{
    while (sh->nguards && sh->guards[sh->nguards - 1].depth >= sh->nsubshells + sh->nbraces)
        sh->l->branch = sh->guards[--sh->nguards].outer;
}

/* && or ||: what follows runs only if the command, which asked or failed, says so. One that does something is taken to
 * succeed. */
static void do_condition(struct shell *sh, int is_or, int asks, int one_node)
{
    const int depth = sh->nsubshells + sh->nbraces;
    int open = sh->nguards && sh->guards[sh->nguards - 1].depth == depth;
    if (open && is_or)
        shell_next_arm(sh);
    else if (!open && (is_or || asks) && sh->nguards < MOST_NESTED && !sh->is_csh) {
        sh->guards[sh->nguards++] = (struct guard){sh->l->branch, depth};
        shell_begin_branch(sh, !is_or && one_node);
    }
}

/* NAME ( ) in front of a function's body; `*at` is behind the first bracket, then behind the second. */
static int is_definition(struct shell *sh, const struct shell_word *w, size_t *at)
{
    if (!sh->nwords)
        return 0;
    const struct shell_word *name = &sh->words[sh->nwords - 1];
    size_t close = *at + strspn(sh->s + *at, " \t");
    if (sh->is_csh || w->token != SHELL_SEPARATOR || sh->s[w->at] != '(' || w->end != w->at + 1 || sh->nwords > 2 ||
        close >= sh->v->to || sh->s[close] != ')' ||
        lint_name_length(sh->s + name->at, name->end - name->at) != name->end - name->at ||
        (sh->nwords == 2 && !shell_is(sh, 0, "function")))
        return 0;
    shell_define(sh, name->at, name->end);
    sh->nwords = 0;
    *at = close + 1;
    return 1;
}

/* The end of a command; the here-documents of the line go where it writes to. */
static void do_end(struct shell *sh, const struct shell_word *w)
{
    const int joined = w->token == SHELL_SEPARATOR && w->end == w->at + 2 && sh->s[w->at] == sh->s[w->at + 1];
    const int is_or = joined && sh->s[w->at] == '|', is_and = joined && sh->s[w->at] == '&';
    const int asks = shell_asks(sh), one_node = shell_picks_one(sh);
    const int goes_on = sh->joined && !sh->nwords && w->token == SHELL_NEWLINE;
    struct shell_word target = sh->target;
    int pipe = w->token == SHELL_SEPARATOR && sh->s[w->at] == '|' && w->end == w->at + 1;
    int tee = sh->nbodies > 0 && shell_is(sh, sh->nwords > 0 && shell_is(sh, 0, "sudo"), "tee");
    for (int k = 1; tee && k < sh->nwords; k++)
        if (shell_raw(sh, k)[0] != '-' && !shell_is(sh, k, "tee"))
            target = sh->words[k];
    for (int i = 0; i < sh->nbodies; i++)
        if (target.end)
            sh->bodies[i].target = target;
    size_t first = sh->l->nsettings;
    shell_command(sh);
    if (pipe) /* each part of it is a shell of its own */
        lint_end_shell(sh->l, sh->v->t, first, sh->v->group);
    else
        sh->piped = sh->piped_end = 0;
    if (is_or || is_and)
        do_condition(sh, is_or, asks, one_node);
    else if (!pipe && !goes_on && (w->token != SHELL_SEPARATOR || strchr(";&)", sh->s[w->at])))
        end_guards(sh);
    sh->joined = is_or || is_and || goes_on;
    if (w->token == SHELL_ARM_END)
        shell_next_arm(sh);
    if (w->token == SHELL_SEPARATOR) {
        find_cut_value(sh, w);
        do_bracket(sh, w);
    }
}

static void read_lines(struct shell *sh)
{
    for (size_t at = sh->v->from;;) {
        struct shell_word w = shell_next_word(sh->s, at, sh->v->to);
        at = w.end;
        switch (w.token) {
        case SHELL_WORD:
            if (sh->nwords < MOST_WORDS)
                sh->words[sh->nwords++] = w;
            break;
        case SHELL_COMMENT:
            find_comment_behind(sh, w.at);
            do_comment(sh, w.at, w.end);
            break;
        case SHELL_REDIRECT:
            at = do_redirect(sh, &w);
            break;
        case SHELL_HEREDOC:
            at = do_heredoc(sh, at);
            break;
        default:
            if (is_definition(sh, &w, &at))
                break;
            do_end(sh, &w);
            if (w.token == SHELL_NEWLINE)
                at = read_bodies(sh, at);
            if (w.token == SHELL_END)
                return;
        }
    }
}

/* Whether a name shows up anywhere but in front of '='; where no '=' follows it, anywhere but here. */
static int is_used(const struct lint_text *t, const struct lint_setting *s)
{
    for (const char *p = t->data; (p = strstr(p, s->name)); p += s->name_bytes)
        if ((p != t->data + s->name_at || !strcmp(t->doc.kind, "shell")) &&
            (p[s->name_bytes] != '=' || (p > t->data && (p[-1] == '$' || p[-1] == '{'))))
            return 1;
    return 0;
}

void lint_find_not_exported(struct lint *l, const struct lint_view *v, size_t before)
{
    const struct lint_text *t = v->t;
    if (v->from > 0 || v->to < t->bytes || l->nsettings == before || t->sourced_by)
        return;
    const struct lint_setting *seen[MOST_SEARCHED];
    int unused[MOST_SEARCHED], n = 0;
    for (size_t i = t->first; i < l->nsettings; i++) {
        struct lint_setting *s = l->settings[i];
        int k = 0;
        if (s->how != LINT_ASSIGNED || (s->group && (!s->body || !strncmp(s->body->file, "/dev/", 5))) || !s->var ||
            s->var->last || s->var->scope == ENV_PLUGIN || !s->name_bytes)
            continue;
        while (k < n && seen[k]->var != s->var)
            k++;
        if (k == MOST_SEARCHED)
            continue;
        if (k == n) {
            seen[n] = s;
            unused[n++] = !is_used(s->text, s) && (s->text == t || !strstr(t->data, s->name));
        }
        if (!unused[k])
            continue;
        struct lint_finding *f = lint_find(
            l, NT_NOT_EXPORTED, s, "Without export this stays inside the shell, unless the name was exported before.",
            "Write export before it, or pass it to the launcher.");
        s->not_exported = f;
        const char *data = s->text->data;
        size_t before_it = s->name_at;
        while (before_it > 0 && strchr(" \t", data[before_it - 1]))
            before_it--;
        /* Not behind a continued line: `A=1 export B=2` would be one command, and A set for it alone. */
        if (!strcmp(t->doc.kind, "shell") &&
            (!before_it || (data[before_it - 1] == '\n' && (before_it < 2 || data[before_it - 2] != '\\'))))
            lint_correct(f, LINT_FIX_NAME, arena_printf(l->arena, "export %s", s->name));
    }
}

void lint_read_shell(struct lint *l, const struct lint_view *v)
{
    const struct lint_branch *outer = l->branch;
    const struct lint_function *function = l->function;
    const size_t before = l->nsettings;
    const unsigned flags = v->format->flags;
    struct shell sh = {.l = l, .v = v, .s = v->s, .is_csh = flags & LINT_CSH, .all_exported = flags & LINT_EXPORTS};
    read_lines(&sh);
    l->branch = outer;
    l->function = function;
    if (!(flags & (LINT_CSH | LINT_EXPORTS)))
        lint_find_not_exported(l, v, before);
}
