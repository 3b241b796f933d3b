/* nccltune bench: measure collectives over everything that can be chosen. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "advise/whatif/whatif.h"
#include "bench/engines/engines.h"
#include "bench/launch/launch.h"
#include "bench/noise/noise.h"
#include "bench/results/points.h"
#include "cli/cli.h"
#include "cli/machine.h"
#include "cli/measure.h"
#include "cli/nodes.h"
#include "core/json.h"
#include "core/progress.h"
#include "core/trust.h"
#include "probe/source/probe.h"

#define COMMAND "nccltune bench"

static const struct cli_page page = {
    COMMAND,
    "nccltune bench [OPTION]... -o RESULTS\n"
    "Measure collectives over algorithms and network interfaces, the baseline among them.\n"
    "Every measurement is a line of RESULTS, on disk before the next one begins. With --engine model, which --machine\n"
    "and --from imply, nothing is measured: every line is a prediction with its interval.\n",
    "Examples\n"
    "  nccltune bench -o results.jsonl                              this machine, some minutes\n"
    "  nccltune bench --hosts n1,n2,n3,n4 --budget 10m -o r.jsonl   four nodes, ten minutes\n"
    "  nccltune bench --hosts n1,n2 --interfaces eth0,ib0 -o r.jsonl\n"
    "  sbatch -N8 --wrap 'nccltune bench --budget 15m -o r.jsonl'   the nodes of an allocation\n"
    "  mpirun -np 16 nccltune bench -o r.jsonl                      under your own launcher: its settings only\n"
    "  nccltune bench --engine nccl --budget 10m -o r.jsonl         the GPUs of this machine\n"
    "  nccltune bench --engine verbs --hosts n1,n2 -o fabric.json   which RDMA ports reach which, how fast\n"
    "  nccltune bench --check profile                               compare this node's ports with the profile\n"
    "  nccltune bench --resume -o r.jsonl                           after ^C or a crash, with the other options as "
    "before\n"
    "  nccltune bench --engine model --topology t.json --nodes 64 -o r.jsonl\n"
    "  nccltune bench --machine dgx-h100 --nodes 2,16,128 -o r.jsonl\n"
    "\n"
    "Exit status: 0 done; 1 done, but a launch crashed, hung or computed wrong data, or the journal cannot be\n"
    "written; 2 wrong usage; 3 something is missing, such as mpirun; 130 interrupted, the journal can be resumed.\n",
    0};

struct request {
    struct bench_options bench;
    const struct bench_engine *engine;
    struct cli_machine machine;
    struct cli_releases releases;
    int plan, json, quiet;
    const char *way_on; /* the command line that resumes this run */
    struct agents agents;
    struct arena *arena;
};

static const struct option_spec release_options[] = {
    {0, "nccl", "VERSION",
     "release whose choices are the predicted default, such as 2.28.9 (default: the newest known)", cli_take_releases,
     0},
    {0},
};

#define AT(member) offsetof(struct request, member)
static const struct option_spec output_options[] = {
    {'o', "output", "RESULTS", "the journal (see nccltune-results.jsonl(5))", option_text, AT(bench.results)},
    {'r', "resume", NULL, "go on with a journal; nothing is measured twice", option_flag, AT(bench.resume)},
    {0, "plan", NULL, "show the plan and end", option_flag, AT(plan)},
    {'j', "json", NULL, "print the points, or the plan, as JSON", option_flag, AT(json)},
    {'q', "quiet", NULL, "no progress, only warnings", option_flag, AT(quiet)},
    {0},
};

/* The engine, unless it is named: that of a described machine, else the one that an option is for, else the default. */
static int choose_engine(struct request *w, struct err *e)
{
    const char *option = NULL;
    int described = w->machine.name || w->machine.from.count;
    const struct bench_engine *given = bench_engine_given(w->bench.own, NULL, &option);
    if (w->bench.engine)
        w->engine = bench_engine_find(w->bench.engine);
    else
        w->engine = described ? bench_engine_for(NULL, 1) : given ? given : bench_engines[0];
    w->bench.engine = w->engine->name;
    given = bench_engine_given(w->bench.own, w->engine, &option);
    return given ? err_set(e, ERR_USAGE, "%s is for --engine %s, not %s", option, given->name, w->engine->name) : 0;
}

/* Files of recorded machines and bundled ones can only be predicted. */
static int resolve_defaults(struct request *w, struct err *e)
{
    int predicts = w->engine->evidence == BENCH_PREDICTED;
    if (!predicts && (w->machine.name || w->machine.from.count || w->machine.gpu || w->machine.nodes.count))
        return err_set(e, ERR_USAGE, "--machine, --from, --gpu and --nodes are for --engine model, not %s",
                       w->engine->name);
    if (!predicts && w->releases.high)
        return err_set(e, ERR_USAGE, "--nccl is for --engine model; --nccl-lib names the library that is measured");
    w->bench.setup.nodes = w->machine.nodes.items;
    w->bench.setup.nnodes = w->machine.nodes.count;
    return cli_measure_resolve_defaults(&w->bench, &w->releases, e);
}

