/* The picture of variations: a panel each, busbw over size, drawn by gnuplot from a script that holds its data. */
#include <math.h>

#include "bench/predict/whatif.h"
#include "core/coll.h"
#include "core/proc.h"

#define PANEL_WIDTH  340
#define PANEL_HEIGHT 280
#define HEADING      60 /* pixels above the panels */
#define DEADLINE_S   60.0

/* Below this, times differ by little and busbw says nothing to the eye. */
#define SMALLEST_DRAWN ((uint64_t)32 << 10)

/* A string of gnuplot's, in which nothing is special but the quote; control characters are left out. */
static void put_quoted(FILE *out, const char *s)
{
    fputc('\'', out);
    for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
        if (*p == '\'')
            fputc('\'', out);
        if (*p >= 0x20 && *p != 0x7f)
            fputc(*p, out);
    }
    fputc('\'', out);
}

static void write_data(const struct whatif *w, int index, FILE *out)
{
    const struct whatif_case *c = &w->cases[index];
    fprintf(out, "$case%d << END\n# bytes, busbw in GB/s: default, its low and high end, tuned\n", index);
    for (int i = 0; i < w->nsizes && c->model; i++) {
        const struct whatif_cell *cell = &c->cells[i];
        if (!(cell->untouched.us > 0) || cell->bytes < SMALLEST_DRAWN)
            continue;
        fprintf(out, "%llu %.6g %.6g %.6g %.6g\n", (unsigned long long)cell->bytes,
                whatif_busbw(w, c, cell->bytes, cell->untouched.us),
                whatif_busbw(w, c, cell->bytes, cell->untouched.high_us),
                whatif_busbw(w, c, cell->bytes, cell->untouched.low_us),
                whatif_busbw(w, c, cell->bytes, cell->tuned.us));
    }
    fputs("END\n", out);
}

static void write_panel(const struct whatif *w, int index, FILE *out)
{
    fputs("set title ", out);
    put_quoted(out, w->cases[index].label);
    fprintf(out,
            "\nset key %s\n"
            "plot $case%d using 1:3:4 with filledcurves fc rgb '#d6e4f2' title 'nine of ten', \\\n",
            index ? "off" : "bottom right Left reverse samplen 2", index);
    if (index)
        fputs("     $case0 using 1:2 with lines lw 1.5 lc rgb '#909090' dt 2 title '', \\\n", out);
    if (w->coll < COLL_COUNT) /* of which nothing can be tuned */
        fprintf(out, "     $case%d using 1:5 with lines lw 2 lc rgb '#d9822b' title 'tuned', \\\n", index);
    fprintf(out, "     $case%d using 1:2 with lines lw 2 lc rgb '#2f6da8' title 'default'%s\n", index,
            index ? "" : ", \\\n     NaN with lines lw 1.5 lc rgb '#909090' dt 2 title 'as it is'");
}

/* One scale for all panels, so that they can be compared. */
static void write_range(const struct whatif *w, FILE *out)
{
    double low = INFINITY, high = 0;
    for (int i = 0; i < w->ncases; i++)
        for (int k = 0; k < w->nsizes && w->cases[i].model; k++) {
            const struct whatif_case *c = &w->cases[i];
            if (!(c->cells[k].untouched.us > 0) || c->cells[k].bytes < SMALLEST_DRAWN)
                continue;
            low = fmin(low, whatif_busbw(w, c, w->sizes[k], c->cells[k].untouched.high_us));
            high = fmax(high, whatif_busbw(w, c, w->sizes[k], c->cells[k].untouched.low_us));
            high = fmax(high, whatif_busbw(w, c, w->sizes[k], c->cells[k].tuned.us));
        }
    if (low < high)
        fprintf(out, "set yrange [%.3g:%.3g]\n", low, high);
}

void whatif_write_plot(const struct whatif *w, const char *svg, FILE *out)
{
    const struct nccl_model *m = model_nccl(w->cases[0].model);
    int drawn = 0, rows, nodes = w->cases[0].setup.nccl.nodes;
    for (int i = 0; i < w->ncases; i++)
        drawn += w->cases[i].model != NULL;
    int columns = drawn > 9 ? 4 : drawn > 4 ? 3 : drawn > 1 ? 2 : 1;
    rows = (drawn + columns - 1) / columns;
    fputs("# Written by nccltune whatif; gnuplot draws it. All numbers are predictions.\n", out);
    for (int i = 0; i < w->ncases; i++)
        write_data(w, i, out);
    fprintf(out, "set terminal svg size %d,%d font 'sans-serif,12' background '#ffffff' noenhanced\nset output ",
            columns * PANEL_WIDTH, HEADING + rows * PANEL_HEIGHT);
    put_quoted(out, svg);
    fprintf(out, "\nset multiplot layout %d,%d title ", rows, columns);
    char title[300];
    snprintf(title, sizeof title, "PREDICTED busbw (GB/s) of %s, %d rank%s on %d node%s of %s", coll_name(w->coll),
             m->ranks, m->ranks == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s", w->machine);
    put_quoted(out, title);
    fputs(" font ',14'\n"
          "set logscale x 2\nset logscale y\nset format y '%g'\n"
          "set xrange [2**15:1.01*2**33]\n"
          "set xtics ('32K' 2**15, '256K' 2**18, '2M' 2**21, '16M' 2**24, '128M' 2**27, '1G' 2**30, '8G' 2**33)\n"
          "set ytics (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)\n"
          "set tics font ',10'\n"
          "set grid lc rgb '#e4e4e4' lt 1\nset border 3 lc rgb '#606060'\nset tics nomirror\n"
          "set style fill solid noborder\n",
          out);
    write_range(w, out);
    for (int i = 0; i < w->ncases; i++)
        if (w->cases[i].model)
            write_panel(w, i, out);
    fputs("unset multiplot\n", out);
}

int whatif_plot(const char *script, struct err *e)
{
    const char *const argv[] = {"gnuplot", script, NULL};
    char status[PROC_STATUS_TEXT];
    struct proc p;
    int rc = proc_spawn(&p, argv, NULL, e);
    if (rc == ERR_LACKS)
        return err_set(e, ERR_LACKS,
                       "gnuplot is not installed (gnuplot-nox); where it is, 'gnuplot %s' draws the picture", script);
    if (rc)
        return rc;
    if (!proc_ended(&p, DEADLINE_S) || p.status)
        rc = err_set(e, ERR_FAILED, "gnuplot %s; 'gnuplot %s' shows why",
                     p.pid ? "did not end" : proc_status_text(p.status, status), script);
    proc_stop(&p, 0.5);
    return rc;
}
