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

static const struct diag_word slowest = {"", "forward, slowest rank", DIAG_METRIC, DIAG_TRAIN, NULL, 0};
static const struct diag_word fastest = {"", "forward, fastest rank", DIAG_METRIC, DIAG_TRAIN, NULL, 0};
static const struct diag_word waiting = {"", DIAG_WAIT_SLOWEST, DIAG_WAITING, DIAG_TRAIN, WHOLE, 0};

/* A timer over the ranks, `low` -1 unknown. The rank that enters a collective last waits least: the minimum moves data,
 * the rest of the maximum is waiting. */
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
    int moves = w.kind == DIAG_COMMUNICATION && low >= 0 && low <= high;
    diag_step_add(d, DIAG_MEGATRON, &w, moves ? low : high);
    if (moves)
        diag_step_add(d, DIAG_MEGATRON, &waiting, high - low);
}

/* The timer that has a line for every rank, once it is over; the slowest rank of forward is remembered. */
static void end_ranks(struct diagnosis *d)
{
    struct diag_rank_timer *t = &d->rank_timer;
    if (t->ranks) {
        if (!strcmp(t->name, "forward-compute") && t->slowest < DIAG_VOTES)
            d->slow_votes[t->slowest]++;
        add_timer(d, t->name, strlen(t->name), t->ranks > 1 ? t->low : -1, t->high);
    }
    t->ranks = 0;
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
    end_ranks(d);
    diag_step_open(d, DIAG_MEGATRON, strtol(word + 10, NULL, 10));
    diag_step_add(d, DIAG_MEGATRON, &total, ms);
    static const struct diag_word rate = {"", "TFLOP/s", DIAG_METRIC, DIAG_NEITHER, NULL, 0};
    static const char throughput[] = "throughput per GPU (TFLOP/s/GPU):";
    const char *at = strstr(line, throughput);
    if (at && diag_number(at + sizeof throughput - 1, &ms) && ms > 0)
        diag_step_add(d, DIAG_MEGATRON, &rate, ms);
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
        struct diag_rank_timer *t = &d->rank_timer;
        t->low = t->ranks ? fmin(t->low, high) : high;
        if (!t->ranks++ || high > t->high) {
            t->high = high;
            t->slowest = strtol(name + 5, NULL, 10);
        }
        return 1;
    }
    end_ranks(d);
    size_t n = strcspn(name, " :");
    if (!diag_number(colon + 1, &low)) {
        snprintf(d->rank_timer.name, DIAG_NAME, "%.*s", (int)(n < DIAG_NAME ? n : DIAG_NAME - 1), name);
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
    if (!d->megatron_block)
        end_ranks(d);
    return d->megatron_block;
}

void diag_end_megatron(struct diagnosis *d)
{
    end_ranks(d);
    d->megatron_block = 0;
}
