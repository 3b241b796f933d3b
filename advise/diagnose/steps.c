/* Logs with one line a step: verl's console, "[Step N] rollout: 185ms | sync: 190ms", and records of trackers.  verl's
 * console logger joins "key:value" by " - " behind "step:N"; its timers are "timing_s/NAME" in seconds, "step" being
 * the whole; its file logger writes {"step": N, "data": {...}} with the same keys. TRL and Swift print one record a
 * step, as JSON or as Python writes it, with "profiling/Time taken: CLASS.METHOD" for what is timed. */
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

/* ---- tables of loggers ------------------------------------------------------------------------------------------- */

/* Tables that trackers export: of W&B one column a metric ("Step", "RUN - timing_s/gen", its MIN and MAX), of
 * TensorBoard one file a metric ("Wall time,Step,Value"), whose name ends in -tag-NAME.csv with '/' as '_'. */

/* The metric of TensorBoard's file by its name, with the '/' behind its group put back; 0: no timer. */
static int key_of_file(const char *path, char key[DIAG_NAME])
{
    const char *tag = strstr(path, "-tag-");
    if (!tag)
        return 0;
    snprintf(key, DIAG_NAME, "%.*s", (int)strcspn(tag + 5, "."), tag + 5);
    for (char *p = key + strlen(key); p > key; p--)
        if (*p == '_') {
            *p = '/';
            if (diag_is_timer(key, strlen(key)))
                return 1;
            *p = '_';
        }
    return diag_is_timer(key, strlen(key));
}

static int read_header(struct diagnosis *d, const char *line)
{
    struct diag_csv *c = &d->csv;
    struct diag_fields f;
    int timers = 0;
    memset(c, 0, sizeof *c);
    c->step = -1;
    int n = diag_split(&f, line, DIAG_COMMAS), is_tensorboard = !strncmp(line, "Wall time,Step,Value", 20);
    for (int i = 0; i < n && i < DIAG_COLUMNS; i++) {
        const char *name = f.at[i];
        size_t len = f.len[i];
        const char *dash = memmem(name, len, " - ", 3);
        if (len == 4 && !strncmp(name, "Step", 4))
            c->step = i;
        if (dash) {
            len -= (size_t)(dash + 3 - name);
            name = dash + 3;
        }
        if (diag_is_timer(name, len) && !memmem(name, len, "__M", 3)) {
            snprintf(c->keys[i], DIAG_NAME, "%.*s", (int)len, name);
            timers++;
        }
    }
    if (is_tensorboard)
        timers += key_of_file(d->in->path, c->keys[2]);
    c->columns = c->step >= 0 && timers ? n : 0;
    return c->columns > 0;
}

