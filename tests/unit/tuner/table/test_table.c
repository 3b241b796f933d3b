/* The reader of tuner tables: what is taken, what is refused, and where it says the fault is. */
#include <limits.h>

#include "core/coll.h"
#include "tests/lib/unit.h"
#include "tuner/table/table.h"

#define FAULTS 64

static struct {
    int count;
    long line[FAULTS], column[FAULTS];
    char text[FAULTS][256];
} faults;

static void note(void *arg, long line, long column, const char *text)
{
    assert_ptr_equal(arg, &faults);
    if (faults.count < FAULTS) {
        faults.line[faults.count] = line;
        faults.column[faults.count] = column;
        snprintf(faults.text[faults.count], sizeof *faults.text, "%s", text);
    }
    faults.count++;
}

static int parse_bytes(struct tuner_table *t, const char *text, size_t bytes)
{
    faults.count = 0;
    char *copy = malloc(bytes ? bytes : 1); /* of the exact size, so that the sanitizer sees a read too far */
    memcpy(copy, text, bytes);
    int rc = tuner_table_parse(t, copy, bytes, note, &faults);
    free(copy);
    return rc;
}

static int parse(struct tuner_table *t, const char *text)
{
    return parse_bytes(t, text, strlen(text));
}

static char *file_text(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "r");
    if (!f)
        fail_msg("cannot open %s", path);
    char *text = malloc(1 << 16);
    *bytes = fread(text, 1, 1 << 16, f);
    fclose(f);
    return text;
}

/* ---- what is taken --------------------------------------------------------------------------------------------- */

/* The tuner that the table was measured over; the last word stands, and what is none is said. */
static void knows_the_next_tuner(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        int is_auto;
        long column; /* of the complaint; 0: there is none */
    } cases[] = {{"", 0, 0},
                 {"# next-tuner: auto\n", 1, 0},
                 {"# next-tuner: none\n", 0, 0},
                 {"# next-tuner:auto  \n", 1, 0},
                 {"# next-tuner: auto\n# next-tuner: none\n", 0, 0},
                 {"# next-tuner: autos\n", 0, 15},
                 {"# next-tuner: nono\n", 0, 15},
                 {"# next-tuner: nonesuch\n", 0, 15},
                 {"# next-tuner: no\n", 0, 15},
                 {"# next-tuners: auto\n", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tuner_table t;
        char text[128];
        snprintf(text, sizeof text, "%sallreduce,0,-1,ring,ll,-1,-1,-1\n", cases[i].text);
        assert_int_equal(parse(&t, text), 0);
        assert_int_equal(t.next_auto, cases[i].is_auto);
        assert_int_equal(faults.count, cases[i].column > 0);
        if (faults.count) {
            assert_true(faults.line[0] == 1 && faults.column[0] == cases[i].column);
            assert_string_equal(faults.text[0], "expected auto or none");
        }
        tuner_table_free(&t);
    }
}

static void takes_every_column(void **unused)
{
    (void)unused;
    struct tuner_table t;
    assert_int_equal(parse(&t, "allgather, 1 ,18446744073709551615,nvls,simple,64,4-16,8,3,1,2147483647,1-2\n"), 0);
    assert_int_equal(t.count, 1);
    const struct tuner_rule *r = t.rules;
    assert_int_equal(r->coll, COLL_ALLGATHER);
    assert_int_equal(r->min_bytes, 1);
    assert_true(r->max_bytes == UINT64_MAX);
    assert_int_equal(r->algo, ALGO_NVLS);
    assert_int_equal(r->proto, PROTO_SIMPLE);
    assert_int_equal(r->channels, 64);
    assert_int_equal(r->nodes.low, 4);
    assert_int_equal(r->nodes.high, 16);
    assert_int_equal(r->ranks.low, 8);
    assert_int_equal(r->ranks.high, 8);
    assert_int_equal(r->pipe_ops, 3);
    assert_int_equal(r->reg_buff, 1);
    assert_int_equal(r->chunk_bytes, INT_MAX);
    assert_int_equal(r->domains.low, 1);
    assert_int_equal(r->domains.high, 2);
    assert_int_equal(r->line, 1);
    tuner_table_free(&t);
}

