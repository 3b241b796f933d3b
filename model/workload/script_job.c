/* What the settings of each framework mean for a job, as a table. */
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/file.h"
#include "core/tokens.h"
#include "model/workload/script.h"

enum dialect { VERL, HF, MEGATRON, DEEPSPEED, TITAN, SLIME, NEMO, OPENRLHF, DIALECTS };
#define IN(d) (1u << (d))
#define ANY   (IN(DIALECTS) - 1)

/* A setting that is one field of the job: a number, a switch, or anything that is not a word for no. */
enum { NUMBER, SWITCH, WORD };
struct meaning {
    unsigned dialects;
    const char *names[4]; /* the last that is there counts */
    size_t field;
    int type;
};
#define F(member) offsetof(struct workload_job, member)

static const struct meaning meanings[] = {
    {ANY, {"SLURM_NNODES"}, F(nodes), NUMBER}, /* what the script says itself counts */
    {ANY, {"SLURM_GPUS_PER_NODE"}, F(gpus_per_node), NUMBER},
    {IN(VERL), {"trainer.nnodes"}, F(nodes), NUMBER},
    {IN(VERL), {"trainer.n_gpus_per_node"}, F(gpus_per_node), NUMBER},
    {IN(VERL), {"data.max_prompt_length"}, F(prompt), NUMBER},
    {IN(VERL), {"data.max_response_length"}, F(response), NUMBER},
    {IN(VERL), {"actor.ppo_micro_batch_size_per_gpu"}, F(micro_batch), NUMBER},
    {IN(VERL), {"actor.ppo_epochs"}, F(epochs), NUMBER},
    {IN(VERL), {"rollout.n"}, F(rollout_n), NUMBER},
    {IN(VERL), {"rollout.tensor_model_parallel_size"}, F(rollout_tp), NUMBER},
    {IN(VERL), {"actor.megatron.tensor_model_parallel_size"}, F(tp), NUMBER},
    {IN(VERL), {"actor.megatron.pipeline_model_parallel_size"}, F(pp), NUMBER},
    {IN(VERL), {"actor.megatron.virtual_pipeline_model_parallel_size"}, F(vpp), NUMBER},
    {IN(VERL), {"actor.megatron.context_parallel_size"}, F(cp), NUMBER},
    {IN(VERL), {"actor.megatron.expert_model_parallel_size"}, F(ep), NUMBER},
    {IN(VERL), {"actor.megatron.expert_tensor_parallel_size"}, F(etp), NUMBER},
    {IN(VERL), {"ref.megatron.tensor_model_parallel_size"}, F(ref_tp), NUMBER},
    {IN(VERL), {"ref.megatron.pipeline_model_parallel_size"}, F(ref_pp), NUMBER},
    {IN(VERL), {"actor.ulysses_sequence_parallel_size"}, F(sp), NUMBER},
    {IN(VERL), {"actor.fsdp_config.param_offload", "actor.megatron.param_offload"}, F(offload_params), SWITCH},
    {IN(VERL), {"actor.fsdp_config.optimizer_offload", "actor.megatron.optimizer_offload"}, F(offload), SWITCH},
    {IN(VERL), {"model.enable_gradient_checkpointing"}, F(recompute), SWITCH},
    {IN(VERL), {"model.lora_rank", "model.lora.rank"}, F(lora_rank), NUMBER},
    {IN(VERL), {"override_optimizer_config.optimizer_cpu_offload"}, F(offload), SWITCH},
    {IN(HF), {"per_device_train_batch_size"}, F(micro_batch), NUMBER},
    {IN(HF) | IN(DEEPSPEED), {"gradient_accumulation_steps"}, F(grad_accum), NUMBER},
    {IN(HF), {"max_prompt_length", "prompt_length", "cutoff_len", "max_seq_length"}, F(prompt), NUMBER},
    {IN(HF) | IN(MEGATRON), {"seq_len"}, F(prompt), NUMBER},
    {IN(HF), {"max_completion_length", "response_length"}, F(response), NUMBER},
    {IN(HF), {"num_generations", "num_return_sequences_in_group"}, F(rollout_n), NUMBER},
    {IN(HF), {"num_gpus_per_node"}, F(gpus_per_node), NUMBER},
    {IN(HF), {"num_iterations"}, F(epochs), NUMBER},
    {IN(HF) | IN(OPENRLHF), {"vllm_tensor_parallel_size", "vllm.tensor_parallel_size"}, F(rollout_tp), NUMBER},
    {IN(HF), {"sequence_parallel_size"}, F(sp), NUMBER},
    {IN(HF), {"fsdp_activation_checkpointing", "gradient_checkpointing"}, F(recompute), SWITCH},
    {IN(HF), {"fsdp_offload_params", "offload_model"}, F(offload_params), SWITCH},
    {IN(HF), {"offload_optimizer"}, F(offload), SWITCH},
    {IN(HF) | IN(OPENRLHF), {"lora_rank", "lora_r"}, F(lora_rank), NUMBER},
    {IN(HF) | IN(MEGATRON) | IN(SLIME), {"optimizer_cpu_offload"}, F(offload), SWITCH},
    {IN(HF), {"num_machines"}, F(nodes), NUMBER},
    {IN(HF) | IN(DEEPSPEED), {"num_nodes"}, F(nodes), NUMBER},
    {ANY, {"NNODES", "nnodes"}, F(nodes), NUMBER},
    {ANY, {"NPROC_PER_NODE", "nproc_per_node", "num_gpus", "GPUS_PER_NODE"}, F(gpus_per_node), NUMBER},
    {IN(HF) | IN(MEGATRON) | IN(SLIME) | IN(NEMO), {"tensor_model_parallel_size"}, F(tp), NUMBER},
    {IN(HF) | IN(MEGATRON) | IN(SLIME) | IN(NEMO), {"pipeline_model_parallel_size"}, F(pp), NUMBER},
    {IN(HF) | IN(MEGATRON) | IN(SLIME) | IN(NEMO), {"context_parallel_size"}, F(cp), NUMBER},
    {IN(HF) | IN(MEGATRON) | IN(SLIME) | IN(NEMO), {"expert_model_parallel_size"}, F(ep), NUMBER},
    {IN(HF) | IN(MEGATRON) | IN(SLIME) | IN(NEMO), {"expert_tensor_parallel_size"}, F(etp), NUMBER},
    {IN(HF) | IN(MEGATRON) | IN(SLIME), {"micro_batch_size"}, F(micro_batch), NUMBER},
    {IN(HF) | IN(MEGATRON) | IN(SLIME), {"global_batch_size"}, F(mini_batch), NUMBER},
    {IN(MEGATRON), {"seq_length"}, F(prompt), NUMBER},
    {IN(MEGATRON) | IN(SLIME), {"num_layers"}, F(model.layers), NUMBER},
    {IN(MEGATRON) | IN(SLIME), {"hidden_size"}, F(model.hidden), NUMBER},
    {IN(MEGATRON) | IN(SLIME), {"num_attention_heads"}, F(model.heads), NUMBER},
    {IN(MEGATRON) | IN(SLIME), {"num_query_groups"}, F(model.kv_heads), NUMBER},
    {IN(MEGATRON) | IN(SLIME), {"kv_channels"}, F(model.head_dim), NUMBER},
    {IN(MEGATRON) | IN(SLIME), {"ffn_hidden_size"}, F(model.intermediate), NUMBER},
    {IN(MEGATRON) | IN(SLIME), {"vocab_size"}, F(model.vocab), NUMBER},
    {IN(MEGATRON) | IN(SLIME), {"num_experts"}, F(model.experts), NUMBER},
    {IN(HF) | IN(MEGATRON), {"moe_pad_expert_input_to_capacity"}, F(even_experts), SWITCH},
    {IN(MEGATRON) | IN(SLIME), {"moe_router_topk"}, F(model.experts_per_token), NUMBER},
    {IN(MEGATRON) | IN(SLIME), {"moe_ffn_hidden_size"}, F(model.expert_intermediate), NUMBER},
    {ANY, {"fp8", "fp8_format", "fp8_recipe"}, F(fp8), WORD},
    {ANY, {"fp8_cfg.enabled"}, F(fp8), SWITCH},
    {ANY, {"overlap_grad_reduce", "overlap_param_gather"}, F(overlap), SWITCH},
    {ANY, {"tp_comm_overlap"}, F(tp_overlap), SWITCH},
    {ANY, {"overlap_moe_expert_parallel_comm"}, F(ep_overlap), SWITCH},
    {ANY, {"moe_enable_deepep"}, F(deepep), SWITCH},
    {ANY, {"moe_flex_dispatcher_backend"}, F(deepep), WORD},
    {IN(DEEPSPEED), {"train_micro_batch_size_per_gpu"}, F(micro_batch), NUMBER},
    {IN(DEEPSPEED) | IN(OPENRLHF), {"train_batch_size", "train.batch_size"}, F(mini_batch), NUMBER},
    {IN(TITAN), {"parallelism.tensor_parallel_degree"}, F(tp), NUMBER},
    {IN(TITAN), {"parallelism.pipeline_parallel_degree"}, F(pp), NUMBER},
    {IN(TITAN), {"parallelism.context_parallel_degree"}, F(cp), NUMBER},
    {IN(TITAN), {"parallelism.expert_parallel_degree"}, F(ep), NUMBER},
    {IN(TITAN), {"training.local_batch_size", "training.batch_size"}, F(micro_batch), NUMBER},
    {IN(TITAN), {"training.global_batch_size"}, F(mini_batch), NUMBER},
    {IN(TITAN), {"training.seq_len"}, F(prompt), NUMBER},
    {IN(SLIME) | IN(OPENRLHF), {"actor_num_nodes"}, F(nodes), NUMBER},
    {IN(SLIME) | IN(OPENRLHF), {"actor_num_gpus_per_node"}, F(gpus_per_node), NUMBER},
    {IN(SLIME) | IN(OPENRLHF), {"n_samples_per_prompt"}, F(rollout_n), NUMBER},
    {IN(SLIME), {"rollout_num_gpus_per_engine"}, F(rollout_tp), NUMBER},
    {IN(SLIME), {"rollout_max_prompt_len"}, F(prompt), NUMBER},
    {IN(SLIME), {"rollout_max_response_len"}, F(response), NUMBER},
    {IN(NEMO), {"cluster.num_nodes"}, F(nodes), NUMBER},
    {IN(NEMO), {"cluster.gpus_per_node"}, F(gpus_per_node), NUMBER},
    {IN(NEMO), {"policy.train_micro_batch_size"}, F(micro_batch), NUMBER},
    {IN(NEMO), {"policy.train_global_batch_size"}, F(mini_batch), NUMBER},
    {IN(NEMO), {"grpo.num_generations_per_prompt"}, F(rollout_n), NUMBER},
    {IN(NEMO), {"generation.vllm_cfg.tensor_parallel_size"}, F(rollout_tp), NUMBER},
    {IN(NEMO), {"dtensor_cfg.cpu_offload"}, F(offload), SWITCH},
    {IN(OPENRLHF), {"actor.num_nodes"}, F(nodes), NUMBER},
    {IN(OPENRLHF), {"actor.num_gpus_per_node"}, F(gpus_per_node), NUMBER},
    {IN(OPENRLHF), {"micro_train_batch_size", "train.micro_batch_size"}, F(micro_batch), NUMBER},
    {IN(OPENRLHF), {"rollout.n_samples_per_prompt"}, F(rollout_n), NUMBER}, /* not eval.n_samples_per_prompt */
    {IN(OPENRLHF), {"prompt_max_len"}, F(prompt), NUMBER},
    {IN(OPENRLHF), {"generate_max_len", "rollout.max_new_tokens"}, F(response), NUMBER},
    {IN(OPENRLHF), {"ring_attn_size"}, F(sp), NUMBER},
    {IN(OPENRLHF), {"gradient_checkpointing", "gradient_checkpointing_enable"}, F(recompute), SWITCH},
    {IN(OPENRLHF), {"adam_offload"}, F(offload), SWITCH},
};

