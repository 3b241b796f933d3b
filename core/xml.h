/* XML documents as a tree, within bounds: through expat, without entities, and with line numbers for errors. And what
 * every picture and page needs: words from anywhere as text of an SVG, HTML or XML document. */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdio.h>

#include "core/arena.h"
#include "core/err.h"

struct xml_node {
    const char *name;
    const char **attributes; /* name, value, name, value, …, NULL */
    const char *text;        /* what stands between the tags of an element without children; NULL: nothing but blanks */
    struct xml_node *parent, *first, *next; /* `first`: child; `next`: sibling */
    long line;
};

/* The tree of text[0..bytes), all in `a`; several top elements, which NCCL's own reader takes too, are siblings.
 * Comments may hold "--", as some files' do; `text` is overwritten by blanks where they stood. NULL after an error: not
 * well-formed, a DOCTYPE with declarations of its own, nested deeper than 64, more than 300,000 elements or 16 MiB. */
struct xml_node *xml_parse(char *text, size_t bytes, const char *file, struct arena *a, struct err *e);

/* The attribute's value; NULL when there is none. */
const char *xml_attribute(const struct xml_node *n, const char *name);

/* A whole number in any base of strtoll; `otherwise` when it is missing, none, or outside [low, high]. */
long long xml_int(const struct xml_node *n, const char *name, long long low, long long high, long long otherwise);

int xml_is(const struct xml_node *n, const char *name);

/* `s`, which is UTF-8 or NULL, as character data: marks escaped, control characters but newlines and tabs left out.
 * What lies beyond `most` bytes is cut at a letter's beginning, and "…" stands for it. */
#define XML_WHOLE INT_MAX
void xml_put(FILE *out, const char *s, int most);
