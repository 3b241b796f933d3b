/* The parts of a profile's page, private to envgen/report/. */
#pragma once

#include "bench/fabric/fabric.h"
#include "envgen/explain/explain.h"
#include "envgen/profile/profile.h"
#include "probe/format/format.h"
#include "probe/topology/topology.h"

struct report {
    const struct env_profile *p;
    const struct env_decisions *d;
    struct arena *a;
    struct topology *t;             /* NULL: the profile has none */
    struct bench_results *measured; /* the same */
    struct verbs_fabric *fabric;    /* the same */
    struct verbs_decision verdict;  /* on the fabric */
    struct explain_model *model;
};

/* A tab of the page. */
struct report_part {
    const char *id, *name;
    int (*has)(const struct report *r); /* whether there is something to draw; NULL: always */
    void (*draw)(struct report *r, FILE *out);
};

extern const struct report_part report_summary, report_machine, report_fabric, report_calls, report_decisions,
    report_settings, report_environment, report_install;

/* A plot by size: of a collective's gain over the baseline, or of the bus bandwidth where the baseline stays. */
void report_draw_sizes(struct report *r, const struct env_shape *shape, const struct env_coll *c, FILE *out);

/* Findings about machine and fabric, and disturbances of the measurement. */
void report_draw_findings(struct report *r, FILE *out);
/* Of the machine, where it has GPUs or ports; `mark` NULL: none. */
int report_has_picture(const struct report *r);
void report_draw_picture(const struct topology *t, const struct picture_mark *mark, FILE *out);
