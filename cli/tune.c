/* nccltune tune: the whole pipeline, from a machine to a profile: probe, bench, generate, and what came of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/engines/engines.h"
#include "cli/cli.h"
#include "cli/machine.h"
#include "cli/measure.h"
#include "cli/tune_report.h"
#include "cli/writing.h"
#include "core/file.h"
#include "envgen/decide/decide.h"
#include "envgen/profile/profile.h"
#include "probe/findings/findings.h"
#include "probe/source/probe.h"

#define COMMAND "nccltune tune"

static const struct cli_page page = {
    COMMAND,
    "nccltune tune [OPTION]... -o PROFILE\n"
    "Probe this machine, measure its collectives, and write what is worth setting into the directory PROFILE.\n"
    "With --machine, --topology or --from, predict instead, for a machine that is only described.\n",
    "Examples\n"
    "  nccltune tune -o profile\n"
    "  nccltune tune --hosts 'node[1-4]' --budget 10m -o /shared/profile\n"
    "  nccltune tune --resume -o profile                          after ^C\n"
    "  nccltune tune --machine azure-ndv5 --nodes 32 -o profile   on a laptop: all predicted\n"
    "\n"
    "Predictions carry a band that holds nine of ten, and stand in comments unless --predicted is given.\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage, 3 nothing could be measured (no mpirun) and the profile holds\n"
    "what the topology alone justifies, 130 interrupted.\n",
    0};

struct tune {
    struct env_generate generate;
    int resume, json, quiet;
    struct bench_options bench;
    struct cli_machine machine; /* a described one; else this machine */
    struct cli_releases releases;
    struct cli_writing writing;
    struct log log;
    struct progress progress;
    volatile sig_atomic_t *stop;
    struct arena *arena;
    const char *topology, *results; /* files of the profile */
    int choose;                     /* which engine is ours to choose: --engine was not given */
    int lacks;                      /* nothing could be measured */
    struct bench_results *measured; /* what `results` holds, between measuring and deciding; else NULL */
};

static const struct option_spec profile_options[] = {
    {'o', "output", "PROFILE", "the directory to write", option_text, offsetof(struct tune, generate.out)},
    {'m', "margin", "PERCENT", "write a setting only where its gain is this much beyond doubt; 3%", cli_take_margin,
     offsetof(struct tune, generate.margin)},
    {0, "nccl", "RANGE", "write for these releases (2.28.9, 2.28, 2.19-2.28), and predict for the last",
     cli_take_releases_or_library, offsetof(struct tune, releases)},
    {'r', "resume", NULL, "go on with a profile that was interrupted", option_flag, offsetof(struct tune, resume)},
    {'f', "force", NULL, "start again and replace what is in PROFILE", option_flag,
     offsetof(struct tune, generate.force)},
    {'j', "json", NULL, "print the result as JSON", option_flag, offsetof(struct tune, json)},
    {'q', "quiet", NULL, "print warnings and the result only", option_flag, offsetof(struct tune, quiet)},
    {0},
};

/* ---- the stages -----------------------------------------------------------------------------------------------------
 */

static int exists(const char *path)
{
    return !access(path, F_OK);
}

/* A fresh start, or the rest of an interrupted one: whether it may be is known before anything is looked at. */
static int check_directory(const struct tune *t, struct err *e)
{
    if (t->generate.force)
        return 0;
    if (env_profile_complete(t->generate.out))
        return err_set(e, ERR_FAILED,
                       "%s: holds a complete profile, which is not changed any more (--force starts again)",
                       t->generate.out);
    if (!t->resume && exists(t->results))
        return err_set(e, ERR_FAILED, "%s: was begun and not finished (--resume goes on, --force starts again)",
                       t->generate.out);
    return 0;
}

/* As late as possible: whatever fails before leaves the old profile as it was. */
static int clear_old(struct tune *t, struct err *e)
{
    const char *const stale[] = {arena_printf(t->arena, "%s/" ENV_MANIFEST, t->generate.out), t->results, t->topology};
    for (size_t i = 0; i < sizeof stale / sizeof *stale; i++)
        if (unlink(stale[i]) && errno != ENOENT)
            return err_errno(e, "%s: cannot be replaced", stale[i]);
    return 0;
}

/* A plan that is thrown away: wrong options are found while the old profile is still there. What the machine lacks is
 * an error only where it would cost measurements that cannot be had again. */
static int try_plan(const struct tune *t, const struct topology *topology, struct err *e)
{
    struct file_out plan;
    int rc = file_out_begin(&plan, e);
    if (rc)
        return rc;
    rc = bench_print_plan(&t->bench, topology, NULL, plan.stream, e);
    file_out_abandon(&plan);
    return rc == ERR_LACKS && !(t->generate.force && exists(t->results)) ? 0 : rc;
}

