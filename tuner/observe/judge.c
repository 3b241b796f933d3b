/* Late ranks, and calls that have become slower. */
#include "tuner/observe/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll.h"

/* ---- the order of calls ------------------------------------------------------------------------------------------ */

static int by_number(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* What a call is, whoever makes it and however it runs. */
static int by_call(const struct observe_call *a, const struct observe_call *b)
{
    int order = by_number((unsigned)a->kind, (unsigned)b->kind);
    order = order ? order : by_number(a->bytes, b->bytes);
    order = order ? order : by_number((unsigned)a->group_size, (unsigned)b->group_size);
    order = order ? order : by_number((unsigned)a->crosses_nodes, (unsigned)b->crosses_nodes);
    order = order ? order : by_number((unsigned)a->stride, (unsigned)b->stride);
    return order ? order : strcmp(a->dtype, b->dtype);
}

static int by_way(const struct observe_call *a, const struct observe_call *b)
{
    int order = by_number((unsigned)a->algo, (unsigned)b->algo);
    order = order ? order : by_number((unsigned)a->proto, (unsigned)b->proto);
    return order ? order : by_number((unsigned)a->channels, (unsigned)b->channels);
}

static int is_compared(const struct observe_call *c)
{
    return c->group && c->timed >= OBSERVE_LEAST && c->median_us > 0 && c->total_us > 0 &&
           (c->kind == COLL_ALLREDUCE || c->kind == COLL_ALLGATHER || c->kind == COLL_REDUCESCATTER);
}

/* Those that are compared first. */
static int by_communicator(const void *x, const void *y)
{
    const struct observe_call *a = x, *b = y;
    int order = is_compared(b) - is_compared(a);
    order = order ? order : by_number(a->group, b->group);
    order = order ? order : by_call(a, b);
    order = order ? order : by_way(a, b);
    return order ? order : by_number(a->rank, b->rank);
}

static int by_call_then_time(const void *x, const void *y)
{
    const struct observe_point *a = x, *b = y;
    int order = by_call(&a->call, &b->call);
    order = order ? order : (a->call.median_us > b->call.median_us) - (a->call.median_us < b->call.median_us);
    return order ? order : by_way(&a->call, &b->call);
}

/* ---- ranks that come last, by the GPUs' times -------------------------------------------------------------------- */

/* Of one rank: how long others waited for it, and how long they and it were in calls. */
#define LONGEST 4
struct wait {
    double waited_us, spent_us; /* by the hosts: how late it was in all, and ... */
    size_t late, entered;       /* ... how often, of how many calls, ... */
    uint64_t first_us, last_us; /* ... between when and when */
    double longest_us[LONGEST]; /* the longest of them first */
};

/* Clearly later than the others, and by more than a kernel's end differs from rank to rank. */
#define GAP_CLEAR  0.2
#define GAP_SHARE  0.05
#define GAP_US     2.0
#define GAP_SPREAD 3.0 /* standard deviations of the others */

/* What a call takes in the long run; a file of an earlier release has the median alone that no accident moves. */
static double steady_us(const struct observe_call *c)
{
    return c->steady_us > 0 ? c->steady_us : c->median_us;
}

static int by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double variance_of(const double *values, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - sum / (double)n) * (values[i] - sum / (double)n);
    return n > 1 ? squares / (double)(n - 1) : 0;
}

/* Below it ranks come last, at most half of them: where the times of ranks fall into two groups. 0: they do not. */
static double lateness_us(const struct observe_call *calls, size_t n)
{
    double *times = malloc(n * sizeof *times), cut = 0;
    size_t late = 1;
    if (!times)
        return 0;
    for (size_t i = 0; i < n; i++)
        times[i] = steady_us(&calls[i]);
    qsort(times, n, sizeof *times, by_size);
    for (size_t i = 2; i <= n / 2; i++)
        if (times[i] - times[i - 1] > times[late] - times[late - 1])
            late = i;
    double gap = times[late] - times[late - 1], middle = times[n / 2];
    int is_gap = gap > GAP_CLEAR * middle || (gap > GAP_SHARE * middle && gap > GAP_US);
    if (is_gap && gap * gap > GAP_SPREAD * GAP_SPREAD * variance_of(times + late, n - late))
        cut = (times[late] + times[late - 1]) / 2;
    free(times);
    return cut;
}

