/* Lists of hosts as users, files and Slurm write them: "a,b", "node[01-16,20],login", "r[1-2]n[0-9]". libc only. */
#pragma once

#include "core/arena.h"
#include "core/err.h"

#define HOSTLIST_MOST 65536 /* hosts in a list */
#define HOSTLIST_NAME 256   /* bytes of a name, with the end */

/* Calls `each` for every host of `text` in order, until one call returns other than 0, which is returned. Commas or
 * blanks part hosts; numbers in brackets are expanded, and leading zeros stay. ERR_USAGE, with `what` (an option, a
 * file) in the sentence, for a list that is empty or none, a name that a shell or ssh could take for something else,
 * and more than HOSTLIST_MOST hosts: `each` has had those before then. */
typedef int hostlist_host(void *arg, const char *host);
int hostlist_each(const char *text, const char *what, hostlist_host *each, void *arg, struct err *e);

/* The hosts of a list as an array, all in `a`. Each is there once: PBS and LSF write a node once a slot. */
int hostlist_parse(const char *text, const char *what, struct arena *a, const char ***hosts, int *n, struct err *e);

/* Return whether two names may be of one host: they are the same, or one is what comes before the other's first dot. */
int hostlist_alike(const char *x, const char *y);

/* The other way, for people: "n[0-3],login", neighbours whose names end in numbers that follow one another as one; in
 * `a`. */
const char *hostlist_fold(const char *const *hosts, int n, struct arena *a);

/* The hosts of a file: the first word of every line is a list; what follows (mpirun's "slots=8") is left out, and so
 * are comments behind '#'. */
int hostlist_read(const char *path, struct arena *a, const char ***hosts, int *n, struct err *e);
