/* tuner/capture/job.c: what the capture's variables and those of launchers come to. */
#include <time.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tuner/capture/job.h"

#define MINUTE UINT64_C(60000000000)

static struct profiler_job job;
static char why[256];

static const char *const variables[] = {"NCCLTUNE",
                                        "NCCLTUNE_CAPTURE",
                                        "NCCLTUNE_CAPTURE_MINUTES",
                                        "NCCLTUNE_CAPTURE_TIMES",
                                        "RANK",
                                        "WORLD_SIZE",
                                        "LOCAL_WORLD_SIZE",
                                        "SLURM_JOB_ID",
                                        "PBS_JOBID",
                                        "LSB_JOBID",
                                        "TORCHELASTIC_RUN_ID",
                                        "SLURM_PROCID",
                                        "SLURM_NTASKS",
                                        "SLURM_NTASKS_PER_NODE",
                                        "OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_SIZE",
                                        "MPI_LOCALNRANKS"};

static int set_up(void **state)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    setenv("NCCLTUNE_CAPTURE", "/tmp/capture", 1);
    return 0;
}

static int asked(void)
{
    return profiler_job_read(&job, why, sizeof why);
}

TEST_CASE(only_when_asked)
{
    char longest[PROFILER_PATH];
    assert_true(asked() && !why[0]);
    assert_string_equal(job.dir, "/tmp/capture");
    assert_true(job.pid == getpid() && job.began <= (uint64_t)time(NULL) && job.began + 60 > (uint64_t)time(NULL));
    setenv("NCCLTUNE", "off", 1);
    assert_true(!asked() && !why[0]);
    unsetenv("NCCLTUNE");
    setenv("NCCLTUNE_CAPTURE", "", 1);
    assert_true(!asked() && !why[0]);
    setenv("NCCLTUNE_CAPTURE", "./here", 1);
    assert_true(!asked() && strstr(why, "./here"));
    memset(longest, 'x', sizeof longest - 1);
    longest[0] = '/', longest[sizeof longest - 1] = 0;
    setenv("NCCLTUNE_CAPTURE", longest, 1);
    assert_true(!asked() && why[0]);
    longest[1] = '/', longest[sizeof job.dir - 510] = 0;
    setenv("NCCLTUNE_CAPTURE", longest + 1, 1);
    assert_true(!asked() && why[0]);
    longest[sizeof job.dir - 511] = 0;
    setenv("NCCLTUNE_CAPTURE", longest + 1, 1);
    assert_true(asked() && !why[0]);
}

TEST_CASE(minutes_between_files)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } cases[] = {{"10", 10 * MINUTE},
                 {"0.5", MINUTE / 2},
                 {"0", 0},
                 {"1.25", MINUTE * 5 / 4},
                 {".5", MINUTE / 2},
                 {"x", 10 * MINUTE},
                 {"1e9", 10 * MINUTE},
                 {"-1", 10 * MINUTE},
                 {"1.2.3", 10 * MINUTE},
                 {"", 10 * MINUTE},
                 {"99999999999999999999", 10 * MINUTE},
                 {"9999999", 9999999 * MINUTE},
                 {"10000000", 10000000 * MINUTE},
                 {"10000001.5", 10 * MINUTE},
                 {"09", 9 * MINUTE},
                 {"/", 10 * MINUTE},
                 {":", 10 * MINUTE}};
    assert_true(asked());
    assert_int_equal(job.interval_ns, 10 * MINUTE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("NCCLTUNE_CAPTURE_MINUTES", cases[i].text, 1);
        assert_true(asked());
        assert_int_equal(job.interval_ns, cases[i].ns);
    }
}

TEST_CASE(ranks_of_launchers)
{
    setenv("SLURM_PROCID", "1", 1);
    setenv("SLURM_NTASKS", "4", 1);
    setenv("SLURM_NTASKS_PER_NODE", "2(x3)", 1);
    assert_true(asked());
    assert_string_equal(job.rank, "1");
    assert_true(job.ranks == 4 && job.per_node == 0);
    setenv("RANK", "17", 1); /* what Slurm started has started others */
    setenv("WORLD_SIZE", "32", 1);
    setenv("LOCAL_WORLD_SIZE", "8", 1);
    assert_true(asked());
    assert_string_equal(job.rank, "17");
    assert_true(job.ranks == 32 && job.per_node == 8);
    profiler_job_doubt(&job, 32);
    assert_string_equal(job.rank, "17");
    profiler_job_doubt(&job, 33);
    assert_non_null(strchr(job.rank, '-'));
    assert_true(job.ranks == 0 && job.per_node == 0);
}

