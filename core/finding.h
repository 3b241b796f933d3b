/* Findings about a machine, a job, a setting, an installation. One type, and one way each to print it for
 * people and for programs (JSON). */
#pragma once

#include <stdarg.h>
#include <stdio.h>

#include "core/arena.h"
#include "core/err.h"

struct cJSON;

enum finding_severity {
    FINDING_OK,      /* looked at, and well */
    FINDING_NOTE,    /* worth knowing, nothing is broken by it */
    FINDING_WARNING, /* it works, worse than it could */
    FINDING_ERROR,   /* it does not work, or does not do what was meant */
    FINDING_SEVERITIES,
};

struct finding {
    const char *id; /* the kind, as the manual lists it: "pcie-below-maximum", "NT301"; NULL: there is but one */
    enum finding_severity severity;
    const char
        *subject;      /* what it is about: a host, a class of nodes, a variable, "profile"; NULL: what was looked at */
    const char *value; /* of a setting: what it is set to; else NULL */
    const char *text;  /* what is so */
    const char *evidence; /* what was read or measured; NULL */
    const char *advice;   /* what to do; NULL */
    const char *file;     /* the document that it was found in; NULL */
    long line, column;    /* where `subject` stands in it, from 1; 0: the document has no lines */
    int fixable;          /* a program can put it right (nccltune lint --fix) */
};

/* A list that grows in an arena. */
struct findings {
    struct arena *arena;
    struct finding *list;
    int n;
};

/* Adds a finding whose text is the formatted sentence; the other strings are not copied. Returns it, for the members
 * that most have no use for; the next call may move it. */
struct finding *finding_add(struct findings *all, enum finding_severity severity, const char *id, const char *subject,
                            const char *fmt, ...) __attribute__((format(printf, 5, 6)));
struct finding *finding_vadd(struct findings *all, enum finding_severity severity, const char *id, const char *subject,
                             const char *fmt, va_list ap) __attribute__((format(printf, 5, 0)));

/* Those of exactly this severity. */
int finding_count(const struct finding *list, int n, enum finding_severity severity);

const char *finding_severity_name(enum finding_severity severity); /* "ok", "note", "warning", "error" */

/* "SUBJECT=VALUE: TEXT: EVIDENCE", without what is not there; in `a`. */
char *finding_sentence(const struct finding *f, struct arena *a);

/* For people: "SEVERITY ID: SUBJECT=VALUE: TEXT: EVIDENCE", without what is not there, then the advice on a line of its
 * own. In a document "FILE:LINE:COLUMN: " comes first, as compilers have it, and the text has a line of its own, too.
 * The first line is indented by `indent` blanks, others by four. On a terminal lines wrap at its width, and the
 * severity has a colour unless NO_COLOR is set. Strings may come from anywhere: control characters and what is no UTF-8
 * become '?'. */
void finding_print(const struct finding *f, int indent, FILE *out);

/* Text in lines of at most `columns`, broken at blanks and newlines: the first begins at `column`, where `out` is,
 * those that follow a broken one at `indent`, or further left where a word needs it. A broken line ends in `end`. */
void finding_put_wrapped(FILE *out, const char *text, int column, int indent, int columns, const char *end);

/* Adds an array of {id, severity, subject, value, text, evidence, advice, file, line, column, fixable} to `o`, without
 * what is not there. */
void findings_add_json(struct cJSON *o, const char *key, const struct finding *list, int n);

/* Takes one back from its JSON, everything copied; what is no object with a text is left out. One of the same id and
 * subject that is there already is replaced. */
void finding_take(struct findings *all, const struct cJSON *doc);

/* The kinds that a tool knows. */
struct finding_kind {
    const char *id, *name;          /* "NT301", "OutOfRange"; name NULL: the id is one */
    enum finding_severity severity; /* the highest it is reported with */
    const char *title;
};

/* Adds {id, severity, name, title} to `o`; no name where the id is one. */
void finding_kind_json(struct cJSON *o, const struct finding_kind *k);
