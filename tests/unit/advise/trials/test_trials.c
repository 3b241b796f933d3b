/* Trials: simulated jobs, put into groups as the hooks put them, and judged at every job that ends. */
#include "advise/trials/trials.h"

#include "advise/drift/drift.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static const char schedule[] = "100 " A " all\n1000 " B " trial=ring,50,40,all\n";

static uint64_t random_state = 88172645463325252;

static double uniform(void)
{
    random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
    return ((double)(random_state * UINT64_C(0x2545f4914f6cdd1d) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * acos(-1) * uniform());
}

/* What sacct says of a job of one of three kinds. */
static char *add_job(char *text, struct arena *a, int number, const char *job_state, double seconds)
{
    static const char *const names[] = {"train|odd", "eval", "train|odd"};
    return arena_printf(a, "%s%d|%d|root|main|%d|%.0f|%s|4|n[1-4]|%s\n", text, number, number, 1000 + number, seconds,
                        job_state, names[number % 3]);
}

static struct trial judge(const char *by, const char *sacct, struct arena *a, struct trials *t)
{
    struct trials_jobs jobs;
    struct err e = {0};
    assert_int_equal(trials_list(by, "schedule", a, t, &e), 0);
    trials_read_sacct(sacct, a, &jobs);
    trials_judge(by, &jobs, a, t);
    return t->list[0];
}

/* Whether the hooks would give the job the trial's profile. */
static int is_tried(int number)
{
    struct arena *a = arena_new();
    struct trials t;
    struct trial one = judge(schedule, add_job(arena_strdup(a, ""), a, number, "COMPLETED", 100), a, &t);
    int tried = one.ended_tried == 1;
    assert_true(one.ended_tried + one.ended_others == 1);
    arena_free(a);
    return tried;
}

/* ---- forty jobs, over and over ------------------------------------------------------------------------------------
 */

enum { JOBS = 40, TRIALS = 400 };

struct outcome {
    int faster, slower, alike; /* after all jobs */
    int ever_faster, ever_slower;
};

static void run_trial(double spread, double effect, const char *groups, struct outcome *o)
{
    struct trials_unit units[JOBS];
    struct trials_comparison c = {0};
    int faster = 0, slower = 0;
    struct arena *a = arena_new();
    for (int i = 0; i < JOBS; i++) {
        double usual = i % 3 == 1 ? 600 : 7200;
        units[i] =
            (struct trials_unit){usual * exp(spread * normal()) * (groups[i] ? effect : 1), i % 3 == 1, groups[i]};
        trials_compare(units, (size_t)i + 1, JOBS, &c, a);
        faster |= c.verdict == TRIALS_FASTER;
        slower |= c.verdict == TRIALS_SLOWER;
    }
    o->ever_faster += faster;
    o->ever_slower += slower;
    o->faster += c.verdict == TRIALS_FASTER;
    o->slower += c.verdict == TRIALS_SLOWER;
    o->alike += c.verdict == TRIALS_ALIKE;
    arena_free(a);
}

static struct outcome run_trials(double spread, double effect)
{
    static char groups[TRIALS + JOBS];
    static int known;
    struct outcome o = {0};
    for (; known < TRIALS + JOBS; known++)
        groups[known] = (char)is_tried(5000 + known);
    for (int i = 0; i < TRIALS; i++)
        run_trial(spread, effect, groups + i, &o);
    print_message("# spread %2.0f %%, times %.3f: at the end %d faster, %d slower, %d alike of %d; ever %d, %d\n",
                  100 * spread, effect, o.faster, o.slower, o.alike, TRIALS, o.ever_faster, o.ever_slower);
    return o;
}

/* Undecided is right at a spread of 10 %, where forty jobs show such a difference in fewer than eight of ten trials;
 * the wrong sign, or a difference where there is none, is rare however often one looks. */
TEST_CASE(finds_differences_and_no_others)
{
    static const double spreads[] = {0.02, 0.05, 0.10};
    for (int i = 0; i < 3; i++) {
        struct outcome faster = run_trials(spreads[i], 1 / 1.1), slower = run_trials(spreads[i], 1.1);
        struct outcome equal = run_trials(spreads[i], 1);
        assert_true(!faster.ever_slower && !slower.ever_faster);
        assert_true(equal.ever_faster + equal.ever_slower < TRIALS / 13);
        assert_true(i == 2 || (faster.faster > 0.99 * TRIALS && slower.slower > 0.99 * TRIALS));
        assert_true(faster.faster > 0.6 * TRIALS && slower.slower > 0.6 * TRIALS);
        assert_true(i || equal.alike > 0.9 * TRIALS);
    }
}

/* ---- from what Slurm and files say --------------------------------------------------------------------------------
 */

TEST_CASE(from_slurms_accounting)
{
    struct arena *a = arena_new();
    struct trials t;
    char *text = arena_strdup(a, "JobIDRaw|JobID|User|Partition|Start|ElapsedRaw|State|NNodes|NodeList|JobName\n");
    for (int i = 0; i < 60; i++)
        text = add_job(text, a, 7000 + i, "COMPLETED", (is_tried(7000 + i) ? 1200 : 1000) * (1 + 0.02 * uniform()));
    text = add_job(text, a, 7100, "RUNNING", 10);
    text = add_job(text, a, 7101, "FAILED", 3);
    text = add_job(text, a, 7102, "CANCELLED by 0", 3);
    text = arena_printf(a, "%s7103||\n7104|7103+1|root|main|8000|9|COMPLETED|1|n1|part\n", text);
    text = arena_printf(a, "%s7105|7105|root|main|Unknown|0|PENDING|1|None assigned|later\n", text);
    text = add_job(add_job(text, a, 7106, "COMPLETED", 1), a, 7106, "COMPLETED", 9000); /* a job's name was a line */
    struct trial one = judge(schedule, text, a, &t);
    assert_int_equal(one.comparison.verdict, TRIALS_SLOWER);
    assert_near(one.comparison.ratio, 1.2, 0.02);
    assert_int_equal(one.comparison.counted, 40); /* as planned */
    assert_int_equal(one.kinds, 2);
    assert_int_equal(one.running, 1);
    assert_int_equal(one.failed_tried + one.failed_others, 1);
    assert_int_equal(t.odd, 3);
    arena_free(a);
}

TEST_CASE(jobs_outside_the_trial_do_not_count)
{
    struct arena *a = arena_new();
    struct trials t;
    char *text = arena_strdup(a, "");
    for (int i = 0; i < 60; i++)
        text = add_job(text, a, 4000 + i, "COMPLETED", 1000);
    const char *cases[] = {"100 " A " all\n6000 " B " trial=ring,50,40,all\n",
                           "100 " A " all\n1000 " B " trial=ring,50,40,all\n2000 none trial=ring\n",
                           "100 " A " all\n1000 " B " trial=ring,50,40,partition=other\n",
                           "100 " A " all\n1000 " B " trial=ring,50,40,nodes=n[1-3]\n",
                           "100 " A " all\n1000 " B " trial=ring,50,40,all\n3000 " A " all\n"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trial one = judge(cases[i], text, a, &t);
        assert_int_equal(one.ended_tried + one.ended_others, 0);
    }
    arena_free(a);
}

TEST_CASE(jobs_that_fail)
{
    struct arena *a = arena_new();
    struct trials t;
    for (int breaks = 0; breaks <= 1; breaks++) {
        char *text = arena_strdup(a, "");
        for (int i = 0; i < 40; i++)
            text = add_job(text, a, 7000 + i, (breaks ? is_tried(7000 + i) : i % 2) ? "FAILED" : "COMPLETED", 1000);
        assert_int_equal(judge(schedule, text, a, &t).breaks, breaks);
    }
    assert_near(trials_failing_by_chance(3, 3, 0, 3), 0.05, 1e-9);
    assert_near(trials_failing_by_chance(0, 9, 2, 9), 1, 1e-9);
    arena_free(a);
}

TEST_CASE(figures)
{
    static const struct {
        const char *text, *error;
    } bad[] = {{"7000 1\nseven 1\n", "f:2:1: "}, {"7000 -1\n", "f:1:6: "},  {"7000\n", "f:1:1: "},
               {"7000 1 more\n", "f:1:6: "},     {"7000 nan\n", "f:1:6: "}, {"7000 \n1\n", "f:1:6: "}};
    struct arena *a = arena_new();
    struct trials_jobs jobs;
    struct err e = {0};
    size_t unknown;
    trials_read_sacct(add_job(arena_strdup(a, ""), a, 7000, "COMPLETED", 5), a, &jobs);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_true(trials_read_figures(bad[i].text, "f", 0, &jobs, &unknown, &e) != 0);
        assert_true(!strncmp(e.text, bad[i].error, strlen(bad[i].error)));
    }
    assert_int_equal(trials_read_figures("# seconds a step\n\n7000\t1.5\r\n7001, 2e3", "f", 0, &jobs, &unknown, &e), 0);
    assert_int_equal(unknown, 1);
    assert_near(jobs.list[0].figure, 1.5, 1e-9);
    assert_int_equal(trials_read_figures("7000 4\n", "f", 1, &jobs, &unknown, &e), 0);
    assert_near(jobs.list[0].figure, 0.25, 1e-9);
    arena_free(a);
}

