/* nccltune workload: what a job asks of its collectives, from its model and framework, or merged from a capture. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/cli.h"
#include "core/json.h"
#include "core/units.h"
#include "model/workload/job.h"
#include "probe/machines/hardware.h"

#define COMMAND "nccltune workload"

static const struct cli_page page = {
    COMMAND,
    "nccltune workload --model NAME --framework NAME [OPTION]...\n"
    "       nccltune workload --from-launch train.sh|config.yaml|deepspeed.json [OPTION]...\n"
    "       nccltune workload --merge FILE... [-o FILE]\n"
    "       nccltune workload --list\n"
    "Derive the collectives of one step of a training job: kind, bytes, count, group, placement.\n",
    "Examples\n"
    "  nccltune workload --list\n"
    "  nccltune workload --from-launch run_grpo.sh --gpu h20 -o workload.json\n"
    "  nccltune workload --model llama3-70b --framework megatron --tp 8 --pp 4 -o workload.json\n"
    "\n"
    "Exit status: 0 done, 1 a file cannot be read or written, 2 wrong usage, or a job that cannot run.\n",
    -1};

struct request {
    struct workload_job job;
    const char *model, *launch;
    struct workload_reading reading;
    const char *topology, *output;
    int list, merge, json;
};

/* ---- types of their own ---- */

/* None is told from not said. */
static int take_prefetch(const struct option_value *v, void *out, struct err *e)
{
    int rc = option_int(v, out, e);
    if (!rc && !*(int *)out)
        *(int *)out = -1;
    return rc;
}

/* "7615616512", "7B", "350M": a number of parameters. */
static int take_params(const struct option_value *v, void *out, struct err *e)
{
    static const struct {
        const char *suffix;
        double factor;
    } units[] = {{"", 1}, {"K", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}};
    char *end = NULL;
    double n = strtod(v->text, &end);
    for (size_t i = 0; *v->text >= '0' && *v->text <= '9' && n >= 1 && i < sizeof units / sizeof *units; i++)
        if (!strcmp(end, units[i].suffix) && n * units[i].factor <= 1e15) {
            *(uint64_t *)out = (uint64_t)llround(n * units[i].factor);
            return 0;
        }
    return err_set(e, ERR_USAGE, "%s: '%s' is not a number of parameters such as 7615616512, 7B or 350M", v->what,
                   v->text);
}

/* Prompt and response together. */
static int take_seq(const struct option_value *v, void *out, struct err *e)
{
    struct workload_job *job = out;
    int seq, rc = option_int(v, &seq, e);
    if (!rc) {
        job->response = seq / 2;
        job->prompt = seq - job->response;
    }
    return rc;
}

static const char *model_word(int i)
{
    return language_models[i].name;
}

static const char *framework_word(int i)
{
    return workload_frameworks[i].name;
}

/* ---- the tables ---- */

#define AT(member) offsetof(struct request, member)
static const struct option_spec own_options[] = {
    {'o', "output", "FILE", "write the workload file (default: print a table)", option_text, AT(output)},
    {'j', "json", NULL, "print the workload file, or --list, as JSON", option_flag, AT(json)},
    {0, "list", NULL, "print the models and frameworks known by name", option_flag, AT(list)},
    {0, "merge", NULL, "join FILE..., such as the captures of a job's ranks, into one workload", option_flag,
     AT(merge)},
    {0, "from-launch", "FILE",
     "read a launch script or configuration of verl, Swift, TRL, Accelerate, Megatron-LM, DeepSpeed, torchtitan, "
     "slime, NeMo-RL or OpenRLHF; further options override it",
     option_text, AT(launch)},
    {0, "topology", "FILE", "check against this machine's NVLink domain, rails, GPU memory and host links", option_text,
     AT(topology)},
    {0},
};

#define COUNT(member) option_int, AT(job.member), 1, 1 << 30

static const struct option_spec model_options[] = {
    {0, "model", "NAME", "a model known by name, or any name with the shape below", option_text, AT(model),
     .word = model_word},
    {0, "layers", "N", "layers; models not known by name need this and the next two", COUNT(model.layers)},
    {0, "hidden", "N", "hidden size", COUNT(model.hidden)},
    {0, "vocab", "N", "vocabulary", COUNT(model.vocab)},
    {0, "heads", "N", "attention heads; hidden/128", COUNT(model.heads)},
    {0, "kv-heads", "N", "heads of keys and values (default: as --heads)", COUNT(model.kv_heads)},
    {0, "head-dim", "N", "size of a head (default: hidden/heads)", COUNT(model.head_dim)},
    {0, "intermediate", "N", "size within the MLP (default: 8/3 hidden)", COUNT(model.intermediate)},
    {0, "experts", "N", "experts of a layer", COUNT(model.experts)},
    {0, "experts-per-token", "N", "experts that each token uses", COUNT(model.experts_per_token)},
    {0, "expert-intermediate", "N", "size within an expert", COUNT(model.expert_intermediate)},
    {0, "tied", NULL, "embedding and output head are one matrix", option_flag, AT(job.model.tied)},
    {0, "params", "N", "total number (7B, 350M) instead of the shape of the layers", take_params,
     AT(job.model.parameters)},
    {0},
};

