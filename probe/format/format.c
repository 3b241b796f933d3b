/* The table of exporters. */
#include <string.h>

#include "probe/format/format.h"

const struct probe_format *const probe_formats[] = {&format_text, &format_json,     &format_svg,
                                                    &format_html, &format_nccl_xml, NULL};

const struct probe_format *probe_format_find(const char *name)
{
    for (const struct probe_format *const *f = probe_formats; *f; f++)
        if (!strcmp((*f)->name, name))
            return *f;
    return NULL;
}
