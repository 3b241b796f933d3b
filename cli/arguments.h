/* Arguments of options that several commands have. */
#pragma once

#include "core/option.h"
#include "envgen/generate/generate.h"

/* Releases of NCCL, as version * 10000 …; 0: not said. */
struct cli_releases {
    int low, high;
};

option_take cli_take_releases;    /* struct cli_releases, from 2.28.9, 2.28 or 2.19-2.28 */
option_take cli_take_release;     /* int: of a minor release the newest */
option_take cli_take_collective;  /* int */
option_take cli_take_collectives; /* unsigned: a bit for each of a list */

/* The names of collectives, for a table of options. */
const char *cli_collective_word(int i);

/* How decisions are written. */
struct cli_writing {
    struct option_list also; /* further files, by their names in env_writers */
    int predicted, extrapolate;
};
extern const struct option_spec cli_writing_options[]; /* into struct cli_writing */

/* What was asked for, into what makes a profile. */
void cli_writing_into(const struct cli_writing *w, struct env_generate *g);
