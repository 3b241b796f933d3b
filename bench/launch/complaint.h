/* What a launcher, or what it started, complains about: of a page on standard error the one or two lines that say why.
 */
#ifndef BENCH_LAUNCH_COMPLAINT_H
#define BENCH_LAUNCH_COMPLAINT_H

#include <stddef.h>

#define COMPLAINT_LINE 256

/* The first line is mostly the cause ("ssh: Could not resolve hostname"), the last what came of it. OpenMPI puts
 * general advice between two rules of dashes: that counts only where nothing else was said. Zeroed before the first
 * use. */
struct complaint {
    char first[COMPLAINT_LINE], last[COMPLAINT_LINE], framed[COMPLAINT_LINE];
    char line[COMPLAINT_LINE]; /* what has come of the next one */
    size_t used;
    int in_frame;
    int begun; /* its first line has been */
};

void complaint_add(struct complaint *c, const char *text, size_t bytes);

/* Reads what there is from a descriptor that does not block. 0 when it has ended. */
int complaint_read(struct complaint *c, int fd);

/* "first / last", one of them when they are the same, "" without any. Returns `text`. */
char *complaint_text(const struct complaint *c, char *text, size_t bytes);

#endif
