/* The tuner that NCCL would have without this one: which library, and asking it in its own version of the interface. */
#pragma once

#include <limits.h>
#include <stddef.h>

#include "tuner/plugin/abi.h"
#include "tuner/plugin/context.h"

struct plugin_next {
    const void *tuner; /* struct nccl_tuner_vN; NULL: there is none */
    int version;       /* N */
    const char *name;  /* as the tuner says it */
    char path[PATH_MAX];
};

/* Loads a tuner by a path or name as NCCL_TUNER_PLUGIN takes them, for an NCCL that calls version `api` of the
 * interface. "auto" is what that NCCL would load with NCCL_TUNER_PLUGIN unset, by its own rules; "none" is none. Never
 * this library, under whatever name, nor a copy of it. What is loaded stays. 0; -1 with `why` when a tuner that was
 * named cannot be had. */
int plugin_next_load(struct plugin_next *n, const char *named, int api, char *why, size_t size);

/* NCCL's data of a communicator; 0 for what its version of the interface does not pass. */
struct plugin_opening {
    size_t ranks, nodes;
    uint64_t comm_id;
    struct nccl_nvl_domains *domains;
    struct nccl_constants *constants;
    int api;
    nccl_logger log;    /* may be NULL */
    const void *caller; /* an address in the library that calls */
};

/* The next tuner's side of a communicator. */
struct plugin_chain {
    const struct plugin_next *next;
    void *context; /* NULL is a context like any other */
};

/* Its init. 0; -1 with `why`: it failed or crashed, and is not to be asked again. One caller at a time. */
int plugin_chain_init(struct plugin_chain *c, const struct plugin_opening *o, char *why, size_t size);
void plugin_chain_destroy(const struct plugin_chain *c);

/* Its answer where NCCL passes a cost table: `cost` and `*channels` are as it left them. What it returned. */
int plugin_chain_costs(const struct plugin_chain *c, const struct tuner_call *call, float *cost, int *channels);

/* Its answer where NCCL wants names. `cost`: what can be run, as a table (legacy.c), which a tuner of version 3 or
 * newer edits; a cell that it made the cheapest is its choice. */
struct plugin_names {
    int *algo, *proto, *channels;
};
int plugin_chain_names(const struct plugin_chain *c, const struct tuner_call *call, int collnet, int nvls, float *cost,
                       const struct plugin_names *names);

int plugin_chain_chunk(const struct plugin_chain *c, const struct plugin_slice *s, size_t *chunk_bytes);
