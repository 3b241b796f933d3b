/* advise/drift/print.c: the captures of twenty-three jobs in two directories, and what is said of them, word by word.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "advise/drift/drift.h"
#include "core/coll.h"
#include "core/json.h"
#include "tests/lib/unit.h"
#include "tests/lib/whole.h"

#define RANKS 4

static char tree[4096], dir[] = "/tmp/nccltune-drift-print-XXXXXX";

static void put_call(FILE *f, int bytes, int count, double us)
{
    fprintf(
        f,
        "{\"collective\": \"allreduce\", \"bytes\": %d, \"count\": %d, \"group_size\": 4, \"placement\": \"cluster\", "
        "\"stride\": 1, \"time_us\": %.1f, \"timed\": 50, \"total_us\": %.1f, \"algorithm\": \"%s\", \"protocol\": "
        "\"simple\", \"group\": \"%d\"},\n",
        bytes, count, us, 50 * us, us > 2000 ? "ring" : "tree", bytes);
}

/* A rank of two a node: its AllReduce of 1 MiB, and one of 8 MiB. */
static void put_rank(const char *to, int job, int rank, double us, double other_us)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%d.rank.%d.json", to, job, rank);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(
        f,
        "{\n  \"format\": \"nccltune-workload/1\",\n  \"name\": \"%d\",\n  \"rank\": \"%d\",\n  \"host\": \"n%d\",\n"
        "  \"began\": %d,\n  \"ended\": true,\n  \"ranks\": 4,\n  \"ranks_per_node\": 2,\n  \"phases\": [\n",
        job, rank, rank / 2, job ? 1790000000 + 86400 * job : 0);
    put_call(f, 1 << 20, 1000, us);
    if (other_us > 0)
        put_call(f, 8 << 20, 10, other_us);
    fclose(f);
}

/* late: bits of the ranks that the others wait for. */
static void put_job(const char *to, int job, double us, double other_us, unsigned late)
{
    for (int rank = 0; rank < RANKS; rank++)
        put_rank(to, job, rank, late >> rank & 1 ? us / 2 : us, other_us);
}

static int set_up(void **state)
{
    assert_non_null(getcwd(tree, sizeof tree));
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    assert_non_null(mkdtemp(dir));
    return chdir(dir) || mkdir("a", 0755) || mkdir("b", 0755) || mkdir("none", 0755);
}

static int tear_down(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", dir);
    return chdir(tree) || system(command);
}

static void says_it_all(void **state)
{
    static const char *const dirs[] = {"a", "b"};
    struct arena *a = arena_new();
    struct err e = {0};
    char *text = NULL;
    size_t bytes;
    for (int job = 1; job <= 22; job++) /* none as fast as another: medians are of one job alone */
        put_job("a", job, job == 22 ? 2500 : 1000 + job,
                job == 22   ? 0
                : job == 21 ? 900
                            : 300 + job,
                job == 10 || job == 11 ? 8
                : job == 12            ? 2
                : job == 13            ? 1
                                       : 0);
    put_job("b", 0, 1000, 310, 0);
    put_rank("none", 22, 0, 1, 1);
    assert_int_equal(rename("none/22.rank.0.json", "a/.22.rank.0.json"), 0);
    put_rank("none", 23, 0, 1, 1);
    assert_int_equal(rename("none/23.rank.0.json", "a/23.rank.0.json.tmp"), 0);
    put_rank("none", 24, 0, 1, 1);
    assert_int_equal(rename("none/24.rank.0.json", "a/24.json"), 0);
    struct drift_fleet *f = drift_read(dirs, 2, a, &e);
    assert_non_null(f);
    f->jobs[22]->seen.cut = 1;
    FILE *out = open_memstream(&text, &bytes);
    drift_print(f, out);
    cJSON *doc = drift_json(f);
    char *json = cJSON_Print(doc);
    fprintf(out, "%s\n", json);
    fclose(out);
    cJSON_free(json);
    cJSON_Delete(doc);
    drift_free(f);
    arena_free(a);
    assert_int_equal(chdir(tree), 0);
    assert_whole(text, "tests/fixtures/envgen/drift.txt");
    free(text);
}

static void says_that_nothing_is(void **state)
{
    static const char *const dirs[] = {"b", "none", "nowhere"};
    struct arena *a = arena_new();
    struct err e = {0};
    char *text = NULL;
    size_t bytes;
    assert_null(drift_read(dirs + 1, 1, a, &e));
    assert_non_null(strstr(e.text, "none has no capture"));
    e = (struct err){0};
    put_job("b", 1, 1000, 0, 0);
    assert_null(drift_read(dirs, 3, a, &e));
    assert_non_null(strstr(e.text, "nowhere: No such file"));
    struct drift_fleet *f = drift_read(dirs, 2, a, &e);
    assert_non_null(f);
    FILE *out = open_memstream(&text, &bytes);
    drift_print(f, out);
    fclose(out);
    assert_string_equal(text, "job               began (UTC)        ranks read  calls   late  slower\n"
                              "1                 2026-09-22 14:13       4 of 4      1      0       0\n"
                              "\n"
                              "No rank is late, and no call has become slower.\n");
    free(text);
    drift_free(f);
    drift_free(NULL);
    arena_free(a);
}

int test_print(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(says_it_all, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(says_that_nothing_is, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
