/* One machine and variations of it, each predicted with NCCL's default and tuned. */
#pragma once

#include <stdio.h>

#include "bench/results/points.h"
#include "core/call/result.h"
#include "core/finding.h"
#include "model/model.h"
#include "probe/topology/topology.h"
#include "tuner/table/table.h"

/* One default and one tuned prediction. */
struct whatif_cell {
    uint64_t bytes;
    struct model_time untouched, tuned; /* us 0: not to be had */
};

/* A variation; the first one is the machine as it is. */
struct whatif_case {
    const char *label; /* "without mlx5_3" */
    const char *what;  /* a sentence */
    struct model_setup setup;
    const struct bench_setting *settings; /* that the model knows of */
    int nsettings;
    const struct bench_setting *given; /* and the others */
    int ngiven;
    const char *silent;              /* names of what is given and not known; NULL: all is */
    const struct tuner_table *table; /* a tuner plugin applies it; NULL none */
    const char *problem;             /* why it cannot be predicted; NULL it can */
    const struct model *model;
    struct whatif_cell *cells; /* one a size of struct whatif */
};

struct whatif {
    struct arena *arena;
    const char *machine; /* for headings */
    int coll;            /* enum coll */
    struct whatif_case *cases;
    int ncases;
    uint64_t bytes;  /* the only size to predict; 0: from 1 KiB to 16 GiB */
    uint64_t *sizes; /* ascending; NULL until whatif_predict */
    int nsizes;
};

/* The machine as `base` says, without variations; its class with GPUs is found, and nodes 0 are those of the topology.
 * What `base` points to must live as long. Error: there is no class with a GPU. */
struct whatif *whatif_new(const char *machine, int coll, const struct model_setup *base, struct err *e);
void whatif_free(struct whatif *w); /* NULL is fine */

/* The HCAs whose loss is felt: of the ports that NCCL uses those that are as fast as the fastest, in the machine's
 * order, without bonds, storage and management. Returns how many, -1 with an error. Names are in w's arena. */
int whatif_used_hcas(struct whatif *w, const char ***names, struct err *e);

/* Variations. Errors: the machine has no such HCA, a number that makes no sense. */
int whatif_add_hcas(struct whatif *w, const char *list, struct err *e);          /* these alone: "mlx5_0,mlx5_1:1" */
int whatif_add_dead(struct whatif *w, const char *hca, struct err *e);           /* that one is missing on every node */
int whatif_add_half_width(struct whatif *w, const char *hca, struct err *e);     /* its PCIe link has half its lanes */
int whatif_add_sockets(struct whatif *w, struct err *e);                         /* a wrong GID, no RDMA */
int whatif_add_mixed_rails(struct whatif *w, struct err *e);                     /* leaves serve nodes, not rails */
int whatif_add_oversubscription(struct whatif *w, double factor, struct err *e); /* of the leaves' uplinks */
int whatif_add_nodes(struct whatif *w, int nodes, struct err *e);

/* Jobs that have these variables, beside others. Blanks or line ends stand between them: "NCCL_IB_HCA=mlx5_0
 * NCCL_NVLS_ENABLE=0". What the model does not know of is named in the case's sentence. Error: no NAME=VALUE. */
int whatif_add_settings(struct whatif *w, const char *text, struct err *e);

/* The same of settings from elsewhere, such as a script's, which `label` names, and of a tuner table (NULL: none).
 * Settings, table and label must live as long as `w`. */
int whatif_add_job(struct whatif *w, const char *label, const struct bench_setting *settings, int n,
                   const struct tuner_table *table);

/* All that make sense for this machine. */
int whatif_add_usual(struct whatif *w, struct err *e);

/* Fills cells. A case that cannot be predicted says why in `problem`; it is an error of the first one only. */
int whatif_predict(struct whatif *w, struct err *e);

/* busbw in GB/s: a table at a few sizes, with the ratio to the machine as it is; everything as JSON. */
void whatif_print(const struct whatif *w, FILE *out);
struct cJSON *whatif_json(const struct whatif *w);

/* busbw of a time at that size; 0 for no time. */
double whatif_busbw(const struct whatif *w, const struct whatif_case *c, uint64_t bytes, double us);

/* ---- whether measured times are what this machine should give, and what would make them so much longer. ---- */

/* Holds the baselines that were measured on GPUs against the model's band, uncalibrated: a finding for each
 * number of nodes whose times lie above it, at the size where that matters most, with the variations of the machine
 * that come nearest to all that was measured there. Nothing where the model has nothing to say. */
void sanity_check(const struct bench_points *p, const struct topology *t, struct findings *found);

/* For people; nothing where there is nothing. */
void sanity_print(const struct findings *found, FILE *out);
