/* nccltune whatif: predict variations of a machine. */
#include <stdio.h>
#include <string.h>

#include "advise/whatif/whatif.h"
#include "cli/arguments.h"
#include "cli/cli.h"
#include "cli/job.h"
#include "cli/machine.h"
#include "cli/whatif_step.h"
#include "core/coll.h"
#include "core/file.h"
#include "core/json.h"
#include "envgen/predict/predict.h"
#include "model/model.h"
#include "probe/machines/machines.h"
#include "probe/source/probe.h"

#define COMMAND "nccltune whatif"

static const struct cli_page page = {
    COMMAND,
    "nccltune whatif --machine NAME | --topology FILE | --from FILE [OPTION]...\n"
    "Predict what variations of a machine would do to a collective, with NCCL's default and tuned: nothing is\n"
    "measured, and none of these needs the machine. Without any variation, all that make sense for it.\n",
    "Examples\n"
    "  nccltune whatif --machine azure-ndv5 --nodes 32\n"
    "  nccltune whatif --machine dgx-a100 --nodes 16 --dead-rail mlx5_3 --sockets --svg dead.svg\n"
    "  nccltune whatif --machine azure-ndv4 --nodes 2 --set NCCL_IB_HCA=mlx5_ib0,mlx5_ib1 --set NCCL_NET=Socket\n"
    "  nccltune whatif --topology topology.json --nodes 8 --script job.sbatch --profile profile\n"
    "  nccltune whatif --topology topology.json --workload job.json --script job.sh --against "
    "NCCL_IB_HCA=mlx5_0,mlx5_1\n"
    "  nccltune whatif --topology topology.json --nodes 4 --more-nodes 64,512 --collectives allgather\n"
    "\n"
    "Exit status: 0 done, 1 bad input or nothing can be predicted, 2 wrong usage.\n",
    0};

/* A variation as the command line has it, until the machine is known. */
struct variation {
    const struct variation_kind *kind;
    const char *text;
    struct log *log;
    struct cli_job job;
    int pid;
    double factor;
    struct cli_node_counts nodes;
};

struct variations {
    struct variation *items;
    int count;
};

struct request {
    struct arena *arena;
    struct calibration fitted;
    struct cli_machine machine;
    struct model_setup base;
    struct variations variations;
    int coll;
    const char *svg, *calibration;
    struct cli_whatif_job job;
    int json, before; /* before: the case that others are compared with */
};

static const char *launcher_word(int i)
{
    static const char *const words[] = {"gpu", "node", "graph", NULL};
    return words[i];
}

static const struct option_spec setup_options[] = {
    {0, "ranks-per-node", "N", "default: a node's GPUs", option_int, offsetof(struct request, base.nccl.ranks_per_node),
     .low = 1, .high = 4096},
    {0, "nccl", "VERSION", "whose default is predicted, such as 2.28.9; the newest known", cli_take_release,
     offsetof(struct request, base.nccl.version)},
    {0, "launch", "WHO", "launches the calls: a process for every GPU, one for all of a node, a graph; one of:",
     option_which, offsetof(struct request, base.launcher), .word = launcher_word},
    {0, "calibration", "FILE",
     "go by these measurements: of nccltune bench --calibrate, or any journal; none: of those for such nodes none",
     option_text, offsetof(struct request, calibration)},
    {0, "nodes-per-leaf", "N", "switches of the network hold so many nodes; by default as 32 ports suggest", option_int,
     offsetof(struct request, base.switches.nodes_per_leaf), .low = 1, .high = 100000},
    {0},
};

/* ---- variations -------------------------------------------------------------------------------------------------- */

static int add_oversubscription(struct whatif *w, struct variation *v, struct err *e)
{
    return whatif_add_oversubscription(w, v->factor, e);
}

static int add_nodes(struct whatif *w, struct variation *v, struct err *e)
{
    int rc = 0;
    for (int i = 0; i < v->nodes.count && !rc; i++)
        rc = whatif_add_nodes(w, v->nodes.items[i], e);
    return rc;
}

static int add_job(struct whatif *w, struct variation *v)
{
    return whatif_add_job(w, v->job.label, v->job.settings, v->job.nsettings,
                          v->job.table.count ? &v->job.table : NULL);
}

static int add_file(struct whatif *w, struct variation *v, struct err *e)
{
    int rc = cli_job_of_file(&v->job, v->text, w->arena, v->log, e);
    return rc ? rc : add_job(w, v);
}

static int add_process(struct whatif *w, struct variation *v, struct err *e)
{
    int rc = cli_job_of_process(&v->job, v->pid, w->arena, v->log, e);
    return rc ? rc : add_job(w, v);
}

