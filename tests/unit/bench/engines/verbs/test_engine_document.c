/* bench/engines/verbs/engine.c: what becomes of a measured fabric. Measuring is a double (all of
 * run.h), which gives the fabrics that the test has made up. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/engines/verbs/engine.h"
#include "bench/engines/verbs/run.h"
#include "core/json.h"
#include "tests/lib/folder.h"
#include "tests/lib/unit.h"
#include "tests/unit/bench/made_up_fabric.h"

static struct err e;
static volatile sig_atomic_t stop;

/* What measuring comes to, one after the other. */
static struct verbs_fabric *fabrics[6];
static const char *why_not;
static int nruns, is_worth, stops;
static struct verbs_task asked;

struct verbs_fabric *verbs_run(const struct verbs_task *o, volatile sig_atomic_t *stop_, struct err *why)
{
    asked = *o;
    asked.ports = arena_strdup(arena, o->ports);
    asked.journal = arena_strdup(arena, o->journal);
    if (stop_ && stops)
        *stop_ = 1;
    if (why_not)
        err_set(why, ERR_LACKS, "%s", why_not);
    return why_not ? NULL : fabrics[nruns++];
}

int verbs_worth(const struct bench_setup *s)
{
    (void)s;
    return is_worth;
}

/* ---- a directory ---- */

static int is_there(const char *name)
{
    return !access(at(name), F_OK);
}

static int begin(void **state)
{
    arena = arena_new();
    strcpy(dir, "/tmp/test_document_XXXXXX");
    e = (struct err){0};
    why_not = NULL;
    nruns = stops = stop = 0;
    is_worth = 1;
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", dir);
    arena_free(arena);
    return system(command);
}

static int rails_fail(struct verbs_try t)
{
    return t.from.rail == 1 || t.to.rail == 1;
}

static int all_fail(struct verbs_try t)
{
    (void)t;
    return 1;
}

/* Two nodes with two ports each. */
static struct verbs_fabric *fabric(int (*bad)(struct verbs_try t), double slow_GBps, int complete)
{
    struct verbs_fabric *f = make(&(struct world){2, 2, bad, slow_GBps});
    f->complete = complete;
    return f;
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text);
}

/* ---- a document ---- */

static struct log said;

static int document(const struct verbs_options *own, const char *path, int resume, int json)
{
    struct bench_setup setup = {.own = own, .log = &said};
    said = (struct log){.out = fopen(at("log"), "w"), .program = "test"};
    struct bench_document d = {.setup = &setup,
                               .path = path,
                               .budget_s = 90,
                               .resume = resume,
                               .json = json,
                               .out = fopen(at("said"), "w"),
                               .stop = &stop};
    e = (struct err){0};
    int code = bench_engine_verbs.documents->make(&d, &e);
    fclose(d.out);
    fclose(said.out);
    return code;
}

TEST_CASE(a_fabric_is_written_and_printed)
{
    const struct verbs_options own = {.ports = "P", .schedule = "reach"};
    fabrics[0] = fabric(NULL, 0, 1);
    assert_int_equal(document(&own, at("f.json"), 0, 0), 0);
    assert_string_equal(asked.ports, "P");
    assert_string_equal(asked.schedule, "reach");
    assert_string_equal(asked.journal, at("f.json.journal"));
    assert_true(asked.budget_s == 90 && !asked.resume && !asked.brief);
    assert_says(got("said"), "No faults: all 12 tries worked.");
    assert_string_equal(got("log"), "");
    struct verbs_fabric *f = verbs_fabric_load(at("f.json"), &e);
    assert_true(f && f->ntries == 12);
    verbs_fabric_free(f);
    fabrics[1] = fabric(NULL, 0, 1);
    assert_int_equal(document(NULL, NULL, 1, 0), 0); /* nowhere, and without a journal */
    assert_true(!asked.journal && !asked.ports && !asked.schedule && asked.resume);
    fabrics[2] = fabric(NULL, 0, 1);
    assert_int_equal(document(NULL, "/dev/null", 0, 0), 0);
    assert_null(asked.journal);
}

