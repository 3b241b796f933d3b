/* What is wrong with a machine or a cluster, as data. */
#ifndef PROBE_FINDINGS_FINDINGS_H
#define PROBE_FINDINGS_FINDINGS_H

#include "probe/topology/topology.h"

enum finding_severity { FINDING_INFO, FINDING_WARNING, FINDING_ERROR };

struct finding {
    const char *code; /* "pcie-below-maximum", as in nccltune-findings(7) */
    enum finding_severity severity;
    const char *where;    /* a class ("class0"), a host, or "cluster" */
    const char *text;     /* one sentence */
    const char *evidence; /* what was read */
    const char *advice;   /* what to do */
};

/* Every kind of finding that is known, for lists of them. */
struct finding_kind {
    const char *code;
    enum finding_severity severity;
    const char *advice;
};
const struct finding_kind *findings_kind(int i); /* NULL past the last */

/* All findings of the topology, in the order of the table, in `a`; `*n` of them. */
struct finding *findings_of(const struct topology *t, struct arena *a, int *n);

const char *finding_severity_name(enum finding_severity severity); /* "error" */

#endif
