/* What a program of tests has that needs one store for each test. */
#pragma once

#include "tests/lib/unit.h"
#include "tests/unit/slurm/store.h"

static struct store store;
static int untrusted; /* there is no place for one */

static inline int store_set_up(void **state)
{
    untrusted = store_new(&store);
    return 0;
}

static inline int store_tear_down(void **state)
{
    store_free(&store);
    return 0;
}
