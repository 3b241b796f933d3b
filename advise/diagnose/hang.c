/* Does the job stand still, since when, and in what? */
#include <math.h>

#include "advise/diagnose/rules.h"
#include "core/units.h"

#define STANDS_S    60.0 /* no change for so long */
#define RUN_TIMES   3.0  /* an end without change is this much longer than any before */
#define STEP_TIMES  10.0 /* no progress for so many steps */
#define POWER_SPINS 0.5  /* of the limit: a GPU at 100 % below this waits within a kernel */

const char diag_hang_advice[] =
    "in the order that is usual: one rank died or runs another collective (its log, out of memory), one node cannot be "
    "reached (wrong HCA, GID or interface, a dark port), a data loader or reward worker waits, peer access between two "
    "GPUs is broken (PCIe ACS): compare the stacks of all ranks, and the first rank's log that ends";

/* Seconds that all GPUs have stood at 0 or at 100 % to the end of the file; 0: they have not. */
static double gpus_stand(const struct diag_result *r, int *at, const char **place)
{
    double least = r->ngpus ? INFINITY : 0;
    for (int i = 0; i < r->ngpus; i++) {
        const struct diag_gpu *g = &r->gpus[i];
        if (g->tail_percent < 0 || g->tail_percent != r->gpus[0].tail_percent || g->samples < 2)
            return 0;
        least = fmin(least, g->tail_s > RUN_TIMES * g->longest_run_s ? g->tail_s : 0);
    }
    *at = r->ngpus ? r->gpus[0].tail_percent : 0;
    *place = r->ngpus ? r->gpus[0].tail_place : "";
    return least;
}

/* GPUs at 100 % work or spin; how much power they draw tells. */
static int spin(const struct diag_result *r)
{
    double part = 0;
    for (int i = 0; i < r->ngpus; i++) {
        const struct diag_gpu *g = &r->gpus[i];
        if (g->limit_W <= 0 || g->power_W <= 0)
            return 0;
        part = fmax(part, g->power_W / g->limit_W);
    }
    return part > 0 && part < POWER_SPINS;
}

/* Of seconds without a step, those that are too many for a step. */
static double too_long(const struct judge *j, double stands_s)
{
    return stands_s > STEP_TIMES * (j->s ? j->s->step_ms / 1e3 : 0) ? stands_s : 0;
}

/* The bar's own clock goes on without a step being finished. */
static double bar_stands(const struct judge *j)
{
    const struct diag_progress *b = &j->d->bar;
    return b->total && b->done < b->total ? too_long(j, b->last_s - b->at_s) : 0;
}

/* The ranks below the highest that timed out which did not: they never came, or died. */
static const char *missing_ranks(const struct judge *j, int *n)
{
    const struct diag_watchdog *w = &j->d->watchdog;
    const char *list = "";
    *n = 0;
    for (int r = 0; r < w->highest; r++)
        if (!(w->timed_out[r / 8] & 1u << r % 8) && ++*n <= 8)
            list = arena_printf(j->d->arena, "%s%s%d", list, *list ? ", " : "", r);
    return *n > 8 ? arena_printf(j->d->arena, "%s and %d more", list, *n - 8) : list;
}

static int by_watchdog(const struct judge *j, struct diag_hit *h)
{
    const struct diag_watchdog *w = &j->d->watchdog;
    char waited[UNIT_TEXT], number[48] = "", elements[48] = "", since[64] = "", named[128] = "";
    int missing;
    if (!w->ranks)
        return 0;
    const char *ranks = missing_ranks(j, &missing);
    /* Where fewer timed out than did not, the log holds some ranks only. */
    if (missing && missing < w->ranks)
        snprintf(named, sizeof named, "; rank%s %.90s did not time out: look there first", missing == 1 ? "" : "s",
                 ranks);
    if (w->differ || w->low != w->high)
        return diag_hit(
            h, 1, w->place,
            "a hang: %d ranks timed out in different collectives (sequence numbers %ld to %ld): they do not make the "
            "same calls, or one is behind%s",
            w->ranks, w->low, w->high, named);
    if (w->low >= 0)
        snprintf(number, sizeof number, " number %ld", w->low);
    if (w->elements >= 0)
        snprintf(elements, sizeof elements, " of %ld elements", w->elements);
    if (w->waited_ms >= 0)
        snprintf(since, sizeof since, " after %s", unit_seconds(waited, (double)w->waited_ms / 1e3));
    return diag_hit(h, 1, w->place, "a hang: %d rank%s timed out in %s%s%s%s%s", w->ranks, w->ranks == 1 ? "" : "s",
                    w->op, number, elements, since, named);
}

static int by_gpus(const struct judge *j, struct diag_hit *h)
{
    int at = 0;
    const char *place = "";
    double stand_s = gpus_stand(j->r, &at, &place);
    const struct diag_progress *b = &j->d->bar;
    int stuck = b->total > 0 && b->done < b->total && (!b->done || bar_stands(j) > STANDS_S);
    char since[UNIT_TEXT];
    if (stand_s <= STANDS_S || (at && !spin(j->r) && !stuck))
        return 0;
    return diag_hit(h, at || stuck ? 1 : 0.8, place,
                    "%s: all GPUs have stood at %d %% for %s, to the end of the file%s%s",
                    at || stuck ? "a hang" : "a hang, or the job has ended", at, unit_seconds(since, stand_s),
                    at ? ", as when kernels of a collective wait for a rank" : "",
                    stuck ? "; the console shows no step since" : "");
}

static int by_console(const struct judge *j, struct diag_hit *h)
{
    const struct diag_progress *b = &j->d->bar;
    double bar_s = bar_stands(j), log_s = too_long(j, j->d->stands_s);
    char since[UNIT_TEXT];
    if (bar_s > 5 * STANDS_S)
        return diag_hit(h, 0.9, b->place, "a hang: the bar stands at %ld of %ld for %s, to the end of the file",
                        b->done, b->total, unit_seconds(since, bar_s));
    if (b->total && !b->done && !j->s)
        return diag_hit(h, 0.5, b->place, "a hang, or the first step still runs: none of %ld was finished", b->total);
    if (log_s > 5 * STANDS_S)
        return diag_hit(h, 0.3, j->d->stands_place,
                        "a hang, or the work after the last step: none was finished in the last %s of the file",
                        unit_seconds(since, log_s));
    return 0;
}

int diag_hangs(const struct judge *j, struct diag_hit *h)
{
    return diag_hangs_by_ras(j, h) || by_watchdog(j, h) || diag_hangs_by_recorder(j, h) || diag_hangs_by_stack(j, h) ||
           by_gpus(j, h) || by_console(j, h);
}
