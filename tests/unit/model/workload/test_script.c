/* model/workload/script.c and model/workload/script_job.c: launch scripts of every framework, and what is no such
 * thing. */
#include "model/workload/job.h"
#include "model/workload/script.h"
#include "tests/lib/unit.h"

static struct workload_script parse(const char *text, const char *path, struct arena *a)
{
    struct workload_script s;
    struct err e = {0};
    if (workload_script_parse(text, strlen(text), path, a, &s, &e))
        fail_msg("%s", e.text);
    return s;
}

TEST_CASE(syntaxes)
{
    static const struct {
        const char *path, *text, *name, *value; /* NULL: not there, or not known */
    } cases[] = {
        {"a.sh", "x --tp 4", "tp", "4"},
        {"a.sh", "x --tp=4 --flag\ny", "flag", "true"},
        {"a.sh", "x --micro-batch-size 4", "micro_batch_size", "4"},
        {"a.sh", "x ++actor.tp=2", "tp", "2"},
        {"a.sh", "x a.b='q \"r' # --tp 5\n", "a.b", "q \"r"},
        {"a.sh", "T=3\nx --tp $T", "tp", "3"},
        {"a.sh", "x --tp ${T:-7}", "tp", "7"},
        {"a.sh", "x --tp ${T:-\"7\"}", "tp", "7"},
        {"a.sh", "x --tp $T", "tp", NULL},
        {"a.sh", "x --model $HOME/m/qwen", "model", "$HOME/m/qwen"},
        {"a.sh", "x --tp \\\n 4", "tp", "4"},
        {"a.sh", "len=$((1024 * 2))\nx --tp $len", "tp", "2048"},
        {"a.sh", "a=3\nx --tp=$(( ($a + ${a}) * (a - 1) / 4 % 5 ))", "tp", "3"},
        {"a.sh", "a=3\nx \"tp=$((a+2*5-1))\"", "tp", "12"},
        {"a.sh", "x --tp $((1 / 0))", "tp", NULL},
        {"a.sh", "x --tp $((unknown * 2))", "tp", NULL},
        {"a.sh", "x --tp $((((((((((((((((((((((((((((((((((((((((((((1", "tp", NULL},
        {"a.sh", "x --tp $((9999999999 * 9999999999))", "tp", NULL},
        {"a.sh", "x --tp $((2 *))", "tp", NULL},
        {"a.sh", "x --tp 4; y --tp 5", "tp", "5"},
        {"a.sh", "x --tp", "tp", "true"},
        {"a.sh", "# x --tp 4", "tp", NULL},
        {"a.yaml", "a:\n  b:\n    tp: 4\n  c: [1, 2]\nd: 5\n", "a.b.tp", "4"},
        {"a.yaml", "a:\n  c: [1, 2]\nd: 5\n", "d", "5"},
        {"a.yaml", "a: &base\n  tp: 4\n  pp: 2\njob:\n  <<: *base\n  pp: 1\n", "tp", "4"},
        {"a.yaml", "a: &base\n  tp: 4\n  pp: 2\njob:\n  <<: *base\n  pp: 1\n", "pp", "1"},
        {"a.yaml", "a:\n- b: 1\n- b: 2\ntp: null\n", "tp", NULL},
        {"a.json", "{\"zero\": {\"stage\": 3, \"x\": {\"device\": \"cpu\"}}}", "x.device", "cpu"},
        {"a.toml", "[p]\ntp = 2 # two\n[q]\ntp=\"3\"\n", "p.tp", "2"},
        {"a.toml", "[p]\ntp = 2 # two\n[q]\ntp=\"3\"\n", "q.tp", "3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct workload_script s = parse(cases[i].text, cases[i].path, a);
        const struct workload_setting *found = workload_script_find(&s, cases[i].name);
        if (!found != !cases[i].value || (found && strcmp(found->value, cases[i].value) != 0))
            fail_msg("%s: %s is %s", cases[i].text, cases[i].name, found ? found->value : "not there");
        arena_free(a);
    }
}

/* A second value belongs to nothing, and nothing is left of an option at the end of a command. */
/* However often: an alias adds nothing to its anchor. */
TEST_CASE(aliases_of_one_anchor)
{
    struct arena *a = arena_new();
    const char *text = "tp: &same 4\n";
    for (int i = 0; i < 600; i++)
        text = arena_printf(a, "%sj%d: *same\n", text, i);
    assert_int_equal(parse(text, "a.yaml", a).n, 1);
    arena_free(a);
}

TEST_CASE(one_value_each)
{
    struct arena *a = arena_new();
    assert_int_equal(parse("x --tp 4 5 --pp 2 3\ny 6\nz --flag\n7", "a.sh", a).n, 3);
    arena_free(a);
}

struct expected {
    const char *file, *model, *framework;
    int algorithm, nodes, gpus, tp, pp, cp, sp, vpp, dp, rollout_tp, n, micro, accum, updates, prompt, response;
    int recompute, offload, offload_params, lora;
};

static const struct expected files[] = {
    {"verl-grpo.sh",
     "qwen2.5-7b",
     "megatron",
     WORKLOAD_GRPO,
     2,
     8,
     2,
     2,
     2,
     1,
     1,
     2,
     4,
     8,
     2,
     256,
     4,
     2048,
     4096,
     1,
     0,
     0,
     0},
    {"verl-fsdp.yaml",
     "qwen2.5-3b",
     "fsdp2",
     WORKLOAD_PPO,
     1,
     8,
     1,
     1,
     1,
     2,
     1,
     4,
     2,
     1,
     8,
     8,
     4,
     512,
     512,
     1,
     0,
     1,
     0},
    {"swift-grpo.sh",
     "qwen2.5-vl-3b",
     "zero3",
     WORKLOAD_GRPO,
     1,
     4,
     1,
     1,
     1,
     1,
     1,
     4,
     2,
     8,
     4,
     2,
     1,
     512,
     1024,
     1,
     1,
     1,
     16},
    {"megatron-pretrain.sh",
     "custom",
     "megatron",
     WORKLOAD_TRAIN,
     4,
     8,
     4,
     2,
     1,
     1,
     4,
     4,
     4,
     1,
     1,
     64,
     1,
     8192,
     0,
     1,
     0,
     0,
     0},
    {"titan.toml", "llama3-8b", "megatron", WORKLOAD_TRAIN, 1, 8, 2, 1, 1, 1, 1, 4, 2, 1, 1, 1, 1, 8192, 0, 1, 0, 0, 0},
    {"trl-sft.sh", "llama3-8b", "fsdp2", WORKLOAD_TRAIN, 2, 8, 1, 1, 1, 1, 1, 16, 1, 1, 2, 8, 1, 4096, 0, 1, 0, 0, 0},
};

static void check(const struct expected *x, const struct workload_job *j)
{
    const struct {
        const char *what;
        int is, want;
    } list[] = {
        {"algorithm", (int)j->algorithm, x->algorithm},
        {"nodes", j->nodes, x->nodes},
        {"gpus", j->gpus_per_node, x->gpus},
        {"tp", j->tp, x->tp},
        {"pp", j->pp, x->pp},
        {"cp", j->cp, x->cp},
        {"sp", j->sp, x->sp},
        {"vpp", j->vpp, x->vpp},
        {"dp", j->dp, x->dp},
        {"rollout tp", j->rollout_tp, x->rollout_tp},
        {"n", j->rollout_n, x->n},
        {"micro-batch", j->micro_batch, x->micro},
        {"accumulation", j->grad_accum, x->accum},
        {"updates", j->updates, x->updates},
        {"prompt", j->prompt, x->prompt},
        {"response", j->response, x->response},
        {"recompute", j->recompute, x->recompute},
        {"offload", j->offload, x->offload},
        {"offload of parameters", j->offload_params, x->offload_params},
        {"lora", j->lora_rank, x->lora},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].is != list[i].want)
            fail_msg("%s: %s is %d, not %d", x->file, list[i].what, list[i].is, list[i].want);
    assert_string_equal(j->framework, x->framework);
}

