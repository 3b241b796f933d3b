/* What the files of findings share; for probe/findings*.c only. */
#ifndef PROBE_FINDINGS_PARTS_H
#define PROBE_FINDINGS_PARTS_H

#include "probe/findings.h"
#include "probe/roles.h"

/* A search under way. */
struct search {
    const struct topology *t;
    struct arena *a;
    const struct port_verdict **verdicts; /* of every class */
    const struct finding_kind *kind;      /* looked for now */
    struct finding *found;
    int n;
};

void finding_add(struct search *s, const char *where, const char *evidence, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* "mlx5_0:1 and mlx5_3:1", or "mlx5_0:1, mlx5_1:1 and 6 more": `n` names become `list`. */
const char *finding_names(struct arena *a, const char *const *names, int n);

/* Each looks at one class. */
typedef void finding_in_class(struct search *s, int class_index);
finding_in_class find_down, find_only_management, find_no_compute, find_rates, find_mtus, find_far_gpus,
    find_wrong_numa, find_gids, find_slow_links, find_no_gdr, find_acs, find_memlock, find_shm, find_mig, find_hidden,
    find_large_xml;

/* Each looks at the whole cluster. */
typedef void finding_in_cluster(struct search *s);
finding_in_cluster find_no_common, find_class_rates, find_cpus, find_drivers, find_libraries, find_missing,
    find_differing;

#endif
