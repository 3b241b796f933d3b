/* bench/engines/verbs/measure.c on a simulated clock: one side here, a device that completes what is posted after its
 * time, and the other side's words and writes as the test has them. */
#include <errno.h>
#include <time.h>

#include "bench/engines/verbs/verbs.h"
#include "tests/lib/unit.h"

#define SPACE  262144 /* a slot */
#define QPS    3
#define MOST   1000000
#define CHECKS 7.0 /* patience */

static unsigned char source[QPS * SPACE], target[QPS * SPACE];
static double message_s; /* what the device takes for one */
static int posted[QPS], finished[QPS], most_open, silent, lead, nqps;
static uint64_t ids[QPS * 512]; /* completions to come */
static int nids, at_ids, signals, ponging;
static unsigned seed;                 /* of the sample that runs */
static int step, samples;             /* of its three agreements */
static double their_us, their_factor; /* what the other side says it took: so much, or so many times what we say */
static uint64_t their_number;
static const char *their_failure;
static long spoilt; /* byte of `target` that comes wrong; -1 none */
static struct verbs_shot shot;
static struct verbs_report said; /* ours, at the last agreement */
static struct err e;

/* ---- the device ---- */

/* In the place of libc's. */
static double now_s = 1000;
int clock_gettime(clockid_t which, struct timespec *t)
{
    (void)which;
    *t = (struct timespec){(time_t)now_s, lround((now_s - floor(now_s)) * 1e9)};
    return 0;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    int n = (int)qp->qp_num;
    (void)bad;
    assert_int_equal(wr->sg_list->length, shot.bytes);
    posted[n]++;
    most_open = posted[n] - finished[n] > most_open ? posted[n] - finished[n] : most_open;
    if (wr->send_flags & IBV_SEND_SIGNALED) {
        ids[nids++ % (int)(sizeof ids / sizeof *ids)] = wr->wr_id;
        signals++;
    }
    if (ponging)
        target[shot.bytes - 1] = source[shot.bytes - 1];
    return 0;
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    (void)cq;
    assert_int_equal(n, 1);
    if (silent || at_ids == nids) {
        now_s += 0.001;
        return 0;
    }
    *wc = (struct ibv_wc){.wr_id = ids[at_ids++ % (int)(sizeof ids / sizeof *ids)]};
    int qp = (int)(wc->wr_id >> 32), count = ponging ? finished[0] + 1 : (int)(uint32_t)wc->wr_id;
    now_s += (count - finished[qp]) * message_s;
    finished[qp] = count;
    return 1;
}

static struct ibv_context context = {.ops = {.post_send = post_send, .poll_cq = poll_cq}};
static struct ibv_qp qps[QPS] = {
    {.context = &context, .qp_num = 0}, {.context = &context, .qp_num = 1}, {.context = &context, .qp_num = 2}};
static struct ibv_cq cq = {.context = &context};
static struct ibv_mr mr;

/* ---- the other side ---- */

/* The mixing of splitmix64, word by word. */
static uint64_t payload(int by_lead, int qp, uint64_t word)
{
    uint64_t z = (word + 1) * 0x9e3779b97f4a7c15u + ((uint64_t)seed << 32) + (uint64_t)qp * 2 + (uint64_t)by_lead;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void assert_written(const unsigned char *slot, int by_lead, int qp, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += 8) {
        uint64_t word = payload(by_lead, qp, at / 8);
        assert_memory_equal(slot + at, &word, bytes - at < 8 ? bytes - at : 8);
    }
}

/* What it would have written by now. */
static void write_there(void)
{
    for (int qp = 0; qp < nqps; qp++)
        for (uint64_t at = 0; at < shot.bytes; at += 8) {
            uint64_t word = payload(!lead, qp, at / 8), left = shot.bytes - at;
            memcpy(target + qp * SPACE + at, &word, left < 8 ? left : 8);
        }
    if (spoilt >= 0)
        target[spoilt] ^= 1;
}

