/* Options as tables: from one row come parsing, --help, the OPTIONS section of the manual page and shell completion.
 *
 * A command's options are groups, each a table with a title and the struct that it fills, so that tables which several
 * commands share (what to measure, an engine's own) stand beside the command's own. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/log.h"

/* One option of the command line. */
struct option_value {
    const struct option_spec *option;
    const char *text;    /* its argument; NULL: none was given */
    const char *what;    /* "--name", for errors */
    struct arena *arena; /* for lists */
    struct log *log;     /* for warnings */
};

/* Stores a value into the member at `out`. Error: ERR_USAGE with `what` in the sentence. */
typedef int option_take(const struct option_value *v, void *out, struct err *e);

struct option_spec {
    char letter;          /* 0: none */
    const char *name;     /* without dashes; NULL ends a table */
    const char *argument; /* what stands for it in help, such as FILE; "[=N]": may be left out; NULL: a flag */
    const char *help;     /* without a full stop; `word`'s follow where it ends in a colon; NULL: told nowhere */
    option_take *take;
    size_t member;              /* offset in the group's target */
    double low, high;           /* bounds of a number, both included */
    const char *(*word)(int i); /* the words that are offered for the argument, up to a NULL */
};

struct option_list {
    const char **items;
    int count;
};

struct option_group {
    const char *title; /* NULL: none */
    const struct option_spec *options;
    void *target;
    const char *given;        /* out: the last of its options on the command line, with dashes; NULL: none */
    struct option_list typed; /* out: all of them, as --name or --name=ARGUMENT */
};

/* Takes the options of argv[1] ... into the targets of `groups`, which end with NULL `options`. Words that are no
 * option go behind those that are: returns the index of the first, or -1 after an error. Strings point into argv, lists
 * are in `a`; `log` is handed to the functions that take values. */
int option_parse(struct option_group *groups, int argc, char **argv, struct arena *a, struct log *log, struct err *e);

/* Lines for --help, at most 80 columns wide. */
void option_print_help(const struct option_group *groups, FILE *out);

/* The body of the OPTIONS section of a manual page, in roff. */
void option_print_manual(const struct option_group *groups, FILE *out);

/* For shell completion: an option a line, with dashes, and the words for its argument behind it;
 * one with such words has a line for its letter, too. */
void option_print_words(const struct option_group *groups, FILE *out);

/* ---- types: what the member is ---- */

option_take option_flag;    /* int, set to 1 */
option_take option_text;    /* const char * */
option_take option_word;    /* const char *, one of `word`'s */
option_take option_which;   /* int: the number of that word */
option_take option_append;  /* struct option_list, one more item each time */
option_take option_int;     /* int, from `low` to `high` */
option_take option_number;  /* double, from `low` to `high` */
option_take option_Gbps;    /* the same of a rate: "400", "400G", "400Gb/s" */
option_take option_bytes;   /* uint64_t, as unit_parse_bytes; from `low` to `high` unless that is 0 */
option_take option_percent; /* double: a fraction, from "3", "3%", "2.5 %", within the bounds as percentages */
option_take option_seconds; /* double above 0, as unit_parse_seconds */

/* Calls `one` for every part of v->text between commas, with the part as text, until an error. */
int option_each(const struct option_value *v, option_take *one, void *out, struct err *e);

/* The error for a word that is none of `word`'s: lists them unless they are many, and says which was most likely
 * meant. */
int option_not_a_word(const struct option_value *v, struct err *e);
