/* What a prediction doubts: how far its logarithm may be off, and how much of that another prediction shares. */
#ifndef BENCH_RESULTS_DOUBT_H
#define BENCH_RESULTS_DOUBT_H

enum { BENCH_DOUBTS = 6 };

/* Standard deviations of the logarithm of a time. Two predictions of one machine err together in what they share: the
 * difference of their shared parts is what remains of them in a quotient. */
struct bench_doubt {
    double shared[BENCH_DOUBTS]; /* by independent cause, signed */
    double rest;                 /* of this call alone */
    int way;                     /* calls of the same way share most of the rest too; of the same detail all of it */
    int detail;
};

/* Half the width, in standard deviations, of an interval that holds nine of ten. */
#define BENCH_NINE_OF_TEN 1.645

/* Standard deviation of the logarithm of a time, and of the quotient of two. */
double bench_doubt_of_time(const struct bench_doubt *d);
double bench_doubt_of_quotient(const struct bench_doubt *a, const struct bench_doubt *b);

#endif
