/* Jobs that people run, by name. What is not a field of the job is in the description.
 *
 * Batches, lengths and recomputation are those of the scripts that each group names, of which the number of nodes and
 * the layout in the preset's name may differ; `tflops` is about 40 % of the GPU's dense bfloat16 peak (H100 989, A100
 * 312, MI300X 1307, PCIe cards of the L40S class 362). */
#include <string.h>

#include "model/workload/job.h"

#define H100   .gpus_per_node = 8, .tflops = 400
#define A100   .gpus_per_node = 8, .tflops = 125
#define MI300X .gpus_per_node = 8, .tflops = 500
#define PCIE4  .gpus_per_node = 4, .tflops = 145

/* verl starts vLLM with disable_custom_all_reduce. */
#define VERL .no_custom_all_reduce = 1

/* clang-format off */
/* verl, examples/grpo_trainer/run_qwen2-7b.sh: 1,024 prompts of 5 responses in mini-batches of 256 prompts, 512 + 1,024
 * tokens, enable_gradient_checkpointing, rollout with tensor parallelism of 2. Its 40 sequences a GPU at a time are
 * without padding; so many of full length do not fit. */
#define GRPO_FSDP                                                                              \
    .rollout_tp = 2, .micro_batch = 16, .updates = 4, .mini_batch = 256 * 5, .rollout_n = 5,   \
    .prompt = 512, .response = 1024, .recompute = 1

/* verl, examples/grpo_trainer/run_qwen2-7b_math_megatron.sh: the same with 4 sequences a GPU, 1,024 + 1,024 tokens. */
#define MATH_MEGATRON                                                                          \
    .micro_batch = 4, .updates = 4, .mini_batch = 256 * 5, .rollout_n = 5,                     \
    .prompt = 1024, .response = 1024, .recompute = 1

/* verl, examples/grpo_trainer/run_qwen3moe-30b_megatron.sh: 64 prompts of 5 responses in one mini-batch, 4 sequences a
 * GPU, 1,024 + 2,048 tokens, enable_gradient_checkpointing, rollout with 4; its layout is TP 4, PP 2, EP 4. */
#define MOE_MEGATRON                                                                           \
    .rollout_tp = 4, .micro_batch = 4, .updates = 1, .mini_batch = 64 * 5, .rollout_n = 5,     \
    .prompt = 1024, .response = 2048, .recompute = 1

/* verl, examples/ppo_trainer/run_qwen2-7b_rm.sh: 1,024 prompts in mini-batches of 256, 16 sequences a GPU, 1,024 + 512
 * tokens, enable_gradient_checkpointing, rollout without tensor parallelism. */
#define PPO_FSDP                                                                               \
    .micro_batch = 16, .updates = 4, .mini_batch = 256, .prompt = 1024, .response = 512, .recompute = 1

/* ms-swift, BestPractices/GRPO-Multi-Modal-Training (geometric questions): 8 sequences a GPU, accumulated twice, of
 * responses to 8 a prompt, 1,024 tokens; MAX_PIXELS=401408 is 512 tokens of an image, beside 256 of a question. Swift
 * recomputes unless told otherwise. It trains twice on the same responses (num_iterations). */
#define SWIFT_GRPO                                                                             \
    .micro_batch = 8, .updates = 1, .epochs = 2, .rollout_n = 8,                               \
    .prompt = 768, .response = 1024, .recompute = 1

/* TRL's GRPOConfig as it comes: 8 sequences a GPU, 8 responses a prompt, prompts of 512 tokens; responses of 512 in
 * place of its 256. */
#define TRL_GRPO .rollout_n = 8, .prompt = 512, .response = 512, .recompute = 1

