/* Which profile a job gets. */
#include "tests/lib/unit.h"
#include "tests/unit/slurm/one_store.h"

#define A STORE_HASH
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct hook_job job_of(const char *list, const char *partition, long long start)
{
    return (struct hook_job){
        .lists = {list}, .nlists = 1, .partition = partition, .node = "n1", .start = start, .start_known = 1};
}

static void expect(const char *schedule, struct hook_job job, const char *hash)
{
    struct err why = {0};
    struct hook_choice found;
    int rc = hook_choose(schedule, "schedule", &job, &found, &why);
    if (hash && (rc || strcmp(found.hash, hash) != 0))
        fail_msg("'%s': found '%s' (%s)", schedule, found.hash, why.text);
    if (!hash && (rc != -1 || !why.text[0]))
        fail_msg("'%s' was taken", schedule);
}

TEST_CASE(chooses)
{
    expect("", job_of("n1", "main", 500), "");
    expect("# a comment\n\n100 " A " all\n", job_of("n1", "main", 500), A);
    expect("100 " A " all\n500 " B " all\n", job_of("n1", "main", 499), A);
    expect("100 " A " all\n500 " B " all\n", job_of("n1", "main", 500), B);
    expect("100 " A " all\n200 none all\n", job_of("n1", "main", 500), "");
    expect("100 " A " all\n200 " B " partition=canary\n", job_of("n1", "main", 500), A);
    expect("100 " A " all\n200 " B " partition=canary\n", job_of("n1", "canary", 500), B);
    expect("100 " A " all\n200 " B " partition=canary\n", job_of("n1", NULL, 500), A);
    expect("100 " A " all\n200 " B " nodes=n[1-4]\n", job_of("n[2-4]", "main", 500), B);
    expect("100 " A " all\n200 " B " nodes=n[1-4]\n", job_of("n[2-5]", "main", 500), A);
    expect("200 " B " nodes=n1,n2\n300 " A " all\n", job_of("n1", "main", 500), A);
}

TEST_CASE(refuses)
{
    static const char *const bad[] = {
        "100 " A " all",
        "100 " A "\n",
        "100 " A " all more\n",
        "x " A " all\n",
        "-1 " A " all\n",
        "100 abc all\n",
        "100 " A " everything\n",
        "100  " A " all\n",
        "100 " A " nodes=n[1\n",
        "100 " A " nodes=\n",
        "99999999999999999999 " A " all\n",
        "100 ../../../etc all\n",
        "100 " A " trial=t,0,40,all\n",
        "100 " A " trial=t,100,40,all\n",
        "100 " A " trial=t,50,0,all\n",
        "100 " A " trial=t,50,all\n",
        "100 " A " trial=t,50,40,everything\n",
        "100 " A " trial=,50,40,all\n",
        "100 " A " trial=../t,50,40,all\n",
        "100 " A " trial=t,50\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect(bad[i], job_of("n1", "main", 500), NULL);
}

TEST_CASE(nothing_installed)
{
    struct err why = {0};
    struct hook_file schedule;
    int dir;
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    unlink(store_path(&store, "schedule"));
    assert_int_equal(hook_schedule_read(&store.conf, &dir, &schedule, &why), 0);
    assert_null(schedule.text);
    close(dir);
    store.conf.policy = HOOK_FAIL; /* the site has said that there is a store */
    assert_int_equal(hook_schedule_read(&store.conf, &dir, &schedule, &why), -1);
    close(dir);
}

TEST_CASE(nothing_scheduled)
{
    struct err why = {0};
    struct hook_job job = job_of("n1", "main", 500);
    struct hook_choice found;
    assert_int_equal(hook_choose(NULL, "schedule", &job, &found, &why), 0);
    assert_string_equal(found.hash, "");
}

/* How many of a thousand jobs get B, as every node of theirs decides. */
static int count_b(const char *schedule, const char *partition, long long start)
{
    int count = 0;
    struct err why = {0};
    for (int i = 0; i < 1000; i++) {
        struct hook_job job = job_of("n1", partition, start);
        struct hook_choice choice;
        snprintf(job.id, sizeof job.id, "%d", 7000 + i);
        assert_int_equal(hook_choose(schedule, "schedule", &job, &choice, &why), 0);
        assert_true(!strcmp(choice.hash, choice.is_tried ? B : A) || !strcmp(choice.hash, choice.trial[0] ? A : ""));
        count += !strcmp(choice.hash, B);
    }
    return count;
}

/* A share of jobs by their numbers: the same whenever it is asked, another one under another name, larger where more
 * is asked for, and nobody before it begins or after it ends. */
TEST_CASE(trials)
{
    int half = count_b("100 " A " all\n200 " B " trial=t,50,40,all\n", "main", 500);
    assert_in_range(half, 440, 560);
    assert_in_range(count_b("100 " A " all\n200 " B " trial=t,10,40,all\n", "main", 500), 60, 140);
    assert_int_equal(count_b("100 " A " all\n200 " B " trial=t,50,40,all\n", "main", 199), 0);
    assert_int_equal(count_b("100 " A " all\n200 " B " trial=t,50,40,all\n300 none trial=t\n", "main", 299), half);
    assert_int_equal(count_b("100 " A " all\n200 " B " trial=t,50,40,all\n300 none trial=t\n", "main", 500), 0);
    assert_int_equal(count_b("100 " A " all\n200 " B " trial=t,50,40,all\n300 none trial=u\n", "main", 500), half);
    assert_int_equal(count_b("100 " A " all\n200 " B " trial=t,50,40,all\n300 " A " all\n", "main", 500), 0);
    assert_int_equal(count_b("100 " A " all\n200 " B " trial=t,50,40,partition=p\n", "main", 500), 0);
    assert_int_equal(count_b("100 " A " all\n200 " B " trial=t,50,40,partition=p\n", "p", 500), half);
    assert_int_equal(count_b("100 " A " all\n200 " B " trial=t,50,40,nodes=n0,n1\n", "p", 500), half);
    assert_true(count_b("100 " A " all\n200 " B " trial=v,50,40,all\n", "main", 500) != half);
}

/* Where Slurm does not tell when the job began, a change in the last hour, or ahead by a wrong clock, must be asked
 * for. */
TEST_CASE(near_a_change)
{
    static const struct {
        const char *schedule;
        int known, near;
    } cases[] = {{"9000 none all\n", 0, 1},
                 {"9000 none all\n", 1, 0},
                 {"11000 none all\n", 0, 1},
                 {"1000 none all\n20000 none all\n", 0, 0}};
    struct hook_choice found;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err why = {0};
        struct hook_job job = job_of("n1", "main", 10000);
        job.start_known = cases[i].known;
        assert_int_equal(hook_choose(cases[i].schedule, "schedule", &job, &found, &why), 0);
        assert_int_equal(found.near, cases[i].near);
    }
}

TEST_CASES_EACH(test_hook_store, store_set_up, store_tear_down)
