/* The process's table, loaded once, and a context for every shape of communicator. */
#ifndef TUNER_PLUGIN_LOAD_H
#define TUNER_PLUGIN_LOAD_H

#include "tuner/plugin/abi.h"
#include "tuner/plugin/context.h"

/* The context for a communicator of this shape. The first call of the process finds, reads and checks the table;
 * `caller` is an address in the library that called. Returns NCCLTUNE_SUCCESS, or NCCLTUNE_INVALID_USAGE when
 * NCCLTUNE_HASH asks for a table that is not there: then *context is NULL. `log` may be NULL. */
int plugin_open(const struct tuner_shape *shape, int api, nccl_logger log, const void *caller,
                struct plugin_context **context);

/* Once per context given out; once too often is fine. Contexts stay valid. */
void plugin_close(void);

#endif
