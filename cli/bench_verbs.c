/* nccltune bench --engine verbs: measure which ports reach which, how fast, by which GID. */
#include "cli/bench_verbs.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/fabric/check.h"
#include "cli/cli.h"
#include "core/file.h"
#include "core/json.h"

#define SWEEP      ((uint64_t)8 << 20)
#define SWEEP_MOST ((uint64_t)1 << 30)

static const char *schedule_word(int i)
{
    static const char *const known[] = {"rails", "reach", "matrix", NULL};
    return known[i];
}

static int take_sweep(const struct option_value *v, void *out, struct err *e)
{
    *(uint64_t *)out = SWEEP;
    return v->text ? option_bytes(v, out, e) : 0;
}

const struct option_spec bench_verbs_options[] = {
    {0, "ports", "LIST", "mlx5_0:1,mlx5_1:1; default: the active ones of the topology", option_text,
     offsetof(struct bench_verbs, options.ports)},
    {0, "schedule", "S",
     "rails (the default on several nodes): ports of the same rail, and some that cross rails; reach: every two ports "
     "of different nodes; matrix (the default on one node): every ordered pair",
     option_word, offsetof(struct bench_verbs, options.schedule), .word = schedule_word},
    {0, "sweep", "[=BYTES]", "also all sizes from 2 bytes to BYTES (8M) on 1, 2 and 4 queue pairs, on a few pairs",
     take_sweep, offsetof(struct bench_verbs, options.sweep_bytes), .low = 2, .high = SWEEP_MOST},
    {0, "svg", "FILE", "draw the map of bandwidths", option_text, offsetof(struct bench_verbs, svg)},
    {0, "check", "PROFILE", "measure briefly and say what has become worse than in PROFILE; exit status 1 then",
     option_text, offsetof(struct bench_verbs, check)},
    {0},
};

const char *bench_verbs_journal(const char *output, struct arena *a)
{
    return arena_printf(a, "%s.journal", output);
}

static struct verbs_fabric *measure(const struct verbs_options *o, struct log *log, struct err *e)
{
    struct progress progress;
    progress_start(&progress, log->quiet ? NULL : stderr);
    log->progress = &progress;
    struct verbs_fabric *f = verbs_run(o, &progress, cli_catch_interrupt(), e);
    progress_finish(&progress, NULL);
    log->progress = NULL;
    return f;
}

static int write_svg(const struct verbs_fabric *f, const struct verbs_decision *d, const char *path, struct err *e)
{
    struct file_out out;
    int code = file_out_begin(&out, e);
    if (code)
        return code;
    verbs_svg(f, d, out.stream);
    return file_out_commit(&out, path, e);
}

/* ---- measuring ------------------------------------------------------------------------------------------------------
 */

static int deliver(const struct bench_verbs *b, struct verbs_fabric *f, struct err *e)
{
    struct verbs_decision d = verbs_decide(f, b->options.nccl);
    int code = b->output ? verbs_fabric_save(f, b->output, e) : 0;
    if (!code && b->svg)
        code = write_svg(f, &d, b->svg, e);
    if (!code && b->json)
        code = verbs_fabric_save(f, NULL, e);
    else if (!code)
        verbs_print(f, &d, isatty(STDOUT_FILENO), stdout);
    if (!code && fflush(stdout))
        code = err_errno(e, "standard output cannot be written");
    return !code && (d.nbroken || !f->complete) ? ERR_FAILED : code;
}

static int run(const struct bench_verbs *b, struct log *log, struct arena *a, struct err *e)
{
    struct verbs_options o = b->options;
    struct stat st;
    /* A device such as /dev/null has no neighbours to go on with. */
    if (b->output && (stat(b->output, &st) || S_ISREG(st.st_mode)))
        o.journal = bench_verbs_journal(b->output, a);
    int finished = b->output && o.resume && o.journal && access(o.journal, F_OK) && !access(b->output, F_OK);
    struct verbs_fabric *f = finished ? verbs_fabric_load(b->output, e) : measure(&o, log, e);
    if (!f)
        return e->code;
    if (!f->complete)
        log_warn(log, "not everything was measured: the budget of %.0f s is over, or it was interrupted%s", o.budget_s,
                 o.journal ? "; the same command with --resume goes on" : "");
    int code = deliver(b, f, e);
    verbs_fabric_free(f);
    return code;
}

/* ---- checking -------------------------------------------------------------------------------------------------------
 */

static struct verbs_fabric *load_baseline(const char *profile, struct arena *a, struct err *e)
{
    struct stat st;
    int directory = !stat(profile, &st) && S_ISDIR(st.st_mode);
    return verbs_fabric_load(directory ? arena_printf(a, "%s/fabric.json", profile) : profile, e);
}

static int print_check(const struct verbs_check *c, const char *profile, int json, struct err *e)
{
    if (json) {
        cJSON *doc = cJSON_CreateObject(), *worse = cJSON_CreateArray();
        cJSON_AddNumberToObject(doc, "compared", c->compared);
        for (int i = 0; i < c->nworse; i++)
            cJSON_AddItemToArray(worse, cJSON_CreateString(c->worse[i]));
        cJSON_AddItemToObject(doc, "worse", worse);
        int code = json_save(doc, NULL, e);
        cJSON_Delete(doc);
        return code;
    }
    if (c->nworse)
        printf("Worse than in %s:\n", profile);
    else
        printf("Nothing is worse than in %s: %d tries compared.\n", profile, c->compared);
    for (int i = 0; i < c->nworse; i++)
        printf("  %s\n", c->worse[i]);
    return fflush(stdout) ? err_errno(e, "standard output cannot be written") : 0;
}

/* One measurement, held against the profile's. What seemed worse in an `earlier` one (NULL: none) counts as it went
 * better: something else may have been in the way for a moment. */
static int compare(const struct verbs_options *o, const struct verbs_fabric *then, const struct verbs_fabric *earlier,
                   struct verbs_fabric **now, struct verbs_check *c, struct log *log, struct err *e)
{
    *now = measure(o, log, e);
    if (!*now)
        return e->code;
    if (!(*now)->complete)
        return err_set(e, ERR_FAILED, "not everything was measured within the budget of %.0f s", o->budget_s);
    if (earlier)
        verbs_check_better(*now, earlier);
    return verbs_check(*now, then, VERBS_CHECK_RATIO, c, e);
}

static int check(const struct bench_verbs *b, struct log *log, struct arena *a, struct err *e)
{
    struct verbs_fabric *then = load_baseline(b->check, a, e), *now = NULL;
    struct verbs_options o = b->options;
    struct verbs_check c = {0};
    if (!then)
        return e->code;
    o.brief = 1;
    o.ports = o.ports ? o.ports : verbs_check_ports(then, a);
    int code = compare(&o, then, NULL, &now, &c, log, e);
    if (!code && c.nworse) {
        struct verbs_fabric *first = now;
        now = NULL;
        code = compare(&o, then, first, &now, &c, log, e);
        verbs_fabric_free(first);
    }
    if (!code)
        code = print_check(&c, b->check, b->json, e);
    if (!code && c.nworse)
        code = ERR_FAILED;
    verbs_fabric_free(now);
    verbs_fabric_free(then);
    return code;
}

int bench_verbs(const struct bench_verbs *b, struct log *log, struct err *e)
{
    struct arena *a = arena_new();
    int code = b->check ? check(b, log, a, e) : run(b, log, a, e);
    arena_free(a);
    return code;
}
