/* Findings for people, for programs (our own JSON) and for code hosts (SARIF). */
#include "envgen/lint/lint_internal.h"

static struct finding *all_findings(const struct lint *l, struct arena *a)
{
    struct finding *list = arena_alloc(a, (l->nfindings + 1) * sizeof *list);
    for (size_t n = 0; lint_finding(l, n, &list[n]); n++)
        ;
    return list;
}

static const char *counted(struct arena *a, size_t n, const char *what)
{
    return arena_printf(a, "%zu %s%s", n, what, n == 1 ? "" : "s");
}

static int print_text(const struct lint *l, const struct finding *list, struct arena *a, FILE *out, struct err *e)
{
    for (size_t n = 0; n < l->nfindings; n++)
        finding_print(&list[n], 0, out);
    fprintf(out, "%s: %s, %s, %s\n", counted(a, lint_settings(l), "setting"),
            counted(a, lint_count(l, FINDING_ERROR), "error"), counted(a, lint_count(l, FINDING_WARNING), "warning"),
            counted(a, lint_count(l, FINDING_NOTE), "note"));
    return ferror(out) ? err_set(e, ERR_FAILED, "the findings could not be written") : 0;
}

static int print_json(const struct lint *l, const struct finding *list, FILE *out, struct err *e)
{
    char version[ENV_VERSION];
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "format", "nccltune-lint/2");
    if (l->rccl_sure)
        cJSON_AddStringToObject(doc, "library", l->rccl ? "rccl" : "nccl");
    cJSON_AddStringToObject(doc, "nccl_from", env_version_text(version, l->low));
    cJSON_AddStringToObject(doc, "nccl_to", env_version_text(version, l->high));
    cJSON_AddNumberToObject(doc, "settings", (double)lint_settings(l));
    cJSON_AddItemToObject(doc, "findings", findings_json(list, (int)l->nfindings));
    int rc = json_print(doc, out, e);
    cJSON_Delete(doc);
    return rc;
}

int lint_print(const struct lint *l, enum lint_format format, FILE *out, struct err *e)
{
    struct arena *a = arena_new();
    const struct finding *list = all_findings(l, a);
    int rc, nkinds;
    if (format == LINT_SARIF) {
        const struct finding_kind *kinds = lint_kinds(a, &nkinds);
        rc = findings_print_sarif("nccltune lint", kinds, nkinds, list, (int)l->nfindings, out, e);
    } else {
        rc = format == LINT_JSON ? print_json(l, list, out, e) : print_text(l, list, a, out, e);
    }
    arena_free(a);
    return rc;
}
