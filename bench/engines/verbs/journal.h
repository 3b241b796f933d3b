/* The journal of a fabric that is being measured: the worker's lines as they come, so that an interrupted measurement
 * can be gone on with. One file beside the document, gone once that is complete. */
#ifndef BENCH_ENGINES_VERBS_JOURNAL_H
#define BENCH_ENGINES_VERBS_JOURNAL_H

#include "core/arena.h"
#include "core/err.h"

#define VERBS_JOURNAL_FORMAT "nccltune-fabric-journal/1"

struct verbs_journal {
    const char *path;
    int fd;             /* -1 not open; appended to, and on disk after every line */
    const char **lines; /* what an earlier run has written, without the first */
    int nlines;
};

/* Opens `path` for a measurement that `what` describes: ports, schedule, hosts. With `resume` what is there is read
 * first, and must be of the same; a last line that was cut off is dropped. Without, what is there is replaced. */
int verbs_journal_open(struct verbs_journal *j, const char *path, const char *what, int resume, struct arena *a,
                       struct err *e);

/* "FILE.journal", beside the document. In `a`. */
const char *verbs_journal_path(const char *document, struct arena *a);

int verbs_journal_add(struct verbs_journal *j, const char *line, struct err *e);

/* Closes it, and removes the file when the measurement is `complete`. Nothing when it is not open. */
void verbs_journal_close(struct verbs_journal *j, int complete);

#endif
