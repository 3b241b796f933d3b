/* nccltune tune: the whole pipeline, from a machine to a profile: probe, bench, generate, and what came of it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/engines/engines.h"
#include "bench/fabric/fabric.h"
#include "cli/cli.h"
#include "cli/measure.h"
#include "cli/tune.h"
#include "core/file.h"
#include "core/trust.h"
#include "core/units.h"
#include "core/vars/text.h"
#include "envgen/install/install.h"
#include "probe/findings/findings.h"

static const struct cli_page page = {
    TUNE_COMMAND,
    "nccltune tune [OPTION]... -o PROFILE\n"
    "Probe and measure nodes, and write what is proven to be worth setting on all of them into the directory PROFILE.\n"
    "The nodes are those of --hosts, of an allocation, of --topology FILE, or this machine.\n"
    "With --machine or --from, or --topology and --nodes, predict instead, for a machine that is only described.\n",
    "Examples\n"
    "  nccltune tune -o profile\n"
    "  nccltune tune --hosts 'node[1-4]' --plan -o /shared/profile       what would be measured, for how long\n"
    "  nccltune tune --hosts 'node[1-4]' --budget 10m -o /shared/profile\n"
    "  salloc -N4 nccltune tune --serve partition=gpu -o /shared/profile    measure four, serve all\n"
    "  nccltune tune --resume -o profile                          after ^C, with the other options as before\n"
    "  nccltune tune --machine azure-ndv5 --nodes 32 -o profile   on a laptop: all predicted\n"
    "\n"
    "Predictions have 90 % intervals and are written as comments; --predicted sets those of proven kinds.\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage, 3 nothing could be measured (no mpirun) and the profile holds\n"
    "what the topology alone justifies, 130 interrupted.\n",
    0};

#define AT(member) offsetof(struct tune, member)
static const struct option_spec profile_options[] = {
    {'o', "output", "PROFILE", "the directory to write", option_text, AT(generate.out)},
    {0, "nccl", "RANGE", "write for these NCCL releases (2.28.9, 2.28, 2.19-2.28); predict for the last",
     cli_take_releases, AT(releases)},
    {'r', "resume", NULL, "go on with a profile that was interrupted", option_flag, AT(resume)},
    {'f', "force", NULL, "start again and replace PROFILE", option_flag, AT(generate.force)},
    {0, "serve", "LIST",
     "serve these nodes too, without measuring: each probes itself and joins the class that it equals; partition=NAME: "
     "all nodes of a Slurm partition",
     option_text, AT(serve)},
    {0, "predicted", NULL,
     "also set predictions, of kinds that held-out measurements have proven; by default they are comments", option_flag,
     AT(generate.predicted)},
    {0, "plan", NULL, "show what would be measured, on which nodes, for how long, and end", option_flag, AT(plan)},
    {'j', "json", NULL, "print the result, or the plan, as JSON", option_flag, AT(json)},
    {'v', "verbose", NULL, "also print how the measurement proceeds, every point and every decision", option_flag,
     AT(verbose)},
    {'q', "quiet", NULL, "print warnings and the result only", option_flag, AT(quiet)},
    {0},
};

/* ---- the stages -------------------------------------------------------------------------------------------------- */

static int exists(const char *path)
{
    return !access(path, F_OK);
}

/* A fresh start, or the rest of an interrupted one: whether it may be is known before anything is looked at. */
static int check_directory(const struct tune *t, const char *out, struct err *e)
{
    if (t->generate.force)
        return 0;
    if (env_profile_complete(out))
        return err_set(e, ERR_FAILED, "%s: complete profile, which never changes (--force starts again)", out);
    if (!t->resume && exists(arena_printf(t->arena, "%s/results.jsonl", out)))
        return err_set(e, ERR_FAILED, "%s: found an incomplete run; use --resume or --force", out);
    return 0;
}

