/* The whole course of searches, on a clock of their own: which sessions are started when, how many samples of what they
 * take, what is said meanwhile and what comes of it, held against texts that somebody has read and found sensible.
 * Whoever changes how a search goes about it sees there what that does. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/search/rounds.h"
#include "bench/search/session.h"
#include "bench/search/variants.h"
#include "core/log.h"
#include "core/progress.h"
#include "tests/lib/in_use.h"
#include "tests/lib/search_world.h"
#include "tests/lib/whole.h"
#include "tests/unit/bench/fake_study.h"

#define REQUEST_S 1e-3 /* words between the processes */
#define FIRST_S   0.02 /* the first use of a call in a session */

/* ---- what is told of a session ---- */

#define LABELS 32

/* What a session does at one point, until it goes to another. */
struct stay {
    struct bench_batch at; /* the last request */
    const char *labels[LABELS];
    int samples[LABELS], nlabels, requests, checks;
    long calls;
    double patience_s, since_s;
};

static FILE *course, *lines;
static char *line_text;
static size_t line_bytes;
static struct stay stay;
static double opened_s, start_s;
static int requests, samples, only_default;
static char used[LABELS][COLL_MEASURED]; /* by the index of a call in the plan */
static const struct bench_plan *plan;

static void tell_stay(void)
{
    const struct bench_shape *g = &stay.at.shape;
    if (!stay.requests)
        return;
    fprintf(lines, "  %s %llu", coll_name(stay.at.coll), (unsigned long long)stay.at.bytes);
    if (g->others || g->load || stay.at.buffers)
        fprintf(lines, " %dx%d*%d@%d,%d", g->nodes, g->ranks / g->nodes, g->others + 1, g->load, stay.at.buffers);
    for (int i = 0; i < stay.nlabels; i++)
        fprintf(lines, "%s %s %d", i ? "," : ":", stay.labels[i], stay.samples[i]);
    fprintf(lines, " (%d requests, %d checked, %ld calls, patience %.3f s, %.4f s)\n", stay.requests, stay.checks,
            stay.calls, stay.patience_s, world_now_s() - stay.since_s);
    stay = (struct stay){0};
}

static void count_sample(const char *label)
{
    int i = 0;
    while (i < stay.nlabels && strcmp(stay.labels[i], label) != 0)
        i++;
    if (i == LABELS)
        fail_msg("more calls at a point than there is room for");
    stay.nlabels += i == stay.nlabels;
    stay.labels[i] = label;
    stay.samples[i]++;
    samples++;
    only_default &= !strcmp(label, BENCH_DEFAULT);
}

/* ---- the engine ---- */

struct request {
    const struct bench_batch *batch;
    bench_sample_fn *tell;
    void *user;
};

static struct bench_engine engine;

static void pass_first_use(int coll, const char *label)
{
    int i = 0;
    while (i < plan->ncalls && (plan->calls[i].coll != coll || strcmp(plan->calls[i].knobs.label, label) != 0))
        i++;
    if (i < LABELS && !used[i][coll]++)
        world_pass(FIRST_S);
}

static void on_sample(void *user, int shot, enum bench_status status, double us, const char *detail)
{
    const struct request *q = user;
    const struct bench_shot *s = &q->batch->shots[shot];
    int calls = s->iterations ? s->iterations : bench_sample_calls(&engine.sampling, us);
    pass_first_use(q->batch->coll, s->knobs->label);
    world_pass(1e-6 * us * calls);
    stay.calls += calls;
    count_sample(s->knobs->label);
    q->tell(q->user, shot, status, us, detail || strcmp(s->knobs->label, "late/1") != 0 ? detail : "cut short");
}

