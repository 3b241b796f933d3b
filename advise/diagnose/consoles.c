/* Consoles that say a step in several lines, or its time by their clock: NeMo-RL's lists, AReaL's tables, torchtitan.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

static const struct diag_word whole = {.phase = diag_total_mark}, mfu = {"", "MFU", DIAG_METRIC},
                              flops = {"", "TFLOP/s", DIAG_METRIC};

/* Adds to the open step, which begins with the first timer. */
static void add_word(struct diagnosis *d, enum diag_format f, long number, const struct diag_word *w, double ms)
{
    if (!d->series[f].is_open)
        diag_step_open(d, f, number);
    diag_step_add(d, f, w, ms);
}

/* ---- Megatron ---------------------------------------------------------------------------------------------------- */

/* Megatron-LM: an iteration line, then a block of timers in one of three shapes (minimum and maximum over the ranks,
 * maximum, every rank), or the one-line shape of older versions. Names are those of its timers. */

/* The timer around a whole schedule; what its parts leave of it is the bubble of the pipeline. */
#define WHOLE "forward and backward"

static const struct diag_word megatron_words[] = {
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
    {"params_all_gather", "weight gather", DIAG_COMMUNICATION, DIAG_TRAIN, "optimizer"},
    {"backward_reduce_model_grads", "gradient sync", DIAG_COMMUNICATION, DIAG_TRAIN},
    {"backward_gather_model_params", "weight gather", DIAG_COMMUNICATION, DIAG_TRAIN},
    {"backward_params_all_reduce|backward_layernorm_all_reduce|backward_embedding_all_reduce|optimizer_copy_to_main_"
     "grad|optimizer_unscale_and_check_inf|optimizer_clip_main_grad|optimizer_count_zeros|optimizer_inner_step|"
     "optimizer_copy_main_to_model_params|interval_time",
     NULL}, /* within others, or the iteration again */
    {NULL},
};

static const struct diag_word slowest = {"", "forward, slowest rank", DIAG_METRIC, DIAG_TRAIN};
static const struct diag_word fastest = {"", "forward, fastest rank", DIAG_METRIC, DIAG_TRAIN};
static const struct diag_word waiting = {"", DIAG_WAIT_SLOWEST, DIAG_WAITING, DIAG_TRAIN, WHOLE, 0};

/* A timer over the ranks, `low` -1 unknown. The rank that enters a collective last waits least: the minimum moves data,
 * the rest of the maximum is waiting. */
static void add_timer(struct diagnosis *d, const char *name, size_t len, double low, double high)
{
    char buffer[DIAG_NAME];
    struct diag_word w = diag_word_of(megatron_words, name, len, buffer);
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
    double ms;
    if (!word || !time || !diag_time(time + sizeof elapsed - 1, 1, &ms))
        return 0;
    end_ranks(d);
    diag_step_open(d, DIAG_MEGATRON, strtol(word + 10, NULL, 10));
    diag_step_add(d, DIAG_MEGATRON, &whole, ms);
    static const char throughput[] = "throughput per GPU (TFLOP/s/GPU):";
    const char *at = strstr(line, throughput);
    if (at && diag_number(at + sizeof throughput - 1, &ms) && ms > 0)
        diag_step_add(d, DIAG_MEGATRON, &flops, ms);
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

/* ---- progress bars: " 12%|##   | 12/105 [08:00<1:02:00, 40.0s/it]" ----------------------------------------------- */

/* "08:00" or "1:02:03" -> seconds, -1: not such a time. */
static double elapsed(const char *s, const char **end)
{
    double total = 0;
    char *p;
    for (int i = 0; i < 4; i++) {
        if (*s < '0' || *s > '9')
            return -1;
        total = total * 60 + (double)strtol(s, &p, 10);
        s = p;
        if (*s != ':')
            break;
        s++;
    }
    *end = s;
    return total;
}

/* What a bar counts stands before its percentage; a trainer's bar has none. */
static int is_training(const char *line, const char *bar)
{
    static const char *const names[] = {"rain", "poch", "tep", "ter"};
    static const char *const others[] = {"examples/s", "B/s", "Map", "Filter", "split:", "dataset", "Tokeniz"};
    const char *p = bar;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(line, others[i]))
            return 0;
    while (p > line && ((p[-1] >= '0' && p[-1] <= '9') || p[-1] == ' ' || p[-1] == '%' || p[-1] == ':'))
        p--;
    if (p == line || p[-1] == ')' || p[-1] == ']')
        return 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *at = strstr(line, names[i]);
        if (at && at < bar)
            return 1;
    }
    return 0;
}

