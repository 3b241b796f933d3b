/* A verification as a health check: its verdicts for Prometheus. */
#ifndef ENVGEN_VERIFY_HEALTH_H
#define ENVGEN_VERIFY_HEALTH_H

#include "envgen/verify/verify.h"

/* Writes the metrics of a verification (NULL: it could not be done) to `path`, atomically, as node_exporter's textfile
 * collector wants it. */
int verify_health_write(const char *profile, const struct verify *v, const char *path, struct err *e);

#endif
