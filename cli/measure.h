/* The options that say what to measure and where, for the commands that measure. */
#ifndef CLI_MEASURE_H
#define CLI_MEASURE_H

#include "bench/search/bench.h"
#include "cli/arguments.h"

/* Into struct bench_options. */
extern const struct option_spec cli_what_options[], cli_where_options[], cli_how_long_options[];
#define CLI_MEASURE_GROUPS(options)                                                            \
    {"What to measure", cli_what_options, (options)}, {"Where", cli_where_options, (options)}, \
    {                                                                                          \
        "How long", cli_how_long_options, (options)                                            \
    }

/* bench_options_default, less what depends on other options: collectives and the largest size are 0. */
void cli_measure_begin(struct bench_options *o);

/* What is wrong with the options or the files that they name, before anything is looked at. */
int cli_measure_check(const struct bench_options *o, struct err *e);

/* What depends on other options, once o->engine is known; `r` is what --nccl said. Error: hosts where nothing is
 * measured. */
int cli_measure_resolve_defaults(struct bench_options *o, const struct cli_releases *r, struct err *e);

#endif