int diag_read_csv(struct diagnosis *d, const char *line)
{
    struct diag_csv *c = &d->csv;
    struct diag_fields f;
    double number, value;
    if (d->in->line == 1 && strchr(line, ',') && strstr(line, "Step"))
        return read_header(d, line);
    if (!c->columns || diag_split(&f, line, DIAG_COMMAS) != c->columns || !diag_number(f.at[c->step], &number) ||
        !(number >= 0 && number < 1e15))
        return 0;
    diag_step_open(d, DIAG_CSV, (long)number);
    for (int i = 0; i < c->columns && i < DIAG_COLUMNS; i++)
        if (*c->keys[i] && diag_number(f.at[i], &value))
            diag_add_pair(d, DIAG_CSV, c->keys[i], strlen(c->keys[i]), value);
    diag_step_close(d, DIAG_CSV);
    return 1;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* verl's timers beside the common words. */
static const struct diag_word verl_words[] = {
    {"generate_sequences|gen_max|generation_timing|start_profile|stop_profile",
     NULL}, /* the rollout without its weight sync */
    {"generate_async", "rollout", DIAG_COMPUTE, DIAG_ROLLOUT},
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

/* OpenRLHF's: in older releases experience is made with the generation in it. */
static const struct diag_word openrlhf_words[] = {
    {"generation", "rollout", DIAG_COMPUTE, DIAG_ROLLOUT, "?making experience"},
    {"make_experience", "making experience", DIAG_COMPUTE, DIAG_TRAIN},
    {"ppo_train", "training", DIAG_COMPUTE, DIAG_TRAIN},
    {"broadcast", "weight sync", DIAG_COMMUNICATION, DIAG_ROLLOUT},
    {"actor_idle_wait", DIAG_WAIT_ROLLOUT, DIAG_WAITING, DIAG_ROLLOUT},
    {"vllm_idle_wait", NULL},
    {NULL},
};

/* slime's, which stand among other numbers under perf/: no other name is a timer. */
static const struct diag_word slime_words[] = {
    {"rollout_time", "rollout", DIAG_COMPUTE, DIAG_ROLLOUT},
    {"train_wait_time", DIAG_WAIT_ROLLOUT, DIAG_WAITING, DIAG_ROLLOUT},
    {"train_time", "training", DIAG_COMPUTE, DIAG_TRAIN},
    {"actor_train_time", "actor update", DIAG_COMPUTE, DIAG_TRAIN, "training"},
    {"critic_train_time", "critic update", DIAG_COMPUTE, DIAG_TRAIN, "training"},
    {"log_probs_time", "log-probabilities", DIAG_COMPUTE, DIAG_TRAIN, "training"},
    {"ref_log_probs_time", "reference", DIAG_COMPUTE, DIAG_TRAIN, "training"},
    {"data_preprocess_time", "data", DIAG_DATA, DIAG_TRAIN, "training"},
    {"update_weights_time", "weight sync", DIAG_COMMUNICATION, DIAG_ROLLOUT, "?" DIAG_WAIT_ROLLOUT},
    {"sleep_time|wake_up_time", "offload", DIAG_OFFLOAD, DIAG_NEITHER, "?" DIAG_WAIT_ROLLOUT},
    {"save_model_time", "checkpoint", DIAG_SAVE, DIAG_NEITHER},
    {"eval_time", "validation", DIAG_SAVE, DIAG_NEITHER},
    {"step_time", diag_total_mark},
    {NULL},
};

/* ROLL's steps, under time/. */
static const struct diag_word roll_words[] = {
    {"step_generate|step_rollout", "rollout", DIAG_COMPUTE, DIAG_ROLLOUT},
    {"step_train", "training", DIAG_COMPUTE, DIAG_TRAIN},
    {"step_model_update", "weight sync", DIAG_COMMUNICATION, DIAG_ROLLOUT},
    {"ref_log_probs_values|step_ref_log_probs", "reference", DIAG_COMPUTE, DIAG_TRAIN},
    {"old_log_probs_values|old_log_probs|step_old_log_probs_values", "log-probabilities", DIAG_COMPUTE, DIAG_TRAIN},
    {"step_stop_server|step_log|step_compute_data_metrics", "the controller", DIAG_OTHER, DIAG_NEITHER},
    {"val_step|step_val", "validation", DIAG_SAVE, DIAG_NEITHER},
    {"step_total", diag_total_mark},
    {NULL},
};

/* Key prefixes of timers, with the unit of their values. */
static const struct {
    const char *prefix;
    double unit_ms;
    const struct diag_word *words;
    int no_others; /* names that these words do not have are no timers */
} prefixes[] = {
    {"profiling/Time taken: ", 1e3, trl_words},
    {"timing_ms/", 1, verl_words},
    {"timing_s/", 1e3, verl_words},
    {"time_ms/", 1, verl_words},
    {"time_s/", 1e3, verl_words},
    {"timing/", 1e3, openrlhf_words},
    {"perf/", 1e3, slime_words, 1},
    {"time/", 1e3, roll_words},
};
#define PREFIXES (sizeof prefixes / sizeof *prefixes)

/* Whole keys: steps of trainers without timers, and what explains a rollout or a batch. `unit` is what the value is
 * multiplied by, negative: what is divided by it. */
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
    {"perf/mfu/actor", {"", "MFU, actor update", DIAG_METRIC}, 1},
    {"perf/actor_train_tflops", {"", "TFLOP/s, actor update", DIAG_METRIC}, 1},
    {"MFU", {"", "MFU by Swift", DIAG_METRIC}, 1},
    {"fully_async/trainer/idle_ratio", {"", "idle part of the trainer", DIAG_METRIC}, 1},
    {"response_length/mean", {"", "response length, mean", DIAG_METRIC}, 1},
    {"response_length/max", {"", "response length, longest", DIAG_METRIC}, 1},
    {"response_length/clip_ratio", {"", "responses cut off", DIAG_METRIC}, 1},
    {"completions/mean_length", {"", "response length, mean", DIAG_METRIC}, 1},
    {"completions/max_length", {"", "response length, longest", DIAG_METRIC}, 1},
    {"completions/clipped_ratio", {"", "responses cut off", DIAG_METRIC}, 1},
    {"completion_length", {"", "response length, mean", DIAG_METRIC}, 1},
    {"global_seqlen/mean", {"", "tokens of a rank, mean", DIAG_METRIC}, 1},
    {"global_seqlen/minmax_diff", {"", "tokens of a rank, largest less smallest", DIAG_METRIC}, 1},
    {"global_seqlen/balanced_min", {"", "tokens of a rank after balancing, smallest", DIAG_METRIC}, 1},
    {"global_seqlen/balanced_max", {"", "tokens of a rank after balancing, largest", DIAG_METRIC}, 1},
};

/* The timer's prefix, or -1. */
static int prefix_of(const char *key, size_t len)
{
    for (size_t i = 0; i < PREFIXES; i++) {
        size_t n = strlen(prefixes[i].prefix);
        if (len > n && !strncmp(key, prefixes[i].prefix, n) &&
            (!prefixes[i].no_others || diag_find_word(prefixes[i].words, key + n, len - n)))
            return (int)i;
    }
    return -1;
}

int diag_is_timer(const char *key, size_t len)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].word.kind != DIAG_METRIC && diag_is_one_of(keys[i].key, key, len))
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
    /* verl's fully asynchronous trainer logs "timing_s/timing_s/param_sync". */
    while (len > 9 && !strncmp(key, "timing_s/", 9)) {
        key += 9;
        len -= 9;
    }
    /* Names with further parts ("agent_loop/slowest/...") are details of one worker. */
    if (memchr(key, '/', len))
        return;
    struct diag_word w =
        prefixes[i].words == trl_words ? trl_word(key, len, buffer) : diag_word_of(prefixes[i].words, key, len, buffer);
    /* Of an asynchronous trainer "gen" is how long it waits for samples. */
    if (d->shape.is_async && f == DIAG_VERL && w.phase && !strcmp(w.phase, "rollout"))
        w = (struct diag_word){"", DIAG_WAIT_ROLLOUT, DIAG_WAITING, DIAG_ROLLOUT, NULL, 0};
    diag_step_add(d, f, &w, value * prefixes[i].unit_ms);
}

