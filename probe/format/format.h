/* The exporters, one file each behind one table. */
#ifndef PROBE_FORMAT_FORMAT_H
#define PROBE_FORMAT_FORMAT_H

#include <stdio.h>

#include "probe/topology/topology.h"

/* Findings are shown as findings_attach left them in the topology. */
struct probe_format {
    const char *name, *description;
    int (*write)(const struct topology *t, FILE *out, struct err *e);
};
extern const struct probe_format *const probe_formats[];        /* NULL-terminated; "text" and "json" first */
const struct probe_format *probe_format_find(const char *name); /* NULL: unknown */

extern const struct probe_format format_text, format_json, format_svg, format_html, format_nccl_xml;

#endif