static int swap(void *user, const void *mine, void *theirs, size_t bytes, double deadline_s)
{
    struct verbs_report *r = theirs;
    double left_s = deadline_s - now_s;
    (void)user;
    assert_int_equal(bytes, sizeof said);
    memcpy(&said, mine, sizeof said);
    *r = (struct verbs_report){.number = their_number, .time_us = their_us + their_factor * said.time_us};
    if (step == 0) {
        seed++;
        samples++;
        memset(posted, 0, sizeof posted);
        memset(finished, 0, sizeof finished);
        nids = at_ids = signals = most_open = 0;
        for (int qp = 0; qp < nqps && !said.failure[0]; qp++) {
            assert_written(source + qp * SPACE, lead, qp, shot.bytes);
            for (uint64_t at = 0; at < shot.bytes; at++)
                assert_int_equal(target[qp * SPACE + at], 0);
        }
        now_s += 0.5; /* it is not ready at once */
    }
    if (step == 1)
        write_there();
    if (step == 1)
        assert_true(fabs(left_s - (2 * CHECKS - said.time_us * 1e-6)) < 1e-6);
    else
        assert_true(fabs(left_s - CHECKS) < 1e-6);
    if (step == 2 && their_failure)
        snprintf(r->failure, sizeof r->failure, "%s", their_failure);
    step = (step + 1) % 3;
    return 0;
}

static const struct verbs_channel channel = {swap, NULL, "n0 a", "n1 b"};

static int measure(struct verbs_figures *f, const struct verbs_memory *memory)
{
    struct verbs_pair p = {.channel = &channel,
                           .cq = &cq,
                           .mr = &mr,
                           .qps = {&qps[0], &qps[1], &qps[2]},
                           .nqps = nqps,
                           .max_bytes = SPACE,
                           .source = source,
                           .target = target,
                           .memory = memory};
    step = samples = 0;
    seed = 0;
    e = (struct err){0};
    memset(target, 0x77, sizeof target);
    shot.patience_s = CHECKS;
    return verbs_measure(&p, &shot, lead, f, &e);
}

static int begin(void **state)
{
    message_s = 1e-5;
    silent = ponging = 0;
    lead = 1;
    nqps = 2;
    their_us = their_factor = 0;
    their_number = 2;
    their_failure = NULL;
    spoilt = -1;
    return 0;
}

static void assert_about(double value, double expected)
{
    if (!(fabs(value / expected - 1) < 1e-6))
        fail_msg("%.12g instead of %.12g", value, expected);
}

/* ---- bandwidth ---- */

TEST_CASE(one_writes)
{
    struct verbs_figures f;
    shot = (struct verbs_shot){VERBS_WRITE, 4100, 3, 0.01 + 1e-9, CHECKS};
    assert_int_equal(measure(&f, NULL), 0);
    assert_int_equal(samples, 6); /* three of warm-up */
    assert_about(f.time_us.median, 10);
    assert_about(f.samples_us[2], 10);
    assert_about(f.GBps, 0.41);
    assert_int_equal(f.time_us.n, 3);
    assert_true(posted[0] == 500 && posted[1] == 500);
    assert_int_equal(said.number, 1000);
}

