/* nccltune tune: the whole journey, from a machine to a profile: probe, bench, generate, and what came of it. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/engines/engines.h"
#include "cli/cli.h"
#include "cli/measure.h"
#include "cli/tune.h"
#include "cli/tune_verbs.h"
#include "cli/writing.h"
#include "core/file.h"
#include "envgen/decide/decide.h"
#include "envgen/profile/profile.h"
#include "probe/findings/findings.h"
#include "probe/source/probe.h"

#define COMMAND     "tune"
#define INTERRUPTED 130 /* as shells report a program that ^C ended */

static int help(void)
{
    puts("Usage: nccltune tune [OPTION]... -o PROFILE\n"
         "Probe this machine, measure its collectives, and write what is worth setting into the directory PROFILE.\n"
         "With --machine, --topology or --from, predict instead, for a machine that is only described.\n"
         "\n" CLI_MEASURE_HELP "\n"
         "Predict for a machine that is not here\n" CLI_MACHINE_HELP
         "      --topology FILE       topology.json, from nccltune probe\n"
         "\n"
         "The profile\n"
         "  -o, --output PROFILE      the directory to write\n"
         "  -m, --margin PERCENT      write a setting only where its gain is this much beyond doubt; 3%\n"
         "      --nccl RANGE          write for these releases (2.28.9, 2.28, 2.19-2.28), and predict for the "
         "last\n" CLI_WRITING_HELP "  -r, --resume              go on with a profile that was interrupted\n"
         "  -f, --force               start again and replace what is in PROFILE\n"
         "  -j, --json                print the result as JSON\n"
         "  -q, --quiet               print warnings and the result only\n"
         "  -h, --help                this text\n"
         "\n"
         "Examples\n"
         "  nccltune tune -o profile\n"
         "  nccltune tune --hosts node1,node2,node3,node4 --budget 10m -o /shared/profile\n"
         "  nccltune tune --resume -o profile                          after ^C\n"
         "  nccltune tune --machine azure-ndv5 --nodes 32 -o profile   on a laptop: all predicted\n"
         "\n"
         "Predictions carry a band that holds nine of ten, and stand in comments unless --predicted is given.\n"
         "Exit status: 0 done, 1 failed, 2 wrong usage, 3 nothing could be measured (no mpirun) and the profile holds\n"
         "what the topology alone justifies, 130 interrupted.");
    return 0;
}

/* ---- the command line -----------------------------------------------------------------------------------------------
 */

static const struct option own_options[] = {
    {"output", required_argument, NULL, 'o'},
    {"margin", required_argument, NULL, 'm'},
    {"resume", no_argument, NULL, 'r'},
    {"force", no_argument, NULL, 'f'},
    {"json", no_argument, NULL, 'j'},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {"machine", required_argument, NULL, CLI_OPT_MACHINE},
    {"topology", required_argument, NULL, CLI_OPT_TOPOLOGY},
    {"from", required_argument, NULL, CLI_OPT_FROM},
    {"gpu", required_argument, NULL, CLI_OPT_GPU},
    {"nodes", required_argument, NULL, CLI_OPT_NODES},
    {"format", required_argument, NULL, 'F'},
    {"predicted", no_argument, NULL, CLI_OPT_PREDICTED},
    {"extrapolate", optional_argument, NULL, CLI_OPT_EXTRAPOLATE},
    {NULL, 0, NULL, 0},
};

static int take_option(struct tune *t, int c, struct err *e)
{
    if (c == 'F' || c >= CLI_OPT_FORMAT)
        return cli_writing_take(c == 'F' ? CLI_OPT_FORMAT : c, optarg, &t->generate, t->arena, e);
    if (c >= CLI_OPT_MACHINE)
        return cli_machine_take(c, optarg, &t->machine, e);
    if (c >= CLI_OPT_MEASURE)
        return cli_measure_take(c, optarg, &t->bench, e);
    switch (c) {
    case 'o':
        t->generate.out = optarg;
        return 0;
    case 'm':
        return env_parse_margin(optarg, &t->generate.margin, e);
    case 'r':
        t->resume = 1;
        return 0;
    case 'f':
        t->generate.force = 1;
        return 0;
    case 'j':
        t->json = 1;
        return 0;
    default:
        t->quiet = 1;
        return 0;
    }
}