/* Seconds of a step by the bar's own rate, "40.0s/it" or "1.3it/s"; 0: it says none. */
static double rate_of(const char *p)
{
    double value;
    p = strchr(p, ',');
    const char *unit = p ? diag_number(p + 1, &value) : NULL;
    if (!unit || value <= 0)
        return 0;
    return !strncmp(unit, "s/it", 4) ? value : !strncmp(unit, "it/s", 4) ? 1 / value : 0;
}

static void advance(struct diagnosis *d, long done, double at_s, double rate_s)
{
    struct diag_progress *b = &d->bar;
    double step_s = b->done < done ? (at_s - b->at_s) / (double)(done - b->done) : 0;
    /* A bar that is first seen midway says how long a step takes by its rate alone. */
    if (done > b->done && (b->total || rate_s > 0)) {
        diag_step_open(d, DIAG_BAR, -1);
        diag_step_add(d, DIAG_BAR, &whole, 1e3 * (rate_s <= 0 || (b->total && step_s >= 10) ? step_s : rate_s));
        diag_step_close(d, DIAG_BAR);
    }
    b->done = done;
    b->at_s = at_s;
    diag_here(d, b->place);
}

int diag_read_bar(struct diagnosis *d, const char *line)
{
    const char *bar = strstr(line, "%|"), *p = bar ? strchr(bar + 2, '|') : NULL;
    char *end;
    if (!p)
        return 0;
    long done = strtol(p + 1, &end, 10), total = *end == '/' ? strtol(end + 1, &end, 10) : 0;
    const char *behind = strstr(end, " [");
    if (total <= 0 || done < 0 || done > total || behind != end || !is_training(line, bar))
        return 0;
    double at_s = elapsed(behind + 2, &behind);
    if (at_s < 0)
        return 0;
    struct diag_progress *b = &d->bar;
    b->last_s = at_s;
    if (total != b->total || done != b->done) {
        if (total != b->total)
            *b = (struct diag_progress){.last_s = at_s};
        advance(d, done, at_s, rate_of(behind));
        b->total = total;
    }
    return 1;
}

/* ---- PyTorch's watchdog ------------------------------------------------------------------------------------------ */

/* "[PG ID 14 PG GUID 311(EXPERT_GROUP) Rank 4]", in older releases "[PG 3 Rank 4]": the group's key and name. */
static void read_group(const char *line, struct diag_stand *t)
{
    const char *pg = strstr(line, "[PG "), *guid = pg ? strstr(pg, "PG GUID ") : NULL;
    if (!pg)
        return;
    pg = guid ? guid + 8 : pg + 4;
    const char *name = pg + strcspn(pg, "( ]");
    snprintf(t->group, sizeof t->group, "%.*s", (int)(name - pg), pg);
    if (*name == '(')
        snprintf(t->name, sizeof t->name, "%.*s", (int)strcspn(name + 1, ")]"), name + 1);
}

/* The same text comes up to three times: the error, which does not name the group, the end of the watchdog, which does
 * not name the collective, what() of the exception. */
static int is_same_timeout(const struct diag_stand *a, const struct diag_stand *b)
{
    if (a->seq != b->seq || (*a->group && *b->group && strcmp(a->group, b->group) != 0))
        return 0;
    return a->global >= 0 && b->global >= 0 ? a->global == b->global : a->member == b->member;
}

static void note_timeout(struct diagnosis *d, const struct diag_stand *t)
{
    struct diag_stands *w = &d->timeouts;
    int i = w->n - 1;
    while (i >= 0 && !is_same_timeout(&w->of[i], t))
        i--;
    if (i < 0 && w->n < DIAG_RANKS) {
        ARENA_ADD(d->arena, w->of, w->n) = *t;
        diag_here(d, w->of[w->n - 1].place);
    } else if (i >= 0) {
        struct diag_stand *known = &w->of[i];
        if (!*known->group && *t->group) {
            known->member = t->member;
            memcpy(known->group, t->group, sizeof t->group);
            memcpy(known->name, t->name, sizeof t->name);
        }
        if (!*known->op) {
            memcpy(known->op, t->op, sizeof t->op);
            known->elements = t->elements;
            known->waited_ms = t->waited_ms;
        }
    }
}

/* "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, ...) ran for
 * 600014 milliseconds", or of a rank that lost that line "[... Rank 3] failure detected by watchdog at work sequence
 * id: 5 PG status: last enqueued work: 7, last completed work: 4", in older releases "Timeout at NCCL work: 5". */
