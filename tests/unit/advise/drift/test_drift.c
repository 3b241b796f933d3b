/* What captures of many jobs say: a node that is late in all of them, a rail that is late on all nodes, a call that has
 * become slower. */
#include "advise/drift/drift.h"
#include "core/json.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

#define RANKS 8 /* on nodes of four */

static struct scratch s;
static struct drift_fleet *fleet;
static char *printed;

static int make(void **state)
{
    s = scratch_new();
    fleet = NULL;
    printed = NULL;
    return 0;
}

static int clean(void **state)
{
    drift_free(fleet);
    free(printed);
    scratch_free(&s);
    return 0;
}

/* A job whose AllReduces take `us`, half of that for ranks that come last (bits). A rank of it is in node first/4, ...
 */
static void put_job(int job, int first_node, unsigned late, double us)
{
    for (int rank = 0; rank < RANKS; rank++) {
        double own = late >> rank & 1 ? us / 2 : us;
        char name[32];
        const char *text = arena_printf(
            s.arena,
            "{\n  \"format\": \"nccltune-workload/1\",\n  \"name\": \"%d\",\n  \"rank\": \"%d\",\n  \"host\": "
            "\"n%d\",\n"
            "  \"began\": %d,\n  \"ended\": true,\n  \"ranks\": %d,\n  \"ranks_per_node\": 4,\n  \"phases\": [\n"
            "{\"collective\": \"allreduce\", \"bytes\": 4096, \"count\": 100, \"group_size\": %d, \"placement\": "
            "\"cluster\", \"stride\": 1, \"algorithm\": \"ring\", \"protocol\": \"ll\", \"time_us\": %.1f, \"timed\": "
            "50, "
            "\"total_us\": %.1f, \"group\": \"00000000000000ff\"},\n",
            job, rank, first_node + rank / 4, 1790000000 + job, RANKS, RANKS, own, 50 * own);
        snprintf(name, sizeof name, "%d.rank.%d.json", job, rank);
        scratch_write(&s, name, text, strlen(text));
    }
}

static const struct drift_fleet *judge(void)
{
    struct err e = {0};
    const char *dirs[] = {s.dir};
    size_t bytes;
    fleet = drift_read(dirs, 1, s.arena, &e);
    assert_non_null(fleet);
    FILE *f = open_memstream(&printed, &bytes);
    drift_print(fleet, f);
    fclose(f);
    return fleet;
}

static const struct drift_cause *cause(const char *host, int place)
{
    for (size_t i = 0; i < fleet->ncauses; i++)
        if (host ? fleet->causes[i].host && !strcmp(fleet->causes[i].host, host) : fleet->causes[i].place == place)
            return &fleet->causes[i];
    return NULL;
}

/* Three jobs on other nodes each time, and it is always the GPU with number 2: its rail. */
TEST_CASE(a_rail_is_late_on_all_nodes)
{
    put_job(1, 0, 1U << 2, 100);
    put_job(2, 2, 1U << 6, 100);
    put_job(3, 4, 1U << 2 | 1U << 6, 100);
    judge();
    const struct drift_cause *rail = cause(NULL, 2);
    assert_non_null(rail);
    assert_int_equal(rail->late, 4);
    assert_int_equal(rail->nhosts, 4);
    assert_int_equal(rail->jobs, 3);
    assert_non_null(
        strstr(printed, "rank 2 of a node (its rail, where each GPU has a port) comes last 4 times on 4 nodes"));
    assert_null(cause(NULL, 1));
}

/* One GPU of one node, three times: that is one node, however many jobs have met it. */
TEST_CASE(a_node_is_no_rail)
{
    for (int job = 1; job <= 3; job++)
        put_job(job, 0, 1U << 5, 100);
    judge();
    const struct drift_cause *node = cause("n1", -1), *rail = cause(NULL, 1);
    assert_true(node && rail);
    assert_int_equal(node->late, 3);
    assert_int_equal(node->jobs, 3);
    assert_int_equal(rail->late, 3);
    assert_int_equal(rail->nhosts, 1);
    cJSON *doc = drift_json(fleet);
    const cJSON *c = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "waited_for"), 1);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(c, "nodes")), 1);
    cJSON_Delete(doc);
}

/* Two GPUs of a node: each place has it. */
TEST_CASE(places_of_one_node)
{
    put_job(1, 0, 1U << 1 | 1U << 2, 100);
    judge();
    assert_true(cause(NULL, 1) && cause(NULL, 1)->nhosts == 1);
    assert_true(cause(NULL, 2) && cause(NULL, 2)->nhosts == 1);
    assert_int_equal(cause("n0", -1)->late, 1);
}

/* All of a node: nothing is said of its rails. */
TEST_CASE(a_whole_node)
{
    put_job(1, 0, 0xf0, 100);
    judge();
    assert_non_null(cause("n1", -1));
    assert_int_equal(fleet->ncauses, 1);
}

TEST_CASE(a_call_has_become_slower)
{
    put_job(1, 0, 0, 100);
    put_job(2, 0, 0, 101);
    put_job(3, 0, 0, 210);
    judge();
    assert_int_equal(fleet->ncalls, 1);
    assert_non_null(strstr(printed, "job 3: allreduce of 4 KiB among 8 ranks takes 2.1 times as long as in job "));
    assert_null(strstr(printed, "Ranks that others wait for"));
}

static int prepare_group(void **state)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return 0;
}

TEST_GROUP(test_drift, make, clean, prepare_group, NULL)
