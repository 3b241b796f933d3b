/* Shared by the files of findings: each has a table of its kinds, and one function per kind. */
#pragma once

#include "core/finding.h"
#include "probe/topology/topology.h"

/* A search under way. */
struct search {
    const struct topology *t;
    struct arena *a;
    const struct port_verdict **verdicts; /* of every class */
    const struct finding_rule *rule;      /* looked for now */
    const struct port_verdict *roles;     /* of the class's ports */
    const char *subject;                  /* the class, or "cluster" */
    const char **names;                   /* what has been named there */
    int n;
    struct findings found;
};

/* Adds a finding of the kind that is looked for, about the class or the cluster. */
void found(struct search *s, const char *evidence, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Names one more device or the like that is not as it should be. */
void named(struct search *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds a finding with what has been named as evidence; nothing where nothing has. */
void found_named(struct search *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "mlx5_0:1 and mlx5_3:1", or "mlx5_0:1, mlx5_1:1 and 6 more": `n` names become a list. */
const char *found_names(struct arena *a, const char *const *names, int n);

/* "GPU3"; in `a`. */
const char *found_gpu(struct arena *a, const struct topo_class *c, int gpu);

/* From when on something is found. */
struct threshold {
    double least; /* or, of those that are too low, the least that is enough */
    const char *unit, *source;
};
#define IBDIAG "the default of infiniband-diags"
#define OURS   "our choice"

struct finding_rule {
    struct finding_kind kind; /* its title is what the manual says of it, and from "Confirm with" on the advice */
    void (*in_class)(struct search *s, const struct topo_class *c); /* NULL */
    void (*in_cluster)(struct search *s);                           /* NULL */
    int (*applies)(const struct topo_class *c);                     /* of signs: where they matter; NULL: everywhere */
    /* What the classes must not differ in, NULL unknown; and the sentence which says that they do. */
    const char *(*differs)(const struct search *s, int class_index);
    const char *sentence;
    struct threshold threshold; /* of kinds that have one */
};
extern const struct finding_rule findings_of_cluster[], findings_of_ports[], findings_of_nodes[], findings_of_peers[],
    findings_of_signs[]; /* ended by no id */

/* "Threshold: 10 errors since ... (our choice)."; NULL: there is none. In `a`. */
const char *threshold_text(const struct threshold *t, struct arena *a);
