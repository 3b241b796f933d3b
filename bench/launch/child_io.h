/* A conversation with a child: its output line by line, with a deadline, and what it complained about. */
#ifndef BENCH_LAUNCH_CHILD_IO_H
#define BENCH_LAUNCH_CHILD_IO_H

#include <signal.h>

#include "bench/launch/bench_protocol.h"
#include "bench/launch/complaint.h"
#include "core/proc.h"

struct child {
    struct proc proc;
    char *line;         /* PROTOCOL_LINE bytes: what came and has not been handed out */
    size_t used, given; /* of it; `given` bytes were handed out last time */
    struct complaint complaint;
};

enum child_event { CHILD_LINE, CHILD_LATE, CHILD_STOPPED, CHILD_ENDED };

/* Starts the child (see proc_spawn). */
int child_start(struct child *t, const char *const *argv, const char *const *env, struct err *e);

/* Waits for the next line that begins with '{' until `deadline_s` of progress_now_s(). `*line` is '\0'-terminated,
 * without newline and valid until the next call. CHILD_ENDED: the child closed its output, or sent a line longer than
 * PROTOCOL_LINE. `stop` may be NULL. */
enum child_event child_next(struct child *t, double deadline_s, volatile sig_atomic_t *stop, char **line);

/* Sends a line; -1 when the child is gone. */
int child_say(struct child *t, const char *line);

/* How the child ended and its last words, as one sentence. Waits shortly for its end. */
void child_last_words(struct child *t, char detail[BENCH_DETAIL]);

/* Ends it (see proc_stop) and frees. */
void child_end(struct child *t, double grace_s);

#endif
