/* One command of a shell script: assignments, export, unset, one command's environment, scripts in quotes, what is
 * written to files. Tolerant: what is not understood sets nothing. */
#include <ctype.h>
#include <string.h>

#include "lint/shell.h"

/* ---- settings ---------------------------------------------------------------------------------------------------- */

/* Marks the line as a setting's own when the words from `from` to `end` are all that is on it, in the document too. */
static void mark_own_line(struct shell *sh, struct lint_setting *s, size_t from, size_t end)
{
    const struct lint_text *t = sh->v->t;
    size_t at = lint_at(sh->v, from), bytes = end - from, start = at, stop = at + bytes;
    if (stop > t->bytes || memcmp(t->data + at, sh->s + from, bytes) != 0)
        return;
    while (start > 0 && t->data[start - 1] != '\n')
        start--;
    while (stop < t->bytes && strchr(" \t\r", t->data[stop]))
        stop++;
    if (strspn(t->data + start, " \t") < at - start || (stop < t->bytes && t->data[stop] != '\n'))
        return;
    if (start > 1 && t->data[start - 2] == '\\') /* goes on from the line before */
        return;
    s->line_at = at;
    s->line_bytes = bytes;
}

/* A word NAME=value or $NAME=value where it sets nothing. */
static void find_no_assignment(struct shell *sh, int i, const char *says, const char *advice)
{
    size_t at = sh->words[i].at + (shell_raw(sh, i)[0] == '$'), end = sh->words[i].end;
    size_t n = at < end ? lint_name_length(sh->s + at, end - at) : 0;
    int pair = n > 0 && at + n < end && sh->s[at + n] == '=';
    struct lint_setting *s = pair ? lint_setting_new(sh->l, sh->v, at, n, LINT_COMMAND) : NULL;
    if (!s)
        return;
    s->group = ++sh->l->groups;
    s->nothing = 1;
    lint_find(sh->l, NT_SHELL_BLANKS, s, "%s", advice, says);
}

/* Four words are a sentence, and so is a line in quotes. */
static void find_blanks(struct shell *sh, int name, size_t bytes)
{
    int inner = sh->l->depth > 0 && !memchr(sh->s + sh->v->from, '\n', sh->v->to - sh->v->from);
    if (inner || (name == 0 && sh->nwords > 3)) {
        lint_understood(sh->l, sh->v, sh->words[name].at);
        return;
    }
    struct lint_setting *s = lint_setting_new(sh->l, sh->v, sh->words[name].at, bytes, LINT_ASSIGNED);
    if (!s)
        return;
    struct lint_finding *f =
        lint_find(sh->l, NT_SHELL_BLANKS, s, "A shell allows no blanks around '=': this does not set the variable.",
                  "Write NAME=value without blanks.");
    const struct shell_word *word = &sh->words[name], *equals = word + 1;
    if (!sh->v->map && word->at + bytes == word->end && name + 2 < sh->nwords && equals->end == equals->at + 1 &&
        sh->s[equals->at] == '=') {
        lint_correct(f, LINT_FIX_NAME, arena_printf(sh->l->arena, "%s=", s->name)); /* up to the value */
        f->behind = word[2].at - word->end;
    }
}

/* MPI_FLAGS="-x NAME=value", out=$(NAME=value program): what an assignment of the script's own, word k, holds for a
 * launcher, or what fills it. */
static void read_held(struct shell *sh, int k)
{
    size_t n = shell_assignment(sh, k), at = sh->words[k].at + n, end = sh->words[k].end;
    at += 1 + (n > 0 && sh->s[at] == '+');
    if (n == 0 || end < at + 6 || !strchr("\"'($", sh->s[at]) || !lint_names_any(sh->s + at, end - at) ||
        env_var_find(arena_strndup(sh->l->arena, shell_raw(sh, k), n)))
        return;
    if (n == 26 && !memcmp(shell_raw(sh, k), "OMPI_MCA_mca_base_env_list", 26)) {
        shell_list(sh, at, end, ";", LINT_EXPORTED, sh->v->group);
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

/* ---- commands that set ------------------------------------------------------------------------------------------- */

/* mlx5_3, mlx5_3:1,mlx5_4, with a comma behind where the list goes on: the length without it; 0: something else. */
static size_t device_length(const char *word, size_t bytes)
{
    size_t n = bytes - (word[bytes - 1] == ',');
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)word[i]) && !strchr("_.:,", word[i]))
            return 0;
    return n > 0 && isalpha((unsigned char)word[0]) && isdigit((unsigned char)word[n - 1]) ? n : 0;
}

