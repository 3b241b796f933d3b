/* The generate stage: topology and results in, a complete profile out. */
#pragma once

#include "bench/results/points.h"
#include "core/err.h"
#include "core/log.h"
#include "envgen/profile/profile.h"

/* A journal that the points were made from. */
struct env_source {
    const char *name; /* as it is called in the profile */
    const char *path; /* copied from there; NULL: what other programs printed, written as a journal */
    struct bench_results *results;
};

/* Result of a run: the profile as of env_profile_open, and the points behind it. */
struct env_generated {
    struct env_profile profile;
    const struct bench_points *points;
    /* Memory of both. */
    struct arena *arena;
    struct topology *topology;
    struct env_source *sources;
    int nsources;
    struct verbs_fabric *fabric; /* NULL without one */
    struct workload *workload;   /* the same */
};
void env_generated_free(struct env_generated *made);

struct env_generate {
    const char *topology;       /* topology.json */
    const char *const *results; /* journals; none: what the topology alone justifies */
    int nresults;
    struct bench_results **measured; /* what the first of them holds, taken over and set to NULL; NULL: it is read */
    const char *workload;            /* nccltune-workload.json: weighs launches; NULL: all points alike */
    const char *fabric;              /* fabric.json of the verbs engine; NULL none */
    double margin;                   /* ENV_MARGIN unless the user says otherwise */
    double confidence;               /* of the intervals that have to clear it; 0: BENCH_CONFIDENCE */
    int force;                       /* replace a complete profile, take results of another topology */
    int nccl_low,
        nccl_high; /* releases to write for; 0: those that were measured or found, see envgen/generate/validate.h */
    int predicted; /* write what was only predicted, too */
    const char *site_conf; /* NCCL's file of the site: what it and the environment set is kept; NULL: nobody is asked */
    const char *out;
    /* Called when all files but the manifest are in place: what fails here is not completed. NULL: nothing is checked.
     */
    int (*check)(void *user, struct env_profile *p, struct err *e);
    void *user;
};

/* Writes the profile. Topology and journals are copied into it unless they lie there already, so that the evidence
 * travels with the decisions. Errors leave a profile that was there as it was: unreadable input, results of another
 * topology, a complete profile without force, a full disk.
 *
 * `made` is for env_generated_free, and empty after an error; NULL: not wanted. */
int env_generate(const struct env_generate *g, struct env_generated *made, struct log *log, struct err *e);
