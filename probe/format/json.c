/* topology.json, on a stream. */
#include <cjson/cJSON.h>
#include <stdio.h>

#include "probe/format/format.h"

static int write_json(const struct topology *t, FILE *out, struct err *e)
{
    cJSON *doc = topo_to_json(t);
    char *text = cJSON_Print(doc);
    int rc = !text || fprintf(out, "%s\n", text) < 0 ? err_set(e, ERR_FAILED, "out of memory, or the disk is full") : 0;
    cJSON_free(text);
    cJSON_Delete(doc);
    return rc;
}

const struct probe_format format_json = {"json", "topology.json, what the other commands read", write_json};
