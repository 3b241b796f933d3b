/* The ways that copies take over the links of a node. */
#pragma once

#include "model/links.h"

/* Ways of bytes, from fast to slow. */
enum model_way {
    MODEL_WAY_LINKS,  /* NVLink, XGMI */
    MODEL_WAY_PCIE,   /* from device to device */
    MODEL_WAY_MEMORY, /* through host memory: GPUs that cannot reach one another's memory, NICs farther from their GPU
                       * than PCI switches, sockets */
};

/* Each adds `load` to loads[] of every link that bytes pass on that way. */
enum model_way model_way_gpus(const struct model_links *l, int from, int to, double load, double *loads);
enum model_way model_way_mesh(const struct model_links *l, int from, double load, double *loads); /* by all links */
enum model_way model_way_out(const struct model_links *l, int gpu, int net, double load, double *loads);
enum model_way model_way_in(const struct model_links *l, int net, int gpu, double load, double *loads);
