/* Findings about a fabric's ports. */
#ifndef BENCH_FABRIC_FINDINGS_H
#define BENCH_FABRIC_FINDINGS_H

#include "bench/fabric/fabric.h"
#include "core/finding.h"

/* Rates and MTUs of ports that are not as they could be: "rate-below", "mtu-below", "mtu-small". */
struct findings verbs_find(struct verbs_fabric *f);

#endif
