/* The workload reader: whatever comes in, it is a workload that merges with itself and whose step can be estimated, or
 * an error that names the place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/whatif/step.h"
#include "core/json.h"
#include "model/workload/script.h"
#include "tuner/observe/judge.h"

static int predict(void *arg, const struct step_question *q, struct step_time *t, const char **why)
{
    (void)arg;
    *why = "it is odd";
    *t = (struct step_time){1 + (double)q->bytes, 1, 2 * (double)q->bytes};
    return q->ranks % 2 ? -1 : 0;
}

static void estimate(const struct workload *w)
{
    const struct step_predictor p = {predict, NULL};
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    const struct step_input in = {w, d, &p};
    struct arena *a = arena_new();
    FILE *out = fopen("/dev/null", "w");
    struct step_estimate s;
    struct err e = {0};
    if (env_step_of(&in, a, &s, &e) || !(s.now.all.us >= 0) || !(s.now.waits.us <= s.now.all.us * (1 + 1e-9)))
        __builtin_trap();
    env_step_print(&s, out);
    cJSON_Delete(env_step_json(&s));
    fclose(out);
    arena_free(a);
    env_decisions_free(d);
}

/* The same bytes as two ranks' captures, the second rank under another number, and as an earlier job's record. */
static void observe(const char *text, size_t size)
{
    struct observe_job j = {0};
    struct observe_late late[2];
    struct observe_drift drifts[2];
    char sentence[OBSERVE_SENTENCE];
    size_t n = 0;
    if (!observe_add(&j, text, size) && j.nranks)
        j.ranks[0].rank = j.ranks[0].rank == 1000 ? 1001 : 1000;
    observe_add(&j, text, size);
    struct observe_point *points = observe_points(&j, &n);
    struct observe_earlier before = {points, n};
    for (size_t i = 0, found = observe_late(&j, late, 2); i < found; i++)
        observe_say_late(&late[i], sentence);
    for (size_t i = 0; i < n; i++)
        points[i].call.median_us *= 1 + (double)(i % 2);
    for (size_t i = 0, found = observe_drifts(points, n, &before, 1, drifts, 2); i < found; i++)
        observe_say_drift(&drifts[i], sentence);
    free(points);
    observe_free(&j);
}

/* The same bytes as a launch script of each syntax: a job with numbers that make sense, or an error. */
static void read_script(const char *text, size_t size)
{
    static const char *const names[] = {"input.sh", "input.yaml", "input.toml"};
    for (int i = 0; i < 3; i++) {
        struct arena *a = arena_new();
        struct workload_script s;
        struct workload_job j = {0};
        struct workload_reading read = {0};
        struct err e = {0};
        if (!workload_script_parse(text, size, names[i], a, &s, &e) && !workload_script_job(&s, &j, &read, &e) &&
            !j.framework)
            __builtin_trap();
        arena_free(a);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    read_script((const char *)data, size);
    observe((const char *)data, size);
    struct workload *w = workload_parse((const char *)data, size, "input", &e);
    if (!w)
        return e.code && !strncmp(e.text, "input", 5) ? 0 : (__builtin_trap(), 0);
    struct workload *merged = workload_merge((struct workload *[]){w, w}, 2, &e);
    if (!merged || merged->ranks != w->ranks)
        __builtin_trap();
    for (int i = 0; i < w->nphases; i++)
        for (int k = 0; k < w->phases[i].ncalls; k++) {
            const struct workload_call *c = &w->phases[i].calls[k];
            int nodes = workload_call_nodes(w, c);
            if (nodes < 1 || c->group_size < 2 || c->group_size > w->ranks || !c->bytes || !(c->count > 0))
                __builtin_trap();
        }
    estimate(w);
    workload_free(merged);
    workload_free(w);
    return 0;
}
