/* Whole files in, whole files out: bounded reads and atomic writes, by the rules of core/trust.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/hash.h"

/* The largest document any reader takes; topology.json of 4,096 nodes stays below a third of it. */
#define FILE_LIMIT ((size_t)64 << 20)

/* Reads all of `path` ("-": standard input) into `a`, with a '\0' behind the last byte; `*bytes` does not count it.
 * Errors: not readable, a directory, not a regular file or pipe, larger than `limit` bytes. */
int file_read(const char *path, size_t limit, struct arena *a, char **data, size_t *bytes, struct err *e);

/* As file_read, and the content must be text: a NUL byte or an empty file is an error. */
int file_read_text(const char *path, size_t limit, struct arena *a, char **data, size_t *bytes, struct err *e);

#define FILE_LINES_MOST ((size_t)1 << 30)

/* A file read line by line, in memory of its longest line. */
struct file_lines {
    const char *path;
    int fd; /* -1: nothing more is read */
    char *text;
    size_t from, to, room, limit; /* of what was not given yet in `text` */
    size_t last, length;          /* of the line that was given last */
    size_t seen;                  /* bytes read so far */
    long line;                    /* number of the last one given, from 1 */
};

/* As file_read; more than FILE_LINES_MOST bytes, or a line of more than `limit`, are refused. file_lines_close in any
 * case. */
int file_lines_open(struct file_lines *l, const char *path, size_t limit, struct err *e);
/* The same of `bytes` bytes in memory. */
void file_lines_of(struct file_lines *l, const char *path, const char *text, size_t bytes);
/* Sets *line to the next one, ended by '\0' in place of its end, until the next call. 1; 0: there is none; -1: an
 * error, such as a NUL byte. */
int file_lines_next(struct file_lines *l, char **line, size_t *bytes, struct err *e);
/* Gives the last line once more. */
void file_lines_back(struct file_lines *l);
/* All that was not given yet, ended by '\0'. */
int file_lines_rest(struct file_lines *l, char **text, size_t *bytes, struct err *e);
void file_lines_close(struct file_lines *l);

/* Replaces `path` by `data` atomically: temporary file beside it, fsync, rename, fsync of the directory. The new file
 * has the mode of the old one where that is this user's own and nobody else can write its directory, else that of any
 * new file. A target that exists and is no regular file (/dev/null, a pipe) is written in place. `path` is unchanged
 * after an error. */
int file_write(const char *path, const void *data, size_t bytes, struct err *e);

/* file_write for text that is produced by printing: `begin` gives a stream in memory, `commit` closes it and writes it
 * to `path` (NULL or "-": standard output), `abandon` closes it and forgets; `end` does the one where `rc` is 0, else
 * the other and returns it. `flush` brings `data` up to date before that. As with an arena, too little memory aborts.
 */
struct file_out {
    FILE *stream;
    char *data;
    size_t bytes;
};
void file_out_begin(struct file_out *o);
void file_out_flush(struct file_out *o);
int file_out_commit(struct file_out *o, const char *path, struct err *e);
void file_out_abandon(struct file_out *o);
int file_out_end(struct file_out *o, const char *path, int rc, struct err *e);

/* Nonzero if a file's name ends like this (".json"), whatever the case. */
int file_ends_with(const char *name, const char *end);

/* Makes `path` and its missing parents, mode 0777 less the umask. An existing directory is fine. */
int file_mkdirs(const char *path, struct err *e);

/* The mode that a new file gets: 0666 less the umask. Not for several threads. */
mode_t file_new_mode(void);

/* Writes what a file holds, 1 GiB at most, to the descriptor `to` (-1: nowhere); how much it is, and its SHA-256. */
int file_copy(const char *path, int to, uint64_t *bytes, char hex[SHA256_HEX], struct err *e);

/* SHA-256 of a file's content, as sha256sum prints it. */
int file_sha256(const char *path, char hex[SHA256_HEX], struct err *e);