/* One call of one communicator, on all of its ranks that were read. */
static void add_waits(const struct observe_job *j, const struct observe_call *calls, size_t n, struct wait *waits)
{
    double cut_us = n > 1 ? lateness_us(calls, n) : 0, late_us = 0, others_us = 0, count = 0;
    size_t late = 0;
    for (size_t i = 0; i < n; i++) {
        int is_late = steady_us(&calls[i]) < cut_us;
        late += (size_t)is_late;
        *(is_late ? &late_us : &others_us) += steady_us(&calls[i]);
        count = (double)calls[i].count > count ? (double)calls[i].count : count;
    }
    if (late)
        late_us /= (double)late;
    others_us /= (double)(n - late); /* the middle one is not */
    const double waited_us = (others_us - late_us) * count;
    for (size_t i = 0; i < n; i++) {
        struct wait *w = &waits[calls[i].rank];
        double lived_s = j->ranks[calls[i].rank].seconds; /* longer waits are of other calls; 0 unknown */
        w->spent_us += others_us * count;
        if (steady_us(&calls[i]) < cut_us && (lived_s <= 0 || waited_us <= (lived_s + 1) * 1e6))
            w->waited_us += waited_us;
    }
}

static void wait_by_gpus(const struct observe_job *j, struct wait *waits)
{
    struct observe_call *calls = j->calls;
    if (j->ncalls)
        qsort(calls, j->ncalls, sizeof *calls, by_communicator);
    for (size_t i = 0, end; i < j->ncalls && is_compared(&calls[i]); i = end) {
        for (end = i + 1; end < j->ncalls && is_compared(&calls[end]) && calls[end].group == calls[i].group &&
                          !by_call(&calls[end], &calls[i]) && !by_way(&calls[end], &calls[i]);)
            end++;
        add_waits(j, &calls[i], end - i, waits);
    }
}

/* ---- the same, by the hosts' times ------------------------------------------------------------------------------- */

static int by_entry(const void *x, const void *y)
{
    const struct observe_entry *a = x, *b = y;
    int order = by_number(a->group, b->group);
    order = order ? order : by_number(a->number, b->number);
    return order ? order : by_number(a->at_us, b->at_us);
}

/* How much later than another a rank has to be; -1: their clocks cannot be compared. */
static double tolerance_us(const struct observe_rank *a, const struct observe_rank *b)
{
    if (a->host[0] && !strcmp(a->host, b->host))
        return OBSERVE_HOST_US;
    if (a->clock_error_us < 0 || b->clock_error_us < 0)
        return -1;
    return OBSERVE_HOST_US + a->clock_error_us + b->clock_error_us;
}

/* One call as its ranks entered it, the first of them first. */
static void add_entries(const struct observe_job *j, const struct observe_entry *entries, size_t n, struct wait *waits)
{
    const struct observe_entry *middle = &entries[(n - 1) / 2];
    for (size_t i = 0; i < n; i++) {
        struct wait *w = &waits[entries[i].rank];
        double tolerance = tolerance_us(&j->ranks[entries[i].rank], &j->ranks[middle->rank]);
        double behind = (double)entries[i].at_us - (double)middle->at_us;
        if (tolerance < 0)
            continue;
        w->first_us = w->entered && w->first_us < entries[i].at_us ? w->first_us : entries[i].at_us;
        w->last_us = w->last_us > entries[i].at_us ? w->last_us : entries[i].at_us;
        w->entered++;
        if (behind <= tolerance)
            continue;
        w->late++;
        w->waited_us += behind;
        for (int k = 0; k < LONGEST; k++)
            if (behind > w->longest_us[k]) {
                double shorter = w->longest_us[k];
                w->longest_us[k] = behind;
                behind = shorter;
            }
    }
}