/* Micro-batches of an optimizer step follow: mini_batch / (micro_batch × dp). */
const struct workload_preset workload_presets[] = {
    {"verl-grpo-fsdp2-7b", "verl GRPO with FSDP2, 7B on 8 H100", "qwen2.5-7b",
     {.framework = "fsdp2", .algorithm = WORKLOAD_GRPO, VERL, H100, .nodes = 1, GRPO_FSDP}},
    {"verl-grpo-megatron-7b-tp2pp2", "verl GRPO with Megatron TP2 PP2, 7B on 8 H100", "qwen2.5-7b",
     {.framework = "megatron", .algorithm = WORKLOAD_GRPO, VERL, H100, .nodes = 1, .tp = 2, .pp = 2, MATH_MEGATRON}},
    {"verl-grpo-megatron-7b-tp4pp4", "verl GRPO with Megatron TP4 PP4, 7B on 2 × 8 H100", "qwen2.5-7b",
     {.framework = "megatron", .algorithm = WORKLOAD_GRPO, VERL, H100, .nodes = 2, .tp = 4, .pp = 4, MATH_MEGATRON}},
    {"verl-grpo-megatron-30b-tp2pp2", "verl GRPO with Megatron TP2 PP2, 30B MoE on 4 × 8 H100, experts over TP only",
     "qwen3-30b-a3b",
     {.framework = "megatron", .algorithm = WORKLOAD_GRPO, VERL, H100, .nodes = 4, .tp = 2, .pp = 2, MOE_MEGATRON}},
    {"verl-grpo-megatron-30b-tp4pp4", "verl GRPO with Megatron TP4 PP4, 30B MoE on 4 × 8 H100, experts over TP only",
     "qwen3-30b-a3b",
     {.framework = "megatron", .algorithm = WORKLOAD_GRPO, VERL, H100, .nodes = 4, .tp = 4, .pp = 4, MOE_MEGATRON}},
    {"verl-grpo-megatron-30b-ep4etp2", "verl GRPO with Megatron TP2 EP4 ETP2, 30B MoE on 4 × 8 H100", "qwen3-30b-a3b",
     {.framework = "megatron", .algorithm = WORKLOAD_GRPO, VERL, H100, .nodes = 4, .tp = 2, .ep = 4, .etp = 2,
      MOE_MEGATRON}},
    {"verl-ppo-fsdp-7b", "verl PPO with FSDP, 7B on 2 × 8 A100", "qwen2-7b",
     {.framework = "fsdp", .algorithm = WORKLOAD_PPO, VERL, A100, .nodes = 2, PPO_FSDP}},
    {"verl-ppo-fsdp-7b-offload", "the same with parameters and optimizer in host memory", "qwen2-7b",
     {.framework = "fsdp", .algorithm = WORKLOAD_PPO, VERL, A100, .nodes = 2, PPO_FSDP,
      .offload = 1, .offload_params = 1}},
    {"swift-grpo-vl3b-zero3", "Swift GRPO of a 3B vision model, ZeRO-3 and vLLM on 2 A100", "qwen2.5-vl-3b",
     {.framework = "zero3", .algorithm = WORKLOAD_GRPO, .nodes = 1, .gpus_per_node = 2, .tflops = 125,
      .mini_batch = 32, SWIFT_GRPO}},
    {"swift-grpo-vl3b-zero3-mi300x", "the same on 8 MI300X", "qwen2.5-vl-3b",
     {.framework = "zero3", .algorithm = WORKLOAD_GRPO, MI300X, .nodes = 1,
      .mini_batch = 128, SWIFT_GRPO}},
    {"small-grpo-fsdp2-0.5b-4pcie", "GRPO of a 0.5B model with FSDP2 on 4 PCIe GPUs", "qwen2.5-0.5b",
     {.framework = "fsdp2", .algorithm = WORKLOAD_GRPO, PCIE4, .nodes = 1,
      .micro_batch = 8, .updates = 2, .mini_batch = 128, TRL_GRPO}},
    {"small-grpo-fsdp2-1.5b-4pcie", "GRPO of a 1.5B model with FSDP2 on 4 PCIe GPUs", "qwen2.5-1.5b",
     {.framework = "fsdp2", .algorithm = WORKLOAD_GRPO, PCIE4, .nodes = 1,
      .micro_batch = 4, .updates = 2, .mini_batch = 128, TRL_GRPO}},
    /* TRL's trl/scripts/sft.py: 2 sequences a GPU, accumulated 8 times; SFTConfig's max_length of 1,024 tokens. */
    {"small-sft-zero3-3b-4pcie", "fine-tuning of a 3B model with ZeRO-3 on 4 PCIe GPUs", "qwen2.5-3b",
     {.framework = "zero3", .algorithm = WORKLOAD_TRAIN, PCIE4, .nodes = 1,
      .micro_batch = 2, .updates = 1, .mini_batch = 64, .prompt = 1024, .recompute = 1}},
    {NULL, NULL, NULL, {0}},
};
/* clang-format on */

int workload_preset_job(const char *name, struct workload_job *job, struct err *e)
{
    for (const struct workload_preset *p = workload_presets; p->name; p++)
        if (!strcmp(p->name, name)) {
            *job = p->job;
            job->name = p->name;
            job->model = *language_model_find(p->model);
            return 0;
        }
    return err_set(e, ERR_USAGE, "preset: '%s' is not one of those that --list prints", name);
}
