/* nccltune whatif: predict variations of a machine. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/whatif/step.h"
#include "advise/whatif/whatif.h"
#include "cli/arguments.h"
#include "cli/cli.h"
#include "cli/machine.h"
#include "core/call/workload.h"
#include "core/coll.h"
#include "core/file.h"
#include "core/json.h"
#include "core/vars/catalogue.h"
#include "core/vars/text.h"
#include "envgen/explain/explain.h"
#include "envgen/predict/predict.h"
#include "lint/lint.h"
#include "model/model.h"
#include "model/workload/job.h"
#include "probe/machines/machines.h"
#include "probe/source/probe.h"

/* ---- nccltune whatif --workload: the step of a job before and after, by phase, and the changes that save most ---- */

#define COMMAND      "nccltune whatif"
#define FORMAT       "nccltune-whatif-step/1"
#define LONG_STEP_US 100e6 /* in seconds from here on */

struct whatif_job {
    const char *workload; /* a file */
    int nodes;            /* that it must have; 0: its own */
    double measured_s;    /* what its communication takes a step, or one collective; 0: not said */
    uint64_t bytes;       /* of that collective; 0: not said */
    double usual_s;       /* what it takes where nothing is wrong; 0: not said */
};

struct comparison {
    struct whatif *w;
    const struct workload *job;
    int before, shown;           /* cases that were asked for; what is tried beyond them only counts as a change */
    int own;                     /* the job's own case: before, without --against the last one that has settings */
    struct step_estimate *steps; /* of every case, those that are tried too */
    struct step_changes changes;
    struct step_causes causes; /* why it may take longer */
    double measured_us;        /* what its communication takes; 0: not said */
    const char *file;          /* of the job */
    double unit_us;            /* of the tables */
};

/* Step `i` under its case, beside the one before. */
static int estimate(struct comparison *c, int i, struct err *e)
{
    const struct whatif_case *cases = c->w->cases;
    return env_step_between(&cases[c->before].setup, &cases[i].setup, c->job, c->w->arena, &c->steps[i], e);
}

/* "allreduce: why" of the first call that a case's settings leave no time for; NULL: none. */
static const char *failure_of(const struct comparison *c, int i)
{
    const struct step_estimate *s = &c->steps[i];
    for (int p = 0; p < s->workload->nphases; p++)
        for (int k = 0; k < s->phases[p].phase->ncalls; k++) {
            const struct step_call *call = &s->phases[p].calls[k];
            if (call->fails)
                return arena_printf(c->w->arena, "%s: %s", coll_name(call->call->kind), call->fails);
        }
    return NULL;
}

/* Every setting of the job left away, one at a time. */
static int try_without(struct comparison *c, struct err *e)
{
    const struct whatif_case base = c->w->cases[c->own];
    int rc = 0;
    for (int skip = 0; skip < base.nsettings && skip < 32 && !rc; skip++) {
        struct bench_setting *rest = arena_alloc(c->w->arena, (size_t)base.nsettings * sizeof *rest);
        int n = 0;
        for (int i = 0; i < base.nsettings; i++)
            if (i != skip)
                rest[n++] = base.settings[i];
        rc = whatif_add_job(
            c->w, arena_printf(c->w->arena, "without %s=%s", base.settings[skip].name, base.settings[skip].value), rest,
            n, base.table);
        if (!rc)
            rc = estimate(c, c->w->ncases - 1, e);
    }
    return rc;
}

static int under_own(void *arg, const struct workload *w, struct step_estimate *out, struct err *e)
{
    const struct comparison *c = arg;
    const struct model_setup *s = &c->w->cases[c->own].setup;
    return env_step_between(s, s, w, c->w->arena, out, e);
}