static int add_profile(struct whatif *w, struct variation *v, struct err *e)
{
    const struct nccl_setup *s = &w->cases[0].setup.nccl;
    int rc = cli_job_of_profile(&v->job, v->text, s->topology->classes[s->class_index].name, w->arena, e);
    return rc ? rc : add_job(w, v);
}

/* What the variation before has, and these: two cases of which the second is compared with the first. */
static int add_against(struct whatif *w, struct variation *v, struct err *e)
{
    const int before = w->ncases - 1;
    int rc = whatif_add_settings(w, v->text, e);
    if (rc)
        return rc;
    const struct whatif_case *base = &w->cases[before], *these = &w->cases[w->ncases - 1];
    struct bench_setting *all = arena_alloc(w->arena, (size_t)(base->nsettings + these->nsettings + 1) * sizeof *all);
    int n = 0;
    for (int i = 0; i < base->nsettings; i++)
        all[n++] = base->settings[i];
    for (int i = 0; i < these->nsettings; i++)
        all[n++] = these->settings[i];
    w->ncases--;
    return whatif_add_job(w, arena_printf(w->arena, "with %s", v->text), all, n, base->table);
}

/* An option's variation: added by its text, by nothing, or by what else was taken. */
struct variation_kind {
    const char *option;
    option_take *take; /* NULL: a flag */
    size_t member;     /* of struct variation */
    int (*by_text)(struct whatif *w, const char *text, struct err *e);
    int (*plain)(struct whatif *w, struct err *e);
    int (*add)(struct whatif *w, struct variation *v, struct err *e);
};

#define MEMBER(m) offsetof(struct variation, m)
static const struct variation_kind variation_kinds[] = {
    {"--set", option_text, MEMBER(text), .by_text = whatif_add_settings},
    {"--script", option_text, MEMBER(text), .add = add_file},
    {"--env", option_text, MEMBER(text), .add = add_file},
    {"--pid", option_int, MEMBER(pid), .add = add_process},
    {"--profile", option_text, MEMBER(text), .add = add_profile},
    {"--against", option_text, MEMBER(text), .add = add_against},
    {"--hcas", option_text, MEMBER(text), .by_text = whatif_add_hcas},
    {"--dead-rail", option_text, MEMBER(text), .by_text = whatif_add_dead},
    {"--half-width", option_text, MEMBER(text), .by_text = whatif_add_half_width},
    {"--sockets", .plain = whatif_add_sockets},
    {"--mixed-rails", .plain = whatif_add_mixed_rails},
    {"--oversubscription", option_number, MEMBER(factor), .add = add_oversubscription},
    {"--more-nodes", cli_take_node_counts, MEMBER(nodes), .add = add_nodes},
};

static int add_variation(struct whatif *w, struct variation *v, struct err *e)
{
    const struct variation_kind *k = v->kind;
    return k->by_text ? k->by_text(w, v->text, e) : k->plain ? k->plain(w, e) : k->add(w, v, e);
}

static int take_variation(const struct option_value *v, void *out, struct err *e)
{
    struct request *r = out;
    struct variations *all = &r->variations;
    const struct variation_kind *k = variation_kinds;
    while (strcmp(k->option, v->what) != 0)
        k++; /* every row of the options below has one */
    all->items = arena_grow(v->arena, all->items, (size_t)all->count, sizeof *all->items);
    struct variation *last = &all->items[all->count++];
    last->kind = k;
    if (k->add == add_against)
        r->before = all->count - 1;
    return k->take ? k->take(v, (char *)last + k->member, e) : 0;
}

static const struct option_spec variation_options[] = {
    {0, "set", "NAME=VALUE...", "jobs have these variables: 'NCCL_IB_HCA=mlx5_0,mlx5_1 NCCL_ALGO=Ring'", take_variation,
     0},
    {0, "script", "FILE", "jobs have what this script, manifest or configuration file sets", take_variation, 0},
    {0, "env", "FILE", "the same of a file of variables, such as nccl.conf", take_variation, 0},
    {0, "pid", "N", "the same of the environment of process N", take_variation, 0, .low = 1, .high = INT32_MAX},
    {0, "profile", "DIR", "jobs have what a profile sets, and its tuner table", take_variation, 0},
    {0, "against", "NAME=VALUE...", "what stands before it, with these variables beside or in place of its own",
     take_variation, 0},
    {0, "hcas", "LIST", "NCCL uses these alone: mlx5_0,mlx5_1", take_variation, 0},
    {0, "dead-rail", "HCA", "that one is missing on every node", take_variation, 0},
    {0, "half-width", "HCA", "its PCIe link has half its lanes", take_variation, 0},
    {0, "sockets", NULL, "no RDMA, such as after a wrong GID: NCCL falls back to TCP", take_variation, 0},
    {0, "mixed-rails", NULL, "leaf switches serve all HCAs of a few nodes instead of one rail of many", take_variation,
     0},
    {0, "oversubscription", "X", "leaves' uplinks carry 1/X of what their ports can", take_variation, 0, .low = 1,
     .high = 1000},
    {0, "more-nodes", "LIST", "so many nodes instead: 64,512", take_variation, 0, .low = 1, .high = MACHINE_MOST},
    {0},
};

