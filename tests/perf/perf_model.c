/* What predictions cost: one call, preparing a machine, and the table of all candidates of a large cluster; next to
 * NCCL's own estimate of the same calls. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "core/progress.h"
#include "model/model.h"
#include "model/nccl/model.h"
#include "probe/machines/machines.h"

#define CALLS 1000000
#define TIMES 20
#define SIZES 25 /* 64 B to 1 GiB, doubling */

static const int channel_counts[] = {0, 1, 2, 4, 8, 16, 24, 32};
#define COUNTS (int)(sizeof channel_counts / sizeof *channel_counts)

/* A model with what it stands on. */
struct bed {
    struct topology *t;
    struct arena *a;
    struct model *m;
};

static struct bed make(const char *machine, int nodes, const char *const *hcas, int nhcas)
{
    struct err e = {0};
    struct bed b = {machine_topology(machine, nodes, &e), arena_new(), NULL};
    struct model_setup s = {.nccl = {.topology = b.t, .nodes = nodes, .hcas = hcas, .nhcas = nhcas}};
    b.m = b.t ? model_new(&s, b.a, &e) : NULL;
    if (!b.m) {
        fprintf(stderr, "%s\n", e.text);
        exit(1);
    }
    return b;
}

static void clear(struct bed *b)
{
    arena_free(b->a);
    topo_free(b->t);
}

static uint64_t size_of(int i)
{
    return 64ull << i % SIZES;
}

/* ---- one call -------------------------------------------------------------------------------------------------- */

static void one_call(const char *machine, int nodes)
{
    struct bed b = make(machine, nodes, NULL, 0);
    const struct nccl_model *n = b.m->nccl;
    double sum = 0, start_s = progress_now_s();
    for (int i = 0; i < CALLS; i++)
        sum += nccl_cost_us(n, COLL_ALLREDUCE, ALGO_RING, PROTO_SIMPLE, size_of(i));
    double nccl_s = progress_now_s() - start_s;

    start_s = progress_now_s();
    for (int i = 0; i < CALLS; i++) {
        struct model_call c = {COLL_ALLREDUCE, size_of(i), ALGO_RING, PROTO_SIMPLE, 0};
        struct model_time t;
        sum += model_predict(b.m, &c, &t) ? 0 : t.us;
    }
    double forced_s = progress_now_s() - start_s;

    start_s = progress_now_s();
    for (int i = 0; i < CALLS; i++) {
        struct model_call c = {COLL_ALLREDUCE, size_of(i), -1, -1, 0};
        struct model_time t;
        sum += model_predict(b.m, &c, &t) ? 0 : t.us;
    }
    double chosen_s = progress_now_s() - start_s;
    printf("%-12s x %-5d a call: NCCL's estimate %6.3f us   predicted, given algorithm %6.3f us   NCCL's choice %6.3f "
           "us   (target: < 20 us)%s\n",
           machine, nodes, nccl_s * 1e6 / CALLS, forced_s * 1e6 / CALLS, chosen_s * 1e6 / CALLS, sum > 0 ? "" : " ?");
    clear(&b);
}

/* Milliseconds of one of TIMES preparations: the model's, or NCCL's search alone, which it contains. */
static double prepare_ms(const struct model_setup *s, int search_only)
{
    double start_s = progress_now_s();
    for (int i = 0; i < TIMES; i++) {
        struct arena *a = arena_new();
        if (search_only ? !nccl_model_new(&s->nccl, a, NULL) : !model_new(s, a, NULL))
            exit(1);
        arena_free(a);
    }
    return (progress_now_s() - start_s) * 1e3 / TIMES;
}

static void preparing(const char *machine, int nodes)
{
    struct bed b = make(machine, nodes, NULL, 0);
    struct model_setup s = {.nccl = {.topology = b.t, .nodes = nodes}};
    printf("%-12s x %-6d prepared: NCCL's search %7.3f ms, with the model %7.3f ms\n", machine, nodes,
           prepare_ms(&s, 1), prepare_ms(&s, 0));
    clear(&b);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

/* Every collective, size, algorithm, protocol and channel count; how many of them NCCL offers. */
static long predict_all(const struct model *m, double *sum)
{
    long cells = 0;
    for (int coll = 0; coll < COLL_COUNT; coll++)
        for (int i = 0; i < SIZES; i++)
            for (int algo = 0; algo < ALGO_COUNT; algo++)
                for (int proto = 0; proto < PROTO_COUNT; proto++)
                    for (int k = 0; k < COUNTS; k++) {
                        struct model_call c = {coll, size_of(i), algo, proto, channel_counts[k]};
                        struct model_time t;
                        if (model_predict(m, &c, &t))
                            break;
                        *sum += t.us;
                        cells++;
                    }
    return cells;
}

/* HCA sets: all, every one alone, and all but one. */
static void table(const char *machine, int nodes)
{
    double start_s = progress_now_s(), sum = 0;
    struct bed all = make(machine, nodes, NULL, 0);
    const struct topo_class *c = &all.t->classes[0];
    long cells = predict_all(all.m, &sum);
    int sets = 1;
    for (int i = 0; i < 2 * c->nports && c->nports > 1; i++) {
        const char *hcas[64];
        int n = 0, one = i % c->nports;
        for (int k = 0; k < c->nports && n < 64; k++)
            if ((k == one) == (i < c->nports))
                hcas[n++] = c->ports[k].hca;
        struct bed b = make(machine, nodes, hcas, n);
        cells += predict_all(b.m, &sum);
        clear(&b);
        sets++;
    }
    clear(&all);
    double took_s = progress_now_s() - start_s;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%s x %d: %ld candidates of %d HCA sets in %.3f s (target: < 2 s), largest memory %.1f MB (target: < 512 "
           "MB)%s\n",
           machine, nodes, cells, sets, took_s, (double)usage.ru_maxrss * 1024 / 1e6, sum > 0 ? "" : " ?");
}

int main(void)
{
    one_call("dgx-h100", 1);
    one_call("dgx-h100", 1024);
    preparing("dgx-h100", 1);
    preparing("dgx-h100", 1024);
    preparing("dgx-h100", 100000);
    preparing("aws-p5", 2);
    preparing("dgx-2", 2);
    table("azure-ndv5", 1024);
    return 0;
}
