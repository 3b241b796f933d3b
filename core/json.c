/* JSON documents through cJSON. */
#include "core/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"

#define JSON_MEMORY  ((size_t)180 << 20)
#define VALUE_BYTES  80 /* of cJSON and malloc, for a value */
#define STRING_BYTES 24 /* and for a string beside its bytes */

static void position(const char *text, const char *at, long first_line, long *line, long *column)
{
    *line = first_line;
    *column = 1;
    for (; text < at; text++)
        if (*text == '\n') {
            (*line)++;
            *column = 1;
        } else {
            (*column)++;
        }
}

/* Where nesting passes JSON_DEPTH, or the document would take more than JSON_MEMORY; or NULL. What stands within
 * strings does not count. */
static const char *too_much(const char *text, size_t bytes, int *deep)
{
    int depth = 0, in_string = 0;
    size_t memory = 2 * bytes; /* the text, and its strings once more */
    for (const char *p = text; p < text + bytes; p++) {
        if (in_string) {
            if (*p == '\\')
                p++;
            else if (*p == '"')
                in_string = 0;
        } else if (*p == '"') {
            in_string = 1;
            memory += STRING_BYTES;
        } else if (*p == '{' || *p == '[') {
            memory += VALUE_BYTES;
            depth++;
        } else if (*p == '}' || *p == ']') {
            depth--;
        } else if (*p == ',') {
            memory += VALUE_BYTES;
        }
        *deep = depth > JSON_DEPTH;
        if (*deep || memory > JSON_MEMORY)
            return p;
    }
    return NULL;
}

cJSON *json_parse(const char *text, size_t bytes, const char *file, long first_line, struct err *e)
{
    long line, column;
    int deep;
    const char *much = too_much(text, bytes, &deep);
    if (much) {
        position(text, much, first_line, &line, &column);
        if (deep)
            err_at(e, file, line, column, "nested deeper than %d levels", JSON_DEPTH);
        else
            err_at(e, file, line, column, "more values than fit into %zu MiB of memory", JSON_MEMORY >> 20);
        return NULL;
    }
    const char *end = NULL;
    cJSON *doc = cJSON_ParseWithLengthOpts(text, bytes, &end, 0);
    if (!doc) {
        position(text, end ? end : text, first_line, &line, &column);
        err_at(e, file, line, column, "not valid JSON");
        return NULL;
    }
    while (end < text + bytes && strchr(" \t\r\n", *end) && *end)
        end++;
    if (end < text + bytes) {
        position(text, end, first_line, &line, &column);
        err_at(e, file, line, column, "expected the end of the JSON value");
        cJSON_Delete(doc);
        return NULL;
    }
    return doc;
}

/* "nccltune-topology/1.2" without the minor version: the length up to the dot. */
static size_t major_len(const char *format)
{
    const char *version = strchr(format, '/');
    return version ? (size_t)(version - format) + strcspn(version, ".") : strlen(format);
}

int json_check_format(const cJSON *doc, const char *format, const char *file, struct err *e)
{
    const char *found = json_str(doc, "format", NULL);
    size_t name = strcspn(format, "/") + 1, major = major_len(format);
    if (!found || strncmp(found, format, name) != 0)
        return err_at(e, file, 0, 0, "expected \"format\": \"%s\", found %s", format, found ? found : "none");
    if (major_len(found) != major || strncmp(found, format, major) != 0)
        return err_at(e, file, 0, 0, "format %s is not supported (%s)", found, format);
    return 0;
}

cJSON *json_load(const char *path, const char *format, struct err *e)
{
    struct arena *a = arena_new();
    char *text;
    size_t bytes;
    cJSON *doc = NULL;
    if (!file_read_text(path, FILE_LIMIT, a, &text, &bytes, e))
        doc = json_parse(text, bytes, path, 1, e);
    if (doc && format && json_check_format(doc, format, path, e)) {
        cJSON_Delete(doc);
        doc = NULL;
    }
    arena_free(a);
    return doc;
}

