/* The parts of a topology's page, for pages that say more. */
#pragma once

#include <stdio.h>

#include "probe/topology/topology.h"

void probe_page_picture(const struct topology *t, FILE *out);
void probe_page_matrices(const struct topology *t, FILE *out); /* how far devices are from one another, in colour */
