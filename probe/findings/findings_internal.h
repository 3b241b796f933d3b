/* What the files of findings share; private to probe/findings/. */
#ifndef PROBE_FINDINGS_FINDINGS_INTERNAL_H
#define PROBE_FINDINGS_FINDINGS_INTERNAL_H

#include "probe/findings/findings.h"
#include "probe/topology/roles.h"

/* A search under way. */
struct search {
    const struct topology *t;
    struct arena *a;
    const struct port_verdict **verdicts; /* of every class */
    const struct finding_kind *kind;      /* looked for now */
    struct findings found;
};

/* Adds a finding of the kind that is looked for. */
void found(struct search *s, const char *subject, const char *evidence, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* "mlx5_0:1 and mlx5_3:1", or "mlx5_0:1, mlx5_1:1 and 6 more": `n` names become `list`. */
const char *finding_names(struct arena *a, const char *const *names, int n);

/* Each looks at one class. */
typedef void finding_in_class(struct search *s, int class_index);
finding_in_class finding_down, finding_only_management, finding_no_compute, finding_rates, finding_mtus,
    finding_far_gpus, finding_wrong_numa, finding_gids, finding_slow_links, finding_no_gdr, finding_acs,
    finding_memlock, finding_shm, finding_mig, finding_hidden, finding_large_xml;

/* Each looks at the whole cluster. */
typedef void finding_in_cluster(struct search *s);
finding_in_cluster finding_no_common, finding_class_rates, finding_cpus, finding_drivers, finding_libraries,
    finding_missing, finding_differing;

#endif
