/* Options by which launchers, containers and batch systems take variables: a table of them, and what is wrong in
 * lists. */
#include <ctype.h>
#include <string.h>

#include "envgen/lint/shell.h"

enum { EXPORT_COMMA, PAIR_BLANKS };
static const struct finding_kind kinds[] = {
    [EXPORT_COMMA] = {"NT612", "export-comma", FINDING_ERROR, "a value with a comma inside Slurm's --export"},
    [PAIR_BLANKS] = {"NT613", "pair-in-two", FINDING_ERROR, "an option takes NAME=value as one word"},
};

enum form {
    PAIR,       /* NAME=value */
    NAME_VALUE, /* two words */
    LIST,       /* NAME=value,NAME=value */
    SOME_LIST,  /* the same with apptainer, a pair with everything else */
    SEMICOLONS, /* NAME=value;NAME=value */
    PATHS,      /* a.b.NAME=value,a.env[0].name=NAME,a.env[0].value=value */
    NAMES,      /* NAME,NAME: passed on */
};
static const struct option {
    const char *word; /* one that ends in '=' has its value inside */
    enum form form;
    const char *program; /* the only one that it belongs to; NULL: whoever */
} options[] = {
    {"-v", LIST, "qsub"},
    {"-env", LIST, "bsub"},
    {"-E", PAIR, NULL},
    {"-x", PAIR, NULL},
    {"-x=", PAIR, NULL},
    {"-e", PAIR, NULL},
    {"-e=", PAIR, NULL},
    {"--env", SOME_LIST, NULL},
    {"--env=", SOME_LIST, NULL},
    {"--envs", PAIR, NULL},
    {"--envs=", PAIR, NULL},
    {"--setenv", PAIR, NULL},
    {"--setenv=", PAIR, NULL},
    {"--export", LIST, NULL},
    {"--export=", LIST, NULL},
    {"--set-env-vars", LIST, NULL},
    {"--set-env-vars=", LIST, NULL},
    {"--update-env-vars", LIST, NULL},
    {"--update-env-vars=", LIST, NULL},
    {"-genv", NAME_VALUE, NULL},
    {"-env", NAME_VALUE, NULL},
    {"-genvlist", NAMES, NULL},
    {"-envlist", NAMES, NULL},
    {"mca_base_env_list", SEMICOLONS, NULL},
    {"--set", PATHS, "helm"},
    {"--set-string", PATHS, "helm"},
    {"--container-env", NAMES, NULL},
    {"--container-env=", NAMES, NULL},
};

static int runs_before(const struct shell *sh, int i, const char *const *programs)
{
    for (int k = 0; k < i; k++)
        if (shell_runs(sh, k, programs))
            return 1;
    return 0;
}

static int belongs(const struct shell *sh, const struct option *o, int i)
{
    return !o->program || runs_before(sh, i, (const char *const[]){o->program, NULL});
}