/* As many messages as a sample lasts, two at least; an odd one goes to the first queue pair. */
TEST_CASE(messages_of_a_sample)
{
    static const struct {
        double message_s, sample_s;
        int messages, first;
    } rows[] = {{1e-5, 0.00103, 103, 52}, {1e-5, 1e-6, 2, 1}, {1e-5, 3e-5, 3, 2}, {1e-12, 0.5, MOST, MOST / 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct verbs_figures f;
        message_s = rows[i].message_s;
        shot = (struct verbs_shot){VERBS_WRITE, 64, 1, rows[i].sample_s + 1e-9, CHECKS};
        assert_int_equal(measure(&f, NULL), 0);
        assert_int_equal(posted[0] + posted[1], rows[i].messages);
        assert_int_equal(posted[0], rows[i].first);
    }
}

/* Enough under way for any link, and soon through a slow one; every fourth part of it asks for a completion. */
TEST_CASE(what_is_under_way)
{
    static const struct {
        int nqps, bytes, open, signals;
    } rows[] = {{1, 8, 128, 32},    {3, 262144, 2, 1000}, {1, 262144, 4, 1000}, {1, 65536, 16, 250},
                {2, 65536, 8, 500}, {3, 65536, 5, 1000},  {2, 8192, 64, 64}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct verbs_figures f;
        nqps = rows[i].nqps;
        shot = (struct verbs_shot){VERBS_WRITE, (uint64_t)rows[i].bytes, 1, 0.01 + 1e-9, CHECKS};
        assert_int_equal(measure(&f, NULL), 0);
        assert_int_equal(most_open, rows[i].open);
        assert_int_equal(signals, rows[i].signals);
    }
}

TEST_CASE(both_write)
{
    struct verbs_figures f;
    shot = (struct verbs_shot){VERBS_BOTH, 4096, 2, 0.01, CHECKS};
    their_factor = 0.5; /* the slower one counts */
    assert_int_equal(measure(&f, NULL), 0);
    assert_about(f.time_us.median, 10);
    assert_about(f.GBps, 2 * 0.4096);
    their_factor = 2;
    assert_int_equal(measure(&f, NULL), 0);
    assert_about(f.time_us.median, 20);
    lead = 0;
    their_number = 7; /* of messages: the lead says */
    assert_int_equal(measure(&f, NULL), 0);
    assert_int_equal(posted[0] + posted[1], 7);
    assert_about(f.time_us.median, 20);
}

TEST_CASE(one_only_receives)
{
    struct verbs_figures f;
    lead = 0;
    shot = (struct verbs_shot){VERBS_WRITE, 4096, 2, 0.01, CHECKS};
    their_us = 300;
    their_number = 3;
    assert_int_equal(measure(&f, NULL), 0);
    assert_true(!posted[0] && !posted[1]);
    assert_about(f.time_us.median, 100);
    their_number = 2000000; /* who asks for so many? */
    assert_int_equal(measure(&f, NULL), 0);
    assert_about(f.time_us.median, 300e-6);
}

TEST_CASE(a_ping_and_its_pong)
{
    struct verbs_figures f;
    ponging = 1;
    shot = (struct verbs_shot){VERBS_PING, 24, 2, 0.0026 + 1e-9, CHECKS};
    assert_int_equal(measure(&f, NULL), 0);
    assert_about(f.time_us.median, 5);
    assert_true(posted[0] == 520 && !posted[1]);
    assert_int_equal(source[23], 520 % 255); /* pings are numbered */
}

/* ---- what goes wrong ---- */

TEST_CASE(wrong_data_are_told)
{
    static const struct {
        long at;
        int told, qp;
    } rows[] = {{0, 0, 0}, {7, 0, 0}, {8, 8, 0}, {20479, 20472, 0}, {20482, 20480, 0}, {SPACE + 16384, 16384, 1}};
    lead = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct verbs_figures f;
        shot = (struct verbs_shot){VERBS_WRITE, 20483, 1, 0.01, CHECKS};
        spoilt = rows[i].at;
        char expected[200];
        snprintf(expected, sizeof expected,
                 "n0 a: verifying the payload failed: byte %d or one of the 7 behind it, of 20483 on queue pair %d, is "
                 "not what was sent: faulty memory, PCIe or device",
                 rows[i].told, rows[i].qp);
        assert_int_equal(measure(&f, NULL), ERR_FAILED);
        assert_string_equal(e.text, expected);
        assert_int_equal(samples, 1);
    }
    struct verbs_figures f;
    spoilt = 20483; /* behind the message */
    assert_int_equal(measure(&f, NULL), 0);
    spoilt = 0;
    lead = 1; /* who only writes has nothing to look at */
    assert_int_equal(measure(&f, NULL), 0);
    shot.test = VERBS_BOTH;
    assert_int_equal(measure(&f, NULL), ERR_FAILED);
    their_failure = "is dark";
    spoilt = -1;
    assert_int_equal(measure(&f, NULL), ERR_FAILED);
    assert_string_equal(e.text, "n1 b: is dark");
    lead = 0; /* of three queue pairs one message reaches but one */
    nqps = 3;
    their_failure = NULL;
    their_number = 2;
    shot.test = VERBS_WRITE;
    spoilt = 2 * SPACE;
    assert_int_equal(measure(&f, NULL), 0);
    spoilt = SPACE;
    assert_int_equal(measure(&f, NULL), ERR_FAILED);
}

