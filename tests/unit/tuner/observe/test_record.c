/* tuner/observe/record.c: what is taken of a rank's file, and what is not. */
#include <unistd.h>

#include "core/coll.h"
#include "tests/lib/unit.h"
#include "tuner/observe/record.h"

#define HEAD(job, rank)                                                                                               \
    "{\n  \"format\": \"nccltune-workload/1\",\n  \"name\": \"" job                                                   \
    "\",\n  \"source\": \"captured\",\n  \"rank\": \"" rank                                                           \
    "\",\n  \"host\": \"n1\",\n  \"began\": 1790000000,\n  \"ended\": true,\n  \"ranks\": 8,\n  \"ranks_per_node\": " \
    "4,\n"                                                                                                            \
    "  \"phases\": [\n"
#define CALL                                                                                                          \
    "{\"collective\": \"allreduce\", \"bytes\": 1024, \"count\": 50, \"group_size\": 8, \"placement\": \"cluster\", " \
    "\"stride\": 2, \"dtype\": \"bfloat16\", \"time_us\": 10.5, \"timed\": 40, \"total_us\": 400.0, "                 \
    "\"algorithm\": \"nvlstree\", \"protocol\": \"simple\", \"channels\": 16, \"group\": \"00000000000000ff\"}"

static struct observe_job job;

static int tear_down(void **state)
{
    observe_free(&job);
    return 0;
}

static int add(const char *text)
{
    return observe_add(&job, text, strlen(text));
}

TEST_CASE(takes_a_call)
{
    assert_int_equal(add(HEAD("7", "3") CALL ",\n" CALL "\n"), 0);
    assert_int_equal(add(HEAD("7", "3") CALL "\n"), 0); /* the same rank once more */
    assert_int_equal(job.nranks, 1);
    assert_int_equal(job.ncalls, 2);
    const struct observe_call *c = &job.calls[0];
    assert_true(c->kind == COLL_ALLREDUCE && c->bytes == 1024 && c->count == 50 && c->timed == 40 && c->group == 255);
    assert_true(c->group_size == 8 && c->stride == 2 && c->crosses_nodes && !strcmp(c->dtype, "bfloat16"));
    assert_true(c->algo == ALGO_NVLS_TREE && c->proto == PROTO_SIMPLE && c->channels == 16);
    assert_true(c->median_us == 10.0 && c->total_us == 400.0); /* the mean, which is of the median's class */
    assert_true(job.size == 8 && job.per_node == 4 && job.began == 1790000000 && !strcmp(job.ranks[0].host, "n1"));
}

TEST_CASE(refuses_what_is_no_such_file)
{
    static const char *const texts[] = {"", "{", "\n\n\n", "{\n  \"name\": \"7\",\n" CALL "\n",
                                        "{\n  \"format\": \"nccltune-topology/1\",\n  \"name\": \"7\"\n" CALL "\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(add(texts[i]), -1);
    assert_int_equal(add(HEAD("7", "3")), 0);
    assert_int_equal(add(HEAD("8", "4")), -1);
    assert_int_equal(job.nranks, 1);
}

/* Numbers that are none, too large or of the wrong kind; lines cut anywhere. */
TEST_CASE(leaves_out_broken_lines)
{
    static const char *const lines[] = {
        "{\"collective\": \"allreduce\", \"bytes\": -1, \"count\": 5, \"group_size\": 8}",
        "{\"collective\": \"allreduce\", \"bytes\": 99999999999999999999999, \"count\": 5, \"group_size\": 8}",
        "{\"collective\": \"allreduce\", \"bytes\": 10, \"count\": 5, \"group_size\": 1}",
        "{\"collective\": \"allreduce\", \"bytes\": 10, \"count\": 5, \"group_size\": 99999999}",
        "{\"collective\": \"frobnicate\", \"bytes\": 10, \"count\": 5, \"group_size\": 8}",
        "{\"collective\": \"all\\u0072educe\", \"bytes\": 10, \"count\": 5, \"group_size\": 8}",
        "{\"collective\": 5, \"bytes\": \"10\", \"count\": 5, \"group_size\": 8}"};
    char text[4096];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(text, sizeof text, "%s%s\n", HEAD("7", "-"), lines[i]);
        assert_int_equal(add(text), 0);
        assert_int_equal(job.ncalls, 0);
    }
    snprintf(text, sizeof text, "%s%s", HEAD("7", "-"), CALL);
    for (size_t n = strlen(text); n-- > 0;) {
        char *exact = malloc(n ? n : 1); /* so that a sanitizer sees what is read behind it */
        assert_non_null(exact);
        for (size_t i = 0; i < n; i++)
            exact[i] = text[i];
        observe_add(&job, exact, n);
        free(exact);
    }
}

static void add_rank(const char *rank, const char *calls)
{
    char text[4096];
    snprintf(text, sizeof text,
             "{\n  \"format\": \"nccltune-workload/1\",\n  \"name\": \"7\",\n  \"rank\": \"%s\",\n  \"phases\": [\n%s",
             rank, calls);
    assert_int_equal(add(text), 0);
}