static void wait_by_hosts(const struct observe_job *j, struct wait *waits)
{
    if (j->nentries)
        qsort(j->entries, j->nentries, sizeof *j->entries, by_entry);
    for (size_t i = 0, end; i < j->nentries; i = end) {
        for (end = i + 1; end < j->nentries && j->entries[end].group == j->entries[i].group &&
                          j->entries[end].number == j->entries[i].number;)
            end++;
        if (end - i > 1)
            add_entries(j, &j->entries[i], end - i, waits);
    }
}

static double late_share(const struct wait *w)
{
    return w->entered ? (double)w->late / (double)w->entered : 0;
}

/* To a call on average, without the longest: what happens once, like a pause, is no habit. */
static double behind_us(const struct wait *w)
{
    double us = w->waited_us;
    for (size_t i = 0; i < LONGEST && i < w->late / 2; i++)
        us -= w->longest_us[i];
    return w->entered ? us / (double)w->entered : 0;
}

/* How late the rank in the middle is to a call: every host is, now and then. */
static double usual_us(const struct wait *waits, size_t n)
{
    double *late = malloc((n ? n : 1) * sizeof *late), usual = 0;
    for (size_t i = 0; late && i < n; i++)
        late[i] = behind_us(&waits[i]);
    if (late && n)
        qsort(late, n, sizeof *late, by_size);
    usual = late && n ? late[n / 2] : 0;
    free(late);
    return usual;
}

#define LATE_SHARE 0.03 /* of its calls, and ... */
#define LATE_TIMES 3    /* ... what is usual; and so many times as long as it is late ... */
#define LATE_SPAN  20   /* ... it has to run: hosts that have just begun are not yet held up by their GPUs */

static int is_late_host(const struct wait *w, double usual)
{
    double span_us = (double)(w->last_us - w->first_us);
    return w->late >= OBSERVE_LEAST && late_share(w) > LATE_SHARE && behind_us(w) > LATE_TIMES * usual &&
           w->waited_us / (double)w->late * LATE_SPAN < span_us;
}

/* ---- who they are ------------------------------------------------------------------------------------------------ */

enum observe_basis observe_basis(const struct observe_job *j)
{
    for (size_t i = 0; i < j->ncalls; i++)
        if (is_compared(&j->calls[i]))
            return OBSERVE_GPUS;
    return j->nentries ? OBSERVE_HOSTS : OBSERVE_NOTHING;
}

const char *observe_basis_name(enum observe_basis basis)
{
    static const char *const names[] = {"none", "gpus", "hosts"};
    return names[basis];
}

/* What each rank has cost; `late`: 1 for those that come last. NULL: no memory. */
static struct wait *waits_of(const struct observe_job *j, enum observe_basis basis, char *late)
{
    struct wait *waits = calloc(j->nranks ? j->nranks : 1, sizeof *waits);
    if (!waits)
        return NULL;
    (basis == OBSERVE_GPUS ? wait_by_gpus : wait_by_hosts)(j, waits);
    double usual = basis == OBSERVE_HOSTS ? usual_us(waits, j->nranks) : 0;
    for (size_t i = 0; i < j->nranks; i++) {
        const struct wait *w = &waits[i];
        if (basis == OBSERVE_HOSTS)
            late[i] = (char)is_late_host(w, usual);
        else
            late[i] = w->waited_us > OBSERVE_SHARE * w->spent_us && w->spent_us > 0;
    }
    return waits;
}