struct reader {
    const struct workload_script *s;
    struct workload_job *job;
    struct workload_reading *out;
    enum dialect dialect;
    const struct workload_setting *noted[WORKLOAD_READ]; /* what was told as read, in its order */
};

static const char *text_of(const struct workload_script *s, const char *name)
{
    const struct workload_setting *found = workload_script_find(s, name);
    return found ? found->value : NULL;
}

static int is_on(const char *value)
{
    return value && (!strcasecmp(value, "true") || !strcmp(value, "1") || !strcasecmp(value, "yes"));
}

static int is_word(const char *value, const char *word)
{
    return value && !strcasecmp(value, word);
}

static void note_read(struct reader *r, const struct workload_setting *s)
{
    struct workload_reading *o = r->out;
    for (int i = 0; i < o->nread; i++)
        if (r->noted[i] == s)
            return;
    if (o->nread == WORKLOAD_READ) /* names by pattern can be any number */
        return;
    r->noted[o->nread] = s;
    o->read[o->nread++] = arena_printf(r->s->arena, "read %s:%ld: %s=%.80s", s->path, s->line, s->name, s->value);
}

static void note_assumed(struct reader *r, const char *what)
{
    struct workload_reading *o = r->out;
    o->assumed[o->nassumed++] = arena_printf(r->s->arena, "assumed: %s", what);
}

