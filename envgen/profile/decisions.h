/* decisions.json, both ways: every choice of a profile with its evidence. */
#ifndef ENVGEN_PROFILE_DECISIONS_H
#define ENVGEN_PROFILE_DECISIONS_H

#include "core/json.h"
#include "envgen/decide/decide.h"

/* The whole as a document; cJSON_Delete frees. */
cJSON *env_decisions_json(const struct env_decisions *d);

/* Reads a file back. NULL after an error, which names the file and what was expected where. */
struct env_decisions *env_decisions_load(const char *path, struct err *e);

#endif
