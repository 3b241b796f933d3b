/* nccltune tune: the whole journey, from a machine to a profile: probe, bench, generate, and what came of it. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/engine_nccl.h"
#include "bench/points.h"
#include "cli/cli.h"
#include "cli/measure.h"
#include "core/file.h"
#include "envgen/explain.h"
#include "envgen/generate.h"
#include "envgen/profile.h"
#include "envgen/text.h"
#include "probe/probe.h"

#define COMMAND     "tune"
#define INTERRUPTED 130 /* as shells report a program that ^C ended */

static int help(void)
{
    puts("Usage: nccltune tune [OPTION]... -o PROFILE\n"
         "Probe this machine, measure its collectives, and write what is worth setting into the directory PROFILE.\n"
         "\n" CLI_MEASURE_HELP "\n"
         "The profile\n"
         "  -o, --output PROFILE      the directory to write\n"
         "  -m, --margin PERCENT      write a setting only where its gain is this much beyond doubt; 3%\n"
         "  -r, --resume              go on with a profile that was interrupted\n"
         "  -f, --force               start again and replace what is in PROFILE\n"
         "  -j, --json                print the result as JSON\n"
         "  -q, --quiet               print warnings and the result only\n"
         "  -h, --help                this text\n"
         "\n"
         "Examples\n"
         "  nccltune tune -o profile\n"
         "  nccltune tune --hosts node1,node2,node3,node4 --budget 10m -o /shared/profile\n"
         "  nccltune tune --resume -o profile           after ^C\n"
         "\n"
         "Exit status: 0 done, 1 failed, 2 wrong usage, 3 nothing could be measured (no mpirun) and the profile holds\n"
         "what the topology alone justifies, 130 interrupted.");
    return 0;
}

struct tune {
    const char *out;
    double margin;
    int resume, force, json, quiet;
    struct bench_options bench;
    struct log log;
    struct progress progress;
    volatile sig_atomic_t *stop;
    struct arena *arena;
    const char *topology, *results; /* files of the profile */
    int choose;                     /* which engine is ours to choose: --engine was not given */
    int lacks;                      /* nothing could be measured */
};

/* ---- the command line -----------------------------------------------------------------------------------------------
 */

