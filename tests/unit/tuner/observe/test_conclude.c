/* tuner/observe/conclude.c: the end of a job, word by word: what is read of its ranks and of earlier jobs, what is said
 * and kept. */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tuner/observe/conclude.h"

#define BEGAN 1790000000
#define MS    1000000

static char dir[] = "/tmp/nccltune-conclude-XXXXXX";
static char said[4096];

/* Text to DIR/NAME. */
__attribute__((format(printf, 2, 3))) static void put(const char *name, const char *fmt, ...)
{
    char path[256];
    va_list args;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    va_start(args, fmt);
    vfprintf(f, fmt, args);
    va_end(args);
    fclose(f);
}

#define HEAD                                                                                                      \
    "{\n  \"format\": \"nccltune-workload/1\",\n  \"name\": \"%s\",\n  \"rank\": \"%d\",\n  \"host\": \"n%d\",\n" \
    "  \"began\": %d,\n  \"ended\": %s,\n  \"ranks\": 4,\n  \"ranks_per_node\": %d,\n  \"phases\": [\n"
#define CALL                                                                                                  \
    "{\"collective\": \"%s\", \"bytes\": %d, \"count\": 100, \"group_size\": 4, \"placement\": \"cluster\", " \
    "\"stride\": 1, \"time_us\": %.1f, \"timed\": 50, \"total_us\": %.1f, \"group\": \"00000000000000ff\"},\n"

/* A rank of the job 30: n0 has the ranks 0 and 1. */
static void put_rank(int rank, int began, const char *ended, double us)
{
    char name[32];
    snprintf(name, sizeof name, "30.rank.%d.json", rank);
    put(name, HEAD CALL CALL, "30", rank, rank / 2, began, ended, 2, "allreduce", 1 << 20, us, 50 * us, "broadcast",
        4096, 20.0, 1000.0);
}

/* An earlier job that had another call besides. */
static void put_earlier(const char *file, const char *job, double us, int other_bytes)
{
    put(file, HEAD CALL CALL, job, 0, 0, 1, "true", 2, "allreduce", 1 << 20, us, 50 * us, "allgather", other_bytes, 5.0,
        250.0);
}

static void conclude(int ranks, int patience_ms)
{
    struct observe_end e = {dir, "30", ranks, 77, BEGAN, (uint64_t)patience_ms * MS};
    char path[256];
    int kept = dup(2);
    snprintf(path, sizeof path, "%s/said", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0 && dup2(fd, 2) == 2);
    observe_conclude(&e);
    assert_int_equal(dup2(kept, 2), 2);
    ssize_t n = pread(fd, said, sizeof said - 1, 0);
    assert_true(n >= 0);
    said[n] = 0;
    close(fd);
    close(kept);
}

static const char *record(void)
{
    static char text[8192];
    char path[256];
    snprintf(path, sizeof path, "%s/30.observed.json", dir);
    FILE *f = fopen(path, "r");
    if (!f)
        return "";
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

static int make(void **state)
{
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    return !mkdtemp(dir);
}

static int clean(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command);
}

/* ---- what is said and kept --------------------------------------------------------------------------------------- */

