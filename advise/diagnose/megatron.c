/* Megatron-LM: an iteration line, then a block of timers in one of three shapes (minimum and maximum over the ranks,
 * maximum, every rank), or the one-line shape of older versions. Names are those of its timers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

/* The timer around a whole schedule; what its parts leave of it is the bubble of the pipeline. */
#define WHOLE "forward and backward"

static const struct diag_word words[] = {
    {"forward_backward", WHOLE, DIAG_COMPUTE, DIAG_TRAIN},
    {"forward_compute", "forward", DIAG_COMPUTE, DIAG_TRAIN, WHOLE},
    {"backward_compute", "backward", DIAG_COMPUTE, DIAG_TRAIN, WHOLE},
    {"batch_generator", "data", DIAG_DATA, DIAG_TRAIN, "forward"},
    {"forward_recv|forward_send|backward_recv|backward_send|forward_send_forward_recv|forward_send_backward_recv|"
     "backward_send_forward_recv|backward_send_backward_recv|forward_backward_send_forward_backward_recv",
     "pipeline", DIAG_COMMUNICATION, DIAG_TRAIN, WHOLE},
    {"all_grads_sync", "gradient sync", DIAG_COMMUNICATION, DIAG_TRAIN, WHOLE},
    {"layernorm_grads_all_reduce|non_tensor_parallel_grads_all_reduce", "gradients of norms", DIAG_COMMUNICATION,
     DIAG_TRAIN, WHOLE},
    {"embedding_grads_all_reduce|conditional_embedder_grads_all_reduce", "gradients of the embedding",
     DIAG_COMMUNICATION, DIAG_TRAIN, WHOLE},
    {"optimizer", "optimizer", DIAG_COMPUTE, DIAG_TRAIN},
    {"params_all_gather", "weight gather", DIAG_COMMUNICATION, DIAG_TRAIN, "optimizer"},
    {"backward_reduce_model_grads", "gradient sync", DIAG_COMMUNICATION, DIAG_TRAIN},
    {"backward_gather_model_params", "weight gather", DIAG_COMMUNICATION, DIAG_TRAIN},
    {"backward_params_all_reduce|backward_layernorm_all_reduce|backward_embedding_all_reduce|optimizer_copy_to_main_"
     "grad|optimizer_unscale_and_check_inf|optimizer_clip_main_grad|optimizer_count_zeros|optimizer_inner_step|"
     "optimizer_copy_main_to_model_params|interval_time",
     NULL}, /* within others, or the iteration again */
    {"save_checkpoint", "checkpoint", DIAG_SAVE, DIAG_NEITHER},
    {"eval_time", "validation", DIAG_SAVE, DIAG_NEITHER},
    {NULL},
};

static const struct diag_word slowest = {"", "forward, slowest rank", DIAG_METRIC, DIAG_TRAIN, NULL};
static const struct diag_word fastest = {"", "forward, fastest rank", DIAG_METRIC, DIAG_TRAIN, NULL};

static void add_timer(struct diagnosis *d, const char *name, size_t len, double low, double high)
{
    char buffer[DIAG_NAME];
    struct diag_word w = diag_word_of(words, name, len, buffer);
    if (!w.phase)
        return;
    if (!strcmp(w.phase, "forward") && low >= 0) {
        diag_step_add(d, DIAG_MEGATRON, &slowest, high);
        diag_step_add(d, DIAG_MEGATRON, &fastest, low);
    }
    diag_step_add(d, DIAG_MEGATRON, &w, high);
}

/* " iteration 10/ 500 | ... | elapsed time per iteration (ms): 1234.5 | ..." */
static int read_iteration(struct diagnosis *d, const char *line)
{
    static const char elapsed[] = "elapsed time per iteration (ms):";
    const char *word = strstr(line, "iteration "), *time = strstr(line, elapsed);
    static const struct diag_word total = {.phase = diag_total_mark};
    double ms;
    if (!word || !time || !diag_time(time + sizeof elapsed - 1, 1, &ms))
        return 0;
    diag_step_open(d, DIAG_MEGATRON, strtol(word + 10, NULL, 10));
    diag_step_add(d, DIAG_MEGATRON, &total, ms);
    d->megatron_block = 0;
    return 1;
}

/* "    forward-compute ......: (300.00, 310.00)", "    forward-compute ...: 310.00", "  forward-compute:",
 * "     rank  0: 300.00". 0: the block is over. */
static int read_timer(struct diagnosis *d, const char *line)
{
    const char *name = line + strspn(line, " "), *colon = strrchr(line, ':');
    double low, high;
    if (name == line || !colon)
        return 0;
    if (!strncmp(name, "rank ", 5)) {
        if (!diag_number(colon + 1, &high))
            return 0;
        /* One timer of every rank: the slowest counts. */
        struct diag_series *s = &d->series[DIAG_MEGATRON];
        char buffer[DIAG_NAME];
        struct diag_word w = diag_word_of(words, d->megatron_name, strlen(d->megatron_name), buffer);
        for (int i = 0; w.phase && i < s->nlabels; i++)
            if (s->is_open && !strcmp(s->labels[i].name, w.phase) && s->open.ms[i] > 0) {
                s->open.ms[i] = fmax(s->open.ms[i], high);
                return 1;
            }
        diag_step_add(d, DIAG_MEGATRON, &w, high);
        return 1;
    }
    size_t n = strcspn(name, " :");
    if (!diag_number(colon + 1, &low)) {
        snprintf(d->megatron_name, sizeof d->megatron_name, "%.*s", (int)(n < DIAG_NAME ? n : DIAG_NAME - 1), name);
        return !colon[1 + strspn(colon + 1, " ")];
    }
    const char *comma = strchr(colon, ',');
    if (comma && diag_number(comma + 1, &high))
        add_timer(d, name, n, low, high);
    else
        add_timer(d, name, n, -1, low);
    return 1;
}

/* "time (ms) | forward-compute: 58.16 | backward-compute: 42.66 | ..." */
static int read_one_line(struct diagnosis *d, const char *p)
{
    while ((p = strchr(p, '|'))) {
        p++;
        const char *name = p + strspn(p, " "), *colon = strchr(name, ':');
        double ms;
        if (colon && diag_number(colon + 1, &ms))
            add_timer(d, name, (size_t)(colon - name), -1, ms);
    }
    return 1;
}

int diag_read_megatron(struct diagnosis *d, const char *line)
{
    if (read_iteration(d, line))
        return 1;
    if (!d->series[DIAG_MEGATRON].is_open)
        return 0;
    const char *one_line = strstr(line, "time (ms) |");
    if (one_line)
        return read_one_line(d, one_line);
    if (strstr(line, "time across ranks (ms):") || strstr(line, "times across ranks (ms):")) {
        d->megatron_block = 1;
        return 1;
    }
    d->megatron_block = d->megatron_block && read_timer(d, line);
    return d->megatron_block;
}
