/* Verification: which rules of a table hold in new measurements, and the profile without the others. */
#include <sys/stat.h>

#include "core/coll.h"
#include "core/file.h"
#include "envgen/generate/generate.h"
#include "envgen/verify/verify.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

#define TOPOLOGY "tests/fixtures/envgen/topology.json"
#define HEAD     "{\"format\": \"nccltune-results/1\", \"topology\": \"\"}\n"

/* What the lines are of. */
static const char *engine = "nccl", *library = "NCCL 2.28.9";

static const char *line_of(struct arena *a, int bytes, const char *launch, const char *call, int round, double us)
{
    return arena_printf(a,
                        "{\"engine\": \"%s\", \"collective\": \"allreduce\", \"bytes\": %d, \"nodes\": 2, \"ranks\": "
                        "16, \"library\": \"%s\", \"launch\": %s, \"call\": %s, \"round\": %d, \"status\": "
                        "\"ok\", \"times_us\": [%g, %g, %g, %g, %g, %g, %g, %g]}\n",
                        engine, bytes, library, launch, call, round, us, us * 1.001, us * 0.999, us, us * 1.002, us,
                        us * 0.998, us);
}

/* Journal lines: eight samples around `us` in each of five sessions. */
static const char *line(struct arena *a, int bytes, const char *launch, const char *call, double us)
{
    static const double off[] = {1, 1.001, 0.999, 1.002, 0.998};
    const char *lines = "";
    for (int i = 0; i < 5; i++)
        lines = arena_printf(a, "%s%s", lines, line_of(a, bytes, launch, call, i + 1, us * off[(i + bytes) % 5]));
    return lines;
}

#define PLAIN   "{\"label\": \"default\", \"settings\": {}}"
#define BUFFER  "{\"label\": \"buffer=8M\", \"settings\": {\"NCCL_BUFFSIZE\": \"8388608\"}}"
#define TREE_LL "{\"label\": \"tree/ll\", \"settings\": {\"algorithm\": \"tree\", \"protocol\": \"ll\"}}"
#define RING    "{\"label\": \"ring/simple\", \"settings\": {\"algorithm\": \"ring\", \"protocol\": \"simple\"}}"

static const char *join(struct arena *a, const char *const *lines, int n)
{
    const char *text = HEAD;
    for (int i = 0; i < n; i++)
        text = arena_printf(a, "%s%s", text, lines[i]);
    return text;
}

static struct env_profile *profile_of(struct scratch *s, const char *const *lines, int n)
{
    const char *text = join(s->arena, lines, n), *journal = scratch_write(s, "r.jsonl", text, strlen(text));
    struct env_generate g = {.topology = TOPOLOGY,
                             .results = &journal,
                             .nresults = 1,
                             .margin = ENV_MARGIN,
                             .out = scratch_path(s, "profile")};
    struct err e = {0};
    if (env_generate(&g, NULL, NULL, &e))
        fail_msg("%s", e.text);
    struct env_profile *p = env_profile_open(g.out, &e);
    if (!p)
        fail_msg("%s", e.text);
    return p;
}

/* Tree with LL at 8 B, Ring at 1 MiB, all of it faster with the buffer size. */
static struct env_profile *make_profile(struct scratch *s)
{
    struct arena *a = s->arena;
    const char *const lines[] = {line(a, 8, PLAIN, PLAIN, 20),         line(a, 8, BUFFER, PLAIN, 16),
                                 line(a, 8, BUFFER, TREE_LL, 8),       line(a, 1 << 20, PLAIN, PLAIN, 200),
                                 line(a, 1 << 20, BUFFER, PLAIN, 160), line(a, 1 << 20, BUFFER, RING, 100)};
    return profile_of(s, lines, 6);
}

static const char *value_of(const struct bench_knobs *k, const char *name)
{
    for (int i = 0; i < k->nsettings; i++)
        if (!strcmp(k->settings[i].name, name))
            return k->settings[i].value;
    return NULL;
}

