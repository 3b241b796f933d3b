/* The process's table, loaded once, and a context for every shape of communicator. */
#pragma once

#include "tuner/plugin/chain.h"

/* The context for a communicator. The first call of the process finds, reads and checks the table, and loads the next
 * tuner. Returns NCCLTUNE_SUCCESS, or NCCLTUNE_INVALID_USAGE when NCCLTUNE_HASH asks for a table that is not there:
 * then *context is NULL. */
int plugin_open(const struct plugin_opening *o, struct plugin_context **context);

/* Once per context given out; once too often is fine. Contexts stay valid, but for those of the next tuner. NULL: one
 * of version 1, which has none. */
void plugin_close(void *context);

/* The tuner that is asked before the table; NULL: none, or it was left out. */
const struct plugin_next *plugin_next_active(void);
