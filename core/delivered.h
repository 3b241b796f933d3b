/* Find and remove what an installed profile puts around a process: a baseline is what jobs get without
 * nccltune. libc only.
 *
 * A profile arrives by variables that the Slurm hooks list in NCCLTUNE_SET, and its scripts in NCCLTUNE_SOURCED; by
 * NCCLTUNE_PROFILE, our plugin as tuner or as environment plugin, or a path into a profile, beside that profile's
 * settings; and by a block of lines in a file that NCCL reads. A variable counts as delivered only while it has the
 * delivered value: the user's and the site's stay. */
#pragma once

#include "core/arena.h"

/* Settings of nccl.sh and openmpi.sh: "|NAME=value|NAME=value". */
#define DELIVERED_SOURCED "NCCLTUNE_SOURCED"

/* Prefixes of the first and last line of our block in a site's nccl.conf. */
#define DELIVERED_BEGIN "# nccltune begin"
#define DELIVERED_END   "# nccltune end"

/* Remove from this process's environment all that a profile has put there. Return what it was, for a person:
 * "NCCL_IB_TC, NCCL_TUNER_PLUGIN"; "" nothing. */
const char *delivered_remove(struct arena *a);

/* The same for a process that starts jobs' processes: also tells hooks to deliver nothing to them (NCCLTUNE=off), and
 * names the files of this node with a block, which workers do not see. */
const char *delivered_leave_out(struct arena *a);

/* Our settings that a launch has on purpose. */
enum delivered_purpose {
    DELIVERED_NOTHING,
    DELIVERED_PLUGIN, /* the plugin, steered */
    DELIVERED_TABLE,  /* the plugin with a table: the profile itself is measured */
};

/* Return the name of a variable that delivers a profile and is set beyond that purpose; NULL there is none. */
const char *delivered_beyond(enum delivered_purpose purpose);

/* Return the line of `text` that begins with `marker`; NULL there is none. */
char *delivered_line(const char *text, const char *marker);

/* Take our block out of the text of a file. Return true if there was one. */
int delivered_cut(char *text);