static int compare(struct comparison *c, struct err *e)
{
    int rc = 0;
    for (int i = 0; i < c->shown && !rc; i++)
        rc = estimate(c, i, e);
    if (!rc && failure_of(c, c->own))
        c->own = c->before;
    if (!rc)
        rc = try_without(c, e);
    if (rc)
        return rc;
    c->changes.of = c->own ? c->w->cases[c->own].label : NULL;
    for (int i = 1; i < c->w->ncases; i++) {
        const struct whatif_case *other = &c->w->cases[i];
        int is_jobs = i >= c->shown || other->ngiven || other->table; /* no job changes its machine */
        if (i != c->own && is_jobs && !failure_of(c, i))
            step_changes_add(&c->changes, other->label,
                             step_time_less(&c->steps[c->own].tuned.waits, &c->steps[i].tuned.waits));
    }
    struct step_estimate now;
    rc = under_own(c, c->job, &now, e);
    rc = rc ? rc : step_changes_of_job(&c->changes, &now, under_own, c, e);
    return rc ? rc : step_causes_of(&c->w->cases[c->own].setup, c->job, c->measured_us, c->w->arena, &c->causes, e);
}

/* ---- for people ---- */

static double waits_us(const struct workload_call *c, double us)
{
    return c->count * fmax(0, us - fmax(0, c->overlap_us));
}

/* What bounds the calls whose waiting changed most, or those that wait longest where none has. */
static const char *find_limit(const struct step_estimate *s)
{
    const char *limit = "";
    double most = 0;
    for (int is_change = 1; is_change >= 0 && !*limit; is_change--)
        for (int i = 0; i < s->workload->nphases; i++)
            for (int k = 0; k < s->phases[i].phase->ncalls; k++) {
                const struct step_call *x = &s->phases[i].calls[k];
                double us = fabs(waits_us(x->call, x->tuned.us) - (is_change ? waits_us(x->call, x->now.us) : 0));
                if (x->source != STEP_PREDICTED || !x->why || us <= most)
                    continue;
                most = us;
                limit = x->why;
            }
    return limit;
}

static const char *label_of(const struct comparison *c, int i)
{
    return env_comment(c->w->arena, c->w->cases[i].label);
}

static const char *band_text(const struct comparison *c, const struct step_time *t)
{
    return arena_printf(c->w->arena, "(%.1f to %.1f)", t->low_us / c->unit_us, t->high_us / c->unit_us);
}

static void print_cases(const struct comparison *c)
{
    const struct step_estimate *first = &c->steps[c->before];
    const double unit = c->unit_us;
    int width = 20;
    for (int i = 0; i < c->shown; i++)
        width = (int)strlen(c->w->cases[i].label) > width ? (int)strlen(c->w->cases[i].label) : width;
    width = width < 100 ? width : 100;
    printf("%s on %s: %d ranks, %d per node; PREDICTED time of one step in %s\n"
           "communication: what compute does not hide; nccltune explain --workload tells all of it\n\n",
           env_comment(c->w->arena, c->file), c->w->machine, c->job->ranks, c->job->ranks_per_node,
           unit > 1e3 ? "seconds" : "milliseconds");
    printf("%-*s %13s %-24s %11s %10s  bound by\n", width, "", "communication", "(low to high)",
           first->compute_us > 0 ? "step" : "", "change");
    for (int i = 0; i < c->shown; i++) {
        const struct step_time *t = &c->steps[i].tuned.waits;
        const struct whatif_case *of = &c->w->cases[i];
        const char *failure = failure_of(c, i);
        char step[24] = "", change[24] = "";
        if (failure) {
            printf("%-*s cannot be predicted: %s\n", width, label_of(c, i), failure);
            continue;
        }
        if (first->compute_us > 0)
            snprintf(step, sizeof step, "%.1f", (t->us + first->compute_us) / unit);
        if (of->silent && strstr(of->silent, "NCCL_") && !of->nsettings && !of->table)
            snprintf(change, sizeof change, "?");
        else if (i != c->before)
            snprintf(change, sizeof change, "%+.1f", (t->us - first->now.waits.us) / unit);
        printf("%-*s %13.1f %-24s %11s %10s  %s\n", width, label_of(c, i), t->us / unit, band_text(c, t), step, change,
               find_limit(&c->steps[i]));
    }
    for (int i = 1; i < c->shown; i++)
        if (c->w->cases[i].silent)
            printf("%s: the model is silent on %s: no figure has its effect\n", label_of(c, i),
                   env_comment(c->w->arena, c->w->cases[i].silent));
    for (int i = 0; i < c->job->nnotes; i++)
        if (strstr(c->job->notes[i], ", micro-batch "))
            printf("Every sequence at full length: %s\n", env_comment(c->w->arena, c->job->notes[i]));
    struct step_time whole = env_step_whole(first);
    if (first->compute_high_us > first->compute_us)
        printf("The step before: %.1f to %.1f %s (80 %% interval, doc/MODEL.md).\n", whole.low_us / unit,
               whole.high_us / unit, unit > 1e3 ? "s" : "ms");
}