/* Room for as many as there are, up to a limit; ranks by their numbers, but for those that have none. */
TEST_CASE(has_room)
{
    static const char *const unknown[] = {"-1", "-", "", "1234567890", "1x"};
    char number[16];
    for (int i = 0; i < 70; i++) {
        snprintf(number, sizeof number, "%d", i);
        add_rank(number, CALL "\n");
        add_rank(number, CALL "\n" CALL);
        assert_true(job.nranks == (size_t)i + 1 && job.ncalls == (size_t)i + 1);
        assert_true(job.ranks[i].rank == i && job.calls[i].rank == (unsigned)i);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        add_rank(unknown[i], "");
        assert_int_equal(job.nranks, 71 + i);
        assert_int_equal(job.ranks[70 + i].rank, -1);
    }
    assert_int_equal(job.cut, 0);
    size_t calls = job.ncalls, ranks = job.nranks;
    job.ncalls = OBSERVE_CALLS;
    add_rank("99999999", CALL "\n");
    assert_true(job.ncalls == OBSERVE_CALLS && job.cut && job.nranks == ranks + 1);
    job.ncalls = calls;
    job.nranks = OBSERVE_RANKS;
    job.cut = 0;
    add_rank("-", CALL "\n");
    assert_true(job.nranks == OBSERVE_RANKS && job.ncalls == calls && job.cut);
    job.nranks = ranks;
}

/* Values at the very end of a line or of the file; times that are not there. */
TEST_CASE(takes_what_is_at_the_edge)
{
    struct observe_head h;
    static const char text[] = "\"format\": \"nccltune-workload/1\"\n\"name\": \"x\"\n\"ended\": true,\n\"began\": 7";
    assert_int_equal(observe_head(text, strlen(text), &h), 0);
    assert_true(h.began == 7 && h.ended && h.rank == -1 && !strcmp(h.name, "x"));
    assert_int_equal(observe_head(text, strlen(text) - 1, &h), 0);
    assert_int_equal(h.began, 0);
    static const char twice[] =
        "\"format\": \"nccltune-workload/1\"\n\"name\": \"x\"\n\"name\": \"y\"\n\"rank\": \"3\"\n"
        "\"rank\": \"4\"\n\"host\": \"h\"\n\"host\": \"i\"\n\"format\": \"other\"\n";
    assert_int_equal(observe_head(twice, strlen(twice), &h), 0); /* the first word stands */
    assert_true(h.rank == 3 && !strcmp(h.name, "x") && !strcmp(h.host, "h"));
    add_rank("1", "{\"collective\": \"allreduce\", \"bytes\": 1, \"count\": 1, \"group_size\": 2}\n");
    const struct observe_call *c = &job.calls[0];
    assert_true(job.ncalls == 1 && c->median_us == -1 && c->total_us == -1 && c->algo == -1 && c->proto == -1);
    assert_true(!c->crosses_nodes && !c->channels && !c->stride && !c->timed && !c->group && !c->dtype[0]);
    add_rank("2",
             "{\"collective\": \"allreduce\", \"bytes\": 1844674407370955160, \"count\": 18446744073709551610, "
             "\"group_size\": 16777216, \"channels\": 1025, \"time_us\": 10.25, \"timed\": 10, \"total_us\": 90.5, "
             "\"group\": \"123456789abcdef0\", \"placement\": \"node\"}\n"
             "{\"collective\": \"allreduce\", \"bytes\": 1, \"count\": 18446744073709551609, \"group_size\": 2, "
             "\"channels\": 1024, \"time_us\": 999999999999999.5, \"group\": \"123456789abcdef01\"}\n"
             "{\"collective\": \"allreduce\", \"bytes\": 1, \"count\": 9, \"group_size\": 2, \"time_us\": "
             "1000000000000000, \"group\": \"g\"}\n");
    assert_int_equal(job.ncalls, 3); /* the first has a count that could be too large */
    c = &job.calls[1];
    assert_true(c->count == UINT64_C(18446744073709551609) && c->channels == 1024 && c->group == 0);
    assert_true(c->median_us > 999999999999999.0);
    assert_true(job.calls[2].median_us == -1 && job.calls[2].group == 0);
}

/* A mean within its median's class is the better word, others are not. */
TEST_CASE(prefers_the_mean_of_its_class)
{
    static const struct {
        const char *total;
        double us;
    } cases[] = {{"931.0", 93.1}, {"929.0", 100}, {"1069.0", 106.9}, {"1071.0", 100}, {"0", 100}};
    char text[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text,
                 "{\"collective\": \"allreduce\", \"bytes\": 1, \"count\": 9, \"group_size\": 2, \"time_us\": 100.0, "
                 "\"timed\": 10, \"total_us\": %s, \"placement\": \"cluster\"}\n",
                 cases[i].total);
        add_rank("-", text);
        assert_true(job.calls[i].median_us > cases[i].us - 0.01 && job.calls[i].median_us < cases[i].us + 0.01);
        assert_int_equal(job.calls[i].crosses_nodes, 1);
    }
}

TEST_CASE(reads_no_more_than_it_may)
{
    size_t bytes;
    char path[] = "/tmp/nccltune-record-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "text", 4), 4);
    char *text = observe_read(path, &bytes);
    assert_true(text && bytes == 4 && !strcmp(text, "text"));
    free(text);
    assert_int_equal(ftruncate(fd, OBSERVE_BYTES + 1), 0);
    assert_null(observe_read(path, &bytes));
    close(fd);
    unlink(path);
    assert_null(observe_read(path, &bytes));
    assert_null(observe_read("/tmp", &bytes));
}

TEST_CASES_EACH(test_record, NULL, tear_down)
