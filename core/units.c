/* Sizes and times as people write them. */
#include "core/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    double factor;
};

static const struct unit byte_units[] = {
    {"", 1},         {"B", 1},       {"K", 0x1p10},   {"KB", 0x1p10},  {"KiB", 0x1p10},
    {"M", 0x1p20},   {"MB", 0x1p20}, {"MiB", 0x1p20}, {"G", 0x1p30},   {"GB", 0x1p30},
    {"GiB", 0x1p30}, {"T", 0x1p40},  {"TB", 0x1p40},  {"TiB", 0x1p40}, {NULL, 0},
};

static const struct unit second_units[] = {
    {"", 1},   {"s", 1},    {"sec", 1},  {"ms", 1e-3}, {"us", 1e-6},
    {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}, {NULL, 0},
};

static int parse_number(const char *s, const struct unit *units, double *value)
{
    /* strtod also takes "inf", "nan" and hexadecimal: a number here begins with a digit. */
    if (!s || *s < '0' || *s > '9' || s[strspn(s, "0")] == 'x' || s[strspn(s, "0")] == 'X')
        return 0;
    char *end;
    *value = strtod(s, &end);
    while (*end == ' ')
        end++;
    for (const struct unit *u = units; u->name; u++)
        if (!strcasecmp(end, u->name)) {
            *value *= u->factor;
            return isfinite(*value);
        }
    return 0;
}

int unit_parse_bytes(const char *s, uint64_t *bytes, const char *what, struct err *e)
{
    double v;
    if (!parse_number(s, byte_units, &v) || v != floor(v) || v >= 0x1p63)
        return err_set(e, ERR_USAGE,
                       "%s: '%s' is not a size; expected a whole number of bytes such as 8, 64K, 1M or 4G", what,
                       s ? s : "");
    *bytes = (uint64_t)v;
    return 0;
}

int unit_parse_seconds(const char *s, double *seconds, const char *what, struct err *e)
{
    if (!parse_number(s, second_units, seconds))
        return err_set(e, ERR_USAGE, "%s: '%s' is not a time; expected a number with s, m or h such as 90s, 10m or 2h",
                       what, s ? s : "");
    return 0;
}

int unit_parse_int(const char *s, long low, long high, long *value, const char *what, struct err *e)
{
    char *end = NULL;
    errno = 0;
    long v = s && *s ? strtol(s, &end, 10) : 0;
    if (!end || *end || end == s || errno || v < low || v > high)
        return err_set(e, ERR_USAGE, "%s: '%s' is not a whole number from %ld to %ld", what, s ? s : "", low, high);
    *value = v;
    return 0;
}

char *unit_bytes(char text[UNIT_TEXT], uint64_t bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double v = (double)bytes;
    int i = 0;
    while (v >= 1023.95 && i < 6) { /* which would be rounded to 1024.0 */
        v /= 1024;
        i++;
    }
    if (bytes == UINT64_MAX)
        snprintf(text, UNIT_TEXT, "any larger size");
    else
        snprintf(text, UNIT_TEXT, v == floor(v) ? "%.0f %s" : "%.1f %s", v, names[i]);
    return text;
}

char *unit_range(char text[3 * UNIT_TEXT], uint64_t min_bytes, uint64_t max_bytes)
{
    char low[UNIT_TEXT], high[UNIT_TEXT];
    int above = min_bytes > 1024 && min_bytes % 1024 == 1, below = max_bytes % 1024 == 1023;
    unit_bytes(low, min_bytes - (uint64_t)above);
    unit_bytes(high, max_bytes == UINT64_MAX ? max_bytes : max_bytes + (uint64_t)below);
    if (min_bytes == max_bytes)
        snprintf(text, 3 * UNIT_TEXT, "%s", low);
    else if (max_bytes == UINT64_MAX)
        snprintf(text, 3 * UNIT_TEXT, min_bytes ? "%s%s%s" : "all sizes", above ? "above " : "from ", low,
                 above ? "" : " up");
    else if (!min_bytes)
        snprintf(text, 3 * UNIT_TEXT, "%s %s", below ? "below" : "up to", high);
    else
        snprintf(text, 3 * UNIT_TEXT, "%s%s to %s%s", above ? "above " : "", low, below ? "below " : "", high);
    return text;
}

char *unit_seconds(char text[UNIT_TEXT], double seconds)
{
    if (!(seconds > 0))
        seconds = 0;
    if (seconds < 0.9995)
        snprintf(text, UNIT_TEXT, "%.0f ms", seconds * 1e3);
    else if (seconds < 90)
        snprintf(text, UNIT_TEXT, "%.0f s", seconds);
    else if (seconds < 5400)
        snprintf(text, UNIT_TEXT, "%d min %d s", (int)(seconds / 60), (int)fmod(seconds, 60));
    else if (seconds < 1e8)
        snprintf(text, UNIT_TEXT, "%d h %d min", (int)(seconds / 3600), (int)(fmod(seconds, 3600) / 60));
    else
        snprintf(text, UNIT_TEXT, "years");
    return text;
}

const char *unit_symbol(const char *utf8, const char *ascii)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *locale = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && (!locale || !*locale); i++)
        locale = getenv(names[i]);
    return locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8")) ? utf8 : ascii;
}

char *unit_three_digits(char text[UNIT_TEXT], double value)
{
    int after = value >= 99.95 || !(value > 0) ? 0 : value >= 9.995 ? 1 : value >= 0.9995 ? 2 : 3;
    double step = value >= 999.5 && value < 1e18 ? pow(10, floor(log10(value)) - 2) : 1;
    snprintf(text, UNIT_TEXT, "%.*f", after, step > 1 ? round(value / step) * step : value);
    return text;
}

char *unit_time_us(char text[UNIT_TEXT], double us)
{
    static const char *const names[] = {"us", "ms", "s"};
    int i = us >= 999.5e3 ? 2 : us >= 999.5;
    snprintf(text, UNIT_TEXT, "%.3g %s", us / pow(1000, i), names[i]);
    return text;
}

char *unit_band_us(char text[3 * UNIT_TEXT], double us, double low_us, double high_us)
{
    const struct unit u = us < 10e6    ? (struct unit){"ms", 1e3}
                          : us < 600e6 ? (struct unit){"s", 1e6}
                          : us < 18e9  ? (struct unit){"min", 60e6}
                                       : (struct unit){"h", 3600e6};
    int digits = us < 1e3 ? 3 : 1, n = snprintf(text, 3 * UNIT_TEXT, "%.*f %s", digits, us / u.factor, u.name);
    if (low_us < high_us && n < 3 * UNIT_TEXT)
        snprintf(text + n, (size_t)(3 * UNIT_TEXT - n), " (%.*f to %.*f)", digits, low_us / u.factor, digits,
                 high_us / u.factor);
    return text;
}
