/* The options that say what to measure and where. */
#include "cli/measure.h"

#include <string.h>

#include "bench/engines/engines.h"
#include "bench/launch/launch.h"
#include "cli/cli.h"
#include "core/call/workload.h"
#include "core/delivered.h"
#include "core/hostlist.h"
#include "core/launcher.h"
#include "core/vars/catalogue.h"
#include "core/vars/text.h"
#include "envgen/predict/predict.h"

#define LARGEST ((uint64_t)1 << 30) /* bytes, if not given */

/* ---- what -------------------------------------------------------------------------------------------------------- */

static int add_size(const struct option_value *v, void *out, struct err *e)
{
    struct bench_size_list *sizes = out;
    const int n = sizes->count;
    if (n == BENCH_SIZES)
        return err_set(e, ERR_USAGE, "%s: at most %d sizes", v->what, BENCH_SIZES);
    int rc = option_bytes(v, &sizes->bytes[n], e);
    if (!rc && n && sizes->bytes[n] <= sizes->bytes[n - 1])
        rc = err_set(e, ERR_USAGE, "%s: '%s' is not above the one before; expected ascending sizes such as 8,64K,1M",
                     v->what, v->text);
    sizes->count++;
    return rc;
}

static int take_sizes(const struct option_value *v, void *out, struct err *e)
{
    ((struct bench_size_list *)out)->count = 0;
    return option_each(v, add_size, out, e);
}

static int add_shape(const struct option_value *v, void *out, struct err *e)
{
    struct bench_shape_list *shapes = out;
    if (!strcmp(v->text, "usual")) {
        shapes->usual = 1;
        return 0;
    }
    if (shapes->count == BENCH_SHAPES)
        return err_set(e, ERR_USAGE, "%s: at most %d shapes", v->what, BENCH_SHAPES);
    return bench_shape_parse(v->text, &shapes->items[shapes->count++], v->what, e);
}

static int take_shapes(const struct option_value *v, void *out, struct err *e)
{
    *(struct bench_shape_list *)out = (struct bench_shape_list){0};
    return option_each(v, add_shape, out, e);
}

#define AT(member) offsetof(struct bench_options, member)
static const struct option_spec what_options[] = {
    {0, "engine", "E", "what measures or predicts; each has options below:", option_word, AT(engine),
     .word = bench_engine_name},
    {0, "collectives", "LIST",
     "allreduce,allgather,reducescatter,broadcast (by default), alltoall, alltoallv, sendrecv, reduce (nccl)",
     cli_take_collectives, AT(collectives), .word = cli_collective_word},
    {0, "min-bytes", "N", "smallest size (default: 8)", option_bytes, AT(min_bytes), .low = 1,
     .high = BENCH_MOST_BYTES},
    {0, "max-bytes", "N",
     "largest size, at most 16G with nccl and model, else 1G (default: nccl 4G or a third of the free GPU memory, mpi "
     "16M, else 1G)",
     option_bytes, AT(max_bytes), .low = 1, .high = BENCH_MOST_BYTES},
    {0, "step-factor", "X", "factor from one size to the next (default: 4)", option_number, AT(step_factor), .low = 1.1,
     .high = 1e6},
    {0, "sizes", "LIST", "these sizes instead, ascending, such as 8,64K,1M", take_sizes, AT(sizes), .low = 1,
     .high = BENCH_MOST_BYTES},
    {0, "shapes", "LIST",
     "groups of ranks, as NODESxRANKS[*GROUPS-AT-ONCE], such as 2x8,1x4*all; usual: those of typical jobs (default: "
     "all ranks together)",
     take_shapes, AT(shapes)},
    {0, "workload", "FILE",
     "measure a job's collectives and sizes (see nccltune-workload(1)), with most time for what takes most of its step",
     option_text, AT(workload)},
    {0},
};

/* ---- where and how long ------------------------------------------------------------------------------------------ */

