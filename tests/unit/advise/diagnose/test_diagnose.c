/* advise/diagnose/diagnose.c: whole files, mixed formats, and files that say nothing. */
#include <sys/resource.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

static struct diagnosis *read_file(const char *name)
{
    struct diagnosis *d = diagnose_new();
    struct err e = {0};
    char path[128];
    snprintf(path, sizeof path, "tests/fixtures/diagnose/%s", name);
    if (diagnose_file(d, path, &e))
        fail_msg("%s", e.text);
    return d;
}

/* What each sample says, by its making. */
static const struct {
    const char *file;
    enum diag_verdict verdict;
    double share, ratio, tolerance;
} samples[] = {
    {"steps-sync.log", DIAG_IS_COMMUNICATION, 0.45, 190.0 / 232, 0.005},
    {"verl-rollout.log", DIAG_NOT_COMMUNICATION, 0.0147, 0.0156, 0.005},
    {"verl-file.jsonl", DIAG_IS_COMMUNICATION, 0.33, 0.51, 0.02},
    {"megatron.log", DIAG_UNKNOWN, 0.18, 0.29, 0.01}, /* of a maximum of 0.31 the rest is waiting */
    {"deepspeed.log", DIAG_IS_COMMUNICATION, 0.41, 0.69, 0.01},
    {"trace.json", DIAG_NOT_COMMUNICATION, 0.30, 5.0 / 6, 0.005},
    {"key-averages.txt", DIAG_UNKNOWN, 0.40, 2.0 / 3, 1e-9},
    {"chinese.log", DIAG_IS_COMMUNICATION, 150.0 / 365, 150.0 / 210, 1e-9},
    {"mixed.log", DIAG_IS_COMMUNICATION, 0.45, 190.0 / 232, 0.01},
    {"trend.log", DIAG_NOT_COMMUNICATION, 0.0525, 0.0575, 0.005},
};

TEST_CASE(samples_are_judged)
{
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct diagnosis *d = read_file(samples[i].file);
        const struct diag_result *r = diagnose_finish(d);
        assert_true(r->primary >= 0);
        const struct diag_source *s = &r->sources[r->primary];
        /* 0.30 of the trace is the limit itself; its samples may fall on either side. */
        if (strcmp(samples[i].file, "trace.json") != 0 && r->verdict != samples[i].verdict)
            fail_msg("%s: %s", samples[i].file, diag_verdict_names[r->verdict]);
        if (fabs(s->communication_share - samples[i].share) > samples[i].tolerance)
            fail_msg("%s: share %g", samples[i].file, s->communication_share);
        if (fabs(s->ratio - samples[i].ratio) > samples[i].tolerance + 0.01)
            fail_msg("%s: ratio %g", samples[i].file, s->ratio);
        diagnose_free(d);
    }
}

TEST_CASE(several_files_make_one_diagnosis)
{
    struct diagnosis *d = read_file("verl-rollout.log");
    struct err e = {0};
    assert_int_equal(diagnose_file(d, "tests/fixtures/diagnose/gpus.csv", &e), 0);
    assert_int_equal(diagnose_file(d, "tests/fixtures/diagnose/steps-sync.log", &e), 0);
    const struct diag_result *r = diagnose_finish(d);
    assert_int_equal(r->nsources, 2);
    assert_int_equal(r->ngpus, 4);
    assert_string_equal(r->sources[r->primary].format, "step lines");
    diagnose_free(d);
}

TEST_CASE(evidence_names_the_line)
{
    struct diagnosis *d = diagnose_new();
    struct err e = {0};
    assert_int_equal(feed(d,
                          "hello\n[Step 1] rollout: 100ms | sync: 100ms\nnoise\n"
                          "[Step 2] rollout: 100ms | sync: 103ms\n[Step 3] rollout: 100ms | sync: 108ms\n",
                          &e),
                     0);
    const struct diag_result *r = diagnose_finish(d);
    assert_string_equal(phase_of(r, "sync")->place, "log:4");
    assert_string_equal(finding_of(r, "communication")->place, "log:4");
    diagnose_free(d);
}

TEST_CASE(carriage_returns_do_not_count_lines)
{
    struct diagnosis *d = diagnose_new();
    struct err e = {0};
    assert_int_equal(
        feed(d, "  5%|#  | 1/20\r 10%|## | 2/20\r[Step 1] a: 1ms | sync: 1ms\r\n\r\n[Step 2] sync: 9ms\r\n", &e), 0);
    assert_int_equal(d->series[DIAG_STEP_LINE].nsteps, 2);
    assert_int_equal(d->series[DIAG_STEP_LINE].steps[0].line, 1);
    assert_int_equal(d->series[DIAG_STEP_LINE].steps[1].line, 3);
    diagnose_free(d);
}

