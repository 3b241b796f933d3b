/* The tuner that NCCL would have without this one: which library, and which version of its interface. */
#pragma once

#include <limits.h>
#include <stddef.h>

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