static void minus_one_leaves_open(void **unused)
{
    (void)unused;
    struct tuner_table t;
    assert_int_equal(parse(&t, "reduce,-1,-1,-1,any,-1,-1,-1,-1,-1,-1,-1"), 0);
    assert_int_equal(t.count, 1);
    const struct tuner_rule *r = t.rules;
    assert_int_equal(r->min_bytes, 0);
    assert_true(r->max_bytes == UINT64_MAX);
    assert_int_equal(r->algo, TUNER_ANY);
    assert_int_equal(r->proto, TUNER_ANY);
    assert_int_equal(r->channels, 0);
    assert_int_equal(r->pipe_ops, TUNER_ANY);
    assert_int_equal(r->reg_buff, TUNER_ANY);
    assert_int_equal(r->chunk_bytes, 0);
    struct tuner_shape unknown = {1, 1, TUNER_UNKNOWN};
    assert_true(tuner_rule_fits_shape(r, &unknown));
    tuner_table_free(&t);
}

static void reads_the_full_fixture(void **unused)
{
    (void)unused;
    struct tuner_table t;
    size_t bytes;
    char *text = file_text("tests/fixtures/tuner/full.csv", &bytes);
    assert_int_equal(parse_bytes(&t, text, bytes), 0);
    assert_int_equal(faults.count, 0);
    assert_int_equal(t.count, 6);
    assert_int_equal(t.rules[0].line, 6);
    assert_int_equal(t.rules[2].chunk_bytes, 524288);
    assert_int_equal(t.nccl_count, 2);
    assert_true(tuner_table_fits(&t, 2, 27) && tuner_table_fits(&t, 2, 28));
    assert_false(tuner_table_fits(&t, 2, 29) || tuner_table_fits(&t, 3, 28) || tuner_table_fits(&t, 0, 0));
    tuner_table_free(&t);
    free(text);
}

/* A byte order mark, CRLF, a header line and other spellings of the words. */
static void reads_what_spreadsheets_write(void **unused)
{
    (void)unused;
    struct tuner_table t;
    size_t bytes;
    char *text = file_text("tests/fixtures/tuner/spreadsheet.csv", &bytes);
    assert_int_equal(parse_bytes(&t, text, bytes), 0);
    assert_int_equal(faults.count, 0);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.rules[0].algo, ALGO_NVLS_TREE);
    assert_int_equal(t.rules[1].proto, PROTO_LL128);
    assert_int_equal(t.rules[1].channels, 0);
    assert_true(tuner_table_fits(&t, 2, 19));
    tuner_table_free(&t);
    free(text);
}

/* The file that comes with NCCL's example tuner, when a source tree is at hand. */
static void reads_the_example_unchanged(void **unused)
{
    (void)unused;
    const char *path = getenv("NCCL_EXAMPLE_CSV");
    if (!path) {
        print_message("NCCL_EXAMPLE_CSV is not set\n");
        skip();
    }
    struct tuner_table t;
    size_t bytes, lines = 0;
    char *text = file_text(path, &bytes);
    for (size_t i = 0; i < bytes; i++)
        lines += (i == 0 || text[i - 1] == '\n') && text[i] != '#' && text[i] != '\n';
    assert_int_equal(parse_bytes(&t, text, bytes), 0);
    assert_int_equal(faults.count, 0);
    assert_true(lines > 0);
    assert_int_equal(t.count, lines);
    tuner_table_free(&t);
    free(text);
}

static void comments_alone_are_a_table(void **unused)
{
    (void)unused;
    struct tuner_table t;
    assert_int_equal(parse(&t, "# nccltune-tuner/1\n\n  \n# nothing measured\n"), 0);
    assert_int_equal(t.count, 0);
    assert_int_equal(faults.count, 0);
    tuner_table_free(&t);
}

/* ---- what is refused ------------------------------------------------------------------------------------------- */