TEST_CASE(files_that_say_nothing)
{
    static const struct {
        const char *text;
        size_t bytes;
        const char *says;
    } wrong[] = {
        {"", 0, "is empty"},
        {"Hello\nworld\n", 12, "no line of a known format"},
        {"\x1f\x8b\x08zip", 6, "unpack it first"},
        {"\0\1\2\3\377\376", 6, "no line of a known format"},
        {"{\"traceEvents\": [", 17, "cut off before any"},
        {"{\"traceEvents\": []}", 19, "no GPU kernel"},
        {"{\"traceEvents\": [}", 18, "not valid JSON"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct diagnosis *d = diagnose_new();
        struct err e = {0};
        assert_int_equal(feed_bytes(d, wrong[i].text, wrong[i].bytes, &e), ERR_FAILED);
        if (!strstr(e.text, wrong[i].says))
            fail_msg("case %zu: %s", i, e.text);
        diagnose_free(d);
    }
    struct diagnosis *d = diagnose_new();
    struct err e = {0};
    assert_int_equal(diagnose_file(d, "tests/fixtures/diagnose/none", &e), ERR_FAILED);
    diagnose_free(d);
}

/* A job's directory is one diagnosis; what in it says nothing is passed over. */
TEST_CASE(a_directory_is_joined)
{
    char dir[] = "/tmp/nccltune-diagnose-XXXXXX", path[64];
    static const struct {
        const char *name, *text;
    } files[] = {
        {"console.log", "(TaskRunner pid=7) step:1 - timing_s/gen:6.0 - timing_s/step:10.0\n"},
        {"gpus.csv", "utilization.gpu [%], index\n50 %, 0\n"},
        {"job.sh", "export NCCL_IB_DISABLE=1\n"},
        {"weights.safetensors", "[Step 1] sync: 99s\n"},
        {"broken.json", "{\"traceEvents\": [}"},
        {"notes.txt", "nothing\n"},
    };
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i].name);
        FILE *f = fopen(path, "w");
        fputs(files[i].text, f);
        fclose(f);
    }
    struct diagnosis *d = diagnose_new();
    struct err e = {0};
    assert_int_equal(diagnose_file(d, dir, &e), 0);
    const struct diag_result *r = diagnose_finish(d);
    assert_int_equal(r->nsources, 1);
    assert_int_equal(r->ngpus, 1);
    assert_non_null(finding_of(r, "NCCL_IB_DISABLE"));
    assert_int_equal(r->nfiles, 5);
    assert_non_null(r->files[0].problem);
    assert_string_equal(r->files[1].formats, "verl console");
    diagnose_free(d);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i].name);
        unlink(path);
    }
    d = diagnose_new();
    assert_int_equal(diagnose_file(d, dir, &e), ERR_FAILED);
    diagnose_free(d);
    rmdir(dir);
}

/* A file that begins with `head` and repeats `text`. */
struct endless {
    const char *head, *text;
    size_t length, at, left;
};
static ssize_t read_endless(void *cookie, char *to, size_t size)
{
    struct endless *s = cookie;
    size_t n = 0;
    while (n < size && *s->head)
        to[n++] = *s->head++;
    for (; n < size && s->left; n++, s->left--, s->at = (s->at + 1) % s->length)
        to[n] = s->text[s->at];
    return (ssize_t)n;
}

/* A quarter of a million steps, a line without end, bytes that are no text, a trace: memory stays where it was. */
TEST_CASE(memory_does_not_grow)
{
    static const char step[] = "\x1b[32m[Step 1]\x1b[0m rollout: 110ms | actor: 122ms | sync: 190ms\r\n";
    static const char line[] = "no end to it ", noise[] = "\0\xff\x1b\x80\n{\"";
    static const char event[] = "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"ts\":5,\"dur\":9},";
    const struct {
        struct endless file;
        int says;
    } logs[] = {
        {{"", step, sizeof step - 1, 0, 250000 * (sizeof step - 1)}, 1},
        {{"", line, sizeof line - 1, 0, 16 << 20}, 0},
        {{"", noise, sizeof noise - 1, 0, 16 << 20}, 0},
        {{"{\"traceEvents\":[", event, sizeof event - 1, 0, 16 << 20}, 1},
    };
    struct rusage before, after;
    struct diagnosis *d = diagnose_new();
    getrusage(RUSAGE_SELF, &before);
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        struct endless s = logs[i].file;
        struct err e = {0};
        FILE *f = fopencookie(&s, "r", (cookie_io_functions_t){.read = read_endless});
        assert_int_equal(diagnose_stream(d, f, "log", &e) == 0, logs[i].says);
        fclose(f);
    }
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss - before.ru_maxrss < 24 << 10);
    const struct diag_result *r = diagnose_finish(d);
    assert_true(r->sources[0].steps > 249900); /* the first may be ranks of one */
    assert_int_equal(r->nsources, 2);
    diagnose_free(d);
}

TEST_CASES(test_diagnose)
