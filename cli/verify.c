/* nccltune verify: measure default against profile once more, as jobs would run them. */
#include <stdio.h>
#include <string.h>

#include "advise/whatif/step.h"
#include "advise/whatif/whatif.h"
#include "bench/engines/engines.h"
#include "bench/noise/noise.h"
#include "cli/cli.h"
#include "cli/measure.h"
#include "cli/nodes.h"
#include "core/coll.h"
#include "core/json.h"
#include "core/progress.h"
#include "core/units.h"
#include "envgen/doctor/doctor.h"
#include "envgen/verify/verify.h"
#include "probe/source/probe.h"

#define COMMAND "nccltune verify"

static const struct cli_page page = {
    COMMAND,
    "nccltune verify PROFILE [OPTION]...\n"
    "Measure baseline and profile in turns, with the environment, plugin and rules of a job, and judge every rule.\n"
    "A rule is confirmed if its gain is proven again, refuted if it is proven to be gone, and undecided in between.\n",
    "Engine, collectives, sizes and groups of ranks are the profile's own, as far as they fit.\n"
    "\n"
    "Examples\n"
    "  nccltune verify profile\n"
    "  nccltune verify profile --hosts n1,n2 --budget 5m\n"
    "\n"
    "Exit status: 0 no rule is refuted, undecided ones are no failure; 1 a rule is refuted, or something failed;\n"
    "2 wrong usage; 3 something is missing, such as a GPU; 130 interrupted.\n",
    1};

struct request {
    struct bench_options bench;
    const char *profile;
    int json, quiet;
    struct agents agents;
};

/* ---- options ---- */

static const struct option_spec answer_options[] = {
    {0, "journal", "FILE", "keep the measurements (see nccltune-results.jsonl(5))", option_text,
     offsetof(struct request, bench.results)},
    {'j', "json", NULL, "print the verdicts as JSON", option_flag, offsetof(struct request, json)},
    {'q', "quiet", NULL, "no progress, only warnings", option_flag, offsetof(struct request, quiet)},
    {0},
};

static int check_request(const struct request *w, struct err *e)
{
    if (w->bench.engine && !bench_engine_find(w->bench.engine)->measures)
        return err_set(e, ERR_USAGE, "--engine: expected nccl or mpi, which jobs use");
    if (!w->profile)
        return err_set(e, ERR_USAGE, "PROFILE is missing");
    return cli_measure_check(&w->bench, e);
}

/* -1 to go on, or the exit code. */
static int parse_request(int argc, char **argv, struct request *w, struct arena *a)
{
    struct err e = {0};
    const struct option_group own[] = {{"The answer", answer_options, w}, {0}};
    int first;
    bench_options_default(&w->bench);
    w->bench.engine = NULL;
    w->bench.collectives = 0;
    w->bench.margin = 0;
    w->bench.budget_s = 0;
    int rc = cli_parse(&page, cli_measure_groups(own, &w->bench, 0, a), argc, argv, a, &first);
    w->profile = rc < 0 ? argv[first] : NULL;
    cli_measure_budget(&w->bench);
    if (rc < 0 && check_request(w, &e))
        rc = cli_fail(COMMAND, &e);
    return rc;
}

/* ---- output ---- */

static void print_rule(const struct verify_rule *v, struct arena *a)
{
    printf("  %s%s  %s\n", v->line ? arena_printf(a, "line %-4ld ", v->line) : "",
           v->coll ? arena_printf(a, "%-56s", v->what) : v->what, verify_verdict_text(v, a));
}

static void print_points(const struct bench_points *points, const struct verify *v)
{
    puts("#  collective    groups          size     default (us)     profile (us)   gain");
    for (int i = 0; i < points->count; i++) {
        const struct bench_point *p = &points->items[i];
        const struct bench_candidate *from = verify_candidate(p, BENCH_DEFAULT),
                                     *to = verify_candidate(p, VERIFY_PROFILE);
        if (!to)
            to = verify_candidate(p, VERIFY_ENVIRONMENT);
        if (!from || !to)
            continue;
        const struct bench_shape groups = {p->nodes, p->ranks, p->others};
        char before[UNIT_TEXT], after[UNIT_TEXT];
        printf("%13s  %8s  %12llu  %15s  %15s   %s\n", coll_name(p->coll), bench_shape_text(&groups, v->arena),
               (unsigned long long)p->bytes, unit_three_digits(before, from->time_us.median),
               unit_three_digits(after, to->time_us.median),
               v->environment.what || verify_rule_at(v, p) ? bench_gain_text(v->arena, to->gain) : "not changed");
    }
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
        printf("The profile's baseline was measured over %s, now over %s: its gains are over another baseline.\n\n",
               or_own(then), or_own(now));
    else if (now)
        printf("The baseline is over %s, as jobs run here without nccltune.\n\n", or_own(now));
}