TEST_CASE(launches_are_those_of_a_job)
{
    struct scratch s = scratch_new();
    struct err e = {0};
    struct bench_knobs jobs[2];
    struct env_profile *p = make_profile(&s);
    assert_int_equal(verify_jobs(p, BENCH_ON_GPUS, "/opt/plugin.so", p->arena, jobs, &e), 2);
    assert_string_equal(jobs[0].label, VERIFY_ENVIRONMENT);
    assert_string_equal(value_of(&jobs[0], "NCCL_BUFFSIZE"), "8388608");
    assert_null(value_of(&jobs[0], "NCCL_TUNER_PLUGIN"));
    assert_string_equal(jobs[1].label, VERIFY_PROFILE);
    assert_string_equal(value_of(&jobs[1], "NCCL_BUFFSIZE"), "8388608");
    assert_string_equal(value_of(&jobs[1], "NCCL_TUNER_PLUGIN"), "/opt/plugin.so");
    assert_string_equal(value_of(&jobs[1], "NCCLTUNE_PROFILE"), p->dir);
    assert_int_equal(strlen(value_of(&jobs[1], "NCCLTUNE_HASH")), 64);
    env_profile_free(p);
    scratch_free(&s);
}

/* Of several classes each node gets its own file's settings. */
TEST_CASE(every_class_has_its_own)
{
    struct scratch s = scratch_new();
    struct err e = {0};
    struct bench_knobs jobs[2];
    struct env_profile *p = make_profile(&s);
    struct env_manifest_file files[] = {{"tuner.csv"}, {"nccl.d/one.conf"}, {"nccl.d/two.conf"}};
    p->manifest.files = files;
    p->manifest.nfiles = 3;
    mkdir(scratch_path(&s, "profile/nccl.d"), 0755);
    scratch_write(&s, "profile/nccl.d/one.conf", "# for them\nNCCL_IB_HCA==a\n", 26);
    scratch_write(&s, "profile/nccl.d/two.conf", "NCCL_IB_HCA==b\n", 15);
    assert_int_equal(verify_jobs(p, BENCH_ON_GPUS, "/opt/plugin.so", p->arena, jobs, &e), 2);
    assert_string_equal(value_of(&jobs[0], "NCCL_IB_HCA@one"), "=a");
    assert_string_equal(value_of(&jobs[1], "NCCL_IB_HCA@one"), "=a");
    assert_string_equal(value_of(&jobs[1], "NCCL_IB_HCA@two"), "=b");
    assert_null(value_of(&jobs[1], "NCCL_IB_HCA"));
    env_profile_free(p);
    scratch_free(&s);
}

#define ENVIRONMENT "{\"label\": \"environment\", \"settings\": {\"NCCL_BUFFSIZE\": \"8388608\"}}"
#define PROFILE     "{\"label\": \"profile\", \"settings\": {\"NCCLTUNE_PROFILE\": \"/p\"}}"

/* Measured again: the first rule is still faster, the second is not. */
TEST_CASE(rows_are_judged_against_the_environment)
{
    struct scratch s = scratch_new();
    struct arena *a = s.arena;
    struct err e = {0};
    struct env_profile *p = make_profile(&s);
    const char *const lines[] = {line(a, 8, PLAIN, PLAIN, 20),
                                 line(a, 8, ENVIRONMENT, PLAIN, 16),
                                 line(a, 8, PROFILE, PLAIN, 8),
                                 line(a, 1 << 20, PLAIN, PLAIN, 200),
                                 line(a, 1 << 20, ENVIRONMENT, PLAIN, 160),
                                 line(a, 1 << 20, PROFILE, PLAIN, 170)};
    const char *text = join(a, lines, 6), *journal = scratch_write(&s, "v.jsonl", text, strlen(text));
    struct bench_results *r = bench_results_load(journal, NULL, &e);
    assert_non_null(r);
    struct verify *v = verify_rules(p, BENCH_ON_GPUS, bench_points_of(r, r->arena), 0, &e);
    assert_non_null(v);
    assert_int_equal(v->nrules, 2);
    assert_int_equal(v->failing, 1);
    assert_string_equal(v->environment.what, "NCCL_BUFFSIZE=8388608 NCCL_SOCKET_IFNAME==eth0"); /* the class's */
    assert_int_equal(v->environment.verdict, VERIFY_CONFIRMED);
    assert_int_equal(v->whole.verdict, VERIFY_CONFIRMED);
    assert_near(v->whole.gain.median, 20.0 / 8, 0.02); /* without the rule that the profile is to lose */
    assert_true(v->environment.gain.median > 1.24 && v->environment.gain.median < 1.26);
    assert_int_equal(v->rules[0].verdict, VERIFY_CONFIRMED);
    assert_true(v->rules[0].gain.median > 1.99 && v->rules[0].gain.median < 2.01);
    assert_int_equal(v->rules[1].verdict, VERIFY_REFUTED);
    struct verify *again =
        verify_rules(p, BENCH_ON_GPUS, bench_points_of(r, r->arena), 1.5, &e); /* more than there is to gain */
    assert_int_equal(again->failing, 3);
    verify_free(again);
    verify_free(v);
    env_profile_free(p);
    bench_results_free(r);
    scratch_free(&s);
}

