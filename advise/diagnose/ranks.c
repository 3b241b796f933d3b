/* Who logged a step: ranks of one job are one step, restarts and other jobs are not.
 *
 * A collective ends for all ranks at once, so the rank that enters last waits least: what communication takes is the
 * minimum over the ranks, and what the others spend beyond it is waiting. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

#define SLOWER 1.15 /* a straggler computes this much longer than the fastest rank */

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* Whether `o` logs the same run as `m`, an origin that came before it. */
static int is_same_run(const struct diagnosis *d, const struct diag_logger *o, const struct diag_logger *m)
{
    char x[DIAG_FOLDED], y[DIAG_FOLDED];
    if (o->file != m->file) /* of one job, by their names? */
        return diag_fold_file(d->result.files[o->file].name, x) && diag_fold_file(d->result.files[m->file].name, y) &&
               !strcmp(x, y);
    if (!strcmp(o->name, m->name) || (o->is_driver && m->is_driver && o->first <= m->last))
        return 0;
    if (!strncmp(o->name, "rank ", 5) || *o->name == '#' || o->first <= m->last)
        return 1;
    return o->low > m->high || (m->low == m->high && o->low == m->low && !o->is_driver);
}

int diag_runs(const struct diagnosis *d, struct diag_series *s)
{
    int n = 0;
    for (int i = 0; i < s->norigins; i++) {
        struct diag_logger *o = &s->origins[i];
        o->run = n;
        for (int run = n - 1; run >= 0 && o->run == n; run--) {
            int joins = 0, is_other = 0;
            for (int k = 0; k < i; k++)
                if (s->origins[k].run == run) {
                    joins |= is_same_run(d, o, &s->origins[k]);
                    is_other |= o->file == s->origins[k].file && !strcmp(o->name, s->origins[k].name);
                }
            if (joins && !is_other)
                o->run = run;
        }
        n += o->run == n;
    }
    return n;
}

/* ---- one run's steps over its ranks ------------------------------------------------------------------------------ */

static int by_number(const void *a, const void *b)
{
    const struct diag_step *x = *(const struct diag_step *const *)a, *y = *(const struct diag_step *const *)b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x > y) - (x < y);
}

/* Saving and validating may lie outside the step's timer; a rollout that the trainer waits for under another name ran
 * beside training. */
static void settle_step(const struct diagnosis *d, struct diag_series *s, struct diag_step *step)
{
    static const struct diag_word beside = {"", "rollout beside training", DIAG_METRIC, DIAG_ROLLOUT, NULL, 0};
    int wait = diag_find_label(s, DIAG_WAIT_ROLLOUT, strlen(DIAG_WAIT_ROLLOUT)),
        rollout = diag_find_label(s, "rollout", strlen("rollout"));
    if (wait >= 0 && rollout >= 0 && step->ms[wait] > 0 && step->ms[rollout] > 0) {
        int to = diag_label(d, s, &beside);
        step->ms[to] += step->ms[rollout];
        step->has |= 1ull << to;
        step->ms[rollout] = 0;
    }
    if (!step->has_total) {
        step->total_ms = diag_sum(s, step, DIAG_METRIC);
        return;
    }
    double sum = diag_sum(s, step, DIAG_METRIC), rest = diag_sum(s, step, DIAG_SAVE);
    if (sum > 1.02 * step->total_ms && rest <= 1.02 * step->total_ms)
        step->total_ms += sum - rest;
}

