/* Child processes: starting them in a group of their own, feeding them, ending all of them. */
#pragma once

#include <sys/types.h>

#include "core/arena.h"
#include "core/err.h"

/* A child with pipes to its standard streams; a file descriptor that is closed is -1. */
struct proc {
    pid_t pid;   /* 0 when it has been waited for */
    pid_t group; /* its process group; 0 when there is nothing left to stop */
    int in, out, err;
    int status; /* as from waitpid, once pid is 0 */
};

/* Starts argv[0] (searched in PATH) with the NULL-terminated "NAME=value" strings of `env` (NULL: none) added to this
 * process's environment. Gets SIGTERM when the calling thread ends, however it ends. Errors: ERR_LACKS when there is no
 * such program. */
int proc_spawn(struct proc *p, const char *const *argv, const char *const *env, struct err *e);

/* Nonzero if the child has ended within `timeout_s`; it is waited for then, its descriptors stay open. */
int proc_ended(struct proc *p, double timeout_s);

/* A descriptor that poll finds readable once the child has ended, to be closed; -1 where the kernel has none (before
 * 5.3). */
int proc_watch(const struct proc *p);

/* Ends the child and its process group: SIGTERM, after `grace_s` SIGKILL. Waits for it and closes the descriptors. Does
 * the rest when the child has ended by itself, nothing on a zeroed or stopped one. */
void proc_stop(struct proc *p, double grace_s);

/* Writes all of it to a pipe whose reader may be gone: -1 with errno EPIPE then, and no SIGPIPE. */
int proc_write(int fd, const char *data, size_t bytes);

/* Run a program: its standard output, in `a`, and its exit status. NULL after an error: it cannot be started,
 * prints more than `most` bytes, says nothing for `timeout_s`, or has not ended so long after its last word. */
char *proc_output(const char *const *argv, const char *const *env, size_t most, double timeout_s, struct arena *a,
                  int *status, struct err *e);

#define PROC_STATUS_TEXT 64
/* "exited with code 1", "was killed by signal 9 (Killed)". Returns `text`. */
char *proc_status_text(int status, char text[PROC_STATUS_TEXT]);

/* Splits a command line at blanks without a shell: '…' and "…" keep blanks, a backslash the character behind it,
 * nothing else is special. The NULL-terminated list and its words live in `a`; NULL after an error (an open quote). */
const char **proc_split(const char *line, struct arena *a, int *nwords, struct err *e);