static void print_phases(const struct comparison *c)
{
    const struct step_estimate *s = &c->steps[c->shown - 1];
    const double unit = c->unit_us;
    if (c->shown - 1 == c->before || failure_of(c, c->shown - 1))
        return;
    printf("\nCommunication by phase: before, %s; after, %s\n", label_of(c, c->before), label_of(c, c->shown - 1));
    printf("%-26s %11s %11s %-24s %11s %-24s\n", "phase", "compute", "before", "(low to high)", "after",
           "(low to high)");
    for (int i = 0; i < c->job->nphases; i++) {
        const struct step_phase *p = &s->phases[i];
        char compute[24] = "?";
        if (p->phase->compute_us >= 0)
            snprintf(compute, sizeof compute, "%.1f", p->phase->compute_us * (1 + p->phase->bubble) / unit);
        printf("%-26s %11s %11.1f %-24s %11.1f %-24s\n", env_comment(c->w->arena, p->phase->name), compute,
               p->now.waits.us / unit, band_text(c, &p->now.waits), p->tuned.waits.us / unit,
               band_text(c, &p->tuned.waits));
    }
}

static void print_rest(const struct comparison *c)
{
    step_changes_print(&c->changes, stdout);
    step_causes_print(&c->causes, c->measured_us, stdout);
    const struct step_estimate *s = &c->steps[c->before];
    if (s->unknown)
        printf("%d call%s of the job cannot be predicted and are in no sum.\n", s->unknown, s->unknown == 1 ? "" : "s");
    if (s->compute_unknown)
        printf("The compute time of %d phase%s is unknown (?) and in no sum.\n", s->compute_unknown,
               s->compute_unknown == 1 ? "" : "s");
    for (int i = 0; i < s->nassumptions; i++)
        printf("Assumed: %s\n", env_comment(c->w->arena, s->assumptions[i]));
}

/* ---- for programs ---- */

static int save(const struct comparison *c, struct err *e)
{
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "format", FORMAT);
    json_add_str(doc, "machine", c->w->machine);
    json_add_str(doc, "workload", c->job->name);
    cJSON_AddNumberToObject(doc, "compute_us", c->steps[c->before].compute_us);
    struct step_time whole = env_step_whole(&c->steps[c->before]);
    step_time_json(doc, "step", &whole);
    cJSON_AddNumberToObject(doc, "before", c->before);
    cJSON *cases = cJSON_AddArrayToObject(doc, "cases");
    for (int i = 0; i < c->shown; i++) {
        cJSON *o = json_append(cases), *phases = NULL;
        const char *failure = failure_of(c, i);
        json_add_str(o, "label", c->w->cases[i].label);
        json_add_str(o, "problem", failure);
        if (failure)
            continue;
        step_time_json(o, "communication", &c->steps[i].tuned.waits);
        phases = cJSON_AddArrayToObject(o, "phases");
        for (int k = 0; k < c->job->nphases; k++) {
            cJSON *p = json_append(phases);
            json_add_str(p, "name", c->job->phases[k].name);
            step_time_json(p, "communication", &c->steps[i].phases[k].tuned.waits);
        }
    }
    step_changes_json(&c->changes, doc);
    step_causes_json(&c->causes, c->measured_us, doc);
    return json_save(doc, NULL, e);
}

/* Prints the step of a workload file, or of a launch script, under case `before` and under every other one, and what
 * would save most and what may be wrong; adds the cases that it tries for that. */
