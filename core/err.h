/* The caller's error object: one human sentence and the exit code it leads to.
 *
 * Functions below cli/ never print and never exit. They fill a `struct err` and return ERR_* (> 0), or 0 on success.
 * The values are the program's exit codes, so cli/ needs no translation. */
#pragma once

enum {
    ERR_OK = 0,
    ERR_FAILED = 1, /* done, but something was found or failed: bad input file, full disk, wrong data */
    ERR_USAGE = 2,  /* the command line asks for something that makes no sense */
    ERR_LACKS = 3,  /* the machine lacks what was asked for: no mpirun, no RDMA device, no GPU */
};

struct err {
    int code;
    char text[1024];
};

/* Stores the formatted sentence and returns `code`. `e` may be NULL. The sentence is made safe to print: control
 * characters, which file contents may smuggle in, become '?'. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same for a function that returns a pointer: NULL. */
#define err_null(...) (err_set(__VA_ARGS__), (void *)0)

/* Puts '?' in the place of all that a terminal would act on: control characters, line ends and those of UTF-8 (U+0080
 * to U+009F) included. Returns `text`. */
char *err_mask_controls(char *text);

/* err_set(ERR_FAILED) with "FILE:LINE:COLUMN: " in front; a `line` or `column` of 0 is left out. */
int err_at(struct err *e, const char *file, long line, long column, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* err_set(ERR_FAILED) with ": " and errno's text behind the sentence. */
int err_errno(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* How many lines of `text` end before `at`. */
long err_lines_before(const char *text, const char *at);
