/* nccltune bench: measure collectives over everything that can be chosen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/engines/engines.h"
#include "bench/results/points.h"
#include "bench/search/bench.h"
#include "cli/bench_verbs.h"
#include "cli/cli.h"
#include "cli/machine.h"
#include "cli/measure.h"
#include "core/json.h"
#include "probe/source/probe.h"

#define COMMAND "nccltune bench"

static const struct cli_page page = {
    COMMAND,
    "nccltune bench [OPTION]... -o RESULTS\n"
    "Measure collectives over algorithms and network interfaces, the library's untouched default among them.\n"
    "Every measurement is a line of RESULTS, on disk before the next one begins. With --engine model, which --machine\n"
    "and --from imply, nothing is measured: every line is a prediction with its band.\n",
    "Examples\n"
    "  nccltune bench -o results.jsonl                              this machine, one minute\n"
    "  nccltune bench --hosts n1,n2,n3,n4 --budget 10m -o r.jsonl   four nodes, ten minutes\n"
    "  nccltune bench --hosts n1,n2 --interfaces eth0,ib0 -o r.jsonl\n"
    "  sbatch -N8 --wrap 'nccltune bench --budget 15m -o r.jsonl'   the nodes of an allocation\n"
    "  mpirun -np 16 nccltune bench -o r.jsonl                      under a launcher of your own: its settings only\n"
    "  nccltune bench --engine nccl --budget 10m -o r.jsonl         the GPUs of this machine\n"
    "  nccltune bench --engine verbs --hosts n1,n2 -o fabric.json   which RDMA ports reach which, how fast\n"
    "  nccltune bench --check profile                               whether this node's ports are as they were\n"
    "  nccltune bench --resume -o r.jsonl                           after ^C or a crash\n"
    "  nccltune bench --engine model --topology t.json --nodes 64 -o r.jsonl\n"
    "  nccltune bench --machine dgx-h100 --nodes 2,16,128 -o r.jsonl\n"
    "\n"
    "Exit status: 0 done; 1 done, but a launch crashed, hung or computed wrong data, or the journal cannot be "
    "written;\n"
    "2 wrong usage; 3 something is missing, such as mpirun; 130 interrupted, the journal can be resumed.\n",
    0};

struct request {
    struct bench_options bench;
    struct cli_machine machine;
    struct cli_releases releases;
    struct bench_verbs verbs;
    int plan, json, quiet;
};

static const struct option_spec release_options[] = {
    {0, "nccl", "VERSION", "whose choices are the default where all is predicted, such as 2.28.9; the newest known",
     cli_take_releases_or_library, 0},
    {0},
};

static const struct option_spec output_options[] = {
    {'o', "output", "RESULTS", "the journal (see nccltune-results.jsonl(5))", option_text,
     offsetof(struct request, bench.results)},
    {'r', "resume", NULL, "go on with a journal; what it holds is not measured again", option_flag,
     offsetof(struct request, bench.resume)},
    {0, "plan", NULL, "say what would be run, and run nothing", option_flag, offsetof(struct request, plan)},
    {'j', "json", NULL, "print the points as JSON instead of the table", option_flag, offsetof(struct request, json)},
    {'q', "quiet", NULL, "no progress, only warnings", option_flag, offsetof(struct request, quiet)},
    {0},
};

static int is_verbs(const struct request *w)
{
    return !strcmp(w->bench.engine, "verbs");
}

/* Files of recorded machines and bundled ones can only be predicted. */
static int resolve_defaults(struct request *w, const char *about_ports, struct err *e)
{
    int described = w->machine.name || w->machine.from.count, predicts;
    if (!w->bench.engine)
        w->bench.engine = described        ? bench_engine_for(NULL, 1)->name
                          : w->verbs.check ? "verbs"
                                           : bench_engines[0]->name;
    predicts = bench_evidence_of(w->bench.engine) == BENCH_PREDICTED;
    if (!predicts && (described || w->machine.gpu || w->machine.nodes.count))
        return err_set(e, ERR_USAGE, "--machine, --from, --gpu and --nodes are for --engine model, not %s",
                       w->bench.engine);
    if (!predicts && w->releases.high)
        return err_set(e, ERR_USAGE, "--nccl is for --engine model; --nccl-lib names the library that is measured");
    if (about_ports && !is_verbs(w))
        return err_set(e, ERR_USAGE, "%s is for --engine verbs, not %s", about_ports, w->bench.engine);
    w->bench.setup.nodes = w->machine.nodes.items;
    w->bench.setup.nnodes = w->machine.nodes.count;
    return cli_measure_resolve_defaults(&w->bench, &w->releases, e);
}