static int compare_step(struct whatif *w, int before, const struct whatif_job *asked, int json, struct err *e)
{
    const struct model_setup *base = &w->cases[0].setup;
    struct workload *job = cli_workload_open(COMMAND, asked->workload, base->nccl.topology, asked->nodes, e);
    if (!job)
        return e->code;
    struct comparison c = {.w = w,
                           .job = job,
                           .before = before,
                           .shown = w->ncases,
                           .own = before ? before : w->ncases - 1,
                           .changes = {.arena = w->arena},
                           .file = asked->workload,
                           .unit_us = 1e3,
                           .measured_us = 1e6 * asked->measured_s};
    while (c.own && !before && !w->cases[c.own].nsettings)
        c.own--;
    size_t most = (size_t)w->ncases + (size_t)w->cases[c.own].nsettings;
    c.steps = arena_alloc(w->arena, most * sizeof *c.steps);
    int rc = compare(&c, e);
    for (int i = 0; i < c.shown && !rc; i++)
        if (c.steps[i].tuned.waits.us + c.steps[i].compute_us >= LONG_STEP_US)
            c.unit_us = 1e6;
    if (!rc && json) {
        rc = save(&c, e);
    } else if (!rc) {
        print_cases(&c);
        print_phases(&c);
        print_rest(&c);
    }
    workload_free(job);
    return rc;
}

/* ---- nccltune whatif --measured without a workload: why one collective takes so long ---- */

#define SIZING 8 /* rounds until the model's time of a size is the usual one */

static int find_causes(struct whatif *w, uint64_t bytes, double measured_us, struct step_causes *causes, struct err *e)
{
    const struct nccl_setup *s = &w->cases[0].setup.nccl;
    const struct whatif_case *job = &w->cases[w->ncases - 1]; /* with its settings, where there are some */
    const int gpus = s->topology->classes[s->class_index].ngpus, local = s->ranks_per_node ? s->ranks_per_node : gpus;
    struct workload *one = workload_of_call(w->coll, bytes, local * (s->nodes ? s->nodes : 1), local);
    int rc = step_causes_of(&job->setup, one, measured_us, w->arena, causes, e);
    workload_free(one);
    return rc;
}

/* Where only the usual time is known, the size is the one that the model has it for. */
static int explain_call(struct whatif *w, const struct whatif_job *asked, int json, struct err *e)
{
    const double measured_us = 1e6 * asked->measured_s;
    struct step_causes causes;
    uint64_t bytes = asked->bytes ? asked->bytes : UINT64_C(1) << 30;
    int rc = find_causes(w, bytes, measured_us, &causes, e);
    for (int i = 0; i < SIZING && !rc && !asked->bytes; i++) {
        double factor = 1e6 * asked->usual_s / causes.sound.us;
        if (!(factor * (double)bytes >= 1 && factor * (double)bytes < 1e15))
            return err_set(e, ERR_USAGE, "--usual: no size of this collective takes that long on this machine");
        if (factor > 0.99 && factor < 1.01)
            break;
        bytes = (uint64_t)(factor * (double)bytes);
        rc = find_causes(w, bytes, measured_us, &causes, e);
    }
    if (rc)
        return rc;
    if (json) {
        cJSON *doc = cJSON_CreateObject();
        cJSON_AddStringToObject(doc, "format", FORMAT);
        json_add_str(doc, "machine", w->machine);
        cJSON_AddNumberToObject(doc, "bytes", (double)bytes);
        step_causes_json(&causes, measured_us, doc);
        return json_save(doc, NULL, e);
    }
    printf("One %s of %.3g GB on %s, PREDICTED", coll_name(w->coll), (double)bytes / 1e9, w->machine);
    puts(asked->bytes ? "" : "; the size follows from the usual time");
    step_causes_print(&causes, measured_us, stdout);
    return 0;
}

