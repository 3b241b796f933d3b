/* The journal: what is read, what is refused, what is left after a cut. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/results/results.h"
#include "core/coll.h"
#include "core/file.h"
#include "tests/lib/in_use.h"
#include "tests/lib/unit.h"

#define FIXTURES "tests/fixtures/bench/"

static char dir[] = "/dev/shm/test_results_XXXXXX"; /* every line is brought to disk */
static char path[64];

static int make_dir(void **state)
{
    return mkdtemp(dir) ? snprintf(path, sizeof path, "%s/r.jsonl", dir) < 0 : -1;
}

static int remove_dir(void **state)
{
    unlink(path);
    return rmdir(dir);
}

static void put(const char *text)
{
    struct err e;
    unlink(path);
    assert_int_equal(file_write(path, text, strlen(text), &e), 0);
}

static char *get(struct arena *a)
{
    char *text;
    size_t n;
    struct err e;
    assert_int_equal(file_read(path, FILE_LIMIT, a, &text, &n, &e), 0);
    return text;
}

static struct bench_result sample(void)
{
    static const struct bench_setting ring[] = {{"coll_tuned_allreduce_algorithm", "4"}};
    static const double times[] = {1.25, 2.5};
    return (struct bench_result){.engine = "mpi",
                                 .library = "Open MPI 4.1.4",
                                 .coll = COLL_ALLREDUCE,
                                 .bytes = 1ull << 40,
                                 .nodes = 2,
                                 .ranks = 4,
                                 .launch = {.label = BENCH_DEFAULT},
                                 .call = {.label = "ring", .settings = ring, .nsettings = 1},
                                 .round = 3,
                                 .status = BENCH_OK,
                                 .times_us = times,
                                 .ntimes = 2};
}

TEST_CASE(reads_every_field)
{
    struct err e;
    char *said = NULL;
    size_t n;
    struct log log = {.out = open_memstream(&said, &n), .program = "test"};
    struct bench_results *r = bench_results_load(FIXTURES "small.jsonl", &log, &e);
    fclose(log.out);
    assert_string_equal(said, "");
    free(said);
    assert_non_null(r);
    assert_int_equal(r->count, 7);
    assert_memory_equal(r->topology, "0123456789abcdef", 16);
    const struct bench_result *x = &r->items[0];
    assert_string_equal(x->engine, "mpi");
    assert_string_equal(x->library, "Open MPI 4.1.4");
    assert_int_equal(x->coll, COLL_ALLREDUCE);
    assert_int_equal(x->bytes, 65536);
    assert_int_equal(x->nodes, 4);
    assert_int_equal(x->ranks, 4);
    assert_string_equal(x->launch.label, "default");
    assert_int_equal(x->launch.nsettings, 0);
    assert_string_equal(x->call.settings[0].name, "coll_tuned_allreduce_algorithm");
    assert_string_equal(x->call.settings[0].value, "4");
    assert_int_equal(x->round, 1);
    assert_int_equal(x->ntimes, 3);
    assert_true(x->times_us[1] == 52.0);
    assert_int_equal(x->line, 2);
    assert_int_equal(r->items[1].status, BENCH_WRONG);
    assert_string_equal(r->items[1].detail, "rank 2: element 5 is 1, expected 2");
    assert_int_equal(r->items[3].line, 6);
    bench_results_free(r);
}

/* Each warning names its line. Lines 14 to 16 are what 0.1.0 measured beside compute: left out. */
TEST_CASE(skips_broken_lines)
{
    char *text = NULL;
    size_t n = 0;
    struct log log = {.out = open_memstream(&text, &n), .program = "test"};
    struct err e;
    struct bench_results *r = bench_results_load(FIXTURES "broken-lines.jsonl", &log, &e);
    assert_non_null(r);
    assert_int_equal(r->count, 1);
    assert_int_equal(r->items[0].line, 3);
    fclose(log.out);
    for (int line = 2; line <= 16; line++) {
        char place[64];
        snprintf(place, sizeof place, "broken-lines.jsonl:%d:", line);
        if (line == 3 || line >= 14)
            assert_null(strstr(text, place));
        else
            assert_non_null(strstr(text, place));
    }
    free(text);
    bench_results_free(r);
}

