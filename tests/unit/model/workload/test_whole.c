/* model/workload as a whole: jobs of every kind with all that follows from them (defaults, what is wrong with them,
 * memory, every call of a step), and what every launch script is read as, held against files. */
#include "tests/lib/whole.h"

#include <dirent.h>
#include <unistd.h>

#include "core/coll.h"
#include "model/workload/parts.h"

static const struct {
    const char *title, *model;
    struct workload_job job;
} jobs[] = {
    {"the least that can be said", "llama3.2-1b", {.framework = "fsdp"}},
    {"sharded, in few pieces",
     "qwen2.5-7b",
     {.framework = "fsdp2",
      .nodes = 2,
      .gpus_per_node = 4,
      .micro_batch = 2,
      .grad_accum = 3,
      .prompt = 4096,
      .gpu = "h100-sxm",
      .recompute = 1,
      .prefetch = -1}},
    {"adapters alone are trained",
     "qwen3-8b",
     {.framework = "fsdp2",
      .algorithm = WORKLOAD_GRPO,
      .gpus_per_node = 4,
      .lora_rank = 16,
      .rollout_tp = 2,
      .rollout_n = 4,
      .mini_batch = 64,
      .micro_batch = 3,
      .updates = 2,
      .offload = 1,
      .offload_params = 1,
      .tflops = 300,
      .host_GBps = 40,
      .memory_GiB = 80}},
    {"all in one machine's memory",
     "qwen2.5-vl-7b",
     {.framework = "zero3-offload",
      .algorithm = WORKLOAD_PPO,
      .nodes = 2,
      .epochs = 2,
      .updates = 3,
      .micro_batch = 2,
      .tflops = 150,
      .prompt = 512,
      .response = 1536}},
    {"sequences are split",
     "qwen3-14b",
     {.framework = "zero3",
      .sp = 4,
      .nodes = 4,
      .prompt = 32768,
      .gpu = "a100-sxm",
      .dtype = "fp16",
      .reduce_dtype = "float32"}},
    {"a pipeline of pieces",
     "llama3-70b",
     {.framework = "megatron",
      .tp = 4,
      .pp = 4,
      .vpp = 5,
      .dp = 2,
      .cp = 2,
      .grad_accum = 16,
      .prompt = 8192,
      .tflops = 400,
      .gpu = "h200-sxm"}},
    {"a pipeline without bubbles",
     "llama3-8b",
     {.framework = "megatron",
      .algorithm = WORKLOAD_PPO,
      .tp = 2,
      .pp = 2,
      .dp = 4,
      .zero_bubble = 1,
      .grad_accum = 8,
      .rollout_tp = 4,
      .ref_tp = 2,
      .no_sequence_parallel = 1,
      .tflops = 400,
      .memory_GiB = 80,
      .no_custom_all_reduce = 1}},
    {"experts",
     "qwen3-30b-a3b",
     {.framework = "megatron",
      .algorithm = WORKLOAD_GRPO,
      .nodes = 2,
      .tp = 2,
      .pp = 2,
      .ep = 4,
      .etp = 1,
      .mini_batch = 32,
      .rollout_tp = 8,
      .rollout_n = 8,
      .recompute = 1,
      .gpu = "b200"}},
    {"many experts",
     "qwen3-235b-a22b",
     {.framework = "megatron", .nodes = 16, .tp = 4, .pp = 2, .ep = 16, .etp = 2, .grad_accum = 4, .gpu = "gb200"}},
    {"embedding and head are one, on two stages",
     "qwen2.5-0.5b",
     {.framework = "megatron", .tp = 2, .pp = 2, .cp = 2, .dp = 3, .grad_accum = 8, .recompute = 1, .tflops = 100}},
    {"the same on four stages of seven pieces, without sequence parallelism",
     "llama3.2-3b",
     {.framework = "megatron", .tp = 2, .pp = 4, .dp = 2, .vpp = 7, .grad_accum = 4, .no_sequence_parallel = 1}},
    {"adapters of a pipeline",
     "qwen2.5-3b",
     {.framework = "megatron", .tp = 2, .pp = 2, .dp = 2, .grad_accum = 8, .lora_rank = 8, .offload = 1}},
    {"adapters of experts",
     "qwen3-30b-a3b",
     {.framework = "megatron", .tp = 2, .pp = 2, .ep = 2, .dp = 4, .cp = 2, .grad_accum = 8, .lora_rank = 8}},
    {"experts that are all as busy, and shared sequences",
     "qwen3-30b-a3b",
     {.framework = "megatron", .tp = 2, .ep = 4, .dp = 4, .cp = 2, .even_experts = 1, .algorithm = WORKLOAD_GRPO}},
    {"pictures",
     "qwen2-vl-7b",
     {.framework = "megatron", .tp = 2, .pp = 2, .dp = 2, .grad_accum = 8, .algorithm = WORKLOAD_PPO}},
    {"an engine in a pipeline", "llama3-8b", {.framework = "vllm-rollout", .tp = 2, .pp = 2, .dp = 2, .gpu = "l40s"}},
    {"no training at all",
     "qwen2.5-32b",
     {.framework = "vllm-rollout",
      .tp = 4,
      .dp = 2,
      .rollout_n = 2,
      .micro_batch = 600,
      .gpu = "l40s",
      .dtype = "float8"}},
    {"an engine over PCIe", "qwen2.5-0.5b", {.framework = "vllm-rollout", .tp = 2, .no_nvlink = 1, .micro_batch = 8}},
    {"contradictions",
     "qwen2.5-7b",
     {.framework = "megatron",
      .nodes = 2,
      .gpus_per_node = 8,
      .tp = 3,
      .pp = 8,
      .vpp = 3,
      .dp = 4,
      .ref_tp = 2,
      .ref_pp = 1,
      .ep = 2,
      .etp = 5,
      .micro_batch = 4,
      .grad_accum = 2,
      .mini_batch = 100,
      .rollout_tp = 5,
      .algorithm = WORKLOAD_GRPO,
      .memory_GiB = 4}},
    {"a model that does not fit",
     "qwen2.5-72b",
     {.framework = "fsdp2",
      .tp = 2,
      .pp = 3,
      .rollout_tp = 3,
      .memory_GiB = 80,
      .micro_batch = 2,
      .mini_batch = 128,
      .grad_accum = 2}},
};

