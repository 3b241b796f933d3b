/* From options to a run: checks, topology, journal, plan, conductor. */
#include "bench/search/bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/engines/engines.h"
#include "bench/noise/noise.h"
#include "bench/search/budget.h"
#include "bench/search/study.h"
#include "bench/search/workload_profile.h"
#include "core/coll.h"
#include "core/json.h"
#include "core/units.h"

/* The largest size of engines that name no other: what one MPI call counts in an int of bytes. */
#define USUAL_MOST ((uint64_t)1 << 30)

void bench_options_default(struct bench_options *o)
{
    *o = (struct bench_options){.engine = bench_engines[0]->name,
                                .collectives = 1u << COLL_ALLREDUCE | 1u << COLL_ALLGATHER | 1u << COLL_REDUCESCATTER |
                                               1u << COLL_BROADCAST,
                                .min_bytes = 8,
                                .max_bytes = 16 << 20,
                                .step_factor = 4,
                                .budget_s = BUDGET_LEAST_S,
                                .margin = BENCH_MARGIN,
                                .confidence = BENCH_CONFIDENCE,
                                .watchdog_s = 10};
}

int bench_options_check(const struct bench_options *o, const struct bench_engine **engine, struct err *e)
{
    *engine = bench_engine_find(o->engine);
    if (!*engine) {
        char names[128] = "";
        for (const struct bench_engine *const *x = bench_engines; *x; x++)
            snprintf(names + strlen(names), sizeof names - strlen(names), " %s", (*x)->name);
        return err_set(e, ERR_USAGE, "'%s' is not an engine; there are:%s", o->engine, names);
    }
    if ((*engine)->documents)
        return err_set(e, ERR_USAGE, "the %s engine measures no collectives; nccltune bench --engine %s says more",
                       (*engine)->name, (*engine)->name);
    if (!o->collectives)
        return err_set(e, ERR_USAGE, "no collective is requested");
    char text[UNIT_TEXT];
    uint64_t most = (*engine)->most_bytes ? (*engine)->most_bytes : USUAL_MOST;
    if (o->min_bytes < 1 || o->min_bytes > o->max_bytes || o->max_bytes > most)
        return err_set(e, ERR_USAGE,
                       "sizes go from at least 1 B to at most %s with the %s engine, the smaller one first",
                       unit_bytes(text, most), (*engine)->name);
    for (int i = 0; i < o->sizes.count; i++)
        if (o->sizes.bytes[i] <= (i ? o->sizes.bytes[i - 1] : 0) || o->sizes.bytes[i] > most)
            return err_set(e, ERR_USAGE,
                           "listed sizes go from at least 1 B to at most %s with the %s engine, each above the one "
                           "before",
                           unit_bytes(text, most), (*engine)->name);
    if (o->sizes.count && o->workload)
        return err_set(e, ERR_USAGE, "a list of sizes and a workload are mutually exclusive");
    if (!(o->step_factor >= 1.1))
        return err_set(e, ERR_USAGE, "the factor between sizes must be at least 1.1");
    if (!(o->budget_s > 0) || !(o->watchdog_s > 0))
        return err_set(e, ERR_USAGE, "budget and watchdog must be above 0");
    return 0;
}

uint64_t *bench_sizes(const struct bench_options *o, struct arena *a, int *count)
{
    uint64_t *sizes = NULL;
    *count = o->sizes.count;
    if (*count) {
        sizes = arena_alloc(a, (size_t)*count * sizeof *sizes);
        memcpy(sizes, o->sizes.bytes, (size_t)*count * sizeof *sizes);
        return sizes;
    }
    for (double v = (double)o->min_bytes; (uint64_t)v < o->max_bytes; v *= o->step_factor) {
        uint64_t bytes = (uint64_t)v;
        if (*count && bytes == sizes[*count - 1])
            continue;
        ARENA_ADD(a, sizes, *count) = bytes;
    }
    ARENA_ADD(a, sizes, *count) = o->max_bytes;
    return sizes;
}

/* ---- a run ---- */

