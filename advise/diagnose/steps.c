/* Logs with one line a step: verl's console, "[Step N] rollout: 185ms | sync: 190ms", and records of trackers.
 *
 * verl's console logger joins "key:value" by " - " behind "step:N"; its timers are "timing_s/NAME" in seconds, "step"
 * being the whole; its file logger writes {"step": N, "data": {...}} with the same keys. TRL and Swift print one record
 * a step, as JSON or as Python writes it, with "profiling/Time taken: CLASS.METHOD" for what is timed. */
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

/* verl's timers beside the common words. */
static const struct diag_word verl_words[] = {
    {"generate_sequences|gen_max|generation_timing|start_profile|stop_profile",
     NULL}, /* the rollout without its weight sync */
    {"generate_async|wait_prev_gen", "rollout", DIAG_COMPUTE, DIAG_ROLLOUT},
    {"refpolicy", "reference", DIAG_COMPUTE, DIAG_TRAIN},
    {NULL},
};

/* TRL's profiled methods; Swift's trainers are built on them. Batches are prepared within a step's timer of that name:
 * generation, scoring, rewards, and log-probabilities of the policy that generated, unless they are of the loss. */
#define PREPARE "preparing batches"
#define SCORING "scoring completions|" PREPARE
static const struct diag_word trl_words[] = {
    {"prepare_inputs", PREPARE, DIAG_OTHER, DIAG_ROLLOUT},
    {"generate_and_score_completions", "scoring completions", DIAG_OTHER, DIAG_ROLLOUT, PREPARE},
    {"score_completions|calculate_rewards", "reward", DIAG_OTHER, DIAG_NEITHER, SCORING},
    {"generate_completions", "generating completions", DIAG_OTHER, DIAG_ROLLOUT, SCORING},
    {"generate|vllm.generate|transformers.generate", "rollout", DIAG_COMPUTE, DIAG_ROLLOUT,
     "generating completions|" SCORING},
    {"move_model_to_vllm|sync_weights", "weight sync", DIAG_COMMUNICATION, DIAG_ROLLOUT,
     "generating completions|" SCORING},
    {"get_per_token_logps|get_per_token_logps_and_entropies", "log-probabilities", DIAG_COMPUTE, DIAG_TRAIN,
     SCORING "|loss"},
    {"get_last_hidden_state", "forward", DIAG_COMPUTE, DIAG_TRAIN, "loss"},
    {"compute_loss", "loss", DIAG_COMPUTE, DIAG_TRAIN},
    {NULL},
};

/* Key prefixes of timers, with the unit of their values. */
static const struct {
    const char *prefix;
    double unit_ms;
    const struct diag_word *words;
} prefixes[] = {
    {"profiling/Time taken: ", 1e3, trl_words},
    {"timing_ms/", 1, verl_words},
    {"timing_s/", 1e3, verl_words},
    {"time_ms/", 1, verl_words},
    {"time_s/", 1e3, verl_words},
    {"timing/", 1e3, verl_words},
};
#define PREFIXES (sizeof prefixes / sizeof *prefixes)

/* Whole keys: steps of trainers without timers, and what explains a rollout or a batch. `unit` is what the value is
 * multiplied by, negative: what is divided by it. */
#define METRIC(name)                        \
    {                                       \
        "", name, DIAG_METRIC, DIAG_NEITHER \
    }
static const struct {
    const char *key;
    struct diag_word word;
    double unit;
} keys[] = {
    {"step_time", {"", diag_total_mark}, 1e3},
    {"train_speed(s/it)", {"", diag_total_mark}, 1e3},
    {"train_speed(sec/iter)", {"", diag_total_mark}, 1e3},
    {"train_speed(iter/s)", {"", diag_total_mark}, -1e3},
    {"time_metrics/end_to_end(s)", {"", diag_total_mark}, 1e3},
    {"time_metrics/data_loading(s)", {"", "data", DIAG_DATA, DIAG_NEITHER}, 1e3},
    {"response_length/mean", METRIC("response length, mean"), 1},
    {"response_length/max", METRIC("response length, longest"), 1},
    {"response_length/clip_ratio", METRIC("responses cut off"), 1},
    {"completions/mean_length", METRIC("response length, mean"), 1},
    {"completions/max_length", METRIC("response length, longest"), 1},
    {"completions/clipped_ratio", METRIC("responses cut off"), 1},
    {"completion_length", METRIC("response length, mean"), 1},
    {"global_seqlen/mean", METRIC("tokens of a rank, mean"), 1},
    {"global_seqlen/minmax_diff", METRIC("tokens of a rank, largest less smallest"), 1},
    {"global_seqlen/balanced_min", METRIC("tokens of a rank after balancing, smallest"), 1},
    {"global_seqlen/balanced_max", METRIC("tokens of a rank after balancing, largest"), 1},
};

