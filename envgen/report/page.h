/* One page of HTML to be mailed: nothing in it is loaded from elsewhere, it is as well-formed as XML, light or dark as
 * its reader likes, and all of it is there without scripts and in print. With scripts its parts are tabs. */
#pragma once

#include <stdio.h>

#include "core/finding.h"

void page_begin(FILE *out, const char *title);
void page_end(FILE *out);

/* Ends the part before, if `id` is not the first; `id` is a word for links. */
void page_part(FILE *out, const char *id, const char *name);

/* `words` from anywhere in an element: page_put(out, "p", "...") */
void page_put(FILE *out, const char *element, const char *words);

/* A table with these heads, up to a NULL; a row of as many cells, NULL "". `class` NULL: none. Short cells that begin
 * with a digit stand to the right. */
#define PAGE_TABLE(out, class, ...) page_table(out, class, (const char *const[]){__VA_ARGS__, NULL})
#define PAGE_ROW(out, class, ...)                            \
    page_row(out, class, (const char *const[]){__VA_ARGS__}, \
             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
void page_table(FILE *out, const char *class, const char *const *heads);
void page_row(FILE *out, const char *class, const char *const *cells, int n);
void page_table_end(FILE *out);

/* Print findings, worst first, if there are any. */
void page_findings(FILE *out, const struct finding *list, int n);

/* A picture that is made for white paper stands between these. */
void page_paper(FILE *out);
void page_paper_end(FILE *out);