/* The value of word i with the words behind it that its list goes on with, where only blanks part them. */
static void join_list(struct shell *sh, int i, const struct lint_setting *s, struct lint_finding *f)
{
    const struct lint_text *t = sh->v->t;
    size_t end = sh->words[i].end, from = s->value_at, bytes = s->value_bytes;
    const char *joined = arena_strndup(sh->l->arena, t->data + from, bytes);
    if (lint_at(sh->v, end) != from + bytes)
        return;
    for (int more = 1; more; end = sh->words[i].end) {
        size_t gap = ++i < sh->nwords ? sh->words[i].at - end : 0;
        size_t n = gap ? device_length(shell_raw(sh, i), shell_length(sh, i)) : 0;
        if (!n || strspn(sh->s + end, " \t") != gap)
            return;
        more = n < shell_length(sh, i);
        joined = arena_printf(sh->l->arena, "%s%.*s", joined, (int)shell_length(sh, i), shell_raw(sh, i));
        bytes += gap + shell_length(sh, i);
    }
    if ((end < sh->v->to && !strchr(" \t\r\n", sh->s[end])) || lint_at(sh->v, end) != from + bytes)
        return;
    lint_correct(f, LINT_FIX_VALUE, joined);
    f->behind = bytes - s->value_bytes;
}

/* export NAME=mlx5_0, mlx5_1; export NAME=(mlx5_0 mlx5_1) */
static void find_rest_of_list(struct shell *sh, int i, const struct lint_setting *s)
{
    if (s && i + 1 < sh->nwords && sh->s[sh->words[i].end - 1] == ',' && !shell_assignment(sh, i + 1))
        join_list(sh, i, s,
                  lint_find(sh->l, NT_SHELL_BLANKS, s,
                            "A shell ends the value at the blank: the rest of the list is lost.",
                            "Write the list without blanks."));
    if (s && sh->s[sh->words[i].at + s->name_bytes + 1] == '(')
        lint_find(sh->l, NT_SHELL_BLANKS, s, "A shell never exports an array: programs do not see it.",
                  "Write the list with commas and without brackets.");
}

/* export NCCL_DEBUG INFO: two words, the first a name that nothing has set above, the second none of NCCL's. */
static int lacks_equals(const struct shell *sh, int i)
{
    if (sh->nwords != i + 2 || strncmp(shell_raw(sh, i), "NCCL_", 5) != 0 || shell_assignment(sh, i + 1) ||
        !strncmp(shell_raw(sh, i + 1), "NCCL_", 5) || !isalnum((unsigned char)*shell_raw(sh, i + 1)))
        return 0;
    for (size_t k = sh->v->t->first; k < sh->l->nsettings; k++)
        if (strlen(sh->l->settings[k]->name) == shell_length(sh, i) &&
            !memcmp(sh->l->settings[k]->name, shell_raw(sh, i), shell_length(sh, i)))
            return 0;
    return 1;
}