static const struct option_spec job_options[] = {
    {0, "framework", "NAME", "one of:", option_word, AT(job.framework), .word = framework_word},
    {0, "algorithm", "NAME", "train by default; one of:", option_which, AT(job.algorithm),
     .word = workload_algorithm_name},
    {0, "nodes", "N", "nodes of the job", COUNT(nodes)},
    {0, "gpus-per-node", "N", "GPUs on each", COUNT(gpus_per_node)},
    {0, "tp", "N", "tensor parallelism of the trainer", COUNT(tp)},
    {0, "pp", "N", "pipeline parallelism of the trainer", COUNT(pp)},
    {0, "dp", "N", "data parallelism of the trainer", COUNT(dp)},
    {0, "cp", "N", "context parallelism: Megatron-LM ranks that share a sequence", COUNT(cp)},
    {0, "sp", "N", "Ulysses sequence parallelism: FSDP or ZeRO ranks that share a sequence", COUNT(sp)},
    {0, "vpp", "N", "pieces of the model on a pipeline stage: the interleaved schedule", COUNT(vpp)},
    {0, "zero-bubble", NULL, "a schedule that splits backward (ZB-H1)", option_flag, AT(job.zero_bubble)},
    {0, "ep", "N", "expert parallelism of the trainer", COUNT(ep)},
    {0, "etp", "N", "tensor parallelism within an expert", COUNT(etp)},
    {0, "ref-tp", "N", "tensor parallelism of the reference model", COUNT(ref_tp)},
    {0, "ref-pp", "N", "pipeline parallelism of the reference model", COUNT(ref_pp)},
    {0, "rollout-tp", "N", "tensor parallelism of the inference engine", COUNT(rollout_tp)},
    {0, "micro-batch", "N", "sequences of one forward pass of one rank", COUNT(micro_batch)},
    {0, "grad-accum", "N", "micro-batches per optimizer step", COUNT(grad_accum)},
    {0, "updates", "N", "optimizer steps per step of an RL job", COUNT(updates)},
    {0, "epochs", "N", "times that a step trains on the same responses", COUNT(epochs)},
    {0, "mini-batch", "N", "sequences per optimizer step over all ranks, as a check", COUNT(mini_batch)},
    {0, "rollout-n", "N", "responses of one prompt", COUNT(rollout_n)},
    {0, "prompt", "N", "tokens of a prompt", COUNT(prompt)},
    {0, "response", "N", "tokens of a response", COUNT(response)},
    {0, "seq", "N", "tokens of both together", take_seq, AT(job), 1, 1 << 30},
    {0, "dtype", "NAME", "of weights and activations:", option_word, AT(job.dtype), .word = workload_dtype_name},
    {0, "reduce-dtype", "NAME", "of gradients, the same words", option_word, AT(job.reduce_dtype),
     .word = workload_dtype_name},
    {0, "offload", NULL, "optimizer state in host memory", option_flag, AT(job.offload)},
    {0, "offload-params", NULL, "parameters in host memory while they are not needed", option_flag,
     AT(job.offload_params)},
    {0, "prefetch", "N", "layers whose weights FSDP and ZeRO-3 gather ahead; 0: none (default: 1)", take_prefetch,
     AT(job.prefetch), .high = 1024},
    {0, "lora-rank", "N", "train adapters of this rank, not the whole model", COUNT(lora_rank)},
    {0, "longest", "N", "tokens of the longest response, which a rollout waits for (default: as --response)",
     COUNT(longest)},
    {0, "fp8", NULL, "matrix products in 8 bits; data on the wire stays in --dtype", option_flag, AT(job.fp8)},
    {0, "overlap", NULL, "Megatron-LM overlaps gradients and weights with compute (--overlap-grad-reduce)", option_flag,
     AT(job.overlap)},
    {0, "tp-overlap", NULL, "it also overlaps activations of tensor parallelism (--tp-comm-overlap)", option_flag,
     AT(job.tp_overlap)},
    {0, "ep-overlap", NULL, "it also overlaps tokens to experts (--overlap-moe-expert-parallel-comm)", option_flag,
     AT(job.ep_overlap)},
    {0, "deepep", NULL, "a token is sent to each node once, whatever its experts there (DeepEP, HybridEP)", option_flag,
     AT(job.deepep)},
    {0, "recompute", NULL, "full activation recomputation", option_flag, AT(job.recompute)},
    {0, "no-sequence-parallel", NULL, "Megatron tensor parallelism with AllReduce", option_flag,
     AT(job.no_sequence_parallel)},
    {0, "even-experts", NULL, "experts are padded to their capacity (default: one expert is hot)", option_flag,
     AT(job.even_experts)},
    {0, "no-custom-all-reduce", NULL, "vLLM leaves every AllReduce to NCCL (disable_custom_all_reduce, no NVLink)",
     option_flag, AT(job.no_custom_all_reduce)},
    {0, "gpu", "NAME", "the GPUs, such as h20 (nccltune probe --list-gpus): memory, host link, speed", option_text,
     AT(job.gpu)},
    {0, "memory", "GIB", "memory of a GPU, as a check", option_number, AT(job.memory_GiB), 1, 1e4},
    {0, "host-bandwidth", "GBPS",
     "between a GPU and host memory, for offload (default: by --topology or --gpu, else 20)", option_number,
     AT(job.host_GBps), 1e-3, 1e4},
    {0, "tflops", "X", "one GPU's speed in 16-bit products (default: by --gpu); adds compute times, marked as assumed",
     option_number, AT(job.tflops), 1e-3, 1e6},
    {0},
};