/* The steps [from, to) of `list` are one: means over the ranks, of communication the minimum. */
static void merge_ranks(const struct diagnosis *d, struct diag_series *s, struct diag_step *const *list, int n,
                        struct diag_step *out)
{
    static const struct diag_word slower = {"", DIAG_WAIT_SLOWEST, DIAG_WAITING, DIAG_NEITHER, NULL, 0};
    double waiting = 0;
    *out = *list[0];
    for (int i = 0; i < n; i++) {
        out->has_total |= list[i]->has_total;
        out->has |= list[i]->has;
    }
    out->total_ms = 0;
    for (int i = 0; i < n; i++)
        if (list[i]->has_total || !out->has_total)
            out->total_ms = fmax(out->total_ms, list[i]->total_ms);
    for (int k = 0; k < s->nlabels; k++) {
        double sum = 0, low = INFINITY;
        int ranks = 0;
        for (int i = 0; i < n; i++)
            if (list[i]->has & 1ull << k) {
                sum += list[i]->ms[k];
                low = fmin(low, list[i]->ms[k]);
                ranks++;
            }
        int moves = s->labels[k].kind == DIAG_COMMUNICATION;
        out->ms[k] = !ranks ? 0 : moves ? low : sum / ranks;
        waiting += ranks && moves ? sum / ranks - low : 0;
    }
    if (waiting > 0) {
        int k = diag_label(d, s, &slower);
        out->ms[k] += waiting;
        out->has |= 1ull << k;
    }
}

/* ---- stragglers -------------------------------------------------------------------------------------------------- */

static double compute_of(const struct diag_series *s, const struct diag_step *step)
{
    double sum = 0;
    for (int k = 0; k < s->nlabels; k++)
        sum += s->labels[k].kind != DIAG_METRIC && s->labels[k].kind != DIAG_COMMUNICATION &&
                       s->labels[k].kind != DIAG_WAITING
                   ? step->ms[k]
                   : 0;
    return sum;
}

/* What an origin computes in a step, on average; 0 where it has no steps. */
static double mean_compute_ms(const struct diag_series *s, int origin, uint64_t *has)
{
    double sum = 0;
    long n = 0;
    *has = 0;
    for (int i = 0; i < s->nsteps; i++)
        if (s->steps[i].origin == origin) {
            const struct diag_step *step = &s->steps[i];
            sum += compute_of(s, step);
            *has |= step->has;
            n++;
        }
    return n ? sum / (double)n : 0;
}

static void name_origin(const struct diagnosis *d, const struct diag_logger *o, int by_host, char name[DIAG_RUN])
{
    const char *file = d->result.files[o->file].name, *slash = strrchr(file, '/');
    if (by_host)
        snprintf(name, DIAG_RUN, "%.80s", *o->host ? o->host : slash ? slash + 1 : file);
    else if (*o->name == '#')
        snprintf(name, DIAG_RUN, "one rank");
    else
        snprintf(name, DIAG_RUN, "%.80s", *o->name ? o->name : slash ? slash + 1 : file);
}

static int are_on_one_host(const struct diag_logger *a, const struct diag_logger *b)
{
    return *a->host || *b->host ? !strcmp(a->host, b->host) : a->file == b->file;
}

/* Lines without a rank: one of each step is slow, and nobody knows whose it is. `list` is sorted by step. */
static void find_unnamed_straggler(const struct diag_series *s, struct diag_step *const *list, int n,
                                   struct diag_source *out)
{
    double slow = 0, fast = 0;
    int groups = 0;
    for (int i = 0, k; i < n; i = k) {
        double low = INFINITY, high = 0;
        for (k = i; k < n && list[k]->number == list[i]->number; k++) {
            double ms = list[k]->has == list[i]->has ? compute_of(s, list[k]) : 0;
            low = ms > 0 ? fmin(low, ms) : low;
            high = fmax(high, ms);
        }
        if (k - i > 1 && high > 0) {
            slow += high;
            fast += low;
            groups++;
        }
    }
    if (groups && slow > SLOWER * fast) {
        snprintf(out->slow, sizeof out->slow, "one rank (the lines name none)");
        out->slow_ms = slow / groups;
        out->fast_ms = fast / groups;
    }
}

