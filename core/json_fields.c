/* Records of a document by tables. */
#include "core/json_fields.h"

#include "core/json.h"

#include <limits.h>
#include <math.h>
#include <string.h>

int json_wrong(const struct json_reader *in, const char *key, const char *expected)
{
    const char *dot = *in->place && *key ? "." : "", *colon = *in->place || *key ? ": " : "";
    return err_at(in->err, in->file, in->line, 0, "%s%s%s%sexpected %s", in->place, dot, key, colon, expected);
}

int *json_count(void *at)
{
    return (int *)((char *)at + sizeof(void *));
}

int json_is_known(const struct json_field *f, const void *at)
{
    if (f->kind->value)
        return f->kind->value(at) != f->unknown;
    return f->kind->size > sizeof(void *) ? *json_count((void *)at) : *(void *const *)at != NULL;
}

static int is_written(const struct json_field *f, const void *at)
{
    return f->always || f->required || json_is_known(f, at);
}

/* Room as arena_grow counts on it, so that more can be appended: the next power of two. */
static void *alloc_array(struct arena *a, int n, size_t size)
{
    size_t room = 1;
    while (room < (size_t)n)
        room *= 2;
    return arena_alloc(a, room * size);
}

/* ---- texts ---- */

static void put_text(cJSON *o, const struct json_field *f, const void *at)
{
    json_add_str(o, f->key, *(const char *const *)at);
}

static int get_text(struct json_reader *in, const struct json_field *f, const cJSON *item, void *at)
{
    int given = item && !cJSON_IsNull(item);
    if (given ? !cJSON_IsString(item) || (f->required && !*item->valuestring) : f->required)
        return json_wrong(in, f->key, "text");
    char *text = arena_strdup(in->arena, given ? item->valuestring : f->text);
    for (char *c = text; c && *c; c++) /* or a name would be lines of its own wherever it is printed */
        *c = *c == '\n' || *c == '\r' ? ' ' : *c;
    *(const char **)at = text;
    return 0;
}

static void put_texts(cJSON *o, const struct json_field *f, const void *at)
{
    if (is_written(f, at))
        json_add_strs(o, f->key, *(const char *const *const *)at, *json_count((void *)at));
}

static int get_texts(struct json_reader *in, const struct json_field *f, const cJSON *array, void *at)
{
    const cJSON *item;
    if (array && !cJSON_IsArray(array))
        return json_wrong(in, f->key, "an array of texts");
    const char **texts = alloc_array(in->arena, cJSON_GetArraySize(array), sizeof *texts);
    int n = 0;
    cJSON_ArrayForEach(item, array)
    {
        if (!cJSON_IsString(item))
            return json_wrong(in, f->key, "an array of texts");
        texts[n++] = arena_strdup(in->arena, item->valuestring);
    }
    *(const char ***)at = texts;
    *json_count(at) = n;
    return 0;
}

static void put_constant(cJSON *o, const struct json_field *f, const void *at)
{
    (void)at;
    json_add_str(o, f->key, f->text);
}

int json_get_nothing(struct json_reader *in, const struct json_field *f, const cJSON *item, void *at)
{
    (void)in, (void)f, (void)item, (void)at;
    return 0;
}

/* ---- numbers ---- */

void json_put_number(cJSON *o, const struct json_field *f, const void *at)
{
    if (is_written(f, at))
        cJSON_AddNumberToObject(o, f->key, f->kind->value(at));
}

static int get_value(struct json_reader *in, const struct json_field *f, const cJSON *item, const double *ends,
                     int whole, double *value)
{
    char range[96];
    *value = item ? item->valuedouble : f->unknown;
    if (item ? cJSON_IsNumber(item) && *value >= ends[0] && *value <= ends[1] && (!whole || *value == floor(*value))
             : !f->required)
        return 0;
    snprintf(range, sizeof range, "a %snumber from %.17g to %.17g", whole ? "whole " : "", ends[0], ends[1]);
    return json_wrong(in, f->key, ends[1] < ends[0] ? "no value here" : range);
}

int json_get_int(struct json_reader *in, const struct json_field *f, const cJSON *item, int low, int high, int *value)
{
    double found;
    int rc = get_value(in, f, item, (const double[]){low, high}, 1, &found);
    *value = rc ? 0 : (int)found;
    return rc;
}

double json_int_value(const void *at)
{
    return *(const int *)at;
}

static int most_of(const struct json_reader *in, const struct json_field *f)
{
    return f->count ? *(const int *)((const char *)in->more + f->count) : f->high != 0 ? (int)f->high : INT_MAX;
}

static int get_int(struct json_reader *in, const struct json_field *f, const cJSON *item, void *at)
{
    return json_get_int(in, f, item, (int)f->low, most_of(in, f), at);
}

static int get_index(struct json_reader *in, const struct json_field *f, const cJSON *item, void *at)
{
    return json_get_int(in, f, item, 0, most_of(in, f) - 1, at);
}

static double number_value(const void *at)
{
    return *(const double *)at;
}

static int get_number(struct json_reader *in, const struct json_field *f, const cJSON *item, void *at)
{
    return get_value(in, f, item, (const double[]){f->low, f->high != 0 ? f->high : 1e300}, 0, at);
}

static double bytes_value(const void *at)
{
    return (double)*(const uint64_t *)at;
}

static int get_bytes(struct json_reader *in, const struct json_field *f, const cJSON *item, void *at)
{
    double value;
    int rc = get_value(in, f, item, (const double[]){f->low, f->high != 0 ? f->high : 0x1p53}, 1, &value);
    *(uint64_t *)at = rc ? 0 : (uint64_t)value;
    return rc;
}

static void put_flag(cJSON *o, const struct json_field *f, const void *at)
{
    if (is_written(f, at))
        cJSON_AddBoolToObject(o, f->key, *(const int *)at);
}