/* As late as possible: whatever fails before leaves the old profile as it was. */
static int clear_old(struct tune *t, const struct tune_part *p, struct err *e)
{
    const char *const stale[] = {arena_printf(t->arena, "%s/" ENV_MANIFEST, p->generate.out), p->bench.results,
                                 p->file};
    for (size_t i = 0; i < sizeof stale / sizeof *stale; i++)
        if (trust_unlink(stale[i], e))
            return e->code;
    return 0;
}

/* What is described must be what an interrupted run was begun on; nodes have been compared one by one. */
static int check_described(const struct tune_part *p, struct err *e)
{
    char now[SHA256_HEX], then[SHA256_HEX];
    struct topology *begun = topo_load(p->file, e);
    if (!begun)
        return e->code;
    topo_hash(p->topology, now);
    topo_hash(begun, then);
    topo_free(begun);
    return strcmp(now, then)
               ? err_set(e, ERR_FAILED, "%s: the incomplete run is of another topology (--force starts again)",
                         p->generate.out)
               : 0;
}

/* The topology into the profile. */
static int begin(struct tune *t, struct tune_part *p, struct err *e)
{
    int begun = t->resume && exists(p->file), rc = file_mkdirs(p->generate.out, e);
    if (!rc && begun && tune_predicts(t))
        rc = check_described(p, e);
    if (!rc && !t->resume)
        rc = clear_old(t, p, e);
    p->bench.resume = t->resume;
    return rc ? rc : topo_save(p->topology, p->file, e);
}

/* How to go on, and for how long. */
static const char *way_on(const struct tune *t, const char *out)
{
    char text[UNIT_TEXT];
    double left_s = bench_journal_left_s(arena_printf(t->arena, "%s/results.jsonl", out));
    return arena_printf(t->arena, "`%s` goes on%s%s%s", t->way_on, left_s > 0 ? "; " : "",
                        left_s > 0 ? unit_seconds(text, left_s) : "", left_s > 0 ? " are left of its budget" : "");
}

static int interrupted(const struct tune *t)
{
    fprintf(stderr, TUNE_COMMAND ": interrupted; %s\n", way_on(t, t->generate.out));
    return CLI_INTERRUPTED;
}

/* The journal is begun before the nodes are surveyed: should that be interrupted, it still knows the budget. */
static int keep_budget(struct tune *t, struct tune_part *p, struct err *e)
{
    struct bench_journal j;
    char hash[SHA256_HEX], budget[UNIT_TEXT];
    int begun = t->resume && exists(p->bench.results);
    topo_hash(p->topology, hash);
    int rc = bench_journal_open(&j, p->bench.results, begun ? NULL : hash, p->bench.budget_open ? 0 : p->bench.budget_s,
                                t->resume, &t->log, e);
    if (rc)
        return rc;
    p->is_begun = !j.results->count;
    if (p->is_begun && p->bench.budget_open && j.results->budget_s > 0) {
        p->bench.budget_open = 0;
        p->bench.budget_s = j.results->budget_s;
        log_info(&t->log, "this run was begun with a budget of %s", unit_seconds(budget, j.results->budget_s));
    }
    p->bench.resume = 1;
    bench_journal_close(&j);
    return 0;
}

/* The journal anew: for other nodes than it was begun for. */
static void forget_journal(struct tune_part *p)
{
    struct err e;
    p->bench.resume = p->is_begun = 0;
    trust_unlink(p->bench.results, &e);
}

/* Of the budget, at most: this ends when it is done, while collectives fill what they are given. */
#define SURVEY_PART 0.5

