/* Findings about a machine or a cluster, as data. */
#pragma once

#include "core/finding.h"
#include "probe/topology/topology.h"

/* Looks for all of them and leaves them in t->findings, errors first, in the topology's arena; called once more, they
 * take the place of the earlier ones. For a topology that is finished: what is added later is not looked at. */
void findings_attach(struct topology *t);

/* Every kind of finding that is known; `title` is what the manual says of it. NULL past the last. */
const struct finding_kind *findings_kind(int i);

/* Print all kinds, one a line, or as an array of JSON. */
void findings_list(int json, FILE *out);
