/* Reading the law and applying it. */
#include "tests/doubles/nccl_law.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CHUNK     ((uint64_t)512 << 10)
#define BYTES_PER_CHANNEL ((uint64_t)32 << 10) /* NCCL uses fewer channels below that */

static int read_cell_field(struct law_shaped *x, const char *key, double value)
{
    struct law_cell *c = &x->cell;
    const struct {
        const char *key;
        double *field;
    } fields[] = {{"latency", &c->latency_us},    {"GBps", &c->GBps},         {"channel_GBps", &c->channel_GBps},
                  {"channel_us", &c->channel_us}, {"predict", &c->predict},   {"chunk_best", &c->chunk_best},
                  {"chunk_loss", &c->chunk_loss}, {"bend", &c->bend},         {"bend_at", &c->bend_at},
                  {"registered", &c->registered}, {"bfloat16", &c->bfloat16}, {"in_place", &c->in_place},
                  {"nodes", &x->nodes},           {"ranks", &x->ranks}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!strcmp(fields[i].key, key)) {
            *fields[i].field = value;
            return 0;
        }
    return -1;
}

static int read_cell(struct law *l, char *rest)
{
    char *save = NULL, *words[3];
    for (int i = 0; i < 3; i++)
        if (!(words[i] = strtok_r(i ? NULL : rest, " \t", &save)))
            return -1;
    int coll = coll_parse(words[0], strlen(words[0])), algo = algo_parse(words[1], strlen(words[1])),
        proto = proto_parse(words[2], strlen(words[2]));
    if (coll < 0 || algo < 0 || proto < 0)
        return -1;
    struct law_shaped x = {.coll = coll, .algo = algo, .proto = proto, .cell = {.predict = 1}};
    for (char *word; (word = strtok_r(NULL, " \t", &save));) {
        char *value = strchr(word, '='), *end = NULL;
        if (!value)
            return -1;
        *value++ = 0;
        double number = strtod(value, &end);
        if (*end || read_cell_field(&x, word, number))
            return -1;
    }
    x.cell.offered = x.cell.GBps > 0;
    if (!x.nodes && !x.ranks)
        l->cells[coll][algo][proto] = x.cell;
    else if (l->nshaped < LAW_SHAPED)
        l->shaped[l->nshaped++] = x;
    else
        return -1;
    return x.cell.offered ? 0 : -1;
}

static int read_condition(struct law *l, char *rest)
{
    char *save = NULL, *name = strtok_r(rest, " \t", &save), *factor = strtok_r(NULL, " \t", &save);
    char *value = name ? strchr(name, '=') : NULL;
    if (!value || !factor || strncmp(factor, "factor=", 7) != 0 || l->nconditions == LAW_CONDITIONS)
        return -1;
    *value++ = 0;
    struct law_condition *c = &l->conditions[l->nconditions++];
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->value, sizeof c->value, "%s", value);
    c->factor = strtod(factor + 7, NULL);
    return c->factor > 0 ? 0 : -1;
}

/* Lines of a word and its numbers. */
static const struct {
    const char *word;
    size_t to[3];
    int count;
} numbers[] = {
#define AT(field) offsetof(struct law, field)
    {"noise", {AT(noise)}, 1},
    {"launch", {AT(launch_us)}, 1},
    {"first", {AT(first_us), AT(first_s)}, 2},
    {"switch", {AT(switch_us)}, 1},
    {"session", {AT(session)}, 1},
    {"launches", {AT(launches)}, 1},
    {"drift", {AT(drift)}, 1},
    {"ramp", {AT(ramp_calls), AT(ramp)}, 2},
    {"burst", {AT(burst_every), AT(burst_calls), AT(burst)}, 3},
    {"tail", {AT(tail_every), AT(tail)}, 2},
    {"speeds", {AT(speeds_calls), AT(speeds)}, 2},
    {"cache", {AT(cache_bytes), AT(cache)}, 2},
    {"reports", {AT(reports_bytes)}, 1},
    {"memory", {AT(memory_bytes), AT(memory_used)}, 2},
    {"exclusive", {AT(exclusive_s)}, 1},
    {"together", {AT(together)}, 1},
    {"init", {AT(init_s)}, 1},
    {"untuned", {AT(untuned)}, 1},
    {"cell_bytes", {AT(cell_bytes)}, 1},
    {"timer", {AT(timer)}, 1},
    {"late", {AT(late_rank), AT(late_us), AT(late_every)}, 3},
#undef AT
};

/* As many numbers as there are places for, none below zero. */
static int read_numbers(char *rest, double **to, int count)
{
    for (int i = 0; i < count; i++) {
        char *end = NULL;
        *to[i] = strtod(rest, &end);
        if (end == rest || *to[i] < 0)
            return -1;
        rest = end;
    }
    return *(rest + strspn(rest, " \t")) ? -1 : 0;
}