static int get_flag(struct json_reader *in, const struct json_field *f, const cJSON *item, void *at)
{
    if (item && !cJSON_IsBool(item))
        return json_wrong(in, f->key, "true or false");
    *(int *)at = cJSON_IsTrue(item);
    return 0;
}

/* ---- words ---- */

static const char *name_of(const struct json_field *f, int value)
{
    return f->name ? f->name(value) : value >= 0 ? f->words[value] : NULL;
}

static void put_word(cJSON *o, const struct json_field *f, const void *at)
{
    if (is_written(f, at))
        json_add_str(o, f->key, name_of(f, *(const int *)at));
}

static int find_word(const struct json_field *f, const char *word)
{
    int i = (int)f->low;
    if (f->parse)
        return f->parse(word, strlen(word));
    while (name_of(f, i) && strcmp(name_of(f, i), word) != 0)
        i++;
    return name_of(f, i) ? i : -1;
}

static int get_word(struct json_reader *in, const struct json_field *f, const cJSON *item, void *at)
{
    char expected[160] = "one of ";
    size_t n = strlen(expected);
    int value = item ? cJSON_IsString(item) ? find_word(f, item->valuestring) : -1 : (int)f->unknown;
    *(int *)at = value;
    if (item ? value >= 0 : !f->required)
        return 0;
    for (int i = (int)f->low; name_of(f, i) && n < sizeof expected; i++)
        n += (size_t)snprintf(expected + n, sizeof expected - n, "%s\"%s\"", i > f->low ? ", " : "", name_of(f, i));
    return json_wrong(in, f->key, expected);
}

/* ---- records ---- */

void json_put_fields(cJSON *o, const struct json_field *fields, const void *record)
{
    for (const struct json_field *f = fields; f->key; f++)
        f->kind->put(o, f, (const char *)record + f->at);
}

/* Files that we wrote have keys in the order of the fields: the one behind the last is looked at before all are. */
static const cJSON *find_item(const cJSON *o, const char *key, const cJSON **next)
{
    const cJSON *item = *next && !strcmp((*next)->string, key) ? *next : cJSON_GetObjectItemCaseSensitive(o, key);
    if (item)
        *next = item->next;
    return item;
}

int json_get_fields(struct json_reader *in, const struct json_record *r, const cJSON *o, void *record)
{
    if (!o || !cJSON_IsObject(o))
        return json_wrong(in, "", "an object");
    const cJSON *next = o->child;
    for (const struct json_field *f = r->fields; f->key; f++)
        if (f->kind->get(in, f, find_item(o, f->key, &next), (char *)record + f->at))
            return ERR_FAILED;
    return r->check ? r->check(in, record) : 0;
}

/* `o` as what stands at KEY or KEY[i] of where the reader is. */
static int get_within(struct json_reader *in, const struct json_field *f, int i, const cJSON *o, void *record)
{
    size_t n = strlen(in->place);
    char *end = in->place + n;
    snprintf(end, sizeof in->place - n, i < 0 ? "%s%s" : "%s%s[%d]", n ? "." : "", f->key, i);
    int rc = json_get_fields(in, f->record, o, record);
    *end = 0;
    return rc;
}

static int is_known(const struct json_field *f, const void *at)
{
    return !f->record->known || f->record->known(at);
}

static void put_object(cJSON *o, const struct json_field *f, const void *at)
{
    if (is_known(f, at))
        json_put_fields(cJSON_AddObjectToObject(o, f->key), f->record->fields, at);
}

static int get_object(struct json_reader *in, const struct json_field *f, const cJSON *item, void *at)
{
    return item || f->required ? get_within(in, f, -1, item, at) : 0;
}

static void put_array(cJSON *o, const struct json_field *f, const void *at)
{
    const char *record = *(const char *const *)at;
    cJSON *array = is_known(f, at) ? cJSON_AddArrayToObject(o, f->key) : NULL;
    for (int i = 0; array && i < *json_count((void *)at); i++, record += f->record->size)
        json_put_fields(json_append(array), f->record->fields, record);
}

static int get_array(struct json_reader *in, const struct json_field *f, const cJSON *array, void *at)
{
    char expected[64];
    int most = f->record->most ? f->record->most : INT_MAX, n = cJSON_GetArraySize(array), i = 0, rc = 0;
    snprintf(expected, sizeof expected, most < INT_MAX ? "an array of at most %d" : "an array", most);
    if (array ? !cJSON_IsArray(array) || n > most : f->required && is_known(f, at))
        return json_wrong(in, f->key, expected);
    char *records = alloc_array(in->arena, n, f->record->size);
    *(char **)at = records;
    *json_count(at) = n;
    const cJSON *item;
    cJSON_ArrayForEach(item, array)
    {
        rc = rc ? rc : get_within(in, f, i, item, records + (size_t)i * f->record->size);
        i++;
    }
    return rc;
}

#define LIST (sizeof(void *) + sizeof(int))
const struct json_kind json_as_text = {put_text, get_text, sizeof(char *)},
                       json_as_texts = {put_texts, get_texts, LIST},
                       json_as_constant = {put_constant, json_get_nothing},
                       json_as_int = {json_put_number, get_int, sizeof(int), json_int_value},
                       json_as_index = {json_put_number, get_index, 0, json_int_value},
                       json_as_number = {json_put_number, get_number, sizeof(double), number_value},
                       json_as_bytes = {json_put_number, get_bytes, sizeof(uint64_t), bytes_value},
                       json_as_flag = {put_flag, get_flag, sizeof(int), json_int_value},
                       json_as_word = {put_word, get_word, sizeof(int), json_int_value},
                       json_as_object = {put_object, get_object}, json_as_array = {put_array, get_array};
