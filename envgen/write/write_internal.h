/* Shared by the writers, and their tables. A writer is added to the table of its family, in one source. */
#pragma once

#include "envgen/write/write.h"

/* Each ends with a NULL file. */
extern const struct env_writer env_writers_openmpi[], env_writers_tuner[];

/* Comment lines that every file begins with: what it is, who wrote it, where the evidence is. */
void env_write_heading(const struct env_writing *w, FILE *out, const char *what);

/* The same, and the releases of NCCL that the settings are for. */
void env_write_nccl_heading(const struct env_writing *w, FILE *out, const char *what);

/* Comment lines that say why a setting is written, or why it is not. */
void env_write_reason(const struct env_writing *w, FILE *out, const struct env_setting *s);

/* Output of one setting for NCCL in these files: `print` is called for those that are set here, after their reason;
 * the others are mentioned. Error: a name or value that may not be written. */
int env_write_each(const struct env_writing *w, FILE *out, void (*print)(FILE *out, const struct env_setting *s),
                   struct err *e);