/* Names the rank that the others wait for, or its host where all of that host are slow and no other is. */
static void find_straggler(const struct diagnosis *d, const struct diag_series *s, int run, struct diag_source *out)
{
    double *ms = arena_alloc(d->arena, (size_t)s->norigins * sizeof *ms), low = INFINITY;
    uint64_t *has = arena_alloc(d->arena, (size_t)s->norigins * sizeof *has);
    int slow = -1, ranks = 0;
    for (int i = 0; i < s->norigins; i++)
        if (s->origins[i].run == run) {
            ms[i] = mean_compute_ms(s, i, &has[i]);
            slow = slow < 0 || ms[i] > ms[slow] ? i : slow;
        }
    for (int i = 0; slow >= 0 && i < s->norigins; i++)
        if (s->origins[i].run == run && has[i] == has[slow] && ms[i] > 0) {
            ranks++;
            low = fmin(low, ms[i]);
        }
    if (ranks > 1 && ms[slow] > SLOWER * low) {
        int same = 0, others = 0, of_host = 0;
        for (int i = 0; i < s->norigins; i++) {
            if (s->origins[i].run != run || has[i] != has[slow])
                continue;
            int is_slow = ms[i] > (low + ms[slow]) / 2, here = are_on_one_host(&s->origins[i], &s->origins[slow]);
            of_host += here;
            same += is_slow && here;
            others += is_slow && !here;
        }
        int by_host = of_host < ranks && same == of_host && !others && (same > 1 || !*s->origins[slow].name);
        name_origin(d, &s->origins[slow], by_host, out->slow);
        out->slow_ms = ms[slow];
        out->fast_ms = low;
    }
    out->ranks = ranks > 1 ? ranks : 1;
}

/* Which of the runs it is, where there are several: after a restart, or beside another job. */
static void name_run(const struct diagnosis *d, const struct diag_series *s, int run, int nruns,
                     struct diag_source *source)
{
    const struct diag_logger *first = NULL, *before = NULL;
    for (int i = 0; i < s->norigins; i++) {
        const struct diag_logger *o = &s->origins[i];
        if (o->run == run && !first)
            first = o;
    }
    for (int i = 0; first && i < s->norigins; i++) {
        const struct diag_logger *o = &s->origins[i];
        if (o->run == run - 1 && o->last < first->first && o->file == first->file)
            before = o;
    }
    char name[DIAG_RUN];
    if (nruns < 2 || !first)
        return;
    name_origin(d, first, 0, name);
    if (before)
        snprintf(source->run, sizeof source->run, "run %d, after a restart", run + 1);
    else if (*first->name && *first->name != '#')
        snprintf(source->run, sizeof source->run, "job of %.70s", name);
    else
        snprintf(source->run, sizeof source->run, "run %d of %.70s", run + 1, name);
}

int diag_merge_run(struct diagnosis *d, struct diag_series *s, int run, struct diag_step *out,
                   struct diag_source *source)
{
    struct diag_step **list = arena_alloc(d->arena, (size_t)s->nsteps * sizeof *list);
    int n = 0, merged = 0, nruns = 0;
    for (int i = 0; i < s->nsteps; i++)
        if (s->origins[s->steps[i].origin].run == run)
            list[n++] = &s->steps[i];
    qsort(list, (size_t)n, sizeof(struct diag_step *), by_number);
    for (int i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && list[k]->number == list[i]->number;)
            k++;
        merge_ranks(d, s, list + i, k - i, &out[merged]);
        settle_step(d, s, &out[merged]);
        merged += out[merged].total_ms > 0;
    }
    int unnamed = 0;
    for (int i = 0; i < s->norigins; i++) {
        unnamed |= s->origins[i].run == run && *s->origins[i].name == '#';
        nruns = s->origins[i].run >= nruns ? s->origins[i].run + 1 : nruns;
        if (s->origins[i].run == run && s->origins[i].count > source->steps)
            source->steps = s->origins[i].count;
    }
    find_straggler(d, s, run, source);
    if (unnamed) {
        *source->slow = 0;
        find_unnamed_straggler(s, list, n, source);
    }
    name_run(d, s, run, nruns, source);
    return merged;
}
