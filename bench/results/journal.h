/* The journal being written: results.jsonl, open for appending. */
#ifndef BENCH_RESULTS_JOURNAL_H
#define BENCH_RESULTS_JOURNAL_H

#include "bench/results/results.h"

/* With what it holds, line for line as another program would read it. */
struct bench_journal {
    int fd;
    const char *path;
    struct bench_results *results; /* grows with every line; freed by bench_journal_close unless taken away (NULL) */
    long lines;
};

/* Makes a new journal (an existing non-empty file is an error unless `resume`), or cuts a broken last line off an
 * existing one, checks that it holds for the same topology, and reads it: broken lines are reported to `log`. */
int bench_journal_open(struct bench_journal *j, const char *path, const char *topology_hash, int resume,
                       struct log *log, struct err *e);
/* A line, which also joins `results`. It goes out in one write followed by fdatasync. */
int bench_journal_append(struct bench_journal *j, const struct bench_result *r, struct err *e);
/* Many lines in one write: for what costs less than bringing it to disk. */
int bench_journal_append_all(struct bench_journal *j, const struct bench_result *r, int n, struct err *e);
/* A line of what disturbed the measurement; none where nothing did. */
int bench_journal_append_noise(struct bench_journal *j, const struct findings *noise, struct err *e);
void bench_journal_close(struct bench_journal *j);

#endif
