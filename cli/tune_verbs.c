/* nccltune tune: the fabric, before collectives are measured on it. */
#include "cli/tune_verbs.h"

#include <string.h>
#include <unistd.h>

#include "bench/engines/engines.h"
#include "bench/engines/verbs/run.h"
#include "bench/fabric/decide.h"
#include "cli/bench_verbs.h"

/* Of the whole, at most: this ends when it is done, while collectives fill what they are given. */
#define BUDGET_PART 0.5
#define INTERRUPTED 130 /* as shells report a program that ^C ended */

static int is_complete(const char *path)
{
    struct verbs_fabric *f = verbs_fabric_load(path, NULL);
    int complete = f && f->complete;
    verbs_fabric_free(f);
    return complete;
}

/* What a person should know at once; the rest is in the profile. */
static void report(struct verbs_fabric *f, int nccl, struct log *log)
{
    struct verbs_decision d = verbs_decide(f, nccl);
    for (int i = 0; i < d.nfaults; i++)
        log_warn(log, "fabric: %s", verbs_fault_text(f, &d.faults[i]));
    for (int i = 0; i < d.found.n; i++)
        log_warn(log, "fabric: %s", finding_sentence(&d.found.list[i], f->arena));
    for (int i = 0; i < d.nsettings; i++)
        if (!strcmp(d.settings[i].name, "NCCL_IB_DISABLE"))
            log_warn(log, "NO RDMA CONNECTION WORKS: jobs will use TCP sockets (NCCL_IB_DISABLE=1), many times slower");
    if (!d.nfaults)
        log_info(log, "fabric: all %d pairs of RDMA ports went well", f->ntries);
}

static int measure(const struct verbs_options *v, const char *path, struct log *log, struct progress *progress,
                   volatile sig_atomic_t *stop, const char **fabric, struct err *e)
{
    struct err why = {0};
    struct verbs_fabric *f = verbs_run(v, progress, stop, &why);
    progress_clear(progress);
    int interrupted = stop && *stop, code = 0;
    if (interrupted) {
        log_warn(log, "interrupted; the same command with --resume goes on");
        code = INTERRUPTED;
    } else if (!f) {
        log_warn(log, "the fabric was not measured: %s", why.text);
    } else {
        if (!f->complete)
            log_warn(log, "not all pairs of the fabric were measured within %.0f s; --budget gives more", v->budget_s);
        report(f, v->nccl, log);
        code = verbs_fabric_save(f, path, e);
        *fabric = code ? NULL : path;
    }
    if (!interrupted)
        unlink(v->journal);
    verbs_fabric_free(f);
    return code;
}

int tune_verbs(struct bench_options *o, const struct topology *topology, const char *dir, struct log *log,
               struct progress *progress, volatile sig_atomic_t *stop, struct arena *a, const char **fabric,
               struct err *e)
{
    const char *path = arena_printf(a, "%s/fabric.json", dir);
    struct verbs_options v = {.setup = o->setup,
                              .nccl = VERBS_NCCL_NEWEST,
                              .budget_s = o->budget_s * BUDGET_PART,
                              .journal = bench_verbs_journal(path, a),
                              .resume = o->resume};
    v.setup.topology = topology;
    v.setup.log = log;
    *fabric = NULL;
    if (bench_evidence_of(o->engine) == BENCH_PREDICTED)
        return 0;
    if (o->resume && is_complete(path)) {
        *fabric = path;
        return 0;
    }
    unlink(path);
    if (!verbs_worth(&v)) {
        unlink(v.journal);
        return 0;
    }
    double began_s = progress_now_s();
    log_info(log, "trying which network ports reach which");
    int code = measure(&v, path, log, progress, stop, fabric, e);
    o->budget_s -= progress_now_s() - began_s;
    if (o->budget_s < v.budget_s)
        o->budget_s = v.budget_s;
    return code;
}
