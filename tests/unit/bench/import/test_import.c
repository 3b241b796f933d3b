/* What other benchmarks print, as measurements. */
#include <sys/mman.h>
#include <unistd.h>

#include "bench/import/import.h"
#include "bench/results/results.h"
#include "core/coll.h"
#include "core/file.h"
#include "core/json.h"
#include "tests/lib/unit.h"
#include "tests/lib/whole.h"

#define FIXTURES "tests/fixtures/import/"

static struct err e;

static struct bench_results *load(const char *name, int nodes, int ranks)
{
    char path[256];
    const char *paths[] = {path};
    const struct import_given given = {.coll = -1, .nodes = nodes, .ranks = ranks};
    snprintf(path, sizeof path, FIXTURES "%s", name);
    return import_load(paths, 1, &given, NULL, &e);
}

static struct bench_results *parse_given(const char *text, const struct import_given *given, struct log *log)
{
    char path[32];
    const char *paths[] = {path};
    int fd = memfd_create("x", MFD_CLOEXEC);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct bench_results *r = import_load(paths, 1, given, log, &e);
    close(fd);
    return r;
}

static struct bench_results *parse(const char *text)
{
    return parse_given(text, &(struct import_given){.coll = -1}, NULL);
}

/* The measurement of this kind, of which there is one. */
static const struct bench_result *one(const struct bench_results *r, int coll, uint64_t bytes, const char *launch,
                                      const char *call, const char *data)
{
    const struct bench_result *found = NULL;
    for (int i = 0; i < r->count; i++) {
        const struct bench_result *x = &r->items[i];
        if (x->coll != coll || x->bytes != bytes || strcmp(x->launch.label, launch) != 0 ||
            strcmp(x->call.label, call) != 0 || (data && (!x->data || strcmp(x->data, data) != 0)))
            continue;
        assert_null(found);
        found = x;
    }
    if (!found)
        fail_msg("%s of %lu bytes, %s, %s is missing", coll_name(coll), (unsigned long)bytes, launch, call);
    return found;
}

/* Three runs in one file, with a shell's, a launcher's and NCCL's lines around them. */
TEST_CASE(runs_of_nccl_tests)
{
    struct bench_results *r = load("three_runs.log", 0, 0);
    assert_non_null(r);
    assert_int_equal(r->count, 12);
    const struct bench_result *x = one(r, COLL_ALLREDUCE, 1 << 20, "default", "default", "float");
    assert_int_equal(x->nodes, 2);
    assert_int_equal(x->ranks, 4);
    assert_int_equal(x->status, BENCH_OK);
    assert_string_equal(x->library, "NCCL 2.28.7");
    assert_true(x->times_us[0] == 101.25);
    x = one(r, COLL_ALLREDUCE, 4 << 20, "default", "default", "float, in place");
    assert_int_equal(x->status, BENCH_WRONG);
    x = one(r, COLL_ALLREDUCE, 2 << 20, "default", "ring/ll128", "float, in place");
    assert_true(x->times_us[0] == 139);
    assert_int_equal(x->call.nsettings, 2);
    /* The HCAs are the same everywhere: the site's own. No "root" and no "redop" in this release's columns. */
    x = one(r, COLL_ALLGATHER, 1 << 20, "NCCL_IB_QPS_PER_CONNECTION=4", "default", "float");
    assert_int_equal(x->buffers, BENCH_GRAPH);
    assert_string_equal(x->library, "NCCL 2.28.7"); /* of the other runs */
    assert_int_equal(x->ranks, 2);
    assert_int_equal(x->status, BENCH_OK);
    bench_results_free(r);
}

TEST_CASE(json_of_nccl_tests)
{
    struct bench_results *r = load("report.json", 0, 0);
    assert_non_null(r);
    assert_int_equal(r->count, 2);
    const struct bench_result *x = one(r, COLL_REDUCESCATTER, 8 << 20, "default", "nvls/simple", "float");
    assert_int_equal(x->ntimes, 4); /* without the one that nccl-tests skip */
    assert_true(x->times_us[0] == 118);
    assert_int_equal(x->nodes, 1);
    assert_int_equal(x->ranks, 2);
    assert_string_equal(x->library, "NCCL 2.29.3");
    bench_results_free(r);
}

TEST_CASE(csv_of_rccl_tests)
{
    struct bench_results *r = load("rccl.csv", 0, 0);
    assert_non_null(r);
    assert_int_equal(r->count, 3);
    assert_true(one(r, COLL_ALLREDUCE, 1 << 20, "default", "default", "float, in place")->times_us[0] == 87.1);
    const struct bench_result *x = one(r, COLL_ALLREDUCE, 2 << 20, "default", "default", NULL);
    assert_int_equal(x->status, BENCH_WRONG);
    assert_int_equal(x->ranks, 16);
    bench_results_free(r);
}

