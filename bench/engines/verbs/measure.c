/* Timing writes over a connected pair, and checking what arrived. */
#include "bench/engines/verbs/verbs.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "core/progress.h"

/* Bytes under way on all queue pairs together: more than any link holds (50 GB/s × 20 µs), and soon through a slow one.
 */
#define WINDOW_BYTES (1u << 20)
/* The clock is read and the core offered to others once in so many fruitless looks. */
#define LOOKS 200
/* Messages of the first warm-up, and the most that a sample takes. */
#define WARM_UP      2
#define MAX_MESSAGES 1000000
/* The payload is written and verified in pieces of so many bytes, a multiple of 8: each is one copy for a GPU. */
#define CHUNK 16384

struct run {
    struct verbs_pair *pair;
    const struct verbs_shot *shot;
    int lead, messages;
    unsigned seed; /* of this sample's payload */
    double deadline_s;
    struct verbs_report report; /* what this side will say */
};

/* ---- payload ---- */

/* Differs for every sample, writer, queue pair and place, so that nothing old, misplaced or shifted passes for it. The
 * mixing is that of splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t payload_word(unsigned seed, int lead, int qp, uint64_t word)
{
    uint64_t z = (word + 1) * 0x9e3779b97f4a7c15u + ((uint64_t)seed << 32) + (uint64_t)qp * 2 + (uint64_t)lead;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static unsigned char *slot_of(const struct run *r, unsigned char *base, int qp)
{
    return base + (uint64_t)qp * r->pair->max_bytes;
}

static int put_bytes(const struct run *r, unsigned char *to, const void *from, size_t bytes)
{
    const struct verbs_memory *m = r->pair->memory;
    if (m)
        return m->put(m->user, to, from, bytes);
    memcpy(to, from, bytes);
    return 0;
}

static int get_bytes(const struct run *r, void *to, const unsigned char *from, size_t bytes)
{
    const struct verbs_memory *m = r->pair->memory;
    if (m)
        return m->get(m->user, to, from, bytes);
    memcpy(to, from, bytes);
    return 0;
}

/* Writes this sample's payload, and wipes what the last one left in the memory that the other side writes. */
static void fill_source(struct run *r)
{
    uint64_t chunk[CHUNK / 8];
    static const unsigned char zeros[CHUNK];
    int failed = 0;
    for (int qp = 0; qp < r->pair->nqps; qp++)
        for (uint64_t at = 0; at < r->shot->bytes && !failed; at += CHUNK) {
            uint64_t left = r->shot->bytes - at, bytes = left < CHUNK ? left : CHUNK;
            for (uint64_t word = 0; word * 8 < bytes; word++)
                chunk[word] = payload_word(r->seed, r->lead, qp, at / 8 + word);
            failed = put_bytes(r, slot_of(r, r->pair->source, qp) + at, chunk, bytes) ||
                     put_bytes(r, slot_of(r, r->pair->target, qp) + at, zeros, bytes);
        }
    /* A copy to a GPU may return before it has arrived; one back does not, and waits for those before it. */
    if (failed || get_bytes(r, chunk, r->pair->source, 1))
        snprintf(r->report.failure, VERBS_FAILURE_TEXT, "the GPU's memory cannot be written");
}

/* Which queue pairs, and which bytes of each message, carry payload: a ping's last byte is its number. */
static void verify_payload(struct run *r)
{
    uint64_t bytes = r->shot->test == VERBS_PING ? r->shot->bytes - 1 : r->shot->bytes;
    uint64_t chunk[CHUNK / 8];
    int used = r->shot->test == VERBS_PING               ? 1
               : r->shot->test == VERBS_WRITE && r->lead ? 0
               : r->messages < r->pair->nqps             ? r->messages
                                                         : r->pair->nqps;
    for (int qp = 0; qp < used; qp++)
        for (uint64_t at = 0; at < bytes; at += 8) {
            uint64_t v = payload_word(r->seed, !r->lead, qp, at / 8), left = bytes - at;
            if (at % CHUNK == 0 &&
                get_bytes(r, chunk, slot_of(r, r->pair->target, qp) + at, left < CHUNK ? left : CHUNK)) {
                snprintf(r->report.failure, VERBS_FAILURE_TEXT, "the GPU's memory cannot be read");
                return;
            }
            if (memcmp(&chunk[at % CHUNK / 8], &v, left < 8 ? left : 8) != 0) {
                snprintf(r->report.failure, VERBS_FAILURE_TEXT,
                         "%s failed: byte %llu or one of the 7 behind it, of %llu on queue pair %d, is not what was "
                         "sent: faulty memory, PCIe or device",
                         verbs_step_name(VERBS_VERIFY), (unsigned long long)at, (unsigned long long)bytes, qp);
                return;
            }
        }
}

/* ---- the timed part ---- */

/* Counts fruitless looks; whether the deadline has passed. */
static int too_late(struct run *r, int *looks)
{
    if (++*looks < LOOKS)
        return 0;
    *looks = 0;
    sched_yield();
    if (progress_now_s() < r->deadline_s)
        return 0;
    verbs_say_errno(r->report.failure, VERBS_COMPLETE, ETIMEDOUT);
    return 1;
}

static int window_of(const struct run *r)
{
    uint64_t n = WINDOW_BYTES / (r->shot->bytes * (uint64_t)r->pair->nqps);
    return n < 2 ? 2 : n > VERBS_DEPTH ? VERBS_DEPTH : (int)n;
}

/* Message m goes to queue pair m mod n. Every fourth part of a window asks for a completion, whose id says how many
 * messages of its queue pair are done. */