TEST_CASE(skips_a_cut_off_line)
{
    struct err e;
    struct bench_results *r = bench_results_load(FIXTURES "cut-off.jsonl", NULL, &e);
    assert_non_null(r);
    assert_int_equal(r->count, 6);
    bench_results_free(r);
}

TEST_CASE(knows_what_is_left_of_a_budget)
{
#define HEADER "{\"format\": \"nccltune-results/1\", \"budget_s\": 30}\n"
#define LINE(more)                                                                                              \
    "{\"engine\": \"mpi\", \"library\": \"m\", \"collective\": \"allreduce\", \"bytes\": 8, \"nodes\": 1, "     \
    "\"ranks\": 2, \"launch\": {\"label\": \"default\", \"settings\": {}}, \"call\": {\"label\": \"default\", " \
    "\"settings\": {}}, \"status\": \"ok\", \"times_us\": [1]" more "}\n"
    static const struct {
        const char *text;
        double left_s;
    } journals[] = {
        {HEADER, 30},
        {HEADER LINE(", \"left_s\": 20") LINE(", \"left_s\": 12.5") "{\"engine\": \"m", 12.5},
        {"{\"format\": \"nccltune-results/1\"}\n" LINE(""), 0},
        {"no journal", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof journals / sizeof *journals; i++) {
        put(journals[i].text);
        assert_true(bench_journal_left_s(path) == journals[i].left_s);
    }
    assert_true(bench_journal_left_s("/nowhere/r.jsonl") == 0);
}

TEST_CASE(refuses_what_is_no_journal)
{
    static const char *const texts[] = {
        "",
        "\n",
        "hello\n",
        "{\"engine\": \"mpi\"}\n",
        "{\"format\": \"nccltune-results/2\"}\n",
        "{\"format\": \"nccltune-topology/1\"}\n",
        "{\"format\": \"nccltune-results/1\", \"topology\": \"../../x\"}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct err e = {0};
        put(texts[i]);
        assert_null(bench_results_load(path, NULL, &e));
        assert_int_equal(e.code, ERR_FAILED);
        assert_non_null(strstr(e.text, path));
    }
    struct err e;
    assert_null(bench_results_load("/nonexistent/r.jsonl", NULL, &e));
    assert_null(bench_results_load("/tmp", NULL, &e));
}

TEST_CASE(appends_what_it_reads)
{
    struct bench_journal j;
    struct err e;
    struct bench_result x = sample(), y = sample();
    char hash[SHA256_HEX];
    memset(hash, 'a', sizeof hash - 1);
    hash[sizeof hash - 1] = 0;
    y.status = BENCH_HUNG;
    y.ntimes = 0;
    y.detail = "no \"answer\"\nin time";
    unlink(path);
    assert_int_equal(bench_journal_open(&j, path, hash, 0, 0, NULL, &e), 0);
    assert_int_equal(bench_journal_append(&j, &x, 1, &e), 0);
    assert_int_equal(bench_journal_append(&j, &y, 1, &e), 0);
    assert_int_equal(j.results->count, 2);
    assert_string_equal(j.results->topology, hash);
    assert_int_equal(j.results->items[0].line, 2);
    assert_int_equal(j.results->items[1].line, 3);
    assert_true(j.results->items[0].times_us[1] == 2.5);
    assert_string_equal(j.results->items[1].detail, y.detail);
    bench_journal_close(&j);
    assert_int_equal(bench_journal_open(&j, path, hash, 0, 1, NULL, &e), 0);
    assert_int_equal(j.results->count, 2);
    assert_int_equal(j.results->lines, 3);
    bench_journal_close(&j);
    struct bench_results *r = bench_results_load(path, NULL, &e);
    assert_non_null(r);
    assert_string_equal(r->topology, hash);
    assert_int_equal(r->count, 2);
    assert_true(r->items[0].bytes == 1ull << 40);
    assert_true(r->items[0].times_us[0] == 1.25 && r->items[0].times_us[1] == 2.5);
    assert_int_equal(r->items[0].round, 3);
    assert_string_equal(r->items[0].call.settings[0].value, "4");
    assert_int_equal(r->items[1].status, BENCH_HUNG);
    assert_string_equal(r->items[1].detail, y.detail);
    bench_results_free(r);
}

TEST_CASE(resume_cuts_the_broken_line)
{
    static const char whole[] = "{\"format\":\"nccltune-results/1\"}\n";
    struct arena *a = arena_new();
    struct bench_journal j;
    struct err e;
    put("{\"format\":\"nccltune-results/1\"}\n{\"engine\":\"mp");
    assert_int_equal(bench_journal_open(&j, path, "", 0, 1, NULL, &e), 0);
    assert_string_equal(get(a), whole);
    bench_journal_close(&j);
    /* Cut off in the very first line: as if it had never been. */
    put("{\"format\":\"nccltune-res");
    assert_int_equal(bench_journal_open(&j, path, "", 0, 1, NULL, &e), 0);
    bench_journal_close(&j);
    struct bench_results *r = bench_results_load(path, NULL, &e);
    assert_non_null(r);
    bench_results_free(r);
    arena_free(a);
}

TEST_CASE(guards_what_is_there)
{
    struct arena *a = arena_new();
    struct bench_journal j, second;
    struct err e;
    char ours[SHA256_HEX], theirs[SHA256_HEX];
    memset(ours, 'a', sizeof ours);
    memset(theirs, 'b', sizeof theirs);
    ours[64] = theirs[64] = 0;
    unlink(path);
    assert_int_equal(bench_journal_open(&j, path, ours, 0, 0, NULL, &e), 0);
    /* Another run may not write at the same time. */
    assert_int_equal(bench_journal_open(&second, path, ours, 0, 1, NULL, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "another run"));
    bench_journal_close(&j);
    char *before = get(a);
    assert_int_equal(bench_journal_open(&j, path, ours, 0, 0, NULL, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "--resume"));
    assert_int_equal(bench_journal_open(&j, path, theirs, 0, 1, NULL, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "another topology"));
    assert_string_equal(get(a), before);
    put("#!/bin/sh\necho somebody's script\n");
    assert_int_equal(bench_journal_open(&j, path, ours, 0, 1, NULL, &e), ERR_FAILED);
    assert_string_equal(get(a), "#!/bin/sh\necho somebody's script\n");
    assert_int_equal(bench_journal_open(&j, "/nonexistent/r.jsonl", ours, 0, 0, NULL, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "/nonexistent/r.jsonl"));
    arena_free(a);
}

TEST_CASE(odd_targets)
{
    struct bench_journal j;
    struct err e;
    struct bench_result x = sample();
    unlink(path);
    assert_int_equal(bench_journal_open(&j, "/dev/null", "", 0, 0, NULL, &e), 0);
    assert_int_equal(bench_journal_append(&j, &x, 1, &e), 0);
    bench_journal_close(&j);
    assert_int_equal(bench_journal_open(&j, "/dev/full", "", 0, 0, NULL, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "/dev/full"));
    assert_non_null(strstr(e.text, strerror(ENOSPC)));
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(bench_journal_open(&j, path, "", 0, 0, NULL, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "is a pipe: expected a file"));
    assert_int_equal(unlink(path), 0);
}

/* A disk that fills up in the middle of a line. */
TEST_CASE(keeps_whole_lines_on_a_full_disk)
{
    struct arena *a = arena_new();
    struct bench_journal j;
    struct err e;
    struct bench_result x = sample();
    struct rlimit before, room;
    unlink(path);
    assert_int_equal(bench_journal_open(&j, path, "", 0, 0, NULL, &e), 0);
    assert_int_equal(bench_journal_append(&j, &x, 1, &e), 0);
    char *whole = get(a);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    room = (struct rlimit){strlen(whole) + 20, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &room), 0);
    int rc = bench_journal_append(&j, &x, 1, &e);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(rc, ERR_FAILED);
    assert_non_null(strstr(e.text, "cannot be written"));
    assert_string_equal(get(a), whole);
    bench_journal_close(&j);
    arena_free(a);
}

