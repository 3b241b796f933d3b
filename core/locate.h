/* Find programs and libraries, mainly nccltune's own. libc only.
 *
 * One order for all of our files: what an environment variable says decides alone; then the directory of the running
 * program, which finds a build tree; then the installation that this program is part of, wherever it was moved to; then
 * the directory that the build was configured for. Paths are in `a`. */
#pragma once

#include "core/arena.h"
#include "core/err.h"

#define LOCATE_PLUGIN "libnccl-tuner-nccltune.so"

/* One of our programs: nccltune; nccltune-bench, which NCCLTUNE_BENCH may name; nccltune-worker, which NCCLTUNE_WORKER
 * may name; nccltune-hook; or LOCATE_PLUGIN, which NCCLTUNE_PLUGIN_SO may name. NULL after ERR_LACKS. */
const char *locate_program(const char *name, struct arena *a, struct err *e);

/* Return true if `value` of NCCL_TUNER_PLUGIN names our plugin: by what the library exports, and only where it is not
 * on this machine by the file's name. */
int locate_is_plugin(const char *value);

/* Where such a file is or, when it is nowhere, where it is looked for: never NULL. */
const char *locate_expected(const char *name, struct arena *a);

/* The same without the environment's word: for what runs in other people's. */
const char *locate_installed(const char *name, struct arena *a);

/* The path of `name` in the first directory of a list, "/a:/b", where access(2) allows it `how`; an empty element is
 * the working directory. NULL when there is none. */
char *locate_in_list(const char *list, const char *name, int how, struct arena *a);

/* The path of `name` in PATH, or `name` itself when it holds a '/' and can be executed; NULL when there is none. */
char *locate_in_path(const char *name, struct arena *a);

/* The directory above the `python3` that PATH names, "/opt/venv": what images put into PATH without activating it. NULL
 * when there is none. */
char *locate_python(struct arena *a);

/* The directory of the running program; NULL unknown. */
char *locate_self_dir(struct arena *a);

/* Open the NCCL or RCCL that jobs of this environment load, PyTorch's above all, which is not always the system's.
 * Return a handle of dlopen's for libnccl.so.2 or librccl.so.1; NULL: none was found. */
void *nccl_library_open(void);