/* ---- from captures ------------------------------------------------------------------------------------------------
 */

static void put_capture(struct scratch *s, int job, double us, int is_timed)
{
    for (int rank = 0; rank < 2; rank++) {
        char name[32];
        const char *times = is_timed ? arena_printf(s->arena,
                                                    ", \"time_us\": %.3f, \"steady_us\": %.3f, \"total_us\": "
                                                    "%.3f, \"timed\": 100",
                                                    us, us, us * 100)
                                     : "";
        const char *text = arena_printf(
            s->arena,
            "{\n  \"format\": \"nccltune-workload/1\",\n  \"name\": \"%d\",\n  \"rank\": \"%d\",\n  \"host\": "
            "\"n%d\",\n  \"began\": %d,\n  \"seconds\": 100,\n  \"ranks\": 2,\n  \"ranks_per_node\": 1,\n"
            "  {\"group\": \"7\", \"entered\": \"1:1000 50:%.0f\"},\n"
            "  {\"collective\": \"allreduce\", \"bytes\": 1048576, \"count\": 100, \"group_size\": 2, "
            "\"placement\": \"cluster\", \"stride\": 1, \"group\": \"7\", \"dtype\": \"float32\"%s}\n}\n",
            job, rank, rank, 1000 + job, 1000 + 49 * us, times);
        snprintf(name, sizeof name, "%d.rank.%d.json", job, rank);
        scratch_write(s, name, text, strlen(text));
    }
}

