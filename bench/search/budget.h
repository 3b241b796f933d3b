/* Time budgets of a search. Figures behind it: doc/STATISTICS.md. */
#pragma once

#include <stdio.h>

#include "bench/results/points.h"

/* What to measure. */
struct budget_task {
    int points;       /* collectives by sizes by shapes */
    int launches;     /* beside the default; 0: calls alone */
    int all;          /* launches are all compared with one another, with all points */
    double samples_s; /* a sample of every point, seconds; 0: not known */
    int left_out;     /* points with the usual data that are not measured so far */
};

/* No less and no more than this unless a user says so: seconds. */
#define BUDGET_LEAST_S 60.0
#define BUDGET_MOST_S  3600.0

/* All calls at a point, first uses included, until the winner is proven, in the baseline launch and in the one that
 * wins: seconds, half as long in a quiet world; and samples where these are long: in each launch ten calls once, five
 * of them eight times more, and the pairs of the proof. */
#define BUDGET_POINT_S       1.0
#define BUDGET_POINT_SAMPLES 160

/* Launches that are compared with the default at the same time, and pairs of sessions for them: usually, and at most.
 */
#define BUDGET_FINALISTS  2
#define BUDGET_PAIRS      12
#define BUDGET_MOST_PAIRS (2 * BUDGET_PAIRS)

/* The part of the time for the first session where there are launches to try, which act on all calls, if that leaves
 * the time for so many further sessions, and of what is left then the part in which launches are tried alone. */
#define BUDGET_FIRST_PART  0.25
#define BUDGET_SPARE       (2 + 2 * BENCH_FEWEST)
#define BUDGET_SCREEN_PART 0.4

/* All calls at all points, seconds. */
double budget_points_s(const struct budget_task *t);

/* Duration of sessions that compare launches, after their start: longer than the minimum if there is time
 * for as many as a search usually makes. */
double budget_visit_s(const struct budget_task *t, double left_s, double start_s);

/* The time in which nearly everything is found that is to be found, where a start takes start_s: seconds. */
double budget_usual_s(const struct budget_task *t, double start_s);

/* That time beside what there is, {start_s, time_s, enough_s, points, launches}, in an array for starts of 1, 5 and 30
 * s; budget_s 0: as much as is usual. cJSON_Delete frees. */
struct cJSON *budget_json(const struct budget_task *t, double budget_s);
void budget_print(const struct cJSON *budget, FILE *out);

/* The line for one start. */
#define BUDGET_TEXT 256
void budget_text(const struct budget_task *t, double budget_s, double start_s, char text[BUDGET_TEXT]);
