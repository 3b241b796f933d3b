/* One command of a shell script: assignments, export, unset, one command's environment, launcher options, scripts in
 * quotes. Tolerant: what is not understood sets nothing. */
#include <string.h>

#include "envgen/lint/shell.h"

enum { SHELL_BLANKS, EXPORT_COMMA };
static const struct finding_kind kinds[] = {
    [SHELL_BLANKS] = {"NT611", "shell-blanks", FINDING_ERROR, "blanks around '=' set nothing"},
    [EXPORT_COMMA] = {"NT612", "export-comma", FINDING_ERROR, "a value with a comma inside Slurm's --export"},
};

/* ---- words ------------------------------------------------------------------------------------------------------- */

static const char *raw(const struct shell *sh, int i)
{
    return sh->t->data + sh->words[i].at;
}

static size_t raw_length(const struct shell *sh, int i)
{
    return sh->words[i].end - sh->words[i].at;
}

static int is(const struct shell *sh, int i, const char *word)
{
    return i < sh->nwords && raw_length(sh, i) == strlen(word) && !memcmp(raw(sh, i), word, strlen(word));
}

static int is_one_of(const struct shell *sh, int i, const char *const *list)
{
    for (; *list; list++)
        if (is(sh, i, *list))
            return 1;
    return 0;
}

/* Length of NAME when the word is NAME=… (or NAME+=…), else 0. */
static size_t assignment(const struct shell *sh, int i)
{
    size_t n = i < sh->nwords ? lint_name_length(raw(sh, i), raw_length(sh, i)) : 0;
    if (n == 0 || n >= raw_length(sh, i))
        return 0;
    if (raw(sh, i)[n] == '=' || (raw(sh, i)[n] == '+' && n + 1 < raw_length(sh, i) && raw(sh, i)[n + 1] == '='))
        return n;
    return 0;
}