TEST_CASE(keeps_what_the_job_was)
{
    for (int rank = 0; rank < 4; rank++)
        put_rank(rank, BEGAN + rank, "true", rank == 1 ? 500 : 1000);
    put("30.rank.2.json",
        HEAD "{\"collective\": \"allreduce\", \"bytes\": 1048576, \"count\": 90, \"group_size\": 4, \"placement\": "
             "\"node\", \"stride\": 2, \"dtype\": \"bfloat16\", \"time_us\": 10.5, \"timed\": 8, \"total_us\": 84.0, "
             "\"algorithm\": \"ring\", \"protocol\": \"ll\", \"channels\": 3, \"group\": \"0\"}\n",
        "30", 2, 1, BEGAN - 120, "true", 2);
    conclude(4, 0);
    assert_string_equal(said, "nccltune: job 30: rank 1 on n0 comes last: the others waited 50.0 ms, 50 % of their "
                              "time in calls\n");
    assert_string_equal(
        record(),
        "{\n  \"format\": \"nccltune-workload/1\",\n  \"name\": \"30\",\n  \"source\": \"observed\",\n"
        "  \"began\": 1789999880,\n  \"ranks\": 4,\n  \"ranks_per_node\": 2,\n  \"counts_per\": \"run\",\n"
        "  \"ranks_read\": 4,\n  \"basis\": \"gpus\",\n  \"findings\": [\n    \"rank 1 on n0 comes last: the others "
        "waited 50.0 ms, 50 % of "
        "their time in calls\"],\n"
        "  \"phases\": [\n    {\n      \"name\": \"run\",\n      \"collectives\": [\n"
        "        {\"collective\": \"broadcast\", \"bytes\": 4096, \"count\": 100, \"group_size\": 4, \"placement\": "
        "\"cluster\", \"stride\": 1, \"time_us\": 20.000, \"timed\": 50},\n"
        "        {\"collective\": \"allreduce\", \"bytes\": 1048576, \"count\": 90, \"group_size\": 4, \"placement\": "
        "\"node\", \"stride\": 2, \"dtype\": \"bfloat16\", \"time_us\": 10.500, \"timed\": 8, \"algorithm\": \"ring\", "
        "\"protocol\": \"ll\", \"channels\": 3},\n"
        "        {\"collective\": \"allreduce\", \"bytes\": 1048576, \"count\": 100, \"group_size\": 4, \"placement\": "
        "\"cluster\", \"stride\": 1, \"time_us\": 500.000, \"timed\": 50}]\n    }\n  ]\n}\n");
}

/* Three lines at most, of which a drift has one. */
TEST_CASE(says_three_lines)
{
    for (int rank = 0; rank < 4; rank++) {
        char name[32], calls[1024];
        size_t used = 0;
        for (int group = 0; group < 4; group++) { /* in each another rank is late, by less and less */
            double us = group == rank ? 100.0 + 10 * group : 1000;
            used += (size_t)snprintf(calls + used, sizeof calls - used,
                                     "{\"collective\": \"allreduce\", \"bytes\": %d, \"count\": 100, \"group_size\": "
                                     "4, \"time_us\": %.1f, \"timed\": 50, \"total_us\": %.1f, \"group\": \"%d\"}\n",
                                     1024 << group, us, 50 * us, group + 1);
        }
        snprintf(name, sizeof name, "30.rank.%d.json", rank);
        put(name, HEAD "%s", "30", rank, rank, BEGAN, "true", 1, calls);
    }
    conclude(4, 0);
    const char *all = "nccltune: job 30: rank 0 on n0 comes last: the others waited 90.0 ms, 22 % of their time in "
                      "calls\n"
                      "nccltune: job 30: rank 1 on n1 comes last: the others waited 89.0 ms, 22 % of their time in "
                      "calls\n"
                      "nccltune: job 30: rank 2 on n2 comes last: the others waited 88.0 ms, 22 % of their time in "
                      "calls\n"
                      "nccltune: job 30: 1 more in ";
    assert_memory_equal(said, all, strlen(all));
    assert_non_null(strstr(record(), "rank 3 on n3 comes last"));
    put("29.observed.json",
        HEAD "{\"collective\": \"allreduce\", \"bytes\": 1024, \"count\": 100, \"group_size\": 4, \"time_us\": 10.0, "
             "\"timed\": 50, \"total_us\": 500.0}\n",
        "29", 0, 0, 1, "true", 1);
    conclude(4, 0);
    assert_memory_equal(said, all,
                        strlen("nccltune: job 30: rank 0 on n0 comes last: the others waited 90.0 ms, 22 "
                               "% of their time in calls\n"));
    assert_null(strstr(said, "rank 2"));
    assert_non_null(strstr(said, "allreduce of 1 KiB among 4 ranks takes 10.0 times as long as in job 29: 100 us "
                                 "instead of 10 us, by ?/? both times\n"));
    assert_non_null(strstr(said, "job 30: 2 more in "));
    assert_non_null(strstr(record(), "time in calls\",\n    \"allreduce of 1 KiB"));
}