/* Two settings that cannot both be meant; `x` counts. */
static void note_contradiction(struct reader *r, const struct workload_setting *x, const struct workload_setting *y,
                               const char *why)
{
    struct workload_reading *o = r->out;
    o->odd[o->nodd++] = arena_printf(r->s->arena, "%s:%ld: %s=%.40s beside %s=%.40s in line %ld: %s", x->path, x->line,
                                     x->name, x->value, y->name, y->value, y->line, why);
}

/* The value of a setting that is told as read; NULL without. */
static const char *take_value(struct reader *r, const char *name)
{
    const struct workload_setting *s = workload_script_find(r->s, name);
    if (s)
        note_read(r, s);
    return s ? s->value : NULL;
}

static long to_number(const char *value)
{
    char *end;
    double n = value ? strtod(value, &end) : 0;
    return value && end > value && n > 0 && n < 1e9 ? lround(n) : 0;
}

/* ---- what framework ---- */

static const struct {
    enum dialect dialect;
    const char *names[4]; /* settings that only it has */
} marks[] = {
    {VERL,
     {"actor_rollout_ref.model.path", "actor.ppo_mini_batch_size", "actor_rollout_ref.rollout.n",
      "actor_rollout_ref.rollout.name"}},
    {SLIME, {"rollout_max_response_len", "rollout_num_gpus_per_engine"}},
    {NEMO, {"policy.train_micro_batch_size", "policy.train_global_batch_size", "policy.model_name"}},
    {OPENRLHF, {"micro_train_batch_size", "ds.zero_stage"}},
    {HF, {"per_device_train_batch_size", "rlhf_type", "train_type", "tuner_type"}},
    {MEGATRON, {"num_layers"}},
    {DEEPSPEED, {"zero_optimization.stage"}},
    {TITAN, {"parallelism.data_parallel_shard_degree", "training.seq_len"}},
    {HF, {"distributed_type", "fsdp", "use_fsdp"}}, /* the first of an accelerate config */
    {MEGATRON, {"tensor_model_parallel_size", "seq_length"}},
};

static int find_dialect(struct reader *r)
{
    const char *program = text_of(r->s, "program");
    r->dialect = HF; /* "megatron sft" is Swift's, with the arguments of Megatron-LM */
    if (program && (!strcmp(program, "swift") || !strcmp(program, "megatron")))
        return 0;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        for (int k = 0; k < 4 && marks[i].names[k]; k++)
            if (workload_script_find(r->s, marks[i].names[k])) {
                r->dialect = marks[i].dialect;
                return 0;
            }
    const struct workload_setting *s = workload_script_find(r->s, "micro_batch_size"); /* others have it, too */
    r->dialect = s ? MEGATRON : HF;
    if (s && !r->job->framework)
        r->out->odd[r->out->nodd++] =
            arena_printf(r->s->arena,
                         "%s:%ld: read as Megatron-LM because of %s alone; --framework fsdp2, zero3 or megatron of "
                         "'nccltune workload --from-launch' decides",
                         s->path, s->line, s->name);
    return s ? 0 : -1;
}

/* ---- the model ---- */

