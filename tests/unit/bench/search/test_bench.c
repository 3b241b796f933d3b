/* bench/search's front door: options that make no sense, and what is missing, are told before anything is touched. */
#include <sys/stat.h>
#include <unistd.h>

#include "bench/search/bench.h"
#include "core/coll.h"
#include "core/json.h"
#include "tests/lib/in_use.h"
#include "tests/lib/unit.h"

TEST_CASE(defaults)
{
    struct bench_options o;
    bench_options_default(&o);
    assert_string_equal(o.engine, "mpi");
    assert_int_equal(o.min_bytes, 8);
    assert_int_equal(o.max_bytes, 16 << 20);
    assert_true(o.collectives & 1u << COLL_ALLREDUCE);
    assert_false(o.collectives & 1u << COLL_REDUCE);
    assert_true(o.budget_s > 0 && o.watchdog_s > 0);
}

TEST_CASE(options_that_make_no_sense)
{
    struct bench_options good, bad[8];
    bench_options_default(&good);
    good.results = "/nonexistent/r.jsonl";
    for (int i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].engine = "magic";
    bad[1].collectives = 0;
    bad[2].min_bytes = 0;
    bad[3].min_bytes = good.max_bytes + 1;
    bad[4].max_bytes = 2ull << 30;
    bad[5].step_factor = 1;
    bad[6].budget_s = 0;
    bad[7].watchdog_s = -1;
    for (int i = 0; i < 8; i++) {
        struct err e = {0};
        assert_int_equal(bench_run(&bad[i], NULL, NULL, NULL, NULL, NULL, &e), ERR_USAGE);
        assert_true(*e.text);
        assert_null(bench_plan_json(&bad[i], NULL, NULL, &e));
        assert_int_equal(e.code, ERR_USAGE);
    }
}

TEST_CASE(listed_sizes_ascend)
{
    static const struct bench_size_list wrong[] = {{1, {0}}, {2, {8, 8}}, {2, {64, 8}}, {1, {(uint64_t)2 << 30}}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct err e = {0};
        struct bench_options o;
        bench_options_default(&o);
        o.sizes = wrong[i];
        assert_int_equal(bench_run(&o, NULL, NULL, NULL, NULL, NULL, &e), ERR_USAGE);
        assert_non_null(strstr(e.text, "listed sizes"));
    }
}

TEST_CASE(a_workload_must_call_something)
{
    char path[] = "/tmp/test_bench_XXXXXX";
    static const char text[] = "{\"format\": \"nccltune-workload/1\", \"ranks\": 8, \"phases\": [{\"name\": \"step\", "
                               "\"collectives\": [{\"collective\": \"sendrecv\", \"bytes\": 64, \"count\": 1, "
                               "\"group_size\": 2}]}]}";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    struct bench_options o;
    struct err e = {0};
    bench_options_default(&o);
    o.results = "/nonexistent/r.jsonl";
    o.workload = "/nonexistent/w.json";
    assert_int_equal(bench_run(&o, NULL, NULL, NULL, NULL, NULL, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "/nonexistent/w.json"));
    o.workload = path;
    assert_int_equal(bench_run(&o, NULL, NULL, NULL, NULL, NULL, &e), ERR_USAGE);
    assert_non_null(strstr(e.text, "calls none of the requested collectives"));
    assert_null(bench_plan_json(&o, NULL, NULL, &e));
    assert_int_equal(e.code, ERR_USAGE);
    unlink(path);
}

TEST_CASE(what_is_missing_leaves_no_journal)
{
    char dir[] = "/tmp/test_bench_XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/r.jsonl", dir);
    struct bench_options o;
    struct bench_summary summary;
    struct err e = {0};
    bench_options_default(&o);
    o.results = path;
    setenv("NCCLTUNE_BENCH", "/nonexistent/nccltune-bench", 1);
    assert_int_equal(bench_run(&o, NULL, NULL, NULL, &summary, NULL, &e), ERR_LACKS);
    assert_non_null(strstr(e.text, "/nonexistent/nccltune-bench"));
    setenv("NCCLTUNE_BENCH", "/bin/true", 1);
    o.setup.mpirun = "no-such-mpirun";
    assert_int_equal(bench_run(&o, NULL, NULL, NULL, &summary, NULL, &e), ERR_LACKS);
    assert_non_null(strstr(e.text, "no-such-mpirun"));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(summary.measured, 0);
    rmdir(dir);
}