char *json_line(const cJSON *doc)
{
    char *text = cJSON_PrintUnformatted(doc);
    if (!text)
        abort();
    return text;
}

void json_print_line(const cJSON *doc, FILE *out)
{
    char *line = json_line(doc);
    fprintf(out, "%s\n", line);
    free(line);
}

/* For cJSON_free; frees `doc`. */
static char *indented_text(cJSON *doc)
{
    char *text = cJSON_Print(doc);
    if (!text)
        abort();
    cJSON_Delete(doc);
    return text;
}

const char *json_text(cJSON *doc, struct arena *a)
{
    char *text = indented_text(doc);
    const char *copy = arena_printf(a, "%s\n", text);
    cJSON_free(text);
    return copy;
}

void json_print(cJSON *doc, FILE *out)
{
    char *text = indented_text(doc);
    fprintf(out, "%s\n", text);
    cJSON_free(text);
}

int json_save(cJSON *doc, const char *path, struct err *e)
{
    struct file_out out;
    file_out_begin(&out);
    json_print(doc, out.stream);
    return file_out_commit(&out, path, e);
}

const char *json_str(const cJSON *o, const char *key, const char *otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsString(item) ? item->valuestring : otherwise;
}

double json_num(const cJSON *o, const char *key, double otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

int64_t json_int(const cJSON *o, const char *key, int64_t otherwise)
{
    double v = json_num(o, key, NAN);
    return fabs(v) <= 0x1p53 ? (int64_t)v : otherwise;
}

int json_bool(const cJSON *o, const char *key, int otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsBool(item) ? cJSON_IsTrue(item) : otherwise;
}

size_t json_utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    static const struct {
        unsigned char first, last, low, high, more;
    } forms[] = {{0x00, 0x7f, 0, 0, 0},       {0xc2, 0xdf, 0x80, 0xbf, 1}, {0xe0, 0xe0, 0xa0, 0xbf, 2},
                 {0xe1, 0xec, 0x80, 0xbf, 2}, {0xed, 0xed, 0x80, 0x9f, 2}, {0xee, 0xef, 0x80, 0xbf, 2},
                 {0xf0, 0xf0, 0x90, 0xbf, 3}, {0xf1, 0xf3, 0x80, 0xbf, 3}, {0xf4, 0xf4, 0x80, 0x8f, 3}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (*s < forms[i].first || *s > forms[i].last)
            continue;
        for (size_t k = 1; k <= forms[i].more; k++)
            if (s[k] < (k == 1 ? forms[i].low : 0x80) || s[k] > (k == 1 ? forms[i].high : 0xbf))
                return 0;
        return 1u + forms[i].more;
    }
    return 0;
}

/* A string of valid UTF-8; NULL for NULL. */
static cJSON *text_of(const char *s)
{
    cJSON *item = s ? cJSON_CreateString(s) : NULL;
    for (char *p = item ? item->valuestring : NULL; p && *p;) {
        size_t n = json_utf8_length(p);
        if (!n)
            *p = '?';
        p += n ? n : 1;
    }
    return item;
}

void json_add_str(cJSON *o, const char *key, const char *s)
{
    cJSON *item = text_of(s);
    if (item)
        cJSON_AddItemToObject(o, key, item);
}

cJSON *json_append(cJSON *array)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToArray(array, o);
    return o;
}

void json_append_str(cJSON *array, const char *s)
{
    cJSON_AddItemToArray(array, text_of(s));
}

void json_add_strs(cJSON *o, const char *key, const char *const *texts, int n)
{
    cJSON *array = cJSON_AddArrayToObject(o, key);
    for (int i = 0; i < n; i++)
        json_append_str(array, texts[i]);
}

void json_add_each(cJSON *o, const char *key, const void *records, int n, size_t size, json_fill_fn *fill)
{
    cJSON *array = cJSON_AddArrayToObject(o, key);
    for (int i = 0; i < n; i++)
        fill(json_append(array), (const char *)records + (size_t)i * size);
}