static void names_line_and_column(void **unused)
{
    (void)unused;
    static const struct {
        long line, column;
        const char *text;
    } want[] = {
        {1, 14, "NCCL versions"},
        {2, 34, "7 columns"},
        {3, 50, "more than 12"},
        {4, 1, "collective is \"allreuce\""},
        {5, 11, "min_bytes"},
        {6, 13, "max_bytes"},
        {7, 11, "larger"},
        {8, 19, "algorithm is \"trees\""},
        {9, 24, "protocol"},
        {10, 31, "channels"},
        {11, 33, "nNodes"},
        {12, 33, "nNodes"},
        {13, 35, "nRanks"},
        {14, 38, "numPipeOps"},
        {15, 41, "regBuff"},
        {16, 45, "chunk_bytes without"},
        {17, 11, "min_bytes is \"\""},
        {19, 1, "collective is \"alltoall\""},
        {20, 1, "collective is \"all reduce\""},
        {21, 1, "collective is \"kind\""},
    };
    struct tuner_table t;
    size_t bytes;
    char *text = file_text("tests/fixtures/tuner/broken.csv", &bytes);
    assert_int_equal(parse_bytes(&t, text, bytes), 0);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.rules[0].algo, ALGO_RING);
    assert_int_equal(t.broken, sizeof want / sizeof *want);
    assert_int_equal(faults.count, sizeof want / sizeof *want);
    for (int i = 0; i < faults.count; i++) {
        assert_int_equal(faults.line[i], want[i].line);
        if (faults.column[i] != want[i].column)
            print_error("line %ld: column %ld, expected %ld\n", want[i].line, faults.column[i], want[i].column);
        assert_int_equal(faults.column[i], want[i].column);
        assert_non_null(strstr(faults.text[i], want[i].text));
    }
    tuner_table_free(&t);
    free(text);
}

static void refuses_whole_files(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        size_t bytes;
        const char *why;
    } files[] = {
        {"", 0, "empty"},
        {"allreduce\0", 10, "NUL"},
        {"nonsense\n", 9, "no valid line"},
        {"# nccltune-tuner/2\nallreduce,0,-1,ring,ll,1,-1,-1\n", 49, "format"},
        {"# nccltune-tuner/10\n", 20, "format"},
        {"# nccltune-tuner/\n", 18, "format"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct tuner_table t;
        assert_int_equal(parse_bytes(&t, files[i].text, files[i].bytes), -1);
        assert_true(faults.count > 0);
        assert_int_equal(faults.line[faults.count - 1], 0);
        assert_non_null(strstr(faults.text[faults.count - 1], files[i].why));
        tuner_table_free(&t);
    }
}

static void refuses_files_beyond_the_limit(void **unused)
{
    (void)unused;
    struct tuner_table t;
    faults.count = 0;
    char *text = calloc(1, TUNER_BYTES_LIMIT + 1);
    assert_int_equal(tuner_table_parse(&t, text, TUNER_BYTES_LIMIT + 1, note, &faults), -1);
    assert_non_null(strstr(faults.text[0], "64 MiB"));
    free(text);

    static const char line[] = "reduce,0,1,-1,-1,1,1,1\n";
    size_t n = TUNER_RULES_LIMIT + 1, each = sizeof line - 1;
    text = malloc(n * each);
    for (size_t i = 0; i < n; i++)
        memcpy(text + i * each, line, each);
    assert_int_equal(tuner_table_parse(&t, text, (n - 1) * each, note, &faults), 0);
    assert_int_equal(t.count, TUNER_RULES_LIMIT);
    tuner_table_free(&t);
    assert_int_equal(tuner_table_parse(&t, text, n * each, NULL, NULL), -1);
    tuner_table_free(&t);
    free(text);
}

