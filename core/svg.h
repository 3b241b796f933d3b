/* The elements that all pictures are made of. */
#pragma once

#include <stdio.h>

/* A picture while it is drawn. It ends the program where memory does, as an arena does. */
struct svg {
    FILE *out;            /* elements */
    double width, height; /* how far they reach, in pixels */
    char *elements;
    size_t bytes;
};

void svg_begin(struct svg *s);

/* Print the picture and free it: white paper that shrinks with the page that it stands in, with dark words. */
void svg_end(struct svg *s, FILE *out);

/* Make the picture at least this large. */
void svg_reach(struct svg *s, double x, double y);

/* Words with their baseline there, cut after `most` bytes (XML_WHOLE: none); `attributes` begin with a blank, or are
 * "". The picture does not grow with them. */
void svg_words(FILE *out, double x, double y, const char *attributes, const char *words, int most);

void svg_line(struct svg *s, double x, double y, double to_x, double to_y, const char *colour, double pen);

/* Words whose baseline begins (or, centred, has its middle) there; cut where they would be wider than `room`. */
enum svg_at { SVG_FROM, SVG_CENTRED };
void svg_label(struct svg *s, double x, double y, enum svg_at at, double size, double room, const char *words);

/* A framed box; `lines` ("": none) stand in its middle, the first in bold. */
void svg_box(struct svg *s, double x, double y, double width, double height, const char *fill, const char *lines);
