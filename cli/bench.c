/* nccltune bench: measure collectives over everything that can be chosen. */
#include <getopt.h>
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

/* What a shell reports for a program that ^C has ended. */
#define EXIT_INTERRUPTED 130

static const char help_text[] =
    "Usage: nccltune bench [OPTION]... -o RESULTS\n"
    "Measure collectives over algorithms and network interfaces, the library's untouched default among them.\n"
    "Every measurement is a line of RESULTS, on disk before the next one begins. With --engine model, which --machine\n"
    "and --from imply, nothing is measured: every line is a prediction with its band.\n"
    "\n" CLI_MEASURE_HELP
    "      --topology FILE       what the nodes look like (see nccltune-probe(1)); default: like this machine\n"
    "\n"
    "What to predict for (--engine model)\n" CLI_MACHINE_HELP
    "      --nccl VERSION        whose choices are the default, such as 2.28.9; the newest known\n"
    "\n" BENCH_VERBS_HELP "\n"
    "Output\n"
    "  -o, --output RESULTS      the journal (see nccltune-results.jsonl(5))\n"
    "      --resume              go on with a journal; what it holds is not measured again\n"
    "      --plan                say what would be run, and run nothing\n"
    "      --json                the points as JSON on standard output instead of the table\n"
    "  -q, --quiet               no progress, only warnings\n"
    "  -h, --help                this text\n"
    "\n"
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
    "2 wrong usage; 3 something is missing, such as mpirun; 130 interrupted, the journal can be resumed.\n";

enum { OPT_RESUME = CLI_OPT_OWN, OPT_PLAN, OPT_JSON };

static const struct option own_options[] = {
    {"machine", required_argument, NULL, CLI_OPT_MACHINE},
    {"topology", required_argument, NULL, CLI_OPT_TOPOLOGY},
    {"from", required_argument, NULL, CLI_OPT_FROM},
    {"gpu", required_argument, NULL, CLI_OPT_GPU},
    {"nodes", required_argument, NULL, CLI_OPT_NODES},
    {"ports", required_argument, NULL, CLI_OPT_PORTS},
    {"schedule", required_argument, NULL, CLI_OPT_SCHEDULE},
    {"svg", required_argument, NULL, CLI_OPT_SVG},
    {"sweep", optional_argument, NULL, CLI_OPT_SWEEP},
    {"check", required_argument, NULL, CLI_OPT_CHECK},
    {"output", required_argument, NULL, 'o'},
    {"resume", no_argument, NULL, OPT_RESUME},
    {"plan", no_argument, NULL, OPT_PLAN},
    {"json", no_argument, NULL, OPT_JSON},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct request {
    struct bench_options bench;
    struct cli_machine machine;
    struct bench_verbs verbs;
    int about_ports; /* an option of bench_verbs was given */
    int plan, json, quiet, help;
};

static int take_option(int option, const char *arg, struct request *w, struct err *e)
{
    if (option >= CLI_OPT_MEASURE && option < CLI_OPT_OWN)
        return cli_measure_take(option, arg, &w->bench, e);
    if (option >= CLI_OPT_PORTS && option < CLI_OPT_VERBS_END) {
        w->about_ports = 1;
        return bench_verbs_take(option, arg, &w->verbs, e);
    }
    if (option >= CLI_OPT_MACHINE)
        return cli_machine_take(option, arg, &w->machine, e);
    switch (option) {
    case OPT_RESUME:
        w->bench.resume = 1;
        return 0;
    case OPT_PLAN:
        w->plan = 1;
        return 0;
    case OPT_JSON:
        w->json = 1;
        return 0;
    case 'o':
        w->bench.results = arg;
        return 0;
    case 'q':
        w->quiet = 1;
        return 0;
    case 'h':
        w->help = 1;
        return 0;
    default:
        return err_set(e, ERR_USAGE, "%s", "");
    }
}

static int is_verbs(const struct request *w)
{
    return !strcmp(w->bench.engine, "verbs");
}

/* Files of recorded machines and bundled ones can only be predicted. */
static int resolve_defaults(struct request *w, struct err *e)
{
    int described = w->machine.name || w->machine.nfrom;
    if (bench_evidence_of(w->bench.engine) != BENCH_PREDICTED && (described || w->machine.gpu || w->machine.nnodes))
        return err_set(e, ERR_USAGE, "--machine, --from, --gpu and --nodes are for --engine model, not %s",
                       w->bench.engine);
    if (w->about_ports && !is_verbs(w))
        return err_set(e, ERR_USAGE, "--ports, --schedule, --svg, --sweep and --check are for --engine verbs, not %s",
                       w->bench.engine);
    w->bench.setup.nodes = w->machine.nodes;
    w->bench.setup.nnodes = w->machine.nnodes;
    return cli_measure_resolve_defaults(&w->bench, NULL, NULL, e);
}

static int parse(int argc, char **argv, struct request *w)
{
    struct err e = {0};
    struct arena *a = arena_new();
    const struct option *options = cli_measure_options(own_options, a);
    int option, rc = 0;
    cli_measure_begin(&w->bench);
    w->bench.engine = NULL;
    optind = 1;
    while (!rc && !w->help && (option = getopt_long(argc, argv, "o:qh", options, NULL)) != -1)
        rc = take_option(option, optarg, w, &e);
    if (!w->bench.engine)
        w->bench.engine = w->machine.name || w->machine.nfrom ? bench_engine_for(NULL, 1)->name
                          : w->verbs.check                    ? "verbs"
                                                              : bench_engines[0]->name;
    if (!rc && !w->help)
        rc = resolve_defaults(w, &e);
    arena_free(a);
    if (rc)
        return *e.text ? cli_usage("bench", "%s", e.text) : cli_usage("bench", NULL);
    if (w->help)
        return 0;
    if (optind < argc)
        return cli_usage("bench", "'%s' is one word too many", argv[optind]);
    if (w->plan && w->json)
        return cli_usage("bench", "--plan is for people, there is no JSON of it");
    if (!w->bench.results && !w->plan && !w->verbs.check)
        return cli_usage("bench", "say where the measurements go: -o RESULTS");
    return 0;
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
        return EXIT_INTERRUPTED;
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
    struct log log = cli_log("bench", w->quiet);
    if (w->plan)
        return err_set(e, ERR_USAGE, "--plan is for collectives, not for --engine verbs");
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
    struct log log = cli_log("bench", w->quiet);
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

int bench_main(int argc, char **argv)
{
    struct request w = {0};
    struct err e = {0};
    int rc = parse(argc, argv, &w);
    if (rc)
        return rc;
    if (w.help)
        return fputs(help_text, stdout) < 0;
    if (!is_verbs(&w) && bench_join(&w.bench, &e))
        return cli_fail("bench", &e);
    struct log log = cli_log("bench", w.quiet);
    struct topology *t =
        cli_machine_named(&w.machine) ? cli_machine_open(&w.machine, &log, &e) : probe_machine(&log, &e);
    if (!t)
        return cli_fail("bench", &e);
    rc = is_verbs(&w) ? run_verbs(&w, t, &e) : run(&w, t, &e);
    topo_free(t);
    return rc && *e.text ? cli_fail("bench", &e) : rc;
}
