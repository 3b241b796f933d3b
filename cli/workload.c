/* nccltune workload: what a job asks of its collectives, from its model and framework, or merged from a capture. */
#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/workload/generate.h"
#include "bench/workload/job.h"
#include "cli/cli.h"
#include "core/file.h"
#include "core/json.h"
#include "core/units.h"

static const char *const usage =
    "Usage: nccltune workload --preset NAME [OPTION]...\n"
    "       nccltune workload --model NAME --framework NAME [OPTION]...\n"
    "       nccltune workload --merge FILE... [-o FILE]\n"
    "       nccltune workload --list\n"
    "Write what one step of a training job asks of its collectives: kind, bytes, count, group, placement.\n\n"
    "  -o FILE                  write the workload file there; without it, to standard output unless that is a\n"
    "                           terminal\n"
    "      --json               the workload file to standard output in any case (with --list: the list)\n"
    "      --summary            a table to standard output in any case\n"
    "      --list               the presets, models and frameworks known by name\n"
    "      --preset NAME        a job known by name; further options change it\n"
    "      --topology FILE      check against this machine's NVLink domain and rails\n"
    "      --name TEXT          name of the workload\n"
    "Model:\n"
    "      --model NAME         a model known by name, or any name with the shape below\n"
    "      --layers --hidden --vocab N            needed for other models\n"
    "      --heads --kv-heads --head-dim --intermediate N   default hidden/128, heads, hidden/heads, 8/3 hidden\n"
    "      --experts --experts-per-token --expert-intermediate N\n"
    "      --tied               embedding and output head are one matrix\n"
    "      --params N           the total (7B, 350M) in place of the shape of the layers\n"
    "Job:\n"
    "      --framework NAME     fsdp2, fsdp, zero3, zero3-offload, megatron, vllm-rollout\n"
    "      --algorithm NAME     train (default), grpo, ppo\n"
    "      --nodes --gpus-per-node N\n"
    "      --tp --pp --dp --ep --etp N            parallelism of the trainer\n"
    "      --ref-tp --ref-pp --rollout-tp N       of the reference model and the inference engine\n"
    "      --micro-batch N      sequences of one forward pass of one rank\n"
    "      --grad-accum N       micro-batches per optimizer step\n"
    "      --updates N          optimizer steps per step of an RL job\n"
    "      --mini-batch N       sequences per optimizer step over all ranks, to be checked\n"
    "      --prompt --response N, --seq N         tokens; --seq is both together\n"
    "      --dtype --reduce-dtype NAME            bfloat16, float16, float32, float8\n"
    "      --offload            optimizer state in host memory\n"
    "      --recompute          full activation recomputation\n"
    "      --no-sequence-parallel\n"
    "      --no-custom-all-reduce   vLLM leaves every AllReduce to NCCL (disable_custom_all_reduce, no NVLink)\n"
    "      --tflops X           what one GPU reaches; adds compute times, marked as assumed\n";

struct options {
    struct workload_job job;
    const char *topology, *output;
    int list, merge, json, summary;
};

/* Options that are one whole number of the job or of its model. */
static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    {"layers", offsetof(struct workload_job, model.layers)},
    {"hidden", offsetof(struct workload_job, model.hidden)},
    {"vocab", offsetof(struct workload_job, model.vocab)},
    {"heads", offsetof(struct workload_job, model.heads)},
    {"kv-heads", offsetof(struct workload_job, model.kv_heads)},
    {"head-dim", offsetof(struct workload_job, model.head_dim)},
    {"intermediate", offsetof(struct workload_job, model.intermediate)},
    {"experts", offsetof(struct workload_job, model.experts)},
    {"experts-per-token", offsetof(struct workload_job, model.experts_per_token)},
    {"expert-intermediate", offsetof(struct workload_job, model.expert_intermediate)},
    {"nodes", offsetof(struct workload_job, nodes)},
    {"gpus-per-node", offsetof(struct workload_job, gpus_per_node)},
    {"tp", offsetof(struct workload_job, tp)},
    {"pp", offsetof(struct workload_job, pp)},
    {"dp", offsetof(struct workload_job, dp)},
    {"ep", offsetof(struct workload_job, ep)},
    {"etp", offsetof(struct workload_job, etp)},
    {"ref-tp", offsetof(struct workload_job, ref_tp)},
    {"ref-pp", offsetof(struct workload_job, ref_pp)},
    {"rollout-tp", offsetof(struct workload_job, rollout_tp)},
    {"micro-batch", offsetof(struct workload_job, micro_batch)},
    {"grad-accum", offsetof(struct workload_job, grad_accum)},
    {"updates", offsetof(struct workload_job, updates)},
    {"mini-batch", offsetof(struct workload_job, mini_batch)},
    {"prompt", offsetof(struct workload_job, prompt)},
    {"response", offsetof(struct workload_job, response)},
};
#define NUMBERS ((int)(sizeof numbers / sizeof *numbers))

