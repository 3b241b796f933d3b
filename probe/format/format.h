/* The exporters, one file each; users find them through probe_formats. */
#ifndef PROBE_FORMAT_FORMAT_H
#define PROBE_FORMAT_FORMAT_H

#include "probe/source/probe.h"

extern const struct probe_format format_text;
extern const struct probe_format format_json;
extern const struct probe_format format_dot;
extern const struct probe_format format_svg;
extern const struct probe_format format_html;
extern const struct probe_format format_nccl_xml;
extern const struct probe_format format_hwloc_xml;

#endif
