/* Inference engines: vLLM's and SGLang's log lines, vLLM's Prometheus metrics. */
#include <math.h>
#include <string.h>

#include "advise/diagnose/rules.h"

#define FULL 90.0 /* percent of the KV cache */

static const struct {
    const char *key;
    enum diag_gauge gauge;
    double unit;
} keys[] = {
    {"Running: ", ENGINE_RUNNING, 1},
    {"Waiting: ", ENGINE_WAITING, 1},
    {"Pending: ", ENGINE_WAITING, 1},
    {"GPU KV cache usage: ", ENGINE_CACHE, 1},
    {"Avg generation throughput: ", ENGINE_TOKENS, 1},
    {"#running-req: ", ENGINE_RUNNING, 1},
    {"#queue-req: ", ENGINE_WAITING, 1},
    {"token usage: ", ENGINE_CACHE, 100},
    {"gen throughput (token/s): ", ENGINE_TOKENS, 1},
    {"vllm:num_requests_running", ENGINE_RUNNING, 1},
    {"vllm:num_requests_waiting", ENGINE_WAITING, 1},
    {"vllm:gpu_cache_usage_perc", ENGINE_CACHE, 100},
    {"vllm:kv_cache_usage_perc", ENGINE_CACHE, 100},
    {"vllm:num_preemptions_total", ENGINE_PREEMPTIONS, 1},
    {"sglang:num_running_reqs", ENGINE_RUNNING, 1},
    {"sglang:num_queue_reqs", ENGINE_WAITING, 1},
    {"sglang:token_usage", ENGINE_CACHE, 100},
    {"sglang:gen_throughput", ENGINE_TOKENS, 1},
};

/* The number behind a key, and behind the labels of a metric. */
static int value_of(const char *line, const char *key, double *value)
{
    const char *p = strstr(line, key);
    if (!p)
        return 0;
    p += strlen(key);
    if (*p == '{') {
        p = strchr(p, '}');
        p = p ? p + 1 : "";
    }
    return diag_number(p, value) && *value >= 0 && *value < 1e12;
}

int diag_read_engine(struct diagnosis *d, const char *line)
{
    struct diag_engine *g = &d->engine;
    double now[ENGINE_GAUGES] = {0};
    const char *metric = !strncmp(line, "# HELP ", 7) || !strncmp(line, "# TYPE ", 7) ? line + 7 : line;
    int is_metric = !strncmp(metric, "vllm:", 5) || !strncmp(metric, "sglang:", 7);
    if (is_metric && metric > line)
        return 1;
    if (!is_metric && !strstr(line, "Avg generation throughput: ") && !strstr(line, "#running-req: "))
        return 0;
    int found = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        double value;
        if (!value_of(line, keys[i].key, &value))
            continue;
        enum diag_gauge k = keys[i].gauge;
        now[k] = value * keys[i].unit;
        g->sums[k] = k == ENGINE_PREEMPTIONS ? fmax(g->sums[k], value) : g->sums[k] + now[k];
        g->samples[k]++;
        found = 1;
    }
    if (!g->lines++)
        diag_here(d, g->place);
    if (found && now[ENGINE_CACHE] > FULL && now[ENGINE_WAITING] > 0 && !g->full++)
        diag_here(d, g->full_place);
    return 1;
}

static double mean(const struct diag_engine *g, enum diag_gauge k)
{
    return g->samples[k] ? g->sums[k] / (double)g->samples[k] : 0;
}

void diag_say_engine(const struct diag_engine *g, char to[DIAG_SENTENCE])
{
    diag_say(
        to,
        "The inference engine runs %.0f requests at once while %.0f wait, its cache is %.0f %% full, and it generates "
        "%.0f tokens a second.",
        mean(g, ENGINE_RUNNING), mean(g, ENGINE_WAITING), mean(g, ENGINE_CACHE), mean(g, ENGINE_TOKENS));
}

void diag_add_engine(struct judge *j)
{
    const struct diag_engine *g = &j->d->engine;
    const double full = mean(g, ENGINE_CACHE), waiting = mean(g, ENGINE_WAITING);
    if (full > FULL && waiting >= 1)
        diag_found(j, "engine-full", 0.3, g->full ? g->full_place : g->place,
                   "the inference engine's cache is %.0f %% full, and %.0f requests wait for it", full, waiting);
    if (g->sums[ENGINE_PREEMPTIONS] > 0)
        diag_found(j, "engine-preempts", 0.2, g->place,
                   "the inference engine preempted %.0f requests: their tokens are computed twice",
                   g->sums[ENGINE_PREEMPTIONS]);
    if (g->samples[ENGINE_CACHE] && full < 30 && waiting < 1 && mean(g, ENGINE_RUNNING) > 0)
        diag_found(j, "engine-starves", 0.2, g->place,
                   "the inference engine runs %.0f requests and uses %.0f %% of its cache", mean(g, ENGINE_RUNNING),
                   full);
}