TEST_CASE(what_is_broken_or_missing_ends_with_1)
{
    fabrics[0] = fabric(rails_fail, 0, 1);
    assert_int_equal(document(NULL, at("f.json"), 0, 0), ERR_FAILED);
    assert_string_equal(e.text, "");
    assert_says(got("said"), "Faults:");
    fabrics[1] = fabric(NULL, 0, 0);
    assert_int_equal(document(NULL, at("f.json"), 0, 0), ERR_FAILED);
    assert_string_equal(
        got("log"), "test: warning: incomplete: the budget of 90 s ended, or it was interrupted; --resume goes on\n");
    fabrics[2] = fabric(NULL, 0, 0);
    assert_int_equal(document(NULL, NULL, 0, 0), ERR_FAILED);
    assert_string_equal(got("log"), "test: warning: incomplete: the budget of 90 s ended, or it was interrupted\n");
    why_not = "no port";
    assert_int_equal(document(NULL, at("f.json"), 0, 0), ERR_LACKS);
    assert_string_equal(e.text, "no port");
    assert_string_equal(got("log"), "");
}

TEST_CASE(what_cannot_be_written)
{
    fabrics[0] = fabric(NULL, 0, 1);
    assert_int_equal(document(NULL, "/no/where.json", 0, 0), ERR_FAILED);
    assert_says(e.text, "/no/where.json");
    assert_string_equal(got("said"), "");
    struct bench_setup setup = {.own = NULL};
    struct bench_document d = {.setup = &setup, .out = fopen("/dev/full", "w")};
    fabrics[1] = fabric(NULL, 0, 1);
    assert_int_equal(bench_engine_verbs.documents->make(&d, &e), ERR_FAILED);
    assert_says(e.text, "standard output cannot be written");
    fclose(d.out);
}

/* What was finished is not measured again; what was begun is. */
TEST_CASE(a_document_that_is_there)
{
    fabrics[0] = fabric(NULL, 0, 1);
    fabrics[1] = fabric(NULL, 0, 1);
    fabrics[2] = fabric(NULL, 0, 1);
    assert_int_equal(document(NULL, at("f.json"), 1, 0), 0);
    assert_int_equal(nruns, 1);
    assert_int_equal(document(NULL, at("f.json"), 1, 0), 0);
    assert_int_equal(nruns, 1);
    assert_says(got("said"), "all 12 tries worked");
    assert_int_equal(document(NULL, at("f.json"), 0, 0), 0);
    assert_int_equal(nruns, 2);
    put("f.json.journal", "");
    assert_int_equal(document(NULL, at("f.json"), 1, 0), 0);
    assert_int_equal(nruns, 3);
}

/* ---- a check ---- */

static int as_json;

/* The same at each of the six looks that a check takes. */
static void slow_at_every_look(void)
{
    for (int i = 0; i < 6; i++)
        fabrics[i] = fabric(NULL, 12, 1);
}

static int check(const char *profile, const char *ports, double margin)
{
    const struct verbs_options own = {.check = profile, .ports = ports, .schedule = "brief-matrix"};
    struct bench_setup setup = {.own = &own};
    struct bench_document d = {.setup = &setup,
                               .budget_s = 90,
                               .margin = margin,
                               .out = fopen(at("said"), "w"),
                               .json = as_json,
                               .stop = &stop};
    e = (struct err){0};
    nruns = 0;
    int code = bench_engine_verbs.documents->make(&d, &e);
    fclose(d.out);
    return code;
}