static const struct option own_options[] = {
    {"output", required_argument, NULL, 'o'}, {"margin", required_argument, NULL, 'm'},
    {"resume", no_argument, NULL, 'r'},       {"force", no_argument, NULL, 'f'},
    {"json", no_argument, NULL, 'j'},         {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
};

static int take_option(struct tune *t, int c, struct err *e)
{
    if (c >= CLI_OPT_MEASURE)
        return cli_measure_take(c, optarg, &t->bench, e);
    switch (c) {
    case 'o':
        t->out = optarg;
        return 0;
    case 'm':
        return env_parse_margin(optarg, &t->margin, e);
    case 'r':
        t->resume = 1;
        return 0;
    case 'f':
        t->force = 1;
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

static int exists(const char *path)
{
    struct stat st;
    return !stat(path, &st);
}

/* A fresh start, or the rest of an interrupted one. */
static int prepare(struct tune *t, struct err *e)
{
    t->topology = arena_printf(t->arena, "%s/topology.json", t->out);
    t->results = arena_printf(t->arena, "%s/results.jsonl", t->out);
    if (!t->force && env_profile_complete(t->out))
        return err_set(e, ERR_FAILED,
                       "%s: holds a complete profile, which is not changed any more (--force starts again)", t->out);
    if (!t->force && !t->resume && exists(t->results))
        return err_set(e, ERR_FAILED, "%s: was begun and not finished (--resume goes on, --force starts again)",
                       t->out);
    return file_mkdirs(t->out, e);
}

/* As late as possible: whatever fails before leaves the old profile as it was. */
static int clear_old(struct tune *t, struct err *e)
{
    const char *const stale[] = {arena_printf(t->arena, "%s/" ENV_MANIFEST, t->out), t->results, t->topology};
    for (size_t i = 0; i < sizeof stale / sizeof *stale; i++)
        if (unlink(stale[i]) && errno != ENOENT)
            return err_errno(e, "%s: cannot be replaced", stale[i]);
    return 0;
}

/* Two GPUs on a node of ours are measured as jobs use them, through NCCL; host memory stands in for them nowhere. */
static const char *choose_engine(const struct topology *topology)
{
    for (int i = 0; i < topology->nclasses; i++)
        if (topology->classes[i].ngpus >= 2)
            return "nccl";
    return "mpi";
}

/* A plan that is thrown away: wrong options are found while the old profile is still there. What the machine lacks is
 * no error here, as in measure(). */
static int try_plan(const struct tune *t, const struct topology *topology, struct err *e)
{
    struct file_out plan;
    int rc = file_out_begin(&plan, e);
    if (rc)
        return rc;
    rc = bench_print_plan(&t->bench, topology, NULL, plan.stream, e);
    file_out_abandon(&plan);
    return rc == ERR_LACKS ? 0 : rc;
}

/* The topology of this machine, which must be the one that an interrupted run was begun on. */
static int probe(struct tune *t, struct topology **out, struct err *e)
{
    char now[SHA256_HEX], then[SHA256_HEX];
    log_info(&t->log, "looking at this machine");
    struct topology *topology = probe_machine(&t->log, e);
    if (!topology)
        return e->code;
    *out = topology;
    topo_hash(topology, now);
    if (t->choose)
        t->bench.engine = choose_engine(topology);
    if (!t->resume || !exists(t->topology)) {
        int rc = t->force ? try_plan(t, topology, e) : 0;
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
        return err_set(e, ERR_FAILED,
                       "%s: was begun on another topology than this machine has now (--force starts again)", t->out);
    return 0;
}

/* Measures into the profile's journal. That this machine has no launcher is no error: the topology still says things.
 */
static int measure(struct tune *t, const struct topology *topology, struct err *e)
{
    struct bench_summary summary = {0};
    t->bench.results = t->results;
    t->bench.resume = t->resume;
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
        fprintf(stderr, "nccltune " COMMAND ": interrupted; 'nccltune tune --resume -o %s' goes on\n", t->out);
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
    struct env_generate g = {
        .topology = t->topology,
        .results = &t->results,
        .nresults = exists(t->results),
        .margin = t->margin,
        .force = t->force,
        .out = t->out,
    };
    return env_generate(&g, &t->log, e);
}

/* ---- what came of it ------------------------------------------------------------------------------------------------
 */

static const char *word(struct arena *a, const char *path)
{
    const char *quoted = env_path_ok(path) ? path : env_shell_quote(a, path);
    return quoted ? quoted : path;
}

static int sets_nccl(const struct env_decisions *d)
{
    for (int i = 0; i < d->nsettings; i++)
        if (!strcmp(d->settings[i].family, "nccl") && d->settings[i].value)
            return 1;
    return 0;
}

static int measured_mpi(const struct env_decisions *d)
{
    for (int i = 0; i < d->nshapes; i++)
        if (!strcmp(d->shapes[i].engine, "mpi"))
            return 1;
    return 0;
}

/* The lines for a job script; ends with NULL. */
static const char **lines_to_paste(struct arena *a, const struct env_profile *p)
{
    const char **lines = arena_alloc(a, 5 * sizeof *lines), *plugin = bench_nccl_plugin(a, NULL);
    int n = 0;
    if (sets_nccl(p->decisions))
        lines[n++] = arena_printf(a, "source %s", word(a, arena_printf(a, "%s/nccl.sh", p->dir)));
    if (measured_mpi(p->decisions))
        lines[n++] = arena_printf(a, "source %s", word(a, arena_printf(a, "%s/openmpi.sh", p->dir)));
    lines[n++] = arena_printf(a, "export NCCLTUNE_PROFILE=%s", word(a, p->dir));
    if (plugin)
        lines[n++] = arena_printf(a, "export NCCL_TUNER_PLUGIN=%s", word(a, plugin));
    return lines;
}

static int print_measured(struct tune *t, struct err *e)
{
    if (!exists(t->results))
        return 0;
    struct bench_results *r = bench_results_load(t->results, NULL, e);
    if (!r)
        return e->code;
    if (r->count)
        bench_points_print(bench_points_of(r, t->arena), stdout);
    bench_results_free(r);
    return 0;
}

static int print_json(struct tune *t, const struct env_profile *p, struct err *e)
{
    struct env_question all = {.coll = -1};
    cJSON *doc = env_explain_json(p, &all, e);
    if (!doc)
        return e->code;
    cJSON *array = cJSON_AddArrayToObject(doc, "lines_to_paste");
    for (const char **line = lines_to_paste(t->arena, p); *line; line++)
        cJSON_AddItemToArray(array, cJSON_CreateString(*line));
    int rc = json_save(doc, "-", e);
    cJSON_Delete(doc);
    return rc;
}

static int report(struct tune *t, struct err *e)
{
    struct env_profile *p = env_profile_open(t->out, e);
    if (!p)
        return e->code;
    int rc = t->json ? print_json(t, p, e) : print_measured(t, e);
    if (!rc && !t->json) {
        env_print_decisions(p->decisions, stdout);
        printf("\nProfile: %s (hash %.16s)\n", p->dir, p->manifest.hash);
        if (!p->decisions->nshapes)
            puts("Nothing was measured: it holds what the topology alone justifies.");
        else if (!strcmp(t->bench.engine, "mpi"))
            puts(ENV_HOST_MEMORY);
        printf("Why: nccltune explain %s\n\nFor a job script:\n\n", word(t->arena, p->dir));
        for (const char **line = lines_to_paste(t->arena, p); *line; line++)
            printf("  %s\n", *line);
        putchar('\n');
        if (fflush(stdout))
            rc = err_errno(e, "standard output cannot be written");
    }
    env_profile_free(p);
    return rc;
}

static int run(struct tune *t, struct err *e)
{
    struct topology *topology = NULL;
    if (t->resume && !t->force && env_profile_complete(t->out)) {
        log_info(&t->log, "%s is complete, there is nothing left to do", t->out);
        return report(t, e);
    }
    int rc = prepare(t, e);
    if (!rc)
        rc = probe(t, &topology, e);
    if (!rc)
        rc = measure(t, topology, e);
    if (!rc)
        rc = generate(t, e);
    if (!rc)
        rc = report(t, e);
    topo_free(topology);
    return rc || !t->lacks ? rc : ERR_LACKS;
}

/* 0 to go on, -1 when help was printed, or the exit code. */
static int parse(int argc, char **argv, struct tune *t)
{
    struct err e = {0};
    const struct option *options = cli_measure_options(own_options, t->arena);
    int c;
    while ((c = getopt_long(argc, argv, "o:m:rfjqh", options, NULL)) != -1) {
        if (c == 'h')
            return help() - 1;
        if (c == '?')
            return cli_usage(COMMAND, NULL);
        if (take_option(t, c, &e))
            return cli_usage(COMMAND, "%s", e.text);
    }
    if (optind < argc)
        return cli_usage(COMMAND, "'%s' is one word too many", argv[optind]);
    if (!t->out)
        return cli_usage(COMMAND, "-o PROFILE is missing");
    if (t->resume && t->force)
        return cli_usage(COMMAND, "--resume and --force exclude one another");
    return 0;
}

int tune_main(int argc, char **argv)
{
    struct tune t = {.margin = ENV_MARGIN, .arena = arena_new()};
    struct err e = {0};
    bench_options_default(&t.bench);
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