static enum bench_outcome measure(struct bench_session *base, const struct bench_batch *b, volatile sig_atomic_t *stop,
                                  bench_sample_fn *tell, void *user, char detail[BENCH_DETAIL])
{
    struct request q = {b, tell, user};
    const struct bench_batch *at = &stay.at;
    if (at->coll != b->coll || at->bytes != b->bytes || at->buffers != b->buffers ||
        !bench_shape_same(&at->shape, &b->shape))
        tell_stay();
    if (!stay.requests)
        stay.since_s = world_now_s();
    stay.at = *b;
    stay.requests++;
    requests++;
    stay.checks += b->check;
    for (int i = 0; i < b->nshots; i++)
        stay.patience_s += b->shots[i].patience_s;
    world_pass(REQUEST_S + (b->buffers ? 1e-3 : 0));
    return fake_measure(base, b, stop, on_sample, &q, detail);
}

static struct bench_session *open_session(struct bench_plan *p, const struct bench_knobs *launch, double patience_s,
                                          volatile sig_atomic_t *stop, struct err *e)
{
    opened_s = world_now_s();
    world_pass(start_s);
    struct bench_session *s = fake_open(p, launch, patience_s, stop, e);
    requests = samples = 0;
    only_default = 1;
    memset(used, 0, sizeof used);
    if (s) {
        s->data = "float32";
        s->active = "tuner t";
    }
    if (!s)
        fprintf(course, "%.3f s: launch %s does not start in %g s\n", opened_s, launch->label, patience_s);
    else
        lines = open_memstream(&line_text, &line_bytes);
    return s;
}

static void close_session(struct bench_session *s, int kill)
{
    tell_stay();
    fclose(lines);
    fprintf(course, "%.3f s: launch %s%s, %.4f s, %d requests, %d samples\n%s", opened_s,
            ((struct fake_session *)s)->launch->label, kill ? ", killed" : "", world_now_s() - opened_s, requests,
            samples, only_default ? "" : line_text);
    free(line_text);
    fake_close(s, kill);
}

/* Labels and settings of both. */
static int combine(const struct bench_knobs *x, const struct bench_knobs *y, struct arena *a, struct bench_knobs *both)
{
    if (!fake_combine(x, y, a, both))
        return 0;
    struct bench_setting *s = arena_alloc(a, (size_t)(x->nsettings + y->nsettings) * sizeof *s);
    for (int i = 0; i < x->nsettings + y->nsettings; i++)
        s[i] = i < x->nsettings ? x->settings[i] : y->settings[i - x->nsettings];
    both->settings = s;
    both->nsettings = x->nsettings + y->nsettings;
    return 1;
}

/* Two variations of any call that stands on its own, but of "middle" none, and two of what refines that. */
static int vary(struct bench_session *s, uint64_t bytes, const struct bench_knobs *call, struct arena *a,
                struct bench_knobs out[BENCH_VARIATIONS])
{
    int of_middle = !strcmp(call->label, "middle/5");
    (void)s;
    if ((strchr(call->label, '/') && !of_middle) || !strcmp(call->label, "middle") || bytes < 1024)
        return 0;
    for (int i = 0; i < 2; i++)
        out[i] = (struct bench_knobs){
            .label = arena_printf(a, "%.*s/%d", (int)strcspn(call->label, "/"), call->label, (of_middle ? 6 : 3) + i)};
    return 2;
}

/* The library thinks well of "awful", knows nothing of "middle" and does not offer "late" to small messages. */
static double expect(struct bench_session *s, const struct history_place *at, const struct bench_knobs *call,
                     volatile sig_atomic_t *stop)
{
    (void)s, (void)stop;
    return !strcmp(call->label, "late") && at->bytes < 512 ? -1
           : !strcmp(call->label, "middle")                ? 0
           : !strcmp(call->label, "awful")                 ? 1
                                                           : 100;
}

/* ---- a run ---- */

static struct fake_run run;

static void add_call(struct bench_study *s, int coll, const char *label, const char *refines, uint64_t min_bytes)
{
    struct bench_call *c = bench_plan_add_call(&s->plan, s->arena, coll);
    c->knobs.label = label;
    c->refines = refines;
    c->min_bytes = min_bytes;
}

/* "late/1" and "early/1" are better than what they refine, "late/2" and "middle/5" are not; 3, 4, 6
 * and 7 are variations. */
