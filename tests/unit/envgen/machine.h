/* Two nodes of a bundled machine, and decisions that decide nothing yet, before every test. */
#pragma once

#include "envgen/decide/decide.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"

static struct topology *machine;
static struct env_decisions *decisions;

static int set_up(void **state)
{
    struct err e = {0};
    machine = machine_topology("dgx-h100", 2, &e);
    decisions = env_decisions_new(ENV_MARGIN);
    decisions->nccl_high = 22809;
    return !machine;
}

static int tear_down(void **state)
{
    topo_free(machine);
    env_decisions_free(decisions);
    return 0;
}