static int check_request(const struct request *w, struct err *e)
{
    const struct bench_engine *engine = w->engine;
    if (w->plan && engine->documents)
        return err_set(e, ERR_USAGE, "--plan is for collectives, not for --engine %s", engine->name);
    if (!engine->documents && !w->bench.results && !w->plan)
        return err_set(e, ERR_USAGE, "missing output file: -o RESULTS");
    int rc =
        engine->documents ? engine->documents->check(bench_engine_own(w->bench.own, engine), w->bench.results, e) : 0;
    return rc ? rc : cli_measure_check(&w->bench, e);
}

/* -1 to go on, or the exit code. */
static int parse_request(int argc, char **argv, struct request *w, struct arena *a)
{
    struct err e = {0};
    const struct option_group own[] = {
        {"Output", output_options, w},
        {"What to predict for (--engine model)", cli_machine_options, &w->machine},
        {NULL, release_options, &w->releases},
        {0},
    };
    int first;
    cli_measure_begin(&w->bench);
    w->bench.engine = NULL;
    struct option_group *groups = cli_measure_groups(own, &w->bench, 1, a);
    int rc = cli_parse(&page, groups, argc, argv, a, &first);
    if (rc < 0 && (choose_engine(w, &e) || resolve_defaults(w, &e) || check_request(w, &e)))
        rc = cli_fail(COMMAND, &e);
    else if (rc < 0 && w->bench.results)
        w->way_on = cli_measure_resume("bench", groups, w->bench.results, a);
    return rc;
}

static int print_points(const struct request *w, const struct bench_results *r, const struct topology *t, struct err *e)
{
    struct bench_points *p = bench_points_of(r, r->arena);
    struct findings sanity = {.arena = r->arena};
    sanity_check(p, t, &sanity);
    if (w->json) {
        cJSON *doc = bench_points_json(p);
        findings_add_json(doc, "noise", r->noise.list, r->noise.n);
        findings_add_json(doc, "sanity", sanity.list, sanity.n);
        return json_save(doc, NULL, e);
    }
    bench_points_print(p, NULL, NULL, stdout);
    noise_print(&r->noise, stdout);
    sanity_print(&sanity, stdout);
    return 0;
}

/* What a person has to know beyond the table; the exit code. */
static int conclude_run(const struct request *w, const struct bench_summary *s, struct log *log)
{
    if (s->interrupted) {
        log_warn(log, "interrupted; %s keeps what was measured; `%s` goes on", w->bench.results, w->way_on);
        return CLI_INTERRUPTED;
    }
    if (s->resumed && !s->measured)
        log_info(log, "everything was measured already");
    if (s->left_out)
        log_warn(log, "points left out for lack of time: %d; `%s` goes on", s->left_out, w->way_on);
    if (s->troubled)
        log_warn(log, "measurements that crashed, hung or gave wrong data: %d; see \"detail\" in %s", s->troubled,
                 w->bench.results);
    return s->troubled ? ERR_FAILED : 0;
}

static int print_plan(const struct request *w, const struct topology *t, struct log *log, struct err *e)
{
    cJSON *plan = bench_plan_json(&w->bench, t, log, e);
    if (!plan)
        return e->code;
    if (w->json)
        return json_save(plan, NULL, e);
    bench_plan_print(plan, stdout);
    cJSON_Delete(plan);
    return 0;
}

static int run_document(const struct request *w, const struct topology *t, struct log *log, struct err *e)
{
    struct bench_setup setup = w->bench.setup;
    setup.own = bench_engine_own(w->bench.own, w->engine);
    setup.topology = t;
    setup.log = log;
    const struct bench_document d = {.setup = &setup,
                                     .path = w->bench.results,
                                     .budget_s = w->bench.budget_s,
                                     .margin = w->bench.margin,
                                     .resume = w->bench.resume,
                                     .json = w->json,
                                     .out = stdout,
                                     .stop = cli_catch_interrupt()};
    return w->engine->documents->make(&d, e);
}

/* A node whose agent is lost whenever it is started is left out, and the others begin again, if they have at least half
 * of the time to themselves; a journal that was there before stays as it is. */
static int begin_again(struct request *w, struct topology *t, double took_s, struct log *log, struct err *e)
{
    if (!w->bench.setup.lent || 2 * took_s > w->bench.budget_s ||
        !cli_nodes_drop_lost(&w->agents, &w->bench.setup, t, log, w->arena))
        return 0;
    w->bench.budget_s -= took_s;
    *e = (struct err){0};
    return !trust_unlink(w->bench.results, e);
}