/* Gains may be gone where the machine is not what it was. On a login node this tells nothing. */
static void print_changes(const struct topology *t, const struct topology *here, struct arena *a)
{
    const char *changes = here ? doctor_changes(t, here, a) : NULL;
    if (changes)
        printf("Since the profile was measured: %s.\n\n", changes);
}

static void print_verdicts(const struct env_profile *p, const struct bench_points *points, const struct verify *v)
{
    if (v->text)
        print_active(p, points);
    print_points(points, v);
    if (v->environment.what) {
        puts("\nThe profile's environment, against the baseline:");
        print_rule(&v->environment, p->arena);
    }
    const char *file = v->text ? "tuner.csv" : "openmpi.rules";
    printf(v->nrules ? "\nRules of %s, each against the same environment without them:\n" : "\n%s has no rule.\n",
           file);
    int confirmed = 0, refuted = 0;
    for (int i = 0; i < v->nrules; i++) {
        print_rule(&v->rules[i], p->arena);
        confirmed += v->rules[i].verdict == VERIFY_CONFIRMED;
        refuted += v->rules[i].verdict == VERIFY_REFUTED;
    }
    const int open = v->nrules - confirmed - refuted;
    if (v->nrules)
        printf("\nOf %d rule%s, %d confirmed, %d refuted, %d undecided%s.\n", v->nrules, v->nrules == 1 ? "" : "s",
               confirmed, refuted, open,
               refuted ? ": tune again"
               : open  ? ": measure again on a quieter machine, or with a larger --budget"
                       : "");
}

static void put_rule(cJSON *rule, const void *verdict)
{
    const struct verify_rule *v = verdict;
    if (v->line)
        cJSON_AddNumberToObject(rule, "line", (double)v->line);
    if (v->coll) {
        json_add_str(rule, "collective", v->coll);
        if (v->ranks)
            cJSON_AddNumberToObject(rule, "ranks", v->ranks);
        cJSON_AddNumberToObject(rule, "min_bytes", (double)v->min_bytes);
        cJSON_AddNumberToObject(rule, "max_bytes", v->max_bytes == UINT64_MAX ? -1 : (double)v->max_bytes);
        json_add_str(rule, "call", v->call);
    } else
        json_add_str(rule, "what", v->what);
    json_add_str(rule, "verdict", verify_verdict_name(v->verdict));
    if (v->gain.n) {
        cJSON_AddNumberToObject(rule, "gain", v->gain.median);
        cJSON_AddNumberToObject(rule, "gain_low", v->gain.low);
        cJSON_AddNumberToObject(rule, "gain_high", v->gain.high);
    }
    if (v->promised.n)
        cJSON_AddNumberToObject(rule, "promised", v->promised.median);
}

static int print_json(const struct bench_points *points, const struct verify *v, const struct findings *noise,
                      const struct findings *sanity, struct err *e)
{
    cJSON *doc = bench_points_json(points);
    json_add_each(doc, "rules", v->rules, v->nrules, sizeof *v->rules, put_rule);
    findings_add_json(doc, "noise", noise->list, noise->n);
    findings_add_json(doc, "sanity", sanity->list, sanity->n);
    if (v->environment.what)
        put_rule(cJSON_AddObjectToObject(doc, "environment"), &v->environment);
    return json_save(doc, NULL, e);
}

/* ---- the command ---- */

/* From measurements to verdicts. */
static int judge_rules(const struct request *w, struct env_profile *p, const struct topology *t,
                       const struct topology *here, const struct bench_results *r, struct err *e)
{
    struct bench_points *points = bench_points_of(r, r->arena);
    struct findings sanity = {.arena = r->arena};
    sanity_check(points, t, &sanity);
    struct verify *v = verify_rules(p, bench_evidence_of(w->bench.engine), points, w->bench.margin, e);
    int rc = v ? 0 : ERR_FAILED;
    if (!rc && w->json)
        rc = print_json(points, v, &r->noise, &sanity, e);
    else if (!rc) {
        print_changes(t, here, r->arena);
        print_verdicts(p, points, v);
    }
    if (!rc && !w->json) {
        noise_print(&r->noise, stdout);
        sanity_print(&sanity, stdout);
    }
    if (!rc && !w->json && w->bench.workload)
        rc = env_step_cover_job(p, w->bench.workload, stdout, e);
    if (!rc && v->failing)
        rc = ERR_FAILED;
    verify_free(v);
    return rc;
}

