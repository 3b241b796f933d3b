/* The picture: the cluster where there is one, then every class of nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/svg.h"
#include "probe/format/draw.h"
#include "probe/format/format.h"

#define MARGIN       16.0
#define PAGE         1540.0 /* of a screen of 1600 pixels */
#define MOST_OBJECTS 4096   /* of a class */
#define MOST_CLASSES 64     /* in one picture */

static double draw_legend(struct canvas *to, double x, double y)
{
    const struct {
        const char *fill, *text;
    } legend[] = {{COLOUR_GPU, "GPU"},
                  {draw_role_colour(ROLE_COMPUTE), "port for NCCL"},
                  {draw_role_colour(ROLE_STORAGE), "storage"},
                  {draw_role_colour(ROLE_MANAGEMENT), "management, VF"},
                  {draw_role_colour(ROLE_BOND), "bond"},
                  {draw_role_colour(ROLE_DOWN), "down"},
                  {draw_role_colour(ROLE_UNKNOWN), "not known"},
                  {COLOUR_NVSWITCH, "NVLink, XGMI"}};
    for (size_t i = 0; i < sizeof legend / sizeof *legend; i++) {
        draw_box(to, x, y, 14, 12, legend[i].fill);
        draw_words(to, x + 19, y + 10, DRAW_FROM, 10, 120, legend[i].text);
        x += 34 + 6.2 * (double)strlen(legend[i].text);
    }
    draw_words(
        to, x, y + 10, DRAW_FROM, 10, 700,
        "A line is the wider the more it carries; \"5.0 x16\" is PCIe generation and lanes, at most what both ends "
        "can do");
    return 12;
}

static void draw_page(struct canvas *to, const struct topology *t, struct arena *a)
{
    double y = MARGIN;
    y += draw_cluster(to, t, MARGIN, y, PAGE, a);
    for (int i = 0; i < t->nclasses && i < MOST_CLASSES; i++)
        y += (y > MARGIN ? 24 : 0) + draw_node(to, t, i, MARGIN, y + (y > MARGIN ? 24 : 0), a);
    if (t->nclasses > MOST_CLASSES)
        draw_words(to, MARGIN, y += 24, DRAW_FROM, 13, PAGE,
                   arena_printf(a, "and %d more classes", t->nclasses - MOST_CLASSES));
    draw_legend(to, MARGIN, y + 22);
}

static int write_svg(const struct topology *t, FILE *out, struct err *e)
{
    char *body = NULL;
    size_t bytes = 0;
    for (int i = 0; i < t->nclasses && i < MOST_CLASSES; i++)
        if (t->classes[i].nobjects > MOST_OBJECTS)
            return err_set(e, ERR_FAILED, "%s has more than %d objects, which is no picture", t->classes[i].name,
                           MOST_OBJECTS);
    struct canvas to = {.out = open_memstream(&body, &bytes)};
    if (!to.out)
        return err_set(e, ERR_FAILED, "out of memory");
    struct arena *a = arena_new();
    draw_page(&to, t, a);
    arena_free(a);
    int full = fclose(to.out);
    if (!full) {
        svg_begin(out, to.width + MARGIN, to.height + MARGIN);
        fputs(body ? body : "", out);
        svg_end(out);
    }
    free(body);
    return full || ferror(out) ? err_set(e, ERR_FAILED, "the picture cannot be written") : 0;
}

const struct probe_format format_svg = {"svg", "a picture", write_svg};
