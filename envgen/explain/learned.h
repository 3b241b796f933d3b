/* A profile is made anew with what jobs have learned while they ran, and the two are compared. */
#ifndef ENVGEN_EXPLAIN_LEARNED_H
#define ENVGEN_EXPLAIN_LEARNED_H

#include "core/arena.h"
#include "core/err.h"
#include "core/log.h"

struct env_relearned {
    const char *dir;     /* with journals of jobs */
    const char *profile; /* what they are added to */
    const char *made;    /* an empty directory: the new profile becomes `made`/profile */
    int changes;         /* out: how many, each was printed */
};

/* Says on `out` what would change. Errors: files that cannot be read or written. */
int env_relearn(struct env_relearned *l, FILE *out, struct log *log, struct arena *a, struct err *e);

#endif
