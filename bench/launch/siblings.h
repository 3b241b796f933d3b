/* The processes of one job on one node: one works, the others wait for it and end as it does. They meet at a socket
 * without a file, which is gone with whoever opened it. */
#ifndef BENCH_LAUNCH_SIBLINGS_H
#define BENCH_LAUNCH_SIBLINGS_H

#include "core/err.h"

/* Opens the meeting point of `job`; a descriptor to be kept until the end, -1 after an error. Closing it without a word
 * is a word, too: SIBLINGS_LOST. */
int siblings_open(const char *job, struct err *e);

/* Tells all that wait, or come within a moment: a number from 0 to 255. Closes. */
void siblings_tell(int fd, int word);

#define SIBLINGS_LOST (-1) /* the other has gone without a word */
#define SIBLINGS_NONE (-2) /* nobody has opened the meeting point within `patience_s` */

/* Waits for the word. Whoever opened the meeting point must be the same user. */
int siblings_wait(const char *job, double patience_s);

#endif