static int measure_profile(struct request *w, struct env_profile *p, const struct topology *t,
                           const struct topology *here, struct err *e)
{
    struct log log = cli_log(COMMAND, w->quiet);
    struct bench_summary summary = {0};
    struct progress progress;
    struct bench_results *measured = NULL;
    struct verify_request q = {
        .profile = p, .bench = &w->bench, .topology = t, .log = &log, .stop = cli_catch_interrupt()};
    progress_start(&progress, w->quiet ? NULL : stderr);
    log.progress = &progress;
    int rc = verify_measure(&q, &summary, &measured, e);
    progress_clear(&progress);
    if (!rc && !measured) {
        log_info(&log, "%s changes nothing: there is nothing to verify", p->dir);
        const struct findings none = {0};
        rc = w->json ? print_json(&(struct bench_points){0}, &(struct verify){0}, &none, &none, e) : 0;
    } else if (!rc)
        rc = summary.interrupted ? CLI_INTERRUPTED : judge_rules(w, p, t, here, measured, e);
    bench_results_free(measured);
    return rc || !summary.troubled ? rc : ERR_FAILED;
}

/* A node of the profile, or one of a class of it: a machine without GPUs and ports is like any other one. */
static int is_node_of(const struct topology *t, const struct topology *here)
{
    char mine[SHA256_HEX], theirs[SHA256_HEX];
    int is = topo_find_host(t, here->hosts[0].name) >= 0;
    topo_class_hash(here->classes, mine);
    for (int i = 0; i < t->nclasses && !is; i++) {
        const struct topo_class *c = &t->classes[i];
        topo_class_hash(c, theirs);
        is = !strcmp(mine, theirs) || (c->ngpus + c->nports > 0 && install_compatible(here->classes, c));
    }
    return is;
}

/* Unless nodes are named, this machine is measured: it must be one that the profile is for. */
static int check_here(const struct request *w, struct env_profile *p, const struct topology *t,
                      const struct topology *here, struct err *e)
{
    struct cli_nodes nodes = {0};
    int n;
    if (!here || w->bench.setup.lent)
        return 0;
    int rc = cli_nodes_measured(&w->bench.setup, p->arena, &nodes, e);
    if (rc || !nodes.here || nodes.names || is_node_of(t, here))
        return rc;
    return err_set(e, ERR_LACKS, "%s was made on %s; this is %s: run it there, or name nodes with --hosts", p->dir,
                   topo_hosts(t, -1, -1, p->arena, &n), here->hosts[0].name);
}

/* This machine, as one of one class; NULL: it cannot be looked at. */
static struct topology *look_here(void)
{
    struct err none = {0};
    struct topology *here = probe_machine(NULL, &none);
    if (here && here->nclasses == 1 && here->nhosts == 1)
        return here;
    topo_free(here);
    return NULL;
}

static int verify_profile(struct request *w, struct err *e)
{
    struct env_profile *p = env_profile_open(w->profile, e);
    if (!p)
        return e->code;
    if (!w->bench.engine)
        w->bench.engine = verify_engine(p)->name;
    struct topology *t = topo_load(arena_printf(p->arena, "%s/topology.json", p->dir), e);
    struct topology *here = t ? look_here() : NULL;
    int rc = t ? check_here(w, p, t, here, e) : e->code;
    if (!rc)
        rc = measure_profile(w, p, t, here, e);
    topo_free(here);
    topo_free(t);
    env_profile_free(p);
    return rc;
}

int verify_main(int argc, char **argv)
{
    struct request w = {0};
    struct err e = {0};
    struct arena *a = arena_new();
    int rc = parse_request(argc, argv, &w, a);
    if (rc < 0) { /* copies that a launcher has put on every rank meet in the profile */
        cli_measure_leave_out(COMMAND, w.quiet, a);
        rc = cli_nodes_meet(&w.agents, &w.bench.setup, w.profile, COMMAND, cli_catch_interrupt(), a);
    }
    if (rc < 0) {
        rc = verify_profile(&w, &e);
        if (rc && *e.text)
            cli_fail(COMMAND, &e);
        agents_end(&w.agents, &w.bench.setup, rc);
    }
    arena_free(a);
    return rc;
}