TEST_CASE(frameworks)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct arena *a = arena_new();
        struct workload_job j = {0};
        struct workload_reading read = {0};
        struct err e = {0};
        char path[128];
        snprintf(path, sizeof path, "tests/fixtures/workload/launch/%s", files[i].file);
        if (workload_read_launch(path, a, &j, &read, &e))
            fail_msg("%s", e.text);
        assert_string_equal(j.model.name, files[i].model);
        assert_true(read.nread > 5);
        if (!j.model.head_dim) { /* what the command line fills in for models without a name */
            j.model.head_dim = j.model.hidden / j.model.heads;
        }
        assert_int_equal(workload_job_complete(&j, &e), 0);
        check(&files[i], &j);
        workload_free(workload_generate(&j));
        arena_free(a);
    }
}

/* A DeepSpeed configuration knows no model, and says all the rest. */
TEST_CASE(no_model_in_it)
{
    struct arena *a = arena_new();
    struct workload_job j = {0};
    struct workload_reading read = {0};
    struct err e = {0};
    assert_int_equal(workload_read_launch("tests/fixtures/workload/launch/deepspeed-zero3.json", a, &j, &read, &e),
                     ERR_USAGE);
    assert_non_null(strstr(e.text, "--model"));
    assert_string_equal(j.framework, "zero3");
    assert_int_equal(j.mini_batch, 64);
    assert_true(j.offload && !j.offload_params);
    arena_free(a);
}

