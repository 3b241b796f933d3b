/* The options that say what to measure and where, for the commands that measure. */
#pragma once

#include "bench/search/bench.h"
#include "cli/arguments.h"

/* The groups of a command that measures: its own, which end with NULL `options`, what to measure and where, which goes
 * into `o`, and the options that engines have of their own, with `documents` also of those that make no journal. Comes
 * after cli_measure_begin. In `a`. */
struct option_group *cli_measure_groups(const struct option_group *command, struct bench_options *o, int documents,
                                        struct arena *a);

/* The command line that goes on with an interrupted run into `out`: as it was typed, without a budget of its own. */
const char *cli_measure_resume(const char *command, const struct option_group *groups, const char *out,
                               struct arena *a);

/* Take over what the run of a journal was to measure, unless it is said. Return it as options; NULL: nothing. */
const char *cli_measure_take_up(const struct bench_options *o, const char *journal, struct arena *a);

/* bench_options_default, less what depends on other options: collectives and the largest size are 0. */
void cli_measure_begin(struct bench_options *o);

/* A budget that was not given becomes the usual one, which may be stretched. */
void cli_measure_budget(struct bench_options *o);

/* Leave what nccltune has installed out of the environment of this process and of all that it starts, and say what it
 * was. Comes before any other process is met. */
void cli_measure_leave_out(const char *command, int quiet, struct arena *a);

/* Check the options and the files that they name, before anything else. */
int cli_measure_check(const struct bench_options *o, struct err *e);

/* Fill in what depends on other options, once o->engine is known; `r` is the value of --nccl. Error: hosts where
 * nothing is measured. */
int cli_measure_resolve_defaults(struct bench_options *o, const struct cli_releases *r, struct err *e);