static void add_calls(struct bench_study *s, int coll)
{
    static const double variation[] = {1, 0.9, 1.02, 0.88, 1.5, 1.05, 0.95, 1.3};
    if (coll == COLL_ALLREDUCE) { /* the double's own list cannot grow */
        s->plan.ncalls = 0;
        s->plan.calls = NULL;
    }
    for (int i = 0; i < FAKE_CALLS; i++) {
        add_call(s, coll, fake_calls[i].label, NULL, 1);
        if (!strcmp(fake_calls[i].label, "early"))
            add_call(s, coll, "early/1", "early", 1);
        if (!strcmp(fake_calls[i].label, "middle"))
            add_call(s, coll, "middle/5", "middle", 1);
        if (!strcmp(fake_calls[i].label, "late")) {
            add_call(s, coll, "late/1", "late", 1);
            add_call(s, coll, "late/2", "late", 1 << 16);
        }
    }
    memcpy(fake.variation, variation, sizeof variation);
}

static void begin(int resume, const char *const *launches, int n, double each_start_s, double budget_s)
{
    if (!resume)
        memset(&fake, 0, sizeof fake);
    fake_begin(&run, resume, launches, n);
    engine = fake_engine;
    engine.open = open_session;
    engine.measure = measure;
    engine.close = close_session;
    engine.combine = combine;
    engine.sampling = (struct bench_sampling){2000, 5000, 5};
    run.study.engine = &engine;
    run.options.budget_s = budget_s;
    run.options.step_factor = 16;
    start_s = each_start_s;
    for (int i = 0; i < n; i++) { /* one setting each */
        struct bench_knobs *k = &run.study.plan.launches[i + 1];
        *k = bench_plan_knob(run.study.arena, k->label, k->label, "1");
    }
}

static void tell_results(void)
{
    struct arena *a = arena_new();
    const struct bench_points *p = bench_points_of(run.study.results, a);
    for (int i = 0; i < p->count; i++) {
        const struct bench_point *at = &p->items[i];
        fprintf(course, "%s %llu", coll_name(at->coll), (unsigned long long)at->bytes);
        if (at->others || at->load || at->buffers)
            fprintf(course, " %dx%d*%d@%d,%d", at->nodes, at->ranks / at->nodes, at->others + 1, at->load, at->buffers);
        fprintf(course, " (%s)", at->active ? at->active : "nobody");
        for (int k = 0; k < at->ncandidates; k++) {
            const struct bench_candidate *c = &at->candidates[k];
            if (c->paired.n || c->status > BENCH_DROPPED || k == at->best)
                fprintf(course, "; %s, %s: %s %.2fx of %d (%d pairs) %s", c->launch.label, c->call.label,
                        bench_status_name(c->status), c->gain.median, c->time_us.n, c->paired.n,
                        c->detail ? c->detail : "");
        }
        fputc('\n', course);
    }
    arena_free(a);
}

static void conduct(void)
{
    const struct bench_summary *m = &run.summary;
    struct log log = {.out = course, .program = "log"};
    struct progress progress;
    world_pass(1000 - world_now_s());
    progress_start(&progress, course);
    run.study.log = &log;
    run.study.progress = &progress;
    run.study.sizes = bench_sizes(&run.options, run.study.arena, &run.study.nsizes);
    run.study.started_s = world_now_s();
    run.study.deadline_s = world_now_s() + run.options.budget_s;
    plan = &run.study.plan;
    int rc = bench_conduct(&run.study, &run.err);
    fprintf(course, "%.3f s: %s\n", world_now_s(), rc ? run.err.text : "done");
    fprintf(course, "%d lines, %d troubled, %d left out, interrupted %d, gain %.3f, visits of %.3f s, wanted %.3f s\n",
            m->measured, m->troubled, m->left_out, m->interrupted, run.study.found, run.study.visit_s,
            run.study.want_visit_s);
}

static char *text;
static size_t bytes;

static void compare(const char *path)
{
    tell_results();
    fclose(course);
    assert_whole(text, path);
    free(text);
    fake_end(&run);
}

#define COURSE "tests/fixtures/bench/course/"