/* Reads the workload, if one is named, and leaves of the collectives those that it calls. */
static int read_workload(struct bench_options *o, struct workload **w, struct err *e)
{
    *w = NULL;
    if (!o->workload)
        return 0;
    *w = workload_load(o->workload, e);
    if (!*w)
        return ERR_FAILED;
    o->collectives &= workload_profile_collectives(*w);
    if (!o->collectives)
        return err_set(e, ERR_USAGE, "%s: calls none of the requested collectives", o->workload);
    return 0;
}

static double launch_log_us(const struct bench_setup *s, int nodes, const struct bench_knobs *launch)
{
    return s->predictor ? s->predictor->launch_log_us(s->topology, nodes, s->ranks_per_node, launch) : NAN;
}

int search_prior_launches(const struct bench_setup *s, int nodes, struct arena *a, struct bench_plan *p)
{
    double untouched = p->nlaunches < 2 ? NAN : launch_log_us(s, nodes, &p->launches[0]);
    if (isnan(untouched))
        return 0;
    double *scores = arena_alloc(a, (size_t)p->nlaunches * sizeof *scores);
    int known = 0;
    scores[0] = untouched;
    for (int i = 1; i < p->nlaunches; i++) {
        struct bench_knobs launch = p->launches[i];
        double mine = launch_log_us(s, nodes, &launch);
        known += !isnan(mine);
        mine = isnan(mine) ? untouched : mine;
        int k = i;
        for (; k > 1 && scores[k - 1] > mine; k--) {
            scores[k] = scores[k - 1];
            p->launches[k] = p->launches[k - 1];
        }
        scores[k] = mine;
        p->launches[k] = launch;
    }
    return known;
}

/* Every collective that is asked for must be one that the engine has calls for; of a workload's, the others are left
 * out. */
static int make_plan(struct bench_options *o, const struct bench_engine *engine, const struct bench_setup *setup,
                     struct arena *a, struct bench_plan *p, struct err *e)
{
    int rc = engine->predicts ? engine->predicts->plan(setup, a, p, e) : engine->measures->plan(setup, a, p, e);
    if (!rc && p->prior_nodes > 1 && search_prior_launches(setup, p->prior_nodes, a, p))
        log_info(setup->log, "launches are tried in the order of the model's predictions");
    for (int coll = 0; coll < COLL_MEASURED && !rc; coll++) {
        int found = !(o->collectives & 1u << coll);
        for (int i = 0; i < p->ncalls; i++)
            found |= p->calls[i].coll == coll;
        if (found)
            continue;
        o->collectives &= ~(1u << coll);
        if (!o->workload || !o->collectives)
            rc = err_set(e, ERR_USAGE, "the %s engine does not measure %s", engine->name, coll_name(coll));
        else
            log_info(setup->log, "%s: its %s is left out: the %s engine does not measure it", o->workload,
                     coll_name(coll), engine->name);
    }
    return rc;
}

int bench_join(const struct bench_options *o, struct err *e)
{
    const struct bench_engine *engine = bench_engine_find(o->engine);
    return engine && bench_engine_has_ranks(engine) ? engine->measures->join(e) : 0;
}

/* The study of `o`, a copy of what was asked for, up to its plan, in an arena of its own: nothing is written or started
 * yet. To be followed by end_study in any case. */
static int begin_study(struct bench_study *s, struct bench_options *o, const struct topology *topology, struct log *log,
                       struct err *e)
{
    s->options = o;
    s->log = log;
    s->arena = arena_new();
    o->setup.own = bench_engine_own(o->own, s->engine);
    o->setup.topology = topology;
    o->setup.collectives = o->collectives;
    o->setup.log = log;
    int rc = read_workload(o, &s->workload, e);
    if (!rc)
        rc = make_plan(o, s->engine, &o->setup, s->arena, &s->plan, e);
    if (!rc)
        s->sizes = s->workload ? workload_profile_sizes(s->workload, o->collectives, o->min_bytes, o->max_bytes,
                                                        s->arena, &s->nsizes)
                               : bench_sizes(o, s->arena, &s->nsizes);
    return rc;
}

static void end_study(struct bench_study *s)
{
    if (s->engine->measures && s->engine->measures->finish)
        s->engine->measures->finish(&s->plan);
    workload_free(s->workload);
    arena_free(s->arena);
}