/* A prediction keeps its band; many lines go out together. */
TEST_CASE(predictions)
{
    static const double us[] = {100};
    struct bench_result two[] = {sample(), sample()};
    struct bench_journal j;
    struct err e;
    two[0].times_us = two[1].times_us = us;
    two[0].ntimes = two[1].ntimes = 1;
    two[1].low_us = 80;
    two[1].high_us = 125.5;
    unlink(path);
    assert_int_equal(bench_journal_open(&j, path, "", 0, 0, NULL, &e), 0);
    assert_int_equal(bench_journal_append(&j, two, 2, &e), 0);
    assert_int_equal(j.results->items[1].line, 3);
    assert_int_equal(j.results->lines, 3);
    bench_journal_close(&j);
    struct bench_results *r = bench_results_load(path, NULL, &e);
    assert_int_equal(r->count, 2);
    assert_true(r->items[0].low_us == 0 && r->items[0].high_us == 0);
    assert_true(r->items[1].low_us == 80 && r->items[1].high_us == 125.5);
    assert_int_equal(r->items[1].line, 3);
    bench_results_free(r);
}

/* The line of a prediction with these times and what follows them. */
static struct bench_results *predicted(const char *rest)
{
    struct err e;
    char text[1024];
    snprintf(text, sizeof text,
             "{\"format\": \"nccltune-results/1\"}\n"
             "{\"engine\": \"model\", \"library\": \"NCCL\", \"collective\": \"allreduce\", \"bytes\": 8, "
             "\"nodes\": 1, \"ranks\": 2, \"launch\": {\"label\": \"default\"}, \"call\": {\"label\": "
             "\"default\"}, \"status\": \"ok\", \"times_us\": %s}\n",
             rest);
    put(text);
    struct bench_results *r = bench_results_load(path, NULL, &e);
    assert_non_null(r);
    return r;
}

