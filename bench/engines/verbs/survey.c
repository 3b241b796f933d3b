/* The fabric, before collectives are measured on it. */
#include <string.h>
#include <unistd.h>

#include "bench/engines/verbs/journal.h"
#include "bench/engines/verbs/run.h"
#include "bench/engines/verbs/verbs_internal.h"
#include "bench/fabric/decide.h"

static int is_complete(const char *path)
{
    struct verbs_fabric *f = verbs_fabric_load(path, NULL);
    int complete = f && f->complete;
    verbs_fabric_free(f);
    return complete;
}

/* What a person should know at once; the rest is in the profile. */
static void report(struct verbs_fabric *f, struct log *log)
{
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    for (int i = 0; i < d.nfaults; i++)
        log_warn(log, "fabric: %s", verbs_fault_text(f, &d.faults[i]));
    for (int i = 0; i < d.found.n; i++)
        log_warn(log, "fabric: %s", finding_sentence(&d.found.list[i], f->arena));
    for (int i = 0; i < d.nsettings; i++)
        if (!strcmp(d.settings[i].name, "NCCL_IB_DISABLE"))
            log_warn(log, "NO RDMA CONNECTION WORKS: jobs will use TCP sockets (NCCL_IB_DISABLE=1), many times slower");
    int untried;
    const char *list = verbs_untried(f, &untried);
    if (untried)
        log_warn(log, "fabric: not tried, so nothing is known of %s: %s", untried == 1 ? "it" : "them", list);
    if (!d.nfaults && f->ntries)
        log_info(log, "fabric: all %d pairs of RDMA ports that were tried went well", f->ntries);
    if (!f->rails)
        log_info(log, "fabric: these nodes have no RDMA port that is up");
}

static int measure(const struct verbs_task *t, const struct bench_document *d, int *made, struct err *e)
{
    struct err why = {0};
    struct log *log = d->setup->log;
    struct verbs_fabric *f = verbs_run(t, d->progress, d->stop, &why);
    int interrupted = d->stop && *d->stop, code = 0;
    if (!f && !interrupted)
        log_warn(log, "the fabric was not measured: %s", why.text);
    if (f && !interrupted) {
        if (!f->complete)
            log_warn(log, "not all pairs of the fabric were measured within %.0f s; --budget gives more", t->budget_s);
        report(f, log);
        code = verbs_fabric_save(f, d->path, e);
        *made = !code;
    }
    if (!interrupted)
        unlink(t->journal);
    verbs_fabric_free(f);
    return code;
}

int verbs_survey(const struct bench_document *d, int *made, struct err *e)
{
    struct arena *a = arena_new();
    struct verbs_task t = {
        .setup = *d->setup, .budget_s = d->budget_s, .journal = verbs_journal_path(d->path, a), .resume = d->resume};
    int code = 0;
    *made = d->resume && is_complete(d->path);
    if (!*made) {
        unlink(d->path);
        if (verbs_worth(&t.setup)) {
            log_info(d->setup->log, "trying which network ports reach which");
            code = measure(&t, d, made, e);
        } else {
            unlink(t.journal);
        }
    }
    arena_free(a);
    return code;
}
