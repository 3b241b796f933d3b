/* install-profile --serve: nodes that were not measured are asked what they are, and a profile is made that knows them.
 */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include "core/arena.h"
#include "core/err.h"

struct cli_serve {
    const char *list;    /* as in cli/nodes.h */
    const char *ssh;     /* what reaches a node; NULL: as in cli/nodes.h */
    const char *store;   /* whose installed profile it is where `profile` is NULL */
    const char *profile; /* the one that is extended */
    const char *made;    /* directory for the one that knows more nodes */
    int joined, left;    /* out: nodes that it knows now, and that are not served, which have been named */
};

/* Nothing is written where nobody joins and nobody has to go. Errors: nobody answers, no profile, a directory that
 * cannot be written. */
int cli_serve(struct cli_serve *s, const char *command, struct arena *a, struct err *e);

#endif