/* A plan of every kind, for people. */
TEST_CASE(a_plan_in_words)
{
    static const char *const plans[] = {
        "{\"engine\":\"e\",\"library\":\"L 1\",\"description\":\"a formula\",\"launches\":[\"default\",\"x=1\"],"
        "\"beside\":[\"b\",\"c\"],\"collectives\":{\"allreduce\":{\"calls\":[\"default\",\"ring\"],\"refinements\":1},"
        "\"broadcast\":{\"calls\":[\"default\"],\"refinements\":0}},\"sizes\":[8,1024],"
        "\"time\":[{\"start_s\":1,\"time_s\":60,\"enough_s\":90,\"points\":4,\"launches\":2},{\"start_s\":5,"
        "\"time_s\":60,\"enough_s\":60,\"points\":4,\"launches\":2}]}",
        "{\"engine\":\"m\",\"library\":\"L 2\",\"description\":\"none\",\"launches\":[\"default\"],"
        "\"collectives\":{\"alltoall\":{\"calls\":[\"default\"]}},\"sizes\":[4096]}",
    };
    static const char *const texts[] = {
        "engine       e (L 1): a formula\n"
        "launches     default x=1\n"
        "with the best b c\n"
        "allreduce    default ring, and 1 refinements of those that come close\n"
        "broadcast    default\n"
        "sizes        8 B, 1 KiB\n"
        "time         by the duration of the first start\n"
        "  1 s a start: 1 min 30 s is enough for 4 points and 2 launches; the budget is 60 s\n"
        "  5 s a start: 60 s is enough for 4 points and 2 launches\n"
        "  and at most three quarters as long to leave out each setting of the winning launch\n",
        "engine       m (L 2): none\n"
        "launches     default\n"
        "alltoall     default\n"
        "sizes        4 KiB\n",
    };
    for (int i = 0; i < 2; i++) {
        char text[2048] = "";
        FILE *out = fmemopen(text, sizeof text, "w");
        cJSON *plan = cJSON_Parse(plans[i]);
        assert_non_null(plan);
        bench_plan_print(plan, out);
        fclose(out);
        cJSON_Delete(plan);
        assert_string_equal(text, texts[i]);
    }
}

/* ---- over a worker that is a script ---- */

static char scripts[] = "/dev/shm/test_bench_XXXXXX"; /* every line is brought to disk */

static const char *script(const char *name, const char *text)
{
    static char path[2][64];
    static int next;
    char *p = path[next++ % 2];
    snprintf(p, sizeof path[0], "%s/%s", scripts, name);
    FILE *f = fopen(p, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(chmod(p, 0755), 0);
    return p;
}

/* Every first call of a request takes 100 us, others 50; mpirun starts what stands last on its command line. */
static int make_scripts(void **state)
{
    strcpy(scripts, "/dev/shm/test_bench_XXXXXX");
    if (!mkdtemp(scripts))
        return -1;
    setenv(
        "NCCLTUNE_BENCH",
        script("worker",
               "#!/bin/sh\n"
               "[ \"$1\" = --describe ] && { echo '{\"library\":\"Open MPI 9\",\"variables\":{"
               "\"coll_tuned_allreduce_algorithm\":{\"ring\":4,\"tree\":5}}}'; exit; }\n"
               "echo '{\"hello\":{\"library\":\"Open MPI 9\",\"nodes\":1,\"ranks\":2}}'\n"
               "while read -r line; do\n"
               "  s=${line#*\\\"samples\\\":}; s=${s%%,*}\n"
               "  while [ $s -gt 0 ]; do\n"
               "    s=$((s - 1)); i=0; rest=$line; us=100\n"
               "    while case $rest in *'\"settings\"'*) ;; *) false ;; esac; do\n"
               "      echo \"{\\\"call\\\":$i,\\\"us\\\":$us.$s}\"; rest=${rest#*'\"settings\"'}; i=$((i + 1)); us=50\n"
               "    done\n"
               "  done\n"
               "  echo '{\"done\":true}'\n"
               "done\n"),
        1);
    return 0;
}

static int remove_scripts(void **state)
{
    static const char *const names[] = {"worker", "mpirun", "w.json", "r.jsonl"};
    char path[64];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", scripts, names[i]);
        unlink(path);
    }
    return rmdir(scripts);
}