/* "Qwen/Qwen2.5-7B-Instruct" -> "qwen2.5-7b-instruct", "Meta-Llama-3.1-8B" -> "llama3-8b", as the list has them. */
static void plain_name(const char *path, char out[96])
{
    size_t len = strlen(path);
    while (len && path[len - 1] == '/')
        len--;
    size_t from = len;
    while (from && path[from - 1] != '/')
        from--;
    size_t n = 0;
    for (size_t i = from; i < len && n < 95; i++)
        out[n++] = (char)tolower((unsigned char)path[i]);
    out[n] = 0;
    static const struct {
        const char *from, *to;
    } families[] = {{"meta-llama-3.1-", "llama3-"},
                    {"meta-llama-3-", "llama3-"},
                    {"llama-3.1-", "llama3-"},
                    {"llama-3.3-", "llama3-"},
                    {"llama-3.2-", "llama3.2-"},
                    {"llama-3-", "llama3-"},
                    {"qwen2.5-math-", "qwen2.5-"},
                    {"qwen2.5-coder-", "qwen2.5-"},
                    {"deepseek-r1-distill-qwen-1.5b", "r1-distill-1.5b"},
                    {"deepseek-r1-distill-qwen-", "qwen2.5-"},
                    {"deepseek-r1-distill-llama-", "llama3-"},
                    {"deepseek-r1-0528-qwen3-", "qwen3-"},
                    {"deepseek-r1", "deepseek-v3"},
                    {"deepseek-v3.", "deepseek-v3-"},
                    {"glm-4.6", "glm-4.5"},
                    {"glm-4.7-355b", "glm-4.5"},
                    {"glm-z1-9b", "glm-4-9b"},
                    {"qwen3-vl-", "qwen3-"},
                    {"qwen3-omni-", "qwen3-"},
                    {"qwen3-coder-", "qwen3-"},
                    {"qwen3-reranker-", "qwen3-"},
                    {"qwen3-embedding-", "qwen3-"},
                    {"qwen2.5-omni-", "qwen2.5-"},
                    {"qwen2-72b", "qwen2.5-72b"}};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        size_t old = strlen(families[i].from), new = strlen(families[i].to);
        if (strncmp(out, families[i].from, old) != 0 || strlen(out) - old + new >= 96)
            continue;
        memmove(out + new, out + old, strlen(out + old) + 1);
        memcpy(out, families[i].to, new);
        return;
    }
}

static const struct language_model *model_of(const char *path)
{
    char name[96];
    const struct language_model *best = NULL;
    plain_name(path, name);
    for (const struct language_model *m = language_models; m->name; m++) {
        size_t n = strlen(m->name);
        if (!strncmp(name, m->name, n) && (!name[n] || name[n] == '-') && (!best || n > strlen(best->name)))
            best = m;
    }
    return best;
}

/* The full name of the last setting called `name` that names a known model and is not of a model that judges or
 * teaches; NULL without. */
static const char *trained_model(const struct workload_script *s, const char *name)
{
    size_t want = strlen(name);
    for (int i = s->n - 1; i >= 0; i--) {
        const char *own = s->list[i].name;
        size_t n = strlen(own);
        if (n < want || strcmp(own + n - want, name) != 0 || (n > want && own[n - want - 1] != '.'))
            continue;
        if (!word_in("reward|judge|teacher|critic", WORD_OCCURS, own, n) && model_of(s->list[i].value))
            return own;
    }
    return NULL;
}

static int read_model(struct reader *r, struct err *e)
{
    static const char *const names[] = {"actor_rollout_ref.model.path",
                                        "actor_train.model_args.model_name_or_path",
                                        "policy.model_name",
                                        "hf_checkpoint",
                                        "actor.model_name_or_path",
                                        "pretrain",
                                        "model_name_or_path",
                                        "model",
                                        "model.path",
                                        "hf_model_path",
                                        "tokenizer_model",
                                        "load"};
    const char *path = NULL;
    for (size_t i = 0; !path && i < sizeof names / sizeof *names; i++)
        path = trained_model(r->s, names[i]) ? take_value(r, trained_model(r->s, names[i])) : NULL;
    const char *flavor = text_of(r->s, "model.flavor"), *family = text_of(r->s, "model.name");
    if (!path && flavor && family) {
        path = arena_printf(r->s->arena, "%s-%s", family, flavor);
        take_value(r, "model.flavor");
    }
    const struct language_model *m = path ? model_of(path) : NULL;
    if (m)
        r->job->model = *m;
    if (m && !m->vision_depth && (strcasestr(path, "-vl-") || strcasestr(path, "-omni-") || strstr(m->name, "qwen3.5")))
        note_assumed(r, "no vision or audio tower: not counted");
    if (m || (r->job->model.layers && r->job->model.hidden))
        return 0;
    for (size_t i = 0; !path && i < sizeof names / sizeof *names; i++)
        path = text_of(r->s, names[i]);
    return err_set(e, ERR_USAGE, "%s: the model %s%.80s is not known by name; give --model NAME (and its shape)",
                   r->s->path, path ? "" : "is not in it and", path ? path : "");
}

/* ---- what needs more than one setting ---- */

static void read_field(struct reader *r, const struct meaning *m, const struct workload_setting *s)
{
    long value = m->type == NUMBER   ? to_number(s->value)
                 : m->type == SWITCH ? is_on(s->value)
                                     : !is_word(s->value, "false") && !is_word(s->value, "none");
    if (value <= 0)
        return;
    *(int *)(void *)((char *)r->job + m->field) = (int)value;
    note_read(r, s);
    if (m->field == F(nodes))
        r->out->nodes = arena_printf(r->s->arena, "%s:%ld: %s=%s", s->path, s->line, s->name, s->value);
}

static void read_fields(struct reader *r)
{
    for (const struct meaning *m = meanings; m < meanings + sizeof meanings / sizeof *meanings; m++)
        for (int i = 0; i < 4 && m->names[i] && m->dialects & IN(r->dialect); i++) {
            const struct workload_setting *s = workload_script_find(r->s, m->names[i]);
            if (s)
                read_field(r, m, s);
        }
}