TEST_CASE(says_three_drifts)
{
    put("29.observed.json", HEAD CALL CALL CALL CALL, "29", 0, 0, 1, "true", 1, "allreduce", 1, 10.0, 500.0,
        "allreduce", 2, 10.0, 500.0, "allreduce", 3, 10.0, 500.0, "allreduce", 4, 10.0, 500.0);
    put("30.rank.0.json", HEAD CALL CALL CALL CALL, "30", 0, 0, BEGAN, "true", 1, "allreduce", 1, 20.0, 1000.0,
        "allreduce", 2, 30.0, 1500.0, "allreduce", 3, 40.0, 2000.0, "allreduce", 4, 50.0, 2500.0);
    conclude(1, 0);
    assert_non_null(strstr(said, "of 4 B among 4 ranks takes 5.0 times"));
    assert_non_null(strstr(said, "of 2 B among 4 ranks takes 3.0 times"));
    assert_null(strstr(said, "of 1 B"));
    assert_non_null(strstr(said, "job 30: 1 more in "));
}

/* ---- what is read ------------------------------------------------------------------------------------------------ */

/* Of the others the latest sixteen, as their numbers go; neither its own last one nor what has another name. */
TEST_CASE(reads_the_latest_sixteen)
{
    char file[64], job[16];
    for (int rank = 0; rank < 4; rank++)
        put_rank(rank, BEGAN, "true", 1000);
    for (int i = 1; i <= 20; i++) {
        snprintf(file, sizeof file, "%d.observed.json", i);
        snprintf(job, sizeof job, "%d", i);
        put_earlier(file, job, i <= 4 ? 5000 : 500 + i, 1 << 20);
    }
    put_earlier("30.observed.json", "30", 5000, 1 << 20);
    put_earlier(".40.observed.json", "40", 5000, 1 << 20);
    put_earlier("41.observed.jsom", "41", 5000, 1 << 20);
    put_earlier("42.rank.0.json", "42", 5000, 1 << 20);
    put("43.observed.json", "nothing of ours");
    conclude(4, 0); /* the latest is nonsense: fifteen are left, 6 to 20 */
    assert_string_equal(said,
                        "nccltune: job 30: allreduce of 1 MiB among 4 ranks takes 1.9 times as long as in job 13: "
                        "1000 us instead of 513 us, by ?/? both times\n");
    put_earlier("44.observed.json", "44", 5000, 1 << 20);
    conclude(4, 0); /* it was as slow once */
    assert_string_equal(said, "");
}

/* Ranks of an earlier job of that name, and those that go on, but at the very end. */
TEST_CASE(reads_whose_files_are_of_this_job)
{
    put_rank(0, BEGAN, "true", 1000);
    put_rank(1, BEGAN - 121, "true", 100);
    put_rank(2, BEGAN - 120, "false", 1000);
    conclude(4, 1);
    assert_non_null(strstr(record(), "\"ranks_read\": 2,"));
    assert_non_null(strstr(record(), "\"began\": 1789999880,"));
    put_rank(1, BEGAN, "true", 1000);
    conclude(2, 1); /* no more than the job has */
    assert_non_null(strstr(record(), "\"ranks_read\": 2,"));
    assert_non_null(strstr(record(), "\"ranks\": 2,"));
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / MS;
}

/* All of its patience for a rank that does not come, and none of it once all are there. */
TEST_CASE(waits_as_long_as_it_may)
{
    uint64_t began = now_ms();
    put_rank(0, BEGAN, "true", 1000);
    put_rank(1, BEGAN, "false", 1000);
    conclude(2, 120);
    assert_true(now_ms() - began >= 120);
    assert_non_null(strstr(record(), "\"ranks_read\": 2,"));
    put_rank(1, BEGAN, "true", 1000);
    began = now_ms();
    conclude(2, 600000);
    assert_true(now_ms() - began < 300000);
}

TEST_CASE(keeps_nothing_of_nothing)
{
    conclude(2, 0);
    assert_string_equal(said, "");
    assert_string_equal(record(), "");
}

TEST_CASES_EACH(test_conclude, make, clean)
