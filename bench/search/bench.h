/* Public interface of bench/: measure collectives over all choices, into a journal.
 */
#pragma once

#include <signal.h>
#include <stdio.h>

#include "bench/search/options.h"
#include "core/log.h"

/* Runs the measurement that `o` describes, on `topology` (NULL unknown; its hash goes into the journal). `log`,
 * which has the progress, and `summary` may be NULL. Once *stop is set it ends within about two seconds, all children
 * gone and the journal ready for `resume`; that is no error. A candidate that crashes, hangs or computes wrong data is
 * none either: both are told through `summary`. `measured` (NULL: not wanted) replaces *measured (NULL or results) by
 * all that the journal now holds, for bench_results_free; left alone after an error. Errors: options that make no sense
 * (ERR_USAGE), what the engine needs is not there (ERR_LACKS), the default cannot be run, the journal cannot be
 * written. */
int bench_run(const struct bench_options *o, const struct topology *topology, struct log *log,
              volatile sig_atomic_t *stop, struct bench_summary *summary, struct bench_results **measured,
              struct err *e);

/* The plan of bench_run, as {engine, library, description, launches, beside, collectives: {NAME: {calls,
 * refinements}}, sizes, shapes, time}: launches and calls by their labels, sizes in bytes, shapes where the
 * number of ranks is known, time (nothing is measured: none) as in bench/search/budget.h. Runs nothing on other
 * machines. cJSON_Delete frees; NULL after an error, as in bench_run. */
struct cJSON *bench_plan_json(const struct bench_options *o, const struct topology *topology, struct log *log,
                              struct err *e);

/* The same for people. */
void bench_plan_print(const struct cJSON *plan, FILE *out);

/* To be called before anything else is done: under an mpirun or srun that started this program on every rank, returns
 * in the one that conducts and turns the others into workers. */
int bench_join(const struct bench_options *o, struct err *e);