static int read_gpu(struct law *l, char *rest)
{
    char *end = NULL;
    long n = strtol(rest, &end, 10);
    if (end == rest || n < 0 || n >= LAW_GPUS)
        return -1;
    return read_numbers(end, (double *[]){&l->gpus[n].factor, &l->gpus[n].wake_us}, 2);
}

static int read_connected(struct law *l, char *rest)
{
    size_t n = strcspn(rest, " \t");
    int algo = algo_parse(rest, n);
    if (algo < 0)
        return -1;
    return (l->connected[algo] = (int)strtol(rest + n, NULL, 10)) > 0 ? 0 : -1;
}

/* One number for an algorithm. */
static int read_more(double *by_algo, char *rest)
{
    size_t n = strcspn(rest, " \t");
    int algo = algo_parse(rest, n);
    return algo < 0 ? -1 : read_numbers(rest + n, (double *[]){&by_algo[algo]}, 1);
}

static int read_line(struct law *l, char *line)
{
    char *rest = line + strcspn(line, " \t");
    if (*rest)
        *rest++ = 0;
    rest += strspn(rest, " \t");
    if (!strcmp(line, "cell"))
        return read_cell(l, rest);
    if (!strcmp(line, "when"))
        return read_condition(l, rest);
    if (!strcmp(line, "channels"))
        return (l->channels = (int)strtol(rest, NULL, 10)) > 0 ? 0 : -1;
    if (!strcmp(line, "gpu"))
        return read_gpu(l, rest);
    if (!strcmp(line, "connected"))
        return read_connected(l, rest);
    if (!strcmp(line, "beside"))
        return read_more(l->beside, rest);
    if (!strcmp(line, "seed"))
        return (void)(l->seed = strtoull(rest, NULL, 10)), 0;
    if (!strcmp(line, "hcas"))
        return snprintf(l->hcas, sizeof l->hcas, "%s", rest) < (int)sizeof l->hcas ? 0 : -1;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double *to[3];
        for (int k = 0; k < numbers[i].count; k++)
            to[k] = (double *)(void *)((char *)l + numbers[i].to[k]);
        if (!strcmp(line, numbers[i].word))
            return read_numbers(rest, to, numbers[i].count);
    }
    return -1;
}

int law_parse(struct law *l, const char *text, const char *name, char why[256])
{
    memset(l, 0, sizeof *l);
    l->channels = 16;
    char *copy = strdup(text), *save = NULL;
    int rc = copy ? 0 : -1, number = 0;
    for (char *line = copy ? strtok_r(copy, "\n", &save) : NULL; line && !rc; line = strtok_r(NULL, "\n", &save)) {
        number++;
        char shown[80];
        snprintf(shown, sizeof shown, "%s", line);
        if (*line != '#' && (rc = read_line(l, line)))
            snprintf(why, 256, "%s: entry %d is not a law: %s", name, number, shown);
    }
    free(copy);
    law_settle(l);
    return rc;
}

int law_load(struct law *l, const char *path, char why[256])
{
    static const size_t limit = (size_t)1 << 16;
    FILE *in = fopen(path, "r");
    char *text = in ? calloc(1, limit) : NULL;
    int read = text && fread(text, 1, limit - 1, in) > 0;
    if (in)
        fclose(in);
    snprintf(why, 256, "%s: cannot be read", path);
    int rc = read ? law_parse(l, text, path, why) : -1;
    free(text);
    return rc;
}

/* NCCL_IB_HCA's grammar: ^ excludes, = asks for whole names, otherwise prefixes; a ":port" is ignored. */
static int passes(const char *filter, const char *hca)
{
    int exclude = *filter == '^', exact, found = 0;
    filter += exclude;
    exact = *filter == '=';
    filter += exact;
    if (!*filter)
        return 1;
    while (*filter) {
        size_t n = strcspn(filter, ",:");
        found |= exact ? strlen(hca) == n && !strncmp(filter, hca, n) : !strncmp(filter, hca, n);
        filter += strcspn(filter, ",");
        filter += *filter == ',';
    }
    return found != exclude;
}

static void choose_hcas(struct law *l)
{
    const char *filter = getenv("NCCL_IB_HCA");
    char copy[sizeof l->hcas], *save = NULL;
    size_t used = 0;
    snprintf(copy, sizeof copy, "%s", l->hcas);
    l->in_use[0] = 0;
    for (char *hca = strtok_r(copy, ",", &save); hca; hca = strtok_r(NULL, ",", &save))
        if (passes(filter ? filter : "", hca))
            used += (size_t)snprintf(l->in_use + used, sizeof l->in_use - used, "%s%s", used ? "+" : "", hca);
    if (!used)
        snprintf(l->in_use, sizeof l->in_use, "none");
}