static const struct option_spec output_options[] = {
    {'c', "collectives", "C", "allreduce by default; one of:", cli_take_collective, offsetof(struct request, coll),
     .word = cli_collective_word},
    {'w', "workload", "FILE",
     "the step of this job under each variation, by phase; what would save most, what may be wrong", option_text,
     offsetof(struct request, job.workload)},
    {0, "measured", "TIME", "a step's communication takes this long (210ms): which faults would explain it",
     option_seconds, offsetof(struct request, job.measured_s)},
    {0, "svg", "FILE", "draw busbw over size", option_text, offsetof(struct request, svg)},
    {'j', "json", NULL, "print every size as JSON", option_flag, offsetof(struct request, json)},
    {0},
};

/* ---- what came of it --------------------------------------------------------------------------------------------- */

static int draw(const struct whatif *w, const char *svg, struct err *e)
{
    struct file_out out;
    if (file_out_begin(&out, e))
        return e->code;
    whatif_draw(w, out.stream);
    return file_out_commit(&out, svg, e);
}

static int print_variations(const struct request *a, const struct whatif *w, struct err *e)
{
    int rc = 0;
    if (a->json)
        rc = json_save(whatif_json(w), NULL, e);
    else
        whatif_print(w, stdout);
    return rc || !a->svg ? rc : draw(w, a->svg, e);
}

/* What the site has measured, if it has. */
static int calibrate(struct request *a, const struct topology *t, struct log *log, struct err *e)
{
    int class_index = topo_gpu_class(t);
    int rc = class_index < 0 ? 0 : calibration_load(a->calibration, t, class_index, a->arena, &a->fitted, e);
    if (rc > 0) {
        a->base.factors = &a->fitted.fit.factors;
        log_info(log, "%s", calibration_text(&a->fitted, a->arena));
    }
    return rc < 0 ? e->code : 0;
}

static int predict_variations(struct request *a, const struct topology *t, struct log *log, struct err *e)
{
    const char *name = a->machine.name ? a->machine.name : t->source ? t->source : "the topology";
    a->base.nccl.topology = t;
    a->base.nccl.nodes = a->machine.nodes.count ? a->machine.nodes.items[0] : 0;
    if (calibrate(a, t, log, e))
        return e->code;
    struct whatif *w = whatif_new(name, a->coll, &a->base, e);
    if (!w)
        return e->code;
    if (t->nclasses > 1)
        log_warn(log, "the nodes are not all alike: predicted for nodes of %s only",
                 t->classes[w->cases[0].setup.nccl.class_index].name);
    int rc = a->variations.count || a->job.workload ? 0 : whatif_add_usual(w, e);
    for (int i = 0; i < a->variations.count && !rc; i++) {
        a->variations.items[i].log = log;
        rc = add_variation(w, &a->variations.items[i], e);
    }
    if (!rc && a->job.workload)
        rc = cli_whatif_step(w, a->before, &a->job, a->json, e);
    else if (!rc && !(rc = whatif_predict(w, e)))
        rc = print_variations(a, w, e);
    for (int i = 0; i < a->variations.count; i++)
        tuner_table_free(&a->variations.items[i].job.table);
    whatif_free(w);
    return rc;
}

int whatif_main(int argc, char **argv)
{
    struct arena *arena = arena_new();
    struct request r = {.arena = arena, .coll = COLL_ALLREDUCE};
    struct option_group groups[] = {{"The machine (default: this one)", cli_machine_options, &r.machine},
                                    {"How it is run", setup_options, &r},
                                    {"Variations; each may be repeated", variation_options, &r},
                                    {"What to show", output_options, &r},
                                    {0}};
    struct err e = {0};
    int first, rc = cli_parse(&page, groups, argc, argv, arena, &first);
    if (rc < 0 && r.machine.nodes.count > 1)
        rc = cli_usage(COMMAND, "--nodes: one number here; --more-nodes are variations");
    if (rc < 0 && r.job.measured_s > 0 && !r.job.workload)
        rc = cli_usage(COMMAND, "--measured is the time of a job's step: it needs --workload");
    if (rc < 0) {
        struct log log = cli_log(COMMAND, 0);
        struct topology *t =
            cli_machine_named(&r.machine) ? cli_machine_open(&r.machine, &log, &e) : probe_machine(&log, NULL, &e);
        rc = t ? predict_variations(&r, t, &log, &e) : e.code;
        topo_free(t);
        if (rc)
            cli_fail(COMMAND, &e);
    }
    arena_free(arena);
    return rc;
}
