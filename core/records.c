/* Rows of named values, for other programs. */
#include "core/records.h"

#include <math.h>
#include <string.h>

void records_add(struct records *r, const struct record_cell *cells, int ncells)
{
    struct record_cell *own = arena_alloc(r->arena, (size_t)ncells * sizeof *own);
    memcpy(own, cells, (size_t)ncells * sizeof *own);
    r->rows = arena_grow(r->arena, r->rows, (size_t)r->count, sizeof *r->rows);
    r->rows[r->count++] = (struct record){own, ncells};
}

/* ---- CSV ---- */

static void print_field(const struct record_cell *c, FILE *out)
{
    const char *s = c->text ? c->text : "";
    int quoted = strpbrk(s, ",\"\r\n") != NULL;
    if (!c->text && !isnan(c->number))
        fprintf(out, "%.12g", c->number);
    if (quoted)
        putc('"', out);
    for (; *s; s++) {
        if (*s == '"')
            putc('"', out);
        putc(*s, out);
    }
    if (quoted)
        putc('"', out);
}

void records_csv(const struct records *r, FILE *out)
{
    for (int c = 0; r->count && c < r->rows[0].ncells; c++)
        fprintf(out, "%s%s", c ? "," : "", r->rows[0].cells[c].name);
    for (int i = 0; i < r->count; i++) {
        putc('\n', out);
        for (int c = 0; c < r->rows[i].ncells; c++) {
            fputs(c ? "," : "", out);
            print_field(&r->rows[i].cells[c], out);
        }
    }
    putc('\n', out);
}

/* ---- OpenMetrics ---- */

static void print_label(const struct record_cell *c, const char *comma, FILE *out)
{
    fprintf(out, "%s%s=\"", comma, c->name);
    if (!c->text)
        fprintf(out, "%.12g", c->number);
    for (const char *p = c->text ? c->text : ""; *p; p++) {
        if (*p == '\n')
            fputs("\\n", out);
        else
            fprintf(out, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
    }
    putc('"', out);
}

static const struct record_cell *cell_of(const struct record *row, const char *name)
{
    for (int c = 0; c < row->ncells; c++)
        if (row->cells[c].help && !strcmp(row->cells[c].name, name))
            return &row->cells[c];
    return NULL;
}

static void print_sample(const struct record *row, const struct record_cell *measure, FILE *out)
{
    const char *comma = "{";
    fprintf(out, "nccltune_%s", measure->name);
    for (int c = 0; c < row->ncells; c++)
        if (!row->cells[c].help && (row->cells[c].text || !isnan(row->cells[c].number))) {
            print_label(&row->cells[c], comma, out);
            comma = ",";
        }
    fprintf(out, "%s %.12g\n", *comma == ',' ? "}" : "", measure->number);
}

static void print_family(const struct records *r, const struct record_cell *first, FILE *out)
{
    fprintf(out, "# TYPE nccltune_%s gauge\n# HELP nccltune_%s %s\n", first->name, first->name, first->help);
    for (int i = 0; i < r->count; i++) {
        const struct record_cell *c = cell_of(&r->rows[i], first->name);
        if (c && !isnan(c->number))
            print_sample(&r->rows[i], c, out);
    }
}

void records_openmetrics(const struct records *r, FILE *out)
{
    for (int i = 0; i < r->count; i++)
        for (int c = 0; c < r->rows[i].ncells; c++) {
            const struct record_cell *cell = &r->rows[i].cells[c];
            int known = !cell->help;
            for (int k = 0; k < i && !known; k++)
                known = cell_of(&r->rows[k], cell->name) != NULL;
            if (!known)
                print_family(r, cell, out);
        }
    fputs("# EOF\n", out);
}