static void write_all(struct run *r)
{
    struct verbs_pair *p = r->pair;
    int n = p->nqps, depth = window_of(r), every = depth > 4 ? depth / 4 : 1, looks = 0, done = 0;
    int posted[VERBS_MAX_QPS] = {0}, completed[VERBS_MAX_QPS] = {0}, total[VERBS_MAX_QPS] = {0};
    for (int qp = 0; qp < n; qp++)
        total[qp] = r->messages / n + (qp < r->messages % n);
    while (done < r->messages) {
        for (int qp = 0; qp < n; qp++)
            while (posted[qp] < total[qp] && posted[qp] - completed[qp] < depth) {
                int count = ++posted[qp], signaled = count % every == 0 || count == total[qp];
                if (verbs_pair_post(p, qp, r->shot->bytes, signaled, (uint64_t)qp << 32 | (uint32_t)count,
                                    r->report.failure))
                    return;
            }
        uint64_t id = 0;
        int got = verbs_pair_poll(p, &id, r->report.failure);
        if (got < 0 || (!got && too_late(r, &looks)))
            return;
        if (got) {
            int qp = (int)(id >> 32), count = (int)(uint32_t)id;
            done += count - completed[qp];
            completed[qp] = count;
        }
    }
}

/* Waits for the other side's write number `number`; completions of ours that come meanwhile are counted off. */
static int await_ping(struct run *r, unsigned char number, int *unacknowledged)
{
    const volatile unsigned char *last = slot_of(r, r->pair->target, 0) + r->shot->bytes - 1;
    int looks = 0;
    while (*last != number || *unacknowledged) {
        uint64_t id;
        int got = *unacknowledged ? verbs_pair_poll(r->pair, &id, r->report.failure) : 0;
        if (got < 0 || (!got && too_late(r, &looks)))
            return -1;
        *unacknowledged -= got;
    }
    return 0;
}

static void ping_all(struct run *r)
{
    unsigned char number = 0;
    int unacknowledged = 0;
    for (int i = 0; i < r->messages; i++) {
        number = (unsigned char)(i % 255 + 1);
        if (!r->lead && await_ping(r, number, &unacknowledged))
            return;
        slot_of(r, r->pair->source, 0)[r->shot->bytes - 1] = number;
        if (verbs_pair_post(r->pair, 0, r->shot->bytes, 1, 0, r->report.failure))
            return;
        unacknowledged++;
        if (r->lead && await_ping(r, number, &unacknowledged))
            return;
    }
    await_ping(r, number, &unacknowledged); /* which has come: for what is not acknowledged */
}

/* ---- samples ---- */

/* One sample: both get ready, the lead says how many messages, the writers write, both say how it went, the receivers
 * verify. `*time_us` is that of one message on the slower side. */
static int take_sample(struct run *r, double *time_us, struct err *e)
{
    const struct verbs_channel *c = r->pair->channel;
    struct verbs_report *mine = &r->report, theirs;
    *mine = (struct verbs_report){.number = (uint64_t)r->messages};
    r->seed++;
    fill_source(r);
    int code = verbs_pair_agree(c, mine, &theirs, progress_now_s() + VERBS_PATIENCE_S, e);
    if (code)
        return code;
    if (!r->lead)
        r->messages = theirs.number <= MAX_MESSAGES ? (int)theirs.number : MAX_MESSAGES;

    double began_s = progress_now_s();
    r->deadline_s = began_s + VERBS_PATIENCE_S;
    if (r->shot->test == VERBS_PING)
        ping_all(r);
    else if (r->shot->test == VERBS_BOTH || r->lead)
        write_all(r);
    mine->time_us = (progress_now_s() - began_s) * 1e6;
    /* Who only receives waits as long as the other side may take to write. */
    code = verbs_pair_agree(c, mine, &theirs, r->deadline_s + VERBS_PATIENCE_S, e);
    if (code)
        return code;
    double slower_us = r->shot->test != VERBS_BOTH      ? (r->lead ? mine : &theirs)->time_us
                       : mine->time_us > theirs.time_us ? mine->time_us
                                                        : theirs.time_us;
    *time_us = slower_us / r->messages / (r->shot->test == VERBS_PING ? 2 : 1);

    verify_payload(r);
    return verbs_pair_agree(c, mine, &theirs, progress_now_s() + VERBS_PATIENCE_S, e);
}

int verbs_measure(struct verbs_pair *p, const struct verbs_shot *shot, int lead, struct verbs_figures *f, struct err *e)
{
    struct run r = {.pair = p, .shot = shot, .lead = lead, .messages = WARM_UP};
    double time_us, scratch[VERBS_SAMPLES];
    if (!shot->bytes || shot->bytes > p->max_bytes || (shot->test == VERBS_PING && p->memory) || shot->samples < 1 ||
        shot->samples > VERBS_SAMPLES)
        return err_set(e, ERR_USAGE, "%s: a measurement of %llu bytes, %d samples cannot be made", p->channel->me,
                       (unsigned long long)shot->bytes, shot->samples);
    /* The first message pays for page tables and address resolution; the second look is at the fitting number. */
    for (int i = 0; i < 3; i++) {
        int code = take_sample(&r, &time_us, e);
        if (code)
            return code;
        double fitting = shot->sample_s * 1e6 / (time_us > 0.001 ? time_us : 0.001);
        r.messages = fitting < 2 ? 2 : fitting > MAX_MESSAGES ? MAX_MESSAGES : (int)fitting;
    }
    for (int i = 0; i < shot->samples; i++) {
        int code = take_sample(&r, &f->samples_us[i], e);
        if (code)
            return code;
    }
    f->time_us = bench_interval_of(f->samples_us, shot->samples, scratch);
    f->GBps = (double)shot->bytes * (shot->test == VERBS_BOTH ? 2 : 1) / f->time_us.median / 1e3;
    return 0;
}