static void find_verl_contradictions(struct reader *r)
{
    static const char *const offloads[][2] = {
        {"actor.fsdp_config.param_offload", "critic.model.fsdp_config.param_offload"},
        {"actor.fsdp_config.optimizer_offload", "critic.model.fsdp_config.optimizer_offload"},
        {"actor.megatron.param_offload", "critic.megatron.param_offload"},
        {"actor.megatron.optimizer_offload", "critic.megatron.optimizer_offload"},
    };
    struct workload_job *j = r->job;
    const struct workload_setting *strategy = workload_script_find(r->s, "actor.strategy"), *megatron = NULL;
    for (int i = r->s->n - 1; i >= 0; i--) /* the first of the actor's megatron group that is more than a default */
        if (strstr(r->s->list[i].name, "actor.megatron.") && to_number(r->s->list[i].value) > 1)
            megatron = &r->s->list[i];
    if (strategy && !is_word(strategy->value, "megatron")) {
        if (megatron)
            note_contradiction(r, strategy, megatron, "this is read only under strategy megatron, and left out here");
        j->tp = j->pp = j->vpp = j->cp = j->ep = j->etp = j->ref_tp = j->ref_pp = 0;
    }
    for (size_t i = 0; i < sizeof offloads / sizeof *offloads; i++) {
        const struct workload_setting *actor = workload_script_find(r->s, offloads[i][0]),
                                      *critic = workload_script_find(r->s, offloads[i][1]);
        if (actor && critic && is_on(actor->value) != is_on(critic->value))
            note_contradiction(r, actor, critic, "memory and copies of both are counted as the actor's");
    }
}

static void read_verl(struct reader *r)
{
    struct workload_job *j = r->job;
    const char *config = text_of(r->s, "config_name"), *strategy = take_value(r, "actor.strategy");
    find_verl_contradictions(r);
    int megatron = strategy ? is_word(strategy, "megatron") : (config && strstr(config, "megatron")) || j->tp || j->pp;
    j->framework = megatron ? "megatron" : is_word(strategy, "fsdp2") ? "fsdp2" : "fsdp";
    if (!strategy && !megatron)
        note_assumed(r, "strategy fsdp, which is verl's default");
    const char *estimator = take_value(r, "algorithm.adv_estimator");
    j->algorithm = !estimator || is_word(estimator, "gae") ? WORKLOAD_PPO : WORKLOAD_GRPO;
    int n = j->rollout_n ? j->rollout_n : 1;
    long train = to_number(take_value(r, "data.train_batch_size")),
         mini = to_number(take_value(r, "actor.ppo_mini_batch_size"));
    long tokens = to_number(take_value(r, "actor.ppo_max_token_len_per_gpu"));
    j->mini_batch = (int)(mini * n);
    if (mini && train >= mini)
        j->updates = (int)(train / mini);
    if (is_on(take_value(r, "actor.use_dynamic_bsz")) && (tokens || !j->micro_batch)) {
        int both = j->prompt + j->response;
        j->micro_batch = tokens > both && both > 0 ? (int)(tokens / both) : 1;
        note_assumed(
            r, "with a dynamic batch size micro-batches are of as many full-length sequences as the token limit takes");
    }
    const char *recompute = take_value(r, "recompute_granularity");
    j->recompute = j->recompute || is_word(recompute, "full");
    j->no_custom_all_reduce = is_on(take_value(r, "disable_custom_all_reduce"));
    if (!j->no_custom_all_reduce)
        note_assumed(r,
                     "vLLM's own all-reduce, as verl starts it since January 2026; --no-custom-all-reduce is for verl "
                     "before that");
}

/* ZeRO stages 1 and 2 reduce gradients and gather weights once a step, as Megatron-LM's distributed optimizer does. */
static void set_zero_stage(struct reader *r, long stage)
{
    struct workload_job *j = r->job;
    j->framework = stage == 3 ? "zero3" : "megatron";
    j->is_stand_in = stage != 3;
    if (stage < 3)
        note_assumed(
            r, stage > 0 ? "ZeRO stages 1 and 2 communicate as a distributed optimizer without tensor parallelism"
                         : "data parallelism communicates as a distributed optimizer does: all-reduce in two halves");
}

/* The stage in the name of a DeepSpeed configuration: zero3, ds_z3_config.json, stage3; 0 without. */
static long stage_of(const char *config)
{
    static const char *const words[] = {"zero", "stage", "z"};
    const char *slash = config ? strrchr(config, '/') : NULL, *base = slash ? slash + 1 : config;
    for (size_t i = 0; base && i < sizeof words / sizeof *words; i++)
        for (const char *p = base; (p = strstr(p, words[i])); p++) {
            const char *digit = p + strlen(words[i]);
            digit += *digit == '_' || *digit == '-';
            if (*digit >= '0' && *digit <= '3' && !isdigit((unsigned char)digit[1]))
                return *digit - '0';
        }
    return 0;
}

/* ROLL: roles by device, and a configuration of DeepSpeed by the name that it has in another file. */
static long read_roll(struct reader *r)
{
    struct workload_job *j = r->job;
    const char *devices = take_value(r, "actor_train.device_mapping"), *last = devices ? strrchr(devices, ',') : NULL;
    int per_node = j->gpus_per_node ? j->gpus_per_node : 8;
    if (last && strstr(devices, "range(") && to_number(last + 1))
        j->nodes = (int)((to_number(last + 1) + per_node - 1) / per_node);
    for (int i = 0; i < r->s->n; i++)
        if (strstr(r->s->list[i].name, "actor_train.strategy_args.strategy_config") && stage_of(r->s->list[i].value))
            return stage_of(r->s->list[i].value);
    return 0;
}

