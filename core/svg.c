/* Escaping, byte by byte: what is not ASCII passes as it is. */
#include "core/svg.h"

static const char *escaped(unsigned char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void svg_put(FILE *out, const char *s, int most)
{
    for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
        const char *mark = escaped(*p);
        if (most-- <= 0 && (*p & 0xc0) != 0x80) {
            fputs("…", out);
            return;
        }
        if (mark)
            fputs(mark, out);
        else if (*p >= 0x20 && *p != 0x7f)
            fputc(*p, out);
    }
}
