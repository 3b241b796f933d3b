/* bench --engine verbs: a fabric is measured, written and printed. */
#include <sys/stat.h>
#include <unistd.h>

#include "bench/engines/verbs/journal.h"
#include "bench/engines/verbs/options.h"
#include "bench/engines/verbs/run.h"
#include "bench/engines/verbs/verbs_internal.h"
#include "bench/fabric/decide.h"
#include "core/file.h"

static int write_svg(const struct verbs_fabric *f, const struct verbs_decision *d, const char *path, struct err *e)
{
    struct file_out out;
    int code = file_out_begin(&out, e);
    if (code)
        return code;
    verbs_svg(f, d, out.stream);
    return file_out_commit(&out, path, e);
}

static int deliver(const struct bench_document *doc, const char *svg, struct verbs_fabric *f, struct err *e)
{
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    int code = doc->path ? verbs_fabric_save(f, doc->path, e) : 0;
    if (!code && svg)
        code = write_svg(f, &d, svg, e);
    if (!code && doc->json)
        code = verbs_fabric_save(f, NULL, e);
    else if (!code)
        verbs_print(f, &d, isatty(fileno(doc->out)), doc->out);
    if (!code && fflush(doc->out))
        code = err_errno(e, "standard output cannot be written");
    return !code && (d.nbroken || !f->complete) ? ERR_FAILED : code;
}

/* A device such as /dev/null has no neighbours to go on with. */
static const char *journal_of(const char *path, struct arena *a)
{
    struct stat st;
    return path && (stat(path, &st) || S_ISREG(st.st_mode)) ? verbs_journal_path(path, a) : NULL;
}

int verbs_document(const struct bench_document *d, struct err *e)
{
    static const struct verbs_options none;
    const struct verbs_options *own = d->setup->own ? d->setup->own : &none;
    struct arena *a = arena_new();
    struct verbs_task t = {.setup = *d->setup,
                           .ports = own->ports,
                           .schedule = own->schedule,
                           .sweep_bytes = own->sweep_bytes,
                           .budget_s = d->budget_s,
                           .journal = journal_of(d->path, a),
                           .resume = d->resume};
    int finished = t.journal && t.resume && access(t.journal, F_OK) && !access(d->path, F_OK);
    struct verbs_fabric *f = finished ? verbs_fabric_load(d->path, e) : verbs_run(&t, d->progress, d->stop, e);
    int code = f ? 0 : e->code;
    if (f && !f->complete)
        log_warn(d->setup->log, "not everything was measured: the budget of %.0f s is over, or it was interrupted%s",
                 t.budget_s, t.journal ? "; the same command with --resume goes on" : "");
    if (f)
        code = deliver(d, own->svg, f, e);
    verbs_fabric_free(f);
    arena_free(a);
    return code;
}