TEST_CASE(reads_doubt)
{
    struct bench_results *r =
        predicted("[100], \"low_us\": 80, \"high_us\": 120, \"doubt\": "
                  "{\"shared\": [0.5, -1, 0, 0, 0, 9.9], \"rest\": 0.25, \"way\": 3, \"detail\": 8}");
    assert_int_equal(r->count, 1);
    const struct bench_doubt *d = r->items[0].doubt;
    assert_true(d && d->shared[0] == 0.5 && d->shared[1] == -1 && d->shared[5] == 9.9 && d->rest == 0.25);
    assert_true(d->way == 3 && d->detail == 8);
    bench_results_free(r);
    r = predicted("[100], \"low_us\": 80, \"high_us\": 120, \"doubt\": {}");
    d = r->items[0].doubt;
    assert_true(d && d->rest == 0 && d->way == -1 && d->detail == -1);
    bench_results_free(r);
}

/* What disturbed the measurement is a line of its own, between measurements, and joins what was known. */
TEST_CASE(keeps_noise)
{
    struct err e;
    struct bench_journal j;
    struct bench_result r = sample();
    struct arena *a = arena_new();
    struct findings noise = {.arena = a};
    unlink(path);
    assert_int_equal(bench_journal_open(&j, path, "", 0, 0, NULL, &e), 0);
    assert_int_equal(bench_journal_append_noise(&j, &noise, &e), 0);
    assert_int_equal(j.results->lines, 1);
    finding_add(&noise, FINDING_WARNING, "gpu-heat", "GPU 3", "it is hot")->advice = "fans";
    finding_add(&noise, FINDING_OK, "default-repeats", NULL, "0.4 %%");
    assert_int_equal(bench_journal_append_noise(&j, &noise, &e), 0);
    assert_int_equal(bench_journal_append(&j, &r, 1, &e), 0);
    assert_int_equal(j.results->noise.n, 2);
    bench_journal_close(&j);
    assert_int_equal(bench_journal_open(&j, path, "", 0, 1, NULL, &e), 0);
    noise.n = 0;
    finding_add(&noise, FINDING_WARNING, "default-repeats", NULL, "7.1 %%");
    assert_int_equal(bench_journal_append_noise(&j, &noise, &e), 0);
    bench_journal_close(&j);
    struct bench_results *read = bench_results_load(path, NULL, &e);
    assert_int_equal(read->count, 1);
    assert_int_equal(read->items[0].line, 3);
    assert_int_equal(read->noise.n, 2);
    assert_string_equal(read->noise.list[0].advice, "fans");
    assert_string_equal(read->noise.list[1].text, "7.1 %");
    assert_int_equal(read->noise.list[1].severity, FINDING_WARNING);
    bench_results_free(read);
    arena_free(a);
}