TEST_CASE(from_captures_without_accounting)
{
    for (int is_timed = 0; is_timed <= 1; is_timed++) {
        struct scratch s = scratch_new();
        struct trials_jobs jobs = {0};
        struct trials t;
        struct err e = {0};
        for (int i = 0; i < 20; i++)
            put_capture(&s, 7000 + i, (is_tried(7000 + i) ? 900 : 1000) * (1 + 0.02 * uniform()), is_timed);
        const char *dirs[] = {s.dir};
        struct drift_fleet *f = drift_read(dirs, 1, s.arena, &e);
        assert_non_null(f);
        assert_int_equal(trials_list(schedule, "schedule", s.arena, &t, &e), 0);
        t.figure = trials_take_captures(f, s.arena, &jobs);
        trials_judge(schedule, &jobs, s.arena, &t);
        assert_string_equal(t.figure,
                            is_timed ? "time of a call, by the GPUs" : "time from call to call, by the hosts");
        assert_int_equal(t.list[0].comparison.verdict, TRIALS_FASTER);
        assert_near(t.list[0].comparison.ratio, 0.9, 0.02);
        assert_int_equal(t.list[0].ncalls, is_timed);
        if (is_timed)
            assert_string_equal(t.list[0].calls[0].name, "allreduce 1 MiB float32, 2 ranks, cluster");
        drift_free(f);
        scratch_free(&s);
    }
}

TEST_CASES(test_trials)