static void read_hugging_face(struct reader *r)
{
    struct workload_job *j = r->job;
    const char *deepspeed = take_value(r, "deepspeed"), *type = take_value(r, "rlhf_type");
    /* of Transformers, and Accelerate's option */
    int fsdp = take_value(r, "fsdp") || is_on(take_value(r, "use_fsdp"));
    const char *tuner = take_value(r, "tuner_type"), *program = text_of(r->s, "program");
    const char *stage = take_value(r, "zero_stage");
    tuner = tuner ? tuner : take_value(r, "train_type");    /* Swift's name before release 4 */
    const char *estimator = take_value(r, "adv_estimator"); /* ROLL */
    long roll_stage = read_roll(r);
    deepspeed = deepspeed ? deepspeed : take_value(r, "deepspeed_config_file");
    deepspeed = deepspeed ? deepspeed : take_value(r, "config_file"); /* Accelerate's */
    take_value(r, "bf16");                                            /* the default */
    take_value(r, is_word(text_of(r->s, "torch_dtype"), "bfloat16") ? "torch_dtype" : "bf16");
    j->algorithm = is_word(type, "ppo") || is_word(estimator, "gae") ? WORKLOAD_PPO
                   : is_word(type, "grpo") || (program && strstr(program, "grpo")) || j->rollout_n || estimator
                       ? WORKLOAD_GRPO
                       : WORKLOAD_TRAIN;
    const char *distributed = take_value(r, "distributed_type");
    long processes = to_number(take_value(r, "num_processes")), machines = j->nodes ? j->nodes : 1;
    if (!j->gpus_per_node && processes % machines == 0)
        j->gpus_per_node = (int)(processes / machines);
    take_value(r, "mixed_precision");
    if (j->tp || j->pp || j->ep)
        j->framework = "megatron";
    else if (fsdp || is_word(distributed, "FSDP"))
        j->framework = is_word(take_value(r, "fsdp_version"), "2") ? "fsdp2" : "fsdp";
    else
        set_zero_stage(r, stage_of(deepspeed) ? stage_of(deepspeed) : roll_stage ? roll_stage : to_number(stage));
    if (!strcmp(j->framework, "megatron") && (j->tp || j->pp || j->ep)) {
        j->no_sequence_parallel = !is_on(take_value(r, "sequence_parallel"));
        if (!j->etp && j->ep > 1)
            note_assumed(r, "expert tensor parallelism 1, which is Swift's default");
        j->etp = j->etp ? j->etp : 1; /* Megatron-LM's default is tp */
    }
    if (deepspeed && strstr(deepspeed, "offload"))
        j->offload = j->offload_params = !strcmp(j->framework, "zero3");
    if (is_word(tuner, "lora") && !j->lora_rank) {
        j->lora_rank = 8;
        note_assumed(r, "LoRA of rank 8");
    } else if (is_on(take_value(r, "use_peft")) && !j->lora_rank) {
        j->lora_rank = 16;
        note_assumed(r, "LoRA of rank 16, which is TRL's default");
    } else if (is_word(tuner, "full")) {
        j->lora_rank = 0;
    }
    /* Of sequences when fine-tuning, of prompts when responses are generated. */
    if (!j->prompt)
        j->prompt = (int)to_number(take_value(r, "max_length"));
    const struct workload_setting *server = workload_script_find(r->s, "vllm_mode");
    if ((server && is_word(server->value, "server")) || text_of(r->s, "vllm_server_host")) {
        take_value(r, "vllm_mode");
        take_value(r, "vllm_server_host");
        note_assumed(r, "rollouts on the trainer's GPUs, though a vLLM server has GPUs of its own: its part of the "
                        "step and the weight sync are not in this script");
    }
    const char *recompute = take_value(r, "recompute_granularity");
    j->recompute = recompute ? is_word(recompute, "full") : j->recompute;
    const char *visible = j->gpus_per_node ? NULL : take_value(r, "CUDA_VISIBLE_DEVICES");
    for (const char *p = visible; p && *p; p += strcspn(p, ","), p += *p == ',')
        j->gpus_per_node++;
    if (is_on(text_of(r->s, "move_model_batches")))
        note_assumed(r, "weights go to the engine at once");
}

/* What Megatron-LM's arguments leave out has these defaults; an MLP without a gate has two matrices, not three. */
static void complete_shape(struct reader *r, struct language_model *m)
{
    int gated = is_on(text_of(r->s, "swiglu")), ffn = m->intermediate;
    m->name = "custom";
    m->tied = !is_on(take_value(r, "untie_embeddings_and_output_weights"));
    ffn = ffn ? ffn : gated ? m->hidden * 8 / 3 / 64 * 64 : 4 * m->hidden;
    m->intermediate = gated ? ffn : 2 * ffn / 3 / 16 * 16; /* so that it splits as before */
    if (m->experts) {
        m->experts_per_token = m->experts_per_token ? m->experts_per_token : 2;
        m->expert_intermediate = !m->expert_intermediate ? m->intermediate
                                 : gated                 ? m->expert_intermediate
                                                         : 2 * m->expert_intermediate / 3 / 16 * 16;
    }
    if (!m->vocab) {
        m->vocab = 128256;
        note_assumed(r, "a vocabulary of 128,256, because the tokenizer is unknown");
    }
}

static void read_megatron(struct reader *r)
{
    struct workload_job *j = r->job;
    take_value(r, "bf16"); /* the default, as of the other */
    take_value(r, "accumulate_allreduce_grads_in_fp32");
    j->framework = "megatron";
    j->recompute = is_word(take_value(r, "recompute_granularity"), "full");
    j->no_sequence_parallel = !is_on(take_value(r, "sequence_parallel"));
    long piece = to_number(take_value(r, "num_layers_per_virtual_pipeline_stage"));
    if (piece && j->pp)
        j->vpp = (int)(j->model.layers / (piece * j->pp));
    if (!j->model.name && j->model.layers)
        complete_shape(r, &j->model);
}

static void read_deepspeed(struct reader *r)
{
    struct workload_job *j = r->job;
    set_zero_stage(r, to_number(take_value(r, "zero_optimization.stage")));
    take_value(r, "bf16.enabled"); /* the default */
    const char *optimizer = take_value(r, "offload_optimizer.device"),
               *parameters = take_value(r, "offload_param.device");
    j->offload = optimizer && strcasecmp(optimizer, "none") != 0;
    j->offload_params = parameters && strcasecmp(parameters, "none") != 0;
}

static void read_titan(struct reader *r)
{
    struct workload_job *j = r->job;
    j->framework = j->tp > 1 || j->pp > 1 || j->cp > 1 || j->ep > 1 ? "megatron" : "fsdp2";
    j->recompute = is_word(take_value(r, "activation_checkpoint.mode"), "full");
    const char *converters = take_value(r, "model.converters");
    j->fp8 = converters && (strstr(converters, "float8") || strstr(converters, "mx"));
    if (!strcmp(j->framework, "megatron"))
        note_assumed(
            r, "tensor, context and pipeline parallelism communicate as Megatron-LM's do; shards of the rest as its "
               "distributed optimizer");
    j->dp = (int)to_number(take_value(r, "parallelism.data_parallel_shard_degree"));
}