static const struct {
    const char *name;
    size_t offset;
} flags[] = {
    {"tied", offsetof(struct workload_job, model.tied)},
    {"offload", offsetof(struct workload_job, offload)},
    {"recompute", offsetof(struct workload_job, recompute)},
    {"no-sequence-parallel", offsetof(struct workload_job, no_sequence_parallel)},
    {"no-custom-all-reduce", offsetof(struct workload_job, no_custom_all_reduce)},
};
#define FLAGS ((int)(sizeof flags / sizeof *flags))

enum {
    OPT_NUMBER = 1000,
    OPT_FLAG = 2000,
    OPT_LIST = 3000,
    OPT_PRESET,
    OPT_MERGE,
    OPT_JSON,
    OPT_SUMMARY,
    OPT_MODEL,
    OPT_PARAMS,
    OPT_FRAMEWORK,
    OPT_ALGORITHM,
    OPT_TOPOLOGY,
    OPT_NAME,
    OPT_SEQ,
    OPT_DTYPE,
    OPT_REDUCE_DTYPE,
    OPT_TFLOPS,
    OPT_HELP,
};

static const struct option words[] = {
    {"list", no_argument, NULL, OPT_LIST},
    {"preset", required_argument, NULL, OPT_PRESET},
    {"merge", no_argument, NULL, OPT_MERGE},
    {"json", no_argument, NULL, OPT_JSON},
    {"summary", no_argument, NULL, OPT_SUMMARY},
    {"model", required_argument, NULL, OPT_MODEL},
    {"params", required_argument, NULL, OPT_PARAMS},
    {"framework", required_argument, NULL, OPT_FRAMEWORK},
    {"algorithm", required_argument, NULL, OPT_ALGORITHM},
    {"topology", required_argument, NULL, OPT_TOPOLOGY},
    {"name", required_argument, NULL, OPT_NAME},
    {"seq", required_argument, NULL, OPT_SEQ},
    {"dtype", required_argument, NULL, OPT_DTYPE},
    {"reduce-dtype", required_argument, NULL, OPT_REDUCE_DTYPE},
    {"tflops", required_argument, NULL, OPT_TFLOPS},
    {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, OPT_HELP},
};
#define WORDS ((int)(sizeof words / sizeof *words))

/* ---- what is known by name ---- */

static int list_json(struct err *e)
{
    cJSON *doc = cJSON_CreateObject();
    cJSON *presets = cJSON_AddArrayToObject(doc, "presets");
    for (const struct workload_preset *p = workload_presets; p->name; p++) {
        cJSON *o = cJSON_CreateObject();
        json_add_str(o, "name", p->name);
        json_add_str(o, "description", p->description);
        json_add_str(o, "model", p->model);
        json_add_str(o, "framework", p->job.framework);
        cJSON_AddItemToArray(presets, o);
    }
    cJSON *models = cJSON_AddArrayToObject(doc, "models");
    for (const struct language_model *m = language_models; m->name; m++) {
        cJSON *o = cJSON_CreateObject();
        json_add_str(o, "name", m->name);
        cJSON_AddNumberToObject(o, "parameters", (double)language_model_parameters(m));
        cJSON_AddItemToArray(models, o);
    }
    cJSON *frameworks = cJSON_AddArrayToObject(doc, "frameworks");
    for (const struct workload_framework *f = workload_frameworks; f->name; f++)
        cJSON_AddItemToArray(frameworks, cJSON_CreateString(f->name));
    int rc = json_save(doc, NULL, e);
    cJSON_Delete(doc);
    return rc;
}