TEST_CASE(numbers_that_are_none)
{
    static const char *const ranks[] = {"32", "-1", "0x1", "1 ", "99999999999", "1.0"};
    char expected[32];
    snprintf(expected, sizeof expected, "-%d", getpid());
    setenv("WORLD_SIZE", "32", 1);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        setenv("RANK", ranks[i], 1);
        assert_true(asked());
        assert_non_null(strstr(job.rank, expected));
        assert_int_equal(job.ranks, 0);
    }
    setenv("RANK", "3", 1);
    setenv("WORLD_SIZE", "4294967304", 1); /* 8, and 2^32 */
    assert_true(asked());
    assert_int_equal(job.ranks, 0);
    setenv("WORLD_SIZE", "8", 1);
    setenv("LOCAL_WORLD_SIZE", "9", 1);
    assert_true(asked());
    assert_true(job.ranks == 8 && job.per_node == 0);
}

TEST_CASE(names_that_fit_a_file)
{
    assert_true(asked());
    assert_string_equal(job.name, "job");
    setenv("TORCHELASTIC_RUN_ID", "../..\n/etc \"x\"", 1);
    assert_true(asked());
    assert_string_equal(job.name, "_._..__etc__x_");
    setenv("PBS_JOBID", "123.head", 1);
    assert_true(asked());
    assert_string_equal(job.name, "123.head");
    setenv("SLURM_JOB_ID", "0123456789012345678901234567890123456789012345678901234567890123456789abcdefgh", 1);
    assert_true(asked());
    assert_int_equal(strlen(job.name), sizeof job.name - 1);
}

/* Observing needs a place for its record; what is not done is said. */
TEST_CASE(observed_where_asked)
{
    static const struct {
        const char *observe, *dir, *why;
        int captures, observes;
    } cases[] = {
        {"", "/d", "", 1, 0},
        {"0", "/d", "", 1, 0},
        {"0", "", "", 0, 0},
        {"1", "/d", "", 1, 1},
        {"1", "", "NCCLTUNE_OBSERVE=1 needs NCCLTUNE_CAPTURE=DIR to leave its record in; nothing is observed", 0, 0},
        {"yes", "/d", "NCCLTUNE_OBSERVE=yes: expected 1 or 0; nothing is observed", 1, 0},
        {"10", "", "NCCLTUNE_OBSERVE=10: expected 1 or 0; nothing is observed", 0, 0},
        {"1", "./d", "NCCLTUNE_CAPTURE=./d is not an absolute path that files fit in; nothing is captured", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("NCCLTUNE_OBSERVE", cases[i].observe, 1);
        setenv("NCCLTUNE_CAPTURE", cases[i].dir, 1);
        job.observed = 0;
        assert_int_equal(asked(), cases[i].captures);
        assert_string_equal(why, cases[i].why);
        assert_int_equal(job.observed, cases[i].observes);
        unsetenv("NCCLTUNE_OBSERVE");
    }
}

TEST_CASE(times_where_asked_and_right)
{
    static const char *const unclear[] = {"no", "00", "10"};
    assert_true(asked() && !job.times);
    for (size_t i = 0; i < sizeof unclear / sizeof *unclear; i++) {
        setenv("NCCLTUNE_CAPTURE_TIMES", unclear[i], 1);
        assert_true(asked() && !job.times && strstr(why, "expected 1 or 0"));
    }
    setenv("NCCLTUNE_CAPTURE_TIMES", "0", 1);
    assert_true(asked() && !job.times && !why[0]);
    setenv("NCCLTUNE_CAPTURE_TIMES", "1", 1);
    assert_true(asked() && job.times && !profiler_job_refuse_times(&job, 5, why, sizeof why) && job.times);
    assert_true(profiler_job_refuse_times(&job, 6, why, sizeof why) && !job.times && job.refused_times);
    setenv("NCCL_ALLGATHERV_ENABLE", "0", 1);
    assert_true(asked() && job.times && !profiler_job_refuse_times(&job, 6, why, sizeof why) && job.times);
    unsetenv("NCCL_ALLGATHERV_ENABLE");
}

TEST_CASES_EACH(test_job, set_up, NULL)