static struct bench_options scripted(void)
{
    struct bench_options o;
    bench_options_default(&o);
    o.collectives = 1u << COLL_ALLREDUCE;
    o.sizes = (struct bench_size_list){2, {8, 1024}};
    o.setup.mpirun = script("mpirun", "#!/bin/sh\nfor a; do last=$a; done\nexec \"$last\"\n");
    o.setup.ranks_per_node = 2;
    o.budget_s = 20;
    return o;
}

static char *plan_text(const struct bench_options *o)
{
    struct err e = {0};
    char *said = NULL;
    size_t n;
    FILE *out = open_memstream(&said, &n);
    struct log log = {.out = out, .program = "x"};
    cJSON *plan = bench_plan_json(o, NULL, &log, &e);
    if (plan) {
        char *json = cJSON_PrintUnformatted(plan);
        fprintf(out, "%s\n", json);
        free(json);
        cJSON_Delete(plan);
    } else
        fprintf(out, "%d: %s\n", e.code, e.text);
    fclose(out);
    return said;
}

static void plan_is(const struct bench_options *o, const char *expected)
{
    char *text = plan_text(o);
    if (strcmp(text, expected) != 0)
        fail_msg("%s", text);
    free(text);
}

#define PLAN_HEAD                                                                                                   \
    "{\"engine\":\"mpi\",\"library\":\"Open MPI 9\",\"description\":\"collectives on host memory through OpenMPI, " \
    "over its "                                                                                                     \
    "algorithms and network "                                                                                       \
    "interfaces\",\"launches\":[\"default\"],\"collectives\":{\"allreduce\":{\"calls\":[\"default\","
#define ROW(start, points) "{\"start_s\":" start ",\"time_s\":60,\"enough_s\":%s,\"points\":" points ",\"launches\":0}"

TEST_CASE(what_would_be_done)
{
    struct bench_options o = scripted();
    char expected[2048];
    o.budget_s = 60;
    snprintf(expected, sizeof expected,
             PLAN_HEAD "\"ring\",\"tree\"],\"refinements\":0}},\"sizes\":[8,1024],\"time\":[" ROW("1", "2") "," ROW(
                 "5", "2") "," ROW("30", "2") "]}\n",
             "60", "60", "182");
    plan_is(&o, expected);
    o.shapes =
        (struct bench_shape_list){.count = 3, .items = {{2, 4}, {1, 2}, {2, 2}}}; /* every shape has its points */
    snprintf(expected, sizeof expected,
             PLAN_HEAD "\"ring\",\"tree\"],\"refinements\":0}},\"sizes\":[8,1024],\"shapes\":[\"2x2\",\"1x2\",\"2x1\"],"
                       "\"time\":[" ROW("1", "6") "," ROW("5", "6") "," ROW("30", "6") "]}\n",
             "60", "60", "186");
    plan_is(&o, expected);
    o.shapes.count = 0;
    o.budget_open = 1;
    char *text = plan_text(&o);
    assert_non_null(strstr(text, "{\"start_s\":30,\"time_s\":182,\"enough_s\":182,"));
    free(text);
    o.budget_open = 0;
    o.collectives |= 1u << COLL_REDUCE;
    plan_is(&o, "2: the mpi engine does not measure reduce\n");
}

/* Of a workload's collectives those are left out that the engine does not have, and an error where none is left. */
TEST_CASE(a_workload_with_more_than_the_engine_has)
{
    static const char call[] = "{\"collective\": \"%s\", \"bytes\": 4096, \"count\": 1, \"group_size\": 2}";
    struct bench_options o = scripted();
    char text[1024], first[128], second[128], expected[256];
    for (int both = 0; both < 2; both++) {
        snprintf(first, sizeof first, call, "reduce");
        snprintf(second, sizeof second, call, "allreduce");
        snprintf(
            text, sizeof text,
            "{\"format\": \"nccltune-workload/1\", \"ranks\": 2, \"phases\": [{\"name\": \"step\", \"collectives\": [%s"
            "%s%s]}]}",
            first, both ? ", " : "", both ? second : "");
        o.sizes.count = 0;
        o.collectives = 1u << COLL_ALLREDUCE | 1u << COLL_REDUCE;
        o.workload = script("w.json", text);
        if (both) {
            char *said = plan_text(&o);
            snprintf(expected, sizeof expected,
                     "x: %s/w.json: its reduce is left out: the mpi engine does not measure it\n", scripts);
            assert_memory_equal(said, expected, strlen(expected));
            assert_non_null(strstr(said, "\"sizes\":[4096]"));
            free(said);
        } else
            plan_is(&o, "2: the mpi engine does not measure reduce\n");
    }
}

