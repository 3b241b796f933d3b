/* A node of the picture, and what its parts share with those of the cluster. */
#pragma once

#include "core/svg.h"
#include "probe/topology/topology.h"

/* Fills that black text stays readable on. */
#define COLOUR_GPU      "#b7e1a1"
#define COLOUR_SWITCH   "#e9e9e9"
#define COLOUR_NVSWITCH "#d8c7f0"
#define COLOUR_NODE     "#fafafa"
#define COLOUR_NVLINK   "#6a9f3f"
#define COLOUR_LINE     "#555555"
const char *svg_role_colour(enum port_role role);

/* The width of a line, the wider the more it carries: 4 pixels for 450 GB/s, 2.7 for PCIe 5.0 x16; 0 is not known. */
double svg_pen(double GBps);

/* Draw a node of the class: its NUMA nodes, PCIe and NVLink. Return the height that it took. */
double svg_node(struct svg *to, const struct topology *t, int class_index, double x, double y, struct arena *a);
