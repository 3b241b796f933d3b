/* What predictions have decided rightly: pairs that somebody measured both ways on one machine, decided by constants
 * that were fitted without it. "build/perf/perf_model_truth" prints the rows. */
#include <string.h>

#include "core/coll.h"
#include "core/vars/catalogue.h"
#include "envgen/predict/predict.h"

/* The first release that asks a tuner. */
#define FIRST_TUNER 21900

/* A kind of machine is right often enough, of so many decisions at least. */
#define RIGHT  0.95
#define FEWEST 5

struct predict_record {
    const char *gpu;       /* in its name */
    int has_nvlink, ranks; /* on one node */
    struct predict_decisions {
        int coll, algo, proto;
        uint64_t min_bytes, max_bytes;
        int made, right;
    } list[4];
};

static const struct predict_record records[] = {
    {"L40S",
     0,
     4,
     {{COLL_ALLREDUCE, ALGO_RING, PROTO_LL, 64 << 10, 256 << 10, 9, 9},
      {COLL_ALLREDUCE, ALGO_RING, PROTO_SIMPLE, 512 << 10, 128 << 20, 20, 20},
      {COLL_ALLREDUCE, ALGO_TREE, PROTO_SIMPLE, 8 << 20, 128 << 20, 5, 5}}},
    {"H200", 1, 8, {{COLL_ALLREDUCE, ALGO_NVLS, PROTO_SIMPLE, (uint64_t)8 << 30, (uint64_t)8 << 30, 3, 3}}},
};

static int is_enough(const struct predict_decisions *d)
{
    return d->made >= FEWEST && d->right >= RIGHT * d->made;
}

static int is_called(const struct topo_class *c, const struct topo_gpu *g, const char *name)
{
    const char *own = g->object >= 0 ? c->objects[g->object].model : NULL;
    return own && strstr(own, name);
}

const struct predict_record *predict_record_of(const struct topology *t)
{
    const int class_index = topo_gpu_class(t);
    if (class_index < 0 || t->nclasses != 1)
        return NULL;
    const struct topo_class *c = &t->classes[class_index];
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        const struct predict_record *r = &records[i];
        int alike = r->has_nvlink == (c->nlinks > 0) && r->ranks == c->ngpus;
        for (int g = 0; g < c->ngpus; g++)
            alike &= is_called(c, &c->gpus[g], r->gpu);
        for (int k = 0; alike && k < (int)(sizeof r->list / sizeof *r->list); k++)
            if (is_enough(&r->list[k]))
                return r;
    }
    return NULL;
}

int predict_is_proven(const struct predict_record *r, const struct bench_point *p, const struct bench_knobs *call)
{
    const struct nccl_requested asked = nccl_requested_of(call);
    int low, high, proven = 0;
    if (!r || p->nodes != 1 || p->ranks != r->ranks || p->others || p->buffers || asked.channels || asked.chunk_bytes ||
        env_library_release(p->library, &low, &high) || low < FIRST_TUNER)
        return 0;
    for (size_t i = 0; i < sizeof r->list / sizeof *r->list; i++) {
        const struct predict_decisions *d = &r->list[i];
        proven |= is_enough(d) && d->coll == p->coll && d->algo == asked.algo && d->proto == asked.proto &&
                  p->bytes >= d->min_bytes && p->bytes <= d->max_bytes;
    }
    return proven;
}
