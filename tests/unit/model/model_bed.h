/* A model of a bundled machine, which a test then changes. */
#pragma once

#include "model/constants.h"
#include "model/model.h"
#include "probe/machines/machines.h"
#include "probe/topology/build.h"
#include "tests/lib/unit.h"

#define MiB (1ull << 20)
#define GiB (1ull << 30)

/* A model and all it stands on. */
struct bed {
    struct topology *t;
    struct arena *a;
    struct model_setup s;
    struct model *m;
    struct err e;
};

static inline void make_up(struct bed *b, const char *machine, int nodes)
{
    memset(b, 0, sizeof *b);
    b->a = arena_new();
    b->t = machine_topology(machine, nodes, &b->e);
    if (!b->t)
        fail_msg("%s", b->e.text);
    b->s.nccl.topology = b->t;
    b->s.nccl.nodes = nodes;
}

static inline void prepare(struct bed *b)
{
    b->m = model_new(&b->s, b->a, &b->e);
    if (!b->m)
        fail_msg("%s", b->e.text);
}

static inline void clear(struct bed *b)
{
    arena_free(b->a);
    topo_free(b->t);
}

static inline struct model_time predict(const struct bed *b, int coll, uint64_t bytes)
{
    struct model_call c = {coll, bytes, -1, -1, 0};
    struct model_time t;
    assert_int_equal(model_predict(b->m, &c, &t), 0);
    assert_true(isfinite(t.us) && t.us > 0 && t.low_us < t.us && t.us < t.high_us);
    assert_true(t.limit[0]);
    return t;
}

static inline double busbw(const struct bed *b, int coll, uint64_t bytes)
{
    return coll_algbw_GBps((double)bytes, predict(b, coll, bytes).us) * coll_busbw_factor(coll, b->m->nccl->ranks);
}
