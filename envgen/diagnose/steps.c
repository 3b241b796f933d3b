/* Logs with one line a step: verl's console, "[Step N] rollout: 185ms | sync: 190ms", and JSON lines of trackers.
 *
 * verl's console logger joins "key:value" by " - " behind "step:N"; its timers are "timing_s/NAME" in seconds, "step"
 * being the whole; its file logger writes {"step": N, "data": {...}} with the same keys. */
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "envgen/diagnose/diagnose_internal.h"

/* verl's timers beside the common words. */
static const struct diag_word verl_words[] = {
    {"generate_sequences", NULL}, /* the rollout without its weight sync */
    {"gen_max", NULL},
    {"generation_timing", NULL},
    {"start_profile", NULL},
    {"stop_profile", NULL},
    {"generate_async", "rollout", DIAG_COMPUTE, DIAG_ROLLOUT},
    {"wait_prev_gen", "rollout", DIAG_COMPUTE, DIAG_ROLLOUT},
    {"refpolicy", "reference", DIAG_COMPUTE, DIAG_TRAIN},
    {NULL},
};

/* Key prefixes of timers, with the unit of their values. */
static const struct {
    const char *prefix;
    double unit_ms;
} prefixes[] = {
    {"profiling/Time taken: GRPOTrainer.", 1e3},
    {"timing_ms/", 1},
    {"timing_s/", 1e3},
    {"time_ms/", 1},
    {"time_s/", 1e3},
    {"timing/", 1e3},
};

/* Metrics that explain a rollout. */
static const struct {
    const char *key;
    struct diag_word word;
} metrics[] = {
    {"response_length/mean", {"", "response length, mean", DIAG_METRIC, DIAG_ROLLOUT}},
    {"response_length/max", {"", "response length, longest", DIAG_METRIC, DIAG_ROLLOUT}},
};

static void add_pair(struct diagnosis *d, enum diag_format f, const char *key, size_t len, double value)
{
    char buffer[DIAG_NAME];
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        if (strlen(metrics[i].key) == len && !strncmp(metrics[i].key, key, len))
            diag_step_add(d, f, &metrics[i].word, value);
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t n = strlen(prefixes[i].prefix);
        if (len <= n || strncmp(key, prefixes[i].prefix, n) != 0 || value < 0)
            continue;
        /* Names with further parts ("agent_loop/slowest/...") are details of one worker. */
        if (memchr(key + n, '/', len - n))
            return;
        struct diag_word w = diag_word_of(verl_words, key + n, len - n, buffer);
        diag_step_add(d, f, &w, value * prefixes[i].unit_ms);
        return;
    }
}

/* ---- verl's console ---- */

int diag_read_verl(struct diagnosis *d, const char *line)
{
    const char *at = strstr(line, "step:");
    char *end;
    if (!at || at[5] < '0' || at[5] > '9' || !strstr(at, "timing_s/"))
        return 0;
    long number = strtol(at + 5, &end, 10);
    if (strncmp(end, " - ", 3) != 0)
        return 0;
    diag_step_open(d, DIAG_VERL, number);
    for (const char *p = end + 3, *next; p; p = next) {
        next = strstr(p, " - ");
        size_t n = next ? (size_t)(next - p) : strlen(p);
        const char *colon = memchr(p, ':', n);
        double value;
        if (colon && diag_number(colon + 1, &value))
            add_pair(d, DIAG_VERL, p, (size_t)(colon - p), value);
        next = next ? next + 3 : NULL;
    }
    diag_step_close(d, DIAG_VERL);
    return 1;
}

/* ---- [Step N] name: time | name: time ---- */

static const char *const step_words[] = {"[Step ", "[step ", "[STEP ", "[Iter ", "[iter ",
                                         "[步骤 ", "[步骤",  "[第 ",   "[第"};

/* Behind the ']' of "[Step 12/500]", or NULL. */
static const char *behind_step(const char *line, long *number)
{
    for (size_t i = 0; i < sizeof step_words / sizeof *step_words; i++) {
        const char *at = strstr(line, step_words[i]);
        if (!at)
            continue;
        at += strlen(step_words[i]);
        char *end;
        *number = strtol(at, &end, 10);
        const char *close = end > at ? strchr(end, ']') : NULL;
        if (close && close - end < 40)
            return close + 1;
    }
    return NULL;
}

int diag_read_step_line(struct diagnosis *d, const char *line)
{
    long number;
    const char *p = behind_step(line, &number);
    int opened = 0;
    for (; p && *p; p += *p != 0) {
        size_t n = strcspn(p, "|"), name = strcspn(p, ":=|");
        char buffer[DIAG_NAME];
        double ms;
        const char *rest = name < n ? diag_time(p + name + 1, 0, &ms) : NULL;
        if (rest && rest <= p + n) {
            struct diag_word w = diag_word_of(NULL, p, name, buffer);
            if (!opened)
                diag_step_open(d, DIAG_STEP_LINE, number);
            opened = 1;
            diag_step_add(d, DIAG_STEP_LINE, &w, ms);
        }
        p += n;
    }
    if (opened)
        diag_step_close(d, DIAG_STEP_LINE);
    return opened;
}

/* ---- JSON lines ---- */

static int is_timer(const cJSON *item)
{
    for (size_t i = 0; item->string && i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(item->string, prefixes[i].prefix, strlen(prefixes[i].prefix)))
            return 1;
    return 0;
}

/* The object that holds the timers: the line's own, or one of its fields. */
static const cJSON *timers_of(const cJSON *doc)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, doc)
    {
        if (is_timer(item))
            return doc;
    }
    cJSON_ArrayForEach(item, doc)
    {
        const cJSON *inner;
        if (!cJSON_IsObject(item))
            continue;
        cJSON_ArrayForEach(inner, item)
        {
            if (is_timer(inner))
                return item;
        }
    }
    return NULL;
}

static long step_of(const cJSON *doc, const cJSON *timers)
{
    static const char *const keys[] = {"step", "_step", "global_step", "training/global_step"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        int64_t n = json_int(doc, keys[i], json_int(timers, keys[i], -1));
        if (n >= 0)
            return (long)n;
    }
    return -1;
}

int diag_read_jsonl(struct diagnosis *d, const char *line, size_t bytes)
{
    size_t blank = strspn(line, " ");
    struct err e = {0};
    if (line[blank] != '{' || (!strstr(line, "tim") && !strstr(line, "Time taken")))
        return 0;
    cJSON *doc = json_parse(line, bytes, d->in->path, d->in->line, &e);
    const cJSON *timers = doc ? timers_of(doc) : NULL, *item;
    if (timers) {
        diag_step_open(d, DIAG_JSONL, step_of(doc, timers));
        cJSON_ArrayForEach(item, timers)
        {
            if (cJSON_IsNumber(item) && item->string)
                add_pair(d, DIAG_JSONL, item->string, strlen(item->string), item->valuedouble);
        }
        diag_step_close(d, DIAG_JSONL);
    }
    cJSON_Delete(doc);
    return timers != NULL;
}
