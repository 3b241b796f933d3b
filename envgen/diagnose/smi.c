/* nvidia-smi --query-gpu=timestamp,index,utilization.gpu,... --format=csv -l N: how busy each GPU is, and when not.
 *
 * Columns are found by the names in the header, which --format=csv,noheader leaves out: such a file cannot be read. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "envgen/diagnose/diagnose_internal.h"

#define IDLE 5.0 /* percent */

static const struct {
    const char *name;
    size_t offset;
} columns[] = {
    {"timestamp", offsetof(struct diag_smi, time)},
    {"index", offsetof(struct diag_smi, index)},
    {"utilization.gpu", offsetof(struct diag_smi, util)},
    {"uuid", offsetof(struct diag_smi, uuid)},
    {"pci.bus_id", offsetof(struct diag_smi, bus)},
    {"gpu_bus_id", offsetof(struct diag_smi, bus)},
    {"name", offsetof(struct diag_smi, name)},
    {"gpu_name", offsetof(struct diag_smi, name)},
};

static int *column(struct diag_smi *s, size_t i)
{
    return (int *)(void *)((char *)s + columns[i].offset);
}

/* The i-th field of a row, without blanks around it; NULL when there are fewer. */
static const char *field(const char *line, int i, size_t *len)
{
    const char *p = line;
    for (; i > 0; i--) {
        p = strchr(p, ',');
        if (!p)
            return NULL;
        p++;
    }
    p += strspn(p, " ");
    *len = strcspn(p, ",");
    while (*len && p[*len - 1] == ' ')
        --*len;
    return p;
}

static int count_fields(const char *line)
{
    int n = 1;
    for (; *line; line++)
        n += *line == ',';
    return n;
}

static int read_header(struct diag_smi *s, const char *line)
{
    s->columns = count_fields(line);
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
        *column(s, k) = -1;
    for (int i = 0; i < s->columns && i < 256; i++) {
        size_t len;
        const char *name = field(line, i, &len);
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
            size_t n = strlen(columns[k].name);
            if (len >= n && !strncmp(name, columns[k].name, n) && (len == n || name[n] == ' '))
                *column(s, k) = i;
        }
    }
    return s->util >= 0;
}

/* "2025/11/20 16:36:52.123" -> seconds of a day count that ignores nothing but the time zone. -1: not a time. */
static double seconds_of(const char *s)
{
    int y, mo, d, h, mi, used = 0;
    double sec;
    char part[32];
    size_t n = strcspn(s, ",");
    if (n >= sizeof part)
        return -1;
    memcpy(part, s, n);
    part[n] = 0;
    /* NOLINTNEXTLINE(cert-err34-c): ranges are checked below, and overflow cannot pass them */
    if (sscanf(part, "%4d/%2d/%2d %2d:%2d:%6lf%n", &y, &mo, &d, &h, &mi, &sec, &used) != 6 || mo < 1 || mo > 12)
        return -1;
    /* Days since an epoch, by the proleptic Gregorian calendar with the year beginning in March. */
    y -= mo <= 2;
    long days = 365L * y + y / 4 - y / 100 + y / 400 + (153 * (mo + (mo > 2 ? -3 : 9)) + 2) / 5 + d;
    return (double)days * 86400 + h * 3600 + mi * 60 + sec;
}

/* The GPU of a row: by index, else UUID, else address; rows of a single unnamed GPU are its. */
static struct diag_sampled_gpu *gpu_of(struct diag_smi *s, const char *line)
{
    static const char prefix[] = "GPU ";
    char name[DIAG_NAME] = "GPU";
    int key = s->index >= 0 ? s->index : s->uuid >= 0 ? s->uuid : s->bus >= 0 ? s->bus : s->name;
    size_t len = 0;
    const char *text = key >= 0 ? field(line, key, &len) : NULL;
    if (text)
        snprintf(name, sizeof name, "%s%.*s", key == s->index ? prefix : "", (int)(len < 40 ? len : 40), text);
    for (int i = 0; i < s->ngpus; i++)
        if (!strcmp(s->gpus[i].out.name, name))
            return &s->gpus[i];
    if (!s->gpus)
        s->gpus = calloc(DIAG_GPUS, sizeof *s->gpus);
    if (!s->gpus || s->ngpus == DIAG_GPUS)
        return NULL;
    struct diag_sampled_gpu *g = &s->gpus[s->ngpus++];
    memcpy(g->out.name, name, sizeof name);
    return g;
}

