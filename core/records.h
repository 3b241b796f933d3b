/* Rows of named values for other programs: CSV, OpenMetrics (which is what Prometheus and node_exporter's
 * textfile collector read, too). */
#pragma once

#include <stdio.h>

#include "core/arena.h"

struct record_cell {
    const char *name;
    const char *text; /* NULL: it is `number`, */
    double number;    /* NAN: not known */
    const char *help; /* a sentence: it is a measure, in OpenMetrics a family "nccltune_NAME"; NULL: it says of what */
};

struct record {
    const struct record_cell *cells;
    int ncells;
};

struct records {
    struct arena *arena;
    struct record *rows;
    int count;
};

/* Adds a row, whose cells are copied; their texts must live as long. */
void records_add(struct records *r, const struct record_cell *cells, int ncells);

/* CSV has the columns of the first row, which all must have, quoted as RFC 4180 has it. In
 * OpenMetrics each family stands together, with the row's other cells as labels. */
void records_csv(const struct records *r, FILE *out);
void records_openmetrics(const struct records *r, FILE *out);
