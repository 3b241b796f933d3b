/* Calls of a job's ranks, as the files of a capture have them (tuner/capture/file.c): their lines, read and written.
 *
 * libc only, because a job reads at its end what its ranks and earlier jobs have left. Files may be anybody's: a line
 * that is not as a capture writes it is not taken, and what is read is bounded. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define OBSERVE_WORD    72         /* longest name of a job or host, with its end */
#define OBSERVE_RANKS   8192       /* of a job that are read */
#define OBSERVE_CALLS   400000     /* kinds of calls of all ranks of a job that are read: 40 MB */
#define OBSERVE_BYTES   (4U << 20) /* of one file */
#define OBSERVE_ENTRIES 1000000    /* of all ranks of a job that are read: 32 MB */

/* One kind of call as one rank saw it. */
struct observe_call {
    uint64_t bytes, count, timed; /* timed: calls whose time is known */
    uint64_t group;               /* the communicator, the same on all its ranks; 0 unknown */
    double median_us, total_us;   /* of those that were timed; median -1 unknown */
    double steady_us;             /* their mean without the longest few; -1 unknown */
    int kind;                     /* enum coll */
    int group_size, stride, crosses_nodes;
    int algo, proto, channels; /* -1, -1, 0 unknown */
    char dtype[12];            /* "" unknown */
    unsigned rank;             /* place in observe_job.ranks */
};

/* When a rank's host entered the n-th call of a communicator. */
struct observe_entry {
    uint64_t group, number, at_us; /* since 1970 */
    unsigned rank;                 /* place in observe_job.ranks */
};

struct observe_rank {
    int rank;
    char host[OBSERVE_WORD];
    double seconds;        /* of its capture; 0 unknown */
    double clock_error_us; /* -1 unknown */
};

struct observe_job {
    char name[OBSERVE_WORD];
    uint64_t began;     /* seconds since 1970, of the first rank; 0 unknown */
    int size, per_node; /* ranks as the launcher told them; 0 unknown */
    struct observe_rank *ranks;
    struct observe_call *calls;
    struct observe_entry *entries;
    size_t nranks, ncalls, nentries;
    int cut; /* there was more than is read */
};

/* Head of a rank's file. */
struct observe_head {
    char name[OBSERVE_WORD], host[OBSERVE_WORD];
    uint64_t began, seconds;
    int rank, size, per_node, ended; /* rank -1: not told by a launcher */
};

/* 0, or -1: no such file. */
int observe_head(const char *text, size_t bytes, struct observe_head *h);

/* Adds one rank's file; a rank that is there already is left as it is. 0; -1: no such file, of another job, or no
 * memory. A zeroed job is an empty one. */
int observe_add(struct observe_job *j, const char *text, size_t bytes);
void observe_free(struct observe_job *j);

/* Reads a regular file of at most OBSERVE_BYTES: its text, ended by 0 and freed by the caller; NULL: it cannot be read.
 */
char *observe_read(const char *path, size_t *bytes);

/* Names of files of other jobs than `own` ("": of all) in a directory, at most `most`: jobs have numbers that grow, and
 * those of the highest come first. */
#define OBSERVE_NAME 256
size_t observe_latest(const char *dir, const char *pattern, const char *own, char (*names)[OBSERVE_NAME], size_t most);

/* ---- lines of JSON as we write them: one object a line, a space behind each colon and comma, no escapes, no
 * exponents. What is not so written is not found. ---- */

/* Begins as {text, text}. */
struct observe_line {
    const char *at, *end;
};

/* The next one up to `end`; 0: there is none. */
int observe_next(struct observe_line *l, const char *end);

/* The value behind "key": on this line; NULL: none. */
const char *observe_value(const struct observe_line *l, const char *key);

uint64_t observe_number(const struct observe_line *l, const char *key, uint64_t otherwise);
int observe_small(const struct observe_line *l, const char *key, int most); /* 0: none, or larger */
double observe_decimal(const struct observe_line *l, const char *key);      /* below 1e15; -1: none */
uint64_t observe_hexadecimal(const struct observe_line *l, const char *key);

/* A word without escapes; its length, 0 when there is none or it does not fit. */
size_t observe_word(const struct observe_line *l, const char *key, char *to, size_t size);

/* A text that is a number without sign or exponent, "10", "0.5", ".5": read without strtod, whose decimal point depends
 * on the program's locale. -1: it is none, or has digits behind one above `most`. */
double observe_parse(const char *text, double most);

/* ---- a text that is made in memory and becomes a file, whole or not at all. No number goes through a locale. ---- */

struct observe_text {
    char *text; /* kept for the next time; not ended by 0 */
    size_t used, size;
    int error; /* errno of what went wrong; 0: nothing */
};

/* Adds up to a thousand bytes. */
__attribute__((format(printf, 2, 3))) void observe_put(struct observe_text *t, const char *fmt, ...);

/* "time_us": 12.345, with a comma before it. */
void observe_put_us(struct observe_text *t, const char *key, double us);

/* Writes it beside its name, synced, and renames it: 0 or an errno, as t->error then is. May take as long as the file
 * system likes. The calling thread blocks SIGXFSZ, which a limit on the size of files would otherwise kill the job
 * with. */
int observe_write(struct observe_text *t, const char *beside, const char *path);

/* A line of a workload's calls, behind others unless `is_first`. What is unknown, as in an observe_call, is left out.
 */
void observe_put_call(struct observe_text *t, const struct observe_call *c, int is_first);
