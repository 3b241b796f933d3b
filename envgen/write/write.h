/* The files that decisions are written to, one writer each behind one table. */
#ifndef ENVGEN_WRITE_WRITE_H
#define ENVGEN_WRITE_WRITE_H

#include <stdio.h>

#include "envgen/decide/decide.h"
#include "envgen/decide/openmpi_rules.h"

struct env_writing {
    const struct env_decisions *decisions;
    const struct env_rules *rules;
    const char *dir; /* the profile, absolute: where OpenMPI finds openmpi.rules */
    struct arena *scratch;
    const char *node_class; /* NULL: what is common to all nodes */
    const char *mark;       /* what a comment begins with; NULL: "#" */
};

/* Errors: a name or value that may not stand in such a file. What was printed by then is thrown away by the caller. */
struct env_writer {
    const char *file;
    int (*write)(const struct env_writing *w, FILE *out, struct err *e);
    const char *format; /* NULL: always written; else only when `--format` names it */
    const char *about;  /* of a format: what it is for */
};
extern const struct env_writer env_writers[]; /* ends with a NULL file */

/* The writer of a format; NULL: there is none of that name. */
const struct env_writer *env_format(const char *name);

int env_write_openmpi_conf(const struct env_writing *w, FILE *out, struct err *e);
int env_write_openmpi_sh(const struct env_writing *w, FILE *out, struct err *e);
int env_write_openmpi_rules(const struct env_writing *w, FILE *out, struct err *e);
int env_write_nccl_conf(const struct env_writing *w, FILE *out, struct err *e);
int env_write_nccl_sh(const struct env_writing *w, FILE *out, struct err *e);
int env_write_systemd(const struct env_writing *w, FILE *out, struct err *e);
int env_write_docker(const struct env_writing *w, FILE *out, struct err *e);
int env_write_lmod(const struct env_writing *w, FILE *out, struct err *e);
int env_write_tcl_module(const struct env_writing *w, FILE *out, struct err *e);
int env_write_k8s(const struct env_writing *w, FILE *out, struct err *e);
int env_write_ansible(const struct env_writing *w, FILE *out, struct err *e);
int env_write_json(const struct env_writing *w, FILE *out, struct err *e);
int env_write_nvidia_csv(const struct env_writing *w, FILE *out, struct err *e);
int env_write_tuner_csv(const struct env_writing *w, FILE *out, struct err *e);
int env_write_decisions(const struct env_writing *w, FILE *out, struct err *e);

/* Comment lines that every file begins with: what it is, who wrote it, where the evidence is. */
void env_write_heading(const struct env_writing *w, FILE *out, const char *what);

/* Comment lines that say why a setting is written, or why it is not. */
void env_write_reason(const struct env_writing *w, FILE *out, const struct env_setting *s);

/* What comes of one setting for NCCL in these files: `print` is called for those that are set here, after their reason;
 * the others are mentioned. Error: a name or value that may not be written. */
int env_write_each(const struct env_writing *w, FILE *out, void (*print)(FILE *out, const struct env_setting *s),
                   struct err *e);

/* Whether NCCL or RCCL is the one to read a variable. Others, such as ROCr's, are read before a configuration file is.
 */
int env_write_in_conf(const char *name);

/* "NCCL 2.19 to 2.31 (every release in use)": the releases that the settings are for. */
const char *env_write_releases(const struct env_writing *w);

#endif
