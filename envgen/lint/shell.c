/* What every part of the shell reader asks of a command's words, and how they become settings. */
#include "envgen/lint/shell.h"

#include <string.h>

/* ---- words ------------------------------------------------------------------------------------------------------- */

const char *shell_raw(const struct shell *sh, int i)
{
    return sh->s + sh->words[i].at;
}

size_t shell_length(const struct shell *sh, int i)
{
    return sh->words[i].end - sh->words[i].at;
}

int shell_is(const struct shell *sh, int i, const char *word)
{
    return i < sh->nwords && shell_length(sh, i) == strlen(word) && !memcmp(shell_raw(sh, i), word, strlen(word));
}

int shell_is_one_of(const struct shell *sh, int i, const char *const *list)
{
    for (; *list; list++)
        if (shell_is(sh, i, *list))
            return 1;
    return 0;
}

size_t shell_assignment(const struct shell *sh, int i)
{
    size_t n = i < sh->nwords ? lint_name_length(shell_raw(sh, i), shell_length(sh, i)) : 0;
    if (n == 0 || n >= shell_length(sh, i))
        return 0;
    const char *s = shell_raw(sh, i);
    return s[n] == '=' || (s[n] == '+' && n + 1 < shell_length(sh, i) && s[n + 1] == '=') ? n : 0;
}

int shell_runs(const struct shell *sh, int i, const char *const *list)
{
    if (i >= sh->nwords)
        return 0;
    const char *s = shell_raw(sh, i);
    size_t n = shell_length(sh, i);
    const char *slash = memrchr(s, '/', n);
    if (slash) {
        n -= (size_t)(slash + 1 - s);
        s = slash + 1;
    }
    for (; *list; list++)
        if (strlen(*list) == n && !memcmp(s, *list, n))
            return 1;
    return 0;
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

/* What container runtimes take away in front of a name before they set it. */
static size_t container_prefix(const char *s, size_t n)
{
    static const char *const prefixes[] = {"SINGULARITYENV_", "APPTAINERENV_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (n > strlen(prefixes[i]) && !memcmp(s, prefixes[i], strlen(prefixes[i])))
            return strlen(prefixes[i]);
    return 0;
}

struct lint_setting *shell_add(struct shell *sh, size_t name, size_t bytes, size_t value, size_t end, enum lint_how how,
                               int group)
{
    size_t prefix = container_prefix(sh->s + name, bytes);
    struct lint_setting *s = lint_setting_new(sh->l, sh->v, name + prefix, bytes - prefix, how);
    if (!s)
        return NULL;
    s->group = group;
    struct lint_literal v = lint_word_literal(sh->l->arena, sh->s, value, end);
    if (v.text)
        lint_set_value(sh->l, s, sh->v, v.text, v.bytes ? v.at : value, v.bytes ? v.bytes : end - value);
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
            s->how = sh->how;
    }
}
