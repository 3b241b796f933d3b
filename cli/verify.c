/* nccltune verify: measure default against profile once more, as jobs would run them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/engines/engines.h"
#include "bench/engines/nccl/engine.h"
#include "bench/search/bench.h"
#include "cli/cli.h"
#include "cli/measure.h"
#include "core/coll.h"
#include "core/json.h"
#include "core/locate.h"
#include "core/units.h"
#include "envgen/verify/verify.h"

#define COMMAND          "verify"
#define EXIT_INTERRUPTED 130

static const char help_text[] =
    "Usage: nccltune verify PROFILE [OPTION]...\n"
    "Measure NCCL as it comes against NCCL with the profile, in turns, with environment and plugin as a job has them,\n"
    "and judge every row of the profile's tuner table: it holds when it is faster than without it beyond doubt.\n"
    "\n"
    "The answer\n"
    "  -o, --output DIR          write the profile anew, without the rows that do not hold\n"
    "      --journal FILE        keep the measurements (see nccltune-results.jsonl(5))\n"
    "      --json                the verdicts as JSON on standard output\n"
    "  -q, --quiet               no progress, only warnings\n"
    "  -h, --help                this text\n"
    "\n" CLI_MEASURE_HELP
    "The engine is nccl, and the collectives are by default those that the profile was made for.\n"
    "\n"
    "Examples\n"
    "  nccltune verify profile\n"
    "  nccltune verify profile --hosts n1,n2 --budget 5m -o profile-verified\n"
    "\n"
    "Exit status: 0 every row that was measured holds; 1 some do not, or something failed; 2 wrong usage; 3 something "
    "is\n"
    "missing, such as a GPU; 130 interrupted.\n";

enum { OPT_JOURNAL = CLI_OPT_OWN, OPT_JSON };

static const struct option own_options[] = {
    {"output", required_argument, NULL, 'o'}, {"journal", required_argument, NULL, OPT_JOURNAL},
    {"json", no_argument, NULL, OPT_JSON},    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
};

struct request {
    struct bench_options bench;
    const char *profile, *out;
    int json, quiet, help;
};

/* ---- options ---- */

static int take_option(int option, const char *arg, struct request *w, struct err *e)
{
    if (option >= CLI_OPT_MEASURE && option < CLI_OPT_OWN)
        return cli_measure_take(option, arg, &w->bench, e);
    switch (option) {
    case 'o':
        w->out = arg;
        return 0;
    case OPT_JOURNAL:
        w->bench.results = arg;
        return 0;
    case OPT_JSON:
        w->json = 1;
        return 0;
    case 'q':
        w->quiet = 1;
        return 0;
    case 'h':
        w->help = 1;
        return 0;
    default:
        return ERR_USAGE;
    }
}

static int parse(int argc, char **argv, struct request *w)
{
    struct err e = {0};
    struct arena *a = arena_new();
    const struct option *options = cli_measure_options(own_options, a);
    int option, rc = 0;
    bench_options_default(&w->bench);
    w->bench.engine = bench_engine_as_jobs()->name;
    w->bench.collectives = 0;
    optind = 1;
    while (!rc && !w->help && (option = getopt_long(argc, argv, "o:qh", options, NULL)) != -1)
        rc = take_option(option, optarg, w, &e);
    arena_free(a);
    if (rc)
        return *e.text ? cli_usage(COMMAND, "%s", e.text) : cli_usage(COMMAND, NULL);
    if (w->help)
        return 0;
    if (strcmp(w->bench.engine, bench_engine_as_jobs()->name) != 0)
        return cli_usage(COMMAND, "--engine: profiles are verified with %s alone", bench_engine_as_jobs()->name);
    if (argc - optind != 1)
        return cli_usage(COMMAND, "say which profile, and one alone");
    w->profile = argv[optind];
    return 0;
}

/* ---- output ---- */

static void print_row(const struct verify_rule *row)
{
    const struct tuner_rule *r = row->rule;
    char low[UNIT_TEXT], high[UNIT_TEXT];
    printf("  line %-4ld %-13s %10s to %-10s %s/%s", r->line, coll_name(r->coll), unit_bytes(low, r->min_bytes),
           r->max_bytes == UINT64_MAX ? "any" : unit_bytes(high, r->max_bytes),
           r->algo < 0 ? "any" : algo_name(r->algo), r->proto < 0 ? "any" : proto_name(r->proto));
    if (r->channels > 0)
        printf("/%dch", r->channels);
    printf("  %s", verify_verdict_name(row->verdict));
    if (row->gain.n)
        printf(", gain %.2fx [%.2f, %.2f]", row->gain.median, row->gain.low, row->gain.high);
    putchar('\n');
}

