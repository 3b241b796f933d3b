/* nccltune bench --engine verbs: measure which ports reach which, how fast, by which GID. */
#include "cli/bench_verbs.h"

#include <stdio.h>
#include <unistd.h>

#include "bench/verbs_decide.h"
#include "cli/cli.h"

int bench_verbs(const struct verbs_options *o, const char *path, int json, struct log *log, struct err *e)
{
    struct progress progress;
    int complete = 0, code = 0;
    progress_start(&progress, log->quiet ? NULL : stderr);
    log->progress = &progress;
    struct verbs_fabric *f = verbs_run(o, &progress, cli_catch_interrupt(), &complete, e);
    progress_finish(&progress, NULL);
    log->progress = NULL;
    if (!f)
        return e->code;
    if (!complete)
        log_warn(log, "not everything was measured: the budget of %.0f s is over, or it was interrupted", o->budget_s);
    struct verbs_decision d = verbs_decide(f, o->nccl);
    if (path)
        code = verbs_fabric_save(f, path, e);
    if (!code && json)
        code = verbs_fabric_save(f, NULL, e);
    else if (!code)
        verbs_print(f, &d, isatty(STDOUT_FILENO), stdout);
    if (!code && fflush(stdout))
        code = err_errno(e, "standard output cannot be written");
    if (!code && (d.nfaults || !complete))
        code = ERR_FAILED;
    verbs_fabric_free(f);
    return code;
}
