/* The parts of nccltune tune, private to cli/tune*.c. */
#ifndef CLI_TUNE_H
#define CLI_TUNE_H

#include "bench/search/bench.h"
#include "cli/machine.h"
#include "envgen/generate/generate.h"

struct tune {
    struct env_generate generate;
    int resume, json, quiet;
    struct bench_options bench;
    struct cli_machine machine; /* a described one; else this machine */
    struct log log;
    struct progress progress;
    volatile sig_atomic_t *stop;
    struct arena *arena;
    const char *topology, *results; /* files of the profile */
    int choose;                     /* which engine is ours to choose: --engine was not given */
    int lacks;                      /* nothing could be measured */
};

int tune_exists(const char *path);

/* Says what came of it: what was measured or predicted, what was decided, the lines for a job script. */
int tune_report(struct tune *t, struct err *e);

#endif
