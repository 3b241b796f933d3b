/* Findings for people and for programs (JSON). */

#include <stdlib.h>

#include "core/json.h"
#include "lint/lint_internal.h"

struct page {
    const struct lint *l;
    struct arena *a;
    const struct finding *list;
    struct finding *problems; /* documents that were not read, or not understood wholly */
    int nproblems;
    size_t unread;
};

static const char *count_text(struct arena *a, size_t n, const char *what)
{
    return arena_printf(a, "%zu %s%s", n, what, n == 1 ? "" : "s");
}

static void collect_findings(struct page *p)
{
    struct finding *list = arena_alloc(p->a, (p->l->nfindings + 1) * sizeof *list);
    struct lint_document d;
    for (size_t n = 0; lint_finding(p->l, n, &list[n]); n++)
        ;
    p->list = list;
    for (size_t n = 0; lint_document(p->l, n, &d); n++) {
        struct finding f = {.file = d.name, .line = d.error_line, .column = d.error_line > 0, .text = d.error};
        f.severity = d.error ? FINDING_ERROR : FINDING_NOTE;
        if (d.unread && !d.error) {
            f.line = d.unread_line;
            f.column = 1;
            f.text = arena_printf(p->a, "%s in a form that lint does not understand; this is the first",
                                  count_text(p->a, d.unread, "setting"));
        }
        p->unread += d.unread;
        if (f.text)
            ARENA_ADD(p->a, p->problems, p->nproblems) = f;
        if (d.missing && !d.error) {
            f.line = d.missing_line;
            f.column = 1;
            f.text = arena_printf(p->a, "sources %s, which is not here: what that sets is not known", d.missing);
            ARENA_ADD(p->a, p->problems, p->nproblems) = f;
        }
    }
}

/* Of numbers of findings: the most harmful first, then the dearest, then by place. */
static int by_harm(const void *x, const void *y, void *lint)
{
    const struct lint *l = lint;
    const size_t a = *(const size_t *)x, b = *(const size_t *)y;
    const struct lint_finding *f = l->findings[a], *g = l->findings[b];
    if (f->severity != g->severity)
        return f->severity > g->severity ? -1 : 1;
    return f->cost != g->cost ? (f->cost > g->cost ? -1 : 1) : a < b ? -1 : a > b;
}

static void print_text(const struct page *p, FILE *out)
{
    const struct lint *l = p->l;
    size_t bad = 0, *order = arena_alloc(p->a, (l->nfindings + 1) * sizeof *order);
    for (size_t n = 0; n < l->nfindings; n++)
        order[n] = n;
    qsort_r(order, l->nfindings, sizeof *order, by_harm, (void *)(uintptr_t)l);
    for (size_t n = 0; n < l->nfindings; n++)
        finding_print(&p->list[order[n]], 0, out);
    for (int n = 0; n < p->nproblems; n++) {
        finding_print(&p->problems[n], 0, out);
        bad += p->problems[n].severity == FINDING_ERROR;
    }
    fprintf(out, "%s: %s, %s, %s", count_text(p->a, lint_settings(l), "setting"),
            count_text(p->a, lint_count(l, FINDING_ERROR), "error"),
            count_text(p->a, lint_count(l, FINDING_WARNING), "warning"),
            count_text(p->a, lint_count(l, FINDING_NOTE), "note"));
    if (p->unread)
        fprintf(out, "; %s not understood", count_text(p->a, p->unread, "setting"));
    if (bad)
        fprintf(out, "; %s not read", count_text(p->a, bad, "file"));
    fputc('\n', out);
}

static void add_documents(cJSON *doc, const struct lint *l)
{
    cJSON *array = cJSON_AddArrayToObject(doc, "documents");
    struct lint_document d;
    for (size_t n = 0; lint_document(l, n, &d); n++) {
        cJSON *o = json_append(array);
        json_add_str(o, "file", d.name);
        json_add_str(o, "kind", d.kind);
        cJSON_AddNumberToObject(o, "settings", (double)d.settings);
        if (d.unread) {
            cJSON_AddNumberToObject(o, "not_understood", (double)d.unread);
            cJSON_AddNumberToObject(o, "not_understood_line", (double)d.unread_line);
        }
        if (d.missing) {
            json_add_str(o, "not_sourced", d.missing);
            cJSON_AddNumberToObject(o, "not_sourced_line", (double)d.missing_line);
        }
        json_add_str(o, "error", d.error);
        if (d.error && d.error_line)
            cJSON_AddNumberToObject(o, "error_line", (double)d.error_line);
    }
}

static void print_json(const struct page *p, FILE *out)
{
    const struct lint *l = p->l;
    char version[ENV_VERSION];
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "format", "nccltune-lint/2");
    if (l->rccl_sure)
        cJSON_AddStringToObject(doc, "library", l->rccl ? "rccl" : "nccl");
    cJSON_AddStringToObject(doc, "nccl_from", env_version_text(version, l->low));
    cJSON_AddStringToObject(doc, "nccl_to", env_version_text(version, l->high));
    cJSON_AddNumberToObject(doc, "settings", (double)lint_settings(l));
    add_documents(doc, l);
    findings_add_json(doc, "findings", p->list, (int)l->nfindings);
    json_print(doc, out);
}

void lint_print(const struct lint *l, int json, FILE *out)
{
    struct page p = {.l = l, .a = arena_new()};
    collect_findings(&p);
    if (json)
        print_json(&p, out);
    else
        print_text(&p, out);
    arena_free(p.a);
}