static void print_findings(FILE *out, const struct findings *found)
{
    for (int i = 0; i < found->n; i++)
        finding_print(&found->list[i], 2, out);
}

static void print_step(FILE *out, const struct workload *w)
{
    fprintf(out, "  %s, %s, %s with %s, %llu parameters, %d ranks of %d, per run %d\n", w->name, w->source, w->model,
            w->framework, (unsigned long long)w->parameters, w->ranks, w->ranks_per_node, w->per_run);
    for (int i = 0; i < w->nnotes; i++)
        fprintf(out, "  note: %s\n", w->notes[i]);
    for (int i = 0; i < w->nphases; i++) {
        const struct workload_phase *p = &w->phases[i];
        fprintf(out, "  %s: compute %.6g us, bubble %.6g, %.6g bytes\n", p->name, p->compute_us, p->bubble,
                workload_bytes(w, p, -1));
        for (int k = 0; k < p->ncalls; k++) {
            const struct workload_call *c = &p->calls[k];
            fprintf(out, "    %s %llu x %.6g, %d ranks %s %d, %d nodes, %s, beside %.6g us: %s\n", coll_name(c->kind),
                    (unsigned long long)c->bytes, c->count, c->group_size,
                    c->place == WORKLOAD_NODE ? "in a node" : "across", c->stride, workload_call_nodes(w, c), c->dtype,
                    c->overlap_us, c->what);
        }
    }
}