static int run_journal(struct request *w, struct topology *t, struct log *log, struct err *e)
{
    struct bench_summary summary;
    struct bench_results *measured = NULL;
    volatile sig_atomic_t *stop = cli_catch_interrupt();
    struct stat st;
    const int is_own = stat(w->bench.results, &st) || (S_ISREG(st.st_mode) && !st.st_size);
    double began_s;
    int rc;
    do {
        bench_results_free(measured);
        measured = NULL;
        began_s = progress_now_s();
        rc = bench_run(&w->bench, t, log, stop, &summary, &measured, e);
        progress_clear(log->progress);
    } while (rc == ERR_FAILED && is_own && !*stop && begin_again(w, t, progress_now_s() - began_s, log, e));
    if (!rc && (summary.measured || summary.resumed))
        rc = print_points(w, measured, t, e);
    bench_results_free(measured);
    if (rc == ERR_FAILED && (summary.measured || summary.resumed))
        log_warn(log, "%s keeps what was measured; `%s` goes on", w->bench.results, w->way_on);
    return rc ? rc : conclude_run(w, &summary, log);
}

/* Where the copies of this command that a launcher has put on every rank meet: beside what is written. */
static int find_others(struct request *w)
{
    const char *slash = w->bench.results ? strrchr(w->bench.results, '/') : NULL;
    const char *dir = slash ? arena_strndup(w->arena, w->bench.results, (size_t)(slash - w->bench.results) + 1) : NULL;
    if (w->plan || bench_engine_has_ranks(w->engine) || w->engine->predicts)
        return -1;
    return cli_nodes_meet(&w->agents, &w->bench.setup, dir, COMMAND, cli_catch_interrupt(), w->arena);
}

/* Whether the node has not come at all: its launcher, or its agent, has failed, and the setup is without it. */
static int is_absent(const struct agents *s, const char *host)
{
    for (int i = 0; i < s->nabsent; i++)
        if (!strcmp(s->absent[i].host, host))
            return 1;
    return 0;
}

/* What is described, or every node that is to be measured, as it sees itself. Those that do not come are left out; one
 * that comes and cannot say what it is ends the run, but for a document. */
static struct topology *look_at_nodes(struct request *w, struct log *log, struct err *e)
{
    const struct bench_engine *engine = w->engine;
    const struct bench_document_ops *documents = engine->documents;
    struct cli_nodes nodes;
    if (cli_machine_named(&w->machine))
        return cli_machine_open(&w->machine, log, e);
    if (engine->predicts || (documents && !documents->asks_nodes(bench_engine_own(w->bench.own, engine))) ||
        (bench_engine_has_ranks(engine) && mpirun_attached_rank(NULL) >= 0))
        return probe_machine(log, e);
    if (cli_nodes_measured(&w->bench.setup, w->arena, &nodes, e))
        return NULL;
    struct topology *t = cli_nodes_probe(&w->agents, &w->bench.setup, &nodes, log, cli_catch_interrupt(), w->arena, e);
    for (int i = 0; t && i < t->nmissing; i++) {
        if (!documents && !is_absent(&w->agents, t->missing[i].name)) {
            err_set(e, ERR_FAILED, "%s cannot be measured: %s", t->missing[i].name, t->missing[i].why);
            topo_free(t);
            return NULL;
        }
        log_warn(log, "%s is left out: %s", t->missing[i].name, t->missing[i].why);
    }
    return t;
}

static int run_bench(struct request *w, struct err *e)
{
    struct progress progress;
    struct log log = cli_log(COMMAND, w->quiet);
    if (bench_join(&w->bench, e))
        return e->code;
    struct topology *t = look_at_nodes(w, &log, e);
    if (!t)
        return e->code;
    if (bench_engine_has_ranks(w->engine) && !w->plan && agents_become_ranks(&w->agents, &w->bench.setup, e)) {
        topo_free(t);
        return e->code;
    }
    progress_start(&progress, w->quiet || w->plan ? NULL : stderr);
    log.progress = &progress;
    int rc = w->plan                ? print_plan(w, t, &log, e)
             : w->engine->documents ? run_document(w, t, &log, e)
                                    : run_journal(w, t, &log, e);
    progress_clear(&progress);
    topo_free(t);
    return rc;
}

int bench_main(int argc, char **argv)
{
    struct err e = {0};
    struct arena *a = arena_new();
    struct request w = {.arena = a};
    int rc = parse_request(argc, argv, &w, a);
    if (rc < 0) {
        cli_measure_leave_out(COMMAND, w.quiet, a);
        rc = find_others(&w);
    }
    if (rc < 0) {
        rc = run_bench(&w, &e);
        if (rc && *e.text)
            cli_fail(COMMAND, &e);
        agents_end(&w.agents, &w.bench.setup, rc);
    }
    arena_free(a);
    return rc;
}
