/* The table of exporters, and topology.json on a stream. */
#include "probe/format/format.h"

#include <string.h>

#include "core/json.h"

static int write_json(const struct topology *t, FILE *out, struct err *e)
{
    (void)e;
    json_print(topo_to_json(t), out);
    return 0;
}

static const struct probe_format format_json = {"json", "topology.json, what the other commands read", write_json};

const struct probe_format *const probe_formats[] = {&format_text, &format_json,     &format_short,
                                                    &format_svg,  &format_nccl_xml, NULL};

const struct probe_format *probe_format_find(const char *name)
{
    for (const struct probe_format *const *f = probe_formats; *f; f++)
        if (!strcmp((*f)->name, name))
            return *f;
    return NULL;
}
