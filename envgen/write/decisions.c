/* decisions.json: the evidence of all choices. */
#include "core/json.h"
#include "envgen/write/write_internal.h"

static int write_decisions(const struct env_writing *w, FILE *out, struct err *e)
{
    return json_print(env_decisions_json(w->decisions), out, e);
}

const struct env_writer env_writers_decisions[] = {{"decisions.json", write_decisions}, {NULL}};