static int list(void)
{
    puts("Presets:");
    for (const struct workload_preset *p = workload_presets; p->name; p++)
        printf("  %-32s %s\n", p->name, p->description);
    puts("\nModels:");
    for (const struct language_model *m = language_models; m->name; m++)
        printf("  %-32s %llu parameters\n", m->name, (unsigned long long)language_model_parameters(m));
    puts("\nFrameworks:");
    for (const struct workload_framework *f = workload_frameworks; f->name; f++)
        printf("  %-32s %s\n", f->name, f->description);
    return 0;
}

/* ---- the command line ---- */

/* "7615616512", "7B", "350M": a number of parameters. */
static int parse_params(const char *s, uint64_t *value, struct err *e)
{
    static const struct {
        const char *suffix;
        double factor;
    } units[] = {{"", 1}, {"K", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}};
    char *end = NULL;
    double v = strtod(s, &end);
    for (size_t i = 0; *s >= '0' && *s <= '9' && v >= 1 && i < sizeof units / sizeof *units; i++)
        if (!strcmp(end, units[i].suffix) && v * units[i].factor <= 1e15) {
            *value = (uint64_t)llround(v * units[i].factor);
            return 0;
        }
    return err_set(e, ERR_USAGE, "--params: '%s' is not a number of parameters such as 7615616512, 7B or 350M", s);
}

static int parse_tflops(const char *s, double *value, struct err *e)
{
    char *end;
    *value = strtod(s, &end);
    if (end == s || *end || !(*value > 0 && *value < 1e6))
        return err_set(e, ERR_USAGE, "--tflops: '%s' is not a number above 0", s);
    return 0;
}

static int parse_count(const char *name, const char *s, int *value, struct err *e)
{
    char what[64];
    long v = 0;
    snprintf(what, sizeof what, "--%s", name);
    int rc = unit_parse_int(s, 1, 1 << 30, &v, what, e);
    *value = (int)v;
    return rc;
}

static int parse_word(int option, const char *arg, struct options *o, struct err *e)
{
    struct workload_job *j = &o->job;
    int algorithm, seq = 0, rc = 0;
    switch (option) {
    case OPT_LIST:
        o->list = 1;
        break;
    case OPT_MERGE:
        o->merge = 1;
        break;
    case OPT_JSON:
        o->json = 1;
        break;
    case OPT_SUMMARY:
        o->summary = 1;
        break;
    case OPT_PARAMS:
        rc = parse_params(arg, &j->model.parameters, e);
        break;
    case OPT_FRAMEWORK:
        j->framework = arg;
        break;
    case OPT_ALGORITHM:
        algorithm = workload_algorithm_parse(arg);
        if (algorithm < 0)
            return err_set(e, ERR_USAGE, "--algorithm: '%s' is none of train, grpo, ppo", arg);
        j->algorithm = (enum workload_algorithm)algorithm;
        break;
    case OPT_TOPOLOGY:
        o->topology = arg;
        break;
    case OPT_NAME:
        j->name = arg;
        break;
    case OPT_SEQ:
        rc = parse_count("seq", arg, &seq, e);
        if (!rc) {
            j->response = seq / 2;
            j->prompt = seq - j->response;
        }
        break;
    case OPT_DTYPE:
        j->dtype = arg;
        break;
    case OPT_REDUCE_DTYPE:
        j->reduce_dtype = arg;
        break;
    case OPT_TFLOPS:
        rc = parse_tflops(arg, &j->tflops, e);
        break;
    case 'o':
        o->output = arg;
        break;
    default:
        break;
    }
    return rc;
}

