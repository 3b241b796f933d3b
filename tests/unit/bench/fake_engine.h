/* An engine whose times come from a formula, and that dies, hangs and errs where a test says so. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/candidates/engine.h"
#include "core/coll.h"

struct fake_trouble {
    const char *launch, *call; /* where */
    uint64_t bytes;
    enum bench_outcome outcome; /* BENCH_ANSWERED: the call gives `status` instead */
    enum bench_status status;
    int times;   /* how often; 0 never */
    int after;   /* as many calls go well before */
    int mute;    /* no reason is given */
    int buffers; /* with these alone */
};

struct fake_launch {
    const char *label;
    double factor;
};

static struct {
    struct fake_trouble trouble[4];
    const char *dead_launch;      /* does not open, */
    int dead_times;               /* so many times; 0: ever */
    int dead_after;               /* every launch, once so many have been opened; 0: none */
    int dead_code;                /* with this error; 0: ERR_FAILED */
    const char *fast_launch;      /* ten times as fast as the others */
    double slow_launches;         /* all others' factor over the default; 0: 1 */
    double pair_factor;           /* of launches with a comma, over the fast one; 0: cannot be combined */
    struct fake_launch launch[8]; /* instead: the factors of those whose labels are part of the launch's */
    double variation[8];          /* of calls with a slash and a number, over what stands before it */
    int stop_after;               /* samples until *stop is set; 0 never */
    volatile sig_atomic_t stop;   /* what that sets */
    int ranks;
    int disturbed_start;      /* this start, counted from 1, is a fifth slower, */
    uint64_t disturbed_bytes; /* from this size on */
    int middle_in_groups;     /* "middle" is ten times as fast in groups of fewer ranks than there are */
    uint64_t room_bytes;      /* as the session says */
    int groups_contend;       /* groups at once take half as long again */
    double open_s;            /* what a launch takes to start */
    struct {
        int buffers;
        const char *call; /* NULL: all */
        double factor;
    } data[4];               /* what calls take with data that is not the usual */
    double data_s;           /* what getting ready for other data takes */
    int refused;             /* such buffers cannot be had */
    int waits;               /* who is silent is waited for */
    int with[BENCH_BUFFERS]; /* samples with such */
    int opened, closed, killed, samples, requests;
    unsigned noise;
} fake;

struct fake_session {
    struct bench_session base;
    const struct bench_knobs *launch;
    int start;
};

/* Latency and inverse bandwidth of each call: "early" wins below 6 KiB, "middle" up to 32 KiB, "late" above 64 KiB,
 * "awful" never. */
static const struct {
    const char *label;
    double latency_us, us_per_byte;
} fake_calls[] = {
    {BENCH_DEFAULT, 20, 1e-3}, {"early", 10, 2e-3}, {"late", 75, 2e-4}, {"awful", 500, 1e-1}, {"middle", 15, 1.15e-3},
};
#define FAKE_CALLS ((int)(sizeof fake_calls / sizeof *fake_calls))

static inline double fake_time_us(const char *launch, const char *call, uint64_t bytes)
{
    double factor = 1;
    if (strcmp(launch, BENCH_DEFAULT) != 0)
        factor = fake.slow_launches > 0 ? fake.slow_launches : 1;
    if (fake.fast_launch && !strcmp(launch, fake.fast_launch))
        factor = 0.1;
    if (strchr(launch, ','))
        factor = 0.1 * fake.pair_factor;
    for (int i = 0; fake.launch[i].label; i++)
        factor = (i ? factor : 1) * (strstr(launch, fake.launch[i].label) ? fake.launch[i].factor : 1);
    size_t n = strcspn(call, "/");
    factor *= call[n] ? fake.variation[call[n + 1] - '0'] : 1;
    for (int i = 0; i < FAKE_CALLS; i++)
        if (strlen(fake_calls[i].label) == n && !strncmp(call, fake_calls[i].label, n))
            return factor * (fake_calls[i].latency_us + fake_calls[i].us_per_byte * (double)bytes);
    return 1e6;
}

static int fake_plan(const struct bench_setup *setup, struct arena *a, struct bench_plan *p, struct err *e)
{
    (void)setup;
    (void)e;
    *p = (struct bench_plan){.library = "Fake 1.0", .ncalls = FAKE_CALLS, .nlaunches = 1};
    p->calls = arena_alloc(a, FAKE_CALLS * sizeof *p->calls);
    for (int i = 0; i < FAKE_CALLS; i++)
        p->calls[i] = (struct bench_call){.coll = COLL_ALLREDUCE, .knobs = {.label = fake_calls[i].label}};
    p->launches = arena_alloc(a, sizeof *p->launches);
    p->launches[0] = (struct bench_knobs){.label = BENCH_DEFAULT};
    return 0;
}

static int fake_combine(const struct bench_knobs *x, const struct bench_knobs *y, struct arena *a,
                        struct bench_knobs *both)
{
    if (!(fake.pair_factor > 0) || strstr(arena_printf(a, ",%s,", x->label), arena_printf(a, ",%s,", y->label)))
        return 0;
    *both = (struct bench_knobs){.label = arena_printf(a, "%s,%s", x->label, y->label)};
    return 1;
}

