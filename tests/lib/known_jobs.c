/* Batches and lengths are those of verl's examples (grpo_trainer, ppo_trainer) and of ms-swift's GRPO guide. */
#include "tests/lib/known_jobs.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define H100 .gpus_per_node = 8, .tflops = 400, .no_custom_all_reduce = 1
#define A100 .gpus_per_node = 8, .tflops = 125, .no_custom_all_reduce = 1
#define MATH .micro_batch = 4, .updates = 4, .mini_batch = 1280, .rollout_n = 5, .prompt = 1024, .response = 1024, .recompute = 1

static const struct {
    const char *name, *model;
    struct workload_job job;
} jobs[] = {
    {"verl-grpo-fsdp2-7b", "qwen2.5-7b",
     {.framework = "fsdp2", .algorithm = WORKLOAD_GRPO, H100, .nodes = 1, .rollout_tp = 2, .micro_batch = 16,
      .updates = 4, .mini_batch = 1280, .rollout_n = 5, .prompt = 512, .response = 1024, .recompute = 1}},
    {"verl-grpo-megatron-7b-tp2pp2", "qwen2.5-7b",
     {.framework = "megatron", .algorithm = WORKLOAD_GRPO, H100, .nodes = 1, .tp = 2, .pp = 2, MATH}},
    {"verl-grpo-megatron-7b-tp4pp4", "qwen2.5-7b",
     {.framework = "megatron", .algorithm = WORKLOAD_GRPO, H100, .nodes = 2, .tp = 4, .pp = 4, MATH}},
    {"verl-grpo-megatron-30b-ep4etp2", "qwen3-30b-a3b",
     {.framework = "megatron", .algorithm = WORKLOAD_GRPO, H100, .nodes = 4, .tp = 2, .ep = 4, .etp = 2,
      .rollout_tp = 4, .micro_batch = 4, .updates = 1, .mini_batch = 320, .rollout_n = 5, .prompt = 1024,
      .response = 2048, .recompute = 1}},
    {"verl-ppo-fsdp-7b", "qwen2-7b",
     {.framework = "fsdp", .algorithm = WORKLOAD_PPO, A100, .nodes = 2, .micro_batch = 16, .updates = 4,
      .mini_batch = 256, .prompt = 1024, .response = 512, .recompute = 1}},
    {"swift-grpo-vl3b-zero3", "qwen2.5-vl-3b",
     {.framework = "zero3", .algorithm = WORKLOAD_GRPO, .nodes = 1, .gpus_per_node = 2, .tflops = 125,
      .mini_batch = 32, .micro_batch = 8, .updates = 1, .epochs = 2, .rollout_n = 8, .prompt = 768, .response = 1024,
      .recompute = 1}},
};
/* clang-format on */

struct workload_job known_job(const char *name)
{
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        if (!strcmp(jobs[i].name, name)) {
            struct workload_job job = jobs[i].job;
            job.name = jobs[i].name;
            job.model = *language_model_find(jobs[i].model);
            return job;
        }
    abort(); /* no job has that name */
}
