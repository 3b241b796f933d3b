/* What a completed PCI tree changes in NCCL's choices: probe --tree. */
#pragma once

#include "core/log.h"
#include "probe/topology/topology.h"

/* Tell for each class with GPUs what NCCL would choose on two nodes without its tree (`before`) and with it, and which
 * NICs, moved or exchanged, would change that. */
void cli_compare_trees(const struct topology *before, const struct topology *after, struct log *log);