static void do_export(struct shell *sh, int i, enum lint_how how)
{
    for (int first = i; i < sh->nwords; i++) {
        size_t n = shell_assignment(sh, i);
        if (n && i == first && i + 1 == sh->nwords) {
            struct lint_setting *s = shell_pair(sh, sh->words[i].at, sh->words[i].end, how, sh->v->group);
            read_held(sh, i);
            find_rest_of_list(sh, i, s);
            if (s)
                mark_own_line(sh, s, sh->words[0].at, sh->words[i].end);
        } else if (n) {
            read_held(sh, i);
            if (i + 1 < sh->nwords && sh->words[i].end == sh->words[i].at + n + 1 && sh->words[i + 1].at > 0 &&
                lint_name_length(shell_raw(sh, i + 1), shell_length(sh, i + 1)) < shell_length(sh, i + 1) &&
                !shell_assignment(sh, i + 1))
                find_blanks(sh, i, n);
            else
                find_rest_of_list(sh, i, shell_pair(sh, sh->words[i].at, sh->words[i].end, how, sh->v->group));
        } else if (i + 1 < sh->nwords && shell_raw(sh, i + 1)[0] == '=') {
            find_blanks(sh, i, shell_length(sh, i));
            return;
        } else if (shell_raw(sh, i)[0] == '$') {
            find_no_assignment(sh, i, "With '$' the variable's value replaces its name.", "Write export NAME=value.");
        } else if (how == LINT_EXPORTED && i == first && lacks_equals(sh, i)) {
            struct lint_setting *s =
                lint_setting_new(sh->l, sh->v, sh->words[i].at, shell_length(sh, i), LINT_ASSIGNED);
            if (s)
                lint_find(sh->l, NT_SHELL_BLANKS, s, "Without '=' this exports two names and sets nothing.",
                          "Write export NAME=value.");
            return;
        } else if (how != LINT_ASSIGNED) {
            shell_export_name(sh, sh->words[i].at, shell_length(sh, i));
        }
    }
}

static void do_unset(struct shell *sh, int i)
{
    for (; i < sh->nwords; i++) {
        if (shell_assignment(sh, i)) {
            find_no_assignment(sh, i, "unset takes only names: this neither sets nor unsets the variable.",
                               "Write unset NAME, or export NAME=value.");
            continue;
        }
        lint_setting_new(sh->l, sh->v, sh->words[i].at, lint_name_length(shell_raw(sh, i), shell_length(sh, i)),
                         LINT_UNSET);
    }
}

/* set -a */
static void do_set(struct shell *sh, int i)
{
    if (!sh->is_csh && i + 1 == sh->nwords && !strcmp(sh->v->t->doc.kind, "shell"))
        find_no_assignment(sh, i, "In a shell, set NAME=value sets $1 and no variable.", "Write export NAME=value.");
    for (; i < sh->nwords; i++) {
        const char *s = shell_raw(sh, i);
        size_t n = shell_length(sh, i);
        if (n >= 2 && s[1] != 'o' && (s[0] == '-' || s[0] == '+') && memchr(s, 'a', n))
            sh->all_exported = s[0] == '-';
        else if (shell_is(sh, i, "allexport"))
            sh->all_exported = shell_raw(sh, i - 1)[0] == '-';
    }
}

/* Only C shells and modules have setenv, or a function of that name: a script that speaks of none, and exports, does
 * not.
 */
static int lacks_setenv(const struct shell *sh)
{
    struct lint_text *t = sh->v->t;
    return !sh->is_csh && !strcmp(t->doc.kind, "shell") && !lint_speaks_of(t, "csh") &&
           !lint_speaks_of(t, "setenv()") && !lint_speaks_of(t, "setenv ()") && !lint_speaks_of(t, "function setenv") &&
           (lint_speaks_of(t, "export") || lint_speaks_of(t, "bash"));
}

static void do_setenv(struct shell *sh, int i)
{
    if (i + 1 == sh->nwords)
        find_no_assignment(sh, i, "setenv takes name and value as two words: this sets nothing.",
                           "Write setenv NAME value.");
    if (i + 1 < sh->nwords) {
        struct lint_setting *s = shell_add(sh, sh->words[i].at, lint_name_length(shell_raw(sh, i), shell_length(sh, i)),
                                           sh->words[i + 1].at, sh->words[i + 1].end, LINT_EXPORTED, sh->v->group);
        if (s && (s->nothing = lacks_setenv(sh)))
            lint_find(sh->l, NT_SHELL_BLANKS, s, "This shell has no command setenv: the line sets nothing.",
                      "Write export NAME=value.");
        if (s && i + 2 == sh->nwords)
            mark_own_line(sh, s, sh->words[0].at, sh->words[i + 1].end);
    }
}