/* What there is to find out about the nodes before collectives are measured there. */
static int survey(struct tune *t, struct tune_part *p, struct err *e)
{
    struct bench_setup setup = p->bench.setup;
    int rc = p->because ? keep_budget(t, p, e) : 0;
    const double least_s = p->bench.budget_s * SURVEY_PART;
    setup.topology = p->topology;
    setup.log = &t->detail;
    for (const struct bench_engine *const *engine = bench_engines; *engine && !rc; engine++) {
        int made = 0;
        const struct bench_document_ops *documents = (*engine)->documents;
        if (!documents || !documents->survey || !p->because)
            continue;
        struct bench_document d = {.setup = &setup,
                                   .path = arena_printf(t->arena, "%s/%s", p->generate.out, documents->survey_file),
                                   .budget_s = least_s,
                                   .resume = t->resume,
                                   .stop = t->stop};
        double began_s = progress_now_s();
        rc = documents->survey(&d, &made, e);
        if (*t->stop)
            return interrupted(t);
        if (made)
            p->generate.fabric = d.path;
        p->bench.budget_s -= progress_now_s() - began_s;
    }
    if (p->bench.budget_s < least_s)
        p->bench.budget_s = least_s;
    return rc;
}

/* A node that the fabric speaks against is neither measured nor served. */
static int drop_bad_nodes(struct tune *t, struct tune_part *p, struct err *e)
{
    struct verbs_fabric *f = p->generate.fabric ? verbs_fabric_load(p->generate.fabric, e) : NULL;
    int before = p->topology->nhosts;
    if (!f)
        return p->generate.fabric ? e->code : 0;
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    for (int n = 0; n < f->nodes; n++)
        if (d.nodes_out[n] && tune_drop(t, p, f->names[n], d.nodes_out[n]))
            log_warn(&t->log, "%s is left out: %s", f->names[n], d.nodes_out[n]);
    verbs_fabric_free(f);
    findings_attach(p->topology);
    if (p->is_begun && p->topology->nhosts < before)
        forget_journal(p);
    return p->topology->nhosts < before ? topo_save(p->topology, p->file, e) : 0;
}

/* Leave out the nodes that were lost for good while the part was measured, if the others have at least half of the time
 * to themselves. Return how many. */
static int drop_lost_nodes(struct tune *t, struct tune_part *p, double took_s)
{
    int dropped = 0;
    if (p->bench.setup.lent && !bench_engine_has_ranks(bench_engine_find(p->bench.engine)) &&
        2 * took_s < p->bench.budget_s)
        dropped = cli_nodes_drop_lost(&t->agents, &t->bench.setup, p->topology, &t->log, t->arena);
    if (dropped)
        tune_name_hosts(t, p);
    return dropped;
}

/* Measures into the profile's journal; without the nodes that are lost on the way, from the start. */
static int measure_nodes(struct tune *t, struct tune_part *p, struct bench_summary *summary,
                         struct bench_results **measured, struct err *e)
{
    for (;;) {
        double began_s = progress_now_s();
        progress_start(&t->progress, t->quiet ? NULL : stderr);
        int rc = bench_run(&p->bench, p->topology, &t->detail, t->stop, summary, measured, e);
        progress_clear(&t->progress);
        double took_s = progress_now_s() - began_s;
        if (rc != ERR_FAILED || *t->stop || !drop_lost_nodes(t, p, took_s))
            return rc;
        bench_results_free(*measured);
        *measured = NULL;
        *e = (struct err){0};
        *summary = (struct bench_summary){0};
        p->bench.budget_s -= took_s;
        forget_journal(p);
        findings_attach(p->topology);
        rc = topo_save(p->topology, p->file, e);
        if (rc)
            return rc;
    }
}

/* That this machine has no launcher is no error: the topology still says things. */
static int measure(struct tune *t, struct tune_part *p, struct bench_results **measured, struct err *e)
{
    struct bench_summary summary = {0};
    /* Copies of us that were agents so far are ranks of MPI from now on, if MPI is what is measured. */
    int rc = bench_engine_has_ranks(bench_engine_find(p->bench.engine))
                 ? agents_become_ranks(&t->agents, &p->bench.setup, e)
                 : 0;
    if (!rc)
        rc = measure_nodes(t, p, &summary, measured, e);
    t->noise = !rc && *measured ? (*measured)->noise : (struct findings){0};
    if (rc == ERR_LACKS) {
        log_warn(&t->log, "%s", e->text);
        log_warn(&t->log, "nothing can be measured here: the profile holds what the topology alone justifies");
        t->lacks = 1;
        if (p->is_begun)
            forget_journal(p);
        return 0;
    }
    if (rc)
        return rc;
    if (summary.interrupted)
        return interrupted(t);
    if (summary.troubled)
        log_warn(&t->log, "%d candidate%s failed and %s left out", summary.troubled, summary.troubled == 1 ? "" : "s",
                 summary.troubled == 1 ? "is" : "are");
    if (summary.left_out)
        log_info(&t->log, "points left out for lack of time: %d; --budget gives more", summary.left_out);
    return 0;
}

