/* A plot of times or gains over sizes, both logarithmic, as SVG for a page (core/page.h): its colours are the
 * page's, so that it is light or dark as the page is, and its figures show under the pointer and by the arrow keys. */
#pragma once

#include <stdio.h>

struct plot_point {
    double x, y, low, high; /* bytes; y in the plot's unit with its interval, low 0: none */
};

struct plot_series {
    const char *name;
    struct plot_point *points; /* ascending; what is not above 0 is left out */
    int n;
};

/* From here to the next one, or to the end, something holds. */
struct plot_mark {
    double x;
    const char *name;
};

/* What is told of one size. */
struct plot_column {
    double x;
    const char *text;
};

enum plot_unit {
    PLOT_TIME, /* y is in microseconds */
    PLOT_GAIN, /* a factor; there is a line at 1 */
};

#define PLOT_SERIES 3 /* that have a colour */

struct plot {
    const char *title;
    struct plot_series series[PLOT_SERIES];
    struct plot_mark *marks; /* ascending; NULL none */
    struct plot_column *columns;
    int nseries, nmarks, ncolumns;
    int band; /* the intervals are bands of a prediction: drawn as areas */
    enum plot_unit unit;
    double low, high; /* y is shown from here to there at least; 0: as far as there are points */
};

/* Nothing where no point is above 0. */
void plot_draw(const struct plot *p, FILE *out);
