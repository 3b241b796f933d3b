/* topology.json, on a stream. */
#include "core/json.h"
#include "probe/format/format.h"

static int write_json(const struct topology *t, FILE *out, struct err *e)
{
    cJSON *doc = topo_to_json(t);
    int rc = json_print(doc, out, e);
    cJSON_Delete(doc);
    return rc;
}

const struct probe_format format_json = {"json", "topology.json, what the other commands read", write_json};