/* What the check has refuted joins the measurements; the profile is to be made again of them. */
static int write_lost(struct tune *t, struct err *e)
{
    struct bench_journal j;
    int rc = bench_journal_open(&j, t->checked->bench.results, NULL, 0, 1, &t->log, e);
    if (rc)
        return rc;
    rc = bench_journal_append(&j, t->delivered.lines, t->delivered.nlines, e);
    bench_journal_close(&j);
    t->refuted = !rc;
    return rc ? rc : err_set(e, ERR_FAILED, "the profile must be made again");
}

/* The last act: the finished profile as jobs get it, against the baseline. */
static int check_delivery(void *user, struct env_profile *profile, struct err *e)
{
    struct tune *t = user;
    struct bench_options how = t->checked->bench;
    struct err why = {0};
    char text[UNIT_TEXT];
    if (!tune_report_changes(profile->decisions))
        return 0;
    how.budget_s = verify_check_s(how.budget_s);
    how.budget_open = how.resume = 0;
    how.results = NULL;
    struct log quiet = cli_log(TUNE_COMMAND, 1);
    quiet.progress = &t->progress;
    struct verify_request q = {.profile = profile,
                               .bench = &how,
                               .topology = t->checked->topology,
                               .whole = 1,
                               .log = &quiet,
                               .stop = t->stop};
    log_info(&t->log, "delivery check: the finished profile against the baseline, %s at most",
             unit_seconds(text, how.budget_s));
    progress_start(&t->progress, t->quiet ? NULL : stderr);
    int rc = verify_deliver(&q, t->arena, &t->delivered, &why);
    progress_clear(&t->progress);
    if (t->delivered.interrupted || *t->stop)
        return interrupted(t);
    if (rc)
        return err_set(e, ERR_FAILED, "the finished profile cannot be measured: %s", why.text);
    if (!t->delivered.gain.n && !t->delivered.nlost && t->delivered.verdict != VERIFY_REFUTED)
        log_warn(&t->log, "delivery check: undecided, no time for a pair of starts");
    if (t->delivered.verdict != VERIFY_REFUTED)
        return t->delivered.nlines ? write_lost(t, e) : 0;
    return err_set(e, ERR_FAILED, "the finished profile is not faster in jobs and stays incomplete: %s%s%s",
                   t->delivered.gain.n ? bench_gain_text(t->arena, t->delivered.gain) : "it fails",
                   t->delivered.refuted ? "; " : "", t->delivered.refuted ? t->delivered.refuted : "");
}

/* Whether the part was measured, and can be again. */
static int can_check(const struct tune *t, const struct tune_part *p)
{
    return p->because && !t->lacks && exists(p->bench.results) &&
           !(t->agents.copies && bench_engine_has_ranks(bench_engine_find(p->bench.engine)));
}

static int generate(struct tune *t, struct tune_part *p, struct bench_results **measured, struct err *e)
{
    struct env_generated made = {0};
    t->checked = p;
    t->delivered = (struct verify_delivery){0};
    t->refuted = 0;
    p->generate.check = can_check(t, p) ? check_delivery : NULL;
    p->generate.user = t;
    p->generate.topology = p->file;
    p->generate.workload = p->bench.workload;
    p->generate.results = &p->bench.results;
    p->generate.nresults = exists(p->bench.results);
    p->generate.measured = measured;
    int rc = env_generate(&p->generate, &made, &t->log, e);
    if (t->refuted) { /* without the rules that the check has refuted */
        *e = (struct err){0};
        p->generate.check = NULL;
        rc = env_generate(&p->generate, &made, &t->log, e);
        if (!rc)
            t->noise = made.sources[0].results->noise;
    }
    if (!rc)
        rc = tune_report(t, &made.profile, p->generate.nresults ? made.points : NULL, e);
    env_generated_free(&made);
    return rc;
}

