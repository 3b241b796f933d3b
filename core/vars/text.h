/* Texts in the files of a profile: strict character sets, and quoting for a shell.
 *
 * Names of devices and settings come from measurements and topologies, that is from anywhere. Nothing that is not
 * matched here reaches a file that a shell, OpenMPI or NCCL reads. */
#pragma once

#include <stdio.h>

#include "core/arena.h"
#include "core/err.h"

/* A variable: a letter, then letters, digits and '_', at most 100. */
int env_name_ok(const char *name);

/* A value: letters, digits and _ . , : / ^ + - = @ %, 1 to 1,000: no blank, no quote, nothing a shell or one of the
 * file formats could take for its own. */
int env_value_ok(const char *value);

/* A path within the same set; longer ones and others can still be quoted for a shell. */
int env_path_ok(const char *path);

/* `s` in single quotes, with any quote in it taken apart ('\''). NULL when it holds a control character. */
char *env_shell_quote(struct arena *a, const char *s);

/* A path or a list of hosts in a command that is shown, to be typed or pasted: quoted where a shell would not read it
 * as it is. A path with control characters cannot be typed, and is shown with '?'. */
const char *env_shell_word(struct arena *a, const char *s);

/* `s` on one line for a comment: control characters become '?'. */
char *env_comment(struct arena *a, const char *s);

/* Prints `s` behind `mark` ("#", "--"), wrapped at 100 columns. ASCII alone and no backslash: YAML ends a line at some
 * characters beyond ASCII, and systemd and Tcl continue a comment behind a backslash. */
void env_print_comment(FILE *out, struct arena *a, const char *mark, const char *s);

/* Nonzero if NCCL or RCCL is the one to read a variable. Others, such as ROCr's, are read before a configuration file
 * is.
 */
int env_in_conf(const char *name);

/* One setting in the syntax of /etc/nccl.conf. NCCL's file reader trims nothing and keeps quotes and trailing comments
 * in the value: NAME=value and nothing else on a line. 0: nothing was printed, since it is not NCCL that reads `name`.
 */
int env_print_conf_line(FILE *out, const char *name, const char *value);

/* ERR_FAILED with a sentence when name or value may not be written, or not be delivered (env_undeliverable). */
int env_check(const char *name, const char *value, struct err *e);