/* The second rule promised 1.60x, and is as fast as the default now. */
TEST_CASE(a_gain_that_is_gone_is_refuted)
{
    struct scratch s = scratch_new();
    struct arena *a = s.arena;
    struct err e = {0};
    struct env_profile *p = make_profile(&s);
    const char *const lines[] = {line(a, 8, ENVIRONMENT, PLAIN, 16), line(a, 8, PROFILE, PLAIN, 8),
                                 line(a, 1 << 20, ENVIRONMENT, PLAIN, 160), line(a, 1 << 20, PROFILE, PLAIN, 160)};
    const char *text = join(a, lines, 4);
    struct bench_results *r = bench_results_parse("v.jsonl", text, strlen(text), NULL, &e);
    assert_non_null(r);
    struct verify *v = verify_rules(p, BENCH_ON_GPUS, bench_points_of(r, r->arena), 0, &e);
    assert_non_null(v);
    assert_string_equal(verify_verdict_text(&v->rules[0], a), "confirmed, gain 2.00x (2.00 to 2.00)");
    assert_string_equal(verify_verdict_text(&v->rules[1], a),
                        "refuted, gone: promised 1.60x, now 1.00x (1.00 to 1.00)");
    assert_int_equal(v->failing, 1);
    verify_free(v);
    env_profile_free(p);
    bench_results_free(r);
    scratch_free(&s);
}

TEST_CASE(what_was_not_measured_is_left_alone)
{
    struct scratch s = scratch_new();
    struct err e = {0};
    struct env_profile *p = make_profile(&s);
    struct bench_points none = {0};
    struct verify *v = verify_rules(p, BENCH_ON_GPUS, &none, 0, &e);
    assert_int_equal(v->failing, 0);
    assert_int_equal(v->rules[0].verdict, VERIFY_UNDECIDED);
    assert_int_equal(v->whole.verdict, VERIFY_UNDECIDED);
    verify_free(v);
    env_profile_free(p);
    scratch_free(&s);
}

/* ---- OpenMPI ---- */

#define IB3          "{\"label\": \"ib3\", \"settings\": {\"btl_tcp_if_include\": \"ib3\"}}"
#define RABENSEIFNER "{\"label\": \"rabenseifner\", \"settings\": {\"coll_tuned_allreduce_algorithm\": \"6\"}}"
#define LINEAR       "{\"label\": \"linear\", \"settings\": {\"coll_tuned_allreduce_algorithm\": \"1\"}}"

TEST_CASE(openmpi_is_verified_with_openmpi)
{
    engine = "mpi";
    library = "Open MPI 4.1.4";
    struct scratch s = scratch_new();
    struct arena *a = s.arena;
    struct err e = {0};
    struct bench_knobs jobs[2];
    const char *const tuned[] = {line(a, 8, PLAIN, PLAIN, 20),      line(a, 8, IB3, PLAIN, 16),
                                 line(a, 8, IB3, LINEAR, 8),        line(a, 1 << 20, PLAIN, PLAIN, 200),
                                 line(a, 1 << 20, IB3, PLAIN, 160), line(a, 1 << 20, IB3, LINEAR, 300)};
    struct env_profile *p = profile_of(&s, tuned, 6);
    assert_string_equal(verify_engine(p)->name, "mpi");
    assert_int_equal(verify_jobs(p, BENCH_ON_HOST, "", a, jobs, &e), 2);
    assert_string_equal(jobs[0].label, VERIFY_ENVIRONMENT);
    assert_int_equal(jobs[0].nsettings, 1);
    assert_string_equal(value_of(&jobs[0], "btl_tcp_if_include"), "ib3");
    assert_string_equal(jobs[1].label, VERIFY_PROFILE);
    assert_string_equal(value_of(&jobs[1], "btl_tcp_if_include"), "ib3");
    assert_string_equal(value_of(&jobs[1], "coll_tuned_dynamic_rules_filename"),
                        arena_printf(a, "%s/openmpi.rules", p->dir));

    /* The rule holds, the interface has become a little slower than the default. */
    const char *const now[] = {line(a, 8, PLAIN, PLAIN, 15),
                               line(a, 8, ENVIRONMENT, PLAIN, 16),
                               line(a, 8, PROFILE, PLAIN, 8),
                               line(a, 1 << 20, PLAIN, PLAIN, 150),
                               line(a, 1 << 20, ENVIRONMENT, PLAIN, 160),
                               line(a, 1 << 20, PROFILE, PLAIN, 160)};
    const char *text = join(a, now, 6), *journal = scratch_write(&s, "v.jsonl", text, strlen(text));
    struct bench_results *r = bench_results_load(journal, NULL, &e);
    assert_non_null(r);
    struct verify *v = verify_rules(p, BENCH_ON_HOST, bench_points_of(r, r->arena), 0, &e);
    assert_non_null(v);
    assert_null(v->text);
    assert_int_equal(v->nrules, 1);
    assert_int_equal(v->rules[0].ranks, 16);
    assert_string_equal(v->rules[0].call, "algorithm 1");
    assert_int_equal(v->rules[0].verdict, VERIFY_CONFIRMED);
    assert_true(v->rules[0].gain.median > 1.99 && v->rules[0].gain.median < 2.01);
    assert_string_equal(v->environment.what, "btl_tcp_if_include=ib3");
    assert_int_equal(v->environment.verdict, VERIFY_REFUTED);
    assert_int_equal(v->failing, 1);
    verify_free(v);
    bench_results_free(r);
    env_profile_free(p);
    scratch_free(&s);
}

