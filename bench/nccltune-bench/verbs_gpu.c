/* Every port with every GPU of its node: the part of the verbs engine's worker that measures how near they are. */
#include <stdio.h>
#include <string.h>

#include "bench/engines/verbs/measure.h"
#include "bench/nccltune-bench/verbs_internal.h"
#include "bench/nccltune-bench/verbs_memory.h"

#define QPS 2 /* as for host memory, so that the two can be compared */

static const struct verbs_shot shot = {VERBS_WRITE, 65536, 5, 0.02, PATIENCE_S};

/* What the owner of a GPU reports of it; of fixed size. */
struct report {
    int known, gpu;
    char pci[32], via[16], why[900];
    double send_GBps, receive_GBps;
};

/* The GPUs of this rank's node. */
struct side {
    struct gpu *driver;
    int hip, gpus;
};

static void exchange(const struct worker *w, const struct report *mine, struct report *all)
{
    worker_gather(w, mine, all, sizeof *mine);
    for (int i = 0; i < w->ranks; i++) {
        const struct report *t = &all[i];
        struct verbs_fabric_gpu g = {.node = w->all[i].node_index,
                                     .rail = w->all[i].rail,
                                     .gpu = t->gpu,
                                     .pci = t->pci,
                                     .via = t->via[0] ? t->via : NULL,
                                     .why = t->why[0] ? t->why : NULL,
                                     .send_GBps = t->send_GBps,
                                     .receive_GBps = t->receive_GBps};
        if (t->known)
            worker_say_inside(w, "gpu_memory", verbs_fabric_gpu_json(&g));
    }
}

/* Both ways between this port and its partner's; `gpu` NULL: the memory here is the host's. Both sides write in turn,
 * the owner of the GPU first. */
static int run_both(struct worker *w, int partner, int lead, struct worker_gpu *gpu, int owns, double GBps[2],
                    struct err *e)
{
    struct verbs_memory memory = {0};
    struct verbs_pair_setup setup = {.qps = QPS, .max_bytes = shot.bytes, .patience_s = PATIENCE_S};
    struct verbs_attempt used;
    struct worker_link link;
    struct verbs_figures f;
    if (gpu) {
        memory = worker_gpu_memory(gpu);
        setup.memory = &memory;
    }
    int code = worker_connect(&link, w, partner, lead, setup, &used, e);
    for (int turn = 0; turn < 2 && !code; turn++) {
        code = verbs_measure(&link.pair, &shot, owns ? !turn : turn, &f, e);
        GBps[turn] = code ? 0 : f.GBps;
    }
    verbs_pair_close(&link.pair);
    return code;
}

/* One GPU of the owner, who is the try's lead or the other one. A side without that GPU lends its host memory. `again`:
 * this rank's own port has been measured, and only helps its partner. */
static void run_owner(struct worker *w, const struct verbs_round *r, const struct side *side, int index, int lead_owns,
                      int again, struct report *all)
{
    struct verbs_try pair;
    struct report report = {.gpu = index};
    struct worker_gpu gpu;
    char why[VERBS_FAILURE_TEXT] = "";
    double GBps[2] = {0};
    struct err e = {0};
    int lead = 0, partner = worker_partner(w, r, &pair, &lead), owns = partner >= 0 && lead == lead_owns;
    int has = owns && index < side->gpus && !worker_gpu_take(&gpu, side->driver, side->hip, index, why);
    w->turn++;
    if (partner >= 0)
        run_both(w, partner, lead, has ? &gpu : NULL, owns, GBps, &e);
    report.known = owns && index < side->gpus && !again;
    if (has)
        snprintf(report.pci, sizeof report.pci, "%s", gpu.pci);
    if (has && GBps[1] > 0) {
        snprintf(report.via, sizeof report.via, "%s", gpu.via);
        report.send_GBps = GBps[0];
        report.receive_GBps = GBps[1];
    } else {
        snprintf(report.why, sizeof report.why, "%.*s", (int)sizeof report.why - 1, *why ? why : e.text);
    }
    exchange(w, &report, all);
}

static int *covered(const struct worker *w, int *done, struct verbs_end p)
{
    return &done[p.node * w->rails + p.rail];
}

/* The tries of a round with a port that has not had its turn. */
static struct verbs_round still_open(const struct worker *w, const struct verbs_round *r, int *done)
{
    struct verbs_round open = {.tries = arena_alloc(w->arena, ((size_t)r->ntries + 1) * sizeof *open.tries)};
    for (int i = 0; i < r->ntries; i++)
        if (!*covered(w, done, r->tries[i].from) || !*covered(w, done, r->tries[i].to))
            open.tries[open.ntries++] = r->tries[i];
    return open;
}

void worker_gpus(struct worker *w, const struct verbs_schedule *s)
{
    struct gpu driver;
    struct side side = {.driver = &driver};
    int most = 0;
    int *done = arena_alloc(w->arena, (size_t)w->ranks * sizeof *done);
    struct report *all = arena_alloc(w->arena, (size_t)w->ranks * sizeof *all);
    side.gpus = s->nrounds ? worker_gpu_load(&driver, &side.hip) : 0;
    MPI_Allreduce(&side.gpus, &most, 1, MPI_INT, MPI_MAX, w->comm);
    /* With an odd number of nodes one rests in the first round. */
    for (int round = 0; most && round < s->nrounds && round < 2; round++) {
        const struct verbs_round open = still_open(w, &s->rounds[round], done);
        int again = *covered(w, done, (struct verbs_end){worker_me(w)->node_index, worker_me(w)->rail});
        for (int index = 0; open.ntries && index < most; index++)
            for (int lead_owns = 0; lead_owns < 2; lead_owns++)
                run_owner(w, &open, &side, index, lead_owns, again, all);
        for (int i = 0; i < open.ntries; i++)
            *covered(w, done, open.tries[i].from) = *covered(w, done, open.tries[i].to) = 1;
    }
}
