/* Reading the law and applying it. */
#include "tests/doubles/nccl_law.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CHUNK     ((uint64_t)512 << 10)
#define BYTES_PER_CHANNEL ((uint64_t)32 << 10) /* NCCL uses fewer channels below that */

static int coll_word(const char *s)
{
    return strcmp(s, "alltoall") ? coll_parse(s, strlen(s)) : LAW_ALLTOALL;
}

static int read_cell_field(struct law_cell *c, const char *key, double value)
{
    const struct {
        const char *key;
        double *field;
    } fields[] = {{"latency", &c->latency_us},    {"GBps", &c->GBps},       {"channel_GBps", &c->channel_GBps},
                  {"channel_us", &c->channel_us}, {"predict", &c->predict}, {"chunk_best", &c->chunk_best},
                  {"chunk_loss", &c->chunk_loss}, {"bend", &c->bend},       {"bend_at", &c->bend_at}};
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
    int coll = coll_word(words[0]), algo = algo_parse(words[1], strlen(words[1])),
        proto = proto_parse(words[2], strlen(words[2]));
    if (coll < 0 || algo < 0 || proto < 0)
        return -1;
    struct law_cell *c = &l->cells[coll][algo][proto];
    *c = (struct law_cell){.predict = 1};
    for (char *word; (word = strtok_r(NULL, " \t", &save));) {
        char *value = strchr(word, '='), *end = NULL;
        if (!value)
            return -1;
        *value++ = 0;
        double number = strtod(value, &end);
        if (*end || read_cell_field(c, word, number))
            return -1;
    }
    c->offered = c->GBps > 0;
    return c->offered ? 0 : -1;
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
    if (!strcmp(line, "noise"))
        return (l->noise = strtod(rest, NULL)) >= 0 ? 0 : -1;
    if (!strcmp(line, "launch"))
        return (l->launch_us = strtod(rest, NULL)) >= 0 ? 0 : -1;
    if (!strcmp(line, "seed"))
        return (void)(l->seed = strtoull(rest, NULL, 10)), 0;
    if (!strcmp(line, "hcas"))
        return snprintf(l->hcas, sizeof l->hcas, "%s", rest) < (int)sizeof l->hcas ? 0 : -1;
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

double law_predict_us(const struct law *l, int coll, int algo, int proto, uint64_t bytes)
{
    double us = law_time_us(l, coll, algo, proto, 0, 0, bytes);
    return us < 0 ? -1 : us * l->cells[coll][algo][proto].predict / l->everywhere;
}

/* splitmix64 */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

double law_noise(const struct law *l, uint64_t n)
{
    double sum = 0; /* of twelve uniform numbers: close to normal with deviation 1 around 6 */
    for (unsigned i = 0; i < 12; i++)
        sum += (double)(mix(l->seed * 1000003 + n * 12 + i) >> 11) * 0x1p-53;
    double factor = 1 + l->noise * (sum - 6);
    return factor > 0.2 ? factor : 0.2;
}
