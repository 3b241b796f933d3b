/* Sentences, lines, words and numbers: all the parsing that the hook's files need. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/err.h"
#include "slurm/hook.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

int hook_refuse(struct hook_why *w, const char *fmt, ...)
{
    if (w->text[0])
        return -1;
    va_list args;
    va_start(args, fmt);
    vsnprintf(w->text, sizeof w->text, fmt, args);
    va_end(args);
    err_mask_controls(w->text);
    return -1;
}

char *hook_line(char **cursor)
{
    char *line = *cursor;
    if (!*line)
        return NULL;
    size_t n = strcspn(line, "\n");
    *cursor = line + n + (line[n] == '\n');
    line[n] = 0;
    return line;
}

int hook_words(char *line, char **words, int most)
{
    for (int n = 0;;) {
        if (n == most)
            return -1;
        words[n++] = line;
        line = strchr(line, ' ');
        if (!line)
            return n;
        *line++ = 0;
    }
}

int hook_is_name(const char *s)
{
    size_t n = strlen(s);
    return n > 0 && n < HOOK_WORD && s[0] != '.' && s[0] != '-' && strspn(s, NAME_CHARACTERS) == n;
}

int hook_is_hash(const char *s)
{
    return strlen(s) == SHA256_HEX - 1 && strspn(s, "0123456789abcdef") == SHA256_HEX - 1;
}

int hook_number(const char *s, long long high, long long *value)
{
    long long n = 0;
    if (!*s)
        return -1;
    for (; *s; s++) {
        int digit = *s - '0';
        if (digit < 0 || digit > 9 || n > high / 10 || n * 10 > high - digit)
            return -1;
        n = n * 10 + digit;
    }
    *value = n;
    return 0;
}