static void print_job(FILE *out, const struct workload_job *j, struct arena *a)
{
    struct workload_memory m = workload_memory_of(j);
    struct findings found = workload_check(j, NULL, a);
    double bytes, seconds = workload_offload_s(j, &bytes);
    fprintf(
        out,
        "  %s %s of %s on %d x %d: tp %d pp %d dp %d cp %d sp %d vpp %d ep %d etp %d, reference %d %d, rollout %d\n",
        j->framework, workload_algorithm_name((int)j->algorithm), j->model.name, j->nodes, j->gpus_per_node, j->tp,
        j->pp, j->dp, j->cp, j->sp, j->vpp, j->ep, j->etp, j->ref_tp, j->ref_pp, j->rollout_tp);
    fprintf(
        out,
        "  batches %d x %d x %d x %d, mini %d, n %d, tokens %d + %d, %s %s, offload %d %d, prefetch %d, %.6g TFLOP/s, "
        "%.6g GiB, %.6g GB/s, no NVLink %d\n",
        j->micro_batch, j->grad_accum, j->updates, j->epochs, j->mini_batch, j->rollout_n, j->prompt, j->response,
        j->dtype, j->reduce_dtype, j->offload, j->offload_params, j->prefetch, j->tflops, j->memory_GiB,
        workload_host_GBps(j), j->no_nvlink);
    fprintf(
        out,
        "  GiB: weights %.6g gradients %.6g optimizer %.6g reference %.6g gathered %.6g activations %.6g logits %.6g "
        "engine %.6g states %.6g peak %.6g\n",
        m.weights / 0x1p30, m.gradients / 0x1p30, m.optimizer / 0x1p30, m.reference / 0x1p30, m.gathered / 0x1p30,
        m.activations / 0x1p30, m.logits / 0x1p30, m.engine / 0x1p30, workload_memory_states(&m) / 0x1p30,
        workload_memory_peak(&m) / 0x1p30);
    fprintf(out, "  offload %.6g bytes, %.6g s\n", bytes, seconds);
    print_findings(out, &found);
}

/* It comes back from its document. */
static struct workload *saved_and_loaded(struct workload *w)
{
    char path[] = "/tmp/nccltune-workload-XXXXXX";
    struct err e = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(workload_save(w, path, &e), 0);
    workload_free(w);
    if (!(w = workload_load(path, &e)))
        fail_msg("%s", e.text);
    unlink(path);
    return w;
}

TEST_CASE(jobs_and_their_calls)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        struct workload_job j = jobs[i].job;
        struct arena *a = arena_new();
        struct err e = {0};
        j.model = *language_model_find(jobs[i].model);
        if (workload_job_complete(&j, &e))
            fail_msg("%s: %s", jobs[i].title, e.text);
        fprintf(out, "%s\n", jobs[i].title);
        print_job(out, &j, a);
        struct workload *w = saved_and_loaded(workload_generate(&j));
        print_step(out, w);
        workload_free(w);
        arena_free(a);
    }
    fclose(out);
    assert_whole(text, "tests/fixtures/workload/jobs.txt");
    free(text);
}

static int by_name(const struct dirent **x, const struct dirent **y)
{
    return strcmp((*x)->d_name, (*y)->d_name);
}

static int is_visible(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

TEST_CASE(launch_scripts)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    struct dirent **names;
    int n = scandir("tests/fixtures/workload/launch", &names, is_visible, by_name);
    assert_true(n > 5);
    for (int i = 0; i < n; i++) {
        struct arena *a = arena_new();
        struct workload_job j = {0};
        struct workload_reading r = {0};
        struct err e = {0};
        const char *path = arena_printf(a, "tests/fixtures/workload/launch/%s", names[i]->d_name);
        fprintf(out, "%s\n", names[i]->d_name);
        if (workload_read_launch(path, a, &j, &r, &e))
            fprintf(out, "  error: %s\n", e.text);
        for (int k = 0; k < r.nread; k++)
            fprintf(out, "  read: %s\n", r.read[k]);
        for (int k = 0; k < r.nassumed; k++)
            fprintf(out, "  assumed: %s\n", r.assumed[k]);
        for (int k = 0; k < r.nodd; k++)
            fprintf(out, "  odd: %s\n", r.odd[k]);
        if (j.model.name && j.framework && !workload_job_complete(&j, &e))
            print_job(out, &j, a);
        free(names[i]);
        arena_free(a);
    }
    free(names);
    fclose(out);
    assert_whole(text, "tests/fixtures/workload/launch.txt");
    free(text);
}

TEST_CASES(test_whole)
