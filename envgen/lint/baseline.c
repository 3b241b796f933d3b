/* The baseline: findings that are known and left out. It has no line numbers, so that it holds while a file grows. */
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "envgen/lint/lint_internal.h"

#define FORMAT "nccltune-lint-baseline/1"

struct entry {
    const char *file, *id, *subject, *value;
    long count;
};

static int by_text(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    int order = strcmp(a->file, b->file);
    order = order ? order : strcmp(a->id, b->id);
    order = order ? order : strcmp(a->subject, b->subject);
    return order ? order : strcmp(a->value, b->value);
}

static struct entry entry_of(const struct lint_finding *f)
{
    return (struct entry){f->at->text ? f->at->text->name : "", f->kind->id, f->at->name,
                          f->at->value ? f->at->value : "", 1};
}

/* Sorted, each once with its count. */
static struct entry *entries_of(const struct lint *l, struct arena *a, size_t *n)
{
    struct entry *list = arena_alloc(a, (l->nfindings + 1) * sizeof *list);
    *n = 0;
    for (size_t i = 0; i < l->nfindings; i++)
        list[i] = entry_of(l->findings[i]);
    qsort(list, l->nfindings, sizeof *list, by_text);
    for (size_t i = 0; i < l->nfindings; i++) {
        if (*n > 0 && !by_text(&list[*n - 1], &list[i]))
            list[*n - 1].count++;
        else
            list[(*n)++] = list[i];
    }
    return list;
}

int lint_write_baseline(const struct lint *l, const char *path, struct err *e)
{
    struct arena *a = arena_new();
    cJSON *doc = cJSON_CreateObject(), *array;
    size_t n;
    const struct entry *list = entries_of(l, a, &n);
    cJSON_AddStringToObject(doc, "format", FORMAT);
    array = cJSON_AddArrayToObject(doc, "findings");
    for (size_t i = 0; i < n; i++) {
        cJSON *o = json_append(array);
        json_add_str(o, "file", list[i].file);
        json_add_str(o, "id", list[i].id);
        json_add_str(o, "subject", list[i].subject);
        json_add_str(o, "value", list[i].value);
        cJSON_AddNumberToObject(o, "count", (double)list[i].count);
    }
    int rc = json_save(doc, path, e);
    arena_free(a);
    return rc;
}

static struct entry *load(const cJSON *doc, struct arena *a, size_t *n)
{
    struct entry *list = NULL;
    const cJSON *o;
    *n = 0;
    cJSON_ArrayForEach(o, cJSON_GetObjectItemCaseSensitive(doc, "findings"))
    {
        list = arena_grow(a, list, *n, sizeof *list);
        list[(*n)++] = (struct entry){json_str(o, "file", ""), json_str(o, "id", ""), json_str(o, "subject", ""),
                                      json_str(o, "value", ""), (long)json_int(o, "count", 1)};
    }
    if (list)
        qsort(list, *n, sizeof *list, by_text);
    return list;
}

int lint_apply_baseline(struct lint *l, const char *path, struct err *e)
{
    cJSON *doc = json_load(path, FORMAT, e);
    struct arena *a = arena_new();
    size_t n, kept = 0;
    struct entry *list = doc ? load(doc, a, &n) : NULL;
    for (size_t i = 0; list && i < l->nfindings; i++) {
        struct entry wanted = entry_of(l->findings[i]), *found = bsearch(&wanted, list, n, sizeof *list, by_text);
        if (found && found->count-- > 0)
            l->known++;
        else
            l->findings[kept++] = l->findings[i];
    }
    if (list)
        l->nfindings = kept;
    arena_free(a);
    cJSON_Delete(doc);
    return doc ? 0 : ERR_FAILED;
}