/* What the engine is, and what follows from it. */
static int resolve_defaults(struct tune *t, const struct topology *topology, struct err *e)
{
    if (t->choose)
        t->bench.engine = bench_engine_for(topology, cli_machine_named(&t->machine))->name;
    int predicts = bench_evidence_of(t->bench.engine) == BENCH_PREDICTED;
    t->bench.setup.nodes = t->machine.nodes.items;
    t->bench.setup.nnodes = t->machine.nodes.count;
    if (cli_machine_named(&t->machine) && !predicts)
        return err_set(e, ERR_USAGE, "--engine %s measures, which a machine that is only described does not allow",
                       t->bench.engine);
    if (t->machine.nodes.count && !predicts)
        return err_set(e, ERR_USAGE, "--nodes is for predictions; --hosts names the nodes that are measured");
    return cli_measure_resolve_defaults(&t->bench, &t->releases, e);
}

/* The machine, and whether all that was asked for can be done on it; nothing is written yet. */
static int look(struct tune *t, struct topology **out, struct err *e)
{
    if (cli_machine_named(&t->machine)) {
        *out = cli_machine_open(&t->machine, &t->log, e);
    } else {
        log_info(&t->log, "looking at this machine");
        *out = probe_machine(&t->log, e);
    }
    if (*out)
        findings_attach(*out);
    int rc = *out ? resolve_defaults(t, *out, e) : e->code;
    return rc ? rc : try_plan(t, *out, e);
}

/* The topology into the profile, where it must be the one that an interrupted run was begun on. */
static int begin(struct tune *t, const struct topology *topology, struct err *e)
{
    char now[SHA256_HEX], then[SHA256_HEX];
    topo_hash(topology, now);
    if (!t->resume || !exists(t->topology)) {
        int rc = t->resume ? 0 : clear_old(t, e);
        return rc ? rc : topo_save(topology, t->topology, e);
    }
    struct topology *begun = topo_load(t->topology, e);
    if (!begun)
        return e->code;
    topo_hash(begun, then);
    topo_free(begun);
    if (strcmp(now, then) != 0)
        return err_set(e, ERR_FAILED, "%s: was begun on another topology than %s now (--force starts again)",
                       t->generate.out, cli_machine_named(&t->machine) ? "is described" : "this machine has");
    return 0;
}

static int interrupted(const struct tune *t)
{
    fprintf(stderr, COMMAND ": interrupted; 'nccltune tune --resume -o %s' goes on\n", t->generate.out);
    return CLI_INTERRUPTED;
}

/* Of the budget, at most: this ends when it is done, while collectives fill what they are given. */
#define SURVEY_PART 0.5

/* What there is to find out about the nodes before collectives are measured there. */
static int survey(struct tune *t, const struct topology *topology, struct err *e)
{
    struct bench_setup setup = t->bench.setup;
    const double least_s = t->bench.budget_s * SURVEY_PART;
    int rc = 0;
    setup.topology = topology;
    setup.log = &t->log;
    for (const struct bench_engine *const *engine = bench_engines; *engine && !rc; engine++) {
        int made = 0;
        if (!(*engine)->survey || bench_evidence_of(t->bench.engine) == BENCH_PREDICTED)
            continue;
        struct bench_document d = {.setup = &setup,
                                   .path = arena_printf(t->arena, "%s/%s", t->generate.out, (*engine)->survey_file),
                                   .budget_s = least_s,
                                   .resume = t->resume,
                                   .progress = &t->progress,
                                   .stop = t->stop};
        double began_s = progress_now_s();
        rc = (*engine)->survey(&d, &made, e);
        if (*t->stop)
            return interrupted(t);
        if (made)
            t->generate.fabric = d.path;
        t->bench.budget_s -= progress_now_s() - began_s;
    }
    if (t->bench.budget_s < least_s)
        t->bench.budget_s = least_s;
    return rc;
}

/* Measures into the profile's journal. That this machine has no launcher is no error: the topology still says things.
 */