static const struct option_spec where_options[] = {
    {0, "hosts", "LIST", "the nodes, such as n1,n2 or n[1-4] (default: those of the Slurm allocation, or this machine)",
     option_text, AT(setup.hosts)},
    {0, "hostfile", "FILE", "file with one host per line", option_text, AT(setup.hostfile)},
    {0, "topo-file", "FILE",
     "a topology file that every node has below /etc, /opt or /usr, to try as NCCL_TOPO_FILE (probe --tree ... "
     "--format nccl-xml)",
     option_text, AT(setup.topo_file)},
    {0, "ranks-per-node", "N",
     "ranks on each node (default: its GPUs; without GPUs 1, or on a single node its cores, 2 to 8)", option_int,
     AT(setup.ranks_per_node), .low = 1, .high = 4096},
    {0, "launcher", "NAME", "how to start agents (auto: srun in a Slurm allocation, else ssh):", option_word,
     AT(setup.launcher), .word = start_launcher_name},
    {0, "ssh-command", "COMMAND",
     "called as COMMAND HOST PROGRAM..., or set NCCLTUNE_SSH (default: ssh -o BatchMode=yes)", option_text,
     AT(setup.ssh)},
    {0, "mpirun", "COMMAND", "mpirun for the mpi engine, and as a launcher (default: mpirun)", option_text,
     AT(setup.mpirun)},
    {0, "mpirun-args", "ARGS", "more arguments for mpirun, split at blanks outside quotes, without a shell",
     option_text, AT(setup.mpirun_args)},
    {0},
};

static const struct option_spec how_long_options[] = {
    {0, "budget", "TIME",
     "time limit, such as 10m (default: by points, launches and the first start, 60s to 1h; see --plan)",
     option_seconds, AT(budget_s)},
    {0, "watchdog", "TIME", "kill what has not answered for this long plus ten times its expected time (default: 10s)",
     option_seconds, AT(watchdog_s)},
    {0},
};

static const struct option_spec how_sure_options[] = {
    {'m', "margin", "PERCENT",
     "least gain that the interval of a setting must clear (default: 3%, verify 0%); with --check, how much slower is "
     "worse (default: 30%)",
     option_percent, AT(margin), .high = 100},
    {0, "confidence", "PERCENT", "confidence of intervals (default: 95%)", option_percent, AT(confidence), .low = 50,
     .high = 99.999},
    {0},
};

/* ---- together ---------------------------------------------------------------------------------------------------- */

struct option_group *cli_measure_groups(const struct option_group *command, struct bench_options *o, int documents,
                                        struct arena *a)
{
    const struct option_group shared[] = {{"What to measure", what_options, o},
                                          {"Where", where_options, o},
                                          {"How long", how_long_options, o},
                                          {"How sure", how_sure_options, o}};
    const size_t nshared = sizeof shared / sizeof *shared;
    const struct option_group *engines = bench_engine_groups(documents, a);
    size_t n = 0, nengines = 0;
    while (command[n].options)
        n++;
    while (engines[nengines].options)
        nengines++;
    struct option_group *all = arena_alloc(a, (n + nshared + nengines + 1) * sizeof *all);
    memcpy(all, command, n * sizeof *all);
    memcpy(all + n, shared, sizeof shared);
    memcpy(all + n + nshared, engines, nengines * sizeof *all);
    o->what = all + n;
    o->own = all + n + nshared;
    return all;
}

const char *cli_measure_resume(const char *command, const struct option_group *groups, const char *out, struct arena *a)
{
    static const char *const own[] = {"--resume", "--force", "--budget=", "--output="};
    const char *line = arena_printf(a, "%s %s --resume", cli_typed_self(a), command);
    for (; groups->options; groups++)
        for (int i = 0; i < groups->typed.count; i++) {
            const char *word = groups->typed.items[i];
            size_t k = 0;
            while (k < sizeof own / sizeof *own && strncmp(word, own[k], strlen(own[k])) != 0)
                k++;
            if (k == sizeof own / sizeof *own)
                line = arena_printf(a, "%s %s", line, env_shell_word(a, word));
        }
    return arena_printf(a, "%s -o %s", line, env_shell_word(a, out));
}

const char *cli_measure_take_up(const struct bench_options *o, const char *journal, struct arena *a)
{
    struct err ignored;
    struct bench_results *r = o->what->given ? NULL : bench_results_load(journal, NULL, &ignored);
    struct option_group what[] = {*o->what, {0}};
    char **argv = arena_alloc(a, (size_t)(2 + (r ? r->asked.count : 0)) * sizeof *argv);
    const char *text = NULL;
    int n = 1;
    for (int i = 0; r && i < r->asked.count; i++) {
        argv[n++] = arena_strdup(a, r->asked.items[i]);
        text = arena_printf(a, "%s%s%s", text ? text : "", text ? " " : "", env_shell_word(a, argv[n - 1]));
    }
    bench_results_free(r);
    if (!text || option_parse(what, n, argv, a, NULL, &ignored) != n)
        return NULL;
    *o->what = what[0];
    return text;
}

