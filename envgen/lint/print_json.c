/* Findings for programs: our own JSON, and SARIF 2.1.0, which code hosts show beside the source. */
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "envgen/lint/lint_internal.h"

static int print_document(cJSON *doc, FILE *out, struct err *e)
{
    char *text = cJSON_Print(doc);
    cJSON_Delete(doc);
    if (!text)
        return err_set(e, ERR_FAILED, "no memory to print the findings");
    int bad = fprintf(out, "%s\n", text) < 0 || ferror(out);
    free(text);
    return bad ? err_set(e, ERR_FAILED, "the findings could not be written") : 0;
}

int lint_print_json(const struct lint *l, FILE *out, struct err *e)
{
    struct lint_finding_view f;
    char version[ENV_VERSION];
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "format", "nccltune-lint/1");
    if (l->rccl_sure)
        cJSON_AddStringToObject(doc, "library", l->rccl ? "rccl" : "nccl");
    cJSON_AddStringToObject(doc, "nccl_from", env_version_text(version, l->low));
    cJSON_AddStringToObject(doc, "nccl_to", env_version_text(version, l->high));
    cJSON_AddNumberToObject(doc, "settings", (double)lint_settings(l));
    cJSON *list = cJSON_AddArrayToObject(doc, "findings");
    for (size_t n = 0; lint_finding(l, n, &f); n++) {
        cJSON *o = cJSON_CreateObject();
        json_add_str(o, "file", f.file);
        if (f.line) {
            cJSON_AddNumberToObject(o, "line", (double)f.line);
            cJSON_AddNumberToObject(o, "column", (double)f.column);
        }
        json_add_str(o, "code", f.code);
        json_add_str(o, "severity", lint_severities[f.severity]);
        json_add_str(o, "variable", f.variable);
        json_add_str(o, "value", f.value);
        json_add_str(o, "says", f.says);
        json_add_str(o, "advice", f.advice);
        cJSON_AddBoolToObject(o, "fixable", f.fixable);
        cJSON_AddItemToArray(list, o);
    }
    return print_document(doc, out, e);
}

/* ---- SARIF ------------------------------------------------------------------------------------------------------- */

static void add_text(cJSON *o, const char *key, const char *text)
{
    json_add_str(cJSON_AddObjectToObject(o, key), "text", text);
}

static void add_driver(cJSON *run)
{
    cJSON *driver = cJSON_AddObjectToObject(cJSON_AddObjectToObject(run, "tool"), "driver");
    cJSON_AddStringToObject(driver, "name", "nccltune lint");
    cJSON_AddStringToObject(driver, "version", NCCLTUNE_VERSION);
    cJSON *rules = cJSON_AddArrayToObject(driver, "rules");
    struct lint_rule_view r;
    for (size_t n = 0; lint_rule(n, &r); n++) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "id", r.code);
        cJSON_AddStringToObject(o, "name", r.name);
        add_text(o, "shortDescription", r.title);
        cJSON_AddStringToObject(cJSON_AddObjectToObject(o, "defaultConfiguration"), "level",
                                lint_severities[r.severity]);
        cJSON_AddItemToArray(rules, o);
    }
}

/* File names as URI references: bytes that a URI may not hold are escaped. */
static char *uri_of(struct arena *a, const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    char *out = arena_alloc(a, strlen(path) * 3 + 1), *o = out;
    for (; *path; path++) {
        if (strchr(plain, *path))
            *o++ = *path;
        else
            o += snprintf(o, 4, "%%%02X", (unsigned)(unsigned char)*path);
    }
    return out;
}

static cJSON *result_of(const struct lint *l, const struct lint_finding *f, const struct lint_finding_view *v)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "ruleId", v->code);
    cJSON_AddNumberToObject(o, "ruleIndex", (double)f->code);
    cJSON_AddStringToObject(o, "level", lint_severities[v->severity]);
    add_text(o, "message", arena_printf(l->arena, "%s: %s %s", v->variable, v->says, v->advice));
    if (!v->file)
        return o;
    cJSON *place = cJSON_CreateObject();
    cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "locations"), place);
    cJSON *physical = cJSON_AddObjectToObject(place, "physicalLocation");
    json_add_str(cJSON_AddObjectToObject(physical, "artifactLocation"), "uri", uri_of(l->arena, v->file));
    if (v->line) {
        cJSON *region = cJSON_AddObjectToObject(physical, "region");
        cJSON_AddNumberToObject(region, "startLine", (double)v->line);
        cJSON_AddNumberToObject(region, "startColumn", (double)v->column);
        cJSON_AddNumberToObject(region, "endColumn", (double)(v->column + (long)strlen(v->variable)));
    }
    return o;
}

int lint_print_sarif(const struct lint *l, FILE *out, struct err *e)
{
    struct lint_finding_view v;
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    cJSON_AddStringToObject(doc, "version", "2.1.0");
    cJSON *run = cJSON_CreateObject();
    cJSON_AddItemToArray(cJSON_AddArrayToObject(doc, "runs"), run);
    add_driver(run);
    cJSON_AddStringToObject(run, "columnKind", "unicodeCodePoints");
    cJSON *results = cJSON_AddArrayToObject(run, "results");
    for (size_t n = 0; lint_finding(l, n, &v); n++)
        cJSON_AddItemToArray(results, result_of(l, l->findings[n], &v));
    return print_document(doc, out, e);
}