/* The journal, with what an earlier run has left in it, and until when there is time. */
static int open_journal(struct bench_study *s, struct bench_options *o, struct err *e)
{
    char hash[SHA256_HEX] = "", text[UNIT_TEXT];
    if (o->setup.topology)
        topo_hash(o->setup.topology, hash);
    int rc = bench_journal_open(s->journal, o->results, hash, o->budget_open ? 0 : o->budget_s, o->resume, s->log, e);
    if (!rc && o->what)
        rc = bench_journal_ask(s->journal, &o->what->typed, e);
    if (rc)
        return rc;
    s->results = s->journal->results;
    s->results->confidence = o->confidence;
    s->summary->resumed = s->results->count;
    /* A budget that was given is for all of a run: resumed without one, it goes on with what is left. */
    double left_s = o->resume && o->budget_open ? bench_left_s(s->results) : 0;
    if (left_s > 0) {
        o->budget_open = 0;
        o->budget_s = left_s;
        log_info(s->log, "%s are left of this run's budget", unit_seconds(text, left_s));
    }
    s->time.started_s = progress_now_s();
    s->time.deadline_s = s->time.started_s + o->budget_s;
    return 0;
}

/* Write what disturbed the run that has ended with `rc`: the signs of before and after, and how well the default
 * repeats itself. */
static int write_noise(struct bench_study *s, struct noise_watch *watch, int rc, struct err *e)
{
    struct findings noise = {.arena = s->arena};
    int worth = !rc && s->summary->measured;
    noise_end(watch, worth ? &noise : NULL);
    if (worth && s->engine->measures->noise)
        s->engine->measures->noise(&s->plan, &noise);
    if (worth) {
        noise_of_repeats(bench_points_so_far(s->results), &noise);
        noise_of_starts(bench_points_so_far(s->results), &noise);
    }
    return rc ? rc : bench_journal_append_noise(s->journal, &noise, e);
}

int bench_run(const struct bench_options *o, const struct topology *topology, struct log *log,
              volatile sig_atomic_t *stop, struct bench_summary *summary, struct bench_results **measured,
              struct err *e)
{
    static volatile sig_atomic_t never;
    struct bench_summary unused;
    struct bench_options resolved = *o;
    struct bench_journal journal = {.fd = -1};
    struct bench_study s = {.journal = &journal,
                            .progress = log ? log->progress : NULL,
                            .stop = stop ? stop : &never,
                            .summary = summary ? summary : &unused};
    memset(s.summary, 0, sizeof *s.summary);
    int rc = bench_options_check(o, &s.engine, e);
    if (!rc)
        rc = bench_join(o, e);
    if (rc)
        return rc;
    rc = begin_study(&s, &resolved, topology, log, e);
    if (!rc)
        rc = open_journal(&s, &resolved, e);
    if (!rc && s.engine->measures) {
        struct noise_watch *watch = noise_begin(s.arena);
        rc = write_noise(&s, watch, bench_conduct(&s, e), e);
    } else if (!rc) {
        rc = bench_predict(&s, e);
    }
    if (!rc && measured) {
        bench_results_free(*measured);
        *measured = journal.results;
        journal.results = NULL;
    }
    bench_journal_close(&journal);
    end_study(&s);
    return rc;
}

/* ---- what would be done ---- */

static void add_labels(cJSON *doc, const char *key, const struct bench_knobs *knobs, int n)
{
    cJSON *array = cJSON_AddArrayToObject(doc, key);
    for (int i = 0; i < n; i++)
        json_append_str(array, knobs[i].label);
}

static cJSON *calls_json(const struct bench_plan *p, int coll)
{
    cJSON *o = cJSON_CreateObject(), *calls = cJSON_AddArrayToObject(o, "calls");
    int refinements = 0;
    for (int i = 0; i < p->ncalls; i++) {
        if (p->calls[i].coll == coll && !p->calls[i].refines)
            json_append_str(calls, p->calls[i].knobs.label);
        refinements += p->calls[i].coll == coll && p->calls[i].refines;
    }
    cJSON_AddNumberToObject(o, "refinements", refinements);
    return o;
}