/* ---- what is known by name ---- */

static int list_as_json(void)
{
    cJSON *all = cJSON_CreateArray();
    for (const struct language_model *m = language_models; m->name; m++) {
        cJSON *o = json_append(all);
        json_add_str(o, "model", m->name);
        cJSON_AddNumberToObject(o, "parameters", (double)language_model_parameters(m));
    }
    for (const struct workload_framework *f = workload_frameworks; f->name; f++) {
        cJSON *o = json_append(all);
        json_add_str(o, "framework", f->name);
        json_add_str(o, "description", f->description);
    }
    json_print(all, stdout);
    return 0;
}

static int list_names(void)
{
    puts("Models:");
    for (const struct language_model *m = language_models; m->name; m++)
        printf("  %-32s %llu parameters\n", m->name, (unsigned long long)language_model_parameters(m));
    puts("\nFrameworks:");
    for (const struct workload_framework *f = workload_frameworks; f->name; f++)
        printf("  %-32s %s\n", f->name, f->description);
    return 0;
}

/* ---- the command line ---- */

/* The job of a launch script; a model that is given beside it need not be known from it. */
static int read_launch(const char *path, int has_model, struct request *r, struct arena *a, struct err *e)
{
    int rc = workload_read_launch(path, a, &r->job, &r->reading, e);
    r->job.name = r->job.name ? r->job.name : path;
    return has_model && rc == ERR_USAGE ? 0 : rc;
}

/* Script and model are taken first, wherever they stand, so that every other option changes them; what is wrong on the
 * command line is told when it is taken as a whole. */
