/* The error object: formatting, and nothing printable left to chance. */
#include "core/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

char *err_mask_controls(char *text)
{
    char *to = text;
    for (const char *s = text; *s; s++) {
        int is_c1 = *s == '\xc2' && (unsigned char)s[1] >= 0x80 && (unsigned char)s[1] < 0xa0;
        *to++ = (unsigned char)*s < 0x20 || *s == 0x7f || is_c1 ? '?' : *s;
        s += is_c1;
    }
    *to = 0;
    return text;
}

static void append_text(struct err *e, size_t at, const char *fmt, va_list ap)
{
    if (at < sizeof e->text)
        vsnprintf(e->text + at, sizeof e->text - at, fmt, ap);
    err_mask_controls(e->text);
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
    if (!e)
        return code;
    va_list ap;
    va_start(ap, fmt);
    e->code = code;
    append_text(e, 0, fmt, ap);
    va_end(ap);
    return code;
}

int err_at(struct err *e, const char *file, long line, long column, const char *fmt, ...)
{
    if (!e)
        return ERR_FAILED;
    int n;
    if (line > 0 && column > 0)
        n = snprintf(e->text, sizeof e->text, "%s:%ld:%ld: ", file, line, column);
    else if (line > 0)
        n = snprintf(e->text, sizeof e->text, "%s:%ld: ", file, line);
    else
        n = snprintf(e->text, sizeof e->text, "%s: ", file);
    va_list ap;
    va_start(ap, fmt);
    e->code = ERR_FAILED;
    append_text(e, n < 0 ? 0 : (size_t)n, fmt, ap);
    va_end(ap);
    return ERR_FAILED;
}

int err_errno(struct err *e, const char *fmt, ...)
{
    int saved = errno;
    if (!e)
        return ERR_FAILED;
    va_list ap;
    va_start(ap, fmt);
    e->code = ERR_FAILED;
    append_text(e, 0, fmt, ap);
    va_end(ap);
    size_t n = strlen(e->text);
    snprintf(e->text + n, sizeof e->text - n, ": %s", strerror(saved));
    return ERR_FAILED;
}

long err_lines_before(const char *text, const char *at)
{
    long n = 0;
    for (; text < at; text++)
        n += *text == '\n';
    return n;
}