/* Updates that a step makes of `prompts` prompts with n responses each. */
static void set_updates(struct reader *r, long prompts)
{
    struct workload_job *j = r->job;
    long n = j->rollout_n ? j->rollout_n : 1;
    if (j->mini_batch && prompts * n >= j->mini_batch)
        j->updates = (int)(prompts * n / j->mini_batch);
}

static void read_slime(struct reader *r)
{
    struct workload_job *j = r->job;
    j->algorithm = is_word(take_value(r, "advantage_estimator"), "ppo") ? WORKLOAD_PPO : WORKLOAD_GRPO;
    read_megatron(r);
    if (is_word(take_value(r, "train_backend"), "fsdp"))
        j->framework = "fsdp2";
    long tokens = to_number(take_value(r, "max_tokens_per_gpu")), both = (j->prompt ? j->prompt : 512) + j->response;
    if (is_on(take_value(r, "use_dynamic_batch_size")) && tokens)
        j->micro_batch = tokens > both ? (int)(tokens / both) : 1;
    set_updates(r, to_number(take_value(r, "rollout_batch_size")));
}

/* Recipes name the base that they change (workload_read_launch). Which of its two trainers is on decides whose
 * parallelism counts. */
static void read_nemo(struct reader *r)
{
    struct workload_job *j = r->job;
    long total = to_number(take_value(r, "policy.max_total_sequence_length"));
    int megatron = is_on(take_value(r, "megatron_cfg.enabled"));
    j->algorithm = workload_script_find(r->s, "grpo.num_prompts_per_step") ? WORKLOAD_GRPO : WORKLOAD_TRAIN;
    if (!megatron) {
        j->tp = (int)to_number(take_value(r, "dtensor_cfg.tensor_parallel_size"));
        j->cp = (int)to_number(take_value(r, "dtensor_cfg.context_parallel_size"));
        j->pp = j->ep = j->etp = 0;
    }
    j->recompute = is_on(
        take_value(r, megatron ? "megatron_cfg.activation_checkpointing" : "dtensor_cfg.activation_checkpointing"));
    j->no_sequence_parallel =
        !is_on(take_value(r, megatron ? "megatron_cfg.sequence_parallel" : "dtensor_cfg.sequence_parallel"));
    j->framework = megatron || j->tp > 1 || j->cp > 1 ? "megatron" : "fsdp2";
    if (!megatron && j->tp > 1)
        note_assumed(r, "tensor parallelism of DTensor communicates as Megatron-LM's does");
    if (total && j->algorithm == WORKLOAD_GRPO) {
        j->prompt = (int)(total / 4);
        j->response = (int)(total - total / 4);
        note_assumed(r, "a quarter of the sequence length for prompts");
    } else if (total) {
        j->prompt = (int)total;
    }
    set_updates(r, to_number(take_value(r, "grpo.num_prompts_per_step")));
}

static void read_openrlhf(struct reader *r)
{
    struct workload_job *j = r->job;
    const char *estimator = take_value(r, "advantage_estimator"), *other = take_value(r, "advantage.estimator");
    estimator = estimator ? estimator : other;
    int generates = j->response > 0;
    j->algorithm = !generates ? WORKLOAD_TRAIN : !estimator || is_word(estimator, "gae") ? WORKLOAD_PPO : WORKLOAD_GRPO;
    set_zero_stage(r, to_number(take_value(r, "zero_stage")));
    long total = to_number(take_value(r, "max_len"));
    if (total && !j->prompt)
        j->prompt = (int)(total > j->response ? total - j->response : total);
    long prompts = to_number(take_value(r, "rollout_batch_size"));
    set_updates(r, prompts ? prompts : to_number(take_value(r, "rollout.batch_size")));
}

/* ---- what has no part in the job ---- */

/* Parts of names that concern parallelism, length, batch, precision, recomputation, adapters, offload or overlap. */
static const char concerns[] =
    "parallel|_tp|_pp|_length|_len|seq_len|batch|bsz|fp8|fp16|bf16|fp4|precision|dtype|quant|recompute|checkpointing|"
    "activation_checkpoint|lora|offload|overlap|nnodes|num_nodes|n_gpus|num_gpus|world_size|packing|padding_free|"
    "remove_padding|nproc|accumulation|moe_layer_freq|shared_expert|multi_latent|capacity_factor|dispatcher|a2a|"
    "ep_size|dp_size|fsdp_size|megatron_fsdp|torch_fsdp|prefetch";
/* They do not: names of files, ranks that a launcher fills in, what a table's name repeats. */
static const char besides[] =
    "filter_|dataset|_files|checkpointing_steps|save_|eval_|val_|node_rank|pin_memory|downcast";

/* Settings that concern the step and that nothing has taken; of several of a name the last. Variables of the shell are
 * only what options are made of. */
static void note_unused(struct reader *r)
{
    struct workload_reading *o = r->out;
    for (int i = 0; i < r->s->n && o->nunused < (int)(sizeof o->unused / sizeof *o->unused); i++) {
        const struct workload_setting *s = &r->s->list[i];
        const size_t n = strlen(s->name);
        int taken = !word_in(concerns, WORD_OCCURS, s->name, n) || word_in(besides, WORD_OCCURS, s->name, n) ||
                    !strcasecmp(s->value, "false") || !strcmp(s->value, "null") || !strcmp(s->value, "None") ||
                    !*s->value || s->substituted;
        for (int k = i + 1; k < r->s->n && !taken; k++)
            taken = !strcmp(r->s->list[k].name, s->name);
        int is_variable = 1;
        for (const char *p = s->name; *p; p++)
            is_variable &= !(*p >= 'a' && *p <= 'z');
        for (int k = 0; k < o->nread && !taken; k++)
            taken = r->noted[k] == s;
        if (!taken && !is_variable)
            o->unused[o->nunused++] = arena_printf(r->s->arena, "%s=%.40s (line %ld)", s->name, s->value, s->line);
    }
}