static int check(const struct request *w, struct err *e)
{
    if (w->plan && w->json)
        return err_set(e, ERR_USAGE, "--plan is for people, there is no --json of it");
    if (w->plan && is_verbs(w))
        return err_set(e, ERR_USAGE, "--plan is for collectives, not for --engine verbs");
    if (!w->bench.results && !w->plan && !w->verbs.check)
        return err_set(e, ERR_USAGE, "say where the measurements go: -o RESULTS");
    return cli_measure_check(&w->bench, e);
}

/* -1 to go on, or the exit code. */
static int parse(int argc, char **argv, struct request *w, struct arena *a)
{
    struct err e = {0};
    struct option_group groups[] = {CLI_MEASURE_GROUPS(&w->bench),
                                    {"What to predict for (--engine model)", cli_machine_options, &w->machine},
                                    {NULL, release_options, &w->releases},
                                    {"Pairs of RDMA ports (--engine verbs)", bench_verbs_options, &w->verbs},
                                    {"Output", output_options, w},
                                    {0}};
    int first;
    cli_measure_begin(&w->bench);
    w->bench.engine = NULL;
    int rc = cli_parse(&page, groups, argc, argv, a, &first);
    if (rc < 0 && (resolve_defaults(w, groups[5].given, &e) || check(w, &e)))
        rc = cli_fail(COMMAND, &e);
    return rc;
}

static int print_points(const struct request *w, struct log *log, struct err *e)
{
    struct bench_results *r = bench_results_load(w->bench.results, log, e);
    if (!r)
        return ERR_FAILED;
    struct bench_points *p = bench_points_of(r, r->arena);
    int rc = 0;
    if (w->json) {
        cJSON *doc = bench_points_json(p);
        rc = json_save(doc, NULL, e);
        cJSON_Delete(doc);
    } else {
        bench_points_print(p, stdout);
        if (fflush(stdout))
            rc = err_errno(e, "standard output cannot be written");
    }
    bench_results_free(r);
    return rc;
}

/* What a person has to know beyond the table; the exit code. */
static int conclude(const struct request *w, const struct bench_summary *s, struct log *log)
{
    if (s->interrupted) {
        log_warn(log, "interrupted; %s holds what was measured, the same command with --resume goes on",
                 w->bench.results);
        return CLI_INTERRUPTED;
    }
    if (s->resumed && !s->measured)
        log_info(log, "everything had been measured already");
    if (s->left_out)
        log_warn(log, "%d points were not measured for lack of time; the same command with --resume goes on",
                 s->left_out);
    if (s->troubled)
        log_warn(log, "%d measurements crashed, hung or gave wrong data; see \"detail\" in %s", s->troubled,
                 w->bench.results);
    return s->troubled ? ERR_FAILED : 0;
}

static int run_verbs(const struct request *w, const struct topology *t, struct err *e)
{
    struct bench_verbs b = w->verbs;
    struct log log = cli_log(COMMAND, w->quiet);
    b.options.setup = w->bench.setup;
    b.options.setup.topology = t;
    b.options.nccl = VERBS_NCCL_NEWEST;
    b.options.budget_s = w->bench.budget_s;
    b.options.resume = w->bench.resume;
    b.output = w->bench.results;
    b.json = w->json;
    return bench_verbs(&b, &log, e);
}

static int run(struct request *w, const struct topology *t, struct err *e)
{
    struct progress progress;
    struct log log = cli_log(COMMAND, w->quiet);
    struct bench_summary summary;
    if (w->plan)
        return bench_print_plan(&w->bench, t, &log, stdout, e);
    progress_start(&progress, w->quiet ? NULL : stderr);
    log.progress = &progress;
    int rc = bench_run(&w->bench, t, &log, &progress, cli_catch_interrupt(), &summary, e);
    progress_finish(&progress, NULL);
    if (!rc && (summary.measured || summary.resumed))
        rc = print_points(w, &log, e);
    return rc ? rc : conclude(w, &summary, &log);
}

static int run_either(struct request *w, struct err *e)
{
    struct log log = cli_log(COMMAND, w->quiet);
    if (!is_verbs(w) && bench_join(&w->bench, e))
        return e->code;
    struct topology *t =
        cli_machine_named(&w->machine) ? cli_machine_open(&w->machine, &log, e) : probe_machine(&log, e);
    if (!t)
        return e->code;
    int rc = is_verbs(w) ? run_verbs(w, t, e) : run(w, t, e);
    topo_free(t);
    return rc;
}

int bench_main(int argc, char **argv)
{
    struct request w = {0};
    struct err e = {0};
    struct arena *a = arena_new();
    int rc = parse(argc, argv, &w, a);
    if (rc < 0) {
        rc = run_either(&w, &e);
        if (rc && *e.text)
            cli_fail(COMMAND, &e);
    }
    arena_free(a);
    return rc;
}
