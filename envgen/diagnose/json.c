/* The diagnosis for programs. */
#include "core/json.h"
#include "envgen/diagnose/diagnose.h"

static const char *const sides[] = {"neither", "rollout", "train"};

static cJSON *phase_json(const struct diag_phase *p)
{
    cJSON *o = cJSON_CreateObject();
    json_add_str(o, "name", p->name);
    json_add_str(o, "kind", diag_kind_name(p->kind));
    json_add_str(o, "side", sides[p->side]);
    if (p->guessed)
        cJSON_AddBoolToObject(o, "guessed", 1);
    cJSON_AddNumberToObject(o, p->kind == DIAG_METRIC ? "median" : "median_ms", p->median_ms);
    if (p->kind != DIAG_METRIC)
        cJSON_AddNumberToObject(o, "share", p->share);
    cJSON_AddNumberToObject(o, "growth", p->growth);
    json_add_str(o, "evidence", p->place);
    return o;
}

static cJSON *source_json(const struct diag_source *s)
{
    cJSON *o = cJSON_CreateObject();
    json_add_str(o, "format", s->format);
    cJSON_AddNumberToObject(o, "steps", (double)s->steps);
    cJSON_AddNumberToObject(o, "left_out", (double)s->left_out);
    cJSON_AddNumberToObject(o, "step_ms", s->step_ms);
    cJSON_AddNumberToObject(o, "growth", s->growth);
    cJSON_AddBoolToObject(o, "communication_visible", s->visible);
    cJSON_AddNumberToObject(o, "communication_share", s->communication_share);
    cJSON_AddNumberToObject(o, "hidden_share", s->hidden_share);
    cJSON_AddNumberToObject(o, "may_hold_communication", s->may_hold);
    cJSON *phases = cJSON_AddArrayToObject(o, "phases");
    for (int i = 0; i < s->nphases; i++)
        cJSON_AddItemToArray(phases, phase_json(&s->phases[i]));
    return o;
}

static cJSON *gpu_json(const struct diag_gpu *g)
{
    cJSON *o = cJSON_CreateObject();
    json_add_str(o, "name", g->name);
    cJSON_AddNumberToObject(o, "samples", (double)g->samples);
    cJSON_AddNumberToObject(o, "mean_percent", g->mean);
    cJSON_AddNumberToObject(o, "deviation_percent", g->deviation);
    cJSON_AddNumberToObject(o, "idle", g->idle);
    cJSON_AddNumberToObject(o, "longest_gap_s", g->longest_gap_s);
    if (g->power_W > 0)
        cJSON_AddNumberToObject(o, "power_W", g->power_W);
    if (g->tail_s > 0) {
        cJSON_AddNumberToObject(o, "stands_at_percent", g->tail_percent);
        cJSON_AddNumberToObject(o, "stands_s", g->tail_s);
    }
    if (*g->gap_place)
        json_add_str(o, "evidence", g->gap_place);
    return o;
}

static cJSON *next_json(const struct diag_finding *f)
{
    cJSON *o = cJSON_CreateObject();
    json_add_str(o, "id", f->id);
    cJSON_AddNumberToObject(o, "weight", f->weight);
    json_add_str(o, "text", f->text);
    json_add_str(o, "confidence", diag_confidence_name(f->confidence));
    json_add_str(o, "advice", f->advice);
    if (*f->command)
        json_add_str(o, "command", f->command);
    if (*f->place)
        json_add_str(o, "evidence", f->place);
    return o;
}

static cJSON *file_json(const struct diag_file *f)
{
    cJSON *o = cJSON_CreateObject();
    json_add_str(o, "file", f->name);
    json_add_str(o, "formats", f->formats);
    json_add_str(o, "problem", f->problem);
    return o;
}

static void add_or_null(cJSON *o, const char *key, double value, int known)
{
    if (known)
        cJSON_AddNumberToObject(o, key, value);
    else
        cJSON_AddNullToObject(o, key);
}

cJSON *diagnose_json(const struct diag_result *r)
{
    const struct diag_source *s = r->primary >= 0 ? &r->sources[r->primary] : NULL;
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "format", DIAGNOSE_FORMAT);
    cJSON_AddStringToObject(doc, "verdict", diag_verdict_name(r->verdict));
    cJSON *opening = cJSON_AddArrayToObject(doc, "opening");
    for (int i = 0; i < 3; i++)
        json_append_str(opening, r->opening[i]);
    add_or_null(doc, "communication_share", s ? s->communication_share : 0, s != NULL);
    add_or_null(doc, "communication_compute_ratio", s ? s->ratio : 0, s && s->ratio >= 0);
    cJSON_AddBoolToObject(doc, "communication_visible", s && s->visible);
    cJSON_AddNumberToObject(doc, "steps", s ? (double)s->steps : 0);
    cJSON_AddNumberToObject(doc, "left_out", s ? (double)s->left_out : 0);
    add_or_null(doc, "step_ms", s ? s->step_ms : 0, s != NULL);
    cJSON *sources = cJSON_AddArrayToObject(doc, "sources");
    if (s)
        cJSON_AddItemToArray(sources, source_json(s));
    for (int i = 0; i < r->nsources; i++)
        if (i != r->primary)
            cJSON_AddItemToArray(sources, source_json(&r->sources[i]));
    cJSON *gpus = cJSON_AddArrayToObject(doc, "gpus");
    for (int i = 0; i < r->ngpus; i++)
        cJSON_AddItemToArray(gpus, gpu_json(&r->gpus[i]));
    if (r->ngpus)
        cJSON_AddNumberToObject(doc, "gpu_spread_percent", r->gpu_spread);
    cJSON *files = cJSON_AddArrayToObject(doc, "files");
    for (int i = 0; i < r->nfiles; i++)
        cJSON_AddItemToArray(files, file_json(&r->files[i]));
    cJSON *findings = cJSON_AddArrayToObject(doc, "findings");
    for (int i = 0; i < r->nfindings; i++)
        cJSON_AddItemToArray(findings, next_json(&r->findings[i]));
    return doc;
}