static void refuses_endless_lines(void **unused)
{
    (void)unused;
    struct tuner_table t;
    size_t n = 100000;
    char *text = malloc(n);
    memset(text, ',', n);
    static const char end[] = "\nreduce,0,1,-1,-1,1,1,1\n";
    for (size_t i = 0; i < 24; i++)
        text[n - 24 + i] = end[i];
    assert_int_equal(parse_bytes(&t, text, n), 0);
    assert_int_equal(t.count, 1);
    assert_int_equal(faults.count, 1);
    assert_int_equal(faults.column[0], 4097);
    tuner_table_free(&t);
    free(text);
}

/* What a file smuggles into a message must not reach a terminal. */
static void shows_words_safely(void **unused)
{
    (void)unused;
    struct tuner_table t;
    assert_int_equal(parse(&t, "\x1b[31mred\x7f,0,-1,ring,ll,1,1,1\nreduce,0,1,-1,-1,1,1,1\n"), 0);
    assert_null(strchr(faults.text[0], 0x1b));
    assert_non_null(strstr(faults.text[0], "?[31mred?"));
    tuner_table_free(&t);
}

static void an_unreadable_version_fits_nothing(void **unused)
{
    (void)unused;
    static const char *const lists[] = {"", "any", "2", "2.", ".27", "2.27x", "2.27-2.29", "2. 27", "1000.1"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char text[128];
        struct tuner_table t;
        snprintf(text, sizeof text, "# nccl: %s\nreduce,0,1,-1,-1,1,1,1\n", lists[i]);
        assert_int_equal(parse(&t, text), 0);
        assert_int_equal(faults.count, 1);
        assert_false(tuner_table_fits(&t, 2, 27));
        tuner_table_free(&t);
    }
}

/* ---- asking ---------------------------------------------------------------------------------------------------- */

static void walks_the_rules_that_match(void **unused)
{
    (void)unused;
    struct tuner_table t;
    assert_int_equal(parse(&t, "allreduce,0,100,tree,ll,1,-1,-1,2\n"
                               "allreduce,0,100,tree,simple,2,2-4,-1\n"
                               "reduce,0,100,ring,simple,3,-1,-1\n"
                               "allreduce,50,100,ring,simple,4,-1,16,-1,0\n"
                               "allreduce,0,-1,ring,ll,5,-1,-1,-1,-1,-1,1\n"),
                     0);
    struct tuner_shape s = {4, 16, TUNER_UNKNOWN}, one_domain = {5, 16, 1};
    const struct tuner_rule *r = tuner_table_match(&t, NULL, &s, COLL_ALLREDUCE, 50, 1, 0);
    assert_non_null(r);
    assert_int_equal(r->channels, 2);
    r = tuner_table_match(&t, r + 1, &s, COLL_ALLREDUCE, 50, 1, 0);
    assert_non_null(r);
    assert_int_equal(r->channels, 4);
    assert_null(tuner_table_match(&t, r + 1, &s, COLL_ALLREDUCE, 50, 1, 0));
    assert_null(tuner_table_match(&t, r, &s, COLL_ALLREDUCE, 49, 1, 0));
    assert_null(tuner_table_match(&t, r, &s, COLL_ALLREDUCE, 50, 1, TUNER_UNKNOWN));
    r = tuner_table_match(&t, NULL, &one_domain, COLL_ALLREDUCE, UINT64_MAX, 1, 0);
    assert_non_null(r);
    assert_int_equal(r->channels, 5);
    tuner_table_free(&t);
}

int test_table(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_every_column),
        cmocka_unit_test(knows_the_next_tuner),
        cmocka_unit_test(minus_one_leaves_open),
        cmocka_unit_test(reads_the_full_fixture),
        cmocka_unit_test(reads_what_spreadsheets_write),
        cmocka_unit_test(reads_the_example_unchanged),
        cmocka_unit_test(comments_alone_are_a_table),
        cmocka_unit_test(names_line_and_column),
        cmocka_unit_test(refuses_whole_files),
        cmocka_unit_test(refuses_files_beyond_the_limit),
        cmocka_unit_test(refuses_endless_lines),
        cmocka_unit_test(shows_words_safely),
        cmocka_unit_test(an_unreadable_version_fits_nothing),
        cmocka_unit_test(walks_the_rules_that_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