/* Of a profile that an earlier run has finished. */
static int report_finished(struct tune *t, struct err *e)
{
    const char *results = arena_printf(t->arena, "%s/results.jsonl", t->generate.out);
    struct env_profile *p = env_profile_open(t->generate.out, e);
    struct bench_results *r = p && exists(results) ? bench_results_load(results, NULL, e) : NULL;
    int rc = e->code;
    if (r)
        t->noise = r->noise;
    if (!rc)
        rc = tune_report(t, p, r ? bench_points_of(r, r->arena) : NULL, e);
    bench_results_free(r);
    env_profile_free(p);
    return rc;
}

/* What was measured before something failed is not lost. */
static int say_how_to_go_on(const struct tune *t, const struct tune_part *p, int rc, struct err *e)
{
    const struct err was = *e;
    return rc != ERR_FAILED || !exists(p->bench.results) || t->delivered.verdict == VERIFY_REFUTED
               ? rc
               : err_set(e, rc, "%.800s; %s", was.text, way_on(t, p->generate.out));
}

/* From the nodes of a part to its profile. */
static int run_part(struct tune *t, struct tune_part *p, struct err *e)
{
    struct bench_results *measured = NULL; /* what the journal holds, between measuring and deciding */
    int rc = begin(t, p, e);
    if (!rc && !p->generate.fabric)
        rc = survey(t, p, e);
    if (!rc)
        rc = drop_bad_nodes(t, p, e);
    if (!rc)
        rc = measure(t, p, &measured, e);
    if (!rc)
        rc = generate(t, p, &measured, e);
    bench_results_free(measured);
    return say_how_to_go_on(t, p, rc, e);
}

/* Profiles of nodes that do not go together are for jobs on these nodes alone. */
static void log_scopes(struct tune *t)
{
    for (int i = 0; i < t->nparts && t->nparts > 1; i++) {
        int n;
        const struct topology *part = t->parts[i].topology;
        const char *measured = topo_hosts(part, -1, 0, t->arena, &n), *served = topo_hosts(part, -1, 1, t->arena, &n);
        log_info(&t->log, "for jobs on %s%s%s: nccltune install-profile %s --jobs-on '%s%s%s'", measured, n ? "," : "",
                 served, env_shell_word(t->arena, t->parts[i].generate.out), measured, n ? "," : "", served);
    }
}