/* : "${NAME:=value}" */
static void do_nothing(struct shell *sh, int i)
{
    for (; i < sh->nwords; i++) {
        size_t at = sh->words[i].at, end = sh->words[i].end;
        if (end - at > 2 && sh->s[at] == '"') {
            at++;
            end--;
        }
        if (end - at < 5 || memcmp(sh->s + at, "${", 2) != 0 || sh->s[end - 1] != '}')
            continue;
        size_t n = lint_name_length(sh->s + at + 2, end - at - 3), value = at + 2 + n;
        value += sh->s[value] == ':';
        if (sh->s[value] == '=')
            shell_add(sh, at + 2, n, value + 1, end - 1, sh->all_exported ? sh->v->how : LINT_ASSIGNED, sh->v->group);
    }
}

/* ---- a command --------------------------------------------------------------------------------------------------- */

static int is_trivial(const struct shell *sh, int i)
{
    static const char trivial[] =
        "export|unset|set|declare|typeset|local|readonly|echo|printf|cd|mkdir|exit|wait|date|sleep|test|[|[[|true|:|"
        "shift|return|chmod|trap|shopt|ulimit|rm|cp|mv|touch|setenv|unsetenv|pushd|popd|cat|tee|ls|pwd|break|continue|"
        "false|hostname|which|env|grep|sed|awk|read|let|type|end|endif|alias|pip";
    return shell_runs(sh, i, trivial);
}

/* One that only prints or looks, or whose NAME=value is its own matter. */
static int is_talker(const struct shell *sh, int i)
{
    const char *name = shell_raw(sh, i);
    const size_t n = shell_length(sh, i);
    return (lint_name_length(name, n) == n &&
            word_in("log|info|warn|msg|usage|die|echo|print", WORD_OCCURS, name, n)) ||
           shell_is(sh, i, "grep|egrep|sed|awk|perl|find|test|[|[[|make|cmake|pip|git|cat");
}

/* The words of a program that is started: env's assignments, options, scripts in quotes. */
static void do_program(struct shell *sh, int i, int group)
{
    int in_env = 0, in_shell = 0, in_python = 0;
    for (; i < sh->nwords; i++) {
        if (in_env && shell_assignment(sh, i)) {
            shell_pair(sh, sh->words[i].at, sh->words[i].end, LINT_COMMAND, group);
            continue;
        }
        const char *s = shell_raw(sh, i);
        size_t n = shell_length(sh, i);
        if (in_env && s[0] != '-')
            in_env = 0;
        in_env |= shell_runs(sh, i, "env") || (i > 0 && shell_is(sh, i - 1, "vars") && shell_is(sh, i, "set"));
        in_env |= i > 0 && shell_is(sh, i, "env") && shell_is(sh, i - 1, "set") ? 2 : 0;
        in_env |= in_env == 0 && i > 0 && shell_is(sh, 0, "kubectl") && shell_assignment(sh, i) ? 2 : 0;
        in_shell |= shell_runs(sh, i, "bash|sh|dash|zsh|ksh");
        in_python |= shell_runs(sh, i, "python|python3");
        if (in_env == 2 && shell_assignment(sh, i))
            shell_pair(sh, sh->words[i].at, sh->words[i].end, LINT_COMMAND, group);
        else if ((in_shell || in_python) && n >= 2 && s[0] == '-' && s[1] != '-' && s[n - 1] == 'c' &&
                 i + 1 < sh->nwords)
            shell_script(sh, ++i, in_python && !in_shell ? "code.py" : "code.sh", group);
        else if (s[0] != '-' || n < 3 || !memchr(s, '{', n))
            i = shell_option(sh, i, group);
        if (i < sh->nwords)
            shell_json(sh, i, group);
    }
}

static void do_declare(struct shell *sh, int i)
{
    int exported = i + 1 < sh->nwords && shell_raw(sh, i + 1)[0] == '-' &&
                   memchr(shell_raw(sh, i + 1), 'x', shell_length(sh, i + 1));
    do_export(sh, i + 1, exported || sh->all_exported ? sh->v->how : LINT_ASSIGNED);
}

