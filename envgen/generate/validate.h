/* Judging by lint what goes into the files for NCCL: settings before they are written, files after. */
#pragma once

#include "envgen/profile/decisions.h"

/* Sets the releases that `d` is for: `low` to `high` as the user asked (0: did not), else the libraries that were
 * measured and those found on the nodes, else every release in use. RCCL when the GPUs are AMD's. */
void env_releases(struct env_decisions *d, const struct topology *t, int low, int high);

/* Takes the value from every setting for NCCL that a release of the range does not read, that is its default already,
 * or that lint warns of on this topology; `why` says so then. What was measured together stays or goes together. */
void env_validate(struct env_decisions *d, const struct topology *t);

/* Checks a finished file: lint has nothing to warn of, and nccl.conf
 * read by NCCL's rules gives exactly the settings of `node_class` (NULL: the common ones). An error is a mistake of
 * nccltune itself. */
int env_validate_file(const struct env_decisions *d, const struct topology *t, const char *node_class, const char *file,
                      const char *text, size_t bytes, struct err *e);