void law_settle(struct law *l)
{
    choose_hcas(l);
    l->everywhere = 1;
    for (int i = 0; i < l->nconditions; i++) {
        const char *value = strcmp(l->conditions[i].name, "hcas") ? getenv(l->conditions[i].name) : l->in_use;
        if (value && !strcmp(value, l->conditions[i].value))
            l->everywhere *= l->conditions[i].factor;
    }
}

void law_shape(struct law *l, int nodes, int ranks)
{
    for (int i = 0; i < l->nshaped; i++) {
        const struct law_shaped *x = &l->shaped[i];
        if (x->nodes == nodes && x->ranks == ranks)
            l->cells[x->coll][x->algo][x->proto] = x->cell;
    }
}

int law_channels(const struct law *l, uint64_t bytes)
{
    uint64_t fit = bytes / BYTES_PER_CHANNEL;
    return fit >= (uint64_t)l->channels ? l->channels : fit ? (int)fit : 1;
}

double law_time_us(const struct law *l, int coll, int algo, int proto, int channels, uint64_t chunk, uint64_t bytes)
{
    const struct law_cell *c = &l->cells[coll][algo][proto];
    if (!c->offered)
        return -1;
    int n = channels > 0 ? channels : law_channels(l, bytes);
    n = n > l->channels ? l->channels : n;
    double GBps = c->channel_GBps > 0 && n * c->channel_GBps < c->GBps ? n * c->channel_GBps : c->GBps;
    double us = c->latency_us + n * c->channel_us + (double)bytes / (GBps * 1e3);
    if (c->chunk_best > 0)
        us *= 1 + c->chunk_loss * fabs(log2((double)(chunk ? chunk : DEFAULT_CHUNK) / c->chunk_best));
    if (c->bend_at > 0) {
        double away = log2((double)bytes / c->bend_at);
        us *= 1 + c->bend * exp2(-away * away);
    }
    return us * l->everywhere;
}

double law_registered(const struct law *l, int coll, int algo, int proto)
{
    double factor = l->cells[coll][algo][proto].registered;
    return factor > 0 ? factor : 1;
}

double law_data(const struct law *l, int coll, int algo, int proto, int bfloat16, int in_place)
{
    const struct law_cell *c = &l->cells[coll][algo][proto];
    return (bfloat16 && c->bfloat16 > 0 ? c->bfloat16 : 1) * (in_place && c->in_place > 0 ? c->in_place : 1);
}

double law_predict_us(const struct law *l, int coll, int algo, int proto, uint64_t bytes, int registered)
{
    double us = law_time_us(l, coll, algo, proto, 0, 0, bytes);
    if (us < 0)
        return -1;
    return us * l->cells[coll][algo][proto].predict / l->everywhere *
           (registered ? law_registered(l, coll, algo, proto) : 1);
}

/* splitmix64 */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

/* Of twelve uniform numbers the sum is close to normal, with deviation 1 around 6. */
static double normal(uint64_t n)
{
    double sum = 0;
    for (unsigned i = 0; i < 12; i++)
        sum += (double)(mix(n * 12 + i) >> 11) * 0x1p-53;
    return sum - 6;
}

double law_noise(const struct law *l, uint64_t n)
{
    uint64_t of = l->seed * 1000003 + n;
    double factor = 1 + l->noise * normal(of);
    factor = factor > 0.2 ? factor : 0.2;
    factor *= 1 + l->drift * (double)n / 1e3;
    if ((double)n < l->ramp_calls)
        factor *= l->ramp;
    if (l->burst_every > 0 && n % (uint64_t)l->burst_every < (uint64_t)l->burst_calls)
        factor *= l->burst;
    if (l->tail_every > 0 && mix(~of) % (uint64_t)l->tail_every == 0)
        factor *= l->tail;
    if (l->speeds_calls > 0 && mix(n / (uint64_t)l->speeds_calls) & 1)
        factor *= l->speeds;
    return factor;
}

extern char **environ;

/* Of the variables that make a launch, in any order. */
static uint64_t hash_of_launch(void)
{
    static const char *const others[] = {"NCCL_DOUBLE", "NCCL_HOSTID", "NCCL_DEBUG", "NCCL_TUNER"};
    uint64_t sum = 0;
    for (char **v = environ; *v; v++) {
        uint64_t hash = 14695981039346656037ULL; /* FNV-1a */
        int counts = !strncmp(*v, "NCCL_", 5);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            counts &= strncmp(*v, others[i], strlen(others[i])) != 0;
        for (const char *c = *v; counts && *c; c++)
            hash = (hash ^ (unsigned char)*c) * 1099511628211ULL;
        sum += counts ? hash : 0;
    }
    return sum;
}

double law_session(const struct law *l, uint64_t id)
{
    return exp(l->session * normal(l->seed + id) + l->launches * normal(l->seed + hash_of_launch()));
}