static void print_points(const struct bench_points *points)
{
    puts("#  collective          size     default (us)     profile (us)    gain   interval");
    for (int i = 0; i < points->count; i++) {
        const struct bench_point *p = &points->items[i];
        const struct bench_candidate *from = verify_candidate(p, BENCH_DEFAULT),
                                     *to = verify_candidate(p, VERIFY_PROFILE);
        if (!from || !to)
            continue;
        printf("%13s  %12llu  %15.2f  %15.2f  %5.2fx   [%.2f, %.2f]\n", coll_name(p->coll),
               (unsigned long long)p->bytes, from->time_us.median, to->time_us.median, to->gain.median, to->gain.low,
               to->gain.high);
    }
}

static void print_verdicts(const struct bench_points *points, const struct verify *v)
{
    print_points(points);
    puts(v->nrules ? "\nRows of tuner.csv, each against the same environment without the table:"
                   : "\ntuner.csv has no row.");
    for (int i = 0; i < v->nrules; i++)
        print_row(&v->rules[i]);
}

static int print_json(const struct bench_points *points, const struct verify *v, struct err *e)
{
    cJSON *doc = bench_points_json(points), *rows = cJSON_AddArrayToObject(doc, "rows");
    for (int i = 0; i < v->nrules; i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(rows, row);
        cJSON_AddNumberToObject(row, "line", (double)v->rules[i].rule->line);
        json_add_str(row, "verdict", verify_verdict_name(v->rules[i].verdict));
        if (!v->rules[i].gain.n)
            continue;
        cJSON_AddNumberToObject(row, "gain", v->rules[i].gain.median);
        cJSON_AddNumberToObject(row, "gain_low", v->rules[i].gain.low);
        cJSON_AddNumberToObject(row, "gain_high", v->rules[i].gain.high);
    }
    int rc = json_save(doc, NULL, e);
    cJSON_Delete(doc);
    return rc;
}

/* ---- the command ---- */

/* From the journal to verdicts. */
static int conclude(const struct request *w, const struct env_profile *p, struct log *log, struct err *e)
{
    struct bench_results *r = bench_results_load(w->bench.results, log, e);
    if (!r)
        return ERR_FAILED;
    struct bench_points *points = bench_points_of(r, r->arena);
    struct verify *v = verify_rows(p, points, e);
    int rc = v ? 0 : ERR_FAILED;
    if (!rc && w->json)
        rc = print_json(points, v, e);
    else if (!rc)
        print_verdicts(points, v);
    if (!rc && w->out && !(rc = verify_write(p, v, w->out, e)))
        log_info(log, "%s: the profile with %d of %d rows", w->out, v->nrules - v->failing, v->nrules);
    if (!rc && v->failing)
        rc = ERR_FAILED;
    verify_free(v);
    bench_results_free(r);
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

static int measure(struct request *w, const struct env_profile *p, const struct topology *t, struct err *e)
{
    struct log log = cli_log(COMMAND, w->quiet);
    struct bench_knobs *jobs = arena_alloc(p->arena, 2 * sizeof *jobs);
    struct bench_summary summary;
    struct progress progress;
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
    progress_start(&progress, w->quiet ? NULL : stderr);
    log.progress = &progress;
    int rc = bench_run(&w->bench, t, &log, &progress, cli_catch_interrupt(), &summary, e);
    progress_finish(&progress, NULL);
    if (rc || summary.interrupted)
        return rc ? rc : EXIT_INTERRUPTED;
    rc = conclude(w, p, &log, e);
    return rc || !summary.troubled ? rc : ERR_FAILED;
}

int verify_main(int argc, char **argv)
{
    struct request w = {0};
    struct err e = {0};
    char scratch[] = "/tmp/nccltune-verify-XXXXXX";
    int rc = parse(argc, argv, &w), fd = -1;
    if (rc)
        return rc;
    if (w.help)
        return fputs(help_text, stdout) < 0;
    struct env_profile *p = env_profile_open(w.profile, &e);
    struct topology *t = p ? topo_load(arena_printf(p->arena, "%s/topology.json", p->dir), &e) : NULL;
    if (t && !w.bench.results) {
        fd = mkstemp(scratch);
        if (fd < 0)
            err_errno(&e, "%s cannot be made", scratch);
        w.bench.results = scratch;
    }
    rc = t && !*e.text ? measure(&w, p, t, &e) : e.code;
    if (fd >= 0) {
        close(fd);
        unlink(scratch);
    }
    topo_free(t);
    env_profile_free(p);
    return rc && *e.text ? cli_fail(COMMAND, &e) : rc;
}