/* The first broken lines are named, the others counted; blank ones are none. */
TEST_CASE(many_broken_lines)
{
    for (int broken = 20; broken <= 22; broken++) {
        char text[512] = "{\"format\": \"nccltune-results/1\"}\n \t\r\n\n", expected[64];
        char *said = NULL;
        size_t n;
        struct err e;
        struct log log = {.out = open_memstream(&said, &n), .program = "x"};
        for (int i = 0; i < broken; i++)
            strcat(text, "{\"a\": 1}\n");
        put(text);
        struct bench_results *r = bench_results_load(path, &log, &e);
        assert_non_null(r);
        assert_int_equal(r->count, 0);
        fclose(log.out);
        int lines = 0;
        for (const char *p = said; (p = strstr(p, "; line skipped\n")); p++)
            lines++;
        assert_int_equal(lines, 20);
        assert_non_null(strstr(said, "r.jsonl:4"));
        assert_non_null(strstr(said, "r.jsonl:23"));
        assert_null(strstr(said, "r.jsonl:24"));
        snprintf(expected, sizeof expected, "r.jsonl: %d more broken lines skipped\n", broken - 20);
        assert_true((strstr(said, "more broken lines") != NULL) == (broken > 20));
        assert_true((strstr(said, expected) != NULL) == (broken > 20));
        free(said);
        bench_results_free(r);
    }
}

