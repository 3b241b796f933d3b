/* A measured fabric as a picture: faults first, then rails × nodes, then every pair where there are few enough ports.
 * The more bandwidth, the darker; what is slow or failed has a red frame, whatever its colour. */
#include "core/svg.h"
#include "bench/fabric/decide.h"
#include "core/xml.h"

#define MOST_PAIRED 64 /* ports up to which every pair is drawn */
#define MARGIN      24
#define LINE        20
#define LABEL       160 /* room for the names at the left of a map */
#define NODE_GAP    4   /* between the ports of different nodes */
#define BIG_CELL    48
#define TINY_CELL   10
#define WIDE_MAP    1400
#define TEXT_CELL   34  /* a cell from this width on holds its number */
#define MOST_LINE   150 /* letters of a sentence */
#define MOST_NAME   22  /* … of the name of a row or column */
#define NAMES       130 /* height of a heading and names aslant under it */

/* From little to much bandwidth, light to dark, which those who see no colours can tell as well. */
static const struct {
    int red, green, blue;
} shades[] = {{247, 252, 240}, {204, 235, 197}, {123, 204, 196}, {67, 162, 202}, {8, 104, 172}};
#define SHADES ((int)(sizeof shades / sizeof *shades))

struct picture {
    const struct verbs_fabric *f;
    const struct verbs_decision *d;
    FILE *out;
    double most; /* the bandwidth that is darkest */
    int y;       /* the next free line */
};

/* What a cell of a map shows. */
struct shown {
    double GBps; /* 0: nothing is known */
    int failed, marked;
    const char *title;
};

static void text(struct picture *p, int x, int y, const char *more, const char *s, int most)
{
    svg_words(p->out, x, y, more, s, most);
}

static void print_colour(const struct picture *p, double GBps, int *dark)
{
    double at = p->most > 0 ? GBps / p->most * (SHADES - 1) : 0;
    int low = at >= SHADES - 1 ? SHADES - 2 : (int)at;
    double part = at - low;
    *dark = at > 2.5;
    fprintf(p->out, "rgb(%d,%d,%d)", (int)(shades[low].red + part * (shades[low + 1].red - shades[low].red)),
            (int)(shades[low].green + part * (shades[low + 1].green - shades[low].green)),
            (int)(shades[low].blue + part * (shades[low + 1].blue - shades[low].blue)));
}

