/* Recorded files of real machines, which are no part of this repository. NCCLTUNE_CORPUS names their directory.
 * `make check-corpus` runs the unit tests that include this header; without the files they skip. */
#pragma once

#include "core/arena.h"

#define NEEDS_CORPUS "needs the recorded files: NCCLTUNE_CORPUS"

/* Return the path of a file or folder of the corpus, allocated in `a`. NULL, after a message, if it is not there. */
const char *corpus_file(struct arena *a, const char *name);