TEST_CASE(what_is_no_launch_script)
{
    static const struct {
        const char *path, *text, *says;
    } cases[] = {
        {"a.sh", "", "no settings of verl"},
        {"a.sh", "echo 'hello", "no settings of verl"},
        {"a.sh", "x --tp ${T", "no settings of verl"},
        {"a.json", "{\"a\": [", "a.json:"},
        {"a.yaml", "a: b: c", "a.yaml:1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct workload_script s;
        struct workload_job j = {0};
        struct workload_reading read = {0};
        struct err e = {0};
        int rc = workload_script_parse(cases[i].text, strlen(cases[i].text), cases[i].path, a, &s, &e);
        if (!rc)
            rc = workload_script_job(&s, &j, &read, &e);
        if (!rc || !strstr(e.text, cases[i].says))
            fail_msg("case %zu: %s", i, e.text);
        arena_free(a);
    }
}

#define VERL "python -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B "
#define A    "actor_rollout_ref.actor."

/* Settings that cannot both be meant are said, with both lines. */
TEST_CASE(contradictions)
{
    static const struct {
        const char *text, *said; /* NULL: nothing is odd */
        int tp;
    } cases[] = {
        {VERL A "strategy=fsdp2 \\\n " A "megatron.tensor_model_parallel_size=4",
         "a.sh:1: actor_rollout_ref.actor.strategy=fsdp2 beside "
         "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 in line 2: this is read only under strategy "
         "megatron, and left out here",
         0},
        {VERL A "strategy=megatron " A "megatron.tensor_model_parallel_size=4", NULL, 4},
        {VERL A "strategy=fsdp2 " A "megatron.tensor_model_parallel_size=1", NULL, 0},
        {VERL A "fsdp_config.param_offload=True critic.model.fsdp_config.param_offload=False",
         "a.sh:1: actor_rollout_ref.actor.fsdp_config.param_offload=True beside "
         "critic.model.fsdp_config.param_offload=False in line 1: memory and copies of both are counted as the actor's",
         0},
        {VERL A "fsdp_config.param_offload=True critic.model.fsdp_config.param_offload=True", NULL, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct workload_script s = parse(cases[i].text, "a.sh", a);
        struct workload_job j = {0};
        struct workload_reading read = {0};
        struct err e = {0};
        if (workload_script_job(&s, &j, &read, &e))
            fail_msg("%s", e.text);
        if (read.nodd != !!cases[i].said || (read.nodd && strcmp(read.odd[0], cases[i].said) != 0))
            fail_msg("case %zu: %s", i, read.nodd ? read.odd[0] : "nothing is odd");
        if (j.tp != cases[i].tp)
            fail_msg("case %zu: tp is %d", i, j.tp);
        arena_free(a);
    }
}

/* With a dynamic batch size verl goes by the token limit, whatever number of sequences stands beside it. */
TEST_CASE(a_dynamic_batch_counts_tokens)
{
    struct arena *a = arena_new();
    struct workload_script s =
        parse("max=$((1024 * 2))\n" VERL "data.max_prompt_length=$max data.max_response_length=$max " A
              "use_dynamic_bsz=True " A "ppo_micro_batch_size_per_gpu=2 " A "ppo_max_token_len_per_gpu=$((4 * 4096))",
              "a.sh", a);
    struct workload_job j = {0};
    struct workload_reading read = {0};
    struct err e = {0};
    assert_int_equal(workload_script_job(&s, &j, &read, &e), 0);
    assert_int_equal(j.prompt, 2048);
    assert_int_equal(j.micro_batch, 4);
    arena_free(a);
}

#define SWIFT "swift rlhf --rlhf_type grpo --train_type full --model Qwen/Qwen2.5-7B "
#define TITAN "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 10\n[parallelism]\n"

/* A setting and what one number of the job becomes by it. */
TEST_CASE(numbers)
{
    static const struct {
        const char *text;
        size_t field;
        int number;
    } cases[] = {
#define FIELD(member) offsetof(struct workload_job, member)
        {SWIFT "--gradient_checkpointing 1", FIELD(recompute), 1},
        {SWIFT "--gradient_checkpointing Yes", FIELD(recompute), 1},
        {SWIFT "--gradient_checkpointing TRUE", FIELD(recompute), 1},
        {SWIFT "--gradient_checkpointing on", FIELD(recompute), 0},
        {SWIFT "--gradient_checkpointing false", FIELD(recompute), 0},
        {SWIFT "--num_generations 2.6", FIELD(rollout_n), 3},
        {SWIFT "--num_generations 0", FIELD(rollout_n), 0},
        {SWIFT "--num_generations -3", FIELD(rollout_n), 0},
        {SWIFT "--num_generations 999999999", FIELD(rollout_n), 999999999},
        {SWIFT "--num_generations 1000000000", FIELD(rollout_n), 0},
        {SWIFT "--num_generations many", FIELD(rollout_n), 0},
        {"CUDA_VISIBLE_DEVICES=0 " SWIFT, FIELD(gpus_per_node), 1},
        {"CUDA_VISIBLE_DEVICES=0,1,10 " SWIFT, FIELD(gpus_per_node), 3},
        {"CUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=4 " SWIFT, FIELD(gpus_per_node), 4},
        {SWIFT "--max_completion_length 9", FIELD(prompt), 512},
        {SWIFT "--max_completion_length 9 --max_prompt_length 7", FIELD(prompt), 7},
        {SWIFT "--max_length 99", FIELD(prompt), 99}, /* of prompts, where responses are generated */
        {SWIFT "--max_length 99 --max_completion_length 7", FIELD(response), 7},
        {"swift sft --train_type lora --model Qwen/Qwen2.5-7B --max_length 99", FIELD(prompt), 99},
        {"swift sft --train_type lora --model Qwen/Qwen2.5-7B", FIELD(lora_rank), 8},
        {"swift sft --train_type lora --lora_rank 4 --model Qwen/Qwen2.5-7B", FIELD(lora_rank), 4},
        {"swift sft --train_type full --lora_rank 4 --model Qwen/Qwen2.5-7B", FIELD(lora_rank), 0},
        {"swift sft --train_type full --model Qwen/Qwen2.5-7B", FIELD(algorithm), WORKLOAD_TRAIN},
        {SWIFT, FIELD(algorithm), WORKLOAD_GRPO},
        {"swift rlhf --rlhf_type ppo --model Qwen/Qwen2.5-7B", FIELD(algorithm), WORKLOAD_PPO},
        {"swift rlhf --rlhf_type dpo --model Qwen/Qwen2.5-7B", FIELD(algorithm), WORKLOAD_TRAIN},
        {"swift rlhf --rlhf_type x --num_generations 2 --model Qwen/Qwen2.5-7B", FIELD(algorithm), WORKLOAD_GRPO},
        {SWIFT "--deepspeed zero3_offload", FIELD(offload), 1},
        {SWIFT "--deepspeed zero2_offload", FIELD(offload_params), 0},
        {VERL A "ppo_mini_batch_size=8 data.train_batch_size=24", FIELD(updates), 3},
        {VERL A "ppo_mini_batch_size=8 data.train_batch_size=8", FIELD(updates), 1},
        {VERL A "ppo_mini_batch_size=8 data.train_batch_size=7", FIELD(updates), 0},
        {VERL A "ppo_mini_batch_size=8 actor_rollout_ref.rollout.n=5", FIELD(mini_batch), 40},
        {VERL A "ppo_mini_batch_size=8", FIELD(mini_batch), 8},
        {VERL A "use_dynamic_bsz=1", FIELD(micro_batch), 1},
        {VERL A "use_dynamic_bsz=1 " A "ppo_micro_batch_size_per_gpu=3", FIELD(micro_batch), 3},
        {VERL A "use_dynamic_bsz=0 " A "ppo_micro_batch_size_per_gpu=3", FIELD(micro_batch), 3},
        {VERL A "use_dynamic_bsz=1 " A "ppo_max_token_len_per_gpu=100", FIELD(micro_batch), 1},
        {VERL A "use_dynamic_bsz=1 data.max_prompt_length=30 " A "ppo_max_token_len_per_gpu=100", FIELD(micro_batch),
         3},
        {VERL A "use_dynamic_bsz=1 data.max_prompt_length=30 " A "ppo_max_token_len_per_gpu=30", FIELD(micro_batch), 1},
        {VERL A "use_dynamic_bsz=1 data.max_prompt_length=30 " A "ppo_max_token_len_per_gpu=20", FIELD(micro_batch), 1},
        {VERL "algorithm.adv_estimator=gae", FIELD(algorithm), WORKLOAD_PPO},
        {VERL "algorithm.adv_estimator=grpo", FIELD(algorithm), WORKLOAD_GRPO},
        {VERL, FIELD(algorithm), WORKLOAD_PPO},
        {VERL, FIELD(no_custom_all_reduce), 0}, /* verl since January 2026 */
        {VERL "+actor_rollout_ref.rollout.engine_kwargs.vllm.disable_custom_all_reduce=True",
         FIELD(no_custom_all_reduce), 1},
        {VERL "actor_rollout_ref.model.lora.rank=16", FIELD(lora_rank), 16},
        {VERL "+" A "megatron.override_transformer_config.recompute_granularity=full", FIELD(recompute), 1},
        {VERL "+" A "optim.override_optimizer_config.optimizer_cpu_offload=True", FIELD(offload), 2},
        {"swift sft --tuner_type lora --model Qwen/Qwen2.5-7B", FIELD(lora_rank), 8},
        {"megatron sft --tuner_type full --model Qwen/Qwen3-30B-A3B --tensor_model_parallel_size 4 "
         "--expert_model_parallel_size 8",
         FIELD(etp), 1},
        {"megatron sft --model Qwen/Qwen3-30B-A3B --micro_batch_size 1 --tensor_model_parallel_size 2 "
         "--expert_model_parallel_size 8",
         FIELD(etp), 1},
        {"megatron sft --tuner_type full --model Qwen/Qwen3-8B --tensor_model_parallel_size 2",
         FIELD(no_sequence_parallel), 1},
        {"accelerate launch --config_file a/zero3.yaml x.py --model Qwen/Qwen3-8B --per_device_train_batch_size 1 "
         "--use_peft",
         FIELD(lora_rank), 16},
        {"megatron sft --tuner_type full --model Qwen/Qwen3-8B --optimizer_cpu_offload true", FIELD(offload), 2},
        {"x --micro-batch-size 1 --num-layers 12 --hidden-size 8 --optimizer-cpu-offload", FIELD(offload), 2},
        {"X=${X:-\"${HOME}/verl\"}\n" VERL "trainer.nnodes=3", FIELD(nodes), 3},
        {"ARGS=(\n  --num-layers 12\n  --hidden-size 8 # a comment\n)\nx --micro-batch-size 1 ${ARGS[@]}",
         FIELD(model.layers), 12},
        {"x --micro-batch-size 1 --num-layers 12 --hidden-size 8 --pipeline-model-parallel-size 3 "
         "--num-layers-per-virtual-pipeline-stage 2",
         FIELD(vpp), 2},
        {"x --micro-batch-size 1 --num-layers 12 --hidden-size 8 --num-layers-per-virtual-pipeline-stage 2", FIELD(vpp),
         0},
        {"x --micro-batch-size 1 --num-layers 12 --hidden-size 8", FIELD(model.vocab), 128256},
        {"x --micro-batch-size 1 --num-layers 12 --hidden-size 8 --vocab-size 5", FIELD(model.vocab), 5},
        {"x --micro-batch-size 1 --num-layers 12 --hidden-size 8", FIELD(no_sequence_parallel), 1},
        {"x --micro-batch-size 1 --num-layers 12 --hidden-size 8 --sequence-parallel", FIELD(no_sequence_parallel), 0},
        {"x --micro-batch-size 1 --num-layers 12 --hidden-size 8 --recompute-granularity full", FIELD(recompute), 1},
        {"x --micro-batch-size 1 --num-layers 12 --hidden-size 8 --recompute-granularity selective", FIELD(recompute),
         0},
        {TITAN "data_parallel_shard_degree = 4\n", FIELD(dp), 4},
#define SLIME "x --hf-checkpoint /m/Qwen3-8B --rollout-max-response-len 3584 "
        {SLIME "--actor-num-nodes 2 --actor-num-gpus-per-node 4", FIELD(nodes), 2},
        {SLIME "--rollout-num-gpus-per-engine 4", FIELD(rollout_tp), 4},
        {SLIME "--n-samples-per-prompt 8 --global-batch-size 64 --rollout-batch-size 32", FIELD(updates), 4},
        {SLIME "--use-dynamic-batch-size --max-tokens-per-gpu 9216", FIELD(micro_batch), 2},
        {SLIME "--advantage-estimator grpo", FIELD(algorithm), WORKLOAD_GRPO},
#define OPENRLHF "x --pretrain Qwen/Qwen3-8B --micro_train_batch_size 2 --generate_max_len 1024 "
        {OPENRLHF "--actor_num_nodes 2 --actor_num_gpus_per_node 4", FIELD(gpus_per_node), 4},
        {OPENRLHF "--n_samples_per_prompt 8 --train_batch_size 128 --rollout_batch_size 64", FIELD(updates), 4},
        {OPENRLHF "--rollout.n_samples_per_prompt 16 --train_batch_size 256 --rollout_batch_size 64 "
                  "--eval.n_samples_per_prompt 4",
         FIELD(updates), 4},
        {OPENRLHF, FIELD(algorithm), WORKLOAD_PPO},
        {OPENRLHF "--advantage_estimator group_norm", FIELD(algorithm), WORKLOAD_GRPO},
        {"x --actor.model_name_or_path Qwen/Qwen3-8B --ds.zero_stage 3 --rollout.max_new_tokens 2048 --data.max_len "
         "4096",
         FIELD(prompt), 2048},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct workload_script s = parse(cases[i].text, *cases[i].text == '[' ? "a.toml" : "a.sh", a);
        struct workload_job j = {0};
        struct workload_reading read = {0};
        struct err e = {0};
        int number;
        if (workload_script_job(&s, &j, &read, &e))
            fail_msg("%s: %s", cases[i].text, e.text);
        memcpy(&number, (const char *)&j + cases[i].field, sizeof number);
        if (number != cases[i].number)
            fail_msg("%s: %d", cases[i].text, number);
        arena_free(a);
    }
}

/* How a script's settings are spread over ranks. */
TEST_CASE(which_framework)
{
    static const char *const cases[][2] = {
        {VERL, "fsdp"},
        {VERL A "strategy=fsdp2", "fsdp2"},
        {VERL A "strategy=megatron", "megatron"},
        {VERL "--config-name=ppo_megatron_trainer", "megatron"},
        {VERL A "megatron.tensor_model_parallel_size=2", "megatron"},
        {VERL A "megatron.pipeline_model_parallel_size=2", "megatron"},
        {SWIFT, "megatron"}, /* which is how data parallelism alone communicates */
        {SWIFT "--deepspeed zero3", "zero3"},
        {SWIFT "--deepspeed zero2", "megatron"},
        {SWIFT "--deepspeed examples/deepspeed/ds_z3_config.json", "zero3"},
        {SWIFT "--deepspeed ds_z2_offload_config.json", "megatron"},
        {SWIFT "--deepspeed configs/zero_stage3.json", "zero3"},
        {SWIFT "--zero_stage 3", "zero3"},
        {SWIFT "--fsdp full_shard", "fsdp"},
        {SWIFT "--fsdp full_shard --fsdp_version 2", "fsdp2"},
        {SWIFT "--deepspeed zero3 --tensor_model_parallel_size 2", "megatron"},
        {SWIFT "--deepspeed zero3 --pipeline_model_parallel_size 2", "megatron"},
        {SWIFT "--deepspeed zero3 --expert_model_parallel_size 2", "megatron"},
        {OPENRLHF "--zero_stage 3", "zero3"},
        {OPENRLHF "--zero_stage 2", "megatron"},
        {SLIME, "megatron"},
        {SLIME "--train-backend fsdp", "fsdp2"},
        {TITAN, "fsdp2"},
        {TITAN "tensor_parallel_degree = 1\n", "fsdp2"},
        {TITAN "tensor_parallel_degree = 2\n", "megatron"},
        {TITAN "pipeline_parallel_degree = 1\n", "fsdp2"},
        {TITAN "pipeline_parallel_degree = 2\n", "megatron"},
        {TITAN "context_parallel_degree = 1\n", "fsdp2"},
        {TITAN "context_parallel_degree = 2\n", "megatron"},
        {TITAN "expert_parallel_degree = 1\n", "fsdp2"},
        {TITAN "expert_parallel_degree = 2\n", "megatron"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct workload_script s = parse(cases[i][0], *cases[i][0] == '[' ? "a.toml" : "a.sh", a);
        struct workload_job j = {0};
        struct workload_reading read = {0};
        struct err e = {0};
        if (workload_script_job(&s, &j, &read, &e) || strcmp(j.framework, cases[i][1]) != 0)
            fail_msg("%s: %s %s", cases[i][0], j.framework, e.text);
        arena_free(a);
    }
}

/* What concerns the step and has no part in the job is named; what is off, is another model's or a file's is not. */
TEST_CASE(unused)
{
    static const struct {
        const char *text, *unused; /* NULL: nothing */
    } cases[] = {
        {SWIFT "--fp8_param_gather true", "fp8_param_gather=true (line 1)"},
        {SWIFT "--fp8_format hybrid --overlap_grad_reduce true --moe_enable_deepep true", NULL},
        {SWIFT "--packing true", "packing=true (line 1)"},
        {SWIFT "--packing false --dataset_num_proc 4", NULL},
        {VERL "actor_rollout_ref.rollout.quantization=fp8", "actor_rollout_ref.rollout.quantization=fp8 (line 1)"},
        {"x --micro-batch-size 1 --num-layers 12 --hidden-size 8\ny --fp8-margin 1", "fp8_margin=1 (line 2)"},
        {"BATCH_SIZE=3\n" VERL, NULL},
        {"train_bsz=3\n" VERL "data.train_batch_size=$train_bsz", NULL},
        {SWIFT "--lora_rank 4 --lora_rank 8", NULL},
        {SWIFT "--gradient_accumulation_steps $STEPS", "gradient_accumulation_steps=$STEPS (line 1)"},
        {VERL "actor_rollout_ref.model.use_remove_padding=True",
         "actor_rollout_ref.model.use_remove_padding=True (line 1)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct workload_script s = parse(cases[i].text, "a.sh", a);
        struct workload_job j = {0};
        struct workload_reading read = {0};
        struct err e = {0};
        workload_script_job(&s, &j, &read, &e);
        if (read.nunused != (cases[i].unused != NULL) ||
            (cases[i].unused && strcmp(read.unused[0], cases[i].unused) != 0))
            fail_msg("%s: %d, %s", cases[i].text, read.nunused, read.nunused ? read.unused[0] : "none");
        arena_free(a);
    }
}

/* A judge's model is not the one that is trained; keys that are options count without their dashes. */
TEST_CASE(recipes)
{
    struct arena *a = arena_new();
    struct workload_script s = parse("pretrain: Qwen/Qwen2.5-7B\nactor_train:\n  training_args:\n    "
                                     "per_device_train_batch_size: 1\nrewards:\n  llm_judge:\n    model_args:\n      "
                                     "model_name_or_path: Qwen/Qwen2.5-72B-Instruct\n",
                                     "roll.yaml", a);
    struct workload_job j = {0};
    struct workload_reading read = {0};
    struct err e = {0};
    assert_int_equal(workload_script_job(&s, &j, &read, &e), 0);
    assert_string_equal(j.model.name, "qwen2.5-7b");
    s = parse("MODEL_ARGS:\n  --num-layers: 12\n  --hidden-size: 512\n  --micro-batch-size: 4\n"
              "  --tensor-model-parallel-size: 2\n",
              "model_config.yaml", a);
    j = (struct workload_job){0};
    read = (struct workload_reading){0};
    assert_int_equal(workload_script_job(&s, &j, &read, &e), 0);
    assert_int_equal(j.model.layers, 12);
    assert_int_equal(j.tp, 2);
    /* Without a gate an MLP has two matrices; experts are as wide as the MLP, and two of them meet a token. */
    assert_int_equal(j.model.intermediate, 2 * 4 * 512 / 3 / 16 * 16);
    assert_int_equal(j.model.tied, 1);
    s = parse("ARGS=\"--num-layers 6 --hidden-size 512 --ffn-hidden-size 2048 --num-experts 8 --swiglu \\\n"
              "  --untie-embeddings-and-output-weights --decoder-first-pipeline-num-layers 2 --micro-batch-size 1\"",
              "train.sh", a);
    j = (struct workload_job){0};
    read = (struct workload_reading){0};
    assert_int_equal(workload_script_job(&s, &j, &read, &e), 0);
    assert_true(j.model.expert_intermediate == 2048 && j.model.experts_per_token == 2 && !j.model.tied);
    assert_int_equal(j.uneven_stages, 1);
    /* NeMo-RL's name the base that they change. */
    j = (struct workload_job){0};
    read = (struct workload_reading){0};
    assert_int_equal(workload_read_launch("tests/fixtures/workload/recipes/grpo-8b-2n8g.yaml", a, &j, &read, &e), 0);
    assert_string_equal(j.model.name, "qwen3-8b");
    assert_string_equal(j.framework, "megatron");
    assert_int_equal(j.algorithm, WORKLOAD_GRPO);
    assert_int_equal(j.nodes * j.gpus_per_node, 16);
    assert_int_equal(j.tp, 2);
    assert_int_equal(j.rollout_tp, 4);
    assert_int_equal(j.updates, 2);
    assert_int_equal(j.prompt + j.response, 4096);
    assert_int_equal(j.recompute, 1);
    /* A sourced file below the script's directory is read, with its own lines; one above it is not. */
    j = (struct workload_job){0};
    read = (struct workload_reading){0};
    assert_int_equal(workload_read_launch("tests/fixtures/workload/recipes/run.sh", a, &j, &read, &e), 0);
    assert_int_equal(j.model.layers, 7);
    assert_int_equal(j.gpus_per_node, 0);
    assert_int_equal(j.uneven_stages, 1);
    int found = 0;
    for (int i = 0; i < read.nread; i++)
        found |= !strcmp(read.read[i], "read tests/fixtures/workload/recipes/models/small.sh:2: num_layers=7");
    assert_int_equal(found, 1);
    arena_free(a);
}

/* Names as hubs and directories have them. */
TEST_CASE(models)
{
    static const char *const cases[][2] = {
        {"Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"},
        {"deepseek-ai/DeepSeek-R1", "deepseek-v3"},
        {"deepseek-ai/DeepSeek-V3.1", "deepseek-v3"},
        {"/root/models/GLM-4.7-355B-A32B", "glm-4.5"},
        {"Qwen/Qwen3-VL-30B-A3B-Instruct", "qwen3-30b-a3b"},
        {"openai/gpt-oss-20b", "gpt-oss-20b"},
        {"/data/models/Qwen2.5-7B//", "qwen2.5-7b"},
        {"qwen2.5-7b", "qwen2.5-7b"},
        {"meta-llama/Meta-Llama-3.1-8B-Instruct", "llama3-8b"},
        {"meta-llama/Llama-3.3-70B", "llama3-70b"},
        {"meta-llama/Llama-3.2-1B", "llama3.2-1b"},
        {"Qwen/Qwen2.5-VL-7B-Instruct", "qwen2.5-vl-7b"},
        {"Qwen/Qwen3-30B-A3B-Base", "qwen3-30b-a3b"},
        {"Qwen/Qwen2.5-Math-7B", "qwen2.5-7b"},
        {"deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "r1-distill-1.5b"},
        {"deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "qwen2.5-32b"},
        {"deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "llama3-8b"},
        {"mistralai/Mistral-Nemo-Instruct-2407", "mistral-nemo"},
        {"Qwen/Qwen2-72B-Instruct", "qwen2.5-72b"},
        {"Qwen/Qwen2.5-7Bx", NULL},
        {"/", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct workload_script s =
            parse(arena_printf(a, "swift sft --train_type full --model %s", cases[i][0]), "a.sh", a);
        struct workload_job j = {0};
        struct workload_reading read = {0};
        struct err e = {0};
        int rc = workload_script_job(&s, &j, &read, &e);
        if (!rc != !!cases[i][1] || (!rc && strcmp(j.model.name, cases[i][1]) != 0))
            fail_msg("%s: %s", cases[i][0], j.model.name);
        if (rc)
            assert_string_equal(e.text, arena_printf(a,
                                                     "a.sh: the model %s is not known by name; give --model NAME (and "
                                                     "its shape)",
                                                     cases[i][0]));
        arena_free(a);
    }
}

TEST_CASES(test_script)