int diag_read_watchdog(struct diagnosis *d, const char *line)
{
    static const char *const status[] = {"failure detected by watchdog at work sequence id: ",
                                         "detected by watchdog at work: ", "Timeout at NCCL work: "};
    const char *at = strstr(line, "Watchdog caught collective operation timeout"),
               *op = at ? strstr(at, "OpType=") : NULL;
    struct diag_stand t = {.global = d->who.rank, .elements = -1, .waited_ms = -1};
    t.seq = op ? (long)diag_number_behind(at, "SeqNum=") : -1;
    for (size_t i = 0; !op && t.seq < 0 && i < sizeof status / sizeof *status; i++)
        t.seq = (long)diag_number_behind(line, status[i]);
    if (!op && t.seq < 0)
        return 0;
    if (op) {
        snprintf(t.op, sizeof t.op, "%.*s", (int)strcspn(op + 7, ",) "), op + 7);
        t.elements = (long)diag_number_behind(at, "NumelIn=");
        t.waited_ms = (long)diag_number_behind(at, "ran for ");
    }
    read_group(line, &t);
    t.member = (int)fmin(diag_number_behind(line, *t.group ? " Rank " : "[Rank "), DIAG_RANKS);
    note_timeout(d, &t);
    return 1;
}

/* ---- DeepSpeed --------------------------------------------------------------------------------------------------- */

/* DeepSpeed with wall_clock_breakdown: "rank=0 time (ms) | fwd_microstep: 27.5 | bwd_microstep: 73.6 | ...", and at the
 * end of a step "time (ms) | fwd: ... | bwd: ... | step: ...". Timers of the optimizer and of the pipeline come on
 * lines of their own before that. Older versions spell forward and backward out. */

static const struct diag_word deepspeed_words[] = {
    /* the first ends a step */
    {"fwd|forward", "forward", DIAG_COMPUTE, DIAG_TRAIN},
    {"bwd|backward", "backward", DIAG_COMPUTE, DIAG_TRAIN},
    {"bwd_inner|backward_inner|optimizer_gradients|optimizer_step", NULL},
    {"bwd_allreduce|backward_allreduce", "gradient sync", DIAG_COMMUNICATION, DIAG_TRAIN, "backward"},
    {"step", "optimizer", DIAG_COMPUTE, DIAG_TRAIN},
    {"optimizer_allgather", "weight gather", DIAG_COMMUNICATION, DIAG_TRAIN, "optimizer"},
    {"batch_input", "data", DIAG_DATA, DIAG_TRAIN},
    {"pipe_send_output|pipe_send_grad|pipe_recv_input|pipe_recv_grad", "pipeline", DIAG_COMMUNICATION, DIAG_TRAIN},
    {NULL},
};

static const char micro[] = "_microstep";

/* The word of this table for one timer, "_microstep" left out of its name; `*is_micro` says that it was there. */
static const struct diag_word *find_word(const char *name, size_t len, int *is_micro)
{
    size_t tail = sizeof micro - 1;
    *is_micro = len > tail && !strncmp(name + len - tail, micro, tail);
    return diag_find_word(deepspeed_words, name, *is_micro ? len - tail : len);
}

int diag_read_deepspeed(struct diagnosis *d, const char *line)
{
    const char *p = strstr(line, "time (ms) |");
    int taken = 0, ends_step = 0, ends_micro = 0;
    for (p = p ? strchr(p, '|') : NULL; p; p = strchr(p, '|')) {
        p++;
        const char *name = p + strspn(p, " "), *colon = strchr(name, ':');
        double ms;
        int is_micro;
        const struct diag_word *w = colon ? find_word(name, (size_t)(colon - name), &is_micro) : NULL;
        if (!w || !diag_number(colon + 1, &ms))
            continue;
        taken = 1;
        add_word(d, is_micro ? DIAG_MICROSTEP : DIAG_DEEPSPEED, -1, w, ms);
        ends_step |= !is_micro && w == deepspeed_words;
        ends_micro |= is_micro;
    }
    if (ends_step)
        diag_step_close(d, DIAG_DEEPSPEED);
    if (ends_micro)
        diag_step_close(d, DIAG_MICROSTEP);
    return taken;
}

/* ---- other consoles ---------------------------------------------------------------------------------------------- */

/* "= Step 3/20 =", "Train step 3/1160 done." */
static void read_step_number(struct diagnosis *d, const char *line)
{
    static const char *const marks[] = {"= Step ", "Train step "};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *at = strstr(line, marks[i]);
        if (at)
            d->console_step = strtol(at + strlen(marks[i]), NULL, 10);
    }
}

/* ---- NeMo-RL: "Timing:", then "* Total step time: 120.5s" and "* policy_training: 11.2s (9.3%)" behind bullets ----
 */

static const struct diag_word nemo_words[] = {
    {"total_step_time", diag_total_mark},
    {"policy_training", "training", DIAG_COMPUTE, DIAG_TRAIN},
    {"policy_and_reference_logprobs", "log-probabilities", DIAG_COMPUTE, DIAG_TRAIN},
    {"prepare_for_generation/total", "preparing the engine", DIAG_OTHER, DIAG_ROLLOUT, NULL, 1},
    {"transfer_and_update_weights", "weight sync", DIAG_COMMUNICATION, DIAG_ROLLOUT, "preparing the engine"},
    {"data_processing", "data", DIAG_DATA, DIAG_NEITHER},
    {"reward_calculation", "reward", DIAG_OTHER, DIAG_NEITHER},
    {"training_prep|logprob_inference_prep", "offload", DIAG_OFFLOAD, DIAG_NEITHER},
    {NULL},
};

