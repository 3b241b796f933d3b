/* What all pictures have in common: a frame, and words from anywhere in it. */
#ifndef CORE_SVG_H
#define CORE_SVG_H

#include <stdio.h>

/* White paper of that many pixels, which shrinks with the page that it stands in; dark words, black where an element
 * says nothing. */
void svg_begin(FILE *out, double width, double height);
void svg_end(FILE *out);

/* Words with their baseline there, cut after `most` bytes (XML_WHOLE: none); `attributes` begin with a blank, or are
 * "". */
void svg_words(FILE *out, double x, double y, const char *attributes, const char *words, int most);

#endif
