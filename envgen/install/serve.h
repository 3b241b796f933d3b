/* More nodes for a profile, without measuring anew. */
#pragma once

#include "probe/cluster/groups.h"

/* Has each node of `probed` join the class of the profile that it equals (see probe/cluster/groups.h), and writes what
 * comes of it into the directory `dir`, unless nothing does: a profile of another hash, because its topology knows
 * other hosts, with the same table and settings. `profile` NULL: the one of `store` that all jobs get. Strings of
 * `*served` are in `a`, names those of `probed`. Errors: not a whole profile, none is installed, no right to write. */
int install_extend(const char *store, const char *profile, const struct topology *probed, const char *dir,
                   struct cluster_served *served, struct arena *a, struct err *e);