static const struct cli_page page = {
    COMMAND,
    "nccltune whatif --machine NAME | --topology FILE | --from FILE [OPTION]...\n"
    "Predict a collective on variations of a machine, with NCCL's default and tuned. Nothing is measured, and the "
    "machine\n"
    "need not exist. Without any variation, show all that make sense for it.\n",
    "Examples\n"
    "  nccltune whatif --machine azure-ndv5 --nodes 32\n"
    "  nccltune whatif --machine dgx-a100 --nodes 16 --dead-rail mlx5_3 --sockets\n"
    "  nccltune whatif --machine azure-ndv4 --nodes 2 --set NCCL_IB_HCA=mlx5_ib0,mlx5_ib1 --set NCCL_NET=Socket\n"
    "  nccltune whatif --topology topology.json --nodes 8 --script job.sbatch --profile profile\n"
    "  nccltune whatif --machine dgx-a100 --nodes 2 --measured 210ms --usual 85ms\n"
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

struct request {
    struct model_fit fit;
    struct cli_machine machine;
    struct model_setup base;
    struct variation *variations;
    int nvariations;
    int coll;
    const char *calibration;
    struct whatif_job job;
    int json, before; /* before: the case that others are compared with */
};

static const struct option_spec setup_options[] = {
    {0, "ranks-per-node", "N", "default: a node's GPUs", option_int, offsetof(struct request, base.nccl.ranks_per_node),
     .low = 1, .high = 4096},
    {0, "nccl", "VERSION", "release whose default is predicted, such as 2.28.9 (default: the newest known)",
     cli_take_release, offsetof(struct request, base.nccl.version)},
    PREDICT_LAUNCH_OPTION(struct request, base.launcher),
    {0, "calibration", "FILE", "fit predictions to measurements of such nodes: a journal of nccltune bench",
     option_text, offsetof(struct request, calibration)},
    {0, "nodes-per-leaf", "N", "nodes per leaf switch (default: as 32 ports suggest)", option_int,
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
    const char *lines = rc ? NULL : workload_launch_lines(v->text, w->arena);
    if (lines && v->job.nsettings)
        log_warn(v->log, "%s trains more than once (lines %s): the last value of each variable is predicted",
                 v->job.label, lines);
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
/* "NAME=VALUE NAME=VALUE". Error: a name that NCCL is not known to read, even by mistake. */
static int take_settings(const struct option_value *v, void *out, struct err *e)
{
    for (const char *at = v->text + strspn(v->text, " "); *at; at += strspn(at, " ")) {
        char name[64];
        size_t n = strcspn(at, "= ");
        if (at[n] == '=' && snprintf(name, sizeof name, "%.*s", (int)n, at) > 0 && env_explain_check(NULL, name, e))
            return e->code;
        const struct env_other *other = at[n] == '=' ? env_other_find(name) : NULL;
        if (other && other->status == ENV_MISSPELT)
            return err_set(e, ERR_USAGE, "'%s' is not a known variable of NCCL; did you mean %s?", name, other->use);
        at += strcspn(at, " ");
    }
    return option_text(v, out, e);
}

/* "3", and "3:1" as the table prints it. */
static int take_factor(const struct option_value *v, void *out, struct err *e)
{
    struct option_value factor = *v;
    const char *colon = strchr(v->text, ':');
    if (colon && !strcmp(colon, ":1"))
        factor.text = arena_strndup(v->arena, v->text, (size_t)(colon - v->text));
    return option_number(&factor, out, e);
}

static const struct variation_kind variation_kinds[] = {
    {"--set", take_settings, MEMBER(text), .by_text = whatif_add_settings},
    {"--script", option_text, MEMBER(text), .add = add_file},
    {"--pid", option_int, MEMBER(pid), .add = add_process},
    {"--profile", option_text, MEMBER(text), .add = add_profile},
    {"--against", option_text, MEMBER(text), .add = add_against},
    {"--hcas", option_text, MEMBER(text), .by_text = whatif_add_hcas},
    {"--dead-rail", option_text, MEMBER(text), .by_text = whatif_add_dead},
    {"--half-width", option_text, MEMBER(text), .by_text = whatif_add_half_width},
    {"--sockets", .plain = whatif_add_sockets},
    {"--mixed-rails", .plain = whatif_add_mixed_rails},
    {"--oversubscription", take_factor, MEMBER(factor), .add = add_oversubscription},
    {"--more-nodes", cli_take_node_counts, MEMBER(nodes), .add = add_nodes},
};

static int take_variation(const struct option_value *v, void *out, struct err *e)
{
    struct request *r = out;
    const struct variation_kind *k = variation_kinds;
    while (strcmp(k->option, v->what) != 0)
        k++; /* every row of the options below has one */
    struct variation *last = &ARENA_ADD(v->arena, r->variations, r->nvariations);
    last->kind = k;
    if (k->add == add_against)
        r->before = r->nvariations - 1;
    return k->take ? k->take(v, (char *)last + k->member, e) : 0;
}

static const char *variable_word(int i)
{
    const struct env_var *v = env_var_at((size_t)i);
    return v ? v->name : NULL;
}

static const struct option_spec variation_options[] = {
    {0, "set", "NAME=VALUE...", "set these variables: 'NCCL_IB_HCA=mlx5_0,mlx5_1 NCCL_ALGO=Ring'", take_variation, 0,
     .word = variable_word},
    {0, "script", "FILE", "the settings of this script, manifest or configuration file (nccl.conf)", take_variation, 0},
    {0, "pid", "N", "the settings in the environment of process N", take_variation, 0, .low = 1, .high = INT32_MAX},
    {0, "profile", "DIR", "the settings of a profile, and its tuner table", take_variation, 0},
    {0, "against", "NAME=VALUE...", "the variation before it, with these variables added or replaced", take_variation,
     0, .word = variable_word},
    {0, "hcas", "LIST", "NCCL uses only these: mlx5_0,mlx5_1", take_variation, 0},
    {0, "dead-rail", "HCA", "this HCA is missing on every node", take_variation, 0},
    {0, "half-width", "HCA", "its PCIe link has half its lanes", take_variation, 0},
    {0, "sockets", NULL, "no RDMA, such as after a wrong GID: NCCL falls back to TCP", take_variation, 0},
    {0, "mixed-rails", NULL, "leaf switches serve all HCAs of a few nodes instead of one rail of many", take_variation,
     0},
    {0, "oversubscription", "X", "leaves' uplinks carry 1/X of their ports' bandwidth", take_variation, 0, .low = 1,
     .high = 1000},
    {0, "more-nodes", "LIST", "these numbers of nodes: 64,512", take_variation, 0, .low = 1, .high = MACHINE_MOST},
    {0},
};

static const struct option_spec output_options[] = {
    {'c', "collectives", "C", "allreduce by default; one of:", cli_take_collective, offsetof(struct request, coll),
     .word = cli_collective_word},
    {'w', "workload", "FILE",
     "predict the step of this workload or launch script under each variation, by phase, with the largest savings and "
     "possible faults",
     option_text, offsetof(struct request, job.workload)},
    {0, "measured", "TIME",
     "measured time of a step's communication, or of one collective (210ms): show faults that would explain it",
     option_seconds, offsetof(struct request, job.measured_s)},
    {0, "bytes", "N", "only a collective of this size: 4G; with --measured: the one that was measured", option_bytes,
     offsetof(struct request, job.bytes)},
    {0, "usual", "TIME", "with --measured: usual time of that collective (85ms)", option_seconds,
     offsetof(struct request, job.usual_s)},
    {'j', "json", NULL, "print every size as JSON", option_flag, offsetof(struct request, json)},
    {0},
};

/* ---- what came of it --------------------------------------------------------------------------------------------- */

/* The release that a script loads, "2.21.5" of "module load nccl/2.21.5"; "": none. */
static const char *loaded_release(const char *path, struct arena *a)
{
    char *text;
    size_t bytes;
    if (file_read_text(path, 4u << 20, a, &text, &bytes, NULL))
        return "";
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
        for (char *p = line[strspn(line, " \t")] == '#' ? NULL : line; p && (p = strcasestr(p, "nccl/2.")); p++)
            /* aws-ofi-nccl/2.1 is another's release. */
            if (isdigit((unsigned char)p[7]) && (p == line || strchr(" \t/\"'=:", p[-1])))
                return arena_strndup(a, p + 5, strspn(p + 5, "0123456789."));
    return "";
}

static int names_word(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; (p = strstr(p, word)); p += n)
        if ((p == list || p[-1] == ' ') && (!p[n] || p[n] == ','))
            return 1;
    return 0;
}

/* Print what lint calls an error in the variation's settings, or in its file. Only what keeps a job from starting has
 * no figure: for the rest NCCL reads a known value, and so does the model. */
static int check_settings(const struct whatif *w, const struct variation *v, const struct whatif_case *c,
                          struct log *log, struct err *e)
{
    static const char *const ends_job[] = {"NT207", "NT216", "NT406", "NT414"};
    const char *file = v->kind->add == add_file && strcmp(v->text, "-") != 0 ? v->text : NULL;
    int version = c->setup.nccl.version ? c->setup.nccl.version : ENV_NEWEST, n = 0;
    struct lint *l = lint_new(&(struct lint_options){.nccl_low = version, .nccl_high = version, .rccl = -1});
    const char *ends = "", *advice = "";
    const char *loads = file && !c->setup.nccl.version ? loaded_release(file, w->arena) : "";
    struct finding f;
    if (*loads)
        log_warn(log, "%s loads NCCL %s: --nccl %s predicts that release instead of the newest", c->label, loads,
                 loads);
    for (int i = 0; i < c->ngiven && !file; i++)
        lint_add(l, c->given[i].name, c->given[i].value);
    if (file)
        lint_read_file(l, file, NULL, NULL);
    lint_check(l);
    for (size_t i = 0; lint_finding(l, i, &f); i++) {
        if (f.severity != FINDING_ERROR ||
            !strcmp(f.id, "NT209")) /* nothing for some collectives, a figure for others */
            continue;
        int lost = 0;
        for (int k = 0; k < v->job.nlost; k++)
            lost |= names_word(v->job.lost[k].value, f.subject);
        if (lost)
            continue;
        if (!strcmp(f.id, "NT608")) {
            log_warn(log, "%s: lines end in CR LF (NT608): predicted as if they ended in LF", c->label);
            continue;
        }
        if (!n++)
            log_warn(log, "%s: what is wrong, and what NCCL makes of it%s%s%s:", c->label,
                     file ? " ('nccltune lint --fix=all " : "", file ? file : "",
                     file ? "' corrects what it can)" : "");
        for (size_t k = 0; k < sizeof ends_job / sizeof *ends_job; k++)
            for (int s = 0; s < c->ngiven && !strcmp(f.id, ends_job[k]); s++)
                if (!strcmp(c->given[s].name, f.subject) && f.value && !strcmp(c->given[s].value, f.value)) {
                    ends = arena_printf(w->arena, "%s%s%s=%s (%s)", ends, *ends ? " or " : "", f.subject,
                                        env_comment(w->arena, f.value), f.id);
                    advice = strstr(advice, f.advice) ? advice : arena_printf(w->arena, "%s %s", advice, f.advice);
                }
        f.file = f.advice = NULL;
        finding_print(&f, 4, stderr);
    }
    if (*ends)
        err_set(e, ERR_FAILED, "%s: no job can start with %s.%s", c->label, ends, advice);
    lint_free(l);
    return e->code;
}

/* The settings of a launch script that is the workload: those of --script, if nothing else is asked for. */
static int add_workload_script(struct whatif *w, const char *path, struct log *log, struct err *e)
{
    static const struct variation_kind script = {"--script", .add = add_file};
    struct variation v = {.kind = &script, .text = path, .log = log};
    if (!add_file(w, &v, NULL) && !w->cases[w->ncases - 1].ngiven)
        w->ncases--;
    else if (w->ncases > 1)
        return check_settings(w, &v, &w->cases[w->ncases - 1], log, e);
    return 0;
}

static int predict_variations(struct request *a, const struct topology *t, struct log *log, struct err *e)
{
    const char *name = a->machine.name ? a->machine.name : t->source ? t->source : "the topology";
    a->base.nccl.topology = t;
    a->base.nccl.nodes = a->machine.nodes.count ? a->machine.nodes.items[0] : 0;
    a->base.nccl.class_index = topo_gpu_class(t);
    if (a->calibration && a->base.nccl.class_index >= 0 && calibration_load(a->calibration, &a->base, &a->fit, log, e))
        return e->code;
    struct whatif *w = whatif_new(name, a->coll, &a->base, e);
    if (!w)
        return e->code;
    w->bytes = a->job.bytes;
    if (t->nclasses > 1)
        log_warn(log, "the nodes are not all alike: predicted for nodes of %s only",
                 t->classes[w->cases[0].setup.nccl.class_index].name);
    int rc = a->nvariations || a->job.workload || a->job.measured_s > 0 ? 0 : whatif_add_usual(w, e);
    if (!rc && a->job.workload && !a->nvariations)
        rc = add_workload_script(w, a->job.workload, log, e);
    for (int i = 0; i < a->nvariations && !rc; i++) {
        struct variation *v = &a->variations[i];
        int n = w->ncases;
        v->log = log;
        const struct variation_kind *k = v->kind;
        rc = k->by_text ? k->by_text(w, v->text, e) : k->plain ? k->plain(w, e) : k->add(w, v, e);
        for (; n < w->ncases && !rc; n++)
            rc = check_settings(w, v, &w->cases[n], log, e);
    }
    if (!rc && a->job.workload)
        rc = compare_step(w, a->before, &a->job, a->json, e);
    else if (!rc && a->job.measured_s > 0)
        rc = explain_call(w, &a->job, a->json, e);
    else if (!rc && !(rc = whatif_predict(w, e)))
        rc = a->json ? json_save(whatif_json(w), NULL, e) : (whatif_print(w, stdout), 0);
    for (int i = 0; i < a->nvariations; i++)
        tuner_table_free(&a->variations[i].job.table);
    whatif_free(w);
    return rc;
}

static int run_request(void *request, char **words, struct arena *a, struct err *e)
{
    struct request *r = request;
    struct log log = cli_log(COMMAND, 0);
    (void)words;
    if (r->machine.nodes.count > 1 && (r->job.workload || r->job.measured_s > 0))
        return err_set(e, ERR_USAGE, "--nodes: one number with --workload or --measured");
    if (r->job.measured_s > 0 && !r->job.workload && !r->job.bytes && !(r->job.usual_s > 0))
        return err_set(e, ERR_USAGE,
                       "--measured needs --bytes 4G or --usual 85ms of one collective, or --workload FILE");
    if (r->job.usual_s > 0 && !(r->job.measured_s > 0))
        return err_set(e, ERR_USAGE, "--usual belongs to --measured");
    if (r->job.bytes && r->job.workload)
        return err_set(e, ERR_USAGE, "--bytes is of one collective, --workload has its own");
    for (int i = 0; i < r->nvariations && r->job.workload; i++)
        if (r->variations[i].kind->add == add_nodes)
            return err_set(e, ERR_USAGE, "--more-nodes: the number of nodes is the job's; change it in %s",
                           r->job.workload);
    for (int i = 0; i < r->nvariations && !r->job.workload && !r->machine.nodes.count; i++)
        if (r->variations[i].kind->add == add_file &&
            (r->machine.nodes.items[0] = workload_launch_nodes(r->variations[i].text, NULL, 0)) > 0)
            r->machine.nodes.count = 1;
    r->job.nodes = r->machine.nodes.count ? r->machine.nodes.items[0] : 0;
    if (r->machine.nodes.count > 1) { /* the first is the machine as it is */
        struct variation *v = &ARENA_ADD(a, r->variations, r->nvariations);
        v->kind = &variation_kinds[sizeof variation_kinds / sizeof *variation_kinds - 1]; /* --more-nodes */
        v->nodes.count = r->machine.nodes.count - 1;
        memcpy(v->nodes.items, r->machine.nodes.items + 1, (size_t)v->nodes.count * sizeof *v->nodes.items);
    }
    struct topology *t =
        cli_machine_named(&r->machine) ? cli_machine_open(&r->machine, &log, e) : probe_machine(&log, e);
    int rc = t ? predict_variations(r, t, &log, e) : e->code;
    topo_free(t);
    return rc;
}

int whatif_main(int argc, char **argv)
{
    struct request r = {.coll = COLL_ALLREDUCE};
    struct option_group groups[] = {{"The machine (default: this one)", cli_machine_options, &r.machine},
                                    {"How it is run", setup_options, &r},
                                    {"Variations; each may be repeated", variation_options, &r},
                                    {"What to show", output_options, &r},
                                    {0}};
    return cli_run(&page, groups, argc, argv, run_request, &r);
}