/* Whether all ranks of a rank's host are late, and there is another host. */
static int whole_host(const struct observe_job *j, const char *late, size_t rank)
{
    size_t beside = 0, elsewhere = 0;
    for (size_t i = 0; i < j->nranks; i++) {
        int same = !strcmp(j->ranks[i].host, j->ranks[rank].host);
        if (same && !late[i])
            return 0;
        beside += (size_t)same;
        elsewhere += (size_t)!same;
    }
    return j->ranks[rank].host[0] && beside > 1 && elsewhere > 0;
}

/* Into its place among those that are there, the most waited-for first. */
static size_t put_late(struct observe_late *late, size_t n, size_t most, const struct observe_late *one)
{
    for (size_t i = 0; i < n; i++)
        if (one->rank < 0 && !strcmp(late[i].host, one->host)) {
            if (one->waited_us > late[i].waited_us)
                late[i] = *one;
            return n;
        }
    size_t at = n;
    while (at && late[at - 1].waited_us < one->waited_us)
        at--;
    if (at >= most)
        return n;
    n = n < most ? n + 1 : n;
    memmove(&late[at + 1], &late[at], (n - at - 1) * sizeof *late);
    late[at] = *one;
    return n;
}

size_t observe_late(const struct observe_job *j, struct observe_late *late, size_t most)
{
    enum observe_basis basis = observe_basis(j);
    char *is_late = calloc(j->nranks ? j->nranks : 1, 1);
    struct wait *waits = is_late ? waits_of(j, basis, is_late) : NULL;
    size_t n = 0;
    for (size_t i = 0; waits && i < j->nranks; i++) {
        const struct wait *w = &waits[i];
        struct observe_late one = {.host = j->ranks[i].host, .by_hosts = basis == OBSERVE_HOSTS};
        if (!is_late[i])
            continue;
        one.rank = whole_host(j, is_late, i) ? -1 : j->ranks[i].rank;
        one.waited_us = one.by_hosts ? w->waited_us / (double)w->late : w->waited_us;
        one.share = one.by_hosts ? late_share(w) : w->waited_us / w->spent_us;
        n = put_late(late, n, most, &one);
    }
    free(is_late);
    free(waits);
    return n;
}

/* ---- a job's calls ----------------------------------------------------------------------------------------------- */

struct observe_point *observe_points(const struct observe_job *j, size_t *count)
{
    struct observe_point *points = j->ncalls ? malloc(j->ncalls * sizeof *points) : NULL;
    size_t n = 0, merged = 0;
    for (size_t i = 0; points && i < j->ncalls; i++)
        if (j->calls[i].median_us > 0 && j->calls[i].timed >= OBSERVE_LEAST)
            points[n++] = (struct observe_point){j->calls[i], j};
    if (n)
        qsort(points, n, sizeof *points, by_call_then_time);
    for (size_t i = 0; i < n; i++) {
        struct observe_call *last = merged ? &points[merged - 1].call : NULL;
        if (!last || by_call(last, &points[i].call) != 0)
            points[merged++] = points[i];
        else if (points[i].call.count > last->count)
            last->count = points[i].call.count;
    }
    *count = merged;
    return points;
}

/* ---- drift ------------------------------------------------------------------------------------------------------- */

const struct observe_point *observe_find_point(const struct observe_earlier *e, const struct observe_call *call)
{
    size_t low = 0, high = e->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = by_call(&e->points[middle].call, call);
        if (!order)
            return &e->points[middle];
        *(order < 0 ? &low : &high) = order < 0 ? middle + 1 : middle;
    }
    return NULL;
}

static int by_point_time(const void *x, const void *y)
{
    const struct observe_point *const *a = x, *const *b = y;
    return ((*a)->call.median_us > (*b)->call.median_us) - ((*a)->call.median_us < (*b)->call.median_us);
}