void diag_add_pair(struct diagnosis *d, enum diag_format f, const char *key, size_t len, double value)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (diag_is_one_of(keys[i].key, key, len) && value >= 0 && (value > 1e-9 || keys[i].unit > 0))
            diag_step_add(d, f, &keys[i].word, keys[i].unit > 0 ? value * keys[i].unit : -keys[i].unit / value);
    add_timer(d, f, key, len, value);
}

/* ---- verl's console ---------------------------------------------------------------------------------------------- */

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
            diag_add_pair(d, DIAG_VERL, p, (size_t)(colon - p), value);
        next = next ? next + 3 : NULL;
    }
    diag_step_close(d, DIAG_VERL);
    return 1;
}

/* ---- [Step N] name: time | name: time ---------------------------------------------------------------------------- */

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

/* Behind "step 12", "Step 12/500:", "iter=12", wherever it stands; NULL without. */
static const char *behind_bare_step(const char *line, long *number)
{
    static const char *const words[] = {"step", "Step", "STEP", "iteration", "Iteration", "iter", "Iter"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = strstr(line, words[i]), *p = at ? at + strlen(words[i]) : NULL;
        char *end;
        if (!at || (at > line && ((at[-1] >= 'a' && at[-1] <= 'z') || at[-1] == '_' || at[-1] == '/')))
            continue;
        p += strspn(p, " :=#");
        *number = strtol(p, &end, 10);
        if (end == p || *number < 0)
            continue;
        if (*end == '/')
            strtol(end + 1, &end, 10);
        return end + strspn(end, "]:,|; -");
    }
    return NULL;
}

/* A part "name: time", "name=time" or "name time" of `n` bytes. `unit_ms` is that of a bare number, 0: it is no time.
 */
static int read_part(const char *p, size_t n, double unit_ms, struct diag_word *w, char buffer[DIAG_NAME], double *ms)
{
    size_t name = strcspn(p, ":=|");
    if (name >= n) {
        name = n;
        while (name && !(p[name - 1] == ' ' && (p[name] == '.' || (p[name] >= '0' && p[name] <= '9'))))
            name--;
        name -= name > 0;
    }
    const char *rest = name && name < n ? diag_time(p + name + 1, unit_ms, ms) : NULL;
    if (!rest || rest > p + n)
        return 0;
    *w = diag_word_of(NULL, p, name, buffer);
    return 1;
}

/* Adds the parts of a line to a step, which the first of them opens. Returns how many were added; `d` NULL: how many
 * are known timers, read so. */