TEST_CASE(against_a_profile)
{
    struct verbs_fabric *then = fabric(NULL, 0, 1);
    assert_int_equal(verbs_fabric_save(then, at("fabric.json"), &e), 0);
    verbs_fabric_free(then);
    fabrics[0] = fabric(NULL, 0, 1);
    assert_int_equal(check(dir, NULL, -1), 0);
    assert_string_equal(got("said"), arena_printf(arena, "Nothing is worse than in %s: 12 tries compared.\n", dir));
    assert_string_equal(asked.ports, "mlx5_0:1,mlx5_1:1");
    assert_string_equal(asked.schedule, "brief-matrix");
    assert_true(asked.brief && asked.budget_s == 90 && !asked.journal && nruns == 1);
    /* What seems worse is looked at again, and what was in the way once is forgiven. */
    fabrics[0] = fabric(NULL, 12, 1);
    fabrics[1] = fabric(NULL, 0, 1);
    assert_int_equal(check(at("fabric.json"), "Q", -1), 0);
    assert_int_equal(nruns, 2);
    assert_string_equal(asked.ports, "Q");
    assert_says(got("said"), "Nothing is worse than in ");
    slow_at_every_look();
    assert_int_equal(check(dir, NULL, -1), ERR_FAILED);
    assert_string_equal(e.text, "");
    assert_says(got("said"), arena_printf(arena, "Worse than in %s:\n  n0 mlx5_1:1", dir));
    assert_int_equal(nruns, 6);
    fabrics[0] = fabric(NULL, 12, 1);
    assert_int_equal(check(dir, NULL, 0.6), 0); /* half is allowed, */
    slow_at_every_look();
    assert_int_equal(check(dir, NULL, 0.4), ERR_FAILED); /* or it is not */
}

TEST_CASE(what_cannot_be_compared)
{
    assert_int_equal(check(dir, NULL, -1), ERR_FAILED);
    assert_says(e.text, "has no fabric.json to compare with");
    assert_int_equal(check(at("other.json"), NULL, -1), ERR_FAILED);
    assert_says(e.text, at("other.json"));
    struct verbs_fabric *then = fabric(NULL, 0, 1);
    assert_int_equal(verbs_fabric_save(then, at("fabric.json"), &e), 0);
    verbs_fabric_free(then);
    fabrics[0] = fabric(NULL, 0, 0);
    assert_int_equal(check(dir, NULL, -1), ERR_FAILED);
    assert_string_equal(e.text, "incomplete within the budget of 90 s");
    why_not = "no port";
    assert_int_equal(check(dir, NULL, -1), ERR_LACKS);
    assert_string_equal(e.text, "no port");
    assert_string_equal(got("said"), "");
}

/* ---- for programs ---- */

/* What goes to standard output meanwhile. */
static const char *printed(int (*run)(void), int code)
{
    int saved = dup(1), file = open(at("out"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    fflush(stdout);
    dup2(file, 1);
    int got_code = run();
    fflush(stdout);
    dup2(saved, 1);
    close(file);
    close(saved);
    assert_int_equal(got_code, code);
    assert_string_equal(got("said"), "");
    return got("out");
}

static int json_document(void)
{
    return document(NULL, NULL, 0, 1);
}

static int json_check(void)
{
    as_json = 1;
    int code = check(dir, NULL, -1);
    as_json = 0;
    return code;
}

TEST_CASE(as_documents)
{
    fabrics[0] = fabric(NULL, 0, 1);
    assert_int_equal(verbs_fabric_save(fabrics[0], at("fabric.json"), &e), 0);
    assert_string_equal(printed(json_document, 0), got("fabric.json"));
    fabrics[0] = fabric(NULL, 0, 1);
    cJSON *doc = cJSON_Parse(printed(json_check, 0));
    assert_true(cJSON_GetObjectItem(doc, "compared")->valueint == 12);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(doc, "worse")), 0);
    cJSON_Delete(doc);
    slow_at_every_look();
    doc = cJSON_Parse(printed(json_check, ERR_FAILED));
    assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(doc, "worse")) > 0);
    cJSON_Delete(doc);
}

/* ---- a survey ---- */

static int made;

static int survey(int resume)
{
    struct bench_setup setup = {.log = &said};
    struct bench_document d = {
        .setup = &setup, .path = at("fabric.json"), .budget_s = 90, .resume = resume, .stop = &stop};
    said = (struct log){.out = fopen(at("log"), "w"), .program = "test"};
    e = (struct err){0};
    made = -1;
    int code = bench_engine_verbs.documents->survey(&d, &made, &e);
    fclose(said.out);
    return code;
}