/* What is faster beside other calls and slower in starts of its own is left out when the profile is made again, with
 * whatever else would take its place; the headline is over what remains. */
TEST_CASE(a_rule_that_loses_as_jobs_get_it_is_left_out)
{
    engine = "mpi";
    library = "Open MPI 4.1.4";
    struct scratch s = scratch_new();
    struct arena *a = s.arena;
    struct err e = {0};
    const char *const tuned[] = {line(a, 8, PLAIN, PLAIN, 20),        line(a, 8, PLAIN, LINEAR, 10),
                                 line(a, 8, PLAIN, RABENSEIFNER, 12), line(a, 1 << 10, PLAIN, PLAIN, 30),
                                 line(a, 1 << 20, PLAIN, PLAIN, 200), line(a, 1 << 20, PLAIN, LINEAR, 150)};
    const char *const now[] = {line(a, 8, PLAIN, PLAIN, 20),        line(a, 8, PROFILE, PLAIN, 50),
                               line(a, 1 << 10, PLAIN, PLAIN, 30),  line(a, 1 << 10, PROFILE, PLAIN, 30),
                               line(a, 1 << 20, PLAIN, PLAIN, 200), line(a, 1 << 20, PROFILE, PLAIN, 160)};
    const char *before = scratch_write(&s, "r.jsonl", join(a, tuned, 6), strlen(join(a, tuned, 6)));
    const char *text = join(a, now, 6), *journal = scratch_write(&s, "v.jsonl", text, strlen(text));
    struct env_generate g = {.topology = TOPOLOGY,
                             .results = &before,
                             .nresults = 1,
                             .margin = ENV_MARGIN,
                             .out = scratch_path(&s, "profile")};
    struct env_generated made = {0};
    assert_int_equal(env_generate(&g, &made, NULL, &e), 0);
    struct bench_results *r = bench_results_load(journal, NULL, &e);
    assert_non_null(r);
    struct verify_delivery d = {0};
    verify_judge_delivery(&made.profile, BENCH_ON_HOST, bench_points_of(r, r->arena), a, &d, &e);
    assert_int_equal(d.nlost, 1);
    assert_non_null(strstr(d.lost[0], "allreduce of 8 B on 2 nodes, 16 ranks: 0.40x"));
    assert_null(d.refuted);
    assert_int_equal(d.verdict, VERIFY_CONFIRMED);
    assert_int_equal(d.points, 1);
    assert_near(d.gain.median, 200.0 / 160, 0.01);

    struct bench_journal j;
    assert_int_equal(d.nlines, 2);
    assert_int_equal(bench_journal_open(&j, before, NULL, 0, 1, NULL, &e), 0);
    assert_int_equal(bench_journal_append(&j, d.lines, d.nlines, &e), 0);
    bench_journal_close(&j);
    env_generated_free(&made);
    g.out = scratch_path(&s, "again");
    assert_int_equal(env_generate(&g, &made, NULL, &e), 0);
    struct env_rules rules = {0};
    const char *name;
    assert_int_equal(env_rules_of(made.profile.decisions, &rules, &e), 0);
    assert_int_equal(env_rules_find(&rules, COLL_ALLREDUCE, 16, 8, &name)->algorithm, 0);
    assert_int_equal(env_rules_find(&rules, COLL_ALLREDUCE, 16, 1 << 20, &name)->algorithm, 1);
    env_generated_free(&made);
    bench_results_free(r);
    scratch_free(&s);
}

TEST_CASES(test_verify)