/* All of a run: its journal, what it tells, and who may have the measurements. */
TEST_CASE(a_whole_run)
{
    struct bench_options o = scripted();
    struct bench_summary first, second;
    struct bench_results *measured = NULL;
    struct err e = {0};
    char path[64];
    snprintf(path, sizeof path, "%s/r.jsonl", scripts);
    o.results = path;
    o.confidence = 0.9;
    if (bench_run(&o, NULL, NULL, NULL, &first, &measured, &e))
        fail_msg("%s", e.text);
    assert_non_null(measured);
    assert_true(first.measured >= 6 && first.resumed == 0 && first.troubled == 0 && first.left_out == 0);
    assert_int_equal(measured->count, first.measured);
    assert_true(measured->confidence == 0.9);
    int repeats = 0; /* what was found about the machine meanwhile is in the journal */
    for (int i = 0; i < measured->noise.n; i++)
        repeats |= !strcmp(measured->noise.list[i].id, "default-repeats");
    assert_true(repeats);
    for (int i = 0; i < measured->count; i++) {
        const struct bench_result *x = &measured->items[i];
        assert_true(x->nodes == 1 && x->ranks == 2 && (x->bytes == 8 || x->bytes == 1024));
        assert_string_equal(x->library, "Open MPI 9");
    }
    assert_int_equal(bench_run(&o, NULL, NULL, NULL, &second, &measured, &e), ERR_FAILED); /* it is there */
    assert_int_equal(measured->count, first.measured);
    o.resume = 1;
    if (bench_run(&o, NULL, NULL, NULL, &second, &measured, &e))
        fail_msg("%s", e.text);
    assert_int_equal(second.resumed, first.measured);
    assert_int_equal(measured->count, first.measured + second.measured);
    /* A budget that was given is for all of it; whoever gives another one means that. */
    double left_s = measured->items[measured->count - 1].left_s;
    assert_true(left_s >= 1 && left_s <= o.budget_s);
    for (int open = 0; open < 2; open++) {
        char *said = NULL;
        size_t n;
        FILE *out = open_memstream(&said, &n);
        struct log log = {.out = out, .program = "x"};
        o.budget_open = open;
        assert_int_equal(bench_run(&o, NULL, &log, NULL, NULL, NULL, &e), 0);
        fclose(out);
        assert_int_equal(strstr(said, " are left of this run's budget") != NULL, open);
        free(said);
    }
    o.budget_open = 0;
    bench_results_free(measured);
    o.setup.mpirun = "/bin/false";
    o.resume = 0;
    unlink(path);
    assert_int_equal(bench_run(&o, NULL, NULL, NULL, NULL, NULL, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "the launch exited with code 1"));
    struct bench_results *empty = bench_results_load(path, NULL, &e);
    assert_non_null(empty);
    assert_int_equal(empty->count + empty->noise.n, 0);
    bench_results_free(empty);
    /* Before the first result, too. */
    char *said = NULL;
    size_t n;
    FILE *out = open_memstream(&said, &n);
    struct log log = {.out = out, .program = "x"};
    o.resume = o.budget_open = 1;
    o.budget_s += 100;
    assert_int_equal(bench_run(&o, NULL, &log, NULL, NULL, NULL, &e), ERR_FAILED);
    fclose(out);
    assert_non_null(strstr(said, " are left of this run's budget"));
    free(said);
}

/* Plans and runs that come to nothing: of a launch that never starts, and of a journal that cannot be. */
static void one_of_each(const struct bench_options *o)
{
    struct err e;
    free(plan_text(o));
    assert_int_equal(bench_run(o, NULL, NULL, NULL, NULL, NULL, &e), ERR_FAILED);
    unlink(o->results);
}

TEST_CASE(nothing_is_kept)
{
    struct bench_options o = scripted();
    char path[64];
    snprintf(path, sizeof path, "%s/r.jsonl", scripts);
    o.results = path;
    o.setup.mpirun = "/bin/false";
    o.sizes.count = 0;
    o.workload = script("w.json", "{\"format\": \"nccltune-workload/1\", \"ranks\": 2, \"phases\": [{\"name\": "
                                  "\"step\", \"collectives\": [{\"collective\": \"allreduce\", \"bytes\": 4096, "
                                  "\"count\": 1, \"group_size\": 2}]}]}");
    assert_keeps_nothing(one_of_each(&o));
}

TEST_CASES_EACH(test_bench, make_scripts, remove_scripts)