#define RUN(settings, time)                                                                                            \
    settings " ./all_reduce_perf -g 2\n# Rank 0 Pid 1 on a device 0 [0x1b] x\n# Rank 1 Pid 1 on a device 1 [0x1c] x\n" \
             "# size count type redop root time algbw busbw #wrong\n 1024 256 float sum -1 " time " 1 1 0\n"

/* A candidate that is run again is measured again, and is told from the one beside it. */
TEST_CASE(repetitions)
{
    struct bench_results *r =
        parse(RUN("NCCL_BUFFSIZE=1", "10") RUN("NCCL_BUFFSIZE=2", "20") RUN("NCCL_BUFFSIZE=1", "11"));
    assert_non_null(r);
    assert_int_equal(r->count, 3);
    assert_string_equal(r->items[2].launch.label, "NCCL_BUFFSIZE=1");
    assert_int_equal(r->items[0].round, 1);
    assert_int_equal(r->items[1].round, 1);
    assert_int_equal(r->items[2].round, 2);
    bench_results_free(r);
    /* A table has one algorithm, with or without a protocol, by size; a list is for all calls. */
    r = parse(RUN("NCCL_ALGO=Tree", "10") RUN("NCCL_ALGO='^NVLS' NCCL_PROTO=LL", "20"));
    assert_non_null(r);
    assert_string_equal(r->items[0].launch.label, "default");
    assert_string_equal(r->items[0].call.label, "tree");
    assert_string_equal(r->items[1].launch.label, "NCCL_ALGO=^NVLS NCCL_PROTO=LL");
    bench_results_free(r);
}

TEST_CASE(what_is_none)
{
    static const char *const none[] = {"",
                                       "x\n",
                                       "{",
                                       "{\"results\": 1}",
                                       "{}\n{}\n",
                                       "# size time\n1 2 3\n",
                                       "1024 256 float sum -1 10 1 1 0\n",
                                       "size,time\n1,2\n"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        e = (struct err){0};
        struct bench_results *r = parse(none[i]);
        if (r || !e.text[0])
            fail_msg("'%s' was taken for a measurement", none[i]);
    }
    /* Sizes and times of nothing. */
    assert_null(parse(RUN("", "nan")));
    assert_null(parse(RUN("", "0")));
}

/* What is written as a journal is read again as the same. */
TEST_CASE(journal_and_back)
{
    struct bench_results *r = load("three_runs.log", 0, 0), *again;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(r);
    assert_non_null(out);
    bench_export_journal(r, out);
    fclose(out);
    again = parse(text);
    assert_non_null(again);
    assert_int_equal(again->count, r->count);
    for (int i = 0; i < r->count; i++) {
        assert_string_equal(again->items[i].launch.label, r->items[i].launch.label);
        assert_true(again->items[i].times_us[0] == r->items[i].times_us[0]);
        assert_int_equal(again->items[i].status, r->items[i].status);
    }
    free(text);
    bench_results_free(again);
    bench_results_free(r);
}

/* What `print` makes of the fixture. */
static char *printed(void (*print)(const struct bench_results *r, FILE *out))
{
    struct bench_results *r = load("three_runs.log", 0, 0);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(r);
    assert_non_null(out);
    print(r, out);
    fclose(out);
    bench_results_free(r);
    return text;
}

TEST_CASE(for_other_programs)
{
    char *text = printed(bench_export_csv);
    assert_non_null(strstr(text,
                           "\nnccl,NCCL 2.28.7,allreduce,1048576,2,4,1,default,ring/ll128,,\"float, in place\",1,ok,1,"
                           "90,90,90,11.6508444444,17.4762666667\n"));
    free(text);
}

/* Every file with all that is taken from it, and what is said of the rest. */
TEST_CASE(files_as_a_whole)
{
    static const struct {
        const char *name;
        int nodes, ranks, coll;
    } files[] = {{"odd.log", 0, 0, -1},        {"odd.log", 2, 16, COLL_BROADCAST},
                 {"three_runs.log", 0, 0, -1}, {"report.json", 0, 0, -1},
                 {"rccl.csv", 0, 0, -1},       {"more.log", 0, 0, -1},
                 {"more.log", 1, 8, -1},       {"odd.json", 0, 0, -1}};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    struct log log = {.out = out, .program = "nccltune"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[256];
        const char *paths[] = {path};
        const struct import_given given = {
            .coll = files[i].coll, .nodes = files[i].nodes, .ranks = files[i].ranks, .nccl = i == 1 ? 21903 : 0};
        snprintf(path, sizeof path, FIXTURES "%s", files[i].name);
        fprintf(out, "%s\n", files[i].name);
        struct bench_results *r = import_load(paths, 1, &given, &log, &e);
        if (!r)
            fail_msg("%s: %s", files[i].name, e.text);
        for (int k = 0; k < r->count; k++) {
            const struct bench_result *x = &r->items[k];
            fprintf(out, "  %s, %s: %s %llu on %d x %d, %s, %s, %s, %s, round %d, status %d:", x->engine, x->library,
                    coll_name(x->coll), (unsigned long long)x->bytes, x->nodes, x->ranks, x->launch.label,
                    x->call.label, x->data ? x->data : "-", x->buffers ? bench_buffers_name(x->buffers) : "-", x->round,
                    (int)x->status);
            for (int t = 0; t < x->ntimes; t++)
                fprintf(out, " %g", x->times_us[t]);
            for (int n = 0; n < x->launch.nsettings; n++)
                fprintf(out, " %s=%s", x->launch.settings[n].name, x->launch.settings[n].value);
            for (int n = 0; n < x->call.nsettings; n++)
                fprintf(out, " %s=%s", x->call.settings[n].name, x->call.settings[n].value);
            fputc('\n', out);
        }
        bench_results_free(r);
    }
    fclose(out);
    assert_whole(text, FIXTURES "taken.txt");
    free(text);
}