/* ---- the stages -----------------------------------------------------------------------------------------------------
 */

int tune_exists(const char *path)
{
    struct stat st;
    return !stat(path, &st);
}

/* A fresh start, or the rest of an interrupted one. */
static int prepare(struct tune *t, struct err *e)
{
    t->topology = arena_printf(t->arena, "%s/topology.json", t->generate.out);
    if (!t->generate.force && env_profile_complete(t->generate.out))
        return err_set(e, ERR_FAILED,
                       "%s: holds a complete profile, which is not changed any more (--force starts again)",
                       t->generate.out);
    if (!t->generate.force && !t->resume && tune_exists(t->results))
        return err_set(e, ERR_FAILED, "%s: was begun and not finished (--resume goes on, --force starts again)",
                       t->generate.out);
    return file_mkdirs(t->generate.out, e);
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
    return rc == ERR_LACKS && !tune_exists(t->results) ? 0 : rc;
}

/* What the engine is, and what follows from it. */
static int resolve_defaults(struct tune *t, const struct topology *topology, struct err *e)
{
    if (t->choose)
        t->bench.engine = bench_engine_for(topology, cli_machine_named(&t->machine))->name;
    int predicts = bench_evidence_of(t->bench.engine) == BENCH_PREDICTED;
    t->bench.setup.nodes = t->machine.nodes;
    t->bench.setup.nnodes = t->machine.nnodes;
    if (cli_machine_named(&t->machine) && !predicts)
        return err_set(e, ERR_USAGE, "--engine %s measures, which a machine that is only described does not allow",
                       t->bench.engine);
    if (t->machine.nnodes && !predicts)
        return err_set(e, ERR_USAGE, "--nodes is for predictions; --hosts names the nodes that are measured");
    return cli_measure_resolve_defaults(&t->bench, &t->generate.nccl_low, &t->generate.nccl_high, e);
}

/* A described machine, before anything is written: what is wrong with it leaves no trace. */
static int open_described(struct tune *t, struct topology **out, struct err *e)
{
    *out = cli_machine_open(&t->machine, &t->log, e);
    if (!*out)
        return e->code;
    int rc = resolve_defaults(t, *out, e);
    return rc ? rc : try_plan(t, *out, e);
}

static int probe(struct tune *t, struct topology **out, struct err *e)
{
    log_info(&t->log, "looking at this machine");
    *out = probe_machine(&t->log, e);
    return *out ? resolve_defaults(t, *out, e) : e->code;
}

