/* How busy each GPU is over the samples of any tool: gaps, spread, and how a file ends. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

#define IDLE 5.0  /* percent: nothing runs */
#define FULL 99.0 /* percent: something always runs */

struct diag_sampled_gpu *diag_gpu(struct diagnosis *d, const char *name)
{
    struct diag_samples *s = &d->samples;
    for (int i = 0; i < s->ngpus; i++)
        if (!strcmp(s->gpus[i].out.name, name))
            return &s->gpus[i];
    if (!s->gpus)
        s->gpus = calloc(DIAG_GPUS, sizeof *s->gpus);
    if (!s->gpus || s->ngpus == DIAG_GPUS)
        return NULL;
    struct diag_sampled_gpu *g = &s->gpus[s->ngpus++];
    snprintf(g->out.name, sizeof g->out.name, "%s", name);
    g->out.tail_percent = -1;
    return g;
}

/* Samples of all GPUs at one time. */
static void end_round(struct diag_samples *s)
{
    if (!s->in_round)
        return;
    s->rounds++;
    s->spread_sum += s->round_high - s->round_low;
    s->in_round = 0;
    for (int i = 0; i < s->ngpus; i++)
        s->gpus[i].round_seen = 0;
}

static void end_gap(struct diag_sampled_gpu *g, double now_s)
{
    if (!g->in_gap)
        return;
    g->in_gap = 0;
    if (now_s - g->gap_start_s > g->out.longest_gap_s) {
        g->out.longest_gap_s = now_s - g->gap_start_s;
        memcpy(g->out.gap_place, g->gap_began, sizeof g->gap_began);
    }
}

/* A run of samples at 0 % or at 100 %; the last one lasts to the end of the file. */
static void follow_run(struct diagnosis *d, struct diag_sampled_gpu *g, double percent, double now_s)
{
    int at = percent < IDLE ? 0 : percent >= FULL ? 100 : -1;
    if (at == g->out.tail_percent)
        return;
    if (g->out.tail_percent >= 0)
        g->out.longest_run_s = fmax(g->out.longest_run_s, now_s - g->run_start_s);
    g->out.tail_percent = at;
    g->run_start_s = now_s;
    diag_here(d, g->out.tail_place);
}

static void count(struct diag_samples *s, struct diag_sampled_gpu *g, double percent, double power_W, double limit_W)
{
    s->round_low = s->in_round ? fmin(s->round_low, percent) : percent;
    s->round_high = s->in_round ? fmax(s->round_high, percent) : percent;
    s->in_round = g->round_seen = 1;
    g->out.samples++;
    g->sum += percent;
    g->squares += percent * percent;
    g->idle += percent < IDLE;
    g->power_sum += power_W;
    g->powers += power_W > 0;
    g->out.limit_W = limit_W > 0 ? limit_W : g->out.limit_W;
}

void diag_gpu_sample(struct diagnosis *d, struct diag_sampled_gpu *g, double percent, double now_s, double power_W,
                     double limit_W)
{
    struct diag_samples *s = &d->samples;
    if (now_s < 0)
        now_s = (double)g->out.samples;
    if (!s->rounds && !s->in_round)
        s->first_s = now_s;
    if (g->round_seen)
        end_round(s);
    count(s, g, percent, power_W, limit_W);
    g->last_s = now_s;
    follow_run(d, g, percent, now_s);
    if (percent >= IDLE) {
        if (!s->has_started) {
            s->started_s = now_s;
            diag_here(d, d->result.gpu_start_place);
        }
        s->has_started = g->has_worked = 1;
        end_gap(g, now_s);
    } else if (g->has_worked && !g->in_gap) {
        g->in_gap = 1;
        g->gap_start_s = now_s;
        diag_here(d, g->gap_began);
    }
}

void diag_finish_gpus(struct diagnosis *d)
{
    struct diag_samples *s = &d->samples;
    struct diag_result *r = &d->result;
    end_round(s);
    if (!s->ngpus)
        return;
    r->gpus = calloc((size_t)s->ngpus, sizeof *r->gpus);
    if (!r->gpus)
        abort();
    for (int i = 0; i < s->ngpus; i++) {
        struct diag_sampled_gpu *g = &s->gpus[i];
        double n = (double)g->out.samples;
        if (!g->out.samples)
            continue;
        end_gap(g, g->last_s);
        g->out.mean = g->sum / n;
        g->out.deviation = sqrt(fmax(0, g->squares / n - g->out.mean * g->out.mean));
        g->out.idle = (double)g->idle / n;
        g->out.power_W = g->powers ? g->power_sum / (double)g->powers : 0;
        g->out.tail_s = g->out.tail_percent >= 0 ? fmax(0, g->last_s - g->run_start_s) : 0;
        r->gpus[r->ngpus++] = g->out;
    }
    r->gpu_spread = s->rounds ? s->spread_sum / (double)s->rounds : 0;
    r->gpu_start_idle_s = s->has_started ? s->started_s - s->first_s : 0;
}
