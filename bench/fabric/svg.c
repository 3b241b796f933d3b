/* A measured fabric as a picture: faults first, then rails × nodes, then every pair where there are few enough ports.
 * The more bandwidth, the darker; what is slow or failed has a red frame, whatever its colour. */
#include "core/svg.h"
#include "bench/fabric/fabric.h"
#include "core/xml.h"

#define MOST_PAIRED 64 /* ports up to which every pair is drawn */
#define MARGIN      24
#define LINE        20
#define LABEL       160 /* room for the names at the left of a map */
#define NODE_GAP    4   /* between the ports of different nodes, where pairs are drawn */
#define BIG_CELL    48
#define TINY_CELL   10
#define WIDE_MAP    1400
#define TEXT_CELL   34  /* a cell from this width on holds its number */
#define MOST_LINE   150 /* letters of a sentence */
#define MOST_NAME   24  /* … of the name of a row or column */
#define NAMES       130 /* height of a heading and names aslant under it */

/* From little to much bandwidth, light to dark, which those who see no colours can tell as well. */
static const struct {
    int red, green, blue;
} shades[] = {{247, 252, 240}, {204, 235, 197}, {123, 204, 196}, {67, 162, 202}, {8, 104, 172}};
#define SHADES ((int)(sizeof shades / sizeof *shades))
#define FAILED "#333333"
#define MARK   " fill=\"none\" stroke=\"#d7191c\" stroke-width=\"2\""

/* Rows and columns of cells with a name each. */
struct map {
    const char *title;
    int rows, columns, gap_after; /* a gap after so many rows and columns; 0: none */
    const char **row_names, **column_names;
    struct cell {
        const char *title; /* NULL: nothing is known */
        double GBps;
        int failed, marked;
    } * cells; /* by row */
};

struct picture {
    const struct verbs_fabric *f;
    const struct verbs_decision *d;
    struct svg svg;
    double most; /* the bandwidth that is darkest */
    int y;       /* the next free line */
};

static void put_words(struct picture *p, int x, int y, const char *attributes, const char *s, int most)
{
    svg_words(p->svg.out, x, y, attributes, s, most);
}

static const char *colour_of(const struct picture *p, double GBps)
{
    double at = p->most > 0 ? GBps / p->most * (SHADES - 1) : 0;
    int low = at >= SHADES - 1 ? SHADES - 2 : (int)at;
    double part = at - low;
    return arena_printf(p->f->arena, "rgb(%d,%d,%d)",
                        (int)(shades[low].red + part * (shades[low + 1].red - shades[low].red)),
                        (int)(shades[low].green + part * (shades[low + 1].green - shades[low].green)),
                        (int)(shades[low].blue + part * (shades[low + 1].blue - shades[low].blue)));
}

static const char *port_name(const struct verbs_fabric *f, int port)
{
    const struct verbs_fabric_port *p = &f->ports[port];
    return arena_printf(f->arena, "%s %s", f->names[port / f->rails], p->name ? p->name : "?");
}

/* ---- maps ----------------------------------------------------------------------------------------------------------
 */

static void draw_cell(struct picture *p, int x, int y, int width, int height, const struct cell *c)
{
    int is_dark = c->failed || (p->most > 0 && c->GBps / p->most > 2.5 / (SHADES - 1));
    svg_group(&p->svg, c->title);
    svg_rect(&p->svg, x, y, width - 1, height - 1, " fill=\"%s\"", c->failed ? FAILED : colour_of(p, c->GBps));
    if (c->marked)
        svg_rect(&p->svg, x + 1, y + 1, width - 3, height - 3, MARK);
    if (width >= TEXT_CELL || c->failed)
        fprintf(p->svg.out, "<text x=\"%d\" y=\"%d\" font-size=\"11\" text-anchor=\"middle\" fill=\"%s\">%s</text>",
                x + width / 2, y + height / 2 + 4, is_dark ? "#ffffff" : "#222222",
                c->failed ? "×" : arena_printf(p->f->arena, "%.3g", c->GBps));
    svg_group_end(&p->svg);
}

static int offset_of(const struct map *m, int i, int size)
{
    return i * size + (m->gap_after ? i / m->gap_after * NODE_GAP : 0);
}

static void draw_map(struct picture *p, const struct map *m)
{
    int width = WIDE_MAP / m->columns, left = MARGIN + LABEL;
    width = width > BIG_CELL ? BIG_CELL : width < TINY_CELL ? TINY_CELL : width;
    int height = width > 24 ? 24 : width;
    put_words(p, MARGIN, p->y, " font-size=\"15\" font-weight=\"bold\"", m->title, 99);
    p->y += NAMES;
    for (int k = 0; k < m->columns; k++) { /* names stand aslant */
        if (width < 14 && k % 8)
            continue;
        fprintf(p->svg.out, "<text transform=\"translate(%d,%d) rotate(-50)\" font-size=\"11\">",
                left + offset_of(m, k, width) + width / 2, p->y - 6);
        xml_put(p->svg.out, m->column_names[k], MOST_NAME);
        fputs("</text>\n", p->svg.out);
    }
    for (int i = 0; i < m->rows; i++) {
        int y = p->y + offset_of(m, i, height);
        put_words(p, left - 8, y + height / 2 + 4, " font-size=\"12\" text-anchor=\"end\"", m->row_names[i], MOST_NAME);
        for (int k = 0; k < m->columns; k++)
            if (m->cells[i * m->columns + k].title)
                draw_cell(p, left + offset_of(m, k, width), y, width, height, &m->cells[i * m->columns + k]);
    }
    p->y += offset_of(m, m->rows, height);
    svg_reach(&p->svg, left + offset_of(m, m->columns, width) + MARGIN + 60, p->y);
}