/* Files are read as one, each with its own lines, and nothing of one says anything of the next; a journal among them
 * keeps its words. */
TEST_CASE(several_files)
{
    char own[] = "/tmp/test_import_XXXXXX";
    const char *const paths[] = {FIXTURES "three_runs.log", own, FIXTURES "no_ranks.log"};
    const struct import_given given = {.coll = -1};
    char *text = NULL;
    size_t bytes = 0;
    FILE *journal = fdopen(mkstemp(own), "w"), *out = open_memstream(&text, &bytes);
    struct log log = {.out = out, .program = "nccltune"};
    struct bench_results *r = load("report.json", 0, 0);
    assert_non_null(journal);
    bench_export_journal(r, journal);
    fclose(journal);
    bench_results_free(r);
    r = import_load(paths, 3, &given, &log, &e);
    fclose(out);
    unlink(own);
    assert_non_null(r);
    assert_int_equal(r->count, 14);
    assert_string_equal(r->items[12].launch.label, "default");
    assert_string_equal(r->items[12].call.label, "nvls/simple");
    assert_string_equal(r->items[12].library, "NCCL 2.29.3");
    assert_int_equal(r->items[12].ntimes, 4);
    assert_string_equal(text, "nccltune: warning: " FIXTURES "no_ranks.log:3: unknown number of nodes and ranks (see "
                              "nccltune results --nodes --ranks); its rows are left out\n");
    free(text);
    bench_results_free(r);
    assert_null(import_load((const char *const[]){"/no/file"}, 1, &given, NULL, &e));
    assert_non_null(strstr(e.text, "/no/file"));
}

/* A journal in which nothing has been measured yet is one. */
TEST_CASE(a_journal_without_rows)
{
    struct bench_results *r = parse("{\"format\": \"nccltune-results/1\"}\n");
    assert_non_null(r);
    assert_int_equal(r->count, 0);
    bench_results_free(r);
}

/* Ten rows that are left out are told one by one, of more their number. */
TEST_CASE(warnings_are_counted)
{
    for (int n = 10; n <= 12; n++) {
        const struct import_given given = {.coll = COLL_REDUCE, .nodes = 1, .ranks = 8};
        char *text = NULL, rows[512] = "# size time\n";
        size_t bytes = 0;
        FILE *out = open_memstream(&text, &bytes);
        struct log log = {.out = out, .program = "p"};
        for (int i = 0; i < n; i++)
            strcat(rows, "8 0\n");
        assert_null(parse_given(rows, &given, &log));
        fclose(out);
        int lines = 0;
        for (const char *c = text; *c; c++)
            lines += *c == '\n';
        assert_int_equal(lines, n == 10 ? 10 : 11);
        assert_int_equal(strstr(text, "more lines left out") != NULL, n > 10);
        assert_int_equal(strstr(text, "p: warning: 2 more lines left out\n") != NULL, n == 12);
        assert_non_null(strstr(e.text, n == 10   ? ": no row could be taken: 10 left out"
                                       : n == 11 ? ": no row could be taken: 11 left out"
                                                 : ": no row could be taken: 12 left out"));
        free(text);
    }
}

TEST_CASE(releases_by_number)
{
    static const struct {
        int code;
        const char *name;
    } rows[] = {{19999, "NCCL"}, {20000, "NCCL 2.0.0"}, {99999, "NCCL 9.99.99"}, {100000, "NCCL"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct import_given given = {.coll = COLL_REDUCE, .nodes = 1, .ranks = 2, .nccl = rows[i].code};
        struct bench_results *r = parse_given("# size time\n8 1\n", &given, NULL);
        assert_non_null(r);
        assert_string_equal(r->items[0].library, rows[i].name);
        bench_results_free(r);
    }
}

TEST_CASES(test_import)