/* Refinements, variations, what the library offers, and trouble on the way. */
static void calls_alone(void **state)
{
    (void)state;
    course = open_memstream(&text, &bytes);
    begin(0, NULL, 0, 2, 60);
    run.options.collectives |= 1u << COLL_ALLGATHER;
    add_calls(&run.study, COLL_ALLREDUCE);
    add_calls(&run.study, COLL_ALLGATHER);
    engine.vary = vary;
    engine.expect_us = expect;
    fake.trouble[0] = (struct fake_trouble){.call = "early", .bytes = 2048, .outcome = BENCH_DIED, .times = 1};
    fake.trouble[1] = (struct fake_trouble){
        .call = "middle", .bytes = 8, .outcome = BENCH_ANSWERED, .status = BENCH_WRONG, .times = 1, .mute = 1};
    fake.trouble[2] = (struct fake_trouble){.call = "late/1", .bytes = 32768, .outcome = BENCH_LOST, .times = 1};
    conduct();
    compare(COURSE "calls.txt");
}

static const char *const rails[] = {"slow", "good", "dead", "ill", "half", "odd", "fine"};

static void set_rails(void)
{
    static const struct fake_launch factors[] = {{"slow", 4},   {"good", 0.8},  {"half", 0.9},
                                                 {"odd", 1.01}, {"fine", 0.97}, {"more", 0.95}};
    memcpy(fake.launch, factors, sizeof factors);
    fake.pair_factor = 1;
}

/* Enough time for everything: one launch never starts, one did not once, one is best together with what is tried
 * beside. */
static void launches_against_one_another(void **state)
{
    static const struct bench_setting more = {"more", "1"}, less = {"less", "1"};
    static struct bench_knobs beside[] = {{"more", &more, 1}, {"less", &less, 1}};
    (void)state;
    course = open_memstream(&text, &bytes);
    begin(0, rails, 7, 2, 100);
    set_rails();
    run.study.plan.beside = beside;
    run.study.plan.nbeside = 2;
    fake.dead_launch = "dead";
    fake.trouble[0] = (struct fake_trouble){
        .launch = "ill", .call = BENCH_DEFAULT, .bytes = 2048, .outcome = BENCH_SILENT, .times = 1};
    conduct();
    compare(COURSE "launches.txt");
}

/* Not enough for all launches, and for hardly any pairs. */
static void little_time(void **state)
{
    (void)state;
    course = open_memstream(&text, &bytes);
    begin(0, rails, 7, 4, 100);
    set_rails();
    conduct();
    for (int budget_s = 75; budget_s >= 25; budget_s -= 25) {
        fprintf(course, "---- and in %d s\n", budget_s);
        fake_end(&run);
        begin(0, rails, 7, 4, budget_s);
        set_rails();
        conduct();
    }
    compare(COURSE "little-time.txt");
}

/* Nobody has said how long: as long as starts and points ask for. */
static void time_as_is_usual(void **state)
{
    (void)state;
    course = open_memstream(&text, &bytes);
    begin(0, rails, 7, 1, 60);
    set_rails();
    for (int k = 1; k < 6; k++) /* no launch is worth a setting */
        fake.launch[k].factor = 0.98 + 0.003 * k;
    fake.pair_factor = 0;
    run.options.budget_open = 1;
    conduct();
    compare(COURSE "usual-time.txt");
}

/* Two shapes alike, one of them beside compute as well; bfloat16 changes a choice, captured calls do, too. */
static void groups_and_data(void **state)
{
    (void)state;
    course = open_memstream(&text, &bytes);
    begin(0, NULL, 0, 1, 200);
    engine.buffers = ~0u;
    fake.ranks = 4;
    fake.early_takes_all = 1;
    fake.data[0].buffers = BENCH_BFLOAT16, fake.data[0].call = "late", fake.data[0].factor = 6;
    fake.data[1].buffers = BENCH_GRAPH, fake.data[1].call = "early", fake.data[1].factor = 3;
    fake.refused = BENCH_REGISTERED;
    run.options.shapes =
        (struct bench_shape_list){.count = 4, .items = {{2, 4, 0}, {1, 2, 1}, {1, 2, 0}, {2, 4, 0, BENCH_COMPUTE}}};
    conduct();
    compare(COURSE "groups.txt");
}

