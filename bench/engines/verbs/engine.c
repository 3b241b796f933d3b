/* The verbs engine: no candidates, but a document of its own on the fabric, from which settings follow by rules. */
#include "bench/engines/verbs/engine.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/engines/verbs/run.h"
#include "core/file.h"
#include "core/json.h"
#include "core/trust.h"

/* Beside the document while it is being made. */
#define JOURNAL_OF "%s.journal"

/* ---- options ---- */

static const char *schedule_word(int i)
{
    static const char *const known[] = {"rails", "reach", "matrix", NULL};
    return known[i];
}

static const struct option_spec options[] = {
    {0, "ports", "LIST", "mlx5_0:1,mlx5_1:1 (default: the active ones of the topology)", option_text,
     offsetof(struct verbs_options, ports)},
    {0, "schedule", "S",
     "rails (the default on several nodes): ports of the same rail, and some that cross rails; reach: every two ports "
     "of different nodes; matrix (the default on one node): every ordered pair",
     option_word, offsetof(struct verbs_options, schedule), .word = schedule_word},
    {0, "check", "PROFILE", "measure briefly and print what is worse than in PROFILE, with exit status 1", option_text,
     offsetof(struct verbs_options, check)},
    {0},
};

/* ---- bench --engine verbs: a fabric is measured, written and printed ---- */

static int deliver_fabric(const struct bench_document *doc, struct verbs_fabric *f, struct err *e)
{
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    int code = doc->path ? verbs_fabric_save(f, doc->path, e) : 0;
    if (!code && doc->json)
        code = verbs_fabric_save(f, NULL, e);
    else if (!code)
        verbs_print(f, &d, doc->out == stdout && isatty(STDOUT_FILENO), doc->out);
    if (!code && fflush(doc->out))
        code = err_errno(e, "standard output cannot be written");
    return !code && (d.nbroken || !f->complete) ? ERR_FAILED : code;
}

/* Measure the fabric, write what is asked for and print what was found. ERR_FAILED with an empty `e` when something is
 * broken or slow. */
static int make_fabric(const struct bench_document *d, struct err *e)
{
    static const struct verbs_options none;
    const struct verbs_options *own = d->setup->own ? d->setup->own : &none;
    struct arena *a = arena_new();
    struct stat st;
    /* A device such as /dev/null has no neighbours to go on with. */
    int beside = d->path && (stat(d->path, &st) || S_ISREG(st.st_mode));
    struct verbs_task t = {.setup = *d->setup,
                           .ports = own->ports,
                           .schedule = own->schedule,
                           .budget_s = d->budget_s,
                           .journal = beside ? arena_printf(a, JOURNAL_OF, d->path) : NULL,
                           .resume = d->resume};
    int finished = t.journal && t.resume && access(t.journal, F_OK) && !access(d->path, F_OK);
    struct verbs_fabric *f = finished ? verbs_fabric_load(d->path, e) : verbs_run(&t, d->stop, e);
    int code = f ? 0 : e->code;
    if (f && !f->complete)
        log_warn(d->setup->log, "incomplete: the budget of %.0f s ended, or it was interrupted%s", t.budget_s,
                 t.journal ? "; --resume goes on" : "");
    if (f)
        code = deliver_fabric(d, f, e);
    verbs_fabric_free(f);
    arena_free(a);
    return code;
}

/* ---- bench --check: a brief measurement, held against a profile's ---- */

/* So often a fabric that seems worse is measured before it is called so, a second or two each. On a machine with twice
 * as many busy processes as processors one look in two finds a pair at 55 to 70 %; what is broken stays so. */
#define CHECK_LOOKS 6

static struct verbs_fabric *load_baseline(const char *profile, struct arena *a, struct err *e)
{
    struct stat st;
    int directory = !stat(profile, &st) && S_ISDIR(st.st_mode);
    const char *path = directory ? arena_printf(a, "%s/fabric.json", profile) : profile;
    if (directory && access(path, F_OK))
        return err_null(
            e, ERR_FAILED,
            "%s has no fabric.json to compare with, because no port was measured; 'nccltune bench --engine verbs "
            "-o FILE' makes one for --check FILE",
            profile);
    return verbs_fabric_load(path, e);
}

static int print_check(const struct verbs_check *c, const char *profile, const struct bench_document *d, struct err *e)
{
    if (d->json) {
        cJSON *doc = cJSON_CreateObject();
        cJSON_AddNumberToObject(doc, "compared", c->compared);
        json_add_strs(doc, "worse", c->worse, c->nworse);
        return json_save(doc, NULL, e);
    }
    if (c->nworse)
        fprintf(d->out, "Worse than in %s:\n", profile);
    else
        fprintf(d->out, "Nothing is worse than in %s: %d tries compared.\n", profile, c->compared);
    for (int i = 0; i < c->nworse; i++)
        fprintf(d->out, "  %s\n", c->worse[i]);
    return fflush(d->out) ? err_errno(e, "standard output cannot be written") : 0;
}

/* One measurement, held against the profile's. What seemed worse in an `earlier` one (NULL: none) counts as it went
 * better: something else may have been in the way for a moment. */
