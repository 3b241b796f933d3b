/* The exporters behind one table, and texts of a topology for others. */
#pragma once

#include <stdio.h>

#include "probe/topology/topology.h"

/* Findings are shown as findings_attach left them in the topology. */
struct probe_format {
    const char *name, *description;
    int (*write)(const struct topology *t, FILE *out, struct err *e);
};
extern const struct probe_format *const probe_formats[];        /* NULL-terminated; "text" and "json" first */
const struct probe_format *probe_format_find(const char *name); /* NULL: unknown */

extern const struct probe_format format_text, format_short, format_svg, format_nccl_xml;

/* What a picture marks in its first class, with `words` beside it. Ports and links as fast as the named one share its
 * load and are marked with it. */
enum picture_limit { PICTURE_NOTHING, PICTURE_NIC, PICTURE_PCIE, PICTURE_GPU_LINKS, PICTURE_GPU, PICTURE_CPU };
struct picture_mark {
    enum picture_limit what;
    const char *name; /* of PICTURE_NIC and PICTURE_PCIE: "mlx5_0:1", "eth0", a PCI address */
    const char *words;
};

/* Write an SVG; `mark` NULL: none. */
int picture_write(const struct topology *t, const struct picture_mark *mark, FILE *out, struct err *e);

/* Write what each rule on roles sees of `port` ("mlx5_4", "mlx5_4:1"), for every class that has it: why it is on
 * NCCL's list, or not. Errors: ERR_LACKS if no class has it. */
int why_write(const struct topology *t, const char *port, FILE *out, struct err *e);

/* Return a copy of `s` that no terminal acts upon: everything but printable ASCII is '?'. NULL is "?". */
const char *text_inert(struct arena *a, const char *s);

/* Return the hosts of a class, "node[0001-0512], 512 nodes", or its name if it has none; in `a`. */
const char *text_hosts(const struct topology *t, int class_index, struct arena *a);

/* Return "5.0 x16" or "63 GB/s" of a PCIe link; NULL if unknown. In `a`. */
const char *text_pcie(const struct topo_object *o, struct arena *a);

/* "NVLink" by kind; "18 NVLinks, 450 GB/s" (GBps 0: unknown), in `a`. */
extern const char *const text_link_kinds[];
const char *text_links(struct arena *a, enum topo_link_kind kind, int n, double GBps);
