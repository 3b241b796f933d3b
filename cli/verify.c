/* nccltune verify: measure default against profile once more, as jobs would run them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/engines/engines.h"
#include "bench/engines/nccl/engine.h"
#include "bench/noise/noise.h"
#include "bench/predict/sanity.h"
#include "bench/search/bench.h"
#include "cli/cli.h"
#include "cli/found.h"
#include "cli/measure.h"
#include "core/coll.h"
#include "core/json.h"
#include "core/locate.h"
#include "core/units.h"
#include "envgen/step/profile.h"
#include "envgen/verify/verify.h"

#define COMMAND "nccltune verify"

static const struct cli_page page = {
    COMMAND,
    "nccltune verify PROFILE [OPTION]...\n"
    "Measure NCCL's default against NCCL with the profile, in turns, with environment and plugin as a job has them,\n"
    "and judge every rule of the profile's tuner table: it holds when it is faster than without it beyond doubt.\n",
    "The engine is nccl, and the collectives are by default those that the profile was made for.\n"
    "\n"
    "Examples\n"
    "  nccltune verify profile\n"
    "  nccltune verify profile --hosts n1,n2 --budget 5m -o profile-verified\n"
    "\n"
    "Exit status: 0 every rule that was measured holds; 1 some do not, or something failed; 2 wrong usage; 3 "
    "something\n"
    "is missing, such as a GPU; 130 interrupted.\n",
    1};

struct request {
    struct bench_options bench;
    const char *profile, *out;
    int json, quiet;
    struct cli_found found;
};

/* ---- options ---- */

static const struct option_spec answer_options[] = {
    {'o', "output", "DIR", "write the profile anew, without the rules that do not hold", option_text,
     offsetof(struct request, out)},
    {0, "journal", "FILE", "keep the measurements (see nccltune-results.jsonl(5))", option_text,
     offsetof(struct request, bench.results)},
    {'j', "json", NULL, "print the verdicts as JSON", option_flag, offsetof(struct request, json)},
    {'q', "quiet", NULL, "no progress, only warnings", option_flag, offsetof(struct request, quiet)},
    {0, "nccl", .instead = "nccl-lib"},
    {0},
};

static int check(const struct request *w, struct err *e)
{
    if (!bench_engine_find(w->bench.engine)->as_jobs)
        return err_set(e, ERR_USAGE, "--engine: profiles are verified with %s alone", bench_engine_as_jobs()->name);
    if (!w->profile)
        return err_set(e, ERR_USAGE, "PROFILE is missing");
    if (w->out && env_profile_complete(w->out))
        return err_set(e, ERR_FAILED, "--output: %s holds a finished profile already", w->out);
    return cli_measure_check(&w->bench, e);
}

/* -1 to go on, or the exit code. */
static int parse(int argc, char **argv, struct request *w, struct arena *a)
{
    struct err e = {0};
    const struct option_group own[] = {{"The answer", answer_options, w}, {0}};
    int first;
    bench_options_default(&w->bench);
    w->bench.engine = bench_engine_as_jobs()->name;
    w->bench.collectives = 0;
    w->bench.margin = 0;
    int rc = cli_parse(&page, cli_measure_groups(own, &w->bench, 0, a), argc, argv, a, &first);
    w->profile = rc < 0 ? argv[first] : NULL;
    if (rc < 0 && check(w, &e))
        rc = cli_fail(COMMAND, &e);
    return rc;
}

/* ---- output ---- */

static void print_rule(const struct verify_rule *v)
{
    const struct tuner_rule *r = v->rule;
    char low[UNIT_TEXT], high[UNIT_TEXT];
    printf("  line %-4ld %-13s %10s to %-10s %s/%s", r->line, coll_name(r->coll), unit_bytes(low, r->min_bytes),
           r->max_bytes == UINT64_MAX ? "any" : unit_bytes(high, r->max_bytes),
           r->algo < 0 ? "any" : algo_name(r->algo), r->proto < 0 ? "any" : proto_name(r->proto));
    if (r->channels > 0)
        printf("/%dch", r->channels);
    printf("  %s", verify_verdict_name(v->verdict));
    if (v->gain.n)
        printf(", gain %.2fx [%.2f, %.2f]", v->gain.median, v->gain.low, v->gain.high);
    putchar('\n');
}

