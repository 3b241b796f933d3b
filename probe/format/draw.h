/* Boxes, lines and words of a picture. */
#ifndef PROBE_FORMAT_DRAW_H
#define PROBE_FORMAT_DRAW_H

#include <stdio.h>

#include "probe/topology/roles.h"

/* Where a picture is written, and how far it reaches by now, in pixels. */
struct canvas {
    FILE *out;
    double width, height;
};

/* Fills that black text stays readable on. */
#define COLOUR_GPU      "#b7e1a1"
#define COLOUR_SWITCH   "#e9e9e9"
#define COLOUR_NVSWITCH "#d8c7f0"
#define COLOUR_NODE     "#fafafa"
#define COLOUR_NVLINK   "#6a9f3f"
#define COLOUR_LINE     "#555555"
const char *draw_role_colour(enum port_role role);

/* A box with its top left corner there. */
void draw_box(struct canvas *to, double x, double y, double width, double height, const char *fill);

/* A line that is the wider the more it carries: 4 pixels for 450 GB/s, 2.7 for PCIe 5.0 x16; 0 is not known. */
void draw_line(struct canvas *to, double x, double y, double to_x, double to_y, const char *colour, double GBps);

/* Half an ellipse below two points on one height. */
void draw_arc(struct canvas *to, double x, double to_x, double y, double depth, double GBps);

/* Words whose baseline begins (or, centred, has its middle) there; cut where they would be wider than `room`. */
enum draw_at { DRAW_FROM, DRAW_CENTRED };
void draw_words(struct canvas *to, double x, double y, enum draw_at at, double size, double room, const char *words);

/* A box with up to three lines of words in its middle, the first in bold; NULL ones are left out. */
void draw_labelled(struct canvas *to, double x, double y, double width, double height, const char *fill,
                   const char *const words[3]);

/* A node of the class: its NUMA nodes, PCIe and NVLink. Returns the height that it took. */
double draw_node(struct canvas *to, const struct topology *t, int class_index, double x, double y, struct arena *a);

/* How classes hang together: a card for each, the rails or leaf switches that they share, NVLink domains over nodes.
 * Returns the height that it took. */
double draw_cluster(struct canvas *to, const struct topology *t, double x, double y, double width, struct arena *a);

/* "5.0 x16", "63 GB/s"; NULL not known. */
const char *draw_pcie(const struct topo_object *o, struct arena *a);

#endif
