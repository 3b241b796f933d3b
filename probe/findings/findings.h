/* What is wrong with a machine or a cluster, as data. */
#ifndef PROBE_FINDINGS_FINDINGS_H
#define PROBE_FINDINGS_FINDINGS_H

#include "core/finding.h"
#include "probe/topology/topology.h"

/* Every kind of finding that is known, for lists of them; `title` is the advice. NULL past the last. */
const struct finding_kind *findings_kind(int i);

/* All findings of the topology, in the order of the table, in `a`; `*n` of them. */
struct finding *findings_of(const struct topology *t, struct arena *a, int *n);

#endif