static int base_is(const struct shell *sh, int i, const char *const *list)
{
    const char *s = raw(sh, i);
    size_t n = raw_length(sh, i);
    for (size_t k = n; k > 0; k--)
        if (s[k - 1] == '/') {
            s += k;
            n -= k;
            break;
        }
    for (; *list; list++)
        if (strlen(*list) == n && !memcmp(s, *list, n))
            return 1;
    return 0;
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

/* Marks the line as a setting's own when the words from `first` to `last` are all that is on it. */
static void own_line(struct shell *sh, struct lint_setting *s, size_t from, size_t end)
{
    const struct lint_text *t = sh->t;
    size_t start = from, stop = end;
    while (start > 0 && t->data[start - 1] != '\n')
        start--;
    while (stop < t->bytes && (t->data[stop] == ' ' || t->data[stop] == '\t' || t->data[stop] == '\r'))
        stop++;
    if (strspn(t->data + start, " \t") < from - start || (stop < t->bytes && t->data[stop] != '\n'))
        return;
    if (start > 1 && t->data[start - 2] == '\\') /* goes on from the line before */
        return;
    s->line_at = from;
    s->line_bytes = end - from;
}

static struct lint_setting *add_name(struct shell *sh, size_t at, size_t bytes, enum lint_how how, int group)
{
    if (!env_of_interest(sh->t->data + at, bytes) || sh->l->nsettings - sh->t->first >= LINT_MOST_SETTINGS)
        return NULL;
    struct lint_setting *s = lint_setting_new(sh->l, sh->t, at, bytes, how);
    s->group = group;
    s->branch = sh->branch;
    return s;
}

static struct lint_setting *add(struct shell *sh, size_t name_at, size_t name_bytes, size_t value_at, size_t value_end,
                                enum lint_how how, int group)
{
    struct lint_setting *s = add_name(sh, name_at, name_bytes, how, group);
    if (!s)
        return NULL;
    struct lint_literal v = lint_word_literal(sh->l->arena, sh->t->data, value_at, value_end);
    if (v.text && !lint_is_placeholder(v.text, strlen(v.text))) {
        s->value = v.text;
        s->value_at = v.at;
        s->value_bytes = v.bytes;
    }
    return s;
}

/* NAME=VALUE inside [at, end). */
static struct lint_setting *add_pair(struct shell *sh, size_t at, size_t end, enum lint_how how, int group)
{
    size_t n = lint_name_length(sh->t->data + at, end - at);
    if (n == 0 || at + n >= end || sh->t->data[at + n] != '=')
        return NULL;
    return add(sh, at, n, at + n + 1, end, how, group);
}

/* 'NAME=value' with the quotes around both: inside them nothing is taken away any more. */
static void add_quoted_pair(struct shell *sh, size_t at, size_t end, int group)
{
    const char *s = sh->t->data;
    size_t n = lint_name_length(s + at, end - at), value = at + n + 1;
    struct lint_setting *set =
        n > 0 && value <= end && s[at + n] == '=' ? add_name(sh, at, n, LINT_COMMAND, group) : NULL;
    if (!set || memchr(s + value, '$', end - value) || memchr(s + value, '`', end - value) ||
        memchr(s + value, '\\', end - value) || lint_is_placeholder(s + value, end - value))
        return;
    set->value = arena_strndup(sh->l->arena, s + value, end - value);
    set->value_at = value;
    set->value_bytes = end - value;
}

/* The end of a list's entry: a comma outside of quotes. */
static size_t entry_end(const char *s, size_t at, size_t end)
{
    for (char quote = '\0'; at < end && (quote || s[at] != ','); at++) {
        if (quote ? s[at] == quote : s[at] == '\'' || s[at] == '"')
            quote = quote ? '\0' : s[at];
    }
    return at;
}

/* An entry without '=' names a variable to pass on, unless it is plainly the rest of a value that held a comma. */
static void cut_value(struct shell *sh, const struct lint_setting *before, size_t at, size_t end)
{
    const char *s = sh->t->data;
    if (!before || !before->var || before->var->kind != ENV_LIST || !before->value || end == at)
        return;
    for (size_t i = at; i < end; i++)
        if (s[i] == '=')
            return;
    if (s[at] >= 'A' && s[at] <= 'Z')
        return;
    lint_find(sh->l, &kinds[EXPORT_COMMA], before,
              arena_printf(sh->l->arena,
                           "Slurm cuts the list at its commas: the value is \"%.40s\", and \"%.*s\" is taken for "
                           "the name of a variable.",
                           before->value, (int)(end - at < 40 ? end - at : 40), s + at),
              "Export it in the script, or put the value into single quotes.");
}

void shell_list(struct shell *sh, size_t at, size_t end, enum lint_how how, int group)
{
    const char *s = sh->t->data;
    struct lint_setting *before = NULL;
    if (end - at >= 2 && (s[at] == '"' || s[at] == '\'') && s[end - 1] == s[at]) {
        at++;
        end--;
    }
    while (at < end) {
        size_t stop = entry_end(s, at, end);
        cut_value(sh, before, at, stop);
        before = add_pair(sh, at, stop, how, group);
        at = stop + 1;
    }
}

/* `export NAME` after `NAME=value`: the assignment is in the environment after all. */
static void export_name(struct shell *sh, size_t at, size_t bytes)
{
    if (!env_of_interest(sh->t->data + at, bytes))
        return;
    for (size_t k = sh->t->first; k < sh->l->nsettings; k++) {
        struct lint_setting *s = sh->l->settings[k];
        if (s->how == LINT_ASSIGNED && strlen(s->name) == bytes && !memcmp(s->name, sh->t->data + at, bytes))
            s->how = sh->how;
    }
}

static void blanks_around(struct shell *sh, int name, size_t bytes)
{
    struct lint_setting *s = add_name(sh, sh->words[name].at, bytes, LINT_ASSIGNED, sh->base_group);
    if (!s)
        return;
    lint_find(sh->l, &kinds[SHELL_BLANKS], s, "A shell allows no blanks around '=': this does not set the variable.",
              "Write NAME=value without blanks.");
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

static void do_export(struct shell *sh, int i, enum lint_how how)
{
    for (int first = i; i < sh->nwords; i++) {
        size_t n = assignment(sh, i);
        if (n && i == first && i + 1 == sh->nwords) {
            struct lint_setting *s = add_pair(sh, sh->words[i].at, sh->words[i].end, how, sh->base_group);
            if (s)
                own_line(sh, s, sh->words[0].at, sh->words[i].end);
        } else if (n) {
            if (i + 1 < sh->nwords && sh->words[i].end == sh->words[i].at + n + 1 && sh->words[i + 1].at > 0 &&
                lint_name_length(raw(sh, i + 1), raw_length(sh, i + 1)) < raw_length(sh, i + 1) &&
                !assignment(sh, i + 1))
                blanks_around(sh, i, n);
            else
                add_pair(sh, sh->words[i].at, sh->words[i].end, how, sh->base_group);
        } else if (i + 1 < sh->nwords && raw(sh, i + 1)[0] == '=') {
            blanks_around(sh, i, raw_length(sh, i));
            return;
        } else if (how != LINT_ASSIGNED) {
            export_name(sh, sh->words[i].at, raw_length(sh, i));
        }
    }
}

static void do_unset(struct shell *sh, int i)
{
    for (; i < sh->nwords; i++)
        add_name(sh, sh->words[i].at, lint_name_length(raw(sh, i), raw_length(sh, i)), LINT_UNSET, sh->base_group);
}

static void do_set(struct shell *sh, int i)
{
    for (; i < sh->nwords; i++) {
        const char *s = raw(sh, i);
        size_t n = raw_length(sh, i);
        if (n >= 2 && s[1] != 'o' && (s[0] == '-' || s[0] == '+') && memchr(s, 'a', n))
            sh->all_exported = s[0] == '-';
        else if (is(sh, i, "allexport"))
            sh->all_exported = raw(sh, i - 1)[0] == '-';
    }
}

static void do_setenv(struct shell *sh, int i)
{
    if (i + 1 < sh->nwords)
        add(sh, sh->words[i].at, lint_name_length(raw(sh, i), raw_length(sh, i)), sh->words[i + 1].at,
            sh->words[i + 1].end, LINT_EXPORTED, sh->base_group);
}

/* Options of mpirun, srun, docker, apptainer and others by which a variable reaches a program; a word that ends in '='
 * has its value inside. */
enum form {
    PAIR,       /* NAME=value */
    NAME_VALUE, /* two words */
    LIST,       /* NAME=value,NAME=value */
    SOME_LIST,  /* the same with apptainer, a pair with everything else */
};
static const struct option {
    const char *word;
    enum form form;
} options[] = {
    {"-x", PAIR},          {"-x=", PAIR},      {"-e", PAIR},        {"-e=", PAIR},         {"--env", SOME_LIST},
    {"--env=", SOME_LIST}, {"--export", LIST}, {"--export=", LIST}, {"-genv", NAME_VALUE}, {"-env", NAME_VALUE},
};

static int splits_at_commas(const struct shell *sh, const struct option *o, int i)
{
    static const char *const splitters[] = {"apptainer", "singularity", NULL};
    if (o->form != SOME_LIST)
        return o->form == LIST;
    for (int k = 0; k < i; k++)
        if (base_is(sh, k, splitters))
            return 1;
    return 0;
}

static void do_pair(struct shell *sh, size_t at, size_t end, int group)
{
    const char *s = sh->t->data;
    if (end - at > 2 && (s[at] == '"' || s[at] == '\'') && s[end - 1] == s[at])
        add_quoted_pair(sh, at + 1, end - 1, group);
    else if (!add_pair(sh, at, end, LINT_COMMAND, group))
        export_name(sh, at, end - at);
}

/* Reads one option at word i; returns the last word it took. */
static int do_option(struct shell *sh, int i, int group)
{
    for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++) {
        const struct option *o = &options[k];
        size_t n = strlen(o->word);
        int inside = o->word[n - 1] == '=';
        if (inside ? raw_length(sh, i) <= n || memcmp(raw(sh, i), o->word, n) != 0 : !is(sh, i, o->word))
            continue;
        if (!inside && i + 1 + (o->form == NAME_VALUE) >= sh->nwords)
            return i;
        const struct lint_word *w = &sh->words[inside ? i : i + 1];
        size_t at = inside ? w->at + n : w->at;
        if (o->form == NAME_VALUE) {
            add(sh, at, lint_name_length(sh->t->data + at, w->end - at), w[1].at, w[1].end, LINT_COMMAND, group);
            return i + 2;
        }
        if (splits_at_commas(sh, o, i))
            shell_list(sh, at, w->end, LINT_COMMAND, group);
        else
            do_pair(sh, at, w->end, group);
        return inside ? i : i + 1;
    }
    return i;
}

/* A script in quotes behind -c. */
static void do_script(struct shell *sh, int i, int group)
{
    size_t at = sh->words[i].at, end = sh->words[i].end;
    char quote = sh->t->data[at];
    if (end - at < 2 || (quote != '"' && quote != '\'') || sh->depth >= SHELL_DEPTH)
        return;
    sh->script(sh, at + 1, end - 1, group);
}

/* The command that starts at word i, with the assignments in front of it in `group`. */
static void do_command(struct shell *sh, int i, int group)
{
    static const char *const talkers[] = {"echo", "printf", "grep", "egrep", "sed",   "awk", "perl", "find",
                                          "test", "[",      "[[",   "make",  "cmake", "pip", "git",  NULL};
    static const char *const shells[] = {"bash", "sh", "dash", "zsh", "ksh", NULL};
    static const char *const declarers[] = {"declare", "typeset", "local", "readonly", NULL};
    if (is(sh, i, "export")) {
        do_export(sh, i + 1, sh->how);
    } else if (is_one_of(sh, i, declarers)) {
        int exported =
            i + 1 < sh->nwords && raw(sh, i + 1)[0] == '-' && memchr(raw(sh, i + 1), 'x', raw_length(sh, i + 1));
        do_export(sh, i + 1, exported || sh->all_exported ? sh->how : LINT_ASSIGNED);
    } else if (is(sh, i, "unset") || is(sh, i, "unsetenv")) {
        do_unset(sh, i + 1);
    } else if (is(sh, i, "set")) {
        do_set(sh, i + 1);
    } else if (is(sh, i, "setenv")) {
        do_setenv(sh, i + 1);
    } else if (!is_one_of(sh, i, talkers)) {
        int in_env = 0, in_shell = 0;
        for (; i < sh->nwords; i++) {
            static const char *const env[] = {"env", NULL};
            if (in_env && assignment(sh, i)) {
                add_pair(sh, sh->words[i].at, sh->words[i].end, LINT_COMMAND, group);
                continue;
            }
            if (in_env && raw(sh, i)[0] != '-')
                in_env = 0;
            in_env |= base_is(sh, i, env);
            in_shell |= base_is(sh, i, shells);
            const char *s = raw(sh, i);
            size_t n = raw_length(sh, i);
            if (in_shell && n >= 2 && s[0] == '-' && s[1] != '-' && s[n - 1] == 'c' && i + 1 < sh->nwords)
                do_script(sh, ++i, group);
            else
                i = do_option(sh, i, group);
        }
    }
}

static void arm(struct shell *sh, int open)
{
    if (open || sh->branch) {
        struct lint_branch *b = ARENA_NEW(sh->l->arena, struct lint_branch);
        b->outer = open ? sh->branch : sh->branch->outer;
        b->block = open ? ++sh->l->blocks : sh->branch->block;
        b->arm = open ? 0 : sh->branch->arm + 1;
        sh->branch = b;
    }
}

/* Reserved words in front of a command; returns the command's first word. */
static int do_reserved(struct shell *sh)
{
    static const char *const plain[] = {"then", "do",   "while", "until",   "done", "{", "}",
                                        "!",    "time", "exec",  "command", "sudo", NULL};
    int i = 0;
    for (; i < sh->nwords; i++) {
        if (is(sh, i, "if"))
            arm(sh, 1);
        else if (is(sh, i, "elif") || is(sh, i, "else"))
            arm(sh, 0);
        else if ((is(sh, i, "fi") || is(sh, i, "esac")) && sh->branch)
            sh->branch = sh->branch->outer;
        else if (is(sh, i, "case"))
            return arm(sh, 1), sh->nwords;
        else if (is(sh, i, "for") || is(sh, i, "select"))
            return sh->nwords;
        else if (!is_one_of(sh, i, plain))
            break;
    }
    return i;
}

void shell_command(struct shell *sh)
{
    int i = do_reserved(sh), first = i;
    while (assignment(sh, i))
        i++;
    if (i < sh->nwords && i + 1 < sh->nwords && i == first && raw(sh, i + 1)[0] == '=' &&
        lint_name_length(raw(sh, i), raw_length(sh, i)) == raw_length(sh, i)) {
        blanks_around(sh, i, raw_length(sh, i));
    } else if (i == sh->nwords) {
        for (int k = first; k < i; k++) {
            struct lint_setting *s = add_pair(sh, sh->words[k].at, sh->words[k].end,
                                              sh->all_exported ? sh->how : LINT_ASSIGNED, sh->base_group);
            if (s && i - first == 1 && first == 0)
                own_line(sh, s, sh->words[k].at, sh->words[k].end);
        }
    } else {
        int group = ++sh->l->groups;
        for (int k = first; k < i; k++)
            add_pair(sh, sh->words[k].at, sh->words[k].end, LINT_COMMAND, group);
        do_command(sh, i, group);
    }
    sh->nwords = 0;
}

void shell_next_arm(struct shell *sh)
{
    arm(sh, 0);
}

const struct lint_rules lint_commands = {kinds, sizeof kinds / sizeof *kinds, NULL};