static int measure(struct tune *t, const struct topology *topology, struct err *e)
{
    struct bench_summary summary = {0};
    t->bench.results = t->results;
    progress_start(&t->progress, t->quiet ? NULL : stderr);
    int rc = bench_run(&t->bench, topology, &t->log, &t->progress, t->stop, &summary, &t->measured, e);
    progress_clear(&t->progress);
    if (rc == ERR_LACKS) {
        log_warn(&t->log, "%s", e->text);
        log_warn(&t->log, "nothing can be measured here: the profile holds what the topology alone justifies");
        t->lacks = 1;
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
        log_info(&t->log, "%d points were not measured for lack of time; --budget gives more", summary.left_out);
    return 0;
}

static int report(struct tune *t, const struct env_profile *p, const struct bench_points *points, struct err *e)
{
    const struct tune_result r = {
        .profile = p, .points = points, .machine = t->machine.name, .workload = t->bench.workload, .json = t->json};
    return tune_report(&r, t->arena, e);
}

static int generate(struct tune *t, struct err *e)
{
    struct env_generated made = {0};
    t->generate.topology = t->topology;
    t->generate.workload = t->bench.workload;
    t->generate.results = &t->results;
    t->generate.nresults = exists(t->results);
    t->generate.measured = &t->measured;
    int rc = env_generate(&t->generate, &made, &t->log, e);
    if (!rc)
        rc = report(t, &made.profile, t->generate.nresults ? made.points : NULL, e);
    env_generated_free(&made);
    return rc;
}

/* Of a profile that an earlier run has finished. */
static int report_finished(struct tune *t, struct err *e)
{
    struct env_profile *p = env_profile_open(t->generate.out, e);
    struct bench_results *r = p && exists(t->results) ? bench_results_load(t->results, NULL, e) : NULL;
    int rc = e->code;
    if (!rc)
        rc = report(t, p, r ? bench_points_of(r, r->arena) : NULL, e);
    bench_results_free(r);
    env_profile_free(p);
    return rc;
}

static int run(struct tune *t, struct err *e)
{
    struct topology *topology = NULL;
    if (t->resume && env_profile_complete(t->generate.out)) {
        log_info(&t->log, "%s is complete, there is nothing left to do", t->generate.out);
        return report_finished(t, e);
    }
    int rc = check_directory(t, e);
    if (!rc)
        rc = look(t, &topology, e);
    if (!rc)
        rc = file_mkdirs(t->generate.out, e);
    if (!rc)
        rc = begin(t, topology, e);
    t->bench.resume = t->resume;
    if (!rc)
        rc = survey(t, topology, e);
    if (!rc)
        rc = measure(t, topology, e);
    if (!rc)
        rc = generate(t, e);
    topo_free(topology);
    return rc || !t->lacks ? rc : ERR_LACKS;
}

/* ---- the command line -----------------------------------------------------------------------------------------------
 */

static int check(const struct tune *t, struct err *e)
{
    if (!t->generate.out)
        return err_set(e, ERR_USAGE, "-o PROFILE is missing");
    if (t->resume && t->generate.force)
        return err_set(e, ERR_USAGE, "--resume and --force are mutually exclusive");
    if (t->machine.nodes.count && !cli_machine_named(&t->machine) && t->choose)
        return err_set(e, ERR_USAGE, "--nodes is for predictions; --hosts names the nodes that are measured");
    if (bench_engine_find(t->bench.engine)->document)
        return err_set(e, ERR_USAGE, "--engine %s measures no collectives; tune asks it by itself", t->bench.engine);
    return cli_measure_check(&t->bench, e);
}

/* -1 to go on, or the exit code. */
static int parse(int argc, char **argv, struct tune *t)
{
    struct err e = {0};
    const struct option_group own[] = {{"The profile", profile_options, t},
                                       {NULL, cli_writing_options, &t->writing},
                                       {"Predict for a machine that is not here", cli_machine_options, &t->machine},
                                       {0}};
    int first;
    cli_measure_begin(&t->bench);
    const char *usual = t->bench.engine;
    t->bench.engine = NULL;
    int rc = cli_parse(&page, cli_measure_groups(own, &t->bench, 0, t->arena), argc, argv, t->arena, &first);
    t->choose = !t->bench.engine;
    if (t->choose)
        t->bench.engine = usual;
    if (rc < 0 && check(t, &e))
        rc = cli_fail(COMMAND, &e);
    t->generate.nccl_low = t->releases.low;
    t->generate.nccl_high = t->releases.high;
    cli_writing_into(&t->writing, &t->generate);
    return rc;
}

int tune_main(int argc, char **argv)
{
    struct tune t = {.generate = {.margin = ENV_MARGIN}, .arena = arena_new()};
    struct err e = {0};
    int rc = parse(argc, argv, &t);
    if (rc < 0 && bench_join(&t.bench, &e))
        rc = cli_fail(COMMAND, &e);
    if (rc < 0) {
        t.log = cli_log(COMMAND, t.quiet);
        t.log.progress = &t.progress;
        t.stop = cli_catch_interrupt();
        t.topology = arena_printf(t.arena, "%s/topology.json", t.generate.out);
        t.results = arena_printf(t.arena, "%s/results.jsonl", t.generate.out);
        rc = run(&t, &e);
        if (rc && rc != CLI_INTERRUPTED && !(t.lacks && rc == ERR_LACKS))
            cli_fail(COMMAND, &e);
    }
    bench_results_free(t.measured);
    arena_free(t.arena);
    return rc;
}
