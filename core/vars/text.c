/* Character sets, quoting and comments. */
#include "core/vars/text.h"

#include <string.h>

#include "core/vars/catalogue.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"
#define COLUMNS 100

static int consists_of(const char *s, const char *set, size_t longest)
{
    size_t n = s ? strlen(s) : 0;
    return n > 0 && n <= longest && strspn(s, set) == n;
}

int env_name_ok(const char *name)
{
    return consists_of(name, LETTERS DIGITS "_", 100) && strchr(LETTERS, *name);
}

int env_value_ok(const char *value)
{
    return consists_of(value, LETTERS DIGITS "_.,:/^+-=@%", 1000);
}

int env_path_ok(const char *path)
{
    return env_value_ok(path) && *path == '/';
}

int env_check(const char *name, const char *value, struct err *e)
{
    if (!env_name_ok(name))
        return err_set(e, ERR_FAILED, "'%s' is not a setting's name: expected letters, digits and '_'",
                       name ? name : "");
    const char *why =
        env_value_ok(value) ? env_undeliverable(name, value) : "has a value that settings files cannot express";
    return why ? err_set(e, ERR_FAILED, "setting %s=%s %s", name, value ? value : "", why) : 0;
}

char *env_shell_quote(struct arena *a, const char *s)
{
    char *out = arena_alloc(a, strlen(s) * 4 + 3), *o = out;
    *o++ = '\'';
    for (; *s; s++) {
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return NULL;
        if (*s == '\'')
            o = stpcpy(o, "'\\''");
        else
            *o++ = *s;
    }
    stpcpy(o, "'");
    return out;
}

const char *env_shell_word(struct arena *a, const char *s)
{
    return env_value_ok(s) ? s : env_shell_quote(a, env_comment(a, s));
}

char *env_comment(struct arena *a, const char *s)
{
    return err_mask_controls(arena_strdup(a, s));
}

static char *one_line(struct arena *a, const char *s)
{
    char *out = env_comment(a, s);
    for (char *p = out; *p; p++)
        if (*p == '\\' || (unsigned char)*p > 0x7e)
            *p = '?';
    return out;
}

void env_print_comment(FILE *out, struct arena *a, const char *mark, const char *s)
{
    const char *word = one_line(a, s);
    int column = 0;
    for (size_t n; *(word += strspn(word, " ")); word += n) {
        n = strcspn(word, " ");
        if (column && column + 1 + (int)n > COLUMNS) {
            fputc('\n', out);
            column = 0;
        }
        column += column ? fprintf(out, " %.*s", (int)n, word) : fprintf(out, "%s %.*s", mark, (int)n, word);
    }
    if (column)
        fputc('\n', out);
}

int env_in_conf(const char *name)
{
    return !strncmp(name, "NCCL_", 5) || !strncmp(name, "RCCL_", 5);
}

int env_print_conf_line(FILE *out, const char *name, const char *value)
{
    return env_in_conf(name) && fprintf(out, "%s=%s\n", name, value) > 0;
}