static int compare_fabric(const struct verbs_task *t, const struct bench_document *d, const struct verbs_fabric *then,
                          const struct verbs_fabric *earlier, struct verbs_fabric **now, struct verbs_check *c,
                          struct err *e)
{
    *now = verbs_run(t, d->stop, e);
    if (!*now)
        return e->code;
    if (!(*now)->complete)
        return err_set(e, ERR_FAILED, "incomplete within the budget of %.0f s", t->budget_s);
    if (earlier)
        verbs_check_better(*now, earlier);
    return verbs_check(*now, then, d->margin < 0 ? VERBS_CHECK_RATIO : 1 - d->margin, c, e);
}

/* Measure briefly, and print what has become worse than in the profile of --check. ERR_FAILED with an empty `e` when
 * something has. */
static int check_fabric(const struct bench_document *d, struct err *e)
{
    const struct verbs_options *own = d->setup->own;
    struct arena *a = arena_new();
    struct verbs_fabric *then = load_baseline(own->check, a, e), *now = NULL;
    struct verbs_task t = {.setup = *d->setup, .brief = 1, .schedule = own->schedule, .budget_s = d->budget_s};
    struct verbs_check c = {0};
    int code = then ? 0 : e->code;
    if (!code)
        t.ports = own->ports ? own->ports : verbs_check_ports(then, a);
    for (int looks = 0; !code && looks < CHECK_LOOKS && (!looks || c.nworse); looks++) {
        struct verbs_fabric *earlier = now;
        code = compare_fabric(&t, d, then, earlier, &now, &c, e);
        verbs_fabric_free(earlier);
    }
    if (!code)
        code = print_check(&c, own->check, d, e);
    if (!code && c.nworse)
        code = ERR_FAILED;
    verbs_fabric_free(now);
    verbs_fabric_free(then);
    arena_free(a);
    return code;
}

/* ---- tune: the fabric, before collectives are measured on it ---- */

static int is_complete(const char *path)
{
    struct verbs_fabric *f = verbs_fabric_load(path, NULL);
    int complete = f && f->complete;
    verbs_fabric_free(f);
    return complete;
}

/* What a person should know at once; the rest is in the profile. */
static void log_fabric(struct verbs_fabric *f, struct log *log)
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
        log_warn(log, "fabric: not tried: %s", list);
    if (!d.nfaults && f->ntries)
        log_info(log, "fabric: all %d tried pairs of RDMA ports work", f->ntries);
    if (!f->rails)
        log_info(log, "fabric: these nodes have no RDMA port that is up");
}

static int measure_for_survey(const struct verbs_task *t, const struct bench_document *d, int *made, struct err *e)
{
    struct err why = {0};
    struct log *log = d->setup->log;
    struct verbs_fabric *f = verbs_run(t, d->stop, &why);
    int interrupted = d->stop && *d->stop, code = 0;
    if (!f && !interrupted)
        log_warn(log, "the fabric was not measured: %s", why.text);
    if (f && !interrupted) {
        if (!f->complete)
            log_warn(log, "not all pairs of the fabric were measured within %.0f s; --budget gives more", t->budget_s);
        log_fabric(f, log);
        code = verbs_fabric_save(f, d->path, e);
        *made = !code;
    }
    if (!interrupted)
        trust_unlink(t->journal, &why);
    verbs_fabric_free(f);
    return code;
}

static int survey_fabric(const struct bench_document *d, int *made, struct err *e)
{
    struct arena *a = arena_new();
    struct verbs_task t = {.setup = *d->setup,
                           .budget_s = d->budget_s,
                           .journal = arena_printf(a, JOURNAL_OF, d->path),
                           .resume = d->resume};
    int code = 0;
    *made = d->resume && is_complete(d->path);
    if (!*made) {
        code = trust_unlink(d->path, e);
        if (!code && verbs_worth(&t.setup)) {
            log_info(d->setup->log, "testing which network ports reach which");
            code = measure_for_survey(&t, d, made, e);
        } else {
            trust_unlink(t.journal, NULL);
        }
    }
    arena_free(a);
    return code;
}

/* ---- the engine ---- */

static int is_check(const void *own)
{
    const struct verbs_options *said = own;
    return said && said->check;
}

static int asks_nodes(const void *own)
{
    const struct verbs_options *said = own;
    return !said || (!said->ports && !said->check);
}

static int check_options(const void *own, const char *path, struct err *e)
{
    return path || is_check(own) ? 0 : err_set(e, ERR_USAGE, "missing output file: -o RESULTS");
}

static int make_document(const struct bench_document *d, struct err *e)
{
    return is_check(d->setup->own) ? check_fabric(d, e) : make_fabric(d, e);
}

static const struct bench_document_ops ops = {check_options, make_document, survey_fabric, "fabric.json", asks_nodes};

const struct bench_engine bench_engine_verbs = {
    .name = "verbs",
    .description = "every pair of RDMA ports: which reach which, how fast, by which GID",
    .evidence = BENCH_ON_FABRIC,
    .family = BENCH_FAMILY_NCCL,
    .options_title = "Pairs of RDMA ports (--engine verbs)",
    .options = options,
    .options_bytes = sizeof(struct verbs_options),
    .documents = &ops,
};