static int apply_names(int argc, char **argv, struct request *r, struct arena *a, struct err *e)
{
    struct request names = {0};
    struct option_group groups[] = {
        {NULL, own_options, &names}, {NULL, model_options, &names}, {NULL, job_options, &names}, {0}};
    option_parse(groups, argc, argv, a, NULL, NULL);
    r->job.framework = names.job.framework;
    if (names.launch && read_launch(names.launch, names.model != NULL || names.job.model.layers, r, a, e))
        return e->code;
    const struct language_model *known = names.model ? language_model_find(names.model) : NULL;
    if (names.model)
        r->job.model = known ? *known : (struct language_model){.name = names.model};
    return 0;
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
    printf("    %-14s %10s %s %-10.10g = %10s  %4d ranks, %s%s  %s\n", coll_name(c->kind), unit_bytes(size, c->bytes),
           unit_symbol("×", "x"), c->count, unit_bytes(total, sum < 0x1p63 ? (uint64_t)sum : UINT64_MAX), c->group_size,
           c->place == WORKLOAD_NODE ? "in a node" : "across nodes", c->overlap_us > 0 ? ", behind compute" : "",
           c->what ? c->what : "");
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

static int deliver_workload(const struct workload *w, const struct request *o, struct err *e)
{
    if (o->json || o->output)
        return workload_save(w, o->output, e);
    print_summary(w);
    return 0;
}

/* ---- the two ways to a workload ---- */

static int merge_files(const struct request *o, int n, char **files, struct arena *a, struct err *e)
{
    struct workload **parts = arena_alloc(a, (size_t)n * sizeof(struct workload *)), *w = NULL;
    int rc = n ? 0 : err_set(e, ERR_USAGE, "--merge needs the files to merge");
    for (int i = 0; !rc && i < n; i++)
        if (!(parts[i] = workload_load(files[i], e)))
            rc = e->code;
    if (!rc && !(w = workload_merge(parts, n, e)))
        rc = e->code;
    if (w)
        rc = deliver_workload(w, o, e);
    workload_free(w);
    for (int i = 0; i < n; i++)
        workload_free(parts[i]);
    return rc;
}

static int report_findings(const char *command, const struct findings *f, struct err *e)
{
    for (int i = 0; i < f->n; i++) {
        fprintf(stderr, "%s: ", command);
        finding_print(&f->list[i], 0, stderr);
    }
    int errors = finding_count(f->list, f->n, FINDING_ERROR);
    return errors ? err_set(e, ERR_USAGE, "%d thing%s to fix, there is no workload", errors, errors == 1 ? "" : "s")
                  : 0;
}

/* `t` NULL: the machine is not known. */
static struct workload *make_workload(const char *command, struct request *o, const struct topology *t, struct arena *a,
                                      struct err *e)
{
    struct workload *w = NULL;
    int rc = complete_model(&o->job.model, e);
    if (!rc && t)
        workload_take_machine(&o->job, t);
    if (!rc)
        rc = workload_job_complete(&o->job, e);
    if (!rc) {
        struct findings f = workload_check(&o->job, t, a);
        for (int i = 0; i < o->reading.nodd; i++)
            finding_add(&f, FINDING_WARNING, "launch", NULL, "%s", o->reading.odd[i]);
        for (int i = 0; i < o->reading.nunused; i++)
            finding_add(&f, FINDING_NOTE, "launch-unused", NULL, "not used, although it affects the step: %s",
                        o->reading.unused[i]);
        rc = report_findings(command, &f, e);
    }
    if (!rc) {
        w = workload_generate(&o->job);
        for (int i = 0; i < o->reading.nread; i++)
            workload_add_note(w, o->reading.read[i]);
        for (int i = 0; i < o->reading.nassumed; i++)
            workload_add_note(w, o->reading.assumed[i]);
    }
    return w;
}

static int generate_workload(struct request *o, struct arena *a, struct err *e)
{
    struct topology *t = o->topology ? topo_load(o->topology, e) : NULL;
    struct workload *w = e->code ? NULL : make_workload(COMMAND, o, t, a, e);
    if (w)
        deliver_workload(w, o, e);
    workload_free(w);
    topo_free(t);
    return e->code;
}

struct workload *cli_workload_open(const char *command, const char *path, const struct topology *t, int nodes,
                                   struct err *e)
{
    struct arena *a = arena_new();
    struct err no_launch = {0};
    struct request r = {0};
    int class_index = topo_gpu_class(t);
    const struct hw_gpu *gpu =
        class_index >= 0 ? hw_gpu_of(&t->classes[class_index], &t->classes[class_index].gpus[0]) : NULL;
    struct workload *w = workload_load(path, e);
    if (!w && !read_launch(path, 0, &r, a, &no_launch)) {
        *e = (struct err){0};
        r.job.gpu = gpu ? gpu->name : NULL;
        r.job.nodes = r.job.nodes ? r.job.nodes : nodes;
        w = make_workload(command, &r, t, a, e);
        if (w)
            workload_add_changes(w, &r.job);
    } else if (!w && no_launch.code == ERR_USAGE) {
        err_set(e, ERR_FAILED, "%s: 'nccltune workload --from-launch %s --model NAME -o FILE' makes a workload",
                no_launch.text, path);
    }
    int own = w ? (w->ranks + w->ranks_per_node - 1) / w->ranks_per_node : nodes;
    if (nodes && own != nodes) {
        err_set(e, ERR_USAGE, "--nodes %d: the job has %d node%s (%s)", nodes, own, own == 1 ? "" : "s",
                r.reading.nodes ? r.reading.nodes : path);
        workload_free(w);
        w = NULL;
    }
    arena_free(a);
    return w;
}

static int run_request(void *request, char **words, struct arena *a, struct err *e)
{
    struct request *r = request;
    int n = 0;
    while (words[n])
        n++;
    if (!r->merge && n)
        return err_set(e, ERR_USAGE, "unexpected argument '%s' (files need --merge)", words[0]);
    if (!r->list && !r->merge && !r->job.framework)
        return err_set(e, ERR_USAGE,
                       "give --from-launch FILE, --model NAME with --framework NAME, --merge FILE... or --list");
    if (r->list)
        return r->json ? list_as_json() : list_names();
    return r->merge ? merge_files(r, n, words, a, e) : generate_workload(r, a, e);
}

int workload_main(int argc, char **argv)
{
    struct request r = {0};
    struct option_group groups[] = {
        {NULL, own_options, &r}, {"Model", model_options, &r}, {"Job", job_options, &r}, {0}};
    struct arena *a = arena_new();
    struct err e = {0};
    int rc = apply_names(argc, argv, &r, a, &e) ? cli_fail(COMMAND, &e)
                                                : cli_run(&page, groups, argc, argv, run_request, &r);
    arena_free(a);
    return rc;
}
