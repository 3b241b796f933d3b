/* What every picture needs: words from anywhere as text of an SVG document. */
#ifndef CORE_SVG_H
#define CORE_SVG_H

#include <limits.h>
#include <stdio.h>

#define SVG_WHOLE INT_MAX

/* `s`, which is UTF-8, as XML character data: marks escaped, control characters left out. What lies beyond `most` bytes
 * is cut at a letter's beginning, and "…" stands for it. */
void svg_put(FILE *out, const char *s, int most);

#endif