int diag_read_bullets(struct diagnosis *d, const char *line)
{
    static const char bullet[] = "•";
    read_step_number(d, line);
    if (strstr(line, "Timing:") && !strstr(line, bullet)) {
        diag_step_close(d, DIAG_BULLETS);
        d->in_bullets = 1;
        return 0;
    }
    const char *p = d->in_bullets ? line + strspn(line, " ") : NULL;
    if (!p || strncmp(p, bullet, sizeof bullet - 1) != 0) {
        d->in_bullets = d->in_bullets && !*line;
        return 0;
    }
    p += sizeof bullet - 1;
    p += strspn(p, " ");
    const char *colon = strchr(p, ':');
    char buffer[DIAG_NAME];
    double ms;
    if (!colon || !diag_time(colon + 1, 0, &ms))
        return 0;
    const char *transfer = strstr(p, "transfer_and_update_weights");
    p = transfer && transfer < colon ? transfer : p;
    struct diag_word w = diag_word_of(nemo_words, p, (size_t)(colon - p), buffer);
    if (w.phase && (w.phase == DIAG_TOTAL || !strchr(w.phase, '/')))
        add_word(d, DIAG_BULLETS, d->console_step, &w, ms);
    return 1;
}

/* ---- AReaL: "| timeperf/rollout | 2.40e+02 | ..." between lines drawn with box characters ------------------------ */

static const struct diag_word areal_words[] = {
    {"train_step|ppo_update|ppo_actor_update", "training", DIAG_COMPUTE, DIAG_TRAIN},
    {"recompute_logp", "log-probabilities", DIAG_COMPUTE, DIAG_TRAIN},
    {"ref_logp", "reference", DIAG_COMPUTE, DIAG_TRAIN},
    {"compute_advantage|compute_advantages", "advantages", DIAG_OTHER, DIAG_NEITHER},
    {"checkpoint_for_recover", "checkpoint", DIAG_SAVE, DIAG_NEITHER},
    {"clear_batches", "data", DIAG_DATA, DIAG_NEITHER},
    {NULL},
};

int diag_read_boxes(struct diagnosis *d, const char *line)
{
    static const char key[] = "timeperf/", bar[] = "│";
    read_step_number(d, line);
    const char *p = strstr(line, key);
    if (!p) {
        if (d->series[DIAG_BOXES].is_open && !strstr(line, bar))
            diag_step_close(d, DIAG_BOXES);
        return 0;
    }
    for (; p; p = strstr(p, key)) {
        char buffer[DIAG_NAME];
        double value;
        p += sizeof key - 1;
        size_t n = strcspn(p, " ");
        const char *cell = strstr(p, bar);
        if (!cell || !diag_number(cell + sizeof bar - 1, &value) || value < 0 || memchr(p, '/', n))
            continue;
        struct diag_word w = diag_word_of(areal_words, p, n, buffer);
        add_word(d, DIAG_BOXES, d->console_step, &w, 1e3 * value);
    }
    return 1;
}

/* ---- torchtitan: "step: 10  loss: 7.4  ...  tps: 8,200  tflops: 583.0  mfu: 59.0%" ------------------------------- */

int diag_read_titan(struct diagnosis *d, const char *line)
{
    const char *at = strstr(line, "step:");
    if (!at || !strstr(at, "tps:") || !strstr(at, "loss:"))
        return 0;
    char *end;
    long step = strtol(at + 5, &end, 10);
    struct diag_titan *t = &d->titan;
    if (end == at + 5)
        return 0;
    double steps = (double)(step - t->step), seconds = d->clock_s - t->at_s;
    /* Other ranks print the same step. */
    if (t->step > 0 && step == t->step)
        return 1;
    if (t->step > 0 && steps > 0 && d->clock_s >= 0 && t->at_s >= 0 && seconds > 0) {
        diag_step_open(d, DIAG_TITAN, step);
        diag_step_add(d, DIAG_TITAN, &whole, 1e3 * seconds / steps);
        diag_step_add(d, DIAG_TITAN, &mfu, fmax(0, diag_number_behind(at, "mfu:")) / 100);
        diag_step_add(d, DIAG_TITAN, &flops, fmax(0, diag_number_behind(at, "tflops:")));
        diag_step_close(d, DIAG_TITAN);
    }
    *t = (struct diag_titan){step, d->clock_s};
    return 1;
}
