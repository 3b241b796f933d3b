/* Bytes in, clean lines out; numbers and times within them. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "advise/diagnose/diagnose_internal.h"
#include "core/json.h"
#include "core/units.h"

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

static size_t clean(char *text, size_t n)
{
    size_t out = 0;
    text[n] = 0;
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)text[i];
        size_t len = c >= 0x80 ? json_utf8_length(text + i) : 0;
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

double diag_number_behind(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    double value;
    at = at ? at + strlen(key) : NULL;
    return at && diag_number(at + strspn(at, " '\":=."), &value) && value < 1e15 ? value : -1;
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

char *diag_time_text(char text[DIAG_TIME], double ms)
{
    return diag_time_beside(text, ms, ms);
}

char *diag_time_beside(char text[DIAG_TIME], double ms, double other_ms)
{
    int seconds = other_ms >= 999.5;
    char number[UNIT_TEXT];
    unit_three_digits(number, seconds ? ms / 1e3 : ms);
    snprintf(text, DIAG_TIME, "%.*s%s", DIAG_TIME - 4, number, seconds ? " s" : " ms");
    return text;
}

/* ---- time of day ------------------------------------------------------------------------------------------------- */

double diag_timestamp(const char *s)
{
    /* The last one is of date(1) and nvidia-smi, and the only one that begins with a letter. */
    static const char *const formats[] = {"%Y-%m-%d %T", "%Y-%m-%dT%T", "%Y/%m/%d %T", "%m-%d %T",
                                          "%m/%d %T",    "%T",          "%b %d %T %Y"};
    const size_t n = strspn(s, "0123456789"), last = sizeof formats / sizeof *formats - 1;
    if (n ? s[n] != '-' && s[n] != '/' && (n != 2 || s[n] != ':') : !isupper((unsigned char)*s))
        return -1;
    for (size_t i = n ? 0 : last; i <= last; i++) {
        struct tm t = {.tm_year = 100, .tm_mday = 1}; /* without a year: a leap year, for any day */
        const char *end = strptime(s, formats[i], &t);
        if (end) {
            t.tm_year += t.tm_year < -1800 ? 2000 : 0; /* "25/11/18", as log4j writes it */
            return (double)timegm(&t) + (*end == '.' ? strtod(end, NULL) : 0);
        }
    }
    return -1;
}

double diag_clock(const char *line)
{
    for (int i = 0; i < 48 && line[i] && line[i + 1]; i++) {
        int starts = !i || !((line[i - 1] >= '0' && line[i - 1] <= '9') || line[i - 1] == '-' || line[i - 1] == '/');
        int may = (line[i] >= '0' && line[i] <= '9') || (line[i] >= 'A' && line[i] <= 'S');
        /* Bare times of day stand at the start; elsewhere they are durations. */
        double at = starts && may && (i <= 1 || line[i + 2] != ':') ? diag_timestamp(line + i) : -1;
        if (at >= 0)
            return at;
    }
    return -1;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

int diag_split(struct diag_fields *f, const char *line, enum diag_between by)
{
    static const char *const marks[] = {",", " ", "  "};
    f->n = 0;
    for (const char *p = line + strspn(line, " "); *p && f->n < DIAG_FIELDS; p += strspn(p, " ")) {
        int quoted = by == DIAG_COMMAS && *p == '"';
        const char *end = quoted ? strchr(p + 1, '"') : strstr(p, marks[by]);
        size_t len = end ? (size_t)(end - p) : strlen(p), n = len - (size_t)quoted;
        while (n && p[quoted + n - 1] == ' ')
            n--;
        f->at[f->n] = p + quoted;
        f->len[f->n++] = n;
        p += len + (size_t)(quoted && end);
        p += by == DIAG_COMMAS ? strcspn(p, ",") : 0;
        p += by == DIAG_COMMAS && *p;
    }
    return f->n;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

void diag_place(char place[DIAG_PLACE], const char *file, long line)
{
    size_t n = strlen(file);
    n = (size_t)snprintf(place, DIAG_PLACE, "%s", n > 280 ? file + n - 280 : file);
    if (line > 0)
        snprintf(place + n, DIAG_PLACE - n, ":%ld", line);
}

void diag_here(const struct diagnosis *d, char place[DIAG_PLACE])
{
    diag_place(place, d->in->path, d->in->line);
}
