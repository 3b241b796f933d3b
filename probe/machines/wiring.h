/* How the usual baseboards join GPUs by NVLink, XGMI and C2C. */
#ifndef PROBE_MACHINES_WIRING_H
#define PROBE_MACHINES_WIRING_H

#include "probe/machines/hardware.h"

/* Adds to a class without links those that its GPUs, all of the kind `hw`, have on the board that is usual for their
 * number: NVSwitches; a mesh; the hybrid cube of eight V100; the four modules of eight MI250X dies; bridges. */
void wiring_usual(struct topology *t, struct topo_class *c, const struct hw_gpu *hw);

#endif
