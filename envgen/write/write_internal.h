/* Shared by the writers, and their tables. A writer is added to the table of its family, in one source. */
#pragma once

#include "envgen/write/write.h"

/* Each ends with a NULL file. */
extern const struct env_writer env_writers_openmpi[], env_writers_tuner[];

/* Comment lines that every file begins with: what it is, who wrote it, where the evidence is. */
void env_write_heading(const struct env_writing *w, FILE *out, const char *what);

/* The same, and the releases of NCCL that the settings are for. */
void env_write_nccl_heading(const struct env_writing *w, FILE *out, const char *what);

/* Settings that have a value, those that were considered and have none, or both. */
enum env_which { ENV_SET = 1, ENV_NOT_SET = 2 };

/* Output of a family's settings in these files: `print` is called for those that are set here, after their reason;
 * the others are mentioned. Error: a name or value that may not be written. */
typedef void env_print_setting(const struct env_writing *w, FILE *out, const struct env_setting *s);
int env_write_each(const struct env_writing *w, FILE *out, const char *family, int which, env_print_setting *print,
                   struct err *e);
