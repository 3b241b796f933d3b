/* A job's calls beside a profile: measured, else predicted by the model, as for a step of training. */
#include "advise/drift/expect.h"

#include <stdlib.h>
#include <string.h>

#include "advise/whatif/step_profile.h"
#include "core/coll.h"
#include "core/json.h"
#include "core/units.h"

#define MOST 20 /* lines for people */

/* The job's calls as a workload of one phase, in the order of its points. */
static struct workload *workload_of(const struct drift_job *job)
{
    struct workload *w = workload_new();
    struct workload_phase *phase = workload_add_phase(w, "run");
    w->name = job->seen.name;
    w->per_run = 1;
    w->ranks = job->seen.size > 2 ? job->seen.size : 2;
    for (size_t i = 0; i < job->npoints; i++) {
        const struct observe_call *c = &job->points[i].call;
        struct workload_call call = {.kind = c->kind,
                                     .bytes = c->bytes,
                                     .count = (double)c->count,
                                     .group_size = c->group_size,
                                     .place = c->crosses_nodes ? WORKLOAD_CLUSTER : WORKLOAD_NODE,
                                     .stride = c->stride > 0 ? c->stride : 1,
                                     .overlap_us = -1,
                                     .time_us = -1,
                                     .algo = -1,
                                     .proto = -1};
        w->ranks = c->group_size > w->ranks ? c->group_size : w->ranks;
        workload_add_call(w, phase, call);
    }
    w->ranks_per_node = job->seen.per_node > 0 && job->seen.per_node <= w->ranks ? job->seen.per_node : w->ranks;
    return w;
}

/* Whether "ring/simple/8ch" is another way than the call's. What the table leaves open is no other way. */
static int is_other_way(const char *choice, const struct observe_call *c)
{
    const char *slash = strchr(choice, '/');
    if (!slash || c->algo < 0 || c->proto < 0)
        return 0;
    int algo = algo_parse(choice, (size_t)(slash - choice)), proto = proto_parse(slash + 1, strcspn(slash + 1, "/"));
    return (algo >= 0 && algo != c->algo) || (proto >= 0 && proto != c->proto);
}

static double lost_us(const struct drift_unexpected *u)
{
    return (u->now.call.median_us - u->expected_us) * (double)u->now.call.count;
}

static int by_lost_time(const void *x, const void *y)
{
    double a = lost_us(x), b = lost_us(y);
    return (a < b) - (a > b);
}

static void hold_against(struct drift_expectation *x, const struct observe_point *now, const struct step_call *c,
                         struct arena *a)
{
    int is_predicted = c->source == STEP_PREDICTED;
    if (!is_predicted && c->source != STEP_MEASURED)
        return;
    x->known++;
    int other = is_other_way(c->choice, &now->call);
    double expected_us = c->tuned.us, most_us = is_predicted ? c->tuned.high_us : expected_us;
    if (!other && now->call.median_us < OBSERVE_SLOWER * most_us)
        return;
    x->unexpected = arena_grow(a, x->unexpected, x->count, sizeof *x->unexpected);
    x->unexpected[x->count++] = (struct drift_unexpected){.now = *now,
                                                          .expected_us = expected_us,
                                                          .times = now->call.median_us / expected_us,
                                                          .is_predicted = is_predicted,
                                                          .choice = other ? c->choice : NULL};
}

int drift_expect(const struct drift_fleet *f, const struct env_profile *p, struct arena *a, struct drift_expectation *x,
                 struct err *e)
{
    struct step_estimate s;
    const struct drift_job *job = f->jobs[f->njobs - 1];
    struct workload *w = workload_of(job);
    *x = (struct drift_expectation){.job = job, .calls = job->npoints};
    int rc = env_step_of_profile(p, w, 0, a, &s, e);
    for (size_t i = 0; !rc && i < job->npoints; i++)
        hold_against(x, &job->points[i], &s.phases[0].calls[i], a);
    if (x->count)
        qsort(x->unexpected, x->count, sizeof *x->unexpected, by_lost_time);
    workload_free(w);
    return rc;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

void drift_expect_print(const struct drift_expectation *x, FILE *out)
{
    char bytes[UNIT_TEXT], now[UNIT_TEXT], expected[UNIT_TEXT];
    fprintf(out, "\nJob %s beside the profile, which knows %zu of its %zu calls\n", x->job->seen.name, x->known,
            x->calls);
    for (size_t i = 0; i < x->count && i < MOST; i++) {
        const struct drift_unexpected *u = &x->unexpected[i];
        const struct observe_call *c = &u->now.call;
        fprintf(out, "  %s of %s among %d ranks takes %s, %.1f times the %s that %s", coll_name(c->kind),
                unit_bytes(bytes, c->bytes), c->group_size, unit_time_us(now, c->median_us), u->times,
                unit_time_us(expected, u->expected_us), u->is_predicted ? "the model predicts" : "was measured for it");
        if (u->choice)
            fprintf(out, "; it ran by %s/%s, and the profile has %s", algo_name(c->algo), proto_name(c->proto),
                    u->choice);
        fputc('\n', out);
    }
    if (!x->count)
        fputs("  nothing takes longer than it should, or another way than the table asks for\n", out);
}

cJSON *drift_expect_json(const struct drift_expectation *x)
{
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < x->count; i++) {
        const struct drift_unexpected *u = &x->unexpected[i];
        cJSON *o = json_append(array);
        json_add_str(o, "collective", coll_name(u->now.call.kind));
        cJSON_AddNumberToObject(o, "bytes", (double)u->now.call.bytes);
        cJSON_AddNumberToObject(o, "group_size", u->now.call.group_size);
        cJSON_AddNumberToObject(o, "time_us", u->now.call.median_us);
        cJSON_AddNumberToObject(o, "expected_us", u->expected_us);
        json_add_str(o, "source", u->is_predicted ? "predicted" : "measured");
        cJSON_AddNumberToObject(o, "times", u->times);
        json_add_str(o, "algorithm", algo_name(u->now.call.algo));
        json_add_str(o, "protocol", proto_name(u->now.call.proto));
        json_add_str(o, "profile_has", u->choice);
    }
    return array;
}
