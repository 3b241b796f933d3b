/* Consoles that say a step in several lines, or its time by their clock: NeMo-RL's lists, AReaL's tables, torchtitan.
 */
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

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
    if (!d->series[DIAG_BULLETS].is_open)
        diag_step_open(d, DIAG_BULLETS, d->console_step);
    if (w.phase && (w.phase == DIAG_TOTAL || !strchr(w.phase, '/')))
        diag_step_add(d, DIAG_BULLETS, &w, ms);
    return 1;
}

/* ---- AReaL: "| timeperf/rollout | 2.40e+02 | ..." between lines drawn with box characters ---- */

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
        if (!d->series[DIAG_BOXES].is_open)
            diag_step_open(d, DIAG_BOXES, d->console_step);
        diag_step_add(d, DIAG_BOXES, &w, 1e3 * value);
    }
    return 1;
}

/* ---- torchtitan: "step: 10  loss: 7.4  ...  tps: 8,200  tflops: 583.0  mfu: 59.0%" ---- */

static double value_behind(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    double value;
    return at && diag_number(at + strlen(key), &value) ? value : 0;
}

int diag_read_titan(struct diagnosis *d, const char *line)
{
    static const struct diag_word total = {.phase = diag_total_mark},
                                  mfu = {"", "MFU", DIAG_METRIC, DIAG_NEITHER, NULL, 0},
                                  rate = {"", "TFLOP/s", DIAG_METRIC, DIAG_NEITHER, NULL, 0};
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
        diag_step_add(d, DIAG_TITAN, &total, 1e3 * seconds / steps);
        diag_step_add(d, DIAG_TITAN, &mfu, value_behind(at, "mfu:") / 100);
        diag_step_add(d, DIAG_TITAN, &rate, value_behind(at, "tflops:"));
        diag_step_close(d, DIAG_TITAN);
    }
    *t = (struct diag_titan){step, d->clock_s};
    return 1;
}