static void print_points(const struct bench_points *points)
{
    struct arena *a = arena_new();
    puts("#  collective    groups          size     default (us)     profile (us)    gain   interval");
    for (int i = 0; i < points->count; i++) {
        const struct bench_point *p = &points->items[i];
        const struct bench_candidate *from = verify_candidate(p, BENCH_DEFAULT),
                                     *to = verify_candidate(p, VERIFY_PROFILE);
        if (!from || !to)
            continue;
        const struct bench_shape groups = {p->nodes, p->ranks, p->others};
        printf("%13s  %8s  %12llu  %15.2f  %15.2f  %5.2fx   [%.2f, %.2f]\n", coll_name(p->coll),
               bench_shape_text(&groups, a), (unsigned long long)p->bytes, from->time_us.median, to->time_us.median,
               to->gain.median, to->gain.low, to->gain.high);
    }
    arena_free(a);
}

/* Under whose plugins the default was measured, then and now; NULL: not known. */
static const char *active_now(const struct bench_points *points)
{
    for (int i = 0; i < points->count; i++)
        if (points->items[i].active)
            return points->items[i].active;
    return NULL;
}

static const char *or_own(const char *active)
{
    return *active ? active : "NCCL's own tuner and network";
}

static void print_active(const struct env_profile *p, const struct bench_points *points)
{
    const struct env_shape *s = env_shape_with(p->decisions, BENCH_ON_GPUS);
    const char *then = s ? s->active : NULL, *now = active_now(points);
    if (now && then && strcmp(now, then) != 0)
        printf("The profile's default was measured over %s, now over %s: gains are over another default.\n\n",
               or_own(then), or_own(now));
    else if (now)
        printf("The default is over %s, as jobs run here without nccltune.\n\n", or_own(now));
}

static void print_verdicts(const struct env_profile *p, const struct bench_points *points, const struct verify *v)
{
    print_active(p, points);
    print_points(points);
    puts(v->nrules ? "\nRows of tuner.csv, each against the same environment without the table:"
                   : "\ntuner.csv has no rule.");
    for (int i = 0; i < v->nrules; i++)
        print_rule(&v->rules[i]);
}

static int print_json(const struct bench_points *points, const struct verify *v, const struct findings *noise,
                      const struct findings *sanity, struct err *e)
{
    cJSON *doc = bench_points_json(points), *rules = cJSON_AddArrayToObject(doc, "rules");
    cJSON_AddItemToObject(doc, "noise", findings_json(noise->list, noise->n));
    cJSON_AddItemToObject(doc, "sanity", findings_json(sanity->list, sanity->n));
    for (int i = 0; i < v->nrules; i++) {
        cJSON *rule = cJSON_CreateObject();
        cJSON_AddItemToArray(rules, rule);
        cJSON_AddNumberToObject(rule, "line", (double)v->rules[i].rule->line);
        json_add_str(rule, "verdict", verify_verdict_name(v->rules[i].verdict));
        if (!v->rules[i].gain.n)
            continue;
        cJSON_AddNumberToObject(rule, "gain", v->rules[i].gain.median);
        cJSON_AddNumberToObject(rule, "gain_low", v->rules[i].gain.low);
        cJSON_AddNumberToObject(rule, "gain_high", v->rules[i].gain.high);
    }
    int rc = json_save(doc, NULL, e);
    cJSON_Delete(doc);
    return rc;
}

/* ---- the command ---- */

/* From measurements to verdicts. */
static int conclude(const struct request *w, const struct env_profile *p, const struct topology *t,
                    const struct bench_results *r, struct log *log, struct err *e)
{
    struct bench_points *points = bench_points_of(r, r->arena);
    struct findings sanity = {.arena = r->arena};
    sanity_check(points, t, &sanity);
    struct verify *v = verify_rules(p, points, w->bench.margin, e);
    int rc = v ? 0 : ERR_FAILED;
    if (!rc && w->json)
        rc = print_json(points, v, &r->noise, &sanity, e);
    else if (!rc)
        print_verdicts(p, points, v);
    if (!rc && !w->json) {
        noise_print(&r->noise, stdout);
        sanity_print(&sanity, stdout);
    }
    if (!rc && !w->json && w->bench.workload)
        rc = env_step_cover_job(p, w->bench.workload, stdout, e);
    if (!rc && w->out && !(rc = verify_write(p, v, w->out, e)))
        log_info(log, "%s: the profile with %d of %d rules", w->out, v->nrules - v->failing, v->nrules);
    if (!rc && v->failing)
        rc = ERR_FAILED;
    verify_free(v);
    return rc;
}