/* Whether the call has drifted: then *d says how far. */
static int has_drifted(const struct observe_point *now, const struct observe_earlier *before, size_t jobs,
                       struct observe_drift *d)
{
    const struct observe_point *earlier[64];
    size_t n = 0;
    for (size_t i = 0; i < jobs && n < sizeof earlier / sizeof *earlier; i++)
        if ((earlier[n] = observe_find_point(&before[i], &now->call)))
            n++;
    if (!n)
        return 0;
    qsort(earlier, n, sizeof *earlier, by_point_time);
    *d = (struct observe_drift){.now = *now, .before = *earlier[(n - 1) / 2], .jobs = n};
    d->times = now->call.median_us / d->before.call.median_us;
    d->lost_us = (now->call.median_us - d->before.call.median_us) * (double)now->call.count;
    return d->times >= OBSERVE_SLOWER && now->call.median_us > 1.1 * earlier[n - 1]->call.median_us;
}

size_t observe_drifts(const struct observe_point *now, size_t count, const struct observe_earlier *before, size_t jobs,
                      struct observe_drift *drifts, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        struct observe_drift d;
        if (!has_drifted(&now[i], before, jobs, &d))
            continue;
        size_t at = n;
        while (at && drifts[at - 1].lost_us < d.lost_us)
            at--;
        if (at >= most)
            continue;
        n = n < most ? n + 1 : n;
        memmove(&drifts[at + 1], &drifts[at], (n - at - 1) * sizeof *drifts);
        drifts[at] = d;
    }
    return n;
}

/* ---- sentences --------------------------------------------------------------------------------------------------- */

static void print_bytes(uint64_t bytes, char to[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    size_t unit = 0;
    while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(to, 32, "%llu %s", (unsigned long long)bytes, units[unit]);
}

static void print_us(double us, char to[32])
{
    if (us < 1e4)
        snprintf(to, 32, "%.0f us", us);
    else if (us < 1e7)
        snprintf(to, 32, "%.1f ms", us / 1e3);
    else
        snprintf(to, 32, "%.0f s", us / 1e6);
}

static void print_way(const struct observe_call *c, char to[48])
{
    snprintf(to, 48, "%s/%s", c->algo >= 0 ? algo_name(c->algo) : "?", c->proto >= 0 ? proto_name(c->proto) : "?");
}

void observe_say_late(const struct observe_late *late, char to[OBSERVE_SENTENCE])
{
    char who[OBSERVE_WORD + 64], waited[32];
    if (late->rank < 0)
        snprintf(who, sizeof who, "all ranks on %s come", late->host);
    else
        snprintf(who, sizeof who, "rank %d%s%s comes", late->rank, late->host[0] ? " on " : "", late->host);
    print_us(late->waited_us, waited);
    if (late->by_hosts)
        snprintf(to, OBSERVE_SENTENCE, "%s late to %.0f %% of the calls, by the hosts' clocks, %s behind the others",
                 who, 100 * late->share, waited);
    else
        snprintf(to, OBSERVE_SENTENCE, "%s last: the others waited %s, %.0f %% of their time in calls", who, waited,
                 100 * late->share);
}

void observe_say_drift(const struct observe_drift *d, char to[OBSERVE_SENTENCE])
{
    const struct observe_call *now = &d->now.call, *before = &d->before.call;
    char bytes[32], ways[2][48], us[2][32], how[128];
    print_bytes(now->bytes, bytes);
    print_us(now->median_us, us[0]);
    print_us(before->median_us, us[1]);
    print_way(now, ways[0]);
    print_way(before, ways[1]);
    if (strcmp(ways[0], ways[1]) != 0)
        snprintf(how, sizeof how, "by %s now, by %s then", ways[0], ways[1]);
    else
        snprintf(how, sizeof how, "by %s both times", ways[0]);
    snprintf(to, OBSERVE_SENTENCE,
             "%s of %s among %d ranks takes %.1f times as long as in job %s: %s instead of %s, %s",
             coll_name(now->kind) ? coll_name(now->kind) : "a call", bytes, now->group_size, d->times,
             d->before.job->name, us[0], us[1], how);
}