static struct bench_session *fake_open(struct bench_plan *p, const struct bench_knobs *launch, double patience_s,
                                       volatile sig_atomic_t *stop, struct err *e)
{
    (void)p;
    (void)patience_s;
    (void)stop;
    if ((fake.dead_launch && !strcmp(launch->label, fake.dead_launch)) ||
        (fake.dead_after && fake.opened >= fake.dead_after)) {
        if (fake.dead_times && !--fake.dead_times)
            fake.dead_launch = NULL;
        err_set(e, fake.dead_code ? fake.dead_code : ERR_FAILED, "the launch exited with code 1: no such interface");
        return NULL;
    }
    usleep((useconds_t)(fake.open_s * 1e6));
    struct fake_session *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    s->base.nodes = 2;
    s->base.room_bytes = fake.room_bytes;
    s->base.ranks = fake.ranks ? fake.ranks : 2;
    s->launch = launch;
    s->start = ++fake.opened;
    return &s->base;
}

/* Up to 2 % more, so that intervals are no points. */
static double fake_noise(void)
{
    fake.noise = fake.noise * 1103515245u + 12345u;
    return 1 + 0.02 * (fake.noise >> 16 & 0xff) / 255;
}

static double fake_data(int buffers, const char *call)
{
    double factor = 1;
    for (size_t i = 0; i < sizeof fake.data / sizeof *fake.data; i++)
        if (fake.data[i].buffers && fake.data[i].buffers == buffers &&
            (!fake.data[i].call || !strcmp(fake.data[i].call, call)))
            factor *= fake.data[i].factor;
    return factor;
}

static struct fake_trouble *fake_trouble_at(const struct fake_session *s, const char *call, uint64_t bytes, int buffers)
{
    for (size_t i = 0; i < sizeof fake.trouble / sizeof *fake.trouble; i++) {
        struct fake_trouble *t = &fake.trouble[i];
        if (t->times > 0 && !strcmp(t->call, call) && t->bytes == bytes && t->buffers == buffers &&
            (!t->launch || !strcmp(t->launch, s->launch->label)))
            return t->after-- > 0 ? NULL : t;
    }
    return NULL;
}

static enum bench_outcome fake_measure(struct bench_session *base, const struct bench_batch *b,
                                       volatile sig_atomic_t *stop, bench_sample_fn *tell, void *user,
                                       char detail[BENCH_DETAIL])
{
    struct fake_session *s = (struct fake_session *)base;
    int out[FAKE_CALLS] = {0};
    fake.requests++;
    usleep((useconds_t)(b->buffers ? fake.data_s * 1e6 : 0));
    for (int k = 0; k < b->samples; k++)
        for (int i = 0; i < b->nshots; i++) {
            const char *call = b->shots[i].knobs->label;
            if (*stop || (fake.stop_after && fake.samples >= fake.stop_after)) {
                fake.stop = 1;
                return BENCH_STOPPED;
            }
            if (out[i])
                continue;
            struct fake_trouble *t = fake_trouble_at(s, call, b->bytes, b->buffers);
            if (t) {
                t->times--;
                if (t->outcome == BENCH_SILENT && fake.waits) {
                    double now_s = progress_now_s();
                    double until_s = bench_wait_until(base, now_s + b->shots[i].patience_s);
                    usleep((useconds_t)(fmax(0, until_s - now_s) * 1e6));
                }
                if (t->outcome != BENCH_ANSWERED) {
                    snprintf(detail, BENCH_DETAIL, "was killed by signal 9 (Killed)");
                    return t->outcome;
                }
                out[i] = 1;
                tell(user, i, t->status, 0, t->mute ? "" : "rank 1: element 5 is 6, expected 7");
                continue;
            }
            if (b->buffers && b->buffers == fake.refused) {
                tell(user, i, BENCH_FAILED, 0, "no such buffers");
                continue;
            }
            fake.samples++;
            fake.with[b->buffers]++;
            int smaller = b->shape.nodes && b->shape.ranks < base->ranks;
            double factor = s->start == fake.disturbed_start && b->bytes >= fake.disturbed_bytes ? 1.2 : 1;
            factor *= fake.groups_contend && b->shape.others ? 1.5 : 1;
            factor *= fake.middle_in_groups && smaller && !strcmp(call, "middle") ? 0.1 : 1;
            factor *= fake_data(b->buffers, call);
            tell(user, i, BENCH_OK, factor * fake_time_us(s->launch->label, call, b->bytes) * fake_noise(), NULL);
        }
    return BENCH_ANSWERED;
}

static void fake_close(struct bench_session *base, int kill)
{
    fake.closed++;
    fake.killed += kill;
    free(base);
}

static const struct bench_measure_ops fake_ops = {
    .plan = fake_plan,
    .combine = fake_combine,
    .open = fake_open,
    .measure = fake_measure,
    .close = fake_close,
};
static const struct bench_engine fake_engine = {.name = "fake", .description = "a formula", .measures = &fake_ops};
