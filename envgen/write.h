/* The files that decisions are written to, one writer each behind one table. */
#ifndef ENVGEN_WRITE_H
#define ENVGEN_WRITE_H

#include <stdio.h>

#include "envgen/decide.h"
#include "envgen/rules.h"

struct env_writing {
    const struct env_decisions *decisions;
    const struct env_rules *rules;
    const char *dir; /* the profile, absolute: where OpenMPI finds openmpi.rules */
    struct arena *scratch;
};

/* Errors: a name or value that may not stand in such a file. What was printed by then is thrown away by the caller. */
struct env_writer {
    const char *file;
    int (*write)(const struct env_writing *w, FILE *out, struct err *e);
};
extern const struct env_writer env_writers[]; /* ends with a NULL file */

int env_write_openmpi_conf(const struct env_writing *w, FILE *out, struct err *e);
int env_write_openmpi_sh(const struct env_writing *w, FILE *out, struct err *e);
int env_write_openmpi_rules(const struct env_writing *w, FILE *out, struct err *e);
int env_write_nccl_conf(const struct env_writing *w, FILE *out, struct err *e);
int env_write_nccl_sh(const struct env_writing *w, FILE *out, struct err *e);
int env_write_tuner_csv(const struct env_writing *w, FILE *out, struct err *e);
int env_write_decisions(const struct env_writing *w, FILE *out, struct err *e);

/* Comment lines that every file begins with: what it is, who wrote it, where the evidence is. */
void env_write_heading(const struct env_writing *w, FILE *out, const char *what);

/* Comment lines that say why a setting is written. */
void env_write_reason(const struct env_writing *w, FILE *out, const struct env_setting *s);

#endif