static cJSON *plan_json(const struct bench_study *s)
{
    const struct bench_options *o = s->options;
    const struct bench_plan *p = &s->plan;
    cJSON *doc = cJSON_CreateObject();
    json_add_str(doc, "engine", s->engine->name);
    json_add_str(doc, "library", p->library);
    json_add_str(doc, "description", s->engine->description);
    add_labels(doc, "launches", p->launches, p->nlaunches);
    if (p->nbeside)
        add_labels(doc, "beside", p->beside, p->nbeside);
    cJSON *collectives = cJSON_AddObjectToObject(doc, "collectives");
    for (int coll = COLL_MEASURED - 1; coll >= 0; coll--)
        if (o->collectives & 1u << coll)
            cJSON_AddItemToObject(collectives, coll_name(coll), calls_json(p, coll));
    cJSON *list = cJSON_AddArrayToObject(doc, "sizes");
    for (int i = 0; i < s->nsizes; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)s->sizes[i]));
    if (s->engine->predicts)
        return doc;
    struct bench_shape groups[BENCH_SHAPES];
    int shapes = p->keep_all && !o->shapes.count ? 0 : search_shapes_plan(o, o->setup.topology, groups);
    cJSON *names = shapes ? cJSON_AddArrayToObject(doc, "shapes") : NULL;
    for (int i = 0; i < shapes; i++)
        json_append_str(names, bench_shape_text(&groups[i], s->arena));
    struct budget_task task = {.points = __builtin_popcount(o->collectives) * s->nsizes * (shapes ? shapes : 1),
                               .launches = p->nlaunches - 1 + p->nbeside,
                               .all = p->keep_all};
    cJSON_AddItemToObject(doc, "time", budget_json(&task, o->budget_open ? 0 : o->budget_s));
    return doc;
}

cJSON *bench_plan_json(const struct bench_options *o, const struct topology *topology, struct log *log, struct err *e)
{
    struct bench_study s = {0};
    struct bench_options resolved = *o;
    cJSON *doc = NULL;
    if (bench_options_check(o, &s.engine, e))
        return NULL;
    if (!begin_study(&s, &resolved, topology, log, e))
        doc = plan_json(&s);
    end_study(&s);
    return doc;
}

static void print_words(const char *title, const cJSON *words, FILE *out)
{
    const cJSON *word;
    fprintf(out, "%-12s", title);
    cJSON_ArrayForEach(word, words) fprintf(out, " %s", word->valuestring);
}

void bench_plan_print(const cJSON *plan, FILE *out)
{
    const cJSON *beside = cJSON_GetObjectItemCaseSensitive(plan, "beside"), *item;
    const cJSON *time = cJSON_GetObjectItemCaseSensitive(plan, "time");
    char text[UNIT_TEXT];
    fprintf(out, "engine       %s (%s): %s\n", json_str(plan, "engine", ""), json_str(plan, "library", ""),
            json_str(plan, "description", ""));
    print_words("launches", cJSON_GetObjectItemCaseSensitive(plan, "launches"), out);
    if (beside)
        print_words("\nwith the best", beside, out);
    fputc('\n', out);
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(plan, "collectives"))
    {
        int refinements = (int)json_int(item, "refinements", 0);
        print_words(item->string, cJSON_GetObjectItemCaseSensitive(item, "calls"), out);
        if (refinements)
            fprintf(out, ", and %d refinements of those that come close", refinements);
        fputc('\n', out);
    }
    fputs("sizes       ", out);
    const char *comma = "";
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(plan, "sizes"))
    {
        fprintf(out, "%s %s", comma, unit_bytes(text, (uint64_t)item->valuedouble));
        comma = ",";
    }
    fputc('\n', out);
    if (cJSON_GetObjectItemCaseSensitive(plan, "shapes")) {
        print_words("groups", cJSON_GetObjectItemCaseSensitive(plan, "shapes"), out);
        fputc('\n', out);
    }
    if (time) {
        fputs("time         by the duration of the first start\n", out);
        budget_print(time, out);
        if (json_int(cJSON_GetArrayItem(time, 0), "launches", 0))
            fputs("  and at most three quarters as long to leave out each setting of the winning launch\n", out);
    }
}
