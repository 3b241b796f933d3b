/* How much time a search should have, and what a given time buys. Figures behind it: doc/STATISTICS.md. */
#ifndef BENCH_SEARCH_BUDGET_H
#define BENCH_SEARCH_BUDGET_H

#include <cjson/cJSON.h>
#include <stdio.h>

/* What there is to measure. */
struct budget_task {
    int points;   /* collectives by sizes by shapes */
    int launches; /* beside the default; 0: calls alone */
    int all;      /* launches are all compared with one another, with all points */
};

/* Pairs of sessions in which launches are compared with the default, at most. */
#define BUDGET_PAIRS 12

/* The time in which nearly everything is found that is to be found, where a start takes start_s: seconds. */
double budget_usual_s(const struct budget_task *t, double start_s);

struct budget_buys {
    double points;   /* the part of them that is measured with all calls, 0 to 1 */
    double launches; /* the part of them that is screened */
    int pairs;       /* with the default; below BENCH_FEWEST_SESSIONS none is told from it */
};
struct budget_buys budget_buys(const struct budget_task *t, double budget_s, double start_s);

/* The same for starts of 1, 5 and 30 s, as an array, and for people; budget_s 0: the usual one. cJSON_Delete frees. */
cJSON *budget_json(const struct budget_task *t, double budget_s);
void budget_print(const cJSON *budget, FILE *out);

#endif
