/* What predictions have decided rightly: calls that somebody measured both ways on one machine, decided by constants
 * that were fitted without it. "build/perf/perf_model_truth" prints the record; a row needs five decisions, 95 % of
 * them right. (Of three NVLS calls on eight H200 all were right: too few.) */
#include <string.h>

#include "core/coll.h"
#include "core/vars/catalogue.h"
#include "envgen/predict/predict.h"

/* The first release that asks a tuner. */
#define FIRST_TUNER 21900

struct predict_record {
    const char *gpu;       /* in the names of all GPUs of the one node, */
    int has_nvlink, ranks; /* of which there are so many */
    int coll, algo, proto;
    uint64_t min_bytes, max_bytes;
};

static const struct predict_record records[] = {
    {"L40S", 0, 4, COLL_ALLREDUCE, ALGO_RING, PROTO_LL, 64 << 10, 128 << 10},    /* 6 of 6 */
    {"L40S", 0, 4, COLL_ALLREDUCE, ALGO_RING, PROTO_SIMPLE, 4 << 20, 128 << 20}, /* 12 of 12 */
    {"L40S", 0, 4, COLL_ALLREDUCE, ALGO_TREE, PROTO_SIMPLE, 8 << 20, 128 << 20}, /* 5 of 5 */
    {0},
};

const struct predict_record *predict_record_of(const struct topology *t)
{
    const int class_index = topo_gpu_class(t);
    const struct topo_class *c = class_index < 0 || t->nclasses != 1 ? NULL : &t->classes[class_index];
    for (const struct predict_record *r = records; c && r->gpu; r++) {
        int alike = r->has_nvlink == (c->nlinks > 0) && r->ranks == c->ngpus;
        for (int g = 0; g < c->ngpus && alike; g++) {
            const char *model = c->gpus[g].object >= 0 ? c->objects[c->gpus[g].object].model : NULL;
            alike = model && strstr(model, r->gpu);
        }
        if (alike)
            return r;
    }
    return NULL;
}

int predict_is_proven(const struct predict_record *r, const struct bench_point *p, const struct bench_knobs *call)
{
    const struct nccl_requested asked = nccl_requested_of(call);
    const char *gpu = r ? r->gpu : "";
    int low, high;
    if (!r || p->nodes != 1 || p->ranks != r->ranks || p->others || p->buffers || asked.channels || asked.chunk_bytes ||
        env_library_release(p->library, &low, &high) || low < FIRST_TUNER)
        return 0;
    while (r->gpu && !strcmp(r->gpu, gpu) &&
           (r->coll != p->coll || r->algo != asked.algo || r->proto != asked.proto || p->bytes < r->min_bytes ||
            p->bytes > r->max_bytes))
        r++;
    return r->gpu && !strcmp(r->gpu, gpu);
}