/* The topology into the profile, where it must be the one that an interrupted run was begun on. */
static int begin(struct tune *t, const struct topology *topology, struct err *e)
{
    char now[SHA256_HEX], then[SHA256_HEX];
    topo_hash(topology, now);
    if (!t->resume || !tune_exists(t->topology)) {
        int rc = t->generate.force ? try_plan(t, topology, e) : 0;
        if (!rc && !t->resume)
            rc = clear_old(t, e);
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

/* Measures into the profile's journal. That this machine has no launcher is no error: the topology still says things.
 */
static int measure(struct tune *t, const struct topology *topology, struct err *e)
{
    struct bench_summary summary = {0};
    t->bench.results = t->results;
    progress_start(&t->progress, t->quiet ? NULL : stderr);
    int rc = bench_run(&t->bench, topology, &t->log, &t->progress, t->stop, &summary, e);
    progress_clear(&t->progress);
    if (rc == ERR_LACKS) {
        log_warn(&t->log, "%s", e->text);
        log_warn(&t->log, "nothing can be measured here: the profile holds what the topology alone justifies");
        t->lacks = 1;
        return 0;
    }
    if (rc)
        return rc;
    if (summary.interrupted) {
        fprintf(stderr, "nccltune " COMMAND ": interrupted; 'nccltune tune --resume -o %s' goes on\n", t->generate.out);
        return INTERRUPTED;
    }
    if (summary.troubled)
        log_warn(&t->log, "%d candidate%s failed and %s left out", summary.troubled, summary.troubled == 1 ? "" : "s",
                 summary.troubled == 1 ? "is" : "are");
    if (summary.left_out)
        log_info(&t->log, "%d points were not measured for lack of time; --budget gives more", summary.left_out);
    return 0;
}

static int generate(struct tune *t, struct err *e)
{
    t->generate.topology = t->topology;
    t->generate.workload = t->bench.workload;
    t->generate.results = &t->results;
    t->generate.nresults = tune_exists(t->results);
    return env_generate(&t->generate, &t->log, e);
}

static int run(struct tune *t, struct err *e)
{
    struct topology *topology = NULL;
    t->results = arena_printf(t->arena, "%s/results.jsonl", t->generate.out);
    if (t->resume && !t->generate.force && env_profile_complete(t->generate.out)) {
        log_info(&t->log, "%s is complete, there is nothing left to do", t->generate.out);
        return tune_report(t, e);
    }
    int described = cli_machine_named(&t->machine), rc = described ? open_described(t, &topology, e) : 0;
    if (!rc)
        rc = prepare(t, e);
    if (!rc && !described)
        rc = probe(t, &topology, e);
    if (!rc) {
        findings_attach(topology);
        rc = begin(t, topology, e);
    }
    t->bench.resume = t->resume;
    if (!rc)
        rc = tune_verbs(&t->bench, topology, t->generate.out, &t->log, &t->progress, t->stop, t->arena,
                        &t->generate.fabric, e);
    if (!rc)
        rc = measure(t, topology, e);
    if (!rc)
        rc = generate(t, e);
    if (!rc)
        rc = tune_report(t, e);
    topo_free(topology);
    return rc || !t->lacks ? rc : ERR_LACKS;
}

/* 0 to go on, -1 when help was printed, or the exit code. */
static int parse(int argc, char **argv, struct tune *t)
{
    struct err e = {0};
    const struct option *options = cli_measure_options(own_options, t->arena);
    int c;
    while ((c = getopt_long(argc, argv, "o:m:F:rfjqh", options, NULL)) != -1) {
        if (c == 'h')
            return help() - 1;
        if (c == '?')
            return cli_usage(COMMAND, NULL);
        if (take_option(t, c, &e))
            return cli_usage(COMMAND, "%s", e.text);
    }
    if (optind < argc)
        return cli_usage(COMMAND, "'%s' is one word too many", argv[optind]);
    if (!t->generate.out || !*t->generate.out)
        return cli_usage(COMMAND, "-o PROFILE is missing");
    if (t->resume && t->generate.force)
        return cli_usage(COMMAND, "--resume and --force exclude one another");
    return 0;
}

int tune_main(int argc, char **argv)
{
    struct tune t = {.generate = {.margin = ENV_MARGIN}, .arena = arena_new()};
    struct err e = {0};
    cli_measure_begin(&t.bench);
    const char *usual = t.bench.engine;
    t.bench.engine = NULL;
    int rc = parse(argc, argv, &t);
    t.choose = !t.bench.engine;
    if (t.choose)
        t.bench.engine = usual;
    if (!rc && bench_join(&t.bench, &e))
        rc = cli_fail(COMMAND, &e);
    if (!rc) {
        t.log = cli_log(COMMAND, t.quiet);
        t.log.progress = &t.progress;
        t.stop = cli_catch_interrupt();
        rc = run(&t, &e);
        if (rc && rc != INTERRUPTED && !(t.lacks && rc == ERR_LACKS))
            cli_fail(COMMAND, &e);
    }
    arena_free(t.arena);
    return rc < 0 ? 0 : rc;
}