static void draw_cell(struct picture *p, int x, int y, int width, int height, const struct shown *c)
{
    int dark = 1;
    char value[16];
    fprintf(p->out, "<g><title>");
    xml_put(p->out, c->title, 400);
    fprintf(p->out, "</title><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"", x, y, width - 1, height - 1);
    if (c->failed)
        fputs("#333333", p->out);
    else
        print_colour(p, c->GBps, &dark);
    fputs("\"/>", p->out);
    if (c->marked)
        fprintf(p->out,
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#d7191c\" "
                "stroke-width=\"2\"/>",
                x + 1, y + 1, width - 3, height - 3);
    snprintf(value, sizeof value, "%.3g", c->GBps);
    if (width >= TEXT_CELL || c->failed)
        fprintf(p->out, "<text x=\"%d\" y=\"%d\" font-size=\"11\" text-anchor=\"middle\" fill=\"%s\">%s</text>",
                x + width / 2, y + height / 2 + 4, dark ? "#ffffff" : "#222222", c->failed ? "×" : value);
    fputs("</g>\n", p->out);
}

static int cell_width(int columns)
{
    int width = columns > 0 ? WIDE_MAP / columns : BIG_CELL;
    return width > BIG_CELL ? BIG_CELL : width < TINY_CELL ? TINY_CELL : width;
}

static int cell_height(int width)
{
    return width > 24 ? 24 : width;
}

static const char *port_name(const struct verbs_fabric *f, int port)
{
    const struct verbs_fabric_port *p = &f->ports[port];
    return arena_printf(f->arena, "%s %s", f->names[port / f->rails], p->name ? p->name : "?");
}

/* ---- the parts ------------------------------------------------------------------------------------------------------
 */

static void draw_faults(struct picture *p)
{
    const struct verbs_decision *d = p->d;
    text(p, MARGIN, p->y, " font-size=\"18\" font-weight=\"bold\"", d->nfaults ? "Faults" : "Nothing is at fault",
         MOST_LINE);
    p->y += LINE + 4;
    for (int i = 0; i < d->nfaults; i++, p->y += LINE) {
        fprintf(p->out, "<rect x=\"%d\" y=\"%d\" width=\"10\" height=\"10\" fill=\"#d7191c\"/>\n", MARGIN, p->y - 10);
        text(p, MARGIN + 18, p->y, "", verbs_fault_text(p->f, &d->faults[i]), MOST_LINE);
    }
    for (int i = 0; i < d->found.n; i++, p->y += LINE)
        text(p, MARGIN + 18, p->y, "", finding_sentence(&d->found.list[i], p->f->arena), MOST_LINE);
}

static void draw_legend(struct picture *p)
{
    int dark, x = MARGIN;
    char value[32];
    p->y += LINE;
    for (int i = 0; i <= 4; i++, x += 70) {
        snprintf(value, sizeof value, "%.3g", p->most * i / 4);
        fprintf(p->out, "<rect x=\"%d\" y=\"%d\" width=\"70\" height=\"12\" fill=\"", x, p->y - 10);
        print_colour(p, p->most * i / 4, &dark);
        fputs("\"/>\n", p->out);
        text(p, x + 35, p->y + 16, " font-size=\"11\" text-anchor=\"middle\"", value, 31);
    }
    text(p, x + 10, p->y, "", "GB/s", 31);
    fprintf(p->out,
            "<rect x=\"%d\" y=\"%d\" width=\"22\" height=\"12\" fill=\"none\" stroke=\"#d7191c\" "
            "stroke-width=\"2\"/>\n",
            x + 70, p->y - 10);
    text(p, x + 98, p->y, "", "less than half of the median, or failed", 60);
    fprintf(p->out, "<rect x=\"%d\" y=\"%d\" width=\"22\" height=\"12\" fill=\"#333333\"/>\n", x + 360, p->y - 10);
    text(p, x + 388, p->y, "", "× nothing went well", 60);
    p->y += 2 * LINE + 8;
}

/* Names above the columns, aslant. Returns the room they take. */
static void draw_column_name(struct picture *p, int x, const char *name)
{
    fprintf(p->out, "<text transform=\"translate(%d,%d) rotate(-50)\" font-size=\"11\">", x, p->y - 6);
    xml_put(p->out, name, MOST_NAME);
    fputs("</text>\n", p->out);
}

static void draw_rails(struct picture *p)
{
    const struct verbs_fabric *f = p->f;
    const struct verbs_cell *cells = verbs_cells(f, p->d);
    int width = cell_width(f->nodes), height = cell_height(width);
    text(p, MARGIN, p->y, " font-size=\"15\" font-weight=\"bold\"",
         "Rails × nodes: what a port sends or receives, whichever is less", 99);
    p->y += NAMES;
    for (int node = 0; node < f->nodes; node++)
        if (width >= 14 || node % 8 == 0)
            draw_column_name(p, MARGIN + LABEL + node * width + width / 2, f->names[node]);
    for (int rail = 0; rail < f->rails; rail++, p->y += height) {
        const char *name = arena_printf(f->arena, "rail %d  %s", rail, f->ports[rail].name ? f->ports[rail].name : "?");
        text(p, MARGIN + LABEL - 8, p->y + height / 2 + 4, " font-size=\"12\" text-anchor=\"end\"", name, MOST_NAME);
        for (int node = 0; node < f->nodes; node++) {
            int port = node * f->rails + rail;
            const struct verbs_cell *c = &cells[port];
            const struct shown shown = {.GBps = c->GBps,
                                        .failed = c->failed == c->tried,
                                        .marked = c->outlier,
                                        .title =
                                            arena_printf(f->arena, "%s: %.3g GB/s, %d tries, %d failed, %d slow",
                                                         port_name(f, port), c->GBps, c->tried, c->failed, c->slow)};
            if (c->tried)
                draw_cell(p, MARGIN + LABEL + node * width, p->y, width, height, &shown);
        }
    }
    p->y += 2 * LINE;
}

static int column_of(const struct verbs_fabric *f, int port, int width)
{
    return port * width + (f->rails ? port / f->rails : 0) * NODE_GAP;
}

static void draw_pairs(struct picture *p)
{
    const struct verbs_fabric *f = p->f;
    int ports = f->nodes * f->rails, width = cell_width(ports), height = cell_height(width);
    text(p, MARGIN, p->y, " font-size=\"15\" font-weight=\"bold\"", "Pairs of ports: rows write to columns", 99);
    p->y += NAMES;
    for (int to = 0; to < ports; to++)
        draw_column_name(p, MARGIN + LABEL + column_of(f, to, width) + width / 2, port_name(f, to));
    for (int from = 0; from < ports; from++) {
        int y = p->y + column_of(f, from, height);
        text(p, MARGIN + LABEL - 8, y + height / 2 + 4, " font-size=\"12\" text-anchor=\"end\"", port_name(f, from),
             24);
        for (int to = 0; to < ports; to++) {
            int try = verbs_find_try(f, from, to);
            if (try < 0)
                continue;
            const struct verbs_outcome *o = &p->d->outcomes[try];
            const struct shown shown = {.GBps = o->GBps,
                                        .failed = o->verdict == VERBS_FAILED,
                                        .marked = o->verdict != VERBS_GOOD,
                                        .title = arena_printf(f->arena, "%s to %s: %.3g GB/s%s%s", port_name(f, from),
                                                              port_name(f, to), o->GBps, o->why ? ", failed: " : "",
                                                              o->why ? o->why : "")};
            draw_cell(p, MARGIN + LABEL + column_of(f, to, width), y, width, height, &shown);
        }
    }
    p->y += column_of(f, ports, height) + LINE;
}

static double fastest(const struct verbs_fabric *f)
{
    double most = 0;
    for (int i = 0; i < f->ntries; i++)
        most = f->tries[i].outcome.GBps > most ? f->tries[i].outcome.GBps : most;
    return most;
}

void verbs_svg(const struct verbs_fabric *f, const struct verbs_decision *d, FILE *out)
{
    int ports = f->nodes * f->rails, paired = ports <= MOST_PAIRED;
    int columns = f->nodes * cell_width(f->nodes), width = 2 * MARGIN + LABEL + columns + 60, height;
    if (paired && column_of(f, ports, cell_width(ports)) > columns)
        width = 2 * MARGIN + LABEL + column_of(f, ports, cell_width(ports)) + 60;
    width = width < 1000 ? 1000 : width;
    height = MARGIN + 6 * LINE + (d->nfaults + d->found.n) * LINE;
    if (f->rails)
        height += NAMES + 2 * LINE + f->rails * cell_height(cell_width(f->nodes));
    if (f->rails && paired)
        height += NAMES + LINE + column_of(f, ports, cell_height(cell_width(ports)));
    svg_begin(out, width, height);
    struct picture p = {.f = f, .d = d, .out = out, .most = fastest(f), .y = MARGIN + 10};
    draw_faults(&p);
    draw_legend(&p);
    if (f->rails)
        draw_rails(&p);
    if (f->rails && paired)
        draw_pairs(&p);
    svg_end(out);
}