static void strip_quotes(const char *s, size_t *at, size_t *end)
{
    if (*end - *at >= 2 && (s[*at] == '"' || s[*at] == '\'') && s[*end - 1] == s[*at]) {
        ++*at;
        --*end;
    }
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* The end of a list's entry: a mark outside of quotes. */
static size_t entry_end(const char *s, size_t at, size_t end, char mark)
{
    for (char quote = '\0'; at < end && (quote || s[at] != mark); at++) {
        if (quote ? s[at] == quote : s[at] == '\'' || s[at] == '"')
            quote = quote ? '\0' : s[at];
    }
    return at;
}

/* An entry without '=' names a variable to pass on, unless it is plainly the rest of a value that held a comma. */
static void cut_value(struct shell *sh, const struct lint_setting *before, size_t at, size_t end)
{
    const char *s = sh->s;
    if (!before || !before->var || before->var->kind != ENV_LIST || !before->value || end == at ||
        memchr(s + at, '=', end - at) || (s[at] >= 'A' && s[at] <= 'Z'))
        return;
    lint_find(sh->l, &kinds[EXPORT_COMMA], before,
              arena_printf(sh->l->arena,
                           "Slurm cuts the list at its commas: the value is \"%.40s\", and \"%.*s\" is taken for "
                           "the name of a variable.",
                           before->value, (int)(end - at < 40 ? end - at : 40), s + at),
              "Export it in the script, or put the value into single quotes.");
}

void shell_list(struct shell *sh, size_t at, size_t end, char mark, enum lint_how how, int group)
{
    struct lint_setting *before = NULL;
    strip_quotes(sh->s, &at, &end);
    while (at < end) {
        size_t stop = entry_end(sh->s, at, end, mark);
        at += strspn(sh->s + at, " ");
        if (at > stop)
            break;
        if (mark == ',')
            cut_value(sh, before, at, stop);
        before = shell_pair(sh, at, stop, how, group);
        if (!before)
            shell_export_name(sh, at, stop - at);
        at = stop + 1;
    }
}

/* helm --set: the name is the last part of a path, or the value of one that ends in ".name". */
static void paths(struct shell *sh, size_t at, size_t end, int group)
{
    const char *s = sh->s;
    size_t name = 0, bytes = 0;
    strip_quotes(s, &at, &end);
    while (at < end) {
        size_t stop = entry_end(s, at, end, ',');
        const char *equals = memchr(s + at, '=', stop - at);
        size_t value = equals ? (size_t)(equals - s) + 1 : stop, last = value > at ? value - 1 : at;
        while (last > at && s[last - 1] != '.')
            last--;
        if (equals && value - 1 - last == 4 && !memcmp(s + last, "name", 4)) {
            name = value;
            bytes = stop - value;
        } else if (equals && value - 1 - last == 5 && !memcmp(s + last, "value", 5) && bytes) {
            shell_add(sh, name, bytes, value, stop, LINT_COMMAND, group);
        } else if (equals) {
            shell_add(sh, last, value - 1 - last, value, stop, LINT_COMMAND, group);
        }
        at = stop + 1;
    }
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

/* 'NAME=value' with the quotes around both: inside them nothing is taken away any more. */
static void quoted_pair(struct shell *sh, size_t at, size_t end, int group)
{
    const char *s = sh->s;
    size_t n = lint_name_length(s + at, end - at), value = at + n + 1;
    struct lint_setting *set =
        n > 0 && value <= end && s[at + n] == '=' ? lint_setting_new(sh->l, sh->v, at, n, LINT_COMMAND) : NULL;
    if (!set)
        return;
    set->group = group;
    if (!memchr(s + value, '$', end - value) && !memchr(s + value, '`', end - value) &&
        !memchr(s + value, '\\', end - value))
        lint_set_value(sh->l, set, sh->v, NULL, value, end - value);
}

/* A word that can only be meant as a value: a number, INFO, eth0, mlx5_0,mlx5_1. */
static int is_value(const struct shell *sh, int i)
{
    static const char *const begins[] = {"eth",   "mlx5", "ib",     "^",    "=",   "true",
                                         "false", "AF_",  "Simple", "Ring", "Tree"};
    size_t n = i < sh->nwords ? shell_length(sh, i) : 0;
    const char *s = n ? shell_raw(sh, i) : "";
    size_t capitals = 0;
    for (size_t k = 0; k < sizeof begins / sizeof *begins; k++)
        if (n >= strlen(begins[k]) && !memcmp(s, begins[k], strlen(begins[k])))
            return 1;
    while (capitals < n && (isupper((unsigned char)s[capitals]) || isdigit((unsigned char)s[capitals])))
        capitals++;
    return n > 0 && capitals == n;
}

/* "-x NAME VALUE", "-x NAME= VALUE", "-x NAME =VALUE". */
static int in_two(struct shell *sh, int i, size_t at, int group)
{
    size_t n = lint_name_length(sh->s + at, sh->words[i].end - at), end = sh->words[i].end;
    int empty = at + n + 1 == end && sh->s[at + n] == '=';
    if (n == 0 || (at + n != end && !empty) || !is_value(sh, i + 1))
        return 0;
    struct lint_setting *s = lint_setting_new(sh->l, sh->v, at, n, LINT_COMMAND);
    if (!s)
        return 0;
    s->group = group;
    lint_find(sh->l, &kinds[PAIR_BLANKS], s,
              arena_printf(sh->l->arena, "The option takes one word: \"%.*s\" is not a part of it.",
                           (int)(shell_length(sh, i + 1) < 40 ? shell_length(sh, i + 1) : 40), shell_raw(sh, i + 1)),
              "Write NAME=value without blanks.");
    return 1;
}

static void pair(struct shell *sh, int i, size_t at, size_t end, int group)
{
    const char *s = sh->s;
    if (end - at > 2 && (s[at] == '"' || s[at] == '\'') && s[end - 1] == s[at])
        quoted_pair(sh, at + 1, end - 1, group);
    else if (!in_two(sh, i, at, group) && !shell_pair(sh, at, end, LINT_COMMAND, group))
        shell_export_name(sh, at, end - at);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static const struct option *option_at(const struct shell *sh, int i)
{
    for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++) {
        size_t n = strlen(options[k].word);
        int inside = options[k].word[n - 1] == '=';
        if ((inside ? shell_length(sh, i) > n && !memcmp(shell_raw(sh, i), options[k].word, n)
                    : shell_is(sh, i, options[k].word)) &&
            belongs(sh, &options[k], i))
            return &options[k];
    }
    return NULL;
}

int shell_option(struct shell *sh, int i, int group)
{
    static const char *const splitters[] = {"apptainer", "singularity", NULL};
    const struct option *o = option_at(sh, i);
    if (!o)
        return i;
    size_t n = strlen(o->word);
    int inside = o->word[n - 1] == '=', at_word = inside ? i : i + 1;
    if (at_word + (o->form == NAME_VALUE) >= sh->nwords)
        return i;
    const struct lint_word *w = &sh->words[at_word];
    size_t at = inside ? w->at + n : w->at;
    switch (o->form) {
    case NAME_VALUE:
        shell_add(sh, at, lint_name_length(sh->s + at, w->end - at), w[1].at, w[1].end, LINT_COMMAND, group);
        return i + 2;
    case PATHS:
        paths(sh, at, w->end, group);
        break;
    case SEMICOLONS:
        shell_list(sh, at, w->end, ';', LINT_COMMAND, group);
        break;
    case PAIR:
        pair(sh, at_word, at, w->end, group);
        break;
    case SOME_LIST:
        if (!runs_before(sh, i, splitters)) {
            pair(sh, at_word, at, w->end, group);
            break;
        }
        __attribute__((fallthrough));
    default:
        shell_list(sh, at, w->end, ',', LINT_COMMAND, group);
        break;
    }
    return at_word;
}

const struct lint_rules lint_commands = {kinds, sizeof kinds / sizeof *kinds, NULL};