/* Captured calls give wrong data, registered buffers and bfloat16 change choices: this in favour of calls that take no
 * part, as all that do lose by it. */
static void data_alone(void **state)
{
    static const char *const losing[] = {"early/1", "early", "middle"};
    (void)state;
    course = open_memstream(&text, &bytes);
    begin(0, NULL, 0, 1, 400);
    engine.buffers = ~0u;
    add_calls(&run.study, COLL_ALLREDUCE);
    add_calls(&run.study, COLL_BROADCAST);
    run.options.collectives |= 1u << COLL_BROADCAST;
    run.options.sizes = (struct bench_size_list){3, {8, 4096, 512 << 20}};
    for (int i = 0; i < 3; i++)
        fake.data[i].buffers = BENCH_BFLOAT16, fake.data[i].call = losing[i], fake.data[i].factor = 3;
    fake.data[3].buffers = BENCH_REGISTERED, fake.data[3].call = "early/1", fake.data[3].factor = 1.4;
    fake.trouble[0] = (struct fake_trouble){.call = "early",
                                            .bytes = 4096,
                                            .outcome = BENCH_ANSWERED,
                                            .status = BENCH_WRONG,
                                            .times = 1,
                                            .buffers = BENCH_GRAPH};
    fake.trouble[1] = (struct fake_trouble){
        .call = "early", .bytes = 8, .outcome = BENCH_DIED, .times = 1, .buffers = BENCH_REGISTERED};
    conduct();
    for (int i = 0; i < run.study.results->noise.n; i++) {
        const struct finding *f = &run.study.results->noise.list[i];
        fprintf(course, "%s %s: %s (%s)\n", f->id, f->subject ? f->subject : "", f->text, f->advice ? f->advice : "");
    }
    compare(COURSE "data.txt");
}

/* A workload's own sizes, and a launch that is best where it spends its time. */
static void for_a_workload(void **state)
{
    struct workload *w = workload_new();
    struct workload_phase *p = workload_add_phase(w, "step");
    (void)state;
    w->ranks = 2;
    w->ranks_per_node = 1;
    for (int i = 0; i < 4; i++)
        workload_add_call(w, p,
                          (struct workload_call){.kind = COLL_ALLREDUCE,
                                                 .bytes = UINT64_C(8) << 4 * i,
                                                 .count = i ? 2 : 5000,
                                                 .group_size = 2,
                                                 .place = WORKLOAD_CLUSTER,
                                                 .stride = 1});
    course = open_memstream(&text, &bytes);
    begin(0, rails, 3, 1, 90);
    set_rails();
    run.study.workload = w;
    conduct();
    compare(COURSE "workload.txt");
    workload_free(w);
}

/* Launches that jobs get, all of them with all that there is. */
static void launches_of_jobs(void **state)
{
    (void)state;
    course = open_memstream(&text, &bytes);
    begin(0, rails, 2, 1, 60);
    set_rails();
    run.study.plan.keep_all = 1;
    run.study.plan.ncalls = 1;
    conduct();
    compare(COURSE "jobs.txt");
}

/* Interrupted in the middle of screening, and gone on with. */
static void interrupted(void **state)
{
    (void)state;
    course = open_memstream(&text, &bytes);
    begin(0, rails, 4, 1, 60);
    set_rails();
    fake.stop_after = 1500;
    fake.dead_launch = "dead";
    conduct();
    fake_end(&run);
    fputs("---- again\n", course);
    fake.stop = fake.stop_after = 0;
    begin(1, rails, 4, 1, 60);
    conduct();
    compare(COURSE "interrupted.txt");
}

/* One point with more and more time, short calls and long ones, alone and beside a load, as soon as a rival is known.
 */