void cli_measure_begin(struct bench_options *o)
{
    bench_options_default(o);
    o->setup.predictor = &predict_predictor;
    o->max_bytes = 0;
    o->collectives = 0;
    o->margin = -1;
    o->budget_s = 0;
}

void cli_measure_budget(struct bench_options *o)
{
    struct bench_options usual;
    bench_options_default(&usual);
    o->budget_open = !(o->budget_s > 0);
    if (o->budget_open)
        o->budget_s = usual.budget_s;
}

static int check_hosts(const struct bench_setup *s, struct err *e)
{
    struct arena *a = arena_new();
    const char **hosts;
    int n, rc = 0;
    if (s->hosts && s->hostfile)
        rc = err_set(e, ERR_USAGE, "--hosts and --hostfile are mutually exclusive");
    else if (s->hosts)
        rc = hostlist_parse(s->hosts, "--hosts", a, &hosts, &n, e);
    else if (s->hostfile && (rc = hostlist_read(s->hostfile, a, &hosts, &n, e)))
        rc = err_set(e, rc, "--hostfile: %s", arena_strdup(a, e->text));
    arena_free(a);
    return rc;
}

static int check_workload(const char *path, struct err *e)
{
    struct workload *w = workload_load(path, e);
    struct err why = *e;
    workload_free(w);
    return w ? 0 : err_set(e, ERR_FAILED, "--workload: %s", why.text);
}

int cli_measure_check(const struct bench_options *o, struct err *e)
{
    if (o->max_bytes && o->min_bytes > o->max_bytes)
        return err_set(e, ERR_USAGE, "--min-bytes is above --max-bytes");
    if (o->sizes.count && o->workload)
        return err_set(e, ERR_USAGE, "--sizes and --workload are mutually exclusive");
    int rc = check_hosts(&o->setup, e);
    return rc || !o->workload ? rc : check_workload(o->workload, e);
}

/* The largest size if not given. */
static uint64_t usual_bytes(const struct bench_options *o, int predicts)
{
    const struct bench_engine *engine = bench_engine_find(o->engine);
    struct bench_options usual;
    bench_options_default(&usual);
    if (engine && engine->usual_bytes)
        return engine->usual_bytes;
    return predicts || o->workload ? LARGEST : usual.max_bytes;
}

int cli_measure_resolve_defaults(struct bench_options *o, const struct cli_releases *r, struct err *e)
{
    struct bench_options usual;
    int predicts = bench_evidence_of(o->engine) == BENCH_PREDICTED;
    bench_options_default(&usual);
    o->to_memory = !o->max_bytes;
    if (!o->max_bytes)
        o->max_bytes = usual_bytes(o, predicts);
    if (!o->collectives)
        o->collectives = o->workload ? ~0u : usual.collectives;
    const char *refused = o->setup.topo_file ? env_undeliverable("NCCL_TOPO_FILE", o->setup.topo_file) : NULL;
    if (refused)
        return err_set(e, ERR_USAGE,
                       "--topo-file: '%s' %s that a profile could name: expected one below /etc, /opt or /usr",
                       o->setup.topo_file, refused);
    if (predicts && (o->setup.hosts || o->setup.hostfile))
        return err_set(e, ERR_USAGE, "--hosts and --hostfile name nodes that are measured; --nodes is for predictions");
    cli_measure_budget(o);
    if (o->margin < 0 && !bench_engine_find(o->engine)->documents)
        o->margin = usual.margin;
    o->setup.nccl_version = r->high;
    return 0;
}

void cli_measure_leave_out(const char *command, int quiet, struct arena *a)
{
    struct log log = cli_log(command, quiet);
    struct launcher_rank r;
    const char *removed = delivered_leave_out(a);
    if (*removed && (!launcher_find(NULL, NULL, &r) || !r.rank))
        log_info(&log, "removed from the baseline, because nccltune installed it: %s", removed);
}