/* A hash is 64 hexadecimal digits, in small letters, or none. */
TEST_CASE(headers)
{
#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"
    static const struct {
        const char *hash;
        int rc;
    } cases[] = {{"", 0},
                 {DIGITS "f", 0},
                 {DIGITS, ERR_FAILED},
                 {DIGITS "ff", ERR_FAILED},
                 {DIGITS "F", ERR_FAILED},
                 {DIGITS "g", ERR_FAILED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        struct err e = {0};
        snprintf(text, sizeof text, "{\"format\": \"nccltune-results/1\", \"topology\": \"%s\"}", cases[i].hash);
        struct bench_results *r = bench_results_parse("r.jsonl", text, strlen(text), NULL, &e);
        assert_int_equal(r ? 0 : e.code, cases[i].rc);
        assert_string_equal(r ? r->topology : "before", cases[i].rc ? "before" : cases[i].hash);
        bench_results_free(r);
        if (cases[i].rc)
            assert_string_equal(e.text, "r.jsonl:1: expected \"topology\": a SHA-256 of 64 hex digits");
    }
    put("{\"format\": \"nccltune-results/1\"}"); /* no end of line */
    struct err e;
    struct bench_results *r = bench_results_load(path, NULL, &e);
    assert_non_null(r);
    assert_string_equal(r->topology, "");
    bench_results_free(r);
}

/* What the first line holds, and what a resumed run makes of it. */
TEST_CASE(begins_and_goes_on)
{
    static const char *const rest = ",\"tool\":\"";
    struct arena *a = arena_new();
    struct bench_journal j;
    struct err e;
    char *text;
    for (int known = 0; known < 2; known++) {
        unlink(path);
        assert_int_equal(bench_journal_open(&j, path, known ? DIGITS "f" : NULL, 0, 0, NULL, &e), 0);
        assert_string_equal(j.results->topology, known ? DIGITS "f" : "");
        assert_int_equal(j.results->lines, 1);
        bench_journal_close(&j);
        assert_int_equal(j.fd, -1);
        bench_journal_close(&j);
        text = get(a);
        const char *head = known ? "{\"format\":\"nccltune-results/1\",\"topology\":\"" DIGITS "f\""
                                 : "{\"format\":\"nccltune-results/1\"";
        assert_memory_equal(text, head, strlen(head));
        assert_memory_equal(text + strlen(head), rest, strlen(rest));
        assert_string_equal(text + strlen(text) - 3, "\"}\n");
        /* Either side may not know its topology. */
        assert_int_equal(bench_journal_open(&j, path, known ? "" : DIGITS "f", 0, 1, NULL, &e), 0);
        assert_string_equal(j.results->topology, known ? DIGITS "f" : "");
        assert_int_equal(j.results->lines, 1);
        bench_journal_close(&j);
        assert_int_equal(bench_journal_open(&j, path, NULL, 0, 1, NULL, &e), 0);
        bench_journal_close(&j);
        assert_string_equal(get(a), text);
    }
    put("{\"format\":\"nccltune-results/1\"}\n\n{\"broken\": 1}\n{\"cut");
    assert_int_equal(bench_journal_open(&j, path, "", 0, 1, NULL, &e), 0);
    assert_int_equal(j.results->lines, 3); /* and the next one is the fourth */
    struct bench_result x = sample();
    assert_int_equal(bench_journal_append(&j, &x, 1, &e), 0);
    assert_int_equal(j.results->lines, 4);
    assert_int_equal(j.results->items[0].line, 4);
    bench_journal_close(&j);
    put("something else"); /* without an end of line, and none of ours */
    assert_int_equal(bench_journal_open(&j, path, "", 0, 1, NULL, &e), ERR_FAILED);
    assert_string_equal(get(a), "something else");
    assert_int_equal(j.fd, -1);
    put("{\"format\":\"nccltune-results/2\"}\n");
    assert_int_equal(bench_journal_open(&j, path, "", 0, 1, NULL, &e), ERR_FAILED);
    arena_free(a);
}

/* Somebody removes the file, or puts another one in its place: nothing is written where nobody reads it. */
TEST_CASE(a_file_that_goes_away)
{
    for (int replaced = 0; replaced < 2; replaced++) {
        struct arena *a = arena_new();
        struct bench_journal j;
        struct err e;
        struct bench_result x = sample();
        struct findings noise = {.arena = a};
        unlink(path);
        assert_int_equal(bench_journal_open(&j, path, "", 0, 0, NULL, &e), 0);
        unlink(path);
        if (replaced)
            put("another\n");
        finding_add(&noise, FINDING_OK, "x", NULL, "y");
        assert_int_equal(bench_journal_append_noise(&j, &noise, &e), ERR_FAILED);
        assert_int_equal(bench_journal_append(&j, &x, 1, &e), ERR_FAILED);
        assert_non_null(strstr(e.text, "r.jsonl: was removed or replaced while it was being written"));
        assert_int_equal(j.results->count, 0);
        assert_int_equal(j.results->noise.n, 0);
        assert_int_equal(j.results->lines, 1);
        if (replaced)
            assert_string_equal(get(a), "another\n");
        bench_journal_close(&j);
        arena_free(a);
    }
}

/* Journals of every kind of end: whole, cut off, another's, resumed, full. */
static void every_journal_once(void)
{
    struct bench_journal j;
    struct err e;
    struct bench_result x = sample();
    struct arena *a = arena_new();
    struct findings noise = {.arena = a};
    finding_add(&noise, FINDING_OK, "x", NULL, "y");
    unlink(path);
    assert_int_equal(bench_journal_open(&j, path, "", 0, 0, NULL, &e), 0);
    assert_int_equal(bench_journal_append(&j, &x, 1, &e), 0);
    assert_int_equal(bench_journal_append_noise(&j, &noise, &e), 0);
    bench_journal_close(&j);
    assert_int_equal(bench_journal_open(&j, path, "", 0, 0, NULL, &e), ERR_FAILED);
    assert_int_equal(bench_journal_open(&j, path, "", 0, 1, NULL, &e), 0);
    unlink(path);
    assert_int_equal(bench_journal_append(&j, &x, 1, &e), ERR_FAILED);
    assert_int_equal(bench_journal_append_noise(&j, &noise, &e), ERR_FAILED);
    bench_journal_close(&j);
    put("{\"format\":\"nccltune-res");
    assert_int_equal(bench_journal_open(&j, path, "", 0, 1, NULL, &e), 0);
    bench_journal_close(&j);
    put("{\"format\":\"nccltune-results/2\"}\n");
    assert_int_equal(bench_journal_open(&j, path, "", 0, 1, NULL, &e), ERR_FAILED);
    assert_int_equal(bench_journal_open(&j, "/dev/full", "", 0, 0, NULL, &e), ERR_FAILED);
    arena_free(a);
}

TEST_CASE(nothing_is_kept)
{
    assert_keeps_nothing(every_journal_once());
}

TEST_CASES_WITHIN(test_results, make_dir, remove_dir)
