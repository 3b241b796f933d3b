/* The files that decisions are written to. Each source beside this header holds a family of writers and their table. */
#pragma once

#include <stdio.h>

#include "envgen/decide/decide.h"
#include "envgen/profile/decisions.h"

struct env_writing {
    const struct env_decisions *decisions;
    const struct env_rules *rules;
    const char *dir; /* the profile, absolute: where OpenMPI finds openmpi.rules */
    struct arena *scratch;
    const char *node_class; /* NULL: what is common to all nodes */
};

/* Errors: a name or value that may not stand in such a file. What was printed by then is thrown away by the caller. */
struct env_writer {
    const char *file;
    int (*write)(const struct env_writing *w, FILE *out, struct err *e);
};

/* The n-th writer, in the order in which the files are written; NULL past the end. */
const struct env_writer *env_writer_at(size_t n);

/* The writer of a file; NULL: there is none of that name. */
const struct env_writer *env_writer_of(const char *file);