/* The command that starts at word i, with the assignments in front of it in `group`. */
static void do_command(struct shell *sh, int i, int group)
{
    size_t piped = sh->piped, piped_end = sh->piped_end;
    sh->piped = sh->piped_end = 0;
    if (shell_is(sh, i, "export"))
        do_export(sh, i + 1, sh->v->how);
    else if (shell_is(sh, i, "!export")) /* of a notebook: a shell of its own */
        do_export(sh, i + 1, LINT_SUBSHELL);
    else if (shell_is(sh, i, "declare|typeset|local|readonly"))
        do_declare(sh, i);
    else if (shell_is(sh, i, "unset|unsetenv"))
        do_unset(sh, i + 1);
    else if (shell_is(sh, i, "set"))
        do_set(sh, i + 1);
    else if (shell_is(sh, i, "setenv|pushenv"))
        do_setenv(sh, i + 1);
    else if (shell_is(sh, i, ".|source") && i + 1 < sh->nwords) {
        /* of a script that is the whole document */
        if (sh->l->read_sourced && !sh->l->depth && !sh->is_csh && !strcmp(sh->v->t->doc.kind, "shell"))
            sh->l->read_sourced(sh->l, sh->v, sh->words[i + 1].at, sh->words[i + 1].end, sh->all_exported);
    } else if (shell_is(sh, i, ":"))
        do_nothing(sh, i + 1);
    else if (shell_is(sh, i, "echo|printf"))
        shell_print(sh, i);
    else if (shell_is(sh, i, "tee"))
        shell_tee(sh, i, piped, piped_end);
    else if (is_talker(sh, i))
        lint_talked_of(sh->l, sh->v, sh->words[i].at, sh->words[sh->nwords - 1].end);
    else if (!shell_launch(sh, i, group))
        do_program(sh, i, group);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Whether a condition picks one rank or node: [ $SLURM_NODEID -eq 0 ]. */
int shell_picks_one(const struct shell *sh)
{
    int number = 0, zero = 0;
    for (int i = 1; i < sh->nwords; i++) {
        const char *s = shell_raw(sh, i);
        const size_t n = shell_length(sh, i);
        number |=
            memchr(s, '$', n) && word_in("NODEID|PROCID|RANK|rank", WORD_OCCURS, s, n) && !memmem(s, n, "LOCAL", 5);
        zero |= shell_is(sh, i, "0|\"0\"");
    }
    return number && zero;
}

void shell_begin_branch(struct shell *sh, int one_node)
{
    struct lint_branch *b = ARENA_NEW(sh->l->arena, struct lint_branch);
    *b = (struct lint_branch){.outer = sh->l->branch, .block = ++sh->l->blocks, .one_node = one_node};
    sh->l->branch = b;
}

void shell_next_arm(struct shell *sh)
{
    const struct lint_branch *now = sh->l->branch;
    struct lint_branch *b = now ? ARENA_NEW(sh->l->arena, struct lint_branch) : NULL;
    if (b)
        *b = (struct lint_branch){.outer = now->outer, .block = now->block, .arm = now->arm + 1};
    sh->l->branch = b;
}

static void end_arm(struct shell *sh)
{
    sh->l->branch = sh->l->branch ? sh->l->branch->outer : NULL;
}

int shell_asks(const struct shell *sh)
{
    int i = 0;
    while (shell_is(sh, i, "if|elif|while|until|then|do|else|!|{"))
        i++;
    return i == sh->nwords || shell_runs(sh, i, "[|[[|test|grep|egrep|command|which|type|hash|true|false|declare");
}

/* Whether the script names it elsewhere, be it in a remark: only then may it be called. */
static int is_named_again(struct lint_text *t, const char *name)
{
    const size_t n = strlen(name);
    for (const char *p = t->data; t->searches++ < LINT_SEARCHES && (p = strstr(p, name)); p += n) {
        const char *behind = p + n + strspn(p + n, " \t");
        int whole = (p == t->data || (!lint_name_length(p - 1, 1) && !isdigit((unsigned char)p[-1]))) &&
                    !lint_name_length(p + n, 1) && !isdigit((unsigned char)p[n]);
        if (whole && *behind != '(' && (p - t->data < 9 || strncmp(p - 9, "function ", 9) != 0))
            return 1;
    }
    return t->searches > LINT_SEARCHES;
}

void shell_define(struct shell *sh, size_t at, size_t end)
{
    struct lint_function *f = ARENA_NEW(sh->l->arena, struct lint_function);
    f->name = arena_strndup(sh->l->arena, sh->s + at, end - at);
    f->is_named = is_named_again(sh->v->t, f->name);
    sh->defined = f;
}

/* A brace, which may begin or end the body of a function. */
static void do_brace(struct shell *sh, int open)
{
    if (open && sh->nbraces < MOST_NESTED) {
        sh->braces[sh->nbraces++] = sh->l->function;
        sh->l->function = sh->defined ? sh->defined : sh->l->function;
    } else if (!open && sh->nbraces) {
        sh->l->function = sh->braces[--sh->nbraces];
    }
    sh->defined = NULL;
}

/* Reserved words in front of a command; returns the command's first word. */
static int do_reserved(struct shell *sh)
{
    int i = 0;
    for (; i < sh->nwords; i++) {
        if (shell_is(sh, i, "if"))
            shell_begin_branch(sh, shell_picks_one(sh));
        else if (shell_is(sh, i, "elif|else"))
            shell_next_arm(sh);
        else if (shell_is(sh, i, "fi|esac|endif|endsw"))
            end_arm(sh);
        else if (!sh->is_csh && shell_is(sh, i, "while|until")) {
            int endless = shell_is(sh, i + 1, "true|:");
            sh->loops = sh->loops << 1 | !endless;
            if (!endless)
                shell_begin_branch(sh, shell_picks_one(sh));
        } else if (shell_is(sh, i, "done")) {
            if (sh->loops & 1)
                end_arm(sh);
            sh->loops >>= 1;
        } else if (!sh->is_csh && shell_is(sh, i, "{|}"))
            do_brace(sh, shell_is(sh, i, "{"));
        else if (shell_is(sh, i, "function") && i + 1 < sh->nwords) {
            i++;
            shell_define(sh, sh->words[i].at, sh->words[i].end);
        } else if (shell_is(sh, i, "case|switch"))
            return shell_begin_branch(sh, shell_picks_one(sh)), sh->nwords;
        else if (shell_is(sh, i, "for|select|foreach"))
            return sh->loops <<= 1, sh->nwords;
        else if (shell_is(sh, i, "sudo")) {
            while (i + 1 < sh->nwords && shell_raw(sh, i + 1)[0] == '-')
                i++;
        } else if (!shell_is(sh, i, "then|do|while|until|{|}|!|time|exec|command|nohup|builtin|$"))
            break;
    }
    return i;
}

static void do_assignments(struct shell *sh, int first, int end)
{
    for (int k = first; k < end; k++) {
        read_held(sh, k);
        struct lint_setting *s = shell_pair(sh, sh->words[k].at, sh->words[k].end,
                                            sh->all_exported ? sh->v->how : LINT_ASSIGNED, sh->v->group);
        if (s && end - first == 1 && first == 0)
            mark_own_line(sh, s, sh->words[k].at, sh->words[k].end);
    }
}

void shell_command(struct shell *sh)
{
    const struct lint_function *defined = sh->defined;
    int i = do_reserved(sh), first = i;
    while (shell_assignment(sh, i))
        i++;
    if (i < sh->nwords && i + 1 < sh->nwords && i == first && shell_raw(sh, i + 1)[0] == '=' &&
        lint_name_length(shell_raw(sh, i), shell_length(sh, i)) == shell_length(sh, i)) {
        find_blanks(sh, i, shell_length(sh, i));
    } else if (i == sh->nwords) {
        do_assignments(sh, first, i);
    } else {
        int group = ++sh->l->groups;
        for (int k = first; k < i; k++)
            shell_pair(sh, sh->words[k].at, sh->words[k].end, LINT_COMMAND, group);
        sh->v->t->commands += !is_trivial(sh, i);
        do_command(sh, i, group);
    }
    if (sh->nwords && sh->defined == defined) /* no body has followed */
        sh->defined = NULL;
    sh->nwords = 0;
    sh->target.end = 0;
}