static void fill_options(struct option list_of[NUMBERS + FLAGS + WORDS + 1])
{
    int n = 0;
    for (int i = 0; i < NUMBERS; i++)
        list_of[n++] = (struct option){numbers[i].name, required_argument, NULL, OPT_NUMBER + i};
    for (int i = 0; i < FLAGS; i++)
        list_of[n++] = (struct option){flags[i].name, no_argument, NULL, OPT_FLAG + i};
    for (int i = 0; i < WORDS; i++)
        list_of[n++] = words[i];
    list_of[n] = (struct option){0};
}

/* Preset and model are taken first, wherever they stand, so that every other option changes them. */
static int apply_names(int argc, char **argv, const struct option *options, struct options *o, struct err *e)
{
    const char *preset = NULL, *model = NULL;
    int c, quiet = opterr;
    opterr = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, "o:h", options, NULL)) != -1)
        if (c == OPT_PRESET)
            preset = optarg;
        else if (c == OPT_MODEL)
            model = optarg;
    opterr = quiet;
    optind = 1;
    if (preset && workload_preset_job(preset, &o->job, e))
        return e->code;
    const struct language_model *known = model ? language_model_find(model) : NULL;
    if (model)
        o->job.model = known ? *known : (struct language_model){.name = model};
    return 0;
}

