/* What verbs found between ports, as rows for other programs. */
#ifndef BENCH_FABRIC_EXPORT_H
#define BENCH_FABRIC_EXPORT_H

#include "bench/fabric/fabric.h"
#include "core/records.h"

/* A row a try between two ports; texts are the fabric's. */
void verbs_fabric_records(const struct verbs_fabric *f, struct records *r);

#endif
