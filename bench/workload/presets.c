/* Jobs that people run, by name. What is not a field of the job is in the description.
 *
 * Batches are those of the frameworks' public example scripts for that model size, rounded to fit the ranks; `tflops`
 * is about 40 % of the GPU's dense bfloat16 peak (H100 989, A100 312, MI300X 1307, PCIe cards of the L40S class 362).
 */
#include <string.h>

#include "bench/workload/job.h"

#define H100   .gpus_per_node = 8, .tflops = 400
#define A100   .gpus_per_node = 8, .tflops = 125
#define MI300X .gpus_per_node = 8, .tflops = 500
#define PCIE4  .gpus_per_node = 4, .tflops = 145

/* verl starts vLLM with disable_custom_all_reduce. */
#define VERL .no_custom_all_reduce = 1

/* verl's examples/grpo_trainer/run_qwen2-7b_math_megatron.sh: 1,024 prompts of 5 responses in mini-batches of 256
 * prompts, 4 sequences a GPU at a time, 1,024 + 1,024 tokens, enable_gradient_checkpointing. */
#define MATH_MEGATRON                                                                                        \
    .micro_batch = 4, .updates = 4, .mini_batch = 256 * 5, .rollout_n = 5, .prompt = 1024, .response = 1024, \
    .recompute = 1

/* Micro-batches of an optimizer step follow: mini_batch / (micro_batch × dp). */
/* clang-format off */
const struct workload_preset workload_presets[] = {
    {"verl-grpo-fsdp2-7b", "verl GRPO with FSDP2, 7B on 8 H100", "qwen2.5-7b",
     {.framework = "fsdp2", .algorithm = WORKLOAD_GRPO, VERL, H100, .nodes = 1, .rollout_tp = 2,
      .micro_batch = 16, .updates = 4, .mini_batch = 256 * 5, .rollout_n = 5,
      .prompt = 512, .response = 1024, .recompute = 1}},
    {"verl-grpo-megatron-7b-tp2pp2", "verl GRPO with Megatron TP2 PP2, 7B on 8 H100", "qwen2.5-7b",
     {.framework = "megatron", .algorithm = WORKLOAD_GRPO, VERL, H100, .nodes = 1, .tp = 2, .pp = 2, MATH_MEGATRON}},
    {"verl-grpo-megatron-7b-tp4pp4", "verl GRPO with Megatron TP4 PP4, 7B on 2 × 8 H100", "qwen2.5-7b",
     {.framework = "megatron", .algorithm = WORKLOAD_GRPO, VERL, H100, .nodes = 2, .tp = 4, .pp = 4, MATH_MEGATRON}},
    {"verl-grpo-megatron-30b-tp2pp2", "verl GRPO with Megatron TP2 PP2, 30B MoE on 4 × 8 H100, experts over TP only",
     "qwen3-30b-a3b",
     {.framework = "megatron", .algorithm = WORKLOAD_GRPO, VERL, H100, .nodes = 4, .tp = 2, .pp = 2, .rollout_tp = 4,
      .micro_batch = 2, .updates = 4, .mini_batch = 512,
      .prompt = 1024, .response = 3072, .recompute = 1}},
    {"verl-grpo-megatron-30b-tp4pp4", "verl GRPO with Megatron TP4 PP4, 30B MoE on 4 × 8 H100, experts over TP only",
     "qwen3-30b-a3b",
     {.framework = "megatron", .algorithm = WORKLOAD_GRPO, VERL, H100, .nodes = 4, .tp = 4, .pp = 4,
      .micro_batch = 2, .updates = 4, .mini_batch = 512,
      .prompt = 1024, .response = 3072, .recompute = 1}},
    {"verl-grpo-megatron-30b-ep4etp2", "verl GRPO with Megatron TP2 EP4 ETP2, 30B MoE on 4 × 8 H100", "qwen3-30b-a3b",
     {.framework = "megatron", .algorithm = WORKLOAD_GRPO, VERL, H100, .nodes = 4, .tp = 2, .ep = 4, .etp = 2,
      .rollout_tp = 4,
      .micro_batch = 2, .updates = 4, .mini_batch = 512,
      .prompt = 1024, .response = 3072, .recompute = 1}},
    {"verl-ppo-fsdp-7b", "verl PPO with FSDP, 7B on 2 × 8 A100", "qwen2-7b",
     {.framework = "fsdp", .algorithm = WORKLOAD_PPO, VERL, A100, .nodes = 2, .rollout_tp = 2,
      .micro_batch = 16, .updates = 4, .mini_batch = 256,
      .prompt = 1024, .response = 512, .recompute = 1}},
    {"verl-ppo-fsdp-7b-offload", "the same with parameters and optimizer in host memory", "qwen2-7b",
     {.framework = "fsdp", .algorithm = WORKLOAD_PPO, VERL, A100, .nodes = 2, .rollout_tp = 2,
      .micro_batch = 16, .updates = 4, .mini_batch = 256,
      .prompt = 1024, .response = 512, .recompute = 1, .offload = 1, .offload_params = 1}},
    {"swift-grpo-vl3b-zero3", "Swift GRPO of a 3B vision model, ZeRO-3 and vLLM on 2 A100", "qwen2.5-vl-3b",
     {.framework = "zero3", .algorithm = WORKLOAD_GRPO, .nodes = 1, .gpus_per_node = 2, .tflops = 125,
      .micro_batch = 4, .updates = 1, .mini_batch = 32,
      .prompt = 1536, .response = 512, .recompute = 1}},
    {"swift-grpo-vl3b-zero3-mi300x", "the same on 8 MI300X", "qwen2.5-vl-3b",
     {.framework = "zero3", .algorithm = WORKLOAD_GRPO, MI300X, .nodes = 1,
      .micro_batch = 8, .updates = 1, .mini_batch = 128,
      .prompt = 1536, .response = 512, .recompute = 1}},
    {"small-grpo-fsdp2-0.5b-4pcie", "GRPO of a 0.5B model with FSDP2 on 4 PCIe GPUs", "qwen2.5-0.5b",
     {.framework = "fsdp2", .algorithm = WORKLOAD_GRPO, PCIE4, .nodes = 1,
      .micro_batch = 8, .updates = 2, .mini_batch = 128,
      .prompt = 512, .response = 512, .recompute = 1}},
    {"small-grpo-fsdp2-1.5b-4pcie", "GRPO of a 1.5B model with FSDP2 on 4 PCIe GPUs", "qwen2.5-1.5b",
     {.framework = "fsdp2", .algorithm = WORKLOAD_GRPO, PCIE4, .nodes = 1,
      .micro_batch = 4, .updates = 2, .mini_batch = 128,
      .prompt = 512, .response = 512, .recompute = 1}},
    {"small-sft-zero3-3b-4pcie", "fine-tuning of a 3B model with ZeRO-3 on 4 PCIe GPUs", "qwen2.5-3b",
     {.framework = "zero3", .algorithm = WORKLOAD_TRAIN, PCIE4, .nodes = 1,
      .micro_batch = 2, .updates = 1, .mini_batch = 64,
      .prompt = 1024, .response = 1024, .recompute = 1}},
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