/* 0: go on. -1: done (help). Otherwise an exit code. */
static int parse(int argc, char **argv, struct options *o)
{
    struct option options[NUMBERS + FLAGS + WORDS + 1];
    struct err e = {0};
    int c, rc;
    fill_options(options);
    rc = apply_names(argc, argv, options, o, &e);
    while (!rc && (c = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
        char *job = (char *)&o->job;
        if (c == 'h' || c == OPT_HELP) {
            fputs(usage, stdout);
            return -1;
        }
        if (c == '?')
            return cli_usage("workload", NULL);
        if (c >= OPT_NUMBER && c < OPT_NUMBER + NUMBERS)
            rc = parse_count(numbers[c - OPT_NUMBER].name, optarg,
                             (int *)(void *)(job + numbers[c - OPT_NUMBER].offset), &e);
        else if (c >= OPT_FLAG && c < OPT_FLAG + FLAGS)
            *(int *)(void *)(job + flags[c - OPT_FLAG].offset) = 1;
        else
            rc = parse_word(c, optarg, o, &e);
    }
    return rc ? cli_usage("workload", "%s", e.text) : 0;
}

/* A model that is not known by name: what was not given of its shape follows the habits of its kind. */
static int complete_model(struct language_model *m, struct err *e)
{
    if (!m->layers || !m->hidden || !m->vocab)
        return err_set(e, ERR_USAGE,
                       "%s%s%s needs --layers, --hidden and --vocab (--list prints the models known by name)",
                       m->name ? "model '" : "a model without a name", m->name ? m->name : "", m->name ? "'" : "");
    if (!m->name)
        m->name = "custom";
    if (!m->heads)
        m->heads = (m->hidden + 127) / 128;
    if (!m->kv_heads)
        m->kv_heads = m->heads;
    if (!m->head_dim)
        m->head_dim = (m->hidden + m->heads - 1) / m->heads;
    if (!m->intermediate)
        m->intermediate = (int)(8.0 / 3 * m->hidden);
    return 0;
}

/* ---- printing ---- */

static void print_call(const struct workload_call *c)
{
    char size[UNIT_TEXT], total[UNIT_TEXT];
    double sum = (double)c->bytes * c->count;
    printf("    %-14s %10s × %-10.10g = %10s  %4d ranks, %s%s  %s\n", workload_kind_name(c->kind),
           unit_bytes(size, c->bytes), c->count, unit_bytes(total, sum < 0x1p63 ? (uint64_t)sum : UINT64_MAX),
           c->group_size, c->place == WORKLOAD_NODE ? "in a node" : "across nodes",
           c->overlap_us > 0 ? ", behind compute" : "", c->what ? c->what : "");
}

static void print_summary(const struct workload *w)
{
    char total[UNIT_TEXT];
    printf("%s: %d ranks, %d a node", w->name ? w->name : "workload", w->ranks, w->ranks_per_node);
    if (w->model)
        printf(", %s", w->model);
    if (w->parameters)
        printf(" (%llu parameters)", (unsigned long long)w->parameters);
    putchar('\n');
    for (int i = 0; i < w->nphases; i++) {
        const struct workload_phase *p = &w->phases[i];
        double bytes = workload_bytes(w, p, -1);
        printf("  %s: %s a %s", p->name, unit_bytes(total, bytes < 0x1p63 ? (uint64_t)bytes : UINT64_MAX),
               w->per_run ? "run" : "step");
        if (p->compute_us >= 0)
            printf(", compute %s (assumed)", unit_seconds(total, p->compute_us / 1e6));
        putchar('\n');
        for (int k = 0; k < p->ncalls; k++)
            print_call(&p->calls[k]);
    }
    for (int i = 0; i < w->nnotes; i++)
        printf("  note: %s\n", w->notes[i]);
}

static int deliver(const struct workload *w, const struct options *o, struct err *e)
{
    int rc = 0, to_stdout = o->json || (!o->output && !o->summary && !isatty(STDOUT_FILENO));
    if (o->output)
        rc = workload_save(w, o->output, e);
    if (!rc && to_stdout && !(o->output && !strcmp(o->output, "-")))
        rc = workload_save(w, NULL, e);
    else if (!rc && (o->summary || !o->output))
        print_summary(w);
    return rc;
}

/* ---- the two ways to a workload ---- */

static int merge(const struct options *o, int n, char **files, struct err *e)
{
    struct arena *a = arena_new();
    struct workload **parts = arena_alloc(a, (size_t)n * sizeof(struct workload *)), *w = NULL;
    int rc = n ? 0 : err_set(e, ERR_USAGE, "--merge needs the files to merge");
    for (int i = 0; !rc && i < n; i++)
        if (!(parts[i] = workload_load(files[i], e)))
            rc = e->code;
    if (!rc && !(w = workload_merge(parts, n, e)))
        rc = e->code;
    if (w && o->job.name)
        w->name = o->job.name;
    if (w)
        rc = deliver(w, o, e);
    workload_free(w);
    for (int i = 0; i < n; i++)
        workload_free(parts[i]);
    arena_free(a);
    return rc;
}

static int report(const struct findings *f, struct err *e)
{
    for (int i = 0; i < f->n; i++) {
        fputs("nccltune workload: ", stderr);
        finding_print(&f->list[i], 0, stderr);
    }
    int errors = finding_count(f->list, f->n, FINDING_ERROR);
    return errors ? err_set(e, ERR_USAGE, "%d thing%s to fix, nothing was written", errors, errors == 1 ? "" : "s") : 0;
}

static int generate(struct options *o, struct err *e)
{
    struct arena *a = arena_new();
    struct topology *t = NULL;
    struct workload *w = NULL;
    int rc = complete_model(&o->job.model, e);
    if (!rc)
        rc = workload_job_complete(&o->job, e);
    if (!rc && o->topology && !(t = topo_load(o->topology, e)))
        rc = e->code;
    if (!rc) {
        struct findings f = workload_check(&o->job, t, a);
        rc = report(&f, e);
    }
    if (!rc) {
        w = workload_generate(&o->job);
        rc = deliver(w, o, e);
    }
    workload_free(w);
    topo_free(t);
    arena_free(a);
    return rc;
}

int workload_main(int argc, char **argv)
{
    struct options o = {0};
    struct err e = {0};
    int rc = parse(argc, argv, &o);
    if (rc)
        return rc < 0 ? 0 : rc;
    if (!o.merge && optind < argc)
        return cli_usage("workload", "'%s' is not an option (files need --merge)", argv[optind]);
    if (o.list)
        rc = o.json ? list_json(&e) : list();
    else if (o.merge)
        rc = merge(&o, argc - optind, argv + optind, &e);
    else if (!o.job.framework)
        return cli_usage("workload",
                         "give --preset NAME, --model NAME with --framework NAME, --merge FILE... or --list");
    else
        rc = generate(&o, &e);
    return rc ? cli_fail("workload", &e) : 0;
}