/* Samples of all GPUs at one time. */
static void end_round(struct diag_smi *s)
{
    if (!s->in_round)
        return;
    s->rounds++;
    s->spread_sum += s->round_high - s->round_low;
    s->in_round = 0;
    for (int i = 0; i < s->ngpus; i++)
        s->gpus[i].round_seen = 0;
}

static void end_gap(struct diag_sampled_gpu *g, double now_s)
{
    if (!g->in_gap)
        return;
    g->in_gap = 0;
    if (now_s - g->gap_start_s > g->out.longest_gap_s) {
        g->out.longest_gap_s = now_s - g->gap_start_s;
        memcpy(g->out.gap_place, g->gap_began, sizeof g->gap_began);
    }
}

static void take(struct diagnosis *d, struct diag_sampled_gpu *g, double percent, double now_s)
{
    struct diag_smi *s = &d->smi;
    if (g->round_seen)
        end_round(s);
    s->round_low = s->in_round ? fmin(s->round_low, percent) : percent;
    s->round_high = s->in_round ? fmax(s->round_high, percent) : percent;
    s->in_round = g->round_seen = 1;
    g->out.samples++;
    g->sum += percent;
    g->squares += percent * percent;
    g->idle += percent < IDLE;
    g->last_s = now_s;
    if (percent >= IDLE) {
        if (!s->has_started) {
            s->started_s = now_s;
            diag_here(d, d->result.gpu_start_place);
        }
        s->has_started = g->has_worked = 1;
        end_gap(g, now_s);
    } else if (g->has_worked && !g->in_gap) {
        g->in_gap = 1;
        g->gap_start_s = now_s;
        diag_here(d, g->gap_began);
    }
}

int diag_read_smi(struct diagnosis *d, const char *line)
{
    struct diag_smi *s = &d->smi;
    if (strstr(line, "utilization.gpu"))
        return strchr(line, ',') && read_header(s, line);
    if (!s->columns || count_fields(line) != s->columns)
        return 0;
    size_t len;
    double percent;
    const char *text = field(line, s->util, &len);
    if (text && !strncmp(text, "[N/A]", 5))
        return 1;
    if (!text || !diag_number(text, &percent) || percent < 0 || percent > 100)
        return 0;
    struct diag_sampled_gpu *g = gpu_of(s, line);
    if (!g)
        return 1;
    const char *time = s->time >= 0 ? field(line, s->time, &len) : NULL;
    double now_s = time ? seconds_of(time) : -1;
    if (now_s < 0)
        now_s = (double)g->out.samples;
    if (!s->rounds && !s->in_round)
        s->first_s = now_s;
    take(d, g, percent, now_s);
    return 1;
}

void diag_finish_smi(struct diagnosis *d)
{
    struct diag_smi *s = &d->smi;
    struct diag_result *r = &d->result;
    end_round(s);
    if (!s->ngpus)
        return;
    r->gpus = calloc((size_t)s->ngpus, sizeof *r->gpus);
    if (!r->gpus)
        abort();
    for (int i = 0; i < s->ngpus; i++) {
        struct diag_sampled_gpu *g = &s->gpus[i];
        double n = (double)g->out.samples;
        end_gap(g, g->last_s);
        g->out.mean = g->sum / n;
        g->out.deviation = sqrt(fmax(0, g->squares / n - g->out.mean * g->out.mean));
        g->out.idle = (double)g->idle / n;
        r->gpus[r->ngpus++] = g->out;
    }
    r->gpu_spread = s->rounds ? s->spread_sum / (double)s->rounds : 0;
    r->gpu_start_idle_s = s->has_started ? s->started_s - s->first_s : 0;
}