static struct map new_map(struct arena *a, const char *title, int rows, int columns)
{
    return (struct map){.title = title,
                        .rows = rows,
                        .columns = columns,
                        .row_names = arena_alloc(a, (size_t)rows * sizeof(char *)),
                        .column_names = arena_alloc(a, (size_t)columns * sizeof(char *)),
                        .cells = arena_alloc(a, (size_t)rows * (size_t)columns * sizeof(struct cell))};
}

static void draw_rails(struct picture *p)
{
    const struct verbs_fabric *f = p->f;
    const struct verbs_cell *c = verbs_cells(f, p->d);
    struct map m =
        new_map(f->arena, "Rails × nodes: what a port sends or receives, whichever is less", f->rails, f->nodes);
    for (int rail = 0; rail < f->rails; rail++)
        m.row_names[rail] =
            arena_printf(f->arena, "rail %d  %s", rail, f->ports[rail].name ? f->ports[rail].name : "?");
    for (int port = 0; port < f->nodes * f->rails; port++, c++) {
        int node = port / f->rails;
        m.column_names[node] = f->names[node];
        if (c->tried)
            m.cells[port % f->rails * f->nodes + node] =
                (struct cell){arena_printf(f->arena, "%s: %.3g GB/s, %d tries, %d failed, %d slow", port_name(f, port),
                                           c->GBps, c->tried, c->failed, c->slow),
                              c->GBps, c->failed == c->tried, c->outlier};
    }
    draw_map(p, &m);
    p->y += 2 * LINE;
}

static void draw_pairs(struct picture *p)
{
    const struct verbs_fabric *f = p->f;
    int ports = f->nodes * f->rails;
    struct map m = new_map(f->arena, "Pairs of ports: rows write to columns", ports, ports);
    m.gap_after = f->rails;
    for (int from = 0; from < ports; from++) {
        m.row_names[from] = m.column_names[from] = port_name(f, from);
        for (int to = 0; to < ports; to++) {
            int try = verbs_find_try(f, from, to);
            const struct verbs_outcome *o = try < 0 ? NULL : &p->d->outcomes[try];
            if (o)
                m.cells[from * ports + to] = (struct cell){
                    arena_printf(f->arena, "%s to %s: %.3g GB/s%s%s", port_name(f, from), port_name(f, to), o->GBps,
                                 o->why ? ", failed: " : "", o->why ? o->why : ""),
                    o->GBps, o->verdict == VERBS_FAILED, o->verdict != VERBS_GOOD};
        }
    }
    draw_map(p, &m);
    p->y += LINE;
}

/* ---- the picture ----------------------------------------------------------------------------------------------------
 */

static void draw_faults(struct picture *p)
{
    const struct verbs_decision *d = p->d;
    put_words(p, MARGIN, p->y, " font-size=\"18\" font-weight=\"bold\"", d->nfaults ? "Faults" : "Nothing is at fault",
              MOST_LINE);
    p->y += LINE + 4;
    for (int i = 0; i < d->nfaults; i++, p->y += LINE) {
        svg_rect(&p->svg, MARGIN, p->y - 10, 10, 10, " fill=\"#d7191c\"");
        put_words(p, MARGIN + 18, p->y, "", verbs_fault_text(p->f, &d->faults[i]), MOST_LINE);
    }
    for (int i = 0; i < d->found.n; i++, p->y += LINE)
        put_words(p, MARGIN + 18, p->y, "", finding_sentence(&d->found.list[i], p->f->arena), MOST_LINE);
}

static void draw_legend(struct picture *p)
{
    int x = MARGIN, y = p->y + LINE;
    for (int i = 0; i <= 4; i++, x += 70) {
        double GBps = p->most * i / 4;
        svg_rect(&p->svg, x, y - 10, 70, 12, " fill=\"%s\"", colour_of(p, GBps));
        put_words(p, x + 35, y + 16, " font-size=\"11\" text-anchor=\"middle\"",
                  arena_printf(p->f->arena, "%.3g", GBps), 31);
    }
    put_words(p, x + 10, y, "", "GB/s", 31);
    svg_rect(&p->svg, x + 70, y - 10, 22, 12, MARK);
    put_words(p, x + 98, y, "", "less than half of the median, or failed", 60);
    svg_rect(&p->svg, x + 360, y - 10, 22, 12, " fill=\"%s\"", FAILED);
    put_words(p, x + 388, y, "", "× nothing went well", 60);
    p->y = y + 2 * LINE + 8;
}

void verbs_svg(const struct verbs_fabric *f, const struct verbs_decision *d, FILE *out)
{
    struct picture p = {.f = f, .d = d, .most = verbs_fastest(f), .y = MARGIN + 10};
    svg_begin(&p.svg);
    draw_faults(&p);
    draw_legend(&p);
    if (f->rails)
        draw_rails(&p);
    if (f->rails && f->nodes * f->rails <= MOST_PAIRED)
        draw_pairs(&p);
    svg_reach(&p.svg, 1000, p.y + 18);
    svg_end(&p.svg, out);
}