TEST_CASE(who_does_not_complete)
{
    static const enum verbs_test tests[] = {VERBS_WRITE, VERBS_PING};
    char words[VERBS_FAILURE_TEXT], expected[VERBS_FAILURE_TEXT + 16];
    snprintf(expected, sizeof expected, "n0 a: %s", verbs_say_errno(words, VERBS_COMPLETE, ETIMEDOUT));
    for (int i = 0; i < 2; i++) {
        struct verbs_figures f;
        silent = 1;
        ponging = i;
        shot = (struct verbs_shot){tests[i], 64, 1, 0.01, CHECKS};
        double began_s = now_s;
        assert_int_equal(measure(&f, NULL), ERR_FAILED);
        assert_string_equal(e.text, expected);
        double took_s = now_s - began_s;
        assert_true(took_s > CHECKS + 0.4 && took_s < CHECKS + 1);
    }
}

TEST_CASE(what_is_not_measured)
{
    static const struct verbs_memory gpu = {.user = NULL};
    static const struct {
        struct verbs_shot shot;
        int gpu;
        const char *why;
    } rows[] = {
        {{VERBS_WRITE, 0, 1, 0.01, CHECKS}, 0, "n0 a: a measurement of 0 bytes, 1 samples cannot be made"},
        {{VERBS_WRITE, SPACE + 1, 1, 0.01, CHECKS}, 0, "n0 a: a measurement of 262145 bytes, 1 samples cannot be made"},
        {{VERBS_WRITE, 8, 0, 0.01, CHECKS}, 0, "n0 a: a measurement of 8 bytes, 0 samples cannot be made"},
        {{VERBS_WRITE, 8, 65, 0.01, CHECKS}, 0, "n0 a: a measurement of 8 bytes, 65 samples cannot be made"},
        {{VERBS_PING, 8, 1, 0.01, CHECKS}, 1, "n0 a: a measurement of 8 bytes, 1 samples cannot be made"}};
    struct verbs_figures f;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        shot = rows[i].shot;
        assert_int_equal(measure(&f, rows[i].gpu ? &gpu : NULL), ERR_USAGE);
        assert_string_equal(e.text, rows[i].why);
        assert_int_equal(samples, 0);
    }
    shot = (struct verbs_shot){VERBS_WRITE, 1, VERBS_SAMPLES, 3e-5, CHECKS};
    assert_int_equal(measure(&f, NULL), 0);
    shot = (struct verbs_shot){VERBS_WRITE, SPACE, 1, 3e-5, CHECKS};
    assert_int_equal(measure(&f, NULL), 0);
}

/* ---- a GPU's memory ---- */

static int puts_left, gets_left;

static int put(void *user, unsigned char *to, const void *from, size_t bytes)
{
    (void)user;
    memcpy(to, from, bytes);
    return puts_left-- > 0 ? 0 : 5;
}

static int get(void *user, void *to, const unsigned char *from, size_t bytes)
{
    (void)user;
    memcpy(to, from, bytes);
    return gets_left-- > 0 ? 0 : 5;
}

/* In pieces of 16 KiB, of which none is forgotten. */
TEST_CASE(through_the_gpus_driver)
{
    static const struct verbs_memory gpu = {.put = put, .get = get};
    static const struct {
        int puts, gets, samples;
        const char *why;
    } rows[] = {
        {7, 99, 1, "n0 a: the GPU's memory cannot be written"}, {8, 0, 1, "n0 a: the GPU's memory cannot be written"},
        {8, 1, 1, "n0 a: the GPU's memory cannot be read"},     {8, 4, 1, "n0 a: the GPU's memory cannot be read"},
        {8, 5, 2, "n0 a: the GPU's memory cannot be written"},  {999, 999, 4, ""}};
    lead = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct verbs_figures f;
        puts_left = rows[i].puts;
        gets_left = rows[i].gets;
        shot = (struct verbs_shot){VERBS_WRITE, 20000, 1, 0.01, CHECKS};
        assert_int_equal(measure(&f, &gpu), *rows[i].why ? ERR_FAILED : 0);
        assert_string_equal(e.text, rows[i].why);
        assert_int_equal(samples, rows[i].samples);
    }
}

TEST_CASES_EACH(main, begin, NULL)