static int read_parts(struct diagnosis *d, const char *p, const char *between, double unit_ms, long number)
{
    int opened = 0;
    for (; *p; p += *p != 0) {
        size_t n = strcspn(p, between);
        char buffer[DIAG_NAME];
        struct diag_word w;
        double ms;
        /* Of what has no unit or stands in a sentence, names that are known count. */
        if (read_part(p, n, unit_ms, &w, buffer, &ms) && (!w.guessed || (d && unit_ms <= 0 && *between == '|'))) {
            if (!opened++ && d)
                diag_step_open(d, DIAG_STEP_LINE, number);
            if (d)
                diag_step_add(d, DIAG_STEP_LINE, &w, ms);
        }
        p += n;
    }
    return opened;
}

/* "[Step N] rollout: 185ms | sync: 190ms"; where no part has a unit they count as seconds, for the shares are right in
 * any unit; and sentences with a step and at least two known timers: "step 3: rollout 1.2s, train 0.3s". */
int diag_read_step_line(struct diagnosis *d, const char *line)
{
    static const char *const marks[] = {"|", ",;", " "};
    long number;
    const char *p = behind_step(line, &number);
    int opened = p ? read_parts(d, p, "|", 0, number) : 0;
    if (!opened && p && read_parts(NULL, p, "|", 1e3, 0) >= 2)
        opened = read_parts(d, p, "|", 1e3, number);
    if (!opened && !p && !strchr(line, '{') && (p = behind_bare_step(line, &number)))
        for (size_t i = 0; i < sizeof marks / sizeof *marks && !opened; i++)
            if (read_parts(NULL, p, marks[i], 0, 0) >= 2)
                opened = read_parts(d, p, marks[i], 0, number);
    if (opened)
        diag_step_close(d, DIAG_STEP_LINE);
    return opened > 0;
}

/* ---- records: {"key": 1.5, ...}, {'key': '1.5', ...} ------------------------------------------------------------- */

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

/* The number of "Global step 3: {", "perf 3: {"; -1 without. */
static long number_before(const char *line, const char *brace)
{
    const char *end = brace;
    while (end > line && (end[-1] == ' ' || end[-1] == ':'))
        end--;
    const char *p = end;
    while (p > line && p[-1] >= '0' && p[-1] <= '9')
        p--;
    return p < end && p > line && p[-1] == ' ' && end < brace && end - p < 10 ? strtol(p, NULL, 10) : -1;
}

/* What a record of an evaluation says: TRL and Swift log it on its own, behind the step. */
static int read_evaluation(struct diagnosis *d, const char *start)
{
    static const struct diag_word word = {"", "validation", DIAG_SAVE, DIAG_NEITHER, NULL, 0};
    const char *at = strstr(start, "eval_runtime");
    double value;
    if (!at || !diag_number(at + 12 + strspn(at + 12, "'\": "), &value) || value <= 0)
        return 0;
    diag_step_after(d, DIAG_JSONL, &word, 1e3 * value);
    return 1;
}

static int read_record(struct diagnosis *d, const char *line);

/* A record of several lines, as trainer_state.json has them: kept until its brace closes. */
int diag_read_record(struct diagnosis *d, const char *line)
{
    const char *p = line + strspn(line, " ");
    if (*p == '{' && !p[1 + strspn(p + 1, " ")]) {
        d->record_bytes = 0;
        d->in_record = 1;
        return 0;
    }
    if (!d->in_record)
        return read_record(d, line);
    size_t n = strlen(p);
    if (*p == '"' && d->record_bytes + n + 2 < sizeof d->record) {
        memcpy(d->record + d->record_bytes, p, n + 1);
        d->record_bytes += n;
        return 0;
    }
    d->in_record = 0;
    if (*p != '}')
        return read_record(d, line);
    char *text = arena_printf(d->arena, "{%.*s}", (int)d->record_bytes, d->record);
    return read_record(d, text);
}

static int read_record(struct diagnosis *d, const char *line)
{
    static const char *const steps[] = {"step",        "_step",     "global_step",          "training/global_step",
                                        "system/step", "iteration", "global_step/max_steps"};
    const char *start = strchr(line, '{'), *key;
    size_t len;
    double value;
    long number = -1;
    int timers = 0;
    if (!start || !strpbrk(start, "'\""))
        return 0;
    number = number_before(line, start);
    for (const char *p = start; (p = next_pair(p, &key, &len, &value));) {
        timers += diag_is_timer(key, len);
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            if (diag_is_one_of(steps[i], key, len) && value >= 0 && value < 1e15)
                number = (long)value;
    }
    if (!timers)
        return read_evaluation(d, start);
    diag_step_open(d, DIAG_JSONL, number);
    for (const char *p = start; (p = next_pair(p, &key, &len, &value));)
        diag_add_pair(d, DIAG_JSONL, key, len, value);
    diag_step_close(d, DIAG_JSONL);
    return 1;
}