/* A bit for each collective that the profile was made for; AllReduce when it was made for none. */
static unsigned collectives_of(const struct env_profile *p)
{
    unsigned set = 0;
    for (int i = 0; i < p->decisions->nshapes; i++)
        for (int c = 0;
             c < p->decisions->shapes[i].ncolls && bench_evidence_of(p->decisions->shapes[i].engine) == BENCH_ON_GPUS;
             c++)
            set |= 1u << p->decisions->shapes[i].colls[c].coll;
    return set ? set : 1u << COLL_ALLREDUCE;
}

/* The shapes that the profile was made for, as far as they fit. */
static void take_shapes(struct request *w, const struct env_profile *p)
{
    struct bench_shape_list *shapes = &w->bench.shapes;
    for (int i = 0; i < p->decisions->nshapes && shapes->count < BENCH_SHAPES; i++) {
        const struct env_shape *s = &p->decisions->shapes[i];
        if (bench_evidence_of(s->engine) == BENCH_ON_GPUS)
            shapes->items[shapes->count++] = (struct bench_shape){s->nodes, s->ranks, s->others};
    }
    shapes->if_fitting = 1;
}

static int measure(struct request *w, const struct env_profile *p, const struct topology *t, struct err *e)
{
    struct log log = cli_log(COMMAND, w->quiet);
    struct bench_knobs *jobs = arena_alloc(p->arena, 2 * sizeof *jobs);
    struct bench_summary summary;
    struct progress progress;
    struct bench_results *measured = NULL;
    const char *plugin = locate_plugin(p->arena, e);
    if (!plugin)
        return ERR_LACKS;
    int njobs = verify_jobs(p, plugin, p->arena, jobs, e);
    if (njobs < 0)
        return ERR_FAILED;
    w->bench.setup.jobs = jobs;
    w->bench.setup.njobs = njobs;
    if (!w->bench.collectives)
        w->bench.collectives = collectives_of(p);
    if (!w->bench.shapes.count && !w->bench.shapes.usual)
        take_shapes(w, p);
    progress_start(&progress, w->quiet ? NULL : stderr);
    log.progress = &progress;
    int rc = bench_run(&w->bench, t, &log, &progress, cli_catch_interrupt(), &summary, &measured, e);
    progress_finish(&progress, NULL);
    if (!rc)
        rc = summary.interrupted ? CLI_INTERRUPTED : conclude(w, p, t, measured, &log, e);
    bench_results_free(measured);
    return rc || !summary.troubled ? rc : ERR_FAILED;
}

static int run(struct request *w, struct err *e)
{
    char scratch[] = "/tmp/nccltune-verify-XXXXXX";
    int fd = -1;
    struct env_profile *p = env_profile_open(w->profile, e);
    struct topology *t = p ? topo_load(arena_printf(p->arena, "%s/topology.json", p->dir), e) : NULL;
    if (t && !w->bench.results) {
        fd = mkstemp(scratch);
        if (fd < 0)
            err_errno(e, "%s cannot be made", scratch);
        w->bench.results = arena_strdup(p->arena, scratch);
    }
    int rc = t && !*e->text ? measure(w, p, t, e) : e->code;
    if (fd >= 0) {
        close(fd);
        unlink(scratch);
    }
    topo_free(t);
    env_profile_free(p);
    return rc;
}

int verify_main(int argc, char **argv)
{
    struct request w = {0};
    struct err e = {0};
    struct arena *a = arena_new();
    int rc = parse(argc, argv, &w, a);
    if (rc < 0) /* copies that a launcher has put on every rank meet beside what is written, or in the profile */
        rc = cli_found_begin(&w.found, &w.bench.setup, w.out ? w.out : w.profile, COMMAND, cli_catch_interrupt(), a);
    if (rc < 0) {
        rc = run(&w, &e);
        if (rc && *e.text)
            cli_fail(COMMAND, &e);
        cli_found_end(&w.found, &w.bench.setup, rc);
    }
    arena_free(a);
    return rc;
}
