/* Launchers among themselves. */
#ifndef BENCH_LAUNCH_START_INTERNAL_H
#define BENCH_LAUNCH_START_INTERNAL_H

#include "bench/launch/places.h"
#include "bench/launch/start.h"
#include "bench/launch/words.h"

/* A command that runs here. */
struct start_command {
    const char **argv, **env; /* end with NULL */
    const char *host;         /* the node that it is for; NULL: for all */
    const char *input;        /* for its standard input; NULL nothing */
};

struct start_commands {
    struct arena *arena; /* of all of it */
    struct start_command *list;
    int count;
};

struct start_launcher {
    const char *name;
    int each; /* its command is for one node: there is one for each */
    /* Whether it would be taken without being asked for. */
    int (*suits)(const struct bench_setup *setup, const struct places *where, struct arena *a);
    int (*commands)(const struct bench_setup *setup, const struct places *where, const struct start_agent *what,
                    struct start_commands *out, struct err *e);
};

/* In the order in which they are looked for; ends with an empty one. */
extern const struct start_launcher start_launchers[];

#endif
