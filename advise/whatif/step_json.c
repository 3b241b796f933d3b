/* A step's communication, for programs. */
#include "advise/whatif/step.h"
#include "core/json.h"

void step_time_json(cJSON *o, const char *key, const struct step_time *t)
{
    cJSON *time = cJSON_AddObjectToObject(o, key);
    cJSON_AddNumberToObject(time, "time_us", t->us);
    cJSON_AddNumberToObject(time, "low_us", t->low_us);
    cJSON_AddNumberToObject(time, "high_us", t->high_us);
}

static void add_sum(cJSON *o, const char *key, const struct step_sum *s)
{
    cJSON *sum = cJSON_AddObjectToObject(o, key);
    step_time_json(sum, "all", &s->all);
    step_time_json(sum, "waited_for", &s->waits);
}

static void add_sources(cJSON *o, const double from_us[STEP_SOURCES])
{
    cJSON *sources = cJSON_AddObjectToObject(o, "from_us");
    for (int i = 0; i < STEP_SOURCES; i++)
        if (from_us[i] > 0)
            cJSON_AddNumberToObject(sources, step_source_name(i), from_us[i]);
}

static const char *const covers[STEP_COVERS] = {"measured", "interpolated", "none"};

static void put_call(cJSON *o, const void *call)
{
    const struct step_call *c = call;
    json_add_str(o, "collective", coll_name(c->call->kind));
    cJSON_AddNumberToObject(o, "bytes", (double)c->call->bytes);
    cJSON_AddNumberToObject(o, "count", c->call->count);
    cJSON_AddNumberToObject(o, "nodes", c->nodes);
    cJSON_AddNumberToObject(o, "ranks", c->call->group_size);
    json_add_str(o, "from", step_source_name(c->source));
    json_add_str(o, "covered", covers[c->cover]);
    if (c->source == STEP_UNKNOWN) {
        json_add_str(o, "why", c->why);
        return;
    }
    step_time_json(o, "now", &c->now);
    step_time_json(o, "tuned", &c->tuned);
    json_add_str(o, "choice", c->choice);
}

static void put_phase(cJSON *o, const void *phase)
{
    const struct step_phase *p = phase;
    json_add_str(o, "name", p->phase->name);
    if (p->phase->compute_us >= 0)
        cJSON_AddNumberToObject(o, "compute_us", p->phase->compute_us);
    add_sum(o, "now", &p->now);
    add_sum(o, "tuned", &p->tuned);
    add_sources(o, p->from_us);
    cJSON_AddNumberToObject(o, "unknown", p->unknown);
    json_add_each(o, "calls", p->calls, p->phase->ncalls, sizeof *p->calls, put_call);
}

cJSON *env_step_json(const struct step_estimate *s)
{
    cJSON *doc = cJSON_CreateObject();
    json_add_str(doc, "format", STEP_FORMAT);
    json_add_str(doc, "workload", s->workload->name);
    cJSON_AddNumberToObject(doc, "ranks", s->workload->ranks);
    cJSON_AddNumberToObject(doc, "ranks_per_node", s->workload->ranks_per_node);
    json_add_str(doc, "times_per", s->workload->per_run ? "run" : "step");
    add_sum(doc, "now", &s->now);
    add_sum(doc, "tuned", &s->tuned);
    add_sources(doc, s->from_us);
    cJSON *cover = cJSON_AddObjectToObject(doc, "cover_us");
    for (int i = 0; i < STEP_COVERS; i++)
        cJSON_AddNumberToObject(cover, covers[i], s->cover_us[i]);
    cJSON_AddNumberToObject(doc, "compute_us", s->compute_us);
    struct step_time whole = env_step_whole(s);
    step_time_json(doc, "step", &whole);
    cJSON_AddNumberToObject(doc, "compute_unknown", s->compute_unknown);
    cJSON_AddNumberToObject(doc, "unknown", s->unknown);
    cJSON_AddNumberToObject(doc, "overlap_unknown", s->overlap_unknown);
    cJSON_AddBoolToObject(doc, "predicted_unused", s->predicted_unused);
    cJSON_AddBoolToObject(doc, "unvalidated", s->unvalidated);
    json_add_strs(doc, "assumed", s->assumptions, s->nassumptions);
    json_add_each(doc, "phases", s->phases, s->workload->nphases, sizeof *s->phases, put_phase);
    return doc;
}