static int tune_profile(struct tune *t, struct err *e)
{
    if (t->resume && !t->plan && env_profile_complete(t->generate.out)) {
        log_info(&t->log, "%s is complete: nothing left to do", t->generate.out);
        return report_finished(t, e);
    }
    int rc = t->plan ? 0 : check_directory(t, t->generate.out, e);
    if (!rc && t->resume && !exists(t->generate.out))
        log_info(&t->log, "%s: there is no run to go on with: one begins",
                 t->generate.out); /* a batch job resumes always */
    if (!rc && t->taken_up)
        log_info(&t->log, "measures what this run was begun with: %s", t->taken_up);
    if (!rc)
        rc = tune_look(t, e);
    if (*t->stop)
        return interrupted(t);
    if (!rc && t->plan) {
        rc = t->json ? tune_plan_json(t, e) : (tune_plan_print(t, stdout), 0);
        for (int i = 0; i < t->nparts && !rc; i++) /* as the run would */
            rc = t->resume && !i && env_profile_complete(t->generate.out)
                     ? 0
                     : check_directory(t, t->parts[i].generate.out, e);
    }
    if (rc || t->plan)
        return rc;
    tune_plan_log(t);
    for (int i = 1; i < t->nparts && !rc; i++)
        rc = check_directory(t, t->parts[i].generate.out, e);
    for (int i = 0; i < t->nparts && !rc; i++)
        rc = run_part(t, &t->parts[i], e);
    if (!rc)
        log_scopes(t);
    return rc || !t->lacks ? rc : ERR_LACKS;
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

static int check_request(const struct tune *t, struct err *e)
{
    const struct cli_wrong wrong[] = {
        {!t->generate.out, "-o PROFILE is missing"},
        {t->resume && t->generate.force, "--resume and --force are mutually exclusive"},
        {t->serve && tune_predicts(t), "--serve needs measured nodes, and a described machine has none"},
        {t->machine.nodes.count && !cli_machine_named(&t->machine) && t->choose,
         "--nodes is for predictions; --hosts names the nodes that are measured"},
        {0},
    };
    if (cli_check(wrong, e))
        return e->code;
    if (bench_engine_find(t->bench.engine)->documents)
        return err_set(e, ERR_USAGE, "--engine %s measures no collectives; tune runs it by itself", t->bench.engine);
    return cli_measure_check(&t->bench, e);
}

/* -1 to go on, or the exit code. */
static int parse(int argc, char **argv, struct tune *t)
{
    struct err e = {0};
    const struct option_group own[] = {{"The profile", profile_options, t},
                                       {"Predict for a machine that is not here", cli_machine_options, &t->machine},
                                       {0}};
    int first;
    cli_measure_begin(&t->bench);
    const char *usual = t->bench.engine;
    t->bench.engine = NULL;
    struct option_group *groups = cli_measure_groups(own, &t->bench, 0, t->arena);
    int rc = cli_parse(&page, groups, argc, argv, t->arena, &first);
    if (rc < 0 && t->resume && t->generate.out)
        t->taken_up =
            cli_measure_take_up(&t->bench, arena_printf(t->arena, "%s/results.jsonl", t->generate.out), t->arena);
    t->generate.margin = t->bench.margin = t->bench.margin < 0 ? ENV_MARGIN : t->bench.margin;
    t->generate.confidence = t->bench.confidence;
    t->choose = !t->bench.engine;
    if (t->choose)
        t->bench.engine = usual;
    if (rc < 0 && check_request(t, &e))
        rc = cli_fail(TUNE_COMMAND, &e);
    else if (rc < 0)
        t->way_on = cli_measure_resume("tune", groups, t->generate.out, t->arena);
    t->generate.nccl_low = t->releases.low;
    t->generate.nccl_high = t->releases.high;
    t->generate.site_conf = INSTALL_NCCL_CONF;
    return rc;
}

/* Where a launcher has started this on every rank: -1 in the one that goes on, or the exit code of the others. */
static int find_others(struct tune *t)
{
    struct err e = {0};
    if (t->plan || tune_predicts(t))
        return -1;
    if (t->choose || !bench_engine_has_ranks(bench_engine_find(t->bench.engine)))
        return cli_nodes_meet(&t->agents, &t->bench.setup, t->generate.out, TUNE_COMMAND, t->stop, t->arena);
    return bench_join(&t->bench, &e) ? cli_fail(TUNE_COMMAND, &e) : -1;
}

int tune_main(int argc, char **argv)
{
    struct tune t = {.arena = arena_new()};
    struct err e = {0};
    int rc = parse(argc, argv, &t);
    t.stop = cli_catch_interrupt();
    if (rc < 0) {
        cli_measure_leave_out(TUNE_COMMAND, t.quiet, t.arena);
        rc = find_others(&t);
    }
    if (rc < 0) {
        t.log = cli_log(TUNE_COMMAND, t.quiet);
        t.log.progress = &t.progress;
        t.detail = t.log;
        t.detail.quiet = t.quiet || !t.verbose;
        rc = tune_profile(&t, &e);
        if (rc && rc != CLI_INTERRUPTED && !(t.lacks && rc == ERR_LACKS))
            cli_fail(TUNE_COMMAND, &e);
        agents_end(&t.agents, &t.bench.setup, rc);
    }
    tune_forget(&t);
    arena_free(t.arena);
    return rc;
}
