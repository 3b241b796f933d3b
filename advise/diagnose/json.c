/* The diagnosis for programs. */
#include "core/json.h"
#include "advise/diagnose/diagnose.h"

static const char *const sides[] = {"neither", "rollout", "train"};

static void put_phase(cJSON *o, const void *phase)
{
    const struct diag_phase *p = phase;
    json_add_str(o, "name", p->name);
    json_add_str(o, "kind", diag_kind_names[p->kind]);
    json_add_str(o, "side", sides[p->side]);
    if (p->guessed)
        cJSON_AddBoolToObject(o, "guessed", 1);
    cJSON_AddNumberToObject(o, p->kind == DIAG_METRIC ? "median" : "median_ms", p->median_ms);
    if (p->kind != DIAG_METRIC)
        cJSON_AddNumberToObject(o, "share", p->share);
    if (p->period)
        cJSON_AddNumberToObject(o, "every_steps", p->period);
    cJSON_AddNumberToObject(o, "growth", p->growth);
    json_add_str(o, "evidence", p->place);
}

static void put_source(cJSON *o, const void *source)
{
    const struct diag_source *s = source;
    json_add_str(o, "format", s->format);
    if (*s->run)
        json_add_str(o, "run", s->run);
    cJSON_AddNumberToObject(o, "ranks", s->ranks);
    cJSON_AddNumberToObject(o, "steps", (double)s->steps);
    cJSON_AddNumberToObject(o, "left_out", (double)s->left_out);
    cJSON_AddNumberToObject(o, "step_ms", s->step_ms);
    cJSON_AddNumberToObject(o, "growth", s->growth);
    cJSON_AddBoolToObject(o, "communication_visible", s->visible);
    cJSON_AddNumberToObject(o, "communication_share", s->communication_share);
    cJSON_AddNumberToObject(o, "communication_low", s->communication_low);
    cJSON_AddNumberToObject(o, "communication_high", s->communication_high);
    cJSON_AddNumberToObject(o, "hidden_share", s->hidden_share);
    cJSON_AddNumberToObject(o, "waiting_share", s->waiting);
    if (*s->slow)
        json_add_str(o, "slow_rank", s->slow);
    cJSON_AddNumberToObject(o, "may_hold_communication", s->may_hold);
    json_add_each(o, "phases", s->phases, s->nphases, sizeof *s->phases, put_phase);
}

static void put_gpu(cJSON *o, const void *gpu)
{
    const struct diag_gpu *g = gpu;
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
}

static void put_finding(cJSON *o, const void *finding)
{
    const struct diag_finding *f = finding;
    json_add_str(o, "id", f->id);
    cJSON_AddNumberToObject(o, "weight", f->weight);
    json_add_str(o, "text", f->text);
    json_add_str(o, "confidence", diag_confidence_names[f->confidence]);
    json_add_str(o, "advice", f->advice);
    if (*f->command)
        json_add_str(o, "command", f->command);
    if (*f->place)
        json_add_str(o, "evidence", f->place);
}

static void put_failure(cJSON *o, const struct diag_failure *f)
{
    json_add_str(o, "id", f->id);
    json_add_str(o, "what", f->what);
    json_add_str(o, "where", f->where);
    json_add_str(o, "why", f->why);
    json_add_str(o, "do", f->remedy);
    json_add_str(o, "check", f->check);
    json_add_str(o, "confidence", diag_confidence_names[f->confidence]);
    cJSON_AddNumberToObject(o, "echoes", (double)f->echoes);
    cJSON *evidence = cJSON_AddArrayToObject(o, "evidence");
    for (int i = 0; i < f->nevidence; i++) {
        cJSON *line = json_append(evidence);
        json_add_str(line, "place", f->evidence[i].place);
        json_add_str(line, "text", f->evidence[i].text);
    }
}

static void put_file(cJSON *o, const void *file)
{
    const struct diag_file *f = file;
    json_add_str(o, "file", f->name);
    json_add_str(o, "formats", f->formats);
    json_add_str(o, "problem", f->problem);
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
    cJSON_AddStringToObject(doc, "verdict", diag_verdict_names[r->verdict]);
    cJSON *opening = cJSON_AddArrayToObject(doc, "opening");
    for (int i = 0; i < 3; i++)
        json_append_str(opening, r->opening[i]);
    if (r->failure.id)
        put_failure(cJSON_AddObjectToObject(doc, "failure"), &r->failure);
    add_or_null(doc, "communication_share", s ? s->communication_share : 0, s != NULL);
    add_or_null(doc, "communication_low", s ? s->communication_low : 0, s != NULL);
    add_or_null(doc, "communication_high", s ? s->communication_high : 0, s != NULL);
    add_or_null(doc, "communication_compute_ratio", s ? s->ratio : 0, s && s->ratio >= 0);
    cJSON_AddBoolToObject(doc, "communication_visible", s && s->visible);
    cJSON_AddNumberToObject(doc, "steps", s ? (double)s->steps : 0);
    cJSON_AddNumberToObject(doc, "left_out", s ? (double)s->left_out : 0);
    add_or_null(doc, "step_ms", s ? s->step_ms : 0, s != NULL);
    cJSON *sources = cJSON_AddArrayToObject(doc, "sources");
    if (s)
        put_source(json_append(sources), s);
    for (int i = 0; i < r->nsources; i++)
        if (i != r->primary)
            put_source(json_append(sources), &r->sources[i]);
    json_add_each(doc, "gpus", r->gpus, r->ngpus, sizeof *r->gpus, put_gpu);
    if (r->ngpus)
        cJSON_AddNumberToObject(doc, "gpu_spread_percent", r->gpu_spread);
    json_add_each(doc, "files", r->files, r->nfiles, sizeof *r->files, put_file);
    json_add_each(doc, "findings", r->findings, r->nfindings, sizeof *r->findings, put_finding);
    return doc;
}