static void tell_rounds(uint64_t size, double time_s, int load)
{
    struct bench_knobs knobs[FAKE_CALLS];
    struct candidate candidates[FAKE_CALLS];
    char detail[BENCH_DETAIL] = "";
    struct err e;
    memset(&fake, 0, sizeof fake);
    fake.early_takes_all = 1;
    for (int i = 0; i < FAKE_CALLS; i++) {
        knobs[i] = (struct bench_knobs){.label = fake_calls[i].label};
        candidates[i] = (struct candidate){.knobs = &knobs[i], .refines = i == 4 ? "late" : NULL};
    }
    world_pass(1000 - world_now_s());
    struct rounds r = {.engine = &engine,
                       .session = open_session(NULL, &knobs[0], 1, &fake.stop, &e),
                       .stop = &fake.stop,
                       .arena = arena_new(),
                       .coll = COLL_ALLREDUCE,
                       .bytes = size,
                       .shape = {2, 2, 0, load},
                       .candidates = candidates,
                       .ncandidates = FAKE_CALLS,
                       .expect_us = 50,
                       .samples = 9,
                       .until_s = world_now_s() + time_s,
                       .margin = 0.03,
                       .confidence = 0.95,
                       .watchdog_s = 10};
    double began_s = world_now_s();
    assert_int_equal(rounds_run(&r, detail), BENCH_ANSWERED);
    fprintf(course, "%llu B, load %d, %.3f s: took %.4f s", (unsigned long long)size, load, time_s,
            world_now_s() - began_s);
    for (int i = 0; i < FAKE_CALLS; i++)
        fprintf(course, "; %s %d+%d %s %.2f", knobs[i].label,
                candidates[i].n - candidates[i].proof * !!candidates[i].proof, candidates[i].proof,
                bench_status_name(candidates[i].status), candidates[i].slowdown);
    fputc('\n', course);
    arena_free(r.arena);
    stay = (struct stay){0};
    fclose(lines);
    free(line_text);
    fake_close(r.session, 0);
}

static void the_time_of_a_point(void **state)
{
    static const uint64_t sizes[] = {8, 4096, 1 << 20, 64 << 20};
    static const double times[] = {0, 0.01, 0.02, 0.03, 0.045, 0.06, 0.08, 0.12, 0.2, 0.35, 9};
    (void)state;
    course = open_memstream(&text, &bytes);
    begin(0, NULL, 0, 0, 60);
    plan = &run.study.plan;
    for (int load = 0; load < 2; load++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (size_t k = 0; k < sizeof times / sizeof *times; k++)
                tell_rounds(sizes[i], times[k], load);
    fake_end(&run);
    fclose(course);
    assert_whole(text, COURSE "rounds.txt");
    free(text);
}

/* A short run of everything, and one whose journal cannot be written: what is kept by each is found. */
static void one_short_run(void)
{
    struct err e;
    course = open_memstream(&text, &bytes);
    begin(0, rails, 4, 0.1, 3);
    set_rails();
    fake.dead_launch = "dead";
    conduct();
    tell_results();
    fake_end(&run);
    begin(1, rails, 4, 0.1, 3);
    close(run.journal.fd);
    unlink(fake_path);
    run.journal.fd = open("/dev/full", O_WRONLY);
    run.journal.path = "/dev/full";
    run.study.sizes[0] = 16; /* something that is not there yet */
    struct search_session v = {.launch = &run.study.plan.launches[0], .round = 7, .full = 1, .part = 1};
    assert_int_equal(search_session_run(&run.study, &v, &e), ERR_FAILED);
    fake_end(&run);
    fclose(course);
    free(text);
}

static void nothing_is_kept(void **state)
{
    (void)state;
    assert_keeps_nothing(one_short_run());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_alone),         cmocka_unit_test(launches_against_one_another),
        cmocka_unit_test(little_time),         cmocka_unit_test(time_as_is_usual),
        cmocka_unit_test(groups_and_data),     cmocka_unit_test(for_a_workload),
        cmocka_unit_test(launches_of_jobs),    cmocka_unit_test(interrupted),
        cmocka_unit_test(data_alone),          cmocka_unit_test(nothing_is_kept),
        cmocka_unit_test(the_time_of_a_point),
    };
    return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