#define TRYING "test: testing which network ports reach which\n"

TEST_CASE(before_collectives)
{
    put("fabric.json.journal", "x");
    fabrics[0] = fabric(NULL, 0, 1);
    assert_int_equal(survey(0), 0);
    assert_true(made == 1 && is_there("fabric.json") && !is_there("fabric.json.journal"));
    assert_string_equal(got("log"), TRYING "test: fabric: all 12 tried pairs of RDMA ports work\n");
    assert_string_equal(asked.journal, at("fabric.json.journal"));
    assert_true(asked.budget_s == 90 && !asked.resume);
    assert_int_equal(survey(1), 0); /* it is complete */
    assert_true(made == 1 && nruns == 1);
    assert_string_equal(got("log"), "");
    fabrics[1] = fabric(all_fail, 0, 0);
    assert_int_equal(survey(0), 0);
    assert_int_equal(made, 1);
    assert_says(got("log"), TRYING "test: warning: not all pairs of the fabric were measured within 90 s; --budget "
                                   "gives more\ntest: warning: fabric: ");
    assert_says(got("log"), "test: warning: NO RDMA CONNECTION WORKS: jobs will use TCP sockets (NCCL_IB_DISABLE=1), "
                            "many times slower\n");
    assert_null(strstr(got("log"), "ports work"));
    fabrics[2] = fabric(NULL, 0, 1);
    assert_int_equal(survey(1), 0); /* what is there is not */
    assert_int_equal(nruns, 3);
    assert_true(asked.resume);
}

TEST_CASE(what_a_person_should_know)
{
    fabrics[0] = fabric(NULL, 0, 1);
    fabrics[0]->ports[3].rate_Gbps = 100;
    fabrics[0]->ntries = 8;
    assert_int_equal(survey(0), 0);
    assert_says(got("log"), "test: warning: fabric: n1 mlx5_1:1: a rate of 100 Gb/s, 3 others have 200\n");
    fabrics[1] = verbs_fabric_new(2, 0);
    fabrics[1]->complete = 1;
    assert_int_equal(survey(0), 0);
    assert_says(got("log"), "test: fabric: these nodes have no RDMA port that is up\n");
    assert_null(strstr(got("log"), "ports work"));
    fabrics[2] = fabric(NULL, 0, 1);
    fabrics[2]->ntries = 0;
    assert_int_equal(survey(0), 0);
    assert_says(got("log"), "test: warning: fabric: not tried: ");
    assert_null(strstr(got("log"), "ports work"));
}

TEST_CASE(where_nothing_is_measured)
{
    put("fabric.json", "old");
    put("fabric.json.journal", "x");
    is_worth = 0;
    assert_int_equal(survey(0), 0);
    assert_true(made == 0 && !is_there("fabric.json") && !is_there("fabric.json.journal"));
    assert_string_equal(got("log"), "");
    is_worth = 1;
    why_not = "no route";
    put("fabric.json.journal", "x");
    assert_int_equal(survey(0), 0);
    assert_true(made == 0 && !is_there("fabric.json.journal"));
    assert_string_equal(got("log"), TRYING "test: warning: the fabric was not measured: no route\n");
    put("fabric.json.journal", "x");
    stops = 1; /* what was learnt stays for who goes on */
    assert_int_equal(survey(0), 0);
    assert_true(made == 0 && is_there("fabric.json.journal"));
    assert_string_equal(got("log"), TRYING);
    why_not = NULL;
    stop = 0;
    fabrics[0] = fabric(NULL, 0, 0);
    assert_int_equal(survey(0), 0);
    assert_true(made == 0 && is_there("fabric.json.journal") && !is_there("fabric.json"));
    assert_string_equal(got("log"), TRYING);
    stop = stops = 0;
    fabrics[1] = fabric(NULL, 0, 1);
    assert_int_equal(mkdir(at("fabric.json"), 0700), 0);
    put("fabric.json/x", "x");
    assert_int_equal(survey(0), ERR_FAILED); /* it cannot be written */
    assert_int_equal(made, 0);
}

TEST_CASES_EACH(main, begin, end)
