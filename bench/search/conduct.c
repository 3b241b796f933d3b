/* Which launches are run when.
 *
 * With several launches a screening comes first: each is asked for a few points with the library's own algorithm, and
 * is left at the first one at which it is hopeless. The survivors and the default then take turns, so that what drifts
 * during the run (heat, other people's traffic) meets all alike. Points at which the default differed from itself
 * beyond doubt are measured once more before the time that is left goes to all. */
#include "bench/search/conduct.h"

#include <math.h>
#include <string.h>

#include "bench/search/screening.h"
#include "bench/search/session.h"
#include "bench/search/sizes.h"
#include "core/coll.h"
#include "core/units.h"

/* Sessions of every launch after screening: time is dealt out for the first number, and what is then left of it may go
 * into as many as the second. Each is a fresh start, so that what differs from one to the next is seen too. */
#define ROUNDS      2
#define MOST_ROUNDS 4

/* A session with all calls is worth three with the default alone. */
static double weight_of(const struct screening_launch *x)
{
    return x->full ? 3 : 1;
}

/* After the rounds, what is suspicious once more. */
#define AGAIN (MOST_ROUNDS + 1)

static int run_round(struct bench_study *s, struct screening *f, int round, struct err *e)
{
    double rounds_left = round < ROUNDS ? ROUNDS - round + 1 : 1, weights = 0;
    for (int i = 0; i < f->count; i++)
        weights += rounds_left * weight_of(&f->items[i]);
    int rc = 0;
    for (int i = 0; i < f->count && !rc && !bench_stopped(s); i++) {
        double now = progress_now_s(), weight = weight_of(&f->items[i]);
        struct search_session v = {
            .launch = f->items[i].launch, .round = round, .full = f->items[i].full, .suspicious = round == AGAIN};
        v.until_s = now + fmax(0, s->deadline_s - now) * weight / weights;
        weights -= weight;
        if (i == 0 || !history_dead(s->results, v.launch->label))
            rc = search_session_run(s, &v, e);
    }
    return rc;
}

static int run_rounds(struct bench_study *s, struct screening *f, struct err *e)
{
    int points = bench_count_points(s), rc = 0, added;
    double last_s = 0;
    s->units = s->done + (double)ROUNDS * points * f->count;
    for (int round = 1; round <= MOST_ROUNDS && !rc && !bench_stopped(s); round++) {
        double start = progress_now_s();
        if (round == ROUNDS + 1)
            rc = run_round(s, f, AGAIN, e);
        if (rc || (round > ROUNDS && start + last_s > s->deadline_s))
            break;
        if (round == ROUNDS && (added = sizes_add(s)) > 0) {
            log_info(s->log, "%d sizes more, where the best call changes", added);
            points = bench_count_points(s);
        }
        if (round > ROUNDS)
            s->units += (double)points * f->count;
        rc = run_round(s, f, round, e);
        last_s = progress_now_s() - start;
    }
    return rc;
}

/* What the library does untouched is what everything is compared with. Where that fails, the site has something to
 * repair first: nothing is decided. */
static int check_default(const struct bench_study *s, struct err *e)
{
    for (int i = 0; i < s->results->count; i++) {
        const struct bench_result *x = &s->results->items[i];
        struct history_place at = {.coll = x->coll,
                                   .bytes = x->bytes,
                                   .nodes = x->nodes,
                                   .ranks = x->ranks,
                                   .launch = BENCH_DEFAULT,
                                   .engine = s->engine->name,
                                   .others = x->others};
        char size[UNIT_TEXT];
        int failed = x->status == BENCH_WRONG || x->status == BENCH_CRASHED || x->status == BENCH_HUNG;
        if (failed && !strcmp(x->launch.label, BENCH_DEFAULT) && !strcmp(x->call.label, BENCH_DEFAULT) &&
            !strcmp(x->engine, s->engine->name) && !(history_time_us(s->results, &at, BENCH_DEFAULT) > 0))
            return err_set(e, ERR_FAILED,
                           "%s itself fails, untouched, at %s of %s (%s: %s): there is nothing to compare with",
                           s->plan.library, coll_name(x->coll), unit_bytes(size, x->bytes),
                           bench_status_name(x->status), x->detail ? x->detail : "no reason known");
    }
    return 0;
}

int bench_conduct(struct bench_study *s, struct err *e)
{
    struct screening f = {0};
    int rc = 0;
    screening_begin(s, &f);
    s->units = bench_count_points(s) * ROUNDS * 2 + (double)BENCH_SCREENING_POINTS * f.count;
    if (f.count > 1 && !s->plan.keep_all)
        rc = screening_run(s, &f, e);
    for (int i = 0; i < f.count && (f.count == 1 || s->plan.keep_all); i++)
        f.items[i].full = 1;
    if (!rc)
        rc = run_rounds(s, &f, e);
    s->summary->interrupted = bench_stopped(s);
    return rc || s->summary->interrupted ? rc : check_default(s, e);
}
