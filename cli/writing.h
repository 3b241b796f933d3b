/* The options that say how decisions are written, for the commands that make profiles. */
#ifndef CLI_WRITING_H
#define CLI_WRITING_H

#include "core/arena.h"
#include "envgen/generate/generate.h"

/* Values that getopt_long returns for them in a command's table; see CLI_OPT_MACHINE for the others. */
enum { CLI_OPT_FORMAT = 1024, CLI_OPT_PREDICTED, CLI_OPT_EXTRAPOLATE };

/* Stores what option `c` says; lists grow in `a`. */
int cli_writing_take(int c, const char *arg, struct env_generate *g, struct arena *a, struct err *e);

/* Lines for --help. */
#define CLI_WRITING_HELP                                                                                        \
    "  -F, --format FORMAT       write NCCL's settings in one more format; may be repeated: systemd, lmod,\n"   \
    "                            tcl-module, k8s, docker, json, ansible, nvidia-csv\n"                          \
    "      --predicted           set what was only predicted, too (else it stands in comments)\n"               \
    "      --extrapolate[=N]     tuner.csv reaches beyond the largest number of nodes that was measured, up\n"  \
    "                            to N (default: as many as the topology has); where the GPUs are known, with\n" \
    "                            the model fitted to what was measured\n"

#endif
