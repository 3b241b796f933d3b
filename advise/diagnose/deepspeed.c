/* DeepSpeed with wall_clock_breakdown: "rank=0 time (ms) | fwd_microstep: 27.5 | bwd_microstep: 73.6 | ...", and at the
 * end of a step "time (ms) | fwd: ... | bwd: ... | step: ...". Timers of the optimizer and of the pipeline come on
 * lines of their own before that. Older versions spell forward and backward out. */
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

static const struct diag_word words[] = {
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
    if (*is_micro)
        len -= tail;
    for (const struct diag_word *w = words; w->word; w++)
        if (diag_is_one_of(w->word, name, len))
            return w;
    return NULL;
}

static void add_word(struct diagnosis *d, enum diag_format f, const struct diag_word *w, double ms)
{
    if (!d->series[f].is_open)
        diag_step_open(d, f, -1);
    diag_step_add(d, f, w, ms);
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
        add_word(d, is_micro ? DIAG_MICROSTEP : DIAG_DEEPSPEED, w, ms);
        ends_step |= !is_micro && w == words;
        ends_micro |= is_micro;
    }
    if (ends_step)
        diag_step_close(d, DIAG_DEEPSPEED);
    if (ends_micro)
        diag_step_close(d, DIAG_MICROSTEP);
    return taken;
}
