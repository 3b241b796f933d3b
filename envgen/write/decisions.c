/* decisions.json: the evidence of all choices. */
#include "envgen/write/write_internal.h"

static int write_decisions(const struct env_writing *w, FILE *out, struct err *e)
{
    cJSON *doc = env_decisions_json(w->decisions);
    char *text = cJSON_Print(doc);
    cJSON_Delete(doc);
    if (!text)
        return err_set(e, ERR_FAILED, "out of memory");
    fprintf(out, "%s\n", text);
    cJSON_free(text);
    return 0;
}

const struct env_writer env_writers_decisions[] = {{"decisions.json", write_decisions}, {NULL}};