static int is_key(const char *key, size_t len, const char *word)
{
    return strlen(word) == len && !strncmp(word, key, len);
}

/* The timer's prefix, or -1. */
static int prefix_of(const char *key, size_t len)
{
    for (size_t i = 0; i < PREFIXES; i++)
        if (len > strlen(prefixes[i].prefix) && !strncmp(key, prefixes[i].prefix, strlen(prefixes[i].prefix)))
            return (int)i;
    return -1;
}

static int is_timer(const char *key, size_t len)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].word.kind != DIAG_METRIC && is_key(key, len, keys[i].key))
            return 1;
    return prefix_of(key, len) >= 0;
}

/* "GRPOTrainer._prepare_inputs": the class does not matter. A method that nobody knows and that rewards is a reward
 * function. */
static struct diag_word trl_word(const char *name, size_t len, char buffer[DIAG_NAME])
{
    const char *dot = memchr(name, '.', len);
    if (dot) {
        len -= (size_t)(dot + 1 - name);
        name = dot + 1;
    }
    struct diag_word w = diag_word_of(trl_words, name, len, buffer);
    if (w.guessed && strstr(buffer, "reward")) {
        w.parent = "reward";
        w.guessed = 0;
    }
    return w;
}

static void add_timer(struct diagnosis *d, enum diag_format f, const char *key, size_t len, double value)
{
    char buffer[DIAG_NAME];
    int i = prefix_of(key, len);
    if (i < 0 || value < 0)
        return;
    key += strlen(prefixes[i].prefix);
    len -= strlen(prefixes[i].prefix);
    /* Names with further parts ("agent_loop/slowest/...") are details of one worker. */
    if (memchr(key, '/', len))
        return;
    struct diag_word w =
        prefixes[i].words == trl_words ? trl_word(key, len, buffer) : diag_word_of(prefixes[i].words, key, len, buffer);
    diag_step_add(d, f, &w, value * prefixes[i].unit_ms);
}

static void add_pair(struct diagnosis *d, enum diag_format f, const char *key, size_t len, double value)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (is_key(key, len, keys[i].key) && value >= 0 && (value > 1e-9 || keys[i].unit > 0))
            diag_step_add(d, f, &keys[i].word, keys[i].unit > 0 ? value * keys[i].unit : -keys[i].unit / value);
    add_timer(d, f, key, len, value);
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

/* ---- records: {"key": 1.5, ...}, {'key': '1.5', ...} ---- */

/* The quote that ends the string whose quote is at `p`; NULL when there is none. */
static const char *closing(const char *p)
{
    for (const char *q = p + 1; *q; q++) {
        if (*q == *p)
            return q;
        q += *q == '\\' && q[1];
    }
    return NULL;
}

/* The next key with a number, anywhere in the record. NULL at its end. */
static const char *next_pair(const char *p, const char **key, size_t *len, double *value)
{
    while ((p = strpbrk(p, "'\""))) {
        const char *end = closing(p), *start = p + 1;
        if (!end)
            return NULL;
        p = end + 1 + strspn(end + 1, " ");
        if (*p != ':')
            continue;
        p += 1 + strspn(p + 1, " ");
        int quoted = *p == '\'' || *p == '"';
        const char *behind = quoted ? closing(p) : p;
        if (!behind)
            return NULL;
        int found = diag_number(p + quoted, value) != NULL;
        p = behind + quoted;
        *key = start;
        *len = (size_t)(end - start);
        if (found)
            return p;
    }
    return NULL;
}

int diag_read_record(struct diagnosis *d, const char *line)
{
    static const char *const steps[] = {"step", "_step", "global_step", "training/global_step",
                                        "global_step/max_steps"};
    const char *start = strchr(line, '{'), *key;
    size_t len;
    double value;
    long number = -1;
    int timers = 0;
    if (!start || !strpbrk(start, "'\""))
        return 0;
    for (const char *p = start; (p = next_pair(p, &key, &len, &value));) {
        timers += is_timer(key, len);
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            if (is_key(key, len, steps[i]) && value >= 0 && value < 1e15)
                number = (long)value;
    }
    if (!timers)
        return 0;
    diag_step_open(d, DIAG_JSONL, number);
    for (const char *p = start; (p = next_pair(p, &key, &len, &value));)
        add_pair(d, DIAG_JSONL, key, len, value);
    diag_step_close(d, DIAG_JSONL);
    return 1;
}
