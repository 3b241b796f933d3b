/* The options that say how decisions are written, for the commands that make profiles. */
#ifndef CLI_WRITING_H
#define CLI_WRITING_H

#include "core/option.h"
#include "envgen/generate/generate.h"

struct cli_writing {
    struct option_list also; /* further files, by their names in env_writers */
    int predicted, extrapolate;
};
extern const struct option_spec cli_writing_options[]; /* into struct cli_writing */

/* What was asked for, into what makes a profile. */
void cli_writing_into(const struct cli_writing *w, struct env_generate *g);

#endif