/* Whether the layers of a pipeline are dealt out by hand. */
static int is_uneven(struct reader *r)
{
    static const char parts[] = "account_for_|in_first_pipeline_stage|in_last_pipeline_stage|first_pipeline_num_layers|"
                                "last_pipeline_num_layers|pipeline_model_parallel_layout";
    int found = 0;
    for (int i = 0; i < r->s->n; i++) {
        const struct workload_setting *s = &r->s->list[i];
        if (word_in(parts, WORD_OCCURS, s->name, strlen(s->name)) && !is_word(s->value, "false") &&
            !is_word(s->value, "null"))
            found |= take_value(r, s->name) != NULL;
    }
    return found;
}

/* ---- all of it ---- */

static void note_defaults(struct reader *r)
{
    const struct workload_job *j = r->job;
    const struct {
        int known;
        const char *what;
    } defaults[] = {
        {j->nodes, "as many nodes as its parallelism needs, because the script does not name a number"},
        {j->gpus_per_node, "8 GPUs a node"},
        {j->prompt || j->response, "1,024 + 1,024 tokens"},
        {j->micro_batch, "micro-batches of one sequence"},
        {j->grad_accum || j->mini_batch, "one micro-batch a pipeline stage and optimizer step"},
    };
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (!defaults[i].known)
            note_assumed(r, defaults[i].what);
}

int workload_script_job(const struct workload_script *s, struct workload_job *job, struct workload_reading *out,
                        struct err *e)
{
    static void (*const dialects[DIALECTS])(struct reader *) = {
        read_verl, read_hugging_face, read_megatron, read_deepspeed, read_titan, read_slime, read_nemo, read_openrlhf};
    struct reader r = {.s = s, .job = job, .out = out};
    if (find_dialect(&r))
        return err_set(e, ERR_FAILED,
                       "%s: no settings of verl, Swift, TRL, Accelerate, Megatron-LM, DeepSpeed, torchtitan, slime, "
                       "NeMo-RL or OpenRLHF (%d settings in all)",
                       s->path, s->n);
    if (s->left_out)
        out->odd[out->nodd++] =
            arena_printf(s->arena, "%s trains more than once: this is the step of line %ld, not of line%s %s", s->path,
                         s->launch_line, strchr(s->left_out, ',') ? "s" : "", s->left_out);
    read_fields(&r);
    if (is_on(text_of(s, "optimizer_cpu_offload")))
        job->offload = 2;
    dialects[r.dialect](&r);
    const char *reduce = take_value(&r, "mixed_precision.reduce_dtype");
    if (is_on(take_value(&r, "grad_reduce_in_bf16")) || is_word(reduce, "bf16") || is_word(reduce, "bfloat16"))
        job->reduce_dtype = "bfloat16";
    job->uneven_stages = is_uneven(&r);
    if (job->response && !job->prompt)
        note_assumed(&r, "prompts of 512 tokens");
    if (job->response && !job->prompt)
        job->prompt = 512;
    note_defaults(&r);
    int rc = read_model(&r, e);
    note_unused(&r);
    return rc;
}

#define BASES 8 /* of a recipe that changes one that changes one... */

/* Reads a file, or its text, behind the base that its "defaults: PATH.yaml" names: what is nearer counts. */
static int read_with_bases(const char *path, char *text, size_t bytes, int depth, struct arena *a,
                           struct workload_script *s, struct err *e)
{
    int rc = text ? 0 : file_read_text(path, 4u << 20, a, &text, &bytes, e);
    if (!rc)
        rc = workload_script_parse(text, bytes, path, a, s, e);
    const struct workload_setting *base = rc ? NULL : workload_script_find(s, "defaults");
    if (!base || !file_ends_with(base->value, ".yaml") || depth == BASES)
        return rc;
    const char *slash = strrchr(path, '/');
    struct workload_script below;
    struct err unread = {0}; /* a recipe without its base still says what it changes */
    const char *name = *base->value == '/' || !slash
                           ? base->value
                           : arena_printf(a, "%.*s/%s", (int)(slash - path), path, base->value);
    if (read_with_bases(name, NULL, 0, depth + 1, a, &below, &unread))
        return 0;
    for (int i = 0; i < s->n; i++)
        ARENA_ADD(a, below.list, below.n) = s->list[i];
    below.path = path;
    *s = below;
    return 0;
}

int workload_launch_nodes(const char *path, const char *text, size_t bytes)
{
    struct arena *a = arena_new();
    struct workload_script s;
    struct workload_job job = {0};
    struct workload_reading *out = ARENA_NEW(a, struct workload_reading);
    if (!read_with_bases(path, text ? arena_strndup(a, text, bytes) : NULL, bytes, 0, a, &s, NULL)) {
        struct reader r = {.s = &s, .job = &job, .out = out};
        find_dialect(&r);
        read_fields(&r);
    }
    arena_free(a);
    return job.nodes;
}

const char *workload_launch_lines(const char *path, struct arena *a)
{
    struct workload_script s;
    const int more = !read_with_bases(path, NULL, 0, 0, a, &s, NULL) && s.left_out;
    return more ? arena_printf(a, "%s and %ld", s.left_out, s.launch_line) : NULL;
}

int workload_read_launch(const char *path, struct arena *a, struct workload_job *job, struct workload_reading *out,
                         struct err *e)
{
    struct workload_script s;
    int rc = read_with_bases(path, NULL, 0, 0, a, &s, e);
    return rc ? rc : workload_script_job(&s, job, out, e);
}
