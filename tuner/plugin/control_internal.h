/* The control interface as the plugin's entry points see it. */
#pragma once

#include "tuner/plugin/context.h"

extern _Atomic int plugin_armed;

/* Answers of plugin_choose and plugin_chunk while the plugin is armed. `c` may be NULL. `given`: the costs as NCCL
 * gave them, as many as the call's, which may be what another tuner made of them. */
struct tuner_choice plugin_control_choose(const struct plugin_context *c, const struct tuner_call *call,
                                          const float *given);
uint32_t plugin_control_chunk(const struct plugin_context *c, const struct plugin_slice *slice);
