/* Measurements for other programs. */
#ifndef BENCH_RESULTS_EXPORT_H
#define BENCH_RESULTS_EXPORT_H

#include <stdio.h>

#include "bench/results/results.h"

/* A line a measurement, tidy: what it was, how many samples, their median, least and most in microseconds, algbw and
 * busbw in GB/s. Fields are quoted as RFC 4180 has it. */
void bench_export_csv(const struct bench_results *r, FILE *out);

/* The same as a JSON array of objects. */
void bench_export_json(const struct bench_results *r, FILE *out);

/* nccltune's own journal, nccltune-results.jsonl(5). */
void bench_export_journal(const struct bench_results *r, FILE *out);

/* Median seconds and bus bandwidth of every candidate that came through, in OpenMetrics' text format 1.0. */
void bench_export_openmetrics(const struct bench_results *r, FILE *out);

/* A table a candidate in the columns of nccl-tests, which scripts read that expect those. */
void bench_export_nccl_tests(const struct bench_results *r, FILE *out);

#endif
