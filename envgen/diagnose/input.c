/* Bytes in, clean lines out; numbers and times within them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "envgen/diagnose/diagnose_internal.h"

int diag_input_fill(struct diag_input *in)
{
    if (in->pos < in->len)
        return 1;
    in->pos = 0;
    in->len = fread(in->chunk, 1, sizeof in->chunk, in->file);
    if (!in->len && ferror(in->file))
        in->failed = errno ? errno : EIO;
    return in->len > 0;
}

int diag_getc(struct diag_input *in)
{
    if (in->pos == in->len && !diag_input_fill(in))
        return -1;
    return (unsigned char)in->chunk[in->pos++];
}

/* Punctuation of Chinese logs, as the readers look for it; each form is three bytes of UTF-8. */
static const struct {
    const char *wide;
    char ascii;
} punctuation[] = {
    {"：", ':'}, {"｜", '|'}, {"，", ','}, {"【", '['}, {"】", ']'}, {"（", '('}, {"）", ')'}, {"＝", '='}, {"　", ' '},
};

/* Skips the terminal sequence behind the ESC at `s` (ECMA-48: CSI ends in @ to ~, OSC in BEL or ESC). */
static size_t skip_escape(const char *s, size_t n)
{
    size_t i = 1;
    if (i < n && s[i] == '[') {
        for (i++; i < n && !(s[i] >= 0x40 && s[i] <= 0x7e); i++)
            ;
        return i < n ? i + 1 : n;
    }
    if (i < n && s[i] == ']') {
        for (i++; i < n && s[i] != '\a' && s[i] != 0x1b; i++)
            ;
        return i < n && s[i] == '\a' ? i + 1 : i;
    }
    return i < n ? 2 : n;
}

static char narrow(const char *s)
{
    for (size_t i = 0; i < sizeof punctuation / sizeof *punctuation; i++)
        if (!memcmp(s, punctuation[i].wide, 3))
            return punctuation[i].ascii;
    return 0;
}

/* Bytes of the UTF-8 character at `s` (RFC 3629, surrogates and overlong forms excluded), 0 where there is none. */
static size_t character(const char *s, size_t n)
{
    unsigned char c = (unsigned char)s[0], second = n > 1 ? (unsigned char)s[1] : 0;
    size_t len = c >= 0xc2 && c <= 0xdf ? 2 : c >= 0xe0 && c <= 0xef ? 3 : c >= 0xf0 && c <= 0xf4 ? 4 : 0;
    if (!len || n < len || (c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) ||
        (c == 0xf0 && second < 0x90) || (c == 0xf4 && second > 0x8f))
        return 0;
    for (size_t i = 1; i < len; i++)
        if (((unsigned char)s[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

static size_t clean(char *text, size_t n)
{
    size_t out = 0;
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)text[i];
        size_t len = c >= 0x80 ? character(text + i, n - i) : 0;
        char ascii = len == 3 ? narrow(text + i) : 0;
        if (c == 0x1b) {
            i += skip_escape(text + i, n - i);
        } else if (len && !ascii) {
            memmove(text + out, text + i, len);
            out += len;
            i += len;
        } else {
            if (ascii || c >= 0x20 || c == '\t')
                text[out++] = ascii ? ascii : c == '\t' ? ' ' : c >= 0x7f ? '?' : (char)c;
            i += ascii ? len : 1;
        }
    }
    text[out] = 0;
    return out;
}

int diag_read_line(struct diag_input *in, char *text, size_t *bytes)
{
    size_t n = 0;
    if (!diag_input_fill(in))
        return 0;
    in->line += !in->after_return;
    in->after_return = 0;
    while (diag_input_fill(in)) {
        const char *from = in->chunk + in->pos, *end = in->chunk + in->len, *p = from;
        while (p < end && *p != '\n' && *p != '\r')
            p++;
        size_t piece = (size_t)(p - from), left = DIAG_LINE - 1 - n;
        memcpy(text + n, from, piece < left ? piece : left);
        n += piece < left ? piece : left;
        in->pos += piece + (p < end);
        if (p < end) {
            in->after_return = *p == '\r' && !(diag_input_fill(in) && in->chunk[in->pos] == '\n');
            in->pos += *p == '\r' && !in->after_return && in->pos < in->len;
            break;
        }
    }
    *bytes = clean(text, n);
    return 1;
}

const char *diag_number(const char *s, double *value)
{
    static const char numpy[] = "np.float";
    while (*s == ' ' || *s == '(')
        s++;
    if (!strncmp(s, numpy, sizeof numpy - 1)) {
        s += strcspn(s, "(");
        s += *s == '(';
    }
    /* strtod takes "inf", "nan" and hexadecimal too: a number of a log begins with a digit. */
    const char *digit = *s == '-' || *s == '+' ? s + 1 : s;
    if (*digit == '.')
        digit++;
    if (*digit < '0' || *digit > '9' || digit[1] == 'x' || digit[1] == 'X')
        return NULL;
    char *end;
    *value = strtod(s, &end);
    return isfinite(*value) ? end : NULL;
}

const char *diag_time(const char *s, double unit_ms, double *ms)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {
        {"ms", 1},   {"msec", 1},    {"us", 1e-3},     {"µs", 1e-3},  {"μs", 1e-3}, {"ns", 1e-6},
        {"s", 1e3},  {"sec", 1e3},   {"seconds", 1e3}, {"min", 6e4},  {"m", 6e4},   {"h", 3.6e6},
        {"毫秒", 1}, {"微秒", 1e-3}, {"秒", 1e3},      {"分钟", 6e4},
    };
    double value;
    const char *p = diag_number(s, &value);
    if (!p || value < 0 || value > 1e12)
        return NULL;
    while (*p == ' ')
        p++;
    size_t n = 0;
    while ((p[n] >= 'a' && p[n] <= 'z') || (unsigned char)p[n] >= 0x80)
        n++;
    for (size_t i = 0; n && i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == n && !strncmp(units[i].name, p, n)) {
            *ms = value * units[i].ms;
            return p + n;
        }
    if (unit_ms <= 0 || n || *p == '%')
        return NULL;
    *ms = value * unit_ms;
    return p;
}

void diag_here(const struct diagnosis *d, char place[DIAG_PLACE])
{
    size_t n = strlen(d->in->path);
    snprintf(place, DIAG_PLACE, "%s:%ld", n > 280 ? d->in->path + n - 280 : d->in->path, d->in->line);
}
